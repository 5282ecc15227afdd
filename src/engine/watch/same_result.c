/* same_result.c - canonical results, as hashes: without what changes by itself. In a success that is little, since a
 * number that moves may be what was asked for; in a failure all numbers are, and the order of its words.
 *
 * What stays is hashed into one chain, what may be left out into others, each with its own reason:
 *
 *     found 3 rows in 12 ms, request 3f2504e0-...
 *     stays ------- # ------ # ----  times: 12   noise: 3f2504e0-...
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
    uint64_t stays;        /* what always counts; of a failure in any order */
    uint64_t noise;        /* what never does */
    uint64_t times;        /* how long it took */
    uint64_t tokens;       /* what looks drawn by lot */
    uint64_t masked;       /* as `stays`, without any number, nor words of the arguments */
    uint64_t words[SAME_BAG];
    uint64_t echo;           /* a bit for each word of the arguments */
    uint64_t signs;          /* what stood between the word before and this place */
    uint32_t left_out, told; /* how much is noise; words that tell something */
    uint32_t said;           /* words that may tell nothing, but are no tokens */
    bool echoes;
} scan;

enum { IN_WORD = 1, IS_DIGIT = 2, IS_HEX = 4 };
enum { TOLD_ENOUGH = 8 }; /* words that tell something; counting on would change nothing */

/* What a byte is: ch_word(), ch_digit(), a digit of base 16. */
// clang-format off
static const unsigned char kinds[256] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0, 0, 0, 0, 0, 0,
    0, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1,
    0, 5, 5, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
};
// clang-format on

static unsigned kind_of(char c)
{
    return kinds[(unsigned char)c];
}

static bool is_hex(char c)
{
    return kind_of(c) & IS_HEX;
}

/* Bytes of a UUID at the beginning, 0 none. */
static size_t uuid_at(daruma_str s)
{
    if (s.n < 36 || s.p[8] != '-' || s.p[13] != '-')
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
    for (; n < s.n; n++) {
        char c = s.p[n];
        bool inside = c == '.' || c == ':' || c == '-' || c == ',' || c == 'T';
        if (!ch_digit(c) && !(inside && n + 1 < s.n && ch_digit(s.p[n + 1])))
            break;
    }
    if (n >= 10 && n < s.n && s.p[n] == 'Z')
        n++;
    return n;
}

/* Bytes of a unit of time that follows a number, white space before it with them; 0 none. */
static size_t unit_at(daruma_str s)
{
    static const daruma_str units[] = {{"ms", 2},      {"s", 1},      {"us", 2},     {"ns", 2},    {"m", 1},
                                       {"h", 1},       {"sec", 3},    {"secs", 4},   {"min", 3},   {"mins", 4},
                                       {"seconds", 7}, {"second", 6}, {"minute", 6}, {"hours", 5}, {"minutes", 7}};
    size_t gap = s.n && s.p[0] == ' ' ? 1 : 0, n = gap;
    if (n == s.n || (s.p[n] != 'm' && s.p[n] != 's' && s.p[n] != 'u' && s.p[n] != 'n' && s.p[n] != 'h'))
        return 0;
    while (n < s.n && n < gap + 8 && ch_alpha(s.p[n]))
        n++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_eq(str_sub(s, gap, n - gap), units[i]))
            return n;
    return 0;
}

static uint64_t take_signs(scan *x)
{
    uint64_t signs = x->signs * SAME_K2;
    x->signs = 0;
    return signs;
}

static void keep(scan *x, uint64_t w, uint64_t masked)
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

/* Numbers that changes by themselves, in a success: after "took", in "(0.12s)", after "pid", after "fetched at". */
static size_t volatile_number(const scan *x, size_t i, size_t n)
{
    daruma_str rest = str_from(x->s, i + n);
    size_t unit = unit_at(rest);
    bool moment = n >= 8, process = x->before.n == 3 && str_ieq(x->before, S("pid"));
    if (!unit && !moment)
        return process ? n : 0;
    char open = i > 0 ? x->s.p[i - 1] : 0, close = rest.n > unit ? rest.p[unit] : 0;
    if (unit && (open == '(' || open == '[') && (close == ')' || close == ']'))
        return n + unit;
    unsigned before = x->before.n ? words_of_name(x->before) : 0;
    if (unit && (before & (NAME_UNIT | NAME_VOLATILE)))
        return n + unit;
    return moment && (before & NAME_WHEN) ? n : 0;
}

static bool is_echo(const scan *x, uint64_t folded)
{
    folded ^= folded >> 32;
    if (!(x->echo >> (folded & 63) & 1))
        return false;
    for (uint32_t i = 0; x->call && i < x->call->necho; i++)
        if (x->call->echo[i] == (uint32_t)folded)
            return true;
    return false;
}

