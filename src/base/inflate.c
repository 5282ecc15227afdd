/* inflate.c - deflate, read: blocks of literals and of references to what was said before, in codes of one to fifteen
 * bits. */
#include "base/inflate.h"
#include "base/buf.h"
#include "base/str.h"

enum { CODE_BITS_MAX = 15, LITERALS_MAX = 288, DISTANCES_MAX = 30 };

typedef struct reading {
    daruma_str in; /* what was not looked at yet */
    uint32_t bits;
    int nbits; /* in `bits`, not used yet */
    bool bad;
    daruma_buf *out;
    size_t from, max; /* where it began in `out`; how many bytes it may be */
} reading;

/* A code: how many words have so many bits, and the words in the order of their bits (RFC 1951 3.2.2). */
typedef struct code {
    uint16_t count[CODE_BITS_MAX + 1], words[LITERALS_MAX];
} code;

static uint32_t take(reading *r, int n)
{
    while (r->nbits < n && !r->bad) {
        if (!r->in.n) {
            r->bad = true;
            return 0;
        }
        r->bits |= (uint32_t)(unsigned char)r->in.p[0] << r->nbits;
        r->nbits += 8;
        r->in = str_from(r->in, 1);
    }
    uint32_t v = r->bits & (((uint32_t)1 << n) - 1);
    r->bits >>= n;
    r->nbits -= n;
    return v;
}

static size_t said(const reading *r)
{
    return r->out->n - r->from;
}

static void say(reading *r, daruma_str bytes)
{
    r->bad |= bytes.n > r->max - said(r);
    if (!r->bad)
        buf_put(r->out, bytes);
    r->bad |= r->out->full;
}

/* False: more words than so many bits can tell apart. Fewer are allowed: a code of one word has one. */
static bool make_code(code *c, const uint8_t *lengths, int n)
{
    uint16_t at[CODE_BITS_MAX + 1] = {0};
    int left = 1;
    *c = (code){0};
    for (int i = 0; i < n; i++)
        c->count[lengths[i]]++;
    c->count[0] = 0;
    for (int bits = 1; bits <= CODE_BITS_MAX; bits++) {
        left = left * 2 - c->count[bits];
        if (left < 0)
            return false;
    }
    for (int bits = 1; bits < CODE_BITS_MAX; bits++)
        at[bits + 1] = (uint16_t)(at[bits] + c->count[bits]);
    for (int i = 0; i < n; i++)
        if (lengths[i])
            c->words[at[lengths[i]]++] = (uint16_t)i;
    return true;
}

static int take_word(reading *r, const code *c)
{
    int value = 0, first = 0, index = 0;
    for (int bits = 1; bits <= CODE_BITS_MAX && !r->bad; bits++) {
        value |= (int)take(r, 1);
        if (value - first < c->count[bits])
            return c->words[index + value - first];
        index += c->count[bits];
        first = (first + c->count[bits]) * 2;
        value *= 2;
    }
    r->bad = true;
    return 0;
}

/* So many bytes that were said so far back; some of them may be said only now. */
static void say_again(reading *r, size_t n, size_t back)
{
    r->bad |= back > said(r);
    for (size_t i = 0; i < n && !r->bad; i++)
        say(r, (daruma_str){(char[]){r->out->p[r->out->n - back]}, 1});
}

