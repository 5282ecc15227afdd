/* host.h - runs a world in virtual time on the real decisions: a host for cases as the gateway is one, without I/O. */
#ifndef SIM_HOST_H
#define SIM_HOST_H
#include "sim/world.h"

/* What became of one request. */
typedef struct sim_ending {
    daruma_ms arrived, ended;
    uint32_t calls;  /* in all */
    uint32_t sick;   /* of them to a place that was known to be sick: a call had failed there since it became so */
    uint32_t blind;  /* of them that failed at a place of which nobody had been told yet that it is sick */
    uint32_t hedges; /* of them beside a silent call */
    bool came;       /* it was sent at all: an agent whose turn never came sends none */
    bool answered;   /* whole */
    bool first;      /* ... by its only call, which went out at once to the model that stands first in the list */
    bool left;       /* the client left before its deadline, for no reason of ours */
} sim_ending;

/* What must always hold (the numbers are those of the design). X(symbol, in words) */
#define SIM_RULE_MAP(X)                                                                                                \
    X(NONE, "nothing is wrong")                                                                                        \
    X(ENDS, "a case has exactly one outcome, and its world ends")                                                      \
    X(ATTEMPTS, "a case makes no more attempts than its ladder allows")                                                \
    X(DEADLINE, "no call goes out after the deadline")                                                                 \
    X(ADMISSION, "after an admission comes exactly one of next, done, drop")                                           \
    X(PROBE, "a breaker lets one probe through at a time")                                                             \
    X(EPOCH, "an answer from an older epoch opens and closes nothing")                                                 \
    X(LEAVING, "a client that leaves is no failure")                                                                   \
    X(BUDGET, "a budget is never below zero or above its cap")

typedef enum sim_rule {
#define X(sym, words) SIM_RULE_##sym,
    SIM_RULE_MAP(X)
#undef X
} sim_rule;

const char *sim_rule_words(sim_rule r); /* static */

typedef struct sim_host sim_host;

/* Memory for one world at a time, in `a`: some 700 KB. NULL without room. */
sim_host *sim_host_new(daruma_arena *a);

/* Told of every event, when somebody reads along. `line` dies with the call. */
typedef void (*sim_say)(void *user, daruma_ms at, int request, daruma_str line);

/* Runs `w` under `p`. `say` may be NULL. Returns the rule that was broken first, and of which request, in *ret_request.
 * What became of each request is in sim_host_ending(). */
sim_rule sim_host_run(sim_host *h, const sim_world *w, const daruma_policy *p, sim_say say, void *user,
                      int *ret_request);
const sim_ending *sim_host_ending(const sim_host *h, int request);
#endif
