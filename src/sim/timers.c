/* timers.c - the heap: a parent is never later than its children. */
#include "sim/timers.h"

static bool before(const sim_timers *t, int a, int b)
{
    return t->when[a] != t->when[b] ? t->when[a] < t->when[b] : a < b;
}

static void put(sim_timers *t, int at, int request)
{
    t->heap[at] = (int16_t)request;
    t->place[request] = (int16_t)at;
}

static void up(sim_timers *t, int at)
{
    int who = t->heap[at];
    for (; at > 0 && before(t, who, t->heap[(at - 1) / 2]); at = (at - 1) / 2)
        put(t, at, t->heap[(at - 1) / 2]);
    put(t, at, who);
}

static void down(sim_timers *t, int at)
{
    int who = t->heap[at];
    for (int child; (child = 2 * at + 1) < t->n; at = child) {
        child += child + 1 < t->n && before(t, t->heap[child + 1], t->heap[child]);
        if (!before(t, t->heap[child], who))
            break;
        put(t, at, t->heap[child]);
    }
    put(t, at, who);
}

void sim_timers_clear(sim_timers *t, int requests)
{
    t->n = 0;
    for (int i = 0; i < requests; i++)
        t->place[i] = -1;
}

void sim_timers_set(sim_timers *t, int request, daruma_ms when)
{
    int at = t->place[request];
    if (when < 0) {
        if (at < 0)
            return;
        t->place[request] = -1;
        int last = t->heap[--t->n];
        if (last == request)
            return;
        put(t, at, last);
        up(t, at);
        down(t, t->place[last]);
        return;
    }
    bool sooner = at < 0 || when < t->when[request];
    if (at >= 0 && when == t->when[request])
        return;
    t->when[request] = when;
    if (at < 0)
        put(t, at = t->n++, request);
    if (sooner)
        up(t, at);
    else
        down(t, at);
}
