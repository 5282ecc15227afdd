/* fits.c - does a JSON value fit a JSON Schema (draft 2020-12)? The keywords that tools use; unknown ones pass, and so
 * does what lies too deep or would take too long. What is wrong is said in the words a model can act upon. */
#include "base/utf8.h"
#include "engine/mend/value.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

typedef struct judge {
    daruma_str root;
    daruma_buf *why; /* NULL: nobody asks */
    char path[160];
    size_t n;        /* of path */
    uint32_t *steps; /* taken so far, SCHEMA_STEPS_MAX at most */
    daruma_arena a;  /* for what is looked for in large objects; given back with each */
    int depth;
} judge;

static bool fits_schema(judge *j, daruma_str schema, daruma_str value);

/* ---- words ---- */

static daruma_str shown(daruma_str raw)
{
    return str_sub(raw, 0, utf8_floor(raw, 60));
}

/* "- `days`: expected integer, got string "three"". */
static bool fits_wrong(judge *j, daruma_str expected, daruma_str value)
{
    if (!j->why)
        return false;
    BUF_LIT(j->why, "- ");
    if (j->n) {
        BUF_SAY(j->why, "`", ((daruma_str){j->path, j->n}), "`: ");
    }
    BUF_SAY(j->why, "expected ", expected);
    if (value.n) {
        BUF_LIT(j->why, ", got ");
        if (!json_is_true(value) && !json_is_null(value) && value.p[0] != 'f') {
            BUF_SAY(j->why, value_type(value), " ");
        }
        daruma_str part = shown(value);
        buf_put(j->why, part);
        if (part.n < value.n)
            BUF_LIT(j->why, "...");
    }
    buf_putc(j->why, '\n');
    return false;
}

static bool wrong_with(judge *j, const char *words, daruma_str what, daruma_str value)
{
    char text[200];
    daruma_buf b = buf_over(text, sizeof text);
    BUF_SAY(&b, words, str_sub(what, 0, sizeof text - strlen(words)));
    return fits_wrong(j, buf_str(&b), value);
}

static size_t path_push(judge *j, daruma_str key, int64_t index)
{
    size_t was = j->n;
    daruma_buf b = {.p = j->path, .n = j->n, .cap = sizeof j->path};
    if (index >= 0) {
        BUF_SAY(&b, "[", index, "]");
    } else {
        if (was)
            buf_putc(&b, '.');
        buf_put(&b, key);
    }
    j->n = b.n;
    return was;
}

/* A search through `text` is as many steps as it is long. */
static void searches(judge *j, daruma_str text)
{
    size_t steps = text.n / SCHEMA_STEP_BYTES;
    *j->steps += steps < SCHEMA_STEPS_MAX ? (uint32_t)steps : SCHEMA_STEPS_MAX;
}

/* It has taken too long: nothing more is looked at. */
static bool tired(const judge *j)
{
    return *j->steps >= SCHEMA_STEPS_MAX;
}

/* ---- keywords ---- */

static bool type_fits(judge *j, daruma_str schema, daruma_str value)
{
    if (schema_takes(schema, value_type(value)))
        return true;
    daruma_str t = json_get(schema, S("type"));
    return fits_wrong(j, json_is_string(t) ? str_sub(t, 1, t.n - 2) : t, value);
}

static bool listed(daruma_str list, daruma_str value)
{
    json_iter it = json_open(list);
    daruma_str one;
    while (json_next(&it, NULL, &one))
        if (value_same(one, value))
            return true;
    return false;
}

/* \ud83d: the first or the second half of a character that is written as two escapes. */
static bool half_at(daruma_str s, size_t at, bool second)
{
    char high = at + 5 < s.n ? ch_lower(s.p[at + 3]) : 0;
    return high && s.p[at] == '\\' && s.p[at + 1] == 'u' && ch_lower(s.p[at + 2]) == 'd' &&
           memchr(second ? "cdef" : "89ab", high, 4) != NULL;
}

static size_t characters(daruma_str string)
{
    size_t n = 0;
    for (size_t i = 1; i + 1 < string.n; i++) {
        if (half_at(string, i, false) && half_at(string, i + 6, true))
            i += 11;
        else if (string.p[i] == '\\')
            i += string.p[i + 1] == 'u' ? 5 : 1;
        else if (((unsigned char)string.p[i] & 0xc0) == 0x80)
            continue;
        n++;
    }
    return n;
}

