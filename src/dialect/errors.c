/* errors.c - what an error is called in each family of dialects, and what all of them say alike. */
#include "dialect/parts.h"

/* Names the providers use themselves: clients act on them (codex on server_is_overloaded and
 * context_length_exceeded, SDKs on insufficient_quota). NULL type: the status decides. */
// clang-format off
static const error_words by_kind[DARUMA_KINDS] = {
    [DARUMA_UNKNOWN]             = {NULL,                    NULL,                      NULL,                    NULL},
    [DARUMA_CONTEXT_LENGTH]      = {"invalid_request_error", "context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_OUTPUT_LIMIT]        = {"invalid_request_error", "invalid_value",           "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_REQUEST_TOO_LARGE]   = {"invalid_request_error", "request_too_large",       "request_too_large",     "INVALID_ARGUMENT"},
    [DARUMA_RATE_LIMIT]          = {"rate_limit_error",      "rate_limit_exceeded",     "rate_limit_error",      "RESOURCE_EXHAUSTED"},
    [DARUMA_QUOTA]               = {"insufficient_quota",    "insufficient_quota",      "billing_error",         "RESOURCE_EXHAUSTED"},
    [DARUMA_OVERLOADED]          = {"server_error",          "server_is_overloaded",    "overloaded_error",      "UNAVAILABLE"},
    [DARUMA_SERVER_ERROR]        = {"server_error",          "server_error",            "api_error",             "INTERNAL"},
    [DARUMA_TIMEOUT]             = {"server_error",          "timeout",                 "timeout_error",         "DEADLINE_EXCEEDED"},
    [DARUMA_NETWORK]             = {"server_error",          "connection_error",        "api_error",             "UNAVAILABLE"},
    [DARUMA_INTERRUPTED]         = {"server_error",          "stream_interrupted",      "api_error",             "UNAVAILABLE"},
    [DARUMA_AUTH]                = {"invalid_request_error", "invalid_api_key",         "authentication_error",  "UNAUTHENTICATED"},
    [DARUMA_PERMISSION]          = {"invalid_request_error", "permission_denied",       "permission_error",      "PERMISSION_DENIED"},
    [DARUMA_MODEL_NOT_FOUND]     = {"invalid_request_error", "model_not_found",         "not_found_error",       "NOT_FOUND"},
    [DARUMA_ORPHAN_TOOL_CALL]    = {"invalid_request_error", NULL,                      "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_INVALID_MESSAGE]     = {"invalid_request_error", NULL,                      "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_INVALID_TOOL_SCHEMA] = {"invalid_request_error", "invalid_function_parameters", "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_INVALID_PARAMETER]   = {"invalid_request_error", "invalid_value",           "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_CONTENT_FILTER]      = {"invalid_request_error", "content_filter",          "invalid_request_error", "INVALID_ARGUMENT"},
    [DARUMA_MALFORMED_OUTPUT]    = {"server_error",          "malformed_output",        "api_error",             "INTERNAL"},
    [DARUMA_TOOL_ERROR]          = {"server_error",          "tool_error",              "api_error",             "INTERNAL"},
    [DARUMA_TOOL_UNKNOWN]        = {"server_error",          "tool_unknown",            "api_error",             "INTERNAL"},
    [DARUMA_TOOL_ARGUMENTS]      = {"server_error",          "tool_arguments",          "api_error",             "INTERNAL"},
    [DARUMA_LOOP]                = {"server_error",          "loop",                    "api_error",             "INTERNAL"},
    [DARUMA_STUCK]               = {"server_error",          "stuck",                   "api_error",             "INTERNAL"},
    [DARUMA_PLAN_INVALID]        = {"server_error",          "plan_invalid",            "api_error",             "INTERNAL"},
    [DARUMA_BUDGET]              = {"server_error",          "budget_exhausted",        "api_error",             "INTERNAL"},
    [DARUMA_CANCELLED]           = {"server_error",          "cancelled",               "api_error",             "CANCELLED"},
};

