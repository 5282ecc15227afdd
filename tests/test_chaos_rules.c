/* test_chaos_rules.c - what the faulty provider refuses in four wires, how it goes on and sums up, what scripts say of
 * models. Models of the tests are read from scripts. */
#include "test.h"
#include "chaos_kit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char room[4 << 20];

/* The model of a script, "{ ... }" in YAML; the script must be dropped. */
static script *model_script(const char *options)
{
    char yaml[2048];
    conf_mistakes err;
    snprintf(yaml, sizeof yaml, "models: { m: %s }", *options ? options : "{}");
    script *s = script_read(str_of(yaml), NULL, &err);
    if (!s)
        fail_msg("%s: %d:%d: %s", yaml, err.at[0].line, err.at[0].column, mistake(&err));
    return s;
}

#define C          "/v1/chat/completions"
#define M          "/v1/messages"
#define R          "/v1/responses"
#define G          "/v1beta/models/m:generateContent"
#define HI         "{\"role\":\"user\",\"content\":\"hi\"}"
#define CHAT(rest) "{\"model\":\"m\",\"messages\":[" HI "]" rest "}"
#define MSGS(rest) "{\"model\":\"m\",\"max_tokens\":50,\"messages\":[" HI "]" rest "}"
#define RESP(rest) "{\"model\":\"m\",\"input\":\"hi\"" rest "}"
#define GHI        "{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}"
#define GCALL      "{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{}}}]}"
#define GRES       "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{\"result\":\"x\"}}}]}"
#define GEM(list)  "{\"contents\":[" list "]}"
#define USE(id)    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}"
#define RES(id)    "{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"x\"}"
#define CALLS(id)                                                                                                      \
    "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" id                                                            \
    "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}"
#define TOOL(id) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"x\"}"
#define FC(id)   "{\"type\":\"function_call\",\"call_id\":\"" id "\",\"name\":\"f\",\"arguments\":\"{}\"}"
#define FCO(id)  "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"x\"}"
#define LONG41   "call_0123456789012345678901234567890123456"