/* A bound that is a number: is `cmp` (of value and bound) one of those allowed? */
static bool bound_fits(judge *j, daruma_str schema, daruma_str key, daruma_str value, bool upper, bool strict)
{
    daruma_str bound = json_get(schema, key);
    if (!json_is_number(bound))
        return true;
    int c = number_compare(value, bound);
    if (c == 2 || (c == 0 && !strict) || (c != 0 && (c < 0) == upper))
        return true;
    return wrong_with(j, upper ? (strict ? "a number below " : "at most ") : (strict ? "a number above " : "at least "),
                      bound, value);
}

static bool count_fits(judge *j, daruma_str schema, daruma_str least, daruma_str most, size_t n, daruma_str value)
{
    int64_t low = json_int(json_get(schema, least), 0), high = json_int(json_get(schema, most), INT64_MAX);
    if ((int64_t)n < low)
        return wrong_with(j, "a length of at least ", json_get(schema, least), value);
    if ((int64_t)n > high)
        return wrong_with(j, "a length of at most ", json_get(schema, most), value);
    return true;
}

static bool object_fits(judge *j, daruma_str schema, daruma_str value)
{
    daruma_str properties = json_get(schema, S("properties")), required = json_get(schema, S("required"));
    daruma_str more = json_get(schema, S("additionalProperties")), key, v, name;
    bool ok = true, patterns = json_get(schema, S("patternProperties")).n;
    daruma_arena was = j->a;
    lookup given = {.of = value, .a = was.beg ? &j->a : NULL}, known = {.of = properties, .a = given.a};
    json_iter it = json_open(required);
    searches(j, value);
    searches(j, properties);
    while (json_next(&it, NULL, &name) && !tired(j)) {
        if (lookup_scans(&given))
            searches(j, value);
        if (!json_is_string(name) || lookup_get(&given, str_sub(name, 1, name.n - 2)).n)
            continue;
        size_t n = path_push(j, str_sub(name, 1, name.n - 2), -1);
        daruma_str s = schema_follow(j->root, lookup_get(&known, str_sub(name, 1, name.n - 2)));
        daruma_str type = json_get(s, S("type"));
        ok &= wrong_with(j, "a value, it is required: ", type.n ? type : S("any"), (daruma_str){0});
        j->n = n;
    }
    it = json_open(value);
    while (json_next(&it, &key, &v) && (ok || j->why) && !tired(j)) {
        if (lookup_scans(&known))
            searches(j, properties);
        daruma_str s = lookup_get(&known, key);
        size_t n = path_push(j, key, -1);
        if (s.n)
            ok &= fits_schema(j, s, v);
        else if (more.n && more.p[0] == 'f' && !patterns)
            ok &= fits_wrong(j, S("no such property"), v);
        else if (json_is_object(more) && !patterns)
            ok &= fits_schema(j, more, v);
        j->n = n;
    }
    j->a = was;
    return ok;
}

static bool array_fits(judge *j, daruma_str schema, daruma_str value)
{
    daruma_str first = json_get(schema, S("prefixItems")), items = json_get(schema, S("items")), v, s;
    if (!first.n && json_is_array(items)) { /* as older drafts write it */
        first = items;
        items = json_get(schema, S("additionalItems"));
    }
    json_iter it = json_open(value), tuple = json_open(first);
    bool ok = count_fits(j, schema, S("minItems"), S("maxItems"), json_count(value), value);
    for (int64_t i = 0; json_next(&it, NULL, &v) && (ok || j->why) && !tired(j); i++) {
        size_t was = path_push(j, S(""), i);
        if (!json_next(&tuple, NULL, &s))
            s = items;
        ok &= !s.n || fits_schema(j, s, v);
        j->n = was;
    }
    return ok;
}

/* How many of the schemas of a list does it fit? Stops at `enough`. */
static size_t fitting(judge *j, daruma_str list, daruma_str value, size_t enough)
{
    daruma_buf *why = j->why;
    json_iter it = json_open(list);
    daruma_str s;
    size_t n = 0;
    j->why = NULL;
    while (n < enough && json_next(&it, NULL, &s))
        n += fits_schema(j, s, value);
    j->why = why;
    return n;
}

