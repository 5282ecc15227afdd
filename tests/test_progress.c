/* Progress of an agent, in steps and by estimates, and the profiles' own rules for loops: K-F8, K-F10, K-F21 to K-F23,
 * K-T7, K-T8, K-T13, K-T14, K-T18. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"

static char memory[1 << 16];

static const daruma_policy *profile(const char *name, const char *variant)
{
    const daruma_policy *p = daruma_policy_variant(str_of(name), str_of(variant));
    assert_non_null(p);
    return p;
}

static daruma_step step(const char *tool, const char *args, const char *result, int ok)
{
    return (daruma_step){.tool = str_of(tool), .args = str_of(args), .result = str_of(result), .ok = ok};
}

/* ---- the profiles' own detectors ---- */

typedef struct spoke {
    uint32_t step; /* 0: never */
    const char *name;
} spoke;

/* The step at which it first speaks when these are done in turn, `n` in all. */
static spoke first_word(const daruma_policy *p, const daruma_step *turn, size_t nturn, uint32_t n)
{
    daruma_detector d = {0};
    for (uint32_t i = 0; i < n; i++) {
        const char *name = NULL;
        daruma_verdict v = daruma_detector_see(&d, p, &turn[i % nturn], &name);
        if (v.circle != DARUMA_CIRCLE_NONE) {
            assert_int_equal(v.step, i + 1);
            return (spoke){i + 1, name};
        }
        assert_null(name);
    }
    return (spoke){0, "never"};
}

static void assert_spoke(spoke s, uint32_t at, const char *name)
{
    if (s.step != at || strcmp(s.name, name) != 0)
        fail_msg("spoke at %u as %s, expected %u as %s", s.step, s.name, at, name);
}

static void the_example_of_the_adr_is_found_at_its_golden_steps(void **state)
{
    (void)state;
    const daruma_step turn[] = {
        step("fs:search", "{\"q\":\"ProgressTracker\"}", "path/to/file.ts:123: code", 1),
        step("fs:read", "{\"path\":\"file.ts\"}", "ENOENT: no such file", 0),
    };
    assert_spoke(first_word(profile("adaptive", "doc"), turn, 2, 12), 4, "exact_repeat");
    assert_spoke(first_word(profile("adaptive", "code"), turn, 2, 12), 10, "tool_sequence_repeat");
}

static void eight_reads_of_eight_files_are_a_loop_to_the_seed(void **state)
{
    (void)state;
    char args[8][32], results[8][32];
    daruma_step turn[8];
    for (int i = 0; i < 8; i++) {
        snprintf(args[i], sizeof args[i], "{\"path\":\"m%d.py\"}", i);
        snprintf(results[i], sizeof results[i], "VALUE=%d", i);
        turn[i] = step("fs:read", args[i], results[i], 1);
    }
    assert_spoke(first_word(profile("adaptive", "doc"), turn, 8, 8), 6, "tool_sequence_repeat");
    assert_spoke(first_word(profile("adaptive", "code"), turn, 8, 8), 7, "tool_sequence_repeat");
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 8, 8), 0, "never");
}

static void the_same_failing_read_is_found(void **state)
{
    (void)state;
    const daruma_step turn[] = {step("fs:read", "{\"path\":\"x\"}", "ENOENT", 0)};
    assert_spoke(first_word(profile("adaptive", "doc"), turn, 1, 8), 3, "exact_repeat");
    assert_spoke(first_word(profile("adaptive", "code"), turn, 1, 8), 6, "stuck_reasoning");
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 1, 8), 3, "repeated_without_progress");
}

static void three_calls_in_turn_are_found_at_the_sixth_and_two_never(void **state)
{
    (void)state;
    const daruma_step turn[] = {step("tool_0", "{\"a\":1}", "0", 1), step("tool_1", "{\"a\":1}", "1", 1),
                                step("tool_2", "{\"a\":1}", "2", 1)};
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 3, 6), 6, "loop_detected");
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 2, 40), 0, "never");
}

