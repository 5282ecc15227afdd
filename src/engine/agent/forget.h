/* forget.h - a conversation that outgrows its model's window. */
#ifndef ENGINE_AGENT_FORGET_H
#define ENGINE_AGENT_FORGET_H
#include "engine/agent/inside.h"

/* True if the question, of `asked_tokens`, was too large for the window, and old steps left the conversation: it is to
 * be written again. */
bool forget_old(agent *a);
void forget_say(const agent *a, daruma_arena *room, daruma_buf *out); /* what the model is told of them */

#endif
