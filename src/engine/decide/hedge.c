/* hedge.c - a call that is silent: how long that is usual, and who is asked beside it.
 *
 *     silent --usual time is over, another target is well--> HEDGE   it is asked beside, the first content wins
 *            --... and the target is known to be sick------> MOVE    the call is given up for the other
 *            --... or calls before and after it hang-------> MOVE
 *            --nobody else is well-------------------------> WAIT    as long as the client does
 *
 * After "The Tail at Scale" (Dean, Barroso, 2013): a second call behind the usual time costs little and cuts the tail.
 * A silent call is never ended for nothing. */
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

/* How long the call at hand may be silent before `other` is asked; -1: as long as it likes. */
static daruma_ms usual_of(const daruma_case *c, int other, daruma_ms now)
{
    health_time what = c->headed ? HEALTH_CONTENT : HEALTH_HEAD;
    if (c->headed && c->plain)
        return -1; /* its body is on its way */
    daruma_ms own = health_usual(c->health, &c->targets[c->target], what, c->plain);
    if (!choice_well(c, c->target, now)) { /* it is a probe: nobody should pay for it */
        daruma_ms its = health_usual(c->health, &c->targets[other], what, c->plain);
        its = its < 0 ? HEDGE_SICK_MS : its;
        own = own < 0 || its < own ? its : own;
    }
    if (own < 0)
        own = c->headed ? HEDGE_BEGUN_MS : c->plain ? HEDGE_PLAIN_MS : HEDGE_UNKNOWN_MS;
    return own > HEDGE_MS_MIN ? own : HEDGE_MS_MIN;
}

daruma_silence daruma_case_silence(const daruma_case *c, daruma_moment at)
{
    daruma_silence s = {.act = DARUMA_SILENCE_WAIT, .look_in = -1, .target = -1};
    bool may = c->out && !c->beside.out && !c->answered && c->policy->health && c->policy->hedge &&
               c->policy->enabled && c->safe_twice;
    if (!may || c->outcome != DARUMA_OUTCOME_PENDING)
        return s;
    int other = choice_beside(c, at.now);
    daruma_ms silent = ms_since(c->sent_at, at.now), usual = usual_of(c, other < 0 ? c->target : other, at.now);
    if (usual < 0)
        return s;
    if (other < 0 || silent < usual) {
        daruma_ms left = silent < usual ? usual - silent : HEDGE_LOOK_MS;
        s.look_in = left < HEDGE_LOOK_MS ? left : HEDGE_LOOK_MS;
        return s;
    }
    bool hangs = !c->headed && health_hangs(c->health, &c->targets[c->target], c->sent_at);
    bool sick = hangs || !choice_well(c, c->target, at.now);
    s.target = other;
    if (daruma_budget_left(health_hedges(c->health, &c->targets[c->target]), at.now) > 0)
        s.act = DARUMA_SILENCE_HEDGE;
    else if (sick)
        s.act = DARUMA_SILENCE_MOVE;
    else
        s.look_in = HEDGE_LOOK_MS;
    return s;
}

void daruma_case_hedge(daruma_case *c, int target, daruma_moment at)
{
    check(c->out && !c->beside.out && target >= 0 && target < choice_count(c));
    daruma_budget_take(health_hedges(c->health, &c->targets[c->target]), at.now);
    c->beside = (daruma_beside){.out = true, .target = target, .sent_at = at.now};
    health_enter(c->health, &c->targets[target], c->beside.permits, at.now);
    c->attempts++;
    if (c->calls[target] < UINT8_MAX)
        c->calls[target]++;
}

void daruma_case_hedge_ended(daruma_case *c, const daruma_failure *f, daruma_moment at)
{
    check(c->beside.out);
    const daruma_target *t = &c->targets[c->beside.target];
    c->beside.out = false;
    if (f)
        health_bad(c->health, t, c->beside.permits, f, c->id, &c->policy->kinds[f->kind].backoff, at);
    else
        health_drop(c->health, t, c->beside.permits, at.now);
}

void daruma_case_hedge_takes_over(daruma_case *c, const daruma_failure *f, daruma_moment at)
{
    check(c->out && c->beside.out);
    static const daruma_failure silent = {.kind = DARUMA_TIMEOUT,
                                          .net = DARUMA_NET_FIRST_BYTE_TIMEOUT,
                                          .wait = -1,
                                          .limit = -1,
                                          .used = -1,
                                          .requested = -1};
    bool same = c->beside.target == c->target; /* the place is well, it was that call */
    f = f ? f : &silent;
    if (same && f == &silent) {
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
        if (!c->headed)
            health_hung(c->health, &c->targets[c->target], c->sent_at);
    } else if (!c->answered)
        health_bad(c->health, &c->targets[c->target], c->permits, f, c->id, &c->policy->kinds[f->kind].backoff, at);
    choice_blame(c, f->kind);
    if (c->since < 0)
        c->since = at.now;
    c->last = f->kind;
    c->remedies |= 1u << DARUMA_REMEDY_HEDGE;
    c->target = c->want = c->beside.target;
    c->sent_at = c->beside.sent_at;
    memcpy(c->permits, c->beside.permits, sizeof c->permits);
    c->headed = c->answered = false;
    c->beside.out = false;
}
