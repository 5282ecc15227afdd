#include "chaos/script.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

typedef struct reader {
    yaml_document_t *doc;
    daruma_arena *a;
    script_error *err;
} reader;

/* How the value of an option is read. */
typedef enum option_type {
    OPT_TEXT,    /* daruma_str */
    OPT_COUNT,   /* int64_t, not negative */
    OPT_SHARE,   /* int64_t: 0.2 is 200 thousandths */
    OPT_TIME,    /* daruma_ms: 500ms, 2s */
    OPT_BOOL,    /* bool */
    OPT_EITHER,  /* int: true is 1, false 0 */
    OPT_HEADERS, /* the fault's headers */
    OPT_KINDS,   /* the fault's kinds */
} option_type;

typedef struct option {
    const char *name;
    option_type type;
    size_t at; /* offset of the field */
    const char *words;
} option;

// clang-format off
#define AT(type, field) offsetof(type, field)
static const option fault_options[] = {
    {"kind",             OPT_KINDS,   0,                            "what happens: a name, or a list of which one is drawn"},
    {"model",            OPT_TEXT,    AT(fault, model),             "only calls for this model; a * at the end stands for anything"},
    {"key",              OPT_TEXT,    AT(fault, key),               "only calls with this key"},
    {"account",          OPT_TEXT,    AT(fault, account),           "only calls with a key of this account"},
    {"path",             OPT_TEXT,    AT(fault, path),              "only calls to this path"},
    {"stream",           OPT_EITHER,  AT(fault, stream),            "true: only streams; false: only others"},
    {"skip",             OPT_COUNT,   AT(fault, skip),              "leaves so many fitting calls alone first"},
    {"times",            OPT_COUNT,   AT(fault, times),             "hits so many calls, then no more"},
    {"rate",             OPT_SHARE,   AT(fault, rate),              "hits this share of the calls: 0.2"},
    {"status",           OPT_COUNT,   AT(fault, status),            "the status to answer with"},
    {"headers",          OPT_HEADERS, 0,                            "headers to set: { retry-after: \"1\" }"},
    {"message",          OPT_TEXT,    AT(fault, message),           "the text of the error, instead of the provider's"},
    {"form",             OPT_TEXT,    AT(fault, form),              "which form of the kind; see --list"},
    {"in_band",          OPT_BOOL,    AT(fault, in_band),           "true: the error comes inside a 200"},
    {"after_events",     OPT_COUNT,   AT(fault, after_events),      "it happens behind so many events of the stream"},
    {"after_bytes",      OPT_COUNT,   AT(fault, after_bytes),       "it happens behind so many bytes of the body"},
    {"after_wire_bytes", OPT_COUNT,   AT(fault, after_wire_bytes),  "... of the answer, head and framing included"},
    {"for",              OPT_TIME,    AT(fault, hold),              "how long it lasts: 40s"},
    {"every",            OPT_TIME,    AT(fault, every),             "time between two bytes or events: 20ms"},
    {"delay",            OPT_TIME,    AT(fault, delay),             "time before the answer begins"},
};
static const option model_options[] = {
    {"window",     OPT_COUNT, AT(script_model, limits.window),     "tokens, input and output together"},
    {"max_output", OPT_COUNT, AT(script_model, limits.max_output), "tokens"},
    {"alternate",  OPT_BOOL,  AT(script_model, limits.alternate),  "user and assistant must take turns"},
};
static const option key_options[] = {
    {"account", OPT_TEXT, AT(script_key, account), "who it belongs to"},
    {"name",    OPT_TEXT, AT(script_key, name),    "what reports call it"},
};
/* What can be expected; whether it may be said of each model or kind; what a bare number means. */
static const struct { const char *name; expect_what what; bool each; const char *bare; } expect_rows[] = {
    {"calls",                 EXPECT_CALLS,    true,  "=="},
    {"answered",              EXPECT_ANSWERED, true,  "=="},
    {"faults",                EXPECT_FAULTS,   true,  "=="},
    {"aborted",               EXPECT_ABORTED,  false, "=="},
    {"max_calls_per_request", EXPECT_MOST,     false, "<="},
};
// clang-format on
#define COUNT(table) (sizeof table / sizeof *table)

