/* pace.c - limits that providers state with each answer: so many requests are left, until then. Who has none left is
 * asked last, and where nobody else can be asked the request waits until then, so that a refusal that can be foreseen
 * is not called for.
 *
 * What is stated may be wrong: it is believed once, for one wait. The next time one call finds out:
 *
 *     BELIEVED --a wait is over--> TESTED --refused (429)--> PROVEN
 *                                     |                        |  answered although none was left
 *                                     +------answered----------+--> REFUTED --refused--> PROVEN
 *
 * A refuted limit holds nobody up; a proven one is waited for each time. */
#include "engine/decide/health.h"
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"
#include "base/str.h"

/* True if all that is left went out. */
static bool is_spent(const place *p, daruma_ms now)
{
    return p->pace.until && p->pace.left <= 0 && ms_since(now, p->pace.until) > 0;
}

/* True if a call is out that finds out whether the limit holds. One that is not heard of holds others up no longer than
 * the limit that it went out against. */
static bool is_tested(const place *p, daruma_ms now)
{
    return p->pace.tested_until && ms_since(now, p->pace.tested_until) > 0;
}

daruma_ms health_spent_in(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    if (!p || !is_spent(p, now) || p->pace.trust == PACE_REFUTED)
        return 0;
    if (p->pace.trust == PACE_TESTED && !is_tested(p, now))
        return 0;
    daruma_ms left = ms_since(now, p->pace.until);
    return left < p->pace.ms ? left : p->pace.ms;
}

uint32_t health_paced(daruma_health *w, const daruma_target *t, daruma_ms now, bool *ret_spent)
{
    place *p = place_for(w, t, LANE);
    *ret_spent = is_spent(p, now);
    if (*ret_spent && !is_tested(p, now))
        p->pace.tested_until = p->pace.until;
    p->pace.left -= ms_since(now, p->pace.until) > 0;
    return ++p->pace.entered;
}

void health_told_left(daruma_health *w, const daruma_target *t, int64_t left, daruma_ms reset, uint32_t nth,
                      daruma_ms sent_at, daruma_ms now)
{
    place *p = place_for(w, t, LANE);
    pace *o = &p->pace;
    bool was = is_spent(p, now);
    if (o->until && o->left <= 0 && sent_at >= o->until && o->trust == PACE_BELIEVED)
        o->trust = PACE_TESTED;
    o->left = left - (nth < o->entered ? o->entered - nth : 0); /* those that went out since are not in it yet */
    o->ms = reset <= PACE_MS_MAX ? reset : 0;
    o->until = o->ms ? add_sat(now, o->ms) : 0;
    w->healed += was && !is_spent(p, now);
}

void health_pace_shown(daruma_health *w, const daruma_target *t, pace_shown how)
{
    place *p = place_for(w, t, LANE);
    p->pace.tested_until = 0;
    if (how == PACE_ANSWERED && p->pace.trust != PACE_BELIEVED)
        p->pace.trust = PACE_REFUTED;
    if (how == PACE_REFUSED)
        p->pace.trust = PACE_PROVEN;
}
