/* router.h - judges failures of models and tools, and decides by severity where they go. */
#ifndef ENGINE_AGENT_ROUTER_H
#define ENGINE_AGENT_ROUTER_H
#include "engine/agent/inside.h"

agent_failure router_judge_model(agent *a, const daruma_evidence *ev, daruma_str operation);
agent_failure router_judge_tool(agent *a, const agent_tool *t, const daruma_step *step);
/* A failure of the model at work that nobody has to judge. */
agent_failure router_own(const agent *a, daruma_kind kind, daruma_severity severity, daruma_str message);
daruma_str router_type(const agent_failure *f); /* its name in events */
const agent_tool *router_tool(const agent *a, daruma_str name);
void router_keep(agent *a, const agent_failure *f); /* a->failure = a copy */
/* A model, the planner or the classifier failed, or a tool whose severity was said. */
void router_route(agent *a, agent_step *s);
bool router_again(agent *a, agent_step *s); /* the same once more; false: it is not to be */
void router_planner(agent *a);              /* another plan, or the error node */

#endif
