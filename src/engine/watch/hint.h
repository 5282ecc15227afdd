/* hint.h - what a failed tool itself says to do about its failure. */
#ifndef WATCH_HINT_H
#define WATCH_HINT_H
#include "daruma_parts.h"

/* The tool's own way out, on one line and without secrets: members such as `suggestion`, `hint` or `next_steps`, and
 * sentences that ask "did you mean". What `message` says already is left out. Empty when there is none. Lives in `a`.
 */
daruma_str hint_of(daruma_str result, daruma_str message, daruma_arena *a);
#endif
