/* demo_show.h - the demonstration's own requests: each failure once without daruma and once through it. */
#ifndef CLI_DEMO_SHOW_H
#define CLI_DEMO_SHOW_H
#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

/* A model that fails in its own way. */
typedef struct demo_try {
    const char *model, *what; /* what: how it fails, and what is done about it */
    const char *rest;         /* of the body, behind the model */
} demo_try;

typedef struct demo_show demo_show;

/* Sends one request after the other and prints what came of each; done() when all are over. The ports are the faulty
 * provider's and the gateway's, on this machine. NULL without memory. */
demo_show *demo_show_start(uv_loop_t *loop, int provider, int gateway, const demo_try *tries, size_t n,
                           void (*done)(void *user), void *user);
/* Ends it, also in the middle; done() does not follow. */
void demo_show_close(demo_show *s);
#endif
