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
    for (size_t i = 0; i < COUNT(rows); i++) {
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
                               "\"application/json\"}}"),
                             NULL, false);
    assert_true(r.ok && r.tools && r.schema && r.has_user);
    assert_false(r.stream || r.remote);
    assert_int_equal(r.model_raw.n, 0);
    assert_int_equal(r.max_output, 77);
    assert_str(r.messages, "[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]}]");
    assert_true(r.conversation != 0);
    r = g->scan(S("{\"contents\":[],\"tools\":[],\"generation_config\":{\"max_output_tokens\":5,"
                  "\"response_schema\":{\"type\":\"OBJECT\"}},\"cached_content\":\"cachedContents/1\"}"),
                NULL, false);
    assert_true(r.ok && r.schema && r.remote);
    assert_false(r.tools || r.has_user);
    assert_int_equal(r.max_output, 5);
    r = g->scan(S("{}"), NULL, false);
    assert_true(r.ok);
    assert_false(r.stream || r.tools || r.schema || r.remote || r.has_user);
    assert_int_equal(r.max_output, -1);
    assert_int_equal(r.conversation, 0);
    assert_false(g->scan(S("{\"contents\":[]"), NULL, false).ok);
    assert_false(g->scan(S("[]"), NULL, false).ok);
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
    uint64_t h = g->scan(str_of(same[0]), NULL, false).conversation;
    assert_true(h != 0);
    for (size_t i = 1; i < COUNT(same); i++)
        if (g->scan(str_of(same[i]), NULL, false).conversation != h)
            fail_msg("%s", same[i]);
    assert_true(g->scan(S("{\"contents\":{\"parts\":{\"text\":\"hi\"}}}"), NULL, false).conversation != h);
}

static void uploaded_files_pin_the_account_others_do_not(void **state)
{
    (void)state;
#define FILE_AT(key, uri)                                                                                              \
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"},{\"" key "\":{\"mimeType\":\"a/b\",\"" uri "\"}}]}" \
    "]}"
    assert_true(g->scan(S(FILE_AT("fileData", "fileUri\":\"https://generativelanguage.googleapis.com/v1beta/files/1")),
                        NULL, false)
                    .remote);
    assert_true(g->scan(S(FILE_AT("file_data", "file_uri\":\"files/1")), NULL, false).remote);
    assert_false(g->scan(S(FILE_AT("fileData", "fileUri\":\"https://www.youtube.com/watch?v=1")), NULL, false).remote);
    assert_true(g->scan(S(FILE_AT("fileData", "fileUri\":\"gs://bucket/x")), NULL, false).remote);
    assert_false(g->scan(S(FILE_AT("text", "x\":\"fileData files/1")), NULL, false).remote);
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
        {"{\"candidates\":[{\"content\":{},\"finishReason\":\"NO_IMAGE\"}]}", DARUMA_FLAW_NONE, "NO_IMAGE"},
        {"{\"candidates\":[{\"content\":{},\"finishReason\":\"IMAGE_OTHER\"}]}", DARUMA_FLAW_NONE, "IMAGE_OTHER"},
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
    for (size_t i = 0; i < COUNT(rows); i++) {
        answer_view v = dialect_check(g, str_of(rows[i].body));
        if (v.flaw != rows[i].flaw || !str_eq(v.finish, str_of(rows[i].finish)))
            fail_msg("flaw %d, finish " STR_FMT ": %s", (int)v.flaw, STR_ARG(v.finish), rows[i].body);
    }
}

static void thinking_counts_as_output(void **state)
{
    (void)state;
    answer_view v = dialect_check(g, S(CANDIDATE(HI, "\"STOP\"")));
    assert_true(v.text && !v.calls);
    assert_int_equal(v.input_tokens, 10);
    assert_int_equal(v.output_tokens, 7);
    v = dialect_check(g, S("{\"candidates\":[]}"));
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
        dialect_watch(g, &v, &e);
    return v;
}
#define DATA(json) "data: " json "\n\n"

