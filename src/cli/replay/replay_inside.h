/* replay_inside.h - a scene that is being run, and what the files that run scenes call of each other. */
#ifndef CLI_REPLAY_REPLAY_INSIDE_H
#define CLI_REPLAY_REPLAY_INSIDE_H
#include "cli/replay/replay.h"
#include "sim/wire.h"

typedef struct run run;
struct run {
    replay_scene *s;
    daruma_buf *log;
    replay_place at; /* of what is wrong */
    wire w;
    daruma_arena a;                           /* of one request */
    daruma_target targets[DARUMA_CASE_TRIED]; /* in the order of this request */
    size_t ncalls;                            /* of tools, so far */
    daruma_arena *keep;                       /* lives as long as the scene */
    daruma_str grown;                         /* the request that the agent sends next; empty: there is none */
    int64_t clients;                          /* that were not named */
    size_t from;                              /* the script's outcomes of this request begin here */
    bool stream;                              /* the client asks for one */
    daruma_str sent;                          /* the body that the log has */
    uint32_t ncalled;                         /* calls that went out */
    daruma_ms rested;                         /* waited in all */
    size_t nasked;                            /* answers of the scene's model that are used up */
};

/* "case.md:3: WHAT `ABOUT`", unless something is told already; false. */
bool run_told(run *r, int line, const char *what, daruma_str about);
/* Begins a line of the log with `word`, behind the wait that came before it. */
daruma_buf *run_line(run *r, const char *word);
/* On one line; twenty and more of one character as {{24 x}}. */
void run_put_short(daruma_str body, daruma_buf *log);
/* What drive_host has for them: an event, or a step, becomes a line of the log; `user` is the run. */
void run_tells(void *user, daruma_event *e);
void run_steps(void *user, const drive_step *step);
/* What the scene says that a call of a tool gives, with the text of its result, and logs it. NULL after it was told
 * that it does not say. */
const replay_step *run_tool(run *r, daruma_str tool, daruma_str args, daruma_str *ret_text);

extern const drive_rooms run_rooms;

/* Runs the agents of a scene. */
bool run_agents(run *r);
#endif
