/* models_kept.c - lists of models that providers gave a short time ago: many clients that ask at once make one call of
 * each provider, and a provider that fails is shown with what it listed last. They end with the configuration. */
#include "gateway/routes/models_list.h"
#include "gateway/routes/routes.h"
#include "base/limits.h"
#include <stdlib.h>
#include <string.h>

/* One provider's list, as one account sees it. */
typedef struct kept {
    uint64_t of; /* 0: the place is free */
    char *array; /* malloc'd */
    size_t n;
    daruma_ms at; /* it came */
} kept;

struct models_kept {
    kept at[MODELS_KEPT_MAX];
    size_t bytes; /* of all arrays */
};

static void drop(models_kept *m, kept *k)
{
    m->bytes -= k->n;
    free(k->array);
    *k = (kept){0};
}

static kept *find(models_kept *m, uint64_t of)
{
    for (size_t i = 0; m && of && i < MODELS_KEPT_MAX; i++)
        if (m->at[i].of == of)
            return &m->at[i];
    return NULL;
}

/* The one that came first; a free place where `free_too` and there is one. NULL: there is none. */
static kept *oldest(models_kept *m, bool free_too)
{
    kept *found = NULL;
    for (size_t i = 0; i < MODELS_KEPT_MAX; i++) {
        kept *k = &m->at[i];
        if (!k->of && free_too)
            return k;
        if (k->of && (!found || k->at < found->at))
            found = k;
    }
    return found;
}

daruma_str models_kept_get(models_kept *m, uint64_t of, daruma_ms now, daruma_ms age_max, daruma_ms *ret_age)
{
    kept *k = find(m, of);
    if (!k || now - k->at > age_max)
        return (daruma_str){0};
    *ret_age = now - k->at;
    return (daruma_str){k->array, k->n};
}

void models_kept_put(models_kept **at, uint64_t of, daruma_str array, daruma_ms now)
{
    char *copy = of && array.n && array.n <= MODELS_KEPT_BYTES_MAX ? malloc(array.n) : NULL;
    models_kept *m = copy &&!*at ? *at = calloc(1, sizeof **at) : *at;
    if (!copy || !m) {
        free(copy);
        return;
    }
    kept *k = find(m, of);
    if (k)
        drop(m, k);
    while (m->bytes + array.n > MODELS_KEPT_BYTES_MAX)
        drop(m, oldest(m, false));
    k = oldest(m, true);
    if (k->of)
        drop(m, k);
    memcpy(copy, array.p, array.n);
    *k = (kept){.of = of, .array = copy, .n = array.n, .at = now};
    m->bytes += array.n;
}

void models_kept_free(models_kept *m)
{
    for (size_t i = 0; m && i < MODELS_KEPT_MAX; i++)
        free(m->at[i].array);
    free(m);
}
