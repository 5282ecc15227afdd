/* validate_gemini.c - what Google refuses in a generateContent request. */
#include "chaos/rules.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { FUNCTION_NAME_BYTES_MAX = 64 };

static refusal wrong(daruma_arena *a, const char *where, const char *what)
{
    return GOOGLE(a, "* GenerateContentRequest.%s: %s\n", where, what);
}

/* A value that does not fit the field's type, as the gateway in front of the API says it. */
static refusal wrong_type(daruma_arena *a, const char *where)
{
    refusal r = GOOGLE(a, "Invalid value at '%s' (type.googleapis.com/google.protobuf.Struct)", where);
    r.details = STR_SAY(a, "[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{\"field\":",
                        buf_quoted(str_of(where)), ",\"description\":", buf_quoted(r.message), "}]}]");
    return r;
}

/* What one content holds. */
typedef struct content {
    bool model;
    size_t calls, responses, others;
    ids called, answered; /* names, with ids where they have some */
} content;

/* Name and id in one text, so that a result is known by both. */
static daruma_str call_name(daruma_str f, daruma_arena *a)
{
    return STR_SAY(a, raw_of(json_get(f, S("name"))), "#", raw_of(json_get(f, S("id"))));
}

static bool name_ok(daruma_str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!ch_alpha(name.p[i]) && !ch_digit(name.p[i]) && !strchr("_.:-", name.p[i]))
            return false;
    return name.n && name.n <= FUNCTION_NAME_BYTES_MAX && !ch_digit(name.p[0]) && name.p[0] != '-' && name.p[0] != '.';
}

static refusal part_rules(daruma_str part, size_t i, size_t j, content *c, daruma_arena *a)
{
    static const char *const data[][2] = {{"text", "text"},
                                          {"inlineData", "inline_data"},
                                          {"fileData", "file_data"},
                                          {"functionCall", "function_call"},
                                          {"functionResponse", "function_response"},
                                          {"executableCode", "executable_code"},
                                          {"codeExecutionResult", "code_execution_result"}};
    daruma_str call = ask_either(part, "functionCall", "function_call");
    daruma_str response = ask_either(part, "functionResponse", "function_response"), text = json_get(part, S("text"));
    bool any = false;
    for (size_t k = 0; k < COUNT(data); k++)
        any |= ask_either(part, data[k][0], data[k][1]).n > 0;
    if (!any)
        return wrong(a, WHERE("contents[%zu].parts[%zu].data", i, j),
                     "required oneof field 'data' must have one initialized field");
    if (says(text, "") && !ask_either(part, "thoughtSignature", "thought_signature").n)
        return GOOGLE(a, "Unable to submit request because it must have a text parameter. Add a text parameter and try "
                         "again.");
    daruma_str f = call.n ? call : response, value = json_get(f, call.n ? S("args") : S("response"));
    if (f.n && !raw_of(json_get(f, S("name"))).n)
        return wrong(a,
                     WHERE(call.n ? "contents[%zu].parts[%zu].function_call.name"
                                  : "contents[%zu].parts[%zu].function_response.name",
                           i, j),
                     "Name cannot be empty.");
    if (f.n && !json_is_object(value) && (value.n || response.n))
        return wrong_type(a, WHERE(call.n ? "contents[%zu].parts[%zu].function_call.args"
                                          : "contents[%zu].parts[%zu].function_response.response",
                                   i, j));
    c->others += !f.n;
    c->calls += call.n > 0;
    c->responses += response.n > 0;
    if (call.n)
        ids_add(&c->called, call_name(call, a), a);
    if (response.n)
        ids_add(&c->answered, call_name(response, a), a);
    return (refusal){0};
}

static refusal read_content(daruma_str m, size_t i, bool only, content *c, daruma_arena *a)
{
    daruma_str role = json_get(m, S("role")), parts = json_get(m, S("parts")), part;
    size_t j = 0;
    refusal r;
    *c = (content){.model = says(role, "model")};
    if (!c->model && !says(role, "user") && !says(role, "function") && !(only && !role.n))
        return GOOGLE(a, "Please use a valid role: user, model.");
    if (json_is_object(parts)) /* one of many may stand without its array */
        return part_rules(parts, i, 0, c, a);
    if (json_count(parts) == 0)
        return wrong(a, WHERE("contents[%zu].parts", i), "contents.parts must not be empty.");
    json_iter it = json_open(parts);
    for (; json_next(&it, NULL, &part); j++)
        if ((r = part_rules(part, i, j, c, a)).status)
            return r;
    return (refusal){0};
}

/* Does each response have its call, and each call its response? By id where there are some, else by name. */
static bool answers(const content *call, const content *response)
{
    ids open = call->called;
    if (call->calls != response->responses)
        return false;
    for (size_t i = 0; i < response->answered.n; i++) {
        daruma_str is = response->answered.id[i];
        size_t k = 0;
        bool bare = is.n && is.p[is.n - 1] == '#';
        for (; k < open.n; k++) {
            daruma_str has = open.id[k];
            size_t mine = str_findch(is, '#'), theirs = str_findch(has, '#');
            bool name = str_eq(str_sub(is, 0, mine), str_sub(has, 0, theirs));
            if (name && (bare || theirs + 1 == has.n || str_eq(is, has)))
                break;
        }
        if (k == open.n)
            return false;
        daruma_str taken = open.id[k];
        open.id[k] = open.id[--open.n];
        open.id[open.n] = taken;
    }
    return true;
}

