/* read.c - walks the tables of options down the document. It visits what the tables name and nothing else, at most as
 * often as the limits of the lists allow, so that aliases cannot make it run away. */
#include "conf/conf_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>

/* ---- where we are ------------------------------------------------------------------ */

static size_t path_put(conf *r, daruma_str s)
{
    size_t mark = r->npath;
    for (size_t i = 0; i < s.n && r->npath < sizeof r->path; i++)
        r->path[r->npath++] = (unsigned char)s.p[i] < ' ' ? '?' : s.p[i];
    return mark;
}

static size_t path_member(conf *r, daruma_str name)
{
    size_t mark = r->npath;
    if (mark)
        path_put(r, S("."));
    path_put(r, str_sub(name, 0, 40));
    return mark;
}

static size_t path_index(conf *r, size_t i)
{
    char text[32];
    int n = snprintf(text, sizeof text, "[%zu]", i);
    return path_put(r, (daruma_str){text, (size_t)n});
}

size_t conf_step(conf *r, const char *member)
{
    const conf_node *n = tree_member(r, r->node, str_of(member));
    r->node = n ? n : r->node;
    return path_member(r, str_of(member));
}

void conf_back(conf *r, size_t mark)
{
    r->npath = mark;
}

void conf_at(conf *r, const conf_node *n)
{
    r->node = n;
}

int conf_line(const conf *r)
{
    return r->node ? (int)r->node->start_mark.line + 1 : 0;
}

bool conf_has(conf *r, const char *key)
{
    return tree_member(r, r->node, str_of(key)) != NULL;
}

void conf_go(conf *r, const char *path)
{
    daruma_str rest = str_of(path);
    r->npath = 0;
    r->node = r->doc ? yaml_document_get_root_node(r->doc) : NULL;
    path_put(r, rest);
    while (rest.n && r->node) {
        daruma_str index = str_cut(&rest, '.'), name = str_cut(&index, '[');
        int64_t i;
        r->node = tree_member(r, r->node, name);
        if (r->node && r->node->type == YAML_SEQUENCE_NODE && str_int(str_cut(&index, ']'), &i) &&
            i < r->node->data.sequence.items.top - r->node->data.sequence.items.start)
            r->node = tree_node(r, r->node->data.sequence.items.start[i]);
    }
}

/* ---- keys of a mapping --------------------------------------------------------------- */

const conf_option *conf_row(const conf_shape *s, daruma_str name)
{
    for (size_t i = 0; i < s->of.n; i++)
        if (str_eq(str_of(s->of.at[i].name), name))
            return &s->of.at[i];
    return NULL;
}

/* True if the shape's names have that one, or no names are given and it may be any. */
static bool is_name(const conf_shape *s, daruma_str name)
{
    for (size_t i = 0; s->names && s->names(i); i++)
        if (str_eq(str_of(s->names(i)), name))
            return true;
    return false;
}

/* A wrong key may be a key in the other sense: what looks like one is not repeated. */
static daruma_str harmless(conf *r, daruma_str key)
{
    bool plain = key.n > 0 && (r->host->open || key.n <= 24);
    for (size_t i = 0; plain && !r->host->open && i < key.n; i++)
        plain = ch_alpha(key.p[i]) || key.p[i] == '_' || key.p[i] == '-' || key.p[i] == '.' || key.p[i] == '<';
    return plain ? conf_word(r, key) : S("[redacted]");
}

typedef struct elsewhere {
    daruma_str name;
    char path[200];
} elsewhere;

static bool is_elsewhere(const char *path, const conf_option *o, const conf_option *in, void *user)
{
    elsewhere *e = user;
    bool it = o->name && in && str_eq(str_of(o->name), e->name);
    if (it)
        snprintf(e->path, sizeof e->path, "%s", path);
    return it;
}

enum { SLIP_LETTERS_MAX = 2 }; /* what is further from a name may mean another one, or none */

/* Tells a key that is not known; `thing` NULL: it is no row's, else none of the free names. Returns the name that it is
 * taken for, empty when none is so near that its value can be read as that one's. */
