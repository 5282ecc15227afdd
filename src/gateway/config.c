/* The reader of the configuration: walks the table of options (config_table.c) down the YAML document. It visits what
 * the table names and nothing else, at most as often as the lists' limits allow, so aliases cannot make it run away. */
#include "gateway/config.h"
#include "gateway/config_reader.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"

static bool read_option(config_reader *r, const option *o, yaml_node_t *node, void *base);

/* ---- keys of a mapping --------------------------------------------------------------- */

static const option *member_row(const option *parent, daruma_str name)
{
    for (size_t i = 0; name.n && i < noptions; i++)
        if (str_eq(option_name_in(parent, &options[i]), name))
            return &options[i];
    return NULL;
}

static const option *first_member(const option *parent)
{
    for (size_t i = 0; i < noptions; i++)
        if (option_name_in(parent, &options[i]).n)
            return &options[i];
    return NULL;
}

/* A wrong key may be a key in the other sense: what looks like one is not repeated. */
static daruma_str harmless(daruma_str key)
{
    bool plain = key.n > 0 && key.n <= 24;
    for (size_t i = 0; plain && i < key.n; i++)
        plain = ch_alpha(key.p[i]) || key.p[i] == '_' || key.p[i] == '-' || key.p[i] == '.' || key.p[i] == '<';
    return plain ? key : S("[redacted]");
}

static bool fail_unknown(config_reader *r, const option *parent, daruma_str key)
{
    nearest here = nearest_to(key);
    char known[300];
    daruma_buf list = buf_over(known, sizeof known);
    const option *elsewhere = NULL;
    for (size_t i = 0; i < noptions; i++) {
        daruma_str name = option_name_in(parent, &options[i]);
        if (name.n) {
            nearest_try(&here, name);
            if (list.n)
                BUF_LIT(&list, ", ");
            buf_put(&list, name);
        }
        daruma_str path = str_of(options[i].path);
        if (!elsewhere && path.n > key.n && str_ends(path, key) && path.p[path.n - key.n - 1] == '.')
            elsewhere = &options[i];
    }
    daruma_str shown = harmless(key);
    if (here.best.n)
        return config_fail(r, "unknown key `" STR_FMT "`; did you mean `" STR_FMT "`?", STR_ARG(shown),
                           STR_ARG(here.best));
    if (elsewhere && key.n)
        return config_fail(r, "unknown key `" STR_FMT "` here; its place is `%s`", STR_ARG(shown), elsewhere->path);
    if (str_eq(key, S("<<")))
        return config_fail(r, "merging with `<<` is not done; write the keys out");
    return config_fail(r, "unknown key `" STR_FMT "`; known here: " STR_FMT, STR_ARG(shown), STR_ARG(buf_str(&list)));
}

/* A key is one text, and stands once. */
static bool check_key(config_reader *r, yaml_node_t *map, yaml_node_pair_t *pair)
{
    yaml_node_t *node = config_node(r, pair->key);
    r->node = node;
    if (node->type != YAML_SCALAR_NODE)
        return config_fail(r, "expected the name of an option, found %s", config_kind_words(node));
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
        yaml_node_t *before = config_node(r, p->key);
        if (str_eq(config_scalar(before), config_scalar(node)))
            return config_fail(r, "the key `" STR_FMT "` stands here twice, first in line %d; remove one",
                               STR_ARG(harmless(config_scalar(node))), (int)before->start_mark.line + 1);
    }
    return true;
}

static bool read_default(config_reader *r, const option *o, void *base)
{
    switch (o->type) {
    case OPTION_GROUP:
        return read_option(r, o, NULL, base);
    case OPTION_LIST:
    case OPTION_NAMED:
        return !o->list->absent || o->list->absent(r, base);
    default:
        break;
    }
    daruma_str names = str_of(o->env ? o->env : "");
    while (names.n && r->env) {
        daruma_str name = str_cut(&names, ' ');
        bool found = false;
        r->raw = r->env(name, &found, r->user);
        if (!found || !r->raw.n)
            continue;
        config_path_note(r, name);
        return config_value(r, o, arena_copy(r->a, r->raw), base);
    }
    r->raw = str_of(o->fallback);
    return !o->fallback || config_value(r, o, r->raw, base);
}

