/* errors.c - failed tool results, shown to a model compactly. */
#include "engine/watch/errors.h"
#include "engine/watch/steps.h"
#include "engine/watch/toolfail.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

typedef struct seen {
    convo_part *part; /* its result; NULL: it stays as it is */
    size_t message;
    daruma_step step;
    bool failed;
    goal goal;
    daruma_tool_failure f; /* of a failed one */
} seen;

#define RESOLVED "[This call failed; what it was for was reached later.]"

/* The newest steps, oldest first. Returns how many there are in all. */
static size_t gather(convo *c, seen *out, size_t max)
{
    size_t n = 0;
    steps_item item;
    for (steps_iter it = {.c = c}; steps_next(&it, &item);)
        if (item.what == STEPS_STEP && item.result)
            out[n++ % max] = (seen){.message = item.message, .part = item.result, .step = item.step};
    return n;
}

/* Judges those of them that failed, the newest first, as far as WATCH_JUDGED_BYTES_MAX: older ones stay as they are. */
static void judge_newest(seen *all, size_t n, size_t max, const daruma_policy *p, daruma_arena *a)
{
    size_t left = WATCH_JUDGED_BYTES_MAX;
    for (size_t i = n; i-- > (n > max ? n - max : 0);) {
        seen *s = &all[i % max];
        size_t most = TOOL_TEXT_HEAD_BYTES + TOOL_TEXT_TAIL_BYTES;
        size_t cost = s->step.result.n < most ? s->step.result.n : most;
        s->goal = goal_of(&s->step, a);
        s->failed = daruma_step_failed(&s->step);
        if (!s->failed || cost > left) {
            s->part = NULL;
            continue;
        }
        left -= cost;
        s->f = daruma_tool_judge(&s->step, p, a);
    }
}

static bool resolved(const seen *all, size_t i, size_t n, size_t max)
{
    const seen *s = &all[i % max];
    for (size_t j = i + 1; j < n; j++)
        if (!all[j % max].failed && goal_reached(&s->goal, s->f.kind, &all[j % max].goal))
            return true;
    return false;
}

static convo_message *message_of(convo *c, size_t from, const convo_part *part)
{
    for (size_t i = from; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        if (m->nparts && part >= m->parts && part < m->parts + m->nparts)
            return m;
    }
    return NULL;
}

size_t watch_compact_errors(convo *c, const daruma_policy *p)
{
    size_t max = ERRORS_STEPS_MAX, shown = 0, changed = 0;
    seen *all = ARENA_NEW(c->arena, seen, max);
    size_t n = all ? gather(c, all, max) : 0;
    if (n)
        judge_newest(all, n, max, p, c->arena);
    for (size_t i = n; i-- > (n > max ? n - max : 0);) {
        seen *s = &all[i % max];
        convo_message *m = s->part ? message_of(c, s->message, s->part) : NULL;
        if (!m)
            continue;
        daruma_buf text = buf_in(c->arena);
        if (resolved(all, i, n, max))
            BUF_LIT(&text, RESOLVED);
        else
            daruma_tool_failure_write(&s->f, shown++ < p->watch.shown_max ? DARUMA_VIEW_COMPACT : DARUMA_VIEW_SUMMARY,
                                      &text);
        daruma_str was = convo_text(c, s->part), is = str_trim(buf_str(&text));
        if (text.full || !is.n || is.n >= was.n || was.n <= ERRORS_SHORT_BYTES || str_starts(was, S("<error>")))
            continue;
        convo_set_text(c, m, s->part, is);
        changed++;
    }
    return changed;
}
