/* What providers do themselves for an answer, and may not do twice; and several answers in one stream. */
#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"

static char mem[1 << 20];
#define CHAT      &dialect_openai
#define RESPONSES &dialect_openai_responses
#define ANTHROPIC &dialect_anthropic
#define GEMINI    &dialect_gemini

static void a_request_says_whether_it_may_have_effects(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        bool effects;
        const char *body;
    } rows[] = {
        {CHAT, false, "{}"},
        {CHAT, false, "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"mcp\"}},{\"type\":\"custom\"}]}"},
        {CHAT, false, "{\"functions\":[{\"name\":\"a\",\"parameters\":{\"type\":\"mcp\"}}]}"},
        {CHAT, false, "{\"tools\":[{\"type\":\"web_search_preview\"}],\"n\":4}"},
        {CHAT, true, "{\"tools\":[{\"type\":\"function\"},{\"type\":\"mcp\"}]}"},
        {CHAT, true, "{\"tools\":[{\"server\":{\"type\":\"function\"},\"type\":\"m\\u0063p\"}]}"},
        {RESPONSES, false, "{\"tools\":[{\"type\":\"function\",\"name\":\"a\"},{\"type\":\"web_search_2025_08_26\"}]}"},
        {RESPONSES, false, "{\"tools\":[{\"type\":\"computer_use_preview\"},{\"type\":\"local_shell\"}]}"},
        {RESPONSES, false, "{\"tools\":[{\"type\":\"shell\",\"environment\":{\"type\":\"local\"}}]}"},
        {RESPONSES, false, "{\"tools\":[{\"type\":\"shell\"}],\"background\":false,\"prompt\":null}"},
        {RESPONSES, true, "{\"tools\":[{\"type\":\"shell\",\"environment\":{\"type\":\"container_auto\"}}]}"},
        {RESPONSES, true, "{\"tools\":[{\"environment\":{\"type\":\"container_auto\"},\"type\":\"shell\"}]}"},
        {RESPONSES, true, "{\"tools\":[{\"type\":\"code_interpreter\",\"container\":{\"type\":\"auto\"}}]}"},
        {RESPONSES, true, "{\"tools\":[{\"type\":\"image_generation\"}]}"},
        {RESPONSES, true, "{\"tools\":[{\"type\":\"mcp\",\"server_label\":\"x\"}]}"},
        {RESPONSES, true, "{\"tools\":[{\"type\":\"of_next_year\"}]}"},
        {RESPONSES, true, "{\"background\":true}"},
        {RESPONSES, true, "{\"prompt\":{\"id\":\"pmpt_1\"}}"},
        {RESPONSES, false, "{\"previous_response_id\":\"resp_1\"}"},
        {RESPONSES, false, "{\"conversation\":null}"},
        {RESPONSES, true, "{\"conversation\":\"conv_1\"}"},
        {RESPONSES, true, "{\"conversation\":{\"id\":\"conv_1\"},\"store\":false}"},
        {ANTHROPIC, false, "{\"tools\":[{\"name\":\"mcp\",\"input_schema\":{\"type\":\"mcp\"}}],\"mcp_servers\":[]}"},
        {ANTHROPIC, false, "{\"tools\":[{\"type\":\"bash_20250124\",\"name\":\"bash\"},{\"type\":\"custom\"}]}"},
        {ANTHROPIC, false, "{\"tools\":[{\"type\":\"web_search_20250305\"},{\"type\":\"web_fetch_20250910\"}]}"},
        {ANTHROPIC, true, "{\"tools\":[{\"type\":\"code_execution_20250825\",\"name\":\"code_execution\"}]}"},
        {ANTHROPIC, true, "{\"tools\":[{\"name\":\"code_execution\",\"type\":\"code_execution_20250825\"}]}"},
        {ANTHROPIC, true, "{\"mcp_servers\":[{\"type\":\"url\",\"url\":\"https://x\",\"name\":\"x\"}]}"},
        {GEMINI, false,
         "{\"tools\":[{\"functionDeclarations\":[{\"name\":\"codeExecution\"}]},{\"googleSearch\":{}}]}"},
        {GEMINI, false, "{\"tools\":[{\"google_search_retrieval\":{}},{\"code_execution\":null}]}"},
        {GEMINI, true, "{\"tools\":[{\"code_execution\":{}}]}"},
        {GEMINI, true, "{\"tools\":{\"codeExecution\":{}}}"},
        {GEMINI, true, "{\"tools\":[{\"functionDeclarations\":[],\"mcpServers\":[{}]}]}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        request_scan s = rows[i].d->scan(str_of(rows[i].body), NULL, false);
        if (!s.ok || s.effects != rows[i].effects)
            fail_msg("%s", rows[i].body);
    }
    request_scan s = dialect_gemini.scan(S("{\"tools\":{\"codeExecution\":{}},\"contents\":[]}"), NULL, false);
    assert_true(s.tools && s.ok && s.messages.n == 2); /* one tool alone does not hide what follows it */
    s = dialect_openai.scan(S("{\"tools\":[1,{\"type\":\"function\"}],\"n\":3,\"model\":\"m\"}"), NULL, false);
    assert_str(s.tools_raw, "[1,{\"type\":\"function\"}]");
    assert_str(s.model, "m");
    assert_int_equal(s.choices, 3);
    s = dialect_gemini.scan(S("{\"generation_config\":{\"candidate_count\":2}}"), NULL, false);
    assert_int_equal(s.choices, 2);
}

