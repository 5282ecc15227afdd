/* steer.h - setting an agent right: what is done about the agent of one request. */
#ifndef ENGINE_DRIVE_AGENTS_STEER_H
#define ENGINE_DRIVE_AGENTS_STEER_H
#include "base/limits.h"
#include "engine/drive/mend/mending.h"

/* The newest step of an agent, cut: for what is said about it. */
typedef struct watch_last {
    char tool[128], args[WATCH_LAST_BYTES], result[WATCH_LAST_BYTES];
    size_t ntool, nargs, nresult;
    int ok;
} watch_last;

daruma_step watch_last_step(const watch_last *l);

struct steer {
    daruma_verdict verdict;
    daruma_guide guide;
    daruma_remedy_kind remedy; /* of the request; then of the answer that was refused */
    watch_last last;
    bool armed;    /* calls of the circle are refused */
    bool no_calls; /* the model was to answer without calling anything: every call is refused */
    bool refused;  /* the newest answer was */
    int agent;     /* its place in the table of agents.c */
    /* another way to go on */
    bool looked;          /* one was looked for */
    bool asking, waiting; /* a model is asked for one; the request waits for it before it goes out */
    const daruma_situation *about;
    daruma_strategy proposal;
    daruma_strategy_fate fate;
};

/* Of the agent, while it is not forgotten; else NULL, 0. */
daruma_tries *watch_tries(session *x);
size_t watch_failures(session *x, daruma_tool_failure *out, size_t max);
/* What helped this client against the newest failure. */
size_t watch_lessons(session *x, const daruma_situation *s, daruma_lesson *out, size_t max);

/* Does what watch_request() found to the request. False: it was answered and goes nowhere, or session_steered() will be
 * called. */
bool steer_request(session *x);
/* Before it goes out: false, a model is asked for a strategy first; session_fitted() will be called. */
bool steer_ready(session *x);
/* Was the question on the side this room's? Then its answer, and that all are there. */
bool steer_answer(session *x, daruma_str text);
bool steer_asked(session *x);
/* Is this call refused to the agent? Then `why` says so to the model. */
bool steer_refuses(session *x, daruma_str tool, daruma_str args, daruma_buf *why);
bool steer_checks_calls(const session *x); /* may one be? */
/* Was the answer refused for such a call? Then that is what failed, and `as` which kind of failure it is. */
bool steer_refused(const session *x, daruma_kind *as);
bool steer_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
session_mend_result steer_apply(session *x, daruma_remedy_kind r);
/* What is done about the agent, for a header; empty: nothing. */
daruma_str steer_header(const session *x);
/* What the client reads when its agent is stopped. */
daruma_str steer_partial(session *x);

/* ---- strategy.c: another way to go on ---- */

/* Looks for another way. True: a model is asked, strategy_answer() comes. */
bool strategy_begin(session *x);
void strategy_answer(session *x, daruma_str text);    /* empty: it failed */
void strategy_say(const session *x, daruma_buf *out); /* for the model, when it may be done; else nothing */
void strategy_lesson(session *x, daruma_buf *out);    /* for the model: what helped this client before; else nothing */

#endif
