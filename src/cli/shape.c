/* shape.c - see shape.h. A sign is something that one dialect has and no other; one of each of two dialects settles
 * nothing. */
#include "cli/shape.h"
#include "base/json.h"
#include "base/str.h"

/* What was seen so far. */
typedef struct signs {
    const dialect *d;
    const char *what;
    bool mixed;
} signs;

static void saw(signs *s, const dialect *d, const char *what)
{
    s->mixed |= s->d && s->d != d;
    if (!s->d) {
        s->d = d;
        s->what = what;
    }
}

static const dialect *settled(const signs *s, const char **sign)
{
    *sign = s->mixed ? NULL : s->what;
    return s->mixed ? NULL : s->d;
}

bool shape_has(daruma_str object, const char *key)
{
    return json_get(object, str_of(key)).n != 0;
}

static bool member_is(daruma_str object, const char *key, const char *word)
{
    daruma_str v = json_get(object, str_of(key));
    return json_is_string(v) && json_raw_eq(str_sub(v, 1, v.n - 2), str_of(word));
}

static bool type_is(daruma_str object, const char *word)
{
    return member_is(object, "type", word);
}

const char *shape_list_of(const dialect *d)
{
    return d == &dialect_gemini ? "contents" : d == &dialect_openai_responses ? "input" : "messages";
}

bool shape_is_item(daruma_str v)
{
    static const char *const types[] = {
        "function_call",    "function_call_output",    "message",          "reasoning",
        "custom_tool_call", "custom_tool_call_output", "local_shell_call", "item_reference",
    };
    for (size_t i = 0; i < COUNT(types); i++)
        if (type_is(v, types[i]))
            return true;
    return false;
}

static void look_at_message(signs *s, daruma_str m)
{
    daruma_str part;
    if (shape_has(m, "parts"))
        saw(s, &dialect_gemini, "`parts`");
    if (shape_is_item(m) && !type_is(m, "message")) /* which Anthropic's answers are as well */
        saw(s, &dialect_openai_responses, "items with a `type`");
    if (shape_has(m, "tool_calls") || shape_has(m, "tool_call_id") || member_is(m, "role", "tool"))
        saw(s, &dialect_openai, "`tool_calls` or messages with the role `tool`");
    for (json_iter it = json_open(json_get(m, S("content"))); json_next(&it, NULL, &part);)
        if (type_is(part, "tool_use") || type_is(part, "tool_result"))
            saw(s, &dialect_anthropic, "`tool_use` or `tool_result`");
        else if (type_is(part, "input_text") || type_is(part, "output_text"))
            saw(s, &dialect_openai_responses, "`input_text` or `output_text`");
}

static void look_at_messages(signs *s, daruma_str list)
{
    daruma_str m;
    for (json_iter it = json_open(list); json_next(&it, NULL, &m);)
        look_at_message(s, m);
}

const dialect *shape_of_messages(daruma_str list, const char **sign)
{
    signs s = {0};
    look_at_messages(&s, list);
    return settled(&s, sign);
}

const dialect *shape_of_request(daruma_str body, const char **sign)
{
    signs s = {0};
    if (json_is_array(json_get(body, S("contents"))))
        saw(&s, &dialect_gemini, "`contents`");
    if (!shape_has(body, "messages") && shape_has(body, "input"))
        saw(&s, &dialect_openai_responses, "`input`");
    if (shape_has(body, "messages") && (shape_has(body, "system") || shape_has(body, "anthropic_version")))
        saw(&s, &dialect_anthropic, "`system` beside `messages`");
    if (json_path(body, "tools.0.input_schema").n)
        saw(&s, &dialect_anthropic, "tools with an `input_schema`");
    if (shape_has(body, "messages") && json_path(body, "tools.0.function").n)
        saw(&s, &dialect_openai, "tools with a `function`");
    look_at_messages(&s, json_get(body, S("messages")));
    return settled(&s, sign);
}

const dialect *shape_of_answer(daruma_str text, const char **sign)
{
    enum { LOOKED_BYTES = 4096 };
    signs s = {0};
    daruma_str t = str_trim(text), begin = str_sub(t, 0, LOOKED_BYTES);
    if (json_is_object(t)) {
        if (shape_has(t, "choices"))
            saw(&s, &dialect_openai, "`choices`");
        if (shape_has(t, "candidates"))
            saw(&s, &dialect_gemini, "`candidates`");
        if (member_is(t, "object", "response") || json_is_array(json_get(t, S("output"))))
            saw(&s, &dialect_openai_responses, "`output`");
        if (type_is(t, "message") && json_is_array(json_get(t, S("content"))))
            saw(&s, &dialect_anthropic, "`content` of a `message`");
        return settled(&s, sign);
    }
    if (str_find(begin, S("\"choices\"")) != STR_NONE)
        saw(&s, &dialect_openai, "`choices`");
    if (str_find(begin, S("\"candidates\"")) != STR_NONE)
        saw(&s, &dialect_gemini, "`candidates`");
    if (str_find(begin, S("\"message_start\"")) != STR_NONE)
        saw(&s, &dialect_anthropic, "`message_start`");
    if (str_find(begin, S("\"response.created\"")) != STR_NONE)
        saw(&s, &dialect_openai_responses, "`response.created`");
    return settled(&s, sign);
}

/* ---- session files ---- */

shape_line shape_session_line(daruma_str line, daruma_str *message)
{
    daruma_str payload = json_get(line, S("payload")), said = json_get(line, S("message"));
    if (json_is_object(payload) && shape_has(line, "timestamp")) { /* Codex */
        *message = payload;
        return type_is(line, "response_item") ? LINE_MESSAGE : LINE_OTHER;
    }
    if (!shape_has(line, "sessionId") && !type_is(line, "summary") && !type_is(line, "file-history-snapshot"))
        return LINE_NONE;
    if (!json_is_object(said) || !(type_is(line, "user") || type_is(line, "assistant")) ||
        json_is_true(json_get(line, S("isApiErrorMessage")))) /* Claude Code's own words, which no model said */
        return LINE_OTHER;
    *message = said;
    return json_is_true(json_get(line, S("isSidechain"))) ? LINE_ASIDE : LINE_MESSAGE;
}
