/* same.c - canonical calls and results, as hashes. Nothing is rewritten: each word is hashed where it stands, and what
 * makes no difference is left out.
 *
 * Of arguments: order of members, spacing of commands and paths, spelling of numbers and paths, what only defeats
 * caches, the order of words to look for. Of results: what changes by itself. In a success that is little, since a
 * number that moves may be what was asked for; in a failure all numbers are.
 */
#include "engine/watch/same.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/words.h"
#include <xxhash.h>

#define K1 UINT64_C(0x9e3779b97f4a7c15)
#define K2 UINT64_C(0xd6e8feb86659fd93)

enum { DEPTH_MAX = 32, PARTS_MAX = 24 };

static uint64_t mix(uint64_t h, uint64_t w)
{
    h = (h ^ w) * K1;
    return h ^ (h >> 29);
}

static uint64_t end(uint64_t h)
{
    h = (h ^ (h >> 32)) * K2;
    h ^= h >> 32;
    return h ? h : 1;
}

static uint64_t load(const char *p, size_t n) /* of up to 8 bytes */
{
    uint64_t w = 0;
    uint32_t a, b;
    if (n >= 8) {
        memcpy(&w, p, 8);
        return w;
    }
    if (n >= 4) {
        memcpy(&a, p, 4);
        memcpy(&b, p + n - 4, 4);
        return a | (uint64_t)b << 32;
    }
    for (size_t i = 0; i < n; i++)
        w |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return w;
}

static uint64_t word_hash(const char *p, size_t n, uint64_t fold) /* `fold`: bits that are set in each byte */
{
    uint64_t h = K2 ^ n;
    for (; n > 8; p += 8, n -= 8)
        h = mix(h, load(p, 8) | fold);
    return mix(h, load(p, n) | fold);
}

#define FOLD_CASE UINT64_C(0x2020202020202020)

static void bag_put(uint64_t bag[SAME_BAG], uint64_t h)
{
    bag[(h >> 6) % SAME_BAG] |= UINT64_C(1) << (h & 63);
}

unsigned same_count(const uint64_t bag[SAME_BAG])
{
    unsigned n = 0;
    for (int i = 0; i < SAME_BAG; i++)
        n += (unsigned)__builtin_popcountll(bag[i]);
    return n;
}

/* ---- arguments ---------------------------------------------------------------------------------- */

typedef struct pair {
    uint64_t exact, shape;
} pair;

static void pair_mix(pair *h, pair w)
{
    h->exact = mix(h->exact, w.exact);
    h->shape = mix(h->shape, w.shape);
}

static pair pair_of(uint64_t w)
{
    return (pair){w, w};
}

static void learn_word(same_call *c, daruma_str word)
{
    uint64_t h = word_hash(word.p, word.n, FOLD_CASE);
    h ^= h >> 32;
    bag_put(c->words, h);
    if (word.n >= 3 && c->necho < SAME_ECHO)
        c->echo[c->necho++] = (uint32_t)h;
}

/* Words, numbers and signs of a text, white space between them left out. Numbers have no shape. */
static pair hash_words(same_call *c, daruma_str s, pair h)
{
    for (size_t i = 0; i < s.n;) {
        char ch = s.p[i];
        if (ch_word(ch)) {
            size_t from = i, digits = 0;
            while (i < s.n && ch_word(s.p[i])) {
                digits += ch_digit(s.p[i]);
                i += (unsigned char)s.p[i] >= 0x80 && i > from ? 1 : 1;
            }
            daruma_str word = str_sub(s, from, i - from);
            uint64_t w = word_hash(word.p, word.n, 0);
            learn_word(c, word);
            pair_mix(&h, (pair){w, digits ? '#' : w});
            continue;
        }
        if (!ch_space(ch))
            pair_mix(&h, pair_of((unsigned char)ch));
        i++;
    }
    return h;
}

/* "./a//b/../c/" as "a/c". */
static pair hash_path(same_call *c, daruma_str path)
{
    pair parts[PARTS_MAX], h = pair_of(path.n && path.p[0] == '/' ? 7 : 3);
    size_t n = 0, up = 0;
    daruma_str rest = path;
    for (bool more = true; more;) {
        size_t slash = str_findch(rest, '/');
        daruma_str part = str_sub(rest, 0, slash == STR_NONE ? rest.n : slash);
        more = slash != STR_NONE;
        rest = str_from(rest, part.n + more);
        if (!part.n || str_eq(part, S(".")))
            continue;
        if (str_eq(part, S(".."))) {
            if (n > 0)
                n--;
            else
                up++;
            continue;
        }
        if (n == PARTS_MAX) {
            pair_mix(&h, parts[0]);
            memmove(parts, parts + 1, (--n) * sizeof *parts);
        }
        parts[n++] = hash_words(c, part, pair_of(11));
    }
    pair_mix(&h, pair_of(up));
    for (size_t i = 0; i < n; i++)
        pair_mix(&h, parts[i]);
    return h;
}

