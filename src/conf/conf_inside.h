/* conf_inside.h - what the files of this room share. */
#ifndef CONF_CONF_INSIDE_H
#define CONF_CONF_INSIDE_H
#include "conf/conf.h"
#include <yaml.h>

/* Loads r->text as one YAML document into *doc, which is then r->doc; false when that was told as a mistake. */
bool tree_load(conf *r, yaml_document_t *doc);
const conf_node *tree_node(const conf *r, int index);
/* The value of a key of a mapping; NULL when it has none or is no mapping. */
const conf_node *tree_member(const conf *r, const conf_node *map, daruma_str key);
const char *tree_words(const conf_node *n); /* "a list", "a mapping", "nothing", "a single value" */
/* A line of the file, counted from 1, without its end; and the offset in it of a character. */
daruma_str tree_line(daruma_str text, int line);
size_t tree_offset(daruma_str line, size_t column);

/* Gives each mistake that is kept its line. */
void mistakes_show(conf *r);

/* ${NAME} replaced, "$${" is "${". False when that was told as a mistake. */
bool value_expand(conf *r, daruma_str text, daruma_str *ret);
/* Reads JSON text of a node, anchors followed, into `b`. */
void value_json(conf *r, const conf_node *n, daruma_buf *b, int level);

/* Calls `visit` for every row below a shape, in the order of the tables, with its path, until one returns true. */
typedef bool (*option_visit)(const char *path, const conf_option *o, const conf_option *in, void *user);
bool options_walk(const conf_shape *s, const conf_option *in, const char *path, option_visit visit, void *user);

static inline void *field_of(void *base, const conf_option *o)
{
    return (char *)base + o->at;
}
#endif
