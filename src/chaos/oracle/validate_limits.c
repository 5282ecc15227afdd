/* validate_limits.c - what a model cannot take although it is well formed: parameters, keywords of schemas, response
 * formats, too many tokens. The rules come from the script, the words from the providers. */
#include "chaos/faults.h"
#include "chaos/rules.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <stdlib.h>

enum { SCHEMA_LEVELS_MAX = 32 };

/* The row of that name; NULL: there is none. */
static const daruma_header *row_of(const word_list *w, daruma_str name)
{
    for (size_t i = 0; i < w->n; i++)
        if (str_eq(w->at[i].name, name))
            return &w->at[i];
    return NULL;
}

static double number(daruma_str raw)
{
    char text[40];
    size_t n = raw.n < sizeof text ? raw.n : sizeof text - 1;
    memcpy(text, raw.p, n);
    text[n] = '\0';
    return strtod(text, NULL);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* A Google error about a field that does not exist. */
static refusal unknown_field(daruma_str name, daruma_str where, daruma_arena *a)
{
    refusal r = GOOGLE(
        a, "Invalid JSON payload received. Unknown name \"" STR_FMT "\"%s" STR_FMT "%s: Cannot find field.",
        STR_ARG(str_sub(name, 0, 100)), where.n ? " at '" : "", STR_ARG(str_sub(where, 0, 400)), where.n ? "'" : "");
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "[{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[{");
    if (where.n)
        BUF_SAY(&b, "\"field\":", buf_quoted(where), ",");
    BUF_SAY(&b, "\"description\":", buf_quoted(r.message), "}]}]");
    r.details = buf_str(&b);
    return r;
}

static refusal unsupported(const ask *q, const char *name, daruma_str instead, daruma_arena *a)
{
    bool sampling = strcmp(name, "temperature") == 0 || strcmp(name, "top_p") == 0 || strcmp(name, "top_k") == 0;
    if (q->wire == WIRE_GEMINI)
        return unknown_field(str_of(name), S("generation_config"), a);
    if (q->wire == WIRE_MESSAGES && sampling)
        return PLAIN(a, "`%s` is deprecated for this model.", name);
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "%s: Extra inputs are not permitted", name);
    if (instead.n)
        return OPENAI(a, "unsupported_parameter", name,
                      "Unsupported parameter: '%s' is not supported with this model. Use '" STR_FMT "' instead.", name,
                      STR_ARG(instead));
    return OPENAI(a, "unsupported_parameter", name, "Unsupported parameter: '%s' is not supported with this model.",
                  name);
}

static refusal too_large(const ask *q, const char *name, daruma_str v, daruma_str max, daruma_arena *a)
{
    bool whole = str_findch(v, '.') == STR_NONE && str_findch(max, '.') == STR_NONE;
    bool output = q->max_output_name && strcmp(name, q->max_output_name) == 0;
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a,
                      "Unable to submit request because it has a %s value of " STR_FMT
                      " but the supported range is from "
                      "0 (inclusive) to " STR_FMT " (inclusive). Update the value and try again.",
                      name, STR_ARG(v), STR_ARG(max));
    if (q->wire == WIRE_MESSAGES && output)
        return PLAIN(a,
                     "%s: " STR_FMT " > " STR_FMT ", which is the maximum allowed number of output tokens for " STR_FMT,
                     name, STR_ARG(v), STR_ARG(max), STR_ARG(str_sub(q->model, 0, 200)));
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "%s: Input should be less than or equal to " STR_FMT, name, STR_ARG(max));
    if (q->wire == WIRE_CHAT && output)
        return OPENAI(a, "invalid_value", name,
                      "%s is too large: " STR_FMT ". This model supports at most " STR_FMT
                      " completion tokens, whereas you provided " STR_FMT ".",
                      name, STR_ARG(v), STR_ARG(max), STR_ARG(v));
    return OPENAI(a, whole ? "integer_above_max_value" : "decimal_above_max_value", name,
                  "Invalid '%s': %s above maximum value. Expected a value <= " STR_FMT ", but got " STR_FMT " instead.",
                  name, whole ? "integer" : "decimal", STR_ARG(max), STR_ARG(v));
}

