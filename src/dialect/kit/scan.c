/* scan.c - one pass over the top level of a request. The body is read at the speed of memory;
 * messages are looked into only up to the first one of the user. */
#include "dialect/kit/parts.h"
#include "base/limits.h"
#include <xxhash.h>

const char *space_end(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

json_iter whole_open(daruma_str body)
{
    if (!body.n)
        return (json_iter){.bad = true};
    const char *end = body.p + body.n, *p = space_end(body.p, end);
    if (p == end || *p != '{')
        return (json_iter){.bad = true};
    return json_open((daruma_str){p, (size_t)(end - p)});
}

bool whole_ok(const json_iter *it)
{
    return !it->bad && space_end(it->p, it->end) == it->end;
}

bool key_camel(daruma_str raw, daruma_str camel)
{
    size_t at = 0;
    if (key_is(raw, camel))
        return true;
    for (size_t i = 0; i < camel.n; i++) {
        char c = camel.p[i];
        if (c >= 'A' && c <= 'Z' && (at == raw.n || raw.p[at++] != '_'))
            return false;
        if (at == raw.n || raw.p[at++] != ch_lower(c))
            return false;
    }
    return at == raw.n;
}

bool value_is(daruma_str value, daruma_str text)
{
    return json_is_string(value) && key_is(str_sub(value, 1, value.n - 2), text);
}

bool value_given(daruma_str v)
{
    if (json_is_string(v))
        return v.n > 2;
    if (!json_is_array(v) && !json_is_object(v))
        return false;
    return *space_end(v.p + 1, v.p + v.n) != (json_is_array(v) ? ']' : '}');
}

daruma_str value_raw(daruma_str v)
{
    return json_is_string(v) ? str_sub(v, 1, v.n - 2) : (daruma_str){0};
}

static bool wants_json(daruma_str format)
{
    daruma_str type = json_get(format, S("type"));
    return value_is(type, S("json_schema")) || value_is(type, S("json_object"));
}

/* What a conversation is known by: the texts of its system prompt and of its messages up to the first of the
 * user, not their dress. Clients move cache marks from message to message and send the same text now as a
 * string, now as blocks. Of a long text its length, its beginning and its end count, so that it is not read twice. */
uint64_t hash_text(uint64_t h, daruma_str string)
{
    const size_t part = HASHED_BYTES_MAX / 2;
    h += string.n;
    if (string.n <= 2 * part)
        return XXH3_64bits_withSeed(string.p, string.n, h);
    h = XXH3_64bits_withSeed(string.p, part, h);
    return XXH3_64bits_withSeed(string.p + string.n - part, part, h);
}

/* Passes a block of a content and adds its text. */
static uint64_t hash_block(uint64_t h, json_iter *it)
{
    daruma_str key, value;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return h;
    }
    json_iter block = json_enter(it);
    while (json_next(&block, &key, &value))
        if (key_is(key, S("text")) && json_is_string(value))
            h = hash_text(h, value);
    json_leave(it, &block, NULL);
    return h;
}

/* Passes a content, a string, blocks or (Gemini) one block, and adds its texts. */
static uint64_t hash_content(uint64_t h, json_iter *it)
{
    daruma_str value;
    if (*it->p == '{')
        return hash_block(h, it);
    if (*it->p != '[')
        return json_pass(it, &value) && json_is_string(value) ? hash_text(h, value) : h;
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        h = hash_block(h, &list);
    json_leave(it, &list, NULL);
    return h;
}

/* Passes a message and adds its texts when the user or the system speaks. In Gemini its content are `parts`, and who
 * does not say a role is the user. */
