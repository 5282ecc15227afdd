/* Whole agents against faults (sim/trial.h): the same trial is the same whoever runs it, and `default` does best. */
#include "test.h"
#include "base/str.h"
#include "sim/trial.h"
#include "sys/arena.h"
#include <stdlib.h>

enum { TRIALS = 5 * TRIAL_CLASSES };

static const drive_rooms rooms = SYS_ROOMS;

static trial_outcome run_one(const seed_stack *stack, uint64_t seed, uint64_t k)
{
    trial_setup s = {.stack = stack, .mode = stack->agent.mode, .seed = seed, .rooms = &rooms};
    trial_outcome o = {0};
    if (!trial_run(&s, k, &o))
        fail_msg("trial %d does not end", (int)k);
    return o;
}

static void run_all(const char *names, trial_sum *all, trial_sum *of)
{
    daruma_arena a;
    char words[160];
    seed_stack stack;
    daruma_buf why = {.p = words, .cap = sizeof words};
    assert_true(sys_arena_init(&a, 0, 4 << 20));
    assert_true(seed_stack_read(str_of(names), &a, &stack, &why));
    *all = (trial_sum){0};
    for (int i = 0; i < TRIAL_CLASSES; i++)
        of[i] = (trial_sum){0};
    for (uint64_t k = 0; k < TRIALS; k++) {
        trial_outcome o = run_one(&stack, 3, k);
        trial_add(all, &o);
        trial_add(&of[k % TRIAL_CLASSES], &o);
    }
    sys_arena_done(&a);
}

/* All that seeds run whole, and each profile that has an agent of its own. */
static const char *rival(size_t i)
{
    static const char *const alone[] = {"osprey:doc", "osprey:code",   "osprey-reactive", "compact",
                                        "adaptive",   "adaptive:code", "adaptive-head",   "penguiflow:code"};
    return i < COUNT(alone) ? alone[i] : seed_stack_usual(i - COUNT(alone));
}

static void default_does_best(void **state)
{
    trial_sum best, of[TRIAL_CLASSES], other, of_other[TRIAL_CLASSES];
    (void)state;
    run_all("default", &best, of);
    assert_true(best.done * 100 >= best.runs * 95);
    assert_int_equal(best.doubled, 0);
    assert_int_equal(best.claimed, 0);
    assert_int_equal(of[TRIAL_CALM].wasted, 0);
    for (size_t i = 0; rival(i); i++) {
        run_all(rival(i), &other, of_other);
        if (other.done >= best.done || other.wasted <= best.wasted)
            fail_msg("%s: done %d, wasted %d; default: done %d, wasted %d", rival(i), (int)other.done,
                     (int)other.wasted, (int)best.done, (int)best.wasted);
        for (int c = 0; c < TRIAL_CLASSES; c++)
            if (of_other[c].done > of[c].done)
                fail_msg("%s does %d of %s, default %d", rival(i), (int)of_other[c].done,
                         trial_class_name((trial_class)c), (int)of[c].done);
    }
}

/* The world is not bent: where nothing fails nearly everybody is done, and nobody orders twice. */
static void where_nothing_fails_all_are_done(void **state)
{
    trial_sum all, of[TRIAL_CLASSES];
    (void)state;
    for (size_t i = 0; rival(i); i++) {
        run_all(rival(i), &all, of);
        assert_int_equal(of[TRIAL_CALM].doubled, 0);
        if (of[TRIAL_CALM].done < of[TRIAL_CALM].runs && !str_starts(str_of(rival(i)), S("adaptive")))
            fail_msg("%s is not done where nothing fails", rival(i));
    }
}

static void the_same_trial_is_the_same(void **state)
{
    daruma_arena a;
    seed_stack stack;
    char words[160];
    daruma_buf why = {.p = words, .cap = sizeof words};
    (void)state;
    assert_true(sys_arena_init(&a, 0, 4 << 20));
    assert_true(seed_stack_read(S("default"), &a, &stack, &why));
    bool differs = false;
    for (uint64_t k = 0; k < TRIAL_CLASSES; k++) {
        trial_outcome one = run_one(&stack, 3, k), two = run_one(&stack, 3, k), other = run_one(&stack, 4, k);
        assert_int_equal(one.calls, two.calls);
        assert_int_equal(one.tokens, two.tokens);
        assert_int_equal(one.took, two.took);
        assert_int_equal(one.waited, two.waited);
        differs |= other.took != one.took;
    }
    assert_true(differs);
    sys_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_does_best),
        cmocka_unit_test(where_nothing_fails_all_are_done),
        cmocka_unit_test(the_same_trial_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
