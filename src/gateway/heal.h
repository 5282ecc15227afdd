/* heal.h - the mending of one request, as heal.c and side.c share it. */
#ifndef GATEWAY_HEAL_H
#define GATEWAY_HEAL_H
#include "base/limits.h"
#include "engine/mend/remedy.h"
#include "gateway/inside.h"

typedef struct side side;

enum { HEAL_LESSONS_MAX = 2 * REFUSALS_MENDED_MAX }; /* parameters and keywords of schemas mended in one request */

struct heal {
    mending m;                 /* m.c is the request, mended so far; its raw bytes stand in `from` */
    daruma_mend_policy policy; /* the profile's, with what the configuration lays over it */
    bool read, unread;         /* it was read; it cannot be read */
    const dialect *d;          /* of m.c */
    daruma_str from;           /* the body that m.c was read from */
    convo tools;               /* only the tools of the request */
    bool tools_read;
    convo wanted; /* only the response format that the client asks for */
    bool wanted_read;
    bool unfit;                            /* an answer did not fit its schema, and was asked for again */
    daruma_str resume_of;                  /* the body before it was asked to go on; empty: it never was */
    mend_going going;                      /* how it is asked to, where it is not begun for the model */
    bool known;                            /* what earlier turns taught was done to it */
    uint64_t taught;                       /* the lane whose lessons were done to it; 0 none */
    const char *as_taught;                 /* what it was then: x->body.p, until something else is mended */
    bool prefilled;                        /* the last attempt was asked to go on from a begun answer */
    bool no_prefill;                       /* and it was refused: it is not asked so again */
    mend_lesson lessons[HEAL_LESSONS_MAX]; /* what the provider refused: learned when it goes on */
    size_t nlessons;
    uint64_t lesson_lane;
    convo_format format; /* the response format came down to this: learned likewise; FORMAT_UNSAID: it did not */
    bool ahead;          /* what is asked on the side is asked before the request went out */
    bool apologises;
    daruma_str apology;
    /* side requests: of `m`, or the apology's */
    side *sides;
    const mend_question *questions;
    size_t nquestions, asked, answered;
    int64_t ask_tokens;
};

void heal_learns_of(heal *h, uint64_t lane);         /* what is learned from here on is learned of that lane */
void heal_lesson(exchange *x, const mend_lesson *l); /* that was mended: it is learned if the provider goes on */
bool heal_open(exchange *x);                         /* reads the request into x->h->c; false: it cannot be read */
/* The provider goes on, or refuses something else: what was mended of the request by now is learned of the model. */
void mended_learn(exchange *x);
/* Bytes of a request of this conversation that a provider refused without numbers; 0 none. And that it did. */
size_t mended_refused(const exchange *x);
void mended_refuse(exchange *x, size_t bytes);
bool heal_write(exchange *x); /* x->h->c is what is sent from here on; false without memory */
#endif
