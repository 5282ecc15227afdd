/* seeds.h - what the seeds do in an agent, by the names of their profiles. */
#ifndef ENGINE_SEEDS_SEEDS_H
#define ENGINE_SEEDS_SEEDS_H
#include "engine/agent/agent.h"

/* The policy of a profile in an agent; `variant` is "doc" or "code", empty: the document's. "default" is
 * agent_policy_default; NULL: no profile of that name has anything to say about agents. Static. */
const agent_policy *seed_agent(daruma_str profile, daruma_str variant);

enum { SEED_LAYERS_MAX = 4 /* profiles in a stack: more layers are known of no seed */ };

/* What an agent under one profile, or several one above the other, does. */
typedef struct seed_stack {
    agent_policy agent;
    const daruma_policy *judge; /* that failures are judged by: agent_setup.recovery */
    daruma_policy calls;        /* what the sessions below the agent do */
} seed_stack;

/* Reads "NAME[:VARIANT],...", the uppermost first; brackets around it are allowed. What is new lives in `a`. False: it
 * cannot be, and `why` says why. */
bool seed_stack_read(daruma_str names, daruma_arena *a, seed_stack *ret, daruma_buf *why);
/* An agent's own numbers hold where its profile tries calls again: in the agent, or in the sessions below it. Not in
 * both: that would be two budgets that multiply. */
void seed_retry(const agent_retry *own, agent_policy *p, daruma_policy *calls);

/* What somebody set otherwise than the profile they named, `its`, has it, as `recovery` of a configuration: without
 * recovery failures are as they come, and how often and what is shortened is as they say. */
void seed_stack_set(seed_stack *s, const daruma_policy *said, const daruma_policy *its);
/* The layers in which seeds run whole: a profile and what lies below it in its own program. NULL behind the last. */
const char *seed_stack_usual(size_t index);
#endif
