/* question.h - the question to the model for the next step, as a request in its dialect. */
#ifndef ENGINE_AGENT_QUESTION_H
#define ENGINE_AGENT_QUESTION_H
#include "engine/agent/inside.h"

/* The question for the next step, as a request: of `written` and what is new, or written anew. Lives until the next
 * one. False without memory. */
bool question_write(agent *a, daruma_str *ret);
/* The same, always anew, in the scratch arena. */
bool question_anew(agent *a, daruma_buf *out);
void question_close(agent *a);

#endif
