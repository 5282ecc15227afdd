/* quote.c - takes out of an error what it quotes from the request.
 *
 *     request   {"role": "You exceeded your current quota", ...}
 *     error     {"error": {"message": "Invalid value: 'You exceeded your current quota'. Use 'user'.", "param": ...}}
 *     judged    {"error": {"message": "Invalid value: '    '. Use 'user'.", "param": ...}}
 *
 * Both are read as words: letters and digits, whatever stands between them and however often it was escaped. The words
 * of the error wait in a table; the request goes by once, and each of its words lengthens the runs that end at the same
 * word of the error. */
#include "engine/judge/quote.h"
#include "engine/judge/quote_words.h"
#include "engine/judge/reader.h"
#include "engine/judge/strings.h"
#include "base/arena.h"
#include "base/base64.h"
#include "base/limits.h"
#include "base/str.h"

#define QUOTE_RUN_WORDS   6    /* a shorter run may be chance in a long conversation, unless it is all of a string */
#define QUOTE_ALL_WORDS   3    /* ... or all that one string of the error says */
#define QUOTE_NAME_BYTES  8    /* a shorter name says nothing */
#define QUOTE_ONE_BYTES   12   /* ... and one without seams: "assistant" and "function" are the wire's own words */
#define QUOTE_KEY_WORDS   4    /* a member's name of more is none of an API's: disable_parallel_tool_use has four */
#define QUOTE_WORDS_MAX   2048 /* of an error; what is behind them says nothing */
#define QUOTE_RESTS_MAX   64   /* strings of an error in which such words are left out */
#define QUOTE_CHAINS      1024 /* a power of two */
#define QUOTE_STRING_COST 16   /* bytes that could be read in the time that a string takes, beside its own */
#define QUOTE_LOOK_COST                                                                                                \
    2 /* the same of a look at a word of the error: QUOTE_LOOKS_MAX of them are as much as the bytes */
#define QUOTE_PARTS       8    /* texts one after the other that a quote may begin in */
#define QUOTE_PARTS_WORDS 4    /* so many words of several texts are a quote also without marks */
#define BASE64_ROOM_BYTES 3072 /* decoded at a time */

typedef struct quote {
    daruma_str body;
    quote_word *words;
    uint32_t n, chains[QUOTE_CHAINS];
    uint32_t at;         /* number of the newest word of the request */
    uint32_t said, wire; /* the same of what is said, whose texts go on in one another, and of names, which do not */
    uint32_t starts[QUOTE_PARTS], nstarts; /* numbers of the first words of the newest texts */
    quote_word tail;  /* the word that the newest text ended with, with nothing behind it; `to` is 0: there is none */
    size_t looks;     /* at words of the error, for those of the request */
    size_t looks_max; /* so far: what the bytes that went by have left of them */
    bool any, any_name;
} quote;

/* ---- the words of the error ------------------------------------------------------ */

static void add_words(quote *q, daruma_str body, size_t from, size_t n)
{
    size_t i = 0;
    quote_word w;
    while (q->n < QUOTE_WORDS_MAX && quote_next_word(str_sub(body, from, n), &i, &w)) {
        uint32_t *chain = &q->chains[w.hash >> 40 & (QUOTE_CHAINS - 1)];
        w.from += (uint32_t)from;
        w.to += (uint32_t)from;
        w.next = *chain;
        q->words[q->n++] = w;
        *chain = q->n;
    }
    if (i < n && q->n >= QUOTE_WORDS_MAX && q->n < QUOTE_WORDS_MAX + QUOTE_RESTS_MAX) {
        q->words[q->n++] = (quote_word){.from = (uint32_t)(from + i), .to = (uint32_t)(from + n), .quoted = true};
        q->any = true; /* what is not looked for in the request says nothing */
    }
    if (q->n < QUOTE_WORDS_MAX) /* no run goes on from one string to the next */
        q->words[q->n++] = (quote_word){0};
}

/* ---- runs ----------------------------------------------------------------------- */