static daruma_str unknown_key(conf *r, const conf_shape *s, const char *thing, daruma_str key)
{
    conf_near near = conf_near_to(key);
    elsewhere e = {.name = key};
    for (size_t i = 0; !thing && i < s->of.n; i++)
        conf_near_try(&near, str_of(s->of.at[i].name));
    for (size_t i = 0; s->names && s->names(i); i++)
        conf_near_try(&near, str_of(s->names(i)));
    near.to.wrong = harmless(r, key);
    r->shown = str_eq(near.to.wrong, key) ? key.n : 0;
    if (near.to.best.n || !key.n)
        conf_unknown(r, thing ? thing : "key", &near);
    else if (options_walk(r->host->root, NULL, "", is_elsewhere, &e))
        conf_wrong(r, "unknown key `" STR_FMT "` here\nits place is `%s`", STR_ARG(near.to.wrong), e.path);
    else if (str_eq(key, S("<<")))
        conf_wrong(r, "merging with `<<` is not done\nwrite the keys out");
    else
        conf_unknown(r, thing ? thing : "key", &near);
    r->shown = 0;
    return near.to.distance <= SLIP_LETTERS_MAX ? near.to.best : (daruma_str){0};
}

/* A key is one text, and stands once. */
static bool key_stands(conf *r, const conf_node *map, const yaml_node_pair_t *pair)
{
    const conf_node *node = tree_node(r, pair->key);
    r->node = node;
    if (!conf_is_single(node))
        return conf_wrong(r, "expected the name of an option, found %s", tree_words(node));
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
        const conf_node *before = tree_node(r, p->key);
        if (conf_is_single(before) && str_eq(conf_text_of(before), conf_text_of(node)))
            return conf_wrong(r, "the key `" STR_FMT "` stands here twice, first in line %d\nremove one",
                              STR_ARG(harmless(r, conf_text_of(node))), (int)before->start_mark.line + 1);
    }
    return true;
}

static bool too_many(conf *r, size_t n, size_t max)
{
    return n > max && !conf_wrong(r, "%zu are too many\n%zu at most", n, max);
}

static size_t pairs_of(const conf_node *map)
{
    return (size_t)(map->data.mapping.pairs.top - map->data.mapping.pairs.start);
}

bool conf_next(conf *r, const conf_node *map, size_t *i, daruma_str *key, const conf_node **value, size_t *mark)
{
    for (; *i < pairs_of(map) && *i < CONF_KEYS_MAX; ++*i) {
        const yaml_node_pair_t *p = &map->data.mapping.pairs.start[*i];
        if (!key_stands(r, map, p))
            continue;
        ++*i;
        *key = r->key = conf_text_of(tree_node(r, p->key));
        *value = tree_node(r, p->value);
        *mark = path_member(r, *key);
        return true;
    }
    return false;
}

/* ---- members ------------------------------------------------------------------------------ */

static void read_default(conf *r, const conf_option *o, void *base)
{
    r->node = NULL;
    if (o->type == CONF_GROUP) {
        conf_option_read(r, o, NULL, base);
        return;
    }
    if (o->type == CONF_LIST || o->type == CONF_NAMED) {
        if (o->shape->absent)
            o->shape->absent(r, base);
        return;
    }
    daruma_str names = str_of(o->env ? o->env : "");
    while (names.n && r->host->env) {
        daruma_str name = str_cut(&names, ' ');
        bool found = false;
        r->raw = r->host->env(name, &found, r->user);
        if (!found || !r->raw.n)
            continue;
        r->from = name;
        conf_value(r, o, arena_copy(r->a, r->raw), base);
        r->from = (daruma_str){0};
        return;
    }
    r->raw = str_of(o->fallback);
    if (o->fallback)
        conf_value(r, o, r->raw, base);
}

/* A key that was told as unknown, and what it is taken for. */
typedef struct guess {
    daruma_str name;
    const conf_node *value;
} guess;
enum { GUESSES_MAX = 8 };

