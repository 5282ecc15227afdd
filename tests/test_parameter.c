/* Parameters, schemas and formats that a provider refuses: exactly what it names is changed, and learned. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "base/limits.h"
#include "engine/mend/request/request.h"

static char memory[8 << 20];

static daruma_failure failure(const char *message, const char *param, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"error\":{\"message\":");
    buf_json(&b, str_of(message));
    if (param) {
        BUF_LIT(&b, ",\"param\":");
        buf_json(&b, str_of(param));
    }
    BUF_LIT(&b, "}}");
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = 400, .body = buf_str(&b)};
    return daruma_classify(&ev, at(0), a);
}

static convo read_with(const dialect *d, const char *body, daruma_arena *a)
{
    convo c;
    assert_int_equal(d->read(str_of(body), a, &c), DARUMA_OK);
    return c;
}

static daruma_str written(const dialect *d, const convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    d->write(c, &b);
    assert_false(b.full);
    assert_true(json_valid(buf_str(&b)));
    return buf_str(&b);
}

#define HI  "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define GEM "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]"

typedef struct param_case {
    const dialect *d;
    const char *body, *message, *param, *want; /* want NULL: nothing can be done */
} param_case;

// clang-format off
static const param_case cases[] = {
    {&dialect_openai, "{\"model\":\"m\",\"max_tokens\":9," HI "}",
     "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens",
     "{\"model\":\"m\",\"max_completion_tokens\":9," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"temperature\":0.2," HI "}",
     "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.", "temperature",
     "{\"model\":\"m\"," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":1.5," HI "}", "temperature: range: 0..1", NULL,
     "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":1," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":1.5," HI "}",
     "temperature: Input should be less than or equal to 1", NULL, "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":1," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":100000," HI "}",
     "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for m", NULL,
     "{\"model\":\"m\",\"max_tokens\":64000," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":4000,\"temperature\":0.5,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}," HI "}",
     "`temperature` may only be set to 1 when thinking is enabled.", NULL,
     "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":4000,\"temperature\":0.5,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}," HI "}",
     "temperature is not supported when thinking is enabled", NULL,
     "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":8000}," HI "}",
     "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation", NULL,
     "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":3999}," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":500}," HI "}",
     "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024", NULL,
     "{\"model\":\"m\",\"max_tokens\":4000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":0.5,\"top_p\":0.9," HI "}",
     "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", NULL,
     "{\"model\":\"m\",\"max_tokens\":9,\"temperature\":0.5," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"context_management\":{\"edits\":[]}," HI "}",
     "context_management: Extra inputs are not permitted", NULL, "{\"model\":\"m\",\"max_tokens\":9," HI "}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"foo\":1},{\"type\":\"text\",\"text\":\"b\",\"foo\":2}]}]}",
     "messages.0.content.1.text.foo: Extra inputs are not permitted", NULL,
     "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]}"},
    /* what is kept on the server is not left out: the model would answer to nothing */
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"previous_response_id\":\"resp_1\"}",
     "Unsupported parameter: 'previous_response_id' is not supported with this model.", "previous_response_id", NULL},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"conversation\":\"conv_1\"}", "Unknown parameter: 'conversation'.",
     "conversation", NULL},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"thread\":{\"type\":\"create\"}," HI "}", "thread: Extra inputs are not permitted",
     NULL, NULL},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9,\"container\":\"c_1\"," HI "}", "container: Extra inputs are not permitted", NULL, NULL},
    {&dialect_gemini, "{\"cachedContent\":\"cachedContents/1\"," GEM "}",
     "Invalid JSON payload received. Unknown name \"cachedContent\": Cannot find field.", NULL, NULL},
    {&dialect_openai, "{\"model\":\"m\",\"top_k\":40," HI "}", "Unrecognized request argument supplied: top_k", NULL,
     "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"store\":true," HI "}", "Unknown parameter: 'store'.", "store", "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_content\":\"r\"}]}",
     "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]", NULL,
     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}"},
    {&dialect_openai, "{\"model\":\"m\"," HI ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}},{\"type\":\"function\",\"function\":{\"name\":\"g\",\"strict\":false}}]}",
     "Unknown parameter: 'tools[0].function.strict'.", "tools[0].function.strict",
     "{\"model\":\"m\"," HI ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}},{\"type\":\"function\",\"function\":{\"name\":\"g\"}}]}"},
    {&dialect_openai, "{\"model\":\"m\",\"reasoning_effort\":\"xhigh\"," HI "}",
     "Invalid value: 'xhigh'. Supported values are: 'low', 'medium', and 'high'.", "reasoning_effort",
     "{\"model\":\"m\",\"reasoning_effort\":\"high\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"reasoning_effort\":\"minimal\"," HI "}",
     "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', 'high'.", "reasoning_effort",
     "{\"model\":\"m\",\"reasoning_effort\":\"low\"," HI "}"},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"reasoning\":{\"effort\":\"xhigh\",\"summary\":\"auto\"}}",
     "Unsupported parameter: 'reasoning.effort' is not supported with this model.", "reasoning.effort",
     "{\"model\":\"m\",\"input\":\"hi\",\"reasoning\":{\"summary\":\"auto\"}}"},
    {&dialect_openai, "{\"model\":\"m\",\"reasoning_effort\":\"low\"," HI "}",
     "This model does not support the reasoning_effort parameter", NULL, "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"web_search_options\":{}," HI "}", "Web search options not supported with this model.", NULL,
     "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"max_completion_tokens\":5," HI "}",
     "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.", "max_completion_tokens",
     "{\"model\":\"m\",\"max_completion_tokens\":16," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"max_tokens\":200000," HI "}",
     "max_tokens is too large: 200000. This model supports at most 16,384 completion tokens, whereas you provided 200000.", "max_tokens",
     "{\"model\":\"m\",\"max_tokens\":16384," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"user\":\"abcdefgh\"," HI "}",
     "Invalid 'user': string too long. Expected a string with maximum length 4, but got a string with length 8 instead.", "user",
     "{\"model\":\"m\",\"user\":\"abcd\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"stop\":[\"a\",\"b\",\"c\"]," HI "}",
     "Invalid 'stop': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.", "stop",
     "{\"model\":\"m\",\"stop\":[\"a\",\"b\"]," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"top_p\":0," HI "}", "top_p must be in (0, 1], got 0.0.", NULL, "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\"," HI "}", "parameter.enable_thinking must be set to false for non-streaming calls", NULL,
     "{\"model\":\"m\"," HI ",\"enable_thinking\":false}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"topK\":4,\"foo\":1}}",
     "Invalid JSON payload received. Unknown name \"foo\" at 'generation_config': Cannot find field.", NULL,
     "{" GEM ",\"generationConfig\":{\"topK\":4}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":99999}}}",
     "The thinking budget 99999 is invalid. Please choose a value between 512 and 24576.", NULL,
     "{" GEM ",\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":24576}}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"temperature\":3}}",
     "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].", NULL,
     "{" GEM ",\"generationConfig\":{\"temperature\":2.0}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"temperature\":3}}",
     "Unable to submit request because it has a temperature value of 3 but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again.", NULL,
     "{" GEM ",\"generationConfig\":{\"temperature\":2.0000}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"topK\":50}}",
     "Unable to submit request because it has a topK value of 50 but the supported range is from 1 (inclusive) to 41 (exclusive). Update the value and try again.", NULL,
     "{" GEM ",\"generationConfig\":{\"topK\":40}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"topK\":50}}",
     "Unable to submit request because it has a topK value of 50 but the supported range is from 1 (inclusive) to 10 (exclusive). Update the value and try again.", NULL,
     "{" GEM ",\"generationConfig\":{\"topK\":9}}"},
    {&dialect_openai, "{\"model\":\"m\",\"tool_choice\":\"auto\"," HI "}",
     "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", "tool_choice", "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"store\":false,\"max_completion_tokens\":8192," HI "}",
     "API Error: 422 {\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"store\"],\"msg\":\"Extra inputs are not permitted\",\"input\":false}]}", NULL,
     "{\"model\":\"m\",\"max_completion_tokens\":8192," HI "}"},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"reasoning_effort\":\"low\"}",
     "Unsupported parameter: 'reasoning_effort'. In the Responses API, this parameter has moved to 'reasoning.effort'. Try again with the new parameter.", NULL,
     "{\"model\":\"m\",\"input\":\"hi\",\"reasoning\":{\"effort\":\"low\"}}"},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"text\":{\"verbosity\":\"low\"},\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\",\"strict\":true,\"schema\":{}}}}",
     "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'. Try again with the new parameter.", NULL,
     "{\"model\":\"m\",\"input\":\"hi\",\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"strict\":true,\"schema\":{}}}}"},
    {&dialect_openai_responses, "{\"model\":\"m\",\"input\":\"hi\",\"max_tokens\":50}",
     "Unsupported parameter: 'max_tokens' is not supported with the Responses API. Use 'max_output_tokens' instead.", "max_tokens",
     "{\"model\":\"m\",\"input\":\"hi\",\"max_output_tokens\":50}"},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_completion_tokens\":77," HI "}", "max_tokens: Field required", NULL,
     "{\"model\":\"m\",\"max_tokens\":77," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"top_k\":40," HI "}", "Unrecognized request arguments supplied: foo, top_k", NULL,
     "{\"model\":\"m\"," HI "}"},
    {&dialect_openai, "{\"model\":\"m\",\"seed\":4," HI "}",
     "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 4}]", NULL,
     "{\"model\":\"m\"," HI "}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"topK\":4,\"thinkingConfig\":{\"thinkingBudget\":0}}}",
     "Budget 0 is invalid. This model only works in thinking mode.", NULL,
     "{" GEM ",\"generationConfig\":{\"topK\":4,\"thinkingConfig\":{}}}"},
    {&dialect_gemini, "{" GEM ",\"generationConfig\":{\"topK\":4,\"frequencyPenalty\":1}}",
     "Penalty is not enabled for models/gemini-2.0-flash-lite", NULL, "{" GEM ",\"generationConfig\":{\"topK\":4}}"},
    /* nothing to be done */
    {&dialect_openai, "{\"model\":\"m\"," HI "}", "Missing required parameter: 'messages[0].content'.", "messages[0].content", NULL},
    {&dialect_openai, "{\"model\":\"m\"," HI "}", "Unknown parameter: 'foo'.", "foo", NULL},
    {&dialect_openai, "{\"model\":\"m\"," HI "}", "Invalid type for 'messages[0].content': expected a string.", "messages[0].content", NULL},
    {&dialect_openai, "{\"model\":\"m\"," HI "}", "Unsupported value: 'model' does not support this.", "model", NULL},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9," HI "}", "max_tokens: unexpected value", NULL, NULL},
    {&dialect_anthropic, "{\"model\":\"m\",\"max_tokens\":9," HI "}", "Unexpected value(s) `x-2025-01-01` for the `anthropic-beta` header.", NULL, NULL},
};
// clang-format on

