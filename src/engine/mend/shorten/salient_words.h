/* salient_words.h - is one word salient by its make? Which of them are kept says salient.c. */
#ifndef ENGINE_MEND_SHORTEN_SALIENT_WORDS_H
#define ENGINE_MEND_SHORTEN_SALIENT_WORDS_H
#include "base/str.h"

/* How much a word looks like something that has to be quoted exactly; 0: not at all. `kinds` of its bytes (words.h);
 * how many runs of letters and digits it has, and the bytes of the longest. */
uint8_t salient_score(daruma_str w, uint8_t kinds, int runs, size_t longest);
/* "42.5 ms": bytes of the unit behind the number that ends before text[at], with the gap; 0 none. */
size_t salient_unit(daruma_str text, size_t at);
bool salient_names(daruma_str w); /* does it call what follows an id, a path, an address? */
bool salient_error(daruma_str w); /* does it tell of an error? */

/* Do these four letters end a word that may tell of an error? Nearly none does. */
static inline bool salient_error_end(const char *four)
{
#define END(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
    static const uint32_t ends[16] = {/* each at the place that the product below has for it */
                                      END('t', 'i', 'o', 'n'), END('r', 'o', 'r', 's'),
                                      END('r', 't', 'e', 'd'), END('a', 'n', 'i', 'c'),
                                      END('n', 'i', 'e', 'd'), END('l', 'u', 'r', 'e'),
                                      END('n', 'n', 'o', 't'), END('i', 'c', 'a', 'l'),
                                      END('u', 's', 'e', 'd'), 0,
                                      END('e', 'o', 'u', 't'), END('r', 'r', 'o', 'r'),
                                      END('a', 't', 'a', 'l'), END('b', 'a', 'c', 'k'),
                                      END('i', 'l', 'e', 'd'), 0};
    const unsigned char *p = (const unsigned char *)four;
    uint32_t end = END(p[0], p[1], p[2], p[3]) | 0x20202020u;
#undef END
    return ends[end * 0x6decde8du >> 28] == end;
}
#endif
