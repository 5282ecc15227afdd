#include "test.h"
#include "chaos_kit.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

#define CHAT      "/v1/chat/completions"
#define MESSAGES  "/v1/messages?beta=true"
#define RESPONSES "/v1/responses"

static const char *const paths[] = {CHAT, MESSAGES, RESPONSES};

/* "say" plainly in one of the three wires. */
static const char *plain_body(int which, bool stream)
{
    static const char *const bodies[3][2] = {
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"say one two three four\"}]}",
         "{\"model\":\"m\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"say one two three four\"}]}"},
        {"{\"model\":\"m\",\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"say one two three "
         "four\"}]}",
         "{\"model\":\"m\",\"stream\":true,\"max_tokens\":99,\"messages\":[{\"role\":\"user\",\"content\":\"say one "
         "two "
         "three four\"}]}"},
        {"{\"model\":\"m\",\"input\":\"say one two three four\"}",
         "{\"model\":\"m\",\"stream\":true,\"input\":\"say one two three four\"}"},
    };
    return bodies[which][stream];
}

/* ---- good answers ---------------------------------------------------------------------------------------- */

static void all_wires_echo_what_is_asked_streaming_and_not(void **state)
{
    (void)state;
    static const char *const whole[] = {"\"content\":\"one two three four\"", "\"text\":\"one two three four\"",
                                        "\"text\":\"one two three four\""};
    static const char *const piece[] = {"\"delta\":{\"content\":\"two \"}", "\"text_delta\",\"text\":\"two \"",
                                        "\"delta\":\"two \""};
    static const char *const end[] = {"data: [DONE]", "event: message_stop", "event: response.completed"};
    rig r;
    heard h;
    rig_up(&r, "");
    for (int w = 0; w < 3; w++) {
        call_for(&r, paths[w], plain_body(w, false), 2000, &h);
        assert_int_equal(h.end, CLOSED);
        assert_true(holds(&h, "HTTP/1.1 200 OK"));
        assert_true(holds(&h, whole[w]));
        call_for(&r, paths[w], plain_body(w, true), 2000, &h);
        assert_int_equal(h.end, CLOSED);
        assert_true(holds(&h, piece[w]));
        assert_true(holds(&h, end[w]));
        assert_true(holds(&h, "\r\n0\r\n\r\n"));
    }
    control(&r, "GET", "/chaos/report", "", &h);
    assert_true(holds(&h, "\"calls\":6,\"answered\":6,\"refused\":0,\"open\":0"));
    rig_down(&r);
}

static char arena_room[1 << 20];

static daruma_str answer_to(const char *path, const char *body, answer_twist twist, daruma_arena *a)
{
    ask q = read_ask(path, body, a);
    speech s = answer_say(&q, NULL, twist, a);
    answer x = answer_write(&q, &s, a);
    assert_false(a->full);
    if (!x.stream)
        assert_true(json_valid(x.body));
    return x.body;
}

#define CHAT_TOOLS                                                                                                     \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"parameters\":{\"type\":\"object\","    \
    "\"properties\":{\"city\":{\"type\":\"string\",\"maxLength\":3},\"days\":{\"type\":\"integer\",\"minimum\":2},"    \
    "\"unit\":{\"enum\":[\"C\",\"F\"]},\"deep\":{\"$ref\":\"#/$defs/D\"}},\"$defs\":{\"D\":{\"type\":\"array\","       \
    "\"items\":{\"type\":\"boolean\"},\"minItems\":2}}}}},{\"type\":\"function\",\"function\":{\"name\":\"get\","      \
    "\"parameters\":{\"type\":\"object\",\"properties\":{}}}}]"

static void tools_that_are_named_are_called_with_arguments_that_fit(void **state)
{
    (void)state;
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    daruma_str x = answer_to("/v1/chat/completions",
                             "{\"model\":\"m\"," CHAT_TOOLS ",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"call get_weather and get\"}]}]}",
                             ANSWER_GOOD, &a);
    assert_str(json_path(x, "choices.0.finish_reason"), "\"tool_calls\"");
    assert_str(json_path(x, "choices.0.message.content"), "null");
    assert_str(json_text(json_path(x, "choices.0.message.tool_calls.0.function.arguments"), &a),
               "{\"city\":\"cit\",\"days\":2,\"unit\":\"C\",\"deep\":[true,true]}");
    assert_str(json_path(x, "choices.0.message.tool_calls.1.function.name"), "\"get\"");
    assert_int_equal(json_count(json_path(x, "choices.0.message.tool_calls")), 2);
}