static void paging_through_a_file_is_a_loop_to_the_seed(void **state)
{
    (void)state;
    char args[8][64];
    daruma_step turn[8];
    for (int i = 0; i < 8; i++) {
        snprintf(args[i], sizeof args[i],
                 i % 2 ? "{\"path\":\"big.txt\",\"offset\":%d,\"limit\":100}"
                       : "{\"limit\":100, \"offset\":%d, \"path\":\"big.txt\"}",
                 i * 100);
        turn[i] = step("fs_read", args[i], "text", 1);
    }
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 8, 8), 6, "loop_detected");
}

static void another_limit_is_the_same_call_and_another_order_too(void **state)
{
    (void)state;
    const daruma_step turn[] = {step("grep", "{\"q\":\"x\",\"limit\":10,\"in\":{\"a\":1,\"b\":[1,2]}}", "", 1),
                                step("grep", "{\"in\": {\"b\": [1,2], \"a\": 1}, \"q\":\"x\",\"limit\":20}", "", 1),
                                step("grep", "{\"q\":\"x\",\"in\":{\"b\":[1,2],\"a\":1}}", "", 1)};
    const daruma_step other[] = {turn[0], turn[1], step("grep", "{\"q\":\"x\",\"in\":{\"b\":[2,1],\"a\":1}}", "", 1)};
    assert_spoke(first_word(profile("adaptive-head", ""), turn, 3, 3), 3, "repeated_without_progress");
    assert_spoke(first_word(profile("adaptive-head", ""), other, 3, 5), 0, "never");
}

static void names_that_come_back_late_are_counted_anew(void **state)
{
    (void)state;
    daruma_detector d = {0};
    const daruma_policy *p = profile("adaptive", "code");
    char tool[16], args[24];
    for (int i = 0; i < 60; i++) { /* "x" at every 11th step: ten others between are too many */
        snprintf(tool, sizeof tool, i % 11 ? "t%d" : "x", i);
        snprintf(args, sizeof args, "{\"i\":%d}", i);
        daruma_step s = step(tool, args, "ok", 1);
        assert_int_equal(daruma_detector_see(&d, p, &s, NULL).circle, DARUMA_CIRCLE_NONE);
    }
}

static void without_rules_of_its_own_a_profile_says_nothing(void **state)
{
    (void)state;
    const daruma_step turn[] = {step("a", "{}", "x", 0)};
    assert_spoke(first_word(profile("default", ""), turn, 1, 30), 0, "never");
    assert_spoke(first_word(NULL, turn, 1, 30), 0, "never");
}

static void a_detector_needs_no_more_rows_than_it_counts(void **state)
{
    (void)state;
    for (size_t i = 0; daruma_policy_name(i); i++)
        for (int v = 0; v < 2; v++) {
            const daruma_policy *p = profile(daruma_policy_name(i), v ? "code" : "doc");
            assert_true(p->watch.ndetectors <= DARUMA_DETECTOR_ROWS);
            for (size_t j = 0; j < p->watch.ndetectors; j++)
                assert_true(p->watch.detectors[j].window < DARUMA_DETECTOR_WINDOW);
        }
}

static void a_snapshot_of_a_detector_goes_on_alike(void **state)
{
    (void)state;
    const daruma_step turn[] = {step("a", "{}", "1", 1), step("b", "{}", "2", 1), step("c", "{}", "3", 1)};
    const daruma_policy *p = profile("adaptive-head", "");
    daruma_detector d = {0};
    for (int i = 0; i < 4; i++)
        daruma_detector_see(&d, p, &turn[i % 3], NULL);
    daruma_detector copy = d;
    for (int i = 4; i < 8; i++) {
        daruma_verdict x = daruma_detector_see(&d, p, &turn[i % 3], NULL);
        daruma_verdict y = daruma_detector_see(&copy, p, &turn[i % 3], NULL);
        assert_int_equal(x.circle, y.circle);
        assert_int_equal(x.about, y.about);
        assert_int_equal(x.circle, i < 5 ? DARUMA_CIRCLE_NONE : DARUMA_CIRCLE_CYCLE);
    }
}

/* ---- steps without progress ---- */

static void nudges_come_at_four_six_and_eight(void **state)
{
    (void)state;
    const daruma_policy *p = profile("adaptive-head", "");
    daruma_progress g = {0};
    for (unsigned i = 1; i <= 16; i++) { /* K-T14 */
        unsigned level = daruma_progress_begin(&g, p);
        assert_int_equal(level, i == 4 ? 1 : i == 6 ? 2 : i == 8 ? 3 : 0);
        assert_int_equal(g.idle, i);
        daruma_step s = step("fetch", "{}", "boom", 0);
        assert_false(daruma_progress_see(&g, p, &s));
    }
}

