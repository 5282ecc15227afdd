/* lower.c - a JSON Schema with less in it. A node and what it is combined of (references, allOf, the one alternative
 * that is not null) are looked at together, as one list of objects whose first word on a keyword counts:
 *
 *     {"$ref":"#/$defs/P","description":"d"}  ->  view: that object, P  ->  {"description":"d","type":...}
 *
 * All troublesome keywords go, or the one that a provider named. */
#include "engine/mend/value.h"
#include "engine/mend/request/request.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

enum { VIEW_MAX = 24 }; /* objects that one node is combined of; more are left out */

typedef struct view {
    daruma_str part[VIEW_MAX];
    bool variant[VIEW_MAX]; /* one of several alternatives: what it requires is not required */
    size_t n, followed;     /* followed: references on the way, to be forgotten again */
    bool nullable;
    daruma_str choice;         /* alternatives that stay, as their list */
    daruma_str values;         /* alternatives that are single values: their list */
    lookup required[VIEW_MAX]; /* names that a part requires */
} view;

typedef struct lowering {
    daruma_str root, keyword; /* keyword empty: all */
    bool strict;              /* OpenAI's strict mode: everything required, nothing more allowed */
    daruma_arena *a;
    daruma_buf out;
    const char *on_way[SCHEMA_DEPTH_MAX]; /* targets of references that are being written out */
    size_t nway, refs;
    int depth;
    bool top, changed;
} lowering;

static void write_node(lowering *l, daruma_str schema, bool top);

/* ---- what is troublesome ---- */

/* Is `key` to be lowered? */
static bool named(const lowering *l, daruma_str name)
{
    daruma_str want = l->keyword;
    if (str_starts(want, S("$")))
        want = str_from(want, 1);
    if (str_starts(name, S("$")))
        name = str_from(name, 1);
    return name_same(want, name);
}

static bool lowers(const lowering *l, daruma_str key)
{
    return !l->keyword.n || named(l, key);
}

/* What every provider takes. */
static bool is_plain(daruma_str key)
{
    static const daruma_str plain[] = {LIT("type"), LIT("description"), LIT("properties"), LIT("required"),
                                       LIT("enum"), LIT("items"),       LIT("nullable")};
    return STR_ANY(str_eq, key, plain);
}

static bool lowers_refs(const lowering *l)
{
    return lowers(l, S("$ref")) || lowers(l, S("$defs")) || lowers(l, S("definitions"));
}

/* ---- the view of a node ---- */

static bool is_null_schema(daruma_str s)
{
    daruma_str type = json_get(s, S("type")), is = json_get(s, S("const"));
    return (json_is_string(type) && str_ieq(str_sub(type, 1, type.n - 2), S("null"))) || json_is_null(is);
}

static bool single_value(daruma_str s)
{
    return json_get(s, S("const")).n || json_is_array(json_get(s, S("enum")));
}

static void look(lowering *l, view *v, daruma_str schema, bool variant);

static void look_at_ref(lowering *l, view *v, daruma_str ref, bool variant)
{
    daruma_str to = schema_at(l->root, ref);
    l->changed = true;
    bool again = l->nway == SCHEMA_DEPTH_MAX || ++l->refs > SCHEMA_REFS_MAX || !json_is_object(to);
    for (size_t i = 0; !again && i < l->nway; i++)
        again = l->on_way[i] == to.p;
    if (again) { /* it contains itself: an object, nobody says of what */
        if (v->n < VIEW_MAX)
            v->part[v->n++] = S("{\"type\":\"object\"}");
        return;
    }
    l->on_way[l->nway++] = to.p;
    v->followed++;
    look(l, v, to, variant);
}

