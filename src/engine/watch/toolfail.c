/* toolfail.c - a failed tool result becomes a failure that people and models can read: its kind, the one line that
 * matters, what to do about it, and what it is known again by.
 *
 *     result --facts--> codes, numbers, texts --line--> the line that matters
 *                              |                                |
 *                              +--------> kind <----- classify -+
 *
 * A name or number that means one thing decides before any word does; a number that many failures share, last. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/watch/facts.h"
#include "engine/watch/hint.h"
#include "engine/watch/same/line.h"
#include "engine/watch/toolfail.h"
#include "engine/watch/words/words.h"
#include <xxhash.h>

enum {
    SKELETON_BYTES_MAX = 512, /* of a message that its signature is made of */
    QUOTED_BYTES_MAX = 200,   /* a longer text between quotes is no name */
    MIXED_WORD_BYTES_MIN = 6, /* a word as long, with digits in it, is an id */
    JUDGED_BYTES_MAX = 4096,  /* of the rest of the text, when the line says nothing */
};

/* ---- what it is about ----------------------------------------------------------------------- */

/* Arguments that name what a call is about, the more telling first. */
// clang-format off
static const char *const targets[] = {
    "file_path", "filePath", "filepath", "path", "file", "filename", "notebook_path", "uri", "url", "id", "ids",
    "task_id", "taskId", "job_id", "jobId", "issue_number", "pull_number", "session_id", "process_id", "pid", "key",
    "table", "resource", "target", "element", "ref", "selector",
};
// clang-format on

static uint64_t hash_of(daruma_str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.n ? s.p : "", s.n, seed);
}

static int rank_of_target(daruma_str key)
{
    for (size_t i = 0; i < COUNT(targets); i++)
        if (json_raw_eq(key, str_of(targets[i])))
            return (int)i;
    return -1;
}

/* A call of the tool with that one argument: spellings of paths and what defeats caches make no difference. */
static uint64_t hash_target(daruma_str tool, daruma_str value, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"path\":");
    buf_put(&b, value);
    BUF_LIT(&b, "}");
    return daruma_call_hash(tool, buf_str(&b));
}

goal goal_of(const daruma_step *step, daruma_arena *scratch)
{
    goal g = {.tool = hash_of(step->tool, 0), .call = daruma_call_hash(step->tool, step->args)};
    daruma_str args = str_trim(step->args), key, v, target = {0};
    json_iter it = json_open(args);
    int best = -1;
    if (!json_is_object(args)) {
        if (args.n)
            g.args[g.nargs++] = (uint32_t)hash_of(args, 1);
        return g;
    }
    for (int i = 0; i < TOOL_FACTS_MEMBERS_MAX && json_next(&it, &key, &v); i++) {
        int rank = rank_of_target(key);
        if (rank >= 0 && (best < 0 || rank < best) && (json_is_string(v) || json_is_number(v))) {
            best = rank;
            target = v;
        }
        if (g.nargs < TRACKED_ARGS_MAX)
            g.args[g.nargs++] = (uint32_t)hash_of(v, hash_of(key, 1));
    }
    if (target.n)
        g.target = hash_target(step->tool, target, scratch);
    return g;
}

bool goal_reached(const goal *failed, daruma_tool_kind kind, const goal *now)
{
    if (failed->tool != now->tool)
        return false;
    if (failed->call == now->call)
        return true;
    if (failed->target || now->target)
        return failed->target == now->target;
    if (kind != DARUMA_TOOL_VALIDATION_KIND)
        return false;
    for (uint32_t i = 0; i < failed->nargs; i++)
        for (uint32_t k = 0; k < now->nargs; k++)
            if (failed->args[i] == now->args[k])
                return true;
    return failed->nargs == 0;
}

/* ---- its kind ---------------------------------------------------------------------------------- */

// clang-format off
static const daruma_tool_row advice[] = {
    {NULL, DARUMA_TOOL_TIMEOUT_KIND,    "Ask for less at a time, or allow more time; if the call changes something, look first whether it did"},
    {NULL, DARUMA_TOOL_AUTH_KIND,       "The same credentials will fail again: ask a person for valid ones, or do without"},
    {NULL, DARUMA_TOOL_VALIDATION_KIND, "Change the argument that the message names; hold it against the tool's schema"},
    {NULL, DARUMA_TOOL_NOT_FOUND_KIND,  "List what is there and take a name or path from that list"},
    {NULL, DARUMA_TOOL_RATE_LIMIT_KIND, "Wait before the next call, ask for more at once, or use another tool"},
    {NULL, DARUMA_TOOL_PERMISSION_KIND, "The same call will be refused again: stay within what is allowed, or ask a person"},
    {NULL, DARUMA_TOOL_NETWORK_KIND,    "Try once more in a while; if it fails again, use another source"},
};
static const char passes[] = "It may pass by itself: try once more in a while";
// clang-format on

