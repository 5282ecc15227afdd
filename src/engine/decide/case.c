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
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

static void bump(uint8_t *n)
{
    if (*n < UINT8_MAX)
        ++*n;
}

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

void daruma_case_resume(daruma_case *c, const daruma_case *was)
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

/* ---- time ---------------------------------------------------------------------- */

/* Does a wait end before the deadline, and before the policy's patience with what passes by itself is over? */
static bool in_time(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    daruma_ms patience = c->policy->patience, waited = c->since < 0 ? 0 : ms_since(c->since, now);
    bool patient = wait <= 0 || patience < 0 || add_sat(waited, wait) <= patience;
    return patient && (c->deadline < 0 || add_sat(now, wait) < c->deadline);
}

/* The longest wait that leaves something: what is left of the policy's patience, and a part of the client's own time,
 * since nobody else may find out meanwhile. */
static daruma_ms longest_wait(const daruma_case *c, daruma_ms now)
{
    daruma_ms waited = c->since < 0 ? 0 : ms_since(c->since, now), most = INT64_MAX;
    if (c->policy->patience >= 0)
        most = ms_since(waited, c->policy->patience);
    if (c->deadline >= 0 && ms_since(now, c->deadline) / HURRY_DIV < most)
        most = ms_since(now, c->deadline) / HURRY_DIV;
    return most;
}

/* A wait that nobody named, in the time that there is. When it does not fit any more, half of the last moments is
 * waited instead of giving the client up, unless nothing could come in the other half. */
static daruma_ms wait_at_most(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    daruma_ms most = longest_wait(c, now);
    if (wait <= most || most < ALONE_MS_MIN / 4 || (most < ALONE_MS_MIN && in_time(c, wait, now)))
        return wait;
    return most < ALONE_MS_MIN ? 2 * most : most;
}

/* What is still to be waited. A clock that went back does not make it longer than any wait. */
static daruma_ms to_wait(const daruma_case *c, daruma_ms now)
{
    daruma_ms left = ms_since(now, c->not_before);
    return left < c->policy->max_wait ? left : c->policy->max_wait;
}

/* Of the wait, `own` is not for anybody to become well. */
static void hold(daruma_case *c, daruma_ms wait, daruma_ms own, daruma_ms now)
{
    c->due = add_sat(now, own);
    c->waited -= to_wait(c, now); /* what was not waited after all */
    if (c->waited < 0)
        c->waited = 0;
    c->waited = add_sat(c->waited, wait);
    c->not_before = add_sat(now, wait);
}

/* How long target `i` may be waited for so that its answer still comes in time, as far as is known. Who has no time to
 * spare only takes the turn of others. */
static daruma_ms spare_time(const daruma_case *c, int i, daruma_ms now)
{
    daruma_ms takes = health_usual(c->health, &c->targets[i], c->plain ? HEALTH_HEAD : HEALTH_CONTENT, c->plain);
    return c->deadline < 0 || takes < 0 ? INT64_MAX : c->deadline - add_sat(now, takes);
}

/* Those who wait for the same recovery do not come back in the same instant. */
static daruma_ms spread(daruma_ms wait, const daruma_backoff *b, uint64_t dice)
{
    daruma_backoff share = {.base = wait / BACKOFF_SPREAD_DIV, .cap = b->base, .jitter_milli = b->jitter_milli};
    daruma_ms most = share.base < share.cap ? share.base : share.cap;
    return b->jitter_milli ? most - daruma_backoff_delay(&share, 1, dice) : 0;
}

/* A wait for target `i` with that, but not so long that its answer would come too late. Of a model that nobody knows
 * the answer may take nearly all of the time that is left behind the wait. */
static daruma_ms spread_wait(const daruma_case *c, int i, daruma_ms wait, const daruma_backoff *b, daruma_moment at)
{
    daruma_ms left = c->deadline < 0 ? INT64_MAX : ms_since(add_sat(at.now, wait), c->deadline);
    daruma_ms more = spread(wait, b, at.dice), spare = spare_time(c, i, at.now);
    daruma_ms apart = add_sat(wait, more < left / BACKOFF_SPREAD_DIV ? more : left / BACKOFF_SPREAD_DIV);
    return apart <= spare ? apart : spare > wait ? spare : wait;
}