static void results_of_tools_are_named_in_the_answer(void **state)
{
    (void)state;
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    daruma_str x = answer_to(
        "/v1/chat/completions",
        "{\"model\":\"m\"," CHAT_TOOLS ",\"messages\":[{\"role\":\"user\",\"content\":\"call get\"},{\"role\":"
        "\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"get\","
        "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"22 degrees\"}]}",
        ANSWER_GOOD, &a);
    assert_str(json_path(x, "choices.0.message.content"), "\"The tools answered. get said: 22 degrees.\"");
    x = answer_to(
        "/v1/messages",
        "{\"model\":\"m\",\"max_tokens\":50,\"messages\":[{\"role\":\"user\",\"content\":\"call get\"},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"get\",\"input\":"
        "{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":"
        "[{\"type\":\"text\",\"text\":\"ok\"}]}]}]}",
        ANSWER_GOOD, &a);
    assert_str(json_path(x, "content.0.text"), "\"The tools answered. get said: ok.\"");
    x = answer_to(
        "/v1/responses",
        "{\"model\":\"m\",\"input\":[{\"role\":\"user\",\"content\":\"call get\"},{\"type\":\"function_call\","
        "\"call_id\":\"c1\",\"name\":\"get\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\","
        "\"call_id\":\"c1\",\"output\":\"fine\"}]}",
        ANSWER_GOOD, &a);
    assert_str(json_path(x, "output.0.content.0.text"), "\"The tools answered. get said: fine.\"");
}

static void an_answer_that_is_too_long_stops_at_its_limit_and_says_so(void **state)
{
    (void)state;
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    daruma_str x = answer_to("/v1/messages",
                             "{\"model\":\"m\",\"max_tokens\":2,\"messages\":[{\"role\":\"user\",\"content\":\"say "
                             "\xc3\xa4\xc3\xa4\xc3\xa4x\xc3\xa4\xc3\xa4\"}]}",
                             ANSWER_GOOD, &a);
    assert_str(json_path(x, "stop_reason"), "\"max_tokens\"");
    assert_str(json_path(x, "content.0.text"), "\"\xc3\xa4\xc3\xa4\xc3\xa4x\""); /* never half a character */
}

static void an_asked_schema_is_kept(void **state)
{
    (void)state;
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    daruma_str x = answer_to("/v1/chat/completions",
                             "{\"model\":\"m\",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":"
                             "\"x\",\"schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}}},"
                             "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}",
                             ANSWER_GOOD, &a);
    assert_str(json_text(json_path(x, "choices.0.message.content"), &a), "{\"n\":1}");
}

/* ---- what real providers refuse --------------------------------------------------------------------------------- */

#define USER "{\"role\":\"user\",\"content\":\"hi\"}"
#define CALL                                                                                                           \
    "{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","       \
    "\"arguments\":\"{}\"}}]}"
#define USE    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{}}]}"
#define RESULT "{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"x\"}"

