/* openai_responses.c - OpenAI Responses: https://platform.openai.com/docs/api-reference/responses
 * and .../responses-streaming. */
#include "dialect/parts.h"
#include "dialect/shapes.h"
#include "dialect/turn_kit.h"
#include "dialect/turn_responses.h"

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
                r->remote |= value_is(value, S("item_reference")) || value_is(value, S("reasoning"));
                r->more_tools |= value_is(value, S("additional_tools")) || value_is(value, S("tool_search_output"));
                break;
            }
}

static request_scan responses_scan(daruma_str body, uint32_t *newest)
{
    request_scan r = scan_request(body, keys, COUNT(keys), &hosted_responses, newest);
    if (r.ok)
        scan_items(&r);
    return r;
}

/* What one output item says. */
typedef struct item_view {
    bool text, calls, thought, effects;
} item_view;

static bool parts_say(daruma_str parts)
{
    daruma_str part;
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);)
        if (value_given(json_get(part, S("text"))) || value_given(json_get(part, S("refusal"))))
            return true;
    return false;
}

/* Messages and reasoning say what their parts say; every other item is a call or its outcome. */
static item_view read_item(daruma_str item)
{
    item_view v = {0};
    daruma_str type = value_raw(json_get(item, S("type")));
    bool said = parts_say(json_get(item, S("content")));
    if (str_eq(type, S("message")))
        v.text = said;
    else if (str_eq(type, S("reasoning")))
        v.thought = said || parts_say(json_get(item, S("summary")));
    else
        v.calls = type.n > 0;
    if (v.calls && !hosted_shell(type, json_get(item, S("environment")), &v.effects))
        v.effects = hosted_item(&hosted_responses, type);
    return v;
}

/* The members of a response object that matter. */
typedef struct response_view {
    daruma_str status, reason, output;
    bool shape, error;
    item_view says;
    int64_t in, out; /* tokens, -1 not said */
} response_view;

static void read_member(response_view *r, daruma_str key, daruma_str value)
{
    if (key_is(key, S("status")))
        r->status = value_raw(value);
    else if (key_is(key, S("output")))
        r->output = value;
    else if (key_is(key, S("incomplete_details")))
        r->reason = value_raw(json_get(value, S("reason")));
    else if (key_is(key, S("usage")))
        usage_read(value, S("input_tokens"), S("output_tokens"), &r->in, &r->out);
    else
        r->error |= is_error_shape(key, value);
}

static void read_output(response_view *r)
{
    daruma_str item;
    r->error |= str_eq(r->status, S("failed"));
    r->shape = json_is_array(r->output);
    for (json_iter it = json_open(r->output); json_next(&it, NULL, &item);) {
        item_view v = read_item(item);
        r->says.text |= v.text;
        r->says.calls |= v.calls;
        r->says.thought |= v.thought;
        r->says.effects |= v.effects;
    }
}

/* An answer in the background is not there yet; what was cut short may have said nothing. */
static bool may_be_empty(const response_view *r)
{
    static const daruma_str states[] = {LIT("queued"), LIT("in_progress"), LIT("incomplete"), LIT("cancelled")};
    for (size_t i = 0; i < COUNT(states); i++)
        if (str_eq(r->status, states[i]))
            return true;
    return false;
}

static answer_view responses_check_answer(daruma_str body, daruma_arena *scratch)
{
    response_view r = {.in = -1, .out = -1};
    daruma_str key, value;
    json_iter w = whole_open(body);
    (void)scratch;
    while (json_next(&w, &key, &value))
        read_member(&r, key, value);
    read_output(&r);
    answer_view a = {.finish = r.reason.n ? r.reason : r.status,
                     .text = r.says.text,
                     .calls = r.says.calls,
                     .effects = r.says.effects,
                     .input_tokens = r.in,
                     .output_tokens = r.out};
    if (!whole_ok(&w))
        a.flaw = DARUMA_FLAW_BROKEN;
    else if (r.error)
        a.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (!r.shape && !json_is_null(r.output))
        a.flaw = DARUMA_FLAW_BROKEN;
    else if (!a.text && !a.calls && !may_be_empty(&r))
        a.flaw = DARUMA_FLAW_EMPTY;
    return a;
}

