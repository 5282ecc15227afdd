/* sse.h - server-sent events as slices of the bytes they came in (WHATWG HTML 9.2). */
#ifndef DIALECT_SSE_H
#define DIALECT_SSE_H
#include "daruma_parts.h"

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
#endif
