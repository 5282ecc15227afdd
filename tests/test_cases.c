/* Runs every scenario of tests/cases through `daruma replay`, which reports in TAP itself. First
 * the ways in which a scenario file can be wrong. */
#include "../src/cli/options.c"
#include "../src/cli/replay/replay.c"
#include "../src/cli/replay/replay_agent.c"
#include "../src/cli/replay/replay_agent_read.c"
#include "../src/cli/replay/replay_directives.c"
#include "../src/cli/replay/replay_log.c"
#include "../src/cli/replay/replay_read.c"
#include "../src/cli/replay/replay_run.c"
#include "../src/cli/replay/replay_steps.c"
#include "test.h"

#include <glob.h>

/* What is wrong with a file that holds this text. */
static const char *complaint(const char *text)
{
    static char why[256];
    static replay_scene s;
    replay_reader r = replay_open("case.md", str_of(text), why);
    while (replay_next(&r, &s)) {
    }
    return why;
}

static void a_wrong_file_is_told_with_its_line(void **state)
{
    (void)state;
    assert_string_equal(complaint("# x\n"), "");
    assert_string_equal(complaint("# x\n```tools\nread\n```\n"),
                        "case.md:3: expected TOOL -> RESULT (or !>, ?>, lost), not `read`");
    assert_string_equal(
        complaint("# x\n\n```what\n```\n"),
        "case.md:3: a block is policy, agent, request, model, tools, people, upstream, steps or expect, not `what`");
    assert_string_equal(complaint("```request klingon\n{}\n```\n"),
                        "case.md:1: a request block names its dialect: openai, anthropic, ..., not `klingon`");
    assert_string_equal(complaint("```policy\norphans: eat\n```\n"),
                        "case.md:2: expected one of the words `synthesise prune`, not `eat`");
    assert_string_equal(complaint("```agent\ntool: f {\"a\n```\n"), "case.md:2: this schema is no JSON: `{\"a`");
    assert_string_equal(complaint("```agent\nretry: factor=x\n```\n"),
                        "case.md:2: expected a number like 1.5, not `x`");
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
    replay_reader r = replay_open("case.md", str_of(text), why);
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
    assert_true(g.gl_pathc >= 44);
    tally t = {.tap = false};
    for (size_t i = 0; i < g.gl_pathc; i++)
        run_file(&t, g.gl_pathv[i]);
    globfree(&g);
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.wrong, 0);
    assert_true(t.passed >= 400);
}

/* ---- doc/seeds.md ---- */

static char *file_text(const char *name)
{
    FILE *f = fopen(name, "rb");
    char *text = test_calloc(1, 1 << 20);
    if (!f)
        fail_msg("there is no %s", name);
    text[fread(text, 1, (1 << 20) - 1, f)] = 0;
    fclose(f);
    return text;
}

/* Does `line` name the group, as "P-T1" and not as "P-T12"? */
static bool names_group(daruma_str line, daruma_str group)
{
    for (size_t at; (at = str_find(line, group)) != STR_NONE; line = str_from(line, at + 1)) {
        char behind = at + group.n < line.n ? line.p[at + group.n] : ' ';
        if (behind < '0' || behind > '9')
            return true;
    }
    return false;
}

/* Has the file a scene that is named after the group? */
static bool has_scene(const char *file, daruma_str group)
{
    char *text = file_text(file);
    bool found = false;
    for (daruma_str rest = str_of(text); rest.n && !found;) {
        daruma_str line = str_cut(&rest, '\n');
        found = str_starts(line, S("# ")) && names_group(line, group);
    }
    test_free(text);
    return found;
}

/* What a row promises: files with such a scene, tests of that name, or that it is told why there is none. */
static void check_row(daruma_str group, daruma_str cell)
{
    char name[256];
    size_t promises = 0, at;
    daruma_str rest = cell;
    while ((at = str_find(rest, S("(../"))) != STR_NONE) {
        rest = str_from(rest, at + 4);
        daruma_str file = str_cut(&rest, ')');
        snprintf(name, sizeof name, STR_FMT, STR_ARG(file));
        if (!has_scene(name, group))
            fail_msg("%s has no scene " STR_FMT, name, STR_ARG(group));
        promises++;
    }
    for (rest = cell; (at = str_find(rest, S("`test_"))) != STR_NONE;) {
        rest = str_from(rest, at + 1);
        daruma_str test = str_cut(&rest, '`'), file = str_cut(&test, ':');
        snprintf(name, sizeof name, "tests/" STR_FMT, STR_ARG(file));
        char *text = file_text(name);
        snprintf(name, sizeof name, "static void " STR_FMT "(void **state)", STR_ARG(str_trim(test)));
        if (!strstr(text, name))
            fail_msg("there is no %s", name);
        test_free(text);
        promises++;
    }
    if (!promises && str_find(cell, S("not reproduced")) == STR_NONE &&
        str_find(cell, S("nothing to raise")) == STR_NONE && str_find(cell, S("in part")) == STR_NONE)
        fail_msg("nothing is said of " STR_FMT, STR_ARG(group));
}

