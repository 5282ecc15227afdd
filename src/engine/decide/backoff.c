/* backoff.c - how long to wait before a retry: grows by a factor up to a cap, and the dice
 * decide a share of it, so that those who failed together do not come back together. */
#include "base/limits.h"
#include "base/str.h"

/* The delay without chance. A factor below one would shrink it and counts as one. */
static daruma_ms grown(const daruma_backoff *b, uint32_t nth)
{
    daruma_ms delay = b->base > 0 ? b->base : 0;
    int64_t factor = b->factor_milli > 1000 ? b->factor_milli : 1000;
    for (uint32_t step = 1; step < nth && step < BACKOFF_STEPS_MAX && delay < b->cap; step++)
        delay = delay > INT64_MAX / factor ? b->cap : delay * factor / 1000;
    return delay < b->cap ? delay : b->cap;
}

daruma_ms daruma_backoff_delay(const daruma_backoff *b, uint32_t nth, uint64_t dice)
{
    daruma_ms delay = grown(b, nth);
    if (delay <= 0)
        return 0;
    int64_t share = b->jitter_milli < 1000 ? b->jitter_milli : 1000;
    int64_t chance = delay > INT64_MAX / 1000 ? delay / 1000 * share : delay * share / 1000;
    return delay - (daruma_ms)(dice % ((uint64_t)chance + 1));
}
