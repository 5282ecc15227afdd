/* simulate.h - what `daruma simulate` prints. */
#ifndef CLI_SIMULATE_SIMULATE_H
#define CLI_SIMULATE_SIMULATE_H
#include "sim/regret.h"

/* What was asked for, as far as a reader has to know it to repeat it. */
typedef struct simulate_asked {
    uint64_t seed;
    const char *policy; /* name of the profile, or of the file it was read from */
    const char *how;    /* options that a replay needs besides --seed and --world: " --profile NAME", or empty */
    bool stopped;       /* by Ctrl-C, before all worlds were run */
} simulate_asked;

void simulate_print(const regret *sum, const simulate_asked *asked);
/* The last row of each of several tables, in one. */
void simulate_profiles(const regret_sum *sums, const char *const *names, size_t n);
/* The table as one JSON object. */
void simulate_json(const regret *sum, const simulate_asked *asked, daruma_buf *out);
/* One world, event by event. Returns the rule that was broken. */
sim_rule simulate_replay(sim_host *h, sim_world *w, const daruma_policy *p, uint64_t k);
/* Every class with what it is. */
void simulate_classes(void);

/* What `daruma simulate --agents` was asked for. */
typedef struct simulate_agents_asked {
    uint64_t trials, seed;
    int64_t trial;       /* only that one, step by step; -1: all */
    const char *profile; /* a stack of profiles; empty: all there are */
    const char *class;   /* only trials of that class; empty: all */
    bool json;
} simulate_agents_asked;
/* Returns the exit code. */
int simulate_agents(const simulate_agents_asked *q);
/* Every class of faults with what it is. */
void simulate_agents_classes(void);
#endif
