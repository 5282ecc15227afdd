/* same_result.c - canonical results, as hashes: without what changes by itself. In a success that is little, since a
 * number that moves may be what was asked for; in a failure all numbers are, and the order of its words.
 *
 * What stays is hashed into one chain, what may be left out into others, each with its own reason:
 *
 *     found 3 rows in 12 ms, request 3f2504e0-...
 *     stays ------- # ------ # ----  times: 12   noise: 3f2504e0-...
 */
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/same/same.h"
#include "engine/watch/same/same_bits.h"
#include "engine/watch/same/same_hash.h"
#include "engine/watch/same/same_lines.h"
#include "engine/watch/same/same_number.h"
#include "engine/watch/told.h"
#include "engine/watch/words/words.h"
#include <xxhash.h>

#define INLINE static inline __attribute__((always_inline)) /* what is done for each word */

enum { NAMES_KEPT = 8, NEWS_KEPT = 512, OPENS_BYTES = 160 };

typedef struct scan {
    daruma_str s;
    bool failed;
    const same_call *call; /* NULL: unknown */
    daruma_str before;     /* the word before this place */
    bool named;            /* `before` names what comes now: "pid=", "\"pid\":" */
    uint64_t stays;        /* what always counts of this line; of a failure in any order */
    uint64_t lines;        /* the same of the lines before, in their order */
    uint64_t sum;          /* ... in any order: not every program sorts what it finds */
    uint64_t line;         /* the line before */
    bool drawn;            /* a line is as its neighbour: a picture, no list */
    uint64_t noise;        /* what never does */
    uint64_t masked;       /* as `stays`, without any number, nor words of the arguments */
    uint64_t words[SAME_BAG];
    uint64_t echo[SAME_BAG];  /* a bit for each word of the arguments */
    uint64_t signs;           /* what stood between the word before and this place */
    uint32_t left_out, tells; /* how much is noise; words that tell something */
    bool echoes;
    const same_bits *bits; /* of `s` */
    uint64_t known_as;     /* hash of `before` */
    told_pairs *told;      /* NULL: nobody asks for news */
    uint64_t beside;       /* the word before, or the number that may be news */
    uint32_t pairs, news;
    uint64_t *new_pairs; /* the first NEWS_KEPT of them */
    struct {
        uint64_t name;
        unsigned means;  /* bits of words_name */
    } names[NAMES_KEPT]; /* that were looked up: rows of a table and lines of a log have the same ones */
} scan;

enum { TOLD_ENOUGH = 8 }; /* words that tell something; counting on would change nothing */

/* Bytes of a number with all that belongs to it: "1.25", "10:00:11", "2026-06-01T10:00:11.5Z", "0m1.2s". */
static size_t number_at(const scan *x, size_t i)
{
    daruma_str s = str_from(x->s, i);
    size_t n = 0;
    for (;;) {
        n += bits_in_row(x->bits->digit, i + n);
        char c = n + 1 < s.n && ch_digit(s.p[n + 1]) ? s.p[n] : 0;
        if (c != '.' && c != ':' && c != '-' && c != ',' && c != 'T')
            break;
        n++;
    }
    if (n >= 10 && n < s.n && s.p[n] == 'Z')
        n++;
    return n;
}

static uint64_t take_signs(scan *x)
{
    uint64_t signs = x->signs * SAME_K2;
    x->signs = 0;
    return signs;
}

INLINE void keep(scan *x, uint64_t w, uint64_t masked)
{
    uint64_t signs = take_signs(x);
    if (x->failed) {
        x->stays += end(w ^ SAME_K1);
        x->masked += end(masked ^ SAME_K1);
        return;
    }
    x->stays = mix(x->stays, w ^ signs);
    x->masked = mix(x->masked, masked ^ signs);
}

/* One more word, or a number that may be news. It is none where it was told beside the one before it, or is quoted from
 * the arguments. */
INLINE void tell(scan *x, uint64_t w)
{
    if (!x->told)
        return;
    uint64_t pair = mix(x->beside, w);
    bool quoted = x->call && (x->call->words[(w >> 6) % SAME_BAG] >> (w & 63) & 1);
    x->beside = w;
    x->pairs++;
    if (quoted || told_has(x->told, pair))
        return;
    if (x->news < NEWS_KEPT)
        x->new_pairs[x->news] = pair;
    x->news++;
}

