#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char mem[1 << 20];
static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic};
#define EACH(d)                                                                                                        \
    for (size_t i_ = 0; i_ < 3; i_++)                                                                                  \
        for (const dialect *d = all[i_]; d; d = NULL)

/* ---- which path, which name ---- */

static void a_path_tells_its_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const dialect *d;
    } rows[] = {
        {"/v1/chat/completions", &dialect_openai},
        {"/chat/completions", &dialect_openai},
        {"/openai/v1/chat/completions", &dialect_openai},
        {"/openai/deployments/x/chat/completions?api-version=1", &dialect_openai},
        {"/v1/messages", &dialect_anthropic},
        {"/v1/messages?beta=true", &dialect_anthropic},
        {"/messages", &dialect_anthropic},
        {"/anthropic/v1/messages", &dialect_anthropic},
        {"/v1/responses", &dialect_openai_responses},
        {"/openai/responses", &dialect_openai_responses},
        {"/v1/messages/count_tokens", NULL},
        {"/v1/messages/batches", NULL},
        {"/v1/responses/resp_1", NULL},
        {"/v1/responses/resp_1/cancel", NULL},
        {"/v1/chat/completions/chatcmpl_1", NULL},
        {"/v1/threads/thread_1/messages", NULL},
        {"/v1/chat/completions/chatcmpl_1/messages", NULL},
        {"/v1/models", NULL},
        {"/v1/models?x=/v1/messages", NULL},
        {"/v1/xmessages", NULL},
        {"/", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (dialect_of_path(str_of(rows[i].path)) != rows[i].d)
            fail_msg("%s", rows[i].path);
}

static void a_dialect_is_found_by_its_name(void **state)
{
    (void)state;
    EACH(d) assert_ptr_equal(dialect_find(str_of(d->name)), d);
    assert_ptr_equal(dialect_find(S("gemini")), &dialect_gemini);
    assert_null(dialect_find(S("google")));
    assert_null(dialect_find(S("")));
}

/* ---- requests ---- */

static void a_chat_request_is_scanned(void **state)
{
    (void)state;
    request_scan r = dialect_openai.scan(
        S(" {\"model\":\"gpt-5\",\"stream\":true,\"max_completion_tokens\":77,\"tools\":[{}],"
          "\"response_format\":{\"type\":\"json_schema\"},\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n"),
        NULL, false);
    assert_true(r.ok && r.stream && r.tools && r.schema && r.has_user);
    assert_false(r.remote);
    assert_str(r.model, "gpt-5");
    assert_str(r.model_raw, "\"gpt-5\"");
    assert_str(r.messages, "[{\"role\":\"user\",\"content\":\"hi\"}]");
    assert_int_equal(r.max_output, 77);
    assert_true(r.conversation != 0);
}

static void an_empty_request_says_nothing(void **state)
{
    (void)state;
    EACH(d)
    {
        request_scan r = d->scan(S("{}"), NULL, false);
        assert_true(r.ok);
        assert_false(r.stream || r.tools || r.schema || r.remote || r.has_user);
        assert_int_equal(r.max_output, -1);
        assert_int_equal(r.conversation, 0);
        assert_int_equal(r.model_raw.n, 0);
        r = d->scan(
            S("{\"tools\":[ ],\"response_format\":{\"type\":\"text\"},\"text\":{\"format\":{\"type\":\"text\"}},"
              "\"previous_response_id\":null,\"stream\":\"true\",\"messages\":[],\"input\":[]}"),
            NULL, false);
        assert_true(r.ok);
        assert_false(r.stream || r.tools || r.schema || r.remote || r.has_user);
    }
}

static void of_two_models_the_last_counts(void **state)
{
    (void)state;
    daruma_str body = S("{\"model\":\"a\",\"mod\\u0065l\":\"b\"}");
    EACH(d)
    {
        request_scan r = d->scan(body, NULL, false);
        assert_str(r.model, "b");
        assert_ptr_equal(r.model_raw.p, body.p + str_find(body, S("\"b\"")));
        assert_int_equal(r.nmodels, 2);
        assert_int_equal(d->scan(S("{\"model\":\"a\",\"model\":7}"), NULL, false).model_raw.n, 0);
    }
}

static void what_is_not_one_object_is_not_ok(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",           " ",          "[]",          "\"x\"",         "{",   "{}x",           "{}{}",
        "{\"a\":1",   "{\"a\":1}}", "{\"a\"}",     "{\"a\":1,}",    "x{}", "{\"a\":[1 2]}", "nul",
        "{\"a\":\"x", "{\"a\":{}",  "{\"a\":tru}", "\xef\xbb\xbf{}"};
    EACH(d)
    for (size_t i = 0; i < COUNT(bad); i++)
        if (d->scan(str_of(bad[i]), NULL, false).ok !=
            (i == 12)) /* the inside of members is not looked at: the provider will */
            fail_msg("%s: %s", d->name, bad[i]);
}

/* Behind the first message of the user, in tools and in members that nobody asks for as well. */
static void a_strict_scan_looks_at_each_byte(void **state)
{
    (void)state;
    static const char *const inside[] = {"1",        "\"\\u00e9\"", "{\"a\":[1,{}]}", "[1 2]",    "\"\\x\"", "\"\x01\"",
                                         "{a:1}",    "[1}",         "{\"a\":1,}",     "[/*\"*/]", "tru",     "01",
                                         "{\"a\" 1}"};
    enum { GOOD = 3 };
    static const char *const around[] = {
        "{\"model\":\"m\",\"x\":%s}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"x\":%s}],\"model\":\"m\"}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"text\":\"a\",\"x\":%s}],\"x\":2}],\"model\":\"m\"}",
        "{\"tools\":[{\"type\":\"function\",\"function\":{\"x\":%s}}],\"model\":\"m\"}",
        "{\"input\":[{\"x\":%s},{}],\"model\":\"m\"}",
        "{\"contents\":[{\"parts\":[{\"x\":%s}]},{}],\"model\":\"m\"}",
        "{\"system\":[{\"x\":%s}],\"model\":\"m\"}",
        "{\"systemInstruction\":{\"x\":%s},\"model\":\"m\"}"};
    EACH(d)
    for (size_t k = 0; k < COUNT(around); k++)
        for (size_t i = 0; i < COUNT(inside); i++) {
            char body[256];
            snprintf(body, sizeof body, around[k], inside[i]);
            request_scan strict = d->scan(str_of(body), NULL, true), quick = d->scan(str_of(body), NULL, false);
            if (strict.ok != (i < GOOD) || (strict.ok && (strict.conversation != quick.conversation ||
                                                          strict.nmodels != 1 || !str_eq(strict.model, S("m")))))
                fail_msg("%s: %s", d->name, body);
        }
}