// clang-format off
/* model, path, body, kind of refusal (NULL: none), what its message holds */
static const struct { const char *model, *path, *body, *kind, *holds; } rows[] = {
    /* pairs */
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," CALLS("a") "," TOOL("a") "]}", NULL, NULL},
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," CALLS("a") "]}", "orphan_tool_call", "did not have response messages: a"},
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," TOOL("a") "]}", "orphan_tool_result", "must be a response to a preceeding message with 'tool_calls'."},
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," CALLS("a") "," TOOL("a") "," TOOL("a") "]}", "orphan_tool_result", "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3]."},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[" USE("a") "]},{\"role\":\"user\",\"content\":[" RES("a") ",{\"type\":\"text\",\"text\":\"x\"}]}]}", NULL, NULL},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[" USE("a") "]},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}," RES("a") "]}]}", "orphan_tool_call", "without `tool_result` blocks immediately after: a"},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[" USE("a") "," USE("a") "]}]}", "invalid_message", "`tool_use` ids must be unique"},
    {"", R, "{\"model\":\"m\",\"input\":[" HI "," FC("a") "," FCO("a") "]}", NULL, NULL},
    {"", R, "{\"model\":\"m\",\"input\":[" HI "," FC("a") "]}", "orphan_tool_call", "No tool output found for function call a."},
    {"", R, "{\"model\":\"m\",\"input\":[" HI "," FCO("a") "," FC("a") "]}", "orphan_tool_result", "No tool call found for function call output with call_id a."},
    {"", R, "{\"model\":\"m\",\"input\":[" HI "," FC("a") "," FCO("a") "," FCO("a") "]}", "orphan_tool_result", "with call_id a."},
    {"", G, GEM(GHI "," GCALL "," GRES), NULL, NULL},
    {"", G, GEM(GHI "," GCALL), "orphan_tool_call", "number of function response parts is equal to the number of function call parts"},
    {"", G, GEM(GHI "," GCALL "," GHI), "orphan_tool_call", "number of function response parts"},
    {"", G, GEM(GHI "," GRES), "orphan_tool_result", "function response turn comes immediately after a function call turn"},
    {"", G, GEM(GCALL "," GRES), "invalid_message", "function call turn comes immediately after a user turn or after a function response turn"},
    {"", G, GEM(GHI "," GCALL ",{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"g\",\"response\":{}}}]}"), "orphan_tool_call", "number of function response parts"},
    /* messages */
    {"", C, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[]}]}", "invalid_message", "Invalid 'messages[0].content': empty array."},
    {"", C, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}]}", "invalid_message", "Invalid value: 'input_text'. Supported values are: 'text'"},
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," CALLS(LONG41) "," TOOL(LONG41) "]}", "invalid_message", "Expected a string with maximum length 40, but got a string with length 42"},
    {"", C, "{\"model\":\"m\",\"messages\":[" HI "," HI "]}", NULL, NULL},
    {"{ alternate: true }", C, "{\"model\":\"m\",\"messages\":[" HI "," HI "]}", "invalid_message", "conversation roles must alternate user/assistant"},
    {"{ alternate: true }", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI "," HI "]}", "invalid_message", "roles must alternate between \"user\" and \"assistant\""},
    {"{ alternate: true }", G, GEM(GHI "," GHI), "invalid_message", "alternate between user and model"},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"Well,\"}]}", NULL, NULL},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"Well, \"}]}", "invalid_message", "cannot end with trailing whitespace"},
    {"{ prefill: refuse }", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"Well,\"}]}", "invalid_message", "does not support assistant message prefill"},
    {"{ prefill: refuse }", C, "{\"model\":\"m\",\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"Well,\"}]}", "invalid_message", "does not support assistant message prefill"},
    {"{ prefill: refuse }", G, GEM(GHI ",{\"role\":\"model\",\"parts\":[{\"text\":\"Well,\"}]}"), "invalid_message", "end with a user role"},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}", "invalid_message", "Input tag 'image_url' found using 'type' does not match any of the expected tags"},
    {"", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[" USE("a") "]}]}", "invalid_message", "can only be in `assistant` messages"},
    {"", R, "{\"model\":\"m\",\"input\":[{\"role\":\"assistant\",\"content\":[{\"type\":\"input_text\",\"text\":\"x\"}]}]}", "invalid_message", "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'."},
    {"", R, "{\"model\":\"m\",\"input\":[" HI ",{\"type\":\"function_call\",\"id\":\"call_1\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}," FCO("a") "]}", "invalid_message", "Expected an ID that begins with 'fc'."},
    {"", R, RESP(",\"max_output_tokens\":5"), "invalid_parameter", "Expected a value >= 16, but got 5"},
    {"", G, "{\"contents\":[]}", "invalid_message", "* GenerateContentRequest.contents: contents is not specified"},
    {"", G, GEM("{\"role\":\"assistant\",\"parts\":[{\"text\":\"x\"}]}"), "invalid_message", "Please use a valid role: user, model."},
    {"", G, GEM("{\"parts\":[{\"text\":\"x\"}]}"), NULL, NULL},
    {"", G, GEM("{\"role\":\"user\",\"parts\":[]}"), "invalid_message", "contents[0].parts: contents.parts must not be empty."},
    {"", G, GEM("{\"role\":\"user\",\"parts\":[{}]}"), "invalid_message", "parts[0].data: required oneof field 'data' must have one initialized field"},
    {"", G, GEM("{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}"), "invalid_message", "it must have a text parameter"},
    {"", G, GEM(GHI ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":\"x\"}}]}"), "invalid_message", "Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct)"},
    /* parameters */
    {"{ unsupported: [temperature] }", C, CHAT(",\"temperature\":0.2"), "invalid_parameter", "Unsupported parameter: 'temperature' is not supported with this model."},
    {"{ unsupported: [temperature] }", C, CHAT(""), NULL, NULL},
    {"{ unsupported: [temperature] }", M, MSGS(",\"temperature\":0.2"), "invalid_parameter", "`temperature` is deprecated for this model."},
    {"{ unsupported: [speed] }", M, MSGS(",\"speed\":\"fast\""), "invalid_parameter", "speed: Extra inputs are not permitted"},
    {"{ unsupported: [topK] }", G, "{\"contents\":[" GHI "],\"generationConfig\":{\"top_k\":3}}", "invalid_parameter", "Unknown name \"topK\" at 'generation_config': Cannot find field."},
    {"{ renamed: { max_tokens: max_completion_tokens } }", C, CHAT(",\"max_tokens\":9"), "invalid_parameter", "Use 'max_completion_tokens' instead."},
    {"{ renamed: { max_tokens: max_completion_tokens } }", C, CHAT(",\"max_completion_tokens\":9"), NULL, NULL},
    {"{ max: { temperature: 1 } }", C, CHAT(",\"temperature\":1.5"), "invalid_parameter", "Expected a value <= 1, but got 1.5 instead."},
    {"{ max: { temperature: 1 } }", M, MSGS(",\"temperature\":1.5"), "invalid_parameter", "temperature: Input should be less than or equal to 1"},
    {"{ max: { temperature: 1 } }", M, MSGS(",\"temperature\":1.0"), NULL, NULL},
    {"{ max: { max_tokens: 40 } }", M, MSGS(""), "invalid_parameter", "max_tokens: 50 > 40, which is the maximum allowed number of output tokens for m"},
    {"{ max: { temperature: 2 } }", G, "{\"contents\":[" GHI "],\"generationConfig\":{\"temperature\":3}}", "invalid_parameter", "temperature value of 3 but the supported range is from 0 (inclusive) to 2"},
    {"{ fixed: { temperature: 1 } }", C, CHAT(",\"temperature\":0.2"), "invalid_parameter", "'temperature' does not support 0.2 with this model. Only the default (1) value is supported."},
    {"{ strict: true }", C, CHAT(",\"thinking\":{}"), "invalid_parameter", "Unrecognized request argument supplied: thinking"},
    {"{ strict: true }", M, MSGS(",\"presence_penalty\":1"), "invalid_parameter", "presence_penalty: Extra inputs are not permitted"},
    {"{ strict: true }", R, RESP(",\"max_tokens\":1"), "invalid_parameter", "Unknown parameter: 'max_tokens'."},
    {"{ strict: true }", G, "{\"contents\":[" GHI "],\"stream\":true}", "invalid_parameter", "Invalid JSON payload received. Unknown name \"stream\": Cannot find field."},
    {"{ strict: true }", C, CHAT(",\"temperature\":1,\"stream\":false"), NULL, NULL},
    /* tools and formats */
    {"{ refused_keywords: [format] }", C, CHAT(",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"u\":{\"type\":\"string\",\"format\":\"uri\"}}}}}]"), "invalid_tool_schema", "Invalid schema for function 'f': In context=('properties', 'u'), 'format' is not permitted."},
    {"{ refused_keywords: [format] }", C, CHAT(",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"format\":{\"type\":\"string\"}}}}}]"), NULL, NULL},
    {"{ refused_keywords: [const] }", G, "{\"contents\":[" GHI "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{},\"u\":{\"const\":1}}}}]}]}", "invalid_tool_schema", "Unknown name \"const\" at 'tools[0].function_declarations[0].parameters.properties[1].value': Cannot find field."},
    {"{ refused_keywords: [minimum] }", M, MSGS(",\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":1}}}}]"), "invalid_tool_schema", "tools.0.custom: For 'integer' type, property 'minimum' is not supported"},
    {"", M, MSGS(",\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}},{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}}]"), "invalid_tool_schema", "Tool names must be unique."},
    {"", G, "{\"contents\":[" GHI "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"a b\"}]}]}", "invalid_tool_schema", "Invalid function name. Must start with a letter or an underscore."},
    {"{ response_format: json_object }", C, CHAT(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":{}}}"), "invalid_tool_schema", "of type 'json_schema' is not supported with this model"},
    {"{ response_format: json_object, format_error: invalid_schema }", C, CHAT(",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\",\"schema\":{}}}"), "invalid_tool_schema", "Invalid schema for response_format 'x'"},
    {"{ response_format: json_object }", C, CHAT(",\"response_format\":{\"type\":\"json_object\"}"), NULL, NULL},
    {"{ response_format: text }", C, CHAT(",\"response_format\":{\"type\":\"json_object\"}"), "invalid_tool_schema", "response_format json_object is not supported"},
    {"{ response_format: json_object, format_error: must_be }", R, RESP(",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"x\",\"schema\":{}}}"), "invalid_tool_schema", "must be text or json_object"},
    /* thinking */
    {"", M, "{\"model\":\"m\",\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"messages\":[" HI "]}", "invalid_parameter", "`max_tokens` must be greater than `thinking.budget_tokens`."},
    {"", M, "{\"model\":\"m\",\"max_tokens\":2000,\"temperature\":0,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},\"messages\":[" HI "]}", "invalid_parameter", "`temperature` may only be set to 1 when thinking is enabled."},
    {"{ signatures: true }", M, "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"foreign\"},{\"type\":\"text\",\"text\":\"y\"}]}," HI "]}", "invalid_message", "messages.1.content.0: Invalid `signature` in `thinking` block"},
    {"{ signatures: true }", M, "{\"model\":\"m\",\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":[" USE("a") "]},{\"role\":\"user\",\"content\":[" RES("a") "]}]}", "invalid_message", "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."},
    {"{ signatures: true }", G, GEM(GHI "," GCALL "," GRES), "invalid_message", "Function call is missing a thought_signature in functionCall parts."},
    {"{ signatures: true }", R, "{\"model\":\"m\",\"input\":[" HI ",{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"zzzz\"},{\"role\":\"assistant\",\"content\":\"x\"}," HI "]}", "invalid_message", "could not be verified"},
    {"{ signatures: true }", R, "{\"model\":\"m\",\"input\":[" HI ",{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}," HI "]}", "invalid_message", "Item 'rs_1' of type 'reasoning' was provided without its required following item."},
    /* size */
    {"{ window: 5 }", G, GEM(GHI), "context_length", "The input token count (10) exceeds the maximum number of tokens allowed (5)."},
    {"{ window: 60, max_output: 20 }", G, "{\"contents\":[" GHI "],\"generationConfig\":{\"maxOutputTokens\":30}}", "output_limit", "maxOutputTokens value of 30 but the supported range is from 1 (inclusive) to 21 (exclusive)"},
    {"{ window: 55 }", M, MSGS(""), "context_length", "input length and `max_tokens` exceed context limit: 8 + 50 > 55"},
    {"{ window: 5, overflow: no_numbers }", C, CHAT(""), "context_length", "Your input exceeds the context window of this model."},
    {"{ window: 5, overflow: vllm }", C, CHAT(""), "context_length", "maximum context length of 5 tokens. You requested a total of 8 tokens: 8 tokens from the input messages"},
    {"{ window: 5, overflow: llama_cpp }", C, CHAT(""), "context_length", "request (8 tokens) exceeds the available context size (5 tokens)"},
    {"{ max_bytes: 20 }", M, MSGS(""), "request_too_large", "Request exceeds the maximum size"},
    {"{ max_bytes: 20 }", G, GEM(GHI), "request_too_large", "Request payload size exceeds the limit: 20 bytes."},
};
// clang-format on