/* anyOf or oneOf: null makes it nullable, one that is left is the node itself, single values are an enum. */
static void look_at_choice(lowering *l, view *v, daruma_str list, bool merge)
{
    json_iter it = json_open(list);
    daruma_str s, one = {0};
    size_t n = 0, values = 0;
    bool null = false;
    while (json_next(&it, NULL, &s)) {
        if (is_null_schema(s)) {
            null = true;
            continue;
        }
        one = one.n && !merge ? one : s;
        n++;
        values += single_value(s);
    }
    v->nullable |= null;
    if (n == 1) {
        l->changed = true;
        look(l, v, one, false);
    } else if (n && values == n) {
        v->values = list;
        l->changed = true;
    } else if (!merge || v->choice.n) {
        v->choice = v->choice.n ? v->choice : list;
        l->changed |= null && !l->strict;
    } else {
        bool objects = true;
        l->changed = true;
        for (it = json_open(list); json_next(&it, NULL, &s);)
            objects &= is_null_schema(s) || schema_takes(schema_follow(l->root, s), "object");
        for (it = json_open(list); json_next(&it, NULL, &s);)
            if (!is_null_schema(s)) {
                look(l, v, s, true);
                if (!objects)
                    break; /* a text or a number: the first it may be */
            }
    }
}

static void look(lowering *l, view *v, daruma_str schema, bool variant)
{
    daruma_str ref = json_get(schema, S("$ref")), all = json_get(schema, S("allOf")), s;
    if (!json_is_object(schema) || v->n == VIEW_MAX || l->depth == SCHEMA_DEPTH_MAX)
        return;
    l->depth++;
    v->variant[v->n] = variant;
    v->part[v->n++] = schema;
    if (ref.n && lowers_refs(l))
        look_at_ref(l, v, ref, variant);
    if (json_is_array(all) && lowers(l, S("allOf"))) {
        l->changed = true;
        for (json_iter it = json_open(all); json_next(&it, NULL, &s);)
            look(l, v, s, variant);
    }
    for (int i = 0; i < 2; i++) {
        daruma_str key = i ? S("oneOf") : S("anyOf"), list = json_get(schema, key);
        /* At the top no provider takes alternatives; below, most take anyOf. */
        bool merge = l->top || (l->keyword.n && named(l, key));
        if (json_is_array(list) && lowers(l, key))
            look_at_choice(l, v, list, merge);
        l->changed |= i && list.n && lowers(l, key); /* oneOf is written as anyOf */
    }
    l->depth--;
}

/* The first word on a keyword. */
static daruma_str said(const view *v, daruma_str key)
{
    daruma_str hit = {0};
    for (size_t i = 0; i < v->n && !hit.n; i++)
        hit = json_get(v->part[i], key);
    return hit;
}

/* ---- writing ---- */

static void put_list_of_schemas(lowering *l, daruma_str list)
{
    daruma_str s;
    buf_putc(&l->out, '[');
    for (json_iter it = json_open(list); json_next(&it, NULL, &s);) {
        if (!l->keyword.n && !l->strict && is_null_schema(s))
            continue;
        buf_comma(&l->out);
        write_node(l, s, false);
    }
    buf_putc(&l->out, ']');
}

static void put_map_of_schemas(lowering *l, daruma_str map)
{
    daruma_str key, s;
    buf_putc(&l->out, '{');
    for (json_iter it = json_open(map); json_next(&it, &key, &s);) {
        buf_key(&l->out, key);
        write_node(l, s, false);
    }
    buf_putc(&l->out, '}');
}

/* Is a property of that name known to the parts before `before`? */
static bool has_property(lookup *properties, size_t before, daruma_str key)
{
    for (size_t i = 0; i < before; i++)
        if (lookup_get(&properties[i], key).n)
            return true;
    return false;
}

static void look_at_properties(lowering *l, const view *v, lookup properties[VIEW_MAX])
{
    for (size_t i = 0; i < v->n; i++)
        properties[i] = (lookup){.of = json_get(v->part[i], S("properties")), .a = l->a};
}

static bool is_required(lowering *l, view *v, daruma_str key)
{
    for (size_t i = 0; i < v->n; i++) {
        if (!v->required[i].a)
            v->required[i] = (lookup){.of = json_get(v->part[i], S("required")), .a = l->a};
        if (!v->variant[i] && lookup_has(&v->required[i], key))
            return true;
    }
    return false;
}