static void a_stream_ends_with_its_reason(void **state)
{
    (void)state;
    stream_view v = watched(DATA("{\"usageMetadata\":{\"promptTokenCount\":5}}"));
    assert_true(v.began);
    assert_false(v.content || v.done || v.finished || v.broken || v.ping);
    /* what Google's own tools read is none of the request's */
    v = watched(DATA("{\"usageMetadata\":{\"promptTokenCount\":5,\"toolUsePromptTokenCount\":40000}}"));
    assert_int_equal(v.input_tokens, 5);
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
    dialect_watch(g, &v, &e);
    assert_true(v.error);
    assert_false(v.ping || v.began);
    assert_str(v.error_body, error);
    assert_true(watched(DATA("{\"candidates\":")).broken);
    assert_true(watched(DATA("[]")).broken);
    assert_true(watched(": x\n\n").ping);
    v = (stream_view){0};
    rest = g->heartbeat;
    assert_true(sse_next(&rest, &e, &a));
    assert_int_equal(rest.n, 0);
    dialect_watch(g, &v, &e);
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
        assert_int_equal(dialect_check(g, body).flaw, DARUMA_FLAW_ERROR_EVENT);

        b = buf_in(&a);
        dialect_write_stream_error(g, &b, &f, 0, S("no"), S(""), NULL);
        daruma_str rest = buf_str(&b);
        sse_event e;
        stream_view v = {0};
        assert_true(sse_next(&rest, &e, &a));
        assert_int_equal(rest.n, 0);
        dialect_watch(g, &v, &e);
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
    for (size_t i = 0; i < COUNT(rows); i++) {
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
    for (size_t i = 0; i < COUNT(no); i++)
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
    dialect_say(S("One \"line\"\nand more"), g, &x, false, false, &b, &a);
    assert_str(buf_str(&b), "{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"One \\\"line\\\"\\nand more\"}],"
                            "\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{"
                            "\"promptTokenCount\":0,\"candidatesTokenCount\":0,\"totalTokenCount\":0},"
                            "\"modelVersion\":\"m \\\"1\\\"\",\"responseId\":\"daruma0000000000000007\"}");
    answer_view v = dialect_check(g, buf_str(&b));
    assert_true(v.flaw == DARUMA_FLAW_NONE && v.text && !v.calls);
    b = buf_in(&a);
    dialect_say(S("One \"line\"\nand more"), g, &x, true, false, &b, &a);
    daruma_str rest = buf_str(&b);
    sse_event e;
    stream_view s = {0};
    while (sse_next(&rest, &e, &a))
        dialect_watch(g, &s, &e);
    assert_int_equal(rest.n, 0);
    assert_true(s.began && s.content && s.finished && s.done);
}

static bool is_it(uint64_t hash, const void *user)
{
    return hash == *(const uint64_t *)user;
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

/* ---- conversations ---- */

/* A request with everything in it. Odd white space and unknown members must survive. */
#define SYSTEM "{ \"parts\" : [ {\"text\":\"Be \\u0062rief\"} ] , \"role\":\"system\" }"
#define ASK                                                                                                            \
    "{\"role\": \"user\", \"parts\": [ {\"text\": \"What is in it?\"},\n "                                             \
    "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QUJD\"}} ] }"
#define CALLS                                                                                                          \
    "{\"parts\":[{\"text\":\"I look\",\"thought\":true},{\"functionCall\":{\"name\":\"read\",\"args\":{ \"p\":1 }},"   \
    "\"thoughtSignature\":\"c2ln\"} , {\"functionCall\":{\"name\":\"list\"}}],\"role\":\"model\"}"
#define RESULTS                                                                                                        \
    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"a\\nb\"},"      \
    "\"x\":1}},{\"functionResponse\":{\"name\":\"list\",\"response\":{\"n\":2,\"ok\":true}}}]}"
#define REQUEST                                                                                                        \
    " {\n \"safetySettings\" : [],\n \"systemInstruction\": " SYSTEM " ,\n \"contents\" : [ " ASK " ,\n  " CALLS       \
    ",\n  " RESULTS " ],\n \"tools\":[{\"functionDeclarations\":[{\"name\":\"read\",\"description\":\"Reads\","        \
    "\"parameters\":{\"type\":\"OBJECT\",\"properties\":{\"type\":{\"type\":\"STRING\"}}}},{\"name\":\"list\","        \
    "\"parametersJsonSchema\":{\"type\":\"object\"}}]},{\"googleSearch\":{}}],\n"                                      \
    " \"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"read\"]}},\n"            \
    " \"generationConfig\":{\"maxOutputTokens\":100,\"temperature\":0.5,\"topP\":0.9,\"topK\":40,\"seed\":7,"          \
    "\"stopSequences\":[\"END\"],\"responseMimeType\":\"application/json\",\"responseSchema\":{\"type\":\"OBJECT\"},"  \
    "\"thinkingConfig\":{\"thinkingBudget\":512,\"includeThoughts\":true}},\n \"unknown\":[1, 2]\n}\n"

static convo read_it(const char *body, daruma_arena *a)
{
    convo c;
    *a = arena_over(mem, sizeof mem);
    assert_int_equal(g->read(str_of(body), a, &c), DARUMA_OK);
    return c;
}

static daruma_str written(const convo *c)
{
    static char out[1 << 16];
    daruma_buf b = buf_over(out, sizeof out);
    g->write(c, &b);
    assert_false(b.full);
    if (!json_valid(buf_str(&b)))
        fail_msg("not JSON: " STR_FMT, STR_ARG(buf_str(&b)));
    return buf_str(&b);
}

/* What is written is `before` with `old`, which stands there once, replaced. */
static void assert_replaced(const convo *c, const char *before, const char *old, const char *fresh)
{
    static char want[1 << 16];
    daruma_str body = str_of(before);
    size_t at = str_find(body, str_of(old));
    assert_true(at != STR_NONE);
    daruma_buf b = buf_over(want, sizeof want);
    buf_put(&b, str_sub(body, 0, at));
    buf_putz(&b, fresh);
    buf_put(&b, str_from(body, at + strlen(old)));
    buf_putc(&b, 0);
    daruma_str got = str_trim(written(c));
    daruma_str expected = str_trim(str_sub(buf_str(&b), 0, b.n - 1));
    if (!str_eq(got, expected))
        fail_msg("got\n" STR_FMT "\nwant\n" STR_FMT, STR_ARG(got), STR_ARG(expected));
}

/* The same schema as Google writes it and as JSON Schema. */
static void schemas_of_google_are_json_schema(void **state)
{
    (void)state;
    // clang-format off
    static const char *const rows[][2] = {
        {"{\"type\":\"STRING\",\"maxLength\":\"64\",\"min_length\":\"1\"}", "{\"type\":\"string\",\"maxLength\":64,\"minLength\":1}"},
        {"{\"type\":\"ARRAY\",\"minItems\":\"1\",\"maxItems\":3,\"items\":{\"type\":\"NUMBER\",\"format\":\"double\",\"minimum\":0.5}}",
         "{\"type\":\"array\",\"minItems\":1,\"maxItems\":3,\"items\":{\"type\":\"number\",\"minimum\":0.5}}"},
        {"{\"nullable\":true,\"type\":\"STRING\",\"format\":\"enum\",\"enum\":[\"a\",\"b\"]}", "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",\"b\",null]}"},
        {"{\"type\":\"INTEGER\",\"format\":\"enum\",\"enum\":[\"101\",\"x\"],\"nullable\":false}", "{\"type\":\"integer\",\"enum\":[101,\"x\"]}"},
        {"{\"any_of\":[{\"type\":\"STRING\",\"format\":\"date-time\"},{\"ref\":\"#/defs/d\"}],\"nullable\":true,\"defs\":{\"d\":{\"type\":\"NULL\"}}}",
         "{\"anyOf\":[{\"type\":\"string\",\"format\":\"date-time\"},{\"$ref\":\"#/$defs/d\"},{\"type\":\"null\"}],\"$defs\":{\"d\":{\"type\":\"null\"}}}"},
        {"{\"type\":\"OBJECT\",\"properties\":{\"format\":{\"type\":\"STRING\",\"example\":\"x\"},\"nullable\":{\"type\":\"TYPE_UNSPECIFIED\"},\"type\":{\"type\":\"BOOLEAN\"}},"
         "\"propertyOrdering\":[\"type\",\"none\",\"format\",\"type\"],\"required\":[\"type\"]}",
         "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"boolean\"},\"format\":{\"type\":\"string\",\"examples\":[\"x\"]},\"nullable\":{}},\"required\":[\"type\"]}"},
        {"{\"type\":[\"STRING\",\"null\"],\"nullable\":true,\"items\":7,\"enum\":8,\"x\":{\"nullable\":true}}", "{\"type\":[\"string\",\"null\"],\"items\":7,\"enum\":8,\"x\":{\"nullable\":true}}"},
        {"{\"type\":[\"integer\",\"null\"],\"format\":\"int32\"}", "{\"type\":[\"integer\",\"null\"]}"},
        {"{\"nullable\":true,\"allOf\":[{\"ref\":\"#/defs/d\"}]}", "{\"allOf\":[{\"$ref\":\"#/$defs/d\"}]}"},
        {"{ \"type\" : \"object\", \"minProperties\":1 }", "{ \"type\" : \"object\", \"minProperties\":1 }"}, /* is one */
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(rows); i++) {
        static char body[4096];
        daruma_buf b = buf_over(body, sizeof body);
        buf_printf(
            &b,
            "{\"contents\":[{\"parts\":[{\"text\":\"x\"}]}],\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\","
            "\"parameters\":%s}]}],\"generationConfig\":{\"responseSchema\":%s}}",
            rows[i][0], rows[i][0]);
        buf_putc(&b, 0);
        daruma_arena a;
        convo c = read_it(body, &a);
        assert_str(c.tools[0].schema, rows[i][1]);
        assert_str(c.set.format_schema, rows[i][1]);
        assert_true(str_eq(written(&c), str_of(body)));
    }
}

static void a_request_is_read(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    assert_int_equal(c.nmessages, 4);
    assert_false(c.edited || c.remote || c.full);
    const convo_message *m = c.messages;
    assert_true(m[0].apart && m[0].role == CONVO_SYSTEM);
    assert_str(convo_text(&c, &m[0].parts[0]), "Be brief");
    assert_int_equal(m[1].role, CONVO_USER);
    assert_int_equal(m[1].nparts, 2);
    assert_str(convo_text(&c, &m[1].parts[0]), "What is in it?");
    assert_int_equal(m[1].parts[1].kind, PART_MEDIA);
    assert_str(m[1].parts[1].media_type, "image/png");
    assert_str(m[1].parts[1].media, "QUJD");
    assert_false(m[1].parts[1].media_url || m[1].parts[1].remote);
    assert_int_equal(m[2].role, CONVO_ASSISTANT);
    assert_str(convo_wire_role(&m[2]), "model");
    assert_int_equal(m[2].nparts, 3);
    assert_int_equal(m[2].parts[0].kind, PART_THINKING);
    assert_false(m[2].parts[0].sealed);
    assert_str(convo_text(&c, &m[2].parts[0]), "I look");
    assert_int_equal(m[2].parts[1].kind, PART_CALL);
    assert_true(m[2].parts[1].sealed);
    assert_str(m[2].parts[1].signature, "c2ln");
    assert_str(m[2].parts[1].name, "read");
    assert_str(m[2].parts[1].id, "");
    assert_str(convo_text(&c, &m[2].parts[1]), "{ \"p\":1 }");
    assert_str(convo_text(&c, &m[2].parts[2]), "{}");
    assert_int_equal(m[3].role, CONVO_USER);
    assert_int_equal(m[3].parts[0].kind, PART_RESULT);
    assert_str(m[3].parts[0].name, "read");
    assert_str(convo_text(&c, &m[3].parts[0]), "a\nb");
    assert_str(convo_text(&c, &m[3].parts[1]), "{\"n\":2,\"ok\":true}");

    assert_int_equal(c.ntools, 3);
    assert_str(c.tools[0].name, "read");
    assert_str(c.tools[0].description, "Reads");
    assert_str(c.tools[0].schema, "{\"type\":\"object\",\"properties\":{\"type\":{\"type\":\"string\"}}}");
    assert_str(convo_schema_path(&c.tools[0], c.arena), "tools.0.functionDeclarations.0.parameters");
    assert_str(convo_schema_path(&c.tools[1], c.arena), "tools.0.functionDeclarations.1.parametersJsonSchema");
    assert_true(c.tools[2].hosted);
    assert_str(c.tools[2].raw, "{\"googleSearch\":{}}");

    const convo_settings *s = &c.set;
    assert_int_equal(s->stream, -1);
    assert_int_equal(s->max_output, 100);
    assert_str(s->max_output_path, "generationConfig.maxOutputTokens");
    assert_str(s->temperature, "0.5");
    assert_str(s->top_p, "0.9");
    assert_str(s->top_k, "40");
    assert_str(s->seed, "7");
    assert_str(s->stop, "[\"END\"]");
    assert_int_equal(s->choice, CHOICE_ONE);
    assert_str(s->choice_name, "read");
    assert_int_equal(s->format, FORMAT_SCHEMA);
    assert_str(s->format_schema, "{\"type\":\"object\"}");
    assert_int_equal(s->thinking, 1);
    assert_int_equal(s->thinking_budget, 512);
    assert_int_equal(s->parallel, -1);
    assert_true(written(&c).n == strlen(REQUEST));
    assert_str(written(&c), REQUEST);
}

static void odd_dresses_are_read_and_kept(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"contents\":[]}",
        "{\"contents\":{\"parts\":{\"text\":\"hi\"}}}",
        "{\"system_instruction\":{\"parts\":{\"text\":\"s\"}},\"contents\":[{\"parts\":{\"text\":\"hi\"}}],"
        "\"tools\":{\"function_declarations\":{\"name\":\"f\",\"parameters\":{}}},\"generation_config\":{}}",
        "{\"contents\":[1,null,\"x\",[],{},{\"parts\":null},{\"parts\":[1,null,\"x\",[],{}]},{\"role\":7,\"parts\":"
        "\"x\"}],\"tools\":7,\"toolConfig\":[],\"generationConfig\":\"x\",\"systemInstruction\":\"s\"}",
        "{\"contents\":[{\"parts\":[{\"functionCall\":{}},{\"functionCall\":null},{\"functionResponse\":{}},"
        "{\"functionResponse\":{\"response\":7,\"parts\":{\"inlineData\":{}}}},{\"inlineData\":{\"data\":7}},"
        "{\"fileData\":{}},{\"text\":7},{\"thought\":true},{\"thoughtSignature\":\"x\"}]}],\"tools\":[1,{},null,"
        "{\"functionDeclarations\":[1,{}]}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":7}}}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        daruma_arena a;
        convo c = read_it(bodies[i], &a);
        assert_str(written(&c), bodies[i]);
        c.edited = true; /* now all of it is walked */
        assert_str(written(&c), bodies[i]);
    }
    daruma_arena a;
    convo c = read_it(bodies[2], &a);
    assert_int_equal(c.nmessages, 2);
    assert_int_equal(c.messages[1].nparts, 1);
    assert_str(convo_schema_path(&c.tools[0], c.arena), "tools.function_declarations.parameters");
    assert_str(c.set.max_output_path, "generation_config.max_output_tokens");
    convo_set_max_output(&c, 5);
    assert_replaced(&c, bodies[2], "\"generation_config\":{}", "\"generation_config\":{\"max_output_tokens\":5}");
}

