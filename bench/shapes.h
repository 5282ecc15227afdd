/* bench/shapes.h - what is done with requests of each shape, for who measures how it grows with their size. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H
#include "base/arena.h"
#include "dialect/dialect.h"

typedef struct shape shape;

/* One thing that is done with requests of one shape; the fields behind the name are inside matters. */
typedef struct row {
    char name[80];
    const shape *shape;
    int wire, to, act, many, error;
} row;

/* A request of that shape ("loop") and dialect ("chat"), of so many bytes; empty: there is none. */
daruma_str shape_body(daruma_str name, daruma_str wire, size_t bytes, daruma_arena *a);
const char *shape_name(size_t i); /* counted from 0; NULL: there are no more */
/* Calls `f` with each row; false when one of them was false. */
bool rows_each(bool (*f)(const row *x, void *user), void *user);
/* Does it with a request of so many bytes, in `a`. `*ret_took`: by how much `clock` went on meanwhile. False: it could
 * not be done. */
bool row_do(const row *x, size_t bytes, daruma_arena *a, int64_t (*clock)(void), int64_t *ret_took);
#endif
