/* noise.c - noise by observation: edges that all results have in common, and members of JSON, whose values differ each
 * time. */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/read/chars.h"
#include "engine/watch/same/noise.h"
#include "engine/watch/same/same_hash.h"
#include <xxhash.h>

enum {
    DIGITS = 0x8000, /* bits of a token: there are digits in it */
    MIXED = 0x4000,  /*   and something else */
    HASH = 0x3fff,
    COUNT_DIGITS = 4,    /* a longer number counts no steps: it is known by its hash, as words are */
    TOKEN_BYTES = 256,   /* of a longer one, the rest is the next */
    COUNTED_BYTES = 600, /* a longer text has more tokens than both ends */
    VALUE_BYTES = 64,    /* a longer text is no counter and no id */
    RESULTS_MIN = 3,     /* that an edge is learned from */
    RESULTS_MAX = 8,
    SLOTS_IN_ROW = 2, /* more tokens that differ, one after the other, are no noise */
    JSON_DEPTH = 2,
};

/* ---- tokens ---------------------------------------------------------------------------------------- */

/* Is byte `i` in one token with those at both sides? "4f2a-91c0", "10:02:11", "1.5": a stroke between words, a sign
 * between digits. Seen from either side it is the same. */
static inline bool is_joint(daruma_str s, size_t i)
{
    char c = s.p[i];
    if (c != '-' && c != '.' && c != ':' && c != ',')
        return false;
    char a = i > 0 ? s.p[i - 1] : ' ', b = i + 1 < s.n ? s.p[i + 1] : ' ';
    return c == '-' ? char_is(a, CHAR_WORD) && char_is(b, CHAR_WORD) : ch_digit(a) && ch_digit(b);
}

/* What byte `i` is as a part of a token, as char_kinds says; 0: no part of one. */
static inline int part_kind(daruma_str s, size_t i)
{
    int kind = char_kinds[(unsigned char)s.p[i]];
    return kind & CHAR_WORD ? kind : is_joint(s, i) ? CHAR_WORD : 0;
}

/* The token of a part of the text that has no digits, as most have none. */
static uint16_t word_token(daruma_str s, size_t from, size_t to)
{
    if (to == from + 1 && !char_is(s.p[from], CHAR_WORD))
        return (unsigned char)s.p[from];
    return (uint16_t)(end(word_hash(s.p + from, to - from, 0)) >> 17 & HASH);
}

static uint16_t token_of(daruma_str s, size_t from, size_t to)
{
    unsigned digits = 0, marks = 0, n = 0;
    for (size_t i = from; i < to; i++) {
        unsigned value = (unsigned char)s.p[i] - (unsigned)'0';
        digits += value < 10;
        marks += s.p[i] == '.' || s.p[i] == ',';
        n = n * 10 + (value < 10 ? value : 0);
    }
    if (digits && digits == to - from && digits <= COUNT_DIGITS)
        return (uint16_t)(DIGITS | n);
    unsigned kind = !digits ? 0 : digits + marks < to - from ? DIGITS | MIXED : DIGITS;
    return (uint16_t)(word_token(s, from, to) | kind);
}

/* White space is one token where it breaks the line, else none. */
static size_t gap_after(daruma_str s, size_t i, bool *breaks)
{
    *breaks = false;
    while (i < s.n && ch_space(s.p[i]))
        *breaks |= s.p[i++] == '\n';
    return i;
}

static size_t gap_before(daruma_str s, size_t i, bool *breaks)
{
    *breaks = false;
    while (i > 0 && ch_space(s.p[i - 1]))
        *breaks |= s.p[--i] == '\n';
    return i;
}

#define LINE_BREAK 10 /* the token */

/* Does a part of the token with digits in it stand in the arguments? */
static bool is_echo(daruma_str s, size_t from, size_t to, const same_call *c)
{
    for (size_t i = from; i < to; i++) {
        size_t begin = i;
        bool digits = false;
        for (; i < to && ch_word(s.p[i]); i++)
            digits |= ch_digit(s.p[i]);
        if (!digits)
            continue;
        uint64_t h = word_hash(s.p + begin, i - begin, FOLD_CASE);
        h ^= h >> 32;
        for (uint32_t k = 0; (c->words[(h >> 6) % SAME_BAG] >> (h & 63) & 1) && k < c->necho; k++)
            if (c->echo[k] == (uint32_t)h)
                return true;
    }
    return false;
}

