/* bench/growth - how local work grows with the request: each shape of request, at sizes that double, is read, mended,
 * converted and written. Prints what each size took, the largest growth from one size to the next, and the memory of
 * the largest, in times of the request. Work that grows with the size doubles; work that grows with the square takes
 * four times as much.
 *
 *     bench_growth --max 32 --only "tools chat"     sizes 1, 2, ... 32 MB of the rows whose name has these words
 *
 * bench_growth says milliseconds of CPU time, the least of `--runs`: what somebody waits for. It grows with caches,
 * with what the system does to hand out memory, and with what others do on the machine, so that a row of linear work
 * may show 2.3 or more. Whether a row grows too fast is decided by bench_growth_steps, which counts steps (steps.h),
 * the same on every machine, however busy. Exits 1 when a row grows faster than `--most` thousandths per doubling, or
 * takes more memory than `--times` times the request. */
#include "kit.h"
#include "shapes.h"
#include "steps.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define MB   ((size_t)1 << 20)
#define ROOM ((size_t)24 << 30) /* of addresses: pages come when they are touched */
#ifdef GROWTH_STEPS
#define UNIT     "M steps"
#define NOISE    0           /* each one counts */
#define TOO_LONG 20000000000 /* the row ends after a run of so many steps */
#else
#define UNIT     "ms"
#define NOISE    20000000    /* ns; a shorter run says nothing about growth */
#define TOO_LONG 10000000000 /* the row ends after a run that took longer */
#endif

/* ---- rows ---- */

#ifdef GROWTH_STEPS
static int64_t now(void)
{
    return steps_now();
}
#else
static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
#endif

static long max_mb = 8, most_milli = 2300, from_kb = 1024, runs = 3, most_times;
static const char *only = "";

static bool wanted(const char *name)
{
    for (daruma_str words = str_of(only); words.n;)
        if (str_find(str_of(name), str_cut(&words, ' ')) == STR_NONE)
            return false;
    return true;
}

typedef struct taken {
    int64_t work;  /* -1: it cannot be done */
    size_t memory; /* of the request and what was made of it */
} taken;

static taken once(const row *x, size_t bytes, char *mem)
{
    daruma_arena a = arena_over(mem, ROOM);
    taken t = {0};
    bool good = row_do(x, bytes, &a, now, &t.work);
    t.memory = (size_t)(a.beg - mem);
    madvise(mem, ROOM, MADV_DONTNEED);
    if (!good)
        t.work = -1;
    return t;
}

static bool too_fast(int64_t work, int64_t last)
{
    return last > NOISE && (double)work * 1000 > (double)last * (double)most_milli;
}

/* The least of some runs, as far as that can make a difference. */
static taken least(const row *x, size_t bytes, char *mem, taken *last)
{
    taken t = once(x, bytes, mem);
    for (long i = 1; i < runs && too_fast(t.work, last->work); i++) {
        taken again = once(x, bytes, mem), before = once(x, bytes / 2, mem);
        t.work = again.work < t.work ? again.work : t.work;
        last->work = before.work < last->work ? before.work : last->work;
    }
    return t;
}

/* True if it grows no faster than it may, and takes no more memory. */
static bool measure(const row *x, void *mem)
{
    taken last = {0};
    size_t bytes = 0;
    double worst = 0;
    if (!wanted(x->name))
        return true;
    printf("growth     %-34s", x->name);
    for (size_t kb = (size_t)from_kb; kb <= (size_t)max_mb * 1024; kb *= 2) {
        taken t = least(x, kb << 10, mem, &last);
        if (t.work < 0) {
            printf("  cannot be done");
            break;
        }
        printf(" %8.1f", (double)t.work / 1e6);
        fflush(stdout);
        if (last.work > NOISE && (double)t.work / (double)last.work > worst)
            worst = (double)t.work / (double)last.work;
        last = t;
        bytes = kb << 10;
        if (t.work > TOO_LONG)
            break;
    }
    double room = bytes ? (double)last.memory / (double)bytes : 0;
    bool fast = worst * 1000 > (double)most_milli, large = most_times > 0 && room > (double)most_times;
    printf(" " UNIT "  %.2f per doubling  memory %.1f x%s%s\n", worst, room, fast ? "  TOO FAST" : "",
           large ? "  TOO LARGE" : "");
    return !fast && !large;
}

int main(int argc, char **argv)
{
    const option_row options[] = {
        {"--max", &max_mb, NULL, "largest size, in MB"},
        {"--from", &from_kb, NULL, "smallest size, in KB"},
        {"--most", &most_milli, NULL, "growth per doubling that is too much, in thousandths"},
        {"--times", &most_times, NULL, "memory that is too much, in times of the request; 0: any"},
        {"--runs", &runs, NULL, "how often a row is run that seems to grow too fast"},
        {"--only", NULL, &only, "rows whose name has these words"},
        {0}};
    options_read(argc, argv, options);
    char *mem = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        die("memory");
    return !rows_each(measure, mem);
}