static void output_of_a_tool_that_worked_begins_anew(void **state)
{
    (void)state;
    const daruma_policy *p = profile("adaptive-head", "");
    daruma_progress g = {0};
    daruma_step good = step("fetch", "{}", "text", 1), blank = step("fetch", "{}", "", 1);
    for (int i = 0; i < 5; i++)
        daruma_progress_begin(&g, p);
    assert_false(daruma_progress_see(&g, p, &blank));
    assert_int_equal(g.idle, 5);
    assert_true(daruma_progress_see(&g, p, &good));
    assert_int_equal(g.idle, 0);
    for (int i = 1; i < 4; i++)
        assert_int_equal(daruma_progress_begin(&g, p), 0);
    assert_int_equal(daruma_progress_begin(&g, p), 1);
}

static void by_default_only_what_is_new_is_progress(void **state)
{
    (void)state;
    daruma_progress g = {0};
    daruma_step read = step("read_file", "{\"path\":\"a\"}", "alpha", 1);
    assert_true(daruma_progress_see(&g, NULL, &read));
    assert_false(daruma_progress_see(&g, NULL, &read));
    read.args = S("{\"path\":\"b\"}"); /* another call that says the same */
    assert_false(daruma_progress_see(&g, NULL, &read));
    daruma_step edit = step("edit_file", "{\"path\":\"a\",\"new\":\"1\"}", "edited", 1);
    assert_true(daruma_progress_see(&g, NULL, &edit));
    assert_false(daruma_progress_see(&g, NULL, &edit));
    edit.args = S("{\"path\":\"a\",\"new\":\"2\"}"); /* the same words about another change */
    assert_true(daruma_progress_see(&g, NULL, &edit));
    daruma_step failed = step("read_file", "{\"path\":\"c\"}", "ENOENT: nothing like it was ever here", 0);
    assert_false(daruma_progress_see(&g, NULL, &failed));
    daruma_step spoken = step("", "", "I shall look into it", -1);
    assert_false(daruma_progress_see(&g, NULL, &spoken));
}

static void waiting_is_no_progress_and_costs_nothing(void **state)
{
    (void)state;
    daruma_progress g = {0};
    daruma_step wait = step("wait_for", "{\"job\":1}", "running", 1);
    wait.traits = DARUMA_TOOL_WAITS | DARUMA_TOOL_KNOWN;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(daruma_progress_begin(&g, NULL), 0);
        daruma_progress_see(&g, NULL, &wait);
    }
}

static void notices_say_how_long_and_get_firmer(void **state)
{
    (void)state;
    daruma_progress g = {.idle = 6};
    char last[400] = "";
    for (unsigned level = 1; level <= 3; level++) {
        daruma_buf b = buf_over(memory, sizeof memory);
        daruma_progress_notice(&g, level, &b);
        assert_true(str_find(buf_str(&b), S(" 6 steps")) != STR_NONE);
        assert_false(str_eq(buf_str(&b), str_of(last)));
        assert_true(b.n < sizeof last);
        snprintf(last, sizeof last, STR_FMT, STR_ARG(buf_str(&b)));
    }
}

/* ---- estimates ---- */

/* Answers of a model, or NULL: it failed. True: it stood still at the last. */
static bool stands_still(const daruma_policy *p, const char *const *answers, size_t n)
{
    daruma_progress g = {0};
    bool still = false;
    for (size_t i = 0; i < n; i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        char text[200] = "";
        if (answers[i])
            snprintf(text, sizeof text, answers[i][0] == '!' ? "%s" : "{\"progressPercent\": %s, \"blockers\": []}",
                     answers[i]);
        daruma_estimate e = daruma_progress_read(str_of(text), &a);
        still = daruma_progress_estimate(&g, p, e.progress);
    }
    return still;
}
#define STILL(p, ...) stands_still(p, (const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__})))

