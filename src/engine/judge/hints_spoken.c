/* hints_spoken.c - how long to wait, as a sentence says it: "try again in 20s", "resets 3pm (Europe/Oslo)", "until May
 * 30th, 2026 2:29 PM". */
#include "engine/judge/hints_inside.h"
#include "engine/read/chars.h"
#include "base/date.h"
#include "base/str.h"

/* "may 30th, 2026 2:29 pm", as codex prints it; unix milliseconds, -1 when it is none. The
 * zone is not told: UTC is taken. */
static int64_t spoken_date(daruma_str t)
{
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    int64_t n[5] = {0}; /* day, year, hour, minute */
    size_t found = 0, at = 0;
    int month = 0;
    if (t.n < 3)
        return -1;
    for (int m = 0; m < 12; m++)
        if (memcmp(t.p, months + m * 3, 3) == 0)
            month = m + 1;
    if (!month)
        return -1;
    while (at < t.n && at < 40 && found < 4) {
        if (!ch_digit(t.p[at])) {
            at++;
            continue;
        }
        size_t end = at;
        while (end < t.n && ch_digit(t.p[end]))
            end++;
        str_int(str_sub(t, at, end - at), &n[found++]);
        at = end;
    }
    if (found < 4 || n[0] > 31 || n[1] < 2000 || n[1] > 9999 || n[2] > 23 || n[3] > 59)
        return -1;
    daruma_str half = str_trim(str_sub(t, at, 3));
    if (str_starts(half, S("pm")) && n[2] < 12)
        n[2] += 12;
    if (str_starts(half, S("am")) && n[2] == 12)
        n[2] = 0;
    char iso[] = "0000-00-00T00:00:00Z";
    const int64_t values[] = {n[1] / 100, n[1] % 100, month, n[0], n[2], n[3]};
    static const int places[] = {0, 2, 5, 8, 11, 14};
    for (int i = 0; i < 6; i++) {
        iso[places[i]] = (char)('0' + values[i] / 10 % 10);
        iso[places[i] + 1] = (char)('0' + values[i] % 10);
    }
    return date_rfc3339(S(iso));
}

/* ---- the time of a day somewhere ---- */

/* Days since 1970 of a date (Gregorian). */
static int64_t days_of(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = y / 400, of_era = y - era * 400;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1 -
           719468;
}

/* The day of the nth Sunday of a month; nth 0: the last. */
static int64_t sunday(int64_t y, int m, int nth)
{
    int64_t first = days_of(y, nth ? m : m + 1, 1), weekday = (first + 4) % 7; /* 1970-01-01 was a Thursday */
    return nth ? first + (7 - weekday) % 7 + 7 * (nth - 1) : first - (weekday ? weekday : 7);
}