daruma_str toolfail_advice(const daruma_watch_policy *w, daruma_tool_kind kind, bool retryable)
{
    const daruma_tool_row *rows = w->rows ? w->rows : advice;
    size_t n = w->rows ? w->nrows : COUNT(advice);
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == kind)
            return str_of(rows[i].suggestion);
    return !w->rows && retryable ? S(passes) : (daruma_str){0};
}

/* By the profile's own rows: words anywhere in the text, case ignored (E-F2). */
static daruma_tool_kind kind_by_rows(const daruma_watch_policy *w, daruma_str text)
{
    for (size_t i = 0; i < w->nrows; i++) {
        if (!w->rows[i].words)
            return w->rows[i].kind;
        for (size_t k = 0; w->rows[i].words[k]; k++)
            if (str_ifind(text, str_of(w->rows[i].words[k])) != STR_NONE)
                return w->rows[i].kind;
    }
    return DARUMA_TOOL_UNKNOWN_KIND;
}

typedef struct judged {
    daruma_tool_kind kind;
    bool retry, by_person;
} judged;

/* Rows of the phrase table whose name begins so are what people say, not tools. */
static bool said_by_person(const daruma_failure *f)
{
    return f->kind == DARUMA_CANCELLED || str_starts(str_of(daruma_rule_name(f->rule)), S("tool.user"));
}

static judged by_words(daruma_str text, daruma_arena *a)
{
    daruma_evidence ev = {.phase = DARUMA_AT_TOOL, .body = text, .took = -1};
    daruma_failure f = daruma_classify(&ev, (daruma_moment){0}, a);
    judged j = {f.tool_kind, f.retryable, said_by_person(&f)};
    if (f.kind != DARUMA_TOOL_ERROR || !f.rule)
        j.kind = f.tool_kind == DARUMA_TOOL_NONE_KIND ? DARUMA_TOOL_UNKNOWN_KIND : f.tool_kind;
    return j;
}

/* Names of failures that stand in a line by themselves: "connect ECONNREFUSED 127.0.0.1:80". */
static daruma_tool_kind by_errno(daruma_str line, bool *retry)
{
    for (size_t i = 0; i < line.n;) {
        size_t from = i;
        while (i < line.n && (ch_word(line.p[i])))
            i++;
        daruma_str word = str_sub(line, from, i - from);
        bool capitals = word.n >= 4 && word.p[0] == 'E';
        for (size_t k = 0; k < word.n && capitals; k++)
            capitals = (word.p[k] >= 'A' && word.p[k] <= 'Z') || word.p[k] == '_' || ch_digit(word.p[k]);
        daruma_tool_kind kind = capitals ? facts_code(word, retry) : DARUMA_TOOL_NONE_KIND;
        if (kind != DARUMA_TOOL_NONE_KIND)
            return kind;
        i += i < line.n && i == from;
    }
    return DARUMA_TOOL_NONE_KIND;
}

static judged judge(const facts *f, daruma_str line, daruma_str text, daruma_arena *a)
{
    judged j = {DARUMA_TOOL_NONE_KIND, false, false};
    for (size_t i = 0; i < f->ncodes && j.kind == DARUMA_TOOL_NONE_KIND; i++)
        j.kind = facts_code(f->codes[i], &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND)
        j.kind = facts_rpc(f->rpc, &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND)
        j.kind = facts_status(f->status, &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND)
        j.kind = facts_exit(f->exit, &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND)
        j.kind = facts_code(facts_leading(line), &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND)
        j.kind = by_errno(line, &j.retry);
    if (j.kind == DARUMA_TOOL_NONE_KIND) {
        j = by_words(line, a);
        if (j.kind == DARUMA_TOOL_UNKNOWN_KIND && !j.by_person && line.n < text.n) {
            judged rest = by_words(line_without_frames(text, JUDGED_BYTES_MAX, a), a);
            if (rest.kind != DARUMA_TOOL_UNKNOWN_KIND)
                j = rest;
        }
    }
    if (j.kind == DARUMA_TOOL_UNKNOWN_KIND && facts_status_any(f->status, NULL) != DARUMA_TOOL_NONE_KIND)
        j.kind = facts_status_any(f->status, &j.retry);
    if (f->retry >= 0)
        j.retry = f->retry == 1;
    return j;
}

