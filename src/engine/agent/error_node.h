/* error_node.h - ends a run that cannot go on with words. */
#ifndef ENGINE_AGENT_ERROR_NODE_H
#define ENGINE_AGENT_ERROR_NODE_H
#include "engine/agent/inside.h"

void error_node_enter(agent *a);
void error_node_leave(agent *a, daruma_str answer, bool answered);
void error_graceful(agent *a);
void error_apologised(agent *a, daruma_str text); /* a model was asked for the words; empty: it failed */
void error_escalate(agent *a, daruma_str reason);

#endif
