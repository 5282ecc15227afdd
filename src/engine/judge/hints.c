/* hints.c - reads how long to wait, and the numbers of a limit.
 *
 * An explicit word to this client (retry-after-ms, Retry-After, RetryInfo, "try again in") beats
 * the reset times of limits, for those are sent with every answer: only that of an exhausted
 * dimension says when to come back. */
#include "engine/judge/hints.h"
#include "engine/read/chars.h"
#include "base/arena.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"

#define NUMBERS_MAX     24 /* in one text; a message about a limit has under ten */
#define HEADER_NAME_MAX 80
#define WALL_MIN        1000000000 /* unix seconds: what is larger is a moment (after 2001), not a duration */

static daruma_str header(const daruma_evidence *ev, daruma_str name)
{
    for (size_t i = 0; i < ev->nheaders; i++)
        if (str_ieq(ev->headers[i].name, name))
            return str_trim(ev->headers[i].value);
    return (daruma_str){0};
}

daruma_str hints_error_name(const daruma_evidence *ev)
{
    daruma_str v = header(ev, S("x-amzn-errortype")), name = str_cut(&v, ':'); /* behind it a URL */
    for (size_t i = 0; i < name.n; i++)
        if (!ch_alpha(name.p[i]))
            return (daruma_str){0};
    return str_sub(name, 0, HEADER_NAME_MAX);
}

int hints_should_retry(const daruma_evidence *ev)
{
    daruma_str says = ev->status >= 400 ? header(ev, S("x-should-retry")) : (daruma_str){0};
    return str_ieq(says, S("true")) ? 1 : str_ieq(says, S("false")) ? 0 : -1;
}

/* Milliseconds from now to a moment; 0 when it has passed, -1 when there is no clock. */
static daruma_ms until(int64_t wall_ms, daruma_moment at)
{
    if (wall_ms < 0 || at.wall <= 0)
        return -1;
    int64_t left = wall_ms - mul_sat(at.wall, 1000);
    return left > 0 ? left : 0;
}

/* A number: seconds from now, or a moment in unix seconds or milliseconds. */
static daruma_ms number_or_moment(daruma_str v, daruma_moment at)
{
    int64_t milli;
    if (!date_milli(v, &milli))
        return -1;
    if (milli / 1000 >= WALL_MIN * INT64_C(1000))
        return until(milli / 1000, at);
    return milli / 1000 >= WALL_MIN ? until(milli, at) : milli;
}

/* Anything a reset or Retry-After header holds. */
static daruma_ms moment_or_duration(daruma_str v, daruma_moment at)
{
    if (!v.n)
        return -1;
    daruma_ms ms = number_or_moment(v, at);
    if (ms < 0)
        ms = date_duration(v, NULL);
    if (ms < 0)
        ms = until(date_http(v), at);
    if (ms < 0)
        ms = until(date_rfc3339(v), at);
    return ms;
}

/* Is this the reset time of a limit: "x-ratelimit-reset-tokens", "anthropic-ratelimit-unified-reset"? Whatever the
 * limit is on, what is left of it stands in the header that says "remaining" in the place of "reset". */
static size_t reset_in(daruma_str name)
{
    bool limit = str_ifind(name, S("ratelimit")) != STR_NONE || str_ifind(name, S("rate-limit")) != STR_NONE;
    return limit ? str_ifind(name, S("reset")) : STR_NONE;
}

/* What the header beside it says that has `word` in the place of "reset". */
static daruma_str beside_reset(const daruma_evidence *ev, daruma_str reset, size_t at, daruma_str word)
{
    char name[HEADER_NAME_MAX];
    daruma_str before = str_sub(reset, 0, at), behind = str_from(reset, at + S("reset").n);
    if (before.n + word.n + behind.n > sizeof name)
        return (daruma_str){0};
    memcpy(name, before.p, before.n);
    memcpy(name + before.n, word.p, word.n);
    memcpy(name + before.n + word.n, behind.p, behind.n);
    return header(ev, (daruma_str){name, before.n + word.n + behind.n});
}

