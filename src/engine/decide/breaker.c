/* breaker.c - stops calling what fails most of the time.
 *
 *                 half of the recent calls were bad
 *       closed ---------------------------------------> open
 *         ^                                              | shut_until passes
 *         | the probe was good                           v
 *         +------------------------------------------ half-open: one probe
 *                              the probe was bad: open again, for longer
 *
 * Every turn begins an epoch, and a permit carries the epoch it was given in: an answer that
 * was under way since before the turn says nothing about now. */
#include "engine/decide/window.h"
#include "base/limits.h"

static daruma_ms shut_ms(uint16_t trips)
{
    daruma_ms shut = BREAKER_SHUT_MS;
    for (uint16_t i = 1; i < trips && shut < BREAKER_SHUT_MS_MAX; i++)
        shut *= 2;
    return shut < BREAKER_SHUT_MS_MAX ? shut : BREAKER_SHUT_MS_MAX;
}

static void forget_counts(daruma_breaker *b, daruma_ms now)
{
    b->bad = b->all = b->was_bad = b->was_all = 0;
    b->turned = now;
}

static void shut(daruma_breaker *b, daruma_ms now)
{
    if (b->trips < UINT16_MAX)
        b->trips++;
    b->epoch++;
    b->probing = false;
    b->shut_until = add_sat(now, shut_ms(b->trips));
    if (b->shut_until == 0) /* which would say closed */
        b->shut_until = 1;
    forget_counts(b, now);
}

static void open_up(daruma_breaker *b, daruma_ms now)
{
    b->epoch++;
    b->probing = false;
    b->shut_until = 0;
    b->trips = 0;
    forget_counts(b, now);
}

static void count(daruma_breaker *b, bool good, daruma_ms now)
{
    int passed = window_turn(&b->turned, now, BREAKER_HALF_MS);
    if (passed) {
        b->was_all = passed == 1 ? b->all : 0;
        b->was_bad = passed == 1 ? b->bad : 0;
        b->all = b->bad = 0;
    }
    if (b->all == UINT32_MAX)
        return;
    b->all++;
    b->bad += !good;
}

/* Milliseconds until it is half-open. When the clock went back, as if it had just been shut. */
static daruma_ms shut_for(const daruma_breaker *b, daruma_ms now)
{
    daruma_ms left = ms_since(now, b->shut_until), most = shut_ms(b->trips);
    return left < most ? left : most;
}

daruma_ms daruma_breaker_opens_in(const daruma_breaker *b, daruma_ms now)
{
    if (b->shut_until == 0)
        return 0;
    daruma_ms left = shut_for(b, now);
    return left == 0 && b->probing ? BREAKER_PROBE_LOOK_MS : left;
}

daruma_permit daruma_breaker_ask(daruma_breaker *b, daruma_ms now)
{
    daruma_permit p = {.epoch = b->epoch};
    if (b->shut_until == 0) {
        p.ok = true;
        return p;
    }
    daruma_ms left = shut_for(b, now);
    if (left > 0 && add_sat(now, left) != 0)
        b->shut_until = add_sat(now, left); /* follows a clock that went back */
    if (left > 0 || b->probing)
        return p;
    b->probing = p.ok = p.probe = true;
    return p;
}

void daruma_breaker_tell(daruma_breaker *b, daruma_permit p, bool good, daruma_ms now)
{
    if (!p.ok || p.epoch != b->epoch)
        return;
    if (b->shut_until != 0) {
        if (!p.probe || !b->probing)
            return;
        good ? open_up(b, now) : shut(b, now);
        return;
    }
    count(b, good, now);
    uint64_t all = (uint64_t)b->all + b->was_all, bad = (uint64_t)b->bad + b->was_bad;
    if (!good && all >= BREAKER_CALLS_MIN && bad * 100 >= all * BREAKER_BAD_PERCENT)
        shut(b, now);
}

void daruma_breaker_drop(daruma_breaker *b, daruma_permit p)
{
    if (p.ok && p.probe && p.epoch == b->epoch)
        b->probing = false;
}
