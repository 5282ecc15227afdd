/* host.h - runs agents: their questions to models go through sessions of the library, their tools are those of tools.h.
 */
#ifndef RUN_HOST_H
#define RUN_HOST_H
#include "run/approve.h"
#include "store/journal.h"
#include "tools/mcp.h"

/* Where a model is that can be asked. */
typedef struct run_target {
    daruma_str name;              /* for events; unique among those of its model */
    daruma_str model;             /* as that place calls it */
    const dialect *d;             /* that it speaks */
    daruma_str base;              /* of the provider, or of a gateway: "http://127.0.0.1:4141/v1" */
    daruma_str key;               /* empty: none is sent */
    daruma_str account;           /* whose limits are shared; empty: the target's own */
    const daruma_header *headers; /* that go along with each call */
    size_t nheaders;
    int64_t window, max_output; /* tokens; 0 or below: not known */
} run_target;

/* A model: where it is asked, preferred first; the first one's dialect is the conversation's. */
typedef struct run_model {
    const run_target *targets;
    size_t n;
} run_model;

/* Names of tools: "fs.read", "fs.*". */
typedef struct run_names {
    const daruma_str *list;
    size_t n;
    bool said; /* else as usual */
} run_names;
/* True if that is the name, or the beginning of it with a `*` behind it. */
bool run_name_fits(daruma_str pattern, daruma_str name);

typedef struct run_agent {
    daruma_str name;
    daruma_str says;         /* what it is good for, for those that delegate to it */
    daruma_str instructions; /* empty: AGENT_INSTRUCTIONS */
    run_model model, second; /* that works; that explains (may have no target) */
    run_names tools;         /* and agents that it may call; unsaid: all tools, no agents */
    run_names mcp;           /* servers whose tools it may call; unsaid: those that `tools` says, else all */
    agent_mode mode;
    const agent_policy *policy;    /* what is done about its failures; NULL: the default */
    const daruma_policy *recovery; /* ... and about those of its calls, in the sessions below; NULL: the default */
    const daruma_policy *judge;    /* that the agent judges failures by; NULL: `recovery` */
    agent_retry retry;             /* of what it asks models for; attempts 0: once, the session below repeats */
    agent_limits limits;
} run_agent;

enum { RUN_ASK_USUAL = 2 };
/* What a host says about a tool, or several. */
typedef struct run_tool {
    daruma_str name;   /* "fs.*" */
    uint32_t ask;      /* 1 a person is asked first, 0 nobody is, RUN_ASK_USUAL */
    daruma_ms within;  /* so long a call may take; 0: as usual */
    agent_retry retry; /* delay -1: as usual */
    agent_rule *rules;
    size_t nrules;
} run_tool;

/* What a piece of the answer follows. */
typedef enum run_text {
    RUN_TEXT_NEW,   /* nothing: another answer begins */
    RUN_TEXT_MORE,  /* the piece before it */
    RUN_TEXT_AGAIN, /* nothing: the answer that was told last broke off for good, and is given again from its beginning
                     */
} run_text;

typedef struct run_settings {
    const run_agent *agents; /* the first one gets the task */
    size_t nagents;
    const run_tool *tools; /* the first whose name fits holds */
    size_t ntools;
    const char *root;     /* the folder that tools see */
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
    /* What the first agent's model says, as it says it; NULL: answers are not streamed. Not told of models that write
     * actions as JSON. */
    void (*text)(daruma_str piece, run_text follows, void *user);
    /* Once, at the end. `recovered`: calls of models that failed, and were answered all the same. */
    void (*done)(const agent_result *r, uint32_t recovered, void *user);
    void *user;
} run_settings;

/* Runs a task to its end; `done` is called before it returns. SIGINT ends it at the next safe point. False and a
 * sentence in `why`: it could not begin; an empty one: it was interrupted before it did. */
bool run_task(const run_settings *s, daruma_str task, char why[256]);
#endif
