/* gateway.h - `daruma serve`: one process, one loop. Holds what outlives a request: the
 * configuration in force, health, sessions, counters, the event log. */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H
#include "gateway/config.h"
#include <uv.h>

typedef struct gateway gateway;

typedef struct gateway_options {
    const char *config_file; /* NULL: zero configuration, unless there is a text */
    const char *config_text; /* the configuration itself, when there is no file; must outlive the gateway */
    const char *listen;      /* "host:port" over the file's; NULL: the file's */
    bool quiet;              /* keeps events off stderr, whatever the configuration says */
    bool loud;               /* writes them there, whatever the configuration says */
} gateway_options;

/* Starts listening. On failure NULL and a sentence in `why`. */
gateway *gateway_start(uv_loop_t *loop, const gateway_options *o, char why[512]);
int gateway_port(const gateway *g);
const config *gateway_config(const gateway *g); /* the one in force */
/* Reads the file again; what is under way ends under the old configuration. False: it stays, `why` says so. True: `why`
 * says what has to wait for the next start, or is empty. */
bool gateway_reload(gateway *g, char why[512]);
/* Stops accepting, lets requests end, then calls done. A second call stops at once. */
void gateway_drain(gateway *g, void (*done)(void *user), void *user);
void gateway_close(gateway *g);

/* What happened so far. */
typedef struct gateway_counts {
    uint64_t requests, ok, recovered, explained, failed, cancelled, degraded; /* of recoverable routes, by outcome */
    uint64_t passed;                                                          /* requests on other paths */
    uint64_t unchecked;                 /* answers that went out unread: encoded, or too large */
    uint64_t side_calls;                /* questions of our own: summaries and the like */
    uint64_t jobs;                      /* pieces of work on large requests, done beside the loop */
    uint64_t calls;                     /* to providers */
    uint64_t hedges;                    /* ... of them beside a silent one */
    uint64_t hedges_won;                /* ... of which so many became the answer, or went on for one that failed */
    uint64_t waited_ms;                 /* in backoff, all requests together */
    uint64_t wasted_ms;                 /* in calls that failed */
    uint64_t kinds[DARUMA_KINDS];       /* failures by kind */
    uint64_t remedies[DARUMA_REMEDIES]; /* remedies by kind */
    uint64_t saved[DARUMA_KINDS];       /* requests recovered, by the kind of their last failure */
} gateway_counts;
/* Did anybody come so far? */
bool gateway_asked(const gateway *g);
/* One paragraph for people: what was recovered and what was not. */
void gateway_summary(const gateway *g, daruma_buf *out);
#endif
