#include "chaos/validate.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

static const char INVALID[] = "invalid_request_error";

refusal refuse(int status, const char *type, const char *code, const char *param, daruma_arena *a, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return (refusal){status, str_of(type), str_of(code), arena_copy(a, str_of(param)),
                     arena_copy(a, (daruma_str){text, len})};
}

/* Where in a request something stands: "messages[3].content" and the like. */
typedef struct place {
    char text[96];
} place;

static place place_of(const char *fmt, size_t i, size_t j)
{
    place p;
    snprintf(p.text, sizeof p.text, fmt, i, j);
    return p;
}

static daruma_str raw_of(daruma_str string) /* without its quotes; empty when it is no string */
{
    return json_is_string(string) ? str_sub(string, 1, string.n - 2) : (daruma_str){0};
}

static bool is(daruma_str string, const char *text)
{
    return json_is_string(string) && json_raw_eq(raw_of(string), str_of(text));
}

/* ---- a set of call ids, for pairing ------------------------------------------------------------ */

typedef struct ids {
    daruma_str *id;
    size_t n, cap;
} ids;

static void ids_add(ids *s, daruma_str id, daruma_arena *a)
{
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        daruma_str *p = ARENA_NEW(a, daruma_str, cap);
        if (!p)
            return;
        if (s->n)
            memcpy(p, s->id, s->n * sizeof *p);
        s->id = p;
        s->cap = cap;
    }
    s->id[s->n++] = id;
}

static bool ids_has(const ids *s, daruma_str id)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->id[i], id))
            return true;
    return false;
}

static bool ids_take(ids *s, daruma_str id) /* removes it; false when it was not there */
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->id[i], id)) {
            memmove(s->id + i, s->id + i + 1, (--s->n - i) * sizeof *s->id);
            return true;
        }
    return false;
}

static daruma_str ids_list(const ids *s, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < s->n; i++) {
        buf_putz(&b, i ? ", " : "");
        buf_put(&b, s->id[i]);
    }
    return buf_str(&b);
}

static bool name_ok(daruma_str name, size_t longest)
{
    for (size_t i = 0; i < name.n; i++)
        if (!ch_alpha(name.p[i]) && !ch_digit(name.p[i]) && name.p[i] != '_' && name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= longest;
}

/* ---- Chat Completions ------------------------------------------------------------------------------ */

static refusal chat_orphans(const ids *open, size_t at, daruma_arena *a)
{
    place p = place_of("messages.[%zu].role", at, 0);
    daruma_str list = ids_list(open, a);
    return refuse(400, INVALID, NULL, p.text, a,
                  "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                  "'tool_call_id'. The following tool_call_ids did not have response messages: " STR_FMT,
                  STR_ARG(list));
}

static refusal chat_message(daruma_str m, size_t i, ids *open, bool tools_allowed, daruma_arena *a)
{
    static const char *const roles[] = {"system", "assistant", "user", "function", "tool", "developer"};
    daruma_str role = json_get(m, S("role")), content = json_get(m, S("content")), call;
    place p = place_of("messages[%zu].role", i, 0), c = place_of("messages.[%zu].content", i, 0);
    bool known = false;
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++)
        known |= is(role, roles[r]);
    if (!role.n)
        return refuse(400, INVALID, "missing_required_parameter", p.text, a, "Missing required parameter: '%s'.",
                      p.text);
    if (!known)
        return refuse(400, INVALID, "invalid_value", p.text, a,
                      "Invalid value: '" STR_FMT "'. Supported values are: 'system', 'assistant', 'user', 'function', "
                      "'tool', and 'developer'.",
                      STR_ARG(raw_of(role)));
    if (is(role, "tool")) {
        daruma_str id = raw_of(json_get(m, S("tool_call_id")));
        place t = place_of("messages.[%zu].role", i, 0), tid = place_of("messages.[%zu].tool_call_id", i, 0);
        if (!tools_allowed)
            return refuse(400, INVALID, NULL, t.text, a,
                          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
                          "with 'tool_calls'.");
        if (!ids_take(open, id))
            return refuse(400, INVALID, NULL, tid.text, a,
                          "Invalid parameter: 'tool_call_id' of '" STR_FMT "' not found in 'tool_calls' of previous "
                          "message.",
                          STR_ARG(id));
        return (refusal){0};
    }
    daruma_str calls = json_get(m, S("tool_calls"));
    if (!json_is_string(content) && !json_is_array(content) && !calls.n && !json_get(m, S("function_call")).n &&
        !json_get(m, S("refusal")).n && !json_get(m, S("audio")).n)
        return refuse(400, INVALID, NULL, c.text, a, "Invalid value for 'content': expected a string, got %s.",
                      content.n && !json_is_null(content) ? "an object" : "null");
    place tc = place_of("messages[%zu].tool_calls", i, 0);
    if (json_is_array(calls) && json_count(calls) == 0)
        return refuse(400, INVALID, "empty_array", tc.text, a,
                      "Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array "
                      "instead.",
                      tc.text);
    json_iter it = json_open(calls);
    while (json_next(&it, NULL, &call))
        ids_add(open, raw_of(json_get(call, S("id"))), a);
    return (refusal){0};
}

