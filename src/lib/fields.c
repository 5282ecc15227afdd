#include "lib/fields.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include <stdio.h>

bool fields_wrong(fields_at *f, const char *name, const char *what)
{
    size_t n = strlen(f->path);
    if (!f->why->n) /* "targets[1].": the object itself is meant where no member is named */
        buf_printf(f->why, "%.*s%s: %s", (int)(*name || !n ? n : n - 1), f->path, name, what);
    return false;
}

bool fields_unknown(fields_at *f, const char *name, const char *what, const str_near *near, const char *instead)
{
    char text[256];
    if (near->best.n)
        snprintf(text, sizeof text, "there is no such %s; did you mean \"" STR_FMT "\"?", what, STR_ARG(near->best));
    else
        snprintf(text, sizeof text, "%s", instead);
    return fields_wrong(f, name, text);
}

/* The word at `i`; empty behind the last. */
static daruma_str word_at(const char *words, int i)
{
    daruma_str rest = str_of(words), word = str_cut(&rest, ' ');
    while (i-- > 0)
        word = str_cut(&rest, ' ');
    return word;
}

int fields_word(fields_at *f, const char *name, const char *words, daruma_str value)
{
    daruma_str said = json_text(value, f->a), word;
    str_near near = str_near_to(said);
    for (int i = 0; (word = word_at(words, i)).n; i++) {
        if (json_is_string(value) && str_eq(word, said))
            return i;
        str_near_try(&near, word);
    }
    char instead[256];
    snprintf(instead, sizeof instead, "one of these words is expected: %s", words);
    fields_unknown(f, name, "word", &near, instead);
    return -1;
}

static bool read_number(fields_at *f, const field *row, daruma_str value, int64_t *ret)
{
    char what[96];
    *ret = json_is_number(value) ? json_int(value, INT64_MIN) : INT64_MIN;
    if (str_findch(value, '.') == STR_NONE && *ret >= row->min && *ret <= row->max)
        return true;
    snprintf(what, sizeof what, "a whole number from %lld to %lld is expected", (long long)row->min,
             (long long)row->max);
    return fields_wrong(f, row->name, what);
}

/* A number with at most three digits behind its point, in thousandths. */
static bool read_milli(fields_at *f, const field *row, daruma_str value, uint32_t *ret)
{
    char what[128];
    daruma_str part = value, whole = str_cut(&part, '.');
    int64_t n = -1, thousandths = 0;
    bool fine = json_is_number(value) && str_int(whole, &n) && part.n <= 3 && (!part.n || str_int(part, &thousandths));
    for (size_t i = part.n; i < 3; i++)
        thousandths *= 10;
    n = fine ? add_sat(mul_sat(n, 1000), thousandths) : -1;
    if (n >= row->min && n <= row->max) {
        *ret = (uint32_t)n;
        return true;
    }
    snprintf(what, sizeof what, "a number from %g to %g with at most three digits behind its point is expected",
             (double)row->min / 1000, (double)row->max / 1000);
    return fields_wrong(f, row->name, what);
}

static bool read_one(fields_at *f, const field *row, daruma_str value, void *base)
{
    void *at = (char *)base + row->at;
    int64_t n;
    switch (row->kind) {
    case FIELD_BOOL:
        if (!json_is_true(value) && !str_eq(value, S("false")))
            return fields_wrong(f, row->name, "true or false is expected");
        *(bool *)at = json_is_true(value);
        return true;
    case FIELD_INT:
        return read_number(f, row, value, at);
    case FIELD_COUNT:
        if (!read_number(f, row, value, &n))
            return false;
        *(uint32_t *)at = (uint32_t)n;
        return true;
    case FIELD_MILLI:
        return read_milli(f, row, value, at);
    case FIELD_TEXT:
        if (!json_is_string(value))
            return fields_wrong(f, row->name, "a string is expected");
        *(daruma_str *)at = arena_copy(f->a, json_text(value, f->a));
        return true;
    case FIELD_WORD:
        *(int *)at = fields_word(f, row->name, row->words, value);
        return *(int *)at >= 0;
    case FIELD_OWN:
        return row->read(f, value, base);
    }
    return false;
}

