/* steer.h - what is done about the agent of one request, as watch.c finds it and steer.c does it. */
#ifndef ENGINE_DRIVE_STEER_H
#define ENGINE_DRIVE_STEER_H
#include "base/limits.h"
#include "engine/drive/mending.h"

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

/* strategy.c: looks for another way. True: a model is asked, strategy_answer() comes. */
bool strategy_begin(session *x);
void strategy_answer(session *x, daruma_str text);    /* empty: it failed */
void strategy_say(const session *x, daruma_buf *out); /* for the model, when it may be done; else nothing */
void strategy_lesson(session *x, daruma_buf *out);    /* for the model: what helped this client before; else nothing */
#endif
