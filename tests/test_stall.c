/* What sees agents that go in circles. */
#include "engine/watch/same/window.h"
#include "engine/watch/words/words.h"
#include "stall_cases.h"
#include "stall_change.h"
#include "stall_kit.h"
#include "stall_more.h"
#include "stall_noise.h"
#include "stall_real.h"
#include "stall_said.h"
#include "stall_vain.h"
#include "test.h"

/* ---- runs ------------------------------------------------------------------------------------ */

/* All that are wrong are printed. Work has no earliest step. */
static void check_cases(const stall_case *c, size_t n)
{
    unsigned wrong = 0;
    for (; n--; c++) {
        kit_run r = kit_steps(c->steps);
        unsigned at = r.first.circle ? r.first.step : 0, latest = c->earliest ? c->earliest + 2 : 0;
        if (at >= c->earliest && at <= latest)
            continue;
        print_error("%s: %s at step %u, to be seen from %u to %u\n", c->name, daruma_circle_name(r.first.circle), at,
                    c->earliest, latest);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static void work_is_left_alone(void **state)
{
    (void)state;
    check_cases(stall_work, COUNT(stall_work));
}

static void work_that_looks_like_a_circle_is_left_alone(void **state)
{
    (void)state;
    check_cases(stall_work_more, COUNT(stall_work_more));
}

static void circles_are_seen_in_time(void **state)
{
    (void)state;
    check_cases(stall_loops, COUNT(stall_loops));
}

static void circles_that_look_like_work_are_seen_in_time(void **state)
{
    (void)state;
    check_cases(stall_loops_more, COUNT(stall_loops_more));
}

static void circles_are_seen_through_noise(void **state)
{
    (void)state;
    check_cases(stall_loops_noise, COUNT(stall_loops_noise));
    check_cases(stall_work_noise, COUNT(stall_work_noise));
}

static void circles_that_others_published_are_seen_in_time(void **state)
{
    (void)state;
    check_cases(stall_loops_real, COUNT(stall_loops_real));
    check_cases(stall_work_real, COUNT(stall_work_real));
}

static void calls_in_vain_are_seen_in_time(void **state)
{
    (void)state;
    check_cases(stall_loops_vain, COUNT(stall_loops_vain));
    check_cases(stall_work_vain, COUNT(stall_work_vain));
}

static void what_was_said_before_is_seen_in_time(void **state)
{
    (void)state;
    check_cases(stall_loops_said, COUNT(stall_loops_said));
    check_cases(stall_work_said, COUNT(stall_work_said));
}

/* How many of these speak. */
static unsigned count_spoken(const stall_case *c, size_t n)
{
    unsigned spoken = 0;
    for (; n--; c++) {
        memset(change_tools, 0, sizeof change_tools);
        spoken += kit_steps(c->steps).first.circle != DARUMA_CIRCLE_NONE;
    }
    return spoken;
}

static void what_means_nothing_makes_no_difference(void **state)
{
    unsigned wrong = 0;
    (void)state;
    kit_change = change_step;
    for (size_t i = 0; i < COUNT(stall_changes); i++) {
        change_now = &stall_changes[i];
        unsigned found = count_spoken(stall_loops, COUNT(stall_loops)) +
                         count_spoken(stall_loops_more, COUNT(stall_loops_more)) +
                         count_spoken(stall_loops_noise, COUNT(stall_loops_noise)) +
                         count_spoken(stall_loops_said, COUNT(stall_loops_said)),
                 work = count_spoken(stall_work, COUNT(stall_work)) +
                        count_spoken(stall_work_more, COUNT(stall_work_more)) +
                        count_spoken(stall_work_noise, COUNT(stall_work_noise)) +
                        count_spoken(stall_work_said, COUNT(stall_work_said));
        if (found >= change_now->found && work <= change_now->wrong)
            continue;
        print_error("%s: %u circles found and %u runs of work, to be at least %u and at most %u\n", change_now->name,
                    found, work, change_now->found, change_now->wrong);
        wrong++;
    }
    kit_change = NULL;
    change_now = NULL;
    assert_int_equal(wrong, 0);
}

static void circles_have_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *steps;
        daruma_circle circle;
        unsigned period, ncalls;
    } rows[] = {
        {"5* read {\"a\":1} => some text that is long", DARUMA_CIRCLE_REPEAT, 1, 1},
        {"5*(\nget_a {} => aaa aa a\nget_b {} => bbb bb b\n)", DARUMA_CIRCLE_CYCLE, 2, 2},
        {"5*(\nget_a {} => aaa aa a\nget_b {} => bbb bb b\nget_a {} => aaa aa a\nget_c {} => ccc cc c\n)",
         DARUMA_CIRCLE_CYCLE, 4, 3},
        {"5*(\n! test {} => it failed badly\nread {\"f\":\"{w}\"} => {w}\n)", DARUMA_CIRCLE_INTERLEAVED, 1, 1},
        {"! 9* update_row {\"id\":{n}} => permission denied for table a", DARUMA_CIRCLE_SAME_FAILURE, 1, 0},
        {"9* view_file {\"path\":\"a\",\"offset\":{n}} => (end of file, 40 lines)", DARUMA_CIRCLE_STAGNATION, 1, 0},
        {"9* bash grep {x} => ab: fine", DARUMA_CIRCLE_GROWING, 1, 0},
        {"5*(\nset_mode {\"m\":\"a\"} => saved\nset_mode {\"m\":\"b\"} => saved\n)", DARUMA_CIRCLE_EDIT_REVERT, 2, 2},
        {"5* wait_for_job {\"id\":1} => cancelled", DARUMA_CIRCLE_DEAD_POLL, 1, 1},
        {"! 5* pay_bill {\"id\":1} => timed out", DARUMA_CIRCLE_RESENT, 1, 1},
        {"5* say I will do it now.", DARUMA_CIRCLE_MONOLOGUE, 1, 0},
        {"5* __compaction__ {} => compacted", DARUMA_CIRCLE_COMPACTION, 1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        kit_run r = kit_steps(rows[i].steps);
        daruma_verdict v = r.last.circle ? r.last : r.first;
        assert_string_equal(daruma_circle_name(v.circle), daruma_circle_name(rows[i].circle));
        assert_int_equal(v.period, rows[i].period);
        assert_int_equal(v.ncalls, rows[i].ncalls);
        assert_true(v.first >= 1 && v.first < v.step && v.step <= r.steps);
        assert_true(v.times >= 3 && v.sure >= 50 && v.sure <= 100);
    }
}

static void failures_are_told_from_answers(void **state)
{
    (void)state;
    assert_true(kit_steps("! 4* read {} => no such file").last.failing);
    assert_false(kit_steps("4* read {} => the whole long text").last.failing);
    assert_true(kit_steps("? 4* fetch {} => {\"error\":\"no such host\"}").last.failing);
    assert_true(kit_steps("? 4* patch {} => Invalid patch: the first line is not the first").last.failing);
    assert_true(kit_steps("? 4* edit {} => str_replace failed: the old text was found 0 times").last.failing);
    assert_true(kit_steps("? 4* read {} => {\"content\":[{\"type\":\"text\",\"text\":\"Error: no x\"}]}").last.failing);
    assert_false(
        kit_steps("? 4* read {} => {\"content\":[{\"type\":\"text\",\"text\":\"Error: no x\"}],\"isError\":false}")
            .last.failing);
    assert_true(
        kit_steps("? 4* bash make => <returncode>2</returncode>\\n<output>\\nmake: stop\\n</output>").last.failing);
    assert_false(
        kit_steps("? 4* bash ls => <returncode>0</returncode>\\n<output>\\na.c and b.c\\n</output>").last.failing);
    assert_false(kit_steps("? 4* check {} => Invalid rows: 3 of 812 in all").last.failing);
    assert_false(kit_steps("? 4* check {} => Invalid rows: amber, basalt and cedar").last.failing);
    assert_false(kit_steps("? 4* get_job {} => Job failed: the disk was full").last.failing);
}

static void who_stops_is_not_spoken_of_any_more(void **state)
{
    (void)state;
    assert_true(kit_steps("5* read {\"a\":1} => some text that is long").last.circle);
    assert_false(kit_steps("5* read {\"a\":1} => some text that is long\nread {\"a\":2} => other text").last.circle);
}

static void a_change_makes_the_same_look_worth_while(void **state)
{
    (void)state;
    assert_false(kit_steps("2* read_file {\"p\":\"a\"} => text of a file\nwrite_file {\"p\":\"b\",\"c\":\"1\"} => ok\n"
                           "2* read_file {\"p\":\"a\"} => text of a file")
                     .first.circle);
    assert_true(
        kit_steps("2* read_file {\"p\":\"a\"} => text of a file\n! write_file {\"p\":\"b\",\"c\":\"1\"} => denied\n"
                  "2* read_file {\"p\":\"a\"} => text of a file")
            .first.circle);
}

/* ---- the identity of a circle ------------------------------------------------------------------ */

static void a_circle_is_the_same_wherever_it_begins(void **state)
{
    (void)state;
    uint64_t a = kit_steps("6*(\nget_a {} => aaa aa\nget_b {} => bbb bb\nget_c {} => ccc cc\n)").last.about;
    uint64_t b = kit_steps("6*(\nget_b {} => bbb bb\nget_c {} => ccc cc\nget_a {} => aaa aa\n)").last.about;
    uint64_t other = kit_steps("6*(\nget_b {} => bbb bb\nget_d {} => ddd dd\nget_a {} => aaa aa\n)").last.about;
    assert_true(a == b && a != other && a);
}

typedef struct abouts {
    uint64_t seen[64];
    size_t n;
} abouts;

static void note_about(void *self, const daruma_step *step, const daruma_verdict *v)
{
    abouts *a = self;
    (void)step;
    if (v->circle && (!a->n || a->seen[a->n - 1] != v->about))
        a->seen[a->n++] = v->about;
}

static size_t abouts_of(const char *steps)
{
    void *mem = calloc(1, daruma_stall_bytes() + 64);
    daruma_arena a = arena_over(mem, daruma_stall_bytes() + 64);
    abouts got = {.n = 0};
    kit_run r = {.stall = daruma_stall_new(&a), .each = note_about, .self = &got};
    kit_text(&r, str_of(steps), 0);
    free(mem);
    return got.n;
}

static void a_circle_stays_the_same_while_it_lasts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stall_loops); i++)
        if (abouts_of(stall_loops[i].steps) > 1)
            fail_msg("%s: more than one circle", stall_loops[i].name);
}

