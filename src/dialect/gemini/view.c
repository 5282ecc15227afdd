/* view.c - what an answer of Gemini is, whole or event by event, without keeping any of it. */
#include "dialect/gemini/gemini.h"

/* DONE: the model was done. TOLD: no text is an honest answer, asking again gives the same. BROKEN: the model wrote
 * something that Google could not read. */
typedef enum reason_means { REASON_DONE, REASON_TOLD, REASON_BROKEN } reason_means;

static reason_means meaning(daruma_str reason)
{
    turn_finish f = gemini_finish_of(reason);
    bool no_image = str_eq(reason, S("NO_IMAGE")) || str_eq(reason, S("IMAGE_OTHER"));
    return f == FINISH_ERROR                                      ? REASON_BROKEN
           : f == FINISH_LENGTH || f == FINISH_FILTER || no_image ? REASON_TOLD
                                                                  : REASON_DONE;
}

/* What a response says, or all the responses of a stream that came as one array. */
typedef struct answer_parts {
    bool known;                       /* has a member that only responses have */
    bool odd;                         /* candidates that are none */
    bool text, calls, thought, other; /* other: media, code and what it gave */
    bool effects;                     /* ... what must not be done twice */
    bool error;
    daruma_str finish;  /* of the first candidate, without quotes */
    daruma_str blocked; /* why the prompt was refused */
    choice_set set;
    size_t n;        /* candidates so far */
    int64_t in, out; /* tokens, -1 not said */
} answer_parts;

static void pass_part(answer_parts *a, json_iter *it)
{
    daruma_str key, value;
    bool text = false, thought = false;
    json_iter part = json_enter(it);
    while (json_next(&part, &key, &value))
        if (key_is(key, S("text")))
            text = value_given(value);
        else if (key_is(key, S("thought")))
            thought = json_is_true(value);
        else if (key_camel(key, S("functionCall")))
            a->calls |= value_given(value);
        else if (json_is_object(value) && !key_camel(key, S("videoMetadata")) && !key_camel(key, S("partMetadata"))) {
            a->other = true; /* inlineData, executableCode, codeExecutionResult, ... */
            a->effects |= hosted_part(key, value);
        }
    json_leave(it, &part, NULL);
    a->text |= text && !thought;
    a->thought |= text && thought;
}

static void pass_content(answer_parts *a, json_iter *it)
{
    daruma_str key;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return;
    }
    json_iter content = json_enter(it);
    while (json_step(&content, &key))
        if (key_is(key, S("parts")) && *content.p == '[') {
            json_iter parts = json_enter(&content);
            while (json_step(&parts, NULL))
                if (*parts.p == '{')
                    pass_part(a, &parts);
                else
                    json_pass(&parts, NULL);
            json_leave(&content, &parts, NULL);
        } else {
            json_pass(&content, NULL);
        }
    json_leave(it, &content, NULL);
}

static void pass_candidate(answer_parts *a, json_iter *it)
{
    daruma_str key, value, finish = {0}, index = {0};
    json_iter candidate = json_enter(it);
    while (json_step(&candidate, &key))
        if (key_is(key, S("content")))
            pass_content(a, &candidate);
        else if (!json_pass(&candidate, &value))
            break;
        else if (key_camel(key, S("finishReason")))
            finish = str_eq(value_raw(value), S("FINISH_REASON_UNSPECIFIED")) ? (daruma_str){0} : value_raw(value);
        else if (key_is(key, S("index")))
            index = value;
    json_leave(it, &candidate, NULL);
    choice_add(&a->set, index, a->n++, finish.n > 0);
    if (!a->finish.n)
        a->finish = finish;
}

