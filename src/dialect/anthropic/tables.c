/* tables.c - Anthropic Messages: https://docs.anthropic.com/en/api/messages and
 * .../messages-streaming. */
#include "dialect/kit/parts.h"
#include "dialect/kit/shapes.h"

// clang-format off
static const scan_key keys[] = {
    {LIT("model"),          SCAN_MODEL},
    {LIT("messages"),       SCAN_MESSAGES},
    {LIT("system"),         SCAN_SYSTEM},
    {LIT("stream"),         SCAN_STREAM},
    {LIT("tools"),          SCAN_TOOLS},
    {LIT("output_config"), SCAN_FORMAT_IN},
    {LIT("output_format"), SCAN_FORMAT}, /* its name while it was beta */
    {LIT("max_tokens"),    SCAN_MAX},
    {LIT("container"),      SCAN_STATE_ID}, /* of code execution */
    {LIT("thread"),         SCAN_THREAD},
    {LIT("mcp_servers"),    SCAN_SERVERS},
};

// clang-format on

static request_scan anthropic_scan(daruma_str body, uint32_t *newest, bool strict)
{
    return scan_request(body, keys, COUNT(keys), &hosted_anthropic, newest, strict);
}

static bool anthropic_is_error(daruma_str body)
{
    daruma_str error = json_valid(body) ? json_get(str_trim(body), S("error")) : (daruma_str){0};
    return value_given(json_get(error, S("type"))) && json_is_string(json_get(error, S("message")));
}

static void anthropic_write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                                  daruma_str note)
{
    BUF_LIT(out, "{\"type\":\"error\",\"error\":{\"type\":");
    put_cstr(out, error_words_of(f->kind, status).messages);
    BUF_SAY(out, ",\"message\":", buf_quoted(message));
    if (str_starts(f->code, S("thread_"))) { /* clients act on it */
        BUF_SAY(out, ",\"details\":{\"error_code\":", buf_quoted(f->code), "}");
    }
    error_note(out, f, note);
    BUF_LIT(out, "}}");
}

const dialect dialect_anthropic = {
    .name = "anthropic",
    .provider = LIT("anthropic"),
    .key_header = "x-api-key",
    .key_prefix = "",
    .version = {LIT("anthropic-version"), LIT("2023-06-01")},
    .path = LIT("/v1/messages"),
    .messages = LIT("messages"),
    .cap_path = LIT("max_tokens"),
    .formats = {LIT("output_config"), LIT("output_format")},
    .remote_marks = {LIT("\"file_id\"")},
    .asks_stream = LIT("\"stream\":true"),
    .choice_path = LIT("tool_choice"),
    .choice_none = LIT("{\"type\":\"none\"}"),
    .heartbeat = LIT("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
    .comments = true,
    .ends_streams = true,
    .terminal = LIT("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
    .scan = anthropic_scan,
    .is_error = anthropic_is_error,
    .write_error = anthropic_write_error,
    .error_event = LIT("event: error\ndata: "),
    .quirks = ANTHROPIC_QUIRKS,
    SHAPE_ROW(anthropic),
};
