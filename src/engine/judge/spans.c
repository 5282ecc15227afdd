/* spans.c - a message without what it quotes: whole sentences, and names that somebody else has chosen. */
#include "engine/judge/spans.h"
#include "engine/read/chars.h"
#include "engine/read/sentence.h"
#include "base/arena.h"
#include "base/str.h"

#define SPAN_SPACES     2  /* words in quotes with more spaces are no name */
#define SPAN_NAME_BYTES 64 /* a longer one in a list is no name of a schema */

/* Whose words stand behind a word, in quotes or not: "function 'pay_invoice'", "tool named 'x'", "and limit 'Pro
 * requests per day per user'". */
enum { NAMES = 1, CHOSEN = 2, TOOLS = 4, LIMITS = 8 };
static const struct {
    daruma_str word;
    unsigned whose; /* NAMES: the word before it says */
} words[] = {
    // clang-format off
    {LIT("name"), NAMES}, {LIT("named"), NAMES}, {LIT("called"), NAMES}, {LIT("call"), NAMES}, {LIT("for"), NAMES},
    {LIT("function"), CHOSEN | TOOLS}, {LIT("tool"), CHOSEN | TOOLS},
    {LIT("model"), CHOSEN}, {LIT("user"), CHOSEN}, {LIT("arguments"), CHOSEN}, {LIT("response_format"), CHOSEN},
    {LIT("limit"), LIMITS}, {LIT("metric"), LIMITS}, {LIT("quota"), LIMITS}, /* the provider's own name for it */
    // clang-format on
};

/* What the word that ends before `*at` says of what stands there; `*at` moves before it. */
static unsigned whose(daruma_str s, size_t *at)
{
    while (*at && (s.p[*at - 1] == ' ' || s.p[*at - 1] == ':'))
        --*at;
    size_t end = *at;
    while (*at && char_is(s.p[*at - 1], CHAR_WORD))
        --*at;
    for (size_t i = 0; i < COUNT(words); i++)
        if (str_ieq(str_sub(s, *at, end - *at), words[i].word))
            return words[i].whose;
    return 0;
}

/* True if what is quoted from `at` to `end` is the name of a function, a tool or a user, whoever has called it so. */
static bool is_chosen(daruma_str s, size_t at, size_t end)
{
    daruma_str behind = str_from(s, end + 1);
    if (str_istarts(behind, S(" function")) || str_istarts(behind, S(" tool")))
        return true;
    unsigned who = whose(s, &at);
    return (who & NAMES ? whose(s, &at) : who) & CHOSEN;
}

/* The last byte of a tool's name that stands without quotes at `from`: "tool get_call_result_of: ..."; 0: none does. A
 * name of the API has fewer parts, or says itself that it is one. */
static size_t name_end(daruma_str s, size_t from)
{
    size_t at = from, end = from, seams = 0;
    if (!memchr("lLnN: ", s.p[from - 2], 6)) /* as both words end: most do not */
        return 0;
    for (; end < s.n && (char_is(s.p[end], CHAR_WORD) || s.p[end] == '-'); end++)
        seams += s.p[end] == '_' || s.p[end] == '-';
    if (seams < 2 || !(whose(s, &at) & TOOLS))
        return 0;
    daruma_str name = str_sub(s, from, end - from);
    return !str_istarts(name, S("tool_")) && !str_istarts(name, S("function_")) ? end - 1 : 0;
}

/* True if a status ends before `end`, or its name: `400 Bad Request "..."`. What is quoted behind it is the message, as
 * SDKs print a string. */
static bool is_status(daruma_str s, size_t end)
{
    int64_t n;
    for (size_t at = end; at && ch_alpha(s.p[at - 1]);) {
        while (at && ch_alpha(s.p[at - 1]))
            at--;
        if (!at || s.p[at] < 'A' || s.p[at] > 'Z' || s.p[at - 1] != ' ')
            break;
        end = --at;
    }
    bool alone = end == 3 || (end > 3 && !char_is(s.p[end - 4], CHAR_WORD));
    return alone && str_int(str_sub(s, end - 3, 3), &n) && n >= 400 && n <= 599;
}

/* The end of what is quoted from `from` on, which is the opening quote; 0: none begins there. What stands behind '=',
 * '(' and ',' is what a log or a program writes so, no quote in a sentence. */
static size_t span_end(daruma_str s, size_t from)
{
    char q = s.p[from];
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
            return (spaces > SPAN_SPACES && !(whose(s, &before) & LIMITS)) || (!spaces && is_chosen(s, from, i)) ? i
                                                                                                                 : 0;
    }
    return 0;
}

/* The end of a list of names in brackets that begins at `from`, which says where in a schema something stands, or what
 * may stand there: "In context=('properties', 'answer')", "in (Color.RED, Color.BLUE)"; 0: none does. */
