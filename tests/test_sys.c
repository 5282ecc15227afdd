#include "test.h"
#include "base/arena.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <sys/resource.h>

static void moments_do_not_go_back_and_dice_differ(void **state)
{
    (void)state;
    daruma_moment a = sys_moment(), b = sys_moment();
    assert_true(b.now >= a.now && a.wall > 1700000000);
    assert_true(a.dice != b.dice);
}

static void an_arena_grows_to_its_limit_and_remembers(void **state)
{
    (void)state;
    daruma_arena a;
    assert_true(sys_arena_init(&a, 100, 100000));
    size_t n = 0;
    for (char *p; (p = arena_take(&a, 1000, 8)); n += 1000) {
        assert_int_equal((uintptr_t)p % 8, 0);
        memset(p, 1, 1000);
    }
    assert_true(a.full && n >= 90000 && sys_arena_bytes(&a) <= 100000);
    sys_arena_done(&a);
    sys_arena_done(&a);
    assert_int_equal(sys_arena_bytes(&a), 0);
}

static void room_that_was_left_behind_takes_nothing_from_the_limit(void **state)
{
    (void)state;
    enum { LARGE = 4 << 20 };
    daruma_arena a;
    assert_true(sys_arena_init(&a, 64, 4 * LARGE));
    for (int i = 0; i < 3; i++)
        assert_non_null(arena_raw(&a, LARGE - 1, 1));
    assert_non_null(arena_raw(&a, LARGE - 1024, 1));
    assert_null(arena_raw(&a, 1024, 1));
    assert_true(sys_arena_bytes(&a) <= 4 * LARGE);
    sys_arena_done(&a);
}

static void an_arena_that_did_not_grow_is_as_new_again(void **state)
{
    (void)state;
    daruma_arena a, empty = {0};
    assert_true(sys_arena_init(&a, 100, 2000));
    char *first = arena_take(&a, 90, 1);
    assert_null(arena_take(&a, 4000, 1));
    assert_int_equal(sys_arena_again(&a), SYS_KEEPS);
    if (SYS_KEEPS) {
        assert_true(!a.full && sys_arena_bytes(&a) < 100);
        assert_ptr_equal(arena_raw(&a, 100, 1), first);
    }
    assert_non_null(arena_raw(&a, 500, 1));
    assert_false(sys_arena_again(&a) || sys_arena_again(&empty));
    assert_null(arena_raw(&a, 2000, 1)); /* its limit is what it was */
    sys_arena_done(&a);
}

static void one_large_thing_fits_a_small_arena(void **state)
{
    (void)state;
    daruma_arena a;
    assert_true(sys_arena_init(&a, 16, 64u << 20));
    assert_non_null(arena_take(&a, 32u << 20, 1));
    assert_null(arena_take(&a, SIZE_MAX / 2, 1));
    assert_true(a.full);
    sys_arena_done(&a);
}

/* Each time it moves it leaves itself behind: what it leaves is small beside what it becomes. */
static void a_large_list_leaves_little_of_itself_behind(void **state)
{
    enum { MANY = 10 << 20 };
    (void)state;
    daruma_arena a;
    uint64_t *list = NULL;
    size_t cap = 0, left = 0;
    assert_true(sys_arena_init(&a, 8 << 10, 256u << 20));
    for (size_t n = 0; n < MANY; n++) {
        uint64_t *was = list;
        assert_non_null(list = arena_grow(&a, list, n, &cap, sizeof *list, 4));
        left += list == was ? 0 : n;
        list[n] = n;
    }
    assert_true(left < MANY / 3);
    sys_arena_done(&a);
}

/* Room that nobody has touched is no memory, however much of it there is. */
static void room_to_grow_is_no_memory(void **state)
{
    enum { LARGE = 4 << 20, SPARE = 1024 };
    (void)state;
    daruma_arena a;
    assert_true(sys_arena_init(&a, LARGE, 256u << 20));
    assert_true(sys_arena_bytes(&a) > 0 && sys_arena_bytes(&a) <= SPARE);
    for (int i = 1; i < 8; i++) {
        assert_non_null(arena_raw(&a, LARGE + 1, 1));
        assert_in_range(sys_arena_bytes(&a), i * LARGE, i * LARGE + SPARE);
    }
    sys_arena_done(&a);
}

static void files_are_read_whole_or_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/daruma-test-XXXXXX", why[256] = "";
    FILE *f = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 10000; i++)
        fputs("0123456789", f);
    fclose(f);
    daruma_arena a;
    daruma_str text;
    assert_true(sys_arena_init(&a, 64, 1 << 20));
    assert_true(sys_read_file(path, 100000, &a, &text, why));
    assert_true(text.n == 100000 && text.p[99999] == '9' && text.p[100000] == 0);
    assert_false(sys_read_file(path, 99999, &a, &text, why));
    assert_non_null(strstr(why, "too long"));
    remove(path);
    assert_false(sys_read_file(path, 100000, &a, &text, why));
    assert_non_null(strstr(why, path));
    assert_false(sys_read_file("/tmp", 100000, &a, &text, why));
    sys_arena_done(&a);
}

static void an_unset_variable_is_empty(void **state)
{
    (void)state;
    setenv("DARUMA_TEST", "x", 1);
    assert_str(sys_env("DARUMA_TEST"), "x");
    unsetenv("DARUMA_TEST");
    assert_int_equal(sys_env("DARUMA_TEST").n, 0);
}

static void descriptors_are_as_many_as_may_be(void **state)
{
    (void)state;
    struct rlimit was, now;
    getrlimit(RLIMIT_NOFILE, &was);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){64, was.rlim_max});
    sys_descriptors_all();
    getrlimit(RLIMIT_NOFILE, &now);
    assert_true(now.rlim_cur == was.rlim_max);
    setrlimit(RLIMIT_NOFILE, &was);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_do_not_go_back_and_dice_differ),
        cmocka_unit_test(an_arena_grows_to_its_limit_and_remembers),
        cmocka_unit_test(room_that_was_left_behind_takes_nothing_from_the_limit),
        cmocka_unit_test(an_arena_that_did_not_grow_is_as_new_again),
        cmocka_unit_test(one_large_thing_fits_a_small_arena),
        cmocka_unit_test(a_large_list_leaves_little_of_itself_behind),
        cmocka_unit_test(room_to_grow_is_no_memory),
        cmocka_unit_test(files_are_read_whole_or_refused),
        cmocka_unit_test(an_unset_variable_is_empty),
        cmocka_unit_test(descriptors_are_as_many_as_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