static void exactly_what_is_named_is_changed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        const param_case *k = &cases[i];
        if (!k->d->read)
            continue;
        convo c = read_with(k->d, k->body, &a);
        daruma_failure f = failure(k->message, k->param, &a);
        mend_lesson l = {0};
        mend_report rep = {0};
        bool did = mend_parameter(&c, &f, &l, &rep);
        daruma_str got = written(k->d, &c, &a);
        if (did != (k->want != NULL) || !str_eq(got, str_of(k->want ? k->want : k->body)))
            fail_msg("%s\n  did %d, subject " STR_FMT ", lesson %d %s %s\n  got  " STR_FMT "\n  want %s", k->message,
                     did, STR_ARG(f.subject), l.op, l.path, l.value, STR_ARG(got), k->want ? k->want : k->body);
        assert_int_equal(mend_did(&rep), did);
        assert_int_equal(rep.what[0] != 0, did);
        if (!did)
            continue;
        assert_false(mend_lesson_apply(&c, &l, &rep)); /* twice is as once */
        convo again = read_with(k->d, k->body, &a);
        assert_true(mend_lesson_apply(&again, &l, &rep)); /* the next request */
        assert_str(written(k->d, &again, &a), k->want);
        convo mended = read_with(k->d, k->want, &a);
        assert_false(mend_lesson_apply(&mended, &l, &rep));
    }
}