/* Strict mode knows no optional members: they may be null instead. */
static void put_nullable(lowering *l, daruma_str schema)
{
    size_t from = l->out.n;
    write_node(l, schema, false);
    daruma_str node = arena_copy(l->a, str_from(buf_str(&l->out), from)), type = json_get(node, S("type"));
    if (schema_takes(node, "null") || !json_is_string(type))
        return;
    size_t at = (size_t)(type.p - node.p);
    l->changed = true;
    l->out.n = from;
    buf_put(&l->out, str_sub(node, 0, at));
    buf_putc(&l->out, '[');
    buf_put(&l->out, type);
    BUF_LIT(&l->out, ",\"null\"]");
    buf_put(&l->out, str_from(node, at + type.n));
}

static void put_properties(lowering *l, view *v)
{
    lookup properties[VIEW_MAX];
    daruma_str key, s;
    look_at_properties(l, v, properties);
    buf_putc(&l->out, '{');
    for (size_t i = 0; i < v->n; i++)
        for (json_iter it = json_open(properties[i].of); json_next(&it, &key, &s);) {
            if (has_property(properties, i, key))
                continue;
            buf_key(&l->out, key);
            if (l->strict && !is_required(l, v, key))
                put_nullable(l, s);
            else
                write_node(l, s, false);
        }
    buf_putc(&l->out, '}');
}

/* The names that are required and known; in strict mode all. Returns how many; without any nothing is written. */
static size_t put_required(lowering *l, view *v)
{
    lookup properties[VIEW_MAX];
    daruma_str key, s;
    size_t any = 0;
    look_at_properties(l, v, properties);
    for (size_t i = 0; i < v->n; i++)
        for (json_iter it = json_open(properties[i].of); json_next(&it, &key, &s);) {
            if (has_property(properties, i, key) || !(l->strict || is_required(l, v, key)))
                continue;
            if (!any)
                buf_key(&l->out, S("required"));
            buf_putz(&l->out, any++ ? ",\"" : "[\"");
            buf_put(&l->out, key);
            buf_putc(&l->out, '"');
        }
    if (any)
        buf_putc(&l->out, ']');
    return any;
}

/* One type of several: null goes, text says most. */
static daruma_str one_type(daruma_str types)
{
    daruma_str t, pick = {0};
    for (json_iter it = json_open(types); json_next(&it, NULL, &t);)
        if (json_is_string(t) && !str_ieq(t, S("\"null\"")) && (!pick.n || str_ieq(t, S("\"string\""))))
            pick = t;
    return pick.n ? pick : S("\"string\"");
}

static void put_values(lowering *l, daruma_str list)
{
    daruma_str s, value;
    buf_putc(&l->out, '[');
    for (json_iter it = json_open(list); json_next(&it, NULL, &s);) {
        daruma_str is = json_get(s, S("const"));
        json_iter in = json_open(json_get(s, S("enum")));
        while (is.n || json_next(&in, NULL, &value)) {
            value = is.n ? is : value;
            is = (daruma_str){0};
            if (json_is_null(value))
                continue;
            buf_comma(&l->out);
            buf_put(&l->out, value);
        }
    }
    buf_putc(&l->out, ']');
}

/* Texts of an enum that a provider finds fault with: only what is text and not empty. */
static void put_texts(lowering *l, daruma_str list)
{
    daruma_str value;
    bool any = false;
    for (json_iter it = json_open(list); json_next(&it, NULL, &value);) {
        if (!json_is_string(value) || value.n == 2) {
            l->changed = true;
            continue;
        }
        if (!any)
            buf_key(&l->out, S("enum"));
        buf_putc(&l->out, any ? ',' : '[');
        buf_put(&l->out, value);
        any = true;
    }
    if (any)
        buf_putc(&l->out, ']');
}

