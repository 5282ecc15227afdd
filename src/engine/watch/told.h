/* told.h - what an agent was told before, as pairs of words that stand side by side. The share of pairs that a result
 * has and none before it had is its news: an amount, where two hashes are equal or not. The newest WATCH_TOLD_PAIRS are
 * kept, in rows by their hash; a new one takes the place of the oldest of its row.
 */
#ifndef WATCH_TOLD_H
#define WATCH_TOLD_H
#include "base/limits.h"
#include "engine/watch/same/same_hash.h"

enum { TOLD_ROW = 8 };

typedef struct told_pairs {
    uint16_t tags[WATCH_TOLD_PAIRS / TOLD_ROW][TOLD_ROW]; /* newest first; 0: none */
} told_pairs;

static inline uint16_t *told_row(told_pairs *t, uint64_t pair)
{
    return t->tags[pair % COUNT(t->tags)];
}

static inline uint16_t told_tag(uint64_t pair)
{
    return (uint16_t)(pair >> 48 | 1);
}

static inline bool told_has(told_pairs *t, uint64_t pair)
{
    typedef uint16_t tags __attribute__((vector_size(sizeof t->tags[0])));
    tags row;
    memcpy(&row, told_row(t, pair), sizeof row);
    tags same = (tags)(row == (tags){0} + told_tag(pair));
    uint64_t halves[2];
    memcpy(halves, &same, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static inline void told_put(told_pairs *t, uint64_t pair)
{
    uint16_t *row = told_row(t, pair);
    if (told_has(t, pair))
        return;
    memmove(row + 1, row, (TOLD_ROW - 1) * sizeof *row);
    row[0] = told_tag(pair);
}
#endif