static void what_is_no_request_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{}", "[]", "{\"contents\":7}", "{\"contents\":[}", "{\"contents\":[]}x"};
    static char deep[4096];
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(g->read(str_of(bad[i]), &a, &c), DARUMA_EINPUT);
    daruma_buf b = buf_over(deep, sizeof deep);
    BUF_LIT(&b, "{\"contents\":");
    for (int i = 0; i < 600; i++)
        buf_putc(&b, '[');
    for (int i = 0; i < 600; i++)
        buf_putc(&b, ']');
    buf_putc(&b, '}');
    assert_int_equal(g->read(buf_str(&b), &a, &c), DARUMA_EDEEP);
    a = arena_over(mem, 600);
    assert_int_equal(g->read(S(REQUEST), &a, &c), DARUMA_EFULL);
}

static void what_lives_on_the_server_is_seen(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it("{\"contents\":[],\"cachedContent\":\"cachedContents/1\"}", &a);
    assert_true(c.remote && c.before);
    c = read_it(FILE_AT("fileData", "fileUri\":\"https://generativelanguage.googleapis.com/v1beta/files/1"), &a);
    assert_true(c.remote && !c.before && c.messages[0].parts[1].remote);
    c = read_it(FILE_AT("fileData", "fileUri\":\"https://example.org/x.png"), &a);
    assert_false(c.remote || c.messages[0].parts[1].remote);
    assert_true(c.messages[0].parts[1].media_url);
    assert_str(c.messages[0].parts[1].media, "https://example.org/x.png");
}

