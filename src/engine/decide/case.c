/* case.c - one request on its way to an answer.
 *
 *              +--------------- wait ---------------+
 *              v                                    |
 *     open -> admit -- go --> (the host sends) -> next: SEND
 *              |                   |                |
 *              | STOP              | done           | KEEP, STOP
 *              v                   v                v
 *            close               (closed)         close
 *
 * admit asks where a call may go; next climbs the ladder of the failure's kind. Both only ever
 * choose targets that are well and that nothing in this case has shown to be of no use. */
#include "engine/decide/case.h"
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/ladder.h"
#include "engine/decide/waits.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

void daruma_case_open(daruma_case *c, daruma_health *w, const daruma_policy *p, const daruma_target *targets,
                      size_t ntargets, int prefer, daruma_ms deadline, daruma_moment at)
{
    size_t nreserve = 0;
    for (; ntargets > 1 && targets[ntargets - 1].reserve; ntargets--)
        nreserve++;
    *c = (daruma_case){.health = w,
                       .policy = p,
                       .targets = targets,
                       .ntargets = ntargets,
                       .nreserve = nreserve,
                       .opened = at.now,
                       .deadline = deadline,
                       .id = at.dice,
                       .safe_twice = true,
                       .target = -1,
                       .since = -1,
                       .want = prefer >= 0 && prefer < DARUMA_CASE_TRIED && (size_t)prefer < ntargets ? prefer : -1,
                       .not_before = at.now,
                       .hedge_at = INT64_MIN};
}

void case_resume(daruma_case *c, const daruma_case *was)
{
    c->id = was->id;
    c->attempts = was->attempts;
    c->remedies = was->remedies;
    c->ndid = was->ndid;
    memcpy(c->did, was->did, sizeof c->did);
    c->last = was->last;
    c->shrinks = was->shrinks;
    memcpy(c->used, was->used, sizeof c->used);
    choice_resume(c, was);
    if (was->left && c->policy->health) { /* its SDK waited for as long as it does, and asks again */
        health_silent(c->health, &c->targets[was->target], was->permits, c->id, c->opened);
        c->want = choice_fresh(c, c->opened);
    }
}

/* ---- going out ------------------------------------------------------------------ */

static daruma_admission refuse(const daruma_case *c, daruma_kind why)
{
    return (daruma_admission){.act = DARUMA_STOP, .target = -1, .why = c->attempts ? c->last : why};
}

/* What going to `to` now is, seen from where the last attempt went. A switch is told only when it came to pass: who was
 * to have another key, and waited until his own was well again, did no more than wait. */
static void note_switch(daruma_case *c, int to)
{
    bool stays = c->target < 0 || to == c->target, told = false;
    daruma_remedy_kind r =
        c->rung && c->rung != LADDER_ABOVE ? c->policy->rungs[c->rung - 1].remedy : DARUMA_REMEDY_NONE;
    if (choice_switches(r) && stays)
        r = DARUMA_REMEDY_WAIT_RETRY;
    if (!choice_switches(r))
        daruma_case_did(c, r);
    else if ((told = choice_leads(r, &c->targets[c->target], &c->targets[to])))
        daruma_case_did(c, r);
    for (r = DARUMA_REMEDY_SWITCH_KEY; !stays && !told && to != c->want && r <= DARUMA_REMEDY_SWITCH_MODEL; r++)
        if ((told = choice_leads(r, &c->targets[c->target], &c->targets[to])))
            daruma_case_did(c, r);
}

/* Is what goes out another request than the one that was refused? Then that one was no try of this. */
static bool remade(const daruma_case *c, int to)
{
    unsigned needs = c->rung && c->rung != LADDER_ABOVE ? c->policy->rungs[c->rung - 1].needs : 0;
    return to == c->target && (needs & DARUMA_NEED_MEND) && !(needs & (DARUMA_NEED_TRIES | DARUMA_NEED_PARTIAL));
}