static refusal not_the_only(const ask *q, const char *name, daruma_str v, daruma_str only, daruma_arena *a)
{
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a,
                      "Unable to submit request because it has a %s value of " STR_FMT
                      " but the supported value is " STR_FMT ". Update the value and try again.",
                      name, STR_ARG(v), STR_ARG(only));
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "`%s` may only be set to " STR_FMT " for this model.", name, STR_ARG(only));
    return OPENAI(a, "unsupported_value", name,
                  "Unsupported value: '%s' does not support " STR_FMT " with this model. Only the default (" STR_FMT
                  ") value is supported.",
                  name, STR_ARG(v), STR_ARG(only));
}

// clang-format off
/* The members that each API knows. */
static const char *const chat_members[] = {"model", "messages", "audio", "frequency_penalty", "function_call", "functions",
    "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities", "moderation", "n",
    "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options",
    "prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop",
    "store", "stream", "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user",
    "verbosity", "web_search_options", NULL};
static const char *const messages_members[] = {"model", "messages", "max_tokens", "metadata", "stop_sequences", "stream",
    "system", "temperature", "tool_choice", "tools", "top_k", "top_p", "thinking", "service_tier", "container",
    "context_management", "mcp_servers", "output_config", "output_format", "cache_control", "inference_geo", "speed", NULL};
static const char *const responses_members[] = {"model", "input", "background", "context_management", "conversation",
    "include", "instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls",
    "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "reasoning",
    "safety_identifier", "service_tier", "store", "stream", "stream_options", "temperature", "text", "tool_choice", "tools",
    "top_logprobs", "top_p", "truncation", "user", "moderation", NULL};
static const char *const gemini_members[] = {"contents", "model", "systemInstruction", "system_instruction", "tools",
    "toolConfig", "tool_config", "safetySettings", "safety_settings", "generationConfig", "generation_config",
    "cachedContent", "cached_content", "labels", "serviceTier", "service_tier", "store", NULL};
// clang-format on

static refusal unknown_member(const ask *q, daruma_arena *a)
{
    static const char *const *const members[WIRES] = {chat_members, messages_members, responses_members,
                                                      gemini_members};
    daruma_str key, value, m;
    size_t i = 0;
    json_iter it = json_open(q->body);
    while (json_next(&it, &key, &value)) {
        if (listed(members[q->wire], key))
            continue;
        daruma_str name = str_sub(key, 0, 100);
        if (q->wire == WIRE_GEMINI)
            return unknown_field(name, S(""), a);
        if (q->wire == WIRE_MESSAGES)
            return PLAIN(a, STR_FMT ": Extra inputs are not permitted", STR_ARG(name));
        if (q->wire == WIRE_CHAT)
            return PLAIN(a, "Unrecognized request argument supplied: " STR_FMT, STR_ARG(name));
        daruma_buf b = buf_in(a);
        buf_put(&b, name);
        buf_putc(&b, '\0');
        return OPENAI(a, "unknown_parameter", b.full ? NULL : b.p, "Unknown parameter: '" STR_FMT "'.", STR_ARG(name));
    }
    it = json_open(q->messages);
    for (; q->wire == WIRE_MESSAGES && json_is_array(q->messages) && json_next(&it, NULL, &m); i++) {
        json_iter in = json_open(m);
        while (json_next(&in, &key, NULL))
            if (!json_raw_eq(key, S("role")) && !json_raw_eq(key, S("content")))
                return PLAIN(a, "messages.%zu." STR_FMT ": Extra inputs are not permitted", i,
                             STR_ARG(str_sub(key, 0, 100)));
    }
    return (refusal){0};
}

/* "maxOutputTokens" is also found as max_output_tokens. */
static daruma_str setting(const ask *q, const char *name, daruma_arena *a)
{
    daruma_str v = json_path(q->settings, name);
    if (v.n || q->wire != WIRE_GEMINI)
        return v;
    daruma_buf b = buf_in(a);
    for (const char *p = name; *p; p++) {
        if (*p >= 'A' && *p <= 'Z')
            buf_putc(&b, '_');
        buf_putc(&b, ch_lower(*p));
    }
    return json_get(q->settings, buf_str(&b));
}

