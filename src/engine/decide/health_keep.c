/* health_keep.c - places as lines of a snapshot: what is sick and for how long, and how long calls usually take.
 * Budgets and tallies begin anew, and so do probes: the calls that they were are gone. Between replicas the same lines
 * tell what became sick, well or is being probed. */
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"
#include <xxhash.h>

// clang-format off
static const record_member members[] = {
    RECORD_MEMBER(RECORD_ID,    place, "id", id),
    RECORD_MEMBER(RECORD_TIME,  place, "cool_until", cool_until),
    RECORD_MEMBER(RECORD_WHOLE, place, "cool_ms", cool_ms),
    RECORD_MEMBER(RECORD_TIME,  place, "cool_from", cool_from),
    RECORD_MEMBER(RECORD_WHOLE, place, "strikes", strikes),
    RECORD_MEMBER(RECORD_FLAG,  place, "named", named),
    RECORD_MEMBER(RECORD_FLAG,  place, "unreached", unreached),
    RECORD_MEMBER(RECORD_ROW,   place, "times", times),
    RECORD_MEMBER(RECORD_TIME,  place, "heard", heard),
    RECORD_MEMBER(RECORD_TIME,  place, "heard_at", heard_at),
    RECORD_MEMBER(RECORD_TIME,  place, "whole", whole),
    RECORD_MEMBER(RECORD_WHOLE, place, "row", breaker.row),
    RECORD_MEMBER(RECORD_WHOLE, place, "rows", breaker.rows),
    RECORD_MEMBER(RECORD_WHOLE, place, "trips", breaker.trips),
    RECORD_MEMBER(RECORD_FLAG,  place, "agreed", breaker.agreed),
    RECORD_MEMBER(RECORD_TIME,  place, "open_until", breaker.open_until),
    RECORD_MEMBER(RECORD_TIME,  place, "well_at", breaker.well_at),
    RECORD_MEMBER(RECORD_TIME,  place, "bad_at", breaker.bad_at),
    RECORD_MEMBER(RECORD_TIME,  place, "closed_at", breaker.closed_at),
    RECORD_MEMBER(RECORD_TIME,  place, "probe_until", probe_until),
    RECORD_MEMBER(RECORD_TIME,  place, "breaker_probe_until", breaker.probe_until),
};
// clang-format on
static const record_table places = {HEALTH_RECORD, members, COUNT(members)};

static void put_place(const place *p, daruma_ms now, daruma_buf *out)
{
    record_write(out, &places, p, now);
    buf_printf(out, ",\"scope\":\"%s\",\"why\":\"%s\"}\n", daruma_scope_name(p->scope), daruma_kind_name(p->why));
}

void health_save(const daruma_health *w, daruma_ms now, daruma_buf *out)
{
    for (const place *p = place_oldest(w); p; p = place_newer(w, p)) /* so that the newest is touched last */
        put_place(p, now, out);
}

static bool read_scope(daruma_str line, daruma_scope *ret)
{
    daruma_str name = json_get(line, S("scope"));
    for (int s = DARUMA_SICK_KEY; json_is_string(name) && s <= DARUMA_SICK_PROVIDER; s++)
        if (json_raw_eq(str_sub(name, 1, name.n - 2), str_of(daruma_scope_name((daruma_scope)s)))) {
            *ret = (daruma_scope)s;
            return true;
        }
    return false;
}

/* No time of a line lies further from now than what it is the time of can last. */
static void bound_times(place *p, daruma_ms now)
{
    daruma_ms *past[] = {&p->cool_from,       &p->heard,          &p->heard_at,         &p->whole,
                         &p->breaker.well_at, &p->breaker.bad_at, &p->breaker.closed_at};
    for (size_t i = 0; i < COUNT(past); i++)
        *past[i] = sooner(*past[i], now);
    p->cool_until = sooner(p->cool_until, add_sat(now, p->cool_ms));
    p->probe_until = sooner(p->probe_until, add_sat(now, BREAKER_PROBE_MS));
    p->breaker.open_until = sooner(p->breaker.open_until, add_sat(now, REST_MS_MAX));
    p->breaker.probe_until = sooner(p->breaker.probe_until, add_sat(now, BREAKER_PROBE_MS));
}

