/* heal.h - the mending of one request, as heal.c, heal_work.c and side.c share it. */
#ifndef GATEWAY_HEAL_H
#define GATEWAY_HEAL_H
#include "base/limits.h"
#include "engine/mend/remedy.h"
#include "gateway/inside.h"

typedef struct side side;

enum { HEAL_LESSONS_MAX = 2 * REFUSALS_MENDED_MAX }; /* parameters and keywords of schemas mended in one request */
enum { HEAL_STEPS_MAX = 4 };                         /* remedies that are tried one after the other without a call */

/* What is to be done to the conversation, perhaps on another thread: everything that it needs, and what came of it. */
typedef struct heal_work {
    daruma_remedy_kind steps[HEAL_STEPS_MAX]; /* the first that is not unfit is what is done */
    size_t nsteps, at;
    uint64_t tenant;   /* whose it is */
    bool ends;         /* the answers to what was asked are there */
    bool weighs;       /* ... only if it is too long for the window indeed */
    bool ahead;        /* before the request goes out; else behind a failure */
    daruma_str body;   /* what is sent now */
    daruma_failure f;  /* what it is mended for */
    int64_t window;    /* of the target at hand, -1 unknown */
    bool shares_none;  /* ... which is of the input alone */
    int64_t rate;      /* bytes of a request that the target's model counts as 1,000 tokens */
    int64_t scale;     /* its tokens to 1,000 of our estimate; 0 unknown */
    mend_share beside; /* what is added to the request is taken off the output cap; limit 0: it is not */
    mended_facts
        *facts; /* what is known of the target at hand is done first, as it is when it goes out; NULL nothing */
    /* what came of it */
    mending_result result;
    daruma_remedy_kind did;
    request_text *made; /* DONE: the request as it is sent from here on */
    request_scan scan;
} heal_work;

struct heal {
    mending m;                 /* m.c is the request, mended so far; its raw bytes stand in what it was read from */
    daruma_mend_policy policy; /* the profile's, with what the configuration lays over it */
    daruma_arena own;          /* of m.c and all that is made of it, until the request goes out */
    bool read, unread;         /* it was read; it cannot be read, or not be mended any more */
    bool again;                /* it was read once more, from what was made of it */
    bool too_much;             /* mending it was given up: it takes too much memory, or too many steps */
    bool told;                 /* ... and that was told */
    mend_known *learned;       /* what was shortened, where what was read does not stay; in a memory of its own */
    daruma_arena learned_room; /* ... this one */
    uint64_t nodes;            /* messages, parts and tools that remedies went through */
    int64_t tokens;            /* our estimate of what was written last; 0 nothing was */
    heal_work work;            /* under way */
    const dialect *d;          /* of m.c */
    daruma_str from;           /* the body that m.c was read from the first time: the client's */
    daruma_str read_from;      /* ... and the last time: m.c borrows from it while it is kept */
    convo tools;               /* only the tools of the request */
    bool tools_read;
    convo wanted; /* only the response format that the client asks for */
    bool wanted_read;
    bool unfit;                            /* an answer did not fit its schema, and was asked for again */
    daruma_str resume_of;                  /* the body before it was asked to go on; empty: it never was */
    mend_going going;                      /* how it is asked to, where it is not begun for the model */
    bool known;                            /* what earlier turns taught was done to it */
    bool prefilled;                        /* the last attempt was asked to go on from a begun answer */
    bool no_prefill;                       /* and it was refused: it is not asked so again */
    mend_lesson lessons[HEAL_LESSONS_MAX]; /* what the provider refused: learned when it goes on */
    size_t nlessons;
    uint64_t lesson_lane;
    convo_format format; /* the response format came down to this: learned likewise; FORMAT_UNSAID: it did not */
    bool apologises;
    daruma_str apology;
    /* side requests: of `m`, or the apology's */
    side *sides;
    const mend_question *questions;
    size_t nquestions, asked, answered;
    int64_t ask_tokens;
};

/* ---- heal.c, for heal_work.c ---- */

void heal_give_up(heal *h);                     /* it takes too much: the request stays as it is */
bool heal_is_much(const heal *h, size_t bytes); /* too much to be kept while a provider thinks, beside such a request */
int64_t heal_window(const exchange *x);         /* tokens of the target's, as configured or learned; -1 unknown */
bool heal_shares_none(const exchange *x);       /* the target's window is of the input alone */
mend_share heal_room_beside(const exchange *x); /* for what is added to the request; limit 0: as much as it likes */
bool heal_shortens(daruma_remedy_kind r);
void heal_tell(exchange *x, daruma_when when, daruma_remedy_kind r, const mend_report *rep); /* MENDED or BROKE */

/* ---- both, for others ---- */

void heal_learns_of(heal *h, uint64_t lane);         /* what is learned from here on is learned of that lane */
void heal_lesson(exchange *x, const mend_lesson *l); /* that was mended: it is learned if the provider goes on */
/* Reads the request into x->h->m.c, on the loop; false: it cannot be read, or is too large for the loop. */
bool heal_open(exchange *x);
heal *heal_of(exchange *x);               /* NULL without memory */
bool heal_can(exchange *x);               /* may it be read, as far as is known? */
bool heal_read(heal *h, daruma_str body); /* of any size, on any thread */
request_text *heal_written(heal *h,
                           request_scan *ret); /* m.c as it is sent from here on; NULL: mending it is given up */
void heal_take(exchange *x, request_text *made, const request_scan *scan); /* ... it is */
void heal_tell_limits(exchange *x);                                        /* that mending was given up, once */
void heal_free(heal *h);                                                   /* what it holds beside the call's memory */
/* The provider goes on, or refuses something else: what was mended of the request by now is learned of the model. */
void mended_learn(exchange *x);
/* Bytes of a request of this conversation that a provider refused without numbers; 0 none. And that it did. */
size_t mended_refused(const exchange *x);
void mended_refuse(exchange *x, size_t bytes);
bool heal_write(exchange *x); /* x->h->m.c is what is sent from here on; false: mending it is given up */
#endif
