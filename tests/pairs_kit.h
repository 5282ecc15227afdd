/* pairs_kit.h - whether calls and results of a conversation stand as they should, by the plan that mend_pairs() carries
 * out. */
#ifndef PAIRS_KIT_H
#define PAIRS_KIT_H
#include "engine/mend/pairs/pairs_plan.h"

static inline bool kit_pairs_broken(const convo *c)
{
    pairs_plan p;
    convo look = *c;
    return !c->full && pairs_plan_make(&p, &look, MEND_SYNTHESISE) && p.wrong;
}
#endif