static void requests_are_refused_in_the_providers_words(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *path, *body; int64_t window, most; const char *want; } rows[] = {
        {"/v1/chat/completions", "{\"messages\":[" USER "]}", -1, -1, "you must provide a model parameter"},
        {"/v1/chat/completions", "{\"model\":\"m\"}", -1, -1, "Missing required parameter: 'messages'."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[]}", -1, -1, "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[{\"role\":\"king\",\"content\":\"x\"}]}", -1, -1, "Invalid value: 'king'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":null}]}", -1, -1, "Invalid value for 'content': expected a string, got null."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER "," CALL "]}", -1, -1, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: c1"},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER "," CALL "," USER "]}", -1, -1, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: c1"},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER ",{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"x\"}]}", -1, -1, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER "," CALL ",{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"x\"}]}", -1, -1, "Invalid parameter: 'tool_call_id' of 'c2' not found in 'tool_calls' of previous message."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a b\"}}],\"messages\":[" USER "]}", -1, -1, "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"max_tokens\":101,\"messages\":[" USER "]}", -1, 100, "max_tokens is too large: 101. This model supports at most 100 completion tokens, whereas you provided 101."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"max_completion_tokens\":5,\"messages\":[" USER "]}", 10, -1, "This model's maximum context length is 10 tokens. However, you requested 13 tokens (8 in the messages, 5 in the completion). Please reduce the length of the messages or completion."},
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER "]}", 7, -1, "This model's maximum context length is 7 tokens. However, your messages resulted in 8 tokens. Please reduce the length of the messages."},
        {"/v1/messages", "{\"model\":\"m\",\"messages\":[" USER "]}", -1, -1, "max_tokens: Field required"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5}", -1, -1, "messages: Field required"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[]}", -1, -1, "messages: at least one message is required"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER ",{\"role\":\"user\",\"content\":\"\"}]}", -1, -1, "messages.1: all messages must have non-empty content except for the optional final assistant message"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}]}]}", -1, -1, "messages: text content blocks must be non-empty"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "," USE "," USER "]}", -1, -1, "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1. Each `tool_use` block must have a corresponding `tool_result` block in the next message."},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":[" RESULT "]}]}", -1, -1, "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "," USE ",{\"role\":\"user\",\"content\":[" RESULT "," RESULT "]}]}", -1, -1, "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "]}", 7, -1, "prompt is too long: 8 tokens > 7 maximum"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "]}", 10, -1, "input length and `max_tokens` exceed context limit: 8 + 5 > 10, decrease input length or `max_tokens` and try again"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "]}", -1, 4, "max_tokens: 5 > 4, which is the maximum allowed number of output tokens for m"},
        {"/v1/responses", "{\"model\":\"m\",\"input\":[" USER ",{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"f\",\"arguments\":\"{}\"}]}", -1, -1, "No tool output found for function call c1."},
        {"/v1/responses", "{\"model\":\"m\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"x\"}]}", -1, -1, "No tool call found for function call output with call_id c1."},
        {"/v1/responses", "{\"model\":\"m\",\"input\":\"hello hello\"}", 2, -1, "Your input exceeds the context window of this model. Please adjust your input and try again."},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(arena_room, sizeof arena_room);
        ask q = read_ask(rows[i].path, rows[i].body, &a);
        model_limits lim = {.window = rows[i].window, .max_output = rows[i].most};
        refusal r = validate(&q, &lim, &a);
        assert_int_equal(r.status, 400);
        assert_str(r.message, rows[i].want);
    }
}

static void paired_calls_and_roles_in_a_row_are_accepted(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"/v1/chat/completions", "{\"model\":\"m\",\"messages\":[" USER "," CALL ",{\"role\":\"tool\",\"tool_call_id\":"
                                 "\"c1\",\"content\":\"x\"}," USER "]}"},
        {"/v1/messages", "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[" USER "," USER "," USE ",{\"role\":\"user\","
                         "\"content\":[" RESULT "]},{\"role\":\"system\",\"content\":\"note\"}]}"},
        {"/v1/responses", "{\"model\":\"m\",\"previous_response_id\":\"r\",\"input\":[{\"type\":"
                          "\"function_call_output\",\"call_id\":\"c1\",\"output\":\"x\"}]}"},
    };
    static const model_limits free_of = {.window = -1, .max_output = -1},
                              strict = {.window = -1, .max_output = -1, .alternate = true};
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    for (size_t i = 0; i < 3; i++) {
        ask q = read_ask(good[i][0], good[i][1], &a);
        assert_str(validate(&q, &free_of, &a).message, "");
    }
    ask q = read_ask(good[1][0], good[1][1], &a);
    assert_true(str_starts(validate(&q, &strict, &a).message, S("messages: roles must alternate")));
}

static void keys_models_and_paths_are_checked_over_the_wire(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "keys: { sk-one: {account: a} }\nmodels: { other: {} }");
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 401") && holds(&h, "Incorrect API key provided: sk-***."));
    int fd = ask_for(&r, "POST", MESSAGES, NULL, plain_body(1, false));
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 401") && holds(&h, "authentication_error"));
    fd = ask_for(&r, "POST", CHAT, "sk-one", plain_body(0, false));
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 404") && holds(&h, "The model `m` does not exist"));
    fd = ask_for(&r, "GET", "/v1/models", "sk-one", "");
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 200") && holds(&h, "\"id\":\"other\""));
    fd = ask_for(&r, "POST", "/v1/nothing", "sk-one", "{}");
    hear(&r, fd, 2000, &h);
    close(fd);
    assert_true(holds(&h, "HTTP/1.1 404"));
    rig_down(&r);
}

