/* words.h - texts of others, made fit to be shown. */
#ifndef ENGINE_TELL_WORDS_H
#define ENGINE_TELL_WORDS_H
#include "daruma_parts.h"

enum { WORDS_ROOM_BYTES = 8192 }; /* arena that words_clean() needs */

/* `text` without secrets, at most `max` bytes of it (a cut shows as "..."), cut between
 * characters, control characters as spaces. Lives in `a` or borrows. */
daruma_str words_clean(daruma_str text, size_t max, daruma_arena *a);
#endif
