/* validate_chat.c - what OpenAI refuses in a Chat Completions request, and in tools of both of its APIs. */
#include "chaos/rules.h"
#include "base/json.h"
#include "base/str.h"

enum {
    CHAT_ID_BYTES_MAX = 40,   /* of a call's id, as its errors state */
    TOOL_NAME_BYTES_MAX = 64, /* of a function's name */
    TOOLS_MAX = 128,
};

static refusal empty_array(const char *where, daruma_arena *a)
{
    return OPENAI(a, "empty_array", where,
                  "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.",
                  where);
}

static refusal missing(const char *where, daruma_arena *a)
{
    return OPENAI(a, "missing_required_parameter", where, "Missing required parameter: '%s'.", where);
}

refusal openai_string(daruma_str v, const char *where, size_t longest, bool pattern, daruma_arena *a)
{
    daruma_str s = raw_of(v);
    if (!v.n)
        return missing(where, a);
    if (!json_is_string(v))
        return OPENAI(a, "invalid_type", where, "Invalid type for '%s': expected a string, but got %s instead.", where,
                      json_is_object(v)   ? "an object"
                      : json_is_array(v)  ? "an array"
                      : json_is_null(v)   ? "null"
                      : json_is_number(v) ? "an integer"
                                          : "a boolean");
    if (pattern && !s.n)
        return OPENAI(a, "empty_string", where,
                      "Invalid '%s': empty string. Expected a string with minimum length 1, but got an empty string "
                      "instead.",
                      where);
    if (longest && s.n > longest)
        return OPENAI(a, "string_above_max_length", where,
                      "Invalid '%s': string too long. Expected a string with maximum length %zu, but got a string with "
                      "length %zu instead.",
                      where, longest, s.n);
    if (pattern && !tool_name_ok(s, s.n))
        return OPENAI(a, "invalid_value", where,
                      "Invalid '%s': string does not match pattern. Expected a string that matches the pattern "
                      "'^[a-zA-Z0-9_-]+$'.",
                      where);
    return (refusal){0};
}

static refusal chat_orphans(const ids *open, size_t at, daruma_arena *a)
{
    daruma_str list = ids_list(open, a);
    return of_kind("orphan_tool_call",
                   OPENAI(a, NULL, WHERE("messages.[%zu].role", at),
                          "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                          "'tool_call_id'. The following tool_call_ids did not have response messages: " STR_FMT,
                          STR_ARG(list)));
}

/* Which message, from `from` on, answers this id; `until` when none before that does. */
static size_t answer_at(const ask *q, size_t from, size_t until, daruma_str id)
{
    daruma_str m;
    json_iter it = json_open(q->messages);
    for (size_t i = 0; i < until && json_next(&it, NULL, &m); i++)
        if (i > from && says(json_get(m, S("role")), "tool") && str_eq(raw_of(json_get(m, S("tool_call_id"))), id))
            return i;
    return until;
}