static void mark(quote *q, uint32_t last, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        q->words[last - i].quoted = true;
    q->any = true;
}

/* True if these words of the error are all of one string of it. */
static bool fills_string(const quote *q, uint32_t last, uint32_t n)
{
    return (last + 1 == n || !q->words[last - n].to) && (last + 1 == q->n || !q->words[last + 1].to);
}

/* A word of the request with number `at`, which follows number `before`: of the error's words those that are the same,
 * the later ones first. */
static void meet_as(quote *q, uint64_t hash, uint32_t at, uint32_t before)
{
    for (uint32_t i = q->chains[hash >> 40 & (QUOTE_CHAINS - 1)]; i; i = q->words[i - 1].next) {
        quote_word *w = &q->words[i - 1];
        if (++q->looks > q->looks_max)
            return;
        if (w->hash != hash)
            continue;
        bool goes_on = i > 1 && w[-1].run && w[-1].at == before;
        w->run = goes_on ? w[-1].run + 1 : 1;
        w->at = at;
        if (w->run >= QUOTE_RUN_WORDS)
            mark(q, i - 1, w->run == QUOTE_RUN_WORDS ? w->run : 1);
        else if (w->run >= QUOTE_ALL_WORDS && fills_string(q, i - 1, w->run))
            mark(q, i - 1, w->run);
    }
}

static bool is_mark(char c)
{
    return c == '\'' || c == '"' || c == '`' || c == '\\';
}

static void meet(quote *q, uint64_t hash)
{
    q->at++;
    meet_as(q, hash, q->at, q->at - 1);
}

/* Do quotation marks stand around these words of the error? `path`: perhaps around more of a path, "metadata.user". */
static bool in_marks(quote *q, uint32_t last, uint32_t n, bool path)
{
    daruma_str b = q->body;
    size_t begin = q->words[last + 1 - n].from, from = begin, end = q->words[last].to, to = end;
    while (from && begin - from < QUOTE_MARKS_BYTES && (path || !quote_is_alnum(b.p[from - 1])) &&
           !is_mark(b.p[from - 1]) && b.p[from - 1] != ' ')
        from--;
    while (to < b.n && to - end < QUOTE_MARKS_BYTES && (path || !quote_is_alnum(b.p[to])) && !is_mark(b.p[to]) &&
           b.p[to] != ' ')
        to++;
    q->looks += (begin - from + to - end) / 4;
    return from && to < q->body.n && is_mark(q->body.p[from - 1]) && is_mark(q->body.p[to]);
}

/* All of a string was met, of `n` words the last with this hash: whoever has all of it quotes it. `sure`: also without
 * marks. */
static void meet_whole(quote *q, uint64_t hash, uint32_t n, bool sure)
{
    for (uint32_t i = q->chains[hash >> 40 & (QUOTE_CHAINS - 1)]; i; i = q->words[i - 1].next) {
        const quote_word *w = &q->words[i - 1];
        q->looks++;
        if (w->hash == hash && w->at == q->at && w->run >= n && (sure || in_marks(q, i - 1, n, false)))
            mark(q, i - 1, n);
    }
}

/* True if only this string is said: `n` words that end with number `last`, perhaps behind "Error:". */
static bool is_alone(const quote *q, uint32_t last, uint32_t n)
{
    static const daruma_str error = LIT("error");
    uint32_t first = last + 1 - n;
    if (first && q->words[first - 1].to - q->words[first - 1].from == error.n &&
        str_istarts(str_from(q->body, q->words[first - 1].from), error))
        first--;
    return (!first || !q->words[first - 1].to) && (last + 1 == q->n || !q->words[last + 1].to);
}

/* True if these words of the error have seams, and no space between them: they are one name. */
static bool is_joined(const quote *q, uint32_t last, uint32_t n)
{
    size_t from = q->words[last + 1 - n].from;
    return n > 1 && !memchr(q->body.p + from, ' ', q->words[last].to - from);
}