static void a_scan_for_the_model_finds_that_alone(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[1]",
                                      "[{\"model\":\"m\"}]",
                                      "{\"model\":\"m\"}{}",
                                      "{\"model\":\"m\",\"x\":[1 2]}",
                                      "\xef\xbb\xbf{\"model\":\"m\"}"};
    request_scan r = dialect_scan_model(S(" {\"messages\":[{\"role\":\"user\"},{}],\"input\":[{}],\"tools\":[{}],"
                                          "\"m\\u006fdel\":\"m\\/1\",\"x\":{\"model\":2}}\n"));
    assert_true(r.ok);
    assert_int_equal(r.nmodels, 1);
    assert_str(r.model_raw, "\"m\\/1\"");
    assert_int_equal(r.nmessages, 0);
    assert_false(r.tools);
    r = dialect_scan_model(S("{\"model\":\"a\",\"\\u006Dodel\":\"b\",\"Model\":\"c\"}"));
    assert_true(r.ok);
    assert_int_equal(r.nmodels, 2);
    for (size_t i = 0; i < COUNT(bad); i++)
        if (dialect_scan_model(str_of(bad[i])).ok)
            fail_msg("%s", bad[i]);
}

static void a_conversation_keeps_its_hash_as_it_grows(void **state)
{
    (void)state;
    uint64_t first =
        dialect_openai
            .scan(S("{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":"
                    "\"hi\"}]}"),
                  NULL, false)
            .conversation;
    uint64_t later =
        dialect_openai
            .scan(S("{\"messages\":[{\"content\":[{\"text\":\"s\",\"type\":\"text\"}],\"role\":\"system\"},"
                    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\",\"cache_control\":"
                    "{}}]},{\"role\":\"assistant\",\"content\":\"x\"},{\"role\":\"user\",\"content\":\"y\"}]}"),
                  NULL, false)
            .conversation;
    uint64_t other =
        dialect_openai
            .scan(S("{\"messages\":[{\"role\":\"system\",\"content\":\"t\"},{\"role\":\"user\",\"content\":\"hi\"}]}"),
                  NULL, false)
            .conversation;
    assert_true(first == later);
    assert_true(first != other);
    uint64_t a = dialect_anthropic
                     .scan(S("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"system\":\"s\"}"), NULL, false)
                     .conversation;
    uint64_t b = dialect_anthropic
                     .scan(S("{\"system\":[{\"type\":\"text\",\"text\":\"s\"}],\"messages\":[{\"role\":\"user\","
                             "\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[]}]}"),
                           NULL, false)
                     .conversation;
    assert_true(a == b && a != 0);
    uint64_t c =
        dialect_openai_responses.scan(S("{\"input\":\"hi\",\"instructions\":\"s\"}"), NULL, false).conversation;
    uint64_t e =
        dialect_openai_responses
            .scan(S("{\"input\":[{\"role\":\"user\",\"content\":\"hi\"}],\"instructions\":\"s\"}"), NULL, false)
            .conversation;
    assert_true(c == e && c != 0);
}

static void what_lives_on_the_server_pins_the_account(void **state)
{
    (void)state;
    static const char *const pinned[] = {
        "{\"previous_response_id\":\"resp_1\"}",
        "{\"conversation\":\"conv_1\"}",
        "{\"conversation\":{\"id\":\"conv_1\"}}",
        "{\"prompt\":{\"id\":\"pmpt_1\"}}",
        "{\"input\":[{\"role\":\"user\",\"content\":\"x\"},{\"type\":\"item_reference\",\"id\":\"msg_1\"}]}",
        "{\"input\":[{\"id\":\"rs_1\",\"type\":\"reasoning\",\"encrypted_content\":\"x\"}]}",
    };
    for (size_t i = 0; i < COUNT(pinned); i++)
        if (!dialect_openai_responses.scan(str_of(pinned[i]), NULL, false).remote)
            fail_msg("%s", pinned[i]);
    assert_false(
        dialect_openai_responses.scan(S("{\"input\":[{\"type\":\"message\",\"role\":\"user\"}]}"), NULL, false).remote);
    assert_false(
        dialect_openai_responses.scan(S("{\"previous_response_id\":null,\"reasoning\":{}}"), NULL, false).remote);
    assert_true(dialect_anthropic.scan(S("{\"container\":\"c_1\"}"), NULL, false).remote);
    assert_false(dialect_anthropic.scan(S("{\"container\":{\"skills\":[]}}"), NULL, false).remote);
    request_scan kept = dialect_anthropic.scan(S("{\"thread\":{\"type\":\"create\"}}"), NULL, false);
    assert_true(kept.keeps && !kept.remote && !kept.remote_id);
    kept = dialect_anthropic.scan(S("{\"thread\":{\"type\":\"continue\",\"previous_message_id\":\"msg_1\"}}"), NULL,
                                  false);
    assert_true(kept.keeps && kept.remote && kept.remote_id);
    kept = dialect_anthropic.scan(S("{\"thread\":null}"), NULL, false);
    assert_false(kept.keeps || kept.remote);
}

static void what_a_request_goes_on_from_is_told_by_its_id(void **state)
{
    (void)state;
    request_scan a = dialect_openai_responses.scan(
        S("{\"prompt\":{\"id\":\"pmpt_1\"},\"previous_response_id\":\"resp_1\",\"input\":\"x\"}"), NULL, false);
    request_scan b = dialect_openai_responses.scan(
        S("{\"store\":false,\"previous_response_id\":\"resp_1\",\"prompt\":{\"id\":\"pmpt_1\"}}"), NULL, false);
    request_scan c =
        dialect_openai_responses.scan(S("{\"conversation\":{\"id\":\"resp_1\"},\"store\":null}"), NULL, false);
    request_scan d = dialect_openai_responses.scan(S("{\"prompt\":{\"id\":\"pmpt_1\"},\"input\":\"x\"}"), NULL, false);
    assert_true(a.before && a.before == b.before && a.before == c.before);
    assert_true(a.remote_id == a.before && b.remote_id == b.before); /* not the template's */
    assert_true(c.conversing && !a.conversing);
    assert_true(b.unstored && !a.unstored && !c.unstored);
    assert_true(!d.before && d.remote_id && d.remote);
    assert_true(dialect_openai_responses.scan(S("{\"conversation\":{\"id\":\"\"}}"), NULL, false).before == 0);
    assert_true(dialect_gemini.scan(S("{\"cachedContent\":\"cachedContents/1\"}"), NULL, false).before == 0);
}

