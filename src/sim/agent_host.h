/* agent_host.h - whole agents in virtual time: engine/agent, whose questions to models are sessions of the driver on a
 * wire (wire.h). Its user says what providers answer, what tools give and how long they take, and what people say. What
 * `daruma run` does with sockets and processes is done here with numbers: the same acts, the same recovery.
 *
 *     agent --MODEL--> session on the wire --> answered, failed
 *           --TOOL---> tool(), or another agent
 *           --ASK----> person()      --WAIT--> the clock jumps */
#ifndef SIM_AGENT_HOST_H
#define SIM_AGENT_HOST_H
#include "engine/agent/agent.h"
#include "sim/wire.h"

/* What a call of a tool comes to. */
typedef struct sim_tool_result {
    daruma_str text; /* lives until the next call */
    int ok;          /* 1 it worked, 0 it failed, -1 not told */
    bool lost;       /* the call may have had its effect or not */
    daruma_ms took;
} sim_tool_result;

typedef struct sim_reply {
    agent_reply what;
    daruma_str text; /* what they say; may be empty */
    daruma_ms took;
} sim_reply;

/* `a` is the agent that asks: a delegated one has its own. */
typedef struct sim_agent_ops {
    bool (*tool)(void *user, agent *a, const agent_act *x, sim_tool_result *ret); /* false: the run stops there */
    bool (*person)(void *user, agent *a, const agent_act *x, sim_reply *ret);     /* likewise */
    void (*event)(void *user, daruma_str json);
    /* A model is about to be asked, and its answer came; either may be NULL. */
    void (*asks)(void *user, const agent_act *x);
    void (*answered)(void *user, const agent_act *x, const wire *w);
    /* The agent of that name, which a call delegates to; NULL: there are none. False: there is no such agent. */
    bool (*child)(void *user, daruma_str name, agent_setup *ret);
} sim_agent_ops;

enum { SIM_ACTS_MAX = 20000, SIM_DEPTH_MAX = 8 /* agents that wait for one another */ };

typedef struct sim_agents {
    const sim_agent_ops *ops;
    void *user;
    wire *w; /* has begun */
    const drive_rooms *rooms;
    const drive_options *options; /* of the sessions: the layer below the agent */
    daruma_ms cancel_at;          /* the user interrupts the run then; 0: never, -1: at once */
    uint64_t clients;             /* questions so far: each is a conversation of its own */
    uint32_t acts_max;            /* of one agent; 0: SIM_ACTS_MAX */
    bool stopped;                 /* an op returned false, or it does not end */
    /* inside */
    daruma_str names[SIM_DEPTH_MAX + 1]; /* of the agents that wait for one another */
} sim_agents;

/* Runs an agent until it has finished: agent_result_of(), then agent_close(). NULL: without memory, or it was stopped
 * (`h->stopped`). */
agent *sim_agent_run(sim_agents *h, const agent_setup *s, daruma_str task);
/* Goes on with one that was resumed, until it finishes. False: it was stopped. */
bool sim_agent_go_on(sim_agents *h, agent *a);
#endif
