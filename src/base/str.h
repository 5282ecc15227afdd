/* str.h - slices of bytes: compare, find, cut, convert. Nothing here allocates. */
#ifndef BASE_STR_H
#define BASE_STR_H
#include "daruma_parts.h"
#include <string.h>

#define S          DARUMA_STR
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p ? (s).p : ""

/* How many rows a table has. */
#define COUNT(table) (sizeof table / sizeof *table)

/* A constant slice inside a table, where a compound literal may not stand. */
#define LIT(text)                                                                                                      \
    {                                                                                                                  \
        (text), sizeof(text) - 1                                                                                       \
    }

static inline daruma_str str_of(const char *z)
{
    return (daruma_str){z, z ? strlen(z) : 0};
}
static inline daruma_str str_sub(daruma_str s, size_t from, size_t n) /* clamps */
{
    if (from > s.n)
        from = s.n;
    if (n > s.n - from)
        n = s.n - from;
    return (daruma_str){s.p ? s.p + from : NULL, n};
}
static inline daruma_str str_from(daruma_str s, size_t from)
{
    return str_sub(s, from, (size_t)-1);
}
static inline bool str_eq(daruma_str a, daruma_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline char ch_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}
static inline bool ch_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r'); /* \t \n \v \f \r */
}
static inline bool ch_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool ch_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool ch_word(char c) /* letter, digit, underscore or a byte of a longer character */
{
    return ch_alpha(c) || ch_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The value of a hexadecimal digit, -1 for any other byte. */
static inline int ch_hex(char c)
{
    return ch_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The next byte of text with escapes as URLs have them ("%40" is "@"); *at moves behind it. -1 at the end. */
static inline int str_unescaped(daruma_str s, size_t *at)
{
    if (*at >= s.n)
        return -1;
    const char *p = s.p + *at;
    bool escape = *p == '%' && s.n - *at > 2 && ch_hex(p[1]) >= 0 && ch_hex(p[2]) >= 0;
    *at += escape ? 3 : 1;
    return escape ? ch_hex(p[1]) << 4 | ch_hex(p[2]) : (unsigned char)*p;
}

/* Equal but for the case of ASCII letters? */
static inline bool ch_ieq(char a, char b)
{
    int differ = a ^ b;
    return differ == 0 || (differ == ('a' ^ 'A') && ch_alpha(a));
}

/* Inline: against a text that is known it is a comparison of numbers. */
static inline bool str_starts(daruma_str s, daruma_str with)
{
    return s.n >= with.n && (with.n == 0 || memcmp(s.p, with.p, with.n) == 0);
}
bool str_ends(daruma_str s, daruma_str with);
/* True if the `n` bytes at `a` and `b` are equal but for the case of ASCII letters. */
bool str_ieq_bytes(const char *a, const char *b, size_t n);
/* These ignore the case of ASCII letters. Inline, since names mostly differ in length or their first letter. */
static inline bool str_istarts(daruma_str s, daruma_str with)
{
    return s.n >= with.n && (!with.n || (ch_ieq(s.p[0], with.p[0]) && str_ieq_bytes(s.p, with.p, with.n)));
}
static inline bool str_ieq(daruma_str a, daruma_str b)
{
    return a.n == b.n && str_istarts(a, b);
}
#define STR_NONE ((size_t)-1)
size_t str_find(daruma_str s, daruma_str what);        /* offset, or STR_NONE */
size_t str_ifind(daruma_str s, daruma_str what_lower); /* `what_lower` is lower case; STR_NONE */
size_t str_findch(daruma_str s, char c);               /* STR_NONE */
static inline bool str_has(daruma_str s, daruma_str what)
{
    return str_find(s, what) != STR_NONE;
}
static inline bool str_ihas(daruma_str s, daruma_str what_lower)
{
    return str_ifind(s, what_lower) != STR_NONE;
}
/* True if `s` passes the test with one of a table of texts: STR_ANY(str_starts, line, beginnings). */
#define STR_ANY(test, s, list) str_any((test), (s), (list), COUNT(list))
static inline bool str_any(bool (*test)(daruma_str s, daruma_str with), daruma_str s, const daruma_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (test(s, list[i]))
            return true;
    return false;
}
daruma_str str_trim(daruma_str s);                /* white space at both ends */
daruma_str str_cut(daruma_str *rest, char at);    /* what stands before `at`; rest moves behind it */
bool str_glob(daruma_str pattern, daruma_str s);  /* is it of that form? '*' stands for anything, also nothing */
bool str_lists(daruma_str list, daruma_str item); /* is it one of a list with commas, in any case? */
/* Reads a whole non-negative decimal number; false when it is anything else or overflows. */
bool str_int(daruma_str s, int64_t *ret);
/* Reads the digits (commas and underscores between them allowed) at the start; returns bytes used, 0 none. Saturates.
 */
size_t str_scan_int(daruma_str s, int64_t *ret);
/* How many single edits lie between two names, at most `max` (then max + 1). For "did you mean". */
size_t str_distance(daruma_str a, daruma_str b, size_t max);
/* The nearest of some names to a wrong one. Feed them one by one. */
typedef struct str_near {
    daruma_str wrong, best; /* best empty: none is near */
    size_t distance;        /* of the best; before there is one, what is too far */
} str_near;
str_near str_near_to(daruma_str wrong);
void str_near_try(str_near *n, daruma_str name);

static inline int64_t add_sat(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? INT64_MAX : INT64_MIN) : r;
}
static inline int64_t mul_sat(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : r;
}

/* Length of the UTF-8 character at the start of `s`, which is not empty; 0 when it is none (RFC 3629). */
size_t str_utf8(daruma_str s);
/* Bytes of the character at the start of `s`, which is not empty; 1 when it is none. `*ret_fit`: it may be shown to
 * people. What a terminal obeys (C0, DEL, C1, also as a bare byte) is not fit, nor what turns a line around or hides
 * words (bidi marks, tags). What comes from outside is asked so before it is printed. */
size_t str_step(daruma_str s, bool *ret_fit);
#endif
