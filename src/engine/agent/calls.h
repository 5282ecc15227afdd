/* calls.h - the calls of one answer, carried out one after the other. */
#ifndef ENGINE_AGENT_CALLS_H
#define ENGINE_AGENT_CALLS_H
#include "engine/agent/inside.h"

void calls_step(agent *a); /* the next call, or what comes behind the last */
void calls_ended(agent *a, agent_step *s, daruma_str result, int ok, bool lost);
void calls_refuse(agent *a, agent_step *s, daruma_str why); /* it is not carried out: that is its result */
void calls_decide(agent *a, uint64_t call, bool allowed);   /* a person said so */
bool calls_looks(const agent *a, const agent_step *s);      /* something was looked at with it */

#endif
