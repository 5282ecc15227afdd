/* hedge.c - a call that is silent: how long that is usual, and who is asked beside it.
 *
 *     silent --usual time is over, another target is well--> it is asked beside, the first content wins
 *            --nobody else is well-------------------------> waits, as long as the client does; now and then a second
 *                                                            call asks whether the place is back ("knocks")
 *
 * A stream that stands still between two pieces of its content is such a call, too, when the host says that another one
 * could go on with what came (`goes_on`); so is an answer in one piece of which a part came, and no more.
 *
 * After "The Tail at Scale" (Dean, Barroso, 2013): a second call behind the usual time costs little and cuts the tail.
 * Such calls have a budget for those that were in vain, except where the first is known to go nowhere. A silent call is
 * never ended for nothing. */
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/ladder.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

static const daruma_failure silent_failure = {
    .kind = DARUMA_TIMEOUT, .net = DARUMA_NET_FIRST_BYTE_TIMEOUT, .wait = -1, .limit = -1, .used = -1, .requested = -1};

/* One of the two calls that may be out. The silence of the newest is what counts. */
typedef struct silent_call {
    int target;
    bool headed;
    bool bare;
    bool begun; /* it is silent between two pieces of its content */
    daruma_ms silent;
    daruma_ms own; /* the usual time of its model, -1 unknown */
} silent_call;

static health_time time_of(const silent_call *n)
{
    return n->begun ? HEALTH_GAP : n->headed ? HEALTH_CONTENT : HEALTH_HEAD;
}

static silent_call look_at(const daruma_case *c, bool second, daruma_ms now)
{
    silent_call n = {.target = second ? c->beside->target : c->target,
                     .headed = second ? c->beside->headed : c->headed,
                     .bare = second ? c->beside->bare : c->bare,
                     .begun = !second && c->begun,
                     .silent = ms_since(second     ? c->beside->sent_at
                                        : c->begun ? c->piece_at
                                                   : c->sent_at,
                                        now)};
    n.own = health_usual(c->health, &c->targets[n.target], time_of(&n), c->plain);
    if (n.begun && n.own >= 0) /* what it was once is no promise: a model looks something up, writes code */
        n.own = n.own > HEDGE_PAUSE_MS ? n.own : HEDGE_PAUSE_MS;
    return n;
}

/* All of the time that the client gives, from the moment it came. */
static daruma_ms time_of_client(const daruma_case *c)
{
    return c->deadline < 0 ? INT64_MAX : ms_since(c->opened, c->deadline);
}

/* How long a call that went out at `begun` may be silent if those who are left to ask shall have as much time. */
static daruma_ms even_share(const daruma_case *c, daruma_ms begun, daruma_ms now)
{
    int left = choice_left(c, now);
    return c->deadline < 0 ? INT64_MAX : ms_since(begun, c->deadline) / (1 + (left > 1 ? left : 1));
}

/* The same, but nobody is asked for less than a part of the time of the client; where several calls are silent, for no
 * less than the first call usually takes. */
static daruma_ms share_of(const daruma_case *c, int target, daruma_ms begun, daruma_ms now)
{
    daruma_ms share = even_share(c, begun, now), least = time_of_client(c) / HEDGE_SHARES;
    daruma_ms first =
        health_usual(c->health, &c->targets[c->target], c->plain ? HEALTH_HEAD : HEALTH_CONTENT, c->plain);
    if (first < 0)
        first = c->plain ? HEDGE_PLAIN_MS : HEDGE_UNKNOWN_MS;
    if (first < least && health_mute(c->health, &c->targets[target]))
        least = first;
    return share > least ? share : least;
}

/* How long an answer in one piece may take where nobody knows: none comes sooner than the content of a stream. */
static daruma_ms plain_ms(const daruma_case *c, int target)
{
    daruma_ms begins = health_usual(c->health, &c->targets[target], HEALTH_CONTENT, false);
    return begins > HEDGE_PLAIN_MS ? begins : HEDGE_PLAIN_MS;
}

