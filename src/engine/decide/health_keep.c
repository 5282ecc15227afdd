/* health_keep.c - places as lines of a snapshot: what is sick and for how long, and how long calls usually take.
 * Budgets and tallies begin anew, and so do probes: the calls that they were are gone. */
#include "engine/decide/place.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"

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
};
// clang-format on
static const record_table places = {HEALTH_RECORD, members, COUNT(members)};

void health_save(const daruma_health *w, daruma_ms now, daruma_buf *out)
{
    for (const place *p = place_oldest(w); p; p = place_newer(w, p)) { /* so that the newest is touched last */
        record_write(out, &places, p, now);
        buf_printf(out, ",\"scope\":\"%s\",\"why\":\"%s\"}\n", daruma_scope_name(p->scope), daruma_kind_name(p->why));
    }
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

bool health_load(daruma_health *w, daruma_str line, daruma_ms now, daruma_ms aged)
{
    place got = {0};
    daruma_str why = json_get(line, S("why"));
    bool known = false;
    if (!record_read(&places, line, &got, now, aged) || !got.id || !read_scope(line, &got.scope) ||
        got.cool_ms > HEALTH_COOL_MS_MAX)
        return false;
    got.why = json_is_string(why) ? daruma_kind_parse(str_sub(why, 1, why.n - 2), &known) : DARUMA_UNKNOWN;
    if (!known)
        return false;
    for (size_t i = 0; i < HEALTH_TIMES; i++)
        for (size_t plain = 0; plain < 2; plain++)
            if (got.times[i][plain].mean < 0 || got.times[i][plain].off < 0)
                return false;
    place_keep(place_made(w, got.id, got.scope), &got);
    return true;
}
