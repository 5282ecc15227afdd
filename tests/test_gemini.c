#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char mem[1 << 20];
static const dialect *const g = &dialect_gemini;

/* ---- the path ---- */

static void the_path_tells_model_and_stream(void **state)
{
    (void)state;
    static const struct {
        const char *path, *model; /* model NULL: not Gemini's */
        bool stream;
    } rows[] = {
        {"/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", false},
        {"/v1/models/gemini-2.5-pro:generateContent?key=abc", "gemini-2.5-pro", false},
        {"/v1beta/models/g:streamGenerateContent?alt=sse", "g", true},
        {"/v1beta/models/g:streamGenerateContent?key=abc&alt=sse&x", "g", true},
        {"/v1beta/models/g:streamGenerateContent", "g", false},
        {"/v1beta/models/g:streamGenerateContent?alt=json", "g", false},
        {"/v1beta/models/g:streamGenerateContent?salt=sse", "g", false},
        {"/v1beta/models/g:generateContent?alt=sse", "g", false},
        {"/v1beta/models/g%3AstreamGenerateContent?alt=sse", "g", true},
        {"/v1beta/tunedModels/mine-1:generateContent", "mine-1", false},
        {"/gemini/v1beta/models/g:generateContent", "g", false},
        {"/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
         "gemini-2.5-flash", true},
        {"/v1/projects/p/locations/l/endpoints/123:generateContent", "123", false},
        {"/v1beta/models/g:countTokens", NULL, false},
        {"/v1beta/models/g:embedContent", NULL, false},
        {"/v1beta/models/g:batchGenerateContent", NULL, false},
        {"/v1beta/models/:generateContent", NULL, false},
        {"/v1beta/models/generateContent", NULL, false},
        {"/v1beta/models/g", NULL, false},
        {"/v1internal:streamGenerateContent?alt=sse", NULL, false}, /* another shape of body */
        {"/v1beta/models/g:generateContent/x", NULL, false},
        {"/x?p=/models/g:generateContent", NULL, false},
        {":generateContent", NULL, false},
        {"", NULL, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_str model = S("untouched");
        bool stream = true, did = dialect_path_model(str_of(rows[i].path), &model, &stream);
        if (did != (rows[i].model != NULL))
            fail_msg("%s", rows[i].path);
        assert_str(model, did ? rows[i].model : "untouched");
        assert_int_equal(stream, did ? rows[i].stream : true);
        assert_ptr_equal(dialect_of_path(str_of(rows[i].path)), did ? g : NULL);
    }
}

/* ---- requests ---- */

static void a_request_is_scanned(void **state)
{
    (void)state;
    request_scan r = g->scan(S("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}],"
                               "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\"}]}],"
                               "\"generationConfig\":{\"maxOutputTokens\":77,\"responseMimeType\":"
                               "\"application/json\"}}"));
    assert_true(r.ok && r.tools && r.schema && r.has_user);
    assert_false(r.stream || r.stateful);
    assert_int_equal(r.model_raw.n, 0);
    assert_int_equal(r.max_output, 77);
    assert_str(r.messages, "[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]");
    assert_true(r.conversation != 0);
    r = g->scan(S("{\"contents\":[],\"tools\":[],\"generation_config\":{\"max_output_tokens\":5,"
                  "\"response_schema\":{\"type\":\"OBJECT\"}},\"cached_content\":\"cachedContents/1\"}"));
    assert_true(r.ok && r.schema && r.stateful);
    assert_false(r.tools || r.has_user);
    assert_int_equal(r.max_output, 5);
    r = g->scan(S("{}"));
    assert_true(r.ok);
    assert_false(r.stream || r.tools || r.schema || r.stateful || r.has_user);
    assert_int_equal(r.max_output, -1);
    assert_int_equal(r.conversation, 0);
    assert_false(g->scan(S("{\"contents\":[]")).ok);
    assert_false(g->scan(S("[]")).ok);
}

static void one_conversation_in_many_dresses_has_one_hash(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":"
        "\"hi\"}]}]}",
        "{\"system_instruction\":{\"role\":\"system\",\"parts\":{\"text\":\"s\"}},\"contents\":{\"parts\":{\"text\":"
        "\"hi\"}}}",
        "{\"contents\":[{\"parts\":[{\"text\":\"hi\"}]},{\"role\":\"model\",\"parts\":[{\"text\":\"x\"}]},"
        "{\"role\":\"user\",\"parts\":[{\"text\":\"y\"}]}],\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]}}",
    };
    uint64_t h = g->scan(str_of(same[0])).conversation;
    assert_true(h != 0);
    for (size_t i = 1; i < sizeof same / sizeof *same; i++)
        if (g->scan(str_of(same[i])).conversation != h)
            fail_msg("%s", same[i]);
    assert_true(g->scan(S("{\"contents\":{\"parts\":{\"text\":\"hi\"}}}")).conversation != h);
}

