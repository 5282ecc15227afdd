/* Small writes wait for the end of a turn of the loop: none is lost, or out of its owner's order, whatever comes
 * between. */
#include "base/limits.h"
#include "base/str.h"
#include "net/gather.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { OWNERS = 2 * GATHERED_MAX, ROUNDS = 2000 };

typedef struct owner {
    bool held;
    uint8_t put, wrote; /* the next byte to put, and to be written: each goes on where the one before ended */
    size_t waits;       /* bytes put that are not written yet */
    size_t writes;
} owner;

static uv_loop_t loop;
static gather *all;
static owner owners[OWNERS];
static char bytes[GATHERED_PIECE_BYTES_MAX + 1];
static uint32_t dice = 1;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % n;
}

static void write_out(void *user, daruma_str b)
{
    owner *o = user;
    assert_false(o->held);
    assert_true(b.n <= o->waits);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal((uint8_t)b.p[i], o->wrote++);
    o->waits -= b.n;
    o->writes++;
}

/* In two pieces. True: it is kept. */
static bool put(owner *o, size_t n)
{
    size_t first = n ? roll((uint32_t)n) : 0;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)o->put++;
    o->waits += n;
    uv_buf_t bufs[] = {uv_buf_init(bytes, (unsigned)first), uv_buf_init(bytes + first, (unsigned)(n - first))};
    bool kept = gather_put(all, o, &o->held, bufs, 2);
    if (!kept)
        write_out(o, (daruma_str){bytes, n});
    return kept;
}

static void turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
    for (size_t i = 0; i < OWNERS; i++) {
        assert_int_equal(owners[i].waits, 0);
        assert_false(owners[i].held);
    }
}

static int begin(void **state)
{
    (void)state;
    memset(owners, 0, sizeof owners);
    uv_loop_init(&loop);
    all = gather_new(&loop, write_out);
    return all ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    gather_free(all);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

static void they_wait_for_the_end_of_the_turn(void **state)
{
    (void)state;
    for (size_t i = 0; i < 20; i++)
        assert_true(put(&owners[i], 100));
    assert_true(put(&owners[19], 50)); /* goes out with what waits for the same */
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(owners[i].writes, 0);
    assert_true(uv_loop_alive(&loop));
    turn();
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(owners[i].writes, 1);
    assert_false(uv_loop_alive(&loop));
}

static void what_is_large_goes_at_once_behind_what_waits(void **state)
{
    (void)state;
    assert_true(put(&owners[0], GATHERED_PIECE_BYTES_MAX));
    assert_false(put(&owners[1], GATHERED_PIECE_BYTES_MAX + 1));
    assert_int_equal(owners[0].writes, 0); /* another's need not go */
    assert_false(put(&owners[0], GATHERED_PIECE_BYTES_MAX + 1));
    assert_int_equal(owners[0].writes, 2);
    turn();
}

static void what_is_dropped_is_not_written(void **state)
{
    (void)state;
    put(&owners[0], 10);
    put(&owners[1], 10);
    gather_drop(all, &owners[0]);
    assert_false(owners[0].held);
    owners[0].waits = 0;
    turn();
    assert_int_equal(owners[0].writes, 0);
    assert_int_equal(owners[1].writes, 1);
}

static void without_memory_all_is_the_callers(void **state)
{
    gather *was = all;
    (void)state;
    all = NULL;
    assert_false(put(&owners[0], 10));
    gather_flush(all);
    all = was;
}

static void any_order_of_them_stays(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        put(&owners[roll(OWNERS)], roll(20) ? roll(1500) : roll(sizeof bytes) + 1);
        if (roll(50) == 0)
            gather_flush(all);
        if (roll(100) == 0)
            turn();
    }
    turn();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_wait_for_the_end_of_the_turn, begin, end),
        cmocka_unit_test_setup_teardown(what_is_large_goes_at_once_behind_what_waits, begin, end),
        cmocka_unit_test_setup_teardown(what_is_dropped_is_not_written, begin, end),
        cmocka_unit_test_setup_teardown(without_memory_all_is_the_callers, begin, end),
        cmocka_unit_test_setup_teardown(any_order_of_them_stays, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