static daruma_admission go(daruma_case *c, int to, daruma_ms now)
{
    bool counts = !remade(c, to);
    note_switch(c, to);
    for (int i = 0; i < to && c->policy->health; i++)
        health_passed(c->health, &c->targets[i]);
    health_enter(c->health, &c->targets[to], c->permits, now);
    health_form_asked(c->health, &c->targets[to], c->plain, now);
    c->paced = health_pace_takes(c->health, &c->targets[to], c->tokens, c->calls[to] > 0, now);
    c->out = true;
    c->left = c->hung_up = false;
    c->answered = c->useless = c->headed = c->bare = c->noted = c->overdue = c->late = c->begun = false;
    c->goes_on = c->thinks = c->capped = false;
    c->sent_at = now;
    c->gap = c->paused = c->slow = 0;
    c->pauses = 0;
    c->rung = 0;
    c->not_before = INT64_MIN; /* waited enough, whatever the clock says later */
    c->target = c->want = to;
    c->attempts++;
    if (counts)
        case_count(&c->calls[to]);
    return (daruma_admission){.act = DARUMA_SEND, .target = to};
}

/* True if target `i` rests for so long, as its provider named it, that an answer behind that would come too late. Of a
 * model that nobody knows it may take a part of the time that is left. */
static bool is_in_vain(const daruma_case *c, int i, daruma_ms named, daruma_ms now)
{
    daruma_ms spare = waits_spare(c, i, now), left = ms_since(now, c->deadline);
    return c->deadline >= 0 && named > 0 && named < left &&
           named > (spare < INT64_MAX ? spare : left - left / HURRY_DIV);
}

/* The target that finds out before its time whether it is back: `first`, which is asked soonest, or another one while
 * that was asked just now. -1: each was. One that only rests has no breaker which says so: nobody follows at once. */
static int hurried(const daruma_case *c, int first, daruma_ms most, daruma_ms now)
{
    for (int n = -1; n < choice_count(c); n++) {
        int i = n < 0 ? first : n;
        bool tries = c->attempts ? choice_tries_left(c, i, c->last) : !c->spoiled[i];
        bool of_use = i == first || (tries && health_may_ask(c->health, &c->targets[i], now));
        if (of_use && choice_look(c, i, now).named_in == 0 && waits_spare(c, i, now) >= 0 &&
            health_may_hurry(c->health, &c->targets[i], most, now))
            return i;
    }
    return -1;
}

/* A target that is no limit's matter, and that answered a call of others since this case began, although it counts as
 * down: it fails some calls and not all, so that who is short of time asks it himself, as often as without us. -1:
 * none. */
static int answering(const daruma_case *c, daruma_ms now)
{
    for (int i = 0; i < choice_count(c) && choice_hurries(c, now) && c->attempts < ALONE_CALLS; i++) {
        daruma_condition h = choice_look(c, i, now);
        bool limited = h.named_in > 0 || h.why == DARUMA_RATE_LIMIT ||
                       health_busy_in(c->health, &c->targets[i], now) > 0; /* there somebody else has his turn */
        if (choice_tries_left(c, i, c->last) && !limited && health_worked(c->health, &c->targets[i], c->opened))
            return i;
    }
    return -1;
}

/* Nobody is well, or may be asked all the same. What passes is waited for. Where that does not fit, health may be
 * wrong: nobody fails whom a target could answer that was not asked. */
