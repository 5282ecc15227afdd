/* pairs_plan.h - which call has which result, and what has to be done so that the provider takes them. Made by
 * pairs_plan.c, carried out by pairs.c. */
#ifndef ENGINE_MEND_PAIRS_PAIRS_PLAN_H
#define ENGINE_MEND_PAIRS_PAIRS_PLAN_H
#include "engine/mend/history.h"
#include "engine/mend/pairs/pairs.h"

typedef enum fate {
    STAYS,
    MOVES,    /* RESULT: to its call */
    GOES,     /* CALL: pruned, or said twice; RESULT: doubled, or says nothing and belongs to nothing */
    SPEAKS,   /* RESULT: belongs to nothing and becomes text of the user */
    ANSWERED, /* CALL: gets a neutral result */
} fate;

#define KNOT_NONE UINT32_MAX /* no call, result, turn or message */

/* A call or a result. */
typedef struct knot {
    uint32_t message, part;
    uint32_t turn;   /* CALL: of all turns that called; RESULT: that of its call */
    uint32_t mate;   /* CALL: its result; RESULT: its call */
    uint32_t before; /* CALL: the one before it with the same hash of its key */
    fate fate : 8;
    bool legacy : 1;  /* CALL: of the Chat wire before there were ids */
    bool unnamed : 1; /* RESULT: says not whose it is, where the wire wants that */
    bool twin : 1;    /* CALL: the same call stands in this turn already */
    daruma_str fresh; /* the id it has to get; empty: the one it has is fine */
} knot;

/* What one answer called. */
typedef struct called_turn {
    uint32_t first, n; /* its calls */
    uint32_t open;     /* none of its calls before this one waits for a result */
    uint32_t at;       /* index of the message that its results stand behind */
    uint32_t home;     /* RESULTS_IN_USER: the message that they stand in; KNOT_NONE: none yet */
    uint32_t kept;     /* calls that stay */
    bool wrong;        /* its results do not stand where they should, or not all of them are there */
} called_turn;

typedef struct pairs_plan {
    convo *c;
    daruma_arena room; /* where it is made, behind what the convo's arena holds; given back where nothing is wrong */
    knot *calls, *results;
    size_t ncalls, nresults;
    called_turn *turns;
    size_t nturns;
    uint32_t *heads; /* hash of a key: 1 + the newest call with it */
    size_t mask;
    bool wrong;
} pairs_plan;

/* Looks only, and takes nothing of the convo's arena: who carries the plan out sets that to `room`. False without
 * memory: c->full. */
bool pairs_plan_make(pairs_plan *p, convo *c, mend_orphans how);

static inline bool plan_wire(const pairs_plan *p, uint32_t quirk)
{
    return (p->c->quirks & quirk) != 0;
}

static inline convo_message *plan_message(const pairs_plan *p, const knot *k)
{
    return &p->c->messages[k->message];
}

static inline convo_part *plan_part(const pairs_plan *p, const knot *k)
{
    return &p->c->messages[k->message].parts[k->part];
}
#endif
