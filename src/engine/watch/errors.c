/* errors.c - failed tool results, shown to a model compactly. */
#include "engine/watch/errors.h"
#include "engine/watch/steps.h"
#include "engine/watch/toolfail.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

typedef struct seen {
    convo_part *part; /* NULL: it worked */
    size_t message;
    goal goal;
    daruma_tool_failure f;
} seen;

#define RESOLVED "[This call failed; what it was for was reached later.]"

/* The newest steps, oldest first. */
static size_t gather(convo *c, const daruma_policy *p, seen *out, size_t max)
{
    size_t n = 0;
    steps_item item;
    for (steps_iter it = {.c = c}; steps_next(&it, &item);) {
        if (item.what != STEPS_STEP || !item.result)
            continue;
        seen *s = &out[n++ % max];
        *s = (seen){.message = item.message, .goal = goal_of(&item.step, c->arena)};
        if (daruma_step_failed(&item.step)) {
            s->part = item.result;
            s->f = daruma_tool_judge(&item.step, p, c->arena);
        }
    }
    return n;
}

static bool resolved(const seen *all, size_t i, size_t n, size_t max)
{
    const seen *s = &all[i % max];
    for (size_t j = i + 1; j < n; j++)
        if (!all[j % max].part && goal_reached(&s->goal, s->f.kind, &all[j % max].goal))
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
    size_t n = all ? gather(c, p, all, max) : 0;
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
