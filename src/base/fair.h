/* fair.h - which place of a full table is given up, where several owners share it: whoever holds the most of them gives
 * the one that it used longest ago. So an owner of few places keeps them, however much another one puts in. */
#ifndef BASE_FAIR_H
#define BASE_FAIR_H
#include <stddef.h>
#include <stdint.h>

typedef struct fair_place {
    uint64_t owner;
    uint64_t used; /* a stamp that grows; 0: the place is free */
} fair_place;

/* Is a place given up before the best one so far? Of each, what its owner holds and when it was used. */
static inline bool fair_before(size_t held, uint64_t used, size_t best_held, uint64_t best_used)
{
    return held > best_held || (held == best_held && used < best_used);
}

/* Index of the place that `newcomer` may take, of `n` that are few: looks at each pair of them. */
static inline size_t fair_spare(const fair_place *p, size_t n, uint64_t newcomer)
{
    size_t best = 0, best_held = 0;
    for (size_t i = 0; i < n; i++) {
        size_t held = p[i].owner == newcomer;
        if (!p[i].used)
            return i;
        for (size_t j = 0; j < n; j++)
            held += p[j].owner == p[i].owner;
        if (fair_before(held, p[i].used, best_held, p[best].used)) {
            best = i;
            best_held = held;
        }
    }
    return best;
}
#endif