/* Does it look like a moment: 10 to 19 digits, or a date? */
static bool is_moment(daruma_str v)
{
    size_t digits = 0;
    while (digits < v.n && ch_digit(v.p[digits]))
        digits++;
    if (digits == v.n || (digits < v.n && v.p[digits] == '.'))
        return digits >= 10 && digits <= 19 && v.p[0] != '0';
    return digits == 4 && v.n >= 10 && v.p[4] == '-' && ch_digit(v.p[5]) && v.p[7] == '-';
}

static bool is_buster(daruma_str name, daruma_str value)
{
    unsigned means = str_istarts(name, S("utm_")) ? NAME_NONCE : words_of_name(name);
    return (means & NAME_NONCE) || ((means & NAME_TIME) && (is_moment(value) || str_eq(name, S("_"))));
}

static pair hash_url(same_call *c, daruma_str url)
{
    daruma_str rest = url, query;
    size_t scheme = str_find(rest, S("://"));
    daruma_str fragment = str_cut(&rest, '#');
    query = fragment;
    daruma_str place = str_cut(&query, '?');
    rest = str_from(place, scheme + 3);
    size_t slash = str_findch(rest, '/');
    daruma_str host = str_sub(rest, 0, slash == STR_NONE ? rest.n : slash);
    if (str_istarts(host, S("www.")))
        host = str_from(host, 4);
    pair h = pair_of(word_hash(host.p, host.n, FOLD_CASE)), sum = {0, 0};
    learn_word(c, host);
    pair_mix(&h, hash_path(c, str_from(rest, host.n)));
    for (int i = 0; query.n && i < 64; i++) {
        daruma_str value = str_cut(&query, '&'), name = str_cut(&value, '=');
        if (is_buster(name, value))
            continue;
        c->names |= words_of_name(name);
        pair one = hash_words(c, name, pair_of(13));
        one = hash_words(c, value, one);
        sum.exact += end(one.exact);
        sum.shape += end(one.shape);
    }
    pair_mix(&h, sum);
    return h;
}

static daruma_str unquoted(daruma_str chunk)
{
    while (chunk.n && (chunk.p[0] == '\'' || chunk.p[0] == '"' || chunk.p[0] == '`'))
        chunk = str_from(chunk, 1);
    while (chunk.n && (chunk.p[chunk.n - 1] == '\'' || chunk.p[chunk.n - 1] == '"' || chunk.p[chunk.n - 1] == '`'))
        chunk.n--;
    return chunk;
}

static pair hash_chunk(same_call *c, daruma_str chunk)
{
    size_t colon;
    if (str_findch(chunk, '/') == STR_NONE)
        return hash_words(c, chunk, pair_of(3));
    chunk = unquoted(chunk);
    colon = str_find(chunk, S("://"));
    if (colon != STR_NONE && colon > 0 && colon < 12)
        return hash_url(c, chunk);
    return hash_path(c, chunk);
}

/* Words to look for: "a b" is "b a". Not so where the signs between them mean something. */
static bool is_loose(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (memchr("(){}[]<>=;*|\\/^$&@#", s.p[i], 19))
            return false;
    return s.n > 0;
}

static pair hash_loose(same_call *c, daruma_str s)
{
    pair sum = {5, 5};
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && ch_word(s.p[i]))
            i++;
        if (i > from) {
            uint64_t w = end(word_hash(s.p + from, i - from, FOLD_CASE));
            learn_word(c, str_sub(s, from, i - from));
            sum.exact += w;
            sum.shape += ch_digit(s.p[from]) ? '#' : w;
        } else {
            i++;
        }
    }
    return sum;
}

