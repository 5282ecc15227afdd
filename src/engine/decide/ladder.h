/* ladder.h - what ladder.c, which climbs, and case.c share. */
#ifndef ENGINE_DECIDE_LADDER_H
#define ENGINE_DECIDE_LADDER_H
#include "engine/decide/health.h"

enum { LADDER_ABOVE = UINT16_MAX }; /* in c->rung: the ladder is climbed, there is nothing more */

/* Counts one more, up to what a byte holds. */
static inline void case_count(uint8_t *n)
{
    if (*n < UINT8_MAX)
        ++*n;
}

/* May it be over by itself? */
bool ladder_passes(const daruma_failure *f);
/* What the call at hand showed of the pace of its lane. */
void ladder_show_pace(daruma_case *c, pace_shown how, daruma_ms now);
#endif