static void uploaded_files_pin_the_account_others_do_not(void **state)
{
    (void)state;
#define FILE_AT(key, uri)                                                                                              \
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"},{\"" key "\":{\"mimeType\":\"a/b\",\"" uri "\"}}]}" \
                                                                                                              "]}"
    assert_true(g->scan(S(FILE_AT("fileData", "fileUri\":\"https://generativelanguage.googleapis.com/v1beta/files/1")))
                    .stateful);
    assert_true(g->scan(S(FILE_AT("file_data", "file_uri\":\"files/1"))).stateful);
    assert_false(g->scan(S(FILE_AT("fileData", "fileUri\":\"https://www.youtube.com/watch?v=1"))).stateful);
    assert_false(g->scan(S(FILE_AT("fileData", "fileUri\":\"gs://bucket/x"))).stateful);
    assert_false(g->scan(S(FILE_AT("text", "x\":\"fileData files/1"))).stateful);
}

/* ---- answers ---- */

#define CANDIDATE(parts, finish)                                                                                       \
    "{\"candidates\":[{\"content\":{\"parts\":[" parts "],\"role\":\"model\"},\"finishReason\":" finish                \
    ",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":4,"   \
    "\"totalTokenCount\":17},\"modelVersion\":\"m\"}"
#define HI      "{\"text\":\"hi\"}"
#define THOUGHT "{\"text\":\"hm\",\"thought\":true,\"thoughtSignature\":\"c2ln\"}"

static void answers_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        daruma_flaw flaw;
        const char *finish;
    } rows[] = {
        {CANDIDATE(HI, "\"STOP\""), DARUMA_FLAW_NONE, "STOP"},
        {CANDIDATE(THOUGHT "," HI, "\"STOP\""), DARUMA_FLAW_NONE, "STOP"},
        {CANDIDATE("{\"functionCall\":{\"name\":\"f\",\"args\":{}}}", "\"STOP\""), DARUMA_FLAW_NONE, "STOP"},
        {CANDIDATE("{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"AA==\"}}", "\"STOP\""), DARUMA_FLAW_NONE,
         "STOP"},
        {CANDIDATE("{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"1\"}}", "\"STOP\""), DARUMA_FLAW_NONE,
         "STOP"},
        {CANDIDATE(HI, "\"MAX_TOKENS\""), DARUMA_FLAW_NONE, "MAX_TOKENS"},
        {"{\"candidates\":[{\"finishReason\":\"MAX_TOKENS\"}]}", DARUMA_FLAW_NONE, "MAX_TOKENS"},
        {"{\"candidates\":[{\"finishReason\":\"SAFETY\",\"index\":0}]}", DARUMA_FLAW_NONE, "SAFETY"},
        {"{\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"modelVersion\":\"m\"}", DARUMA_FLAW_NONE,
         "PROHIBITED_CONTENT"},
        {"{\"candidates\":[],\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}", DARUMA_FLAW_NONE, "SAFETY"},
        {CANDIDATE(THOUGHT, "\"STOP\""), DARUMA_FLAW_EMPTY, "STOP"},
        {CANDIDATE("", "\"STOP\""), DARUMA_FLAW_EMPTY, "STOP"},
        {CANDIDATE("{\"text\":\"\"}", "\"STOP\""), DARUMA_FLAW_EMPTY, "STOP"},
        {CANDIDATE("{\"text\":\"\",\"thoughtSignature\":\"c2ln\"}", "\"STOP\""), DARUMA_FLAW_EMPTY, "STOP"},
        {"{\"candidates\":[{\"content\":{\"role\":\"model\"},\"finishReason\":\"STOP\"}]}", DARUMA_FLAW_EMPTY, "STOP"},
        {"{\"candidates\":[]}", DARUMA_FLAW_EMPTY, ""},
        {"{\"candidates\":null}", DARUMA_FLAW_EMPTY, ""},
        {"{\"usageMetadata\":{\"promptTokenCount\":4},\"modelVersion\":\"m\"}", DARUMA_FLAW_EMPTY, ""},
        {"{\"candidates\":[],\"promptFeedback\":{\"safetyRatings\":[]}}", DARUMA_FLAW_EMPTY, ""},
        {"{}", DARUMA_FLAW_EMPTY, ""},
        {"{\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}", DARUMA_FLAW_BROKEN,
         "MALFORMED_FUNCTION_CALL"},
        {CANDIDATE(HI, "\"UNEXPECTED_TOOL_CALL\""), DARUMA_FLAW_BROKEN, "UNEXPECTED_TOOL_CALL"},
        {"{\"candidates\":{}}", DARUMA_FLAW_BROKEN, ""},
        {"{\"candidates\":[1]}", DARUMA_FLAW_BROKEN, ""},
        {"{\"choices\":[]}", DARUMA_FLAW_BROKEN, ""},
        {"{\"candidates\":[", DARUMA_FLAW_BROKEN, ""},
        {"<html>", DARUMA_FLAW_BROKEN, ""},
        {"", DARUMA_FLAW_BROKEN, ""},
        {"\"x\"", DARUMA_FLAW_BROKEN, ""},
        {"{} x", DARUMA_FLAW_BROKEN, ""},
        {"{\"error\":{\"code\":503,\"message\":\"busy\",\"status\":\"UNAVAILABLE\"}}", DARUMA_FLAW_ERROR_EVENT, ""},
        /* streamGenerateContent without alt=sse */
        {"[" CANDIDATE(HI, "null") ",\n" CANDIDATE(HI, "\"STOP\"") "]", DARUMA_FLAW_NONE, "STOP"},
        {" [\n" CANDIDATE(HI, "\"STOP\"") "\n]\n", DARUMA_FLAW_NONE, "STOP"},
        {"[]", DARUMA_FLAW_EMPTY, ""},
        {"[" CANDIDATE(HI, "null") ",", DARUMA_FLAW_BROKEN, ""},
        {"[{\"error\":{\"code\":429,\"message\":\"no\"}}]", DARUMA_FLAW_ERROR_EVENT, ""},
        {"[" CANDIDATE(HI, "null") ",{\"error\":{\"code\":500,\"message\":\"no\"}}]", DARUMA_FLAW_ERROR_EVENT, ""},
        {"[1]", DARUMA_FLAW_BROKEN, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        answer_view v = (g->check)(str_of(rows[i].body), &a);
        if (v.flaw != rows[i].flaw || !str_eq(v.finish, str_of(rows[i].finish)))
            fail_msg("flaw %d, finish " STR_FMT ": %s", (int)v.flaw, STR_ARG(v.finish), rows[i].body);
    }
}

