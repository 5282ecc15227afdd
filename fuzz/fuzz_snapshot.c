/* Any text as a snapshot of a memory: what can be read of it is saved, and what was saved is read and saved as it was.
 * Making memories takes most of the time: most inputs are read into one that is there. */
#include <daruma.h>
#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "engine/decide/health.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static daruma_memory *begin(void)
{
    daruma_memory *m = daruma_memory_new();
    check(m);
    daruma_memory_now(m, 1000000, 1767225600, 1);
    return m;
}

static void load(daruma_memory *m, const void *text, size_t n, bool whole)
{
    char why[128] = "";
    int64_t taken = daruma_memory_load(m, text, n, why, sizeof why);
    check(whole ? taken >= 0 && !why[0] : taken >= 0 || why[0]);
}

static char *saved(const daruma_memory *m, size_t *ret_n)
{
    size_t n = daruma_memory_save(m, NULL, 0);
    char *text = malloc(n + 1);
    check(text && daruma_memory_save(m, text, n + 1) == n && strlen(text) == n);
    *ret_n = n;
    return text;
}

/* The lines as what another replica saw: whatever it was, a rest has its bound. */
static void learn(daruma_str text)
{
    static char room[64 << 10];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_health *w = daruma_health_new(&a, 8);
    daruma_place places[8];
    while (text.n)
        health_learn(w, str_cut(&text, '\n'), 1000000, 0);
    size_t n = daruma_health_list(w, 1000000, places, 8);
    for (size_t i = 0; i < n && i < 8; i++)
        check(places[i].cool_in <= 86400000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    learn((daruma_str){(const char *)data, size});
    static daruma_memory *one;
    if (!one)
        one = begin();
    load(one, data, size, false);
    if (size % 64)
        return 0;
    daruma_memory *m = begin();
    load(m, data, size, false);
    for (int i = 0; i < 2; i++) {
        size_t n, again_n;
        char *text = saved(m, &n), *again;
        daruma_memory *other = begin();
        load(other, text, n, true);
        again = saved(other, &again_n);
        check(again_n == n && memcmp(text, again, n) == 0);
        free(text);
        free(again);
        daruma_memory_free(m);
        m = other;
    }
    daruma_memory_free(m);
    return 0;
}