refusal parameter_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    const word_list *const lists[] = {&m->unsupported, &m->renamed, &m->max, &m->fixed};
    for (size_t l = 0; l < 4; l++)
        for (size_t i = 0; i < lists[l]->n; i++) {
            const char *name = lists[l]->at[i].name.p; /* the script ends it with a NUL */
            daruma_str v = setting(q, name, a), limit = lists[l]->at[i].value;
            if (!v.n || json_is_null(v))
                continue;
            const daruma_header *instead = row_of(&m->renamed, str_of(name));
            if (l < 2)
                return unsupported(q, name, instead ? instead->value : (daruma_str){0}, a);
            if (l == 2 && json_is_number(v) && number(v) > number(limit))
                return too_large(q, name, v, limit, a);
            if (l == 3 && (json_is_number(v) ? number(v) != number(limit) : !str_eq(v, limit)))
                return not_the_only(q, name, v, limit, a);
        }
    return m->strict ? unknown_member(q, a) : (refusal){0};
}

/* ---- schemas -------------------------------------------------------------------------------------------------------
 */

/* Where a schema stands. */
typedef struct schema_place {
    const ask *q;
    const word_list *keywords;
    daruma_str tool;   /* the name of its function; of the format when `format` */
    const char *field; /* "tools[0].function.parameters" */
    bool format;
    daruma_arena *a;
} schema_place;

static refusal keyword_refused(const schema_place *p, daruma_str keyword, daruma_str schema, const daruma_buf *context,
                               const daruma_buf *field)
{
    daruma_str type = raw_of(json_get(schema, S("type")));
    if (p->q->wire == WIRE_GEMINI)
        return unknown_field(keyword, buf_str(field), p->a);
    if (p->q->wire == WIRE_MESSAGES)
        return PLAIN(p->a, "%s: For '" STR_FMT "' type, property '" STR_FMT "' is not supported", p->field,
                     STR_ARG(type.n ? type : S("object")), STR_ARG(keyword));
    return OPENAI(p->a, p->format ? "invalid_json_schema" : "invalid_function_parameters", p->field,
                  "Invalid schema for %s '" STR_FMT "': In context=(" STR_FMT "), '" STR_FMT "' is not permitted.",
                  p->format ? "response_format" : "function", STR_ARG(p->tool), STR_ARG(buf_str(context)),
                  STR_ARG(keyword));
}

static refusal schema_walk(const schema_place *p, daruma_str schema, const daruma_buf *context, const daruma_buf *field,
                           int level);

/* The schemas in a member: each value of an object, each of an array, or the member itself. */
static refusal schema_within(const schema_place *p, daruma_str key, daruma_str value, bool named,
                             const daruma_buf *context, const daruma_buf *field, int level)
{
    daruma_str name = {0}, inner;
    size_t i = 0;
    refusal r;
    bool one = json_is_object(value) && !named;
    json_iter it = json_open(value);
    for (; one || json_next(&it, named ? &name : NULL, &inner); i++) {
        daruma_buf c = buf_in(p->a), f = buf_in(p->a);
        buf_put(&c, buf_str(context));
        buf_printf(&c, "%s'" STR_FMT "'", c.n ? ", " : "", STR_ARG(str_sub(key, 0, 60)));
        if (named)
            buf_printf(&c, ", '" STR_FMT "'", STR_ARG(str_sub(name, 0, 100)));
        else if (!one)
            buf_printf(&c, ", '%zu'", i);
        buf_put(&f, buf_str(field));
        buf_printf(&f, "." STR_FMT, STR_ARG(str_sub(key, 0, 60)));
        if (!one)
            buf_printf(&f, "[%zu]%s", i, named ? ".value" : "");
        if ((r = schema_walk(p, one ? value : inner, &c, &f, level + 1)).status || one)
            return r;
    }
    return (refusal){0};
}

