/* usual.c - how long the calls to each model usually take, learned from its answers: the mean and how far they lie from
 * it, as TCP keeps them (RFC 6298), but that a single answer far beyond the usual counts for less: it tells of a fault,
 * not of the model. A model that is slow from now on is learned within some ten answers all the same. And what was
 * heard of it when.
 *
 * A model that gets slower little by little is learned, too, and nothing would be noticed. So the shortest of what was
 * usual within the last minutes is kept as well.
 *
 * And whether its streams are silent while its plain answers are well, or the other way round. To the breaker such a
 * model fails half of its calls, and a success of the one form says that all is well. */
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"

/* How long it takes at most, usually. */
static daruma_ms at_most(const usual *u)
{
    return u->mean + later(u->mean / 2, 4 * (daruma_ms)u->off);
}

static void learn(usual *u, daruma_ms ms)
{
    daruma_ms most = u->n < USUAL_SURE ? INT32_MAX / 8 : USUAL_COUNTS_TIMES * at_most(u);
    most = most < INT32_MAX / 8 ? most : INT32_MAX / 8;
    int32_t took = ms < 0 ? 0 : ms < most ? (int32_t)ms : (int32_t)most;
    int32_t off = u->n ? (took > u->mean ? took - u->mean : u->mean - took) : took / 4;
    u->off += u->n ? (off - u->off) / 8 : off;
    u->mean += u->n ? (took - u->mean) / 8 : took;
    u->n += u->n < UINT32_MAX;
}

static void keep_best(usual_best *b, const usual *u, int64_t bytes, daruma_ms now)
{
    int passed = window_turn(&b->turned, now, USUAL_KEPT_MS);
    if (passed) {
        b->was = passed == 1 ? b->in : 0;
        b->was_bytes = b->in_bytes;
        b->in = 0;
    }
    b->bytes += u->n > 1 ? (bytes - b->bytes) / 8 : bytes;
    int32_t most = (int32_t)sooner(at_most(u), INT32_MAX);
    if (u->n >= USUAL_SURE && (!b->in || most < b->in)) {
        b->in = most > 0 ? most : 1;
        b->in_bytes = b->bytes;
    }
}

void health_paused(daruma_health *w, const daruma_target *t, bool plain, daruma_ms gap)
{
    learn(&place_for(w, t, MODEL)->times[HEALTH_GAP][plain], gap);
}

void health_took(daruma_health *w, const daruma_target *t, health_time what, bool plain, int64_t bytes,
                 daruma_ms sent_at, daruma_ms now)
{
    place *p = place_for(w, t, MODEL);
    if (!p->heard_at || sent_at > p->heard)
        p->heard = sent_at;
    p->heard_at = now ? now : 1;
    p->overdue = p->beside = 0;
    learn(&p->times[what][plain], ms_since(sent_at, now));
    keep_best(&p->best[what][plain], &p->times[what][plain], bytes, now);
}

void health_slower(daruma_health *w, const daruma_target *t, health_time what, bool plain, daruma_ms ms)
{
    learn(&place_for(w, t, MODEL)->times[what][plain], ms);
}

daruma_ms health_usual(const daruma_health *w, const daruma_target *t, health_time what, bool plain)
{
    const place *p = place_look(w, t, MODEL);
    const usual *u = p ? &p->times[what][plain] : NULL;
    if (!u || !u->n)
        return -1;
    return at_most(u);
}

daruma_ms health_usual_best(const daruma_health *w, const daruma_target *t, health_time what, bool plain, int64_t bytes,
                            daruma_ms now)
{
    const place *p = place_look(w, t, MODEL);
    usual_best b = p ? p->best[what][plain] : (usual_best){0};
    int passed = window_turn(&b.turned, now, USUAL_KEPT_MS);
    bool was = !passed && b.was && (!b.in || b.was < b.in);
    daruma_ms best = was ? b.was : b.in;
    int64_t then = was ? b.was_bytes : b.in_bytes;
    if (bytes > then && then > 0)
        best = mul_sat(best, bytes) / then;
    return passed < 2 && best ? best : -1;
}

daruma_ms health_usual_mean(const daruma_health *w, const daruma_target *t, health_time what, bool plain)
{
    const place *p = place_look(w, t, MODEL);
    const usual *u = p ? &p->times[what][plain] : NULL;
    return u && u->n >= USUAL_SURE ? u->mean : -1;
}

daruma_ms health_heard(const daruma_health *w, const daruma_target *t, bool plain)
{
    const place *p = place_look(w, t, MODEL);
    if (!p || (plain ? !p->whole : !p->heard_at))
        return INT64_MIN;
    return plain ? p->whole : p->heard;
}

bool health_may_knock(const daruma_health *w, const daruma_target *t, daruma_ms silent, daruma_ms most, daruma_ms now)
{
    const place *p = place_look(w, t, MODEL);
    daruma_ms quiet = p && p->heard_at ? ms_since(p->heard_at, now) : silent;
    most = most < REST_MS_MAX ? most : REST_MS_MAX;
    quiet = quiet / 2 < most ? quiet / 2 : most;
    return !p || !p->knocked_at || ms_since(p->knocked_at, now) >= later(BREAKER_OPEN_MS, quiet);
}

void health_second_out(daruma_health *w, const daruma_target *t, daruma_ms now)
{
    place *p = place_for(w, t, MODEL);
    if (!p->beside)
        p->beside_at = now;
    p->beside += p->beside < UINT32_MAX;
}

