/* validate_messages.c - what Anthropic refuses in a Messages request. */
#include "chaos/rules.h"
#include "base/json.h"
#include "base/str.h"

#define THINKING_DOCS "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
enum { CACHE_MARKS_MAX = 4, THINKING_TOKENS_MIN = 1024 };

static refusal wrong(daruma_arena *a, const char *where, const char *what)
{
    return PLAIN(a, "%s: %s", where, what);
}

static bool empty_content(daruma_str content)
{
    return (json_is_string(content) && content.n == 2) || (json_is_array(content) && json_count(content) == 0);
}

static bool thinking(daruma_str block)
{
    daruma_str type = json_get(block, S("type"));
    return says(type, "thinking") || says(type, "redacted_thinking");
}

/* Where a walk over the messages is. */
typedef struct walk {
    const model_limits *limits;
    daruma_arena *a;
    size_t i, j;        /* message and block */
    bool user;          /* the message is the user's */
    bool other;         /* a block that is no result stood before in it */
    bool newest;        /* the newest message of the model */
    ids calls;          /* of the message before */
    ids answered, mine; /* of this one */
    ids all;            /* calls of all messages */
} walk;

/* The same of a block; `member` stands behind its place. */
static refusal wrong_block(const walk *w, const char *member, const char *what)
{
    return PLAIN(w->a, "messages.%zu.content.%zu%s: %s", w->i, w->j, member, what);
}

