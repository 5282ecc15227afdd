/* schema.c - Google's schemas, a part of OpenAPI 3.0, as JSON Schema: https://ai.google.dev/api/caching#Schema
 *
 *     {"type":"STRING","nullable":true,"maxLength":"64"}  -->  {"type":["string","null"],"maxLength":64}
 */
#include "dialect/gemini/gemini.h"
#include "base/map.h"

/* What a member of a schema holds. */
typedef enum member_is {
    IS_TYPE,
    IS_NULLABLE,
    IS_FORMAT,
    IS_ENUM,
    IS_NUMBER, /* as a string, as ProtoJSON writes 64 bits */
    IS_EXAMPLE,
    IS_ORDER,
    IS_REF,
    IS_SCHEMA,     /* a schema */
    IS_ANY,        /* schemas of which one holds */
    IS_LIST,       /* schemas */
    IS_MAP,        /* schemas by names that are no keywords */
    IS_PROPERTIES, /* the same, in an order */
    IS_OTHER
} member_is;

// clang-format off
static const struct { daruma_str name; member_is is; const char *as; } members[] = {
    {LIT("type"),                 IS_TYPE,       "type"},
    {LIT("nullable"),             IS_NULLABLE,   NULL},
    {LIT("format"),               IS_FORMAT,     "format"},
    {LIT("enum"),                 IS_ENUM,       "enum"},
    {LIT("minItems"),             IS_NUMBER,     "minItems"},
    {LIT("maxItems"),             IS_NUMBER,     "maxItems"},
    {LIT("minLength"),            IS_NUMBER,     "minLength"},
    {LIT("maxLength"),            IS_NUMBER,     "maxLength"},
    {LIT("minProperties"),        IS_NUMBER,     "minProperties"},
    {LIT("maxProperties"),        IS_NUMBER,     "maxProperties"},
    {LIT("minimum"),              IS_NUMBER,     "minimum"},
    {LIT("maximum"),              IS_NUMBER,     "maximum"},
    {LIT("example"),              IS_EXAMPLE,    "examples"},
    {LIT("propertyOrdering"),     IS_ORDER,      NULL},
    {LIT("ref"),                  IS_REF,        "$ref"},
    {LIT("defs"),                 IS_MAP,        "$defs"},
    {LIT("$defs"),                IS_MAP,        "$defs"},
    {LIT("definitions"),          IS_MAP,        "definitions"},
    {LIT("patternProperties"),    IS_MAP,        "patternProperties"},
    {LIT("properties"),           IS_PROPERTIES, "properties"},
    {LIT("items"),                IS_SCHEMA,     "items"},
    {LIT("additionalProperties"), IS_SCHEMA,     "additionalProperties"},
    {LIT("not"),                  IS_SCHEMA,     "not"},
    {LIT("anyOf"),                IS_ANY,        "anyOf"},
    {LIT("oneOf"),                IS_ANY,        "oneOf"},
    {LIT("allOf"),                IS_LIST,       "allOf"},
    {LIT("prefixItems"),          IS_LIST,       "prefixItems"},
};
static const daruma_str types[] = {LIT("OBJECT"),  LIT("STRING"), LIT("NUMBER"), LIT("INTEGER"),
                                   LIT("BOOLEAN"), LIT("ARRAY"),  LIT("NULL")};
/* Words that say nothing beside the type, and that validators of JSON Schema may refuse. */
static const daruma_str formats[] = {LIT("enum"), LIT("int32"), LIT("int64"), LIT("float"), LIT("double")};
// clang-format on

typedef struct rewriting {
    daruma_buf *out;
    daruma_arena *a;
    bool changed;
} rewriting;

static void put_schema(rewriting *w, daruma_str schema, int depth);

/* The row of a member; members that are none of ours have no place in the table. */
static size_t row_of(daruma_str key)
{
    size_t i = 0;
    while (i < COUNT(members) && !key_camel(key, members[i].name))
        i++;
    return i;
}

/* ---- values ---- */

static void put_type(rewriting *w, daruma_str type)
{
    if (!STR_ANY(value_is, type, types)) {
        buf_put(w->out, type);
        return;
    }
    for (size_t i = 0; i < type.n; i++)
        buf_putc(w->out, ch_lower(type.p[i]));
    w->changed = true;
}