/* ---- faults on the wire ---------------------------------------------------------------------------------------------
 */

static void every_fault_does_on_the_wire_what_it_says(void **state)
{
    (void)state;
    // clang-format off
    static const struct {
        const char *fault;
        int wire;
        bool stream;
        const char *has, *has_too, *lacks; /* NULL: anything */
        ended end;
        daruma_ms least;                   /* it takes so long */
    } rows[] = {
        {"{ kind: rate_limit, headers: { retry-after: \"7\" } }", 0, true, "HTTP/1.1 429 ", "Please try again in 7s", NULL, CLOSED, 0},
        {"{ kind: rate_limit, headers: { retry-after: \"7\" } }", 1, true, "retry-after: 7\r\n", "\"type\":\"rate_limit_error\"", NULL, CLOSED, 0},
        {"{ kind: quota }",                       0, false, "HTTP/1.1 429 ", "\"code\":\"insufficient_quota\"", NULL, CLOSED, 0},
        {"{ kind: quota }",                       1, false, "HTTP/1.1 400 ", "credit balance is too low", NULL, CLOSED, 0},
        {"{ kind: overloaded }",                  1, false, "HTTP/1.1 529 ", "\"message\":\"Overloaded\"", NULL, CLOSED, 0},
        {"{ kind: overloaded }",                  2, false, "HTTP/1.1 503 ", "server_is_overloaded", NULL, CLOSED, 0},
        {"{ kind: overloaded, in_band: true }",   1, true,  "event: message_start", "event: error\ndata: {\"type\":\"error\"", "content_block", CLOSED, 0},
        {"{ kind: server_error, in_band: true }", 0, true,  "HTTP/1.1 200 OK", "data: {\"error\":{\"message\":\"The server had", "[DONE]", CLOSED, 0},
        {"{ kind: server_error, in_band: true }", 2, true,  "event: response.created", "event: response.failed", "output_text", CLOSED, 0},
        {"{ kind: server_error, in_band: true }", 0, false, "HTTP/1.1 200 OK", "{\"error\":{\"message\"", "choices", CLOSED, 0},
        {"{ kind: auth }",                        0, false, "HTTP/1.1 401 ", "invalid_api_key", NULL, CLOSED, 0},
        {"{ status: 418, message: short and stout }", 0, false, "HTTP/1.1 418 ", "\"message\":\"short and stout\"", NULL, CLOSED, 0},
        {"{ html: 503 }",                         1, true,  "HTTP/1.1 503 ", "content-type: text/html", "{", CLOSED, 0},
        {"{ empty: stream }",                     0, true,  "text/event-stream", "\r\n\r\n0\r\n\r\n", "data:", CLOSED, 0},
        {"{ empty: choices }",                    0, false, "\"choices\":[]", NULL, NULL, CLOSED, 0},
        {"{ empty: choices }",                    1, false, "\"content\":[]", NULL, NULL, CLOSED, 0},
        {"{ empty: text }",                       0, false, "\"content\":\"\"", NULL, NULL, CLOSED, 0},
        {"{ empty: body }",                       0, true,  "content-length: 0\r\n", NULL, "data:", CLOSED, 0},
        {"{ truncated_json: true }",              0, false, "HTTP/1.1 200 OK", NULL, "usage", CLOSED, 0},
        {"{ malformed: not_json }",               0, false, "upstream says: <nil>", NULL, "{", CLOSED, 0},
        {"{ malformed: content_type }",           0, false, "content-type: application/json", "<html>", "{", CLOSED, 0},
        {"{ bad_http: two_lengths }",             0, false, "Content-Length: ", NULL, NULL, CLOSED, 0},
        {"{ bad_http: length_and_chunked }",      0, false, "Transfer-Encoding: chunked\r\nContent-Length: ", NULL, NULL, CLOSED, 0},
        {"{ bad_http: chunk_size }",              0, false, "xyz\r\n", NULL, NULL, CLOSED, 0},
        {"{ bad_http: half_head }",               0, false, "content-type: applica", NULL, "\r\n\r\n", CLOSED, 0},
        {"{ kind: timeout }",                     0, true,  NULL, NULL, "HTTP", STILL_OPEN, 0},
        {"{ kind: timeout, for: 30ms }",          0, true,  NULL, NULL, "HTTP", WAS_RESET, 30},
        {"{ refuse: 1 }",                         0, true,  NULL, NULL, "HTTP", WAS_RESET, 0},
        {"{ kind: reset }",                       0, true,  NULL, NULL, "HTTP", WAS_RESET, 0},
        {"{ kind: reset, after_events: 2 }",      0, true,  "\"content\":\"one \"", NULL, "two", WAS_RESET, 0},
        {"{ cut: { after_events: 3 } }",          0, true,  "\"content\":\"two \"", NULL, "three", CLOSED, 0},
        {"{ kind: cut }",                         0, false, "content-length: ", NULL, "usage", CLOSED, 0},
        {"{ eof: { after_events: 3 } }",          0, true,  "\"content\":\"two \"", "\r\n0\r\n\r\n", "three", CLOSED, 0},
        {"{ stall: { after_events: 2, for: 80ms } }", 1, true, "message_start", "event: message_stop", NULL, CLOSED, 80},
        {"{ stall: 10m }",                        1, true,  "message_start", NULL, "message_stop", STILL_OPEN, 0},
        {"{ pings_only: { for: 80ms, every: 20ms } }", 0, true, ": keep-alive\n\n", "data: [DONE]", NULL, CLOSED, 80},
        {"{ pings_only: { for: 10m, every: 20ms } }",  1, true, "event: ping\n", NULL, "message_start", STILL_OPEN, 0},
        {"{ trickle: 15ms }",                     0, true,  "data: [DONE]", NULL, NULL, CLOSED, 60},
        {"{ slow: 1ms, after_bytes: 3 }",         0, false, "\"usage\"", NULL, NULL, CLOSED, 100},
        {"{ delay: 60ms }",                       0, true,  "data: [DONE]", NULL, NULL, CLOSED, 60},
        {"{ cut_short: true }",                   0, false, "\"finish_reason\":\"length\"", NULL, "four", CLOSED, 0},
        {"{ filtered: true }",                    1, false, "\"stop_reason\":\"refusal\"", NULL, NULL, CLOSED, 0},
    };
    // clang-format on
    rig r;
    heard h;
    rig_up(&r, "");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml, "faults: [ %s ]", rows[i].fault);
        control(&r, "POST", "/chaos/script", yaml, &h);
        assert_true(holds(&h, "{\"ok\":true,\"faults\":1}"));
        call_for(&r, paths[rows[i].wire], plain_body(rows[i].wire, rows[i].stream), rows[i].end ? 5000 : 100, &h);
        if ((rows[i].has && !holds(&h, rows[i].has)) || (rows[i].has_too && !holds(&h, rows[i].has_too)) ||
            (rows[i].lacks && holds(&h, rows[i].lacks)) || h.end != rows[i].end || (h.end && h.took < rows[i].least))
            fail_msg("%s in %s: ended %d after %lld ms with\n%s", rows[i].fault, paths[rows[i].wire], (int)h.end,
                     (long long)h.took, h.text);
    }
    rig_down(&r);
}