static void each_wire_refuses_what_its_provider_refuses_in_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(room, sizeof room);
        script *s = model_script(rows[i].model);
        ask q = read_ask(rows[i].path, rows[i].body, &a);
        refusal r = validate(&q, &s->models[0].limits, &a);
        if (!q.ok)
            fail_msg("row %zu is no JSON: %s", i, rows[i].body);
        if (!rows[i].kind != !r.status || (rows[i].kind && strcmp(rows[i].kind, r.kind ? r.kind : "") != 0) ||
            (rows[i].holds && str_find(r.message, str_of(rows[i].holds)) == STR_NONE))
            fail_msg("row %zu, %s %s: %d %s " STR_FMT, i, rows[i].path, rows[i].body, r.status, r.kind ? r.kind : "-",
                     STR_ARG(r.message));
        answer x = answer_refusal(q.wire, &r, 1, &a);
        if (r.status && !json_valid(x.body))
            fail_msg("row %zu: its error is no JSON: " STR_FMT, i, STR_ARG(x.body));
        assert_false(a.full);
        script_drop(s);
    }
}

/* The parameter's name ends where it ends, whatever stood in that memory before. */
static void an_unknown_parameter_is_named_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"a_member_with_a_name_that_is_rather_long", "short_one"};
    script *s = model_script("{ strict: true }");
    memset(room, 'x', 4096);
    for (size_t i = 0; i < COUNT(names); i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"model\":\"m\",\"input\":\"hi\",\"%s\":1}", names[i]);
        daruma_arena a = arena_over(room, sizeof room); /* the same memory again */
        ask q = read_ask(R, body, &a);
        refusal r = validate(&q, &s->models[0].limits, &a);
        assert_str(r.code, "unknown_parameter");
        assert_str(r.param, names[i]);
    }
    script_drop(s);
}

