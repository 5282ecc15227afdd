/* script.h - what a user wrote: which models and keys there are, what goes wrong when, and what must be true at the
 * end. Every key is a row of a table in script.c; --list, the flags of the command line and the mistakes come from it.
 */
#ifndef CHAOS_SCRIPT_H
#define CHAOS_SCRIPT_H
#include "chaos/faults.h"
#include "chaos/turns.h"
#include "conf/conf.h"

typedef struct script_model {
    daruma_str name;
    model_limits limits;
    manner manner;
    scripted *answers; /* in order; behind the last it goes in circles, or answers by the request alone */
    size_t nanswers;
    loop_manner loop;
    int64_t given; /* how many scripted answers it has given, those of the loop too */
} script_model;

typedef struct script_key {
    daruma_str value;   /* the secret */
    daruma_str account; /* its owner; empty: nobody in particular */
    daruma_str name;    /* for reports: as written, or "key1" in order */
    int64_t limit;      /* calls that it may make, 0: any number ... */
    int64_t tokens;     /* tokens of input that it may send, 0: any number ... */
    daruma_ms per;      /* ... in so long */
    int64_t used;       /* calls of the window at hand ... */
    daruma_ms until;    /* ... which ends then */
    int64_t spent;      /* tokens that are not back yet ... */
    daruma_ms spent_at; /* ... then */
} script_key;

/* What can be expected. */
typedef struct expect_row {
    const char *name;
    size_t all;       /* a number of `report`; EXPECT_SUM: the sum of ... */
    size_t each;      /* ... its tally by subject; 0: it is not counted one by one */
    const char *bare; /* what a bare number means: "==" */
    /* Is there such a subject? False: that was told. NULL: there may be any. */
    bool (*subject)(conf *r, daruma_str word);
} expect_row;
#define EXPECT_SUM ((size_t)-1)

/* One thing that must be true at the end: WHAT of SUBJECT is OP VALUE. */
typedef struct expect {
    const expect_row *what;
    daruma_str subject; /* a model or a kind of fault; empty: all together */
    char op[3];         /* "<=", "==", ... */
    int64_t value;
    daruma_str text; /* as written, for reports */
} expect;

typedef struct script {
    daruma_arena memory;
    uint32_t users;       /* who holds it: script_drop() */
    struct script *of[3]; /* whose models, keys and expectations it has, where it does not say them itself */
    conf_address listen;  /* no host when not said */
    int64_t seed;         /* 1 when not said */
    script_model *models;
    size_t nmodels; /* 0: any model will do */
    script_key *keys;
    size_t nkeys; /* 0: any key will do */
    fault *faults;
    size_t nfaults;
    expect *expects;
    size_t nexpects, expects_cap;
    int64_t keep; /* so many requests are kept as they came */
    bool says_seed, says_models, says_keys, says_faults, says_expect, says_keep; /* which parts it has */
} script;

/* Reads a script; NULL and *m when something is wrong with it. `file`: its name, for *m; may be NULL. The caller holds
 * it. */
script *script_read(daruma_str yaml, const char *file, conf_mistakes *m);
script *script_hold(script *s);
void script_drop(script *s); /* the last one to hold it frees it; NULL allowed */
/* What `b` does not say is that of `a`, which lives on for it: a new script replaces only the parts it has. */
void script_inherit(script *b, script *a);

/* The names of what a fault may say, for flags: "model", "times", ...; NULL behind the last. `words` may be NULL. */
const char *script_fault_key(size_t i, const char **words);
#endif
