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
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/check.h"
#include "base/limits.h"

static daruma_act act_of(daruma_remedy_kind r)
{
    static const daruma_act acts[] = {
#define X(sym, name, act, words) DARUMA_##act,
        DARUMA_REMEDY_MAP(X)
#undef X
    };
    return acts[r];
}

static int targets_of(const daruma_case *c)
{
    return (int)(c->ntargets < DARUMA_CASE_TRIED ? c->ntargets : DARUMA_CASE_TRIED);
}

static void bump(uint8_t *n)
{
    if (*n < UINT8_MAX)
        ++*n;
}

void daruma_case_open(daruma_case *c, daruma_ward *w, const daruma_policy *p, const daruma_target *targets,
                      size_t ntargets, int prefer, daruma_ms deadline, daruma_moment at)
{
    *c = (daruma_case){.ward = w,
                       .policy = p,
                       .targets = targets,
                       .ntargets = ntargets,
                       .opened = at.now,
                       .deadline = deadline,
                       .id = at.dice,
                       .safe_twice = true,
                       .target = -1,
                       .want = prefer >= 0 && prefer < DARUMA_CASE_TRIED && (size_t)prefer < ntargets ? prefer : -1,
                       .not_before = at.now};
}

/* ---- time ---------------------------------------------------------------------- */

static bool in_time(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    return c->deadline < 0 || add_sat(now, wait) < c->deadline;
}

/* What is still to be waited. A clock that went back does not make it longer than any wait. */
static daruma_ms to_wait(const daruma_case *c, daruma_ms now)
{
    daruma_ms left = ms_since(now, c->not_before);
    return left < c->policy->max_wait ? left : c->policy->max_wait;
}

static void hold(daruma_case *c, daruma_ms wait, daruma_ms now)
{
    c->waited -= to_wait(c, now); /* what was not waited after all */
    if (c->waited < 0)
        c->waited = 0;
    c->waited = add_sat(c->waited, wait);
    c->not_before = add_sat(now, wait);
}

/* Those who wait for the same recovery do not come back in the same instant. */
static daruma_ms spread(daruma_ms wait, const daruma_backoff *b, uint64_t dice)
{
    daruma_backoff share = {.base = wait / BACKOFF_SPREAD_DIV, .cap = b->base, .jitter_milli = b->jitter_milli};
    daruma_ms most = share.base < share.cap ? share.base : share.cap;
    return b->jitter_milli ? most - daruma_backoff_delay(&share, 1, dice) : 0;
}

/* ---- targets ------------------------------------------------------------------- */

static uint32_t tries(const daruma_case *c, daruma_kind k)
{
    uint32_t n = c->policy->kinds[k].max_attempts;
    return n ? n : c->policy->max_attempts;
}

enum { SPOILED = 1, TOO_NARROW = 2 }; /* in c->spoiled; the second ends when the conversation was shortened */

/* Of no use any more in this case, or called as often as it may be. */
static bool out_of_play(const daruma_case *c, int i)
{
    return c->spoiled[i] || (c->attempts && c->calls[i] >= tries(c, c->last));
}

void daruma_case_resume(daruma_case *c, const daruma_case *was)
{
    uint32_t least = tries(c, was->last) - 1;
    c->id = was->id;
    c->attempts = was->attempts;
    c->remedies = was->remedies;
    c->last = was->last;
    c->shrinks = was->shrinks;
    memcpy(c->used, was->used, sizeof c->used);
    for (int i = 0; i < targets_of(c); i++)
        c->calls[i] = was->calls[i] < least ? was->calls[i] : (uint8_t)least;
}

static bool well(const daruma_case *c, int i, daruma_ms now)
{
    return daruma_ward_look(c->ward, &c->targets[i], now).well;
}

/* Does the failure of `t` show that `u` would fail the same way? */
static bool spoils(const daruma_failure *f, const daruma_target *t, const daruma_target *u)
{
    int64_t window = t->window > f->limit ? t->window : f->limit;
    if (f->kind == DARUMA_AUTH)
        return u->key_id == t->key_id;
    if (f->kind == DARUMA_QUOTA)
        return u->account_id == t->account_id;
    if (f->kind == DARUMA_PERMISSION)
        return u->lane_id == t->lane_id;
    if (f->kind == DARUMA_MODEL_NOT_FOUND || f->kind == DARUMA_CONTENT_FILTER)
        return u->model_id == t->model_id;
    if (f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE)
        return u->window <= window; /* what is unknown is not worth a call */
    return false;
}