/* `map` NULL: the file says nothing of it, its defaults hold. */
static bool read_members(config_reader *r, const option *parent, yaml_node_t *map, void *base)
{
    if (map && map->type == YAML_MAPPING_NODE)
        for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
            daruma_str key = config_scalar(config_node(r, p->key));
            if (!check_key(r, map, p) || (!member_row(parent, key) && !fail_unknown(r, parent, key)))
                return false;
        }
    for (size_t i = 0; i < noptions; i++) {
        const option *o = &options[i];
        daruma_str name = option_name_in(parent, o);
        if (!name.n)
            continue;
        yaml_node_t *node = config_member(r, map, name);
        r->node = map;
        if (!node && (o->flags & OPTION_REQUIRED))
            return config_fail(r, "`" STR_FMT "` is missing; add it: %s", STR_ARG(name), o->help);
        size_t mark = config_path_member(r, name);
        r->node = node;
        bool ok = node ? read_option(r, o, node, base) : read_default(r, o, base);
        if (!ok)
            return false;
        config_path_back(r, mark);
    }
    r->node = map;
    return true;
}

/* ---- lists and names ---------------------------------------------------------------------- */

static void *make_items(config_reader *r, const option *o, size_t n, void *base)
{
    const option_list *l = o->list;
    if (n < l->min) {
        config_fail(r, "it is empty; give at least %zu or remove the line", l->min);
        return NULL;
    }
    if (n > l->max) {
        config_fail(r, "%zu are too many; %zu at most", n, l->max);
        return NULL;
    }
    static char nothing; /* kinds have no array of their own */
    if (!l->size || !n)
        return &nothing;
    void *items = arena_take(r->a, n * l->size, _Alignof(max_align_t));
    if (!items) {
        config_fail_plain(r, "the configuration does not fit into memory");
        return NULL;
    }
    *(void **)((char *)base + l->items) = items;
    *(size_t *)((char *)base + l->count) = n;
    return items;
}

/* A mapping: by the rows of its members; one value: by the row of the element itself. Keys have both. */
static bool read_element(config_reader *r, const option *list, yaml_node_t *node, void *item)
{
    const option *element = option_element(list), *member = first_member(list);
    r->node = node;
    if (member && (node->type == YAML_MAPPING_NODE || !element))
        return node->type == YAML_MAPPING_NODE ? read_members(r, list, node, item)
                                               : config_fail(r, "expected a mapping with options like `%s`, found %s",
                                                             member->path, config_kind_words(node));
    return read_option(r, element, node, item);
}

static bool read_list(config_reader *r, const option *o, yaml_node_t *node, void *base)
{
    if (node->type != YAML_SEQUENCE_NODE && !config_is_null(node))
        return config_fail(r, "expected a list, found %s; begin each element with \"- \"", config_kind_words(node));
    yaml_node_item_t *first = NULL;
    size_t n = 0;
    if (node->type == YAML_SEQUENCE_NODE) {
        first = node->data.sequence.items.start;
        n = (size_t)(node->data.sequence.items.top - first);
    }
    char *items = make_items(r, o, n, base);
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++) {
        char *item = items + i * o->list->size;
        size_t mark = config_path_index(r, i);
        yaml_node_t *element = config_node(r, first[i]);
        if (!read_element(r, o, element, item))
            return false;
        r->node = element;
        if (o->list->fits && !o->list->fits(r, base, item, i))
            return false;
        config_path_back(r, mark);
    }
    return true;
}