static void the_table_of_the_seeds_is_true(void **state)
{
    static const char *const groups = "P-T1 P-T2 P-T4 P-T5 P-T6 P-T8 P-T9 P-T10 P-T12 P-T13 P-T14 P-T16 P-T17 P-T18 "
                                      "P-T20 P-T21 P-T22 P-T24 P-T25 P-T26 "
                                      "P-T28 P-T29 P-T30 P-T32 P-T33 P-T34 P-T35 P-T36 P-T37 P-T38 P-T39 O-T1 O-T2 "
                                      "O-T4 O-T5 O-T6 O-T8 O-T9 O-T10 O-T12 "
                                      "O-T13 O-T14 S-T1 S-T2 S-T4 S-T5 S-T6 S-T8 S-T9 S-T10 S-T12 S-T13 S-T14 E-T1 "
                                      "E-T2 E-T4 E-T5 E-T6 E-T8 K-T1 K-T2 K-T4 "
                                      "K-T5 K-T6 K-T7 K-T8 K-T9 K-T10 K-T12 K-T13 K-T14 K-T16 K-T17 K-T18";
    char *text = file_text("doc/seeds.md");
    (void)state;
    for (daruma_str rest = str_of(groups); rest.n;) {
        daruma_str group = str_cut(&rest, ' ');
        bool found = false;
        for (daruma_str lines = str_of(text); lines.n;) {
            daruma_str line = str_cut(&lines, '\n'), cell = line;
            if (!str_starts(line, S("| ")))
                continue;
            cell = str_from(line, 2);
            if (!str_eq(str_trim(str_cut(&cell, '|')), group))
                continue;
            check_row(group, cell);
            found = true;
        }
        if (!found)
            fail_msg("doc/seeds.md says nothing of " STR_FMT, STR_ARG(group));
    }
    test_free(text);
}

/* Every scene that is named after a group stands in the table. */
static void no_scene_of_a_seed_is_missing_in_the_table(void **state)
{
    glob_t g;
    char *table = file_text("doc/seeds.md");
    (void)state;
    assert_int_equal(glob("tests/cases/*.md", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        char *text = file_text(g.gl_pathv[i]);
        for (daruma_str rest = str_of(text); rest.n;) {
            daruma_str line = str_cut(&rest, '\n');
            for (size_t at = 2; str_starts(line, S("# ")) && at + 4 < line.n; at++) {
                if (!strchr("POSEK", line.p[at]) || line.p[at + 1] != '-' || line.p[at + 2] != 'T' ||
                    line.p[at - 1] != ' ')
                    continue;
                size_t n = 3;
                while (at + n < line.n && line.p[at + n] >= '0' && line.p[at + n] <= '9')
                    n++;
                char row[512];
                snprintf(row, sizeof row, "| " STR_FMT " |", STR_ARG(str_sub(line, at, n)));
                const char *found = strstr(table, row), *end = found ? strchr(found, '\n') : NULL;
                snprintf(row, sizeof row, "(../%s)", g.gl_pathv[i]);
                const char *named = found ? strstr(found, row) : NULL;
                if (!named || named > end)
                    fail_msg("doc/seeds.md does not know the scene " STR_FMT " of %s", STR_ARG(line), g.gl_pathv[i]);
            }
        }
        test_free(text);
    }
    globfree(&g);
    test_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_file_is_told_with_its_line),
        cmocka_unit_test(a_scene_holds_only_when_its_log_is_the_same),
        cmocka_unit_test(a_script_that_does_not_fit_is_an_error),
        cmocka_unit_test(every_scenario_of_the_repository_holds),
        cmocka_unit_test(the_table_of_the_seeds_is_true),
        cmocka_unit_test(no_scene_of_a_seed_is_missing_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
