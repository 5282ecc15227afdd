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

/* Stop reasons for which no text is an honest answer: asking again gives the same. */
static bool may_be_empty(daruma_str finish)
{
    static const daruma_str reasons[] = {LIT("max_tokens"), LIT("refusal"), LIT("pause_turn"),
                                         LIT("model_context_window_exceeded"), LIT("stop_sequence")};
    for (size_t i = 0; i < COUNT(reasons); i++)
        if (str_eq(finish, reasons[i]))
            return true;
    return false;
}

static request_scan anthropic_scan(daruma_str body, uint32_t *newest)
{
    return scan_request(body, keys, COUNT(keys), &hosted_anthropic, newest);
}

/* What the model's total input was: the cached parts are counted beside input_tokens. */
static void anthropic_read_usage(daruma_str usage, int64_t *in, int64_t *out)
{
    int64_t said = -1;
    usage_read(usage, S("input_tokens"), S("output_tokens"), &said, out);
    int64_t made = usage_get(usage, S("cache_creation_input_tokens"));
    int64_t read = usage_get(usage, S("cache_read_input_tokens"));
    if (said >= 0)
        *in = add_sat(said, add_sat(made > 0 ? made : 0, read > 0 ? read : 0));
}

typedef struct block_view {
    bool text, calls, thought, other, effects;
} block_view;

/* A block says something when a member besides its type does: text, thinking, data. A call says
 * something by being there. */
static block_view read_block(daruma_str block)
{
    block_view b = {0};
    daruma_str key, value, type = {0}, name = {0};
    bool said = false;
    for (json_iter it = json_open(block); json_next(&it, &key, &value);)
        if (key_is(key, S("type")))
            type = value_raw(value);
        else if (key_is(key, S("name")))
            name = value_raw(value);
        else if (!key_is(key, S("citations")))
            said |= value_given(value);
    if (str_eq(type, S("text")))
        b.text = said;
    else if (str_ends(type, S("tool_use")))
        b.calls = true;
    else if (str_ends(type, S("thinking")))
        b.thought = said;
    else
        b.other = type.n > 0;
    b.effects = hosted_block(type, name);
    return b;
}

static answer_view anthropic_check_answer(daruma_str body, daruma_arena *scratch)
{
    answer_view a = {.input_tokens = -1, .output_tokens = -1};
    daruma_str key, value, content = {0}, block;
    bool error = false, other = false;
    json_iter w = whole_open(body);
    (void)scratch;
    while (json_next(&w, &key, &value))
        if (key_is(key, S("content")))
            content = value;
        else if (key_is(key, S("stop_reason")))
            a.finish = value_raw(value);
        else if (key_is(key, S("usage")))
            anthropic_read_usage(value, &a.input_tokens, &a.output_tokens);
        else
            error |= is_error_shape(key, value) || (key_is(key, S("type")) && value_is(value, S("error")));
    for (json_iter it = json_open(content); json_next(&it, NULL, &block);) {
        block_view b = read_block(block);
        a.text |= b.text;
        a.calls |= b.calls;
        other |= b.other;
        a.effects |= b.effects;
    }
    other |= may_be_empty(a.finish);
    if (!whole_ok(&w))
        a.flaw = DARUMA_FLAW_BROKEN;
    else if (error)
        a.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (!json_is_array(content) && !json_is_null(content))
        a.flaw = DARUMA_FLAW_BROKEN;
    else
        a.flaw = a.text || a.calls || other ? DARUMA_FLAW_NONE : DARUMA_FLAW_EMPTY;
    return a;
}

static void anthropic_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    anthropic_event ev;
    (void)scratch;
    if (watch_plain(v, e))
        return;
    if (!anthropic_read_event(e, &ev)) {
        v->broken = true;
        return;
    }
    if (ev.error || str_eq(ev.type, S("error"))) {
        watch_error(v, e->data);
    } else if (str_eq(ev.type, S("ping"))) {
        v->ping = true;
    } else if (str_eq(ev.type, S("message_start"))) {
        v->began = true;
        anthropic_read_usage(json_get(ev.message, S("usage")), &v->input_tokens, &v->output_tokens);
    } else if (str_eq(ev.type, S("content_block_start"))) {
        block_view b = read_block(ev.block);
        v->began = true;
        v->effects |= b.effects;
        v->content |= b.text || b.calls || b.thought || b.other;
    } else if (str_eq(ev.type, S("content_block_delta"))) {
        daruma_str key, value;
        v->began = true;
        for (json_iter it = json_open(ev.delta); json_next(&it, &key, &value);)
            v->content |= !key_is(key, S("type")) && value_given(value);
    } else if (str_eq(ev.type, S("message_delta"))) {
        daruma_str reason = value_raw(json_get(ev.delta, S("stop_reason")));
        v->began = true;
        v->told |= may_be_empty(reason);
        watch_finish(v, reason);
        anthropic_read_usage(ev.usage, &v->input_tokens, &v->output_tokens);
    } else if (str_eq(ev.type, S("message_stop"))) {
        v->began = v->done = true;
    }
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
    BUF_LIT(out, ",\"message\":");
    buf_json(out, message);
    if (str_starts(f->code, S("thread_"))) { /* clients act on it */
        BUF_LIT(out, ",\"details\":{\"error_code\":");
        buf_json(out, f->code);
        buf_putc(out, '}');
    }
    error_note(out, f, note);
    BUF_LIT(out, "}}");
}

static void anthropic_write_stream_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                                         daruma_str note, const turn_reader *r)
{
    (void)r;
    BUF_LIT(out, "event: error\ndata: ");
    anthropic_write_error(out, f, status, message, note);
    BUF_LIT(out, "\n\n");
}

const dialect dialect_anthropic = {
    .name = "anthropic",
    .provider = LIT("anthropic"),
    .key_header = "x-api-key",
    .key_prefix = "",
    .version = {LIT("anthropic-version"), LIT("2023-06-01")},
    .messages = LIT("messages"),
    .remote_marks = {LIT("\"file_id\"")},
    .asks_stream = LIT("\"stream\":true"),
    .choice_path = LIT("tool_choice"),
    .choice_none = LIT("{\"type\":\"none\"}"),
    .heartbeat = LIT("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
    .comments = true,
    .ends_streams = true,
    .terminal = LIT("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
    .scan = anthropic_scan,
    .check = anthropic_check_answer,
    .watch = anthropic_watch,
    .is_error = anthropic_is_error,
    .write_error = anthropic_write_error,
    .write_stream_error = anthropic_write_stream_error,
    .quirks = ANTHROPIC_QUIRKS,
    .read = anthropic_read,
    .write = anthropic_write,
    .read_answer = anthropic_read_answer,
    .write_answer = anthropic_write_answer,
    .finish = anthropic_finish_of,
    .read_delta = anthropic_read_delta,
    .write_delta = anthropic_write_delta,
};
