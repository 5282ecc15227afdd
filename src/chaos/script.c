#include "chaos/script_values.h"
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

static bool read_headers(reader *r, const yaml_node_t *v, void *into)
{
    fault *f = into;
    yaml_node_t *name, *value;
    if (!read_map(r, v, "`headers` wants { name: value }"))
        return false;
    f->headers = ARENA_NEW(r->a, daruma_header, pairs_of(v) + 1);
    for (size_t i = 0; f->headers && i < pairs_of(v); i++) {
        pair(r, v, i, &name, &value);
        if (!scalar_text(name).n || value->type != YAML_SCALAR_NODE)
            return wrong(r, name, "a header wants a name and a text");
        f->headers[f->nheaders++] =
            (daruma_header){arena_copy(r->a, scalar_text(name)), arena_copy(r->a, scalar_text(value))};
    }
    return true;
}

/* The kind of fault of that name; NULL after saying which there are. */
static const fault_kind *named_kind(reader *r, const yaml_node_t *v)
{
    const char *names[64];
    const fault_kind *k = fault_find(scalar_text(v));
    for (size_t i = 0; i < nfault_kinds; i++)
        names[i] = fault_kinds[i].name;
    if (!k)
        unknown(r, v, "kind", names, nfault_kinds);
    return k;
}

static bool add_kind(reader *r, const yaml_node_t *v, fault *f)
{
    const fault_kind *k = named_kind(r, v);
    if (!k)
        return false;
    if (f->nkinds == COUNT(f->kinds))
        return wrong(r, v, "at most %zu kinds in one list", COUNT(f->kinds));
    f->kinds[f->nkinds++] = k;
    return true;
}

static bool read_kinds(reader *r, const yaml_node_t *v, void *into)
{
    fault *f = into;
    if (v->type != YAML_SEQUENCE_NODE)
        return add_kind(r, v, f);
    for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++)
        if (!add_kind(r, node(r, *i), f))
            return false;
    return true;
}

static const char *const purposes[] = {"turn", "continue", "summary", NULL};
static const char *const parts[] = {"any", "text", "arguments", "thinking", NULL};

// clang-format off
static const option fault_options[] = {
    {"kind",             OPT_OWN,     0,                            "what happens: a name, or a list of which one is drawn", NULL, read_kinds},
    {"model",            OPT_TEXT,    AT(fault, model),             "only calls for this model; a * at the end stands for anything", NULL, NULL},
    {"key",              OPT_TEXT,    AT(fault, key),               "only calls with this key", NULL, NULL},
    {"account",          OPT_TEXT,    AT(fault, account),           "only calls with a key of this account", NULL, NULL},
    {"path",             OPT_TEXT,    AT(fault, path),              "only calls to this path", NULL, NULL},
    {"stream",           OPT_EITHER,  AT(fault, stream),            "true: only streams; false: only others", NULL, NULL},
    {"asks",             OPT_CHOICE,  AT(fault, asks),              "only requests for this: turn, continue (a text that broke off), summary", purposes, NULL},
    {"skip",             OPT_COUNT,   AT(fault, skip),              "leaves so many fitting calls alone first", NULL, NULL},
    {"times",            OPT_COUNT,   AT(fault, times),             "hits so many calls, then no more", NULL, NULL},
    {"rate",             OPT_SHARE,   AT(fault, rate),              "hits this share of the calls: 0.2", NULL, NULL},
    {"status",           OPT_COUNT,   AT(fault, status),            "the status to answer with", NULL, NULL},
    {"headers",          OPT_OWN,     0,                            "headers to set: { retry-after: \"1\" }", NULL, read_headers},
    {"message",          OPT_TEXT,    AT(fault, message),           "the text of the error, instead of the provider's", NULL, NULL},
    {"form",             OPT_TEXT,    AT(fault, form),              "which form of the kind; see --list", NULL, NULL},
    {"in_band",          OPT_BOOL,    AT(fault, in_band),           "true: the error comes inside a 200", NULL, NULL},
    {"after_events",     OPT_COUNT,   AT(fault, after_events),      "it happens behind so many events of the stream", NULL, NULL},
    {"after_bytes",      OPT_COUNT,   AT(fault, after_bytes),       "it happens behind so many bytes of the body", NULL, NULL},
    {"after_wire_bytes", OPT_COUNT,   AT(fault, after_wire_bytes),  "... of the answer, head and framing included", NULL, NULL},
    {"within",           OPT_CHOICE,  AT(fault, within),            "it happens within this part of a stream: text, arguments, thinking", parts, NULL},
    {"after_pieces",     OPT_COUNT,   AT(fault, after_pieces),      "... behind so many pieces of it; of the text unless said", NULL, NULL},
    {"for",              OPT_TIME,    AT(fault, hold),              "how long it lasts: 40s", NULL, NULL},
    {"every",            OPT_TIME,    AT(fault, every),             "time between two bytes or events: 20ms", NULL, NULL},
    {"delay",            OPT_TIME,    AT(fault, delay),             "time before the answer begins", NULL, NULL},
};
static const option key_options[] = {
    {"account", OPT_TEXT, AT(script_key, account), "who it belongs to", NULL, NULL},
    {"name",    OPT_TEXT, AT(script_key, name),    "what reports call it", NULL, NULL},
};
/* What can be expected; whether it may be said of each model or kind; what a bare number means. */
static const struct { const char *name; expect_what what; bool each; const char *bare; } expect_rows[] = {
    {"calls",                 EXPECT_CALLS,    true,  "=="},
    {"answered",              EXPECT_ANSWERED, true,  "=="},
    {"faults",                EXPECT_FAULTS,   true,  "=="},
    {"aborted",               EXPECT_ABORTED,  false, "=="},
    {"refused",               EXPECT_REFUSED,  true,  "=="},
    {"asks",                  EXPECT_ASKS,     true,  "=="},
    {"statuses",              EXPECT_STATUSES, true,  "=="},
    {"largest_tokens",        EXPECT_LARGEST,  false, "<="},
    {"max_calls_per_request", EXPECT_MOST,     false, "<="},
    {"circled",               EXPECT_CIRCLED,  true,  "=="},
    {"told",                  EXPECT_TOLD,     true,  "=="},
    {"listened",              EXPECT_LISTENED, true,  "=="},
};
// clang-format on

