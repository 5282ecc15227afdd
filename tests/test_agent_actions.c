/* What a model means that answers with actions as JSON, and values out of its answers (P-T22, P-T30): the parts, alone.
 */
#include "test.h"
#include "engine/agent/inside.h"

static char bytes[1 << 20];

static daruma_arena room(void)
{
    return arena_over(bytes, sizeof bytes);
}

/* Reads the actions of a text; their names in a row. */
static const char *nodes(const char *text, daruma_str *args)
{
    static char out[256];
    agent_action x[AGENT_ACTIONS_MAX];
    daruma_arena a = room();
    size_t n = actions_read(str_of(text), &a, x, AGENT_ACTIONS_MAX);
    daruma_buf b = buf_over(out, sizeof out - 1);
    for (size_t i = 0; i < n; i++)
        buf_printf(&b, "%s" STR_FMT, i ? " " : "", STR_ARG(x[i].node));
    out[b.n] = 0;
    if (args)
        *args = n ? x[0].args : (daruma_str){0};
    return out;
}

static void what_is_meant_is_found(void **state)
{
    daruma_str args;
    (void)state;
    assert_string_equal(nodes("{\"next_node\":\"a\",\"args\":{\"x\":1}}", &args), "a");
    assert_str(args, "{\"x\":1}");
    assert_string_equal(nodes("```json\n{\"next_node\": \"a\"}\n```", &args), "a");
    assert_str(args, "{}");
    assert_string_equal(nodes("{'next_node': 'a', 'args': {'x': True}}", &args), "a");
    assert_string_equal(nodes("{\"action\":{\"next_node\":\"a\",\"args\":{}}}", NULL), "a");
    assert_string_equal(nodes("{\"plan\":[{\"node\":\"a\"},{\"node\":\"b\",\"args\":{}},7]}", NULL), "a b");
    assert_string_equal(nodes("I think {\"note\":1} and {\"next_node\":\"b\"}", NULL), "b");
    assert_string_equal(nodes("{}", &args), "final_response");
    assert_string_equal(nodes("{\"raw_answer\":\"x\"}", &args), "final_response");
    assert_str(args, "{\"raw_answer\":\"x\"}");
    /* what ends within its value is completed by nobody, and prose is no action */
    assert_string_equal(nodes("{\"next_node\":\"a\",\"args\":{\"x\":", NULL), "");
    assert_string_equal(nodes("no JSON here", NULL), "");
    assert_string_equal(nodes("", NULL), "");
    assert_string_equal(nodes("{{{", NULL), "");
}

static const char *answer(const char *text)
{
    static char out[256];
    daruma_arena a = room();
    daruma_str s = actions_answer(str_of(text), &a);
    snprintf(out, sizeof out, STR_FMT, STR_ARG(s));
    return out;
}

static void answers_that_can_be_used(void **state)
{
    static const char *const keys[] = {"raw_answer", "answer", "text", "response", "content"};
    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"%s\":\"It is 42.\"}", keys[i]);
        assert_string_equal(answer(text), "It is 42.");
    }
    assert_string_equal(answer("```json\n{\"args\":{\"raw_answer\":\"nested\"}}\n```"), "nested");
    assert_string_equal(answer("raw_answer: It is 42."), "It is 42.");
    assert_string_equal(answer("plain words"), "plain words");
    assert_string_equal(answer("<auto>"), "");
    assert_string_equal(answer("{\"answer\":\"N/A\"}"), "");
    assert_string_equal(answer("   "), "");
    assert_string_equal(answer("{\"other\":1}"), "");
}

static const char *merged(const char *args, const char *said, size_t *filled)
{
    static char out[256];
    daruma_arena a = room();
    args_bad bad = {.missing = {S("query")}, .nmissing = 1};
    daruma_str s = args_merge(str_of(args), str_of(said), &bad, filled, &a);
    snprintf(out, sizeof out, STR_FMT, STR_ARG(s));
    return out;
}