static void a_format_is_asked_for_in_three_ways(void **state)
{
    (void)state;
    assert_true(dialect_openai.scan(S("{\"response_format\":{\"type\":\"json_object\"}}"), NULL, false).schema);
    assert_true(
        dialect_openai_responses.scan(S("{\"text\":{\"format\":{\"type\":\"json_schema\"}}}"), NULL, false).schema);
    assert_true(
        dialect_anthropic.scan(S("{\"output_config\":{\"format\":{\"type\":\"json_schema\"}}}"), NULL, false).schema);
    assert_false(dialect_anthropic.scan(S("{\"output_config\":{\"effort\":\"high\"}}"), NULL, false).schema);
}

/* ---- whole answers ---- */

typedef struct answer_row {
    const char *body;
    daruma_flaw flaw;
    const char *finish;
} answer_row;

static void judged(const dialect *d, const answer_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        answer_view v = dialect_check(d, str_of(rows[i].body));
        if (v.flaw != rows[i].flaw || !str_eq(v.finish, str_of(rows[i].finish)))
            fail_msg("%s: flaw %d, finish " STR_FMT ": %s", d->name, (int)v.flaw, STR_ARG(v.finish), rows[i].body);
    }
}
#define JUDGED(d, rows)       judged(d, rows, COUNT(rows))

#define CHAT(message, finish) "{\"choices\":[{\"index\":0,\"message\":" message ",\"finish_reason\":" finish "}]}"

static void chat_answers_are_checked(void **state)
{
    (void)state;
    static const answer_row rows[] = {
        {CHAT("{\"role\":\"assistant\",\"content\":\"hi\"}", "\"stop\""), DARUMA_FLAW_NONE, "stop"},
        {CHAT("{\"content\":null,\"tool_calls\":[{\"id\":\"c\"}]}", "\"tool_calls\""), DARUMA_FLAW_NONE, "tool_calls"},
        {CHAT("{\"content\":null,\"function_call\":{\"name\":\"f\"}}", "\"function_call\""), DARUMA_FLAW_NONE,
         "function_call"},
        {CHAT("{\"content\":null,\"refusal\":\"no\"}", "\"stop\""), DARUMA_FLAW_NONE, "stop"},
        {CHAT("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}", "\"stop\""), DARUMA_FLAW_NONE, "stop"},
        {CHAT("{\"content\":null,\"audio\":{\"id\":\"a\"}}", "\"stop\""), DARUMA_FLAW_NONE, "stop"},
        {CHAT("{\"content\":\"\"}", "\"content_filter\""), DARUMA_FLAW_NONE, "content_filter"},
        {CHAT("{\"content\":\"\"}", "\"length\""), DARUMA_FLAW_NONE, "length"},
        {CHAT("{\"content\":\"hi\"}", "null"), DARUMA_FLAW_NONE, ""},
        {CHAT("{\"content\":\"\"}", "\"stop\""), DARUMA_FLAW_EMPTY, "stop"},
        {CHAT("{\"content\":null}", "\"stop\""), DARUMA_FLAW_EMPTY, "stop"},
        {CHAT("{\"content\":null,\"tool_calls\":[]}", "\"tool_calls\""), DARUMA_FLAW_EMPTY, "tool_calls"},
        {CHAT("{\"content\":null,\"reasoning_content\":\"hm\"}", "\"stop\""), DARUMA_FLAW_EMPTY, "stop"},
        {"{\"choices\":[]}", DARUMA_FLAW_EMPTY, ""},
        {"{\"choices\":null}", DARUMA_FLAW_EMPTY, ""},
        {"{\"choices\":[{\"index\":0}]}", DARUMA_FLAW_BROKEN, ""},
        {"{\"choices\":[3]}", DARUMA_FLAW_BROKEN, ""},
        {"{\"choices\":{}}", DARUMA_FLAW_BROKEN, ""},
        {"{\"error\":{\"message\":\"overloaded\"}}", DARUMA_FLAW_ERROR_EVENT, ""},
        {"{\"error\":\"overloaded\"}", DARUMA_FLAW_ERROR_EVENT, ""},
        {"{\"object\":\"error\",\"message\":\"m\",\"code\":400}", DARUMA_FLAW_ERROR_EVENT, ""},
        {"{\"error\":null,\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}",
         DARUMA_FLAW_NONE, "stop"},
        {"{\"choices\":[{\"error\":{\"code\":502},\"finish_reason\":\"error\"}]}", DARUMA_FLAW_ERROR_EVENT, "error"},
        {"{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"abort\"}]}", DARUMA_FLAW_ERROR_EVENT,
         "abort"},
        {"{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"new_one\"}]}", DARUMA_FLAW_NONE,
         "new_one"},
        {"{\"choices\":[{\"message\":{\"content\":\"x\"}}]", DARUMA_FLAW_BROKEN, ""},
        {"<html><body>502</body></html>", DARUMA_FLAW_BROKEN, ""},
        {"", DARUMA_FLAW_BROKEN, ""},
        {"[]", DARUMA_FLAW_BROKEN, ""},
        {"{}", DARUMA_FLAW_BROKEN, ""},
        {"{\"detail\":\"Not Found\"}", DARUMA_FLAW_BROKEN, ""},
    };
    JUDGED(&dialect_openai, rows);
    answer_view v =
        dialect_check(&dialect_openai, S("\n\n{\"choices\":[{\"message\":{\"content\":\"x\",\"tool_calls\":[{}]},"
                                         "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,"
                                         "\"completion_tokens\":3}}\n"));
    assert_true(v.text && v.calls && v.flaw == DARUMA_FLAW_NONE);
    assert_int_equal(v.input_tokens, 12);
    assert_int_equal(v.output_tokens, 3);
}

#define MESSAGE(content, stop) "{\"type\":\"message\",\"content\":" content ",\"stop_reason\":" stop "}"