static void leave_out(scan *x, uint64_t w)
{
    keep(x, '#', '#');
    x->noise = mix(x->noise, w);
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

/* What the word before names: bits of words_name. */
static unsigned means_before(scan *x)
{
    size_t at = x->known_as % NAMES_KEPT;
    if (x->names[at].name != x->known_as) {
        x->names[at].name = x->known_as;
        x->names[at].means = words_of_name(x->before);
    }
    return x->names[at].means;
}

/* Numbers that change by themselves, in a success: how long something took, and the number of a process. `unit`: bytes
 * of one behind it. */
static size_t volatile_number(scan *x, size_t n, size_t unit)
{
    if (!unit)
        return x->before.n == 3 && str_ieq(x->before, S("pid")) ? n : 0;
    return means_before(x) & (NAME_UNIT | NAME_VOLATILE) ? n + unit : 0;
}

/* Of a word that is known: what it is looked for by. */
static uint64_t known_by(uint64_t folded)
{
    return folded ^ (folded >> 32);
}

INLINE bool is_echo(const scan *x, uint64_t known)
{
    if (!(x->echo[(known >> 6) % SAME_BAG] >> (known & 63) & 1))
        return false;
    for (uint32_t i = 0; x->call && i < x->call->necho; i++)
        if (x->call->echo[i] == (uint32_t)known)
            return true;
    return false;
}

/* A word with digits in it, `w`. Returns whether it tells something. */
static bool scan_mixed(scan *x, daruma_str word, uint64_t w, bool echo)
{
    const char *p = word.p;
    bool address = word.n > 4 && p[0] == '0' && ch_lower(p[1]) == 'x', id = word.n >= 6 && is_hex(word);
    if (address || (x->failed && id)) {
        leave_out(x, w);
    } else if (x->failed) {
        /* "line12": the number is left out, the word stays */
        uint64_t h = 37;
        for (size_t k = 0; k < word.n; k++)
            h = ch_digit(p[k]) ? h : mix(h, (unsigned char)p[k]);
        keep(x, h, echo ? '@' : '#');
        x->noise = mix(x->noise, w);
    } else {
        keep(x, w, echo ? '@' : '#');
    }
    return !address;
}

INLINE size_t scan_word(scan *x, size_t i, size_t n)
{
    daruma_str word = {x->s.p + i, n};
    word_hashes h = word_hash_both(word.p, word.n, x->s.n - i);
    uint64_t known = known_by(h.folded);
    bool echo = is_echo(x, known), tells = true;
    bag_put(x->words, known);
    tell(x, known);
    x->echoes |= echo;
    if (bits_any(x->bits->digit, i, n))
        tells = scan_mixed(x, word, h.plain, echo);
    else
        keep(x, h.plain, echo ? '@' : h.plain);
    x->tells += tells && x->tells < TOLD_ENOUGH;
    x->before = word;
    x->known_as = h.plain;
    return n;
}

static size_t scan_number(scan *x, size_t i)
{
    daruma_str rest = str_from(x->s, i);
    size_t n = number_at(x, i), uuid = uuid_at(rest);
    if (uuid) {
        leave_out(x, word_hash(rest.p, uuid, 0));
        return uuid;
    }
    size_t unit = unit_at(str_from(rest, n));
    if (n < rest.n && ch_word(rest.p[n]) && !unit) { /* "0x7f", "99e0", "3rd" */
        if (!memchr(rest.p, ':', n))
            return scan_word(x, i, bits_in_row(x->bits->word, i));
        size_t k = n + bits_in_row(x->bits->word, i + n);
        keep(x, word_hash(rest.p, k, 0), '#');
        return k;
    }
    word_hashes h = word_hash_both(rest.p, n, rest.n);
    uint64_t w = h.plain;
    bag_put(x->words, known_by(w));
    x->echoes |= is_echo(x, known_by(h.folded));
    if (x->failed && (unit || is_moment(str_sub(rest, 0, n)))) { /* how long it took, and when, is no news */
        keep(x, '#', '#');
        return n;
    }
    if (x->failed) {
        leave_out(x, w);
        return n;
    }
    size_t more = volatile_number(x, n, unit);
    if (more) {
        leave_out(x, word_hash(rest.p, more, 0));
        return more;
    }
    if (unit) {
        bool in_parts = bits_any(x->bits->digit, i + n, unit);
        n += in_parts ? unit : 0; /* "12m31s" */
        keep(x, in_parts ? word_hash(rest.p, n, 0) : w, '#');
    } else {
        keep(x, w, '#');
        tell(x, w);
    }
    x->tells++;
    return n;
}

/* Behind a word: does it name what comes, and is that volatile? Returns the bytes up to the value, 0 it does not. */
INLINE size_t name_ends(daruma_str s, size_t i)
{
    size_t k = i;
    char c = k < s.n ? s.p[k] : 0;
    if (c != '"' && c != ' ' && c != ':' && c != '=')
        return 0;
    k += c == '"';
    while (k < s.n && s.p[k] == ' ')
        k++;
    if (k >= s.n || (s.p[k] != ':' && s.p[k] != '='))
        return 0;
    k++;
    while (k < s.n && s.p[k] == ' ')
        k++;
    return k - i;
}

static void end_line(scan *x)
{
    if (x->failed)
        return;
    uint64_t line = end(x->stays ^ take_signs(x));
    x->drawn |= line == x->line;
    x->lines = mix(x->lines, line);
    x->sum += line;
    x->line = line;
    x->stays = SAME_K1;
}

static void scan_text(scan *x)
{
    same_bits bits;
    const daruma_str s = x->s;
    bits_of(s, &bits);
    x->bits = &bits;
    for (size_t i = 0; i < s.n;) {
        char c = s.p[i];
        if (ch_space(c)) {
            if (c == '\n')
                end_line(x);
            i++;
            continue;
        }
        if (!(bits_from(bits.word, i) & 1)) {
            x->signs = x->signs * 131 + (unsigned char)c;
            i++;
            continue;
        }
        if (ch_digit(c)) {
            i += scan_number(x, i);
            continue;
        }
        size_t n = bits_in_row(bits.word, i), uuid = n == 8 ? uuid_at(str_from(s, i)) : 0;
        if (uuid) {
            leave_out(x, word_hash(s.p + i, uuid, 0));
            i += uuid;
            continue;
        }
        i += scan_word(x, i, n);
        size_t gap = name_ends(s, i);
        if (gap && (means_before(x) & NAME_VOLATILE) && i + gap < s.n && s.p[i + gap] != '\n') {
            x->tells -= x->tells > 0;
            i += gap;
            i += volatile_value(x, i);
        } else if (gap) {
            x->tells -= x->tells > 0; /* a name tells nothing by itself */
        }
    }
    x->bits = NULL;
}

/* What is between the ends of an answer: of `text` without white space around it. */
static daruma_str between(daruma_str text, size_t most)
{
    return str_sub(text, most / 2, text.n - most);
}

static uint64_t hash_of(daruma_str s)
{
    return XXH3_64bits(s.n ? s.p : "", s.n);
}

same_bytes same_of_bytes(const daruma_step *step, uint64_t tool)
{
    daruma_str text = str_trim(step->result);
    uint64_t how = (uint64_t)(step->ok + 1) << 1 | step->lost, ends, middle = 0;
    if (text.n > SAME_ANSWER_BYTES_MAX) { /* one after the other, as they come into the cache */
        ends = hash_of(str_sub(text, 0, SAME_ANSWER_BYTES_MAX / 2));
        middle = hash_of(between(text, SAME_ANSWER_BYTES_MAX));
        ends = mix(ends, hash_of(str_from(text, text.n - SAME_ANSWER_BYTES_MAX / 2)));
    } else {
        ends = hash_of(text);
    }
    uint64_t all = mix(mix(ends, middle), step->result.n);
    all = mix(mix(all, (size_t)(text.p - step->result.p)), how);
    uint64_t call = mix(mix(tool, hash_of(step->args)), step->traits);
    return (same_bytes){.step = end(mix(call, all)), .middle = middle};
}

static scan scan_of(daruma_str text, bool failed, const same_call *call)
{
    scan x = {.s = text, .failed = failed, .call = call, .stays = SAME_K1, .masked = SAME_K1};
    for (uint32_t i = 0; call && i < call->necho; i++)
        bag_put(x.echo, call->echo[i]);
    return x;
}

same_result same_of_result(daruma_str result, bool failed, const same_call *call, const same_bytes *bytes,
                           told_pairs *told)
{
    scan x = scan_of(without_envelope(str_trim(result)), failed, call);
    daruma_str opens = x.s;
    while (opens.n && !ch_word(opens.p[0])) /* "{" on a line of its own says nothing of what comes */
        opens = str_from(opens, 1);
    opens = str_sub(opens, 0, OPENS_BYTES);
    uint64_t new_pairs[NEWS_KEPT];
    x.told = told;
    x.new_pairs = new_pairs;
    size_t most = failed ? SAME_FAILURE_BYTES_MAX : SAME_ANSWER_BYTES_MAX;
    bool json = x.s.n && x.s.p[0] == '{';
    if (x.s.n > most) {
        daruma_str tail = str_from(x.s, x.s.n - most / 2);
        uint64_t middle = failed ? 0 : bytes ? bytes->middle : hash_of(between(x.s, most)); /* of a report, its ends */
        x.s = str_sub(x.s, 0, most / 2);
        scan_text(&x);
        keep(&x, middle, middle);
        x.s = tail;
    }
    scan_text(&x);
    end_line(&x);
    keep(&x, 0, 0);
    /* What is left when the volatile is gone must still be an answer: else the volatile was it. */
    bool enough = failed || x.tells >= (json ? 1 : SAME_TOLD_MIN);
    uint64_t result_is = end(mix(x.stays, x.lines)), plain = end(mix(result_is, x.noise)),
             list = x.drawn ? result_is : end(mix(x.stays, x.sum));
    bool all = x.left_out && !enough;
    same_result r = {.result = all ? plain : result_is,
                     .list = all ? plain : list,
                     .plain = plain,
                     .masked = end(x.masked),
                     .echoes = x.echoes,
                     .varies = x.left_out > 0,
                     .opens = hash_of(str_sub(opens, 0, str_findch(opens, '\n'))),
                     .pairs = x.pairs,
                     .news = x.news};
    for (uint32_t i = 0; told && i < x.news && i < NEWS_KEPT; i++)
        told_put(told, x.new_pairs[i]);
    memcpy(r.words, x.words, sizeof r.words);
    return r;
}

uint64_t daruma_result_hash(daruma_str result, bool failed)
{
    return same_of_result(result, failed, NULL, NULL, NULL).result;
}
