/* limits.h - what a run may use, what it has used, and its end in words for programs. */
#ifndef ENGINE_AGENT_LIMITS_H
#define ENGINE_AGENT_LIMITS_H
#include "engine/agent/inside.h"

agent_limit limits_reached(const agent *a, bool model, bool tool);
bool limits_last_call(const agent *a); /* the next call of the model is the last one */
void limits_usage(agent *a, const turn_usage *u, daruma_str said);
uint32_t limits_calls_left(const agent *a); /* for the question that was counted last, 1 at least; 0: no limit */
daruma_ms limits_time_left(const agent *a); /* -1: no limit */
bool limits_time_over(const agent *a);      /* nothing is left of it that a further act could use */

#endif
