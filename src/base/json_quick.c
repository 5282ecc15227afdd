/* json_quick.c - where an object or array ends, told by its strings and brackets alone.
 *
 * 64 bytes become four words of 64 bits, one bit a byte: quotes, backslashes, opening and closing
 * brackets. Bit arithmetic then drops the escaped quotes, fills the strings and drops the brackets
 * within them; most blocks of a prompt have no quote at all and cost only the words. The method is
 * that of Langdale and Lemire, "Parsing Gigabytes of JSON per Second", section 3. */
#include "base/json.h"
#include "base/str.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef struct marks {
    uint64_t quote, slash, open, close;
} marks;

/* Is there no quote and no backslash in these 64 bytes? Then a string goes on behind them. */
#if defined(__SSE2__)
static inline bool plain64(const char *p)
{
    __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), hits = _mm_setzero_si128();
    for (int i = 0; i < 4; i++) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + 16 * i));
        hits = _mm_or_si128(hits, _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
    }
    return _mm_movemask_epi8(hits) == 0;
}

/* One bit for each byte of the four that equals `c`. */
static inline uint64_t equal64(const __m128i v[4], char c)
{
    const __m128i want = _mm_set1_epi8(c);
    uint64_t b0 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[0], want));
    uint64_t b1 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[1], want));
    uint64_t b2 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[2], want));
    uint64_t b3 = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v[3], want));
    return b0 | b1 << 16 | b2 << 32 | b3 << 48;
}

static inline marks mark64(const char *p)
{
    const __m128i *at = (const __m128i *)(const void *)p, bit = _mm_set1_epi8(0x20);
    __m128i v[4] = {_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2), _mm_loadu_si128(at + 3)};
    marks m = {.quote = equal64(v, '"'), .slash = equal64(v, '\\')};
    for (int i = 0; i < 4; i++)
        v[i] = _mm_or_si128(v[i], bit); /* [ becomes {, ] becomes } */
    m.open = equal64(v, '{');
    m.close = equal64(v, '}');
    return m;
}
#else
static bool plain64(const char *p)
{
    return !memchr(p, '"', 64) && !memchr(p, '\\', 64);
}

static marks mark64(const char *p)
{
    marks m = {0};
    for (int i = 0; i < 64; i++) {
        m.quote |= (uint64_t)(p[i] == '"') << i;
        m.slash |= (uint64_t)(p[i] == '\\') << i;
        m.open |= (uint64_t)((p[i] | 0x20) == '{') << i;
        m.close |= (uint64_t)((p[i] | 0x20) == '}') << i;
    }
    return m;
}
#endif

/* Bits of the bytes that a backslash escapes; *carry: the first byte of the next block is one. */
static inline uint64_t escaped(uint64_t slash, uint64_t *carry)
{
    const uint64_t even = 0x5555555555555555u;
    slash &= ~*carry;
    uint64_t follows = slash << 1 | *carry;
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
static inline int count(uint64_t x)
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

/* The offset behind the bracket that closes the first one, or 0 when it is not in this block. */
static inline size_t block(quick *q, marks m)
{
    if (m.slash | q->carry)
        m.quote &= ~escaped(m.slash, &q->carry);
    uint64_t in = q->inside;
    if (m.quote) {
        in ^= parity(m.quote);
        q->inside = in >> 63 ? ~(uint64_t)0 : 0;
    }
    m.open &= ~in;
    m.close &= ~in;
    for (; m.close; m.close &= m.close - 1) {
        uint64_t below = (m.close & -m.close) - 1;
        q->depth += count(m.open & below) - 1;
        m.open &= ~below;
        if (q->depth == 0)
            return (size_t)__builtin_ctzll(m.close) + 1;
    }
    q->depth += count(m.open);
    return 0;
}

const char *json_end_quick(const char *p, const char *end)
{
    char last[64] = {0}; /* the rest, with nothing behind it */
    for (quick q = {0};; p += 64) {
        bool rest = end - p < 64;
        if (rest)
            memcpy(last, p, (size_t)(end - p));
        else if (q.inside && !q.carry && plain64(p))
            continue;
        size_t n = block(&q, mark64(rest ? last : p));
        if (n)
            return p + n;
        if (rest)
            return NULL;
    }
}