/* True if these words begin a text in front of a colon, or end it behind one: "user: Extra inputs are not permitted".
 */
static bool is_at_colon(const quote *q, uint32_t last, uint32_t n)
{
    size_t from = q->words[last + 1 - n].from, to = q->words[last].to;
    bool begins = last + 1 == n || !q->words[last - n].to, ends = last + 1 == q->n || !q->words[last + 1].to;
    while (from && q->body.p[from - 1] == ' ')
        from--;
    return (begins && to < q->body.n && q->body.p[to] == ':') || (ends && from && q->body.p[from - 1] == ':');
}

/* All of a string was met that others may say as well: it is quoted where an error says nothing else, and a name where
 * it looks like one. */
static void meet_name(quote *q, uint64_t hash, uint32_t n)
{
    for (uint32_t i = q->chains[hash >> 40 & (QUOTE_CHAINS - 1)]; i; i = q->words[i - 1].next) {
        const quote_word *w = &q->words[i - 1];
        q->looks++;
        if (w->hash != hash || w->at != q->at || w->run < n)
            continue;
        if (is_alone(q, i - 1, n))
            mark(q, i - 1, n);
        else if (is_joined(q, i - 1, n) || is_at_colon(q, i - 1, n) || in_marks(q, i - 1, n, true))
            for (uint32_t k = 0; k < n; k++)
                q->any_name |= q->words[i - 1 - k].name = true;
    }
}

/* Names of the wire itself, which every request holds. */
static bool is_role(daruma_str text)
{
    static const daruma_str roles[] = {LIT("user"),      LIT("assistant"), LIT("system"), LIT("tool"),
                                       LIT("developer"), LIT("function"),  LIT("model")};
    return STR_ANY(str_eq, text, roles);
}

/* True if a string may be a name that an API has. One that is escaped is none. */
static bool is_api_name(daruma_str text, uint32_t words, daruma_str key, bool is_key)
{
    bool name = !memchr(text.p, ' ', text.n) && !memchr(text.p, '\\', text.n);
    return name && (is_role(text) || (is_key && words <= QUOTE_KEY_WORDS) || str_eq(key, S("type")));
}

/* Is a string so much that nobody else would say it by chance? */
static bool is_long(daruma_str text, uint32_t n)
{
    return n > 1 ? memchr(text.p, ' ', text.n) || text.n >= QUOTE_NAME_BYTES : text.n >= QUOTE_ONE_BYTES;
}

/* All of `text` was met, whose last word is `last`. */
static void meet_end(quote *q, daruma_str text, uint64_t last, uint32_t n, daruma_str key, bool is_key)
{
    if (n && !is_api_name(text, n, key, is_key))
        meet_whole(q, last, n, is_long(text, n));
    if (n && !is_role(text))
        meet_name(q, last, n);
}

/* A word may be cut by the end of a text: its other half begins the next one. */
static void meet_halves(quote *q, daruma_str text, const quote_word *first)
{
    uint64_t h = q->tail.hash;
    size_t i = 0;
    if (!q->tail.to || first->from)
        return;
    while (i < first->to)
        h = (h ^ quote_take_char(text, &i)) * 1099511628211u;
    meet_as(q, h, q->at + 1, q->at - 1);
}

/* Words of the error that are the ends of several texts of the request, one after the other, the first of them whole.
 */
static void meet_parts(quote *q, uint64_t last)
{
    for (uint32_t i = q->chains[last >> 40 & (QUOTE_CHAINS - 1)]; i; i = q->words[i - 1].next) {
        const quote_word *w = &q->words[i - 1];
        q->looks++;
        if (w->hash != last || w->at != q->at)
            continue;
        for (uint32_t k = 0; k < QUOTE_PARTS && k < q->nstarts; k++) {
            uint32_t n = q->at + 1 - q->starts[k];
            if (n > 1 && n <= w->run && (n >= QUOTE_PARTS_WORDS || in_marks(q, i - 1, n, false)))
                mark(q, i - 1, n);
        }
    }
}