static void missing_values_are_taken_out_of_what_was_said(void **state)
{
    size_t n;
    static const char *const none[] = {"{\"query\":\"<auto>\"}", "{\"query\":\"unknown\"}",     "{\"query\":\"n/a\"}",
                                       "{\"query\":\"\"}",       "<query><fill_value></query>", "garbage",
                                       "{\"other\":\"x\"}"};
    (void)state;
    assert_string_equal(merged("{}", "{\"query\":\"x\"}", &n), "{\"query\":\"x\"}");
    assert_string_equal(merged("{\"a\":1}", "```json\n{\"query\":\"x\",\"extra\":2}\n```", &n),
                        "{\"a\":1,\"query\":\"x\"}");
    assert_string_equal(merged("{}", "{\"args\":{\"query\":7}}", &n), "{\"query\":7}");
    assert_string_equal(merged("{}", "<query>  x  </query>", &n), "{\"query\":\"x\"}");
    assert_int_equal(n, 1);
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_string_equal(merged("{\"a\":1}", none[i], &n), "{\"a\":1}");
        assert_int_equal(n, 0);
    }
}

/* Every prefix of everything is read without harm. */
static void any_text_may_come(void **state)
{
    static const char text[] = "say ```json {'action': {\"next_node\": \"a\\u0041\", \"args\": {\"x\": [1, {\"y\": "
                               "\"}\"}]}}} <query>v</query> {\"plan\":[{}]}";
    (void)state;
    for (size_t n = 0; n <= sizeof text - 1; n++) {
        agent_action x[AGENT_ACTIONS_MAX];
        daruma_arena a = arena_over(bytes, n % 7 ? sizeof bytes : 40 * n);
        args_bad bad = {.missing = {S("query")}, .nmissing = 1};
        size_t filled;
        actions_read((daruma_str){text, n}, &a, x, AGENT_ACTIONS_MAX);
        actions_answer((daruma_str){text, n}, &a);
        args_merge(S("{}"), (daruma_str){text, n}, &bad, &filled, &a);
    }
}

/* Names that models see: one each, and none longer than providers take. */
static void no_two_tools_have_one_name_on_the_wire(void **state)
{
    (void)state;
    static agent a;
    static agent_tool tools[160];
    static char names[128][80], seen[COUNT(tools)][80];
    static const char *const some[] = {
        "srvs.get.item", "srvs.get_item", "srvs.get_item_2", "srvs:get:item", "srvs.get_item_4", "one", "one_2"};
    size_t n = 0;
    for (size_t i = 0; i < COUNT(some); i++)
        tools[n++].about.name = str_of(some[i]);
    for (size_t i = 0; i < COUNT(names); i++) { /* 64 bytes long, and the same but for dots in their last six */
        memset(names[i], 'x', 64);
        for (size_t bit = 0; bit < 7; bit++)
            names[i][57 + bit] = i >> bit & 1 ? '.' : '_';
        tools[n++].about.name = (daruma_str){names[i], 64};
    }
    a.s.tools = tools;
    a.s.ntools = n;
    for (size_t i = 0; i < n; i++) {
        daruma_arena in = room();
        daruma_str wire = traj_wire_name(&a, tools[i].about.name, &in);
        assert_in_range(wire.n, 1, TOOL_NAME_BYTES_MAX);
        snprintf(seen[i], sizeof seen[i], STR_FMT, STR_ARG(wire));
        for (size_t k = 0; k < i; k++)
            if (strcmp(seen[k], seen[i]) == 0)
                fail_msg("two tools are called %s", seen[i]);
    }
    assert_string_equal(seen[0], "srvs_get_item");
    assert_string_equal(seen[2], "srvs_get_item_2");
    assert_string_equal(seen[6], "one_2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_tools_have_one_name_on_the_wire),
        cmocka_unit_test(what_is_meant_is_found),
        cmocka_unit_test(answers_that_can_be_used),
        cmocka_unit_test(missing_values_are_taken_out_of_what_was_said),
        cmocka_unit_test(any_text_may_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