/* A list and `null` (empty: nothing), unless it stands there. */
static void put_and_null(rewriting *w, daruma_str list, daruma_str null)
{
    daruma_str one;
    bool has = false;
    buf_putc(w->out, '[');
    for (json_iter it = json_open(list); json_next(&it, NULL, &one);) {
        buf_comma(w->out);
        put_type(w, one);
        has |= str_eq(one, null);
    }
    if (null.n && !has) {
        buf_comma(w->out);
        buf_put(w->out, null);
    }
    buf_putc(w->out, ']');
}

static void put_types(rewriting *w, daruma_str type, bool nullable)
{
    if (json_is_array(type)) {
        put_and_null(w, type, nullable ? S("\"null\"") : S(""));
        return;
    }
    bool both = nullable && !str_eq(type, S("\"null\"")) && !str_eq(type, S("\"NULL\""));
    if (both)
        buf_putc(w->out, '[');
    put_type(w, type);
    if (both)
        BUF_LIT(w->out, ",\"null\"]");
}

/* Google writes the numbers of an enum as strings. */
static void put_enum(rewriting *w, daruma_str list, daruma_str type, bool nullable)
{
    static const daruma_str numeric[] = {LIT("INTEGER"), LIT("NUMBER"), LIT("integer"), LIT("number")};
    bool numbers = STR_ANY(value_is, type, numeric);
    daruma_str one;
    bool null = false;
    buf_putc(w->out, '[');
    for (json_iter it = json_open(list); json_next(&it, NULL, &one);) {
        daruma_str plain = value_raw(one);
        bool number = numbers && json_valid(plain) && json_is_number(str_trim(plain));
        buf_comma(w->out);
        buf_put(w->out, number ? str_trim(plain) : one);
        w->changed |= number;
        null |= json_is_null(one);
    }
    if (nullable && !null) {
        buf_comma(w->out);
        BUF_LIT(w->out, "null");
    }
    buf_putc(w->out, ']');
}

static void put_list(rewriting *w, daruma_str list, bool nullable, int depth)
{
    daruma_str one;
    buf_putc(w->out, '[');
    for (json_iter it = json_open(list); json_next(&it, NULL, &one);) {
        buf_comma(w->out);
        put_schema(w, one, depth + 1);
    }
    if (nullable) {
        buf_comma(w->out);
        BUF_LIT(w->out, "{\"type\":\"null\"}");
    }
    buf_putc(w->out, ']');
}

static void put_map(rewriting *w, daruma_str map, int depth)
{
    daruma_str key, value;
    buf_putc(w->out, '{');
    for (json_iter it = json_open(map); json_next(&it, &key, &value);) {
        buf_key(w->out, key);
        put_schema(w, value, depth + 1);
    }
    buf_putc(w->out, '}');
}

/* The properties in the order that is asked for, then the others: models write them as they stand. */
static void put_properties(rewriting *w, daruma_str map, daruma_str order, int depth)
{
    daruma_str key, value, name;
    str_map places = {0}; /* 1 + offset of a value, 0: it is out */
    if (!json_is_array(order)) {
        put_map(w, map, depth);
        return;
    }
    for (json_iter it = json_open(map); json_next(&it, &key, &value);) {
        uint64_t *at = map_put(&places, w->a, key);
        if (at)
            *at = 1 + (uint64_t)(value.p - map.p);
    }
    buf_putc(w->out, '{');
    for (json_iter it = json_open(order); json_next(&it, NULL, &name);) {
        uint64_t *at = map_get(&places, value_raw(name));
        if (!at || !*at)
            continue;
        json_skip(map, (size_t)*at - 1, &value);
        *at = 0;
        buf_key(w->out, value_raw(name));
        put_schema(w, value, depth + 1);
    }
    for (json_iter it = json_open(map); json_next(&it, &key, &value);) {
        const uint64_t *at = map_get(&places, key);
        if (at && *at == 1 + (uint64_t)(value.p - map.p)) {
            buf_key(w->out, key);
            put_schema(w, value, depth + 1);
        }
    }
    buf_putc(w->out, '}');
}

/* "#/defs/a" of Vertex AI is "#/$defs/a". */
static void put_ref(rewriting *w, daruma_str ref)
{
    const daruma_str begin = S("\"#/defs/");
    if (!str_starts(ref, begin)) {
        buf_put(w->out, ref);
        return;
    }
    BUF_SAY(w->out, "\"#/$defs/", str_from(ref, begin.n));
}

/* ---- schemas ---- */

/* What members of a schema say of the others. */
typedef struct beside {
    daruma_str type, order;
    bool nullable;
} beside;

