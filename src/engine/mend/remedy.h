/* remedy.h - one remedy on one conversation, from beginning to end: what a host calls. The functions it is made of
 * stand in the headers of the rooms. A remedy that needs a model says what to ask; the host asks, as it can, and brings
 * the answers.
 *
 *     mending_begin --- DONE: m->c is mended, write it
 *                  \--- UNFIT: nothing to mend that way; the next rung
 *                   \-- ASKS: m->questions[] -> mending_answer() each -> mending_end: DONE or UNFIT
 *
 * Stages add up: what was masked stays masked when a summary has to help as well, but nothing is called DONE that does
 * not fit by our own estimate, until no stage is left: estimates err. */
#ifndef ENGINE_MEND_REMEDY_H
#define ENGINE_MEND_REMEDY_H
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"

typedef enum mending_result { MENDING_DONE, MENDING_UNFIT, MENDING_ASKS } mending_result;

typedef struct mend_question {
    daruma_str system, user;
    daruma_str about;          /* what for, in logs: "summary of NAME" */
    int32_t temperature_milli; /* thousandths; 0: whatever the model's is */
} mend_question;

/* The mending of one request; all zero but for what is set, kept from remedy to remedy. */
typedef struct mending {
    convo c;                          /* (set) the request, mended so far */
    const daruma_mend_policy *policy; /* (set) */
    const turn *bad;                  /* (set) ASK_AGAIN: the answer to ask again for, and */
    daruma_str bad_why;               /* (set) what is wrong with it; empty: it was empty */
    mend_sent sent;                   /* (set) whether the failure is about it as it is here */
    bool last;                        /* (set) nothing comes after this remedy: a good deal shorter will do */

    /* what the remedy under way did */
    daruma_remedy_kind doing;
    mend_report report;
    int64_t original_chars,
        compressed_chars; /* of what is said in the conversation, before and after it was shortened */
    daruma_str from, to;  /* MEND_PARAMETER, LOWER_FORMAT: what was changed, and to what */
    mend_lesson lesson;   /* MEND_PARAMETER: to be learned when the request succeeds */
    bool taught;          /* there is one */
    uint32_t habits;      /* MEND_MESSAGES, REPAIR_HISTORY, LOWER_SCHEMA: likewise, for mend_habits() */
    bool shortened;       /* since the beginning: something that may be known the next time */
    bool unsent;          /* earlier stages did something that was not enough: the next goes on from there */

    /* ASKS */
    mend_question *questions;
    size_t nquestions;
    int64_t answer_tokens; /* output cap of each */

    /* inside */
    int64_t target;  /* tokens to get down to */
    int64_t refused; /* tokens of what was too long */
    mend_share room; /* of input and output together */
    mend_large *large;
    mend_cut cut;
    bool blind;         /* nobody knows the window, so that the question may be too long as well */
    bool summed;        /* COMPACT: a model gave a summary */
    int64_t asked_room; /* COMPACT: tokens of the question */
    bool newest;        /* the newest results had to be summarised as well */
} mending;

/* Carries `r` out on m->c. `window`: tokens of the target's context window, -1 unknown. */
mending_result mending_begin(mending *m, daruma_remedy_kind r, const daruma_failure *f, int64_t window);
/* The answer to question `i`; empty when the model failed. */
void mending_answer(mending *m, size_t i, daruma_str text);
/* All answers are there. */
mending_result mending_end(mending *m);

/* Is `r` carried out here? (RESUME is not: it is mend_continue() on the request as it was, each time.) */
bool mending_is(daruma_remedy_kind r);
#endif
