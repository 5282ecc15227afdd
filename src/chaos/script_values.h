/* script_values.h - reads YAML by tables of options: a mapping into a struct, with errors that say where and what was
 * meant. */
#ifndef CHAOS_SCRIPT_VALUES_H
#define CHAOS_SCRIPT_VALUES_H
#include "chaos/script.h"
#include <stddef.h>
#include <yaml.h>

typedef struct reader {
    yaml_document_t *doc;
    daruma_arena *a;
    script_error *err;
} reader;

/* How the value of an option is read. */
typedef enum option_type {
    OPT_TEXT,   /* daruma_str */
    OPT_COUNT,  /* int64_t, not negative */
    OPT_SHARE,  /* int64_t: 0.2 is 200 thousandths */
    OPT_TIME,   /* daruma_ms: 500ms, 2s */
    OPT_BOOL,   /* bool */
    OPT_EITHER, /* int: true is 1, false 0 */
    OPT_CHOICE, /* an enum: the number of one of `choices` */
    OPT_OWN,    /* as `read` does it */
} option_type;

typedef struct option {
    const char *name;
    option_type type;
    size_t at; /* offset of the field */
    const char *words;
    const char *const *choices;                                 /* NULL behind the last */
    bool (*read)(reader *r, const yaml_node_t *v, void *field); /* false: an error is set */
} option;

#define AT(type, field) offsetof(type, field)
#define COUNT(table)    (sizeof table / sizeof *table)

/* Sets the error, of which the first counts; false. */
bool wrong(reader *r, const yaml_node_t *n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "unknown key `tims`; did you mean `times`?" */
bool unknown(reader *r, const yaml_node_t *at, const char *what, const char *const *names, size_t n);

daruma_str scalar_text(const yaml_node_t *n); /* empty when it is no scalar */
yaml_node_t *node(reader *r, int id);
size_t pairs_of(const yaml_node_t *map);
void pair(reader *r, const yaml_node_t *map, size_t i, yaml_node_t **key, yaml_node_t **value);
/* A mapping in which each key stands once. */
bool read_map(reader *r, const yaml_node_t *map, const char *wants);
bool read_bool(daruma_str s, bool *ret);
const option *find_option(const option *rows, size_t n, daruma_str name);
bool read_value(reader *r, const option *o, const yaml_node_t *v, void *into);
/* A mapping of options into a struct. An empty value is an empty mapping. */
bool read_options(reader *r, const yaml_node_t *map, const option *rows, size_t n, const char *wants, void *into);

/* `models`, in script_models.c. */
bool read_models(reader *r, const yaml_node_t *v, script *s);
/* A copy of an entry that lives with another script. */
script_model model_kept(const script_model *m, daruma_arena *a);
#endif