static size_t path_end(daruma_str s, size_t from)
{
    size_t names = 0, i = from + 1;
    bool within = str_ends(str_sub(s, 0, from), S(" in "));
    for (size_t n = 0; i < s.n && s.p[i] != ')'; names++) {
        for (n = 0; i + n < s.n && n <= SPAN_NAME_BYTES && !memchr(" ,()", s.p[i + n], 4);)
            n++;
        daruma_str name = str_sub(s, i, n);
        if (!n || n > SPAN_NAME_BYTES || (!char_is(name.p[0], CHAR_QUOTE) && !(within && str_has(name, S(".")))))
            return 0;
        i += n + (str_starts(str_from(s, i + n), S(", ")) ? 2 : 0);
    }
    return names > 1 && i < s.n ? i : 0;
}

/* Words of a guess, wherever they stand, or where they begin a sentence; and what several of them hold, so that a line
 * without it is asked once. */
enum { HOLDS_DUE = 1, HOLDS_POSSIB = 2 };
static const struct {
    daruma_str says;
    bool begins;
    unsigned holds;
} guesses[] = {
    {LIT("might be due to"), false, HOLDS_DUE},
    {LIT("may be due to"), false, HOLDS_DUE},
    {LIT("could be due to"), false, HOLDS_DUE},
    {LIT("likely due to"), false, HOLDS_DUE},
    {LIT("usually indicates"), false, 0},
    {LIT("possible causes"), false, HOLDS_POSSIB},
    {LIT("possible reasons"), false, HOLDS_POSSIB},
    {LIT("possibl"), true, HOLDS_POSSIB},
    {LIT("perhaps "), true, 0},
    {LIT("maybe "), true, 0},
    {LIT("probabl"), true, 0},
    {LIT("likely "), true, 0},
    {LIT("it is possible"), true, HOLDS_POSSIB},
};

/* True if a sentence begins at `at`, behind another one that says what is wrong: "It timed out. Possibly a wrong key or
 * no credit". */
static bool is_second(daruma_str s, size_t at)
{
    return at > 1 && s.p[at - 1] == ' ' && memchr(".!?)]", s.p[at - 2], 5) && sentence_names_cause(str_sub(s, 0, at));
}

/* Where somebody begins to guess: "This might be due to: ..."; STR_NONE: nobody does. */
static size_t guess_at(daruma_str s)
{
    size_t first = STR_NONE;
    unsigned holds = (str_ihas(s, S("due to")) ? HOLDS_DUE : 0) | (str_ihas(s, S("possib")) ? HOLDS_POSSIB : 0);
    for (size_t i = 0; i < COUNT(guesses); i++)
        for (size_t at = guesses[i].holds & ~holds ? s.n : 0, n;
             (n = str_ifind(str_from(s, at), guesses[i].says)) != STR_NONE; at += n + 1)
            if (!guesses[i].begins || is_second(s, at + n)) {
                first = at + n < first ? at + n : first;
                break;
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

/* Is more than one thing named anywhere, or a cause? Mostly not, and then nobody need look for guesses. Without
 * branches, so that many bytes are asked at once. */
static bool may_guess(daruma_str s)
{
    unsigned char any = 0;
    for (size_t i = 2; i < s.n; i++) {
        char a = s.p[i - 2], b = s.p[i - 1], c = s.p[i];
        any |= (unsigned char)(((a == ' ') & (b == 'o') & (c == 'r')) | ((a == 'd') & (b == 'u') & (c == 'e')) |
                               (((b == '*') | (b == '-')) & (c == ' ')));
    }
    return any;
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

/* The end of what begins at `at` and is no evidence; 0: nothing does. */
static size_t end_at(daruma_str line, size_t at)
{
    if (char_is(line.p[at], CHAR_QUOTE))
        return span_end(line, at);
    if (line.p[at] == '(')
        return path_end(line, at);
    return at > 1 && line.p[at - 1] == ' ' ? name_end(line, at) : 0;
}

daruma_str spans_strip(daruma_str line, daruma_arena *a)
{
    line = without_guesses(line, a); /* one that has nothing else says nothing beside other lines */
    char *out = NULL;
    size_t n = 0, from = 0; /* what is not in `out` yet */
    if (!chars_has(line, "\"'`") && !(chars_has(line, "(") && str_find(line, S(" in (")) != STR_NONE) &&
        !(chars_has(line, "_-") && (str_ihas(line, S("tool")) || str_ihas(line, S("function")))))
        return line;
    for (size_t i = 0; i < line.n; i++) {
        size_t end = end_at(line, i);
        if (!end)
            continue;
        if (!out && !(out = arena_take(a, line.n, 1)))
            return line;
        memcpy(out + n, line.p + from, i + 1 - from); /* what opens it and what closes it stay */
        n += i + 1 - from;
        i = from = end;
    }
    if (!out)
        return line;
    memcpy(out + n, line.p + from, line.n - from);
    daruma_str left = {out, n + line.n - from};
    return sentence_says(left) ? left : line;
}