static void a_lesson_does_no_more_than_it_says(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    mend_report rep = {0};
    static const mend_lesson most = {.op = PATCH_SET, .path = "max_tokens", .value = "..64000"},
                             effort = {.op = PATCH_SET, .path = "reasoning_effort", .value = "in:low,medium,high"},
                             name = {.op = PATCH_RENAME, .path = "max_tokens", .value = "max_completion_tokens"},
                             both = {.op = PATCH_SET, .path = "max_completion_tokens", .value = "..100"};
    convo c = read_with(&dialect_openai, "{\"model\":\"m\",\"max_tokens\":9,\"reasoning_effort\":\"low\"," HI "}", &a);
    assert_false(mend_lesson_apply(&c, &most, &rep));
    assert_false(mend_lesson_apply(&c, &effort, &rep));
    assert_false(c.edited);
    c = read_with(&dialect_openai, "{\"model\":\"m\",\"max_tokens\":900," HI "}", &a);
    assert_true(mend_lesson_apply(&c, &name, &rep));
    assert_true(mend_lesson_apply(&c, &both, &rep));
    assert_str(written(&dialect_openai, &c, &a), "{\"model\":\"m\",\"max_completion_tokens\":100," HI "}");
    assert_int_equal(c.set.max_output, 100);
    assert_str(c.set.max_output_path, "max_completion_tokens");
}