static void each_kind_is_survived_in_each_wire_and_counted(void **state)
{
    (void)state;
    rig r;
    heard h;
    for (size_t i = 0; i < nfault_kinds; i++) {
        char yaml[256];
        if (fault_kinds[i].effect == FAULT_REFUSE)
            continue; /* nobody could ask for the report */
        snprintf(yaml, sizeof yaml, "faults: [ { kind: %s, for: 5ms%s } ]", fault_kinds[i].name,
                 fault_kinds[i].effect == FAULT_SLOW || fault_kinds[i].effect == FAULT_TRICKLE ? ", every: 0" : "");
        rig_up(&r, yaml);
        for (int w = 0; w < 6; w++) {
            call_for(&r, paths[w % 3], plain_body(w % 3, w > 2), 5000, &h);
            if (h.end == STILL_OPEN)
                fail_msg("%s in %s never ended", fault_kinds[i].name, paths[w % 3]);
        }
        control(&r, "GET", "/chaos/report", "", &h);
        snprintf(yaml, sizeof yaml, "\"%s\":6", fault_kinds[i].name);
        assert_true(holds(&h, yaml));
        assert_true(holds(&h, "\"calls\":6") && holds(&h, "\"open\":0") && holds(&h, "\"aborted_by_client\":0"));
        rig_down(&r);
    }
}

