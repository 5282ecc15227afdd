#include "base/map.h"
#include "base/arena.h"
#include "base/str.h"
#include <xxhash.h>

enum { ROWS_FIRST = 16 };

typedef struct str_map_row {
    daruma_str key;
    uint64_t number;
} str_map_row;

/* Where the key stands, or would stand. Whoever chooses keys must not know which of them stand together: the hash is
 * seeded with the address of the rows, which an operating system draws by lot. What is found does not depend on it. */
static str_map_row *row_of(str_map_row *rows, size_t cap, daruma_str key)
{
    size_t i = XXH3_64bits_withSeed(key.p, key.n, (uintptr_t)rows) & (cap - 1);
    while (rows[i].key.p && !str_eq(rows[i].key, key))
        i = (i + 1) & (cap - 1);
    return &rows[i];
}

static bool grow(str_map *m, daruma_arena *a, size_t cap)
{
    str_map_row *rows = ARENA_NEW(a, str_map_row, cap);
    if (!rows)
        return false;
    for (size_t i = 0; i < m->cap; i++)
        if (m->rows[i].key.p)
            *row_of(rows, cap, m->rows[i].key) = m->rows[i];
    m->rows = rows;
    m->cap = cap;
    return true;
}

void map_expect(str_map *m, daruma_arena *a, size_t n)
{
    size_t cap = ROWS_FIRST;
    while (cap / 4 * 3 < n && cap <= SIZE_MAX / 2 / sizeof(str_map_row))
        cap *= 2;
    if (!m->cap && n)
        grow(m, a, cap);
}

static daruma_str keyed(daruma_str key)
{
    return key.n ? key : S("");
}

uint64_t *map_put(str_map *m, daruma_arena *a, daruma_str key)
{
    key = keyed(key);
    str_map_row *row = m->cap ? row_of(m->rows, m->cap, key) : NULL;
    if (row && row->key.p)
        return &row->number;
    if (m->n >= m->cap / 4 * 3) {
        if (!grow(m, a, m->cap ? m->cap * 2 : ROWS_FIRST))
            return NULL;
        row = row_of(m->rows, m->cap, key);
    }
    *row = (str_map_row){.key = key};
    m->n++;
    return &row->number;
}

uint64_t *map_get(const str_map *m, daruma_str key)
{
    key = keyed(key);
    str_map_row *row = m->n ? row_of(m->rows, m->cap, key) : NULL;
    return row && row->key.p ? &row->number : NULL;
}
