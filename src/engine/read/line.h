/* line.h - what of a text says something: what machines put around every message is taken away by its form. */
#ifndef READ_LINE_H
#define READ_LINE_H
#include "daruma_parts.h"

/* `text` without frames of stacks, heads of log lines, and tails that only point elsewhere: addresses, ids of requests.
 * Borrows when there is none of them; never empty when `text` is not. */
daruma_str line_strip(daruma_str text, daruma_arena *a);
#endif
