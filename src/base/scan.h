/* scan.h - bytes compared many at a time: the only file that knows the processor.
 *
 * 16 bytes are compared with a byte or a range. Each becomes 0xff where it holds, 0 where not, so that | & ~ join what
 * was found; scan_bits() makes a bit of each, the first byte's the lowest:
 *
 *     scan16 v = scan_load(p);
 *     unsigned odd = scan_bits(scan_is(v, '"') | scan_is(v, '\\') | scan_range(v, 0, 0x1f));
 *
 * The compiler makes the comparisons of what the processor has (SSE2, NEON, else plain words). The loops that whole
 * prompts go through take AVX2 where the machine has it. */
#ifndef BASE_SCAN_H
#define BASE_SCAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#define SCAN_AVX2 __attribute__((target("avx2"))) /* on a function that is called only when scan_has_avx2() */
#else
#define SCAN_AVX2
#endif

typedef uint8_t scan16 __attribute__((vector_size(16)));
typedef int8_t scan16_signed __attribute__((vector_size(16)));

static inline scan16 scan_load(const char *p)
{
    scan16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* The first and the last 8 of the bytes from `p` to `end`, 8 at least. */
static inline scan16 scan_load_ends(const char *p, const char *end)
{
    uint64_t a, b;
    memcpy(&a, p, sizeof a);
    memcpy(&b, end - sizeof b, sizeof b);
    return (scan16)(uint64_t __attribute__((vector_size(16)))){a, b};
}

static inline scan16 scan_all(uint8_t c)
{
    return (scan16){c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c};
}

/* Which bytes are `c`. */
static inline scan16 scan_is(scan16 v, char c)
{
    return (scan16)(v == scan_all((uint8_t)c));
}

/* Which bytes are from `first` to `last`, both included and not all there are. They are moved to the top of the signed
 * numbers, where one comparison is enough. */
static inline scan16 scan_range(scan16 v, uint8_t first, uint8_t last)
{
    scan16 up = v + scan_all((uint8_t)(0x7f - last)), below = scan_all((uint8_t)(0x7f - (last - first) - 1));
    return (scan16)((scan16_signed)up > (scan16_signed)below);
}

/* The top bit of each byte. */
static inline unsigned scan_bits(scan16 v)
{
#if defined(__SSE2__)
    return (unsigned)_mm_movemask_epi8((__m128i)v);
#else
    unsigned bits = 0;
    for (int i = 0; i < 16; i++)
        bits |= (unsigned)(v[i] >> 7) << i;
    return bits;
#endif
}

/* A bit for each of the 64 bytes at `p` that is `c` when the bits of `fold` are set in it. */
typedef uint64_t scan_equal64(const char *p, char c, char fold);

static inline uint64_t scan_equal64_plain(const char *p, char c, char fold)
{
    uint64_t bits = 0;
    for (int i = 0; i < 64; i += 16)
        bits |= (uint64_t)scan_bits(scan_is(scan_load(p + i) | scan_all((uint8_t)fold), c)) << i;
    return bits;
}

static inline bool scan_has_avx2(void)
{
#if defined(__SSE2__)
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

SCAN_AVX2 static inline uint64_t scan_equal64_avx2(const char *p, char c, char fold)
{
#if defined(__SSE2__)
    const __m256i want = _mm256_set1_epi8(c), bits = _mm256_set1_epi8(fold);
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
    uint64_t low = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(a, bits), want));
    uint64_t high = (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(b, bits), want));
    return low | high << 32;
#else
    return scan_equal64_plain(p, c, fold);
#endif
}

/* A bit for each of the 32 bytes at `p` that means something in a JSON string. */
typedef struct scan_string32 {
    uint32_t quote, slash, control; /* '"', '\\', below 0x20 */
    uint32_t usual;                 /* '"' and 'n', what is mostly escaped */
} scan_string32;

SCAN_AVX2 static inline scan_string32 scan_string32_avx2(const char *p)
{
#if defined(__SSE2__)
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p), control = _mm256_set1_epi8(0x1f);
    uint32_t quote = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
    return (scan_string32){.quote = quote,
                           .slash = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'))),
                           .control = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v)),
                           .usual =
                               quote | (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('n')))};
#else
    scan_string32 s = {0};
    for (int i = 0; i < 32; i++) {
        s.quote |= (uint32_t)(p[i] == '"') << i;
        s.slash |= (uint32_t)(p[i] == '\\') << i;
        s.control |= (uint32_t)((unsigned char)p[i] < 0x20) << i;
        s.usual |= (uint32_t)(p[i] == '"' || p[i] == 'n') << i;
    }
    return s;
#endif
}

/* A bit for each of the 32 tags that is `tag`. */
static inline uint32_t scan_tags(const uint16_t tags[32], uint16_t tag)
{
    uint32_t bits = 0;
#if defined(__SSE2__)
    const __m128i key = _mm_set1_epi16((short)tag);
    for (int i = 0; i < 32; i += 16) {
        __m128i low = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(tags + i)), key);
        __m128i high = _mm_cmpeq_epi16(_mm_loadu_si128((const __m128i *)(const void *)(tags + i + 8)), key);
        bits |= (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) << i;
    }
#else
    for (int i = 0; i < 32; i++)
        bits |= (uint32_t)(tags[i] == tag) << i;
#endif
    return bits;
}

/* How many bytes are from 0x80, 0xc0, 0xe0 and 0xf0 up: in UTF-8 that says how long the characters are. */
typedef struct scan_high {
    size_t from80, fromc0, frome0, fromf0;
} scan_high;
scan_high scan_high_bytes(const char *p, size_t n);
#endif
