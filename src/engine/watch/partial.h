/* partial.h - what an agent that was stopped leaves behind, for people. */
#ifndef WATCH_PARTIAL_H
#define WATCH_PARTIAL_H
#include "model/convo.h"

/* Why it was stopped, what the model said last, what the tools gave, and what can be done: plain text. `last` is the
 * newest step. Secrets are removed. */
void watch_partial(convo *c, const daruma_verdict *v, const daruma_step *last, daruma_buf *out);
#endif
