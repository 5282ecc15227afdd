#include "net/timer.h"
#include <stdlib.h>

/* Two trees become one, of whose siblings nothing is known. Either may be NULL. */
static loop_timer *meld(loop_timer *a, loop_timer *b)
{
    if (!a || !b)
        return a ? a : b;
    if (b->at < a->at) {
        loop_timer *sooner = b;
        b = a;
        a = sooner;
    }
    b->prev = a;
    b->next = a->child;
    if (b->next)
        b->next->prev = b;
    a->child = b;
    return a;
}

/* Siblings become one tree: first in pairs, then the pairs from the last to the first. */
static loop_timer *meld_all(loop_timer *siblings)
{
    loop_timer *pairs = NULL, *all = NULL;
    while (siblings) {
        loop_timer *a = siblings, *b = a->next;
        siblings = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        a = meld(a, b);
        a->next = pairs;
        pairs = a;
    }
    while (pairs) {
        loop_timer *a = pairs;
        pairs = a->next;
        a->next = NULL;
        all = meld(all, a);
    }
    return all;
}

static void take_out(loop_timers *all, loop_timer *a)
{
    loop_timer *below = meld_all(a->child);
    if (a == all->first) {
        all->first = below;
    } else {
        *(a->prev->child == a ? &a->prev->child : &a->prev->next) = a->next;
        if (a->next)
            a->next->prev = a->prev;
        all->first = meld(all->first, below);
    }
    *a = (loop_timer){0};
}

static void on_timer(uv_timer_t *t);

static void set_timer(loop_timers *all)
{
    daruma_ms now = (daruma_ms)uv_now(all->timer.loop);
    if (all->ringing)
        return;
    if (!all->first)
        uv_timer_stop(&all->timer);
    else
        uv_timer_start(&all->timer, on_timer, all->first->at > now ? (uint64_t)(all->first->at - now) : 0, 0);
}

static void on_timer(uv_timer_t *t)
{
    loop_timers *all = t->data;
    daruma_ms now = (daruma_ms)uv_now(t->loop);
    all->ringing = true;
    while (all->first && all->first->at <= now) {
        loop_timer *a = all->first;
        take_out(all, a);
        all->ring(a);
    }
    all->ringing = false;
    set_timer(all);
}

void loop_timer_set(loop_timers *all, loop_timer *a, daruma_ms at)
{
    daruma_ms due = all->first ? all->first->at : 0;
    if (a->at)
        take_out(all, a);
    a->at = at > 0 ? at : 1;
    all->first = meld(all->first, a);
    if (all->first->at != due)
        set_timer(all);
}

void loop_timer_stop(loop_timers *all, loop_timer *a)
{
    if (!a->at)
        return;
    bool next = a == all->first;
    take_out(all, a);
    if (next)
        set_timer(all);
}

loop_timers *loop_timers_new(uv_loop_t *loop, void (*ring)(loop_timer *a))
{
    loop_timers *all = calloc(1, sizeof *all);
    if (!all)
        return NULL;
    uv_timer_init(loop, &all->timer);
    all->timer.data = all;
    all->ring = ring;
    return all;
}

static void closed(uv_handle_t *h)
{
    free(h->data);
}

void loop_close(uv_handle_t *h)
{
    uv_close(h, closed);
}

void loop_timers_free(loop_timers *all)
{
    if (all)
        loop_close((uv_handle_t *)&all->timer);
}