static uint64_t hash_message(uint64_t h, json_iter *it, bool *user)
{
    daruma_str key, role = {0};
    uint64_t with = h;
    bool parts = false;
    if (*it->p != '{') {
        json_pass(it, NULL);
        return h;
    }
    json_iter m = json_enter(it);
    while (json_step(&m, &key))
        if (key_is(key, S("content"))) {
            with = hash_content(h, &m);
        } else if (key_is(key, S("parts"))) {
            with = hash_content(h, &m);
            parts = true;
        } else {
            json_pass(&m, key_is(key, S("role")) ? &role : NULL);
        }
    json_leave(it, &m, NULL);
    *user = value_is(role, S("user")) || (parts && !role.n);
    return *user || value_is(role, S("system")) || value_is(role, S("developer")) ? with : h;
}

static void pass_messages(request_scan *r, json_iter *it, uint32_t *newest)
{
    const char *from = it->p;
    r->nmessages = 0;           /* of duplicate keys the last wins */
    uint64_t h = 1;             /* other than where a system prompt begins: the same text in both must not cancel out */
    r->has_user = *from == '"'; /* Responses: input may be a text */
    if (*from == '{') {         /* Gemini: one message alone */
        h = hash_message(h, it, &r->has_user);
        r->messages = (daruma_str){from, (size_t)(it->p - from)};
    } else if (*from == '[') {
        json_iter list = json_enter(it);
        while (json_step(&list, NULL)) {
            if (newest)
                newest[r->nmessages % SCAN_NEWEST] = (uint32_t)(list.p - from);
            r->nmessages++;
            if (r->has_user)
                json_pass(&list, NULL);
            else
                h = hash_message(h, &list, &r->has_user);
        }
        json_leave(it, &list, &r->messages);
        if (r->messages.n > UINT32_MAX)
            r->nmessages = 0;
    } else {
        h = hash_content(h, it);
        r->messages = (daruma_str){from, (size_t)(it->p - from)};
    }
    r->conversation = h;
}

/* Passes a system prompt: a content, or (Gemini) an object with parts. */
static uint64_t hash_system(json_iter *it)
{
    uint64_t h = 0;
    daruma_str key;
    if (*it->p != '{')
        return hash_content(0, it);
    json_iter m = json_enter(it);
    while (json_step(&m, &key))
        if (key_is(key, S("parts")))
            h = hash_content(0, &m);
        else
            json_pass(&m, NULL);
    json_leave(it, &m, NULL);
    return h;
}

static void take_format(request_scan *r, bool asked, daruma_str member)
{
    r->schema |= asked;
    if (asked)
        r->format_raw = member;
}

