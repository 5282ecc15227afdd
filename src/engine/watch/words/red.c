/* red.c - whether the end of a text is the report of a run that failed: of tests, of a build, of a linter. Only what
 * counts its failures is read, as most do: "1 failed, 2 passed", "Failures: 1".
 */
#include "engine/watch/facts.h"
#include "base/limits.h"
#include "base/str.h"

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

/* The next word, number or name of a file; `*rest` begins behind it. */
static daruma_str red_word(daruma_str *rest)
{
    size_t from = 0, n;
    while (from < rest->n && !ch_word(rest->p[from]))
        from++;
    for (n = from; n < rest->n; n++)
        if (!ch_word(rest->p[n]) && !(n + 1 < rest->n && memchr("/\\-.", rest->p[n], 4) && ch_word(rest->p[n + 1])))
            break;
    daruma_str word = str_sub(*rest, from, n - from);
    *rest = str_from(*rest, n);
    return word;
}

/* The number of things that a word counts; 0 also for a word that says that there are none, -1: it is no number. */
static int64_t counted(daruma_str word)
{
    static const daruma_str none[] = {LIT("no"), LIT("none"), LIT("null"), LIT("false"), LIT("without")};
    int64_t n = 0;
    if (STR_ANY(str_ieq, word, none))
        return 0;
    return word.n && str_scan_int(word, &n) == word.n ? n : -1;
}

/* "OK (expected failures=1)", "2 errors were ignored", "3 errors (3 fixed, 0 remaining)": such failures are none. */
static bool is_excused(daruma_str line, int64_t n)
{
    static const daruma_str excuses[] = {LIT("ignored"), LIT("skipped"), LIT("expected"), LIT("known"),
                                         LIT("fixed"),   LIT("PASSED"),  LIT("TODO"),     LIT("OK")};
    daruma_str before = {0}, word;
    if (str_has(line, S("\xe2\x9c\x93"))) /* a test that passed has any name */
        return true;
    for (; (word = red_word(&line)).n; before = word)
        if (STR_ANY(str_eq, word, excuses) && (counted(before) < 0 || counted(before) == n))
            return true;
    return false;
}

/* True if a line counts failures, and they are not none. "500 error" is the name of one. */
static bool tells_of_failure(daruma_str line)
{
    static const daruma_str words[] = {LIT("failed"), LIT("failures"), LIT("failure"), LIT("failing"),
                                       LIT("fail"),   LIT("errors"),   LIT("error")};
    daruma_str before = {0}, word, rest = line;
    for (; (word = red_word(&rest)).n; before = word) {
        daruma_str behind = rest, next = red_word(&behind);
        bool sign = rest.n && memchr(":=\"", rest.p[0], 3), share = behind.n && behind.p[0] == '%';
        bool beside = !sign && before.n && word.p == before.p + before.n + 1;
        int64_t n = beside ? counted(before) : -1;
        if (n > 1 && ch_lower(word.p[word.n - 1]) == 'r')
            n = -1;
        n = n < 0 && !share ? counted(next) : n;
        if (n > 0 && STR_ANY(str_ieq, word, words) && !is_excused(line, n))
            return true;
    }
    return false;
}

uint32_t facts_red(daruma_str text)
{
    enum { LINES = 6, BYTES = 600 };
    uint32_t all = 1;
    bool red = false;
    text = str_trim(text);
    daruma_str tail = text.n > BYTES ? str_from(text, text.n - BYTES) : text;
    for (int i = 0; i < LINES && tail.n; i++) {
        daruma_str line = facts_last_line(tail);
        if (!line.n)
            break;
        all = all * 31 + line_hash(line);
        red |= tells_of_failure(line);
        tail = str_trim(str_sub(tail, 0, (size_t)(line.p - tail.p)));
    }
    return red ? all | 1 : 0;
}
