/* mistakes.c - what is wrong with a file: told once at its place, kept in the order of the lines, shown with the line
 * as far as that cannot hold a secret. */
#include "conf/conf_inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#define EXCERPT_MAX 110 /* characters of a line that are shown */

/* ---- telling --------------------------------------------------------------------- */

/* Copies into room[n] what a terminal may get, credentials taken out. */
static void put_clean(const conf *r, char *room, size_t n, daruma_str s)
{
    char memory[2048];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf out = buf_over(room, n - 1);
    if (r->host->redact)
        s = r->host->redact(s, &a);
    while (s.n && !out.full) {
        bool fit;
        size_t step = str_step(s, &fit);
        buf_put(&out, fit ? str_sub(s, 0, step) : S("?"));
        s = str_from(s, step);
    }
    room[out.n] = 0;
}

/* Of equal places the one that was told first comes first. Line 0 comes last. */
static bool is_before(const conf_mistake *a, const conf_mistake *b)
{
    int la = a->line ? a->line : INT_MAX, lb = b->line ? b->line : INT_MAX;
    return la < lb || (la == lb && a->column < b->column);
}

static void keep(conf *r, const conf_mistake *e)
{
    conf_mistakes *m = r->to;
    for (size_t i = 0; i < m->n; i++) {
        bool same = m->at[i].line == e->line && m->at[i].column == e->column;
        if ((same || r->once) && strcmp(m->at[i].what, e->what) == 0) /* aliases come here twice */
            return;
    }
    size_t at = m->n;
    while (at && is_before(e, &m->at[at - 1]))
        at--;
    m->more += m->n == CONF_MISTAKES_MAX;
    if (at == CONF_MISTAKES_MAX)
        return;
    m->n += m->n < CONF_MISTAKES_MAX;
    memmove(&m->at[at + 1], &m->at[at], (m->n - 1 - at) * sizeof *m->at);
    m->at[at] = *e;
}

bool conf_tell(conf *r, const char *expected, const char *fmt, ...)
{
    char text[700], more[400];
    va_list ap;
    r->told++;
    if (r->silent)
        return false;
    conf_mistake e = {.line = r->node ? (int)r->node->start_mark.line + 1 : r->line,
                      .column = r->node ? (int)r->node->start_mark.column + 1 : r->column,
                      .shown = r->shown};
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    daruma_str rest = str_of(text), what = str_cut(&rest, '\n');
    if (r->from.n) {
        int n = snprintf(more, sizeof more, STR_FMT " (from the environment variable " STR_FMT ")",
                         STR_ARG(str_sub(what, 0, 300)), STR_ARG(str_sub(r->from, 0, 50)));
        what = (daruma_str){more, (size_t)n};
    }
    put_clean(r, e.what, sizeof e.what, what);
    put_clean(r, e.remedy, sizeof e.remedy, rest);
    put_clean(r, e.key, sizeof e.key, (daruma_str){r->path, r->npath});
    snprintf(e.expected, sizeof e.expected, "%s", expected ? expected : "");
    keep(r, &e);
    return false;
}

bool conf_full(conf *r)
{
    r->a->full = true; /* conf_read() tells it, and nothing else */
    r->told++;
    return false;
}

daruma_str conf_word(conf *r, daruma_str word)
{
    daruma_str s = arena_copy(r->a, str_sub(word, 0, 60));
    for (char *p = (char *)(uintptr_t)s.p; p && p < s.p + s.n; p++)
        if ((unsigned char)*p < ' ')
            *p = '?';
    return s;
}

/* ---- what may be shown -------------------------------------------------------------- */

typedef struct known {
    daruma_str name;
    bool known, secret;
} known;

/* True if a row, or the element of a row, is secret: what stands below its key is. */
static bool is_secret(const conf_option *o)
{
    const conf_option *e = o->shape ? o->shape->element : NULL;
    return ((o->flags | (e ? e->flags : 0)) & CONF_SECRET) != 0;
}

