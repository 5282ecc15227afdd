/* mending.h - the conversation of a request while something is mended in it, and remedies that are carried out on it.
 */
#ifndef ENGINE_DRIVE_MEND_MENDING_H
#define ENGINE_DRIVE_MEND_MENDING_H
#include "base/limits.h"
#include "engine/drive/answer/answer.h"
#include "engine/drive/mend/history.h"
#include "engine/drive/session.h"

typedef enum session_mend_result {
    SESSION_MEND_SEND,  /* mended: send it */
    SESSION_MEND_UNFIT, /* nothing to mend that way: ask for another remedy */
    SESSION_MEND_WAITS, /* a model is asked on the side: session_mend_asked() goes on */
} session_mend_result;
bool session_mend_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
session_mend_result session_mend_apply(session *x, daruma_remedy_kind r);
/* A request that goes on with an answer of which the client has the beginning.
 * Writes it for target `to`, in words whose answer shows whether it goes on, and changes nothing yet. False: this
 * answer cannot be gone on with. */
bool session_mend_go_on(session *x, int to, history_onward *ret);
void session_mend_goes_on(session *x, const history_onward *o); /* it is what is sent, and its answer is joined */
void session_mend_use(session *x, daruma_str body,
                      const request_scan *scan); /* from here on this is what is sent; one of x->out.texts */
void session_mend_rest(
    session *x); /* it goes out: memory that is much for its size is given back until it is mended again */
/* The tools of the request; NULL when it has none that can be read, or they are too large for the loop. */
const convo *session_mend_tools(session *x);
/* What calls of its answer are held against; large tools are read with the test. */
void session_mend_test_calls(session *x, answer_test *ret);
/* What its answer is held against as JSON: the response format that the client asks for, where it asks for one that can
 * be read; a large one is read with the test. */
void session_mend_test_format(session *x, answer_test *ret);
/* Not all of an answer is held against the tools or the format of its request: told once. */
void session_mend_unchecked(session *x);
/* An answer that is JSON does not fit its schema: it is worth asking again once. A model that does not get it right
 * then may be at its best, and what it says `goes_out`, for it is no worse than it was; that is told. */
void session_mend_unfit(session *x, bool goes_out);
typedef enum session_unfit {
    UNFIT_NEVER,
    UNFIT_ASKED,    /* one did not fit and was asked for again ... */
    UNFIT_GOES_OUT, /* ... and neither does the one that goes out */
} session_unfit;
session_unfit session_mend_was_unfit(const session *x);
/* What earlier turns and requests taught about this one is done at once. False: that takes a while,
 * session_known() will be called. */
bool session_mend_known(session *x);
/* Nothing helped: a conversation that stays too long is not worked on for ever. */
void session_mend_gave_up(session *x);
/* Before it goes out to the target at hand: is it known already that its window cannot take it? Then it is mended as
 * after a refusal. False: a model is asked on the side, session_fitted() will be called. */
bool session_mend_fits(session *x);
/* It worked: what was done is remembered, and how many tokens the provider counted. */
void session_mend_worked(session *x, int64_t input_tokens);
/* Sees in a failure what the provider did not say, since it knows the size of the request. */
void session_mend_reconsider(session *x, daruma_failure *f);
/* Is an answer without words one that found no room in the window, or one to a prompt that was cut to fit? */
bool session_mend_window_full(session *x, daruma_str finish, int64_t input_tokens, bool content);
/* The answer that was broken and what is wrong with it, for asking again; copied. */
void session_mend_bad_answer(session *x, const turn *bad, daruma_str why);
void session_mend_gone(session *x); /* the request is over: side requests end */
/* Asks the model for a short apology in place of the fixed explanation; false: it is not asked. finish_apology() goes
 * on. */
bool session_mend_apologise(session *x);

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
    daruma_ms asked_at, asked_ms; /* since when they are asked; how long they took that no event has told of */
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
/* The provider goes on, or refuses something else: parameters mended of the request by now are learned of the model. */
void mended_learn(session *x);
/* Bytes of a request of this conversation that a provider refused without numbers; 0 none. And that it did. */
size_t mended_refused(const session *x);
void mended_refuse(session *x, size_t bytes);
bool session_mend_write(session *x); /* x->h->past.m.c is what is sent from here on; false: mending it is given up */

/* ---- question.c: questions of our own to a model, on the case of the request ---- */

/* Asks `n` questions, some at a time, of the summariser or the current target. False: it may not.
 * Each answer comes through session_mend_answer(), empty on failure; after the last one session_mend_asked(). */
bool side_ask(session *x, const mend_question *q, size_t n, int64_t max_output);
void side_cancel(session *x);
void session_mend_answer(session *x, size_t i, daruma_str text);
void session_mend_asked(session *x);

#endif