const char *script_fault_key(size_t i, const char **words)
{
    if (i >= COUNT(fault_options))
        return NULL;
    if (words)
        *words = fault_options[i].words;
    return fault_options[i].name;
}

/* ---- errors and nodes --------------------------------------------------------------------------------- */

static bool wrong(reader *r, const yaml_node_t *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool wrong(reader *r, const yaml_node_t *n, const char *fmt, ...)
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

static daruma_str text_of(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE)
        return (daruma_str){0};
    return (daruma_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

static yaml_node_t *node(reader *r, int id)
{
    return yaml_document_get_node(r->doc, id);
}

static size_t pairs_of(const yaml_node_t *map)
{
    return (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);
}

static void pair(reader *r, const yaml_node_t *map, size_t i, yaml_node_t **key, yaml_node_t **value)
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
static bool unknown(reader *r, const yaml_node_t *at, const char *what, const char *const *names, size_t n)
{
    daruma_str word = text_of(at);
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
    for (size_t i = 0; i < n && list.n < 120; i++) {
        buf_putz(&list, i ? ", " : "");
        buf_putz(&list, names[i]);
    }
    buf_putz(&list, list.n >= 120 ? ", ..." : "");
    return wrong(r, at, "unknown %s `" STR_FMT "`; known are " STR_FMT, what, STR_ARG(str_sub(word, 0, 60)),
                 STR_ARG(buf_str(&list)));
}

/* A mapping in which each key stands once. */
static bool read_map(reader *r, const yaml_node_t *map, const char *wants)
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
            if (str_eq(text_of(a), text_of(b)))
                return wrong(r, a, "`" STR_FMT "` stands here twice", STR_ARG(str_sub(text_of(a), 0, 60)));
        }
    return true;
}

/* ---- values --------------------------------------------------------------------------------------------- */

static bool read_bool(daruma_str s, bool *ret)
{
    *ret = str_ieq(s, S("true")) || str_ieq(s, S("yes")) || str_ieq(s, S("on"));
    return *ret || str_ieq(s, S("false")) || str_ieq(s, S("no")) || str_ieq(s, S("off"));
}

static bool read_headers(reader *r, const yaml_node_t *v, fault *f)
{
    yaml_node_t *name, *value;
    if (!read_map(r, v, "`headers` wants { name: value }"))
        return false;
    f->headers = ARENA_NEW(r->a, daruma_header, pairs_of(v) + 1);
    for (size_t i = 0; f->headers && i < pairs_of(v); i++) {
        pair(r, v, i, &name, &value);
        if (!text_of(name).n || value->type != YAML_SCALAR_NODE)
            return wrong(r, name, "a header wants a name and a text");
        f->headers[f->nheaders++] = (daruma_header){arena_copy(r->a, text_of(name)), arena_copy(r->a, text_of(value))};
    }
    return true;
}

static bool add_kind(reader *r, const yaml_node_t *v, fault *f)
{
    const char *names[64];
    const fault_kind *k = fault_find(text_of(v));
    for (size_t i = 0; i < nfault_kinds; i++)
        names[i] = fault_kinds[i].name;
    if (!k)
        return unknown(r, v, "kind", names, nfault_kinds);
    if (f->nkinds == COUNT(f->kinds))
        return wrong(r, v, "at most %zu kinds in one list", COUNT(f->kinds));
    f->kinds[f->nkinds++] = k;
    return true;
}

static bool read_kinds(reader *r, const yaml_node_t *v, fault *f)
{
    if (v->type != YAML_SEQUENCE_NODE)
        return add_kind(r, v, f);
    for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++)
        if (!add_kind(r, node(r, *i), f))
            return false;
    return true;
}

static bool read_value(reader *r, const option *o, const yaml_node_t *v, void *into)
{
    char *to = (char *)into + o->at;
    daruma_str s = text_of(v);
    int64_t number;
    bool yes;
    if (o->type == OPT_HEADERS)
        return read_headers(r, v, into);
    if (o->type == OPT_KINDS)
        return read_kinds(r, v, into);
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
    case OPT_HEADERS:
    case OPT_KINDS:
        break;
    }
    return true;
}

static const option *find_option(const option *rows, size_t n, daruma_str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(name, str_of(rows[i].name)))
            return &rows[i];
    return NULL;
}

