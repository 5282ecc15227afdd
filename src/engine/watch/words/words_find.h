/* words_find.h - looking a word up in a sorted table. Words stand in the rows themselves and are compared eight bytes
 * at a time, as numbers: a search takes about as long as one miss of the cache.
 */
#ifndef ENGINE_WATCH_WORDS_WORDS_FIND_H
#define ENGINE_WATCH_WORDS_WORDS_FIND_H
#include "base/str.h"

#define WORDS_ROW_BYTES 24 /* of a row's words, a NUL behind them */

typedef struct words_row {
    char words[WORDS_ROW_BYTES]; /* lower case */
    unsigned means;
} words_row;

static inline uint64_t words_load(const char *p)
{
    uint64_t w;
    memcpy(&w, p, 8);
    return __builtin_bswap64(w);
}

/* Lower case. Returns the bytes, as many as given. */
static inline size_t words_lower(daruma_str word, char *to)
{
    for (size_t i = 0; i < word.n; i++)
        to[i] = ch_lower(word.p[i]);
    return word.n;
}

/* A word in lower case, filled up with NUL. False: longer than any row. */
static inline bool words_key(daruma_str word, char key[WORDS_ROW_BYTES])
{
    if (word.n >= WORDS_ROW_BYTES)
        return false;
    memset(key, 0, WORDS_ROW_BYTES);
    words_lower(word, key);
    return true;
}

static inline bool words_less(const char *a, const char *b)
{
    uint64_t x = words_load(a), y = words_load(b);
    return x != y ? x < y : memcmp(a + 8, b + 8, WORDS_ROW_BYTES - 8) < 0;
}

/* The first row that is not less than the key. */
static inline size_t words_from(const words_row *rows, size_t n, const char key[WORDS_ROW_BYTES])
{
    size_t from = 0;
    while (n > 0) {
        size_t half = n / 2;
        bool less = words_less(rows[from + half].words, key);
        from = less ? from + half + 1 : from;
        n = less ? n - half - 1 : half;
    }
    return from;
}

/* What the row of exactly that key means; 0: there is none. */
static inline unsigned words_row_of(const words_row *rows, size_t n, const char key[WORDS_ROW_BYTES])
{
    size_t at = words_from(rows, n, key);
    return at < n && memcmp(rows[at].words, key, WORDS_ROW_BYTES) == 0 ? rows[at].means : 0;
}

/* The same for a word, whatever its case. */
static inline unsigned words_find(const words_row *rows, size_t n, daruma_str word)
{
    char key[WORDS_ROW_BYTES];
    return words_key(word, key) ? words_row_of(rows, n, key) : 0;
}
#endif
