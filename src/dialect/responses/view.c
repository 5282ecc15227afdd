/* view.c - what an answer of OpenAI Responses is, whole or event by event, without keeping any of it. */
#include "dialect/responses/responses.h"

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

answer_view responses_check_answer(daruma_str body, daruma_arena *scratch)
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
static bool carries_content(const responses_event *e, bool *effects)
{
    daruma_str type = e->type;
    if (str_starts(type, S("response.output_item."))) {
        item_view i = read_item(e->item);
        *effects |= i.effects;
        return i.text || i.calls || i.thought;
    }
    if (hosted_event(type)) {
        *effects = true;
        return true;
    }
    if (str_starts(type, S("response.content_part.")) || str_starts(type, S("response.reasoning_summary_part.")))
        return value_given(json_get(e->part, S("text"))) || value_given(json_get(e->part, S("refusal")));
    return e->said &&
           (str_ends(type, S(".delta")) || str_ends(type, S(".done")) || str_ends(type, S(".partial_image")));
}

void responses_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    responses_event ev;
    (void)scratch;
    if (watch_plain(v, e))
        return;
    if (!responses_read_event(e, &ev)) {
        v->broken = true;
        return;
    }
    if (ev.error || str_eq(ev.type, S("error"))) {
        watch_error(v, e->data);
        return;
    }
    v->ping = str_eq(ev.type, S("ping")) || str_eq(ev.type, S("keepalive"));
    v->began |= str_starts(ev.type, S("response."));
    v->content |= carries_content(&ev, &v->effects);
    if (json_is_object(ev.response))
        watch_response(v, e, ev.type, ev.response);
}
