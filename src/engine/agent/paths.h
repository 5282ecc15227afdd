/* paths.h - a path that was not found, completed from what tools have printed before (engine/watch/paths.h). */
#ifndef ENGINE_AGENT_PATHS_H
#define ENGINE_AGENT_PATHS_H
#include "engine/agent/inside.h"

/* A path among the arguments that ends exactly one path that tools printed: the arguments with that one. */
bool paths_complete(agent *a, const agent_step *s, daruma_str *ret_args, daruma_str *ret_from, daruma_str *ret_to);

/* The one path that tools printed with the name of the file that a call did not find; empty: none, or several. */
daruma_str paths_near(agent *a, const agent_step *s);

#endif
