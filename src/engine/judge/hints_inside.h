/* hints_inside.h - what the files share that read how long to wait. */
#ifndef JUDGE_HINTS_INSIDE_H
#define JUDGE_HINTS_INSIDE_H
#include "engine/judge/hints.h"

/* Milliseconds from now to a moment; 0 when it has passed, -1 when there is no clock. */
daruma_ms hints_until(int64_t wall_ms, daruma_moment at);
/* A number: seconds from now, or a moment in unix seconds or milliseconds. */
daruma_ms hints_number_or_moment(daruma_str v, daruma_moment at);
/* What a text (lower case) says; `limited`: it is about a rate. -1: nothing. */
daruma_ms hints_spoken(daruma_str text, bool limited, daruma_moment at);
#endif