static void lessons_are_kept_by_lane_and_the_oldest_goes(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    char *room = arena_take(&a, mend_lessons_bytes(2), 8);
    daruma_arena own = arena_over(room, mend_lessons_bytes(2));
    mend_lessons *t = mend_lessons_new(&own, 2);
    assert_non_null(t);
    mend_lesson l = {.op = PATCH_DROP, .path = "temperature", .value = ""}, out[4];
    mend_lessons_learn(t, 1, 1, &l);
    mend_lessons_learn(t, 1, 1, &l);
    assert_int_equal(mend_lessons_list(t, 1, out, 4), 1);
    assert_int_equal(mend_lessons_list(t, 2, out, 4), 0);
    for (int i = 0; i < 8; i++) {
        snprintf(l.path, sizeof l.path, "p%d", i);
        mend_lessons_learn(t, 2, 1, &l);
    }
    assert_int_equal(mend_lessons_list(t, 1, out, 4), 0);
    assert_int_equal(mend_lessons_list(t, 2, out, 4), 8);
}

/* What one account's models refuse, however many they are, leaves what another's do. */
static void a_full_table_gives_up_lessons_of_who_has_the_most(void **state)
{
    (void)state;
    enum { LANES = 64, MANY = 10000 };
    static char room[64 << 10];
    daruma_arena own = arena_over(room, sizeof room);
    mend_lessons *t = mend_lessons_new(&own, LANES);
    assert_non_null(t);
    mend_lesson l = {.op = PATCH_DROP, .path = "temperature", .value = ""};
    mend_lessons_learn(t, 77, 2, &l);
    for (uint64_t i = 0; i < MANY; i++)
        mend_lessons_learn(t, 1000 + i, 1, &l);
    assert_int_equal(mend_lessons_list(t, 77, NULL, 0), 1);
    assert_int_equal(mend_lessons_list(t, 1000 + MANY - 1, NULL, 0), 1);
}

