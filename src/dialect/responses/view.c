/* view.c - what an answer of OpenAI Responses says, whole or event by event. */
#include "dialect/responses/responses.h"

static bool piece_says(daruma_str part)
{
    return value_given(json_get(part, S("text"))) || value_given(json_get(part, S("refusal")));
}

static bool parts_say(daruma_str parts)
{
    daruma_str part;
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);)
        if (piece_says(part))
            return true;
    return false;
}

/* Messages and reasoning say what their parts say; every other item is a call or its outcome. */
static void take_item(dialect_said *s, daruma_str item)
{
    daruma_str type = value_raw(json_get(item, S("type")));
    bool said = parts_say(json_get(item, S("content"))), acts = false;
    if (str_eq(type, S("message"))) {
        s->text |= said;
    } else if (str_eq(type, S("reasoning"))) {
        s->thought |= said || parts_say(json_get(item, S("summary")));
    } else if (type.n) {
        s->calls = true;
        if (!hosted_shell(type, json_get(item, S("environment")), &acts))
            acts = hosted_item(&hosted_responses, type);
        s->effects |= acts;
    }
}

/* An answer in the background is not there yet; what was cut short may have said nothing. */
static bool may_be_empty(daruma_str status)
{
    static const daruma_str states[] = {LIT("queued"), LIT("in_progress"), LIT("incomplete"), LIT("cancelled")};
    for (size_t i = 0; i < COUNT(states); i++)
        if (str_eq(status, states[i]))
            return true;
    return false;
}

static void take_response(dialect_said *s, json_iter *it)
{
    daruma_str key, value, item;
    while (json_next(it, &key, &value))
        if (key_is(key, S("status"))) {
            s->status = value;
        } else if (key_is(key, S("output"))) {
            s->parts = value;
        } else if (key_is(key, S("incomplete_details"))) {
            s->finish_at = json_get(value, S("reason"));
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("input_tokens"), S("output_tokens"), &s->input_tokens, &s->output_tokens);
            s->usage = value;
        } else if (key_is(key, S("id"))) {
            s->id = value;
        } else if (key_is(key, S("model"))) {
            s->model = value;
        } else if (key_is(key, S("created_at"))) {
            s->created = value;
        } else {
            s->error |= is_error_shape(key, value);
        }
    for (json_iter items = json_open(s->parts); json_next(&items, NULL, &item);)
        take_item(s, item);
    s->error |= value_is(s->status, S("failed"));
}

void responses_read_whole(daruma_str body, dialect_said *ret)
{
    json_iter it = whole_open(body);
    take_response(ret, &it);
    ret->object = whole_ok(&it);
    ret->finish = value_raw(ret->finish_at);
    if (!ret->finish.n)
        ret->finish = value_raw(ret->status);
    ret->told = may_be_empty(value_raw(ret->status));
    ret->odd = !json_is_array(ret->parts) && !json_is_null(ret->parts);
}

/* The terminal events and those that carry a response object: what it says is news only at the end. */
static void take_news(dialect_said *s)
{
    bool completed = str_eq(s->type, S("response.completed")), cut = str_eq(s->type, S("response.incomplete"));
    json_iter it = json_open(s->answer);
    take_response(s, &it);
    s->error |= str_eq(s->type, S("response.failed")) || str_eq(s->type, S("response.cancelled"));
    if (!completed && !cut) {
        s->text = s->calls = s->thought = false;
        s->input_tokens = s->output_tokens = -1;
        return;
    }
    s->over = true;
    s->told = cut;
    s->finish = value_raw(s->finish_at);
    if (!s->finish.n)
        s->finish = str_from(s->type, sizeof "response." - 1);
}

/* Deltas of whatever kind, and the beginnings and ends of items and parts. `said`: it has words, arguments, code or a
 * piece of an image. */
static void take_content(dialect_said *s, bool said)
{
    if (str_starts(s->type, S("response.output_item."))) {
        take_item(s, s->item);
    } else if (hosted_event(s->type)) {
        s->calls = s->effects = true;
    } else if (str_starts(s->type, S("response.content_part.")) ||
               str_starts(s->type, S("response.reasoning_summary_part."))) {
        s->text |= piece_says(s->piece);
    } else {
        s->text |= said && (str_ends(s->type, S(".delta")) || str_ends(s->type, S(".done")) ||
                            str_ends(s->type, S(".partial_image")));
    }
}

void responses_read_event(daruma_str data, dialect_said *ret)
{
    static const daruma_str more[] = {LIT("input"), LIT("code"), LIT("partial_image_b64")};
    daruma_str key, value;
    bool said = false;
    json_iter it = whole_open(data);
    while (json_next(&it, &key, &value))
        if (key_is(key, S("type")))
            ret->type = value_raw(value).n ? value_raw(value) : ret->type;
        else if (key_is(key, S("response")))
            ret->answer = value;
        else if (key_is(key, S("item")))
            ret->item = value;
        else if (key_is(key, S("part")))
            ret->piece = value;
        else if (key_is(key, S("output_index")))
            ret->at = json_int(value, -1);
        else if (key_is(key, S("content_index")) || key_is(key, S("summary_index")))
            ret->part_at = json_int(value, 0);
        else if (key_is(key, S("sequence_number")))
            ret->sequence = json_int(value, -1);
        else if (key_is(key, S("delta")) || key_is(key, S("text")) || key_is(key, S("arguments")) ||
                 key_is(key, S("refusal"))) {
            ret->words = value;
            said |= value_given(value);
        } else if (is_error_shape(key, value)) {
            ret->error = true;
        } else {
            for (size_t i = 0; !said && i < COUNT(more); i++)
                said = key_is(key, more[i]) && value_given(value);
        }
    ret->object = whole_ok(&it);
    ret->error |= str_eq(ret->type, S("error"));
    ret->ping = str_eq(ret->type, S("ping")) || str_eq(ret->type, S("keepalive"));
    ret->known = str_starts(ret->type, S("response."));
    if (json_is_object(ret->answer))
        take_news(ret);
    take_content(ret, said);
}
