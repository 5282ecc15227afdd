/* Many timers on one of the loop's: each rings once, in the order of their moments, whatever is set and stopped
 * meanwhile. */
#include "base/str.h"
#include "net/timer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { TIMERS = 400, ROUNDS = 300, MOMENTS = 1000 };

static loop_timer timers[TIMERS];
static loop_timers *all;
static daruma_ms due[TIMERS]; /* of each; 0: it is not set */
static daruma_ms rung_at;
static uint32_t dice = 1;
static bool busy; /* who rings sets and stops others */

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % n;
}

static void set(size_t i, daruma_ms at)
{
    due[i] = at;
    loop_timer_set(all, &timers[i], at);
}

static void stop(size_t i)
{
    due[i] = 0;
    loop_timer_stop(all, &timers[i]);
}

/* The earliest of those that are set, by looking at each. */
static daruma_ms next_due(void)
{
    daruma_ms next = 0;
    for (size_t i = 0; i < TIMERS; i++)
        if (due[i] && (!next || due[i] < next))
            next = due[i];
    return next;
}

static void ring(loop_timer *t)
{
    size_t i = (size_t)(t - timers);
    assert_int_not_equal(due[i], 0);
    assert_int_equal(due[i], next_due());
    assert_int_equal(t->at, 0);
    assert_true(due[i] >= rung_at);
    rung_at = due[i];
    due[i] = 0;
    if (busy && roll(3) == 0)
        set(roll(TIMERS), rung_at + roll(50));
    if (busy && roll(3) == 0)
        stop(roll(TIMERS));
}

/* Moments in the past: the loop has counted from the start of the machine. */
static void all_ring_once_and_in_order(void **state)
{
    (void)state;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    all = loop_timers_new(&loop, ring);
    assert_non_null(all);
    for (int round = 0; round < ROUNDS; round++) {
        rung_at = 0;
        busy = round % 2;
        for (size_t i = 0; i < roll(3 * TIMERS); i++)
            if (roll(4))
                set(roll(TIMERS), 1 + roll(MOMENTS));
            else
                stop(roll(TIMERS));
        bool any = next_due() > 0;
        assert_int_equal(uv_is_active((uv_handle_t *)&all->timer), any);
        uv_run(&loop, UV_RUN_NOWAIT);
        assert_int_equal(next_due(), 0);
        assert_false(uv_is_active((uv_handle_t *)&all->timer));
    }
    loop_timers_free(all);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void what_is_due_later_waits_and_can_be_moved(void **state)
{
    (void)state;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    all = loop_timers_new(&loop, ring);
    daruma_ms later = (daruma_ms)uv_now(&loop) + 3600000;
    rung_at = 0;
    busy = false;
    set(0, later);
    set(1, later + 1);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(due[0], later);
    set(1, 1); /* sooner than all others */
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(due[1], 0);
    assert_int_equal(due[0], later);
    stop(0);
    stop(0);
    assert_false(uv_loop_alive(&loop));
    loop_timers_free(all);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ring_once_and_in_order),
        cmocka_unit_test(what_is_due_later_waits_and_can_be_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
