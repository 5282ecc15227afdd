/* trajectory.h - what was done, and how the model sees it. */
#ifndef ENGINE_AGENT_TRAJECTORY_H
#define ENGINE_AGENT_TRAJECTORY_H
#include "engine/agent/inside.h"

agent_step *traj_add(agent *a, agent_step_kind kind); /* NULL without memory */
void traj_result(agent *a, agent_step *s, daruma_str result, bool failed, daruma_str seen);
void traj_shorten(agent *a); /* begins to, or says that it does not help */
void traj_shorten_next(agent *a);
void traj_shortened(agent *a, daruma_str summary);         /* empty: the summariser failed */
void traj_partial(agent *a, daruma_buf *out);              /* what there is, for people */
convo traj_convo(const agent *a, daruma_arena *room);      /* for its model, without a message */
void traj_say(convo *c, convo_role role, daruma_str text); /* a message of words; c->full without memory */
void traj_put(const agent *a, convo *c, size_t from);      /* steps from there on; c->full without memory */
/* Of all that the model sees of the first `nsteps` steps, and of the tools: it changes when any of it does. `before`:
 * the mark of the tools and the first `from` steps, which are not looked at again; 0: there is none. */
uint64_t traj_mark(const agent *a, uint64_t before, size_t from, size_t nsteps, daruma_arena *room);
void traj_tools(const agent *a, convo *c); /* c->full without memory */
daruma_str traj_wire_name(const agent *a, daruma_str name, daruma_arena *room);

#endif
