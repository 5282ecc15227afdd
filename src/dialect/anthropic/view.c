/* view.c - what an answer of Anthropic Messages is, whole or event by event, without keeping any of it. */
#include "dialect/anthropic/anthropic.h"

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

/* What the usage says, over what was said before. */
static void take_usage(daruma_str usage, int64_t *in, int64_t *out)
{
    turn_usage u = anthropic_read_usage(usage);
    *in = u.input >= 0 ? u.input : *in;
    *out = u.output >= 0 ? u.output : *out;
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

answer_view anthropic_check_answer(daruma_str body, daruma_arena *scratch)
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
            take_usage(value, &a.input_tokens, &a.output_tokens);
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

void anthropic_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
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
        take_usage(json_get(ev.message, S("usage")), &v->input_tokens, &v->output_tokens);
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
        take_usage(ev.usage, &v->input_tokens, &v->output_tokens);
    } else if (str_eq(ev.type, S("message_stop"))) {
        v->began = v->done = true;
    }
}
