/* red.c - whether the end of a text is the report of a run that failed: of tests, of a build, of a linter. A word of
 * failure counts by what stands beside it: a number, a sign, or nothing but the beginning of the line.
 *
 *     Tests: 3, Failures: 1      a number behind it      a.c:3:5: error: ...     signs around it
 *     1 failed, 2 passed         a number before it      FAILED a.py::test_b     the line begins with it, in capitals
 */
#include "engine/watch/facts.h"
#include "base/limits.h"
#include "base/str.h"

enum { TOKENS_MAX = 96 }; /* of a line; what follows tells nothing more */

typedef enum token_is {
    END,
    SIGN,
    WORD,
    COUNT_OF, /* a number without a point */
    MEASURE,  /* "0.35", "12%" */
    FAILURE,
    EXCUSE,  /* such failures are none: "expected", "fixed" */
    NOTHING, /* a word for 0 */
} token_is;

typedef struct token {
    daruma_str s;
    token_is is;
    int64_t count;
} token;

/* The tokens of a line; END before the first and behind the last. */
typedef struct red_line {
    token at[TOKENS_MAX + 6];
    size_t n;
} red_line;

// clang-format off
static const struct {
    daruma_str word;
    token_is is;
} known[] = {
    {LIT("failed"), FAILURE}, {LIT("failures"), FAILURE}, {LIT("failure"), FAILURE}, {LIT("failing"), FAILURE},
    {LIT("errors"), FAILURE}, {LIT("error"), FAILURE}, {LIT("fail"), FAILURE}, {LIT("error(s)"), FAILURE},
    {LIT("expected"), EXCUSE}, {LIT("known"), EXCUSE}, {LIT("fixed"), EXCUSE}, {LIT("ignored"), EXCUSE},
    {LIT("suppressed"), EXCUSE}, {LIT("skipped"), EXCUSE}, {LIT("flaky"), EXCUSE}, {LIT("recovered"), EXCUSE},
    {LIT("no"), NOTHING}, {LIT("none"), NOTHING}, {LIT("null"), NOTHING}, {LIT("false"), NOTHING},
    {LIT("without"), NOTHING}, {LIT("never"), NOTHING}, {LIT("nil"), NOTHING}, {LIT("n/a"), NOTHING},
};
// clang-format on

/* A hash of a line, but for times that it took. */
static uint32_t line_hash(daruma_str line)
{
    uint32_t h = 1;
    for (size_t i = 0; i < line.n;) {
        size_t from = i;
        while (i < line.n && (ch_alpha(line.p[i]) || ch_digit(line.p[i])))
            i++;
        bool timed =
            i > from && ch_digit(line.p[from]) &&
            (line.p[i - 1] == 's' || (i < line.n && line.p[i] == '.') || (from > 0 && line.p[from - 1] == '.'));
        for (size_t k = from; k < i && !timed; k++)
            h = h * 31 + (unsigned char)line.p[k];
        i += i == from;
    }
    return h;
}

/* Bytes of a word with all that belongs to its name: "errors.c", "a/errors", "error-page", "error(s)". */
static size_t name_bytes(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && (ch_word(s.p[n]) || (n && n + 1 < s.n && memchr("/\\-.", s.p[n], 4) && ch_word(s.p[n + 1]))))
        n++;
    return str_istarts(str_from(s, n), S("(s)")) ? n + 3 : n;
}

/* The number that a word is: 7 counts, 0.35 and 12% measure, 1.2.3 and 3rd are words. */
static token_is number_is(daruma_str s, bool share, int64_t *count)
{
    size_t points = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (!ch_digit(s.p[i]) && s.p[i] != '.')
            return WORD;
        points += s.p[i] == '.';
    }
    str_scan_int(s, count);
    return points > 1 ? WORD : points || share ? MEASURE : COUNT_OF;
}