const char *script_fault_key(size_t i, const char **words)
{
    if (i >= COUNT(fault_options))
        return NULL;
    if (words)
        *words = fault_options[i].words;
    return fault_options[i].name;
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
    if (read_bool(scalar_text(value), &yes) || scalar_text(value).n == 0)
        return yes || scalar_text(value).n == 0 || wrong(r, value, "`%s: false` says nothing; leave it out", k->name);
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
        const option *o = find_option(fault_options, COUNT(fault_options), scalar_text(key));
        const fault_kind *k = o ? NULL : fault_find(scalar_text(key));
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
        *k = (script_key){.value = arena_copy(r->a, scalar_text(key)), .name = buf_str(&name)};
        if (!read_options(r, value, key_options, COUNT(key_options), "a key wants { account: a }", k))
            return false;
    }
    return true;
}

static bool read_faults(reader *r, const yaml_node_t *v, script *s)
{
    s->says_faults = true;
    if (v->type == YAML_SCALAR_NODE && scalar_text(v).n == 0)
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
    daruma_str text = str_trim(scalar_text(v)), rest = text;
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

/* What validate*.c calls the reasons for which it refuses. */
static const char *const refusals[] = {"orphan_tool_call",
                                       "orphan_tool_result",
                                       "invalid_message",
                                       "invalid_tool_schema",
                                       "invalid_parameter",
                                       "not_stored",
                                       "auth",
                                       "model_not_found",
                                       "invalid_request",
                                       "context_length",
                                       "output_limit",
                                       "request_too_large"};

static bool one_of(daruma_str word, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(word, str_of(names[i])))
            return true;
    return false;
}

/* A count of what cannot happen is always 0, and an expectation of at most so many would always hold. Models are not
 * looked up: requests may name any. */
static bool known_subject(reader *r, const yaml_node_t *at, expect_what what)
{
    daruma_str word = scalar_text(at);
    int64_t status;
    switch (what) {
    case EXPECT_FAULTS:
        return named_kind(r, at) != NULL;
    case EXPECT_REFUSED:
        return one_of(word, refusals, COUNT(refusals)) || unknown(r, at, "refusal", refusals, COUNT(refusals));
    case EXPECT_ASKS:
        return one_of(word, purposes, COUNT(purposes) - 1) || unknown(r, at, "purpose", purposes, COUNT(purposes) - 1);
    case EXPECT_STATUSES:
        return (str_int(word, &status) && status >= 100 && status <= 599) ||
               wrong(r, at, "`" STR_FMT "` is no HTTP status", STR_ARG(str_sub(word, 0, 40)));
    default:
        return true;
    }
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
        while (row < COUNT(expect_rows) && !str_eq(scalar_text(key), str_of(names[row])))
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
            if (!known_subject(r, subject, expect_rows[row].what) ||
                !read_expect(r, each, row, scalar_text(subject), s))
                return false;
        }
    }
    return true;
}

static bool read_root(reader *r, const yaml_node_t *root, script *s)
{
    static const char *const names[] = {"listen", "seed", "keep", "models", "keys", "faults", "expect"};
    static const option plain[] = {{"listen", OPT_TEXT, AT(script, listen), NULL, NULL, NULL},
                                   {"seed", OPT_COUNT, AT(script, seed), NULL, NULL, NULL},
                                   {"keep", OPT_COUNT, AT(script, keep), NULL, NULL, NULL}};
    yaml_node_t *key, *value;
    if (!read_map(r, root, "a script wants keys like `faults:`"))
        return false;
    for (size_t i = 0; i < pairs_of(root); i++) {
        size_t at = 0;
        bool ok = true;
        pair(r, root, i, &key, &value);
        while (at < COUNT(names) && !str_eq(scalar_text(key), str_of(names[at])))
            at++;
        switch (at) {
        case 0:
        case 1:
        case 2:
            ok = read_value(r, &plain[at], value, s);
            s->says_seed |= at == 1;
            s->says_keep |= at == 2;
            break;
        case 3:
            ok = read_models(r, value, s);
            break;
        case 4:
            ok = read_keys(r, value, s);
            break;
        case 5:
            ok = read_faults(r, value, s);
            break;
        case 6:
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
