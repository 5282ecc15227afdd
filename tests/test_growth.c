/* Nothing that is done with a request grows with the square of its size: the steps of each row of bench_growth are
 * counted, at sizes that double. A step is a block of code that is run, or 32 bytes that the C library goes through. */
#include "test.h"
#include "shapes.h"
#include "base/arena.h"
#include "base/str.h"
#include <sys/mman.h>

enum {
    FROM_BYTES = 16 << 10,
    DOUBLINGS_MIN = 2,
    DOUBLINGS_MAX = 6,       /* where a look back of so many messages has its bound it grows faster up to there */
    MOST_MILLI = 2300,       /* of steps, and of memory, per doubling */
    BYTES_A_STEP = 32,       /* of what the C library does */
    SPARE_BYTES = 256 << 10, /* tables of fixed size and the like */
};

static const size_t room_bytes = (size_t)4 << 30; /* of addresses */
static int64_t steps;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    steps++;
}

/* What the linker puts in the place of the C library's. */
#define WRAP(type, name, params, args, n)                                                                              \
    type __real_##name params;                                                                                         \
    type __wrap_##name params;                                                                                         \
    type __wrap_##name params                                                                                          \
    {                                                                                                                  \
        type r = __real_##name args;                                                                                   \
        steps += (int64_t)((n) / BYTES_A_STEP);                                                                        \
        return r;                                                                                                      \
    }
WRAP(void *, memchr, (const void *s, int c, size_t n), (s, c, n), r ? (size_t)((const char *)r - (const char *)s) : n)
WRAP(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n), r ? 0 : n) /* what differs does so early */
WRAP(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memmove, (void *to, const void *from, size_t n), (to, from, n), n)
WRAP(void *, memset, (void *to, int c, size_t n), (to, c, n), n)
WRAP(void *, memmem, (const void *s, size_t n, const void *p, size_t m), (s, n, p, m),
     r ? (size_t)((const char *)r - (const char *)s) : n)

static int64_t steps_now(void)
{
    return steps;
}

typedef struct tally {
    char *room;
    size_t rows, bad;
} tally;

static bool too_much(int64_t now, int64_t before, int64_t spare)
{
    return before > 0 && (now - spare) * 1000 > before * MOST_MILLI;
}

typedef struct used {
    int64_t steps, bytes;
} used;

/* The last doubling must be no faster than it may; where it is, larger ones are looked at, as far as the bound. */
static bool grows_straight(const row *x, void *user)
{
    tally *t = user;
    used last = {0}, now = {0};
    bool fast = false;
    t->rows++;
    for (int i = 0; i <= DOUBLINGS_MIN || (fast && i <= DOUBLINGS_MAX); i++) {
        daruma_arena a = arena_over(t->room, room_bytes);
        last = now;
        if (!row_do(x, (size_t)FROM_BYTES << i, &a, steps_now, &now.steps))
            return true;
        now.bytes = a.beg - t->room;
        fast = too_much(now.steps, last.steps, 0) || too_much(now.bytes, last.bytes, SPARE_BYTES);
    }
    if (fast)
        print_error("%s: %lld steps and %lld bytes, and with twice as much %lld and %lld\n", x->name,
                    (long long)last.steps, (long long)last.bytes, (long long)now.steps, (long long)now.bytes);
    t->bad += fast;
    return true;
}

static void nothing_grows_with_the_square(void **state)
{
    (void)state;
    tally t = {.room =
                   mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    assert_true(t.room != MAP_FAILED);
    rows_each(grows_straight, &t);
    munmap(t.room, room_bytes);
    assert_true(t.rows > 500);
    assert_int_equal(t.bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_grows_with_the_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
