/* view.c - what an answer of Gemini says: one response, all the responses of a stream as one array, or one event. Each
 * byte is walked once; only the members of the parts are read again, by those who want more than flags. */
#include "dialect/gemini/gemini.h"

gemini_part gemini_read_part(json_iter *it)
{
    gemini_part p = {0};
    daruma_str key, value;
    while (json_next(it, &key, &value))
        if (key_is(key, S("text"))) {
            p.text = value;
        } else if (key_is(key, S("thought"))) {
            p.thought = json_is_true(value);
        } else if (key_camel(key, S("functionCall"))) {
            p.call = value;
        } else if (key_camel(key, S("thoughtSignature"))) {
            p.signature = value;
        } else if (json_is_object(value) && !key_camel(key, S("videoMetadata")) && !key_camel(key, S("partMetadata"))) {
            p.other = true; /* inlineData, executableCode, codeExecutionResult, ... */
            p.effects |= hosted_part(key, value);
        }
    return p;
}

static void pass_parts(dialect_said *s, json_iter *it, daruma_str *ret)
{
    json_iter parts = json_enter(it);
    while (json_step(&parts, NULL)) {
        if (*parts.p != '{') {
            json_pass(&parts, NULL);
            continue;
        }
        json_iter part = json_enter(&parts);
        gemini_part p = gemini_read_part(&part);
        bool text = value_given(p.text);
        json_leave(&parts, &part, NULL);
        s->text |= text && !p.thought;
        s->thought |= text && p.thought;
        s->calls |= value_given(p.call);
        s->other |= p.other;
        s->effects |= p.effects;
    }
    json_leave(it, &parts, ret);
}

static void pass_content(dialect_said *s, json_iter *it, daruma_str *ret)
{
    daruma_str key;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return;
    }
    json_iter content = json_enter(it);
    while (json_step(&content, &key))
        if (key_is(key, S("parts")) && *content.p == '[')
            pass_parts(s, &content, ret);
        else
            json_pass(&content, NULL);
    json_leave(it, &content, NULL);
}

/* The one that counts is the first. */
static void pass_candidate(dialect_said *s, json_iter *it)
{
    daruma_str key, value, parts = {0}, finish_at = {0}, index = {0};
    json_iter candidate = json_enter(it);
    while (json_step(&candidate, &key))
        if (key_is(key, S("content")))
            pass_content(s, &candidate, &parts);
        else if (!json_pass(&candidate, &value))
            break;
        else if (key_camel(key, S("finishReason")))
            finish_at = value_is(value, S("FINISH_REASON_UNSPECIFIED")) ? (daruma_str){0} : value;
        else if (key_is(key, S("index")))
            index = value;
    json_leave(it, &candidate, NULL);
    daruma_str finish = value_raw(finish_at);
    if (!s->nchoices) {
        s->item = parts;
        s->finish_at = finish_at;
        s->at = json_int(index, 0);
    }
    choice_add(s, index, finish.n > 0);
    if (!s->finish.n)
        s->finish = finish;
}

static void pass_candidates(dialect_said *s, json_iter *it)
{
    if (*it->p != '[') {
        s->odd |= json_pass(it, &s->parts) && !json_is_null(s->parts);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_candidate(s, &list);
        else
            s->odd |= json_pass(&list, NULL);
    json_leave(it, &list, &s->parts);
}

void gemini_read_candidate(daruma_str candidate, dialect_said *ret)
{
    json_iter it = {.p = candidate.p, .end = candidate.p + candidate.n}; /* stands at it */
    *ret = (dialect_said){0};
    if (json_is_object(candidate))
        pass_candidate(ret, &it);
}

/* Of Google's tools that what they read beside the prompt is none of the request's. */
static void take_usage(dialect_said *s, daruma_str usage)
{
    int64_t asked = json_int(gemini_get(usage, S("promptTokenCount")), -1), said = gemini_read_usage(usage).output;
    s->input_tokens = asked >= 0 ? asked : s->input_tokens;
    s->output_tokens = said >= 0 ? said : s->output_tokens;
    s->usage = usage;
}

static void pass_response(dialect_said *s, json_iter *it)
{
    daruma_str key, value;
    while (json_step(it, &key)) {
        bool known = true;
        if (key_is(key, S("candidates")))
            pass_candidates(s, it);
        else if (!json_pass(it, &value))
            return;
        else if (key_camel(key, S("usageMetadata")))
            take_usage(s, value);
        else if (key_camel(key, S("promptFeedback")))
            s->answer = value;
        else if (key_camel(key, S("modelVersion")))
            s->model = value;
        else if (key_camel(key, S("responseId")))
            s->id = value;
        else
            known = false;
        s->known |= known;
        s->error |= !known && is_error_shape(key, value);
    }
}

/* What it all means. A blocked prompt ends an answer as a stop reason does. */
static void settle(dialect_said *s)
{
    s->counted = s->closes = true;
    s->spoilt = gemini_finish_of(s->finish) == FINISH_ERROR;
    s->told = finish_told(&gemini_finishes, s->finish);
    if (!s->answer.n)
        return;
    daruma_str reason = gemini_get(s->answer, S("blockReason"));
    s->blocked = value_raw(reason).n > 0;
    s->told |= s->blocked;
    if (!s->finish.n)
        s->finish = value_raw(reason);
    if (!s->finish_at.n)
        s->finish_at = reason;
}

/* An event without anything is what our heartbeat looks like. */
void gemini_read_event(daruma_str data, dialect_said *ret)
{
    json_iter it = whole_open(data);
    pass_response(ret, &it);
    ret->object = whole_ok(&it);
    settle(ret);
    bool content = ret->text || ret->calls || ret->thought || ret->other;
    ret->known = content || ret->finish.n || ret->input_tokens >= 0;
    ret->ping = !ret->known && !ret->error;
}

/* One response, or the array of them that streamGenerateContent gives without alt=sse. */
void gemini_read_whole(daruma_str body, dialect_said *ret)
{
    body = str_trim(body);
    json_iter it = json_open(body);
    if (json_is_object(body)) {
        pass_response(ret, &it);
        ret->odd |= !ret->known && !str_eq(body, S("{}"));
    }
    while (json_is_array(body) && json_step(&it, NULL)) {
        if (*it.p != '{') {
            ret->odd |= json_pass(&it, NULL);
            continue;
        }
        json_iter response = json_enter(&it);
        pass_response(ret, &response);
        json_leave(&it, &response, NULL);
    }
    ret->object = !it.bad && it.p == it.end;
    settle(ret);
}
