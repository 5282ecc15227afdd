/* replay_adapt.h - progress, strategies and lessons in scenes of agents. */
#ifndef CLI_REPLAY_ADAPT_H
#define CLI_REPLAY_ADAPT_H
#include "cli/replay_steps.h"

/* A step begins, and it ended. When the scene says `progress: on`, the log has what comes of it. */
bool replay_adapt_begin(replay_agent *g);
bool replay_adapt_end(replay_agent *g);
/* Those of them that are written behind '='. */
extern const replay_directive replay_adapt_directives[];
extern const size_t nreplay_adapt_directives;
#endif