static void another_circle_is_another(void **state)
{
    (void)state;
    assert_int_equal(
        abouts_of("5* read {\"a\":1} => some text that is long\n5* read {\"a\":2} => some text that is longer"), 2);
    assert_int_equal(abouts_of("5* read {\"a\":1} => some text that is long\nread {\"a\":3} => x\n"
                               "5* read {\"a\":1} => some text that is long"),
                     1);
}

/* ---- the same call ------------------------------------------------------------------------------- */

static void calls_are_the_same_however_they_are_spelt(void **state)
{
    static const char *const same[][2] = {
        {"{\"a\":1,\"b\":2}", "{ \"b\" : 2, \"a\":1 }"},
        {"{\"a\":1.0}", "{\"a\":1}"},
        {"{\"a\":10}", "{\"a\":1e1}"},
        {"{\"a\":0.5}", "{\"a\":5e-1}"},
        {"{\"a\":-0.0}", "{\"a\":0}"},
        {"{\"a\":\"12\"}", "{\"a\":12}"},
        {"{\"a\":1,\"b\":null}", "{\"a\":1}"},
        {"{\"path\":\"src/util\"}", "{\"path\":\"./src//util/\"}"},
        {"{\"path\":\"/a/b\"}", "{\"path\":\"/a/c/../b\"}"},
        {"{\"command\":\"ls  -l   src/\"}", "{\"command\":\" ls -l ./src\"}"},
        {"{\"command\":\"ls\",\"description\":\"look\"}", "{\"command\":\"ls\",\"description\":\"look again\"}"},
        {"{\"q\":\"b a\"}", "{\"q\":\"A, b\"}"},
        {"{\"url\":\"https://X.example/a?b=1&c=2\"}", "{\"url\":\"https://x.example/a/?c=2&b=1#top\"}"},
        {"{\"url\":\"https://x.example/a?t=1767225600\"}",
         "{\"url\":\"https://x.example/a?t=1767225613&utm_source=m\"}"},
        {"{\"id\":1,\"nonce\":\"x\"}", "{\"id\":1,\"nonce\":\"y\"}"},
        {"{\"id\":1,\"ts\":1767225600}", "{\"id\":1,\"ts\":1767225601}"},
        {"{\"o\":{\"x\":[1,2],\"y\":true}}", "{\"o\":{\"y\":true,\"x\":[1.0,2]}}"},
        {"ls  src", "ls ./src/"},
        {"", " "},
    };
    static const char *const other[][2] = {
        {"{\"a\":1}", "{\"a\":2}"},
        {"{\"a\":1}", "{\"b\":1}"},
        {"{\"a\":1}", "{\"a\":-1}"},
        {"{\"a\":1}", "{\"a\":10}"},
        {"{\"a\":0.1}", "{\"a\":0.01}"},
        {"{\"a\":105}", "{\"a\":15}"},
        {"{\"a\":[1,2]}", "{\"a\":[2,1]}"},
        {"{\"a\":true}", "{\"a\":false}"},
        {"{\"a\":\"x y\"}", "{\"a\":\"y x\"}"},
        {"{\"new\":\"  x\"}", "{\"new\":\" x\"}"},
        {"{\"path\":\"/a\"}", "{\"path\":\"a\"}"},
        {"{\"path\":\"../a\"}", "{\"path\":\"a\"}"},
        {"{\"url\":\"https://x.example/a?p=1\"}", "{\"url\":\"https://x.example/a?p=2\"}"},
        {"{\"since\":1767225600}", "{\"since\":1767225613}"},
        {"{\"q\":\"a b\"}", "{\"q\":\"a c\"}"},
        {"{\"sql\":\"select a from b\"}", "{\"sql\":\"select b from a\"}"},
        {"ls a", "ls b"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(same); i++)
        if (daruma_call_hash(S("t"), str_of(same[i][0])) != daruma_call_hash(S("t"), str_of(same[i][1])))
            fail_msg("not the same: %s and %s", same[i][0], same[i][1]);
    for (size_t i = 0; i < COUNT(other); i++)
        if (daruma_call_hash(S("t"), str_of(other[i][0])) == daruma_call_hash(S("t"), str_of(other[i][1])))
            fail_msg("the same: %s and %s", other[i][0], other[i][1]);
    assert_true(daruma_call_hash(S("a"), S("{}")) != daruma_call_hash(S("b"), S("{}")));
    static char table[2][20000]; /* one of many members is a table: the same in any order, and all of it counts */
    for (int differs = 0; differs < 2; differs++) {
        size_t n[2] = {1, 1};
        for (int i = 0; i < 600; i++)
            for (int k = 0; k < 2; k++) {
                int at = k ? 599 - i : i;
                const char *name = at == 300 ? "nonce" : "n"; /* beside few others it would not count */
                n[k] += (size_t)snprintf(table[k] + n[k], sizeof table[k] - n[k], "\"%s%.0d\":\"%d\",", name,
                                         at == 300 ? 0 : at + 1, at + (k && differs && at == 300));
            }
        for (int k = 0; k < 2; k++) {
            table[k][0] = '{';
            table[k][n[k] - 1] = '}';
        }
        bool same_ones = daruma_call_hash(S("t"), (daruma_str){table[0], n[0]}) ==
                         daruma_call_hash(S("t"), (daruma_str){table[1], n[1]});
        assert_true(same_ones == !differs);
    }
}

static void results_are_the_same_but_for_what_changes_by_itself(void **state)
{
    static const char *const failed[][2] = {
        {"error at 10:00:11 (pid 12)", "error at 11:22:33 (pid 4711)"},
        {"[0.012s] no rule", "[13.4s] no rule"},
        {"trace 3f2504e0-4f89-41d3-9a0c-0305e82c3301 failed", "trace 9b2504e0-4f89-41d3-9a0c-0305e82c33ff failed"},
        {"<X at 0x7f3a21> broke", "<X at 0x55e19c> broke"},
        {"{\"error\":\"no\",\"execution_count\":1}", "{\"error\":\"no\",\"execution_count\":2}"},
    };
    static const char *const worked[][2] = {
        {"{\"rows\":[\"a\",\"b\"],\"durationMs\":12,\"pid\":4}",
         "{\"rows\":[\"a\",\"b\"],\"durationMs\":99,\"pid\":5}"},
        {"found a and b, took 1.2s", "found a and b, took 3.4s"},
        {"{\"request_id\":\"abc\",\"name\":\"Ada Lovelace\"}", "{\"request_id\":\"xyz\",\"name\":\"Ada Lovelace\"}"},
    };
    static const char *const other[][2] = {
        {"3 of 10 done", "4 of 10 done"},
        {"1. Ada\n2. Bo", "2. Bo\n1. Ada"},
        {"real 0m1.204s", "real 0m1.198s"},
        {"x=1 y=2", "x=1 y=3"},
        {"{\"progress\":10}", "{\"progress\":20}"},
        {"[]", "{}"},
        {"{\"latency_ms\":12}", "{\"latency_ms\":13}"},
        {"", "a"},
        {"at line 3", "at line 4"},
        {"{\"a\":1,\"b\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":{\"b\":1},\"c\":2}", "{\"a\":{\"c\":2},\"b\":1}"},
        {"[{\"a\":1},{\"b\":2}]", "[{\"b\":2},{\"a\":1}]"},
        {"{\"a\":\"x\",\"b\":\"y, z\"}", "{\"a\":\"x, z\",\"b\":\"y\"}"},
        {"lasts 3d4h, load high", "lasts 5d6h, load high"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(failed); i++) {
        assert_true(daruma_result_hash(str_of(failed[i][0]), true) == daruma_result_hash(str_of(failed[i][1]), true));
        assert_true(daruma_result_hash(str_of(failed[i][0]), true) != 0);
    }
    for (size_t i = 0; i < COUNT(worked); i++)
        if (daruma_result_hash(str_of(worked[i][0]), false) != daruma_result_hash(str_of(worked[i][1]), false))
            fail_msg("not the same: %s and %s", worked[i][0], worked[i][1]);
    for (size_t i = 0; i < COUNT(other); i++)
        if (daruma_result_hash(str_of(other[i][0]), false) == daruma_result_hash(str_of(other[i][1]), false))
            fail_msg("the same: %s and %s", other[i][0], other[i][1]);
}

static void the_middle_of_a_long_result_counts(void **state)
{
    static char a[100000], b[100000];
    (void)state;
    for (size_t i = 0; i < sizeof a; i++)
        a[i] = b[i] = "some words "[i % 11];
    b[50000] = '#';
    assert_true(daruma_result_hash((daruma_str){a, sizeof a}, false) !=
                daruma_result_hash((daruma_str){b, sizeof b}, false));
}

/* ---- words ------------------------------------------------------------------------------------------ */

static void names_tell_what_a_tool_is(void **state)
{
    static const struct {
        const char *name;
        unsigned is, not ;
    } rows[] = {
        {"read_file", DARUMA_TOOL_READS, DARUMA_TOOL_WRITES},
        {"mcp__acts__readFile", DARUMA_TOOL_READS, DARUMA_TOOL_ACTS},
        {"message_search", DARUMA_TOOL_READS, DARUMA_TOOL_ACTS},
        {"sendMessage", DARUMA_TOOL_ACTS, DARUMA_TOOL_READS},
        {"update_plan", DARUMA_TOOL_WRITES, DARUMA_TOOL_READS},
        {"process_wait", DARUMA_TOOL_WAITS, 0},
        {"git_status", 0, WORDS_ASKS},
        {"job_status", WORDS_ASKS, 0},
        {"compress_context", DARUMA_TOOL_COMPACTS, 0},
        {"compress_image", 0, DARUMA_TOOL_COMPACTS},
        {"frobnicate", 0, ~0u},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned got = words_of_tool(str_of(rows[i].name));
        if ((got & rows[i].is) != rows[i].is || (got & rows[i].not ))
            fail_msg("%s: %x", rows[i].name, got);
    }
}

static void commands_tell_whether_they_only_look(void **state)
{
    static const char *const looks[] = {
        "ls -l",          "cd a && cat b | grep c",      "git status -s",
        "FOO=1 npm test", "/usr/bin/head x 2>/dev/null", "timeout 5 cargo test 2>&1 | tail -5"};
    static const char *const changes[] = {"rm -rf a", "ls > b", "cat a | tee b", "git commit -m x", "curl -X POST u"};
    static const char *const unknown[] = {"./run.sh", "make all", "python a.py", "build/ x", "/"};
    (void)state;
    for (size_t i = 0; i < COUNT(looks); i++)
        assert_int_equal(words_of_command(str_of(looks[i])) & ~(unsigned)WORDS_FINDS, DARUMA_TOOL_READS);
    for (size_t i = 0; i < COUNT(changes); i++)
        assert_true(words_of_command(str_of(changes[i])) & WORDS_CHANGES);
    for (size_t i = 0; i < COUNT(unknown); i++)
        assert_int_equal(words_of_command(str_of(unknown[i])) & (DARUMA_TOOL_READS | WORDS_CHANGES), 0);
    assert_true(words_of_command(S("sleep 3; ls")) & WORDS_PAUSES);
}

static void a_comment_is_a_command_that_does_nothing(void **state)
{
    static const char *const idle[] = {"# ls > b; (c)", "# it's a\n\n# b \\n # c\n", "#!/bin/sh make", "#"};
    static const char *const busy[] = {
        "# all\nls", "# all\nmake", "# into it\ncd src", "# go\\rmake\\r", "x['a']=1  # a",
        "A=1 # a",   "{ # b\nc\n}", "#general",          "#c0ffee\n# a",   "",
        " \n"};
    static const char line[] = "# what is to be done\n";
    char plan[400 * (sizeof line - 1) + sizeof "touch a"];
    (void)state;
    for (size_t i = 0; i < COUNT(idle); i++)
        assert_int_equal(words_of_command(str_of(idle[i])), WORDS_IDLE);
    for (size_t i = 0; i < COUNT(busy); i++)
        assert_false(words_of_command(str_of(busy[i])) & WORDS_IDLE);
    assert_false(words_of_command(S("# all\nls > b")) & DARUMA_TOOL_READS);
    for (size_t i = 0; i < 400; i++) /* longer than what is read of a command */
        memcpy(plan + i * (sizeof line - 1), line, sizeof line);
    memcpy(plan + 400 * (sizeof line - 1), "touch a", sizeof "touch a");
    assert_int_equal(words_of_command(str_of(plan)) & (DARUMA_TOOL_READS | WORDS_IDLE), 0);
}

static void what_a_host_knows_of_a_tool_counts(void **state)
{
    daruma_step step = {.tool = S("frob"),
                        .args = S("{}"),
                        .result = S("ok"),
                        .ok = 1,
                        .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_WAITS};
    _Alignas(16) static char mem[1 << 16];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_stall *s = daruma_stall_new(&a);
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_false(daruma_stall_see(s, &step).circle);
    step.traits = DARUMA_TOOL_COMPACTS;
    for (int i = 0; i < 5; i++)
        assert_int_equal(daruma_stall_see(s, &step).circle, i < 2 ? 0 : DARUMA_CIRCLE_COMPACTION);
}

static void a_lost_effect_is_not_sent_again(void **state)
{
    daruma_step step = {.tool = S("book_room"),
                        .args = S("{\"n\":1}"),
                        .ok = -1,
                        .lost = true,
                        .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS};
    _Alignas(16) static char mem[1 << 16];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_stall *s = daruma_stall_new(&a);
    (void)state;
    assert_false(daruma_stall_see(s, &step).circle);
    step.lost = false;
    step.result = S("booked");
    assert_int_equal(daruma_stall_see(s, &step).circle, DARUMA_CIRCLE_RESENT);
}

static void it_is_said_in_a_sentence(void **state)
{
    static char mem[1 << 16];
    daruma_arena a = arena_over(mem, sizeof mem);
    (void)state;
    for (int c = 1; c < DARUMA_CIRCLES; c++) {
        daruma_buf out = buf_in(&a);
        daruma_verdict v = {.circle = (daruma_circle)c, .times = 4, .period = 2, .failing = c % 2};
        daruma_step last = {.tool = S("fetch"),
                            .args = S("{\"key\":\"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789\"}"),
                            .result = S("a\nb `c`")};
        daruma_verdict_say(&v, &last, &out);
        assert_true(out.n > 20 && out.n < 800 && out.p[out.n - 1] == '.');
        assert_true(str_find(buf_str(&out), S("sk-proj-abc")) == STR_NONE);
        assert_true(str_findch(buf_str(&out), '{') == STR_NONE || str_find(buf_str(&out), S("{n}")) == STR_NONE);
        assert_true(str_findch(buf_str(&out), '\n') == STR_NONE);
        daruma_verdict_say(&v, NULL, &out);
        assert_true(*daruma_circle_words((daruma_circle)c));
    }
}

/* ---- properties ---------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

/* A step out of a small world, so that much comes again. */
static daruma_step random_step(uint64_t *x)
{
    static const char *const tools[] = {"read_file", "edit_file", "bash",  "job_status", "send_mail",
                                        "think",     "",          "sleep", "frob"};
    static const char *const args[] = {
        "{}", "{\"path\":\"a\"}", "{\"path\":\"./a\"}", "{\"command\":\"ls\"}", "{\"n\":1}", "x y"};
    static const char *const results[] = {
        "", "ok", "text of some length here", "running", "failed", "no such file", "[]", "3 of 4"};
    uint64_t r = next_random(x);
    return (daruma_step){.tool = str_of(tools[r % 9]),
                         .args = str_of(args[(r >> 8) % 6]),
                         .result = str_of(results[(r >> 16) % 8]),
                         .ok = (int)((r >> 24) % 3) - 1,
                         .lost = (r >> 32) % 40 == 0,
                         .traits = (r >> 40) % 30 == 0 ? DARUMA_TOOL_COMPACTS : 0};
}

static bool same_verdict(const daruma_verdict *a, const daruma_verdict *b)
{
    bool same = a->circle == b->circle && a->sure == b->sure && a->period == b->period && a->times == b->times &&
                a->first == b->first && a->step == b->step && a->about == b->about && a->ncalls == b->ncalls &&
                a->failing == b->failing;
    for (uint32_t i = 0; same && i < a->ncalls; i++)
        same = a->calls[i] == b->calls[i];
    return same;
}

static void random_runs_keep_their_bounds(void **state)
{
    size_t bytes = daruma_stall_bytes();
    char *mem[3];
    daruma_stall *s[3];
    (void)state;
    for (int k = 0; k < 3; k++) {
        mem[k] = calloc(1, bytes + 64);
        daruma_arena a = arena_over(mem[k], bytes + 64);
        s[k] = daruma_stall_new(&a);
    }
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t x = seed * 0x9e3779b97f4a7c15u;
        for (int k = 0; k < 3; k++)
            memset(s[k], 0, bytes);
        for (uint32_t i = 1; i <= 150; i++) {
            daruma_step step = random_step(&x);
            uint32_t stale = s[0]->stale;
            daruma_verdict a = daruma_stall_see(s[0], &step), b = daruma_stall_see(s[1], &step);
            memcpy(s[2], s[1], bytes); /* a copy goes on as the original does */
            daruma_stall *t = s[1];
            s[1] = s[2];
            s[2] = t;
            assert_true(same_verdict(&a, &b));
            assert_int_equal(a.step, i);
            assert_true(a.ncalls <= DARUMA_PERIOD_MAX && a.period <= DARUMA_PERIOD_MAX && a.sure <= 100);
            assert_true(s[0]->stale <= s[0]->calls && s[0]->calls <= i && s[0]->alike <= s[0]->said + 1);
            assert_true(s[0]->stale == 0 || s[0]->stale == stale || s[0]->stale == stale + 1);
            assert_true(!a.circle || (a.first >= 1 && a.first <= i && a.times >= 2 && a.times <= i && a.about));
        }
    }
    for (int k = 0; k < 3; k++)
        free(mem[k]);
}

/* What came byte for byte before is not read again, and that makes no difference. White space behind a result makes no
 * other result of it, but other bytes. */
static void what_is_known_is_judged_as_what_is_read(void **state)
{
    _Alignas(16) static char mem[1 << 16];
    char spaced[512];
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_stall *known = daruma_stall_new(&a), *read = daruma_stall_new(&a);
        uint64_t x = seed * 0x9e3779b97f4a7c15u;
        for (size_t i = 1; i <= 150; i++) {
            daruma_step step = random_step(&x), other = step;
            memset(spaced, ' ', sizeof spaced);
            memcpy(spaced, step.result.p, step.result.n);
            other.result = (daruma_str){spaced, step.result.n + i};
            daruma_verdict v = daruma_stall_see(known, &step), w = daruma_stall_see(read, &other);
            assert_true(same_verdict(&v, &w));
        }
    }
}

/* One byte in a long result, wherever it stands. */
static void one_byte_makes_another_result(void **state)
{
    _Alignas(16) static char mem[1 << 16];
    static char text[9000];
    (void)state;
    for (size_t at = 0; at < sizeof text; at += 700) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_stall *s = daruma_stall_new(&a);
        daruma_step look = {.tool = S("read_file"), .args = S("{}"), .result = {text, sizeof text}, .ok = 1};
        for (int i = 0; i < 6; i++) {
            memset(text, 'w', sizeof text);
            text[at] = (char)('a' + i);
            assert_int_equal(daruma_stall_see(s, &look).circle, DARUMA_CIRCLE_NONE);
        }
    }
}

