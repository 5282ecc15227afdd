/* validate_responses.c - what OpenAI refuses in a Responses request. */
#include "chaos/rules.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { ITEM_ID_BYTES_MAX = 64, OUTPUT_MIN = 16 };

/* Items whose id must begin in one way. */
static const struct {
    const char *type, *prefix;
} prefixes[] = {{"message", "msg"}, {"function_call", "fc"}, {"reasoning", "rs"}};

static refusal item_id(daruma_str item, size_t i, ids *seen, daruma_arena *a)
{
    daruma_str id = raw_of(json_get(item, S("id"))), type = json_get(item, S("type"));
    for (size_t k = 0; id.n && k < COUNT(prefixes); k++)
        if (says(type, prefixes[k].type) && !str_starts(id, str_of(prefixes[k].prefix)))
            return OPENAI(a, "invalid_value", WHERE("input[%zu].id", i),
                          "Invalid '%s': '" STR_FMT "'. Expected an ID that begins with '%s'.",
                          WHERE("input[%zu].id", i), STR_ARG(str_sub(id, 0, 80)), prefixes[k].prefix);
    if (id.n && ids_has(seen, id))
        return OPENAI(a, NULL, "input",
                      "Duplicate item found with id " STR_FMT ". Remove duplicate items from your input and try again.",
                      STR_ARG(str_sub(id, 0, 80)));
    if (id.n)
        ids_add(seen, id, a);
    return (refusal){0};
}

/* What the model says stands in output_text, all else in input_*. */
static refusal item_content(daruma_str item, size_t i, daruma_arena *a)
{
    static const char *const into[] = {"input_text", "input_image", "input_file", "input_audio", NULL};
    daruma_str role = json_get(item, S("role")), content = json_get(item, S("content")), part;
    bool model = says(role, "assistant");
    size_t j = 0;
    if (role.n && !model && !says(role, "user") && !says(role, "system") && !says(role, "developer"))
        return OPENAI(a, "invalid_value", WHERE("input[%zu].role", i),
                      "Invalid value: '" STR_FMT "'. Supported values are: 'assistant', 'system', 'developer', and "
                      "'user'.",
                      STR_ARG(str_sub(raw_of(role), 0, 60)));
    json_iter it = json_open(content);
    for (; role.n && json_is_array(content) && json_next(&it, NULL, &part); j++) {
        daruma_str type = json_get(part, S("type"));
        bool fits = model && (says(type, "output_text") || says(type, "refusal"));
        if (!fits && (model || !listed(into, raw_of(type))))
            return OPENAI(
                a, "invalid_value", WHERE("input[%zu].content[%zu]", i, j),
                "Invalid value: '" STR_FMT "'. Supported values are: %s.", STR_ARG(str_sub(raw_of(type), 0, 60)),
                model ? "'output_text' and 'refusal'" : "'input_text', 'input_image', 'input_file', and 'input_audio'");
    }
    return (refusal){0};
}

/* A call or its result: its fields. */
static refusal item_call(daruma_str item, size_t i, bool call, daruma_arena *a)
{
    daruma_str id = json_get(item, S("call_id"));
    refusal r = openai_string(id, WHERE("input[%zu].call_id", i), ITEM_ID_BYTES_MAX, false, a);
    if (!r.status && !raw_of(id).n)
        r = openai_string((daruma_str){0}, WHERE("input[%zu].call_id", i), 0, false, a);
    if (!r.status && call)
        r = openai_string(json_get(item, S("name")), WHERE("input[%zu].name", i), ITEM_ID_BYTES_MAX, true, a);
    if (!r.status && call)
        r = openai_string(json_get(item, S("arguments")), WHERE("input[%zu].arguments", i), 0, false, a);
    if (!r.status && !call && !json_is_array(json_get(item, S("output"))))
        r = openai_string(json_get(item, S("output")), WHERE("input[%zu].output", i), 0, false, a);
    return r;
}

