/* The YAML side of the configuration: loading one document, looking into it, and telling errors with the line they
 * are about. The line is shown only as far as it cannot hold a secret. */
#include "gateway/config_reader.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

#define EXCERPT_MAX 110 /* characters of a line that are shown */

/* ---- lines ------------------------------------------------------------------- */

/* Bytes of the line break at p[at], 0 none: the breaks of YAML 1.1 (5.4), which libyaml counts. */
static size_t line_break(daruma_str s, size_t at)
{
    static const daruma_str breaks[] = {
        {"\r\n", 2}, {"\n", 1}, {"\r", 1}, {"\xc2\x85", 2}, {"\xe2\x80\xa8", 3}, {"\xe2\x80\xa9", 3},
    };
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        if (str_starts(str_from(s, at), breaks[i]))
            return breaks[i].n;
    return 0;
}

static daruma_str line_of(daruma_str text, int line)
{
    size_t at = 0, n;
    for (int l = 1; l < line && at < text.n; l++) {
        while (at < text.n && (n = line_break(text, at)) == 0)
            at++;
        at += at < text.n ? n : 0;
    }
    size_t end = at;
    while (end < text.n && line_break(text, end) == 0)
        end++;
    return str_sub(text, at, end - at);
}

/* Offset of a character (libyaml counts characters) in a line, its length when it is behind the end. */
static size_t offset_of(daruma_str line, size_t column)
{
    size_t i = 0;
    for (; i < line.n; i++)
        if (((unsigned char)line.p[i] & 0xc0) != 0x80 && column-- == 0)
            break;
    return i;
}

/* ---- what may be shown ---------------------------------------------------------- */

static void show_span(daruma_str line, int number, const yaml_node_t *n, bool *seen)
{
    bool here = (int)n->start_mark.line + 1 == number && n->end_mark.line == n->start_mark.line;
    if (!here || str_findch(config_scalar(n), '@') != STR_NONE) /* user:password@host */
        return;
    size_t end = offset_of(line, n->end_mark.column);
    for (size_t i = offset_of(line, n->start_mark.column); i < end; i++)
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

static void show_value(daruma_str line, int number, const yaml_node_t *n, bool secret, bool *seen)
{
    if (n->type == YAML_SCALAR_NODE && (!secret || is_reference(config_scalar(n))))
        show_span(line, number, n, seen);
}

/* Shown are keys that are options or kinds, and single values under keys that are never secret. */
static void show_nodes(config_reader *r, daruma_str line, int number, bool *seen)
{
    for (yaml_node_t *map = r->doc->nodes.start; map < r->doc->nodes.top; map++) {
        if (map->type != YAML_MAPPING_NODE)
            continue;
        for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++) {
            yaml_node_t *key = config_node(r, p->key), *value = config_node(r, p->value);
            bool secret, kind, known = option_known(config_scalar(key), &secret);
            daruma_kind_parse(config_scalar(key), &kind);
            if (known || kind)
                show_span(line, number, key, seen);
            if (!known)
                continue;
            show_value(line, number, value, secret, seen);
            if (value->type == YAML_SEQUENCE_NODE)
                for (yaml_node_item_t *i = value->data.sequence.items.start; i < value->data.sequence.items.top; i++)
                    show_value(line, number, config_node(r, *i), secret, seen);
        }
    }
}

static bool word_byte(char c)
{
    return ch_word(c) || c == '-';
}

/* Without a document: words that are options, in front of a colon. */
static void show_words(daruma_str line, bool *seen)
{
    for (size_t i = 0, end; i < line.n; i = end + 1) {
        for (end = i; end < line.n && word_byte(line.p[end]);)
            end++;
        bool secret, key = end < line.n && line.p[end] == ':';
        if (key && option_known(str_sub(line, i, end - i), &secret))
            for (size_t k = i; k < end; k++)
                seen[k] = true;
    }
}

static bool frame(daruma_str line, size_t i)
{
    char c = line.p[i];
    bool alone = (i == 0 || ch_space(line.p[i - 1])) && (i + 1 == line.n || ch_space(line.p[i + 1]));
    bool after = i + 1 == line.n || ch_space(line.p[i + 1]);
    return ch_space(c) || c == '{' || c == '}' || c == '[' || c == ']' || c == '"' || c == '\'' || c == ',' ||
           (c == ':' && after) || (c == '-' && alone);
}