static daruma_admission wait_for_any(daruma_case *c, daruma_moment at)
{
    daruma_condition back = {0};
    int first = choice_first_back(c, at.now, &back), last = choice_unasked(c, at.now);
    daruma_ms wait = back.alone_in, looked = wait;
    int partly = answering(c, at.now);
    if (partly >= 0)
        return go(c, partly, at.now);
    if (c->since < 0)
        c->since = at.now;
    if (first >= 0 && back.named_in == 0 && wait > waits_longest(c, at.now)) {
        daruma_ms most = waits_longest(c, at.now);
        bool waits = most >= WAIT_MS_MIN, short_of_time = c->deadline >= 0 || !waits;
        daruma_ms spare = waits_spare(c, first, at.now);
        int asked = short_of_time ? hurried(c, first, most, at.now) : -1;
        if (asked >= 0)
            return go(c, asked, at.now); /* it finds out itself, for its client's sake or since its patience is over */
        if (spare <= 0 && (!c->attempts || (waits_spare(c, first, c->sent_at) > 0 &&
                                            health_may_ask(c->health, &c->targets[first], at.now))))
            return go(c, first, at.now); /* later it would be in vain */
        if (waits)
            wait = c->deadline >= 0 && most > ALONE_LOOK_MS ? ALONE_LOOK_MS : most;
        if (spare > 0 && wait > spare)
            wait = spare;
        last = spare < 0 ? -1 : last;
    }
    if (first >= 0 && !c->calls[first] && wait == looked && wait >= back.named_in &&
        is_in_vain(c, first, back.named_in, at.now)) {
        if (health_may_ask(c->health, &c->targets[first], at.now))
            return go(c, first,
                      at.now); /* the newer word, in whole seconds as well, may be shorter: for all who wait */
        wait = ALONE_MS_MIN;
    } else if (first >= 0 && back.named_in > 0 && back.named_in < wait && wait > waits_longest(c, at.now)) {
        daruma_ms most = waits_longest(c, at.now); /* more than the provider named is our own guess */
        wait = back.named_in > most ? back.named_in : most;
    }
    bool fits = first >= 0 && wait <= c->policy->max_wait && waits_in_time(c, wait, at.now);
    if (!fits && last < 0 && first >= 0 && back.named_in == 0 && waits_for_probe(c, first, at.now)) {
        waits_hold(c, ALONE_LOOK_MS, 0, at.now);
        return (daruma_admission){.act = DARUMA_SEND, .wait = ALONE_LOOK_MS, .target = first, .why = back.why};
    }
    if (!fits && last < 0 && first >= 0 && back.named_in > 0 && daruma_kind_passes(back.why) && !c->attempts &&
        health_may_doubt(c->health, &c->targets[first], at.now)) {
        daruma_admission sent = go(c, first, at.now); /* it would fail without a call, and what others were told may
                                                         hold no more */
        c->permits[2].probe = true;
        return sent;
    }
    if (!fits && last < 0) {
        daruma_admission no = refuse(c, first >= 0 ? back.why : DARUMA_UNKNOWN);
        no.status = first >= 0 && no.why == back.why ? back.named_status : 0;
        return no;
    }
    if (!fits)
        return go(c, last, at.now);
    daruma_ms apart = waits_apart(c, first, wait, &c->policy->kinds[back.why].backoff, at);
    wait = apart <= c->policy->max_wait && waits_in_time(c, apart, at.now) ? apart : wait;
    waits_hold(c, wait, 0, at.now);
    health_awaited(c->health, &c->targets[first], back.who);
    return (daruma_admission){.act = DARUMA_SEND, .wait = wait, .target = first, .why = back.why};
}

/* What is left of the wait when a later call was told a shorter one by the provider. */
static daruma_ms renamed(daruma_case *c, daruma_ms wait, daruma_moment at)
{
    daruma_condition back = {0};
    int first = choice_first_back(c, at.now, &back);
    if (first < 0 || !health_named_since(c->health, &c->targets[first], c->attempts ? c->sent_at : c->opened, at.now))
        return wait;
    daruma_ms named = waits_apart(c, first, back.named_in, &c->policy->kinds[back.why].backoff, at);
    if (named >= wait)
        return wait;
    waits_hold(c, named, named, at.now);
    return named;
}

/* Somebody is well before the wait is over: then it waits for nothing but what the provider named, and what keeps those
 * apart who wait for the same. */
static daruma_ms shortened(daruma_case *c, daruma_ms wait, daruma_moment at)
{
    daruma_ms own = ms_since(at.now, c->due);
    if (wait <= 0 || !c->policy->health)
        return wait;
    if (choice_pick(c, at.now) < 0)
        return renamed(c, wait, at);
    if (own >= wait)
        return wait;
    daruma_ms apart =
        waits_spread(wait, &c->policy->kinds[c->attempts ? c->last : DARUMA_SERVER_ERROR].backoff, at.dice);
    daruma_ms soon = own > apart ? own : apart;
    waits_hold(c, soon, soon, at.now);
    return soon;
}

