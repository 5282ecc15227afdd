/* answer.h - reads what a model answered to a question of ours. */
#ifndef ADVISE_ANSWER_H
#define ADVISE_ANSWER_H
#include "daruma_parts.h"

/* The first whole JSON object in it that has this member, whatever stands before and behind (fences, prose, broken
 * ones). Empty: there is none. */
daruma_str answer_object(daruma_str answer, daruma_str member);
/* What stands between the first opening and the last closing brace, when that is JSON; else empty. */
daruma_str answer_greedy(daruma_str answer);
/* A number, or a text that is one, in thousandths; saturates. False: it is none. */
bool answer_milli(daruma_str value, int64_t *ret);
/* A member as text: of a string what it says, of anything else how it is written; `otherwise` when it is not there,
 * null, or empty. Borrows or lives in `a`. */
daruma_str answer_text(daruma_str object, daruma_str member, daruma_str otherwise, daruma_arena *a);
#endif