static void thinking_counts_as_output(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    answer_view v = (g->check)(S(CANDIDATE(HI, "\"STOP\"")), &a);
    assert_true(v.text && !v.calls);
    assert_int_equal(v.input_tokens, 10);
    assert_int_equal(v.output_tokens, 7);
    v = (g->check)(S("{\"candidates\":[]}"), &a);
    assert_int_equal(v.input_tokens, -1);
    assert_int_equal(v.output_tokens, -1);
}

static stream_view watched(const char *bytes)
{
    daruma_arena a = arena_over(mem, sizeof mem);
    stream_view v = {0};
    daruma_str rest = str_of(bytes);
    sse_event e;
    while (sse_next(&rest, &e, &a))
        g->watch(&v, &e, &a);
    return v;
}
#define DATA(json) "data: " json "\n\n"

static void a_stream_ends_with_its_reason(void **state)
{
    (void)state;
    stream_view v = watched(DATA("{\"usageMetadata\":{\"promptTokenCount\":5}}"));
    assert_true(v.began);
    assert_false(v.content || v.done || v.finished || v.broken || v.ping);
    v = watched(DATA(CANDIDATE(HI, "null")));
    assert_true(v.began && v.content);
    assert_false(v.done || v.finished || v.error || v.told);
    v = watched(DATA(CANDIDATE(HI, "null")) DATA(CANDIDATE("{\"text\":\"\"}", "\"STOP\"")));
    assert_true(v.content && v.done && v.finished);
    assert_string_equal(v.finish, "STOP");
    assert_int_equal(v.input_tokens, 10);
    assert_int_equal(v.output_tokens, 7);
    assert_true(watched(DATA(CANDIDATE(THOUGHT, "null"))).content);
    assert_true(watched(DATA(CANDIDATE("{\"functionCall\":{\"name\":\"f\"}}", "null"))).content);
    v = watched(DATA("{\"candidates\":[{\"finishReason\":\"SAFETY\"}]}"));
    assert_true(v.done && v.told && !v.content);
    v = watched(DATA("{\"promptFeedback\":{\"blockReason\":\"OTHER\"}}"));
    assert_true(v.done && v.told && v.finished);
    assert_string_equal(v.finish, "OTHER");
    v = watched(DATA("{\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}"));
    assert_true(v.broken && v.finished && !v.content);
    assert_string_equal(v.finish, "MALFORMED_FUNCTION_CALL");
    v = watched(DATA("{\"candidates\":[{\"finishReason\":\"STOP\"}]}"));
    assert_true(v.done && !v.content && !v.told);
}

