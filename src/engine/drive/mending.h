/* heal.h - the mending of one request, as heal.c, heal_work.c and side.c share it. */
#ifndef GATEWAY_HEAL_H
#define GATEWAY_HEAL_H
#include "base/limits.h"
#include "engine/drive/history.h"
#include "engine/drive/inside.h"

typedef struct side side;

enum { HEAL_LESSONS_MAX = 2 * REFUSALS_MENDED_MAX }; /* parameters and keywords of schemas mended in one request */

struct heal {
    history past; /* the conversation, and what is done to it */
    bool told;    /* that mending was given up */
    convo tools;  /* only the tools of the request */
    bool tools_read;
    convo wanted; /* only the response format that the client asks for */
    bool wanted_read;
    bool unfit;                            /* an answer did not fit its schema, and was asked for again */
    bool known;                            /* what earlier turns taught was done to it */
    mend_lesson lessons[HEAL_LESSONS_MAX]; /* what the provider refused: learned when it goes on */
    size_t nlessons;
    uint64_t lesson_lane;
    convo_format format; /* the response format came down to this: learned likewise; FORMAT_UNSAID: it did not */
    bool apologises;
    daruma_str apology;
    /* side requests: of `past.m`, or the apology's */
    side *sides;
    const mend_question *questions;
    size_t nquestions, asked, answered;
    int64_t ask_tokens;
};

/* ---- heal.c, for heal_work.c ---- */

int64_t heal_window(const session *x);   /* tokens of the target's, as configured or learned; -1 unknown */
bool heal_shares_none(const session *x); /* the target's window is of the input alone */
history_target heal_target(session *x);  /* the target at hand, as a request is mended for it */
bool heal_shortens(daruma_remedy_kind r);
void heal_tell(session *x, daruma_when when, daruma_remedy_kind r, const mend_report *rep); /* MENDED or BROKE */

/* ---- both, for others ---- */

void heal_learns_of(heal *h, uint64_t lane);        /* what is learned from here on is learned of that lane */
void heal_lesson(session *x, const mend_lesson *l); /* that was mended: it is learned if the provider goes on */
/* False: the request is too large to be read on the loop, or holds too many messages for that. */
bool heal_is_brief(const session *x);
/* Reads the request into x->h->past.m.c, on the loop; false: it cannot be read, or is too large for the loop. */
bool heal_open(session *x);
heal *heal_of(session *x);                                              /* NULL without memory */
bool heal_can(session *x);                                              /* may it be read, as far as is known? */
void heal_take(session *x, drive_text *made, const request_scan *scan); /* ... it is */
void heal_tell_limits(session *x);                                      /* that mending was given up, once */
void heal_free(heal *h);                                                /* what it holds beside the call's memory */
/* The provider goes on, or refuses something else: what was mended of the request by now is learned of the model. */
void mended_learn(session *x);
/* Bytes of a request of this conversation that a provider refused without numbers; 0 none. And that it did. */
size_t mended_refused(const session *x);
void mended_refuse(session *x, size_t bytes);
bool heal_write(session *x); /* x->h->past.m.c is what is sent from here on; false: mending it is given up */
#endif
