/* budget.c - how many retries a provider may be asked to bear.
 *
 * When a provider is down, every client retries and the retries keep it down. So retries are
 * a share of the calls that went out in the last minute, plus a few for a client that is
 * alone. Both are counted over two windows; the older one fades out as the newer one fills:
 *
 *       the minute before          this minute
 *     |.........#############|###########........|
 *               ^ still counts           ^ now
 */
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"

/* Makes `now` lie in this minute. */
static void turn(daruma_budget *b, daruma_ms now)
{
    int passed = window_turn(&b->turned, now, BUDGET_WINDOW_MS);
    if (passed == 0)
        return;
    b->was_calls = passed == 1 ? b->calls : 0;
    b->was_retries = passed == 1 ? b->retries : 0;
    b->calls = b->retries = 0;
}

/* What of the minute before lies within the last 60 s, when `gone` ms of this one are over. */
static int64_t faded(uint32_t was, daruma_ms gone, int64_t round)
{
    return gone >= BUDGET_WINDOW_MS ? 0 : (was * (BUDGET_WINDOW_MS - gone) + round) / BUDGET_WINDOW_MS;
}

static void count(uint32_t *n)
{
    if (*n < UINT32_MAX)
        ++*n;
}

/* A call goes out to the provider, a first one or a retry. */
void daruma_budget_call(daruma_budget *b, daruma_ms now)
{
    turn(b, now);
    count(&b->calls);
}

/* How many retries are free now: between 0 and the share of calls plus the floor. Calls are
 * rounded down and retries up, so that no rounding ever gives a retry away. */
int64_t daruma_budget_left(const daruma_budget *b, daruma_ms now)
{
    daruma_budget at = *b;
    turn(&at, now);
    daruma_ms gone = ms_since(at.turned, now);
    int64_t calls = at.calls + faded(at.was_calls, gone, 0);
    int64_t retries = at.retries + faded(at.was_retries, gone, BUDGET_WINDOW_MS - 1);
    int64_t cap = mul_sat(calls, at.percent) / 100 + at.floor;
    return cap > retries ? cap - retries : 0;
}

/* Takes one retry if there is room for it; else takes none and returns false. */
bool daruma_budget_take(daruma_budget *b, daruma_ms now)
{
    turn(b, now);
    if (daruma_budget_left(b, now) == 0)
        return false;
    count(&b->retries);
    check(b->retries > 0);
    return true;
}
