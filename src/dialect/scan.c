/* scan.c - one pass over the top level of a request. The body is read at the speed of memory;
 * messages are looked into only up to the first one of the user. */
#include "dialect/parts.h"
#include <xxhash.h>

static const char *space_end(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'))
        p++;
    return p;
}

whole_iter whole_open(daruma_str body)
{
    const char *end = body.p + body.n, *p = body.n ? space_end(body.p, end) : end;
    whole_iter w = {.last = p, .end = end};
    if (p == end || *p != '{') {
        w.it.bad = true;
        return w;
    }
    w.it = json_open((daruma_str){p, (size_t)(end - p)});
    w.last = p + 1;
    return w;
}

bool whole_next(whole_iter *w, daruma_str *key, daruma_str *value)
{
    if (!json_next(&w->it, key, value))
        return false;
    w->last = value->p + value->n;
    return true;
}

bool whole_ok(const whole_iter *w)
{
    if (w->it.bad)
        return false;
    const char *p = space_end(w->last, w->end);
    return p < w->end && *p == '}' && space_end(p + 1, w->end) == w->end;
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

static json_iter quickly(daruma_str value)
{
    json_iter it = json_open(value);
    it.quick = true;
    return it;
}

/* Adds what a system prompt or message says to the hash: its texts, not their dress. Clients move
 * cache marks from message to message and send the same text now as a string, now as blocks. */
static uint64_t hash_texts(uint64_t h, daruma_str content)
{
    daruma_str block;
    if (json_is_string(content))
        return XXH3_64bits_withSeed(content.p + 1, content.n - 2, h);
    if (!json_is_array(content))
        return h;
    for (json_iter it = quickly(content); json_next(&it, NULL, &block);)
        h = hash_texts(h, json_get(block, S("text")));
    return h;
}

static void find_user(request_scan *r, daruma_str system)
{
    uint64_t h = hash_texts(0, system);
    daruma_str message, key, value;
    if (json_is_string(r->messages)) { /* Responses: input may be a text */
        r->has_user = true;
        h = hash_texts(h, r->messages);
    }
    if (json_is_array(r->messages))
        for (json_iter it = quickly(r->messages); !r->has_user && json_next(&it, NULL, &message);) {
            daruma_str role = {0}, content = {0};
            for (json_iter m = quickly(message); json_next(&m, &key, &value);)
                if (key_is(key, S("role")))
                    role = value;
                else if (key_is(key, S("content")))
                    content = value;
            r->has_user = value_is(role, S("user"));
            if (r->has_user || value_is(role, S("system")) || value_is(role, S("developer")))
                h = hash_texts(h, content);
        }
    r->conversation = r->has_user ? h : 0;
}

static void take(request_scan *r, daruma_str *system, scan_what what, daruma_str value)
{
    switch (what) {
    case SCAN_MODEL: /* of duplicate keys the last wins, also when it is no string */
        r->model = value_raw(value);
        r->model_raw = json_is_string(value) ? value : (daruma_str){0};
        return;
    case SCAN_STREAM:
        r->stream = json_is_true(value);
        return;
    case SCAN_TOOLS:
        r->tools |= json_is_array(value) && value_given(value);
        return;
    case SCAN_FORMAT:
        r->schema |= wants_json(value);
        return;
    case SCAN_FORMAT_IN:
        r->schema |= wants_json(json_get(value, S("format")));
        return;
    case SCAN_MESSAGES:
        r->messages = value;
        return;
    case SCAN_SYSTEM:
        *system = value;
        return;
    case SCAN_MAX:
        if (json_int(value, -1) >= 0)
            r->max_output = json_int(value, -1);
        return;
    case SCAN_STATE:
        r->stateful |= value_given(value);
        return;
    case SCAN_STATE_ID:
        r->stateful |= json_is_string(value) ? value_given(value) : value_given(json_get(value, S("id")));
        return;
    }
}

request_scan scan_request(daruma_str body, const scan_key *keys, size_t n)
{
    request_scan r = {.max_output = -1};
    daruma_str key, value, system = {0};
    whole_iter w = whole_open(body);
    w.it.quick = true;
    while (whole_next(&w, &key, &value))
        for (size_t i = 0; i < n; i++)
            if (key_is(key, keys[i].key)) {
                take(&r, &system, keys[i].what, value);
                break;
            }
    r.ok = whole_ok(&w);
    if (r.ok)
        find_user(&r, system);
    return r;
}