/* A wait before a repeat that nobody named, cut where its answer would come too late otherwise: once, the last call
 * having gone out with time to spare. */
static daruma_ms before_too_late(const daruma_case *c, int to, daruma_ms wait, daruma_ms now)
{
    daruma_ms spare = spare_time(c, to, now);
    if (!c->policy->health || wait <= spare || spare_time(c, to, c->sent_at) <= 0)
        return wait;
    return spare > WAIT_MS_MIN ? spare : WAIT_MS_MIN;
}

/* The wait of a call that was silent for long until its connection was closed. It has waited enough, and what others
 * met before says nothing of now; but all that were closed with it do not come back in the same instant. */
static daruma_ms after_silence(uint64_t dice)
{
    daruma_backoff b = {.base = 2 * WAIT_MS_MIN, .cap = 2 * WAIT_MS_MIN, .factor_milli = 1000, .jitter_milli = 500};
    return daruma_backoff_delay(&b, 1, dice);
}

/* ---- climbing ------------------------------------------------------------------ */

enum { ABOVE = UINT16_MAX }; /* in c->rung: the ladder is climbed, there is nothing more */

/* The backoff of a repeat at the target at hand: never next to nothing, whatever the dice say, and one step longer
 * while the provider's retry budget is empty. */
static daruma_ms backoff_of(const daruma_case *c, const daruma_failure *f, const daruma_backoff *b, daruma_moment at)
{
    const daruma_budget *left = daruma_health_budget(c->health, &c->targets[c->target], at.now);
    bool empty = c->policy->health && daruma_budget_left(left, at.now) == 0;
    uint32_t nth = c->calls[c->target];
    bool others = c->policy->health && (f->wait == 0 || health_worked(c->health, &c->targets[c->target], c->since));
    if (others)
        nth =
            (nth + 1) / 2; /* others get answers meanwhile, or it is said that one may ask: there is less to wait for */
    daruma_ms grown = daruma_backoff_delay(b, nth + (empty ? BUDGET_EMPTY_STEPS : 0u), at.dice);
    if (others && f->kind == DARUMA_RATE_LIMIT) /* who lets some through is asked again soon */
        grown /= 4;
    daruma_ms least = b->base < WAIT_MS_MIN ? b->base : WAIT_MS_MIN;
    return grown > least ? grown : least;
}

/* How long a rung waits that sends to target `to`: its backoff, and no less than the advice
 * and what the target still has to rest. `*own` is what of it no recovery shortens. */
static daruma_ms delay(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, int to, daruma_moment at,
                       daruma_ms *own)
{
    *own = 0;
    const daruma_backoff *b = &c->policy->kinds[g->kind].backoff;
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        return 0; /* they rest until then, no longer */
    bool elsewhere = g->remedy == DARUMA_REMEDY_RESUME && to != c->target && !c->calls[to];
    daruma_ms grown = g->after == DARUMA_NOW || elsewhere ? 0 : backoff_of(c, f, b, at);
    if (g->after == DARUMA_QUICK)
        grown = daruma_backoff_delay(&c->policy->quick, c->used[g - c->policy->rungs] + 1u, at.dice);
    if (c->hung_up && to == c->target)
        return *own = after_silence(at.dice);
    daruma_ms floor = choice_look(c, to, at.now).alone_in;
    /* Where somebody has to become well first, his recovery ends the wait; but nobody comes back in the same instant.
     */
    *own = floor == 0 ? grown : grown < WAIT_MS_MIN ? grown : WAIT_MS_MIN;
    bool advised = g->after == DARUMA_ADVICE && to == c->target && f->wait > 0;
    if (advised && f->wait > *own)
        *own = f->wait;
    if (advised && f->wait > floor)
        floor = f->wait;
    if (floor <= c->policy->max_wait && floor > 0) {
        floor = spread_wait(c, to, floor, b, at);
        floor = floor < c->policy->max_wait ? floor : c->policy->max_wait;
    }
    daruma_ms wait = grown > floor ? grown : floor;
    return f->wait > 0 ? wait : before_too_late(c, to, wait, at.now);
}

