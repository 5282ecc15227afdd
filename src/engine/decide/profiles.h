/* profiles.h - the seeds as data: what each of them judges, does, tells and says. */
#ifndef ENGINE_DECIDE_PROFILES_H
#define ENGINE_DECIDE_PROFILES_H
#include "daruma_parts.h"

/* The variant "doc" of a profile stands before its "code". */
extern const daruma_policy seed_profiles[];
extern const size_t nseed_profiles;

/* Cuts the first "NAME[:VARIANT]" off a list, which may have brackets. */
daruma_str profile_next(daruma_str *rest, daruma_str *variant);
#endif
