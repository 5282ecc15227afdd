/* crowd.c - how many calls a place serves at once, which nobody states. It refuses whoever is one too many, and serves
 * all others. There are two ways to know of it, from a first guess to what is proven.
 *
 * Turns, at once: as many as were out when the newest was refused are served, as far as that tells. Who was refused
 * goes out again when one of these is over; who asks for the first time is not held up. When those are refused who had
 * their turn, chance refuses, or a fault, and nobody waits for his turn for a while.
 *
 * A crowd: so many are out, and all others wait until one of these ends. Without it all go out at once when a rest
 * ends, and most are refused again. It is believed after calls were served and refused by turns, several times in short
 * order, each of the refused beside that many others and each of the served beside fewer: where a window of time or
 * chance refuses, it is not so. One that is refused beside fewer ends it. When nobody was refused for a while that
 * grows with each time it proved true, twice as many may. */
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"

bool crowd_holds(const crowd *o)
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

daruma_ms crowd_full_in(const crowd *o, daruma_ms now)
{
    return crowd_holds(o) && o->out >= room_of(o, now) ? HEDGE_LOOK_MS : 0;
}

void crowd_refused(crowd *o, const daruma_call_pace *call, daruma_ms now)
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

void crowd_answered(crowd *o, const daruma_call_pace *call)
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

bool turns_busy(const turns *o, uint32_t out, daruma_ms now)
{
    return out >= turns_room(o, now);
}

void turns_over(turns *o, const daruma_call_pace *call, bool good, uint32_t others, daruma_ms now)
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
