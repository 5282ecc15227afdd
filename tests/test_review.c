/* A run looked at when it is over, and the files it is read from. */
#include "../src/cli/place.c"
#include "../src/cli/review/transcript.c"
#include "../src/cli/shape.c"
#include "test.h"
#include <stdlib.h>

enum { MEMORY = 8 << 20, SCRATCH = 1 << 20, RUNS = 60, STEPS = 80 };

static char memory[MEMORY], scratch[SCRATCH];

static review looked(const review_run *run, daruma_arena *a)
{
    return review_of(run, daruma_policy_find(S("default")), a, arena_over(scratch, SCRATCH));
}

static bool read_as(const char *text, size_t n, daruma_arena *a, transcript *t, char why[512])
{
    *a = arena_over(memory, MEMORY);
    why[0] = 0;
    return transcript_read((daruma_str){text, n}, "f", NULL, a, t, why);
}

static const char *const samples[] = {
    "{\"tool\":\"ls\",\"args\":{\"path\":\".\"},\"result\":\"a\\nb\",\"ok\":true}\n"
    "{\"tool\":\"ls\",\"args\":\"{\",\"result\":null}\n",
    "{\"id\":\"r\",\"steps\":[{\"tool\":\"x\",\"args\":{},\"result\":\"Error: "
    "no\",\"ok\":false},{\"result\":\"said\"}]}",
    "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"tool_calls\":[{"
    "\"id\":"
    "\"c\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
    "\"tool_call_id\":\"c\",\"content\":\"7\"}]}",
    "[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\","
    "\"name\":\"look\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\","
    "\"content\":\"7\"}]}]",
    "{\"input\":[{\"role\":\"user\",\"content\":\"go\"},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":"
    "\"look\","
    "\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"7\"}]}",
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]},{\"role\":\"model\",\"parts\":[{\"functionCall\":"
    "{\"name\":\"look\",\"args\":{}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"look\","
    "\"response\":{\"output\":\"7\"}}}]}]}",
};

/* ---- files ---- */

static void each_shape_is_read_as_what_it_is(void **state)
{
    static const struct {
        const char *dialect;
        size_t steps;
        uint32_t requests;
    } want[] = {{NULL, 2, 3},    {NULL, 2, 3}, {"openai", 1, 2}, {"anthropic", 1, 2}, {"openai-responses", 1, 2},
                {"gemini", 1, 2}};
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        daruma_arena a;
        transcript t;
        char why[512];
        if (!read_as(samples[i], strlen(samples[i]), &a, &t, why))
            fail_msg("sample %zu: %s", i, why);
        assert_string_equal(t.d ? t.d->name : "", want[i].dialect ? want[i].dialect : "");
        assert_int_equal(t.run.n, want[i].steps);
        assert_int_equal(t.run.requests, want[i].requests);
    }
}

static void what_is_cut_or_broken_anywhere_is_read_or_told_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(samples); i++) {
        size_t n = strlen(samples[i]);
        for (size_t cut = 0; cut <= 2 * n; cut++) {
            char *text = malloc(n); /* of that size: reading past its end is seen */
            daruma_arena a;
            transcript t;
            char why[512];
            assert_non_null(text);
            memcpy(text, samples[i], n);
            if (cut > n)
                text[cut - n - 1] = "\"}]{[:,0\n\\"[cut % 10];
            bool ok = read_as(text, cut > n ? n : cut, &a, &t, why);
            assert_true(ok == (why[0] == 0));
            assert_true(ok || strncmp(why, "f:", 2) == 0);
            if (ok) {
                review r = looked(&t.run, &a);
                assert_false(r.full);
            }
            free(text);
        }
    }
}

static void a_step_belongs_to_the_answer_that_called_it(void **state)
{
    static const char two_at_once[] =
        "{\"input\":[{\"role\":\"user\",\"content\":\"go\"},"
        "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"x\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"y\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"1\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"b\",\"output\":\"2\"},"
        "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"z\",\"arguments\":\"{}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"3\"},"
        "{\"role\":\"assistant\",\"content\":\"done\"}]}";
    daruma_arena a;
    transcript t;
    char why[512];
    (void)state;
    assert_true(read_as(two_at_once, sizeof two_at_once - 1, &a, &t, why));
    assert_int_equal(t.run.n, 3);
    assert_int_equal(t.run.steps[0].turn, 1);
    assert_int_equal(t.run.steps[1].turn, 1);
    assert_int_equal(t.run.steps[2].turn, 2);
    assert_int_equal(t.run.requests, 3); /* the last one was answered with words */
    for (uint32_t i = 1; i < t.run.requests; i++)
        assert_true(t.run.carried[i] > t.run.carried[i - 1]);
}

/* ---- runs ---- */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

/* Of a few calls with a few results, so that all sorts of circles come about. */
static void random_run(uint64_t seed, review_step *steps, int64_t *carried, review_run *run)
{
    static const char *const tools[] = {"read_file", "bash", "send_mail", "job_status", ""};
    static const char *const args[] = {"{\"path\":\"a\"}", "{\"path\":\"b\"}", "{\"id\":1}", "{", ""};
    static const char *const results[] = {"ok", "Error: ENOENT: no such file", "{\"state\":\"running\"}", "",
                                          "12:00:01 pid 77"};
    uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;
    int64_t sum = 0;
    uint32_t turns = 0;
    size_t variety = 1 + next_random(&x) % 5;
    for (size_t i = 0; i < STEPS; i++) {
        turns += !i || next_random(&x) % 4 != 0;
        steps[i] = (review_step){
            .step = {.tool = str_of(tools[next_random(&x) % variety]),
                     .args = str_of(args[next_random(&x) % variety]),
                     .result = str_of(results[next_random(&x) % variety]),
                     .ok = (int)(next_random(&x) % 3) - 1},
            .turn = turns,
            .bytes = (int64_t)(next_random(&x) % 1000),
            .new_task = next_random(&x) % 32 == 0,
        };
    }
    for (uint32_t request = 1, i = 0; request <= turns + 1; request++) {
        carried[request - 1] = 100 + sum;
        for (; i < STEPS && steps[i].turn <= request; i++)
            sum += steps[i].bytes;
    }
    *run = (review_run){.steps = steps, .n = STEPS, .carried = carried, .requests = turns + 1};
}

