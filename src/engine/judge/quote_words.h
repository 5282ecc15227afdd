/* quote_words.h - texts as words, for who compares what an error says with what was sent. */
#ifndef JUDGE_QUOTE_WORDS_H
#define JUDGE_QUOTE_WORDS_H
#include "base/str.h"

typedef struct quote_word {
    uint64_t hash;
    uint32_t from, to; /* its bytes */
    uint32_t next;     /* the one before it in its chain, as index + 1 */
    uint32_t run;      /* words of the request that end here ... */
    uint32_t at;       /* ... as number `at` of it */
    bool quoted;
    bool name; /* it is a name of the request, which may be what the error is about */
} quote_word;

static inline bool quote_is_alnum(char c)
{
    return ch_alpha(c) || ch_digit(c);
}
/* The character at `*i`, which moves behind it: lower case; 0 for what stands between words. Escapes of any depth are
 * read, as one deep; those of pages and addresses as well. */
uint32_t quote_take_char(daruma_str s, size_t *i);
/* The next word of `s` from `*i` on. False: there is none. */
bool quote_next_word(daruma_str s, size_t *i, quote_word *ret);
/* The base64 of a text, perhaps in an address ("data:text/plain;base64,..."); empty: it is none, or of no words. */
daruma_str quote_encoded(daruma_str text);
#endif