/* The terminal events and those that carry a response object. */
static void watch_response(stream_view *v, const sse_event *e, daruma_str type, daruma_str response)
{
    response_view r = {.in = -1, .out = -1};
    daruma_str key, value;
    for (json_iter it = json_open(response); json_next(&it, &key, &value);)
        read_member(&r, key, value);
    read_output(&r);
    v->effects |= r.says.effects;
    if (r.error || str_eq(type, S("response.failed")) || str_eq(type, S("response.cancelled"))) {
        watch_error(v, e->data);
        return;
    }
    if (str_eq(type, S("response.completed")) || str_eq(type, S("response.incomplete"))) {
        v->content |= r.says.text || r.says.calls || r.says.thought;
        v->done = true;
        v->told |= str_eq(type, S("response.incomplete"));
        watch_finish(v, r.reason.n ? r.reason : str_from(type, sizeof "response." - 1));
        if (r.in >= 0)
            v->input_tokens = r.in;
        if (r.out >= 0)
            v->output_tokens = r.out;
    }
}

/* Deltas of whatever kind, and the beginnings and ends of items and parts. */
static bool carries_content(daruma_str type, daruma_str item, daruma_str part, bool said, bool *effects)
{
    if (str_starts(type, S("response.output_item."))) {
        item_view i = read_item(item);
        *effects |= i.effects;
        return i.text || i.calls || i.thought;
    }
    if (hosted_event(type)) {
        *effects = true;
        return true;
    }
    if (str_starts(type, S("response.content_part.")) || str_starts(type, S("response.reasoning_summary_part.")))
        return value_given(json_get(part, S("text"))) || value_given(json_get(part, S("refusal")));
    return said && (str_ends(type, S(".delta")) || str_ends(type, S(".done")) || str_ends(type, S(".partial_image")));
}

static void responses_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    static const daruma_str speech[] = {LIT("delta"), LIT("text"), LIT("refusal"),          LIT("arguments"),
                                        LIT("input"), LIT("code"), LIT("partial_image_b64")};
    daruma_str type = e->event, item = {0}, part = {0}, response = {0}, key, value;
    bool said = false, error = false;
    (void)scratch;
    if (watch_plain(v, e))
        return;
    json_iter w = whole_open(e->data);
    while (json_next(&w, &key, &value))
        if (key_is(key, S("type")))
            type = value_raw(value);
        else if (key_is(key, S("item")))
            item = value;
        else if (key_is(key, S("part")))
            part = value;
        else if (key_is(key, S("response")))
            response = value;
        else if (is_error_shape(key, value))
            error = true;
        else if (value_given(value))
            for (size_t i = 0; !said && i < COUNT(speech); i++)
                said = key_is(key, speech[i]);
    if (!whole_ok(&w)) {
        v->broken = true;
        return;
    }
    if (error || str_eq(type, S("error"))) {
        watch_error(v, e->data);
        return;
    }
    v->ping = str_eq(type, S("ping")) || str_eq(type, S("keepalive"));
    v->began |= str_starts(type, S("response."));
    v->content |= carries_content(type, item, part, said, &v->effects);
    if (json_is_object(response))
        watch_response(v, e, type, response);
}

static bool responses_is_error(daruma_str body)
{
    return dialect_openai.is_error(body);
}

static void responses_write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                                  daruma_str note)
{
    dialect_openai.write_error(out, f, status, message, note);
}

/* An event up to its own members. */
static void event(daruma_buf *out, const char *type, int64_t nth)
{
    event_open(out, type);
    BUF_LIT(out, ",\"sequence_number\":");
    buf_int(out, nth);
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
    BUF_LIT(out, ",\"message\":");
    buf_json(out, message);
    BUF_LIT(out, ",\"param\":null,\"error\":");
    error_object(out, f, status, message, note);
    event_end(out);

    event(out, "response.failed", next + 1);
    BUF_LIT(out, ",\"response\":");
    responses_put_head(out, begun ? turn_id(r) : S("resp_daruma0000000000000000"), begun ? r->created : 0, "failed");
    BUF_LIT(out, "{\"code\":");
    put_cstr(out, w.code ? w.code : w.type);
    BUF_LIT(out, ",\"message\":");
    buf_json(out, message);
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
    .messages = LIT("input"),
    .remote_marks = {LIT("\"file_id\""), LIT("\"vector_store_ids\""), LIT("\"container\"")},
    .asks_stream = LIT("\"stream\":true"),
    .choice_path = LIT("tool_choice"),
    .choice_none = LIT("\"none\""),
    .heartbeat = LIT(": daruma is waiting\n\n"),
    .comments = true,
    .ends_streams = true,
    .scan = responses_scan,
    .check = responses_check_answer,
    .watch = responses_watch,
    .is_error = responses_is_error,
    .write_error = responses_write_error,
    .write_stream_error = responses_write_stream_error,
    .quirks = RESPONSES_QUIRKS,
    .read = responses_read,
    .write = responses_write,
    .read_answer = responses_read_answer,
    .write_answer = responses_write_answer,
    .finish = responses_finish_of,
    .read_delta = responses_read_delta,
    .write_delta = responses_write_delta,
};