/* True if what is known of the place of the call speaks against this call: it went out to a place that was sick, or the
 * place is sick since calls there are silent. One that answers errors says so. */
static bool is_suspect(const daruma_case *c, bool second, daruma_ms now)
{
    const daruma_permit *p = second ? c->beside->permits : c->permits;
    daruma_condition h = choice_look(c, second ? c->beside->target : c->target, now);
    bool went_sick = false;
    for (size_t i = 0; i < DARUMA_PERMITS; i++)
        went_sick |= p[i].probe || !p[i].ok;
    return !h.well && (went_sick || h.why == DARUMA_TIMEOUT);
}

/* A model that gets slower little by little is always as slow as usual. Where it takes several times as long as it did
 * some minutes ago, for as long a request, a target of another model is asked after that, while the budget lasts:
 * perhaps it is asked for more than it was. */
static daruma_ms with_memory(const daruma_case *c, const silent_call *n, daruma_ms most, daruma_ms now)
{
    daruma_ms best = health_usual_best(c->health, &c->targets[n->target], time_of(n), c->plain, c->bytes, now);
    daruma_ms far = mul_sat(best, HEDGE_NOTED_TIMES);
    return best >= 0 && far < most ? far : most;
}

/* How long it may be silent before `other` (-1: nobody) is asked. */
static daruma_ms allowed(const daruma_case *c, const silent_call *n, int other, daruma_ms now)
{
    daruma_ms most = n->own;
    if (other >= 0 && !n->begun && is_suspect(c, c->beside, now)) { /* it is a probe: nobody should pay for it */
        daruma_ms its = health_usual(c->health, &c->targets[other], time_of(n), c->plain);
        its = its < 0 ? HEDGE_SICK_MS : its;
        most = most < 0 || its < most ? its : most;
    }
    bool same_model = other >= 0 && c->targets[other].model_id == c->targets[n->target].model_id; /* as slow, perhaps */
    daruma_ms begun = c->beside ? c->beside->sent_at : c->begun ? c->piece_at : c->sent_at;
    if (most < 0)
        most = same_model              ? HEDGE_SAME_MS
               : n->begun              ? HEDGE_STALL_MS
               : n->headed && !n->bare ? HEDGE_BEGUN_MS
               : n->headed || c->plain ? plain_ms(c, n->target)
                                       : HEDGE_UNKNOWN_MS;
    if (c->beside && n->own < 0) { /* nobody knows how long he may take: at least what is usual elsewhere, and who
                                          is asked next has more time */
        daruma_ms usual = health_usual(c->health, &c->targets[c->target], time_of(n), c->plain);
        most = mul_sat(most > usual ? most : usual, 1 << (c->hedges > 1 ? c->hedges - 1 : 0));
    }
    bool known = n->own >= 0 || !c->noted;
    if ((c->beside && known) ||
        (n->begun && n->own >= 0)) /* who was asked beside it gets his time; an answer is under way */
        most = mul_sat(most, HEDGE_NOTED_TIMES);
    if (other >= 0 && !n->begun && !c->beside && !same_model)
        most = with_memory(c, n, most, now);
    if (n->begun && c->thinks) /* and says little of it: between two lines of a summary a minute may pass */
        most = most > HEDGE_THINKS_MS ? most : HEDGE_THINKS_MS;
    daruma_ms share = share_of(c, n->target, begun, now);
    if (same_model && n->own < 0 && share < INT64_MAX)
        share += share / 2;
    most = most < share ? most : share;
    return most > HEDGE_MS_MIN ? most : HEDGE_MS_MIN;
}