static bool unknown(fields_at *f, const field *table, size_t n, daruma_str key)
{
    char name[64];
    str_near near = str_near_to(key);
    for (size_t i = 0; i < n; i++)
        str_near_try(&near, str_of(table[i].name));
    size_t shown = 0; /* whole characters */
    while (shown < key.n && shown + 4 < sizeof name)
        shown += str_utf8(str_from(key, shown)) ? str_utf8(str_from(key, shown)) : 1;
    snprintf(name, sizeof name, "%.*s", (int)shown, key.p);
    return fields_unknown(f, name, "member", &near, "there is no such member");
}

bool fields_read(fields_at *f, const field *table, size_t n, daruma_str object, void *base)
{
    json_iter it = json_open(object);
    daruma_str key, value;
    uint64_t seen = 0;
    if (!json_is_object(object))
        return fields_wrong(f, f->path[0] ? "" : f->whole, "a JSON object is expected");
    check(n <= 64);
    while (json_next(&it, &key, &value)) {
        const field *row = table;
        while (row < table + n && !json_raw_eq(key, str_of(row->name)))
            row++;
        if (row == table + n)
            return unknown(f, table, n, key);
        uint64_t bit = UINT64_C(1) << (row - table);
        if (seen & bit)
            return fields_wrong(f, row->name, "it stands twice");
        seen |= bit;
        if (!read_one(f, row, value, base))
            return false;
    }
    return true;
}

bool fields_read_list(fields_at *f, const char *name, const field *table, size_t n, daruma_str array, const void *usual,
                      size_t size, size_t most, void **ret, size_t *ret_n)
{
    size_t count = json_count(array), i = 0;
    json_iter it = json_open(array);
    daruma_str value;
    char what[96], outer[sizeof f->path];
    if (!json_is_array(array) || count > most) {
        snprintf(what, sizeof what, "a list of at most %zu objects is expected", most);
        return fields_wrong(f, name, what);
    }
    char *made = arena_take(f->a, size * (count ? count : 1), _Alignof(max_align_t));
    if (!made)
        return fields_wrong(f, name, "there is no memory");
    memcpy(outer, f->path, sizeof outer);
    for (; json_next(&it, NULL, &value); i++) {
        snprintf(f->path, sizeof f->path, "%.40s%.40s[%zu].", outer, name, i);
        memcpy(made + i * size, usual, size);
        if (!fields_read(f, table, n, value, made + i * size))
            return false;
    }
    memcpy(f->path, outer, sizeof outer);
    *ret = made;
    *ret_n = count;
    return true;
}

static void print_milli(uint32_t milli, daruma_buf *out)
{
    buf_printf(out, "%u", milli / 1000);
    if (milli % 1000)
        buf_printf(out, ".%03u", milli % 1000);
}

static void print_one(const field *row, const void *base, daruma_buf *out)
{
    const void *at = (const char *)base + row->at;
    switch (row->kind) {
    case FIELD_BOOL:
        buf_putz(out, *(const bool *)at ? "true" : "false");
        break;
    case FIELD_INT:
        buf_int(out, *(const int64_t *)at);
        break;
    case FIELD_COUNT:
        buf_int(out, *(const uint32_t *)at);
        break;
    case FIELD_MILLI:
        print_milli(*(const uint32_t *)at, out);
        break;
    case FIELD_TEXT:
        buf_json(out, *(const daruma_str *)at);
        break;
    case FIELD_WORD:
        buf_json(out, word_at(row->words, *(const int *)at));
        break;
    case FIELD_OWN:
        row->print(base, out);
        break;
    }
}

void fields_print(const field *table, size_t n, const void *base, daruma_buf *out)
{
    char between = '{';
    for (size_t i = 0; i < n; i++) {
        if (table[i].kind == FIELD_OWN && !table[i].print)
            continue;
        buf_putc(out, between);
        BUF_SAY(out, buf_quoted(str_of(table[i].name)), ":");
        print_one(&table[i], base, out);
        between = ',';
    }
    buf_putz(out, between == '{' ? "{}" : "}");
}
