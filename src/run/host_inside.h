/* host_inside.h - a run, and what the files of its host call of each other. */
#ifndef RUN_HOST_INSIDE_H
#define RUN_HOST_INSIDE_H
#include "run/host.h"
#include "run/approve.h"
#include "store/journal.h"
#include "run/resume.h"
#include "tools/files.h"
#include "run/staff.h"
#include "dialect/streamed.h"
#include "net/upstream.h"
#include <uv.h>

/* A call of the session that is out. */
typedef struct host_call {
    struct host_call *next;
    struct run *r;
    int64_t number;
    fetch *f;
    daruma_arena room; /* of the request, but for ... */
    daruma_arena body; /* ... its body, where the session made another of the question: in memory of its size */
} host_call;

/* The question that is out, or was last. */
typedef struct host_question {
    uint32_t number;    /* the agent's */
    daruma_str model;   /* in the room of the answer */
    daruma_str body;    /* as it was asked; lives until its outcome is handed in */
    uint32_t sent;      /* calls that went out for it, those before a resume included */
    int status;         /* of its answer */
    int head;           /* status that the provider gave last, 0 none ... */
    daruma_net net;     /* ... how the newest call ended without an answer; NONE: it did not ... */
    daruma_phase phase; /* ... and where */
    bool streams;       /* the answer is asked for as a stream ... */
    streamed answer;    /* ... and read as one, unless the provider sends it whole: then it is in ... */
    daruma_buf whole;
    daruma_buf held;   /* text of it that is not told yet */
    bool tells;        /* its text is the model's, and is told as it comes */
    bool over, broken; /* the session is; its answer is not whole */
} host_question;

typedef struct run {
    const run_settings *s;
    uv_loop_t loop;
    uv_timer_t clock, soon;    /* the next time that is waited for; what must not be done within a callback */
    uv_signal_t interrupts[3]; /* Ctrl-C, and the ways in which systems and terminals end a program */
    upstream *up;
    upstream *web;           /* of http.get: where it leads is not ours to say */
    daruma_arena memory;     /* of the run */
    daruma_memory *known;    /* to the library */
    daruma_session *session; /* NULL: no model is asked */
    host_call *calls;
    host_question q;
    uint32_t before;    /* calls that went out for the question that is put next, when it was put before */
    uint32_t recovered; /* questions that were answered behind a failure */
    run_below below;    /* what sessions did that no agent has heard of */
    run_below recorded; /* ... as the journal has it */
    daruma_ms rests;    /* since when the session that is open has no call out; -1 it has one, or there is none */
    daruma_arena room;  /* of the answer to the question */
    run_text follows;   /* of the next piece of text */
    staff *staff;
    crew *a;
    daruma_ms until; /* the agent waits so long, -1 it does not */
    toolset *tools;
    mcp_servers *servers; /* NULL: there are none */
    tool_call *tool;      /* that is out; NULL: none */
    uint32_t called;      /* the agent's number of that call */
    files_place files;
    journal *journal; /* NULL: none is kept, or not any more */
    daruma_ms shift;  /* from the system's clock to the run's, which stands still while nobody runs it */
    approve *person;
    resumed past;      /* what was recalled */
    uint32_t question; /* the agent's number of the act that a person is asked about */
    bool signalled;    /* it was asked to end */
    bool stopped;      /* ... before an agent was there */
    bool finished;
    bool was_over; /* its journal ends with its end: that is told again */
} run;

/* ---- host.c ---- */

daruma_moment host_tick(run *r);
void host_say(run *r, daruma_str json); /* an event, to the journal and to whoever looks on */
void host_later(run *r);                /* what is to be done outside of the callback at hand */
void host_rearm(run *r);
void host_lose_journal(run *r); /* it cannot be written any more */

/* ---- host_session.c ---- */

/* Asks the model that an act names: a session of the library, whose calls go out. r->over when it has ended. */
void host_ask(run *r, const agent_act *x);
/* What came of it, when it is over. */
crew_input host_answer(run *r);
void host_pump(run *r); /* does what the session says */
void host_end_calls(run *r);
/* Its cost is counted, calls beside the first in `ret_more`; NULL: nobody hears of what came of it. */
void host_end_session(run *r, uint32_t *ret_more);
#endif