static bool read_place(daruma_str line, place *ret, daruma_ms now, daruma_ms aged)
{
    daruma_str why = json_get(line, S("why"));
    bool known = false;
    if (!record_read(&places, line, ret, now, aged) || !ret->id || !read_scope(line, &ret->scope) ||
        ret->cool_ms > HEALTH_COOL_MS_MAX)
        return false;
    ret->why = json_is_string(why) ? daruma_kind_parse(str_sub(why, 1, why.n - 2), &known) : DARUMA_UNKNOWN;
    for (size_t i = 0; i < HEALTH_TIMES; i++)
        for (size_t plain = 0; plain < 2; plain++)
            if (ret->times[i][plain].mean < 0 || ret->times[i][plain].off < 0)
                return false;
    bound_times(ret, now);
    return known;
}

bool health_load(daruma_health *w, daruma_str line, daruma_ms now, daruma_ms aged)
{
    place got = {0};
    if (!read_place(line, &got, now, aged))
        return false;
    got.probe_until = got.breaker.probe_until = 0;
    place_keep(place_made(w, got.id, got.scope), &got);
    return true;
}

/* ---- between replicas ---- */

/* What others act on; 0 while there is nothing of the kind. What is learned of each call is not in it. */
static uint64_t mark(const place *p)
{
    const int64_t says[] = {p->cool_ms ? p->cool_until : 0,  p->probe_until,         p->cool_ms,        p->strikes,
                            p->breaker.open_until,           p->breaker.probe_until, p->breaker.agreed, p->breaker.row,
                            p->cool_ms ? (int64_t)p->why : 0};
    int64_t any = 0;
    for (size_t i = 0; i < COUNT(says); i++)
        any |= says[i];
    return any ? XXH3_64bits(says, sizeof says) | 1 : 0;
}

void health_share(daruma_health *w, daruma_ms now, daruma_buf *out)
{
    for (place *p = place_oldest(w); p; p = place_newer(w, p)) {
        uint64_t is = mark(p);
        if (is == p->shared)
            continue;
        p->shared = is;
        put_place(p, now, out);
    }
}

void health_unshare(daruma_health *w)
{
    for (place *p = place_oldest(w); p; p = place_newer(w, p))
        p->shared = 0;
}

/* A rest is known by when the call went out that began it. Takes a later one, a longer one, and the end of one that
 * both know. True: it is well sooner. */
static bool learn_rest(place *p, const place *got, daruma_ms now)
{
    if (!got->cool_from || add_sat(got->cool_from, REPLICA_SLACK_MS) < p->cool_from)
        return false;
    bool later_one = !p->cool_from || got->cool_from > add_sat(p->cool_from, REPLICA_SLACK_MS),
         over = !got->cool_ms && p->cool_ms;
    if (got->cool_ms && (later_one || (p->cool_ms && got->cool_until > p->cool_until))) {
        p->cool_until = got->cool_until;
        p->cool_ms = got->cool_ms;
        p->cool_from = got->cool_from;
        p->cool_took = ms_since(got->cool_from, now); /* what is out now is from before it is known here */
        p->struck_at = now;
        p->named = got->named;
        p->named_status = p->why == got->why ? p->named_status : 0;
        p->unreached = got->unreached;
        p->why = got->why;
        p->strikes = got->strikes;
    }
    if (over) {
        p->cool_ms = 0;
        p->strikes = 0;
        p->named = p->held = false;
        p->named_from = 0;
    }
    if (!p->cool_ms || p->probe_until <= now) /* else a call of ours finds out */
        p->probe_until = p->cool_ms ? got->probe_until : 0;
    return over;
}

bool health_learn(daruma_health *w, daruma_str line, daruma_ms now, daruma_ms aged)
{
    place got = {0};
    if (!read_place(line, &got, now, aged))
        return false;
    place *p = place_made(w, got.id, got.scope);
    bool told = mark(p) == p->shared; /* else what is news here is told as well */
    w->healed += learn_rest(p, &got, now);
    w->healed += breaker_learn(&p->breaker, &got.breaker, now);
    for (size_t i = 0; i < HEALTH_TIMES; i++)
        for (size_t plain = 0; plain < 2; plain++)
            if (got.times[i][plain].n > p->times[i][plain].n)
                p->times[i][plain] = got.times[i][plain];
    if (told)
        p->shared = mark(p);
    return true;
}
