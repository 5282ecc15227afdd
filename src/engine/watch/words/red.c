/* red.c - whether the end of a text is the report of a run that failed: of tests, of a build, of a linter. One table
 * says how their last lines read. */
#include "engine/watch/facts.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum verdict {
    PASSES, /* the whole line tells of what passed, whatever stands in it */
    NONE,   /* these words tell of no failure */
    RED,
} verdict;

#define SIGNS " _1=0!~%?&@;"

/* How a line reads. Small letters stand for both cases, capitals for themselves, a blank for some. The rest are signs:
 *
 *     ^ at first: no letter stands before it      + at first: one to three words do
 *     $ at last: no letter stands behind it       | at last: nothing does
 *     * whatever comes before the rest of the form, at the end of the line
 *     1 a number other than 0      0 it, or a word for none      = the same number as the one before
 *     ! a word of failure          ~ one in capitals             % a word that excuses one
 *     ? a word                     & one that ends in a digit    @ one in capitals      _ what stands before a value
 *     ; a number with a point, or a share
 *
 * No word stands beside one that a form begins or ends with. At one place the first form counts, and the line is read
 * on behind it. */
static const struct form {
    const char *reads;
    verdict verdict;
} forms[] = {
    {"^ok ", PASSES},  /* TAP: "ok 3 - three failures" */
    {"^OK", PASSES},   /* unittest, PHPUnit */
    {"^PASS", PASSES}, /* jest */
    {"^PASSED", PASSES},
    {"^\xe2\x9c\x93", PASSES}, /* mocha, vitest */
    {"^\xe2\x9c\x94", PASSES}, /* node */
    {"^\xe2\x88\x9a", PASSES}, /* mocha on Windows */
    {" ... ok", PASSES},       /* cargo, unittest -v */
    {"# TODO", PASSES},        /* TAP: need not pass */
    {"# SKIP", PASSES},
    {" \xe2\x80\xba ", PASSES}, /* playwright: the name of a test */
    {" ok|", PASSES},
    {": pass$", PASSES},
    {"? PASSED", PASSES}, /* pytest -v, gradle */
    {"] PASSED", PASSES},
    {") PASSED", PASSES},
    {"? passed$", PASSES},
    {"^% 1 !", NONE},   /* "Fixed 3 errors" */
    {"1 % !", NONE},    /* "1 known failure" */
    {"1 ! %", NONE},    /* "2 errors ignored" */
    {"1 ! ? %", NONE},  /* "2 errors were ignored" */
    {"1 ! (= %", NONE}, /* "1 error (1 fixed, 0 remaining)" */
    {"% !", NONE},      /* "expected failures=1" */
    {"0 !_1", RED},     /* "WARN=0 ERROR=1" */
    {"1 !_0", NONE},    /* "Tests: 3 Failures: 0" */
    {"0 !", NONE},      /* "0 failed", "no errors" */
    {"0 ? !", NONE},    /* "0 tests failed" */
    {": !_0", NONE},
    {"!_0", NONE},     /* "Failures: 0", {"error":null} */
    {"!_;$", NONE},    /* "error: 0.35" measures */
    {"~ 0 ~ 1", RED},  /* "FAIL 0 ERROR 2" */
    {"~ 0|", NONE},    /* "PASSED 12 FAILED 0" */
    {"~ 0,", NONE},    /* "FAIL 0, PASS 12" */
    {"~ 0 @", NONE},   /* "FAIL 0 PASS 12" */
    {"!_-|", NONE},    /* "FAIL: -" */
    {"~] 0", NONE},    /* "[ERROR] 0" */
    {"~ ?: 0", NONE},  /* valgrind: "ERROR SUMMARY: 0 errors" */
    {"1 !", RED},      /* "1 failed, 2 passed", "2 errors generated.", "3 Error(s)" */
    {"1 ? !", RED},    /* "2 tests failed" */
    {"! 1", RED},      /* "# fail 1", "make: *** [all] Error 1" */
    {"!_1", RED},      /* "Failures: 1", "errors=1" */
    {"^~", RED},       /* "FAIL pkg", "FAILED (errors=1)", "[ERROR] ..." */
    {"~$", RED},       /* "a.py::test_a FAILED [ 50%]" */
    {"@ ~", RED},      /* "BUILD FAILED in 3s" */
    {"+failed|", RED}, /* "Test failed" */
    {"+failed.", RED}, /* "npm ERR! Test failed.  See above for more details." */
    {"+failed in 1", RED},
    {"+failed with exit code ", RED},
    {"^error *:", RED}, /* vite: "error during build:" */
    {"^!:", RED},       /* "error: ..." */
    {"^![", RED},       /* rustc: "error[E0308]: ..." */
    {"^!(", RED},
    {"^! &:", RED}, /* "error TS2304: ..." */
    {": !:", RED},  /* "a.c:3:5: error: ..." */
    {": ![", RED},
    {": !(", RED},
    {": ! &:", RED}, /* "x.ts(3,1): error TS2304: ..." */
    {"^npm ERR!", RED},
    {"^npm error ", RED},
    {"AssertionError", RED},
};