/* ---- what it is known again by -------------------------------------------------------------------- */

static size_t behind_quoted(daruma_str s, size_t at)
{
    size_t n = str_findch(str_sub(s, at + 1, QUOTED_BYTES_MAX), s.p[at]);
    return n == STR_NONE ? at : at + n + 2;
}

/* A word without its digits; nothing of what is a path, a file or an id. */
static size_t put_word(char *out, size_t n, daruma_str word)
{
    bool digit = false, name = false;
    for (size_t i = 0; i < word.n; i++) {
        digit |= ch_digit(word.p[i]);
        bool dot = word.p[i] == '.' && i && i + 1 < word.n && ch_word(word.p[i - 1]) && ch_word(word.p[i + 1]);
        name |= word.p[i] == '/' || word.p[i] == '\\' || word.p[i] == '@' || dot;
    }
    if (name || (digit && word.n >= MIXED_WORD_BYTES_MIN))
        return n;
    for (size_t i = 0; i < word.n && n < SKELETON_BYTES_MAX; i++)
        if (ch_word(word.p[i]) && !ch_digit(word.p[i]))
            out[n++] = ch_lower(word.p[i]);
    if (n < SKELETON_BYTES_MAX)
        out[n++] = ' ';
    return n;
}

/* Tool, kind and message without numbers, quoted names and paths. Where no words are left, as behind "Exit code 1",
 * nothing tells that two calls failed in the same way but that they are the same call. */
static uint64_t signature(daruma_str tool, daruma_tool_kind kind, daruma_str line, uint64_t call)
{
    char out[SKELETON_BYTES_MAX];
    size_t n = 0, from = 0;
    for (size_t i = 0; i <= line.n;) {
        char c = i < line.n ? line.p[i] : ' ';
        bool quote = (c == '"' || c == '\'' || c == '`') && (!i || !ch_word(line.p[i - 1]));
        size_t behind = quote ? behind_quoted(line, i) : i;
        if (c == ' ' || behind > i) {
            n = put_word(out, n, str_sub(line, from, i - from));
            from = i = behind > i ? behind : i + 1;
        } else {
            i++;
        }
    }
    daruma_str words = str_trim((daruma_str){out, n});
    uint64_t seed = hash_of(tool, (uint64_t)kind + 1);
    return hash_of(words, !words.n || facts_exit_alone(line) ? seed ^ call : seed) | 1;
}

/* ---- the failure ------------------------------------------------------------------------------------ */

/* The text of the result in which the line that matters stands. */
static daruma_str toolfail_text_of(const facts *f, size_t i, daruma_arena *a)
{
    return line_plain(f->plain ? f->texts[i] : json_text(f->texts[i], a), a);
}

static daruma_str telling(const facts *f, daruma_str *text, daruma_arena *a)
{
    daruma_str line = {0};
    for (size_t i = 0; i < f->ntexts && !line.n; i++) {
        *text = toolfail_text_of(f, i, a);
        line = line_flat(line_telling(*text), a);
    }
    return line;
}

/* A policy that says nothing of it has the usual. */
static size_t chars_of(const daruma_watch_policy *w)
{
    return w->message_chars ? w->message_chars : TOOL_MESSAGE_CHARS_MAX;
}

static toolfail by_profile(const daruma_step *step, const daruma_watch_policy *w, daruma_arena *a)
{
    toolfail t = {.f.tool = step->tool, .f.kind = kind_by_rows(w, step->result)};
    t.f.message = line_cut(daruma_redact(str_sub(step->result, 0, TOOL_WHOLE_BYTES_MAX), a), chars_of(w));
    t.f.retryable = t.f.kind == DARUMA_TOOL_TIMEOUT_KIND || t.f.kind == DARUMA_TOOL_RATE_LIMIT_KIND;
    t.f.call = daruma_call_hash(step->tool, step->args);
    t.f.signature = signature(step->tool, t.f.kind, t.f.message, t.f.call);
    return t;
}

