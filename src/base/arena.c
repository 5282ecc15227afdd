#include "base/arena.h"
#include "base/check.h"
#include <string.h>

void *arena_raw(daruma_arena *a, size_t n, size_t align)
{
    check(align && (align & (align - 1)) == 0);
    for (int asked = 0; asked < 2; asked++) {
        size_t room = (size_t)(a->end - a->beg), pad = -(uintptr_t)a->beg & (align - 1);
        if (room >= pad && room - pad >= n) {
            char *p = a->beg + pad;
            a->beg = p + n;
            return p;
        }
        if (asked || !a->more || n > SIZE_MAX - align || !a->more(a, n + align))
            break;
    }
    a->full = true;
    return NULL;
}

void *arena_take(daruma_arena *a, size_t n, size_t align)
{
    void *p = arena_raw(a, n, align);
    return p && n ? memset(p, 0, n) : p;
}

enum { IN_PLACE_MOST = 32 }; /* things at a time that a list grows by where it stands: that costs next to nothing */

void *arena_grow(daruma_arena *a, void *list, size_t n, size_t *cap, size_t size, size_t first)
{
    check(n <= *cap);
    if (n < *cap)
        return list;
    size_t more = *cap / 4 + 1, twice = *cap ? *cap * 2 : first;
    more = more < IN_PLACE_MOST ? more : IN_PLACE_MOST;
    if (*cap && (char *)list + *cap * size == a->beg && (size_t)(a->end - a->beg) / size >= more) {
        a->beg += more * size;
        *cap += more;
        return list;
    }
    size_t align = size & -size; /* a type's alignment divides its size: lists of one thing each leave no gaps */
    align = align < _Alignof(max_align_t) ? align : _Alignof(max_align_t);
    void *fresh = arena_raw(a, twice <= SIZE_MAX / 2 / size ? twice * size : SIZE_MAX, align);
    if (fresh) {
        if (n)
            memcpy(fresh, list, n * size);
        *cap = twice;
    }
    return fresh;
}

daruma_str arena_copy(daruma_arena *a, daruma_str s)
{
    char *p = s.n < SIZE_MAX ? arena_raw(a, s.n + 1, 1) : NULL;
    if (!p)
        return (daruma_str){0};
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (daruma_str){p, s.n};
}
