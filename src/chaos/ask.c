#include "chaos/ask.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <xxhash.h>

/* Which path is what, by its end: whatever a base URL puts before it does not matter. */
static const struct {
    daruma_str end;
    route route;
    wire wire;
} routes[] = {
    {LIT("/chat/completions"), ROUTE_GENERATE, WIRE_CHAT},
    {LIT("/messages"), ROUTE_GENERATE, WIRE_MESSAGES},
    {LIT("/responses"), ROUTE_GENERATE, WIRE_RESPONSES},
    {LIT("/messages/count_tokens"), ROUTE_COUNT, WIRE_MESSAGES},
    {LIT("/embeddings"), ROUTE_EMBEDDINGS, WIRE_CHAT},
    {LIT("/models"), ROUTE_MODELS, WIRE_CHAT},
    {LIT(":generateContent"), ROUTE_GENERATE, WIRE_GEMINI},
    {LIT(":streamGenerateContent"), ROUTE_GENERATE, WIRE_GEMINI},
    {LIT(":countTokens"), ROUTE_COUNT, WIRE_GEMINI},
};

/* The value of a name in a query: "alt=sse&key=K". */
static daruma_str query_value(daruma_str query, daruma_str name)
{
    while (query.n) {
        daruma_str value = str_cut(&query, '&'), key = str_cut(&value, '=');
        if (str_eq(key, name))
            return value;
    }
    return (daruma_str){0};
}

static void find_route(ask *q)
{
    if (str_starts(q->path, S("/chaos/"))) {
        q->route = ROUTE_CONTROL;
        return;
    }
    for (size_t i = 0; i < COUNT(routes); i++)
        if (str_ends(q->path, routes[i].end)) {
            q->route = routes[i].route;
            q->wire = routes[i].wire;
        }
    if (q->versioned && q->route != ROUTE_GENERATE && q->wire != WIRE_GEMINI)
        q->wire = WIRE_MESSAGES;
}

/* Gemini says in the path and the query what others say in the body. */
static void read_target(ask *q, const http_head *head)
{
    if (http_header(head, S("x-goog-api-key")).n || query_value(head->query, S("key")).n)
        q->wire = q->route == ROUTE_GENERATE ? q->wire : WIRE_GEMINI;
    size_t colon = str_find(q->path, S(":")), at = str_find(q->path, S("/models/"));
    if (q->wire != WIRE_GEMINI || colon == STR_NONE || at == STR_NONE || at + 8 > colon)
        return;
    q->model = str_sub(q->path, at + 8, colon - at - 8);
    q->stream = str_ends(q->path, S(":streamGenerateContent"));
    q->array = q->stream && !str_eq(query_value(head->query, S("alt")), S("sse"));
}

