/* hints.h - numbers that providers give: how long to wait, what the limit is. */
#ifndef JUDGE_HINTS_H
#define JUDGE_HINTS_H
#include "engine/judge/unwrap.h"

/* The advice in headers, body fields and texts (lower case); -1 none. */
daruma_ms hints_wait(const daruma_evidence *ev, const said *s, const daruma_str *texts, size_t ntexts,
                     daruma_moment at);
/* Fills limit, used and requested of `s` where the text (lower case) names them and the body had no field. */
void hints_numbers(daruma_str text, said *s);
/* The same for the words (lower case) of a request that was too long, in whatever order they name the two numbers. */
void hints_overflow(daruma_str text, said *s);
#endif
