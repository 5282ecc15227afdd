/* spans.h - what a message says in quotes, and is no evidence. */
#ifndef JUDGE_SPANS_H
#define JUDGE_SPANS_H
#include "daruma_parts.h"

/* `line` without what stands in quotes and is longer than a name, or is the name of somebody's function, tool or user
 * ("function 'pay_invoice'"), unless nothing is said around it. */
daruma_str spans_strip(daruma_str line, daruma_arena *a);
#endif