static void a_lesson_that_hurts_is_forgotten(void **state)
{
    (void)state;
    static const struct {
        mend_lesson l;
        const char *message, *param;
        bool hurts;
    } rows[] = {
        {{.op = PATCH_DROP, .path = "tool_choice"}, "Missing required parameter: 'tool_choice'.", NULL, true},
        {{.op = PATCH_DROP, .path = "tool_choice"}, "something is wrong", "tool_choice", true},
        {{.op = PATCH_DROP, .path = "messages.*.reasoning"}, "messages.3.reasoning: Field required", NULL, true},
        {{.op = PATCH_DROP, .path = "tool_choice"}, "Unknown parameter: 'tool_choices'.", NULL, false},
        {{.op = PATCH_DROP, .path = "top_p"}, "Unknown parameter: 'stop_ptr'.", NULL, false},
        {{.op = PATCH_RENAME, .path = "max_tokens", .value = "max_completion_tokens"},
         "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
         NULL,
         true},
        {{.op = PATCH_RENAME, .path = "max_tokens", .value = "max_completion_tokens"},
         "max_completion_tokens is too large: 100000.",
         NULL,
         false},
        {{.op = PATCH_SET, .path = "temperature", .value = "0..1"}, "Invalid 'temperature': must be 1.", NULL, true},
        {{.op = PATCH_SET, .path = "max_tokens", .value = "..400"},
         "This model's maximum context length is 900 tokens, of which max_tokens takes 400; your messages have 600.",
         NULL,
         false},
        {{.op = PATCH_DROP, .path = "tools", .value = "[]"}, "tools: at least one is needed", NULL, false},
        {{.op = PATCH_DROP, .path = "tools.*.schema.pattern", .value = "lower"}, "'pattern' is missing", NULL, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        mend_lessons *t = mend_lessons_new(&a, 4);
        daruma_failure f = failure(rows[i].message, rows[i].param, &a);
        mend_lesson first, l = rows[i].l;
        l.applied = 1;
        assert_non_null(t);
        mend_lessons_learn(t, 7, 1, &l);
        mend_lessons_learn(t, 8, 1, &l);
        if (mend_lessons_forget(t, 7, &f, &first) != rows[i].hurts)
            fail_msg("row %zu: %s", i, rows[i].message);
        assert_int_equal(mend_lessons_list(t, 7, NULL, 0), !rows[i].hurts);
        assert_int_equal(mend_lessons_list(t, 8, NULL, 0), 1);
        l.applied = 0; /* it did nothing that could have hurt */
        mend_lessons_learn(t, 7, 1, &l);
        assert_int_equal(mend_lessons_forget(t, 7, &f, &first), 0);
    }
}

static void not_streaming_is_known_for_a_day(void **state)
{
    (void)state;
    static const struct {
        mend_lesson l;
        daruma_ms after;
        bool kept;
    } rows[] = {{{.op = PATCH_SET, .at = 1000, .path = "stream", .value = "false"}, HABITS_LAST_MS - 1, true},
                {{.op = PATCH_SET, .at = 1000, .path = "stream", .value = "false"}, HABITS_LAST_MS, false},
                {{.op = PATCH_SET, .at = 1000, .path = "seed", .value = "1"}, HABITS_LAST_MS, true}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        mend_lessons *t = mend_lessons_new(&a, 4);
        mend_lesson l = rows[i].l;
        assert_non_null(t);
        mend_lessons_learn(t, 7, 1, &l);
        mend_lessons_learn(t, 8, 1, &l);
        mend_lessons_expire(t, 7, 1000 + rows[i].after);
        assert_int_equal(mend_lessons_list(t, 7, NULL, 0), rows[i].kept);
        assert_int_equal(mend_lessons_list(t, 8, NULL, 0), 1);
    }
}

/* ---- schemas and formats in a request ---- */

#define TOOL(name, schema) "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"parameters\":" schema "}}"
#define ODD                "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"format\":\"uri\"}},\"$schema\":\"x\"}"
#define LESS               "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"
#define NO_FORMAT          "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"$schema\":\"x\"}"

static void the_tool_that_is_named_is_lowered_first(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *message, *param, *first, *second; } lows[] = {
        {"Invalid schema for function 'g': something is wrong", NULL, ODD, LESS},
        {"tools.1.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12", NULL, ODD, LESS},
        {"Invalid schema", "tools[1].function.parameters", ODD, LESS},
        {"Invalid schema for function 'g': In context=('properties', 'a'), 'format' is not permitted.", NULL, NO_FORMAT, NO_FORMAT},
        {"tools: the schema is not valid", NULL, LESS, LESS},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(lows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        convo c = read_with(&dialect_openai,
                            "{\"model\":\"m\"," HI ",\"tools\":[" TOOL("f", ODD) "," TOOL("g", ODD) "]}", &a);
        daruma_failure f = failure(lows[i].message, lows[i].param, &a);
        mend_report rep = {0};
        assert_true(mend_tool_schemas(&c, &f, &rep));
        daruma_str body = written(&dialect_openai, &c, &a);
        assert_str(json_path(body, "tools.0.function.parameters"), lows[i].first);
        assert_str(json_path(body, "tools.1.function.parameters"), lows[i].second);
        while (mend_tool_schemas(&c, &f, &rep)) /* then all there is to lower, and an end */
            ;
        body = written(&dialect_openai, &c, &a);
        assert_str(json_path(body, "tools.0.function.parameters"), LESS);
        assert_str(json_path(body, "tools.1.function.parameters"), LESS);
    }
}

static size_t blocks; /* that an arena asked for when it had no room */

static bool one_more(daruma_arena *a, size_t need)
{
    static char more[1 << 20];
    if (blocks++ || need > sizeof more)
        return false;
    a->beg = more;
    a->end = more + sizeof more;
    return true;
}

/* Looking which of many tools is meant takes nothing of the memory of the request, however little is left of it. */
static void looking_for_the_tool_that_is_meant_takes_no_memory(void **state)
{
    (void)state;
    enum { TOOLS = 40, LEFT_BYTES = 40 };
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"model\":\"m\"," HI ",\"tools\":[" TOOL("f", ODD));
    for (int i = 0; i < TOOLS; i++)
        buf_printf(&b, "," TOOL("t%d", LESS), i);
    BUF_LIT(&b, "]}");
    convo c;
    assert_int_equal(dialect_openai.read(buf_str(&b), &a, &c), DARUMA_OK);
    daruma_failure f = failure("Invalid schema for function 'nobody': something is wrong", NULL, &a);
    mend_report rep = {0};
    a.more = one_more;
    for (int i = 0; i < 2; i++) { /* then it was lowered before */
        blocks = 0;
        a.beg = a.end - LEFT_BYTES;
        assert_int_equal(mend_tool_schemas(&c, &f, &rep), !i);
        assert_true(blocks <= 1);
    }
}