/* wait_at_most() of a rung's wait for target `to`: what the provider named of it stands, and so does what keeps apart
 * those who were told the same. */
static daruma_ms cut_wait(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, int to, daruma_ms wait,
                          daruma_moment at)
{
    daruma_ms named = choice_look(c, to, at.now).named_in, cut = wait_at_most(c, wait, at.now);
    if (to == c->target && f->wait > named)
        named = f->wait;
    if (named > 0)
        named = spread_wait(c, to, named, &c->policy->kinds[g->kind].backoff, at);
    return cut > named ? cut : named < wait ? named : wait;
}

static bool passes(const daruma_failure *f)
{
    return f->retryable || (f->kind == DARUMA_UNKNOWN && f->status == 0);
}

/* What the case has of all that rungs may need, for one rung. */
static unsigned have(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, size_t forwarded, int to,
                     daruma_ms wait, daruma_ms now)
{
    unsigned has = forwarded ? DARUMA_NEED_PARTIAL : DARUMA_NEED_CLEAN;
    if (wait <= c->policy->max_wait && in_time(c, wait, now))
        has |= DARUMA_NEED_TIME;
    if (c->safe_twice)
        has |= DARUMA_NEED_SAFE;
    if (c->can_refresh)
        has |= DARUMA_NEED_SOURCE;
    if (c->other_api)
        has |= DARUMA_NEED_API;
    if (passes(f))
        has |= DARUMA_NEED_PASSES;
    if (f->status >= 400 && f->status < 500)
        has |= DARUMA_NEED_REFUSED;
    bool wrong = f->kind == DARUMA_MALFORMED_OUTPUT && f->status >= 400 && f->status < 500; /* its provider says so */
    if (!c->useless && !wrong)
        has |= DARUMA_NEED_OUTAGE;
    if (f->status >= 500)
        has |= DARUMA_NEED_BROKEN;
    if (c->can_mend && c->policy->enabled && c->policy->mend.enabled)
        has |= DARUMA_NEED_MEND | (c->policy->mend.side_calls ? DARUMA_NEED_SIDE : 0);
    if (f->limit > 0 && f->requested > f->limit)
        has |= DARUMA_NEED_ABOVE;
    if (c->shrinks < c->policy->mend.max_compress_retries)
        has |= DARUMA_NEED_SHRINK;
    if (c->enforced)
        has |= DARUMA_NEED_ENFORCE;
    if (c->nreserve)
        has |= DARUMA_NEED_RESERVE;
    if (to < 0)
        return has;
    if (choice_tries_left(c, to, g->kind))
        has |= DARUMA_NEED_TRIES;
    if (to != c->target && f->net != DARUMA_NET_LOCAL) /* nobody else could be reached either */
        has |= DARUMA_NEED_KEY | DARUMA_NEED_ACCOUNT | DARUMA_NEED_MODEL;
    return has;
}

/* Is the same asked of the same once more? That is what the retry budget counts: the way to another place is free. */
static bool repeats(const daruma_case *c, const daruma_rung *g, int to)
{
    return to == c->target && !(g->needs & DARUMA_NEED_MEND) && g->remedy != DARUMA_REMEDY_REFRESH_CREDENTIALS;
}

/* The remedy of the last rung was not fit: what it took is given back. */
static void give_back(daruma_case *c, daruma_ms now)
{
    const daruma_rung *g = c->rung != ABOVE ? &c->policy->rungs[c->rung - 1] : NULL;
    if (!g || daruma_remedy_act(g->remedy) != DARUMA_SEND)
        return;
    daruma_budget *b = daruma_health_budget(c->health, &c->targets[c->want], now);
    if (c->paid && b->retries > 0)
        b->retries--;
    c->paid = false;
    if (g->needs & DARUMA_NEED_SHRINK)
        c->shrinks--;
    c->used[c->rung - 1]--;
    hold(c, 0, 0, now);
}

