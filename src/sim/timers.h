/* timers.h - who is next: a binary heap of requests by the time of their next event. Each stands in it at most once,
 * and of two at the same time the lower number goes first. */
#ifndef SIM_TIMERS_H
#define SIM_TIMERS_H
#include "sim/world.h"

typedef struct sim_timers {
    int16_t heap[SIM_REQUESTS_MAX];
    int16_t place[SIM_REQUESTS_MAX]; /* where each stands, -1: not in it */
    daruma_ms when[SIM_REQUESTS_MAX];
    int n;
} sim_timers;

void sim_timers_clear(sim_timers *t, int requests);
/* The next event of `request` is at `when`; -1: there is none. */
void sim_timers_set(sim_timers *t, int request, daruma_ms when);
/* Who is first; -1 nobody. */
static inline int sim_timers_first(const sim_timers *t)
{
    return t->n ? t->heap[0] : -1;
}
#endif