static token token_at(daruma_str rest)
{
    token t = {.s = str_sub(rest, 0, name_bytes(rest)), .is = WORD};
    if (str_istarts(rest, S("not ok")) && t.s.n == 3)
        return (token){.s = str_sub(rest, 0, 6), .is = FAILURE};
    if (!t.s.n)
        return (token){.s = str_sub(rest, 0, 1), .is = SIGN};
    if (ch_digit(t.s.p[0])) {
        bool share = t.s.n < rest.n && rest.p[t.s.n] == '%';
        t.is = number_is(t.s, share, &t.count);
        t.s.n += share;
        return t;
    }
    for (size_t i = 0; i < COUNT(known) && t.is == WORD; i++)
        if (str_ieq(t.s, known[i].word))
            t.is = known[i].is;
    return t;
}

static red_line tokens_of(daruma_str line)
{
    red_line l = {.n = 3};
    while (line.n && l.n < TOKENS_MAX + 3) {
        if (!ch_space(line.p[0]))
            l.at[l.n++] = token_at(line);
        line = str_from(line, ch_space(line.p[0]) ? 1 : l.at[l.n - 1].s.n);
    }
    return l;
}

static bool is_sign(const token *t, const char *signs)
{
    return t->is == SIGN && t->s.p[0] && strchr(signs, t->s.p[0]);
}

static bool in_capitals(const token *t)
{
    for (size_t i = 0; i < t->s.n; i++)
        if (ch_lower(t->s.p[i]) == t->s.p[i] && t->s.p[i] != ' ')
            return false;
    return t->s.n > 1;
}

/* True if nothing but signs and numbers stands between these two places. */
static bool is_bare(const token *from, const token *to)
{
    for (; from < to; from++)
        if (from->is >= WORD && !ch_digit(from->s.p[0]))
            return false;
    return true;
}

/* "2 errors were ignored", "Found 3 errors (3 fixed)", "1 known failure". */
static bool is_excused(const token *t)
{
    const token *next = t + 1;
    if (is_sign(next, "("))
        return next[1].is == COUNT_OF && next[1].count == t[-1].count && next[2].is == EXCUSE;
    return t[-1].is == EXCUSE || (t[-2].is == EXCUSE && t[-1].is == COUNT_OF) || next->is == EXCUSE ||
           (next->is == WORD && next[1].is == EXCUSE);
}

/* "FAIL 0 ERROR 2": in this row of words and numbers each number stands behind its word, not before it. */
static bool counts_behind(const token *t)
{
    while (t[1].is == COUNT_OF && (t[2].is == WORD || t[2].is >= FAILURE))
        t += 2;
    return t[1].is == COUNT_OF;
}

/* 1: it counts failures, 0: there are none, -1: no number is said of it. "500 error" counts none. */
static int counts(const red_line *l, const token *t)
{
    const token *value = t + 1, *before = t[-1].is == WORD ? t - 2 : t - 1;
    while (is_sign(value, "\":="))
        value++;
    bool named = value > t + 1, ends = is_bare(value + 1, l->at + l->n);
    bool none = value->is == NOTHING ||
                (is_sign(value, "[{") ? is_sign(value + 1, "]}")
                                      : ends && (value->is == MEASURE || str_starts(value->s, S("0/")) ||
                                                 (is_sign(value, "-") && value + 1 == l->at + l->n) ||
                                                 str_ieq(value->s, S("undefined"))));
    char end = ch_lower(t->s.p[t->s.n - 1]);
    if (value->is == COUNT_OF && (named || (before->is != COUNT_OF && before->is != NOTHING) || counts_behind(t)))
        return value->count != 0;
    if ((named && none) || before->is == NOTHING)
        return 0;
    if (before->is == COUNT_OF && (before->count <= 1 || (end != 'r' && end != 'e')))
        return before->count != 0;
    return -1;
}

