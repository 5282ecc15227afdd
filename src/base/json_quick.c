/* json_quick.c - where an object, array or string ends, told by quotes and brackets alone.
 *
 * 64 bytes become four words of 64 bits, one bit a byte: quotes, backslashes, opening and closing
 * brackets. Bit arithmetic then drops the escaped quotes, fills the strings and drops the brackets
 * within them; most blocks of a prompt lie within a string and need no brackets. The method is
 * that of Langdale and Lemire, "Parsing Gigabytes of JSON per Second", section 3. */
#include "base/json.h"
#include "base/scan.h"
#include "base/str.h"

/* Bits of the bytes that a backslash escapes; *carry: the first byte of the next block is one. */
static inline uint64_t escaped(uint64_t slash, uint64_t *carry)
{
    const uint64_t even = 0x5555555555555555u;
    slash &= ~*carry;
    uint64_t follows = slash << 1 | *carry;
    if (!(slash & follows)) { /* none follows another: nearly always */
        *carry = slash >> 63;
        return follows;
    }
    uint64_t odd_starts = slash & ~even & ~follows, sum;
    *carry = __builtin_add_overflow(odd_starts, slash, &sum);
    return (even ^ sum << 1) & follows;
}

/* Every bit becomes the parity of itself and those below: the inside of the strings. */
static inline uint64_t parity(uint64_t x)
{
    for (int by = 1; by < 64; by *= 2)
        x ^= x << by;
    return x;
}

/* Bits that are set; seldom more than a few. */
static inline int json_quick_count(uint64_t x)
{
    int n = 0;
    for (; x; x &= x - 1)
        n++;
    return n;
}

/* What one block needs of the ones before it. */
typedef struct quick {
    uint64_t carry;  /* the first byte is escaped */
    uint64_t inside; /* all ones: it begins within a string */
    int64_t depth;   /* open brackets */
} quick;

/* Open brackets at the end of the block, or the offset behind the one that closes the first: *ret. */
static inline bool brackets(quick *q, uint64_t open, uint64_t close, size_t *ret)
{
    for (; close; close &= close - 1) {
        uint64_t below = (close & -close) - 1;
        q->depth += json_quick_count(open & below) - 1;
        open &= ~below;
        if (q->depth == 0) {
            *ret = (size_t)__builtin_ctzll(close) + 1;
            return true;
        }
    }
    q->depth += json_quick_count(open);
    return false;
}

#define INLINE static inline __attribute__((always_inline)) /* into each of the instruction sets below */

/* Does the first bracket close in these 64 bytes? */
INLINE bool block(quick *q, const char *p, scan_equal64 *equal, size_t *ret)
{
    uint64_t quote = equal(p, '"', 0), slash = equal(p, '\\', 0), in = q->inside;
    if (slash | q->carry)
        quote &= ~escaped(slash, &q->carry);
    if (quote) {
        in ^= parity(quote);
        q->inside = in >> 63 ? ~(uint64_t)0 : 0;
    } else if (in) {
        return false; /* most of a prompt: the inside of a string */
    }
    /* With this bit [ becomes {, ] becomes }, and nothing else becomes one of these. */
    return brackets(q, equal(p, '{', 0x20) & ~in, equal(p, '}', 0x20) & ~in, ret);
}

INLINE const char *blocks(quick q, const char *p, const char *end, scan_equal64 *equal)
{
    char last[64] = {0}; /* the rest, with nothing behind it */
    size_t n;
    for (; end - p >= 64; p += 64)
        if (block(&q, p, equal, &n))
            return p + n;
    memcpy(last, p, (size_t)(end - p));
    return block(&q, last, equal, &n) ? p + n : NULL;
}

/* Does the string end in these 64 bytes? */
INLINE bool string_block(uint64_t *carry, const char *p, scan_equal64 *equal, size_t *ret)
{
    uint64_t quote = equal(p, '"', 0), slash = equal(p, '\\', 0);
    if (slash | *carry)
        quote &= ~escaped(slash, carry);
    *ret = quote ? (size_t)__builtin_ctzll(quote) + 1 : 0;
    return quote != 0;
}

/* From behind the opening quote. */
INLINE const char *string_blocks(const char *p, const char *end, scan_equal64 *equal)
{
    char last[64] = {0};
    uint64_t carry = 0;
    size_t n;
    for (; end - p >= 64; p += 64)
        if (string_block(&carry, p, equal, &n))
            return p + n;
    memcpy(last, p, (size_t)(end - p));
    return string_block(&carry, last, equal, &n) ? p + n : NULL;
}

SCAN_AVX2 static const char *string_blocks_avx2(const char *p, const char *end)
{
    return string_blocks(p, end, scan_equal64_avx2);
}

static const char *find_string_end(const char *p, const char *end)
{
    return scan_has_avx2() ? string_blocks_avx2(p, end) : string_blocks(p, end, scan_equal64_plain);
}

SCAN_AVX2 static const char *blocks_avx2(quick q, const char *p, const char *end)
{
    return blocks(q, p, end, scan_equal64_avx2);
}

static const char *find_end(quick q, const char *p, const char *end)
{
    return scan_has_avx2() ? blocks_avx2(q, p, end) : blocks(q, p, end, scan_equal64_plain);
}

const char *json_string_end_quick(const char *p, const char *end)
{
    if (end - p > 16) { /* most words of a protocol end within 16 bytes */
        scan16 v = scan_load(p + 1);
        unsigned odd = scan_bits(scan_is(v, '"') | scan_is(v, '\\'));
        const char *first = p + 1 + (odd ? __builtin_ctz(odd) : 0);
        if (odd && *first == '"')
            return first + 1;
    }
    return find_string_end(p + 1, end);
}

const char *json_end_quick(const char *p, const char *end)
{
    return find_end((quick){0}, p, end);
}

const char *json_rest_quick(const char *p, const char *end)
{
    return find_end((quick){.depth = 1}, p, end);
}