static stream_view watched(const dialect *d, uint32_t choices, const char *stream)
{
    stream_view v = {.choices = choices};
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str rest = str_of(stream);
    sse_event e;
    while (sse_next(&rest, &e, &a))
        dialect_watch(d, &v, &e);
    assert_int_equal(rest.n, 0);
    return v;
}

#define ITEM(item)   "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":" item "}\n\n"
#define BLOCK(block) "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" block "}\n\n"
#define PART(part)   "data: {\"candidates\":[{\"content\":{\"parts\":[" part "]}}]}\n\n"
#define DELTA(delta) "data: {\"choices\":[{\"index\":0,\"delta\":" delta "}]}\n\n"

static void a_stream_shows_what_the_provider_did(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        bool effects;
        const char *stream;
    } rows[] = {
        {RESPONSES, true, ITEM("{\"type\":\"mcp_call\"}")},
        {RESPONSES, true, ITEM("{\"type\":\"code_interpreter_call\"}")},
        {RESPONSES, true, ITEM("{\"type\":\"image_generation_call\"}")},
        {RESPONSES, true, ITEM("{\"type\":\"shell_call\",\"environment\":{\"type\":\"container_reference\"}}")},
        {RESPONSES, true, ITEM("{\"type\":\"shell_call_output\"}")},
        {RESPONSES, true, ITEM("{\"type\":\"of_next_year\"}")},
        {RESPONSES, false, ITEM("{\"type\":\"shell_call\",\"environment\":{\"type\":\"local\"}}")},
        {RESPONSES, false, ITEM("{\"type\":\"message\",\"content\":[]}")},
        {RESPONSES, false, ITEM("{\"type\":\"function_call\",\"name\":\"mcp_call\"}")},
        {RESPONSES, false, ITEM("{\"type\":\"web_search_call\"}") ITEM("{\"type\":\"mcp_list_tools\"}")},
        {RESPONSES, true, "data: {\"type\":\"response.mcp_call.in_progress\",\"item_id\":\"m\"}\n\n"},
        {RESPONSES, true, "data: {\"type\":\"response.code_interpreter_call_code.delta\",\"delta\":\"\"}\n\n"},
        {RESPONSES, false, "data: {\"type\":\"response.web_search_call.searching\"}\n\n"},
        {RESPONSES, false, "data: {\"type\":\"response.function_call_arguments.delta\",\"delta\":\"x\"}\n\n"},
        {RESPONSES, false, "data: {\"type\":\"response.custom_tool_call_input.delta\",\"delta\":\"x\"}\n\n"},
        {RESPONSES, false, "data: {\"type\":\"response.shell_call_command.delta\",\"delta\":\"x\"}\n\n"},
        {RESPONSES, true,
         "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"mcp_call\"}]}}\n\n"},
        {ANTHROPIC, true, BLOCK("{\"type\":\"mcp_tool_use\",\"name\":\"web_search\"}")},
        {ANTHROPIC, true, BLOCK("{\"type\":\"server_tool_use\",\"name\":\"bash_code_execution\"}")},
        {ANTHROPIC, true, BLOCK("{\"type\":\"bash_code_execution_tool_result\"}")},
        {ANTHROPIC, false, BLOCK("{\"type\":\"server_tool_use\",\"name\":\"web_search\"}")},
        {ANTHROPIC, false, BLOCK("{\"type\":\"web_search_tool_result\"}")},
        {ANTHROPIC, false, BLOCK("{\"type\":\"tool_use\",\"name\":\"bash_code_execution\"}")},
        {ANTHROPIC, false, BLOCK("{\"type\":\"thinking\"}") BLOCK("{\"type\":\"text\",\"text\":\"\"}")},
        {GEMINI, true, PART("{\"executableCode\":{\"code\":\"1\"}}")},
        {GEMINI, true, PART("{\"codeExecutionResult\":{\"output\":\"1\"}}")},
        {GEMINI, true, PART("{\"toolCall\":{\"toolType\":\"CODE\"}}")},
        {GEMINI, false, PART("{\"toolCall\":{\"toolType\":\"GOOGLE_SEARCH_WEB\"}}")},
        {GEMINI, false, PART("{\"text\":\"a\"},{\"functionCall\":{\"name\":\"a\"}},{\"inlineData\":{\"data\":\"x\"}}")},
        {CHAT, true, DELTA("{\"executed_tools\":[{\"type\":\"python\"}]}")},
        {CHAT, true, DELTA("{\"tool_calls\":[{\"index\":0,\"type\":\"mcp_call\"}]}")},
        {CHAT, false, DELTA("{\"tool_calls\":[{\"index\":0,\"type\":\"function\"},{\"index\":0}]}")},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        stream_view v = watched(rows[i].d, 0, rows[i].stream);
        if (v.effects != rows[i].effects || (v.effects && !v.content)) /* what was done goes out */
            fail_msg("%s", rows[i].stream);
    }
}

