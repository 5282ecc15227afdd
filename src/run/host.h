/* host.h - runs an agent: its questions to models go through sessions of the library, its tools are those of files.h.
 */
#ifndef RUN_HOST_H
#define RUN_HOST_H
#include "run/approve.h"
#include "run/journal.h"
#include "run/mcp.h"

typedef struct run_settings {
    const dialect *d;
    daruma_str base;          /* of the provider, or of a gateway: "http://127.0.0.1:4141/v1" */
    daruma_str key;           /* empty: none is sent */
    daruma_str model, second; /* that works; that explains (may be empty) */
    const char *root;         /* the folder that tools see */
    agent_mode mode;
    const agent_policy *agent;     /* what is done about failures of the agent; NULL: the default */
    const daruma_policy *recovery; /* ... and of its calls; NULL: the default */
    agent_limits limits;
    bool shell;           /* there is shell.run */
    const mcp_setup *mcp; /* servers whose tools there are, too */
    size_t nmcp;
    bool allow_local;        /* http.get may read what is on this machine and in its network */
    daruma_str id;           /* of the run */
    journal *journal;        /* its record, new or to go on with; NULL: none is kept. The caller's */
    bool resume;             /* it goes on where the journal ends */
    daruma_str guidance;     /* ... with what a person says to a run that was escalated */
    approve_settings person; /* who is asked before a tool has an effect; `run`, `event`, `user` are set here */
    void (*event)(daruma_str json, void *user); /* something happened; a JSON object */
    /* Once, at the end. `recovered`: calls of models that failed, and were answered all the same. */
    void (*done)(const agent_result *r, uint32_t recovered, void *user);
    void *user;
} run_settings;

/* The end of a run as a JSON object: the event `result`, and what a journal keeps of it. */
void run_result_json(const agent_result *r, uint32_t recovered, daruma_buf *out);

/* Runs a task to its end; `done` is called before it returns. SIGINT ends it at the next safe point. False and a
 * sentence in `why`: it could not begin. */
bool run_task(const run_settings *s, daruma_str task, char why[256]);
#endif
