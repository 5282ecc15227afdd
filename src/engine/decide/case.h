/* case.h - what a whole session asks of its case beside what daruma_parts.h has for every host. */
#ifndef ENGINE_DECIDE_CASE_H
#define ENGINE_DECIDE_CASE_H
#include "daruma_parts.h"

/* In c->spoiled: of no use in this case; only not with a request as long as this; asked when nobody else is left. */
enum { CASE_SPOILED = 1, CASE_TOO_NARROW = 2, CASE_LAST = 3 };

/* Goes on, just opened, with a case over the same targets that failed: the client repeats a request by itself.
 * What was tried counts as tried. It comes because it was told to: one call to each target that is not out of
 * the question may still show whether that helped. */
void case_resume(daruma_case *c, const daruma_case *was);

/* Goes on from row `rung` of its kind's ladder: those above it count as climbed. For who climbed them before the case
 * was opened. */
void case_skip(daruma_case *c, uint16_t rung);

/* Does somebody among its targets hold up who asks for more tokens than are left? Only then `tokens` matters. */
bool case_counts_tokens(const daruma_case *c, daruma_ms now);

/* Whose state makes it wait, that of `target` or of the one that may be asked first (-1), and which; its time is not in
 * it. False: nobody's, who is waited for is well. */
bool case_awaits(const daruma_case *c, int target, daruma_ms now, daruma_spent *ret);
/* Is a beginning so long after it went out later than is usual for the call at hand, as far as is known? */
bool case_is_slow(const daruma_case *c, daruma_ms took);
/* How late the content of the call at hand began (ms 0: as usual), or for how long it has not begun. */
daruma_spent case_slow(const daruma_case *c, daruma_ms now);
/* The longest pause within the answer at hand, where that was longer than is usual there; ms 0: it was not. */
daruma_spent case_paused(const daruma_case *c, daruma_ms now);
#endif