daruma_admission daruma_case_admit(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING || choice_count(c) == 0)
        return refuse(c, DARUMA_UNKNOWN);
    choice_ask_last(c);
    check(!c->out); /* the attempt before this one was not ended */
    if (!waits_in_time(c, 0, at.now) || choice_calls_left(c) == 0)
        return refuse(c, DARUMA_BUDGET);
    daruma_ms wait = shortened(c, waits_left(c, at.now), at);
    if (wait > 0)
        return (daruma_admission){.act = DARUMA_SEND, .wait = wait, .target = c->want, .why = c->last};
    if (!c->policy->enabled) {
        int only = c->want >= 0 ? c->want : 0;
        return c->spoiled[only] ? refuse(c, DARUMA_UNKNOWN) : go(c, only, at.now);
    }
    int to = choice_pick(c, at.now);
    daruma_ms rested = 0;
    int rests = to < 0 && c->policy->health ? choice_rested(c, at.now, &rested) : -1;
    if (rests >= 0 && rested <= WAIT_REST_MS &&
        waits_in_time(c, rested, at.now)) { /* better there soon than now in vain */
        rested = waits_apart(c, rests, rested, &c->policy->kinds[DARUMA_RATE_LIMIT].backoff, at);
        waits_hold(c, rested, 0, at.now);
        return (daruma_admission){.act = DARUMA_SEND, .wait = rested, .target = c->want, .why = DARUMA_RATE_LIMIT};
    }
    if (to < 0 && c->hung_up && c->want == c->target && !c->spoiled[c->want])
        to = c->want; /* what others met does not concern it */
    if (to < 0)
        to = choice_alone(c, at.now);
    return to >= 0 ? go(c, to, at.now) : wait_for_any(c, at);
}

/* ---- ends ---------------------------------------------------------------------- */

void daruma_case_told_left(daruma_case *c, const daruma_left *told, daruma_ms now)
{
    if (c->out && c->policy->health)
        health_told_left(c->health, &c->targets[c->target], told, &c->paced, c->sent_at, now);
}

bool case_counts_tokens(const daruma_case *c, daruma_ms now)
{
    bool counts = false;
    for (size_t i = 0; c->policy->health && i < c->ntargets && i < DARUMA_CASE_TRIED; i++)
        counts |= health_counts_tokens(c->health, &c->targets[i], now);
    return counts;
}

bool case_awaits(const daruma_case *c, int target, daruma_ms now, daruma_spent *ret)
{
    daruma_condition h = {.well = true};
    int i = target >= 0 ? target : choice_first_back(c, now, &h);
    if (i >= 0)
        h = choice_look(c, i, now);
    if (h.well)
        return false;
    const daruma_target *t = &c->targets[i];
    bool spent = health_spent_in(c->health, t, c->tokens, now) >= h.in;
    *ret = (daruma_spent){.kind = h.why, .who = h.who, .target = t, .usual = -1};
    ret->on = health_is_probed(c->health, t, now) ? DARUMA_SPENT_TURN : DARUMA_SPENT_REST;
    if (spent)
        ret->on = health_is_full(c->health, t, now) ? DARUMA_SPENT_ROOM : DARUMA_SPENT_RATE;
    return true;
}

daruma_spent case_slow(const daruma_case *c, daruma_ms now)
{
    const daruma_target *t = &c->targets[c->target];
    daruma_spent s = {.on = DARUMA_SPENT_BEGIN, .whole = c->plain, .target = t, .ms = c->slow, .usual = c->usual};
    if (!c->begun) {
        s.on = DARUMA_SPENT_SILENT;
        s.ms = ms_since(c->sent_at, now);
        s.usual = health_usual_mean(c->health, t, HEALTH_CONTENT, c->plain);
    }
    return s;
}

/* Is that pause one that somebody asks about? */
static bool is_long_pause(const daruma_case *c, daruma_ms gap)
{
    return gap >= LATE_MS_MIN && gap > health_usual(c->health, &c->targets[c->target], HEALTH_GAP, c->plain);
}

