/* config_reader.h - what the parts of the configuration's reader share: the document, where in it we are, and how an
 * error is told. The first error stands; everything returns false after it. */
#ifndef GATEWAY_CONFIG_READER_H
#define GATEWAY_CONFIG_READER_H
#include "gateway/config_table.h"
#include <yaml.h>

struct config_reader {
    config *ret;     /* what is being filled */
    daruma_arena *a; /* where it lives */
    config_env env;  /* NULL: no variable is set */
    void *user;      /* for `env` */
    config_error *err;
    bool failed;          /* *err is told */
    daruma_str text;      /* of the file, without a byte order mark */
    yaml_document_t *doc; /* NULL: no file */
    yaml_node_t *node;    /* where we are; NULL: at something that the file does not say */
    daruma_str raw;       /* the value as the file says it, before ${ENV}: what an error may show */
    char path[200];       /* "providers[0].keys[1].value": where we are, in words; cut when longer */
    size_t npath;
};

/* Tells the error at r->node (line 0 when there is none): the path, a colon, and the text. Returns false. */
bool config_fail(config_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, without the path. */
bool config_fail_plain(config_reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same at another node. */
bool config_fail_at(config_reader *r, yaml_node_t *node, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Steps into a member or element for as long as the caller holds the returned mark: config_path_back(r, mark). */
size_t config_path_member(config_reader *r, daruma_str name);
size_t config_path_index(config_reader *r, size_t i);
void config_path_note(config_reader *r, daruma_str variable); /* the value is from this variable */
void config_path_back(config_reader *r, size_t mark);

/* Loads the text as one YAML document. r->doc is then to be given to yaml_document_delete. */
bool config_load(config_reader *r, yaml_document_t *doc);
yaml_node_t *config_node(config_reader *r, int index);
/* The value of a key of a mapping; NULL when it has none or is no mapping. */
yaml_node_t *config_member(config_reader *r, yaml_node_t *map, daruma_str key);
daruma_str config_scalar(const yaml_node_t *n); /* empty when it is none */
bool config_is_null(const yaml_node_t *n);      /* nothing, or the word for it */
/* "a list", "a mapping", "nothing", "a text". */
const char *config_kind_words(const yaml_node_t *n);

/* The nearest of some names to a wrong one, empty when none is near. Feed them one by one. */
typedef struct nearest {
    daruma_str wrong, best;
    size_t distance;
} nearest;
nearest nearest_to(daruma_str wrong);
void nearest_try(nearest *n, daruma_str name);

/* ${NAME} replaced, "$${" is "${". What has neither is borrowed, else it lives in the arena. */
bool config_expand(config_reader *r, daruma_str text, daruma_str *ret);
/* Reads `text` as a value of the row into its field of `base`. */
bool config_value(config_reader *r, const option *o, daruma_str text, void *base);

static inline void *config_field(void *base, const option *o)
{
    return (char *)base + o->at;
}
#endif