void daruma_case_did(daruma_case *c, daruma_remedy_kind r)
{
    if (r == DARUMA_REMEDY_NONE || c->remedies & 1u << r)
        return;
    c->remedies |= 1u << r;
    c->did[c->ndid++] = (uint8_t)r;
}

/* Takes rung `r`. */
static daruma_remedy take(daruma_case *c, size_t r, int to, daruma_ms wait, daruma_ms own, daruma_ms now)
{
    const daruma_rung *g = &c->policy->rungs[r];
    daruma_remedy given = {
        .remedy = g->remedy, .act = daruma_remedy_act(g->remedy), .rung = (uint16_t)r, .target = c->target};
    c->rung = (uint16_t)(r + 1);
    bump(&c->used[r]);
    if (given.act == DARUMA_KEEP)
        daruma_case_did(c, g->remedy);
    if (given.act != DARUMA_SEND)
        return given;
    c->paid = repeats(c, g, to) && daruma_budget_take(daruma_health_budget(c->health, &c->targets[to], now), now);
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        c->spoiled[to] = 0; /* until the new ones are refused too */
    if (g->needs & DARUMA_NEED_SHRINK)
        bump(&c->shrinks);
    if (g->needs & DARUMA_NEED_MEND)
        choice_widen(c);
    if (g->needs & DARUMA_NEED_RESERVE)
        choice_open_reserve(c);
    hold(c, wait, own, now);
    given.wait = wait;
    given.target = c->want = to;
    return given;
}

/* A ladder is climbed three times: for what can be done now, for another target that is not well yet, for what
 * ends. */
enum climb_round { SOON, LATER, LAST, ROUNDS };

static bool fits_round(daruma_remedy_kind r, uint8_t round)
{
    if (daruma_remedy_act(r) != DARUMA_SEND)
        return round == LAST;
    return round == SOON || (round == LATER && choice_switches(r));
}

/* True if this rung would only repeat the call at a target that is sick, although another model or provider can be
 * asked now. A short wait that is over before the other one has its cache warm is no reason to go away. */
static bool knocks_in_vain(const daruma_case *c, const daruma_rung *g, int to, daruma_ms wait, daruma_ms now)
{
    bool again = g->remedy == DARUMA_REMEDY_RETRY || g->remedy == DARUMA_REMEDY_RETRY_FRESH ||
                 g->remedy == DARUMA_REMEDY_WAIT_RETRY;
    if (!again || choice_well(c, to, now))
        return false;
    daruma_condition h = choice_look(c, to, now);
    bool rests = h.who == DARUMA_SICK_TARGET && h.why == DARUMA_RATE_LIMIT && wait <= WAIT_SHORT_MS;
    return !rests && choice_other(c, DARUMA_REMEDY_SWITCH_MODEL, g->kind, false, now) >= 0;
}

/* The first rung of this round from `r` on that the case has all for. */
static bool climb(daruma_case *c, const daruma_failure *f, size_t forwarded, daruma_moment at, size_t r,
                  daruma_remedy *ret)
{
    struct {
        size_t rung;
        int to;
        daruma_ms wait, own;
    } put_off = {.to = -1};
    for (; r < c->policy->nrungs && r < DARUMA_CASE_RUNGS; r++) {
        const daruma_rung *g = &c->policy->rungs[r];
        bool sends = daruma_remedy_act(g->remedy) == DARUMA_SEND;
        if (g->kind != f->kind || c->used[r] >= g->times || !fits_round(g->remedy, c->round) ||
            (sends && (!c->policy->enabled || c->done_once)))
            continue;
        int to = g->needs & DARUMA_NEED_RESERVE ? choice_reserve(c, at.now)
                                                : choice_where(c, g->remedy, f->kind, c->round == LATER, at.now);
        if (sends && to < 0)
            continue;
        daruma_ms own = 0, wait = sends ? delay(c, g, f, to, at, &own) : 0;
        if (sends && wait > 0 && c->policy->health) {
            wait = cut_wait(c, g, f, to, wait, at);
            own = own < wait ? own : wait;
        }
        if ((g->needs & ~have(c, g, f, forwarded, to, wait, at.now)) != 0)
            continue;
        if (sends && knocks_in_vain(c, g, to, wait, at.now)) {
            if (put_off.to < 0) {
                put_off.rung = r;
                put_off.to = to;
                put_off.wait = wait;
                put_off.own = own;
            }
            continue;
        }
        *ret = take(c, r, to, wait, own, at.now);
        return true;
    }
    if (put_off.to < 0)
        return false;
    *ret = take(c, put_off.rung, put_off.to, put_off.wait, put_off.own, at.now);
    return true;
}