daruma_spent case_paused(const daruma_case *c, daruma_ms now)
{
    const daruma_target *t = &c->targets[c->target];
    daruma_ms gap = c->begun ? ms_since(c->piece_at, now) : 0;
    bool more = is_long_pause(c, gap);
    daruma_spent s = {
        .on = DARUMA_SPENT_PAUSE, .whole = c->plain, .target = t, .ms = c->paused, .times = c->pauses + more};
    s.ms = more ? add_sat(s.ms, gap) : s.ms;
    s.usual = health_usual_mean(c->health, t, HEALTH_GAP, c->plain);
    if (s.usual < 0 && s.ms < LATE_UNKNOWN_MS)
        s.ms = 0;
    return s;
}

static void is_well(daruma_case *c, daruma_moment at)
{
    ladder_show_pace(c, PACE_ANSWERED, at.now);
    if (c->policy->health && !c->answered) {
        (c->useless ? health_useless : health_good)(c->health, &c->targets[c->target], c->permits, c->sent_at, at.now);
        health_form_well(c->health, &c->targets[c->target], c->plain, c->sent_at);
        health_not_too_large(c->health, &c->targets[c->target], c->bytes);
    }
    c->answered = true;
}

void daruma_case_answered(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    c->useless = true;
    is_well(c, at);
}

/* True if the call at hand is a probe. */
static bool is_probe(const daruma_case *c)
{
    bool probes = false;
    for (size_t i = 0; i < sizeof c->permits / sizeof *c->permits; i++)
        probes |= c->out && c->permits[i].probe;
    return probes;
}

/* True if this case has nobody else to ask now. */
static bool is_alone(const daruma_case *c, daruma_ms now)
{
    bool alone = true;
    for (int i = 0; alone && i < choice_count(c); i++)
        alone = i == c->target || c->spoiled[i] || !choice_well(c, i, now);
    return alone;
}

/* True if calls to the target at hand failed before the head of an answer came. */
static bool failed_at_head(const daruma_case *c, daruma_ms now)
{
    daruma_kind why = choice_look(c, c->target, now).why;
    return why == DARUMA_SERVER_ERROR || why == DARUMA_OVERLOADED || why == DARUMA_NETWORK;
}

void daruma_case_headed(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING || !c->out || c->headed)
        return;
    c->headed = true;
    /* Nobody waits for this probe, all go elsewhere: the place is back. Those who wait for it hear of its content. */
    if (c->policy->health && !c->plain && !c->answered && is_probe(c) && failed_at_head(c, at.now) &&
        !is_alone(c, at.now))
        health_good(c->health, &c->targets[c->target], c->permits, c->sent_at, at.now);
    health_took(c->health, &c->targets[c->target], HEALTH_HEAD, c->plain, c->bytes, c->sent_at, at.now);
}

/* Another target answers the request that one refused without a reason: it was not the request. */
static void tell_odd(daruma_case *c, daruma_moment at)
{
    if (c->odd && c->policy->health && c->targets[c->odd - 1].lane_id != c->targets[c->target].lane_id)
        health_alone_refused(c->health, &c->targets[c->odd - 1], c->id, c->odd_at,
                             &c->policy->kinds[DARUMA_UNKNOWN].backoff, at);
    c->odd = 0;
}

bool case_is_slow(const daruma_case *c, daruma_ms took)
{
    const daruma_target *t = &c->targets[c->target];
    daruma_ms usual = health_usual_mean(c->health, t, HEALTH_CONTENT, c->plain);
    if (usual < 0)
        return took >= (c->plain ? LATE_UNKNOWN_WHOLE_MS : LATE_UNKNOWN_MS);
    return took - usual >= LATE_MS_MIN && took > health_usual(c->health, t, HEALTH_CONTENT, c->plain);
}

void daruma_case_begun(daruma_case *c, daruma_moment at)
{
    daruma_ms took = ms_since(c->sent_at, at.now);
    if (c->out && !c->plain)
        tell_odd(c, at);
    c->slow = 0;
    if (c->out && took >= LATE_MS_MIN && case_is_slow(c, took)) {
        c->slow = took;
        c->usual = health_usual_mean(c->health, &c->targets[c->target], HEALTH_CONTENT, c->plain);
    }
    if (c->out)
        health_took(c->health, &c->targets[c->target], HEALTH_CONTENT, c->plain, c->bytes, c->sent_at, at.now);
    c->begun = c->out;
    c->noted = false;
    c->piece_at = at.now;
    /* How its answers end may be the question; who has another place to go waits for nobody. */
    if (!c->plain && c->last != DARUMA_INTERRUPTED && is_probe(c) && is_alone(c, at.now))
        is_well(c, at);
}

