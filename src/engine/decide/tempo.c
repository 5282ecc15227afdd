/* tempo.c - how soon after each other calls are served where there are more than a place takes in a time, as a bucket
 * of tokens gives them out. Such a place refuses all but a few of those that come back together when a wait is over,
 * and all of these come back together again. So they go out one by one:
 *
 *     as they come --one is refused beside many--> every TEMPO_MS --refused--> half as many --...--> as they come
 *                                                        |    ^                                      (it serves nobody)
 *                                                        +----+ answered: an eighth more
 *
 * When nobody was refused for many times as long, there is room again. Refusals of calls that had gone out before the
 * last one came are no news, nor are answers to such. Where several were refused in a row, it may have been that nobody
 * was served for a while: the first answer brings back what was before. What is stated of a limit, and how many may be
 * out at once, is in pace.c. */
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"

/* Was one refused lately, as such times go? */
static bool is_lately(const tempo *o, daruma_ms ms, daruma_ms now)
{
    return now >= o->refused_at && ms_since(o->refused_at, now) < later(TEMPO_QUIET_TIMES * ms, TEMPO_MS_MAX);
}

static bool holds(const tempo *o, daruma_ms now)
{
    return o->ms && is_lately(o, o->ms, now);
}

daruma_ms tempo_in(const tempo *o, daruma_ms now)
{
    daruma_ms in = holds(o, now) ? ms_since(now, o->next) : 0;
    return in < o->ms ? in : o->ms; /* the clock was set back */
}

void tempo_takes(tempo *o, daruma_ms now)
{
    if (holds(o, now))
        o->next = add_sat(now, o->ms);
}

void tempo_refused(tempo *o, daruma_ms sent_at, bool beside_many, daruma_ms now)
{
    bool held = holds(o, now), again = o->let_go && is_lately(o, o->from, now);
    if ((held || again) && sent_at <= o->refused_at)
        return;
    o->proven = again || (held && (o->proven || o->served));
    o->ms = held ? 2 * o->ms : !beside_many ? 0 : again ? o->from : TEMPO_MS;
    if (o->ms > TEMPO_MS_MAX)
        o->ms = 0;
    if (!held || o->served)
        o->from = o->ms;
    o->served = o->let_go = false;
    o->refused_at = now;
    o->next = add_sat(now, o->ms);
}

void tempo_answered(tempo *o, daruma_ms sent_at)
{
    if (!o->ms || sent_at <= o->refused_at)
        return;
    o->served = true;
    o->let_go = !o->proven && o->ms >= TEMPO_VAIN_TIMES * o->from;
    if (o->let_go) {
        o->from = o->ms;
        o->ms = 0;
    } else
        o->ms = o->ms > o->from ? o->from : o->ms - (o->ms + TEMPO_DIV - 1) / TEMPO_DIV;
}
