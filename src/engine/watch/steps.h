/* steps.h - the steps of an agent, read out of the history that it sends along. */
#ifndef WATCH_STEPS_H
#define WATCH_STEPS_H
#include "model/convo.h"

typedef enum steps_what {
    STEPS_STEP, /* a call and its result, or words of the model without a call */
    STEPS_USER, /* the user said something that is no result */
} steps_what;

typedef struct steps_item {
    steps_what what;
    daruma_step step;          /* STEP; strings live in the convo's arena */
    daruma_str text;           /* USER: what was said */
    size_t message;            /* it is in: of a step the one with the call */
    convo_part *call, *result; /* of a step; NULL: words, or a result that was lost */
} steps_item;

/* All zero but `c` to begin with. */
typedef struct steps_iter {
    convo *c;
    size_t message, part;
    bool spoke;                    /* the words of the message at hand were told */
    struct steps_results *results; /* which result answers which call; in the convo's arena */
} steps_iter;

/* The next one in the order of the calls. Calls that still wait for their result, at the end, are none yet. Do not edit
 * the conversation between two of them. False also without memory. All of a history costs time in proportion to its
 * parts, whatever ids it repeats. */
bool steps_next(steps_iter *it, steps_item *ret);
#endif