static refusal tool_use(walk *w, daruma_str b)
{
    daruma_str id = raw_of(json_get(b, S("id"))), input = json_get(b, S("input"));
    if (w->user)
        return wrong_block(w, "", "`tool_use` blocks can only be in `assistant` messages");
    if (!tool_name_ok(id, 256))
        return wrong_block(w, ".tool_use.id", "String should match pattern '^[a-zA-Z0-9_-]+$'");
    if (!tool_name_ok(raw_of(json_get(b, S("name"))), 128))
        return wrong_block(w, ".tool_use.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    if (!json_is_object(input))
        return wrong_block(w, ".tool_use.input", input.n ? "Input should be a valid dictionary" : "Field required");
    if (ids_has(&w->all, id))
        return wrong_block(w, "", "`tool_use` ids must be unique");
    ids_add(&w->mine, id, w->a);
    ids_add(&w->all, id, w->a);
    return (refusal){0};
}

static refusal tool_result(walk *w, daruma_str b)
{
    daruma_str of = raw_of(json_get(b, S("tool_use_id")));
    refusal r = {0};
    if (!w->user)
        return wrong_block(w, "", "`tool_result` blocks can only be in `user` messages");
    if (!ids_has(&w->calls, of))
        r = PLAIN(w->a,
                  "%s: unexpected `tool_use_id` found in `tool_result` blocks: " STR_FMT
                  ". Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
                  WHERE("messages.%zu.content.%zu", w->i, w->j), STR_ARG(of));
    else if (ids_has(&w->answered, of))
        r = PLAIN(w->a,
                  "%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: " STR_FMT,
                  WHERE("messages.%zu.content.%zu", w->i, w->j), STR_ARG(of));
    else if (!w->other) /* results come first: one behind a text does not stand "immediately after" */
        ids_add(&w->answered, of, w->a);
    return of_kind("orphan_tool_result", r);
}

static refusal thought(walk *w, daruma_str b)
{
    daruma_str signature = json_get(b, S("signature"));
    daruma_str text = json_text(json_get(b, S("thinking")), w->a);
    if (!says(json_get(b, S("type")), "thinking"))
        return (refusal){0};
    if (!json_is_string(signature))
        return wrong_block(w, ".thinking.signature", "Field required");
    if (!w->limits->signatures || str_eq(raw_of(signature), sign_thought(w->limits->secret, text, w->a)))
        return (refusal){0};
    /* one of ours with another text, or one that is not ours at all */
    if (w->newest && str_starts(raw_of(signature), str_sub(sign_thought(0, S(""), w->a), 0, 12)))
        return wrong_block(
            w, "",
            "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These "
            "blocks must remain as they were in the original response.");
    return wrong_block(w, "", "Invalid `signature` in `thinking` block");
}

static refusal block(walk *w, daruma_str b)
{
    // clang-format off
    static const char *const types[] = {"text", "image", "document", "search_result", "thinking",
        "redacted_thinking", "tool_use", "tool_result", "server_tool_use", "web_search_tool_result",
        "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", NULL};
    // clang-format on
    daruma_str type = json_get(b, S("type"));
    if (!type.n)
        return wrong_block(w, ".type", "Field required");
    if (!listed(types, raw_of(type)))
        return PLAIN(w->a,
                     "%s: Input tag '" STR_FMT "' found using 'type' does not match any of the expected tags: "
                     "'document', 'image', 'redacted_thinking', 'search_result', 'server_tool_use', 'text', "
                     "'thinking', 'tool_result', 'tool_use', 'web_search_tool_result'",
                     WHERE("messages.%zu.content.%zu", w->i, w->j), STR_ARG(str_sub(raw_of(type), 0, 60)));
    if (says(type, "text") && says(json_get(b, S("text")), ""))
        return wrong(w->a, "messages", "text content blocks must be non-empty");
    if (says(type, "tool_use"))
        return tool_use(w, b);
    if (says(type, "tool_result"))
        return tool_result(w, b);
    w->other |= !thinking(b);
    return thought(w, b);
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
    return of_kind(
        "orphan_tool_call",
        PLAIN(a,
              "messages.%zu: `tool_use` ids were found without `tool_result` blocks immediately after: " STR_FMT
              ". Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
              at, STR_ARG(list)));
}

static refusal message(const walk *w, daruma_str m, daruma_str before, bool last)
{
    daruma_str role = json_get(m, S("role")), content = json_get(m, S("content"));
    /* agents put system entries between the messages */
    if (!says(role, "user") && !says(role, "assistant") && !says(role, "system"))
        return wrong(w->a, WHERE("messages.%zu.role", w->i),
                     role.n ? "Input should be 'user' or 'assistant'" : "Field required");
    if (w->i == 0 && says(role, "assistant"))
        return wrong(w->a, "messages", "first message must use the \"user\" role");
    if (w->limits->alternate && str_eq(role, before) && !says(role, "system"))
        return PLAIN(w->a,
                     "messages: roles must alternate between \"user\" and \"assistant\", but found multiple " STR_FMT
                     " roles in a row",
                     STR_ARG(role));
    if (!content.n)
        return wrong(w->a, WHERE("messages.%zu.content", w->i), "Field required");
    if (!json_is_string(content) && !json_is_array(content))
        return wrong(w->a, WHERE("messages.%zu.content", w->i), "Input should be a valid list");
    if (empty_content(content) && !(last && says(role, "assistant")))
        return wrong(w->a, WHERE("messages.%zu", w->i),
                     "all messages must have non-empty content except for the optional final assistant message");
    return (refusal){0};
}

/* The answer is begun: the last message is the model's. */
static refusal prefill(const ask *q, const model_limits *lim, daruma_str last, daruma_arena *a)
{
    daruma_str content = json_get(last, S("content")), text = content, part;
    if (!says(json_get(last, S("role")), "assistant"))
        return (refusal){0};
    if (lim->refuse_prefill || q->thinks)
        return PLAIN(a, "This model does not support assistant message prefill. The conversation must end with a user "
                        "message.");
    json_iter it = json_open(content);
    while (json_is_array(content) && json_next(&it, NULL, &part))
        text = json_get(part, S("text"));
    text = json_text(text, a);
    if (text.n && ch_space(text.p[text.n - 1]))
        return wrong(a, "messages", "final assistant content cannot end with trailing whitespace");
    return (refusal){0};
}

/* In the tool loop in progress the model's message begins with its thinking. */
static refusal loop_in_progress(const ask *q, const model_limits *lim, daruma_arena *a)
{
    daruma_str m, newest = {0}, b, last = {0};
    size_t i = 0, at = 0;
    bool calls = false;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++) {
        if (says(json_get(m, S("role")), "assistant")) {
            newest = m;
            at = i;
        }
        last = m;
    }
    if (!lim->signatures || !q->thinks || !newest.n || !says(json_get(last, S("role")), "user"))
        return (refusal){0};
    daruma_str content = json_get(newest, S("content")), first = json_path(content, "0");
    it = json_open(content);
    while (json_is_array(content) && json_next(&it, NULL, &b))
        calls |= says(json_get(b, S("type")), "tool_use");
    if (!calls || thinking(first))
        return (refusal){0};
    daruma_str type = raw_of(json_get(first, S("type")));
    return PLAIN(a,
                 "messages.%zu.content.0.type: Expected `thinking` or `redacted_thinking`, but found `" STR_FMT
                 "`. When `thinking` is enabled, a final `assistant` message must start with a thinking block "
                 "(preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include "
                 "thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult "
                 "our documentation at " THINKING_DOCS,
                 at, STR_ARG(type));
}

static size_t newest_answer(const ask *q)
{
    daruma_str m;
    size_t i = 0, at = (size_t)-1;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); i++)
        if (says(json_get(m, S("role")), "assistant"))
            at = i;
    return at;
}