static void an_overflow_can_be_silent(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "models: { a: { window: 5, overflow: usage }, b: { window: 5, overflow: length }, c: { window: 5, "
               "overflow: empty_400 } }\nexpect: { refused: { context_length: 3 }, largest_tokens: 100 }");
    call_for(&r, C, "{\"model\":\"a\",\"messages\":[" HI "]}", 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 200") && holds(&h, "You said: hi") && holds(&h, "\"prompt_tokens\":8"));
    call_for(&r, C, "{\"model\":\"b\",\"messages\":[" HI "]}", 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 200") && holds(&h, "\"content\":\"\"") &&
                holds(&h, "\"finish_reason\":\"length\""));
    assert_true(holds(&h, "\"prompt_tokens\":5"));
    call_for(&r, C, "{\"model\":\"c\",\"messages\":[" HI "]}", 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 400") && holds(&h, "content-length: 0"));
    control(&r, "POST", "/chaos/finish", "", &h);
    assert_true(holds(&h, "{\"ok\":true"));
    rig_down(&r);
}

/* ---- Gemini
 * ---------------------------------------------------------------------------------------------------------- */

#define SAY_G    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"say one two three four\"}]}]}"
#define STREAM_G "/v1beta/models/m:streamGenerateContent"

static void gemini_answers_whole_as_events_and_as_an_array(void **state)
{
    (void)state;
    daruma_arena a = arena_over(room, sizeof room);
    rig r;
    heard h;
    rig_up(&r, "keys: { AIza-one: {} }");
    int fd = ask_for(&r, "POST", "/v1beta/models/m:generateContent?key=AIza-one", NULL, SAY_G);
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 200 OK"));
    assert_true(
        holds(&h, "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"one two three four\"}],\"role\":\"model\"},"
                  "\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{"));
    fd = ask_for(&r, "POST", STREAM_G "?alt=sse&key=AIza-one", NULL, SAY_G);
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "content-type: text/event-stream") && holds(&h, "data: {\"candidates\""));
    assert_true(holds(&h, "{\"text\":\"two \"}") && holds(&h, "\"finishReason\":\"STOP\""));
    fd = ask_for(&r, "POST", STREAM_G "?key=AIza-two", NULL, SAY_G);
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 400") && holds(&h, "\"status\":\"INVALID_ARGUMENT\"") &&
                holds(&h, "API_KEY_INVALID"));
    rig_down(&r);

    http_head head = {.path = S(STREAM_G)};
    ask q = ask_read(&head, S(SAY_G), &a);
    assert_true(q.stream && q.array);
    speech s = answer_say(&q, NULL, ANSWER_GOOD, &a);
    answer x = answer_write(&q, &s, &a);
    assert_true(json_valid(x.body));
    assert_str(json_path(x.body, "1.candidates.0.content.parts.0.text"), "\"two \"");
}

#define TOOLS_G                                                                                                        \
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"call f\"}]}],\"tools\":[{\"functionDeclarations\":[{"    \
    "\"name\":\"f\",\"parameters\":{\"type\":\"OBJECT\",\"properties\":{\"n\":{\"type\":\"INTEGER\"}}}}]}]}"

static void gemini_calls_functions_and_says_when_a_call_is_malformed(void **state)
{
    (void)state;
    static const char *const forms[] = {"unclosed", "trailing_comma", "single_quotes", "empty"};
    daruma_arena a = arena_over(room, sizeof room);
    ask q = read_ask(G, TOOLS_G, &a);
    speech s = answer_say(&q, NULL, ANSWER_GOOD, &a);
    answer x = answer_write(&q, &s, &a);
    assert_str(json_path(x.body, "candidates.0.content.parts.0.functionCall.args"), "{\"n\":1}");
    for (size_t i = 0; i < COUNT(forms); i++) {
        manner m = {.form = str_of(forms[i])};
        s = answer_say(&q, &m, ANSWER_BAD_ARGUMENTS, &a);
        x = answer_write(&q, &s, &a);
        assert_true(json_valid(x.body));
        assert_str(json_path(x.body, "candidates.0.finishReason"), "\"MALFORMED_FUNCTION_CALL\"");
    }
}

/* Faults work in this wire as in the others. */
static void every_kind_of_fault_plays_in_gemini(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "");
    for (size_t i = 0; i < nfault_kinds; i++) {
        char yaml[256];
        const fault_kind *k = &fault_kinds[i];
        if (k->effect == FAULT_REFUSE || k->effect == FAULT_HANG)
            continue;
        for (int in_band = 0; in_band < (k->effect == FAULT_ERROR ? 2 : 1); in_band++)
            for (int array = 0; array < 2; array++) {
                snprintf(yaml, sizeof yaml, "faults: [ { kind: %s, for: 20ms, every: 1ms, after_bytes: 40%s } ]",
                         k->name, in_band ? ", in_band: true" : "");
                control(&r, "POST", "/chaos/script", yaml, &h);
                assert_true(holds(&h, "{\"ok\":true"));
                call_for(&r, array ? STREAM_G : STREAM_G "?alt=sse", SAY_G, 3000, &h);
                if (k->effect == FAULT_ERROR && !in_band && (!holds(&h, "\"error\":{\"code\":") || holds(&h, "200 OK")))
                    fail_msg("%s: %s", k->name, h.text);
            }
    }
    control(&r, "POST", "/chaos/script", "faults: [ { kind: rate_limit, headers: { retry-after: \"7\" } } ]", &h);
    call_for(&r, G, SAY_G, 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 429") && holds(&h, "RESOURCE_EXHAUSTED") && holds(&h, "\"retryDelay\":\"7s\""));
    rig_down(&r);
}

