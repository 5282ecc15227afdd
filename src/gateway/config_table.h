/* config_table.h - the options of the configuration file, as rows. Reading, bounds, "did you mean", defaults, the
 * summary of `daruma check --options` and doc/config.md are made from them; nothing else knows an option's name.
 *
 *     timeouts.connect            a member of a group
 *     providers[].name            a member of every element of a list
 *     models[].targets[]          the element itself, where it is one value
 *     recovery.kinds.*.delay      a member of what stands under a free name
 *
 * Rows are read in the order of the table, whatever the order in the file: a row may rely on those above it. */
#ifndef GATEWAY_CONFIG_TABLE_H
#define GATEWAY_CONFIG_TABLE_H
#include "gateway/config.h"

typedef enum option_type {
    OPTION_GROUP, /* a mapping; its members lie in the same struct */
    OPTION_LIST,  /* a sequence of structs or values */
    OPTION_NAMED, /* a mapping whose keys are free or names of something */
    OPTION_STRING,
    OPTION_NAME, /* letters, digits, '.', '_', '-': goes into headers, events and targets */
    OPTION_DURATION,
    OPTION_SIZE,
    OPTION_INTEGER,
    OPTION_FRACTION, /* kept in thousandths */
    OPTION_BOOL,
    OPTION_ENUM,
    OPTION_TERMINAL, /* a bool that may be left to whether stderr is a terminal */
    OPTION_LISTEN,
    OPTION_URL,
    OPTION_PROXY,
    OPTION_DIALECT,
    OPTION_PROFILE,
    OPTION_TARGET,
    OPTION_TYPES
} option_type;

enum option_flag {
    OPTION_REQUIRED = 1 << 0,
    OPTION_SECRET = 1 << 1, /* never shown, not even in an error */
    OPTION_LINES = 1 << 2,  /* may have several lines */
};

typedef struct config_reader config_reader;

/* How the elements of a list, or what stands under free names, are kept and judged. */
typedef struct option_list {
    size_t items, count, size; /* offsets of pointer and number in the struct around it; bytes of one element */
    size_t min, max;           /* elements */
    /* Where the value under the free name goes; NULL and an error told when the name will not do. */
    void *(*named)(config_reader *r, void *base, void *item, daruma_str key);
    /* An element was read: do its parts fit together, and with those before it? Errors are told. */
    bool (*fits)(config_reader *r, void *base, void *item, size_t index);
    /* The file has no such key. */
    bool (*absent)(config_reader *r, void *base);
} option_list;

typedef struct option {
    const char *path;
    option_type type;
    unsigned flags;
    size_t at, size;      /* of the field in its struct */
    int64_t min, max;     /* ms, bytes, count, thousandths, or bytes of a string; both 0: no bounds */
    const char *fallback; /* read like a value of the file where there is none; NULL: the field stays */
    const char *says;     /* shown as the default instead of `fallback` */
    const char *env;      /* "a A": the first of these variables that is set comes before the fallback */
    const char *word;     /* this word */
    int64_t word_is;      /*   stands for that number */
    const char *words;    /* of an enum, in its order, separated by spaces */
    const option_list *list;
    const char *help;
} option;

extern const option options[];
extern const size_t noptions;

/* The name of `row` when it stands directly in `parent` (NULL: at the top); else empty. */
daruma_str option_name_in(const option *parent, const option *row);
/* The row of the elements of a list, or of what stands under a free name, where these are single values; else NULL. */
const option *option_element(const option *list);
/* Some option has this last name, and none that has it is secret (secret: some such is). */
bool option_known(daruma_str name, bool *secret);

/* "a duration like 5s, from 10ms to 1h": what a value of this row has to be. */
void option_expects(const option *o, daruma_buf *out);

/* Hooks of the rows, in config_parts.c. */
extern const option_list config_list_hosts, config_list_passthrough, config_list_providers, config_list_keys,
    config_list_headers, config_list_models, config_list_targets, config_list_kinds;
#endif
