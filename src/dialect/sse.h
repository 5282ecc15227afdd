/* sse.h - server-sent events as slices of the bytes they came in (WHATWG HTML 9.2). */
#ifndef DIALECT_SSE_H
#define DIALECT_SSE_H
#include "daruma_parts.h"
#include <stdint.h>

typedef struct sse_event {
    daruma_str raw;   /* with its closing blank line */
    daruma_str event; /* empty when not said */
    daruma_str data;  /* lines joined by \n; empty when none */
    bool comment;     /* nothing but comments or blank lines */
} sse_event;

/* Takes the next whole event off the front of *rest (LF, CR LF and CR end lines; a byte order mark at the very
 * start belongs to nobody). False when no whole event stands there; *rest is then the incomplete tail.
 * Data of several lines is joined in `a`. */
bool sse_next(daruma_str *rest, sse_event *e, daruma_arena *a);

/* An event that is too long to be held, in pieces. All zero to begin with. */
typedef struct sse_long {
    size_t string;     /* bytes of the JSON string at hand, its quote included; 0: none is open */
    uint8_t in_escape; /* bytes that are left of an escape in it */
    bool cut;          /* the rest of that string is left out */
    bool line, cr;     /* the newest byte ended a line, by a CR */
    bool ended;        /* (found) the event is over */
} sse_long;
/* Appends to `out` what `bytes` add to the event, all but the rest of its long strings: that is an event which says the
 * same, in few bytes. Returns how many of `bytes` are the event's. `out` may hold `bytes`, and be written over them. */
size_t sse_shorten(sse_long *s, daruma_str bytes, daruma_buf *out);
#endif