/* A model that is far beyond its usual time counts as failing, once for each call. */
static void note(daruma_case *c, daruma_ms now)
{
    silent_call first = look_at(c, false, now), *n = &first;
    daruma_ms far = n->own >= 0 ? HEDGE_NOTED_TIMES * n->own : n->begun ? 2 * HEDGE_STALL_MS : INT64_MAX;
    if (n->begun && n->own < 0 && far > time_of_client(c) / HEDGE_KNOCK_DIV)
        far = time_of_client(c) / HEDGE_KNOCK_DIV;
    if (c->noted || n->silent < far || n->silent < HEDGE_MS_MIN)
        return;
    c->noted = true;
    if (c->answered)
        return;
    c->late = true;
    health_silent(c->health, &c->targets[c->target], c->permits, c->id, now);
    health_form_silent(c->health, &c->targets[c->target], c->plain, c->sent_at, now);
    c->permits[0].probe = c->permits[3].probe = false; /* what it was to find out is found out */
    c->permits[0].told = c->permits[3].told = true;
}

/* Nobody else is well. A second call to the same place finds out whether it is back, when the first may never be
 * answered: it went out long ago, as its model counts, and no head of an answer came. */
static bool may_knock(const daruma_case *c, const silent_call *n, daruma_ms now)
{
    daruma_ms long_ms = n->own >= 0 ? HEDGE_KNOCK_TIMES * n->own : HEDGE_BEGUN_MS;
    daruma_ms all = time_of_client(c);
    long_ms = long_ms > HEDGE_KNOCK_MS ? long_ms : HEDGE_KNOCK_MS;
    daruma_ms part = n->own >= 0 ? all / HEDGE_KNOCK_DIV : all - all / HEDGE_KNOCK_DIV;
    if (long_ms > part)
        long_ms = part; /* who asks knows best how long it takes; of a model that nobody knows it may be all of that */
    if (c->beside && long_ms < ms_since(c->sent_at, c->beside->sent_at) / 2)
        long_ms = ms_since(c->sent_at, c->beside->sent_at) / 2; /* it may be thinking: ever more seldom */
    return !n->headed && !n->begun && n->silent >= long_ms &&
           health_may_knock(c->health, &c->targets[c->target], ms_since(c->sent_at, now), all / HEDGE_KNOCKS_MAX, now);
}

/* No healthy call of that model takes so long, nor does who asks give it so much time. */
static bool is_far_beyond(const daruma_case *c, const silent_call *n)
{
    return c->noted && (n->own >= 0 || n->silent >= time_of_client(c) / HEDGE_KNOCK_DIV);
}

static bool may_hedge(const daruma_case *c, daruma_ms now)
{
    bool on = c->policy->health && c->policy->hedge && c->policy->enabled;
    bool silent = c->outcome == DARUMA_OUTCOME_PENDING && c->out && c->safe_twice && !c->done_once;
    bool body = c->begun ? !c->goes_on && !c->plain : c->answered; /* it is on its way */
    return on && silent && !body && choice_calls_left(c) > 0 && c->hedges < HEDGES_EACH_MAX &&
           (c->deadline < 0 || now < c->deadline);
}