static void look_ahead(daruma_str s, const same_call *c, noise_view *v)
{
    noise_sketch *k = &v->sketch;
    bool breaks;
    for (size_t i = 0; k->n < 2 * NOISE_EDGE; k->n++) {
        if (k->n == NOISE_EDGE && s.n > COUNTED_BYTES) {
            k->n = 2 * NOISE_EDGE;
            return;
        }
        i = gap_after(s, i, &breaks);
        if (i == s.n)
            return;
        size_t from = i;
        if (breaks) {
            if (k->n < NOISE_EDGE) {
                v->head_end[k->n] = (uint32_t)i;
                k->head[k->n] = LINE_BREAK;
            }
            continue;
        }
        int kinds = 0, kind;
        size_t most = s.n - from < TOKEN_BYTES ? s.n : from + TOKEN_BYTES;
        for (; i < most && (kind = part_kind(s, i)); i++)
            kinds |= kind;
        i += i == from;
        k->words = (uint8_t)(k->words + ch_alpha(s.p[from]));
        if (k->n >= NOISE_EDGE)
            continue;
        v->head_end[k->n] = (uint32_t)i;
        bool digits = kinds & CHAR_DIGIT;
        k->head[k->n] = digits ? token_of(s, from, i) : word_token(s, from, i);
        if (digits)
            k->head_echo |= (uint32_t)is_echo(s, from, i, c) << k->n;
    }
}

static void look_back(daruma_str s, const same_call *c, noise_view *v)
{
    noise_sketch *k = &v->sketch;
    bool breaks;
    for (size_t i = s.n, n = 0; n < NOISE_EDGE; n++) {
        size_t gap = gap_before(s, i, &breaks);
        if (gap == 0)
            return;
        if (breaks) {
            v->tail_at[n] = (uint32_t)gap;
            k->tail[n] = LINE_BREAK;
            i = gap;
            continue;
        }
        size_t to = i = gap;
        int kinds = 0, kind;
        size_t least = to < TOKEN_BYTES ? 0 : to - TOKEN_BYTES;
        for (; i > least && (kind = part_kind(s, i - 1)); i--)
            kinds |= kind;
        i -= i == to;
        bool digits = kinds & CHAR_DIGIT;
        v->tail_at[n] = (uint32_t)i;
        k->tail[n] = digits ? token_of(s, i, to) : word_token(s, i, to);
        if (digits)
            k->tail_echo |= (uint32_t)is_echo(s, i, to, c) << n;
    }
}

/* ---- members --------------------------------------------------------------------------------------- */

static uint16_t noise_name(daruma_str name)
{
    return token_of(name, 0, name.n);
}

static uint8_t words_more(unsigned n, daruma_str text)
{
    for (size_t i = 0; i < text.n && n < UINT8_MAX; i++)
        n += ch_alpha(text.p[i]) && (i == 0 || !ch_word(text.p[i - 1]));
    return (uint8_t)n;
}

static void look_inside(daruma_str object, const same_call *c, noise_sketch *k, int depth)
{
    daruma_str key, value;
    bool named = json_is_object(object);
    json_iter it = json_open(object);
    for (it.quick = true; k->nmembers < NOISE_MEMBERS && json_next(&it, named ? &key : NULL, &value);) {
        key = named ? key : (daruma_str){0};
        if (json_is_string(value) && value.n > 2)
            k->words = words_more(k->words, str_sub(value, 0, VALUE_BYTES));
        if ((json_is_object(value) || json_is_array(value)) && depth < JSON_DEPTH) {
            look_inside(value, c, k, depth + 1);
        } else if (value.n <= VALUE_BYTES && key.n && !json_is_array(value) && !json_is_object(value)) {
            k->member_echo |= (uint8_t)((unsigned)is_echo(value, 0, value.n, c) << k->nmembers);
            k->names[k->nmembers] = noise_name(key);
            k->values[k->nmembers++] = token_of(value, 0, value.n);
        }
    }
}

