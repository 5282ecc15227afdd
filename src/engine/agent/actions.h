/* actions.h - models that answer with an action written as JSON instead of calling a tool. */
#ifndef ENGINE_AGENT_ACTIONS_H
#define ENGINE_AGENT_ACTIONS_H
#include "engine/agent/inside.h"

/* Actions in what a model wrote, those that name a node first; 0: it cannot be read. */
size_t actions_read(daruma_str text, daruma_arena *a, agent_action *out, size_t max);
daruma_str actions_answer(daruma_str text, daruma_arena *a);
bool actions_placeholder(daruma_str s);
void actions_answered(agent *a, daruma_str text);
void actions_put_call(const agent_step *s, daruma_buf *out);
void actions_put_failure(agent *a, const agent_step *s, daruma_str result, daruma_buf *out);

#endif