static refusal schema_walk(const schema_place *p, daruma_str schema, const daruma_buf *context, const daruma_buf *field,
                           int level)
{
    static const char *const maps[] = {"properties", "$defs", "definitions", "patternProperties", NULL};
    static const char *const holds[] = {"items", "anyOf", "oneOf", "allOf",    "not",         "additionalProperties",
                                        "if",    "then",  "else",  "contains", "prefixItems", NULL};
    daruma_str key, value;
    refusal r;
    json_iter it = json_open(schema);
    if (level > SCHEMA_LEVELS_MAX || !json_is_object(schema))
        return (refusal){0};
    while (json_next(&it, &key, &value)) {
        if (row_of(p->keywords, key))
            return keyword_refused(p, key, schema, context, field);
        if (json_raw_eq(key, S("properties")) && json_count(value) == 0 && row_of(p->keywords, S("empty_properties")))
            return p->q->wire == WIRE_GEMINI ? GOOGLE(p->a,
                                                      "* GenerateContentRequest." STR_FMT
                                                      ".properties: should be non-empty for OBJECT type\n",
                                                      STR_ARG(buf_str(field)))
                                             : keyword_refused(p, S("properties"), schema, context, field);
        if (listed(maps, key) && (r = schema_within(p, key, value, true, context, field, level)).status)
            return r;
        if (listed(holds, key) && (r = schema_within(p, key, value, false, context, field, level)).status)
            return r;
    }
    return (refusal){0};
}

static refusal check_schema(const ask *q, const model_limits *m, daruma_str tool, daruma_str schema, const char *where,
                            bool format, daruma_arena *a)
{
    schema_place p = {q, &m->keywords, tool, where, format, a};
    daruma_buf context = buf_in(a), field = buf_in(a);
    buf_putz(&field, where);
    return schema_walk(&p, schema, &context, &field, 0);
}

static refusal format_refused(const ask *q, const model_limits *m, daruma_arena *a)
{
    const char *where = q->wire == WIRE_RESPONSES ? "text.format" : "response_format";
    daruma_str name = q->format_name.n ? str_sub(q->format_name, 0, 80) : S("response");
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a, "JSON mode is not enabled for models/" STR_FMT, STR_ARG(str_sub(q->model, 0, 100)));
    if (!q->format.n)
        return OPENAI(a, "unsupported_value", where, "response_format json_object is not supported");
    switch ((format_words)m->format_words) {
    case FORMAT_SAYS_PLAIN:
        break;
    case FORMAT_SAYS_CODE:
        return OPENAI(a, "invalid_json_schema", where, "invalid_json_schema");
    case FORMAT_SAYS_SCHEMA:
        return OPENAI(a, NULL, where,
                      "Invalid schema for response_format '" STR_FMT
                      "': In context=(), 'additionalProperties' is required "
                      "to be supplied and to be false.",
                      STR_ARG(name));
    case FORMAT_SAYS_INVALID:
        return OPENAI(a, NULL, where, "response_format is invalid");
    case FORMAT_SAYS_OUTPUT_FORMAT:
        return PLAIN(a, "output_format.schema: Extra inputs are not permitted");
    case FORMAT_SAYS_MUST:
        return OPENAI(a, NULL, where, "response_format.type must be text or json_object");
    }
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "output_format.schema: Extra inputs are not permitted");
    return OPENAI(a, NULL, where,
                  "Invalid parameter: '%s' of type 'json_schema' is not supported with this model. Learn more about "
                  "supported models at the Structured Outputs guide: "
                  "https://platform.openai.com/docs/guides/structured-outputs",
                  where);
}

/* Where the schema of the n-th tool stands. Gemini's declarations stand in lists; the first is meant. */
static place schema_field(wire w, size_t i)
{
    static const char *const fields[WIRES] = {"tools[%zu].function.parameters", "tools.%zu.custom",
                                              "tools[%zu].parameters",
                                              "tools[0].function_declarations[%zu].parameters"};
    return place_of(fields[w], i);
}

refusal schema_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    static const char *const formats[WIRES] = {"response_format", "output_format.schema", "text.format.schema",
                                               "generation_config.response_schema"};
    refusal r = {0};
    if ((q->format.n && m->formats >= FORMATS_OBJECT) || (q->json && m->formats == FORMATS_TEXT))
        return format_refused(q, m, a);
    for (size_t i = 0; m->keywords.n && i < q->noffered && !r.status; i++) {
        place p = schema_field(q->wire, i);
        r = check_schema(q, m, q->offered[i].name, q->offered[i].schema, p.text, false, a);
    }
    if (!r.status && m->keywords.n && q->format.n)
        r = check_schema(q, m, q->format_name.n ? q->format_name : S("response"), q->format, formats[q->wire], true, a);
    return r;
}