/* The time of the client ended the call, which had not had much of it: that says nothing about the target. */
static bool ran_out(const daruma_case *c, const daruma_failure *f, daruma_ms now)
{
    return f->net == DARUMA_NET_TOTAL_TIMEOUT && !c->noted && c->deadline >= 0 &&
           ms_since(c->sent_at, now) < ms_since(c->opened, c->deadline) / 2;
}

/* Does it say no more than that the target has not the API that it was asked in? */
static bool is_of_api(const daruma_case *c, const daruma_failure *f)
{
    return c->other_api && (f->kind == DARUMA_MODEL_NOT_FOUND || f->kind == DARUMA_INVALID_PARAMETER);
}

static void note_bad(daruma_case *c, int target, const daruma_permit permits[DARUMA_PERMITS], const daruma_failure *f,
                     daruma_moment at)
{
    if (c->policy->health && (is_of_api(c, f) || ran_out(c, f, at.now)))
        health_drop(c->health, &c->targets[target], permits, at.now);
    else if (c->policy->health)
        health_bad(c->health, &c->targets[target], permits, f, c->id, c->sent_at, &c->policy->kinds[f->kind].backoff,
                   at);
}

/* The call at hand went out although no request was left, and so it went. */
static void show_pace(daruma_case *c, pace_shown how)
{
    if (c->lane_spent)
        health_pace_shown(c->health, &c->targets[c->target], how);
    c->lane_spent = false;
}

static daruma_remedy no_remedy(const daruma_case *c)
{
    return (daruma_remedy){.act = DARUMA_STOP, .rung = (uint16_t)c->policy->nrungs, .target = c->target};
}

void daruma_case_skip(daruma_case *c, uint16_t rung)
{
    for (size_t r = 0; rung < c->policy->nrungs && r < rung && r < DARUMA_CASE_RUNGS; r++)
        if (c->policy->rungs[r].kind == c->policy->rungs[rung].kind)
            c->used[r] = c->policy->rungs[r].times;
}

daruma_remedy daruma_case_next(daruma_case *c, const daruma_failure *f, size_t forwarded, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return no_remedy(c);
    check(c->out || c->rung); /* an attempt failed, or its remedy was unfit */
    check(!c->beside.out);    /* else that one takes over */

    size_t r = 0;
    if (c->out) {
        if (!c->answered)
            note_bad(c, c->target, c->permits, f, at);
        show_pace(c, f->kind == DARUMA_RATE_LIMIT ? PACE_REFUSED : PACE_NOTHING);
        if (c->since < 0)
            c->since = at.now;
        c->out = false;
        c->hung_up = c->policy->health && choice_hung_up(c, f, at.now);
        c->last = f->kind;
        choice_blame(c, c->target, f->kind);
        c->round = SOON;
    } else {
        r = c->rung;
        give_back(c, at.now);
    }
    if (!is_of_api(c, f))
        choice_spoil(c, c->target, f);

    for (; c->round < ROUNDS; c->round++, r = 0) {
        daruma_remedy given;
        if (climb(c, f, forwarded, at, r, &given))
            return given;
    }
    c->rung = ABOVE;
    return no_remedy(c);
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
    daruma_remedy_kind r = c->rung && c->rung != ABOVE ? c->policy->rungs[c->rung - 1].remedy : DARUMA_REMEDY_NONE;
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
    unsigned needs = c->rung && c->rung != ABOVE ? c->policy->rungs[c->rung - 1].needs : 0;
    return to == c->target && (needs & DARUMA_NEED_MEND) && !(needs & (DARUMA_NEED_TRIES | DARUMA_NEED_PARTIAL));
}

