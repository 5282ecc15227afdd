/* tables.c - Google's generateContent and streamGenerateContent, of the Gemini API and of Vertex AI:
 * https://ai.google.dev/api/generate-content. Model and stream stand in the path: dialect_path_model(). A stream has
 * no terminal marker; it ends with the event that has a finishReason. What is one of many may stand without its array.
 */
#include "dialect/kit/parts.h"
#include "dialect/kit/shapes.h"

// clang-format off
static const scan_key keys[] = {
    {LIT("contents"),           SCAN_MESSAGES},
    {LIT("systemInstruction"),  SCAN_SYSTEM},
    {LIT("system_instruction"), SCAN_SYSTEM},
    {LIT("tools"),              SCAN_TOOLS},
    {LIT("generationConfig"),   SCAN_CONFIG},
    {LIT("generation_config"),  SCAN_CONFIG},
    /* Belongs to the project that made it, so no other account is asked. It is read, and a request that names it changes
     * nothing: one whose answer was lost is asked again. What makes it is POST .../cachedContents, which is not.
     * https://ai.google.dev/api/caching */
    {LIT("cachedContent"),      SCAN_STATE},
    {LIT("cached_content"),     SCAN_STATE},
};

/* What a finishReason means: https://ai.google.dev/api/generate-content#FinishReason. TOLD: no text is an honest
 * answer, asking again gives the same. BROKEN: the model wrote something that Google could not read. */
typedef enum reason_means { REASON_DONE, REASON_TOLD, REASON_BROKEN } reason_means;
static const struct { daruma_str reason; reason_means means; } reasons[] = {
    {LIT("MAX_TOKENS"),                REASON_TOLD},
    {LIT("SAFETY"),                    REASON_TOLD},
    {LIT("RECITATION"),                REASON_TOLD},
    {LIT("LANGUAGE"),                  REASON_TOLD},
    {LIT("BLOCKLIST"),                 REASON_TOLD},
    {LIT("PROHIBITED_CONTENT"),        REASON_TOLD},
    {LIT("SPII"),                      REASON_TOLD},
    {LIT("MODEL_ARMOR"),               REASON_TOLD},
    {LIT("IMAGE_SAFETY"),              REASON_TOLD},
    {LIT("IMAGE_PROHIBITED_CONTENT"),  REASON_TOLD},
    {LIT("IMAGE_RECITATION"),          REASON_TOLD},
    {LIT("IMAGE_OTHER"),               REASON_TOLD},
    {LIT("NO_IMAGE"),                  REASON_TOLD},
    {LIT("MALFORMED_FUNCTION_CALL"),   REASON_BROKEN},
    {LIT("MALFORMED_RESPONSE"),        REASON_BROKEN},
    {LIT("UNEXPECTED_TOOL_CALL"),      REASON_BROKEN},
    {LIT("TOO_MANY_TOOL_CALLS"),       REASON_BROKEN},
    {LIT("MISSING_THOUGHT_SIGNATURE"), REASON_BROKEN},
};
// clang-format on

static reason_means meaning(daruma_str reason)
{
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (str_eq(reason, reasons[i].reason))
            return reasons[i].means;
    return REASON_DONE;
}

static bool names_upload(daruma_str part)
{
    daruma_str key, value;
    json_iter it = json_open(part);
    for (it.quick = true; json_next(&it, &key, &value);)
        if (key_camel(key, S("fileData"))) {
            daruma_str uri = json_get(value, S("fileUri"));
            return gemini_is_uploaded(value_raw(uri.n ? uri : json_get(value, S("file_uri"))));
        }
    return false;
}

static bool names_uploads(daruma_str contents)
{
    daruma_str message, part;
    if (str_find(contents, S("fileData")) == STR_NONE && str_find(contents, S("file_data")) == STR_NONE)
        return false;
    json_iter it = json_open(contents);
    for (it.quick = true; json_next(&it, NULL, &message);) {
        json_iter parts = json_open(json_get(message, S("parts")));
        for (parts.quick = true; json_next(&parts, NULL, &part);)
            if (names_upload(part))
                return true;
    }
    return false;
}

static request_scan gemini_scan(daruma_str body, uint32_t *newest)
{
    request_scan r = scan_request(body, keys, COUNT(keys), &hosted_gemini, newest);
    if (r.ok && !r.remote)
        r.remote = names_uploads(r.messages);
    return r;
}

/* What a response says, or all the responses of a stream that came as one array. */
typedef struct answer_parts {
    bool known;                       /* has a member that only responses have */
    bool odd;                         /* candidates that are none */
    bool text, calls, thought, other; /* other: media, code and what it gave */
    bool effects;                     /* ... what must not be done twice */
    bool error;
    daruma_str finish;  /* of the first candidate, without quotes */
    daruma_str blocked; /* why the prompt was refused */
    choice_set set;
    size_t n;        /* candidates so far */
    int64_t in, out; /* tokens, -1 not said */
} answer_parts;