/* A mapping of options into a struct. An empty value is an empty mapping. */
static bool read_options(reader *r, const yaml_node_t *map, const option *rows, size_t n, const char *wants, void *into)
{
    yaml_node_t *key, *value;
    const char *names[32];
    if (map->type == YAML_SCALAR_NODE && (text_of(map).n == 0 || str_eq(text_of(map), S("~"))))
        return true;
    if (!read_map(r, map, wants))
        return false;
    for (size_t i = 0; i < n; i++)
        names[i] = rows[i].name;
    for (size_t i = 0; i < pairs_of(map); i++) {
        pair(r, map, i, &key, &value);
        const option *o = find_option(rows, n, text_of(key));
        if (!o)
            return unknown(r, key, "key", names, n);
        if (!read_value(r, o, value, into))
            return false;
    }
    return true;
}

/* ---- faults ---------------------------------------------------------------------------------------------------- */

/* `cut: { after_bytes: 300 }`, `html: 502`, `truncated_json: true`: a kind as a key, its details as the value. */
static bool read_kind_key(reader *r, const yaml_node_t *key, const yaml_node_t *value, const fault_kind *k, fault *f)
{
    bool yes;
    if (!add_kind(r, key, f))
        return false;
    if (value->type != YAML_SCALAR_NODE)
        return read_options(r, value, fault_options, COUNT(fault_options), "a kind wants { key: value }", f);
    if (read_bool(text_of(value), &yes) || text_of(value).n == 0)
        return yes || text_of(value).n == 0 || wrong(r, value, "`%s: false` says nothing; leave it out", k->name);
    return read_value(r, find_option(fault_options, COUNT(fault_options), str_of(k->main)), value, f);
}

static bool check_form(reader *r, const yaml_node_t *at, const fault *f)
{
    for (size_t i = 0; f->form.n && i < f->nkinds; i++) {
        size_t n = 0;
        while (n < FAULT_FORMS && f->kinds[i]->forms[n] && !str_eq(f->form, str_of(f->kinds[i]->forms[n])))
            n++;
        if (n < FAULT_FORMS && f->kinds[i]->forms[n])
            continue;
        daruma_buf list = buf_in(r->a);
        for (n = 0; n < FAULT_FORMS && f->kinds[i]->forms[n]; n++) {
            buf_putz(&list, n ? ", " : "");
            buf_putz(&list, f->kinds[i]->forms[n]);
        }
        return wrong(r, at, "`%s` has no form `" STR_FMT "`; it has " STR_FMT, f->kinds[i]->name, STR_ARG(f->form),
                     STR_ARG(list.n ? buf_str(&list) : S("none")));
    }
    return true;
}

static bool read_fault(reader *r, const yaml_node_t *map, fault *f)
{
    yaml_node_t *key, *value;
    const char *names[128];
    size_t n = 0;
    *f = fault_none;
    f->line = (int)map->start_mark.line + 1;
    if (!read_map(r, map, "a fault wants { kind: ..., ... }"))
        return false;
    for (size_t i = 0; i < COUNT(fault_options); i++)
        names[n++] = fault_options[i].name;
    for (size_t i = 0; i < nfault_kinds; i++)
        names[n++] = fault_kinds[i].name;
    for (size_t i = 0; i < pairs_of(map); i++) {
        pair(r, map, i, &key, &value);
        const option *o = find_option(fault_options, COUNT(fault_options), text_of(key));
        const fault_kind *k = o ? NULL : fault_find(text_of(key));
        if (!o && !k)
            return unknown(r, key, "key", names, n);
        if (o ? !read_value(r, o, value, f) : !read_kind_key(r, key, value, k, f))
            return false;
    }
    if (f->nkinds == 0 && (f->status >= 0 || f->delay >= 0))
        f->kinds[f->nkinds++] = fault_find(f->status >= 0 ? S("status") : S("delay"));
    if (f->nkinds == 0)
        return wrong(r, map, "a fault wants a `kind`; `daruma chaos --list` prints them");
    if (f->status >= 0 && (f->status < 200 || f->status > 599))
        return wrong(r, map, "`status` wants 200 to 599");
    for (size_t i = 0; i < f->nkinds; i++)
        if (f->kinds[i]->effect == FAULT_REFUSE &&
            (f->nkinds > 1 || f->model.n || f->key.n || f->account.n || f->path.n))
            return wrong(r, map, "`refuse` stands alone: a connection has no model, key or path yet");
    return check_form(r, map, f);
}

