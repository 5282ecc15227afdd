/* conf.h - reads a YAML file by tables of options. The host hands over its tables: names, types, bounds, defaults, and
 * where each value goes. The reader walks them down the document, fills the host's structs, and collects all mistakes
 * with their places. It knows types of values; what an option means is the host's.
 *
 *     timeouts.connect            a member of a group
 *     providers[].name            a member of every element of a list
 *     models[].targets[]          the element itself, where it is one value
 *     recovery.kinds.*.delay      a member of what stands under a free name
 *
 * Rows are read in the order of their table, whatever the order in the file: a row may rely on those above it. */
#ifndef CONF_CONF_H
#define CONF_CONF_H
#include "base/limits.h"
#include "base/str.h"
#include "daruma_parts.h"
#include <stddef.h>

typedef struct conf conf;
typedef struct conf_option conf_option;
typedef struct conf_shape conf_shape;
typedef struct yaml_node_s conf_node;
/* The value of an environment variable; *found false when it is not set. */
typedef daruma_str (*conf_env)(daruma_str name, bool *found, void *user);

/* ---- tables ---------------------------------------------------------------------- */

typedef enum conf_type {
    CONF_GROUP, /* a mapping with the members of its shape */
    CONF_LIST,  /* a sequence; the field is a pointer, with the number of elements (size_t) behind it */
    CONF_NAMED, /* a mapping under free names; kept as a list is */
    CONF_JSON,  /* daruma_str: a single value as it is, anything else as JSON */
    CONF_NODE,  /* anything; `node` reads it */
    /* single values; numbers are kept as int64_t, uint32_t (enums, too) or bool, by the field's size */
    CONF_TEXT,     /* daruma_str, with a NUL behind it */
    CONF_NAME,     /* the same, of letters, digits, '.', '_', '-' */
    CONF_DURATION, /* milliseconds */
    CONF_SIZE,     /* bytes */
    CONF_INTEGER,  /* not negative */
    CONF_FRACTION, /* in thousandths */
    CONF_BOOL,     /* 0 or 1 */
    CONF_ENUM,     /* which one of `words` */
    CONF_ADDRESS,  /* conf_address */
    CONF_VALUE,    /* what `value` reads */
} conf_type;

enum conf_flag {
    CONF_REQUIRED = 1 << 0,
    CONF_SECRET = 1 << 1,    /* never shown, not even in a mistake */
    CONF_LINES = 1 << 2,     /* may have several lines */
    CONF_OR_SINGLE = 1 << 3, /* a list that may also be its one element */
    CONF_OR_LIST = 1 << 4,   /* a value that may also be a list of several: it is read with commas between them */
};

struct conf_option {
    const char *name; /* its key; NULL: the element of a list, or of names, itself */
    conf_type type;
    unsigned flags;
    size_t at, size;         /* of the field in the struct around it */
    int64_t min, max;        /* ms, bytes, count, thousandths, or bytes of a text; max 0: no end */
    const char *fallback;    /* read like a value of the file where there is none; NULL: the field stays */
    const char *says;        /* printed as the default instead of `fallback` */
    const char *env;         /* "a A": the first of these variables that holds something comes before the fallback */
    const char *word;        /* this word */
    int64_t word_is;         /*   stands for that number */
    const char *words;       /* of an enum, in its order, separated by spaces */
    const char *expects;     /* what a CONF_VALUE or CONF_NODE has to be: "a URL like https://api.openai.com" */
    const conf_shape *shape; /* of a group, a list, or names */
    /* These return false after they told what is wrong. */
    bool (*value)(conf *r, const conf_option *o, daruma_str text, void *field);
    bool (*node)(conf *r, const conf_option *o, const conf_node *n, void *field);
    void (*show)(const void *root, const void *field, daruma_buf *out); /* of a CONF_VALUE: its text */
    size_t said; /* offset of a bool that becomes true when the file has the key; 0 none */
    const char *help;
};

typedef struct conf_rows {
    const conf_option *at;
    size_t n;
} conf_rows;