/* One keyword that keeps its place. */
static void put_keyword(lowering *l, view *v, daruma_str key, daruma_str value)
{
    static const daruma_str lists[] = {LIT("anyOf"), LIT("oneOf"), LIT("allOf"), LIT("prefixItems")};
    static const daruma_str maps[] = {LIT("$defs"), LIT("definitions"), LIT("patternProperties"),
                                      LIT("dependentSchemas")};
    static const daruma_str nodes[] = {LIT("items"), LIT("additionalProperties"), LIT("not"), LIT("contains"),
                                       LIT("propertyNames")};
    if (str_eq(key, S("type"))) {
        bool several = json_is_array(value) && !l->strict && lowers(l, S("type"));
        l->changed |= several;
        buf_key(&l->out, key);
        buf_put(&l->out, several ? one_type(value) : value);
    } else if (str_eq(key, S("properties"))) {
        buf_key(&l->out, key);
        put_properties(l, v);
    } else if (str_eq(key, S("required"))) {
        l->changed |= put_required(l, v) != json_count(value);
    } else if (str_eq(key, S("const")) && lowers(l, S("const"))) {
        l->changed = true;
        if (said(v, S("enum")).n)
            return;
        buf_key(&l->out, S("enum"));
        buf_putc(&l->out, '[');
        buf_put(&l->out, value);
        buf_putc(&l->out, ']');
    } else if (str_eq(key, S("enum")) && named(l, S("enum"))) {
        put_texts(l, value);
    } else if (str_eq(key, S("items")) && json_is_array(value) && lowers(l, S("items"))) {
        daruma_str s = {0};
        json_iter it = json_open(value);
        json_next(&it, NULL, &s);
        l->changed = true;
        buf_key(&l->out, key);
        write_node(l, s.n ? s : S("{}"), false);
    } else if (!is_plain(key) && lowers(l, key)) {
        l->changed = true;
    } else {
        buf_key(&l->out, key);
        if (STR_ANY(str_eq, key, lists) && json_is_array(value))
            put_list_of_schemas(l, value);
        else if (STR_ANY(str_eq, key, maps) && json_is_object(value))
            put_map_of_schemas(l, value);
        else if (STR_ANY(str_eq, key, nodes) && json_is_object(value))
            write_node(l, value, false);
        else
            buf_put(&l->out, value);
    }
}

/* Written elsewhere, or not at all? */
static bool is_passed(const lowering *l, daruma_str key)
{
    if (str_eq(key, S("$ref")) || str_eq(key, S("$defs")) || str_eq(key, S("definitions")))
        return lowers_refs(l);
    if (str_eq(key, S("anyOf")) || str_eq(key, S("oneOf")) || str_eq(key, S("allOf")))
        return lowers(l, key);
    return l->strict && (str_eq(key, S("additionalProperties")) || str_eq(key, S("required")));
}

static void put_keywords(lowering *l, view *v)
{
    daruma_str key, value;
    for (size_t i = 0; i < v->n; i++)
        for (json_iter it = json_open(v->part[i]); json_next(&it, &key, &value);) {
            bool known = is_passed(l, key);
            for (size_t k = 0; k < i && !known; k++)
                known = json_get(v->part[k], key).n;
            if (!known)
                put_keyword(l, v, key, value);
        }
}

static void put_pair(lowering *l, daruma_str key, daruma_str value)
{
    buf_key(&l->out, key);
    buf_put(&l->out, value);
    l->changed = true;
}

