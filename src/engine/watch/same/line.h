/* line.h - of what a failed tool wrote, the one line that matters. */
#ifndef ENGINE_WATCH_SAME_LINE_H
#define ENGINE_WATCH_SAME_LINE_H
#include "daruma_parts.h"

/* `text` without escape sequences of terminals, its middle left out when it is long. Borrows when there is nothing to
 * do, else lives in `a`. */
daruma_str line_plain(daruma_str text, daruma_arena *a);
/* The last exception of a trace, the first error of a compiler, what a program complains of: never a frame of a stack.
 * Borrows from `text`, trimmed; empty when there is no line. */
daruma_str line_telling(daruma_str text);
/* `text` as one line: white space and control characters are single spaces. Borrows or lives in `a`. */
daruma_str line_flat(daruma_str text, daruma_arena *a);
/* `text` without lines that are frames of stacks; at most `max` bytes. Lives in `a`. */
daruma_str line_without_frames(daruma_str text, size_t max, daruma_arena *a);

/* At most so many bytes, whole characters. */
daruma_str line_within(daruma_str s, size_t bytes);
/* The first `chars` characters; bytes that are no UTF-8 count as they come. */
daruma_str line_cut(daruma_str s, size_t chars);
#endif
