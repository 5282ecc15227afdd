/* arena.h - memory that is given back all at once. Take, never free. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include "daruma_parts.h"

/* `n` zeroed bytes aligned to `align` (a power of two), or NULL and a->full. */
void *arena_take(daruma_arena *a, size_t n, size_t align);
void *arena_raw(daruma_arena *a, size_t n, size_t align); /* the same, not zeroed: for who writes all of it */
/* A copy of `s` with a NUL behind it; empty when it does not fit. */
daruma_str arena_copy(daruma_arena *a, daruma_str s);

/* Room for one more behind the `n` things of `size` bytes at `list`, of which *cap have room: where they stand when
 * they are the newest in the arena, else at a new place, twice as many. The first room is for `first`. What is new is
 * not zeroed. NULL and a->full without memory. */
void *arena_grow(daruma_arena *a, void *list, size_t n, size_t *cap, size_t size, size_t first);

#define ARENA_NEW(a, type, count) ((type *)arena_take((a), sizeof(type) * (count), _Alignof(type)))
#define ARENA_RAW(a, type, count) ((type *)arena_raw((a), sizeof(type) * (count), _Alignof(type)))

/* Gives back what was taken of *a since `was` was copied from it, as far as no other block was begun meanwhile; whether
 * it ran full since then is forgotten. */
static inline void arena_back(daruma_arena *a, daruma_arena was)
{
    if (a->end == was.end)
        a->beg = was.beg;
    a->full = was.full;
}

static inline daruma_arena arena_over(void *mem, size_t n)
{
    return (daruma_arena){.beg = mem, .end = (char *)mem + n};
}
#endif
