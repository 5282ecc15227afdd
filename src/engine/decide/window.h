/* window.h - counting over the recent past with two numbers instead of a list of times.
 *
 *       the window before         this window
 *     |.....................|..................|
 *                           turned             now
 *
 * When this window is full it becomes the one before. A clock that goes back starts this
 * window again with what it holds: that gives nothing, loses nothing and never gets stuck. */
#ifndef ENGINE_DECIDE_WINDOW_H
#define ENGINE_DECIDE_WINDOW_H
#include "base/str.h"

/* Milliseconds from `then` to `now`; 0 when the clock went back. Saturates. */
static inline daruma_ms ms_since(daruma_ms then, daruma_ms now)
{
    daruma_ms gone;
    if (now <= then)
        return 0;
    return __builtin_sub_overflow(now, then, &gone) ? INT64_MAX : gone;
}

/* How many windows of `width` have passed since *turned: 0, 1, or 2 for "all is old".
 * Moves *turned to the beginning of the window that `now` is in. */
static inline int window_turn(daruma_ms *turned, daruma_ms now, daruma_ms width)
{
    daruma_ms gone = ms_since(*turned, now);
    if (now < *turned || gone / width >= 2) {
        int old = now < *turned ? 0 : 2;
        *turned = now;
        return old;
    }
    if (gone < width)
        return 0;
    *turned += width;
    return 1;
}
#endif
