/* spans.c - a message without what it quotes: whole sentences, and names that somebody else has chosen. */
#include "engine/judge/spans.h"
#include "engine/read/chars.h"
#include "engine/read/sentence.h"
#include "base/arena.h"
#include "base/str.h"

#define SPAN_SPACES 2 /* words in quotes with more spaces are no name */

static daruma_str word_before(daruma_str s, size_t *at)
{
    while (*at && (s.p[*at - 1] == ' ' || s.p[*at - 1] == ':'))
        --*at;
    size_t end = *at;
    while (*at && char_is(s.p[*at - 1], CHAR_WORD))
        --*at;
    return str_sub(s, *at, end - *at);
}

static bool is_any(daruma_str word, const daruma_str *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(word, words[i]))
            return true;
    return false;
}

/* True if what is quoted from `at` to `end` is the name of a function, a tool or a user, whoever has called it so. */
static bool is_name(daruma_str s, size_t at, size_t end)
{
    static const daruma_str named[] = {LIT("name"), LIT("named"), LIT("called"), LIT("call"), LIT("for")};
    static const daruma_str owners[] = {LIT("function"), LIT("tool"), LIT("user"), LIT("arguments"),
                                        LIT("response_format")};
    daruma_str behind = str_from(s, end + 1);
    if (str_istarts(behind, S(" function")) || str_istarts(behind, S(" tool")))
        return true;
    daruma_str word = word_before(s, &at);
    if (is_any(word, named, COUNT(named)))
        word = word_before(s, &at);
    return is_any(word, owners, COUNT(owners));
}

/* True if the provider's own name for a limit is quoted at `at`: "and limit 'Pro requests per day per user'". */
static bool names_limit(daruma_str s, size_t at)
{
    static const daruma_str limits[] = {LIT("limit"), LIT("metric"), LIT("quota")};
    return is_any(word_before(s, &at), limits, COUNT(limits));
}

/* The end of what is quoted from `from` on, which is the opening quote; 0: none begins there. What stands behind '=',
 * '(' and ',' is what a log or a program writes so, no quote in a sentence. */
static size_t span_end(daruma_str s, size_t from)
{
    char q = s.p[from];
    if (!char_is(q, CHAR_QUOTE))
        return 0;
    size_t before = from;
    while (before && s.p[before - 1] == ' ')
        before--;
    bool told = !before || s.p[before - 1] == ':' ||
                (before < from && (ch_alpha(s.p[before - 1]) || ch_digit(s.p[before - 1])));
    if (!told)
        return 0;
    size_t spaces = 0;
    for (size_t i = from + 1; i < s.n; i++) {
        spaces += s.p[i] == ' ';
        if (s.p[i] == q && (i + 1 == s.n || !(ch_alpha(s.p[i + 1]) || ch_digit(s.p[i + 1]))))
            return (spaces > SPAN_SPACES && !names_limit(s, from)) || (!spaces && is_name(s, from, i)) ? i : 0;
    }
    return 0;
}

daruma_str spans_strip(daruma_str line, daruma_arena *a)
{
    char *out = NULL;
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        size_t end = span_end(line, i);
        if (end && !out) {
            out = arena_take(a, line.n, 1);
            if (!out)
                return line;
            memcpy(out, line.p, i);
            n = i;
        }
        if (out)
            out[n++] = line.p[i];
        if (end) {
            out[n++] = line.p[end];
            i = end;
        }
    }
    return out && sentence_says((daruma_str){out, n}) ? (daruma_str){out, n} : line;
}