static void read_coded(reading *r, const code *literals, const code *distances)
{
    static const uint16_t lengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const uint16_t backs[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                     33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                     1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    while (!r->bad) {
        int word = take_word(r, literals);
        if (r->bad || word == 256)
            return;
        if (word < 256) {
            say(r, (daruma_str){(char[]){(char)word}, 1});
            continue;
        }
        int of = word - 257;
        if (of >= (int)COUNT(lengths)) {
            r->bad = true;
            return;
        }
        size_t n = lengths[of] + take(r, of < 8 || of == 28 ? 0 : of / 4 - 1);
        int to = take_word(r, distances);
        if (r->bad || to >= DISTANCES_MAX) {
            r->bad = true;
            return;
        }
        say_again(r, n, backs[to] + take(r, to < 4 ? 0 : to / 2 - 1));
    }
}

static void read_stored(reading *r)
{
    r->bits = 0;
    r->nbits = 0; /* the rest of the byte */
    size_t n = take(r, 16);
    r->bad |= take(r, 16) != (~n & 0xffff) || r->in.n < n;
    if (r->bad)
        return;
    say(r, str_sub(r->in, 0, n));
    r->in = str_from(r->in, n);
}

static void read_fixed(reading *r)
{
    uint8_t lengths[LITERALS_MAX];
    code literals, distances;
    for (int i = 0; i < LITERALS_MAX; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literals, lengths, LITERALS_MAX);
    for (int i = 0; i < DISTANCES_MAX; i++)
        lengths[i] = 5;
    make_code(&distances, lengths, DISTANCES_MAX);
    read_coded(r, &literals, &distances);
}

static void read_dynamic(reading *r)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS_MAX + 32] = {0};
    int nliterals = (int)take(r, 5) + 257, ndistances = (int)take(r, 5) + 1, n = (int)take(r, 4) + 4, at = 0;
    code literals, distances;
    for (int i = 0; i < n; i++)
        lengths[order[i]] = (uint8_t)take(r, 3);
    r->bad |= nliterals > 286 || ndistances > DISTANCES_MAX || !make_code(&literals, lengths, COUNT(order));
    memset(lengths, 0, sizeof lengths);
    while (at < nliterals + ndistances && !r->bad) {
        int word = take_word(r, &literals), times = 1;
        uint8_t length = (uint8_t)word;
        if (word >= 16) {
            r->bad |= word == 16 && at == 0;
            length = word == 16 && at ? lengths[at - 1] : 0;
            times = word == 16 ? 3 + (int)take(r, 2) : word == 17 ? 3 + (int)take(r, 3) : 11 + (int)take(r, 7);
        }
        r->bad |= at + times > nliterals + ndistances;
        while (times-- && !r->bad)
            lengths[at++] = length;
    }
    if (r->bad || !lengths[256] || !make_code(&literals, lengths, nliterals) ||
        !make_code(&distances, lengths + nliterals, ndistances))
        r->bad = true;
    else
        read_coded(r, &literals, &distances);
}

/* *rest: what stands behind it. */
static bool read_blocks(daruma_str in, daruma_buf *out, size_t max, daruma_str *rest)
{
    reading r = {.in = in, .out = out, .from = out->n, .max = max};
    for (bool last = false; !last && !r.bad;) {
        last = take(&r, 1);
        switch (take(&r, 2)) {
        case 0:
            read_stored(&r);
            break;
        case 1:
            read_fixed(&r);
            break;
        case 2:
            read_dynamic(&r);
            break;
        default:
            r.bad = true;
        }
    }
    *rest = r.in;
    return !r.bad;
}

static uint32_t number_at(daruma_str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t crc_of(daruma_str s)
{
    uint32_t crc = ~(uint32_t)0;
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* A text that ends with a zero byte; false: it does not. */
static bool pass_text(daruma_str *in)
{
    size_t end = str_findch(*in, 0);
    if (end == STR_NONE)
        return false;
    *in = str_from(*in, end + 1);
    return true;
}

bool inflate_gzip(daruma_str in, daruma_buf *out, size_t max)
{
    enum { HEAD = 10, CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, TAIL = 8 };
    size_t from = out->n;
    if (in.n < HEAD + TAIL || !str_starts(in, S("\x1f\x8b\x08")))
        return false;
    int flags = in.p[3];
    in = str_from(in, HEAD);
    if (flags & EXTRA) {
        size_t n = 2 + ((unsigned char)in.p[0] | (size_t)(unsigned char)in.p[1] << 8);
        if (n > in.n)
            return false;
        in = str_from(in, n);
    }
    if (((flags & NAME) && !pass_text(&in)) || ((flags & COMMENT) && !pass_text(&in)))
        return false;
    if (flags & CRC)
        in = str_from(in, in.n < 2 ? in.n : 2);
    if (!read_blocks(in, out, max, &in) || in.n < TAIL)
        return false;
    daruma_str text = str_from(buf_str(out), from);
    return number_at(in) == crc_of(text) && number_at(str_from(in, 4)) == (uint32_t)text.n;
}

bool inflate_zlib(daruma_str in, daruma_buf *out, size_t max)
{
    size_t from = out->n;
    const unsigned char *p = (const unsigned char *)in.p;
    bool head = in.n > 2 && (p[0] & 15) == 8 && (p[0] << 8 | p[1]) % 31 == 0 && !(p[1] & 32);
    daruma_str rest;
    if (head && read_blocks(str_from(in, 2), out, max, &rest) && rest.n >= 4)
        return true;
    out->n = from;
    return read_blocks(in, out, max, &rest);
}
