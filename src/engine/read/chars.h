/* chars.h - what a byte is to who reads texts. A table, for it is asked of every byte of every text. */
#ifndef READ_CHARS_H
#define READ_CHARS_H
#include "daruma_parts.h"
#include <string.h>

enum {
    CHAR_WORD = 1,  /* as ch_word: letter, digit, '_' or a byte of a longer character */
    CHAR_LOWER = 2, /* lower-case letter, digit or '_': what words of lower-case texts are made of */
    CHAR_DIGIT = 4,
    CHAR_QUOTE = 8, /* `, ' or " */
};

extern const uint8_t char_kinds[256];

static inline bool char_is(char c, int kinds) /* any of the kinds */
{
    return char_kinds[(unsigned char)c] & kinds;
}

/* Without branches, so that many bytes are asked at once. */
static inline bool chars_digit(daruma_str text)
{
    unsigned char any = 0;
    for (size_t i = 0; i < text.n; i++)
        any |= (unsigned char)(text.p[i] - '0') < 10;
    return any;
}

/* True if one of `chars` stands in the text. A search for each, as fast as the processor has it. */
static inline bool chars_has(daruma_str text, const char *chars)
{
    for (; *chars; chars++)
        if (text.n && memchr(text.p, *chars, text.n))
            return true;
    return false;
}
#endif
