/* errors.c - what an error is called in each family of dialects, and what all of them say alike. */
#include "dialect/kit/parts.h"

// clang-format off
/* For failures nobody could name; the last row that is not above the status. */
static const struct { int status; kind_wire words; } by_status[] = {
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

kind_wire error_words_of(daruma_kind kind, int status)
{
    kind_wire w = kind_rows[kind].wire;
    if (!w.type)
        for (size_t i = 0; i < COUNT(by_status) && by_status[i].status <= status; i++)
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
    BUF_SAY(out, "event: ", type, "\ndata: {\"type\":\"", type, "\"");
}

void event_end(daruma_buf *out)
{
    BUF_LIT(out, "}\n\n");
}

void error_note(daruma_buf *out, const daruma_failure *f, daruma_str note)
{
    BUF_LIT(out, ",\"daruma\":");
    BUF_OBJECT(out, "kind", daruma_kind_name(f->kind), "explanation", buf_any(note));
}

void error_object(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note)
{
    kind_wire w = error_words_of(f->kind, status);
    bool before = str_eq(f->code, S(CODE_BEFORE_LOST)); /* clients act on it */
    const char *code = before ? CODE_BEFORE_LOST : w.code;
    buf_part null = buf_raw(S("null")), param = before ? buf_quoted(S("previous_response_id"))
                                                : f->kind == DARUMA_INVALID_PARAMETER && f->subject.n
                                                    ? buf_quoted(f->subject)
                                                    : null;
    buf_putc(out, '{');
    BUF_MEMBERS(out, "message", message, "type", w.type, "param", param, "code",
                code ? buf_quoted(str_of(code)) : null);
    error_note(out, f, note);
    buf_putc(out, '}');
}

bool openai_is_error(daruma_str body)
{
    return json_valid(body) && value_given(json_get(json_get(str_trim(body), S("error")), S("message")));
}

void openai_write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note)
{
    BUF_LIT(out, "{\"error\":");
    error_object(out, f, status, message, note);
    buf_putc(out, '}');
}

void dialect_write_stream_error(const dialect *d, daruma_buf *out, const daruma_failure *f, int status,
                                daruma_str message, daruma_str note, const turn_reader *r)
{
    if (d->write_stream_error) {
        d->write_stream_error(out, f, status, message, note, r);
        return;
    }
    buf_put(out, d->error_event);
    d->write_error(out, f, status, message, note);
    BUF_LIT(out, "\n\n");
}
