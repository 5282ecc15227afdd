/* mend_kit.h - a checker of written histories that shares nothing with the code that mends them: it reads the JSON, and
 * asks the faulty provider what it would say. */
#ifndef MEND_KIT_H
#define MEND_KIT_H
#include "history_wires.h"
#define FORMAT_TEXT   CHAOS_FORMAT_TEXT /* the faulty provider has words of its own, and knows nothing of the model's */
#define FORMAT_SCHEMA CHAOS_FORMAT_SCHEMA
#include "chaos/oracle/validate.h"
#undef FORMAT_TEXT
#undef FORMAT_SCHEMA
#include "base/arena.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "dialect/kit/shapes.h"

/* ---- is every call answered, once, where its provider wants it? Empty: yes ---- */

typedef struct kit_ids {
    daruma_str id[64];
    size_t n;
} kit_ids;

static inline json_iter kit_walk(daruma_str v) /* of what was checked before */
{
    json_iter it = json_open(v);
    it.quick = true;
    return it;
}

static inline daruma_str kit_get(daruma_str v, daruma_str name)
{
    daruma_str key, value;
    if (json_is_object(v))
        for (json_iter it = kit_walk(v); json_next(&it, &key, &value);)
            if (str_eq(key, name))
                return value;
    return (daruma_str){0};
}

static inline daruma_str kit_field(daruma_str v, const char *path)
{
    daruma_str s = v, rest = str_of(path);
    while (rest.n)
        s = kit_get(s, str_cut(&rest, '.'));
    return json_is_string(s) ? str_sub(s, 1, s.n - 2) : s;
}

static inline bool kit_type(daruma_str v, const char *type)
{
    return str_eq(kit_field(v, "type"), str_of(type));
}

static inline const char *kit_check_chat(daruma_str list)
{
    kit_ids open = {0};
    daruma_str m, call;
    size_t got = 0;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        if (str_eq(kit_field(m, "role"), S("tool"))) {
            if (got == open.n)
                return "a tool message without call";
            if (!str_eq(kit_field(m, "tool_call_id"), open.id[got++]))
                return "tool messages in another order than their calls";
            continue;
        }
        if (got != open.n)
            return "a call without tool message";
        open.n = got = 0;
        json_iter in = kit_walk(kit_get(m, S("tool_calls")));
        while (in.p && json_next(&in, NULL, &call) && open.n < 64)
            open.id[open.n++] = kit_field(call, "id");
    }
    return got == open.n ? NULL : "calls at the end without tool messages";
}

static inline const char *kit_check_parts(daruma_str list, bool gemini)
{
    kit_ids open = {0};
    daruma_str m, p;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        kit_ids mine = {0};
        size_t got = 0;
        bool model = !str_eq(kit_field(m, "role"), S("user")) && !str_eq(kit_field(m, "role"), S("function"));
        bool other = false;
        json_iter in = kit_walk(kit_get(m, gemini ? S("parts") : S("content")));
        while (json_next(&in, NULL, &p)) {
            bool call = gemini ? kit_get(p, S("functionCall")).n > 0 : kit_type(p, "tool_use");
            bool result = gemini ? kit_get(p, S("functionResponse")).n > 0 : kit_type(p, "tool_result");
            if (call && mine.n < 64)
                mine.id[mine.n++] = kit_field(p, gemini ? "functionCall.name" : "id");
            if (result && (model || other))
                return "a result behind something else";
            daruma_str id = kit_field(p, gemini ? "functionResponse.name" : "tool_use_id");
            if (result && (got == open.n || !str_eq(open.id[got++], id)))
                return "a result that is not that of the call in its place";
            other |= !result;
        }
        if (got != open.n)
            return "a call without result in the next message";
        open = mine;
    }
    return open.n ? "calls at the end without results" : NULL;
}

static inline const char *kit_check_items(daruma_str list)
{
    kit_ids calls = {0};
    bool answered[64] = {0};
    daruma_str m;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        daruma_str id = kit_field(m, "call_id");
        if (kit_type(m, "function_call") && calls.n < 64)
            calls.id[calls.n++] = id;
        if (!kit_type(m, "function_call_output"))
            continue;
        size_t i = calls.n;
        while (i > 0 && !str_eq(calls.id[i - 1], id))
            i--;
        if (i == 0)
            return "an output before or without its call";
        if (answered[i - 1])
            return "a second output";
        answered[i - 1] = true;
    }
    for (size_t i = 0; i < calls.n; i++)
        if (!answered[i])
            return "a call without output";
    return NULL;
}

static inline const char *kit_check(kit_wire w, daruma_str body)
{
    static const char *const lists[KIT_WIRES] = {"messages", "messages", "input", "contents"};
    daruma_str list = kit_get(body, str_of(lists[w]));
    if (!json_valid(body) || !json_is_array(list))
        return "no JSON, or no list";
    switch (w) {
    case KIT_CHAT:
        return kit_check_chat(list);
    case KIT_ANTHROPIC:
        return kit_check_parts(list, false);
    case KIT_GEMINI:
        return kit_check_parts(list, true);
    case KIT_RESPONSES:
        return kit_check_items(list);
    case KIT_WIRES:
        break;
    }
    return NULL;
}

/* ---- what the faulty provider says to it ---- */

enum { KIT_SECRET = 7 };

static inline daruma_str kit_signature(daruma_str text, daruma_arena *a)
{
    return sign_thought(KIT_SECRET, text, a);
}

/* As the provider reads it. */
static inline ask kit_ask(kit_wire w, daruma_str body, daruma_arena *a)
{
    static const char *const paths[KIT_WIRES] = {"/v1/chat/completions", "/v1/messages", "/v1/responses",
                                                 "/v1beta/models/m:generateContent"};
    static const daruma_header headers[] = {{LIT("anthropic-version"), LIT("2023-06-01")},
                                            {LIT("x-api-key"), LIT("sk-test-key")}};
    http_head head = {.path = str_of(paths[w]), .headers = headers, .nheaders = 2};
    return ask_read(&head, body, a);
}

/* What nothing but the history is refused for. `signatures`: only its own are taken back. */
static inline model_limits kit_limits(kit_wire w, bool signatures)
{
    return (model_limits){.window = -1,
                          .max_output = -1,
                          .alternate = w == KIT_ANTHROPIC || w == KIT_GEMINI,
                          .signatures = signatures,
                          .secret = KIT_SECRET};
}

static inline refusal kit_verdict(kit_wire w, daruma_str body, const model_limits *limits, daruma_arena *a)
{
    ask q = kit_ask(w, body, a);
    return q.route == ROUTE_GENERATE ? validate(&q, limits, a) : (refusal){0};
}

/* Its complaint about the history; NULL: it takes it. */
static inline const char *kit_refused(kit_wire w, daruma_str body, bool signatures, daruma_arena *a)
{
    model_limits limits = kit_limits(w, signatures);
    refusal r = kit_verdict(w, body, &limits, a);
    return r.status ? arena_copy(a, r.message).p : NULL;
}
#endif
