/* circle.c - circles in words. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same/line.h"

/* ---- in a sentence -------------------------------------------------------------------------------- */

/* Words of a tool or a model, on one line, cut between two characters, without secrets. */
static void put_quoted(daruma_str text, size_t most, daruma_buf *out)
{
    char mem[4 * VERDICT_TEXT_BYTES_MAX];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str clean = daruma_redact(str_sub(str_trim(text), 0, 2 * most), &a);
    bool cut = clean.n > most || str_trim(text).n > 2 * most, space = false;
    size_t n = line_within(clean, most).n;
    buf_putc(out, '`');
    for (size_t i = 0; i < n; i++) {
        bool blank = ch_space(clean.p[i]);
        if (!blank)
            buf_putc(out, clean.p[i] == '`' ? '\'' : clean.p[i]);
        else if (!space)
            buf_putc(out, ' ');
        space = blank;
    }
    if (cut)
        BUF_LIT(out, " ...");
    buf_putc(out, '`');
}

static void circle_put_call(const daruma_step *last, daruma_buf *out)
{
    bool plain = !last->args.n || str_eq(str_trim(last->args), S("{}"));
    put_quoted(last->tool, VERDICT_TOOL_BYTES_MAX, out);
    if (plain)
        BUF_LIT(out, " without arguments");
    else
        BUF_LIT(out, " with ");
    if (!plain)
        put_quoted(last->args, VERDICT_TEXT_BYTES_MAX, out);
}

static void put_result(const daruma_verdict *v, const daruma_step *last, daruma_buf *out)
{
    if (!str_trim(last->result).n) {
        buf_putz(out, v->failing ? "failed without a word" : "gave nothing back");
        return;
    }
    buf_putz(out, v->failing ? "failed with " : "gave ");
    put_quoted(last->result, VERDICT_TEXT_BYTES_MAX, out);
}

/* {n}: times; {p}: calls of a lap; {call}: the last one; {tool}: its name; {result}: what came of it. */
static const char *const sentences[DARUMA_CIRCLES] = {
    [DARUMA_CIRCLE_NONE] = "It works.",
    [DARUMA_CIRCLE_REPEAT] = "{call} was called {n} times, and each time it {result}.",
    [DARUMA_CIRCLE_CYCLE] = "The same {p} calls followed each other {n} times with the same results; the last was "
                            "{call}, which {result}.",
    [DARUMA_CIRCLE_INTERLEAVED] = "{call} was called {n} times, others between, and each time it {result}.",
    [DARUMA_CIRCLE_SAME_FAILURE] = "{n} calls with other arguments failed in the same way; the last was {call}, which "
                                   "{result}.",
    [DARUMA_CIRCLE_STAGNATION] = "{n} calls of {tool} with other arguments gave the same answer; the last was {call}, "
                                 "which {result}.",
    [DARUMA_CIRCLE_GROWING] =
        "{n} calls of {tool} in a row were each the one before with more of the same, and brought "
        "nothing new.",
    [DARUMA_CIRCLE_EDIT_REVERT] = "The same changes were made and taken back {n} times; the last was {call}.",
    [DARUMA_CIRCLE_DEAD_POLL] = "{call} was asked {n} times, but its answer cannot change any more: it {result}.",
    [DARUMA_CIRCLE_RESENT] = "{call} was sent {n} times although it may have taken effect before: its outcome is "
                             "unknown.",
    [DARUMA_CIRCLE_MONOLOGUE] = "Nearly the same was said {n} times in a row, and no tool was called.",
    [DARUMA_CIRCLE_COMPACTION] = "The history was shortened again and again, and what followed was the same; the last "
                                 "{n} times brought nothing new.",
    [DARUMA_CIRCLE_NO_PROGRESS] = "{n} steps brought nothing new.",
};

/* One call that failed the same way again and again, with changes between. */
#define STUBBORN "{call} was called {n} times, and whatever was changed between, each time it {result}."

void daruma_verdict_say(const daruma_verdict *v, const daruma_step *last, daruma_buf *out)
{
    static const daruma_step none = {.ok = -1};
    const char *p = (unsigned)v->circle < DARUMA_CIRCLES ? sentences[v->circle] : "";
    if (v->circle == DARUMA_CIRCLE_NO_PROGRESS && v->period > 1)
        p = STUBBORN;
    last = last ? last : &none;
    while (*p) {
        const char *open = strchr(p, '{');
        buf_put(out, open ? (daruma_str){p, (size_t)(open - p)} : str_of(p));
        if (!open)
            return;
        p = open;
        if (str_starts(str_of(p), S("{n}")))
            buf_int(out, v->times);
        else if (str_starts(str_of(p), S("{p}")))
            buf_int(out, v->period);
        else if (str_starts(str_of(p), S("{call}")))
            circle_put_call(last, out);
        else if (str_starts(str_of(p), S("{tool}")))
            put_quoted(last->tool, VERDICT_TOOL_BYTES_MAX, out);
        else
            put_result(v, last, out);
        p = strchr(p, '}') + 1;
    }
}