/* A text whose spacing makes no difference, chunk by chunk. `json`: escapes are those of JSON. */
static pair hash_spaced(same_call *c, daruma_str s, bool json)
{
    pair h = pair_of(17);
    for (size_t i = 0; i < s.n;) {
        bool gap = ch_space(s.p[i]) || (json && s.p[i] == '\\' && i + 1 < s.n && memchr("nrt", s.p[i + 1], 3));
        if (gap) {
            i += ch_space(s.p[i]) ? 1 : 2;
            continue;
        }
        size_t from = i;
        while (i < s.n && !ch_space(s.p[i]) && !(json && s.p[i] == '\\' && i + 1 < s.n && memchr("nrt", s.p[i + 1], 3)))
            i++;
        daruma_str chunk = str_sub(s, from, i - from);
        if (json && chunk.n > 1 && chunk.p[chunk.n - 1] == '\\' && i < s.n)
            i++;
        pair_mix(&h, hash_chunk(c, chunk));
    }
    return h;
}

static pair hash_bytes(same_call *c, daruma_str s)
{
    pair h = pair_of(XXH3_64bits(s.p, s.n));
    hash_words(c, str_sub(s, 0, SAME_STRING_BYTES_MAX), h);
    return h;
}

/* A text that is kept as it is, white space too; its shape does without numbers. */
static pair hash_text(same_call *c, daruma_str s)
{
    pair h = hash_words(c, s, pair_of(19));
    h.exact = XXH3_64bits(s.p, s.n);
    return h;
}

/* "1.0", "1", "10e-1" alike: its digits without zeros at either end, and where the point stands. */
static bool hash_number(daruma_str s, pair *ret)
{
    uint64_t h = 23;
    int64_t point = 0, exponent = 0, zeros = 0, digits = 0;
    bool frac = false, any = false;
    size_t i = 0;
    if (i < s.n && s.p[i] == '-')
        i++;
    for (; i < s.n && (ch_digit(s.p[i]) || (s.p[i] == '.' && !frac)); i++) {
        if (s.p[i] == '.') {
            frac = true;
            continue;
        }
        any = true;
        point += frac ? 0 : digits > 0 || s.p[i] != '0';
        if (s.p[i] == '0') {
            zeros += digits > 0;
            point -= frac && digits == 0;
            continue;
        }
        for (; zeros > 0; zeros--, digits++)
            h = mix(h, '0');
        h = mix(h, (unsigned char)s.p[i]);
        digits++;
    }
    if (any && i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        bool less = i + 1 < s.n && s.p[i + 1] == '-';
        i += 1 + (i + 1 < s.n && (s.p[i + 1] == '-' || s.p[i + 1] == '+'));
        for (; i < s.n && ch_digit(s.p[i]) && exponent < 100000; i++)
            exponent = exponent * 10 + (s.p[i] - '0');
        exponent = less ? -exponent : exponent;
    }
    if (!any || i != s.n)
        return false;
    h = mix(h, digits ? (uint64_t)(point + exponent) : 0);
    *ret = (pair){mix(h, digits && s.p[0] == '-'), '#'};
    return true;
}

static pair hash_string(same_call *c, daruma_str s, unsigned name)
{
    pair number;
    if (s.n > SAME_STRING_BYTES_MAX)
        return hash_bytes(c, s);
    if (hash_number(s, &number)) {
        learn_word(c, s);
        return number;
    }
    if ((name & NAME_QUERY) && is_loose(s))
        return hash_loose(c, s);
    if (name & (NAME_SPACED | NAME_COMMAND))
        return hash_spaced(c, s, true);
    bool gaps = false;
    for (size_t i = 0; i < s.n && !gaps; i++)
        gaps = ch_space(s.p[i]) || s.p[i] == '\\';
    return gaps ? hash_text(c, s) : hash_chunk(c, s);
}

static pair hash_value(same_call *c, daruma_str v, unsigned name, int depth);

static daruma_str string_inside(daruma_str v)
{
    return json_is_string(v) && v.n >= 2 ? str_sub(v, 1, v.n - 2) : (daruma_str){0};
}

/* Is there a member that says what to do, beside which others only say why? */
static unsigned names_of(daruma_str object, size_t *n)
{
    unsigned names = 0;
    daruma_str key, v;
    *n = 0;
    for (json_iter it = json_open(object); json_next(&it, &key, &v); ++*n)
        names |= words_of_name(key);
    return names;
}

