/* view.c - what an answer of OpenAI Chat Completions is, whole or event by event, without keeping any of it. */
#include "dialect/chat/chat.h"

/* What the choices of an answer or of an event hold; message and delta have the same members. */
typedef struct choices_view {
    bool given, null;          /* it is an array; or null */
    bool odd;                  /* one has neither message nor delta nor error */
    bool text, calls, thought; /* one has */
    bool effects;              /* one has what the server did and must not do twice */
    bool error;                /* OpenRouter: the provider failed in the middle */
    daruma_str finish;         /* the first stop reason, without quotes */
    choice_set set;
    size_t n;
} choices_view;

/* Some servers say which of the calls were theirs: https://docs.x.ai/docs/guides/tools/overview. */
static bool has_effects(daruma_str calls)
{
    daruma_str call;
    for (json_iter it = json_open(calls); json_next(&it, NULL, &call);)
        if (hosted_item(&hosted_chat, value_raw(json_get(call, S("type")))))
            return true;
    return false;
}

static void pass_message(choices_view *c, json_iter *it)
{
    daruma_str key, value;
    json_iter m = json_enter(it);
    while (json_next(&m, &key, &value)) {
        if (!value_given(value))
            continue;
        if (key_is(key, S("content")) || key_is(key, S("refusal")) || key_is(key, S("audio")) ||
            key_is(key, S("images")))
            c->text = true;
        else if (key_is(key, S("executed_tools"))) /* Groq: https://console.groq.com/docs/compound */
            c->text = c->effects = true;
        else if (key_is(key, S("tool_calls")) || key_is(key, S("function_call"))) {
            c->calls = true;
            c->effects |= has_effects(value);
        } else if (key_is(key, S("reasoning_content")) || key_is(key, S("reasoning")) ||
                   key_is(key, S("reasoning_details")))
            c->thought = true;
    }
    json_leave(it, &m, NULL);
}

static void pass_choice(choices_view *c, json_iter *it)
{
    daruma_str key, value, finish = {0}, index = {0};
    bool shape = false, error = false;
    json_iter choice = json_enter(it);
    while (json_step(&choice, &key))
        if ((key_is(key, S("message")) || key_is(key, S("delta"))) && *choice.p == '{') {
            pass_message(c, &choice);
            shape = true;
        } else if (!json_pass(&choice, &value)) {
            break;
        } else if (key_is(key, S("finish_reason"))) {
            finish = value_raw(value);
        } else if (key_is(key, S("index"))) {
            index = value;
        } else if (key_is(key, S("error"))) {
            error = value_given(value);
        }
    json_leave(it, &choice, NULL);
    error |= str_eq(finish, S("error"));
    choice_add(&c->set, index, c->n++, finish.n > 0);
    c->odd |= !shape && !error;
    c->error |= error;
    if (!c->finish.n)
        c->finish = finish;
}

/* Passes the choices, each byte once. */
static choices_view pass_choices(json_iter *it)
{
    choices_view c = {.given = *it->p == '['};
    daruma_str value;
    if (!c.given) {
        c.null = json_pass(it, &value) && json_is_null(value);
        return c;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_choice(&c, &list);
        else
            c.odd |= json_pass(&list, NULL);
    json_leave(it, &list, NULL);
    return c;
}

/* Stop reasons for which no text is an honest answer: asking again gives the same. */
static bool may_be_empty(daruma_str finish)
{
    return str_eq(finish, S("length")) || str_eq(finish, S("content_filter"));
}

static daruma_flaw flaw_of(const choices_view *c)
{
    if (c->null)
        return DARUMA_FLAW_EMPTY;
    if (!c->given || c->odd)
        return DARUMA_FLAW_BROKEN;
    if (c->error)
        return DARUMA_FLAW_ERROR_EVENT;
    return c->text || c->calls || may_be_empty(c->finish) ? DARUMA_FLAW_NONE : DARUMA_FLAW_EMPTY;
}

answer_view chat_check_answer(daruma_str body, daruma_arena *scratch)
{
    answer_view a = {.input_tokens = -1, .output_tokens = -1};
    choices_view choices = {0};
    daruma_str key, value;
    bool error = false;
    json_iter it = whole_open(body);
    (void)scratch;
    while (json_step(&it, &key))
        if (key_is(key, S("choices")))
            choices = pass_choices(&it);
        else if (!json_pass(&it, &value))
            break;
        else if (key_is(key, S("usage")))
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &a.input_tokens, &a.output_tokens);
        else
            error |= is_error_shape(key, value);
    a.finish = choices.finish;
    a.text = choices.text;
    a.calls = choices.calls;
    a.effects = choices.effects;
    a.flaw = !whole_ok(&it) ? DARUMA_FLAW_BROKEN : error ? DARUMA_FLAW_ERROR_EVENT : flaw_of(&choices);
    return a;
}

void chat_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    choices_view choices = {0};
    daruma_str key, value;
    bool error = false, known = false;
    (void)scratch;
    if (watch_plain(v, e)) {
        v->broken |= v->done && choices_uneven(v); /* somebody between ended it who did not see that it was cut */
        v->done &= !v->broken;
        return;
    }
    json_iter it = whole_open(e->data);
    while (json_step(&it, &key))
        if (key_is(key, S("choices"))) {
            choices = pass_choices(&it);
            known = true;
        } else if (!json_pass(&it, &value)) {
            break;
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &v->input_tokens, &v->output_tokens);
            known = true;
        } else {
            error |= is_error_shape(key, value);
        }
    if (!whole_ok(&it)) {
        v->broken = true;
        return;
    }
    v->began |= known;
    v->ping = !known && !error;
    v->content |= choices.text || choices.calls || choices.thought;
    v->effects |= choices.effects;
    if (error || choices.error)
        watch_error(v, e->data);
    v->told |= may_be_empty(choices.finish);
    watch_finish(v, choices.finish);
    watch_choices(v, &choices.set);
}