static void an_answer_can_be_cut_at_each_of_its_bytes(void **state)
{
    (void)state;
    static heard whole;
    rig r;
    heard h;
    rig_up(&r, "faults: [ { kind: cut, after_wire_bytes: 1000000 } ]");
    call_for(&r, CHAT, plain_body(0, true), 2000, &whole);
    assert_true(holds(&whole, "\r\n0\r\n\r\n"));
    for (size_t n = 0; n < whole.n; n += n < 300 ? 1 : 37) {
        char yaml[128];
        snprintf(yaml, sizeof yaml, "faults: [ { kind: %s, after_wire_bytes: %zu } ]", n % 2 ? "reset" : "cut", n);
        control(&r, "POST", "/chaos/script", yaml, &h);
        call_for(&r, CHAT, plain_body(0, true), 2000, &h);
        assert_int_equal(h.end, n % 2 ? WAS_RESET : CLOSED);
        assert_int_equal(h.n, n);
        assert_memory_equal(h.text, whole.text, n);
    }
    rig_down(&r);
}

static void faults_hit_whom_they_name_as_often_as_they_say(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "faults:\n- { model: 'm*', key: sk-test-key, path: /v1/messages, skip: 1, times: 2, kind: overloaded }\n"
               "- { model: other, status: 500 }");
    for (int i = 0; i < 5; i++) {
        call_for(&r, MESSAGES, plain_body(1, false), 2000, &h);
        assert_true(holds(&h, i == 1 || i == 2 ? "HTTP/1.1 529" : "HTTP/1.1 200"));
        call_for(&r, CHAT, plain_body(0, false), 2000, &h);
        assert_true(holds(&h, "HTTP/1.1 200"));
    }
    control(&r, "POST", "/chaos/reset", "", &h);
    call_for(&r, MESSAGES, plain_body(1, false), 2000, &h);
    call_for(&r, MESSAGES, plain_body(1, false), 2000, &h);
    assert_true(holds(&h, "HTTP/1.1 529")); /* a reset lets them begin anew */
    rig_down(&r);
}

static void the_same_seed_throws_the_same_dice(void **state)
{
    (void)state;
    rig r;
    heard h;
    char seen[2][61] = {{0}};
    rig_up(&r, "seed: 7\nfaults: [ { rate: 0.3, kind: [server_error, overloaded] } ]");
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 60; i++) {
            call_for(&r, CHAT, plain_body(0, false), 2000, &h);
            seen[turn][i] = holds(&h, "HTTP/1.1 500") ? '5' : holds(&h, "HTTP/1.1 503") ? '3' : '.';
        }
        control(&r, "POST", "/chaos/reset", "", &h);
    }
    assert_string_equal(seen[0], seen[1]);
    assert_non_null(strchr(seen[0], '5'));
    assert_non_null(strchr(seen[0], '3'));
    assert_non_null(strchr(seen[0], '.'));
    rig_down(&r);
}

/* ---- counts and expectations
 * -------------------------------------------------------------------------------------------- */

static void a_client_that_leaves_is_noticed_and_counted(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "faults: [ { kind: stall, after_events: 1, for: 10m } ]");
    int fd = ask_for(&r, "POST", CHAT, "sk-test-key", plain_body(0, true));
    hear(&r, fd, 50, &h);
    assert_int_equal(h.end, STILL_OPEN);
    control(&r, "POST", "/chaos/mark", "", &h);
    close(fd);
    for (int i = 0; i < 100; i++) {
        control(&r, "GET", "/chaos/report", "", &h);
        if (holds(&h, "\"aborted_by_client\":1"))
            break;
    }
    assert_true(holds(&h, "\"aborted_by_client\":1") && holds(&h, "\"open\":0,"));
    assert_false(holds(&h, "\"noticed_ms\":-1"));
    rig_down(&r);
}

