#include "chaos/faults.h"
#include "chaos/rules.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>
#include <xxhash.h>

refusal refuse(int status, const char *type, const char *code, const char *param, daruma_arena *a, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return (refusal){.status = status,
                     .type = str_of(type),
                     .code = str_of(code),
                     .param = arena_copy(a, str_of(param)),
                     .message = arena_copy(a, (daruma_str){text, len})};
}

place place_of(const char *fmt, ...)
{
    place p;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p.text, sizeof p.text, fmt, ap);
    va_end(ap);
    return p;
}

daruma_str raw_of(daruma_str string) /* without its quotes; empty when it is no string */
{
    return json_is_string(string) ? str_sub(string, 1, string.n - 2) : (daruma_str){0};
}

bool says(daruma_str string, const char *text)
{
    return json_is_string(string) && json_raw_eq(raw_of(string), str_of(text));
}

bool listed(const char *const *names, daruma_str raw)
{
    for (; *names; names++)
        if (json_raw_eq(raw, str_of(*names)))
            return true;
    return false;
}

void ids_add(ids *s, daruma_str id, daruma_arena *a)
{
    daruma_str *list = arena_grow(a, s->id, s->n, &s->cap, sizeof *list, 16);
    if (!list)
        return;
    s->id = list;
    list[s->n++] = id;
}

bool ids_has(const ids *s, daruma_str id)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->id[i], id))
            return true;
    return false;
}

bool ids_take(ids *s, daruma_str id) /* removes it; false when it was not there */
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->id[i], id)) {
            memmove(s->id + i, s->id + i + 1, (--s->n - i) * sizeof *s->id);
            return true;
        }
    return false;
}

daruma_str ids_list(const ids *s, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < s->n; i++)
        BUF_SAY(&b, i ? ", " : "", s->id[i]);
    return buf_str(&b);
}

bool tool_name_ok(daruma_str name, size_t longest)
{
    for (size_t i = 0; i < name.n; i++)
        if (!ch_alpha(name.p[i]) && !ch_digit(name.p[i]) && name.p[i] != '_' && name.p[i] != '-')
            return false;
    return name.n > 0 && name.n <= longest;
}

refusal of_kind(const char *kind, refusal r)
{
    if (r.status && !r.kind)
        r.kind = kind;
    return r;
}

daruma_str sign_thought(uint64_t secret, daruma_str text, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "EqQBCgIYAhIM");
    buf_hex64(&b, XXH3_64bits_withSeed(text.p, text.n, secret));
    buf_hex64(&b, XXH3_64bits_withSeed(text.p, text.n, ~secret));
    return buf_str(&b);
}

/* ---- the body as a whole ------------------------------------------------------------------------------------- */

static refusal not_json(const ask *q, daruma_arena *a)
{
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a, "Invalid JSON payload received. Unexpected end of string.");
    if (q->wire == WIRE_MESSAGES)
        return PLAIN(a, "The request body is not valid JSON: unexpected end of data");
    return PLAIN(a, "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your "
                    "HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid "
                    "JSON. If you have trouble figuring out how to fix this, please contact us through our help "
                    "center at help.openai.com.)");
}

static refusal too_many_bytes(const ask *q, const model_limits *m, daruma_arena *a)
{
    if (m->max_bytes == 0 || q->bytes <= m->max_bytes)
        return (refusal){0};
    if (q->wire == WIRE_GEMINI)
        return GOOGLE(a, "Request payload size exceeds the limit: %lld bytes.", (long long)m->max_bytes);
    if (q->wire == WIRE_MESSAGES)
        return refuse(413, "request_too_large", NULL, NULL, a, "Request exceeds the maximum size");
    return refuse(413, "server_error", NULL, NULL, a,
                  "413: Maximum content size limit (%lld) exceeded (%lld bytes read)", (long long)m->max_bytes,
                  (long long)q->bytes);
}

