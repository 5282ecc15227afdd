/* partial.h - what an agent that was stopped leaves behind, for people. */
#ifndef ENGINE_WATCH_WORDS_PARTIAL_H
#define ENGINE_WATCH_WORDS_PARTIAL_H
#include "model/convo.h"

/* Why it was stopped, what the model said last, what the tools gave, and what can be done: plain text. `last` is the
 * newest step. Secrets are removed. */
void watch_partial(convo *c, const daruma_verdict *v, const daruma_step *last, daruma_buf *out);
/* The newest result of that call (daruma_call_hash()) in a history, cut to `most` bytes between two characters. False:
 * it has none there. */
bool watch_newest_result(convo *c, uint64_t call, size_t most, daruma_str *ret);
#endif
