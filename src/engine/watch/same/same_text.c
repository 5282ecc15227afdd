/* same_text.c - the texts in a call, as hashes. Nothing is rewritten: each word is hashed where it stands, and what
 * makes no difference is left out: spacing of commands and paths, spelling of numbers and paths, what only defeats
 * caches, the order of words to look for.
 */
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same/same_text.h"
#include "engine/watch/words/words.h"
#include <xxhash.h>

enum { PARTS_MAX = 24 };

void text_learn(same_call *c, daruma_str word)
{
    if (!word.n) /* an address without a host */
        return;
    uint64_t h = word_hash(word.p, word.n, FOLD_CASE);
    h ^= h >> 32;
    bag_put(c->words, h);
    c->length++;
    if ((word.n >= 3 || ch_digit(word.p[0])) && c->necho < SAME_ECHO)
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
                i++;
            }
            daruma_str word = str_sub(s, from, i - from);
            uint64_t w = word_hash(word.p, word.n, 0);
            text_learn(c, word);
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

bool text_is_moment(daruma_str v)
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
    return (means & NAME_NONCE) || ((means & NAME_TIME) && (text_is_moment(value) || str_eq(name, S("_"))));
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
    daruma_str host = str_sub(rest, 0, slash == STR_NONE ? rest.n : slash), path = str_from(rest, host.n);
    if (str_istarts(host, S("www.")))
        host = str_from(host, 4);
    pair h = pair_of(word_hash(host.p, host.n, FOLD_CASE)), sum = {0, 0};
    text_learn(c, host);
    pair_mix(&h, hash_path(c, path));
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

static pair hash_chunk(same_call *c, daruma_str chunk)
{
    size_t colon = str_find(chunk, S("://"));
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
    for (size_t i = 0; i < s.n; i++)
        if (ch_word(s.p[i]))
            return true;
    return false;
}

/* Words with blanks between, and nothing that looks like a path, an address or code. */
static bool is_prose(daruma_str s)
{
    size_t blanks = 0;
    for (size_t i = 1; i + 1 < s.n; i++)
        blanks += s.p[i] == ' ' && s.p[i - 1] != ' ';
    return blanks > 0 && is_loose(s);
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
            text_learn(c, str_sub(s, from, i - from));
            sum.exact += w;
            sum.shape += ch_digit(s.p[from]) ? '#' : w;
        } else {
            i++;
        }
    }
    return sum;
}

/* Bytes of white space at `i`, which JSON may have escaped; 0 none. */
static size_t gap_at(daruma_str s, size_t i, bool json)
{
    if (ch_space(s.p[i]))
        return 1;
    return json && s.p[i] == '\\' && i + 1 < s.n && memchr("nrt", s.p[i + 1], 3) ? 2 : 0;
}

pair text_spaced(same_call *c, daruma_str s, bool json)
{
    pair h = pair_of(17);
    for (size_t i = 0, gap; i < s.n;) {
        if ((gap = gap_at(s, i, json)) != 0) {
            i += gap;
            continue;
        }
        size_t from = i;
        while (i < s.n && !gap_at(s, i, json))
            i += json && s.p[i] == '\\' && i + 1 < s.n ? 2 : 1; /* an escaped stroke is one, whatever follows it */
        pair_mix(&h, hash_chunk(c, str_sub(s, from, i - from)));
    }
    return h;
}

pair text_bytes(same_call *c, daruma_str s)
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

/* Its digits without zeros at either end, and where the point stands. */
bool text_number(daruma_str s, pair *ret)
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

pair text_hash(same_call *c, daruma_str s, unsigned name)
{
    pair number;
    if (s.n > SAME_STRING_BYTES_MAX)
        return text_bytes(c, s);
    if (text_number(s, &number)) {
        text_learn(c, s);
        return number;
    }
    if (is_prose(s))
        c->names |= NAME_PROSE;
    if ((name & NAME_QUERY) && is_loose(s))
        return hash_loose(c, s);
    if (name & NAME_COMMAND)
        return text_spaced(c, s, true);
    bool gaps = false;
    for (size_t i = 0; i < s.n && !gaps; i++)
        gaps = ch_space(s.p[i]) || s.p[i] == '\\';
    return gaps ? hash_text(c, s) : hash_chunk(c, s);
}