static refusal chat_messages(const ask *q, daruma_arena *a)
{
    ids open = {0};
    daruma_str m;
    size_t i = 0, asked_at = 0;
    bool tools_allowed = false; /* directly behind tool_calls, or behind another result of them */
    refusal r;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++) {
        daruma_str role = json_get(m, S("role"));
        if (!is(role, "tool")) {
            if (open.n)
                return chat_orphans(&open, asked_at + 1, a);
            tools_allowed = false;
        }
        if ((r = chat_message(m, i, &open, tools_allowed, a)).status)
            return r;
        if (open.n && !is(role, "tool")) {
            tools_allowed = true;
            asked_at = i;
        }
    }
    return open.n ? chat_orphans(&open, asked_at + 1, a) : (refusal){0};
}

/* Function tools of both OpenAI wires. */
static refusal openai_tools(const ask *q, daruma_arena *a)
{
    bool chat = q->wire == WIRE_CHAT;
    daruma_str tool;
    size_t i = 0;
    json_iter it = json_open(q->tools);
    if (chat && json_is_array(q->tools) && json_count(q->tools) == 0)
        return refuse(400, INVALID, "empty_array", "tools", a,
                      "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array "
                      "instead.");
    for (; json_next(&it, NULL, &tool); i++) {
        if (!is(json_get(tool, S("type")), "function"))
            continue;
        daruma_str f = chat ? json_get(tool, S("function")) : tool, schema = json_get(f, S("parameters"));
        daruma_str name = raw_of(json_get(f, S("name")));
        place p = place_of(chat ? "tools[%zu].function.name" : "tools[%zu].name", i, 0);
        if (!name.n)
            return refuse(400, INVALID, "missing_required_parameter", p.text, a, "Missing required parameter: '%s'.",
                          p.text);
        if (!name_ok(name, 64))
            return refuse(400, INVALID, "invalid_value", p.text, a,
                          "Invalid '%s': string does not match pattern. Expected a string that matches the pattern "
                          "'^[a-zA-Z0-9_-]+$'.",
                          p.text);
        if (schema.n && !json_is_null(schema) && !is(json_get(schema, S("type")), "object")) {
            daruma_str type = raw_of(json_get(schema, S("type")));
            place s = place_of(chat ? "tools[%zu].function.parameters" : "tools[%zu].parameters", i, 0);
            return refuse(400, INVALID, "invalid_function_parameters", s.text, a,
                          "Invalid schema for function '" STR_FMT "': schema must be a JSON Schema of 'type: "
                          "\"object\"', got 'type: \"" STR_FMT "\"'.",
                          STR_ARG(name), STR_ARG(type.n ? type : S("None")));
        }
    }
    return (refusal){0};
}

/* ---- Responses --------------------------------------------------------------------------------------- */

static refusal responses_items(const ask *q, daruma_arena *a)
{
    ids calls = {0}, answered = {0};
    daruma_str item;
    size_t i = 0;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &item); i++) {
        bool call = is(json_get(item, S("type")), "function_call");
        bool output = is(json_get(item, S("type")), "function_call_output");
        daruma_str id = raw_of(json_get(item, S("call_id")));
        place p = place_of("input[%zu].call_id", i, 0);
        if ((call || output) && !id.n)
            return refuse(400, INVALID, "missing_required_parameter", p.text, a, "Missing required parameter: '%s'.",
                          p.text);
        if (id.n > 64)
            return refuse(400, INVALID, "string_above_max_length", p.text, a,
                          "Invalid '%s': string too long. Expected a string with maximum length 64, but got a string "
                          "with length %zu instead.",
                          p.text, id.n);
        if (call)
            ids_add(&calls, id, a);
        if (output && !ids_has(&calls, id) && !q->continues)
            return refuse(400, INVALID, NULL, "input", a,
                          "No tool call found for function call output with call_id " STR_FMT ".", STR_ARG(id));
        if (output)
            ids_add(&answered, id, a);
    }
    for (size_t c = 0; c < calls.n; c++)
        if (!ids_has(&answered, calls.id[c]))
            return refuse(400, INVALID, NULL, "input", a, "No tool output found for function call " STR_FMT ".",
                          STR_ARG(calls.id[c]));
    return (refusal){0};
}

