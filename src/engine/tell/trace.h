/* trace.h - the ids in a traceparent field (https://www.w3.org/TR/trace-context/). */
#ifndef ENGINE_TELL_TRACE_H
#define ENGINE_TELL_TRACE_H
#include "daruma_parts.h"

enum { TRACE_PARENT_BYTES = 55, TRACE_ID_DIGITS = 32, SPAN_ID_DIGITS = 16 };

/* What a traceparent says. The ids are slices of the field. */
typedef struct trace_parent {
    daruma_str trace, span; /* small hexadecimal digits, not all zero */
    bool sampled;           /* whoever sent it records its part of the trace */
} trace_parent;

/* Reads the value of the field. False: it is none, and *ret is untouched. */
bool trace_parent_read(daruma_str field, trace_parent *ret);
#endif
