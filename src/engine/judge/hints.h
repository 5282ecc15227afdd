/* hints.h - numbers that providers give: how long to wait, what the limit is. */
#ifndef JUDGE_HINTS_H
#define JUDGE_HINTS_H
#include "engine/judge/unwrap.h"

/* The advice in headers, body fields and texts (lower case); -1 none. */
daruma_ms hints_wait(const daruma_evidence *ev, const said *s, const daruma_str *texts, size_t ntexts,
                     daruma_moment at);
/* What the provider says of sending the same once more, in the field that the official SDKs obey before the status:
 * 1 do, 0 do not, -1 it does not say. */
int hints_should_retry(const daruma_evidence *ev);
/* The name of an error that Amazon's servers say in a header alone: "ThrottlingException"; empty: none. */
daruma_str hints_error_name(const daruma_evidence *ev);
/* Requests and tokens that the header fields of an answer say are left. Of several limits of one kind that of which
 * least is left; those of what models write are not looked at: nobody knows before how much that is. False: they say
 * nothing. */
bool hints_left(const daruma_header *h, size_t n, daruma_moment at, daruma_left *ret);
/* Fills limit, used and requested of `s` where the text (lower case) names them and the body had no field. */
void hints_numbers(daruma_str text, said *s);
/* The same for the words (lower case) of a request that was too long, in whatever order they name the two numbers. */
void hints_overflow(daruma_str text, said *s);
#endif