static void anthropic_answers_are_checked(void **state)
{
    (void)state;
    static const answer_row rows[] = {
        {MESSAGE("[{\"type\":\"text\",\"text\":\"hi\"}]", "\"end_turn\""), DARUMA_FLAW_NONE, "end_turn"},
        {MESSAGE("[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}]", "\"tool_use\""),
         DARUMA_FLAW_NONE, "tool_use"},
        {MESSAGE("[{\"type\":\"server_tool_use\",\"id\":\"t\"}]", "\"pause_turn\""), DARUMA_FLAW_NONE, "pause_turn"},
        {MESSAGE("[]", "\"refusal\""), DARUMA_FLAW_NONE, "refusal"},
        {MESSAGE("[]", "\"max_tokens\""), DARUMA_FLAW_NONE, "max_tokens"},
        {MESSAGE("[]", "\"end_turn\""), DARUMA_FLAW_EMPTY, "end_turn"},
        {MESSAGE("[]", "null"), DARUMA_FLAW_EMPTY, ""},
        {MESSAGE("null", "\"end_turn\""), DARUMA_FLAW_EMPTY, "end_turn"},
        {MESSAGE("[{\"type\":\"text\",\"text\":\"\"}]", "\"end_turn\""), DARUMA_FLAW_EMPTY, "end_turn"},
        {MESSAGE("[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"s\"}]", "\"end_turn\""),
         DARUMA_FLAW_EMPTY, "end_turn"},
        {"{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
         DARUMA_FLAW_ERROR_EVENT, ""},
        {"{\"type\":\"message\"}", DARUMA_FLAW_BROKEN, ""},
        {"{\"completion\":\"x\"}", DARUMA_FLAW_BROKEN, ""},
        {MESSAGE("[{\"type\":\"text\",\"text\":\"hi\"}", "\"end_turn\""), DARUMA_FLAW_BROKEN, ""},
        {"<!doctype html>", DARUMA_FLAW_BROKEN, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].flaw != DARUMA_FLAW_BROKEN)
            judged(&dialect_anthropic, rows + i, 1);
        else
            assert_int_equal(dialect_check(&dialect_anthropic, str_of(rows[i].body)).flaw, DARUMA_FLAW_BROKEN);
    answer_view v = dialect_check(
        &dialect_anthropic,
        S("{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":"
          "5,"
          "\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":null,\"output_tokens\":7}}"));
    assert_int_equal(v.input_tokens, 105);
    assert_int_equal(v.output_tokens, 7);
}

#define RESPONSE(status, output)                                                                                       \
    "{\"object\":\"response\",\"status\":\"" status "\",\"error\":null,\"output\":" output "}"
#define SAYS_HI "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"}]}"

static void responses_answers_are_checked(void **state)
{
    (void)state;
    static const answer_row rows[] = {
        {RESPONSE("completed", "[" SAYS_HI "]"), DARUMA_FLAW_NONE, "completed"},
        {RESPONSE("completed", "[{\"type\":\"function_call\",\"name\":\"f\"}]"), DARUMA_FLAW_NONE, "completed"},
        {RESPONSE("completed", "[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}]"),
         DARUMA_FLAW_NONE, "completed"},
        {RESPONSE("incomplete", "[" SAYS_HI "]"), DARUMA_FLAW_NONE, "incomplete"},
        {RESPONSE("queued", "[]"), DARUMA_FLAW_NONE, "queued"},
        {RESPONSE("completed", "[]"), DARUMA_FLAW_EMPTY, "completed"},
        {RESPONSE("completed", "null"), DARUMA_FLAW_EMPTY, "completed"},
        {RESPONSE("completed", "[{\"type\":\"reasoning\",\"summary\":[]}]"), DARUMA_FLAW_EMPTY, "completed"},
        {RESPONSE("failed", "[]"), DARUMA_FLAW_ERROR_EVENT, "failed"},
        {"{\"error\":{\"message\":\"m\"}}", DARUMA_FLAW_ERROR_EVENT, ""},
        {"{\"id\":\"x\"}", DARUMA_FLAW_BROKEN, ""},
        {"upstream connect error", DARUMA_FLAW_BROKEN, ""},
        {"{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[]}",
         DARUMA_FLAW_NONE, "max_output_tokens"},
    };
    JUDGED(&dialect_openai_responses, rows);
}

/* ---- streams ---- */

static stream_view watched(const dialect *d, const char *stream)
{
    stream_view v = {0};
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_str rest = str_of(stream);
    sse_event e;
    while (sse_next(&rest, &e, &a))
        dialect_watch(d, &v, &e);
    assert_int_equal(rest.n, 0);
    return v;
}

#define DELTA(delta, finish) "data: {\"choices\":[{\"index\":0,\"delta\":" delta ",\"finish_reason\":" finish "}]}\n\n"
#define ROLE                 DELTA("{\"role\":\"assistant\",\"content\":\"\"}", "null")

static void a_chat_stream_is_followed_to_its_end(void **state)
{
    (void)state;
    stream_view v = watched(
        &dialect_openai,
        ROLE DELTA("{\"content\":\"hi\"}", "null")
            DELTA("{}", "\"stop\"") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n"
                                    "data: [DONE]\n\n");
    assert_true(v.began && v.content && v.finished && v.done);
    assert_false(v.error || v.broken);
    assert_string_equal(v.finish, "stop");
    assert_int_equal(v.input_tokens, 9);
    assert_int_equal(v.output_tokens, 2);
}

static void chat_content_begins_with_what_says_something(void **state)
{
    (void)state;
    static const char *const quiet[] = {
        ROLE,
        DELTA("{}", "null"),
        DELTA("{\"content\":null}", "null"),
        DELTA("{\"tool_calls\":[]}", "null"),
        DELTA("{\"reasoning\":null,\"reasoning_details\":[]}", "null"),
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\n\n",
        "data: {\"choices\":[],\"prompt_filter_results\":[{}]}\n\n",
        ": OPENROUTER PROCESSING\n\n",
        "data: {\"type\":\"something.new\"}\n\n",
        "data: [DONE]\n\n",
        DELTA("{}", "\"stop\""),
    };
    static const char *const loud[] = {
        DELTA("{\"content\":\" \"}", "null"),
        DELTA("{\"refusal\":\"no\"}", "null"),
        DELTA("{\"reasoning_content\":\"hm\"}", "null"),
        DELTA("{\"reasoning\":\"hm\"}", "null"),
        DELTA("{\"content\":\"\",\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":"
              "\"\"}}]}",
              "null"),
        DELTA("{\"function_call\":{\"name\":\"f\"}}", "null"),
        DELTA("{\"audio\":{\"data\":\"x\"}}", "null"),
    };
    for (size_t i = 0; i < COUNT(quiet); i++)
        if (watched(&dialect_openai, quiet[i]).content || watched(&dialect_openai, quiet[i]).broken)
            fail_msg("content: %s", quiet[i]);
    for (size_t i = 0; i < COUNT(loud); i++)
        if (!watched(&dialect_openai, loud[i]).content)
            fail_msg("no content: %s", loud[i]);
}