/* ---- the parts of a script ------------------------------------------------------------------------------------------
 */

static bool read_models(reader *r, const yaml_node_t *v, script *s)
{
    yaml_node_t *key, *value;
    s->says_models = true;
    if (!read_map(r, v, "`models` wants { name: { window: 8000 } }"))
        return false;
    s->models = ARENA_NEW(r->a, script_model, pairs_of(v) + 1);
    for (size_t i = 0; s->models && i < pairs_of(v); i++) {
        pair(r, v, i, &key, &value);
        script_model *m = &s->models[s->nmodels++];
        *m = (script_model){.name = arena_copy(r->a, text_of(key)), .limits = {.window = -1, .max_output = -1}};
        if (!read_options(r, value, model_options, COUNT(model_options), "a model wants { window: 8000 }", m))
            return false;
    }
    return true;
}

static bool read_keys(reader *r, const yaml_node_t *v, script *s)
{
    yaml_node_t *key, *value;
    s->says_keys = true;
    if (!read_map(r, v, "`keys` wants { key: { account: a } }"))
        return false;
    s->keys = ARENA_NEW(r->a, script_key, pairs_of(v) + 1);
    for (size_t i = 0; s->keys && i < pairs_of(v); i++) {
        pair(r, v, i, &key, &value);
        daruma_buf name = buf_in(r->a);
        buf_printf(&name, "key%zu", i + 1);
        script_key *k = &s->keys[s->nkeys++];
        *k = (script_key){.value = arena_copy(r->a, text_of(key)), .name = buf_str(&name)};
        if (!read_options(r, value, key_options, COUNT(key_options), "a key wants { account: a }", k))
            return false;
    }
    return true;
}

static bool read_faults(reader *r, const yaml_node_t *v, script *s)
{
    s->says_faults = true;
    if (v->type == YAML_SCALAR_NODE && text_of(v).n == 0)
        return true;
    if (v->type != YAML_SEQUENCE_NODE)
        return wrong(r, v, "`faults` wants a list");
    yaml_node_item_t *first = v->data.sequence.items.start, *end = v->data.sequence.items.top;
    s->faults = ARENA_NEW(r->a, fault, (size_t)(end - first) + 1);
    for (yaml_node_item_t *i = first; s->faults && i < end; i++)
        if (!read_fault(r, node(r, *i), &s->faults[s->nfaults++]))
            return false;
    return true;
}

/* "<= 3", "== 2", "3" */
static bool read_expect(reader *r, const yaml_node_t *v, size_t row, daruma_str subject, script *s)
{
    static const char *const ops[] = {"<=", ">=", "==", "!=", "<", ">"};
    daruma_str text = str_trim(text_of(v)), rest = text;
    const char *op = expect_rows[row].bare;
    daruma_buf words = buf_in(r->a);
    for (size_t i = 0; i < COUNT(ops); i++)
        if (str_starts(text, str_of(ops[i]))) {
            op = ops[i];
            rest = str_trim(str_from(text, str_of(op).n));
            break;
        }
    expect *e = &s->expects[s->nexpects++];
    *e = (expect){.what = expect_rows[row].what, .subject = arena_copy(r->a, subject)};
    if (!str_int(rest, &e->value))
        return wrong(r, v, "`%s` wants something like \"<= 3\", not `" STR_FMT "`", expect_rows[row].name,
                     STR_ARG(str_sub(text, 0, 40)));
    memcpy(e->op, op, str_of(op).n + 1);
    buf_putz(&words, expect_rows[row].name);
    if (subject.n) {
        BUF_LIT(&words, " of ");
        buf_put(&words, e->subject);
    }
    buf_printf(&words, " %s %lld", op, (long long)e->value);
    e->text = buf_str(&words);
    return true;
}