/* ---- Messages ------------------------------------------------------------------------------------------ */

static refusal bad(daruma_arena *a, const char *where, const char *what)
{
    return refuse(400, INVALID, NULL, NULL, a, "%s: %s", where, what);
}

static bool empty_content(daruma_str content)
{
    return (json_is_string(content) && content.n == 2) || (json_is_array(content) && json_count(content) == 0);
}

/* One block. `calls` are the tool_use ids of the message before, `mine` those of this one. */
static refusal block_check(daruma_str b, size_t i, size_t j, const ids *calls, ids *answered, ids *mine,
                           daruma_arena *a)
{
    daruma_str type = json_get(b, S("type")), id = raw_of(json_get(b, S("id")));
    if (is(type, "text") && is(json_get(b, S("text")), ""))
        return bad(a, "messages", "text content blocks must be non-empty");
    if (is(type, "tool_use")) {
        place p = place_of("messages.%zu.content.%zu.tool_use.id", i, j);
        place in = place_of("messages.%zu.content.%zu.tool_use.input", i, j);
        place c = place_of("messages.%zu.content.%zu", i, j);
        if (!name_ok(id, 256))
            return bad(a, p.text, "String should match pattern '^[a-zA-Z0-9_-]+$'");
        if (!json_get(b, S("input")).n)
            return bad(a, in.text, "Field required");
        if (ids_has(mine, id))
            return bad(a, c.text, "`tool_use` ids must be unique");
        ids_add(mine, id, a);
    }
    if (is(type, "tool_result")) {
        daruma_str of = raw_of(json_get(b, S("tool_use_id")));
        place c = place_of("messages.%zu.content.%zu", i, j);
        if (!ids_has(calls, of))
            return refuse(400, INVALID, NULL, NULL, a,
                          "%s: unexpected `tool_use_id` found in `tool_result` blocks: " STR_FMT
                          ". Each `tool_result` block must have a corresponding `tool_use` block in the previous "
                          "message.",
                          c.text, STR_ARG(of));
        if (ids_has(answered, of))
            return refuse(
                400, INVALID, NULL, NULL, a,
                "%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: " STR_FMT,
                c.text, STR_ARG(of));
        ids_add(answered, of, a);
    }
    return (refusal){0};
}

static refusal orphaned_uses(const ids *calls, const ids *answered, size_t at, daruma_arena *a)
{
    ids open = {0};
    for (size_t i = 0; i < calls->n; i++)
        if (!ids_has(answered, calls->id[i]))
            ids_add(&open, calls->id[i], a);
    if (open.n == 0)
        return (refusal){0};
    daruma_str list = ids_list(&open, a);
    return refuse(400, INVALID, NULL, NULL, a,
                  "messages.%zu: `tool_use` ids were found without `tool_result` blocks immediately after: " STR_FMT
                  ". Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
                  at, STR_ARG(list));
}

static refusal messages_role(daruma_str m, size_t i, daruma_str before, bool last, const model_limits *lim,
                             daruma_arena *a)
{
    daruma_str role = json_get(m, S("role")), content = json_get(m, S("content"));
    place p = place_of("messages.%zu.role", i, 0), c = place_of("messages.%zu.content", i, 0),
          w = place_of("messages.%zu", i, 0);
    /* agents put system entries between the messages */
    if (!is(role, "user") && !is(role, "assistant") && !is(role, "system"))
        return bad(a, p.text, role.n ? "Input should be 'user' or 'assistant'" : "Field required");
    if (i == 0 && is(role, "assistant"))
        return bad(a, "messages", "first message must use the \"user\" role");
    if (lim->alternate && str_eq(role, before) && !is(role, "system"))
        return refuse(400, INVALID, NULL, NULL, a,
                      "messages: roles must alternate between \"user\" and \"assistant\", but found multiple " STR_FMT
                      " roles in a row",
                      STR_ARG(role));
    if (!content.n)
        return bad(a, c.text, "Field required");
    if (empty_content(content) && !(last && is(role, "assistant")))
        return bad(a, w.text,
                   "all messages must have non-empty content except for the optional final assistant message");
    return (refusal){0};
}

