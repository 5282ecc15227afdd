/* same_bits.h - what the bytes of a text are, a bit for each, 64 at a time: where a word ends, and whether there are
 * digits in it, is then one look.
 *
 *     text   job 7 is at 3f2a91bc
 *     word   111.1.11.11.11111111
 *     digit  ....1.......1.1.11..
 */
#ifndef ENGINE_WATCH_SAME_SAME_BITS_H
#define ENGINE_WATCH_SAME_SAME_BITS_H
#include "base/check.h"
#include "base/limits.h"
#include "base/scan.h"
#include "base/str.h"

/* Of the longest text that is read word by word, and one more. */
#define SAME_BLOCKS (SAME_FAILURE_BYTES_MAX / 64 + 2)
#define SAME_ROW    57 /* bits that are seen at a time */

typedef struct same_bits {
    uint64_t word[SAME_BLOCKS], digit[SAME_BLOCKS]; /* ch_word(), ch_digit() */
} same_bits;

static inline void bits_of_block(const char p[64], uint64_t *words, uint64_t *digits)
{
    *words = *digits = 0;
    for (int i = 0; i < 64; i += 16) {
        scan16 v = scan_load(p + i), digit = scan_range(v, '0', '9');
        scan16 letter = scan_range(v | scan_all(0x20), 'a', 'z');
        scan16 other = v | scan_is(v, '_'); /* the top bit of each counts */
        *words |= (uint64_t)scan_bits(letter | digit | other) << i;
        *digits |= (uint64_t)scan_bits(digit) << i;
    }
}

/* `text` has at most SAME_FAILURE_BYTES_MAX bytes. Behind its end no bit is set. */
static inline void bits_of(daruma_str text, same_bits *ret)
{
    size_t n = text.n / 64, rest = text.n % 64;
    char last[64] = {0};
    check(text.n <= SAME_FAILURE_BYTES_MAX);
    for (size_t i = 0; i < n; i++)
        bits_of_block(text.p + 64 * i, &ret->word[i], &ret->digit[i]);
    if (rest)
        memcpy(last, text.p + 64 * n, rest);
    bits_of_block(last, &ret->word[n], &ret->digit[n]);
    ret->word[n + 1] = ret->digit[n + 1] = 0;
}

/* At least SAME_ROW bits, the lowest for the byte `at`, which is at most behind the last one. */
static inline uint64_t bits_from(const uint64_t *bits, size_t at)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t w;
    memcpy(&w, (const char *)bits + at / 8, 8);
    return w >> at % 8;
#else
    return bits[at / 64] >> at % 64 | bits[at / 64 + 1] << 1 << (63 - at % 64);
#endif
}

/* How many bits from `at` on are set. */
static inline size_t bits_in_row(const uint64_t *bits, size_t at)
{
    size_t n = 0, row;
    do {
        uint64_t ends = ~bits_from(bits, at + n);
        row = ends ? (size_t)__builtin_ctzll(ends) : 64;
        n += row < SAME_ROW ? row : SAME_ROW;
    } while (row >= SAME_ROW);
    return n;
}

/* Is one of the `n` from `at` on? */
static inline bool bits_any(const uint64_t *bits, size_t at, size_t n)
{
    for (; n > SAME_ROW; at += SAME_ROW, n -= SAME_ROW)
        if (bits_from(bits, at) << (64 - SAME_ROW))
            return true;
    return n && bits_from(bits, at) << (64 - n);
}
#endif