/* ---- going on, summing up
 * --------------------------------------------------------------------------------------------- */

#define FULL "one two three four five six seven"

static daruma_str went_on(const char *model, const char *path, const char *body, daruma_arena *a)
{
    script *s = model_script(model);
    ask q = read_ask(path, body, a);
    refusal r = validate(&q, &s->models[0].limits, a);
    if (r.status)
        fail_msg("%s: " STR_FMT, body, STR_ARG(r.message));
    speech said = answer_say(&q, &s->models[0].manner, ANSWER_GOOD, a);
    daruma_str text = arena_copy(a, said.text);
    script_drop(s);
    return text;
}

static void a_text_that_broke_off_goes_on_as_the_script_says(void **state)
{
    (void)state;
    // clang-format off
#define BEGUN_C(ask) "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say " FULL "\"},{\"role\":\"assistant\",\"content\":\"one two three\"}" ask "]}"
#define BEGUN_M "{\"model\":\"m\",\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"say " FULL "\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"one two three\"}]}]}"
#define BEGUN_R "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"say " FULL "\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"one two three\"}]},{\"role\":\"user\",\"content\":\"Please continue where you stopped.\"}]}"
#define BEGUN_G "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"say " FULL "\"}]},{\"role\":\"model\",\"parts\":[{\"text\":\"one two three\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"Go on.\"}]}]}"
#define ASKED ",{\"role\":\"user\",\"content\":\"The connection was lost. Go on behind: two three\"}"
    static const struct { const char *model, *path, *body, *want; } on[] = {
        {"", M, BEGUN_M, " four five six seven"},
        {"", C, BEGUN_C(""), " four five six seven"},
        {"", R, BEGUN_R, " four five six seven"},
        {"", G, BEGUN_G, " four five six seven"},
        {"", C, BEGUN_C(ASKED), "two three four five six seven"},
        {"{ continue: exact }", C, BEGUN_C(ASKED), " four five six seven"},
        {"{ continue: repeat 5 }", C, BEGUN_C(ASKED), "three four five six seven"},
        {"{ continue: repeat 500 }", C, BEGUN_C(ASKED), FULL},
        {"{ continue: repeat 5 }", M, BEGUN_M, " four five six seven"},
        {"{ continue: restart }", C, BEGUN_C(ASKED), FULL},
        {"{ continue: apologise }", C, BEGUN_C(ASKED), "I apologise for the interruption. Here is the rest of it:\n\ntwo three four five six seven"},
        {"{ continue: apologise }", M, BEGUN_M, " four five six seven"},
        {"{ continue: [exact, restart] }", M, BEGUN_M, " four five six seven"},
        /* what the client had begun stands before it, in a message of the model of its own or in the same */
        {"", C, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say " FULL "\"},{\"role\":\"assistant\",\"content\":\"Well.\"},{\"role\":\"assistant\",\"content\":\"one two three\"}" ASKED "]}", "two three four five six seven"},
        {"", C, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say " FULL "\"},{\"role\":\"assistant\",\"content\":\"Well. one two three\"}" ASKED "]}", "two three four five six seven"},
        {"{ continue: unrelated }", M, BEGUN_M, "By the way, penguins sleep in naps of four seconds, and nobody has ever complained."},
        /* not a word of going on, or not the beginning of that answer: a turn like any other */
        {"", C, BEGUN_C(",{\"role\":\"user\",\"content\":\"say thanks\"}"), "thanks"},
        {"", C, "{\"model\":\"m\",\"messages\":[" HI ",{\"role\":\"assistant\",\"content\":\"Hello.\"},{\"role\":\"user\",\"content\":\"please continue\"}]}", "You said: please continue"},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(on); i++) {
        daruma_arena a = arena_over(room, sizeof room);
        daruma_str text = went_on(on[i].model, on[i].path, on[i].body, &a);
        if (!str_eq(text, str_of(on[i].want)))
            fail_msg("row %zu: " STR_FMT, i, STR_ARG(text));
    }
}