/* The key: "authorization: Bearer KEY", "x-api-key: KEY", "x-goog-api-key: KEY" or "?key=KEY". */
static daruma_str key_of(const http_head *head)
{
    daruma_str key = http_header(head, S("x-api-key")), bearer = http_header(head, S("authorization"));
    if (!key.n)
        key = http_header(head, S("x-goog-api-key"));
    if (!key.n)
        key = query_value(head->query, S("key"));
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

static void add_result(ask *q, daruma_str name, daruma_str text)
{
    q->results[q->nresults++] = (ask_result){name, text};
    q->tooled = true;
}

/* All texts of a content in a row. */
static daruma_str content_whole(daruma_str content, daruma_arena *a)
{
    daruma_str part;
    daruma_buf b = buf_in(a);
    if (json_is_string(content))
        return json_text(content, a);
    json_iter it = json_open(content);
    while (json_is_array(content) && json_next(&it, NULL, &part))
        if (!json_is_true(json_get(part, S("thought"))))
            buf_put(&b, json_text(json_get(part, S("text")), a));
    return buf_str(&b);
}

daruma_str ask_either(daruma_str object, const char *camel, const char *snake)
{
    daruma_str v = json_get(object, str_of(camel));
    return v.n ? v : json_get(object, str_of(snake));
}

typedef enum speaker { NOBODY, SYSTEM, USER, TOOL, MODEL } speaker;

static speaker speaker_of(const ask *q, daruma_str m)
{
    if (member_is(m, "role", "system") || member_is(m, "role", "developer"))
        return SYSTEM;
    if (member_is(m, "role", "tool") || member_is(m, "type", "function_call_output"))
        return TOOL;
    if (member_is(m, "role", "assistant") || member_is(m, "role", "model") || member_is(m, "type", "function_call") ||
        member_is(m, "type", "reasoning"))
        return MODEL;
    return member_is(m, "role", "user") || q->wire == WIRE_GEMINI ? USER : NOBODY;
}

/* Results that stand in a message of the user. */
static void read_results(ask *q, daruma_str content, daruma_arena *a)
{
    daruma_str part;
    json_iter it = json_open(content);
    while (json_is_array(content) && json_next(&it, NULL, &part)) {
        daruma_str response = ask_either(part, "functionResponse", "function_response");
        if (q->wire == WIRE_MESSAGES && member_is(part, "type", "tool_result")) {
            add_result(q, name_of_call(q, json_get(part, S("tool_use_id")), a),
                       content_text(json_get(part, S("content")), a));
        } else if (q->wire == WIRE_GEMINI && response.n) {
            daruma_str said = json_get(response, S("response"));
            daruma_str result = ask_either(said, "output", "result");
            add_result(q, json_text(json_get(response, S("name")), a),
                       json_is_string(result) ? json_text(result, a) : said);
        }
    }
}

static bool asks_to_go_on(daruma_str text)
{
    static const daruma_str words[] = {LIT("continue"),    LIT("go on"),  LIT("carry on"), LIT("connection was lost"),
                                       LIT("cut off"),     LIT("resume"), LIT("left off"), LIT("broke off"),
                                       LIT("interrupted"), LIT("stopped")};
    return STR_ANY(str_ihas, text, words);
}

static void read_user(ask *q, daruma_str content, daruma_arena *a)
{
    daruma_str text = content_text(content, a);
    q->nresults = 0;
    read_results(q, content, a);
    bool results = q->nresults > 0, behind = q->prefills;
    q->prefills = false;
    if (!results && behind && q->partial.n && asks_to_go_on(text)) {
        q->purpose = ASK_CONTINUE;
    } else {
        q->purpose = ASK_TURN;
        q->partial = (daruma_str){0};
    }
    if (!results)
        q->said = text;
}

static void read_model(ask *q, daruma_str m, daruma_str content, daruma_arena *a)
{
    daruma_str part;
    bool calls = json_get(m, S("tool_calls")).n || member_is(m, "type", "function_call");
    json_iter it = json_open(content);
    while (json_is_array(content) && json_next(&it, NULL, &part))
        calls |= member_is(part, "type", "tool_use") || ask_either(part, "functionCall", "function_call").n;
    q->tooled |= calls;
    if (!q->prefills) {
        q->asked = q->said;
        q->asked_nresults = q->nresults;
    }
    q->nresults = 0;
    q->prefills = true;
    q->partial = calls ? (daruma_str){0} : content_whole(content, a);
    q->purpose = q->partial.n ? ASK_CONTINUE : ASK_TURN;
}

/* One message or item: remembers what the user said last and what tools answered since the model spoke. */
static void ask_read_message(ask *q, daruma_str m, bool *summary, daruma_arena *a)
{
    daruma_str content = json_get(m, q->wire == WIRE_GEMINI ? S("parts") : S("content"));
    switch (speaker_of(q, m)) {
    case SYSTEM:
        *summary |= str_ifind(content, S("summar")) != STR_NONE;
        return;
    case TOOL:
        if (q->prefills)
            q->nresults = 0;
        q->prefills = false;
        q->partial = (daruma_str){0};
        q->purpose = ASK_TURN;
        if (q->wire == WIRE_CHAT)
            add_result(q, name_of_call(q, json_get(m, S("tool_call_id")), a), content_text(content, a));
        else if (q->wire == WIRE_RESPONSES)
            add_result(q, name_of_call(q, json_get(m, S("call_id")), a), content_text(json_get(m, S("output")), a));
        return;
    case USER:
        read_user(q, content, a);
        return;
    case MODEL:
        read_model(q, m, content, a);
        return;
    case NOBODY:
        return;
    }
}

/* What came since the model spoke. Who goes on with what the provider keeps sends nothing but that. */
static void count_newest(ask *q, bool *spoke, daruma_str m)
{
    if (speaker_of(q, m) == MODEL) {
        *spoke = true;
        q->nnewest = 0;
    } else if (*spoke) {
        q->nnewest++;
    }
}

/* At most how many results there can be: one a message, or one a block of a message. */
static size_t room_for_results(const ask *q)
{
    daruma_str m;
    size_t n = 0, most = json_count(q->messages);
    json_iter it = json_open(q->messages);
    while ((q->wire == WIRE_MESSAGES || q->wire == WIRE_GEMINI) && json_next(&it, NULL, &m)) {
        n = json_count(json_get(m, q->wire == WIRE_GEMINI ? S("parts") : S("content")));
        most = n > most ? n : most;
    }
    return most + 1;
}

static void read_messages(ask *q, daruma_arena *a)
{
    daruma_str m;
    bool summary = str_ifind(q->system, S("summar")) != STR_NONE, spoke = q->continues;
    if (json_is_string(q->messages))
        q->said = json_text(q->messages, a);
    if (json_is_array(q->messages) && (q->results = ARENA_NEW(a, ask_result, room_for_results(q)))) {
        json_iter it = json_open(q->messages);
        while (json_next(&it, NULL, &m)) {
            count_newest(q, &spoke, m);
            if (json_is_object(m))
                ask_read_message(q, m, &summary, a);
        }
    }
    q->tooled |= q->noffered > 0;
    if (summary && q->noffered == 0 && q->purpose == ASK_TURN && q->said.n)
        q->purpose = ASK_SUMMARY;
}

static void add_tool(ask *q, daruma_str f, daruma_str schema, daruma_arena *a)
{
    daruma_str name = json_text(json_get(f, S("name")), a);
    if (name.n)
        q->offered[q->noffered++] = (ask_tool){name, schema};
}

/* Gemini puts declarations of functions into lists. */
static void read_declarations(ask *q, daruma_arena *a)
{
    daruma_str tool, f;
    size_t n = 1;
    json_iter it = json_open(q->tools);
    while (json_next(&it, NULL, &tool))
        n += json_count(ask_either(tool, "functionDeclarations", "function_declarations"));
    if (!(q->offered = ARENA_NEW(a, ask_tool, n)))
        return;
    for (it = json_open(q->tools); json_next(&it, NULL, &tool);) {
        daruma_str list = ask_either(tool, "functionDeclarations", "function_declarations");
        json_iter in = json_open(list);
        while (json_is_array(list) && json_next(&in, NULL, &f)) {
            daruma_str schema = json_get(f, S("parameters"));
            add_tool(q, f, schema.n ? schema : ask_either(f, "parametersJsonSchema", "parameters_json_schema"), a);
        }
    }
}

static void read_tools(ask *q, daruma_arena *a)
{
    daruma_str tool;
    if (json_is_array(q->tools) && q->wire == WIRE_GEMINI) {
        read_declarations(q, a);
        return;
    }
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
        if (!server_side)
            add_tool(q, f, schema, a);
    }
}

