/* plan.h - the planned way. */
#ifndef ENGINE_AGENT_PLAN_H
#define ENGINE_AGENT_PLAN_H
#include "engine/agent/inside.h"

void plan_ask_classes(agent *a);
void plan_ask(agent *a);
void plan_answered(agent *a, daruma_str text);
void plan_step_done(agent *a, daruma_str output);
void plan_context(const agent *a, daruma_buf *out); /* what the model is told of its step */
bool plan_offers(const agent *a, size_t tool);      /* may the model call that tool now? */

#endif
