/* rate.h - keys that may ask so many times, or send so many tokens, in a time, as the script says. */
#ifndef CHAOS_RATE_H
#define CHAOS_RATE_H
#include "chaos/ask.h"
#include "chaos/faults.h"
#include "chaos/script.h"

/* Counts a call with that key. False: it is one too many, and *p is its refusal. */
bool rate_allows(script_key *k, const ask *q, const model_limits *m, const manner *how, daruma_ms now, daruma_arena *a,
                 plan *p);
/* Puts what is left of it into the answer's header fields, as the provider of that wire does. */
void rate_state(const script_key *k, wire w, daruma_ms now, int64_t wall, daruma_arena *a, answer *x);
#endif