/* Reads the keys that no row has. Returns how many guesses it made of those that are told as unknown. */
static size_t read_further(conf *r, const conf_shape *s, const conf_node *map, void *base, guess guesses[GUESSES_MAX])
{
    size_t n = 0, mark;
    daruma_str key;
    const conf_node *value;
    for (size_t i = 0; conf_next(r, map, &i, &key, &value, &mark);) {
        bool row = conf_row(s, key) != NULL, further = !row && s->further && is_name(s, key);
        if (further)
            s->further->node(r, s->further, value, base);
        r->npath = mark;
        if (row || further)
            continue;
        daruma_str meant = unknown_key(r, s, NULL, key);
        if (meant.n && n < GUESSES_MAX)
            guesses[n++] = (guess){meant, value};
    }
    return n;
}

/* True if a value has the form that the row wants: what is wrong within it is then told, too. */
static bool has_form(const conf_option *o, const conf_node *n)
{
    return (o->type == CONF_LIST && n->type == YAML_SEQUENCE_NODE) ||
           ((o->type == CONF_GROUP || o->type == CONF_NAMED) && n->type == YAML_MAPPING_NODE);
}

/* `map` NULL: the file says nothing of it, its defaults hold. */
static void read_members(conf *r, const conf_shape *s, const conf_node *map, void *base)
{
    const conf_node *here = r->node;
    guess guesses[GUESSES_MAX];
    size_t nguesses = 0;
    if (map && map->type == YAML_MAPPING_NODE && !too_many(r, pairs_of(map), CONF_KEYS_MAX))
        nguesses = read_further(r, s, map, base, guesses);
    for (size_t i = 0; i < s->of.n && !r->a->full; i++) {
        const conf_option *o = &s->of.at[i];
        const conf_node *node = tree_member(r, map, str_of(o->name)), *meant = NULL;
        for (size_t k = 0; !node && k < nguesses; k++)
            if (str_eq(guesses[k].name, str_of(o->name)))
                meant = guesses[k].value;
        r->node = here;
        if (map && !node && !meant && (o->flags & CONF_REQUIRED)) {
            conf_wrong(r, "`%s` is missing\nadd it: %s", o->name, o->help);
            continue;
        }
        size_t mark = path_member(r, str_of(o->name));
        if (o->said && node)
            *(bool *)((char *)base + o->said) = true;
        if (node || meant) {
            int silent = r->silent;
            r->silent += meant && !has_form(o, meant);
            conf_option_read(r, o, node ? node : meant, base);
            r->silent = silent;
        } else {
            read_default(r, o, base);
        }
        r->npath = mark;
    }
    r->node = here;
}

/* "expected a mapping like { ... }, found a list" */
static void wrong_form(conf *r, const char *form, const conf_shape *s, const conf_node *n, const char *remedy)
{
    const char *like = s && s->like ? s->like : NULL;
    conf_wrong(r, "expected %s%s%s, found %s%s%s", form, like ? " like " : "", like ? like : "", tree_words(n),
               remedy ? "\n" : "", remedy ? remedy : "");
}

void conf_members(conf *r, const conf_shape *s, const conf_node *n, void *base)
{
    r->node = n;
    if (n->type == YAML_MAPPING_NODE || conf_is_null(n))
        read_members(r, s, n, base);
    else
        wrong_form(r, "a mapping", s, n, NULL);
}

/* ---- lists and names ---------------------------------------------------------------------- */

/* Room for `n` elements; false after it was told why there is none. */
static bool make_items(conf *r, const conf_option *o, size_t n, void *base, char **ret)
{
    const conf_shape *s = o->shape;
    if (n < s->min)
        return conf_wrong(r, "it is empty\ngive at least %zu or remove the line", s->min);
    if (too_many(r, n, s->max ? s->max : CONF_KEYS_MAX))
        return false;
    if (!s->size || !n)
        return true;
    char *items = arena_take(r->a, n * s->size, _Alignof(max_align_t));
    if (!items)
        return conf_full(r);
    for (size_t i = 0; s->blank && i < n; i++)
        memcpy(items + i * s->size, s->blank, s->size);
    struct items {
        void *at;
        size_t n;
    } *field = field_of(base, o);
    *field = (struct items){items, n};
    *ret = items;
    return true;
}