refusal validate(const ask *q, const model_limits *m, daruma_arena *a)
{
    refusal (*const rules[WIRES])(const ask *, const model_limits *, daruma_arena *) = {chat_rules, messages_rules,
                                                                                        responses_rules, gemini_rules};
    refusal r = of_kind("request_too_large", too_many_bytes(q, m, a));
    if (!r.status && !q->ok)
        r = not_json(q, a);
    if (!r.status && q->wire == WIRE_MESSAGES && !q->versioned)
        r = PLAIN(a, "anthropic-version: header is required");
    if (!r.status)
        r = of_kind("invalid_parameter", parameter_rules(q, m, a));
    if (!r.status)
        r = of_kind("invalid_tool_schema", schema_rules(q, m, a));
    if (!r.status)
        r = of_kind("invalid_message", rules[q->wire](q, m, a));
    if (!r.status)
        r = room_rules(q, m, a);
    return of_kind("invalid_request", r);
}

/* ---- who asks, and for what -------------------------------------------------------------------------------------- */

static refusal no_key(const ask *q, daruma_arena *a)
{
    if (q->wire == WIRE_GEMINI)
        return refuse(
            403, "PERMISSION_DENIED", NULL, NULL, a,
            "Method doesn't allow unregistered callers (callers without established identity). Please use API "
            "Key or other form of API consumer identity to call this API.");
    if (q->wire == WIRE_MESSAGES)
        return refuse(401, "authentication_error", NULL, NULL, a, "x-api-key header is required");
    return refuse(401, INVALID, NULL, NULL, a,
                  "You didn't provide an API key. You need to provide your API key in an Authorization header using "
                  "Bearer auth (i.e. Authorization: Bearer YOUR_KEY), or as the password field (with blank "
                  "username) if you're accessing the API from your browser and are prompted for a username and "
                  "password. You can obtain an API key from https://platform.openai.com/account/api-keys.");
}

refusal validate_key(const ask *q, bool known, daruma_arena *a)
{
    if (!q->key.n)
        return of_kind("auth", no_key(q, a));
    if (known)
        return (refusal){0};
    refusal r = fault_refusal("auth", q->wire, &(fault_values){.key = str_sub(q->key, 0, 3)}, a);
    if (q->wire == WIRE_GEMINI)
        r.details =
            S("[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"API_KEY_INVALID\",\"domain\":"
              "\"googleapis.com\",\"metadata\":{\"service\":\"generativelanguage.googleapis.com\"}}]");
    return r;
}

refusal refuse_model(const ask *q, daruma_arena *a)
{
    return fault_refusal("model_not_found", q->wire, &(fault_values){.model = str_sub(q->model, 0, 200)}, a);
}

refusal refuse_stored(daruma_str id, bool item, daruma_arena *a)
{
    if (item)
        return of_kind("not_stored",
                       refuse(404, INVALID, NULL, "input", a,
                              "Item with id '" STR_FMT "' not found. Items are not persisted when `store` "
                              "is set to false. Try again with `store` set to true, or remove this item "
                              "from your input.",
                              STR_ARG(str_sub(id, 0, 100))));
    return of_kind("not_stored",
                   OPENAI(a, "previous_response_not_found", "previous_response_id",
                          "Previous response with id '" STR_FMT "' not found.", STR_ARG(str_sub(id, 0, 100))));
}

refusal refuse_path(const ask *q, daruma_arena *a)
{
    if (q->wire == WIRE_GEMINI)
        return refuse(404, "NOT_FOUND", NULL, NULL, a, "Requested entity was not found.");
    if (q->wire == WIRE_MESSAGES)
        return refuse(404, "not_found_error", NULL, NULL, a, "Not Found");
    return refuse(404, INVALID, "unknown_url", NULL, a,
                  "Unknown request URL: " STR_FMT ". Please check the URL for typos, "
                  "or see the docs at https://platform.openai.com/docs/api-reference/.",
                  STR_ARG(str_sub(q->path, 0, 200)));
}