static bool is_of(const char *path, const conf_option *o, const conf_option *in, void *user)
{
    known *k = user;
    (void)path, (void)in;
    if (o->name && str_eq(str_of(o->name), k->name)) {
        k->known = true;
        k->secret |= is_secret(o);
    }
    for (size_t i = 0; o->shape && o->shape->names && o->shape->names(i) && !k->known; i++)
        k->known = str_eq(str_of(o->shape->names(i)), k->name);
    return false;
}

/* Some row has this name; secret, if any that has it is. */
static known known_name(const conf *r, daruma_str name)
{
    known k = {.name = name};
    if (name.n)
        options_walk(r->host->root, NULL, "", is_of, &k);
    return k;
}

static void show_span(daruma_str line, int number, const conf_node *n, bool *seen)
{
    bool here = (int)n->start_mark.line + 1 == number && n->end_mark.line == n->start_mark.line;
    if (!here || str_findch(conf_text_of(n), '@') != STR_NONE) /* user:password@host */
        return;
    size_t end = tree_offset(line, n->end_mark.column);
    for (size_t i = tree_offset(line, n->start_mark.column); i < end; i++)
        seen[i] = true;
}

/* "${NAME}" and nothing else: the name of a secret is none. */
static bool is_reference(daruma_str s)
{
    if (!str_starts(s, S("${")) || !str_ends(s, S("}")))
        return false;
    for (size_t i = 2; i + 1 < s.n; i++)
        if (!ch_word(s.p[i]))
            return false;
    return true;
}

static void show_value(daruma_str line, int number, const conf_node *n, bool secret, bool *seen)
{
    if (conf_is_single(n) && (!secret || is_reference(conf_text_of(n))))
        show_span(line, number, n, seen);
}

/* Shown are keys that the tables name, and single values under keys that are never secret. */
static void show_nodes(const conf *r, daruma_str line, int number, bool *seen)
{
    for (const conf_node *map = r->doc->nodes.start; map < r->doc->nodes.top; map++) {
        bool here = (int)map->start_mark.line < number && (int)map->end_mark.line + 1 >= number;
        if (map->type != YAML_MAPPING_NODE || !here)
            continue;
        for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
            const conf_node *key = tree_node(r, p->key), *value = tree_node(r, p->value);
            if ((int)key->start_mark.line >= number || (int)value->end_mark.line + 1 < number)
                continue;
            known k = known_name(r, conf_text_of(key));
            if (!k.known)
                continue;
            show_span(line, number, key, seen);
            show_value(line, number, value, k.secret, seen);
            if (value->type == YAML_SEQUENCE_NODE)
                for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top; i++)
                    show_value(line, number, tree_node(r, *i), k.secret, seen);
        }
    }
}

/* Without a document: words that are options, in front of a colon. */
static void show_words(const conf *r, daruma_str line, bool *seen)
{
    for (size_t i = 0, end; i < line.n; i = end + 1) {
        for (end = i; end < line.n && (ch_word(line.p[end]) || line.p[end] == '-');)
            end++;
        if (end < line.n && line.p[end] == ':' && known_name(r, str_sub(line, i, end - i)).known)
            memset(seen + i, true, end - i);
    }
}

static bool frame(daruma_str line, size_t i)
{
    char c = line.p[i];
    bool after = i + 1 == line.n || ch_space(line.p[i + 1]), alone = (i == 0 || ch_space(line.p[i - 1])) && after;
    return ch_space(c) || c == '{' || c == '}' || c == '[' || c == ']' || c == '"' || c == '\'' || c == ',' ||
           (c == ':' && after) || (c == '-' && alone);
}

/* A credential may stand where nobody expects one: words of that form are not shown, either. */
static void hide_credentials(const conf *r, daruma_str line, bool *seen)
{
    for (size_t i = 0, end; r->host->redact && i < line.n; i = end + 1) {
        char room[4096];
        daruma_arena a = arena_over(room, sizeof room);
        for (end = i; end < line.n && !frame(line, end);)
            end++;
        daruma_str word = str_sub(line, i, end - i);
        if (word.n && !str_eq(r->host->redact(word, &a), word))
            memset(seen + i, 0, end - i);
    }
}