/* Roles and types stand between the texts that people and models say. */
static bool is_said(daruma_str key, bool is_key)
{
    return !is_key && !str_eq(key, S("type")) && !str_eq(key, S("role"));
}

/* Numbers the words of a string from here on. */
static void begin_string(quote *q, bool spoken)
{
    q->at = spoken ? q->said : ++q->wire;
    if (spoken)
        q->starts[q->nstarts++ % QUOTE_PARTS] = q->at + 1;
}

static void end_string(quote *q, daruma_str text, const quote_word *last, bool spoken)
{
    *(spoken ? &q->said : &q->wire) = q->at;
    if (!spoken || !text.n)
        return;
    q->tail = last->to == text.n ? *last : (quote_word){0};
    if (last->to)
        meet_parts(q, last->hash);
}

/* Where an inner string begins or ends between two words: behind its quotation mark, which may be escaped. STR_NONE: it
 * does not. */
static size_t inner_end(daruma_str gap)
{
    size_t plain = str_findch(gap, '"'), escaped = str_find(gap, S("u0022"));
    return plain != STR_NONE ? plain + 1 : escaped != STR_NONE ? escaped + 5 : STR_NONE;
}

/* A string of the request, and each string in it: arguments of tools are JSON in JSON. */
static void meet_string(quote *q, daruma_str text, daruma_str key, bool is_key)
{
    size_t i = 0, from = 0; /* where the inner string begins */
    uint32_t n = 0, inner = 0;
    quote_word w = {0}, last = {0};
    bool spoken = is_said(key, is_key);
    begin_string(q, spoken);
    while (q->looks <= q->looks_max && quote_next_word(text, &i, &w)) {
        if (spoken && !n)
            meet_halves(q, text, &w);
        daruma_str gap = str_sub(text, last.to, w.from - last.to);
        size_t end = inner_end(gap);
        if (n && end != STR_NONE) {
            bool named = end < gap.n && gap.p[end] == ':';
            meet_end(q, str_sub(text, from, last.to - from), last.hash, inner, (daruma_str){0}, named);
        }
        if (end != STR_NONE) {
            from = w.from;
            inner = 0;
        }
        meet(q, w.hash);
        last = w;
        inner++;
        n++;
    }
    if (inner < n)
        meet_end(q, str_sub(text, from, last.to - from), last.hash, inner, (daruma_str){0}, false);
    meet_end(q, text, last.hash, n, key, is_key);
    end_string(q, text, &last, spoken);
}

/* A file may be sent as base64 and quoted as what it says. */
static void meet_encoded(quote *q, daruma_str text)
{
    char room[BASE64_ROOM_BYTES];
    size_t i = 0, n = 0;
    for (text = quote_encoded(text); i < text.n && q->looks <= q->looks_max;) {
        n += base64_read(text, &i, room + n, sizeof room - n);
        size_t end = n;
        while (i < text.n && end && !ch_space(room[end - 1])) /* no word is cut where it can be helped */
            end--;
        end = end ? end : n;
        meet_string(q, (daruma_str){room, end}, (daruma_str){0}, false);
        memmove(room, room + end, n - end);
        n -= end;
    }
}

/* ---- taking out ------------------------------------------------------------------ */

/* Words for people, in which a quote may stand. */
static bool is_words(daruma_str text, daruma_str key)
{
    enum role role = reader_role(key);
    bool name = role == IS_CODE || role == IS_TYPE || role == IS_STATUS || role == IS_PARAM;
    return !name || memchr(text.p, ' ', text.n);
}

static void read_body(quote *q, daruma_str body)
{
    judge_text s = {0};
    size_t i = 0;
    daruma_str t = str_trim(body);
    if (!t.n || (t.p[0] != '{' && t.p[0] != '[')) {
        add_words(q, body, 0, body.n);
        return;
    }
    while (judge_string(body, &i, &s))
        if (!s.is_key && is_words(str_sub(body, s.from, s.n), s.key))
            add_words(q, body, s.from, s.n);
}

