/* map.h - a number for each of many texts: a hash table in an arena, so that who asks for one of n texts n times does
 * not look at n * n, whoever chose the texts. Nothing is taken out of it. All zero is an empty one. */
#ifndef BASE_MAP_H
#define BASE_MAP_H
#include "daruma_parts.h"

typedef struct str_map {
    struct str_map_row *rows; /* a power of two, at most 3/4 of them taken; a free one has no key */
    size_t n, cap;
} str_map;

/* The number of `key`; one that was not there is put in with 0. NULL when the arena is full. Borrows the key's bytes.
 * Holds until the next one is put in. */
uint64_t *map_put(str_map *m, daruma_arena *a, daruma_str key);
/* The same, and NULL when it is not there. */
uint64_t *map_get(const str_map *m, daruma_str key);
/* An empty map gets room for `n` keys at once: without it the rows of each doubling stay behind in the arena. */
void map_expect(str_map *m, daruma_arena *a, size_t n);
/* Puts it in; false when it was there before, or the arena is full. */
static inline bool map_add(str_map *m, daruma_arena *a, daruma_str key)
{
    size_t n = m->n;
    return map_put(m, a, key) && m->n > n;
}
#endif
