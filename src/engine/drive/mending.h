/* mending.h - the mending of one request, as mending.c, mending_work.c and question.c share it. */
#ifndef ENGINE_DRIVE_MENDING_H
#define ENGINE_DRIVE_MENDING_H
#include "base/limits.h"
#include "engine/drive/history.h"
#include "engine/drive/inside.h"

typedef struct side side;

enum {
    SESSION_MEND_LESSONS_MAX = 2 * REFUSALS_MENDED_MAX
}; /* parameters and keywords of schemas mended in one request */

struct session_mending {
    history past;        /* the conversation, and what is done to it */
    bool told;           /* that mending was given up */
    bool told_unchecked; /* that the answer was not checked */
    convo tools;         /* only the tools of the request */
    bool tools_read;
    convo wanted; /* only the response format that the client asks for */
    bool wanted_read;
    session_unfit unfit;                           /* did an answer not fit its schema? */
    bool known;                                    /* what earlier turns taught was done to it */
    mend_lesson lessons[SESSION_MEND_LESSONS_MAX]; /* what the provider refused: learned when it goes on */
    size_t nlessons;
    uint32_t habits; /* likewise, of messages */
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

/* ---- mending.c, for mending_work.c ---- */

int64_t session_mend_window(const session *x);   /* tokens of the target's, as configured or learned; -1 unknown */
bool session_mend_shares_none(const session *x); /* the target's window is of the input alone */
history_target session_mend_target(session *x);  /* the target at hand, as a request is mended for it */
bool session_mend_shortens(daruma_remedy_kind r);
/* Did the model that was to summarise for this remedy, the newest that was tried, give nothing? */
bool session_mend_unsummed(const session *x, daruma_remedy_kind r);
void session_mend_tell(session *x, daruma_when when, daruma_remedy_kind r,
                       const mend_report *rep); /* MENDED or BROKE */

/* ---- both, for others ---- */

void session_mend_learns_of(session_mending *h,
                            uint64_t lane);                 /* what is learned from here on is learned of that lane */
void session_mend_lesson(session *x, const mend_lesson *l); /* that was mended: it is learned if the provider goes on */
/* False: the request is too large to be read on the loop, or holds too many messages for that. */
bool session_mend_is_brief(const session *x);
/* Reads the request into x->h->past.m.c, on the loop; false: it cannot be read, or is too large for the loop. */
bool session_mend_open(session *x);
session_mending *session_mend_of(session *x); /* NULL without memory */
bool session_mend_can(session *x);            /* may it be read, as far as is known? */
void session_mend_take(session *x, drive_text *made, const request_scan *scan); /* ... it is */
void session_mend_tell_limits(session *x);                                      /* that mending was given up, once */
void session_mend_free(session_mending *h); /* what it holds beside the call's memory */
/* The provider goes on, or refuses something else: parameters mended of the request by now are learned of the model. */
void mended_learn(session *x);
/* Bytes of a request of this conversation that a provider refused without numbers; 0 none. And that it did. */
size_t mended_refused(const session *x);
void mended_refuse(session *x, size_t bytes);
bool session_mend_write(session *x); /* x->h->past.m.c is what is sent from here on; false: mending it is given up */
#endif