/* For failures nobody could name; the last row that is not above the status. */
static const struct { int status; error_words words; } by_status[] = {
    {0,   {"server_error",          NULL,                   "api_error",             "INTERNAL"}},
    {400, {"invalid_request_error", NULL,                   "invalid_request_error", "INVALID_ARGUMENT"}},
    {401, {"invalid_request_error", "invalid_api_key",      "authentication_error",  "UNAUTHENTICATED"}},
    {402, {"insufficient_quota",    "insufficient_quota",   "billing_error",         "FAILED_PRECONDITION"}},
    {403, {"invalid_request_error", "permission_denied",    "permission_error",      "PERMISSION_DENIED"}},
    {404, {"invalid_request_error", "not_found",            "not_found_error",       "NOT_FOUND"}},
    {405, {"invalid_request_error", NULL,                   "invalid_request_error", "INVALID_ARGUMENT"}},
    {413, {"invalid_request_error", "request_too_large",    "request_too_large",     "INVALID_ARGUMENT"}},
    {414, {"invalid_request_error", NULL,                   "invalid_request_error", "INVALID_ARGUMENT"}},
    {429, {"rate_limit_error",      "rate_limit_exceeded",  "rate_limit_error",      "RESOURCE_EXHAUSTED"}},
    {430, {"invalid_request_error", NULL,                   "invalid_request_error", "INVALID_ARGUMENT"}},
    {500, {"server_error",          NULL,                   "api_error",             "INTERNAL"}},
    {503, {"server_error",          NULL,                   "api_error",             "UNAVAILABLE"}},
    {504, {"server_error",          NULL,                   "api_error",             "DEADLINE_EXCEEDED"}},
    {505, {"server_error",          NULL,                   "api_error",             "INTERNAL"}},
    {529, {"server_error",          "server_is_overloaded", "overloaded_error",      "UNAVAILABLE"}},
    {530, {"server_error",          NULL,                   "api_error",             "UNAVAILABLE"}},
};
// clang-format on

error_words error_words_of(daruma_kind kind, int status)
{
    error_words w = by_kind[kind];
    if (!w.type)
        for (size_t i = 0; i < sizeof by_status / sizeof *by_status && by_status[i].status <= status; i++)
            w = by_status[i].words;
    return w.type ? w : by_status[0].words;
}

void put_cstr(daruma_buf *out, const char *z)
{
    if (z)
        buf_json(out, str_of(z));
    else
        BUF_LIT(out, "null");
}

void event_open(daruma_buf *out, const char *type)
{
    BUF_LIT(out, "event: ");
    buf_putz(out, type);
    BUF_LIT(out, "\ndata: {\"type\":");
    put_cstr(out, type);
}

void event_end(daruma_buf *out)
{
    BUF_LIT(out, "}\n\n");
}

void error_note(daruma_buf *out, const daruma_failure *f, daruma_str note)
{
    BUF_LIT(out, ",\"daruma\":{\"kind\":");
    put_cstr(out, daruma_kind_name(f->kind));
    if (note.n) {
        BUF_LIT(out, ",\"explanation\":");
        buf_json(out, note);
    }
    buf_putc(out, '}');
}

void error_object(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note)
{
    error_words w = error_words_of(f->kind, status);
    BUF_LIT(out, "{\"message\":");
    buf_json(out, message);
    BUF_LIT(out, ",\"type\":");
    put_cstr(out, w.type);
    BUF_LIT(out, ",\"param\":");
    if (f->kind == DARUMA_INVALID_PARAMETER && f->subject.n)
        buf_json(out, f->subject);
    else
        BUF_LIT(out, "null");
    BUF_LIT(out, ",\"code\":");
    put_cstr(out, w.code);
    error_note(out, f, note);
    buf_putc(out, '}');
}