static void spoil(daruma_case *c, const daruma_failure *f)
{
    bool narrow = f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE;
    for (int i = 0; i < targets_of(c); i++)
        if (spoils(f, &c->targets[c->target], &c->targets[i]))
            c->spoiled[i] = narrow && c->spoiled[i] != SPOILED ? TOO_NARROW : SPOILED;
}

/* The request is another one now: those that were too narrow for it may take it. */
static void widen(daruma_case *c)
{
    for (int i = 0; i < targets_of(c); i++)
        if (c->spoiled[i] == TOO_NARROW)
            c->spoiled[i] = 0;
}

/* Is going from `t` to `u` what this remedy is? */
static bool leads(daruma_remedy_kind r, const daruma_target *t, const daruma_target *u)
{
    bool same_model = u->model_id == t->model_id;
    if (r == DARUMA_REMEDY_SWITCH_KEY)
        return same_model && u->key_id != t->key_id;
    if (r == DARUMA_REMEDY_SWITCH_ACCOUNT)
        return same_model && u->account_id != t->account_id;
    return r == DARUMA_REMEDY_SWITCH_MODEL && !same_model;
}

/* The first well target that this remedy leads to and that has not failed here; with `patient`, of those
 * that are not well the one that is back first. -1 none. */
static int other(const daruma_case *c, daruma_remedy_kind r, bool patient, daruma_ms now)
{
    int soonest = -1;
    daruma_ms in = INT64_MAX;
    for (int i = 0; i < targets_of(c); i++) {
        if (c->spoiled[i] || c->calls[i] || !leads(r, &c->targets[c->target], &c->targets[i]))
            continue;
        daruma_health h = daruma_ward_look(c->ward, &c->targets[i], now);
        if (h.well && !patient)
            return i;
        if (!h.well && h.in >= 0 && h.in < in) {
            soonest = i;
            in = h.in;
        }
    }
    return patient ? soonest : -1;
}

/* Of the targets called in this case, the one that is back first; the last one if that is no later. */
static int soonest(const daruma_case *c, daruma_kind k, daruma_ms now)
{
    int best = c->target;
    bool usable = !c->spoiled[best] && c->calls[best] < tries(c, k);
    daruma_ms in = daruma_ward_look(c->ward, &c->targets[best], now).in;
    for (int i = 0; i < targets_of(c); i++) {
        if (!c->calls[i] || c->spoiled[i] || c->calls[i] >= tries(c, k))
            continue;
        daruma_ms its = daruma_ward_look(c->ward, &c->targets[i], now).in;
        if (!usable || its < in) {
            best = i;
            in = its;
            usable = true;
        }
    }
    return best;
}

/* Any other well target that was not called yet; -1 none. */
static int fresh(const daruma_case *c, daruma_ms now)
{
    for (int i = 0; i < targets_of(c); i++)
        if (!c->spoiled[i] && !c->calls[i] && well(c, i, now))
            return i;
    return -1;
}

/* Is it but a breaker that keeps us off? */
static bool only_shut(const daruma_case *c, int i, daruma_ms now)
{
    return !well(c, i, now) && ward_only_shut(c->ward, &c->targets[i], now);
}

/* Where a broken answer goes on: once at the same target, its cache is warm; then at another that was not called yet,
 * at any that is well, else at the one at hand though its breaker is shut: a client hangs in the middle of a word. Else
 * it is waited for the one that is back first. How often a target was called does not matter:
 * the answer can be had nowhere else any more. -1: none is of use. */
static int onward(const daruma_case *c, daruma_ms now)
{
    bool usable = !c->spoiled[c->target];
    if (usable && c->calls[c->target] < 2 && well(c, c->target, now))
        return c->target;
    int best = fresh(c, now);
    daruma_ms in = INT64_MAX;
    for (int i = 0; best < 0 && i < targets_of(c); i++) /* the one at hand last: it failed just now */
        if (i != c->target && !c->spoiled[i] && well(c, i, now))
            best = i;
    if (best >= 0 || (usable && (well(c, c->target, now) || only_shut(c, c->target, now))))
        return best >= 0 ? best : c->target;
    for (int i = 0; i < targets_of(c); i++) {
        daruma_ms its = c->spoiled[i] ? -1 : daruma_ward_look(c->ward, &c->targets[i], now).in;
        if (its < 0 || its >= in)
            continue;
        best = i;
        in = its;
    }
    return best;
}

static int where(const daruma_case *c, daruma_remedy_kind r, daruma_kind k, bool patient, daruma_ms now)
{
    switch (r) {
    case DARUMA_REMEDY_SWITCH_KEY:
    case DARUMA_REMEDY_SWITCH_ACCOUNT:
    case DARUMA_REMEDY_SWITCH_MODEL:
        return other(c, r, patient, now);
    case DARUMA_REMEDY_WAIT_RETRY:
        return soonest(c, k, now);
    case DARUMA_REMEDY_RESUME:
        return onward(c, now);
    default: /* all others stay where they are */
        return c->target;
    }
}