static void thinking_handed_over_is_thinking(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it("{\"contents\":[{\"role\":\"model\",\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"eA==\"},"
                      "{\"text\":\"t\",\"thought_signature\":\"eQ==\"},{\"executableCode\":{\"code\":\"1\"}}]},"
                      "{\"role\":\"function\",\"parts\":[{\"functionResponse\":{\"id\":\"c1\",\"name\":\"f\","
                      "\"response\":{\"error\":\"no\"}}}]}],"
                      "\"generationConfig\":{\"thinkingConfig\":{\"thinkingLevel\":\"LOW\"}}}",
                      &a);
    const convo_part *p = c.messages[0].parts;
    assert_true(p[0].kind == PART_THINKING && p[0].sealed);
    assert_true(p[1].kind == PART_TEXT && p[1].sealed);
    assert_true(p[2].kind == PART_OTHER);
    assert_int_equal(c.messages[1].role, CONVO_TOOL);
    p = c.messages[1].parts;
    assert_true(p->kind == PART_RESULT && p->failed);
    assert_str(p->id, "c1");
    assert_str(convo_text(&c, &c.messages[1].parts[0]), "no");
    assert_str(c.set.effort, "low");
    assert_int_equal(c.set.thinking, 1);
}

static void one_edit_changes_one_thing(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[3], &c.messages[3].parts[0], S("short \"x\""));
    assert_replaced(&c, REQUEST, "\"a\\nb\"", "\"short \\\"x\\\"\"");

    c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[3], &c.messages[3].parts[1], S("short"));
    assert_replaced(&c, REQUEST, "{\"n\":2,\"ok\":true}", "{\"output\":\"short\"}");

    c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[1], &c.messages[1].parts[0], S("Why?"));
    assert_replaced(&c, REQUEST, "\"What is in it?\"", "\"Why?\"");

    c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[2], &c.messages[2].parts[2], S("{\"a\":2}"));
    assert_replaced(&c, REQUEST, "{\"name\":\"list\"}", "{\"name\":\"list\",\"args\":{\"a\":2}}");

    c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[2], &c.messages[2].parts[1], S("{\"p\":2}"));
    assert_replaced(&c, REQUEST, "{ \"p\":1 }", "{\"p\":2}");

    c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[0], &c.messages[0].parts[0], S("Be long"));
    assert_replaced(&c, REQUEST, "\"Be \\u0062rief\"", "\"Be long\"");

    c = read_it(REQUEST, &a);
    convo_drop_part(&c, &c.messages[1], &c.messages[1].parts[1]);
    assert_replaced(&c, REQUEST, ",\n {\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QUJD\"}} ]", "]");

    c = read_it(REQUEST, &a);
    convo_drop_message(&c, &c.messages[0]);
    assert_replaced(&c, REQUEST, ",\n \"systemInstruction\": " SYSTEM, "");

    c = read_it(REQUEST, &a);
    convo_set_max_output(&c, 42);
    assert_replaced(&c, REQUEST, "\"maxOutputTokens\":100", "\"maxOutputTokens\":42");
}

