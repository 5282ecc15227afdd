/* same_lines.h - which lines of a result count by themselves. All borrowed from `text`, which is trimmed. */
#ifndef WATCH_SAME_LINES_H
#define WATCH_SAME_LINES_H
#include "daruma_parts.h"

/* The line of a failure that says what went wrong; nothing where all of it does. */
daruma_str line_of_failure(daruma_str text);
/* What a tool gave, without what its shell wrote above it and what its harness wrote below. */
daruma_str without_envelope(daruma_str text);
#endif
