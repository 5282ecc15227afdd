/* Runs every scenario of tests/cases through `daruma replay`, which reports in TAP itself. First
 * the ways in which a scenario file can be wrong. */
#include "test.h"
#include "../src/cli/options.c"
#include "../src/cli/replay.c"
#include "../src/cli/replay_adapt.c"
#include "../src/cli/replay_agent.c"
#include "../src/cli/replay_agent_read.c"
#include "../src/cli/replay_read.c"
#include "../src/cli/replay_run.c"
#include "../src/cli/replay_steps.c"

#include <glob.h>

/* What is wrong with a file that holds this text. */
static const char *complaint(const char *text)
{
    static char why[256];
    static replay_scene s;
    replay_reader r = replay_open("case.md", str_of(text));
    while (replay_next(&r, &s)) {
    }
    memcpy(why, r.why, sizeof why);
    return why;
}

static void a_wrong_file_is_told_with_its_line(void **state)
{
    (void)state;
    assert_string_equal(complaint("# x\n"), "");
    assert_string_equal(complaint("# x\n```tools\nread\n```\n"),
                        "case.md:3: expected one of at most 32 lines TOOL -> RESULT (or !>), not `read`");
    assert_string_equal(
        complaint("# x\n\n```what\n```\n"),
        "case.md:3: a block is policy, agent, request, model, tools, people, upstream, steps or expect, not `what`");
    assert_string_equal(complaint("```request klingon\n{}\n```\n"),
                        "case.md:1: a request block names its dialect: openai, anthropic, ..., not `klingon`");
    assert_string_equal(complaint("```policy\norphans: eat\n```\n"),
                        "case.md:2: expected one of the words `synthesise prune`, not `eat`");
    assert_string_equal(complaint("```policy\n\ntargets: x\n```\n"), "case.md:3: unknown setting `targets`");
    assert_string_equal(complaint("```policy\ndeadline: soon\n```\n"),
                        "case.md:2: expected a duration like 2s or 500ms, not `soon`");
    assert_string_equal(complaint("```policy\ntarget: main\n```\n"),
                        "case.md:2: expected provider/model [key [account]], not `main`");
    assert_string_equal(complaint("```upstream\nok\n```\n"), "case.md:3: the last scene has no expect block");
    assert_string_equal(complaint("\n```upstream\nok\n"), "case.md:2: this block is not closed");
}

/* Runs the only scene of a text; false when it cannot be run or does something else. */
static bool holds(const char *text, char why[256])
{
    static replay_scene s;
    static char room[65536];
    replay_reader r = replay_open("case.md", str_of(text));
    daruma_buf log = buf_over(room, sizeof room);
    assert_true(replay_next(&r, &s));
    return replay_run(&s, &log, why) && str_eq(buf_str(&log), s.expect);
}

static void a_scene_holds_only_when_its_log_is_the_same(void **state)
{
    (void)state;
    char why[256] = "";
    assert_true(holds("```upstream\nok\n```\n```expect\ncall main/m-main key=k1\noutcome ok attempts=1\n```\n", why));
    assert_false(holds("```upstream\nok\n```\n```expect\ncall main/m-main key=k1\noutcome ok attempts=2\n```\n", why));
    assert_string_equal(why, "");
}

static void a_script_that_does_not_fit_is_an_error(void **state)
{
    (void)state;
    char why[256] = "";
    assert_false(holds("```upstream\nok\nok\n```\n```expect\n```\n", why));
    assert_string_equal(why, "case.md:3: no call was made that meets `ok`");
    assert_false(holds("```upstream\nother/m: ok\n```\n```expect\n```\n", why));
    assert_string_equal(why, "case.md:5: the script has no outcome left for a call to `m-main`");
    assert_false(holds("```request openai\n[1]\n```\n```upstream\nok\n```\n```expect\n```\n", why));
    assert_string_equal(why, "case.md:2: this is not a request of the dialect `openai`");
    assert_false(holds("```request openai\n{\"model\":\"m-main\"}\n```\n```upstream\ncut\n```\n```expect\n```\n", why));
    assert_string_equal(why, "case.md:5: the request asks for no stream: `cut`");
    assert_false(holds("```upstream\nexplode\n```\n```expect\n```\n", why));
    assert_string_equal(why, "case.md:2: what outcome is this? `explode`");
}

static void every_scenario_of_the_repository_holds(void **state)
{
    (void)state;
    glob_t g;
    assert_int_equal(glob("tests/cases/*.md", 0, NULL, &g), 0);
    assert_true(g.gl_pathc >= 34);
    tally t = {.tap = false};
    for (size_t i = 0; i < g.gl_pathc; i++)
        run_file(&t, g.gl_pathv[i]);
    globfree(&g);
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.wrong, 0);
    assert_true(t.passed >= 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_file_is_told_with_its_line),
        cmocka_unit_test(a_scene_holds_only_when_its_log_is_the_same),
        cmocka_unit_test(a_script_that_does_not_fit_is_an_error),
        cmocka_unit_test(every_scenario_of_the_repository_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
