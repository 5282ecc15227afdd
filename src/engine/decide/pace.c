/* pace.c - limits that providers state with each answer: so many requests and tokens are left, until then. Whoever has
 * too few left for a request is asked last, and where nobody else can be asked it waits until there are enough, so that
 * a refusal that can be foreseen is not called for.
 *
 * What is stated may be wrong. A limit of requests is believed once, for one wait. Then one call finds out:
 *
 *     BELIEVED --a wait is over--> TESTED --refused (429)--> PROVEN
 *                                     |                        |  answered although none was left
 *                                     +------answered----------+--> REFUTED --refused--> PROVEN
 *
 * A refuted limit holds nobody up; a proven one is waited for each time. What a request takes of the tokens is a guess:
 * such a limit holds nobody up but for some minutes after it refused a call for which too little was left.
 *
 * Tokens come back bit by bit, as OpenAI and Anthropic say, until all of the limit is back.
 *
 * What nobody states, how many calls are served at once and how soon after each other, is in crowd.c and tempo.c. */
#include "engine/decide/health.h"
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"
#include "base/str.h"

/* So long there is less left than `need`; 0: enough, or nothing is stated. */
static daruma_ms short_for(const pace *o, int64_t need, daruma_ms now)
{
    daruma_ms rest = o->until ? ms_since(now, o->until) : 0;
    if (need <= 0 || rest <= 0 || o->left >= need || (o->limit && need > o->limit))
        return 0; /* what never fits by our count is counted otherwise there */
    if (rest > o->ms)
        rest = o->ms; /* the clock was set back */
    if (!o->back)
        return rest;
    daruma_ms in = mul_sat(o->ms, need - o->left) / o->back - (o->ms - rest);
    return in < 0 ? 0 : in < rest ? in + 1 : rest;
}

/* True if a call is out that finds out whether the limit holds. One that is not heard of holds others up no longer than
 * the limit that it went out against. */
static bool is_tested(const pace *o, daruma_ms now)
{
    return o->tested_until && ms_since(now, o->tested_until) > 0;
}

static bool holds_up(const pace *o, daruma_limit l, daruma_ms now)
{
    if (l == DARUMA_LIMIT_TOKENS)
        return o->trust == PACE_PROVEN && ms_since(o->proven_at, now) < PACE_PROOF_MS;
    return o->trust == PACE_BELIEVED || o->trust == PACE_PROVEN || (o->trust == PACE_TESTED && is_tested(o, now));
}

daruma_ms health_busy_in(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return p && turns_busy(&p->turns, p->crowd.out, now) ? HEDGE_LOOK_MS : 0;
}

static void crowd_left(daruma_health *w, place *p, const daruma_call_pace *call, pace_shown how, daruma_ms now)
{
    crowd *o = &p->crowd;
    bool full = crowd_full_in(o, now) > 0, busy = turns_busy(&p->turns, o->out, now);
    o->out -= o->out > 0;
    if (how != PACE_NOTHING)
        turns_over(&p->turns, call, how == PACE_ANSWERED, o->out, now);
    if (how == PACE_REFUSED || how == PACE_SHUT)
        crowd_refused(o, call, now);
    if (how == PACE_ANSWERED)
        crowd_answered(o, call);
    w->healed += (full && !crowd_full_in(o, now)) || (busy && !turns_busy(&p->turns, o->out, now));
}

/* It went so, as far as the tempo is concerned. Who knows how many may be out at once needs none. It begins only when
 * more were refused since one was served than are still out, which may be served: where chance refuses, or a fault, the
 * next is refused as often however slowly they go out. */
static void tempo_shown(daruma_health *w, place *p, const daruma_call_pace *call, pace_shown how, daruma_ms now)
{
    tempo *o = &p->tempo;
    bool waited = tempo_in(o, now) > 0;
    o->vain = how == PACE_ANSWERED ? 0 : o->vain + (how == PACE_REFUSED && o->vain < UINT32_MAX);
    if (crowd_holds(&p->crowd) || how == PACE_SHUT)
        *o = (tempo){0};
    else if (how == PACE_REFUSED)
        tempo_refused(o, call->sent_at, call->nth > TEMPO_CALLS_MIN && o->vain > p->crowd.out, now);
    else if (how == PACE_ANSWERED)
        tempo_answered(o, call->sent_at);
    w->healed += waited && !o->ms;
}

pace_shown health_pace_of(const daruma_failure *f)
{
    bool busy = f && (f->kind == DARUMA_OVERLOADED || f->status == 503 || f->status == 529);
    if (f && f->kind == DARUMA_RATE_LIMIT)
        return f->wait > TEMPO_MS_MAX ? PACE_SHUT : PACE_REFUSED;
    return busy ? PACE_BUSY : PACE_NOTHING;
}