/* ---- tokens --------------------------------------------------------------------------------------------------------
 */

static refusal too_much_output(const ask *q, int64_t most, daruma_arena *a)
{
    const fault_values v = {.model = str_sub(q->model, 0, 200),
                            .output = q->max_output,
                            .output_max = most + (q->wire == WIRE_GEMINI)}; /* it says "exclusive" */
    refusal r = fault_refusal("output_limit", q->wire, &v, a);
    if (q->wire != WIRE_CHAT) /* whose clients have two names for it */
        return r;
    return OPENAI(
        a, "invalid_value", q->max_output_name,
        "%s is too large: %lld. This model supports at most %lld completion tokens, whereas you provided %lld.",
        q->max_output_name, (long long)v.output, (long long)most, (long long)v.output);
}

static refusal no_room(const ask *q, long long in, long long out, long long window, daruma_arena *a)
{
    if (q->wire == WIRE_MESSAGES && in <= window)
        return PLAIN(a,
                     "input length and `max_tokens` exceed context limit: %lld + %lld > %lld, decrease input length or "
                     "`max_tokens` and try again",
                     in, out, window);
    if (q->wire == WIRE_CHAT && out)
        return OPENAI(a, "context_length_exceeded", "messages",
                      "This model's maximum context length is %lld tokens. However, you requested %lld tokens (%lld in "
                      "the messages, %lld in the completion). Please reduce the length of the messages or completion.",
                      window, in + out, in, out);
    return fault_refusal("context_length", q->wire, &(fault_values){.tokens = in, .window = window}, a);
}

/* The same without numbers. */
static refusal no_room_vague(const ask *q, daruma_arena *a)
{
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "input and output tokens exceed your context limit");
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a, "The input token count exceeds the maximum number of tokens allowed.");
    return PLAIN(a, "Your input exceeds the context window of this model. Please adjust your input and try again.");
}

static refusal overflow(const ask *q, const model_limits *m, daruma_arena *a)
{
    long long in = q->tokens, out = q->max_output > 0 ? q->max_output : 0, window = m->window;
    const char *type = q->wire == WIRE_GEMINI ? BAD_ARGUMENT : "BadRequestError";
    switch ((overflow_form)m->overflow) {
    case OVERFLOW_PLAIN:
        return no_room(q, in, out, window, a);
    case OVERFLOW_VAGUE:
        return no_room_vague(q, a);
    case OVERFLOW_VLLM:
        return refuse(
            400, type, NULL, NULL, a,
            "Requested token count exceeds the model's maximum context length of %lld tokens. You requested a "
            "total of %lld tokens: %lld tokens from the input messages and %lld tokens for the completion. "
            "Please reduce the number of tokens in the input messages or the completion to fit within the "
            "limit.",
            window, in + out, in, out);
    case OVERFLOW_LLAMA:
        return refuse(400, q->wire == WIRE_GEMINI ? BAD_ARGUMENT : "exceed_context_size_error", NULL, NULL, a,
                      "request (%lld tokens) exceeds the available context size (%lld tokens), try increasing it", in,
                      window);
    case OVERFLOW_EMPTY:
    case OVERFLOW_EMPTY413:
        return (refusal){.status = m->overflow == OVERFLOW_EMPTY ? 400 : 413, .bare = true};
    case OVERFLOW_USAGE:
    case OVERFLOW_LENGTH:
        break; /* the answer shows it */
    }
    return (refusal){0};
}

bool validate_overflows(const ask *q, const model_limits *m)
{
    /* Gemini counts the input alone; counting is what one does before it fits */
    int64_t out = q->max_output > 0 && q->wire != WIRE_GEMINI ? q->max_output : 0;
    return m->window >= 0 && q->route != ROUTE_COUNT && q->tokens > m->window - out;
}

refusal room_rules(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (m->max_output >= 0 && q->max_output > m->max_output)
        return of_kind("output_limit", too_much_output(q, m->max_output, a));
    if (!validate_overflows(q, m))
        return (refusal){0};
    return of_kind("context_length", overflow(q, m, a));
}
