/* tree.c - the file as one YAML document: loading it, looking into it, and finding a place in its text. */
#include "conf/conf_inside.h"
#include "base/str.h"

/* ---- lines -------------------------------------------------------------------- */

/* Bytes of the line break at s.p[at], 0 none: the breaks of YAML 1.1 (5.4), which libyaml counts. */
static size_t line_break(daruma_str s, size_t at)
{
    static const daruma_str breaks[] = {
        LIT("\r\n"), LIT("\n"), LIT("\r"), LIT("\xc2\x85"), LIT("\xe2\x80\xa8"), LIT("\xe2\x80\xa9"),
    };
    for (size_t i = 0; i < COUNT(breaks); i++)
        if (str_starts(str_from(s, at), breaks[i]))
            return breaks[i].n;
    return 0;
}

daruma_str tree_line(daruma_str text, int line)
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

size_t tree_offset(daruma_str line, size_t column)
{
    size_t i = 0;
    for (; i < line.n; i++)
        if (((unsigned char)line.p[i] & 0xc0) != 0x80 && column-- == 0)
            break;
    return i;
}

/* ---- nodes ---------------------------------------------------------------------- */

const conf_node *tree_node(const conf *r, int index)
{
    return yaml_document_get_node(r->doc, index);
}

daruma_str conf_text_of(const conf_node *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return (daruma_str){0};
    return (daruma_str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

bool conf_is_single(const conf_node *n)
{
    return n && n->type == YAML_SCALAR_NODE;
}

bool conf_is_map(const conf_node *n)
{
    return n && n->type == YAML_MAPPING_NODE;
}

bool conf_is_null(const conf_node *n)
{
    if (!conf_is_single(n) || n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    daruma_str s = conf_text_of(n);
    return s.n == 0 || str_eq(s, S("~")) || str_ieq(s, S("null"));
}

const char *tree_words(const conf_node *n)
{
    return n->type == YAML_SEQUENCE_NODE  ? "a list"
           : n->type == YAML_MAPPING_NODE ? "a mapping"
           : conf_is_null(n)              ? "nothing"
                                          : "a single value";
}

const conf_node *tree_member(const conf *r, const conf_node *map, daruma_str key)
{
    if (!map || map->type != YAML_MAPPING_NODE)
        return NULL;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top; p++)
        if (str_eq(conf_text_of(tree_node(r, p->key)), key))
            return tree_node(r, p->value);
    return NULL;
}

/* ---- loading --------------------------------------------------------------------- */

static void at_mark(conf *r, yaml_mark_t at)
{
    r->line = (int)at.line + 1;
    r->column = (int)at.column + 1;
}

static bool wrong_yaml(conf *r, const yaml_parser_t *p)
{
    yaml_mark_t mark = p->problem_mark;
    const char *problem = p->problem ? p->problem : "it cannot be read";
    switch (p->error) {
    case YAML_NO_ERROR:
    case YAML_MEMORY_ERROR:
        return conf_full(r);
    case YAML_READER_ERROR:
        /* The reader knows the byte but not the line. */
        mark = (yaml_mark_t){0};
        for (size_t at = 0, n; at < p->problem_offset && at < r->text.n; at += n ? n : 1) {
            n = line_break(r->text, at);
            mark.column = n ? 0 : mark.column + (((unsigned char)r->text.p[at] & 0xc0) != 0x80);
            mark.line += n != 0;
        }
        at_mark(r, mark);
        return conf_wrong(r, "not valid YAML: %s\nsave the file as UTF-8 without control characters", problem);
    case YAML_SCANNER_ERROR:
    case YAML_PARSER_ERROR:
    case YAML_COMPOSER_ERROR:
    case YAML_WRITER_ERROR:
    case YAML_EMITTER_ERROR:
        break;
    }
    at_mark(r, mark);
    daruma_str line = tree_line(r->text, r->line);
    if (str_findch(str_sub(line, 0, tree_offset(line, mark.column) + 1), '\t') != STR_NONE)
        return conf_wrong(r, "YAML does not allow a tab here\nindent with spaces");
    return conf_wrong(r,
                      "not valid YAML: %s%s%s%s\ncheck the indentation, brackets and quotes; values with `*`, `: ` or "
                      "`${NAME}` stand in quotes",
                      problem, p->context ? " (" : "", p->context ? p->context : "", p->context ? ")" : "");
}

static bool load_one(conf *r, yaml_parser_t *p, yaml_document_t *doc)
{
    if (!yaml_parser_load(p, doc))
        return wrong_yaml(r, p);
    yaml_document_t more;
    if (!yaml_parser_load(p, &more)) {
        yaml_document_delete(doc);
        return wrong_yaml(r, p);
    }
    const conf_node *second = yaml_document_get_root_node(&more);
    if (second) {
        yaml_document_delete(doc);
        at_mark(r, second->start_mark);
        conf_wrong(r, "a second document begins here\na %s is one document, remove the line `---`", r->host->what);
    }
    yaml_document_delete(&more);
    r->doc = second ? NULL : doc;
    return !second;
}

bool tree_load(conf *r, yaml_document_t *doc)
{
    if (r->text.n > r->host->bytes_max)
        return conf_wrong(r, "the file is larger than %zu bytes\nis it a %s?", r->host->bytes_max, r->host->what);
    if (str_starts(r->text, S("\xef\xbb\xbf")))
        r->text = str_from(r->text, 3);
    yaml_parser_t p;
    if (!yaml_parser_initialize(&p))
        return conf_full(r);
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p, (const unsigned char *)r->text.p, r->text.n);
    bool ok = load_one(r, &p, doc);
    yaml_parser_delete(&p);
    return ok;
}