static bool word_is(daruma_str v, const char *word)
{
    return json_is_string(v) && str_ieq(str_sub(v, 1, v.n - 2), str_of(word));
}

/* tool_choice in its forms, and Gemini's functionCallingConfig. */
static void ask_read_choice(ask *q, daruma_arena *a)
{
    daruma_str choice = q->tool_choice, type = json_is_object(choice) ? json_get(choice, S("type")) : choice;
    if (q->wire == WIRE_GEMINI) {
        choice = ask_either(choice, "functionCallingConfig", "function_calling_config");
        type = json_get(choice, S("mode"));
        daruma_str names = ask_either(choice, "allowedFunctionNames", "allowed_function_names");
        if (word_is(type, "any") && json_count(names) == 1)
            q->demanded = json_text(json_path(names, "0"), a);
    } else {
        daruma_str name = json_path(choice, "function.name");
        q->demanded = json_text(name.n ? name : json_get(choice, S("name")), a);
    }
    q->no_tools = word_is(type, "none");
    q->some_tool = word_is(type, "required") || word_is(type, "any");
}

/* response_format (chat), text.format (Responses), output_config.format or output_format (Messages). */
static void read_format(ask *q, daruma_str format, daruma_arena *a)
{
    if (!json_is_object(format))
        return;
    daruma_str nested = json_path(format, "json_schema.schema"), plain = json_get(format, S("schema"));
    q->json = member_is(format, "type", "json_object") || member_is(format, "type", "json_schema");
    q->format = nested.n ? nested : plain;
    nested = json_path(format, "json_schema.name");
    q->format_name = json_text(nested.n ? nested : json_get(format, S("name")), a);
}