static void check_circle(const review_circle *c)
{
    assert_true(c->v.circle > DARUMA_CIRCLE_NONE && c->v.circle < DARUMA_CIRCLES);
    assert_true(c->first >= 1 && c->first <= c->seen && c->seen <= c->last && c->last <= STEPS);
    assert_true(c->wasted <= c->last - c->first);
    assert_true(c->next == 0 ? c->last == STEPS : c->next == c->last + 1);
    uint32_t before = c->seen; /* nobody steps in before it is seen, nor refuses what was not told of */
    for (int i = 0; i < REVIEW_RUNGS; i++)
        if (c->after[i]) {
            assert_true(c->after[i] >= before && c->after[i] <= c->last);
            before = c->after[i];
        }
    for (uint32_t i = 0; i < c->ncalls; i++)
        assert_true(c->calls[i] >= c->first && c->calls[i] <= c->last && (!i || c->calls[i] > c->calls[i - 1]));
}

static void whatever_a_run_did_its_review_adds_up_and_says_the_same_twice(void **state)
{
    static review_step steps[STEPS];
    static int64_t carried[STEPS + 1];
    size_t circles = 0, failures = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        review_run run;
        random_run(seed, steps, carried, &run);
        daruma_arena a = arena_over(memory, MEMORY);
        review r = looked(&run, &a), again = looked(&run, &a);
        uint32_t wasted = 0, failed = 0, open = 0;
        int64_t sent = 0;
        assert_false(r.full || again.full);
        for (size_t i = 0; i < r.ncircles; i++) {
            check_circle(&r.circles[i]);
            wasted += r.circles[i].wasted;
            assert_int_equal(r.circles[i].v.about, again.circles[i].v.about);
        }
        for (size_t i = 0; i < r.nfailures; i++) {
            const review_failure *f = &r.failures[i];
            assert_true(f->open <= f->times && f->first <= f->last && f->last <= STEPS);
            assert_true(f->open == f->times ? f->solved == 0 : f->solved > f->first);
            failed += f->times;
            open += f->open;
        }
        for (uint32_t i = 0; i < run.requests; i++)
            sent += carried[i];
        assert_int_equal(wasted, r.cost.wasted);
        assert_int_equal(failed, r.failed);
        assert_int_equal(open, r.open);
        assert_int_equal(sent, r.cost.sent);
        assert_true(r.cost.without > 0 && r.cost.without <= sent);
        assert_true(r.cost.wasted || r.cost.without == sent);
        assert_int_equal(r.cost.without, again.cost.without);
        assert_int_equal(r.ncircles, again.ncircles);
        circles += r.ncircles;
        failures += r.nfailures;
    }
    assert_true(circles > RUNS / 2 && failures > RUNS); /* else this proved nothing */
}

static void a_run_of_any_length_is_told_within_bounds(void **state)
{
    enum { MANY = 20000 };
    review_step *steps = calloc(MANY, sizeof *steps);
    int64_t *carried = calloc(MANY + 1, sizeof *carried);
    static char args[MANY][24];
    (void)state;
    assert_non_null(steps);
    assert_non_null(carried);
    for (size_t i = 0; i < MANY; i++) { /* each circle another one */
        snprintf(args[i], sizeof args[i], "{\"id\":%zu}", i / 8);
        steps[i] = (review_step){.step = {.tool = S("read_file"), .args = str_of(args[i]), .result = S("x"), .ok = 1},
                                 .turn = (uint32_t)i + 1,
                                 .bytes = 1};
        carried[i + 1] = (int64_t)i + 1;
    }
    review_run run = {.steps = steps, .n = MANY, .carried = carried, .requests = MANY + 1};
    daruma_arena a = arena_over(memory, MEMORY);
    review r = looked(&run, &a);
    assert_false(r.full);
    assert_true(r.ncircles <= REVIEW_CIRCLES_MAX);
    assert_true(r.ncircles + r.more_circles >= 1);
    free(steps);
    free(carried);
}

static void without_memory_it_says_so(void **state)
{
    review_step step = {.step = {.tool = S("x"), .ok = 1}, .turn = 1};
    int64_t carried[] = {0, 1};
    review_run run = {.steps = &step, .n = 1, .carried = carried, .requests = 2};
    (void)state;
    for (size_t n = 0; n < 4096; n += 256) {
        daruma_arena a = arena_over(memory, n);
        assert_true(looked(&run, &a).full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_is_read_as_what_it_is),
        cmocka_unit_test(what_is_cut_or_broken_anywhere_is_read_or_told_with_its_place),
        cmocka_unit_test(a_step_belongs_to_the_answer_that_called_it),
        cmocka_unit_test(whatever_a_run_did_its_review_adds_up_and_says_the_same_twice),
        cmocka_unit_test(a_run_of_any_length_is_told_within_bounds),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