// clang-format off
static const daruma_str failures[] = {
    LIT("failed"), LIT("failures"), LIT("failure"), LIT("failing"), LIT("errors"), LIT("error"), LIT("fail"), LIT("not ok"),
}, excuses[] = {
    LIT("expected"), LIT("known"), LIT("fixed"), LIT("ignored"), LIT("suppressed"), LIT("skipped"), LIT("flaky"), LIT("recovered"),
}, nothing[] = {
    LIT("no"), LIT("none"), LIT("null"), LIT("false"), LIT("without"), LIT("never"), LIT("nil"), LIT("undefined"), LIT("n/a"), LIT("[]"), LIT("{}"),
};
// clang-format on

/* A form that is held against a line. */
typedef struct reading {
    daruma_str line;
    size_t at;     /* so far it fits */
    int64_t count; /* the number before */
} reading;

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

/* No letter stands in it: signs, a number, a time. */
static bool is_bare(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (ch_word(s.p[i]) && !ch_digit(s.p[i]))
            return false;
    return true;
}

/* True if from..to is no part of a name: "errors.c", "a/errors", "error-page". */
static bool is_whole(daruma_str s, size_t from, size_t to)
{
    bool led = from > 0 && (ch_word(s.p[from - 1]) || memchr("/\\-.=", s.p[from - 1], 5));
    bool joined = to + 1 < s.n && memchr("/\\-.", s.p[to], 4) && ch_word(s.p[to + 1]);
    return !led && !joined && (to == s.n || !ch_word(s.p[to]));
}

static size_t word_bytes(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && ch_word(s.p[n]))
        n++;
    return n;
}

static bool in_capitals(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (ch_lower(s.p[i]) == s.p[i] && s.p[i] != ' ')
            return false;
    return s.n > 1;
}

/* Bytes of the word of a list that stands there, whole; 0: none. */
static size_t listed(const reading *r, const daruma_str *words, size_t n)
{
    daruma_str rest = str_from(r->line, r->at);
    for (size_t i = 0; rest.n && i < n; i++)
        if (ch_lower(rest.p[0]) == words[i].p[0] && str_istarts(rest, words[i]) &&
            is_whole(r->line, r->at, r->at + words[i].n))
            return words[i].n;
    return 0;
}

/* A number that counts something: no part of a version, a share or a name. */
static size_t number_bytes(reading *r)
{
    daruma_str rest = str_from(r->line, r->at);
    size_t used = rest.n && ch_digit(rest.p[0]) ? str_scan_int(rest, &r->count) : 0;
    bool led = r->at > 0 && (ch_word(r->line.p[r->at - 1]) || memchr("-.", r->line.p[r->at - 1], 2));
    bool more = used + 1 < rest.n && (rest.p[used] == '%' || rest.p[used] == '.');
    return led || more ? 0 : used;
}

/* A number that measures: "0.35", "12%". */
static size_t measure_bytes(daruma_str rest)
{
    size_t n = 0, points = 0;
    while (n < rest.n && (ch_digit(rest.p[n]) || (n && rest.p[n] == '.' && n + 1 < rest.n && ch_digit(rest.p[n + 1]))))
        points += rest.p[n++] == '.';
    bool share = n < rest.n && rest.p[n] == '%', ends = n == rest.n || !ch_word(rest.p[n]);
    return n && points <= 1 && (share || (points && ends)) ? n : 0;
}

/* "500 error" counts no errors; "1 error" and "3 error(s)" do. */
static bool is_counted(const reading *r, size_t n)
{
    char last = ch_lower(r->line.p[r->at + n - 1]);
    return r->count <= 1 || (last != 'r' && last != 'e') || str_istarts(str_from(r->line, r->at + n), S("(s)"));
}

