/* exact.h - pieces of an input in memory of just their size: who reads one byte beyond a piece is found, whatever
 * stands behind it in the input. */
#ifndef FUZZ_EXACT_H
#define FUZZ_EXACT_H
#include "base/check.h"
#include "daruma_parts.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *at[64]; /* what was allocated */
    size_t n;     /* so many of them */
} exact_pieces;

/* A copy of `s` until exact_end(). Nothing is, in turns, a pointer to no byte and no pointer. */
static inline daruma_str exact(exact_pieces *x, daruma_str s)
{
    check(x->n < COUNT(x->at));
    char *p = malloc(s.n + 1); /* the copy begins at the second byte: malloc(0) would allow one to be read */
    check(p);
    x->at[x->n++] = p;
    if (s.n)
        memcpy(p + 1, s.p, s.n);
    return (daruma_str){s.n || x->n % 2 ? p + 1 : NULL, s.n};
}

static inline void exact_end(exact_pieces *x)
{
    while (x->n)
        free(x->at[--x->n]);
}
#endif