/* A stop reason is the end of the words where it stands behind them, alone, and none follow. */
static void a_stream_has_settled_behind_its_words_and_a_stop_reason(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        bool settled;
        const char *stream;
    } rows[] = {
        {&dialect_openai, true, ROLE DELTA("{\"content\":\"a\"}", "null") DELTA("{}", "\"stop\"")},
        {&dialect_openai, true,
         DELTA("{\"content\":\"a\"}", "null") DELTA("{}", "\"stop\"") "data: {\"choices\":[],\"usage\":{}}\n\n"},
        {&dialect_openai, false, DELTA("{\"content\":\"a\"}", "null") DELTA("{}", "null")},
        {&dialect_openai, false, DELTA("{\"content\":\"a\"}", "\"stop\"")},
        {&dialect_openai, true, DELTA("{\"content\":\"a\"}", "null") DELTA("{\"content\":\"b\"}", "\"stop\"")},
        {&dialect_openai, false, DELTA("{\"content\":\"a\"}", "\"stop\"") DELTA("{\"content\":\"b\"}", "\"stop\"")},
        {&dialect_openai, false,
         DELTA("{\"content\":\"a\"}", "null") DELTA("{\"content\":\"b\"}", "\"stop\"")
             DELTA("{\"content\":\"c\"}", "\"stop\"")},
        {&dialect_openai, false, /* the other answer goes on */
         DELTA("{\"content\":\"a\"}",
               "null") "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n"
                       "data: "
                       "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\n"},
        {&dialect_openai, false, DELTA("{}", "\"stop\"")},
        {&dialect_openai, false, DELTA("{\"reasoning_content\":\"a\"}", "null") DELTA("{}", "\"stop\"")},
        {&dialect_openai, false,
         DELTA("{\"content\":\"a\"}", "null") DELTA("{}", "\"stop\"") DELTA("{\"content\":\"b\"}", "null")},
        {&dialect_anthropic, true,
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
         "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"},
        {&dialect_anthropic, false,
         "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
         "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (watched(rows[i].d, rows[i].stream).settled != rows[i].settled)
            fail_msg("%s", rows[i].stream);
}

static void errors_within_a_stream_are_seen(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *stream, *body;
    } rows[] = {
        {&dialect_openai, "data: {\"error\":{\"message\":\"m\"}}\n\n", "{\"error\":{\"message\":\"m\"}}"},
        {&dialect_openai, "event: error\ndata: overloaded\n\n", "overloaded"},
        {&dialect_openai, "error: {\"code\":500}\n\n", "{\"code\":500}"},
        {&dialect_openai, "data: {\"object\":\"error\",\"message\":\"m\"}\n\n",
         "{\"object\":\"error\",\"message\":\"m\"}"},
        {&dialect_openai,
         "data: "
         "{\"error\":{\"code\":502},\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n",
         "{\"error\":{\"code\":502},\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}"},
        {&dialect_openai, DELTA("{}", "\"error\""),
         "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}"},
        {&dialect_openai, DELTA("{}", "\"network_error\""),
         "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"network_error\"}]}"},
        {&dialect_anthropic, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}"},
        {&dialect_anthropic, "data: {\"type\":\"error\",\"message\":\"m\"}\n\n",
         "{\"type\":\"error\",\"message\":\"m\"}"},
        {&dialect_openai_responses, "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}\n\n",
         "{\"type\":\"error\",\"code\":\"server_error\",\"message\":\"m\"}"},
        {&dialect_openai_responses,
         "event: response.failed\ndata: "
         "{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"x\"}}}\n\n",
         "{\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"x\"}}}"},
        {&dialect_openai_responses,
         "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"failed\",\"output\":[]}}\n\n",
         "{\"type\":\"response.completed\",\"response\":{\"status\":\"failed\",\"output\":[]}}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        stream_view v = watched(rows[i].d, rows[i].stream);
        if (!v.error || v.content || v.broken)
            fail_msg("%s", rows[i].stream);
        assert_str(v.error_body, rows[i].body);
    }
}

static void what_is_not_json_is_broken(void **state)
{
    (void)state;
    EACH(d)
    {
        assert_true(watched(d, "data: <html>\n\n").broken);
        assert_true(watched(d, "data: {\"a\":\n\n").broken);
        assert_true(watched(d, "data: 7\n\n").broken);
        assert_false(watched(d, "event: new\ndata: {\"type\":\"new\"}\n\n").broken);
        assert_false(watched(d, "data: {\"type\":\"new\"}\n\n").content);
    }
}

static void pings_are_not_progress(void **state)
{
    (void)state;
    EACH(d)
    {
        assert_true(watched(d, ": keep-alive\n\n").ping);
        assert_true(watched(d, "\n").ping);
        assert_true(watched(d, "event: ping\ndata: {\"type\":\"ping\"}\n\n").ping);
        assert_false(watched(d, ": keep-alive\n\n").began);
        char mine[64] = {0};
        memcpy(mine, d->heartbeat.p, d->heartbeat.n);
        assert_true(watched(d, mine).ping);
    }
    assert_false(watched(&dialect_openai, ": k\n\n" ROLE).ping);
    assert_false(watched(&dialect_anthropic, ": k\n\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n").ping);
}

static void an_anthropic_stream_is_followed_to_its_end(void **state)
{
    (void)state;
#define START                                                                                                          \
    "event: message_start\ndata: "                                                                                     \
    "{\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":4,\"cache_read_input_"        \
    "tokens\":6,\"output_tokens\":1}}}\n\n"
#define BLOCK(block)                                                                                                   \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":" block "}\n\n"
#define BLOCK_DELTA(delta)                                                                                             \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" delta "}\n\n"
    stream_view v = watched(&dialect_anthropic, START BLOCK("{\"type\":\"text\",\"text\":\"\"}"));
    assert_true(v.began);
    assert_false(v.content || v.done || v.finished);
    assert_int_equal(v.input_tokens, 10);
    v = watched(&dialect_anthropic,
                START BLOCK("{\"type\":\"text\",\"text\":\"\"}") BLOCK_DELTA(
                    "{\"type\":\"text_delta\",\"text\":\"hi\"}") "event: content_block_stop\ndata: "
                                                                 "{\"type\":\"content_block_stop\",\"index\":0}\n\n"
                                                                 "event: message_delta\ndata: "
                                                                 "{\"type\":\"message_delta\",\"delta\":{\"stop_"
                                                                 "reason\":\"end_turn\"},"
                                                                 "\"usage\":{\"output_tokens\":15}}\n\nevent: "
                                                                 "message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
    assert_true(v.content && v.done && v.finished);
    assert_string_equal(v.finish, "end_turn");
    assert_int_equal(v.input_tokens, 10);
    assert_int_equal(v.output_tokens, 15);
    assert_true(
        watched(&dialect_anthropic, BLOCK("{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}")).content);
    assert_true(watched(&dialect_anthropic, BLOCK("{\"type\":\"redacted_thinking\",\"data\":\"x\"}")).content);
    assert_false(
        watched(&dialect_anthropic, BLOCK("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}")).content);
    assert_true(watched(&dialect_anthropic, BLOCK_DELTA("{\"type\":\"thinking_delta\",\"thinking\":\"h\"}")).content);
    assert_false(watched(&dialect_anthropic, BLOCK_DELTA("{\"type\":\"text_delta\",\"text\":\"\"}")).content);
}

static void a_responses_stream_is_followed_to_its_end(void **state)
{
    (void)state;
#define EV(type, more) "event: " type "\ndata: {\"type\":\"" type "\",\"sequence_number\":1" more "}\n\n"
#define QUIET                                                                                                          \
    EV("response.created", ",\"response\":{\"status\":\"in_progress\",\"error\":null,\"output\":[]}")                  \
    EV("response.in_progress", ",\"response\":{\"status\":\"in_progress\",\"output\":[]}")                             \
    EV("response.output_item.added", ",\"item\":{\"type\":\"message\",\"content\":[]}")                                \
    EV("response.content_part.added", ",\"part\":{\"type\":\"output_text\",\"text\":\"\"}")
    stream_view v = watched(&dialect_openai_responses, QUIET);
    assert_true(v.began);
    assert_false(v.content || v.done || v.finished || v.error);
    v = watched(&dialect_openai_responses,
                QUIET EV("response.output_text.delta", ",\"delta\":\"hi\"")
                    EV("response.completed", ",\"response\":{\"status\":\"completed\",\"output\":[" SAYS_HI
                                             "],\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}"));
    assert_true(v.content && v.done && v.finished);
    assert_string_equal(v.finish, "completed");
    assert_int_equal(v.output_tokens, 4);
    v = watched(&dialect_openai_responses,
                EV("response.incomplete", ",\"response\":{\"status\":\"incomplete\","
                                          "\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[]}"));
    assert_true(v.done && !v.content && !v.error);
    assert_string_equal(v.finish, "max_output_tokens");
    static const char *const loud[] = {
        EV("response.output_item.added", ",\"item\":{\"type\":\"function_call\",\"name\":\"f\",\"arguments\":\"\"}"),
        EV("response.function_call_arguments.delta", ",\"delta\":\"{\""),
        EV("response.refusal.delta", ",\"delta\":\"no\""),
        EV("response.reasoning_summary_text.delta", ",\"delta\":\"hm\""),
        EV("response.completed", ",\"response\":{\"status\":\"completed\",\"output\":[" SAYS_HI "]}"),
    };
    for (size_t i = 0; i < COUNT(loud); i++)
        assert_true(watched(&dialect_openai_responses, loud[i]).content);
    assert_false(watched(&dialect_openai_responses, EV("response.output_text.delta", ",\"delta\":\"\"")).content);
    assert_false(watched(&dialect_openai_responses,
                         EV("response.output_item.added", ",\"item\":{\"type\":\"reasoning\",\"summary\":[]}"))
                     .content);
}

static void a_made_up_terminal_is_a_terminal(void **state)
{
    (void)state;
    EACH(d)
    {
        stream_view v = {0};
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_str rest = d->terminal;
        sse_event e;
        while (sse_next(&rest, &e, &a))
            dialect_watch(d, &v, &e);
        assert_int_equal(v.done, d->terminal.n > 0);
        assert_false(v.content || v.broken || v.error || rest.n);
    }
}

static void a_long_stop_reason_is_cut(void **state)
{
    (void)state;
    stream_view v = watched(&dialect_openai, DELTA("{}", "\"a_very_long_reason_that_does_not_fit_in\""));
    assert_string_equal(v.finish, "a_very_long_reason_that_does_no");
}

/* ---- what daruma writes ---- */

static void every_error_is_read_by_its_own_dialect(void **state)
{
    (void)state;
    for (int k = 0; k < DARUMA_KINDS; k++)
        EACH(d)
        {
            daruma_arena a = arena_over(mem, sizeof mem);
            daruma_failure f = {.kind = (daruma_kind)k, .subject = S("temperature")};
            daruma_buf b = buf_in(&a);
            d->write_error(&b, &f, 429, S("Say \"no\".\n"), S("We tried."));
            daruma_str body = buf_str(&b), error = json_get(body, S("error"));
            assert_true(json_valid(body));
            assert_true(d->is_error(body));
            assert_str(json_text(json_get(error, S("message")), &a), "Say \"no\".\n");
            assert_true(json_is_string(json_get(error, S("type"))));
            assert_str(json_text(json_path(error, "daruma.kind"), &a), daruma_kind_name(f.kind));
            assert_str(json_text(json_path(error, "daruma.explanation"), &a), "We tried.");
            assert_int_equal(dialect_check(d, body).flaw, DARUMA_FLAW_ERROR_EVENT);

            b = buf_in(&a);
            dialect_write_stream_error(d, &b, &f, 0, S("no"), S(""), NULL);
            assert_int_equal(str_find(buf_str(&b), S("[DONE]")), STR_NONE);
            daruma_str rest = buf_str(&b);
            sse_event e;
            stream_view v = {0};
            while (sse_next(&rest, &e, &a)) {
                assert_true(json_valid(e.data));
                dialect_watch(d, &v, &e);
                assert_true(v.error);
            }
            assert_int_equal(rest.n, 0);
            assert_false(v.broken || v.content || v.done);
        }
}

static void errors_have_the_names_clients_act_on(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        const char *type, *code, *anthropic;
    } rows[] = {
        {DARUMA_RATE_LIMIT, 429, "rate_limit_error", "rate_limit_exceeded", "rate_limit_error"},
        {DARUMA_QUOTA, 429, "insufficient_quota", "insufficient_quota", "billing_error"},
        {DARUMA_CONTEXT_LENGTH, 400, "invalid_request_error", "context_length_exceeded", "invalid_request_error"},
        {DARUMA_OVERLOADED, 503, "server_error", "server_is_overloaded", "overloaded_error"},
        {DARUMA_AUTH, 401, "invalid_request_error", "invalid_api_key", "authentication_error"},
        {DARUMA_UNKNOWN, 418, "invalid_request_error", "", "invalid_request_error"},
        {DARUMA_UNKNOWN, 529, "server_error", "server_is_overloaded", "overloaded_error"},
        {DARUMA_UNKNOWN, 0, "server_error", "", "api_error"},
        {DARUMA_UNKNOWN, -1, "server_error", "", "api_error"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_failure f = {.kind = rows[i].kind};
        daruma_buf b = buf_in(&a), c = buf_in(&a);
        dialect_openai.write_error(&b, &f, rows[i].status, S("m"), S(""));
        assert_str(json_text(json_path(buf_str(&b), "error.type"), &a), rows[i].type);
        assert_str(json_text(json_path(buf_str(&b), "error.code"), &a), rows[i].code);
        dialect_anthropic.write_error(&c, &f, rows[i].status, S("m"), S(""));
        assert_str(json_text(json_path(buf_str(&c), "error.type"), &a), rows[i].anthropic);
        assert_str(json_text(json_get(buf_str(&c), S("type")), &a), "error");
    }
}

static void a_message_is_a_good_answer_and_a_whole_stream(void **state)
{
    (void)state;
    write_ctx x = {.model = S("m \"1\""), .id = 7, .wall = 1767225600};
    EACH(d)
    {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        dialect_say(S("One \"line\"\nand more"), d, &x, false, false, &b, &a);
        answer_view v = dialect_check(d, buf_str(&b));
        assert_true(json_valid(buf_str(&b)));
        assert_true(v.flaw == DARUMA_FLAW_NONE && v.text && !v.calls);
        assert_int_equal(v.input_tokens, 0);
        assert_int_equal(v.output_tokens, 0);
        assert_str(json_text(json_get(buf_str(&b), S("model")), &a), "m \"1\"");

        b = buf_in(&a);
        dialect_say(S("One \"line\"\nand more"), d, &x, true, true, &b, &a);
        daruma_str rest = buf_str(&b);
        sse_event e;
        stream_view s = {0};
        int events = 0;
        assert_true(str_find(rest, S("\"usage")) != STR_NONE);
        for (; sse_next(&rest, &e, &a); events++) {
            assert_true(json_valid(e.data) || str_eq(e.data, S("[DONE]")));
            if (e.event.n)
                assert_true(str_eq(e.event, json_text(json_get(e.data, S("type")), &a)));
            assert_false(s.done); /* nothing stands behind the end */
            dialect_watch(d, &s, &e);
        }
        assert_int_equal(rest.n, 0);
        assert_true(s.began && s.content && s.finished && s.done);
        assert_false(s.broken || s.error);
        assert_true(d->ends_streams || events == 1); /* each would be a turn of its own */
    }
}

static void a_buffer_that_is_too_small_is_full_and_nothing_else(void **state)
{
    (void)state;
    char small[40];
    daruma_failure f = {.kind = DARUMA_TIMEOUT};
    EACH(d)
    {
        daruma_buf b = buf_over(small, sizeof small);
        d->write_error(&b, &f, 504, S("a long message that does not fit"), S("note"));
        assert_true(b.full);
    }
}

static void is_error_knows_its_own_shape_only(void **state)
{
    (void)state;
    static const char *const no[] = {"",
                                     "{}",
                                     "<html>",
                                     "{\"error\":\"x\"}",
                                     "{\"detail\":\"x\"}",
                                     "{\"object\":\"error\",\"message\":\"x\"}",
                                     "{\"error\":{\"message\":\"x\"}",
                                     "[{\"error\":{\"message\":\"x\"}}]",
                                     "{\"error\":{}}"};
    EACH(d)
    for (size_t i = 0; i < COUNT(no); i++)
        if (d->is_error(str_of(no[i])))
            fail_msg("%s: %s", d->name, no[i]);
    assert_true(dialect_openai.is_error(S(" {\"error\":{\"message\":\"x\",\"code\":429}} ")));
    assert_true(dialect_anthropic.is_error(S("{\"type\":\"error\",\"error\":{\"type\":\"t\",\"message\":\"\"}}")));
    assert_false(dialect_anthropic.is_error(S("{\"error\":{\"message\":\"x\"}}")));
}

static void a_note_is_put_into_the_error_and_nowhere_else(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {" {\"a\": 1, \"error\": {\"message\": \"m\" } }\n",
         " {\"a\": 1, \"error\": {\"message\": \"m\" ,\"daruma\":{\"explanation\":\"n \\\"1\\\"\"}} }\n"},
        {"{\"error\":{}}", "{\"error\":{\"daruma\":{\"explanation\":\"n \\\"1\\\"\"}}}"},
        {"{\"error\":{ }}", "{\"error\":{ \"daruma\":{\"explanation\":\"n \\\"1\\\"\"}}}"},
        {"{\"error\":\"m\"}", NULL},
        {"{\"message\":\"m\"}", NULL},
        {"{\"error\":{\"message\":\"m\"}", NULL},
        {"[{\"error\":{\"message\":\"m\"}}]", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        bool did = dialect_add_note(&b, str_of(rows[i][0]), S("n \"1\""));
        assert_int_equal(did, rows[i][1] != NULL);
        if (did)
            assert_str(buf_str(&b), rows[i][1]);
    }
}

/* ---- notices ---- */

static bool is_it(uint64_t hash, const void *user)
{
    return hash == *(const uint64_t *)user;
}

#define NOTE DIALECT_NOTICE "\\nThe provider is busy. Say \\\"again\\\"."
#define U    "{\"role\":\"user\",\"content\":\"q\"}"
#define N    "{\"role\":\"assistant\",\"content\":\"" NOTE "\"}"
#define P    "{\"role\":\"assistant\", \"content\":[ {\"type\":\"text\",\"text\":\"" NOTE "  \"}]}"
#define I                                                                                                              \
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"" NOTE             \
    "\",\"annotations\":[]}]}"

static void notices_are_taken_out_and_the_rest_stays(void **state)
{
    (void)state;
    uint64_t ours = dialect_notice_hash(S(DIALECT_NOTICE "\nThe provider is busy. Say \"again\"."));
    static const struct {
        const dialect *d;
        const char *body, *want; /* want NULL: nothing is taken out */
    } rows[] = {
        {&dialect_openai, "{\"messages\":[" U " , " N " ,\n" U "],\"model\":\"m\"}",
         "{\"messages\":[" U " ,\n" U "],\"model\":\"m\"}"},
        {&dialect_openai, "{\"messages\":[" N "," U "]}", "{\"messages\":[" U "]}"},
        {&dialect_openai, "{\"messages\":[ " N " , " N " , " U "," U "]}", "{\"messages\":[" U "," U "]}"},
        {&dialect_openai, "{\"messages\":[" U "," N "]}", "{\"messages\":[" U "]}"},
        {&dialect_openai, "{\"messages\":[" N "]}", "{\"messages\":[]}"},
        {&dialect_openai, "{\"messages\":[" U "," P "]}", "{\"messages\":[" U "]}"},
        {&dialect_anthropic, "{\"messages\":[" U "," P "," U "]}", "{\"messages\":[" U "," U "]}"},
        {&dialect_openai_responses, "{\"input\":[" U "," I "," U "]}", "{\"input\":[" U "," U "]}"},
        {&dialect_openai_responses, "{\"input\":\"" NOTE "\"}", NULL},
        {&dialect_openai, "{\"messages\":[" U "]}", NULL},
        {&dialect_openai, "{\"messages\":[{\"role\":\"user\",\"content\":\"" NOTE "\"}]}", NULL},
        {&dialect_openai, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"" NOTE " And more.\"}]}", NULL},
        {&dialect_openai, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"I read: " NOTE "\"}]}", NULL},
        {&dialect_openai, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"" NOTE "\",\"tool_calls\":[{}]}]}",
         NULL},
        {&dialect_openai,
         "{\"messages\":[{\"role\":\"assistant\",\"content\":[{\"text\":\"" NOTE "\"},{\"text\":\"x\"}]}]}", NULL},
        {&dialect_openai, "{\"messages\":[" N "]", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        bool did = dialect_strip_notices(rows[i].d, str_of(rows[i].body), is_it, &ours, &b, &a);
        if (did != (rows[i].want != NULL))
            fail_msg("row %zu: %s", i, rows[i].body);
        if (did)
            assert_str(buf_str(&b), rows[i].want);
    }
}

static void what_is_written_in_the_models_place_is_known_again(void **state)
{
    (void)state;
    daruma_str text = S(DIALECT_NOTICE "\n\nIt rained \xe2\x82\xac \\ \"x\" / \t.");
    uint64_t ours = dialect_notice_hash(text);
    write_ctx x = {.model = S("m")};
    static const char *const where[] = {"choices.0.message", "output.0", ""};
    EACH(d)
    {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a), body = buf_in(&a), out = buf_in(&a);
        dialect_say(text, d, &x, false, false, &b, &a);
        daruma_str message = json_path(buf_str(&b), where[i_]);
        buf_putz(&body, i_ == 1 ? "{\"input\":[" : "{\"messages\":[");
        if (i_ == 2) { /* clients send role and content of it back */
            BUF_LIT(&body, "{\"role\":\"assistant\",\"content\":");
            buf_put(&body, json_get(message, S("content")));
            buf_putc(&body, '}');
        } else {
            buf_put(&body, message);
        }
        BUF_LIT(&body, "," U "]}");
        assert_true(dialect_strip_notices(d, buf_str(&body), is_it, &ours, &out, &a));
        assert_str(buf_str(&out), i_ == 1 ? "{\"input\":[" U "]}" : "{\"messages\":[" U "]}");
    }
}

static void white_space_at_the_ends_does_not_change_the_hash(void **state)
{
    (void)state;
    assert_true(dialect_notice_hash(S(" a b\n")) == dialect_notice_hash(S("a b")));
    assert_true(dialect_notice_hash(S("a b")) != dialect_notice_hash(S("a  b")));
    assert_true(dialect_notice_hash(S("")) == 0);
}

static void messages_that_bring_results_are_told_by_what_they_are(void **state)
{
    (void)state;
    static const char *const brings[] = {
        "{\"role\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"c1\"}",
        "{\"role\":\"function\",\"name\":\"f\",\"content\":\"x\"}",
        "{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"x\"}",
        "{\"call_id\":\"c1\",\"output\":\"x\",\"type\":\"custom_tool_call_output\"}",
        "{\"role\":\"user\",\"content\":[{\"text\":\"y\"},{\"tool_use_id\":\"t\",\"type\":\"tool_result\"}]}",
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{}}}]}",
        "{\"parts\":[{\"text\":\"y\"},{\"function_response\":{\"name\":\"f\",\"response\":{}}}]}",
    };
    static const char *const brings_none[] = {
        "",
        "\"tool\"",
        "[]",
        "{\"role\":\"user\",\"content\":\"my \\\"tool_call_id\\\" and \\\"tool_result\\\"\"}",
        "{\"role\":\"user\",\"content\":[\"tool_result\",{\"type\":\"text\",\"text\":\"functionResponse\"}]}",
        "{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\",\"id\":\"c1\"}]}",
    };
    for (size_t i = 0; i < COUNT(brings); i++)
        assert_true(dialect_message_results(str_of(brings[i])));
    for (size_t i = 0; i < COUNT(brings_none); i++)
        assert_false(dialect_message_results(str_of(brings_none[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_that_bring_results_are_told_by_what_they_are),
        cmocka_unit_test(a_path_tells_its_dialect),
        cmocka_unit_test(a_dialect_is_found_by_its_name),
        cmocka_unit_test(a_chat_request_is_scanned),
        cmocka_unit_test(an_empty_request_says_nothing),
        cmocka_unit_test(of_two_models_the_last_counts),
        cmocka_unit_test(what_is_not_one_object_is_not_ok),
        cmocka_unit_test(a_strict_scan_looks_at_each_byte),
        cmocka_unit_test(a_scan_for_the_model_finds_that_alone),
        cmocka_unit_test(a_conversation_keeps_its_hash_as_it_grows),
        cmocka_unit_test(what_lives_on_the_server_pins_the_account),
        cmocka_unit_test(what_a_request_goes_on_from_is_told_by_its_id),
        cmocka_unit_test(a_format_is_asked_for_in_three_ways),
        cmocka_unit_test(chat_answers_are_checked),
        cmocka_unit_test(anthropic_answers_are_checked),
        cmocka_unit_test(responses_answers_are_checked),
        cmocka_unit_test(a_chat_stream_is_followed_to_its_end),
        cmocka_unit_test(chat_content_begins_with_what_says_something),
        cmocka_unit_test(a_stream_has_settled_behind_its_words_and_a_stop_reason),
        cmocka_unit_test(errors_within_a_stream_are_seen),
        cmocka_unit_test(what_is_not_json_is_broken),
        cmocka_unit_test(pings_are_not_progress),
        cmocka_unit_test(an_anthropic_stream_is_followed_to_its_end),
        cmocka_unit_test(a_responses_stream_is_followed_to_its_end),
        cmocka_unit_test(a_made_up_terminal_is_a_terminal),
        cmocka_unit_test(a_long_stop_reason_is_cut),
        cmocka_unit_test(every_error_is_read_by_its_own_dialect),
        cmocka_unit_test(errors_have_the_names_clients_act_on),
        cmocka_unit_test(a_message_is_a_good_answer_and_a_whole_stream),
        cmocka_unit_test(a_buffer_that_is_too_small_is_full_and_nothing_else),
        cmocka_unit_test(is_error_knows_its_own_shape_only),
        cmocka_unit_test(a_note_is_put_into_the_error_and_nowhere_else),
        cmocka_unit_test(notices_are_taken_out_and_the_rest_stays),
        cmocka_unit_test(what_is_written_in_the_models_place_is_known_again),
        cmocka_unit_test(white_space_at_the_ends_does_not_change_the_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