/* Words that tell nothing beside a time: "done in 3 s". */
static bool is_hollow(daruma_str word)
{
    static const daruma_str rows[] = {{"ok", 2},       {"in", 2},       {"true", 4},      {"done", 4},
                                      {"real", 4},     {"user", 4},     {"null", 4},      {"none", 4},
                                      {"took", 4},     {"time", 4},     {"sys", 3},       {"false", 5},
                                      {"total", 5},    {"status", 6},   {"result", 6},    {"success", 7},
                                      {"finished", 8}, {"complete", 8}, {"completed", 9}, {"successful", 10}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (word.n == rows[i].n && str_ieq(word, rows[i]))
            return true;
    return false;
}

/* How often letters and digits, or small letters and capitals, take turns. */
static unsigned turns_of(daruma_str word, bool capitals)
{
    unsigned turns = 0, before = 0;
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];
        unsigned now = ch_digit(c) ? 1 : !ch_alpha(c) ? 0 : capitals && ch_lower(c) != c ? 2 : 3;
        turns += before && now && now != before;
        before = now ? now : before;
    }
    return turns;
}

/* "3f2a91bc", "b4s3k9dq", "aB3xQ9kz": a word with digits that looks drawn by lot. "x86_64" and "line12" do not. */
static bool is_token(daruma_str word, size_t digits, size_t hex, bool failed)
{
    enum { HEX = 7, MIXED = 7, CAPITALS = 8, FAILED = 6 };
    if (hex == word.n && word.n >= HEX && digits < word.n)
        return true;
    return (word.n >= MIXED && turns_of(word, false) >= 3) || (word.n >= CAPITALS && turns_of(word, true) >= 4) ||
           (failed && word.n >= FAILED && turns_of(word, true) >= 3);
}

/* A directory or file of this run alone: "tmpx7f3k_q", "/tmp/build", "tmp.aB3xQ9kz". */
static bool is_temporary(const scan *x, daruma_str word, size_t i)
{
    enum { OWN = 8 };
    if (word.n >= OWN && str_istarts(word, S("tmp")))
        return true;
    bool below = str_ieq(x->before, S("tmp")) || str_ieq(x->before, S("temp"));
    return below && i > 0 && memchr("/\\.-", x->s.p[i - 1], 4);
}

static size_t scan_word(scan *x, size_t i)
{
    size_t n = 1, digits = 0, hex = 0;
    const char *p = x->s.p + i;
    for (n = 0; i + n < x->s.n; n++) {
        unsigned kind = kind_of(p[n]);
        if (!(kind & IN_WORD))
            break;
        digits += (kind & IS_DIGIT) != 0;
        hex += (kind & IS_HEX) != 0;
    }
    daruma_str word = {p, n};
    uint64_t w = word_hash(p, n, 0), folded = word_hash(p, n, FOLD_CASE);
    bool address = n > 4 && p[0] == '0' && ch_lower(p[1]) == 'x';
    bool id = digits && (hex == n || address) && n >= 6;
    bool echo = is_echo(x, folded);
    bag_put(x->words, folded ^ (folded >> 32));
    x->echoes |= echo;
    bool token = digits && !address && is_token(word, digits, hex, x->failed);
    if (address || (x->failed && (id || token || is_temporary(x, word, i)))) {
        leave_out(x, w);
    } else if (token && !(words_of_name(x->before) & NAME_DIGEST)) {
        keep(x, '#', echo ? '@' : '#');
        x->tokens = mix(x->tokens, w);
    } else if (digits && x->failed) {
        /* "line12": the number is left out, the word stays */
        uint64_t h = 37;
        for (size_t k = 0; k < n; k++)
            h = ch_digit(p[k]) ? h : mix(h, (unsigned char)p[k]);
        keep(x, h, echo ? '@' : '#');
        x->noise = mix(x->noise, w);
    } else {
        keep(x, w, echo ? '@' : digits ? '#' : w);
    }
    x->told += x->told < TOLD_ENOUGH && !address && !token && !is_hollow(word);
    x->said += !address && !token;
    x->before = word;
    return n;
}