void noise_look(daruma_str text, const same_call *call, noise_view *ret)
{
    noise_sketch *k = &ret->sketch;
    *k = (noise_sketch){.n = 0};
    text = str_trim(text);
    if (text.n > UINT32_MAX)
        return;
    look_ahead(text, call, ret);
    look_back(text, call, ret);
    if (k->n == 2 * NOISE_EDGE && ret->head_end[NOISE_EDGE - 1] < ret->tail_at[NOISE_EDGE - 1]) {
        size_t from = ret->head_end[NOISE_EDGE - 1], to = ret->tail_at[NOISE_EDGE - 1],
               half = SAME_ANSWER_BYTES_MAX / 2;
        if (text.n <= 2 * half)
            k->between = XXH3_64bits(text.p + from, to - from);
        else /* what lies farther from the ends is in `middle` */
            k->between = XXH3_64bits(text.p + from, half > from ? half - from : 0) +
                         3 * XXH3_64bits(text.p + to - (to > text.n - half ? to - (text.n - half) : 0),
                                         to > text.n - half ? to - (text.n - half) : 0);
    }
    k->json = text.n && text.p[0] == '{';
    k->words = k->json ? 0 : k->words;
    if (k->json)
        look_inside(text, call, k, 0);
}

/* ---- what all have in common ----------------------------------------------------------------------- */

static bool all_equal(const uint16_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (v[i] != v[0])
            return false;
    return true;
}

static bool all_different(const uint16_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (v[i] == v[k])
                return false;
    return true;
}

static bool is_sign(uint16_t token, const char *signs)
{
    return token && token < 128 && strchr(signs, token);
}

/* How many tokens the brackets have, or the line, that a text begins or ends with; 0: all of it, unless it may be
 * `all`, or too many. */
static size_t border_of(const uint16_t *tokens, size_t n, bool tail, bool all)
{
    bool bracket = n && is_sign(tokens[0], tail ? ")]>" : "([<");
    for (size_t i = 1; i + !all < n; i++)
        if (bracket ? is_sign(tokens[i], tail ? "([<" : ")]>") : tokens[i] == LINE_BREAK)
            return i + 1;
    return 0;
}

/* Is it a mere number that is not that of the step, but for how many steps there were before it? */
static bool is_number(uint16_t a, uint16_t b, uint32_t step_a, uint32_t step_b)
{
    bool counts = (unsigned)((a - b) & HASH) == ((step_a - step_b) & HASH);
    return (a & DIGITS) && !(a & MIXED) && (b & DIGITS) && !(b & MIXED) && !counts;
}

/* The tokens that all have, from one end on, as far as they go. Where nothing else is left of one, the edge ends with a
 * line or a bracket; but results of one tool may be made after one pattern. */
static noise_edge learn_edge(const noise_sketch *const *results, size_t n, bool tail, bool tools, bool *ret_numbers)
{
    noise_edge e = {.n = 0};
    size_t last = 0, row = 0, shortest = NOISE_EDGE, longest = 0;
    uint32_t echo = 0, numbers = 0;
    for (size_t i = 0; i < n; i++) {
        shortest = results[i]->n < shortest ? results[i]->n : shortest;
        longest = results[i]->n > longest ? results[i]->n : longest;
        echo |= tail ? results[i]->tail_echo : results[i]->head_echo;
    }
    size_t at = 0;
    for (; at < shortest; at++) {
        uint16_t v[RESULTS_MAX] = {0};
        for (size_t i = 0; i < n; i++)
            v[i] = tail ? results[i]->tail[at] : results[i]->head[at];
        e.tokens[at] = v[0];
        if (all_equal(v, n)) {
            row = 0;
            last = at + 1;
        } else if (all_different(v, n) && row < SLOTS_IN_ROW && !(echo >> at & 1)) {
            e.slots |= UINT32_C(1) << at;
            for (size_t i = 1; i < n; i++)
                numbers |= (uint32_t)(!(v[i] & DIGITS) || is_number(v[i], v[0], results[i]->step, results[0]->step))
                           << at;
            row++;
        } else {
            break;
        }
    }
    if (!tools || (at == shortest && shortest < NOISE_EDGE)) {
        bool all = longest > shortest && !numbers; /* nothing has no more than that; "(12)" is an answer */
        size_t border = border_of(e.tokens, shortest, tail, all);
        last = border && border <= last ? border : 0; /* a bare count may be how far something is */
    }
    e.slots &= (UINT32_C(1) << last) - 1;
    e.n = (uint8_t)last;
    *ret_numbers = (e.slots & numbers) != 0;
    return last > 0 && (tools ? e.slots : e.slots & ~numbers) ? e : (noise_edge){.n = 0};
}

