/* spans.c - a message without what it quotes: whole sentences, and names that somebody else has chosen. */
#include "engine/judge/spans.h"
#include "engine/read/chars.h"
#include "engine/read/sentence.h"
#include "base/arena.h"
#include "base/str.h"

#define SPAN_SPACES     2  /* words in quotes with more spaces are no name */
#define SPAN_NAME_BYTES 64 /* a longer one in a list is no name of a schema */

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

/* The last byte of a tool's name that stands without quotes at `from`: "tool get_call_result_of: ..."; 0: none does. A
 * name of the API has fewer parts, or says itself that it is one. */
static size_t name_end(daruma_str s, size_t from)
{
    static const daruma_str tools[] = {LIT("tool"), LIT("function")};
    size_t at = from, end = from, seams = 0;
    if (from < 2 || s.p[from - 1] != ' ' || !memchr("lLnN: ", s.p[from - 2], 6)) /* as both words end: most do not */
        return 0;
    if (!is_any(word_before(s, &at), tools, COUNT(tools)))
        return 0;
    for (; end < s.n && (char_is(s.p[end], CHAR_WORD) || s.p[end] == '-'); end++)
        seams += s.p[end] == '_' || s.p[end] == '-';
    daruma_str name = str_sub(s, from, end - from);
    return seams > 1 && !str_istarts(name, S("tool_")) && !str_istarts(name, S("function_")) ? end - 1 : 0;
}

/* True if the provider's own name for a limit is quoted at `at`: "and limit 'Pro requests per day per user'". */
static bool names_limit(daruma_str s, size_t at)
{
    static const daruma_str limits[] = {LIT("limit"), LIT("metric"), LIT("quota")};
    return is_any(word_before(s, &at), limits, COUNT(limits));
}

/* True if a status ends before `end`: what is quoted behind it is the message, as SDKs print a string. */
static bool is_status(daruma_str s, size_t end)
{
    int64_t n;
    bool alone = end == 3 || (end > 3 && !char_is(s.p[end - 4], CHAR_WORD));
    return alone && str_int(str_sub(s, end - 3, 3), &n) && n >= 400 && n <= 599;
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
    if (!told || is_status(s, before))
        return 0;
    size_t spaces = 0;
    for (size_t i = from + 1; i < s.n; i++) {
        spaces += s.p[i] == ' ';
        if (s.p[i] == q && (i + 1 == s.n || !(ch_alpha(s.p[i + 1]) || ch_digit(s.p[i + 1]))))
            return (spaces > SPAN_SPACES && !names_limit(s, from)) || (!spaces && is_name(s, from, i)) ? i : 0;
    }
    return 0;
}

/* The end of a list of names in brackets that begins at `from`, which says where in a schema something stands: "In
 * context=('properties', 'answer')"; 0: none does. */
static size_t path_end(daruma_str s, size_t from)
{
    size_t names = 0, i = from + 1;
    while (i < s.n && char_is(s.p[i], CHAR_QUOTE)) {
        size_t n = str_findch(str_sub(s, i + 1, SPAN_NAME_BYTES), s.p[i]);
        if (n == STR_NONE || str_findch(str_sub(s, i + 1, n), ' ') != STR_NONE)
            return 0;
        names++;
        i += n + 2;
        i += str_starts(str_from(s, i), S(", ")) ? 2 : 0;
    }
    return names > 1 && i < s.n && s.p[i] == ')' ? i : 0;
}

static bool is_hedge(daruma_str s)
{
    static const daruma_str hedges[] = {LIT("possibl"), LIT("perhaps "), LIT("maybe "),
                                        LIT("probabl"), LIT("likely "),  LIT("it is possible")};
    for (size_t i = 0; i < COUNT(hedges); i++)
        if (str_istarts(s, hedges[i]))
            return true;
    return false;
}

/* Where the first sentence that begins with a word for a guess does so behind another one that says what is wrong: "It
 * timed out. Possibly a wrong key or no credit"; STR_NONE: none does. */
