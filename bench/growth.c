/* bench/growth - how the time of local work grows with the request: each shape of request, at sizes that double, is
 * read, mended, converted and written. Prints the milliseconds of each size and the largest growth from one size to the
 * next. Work that grows with the size doubles; work that grows with the square takes four times as long.
 *
 *     bench_growth --max 32 --only "tools chat"     sizes 1, 2, ... 32 MB of the rows whose name has these words
 *
 * Exits 1 when a row grows faster than `--most` thousandths per doubling. */
#include "kit.h"
#include "shapes.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MB         ((size_t)1 << 20)
#define ROOM       ((size_t)24 << 30) /* of addresses: pages come when they are touched */
#define NOISE_NS   20000000           /* a run shorter than this says nothing about growth */
#define TOO_LONG_S 3                  /* the row ends after a run that took longer */

/* ---- rows ---- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static long max_mb = 8, most_milli = 2600, from_kb = 1024;
static const char *only = "";

static bool wanted(const char *name)
{
    for (daruma_str words = str_of(only); words.n;)
        if (str_find(str_of(name), str_cut(&words, ' ')) == STR_NONE)
            return false;
    return true;
}

/* Nanoseconds of one run at that size; -1 when it cannot be done. */
static int64_t once(const row *x, size_t bytes, char *mem)
{
    daruma_arena a = arena_over(mem, ROOM);
    int64_t took;
    bool good = row_do(x, bytes, &a, now_ns, &took);
    madvise(mem, ROOM, MADV_DONTNEED);
    return good ? took : -1;
}

/* True if it grows no faster than it may. */
static bool measure(const row *x, void *mem)
{
    int64_t last = 0;
    double worst = 0;
    bool good = true;
    if (!wanted(x->name))
        return true;
    printf("growth     %-34s", x->name);
    for (size_t kb = (size_t)from_kb; kb <= (size_t)max_mb * 1024; kb *= 2) {
        int64_t took = once(x, kb << 10, mem);
        for (int i = 0; i < 2 && last > NOISE_NS && took > last * 2; i++) { /* others use the machine: once more */
            int64_t again = once(x, kb << 10, mem);
            took = again < took ? again : took;
        }
        if (took < 0) {
            printf("  cannot be done");
            break;
        }
        printf(" %8.1f", (double)took / 1e6);
        fflush(stdout);
        if (last > NOISE_NS && (double)took / (double)last > worst)
            worst = (double)took / (double)last;
        last = took;
        if (took > TOO_LONG_S * INT64_C(1000000000))
            break;
    }
    good = worst * 1000 <= (double)most_milli;
    printf(" ms  %.2f per doubling%s\n", worst, good ? "" : "  TOO FAST");
    return good;
}

int main(int argc, char **argv)
{
    const option_row options[] = {{"--max", &max_mb, NULL, "largest size, in MB"},
                                  {"--from", &from_kb, NULL, "smallest size, in KB"},
                                  {"--most", &most_milli, NULL, "growth per doubling that is too much, in thousandths"},
                                  {"--only", NULL, &only, "rows whose name has these words"},
                                  {0}};
    options_read(argc, argv, options);
    char *mem = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        die("memory");
    return !rows_each(measure, mem);
}