static bool combined_fits(judge *j, daruma_str schema, daruma_str value)
{
    daruma_str any = json_get(schema, S("anyOf")), one = json_get(schema, S("oneOf")),
               all = json_get(schema, S("allOf"));
    daruma_str not = json_get(schema, S("not")), s;
    bool ok = true;
    json_iter it = json_open(all);
    while (json_next(&it, NULL, &s))
        ok &= fits_schema(j, s, value);
    /* oneOf is read as anyOf: two that fit are a slip of the schema's author, not of the model. */
    for (int i = 0; i < 2; i++, any = one) {
        if (!json_is_array(any) || fitting(j, any, value, 1))
            continue;
        if (json_count(any) == 1) {
            it = json_open(any);
            json_next(&it, NULL, &s);
            ok &= fits_schema(j, s, value);
        } else {
            ok &= wrong_with(j, "a value that fits one of ", shown(any), value);
        }
    }
    if (json_is_object(not ) && json_count(not ) && j->depth < SCHEMA_DEPTH_MAX) {
        daruma_buf *why = j->why;
        j->why = NULL;
        bool hit = fits_schema(j, not, value);
        j->why = why;
        if (hit && !tired(j))
            ok &= wrong_with(j, "a value that does not fit ", shown(not ), value);
    }
    return ok;
}

static bool fits_schema(judge *j, daruma_str schema, daruma_str value)
{
    if (schema.n == 5 && schema.p[0] == 'f')
        return fits_wrong(j, S("nothing here"), value);
    if (!json_is_object(schema) || j->depth == SCHEMA_DEPTH_MAX || tired(j))
        return true;
    j->depth++;
    ++*j->steps;
    searches(j, schema);
    bool ok = true;
    daruma_str ref = json_get(schema, S("$ref")), list = json_get(schema, S("enum")), is = json_get(schema, S("const"));
    if (ref.n) {
        daruma_str to = schema_at(j->root, ref);
        searches(j, j->root);
        ok &= !to.n || fits_schema(j, to, value);
    }
    if (!type_fits(j, schema, value)) {
        j->depth--;
        return false; /* nothing else that is said of it would help */
    }
    if (json_is_array(list) && !listed(list, value) &&
        !(json_is_null(value) && json_is_true(json_get(schema, S("nullable")))))
        ok &= wrong_with(j, "one of ", str_sub(list, 0, 150), value);
    if (is.n && !value_same(is, value))
        ok &= fits_wrong(j, shown(is), value);
    if (json_is_number(value)) {
        ok &= bound_fits(j, schema, S("minimum"), value, false, json_is_true(json_get(schema, S("exclusiveMinimum"))));
        ok &= bound_fits(j, schema, S("maximum"), value, true, json_is_true(json_get(schema, S("exclusiveMaximum"))));
        ok &= bound_fits(j, schema, S("exclusiveMinimum"), value, false, true);
        ok &= bound_fits(j, schema, S("exclusiveMaximum"), value, true, true);
    } else if (json_is_string(value)) {
        ok &= count_fits(j, schema, S("minLength"), S("maxLength"), characters(value), value);
    } else if (json_is_object(value)) {
        ok &= object_fits(j, schema, value);
    } else if (json_is_array(value)) {
        ok &= array_fits(j, schema, value);
    }
    ok &= combined_fits(j, schema, value);
    j->depth--;
    return ok;
}

bool schema_fits_after(uint32_t *steps, daruma_str root, daruma_str schema, daruma_str value, const daruma_arena *a)
{
    judge j = {.root = root, .steps = steps, .a = *a};
    return fits_schema(&j, schema, value);
}

bool schema_fits_in(daruma_str root, daruma_str schema, daruma_str value, daruma_buf *why, uint32_t *steps,
                    const daruma_arena *a)
{
    uint32_t taken = 0;
    judge j = {.root = root, .why = why, .steps = &taken, .a = *a};
    bool fits = fits_schema(&j, schema, value);
    if (steps)
        *steps += taken;
    return fits;
}

bool schema_fits(daruma_str schema, daruma_str value, daruma_buf *why)
{
    json_whole(schema, &schema);
    if (!json_whole(value, &value)) {
        if (why)
            BUF_LIT(why, "- expected JSON\n");
        return false;
    }
    daruma_arena none = {0};
    return schema_fits_in(schema, schema, value, why, NULL, &none);
}