static refusal messages_list(const ask *q, const model_limits *lim, daruma_arena *a)
{
    ids calls = {0}, none = {0};
    daruma_str m, b, before = {0};
    size_t i = 0, n = json_count(q->messages);
    refusal r;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++) {
        ids answered = {0}, mine = {0};
        size_t j = 0;
        if ((r = messages_role(m, i, before, i + 1 == n, lim, a)).status)
            return r;
        if (is(before = json_get(m, S("role")), "system"))
            continue;
        json_iter in = json_open(json_get(m, S("content")));
        for (; json_next(&in, NULL, &b); j++)
            if ((r = block_check(b, i, j, &calls, &answered, &mine, a)).status)
                return r;
        if (calls.n && (r = orphaned_uses(&calls, &answered, i - 1, a)).status)
            return r;
        calls = mine;
    }
    return calls.n ? orphaned_uses(&calls, &none, n - 1, a) : (refusal){0};
}

static refusal messages_tools(const ask *q, daruma_arena *a)
{
    daruma_str tool;
    size_t i = 0;
    json_iter it = json_open(q->tools);
    for (; json_next(&it, NULL, &tool); i++) {
        daruma_str type = json_get(tool, S("type")), schema = json_get(tool, S("input_schema"));
        place n = place_of("tools.%zu.custom.name", i, 0), s = place_of("tools.%zu.custom.input_schema", i, 0),
              t = place_of("tools.%zu.custom.input_schema.type", i, 0);
        if (type.n && !is(type, "custom"))
            continue; /* a tool that the provider runs */
        if (!name_ok(raw_of(json_get(tool, S("name"))), 128))
            return bad(a, n.text, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
        if (!json_is_object(schema))
            return bad(a, s.text, "Field required");
        if (!json_get(schema, S("type")).n)
            return bad(a, t.text, "Field required");
        if (!is(json_get(schema, S("type")), "object"))
            return bad(a, t.text, "Input should be 'object'");
    }
    return (refusal){0};
}

/* ---- what all have --------------------------------------------------------------------------------------- */

static refusal check_shape(const ask *q, const model_limits *m, daruma_arena *a)
{
    refusal r;
    if (q->wire == WIRE_MESSAGES) {
        const char *missing = !q->model.n               ? "model"
                              : q->route == ROUTE_COUNT ? NULL
                              : q->max_output == -1     ? "max_tokens"
                                                        : NULL;
        if (!missing && !json_is_array(q->messages))
            missing = "messages";
        if (missing)
            return bad(a, missing, "Field required");
        if (q->max_output < 1 && q->route != ROUTE_COUNT)
            return bad(a, "max_tokens", "Input should be greater than or equal to 1");
        if (json_count(q->messages) == 0)
            return bad(a, "messages", "at least one message is required");
        r = messages_tools(q, a);
        return r.status ? r : messages_list(q, m, a);
    }
    bool chat = q->wire == WIRE_CHAT;
    if (!q->model.n)
        return chat ? refuse(400, INVALID, NULL, NULL, a, "you must provide a model parameter")
                    : refuse(400, INVALID, "missing_required_parameter", "model", a,
                             "Missing required parameter: 'model'.");
    if (chat && !json_is_array(q->messages))
        return refuse(400, INVALID, "missing_required_parameter", "messages", a,
                      "Missing required parameter: 'messages'.");
    if (chat && json_count(q->messages) == 0)
        return refuse(
            400, INVALID, "empty_array", "messages", a,
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array "
            "instead.");
    if (!q->messages.n && !q->continues)
        return refuse(
            400, INVALID, "missing_required_parameter", NULL, a,
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.");
    r = openai_tools(q, a);
    return r.status ? r : chat ? chat_messages(q, a) : responses_items(q, a);
}

static refusal check_room(const ask *q, const model_limits *m, daruma_arena *a)
{
    long long in = q->tokens, out = q->max_output > 0 ? q->max_output : 0, window = m->window, most = m->max_output;
    bool count = q->route == ROUTE_COUNT; /* counting is what one does before it fits */
    if (most >= 0 && out > most && q->wire == WIRE_MESSAGES)
        return refuse(400, INVALID, NULL, NULL, a,
                      "max_tokens: %lld > %lld, which is the maximum allowed number of output tokens for " STR_FMT, out,
                      most, STR_ARG(str_sub(q->model, 0, 200)));
    if (most >= 0 && out > most && q->wire == WIRE_RESPONSES)
        return refuse(
            400, INVALID, "integer_above_max_value", "max_output_tokens", a,
            "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= %lld, but got %lld "
            "instead.",
            most, out);
    if (most >= 0 && out > most)
        return refuse(400, INVALID, "invalid_value", q->max_output_name, a,
                      "%s is too large: %lld. This model supports at most %lld completion tokens, whereas you provided "
                      "%lld.",
                      q->max_output_name, out, most, out);
    if (window < 0 || count || in + out <= window)
        return (refusal){0};
    if (q->wire == WIRE_RESPONSES)
        return refuse(400, INVALID, "context_length_exceeded", "input", a,
                      "Your input exceeds the context window of this model. Please adjust your input and try again.");
    if (q->wire == WIRE_MESSAGES && in > window)
        return refuse(400, INVALID, NULL, NULL, a, "prompt is too long: %lld tokens > %lld maximum", in, window);
    if (q->wire == WIRE_MESSAGES)
        return refuse(
            400, INVALID, NULL, NULL, a,
            "input length and `max_tokens` exceed context limit: %lld + %lld > %lld, decrease input length or "
            "`max_tokens` and try again",
            in, out, window);
    if (out == 0)
        return refuse(400, INVALID, "context_length_exceeded", "messages", a,
                      "This model's maximum context length is %lld tokens. However, your messages resulted in %lld "
                      "tokens. Please reduce the length of the messages.",
                      window, in);
    return refuse(400, INVALID, "context_length_exceeded", "messages", a,
                  "This model's maximum context length is %lld tokens. However, you requested %lld tokens (%lld in the "
                  "messages, %lld in the completion). Please reduce the length of the messages or completion.",
                  window, in + out, in, out);
}

refusal validate(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (!q->ok && q->wire == WIRE_MESSAGES)
        return refuse(400, INVALID, NULL, NULL, a, "The request body is not valid JSON: unexpected end of data");
    if (!q->ok)
        return refuse(
            400, INVALID, NULL, NULL, a,
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your "
            "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid "
            "JSON. If you have trouble figuring out how to fix this, please contact us through our help "
            "center at help.openai.com.)");
    if (q->wire == WIRE_MESSAGES && !q->versioned)
        return refuse(400, INVALID, NULL, NULL, a, "anthropic-version: header is required");
    refusal r = check_shape(q, m, a);
    return r.status ? r : check_room(q, m, a);
}

refusal validate_key(const ask *q, bool known, daruma_arena *a)
{
    if (q->wire == WIRE_MESSAGES && (!q->key.n || !known))
        return refuse(401, "authentication_error", NULL, NULL, a,
                      q->key.n ? "invalid x-api-key" : "x-api-key header is required");
    if (!q->key.n)
        return refuse(
            401, INVALID, NULL, NULL, a,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using "
            "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank "
            "username) if you're accessing the API from your browser and are prompted for a username and "
            "password. You can obtain an API key from https://platform.openai.com/account/api-keys.");
    if (!known)
        return refuse(401, INVALID, "invalid_api_key", NULL, a,
                      "Incorrect API key provided: " STR_FMT "***. You can find your API key at "
                      "https://platform.openai.com/account/api-keys.",
                      STR_ARG(str_sub(q->key, 0, 3)));
    return (refusal){0};
}

refusal refuse_model(const ask *q, daruma_arena *a)
{
    daruma_str model = str_sub(q->model, 0, 200);
    if (q->wire == WIRE_MESSAGES)
        return refuse(404, "not_found_error", NULL, NULL, a, "model: " STR_FMT, STR_ARG(model));
    return refuse(404, INVALID, "model_not_found", NULL, a,
                  "The model `" STR_FMT "` does not exist or you do not have access to it.", STR_ARG(model));
}

refusal refuse_path(const ask *q, daruma_arena *a)
{
    if (q->wire == WIRE_MESSAGES)
        return refuse(404, "not_found_error", NULL, NULL, a, "Not Found");
    return refuse(404, INVALID, "unknown_url", NULL, a,
                  "Unknown request URL: " STR_FMT ". Please check the URL for typos, "
                  "or see the docs at https://platform.openai.com/docs/api-reference/.",
                  STR_ARG(str_sub(q->path, 0, 200)));
}