daruma_silence daruma_case_silence(daruma_case *c, daruma_moment at)
{
    daruma_silence s = {.act = DARUMA_SILENCE_WAIT, .look_in = -1, .target = -1};
    if (!may_hedge(c, at.now))
        return s;
    daruma_ms out = ms_since(c->sent_at, at.now);
    if (out < HEDGE_MS_MIN && !c->begun && !c->beside) { /* most calls are answered before anybody looks */
        s.look_in = HEDGE_MS_MIN - out;
        return s;
    }
    silent_call first = look_at(c, false, at.now), n = c->beside ? look_at(c, true, at.now) : first;
    note(c, at.now);
    int other = choice_beside(c, at.now);
    daruma_ms most = allowed(c, &n, other, at.now);
    if (!c->overdue && !n.headed && !n.begun &&
        n.silent >= (n.own >= 0 ? most : even_share(c, at.now - n.silent, at.now))) {
        c->overdue = true;
        health_overdue(c->health, &c->targets[n.target]);
        most = allowed(c, &n, other, at.now);
    }
    s.look_in = n.silent < most && (n.begun || most - n.silent < HEDGE_LOOK_MS) ? most - n.silent : HEDGE_LOOK_MS;
    if (n.silent < most)
        return s;
    daruma_ms rest = ms_since(at.now, c->hedge_at);
    bool called = other < 0 || c->calls[other];
    if (called && rest > 0 && rest <= c->policy->max_wait) { /* a clock that went back makes no longer one */
        s.look_in = rest < HEDGE_LOOK_MS ? rest : HEDGE_LOOK_MS;
        return s;
    }
    if (other < 0) {
        bool knocks = !c->spoiled[c->target] && may_knock(c, &n, at.now);
        s.act = knocks ? DARUMA_SILENCE_HEDGE : DARUMA_SILENCE_WAIT;
        s.target = knocks ? choice_knock(c, at.now) : -1;
        return s;
    }
    /* So late that no budget is asked for: it takes twice as long as is usual, or half of the client's time is over. */
    bool ends = c->deadline >= 0 && n.silent >= ms_since(c->sent_at, c->deadline) / 2 && n.silent >= n.own;
    bool far = ends || (n.own >= 0 && n.silent >= 2 * n.own);
    bool mute = c->overdue && health_mute(c->health, &c->targets[c->target]);
    bool lost = far || mute || c->beside || is_suspect(c, false, at.now) || is_far_beyond(c, &n) ||
                (!c->headed && health_hangs(c->health, &c->targets[c->target], c->sent_at));
    if (lost || daruma_budget_left(health_hedges(c->health, &c->targets[c->target]), at.now) > 0) {
        s.act = DARUMA_SILENCE_HEDGE;
        s.target = other;
    } else {
        daruma_ms to_far = n.own >= 0 ? 2 * n.own - n.silent : HEDGE_MS_MIN;
        s.look_in = to_far < HEDGE_MS_MIN ? to_far : HEDGE_MS_MIN; /* others find out meanwhile */
    }
    return s;
}

void daruma_case_hedge(daruma_case *c, daruma_beside *room, int target, daruma_moment at)
{
    check(c->out && target >= 0 && target < choice_count(c));
    if (c->beside) {
        silent_call n = look_at(c, true, at.now);
        bool slow = n.own < 0 && (n.headed || c->plain); /* nothing speaks against it but that it takes long */
        health_second_out(c->health, &c->targets[c->beside->target], c->beside->sent_at);
        daruma_case_hedge_ended(c, slow ? NULL : &silent_failure, at);
    }
    bool knocks = target == c->target && health_heard(c->health, &c->targets[target], c->plain) <= c->sent_at;
    if (knocks)
        health_knocked(c->health, &c->targets[target], at.now);
    else
        daruma_budget_take(health_hedges(c->health, &c->targets[c->target]), at.now);
    health_second_counted(c->health, &c->targets[c->target], target == c->target);
    c->beside = room;
    *room = (daruma_beside){.target = target, .sent_at = at.now};
    c->overdue = false;
    health_second_out(c->health, &c->targets[target], at.now);
    health_enter(c->health, &c->targets[target], c->beside->permits, at.now);
    health_form_asked(c->health, &c->targets[target], c->plain, at.now);
    c->beside->paced = health_pace_takes(c->health, &c->targets[target], c->tokens, false, at.now);
    c->attempts++;
    c->hedges += !knocks; /* which come ever more seldom */
    if (c->calls[target] < UINT8_MAX)
        c->calls[target]++;
}

void daruma_case_hedge_headed(daruma_case *c, daruma_moment at)
{
    daruma_beside *b = c->beside;
    if (!b)
        return;
    if (!b->headed)
        health_took(c->health, &c->targets[b->target], HEALTH_HEAD, c->plain, c->bytes, b->sent_at, at.now);
    b->headed = true;
}