/* A key may stand where nobody expects one: words of that form are not shown, either. */
static void hide_keys(daruma_str line, bool *seen)
{
    for (size_t i = 0, end; i < line.n; i = end + 1) {
        char room[4096];
        daruma_arena a = arena_over(room, sizeof room);
        for (end = i; end < line.n && !frame(line, end);)
            end++;
        daruma_str word = str_sub(line, i, end - i);
        if (!word.n || str_eq(daruma_redact(word, &a), word))
            continue;
        memset(seen + i, 0, end - i);
    }
}

/* Copies the line into the error, each run of what may be secret as "***", tabs as spaces, cut to what fits. */
static void make_excerpt(config_reader *r, bool loaded)
{
    config_error *e = r->err;
    bool seen[1024] = {0};
    daruma_str line = e->line > 0 ? line_of(r->text, e->line) : (daruma_str){0};
    if (!line.n || line.n > sizeof seen)
        return;
    if (loaded)
        show_nodes(r, line, e->line, seen);
    else
        show_words(line, seen);
    hide_keys(line, seen);
    size_t place = offset_of(line, (size_t)(e->column > 0 ? e->column - 1 : 0)), caret = 0, columns = 0;
    daruma_buf out = buf_over(e->excerpt, sizeof e->excerpt - 1);
    for (size_t i = 0; i <= line.n && columns < EXCERPT_MAX; i++) {
        if (i == place)
            caret = columns;
        if (i == line.n)
            break;
        bool hidden = !seen[i] && !frame(line, i), first = i == 0 || seen[i - 1] || frame(line, i - 1);
        if (hidden && first) {
            BUF_LIT(&out, "***");
            columns += 3;
        } else if (!hidden) {
            buf_putc(&out, (unsigned char)line.p[i] < ' ' ? ' ' : line.p[i]);
            columns += ((unsigned char)line.p[i] & 0xc0) != 0x80;
        }
    }
    e->excerpt[out.n] = 0;
    e->caret = (int)caret;
}

/* ---- errors --------------------------------------------------------------------- */

static bool tell(config_reader *r, const yaml_mark_t *mark, bool with_path, const char *fmt, va_list ap)
{
    if (r->failed)
        return false;
    r->failed = true;
    *r->err = (config_error){0};
    if (mark) {
        r->err->line = (int)mark->line + 1;
        r->err->column = (int)mark->column + 1;
    }
    int n = with_path && r->npath ? snprintf(r->err->text, sizeof r->err->text, "%.*s: ", (int)r->npath, r->path) : 0;
    vsnprintf(r->err->text + n, sizeof r->err->text - (size_t)n, fmt, ap);
    char room[2048];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str clean = daruma_redact(str_of(r->err->text), &a);
    snprintf(r->err->text, sizeof r->err->text, STR_FMT, STR_ARG(clean));
    make_excerpt(r, r->doc != NULL);
    return false;
}

bool config_fail(config_reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(r, r->node ? &r->node->start_mark : NULL, true, fmt, ap);
    va_end(ap);
    return false;
}

bool config_fail_plain(config_reader *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(r, r->node ? &r->node->start_mark : NULL, false, fmt, ap);
    va_end(ap);
    return false;
}

bool config_fail_at(config_reader *r, yaml_node_t *node, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(r, node ? &node->start_mark : NULL, true, fmt, ap);
    va_end(ap);
    return false;
}