static void who_asks_for_a_summary_gets_one(void **state)
{
    (void)state;
    // clang-format off
#define LONG "a long text that goes on and on, with order 4711 in it, and much more than anybody wants to read again, since nothing happens in it, again and again and again, until at last it ends with the word end"
#define SUM_C "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"You write summaries.\"},{\"role\":\"user\",\"content\":\"" LONG "\"}]}"
#define SUM_M "{\"model\":\"m\",\"max_tokens\":99,\"system\":\"Summarise.\",\"messages\":[{\"role\":\"user\",\"content\":\"" LONG "\"}]}"
#define SUM_G "{\"systemInstruction\":{\"parts\":[{\"text\":\"Summarize.\"}]},\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"" LONG "\"}]}]}"
#define SUM_R "{\"model\":\"m\",\"instructions\":\"Answer with a summary.\",\"input\":\"" LONG "\"}"
    // clang-format on
    static const char *const asked[][2] = {{C, SUM_C}, {M, SUM_M}, {G, SUM_G}, {R, SUM_R}};
    for (size_t i = 0; i < 4; i++) {
        daruma_arena a = arena_over(room, sizeof room);
        assert_true(str_starts(went_on("", asked[i][0], asked[i][1], &a), S("Summary of ")));
        assert_str(went_on("{ summary: all is well }", asked[i][0], asked[i][1], &a), "all is well");
        assert_str(went_on("{ summary: empty }", asked[i][0], asked[i][1], &a), "");
        assert_true(went_on("{ summary: larger }", asked[i][0], asked[i][1], &a).n > sizeof LONG);
    }
    rig r;
    heard h;
    rig_up(&r, "models: { m: { summary: fails } }\nexpect: { asks: { summary: 1, turn: 0 } }");
    call_for(&r, C, SUM_C, 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 500"));
    control(&r, "POST", "/chaos/finish", "", &h);
    assert_true(holds(&h, "{\"ok\":true"));
    rig_down(&r);
}

/* ---- scripted answers
 * --------------------------------------------------------------------------------------------------- */

static void scripted_answers_come_one_after_the_other_and_broken_ones_again(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r,
           "models:\n"
           "  m:\n"
           "    answers:\n"
           "      - { call: read_file, arguments: { path: \"src/{n}.c\", lines: 20, deep: { all: true } }, times: 2 }\n"
           "      - { text: almost, call: read_file, arguments: \"{broken\" }\n"
           "      - { text: \"Done after {n}.\" }\n"
           "faults: [ { skip: 1, times: 1, kind: server_error }, { skip: 1, times: 1, kind: cut, stream: false } ]\n");
    static const char *const want[] = {
        "{\\\"path\\\":\\\"src/1.c\\\",\\\"lines\\\":20,\\\"deep\\\":{\\\"all\\\":true}}",
        "HTTP/1.1 500",
        "content-length:",
        "src/2.c",
        "\"arguments\":\"{broken\"",
        "Done after 4.",
        "You said: hi"};
    for (size_t i = 0; i < COUNT(want); i++) {
        call_for(&r, C, CHAT(""), 2000, &h);
        if (!holds(&h, want[i]))
            fail_msg("call %zu: %s", i, h.text);
    }
    control(&r, "POST", "/chaos/reset", "", &h);
    call_for(&r, C, CHAT(""), 2000, &h);
    assert_true(holds(&h, "src/1.c"));
    rig_down(&r);
}

/* An agent of sixty turns: each answer of the model and each result of the tool goes back to it. */
static void an_agent_of_sixty_turns_runs_against_a_script(void **state)
{
    (void)state;
    rig r;
    static heard h;
    static char body[60 << 10];
    size_t n = (size_t)snprintf(body, sizeof body, "{\"model\":\"m\",\"messages\":[" HI);
    rig_up(&r, "models: { m: { answers: [ { call: look, arguments: { n: \"{n}\" }, times: 60 }, { text: done } ] } }\n"
               "expect: { refused: 0, answered: 61, calls: { m: 61 } }");
    for (int turn = 0; turn <= 60; turn++) {
        char id[64];
        static char request[64 << 10];
        int fd = dial(&r);
        int m = snprintf(request, sizeof request,
                         "POST " C " HTTP/1.1\r\nHost: here\r\nConnection: close\r\nAuthorization: Bearer k\r\n"
                         "Content-Length: %zu\r\n\r\n%s]}",
                         n + 2, body);
        assert_int_equal(send(fd, request, (size_t)m, MSG_NOSIGNAL), m);
        hear(&r, fd, 2000, &h);
        close(fd);
        if (turn == 60)
            break;
        const char *at = strstr(h.text, "\"id\":\"call_");
        snprintf(id, sizeof id, "{\\\"n\\\":\\\"%d\\\"}", turn + 1);
        if (!at || !holds(&h, id))
            fail_msg("turn %d: %s", turn, h.text);
        snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
        n += (size_t)snprintf(
            body + n, sizeof body - n,
            ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"%s\",\"type\":\"function\",\"function\":{"
            "\"name\":\"look\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"%s\","
            "\"content\":\"seen %d\"}",
            id, id, turn);
    }
    assert_true(holds(&h, "\"content\":\"done\""));
    control(&r, "POST", "/chaos/finish", "", &h);
    assert_true(holds(&h, "{\"ok\":true"));
    rig_down(&r);
}

static void tool_arguments_are_broken_in_each_form(void **state)
{
    (void)state;
#define CALL_F                                                                                                         \
    CHAT(",\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","               \
         "\"parameters\":{"                                                                                            \
         "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"boolean\"}}}}}]")
    static const char *const forms[][2] = {
        {"unclosed", "{\"a\":\"a\",\"b\":true"},        {"trailing_comma", "{\"a\":\"a\",\"b\":true,}"},
        {"single_quotes", "{'a':'a','b':true}"},        {"fenced", "```json\n{\"a\":\"a\",\"b\":true}\n```"},
        {"literals", "{\"a\": \"a\", \"b\": True}"},    {"length", "{\"a\":\"a\","},
        {"wrong_type", "{\"a\":[\"a\"],\"b\":[true]}"}, {"empty", ""},
    };
    daruma_arena a = arena_over(room, sizeof room);
    ask q = read_ask(C, CALL_F, &a);
    for (size_t i = 0; i < COUNT(forms); i++) {
        manner m = {.form = str_of(forms[i][0])};
        speech s = answer_say(&q, &m, ANSWER_BAD_ARGUMENTS, &a);
        assert_int_equal(s.ncalls, 1);
        assert_str(s.arguments[0], forms[i][1]);
        assert_int_equal(s.cut, i == 5);
    }
    manner m = {.form = S("misspelt")};
    speech s = answer_say(&q, &m, ANSWER_BAD_TOOL, &a);
    assert_str(s.name[0], "fs");
}

/* ---- places in a stream
 * ------------------------------------------------------------------------------------------------ */