static bool read_named(config_reader *r, const option *o, yaml_node_t *node, void *base)
{
    if (config_is_null(node))
        return true;
    if (node->type != YAML_MAPPING_NODE)
        return config_fail(r, "expected a mapping, found %s", config_kind_words(node));
    yaml_node_pair_t *first = node->data.mapping.pairs.start;
    size_t n = (size_t)(node->data.mapping.pairs.top - first);
    char *items = make_items(r, o, n, base);
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!check_key(r, node, &first[i]))
            return false;
        daruma_str key = config_scalar(config_node(r, first[i].key));
        void *item = o->list->named(r, base, items + i * o->list->size, key);
        if (!item)
            return false;
        size_t mark = config_path_member(r, key);
        if (!read_element(r, o, config_node(r, first[i].value), item))
            return false;
        r->node = config_node(r, first[i].value);
        if (o->list->fits && !o->list->fits(r, base, item, i))
            return false;
        config_path_back(r, mark);
    }
    return true;
}

/* ---- one option ------------------------------------------------------------------------------- */

static bool read_single(config_reader *r, const option *o, yaml_node_t *node, void *base)
{
    if (node->type != YAML_SCALAR_NODE || config_is_null(node)) {
        char mem[300];
        daruma_buf what = buf_over(mem, sizeof mem - 1);
        option_expects(o, &what);
        mem[what.n] = 0;
        return config_fail(r, "expected %s, found %s%s", mem, config_kind_words(node),
                           node->type == YAML_SCALAR_NODE ? "; give a value or remove the line" : "");
    }
    daruma_str text;
    r->raw = config_scalar(node);
    return config_expand(r, r->raw, &text) && config_value(r, o, text, base);
}

static bool read_option(config_reader *r, const option *o, yaml_node_t *node, void *base)
{
    switch (o->type) {
    case OPTION_GROUP:
        if (node && node->type != YAML_MAPPING_NODE && !config_is_null(node))
            return config_fail(r, "expected a mapping, found %s; put its options below it, indented",
                               config_kind_words(node));
        return read_members(r, o, node, base);
    case OPTION_LIST:
        return read_list(r, o, node, base);
    case OPTION_NAMED:
        return read_named(r, o, node, base);
    default:
        return read_single(r, o, node, base);
    }
}

/* ---- what others call ------------------------------------------------------------------------------ */

/* The first byte of a plain answer is its last; who names a clock for the first byte means both. */
static void settle_clocks(config *c)
{
    daruma_ms streams = c->clocks.first_byte, plain = c->plain_first_byte;
    if (plain == 0)
        plain = streams;
    c->clocks.first_byte = streams > 0 ? streams : 0;
    c->plain_first_byte = plain > 0 ? plain : 0;
}

static bool read_root(config_reader *r, yaml_node_t *root)
{
    r->node = root;
    *r->ret = (config){0};
    if (root && root->type != YAML_MAPPING_NODE && !config_is_null(root))
        return config_fail_plain(r, "expected options like `listen: 127.0.0.1:4141`, found %s",
                                 config_kind_words(root));
    if (!read_members(r, NULL, root, r->ret))
        return false;
    r->node = NULL;
    settle_clocks(r->ret);
    r->ret->policy.hedge &= r->ret->hedge == HEDGE_AUTO;
    return !r->a->full || config_fail_plain(r, "the configuration does not fit into memory");
}

bool config_read(daruma_str text, config_env env, void *user, daruma_arena *a, config *ret, config_error *err)
{
    config_reader r = {.ret = ret, .a = a, .env = env, .user = user, .err = err, .text = text};
    yaml_document_t doc;
    *err = (config_error){0};
    if (!config_load(&r, &doc))
        return false;
    bool ok = read_root(&r, yaml_document_get_root_node(&doc));
    yaml_document_delete(&doc);
    check(ok == !r.failed);
    return ok;
}

bool config_zero(config_env env, void *user, daruma_arena *a, config *ret, config_error *err)
{
    config_reader r = {.ret = ret, .a = a, .env = env, .user = user, .err = err};
    *err = (config_error){0};
    bool ok = read_root(&r, NULL);
    ret->zero = true;
    return ok;
}