static bool read_expects(reader *r, const yaml_node_t *v, script *s)
{
    yaml_node_t *key, *value, *subject, *each;
    const char *names[COUNT(expect_rows)];
    size_t room = 1;
    s->says_expect = true;
    if (!read_map(r, v, "`expect` wants { calls: \"<= 3\" }"))
        return false;
    for (size_t i = 0; i < COUNT(expect_rows); i++)
        names[i] = expect_rows[i].name;
    for (size_t i = 0; i < pairs_of(v); i++) {
        pair(r, v, i, &key, &value);
        room += value->type == YAML_MAPPING_NODE ? pairs_of(value) : 1;
    }
    s->expects = ARENA_NEW(r->a, expect, room);
    for (size_t i = 0; s->expects && i < pairs_of(v); i++) {
        size_t row = 0;
        pair(r, v, i, &key, &value);
        while (row < COUNT(expect_rows) && !str_eq(text_of(key), str_of(names[row])))
            row++;
        if (row == COUNT(expect_rows))
            return unknown(r, key, "expectation", names, COUNT(names));
        if (value->type != YAML_MAPPING_NODE) {
            if (!read_expect(r, value, row, (daruma_str){0}, s))
                return false;
            continue;
        }
        if (!expect_rows[row].each)
            return wrong(r, value, "`%s` is not counted one by one", names[row]);
        for (size_t j = 0; j < pairs_of(value); j++) {
            pair(r, value, j, &subject, &each);
            if (!read_expect(r, each, row, text_of(subject), s))
                return false;
        }
    }
    return true;
}

static bool read_root(reader *r, const yaml_node_t *root, script *s)
{
    static const char *const names[] = {"listen", "seed", "models", "keys", "faults", "expect"};
    static const option plain[] = {{"listen", OPT_TEXT, AT(script, listen), NULL},
                                   {"seed", OPT_COUNT, AT(script, seed), NULL}};
    yaml_node_t *key, *value;
    if (!read_map(r, root, "a script wants keys like `faults:`"))
        return false;
    for (size_t i = 0; i < pairs_of(root); i++) {
        size_t at = 0;
        bool ok = true;
        pair(r, root, i, &key, &value);
        while (at < COUNT(names) && !str_eq(text_of(key), str_of(names[at])))
            at++;
        switch (at) {
        case 0:
        case 1:
            ok = read_value(r, &plain[at], value, s);
            s->says_seed |= at == 1;
            break;
        case 2:
            ok = read_models(r, value, s);
            break;
        case 3:
            ok = read_keys(r, value, s);
            break;
        case 4:
            ok = read_faults(r, value, s);
            break;
        case 5:
            ok = read_expects(r, value, s);
            break;
        default:
            ok = unknown(r, key, "key", names, COUNT(names));
        }
        if (!ok)
            return false;
    }
    return true;
}

static bool read_document(reader *r, daruma_str yaml, script *s)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    if (!yaml_parser_initialize(&parser))
        return wrong(r, NULL, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml.p, yaml.n);
    bool ok = yaml_parser_load(&parser, &doc);
    if (!ok) {
        wrong(r, NULL, "not YAML: %s", parser.problem ? parser.problem : "it cannot be read");
        r->err->line = (int)parser.problem_mark.line + 1;
        r->err->column = (int)parser.problem_mark.column + 1;
    } else {
        r->doc = &doc;
        yaml_node_t *root = yaml_document_get_root_node(&doc);
        ok = !root || read_root(r, root, s);
        yaml_document_delete(&doc);
    }
    yaml_parser_delete(&parser);
    return ok;
}

script *script_read(daruma_str yaml, script_error *err)
{
    script *s = calloc(1, sizeof *s);
    *err = (script_error){0};
    if (!s || !sys_arena_init(&s->memory, 4096, CHAOS_SCRIPT_BYTES_MAX)) {
        free(s);
        snprintf(err->text, sizeof err->text, "out of memory");
        return NULL;
    }
    s->users = 1;
    s->seed = 1;
    reader r = {.a = &s->memory, .err = err};
    bool ok = read_document(&r, yaml, s);
    if (ok && s->memory.full)
        ok = wrong(&r, NULL, "the script is larger than %u bytes", CHAOS_SCRIPT_BYTES_MAX);
    if (!ok) {
        script_drop(s);
        return NULL;
    }
    return s;
}