static void expectations_are_judged_at_the_end(void **state)
{
    (void)state;
    rig r;
    heard h;
    char text[4096];
    daruma_buf b = buf_over(text, sizeof text);
    rig_up(&r,
           "faults: [ { times: 1, kind: server_error } ]\n"
           "expect: { calls: { m: '<= 3' }, answered: '>= 1', faults: { server_error: 1 }, max_calls_per_request: 2 }");
    control(&r, "POST", "/chaos/finish", "", &h);
    assert_true(holds(&h, "{\"expected\":\"answered >= 1\",\"was\":0}"));
    assert_int_equal(r.finished, 2);
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    control(&r, "POST", "/chaos/finish", "", &h);
    assert_true(holds(&h, "{\"ok\":true,\"expectations\":4,\"failed\":[]}"));
    assert_int_equal(r.finished, 1);
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    assert_false(chaos_finish(r.chaos, &b));
    assert_true(str_find(buf_str(&b), S("FAILED  max_calls_per_request <= 2; it was 3")) != STR_NONE);
    rig_down(&r);
}

static void a_report_never_holds_a_key(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "keys: { sk-secret-one: { account: a } }");
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    assert_false(holds(&h, "sk-test-key"));
    int fd = ask_for(&r, "POST", CHAT, "sk-secret-one", plain_body(0, false));
    hear(&r, fd, 2000, &h);
    close(fd);
    control(&r, "GET", "/chaos/report", "", &h);
    assert_true(holds(&h, "\"keys\":{\"another key\":1,\"key1\":1}"));
    rig_down(&r);
}

/* ---- scripts
 * ------------------------------------------------------------------------------------------------------------ */

static void errors_in_scripts_say_where_and_what_was_meant(void **state)
{
    (void)state;
    // clang-format off
    static const struct { const char *yaml; int line, column; const char *text; } rows[] = {
        {"fault: []",                                  1, 1,  "unknown key `fault`; did you mean `faults`?"},
        {"faults:\n- { kind: rate_limt }",             2, 11, "unknown kind `rate_limt`; did you mean `rate_limit`?"},
        {"faults:\n- { kind: quota, tims: 2 }",        2, 18, "unknown key `tims`; did you mean `times`?"},
        {"faults:\n- { kind: quota, times: some }",    2, 25, "expected a whole number from 0 on, found \"some\""},
        {"faults:\n- { times: 2 }",                    2, 3,  "a fault wants a `kind`; `daruma chaos --list` prints them"},
        {"faults:\n- { rate: 1.5, kind: quota }",      2, 11, "expected a number like 1.5 from 0 to 1, found \"1.5\"; it is too large"},
        {"faults:\n- { stall: { for: soon } }",        2, 19, "expected a duration like 5s, or 0, found \"soon\"; write it like 500ms, 5s or 1m30s"},
        {"faults:\n- { cut: { after: 3 } }",           2, 12, "unknown key `after`; did you mean `after_events`?"},
        {"faults:\n- { cut: { zebra: 3 } }",           2, 12, "unknown key `zebra`; known here: kind, model, key, account, path, stream, asks, skip, times, rate, status, headers, message, form, in_band, after_events, after_bytes, after_wire_bytes, ..."},
        {"faults:\n- { empty: all }",                  2, 3,  "`empty` has no form `all`; it has stream, choices, text, body"},
        {"faults:\n- { html: 42 }",                    2, 11, "expected a whole number from 200 to 599, found \"42\"; it is too small"},
        {"faults: { kind: quota }",                    1, 9,  "expected a list, found a mapping; begin each element with \"- \""},
        {"models: { m: { windw: 1 } }",                1, 16, "unknown key `windw`; did you mean `window`?"},
        {"keys: [ a ]",                                1, 7,  "expected a mapping like { key: { account: a } }, found a list"},
        {"expect: { call: 3 }",                        1, 11, "unknown expectation `call`; did you mean `calls`?"},
        {"expect: { calls: '~ 3' }",                   1, 18, "`calls` wants something like \"<= 3\", not `~ 3`"},
        {"expect: { aborted: { m: 3 } }",              1, 20, "`aborted` is not counted one by one"},
        {"expect: { faults: { rate_limt: '<= 3' } }",  1, 21, "unknown kind `rate_limt`; did you mean `rate_limit`?"},
        {"expect: { refused: { zebra: 0 } }",          1, 22, "unknown refusal `zebra`; known here: orphan_tool_call, orphan_tool_result, invalid_message, invalid_tool_schema, invalid_parameter, not_stored, auth, model_not_found, invalid_request, ..."},
        {"expect: { asks: { turns: 1 } }",             1, 19, "unknown purpose `turns`; did you mean `turn`?"},
        {"expect: { statuses: { '4x9': 0 } }",         1, 23, "`4x9` is no HTTP status"},
        {"faults: [ {",                                2, 1,  NULL},
        {"faults:\n- { kind: quota, times: 1, times: 2 }", 2, 28, "the key `times` stands here twice, first in line 2; remove one"},
        {"faults:\n- { delay: 500 }",                 2, 12, "expected a duration like 5s, or 0, found \"500\"; add a unit, e.g. 5s"},
        {"faults:\n- { kind: refuse, model: m }",     2, 3,  "`refuse` stands alone: a connection has no model, key or path yet"},
        {"- 1",                                        1, 1,  "expected options like `faults:`, found a list"},
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(rows); i++) {
        conf_mistakes err;
        script *s = script_read(str_of(rows[i].yaml), NULL, &err);
        if (s)
            fail_msg("%s was accepted", rows[i].yaml);
        if (rows[i].text)
            assert_string_equal(mistake(&err), rows[i].text);
        if (rows[i].text)
            assert_int_equal(err.at[0].column, rows[i].column);
        assert_int_equal(err.at[0].line, rows[i].line);
    }
}