/* What a group, or each element of a list or of names, consists of. */
struct conf_shape {
    conf_rows of;               /* its members, when it is a mapping */
    const conf_option *element; /* its row, when it is a single value, or when it has no members */
    const char *like;           /* an example for messages; may be NULL */
    size_t size;                /* bytes of one element; 0: elements read into the struct around the list */
    size_t min, max;            /* elements */
    const void *blank;          /* what an element is before it is read; NULL: all zero */
    /* Lists: names (daruma_str at `name_at`) are unique. Names: the free name is kept at `name_at`. */
    const char *thing; /* what a name is of, in messages: "provider"; NULL: names are not looked at */
    size_t name_at;
    /* The names that keys may have beside those of `of`, NULL behind the last; NULL: a group has no such, free names
     * may be any. In a group `further` reads the value of such a key, which is r->key. */
    const char *(*names)(size_t i);
    const conf_option *further;
    /* Where the value under a free name goes; NULL after it told why the name will not do. NULL: into the item. `r` is
     * NULL when nothing is read, but printed. */
    void *(*named)(conf *r, void *base, void *item, daruma_str key);
    /* Tells what does not fit together in an item that is otherwise right. `base` is the struct around the list. */
    void (*fits)(conf *r, void *base, void *item, size_t index);
    void (*absent)(conf *r, void *base); /* the file has no such key */
};