static void read_gemini(ask *q, daruma_str object, daruma_arena *a)
{
    daruma_str config = ask_either(object, "generationConfig", "generation_config");
    daruma_str max = ask_either(config, "maxOutputTokens", "max_output_tokens");
    daruma_str thinking = ask_either(config, "thinkingConfig", "thinking_config");
    q->messages = json_get(object, S("contents"));
    q->system = ask_either(object, "systemInstruction", "system_instruction");
    q->tools = json_get(object, S("tools"));
    q->tool_choice = ask_either(object, "toolConfig", "tool_config");
    q->settings = config;
    q->max_output = json_is_number(max) ? json_int(max, -1) : -1;
    q->max_output_name = "maxOutputTokens";
    q->json = word_is(ask_either(config, "responseMimeType", "response_mime_type"), "application/json");
    q->format = ask_either(config, "responseSchema", "response_schema");
    if (!q->format.n)
        q->format = ask_either(config, "responseJsonSchema", "response_json_schema");
    q->thinks = json_is_true(ask_either(thinking, "includeThoughts", "include_thoughts"));
    q->tokens = (int64_t)((q->messages.n + q->system.n + q->tools.n) / 4);
    read_tools(q, a);
    ask_read_choice(q, a);
    read_messages(q, a);
    q->hash = XXH3_64bits_withSeed(object.p, object.n, (uint64_t)q->wire + 2);
}

static void read_body(ask *q, daruma_str object, daruma_arena *a)
{
    daruma_str model = {0}, stream = {0}, options = {0}, input = {0}, messages = {0}, system = {0}, instructions = {0};
    daruma_str format = {0}, text = {0}, config = {0}, output_format = {0}, previous = {0}, conversation = {0};
    daruma_str thinking = {0}, reasoning = {0}, store = {0};
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
        {"thinking", &thinking},
        {"reasoning", &reasoning},
        {"store", &store},
        {max_names[0], &max[0]},
        {max_names[1], &max[1]},
        {max_names[2], &max[2]},
    };
    daruma_str name, value;
    json_iter it = json_open(object);
    while (json_next(&it, &name, &value))
        for (size_t i = 0; i < COUNT(keys); i++)
            if (json_raw_eq(name, str_of(keys[i].name)))
                *keys[i].to = value;

    q->model = json_text(model, a);
    q->stream = json_is_true(stream);
    q->usage = json_is_true(json_get(options, S("include_usage")));
    q->messages = q->wire == WIRE_RESPONSES || q->route == ROUTE_EMBEDDINGS ? input : messages;
    q->system = q->wire == WIRE_RESPONSES ? instructions : system;
    q->settings = object;
    q->thinks = word_is(json_get(thinking, S("type")), "enabled") ||
                word_is(json_get(thinking, S("type")), "adaptive") || json_is_object(reasoning);
    q->previous = json_text(previous, a);
    q->stores = q->wire == WIRE_RESPONSES && !(store.n && store.p[0] == 'f');
    q->continues = json_is_string(previous) || (conversation.n && !json_is_null(conversation));
    q->max_output = -1;
    q->max_output_name = max_names[q->wire == WIRE_RESPONSES ? 2 : 0];
    for (int i = 0; i < 3; i++)
        if (json_is_number(max[i])) {
            q->max_output = json_int(max[i], -1);
            q->max_output_name = max_names[i];
        }
    read_format(q, format, a);
    read_format(q, json_get(text, S("format")), a);
    read_format(q, json_get(config, S("format")), a);
    read_format(q, output_format, a);
    q->tokens = (int64_t)((q->messages.n + q->system.n + q->tools.n) / 4);
    read_tools(q, a);
    ask_read_choice(q, a);
    read_messages(q, a);

    size_t at = model.n ? (size_t)(model.p - object.p) : 0;
    q->hash = XXH3_64bits_withSeed(object.p, at, (uint64_t)q->wire + 2) ^
              XXH3_64bits_withSeed(object.p + at + model.n, object.n - at - model.n, 1);
}

ask ask_read(const http_head *head, daruma_str body, daruma_arena *a)
{
    ask q = {.path = head->path, .key = key_of(head), .max_output = -1, .left_calls = -1, .bytes = (int64_t)body.n};
    q.versioned = http_header(head, S("anthropic-version")).n > 0;
    find_route(&q);
    read_target(&q, head);
    daruma_str object;
    q.ok = json_whole(body, &object) && json_is_object(object);
    q.body = q.ok ? object : (daruma_str){0};
    if (q.ok && q.wire == WIRE_GEMINI)
        read_gemini(&q, object, a);
    else if (q.ok)
        read_body(&q, object, a);
    else
        q.hash = XXH3_64bits(body.p, body.n);
    return q;
}