static void strict_mode_is_given_what_it_wants(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    convo c = read_with(
        &dialect_openai,
        "{\"model\":\"m\"," HI ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true,"
        "\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"object\","
        "\"properties\":{\"c\":{\"type\":\"number\"}}}},\"required\":[\"a\"]}}}]}",
        &a);
    daruma_failure f = failure("Invalid schema for function 'f': In context=(), 'additionalProperties' is required to "
                               "be supplied and to be false.",
                               "tools[0].function.parameters", &a);
    mend_report rep = {0};
    assert_true(mend_tool_schemas(&c, &f, &rep));
    daruma_str body = written(&dialect_openai, &c, &a);
    assert_str(
        json_path(body, "tools.0.function.parameters"),
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":[\"object\",\"null\"],"
        "\"properties\":{\"c\":{\"type\":[\"number\",\"null\"]}},\"required\":[\"c\"],\"additionalProperties\":false}},"
        "\"required\":[\"a\",\"b\"],\"additionalProperties\":false}");
    assert_true(json_is_true(json_path(body, "tools.0.function.strict")));
    /* Lowered further, it is no longer strict. */
    assert_true(mend_tool_schemas(&c, NULL, &rep));
    body = written(&dialect_openai, &c, &a);
    assert_int_equal(json_path(body, "tools.0.function.strict").n, 0);
}