/* Minutes that the clock of a zone is ahead of UTC at a moment; false: nobody knows the zone. */
static bool zone_minutes(daruma_str zone, int64_t wall, int *ret)
{
    enum { SAME, AMERICA, EUROPE };
    static const struct {
        daruma_str name;
        int16_t minutes;
        uint8_t summer;
    } zones[] = {
        // clang-format off
        {LIT("utc"), 0, SAME}, {LIT("gmt"), 0, SAME}, {LIT("etc/utc"), 0, SAME},
        {LIT("america/los_angeles"), -480, AMERICA}, {LIT("america/vancouver"), -480, AMERICA}, {LIT("america/denver"), -420, AMERICA},
        {LIT("america/phoenix"), -420, SAME}, {LIT("america/chicago"), -360, AMERICA}, {LIT("america/new_york"), -300, AMERICA},
        {LIT("america/toronto"), -300, AMERICA}, {LIT("america/sao_paulo"), -180, SAME},
        {LIT("europe/london"), 0, EUROPE}, {LIT("europe/lisbon"), 0, EUROPE}, {LIT("europe/athens"), 120, EUROPE},
        {LIT("europe/helsinki"), 120, EUROPE}, {LIT("europe/kiev"), 120, EUROPE}, {LIT("europe/kyiv"), 120, EUROPE},
        {LIT("europe/bucharest"), 120, EUROPE}, {LIT("europe/moscow"), 180, SAME}, {LIT("europe/istanbul"), 180, SAME},
        {LIT("europe/"), 60, EUROPE}, /* the others, nearly all */
        {LIT("asia/kolkata"), 330, SAME}, {LIT("asia/calcutta"), 330, SAME}, {LIT("asia/bangkok"), 420, SAME},
        {LIT("asia/jakarta"), 420, SAME}, {LIT("asia/ho_chi_minh"), 420, SAME}, {LIT("asia/shanghai"), 480, SAME},
        {LIT("asia/singapore"), 480, SAME}, {LIT("asia/hong_kong"), 480, SAME}, {LIT("asia/taipei"), 480, SAME},
        {LIT("asia/manila"), 480, SAME}, {LIT("asia/tokyo"), 540, SAME}, {LIT("asia/seoul"), 540, SAME},
        // clang-format on
    };
    for (size_t i = 0; i < COUNT(zones); i++) {
        daruma_str name = zones[i].name;
        if (!str_istarts(zone, name) || (zone.n != name.n && !str_ends(name, S("/"))))
            continue;
        int64_t year = 1970 + wall / 31556952, from = 0, to = 0; /* a summer is far from the turn of a year */
        if (zones[i].summer == AMERICA) {
            from = sunday(year, 3, 2) * 86400 + (2 * 60 - zones[i].minutes) * 60;
            to = sunday(year, 11, 1) * 86400 + (60 - zones[i].minutes) * 60;
        } else if (zones[i].summer == EUROPE) {
            from = sunday(year, 3, 0) * 86400 + 3600;
            to = sunday(year, 10, 0) * 86400 + 3600;
        }
        *ret = zones[i].minutes + (wall >= from && wall < to ? 60 : 0);
        return true;
    }
    return false;
}

/* "3pm (america/los_angeles)", "3:30 pm (utc)": until the clock there says so next; -1: it is no such time. */
static daruma_ms until_time(daruma_str t, daruma_moment at)
{
    int64_t hour, minute = 0;
    int zone;
    size_t n = str_scan_int(t, &hour);
    if (!n || at.wall <= 0)
        return -1;
    t = str_from(t, n);
    if (t.n && t.p[0] == ':') {
        n = str_scan_int(str_from(t, 1), &minute);
        t = str_from(t, 1 + n);
    }
    t = str_trim(t);
    bool pm = str_starts(t, S("pm")), am = str_starts(t, S("am"));
    if (pm || am) {
        if (hour < 1 || hour > 12)
            return -1;
        hour = hour % 12 + (pm ? 12 : 0);
        t = str_trim(str_from(t, 2));
    }
    if (hour > 23 || minute > 59 || !t.n || t.p[0] != '(')
        return -1;
    size_t end = str_findch(t, ')');
    if (end == STR_NONE || !zone_minutes(str_sub(t, 1, end - 1), at.wall, &zone))
        return -1;
    int64_t there = at.wall + zone * 60, left = hour * 3600 + minute * 60 - there % 86400;
    return (left <= 0 ? left + 86400 : left) * 1000;
}

/* The word of a lead by which it is sought. */
enum {
    ANY = 0,
    AGAIN = 1,
    RETRY = 2,
    RESET = 4,
    WAIT = 8,
    AVAILABLE = 16,
    RESUME = 32,
    REFRESH = 64,
    BAR = 128,
    RETRYING = 256
};

/* What may stand before a duration. The first that is followed by one counts. */
static const struct {
    daruma_str says;
    uint16_t word; /* it must occur for the lead to; one must at any rate */
} leads[] = {
#define L(s, w)                                                                                                        \
    {                                                                                                                  \
        LIT(s), w                                                                                                      \
    }
    // clang-format off
    L("try again in ", AGAIN), L("retry in ", RETRY), L("retry after ", RETRY), L("retry-after: ", RETRY),
    L("retry_after: ", RETRY), L("again after ", AGAIN), L("retry again in ", AGAIN), L("wait ", WAIT), L("resets in ", RESET),
    L("reset in ", RESET), L("reset after ", RESET), L("resets after ", RESET), L("available in ", AVAILABLE),
    L("wait for ", WAIT), L("resume in ", RESUME), L("retrying in ", RETRYING), L("refresh in ", REFRESH),
    L("again at ", AGAIN), L("retry-after ", RETRY), L("retryafter: ", RETRY), L("retry your request after ", RETRY),
    L("requests after ", ANY), L("retrydelay: ", RETRY), L("resets at ", RESET), L("reset at ", RESET), L("resets ", RESET),
    L("reset ", RESET), L("retry_delay", RETRY), L("reached|", BAR),
// clang-format on
#undef L
};