/* ---- climbing ------------------------------------------------------------------ */

enum { ABOVE = UINT16_MAX }; /* in c->rung: the ladder is climbed, there is nothing more */

/* How long a rung waits that sends to target `to`: its backoff, and no less than the advice
 * and what the target still has to rest. */
static daruma_ms delay(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, int to, daruma_moment at)
{
    const daruma_backoff *b = &c->policy->kinds[g->kind].backoff;
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        return 0; /* they rest until then, no longer */
    bool elsewhere = g->remedy == DARUMA_REMEDY_RESUME && to != c->target;
    daruma_ms grown = g->after == DARUMA_NOW || elsewhere ? 0 : daruma_backoff_delay(b, c->calls[c->target], at.dice);
    daruma_ms floor = daruma_ward_look(c->ward, &c->targets[to], at.now).in;
    if (g->remedy == DARUMA_REMEDY_RESUME && only_shut(c, to, at.now))
        floor = 0;
    if (g->after == DARUMA_ADVICE && to == c->target && f->wait > floor)
        floor = f->wait;
    if (floor <= c->policy->max_wait && floor > 0) {
        floor += spread(floor, b, at.dice);
        floor = floor < c->policy->max_wait ? floor : c->policy->max_wait;
    }
    return grown > floor ? grown : floor;
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
    if (passes(f))
        has |= DARUMA_NEED_PASSES;
    if (f->status >= 400 && f->status < 500)
        has |= DARUMA_NEED_REFUSED;
    if (f->status >= 500)
        has |= DARUMA_NEED_BROKEN;
    if (c->can_mend && c->policy->enabled && c->policy->mend.enabled)
        has |= DARUMA_NEED_MEND | (c->policy->mend.side_calls ? DARUMA_NEED_SIDE : 0);
    if (c->shrinks < c->policy->mend.max_compress_retries)
        has |= DARUMA_NEED_SHRINK;
    if (c->enforced)
        has |= DARUMA_NEED_ENFORCE;
    if (to < 0)
        return has;
    if (!c->spoiled[to] && c->calls[to] < tries(c, g->kind))
        has |= DARUMA_NEED_TRIES;
    if (daruma_budget_left(daruma_ward_budget(c->ward, &c->targets[to], now), now) > 0)
        has |= DARUMA_NEED_PURSE;
    if (to != c->target)
        has |= DARUMA_NEED_KEY | DARUMA_NEED_ACCOUNT | DARUMA_NEED_MODEL;
    return has;
}

/* The remedy of the last rung was not fit: what it took is given back. */
static void give_back(daruma_case *c, daruma_ms now)
{
    const daruma_rung *g = c->rung != ABOVE ? &c->policy->rungs[c->rung - 1] : NULL;
    if (!g || act_of(g->remedy) != DARUMA_SEND)
        return;
    daruma_budget *b = daruma_ward_budget(c->ward, &c->targets[c->want], now);
    if ((g->needs & DARUMA_NEED_PURSE) && b->retries > 0)
        b->retries--;
    if (g->needs & DARUMA_NEED_SHRINK)
        c->shrinks--;
    c->used[c->rung - 1]--;
    hold(c, 0, now);
}

/* Takes rung `r`. */
static daruma_remedy take(daruma_case *c, size_t r, int to, daruma_ms wait, daruma_ms now)
{
    const daruma_rung *g = &c->policy->rungs[r];
    daruma_remedy given = {.remedy = g->remedy, .act = act_of(g->remedy), .rung = (uint16_t)r, .target = c->target};
    c->rung = (uint16_t)(r + 1);
    bump(&c->used[r]);
    if (given.act != DARUMA_SEND) {
        c->remedies |= 1u << g->remedy;
        return given;
    }
    if (g->needs & DARUMA_NEED_PURSE)
        daruma_budget_take(daruma_ward_budget(c->ward, &c->targets[to], now), now);
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        c->spoiled[to] = 0; /* until the new ones are refused too */
    if (g->needs & DARUMA_NEED_SHRINK)
        bump(&c->shrinks);
    if (g->needs & DARUMA_NEED_MEND)
        widen(c);
    hold(c, wait, now);
    given.wait = wait;
    given.target = c->want = to;
    return given;
}

/* A ladder is climbed three times: for what can be done now, for another target that is not well yet, for what
 * ends. */
