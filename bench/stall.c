/* bench/stall - what it costs to see whether an agent goes in circles: the time of a step, by the size of its result,
 * for an agent that works and for one that does not, and the memory an agent is remembered in. Beside it what cannot be
 * spared: XXH3 over its arguments and its result, and reading them canonically where they are new. All are taken in
 * turns, a few microseconds each, and the median round counts: what else the machine does falls out. One table line and
 * one JSON line for each.
 */
#include "daruma_parts.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xxhash.h>

#define STEPS  64  /* of one run */
#define ROUNDS 401 /* runs; the median counts */
#define LAP    4   /* calls of a circle */

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
        unsigned n = differs ? i : i % LAP;
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

enum part { STEP, HASH, ENDS, READ, PARTS };

static uint64_t sum; /* of all that was computed: nothing is left out for being unused */

/* White space around a result is no part of it. It is hashed from where it begins: XXH3 takes 250 ns more for 100 KB
 * that do not begin at a multiple of 16 bytes, and in a request they seldom do. */
static uint64_t hash_bytes(const daruma_step *s)
{
    daruma_str text = str_trim(s->result);
    return XXH3_64bits(s->args.p, s->args.n) + XXH3_64bits(text.p, text.n);
}

/* Of what is new the bytes between are hashed once, by whoever reads it. */
static uint64_t hash_ends(const daruma_step *s)
{
    daruma_str text = str_trim(s->result);
    size_t half = SAME_ANSWER_BYTES_MAX / 2;
    if (text.n <= 2 * half)
        return hash_bytes(s);
    return XXH3_64bits(s->args.p, s->args.n) + XXH3_64bits(text.p, half) + XXH3_64bits(text.p + text.n - half, half);
}

static void do_part(enum part part, daruma_stall *stall, const daruma_step *s)
{
    if (part == STEP)
        sum += daruma_stall_see(stall, s).circle;
    else if (part == HASH)
        sum += hash_bytes(s);
    else if (part == ENDS)
        sum += hash_ends(s);
    else
        sum += daruma_call_hash(s->tool, s->args) + daruma_result_hash(s->result, false);
}

/* Nanoseconds of a step, of the steps from `first` to before `end`. */
static int64_t time_part(enum part part, daruma_stall *stall, const daruma_step *steps, int first, int end)
{
    int64_t from = now_ns();
    for (int i = first; i < end; i++)
        do_part(part, stall, &steps[i]);
    return (now_ns() - from) / (end - first);
}

static int64_t median(int64_t took[ROUNDS])
{
    qsort(took, ROUNDS, sizeof *took, smaller);
    return took[ROUNDS / 2];
}

/* An agent that works is at work in all its steps. In circles the first lap is work, too; in the second it is read what
 * each result says; the others are what is asked for. */
static void measure(const char *name, size_t bytes, bool differs, char *mem, size_t room)
{
    static int64_t took[PARTS][ROUNDS], second[ROUNDS], beyond[ROUNDS];
    daruma_step steps[STEPS];
    daruma_arena a = arena_over(mem, room);
    make_steps(steps, bytes, differs, &a);
    for (int r = 0; r < ROUNDS; r++) {
        daruma_arena here = a;
        daruma_stall *s = daruma_stall_new(&here);
        time_part(STEP, s, steps, 0, LAP);
        second[r] = time_part(STEP, s, steps, LAP, 2 * LAP);
        for (enum part p = STEP; p < PARTS; p++)
            took[p][r] = time_part(p, s, steps, 2 * LAP, STEPS);
        beyond[r] = took[STEP][r] - (differs ? took[READ][r] + took[ENDS][r] : took[HASH][r]);
    }
    long long step = median(took[STEP]), hash = median(took[HASH]), read = median(took[READ]), rest = median(beyond),
              lap = median(second), ends = median(took[ENDS]);
    printf("watching   %-8s result of %6zu bytes   %6lld ns a step   XXH3 %5lld, of what is read too %4lld   reading "
           "%6lld   "
           "beyond %5lld   second lap %6lld\n",
           name, bytes, step, hash, ends, read, rest, lap);
    printf("{\"bench\":\"stall\",\"agent\":\"%s\",\"bytes\":%zu,\"step_ns\":%lld,\"hash_ns\":%lld,\"xxh3_ns\":%lld,"
           "\"ends_ns\":%lld,\"read_ns\":%lld,\"beyond_ns\":%lld,\"second_lap_ns\":%lld,\"agent_bytes\":%zu}\n",
           name, bytes, step, differs ? read : hash, hash, ends, read, rest, lap, daruma_stall_bytes());
}

int main(void)
{
    static const size_t sizes[] = {1000, 10000, 100000};
    size_t room = 64u << 20;
    char *mem = malloc(room);
    if (!mem)
        return 1;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        measure("works", sizes[i], true, mem, room);
        measure("circles", sizes[i], false, mem, room);
    }
    printf("watching   %zu bytes for each agent\n", daruma_stall_bytes());
    free(mem);
    return sum ? 0 : 1;
}
