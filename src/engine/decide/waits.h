/* waits.h - how long a case may wait, and does. */
#ifndef ENGINE_DECIDE_WAITS_H
#define ENGINE_DECIDE_WAITS_H
#include "model/kinds.h"

/* Does a wait end before the deadline, and before the policy's patience with what passes by itself is over? */
bool waits_in_time(const daruma_case *c, daruma_ms wait, daruma_ms now);
/* Is patience over while a call finds out whether target `i` is back? That one is waited for yet. */
bool waits_for_probe(const daruma_case *c, int i, daruma_ms now);
/* The longest wait that leaves something: what is left of the policy's patience, and a part of the client's own time,
 * since nobody else may find out meanwhile. */
daruma_ms waits_longest(const daruma_case *c, daruma_ms now);
/* A wait that nobody named, in the time that there is. When it does not fit any more, half of the last moments is
 * waited instead of giving the client up, unless nothing could come in the other half. */
daruma_ms waits_at_most(const daruma_case *c, daruma_ms wait, daruma_ms now);
/* What is still to be waited. A clock that went back does not make it longer than any wait. */
daruma_ms waits_left(const daruma_case *c, daruma_ms now);
/* Of the wait, `own` is not for anybody to become well. */
void waits_hold(daruma_case *c, daruma_ms wait, daruma_ms own, daruma_ms now);
/* How long target `i` may be waited for so that its answer still comes in time, as far as is known. Who has no time to
 * spare only takes the turn of others. */
daruma_ms waits_spare(const daruma_case *c, int i, daruma_ms now);
/* Those who wait for the same recovery do not come back in the same instant. */
daruma_ms waits_spread(daruma_ms wait, const daruma_backoff *b, uint64_t dice);
/* A wait for target `i` with that, but not so long that its answer would come too late. Of a model that nobody knows
 * the answer may take nearly all of the time that is left behind the wait. */
daruma_ms waits_apart(const daruma_case *c, int i, daruma_ms wait, const daruma_backoff *b, daruma_moment at);

/* Might a case that waits go to its target `i` at once, since others that asked there later than it were answered, and
 * nothing speaks against it now but its own backoff? Not one that was refused there again and again: it is to have
 * calls left when what refuses it alone is over. */
bool waits_may_turn(const daruma_case *c, int i, daruma_ms now);
/* It does. */
void waits_turn(daruma_case *c, daruma_ms now);
/* Does it in place of `c`, whose wait is over, and which waits for as long as that one had to. False: `c` has not the
 * time, and nothing changed. */
bool waits_gives_turn(daruma_case *c, daruma_case *older, daruma_ms now);
#endif
