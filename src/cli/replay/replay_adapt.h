/* replay_adapt.h - progress, strategies and lessons in scenes of agents. */
#ifndef CLI_REPLAY_REPLAY_ADAPT_H
#define CLI_REPLAY_REPLAY_ADAPT_H
#include "cli/replay/replay_steps.h"

/* Nothing is known yet. Lives in `a`, which says when it was full. */
struct replay_adapt *replay_adapt_new(daruma_arena *a);
/* A step begins, and it ended. When the scene says `progress: on`, the log has what comes of it. */
void replay_adapt_begin(replay_agent *g);
void replay_adapt_end(replay_agent *g);
/* Those of them that are written behind '='. */
extern const replay_directive replay_adapt_directives[];
extern const size_t nreplay_adapt_directives;
#endif
