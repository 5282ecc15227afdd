/* hints.c - reads how long to wait: what header fields, body fields and texts say, in the order in which they count.
 *
 * An explicit word to this client (retry-after-ms, Retry-After, RetryInfo, "try again in") beats
 * the reset times of limits, for those are sent with every answer: only that of an exhausted
 * dimension says when to come back. */
#include "engine/judge/hints_inside.h"
#include "engine/read/chars.h"
#include "base/arena.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"

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

daruma_ms hints_until(int64_t wall_ms, daruma_moment at)
{
    if (wall_ms < 0 || at.wall <= 0)
        return -1;
    int64_t left = wall_ms - mul_sat(at.wall, 1000);
    return left > 0 ? left : 0;
}

daruma_ms hints_number_or_moment(daruma_str v, daruma_moment at)
{
    int64_t milli;
    if (!date_milli(v, &milli))
        return -1;
    if (milli / 1000 >= WALL_MIN * INT64_C(1000))
        return hints_until(milli / 1000, at);
    return milli / 1000 >= WALL_MIN ? hints_until(milli, at) : milli;
}

/* Anything a reset or Retry-After header holds. */
static daruma_ms moment_or_duration(daruma_str v, daruma_moment at)
{
    if (!v.n)
        return -1;
    daruma_ms ms = hints_number_or_moment(v, at);
    if (ms < 0)
        ms = date_duration(v, NULL);
    if (ms < 0)
        ms = hints_until(date_http(v), at);
    if (ms < 0)
        ms = hints_until(date_rfc3339(v), at);
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
        if ((ms = sane(hints_spoken(texts[i], s->limited, at))) >= 0)
            return ms;
    if (ntexts && (ms = sane(hints_spoken(s->behind, s->limited, at))) >= 0)
        return ms;
    if (heads && (ms = sane(exhausted_reset(ev, at))) >= 0)
        return ms;
    return sane(hints_until(s->reset_wall, at));
}