static void pass_part(answer_parts *a, json_iter *it)
{
    daruma_str key, value;
    bool text = false, thought = false;
    json_iter part = json_enter(it);
    while (json_next(&part, &key, &value))
        if (key_is(key, S("text")))
            text = value_given(value);
        else if (key_is(key, S("thought")))
            thought = json_is_true(value);
        else if (key_camel(key, S("functionCall")))
            a->calls |= value_given(value);
        else if (json_is_object(value) && !key_camel(key, S("videoMetadata")) && !key_camel(key, S("partMetadata"))) {
            a->other = true; /* inlineData, executableCode, codeExecutionResult, ... */
            a->effects |= hosted_part(key, value);
        }
    json_leave(it, &part, NULL);
    a->text |= text && !thought;
    a->thought |= text && thought;
}

static void pass_content(answer_parts *a, json_iter *it)
{
    daruma_str key;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return;
    }
    json_iter content = json_enter(it);
    while (json_step(&content, &key))
        if (key_is(key, S("parts")) && *content.p == '[') {
            json_iter parts = json_enter(&content);
            while (json_step(&parts, NULL))
                if (*parts.p == '{')
                    pass_part(a, &parts);
                else
                    json_pass(&parts, NULL);
            json_leave(&content, &parts, NULL);
        } else {
            json_pass(&content, NULL);
        }
    json_leave(it, &content, NULL);
}

static void pass_candidate(answer_parts *a, json_iter *it)
{
    daruma_str key, value, finish = {0}, index = {0};
    json_iter candidate = json_enter(it);
    while (json_step(&candidate, &key))
        if (key_is(key, S("content")))
            pass_content(a, &candidate);
        else if (!json_pass(&candidate, &value))
            break;
        else if (key_camel(key, S("finishReason")))
            finish = str_eq(value_raw(value), S("FINISH_REASON_UNSPECIFIED")) ? (daruma_str){0} : value_raw(value);
        else if (key_is(key, S("index")))
            index = value;
    json_leave(it, &candidate, NULL);
    choice_add(&a->set, index, a->n++, finish.n > 0);
    if (!a->finish.n)
        a->finish = finish;
}

static void pass_candidates(answer_parts *a, json_iter *it)
{
    daruma_str value;
    if (*it->p != '[') {
        a->odd |= json_pass(it, &value) && !json_is_null(value);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_candidate(a, &list);
        else
            a->odd |= json_pass(&list, NULL);
    json_leave(it, &list, NULL);
}

/* Thinking is counted beside the answer, and is output. */
static void take_usage(answer_parts *a, daruma_str usage)
{
    daruma_str key, value;
    int64_t said = -1, thinking = -1;
    for (json_iter it = json_open(usage); json_next(&it, &key, &value);)
        if (key_is(key, S("promptTokenCount")))
            a->in = json_int(value, a->in);
        else if (key_is(key, S("candidatesTokenCount")))
            said = json_int(value, said);
        else if (key_is(key, S("thoughtsTokenCount")))
            thinking = json_int(value, thinking);
    if (said >= 0 || thinking >= 0)
        a->out = add_sat(said > 0 ? said : 0, thinking > 0 ? thinking : 0);
}

static void pass_members(answer_parts *a, json_iter *it)
{
    daruma_str key, value;
    while (json_step(it, &key))
        if (key_is(key, S("candidates"))) {
            pass_candidates(a, it);
            a->known = true;
        } else if (!json_pass(it, &value)) {
            return;
        } else if (key_camel(key, S("usageMetadata"))) {
            take_usage(a, value);
            a->known = true;
        } else if (key_camel(key, S("promptFeedback"))) {
            daruma_str reason = json_get(value, S("blockReason"));
            a->blocked = value_raw(reason.n ? reason : json_get(value, S("block_reason")));
            a->known = true;
        } else if (key_camel(key, S("modelVersion")) || key_camel(key, S("responseId"))) {
            a->known = true;
        } else {
            a->error |= is_error_shape(key, value);
        }
}

/* Reads a whole body: one response, or the array of them that streamGenerateContent gives without alt=sse. False when
 * it is neither, or broken. */
static bool read_body(answer_parts *a, daruma_str body)
{
    body = str_trim(body);
    json_iter it = json_open(body);
    if (json_is_object(body)) {
        pass_members(a, &it);
    } else if (json_is_array(body)) {
        while (json_step(&it, NULL)) {
            if (*it.p != '{') {
                a->odd |= json_pass(&it, NULL);
                continue;
            }
            json_iter response = json_enter(&it);
            pass_members(a, &response);
            json_leave(&it, &response, NULL);
        }
        a->known = true; /* also when empty: nothing came */
    }
    return !it.bad && it.p == it.end;
}

static answer_view gemini_check_answer(daruma_str body, daruma_arena *scratch)
{
    answer_parts a = {.in = -1, .out = -1};
    (void)scratch;
    bool whole = read_body(&a, body), nothing = str_eq(str_trim(body), S("{}"));
    answer_view v = {.finish = a.finish.n ? a.finish : a.blocked,
                     .text = a.text,
                     .calls = a.calls,
                     .effects = a.effects,
                     .input_tokens = a.in,
                     .output_tokens = a.out};
    reason_means means = meaning(a.finish);
    v.spoilt = means == REASON_BROKEN;
    if (!whole)
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (a.error)
        v.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (a.odd || v.spoilt || !(a.known || nothing))
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (!a.text && !a.calls && !a.other && means != REASON_TOLD && !a.blocked.n)
        v.flaw = DARUMA_FLAW_EMPTY;
    return v;
}

/* A blocked prompt ends the stream as a finishReason does. An event without anything is what our heartbeat looks like.
 */
static void gemini_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    answer_parts a = {.in = -1, .out = -1};
    (void)scratch;
    if (watch_plain(v, e))
        return;
    json_iter it = whole_open(e->data);
    pass_members(&a, &it);
    if (!whole_ok(&it)) {
        v->broken = true;
        return;
    }
    v->effects |= a.effects;
    if (a.error) {
        watch_error(v, e->data);
        return;
    }
    daruma_str finish = a.finish.n ? a.finish : a.blocked;
    bool content = a.text || a.calls || a.thought || a.other;
    v->ping = !content && !finish.n && a.in < 0;
    v->began |= !v->ping;
    v->content |= content;
    v->spoilt = meaning(a.finish) == REASON_BROKEN;
    v->broken = a.odd || v->spoilt;
    v->told |= a.blocked.n > 0 || meaning(a.finish) == REASON_TOLD;
    watch_finish(v, finish);
    watch_choices(v, &a.set);
    v->finished |= a.blocked.n > 0;
    v->done |= v->finished;
    if (a.in >= 0)
        v->input_tokens = a.in;
    if (a.out >= 0)
        v->output_tokens = a.out;
}

