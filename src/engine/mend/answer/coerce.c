/* coerce.c - a value written as its schema wants it, where nothing is lost by it: "3" for 3, one for a list of one, an
 * object in a string, null for what may be left out; and which members a schema knows. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/args.h"
#include "engine/mend/answer/repair.h"
#include "engine/mend/value.h"

typedef struct coercion {
    daruma_str root;
    daruma_arena *a;
    daruma_buf *out;
    int depth;
    uint32_t steps; /* of all that was held against a schema so far */
} coercion;

static void coerce_put(coercion *c, daruma_str schema, daruma_str value);

static bool fits_here(coercion *c, daruma_str schema, daruma_str value)
{
    return schema_fits_after(&c->steps, c->root, schema, value, c->a);
}

/* The text of a string that is JSON of `type`, else empty. */
static daruma_str within(coercion *c, daruma_str string, const char *type)
{
    daruma_str text = json_text(string, c->a), value = {0};
    if (!json_whole(text, &value)) { /* "3 weeks" is no 3 */
        bool opens = text.n && (text.p[0] == '{' || text.p[0] == '[');
        value = opens && (strcmp(type, "object") == 0 || strcmp(type, "array") == 0) ? repair_alone(text, c->a)
                                                                                     : (daruma_str){0};
    }
    const char *is = value.n ? value_type(value) : "";
    return strcmp(is, type) == 0 || (strcmp(type, "number") == 0 && strcmp(is, "integer") == 0) ? value
                                                                                                : (daruma_str){0};
}

/* `value` is of no type that `schema` takes: another spelling of it may be. False: there is none. */
static bool put_otherwise(coercion *c, daruma_str schema, daruma_str value)
{
    static const char *const types[] = {"integer", "number", "boolean", "object", "array"};
    for (size_t i = 0; json_is_string(value) && i < COUNT(types); i++) {
        daruma_str v = schema_takes(schema, types[i]) ? within(c, value, types[i]) : (daruma_str){0};
        if (v.n) {
            coerce_put(c, schema, v);
            return true;
        }
    }
    if (schema_takes(schema, "string") && (json_is_number(value) || value.p[0] == 't' || value.p[0] == 'f')) {
        BUF_SAY(c->out, "\"", value, "\"");
        return true;
    }
    daruma_str items = json_get(schema, S("items"));
    if (schema_takes(schema, "array") && json_is_object(items) && !json_is_null(value)) {
        buf_putc(c->out, '[');
        coerce_put(c, items, value);
        buf_putc(c->out, ']');
        return true;
    }
    return false;
}

static void put_object(coercion *c, daruma_str schema, daruma_str value)
{
    lookup properties = {.of = json_get(schema, S("properties")), .a = c->a};
    lookup required = {.of = json_get(schema, S("required")), .a = c->a};
    daruma_str key, v;
    buf_putc(c->out, '{');
    for (json_iter it = json_open(value); json_next(&it, &key, &v);) {
        daruma_str s = lookup_get(&properties, key);
        if (json_is_null(v) && s.n && !lookup_has(&required, key) && !fits_here(c, s, v))
            continue; /* null for what may be left out */
        buf_key(c->out, key);
        coerce_put(c, s, v);
    }
    buf_putc(c->out, '}');
}

static void put_array(coercion *c, daruma_str schema, daruma_str value)
{
    daruma_str items = json_get(schema, S("items")), v;
    buf_putc(c->out, '[');
    for (json_iter it = json_open(value); json_next(&it, NULL, &v);) {
        buf_comma(c->out);
        coerce_put(c, items, v);
    }
    buf_putc(c->out, ']');
}

/* The first alternative that it fits after all. */
static bool put_choice(coercion *c, daruma_str list, daruma_str value)
{
    daruma_str s;
    size_t from = c->out->n;
    for (json_iter it = json_open(list); json_next(&it, NULL, &s);) {
        coerce_put(c, s, value);
        if (!c->out->full && fits_here(c, s, str_from(buf_str(c->out), from)))
            return true;
        c->out->n = from;
    }
    return false;
}

static void coerce_put(coercion *c, daruma_str schema, daruma_str value)
{
    schema = schema_follow(c->root, schema);
    if (!json_is_object(schema) || c->depth == SCHEMA_DEPTH_MAX || c->steps >= SCHEMA_STEPS_MAX ||
        fits_here(c, schema, value)) {
        buf_put(c->out, value);
        return;
    }
    c->depth++;
    daruma_str any = json_get(schema, S("anyOf")), one = json_get(schema, S("oneOf"));
    bool done = (any.n && put_choice(c, any, value)) || (one.n && put_choice(c, one, value));
    if (!done && !any.n && !one.n) {
        if (!schema_takes(schema, value_type(value)))
            done = put_otherwise(c, schema, value);
        else if (json_is_object(value) || json_is_array(value)) {
            (json_is_object(value) ? put_object : put_array)(c, schema, value);
            done = true;
        }
    }
    if (!done)
        buf_put(c->out, value);
    c->depth--;
}

daruma_str args_coerce(daruma_str schema, daruma_str value, uint32_t *steps, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    coercion c = {.root = schema, .a = a, .out = &out};
    coerce_put(&c, schema, value);
    if (steps)
        *steps += c.steps;
    return out.full || a->full || !json_valid(buf_str(&out)) ? (daruma_str){0} : buf_str(&out);
}

/* ---- members that a schema knows ---- */

bool args_lists_all(daruma_str schema)
{
    static const char *const others[] = {"patternProperties", "anyOf", "oneOf", "allOf", "if", "unevaluatedProperties"};
    daruma_str more = json_get(schema, S("additionalProperties"));
    for (size_t i = 0; i < COUNT(others); i++)
        if (json_get(schema, str_of(others[i])).n)
            return false;
    return json_count(json_get(schema, S("properties"))) > 0 && (!more.n || str_eq(more, S("false")));
}

typedef struct sieve {
    daruma_str root;
    daruma_arena *a;
    daruma_buf *out;
    int depth;
    size_t dropped;
} sieve;

static void put_known(sieve *k, daruma_str schema, daruma_str value)
{
    schema = schema_follow(k->root, schema);
    bool object = json_is_object(value), lists = object && args_lists_all(schema);
    lookup properties = {.of = json_get(schema, S("properties")), .a = k->a};
    daruma_str items = json_get(schema, S("items")), key, v;
    if ((!object && !json_is_array(value)) || !json_is_object(schema) || k->depth == SCHEMA_DEPTH_MAX) {
        buf_put(k->out, value);
        return;
    }
    k->depth++;
    buf_putc(k->out, value.p[0]);
    for (json_iter it = json_open(value); json_next(&it, &key, &v);) {
        daruma_str s = object ? lookup_get(&properties, key) : items;
        if (lists && !s.n) {
            k->dropped++;
            continue;
        }
        if (object)
            buf_key(k->out, key);
        else
            buf_comma(k->out);
        put_known(k, s, v);
    }
    buf_putc(k->out, object ? '}' : ']');
    k->depth--;
}

daruma_str args_known(daruma_str schema, daruma_str value, daruma_arena *a, size_t *ret_dropped)
{
    daruma_buf out = buf_in(a);
    sieve k = {.root = schema, .a = a, .out = &out};
    put_known(&k, schema, value);
    *ret_dropped = k.dropped;
    if (!k.dropped)
        return value;
    return out.full || a->full ? (daruma_str){0} : buf_str(&out);
}
