#include "engine/mend/value.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- numbers, as text: no float decides here ---- */

/* whole.part without zeros at its ends; nothing at all is 0. Its point stands `point` digits behind the first. */
typedef struct decimal {
    bool minus, odd; /* odd: its exponent is one that nobody writes */
    daruma_str whole, part;
    int64_t point;
} decimal;

static size_t digits_end(daruma_str v, size_t at)
{
    while (at < v.n && ch_digit(v.p[at]))
        at++;
    return at;
}

static char digit_of(const decimal *d, size_t i)
{
    return i < d->whole.n ? d->whole.p[i] : d->part.p[i - d->whole.n];
}

static size_t digits_of(const decimal *d)
{
    return d->whole.n + d->part.n;
}

static void without_zeros(decimal *d)
{
    while (d->part.n && d->part.p[d->part.n - 1] == '0')
        d->part.n--;
    while (!d->part.n && d->whole.n && d->whole.p[d->whole.n - 1] == '0')
        d->whole.n--;
    while (digits_of(d) && digit_of(d, 0) == '0') {
        d->point--;
        if (d->whole.n)
            d->whole = str_from(d->whole, 1);
        else
            d->part = str_from(d->part, 1);
    }
}

static decimal decimal_of(daruma_str v)
{
    decimal d = {.minus = v.n && v.p[0] == '-'};
    size_t i = d.minus, n = digits_end(v, i);
    d.whole = str_sub(v, i, n - i);
    d.point = (int64_t)d.whole.n;
    if (n < v.n && v.p[n] == '.') {
        i = n + 1;
        n = digits_end(v, i);
        d.part = str_sub(v, i, n - i);
    }
    without_zeros(&d);
    if (n < v.n) {
        bool down = n + 1 < v.n && v.p[n + 1] == '-', sign = down || (n + 1 < v.n && v.p[n + 1] == '+');
        int64_t by = 0;
        d.odd = ch_lower(v.p[n]) != 'e' || !str_int(str_from(v, n + 1 + sign), &by) || by > EXPONENT_MAX;
        d.point += down ? -by : by;
    }
    if (!digits_of(&d))
        d.minus = d.odd = false, d.point = 0;
    return d;
}

int number_compare(daruma_str a, daruma_str b)
{
    decimal x = decimal_of(a), y = decimal_of(b);
    if (x.odd || y.odd)
        return str_eq(a, b) ? 0 : 2;
    if (x.minus != y.minus)
        return x.minus ? -1 : 1;
    size_t nx = digits_of(&x), ny = digits_of(&y), i = 0;
    int c = !nx || !ny ? (nx > 0) - (ny > 0) : (x.point > y.point) - (x.point < y.point);
    for (; !c && i < nx && i < ny; i++)
        c = digit_of(&x, i) - digit_of(&y, i);
    if (!c)
        c = (nx > ny) - (nx < ny);
    c = (c > 0) - (c < 0);
    return x.minus ? -c : c;
}

/* A number without a fraction: 3, 3.0, 3e2. */
static bool is_whole(daruma_str v)
{
    decimal d = decimal_of(v);
    return json_is_number(v) && !d.odd && d.point >= (int64_t)digits_of(&d);
}

/* ---- finding many ---- */

bool lookup_scans(const lookup *l)
{
    return !l->a || l->of.n < LOOKUP_BYTES_MIN;
}

enum { NAME_BYTES_MAX = 512 }; /* of a name with escapes: a longer one needs an arena; without one it fits nothing */

/* The name that stands raw between two quotes, in `room` where it has escapes, and in `a` where it does not fit. */
static daruma_str name_of(daruma_str raw, daruma_arena room, daruma_arena *a)
{
    if (str_findch(raw, '\\') == STR_NONE)
        return raw;
    daruma_str whole = {raw.p - 1, raw.n + 2}, name = json_text(whole, &room);
    return !room.full ? name : a ? json_text(whole, a) : raw;
}

/* Names are entered as they are meant: Python, PHP and .NET write \u00fc where others write the letter. */
static void lookup_make(lookup *l)
{
    daruma_str key, value;
    map_put(&l->at, l->a, (daruma_str){0}); /* it was made, if there is nothing else in it */
    for (json_iter it = json_open(l->of); json_next(&it, &key, &value);) {
        if (!json_is_object(l->of))
            key = json_text(value, l->a);
        else if (str_findch(key, '\\') != STR_NONE)
            key = json_text((daruma_str){key.p - 1, key.n + 2}, l->a);
        uint64_t *at = map_put(&l->at, l->a, key);
        if (at)
            *at = (uint64_t)(value.p - l->of.p) + 1;
    }
}

static uint64_t lookup_at(lookup *l, daruma_str name)
{
    if (!l->at.n)
        lookup_make(l);
    const uint64_t *at = map_get(&l->at, name);
    return at ? *at : 0;
}

daruma_str lookup_get(lookup *l, daruma_str raw)
{
    char room[NAME_BYTES_MAX];
    daruma_str value = {0}, name = name_of(raw, arena_over(room, sizeof room), l->a);
    if (lookup_scans(l) || !json_is_object(l->of))
        return json_get(l->of, name);
    uint64_t at = lookup_at(l, name);
    if (at)
        json_skip(l->of, (size_t)at - 1, &value);
    return value;
}