/* {"error":{"code":429,"message":...,"status":"RESOURCE_EXHAUSTED"}}; in an array where an array was to come. */
static bool gemini_is_error(daruma_str body)
{
    daruma_str first;
    body = str_trim(body);
    if (!json_valid(body))
        return false;
    json_iter it = json_open(body);
    if (json_is_array(body) && json_next(&it, NULL, &first))
        body = first;
    daruma_str error = json_is_object(body) ? json_get(body, S("error")) : (daruma_str){0};
    return json_is_object(error) && json_is_string(json_get(error, S("message"))) &&
           (json_is_number(json_get(error, S("code"))) || value_given(json_get(error, S("status"))));
}

/* SDKs take an error in a stream for one only with a code of 400 to 599. */
static void gemini_write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                               daruma_str note)
{
    int code = status >= 400 && status <= 599 ? status : f->status >= 400 && f->status <= 599 ? f->status : 500;
    BUF_LIT(out, "{\"error\":{\"code\":");
    buf_int(out, code);
    BUF_LIT(out, ",\"message\":");
    buf_json(out, message);
    BUF_LIT(out, ",\"status\":");
    put_cstr(out, error_words_of(f->kind, code).rpc);
    if (f->retryable && f->wait > 0) {
        BUF_LIT(out, ",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"");
        buf_int(out, f->wait / 1000 + (f->wait % 1000 > 0));
        BUF_LIT(out, "s\"}]");
    }
    error_note(out, f, note);
    BUF_LIT(out, "}}");
}

static void gemini_write_stream_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                                      daruma_str note, const turn_reader *r)
{
    (void)r;
    BUF_LIT(out, "data: ");
    gemini_write_error(out, f, status, message, note);
    BUF_LIT(out, "\n\n");
}

/* No comment as a heartbeat: @google/generative-ai fails on everything in a stream that is not data. An event without
 * candidates is passed over by every SDK. */
const dialect dialect_gemini = {
    .name = "gemini",
    .provider = LIT("gemini"),
    .key_header = "x-goog-api-key",
    .key_prefix = "",
    .messages = LIT("contents"),
    .choice_path = LIT("toolConfig"),
    .choice_none = LIT("{\"functionCallingConfig\":{\"mode\":\"NONE\"}}"),
    .older_sign = LIT("tool_config"),
    .older_choice_path = LIT("tool_config"),
    .heartbeat = LIT("data: {\"candidates\":[]}\n\n"),
    .scan = gemini_scan,
    .check = gemini_check_answer,
    .watch = gemini_watch,
    .is_error = gemini_is_error,
    .write_error = gemini_write_error,
    .write_stream_error = gemini_write_stream_error,
    .read_answer = gemini_read_answer,
    .write_answer = gemini_write_answer,
    .finish = gemini_finish_of,
    .read_delta = gemini_read_delta,
    .write_delta = gemini_write_delta,
    .quirks = GEMINI_QUIRKS,
    .read = gemini_read,
    .write = gemini_write,
};
