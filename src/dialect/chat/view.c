/* view.c - what an answer of OpenAI Chat Completions says, whole or chunk by chunk: message and delta have the same
 * members. Each byte is walked once. */
#include "dialect/chat/chat.h"

/* Some servers say which of the calls were theirs: https://docs.x.ai/docs/guides/tools/overview. */
static bool has_effects(daruma_str calls)
{
    daruma_str call;
    for (json_iter it = json_open(calls); json_next(&it, NULL, &call);)
        if (hosted_item(&hosted_chat, value_raw(json_get(call, S("type")))))
            return true;
    return false;
}

/* What a message says, of whichever answer, and (`m`) where. */
static void pass_message(dialect_said *s, json_iter *it, said_message *m)
{
    daruma_str key, value, reasoning = {0};
    json_iter in = json_enter(it);
    *m = (said_message){0};
    while (json_next(&in, &key, &value)) {
        bool given = value_given(value);
        if (key_is(key, S("content"))) {
            m->content = value;
            s->text |= given;
        } else if (key_is(key, S("refusal"))) {
            m->refusal = value;
            s->text |= given;
        } else if (key_is(key, S("tool_calls"))) {
            m->tool_calls = value;
            s->calls |= given;
            s->effects |= given && has_effects(value);
        } else if (key_is(key, S("function_call"))) {
            m->function_call = value;
            s->calls |= given;
        } else if (key_is(key, S("reasoning_content"))) {
            m->thinking = value;
            s->thought |= given;
        } else if (key_is(key, S("reasoning"))) {
            reasoning = value;
            s->thought |= given;
        } else if (key_is(key, S("reasoning_details"))) {
            m->bound = !json_is_string(value) && given;
            s->thought |= given;
        } else if (key_is(key, S("audio")) || key_is(key, S("images"))) {
            m->media |= json_is_object(value) || json_is_array(value);
            s->text |= given;
        } else if (key_is(key, S("executed_tools"))) { /* Groq: https://console.groq.com/docs/compound */
            s->text |= given;
            s->effects |= given;
        }
    }
    if (!value_given(m->thinking)) /* some servers send both, alike */
        m->thinking = reasoning;
    json_leave(it, &in, &m->raw);
}

/* The choice that counts is that with index 0, or the first without. Some servers send both objects (Perplexity,
 * Foundry Local, proxies): of a whole answer the message is meant, of a chunk the delta, beside which the message has
 * all of it once more. */
static void pass_choice(dialect_said *s, json_iter *it, bool whole)
{
    daruma_str key, value, index = {0}, finish_at = {0};
    said_message message = {0}, delta = {0};
    bool error = false;
    json_iter choice = json_enter(it);
    while (json_step(&choice, &key))
        if (key_is(key, S("message")) && *choice.p == '{') {
            pass_message(s, &choice, &message);
        } else if (key_is(key, S("delta")) && *choice.p == '{') {
            pass_message(s, &choice, &delta);
        } else if (!json_pass(&choice, &value)) {
            break;
        } else if (key_is(key, S("finish_reason"))) {
            finish_at = value;
        } else if (key_is(key, S("index"))) {
            index = value;
        } else if (key_is(key, S("error"))) { /* OpenRouter: the provider failed in the middle */
            error = value_given(value);
        }
    json_leave(it, &choice, NULL);
    daruma_str finish = value_raw(finish_at);
    error |= str_eq(finish, S("error"));
    choice_add(s, index, finish.n > 0);
    s->odd |= !message.raw.n && !delta.raw.n && !error;
    s->error |= error;
    if (!s->finish.n)
        s->finish = finish;
    if (s->message.counts || json_int(index, 0) != 0)
        return;
    s->message = whole || !delta.raw.n ? message : delta;
    s->message.counts = true;
    s->message.finish_at = finish_at;
}

static void pass_choices(dialect_said *s, json_iter *it, bool whole)
{
    if (*it->p != '[') {
        s->odd |= json_pass(it, &s->parts) && !json_is_null(s->parts);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_choice(s, &list, whole);
        else
            s->odd |= json_pass(&list, NULL);
    json_leave(it, &list, &s->parts);
}

static void read_either(daruma_str data, bool whole, dialect_said *ret)
{
    daruma_str key, value;
    json_iter it = whole_open(data);
    while (json_step(&it, &key))
        if (key_is(key, S("choices"))) {
            pass_choices(ret, &it, whole);
            ret->known = true;
        } else if (!json_pass(&it, &value)) {
            break;
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &ret->input_tokens, &ret->output_tokens);
            ret->usage = value;
            ret->known = true;
        } else if (key_is(key, S("id"))) {
            ret->id = value;
        } else if (key_is(key, S("model"))) {
            ret->model = value;
        } else if (key_is(key, S("created"))) {
            ret->created = value;
        } else {
            ret->error |= is_error_shape(key, value);
        }
    ret->object = whole_ok(&it);
    ret->ping = !ret->known && !ret->error;
    ret->told = finish_told(&chat_finishes, ret->finish);
    ret->counted = true;
    ret->finish_at = ret->message.finish_at;
}

void chat_read_event(daruma_str data, dialect_said *ret)
{
    read_either(data, false, ret);
}

void chat_read_whole(daruma_str body, dialect_said *ret)
{
    read_either(body, true, ret);
    ret->odd |= !ret->parts.n;
}
