/* same_lines.h - a result without what is around it. Borrowed from `text`, which is trimmed. */
#ifndef ENGINE_WATCH_SAME_SAME_LINES_H
#define ENGINE_WATCH_SAME_SAME_LINES_H
#include "daruma_parts.h"

/* What a tool gave, without what its shell wrote above it and what its harness wrote below. */
daruma_str without_envelope(daruma_str text);
#endif