static bool is_left_out(unsigned name, unsigned all, size_t n, daruma_str v)
{
    daruma_str plain = json_is_string(v) ? string_inside(v) : v;
    if (json_is_null(v) || (name & NAME_NONCE))
        return n > 1 || json_is_null(v);
    if ((name & NAME_TIME) && is_moment(plain))
        return n > 1;
    if ((name & NAME_REASON) && json_is_string(v) && n > 1)
        return true;
    return (name & NAME_TITLE) && (all & NAME_COMMAND) && json_is_string(v);
}

static void notice_member(same_call *c, unsigned name, daruma_str v, int depth)
{
    bool none = str_eq(v, S("0")) || str_eq(v, S("false")) || json_is_null(v);
    c->names |= name;
    if ((name & NAME_WAIT) && !none)
        c->waits = true;
    if (depth == 0 && (name & NAME_COMMAND) && !c->command.n)
        c->command = json_is_string(v) ? string_inside(v) : v;
    if (depth == 0 && (name & NAME_ACTION) && !c->action.n)
        c->action = string_inside(v);
}

static pair hash_object(same_call *c, daruma_str object, int depth)
{
    pair sum = {29, 29};
    daruma_str key, v;
    size_t n;
    unsigned all = names_of(object, &n);
    for (json_iter it = json_open(object); json_next(&it, &key, &v);) {
        unsigned name = words_of_name(key);
        if (is_left_out(name, all, n, v))
            continue;
        notice_member(c, name, v, depth);
        pair one = pair_of(word_hash(key.p, key.n, 0));
        pair_mix(&one, hash_value(c, v, name, depth + 1));
        sum.exact += end(one.exact);
        sum.shape += end(one.shape);
    }
    return sum;
}

static pair hash_value(same_call *c, daruma_str v, unsigned name, int depth)
{
    pair h = pair_of(31);
    daruma_str item;
    if (depth > DEPTH_MAX)
        return hash_bytes(c, v);
    if (json_is_object(v))
        return hash_object(c, v, depth);
    if (json_is_array(v)) {
        for (json_iter it = json_open(v); json_next(&it, NULL, &item);)
            pair_mix(&h, hash_value(c, item, name, depth + 1));
        return h;
    }
    if (json_is_string(v))
        return hash_string(c, string_inside(v), name);
    if (hash_number(v, &h)) {
        learn_word(c, v);
        return h;
    }
    return pair_of(word_hash(v.p, v.n, 0));
}

same_call same_of_call(daruma_str tool, daruma_str args)
{
    same_call c = {.call = 0};
    daruma_str v = {0};
    pair h;
    args = str_trim(args);
    if (json_whole(args, &v) && (json_is_object(v) || json_is_array(v))) {
        h = hash_value(&c, v, 0, 0);
    } else {
        bool quoted = v.n && json_is_string(v);
        daruma_str text = quoted ? string_inside(v) : args;
        c.command = text;
        h = text.n > SAME_STRING_BYTES_MAX ? hash_bytes(&c, text) : hash_spaced(&c, text, quoted);
    }
    uint64_t t = word_hash(tool.p, tool.n, 0);
    c.call = end(mix(h.exact, t));
    c.shape = end(mix(h.shape, t));
    c.nwords = same_count(c.words);
    return c;
}

uint64_t daruma_call_hash(daruma_str tool, daruma_str args)
{
    return same_of_call(tool, args).call;
}

/* ---- results ------------------------------------------------------------------------------------ */

typedef struct scan {
    daruma_str s;
    bool failed;
    const same_call *call; /* NULL: unknown */
    daruma_str before;     /* the word before this place */
    bool named;            /* `before` names what comes now: "pid=", "\"pid\":" */
    uint64_t result, plain, masked;
    uint64_t words[SAME_BAG];
    uint32_t left_out, told; /* what was left out; words that tell something */
    bool echoes;
} scan;

static bool is_hex(char c)
{
    return ch_digit(c) || (ch_lower(c) >= 'a' && ch_lower(c) <= 'f');
}

/* Bytes of a UUID at the beginning, 0 none. */
static size_t uuid_at(daruma_str s)
{
    if (s.n < 36)
        return 0;
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : !is_hex(s.p[i]))
            return 0;
    }
    return s.n > 36 && ch_word(s.p[36]) ? 0 : 36;
}

/* Bytes of a number with all that belongs to it: "1.25", "10:00:11", "2026-06-01T10:00:11.5Z", "0m1.2s". */
static size_t number_at(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && (ch_digit(s.p[n]) || (n + 1 < s.n && memchr(".:-,", s.p[n], 4) && ch_digit(s.p[n + 1])) ||
                       (s.p[n] == 'T' && n + 1 < s.n && ch_digit(s.p[n + 1]))))
        n++;
    if (n >= 10 && n < s.n && s.p[n] == 'Z')
        n++;
    return n;
}