static bool value_of(const noise_sketch *k, uint16_t name, uint16_t *ret)
{
    for (size_t i = 0; i < k->nmembers; i++)
        if (k->names[i] == name) {
            *ret = k->values[i];
            return true;
        }
    return false;
}

static bool noise_has(const noise *known, uint16_t name)
{
    for (size_t i = 0; i < known->nnames; i++)
        if (known->names[i] == name)
            return true;
    return false;
}

static void learn_name(noise *known, uint16_t name)
{
    if (known->nnames < NOISE_NAMES && !noise_has(known, name))
        known->names[known->nnames++] = name;
}

static void learn_names(noise *known, const noise_sketch *const *results, size_t n)
{
    for (size_t m = 0; m < results[0]->nmembers && known->nnames < NOISE_NAMES; m++) {
        uint16_t v[RESULTS_MAX] = {0}, name = results[0]->names[m];
        size_t i = 0;
        while (i < n && value_of(results[i], name, &v[i]) && (v[i] & DIGITS)) /* words are an answer */
            i++;
        if (i == n && all_different(v, n) && !(results[0]->member_echo >> m & 1))
            learn_name(known, name);
    }
}

/* Does this end have that edge? Around nothing, it is all there is. */
static bool has_edge(const noise_edge *e, const uint16_t *tokens, size_t n)
{
    if (!e->n || e->n > n)
        return false;
    for (size_t i = 0; i < e->n; i++)
        if (tokens[i] != e->tokens[i] && !(e->slots >> i & 1))
            return false;
    return true;
}

void noise_learn(noise *known, const noise_sketch *const *results, size_t n, bool tools)
{
    bool json = true;
    if (n < RESULTS_MIN || n > RESULTS_MAX)
        return;
    for (size_t i = 0; i < n; i++)
        json &= results[i]->json;
    if (json) {
        learn_names(known, results, n);
        return;
    }
    const noise_sketch *newest = results[0];
    bool head_fits = has_edge(&known->head, newest->head, newest->n), /* what still fits is not learned again */
        tail_fits = has_edge(&known->tail, newest->tail, newest->n), head_numbers = false, tail_numbers = false;
    noise_edge head = {.n = 0}, tail = {.n = 0};
    if (!head_fits)
        head = learn_edge(results, n, false, tools, &head_numbers);
    if (!tail_fits)
        tail = learn_edge(results, n, true, tools, &tail_numbers);
    size_t least = newest->n, both = (head_fits ? known->head.n : head.n) + (tail_fits ? known->tail.n : tail.n);
    for (size_t i = 1; i < n; i++)
        least = results[i]->n < least ? results[i]->n : least;
    if (both >= least && (head.n || tail.n)) { /* one of them is the answer: the one with numbers */
        bool keeps_head = head_fits || (!tail_fits && head.n && tail_numbers && !head_numbers);
        head.n = keeps_head ? head.n : 0;
        tail.n = keeps_head ? 0 : tail.n;
    }
    if (head.n)
        known->head = head;
    if (tail.n)
        known->tail = tail;
}

/* ---- what is known --------------------------------------------------------------------------------- */

daruma_str noise_strip(const noise *known, const noise_view *v, daruma_str text)
{
    const noise_sketch *k = &v->sketch;
    text = str_trim(text);
    size_t from = has_edge(&known->head, k->head, k->n) ? v->head_end[known->head.n - 1] : 0;
    size_t to = has_edge(&known->tail, k->tail, k->n) ? v->tail_at[known->tail.n - 1] : text.n;
    return str_trim(str_sub(text, from, from < to ? to - from : 0)); /* of nothing, only the edges come */
}

