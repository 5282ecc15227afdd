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
 * Limits of calls at once nobody states. Such a place refuses whoever is one too many, and serves all others: so many
 * are out, and the rest wait until one of these ends. Without it all go out at once when a rest ends, and most are
 * refused again. It is believed after calls were served and refused by turns, several times in short order, each of the
 * refused beside that many others and each of the served beside fewer: where a window of time or chance refuses, it is
 * not so. One that is refused beside fewer ends it. When nobody was refused for a while that grows with each time it
 * proved true, twice as many may. */
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

static bool crowd_holds(const crowd *o)
{
    return o->turns >= CROWD_TURNS;
}

/* So many may be out by now. */
static uint32_t room_of(const crowd *o, daruma_ms now)
{
    daruma_ms steps = ms_since(o->refused_at, now) / o->ms;
    return now >= o->refused_at && steps < CROWD_STEPS_MAX && o->room < UINT32_MAX >> steps ? o->room << steps
                                                                                            : UINT32_MAX;
}

/* How soon to look whether somebody else may go there; 0: now. */
static daruma_ms full_in(const crowd *o, daruma_ms now)
{
    return crowd_holds(o) && o->out >= room_of(o, now) ? HEDGE_LOOK_MS : 0;
}

static void crowd_refused(crowd *o, const daruma_call_pace *call, daruma_ms now)
{
    uint32_t others = call->nth - 1;
    daruma_ms since = ms_since(o->refused_at, now);
    bool held = crowd_holds(o), together = call->sent_at <= o->refused_at;
    if (held && together && others < o->room)
        return; /* of those who went out together any may be the first to arrive */
    if (o->room && others >= o->room && (held || since < CROWD_TURN_MS)) {
        o->turns += !held && o->served > o->refused;
        o->ms = !held ? BREAKER_OPEN_MS : since >= o->ms ? sooner(2 * o->ms, REST_MS_MAX) : o->ms;
    } else {
        o->turns = together && others ? o->turns : 0;
        o->room = others;
    }
    o->refused_at = now;
    o->refused = call->sent_at;
}

static void crowd_answered(crowd *o, const daruma_call_pace *call)
{
    o->served = later(o->served, call->sent_at);
    if (o->room && call->nth > o->room)
        o->room = crowd_holds(o) ? call->nth : 0;
    if (!o->room)
        o->turns = 0;
}

/* So many may be out by now for one who was refused to go out again. */
static uint32_t turns_room(const turns *o, daruma_ms now)
{
    daruma_ms steps = ms_since(o->at, now) / BREAKER_OPEN_MS;
    return o->served && now >= o->at && steps < CROWD_STEPS_MAX && o->served < UINT32_MAX >> steps ? o->served << steps
                                                                                                   : UINT32_MAX;
}

daruma_ms health_busy_in(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return p && p->crowd.out >= turns_room(&p->turns, now) ? HEDGE_LOOK_MS : 0;
}

/* Such a call is over, and so many others are out. Where those are refused who had their turn, chance refuses, or a
 * fault, and nobody waits for his turn for a while. */
static void turn_over(turns *o, const daruma_call_pace *call, bool good, uint32_t others, daruma_ms now)
{
    o->good += call->turn && good;
    o->bad += call->turn && !good;
    if (o->bad > TURNS_BAD_MAX + o->good / TURNS_GOOD_EACH)
        *o = (turns){.off = add_sat(now, CROWD_TURN_MS)};
    if (good && o->served && call->nth > o->served && call->sent_at > o->sent)
        o->served = call->nth;
    bool beyond = call->sent_at > o->at && call->nth > turns_room(o, call->sent_at); /* which had to be */
    if (good || beyond || (o->off && ms_since(now, o->off) > 0))
        return;
    o->off = 0;
    o->served = others;
    o->at = now;
    o->sent = call->sent_at;
}

static void crowd_left(daruma_health *w, place *p, const daruma_call_pace *call, pace_shown how, daruma_ms now)
{
    crowd *o = &p->crowd;
    bool full = full_in(o, now) > 0, busy = o->out >= turns_room(&p->turns, now);
    o->out -= o->out > 0;
    if (how != PACE_NOTHING)
        turn_over(&p->turns, call, how == PACE_ANSWERED, o->out, now);
    if (how == PACE_REFUSED || how == PACE_SHUT)
        crowd_refused(o, call, now);
    if (how == PACE_ANSWERED)
        crowd_answered(o, call);
    w->healed += (full && !full_in(o, now)) || (busy && o->out < turns_room(&p->turns, now));
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
    return p && full_in(&p->crowd, now) > 0;
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
    daruma_ms longest = p ? later(full_in(&p->crowd, now), tempo_in(&p->tempo, now)) : 0;
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
