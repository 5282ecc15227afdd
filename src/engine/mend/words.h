/* words.h - what the bytes of a text are to one who looks for its words; of 64 bytes at a time. Most of a text is plain
 * words with spaces between: two bits a byte tell where they are, and only the others are looked at byte by byte. */
#ifndef MEND_WORDS_H
#define MEND_WORDS_H
#include "base/str.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Kinds of bytes in a word; 0 stands between words. EDGE: a MARK, not at the ends. */
enum { LETTER = 1, DIGIT = 2, MARK = 4, SLASH = 8, AT = 16, INNER = 32, EDGE = 64 };

/* 64 bytes of a text, a bit for each, the first the lowest. */
typedef struct word_bits {
    uint64_t any; /* its kind is not 0, */
    uint64_t odd; /* nor LETTER or INNER */
    uint64_t letter, digit, slash, at;
} word_bits;

static inline uint8_t word_kind(unsigned char c)
{
    return ch_digit((char)c)             ? DIGIT
           : ch_alpha((char)c)           ? LETTER
           : c >= 0xc2 && c < 0xe0       ? LETTER /* two bytes: letters with accents, Cyrillic, ... */
           : c >= 0x80 && c < 0xc0       ? INNER
           : c == '/' || c == '\\'       ? SLASH
           : c == '@'                    ? AT
           : c && memchr(".:?=&+", c, 6) ? MARK | EDGE
           : c && memchr("-_#%~$", c, 6) ? MARK
                                         : 0;
}

#if defined(__SSE2__)
/* Bytes from `low` to `high`. */
static inline __m128i words_range(__m128i v, int low, int high)
{
    __m128i from = _mm_sub_epi8(v, _mm_set1_epi8((char)low));
    return _mm_cmpeq_epi8(_mm_min_epu8(from, _mm_set1_epi8((char)(high - low))), from);
}

static inline __m128i words_is(__m128i v, char c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

static inline word_bits word_bits_of(const char *p, const uint8_t kinds[256])
{
    word_bits r = {0};
    (void)kinds;
    for (int i = 0; i < 64; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i digit = words_range(v, '0', '9'), at = words_is(v, '@');
        __m128i slash = _mm_or_si128(words_is(v, '/'), words_is(v, '\\'));
        __m128i odd = _mm_or_si128(_mm_or_si128(digit, at), slash);
        odd = _mm_or_si128(odd, _mm_or_si128(words_range(v, '-', ':'), words_range(v, '#', '&'))); /* - . :   # $ % & */
        odd = _mm_or_si128(odd, _mm_or_si128(words_is(v, '?'), words_is(v, '+')));
        odd = _mm_or_si128(odd, _mm_or_si128(words_is(v, '='), _mm_or_si128(words_is(v, '_'), words_is(v, '~'))));
        __m128i letter = words_range(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
        letter = _mm_or_si128(letter, words_range(v, 0xc2, 0xdf));
        __m128i plain = _mm_or_si128(letter, words_range(v, 0x80, 0xbf));
        r.any |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_or_si128(odd, plain)) << i;
        r.odd |= (uint64_t)(unsigned)_mm_movemask_epi8(odd) << i;
        r.letter |= (uint64_t)(unsigned)_mm_movemask_epi8(letter) << i;
        r.digit |= (uint64_t)(unsigned)_mm_movemask_epi8(digit) << i;
        r.slash |= (uint64_t)(unsigned)_mm_movemask_epi8(slash) << i;
        r.at |= (uint64_t)(unsigned)_mm_movemask_epi8(at) << i;
    }
    return r;
}
#else
static inline word_bits word_bits_of(const char *p, const uint8_t kinds[256])
{
    word_bits r = {0};
    for (int i = 0; i < 64; i++) {
        uint8_t k = kinds[(unsigned char)p[i]];
        r.any |= (uint64_t)(k != 0) << i;
        r.odd |= (uint64_t)((k & (uint8_t) ~(LETTER | INNER)) != 0) << i;
        r.letter |= (uint64_t)(k == LETTER) << i;
        r.digit |= (uint64_t)(k == DIGIT) << i;
        r.slash |= (uint64_t)(k == SLASH) << i;
        r.at |= (uint64_t)(k == AT) << i;
    }
    return r;
}
#endif
#endif