static toolfail by_daruma(const daruma_step *step, const daruma_watch_policy *w, daruma_arena *a)
{
    facts f = facts_read(step->result);
    toolfail t = {.f.tool = step->tool};
    daruma_str text = {0}, line = telling(&f, &text, a);
    judged j = judge(&f, line, text, a);
    if (!line.n && f.ncodes)
        line = f.codes[0];
    if (step->lost && !line.n)
        line = S("the result was lost: whether the call took effect is unknown");
    t.f.kind = j.kind;
    t.f.retryable = j.retry;
    t.by_person = j.by_person;
    t.f.call = daruma_call_hash(step->tool, step->args);
    t.f.signature = signature(step->tool, j.kind, line, t.f.call);
    t.f.message = line_cut(daruma_redact(line, a), chars_of(w));
    return t;
}

toolfail toolfail_judge(const daruma_step *step, const daruma_watch_policy *w, daruma_arena *a)
{
    toolfail t = w->rows ? by_profile(step, w, a) : by_daruma(step, w, a);
    t.f.suggestion = toolfail_advice(w, t.f.kind, t.f.retryable);
    t.f.unmade = !step->lost && (words_of_result(step->result, step->args, true) & WORDS_UNMADE);
    t.reads = daruma_result_hash(step->result, false);
    return t;
}

daruma_tool_failure daruma_tool_judge(const daruma_step *step, const daruma_policy *p, daruma_arena *a)
{
    if (!p)
        p = daruma_policy_find(S("default"));
    daruma_tool_failure f = toolfail_judge(step, &p->watch, a).f;
    f.tool = arena_copy(a, f.tool);
    f.message = arena_copy(a, f.message);
    f.hint = hint_of(step->result, f.message, a);
    f.whole = daruma_redact(line_plain(str_sub(step->result, 0, TOOL_WHOLE_BYTES_MAX), a), a);
    return f;
}

/* ---- shown --------------------------------------------------------------------------------------------- */

/* With `escapes`, what could end the block or begin a line of it is written as XML writes it. */
static void toolfail_put(daruma_buf *out, daruma_str s, bool escapes)
{
    if (!escapes) {
        buf_put(out, s);
        return;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '<')
            BUF_LIT(out, "&lt;");
        else if (c == '>')
            BUF_LIT(out, "&gt;");
        else if (c == '&')
            BUF_LIT(out, "&amp;");
        else
            buf_putc(out, (unsigned char)c < ' ' || c == 0x7f ? ' ' : c);
    }
}

static void put_line(daruma_buf *out, const char *name, daruma_str text, bool escapes)
{
    buf_putz(out, name);
    toolfail_put(out, text, escapes);
    buf_putc(out, '\n');
}

void toolfail_count(uint32_t n, daruma_tool_kind kind, daruma_str tool, bool escapes, daruma_buf *out)
{
    buf_printf(out, "%u ", n);
    if (kind != DARUMA_TOOL_UNKNOWN_KIND && kind != DARUMA_TOOL_NONE_KIND)
        buf_printf(out, "%s ", daruma_tool_kind_name(kind));
    buf_printf(out, "error%s in ", n == 1 ? "" : "s");
    toolfail_put(out, tool, escapes);
}

void toolfail_write(const daruma_tool_failure *f, daruma_view v, uint32_t times, bool escapes, daruma_buf *out)
{
    switch (v) {
    case DARUMA_VIEW_FULL:
        buf_put(out, f->whole.n ? f->whole : f->message);
        break;
    case DARUMA_VIEW_COMPACT:
        BUF_LIT(out, "<error>\n");
        put_line(out, "tool: ", f->tool, escapes);
        put_line(out, "type: ", str_of(daruma_tool_kind_name(f->kind)), escapes);
        put_line(out, "message: ", f->message, escapes);
        if (times > 1)
            buf_printf(out, "times: %u\n", times);
        if (f->suggestion.n)
            put_line(out, "suggestion: ", f->suggestion, escapes);
        if (f->hint.n)
            put_line(out, "hint: ", f->hint, escapes);
        BUF_LIT(out, "</error>");
        break;
    case DARUMA_VIEW_SUMMARY:
        toolfail_count(times, f->kind, f->tool, escapes, out);
        if (f->hint.n)
            BUF_LIT(out, "\nhint: "), toolfail_put(out, f->hint, escapes);
        break;
    case DARUMA_VIEW_HIDDEN:
        break;
    }
}

void daruma_tool_failure_write(const daruma_tool_failure *f, daruma_view v, daruma_buf *out)
{
    toolfail_write(f, v, 1, true, out);
}
