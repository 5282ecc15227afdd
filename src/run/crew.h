/* crew.h - agents that work for each other, as one: the first has the task, and calls others as tools. Who delegates
 * waits for whom it called, so one of them works at a time. What goes out and comes in is as with a single agent
 * (agent.h): acts with numbers, outcomes with their moments, and the same inputs give the same acts. */
#ifndef RUN_CREW_H
#define RUN_CREW_H
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

/* As agent_next() and its like, of whoever works. */
agent_act crew_next(crew *c);
void crew_answered(crew *c, uint32_t call, daruma_str body, daruma_moment at);
void crew_failed(crew *c, uint32_t call, const daruma_evidence *ev, daruma_moment at);
void crew_tool_done(crew *c, uint32_t call, daruma_str result, int ok, bool lost, daruma_moment at);
void crew_person(crew *c, uint32_t call, agent_reply r, daruma_str text, daruma_moment at);
void crew_clock(crew *c, daruma_moment at);
void crew_cancel(crew *c, daruma_moment at); /* all of them */
bool crew_resume(crew *c, daruma_str guidance, daruma_moment at);
agent_result crew_result_of(const crew *c); /* of the first */

const crew_member *crew_who(const crew *c); /* works */
bool crew_moves(const crew *c);             /* the one that works has ended: crew_next() goes on without an outcome */

/* The row of a tool that delegates to the member of that name: it takes a task. `says` what it is good for. */
agent_tool crew_tool(daruma_str name, daruma_str says);
#endif