static refusal messages_list(const ask *q, const model_limits *lim, daruma_arena *a)
{
    walk w = {.limits = lim, .a = a};
    ids none = {0};
    daruma_str m = {0}, b, before = {0};
    size_t n = json_count(q->messages), newest = newest_answer(q);
    refusal r;
    json_iter it = json_open(q->messages);
    for (; json_next(&it, NULL, &m); w.i++) {
        if ((r = message(&w, m, before, w.i + 1 == n)).status)
            return r;
        if (says(before = json_get(m, S("role")), "system"))
            continue;
        w.user = says(before, "user");
        w.answered = w.mine = none;
        w.other = false;
        w.newest = w.i == newest;
        w.j = 0;
        json_iter in = json_open(json_get(m, S("content")));
        for (; json_next(&in, NULL, &b); w.j++)
            if ((r = block(&w, b)).status)
                return r;
        if (w.calls.n && (r = orphaned_uses(&w.calls, &w.answered, w.i - 1, a)).status)
            return r;
        w.calls = w.mine;
    }
    if (w.calls.n)
        return orphaned_uses(&w.calls, &none, n - 1, a);
    daruma_str last = {0};
    for (it = json_open(q->messages); json_next(&it, NULL, &m);)
        last = m;
    r = prefill(q, lim, last, a);
    return r.status ? r : loop_in_progress(q, lim, a);
}

static refusal messages_tools(const ask *q, daruma_arena *a)
{
    daruma_str tool;
    ids names = {0};
    size_t i = 0;
    json_iter it = json_open(q->tools);
    for (; json_next(&it, NULL, &tool); i++) {
        daruma_str type = json_get(tool, S("type")), schema = json_get(tool, S("input_schema"));
        daruma_str name = raw_of(json_get(tool, S("name")));
        if (ids_has(&names, name))
            return wrong(a, "tools", "Tool names must be unique.");
        ids_add(&names, name, a);
        if (type.n && !says(type, "custom"))
            continue; /* a tool that the provider runs */
        if (!tool_name_ok(name, 128))
            return wrong(a, WHERE("tools.%zu.custom.name", i), "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
        if (!json_is_object(schema))
            return wrong(a, WHERE("tools.%zu.custom.input_schema", i), "Field required");
        if (!json_get(schema, S("type")).n)
            return wrong(a, WHERE("tools.%zu.custom.input_schema.type", i), "Field required");
        if (!says(json_get(schema, S("type")), "object"))
            return wrong(a, WHERE("tools.%zu.custom.input_schema.type", i), "Input should be 'object'");
    }
    return (refusal){0};
}

/* What thinking does not go together with. */
static refusal thinking_settings(const ask *q, daruma_arena *a)
{
    daruma_str set = json_get(q->body, S("thinking")), t = json_get(q->body, S("temperature"));
    int64_t budget = json_int(json_get(set, S("budget_tokens")), -1);
    if (!q->thinks || q->route == ROUTE_COUNT)
        return (refusal){0};
    if (budget >= 0 && budget < THINKING_TOKENS_MIN)
        return wrong(a, "thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024");
    if (budget >= 0 && q->max_output <= budget)
        return PLAIN(a,
                     "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
                     "%s#max-tokens-and-context-window-size",
                     THINKING_DOCS);
    if (json_is_number(t) && !str_eq(t, S("1")) && !str_eq(t, S("1.0")))
        return PLAIN(a,
                     "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at "
                     "%s#important-considerations-when-using-extended-thinking",
                     THINKING_DOCS);
    if (q->some_tool || q->demanded.n)
        return PLAIN(a, "Thinking may not be enabled when tool_choice forces tool use.");
    return (refusal){0};
}

static refusal cache_marks(const ask *q, daruma_arena *a)
{
    size_t n = 0, at;
    for (daruma_str rest = q->body; (at = str_find(rest, S("\"cache_control\":"))) != STR_NONE; n++)
        rest = str_from(rest, at + 1);
    if (n <= CACHE_MARKS_MAX)
        return (refusal){0};
    return PLAIN(a, "A maximum of 4 blocks with cache_control may be provided. Found %zu.", n);
}

refusal messages_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    const char *missing = !q->model.n               ? "model"
                          : q->route == ROUTE_COUNT ? NULL
                          : q->max_output == -1     ? "max_tokens"
                                                    : NULL;
    refusal r;
    if (!missing && !json_is_array(q->messages))
        missing = "messages";
    if (missing)
        return wrong(a, missing, "Field required");
    if (q->max_output < 1 && q->route != ROUTE_COUNT)
        return of_kind("invalid_parameter", wrong(a, "max_tokens", "Input should be greater than or equal to 1"));
    if (json_count(q->messages) == 0)
        return wrong(a, "messages", "at least one message is required");
    if ((r = of_kind("invalid_parameter", thinking_settings(q, a))).status ||
        (r = of_kind("invalid_parameter", cache_marks(q, a))).status ||
        (r = of_kind("invalid_tool_schema", messages_tools(q, a))).status)
        return r;
    return messages_list(q, m, a);
}