static void what_is_added_is_composed(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    convo_part *p = convo_insert_part(&c, &c.messages[3], 2, PART_RESULT);
    p->name = S("more");
    p->text = S("lost");
    p->failed = true;
    assert_replaced(
        &c, REQUEST, "{\"n\":2,\"ok\":true}}}]",
        "{\"n\":2,\"ok\":true}}},{\"functionResponse\":{\"name\":\"more\",\"response\":{\"error\":\"lost\"}}}"
        "]");

    c = read_it(REQUEST, &a);
    convo_message *m = convo_insert_message(&c, 4, CONVO_USER);
    p = convo_insert_part(&c, m, 0, PART_TEXT);
    p->text = S("go on");
    assert_replaced(&c, REQUEST, RESULTS " ]", RESULTS ",{\"role\":\"user\",\"parts\":[{\"text\":\"go on\"}]}]");

    c = read_it("{\"contents\":{\"parts\":{\"text\":\"hi\"}}}", &a); /* lists are made where more is to stand */
    m = convo_insert_message(&c, 0, CONVO_SYSTEM);
    m->apart = true;
    p = convo_insert_part(&c, m, 0, PART_TEXT);
    p->text = S("s");
    p = convo_insert_part(&c, &c.messages[1], 1, PART_TEXT);
    p->text = S("you");
    assert_str(written(&c), "{\"contents\":[{\"parts\":[{\"text\":\"hi\"},{\"text\":\"you\"}]}],"
                            "\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]}}");

    c = read_it("{\"contents\":[]}", &a); /* the parent of the cap is made */
    convo_set_max_output(&c, 9);
    assert_str(written(&c), "{\"contents\":[],\"generationConfig\":{\"maxOutputTokens\":9}}");
}