static beside beside_of(daruma_str schema)
{
    return (beside){.type = gemini_get(schema, S("type")),
                    .order = gemini_get(schema, S("propertyOrdering")),
                    .nullable = json_is_true(gemini_get(schema, S("nullable")))};
}

static void put_member(rewriting *w, const beside *with, member_is is, daruma_str value, int depth)
{
    daruma_str plain = value_raw(value);
    switch (is) {
    case IS_TYPE:
        put_types(w, value, with->nullable);
        break;
    case IS_ENUM:
        put_enum(w, value, with->type, with->nullable);
        break;
    case IS_NUMBER:
        w->changed |= plain.n > 0 && json_is_number(plain) && json_valid(plain);
        buf_put(w->out, plain.n && json_is_number(plain) && json_valid(plain) ? plain : value);
        break;
    case IS_EXAMPLE:
        BUF_SAY(w->out, "[", value, "]");
        break;
    case IS_REF:
        put_ref(w, value);
        break;
    case IS_SCHEMA:
        put_schema(w, value, depth + 1);
        break;
    case IS_ANY:
        put_list(w, value, with->nullable && !with->type.n, depth);
        break;
    case IS_LIST:
        put_list(w, value, false, depth);
        break;
    case IS_MAP:
        put_map(w, value, depth);
        break;
    case IS_PROPERTIES:
        put_properties(w, value, with->order, depth);
        break;
    case IS_NULLABLE:
    case IS_FORMAT:
    case IS_ORDER:
    case IS_OTHER:
        buf_put(w->out, value);
        break;
    }
}

/* Has the member this kind of value? What is written otherwise is somebody else's mistake, and stays. */
static bool holds(member_is is, daruma_str value)
{
    switch (is) {
    case IS_TYPE:
        return json_is_string(value) || json_is_array(value);
    case IS_ENUM:
    case IS_ANY:
    case IS_LIST:
    case IS_ORDER:
        return json_is_array(value);
    case IS_MAP:
    case IS_PROPERTIES:
    case IS_SCHEMA:
        return json_is_object(value);
    case IS_REF:
    case IS_FORMAT:
        return json_is_string(value);
    case IS_NULLABLE:
        return json_is_true(value) || str_eq(value, S("false"));
    case IS_NUMBER:
    case IS_EXAMPLE:
        return true;
    case IS_OTHER:
        return false;
    }
    return false;
}

static bool is_left_out(member_is is, daruma_str value)
{
    return is == IS_NULLABLE || is == IS_ORDER || (is == IS_FORMAT && STR_ANY(value_is, value, formats)) ||
           (is == IS_TYPE && value_is(value, S("TYPE_UNSPECIFIED")));
}

static void put_schema(rewriting *w, daruma_str schema, int depth)
{
    daruma_str key, value;
    if (!json_is_object(schema) || depth == SCHEMA_DEPTH_MAX) {
        buf_put(w->out, schema);
        return;
    }
    const beside with = beside_of(schema);
    w->changed |= with.nullable;
    buf_putc(w->out, '{');
    for (json_iter it = json_open(schema); json_next(&it, &key, &value) && !w->out->full;) {
        size_t row = row_of(key);
        if (row == COUNT(members) || !holds(members[row].is, value)) {
            buf_key(w->out, key);
            buf_put(w->out, value);
            continue;
        }
        member_is is = members[row].is;
        w->changed |= is_left_out(is, value);
        if (is_left_out(is, value))
            continue;
        w->changed |= !str_eq(key, str_of(members[row].as));
        buf_key(w->out, str_of(members[row].as));
        put_member(w, &with, is, value, depth);
    }
    buf_putc(w->out, '}');
}

/* False: nothing in it is Google's, so that it need not be written to know that. */
static bool may_differ(daruma_str schema)
{
    static const daruma_str marks[] = {LIT("\"nullable\""), LIT("\"format\""), LIT("\"enum\""), LIT("rdering\""),
                                       LIT("\"example\""),  LIT("\"ref\""),    LIT("\"defs\""), LIT("_of\""),
                                       LIT("\"min"),        LIT("\"max"),      LIT("TYPE_"),    LIT("\"additional_")};
    return STR_ANY(str_has, schema, marks);
}

daruma_str gemini_json_schema(convo *c, daruma_str schema)
{
    if (!may_differ(schema))
        return schema;
    daruma_buf b = buf_in(c->arena);
    rewriting w = {.out = &b, .a = c->arena};
    put_schema(&w, schema, 0);
    c->full |= b.full;
    return w.changed && !b.full ? buf_done(&b) : schema;
}