static bool is_number(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_digit(s.p[i]))
            return false;
    return true;
}

/* The body without the words that are quoted, and, with `names`, without the request's names. */
static daruma_str without(const quote *q, bool names, daruma_arena *a)
{
    char *out = arena_take(a, q->body.n, 1);
    size_t n = 0, from = 0;
    if (!out)
        return q->body;
    for (uint32_t k = 0; k < q->n; k++) {
        const quote_word *w = &q->words[k];
        if (!w->quoted && !(names && w->name))
            continue;
        memcpy(out + n, q->body.p + from, w->from - from);
        n += w->from - from;
        from = w->to;
    }
    memcpy(out + n, q->body.p + from, q->body.n - from);
    return (daruma_str){out, n + q->body.n - from};
}

/* True if no word is left that says something. */
static bool is_all_quoted(const quote *q)
{
    for (uint32_t k = 0; k < q->n; k++) {
        const quote_word *w = &q->words[k];
        if (w->to && !w->quoted && !is_number(str_sub(q->body, w->from, w->to - w->from)))
            return false;
    }
    return true;
}

/* The request goes by. Returns false when not all of it could be looked at. */
static bool meet_request(quote *q, daruma_str request, echo *e)
{
    judge_text s = {0};
    size_t i = 0;
    for (size_t strings = 0; (q->n || e->n) && judge_string(request, &i, &s); strings++) {
        size_t costs = i + strings * QUOTE_STRING_COST;
        q->looks_max = costs < QUOTE_REQUEST_BYTES_MAX ? (QUOTE_REQUEST_BYTES_MAX - costs) / QUOTE_LOOK_COST : 0;
        if (costs > QUOTE_REQUEST_BYTES_MAX || q->looks > q->looks_max)
            return false;
        echo_meet(e, request, &s, i);
        daruma_str text = str_sub(request, s.from, s.n);
        if (q->n)
            meet_string(q, text, s.key, s.is_key);
        if (q->n && !s.is_key)
            meet_encoded(q, text);
    }
    return q->looks <= q->looks_max;
}

static void meet_beside(quote *q, daruma_str lines, echo *e)
{
    while (lines.n && q->looks <= QUOTE_LOOKS_MAX) {
        daruma_str value = str_cut(&lines, '\n'), name = str_cut(&value, ':');
        value = str_trim(value);
        meet_string(q, name, name, true);
        meet_string(q, value, name, false);
        meet_encoded(q, value);
        echo_meet_value(e, name, value);
    }
}

unquoted quote_strip(daruma_str body, const quotable *sent, echo *e, daruma_arena *a)
{
    unquoted r = {.body = body, .nameless = body};
    quote *q = arena_take(a, sizeof *q, _Alignof(quote));
    quote_word *words = arena_take(a, (QUOTE_WORDS_MAX + QUOTE_RESTS_MAX) * sizeof *words, _Alignof(quote_word));
    if (!q || !words)
        return r;
    *q = (quote){.body = body, .words = words, .looks_max = QUOTE_LOOKS_MAX, .said = 1, .wire = UINT32_MAX / 2};
    read_body(q, body);
    bool whole = meet_request(q, sent->request, e);
    q->looks_max = QUOTE_LOOKS_MAX;
    meet_string(q, sent->model, (daruma_str){0}, false);
    meet_beside(q, sent->beside, e);
    /* A request that is too long, or one word again and again, in both: what is quoted nobody can say in time. Then it
     * says nothing. */
    whole &= q->looks <= QUOTE_LOOKS_MAX;
    for (uint32_t k = 0; !whole && k < q->n; k++)
        q->any |= words[k].quoted = words[k].to > 0;
    echo_end(e, whole);
    if (q->any)
        r.body = without(q, false, a);
    r.nameless = q->any_name ? without(q, true, a) : r.body;
    r.all = r.body.p != body.p && is_all_quoted(q);
    return r;
}
