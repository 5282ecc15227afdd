/* answer.c - reads the form of a model's answer that came with a good status: does it hold
 * anything, and why did it stop? Chat Completions, Messages, Responses, Gemini, Converse,
 * Ollama and Cohere, whole or as one event of a stream. Only the form is read, never the text. */
#include "engine/judge/unwrap.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

#define ANSWER_PARTS_MAX 64 /* content parts looked at; one with content is enough */

/* A string value with something but white space in it. */
static bool has_words(daruma_str v)
{
    return json_is_string(v) && str_trim(str_sub(v, 1, v.n - 2)).n > 0;
}

static bool is_set(daruma_str v)
{
    return v.n && !json_is_null(v) && !(v.n == 2 && (v.p[0] == '{' || v.p[0] == '[' || v.p[0] == '"'));
}

static void set_finish(said *s, daruma_str v, daruma_arena *a)
{
    if (has_words(v) || json_is_number(v))
        s->finish = json_is_number(v) ? v : json_text(v, a);
}

/* Arguments are a string that must hold JSON; in a stream they come in pieces. */
static void look_at_calls(daruma_str calls, said *s, daruma_arena *a)
{
    daruma_str call;
    json_iter it = json_open(calls);
    for (int i = 0; i < ANSWER_PARTS_MAX && json_next(&it, NULL, &call); i++) {
        daruma_str args = json_path(call, "function.arguments");
        s->shape |= SAID_CONTENT;
        if (json_is_string(args) && !(s->shape & SAID_STREAM) && has_words(args) && !json_valid(json_text(args, a)))
            s->shape |= SAID_BAD_CALL;
    }
}

/* A list of typed parts, as Anthropic, Gemini, Converse and Responses have them. */
static void look_at_parts(daruma_str parts, said *s, daruma_arena *a)
{
    daruma_str part, key, v;
    json_iter it = json_open(parts);
    for (int i = 0; i < ANSWER_PARTS_MAX && json_next(&it, NULL, &part); i++) {
        bool words = false, thought = false, call = false;
        daruma_str inner = {0};
        json_iter members = json_open(part);
        while (json_next(&members, &key, &v)) {
            if (str_eq(key, S("text")))
                words = has_words(v);
            else if (str_eq(key, S("thought")))
                thought = json_is_true(v);
            else if (str_eq(key, S("content")))
                inner = v;
            else if (str_eq(key, S("refusal")) && has_words(v))
                s->shape |= SAID_REFUSAL;
            else if (str_eq(key, S("functionCall")) || str_eq(key, S("toolUse")) || str_eq(key, S("inlineData")))
                call = true;
            else if (str_eq(key, S("type")))
                call |= str_ifind(v, S("tool_use")) != STR_NONE || str_ifind(v, S("_call")) != STR_NONE;
        }
        if ((words && !thought) || call)
            s->shape |= SAID_CONTENT;
        if (json_is_array(inner))
            look_at_parts(inner, s, a);
    }
}

static void look_at_content(daruma_str content, said *s, daruma_arena *a)
{
    if (has_words(content))
        s->shape |= SAID_CONTENT;
    else if (json_is_array(content))
        look_at_parts(content, s, a);
}

static void look_at_message(daruma_str m, said *s, daruma_arena *a)
{
    daruma_str key, v;
    json_iter it = json_open(m);
    while (json_next(&it, &key, &v)) {
        if (str_eq(key, S("content")))
            look_at_content(v, s, a);
        else if (str_eq(key, S("tool_calls")))
            look_at_calls(v, s, a);
        else if (str_eq(key, S("function_call")) && is_set(v))
            s->shape |= SAID_CONTENT;
        else if (str_eq(key, S("refusal")) && has_words(v))
            s->shape |= SAID_REFUSAL;
        else if (str_eq(key, S("stop_reason")))
            set_finish(s, v, a);
    }
}

/* choices[0] and candidates[0]; false when it holds an error of its own. */
static bool look_at_choice(daruma_str c, said *s, daruma_arena *a)
{
    daruma_str key, v;
    json_iter it = json_open(c);
    while (json_next(&it, &key, &v)) {
        if (str_eq(key, S("error")) && is_set(v))
            return false;
        if (str_eq(key, S("finish_reason")) || str_eq(key, S("finishReason")))
            set_finish(s, v, a);
        else if (str_eq(key, S("message")) || str_eq(key, S("delta")))
            look_at_message(v, s, a);
        else if (str_eq(key, S("text")) && has_words(v))
            s->shape |= SAID_CONTENT;
        else if (str_eq(key, S("content")))
            look_at_parts(json_get(v, S("parts")), s, a);
        else if (str_eq(key, S("finishMessage")) && has_words(v) && s->ntexts == 0)
            s->texts[s->ntexts++] = json_text(v, a);
    }
    return true;
}