/* What a node must say and does not. */
static void put_missing(lowering *l, view *v, bool top)
{
    daruma_str type = said(v, S("type")), properties = said(v, S("properties")), items = said(v, S("items"));
    daruma_str tuple = said(v, S("prefixItems")), values = said(v, S("enum")), s = {0};
    bool all = !l->keyword.n, object = properties.n || top;
    if (v->values.n && !values.n) {
        buf_key(&l->out, S("enum"));
        put_values(l, v->values);
    }
    if (v->choice.n) {
        buf_key(&l->out, S("anyOf"));
        put_list_of_schemas(l, v->choice);
    }
    if (!type.n && (all || top) && !v->choice.n) {
        json_iter it = json_open(values.n ? values : v->values);
        if (object)
            type = S("\"object\"");
        else if (items.n || tuple.n)
            type = S("\"array\"");
        else if (json_next(&it, NULL, &s) || said(v, S("const")).n) {
            daruma_str value = values.n ? s : v->values.n ? json_get(s, S("const")) : said(v, S("const"));
            type = !value.n || json_is_string(value) ? S("\"string\"")
                   : json_is_number(value)           ? S("\"number\"")
                                                     : S("\"boolean\"");
        }
        if (type.n)
            put_pair(l, S("type"), type);
    }
    object |= str_ieq(type, S("\"object\""));
    if (top && !properties.n && (all || named(l, S("properties"))))
        put_pair(l, S("properties"), S("{}"));
    if (str_ieq(type, S("\"array\"")) && !items.n && lowers(l, S("items"))) {
        json_iter it = json_open(tuple);
        buf_key(&l->out, S("items"));
        l->changed = true;
        write_node(l, json_next(&it, NULL, &s) ? s : S("{\"type\":\"string\"}"), false);
    }
    daruma_str types = said(v, S("type"));
    bool null = v->nullable;
    for (json_iter it = json_open(types); json_next(&it, NULL, &s);)
        null |= str_ieq(s, S("\"null\""));
    if (null && lowers(l, S("type")) && !l->strict && !said(v, S("nullable")).n)
        put_pair(l, S("nullable"), S("true"));
    if (l->strict && object) {
        size_t n = put_required(l, v);
        buf_key(&l->out, S("additionalProperties"));
        BUF_LIT(&l->out, "false");
        daruma_str more = said(v, S("additionalProperties"));
        l->changed |= n != json_count(said(v, S("required"))) || !(more.n && more.p[0] == 'f');
    }
}

/* An object of which nothing is known, where a provider wants to know (Gemini): its JSON as a text. */
static bool is_blank_object(const lowering *l, const view *v, bool top)
{
    return !top && l->keyword.n && named(l, S("properties")) && str_ieq(said(v, S("type")), S("\"object\"")) &&
           !json_count(said(v, S("properties")));
}

static void write_node(lowering *l, daruma_str schema, bool top)
{
    view v = {0};
    if (!json_is_object(schema)) {
        l->changed |= !l->keyword.n;
        buf_put(&l->out, l->keyword.n ? schema : S("{}"));
        return;
    }
    l->out.full |= l->out.n > SCHEMA_BYTES_MAX;
    if (l->depth >= SCHEMA_DEPTH_MAX || l->out.full) {
        l->changed = true;
        BUF_LIT(&l->out, "{}");
        return;
    }
    l->depth++;
    l->top = top;
    look(l, &v, schema, false);
    buf_putc(&l->out, '{');
    if (is_blank_object(l, &v, top)) {
        put_pair(l, S("type"), S("\"string\""));
        daruma_str words = json_text(said(&v, S("description")), l->a);
        daruma_buf b = buf_in(l->a);
        buf_put(&b, words);
        buf_putz(&b, words.n ? " (a JSON object, as text)" : "A JSON object, as text");
        buf_key(&l->out, S("description"));
        buf_json(&l->out, buf_str(&b));
    } else {
        put_keywords(l, &v);
        put_missing(l, &v, top);
    }
    buf_putc(&l->out, '}');
    l->nway -= v.followed;
    l->depth--;
}

daruma_str schema_lower(daruma_str schema, daruma_str keyword, bool strict, daruma_arena *a)
{
    lowering l = {.keyword = keyword, .strict = strict, .a = a, .out = buf_in(a)};
    daruma_str value = {0};
    if (!json_whole(schema, &value) || !json_is_object(value))
        return schema;
    l.root = value;
    write_node(&l, value, true);
    return l.changed && !l.out.full && !a->full ? buf_str(&l.out) : schema;
}