/* Reasoning is sealed, and goes with what follows it. */
static refusal item_reasoning(const model_limits *m, daruma_str item, daruma_str next, daruma_arena *a)
{
    daruma_str sealed = json_get(item, S("encrypted_content")), id = raw_of(json_get(item, S("id")));
    daruma_str thought = json_text(json_path(item, "summary.0.text"), a);
    if (!m->signatures || !says(json_get(item, S("type")), "reasoning"))
        return (refusal){0};
    if (json_is_string(sealed) && !str_eq(raw_of(sealed), sign_thought(m->secret, thought, a)))
        return OPENAI(a, "invalid_encrypted_content", NULL,
                      "The encrypted content " STR_FMT "... could not be verified. Reason: Encrypted content could not "
                      "be decrypted or parsed.",
                      STR_ARG(str_sub(raw_of(sealed), 0, 4)));
    if (!says(json_get(next, S("type")), "function_call") && !says(json_get(next, S("role")), "assistant"))
        return OPENAI(a, NULL, "input",
                      "Item '" STR_FMT "' of type 'reasoning' was provided without its required following item.",
                      STR_ARG(str_sub(id, 0, 80)));
    return (refusal){0};
}

/* The calls of the answer that the request goes on from: their ids are made from its id. */
static void left_calls(const ask *q, ids *calls, daruma_arena *a)
{
    daruma_str hash = str_sub(q->previous, 5, 16); /* resp_<hash>00 */
    for (int64_t i = 0; i < q->left_calls; i++) {
        daruma_buf b = buf_in(a);
        buf_printf(&b, "call_" STR_FMT "%02lld", STR_ARG(hash), (long long)i);
        ids_add(calls, buf_str(&b), a);
    }
}

/* The call that an item refers to, by the id that its answer gave it: fc_<hash>00 was call_<hash>00. */
static daruma_str call_referred_to(daruma_str item, daruma_arena *a)
{
    daruma_str id = raw_of(json_get(item, S("id")));
    if (!says(json_get(item, S("type")), "item_reference") || !str_starts(id, S("fc_")))
        return (daruma_str){0};
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "call_", str_from(id, 3));
    return buf_str(&b);
}

static refusal not_called(daruma_str id, daruma_arena *a)
{
    return of_kind(
        "orphan_tool_result",
        OPENAI(a, NULL, "input", "No tool call found for function call output with call_id " STR_FMT ".", STR_ARG(id)));
}

static refusal pairs(const ask *q, daruma_arena *a)
{
    ids calls = {0}, answered = {0};
    daruma_str item;
    left_calls(q, &calls, a);
    json_iter it = json_open(q->messages);
    while (json_next(&it, NULL, &item)) {
        daruma_str id = raw_of(json_get(item, S("call_id"))), kept = call_referred_to(item, a);
        if (kept.n || says(json_get(item, S("type")), "function_call"))
            ids_add(&calls, kept.n ? kept : id, a);
        if (!says(json_get(item, S("type")), "function_call_output"))
            continue;
        if (!ids_has(&calls, id) && !(q->continues && q->left_calls < 0))
            return not_called(id, a);
        if (ids_has(&answered, id)) /* its call has been answered: for this one there is none */
            return not_called(id, a);
        ids_add(&answered, id, a);
    }
    for (size_t c = 0; c < calls.n; c++)
        if (!ids_has(&answered, calls.id[c]))
            return of_kind(
                "orphan_tool_call",
                OPENAI(a, NULL, "input", "No tool output found for function call " STR_FMT ".", STR_ARG(calls.id[c])));
    return (refusal){0};
}

static refusal items(const ask *q, const model_limits *m, daruma_arena *a)
{
    ids seen = {0};
    daruma_str item, next;
    size_t i = 0;
    refusal r;
    json_iter it = json_open(q->messages);
    bool more = json_next(&it, NULL, &item);
    for (; more; i++, item = next) {
        bool call = says(json_get(item, S("type")), "function_call");
        next = (daruma_str){0};
        more = json_next(&it, NULL, &next);
        if ((r = item_id(item, i, &seen, a)).status || (r = item_content(item, i, a)).status ||
            (r = item_reasoning(m, item, next, a)).status)
            return r;
        if (call || says(json_get(item, S("type")), "function_call_output"))
            if ((r = item_call(item, i, call, a)).status)
                return r;
    }
    return pairs(q, a);
}

refusal responses_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (!q->model.n)
        return openai_string((daruma_str){0}, "model", 0, false, a);
    if (!q->messages.n && !q->continues)
        return OPENAI(
            a, "missing_required_parameter", NULL,
            "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.");
    if (q->max_output >= 0 && q->max_output < OUTPUT_MIN)
        return of_kind(
            "invalid_parameter",
            OPENAI(a, "integer_below_min_value", "max_output_tokens",
                   "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= %d, but got "
                   "%lld instead.",
                   OUTPUT_MIN, (long long)q->max_output));
    refusal r = of_kind("invalid_tool_schema", openai_tools(q, a));
    return r.status ? r : items(q, m, a);
}