static void a_role_that_changes_is_written(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(
        "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"text\":\"a\"}]},{\"parts\":[{\"text\":\"b\"}]}]}", &a);
    c.messages[0].role = CONVO_USER;
    c.messages[1].role = CONVO_ASSISTANT;
    c.messages[0].edited = c.messages[1].edited = c.edited = true;
    assert_str(written(&c), "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]},{\"parts\":[{\"text\":"
                            "\"b\"}],\"role\":\"model\"}]}");
}

static void the_format_steps_down(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    c.set.format = FORMAT_JSON;
    c.set.format_edited = c.edited = true;
    assert_replaced(&c, REQUEST,
                    "\"responseMimeType\":\"application/json\",\"responseSchema\":{\"type\":\"OBJECT\"},"
                    "\"thinkingConfig\":{\"thinkingBudget\":512,\"includeThoughts\":true}",
                    "\"thinkingConfig\":{\"thinkingBudget\":512,\"includeThoughts\":true},"
                    "\"responseMimeType\":\"application/json\"");
    c.set.format = FORMAT_TEXT;
    convo_set_max_output(&c, 7);
    assert_int_equal(str_find(written(&c), S("responseMimeType")), STR_NONE);
    assert_true(str_find(written(&c), S("\"maxOutputTokens\":7")) != STR_NONE);
}