static void estimates_of_the_seed_stand_still_as_they_did(void **state)
{
    (void)state;
    const daruma_policy *p = profile("adaptive", "doc");
    assert_true(STILL(p, "10", "10", "10"));
    assert_true(STILL(p, "0", "4", "4.9"));
    assert_false(STILL(p, "0", "5", "5"));
    assert_false(STILL(p, "20", "90", "20"));
    assert_true(STILL(p, "100", "100", "100"));
    assert_false(STILL(p, "90", "60", "30"));
    assert_false(STILL(p, "10", NULL, "10"));
    assert_true(STILL(p, "10", NULL, "10", "10"));
    assert_true(STILL(p, "!no JSON", "!{broken", "!none"));
    assert_true(STILL(p, "150", "100", "101"));
    assert_true(STILL(p, "-5", "0", "4"));
    assert_false(STILL(p, "10", "10", NULL));
    assert_false(STILL(p, "10", "10"));
}

static void by_default_falling_is_no_progress_and_being_there_is_no_standstill(void **state)
{
    (void)state;
    assert_true(STILL(NULL, "90", "60", "30"));
    assert_false(STILL(NULL, "100", "100", "100"));
    assert_true(STILL(NULL, "10", "10", "10"));
    assert_false(STILL(NULL, "0", "5", "5"));
    assert_false(STILL(NULL, "20", "90", "20"));
    assert_true(STILL(NULL, "20", "90", "20", "40", "60")); /* what was lost is won back: nothing is new */
}

static void an_estimate_is_read_as_it_is_meant(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_estimate e =
        daruma_progress_read(S("Sure.\n```json\n{\"progressPercent\": \"42.5\", \"reasoning\": \"so\", "
                               "\"nextMilestone\": \"read \\\"x\\\"\", \"blockers\": [\"ENOENT\", 7]}\n```"),
                             &a);
    assert_int_equal(e.progress, 425);
    assert_str(e.reasoning, "so");
    assert_str(e.milestone, "read \"x\"");
    assert_int_equal(e.nblockers, 2);
    assert_str(e.blockers[0], "ENOENT");
    assert_str(e.blockers[1], "7");
    e = daruma_progress_read(S("I think about half"), &a);
    assert_int_equal(e.progress, 0);
    assert_str(e.blockers[0], "LLM response parsing failed");
    assert_int_equal(daruma_progress_read(S("  "), &a).progress, -1);
    assert_int_equal(daruma_progress_read(S("{\"progressPercent\": 1e300}"), &a).progress, 1000);
    assert_int_equal(daruma_progress_read(S("{\"progressPercent\": -1e300}"), &a).progress, 0);
    assert_int_equal(daruma_progress_read(S("{\"progressPercent\": 99999999999999999999999}"), &a).progress, 1000);
    assert_int_equal(daruma_progress_read(S("{\"progressPercent\": 0.00000000000000000000004e25}"), &a).progress, 1000);
    assert_int_equal(daruma_progress_read(S("{\"progressPercent\": \"lots\"}"), &a).progress, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_of_the_adr_is_found_at_its_golden_steps),
        cmocka_unit_test(eight_reads_of_eight_files_are_a_loop_to_the_seed),
        cmocka_unit_test(the_same_failing_read_is_found),
        cmocka_unit_test(three_calls_in_turn_are_found_at_the_sixth_and_two_never),
        cmocka_unit_test(paging_through_a_file_is_a_loop_to_the_seed),
        cmocka_unit_test(another_limit_is_the_same_call_and_another_order_too),
        cmocka_unit_test(names_that_come_back_late_are_counted_anew),
        cmocka_unit_test(without_rules_of_its_own_a_profile_says_nothing),
        cmocka_unit_test(a_detector_needs_no_more_rows_than_it_counts),
        cmocka_unit_test(a_snapshot_of_a_detector_goes_on_alike),
        cmocka_unit_test(nudges_come_at_four_six_and_eight),
        cmocka_unit_test(output_of_a_tool_that_worked_begins_anew),
        cmocka_unit_test(by_default_only_what_is_new_is_progress),
        cmocka_unit_test(waiting_is_no_progress_and_costs_nothing),
        cmocka_unit_test(notices_say_how_long_and_get_firmer),
        cmocka_unit_test(estimates_of_the_seed_stand_still_as_they_did),
        cmocka_unit_test(by_default_falling_is_no_progress_and_being_there_is_no_standstill),
        cmocka_unit_test(an_estimate_is_read_as_it_is_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