static daruma_ms exhausted_reset(const daruma_evidence *ev, daruma_moment at)
{
    daruma_ms longest = -1, only = -1;
    int resets = 0;
    for (size_t i = 0; i < ev->nheaders; i++) {
        size_t reset = reset_in(ev->headers[i].name);
        daruma_ms ms = reset == STR_NONE ? -1 : moment_or_duration(str_trim(ev->headers[i].value), at);
        if (ms < 0)
            continue;
        int64_t left;
        bool known = str_int(beside_reset(ev, ev->headers[i].name, reset, S("remaining")), &left);
        resets++;
        if (known && left == 0 && ms > longest)
            longest = ms;
        if (!known || left == 0)
            only = ms;
    }
    if (longest >= 0)
        return longest;
    return resets == 1 && ev->status == 429 ? only : -1;
}

bool hints_left(const daruma_header *h, size_t n, daruma_moment at, daruma_left *ret)
{
    const daruma_evidence ev = {.headers = h, .nheaders = n};
    bool found = false;
    *ret = (daruma_left){.left = {-1, -1}, .limit = {-1, -1}};
    for (size_t i = 0; i < n; i++) {
        daruma_str name = h[i].name;
        bool limit = str_istarts(name, S("x-ratelimit-")) || str_istarts(name, S("anthropic-ratelimit-"));
        size_t reset = limit ? reset_in(name) : STR_NONE;
        if (reset == STR_NONE || str_ifind(name, S("output-token")) != STR_NONE)
            continue;
        daruma_limit l = str_ifind(name, S("token")) != STR_NONE ? DARUMA_LIMIT_TOKENS : DARUMA_LIMIT_REQUESTS;
        daruma_ms ms = moment_or_duration(str_trim(h[i].value), at);
        int64_t left, of;
        if (ms < 0 || !str_int(beside_reset(&ev, name, reset, S("remaining")), &left))
            continue;
        found = true;
        if (ret->left[l] >= 0 && (left > ret->left[l] || (left == ret->left[l] && ms <= ret->reset[l])))
            continue;
        ret->left[l] = left;
        ret->reset[l] = ms;
        ret->limit[l] = str_int(beside_reset(&ev, name, reset, S("limit")), &of) ? of : -1;
    }
    return found;
}

/* A wait as it was stated, -1 when nobody can mean it. */
static daruma_ms sane(daruma_ms ms)
{
    return ms <= ADVICE_DAYS_MAX * INT64_C(86400000) ? ms : -1;
}

static daruma_ms explicit_header(const daruma_evidence *ev, daruma_moment at)
{
    static const daruma_str in_ms[] = {LIT("retry-after-ms"), LIT("x-ms-retry-after-ms")};
    for (size_t i = 0; i < 2; i++) {
        int64_t milli;
        if (date_milli(header(ev, in_ms[i]), &milli) && sane(milli / 1000) >= 0)
            return milli / 1000;
    }
    return moment_or_duration(header(ev, S("retry-after")), at);
}

/* ---- words ---------------------------------------------------------------------------------- */

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
    L("try again in ", AGAIN),
    L("retry in ", RETRY),
    L("retry after ", RETRY),
    L("retry-after: ", RETRY),
    L("retry_after: ", RETRY),
    L("again after ", AGAIN),
    L("retry again in ", AGAIN),
    L("wait ", WAIT),
    L("resets in ", RESET),
    L("reset in ", RESET),
    L("reset after ", RESET),
    L("resets after ", RESET),
    L("available in ", AVAILABLE),
    L("wait for ", WAIT),
    L("resume in ", RESUME),
    L("retrying in ", RETRYING),
    L("refresh in ", REFRESH),
    L("again at ", AGAIN),
    L("retry-after ", RETRY),
    L("retryafter: ", RETRY),
    L("retry your request after ", RETRY),
    L("requests after ", ANY),
    L("retrydelay: ", RETRY),
    L("resets at ", RESET),
    L("reset at ", RESET),
    L("resets ", RESET),
    L("reset ", RESET),
    L("retry_delay", RETRY),
    L("reached|", BAR),
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
    if (digits >= 10 && (ms = number_or_moment(str_sub(rest, 0, digits), at)) >= 0)
        return ms;
    if (seconds && digits)
        return number_or_moment(str_sub(rest, 0, digits), at);
    if ((ms = until_time(rest, at)) >= 0)
        return ms;
    if (at.wall > 0 && (ms = until(spoken_date(rest), at)) > 0)
        return ms;
    if (at.wall > 0 && rest.n >= 19 && ch_digit(rest.p[0])) {
        size_t n = 0;
        while (n < rest.n && n < 32 && (ch_digit(rest.p[n]) || memchr("-:.tz+ ", rest.p[n], 7)))
            n++;
        char iso[32];
        for (size_t i = 0; i < n; i++)
            iso[i] = rest.p[i];
        return until(date_rfc3339(str_trim((daruma_str){iso, n})), at);
    }
    return -1;
}