/* A mapping is read by its members, one value by the row of the element itself. Keys have both. */
static void read_element(conf *r, const conf_shape *s, const conf_node *n, void *item)
{
    r->node = n;
    if (s->of.n && (!s->element || n->type == YAML_MAPPING_NODE || conf_is_null(n)))
        conf_members(r, s, n, item);
    else
        conf_option_read(r, s->element, n, item);
}

static daruma_str *name_of(const conf_shape *s, void *item)
{
    return (daruma_str *)(void *)((char *)item + s->name_at);
}

static void name_is_once(conf *r, const conf_shape *s, char *items, size_t i)
{
    daruma_str name = *name_of(s, items + i * s->size);
    for (size_t k = 0; name.n && k < i; k++)
        if (str_eq(*name_of(s, items + k * s->size), name)) {
            conf_step(r, "name");
            conf_wrong(r, "another %s has the name \"" STR_FMT "\"\nnames are unique", s->thing,
                       STR_ARG(conf_word(r, name)));
            return;
        }
}

/* One element, and whether it fits. Its hooks see it only when nothing is wrong with it, so that no mistake is told
 * that follows from another one. */
static void read_item(conf *r, const conf_shape *s, const conf_node *n, void *base, void *item, size_t i)
{
    size_t before = r->told;
    read_element(r, s, n, item);
    r->node = n;
    if (r->told == before && s->fits && !r->a->full)
        s->fits(r, base, item, i);
    r->node = n;
}

/* The name that stands where an element should begin is shown as one that is not known would be. */
static void no_list(conf *r, const conf_node *node)
{
    bool named = node->type == YAML_MAPPING_NODE && pairs_of(node);
    daruma_str key = named ? conf_text_of(tree_node(r, node->data.mapping.pairs.start->key)) : (daruma_str){0};
    r->shown = str_eq(harmless(r, key), key) ? key.n : 0;
    wrong_form(r, "a list", NULL, node, "begin each element with \"- \"");
    r->shown = 0;
}

static void read_list(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    bool single = (o->flags & CONF_OR_SINGLE) && node->type != YAML_SEQUENCE_NODE && !conf_is_null(node);
    if (node->type != YAML_SEQUENCE_NODE && !conf_is_null(node) && !single) {
        no_list(r, node);
        return;
    }
    yaml_node_item_t *first = node->type == YAML_SEQUENCE_NODE ? node->data.sequence.items.start : NULL;
    size_t n = single ? 1 : first ? (size_t)(node->data.sequence.items.top - first) : 0;
    char *items = NULL;
    if (!make_items(r, o, n, base, &items))
        return;
    for (size_t i = 0; i < n && !r->a->full; i++) {
        size_t mark = single ? r->npath : path_index(r, i);
        void *item = items ? items + i * o->shape->size : field_of(base, o);
        read_item(r, o->shape, single ? node : tree_node(r, first[i]), base, item, i);
        if (items && o->shape->thing)
            name_is_once(r, o->shape, items, i);
        r->npath = mark;
    }
}

static void read_named(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    const conf_shape *s = o->shape;
    daruma_str key;
    const conf_node *value;
    char *items = NULL;
    size_t n = 0, mark;
    if (conf_is_null(node))
        return;
    if (node->type != YAML_MAPPING_NODE) {
        wrong_form(r, "a mapping", s, node, NULL);
        return;
    }
    if (!make_items(r, o, pairs_of(node), base, &items))
        return;
    for (size_t i = 0; !r->a->full && conf_next(r, node, &i, &key, &value, &mark); n++) {
        void *item = items ? items + n * s->size : field_of(base, o);
        if (s->names && !is_name(s, key)) {
            r->npath = mark;
            unknown_key(r, s, s->thing, key);
            continue;
        }
        if (items)
            *name_of(s, item) = arena_copy(r->a, key);
        if (!s->named || (item = s->named(r, base, item, key)))
            read_item(r, s, value, base, item, n);
        r->npath = mark;
    }
}