#define WITH_MEDIA                                                                                                     \
    "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"shot\",\"response\":{\"output\":"  \
    "\"ok\"},\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QQ==\"}}, {\"inlineData\":"             \
    "{\"mimeType\":\"image/png\",\"data\":\"Qg==\"}}]}}]}]}"

static void media_of_a_result_is_its_own_part(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(WITH_MEDIA, &a);
    convo_part *r = &c.messages[0].parts[0];
    assert_int_equal(r->nparts, 3);
    assert_int_equal(r->parts[1].kind, PART_MEDIA);
    assert_str(r->parts[2].media, "Qg==");
    assert_str(convo_text(&c, r), "ok");
    convo_drop_part(&c, &c.messages[0], &r->parts[1]);
    assert_replaced(&c, WITH_MEDIA, "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QQ==\"}}, ", "");
    c = read_it(WITH_MEDIA, &a);
    convo_set_text(&c, &c.messages[0], &c.messages[0].parts[0], S("gone"));
    assert_str(written(&c), "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"shot\","
                            "\"response\":{\"output\":\"gone\"}}}]}]}");
    c = read_it(WITH_MEDIA, &a);
    r = &c.messages[0].parts[0];
    convo_set_text(&c, &c.messages[0], &r->parts[0], S("masked"));
    assert_replaced(&c, WITH_MEDIA, "\"ok\"", "\"masked\"");
}

static convo_part *say(convo *c, convo_role role, part_kind kind, const char *text)
{
    convo_message *m = convo_add_message(c, role, (daruma_str){0});
    convo_part *p = convo_add_part(c, m, kind, (daruma_str){0});
    p->text = str_of(text);
    return p;
}