/* Bytes of a unit of time that follows a number, white space before it with them; 0 none. */
static size_t unit_at(daruma_str s)
{
    static const char *const units[] = {"ms",      "us",     "ns",   "s", "sec", "secs",  "seconds", "second", "min",
                                        "minutes", "minute", "mins", "m", "h",   "hours", "millis",  NULL};
    size_t gap = s.n && s.p[0] == ' ' ? 1 : 0, n = gap;
    while (n < s.n && ch_alpha(s.p[n]))
        n++;
    for (int i = 0; n > gap && units[i]; i++)
        if (str_eq(str_sub(s, gap, n - gap), str_of(units[i])))
            return n;
    return 0;
}

static void keep(scan *x, uint64_t w, uint64_t masked)
{
    x->plain = mix(x->plain, w);
    x->result = mix(x->result, w);
    x->masked = mix(x->masked, masked);
}

static void leave_out(scan *x, uint64_t w)
{
    x->plain = mix(x->plain, w);
    x->masked = mix(x->masked, '#');
    x->left_out++;
}

/* Behind a name of what is volatile, the value. Returns its bytes. */
static size_t value_at(daruma_str s)
{
    size_t n = 0;
    if (s.n && s.p[0] == '"') {
        size_t close = str_findch(str_from(s, 1), '"');
        return close == STR_NONE ? s.n : close + 2;
    }
    while (n < s.n && !ch_space(s.p[n]) && !memchr(",;}])\"", s.p[n], 6))
        n++;
    return n;
}

/* What follows a name that says that it changes by itself: {"pid":12}, pid=12. Returns the bytes left out. */
static size_t volatile_value(scan *x, size_t i)
{
    daruma_str rest = str_from(x->s, i);
    size_t n = value_at(rest);
    if (!n || n > 64 || rest.p[0] == '{' || rest.p[0] == '[')
        return 0;
    leave_out(x, word_hash(rest.p, n, 0));
    return n;
}

/* Numbers that changes by themselves, in a success: after "took", in "(0.12s)", after "pid", after "fetched at". */
static size_t volatile_number(const scan *x, size_t i, size_t n)
{
    daruma_str rest = str_from(x->s, i + n);
    size_t unit = unit_at(rest);
    unsigned before = x->before.n ? words_of_name(x->before) : 0;
    bool bracket = i > 0 && memchr("([", x->s.p[i - 1], 2) && unit && rest.n > unit && memchr(")]", rest.p[unit], 2);
    if (bracket || (unit && (before & (NAME_UNIT | NAME_VOLATILE))))
        return n + unit;
    if ((before & NAME_VOLATILE) && !(before & NAME_UNIT) && !unit)
        return n;
    if (n >= 8 && (before & NAME_WHEN) && x->s.p[i + 2] != ',')
        return n;
    return 0;
}

static bool is_echo(const scan *x, uint64_t folded, size_t n)
{
    folded ^= folded >> 32;
    for (uint32_t i = 0; n >= 3 && x->call && i < x->call->necho; i++)
        if (x->call->echo[i] == (uint32_t)folded)
            return true;
    return false;
}

static size_t scan_word(scan *x, size_t i)
{
    size_t n = 1, digits = 0, hex = 0;
    const char *p = x->s.p + i;
    for (n = 0; i + n < x->s.n && ch_word(p[n]); n++) {
        digits += ch_digit(p[n]);
        hex += is_hex(p[n]);
    }
    daruma_str word = {p, n};
    uint64_t w = word_hash(p, n, 0), folded = word_hash(p, n, FOLD_CASE);
    bool address = n > 4 && p[0] == '0' && ch_lower(p[1]) == 'x';
    bool id = digits && (hex == n || address) && n >= 6;
    bool echo = is_echo(x, folded, n);
    bag_put(x->words, folded ^ (folded >> 32));
    x->echoes |= echo;
    if (address || (x->failed && id)) {
        leave_out(x, w);
    } else if (digits && (x->failed || echo)) {
        /* "line12": the number is left out, the word stays */
        uint64_t h = 37;
        for (size_t k = 0; k < n; k++)
            h = ch_digit(p[k]) ? h : mix(h, (unsigned char)p[k]);
        x->plain = mix(x->plain, w);
        x->result = mix(x->result, x->failed ? h : w);
        x->masked = mix(x->masked, echo ? '@' : h);
    } else {
        keep(x, w, echo ? '@' : w);
    }
    x->told += n >= 3 && !address;
    x->before = word;
    return n;
}