/* Whatever came before, who repeats a look ten times is told, and is told until he stops. */
static void whatever_came_before_a_repeat_is_seen(void **state)
{
    _Alignas(16) static char mem[1 << 16];
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_stall *s = daruma_stall_new(&a);
        uint64_t x = seed * 0x2545f4914f6cdd1du;
        for (uint64_t i = 0; i < seed % 50; i++) {
            daruma_step step = random_step(&x);
            daruma_stall_see(s, &step);
        }
        daruma_step look = {.tool = S("open_map"),
                            .args = S("{\"at\":\"here\"}"),
                            .result = S("a map with four rivers and a wood"),
                            .ok = 1};
        for (int i = 1; i <= 10; i++) {
            uint32_t stale = s->stale;
            daruma_verdict v = daruma_stall_see(s, &look);
            assert_true(i < 4 || v.circle);
            assert_true(i == 1 || s->stale > stale); /* nothing new: it does not forget */
            assert_true(i < 4 || v.times >= (uint32_t)i);
        }
    }
}

static void no_room_is_told(void **state)
{
    char mem[64];
    daruma_arena a = arena_over(mem, sizeof mem);
    (void)state;
    assert_null(daruma_stall_new(&a));
    assert_true(daruma_stall_bytes() <= 20480);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_left_alone),
        cmocka_unit_test(work_that_looks_like_a_circle_is_left_alone),
        cmocka_unit_test(circles_are_seen_in_time),
        cmocka_unit_test(circles_that_look_like_work_are_seen_in_time),
        cmocka_unit_test(circles_are_seen_through_noise),
        cmocka_unit_test(circles_that_others_published_are_seen_in_time),
        cmocka_unit_test(calls_in_vain_are_seen_in_time),
        cmocka_unit_test(what_was_said_before_is_seen_in_time),
        cmocka_unit_test(what_means_nothing_makes_no_difference),
        cmocka_unit_test(circles_have_their_names),
        cmocka_unit_test(failures_are_told_from_answers),
        cmocka_unit_test(who_stops_is_not_spoken_of_any_more),
        cmocka_unit_test(a_change_makes_the_same_look_worth_while),
        cmocka_unit_test(a_circle_is_the_same_wherever_it_begins),
        cmocka_unit_test(a_circle_stays_the_same_while_it_lasts),
        cmocka_unit_test(another_circle_is_another),
        cmocka_unit_test(calls_are_the_same_however_they_are_spelt),
        cmocka_unit_test(results_are_the_same_but_for_what_changes_by_itself),
        cmocka_unit_test(the_middle_of_a_long_result_counts),
        cmocka_unit_test(names_tell_what_a_tool_is),
        cmocka_unit_test(commands_tell_whether_they_only_look),
        cmocka_unit_test(a_comment_is_a_command_that_does_nothing),
        cmocka_unit_test(what_a_host_knows_of_a_tool_counts),
        cmocka_unit_test(a_lost_effect_is_not_sent_again),
        cmocka_unit_test(it_is_said_in_a_sentence),
        cmocka_unit_test(random_runs_keep_their_bounds),
        cmocka_unit_test(what_is_known_is_judged_as_what_is_read),
        cmocka_unit_test(one_byte_makes_another_result),
        cmocka_unit_test(whatever_came_before_a_repeat_is_seen),
        cmocka_unit_test(no_room_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
