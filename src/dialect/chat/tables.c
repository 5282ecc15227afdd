/* tables.c - OpenAI Chat Completions, as OpenAI and the many who copy it send it:
 * https://platform.openai.com/docs/api-reference/chat and .../chat-streaming. */
#include "dialect/kit/parts.h"
#include "dialect/kit/shapes.h"

// clang-format off
static const scan_key keys[] = {
    {LIT("model"),                 SCAN_MODEL},
    {LIT("messages"),              SCAN_MESSAGES},
    {LIT("stream"),                SCAN_STREAM},
    {LIT("tools"),                 SCAN_TOOLS},
    {LIT("functions"),             SCAN_FUNCTIONS},
    {LIT("response_format"),       SCAN_FORMAT},
    {LIT("max_tokens"),            SCAN_MAX},
    {LIT("max_completion_tokens"), SCAN_MAX},
    {LIT("n"),                     SCAN_CHOICES},
    {LIT("stream_options"),        SCAN_OPTIONS},
};
// clang-format on

static request_scan chat_scan(daruma_str body, uint32_t *newest, bool strict)
{
    return scan_request(body, keys, COUNT(keys), &hosted_chat, newest, strict);
}

const dialect dialect_openai = {
    .name = "openai",
    .provider = LIT("openai"),
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .path = LIT("/v1/chat/completions"),
    .messages = LIT("messages"),
    .cap_path = LIT("max_completion_tokens"),
    .formats = {LIT("response_format")},
    .remote_marks = {LIT("\"file_id\""), LIT("\"audio\"")},
    .asks_stream = LIT("\"stream\":true,\"stream_options\":{\"include_usage\":true}"),
    .choice_path = LIT("tool_choice"),
    .choice_none = LIT("\"none\""),
    .older_sign = LIT("functions"),
    .older_choice_path = LIT("function_call"),
    .heartbeat = LIT(": daruma is waiting\n\n"),
    .comments = true,
    .ends_streams = true,
    .terminal = LIT("data: [DONE]\n\n"),
    .scan = chat_scan,
    .is_error = openai_is_error,
    .write_error = openai_write_error,
    .error_event = LIT("data: "), /* and no [DONE] behind it: clients take that for success */
    .quirks = CHAT_QUIRKS,
    SHAPE_ROW(chat),
};
