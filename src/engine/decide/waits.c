/* waits.c - how long a case may wait, and does: within the time of its client, within the patience of its policy, and
 * not in step with all others. */
#include "engine/decide/waits.h"
#include "engine/decide/case.h"
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/limits.h"

/* Where others are answered all the time it is no outage, as far as anybody can tell: there is less to wait for. */
static daruma_ms patience_of(const daruma_case *c)
{
    return c->policy->patience > 0 && c->unfit >= UNFIT_GIVES_UP ? c->policy->patience / UNFIT_PATIENCE_DIV
                                                                 : c->policy->patience;
}

bool waits_in_time(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    daruma_ms patience = patience_of(c), waited = c->since < 0 ? 0 : ms_since(c->since, now);
    bool patient = wait <= 0 || patience < 0 || add_sat(waited, wait) <= patience;
    return patient && (c->deadline < 0 || add_sat(now, wait) < c->deadline);
}

bool waits_for_probe(const daruma_case *c, int i, daruma_ms now)
{
    daruma_ms over = add_sat(c->since, add_sat(patience_of(c), BREAKER_PROBE_MS));
    bool in_time = c->deadline < 0 || add_sat(now, ALONE_LOOK_MS) < c->deadline;
    return c->policy->patience > 0 && now < over && in_time && health_is_probed(c->health, &c->targets[i], now);
}

daruma_ms waits_longest(const daruma_case *c, daruma_ms now)
{
    daruma_ms waited = c->since < 0 ? 0 : ms_since(c->since, now), most = INT64_MAX;
    if (c->policy->patience >= 0)
        most = ms_since(waited, patience_of(c));
    if (c->deadline >= 0 && ms_since(now, c->deadline) / HURRY_DIV < most)
        most = ms_since(now, c->deadline) / HURRY_DIV;
    return most;
}

daruma_ms waits_at_most(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    daruma_ms most = waits_longest(c, now);
    if (wait <= most || most < ALONE_MS_MIN / 4 || (most < ALONE_MS_MIN && waits_in_time(c, wait, now)))
        return wait;
    return most < ALONE_MS_MIN ? 2 * most : most;
}

daruma_ms waits_left(const daruma_case *c, daruma_ms now)
{
    daruma_ms left = ms_since(now, c->not_before);
    return left < c->policy->max_wait ? left : c->policy->max_wait;
}

void waits_hold(daruma_case *c, daruma_ms wait, daruma_ms own, daruma_ms now)
{
    c->due = add_sat(now, own);
    c->waited -= waits_left(c, now); /* what was not waited after all */
    if (c->waited < 0)
        c->waited = 0;
    c->waited = add_sat(c->waited, wait);
    c->not_before = add_sat(now, wait);
}

bool waits_may_turn(const daruma_case *c, int i, daruma_ms now)
{
    const daruma_target *t = &c->targets[i];
    daruma_ms asked = c->attempts ? c->sent_at : c->opened;
    if (c->out || c->outcome != DARUMA_OUTCOME_PENDING || !c->policy->health || c->spoiled[i] ||
        waits_left(c, now) == 0 || c->calls[i] > TURNS_GIVEN_MAX ||
        ms_since(c->sent_at, now) < WAITERS_EACH_MS * c->calls[i] ||
        health_takes_turns(c->health, t, now) || /* who has too many calls is asked in the order of its own */
        (health_heard(c->health, t, false) <= asked && !health_worked(c->health, t, asked)))
        return false;
    daruma_condition h = choice_look(c, i, now);
    return h.well || h.alone_in == 0;
}

void waits_turn(daruma_case *c, daruma_ms now)
{
    waits_hold(c, 0, 0, now);
}

bool waits_gives_turn(daruma_case *c, daruma_case *older, daruma_ms now)
{
    daruma_ms wait = waits_left(older, now);
    bool sooner = c->deadline >= 0 && (older->deadline < 0 || c->deadline < older->deadline);
    if (c->out || waits_left(c, now) > 0 || sooner || !waits_in_time(c, wait, now))
        return false;
    waits_hold(c, wait, 0, now);
    waits_turn(older, now);
    return true;
}

daruma_ms waits_spare(const daruma_case *c, int i, daruma_ms now)
{
    daruma_ms takes = health_usual(c->health, &c->targets[i], c->plain ? HEALTH_HEAD : HEALTH_CONTENT, c->plain);
    return c->deadline < 0 || takes < 0 ? INT64_MAX : c->deadline - add_sat(now, takes);
}

daruma_ms waits_spread(daruma_ms wait, const daruma_backoff *b, uint64_t dice)
{
    daruma_backoff share = {.base = wait / BACKOFF_SPREAD_DIV, .cap = b->base, .jitter_milli = b->jitter_milli};
    daruma_ms most = share.base < share.cap ? share.base : share.cap;
    return b->jitter_milli ? most - daruma_backoff_delay(&share, 1, dice) : 0;
}

daruma_ms waits_apart(const daruma_case *c, int i, daruma_ms wait, const daruma_backoff *b, daruma_moment at)
{
    daruma_ms left = c->deadline < 0 ? INT64_MAX : ms_since(add_sat(at.now, wait), c->deadline);
    bool turns = health_takes_turns(c->health, &c->targets[i], at.now);
    daruma_ms more = turns ? (daruma_ms)(at.dice % ALONE_LOOK_MS) : waits_spread(wait, b, at.dice);
    daruma_ms spare = waits_spare(c, i, at.now);
    daruma_ms apart = add_sat(wait, more < left / BACKOFF_SPREAD_DIV ? more : left / BACKOFF_SPREAD_DIV);
    return apart <= spare ? apart : spare > wait ? spare : wait;
}