static void pass_candidates(answer_parts *a, json_iter *it)
{
    daruma_str value;
    if (*it->p != '[') {
        a->odd |= json_pass(it, &value) && !json_is_null(value);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_candidate(a, &list);
        else
            a->odd |= json_pass(&list, NULL);
    json_leave(it, &list, NULL);
}

static void pass_members(answer_parts *a, json_iter *it)
{
    daruma_str key, value;
    while (json_step(it, &key))
        if (key_is(key, S("candidates"))) {
            pass_candidates(a, it);
            a->known = true;
        } else if (!json_pass(it, &value)) {
            return;
        } else if (key_camel(key, S("usageMetadata"))) {
            int64_t asked = usage_get(value, S("promptTokenCount")), said = gemini_read_usage(value).output;
            a->in = asked >= 0 ? asked : a->in; /* what Google's tools read beside it is none of the request's */
            a->out = said >= 0 ? said : a->out;
            a->known = true;
        } else if (key_camel(key, S("promptFeedback"))) {
            daruma_str reason = json_get(value, S("blockReason"));
            a->blocked = value_raw(reason.n ? reason : json_get(value, S("block_reason")));
            a->known = true;
        } else if (key_camel(key, S("modelVersion")) || key_camel(key, S("responseId"))) {
            a->known = true;
        } else {
            a->error |= is_error_shape(key, value);
        }
}

/* Reads a whole body: one response, or the array of them that streamGenerateContent gives without alt=sse. False when
 * it is neither, or broken. */
static bool read_body(answer_parts *a, daruma_str body)
{
    body = str_trim(body);
    json_iter it = json_open(body);
    if (json_is_object(body)) {
        pass_members(a, &it);
    } else if (json_is_array(body)) {
        while (json_step(&it, NULL)) {
            if (*it.p != '{') {
                a->odd |= json_pass(&it, NULL);
                continue;
            }
            json_iter response = json_enter(&it);
            pass_members(a, &response);
            json_leave(&it, &response, NULL);
        }
        a->known = true; /* also when empty: nothing came */
    }
    return !it.bad && it.p == it.end;
}

answer_view gemini_check_answer(daruma_str body, daruma_arena *scratch)
{
    answer_parts a = {.in = -1, .out = -1};
    (void)scratch;
    bool whole = read_body(&a, body), nothing = str_eq(str_trim(body), S("{}"));
    answer_view v = {.finish = a.finish.n ? a.finish : a.blocked,
                     .text = a.text,
                     .calls = a.calls,
                     .effects = a.effects,
                     .input_tokens = a.in,
                     .output_tokens = a.out};
    reason_means means = meaning(a.finish);
    v.spoilt = means == REASON_BROKEN;
    if (!whole)
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (a.error)
        v.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (a.odd || v.spoilt || !(a.known || nothing))
        v.flaw = DARUMA_FLAW_BROKEN;
    else if (!a.text && !a.calls && !a.other && means != REASON_TOLD && !a.blocked.n)
        v.flaw = DARUMA_FLAW_EMPTY;
    return v;
}

/* A blocked prompt ends the stream as a finishReason does. An event without anything is what our heartbeat looks like.
 */
void gemini_watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    answer_parts a = {.in = -1, .out = -1};
    (void)scratch;
    if (watch_plain(v, e))
        return;
    json_iter it = whole_open(e->data);
    pass_members(&a, &it);
    if (!whole_ok(&it)) {
        v->broken = true;
        return;
    }
    v->effects |= a.effects;
    if (a.error) {
        watch_error(v, e->data);
        return;
    }
    daruma_str finish = a.finish.n ? a.finish : a.blocked;
    bool content = a.text || a.calls || a.thought || a.other;
    v->ping = !content && !finish.n && a.in < 0;
    v->began |= !v->ping;
    v->content |= content;
    v->spoilt = meaning(a.finish) == REASON_BROKEN;
    v->broken = a.odd || v->spoilt;
    v->told |= a.blocked.n > 0 || meaning(a.finish) == REASON_TOLD;
    watch_finish(v, finish);
    watch_choices(v, &a.set);
    v->finished |= a.blocked.n > 0;
    v->done |= v->finished;
    if (a.in >= 0)
        v->input_tokens = a.in;
    if (a.out >= 0)
        v->output_tokens = a.out;
}