bool lookup_has(lookup *l, daruma_str raw)
{
    char room[NAME_BYTES_MAX];
    daruma_str one, name = name_of(raw, arena_over(room, sizeof room), l->a);
    if (!lookup_scans(l) && json_is_array(l->of))
        return lookup_at(l, name) > 0;
    for (json_iter it = json_open(l->of); json_next(&it, NULL, &one);)
        if (json_is_string(one) && json_raw_eq(str_sub(one, 1, one.n - 2), name))
            return true;
    return false;
}

/* ---- values ---- */

const char *value_type(daruma_str v)
{
    switch (v.n ? v.p[0] : 0) {
    case '{':
        return "object";
    case '[':
        return "array";
    case '"':
        return "string";
    case 't':
    case 'f':
        return "boolean";
    case 'n':
        return "null";
    default:
        return is_whole(v) ? "integer" : "number";
    }
}

static bool string_same(daruma_str a, daruma_str b)
{
    char text[2048];
    daruma_arena room = arena_over(text, sizeof text);
    if (str_eq(a, b))
        return true;
    if (str_findch(a, '\\') == STR_NONE && str_findch(b, '\\') == STR_NONE)
        return false;
    daruma_str x = json_text(a, &room); /* texts with escapes beyond that room count as different */
    return !room.full && json_raw_eq(str_sub(b, 1, b.n - 2), x);
}

static bool same(daruma_str a, daruma_str b, int depth)
{
    if (!a.n || !b.n || depth == SCHEMA_DEPTH_MAX)
        return false;
    if (json_is_number(a) && json_is_number(b))
        return number_compare(a, b) == 0;
    if (a.p[0] != b.p[0])
        return false;
    if (json_is_string(a))
        return string_same(a, b);
    if (!json_is_object(a) && !json_is_array(a))
        return str_eq(a, b);
    json_iter x = json_open(a), y = json_open(b);
    daruma_str key, v, w;
    if (json_count(a) != json_count(b))
        return false;
    while (json_next(&x, &key, &v)) {
        if (json_is_object(a))
            w = lookup_get(&(lookup){.of = b}, key);
        else
            json_next(&y, NULL, &w);
        if (!same(v, w, depth + 1))
            return false;
    }
    return true;
}

bool value_same(daruma_str a, daruma_str b)
{
    return same(a, b, 0);
}

bool name_same(daruma_str a, daruma_str b)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a.n && (a.p[i] == '_' || a.p[i] == '-'))
            i++;
        while (j < b.n && (b.p[j] == '_' || b.p[j] == '-'))
            j++;
        if (i == a.n || j == b.n)
            return i == a.n && j == b.n && a.n && b.n;
        if (!ch_ieq(a.p[i++], b.p[j++]))
            return false;
    }
}

/* ---- schemas ---- */

daruma_str schema_at(daruma_str root, daruma_str ref)
{
    daruma_str at = root;
    if (!json_is_string(ref))
        return (daruma_str){0};
    ref = str_sub(ref, 1, ref.n - 2);
    if (!str_starts(ref, S("#")))
        return (daruma_str){0};
    for (ref = str_from(ref, 1); ref.n && at.n;) {
        if (ref.p[0] != '/')
            return (daruma_str){0};
        ref = str_from(ref, 1);
        size_t n = str_findch(ref, '/');
        daruma_str step = str_sub(ref, 0, n == STR_NONE ? ref.n : n);
        ref = str_from(ref, step.n);
        int64_t index;
        if (json_is_array(at) && str_int(step, &index)) {
            json_iter it = json_open(at);
            daruma_str item;
            at = (daruma_str){0};
            for (int64_t i = 0; json_next(&it, NULL, &item) && i <= index; i++)
                at = i == index ? item : at;
        } else {
            at = json_get(at, step);
        }
    }
    return at;
}

daruma_str schema_follow(daruma_str root, daruma_str schema)
{
    for (int i = 0; i < SCHEMA_DEPTH_MAX; i++) {
        daruma_str ref = json_is_object(schema) ? json_get(schema, S("$ref")) : (daruma_str){0};
        if (!ref.n)
            return schema;
        schema = schema_at(root, ref);
    }
    return (daruma_str){0};
}

static bool type_is(daruma_str raw, const char *type)
{
    static const char *const known[] = {"object", "array", "string", "integer", "number", "boolean", "null"};
    daruma_str name = json_is_string(raw) ? str_sub(raw, 1, raw.n - 2) : (daruma_str){0};
    /* Gemini writes types in capitals. */
    if (str_ieq(name, str_of(type)) || (str_ieq(name, S("number")) && !strcmp(type, "integer")))
        return true;
    for (size_t i = 0; i < COUNT(known); i++)
        if (str_ieq(name, str_of(known[i])))
            return false;
    return true; /* "any", "file", "str": not of JSON Schema, so it says nothing */
}

bool schema_takes(daruma_str schema, const char *type)
{
    daruma_str t = json_get(schema, S("type")), one;
    if (!t.n)
        return true;
    if (!strcmp(type, "null") && json_is_true(json_get(schema, S("nullable"))))
        return true;
    if (!json_is_array(t)) /* what names no type says nothing */
        return !json_is_string(t) || type_is(t, type);
    json_iter it = json_open(t);
    while (json_next(&it, NULL, &one))
        if (type_is(one, type))
            return true;
    return false;
}