bool config_listen(daruma_str text, daruma_arena *a, config *c, config_error *err)
{
    config_reader r = {.ret = c, .a = a, .err = err, .raw = text};
    *err = (config_error){0};
    for (size_t i = 0; i < noptions; i++)
        if (options[i].type == OPTION_LISTEN)
            return config_value(&r, &options[i], text, c);
    return false;
}

bool config_is_version(daruma_str segment)
{
    if (segment.n < 2 || segment.p[0] != 'v' || !ch_digit(segment.p[1]))
        return false;
    for (size_t i = 1; i < segment.n; i++)
        if (!ch_alpha(segment.p[i]) && !ch_digit(segment.p[i]))
            return false;
    return true;
}

static bool has_version(daruma_str path)
{
    while (path.n)
        if (config_is_version(str_cut(&path, '/')))
            return true;
    return false;
}

daruma_str config_upstream_path(const config_provider *p, daruma_str path, daruma_arena *a)
{
    daruma_str prefix = p->to.prefix;
    if (!path.n || path.p[0] != '/')
        return path; /* "*" of OPTIONS has no prefix */
    daruma_str rest = str_from(path, 1), whole = rest;
    size_t query = str_findch(rest, '?');
    rest = str_sub(rest, 0, query == STR_NONE ? rest.n : query);
    daruma_str first = str_cut(&rest, '/');
    daruma_buf out = buf_in(a);
    buf_put(&out, prefix);
    if (has_version(prefix)) {
        bool said = str_eq(first, S("v1")) || (config_is_version(first) && str_ends(prefix, first));
        buf_put(&out, said ? str_from(whole, first.n) : path);
        return buf_str(&out);
    }
    if (!prefix.n &&
        (config_is_version(first) || !dialect_of_path(str_sub(path, 0, query == STR_NONE ? path.n : query + 1))))
        return path; /* others' paths are not ours to complete */
    if (!prefix.n)
        BUF_LIT(&out, "/v1");
    buf_put(&out, path);
    return buf_str(&out);
}

int config_provider_of(const config *c, const dialect *d)
{
    for (size_t i = 0; i < c->nproviders; i++)
        if (c->providers[i].dialect == d)
            return (int)i;
    return d == &dialect_openai_responses ? config_provider_of(c, &dialect_openai) : -1;
}

bool config_has_key(const config_provider *p)
{
    bool has = p->nkeys > 0;
    for (size_t i = 0; i < p->nheaders; i++) /* Azure's is called api-key */
        has |= str_ieq(p->headers[i].name, str_of(p->dialect->key_header)) || str_ieq(p->headers[i].name, S("api-key"));
    return has;
}

/* True if the target speaks `d` without a conversion; exchange_dialect() says the same of a request's targets. */
static bool speaks(const config *c, const config_model *m, const dialect *d, size_t i)
{
    const dialect *is = c->providers[m->targets[i].provider].dialect;
    bool either = d == &dialect_openai_responses && is == &dialect_openai;
    for (size_t k = 0; k < m->ntargets && either; k++)
        either = c->providers[m->targets[k].provider].dialect != d;
    return is == d || either;
}

/* True if the target is asked with the client's key when nothing speaks against it. */
static bool takes_client_key(const config *c, const config_model *m, const dialect *d, size_t i)
{
    return !config_has_key(&c->providers[m->targets[i].provider]) && speaks(c, m, d, i);
}

bool config_out_of_reach(const config *c, const config_model *m, const dialect *d, size_t i)
{
    size_t first = 0;
    if (!takes_client_key(c, m, d, i))
        return false;
    while (!takes_client_key(c, m, d, first)) /* i at the latest */
        first++;
    const url *meant = &c->providers[m->targets[first].provider].to, *is = &c->providers[m->targets[i].provider].to;
    return !str_ieq(meant->host, is->host) || meant->port != is->port || meant->tls != is->tls;
}
