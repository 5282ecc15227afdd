/* turns.h - which of its scripted answers a model gives now: one after the other, then round and round until a request
 * tells it to stop. Who tells it, how and why, is nothing that chaos knows: only what a request says counts. */
#ifndef CHAOS_TURNS_H
#define CHAOS_TURNS_H
#include "chaos/answer.h"

/* A model that goes in circles. All zero: it does not. */
typedef struct loop_manner {
    scripted *lap; /* what it does, round and round */
    size_t nlap;
    scripted *then; /* what it does once it listens; behind the last it answers by the request alone */
    size_t nthen;
    daruma_str text; /* an extended regular expression: it is told by a text of the newest turn; empty: not so */
    bool tools;      /* ... by a request that takes its tools away */
    bool never;      /* nothing tells it */
    int64_t ignores; /* so many requests that tell it to stop are in vain */
    /* what came of it */
    int64_t circled; /* answers of the lap it gave */
    int64_t told;    /* requests that told it to stop */
    int64_t freed;   /* 0: it does not listen yet; else 1 and the answers of `then` that are behind it */
} loop_manner;

/* What a model says in its turn. All zero: what the request alone gives. */
typedef struct model_turn {
    const scripted *say;
    size_t at;    /* of what it says once it listens */
    bool circles; /* it is of the lap */
    bool told;    /* the request tells it to stop */
    bool listens; /* since now or for longer */
    bool of_loop; /* it has to do with the loop, and is counted there */
} model_turn;

/* Does that request tell the model to stop? Pure; `a` for the call alone. */
bool loop_told(const loop_manner *l, const ask *q, daruma_arena *a);
/* Its turn in a request, after `given` scripted answers. Pure; points into `answers` and `l`. */
model_turn turn_of(const scripted *answers, size_t nanswers, int64_t given, const loop_manner *l, const ask *q,
                   daruma_arena *a);
/* That turn was answered well. */
void turn_done(loop_manner *l, const model_turn *t);
void loop_anew(loop_manner *l); /* as if nothing had been asked yet */
#endif