/* Copies the line into the mistake, each run of what may be secret as "***", cut to what fits. */
static void make_excerpt(const conf *r, conf_mistake *e)
{
    bool seen[1024] = {0};
    daruma_str line = e->line > 0 ? tree_line(r->text, e->line) : (daruma_str){0};
    if (!line.n || line.n > sizeof seen)
        return;
    if (r->host->open)
        memset(seen, true, sizeof seen);
    else if (r->doc)
        show_nodes(r, line, e->line, seen);
    else
        show_words(r, line, seen);
    size_t place = tree_offset(line, (size_t)(e->column > 0 ? e->column - 1 : 0)), caret = 0, columns = 0, step;
    memset(seen + place, true, e->shown < line.n - place ? e->shown : line.n - place);
    hide_credentials(r, line, seen);
    daruma_buf out = buf_over(e->excerpt, sizeof e->excerpt - 1);
    for (size_t i = 0; i <= line.n && columns < EXCERPT_MAX; i += step) {
        bool fit = true;
        step = i < line.n ? str_step(str_from(line, i), &fit) : 1;
        if (i <= place)
            caret = columns;
        if (i == line.n)
            break;
        bool hidden = !seen[i] && !frame(line, i), first = i == 0 || seen[i - 1] || frame(line, i - 1);
        if (hidden && first) {
            BUF_LIT(&out, "***");
            columns += 3;
        } else if (!hidden) {
            buf_put(&out, fit ? str_sub(line, i, step) : S(" "));
            columns++;
        }
    }
    e->excerpt[out.n] = 0;
    e->caret = (int)caret;
}

void mistakes_show(conf *r)
{
    for (size_t i = 0; i < r->to->n; i++)
        make_excerpt(r, &r->to->at[i]);
}

/* ---- for people and programs ------------------------------------------------------------ */

void conf_mistake_say(const conf_mistake *m, daruma_buf *out)
{
    buf_printf(out, "%s%s%s", m->key, m->key[0] ? ": " : "", m->what);
    buf_printf(out, "%s%s", m->remedy[0] ? "; " : "", m->remedy);
}

void conf_mistakes_say(const conf_mistakes *m, daruma_buf *out)
{
    for (size_t i = 0; i < m->n; i++) {
        const conf_mistake *e = &m->at[i];
        if (m->file)
            buf_putz(out, m->file);
        if (e->line)
            buf_printf(out, "%s%d:%d", m->file ? ":" : "", e->line, e->column);
        buf_putz(out, m->file || e->line ? ": " : "");
        conf_mistake_say(e, out);
        BUF_LIT(out, "\n");
        if (e->excerpt[0])
            buf_printf(out, "  %s\n  %*s^\n", e->excerpt, e->caret, "");
    }
    if (m->more)
        buf_printf(out, "and %zu more\n", m->more);
}

static void put_member(daruma_buf *out, const char *name, const char *text, bool always)
{
    if (!text[0] && !always)
        return;
    buf_printf(out, ",\"%s\":", name);
    buf_json(out, str_of(text));
}

void conf_mistakes_json(const conf_mistakes *m, daruma_buf *out)
{
    BUF_LIT(out, "[");
    for (size_t i = 0; i < m->n; i++) {
        const conf_mistake *e = &m->at[i];
        buf_printf(out, "%s{\"line\":%d,\"column\":%d", i ? "," : "", e->line, e->column);
        put_member(out, "key", e->key, true);
        put_member(out, "message", e->what, true);
        put_member(out, "expected", e->expected, false);
        put_member(out, "remedy", e->remedy, false);
        BUF_LIT(out, "}");
    }
    BUF_LIT(out, "]");
}
