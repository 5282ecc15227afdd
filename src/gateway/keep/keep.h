/* keep.h - what outlives a request: keys, and what is known, in a file and with other replicas. */
#ifndef GATEWAY_KEEP_H
#define GATEWAY_KEEP_H
#include "gateway/inside.h"

/* ---- keys.c: secrets and the commands that print them ---- */

struct key_state {
    char *secret; /* malloc'd; NULL: not fetched yet */
    size_t secret_n;
    bool running;      /* the command is under way */
    bool refreshed;    /* fetched anew since the last success */
    exchange *waiting; /* exchanges that go on when it ends, linked by next_waiting */
    const config_key *key;
    const config_provider *provider; /* whose it is */
    char why[96];                    /* the command gave no key; empty: it did */
};

/* The secret of a provider's key if it is at hand. */
bool key_ready(const key_state *k, daruma_str *secret);
/* Runs the key's command and calls exchange_ops.key_here() for `x` (NULL: nobody waits) afterwards. */
void key_fetch(setup *s, key_state *k, exchange *x);
void key_forget(key_state *k, exchange *x); /* x does not wait any more */
void keys_stop(gateway *g);                 /* ends every command under way */

/* ---- state.c: what is known, kept in a file ---- */

/* Reads what was known and keeps it up to date in `folder` from here on. NULL without memory. */
state *state_open(gateway *g, daruma_str folder);
void state_touched(state *s); /* something became known; NULL: nobody keeps it */
void state_secret(const state *s,
                  const gateway *g); /* keeps the secret that replicas agreed on; NULL: nobody keeps it */
void state_close(state *s);          /* writes what is known and lets go; before the driver ends */

/* ---- replicas.c: several daruma that share a store ---- */

/* Begins to share what is known with all who use that store. NULL without memory. */
replicas *replicas_open(gateway *g, const store_place *at);
/* Health may have changed, and with `learned` what else is known; NULL: nothing is shared. */
void replicas_touched(replicas *r, bool learned);
void replicas_close(replicas *r); /* before the driver ends */
#endif
