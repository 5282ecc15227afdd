/* test_memory.c - what the driver remembers between requests: who makes room in full tables. */
#include "test.h"
#include "base/limits.h"
#include "engine/drive/memory/memory.h"
#include <stdlib.h>

enum { MANY = 10000, WINDOW = 4096, HIS_KEY = 5 };

static void *taken(size_t bytes)
{
    return calloc(1, bytes);
}

static const drive_rooms rooms = {.take = taken, .give = free};

/* An account's way to its n-th model. */
static daruma_target way(uint64_t account, uint64_t n)
{
    return (daruma_target){.account_id = account, .lane_id = (account << 32 | n) * UINT64_C(0x9e3779b97f4a7c15)};
}

static void the_windows_of_one_account_push_out_no_others(void **state)
{
    (void)state;
    memory *m = memory_new(&rooms);
    daruma_target his = way(2, 0);
    assert_non_null(m);
    assert_true(memory_window_put(m, &his, WINDOW));
    for (uint64_t i = 0; i < MANY; i++) {
        daruma_target t = way(1, i);
        assert_true(memory_window_put(m, &t, WINDOW + 1));
    }
    assert_int_equal(memory_lane(m, his.lane_id, 0)->window, WINDOW);
    assert_int_equal(memory_lane(m, way(1, MANY - 1).lane_id, 0)->window, WINDOW + 1);
    memory_free(m);
}

static void the_oldest_of_one_account_makes_room_for_its_newest(void **state)
{
    (void)state;
    memory *m = memory_new(&rooms);
    size_t known = 0;
    assert_non_null(m);
    for (uint64_t i = 0; i < MANY; i++) {
        daruma_target t = way(1, i);
        memory_window_put(m, &t, WINDOW);
    }
    for (uint64_t i = 0; i < MANY; i++)
        known += memory_lane(m, way(1, i).lane_id, 0)->window == WINDOW;
    assert_in_range(known, LANES_MAX * 3 / 4, LANES_MAX);
    assert_int_equal(memory_lane(m, way(1, 0).lane_id, 0)->window, -1);
    memory_free(m);
}

static void the_answers_of_one_client_push_out_no_others(void **state)
{
    (void)state;
    memory *m = memory_new(&rooms);
    uint64_t his = way(2, 0).lane_id;
    assert_non_null(m);
    memory_owner_put(m, his, 2, HIS_KEY);
    for (uint64_t i = 0; i < (uint64_t)MANY * 10; i++)
        memory_owner_put(m, way(1, i).lane_id, 1, HIS_KEY + 1);
    assert_int_equal(memory_owner(m, his), HIS_KEY);
    assert_int_equal(memory_owner(m, way(1, MANY * 10 - 1).lane_id), HIS_KEY + 1);
    memory_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_windows_of_one_account_push_out_no_others),
        cmocka_unit_test(the_oldest_of_one_account_makes_room_for_its_newest),
        cmocka_unit_test(the_answers_of_one_client_push_out_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