void health_second_over(daruma_health *w, const daruma_target *t)
{
    place *p = place_for(w, t, MODEL);
    p->beside -= p->beside > 0;
}

bool health_second_is_out(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, MODEL);
    daruma_ms since = p ? ms_since(p->beside_at, now) : 0;
    return p && p->beside && since >= HEDGE_LOOK_MS && since < REST_MS_MAX;
}

void health_second_counted(daruma_health *w, const daruma_target *t, bool knocks)
{
    daruma_tally *n = &place_for(w, t, MODEL)->tally;
    ++*(knocks ? &n->knocks : &n->hedges);
}

void health_overdue(daruma_health *w, const daruma_target *t)
{
    place *p = place_for(w, t, MODEL);
    p->overdue += p->overdue < UINT32_MAX;
}

bool health_mute(const daruma_health *w, const daruma_target *t)
{
    const place *p = place_look(w, t, MODEL);
    return p && p->overdue >= HEDGE_MUTE_CALLS;
}

void health_knocked(daruma_health *w, const daruma_target *t, daruma_ms now)
{
    place_for(w, t, MODEL)->knocked_at = now ? now : 1;
}

bool health_worked(const daruma_health *w, const daruma_target *t, daruma_ms since)
{
    const place *p = place_look(w, t, MODEL);
    return p && p->whole > since;
}

health_of_others health_others(const daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms since)
{
    const place *p = place_look(w, t, LANE);
    const daruma_breaker *b = p ? &p->breaker : NULL;
    if (b && b->row && (b->agreed || b->witness != witness))
        return OTHERS_FAIL;
    return b && !b->row && b->well_at > since ? OTHERS_WELL : OTHERS_UNHEARD;
}

void health_hung(daruma_health *w, const daruma_target *t, daruma_ms sent_at, daruma_ms back_at)
{
    place *p = place_for(w, t, MODEL);
    bool near =
        p->dead_to && ms_since(p->dead_to, sent_at) < HEDGE_DEAD_MS && ms_since(sent_at, p->dead_from) < HEDGE_DEAD_MS;
    p->dead_from = near && p->dead_from < sent_at ? p->dead_from : sent_at;
    p->dead_to = near && p->dead_to < back_at ? p->dead_to : back_at;
}

bool health_hangs(const daruma_health *w, const daruma_target *t, daruma_ms sent_at)
{
    const place *p = place_look(w, t, MODEL);
    return p && p->dead_to && sent_at >= p->dead_from && sent_at <= p->dead_to;
}

/* ---- streams and plain answers ------------------------------------------------ */

void health_form_well(daruma_health *w, const daruma_target *t, bool plain, daruma_ms sent_at)
{
    place *p = place_for(w, t, MODEL);
    form *f = &p->forms[plain], *other = &p->forms[!plain];
    w->healed += f->ms != 0;
    *f = (form){.well = sent_at ? sent_at : 1};
    if (other->silent && !other->between && sent_at > other->silent)
        other->between = sent_at;
}

void health_form_silent(daruma_health *w, const daruma_target *t, bool plain, daruma_ms sent_at, daruma_ms now)
{
    place *p = place_for(w, t, MODEL);
    form *f = &p->forms[plain], *other = &p->forms[!plain];
    if (!f->silent) {
        f->silent = sent_at ? sent_at : 1;
        f->between = other->well > f->silent ? other->well : 0;
    }
    if (!f->between || sent_at <= f->between)
        return;
    f->ms = f->ms ? sooner(2 * f->ms, REST_MS_MAX) : BREAKER_OPEN_MS;
    f->until = add_sat(now, f->ms);
    f->between = now; /* what is out already says nothing new */
}

void health_form_asked(daruma_health *w, const daruma_target *t, bool plain, daruma_ms now)
{
    place *p = place_look(w, t, MODEL);
    form *f = p ? &p->forms[plain] : NULL;
    if (f && f->ms && now >= f->until)
        f->until = add_sat(now, f->ms);
}

daruma_ms health_form_in(const daruma_health *w, const daruma_target *t, bool plain, daruma_ms now)
{
    const place *p = place_look(w, t, MODEL);
    daruma_ms left = p && p->forms[plain].ms ? ms_since(now, p->forms[plain].until) : 0;
    return left <= 0 ? 0 : sooner(left, p->forms[plain].ms); /* a clock that went back makes it no longer */
}

/* ---- bodies that are too large ------------------------------------------------ */

void health_too_large(daruma_health *w, const daruma_target *t, int64_t bytes, daruma_ms now)
{
    place *p = place_for(w, t, MODEL);
    if (bytes <= 0)
        return;
    p->narrow = p->narrow && p->narrow < bytes ? p->narrow : bytes;
    p->narrow_at = now;
}

void health_not_too_large(daruma_health *w, const daruma_target *t, int64_t bytes)
{
    place *p = place_look(w, t, MODEL);
    if (p && p->narrow && bytes >= p->narrow)
        p->narrow = 0;
}

daruma_ms health_narrow_in(const daruma_health *w, const daruma_target *t, int64_t bytes, daruma_ms now)
{
    const place *p = place_look(w, t, MODEL);
    daruma_ms gone = p ? ms_since(p->narrow_at, now) : 0;
    return p && p->narrow && bytes >= p->narrow && gone < NARROW_MS ? NARROW_MS - gone : 0;
}