static size_t scan_number(scan *x, size_t i)
{
    daruma_str rest = str_from(x->s, i);
    size_t n = number_at(rest), uuid = uuid_at(rest), more;
    if (uuid) {
        leave_out(x, word_hash(rest.p, uuid, 0));
        return uuid;
    }
    if (n < rest.n && ch_word(rest.p[n]) && !unit_at(str_from(rest, n))) {
        size_t k = n; /* "0x7f", "99e0", "3rd" */
        while (k < rest.n && ch_word(rest.p[k]))
            k++;
        return n == 1 || !memchr(rest.p, ':', n) ? scan_word(x, i) : (keep(x, word_hash(rest.p, k, 0), '#'), k);
    }
    uint64_t w = word_hash(rest.p, n, 0);
    bag_put(x->words, w ^ (w >> 32));
    if (x->failed) {
        leave_out(x, w);
        return n;
    }
    more = volatile_number(x, i, n);
    if (more) {
        leave_out(x, word_hash(rest.p, more, 0));
        return more;
    }
    keep(x, w, '#');
    x->told++;
    return n;
}

/* Behind a word: does it name what comes, and is that volatile? Returns the bytes up to the value, 0 it does not. */
static size_t name_ends(const scan *x, size_t i)
{
    daruma_str s = x->s;
    size_t k = i;
    if (k < s.n && s.p[k] == '"')
        k++;
    while (k < s.n && s.p[k] == ' ')
        k++;
    if (k >= s.n || (s.p[k] != ':' && s.p[k] != '='))
        return 0;
    k++;
    while (k < s.n && s.p[k] == ' ')
        k++;
    return k - i;
}

static void scan_text(scan *x)
{
    for (size_t i = 0; i < x->s.n;) {
        char c = x->s.p[i];
        if (ch_space(c)) {
            i++;
            continue;
        }
        if (ch_digit(c)) {
            i += scan_number(x, i);
            continue;
        }
        if (!ch_word(c)) {
            keep(x, (unsigned char)c, (unsigned char)c);
            i++;
            continue;
        }
        size_t uuid = is_hex(c) ? uuid_at(str_from(x->s, i)) : 0;
        if (uuid) {
            leave_out(x, word_hash(x->s.p + i, uuid, 0));
            i += uuid;
            continue;
        }
        i += scan_word(x, i);
        size_t gap = name_ends(x, i);
        if (gap && (words_of_name(x->before) & NAME_VOLATILE) && i + gap < x->s.n && x->s.p[i + gap] != '\n') {
            x->told -= x->told > 0;
            i += gap;
            i += volatile_value(x, i);
        } else if (gap) {
            x->told -= x->told > 0; /* a name tells nothing by itself */
        }
    }
}

same_result same_of_result(daruma_str result, bool failed, const same_call *call)
{
    scan x = {.failed = failed, .call = call, .result = K1, .plain = K1, .masked = K1};
    uint64_t middle = 0;
    x.s = str_trim(result);
    if (x.s.n > SAME_RESULT_BYTES_MAX) {
        daruma_str tail = str_from(x.s, x.s.n - SAME_RESULT_BYTES_MAX / 2);
        daruma_str between = str_sub(x.s, SAME_RESULT_BYTES_MAX / 2, x.s.n - SAME_RESULT_BYTES_MAX);
        middle = XXH3_64bits(between.p, between.n);
        x.s = str_sub(x.s, 0, SAME_RESULT_BYTES_MAX / 2);
        scan_text(&x);
        keep(&x, middle, middle);
        x.s = tail;
    }
    scan_text(&x);
    /* What is left when the volatile is gone must still be an answer: else the volatile was it. */
    bool hollow = !failed && x.left_out && x.told < SAME_TOLD_MIN;
    same_result r = {
        .result = end(hollow ? x.plain : x.result), .plain = end(x.plain), .masked = end(x.masked), .echoes = x.echoes};
    memcpy(r.words, x.words, sizeof r.words);
    return r;
}

uint64_t daruma_result_hash(daruma_str result, bool failed)
{
    return same_of_result(result, failed, NULL).result;
}