/* As dialect_convert() makes it of a flat conversation: all from fields. */
static void a_converted_conversation_is_composed(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c = {.arena = &a,
               .quirks = g->quirks,
               .set = {.model = S("gemini-3-pro"),
                       .stream = 1,
                       .max_output = 50,
                       .temperature = S("0.2"),
                       .stop = S("\"END\""),
                       .choice = CHOICE_ONE,
                       .choice_name = S("f"),
                       .parallel = -1,
                       .format = FORMAT_SCHEMA,
                       .format_schema = S("{\"type\":\"object\"}"),
                       .thinking = -1,
                       .thinking_budget = -1,
                       .effort = S("low")}};
    say(&c, CONVO_SYSTEM, PART_TEXT, "s");
    c.messages[0].apart = true;
    say(&c, CONVO_USER, PART_TEXT, "look");
    convo_part *p = convo_add_part(&c, &c.messages[1], PART_MEDIA, (daruma_str){0});
    p->media_type = S("image/png");
    p->media = S("QQ==");
    say(&c, CONVO_ASSISTANT, PART_TEXT, "");
    p = say(&c, CONVO_ASSISTANT, PART_CALL, "{\"a\":1}");
    p->id = S("call_1");
    p->name = S("f");
    p = say(&c, CONVO_ASSISTANT, PART_CALL, "not json");
    p->id = S("call_2");
    p->name = S("g");
    say(&c, CONVO_TOOL, PART_RESULT, "one")->id = S("call_1");
    p = say(&c, CONVO_TOOL, PART_RESULT, "two");
    p->id = S("call_2");
    p->failed = true;
    say(&c, CONVO_USER, PART_TEXT, "and?");
    convo_tool tools[] = {{.name = S("f"), .description = S("d"), .schema = S("{\"type\":\"object\"}")},
                          {.hosted = true, .raw = S("{}")}};
    c.tools = tools;
    c.ntools = 2;
    static const char want[] =
        "{\"systemInstruction\":{\"parts\":[{\"text\":\"s\"}]},\"contents\":["
        "{\"role\":\"user\",\"parts\":[{\"text\":\"look\"},{\"inlineData\":{\"mimeType\":\"image/"
        "png\",\"data\":\"QQ==\"}}"
        "]},{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\":1}},\"thoughtSignature\":"
        "\"skip_thought_signature_validator\"},{\"functionCall\":{\"name\":\"g\",\"args\":{\"arguments\":\"not "
        "json\"}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{\"output\":\"one\"}}},"
        "{\"functionResponse\":{\"name\":\"g\",\"response\":{\"error\":\"two\"}}}]},"
        "{\"role\":\"user\",\"parts\":[{\"text\":\"and?\"}]}],"
        "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"description\":\"d\",\"parametersJsonSchema\":{"
        "\"type\":"
        "\"object\"}}]}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"f\"]}}"
        ","
        "\"generationConfig\":{\"maxOutputTokens\":50,\"temperature\":0.2,\"stopSequences\":[\"END\"],"
        "\"responseMimeType\":\"application/json\",\"responseJsonSchema\":{\"type\":\"object\"},"
        "\"thinkingConfig\":{\"thinkingBudget\":1024}}}";
    assert_str(written(&c), want);
    daruma_arena b = arena_over(mem + sizeof mem / 2, sizeof mem / 2);
    convo again;
    assert_int_equal(g->read(S(want), &b, &again), DARUMA_OK);
    assert_int_equal(again.nmessages, 5);
    assert_int_equal(again.set.choice, CHOICE_ONE);
    assert_str(convo_text(&again, &again.messages[3].parts[1]), "two");
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
        cmocka_unit_test(schemas_of_google_are_json_schema),
        cmocka_unit_test(a_request_is_read),
        cmocka_unit_test(odd_dresses_are_read_and_kept),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(what_lives_on_the_server_is_seen),
        cmocka_unit_test(thinking_handed_over_is_thinking),
        cmocka_unit_test(one_edit_changes_one_thing),
        cmocka_unit_test(what_is_added_is_composed),
        cmocka_unit_test(a_role_that_changes_is_written),
        cmocka_unit_test(the_format_steps_down),
        cmocka_unit_test(media_of_a_result_is_its_own_part),
        cmocka_unit_test(a_converted_conversation_is_composed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
