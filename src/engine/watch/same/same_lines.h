/* same_lines.h - a result without what is around it. Borrowed from `text`, which is trimmed. */
#ifndef ENGINE_WATCH_SAME_SAME_LINES_H
#define ENGINE_WATCH_SAME_SAME_LINES_H
#include "daruma_parts.h"

/* What a tool gave, without what its shell wrote above it and what its harness wrote below. */
daruma_str without_envelope(daruma_str text);

struct told_pairs; /* engine/watch/told.h */
/* Was each line of this answer told before? From now on its lines are told. False of an answer of few lines, and of one
 * that is longer than SAME_LINES_BYTES_MAX. */
bool lines_told(daruma_str text, struct told_pairs *told);
#endif
