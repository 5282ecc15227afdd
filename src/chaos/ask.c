#include "chaos/ask.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include <xxhash.h>

/* Which path is what, by its end: whatever a base URL puts before it does not matter. */
static const struct {
    daruma_str end;
    route route;
    wire wire;
} routes[] = {
    {{"/chat/completions", 17}, ROUTE_GENERATE, WIRE_CHAT},
    {{"/messages", 9}, ROUTE_GENERATE, WIRE_MESSAGES},
    {{"/responses", 10}, ROUTE_GENERATE, WIRE_RESPONSES},
    {{"/messages/count_tokens", 22}, ROUTE_COUNT, WIRE_MESSAGES},
    {{"/embeddings", 11}, ROUTE_EMBEDDINGS, WIRE_CHAT},
    {{"/models", 7}, ROUTE_MODELS, WIRE_CHAT},
};

static void find_route(ask *q)
{
    if (str_starts(q->path, S("/chaos/"))) {
        q->route = ROUTE_CONTROL;
        return;
    }
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (str_ends(q->path, routes[i].end)) {
            q->route = routes[i].route;
            q->wire = routes[i].wire;
        }
    if (q->versioned && q->route != ROUTE_GENERATE)
        q->wire = WIRE_MESSAGES;
}

/* The key: "authorization: Bearer KEY" or "x-api-key: KEY". */
static daruma_str key_of(const http_head *head)
{
    daruma_str key = http_header(head, S("x-api-key")), bearer = http_header(head, S("authorization"));
    if (!key.n && str_istarts(bearer, S("bearer ")))
        key = str_trim(str_from(bearer, 7));
    return key;
}

/* The last text in a content: a string, or parts of which some have a text. Agents put reminders into the parts
 * before it. */
static daruma_str content_text(daruma_str content, daruma_arena *a)
{
    daruma_str part, last = {0};
    if (json_is_string(content))
        return json_text(content, a);
    if (!json_is_array(content))
        return last;
    json_iter it = json_open(content);
    while (json_next(&it, NULL, &part)) {
        daruma_str text = json_get(part, S("text"));
        if (json_is_string(text))
            last = json_text(text, a);
    }
    return last;
}

static bool member_is(daruma_str object, const char *key, const char *text)
{
    daruma_str v = json_get(object, str_of(key));
    return json_is_string(v) && json_raw_eq(str_sub(v, 1, v.n - 2), str_of(text));
}

static bool same_text(daruma_str a, daruma_str b)
{
    return json_is_string(a) && str_eq(a, b);
}

/* The name of the tool that was called under this id (raw), wherever in the conversation that was. */
static daruma_str name_of_call(const ask *q, daruma_str id, daruma_arena *a)
{
    daruma_str item, part;
    json_iter it = json_open(q->messages);
    while (json_next(&it, NULL, &item)) {
        if (q->wire == WIRE_RESPONSES) {
            if (member_is(item, "type", "function_call") && same_text(json_get(item, S("call_id")), id))
                return json_text(json_get(item, S("name")), a);
            continue;
        }
        daruma_str calls = json_get(item, q->wire == WIRE_CHAT ? S("tool_calls") : S("content"));
        json_iter in = json_open(calls);
        while (json_is_array(calls) && json_next(&in, NULL, &part))
            if (same_text(json_get(part, S("id")), id))
                return json_text(q->wire == WIRE_CHAT ? json_path(part, "function.name") : json_get(part, S("name")),
                                 a);
    }
    return json_text(id, a);
}

static void add_result(ask *q, daruma_str id, daruma_str content, daruma_arena *a)
{
    q->results[q->nresults++] = (ask_result){name_of_call(q, id, a), content_text(content, a)};
}

/* One message or item: remembers what the user said last and what tools answered since the model spoke. */
static void read_message(ask *q, daruma_str m, daruma_arena *a)
{
    daruma_str content = json_get(m, S("content")), part;
    if (q->wire == WIRE_CHAT && member_is(m, "role", "tool")) {
        add_result(q, json_get(m, S("tool_call_id")), content, a);
    } else if (q->wire == WIRE_RESPONSES && member_is(m, "type", "function_call_output")) {
        add_result(q, json_get(m, S("call_id")), json_get(m, S("output")), a);
    } else if (member_is(m, "role", "user")) {
        q->nresults = 0;
        json_iter it = json_open(content);
        while (q->wire == WIRE_MESSAGES && json_is_array(content) && json_next(&it, NULL, &part))
            if (member_is(part, "type", "tool_result"))
                add_result(q, json_get(part, S("tool_use_id")), json_get(part, S("content")), a);
        daruma_str text = content_text(content, a);
        if (q->nresults == 0)
            q->said = text;
    } else if (member_is(m, "role", "assistant") || member_is(m, "type", "function_call")) {
        q->nresults = 0;
    }
}

/* At most how many results there can be: one a message, or one a block of a message. */
static size_t room_for_results(const ask *q)
{
    daruma_str m;
    size_t n = 0, most = json_count(q->messages);
    json_iter it = json_open(q->messages);
    while (q->wire == WIRE_MESSAGES && json_next(&it, NULL, &m)) {
        n = json_count(json_get(m, S("content")));
        most = n > most ? n : most;
    }
    return most + 1;
}

