/* crew.h - agents that work for each other, as one: the first has the task, and calls others as tools. Who delegates
 * waits for whom it called, so one of them works at a time. What goes out and comes in is as with a single agent
 * (agent.h): acts with numbers, outcomes with their moments, and the same inputs give the same acts. */
#ifndef ENGINE_AGENT_CREW_H
#define ENGINE_AGENT_CREW_H
#include "engine/agent/agent.h"

typedef struct crew crew;

/* One of them. Everything is borrowed and outlives the crew. */
typedef struct crew_member {
    agent_setup as;  /* `lineage` and the ids of swarms are set here. Of its tools those that delegate are named as the
                        member they mean */
    const void *own; /* the host's */
} crew_member;

/* The first member gets the task. NULL without memory. */
crew *crew_open(const crew_member *members, size_t n, const drive_rooms *rooms, daruma_str task, daruma_moment at);
void crew_close(crew *c); /* NULL is allowed */

/* What a crew is told: what came of the act that is out, or what happened by itself. X(symbol, name) */
#define CREW_INPUT_MAP(X)                                                                                              \
    X(OPENED, "opened")                                                                                                \
    X(ANSWERED, "answered")                                                                                            \
    X(FAILED, "failed")                                                                                                \
    X(TOOL, "tool")                                                                                                    \
    X(PERSON, "person")                                                                                                \
    X(CLOCK, "clock")                                                                                                  \
    X(RESUMED, "resumed")

typedef enum crew_input_kind {
#define X(sym, ...) CREW_##sym,
    CREW_INPUT_MAP(X)
#undef X
        CREW_INPUTS
} crew_input_kind;

typedef struct crew_input {
    crew_input_kind kind;
    uint32_t call;    /* number of the act; OPENED, CLOCK, RESUMED: 0 */
    daruma_moment at; /* by the clock of the run */
    daruma_str text;  /* the answer, the body of a failure, the result of a tool, what a person says */
    int code;         /* ANSWERED: 1 behind a failure; FAILED: the status; TOOL: ok; PERSON: an agent_reply */
    int phase, net;   /* FAILED: a daruma_phase, a daruma_net */
    bool lost;        /* TOOL: it may have taken effect or not */
    uint32_t more;    /* ANSWERED, FAILED: calls that were made for it, beside the first */
} crew_input;

agent_act crew_next(crew *c); /* as agent_next(), of whoever works */
/* Tells whoever works. False: RESUMED, and it was not escalated. */
bool crew_tell(crew *c, const crew_input *in);
void crew_cancel(crew *c, daruma_moment at); /* all of them */
agent_result crew_result_of(const crew *c);  /* of the first */

const crew_member *crew_who(const crew *c);                       /* works */
void crew_sign(const crew *c, daruma_str event, daruma_buf *out); /* as agent_sign(), of whoever works */
bool crew_moves(const crew *c); /* the one that works has ended: crew_next() goes on without an outcome */

/* The row of a tool that delegates to the member of that name: it takes a task. `says` what it is good for. */
agent_tool crew_tool(daruma_str name, daruma_str says);
#endif