static void a_stream_breaks_within_the_part_that_is_named(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *cut, *path, *body, *has, *lacks; } cuts[] = {
        {"{ cut: { within: text, after_pieces: 2 } }", C, "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"say one two three four\"}]}", "\"content\":\"two \"", "three"},
        {"{ cut: { after_pieces: 1 } }", M, "{\"model\":\"m\",\"stream\":true,\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"say one two three four\"}]}", "\"text\":\"one \"", "two "},
        {"{ cut: { within: arguments } }", M, "{\"model\":\"a\",\"stream\":true,\"max_tokens\":9,\"messages\":[" HI "]}", "input_json_delta", "content_block_stop\"}"},
        {"{ cut: { within: arguments } }", R, "{\"model\":\"a\",\"stream\":true,\"input\":\"hi\"}", "function_call_arguments.delta", "function_call_arguments.done"},
        {"{ cut: { within: thinking } }", M, "{\"model\":\"t\",\"stream\":true,\"max_tokens\":9,\"messages\":[" HI "]}", "thinking_delta", "signature_delta"},
        {"{ cut: { within: thinking, after_pieces: 1 } }", R, "{\"model\":\"t\",\"stream\":true,\"input\":\"hi\"}", "reasoning_summary_text.delta", "output_text"},
        {"{ cut: { within: text, after_pieces: 0 } }", M, "{\"model\":\"t\",\"stream\":true,\"max_tokens\":9,\"messages\":[" HI "]}", "signature_delta", "text_delta"},
        {"{ cut: { within: text, after_pieces: 1 } }", STREAM_G, SAY_G, "one ", "two "},
    };
    // clang-format on
    rig r;
    heard h;
    rig_up(&r, "models: { m: {}, a: { answers: [ { call: f, arguments: { path: \"a/long/path/that/comes/in/pieces\" }, "
               "times: 9 } ] }, t: { answers: [ { thinking: first I think of this and that, text: then I speak, times: "
               "9 } ] } }");
    for (size_t i = 0; i < COUNT(cuts); i++) {
        char yaml[200];
        snprintf(yaml, sizeof yaml, "faults: [ %s ]", cuts[i].cut);
        control(&r, "POST", "/chaos/script", yaml, &h);
        assert_true(holds(&h, "{\"ok\":true"));
        call_for(&r, cuts[i].path, cuts[i].body, 2000, &h);
        if (!holds(&h, cuts[i].has) || holds(&h, cuts[i].lacks))
            fail_msg("row %zu: %s", i, h.text);
    }
    rig_down(&r);
}

static void faults_can_hit_only_those_who_ask_to_go_on_or_for_a_summary(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "faults: [ { asks: continue, kind: overloaded }, { asks: summary, kind: quota } ]");
    call_for(&r, C, CHAT(""), 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 200"));
    call_for(&r, C, BEGUN_C(""), 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 503"));
    call_for(&r, C, SUM_C, 2000, &h);
    assert_true(holds(&h, "insufficient_quota"));
    rig_down(&r);
}

/* ---- what is kept between calls
 * ----------------------------------------------------------------------------------------- */

static void call_as(rig *r, const char *key, const char *body, heard *h)
{
    int fd = ask_for(r, "POST", R, key, body);
    hear(r, fd, 2000, h);
    close(fd);
}

static void an_answer_that_is_stored_belongs_to_its_account(void **state)
{
    (void)state;
    rig r;
    heard h;
    char id[64], body[512];
    rig_up(
        &r,
        "keys: { k1: { account: a }, k2: { account: a }, k3: { account: b } }\nmodels: { m: { window: 40, answers: [ "
        "{ text: one }, { call: f } ] } }");
    call_as(&r, "k1", RESP(""), &h);
    const char *at = strstr(h.text, "\"id\":\"resp_");
    assert_non_null(at);
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    snprintf(body, sizeof body, "{\"model\":\"m\",\"previous_response_id\":\"%s\",\"input\":\"on\"}", id);
    call_as(&r, "k3", body, &h);
    assert_true(holds(&h, "HTTP/1.1 400") && holds(&h, "\"previous_response_not_found\""));
    call_as(&r, "k2", body, &h);
    assert_true(holds(&h, "HTTP/1.1 200") && holds(&h, "\"function_call\"") && holds(&h, "\"input_tokens\":3"));
    at = strstr(h.text, "\"id\":\"resp_");
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    snprintf(body, sizeof body, "{\"model\":\"m\",\"previous_response_id\":\"%s\",\"input\":\"on\"}", id);
    call_as(&r, "k2", body, &h); /* its call is open */
    assert_true(holds(&h, "No tool output found for function call call_"));
    snprintf(
        body, sizeof body,
        "{\"model\":\"m\",\"previous_response_id\":\"%s\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":"
        "\"call_%.16s00\",\"output\":\"x\"}]}",
        id, id + 5);
    call_as(&r, "k2", body, &h);
    assert_true(holds(&h, "HTTP/1.1 200"));
    for (int answered = 0; answered < 2; answered++) { /* the same call as an item, which Vercel's AI SDK 5 refers to */
        snprintf(body, sizeof body,
                 "{\"model\":\"m\",\"input\":[{\"type\":\"item_reference\",\"id\":\"fc_%.16s00\"},"
                 "{\"type\":\"%s\",\"call_id\":\"call_%.16s00\",\"output\":\"x\"}]}",
                 id + 5, answered ? "function_call_output" : "note", id + 5);
        call_as(&r, "k2", body, &h);
        assert_true(answered ? holds(&h, "HTTP/1.1 200") : holds(&h, "No tool output found for function call call_"));
    }
    call_as(&r, "k2", RESP(",\"store\":false,\"metadata\":{}"), &h);
    at = strstr(h.text, "\"id\":\"resp_");
    snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 6, "\""), at + 6);
    snprintf(body, sizeof body, "{\"model\":\"m\",\"previous_response_id\":\"%s\",\"input\":\"on\"}", id);
    call_as(&r, "k2", body, &h);
    assert_true(holds(&h, "previous_response_not_found"));
    call_as(&r, "k2",
            "{\"model\":\"m\",\"input\":[{\"type\":\"item_reference\",\"id\":\"msg_0123456789abcdef00\"}," HI "]}", &h);
    assert_true(holds(&h, "HTTP/1.1 404") && holds(&h, "Item with id 'msg_0123456789abcdef00' not found."));
    rig_down(&r);
}

