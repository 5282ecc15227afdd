/* health.h - what a case tells the health about its attempts. */
#ifndef ENGINE_DECIDE_HEALTH_H
#define ENGINE_DECIDE_HEALTH_H
#include "daruma.h"

/* An attempt goes out to `t`: asks its breakers and counts the call. Permits that are not ok (`t` was
 * not well and is called all the same) later count for nothing. */
void health_enter(daruma_health *w, const daruma_target *t, daruma_permit permits[3], daruma_ms now);
/* It succeeded. */
void health_good(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now);
/* It failed: makes sick what the failure is about. `b` is the backoff of the kind. */
void health_bad(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], const daruma_failure *f,
              const daruma_backoff *b, daruma_moment at);
/* It ended without saying anything about health. */
void health_drop(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now);

/* Is `t` kept from being called by nothing but breakers whose probe is not out? Then it may be
 * probed before its time, which health_hurry() prepares. */
bool health_only_shut(const daruma_health *w, const daruma_target *t, daruma_ms now);
void health_hurry(daruma_health *w, const daruma_target *t, daruma_ms now);
#endif
