/* What a failed tool itself says to do about its failure: it survives every form that a model is shown. */
#include "test.h"
#include "daruma_parts.h"
#include "daruma_watch.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

#define TEN(x) x x x x x x x x x x
#define FRAMES TEN("at open (lib/open.js:12) ")

static char memory[1 << 20], text[1 << 14];

static daruma_tool_failure judged(const char *result, daruma_arena *a)
{
    daruma_step s = {.tool = S("open"), .args = S("{\"path\":\"x\"}"), .result = str_of(result), .ok = 0};
    *a = arena_over(memory, sizeof memory);
    return daruma_tool_judge(&s, NULL, a);
}

static void the_tools_own_way_out_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *result, *hint;
    } rows[] = {
        {"{\"error\":\"no such table: user\",\"suggestion\":\"Use the table `users`.\"}", "Use the table `users`."},
        {"{\"error\":{\"message\":\"not found\",\"suggestions\":[\"a.c\",\"b.c\"]}}", "a.c; b.c"},
        {"{\"error\":\"x\",\"hint\":\"List first.\",\"next_steps\":[\"call ls\",\"then read\"]}",
         "List first.; call ls; then read"},
        {"{\"error\":\"x\",\"Next Step\":\"log in\"}", "log in"},
        {"{\"error\":\"x\",\"nextSteps\":[{\"do\":\"log in\"}]}", "{\"do\":\"log in\"}"},
        {"{\"error\":\"x\",\"remedy\":\"wait\\nand try again\"}", "wait and try again"},
        {"{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"{\\\"error\\\":\\\"x\\\",\\\"stack\\\":"
         "\\\"" FRAMES "\\\",\\\"hint\\\":\\\"y z\\\"}\"}]}",
         "y z"},
        {"[{\"type\":\"text\",\"text\":\"Error: bad branch\\nHint: run git fetch first\"}]", "run git fetch first"},
        {"Error: unknown option --foo\n    at parse (cli.js:1)\nDid you mean --force?\n", "Did you mean --force?"},
        {"NameError: name 'lenght' is not defined. Did you mean: 'length'?", ""}, /* the message has it */
        {"{\"error\":\"unknown flag. Did you mean --all? See the manual.\",\"suggestion\":null}", ""},
        {"{\"error\":\"x\",\"suggestions\":[]}", ""},
        {"{\"error\":\"x\",\"hinted\":\"no\",\"data\":1}", ""},
        {"Error: ENOENT: no such file or directory, open 'x'", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        daruma_tool_failure f = judged(rows[i].result, &a);
        if (!str_eq(f.hint, str_of(rows[i].hint)))
            fail_msg("%s\n  hint    " STR_FMT "\n  message " STR_FMT, rows[i].result, STR_ARG(f.hint),
                     STR_ARG(f.message));
        for (int v = DARUMA_VIEW_COMPACT; v <= DARUMA_VIEW_SUMMARY; v++) {
            daruma_buf b = buf_over(text, sizeof text);
            daruma_tool_failure_write(&f, (daruma_view)v, &b);
            assert_int_equal(str_find(buf_str(&b), S("\nhint: ")) != STR_NONE, f.hint.n > 0);
        }
    }
}

static void a_hint_is_bounded_and_tells_no_secret(void **state)
{
    (void)state;
    static char result[1 << 16];
    daruma_buf b = buf_over(result, sizeof result);
    BUF_LIT(&b, "{\"error\":\"x\",\"hint\":\"use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\",\"suggestions\":[");
    for (int i = 0; i < 2000; i++)
        buf_printf(&b, "%s\"name number %d\"", i ? "," : "", i);
    BUF_LIT(&b, "]}");
    buf_putc(&b, 0);
    assert_false(b.full);
    daruma_arena a;
    daruma_tool_failure f = judged(result, &a);
    assert_true(f.hint.n > 100 && f.hint.n <= 700);
    assert_true(str_find(f.hint, S("abcdefghijklmnop")) == STR_NONE);
    assert_true(str_find(f.hint, S("name number 0")) != STR_NONE);
    static char deep[4096];
    memset(deep, '[', sizeof deep - 1);
    judged(deep, &a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_tools_own_way_out_is_kept),
        cmocka_unit_test(a_hint_is_bounded_and_tells_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
