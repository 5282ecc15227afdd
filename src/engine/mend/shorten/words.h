/* words.h - what the bytes of a text are to one who looks for its words; of 64 bytes at a time. Most of a text is plain
 * words with spaces between: two bits a byte tell where they are, and only the others are looked at byte by byte. */
#ifndef ENGINE_MEND_SHORTEN_WORDS_H
#define ENGINE_MEND_SHORTEN_WORDS_H
#include "base/scan.h"
#include "base/str.h"

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

static inline word_bits word_bits_of(const char *p)
{
    word_bits r = {0};
    for (int i = 0; i < 64; i += 16) {
        scan16 v = scan_load(p + i), digit = scan_range(v, '0', '9'), at = scan_is(v, '@');
        scan16 slash = scan_is(v, '/') | scan_is(v, '\\');
        scan16 mark = scan_range(v, '-', ':') | scan_range(v, '#', '&') | /* - . :   # $ % & */
                      scan_is(v, '?') | scan_is(v, '+') | scan_is(v, '=') | scan_is(v, '_') | scan_is(v, '~');
        scan16 odd = digit | at | slash | mark; /* '/' and digits lie between '-' and ':' */
        scan16 letter = scan_range(v | scan_all(0x20), 'a', 'z') | scan_range(v, 0xc2, 0xdf);
        scan16 plain = letter | scan_range(v, 0x80, 0xbf);
        r.any |= (uint64_t)scan_bits(odd | plain) << i;
        r.odd |= (uint64_t)scan_bits(odd) << i;
        r.letter |= (uint64_t)scan_bits(letter) << i;
        r.digit |= (uint64_t)scan_bits(digit) << i;
        r.slash |= (uint64_t)scan_bits(slash) << i;
        r.at |= (uint64_t)scan_bits(at) << i;
    }
    return r;
}
#endif