/* True if it is the head of the line, by capitals or by the signs around it. */
static bool is_headed(const red_line *l, const token *t)
{
    const token *first = l->at + 3, *end = l->at + l->n, *next = t + 1, *zero = t + 1;
    bool leads = is_bare(first, t), code = next->is == WORD && ch_digit(next->s.p[next->s.n - 1]);
    if (in_capitals(t) && (leads || is_bare(next, end) || (t[-1].is == WORD && in_capitals(t - 1)))) {
        while (zero < end && (zero->is == SIGN || (zero->is == WORD && in_capitals(zero))))
            zero++;
        const token *named = next; /* "ERRORS found: 0" */
        while (named < end && named->is == WORD)
            named++;
        if (is_sign(named, ":=") && named + 2 == end)
            zero = named + 1;
        if (zero + 1 == end && zero->is == NOTHING)
            return false;
        return zero >= end || zero->is != COUNT_OF || zero->count != 0;
    }
    if (t == first + 1 && str_eq(first->s, S("npm")))
        return true;
    bool lasted = str_ieq(next->s, S("in")) && next[1].s.n && ch_digit(next[1].s.p[0]); /* "Test failed in 3s" */
    bool exited = str_ieq(next->s, S("with")) && str_ieq(next[1].s, S("exit"));
    if (str_ieq(t->s, S("failed")) && t > first && t - first <= 3 &&
        (next >= end || is_sign(next, ".") || lasted || exited))
        return true;
    if (leads && str_ieq(t->s, S("error")) && is_sign(end - 1, ":")) /* "error during build:" */
        return true;
    return (leads || is_sign(t - 1, ":")) && is_sign(next + code, code ? ":" : ":[(");
}

/* Tells of what passed, whatever stands in it: tests by name, and what need not pass. */
static bool is_passed(daruma_str line)
{
    static const daruma_str begins[] = {LIT("ok "), LIT("OK"), LIT("PASS")},
                            ends[] = {LIT(" ok"), LIT(" PASSED"), LIT(" passed"), LIT(": pass")},
                            holds[] = {LIT("] PASSED"),     LIT(") PASSED"),     LIT(" PASSED ["),
                                       LIT("# TODO"),       LIT("# SKIP"),       LIT(" \xe2\x80\xba "),
                                       LIT("\xe2\x9c\x93"), LIT("\xe2\x9c\x94"), LIT("\xe2\x88\x9a")};
    size_t letter = 0;
    while (letter < line.n && (!ch_word(line.p[letter]) || ch_digit(line.p[letter])))
        letter++;
    for (size_t i = 0; i < COUNT(ends); i++)
        if (str_ends(line, ends[i]) && line.n > ends[i].n && !ch_digit(line.p[line.n - ends[i].n - 1]))
            return true;
    return STR_ANY(str_starts, str_from(line, letter), begins) || STR_ANY(str_has, line, holds);
}

/* True if a line tells of a failure. A word alone may stand in the name of a file or of a test. */
static bool tells_of_failure(daruma_str line)
{
    if (str_ifind(line, S("fail")) == STR_NONE && str_ifind(line, S("error")) == STR_NONE &&
        str_ifind(line, S("not ok")) == STR_NONE)
        return false;
    if (is_passed(line))
        return false;
    red_line l = tokens_of(line);
    for (size_t i = 3; i < l.n; i++) {
        const token *t = &l.at[i];
        int n = t->is == FAILURE ? counts(&l, t) : 0;
        if (t->is == FAILURE && !is_excused(t) && (n > 0 || (n < 0 && is_headed(&l, t))))
            return true;
    }
    return str_find(line, S("AssertionError")) != STR_NONE || str_starts(line, S("npm ERR!"));
}

uint32_t facts_red(daruma_str text)
{
    enum { LINES = 6, BYTES = 600 };
    uint32_t all = 1, red = 0; /* of the lines so far; of those from the first that tells of a failure on */
    text = str_trim(text);
    daruma_str tail = text.n > BYTES ? str_from(text, text.n - BYTES) : text;
    for (int i = 0; i < LINES && tail.n; i++) {
        daruma_str line = facts_last_line(tail);
        if (!line.n)
            break;
        all = all * 31 + line_hash(line);
        all += all == 0; /* 0 says that no run failed */
        red = tells_of_failure(line) ? all : red;
        tail = str_trim(str_sub(tail, 0, (size_t)(line.p - tail.p)));
    }
    return red;
}