enum climb_round { SOON, LATER, LAST, ROUNDS };

static bool switches(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_SWITCH_KEY || r == DARUMA_REMEDY_SWITCH_ACCOUNT || r == DARUMA_REMEDY_SWITCH_MODEL;
}

static bool fits_round(daruma_remedy_kind r, uint8_t round)
{
    if (act_of(r) != DARUMA_SEND)
        return round == LAST;
    return round == SOON || (round == LATER && switches(r));
}

/* Would it be waited for a breaker to open, while another model or provider is well? Failures enough have shown then
 * that trying here is no use; it is the last that is done. */
static bool knocks_in_vain(const daruma_case *c, const daruma_rung *g, int to, daruma_ms now)
{
    bool again = g->remedy == DARUMA_REMEDY_RETRY || g->remedy == DARUMA_REMEDY_RETRY_FRESH ||
                 g->remedy == DARUMA_REMEDY_WAIT_RETRY;
    return again && only_shut(c, to, now) && other(c, DARUMA_REMEDY_SWITCH_MODEL, false, now) >= 0;
}

/* The first rung of this round from `r` on that the case has all for. */
static bool climb(daruma_case *c, const daruma_failure *f, size_t forwarded, daruma_moment at, size_t r,
                  daruma_remedy *ret)
{
    struct {
        size_t rung;
        int to;
        daruma_ms wait;
    } put_off = {.to = -1};
    for (; r < c->policy->nrungs && r < DARUMA_CASE_RUNGS; r++) {
        const daruma_rung *g = &c->policy->rungs[r];
        bool sends = act_of(g->remedy) == DARUMA_SEND;
        if (g->kind != f->kind || c->used[r] >= g->times || !fits_round(g->remedy, c->round) ||
            (sends && !c->policy->enabled))
            continue;
        int to = where(c, g->remedy, f->kind, c->round == LATER, at.now);
        if (sends && to < 0)
            continue;
        daruma_ms wait = sends ? delay(c, g, f, to, at) : 0;
        if ((g->needs & ~have(c, g, f, forwarded, to, wait, at.now)) != 0)
            continue;
        if (sends && knocks_in_vain(c, g, to, at.now)) {
            if (put_off.to < 0) {
                put_off.rung = r;
                put_off.to = to;
                put_off.wait = wait;
            }
            continue;
        }
        *ret = take(c, r, to, wait, at.now);
        return true;
    }
    if (put_off.to < 0)
        return false;
    *ret = take(c, put_off.rung, put_off.to, put_off.wait, at.now);
    return true;
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

    size_t r = 0;
    if (c->out) {
        if (!c->answered)
            ward_bad(c->ward, &c->targets[c->target], c->permits, f, &c->policy->kinds[f->kind].backoff, at);
        c->out = false;
        c->last = f->kind;
        c->round = SOON;
    } else {
        r = c->rung;
        give_back(c, at.now);
    }
    spoil(c, f);

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

/* What going to `to` now is, seen from where the last attempt went. */
static void note_switch(daruma_case *c, int to)
{
    if (c->rung && c->rung != ABOVE)
        c->remedies |= 1u << c->policy->rungs[c->rung - 1].remedy;
    if (c->target < 0 || to == c->target || to == c->want)
        return;
    for (int r = DARUMA_REMEDY_SWITCH_KEY; r <= DARUMA_REMEDY_SWITCH_MODEL; r++)
        if (leads((daruma_remedy_kind)r, &c->targets[c->target], &c->targets[to])) {
            c->remedies |= 1u << r;
            return;
        }
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
    ward_enter(c->ward, &c->targets[to], c->permits, now);
    c->out = true;
    c->answered = false;
    c->rung = 0;
    c->not_before = INT64_MIN; /* waited enough, whatever the clock says later */
    c->target = c->want = to;
    c->attempts++;
    if (counts)
        bump(&c->calls[to]);
    return (daruma_admission){.act = DARUMA_SEND, .target = to};
}

/* The wanted target if it is well, else the first that is: those of the same model come first,
 * they know the conversation's cache. -1 none. */
static int pick(const daruma_case *c, daruma_ms now)
{
    if (c->want >= 0 && !c->spoiled[c->want] && well(c, c->want, now))
        return c->want;
    int other_model = -1;
    for (int i = 0; i < targets_of(c); i++) {
        if (out_of_play(c, i) || !well(c, i, now))
            continue;
        if (c->want < 0 || c->targets[i].model_id == c->targets[c->want].model_id)
            return i;
        if (other_model < 0)
            other_model = i;
    }
    return other_model;
}

/* Which sick target is back first; with `shut`, only those that a breaker keeps. -1 none. */
static int first_back(const daruma_case *c, bool shut, daruma_ms now, daruma_health *ret)
{
    int best = -1;
    for (int i = 0; i < targets_of(c); i++) {
        bool wanted = i == c->want && !c->spoiled[i];
        if ((!wanted && out_of_play(c, i)) || (shut && !ward_only_shut(c->ward, &c->targets[i], now)))
            continue;
        daruma_health h = daruma_ward_look(c->ward, &c->targets[i], now);
        if (best < 0 || h.in < ret->in) {
            best = i;
            *ret = h;
        }
    }
    return best;
}

/* All together a case waits at most one longest wait for each call it makes, and one more. */
static bool may_wait(const daruma_case *c, daruma_ms wait, daruma_ms now)
{
    return wait <= c->policy->max_wait && in_time(c, wait, now) &&
           add_sat(c->waited, wait) <= mul_sat(c->policy->max_wait, (int64_t)c->attempts + 1);
}

static bool goes_on(const daruma_case *c)
{
    return c->rung && c->rung != ABOVE && c->policy->rungs[c->rung - 1].remedy == DARUMA_REMEDY_RESUME;
}

/* Nothing is well. A first call probes what only a breaker keeps, if there is nothing to wait for:
 * the last lane is never closed without a try. So does the rest of an answer that was cut. */
static daruma_admission wait_for_any(daruma_case *c, daruma_moment at)
{
    daruma_health back = {0}, shut = {0};
    int first = first_back(c, false, at.now, &back), probe = first_back(c, true, at.now, &shut);
    bool waits = first >= 0 && may_wait(c, back.in, at.now);
    if ((c->attempts == 0 || goes_on(c)) && probe >= 0 && (probe == first || !waits)) {
        ward_hurry(c->ward, &c->targets[probe], at.now);
        return go(c, probe, at.now);
    }
    if (!waits)
        return refuse(c, first >= 0 ? back.why : DARUMA_UNKNOWN);
    daruma_ms wait = back.in + spread(back.in, &c->policy->kinds[back.why].backoff, at.dice);
    wait = may_wait(c, wait, at.now) ? wait : back.in;
    hold(c, wait, at.now);
    return (daruma_admission){.act = DARUMA_SEND, .wait = wait, .target = first, .why = back.why};
}

daruma_admission daruma_case_admit(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING || targets_of(c) == 0)
        return refuse(c, DARUMA_UNKNOWN);
    check(!c->out); /* the attempt before this one was not ended */
    if (!in_time(c, 0, at.now))
        return refuse(c, DARUMA_BUDGET);
    daruma_ms wait = to_wait(c, at.now);
    if (wait > 0)
        return (daruma_admission){.act = DARUMA_SEND, .wait = wait, .target = c->want, .why = c->last};
    if (!c->policy->enabled) {
        int only = c->want >= 0 ? c->want : 0;
        return c->spoiled[only] ? refuse(c, DARUMA_UNKNOWN) : go(c, only, at.now);
    }
    int to = pick(c, at.now);
    return to >= 0 ? go(c, to, at.now) : wait_for_any(c, at);
}