/* The longest text in there. `*texts` counts those that are more than a word. */
static daruma_str longest_text(daruma_str value, int depth, unsigned *texts)
{
    enum { MEMBERS = 16, WORD = 16 };
    daruma_str best = {0}, v;
    json_iter it = json_open(value);
    it.quick = true;
    for (int i = 0; i < MEMBERS && json_next(&it, NULL, &v); i++) {
        if ((json_is_object(v) || json_is_array(v)) && depth <= JSON_DEPTH)
            v = longest_text(v, depth + 1, texts);
        else
            *texts += json_is_string(v) && (v.n > WORD || str_findch(v, ' ') != STR_NONE);
        if (v.n > best.n && json_is_string(v))
            best = v;
    }
    return best;
}

daruma_str noise_content(const noise *known, const noise_view *v, daruma_str text, uint64_t *others, daruma_arena *a)
{
    const noise_sketch *k = &v->sketch;
    uint64_t sum = 0;
    unsigned texts = 0;
    bool noisy = false;
    if (!known->nnames || !k->json)
        return (daruma_str){0};
    daruma_str longest = longest_text(str_trim(text), 0, &texts);
    if (longest.n <= 2 || texts > 1)
        return (daruma_str){0};
    uint16_t its = token_of(longest, 0, longest.n);
    for (size_t i = 0; i < k->nmembers; i++) {
        bool varies = noise_has(known, k->names[i]);
        noisy |= varies;
        if (!varies && k->values[i] != its)
            sum += end((uint64_t)k->names[i] << 16 | k->values[i]);
    }
    if (!noisy)
        return (daruma_str){0};
    *others = sum;
    return json_text(longest, a);
}

/* Is it the value of a member that is noise? */
static bool is_noise(const noise *known, const noise_sketch *k, uint16_t token)
{
    for (size_t i = 0; i < k->nmembers; i++)
        if (k->values[i] == token && noise_has(known, k->names[i]))
            return true;
    return false;
}

/* Do two objects have the same members, and as many of them differ as tokens? Not so where an argument is repeated. */
static bool differ_in_members(const noise_sketch *a, const noise_sketch *b, size_t tokens)
{
    size_t n = 0;
    for (size_t i = 0; i < a->nmembers; i++) {
        if (a->names[i] != b->names[i] || (a->values[i] != b->values[i] && (a->member_echo >> i & 1)))
            return false;
        n += a->values[i] != b->values[i];
    }
    return a->nmembers == b->nmembers && n == tokens;
}

static size_t shorter(size_t n)
{
    return n < NOISE_EDGE ? n : NOISE_EDGE;
}

static uint16_t token_at(const noise_sketch *k, size_t i)
{
    return i < shorter(k->n) ? k->head[i] : k->tail[k->n - 1 - i];
}

noise_likeness noise_compare(const noise *known, const noise_sketch *a, const noise_sketch *b, noise_difference *ret)
{
    enum { NEAR_SLOTS = 3, MANY_WORDS = 12 };
    size_t n = a->n;
    *ret = (noise_difference){.words = a->words};
    if (n != b->n || a->between != b->between || a->middle != b->middle || !n)
        return NOISE_OTHER;
    size_t from = has_edge(&known->head, a->head, n) && has_edge(&known->head, b->head, n) ? known->head.n : 0;
    size_t to = n - (has_edge(&known->tail, a->tail, n) && has_edge(&known->tail, b->tail, n) ? known->tail.n : 0);
    for (size_t i = from; i < to; i++) {
        uint16_t x = token_at(a, i), y = token_at(b, i);
        if (x == y || (is_noise(known, a, x) && is_noise(known, b, y)))
            continue;
        ret->at |= UINT64_C(1) << i;
        ret->n++;
        ret->numbers |= !(x & y & DIGITS) || is_number(x, y, a->step, b->step);
    }
    if (!ret->n)
        return NOISE_SAME;
    size_t begins = border_of(a->head, shorter(n), false, false), ends = border_of(a->tail, shorter(n), true, false);
    uint64_t head = (UINT64_C(1) << begins) - 1, tail = ((UINT64_C(1) << ends) - 1) << (n - ends);
    if (begins + ends >= n) { /* one of them is all there is, but for the other */
        head = ret->at & head ? head : 0;
        tail = head ? 0 : tail;
    }
    uint64_t inner = ret->at & ~head & ~tail;
    if (inner && a->json && differ_in_members(a, b, ret->n))
        inner = 0;
    ret->inner = inner != 0;
    return ret->n <= NEAR_SLOTS && (!ret->inner || a->words >= MANY_WORDS * ret->n) ? NOISE_NEAR : NOISE_OTHER;
}

