/* hedge.c - a call that is silent: how long that is usual, and who is asked beside it.
 *
 *     silent --usual time is over, another target is well--> it is asked beside, the first content wins
 *            --nobody else is well-------------------------> waits, as long as the client does; now and then a second
 *                                                            call asks whether the place is back
 *
 * After "The Tail at Scale" (Dean, Barroso, 2013): a second call behind the usual time costs little and cuts the tail.
 * Such calls have a budget, except where the first is known to go nowhere. A silent call is never ended for nothing. */
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

static const daruma_failure silent_failure = {
    .kind = DARUMA_TIMEOUT, .net = DARUMA_NET_FIRST_BYTE_TIMEOUT, .wait = -1, .limit = -1, .used = -1, .requested = -1};

/* The newest of the two calls that may be out: its silence is what counts. */
typedef struct newest {
    int target;
    bool headed;
    daruma_ms silent;
    daruma_ms own; /* the usual time of its model, -1 unknown */
} newest;

static newest newest_of(const daruma_case *c, daruma_ms now)
{
    bool second = c->beside.out;
    newest n = {.target = second ? c->beside.target : c->target,
                .headed = second ? c->beside.headed : c->headed,
                .silent = ms_since(second ? c->beside.sent_at : c->sent_at, now)};
    n.own = health_usual(c->health, &c->targets[n.target], n.headed ? HEALTH_CONTENT : HEALTH_HEAD, c->plain);
    return n;
}

/* How long it may be silent before `other` (-1: nobody) is asked. */
static daruma_ms allowed(const daruma_case *c, const newest *n, int other, daruma_ms now)
{
    daruma_ms most = n->own;
    if (other >= 0 && !choice_well(c, n->target, now)) { /* it is a probe: nobody should pay for it */
        daruma_ms its = health_usual(c->health, &c->targets[other], n->headed ? HEALTH_CONTENT : HEALTH_HEAD, c->plain);
        its = its < 0 ? HEDGE_SICK_MS : its;
        most = most < 0 || its < most ? its : most;
    }
    daruma_ms begun = c->beside.out ? c->beside.sent_at : c->sent_at;
    if (most < 0)
        most = n->headed ? HEDGE_BEGUN_MS : c->plain ? HEDGE_PLAIN_MS : HEDGE_UNKNOWN_MS;
    if (c->beside.out) /* who was asked beside it gets his time */
        most = mul_sat(most, HEDGE_NOTED_TIMES);
    if (c->deadline >= 0 && most > ms_since(begun, c->deadline) / 2)
        most = ms_since(begun, c->deadline) / 2; /* the other one needs time, too */
    return most > HEDGE_MS_MIN ? most : HEDGE_MS_MIN;
}

/* A model that is far beyond its usual time counts as failing, once for each call. */
static void note(daruma_case *c, const newest *n, daruma_ms now)
{
    if (c->noted || c->beside.out || n->own < 0 || n->silent < HEDGE_NOTED_TIMES * n->own || n->silent < HEDGE_MS_MIN)
        return;
    c->noted = true;
    health_silent(c->health, &c->targets[c->target], c->permits[0], c->id, now);
    c->permits[0].probe = false; /* what it was to find out is found out */
}

/* Nobody else is well. A second call to the same place finds out whether it is back, when the first may never be
 * answered: it went out long ago, as its model counts, and no head of an answer came. */
static bool may_knock(const daruma_case *c, const newest *n, daruma_ms now)
{
    daruma_ms long_ms = n->own >= 0 ? HEDGE_KNOCK_TIMES * n->own : HEDGE_BEGUN_MS / 2;
    return !n->headed && n->silent >= HEDGE_KNOCK_MS && n->silent >= long_ms &&
           health_may_knock(c->health, &c->targets[c->target], now);
}

static bool may_hedge(const daruma_case *c, daruma_ms now)
{
    bool on = c->policy->health && c->policy->hedge && c->policy->enabled;
    bool silent = c->outcome == DARUMA_OUTCOME_PENDING && c->out && !c->answered && c->safe_twice;
    bool body = c->headed && c->plain; /* it is on its way */
    return on && silent && !body && c->hedges < HEDGES_EACH_MAX && (c->deadline < 0 || now < c->deadline);
}

daruma_silence daruma_case_silence(daruma_case *c, daruma_moment at)
{
    daruma_silence s = {.act = DARUMA_SILENCE_WAIT, .look_in = -1, .target = -1};
    if (!may_hedge(c, at.now))
        return s;
    newest n = newest_of(c, at.now);
    note(c, &n, at.now);
    int other = choice_beside(c, at.now);
    daruma_ms most = allowed(c, &n, other, at.now);
    s.look_in = n.silent < most && most - n.silent < HEDGE_LOOK_MS ? most - n.silent : HEDGE_LOOK_MS;
    if (n.silent < most)
        return s;
    if (other < 0) {
        bool knocks = may_knock(c, &n, at.now);
        s.act = knocks ? DARUMA_SILENCE_HEDGE : DARUMA_SILENCE_WAIT;
        s.target = knocks ? c->target : -1;
        return s;
    }
    bool lost = c->beside.out || !choice_well(c, c->target, at.now) ||
                (!c->headed && health_hangs(c->health, &c->targets[c->target], c->sent_at));
    if (lost || daruma_budget_left(health_hedges(c->health, &c->targets[c->target]), at.now) > 0) {
        s.act = DARUMA_SILENCE_HEDGE;
        s.target = other;
    }
    return s;
}

void daruma_case_hedge(daruma_case *c, int target, daruma_moment at)
{
    check(c->out && target >= 0 && target < choice_count(c));
    if (c->beside.out) {
        newest n = newest_of(c, at.now);
        bool slow = n.own < 0 && (n.headed || c->plain); /* nothing speaks against it but that it takes long */
        daruma_case_hedge_ended(c, slow ? NULL : &silent_failure, at);
    }
    if (target == c->target && health_heard(c->health, &c->targets[target]) <= c->sent_at)
        health_knocked(c->health, &c->targets[target], at.now);
    else
        daruma_budget_take(health_hedges(c->health, &c->targets[c->target]), at.now);
    c->beside = (daruma_beside){.out = true, .target = target, .sent_at = at.now};
    health_enter(c->health, &c->targets[target], c->beside.permits, at.now);
    c->attempts++;
    c->hedges++;
    if (c->calls[target] < UINT8_MAX)
        c->calls[target]++;
}

void daruma_case_hedge_headed(daruma_case *c, daruma_moment at)
{
    if (c->beside.out && !c->beside.headed)
        health_took(c->health, &c->targets[c->beside.target], HEALTH_HEAD, c->plain, c->beside.sent_at, at.now);
    c->beside.headed = c->beside.out;
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
    bool same = c->beside.target == c->target; /* the place is well, it was that call */
    f = f ? f : &silent_failure;
    if (same && f == &silent_failure) {
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
        if (!c->headed)
            health_hung(c->health, &c->targets[c->target], c->sent_at);
    } else if (!c->answered)
        health_bad(c->health, &c->targets[c->target], c->permits, f, c->id, &c->policy->kinds[f->kind].backoff, at);
    choice_blame(c, f->kind);
    if (c->since < 0)
        c->since = at.now;
    c->last = f->kind;
    daruma_case_did(c, DARUMA_REMEDY_HEDGE);
    c->target = c->want = c->beside.target;
    c->sent_at = c->beside.sent_at;
    memcpy(c->permits, c->beside.permits, sizeof c->permits);
    c->headed = c->beside.headed;
    c->answered = c->noted = false;
    c->beside.out = false;
}
