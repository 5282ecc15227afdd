/* same_result.c - canonical results, as hashes: without what changes by itself. In a success that is little, since a
 * number that moves may be what was asked for; in a failure all numbers are.
 */
#include "engine/watch/same.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same_hash.h"
#include "engine/watch/words.h"
#include <xxhash.h>

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

static bool is_echo(const scan *x, uint64_t folded)
{
    folded ^= folded >> 32;
    for (uint32_t i = 0; x->call && i < x->call->necho; i++)
        if (x->call->echo[i] == (uint32_t)folded)
            return true;
    return false;
}

/* Words that tell nothing beside a time: "done in 3 s". */
static bool is_hollow(daruma_str word)
{
    static const char *const rows[] = {"ok",     "true",     "false",    "success", "successful", "done",  "completed",
                                       "status", "result",   "real",     "user",    "sys",        "total", "null",
                                       "none",   "finished", "complete", "took",    "in",         "time",  NULL};
    for (int i = 0; rows[i]; i++)
        if (str_ieq(word, str_of(rows[i])))
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
    bool echo = is_echo(x, folded);
    bag_put(x->words, folded ^ (folded >> 32));
    x->echoes |= echo;
    if (address || (x->failed && id)) {
        leave_out(x, w);
    } else if (digits) {
        /* "line12": the number is left out, the word stays */
        uint64_t h = 37;
        for (size_t k = 0; k < n; k++)
            h = ch_digit(p[k]) ? h : mix(h, (unsigned char)p[k]);
        x->plain = mix(x->plain, w);
        x->result = mix(x->result, x->failed ? h : w);
        x->masked = mix(x->masked, echo ? '@' : '#');
    } else {
        keep(x, w, echo ? '@' : w);
    }
    x->told += x->told < SAME_TOLD_MIN && !address && !is_hollow(word);
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
        if (!memchr(rest.p, ':', n))
            return scan_word(x, i);
        keep(x, word_hash(rest.p, k, 0), '#');
        return k;
    }
    uint64_t w = word_hash(rest.p, n, 0);
    bag_put(x->words, w ^ (w >> 32));
    x->echoes |= is_echo(x, word_hash(rest.p, n, FOLD_CASE));
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
    scan x = {.failed = failed, .call = call, .result = SAME_K1, .plain = SAME_K1, .masked = SAME_K1};
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
    bool json = x.s.n && x.s.p[0] == '{';
    bool hollow = !failed && x.left_out && x.told < (json ? 1 : SAME_TOLD_MIN);
    same_result r = {
        .result = end(hollow ? x.plain : x.result), .plain = end(x.plain), .masked = end(x.masked), .echoes = x.echoes};
    memcpy(r.words, x.words, sizeof r.words);
    return r;
}

uint64_t daruma_result_hash(daruma_str result, bool failed)
{
    return same_of_result(result, failed, NULL).result;
}
