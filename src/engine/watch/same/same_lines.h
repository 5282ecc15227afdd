/* same_lines.h - a result without what is around it. Borrowed from `text`, which is trimmed. */
#ifndef ENGINE_WATCH_SAME_SAME_LINES_H
#define ENGINE_WATCH_SAME_SAME_LINES_H
#include "daruma_parts.h"

/* What a tool gave, without what its shell wrote above it and what its harness wrote below. */
daruma_str without_envelope(daruma_str text);

struct told_pairs; /* engine/watch/told.h */
/* Was each row of eight lines of this answer told before? From now on its rows are told. Single lines come again in
 * work: of a table of few values, of a page of states. False of an answer of fewer lines, and of one that is longer
 * than SAME_LINES_BYTES_MAX. */
bool lines_told(daruma_str text, struct told_pairs *told);
#endif