static refusal turn(const content *before, const content *c, bool first, daruma_arena *a)
{
    static const char count[] = "Please ensure that the number of function response parts is equal to the number of "
                                "function call parts of the function call turn.";
    bool asked = !first && before->model && before->calls;
    if (c->responses && !asked)
        return of_kind(
            "orphan_tool_result",
            GOOGLE(a, "Please ensure that function response turn comes immediately after a function call turn."));
    if (asked && !answers(before, c))
        return of_kind(c->responses > before->calls ? "orphan_tool_result" : "orphan_tool_call",
                       GOOGLE(a, "%s", count));
    if (c->model && c->calls && (first || before->model))
        return of_kind("invalid_message",
                       GOOGLE(a, "Please ensure that function call turn comes immediately after a user turn or after a "
                                 "function response turn."));
    return (refusal){0};
}

/* The first call of each step of the turn in progress carries its thought's signature. */
static refusal signatures(const ask *q, const model_limits *lim, daruma_arena *a)
{
    daruma_str m, part;
    size_t i = 0, from = 0;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++) { /* the turn begins at the last text of the user */
        daruma_str parts = json_get(m, S("parts"));
        json_iter in = json_open(parts);
        while (!says(json_get(m, S("role")), "model") && json_is_array(parts) && json_next(&in, NULL, &part))
            if (json_get(part, S("text")).n)
                from = i;
    }
    i = 0;
    for (it = json_open(q->messages); lim->signatures && json_next(&it, NULL, &m); i++) {
        daruma_str parts = json_get(m, S("parts"));
        size_t j = 0;
        bool first = true;
        json_iter in = json_open(parts);
        for (; says(json_get(m, S("role")), "model") && json_is_array(parts) && json_next(&in, NULL, &part); j++) {
            daruma_str call = ask_either(part, "functionCall", "function_call");
            daruma_str signature = ask_either(part, "thoughtSignature", "thought_signature");
            daruma_str name = raw_of(json_get(call, S("name")));
            if (call.n && first && i > from && !signature.n)
                return GOOGLE(
                    a,
                    "Function call is missing a thought_signature in functionCall parts. This is required for "
                    "tools to work correctly, and missing thought_signature may lead to degraded model "
                    "performance. Additional data, function call `default_api:" STR_FMT "` , position %zu. "
                    "Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                    STR_ARG(name), j + 1);
            if (call.n && signature.n && !str_eq(raw_of(signature), sign_thought(lim->secret, name, a)))
                return GOOGLE(a, "Invalid thought signature.");
            first &= !call.n;
        }
    }
    return (refusal){0};
}

static refusal contents(const ask *q, const model_limits *lim, daruma_arena *a)
{
    content before = {0}, c = {0};
    daruma_str m;
    size_t i = 0, n = json_count(q->messages);
    refusal r;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++, before = c) {
        if ((r = read_content(m, i, n == 1, &c, a)).status || (r = turn(&before, &c, i == 0, a)).status)
            return r;
        if (lim->alternate && i && before.model == c.model)
            return GOOGLE(a, "Please ensure that multiturn requests alternate between user and model.");
    }
    if (c.model && c.calls)
        return turn(&c, &(content){0}, false, a);
    if (c.model && lim->refuse_prefill)
        return GOOGLE(a, "Please ensure that single turn requests end with a user role or the role field is empty.");
    return signatures(q, lim, a);
}

static refusal tools(const ask *q, daruma_arena *a)
{
    daruma_str tool, f;
    ids names = {0};
    size_t i = 0;
    json_iter it = json_open(q->tools);
    for (; json_is_array(q->tools) && json_next(&it, NULL, &tool); i++) {
        daruma_str list = ask_either(tool, "functionDeclarations", "function_declarations");
        size_t j = 0;
        json_iter in = json_open(list);
        for (; json_is_array(list) && json_next(&in, NULL, &f); j++) {
            daruma_str name = raw_of(json_get(f, S("name")));
            if (!name_ok(name))
                return wrong(
                    a, WHERE("tools[%zu].function_declarations[%zu].name", i, j),
                    "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, "
                    "A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of "
                    "64.");
            if (ids_has(&names, name))
                return GOOGLE(a, "Duplicate function declaration found: " STR_FMT, STR_ARG(name));
            ids_add(&names, name, a);
        }
    }
    return (refusal){0};
}

refusal gemini_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (json_count(q->messages) == 0)
        return wrong(a, "contents", "contents is not specified");
    refusal r = of_kind("invalid_tool_schema", tools(q, a));
    if (!r.status && q->json && q->noffered)
        r = of_kind("invalid_parameter",
                    GOOGLE(a, "Function calling with a response mime type: 'application/json' is unsupported"));
    return r.status ? r : contents(q, m, a);
}
