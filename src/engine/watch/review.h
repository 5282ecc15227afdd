/* review.h - a run of an agent, looked at when it is over: where it went in circles, which tools failed and whether
 * that was overcome, what it cost, and what a gateway would have done about it and when. */
#ifndef WATCH_REVIEW_H
#define WATCH_REVIEW_H
#include "daruma_parts.h"
#include "base/limits.h"

/* One step, and where it stands. */
typedef struct review_step {
    daruma_step step;
    uint32_t turn; /* the answer of the model it was part of, counted from 1: turn n is the answer to request n */
    int64_t bytes; /* of its call and its result: what each later request carries because of it */
    bool new_task; /* the user said something new before it: what was counted begins anew */
} review_step;

/* A whole run. Everything is borrowed. */
typedef struct review_run {
    const review_step *steps;
    size_t n;
    const int64_t *carried; /* bytes that request 1, 2, ... carried; never less than those of the one before */
    uint32_t requests;      /* how many there were; at least as many as turns */
} review_run;

/* The remedies of a gateway that enforces, in the order in which they are climbed. */
typedef enum review_rung {
    REVIEW_TOLD,     /* NOTICE: this much `watch: guide` does, too */
    REVIEW_REFUSED,  /* BLOCK_CALL */
    REVIEW_FINISHED, /* FORCE_FINISH */
    REVIEW_STOPPED,  /* STOP_PARTIAL */
    REVIEW_RUNGS
} review_rung;

/* Steps are counted from 1. */
typedef struct review_circle {
    daruma_verdict v;                 /* as it was said last; counts from the newest task */
    daruma_step step;                 /* the step it was said of */
    uint32_t first, last;             /* steps of it */
    uint32_t seen;                    /* the step at which daruma first says so */
    uint32_t after[REVIEW_RUNGS];     /* the step behind which a gateway does this to an agent that goes on; 0: it never
                                         comes to that */
    uint32_t wasted;                  /* steps of it but for its first lap */
    uint32_t next;                    /* first step behind it; 0: it went on to the end */
    uint32_t calls[REVIEW_CALLS_MAX]; /* the steps at which each of its calls was first made */
    uint32_t ncalls;                  /* 0: the calls differ; then `step` is one of them */
    uint64_t hashes[REVIEW_CALLS_MAX]; /* daruma_call_hash() of the calls that were to blame so far */
    uint32_t nhashes;
} review_circle;

/* Failures of one tool that are the same: see daruma_tool_failure.signature. */
typedef struct review_failure {
    daruma_tool_failure f; /* the newest; `whole` is empty */
    uint32_t first, last;  /* steps */
    uint32_t times, open;  /* how often; of these not overcome */
    uint32_t solved;       /* the step that reached the goal of the newest one that was overcome; 0: none */
    daruma_lesson lesson;  /* what helped against it; kind OTHER: nothing that can be told */
} review_failure;

/* A limit of failures was reached: from here on a person should look. */
typedef struct review_escalation {
    uint32_t step;
    daruma_str reason;
    bool overcome; /* what failed then was reached later all the same */
} review_escalation;

/* Bytes of requests, as far as the run shows them. */
typedef struct review_cost {
    uint32_t wasted;          /* steps of circles but for their first laps */
    uint32_t wasted_requests; /* whose answers were nothing else */
    int64_t sent;             /* bytes of all requests together */
    int64_t without;          /* the same without the steps that were wasted and the requests for nothing else */
} review_cost;

typedef struct review {
    review_circle *circles;
    size_t ncircles, more_circles; /* more_circles: beyond REVIEW_CIRCLES_MAX */
    review_failure *failures;
    size_t nfailures, more_failures; /* more_failures: of other kinds, beyond REVIEW_FAILURES_MAX */
    uint32_t failed, open;           /* steps that failed; of these not overcome */
    review_escalation *escalations;
    size_t nescalations;
    review_cost cost;
    bool full; /* there was not memory enough: what is here is not all */
} review;

/* `keep` is where it lives; `scratch` is for each step anew, and has to have room for a copy of the largest. Pure. */
review review_of(const review_run *run, const daruma_policy *p, daruma_arena *keep, daruma_arena scratch);
#endif
