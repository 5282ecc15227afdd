/* rules.h - what must always hold while a world runs, looked at from outside. The first that does not hold is kept. */
#ifndef SIM_RULES_H
#define SIM_RULES_H
#include "sim/host.h"

enum { RULES_PLACES = 192 }; /* more than a host's health has */

/* The newest epoch of a breaker that a permit was seen of. */
typedef struct rules_epoch {
    uint64_t id; /* of the model or provider */
    uint16_t epoch;
} rules_epoch;

typedef struct sim_rules {
    sim_rule broken; /* the first */
    int request;     /* of whom; -1 nobody's */
    bool steady;     /* the clock does not jump: ages can be judged */
    uint16_t outcomes[SIM_REQUESTS_MAX];
    rules_epoch epochs[2 * SIM_TARGETS_MAX];
    int nepochs;
    daruma_place was[RULES_PLACES]; /* as it was before something that must change nothing */
    size_t nwas;
    uint64_t old[2]; /* breakers that the call about to end has an older permit of: model, provider; 0 not */
} sim_rules;

void rules_begin(sim_rules *k, const sim_world *w);
void rules_broke(sim_rules *k, sim_rule rule, int request);
/* `out`: the host has a call under way. */
void rules_before_admit(sim_rules *k, int r, const daruma_case *c, bool out);
/* A call went out with these permits. */
void rules_sent(sim_rules *k, int r, const daruma_case *c, const daruma_permit permits[DARUMA_PERMITS], int target,
                daruma_ms now);
/* Around a call that ends. */
void rules_before_end(sim_rules *k, const daruma_health *health, const daruma_case *c, daruma_ms now);
void rules_ended(sim_rules *k, int r, daruma_health *health, const daruma_case *c, daruma_ms now);
/* Around a client that leaves. */
void rules_before_drop(sim_rules *k, const daruma_health *health, daruma_ms now);
void rules_dropped(sim_rules *k, int r, const daruma_health *health, daruma_ms now);
/* `took`: all of the time of the request. */
void rules_closed(sim_rules *k, int r, const daruma_case *c, uint32_t hedges, daruma_ms took);
void rules_finally(sim_rules *k, int r, bool came, bool open);
#endif
