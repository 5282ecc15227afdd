/* replay_steps.h - a scene of steps that is being played, and what the files that play it call of each other. */
#ifndef CLI_REPLAY_REPLAY_STEPS_H
#define CLI_REPLAY_REPLAY_STEPS_H
#include "cli/replay/replay.h"

enum { AGENT_WALL_BEGIN = 1767225600, SCRATCH_BYTES = 8 << 20, FAILURES = 64, TEXTS = 16, LESSONS = 16, TENANT = 1 };

/* One scene being played. */
typedef struct steps {
    replay_scene *s;
    daruma_buf *log;
    replay_place at; /* the line at hand */
    daruma_str rest; /* of a directive, behind its name */
    daruma_ms now;
    daruma_arena a;       /* lives as long as the scene */
    daruma_arena scratch; /* as long as one line */
    daruma_tracker *tracker;
    daruma_stall *stall;
    daruma_detector detector;
    daruma_guide guide;
    daruma_verdict verdict;      /* after the newest step */
    daruma_step last;            /* the newest step; lives in `a` */
    daruma_tool_failure failure; /* of it */
    uint32_t nsteps;             /* steps so far */
    size_t asked;                /* answers of the scene's model that are used up */
    daruma_progress progress;
    daruma_estimate estimate;
    daruma_tries tries;
    daruma_learner learner;
    daruma_lessons *lessons;
    daruma_lesson found[DARUMA_LESSONS_SHOWN];
    daruma_strategy proposed; /* the newest */
    daruma_str goal, facts[TEXTS], blockers[TEXTS];
    daruma_tool tools[TEXTS];
    size_t nfacts, nblockers, ntools;
} steps;

daruma_moment steps_moment(const steps *g);
/* The next answer of the scene's model; empty: it fails, or nothing is left. */
daruma_str steps_next_answer(steps *g);
/* Text of several lines into the log, each behind "| ". */
void steps_show_page(steps *g, daruma_str text);
/* A text within a line of the log. */
void steps_put_flat(daruma_buf *log, daruma_str text);
daruma_str steps_schema_of(const steps *g, daruma_str tool);

/* Does what a line with '=' in front says. False after it was told what is wrong. */
bool steps_direct(steps *g, daruma_str line);
#endif
