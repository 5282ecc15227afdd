/* seeds.h - what the seeds do in an agent, by the names of their profiles. */
#ifndef ENGINE_SEEDS_SEEDS_H
#define ENGINE_SEEDS_SEEDS_H
#include "engine/agent/agent.h"

/* The policy of a profile in an agent; `variant` is "doc" or "code", empty: the document's. "default" is
 * agent_policy_default; NULL: no profile of that name has anything to say about agents. Static. */
const agent_policy *seed_agent(daruma_str profile, daruma_str variant);
#endif
