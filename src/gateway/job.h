/* job.h - work on a large request or answer, away from the loop that serves everybody else. */
#ifndef GATEWAY_JOB_H
#define GATEWAY_JOB_H
#include "gateway/inside.h"

/* What is done. work() runs on another thread: it may touch what `data` says, the request's bytes, the answer's in
 * x->held and x->t, and x->h, and nothing else. One of the other two is called on the loop when it is over: then(), or
 * drop() when the client has left. */
typedef struct job_kind {
    void (*work)(void *data);
    void (*then)(exchange *x, void *data);
    void (*drop)(void *data);
    bool brief; /* over within some 100 ms: it waits for no long one */
} job_kind;

/* Does it: at once where `bytes` is of usual size, then this is true and neither then() nor drop() is called. False: it
 * is under way, and nothing else may be done for the request but heartbeats. */
bool job_run(exchange *x, size_t bytes, const job_kind *kind, void *data);
/* The request is over. A job under way keeps what it reads until it ends. */
void job_leave(exchange *x);
void jobs_free(jobs *all); /* the gateway is over; jobs may still be under way */
#endif