/* Without branches, so that many bytes are asked at once: half of all texts are done with it. */
static bool has_digit(daruma_str t)
{
    unsigned char any = 0;
    for (size_t i = 0; i < t.n; i++)
        any |= (unsigned char)(t.p[i] - '0') < 10;
    return any;
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

static daruma_ms text_wait(daruma_str t, bool limited, daruma_moment at)
{
    unsigned words = has_digit(t) ? wait_words(t) : 0;
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

/* The moment on the provider's clock, which its moments are meant by, where its answer says what time it is there
 * (RFC 9110, 6.6.1). */
static daruma_moment their_time(const daruma_evidence *ev, daruma_moment at)
{
    int64_t date = at.wall > 0 ? date_http(header(ev, S("date"))) : -1;
    if (date > 0)
        at.wall = date / 1000;
    return at;
}

daruma_ms hints_wait(const daruma_evidence *ev, const said *s, const daruma_str *texts, size_t ntexts, daruma_moment at)
{
    daruma_ms ms = -1;
    bool heads = ev->nheaders && ev->status / 100 != 2; /* those of an answer are not about its failure */
    at = their_time(ev, at);
    if (heads && (ms = sane(explicit_header(ev, at))) >= 0)
        return ms;
    if (sane(s->wait) >= 0)
        return s->wait;
    for (size_t i = 0; i < ntexts; i++)
        if ((ms = sane(text_wait(texts[i], s->limited, at))) >= 0)
            return ms;
    if (ntexts && (ms = sane(text_wait(s->behind, s->limited, at))) >= 0)
        return ms;
    if (heads && (ms = sane(exhausted_reset(ev, at))) >= 0)
        return ms;
    return sane(until(s->reset_wall, at));
}

daruma_ms daruma_advice(const daruma_evidence *ev, daruma_moment at)
{
    char mem[16 << 10];
    daruma_arena a = arena_over(mem, sizeof mem);
    said s = unwrap(ev->body, NULL, &a);
    daruma_str texts[SAID_TEXTS];
    size_t n = 0;
    for (size_t i = 0; i < s.ntexts; i++) {
        daruma_str t = str_sub(s.texts[i], 0, CLASSIFY_MESSAGE_BYTES_MAX / 4);
        char *low = arena_take(&a, t.n, 1);
        if (!low)
            break;
        for (size_t k = 0; k < t.n; k++)
            low[k] = ch_lower(t.p[k]);
        texts[n++] = (daruma_str){low, t.n};
    }
    return hints_wait(ev, &s, texts, n, at);
}

/* ---- the numbers of a limit ----------------------------------------------------------------- */

enum { LIMIT, USED, REQUESTED };

/* What stands right before a number, or right behind it; two bytes at least. */
static const struct {
    daruma_str says;
    bool behind;
    uint8_t what;
} counts[] = {
#define B(s, w)                                                                                                        \
    {                                                                                                                  \
        LIT(s), false, w                                                                                               \
    }
#define A(s, w)                                                                                                        \
    {                                                                                                                  \
        LIT(s), true, w                                                                                                \
    }
    B("requested about ", REQUESTED),
    B("you requested a total of ", REQUESTED),
    B("you requested ", REQUESTED),
    B("requested: ", REQUESTED),
    B("requested ", REQUESTED),
    B("maximum context length is ", LIMIT),
    B("maximum context length of ", LIMIT),
    B("maximum prompt length is ", LIMIT),
    B("context window of ", LIMIT),
    B("context limit: ", LIMIT),
    B("model token limit: ", LIMIT),
    B("while limit is ", LIMIT),
    B("maximum allowed length of ", LIMIT),
    B("maximum allowed input length of ", LIMIT),
    B("maximum number of tokens allowed (", LIMIT),
    B("available context size (", LIMIT),
    B("context length is only ", LIMIT),
    B("context length of only ", LIMIT),
    B("limit of ", LIMIT),
    B("limit: ", LIMIT),
    B("limit ", LIMIT),
    B("max size: ", LIMIT),
    B("context size is ", LIMIT),
    B("should be [1, ", LIMIT),
    B("cannot exceed ", LIMIT),
    B("the maximum allowed is ", LIMIT),
    A(" maximum context length", LIMIT),
    A(" maximum", LIMIT),
    B("> ", LIMIT),
    B("trying to keep the first ", USED),
    B("used ", USED),
    B("current: ", USED),
    B("current length is ", USED),
    B("resulted in ", USED),
    B("token count (", USED),
    B("token count of ", USED),
    B("prompt is too long: ", USED),
    B("prompt contains at least ", USED),
    B("prompt contains ", USED),
    B("the request contains ", USED),
    B("prompt has ", USED),
    B("the input (", USED),
    B("request (", USED),
    A(" tokens from the input", USED),
    A(" in the messages", USED),
    A(" tokens > ", USED),
#undef A
#undef B
};

/* The first row that stands right before t[from] or right behind t[to - 1]. Most numbers have
 * nothing there that a row could end or begin with. */
static int row_at(daruma_str t, size_t from, size_t to)
{
    bool before = from >= 2 && (t.p[from - 1] == ' ' || t.p[from - 1] == '(');
    bool behind = to < t.n && t.p[to] == ' ';
    if (!before && !behind)
        return -1;
    for (int i = 0; i < (int)COUNT(counts); i++) {
        daruma_str says = counts[i].says;
        if (counts[i].behind
                ? behind && to + says.n <= t.n && t.p[to + 1] == says.p[1] && memcmp(t.p + to, says.p, says.n) == 0
                : before && says.n <= from && t.p[from - 2] == says.p[says.n - 2] &&
                      memcmp(t.p + from - says.n, says.p, says.n) == 0)
            return i;
    }
    return -1;
}

/* "190000 + 32000 > 200000": the input, the output cap beside it, and the limit. No row may take the first for the
 * third because "limit: " stands before it. */
static void read_sum(daruma_str t, said *s)
{
    int64_t input, output, limit;
    size_t plus = str_find(t, S(" + ")), from = plus;
    if (plus == STR_NONE)
        return;
    while (from && (char_is(t.p[from - 1], CHAR_DIGIT) || t.p[from - 1] == ','))
        from--;
    if (str_scan_int(str_from(t, from), &input) != plus - from || from == plus)
        return;
    daruma_str rest = str_from(t, plus + 3);
    rest = str_from(rest, str_scan_int(rest, &output));
    if (!str_starts(rest, S(" > ")) || !str_scan_int(str_from(rest, 3), &limit))
        return;
    s->limit = limit;
    s->used = input;
    s->requested = add_sat(input, output);
}

void hints_numbers(daruma_str t, said *s)
{
    if (s->limit < 0)
        read_sum(t, s);
    int64_t *const to[] = {&s->limit, &s->used, &s->requested};
    int best[] = {s->limit >= 0 ? -1 : 99, s->used >= 0 ? -1 : 99, s->requested >= 0 ? -1 : 99};
    int numbers = 0;
    if (!has_digit(t))
        return;
    for (size_t i = 0; i < t.n && numbers < NUMBERS_MAX; i++) {
        while (i < t.n && !char_is(t.p[i], CHAR_DIGIT))
            i++;
        if (i == t.n)
            break;
        int64_t n;
        size_t used = str_scan_int(str_from(t, i), &n);
        bool none = (i && char_is(t.p[i - 1], CHAR_WORD)) || str_eq(s->code, str_sub(t, i, used)); /* the error's own */
        int row = none ? -1 : row_at(t, i, i + used);
        if (row >= 0 && row < best[counts[row].what]) { /* an earlier row is the better name */
            best[counts[row].what] = row;
            *to[counts[row].what] = n;
        }
        numbers++;
        i += used;
    }
}

/* ---- an overflow whose words no row knows --------------------------------------------------- */

enum {
    LEAD_BYTES = 48,  /* words further from a number are not about it */
    COUNTED_MIN = 256 /* what is smaller is no window, and no prompt that overflows one */
};

/* Words before a number, or right behind it, that make it the limit. */
static const daruma_str limit_leads[] = {
    // clang-format off
    LIT("maximum"), LIT("max "), LIT("limit"), LIT("at most"), LIT("up to"), LIT("supports"), LIT("exceed"), LIT("allow"), LIT("<="),
    LIT("context length"), LIT("context window"), LIT("context size"), LIT("longer than"), LIT("larger than"), LIT("greater than"),
    LIT("more than"), LIT("fewer than"), LIT("less than"),
    // clang-format on
};
static const daruma_str limit_tails[] = {LIT("maximum"), LIT("max "),    LIT("limit"),
                                         LIT("context"), LIT("allowed"), LIT("window")};
static const daruma_str units[] = {LIT("tokens"), LIT("token")};

static bool says_limit(daruma_str lead, daruma_str tail)
{
    size_t end;
    while ((end = str_find(lead, S(". "))) != STR_NONE) /* another sentence is about something else */
        lead = str_from(lead, end + 2);
    for (size_t i = 0; i < COUNT(limit_leads); i++)
        if (str_find(lead, limit_leads[i]) != STR_NONE)
            return true;
    tail = str_trim(tail);
    for (size_t i = 0; i < 2; i++)
        if (str_starts(tail, units[i])) {
            tail = str_trim(str_from(tail, units[i].n));
            break;
        }
    for (size_t i = 0; i < COUNT(limit_tails); i++)
        if (str_starts(tail, limit_tails[i]))
            return true;
    return false;
}

/* True if t[from..to) stands for itself: not in "gpt-4o", "v2", "0.5" or "2024-08-06". */
static bool stands_alone(daruma_str t, size_t from, size_t to)
{
    bool glued = from && (char_is(t.p[from - 1], CHAR_WORD) || t.p[from - 1] == '-' || t.p[from - 1] == '.');
    bool goes_on = to < t.n && (char_is(t.p[to], CHAR_WORD) || ((t.p[to] == '-' || t.p[to] == '.') && to + 1 < t.n &&
                                                                char_is(t.p[to + 1], CHAR_WORD)));
    return !glued && !goes_on;
}

/* Whatever the order of words, the prompt was more than the limit: of the numbers that limit words stand beside the
 * smallest is the limit, and the largest number above it is what was counted. */
void hints_overflow(daruma_str t, said *s)
{
    int64_t least = -1, most = -1;
    size_t behind = 0;
    int numbers = 0;
    for (size_t i = 0; i < t.n && numbers < NUMBERS_MAX; numbers++) {
        while (i < t.n && !char_is(t.p[i], CHAR_DIGIT))
            i++;
        if (i == t.n)
            break;
        int64_t n = 0;
        size_t to = i + str_scan_int(str_from(t, i), &n);
        daruma_str lead = str_sub(t, behind, i - behind);
        lead = lead.n > LEAD_BYTES ? str_from(lead, lead.n - LEAD_BYTES) : lead;
        if (stands_alone(t, i, to) && n >= COUNTED_MIN && !str_ends(lead, S(" by "))) { /* "exceeded by 120 tokens" */
            most = n > most ? n : most;
            if (says_limit(lead, str_sub(t, to, LEAD_BYTES)) && (least < 0 || n < least))
                least = n;
        }
        i = behind = to;
    }
    int64_t limit = s->limit >= 0 ? s->limit : least;
    if (limit < 0 || (s->used >= 0 && limit >= s->used))
        return;
    bool counted = s->used >= 0 || s->requested > limit;
    if (!counted && most <= limit)
        return;
    s->limit = limit;
    if (!counted)
        s->used = most;
}