void daruma_case_piece(daruma_case *c, daruma_ms now)
{
    daruma_ms gap = ms_since(c->piece_at, now);
    c->gap = gap > c->gap ? gap : c->gap;
    if (is_long_pause(c, gap)) {
        c->paused = add_sat(c->paused, gap);
        c->pauses += c->pauses < UINT32_MAX;
    }
    c->piece_at = now;
}

void daruma_case_done(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    if (c->late && !c->answered && c->policy->health && choice_beside(c, at.now) >= 0) {
        /* it came after all, far too late for those who could ask somebody else */
        ladder_show_pace(c, PACE_ANSWERED, at.now);
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
    } else
        is_well(c, at);
    tell_odd(c, at);
    if (c->begun)
        health_paused(c->health, &c->targets[c->target], c->plain, c->gap);
    if (c->beside)
        daruma_case_hedge_ended(c, NULL, at);
    c->out = false;
    c->outcome = c->remedies ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK;
}

void daruma_case_drop(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    ladder_show_pace(c, PACE_NOTHING, at.now);
    c->left = !c->answered && !c->headed && !c->begun && ms_since(c->sent_at, at.now) >= HEDGE_MS_MIN;
    if (!c->answered && c->policy->health)
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
    if (c->beside)
        daruma_case_hedge_ended(c, NULL, at);
    c->out = false;
}

void daruma_case_unsent(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    if (c->beside)
        daruma_case_hedge_ended(c, NULL, at);
    else
        daruma_case_drop(c, at);
    c->attempts--;
    c->left = false; /* nobody waited for its answer */
}

void daruma_case_close(daruma_case *c, daruma_outcome o, daruma_moment at)
{
    check(o != DARUMA_OUTCOME_PENDING);
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    if (c->out)
        daruma_case_drop(c, at);
    c->outcome = o;
}

void daruma_case_resent(daruma_case *c)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    c->attempts++;
    daruma_case_did(c, DARUMA_REMEDY_RETRY_FRESH);
}

/* Calls that speak against target `i`: its own, or those of the last target when what is sick is part of both. */
static uint8_t failures_of(const daruma_case *c, const daruma_failure *f, int i)
{
    const daruma_target *t = c->target >= 0 ? &c->targets[c->target] : NULL, *u = &c->targets[i];
    daruma_scope who = daruma_kind_scope(f->kind);
    bool shared = t && ((who == DARUMA_SICK_PROVIDER && u->provider_id == t->provider_id) ||
                        (who == DARUMA_SICK_MODEL && u->model_id == t->model_id));
    return shared && c->calls[c->target] > c->calls[i] ? c->calls[c->target] : c->calls[i];
}

daruma_ms daruma_case_again_in(const daruma_case *c, const daruma_failure *f, daruma_ms now)
{
    daruma_ms best = -1;
    bool passes = !f || ladder_passes(f); /* else only another one may take it */
    if (!passes && (c->target < 0 || !choice_doubts(c, f)))
        return -1;
    for (int i = 0; i < choice_count(c); i++) {
        if (c->spoiled[i] || (!passes && c->targets[i].model_id == c->targets[c->target].model_id))
            continue;
        daruma_condition h = choice_look(c, i, now);
        daruma_ms in = h.alone_in > h.named_in ? h.alone_in : h.named_in;
        if (!h.well && h.named_in == 0 && !daruma_kind_passes(h.why))
            continue; /* it will be probed, but nobody should wait for that */
        uint8_t failed = f ? failures_of(c, f, i) : 0;
        if (failed) { /* not before its backoff is over */
            daruma_backoff sure = c->policy->kinds[f->kind].backoff;
            sure.jitter_milli = 0;
            daruma_ms grown = daruma_backoff_delay(&sure, failed, 0);
            in = in > grown ? in : grown;
        }
        if (i == c->target && f && f->wait > in)
            in = f->wait;
        if (best < 0 || in < best)
            best = in;
    }
    return best;
}