void noise_accept(noise *known, const noise_sketch *a, const noise_sketch *b, const noise_difference *d)
{
    size_t n = a->n, head = border_of(a->head, shorter(n), false, false),
           tail = border_of(a->tail, shorter(n), true, false);
    if (a->json) {
        for (size_t i = 0; i < a->nmembers; i++)
            if (a->values[i] != b->values[i])
                learn_name(known, a->names[i]);
        return;
    }
    uint32_t first = (uint32_t)d->at & ((UINT32_C(1) << head) - 1), last = 0;
    for (size_t i = 0; i < tail; i++)
        last |= (uint32_t)(d->at >> (n - 1 - i) & 1) << i;
    if (first) {
        known->head = (noise_edge){.slots = first, .n = (uint8_t)head};
        memcpy(known->head.tokens, a->head, head * sizeof *a->head);
    }
    if (last) {
        known->tail = (noise_edge){.slots = last, .n = (uint8_t)tail};
        memcpy(known->tail.tokens, a->tail, tail * sizeof *a->tail);
    }
}

/* ---- arguments ------------------------------------------------------------------------------------- */

/* "7f3a91bc", "b4s3k9dq": letters and digits take turns, or it is a long number of base 16. */
static bool looks_drawn(daruma_str v)
{
    enum { SHORTEST = 6, TURNS = 2 };
    unsigned turns = 0, letters = 0;
    if (v.n > 1 && v.p[0] == '"')
        v = str_sub(v, 1, v.n - 2);
    for (size_t i = 0; i < v.n; i++) {
        bool digit = ch_digit(v.p[i]);
        if (!digit && !ch_alpha(v.p[i]) && v.p[i] != '-' && v.p[i] != '_')
            return false;
        letters += !digit;
        turns += i > 0 && digit != ch_digit(v.p[i - 1]);
    }
    return v.n >= SHORTEST && letters && turns >= TURNS;
}

noise_args noise_look_args(daruma_str args)
{
    noise_args r = {.n = 0};
    daruma_str key, value;
    json_iter it = json_open(str_trim(args));
    for (it.quick = true; it.close == '}' && r.n < NOISE_MEMBERS && json_next(&it, &key, &value);) {
        if (value.n > VALUE_BYTES || json_is_object(value) || json_is_array(value))
            continue;
        r.drawn |= (uint8_t)((unsigned)looks_drawn(value) << r.n);
        r.names[r.n] = noise_name(key);
        r.values[r.n++] = token_of(value, 0, value.n);
    }
    return r;
}

static void learn_arg(noise *known, uint16_t name)
{
    for (size_t i = 0; i < known->nargs; i++)
        if (known->args[i] == name)
            return;
    if (known->nargs < NOISE_NAMES)
        known->args[known->nargs++] = name;
}

void noise_learn_args(noise *known, const noise_args *const *calls, const uint32_t *steps, size_t n)
{
    for (size_t m = 0; n >= RESULTS_MIN && n <= RESULTS_MAX && m < calls[0]->n; m++) {
        uint16_t v[RESULTS_MAX] = {0};
        bool noisy = true;
        for (size_t i = 0; i < n && noisy; i++) {
            size_t k = 0;
            while (k < calls[i]->n && calls[i]->names[k] != calls[0]->names[m])
                k++;
            noisy = k < calls[i]->n;
            v[i] = noisy ? calls[i]->values[k] : 0;
            noisy = noisy && ((calls[i]->drawn >> k & 1) ||
                              ((v[i] & DIGITS) && !(v[i] & MIXED) && !is_number(v[i], v[0], steps[i], steps[0])));
        }
        if (noisy && all_different(v, n))
            learn_arg(known, calls[0]->names[m]);
    }
}

bool noise_is_arg(const noise *known, daruma_str name)
{
    uint16_t it = known && known->nargs ? noise_name(name) : 0;
    for (size_t i = 0; known && i < known->nargs; i++)
        if (known->args[i] == it)
            return true;
    return false;
}
