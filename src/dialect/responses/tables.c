/* tables.c - OpenAI Responses: https://platform.openai.com/docs/api-reference/responses
 * and .../responses-streaming. */
#include "dialect/responses/responses.h"

// clang-format off
static const scan_key keys[] = {
    {LIT("model"),                SCAN_MODEL},
    {LIT("input"),                SCAN_MESSAGES},
    {LIT("instructions"),         SCAN_SYSTEM},
    {LIT("stream"),               SCAN_STREAM},
    {LIT("tools"),                SCAN_TOOLS},
    {LIT("text"),                 SCAN_FORMAT_IN},
    {LIT("max_output_tokens"),    SCAN_MAX},
    {LIT("previous_response_id"), SCAN_BEFORE},
    {LIT("conversation"),         SCAN_BEFORE_ID},
    {LIT("store"),                SCAN_STORE},
    {LIT("prompt"),               SCAN_PROMPT},
    {LIT("background"),           SCAN_BEHIND},
};
// clang-format on

/* Messages, reasoning and calls of functions add no tools; of another item that is referred to nobody knows. */
static bool may_add_tools(daruma_str reference)
{
    daruma_str id = value_raw(json_get(reference, S("id")));
    return !str_starts(id, S("msg_")) && !str_starts(id, S("rs_")) && !str_starts(id, S("fc_"));
}

/* Items that only the account they came from can read: references, and reasoning, whose content is
 * kept by the server or encrypted for the organisation. And tools that are added on the way. */
static void scan_items(request_scan *r)
{
    daruma_str item, key, value;
    if (!json_is_array(r->messages))
        return;
    json_iter it = json_open(r->messages), m;
    for (it.quick = true; json_next(&it, NULL, &item);)
        for (m = json_open(item), m.quick = true; json_next(&m, &key, &value);)
            if (key_is(key, S("type"))) {
                bool refers = value_is(value, S("item_reference"));
                r->remote |= refers || value_is(value, S("reasoning"));
                r->more_tools |= (refers && may_add_tools(item)) || value_is(value, S("additional_tools")) ||
                                 value_is(value, S("tool_search_output"));
                break;
            }
}

static request_scan responses_scan(daruma_str body, uint32_t *newest, bool strict)
{
    request_scan r = scan_request(body, keys, COUNT(keys), &hosted_responses, newest, strict);
    r.more_tools = r.before != 0; /* what went before may have added some */
    if (r.ok)
        scan_items(&r);
    return r;
}

/* An event up to its own members. */
static void event(daruma_buf *out, const char *type, int64_t nth)
{
    event_open(out, type);
    BUF_SAY(out, ",\"sequence_number\":", nth);
}

/* Two events, as OpenAI does it: SDKs throw on `error`, codex and agents read `response.failed`. The
 * error stands flat and nested, for both spellings are in use. */
static void responses_write_stream_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                                         daruma_str note, const turn_reader *r)
{
    kind_wire w = error_words_of(f->kind, status);
    bool begun = r && r->began;
    int64_t next = begun ? r->sequence + 1 : 0;
    event(out, "error", next);
    BUF_LIT(out, ",\"code\":");
    put_cstr(out, w.code);
    BUF_SAY(out, ",\"message\":", buf_quoted(message), ",\"param\":null,\"error\":");
    error_object(out, f, status, message, note);
    event_end(out);

    event(out, "response.failed", next + 1);
    BUF_LIT(out, ",\"response\":");
    responses_put_head(out, begun ? turn_id(r) : S("resp_daruma0000000000000000"), begun ? r->created : 0, "failed");
    BUF_LIT(out, "{\"code\":");
    put_cstr(out, w.code ? w.code : w.type);
    BUF_MEMBERS(out, "message", message);
    error_note(out, f, note);
    buf_putc(out, '}');
    responses_put_settings(out, begun ? str_of(r->model) : S(""), NULL);
    BUF_LIT(out, "],\"usage\":null}");
    event_end(out);
}

const dialect dialect_openai_responses = {
    .name = "openai-responses",
    .provider = LIT("openai"),
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .path = LIT("/v1/responses"),
    .messages = LIT("input"),
    .cap_path = LIT("max_output_tokens"),
    .formats = {LIT("text")},
    .remote_marks = {LIT("\"file_id\""), LIT("\"vector_store_ids\""), LIT("\"container\"")},
    .asks_stream = LIT("\"stream\":true"),
    .choice_path = LIT("tool_choice"),
    .choice_none = LIT("\"none\""),
    .heartbeat = LIT(": daruma is waiting\n\n"),
    .comments = true,
    .ends_streams = true,
    .scan = responses_scan,
    .is_error = openai_is_error,
    .write_error = openai_write_error,
    .write_stream_error = responses_write_stream_error,
    .quirks = RESPONSES_QUIRKS,
    SHAPE_ROW(responses),
};