/* What is handed out signed is taken back as it was, and only so. */
static void thinking_is_taken_back_only_as_it_was_given(void **state)
{
    (void)state;
    daruma_arena a = arena_over(room, sizeof room);
    script *s = model_script("{ signatures: true }");
    script_model *m = &s->models[0];
#define THINKS "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},\"max_tokens\":2000,\"model\":\"m\","
#define F_TOOL "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}}],"
    ask q = read_ask(M, "{" THINKS F_TOOL "\"messages\":[{\"role\":\"user\",\"content\":\"call f\"}]}", &a);
    speech said = answer_say(&q, &m->manner, ANSWER_GOOD, &a);
    answer x = answer_write(&q, &said, &a);
    assert_str(json_path(x.body, "content.0.type"), "\"thinking\"");
    assert_str(json_path(x.body, "content.1.type"), "\"tool_use\"");
    for (int edit = 0; edit < 3; edit++) {
        daruma_buf b = buf_in(&a);
        daruma_str content = json_get(x.body, S("content")), thought = json_path(content, "0.thinking");
        size_t from = (size_t)(thought.p - content.p);
        BUF_LIT(&b, "{" THINKS F_TOOL
                    "\"messages\":[{\"role\":\"user\",\"content\":\"call f\"},{\"role\":\"assistant\",\"content\":");
        if (edit == 0) {
            buf_put(&b, content);
        } else if (edit == 1) {
            buf_put(&b, str_sub(content, 0, from + 1));
            BUF_LIT(&b, "Edited. ");
            buf_put(&b, str_from(content, from + 1));
        } else {
            buf_putc(&b, '[');
            buf_put(&b, json_path(content, "1"));
            buf_putc(&b, ']');
        }
        BUF_LIT(&b, "},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":");
        buf_put(&b, json_path(content, "1.id"));
        BUF_LIT(&b, ",\"content\":\"x\"}]}]}");
        buf_putc(&b, '\0');
        ask next = read_ask(M, b.p, &a);
        refusal r = validate(&next, &m->limits, &a);
        assert_int_equal(r.status, edit ? 400 : 0);
        if (edit == 1)
            assert_true(str_find(r.message, S("cannot be modified")) != STR_NONE);
        if (edit == 2)
            assert_true(str_find(r.message, S("Expected `thinking`")) != STR_NONE);
    }
    script_drop(s);
}

static void the_example_is_read(void **state)
{
    (void)state;
    daruma_buf text = buf_over(room, sizeof room);
    conf_mistakes err;
    FILE *f = fopen("examples/chaos-heal.yaml", "r");
    assert_non_null(f);
    text.n = fread(room, 1, sizeof room, f);
    fclose(f);
    script *s = script_read(buf_str(&text), NULL, &err);
    if (!s)
        fail_msg("%d:%d: %s", err.at[0].line, err.at[0].column, mistake(&err));
    assert_int_equal(s->nmodels, 6);
    script_drop(s);
}

static void a_wrong_word_in_a_model_says_what_was_meant(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"models: { m: { overflow: vlm } }", "expected one of plain, no_numbers, vllm, llama_cpp, empty_400, "
                                             "empty_413, usage, length, found \"vlm\"; did you mean vllm?"},
        {"models: { m: { continue: repeat } }", "`repeat` wants a number of bytes: repeat 20"},
        {"models: { m: { unsupported: temperature } }",
         "expected a list, found a single value; begin each element with \"- \""},
        {"models: { m: { answers: [ { txt: x } ] } }", "unknown key `txt`; did you mean `text`?"},
        {"models: { m: { answers: [ { call: a, calls: [ { call: b } ] } ] } }",
         "`call` and `calls` exclude each other"},
        {"faults: [ { cut: { within: txt } } ]",
         "expected one of any, text, arguments, thinking, found \"txt\"; did you mean text?"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        conf_mistakes err;
        assert_null(script_read(str_of(wrong[i][0]), NULL, &err));
        assert_string_equal(mistake(&err), wrong[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wire_refuses_what_its_provider_refuses_in_its_words),
        cmocka_unit_test(an_unknown_parameter_is_named_alone),
        cmocka_unit_test(an_overflow_can_be_silent),
        cmocka_unit_test(gemini_answers_whole_as_events_and_as_an_array),
        cmocka_unit_test(gemini_calls_functions_and_says_when_a_call_is_malformed),
        cmocka_unit_test(every_kind_of_fault_plays_in_gemini),
        cmocka_unit_test(a_text_that_broke_off_goes_on_as_the_script_says),
        cmocka_unit_test(who_asks_for_a_summary_gets_one),
        cmocka_unit_test(scripted_answers_come_one_after_the_other_and_broken_ones_again),
        cmocka_unit_test(an_agent_of_sixty_turns_runs_against_a_script),
        cmocka_unit_test(tool_arguments_are_broken_in_each_form),
        cmocka_unit_test(a_stream_breaks_within_the_part_that_is_named),
        cmocka_unit_test(faults_can_hit_only_those_who_ask_to_go_on_or_for_a_summary),
        cmocka_unit_test(an_answer_that_is_stored_belongs_to_its_account),
        cmocka_unit_test(thinking_is_taken_back_only_as_it_was_given),
        cmocka_unit_test(the_example_is_read),
        cmocka_unit_test(a_wrong_word_in_a_model_says_what_was_meant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
