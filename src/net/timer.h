/* timer.h - many timers on one of the loop's. libuv's own have 152 bytes each, and every stream has two.
 *
 * A pairing heap (Fredman et al. 1986): each timer rings no later than those below it. To set one takes a comparison;
 * the next to ring is found among the children of the one that rang.
 *
 *            3
 *          / | \
 *         7--4--9        `child` leads down, `next` to the right, `prev` to the left and from the leftmost up
 *            |
 *            8  */
#ifndef NET_TIMER_H
#define NET_TIMER_H
#include "daruma_parts.h"
#include <uv.h>

/* Closes a handle whose `data` is the block of malloc that it lies in, which goes with it. */
void loop_close(uv_handle_t *h);

/* Lies in what it belongs to, which is there until it is stopped or has rung. All zero: not set. */
typedef struct loop_timer loop_timer;
struct loop_timer {
    daruma_ms at; /* it rings then, in milliseconds of the loop; 0: it is not set */
    loop_timer *child, *next;
    loop_timer *prev; /* the one before among its siblings, or the one above */
};

typedef struct loop_timers {
    uv_timer_t timer;  /* of the loop */
    loop_timer *first; /* the next to ring; NULL: none is set */
    void (*ring)(loop_timer *t);
    bool ringing; /* the loop's is set when all have rung */
} loop_timers;

/* `ring` is called for each when its moment has come; it is not set any more then. NULL without memory. */
loop_timers *loop_timers_new(uv_loop_t *loop, void (*ring)(loop_timer *t));
void loop_timers_free(loop_timers *all); /* none rings any more; gone once the loop has run. NULL: none */
void loop_timer_set(loop_timers *all, loop_timer *t, daruma_ms at); /* rings then, and not when it was set for before */
void loop_timer_stop(loop_timers *all, loop_timer *t);
#endif
