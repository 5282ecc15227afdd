/* host.h - runs an agent: its questions to models go through sessions of the library, its tools are those of files.h.
 */
#ifndef RUN_HOST_H
#define RUN_HOST_H
#include "engine/agent/agent.h"

typedef struct run_settings {
    const dialect *d;
    daruma_str base;          /* of the provider, or of a gateway: "http://127.0.0.1:4141/v1" */
    daruma_str key;           /* empty: none is sent */
    daruma_str model, second; /* that works; that explains (may be empty) */
    const char *root;         /* the folder that tools see */
    agent_mode mode;
    const agent_policy *agent;     /* what is done about failures of the agent; NULL: the default */
    const daruma_policy *recovery; /* ... and of its calls, in the sessions below it; NULL: the default */
    const daruma_policy *judge;    /* that the agent judges failures by; NULL: `recovery` */
    agent_limits limits;
    bool yes;                                        /* nobody is asked before files are changed */
    void (*event)(daruma_str json, void *user);      /* something happened; a JSON object */
    agent_reply (*ask)(daruma_str text, void *user); /* a question to a person */
    /* Once, at the end. `recovered`: calls of models that failed, and were answered all the same. */
    void (*done)(const agent_result *r, uint32_t recovered, void *user);
    void *user;
} run_settings;

/* Runs a task to its end; `done` is called before it returns. SIGINT ends it at the next safe point. False and a
 * sentence in `why`: it could not begin. */
bool run_task(const run_settings *s, daruma_str task, char why[256]);
#endif
