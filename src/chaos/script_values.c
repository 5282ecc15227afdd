#include "chaos/script_values.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

/* ---- errors and nodes --------------------------------------------------------------------------------- */

bool wrong(reader *r, const yaml_node_t *n, const char *fmt, ...)
{
    va_list ap;
    if (r->err->text[0])
        return false; /* the first one counts */
    r->err->line = n ? (int)n->start_mark.line + 1 : 0;
    r->err->column = n ? (int)n->start_mark.column + 1 : 0;
    va_start(ap, fmt);
    vsnprintf(r->err->text, sizeof r->err->text, fmt, ap);
    va_end(ap);
    return false;
}

daruma_str scalar_text(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE)
        return (daruma_str){0};
    return (daruma_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

yaml_node_t *node(reader *r, int id)
{
    return yaml_document_get_node(r->doc, id);
}

size_t pairs_of(const yaml_node_t *map)
{
    return (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);
}

void pair(reader *r, const yaml_node_t *map, size_t i, yaml_node_t **key, yaml_node_t **value)
{
    *key = node(r, map->data.mapping.pairs.start[i].key);
    *value = node(r, map->data.mapping.pairs.start[i].value);
}

/* How far a name is from what was written; one that only goes on differently is near. */
static size_t far_from(daruma_str word, daruma_str name, size_t max)
{
    return word.n >= 3 && str_starts(name, word) ? 1 : str_distance(word, name, max);
}

/* "unknown key `tims`; did you mean `times`?" */
bool unknown(reader *r, const yaml_node_t *at, const char *what, const char *const *names, size_t n)
{
    daruma_str word = scalar_text(at);
    size_t best = STR_NONE, least = word.n < 6 ? word.n / 2 + 1 : 4;
    for (size_t i = 0; i < n; i++) {
        size_t d = far_from(word, str_of(names[i]), 3);
        if (d < least) {
            least = d;
            best = i;
        }
    }
    if (best != STR_NONE)
        return wrong(r, at, "unknown %s `" STR_FMT "`; did you mean `%s`?", what, STR_ARG(str_sub(word, 0, 60)),
                     names[best]);
    daruma_buf list = buf_in(r->a);
    size_t told = 0;
    for (; told < n && list.n < 120; told++) {
        buf_putz(&list, told ? ", " : "");
        buf_putz(&list, names[told]);
    }
    buf_putz(&list, told < n ? ", ..." : "");
    return wrong(r, at, "unknown %s `" STR_FMT "`; known are " STR_FMT, what, STR_ARG(str_sub(word, 0, 60)),
                 STR_ARG(buf_str(&list)));
}

/* A mapping in which each key stands once. */
bool read_map(reader *r, const yaml_node_t *map, const char *wants)
{
    if (map->type != YAML_MAPPING_NODE)
        return wrong(r, map, "%s", wants);
    if (pairs_of(map) > CHAOS_NAMES_MAX)
        return wrong(r, map, "more than %d keys", CHAOS_NAMES_MAX);
    for (size_t i = 1; i < pairs_of(map); i++)
        for (size_t j = 0; j < i; j++) {
            yaml_node_t *a, *b, *value;
            pair(r, map, i, &a, &value);
            pair(r, map, j, &b, &value);
            if (str_eq(scalar_text(a), scalar_text(b)))
                return wrong(r, a, "`" STR_FMT "` stands here twice", STR_ARG(str_sub(scalar_text(a), 0, 60)));
        }
    return true;
}

/* ---- values --------------------------------------------------------------------------------------------- */

bool read_bool(daruma_str s, bool *ret)
{
    *ret = str_ieq(s, S("true")) || str_ieq(s, S("yes")) || str_ieq(s, S("on"));
    return *ret || str_ieq(s, S("false")) || str_ieq(s, S("no")) || str_ieq(s, S("off"));
}

/* One of some names; its number is kept. */
static bool read_choice(reader *r, const option *o, const yaml_node_t *v, void *to)
{
    size_t n = 0;
    while (o->choices[n] && !str_eq(scalar_text(v), str_of(o->choices[n])))
        n++;
    if (!o->choices[n])
        return unknown(r, v, o->name, o->choices, n);
    *(int *)to = (int)n;
    return true;
}

bool read_value(reader *r, const option *o, const yaml_node_t *v, void *into)
{
    char *to = (char *)into + o->at;
    daruma_str s = scalar_text(v);
    int64_t number;
    bool yes;
    if (o->type == OPT_OWN)
        return o->read(r, v, to);
    if (v->type != YAML_SCALAR_NODE)
        return wrong(r, v, "`%s` wants a plain value", o->name);
    switch (o->type) {
    case OPT_TEXT:
        *(daruma_str *)(void *)to = arena_copy(r->a, s);
        return true;
    case OPT_COUNT:
        return str_int(s, (int64_t *)(void *)to) ||
               wrong(r, v, "`%s` wants a number from 0 on, not `" STR_FMT "`", o->name, STR_ARG(str_sub(s, 0, 40)));
    case OPT_SHARE:
        if (!date_milli(s, &number) || number > 1000)
            return wrong(r, v, "`%s` wants a share from 0 to 1, not `" STR_FMT "`", o->name,
                         STR_ARG(str_sub(s, 0, 40)));
        *(int64_t *)(void *)to = number;
        return true;
    case OPT_TIME:
        number = str_eq(s, S("0")) ? 0 : date_duration(s, NULL); /* of a plain number nobody knows what it counts */
        if (number < 0)
            return wrong(r, v, "`%s` wants a time like 500ms or 40s, not `" STR_FMT "`", o->name,
                         STR_ARG(str_sub(s, 0, 40)));
        *(daruma_ms *)(void *)to = number;
        return true;
    case OPT_BOOL:
    case OPT_EITHER:
        if (!read_bool(s, &yes))
            return wrong(r, v, "`%s` wants true or false, not `" STR_FMT "`", o->name, STR_ARG(str_sub(s, 0, 40)));
        if (o->type == OPT_BOOL)
            *(bool *)(void *)to = yes;
        else
            *(int *)(void *)to = yes;
        return true;
    case OPT_CHOICE:
        return read_choice(r, o, v, to);
    case OPT_OWN:
        break;
    }
    return true;
}

const option *find_option(const option *rows, size_t n, daruma_str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_of(rows[i].name)))
            return &rows[i];
    return NULL;
}

/* A mapping of options into a struct. An empty value is an empty mapping. */
bool read_options(reader *r, const yaml_node_t *map, const option *rows, size_t n, const char *wants, void *into)
{
    yaml_node_t *key, *value;
    const char *names[48];
    if (map->type == YAML_SCALAR_NODE && (scalar_text(map).n == 0 || str_eq(scalar_text(map), S("~"))))
        return true;
    if (!read_map(r, map, wants))
        return false;
    for (size_t i = 0; i < n; i++)
        names[i] = rows[i].name;
    for (size_t i = 0; i < pairs_of(map); i++) {
        pair(r, map, i, &key, &value);
        const option *o = find_option(rows, n, scalar_text(key));
        if (!o)
            return unknown(r, key, "key", names, n);
        if (!read_value(r, o, value, into))
            return false;
    }
    return true;
}
