/* words_find.h - looking a word up in a sorted table. */
#ifndef WATCH_WORDS_FIND_H
#define WATCH_WORDS_FIND_H
#include "base/str.h"

typedef struct words_row {
    const char *words; /* lower case */
    unsigned means;
} words_row;

/* What the row of exactly that word means, whatever its case; 0: there is none. */
static inline unsigned words_find(const words_row *rows, size_t n, daruma_str word)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t at = from + (to - from) / 2, i = 0;
        const char *row = rows[at].words;
        int differ = 0;
        for (; i < word.n && !differ; i++)
            differ = (unsigned char)ch_lower(word.p[i]) - (unsigned char)row[i]; /* a row's end is smaller than all */
        if (!differ && !row[i])
            return rows[at].means;
        if (differ > 0)
            from = at + 1;
        else
            to = at;
    }
    return 0;
}
#endif
