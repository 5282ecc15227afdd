/* adapt.h - how a policy has progress watched and strategies found. */
#ifndef ADVISE_ADAPT_H
#define ADVISE_ADAPT_H
#include "daruma_parts.h"

/* Never NULL: where the profile says nothing, or `p` is NULL, daruma's own. */
const daruma_adapt_policy *adapt_of(const daruma_policy *p);
#endif
