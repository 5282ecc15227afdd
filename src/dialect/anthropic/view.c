/* view.c - what an answer of Anthropic Messages says, whole or event by event. */
#include "dialect/anthropic/anthropic.h"

/* What the usage says, over what was said before. */
static void take_usage(dialect_said *s, daruma_str usage)
{
    turn_usage u = anthropic_read_usage(usage);
    s->input_tokens = u.input >= 0 ? u.input : s->input_tokens;
    s->output_tokens = u.output >= 0 ? u.output : s->output_tokens;
    s->usage = usage;
}

/* A block says something when a member besides its type does: text, thinking, data. A call says
 * something by being there. */
static void take_block(dialect_said *s, daruma_str block)
{
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
        s->text |= said;
    else if (str_ends(type, S("tool_use")))
        s->calls = true;
    else if (str_ends(type, S("thinking")))
        s->thought |= said;
    else
        s->other |= type.n > 0;
    s->effects |= hosted_block(type, name);
}

/* The members of a message. */
static void take_member(dialect_said *s, daruma_str key, daruma_str value)
{
    if (key_is(key, S("usage")))
        take_usage(s, value);
    else if (key_is(key, S("id")))
        s->id = value;
    else if (key_is(key, S("model")))
        s->model = value;
    else if (key_is(key, S("content")))
        s->parts = value;
    else if (key_is(key, S("stop_reason")))
        s->finish_at = value;
}

static void take_finish(dialect_said *s)
{
    s->finish = value_raw(s->finish_at);
    s->told = finish_told(&anthropic_finishes, s->finish);
}

void anthropic_read_whole(daruma_str body, dialect_said *ret)
{
    daruma_str key, value, block;
    json_iter it = whole_open(body);
    while (json_next(&it, &key, &value)) {
        take_member(ret, key, value);
        ret->error |= is_error_shape(key, value) || (key_is(key, S("type")) && value_is(value, S("error")));
    }
    ret->object = whole_ok(&it);
    for (it = json_open(ret->parts); json_next(&it, NULL, &block);)
        take_block(ret, block);
    take_finish(ret);
    ret->odd = !json_is_array(ret->parts) && !json_is_null(ret->parts);
}

void anthropic_read_event(daruma_str data, dialect_said *ret)
{
    daruma_str key, value;
    json_iter it = whole_open(data), in;
    while (json_next(&it, &key, &value))
        if (key_is(key, S("type")))
            ret->type = value_raw(value).n ? value_raw(value) : ret->type;
        else if (key_is(key, S("index")))
            ret->at = json_int(value, -1);
        else if (key_is(key, S("delta")))
            ret->piece = value;
        else if (key_is(key, S("content_block")))
            ret->item = value;
        else if (key_is(key, S("message")))
            ret->answer = value;
        else if (key_is(key, S("usage")))
            ret->usage = value;
        else
            ret->error |= is_error_shape(key, value);
    ret->object = whole_ok(&it);
    ret->known = true;
    if (str_eq(ret->type, S("content_block_delta"))) {
        for (in = json_open(ret->piece); json_next(&in, &key, &value);)
            ret->other |= !key_is(key, S("type")) && value_given(value);
    } else if (str_eq(ret->type, S("content_block_start"))) {
        take_block(ret, ret->item);
    } else if (str_eq(ret->type, S("message_start"))) {
        for (in = json_open(ret->answer); json_next(&in, &key, &value);)
            take_member(ret, key, value);
    } else if (str_eq(ret->type, S("message_delta"))) {
        ret->finish_at = json_get(ret->piece, S("stop_reason"));
        take_finish(ret);
        take_usage(ret, ret->usage);
    } else if (str_eq(ret->type, S("message_stop"))) {
        ret->over = true;
    } else {
        ret->known = false;
        ret->ping = str_eq(ret->type, S("ping"));
        ret->error |= str_eq(ret->type, S("error"));
    }
}
