/* door.h - who is let in: what is refused before it is one of the counted requests. */
#ifndef GATEWAY_DOOR_H
#define GATEWAY_DOOR_H
#include "base/str.h"
#include "daruma.h"
#include "net/server.h"
#include "gateway/config/config.h"
#include "gateway/gateway.h"

typedef struct setup setup;

/* Why a request is refused at the door, before it is one of the counted requests. */
typedef enum refusal {
    REFUSED_HOST,
    REFUSED_ORIGIN,
    REFUSED_PATH,
    REFUSED_UNKNOWN_PATH,
    REFUSED_TOKEN,
    REFUSED_MODEL,
    REFUSED_RATE,
    REFUSED_BODY,
    REFUSED_ROOM,
    REFUSALS
} refusal;
typedef struct refused_count {
    uint64_t all, untold; /* and those since the last event */
    daruma_ms told_at;    /* that event; 0 none */
} refused_count;

/* ---- guard.c ---- */

/* Refuses, on a gateway that listens on the loopback, pages of other sites (Origin, Sec-Fetch-Site) and requests for
 * another host's name (Host). False: the request is neither. */
bool guard_refuses(gateway *g, call *c);
/* True if guard_refuses() would let the request pass. */
bool guard_welcomes(const config *c, const http_head *h);
/* Answers 426 to a WebSocket handshake; false: it is none. */
bool upgrade_refuses(call *c);

/* ---- paths.c ---- */

/* Refuses a path that could leave the base URL of a provider, with 400. False: it cannot. */
bool path_refused_form(gateway *g, call *c);
/* Refuses a path that no API has and that `passthrough` does not open, with 404. `d`: the dialect of the path, or NULL.
 * False: it goes to a provider. */
bool path_refused_unknown(gateway *g, call *c, const dialect *d);
/* A segment of a path, or a value of a query, with its escapes undone. *bad: it may be read in two ways, or there is no
 * memory; else it stays as it was. */
daruma_str path_text(daruma_str raw, daruma_arena *a, bool *bad);
/* May that segment stand before the first word of an API's path? A version, or a prefix that gateways use. */
bool path_is_lead(daruma_str segment);

/* ---- lock.c: who may come in ---- */

/* Refuses, where `clients` are configured, who shows no token of theirs (401), asks for a model that is not its (403),
 * or has asked too often (429). Else *ret is the client, of g->now; it stays as it was where there are none. Not NULL
 * before: who it is is known already. `d`: the dialect of the path, or NULL. *read: what it found in the body, where it
 * was read for that; else it is not ok. */
bool lock_refuses(gateway *g, call *c, const dialect *d, session_read *read, const config_client **ret);
/* Refuses who may not see what daruma knows: no admin token, or none is configured and daruma listens beyond the
 * loopback. */
bool lock_refuses_admin(gateway *g, call *c);
/* Is it a token of one of our clients, with or without "Bearer"? Such a one goes to no provider. */
bool lock_is_token(const config *c, daruma_str value);
/* The client whose token the request shows; NULL: nobody's. */
const config_client *lock_client(const config *c, const http_head *h);
/* May that client (NULL: anybody) ask for the model? */
bool lock_allows(const config_client *k, daruma_str model);
bool lock_prepare(setup *s); /* what clients had left of their rates goes on; false: there is no memory */

/* ---- refuse.c ---- */

/* Answers with an error of daruma's own, in the form of the dialect that the request speaks, and ends the call. It is
 * counted, and told in an event, the first of many at a time. `wait`: after that it may be asked again, -1 never. True.
 */
bool call_refuse(gateway *g, call *c, refusal why, int status, daruma_kind kind, daruma_ms wait, daruma_str message);
/* Counts and tells a request that the server refuses before it is whole, and says what its client reads:
 * server_ops.refusal. */
void call_words(const http_head *h, int status, const char *words, daruma_buf *out, void *user);
const char *refusal_name(refusal why);                   /* static */
void refusals_status(const gateway *g, daruma_buf *out); /* a member of a JSON object: how many, by reason */
#endif