static void errors_and_pings_in_a_stream_are_seen(void **state)
{
    (void)state;
    static const char error[] = "{\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":"
                                "\"UNAVAILABLE\"}}";
    daruma_arena a = arena_over(mem, sizeof mem);
    stream_view v = {0};
    daruma_str rest = S("data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":"
                        "\"UNAVAILABLE\"}}\r\n\r\n");
    sse_event e;
    assert_true(sse_next(&rest, &e, &a));
    g->watch(&v, &e, &a);
    assert_true(v.error);
    assert_str(v.error_body, error);
    assert_true(watched(DATA("{\"candidates\":")).broken);
    assert_true(watched(DATA("[]")).broken);
    assert_true(watched(": x\n\n").ping);
    v = (stream_view){0};
    rest = g->heartbeat;
    assert_true(sse_next(&rest, &e, &a));
    assert_int_equal(rest.n, 0);
    g->watch(&v, &e, &a);
    assert_true(v.ping);
    assert_false(v.began || v.content || v.done || v.broken || v.error);
}

/* ---- what daruma writes ---- */

static void every_error_is_read_by_its_clients(void **state)
{
    (void)state;
    for (int k = 0; k < DARUMA_KINDS; k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_failure f = {.kind = (daruma_kind)k, .wait = -1};
        daruma_buf b = buf_in(&a);
        g->write_error(&b, &f, 429, S("Say \"no\".\n"), S("We tried."));
        daruma_str body = buf_str(&b), error = json_get(body, S("error"));
        assert_true(json_valid(body) && g->is_error(body));
        assert_str(json_text(json_get(error, S("message")), &a), "Say \"no\".\n");
        assert_str(json_get(error, S("code")), "429");
        assert_true(json_is_string(json_get(error, S("status"))));
        assert_int_equal(json_get(error, S("details")).n, 0);
        assert_str(json_text(json_path(error, "daruma.kind"), &a), daruma_kind_name(f.kind));
        assert_int_equal((g->check)(body, &a).flaw, DARUMA_FLAW_ERROR_EVENT);

        b = buf_in(&a);
        g->write_stream_error(&b, &f, 0, S("no"), S(""));
        daruma_str rest = buf_str(&b);
        sse_event e;
        stream_view v = {0};
        assert_true(sse_next(&rest, &e, &a));
        assert_int_equal(rest.n, 0);
        g->watch(&v, &e, &a);
        assert_true(v.error);
        assert_false(v.broken || v.content || v.done);
        int64_t code = json_int(json_path(e.data, "error.code"), 0);
        assert_true(code >= 400 && code <= 599); /* @google/genai throws only on these */
    }
}