static daruma_admission go(daruma_case *c, int to, daruma_ms now)
{
    bool counts = !remade(c, to);
    note_switch(c, to);
    for (int i = 0; i < to && c->policy->health; i++)
        health_passed(c->health, &c->targets[i]);
    health_enter(c->health, &c->targets[to], c->permits, now);
    c->lane_nth = health_paced(c->health, &c->targets[to], now, &c->lane_spent);
    c->out = true;
    c->left = c->hung_up = false;
    c->answered = c->useless = c->headed = c->noted = c->overdue = c->late = c->begun = c->goes_on = false;
    c->sent_at = now;
    c->gap = 0;
    c->rung = 0;
    c->not_before = INT64_MIN; /* waited enough, whatever the clock says later */
    c->target = c->want = to;
    c->attempts++;
    if (counts)
        bump(&c->calls[to]);
    return (daruma_admission){.act = DARUMA_SEND, .target = to};
}

/* True if target `i` rests for so long, as its provider named it, that an answer behind that would come too late. Of a
 * model that nobody knows it may take a part of the time that is left. */
static bool is_in_vain(const daruma_case *c, int i, daruma_ms named, daruma_ms now)
{
    daruma_ms spare = spare_time(c, i, now), left = ms_since(now, c->deadline);
    return c->deadline >= 0 && named > 0 && named < left &&
           named > (spare < INT64_MAX ? spare : left - left / HURRY_DIV);
}

/* Nobody is well, or may be asked all the same. What passes is waited for. Where that does not fit, health may be
 * wrong: nobody fails whom a target could answer that was not asked. */
static daruma_admission wait_for_any(daruma_case *c, daruma_moment at)
{
    daruma_condition back = {0};
    int first = choice_first_back(c, at.now, &back), last = choice_unasked(c, at.now);
    daruma_ms wait = back.alone_in;
    if (c->since < 0)
        c->since = at.now;
    if (first >= 0 && back.named_in == 0 && wait > longest_wait(c, at.now)) {
        daruma_ms most = longest_wait(c, at.now);
        bool waits = most >= WAIT_MS_MIN, short_of_time = c->deadline >= 0 || !waits;
        daruma_ms spare = spare_time(c, first, at.now);
        if (short_of_time && spare >= 0 && health_may_hurry(c->health, &c->targets[first], most, at.now))
            return go(c, first, at.now); /* it finds out itself, for its client's sake or since its patience is over */
        if (spare <= 0 && (!c->attempts || spare_time(c, first, c->sent_at) > 0))
            return go(c, first, at.now); /* later it would be in vain */
        if (waits)
            wait = c->deadline >= 0 && most > ALONE_LOOK_MS ? ALONE_LOOK_MS : most;
        if (spare > 0 && wait > spare)
            wait = spare;
        last = spare < 0 ? -1 : last;
    }
    if (first >= 0 && !c->calls[first] && wait == back.alone_in && is_in_vain(c, first, back.named_in, at.now)) {
        if (health_may_ask(c->health, &c->targets[first], at.now))
            return go(c, first,
                      at.now); /* the newer word, in whole seconds as well, may be shorter: for all who wait */
        wait = ALONE_MS_MIN;
    } else if (first >= 0 && back.named_in > 0 && back.named_in < wait && wait > longest_wait(c, at.now)) {
        daruma_ms most = longest_wait(c, at.now); /* more than the provider named is our own guess */
        wait = back.named_in > most ? back.named_in : most;
    }
    if (first < 0 || wait > c->policy->max_wait || !in_time(c, wait, at.now))
        return last >= 0 ? go(c, last, at.now) : refuse(c, first >= 0 ? back.why : DARUMA_UNKNOWN);
    daruma_ms apart = spread_wait(c, first, wait, &c->policy->kinds[back.why].backoff, at);
    wait = apart <= c->policy->max_wait && in_time(c, apart, at.now) ? apart : wait;
    hold(c, wait, 0, at.now);
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
    daruma_ms named = spread_wait(c, first, back.named_in, &c->policy->kinds[back.why].backoff, at);
    if (named >= wait)
        return wait;
    hold(c, named, named, at.now);
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
    daruma_ms apart = spread(wait, &c->policy->kinds[c->attempts ? c->last : DARUMA_SERVER_ERROR].backoff, at.dice);
    daruma_ms soon = own > apart ? own : apart;
    hold(c, soon, soon, at.now);
    return soon;
}