/* Bytes of what a sign stands for; STR_NONE: it does not fit. */
static size_t sign_bytes(reading *r, char sign)
{
    const daruma_str rest = str_from(r->line, r->at);
    int64_t before = r->count;
    size_t n = 0;
    bool named = false;
    switch (sign) {
    case ' ':
        while (n < rest.n && ch_space(rest.p[n]))
            n++;
        break;
    case '_':
        while (n < rest.n && memchr("\":= ", rest.p[n], 4)) {
            named |= rest.p[n] != ' ';
            n++;
        }
        n = named ? n : 0;
        break;
    case '1':
        n = number_bytes(r);
        n = r->count ? n : 0;
        break;
    case '=':
        n = number_bytes(r);
        n = r->count == before ? n : 0;
        break;
    case '0':
        n = number_bytes(r);
        n = n && r->count == 0 ? n : listed(r, nothing, COUNT(nothing));
        break;
    case '!':
        n = listed(r, failures, COUNT(failures));
        n = n && is_counted(r, n) ? n : 0;
        break;
    case '~':
        n = listed(r, failures, COUNT(failures));
        n = in_capitals(str_sub(rest, 0, n)) ? n : 0;
        break;
    case ';':
        n = measure_bytes(rest);
        break;
    case '%':
        n = listed(r, excuses, COUNT(excuses));
        break;
    default: /* a word */
        n = rest.n && ch_alpha(rest.p[0]) ? word_bytes(rest) : 0;
        if (n && ((sign == '&' && !ch_digit(rest.p[n - 1])) || (sign == '@' && !in_capitals(str_sub(rest, 0, n)))))
            n = 0;
        break;
    }
    return n ? n : STR_NONE;
}

/* One to three words stand before this place. */
static bool is_led(daruma_str line, size_t at)
{
    size_t words = 0;
    for (size_t i = 0; i < at; i++)
        words += ch_word(line.p[i]) && !(i && ch_word(line.p[i - 1]));
    return words >= 1 && words <= 3;
}

/* Bytes of the line from `at` on that read so; 0: none do. `letter` is where its first letter stands. */
static size_t reads_so(daruma_str line, size_t at, size_t letter, const char *f)
{
    reading r = {.line = line, .at = at};
    if ((*f == '^' && at > letter) || (*f == '+' && (ch_lower(line.p[at]) != f[1] || !is_led(line, at))))
        return 0;
    f += *f == '^' || *f == '+';
    for (; *f; f++) {
        if (*f == '$')
            return is_bare(str_from(line, r.at)) ? r.at - at : 0;
        if (*f == '|')
            return r.at == line.n ? r.at - at : 0;
        if (*f == '*') {
            size_t left = strlen(f + 1);
            r.at = line.n > r.at + left ? line.n - left : line.n;
        } else if (strchr(SIGNS, *f)) {
            size_t n = sign_bytes(&r, *f);
            if (n == STR_NONE)
                return 0;
            r.at += n;
        } else if (r.at < line.n && (line.p[r.at] == *f || ch_lower(line.p[r.at]) == *f)) {
            r.at++;
        } else {
            return 0;
        }
    }
    bool ends = !ch_alpha(f[-1]) || r.at == line.n || !ch_word(line.p[r.at]);
    return ends ? r.at - at : 0;
}

/* False if no text that begins with `c` reads so. */
static bool may_begin(const char *f, char c)
{
    f += *f == '^' || *f == '+';
    return *f == '1'            ? ch_digit(c)
           : !strchr(SIGNS, *f) ? *f == c || *f == ch_lower(c)
                                : *f == '0' || ch_alpha(c) || *f == ' ';
}

/* The first form that fits at a place, of those that pass or of the others; NULL: none. `*n` is how far it goes. */
static const struct form *form_at(daruma_str line, size_t at, size_t letter, bool passes, size_t *n)
{
    bool inside = at && ch_word(line.p[at]) && ch_word(line.p[at - 1]); /* of a word: no form begins there */
    for (size_t i = 0; i < COUNT(forms) && !inside; i++)
        if ((forms[i].verdict == PASSES) == passes && may_begin(forms[i].reads, line.p[at]) &&
            (*n = reads_so(line, at, letter, forms[i].reads)) > 0)
            return &forms[i];
    *n = 1;
    return NULL;
}

/* True if a line tells of a failure: it counts some, or is headed so. A word alone may stand in the name of a file or
 * of a test. */
static bool tells_of_failure(daruma_str line)
{
    if (str_ifind(line, S("fail")) == STR_NONE && str_ifind(line, S("error")) == STR_NONE &&
        str_ifind(line, S("not ok")) == STR_NONE)
        return false;
    size_t n, letter = 0;
    while (letter < line.n && (!ch_word(line.p[letter]) || ch_digit(line.p[letter])))
        letter++;
    for (size_t at = 0; at < line.n; at++)
        if (form_at(line, at, letter, true, &n))
            return false;
    for (size_t at = 0; at < line.n; at += n) {
        const struct form *f = form_at(line, at, letter, false, &n);
        if (f && f->verdict == RED)
            return true;
    }
    return false;
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
