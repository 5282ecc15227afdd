/* gateway.h - `daruma serve`: one process, one loop. Holds what outlives a request: the
 * configuration in force, health, sessions, counters, the event log. */
#ifndef GATEWAY_GATEWAY_H
#define GATEWAY_GATEWAY_H
#include "gateway/config/config.h"
#include <uv.h>

typedef struct gateway gateway;

typedef struct gateway_options {
    const char *config_file; /* NULL: zero configuration, unless there is a text */
    const char *config_text; /* the configuration itself, when there is no file; must outlive the gateway */
    const char *listen;      /* "host:port" over the file's; NULL: the file's */
    int socket;              /* that listens already, at `listen`; 0 none */
    int sockets;             /* and those behind it: how many */
    bool quiet;              /* keeps events off stderr, whatever the configuration says */
    bool own;                /* for one program that it is started for: `clients` and TLS are left out */
    bool loud;               /* writes them there, whatever the configuration says */
} gateway_options;

/* Starts listening. On failure NULL, and in `why` a sentence, or the lines of conf_mistakes_say(). */
gateway *gateway_start(uv_loop_t *loop, const gateway_options *o, daruma_buf *why);
int gateway_port(const gateway *g);
const config *gateway_config(const gateway *g); /* the one in force */
/* Reads the file again; what is under way ends under the old configuration. False: it stays, `why` says why. *waits:
 * what the file says of `listen` and `limits` has to wait for the next start. */
bool gateway_reload(gateway *g, bool *waits, daruma_buf *why);
/* Stops accepting, lets requests end, then calls done. A second call stops at once. */
void gateway_drain(gateway *g, void (*done)(void *user), void *user);
void gateway_close(gateway *g);

/* Did anybody come so far? */
bool gateway_asked(const gateway *g);
/* One paragraph for people: what was recovered and what was not. */
void gateway_summary(const gateway *g, daruma_buf *out);
#endif