static daruma_ms spoken_wait(daruma_str rest, daruma_moment at)
{
    static const daruma_str fill[] = {LIT("another "),  LIT("about "), LIT("approximately "),
                                      LIT("at least "), LIT("for "),   LIT("~"),
                                      LIT("up to "),    LIT("'"),      LIT("\""),
                                      LIT(":"),         LIT("{"),      LIT("seconds: ")};
    bool seconds = false; /* "{ seconds: 32 }" */
    rest = str_trim(rest);
    for (size_t i = 0; i < COUNT(fill); i++)
        if (str_starts(rest, fill[i])) {
            rest = str_trim(str_from(rest, fill[i].n));
            seconds |= i + 1 == COUNT(fill);
        }
    size_t used, digits = 0;
    daruma_ms ms = date_duration(str_sub(rest, 0, 60), &used);
    if (used)
        return ms;
    while (digits < rest.n && ch_digit(rest.p[digits]))
        digits++;
    if (digits >= 10 && (ms = hints_number_or_moment(str_sub(rest, 0, digits), at)) >= 0)
        return ms;
    if (seconds && digits)
        return hints_number_or_moment(str_sub(rest, 0, digits), at);
    if ((ms = until_time(rest, at)) >= 0)
        return ms;
    if (at.wall > 0 && (ms = hints_until(spoken_date(rest), at)) > 0)
        return ms;
    if (at.wall > 0 && rest.n >= 19 && ch_digit(rest.p[0])) {
        size_t n = 0;
        while (n < rest.n && n < 32 && (ch_digit(rest.p[n]) || memchr("-:.tz+ ", rest.p[n], 7)))
            n++;
        char iso[32];
        for (size_t i = 0; i < n; i++)
            iso[i] = rest.p[i];
        return hints_until(date_rfc3339(str_trim((daruma_str){iso, n})), at);
    }
    return -1;
}

/* Which of these words occur, in one pass: they begin with a, r or w, and the second letter
 * settles nearly every place. */
static unsigned wait_words(daruma_str t)
{
    unsigned words = 0;
    for (size_t i = 0; i + 1 < t.n; i++) {
        char c = t.p[i], next = t.p[i + 1];
        if (c == 'r' && next == 'e') {
            daruma_str rest = str_from(t, i);
            words |= str_starts(rest, S("retry"))     ? RETRY
                     : str_starts(rest, S("reset"))   ? RESET
                     : str_starts(rest, S("resume"))  ? RESUME
                     : str_starts(rest, S("refresh")) ? REFRESH
                                                      : 0;
        } else if (c == '|' && ch_digit(next)) {
            words |= BAR;
        } else if (c == 'a' && (next == 'g' || next == 'v')) {
            daruma_str rest = str_from(t, i);
            words |= str_starts(rest, S("again")) ? AGAIN : str_starts(rest, S("available in")) ? AVAILABLE : 0;
        } else if (c == 'w' && next == 'a' && str_starts(str_from(t, i), S("wait"))) {
            words |= WAIT;
        }
    }
    return words;
}

daruma_ms hints_spoken(daruma_str t, bool limited, daruma_moment at)
{
    unsigned words = chars_digit(t) ? wait_words(t) : 0;
    words |= words & RETRY && limited ? RETRYING : 0;
    for (size_t i = 0; words && i < COUNT(leads); i++) {
        if (leads[i].word & ~words)
            continue;
        size_t hit = str_find(t, leads[i].says);
        if (hit == STR_NONE)
            continue;
        daruma_ms ms = spoken_wait(str_from(t, hit + leads[i].says.n), at);
        if (ms >= 0)
            return ms;
    }
    return -1;
}