#define CONF_AT(type, field) .at = offsetof(type, field), .size = sizeof(((type *)0)->field)
/* A pointer with the number behind it: `keys` and `nkeys`. */
#define CONF_ITEMS(type, field)                                                                                        \
    .at = offsetof(type, field) +                                                                                      \
          0 * sizeof(char[offsetof(type, n##field) == offsetof(type, field) + sizeof(void *) ? 1 : -1])
#define CONF_ROWS(table)                                                                                               \
    {                                                                                                                  \
        (table), COUNT(table)                                                                                          \
    }

typedef struct conf_address {
    daruma_str host; /* an IP address, without brackets */
    int port;
} conf_address;

/* ---- mistakes -------------------------------------------------------------------------- */

typedef struct conf_mistake {
    int line, column;   /* counted from 1; 0: it has no place in the file */
    char key[200];      /* "timeouts.connect"; may be empty, and is cut when longer */
    char what[400];     /* what is wrong: "expected a duration like 5s, found "soon"" */
    char expected[300]; /* what the value has to be, where that can be said: "a duration like 5s" */
    char remedy[300];   /* what to do: "add a unit, e.g. 5s"; may be empty */
    char excerpt[200];  /* the line, what could be secret masked; empty when there is none to show */
    int caret;          /* characters of the excerpt before the place */
    size_t shown;       /* bytes of the line from the place on that `what` repeats, and that are not masked */
} conf_mistake;

/* All that is wrong with a file, in the order of its lines. */
typedef struct conf_mistakes {
    conf_mistake at[CONF_MISTAKES_MAX];
    size_t n, more;   /* `more` are counted and not kept: those with the highest lines */
    const char *file; /* NULL: they are not about a file */
} conf_mistakes;

/* "timeouts.connect: expected a duration like 5s, found "soon"; add a unit". */
void conf_mistake_say(const conf_mistake *m, daruma_buf *out);
/* Each as "FILE:LINE:COLUMN: " and that, with the line and a caret below it. */
void conf_mistakes_say(const conf_mistakes *m, daruma_buf *out);
/* [{"line":1,"column":2,"key":"...","message":"...","expected":"...","remedy":"..."}, ...]; the last two where there
 * are */
void conf_mistakes_json(const conf_mistakes *m, daruma_buf *out);

/* ---- reading ------------------------------------------------------------------------------ */

/* What a host hands over. */
typedef struct conf_host {
    const conf_shape *root; /* of the whole document */
    const char *what;       /* "configuration": what messages call the file */
    const char *file;       /* its name, for m->file; may be NULL */
    size_t bytes_max;       /* of the file */
    conf_env env;           /* replaces ${NAME} and answers for `env` of a row; NULL: ${NAME} is text */
    void *user;             /* for `env`, `settle` and the hooks of the tables, as r->user */
    daruma_str (*redact)(daruma_str text, daruma_arena *a); /* takes credentials out of messages; may be NULL */
    bool open;                                              /* nothing in such a file is secret */
    /* Called when all was read without a mistake: may tell what does not fit together. May be NULL. */
    void (*settle)(conf *r, void *root);
} conf_host;

/* One reading, as the hooks see it. */
struct conf {
    const conf_host *host;
    void *user;            /* the host's */
    void *root;            /* the struct that is filled */
    daruma_arena *a;       /* what is read lives here */
    daruma_str key;        /* of a CONF_NODE under a further or a free name */
    daruma_str raw;        /* a value as the file says it, before ${NAME}: what a mistake may show */
    const conf_node *node; /* where we are; NULL: at something that the file does not say */
    size_t told;           /* mistakes so far, also those that are not kept */
    conf_mistakes *to;     /* where they are kept */
    /* the reader's own */
    daruma_str text, from;       /* the file; the variable that a value comes from */
    int line, column;            /* of a place that is no node; 0 none */
    struct yaml_document_s *doc; /* NULL: no file */
    char path[200];
    size_t npath;
    int silent;   /* what is read now follows from a mistake that is told: it is counted only */
    bool once;    /* the next mistake is told at its first place only */
    size_t shown; /* ... and repeats so many bytes from its place on */
};

/* Reads YAML text into `root`; text.p NULL: as if there were no file. Everything lives in `a`. False: *m has at least
 * one mistake, and *root is not to be used. */
bool conf_read(daruma_str text, const conf_host *h, void *root, daruma_arena *a, conf_mistakes *m);

/* For hooks. Tells a mistake at r->node; returns false. The format says what is wrong and, behind a "\n", what to do.
 * What comes from the file goes through conf_word() first. `expected`: what the value has to be, NULL when there is no
 * such. */
bool conf_tell(conf *r, const char *expected, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define conf_wrong(r, ...) conf_tell(r, NULL, __VA_ARGS__)
/* "expected ..., found ...": the node, or its value r->raw, is not what the row wants. `remedy` may be NULL. */
bool conf_expected(conf *r, const conf_option *o, const char *remedy);
/* There is no memory left: the one mistake that ends the reading. */
bool conf_full(conf *r);
/* A word of the file for a message: cut, without control characters. Lives in `a`. */
daruma_str conf_word(conf *r, daruma_str word);
/* Goes to "providers[2].url", or as near as the file has something. */
void conf_go(conf *r, const char *path);
/* Goes to a node of the element at hand. */
void conf_at(conf *r, const conf_node *n);
int conf_line(const conf *r); /* where we are, counted from 1; 0: nowhere in the file */
/* Steps into a member of the element at hand, until conf_back(r, mark). The node stays where it was when there is none.
 */
size_t conf_step(conf *r, const char *member);
void conf_back(conf *r, size_t mark);
/* True if the element at hand has the key. */
bool conf_has(conf *r, const char *key);

/* Reads a value of a row into its field. */
bool conf_value(conf *r, const conf_option *o, daruma_str text, void *base);
void conf_option_read(conf *r, const conf_option *o, const conf_node *n, void *base);
/* Reads the members of a mapping that stands instead of a value, or tells that it is none. */
void conf_members(conf *r, const conf_shape *s, const conf_node *n, void *base);
const conf_option *conf_row(const conf_shape *s, daruma_str name); /* NULL: it has none of that name */

/* Nodes, for CONF_NODE. */
daruma_str conf_text_of(const conf_node *n); /* empty when it is no single value */
bool conf_is_single(const conf_node *n);
bool conf_is_map(const conf_node *n);
bool conf_is_null(const conf_node *n); /* nothing, or the word for it */
/* The pairs of a mapping: false behind the last. A key that stands twice is told. Steps into the value. */
bool conf_next(conf *r, const conf_node *map, size_t *i, daruma_str *key, const conf_node **value, size_t *mark);
bool conf_is_bool(daruma_str s, bool *ret);

/* The nearest of some names to a wrong one, and a list of them. Feed them one by one, then ask. */
typedef struct conf_near {
    str_near to;
    char known[160]; /* "a, b, ..." */
    size_t n;
} conf_near;
conf_near conf_near_to(daruma_str wrong);
void conf_near_try(conf_near *n, daruma_str name);
/* "unknown kind `rate_limt`; did you mean `rate_limit`?", or which there are. Returns false. */
bool conf_unknown(conf *r, const char *what, const conf_near *n);

/* Reads "127.0.0.1:4141", ":4141", "[::1]:0". False: `why` says what to do. */
bool conf_address_read(daruma_str s, daruma_arena *a, conf_address *ret, const char **why);

/* ---- printing ------------------------------------------------------------------------------ */

/* "a duration like 5s from 10ms to 1h, or none": what a value of this row has to be. */
void conf_expects(const conf_option *o, daruma_buf *out);
/* Every option with type, bounds, default and help, as a Markdown table. */
void conf_print_options(const conf_shape *root, daruma_buf *out);
/* What was read, as a JSON object with a member for each option, secrets as "[redacted]". */
void conf_print_values(const conf_shape *root, const void *at, daruma_buf *out);
#endif