daruma_admission daruma_case_admit(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING || choice_count(c) == 0)
        return refuse(c, DARUMA_UNKNOWN);
    check(!c->out); /* the attempt before this one was not ended */
    if (!in_time(c, 0, at.now))
        return refuse(c, DARUMA_BUDGET);
    daruma_ms wait = shortened(c, to_wait(c, at.now), at);
    if (wait > 0)
        return (daruma_admission){.act = DARUMA_SEND, .wait = wait, .target = c->want, .why = c->last};
    if (!c->policy->enabled) {
        int only = c->want >= 0 ? c->want : 0;
        return c->spoiled[only] ? refuse(c, DARUMA_UNKNOWN) : go(c, only, at.now);
    }
    int to = choice_pick(c, at.now);
    daruma_ms rested = to < 0 && c->policy->health ? choice_rested_in(c, at.now) : -1;
    if (rested >= 0 && rested <= WAIT_REST_MS && in_time(c, rested, at.now)) { /* better there soon than now in vain */
        rested += spread(rested, &c->policy->kinds[DARUMA_RATE_LIMIT].backoff, at.dice);
        hold(c, rested, 0, at.now);
        return (daruma_admission){.act = DARUMA_SEND, .wait = rested, .target = c->want, .why = DARUMA_RATE_LIMIT};
    }
    if (to < 0 && c->hung_up && c->want == c->target && !c->spoiled[c->want])
        to = c->want; /* what others met does not concern it */
    if (to < 0)
        to = choice_alone(c, at.now);
    return to >= 0 ? go(c, to, at.now) : wait_for_any(c, at);
}

/* ---- ends ---------------------------------------------------------------------- */

void daruma_case_told_left(daruma_case *c, int64_t left, daruma_ms reset, daruma_ms now)
{
    if (c->out && c->policy->health)
        health_told_left(c->health, &c->targets[c->target], left, reset, c->lane_nth, c->sent_at, now);
}

static void is_well(daruma_case *c, daruma_moment at)
{
    show_pace(c, PACE_ANSWERED);
    if (c->policy->health && !c->answered)
        health_good(c->health, &c->targets[c->target], c->permits, c->sent_at, at.now);
    c->answered = true;
}

void daruma_case_answered(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    is_well(c, at);
    c->useless = true;
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
    health_took(c->health, &c->targets[c->target], HEALTH_HEAD, c->plain, c->sent_at, at.now);
}

void daruma_case_begun(daruma_case *c, daruma_moment at)
{
    if (c->out)
        health_took(c->health, &c->targets[c->target], HEALTH_CONTENT, c->plain, c->sent_at, at.now);
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
    c->piece_at = now;
}

void daruma_case_done(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    if (c->late && !c->answered && c->policy->health && choice_beside(c, at.now) >= 0)
        /* it came after all, far too late for those who could ask somebody else */
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
    else
        is_well(c, at);
    if (c->begun)
        health_paused(c->health, &c->targets[c->target], c->plain, c->gap);
    if (c->beside.out)
        daruma_case_hedge_ended(c, NULL, at);
    c->out = false;
    c->outcome = c->remedies ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK;
}

void daruma_case_drop(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    show_pace(c, PACE_NOTHING);
    c->left = !c->answered && !c->headed && !c->begun && ms_since(c->sent_at, at.now) >= HEDGE_MS_MIN;
    if (!c->answered && c->policy->health)
        health_drop(c->health, &c->targets[c->target], c->permits, at.now);
    if (c->beside.out)
        daruma_case_hedge_ended(c, NULL, at);
    c->out = false;
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
    if (f && !passes(f))
        return -1;
    for (int i = 0; i < choice_count(c); i++) {
        if (c->spoiled[i])
            continue;
        daruma_condition h = choice_look(c, i, now);
        daruma_ms in = h.alone_in;
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