static void a_declaration_of_google_is_found(void **state)
{
    (void)state;
    if (!dialect_gemini.read)
        return;
    daruma_arena a = arena_over(memory, sizeof memory);
    convo c = read_with(&dialect_gemini,
                        "{" GEM ",\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parameters\":" ODD
                        "},{\"name\":\"g\","
                        "\"parameters\":{\"type\":\"object\",\"properties\":{}}}]}]}",
                        &a);
    daruma_failure f =
        failure("* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties: should be "
                "non-empty for OBJECT type",
                NULL, &a);
    mend_report rep = {0};
    assert_true(mend_tool_schemas(&c, &f, &rep));
    daruma_str body = written(&dialect_gemini, &c, &a);
    assert_str(json_path(body, "tools.0.functionDeclarations.1"), "{\"name\":\"g\"}");
    assert_str(json_path(body, "tools.0.functionDeclarations.0.parameters"), ODD);
    f = failure(
        "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters': "
        "Cannot find field.",
        NULL, &a);
    assert_true(mend_tool_schemas(&c, &f, &rep));
    body = written(&dialect_gemini, &c, &a);
    assert_str(json_path(body, "tools.0.functionDeclarations.0.parameters"),
               "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"format\":\"uri\"}}}");
}

static void the_format_goes_down_its_ladder(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    convo c = read_with(&dialect_openai,
                        "{\"model\":\"m\"," HI
                        ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"n\","
                        "\"schema\":{\"type\":\"object\"},\"strict\":true}}}",
                        &a);
    daruma_failure f =
        failure("Invalid schema for response_format 'n': In context=(), 'additionalProperties' is required to "
                "be supplied and to be false.",
                "response_format", &a);
    mend_report rep = {0};
    mend_lesson l;
    assert_true(mend_format_meant(&c, &f));
    assert_false(mend_tool_schemas(&c, &f, &rep));
    assert_false(mend_parameter(&c, &f, &l, &rep));
    assert_true(mend_format(&c, &rep));
    daruma_str body = written(&dialect_openai, &c, &a);
    assert_str(json_path(body, "response_format"), "{\"type\":\"json_object\"}");
    assert_str(json_path(body, "messages.0.role"), "\"system\"");
    assert_true(str_find(body, S("{\\\"type\\\":\\\"object\\\"}")) != STR_NONE);
    assert_true(mend_format(&c, &rep));
    assert_false(mend_format(&c, &rep));
    body = written(&dialect_openai, &c, &a);
    assert_true(str_find(json_path(body, "response_format"), S("json")) == STR_NONE);
    assert_int_equal(json_count(json_get(body, S("messages"))), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_what_is_named_is_changed),
        cmocka_unit_test(a_lesson_does_no_more_than_it_says),
        cmocka_unit_test(lessons_are_kept_by_lane_and_the_oldest_goes),
        cmocka_unit_test(a_full_table_gives_up_lessons_of_who_has_the_most),
        cmocka_unit_test(a_lesson_that_hurts_is_forgotten),
        cmocka_unit_test(not_streaming_is_known_for_a_day),
        cmocka_unit_test(the_tool_that_is_named_is_lowered_first),
        cmocka_unit_test(looking_for_the_tool_that_is_meant_takes_no_memory),
        cmocka_unit_test(strict_mode_is_given_what_it_wants),
        cmocka_unit_test(a_declaration_of_google_is_found),
        cmocka_unit_test(the_format_goes_down_its_ladder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
