/* replay_steps.h - scenes of agents: their steps come from a script, and what daruma says of each is written down. */
#ifndef CLI_REPLAY_REPLAY_STEPS_H
#define CLI_REPLAY_REPLAY_STEPS_H
#include "cli/replay/replay.h"

/* One scene being played. Directives (lines that begin with '=') get it. */
typedef struct replay_agent {
    replay_scene *s;
    daruma_buf *log;
    replay_place at; /* the line at hand */
    daruma_ms now;
    daruma_arena a;       /* lives as long as the scene */
    daruma_arena scratch; /* as long as one line */
    daruma_tracker *tracker;
    daruma_stall *stall;
    daruma_detector detector;
    daruma_guide guide;
    daruma_verdict verdict;     /* after the newest step */
    daruma_step last;           /* the newest step; lives in `a` */
    uint32_t nsteps;            /* steps so far */
    struct replay_adapt *adapt; /* progress, strategies and lessons */
    size_t asked;               /* answers of the scene's model that are used up */
} replay_agent;

/* What is written behind '=': a name, and the rest of the line. False: it cannot be done, and `why` is told. */
typedef struct replay_directive {
    const char *name;
    bool (*play)(replay_agent *g, daruma_str rest);
} replay_directive;

/* Plays the steps of a scene and writes its log. */
bool replay_steps_run(replay_scene *s, daruma_buf *log, char why[256]);

/* "case.md:3: WHAT `ABOUT`" into `why`; false. */
bool replay_steps_wrong(const replay_agent *g, const char *what, daruma_str about);
/* The next answer of the scene's model; empty: it fails, or nothing is left. */
daruma_str replay_steps_answer(replay_agent *g);
/* Text of several lines into the log, each behind "| ". */
void replay_steps_show(replay_agent *g, daruma_str text);
daruma_moment replay_steps_moment(const replay_agent *g);
#endif