/* A message of a tool. `asked_at` is the message whose calls it must answer. */
static refusal tool_message(const ask *q, daruma_str m, size_t i, size_t asked_at, bool allowed, ids *open,
                            daruma_arena *a)
{
    daruma_str id = raw_of(json_get(m, S("tool_call_id"))), content = json_get(m, S("content"));
    if (!allowed)
        return of_kind("orphan_tool_result",
                       OPENAI(a, NULL, WHERE("messages.[%zu].role", i),
                              "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                              "with 'tool_calls'."));
    if (!ids_take(open, id)) {
        size_t first = answer_at(q, asked_at, i, id);
        if (first < i)
            return of_kind("orphan_tool_result",
                           OPENAI(a, NULL, WHERE("messages.[%zu].tool_call_id", i),
                                  "Invalid parameter: Duplicate value for 'tool_call_id' of '" STR_FMT
                                  "', in messages[%zu] and messages[%zu].",
                                  STR_ARG(id), first, i));
        return of_kind("orphan_tool_result", OPENAI(a, NULL, WHERE("messages.[%zu].tool_call_id", i),
                                                    "Invalid parameter: 'tool_call_id' of '" STR_FMT
                                                    "' not found in 'tool_calls' of previous "
                                                    "message.",
                                                    STR_ARG(id)));
    }
    if (!json_is_string(content) && !json_is_array(content))
        return OPENAI(a, NULL, WHERE("messages.[%zu].content", i),
                      "Invalid value for 'content': expected a string, got %s.",
                      content.n && !json_is_null(content) ? "an object" : "null");
    return (refusal){0};
}

static refusal content_parts(daruma_str content, daruma_str role, size_t i, daruma_arena *a)
{
    static const char *const types[] = {"text", "image_url", "input_audio", "refusal", "audio", "file", NULL};
    daruma_str part;
    size_t j = 0;
    if (json_is_array(content) && json_count(content) == 0)
        return empty_array(WHERE("messages[%zu].content", i), a);
    json_iter it = json_open(content);
    for (; json_is_array(content) && json_next(&it, NULL, &part); j++) {
        daruma_str type = json_get(part, S("type"));
        if (!type.n)
            return missing(WHERE("messages[%zu].content[%zu].type", i, j), a);
        if (!listed(types, raw_of(type)))
            return OPENAI(a, "invalid_value", WHERE("messages[%zu].content[%zu].type", i, j),
                          "Invalid value: '" STR_FMT "'. Supported values are: 'text', 'image_url', 'input_audio', "
                          "'refusal', 'audio', and 'file'.",
                          STR_ARG(str_sub(raw_of(type), 0, 60)));
        if (says(type, "text") && !json_is_string(json_get(part, S("text"))))
            return missing(WHERE("messages[%zu].content[%zu].text", i, j), a);
        if (says(type, "image_url") && !says(role, "user")) {
            return OPENAI(a, "invalid_value", WHERE("messages[%zu]", i),
                          "Invalid '%s'. Image URLs are only allowed for messages with role 'user', but this message "
                          "with role '" STR_FMT "' contains an image URL.",
                          WHERE("messages[%zu]", i), STR_ARG(raw_of(role)));
        }
    }
    return (refusal){0};
}

static refusal tool_calls(daruma_str calls, size_t i, ids *open, daruma_arena *a)
{
    daruma_str call;
    size_t j = 0;
    refusal r;
    if (json_is_array(calls) && json_count(calls) == 0)
        return empty_array(WHERE("messages[%zu].tool_calls", i), a);
    json_iter it = json_open(calls);
    for (; json_next(&it, NULL, &call); j++) {
        daruma_str f = json_get(call, S("function")), id = json_get(call, S("id"));
        if ((r = openai_string(id, WHERE("messages[%zu].tool_calls[%zu].id", i, j), CHAT_ID_BYTES_MAX, false, a))
                .status)
            return r;
        if (json_is_object(f) &&
            (r = openai_string(json_get(f, S("name")), WHERE("messages[%zu].tool_calls[%zu].function.name", i, j),
                               TOOL_NAME_BYTES_MAX, true, a))
                .status)
            return r;
        if (json_is_object(f) &&
            (r = openai_string(json_get(f, S("arguments")),
                               WHERE("messages[%zu].tool_calls[%zu].function.arguments", i, j), 0, false, a))
                .status)
            return r;
        ids_add(open, raw_of(id), a);
    }
    return (refusal){0};
}

static refusal chat_message(daruma_str m, size_t i, ids *open, daruma_arena *a)
{
    static const char *const roles[] = {"system", "assistant", "user", "function", "developer", NULL};
    daruma_str role = json_get(m, S("role")), content = json_get(m, S("content")), calls = json_get(m, S("tool_calls"));
    if (!role.n)
        return missing(WHERE("messages[%zu].role", i), a);
    if (!listed(roles, raw_of(role)))
        return OPENAI(a, "invalid_value", WHERE("messages[%zu].role", i),
                      "Invalid value: '" STR_FMT "'. Supported values are: 'system', 'assistant', 'user', 'function', "
                      "'tool', and 'developer'.",
                      STR_ARG(str_sub(raw_of(role), 0, 60)));
    if (!json_is_string(content) && !json_is_array(content) && !calls.n && !json_get(m, S("function_call")).n &&
        !json_get(m, S("refusal")).n && !json_get(m, S("audio")).n)
        return OPENAI(a, NULL, WHERE("messages.[%zu].content", i),
                      "Invalid value for 'content': expected a string, got %s.",
                      content.n && !json_is_null(content) ? "an object" : "null");
    refusal r = content_parts(content, role, i, a);
    return r.status ? r : tool_calls(calls, i, open, a);
}

/* Servers that fill the messages into a template want turns (vLLM, with the templates of Mistral and others). */
static refusal chat_turns(daruma_str before, daruma_str role, daruma_arena *a)
{
    bool same = (says(role, "user") || says(role, "assistant")) && str_eq(before, role);
    if (!same)
        return (refusal){0};
    return refuse(400, "BadRequestError", NULL, NULL, a,
                  "After the optional system message, conversation roles must alternate "
                  "user/assistant/user/assistant/...");
}

static refusal chat_messages(const ask *q, const model_limits *lim, daruma_arena *a)
{
    ids open = {0};
    daruma_str m, before = {0};
    size_t i = 0, asked_at = 0;
    bool behind_calls = false; /* directly behind tool_calls, or behind another result of them */
    refusal r;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++) {
        daruma_str role = json_get(m, S("role"));
        bool tool = says(role, "tool");
        if (!tool && open.n)
            return chat_orphans(&open, asked_at + 1, a);
        if (lim->alternate && (r = chat_turns(before, role, a)).status)
            return r;
        r = tool ? tool_message(q, m, i, asked_at, behind_calls, &open, a) : chat_message(m, i, &open, a);
        if (r.status)
            return r;
        if (!tool) {
            behind_calls = open.n > 0;
            asked_at = i;
        }
        before = role;
    }
    if (open.n)
        return chat_orphans(&open, asked_at + 1, a);
    if (lim->refuse_prefill && says(before, "assistant"))
        return PLAIN(a, "This model does not support assistant message prefill. The conversation must end with a user "
                        "message.");
    return (refusal){0};
}

refusal openai_tools(const ask *q, daruma_arena *a)
{
    bool chat = q->wire == WIRE_CHAT;
    daruma_str tool;
    size_t i = 0, n = json_count(q->tools);
    refusal r;
    json_iter it = json_open(q->tools);
    if (chat && json_is_array(q->tools) && n == 0)
        return empty_array("tools", a);
    if (n > TOOLS_MAX)
        return OPENAI(
            a, "array_above_max_length", "tools",
            "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with "
            "length %zu instead.",
            TOOLS_MAX, n);
    for (; json_next(&it, NULL, &tool); i++) {
        if (!says(json_get(tool, S("type")), "function"))
            continue;
        daruma_str f = chat ? json_get(tool, S("function")) : tool, schema = json_get(f, S("parameters"));
        daruma_str name = json_get(f, S("name"));
        if ((r = openai_string(name, WHERE(chat ? "tools[%zu].function.name" : "tools[%zu].name", i),
                               TOOL_NAME_BYTES_MAX, true, a))
                .status)
            return r;
        if (schema.n && !json_is_null(schema) && !says(json_get(schema, S("type")), "object")) {
            daruma_str type = raw_of(json_get(schema, S("type")));
            return OPENAI(a, "invalid_function_parameters",
                          WHERE(chat ? "tools[%zu].function.parameters" : "tools[%zu].parameters", i),
                          "Invalid schema for function '" STR_FMT "': schema must be a JSON Schema of 'type: "
                          "\"object\"', got 'type: \"" STR_FMT "\"'.",
                          STR_ARG(raw_of(name)), STR_ARG(type.n ? type : S("None")));
        }
    }
    return (refusal){0};
}

refusal chat_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (!q->model.n)
        return PLAIN(a, "you must provide a model parameter");
    if (!json_is_array(q->messages))
        return missing("messages", a);
    if (json_count(q->messages) == 0)
        return empty_array("messages", a);
    refusal r = of_kind("invalid_tool_schema", openai_tools(q, a));
    return r.status ? r : chat_messages(q, m, a);
}
