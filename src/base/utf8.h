/* utf8.h - borders of characters in a text, and counts of them. Bytes that are no UTF-8 count as they come. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include "base/str.h"

static inline bool utf8_inner(char c) /* not the first byte of a character */
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* The last border of characters at or before `at`; within text that is no UTF-8 `at` itself. */
static inline size_t utf8_floor(daruma_str s, size_t at)
{
    size_t i = at < s.n ? at : s.n;
    for (int back = 0; back < 4 && i < s.n && i > 0 && utf8_inner(s.p[i]); back++)
        i--;
    return i < s.n && utf8_inner(s.p[i]) ? (at < s.n ? at : s.n) : i;
}

static inline size_t utf8_chars(daruma_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += !utf8_inner(s.p[i]);
    return n;
}

/* Bytes of the first `chars` characters. */
static inline size_t utf8_bytes(daruma_str s, size_t chars)
{
    size_t i = 0;
    for (; i < s.n; i++)
        if (!utf8_inner(s.p[i]) && chars-- == 0)
            break;
    return i;
}

/* Bytes of a text as JSON, its quotes included. */
static inline size_t utf8_json_bytes(daruma_str s)
{
    size_t n = 2;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char b = (unsigned char)s.p[i];
        n += b == '"' || b == '\\' || b == '\n' || b == '\t' || b == '\r' ? 2 : b < 0x20 ? 6 : 1;
    }
    return n;
}

/* Offset from which on the last `chars` characters stand. */
static inline size_t utf8_last(daruma_str s, size_t chars)
{
    size_t i = s.n;
    while (i > 0 && chars > 0)
        chars -= !utf8_inner(s.p[--i]);
    return i;
}
#endif