static void errors_have_googles_names(void **state)
{
    (void)state;
    static const struct {
        daruma_kind kind;
        int status;
        const char *google;
    } rows[] = {
        {DARUMA_RATE_LIMIT, 429, "RESOURCE_EXHAUSTED"},
        {DARUMA_QUOTA, 429, "RESOURCE_EXHAUSTED"},
        {DARUMA_CONTEXT_LENGTH, 400, "INVALID_ARGUMENT"},
        {DARUMA_OVERLOADED, 503, "UNAVAILABLE"},
        {DARUMA_AUTH, 401, "UNAUTHENTICATED"},
        {DARUMA_PERMISSION, 403, "PERMISSION_DENIED"},
        {DARUMA_MODEL_NOT_FOUND, 404, "NOT_FOUND"},
        {DARUMA_TIMEOUT, 504, "DEADLINE_EXCEEDED"},
        {DARUMA_UNKNOWN, 418, "INVALID_ARGUMENT"},
        {DARUMA_UNKNOWN, 503, "UNAVAILABLE"},
        {DARUMA_UNKNOWN, 502, "INTERNAL"},
        {DARUMA_UNKNOWN, 0, "INTERNAL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_failure f = {.kind = rows[i].kind, .wait = -1};
        daruma_buf b = buf_in(&a);
        g->write_error(&b, &f, rows[i].status, S("m"), S(""));
        assert_str(json_text(json_path(buf_str(&b), "error.status"), &a), rows[i].google);
    }
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_failure f = {.kind = DARUMA_RATE_LIMIT, .retryable = true, .wait = 20001};
    daruma_buf b = buf_in(&a);
    g->write_error(&b, &f, 429, S("m"), S(""));
    assert_str(json_path(buf_str(&b), "error.details.0.retryDelay"), "\"21s\"");
}

static void is_error_knows_its_own_shape_only(void **state)
{
    (void)state;
    static const char *const no[] = {"",
                                     "{}",
                                     "<html>",
                                     "{\"error\":\"x\"}",
                                     "{\"error\":{}}",
                                     "{\"error\":{\"message\":\"x\",\"type\":\"t\"}}",
                                     "{\"error\":{\"code\":400}}",
                                     "{\"error\":{\"code\":400,\"message\":\"x\"}",
                                     "[]",
                                     "[1]"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (g->is_error(str_of(no[i])))
            fail_msg("%s", no[i]);
    assert_true(g->is_error(S(" {\"error\":{\"code\":400,\"message\":\"\",\"status\":\"INVALID_ARGUMENT\"}} ")));
    assert_true(g->is_error(S("[{\"error\":{\"message\":\"x\",\"status\":\"INTERNAL\"}}\n]")));
}

static void a_message_is_a_good_answer_and_a_whole_stream(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    write_ctx x = {.model = S("m \"1\""), .id = 7, .wall = 1767225600};
    daruma_buf b = buf_in(&a);
    g->write_message(&b, &x, S("One \"line\"\nand more"));
    assert_str(buf_str(&b), "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"One \\\"line\\\"\\nand more\"}],"
                            "\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{"
                            "\"promptTokenCount\":0,\"candidatesTokenCount\":0,\"totalTokenCount\":0},"
                            "\"modelVersion\":\"m \\\"1\\\"\",\"responseId\":\"daruma0000000000000007\"}");
    answer_view v = (g->check)(buf_str(&b), &a);
    assert_true(v.flaw == DARUMA_FLAW_NONE && v.text && !v.calls);
    b = buf_in(&a);
    g->write_message_stream(&b, &x, S("One \"line\"\nand more"));
    daruma_str rest = buf_str(&b);
    sse_event e;
    stream_view s = {0};
    assert_true(sse_next(&rest, &e, &a));
    g->watch(&s, &e, &a);
    assert_int_equal(rest.n, 0);
    assert_true(s.began && s.content && s.finished && s.done);
}

static bool is_it(uint64_t hash, void *user)
{
    return hash == *(uint64_t *)user;
}

#define NOTE DIALECT_NOTICE "\\nThe provider is busy."
#define U    "{\"role\":\"user\",\"parts\":[{\"text\":\"q\"}]}"
#define N    "{\"parts\":[{\"text\":\"" NOTE "\"}],\"role\":\"model\"}"

static void notices_are_taken_out(void **state)
{
    (void)state;
    uint64_t ours = dialect_notice_hash(S(DIALECT_NOTICE "\nThe provider is busy."));
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf b = buf_in(&a);
    assert_true(dialect_strip_notices(g, S("{\"contents\":[" U " , " N " ,\n" U "]}"), is_it, &ours, &b, &a));
    assert_str(buf_str(&b), "{\"contents\":[" U " ,\n" U "]}");
    b = buf_in(&a);
    assert_false(dialect_strip_notices(g, S("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"" NOTE "\"}]}]}"),
                                       is_it, &ours, &b, &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_tells_model_and_stream),
        cmocka_unit_test(a_request_is_scanned),
        cmocka_unit_test(one_conversation_in_many_dresses_has_one_hash),
        cmocka_unit_test(uploaded_files_pin_the_account_others_do_not),
        cmocka_unit_test(answers_are_checked),
        cmocka_unit_test(thinking_counts_as_output),
        cmocka_unit_test(a_stream_ends_with_its_reason),
        cmocka_unit_test(errors_and_pings_in_a_stream_are_seen),
        cmocka_unit_test(every_error_is_read_by_its_clients),
        cmocka_unit_test(errors_have_googles_names),
        cmocka_unit_test(is_error_knows_its_own_shape_only),
        cmocka_unit_test(a_message_is_a_good_answer_and_a_whole_stream),
        cmocka_unit_test(notices_are_taken_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
