/* adapt.h - another way for an agent that cannot go on. */
#ifndef ENGINE_AGENT_ADAPT_H
#define ENGINE_AGENT_ADAPT_H
#include "engine/agent/inside.h"

void adapt_ask(agent *a);
void adapt_answered(agent *a, daruma_str text); /* empty: the model failed */
void adapt_estimate(agent *a);
void adapt_estimated(agent *a, daruma_str text);
void adapt_do(agent *a); /* what was proposed last */

#endif