static void read_messages(ask *q, daruma_arena *a)
{
    daruma_str m;
    if (json_is_string(q->messages))
        q->said = json_text(q->messages, a);
    if (!json_is_array(q->messages) || !(q->results = ARENA_NEW(a, ask_result, room_for_results(q))))
        return;
    json_iter it = json_open(q->messages);
    while (json_next(&it, NULL, &m))
        if (json_is_object(m))
            read_message(q, m, a);
}

static void read_tools(ask *q, daruma_arena *a)
{
    daruma_str tool;
    if (!json_is_array(q->tools) || !(q->offered = ARENA_NEW(a, ask_tool, json_count(q->tools) + 1)))
        return;
    json_iter it = json_open(q->tools);
    while (json_next(&it, NULL, &tool)) {
        daruma_str f = q->wire == WIRE_CHAT ? json_get(tool, S("function")) : tool;
        bool server_side = q->wire != WIRE_CHAT && json_get(tool, S("type")).n &&
                           !member_is(tool, "type", "function") && !member_is(tool, "type", "custom");
        daruma_str schema = json_get(f, q->wire == WIRE_MESSAGES ? S("input_schema") : S("parameters"));
        if (q->wire == WIRE_RESPONSES && member_is(tool, "type", "custom"))
            server_side = true; /* free text instead of JSON arguments */
        daruma_str name = json_text(json_get(f, S("name")), a);
        if (name.n && !server_side)
            q->offered[q->noffered++] = (ask_tool){name, schema};
    }
}

/* response_format (chat), text.format (Responses), output_config.format or output_format (Messages). */
static void read_format(ask *q, daruma_str format)
{
    if (!json_is_object(format))
        return;
    daruma_str nested = json_path(format, "json_schema.schema"), plain = json_get(format, S("schema"));
    q->json = member_is(format, "type", "json_object") || member_is(format, "type", "json_schema");
    q->format = nested.n ? nested : plain;
}

static void read_body(ask *q, daruma_str object, daruma_arena *a)
{
    daruma_str model = {0}, stream = {0}, options = {0}, input = {0}, messages = {0}, system = {0}, instructions = {0};
    daruma_str format = {0}, text = {0}, config = {0}, output_format = {0}, previous = {0}, conversation = {0};
    daruma_str max[3] = {{0}, {0}, {0}};
    static const char *const max_names[3] = {"max_tokens", "max_completion_tokens", "max_output_tokens"};
    struct {
        const char *name;
        daruma_str *to;
    } keys[] = {
        {"model", &model},
        {"stream", &stream},
        {"stream_options", &options},
        {"input", &input},
        {"messages", &messages},
        {"system", &system},
        {"instructions", &instructions},
        {"tools", &q->tools},
        {"tool_choice", &q->tool_choice},
        {"response_format", &format},
        {"text", &text},
        {"output_config", &config},
        {"output_format", &output_format},
        {"previous_response_id", &previous},
        {"conversation", &conversation},
        {max_names[0], &max[0]},
        {max_names[1], &max[1]},
        {max_names[2], &max[2]},
    };
    daruma_str name, value;
    json_iter it = json_open(object);
    while (json_next(&it, &name, &value))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (json_raw_eq(name, str_of(keys[i].name)))
                *keys[i].to = value;

    q->model = json_text(model, a);
    q->stream = json_is_true(stream);
    q->usage = json_is_true(json_get(options, S("include_usage")));
    q->messages = q->wire == WIRE_RESPONSES || q->route == ROUTE_EMBEDDINGS ? input : messages;
    q->system = q->wire == WIRE_RESPONSES ? instructions : system;
    q->continues = json_is_string(previous) || (conversation.n && !json_is_null(conversation));
    q->max_output = -1;
    q->max_output_name = max_names[q->wire == WIRE_RESPONSES ? 2 : 0];
    for (int i = 0; i < 3; i++)
        if (json_is_number(max[i])) {
            q->max_output = json_int(max[i], -1);
            q->max_output_name = max_names[i];
        }
    read_format(q, format);
    read_format(q, json_get(text, S("format")));
    read_format(q, json_get(config, S("format")));
    read_format(q, output_format);
    q->tokens = (int64_t)((q->messages.n + q->system.n + q->tools.n) / 4);
    read_tools(q, a);
    read_messages(q, a);

    size_t at = model.n ? (size_t)(model.p - object.p) : 0;
    q->hash = XXH3_64bits_withSeed(object.p, at, (uint64_t)q->wire + 2) ^
              XXH3_64bits_withSeed(object.p + at + model.n, object.n - at - model.n, 1);
}

ask ask_read(const http_head *head, daruma_str body, daruma_arena *a)
{
    ask q = {.path = head->path, .key = key_of(head), .max_output = -1};
    q.versioned = http_header(head, S("anthropic-version")).n > 0;
    find_route(&q);
    daruma_str object;
    q.ok = json_whole(body, &object) && json_is_object(object);
    if (q.ok)
        read_body(&q, object, a);
    else
        q.hash = XXH3_64bits(body.p, body.n);
    return q;
}
