/* bench/stall - what it costs to see whether an agent goes in circles: processor time of a step, by the size of its
 * result, for an agent that works and for one that does not, and the memory an agent is remembered in. Beside it the
 * time XXH3 takes over the same bytes. One table line and one JSON line for each. */
#include "daruma.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS  64  /* of one run */
#define ROUNDS 201 /* runs; the median counts */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static int smaller(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Half a source file, half a log: what agents' tools give. `differs`: the steps are all different. */
static void make_steps(daruma_step steps[STEPS], size_t bytes, bool differs, daruma_arena *a)
{
    for (unsigned i = 0; i < STEPS; i++) {
        daruma_buf args = buf_in(a), text = buf_in(a);
        unsigned n = differs ? i : i % 4;
        buf_printf(&args, "{\"path\":\"src/module_%u.c\",\"limit\":2000}", n);
        for (unsigned k = n; text.n < bytes / 2; k++)
            buf_printf(&text, "    if (state->%s == NULL) return handle_%s(ctx, \"no entry\");\n",
                       k & 1 ? "next" : "first", k & 2 ? "missing" : "closed");
        for (unsigned k = n; text.n < bytes; k++)
            buf_printf(&text, "2026-03-01 11:%02u:%02u INFO worker-%u finished job %u in %u ms\n", k % 60, n % 60,
                       k % 8, k * 17, k * 7 % 900);
        steps[i] = (daruma_step){
            .tool = S("read_file"), .args = buf_str(&args), .result = str_sub(buf_str(&text), 0, bytes), .ok = 1};
    }
}

static int64_t median_of(int64_t took[ROUNDS])
{
    qsort(took, ROUNDS, sizeof *took, smaller);
    return took[ROUNDS / 2] / STEPS;
}

static void measure(const char *name, size_t bytes, bool differs, char *mem, size_t room)
{
    static int64_t took[ROUNDS], hashing[ROUNDS];
    daruma_step steps[STEPS];
    daruma_arena a = arena_over(mem, room);
    uint64_t sum = 0;
    make_steps(steps, bytes, differs, &a);
    for (int r = 0; r < ROUNDS; r++) {
        daruma_arena here = a;
        daruma_stall *s = daruma_stall_new(&here);
        int64_t from = now_ns();
        for (int i = 0; i < STEPS; i++)
            sum += daruma_stall_see(s, &steps[i]).circle;
        took[r] = now_ns() - from;
        from = now_ns();
        for (int i = 0; i < STEPS; i++)
            sum += daruma_call_hash(steps[i].tool, steps[i].args) + daruma_result_hash(steps[i].result, false);
        hashing[r] = now_ns() - from;
    }
    long long step = median_of(took), hash = median_of(hashing), rest = step > hash ? step - hash : 0;
    if (!sum)
        abort();
    printf("watching   %-8s result of %6zu bytes   %6lld ns a step   %6lld of them hashing   %5lld beyond\n", name,
           bytes, step, hash, rest);
    printf("{\"bench\":\"stall\",\"agent\":\"%s\",\"bytes\":%zu,\"step_ns\":%lld,\"hash_ns\":%lld,\"beyond_ns\":%lld,"
           "\"agent_bytes\":%zu}\n",
           name, bytes, step, hash, rest, daruma_stall_bytes());
}

int main(void)
{
    static const size_t sizes[] = {1000, 10000, 100000};
    size_t room = 64u << 20;
    char *mem = malloc(room);
    if (!mem)
        return 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        measure("works", sizes[i], true, mem, room);
        measure("circles", sizes[i], false, mem, room);
    }
    printf("watching   %zu bytes for each agent\n", daruma_stall_bytes());
    free(mem);
    return 0;
}
