/* laps.c - calls that follow each other in turn. Laps are counted as the calls come; when there are enough of them it
 * is asked what kind of lap it is and how often it may be seen. */
#include "base/str.h"
#include "engine/watch/rules.h"

/* The newest `most` calls that are no notes; fewer where there are fewer. */
static uint32_t newest_calls(const daruma_stall *s, const seen **calls, uint32_t most)
{
    uint32_t n = 0, at = 0;
    while (n < most && (calls[n] = next_call(s, &at, false)))
        n++;
    return n;
}

/* The one that many calls ago, notes not counted; there are more than that. */
static const seen *call_ago(const daruma_stall *s, uint32_t back)
{
    const seen *e = window_at(s, back);
    uint32_t at = 0;
    for (uint32_t n = 0; s->notes && n <= back; n++)
        e = next_call(s, &at, false);
    return e;
}

void count_laps(daruma_stall *s, bool again)
{
    const seen *calls[DARUMA_PERIOD_MAX + 1];
    if (!again) {
        memset(s->laps, 0, sizeof s->laps);
        return;
    }
    uint32_t n = newest_calls(s, calls, DARUMA_PERIOD_MAX + 1);
    for (uint32_t p = 2; p <= DARUMA_PERIOD_MAX; p++) {
        bool same = p < n && same_pair(calls[0], calls[p]);
        s->laps[p] = same ? (uint8_t)(s->laps[p] + (s->laps[p] < STALL_WINDOW)) : 0;
    }
}

/* That of the most patient of its calls. Who waits between two laps may see what he waits for come. */
static uint32_t patience_of_lap(const seen *const *calls, uint32_t p)
{
    uint32_t worst = 0;
    bool failed = false;
    for (uint32_t i = 0; i < p; i++) {
        uint32_t patience = calls[i]->patience;
        failed |= rule_has(calls[i]->flags, SEEN_FAILED);
        worst = patience > worst ? patience : worst;
    }
    if (calls[0]->pauses != calls[p]->pauses && !failed && worst < TIMES_ASKS)
        worst = TIMES_ASKS;
    return worst;
}

static daruma_circle circle_of_lap(const seen *const *calls, uint32_t p)
{
    uint32_t writes = 0, compactions = calls[0]->compactions - calls[p]->compactions;
    for (uint32_t i = 0; i < p; i++)
        writes += rule_has(calls[i]->means, DARUMA_TOOL_WRITES) && !(calls[i]->flags & SEEN_FAILED);
    if (compactions)
        return DARUMA_CIRCLE_COMPACTION;
    return writes >= 2 ? DARUMA_CIRCLE_EDIT_REVERT : DARUMA_CIRCLE_CYCLE;
}

bool rule_cycle(const daruma_stall *s, daruma_verdict *v)
{
    const seen *calls[DARUMA_PERIOD_MAX + 1], *e = window_at(s, 0);
    if (e->flags & SEEN_NOTE)
        return false;
    uint32_t total = window_count(s) - (uint32_t)__builtin_popcount(s->notes);
    bool known = !(e->flags & SEEN_NEW);
    if (total < 2)
        return false;
    newest_calls(s, calls, DARUMA_PERIOD_MAX + 1);
    if (same_pair(calls[0], calls[1])) /* in a row it is no cycle */
        return false;
    for (uint32_t p = 2; p <= DARUMA_PERIOD_MAX && p < total; p++) {
        uint32_t m = s->laps[p] < total - p ? s->laps[p] : total - p, worst;
        if (m < p + 1)
            continue;
        if (m == p + 1 && !(known && rule_interleaved(s, &(daruma_verdict){.ncalls = 0}))) /* then it can be told now */
            continue;
        if (!known && same_pair(calls[0], calls[p])) /* something changed meanwhile */
            continue;
        worst = patience_of_lap(calls, p);
        if (worst > TIMES_MAYBE + 2 && m < p * (worst - 1))
            continue;
        v->circle = circle_of_lap(calls, p);
        v->period = p;
        v->times = (m + p) / p;
        v->sure = sure_of(v->times, 2, 80);
        v->first = call_ago(s, m + p - 1)->step;
        for (uint32_t i = p; i-- > 0;)
            v->about += blame(v, calls[i]->exact);
        return true;
    }
    return false;
}