static size_t hedge_at(daruma_str s)
{
    static const char ends[] = {'.', '!', '?', ')', ']'};
    size_t first = STR_NONE;
    for (size_t i = 0; i < COUNT(ends); i++)
        for (size_t at = 0, n; (n = str_findch(str_from(s, at), ends[i])) != STR_NONE;) {
            at += n + 1;
            if (at < s.n && s.p[at] == ' ' && at + 1 < first && is_hedge(str_from(s, at + 1)))
                first = at + 1;
        }
    return first != STR_NONE && sentence_names_cause(str_sub(s, 0, first)) ? first : STR_NONE;
}

/* Where somebody begins to guess: "This might be due to: ..."; STR_NONE: nobody does. */
static size_t guess_at(daruma_str s)
{
    static const daruma_str guesses[] = {LIT("might be due to"), LIT("may be due to"),     LIT("could be due to"),
                                         LIT("likely due to"),   LIT("usually indicates"), LIT("possible causes"),
                                         LIT("possible reasons")};
    size_t first = hedge_at(s);
    for (size_t i = 0; i < COUNT(guesses); i++) {
        size_t at = str_ifind(s, guesses[i]);
        if (at < first)
            first = at;
    }
    return first;
}

/* True if a point of a list stands at `at`. A dash behind a word is one of a sentence. */
static bool is_point(daruma_str s, size_t at)
{
    if (at + 1 >= s.n || s.p[at + 1] != ' ' || s.p[at] != '-')
        return str_starts(str_from(s, at), S("* "));
    while (at && s.p[at - 1] == ' ')
        at--;
    return !at || s.p[at - 1] == ':' || s.p[at - 1] == '.';
}

/* The end of the sentence, or of the list of them, that begins at `at`. `any`: it names more than one thing. */
static size_t guess_end(daruma_str s, size_t at, bool *ret_any)
{
    bool points = false;
    for (; at < s.n; at++) {
        daruma_str rest = str_from(s, at);
        points |= is_point(s, at);
        *ret_any |= points || str_starts(rest, S(" or "));
        if (str_starts(rest, S(". ")) && !str_starts(rest, S(". *")) && !str_starts(rest, S(". -")))
            return at + 2;
    }
    return at;
}

/* Is more than one thing named anywhere, or a cause? Mostly not, and then nobody need look for guesses. */
static bool may_guess(daruma_str s)
{
    return str_find(s, S("due to")) != STR_NONE || str_find(s, S(" or ")) != STR_NONE ||
           str_find(s, S("* ")) != STR_NONE || str_find(s, S("- ")) != STR_NONE;
}

/* `line` without several guesses at what is wrong: of these at most one is true. A single one is the best there is
 * where nothing before it says what is wrong. */
static daruma_str without_guesses(daruma_str line, daruma_arena *a)
{
    size_t at = may_guess(line) ? guess_at(line) : STR_NONE;
    bool several = false;
    size_t end = at == STR_NONE ? at : guess_end(line, at, &several);
    bool cut = several || (at != STR_NONE && sentence_outdoes_guess(str_sub(line, 0, at)));
    char *out = cut ? arena_take(a, line.n, 1) : NULL;
    if (!out)
        return line;
    memcpy(out, line.p, at);
    memcpy(out + at, line.p + end, line.n - end);
    return (daruma_str){out, line.n - (end - at)};
}

daruma_str spans_strip(daruma_str line, daruma_arena *a)
{
    line = without_guesses(line, a); /* one that has nothing else says nothing beside other lines */
    char *out = NULL;
    size_t n = 0;
    for (size_t i = 0; i < line.n; i++) {
        size_t quoted = span_end(line, i), path = line.p[i] == '(' ? path_end(line, i) : 0,
               end = quoted ? quoted
                     : path ? path
                            : name_end(line, i);
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