/* ---- one option ------------------------------------------------------------------------------- */

/* "a, b" of a list [a, b] of single values; empty: it is none. */
static daruma_str joined(const conf *r, const conf_node *node)
{
    daruma_buf b = buf_in(r->a);
    if (node->type != YAML_SEQUENCE_NODE)
        return (daruma_str){0};
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
        const conf_node *one = tree_node(r, *i);
        if (!conf_is_single(one) || conf_is_null(one))
            return (daruma_str){0};
        BUF_SAY(&b, b.n ? ", " : "", conf_text_of(one));
    }
    return buf_str(&b);
}

static void read_single(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    size_t before = r->told;
    daruma_str text;
    daruma_str list = o->flags & CONF_OR_LIST ? joined(r, node) : (daruma_str){0};
    r->raw = list.n ? list : conf_text_of(node);
    if (!list.n && (!conf_is_single(node) || conf_is_null(node)))
        conf_expected(r, o, conf_is_single(node) ? "give a value or remove the line" : NULL);
    else if (value_expand(r, r->raw, &text))
        conf_value(r, o, text, base);
    if (r->told == before || !o->fallback)
        return;
    r->silent++; /* what is read behind it finds something that can be */
    conf_value(r, o, str_of(o->fallback), base);
    r->silent--;
}

static void read_group(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    const conf_shape *s = o->shape;
    size_t before = r->told;
    if (s->element && conf_is_single(node) && !conf_is_null(node)) {
        read_single(r, s->element, node, field_of(base, o));
    } else if (node && !conf_is_map(node) && !conf_is_null(node)) {
        wrong_form(r, "a mapping", s, node, "put its options below it, indented");
    } else {
        read_members(r, s, node, field_of(base, o));
        if (node && r->told == before && s->fits)
            s->fits(r, base, field_of(base, o), 0);
    }
}

static void read_json(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    daruma_buf b = buf_in(r->a);
    if (conf_is_single(node))
        buf_put(&b, conf_text_of(node));
    else
        value_json(r, node, &b, 0);
    *(daruma_str *)field_of(base, o) = buf_str(&b);
}

static void read_node(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    o->node(r, o, node, field_of(base, o));
}

void conf_option_read(conf *r, const conf_option *o, const conf_node *node, void *base)
{
    static void (*const readers[])(conf *, const conf_option *, const conf_node *, void *) = {
        [CONF_GROUP] = read_group, [CONF_LIST] = read_list, [CONF_NAMED] = read_named,
        [CONF_NODE] = read_node,   [CONF_JSON] = read_json,
    };
    r->node = node;
    (o->type < COUNT(readers) ? readers[o->type] : read_single)(r, o, node, base);
}

/* ---- what hosts call ------------------------------------------------------------------------------ */

/* Ends a reading: nothing that was told counts when there was no memory for the rest. */
static bool finish(conf *r)
{
    if (r->a->full) {
        r->to->n = r->to->more = 0;
        r->npath = 0;
        r->silent = 0;
        r->node = NULL;
        conf_wrong(r, "the %s does not fit into memory", r->host->what);
    }
    mistakes_show(r);
    check(!r->told == !r->to->n);
    return !r->told;
}

bool conf_read(daruma_str text, const conf_host *h, void *root, daruma_arena *a, conf_mistakes *m)
{
    conf r = {.host = h, .user = h->user, .root = root, .a = a, .to = m, .text = text};
    yaml_document_t doc;
    m->n = m->more = 0;
    m->file = h->file;
    if (text.p && !tree_load(&r, &doc))
        return finish(&r);
    const conf_node *top = text.p ? yaml_document_get_root_node(&doc) : NULL;
    r.node = top;
    if (top && top->type != YAML_MAPPING_NODE && !conf_is_null(top))
        wrong_form(&r, "options", h->root, top, NULL);
    else
        read_members(&r, h->root, top, root);
    r.node = NULL;
    if (!r.told && h->settle)
        h->settle(&r, root);
    bool ok = finish(&r);
    if (text.p)
        yaml_document_delete(&doc);
    return ok;
}