static bool fail_mark(config_reader *r, const yaml_mark_t *mark, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static bool fail_mark(config_reader *r, const yaml_mark_t *mark, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell(r, mark, false, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- where we are ------------------------------------------------------------------ */

static void path_put(config_reader *r, daruma_str s)
{
    for (size_t i = 0; i < s.n && r->npath < sizeof r->path; i++)
        r->path[r->npath++] = (unsigned char)s.p[i] < ' ' ? '?' : s.p[i];
}

size_t config_path_member(config_reader *r, daruma_str name)
{
    size_t mark = r->npath;
    if (mark)
        path_put(r, S("."));
    path_put(r, str_sub(name, 0, 40));
    return mark;
}

size_t config_path_index(config_reader *r, size_t i)
{
    size_t mark = r->npath;
    char text[32];
    int n = snprintf(text, sizeof text, "[%zu]", i);
    path_put(r, (daruma_str){text, (size_t)n});
    return mark;
}

void config_path_note(config_reader *r, daruma_str variable)
{
    path_put(r, S(" (from the environment variable "));
    path_put(r, variable);
    path_put(r, S(")"));
}

void config_path_back(config_reader *r, size_t mark)
{
    r->npath = mark;
}

/* ---- the document ------------------------------------------------------------------- */

yaml_node_t *config_node(config_reader *r, int index)
{
    return yaml_document_get_node(r->doc, index);
}

daruma_str config_scalar(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return (daruma_str){0};
    return (daruma_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

bool config_is_null(const yaml_node_t *n)
{
    if (n->type != YAML_SCALAR_NODE || n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    daruma_str s = config_scalar(n);
    return s.n == 0 || str_eq(s, S("~")) || str_ieq(s, S("null"));
}

const char *config_kind_words(const yaml_node_t *n)
{
    return n->type == YAML_SEQUENCE_NODE  ? "a list"
           : n->type == YAML_MAPPING_NODE ? "a mapping"
           : config_is_null(n)            ? "nothing"
                                          : "a single value";
}

yaml_node_t *config_member(config_reader *r, yaml_node_t *map, daruma_str key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (str_eq(config_scalar(config_node(r, p->key)), key))
            return config_node(r, p->value);
    return NULL;
}

static bool fail_yaml(config_reader *r, const yaml_parser_t *p)
{
    yaml_mark_t mark = p->problem_mark;
    const char *problem = p->problem ? p->problem : "it cannot be read";
    switch (p->error) {
    case YAML_NO_ERROR:
    case YAML_MEMORY_ERROR:
        return fail_mark(r, NULL, "no memory to read the configuration");
    case YAML_READER_ERROR:
        /* The reader knows the byte but not the line. */
        mark = (yaml_mark_t){0};
        for (size_t at = 0, n; at < p->problem_offset && at < r->text.n; at += n ? n : 1) {
            n = line_break(r->text, at);
            mark.column = n ? 0 : mark.column + (((unsigned char)r->text.p[at] & 0xc0) != 0x80);
            mark.line += n != 0;
        }
        return fail_mark(r, &mark, "not valid YAML: %s; save the file as UTF-8 without control characters", problem);
    case YAML_SCANNER_ERROR:
    case YAML_PARSER_ERROR:
    case YAML_COMPOSER_ERROR:
    case YAML_WRITER_ERROR:
    case YAML_EMITTER_ERROR:
        break;
    }
    daruma_str line = line_of(r->text, (int)mark.line + 1);
    if (str_findch(str_sub(line, 0, offset_of(line, mark.column) + 1), '\t') != STR_NONE)
        return fail_mark(r, &mark, "YAML does not allow a tab here; indent with spaces");
    if (p->context)
        return fail_mark(r, &mark, "not valid YAML: %s (%s); check the indentation, quotes and brackets", problem,
                         p->context);
    return fail_mark(r, &mark, "not valid YAML: %s; check the indentation, quotes and brackets", problem);
}

static bool load_one(config_reader *r, yaml_parser_t *p, yaml_document_t *doc)
{
    if (!yaml_parser_load(p, doc))
        return fail_yaml(r, p);
    yaml_document_t more;
    if (!yaml_parser_load(p, &more)) {
        yaml_document_delete(doc);
        return fail_yaml(r, p);
    }
    yaml_node_t *second = yaml_document_get_root_node(&more);
    if (second) {
        yaml_document_delete(doc);
        fail_mark(r, &second->start_mark,
                  "a second document begins here; a configuration is one document, remove the line `---`");
    }
    yaml_document_delete(&more);
    if (second)
        return false;
    r->doc = doc;
    return true;
}

bool config_load(config_reader *r, yaml_document_t *doc)
{
    if (r->text.n > CONFIG_BYTES_MAX)
        return fail_mark(r, NULL, "the file is larger than %u bytes; is it a configuration?", CONFIG_BYTES_MAX);
    if (str_starts(r->text, S("\xef\xbb\xbf")))
        r->text = str_from(r->text, 3);
    yaml_parser_t p;
    if (!yaml_parser_initialize(&p))
        return fail_mark(r, NULL, "no memory to read the configuration");
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)r->text.p, r->text.n);
    bool ok = load_one(r, &p, doc);
    yaml_parser_delete(&p);
    return ok;
}

/* ---- near names ------------------------------------------------------------------------ */

nearest nearest_to(daruma_str wrong)
{
    return (nearest){.wrong = wrong, .distance = wrong.n < 4 ? 2 : wrong.n / 3 + 2};
}

void nearest_try(nearest *n, daruma_str name)
{
    size_t d = str_distance(n->wrong, name, n->distance);
    bool begins = n->wrong.n >= 3 && (str_starts(name, n->wrong) || str_starts(n->wrong, name));
    if (begins && d >= n->distance)
        d = n->distance - 1;
    if (d < n->distance) {
        n->best = name;
        n->distance = d;
    }
}