static void a_whole_answer_shows_it_too(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *body;
    } rows[] = {
        {RESPONSES, "{\"status\":\"completed\",\"output\":[{\"type\":\"mcp_call\"}]}"},
        {RESPONSES, "{\"status\":\"failed\",\"error\":{\"message\":\"m\"},\"output\":[{\"type\":\"mcp_call\"}]}"},
        {ANTHROPIC, "{\"content\":[{\"type\":\"mcp_tool_use\"}],\"stop_reason\":\"end_turn\"}"},
        {GEMINI, "{\"candidates\":[{\"content\":{\"parts\":[{\"executableCode\":{}}]},\"finishReason\":\"STOP\"}]}"},
        {CHAT, "{\"choices\":[{\"message\":{\"content\":\"x\",\"executed_tools\":[{}]},\"finish_reason\":\"stop\"}]}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!dialect_check(rows[i].d, str_of(rows[i].body)).effects)
            fail_msg("%s", rows[i].body);
    }
}

#define SAY(i, text) "data: {\"choices\":[{\"index\":" #i ",\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define END(i)       "data: {\"choices\":[{\"index\":" #i ",\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE         "data: [DONE]\n\n"

static void several_answers_are_over_when_each_is(void **state)
{
    (void)state;
    static const struct {
        uint32_t asked;
        bool finished, done, many;
        const char *stream;
    } rows[] = {
        {0, false, false, false, SAY(0, "a")},
        {0, true, false, false, SAY(0, "a") END(0)},
        {1, true, true, false, SAY(0, "a") END(0) DONE},
        {0, false, false, true, SAY(0, "a") SAY(1, "b") END(0)}, /* more than were asked for */
        {0, true, false, true, SAY(0, "a") SAY(1, "b") END(1) END(0)},
        {2, false, false, true, SAY(0, "a") END(0)}, /* the second has not begun */
        {2, true, false, true, SAY(0, "a") END(0) END(1)},
        {3, false, true, true, SAY(0, "a") END(0) DONE}, /* a server that gives one */
        {2, false, false, true, SAY(0, "a") SAY(1, "b") END(0) DONE},
        {2, true, true, true, SAY(0, "a") SAY(1, "b") END(0) END(1) DONE},
        {2, false, true, true, SAY(0, "a") SAY(1, "b") DONE}, /* a server that never says why */
        {129, false, false, true, SAY(0, "a") END(0)},
        {0, false, false, true, SAY(0, "a") END(0) SAY(128, "b") END(128)},
        {2, true, false, true,
         "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}},{\"delta\":{\"content\":\"b\"}}]}\n\n"
         "data: "
         "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"},{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        stream_view v = watched(CHAT, rows[i].asked, rows[i].stream);
        if (v.finished != rows[i].finished || v.done != rows[i].done || v.many != rows[i].many)
            fail_msg("row %zu: %d %d %d", i, v.finished, v.done, v.many);
    }
}

#define CANDIDATE(i, more) "{\"index\":" #i ",\"content\":{\"parts\":[{\"text\":\"a\"}]}" more "}"
#define GIVES(list)        "data: {\"candidates\":[" list "]}\n\n"
#define STOP               ",\"finishReason\":\"STOP\""

static void candidates_are_over_when_each_is(void **state)
{
    (void)state;
    stream_view v = watched(GEMINI, 2, GIVES(CANDIDATE(0, STOP)));
    assert_false(v.done || v.finished);
    v = watched(GEMINI, 2, GIVES(CANDIDATE(0, STOP)) GIVES(CANDIDATE(1, "")));
    assert_false(v.done || v.finished);
    v = watched(GEMINI, 2, GIVES(CANDIDATE(1, STOP) "," CANDIDATE(0, STOP)));
    assert_true(v.done && v.finished && v.many);
    v = watched(GEMINI, 2, "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n");
    assert_true(v.done && v.finished);
    v = watched(GEMINI, 0, GIVES(CANDIDATE(0, "")) GIVES(CANDIDATE(0, STOP)));
    assert_true(v.done && v.finished && !v.many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_whether_it_may_have_effects),
        cmocka_unit_test(a_stream_shows_what_the_provider_did),
        cmocka_unit_test(a_whole_answer_shows_it_too),
        cmocka_unit_test(several_answers_are_over_when_each_is),
        cmocka_unit_test(candidates_are_over_when_each_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
