/* ladder.c - what is done about a failure: the first rung of its kind whose needs are met, and how long that waits. */
#include "engine/decide/ladder.h"
#include "engine/decide/choice.h"
#include "engine/decide/waits.h"
#include "engine/decide/window.h"
#include "engine/decide/case.h"
#include "base/check.h"
#include "base/limits.h"

/* A wait before a repeat that nobody named, cut where its answer would come too late otherwise: once, the last call
 * having gone out with time to spare. */
static daruma_ms before_too_late(const daruma_case *c, int to, daruma_ms wait, daruma_ms now)
{
    daruma_ms spare = waits_spare(c, to, now);
    if (!c->policy->health || wait <= spare || waits_spare(c, to, c->sent_at) <= 0)
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

/* True if target `of` was called so often that the calls which are left must last for the rest of the policy's
 * patience: it fails some calls and not all, and behind its last one the case ends. */
static bool saves_calls(const daruma_case *c, int of, daruma_kind k)
{
    uint32_t left = choice_tries_left(c, of, k);
    return left > 0 && left <= BACKOFF_SAVED_CALLS && c->attempts >= BACKOFF_SAVED_CALLS;
}

/* The backoff of a repeat at target `of`: never next to nothing, whatever the dice say, and one step longer while the
 * provider's retry budget is empty. */
static daruma_ms backoff_of(const daruma_case *c, int of, const daruma_failure *f, const daruma_backoff *b,
                            daruma_moment at)
{
    const daruma_budget *left = daruma_health_budget(c->health, &c->targets[of], at.now);
    bool empty = c->policy->health && daruma_budget_left(left, at.now) == 0;
    uint32_t nth = c->calls[of];
    bool others = c->policy->health && (f->wait == 0 || health_worked(c->health, &c->targets[of], c->since));
    if (others)
        nth =
            (nth + 1) / 2; /* others get answers meanwhile, or it is said that one may ask: there is less to wait for */
    nth += empty ? BUDGET_EMPTY_STEPS : 0u;
    if (others && nth > BACKOFF_OTHERS_STEPS)
        nth = BACKOFF_OTHERS_STEPS;
    if (others && saves_calls(c, of, f->kind))
        nth = BACKOFF_OTHERS_STEPS + 1;
    daruma_ms grown = daruma_backoff_delay(b, nth, at.dice);
    if (others && f->kind == DARUMA_RATE_LIMIT) /* who lets some through is asked again soon */
        grown /= 4;
    daruma_ms least = b->base < WAIT_MS_MIN ? b->base : WAIT_MS_MIN;
    return grown > least ? grown : least;
}

/* How long the provider's advice says to wait for `to`; 0: it does not. Of what it named before the sooner end holds:
 * advice is in whole seconds, rounded up. */
static daruma_ms advised(const daruma_case *c, const daruma_failure *f, int to, daruma_ms now)
{
    daruma_ms named = choice_look(c, to, now).named_in;
    if (to != c->target || f->wait <= 0)
        return 0;
    return named > 0 && named < f->wait && f->wait - named < ADVICE_ROUNDS_MS ? named : f->wait;
}

/* How long a rung waits that sends to target `to`: its backoff, and no less than the advice
 * and what the target still has to rest. `*own` is what of it no recovery shortens. */
static daruma_ms delay(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, int to, daruma_moment at,
                       daruma_ms *own)
{
    *own = 0;
    bool back = g->needs & DARUMA_NEED_DOUBT; /* to where another call of this case failed, for whatever it was */
    const daruma_backoff *b = &c->policy->kinds[back ? DARUMA_UNKNOWN : g->kind].backoff;
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        return 0; /* they rest until then, no longer */
    bool elsewhere = (g->remedy == DARUMA_REMEDY_RESUME || back) && to != c->target && !c->calls[to];
    daruma_ms grown = g->after == DARUMA_NOW || elsewhere ? 0 : backoff_of(c, back ? to : c->target, f, b, at);
    if (g->after == DARUMA_QUICK)
        grown = daruma_backoff_delay(&c->policy->quick, c->used[g - c->policy->rungs] + 1u, at.dice);
    if (c->hung_up && to == c->target)
        return *own = after_silence(at.dice);
    daruma_condition h = choice_look(c, to, at.now);
    daruma_ms floor = h.alone_in;
    bool tests = h.named_in > floor; /* what was advised is not believed yet, and calls to all are as far apart */
    if (tests && grown > floor)
        grown = floor;
    /* Where somebody has to become well first, his recovery ends the wait; but nobody comes back in the same instant.
     */
    *own = floor == 0 ? grown : grown < WAIT_MS_MIN ? grown : WAIT_MS_MIN;
    daruma_ms said = g->after == DARUMA_ADVICE && !tests ? advised(c, f, to, at.now) : 0;
    if (said > *own)
        *own = said;
    if (said > floor)
        floor = said;
    if (floor <= c->policy->max_wait && floor > 0) {
        floor = waits_apart(c, to, floor, b, at);
        floor = floor < c->policy->max_wait ? floor : c->policy->max_wait;
    }
    daruma_ms wait = grown > floor ? grown : floor;
    return f->wait > 0 ? wait : before_too_late(c, to, wait, at.now);
}

/* waits_at_most() of a rung's wait for target `to`: what the provider named of it stands, and so does what keeps apart
 * those who were told the same. */
static daruma_ms cut_wait(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, int to, daruma_ms wait,
                          daruma_moment at)
{
    daruma_ms named = choice_look(c, to, at.now).named_in, cut = waits_at_most(c, wait, at.now),
              said = advised(c, f, to, at.now);
    if (said > named)
        named = said;
    if (named > 0)
        named = waits_apart(c, to, named, &c->policy->kinds[g->kind].backoff, at);
    return cut > named ? cut : named < wait ? named : wait;
}

bool ladder_passes(const daruma_failure *f)
{
    return f->retryable || (f->kind == DARUMA_UNKNOWN && f->status == 0);
}

/* What the case has of all that rungs may need, for one rung. */
static unsigned have(const daruma_case *c, const daruma_rung *g, const daruma_failure *f, size_t forwarded, int to,
                     daruma_ms wait, daruma_ms now)
{
    unsigned has = forwarded ? DARUMA_NEED_PARTIAL : DARUMA_NEED_CLEAN;
    if (c->anew)
        has |= DARUMA_NEED_CLEAN;
    if (wait <= c->policy->max_wait && waits_in_time(c, wait, now))
        has |= DARUMA_NEED_TIME;
    if (c->safe_twice)
        has |= DARUMA_NEED_SAFE;
    if (c->can_refresh)
        has |= DARUMA_NEED_SOURCE;
    if (c->other_api)
        has |= DARUMA_NEED_API;
    if (ladder_passes(f))
        has |= DARUMA_NEED_PASSES;
    if (f->status >= 400 && f->status < 500)
        has |= DARUMA_NEED_REFUSED;
    bool wrong = f->kind == DARUMA_MALFORMED_OUTPUT && f->status >= 400 && f->status < 500; /* its provider says so */
    if (!c->useless && !wrong)
        has |= DARUMA_NEED_OUTAGE;
    if (f->status >= 500)
        has |= DARUMA_NEED_BROKEN;
    if (c->can_mend && c->policy->enabled && c->policy->mend.enabled)
        has |= DARUMA_NEED_MEND | (c->policy->mend.side_calls && choice_calls_left(c) > 1 ? DARUMA_NEED_SIDE : 0);
    if (f->limit > 0 && f->requested > f->limit)
        has |= DARUMA_NEED_ABOVE;
    if (c->shrinks < c->policy->mend.max_compress_retries)
        has |= DARUMA_NEED_SHRINK;
    if (c->enforced)
        has |= DARUMA_NEED_ENFORCE;
    if (c->nreserve)
        has |= DARUMA_NEED_RESERVE;
    if (choice_doubts(c, f))
        has |= DARUMA_NEED_DOUBT;
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
    const daruma_rung *g = c->rung != LADDER_ABOVE ? &c->policy->rungs[c->rung - 1] : NULL;
    if (!g || daruma_remedy_act(g->remedy) != DARUMA_SEND)
        return;
    daruma_budget *b = daruma_health_budget(c->health, &c->targets[c->want], now);
    if (c->paid && b->retries > 0)
        b->retries--;
    c->paid = false;
    if (g->needs & DARUMA_NEED_SHRINK)
        c->shrinks--;
    c->used[c->rung - 1]--;
    waits_hold(c, 0, 0, now);
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
    case_count(&c->used[r]);
    if (given.act == DARUMA_KEEP)
        daruma_case_did(c, g->remedy);
    if (given.act != DARUMA_SEND)
        return given;
    c->paid = repeats(c, g, to) && daruma_budget_take(daruma_health_budget(c->health, &c->targets[to], now), now);
    if (g->remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS)
        c->spoiled[to] = 0; /* until the new ones are refused too */
    if (g->needs & DARUMA_NEED_SHRINK)
        case_count(&c->shrinks);
    if (g->needs & DARUMA_NEED_MEND) { /* another request goes out */
        choice_widen(c);
        c->odd = 0;
    }
    if (g->needs & DARUMA_NEED_RESERVE)
        choice_open_reserve(c);
    waits_hold(c, wait, own, now);
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
static bool knocks_in_vain(const daruma_case *c, const daruma_rung *g, int to, size_t forwarded, daruma_ms wait,
                           daruma_ms now)
{
    bool clean = !forwarded || c->anew, /* else nobody but who said the beginning may mend it */
        again = g->remedy == DARUMA_REMEDY_RETRY || g->remedy == DARUMA_REMEDY_RETRY_FRESH ||
                g->remedy == DARUMA_REMEDY_WAIT_RETRY || (g->remedy == DARUMA_REMEDY_ASK_AGAIN && clean);
    if (!again || choice_well(c, to, now))
        return false;
    daruma_condition h = choice_look(c, to, now);
    bool rests = h.who == DARUMA_SICK_TARGET && h.why == DARUMA_RATE_LIMIT && wait <= WAIT_SHORT_MS;
    return !rests && choice_other(c, DARUMA_REMEDY_SWITCH_MODEL, g->kind, false, now) >= 0;
}

/* Was it the request, or the answer to it, that was wrong there? Then the same would be wrong again: that model has had
 * its say when another one is asked. */
static bool has_spoken(const daruma_failure *f)
{
    daruma_scope who = daruma_kind_scope(f->kind);
    return !ladder_passes(f) &&
           (who == DARUMA_SICK_REQUEST || who == DARUMA_SICK_CONVERSATION || who == DARUMA_SICK_ANSWER);
}

/* Where a rung sends; -1 nowhere. */
static int where(const daruma_case *c, const daruma_rung *g, daruma_kind k, bool patient, daruma_ms now)
{
    if (g->needs & DARUMA_NEED_RESERVE)
        return choice_reserve(c, now);
    if (g->needs & DARUMA_NEED_DOUBT)
        return choice_doubted(c, k, patient, now);
    return choice_where(c, g->remedy, k, patient, now);
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
            (sends && (!c->policy->enabled || c->done_once || choice_calls_left(c) == 0)))
            continue;
        int to = where(c, g, f->kind, c->round == LATER, at.now);
        if (sends && to < 0)
            continue;
        daruma_ms own = 0, wait = sends ? delay(c, g, f, to, at, &own) : 0;
        if (sends && wait > 0 && c->policy->health) {
            wait = cut_wait(c, g, f, to, wait, at);
            own = own < wait ? own : wait;
        }
        if ((g->needs & ~have(c, g, f, forwarded, to, wait, at.now)) != 0)
            continue;
        if (sends && knocks_in_vain(c, g, to, forwarded, wait, at.now)) {
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

/* Does it say that the target broke at the request? A place that is busy may have no room for some requests. */
static bool breaks(const daruma_failure *f)
{
    return f->kind == DARUMA_SERVER_ERROR || f->net == DARUMA_NET_RESET || f->net == DARUMA_NET_CLOSED;
}

/* Counts failures of this request at places that answer others meanwhile: these say more of what it asks for than of
 * the place. */
static void note_unfit(daruma_case *c, const daruma_failure *f, daruma_ms now)
{
    if (c->policy->health && breaks(f) && c->since >= 0 && !c->answered)
        switch (health_others(c->health, &c->targets[c->target], c->id, c->bad_at)) {
        case OTHERS_WELL:
            c->unfit += c->unfit < UINT8_MAX;
            break;
        case OTHERS_FAIL:
            c->unfit = 0;
            break;
        case OTHERS_UNHEARD:
            break;
        }
    c->bad_at = now;
}

/* What its model lacks, ends no call that does without. */
static void note_bad(daruma_case *c, int target, const daruma_permit permits[DARUMA_PERMITS], const daruma_failure *f,
                     daruma_moment at)
{
    if (c->policy->health && f->kind == DARUMA_REQUEST_TOO_LARGE && f->status == 413 && f->limit <= 0)
        health_too_large(c->health, &c->targets[target], c->bytes, at.now); /* no window is named: bytes */
    bool unfit = c->unfit >= UNFIT_TELLS && breaks(f) &&
                 health_others(c->health, &c->targets[target], c->id, c->since) == OTHERS_WELL;
    if (c->policy->health && (is_of_api(c, f) || ran_out(c, f, at.now) || f->lacks || unfit))
        health_drop(c->health, &c->targets[target], permits, at.now);
    else if (c->policy->health)
        health_bad(c->health, &c->targets[target], permits, f, c->id, c->sent_at, &c->policy->kinds[f->kind].backoff,
                   at);
}

/* Keeps in mind that the target refused without a reason; any other failure of it says that it does more than that. */
static void note_odd(daruma_case *c, const daruma_failure *f)
{
    bool odd = f->kind == DARUMA_UNKNOWN && f->status >= 300 && f->status < 500 && f->net == DARUMA_NET_NONE;
    if (odd || c->odd == c->target + 1)
        c->odd = odd ? c->target + 1 : 0;
    if (odd)
        c->odd_at = c->sent_at;
}

void ladder_show_pace(daruma_case *c, pace_shown how, daruma_ms now)
{
    health_pace_shown(c->health, &c->targets[c->target], &c->paced, how, now);
}

static daruma_remedy no_remedy(const daruma_case *c)
{
    return (daruma_remedy){.act = DARUMA_STOP, .rung = (uint16_t)c->policy->nrungs, .target = c->target};
}

void case_skip(daruma_case *c, uint16_t rung)
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
    check(!c->beside);        /* else that one takes over */

    size_t r = 0;
    bool trusted = c->policy->health && health_trusts_key(c->health, &c->targets[c->target], at.now);
    if (c->out) {
        c->hung_up = c->policy->health && choice_hung_up(c, f, at.now);
        if (c->hung_up && choice_was_noted(c, at.now))
            health_hung_up(c->health, &c->targets[c->target], at.now);
        ladder_show_pace(c, health_pace_of(f), at.now);
        note_unfit(c, f, at.now);
        if (!c->answered)
            note_bad(c, c->target, c->permits, f, at);
        if (c->policy->health && f->kind == DARUMA_MALFORMED_OUTPUT && !f->ours && !c->capped &&
            (c->answered || !f->retryable))
            health_wrong(c->health, &c->targets[c->target], c->id, c->sent_at, at.now);
        if (c->since < 0)
            c->since = at.now;
        c->out = false;
        c->last = f->kind;
        choice_blame(c, c->target, f->kind);
        note_odd(c, f);
        c->round = SOON;
    } else {
        r = c->rung;
        give_back(c, at.now);
    }
    if (!is_of_api(c, f))
        choice_spoil(c, c->target, f, trusted, at.now);
    choice_ask_last(c);

    for (; c->round < ROUNDS; c->round++, r = 0) {
        daruma_remedy given;
        if (!climb(c, f, forwarded, at, r, &given))
            continue;
        if (given.remedy == DARUMA_REMEDY_SWITCH_MODEL && has_spoken(f))
            choice_leave(c);
        return given;
    }
    c->rung = LADDER_ABOVE;
    return no_remedy(c);
}
