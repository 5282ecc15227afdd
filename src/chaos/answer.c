#include "chaos/answer.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

void answer_header(answer *x, daruma_str name, daruma_str value)
{
    for (size_t i = 0; i < x->nheaders; i++)
        if (str_ieq(x->headers[i].name, name)) {
            x->headers[i].value = value;
            return;
        }
    if (x->nheaders < ANSWER_HEADERS)
        x->headers[x->nheaders++] = (daruma_header){name, value};
}

daruma_str answer_header_of(const answer *x, daruma_str name)
{
    for (size_t i = 0; i < x->nheaders; i++)
        if (str_ieq(x->headers[i].name, name))
            return x->headers[i].value;
    return (daruma_str){0};
}

answer answer_json(int status, const daruma_buf *body)
{
    answer x = {.status = status, .body = buf_str(body)};
    answer_header(&x, S("content-type"), S("application/json"));
    return x;
}

daruma_str answer_piece(daruma_str *rest, size_t least)
{
    daruma_str s = *rest;
    size_t n = least < s.n ? least : s.n;
    while (n < s.n && n < least + 24 && s.p[n - 1] != ' ')
        n++;
    while (n < s.n && (s.p[n] & 0xc0) == 0x80)
        n++;
    *rest = str_from(s, n);
    return str_sub(s, 0, n);
}

/* ---- values that fit a schema ---- */

static bool type_is(daruma_str schema, const char *want)
{
    daruma_str type = json_get(schema, S("type")), one;
    json_iter it = json_open(type);
    if (json_is_string(type)) /* Gemini writes STRING */
        return str_ieq(str_sub(type, 1, type.n - 2), str_of(want));
    while (json_next(&it, NULL, &one)) /* ["string", "null"]: the first is meant */
        return json_is_string(one) && str_ieq(str_sub(one, 1, one.n - 2), str_of(want));
    return false;
}

/* Follows "#/$defs/Name" from the root; empty when it leads nowhere. */
static daruma_str resolve(daruma_str root, daruma_str ref)
{
    daruma_str path = str_sub(ref, 1, ref.n - 2), at = root;
    if (!str_starts(path, S("#/")))
        return (daruma_str){0};
    path = str_from(path, 2);
    while (path.n && at.n)
        at = json_get(at, str_cut(&path, '/'));
    return at;
}

static void instance(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth);

static void instance_object(daruma_buf *out, daruma_str root, daruma_str schema, int depth)
{
    daruma_str key, value;
    bool first = true;
    json_iter it = json_open(json_get(schema, S("properties")));
    buf_putc(out, '{');
    while (depth < 16 && json_next(&it, &key, &value)) {
        BUF_SAY(out, first ? "\"" : ",\"", key, "\":");
        instance(out, root, value, key, depth + 1);
        first = false;
    }
    buf_putc(out, '}');
}

static void instance_array(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth)
{
    int64_t n = json_int(json_get(schema, S("minItems")), 1);
    n = n < 1 ? 1 : n > 16 ? 16 : n;
    buf_putc(out, '[');
    for (int64_t i = 0; depth < 16 && i < n; i++) {
        if (i)
            buf_putc(out, ',');
        instance(out, root, json_get(schema, S("items")), name, depth + 1);
    }
    buf_putc(out, ']');
}

static void instance_string(daruma_buf *out, daruma_str schema, daruma_str name)
{
    static const struct {
        const char *format, *value;
    } formats[] = {{"date-time", "2026-01-02T03:04:05Z"},
                   {"date", "2026-01-02"},
                   {"time", "03:04:05Z"},
                   {"email", "someone@example.com"},
                   {"uri", "https://example.com/"},
                   {"uuid", "00000000-0000-4000-8000-000000000001"},
                   {"ipv4", "192.0.2.1"},
                   {"hostname", "example.com"}};
    daruma_str format = json_get(schema, S("format"));
    for (size_t i = 0; json_is_string(format) && i < COUNT(formats); i++)
        if (json_raw_eq(str_sub(format, 1, format.n - 2), str_of(formats[i].format))) {
            buf_printf(out, "\"%s\"", formats[i].value);
            return;
        }
    int64_t least = json_int(json_get(schema, S("minLength")), 0),
            most = json_int(json_get(schema, S("maxLength")), -1);
    size_t cap = most >= 0 && most < 200 ? (size_t)most : 200;
    daruma_str text = str_sub(name.n && str_findch(name, '\\') == STR_NONE ? name : S("value"), 0, cap);
    BUF_SAY(out, "\"", text);
    for (size_t n = text.n; (int64_t)n < least && n < 4096; n++)
        buf_putc(out, 'x');
    buf_putc(out, '"');
}

static void instance(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth)
{
    static const char *const picks[] = {"anyOf", "oneOf", "allOf", "enum"};
    daruma_str ref = json_get(schema, S("$ref")), fixed = json_get(schema, S("const"));
    if (json_is_string(ref) && depth < 16) {
        instance(out, root, resolve(root, ref), name, depth + 1);
        return;
    }
    if (fixed.n) {
        buf_put(out, fixed);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        daruma_str first = json_path(json_get(schema, str_of(picks[i])), "0");
        if (!first.n)
            continue;
        if (i == 3)
            buf_put(out, first);
        else
            instance(out, root, first, name, depth + 1);
        return;
    }
    daruma_str least = json_get(schema, S("minimum"));
    if (type_is(schema, "object") || json_get(schema, S("properties")).n)
        instance_object(out, root, schema, depth);
    else if (type_is(schema, "array"))
        instance_array(out, root, schema, name, depth);
    else if (type_is(schema, "integer") || type_is(schema, "number"))
        buf_put(out, json_is_number(least) ? least : S("1"));
    else if (type_is(schema, "boolean"))
        BUF_LIT(out, "true");
    else if (type_is(schema, "null"))
        BUF_LIT(out, "null");
    else
        instance_string(out, schema, name);
}

void answer_instance(daruma_buf *out, daruma_str schema)
{
    if (schema.n)
        instance(out, schema, schema, S("value"), 0);
    else
        BUF_LIT(out, "{}");
}
