/* Any text as a snapshot of a memory: what can be read of it is saved, and what was saved is read and saved as it was.
 * Making memories takes most of the time: most inputs are read into one that is there. */
#include <daruma.h>
#include "base/check.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
