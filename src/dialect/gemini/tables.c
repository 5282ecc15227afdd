/* tables.c - Google's generateContent and streamGenerateContent, of the Gemini API and of Vertex AI:
 * https://ai.google.dev/api/generate-content. Model and stream stand in the path: dialect_path_model(). A stream has
 * no terminal marker; it ends with the event that has a finishReason. What is one of many may stand without its array.
 */
#include "dialect/gemini/gemini.h"

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
// clang-format on

// clang-format off
static const finish_name finishes[] = {
    {LIT("STOP"),                      FINISH_STOP,   false},
    {LIT("STOP"),                      FINISH_CALLS,  false},
    {LIT("MAX_TOKENS"),                FINISH_LENGTH, true},
    {LIT("MAX_TOKENS"),                FINISH_WINDOW, true},
    {LIT("SAFETY"),                    FINISH_FILTER, true},
    {LIT("STOP"),                      FINISH_PAUSE,  false},
    {LIT("MALFORMED_RESPONSE"),        FINISH_ERROR,  false},
    {LIT("RECITATION"),                FINISH_FILTER, true},
    {LIT("LANGUAGE"),                  FINISH_FILTER, true},
    {LIT("BLOCKLIST"),                 FINISH_FILTER, true},
    {LIT("PROHIBITED_CONTENT"),        FINISH_FILTER, true},
    {LIT("SPII"),                      FINISH_FILTER, true},
    {LIT("MODEL_ARMOR"),               FINISH_FILTER, true},
    {LIT("IMAGE_SAFETY"),              FINISH_FILTER, true},
    {LIT("IMAGE_PROHIBITED_CONTENT"),  FINISH_FILTER, true},
    {LIT("IMAGE_RECITATION"),          FINISH_FILTER, true},
    {LIT("MALFORMED_FUNCTION_CALL"),   FINISH_ERROR,  false},
    {LIT("UNEXPECTED_TOOL_CALL"),      FINISH_ERROR,  false},
    {LIT("TOO_MANY_TOOL_CALLS"),       FINISH_ERROR,  false},
    {LIT("MISSING_THOUGHT_SIGNATURE"), FINISH_ERROR,  false},
    {LIT("NO_IMAGE"),                  FINISH_STOP,   true},
    {LIT("IMAGE_OTHER"),               FINISH_STOP,   true},
};
// clang-format on
const finish_table gemini_finishes = {finishes, COUNT(finishes)};

turn_finish gemini_finish_of(daruma_str raw)
{
    return finish_of(&gemini_finishes, raw);
}

turn_finish gemini_finish_means(daruma_str reason, bool calls)
{
    turn_finish f = gemini_finish_of(reason);
    return f == FINISH_STOP && calls ? FINISH_CALLS : f;
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

static request_scan gemini_scan(daruma_str body, uint32_t *newest, bool strict)
{
    request_scan r = scan_request(body, keys, COUNT(keys), &hosted_gemini, newest, strict);
    if (r.ok && !r.remote)
        r.remote = names_uploads(r.messages);
    return r;
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
    BUF_SAY(out, "{\"error\":{\"code\":", code, ",\"message\":", buf_quoted(message), ",\"status\":");
    put_cstr(out, error_words_of(f->kind, code).rpc);
    if (f->retryable && f->wait > 0) {
        BUF_SAY(out, ",\"details\":[{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"",
                f->wait / 1000 + (f->wait % 1000 > 0), "s\"}]");
    }
    error_note(out, f, note);
    BUF_LIT(out, "}}");
}

/* No comment as a heartbeat: @google/generative-ai fails on everything in a stream that is not data. An event without
 * candidates is passed over by every SDK. */
const dialect dialect_gemini = {
    .name = "gemini",
    .provider = LIT("gemini"),
    .key_header = "x-goog-api-key",
    .key_prefix = "",
    .messages = LIT("contents"),
    .cap_path = LIT("generationConfig.maxOutputTokens"),
    .formats = {LIT("generationConfig")},
    .choice_path = LIT("toolConfig"),
    .choice_none = LIT("{\"functionCallingConfig\":{\"mode\":\"NONE\"}}"),
    .older_sign = LIT("tool_config"),
    .older_choice_path = LIT("tool_config"),
    .heartbeat = LIT("data: {\"candidates\":[]}\n\n"),
    .scan = gemini_scan,
    .is_error = gemini_is_error,
    .write_error = gemini_write_error,
    .error_event = LIT("data: "),
    .quirks = GEMINI_QUIRKS,
    SHAPE_ROW(gemini),
};