/* Of "2026-071" in a failure each part may stand in the arguments. */
static bool echoes_number(const scan *x, daruma_str number)
{
    if (!x->echo)
        return false;
    for (size_t i = 0; x->failed && i < number.n;) {
        size_t from = i;
        while (i < number.n && ch_digit(number.p[i]))
            i++;
        if (i > from && is_echo(x, word_hash(number.p + from, i - from, FOLD_CASE)))
            return true;
        i += i < number.n;
    }
    return is_echo(x, word_hash(number.p, number.n, FOLD_CASE));
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
    x->echoes |= echoes_number(x, str_sub(rest, 0, n));
    if (x->failed && unit_at(str_from(rest, n))) { /* how long it took is no news */
        keep(x, '#', '#');
        return n;
    }
    if (x->failed) {
        leave_out(x, w);
        return n;
    }
    more = volatile_number(x, i, n);
    if (more) {
        leave_out(x, word_hash(rest.p, more, 0));
        return more;
    }
    if (unit_at(str_from(x->s, i + n))) {
        keep(x, '#', '#');
        x->times = mix(x->times, w);
    } else {
        keep(x, w, '#');
    }
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
        unsigned kind = kind_of(c);
        if (kind & IS_DIGIT) {
            i += scan_number(x, i);
            continue;
        }
        if (!(kind & IN_WORD)) {
            x->signs = x->signs * 131 + (unsigned char)c;
            i++;
            continue;
        }
        size_t uuid = kind & IS_HEX ? uuid_at(str_from(x->s, i)) : 0;
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
    if (text.n > SAME_ANSWER_BYTES_MAX) {
        middle = hash_of(between(text, SAME_ANSWER_BYTES_MAX));
        ends = mix(hash_of(str_sub(text, 0, SAME_ANSWER_BYTES_MAX / 2)),
                   hash_of(str_from(text, text.n - SAME_ANSWER_BYTES_MAX / 2)));
    } else {
        ends = hash_of(text);
    }
    uint64_t all = mix(mix(ends, middle), step->result.n);
    all = mix(mix(all, (size_t)(text.p - step->result.p)), how);
    uint64_t call = mix(mix(tool, hash_of(step->args)), step->traits);
    return (same_bytes){.step = end(mix(call, all)), .text = end(all), .middle = middle};
}

/* What is said of a process that ended, whatever was in its way. */
static bool is_general(daruma_str line)
{
    static const daruma_str rows[] = {
        {"*** [", 5},           {"exit code", 9},        {"exit status", 11},      {"error generated", 15},
        {"aborting due", 12},   {"complete log", 12},    {"debug log", 9},         {"non-zero", 8},
        {"command failed", 14}, {"build failed", 12},    {"tests failed", 12},     {"test failed", 11},
        {"see above", 9},       {"errors occurred", 15}, {"errors generated", 16}, {"error occurred", 14},
        {"for more info", 13},  {"full log", 8},         {"see the", 7},           {"try --help", 10},
        {"terminated", 10},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_ifind(line, rows[i]) != STR_NONE)
            return true;
    return false;
}

static bool says_error(daruma_str text)
{
    static const daruma_str marks[] = {{"error", 5},  {"exception", 9}, {"fatal", 5},
                                       {"denied", 6}, {"errno", 5},     {"cannot", 6}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_ifind(text, marks[i]) != STR_NONE)
            return true;
    return false;
}

/* The last line of a failure, where it alone says what went wrong, whatever was done before; else nothing. */
static daruma_str last_words(daruma_str text)
{
    enum { SHORTEST = 20, LONGEST = 400, BEFORE = 2000 };
    bool inside = text.n && (text.p[0] == '{' || text.p[0] == '"'); /* there "\\n" is a line break */
    size_t from = text.n;
    while (from > 0 && text.p[from - 1] != '\n' &&
           !(inside && from > 1 && text.p[from - 1] == 'n' && text.p[from - 2] == '\\'))
        from--;
    daruma_str line = str_trim(str_from(text, from)), before = str_sub(text, 0, from);
    if (from == 0 || from > BEFORE || line.n < SHORTEST || line.n > LONGEST)
        return (daruma_str){0};
    return says_error(line) && !says_error(before) && !is_general(line) ? line : (daruma_str){0};
}

static scan scan_of(daruma_str text, bool failed, const same_call *call)
{
    scan x = {.s = text, .failed = failed, .call = call, .stays = SAME_K1, .masked = SAME_K1};
    for (uint32_t i = 0; call && i < call->necho; i++)
        x.echo |= UINT64_C(1) << (call->echo[i] & 63);
    return x;
}

same_result same_of_result(daruma_str result, bool failed, const same_call *call, const same_bytes *bytes)
{
    scan x = scan_of(str_trim(result), failed, call);
    daruma_str line = failed ? last_words(x.s) : (daruma_str){0};
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
    keep(&x, 0, 0);
    /* What is left when the volatile is gone must still be an answer: else the volatile was it. */
    bool told = failed || x.told >= (json ? 1 : SAME_TOLD_MIN);
    bool said = told || (!json && x.said >= SAME_TOLD_MIN);
    uint64_t timed = end(x.stays), fresh = end(mix(x.stays, x.times)), result_is = end(mix(fresh, x.tokens)),
             plain = end(mix(result_is, x.noise));
    result_is = x.left_out && !told ? plain : result_is;
    same_result r = {.result = result_is,
                     .plain = plain,
                     .masked = end(x.masked),
                     .timed = told ? timed : result_is,
                     .fresh = said ? fresh : result_is,
                     .last = end(x.masked),
                     .echoes = x.echoes};
    memcpy(r.words, x.words, sizeof r.words);
    if (line.n) {
        scan l = scan_of(line, true, NULL);
        scan_text(&l);
        keep(&l, 0, 0);
        r.last = end(l.masked);
    }
    return r;
}

uint64_t daruma_result_hash(daruma_str result, bool failed)
{
    return same_of_result(result, failed, NULL, NULL).result;
}
