/* clairvoyant.h - the two that daruma is measured against. Neither remembers anything from one request to the next, so
 * each is a function of one request. */
#ifndef SIM_CLAIRVOYANT_H
#define SIM_CLAIRVOYANT_H
#include "sim/world.h"

typedef struct sim_answer {
    bool answered;   /* whole, before the client's deadline */
    uint32_t calls;  /* that it took */
    daruma_ms ended; /* when it was answered, or given up */
    daruma_ms usual; /* what an answer usually takes where it was asked last */
} sim_answer;

/* Who knows when every fault begins and ends, but not the dice of single calls: the best that was possible for request
 * `r` that came at `at`. It goes where a fault delays it least, to the first such target of the list; waits at most
 * `patience` before its last call; needs a call for an answer, and one for a refusal. It keeps the rules: what failed
 * by chance is repeated after a backoff, a wait that is named and longer than a minute is nobody's, and that an outage
 * of all calls is over has to be seen by a call of somebody first. What begins later it does not foresee. */
sim_answer sim_clairvoyant(const sim_world *w, int r, daruma_ms at, daruma_ms patience);

/* A client that asks the first target itself, with two retries: 0.5 s, then doubled, at most 8 s, less up to a quarter,
 * or what Retry-After says up to 60 s. The rules of the SDKs of OpenAI and Anthropic. */
sim_answer sim_direct(const sim_world *w, int r, daruma_ms at);
#endif