/* An event of Anthropic's or OpenAI's typed streams: its `type` says what it brings. */
static bool look_at_event(daruma_str type, daruma_str object, said *s, daruma_arena *a)
{
    if (str_starts(type, S("response."))) {
        daruma_str response = json_get(object, S("response"));
        if (str_ends(type, S(".delta")) && has_words(json_get(object, S("delta"))))
            s->shape |= SAID_CONTENT;
        return !json_is_object(response) || answer_read(response, s, a);
    }
    if (str_starts(type, S("content_block_"))) {
        daruma_str delta = json_get(object, S("delta"));
        if (has_words(json_get(delta, S("text"))) || has_words(json_get(delta, S("partial_json"))) ||
            json_raw_eq(json_path(object, "content_block.type"), S("\"tool_use\"")))
            s->shape |= SAID_CONTENT;
        return true;
    }
    if (str_eq(type, S("message_delta")))
        set_finish(s, json_path(object, "delta.stop_reason"), a);
    else if (str_eq(type, S("message_stop")))
        s->shape |= SAID_FINISHED;
    else if (str_eq(type, S("message_start")))
        look_at_message(json_get(object, S("message")), s, a);
    return true;
}

static bool first_choice(daruma_str list, said *s, daruma_arena *a)
{
    daruma_str c;
    json_iter it = json_open(list);
    if (json_next(&it, NULL, &c))
        return look_at_choice(c, s, a);
    if (!(s->shape & SAID_STREAM)) /* the last chunk of a stream carries usage alone */
        s->shape |= SAID_NO_CHOICES;
    return true;
}

bool answer_read(daruma_str object, said *s, daruma_arena *a)
{
    daruma_str key, v, error = {0}, is_error = {0}, type = {0}, named = {0}, choices = {0}, feedback = {0}, stop = {0};
    daruma_str done = {0}, done_why = {0}, details = {0}, content = {0}, message = {0}, output = {0}, reply = {0};
    const struct {
        daruma_str name, *to;
    } members[] = {{LIT("error"), &error},
                   {LIT("isError"), &is_error},
                   {LIT("type"), &type},
                   {LIT("object"), &named},
                   {LIT("choices"), &choices},
                   {LIT("candidates"), &choices},
                   {LIT("promptFeedback"), &feedback},
                   {LIT("prompt_feedback"), &feedback},
                   {LIT("stop_reason"), &stop},
                   {LIT("stopReason"), &stop},
                   {LIT("finish_reason"), &stop},
                   {LIT("done"), &done},
                   {LIT("done_reason"), &done_why},
                   {LIT("incomplete_details"), &details},
                   {LIT("content"), &content},
                   {LIT("message"), &message},
                   {LIT("output"), &output},
                   {LIT("response"), &reply}};
    json_iter it = json_open(object);
    it.quick = true; /* the whole was found valid before */
    while (json_next(&it, &key, &v))
        for (size_t i = 0; i < COUNT(members); i++)
            if (key.n && key.p[0] == members[i].name.p[0] && str_eq(members[i].name, key))
                *members[i].to = v;
    if (is_set(error) || json_is_true(is_error))
        return false;
    type = json_is_string(type) ? str_sub(type, 1, type.n - 2) : type;
    bool event = str_starts(type, S("response.")) || str_starts(type, S("content_block_")) ||
                 str_starts(type, S("message_")) || str_eq(type, S("ping"));
    if (event && !str_eq(type, S("response.failed"))) {
        if (!look_at_event(type, object, s, a))
            return false;
        s->shape |= SAID_ANSWER;
        return true;
    }
    daruma_str block = json_get(feedback, S("blockReason"));
    block = block.n ? block : json_get(feedback, S("block_reason"));
    bool is_response = str_eq(named, S("\"response\""));
    if (!json_is_array(choices) && !is_set(block) && !stop.n && !done.n && !is_response)
        return false;
    if (json_is_array(choices) && !first_choice(choices, s, a) && !is_set(block))
        return false;
    s->shape |= SAID_ANSWER;
    set_finish(s, stop.n ? stop : done_why, a);
    set_finish(s, json_get(details, S("reason")), a);
    set_finish(s, block, a);
    look_at_content(content, s, a);
    look_at_message(message, s, a);
    if (has_words(reply))
        s->shape |= SAID_CONTENT;
    if (is_set(json_get(reply, S("raiMediaFilteredReasons")))) /* Google's videos */
        s->shape |= SAID_REFUSAL;
    look_at_content(json_is_object(output) ? json_path(output, "message.content") : output, s, a);
    return true;
}