void daruma_case_hedge_ended(daruma_case *c, const daruma_failure *f, daruma_moment at)
{
    check(c->beside);
    daruma_beside *b = c->beside;
    const daruma_target *t = &c->targets[b->target];
    c->beside = NULL;
    health_pace_shown(c->health, t, &b->paced, health_pace_of(f), at.now);
    health_second_over(c->health, t);
    if (!f) {
        health_drop(c->health, t, b->permits, at.now);
        return;
    }
    if (b->answered)
        health_drop(c->health, t, b->permits, at.now);
    else
        health_bad(c->health, t, b->permits, f, c->id, b->sent_at, &c->policy->kinds[f->kind].backoff, at);
    c->hedges_bad += f != &silent_failure && c->hedges_bad < UINT8_MAX;
    daruma_ms wait = daruma_backoff_delay(&c->policy->kinds[f->kind].backoff, c->hedges_bad, at.dice);
    if (f != &silent_failure && wait > 0) {         /* nobody waited for it, and the next one is not sent at once */
        c->hedges -= c->hedges > 0 && !b->answered; /* one that answered is paid for */
        c->hedge_at = add_sat(at.now, wait);
    }
    choice_blame(c, b->target, f->kind);
    choice_spoil(c, b->target, f, false, at.now);
}

/* It lost to another model, of which nobody knows that it is faster than healthy: nothing was ever heard of the first,
 * and it did not take several times as long as the other. It may be thinking. */
static bool is_just_slower(const daruma_case *c, const silent_call *n, daruma_ms now)
{
    return n->own < 0 && n->silent < HEDGE_NOTED_TIMES * ms_since(c->beside->sent_at, now);
}

void daruma_case_hedge_takes_over(daruma_case *c, const daruma_failure *f, daruma_moment at)
{
    check(c->out && c->beside);
    const daruma_beside *its = c->beside;
    bool same = its->target == c->target; /* the place is well, it was that call */
    silent_call first = look_at(c, false, at.now);
    f = f ? f : &silent_failure;
    ladder_show_pace(c, health_pace_of(f), at.now);
    c->hung_up = choice_hung_up(c, f, at.now);
    if (c->hung_up && choice_was_noted(c, at.now))
        health_hung_up(c->health, &c->targets[c->target], at.now);
    if (same && f == &silent_failure) {
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
        if (!c->headed)
            health_hung(c->health, &c->targets[c->target], c->sent_at, its->sent_at);
    } else if (!c->answered && f == &silent_failure && is_just_slower(c, &first, at.now)) {
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
        health_slower(c->health, &c->targets[c->target], time_of(&first), c->plain, first.silent);
    } else if (!c->answered && f == &silent_failure) { /* of its provider that says nothing: others are just quicker */
        health_silent(c->health, &c->targets[c->target], c->permits, c->id, at.now);
        health_form_silent(c->health, &c->targets[c->target], c->plain, c->sent_at, at.now);
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
    } else if (!c->answered)
        health_bad(c->health, &c->targets[c->target], c->permits, f, c->id, c->sent_at,
                   &c->policy->kinds[f->kind].backoff, at);
    if (f == &silent_failure && !same) { /* it was right to ask, and so one more may */
        daruma_budget *b = health_hedges(c->health, &c->targets[c->target]);
        b->retries -= b->retries > 0;
    }
    choice_blame(c, c->target, f->kind);
    if (c->since < 0)
        c->since = at.now;
    c->bad_at = at.now;
    c->last = f->kind;
    daruma_case_did(c, DARUMA_REMEDY_HEDGE);
    if (c->begun && !c->plain)
        daruma_case_did(c, DARUMA_REMEDY_RESUME);
    c->target = c->want = its->target;
    c->sent_at = its->sent_at;
    c->paced = its->paced;
    memcpy(c->permits, its->permits, sizeof c->permits);
    c->headed = its->headed;
    c->bare = its->bare;
    c->answered = c->noted = c->overdue = c->late = c->begun = c->goes_on = c->thinks = false;
    c->gap = c->paused = 0;
    c->pauses = 0;
    c->beside = NULL;
}
