/* bench/classify - how long daruma_classify takes over records (JSON lines as `daruma classify
 * --jsonl` reads them), and how long the slowest take. Prints one table line and one JSON line. */
#include "daruma_parts.h"
#include "base/json.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RECORDS_MAX 4096
#define ROUNDS      400 /* of each record; its median counts */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t measure(const daruma_evidence *ev, char *mem, size_t bytes)
{
    static int64_t took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        daruma_arena a = {.beg = mem, .end = mem + bytes};
        int64_t from = now_ns();
        daruma_failure f = daruma_classify(ev, (daruma_moment){.wall = 1800000000}, &a);
        took[i] = now_ns() - from;
        if (f.kind >= DARUMA_KINDS)
            abort();
    }
    qsort(took, ROUNDS, sizeof *took, smaller);
    return took[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static int64_t all[RECORDS_MAX];
    static char text[8u << 20], mem[4u << 20], work[1u << 20];
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!f) {
        fprintf(stderr, "usage: bench_classify FILE.jsonl\n");
        return 2;
    }
    daruma_str rest = {text, fread(text, 1, sizeof text, f)};
    fclose(f);
    size_t n = 0;
    while (rest.n && n < RECORDS_MAX) {
        daruma_arena a = {.beg = mem, .end = mem + sizeof mem};
        daruma_str line = str_trim(str_cut(&rest, '\n'));
        if (!json_is_object(line))
            continue;
        daruma_evidence ev = {.status = (int)json_int(json_get(line, S("status")), 0),
                              .provider = json_text(json_get(line, S("provider")), &a),
                              .body = json_text(json_get(line, S("body")), &a)};
        all[n++] = measure(&ev, work, sizeof work);
    }
    if (!n)
        return 1;
    qsort(all, n, sizeof *all, smaller);
    printf("classify   %zu records   median %lld ns   p99 %lld ns   slowest %lld ns\n", n, (long long)all[n / 2],
           (long long)all[n * 99 / 100], (long long)all[n - 1]);
    printf("{\"bench\":\"classify\",\"records\":%zu,\"median_ns\":%lld,\"p99_ns\":%lld}\n", n, (long long)all[n / 2],
           (long long)all[n * 99 / 100]);
    return 0;
}