bool health_crowded(const daruma_health *w, const daruma_target *t)
{
    const place *p = place_look(w, t, LANE);
    return p && crowd_holds(&p->crowd);
}

bool health_is_full(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return p && crowd_full_in(&p->crowd, now) > 0;
}

bool health_takes_turns(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return p && tempo_in(&p->tempo, now) > 0;
}

static int64_t need_of(daruma_limit l, int64_t tokens)
{
    return l == DARUMA_LIMIT_TOKENS ? tokens : 1;
}

bool health_counts_tokens(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return p && holds_up(&p->pace[DARUMA_LIMIT_TOKENS], DARUMA_LIMIT_TOKENS, now);
}

daruma_ms health_spent_in(const daruma_health *w, const daruma_target *t, int64_t tokens, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    daruma_ms longest = p ? later(crowd_full_in(&p->crowd, now), tempo_in(&p->tempo, now)) : 0;
    for (int i = 0; p && i < DARUMA_LIMITS; i++) {
        daruma_ms in = holds_up(&p->pace[i], i, now) ? short_for(&p->pace[i], need_of(i, tokens), now) : 0;
        longest = in > longest ? in : longest;
    }
    return longest;
}

daruma_call_pace health_pace_takes(daruma_health *w, const daruma_target *t, int64_t tokens, bool again, daruma_ms now)
{
    place *p = place_for(w, t, LANE);
    daruma_call_pace call = {.tokens = tokens, .nth = ++p->crowd.out, .sent_at = now};
    call.turn = again && call.nth <= p->turns.served;
    tempo_takes(&p->tempo, now);
    for (int i = 0; i < DARUMA_LIMITS; i++) {
        pace *o = &p->pace[i];
        int64_t need = need_of(i, tokens);
        daruma_ms in = short_for(o, need, now);
        call.spent[i] = in > 0;
        if (in > 0 && !is_tested(o, now))
            o->tested_until = add_sat(now, in);
        if (ms_since(now, o->until) > 0 && (!o->limit || need <= o->limit))
            o->left -= need;
        call.upto[i] = o->entered += (uint64_t)need;
    }
    return call;
}

static void told_left(pace *o, daruma_limit l, const daruma_left *told, uint64_t upto, daruma_ms sent_at, daruma_ms now)
{
    bool tokens = l == DARUMA_LIMIT_TOKENS, was_spent = o->until && o->left <= 0;
    if (o->trust == PACE_BELIEVED && was_spent && sent_at >= o->until)
        o->trust = PACE_TESTED;
    o->left =
        told->left[l] - (upto < o->entered ? (int64_t)(o->entered - upto) : 0); /* what went out since is not in it */
    o->limit = told->limit[l] > 0 ? told->limit[l] : 0;
    o->back = tokens && o->limit > told->left[l] ? o->limit - told->left[l] : 0;
    o->ms = told->reset[l] <= (tokens ? PACE_TOKENS_MS_MAX : PACE_MS_MAX) ? told->reset[l] : 0;
    o->until = o->ms ? add_sat(now, o->ms) : 0;
}

void health_told_left(daruma_health *w, const daruma_target *t, const daruma_left *told, const daruma_call_pace *call,
                      daruma_ms sent_at, daruma_ms now)
{
    place *p = place_for(w, t, LANE);
    for (int i = 0; i < DARUMA_LIMITS; i++) {
        pace *o = &p->pace[i];
        if (told->left[i] < 0)
            continue;
        daruma_ms was = holds_up(o, i, now) ? short_for(o, 1, now) : 0;
        told_left(o, i, told, call->upto[i], sent_at, now);
        w->healed += was > 0 && !short_for(o, 1, now);
    }
}

void health_pace_shown(daruma_health *w, const daruma_target *t, daruma_call_pace *call, pace_shown how, daruma_ms now)
{
    place *p = call->nth ? place_look(w, t, LANE) : NULL;
    if (p) {
        crowd_left(w, p, call, how, now);
        tempo_shown(w, p, call, how, now);
    }
    call->nth = 0;
    for (int i = 0; i < DARUMA_LIMITS; i++) {
        if (!call->spent[i])
            continue;
        pace *o = &place_for(w, t, LANE)->pace[i];
        bool tokens = i == DARUMA_LIMIT_TOKENS, held = holds_up(o, i, now);
        call->spent[i] = false;
        o->tested_until = 0;
        if (how == PACE_ANSWERED && (tokens || o->trust != PACE_BELIEVED))
            o->trust = PACE_REFUTED;
        if ((how == PACE_REFUSED || how == PACE_SHUT) && (!tokens || short_for(o, call->tokens, now) > 0)) {
            o->trust = PACE_PROVEN;
            o->proven_at = now;
        }
        w->healed += held && !holds_up(o, i, now);
    }
}
