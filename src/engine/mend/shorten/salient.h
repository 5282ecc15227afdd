/* salient.h - what must not get lost when a text is cut: identifiers and error lines. */
#ifndef ENGINE_MEND_SHORTEN_SALIENT_H
#define ENGINE_MEND_SHORTEN_SALIENT_H
#include "daruma_parts.h"

typedef struct salient salient; /* tables for one text after the other */

/* NULL when `a` has no room. */
salient *salient_new(daruma_arena *a);
/* Of `text`, at most `room` bytes are written to `out`:
 *     kept: ORD-7731, /srv/app/main.c, order_id=4711
 *     error: 12:01 build failed: no space left
 * Lines end with a newline, each is left out when there is nothing to say. Returns the bytes written. The same text
 * gives the same bytes. */
size_t salient_pick(salient *s, daruma_str text, char *out, size_t room);
#endif