static void the_example_is_read_and_so_is_each_part_of_it_without_harm(void **state)
{
    (void)state;
    daruma_arena a = arena_over(arena_room, sizeof arena_room);
    daruma_str yaml;
    char why[256];
    conf_mistakes err;
    if (!sys_read_file("examples/chaos.yaml", 1 << 16, &a, &yaml, why))
        fail_msg("%s", why);
    script *s = script_read(yaml, NULL, &err);
    if (!s)
        fail_msg("%d:%d: %s", err.at[0].line, err.at[0].column, mistake(&err));
    assert_int_equal(s->nmodels, 2);
    assert_true(s->nfaults >= 10);
    assert_int_equal(s->faults[0].line > 1, 1);
    script_drop(s);
    for (size_t n = 0; n < yaml.n; n++)
        script_drop(script_read(str_sub(yaml, 0, n), NULL, &err));
}

static void a_new_script_keeps_what_it_does_not_name(void **state)
{
    (void)state;
    rig r;
    heard h;
    rig_up(&r, "models: { m: { window: 3 } }\nfaults: [ { kind: quota } ]");
    control(&r, "POST", "/chaos/script", "seed: 3", &h);
    call_for(&r, CHAT, plain_body(0, false), 2000, &h);
    assert_true(holds(&h, "maximum context length is 3 tokens"));
    control(&r, "POST", "/chaos/script", "faults: [ { kin: quota } ]", &h);
    assert_true(holds(&h, "HTTP/1.1 400") && holds(&h, "did you mean `kind`?\",\"line\":1,\"column\":13"));
    rig_down(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_wires_echo_what_is_asked_streaming_and_not),
        cmocka_unit_test(tools_that_are_named_are_called_with_arguments_that_fit),
        cmocka_unit_test(results_of_tools_are_named_in_the_answer),
        cmocka_unit_test(an_answer_that_is_too_long_stops_at_its_limit_and_says_so),
        cmocka_unit_test(an_asked_schema_is_kept),
        cmocka_unit_test(requests_are_refused_in_the_providers_words),
        cmocka_unit_test(paired_calls_and_roles_in_a_row_are_accepted),
        cmocka_unit_test(keys_models_and_paths_are_checked_over_the_wire),
        cmocka_unit_test(every_fault_does_on_the_wire_what_it_says),
        cmocka_unit_test(each_kind_is_survived_in_each_wire_and_counted),
        cmocka_unit_test(an_answer_can_be_cut_at_each_of_its_bytes),
        cmocka_unit_test(faults_hit_whom_they_name_as_often_as_they_say),
        cmocka_unit_test(the_same_seed_throws_the_same_dice),
        cmocka_unit_test(a_client_that_leaves_is_noticed_and_counted),
        cmocka_unit_test(expectations_are_judged_at_the_end),
        cmocka_unit_test(a_report_never_holds_a_key),
        cmocka_unit_test(errors_in_scripts_say_where_and_what_was_meant),
        cmocka_unit_test(the_example_is_read_and_so_is_each_part_of_it_without_harm),
        cmocka_unit_test(a_new_script_keeps_what_it_does_not_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
