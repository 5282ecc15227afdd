/* partial.c - what an agent that was stopped leaves behind. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same/line.h"
#include "engine/watch/steps.h"
#include "engine/watch/words/partial.h"

typedef struct found {
    daruma_str tool, text;
} found;

/* Words on one line, without secrets. */
static void put_words(daruma_str text, size_t most, daruma_arena *a, daruma_buf *out)
{
    daruma_str whole = line_flat(daruma_redact(text, a), a), clean = line_within(whole, most);
    buf_put(out, clean);
    if (clean.n < whole.n)
        BUF_LIT(out, " ...");
}

/* The newest results that say different things, newest first. */
static size_t gather(convo *c, found *out, size_t max)
{
    size_t n = 0;
    steps_item item;
    for (steps_iter it = {.c = c}; steps_next(&it, &item);) {
        if (item.what == STEPS_USER || !item.step.tool.n)
            continue;
        daruma_str text = str_trim(item.step.result);
        size_t at = 0;
        while (at < n && !(str_eq(out[at].tool, item.step.tool) && str_eq(out[at].text, text)))
            at++;
        if (!text.n)
            continue;
        if (at == n && n < max)
            n++;
        if (at == max)
            at = max - 1; /* the oldest goes */
        for (; at > 0; at--)
            out[at] = out[at - 1];
        out[0] = (found){item.step.tool, text};
    }
    return n;
}

/* What the model said beside its newest calls counts as well as what it said without one. */
static daruma_str newest_words(convo *c)
{
    for (size_t i = c->nmessages; i-- > 0;) {
        convo_message *m = &c->messages[i];
        for (size_t j = m->nparts; m->role == CONVO_ASSISTANT && !m->dropped && j-- > 0;)
            if (m->parts[j].kind == PART_TEXT && str_trim(convo_text(c, &m->parts[j])).n)
                return convo_text(c, &m->parts[j]);
    }
    return (daruma_str){0};
}

void watch_partial(convo *c, const daruma_verdict *v, const daruma_step *last, daruma_buf *out)
{
    found results[PARTIAL_RESULTS_MAX];
    size_t n = gather(c, results, PARTIAL_RESULTS_MAX);
    daruma_str said = newest_words(c);
    BUF_LIT(out, "The task is not finished: the agent went in circles. ");
    daruma_verdict_say(v, last, out);
    if (said.n) {
        BUF_LIT(out, "\n\nThe model's last words were: ");
        put_words(said, PARTIAL_WORDS_BYTES_MAX, c->arena, out);
    }
    if (n) {
        buf_putz(out, "\n\nWhat the tools gave so far, newest first:");
        for (size_t i = 0; i < n; i++) {
            BUF_LIT(out, "\n- ");
            put_words(results[i].tool, PARTIAL_RESULT_BYTES_MAX, c->arena, out);
            BUF_LIT(out, ": ");
            put_words(results[i].text, PARTIAL_RESULT_BYTES_MAX, c->arena, out);
        }
    }
    BUF_LIT(out, "\n\nTo go on, tell the agent what to do differently, or give it what it keeps looking for.");
}

bool watch_newest_result(convo *c, uint64_t call, size_t most, daruma_str *ret)
{
    bool known = false;
    steps_item item;
    for (steps_iter it = {.c = c}; steps_next(&it, &item);) {
        if (item.what != STEPS_STEP || !item.result || daruma_call_hash(item.step.tool, item.step.args) != call)
            continue;
        *ret = line_within(item.step.result, most);
        known = true;
    }
    return known;
}
