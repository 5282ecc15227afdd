/* honest.h - what a provider does with a request when nothing is wrong with the provider: it refuses, be it because the
 * key has asked too often, or its model answers in its turn. */
#ifndef CHAOS_HONEST_H
#define CHAOS_HONEST_H
#include "chaos/report.h"
#include "chaos/kept.h"

/* What belongs to one call. */
typedef struct scene {
    const script *script;
    stored *stored;
    report *report;
    ask *q;
    script_model *model; /* as the script has it; NULL: not there */
    model_limits limits;
    manner manner;
    model_turn turn;  /* what it says now, when the model answers */
    daruma_str owner; /* the account of the key, else the key */
} scene;

plan plan_refusal(const ask *q, const refusal *r, daruma_arena *a);
/* Counts what the model said in the scene's model, store and report; a plan that is not played is not to be asked for.
 * Lives in `a`. */
plan plan_honest(const scene *x, daruma_arena *a);

/* Keys that may ask so many times, or send so many tokens, in a time, as the script says. */

/* Counts a call with that key. False: it is one too many, and *p is its refusal. */
bool rate_allows(script_key *k, const ask *q, const model_limits *m, const manner *how, daruma_ms now, daruma_arena *a,
                 plan *p);
/* Puts what is left of it into the answer's header fields, as the provider of that wire does. */
void rate_state(const script_key *k, wire w, daruma_ms now, int64_t wall, daruma_arena *a, answer *x);
#endif
