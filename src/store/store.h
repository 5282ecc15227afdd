/* store.h - a place that several processes share: values under names, and words that all of them hear. It is Redis or
 * Valkey, spoken to by hiredis. Nothing here waits: what cannot be done now is not done, and `ready` and `lost` say how
 * it stands. All functions are called from the loop's thread, and so are the callbacks. */
#ifndef STORE_STORE_H
#define STORE_STORE_H
#include "daruma_parts.h"
#include <uv.h>

typedef struct store store;

enum { STORE_PORT = 6379, STORE_DATABASE_MAX = 65535 };

/* Where it is. The strings are copied. */
typedef struct store_place {
    daruma_str host;
    int port;
    daruma_str user, password; /* empty: it asks for none */
    daruma_str channel;        /* where words are said and heard */
    int database;
} store_place;

typedef struct store_ops {
    /* From here on it answers: at first, and when it is back. Where it comes and goes `news` is false until it stays;
     * then it is said again. */
    void (*ready)(void *user, bool news);
    /* It cannot be reached, or no longer; said once until it is ready. `news`: as above. */
    void (*lost)(void *user, const char *why, bool news);
    void (*refused)(void *user, const char *why); /* it is there and takes something not; said once until it is ready */
    void (*heard)(void *user, daruma_str text);   /* somebody said it, perhaps we ourselves; borrowed */
} store_ops;

/* Begins to reach it, and goes on until it is closed. NULL without memory. `ops` lives as long as the store. */
store *store_open(uv_loop_t *loop, const store_place *to, const store_ops *ops, void *user);
/* Lets go; nothing is called afterwards. The memory is given back when the loop has closed its handles. */
void store_close(store *s);

/* May something be asked? False: it cannot be reached, or has yet to answer STORE_UNDER_WAY_MAX others. */
bool store_free(const store *s);
/* Keeps `value` under `name` for STORE_KEPT_S seconds; not while an earlier one is on its way. */
void store_set(store *s, const char *name, daruma_str value);
/* Says it to all who listen. False: it was not sent. */
bool store_say(store *s, daruma_str text);
/* Calls `got` with the value under `name`, borrowed; an empty one where there is none. Never, when it is lost first. */
void store_get(store *s, const char *name, void (*got)(void *user, daruma_str value));
/* The same, and where there was none all agree on `value`, for as long as the store has it. */
void store_agree(store *s, const char *name, daruma_str value, void (*got)(void *user, daruma_str value));
#endif