static void take_choices(request_scan *r, daruma_str value)
{
    int64_t n = json_int(value, 0);
    r->choices = n < 0 ? 0 : n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Gemini keeps the output cap and the response format one level down. */
static void take_config(request_scan *r, daruma_str config)
{
    daruma_str key, value;
    if (!json_is_object(config))
        return;
    for (json_iter it = json_open(config); json_next(&it, &key, &value);)
        if (key_camel(key, S("maxOutputTokens")) && json_int(value, -1) >= 0)
            r->max_output = json_int(value, -1);
        else if (key_camel(key, S("candidateCount")))
            take_choices(r, value);
        else if (key_camel(key, S("responseMimeType")))
            take_format(r, value_is(value, S("application/json")), config);
        else if (key_camel(key, S("responseSchema")) || key_camel(key, S("responseJsonSchema")))
            take_format(r, json_is_object(value), config);
}

static uint64_t hash_id(daruma_str id)
{
    daruma_str raw = value_raw(json_is_string(id) ? id : json_get(id, S("id")));
    return raw.n ? XXH3_64bits(raw.p, raw.n) : 0;
}

/* What it goes on from says more of where it belongs than anything else that it names. */
static void take_before(request_scan *r, daruma_str id, bool conversing)
{
    uint64_t h = hash_id(id);
    r->remote |= h || (!conversing && value_given(id));
    if (!h)
        return;
    r->remote_id = r->before = h;
    r->conversing = conversing;
}

static bool names_one(daruma_str value)
{
    return value_given(json_is_string(value) ? value : json_get(value, S("id")));
}

static void take(request_scan *r, scan_what what, daruma_str value)
{
    switch (what) {
    case SCAN_MODEL: /* of duplicate keys the last wins, also when it is no string */
        r->nmodels++;
        r->model = value_raw(value);
        r->model_raw = json_is_string(value) ? value : (daruma_str){0};
        return;
    case SCAN_STREAM:
        r->stream = json_is_true(value);
        return;
    case SCAN_FORMAT:
        take_format(r, wants_json(value), value);
        return;
    case SCAN_FORMAT_IN:
        take_format(r, wants_json(json_get(value, S("format"))), value);
        return;
    case SCAN_MAX:
        if (json_int(value, -1) >= 0)
            r->max_output = json_int(value, -1);
        return;
    case SCAN_STATE:
        r->remote |= value_given(value);
        if (!r->remote_id)
            r->remote_id = hash_id(value);
        return;
    case SCAN_STATE_ID:
        r->remote |= names_one(value);
        if (!r->remote_id)
            r->remote_id = hash_id(value);
        return;
    case SCAN_BEFORE:
    case SCAN_BEFORE_ID:
        take_before(r, value, what == SCAN_BEFORE_ID);
        r->adds |= what == SCAN_BEFORE_ID && names_one(value);
        r->effects |= r->adds;
        return;
    case SCAN_STORE:
        r->unstored = str_eq(value, S("false"));
        return;
    case SCAN_THREAD:
        r->keeps = json_is_object(value);
        take_before(r, json_get(value, S("previous_message_id")), false);
        return;
    case SCAN_CONFIG:
        take_config(r, value);
        return;
    case SCAN_PROMPT:
        take(r, SCAN_STATE_ID, value);
        r->effects |= names_one(value);
        return;
    case SCAN_SERVERS:
        r->effects |= value_given(value);
        return;
    case SCAN_BEHIND:
        r->behind = json_is_true(value);
        r->effects |= r->behind;
        return;
    case SCAN_CHOICES:
        take_choices(r, value);
        return;
    case SCAN_OPTIONS:
        r->usage_asked = json_is_true(json_get(value, S("include_usage")));
        return;
    case SCAN_TOOLS:
    case SCAN_FUNCTIONS:
    case SCAN_MESSAGES:
    case SCAN_SYSTEM:
    case SCAN_NOTHING:
        return;
    }
}

static void take_tools(request_scan *r, const hosted *h, bool older, json_iter *it)
{
    daruma_str value = {0};
    r->effects |= hosted_tools(h, it, &value);
    if (!json_is_string(value) && value_given(value)) { /* Gemini: a list, or one alone */
        r->functions = older && !r->tools;
        r->tools = true;
    }
    if (json_is_array(value) || (h->by_member && json_is_object(value)))
        r->tools_raw = value;
}

static scan_what what_of(const scan_key *keys, size_t n, daruma_str key)
{
    for (size_t i = 0; i < n; i++)
        if (key_is(key, keys[i].key))
            return keys[i].what;
    return SCAN_NOTHING;
}

request_scan scan_request(daruma_str body, const scan_key *keys, size_t n, const hosted *h, uint32_t *newest,
                          bool strict)
{
    request_scan r = {.max_output = -1};
    daruma_str key, value;
    uint64_t system = 0;
    json_iter it = whole_open(body);
    it.quick = !strict;
    while (json_step(&it, &key)) {
        scan_what what = what_of(keys, n, key);
        if (what == SCAN_MESSAGES)
            pass_messages(&r, &it, newest);
        else if (what == SCAN_SYSTEM)
            system = hash_system(&it);
        else if (what == SCAN_TOOLS || what == SCAN_FUNCTIONS)
            take_tools(&r, h, what == SCAN_FUNCTIONS, &it);
        else if (json_pass(&it, &value))
            take(&r, what, value);
    }
    r.ok = whole_ok(&it);
    r.conversation = r.has_user ? r.conversation ^ system : 0;
    return r;
}