/* ---- ends ---------------------------------------------------------------------- */

void daruma_case_answered(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING || c->answered)
        return;
    check(c->out);
    ward_good(c->ward, &c->targets[c->target], c->permits, at.now);
    c->answered = true;
}

void daruma_case_begun(daruma_case *c, daruma_moment at)
{
    bool probes = false;
    for (size_t i = 0; i < sizeof c->permits / sizeof *c->permits; i++)
        probes |= c->out && c->permits[i].probe;
    for (int i = 0; probes && i < targets_of(c); i++) /* who has another place to go waits for nobody */
        probes = i == c->target || c->spoiled[i] || !well(c, i, at.now);
    if (probes)
        daruma_case_answered(c, at);
}

void daruma_case_done(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    daruma_case_answered(c, at);
    check(c->out);
    c->out = false;
    c->outcome = c->remedies ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK;
}

void daruma_case_drop(daruma_case *c, daruma_moment at)
{
    if (c->outcome != DARUMA_OUTCOME_PENDING)
        return;
    check(c->out);
    if (!c->answered)
        ward_drop(c->ward, &c->targets[c->target], c->permits, at.now);
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
    for (int i = 0; i < targets_of(c); i++) {
        if (c->spoiled[i])
            continue;
        daruma_health h = daruma_ward_look(c->ward, &c->targets[i], now);
        daruma_ms in = h.in;
        if (!h.well && !daruma_kind_passes(h.why))
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
