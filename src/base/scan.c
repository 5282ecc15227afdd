/* scan.c - the one loop of scan.h that is too long for a header. */
#include "base/scan.h"

/* Counters of 8 bits, one for each place in a block. */
enum { TURNS_MAX = 255 / 4 }; /* of 64 bytes: what they hold */

static size_t sum(scan16 counters)
{
#if defined(__SSE2__)
    __m128i s = _mm_sad_epu8((__m128i)counters, _mm_setzero_si128());
    return (size_t)_mm_cvtsi128_si32(s) + (size_t)_mm_cvtsi128_si32(_mm_srli_si128(s, 8));
#else
    size_t n = 0;
    for (int i = 0; i < 16; i++)
        n += counters[i];
    return n;
#endif
}

/* As signed bytes those from 0x80 up are below zero, in the same order: one comparison each. */
static inline void count_high(scan16 v, scan16 n[4])
{
    scan16_signed s = (scan16_signed)v;
    scan16 high = (scan16)(s < (scan16_signed)scan_all(0));
    n[0] -= high;
    n[1] -= high & (scan16)(s > (scan16_signed)scan_all(0xbf));
    n[2] -= high & (scan16)(s > (scan16_signed)scan_all(0xdf));
    n[3] -= high & (scan16)(s > (scan16_signed)scan_all(0xef));
}

scan_high scan_high_bytes(const char *p, size_t n)
{
    size_t from[4] = {0};
    for (size_t left = n / 64, turns; left; left -= turns) {
        scan16 counters[4] = {0};
        turns = left < TURNS_MAX ? left : TURNS_MAX;
        for (const char *stop = p + turns * 64; p < stop; p += 64) {
            scan16 a = scan_load(p), b = scan_load(p + 16), c = scan_load(p + 32), d = scan_load(p + 48);
            if (!scan_bits(a | b | c | d))
                continue; /* ASCII: most are */
            count_high(a, counters);
            count_high(b, counters);
            count_high(c, counters);
            count_high(d, counters);
        }
        for (int i = 0; i < 4; i++)
            from[i] += sum(counters[i]);
    }
    for (size_t rest = n % 64; rest; rest--, p++) {
        unsigned char b = (unsigned char)*p;
        from[0] += b >= 0x80;
        from[1] += b >= 0xc0;
        from[2] += b >= 0xe0;
        from[3] += b >= 0xf0;
    }
    return (scan_high){from[0], from[1], from[2], from[3]};
}
