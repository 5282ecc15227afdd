/* inside.h - the agent's state, which all its files share. */
#ifndef ENGINE_AGENT_INSIDE_H
#define ENGINE_AGENT_INSIDE_H
#include "engine/agent/agent.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

typedef enum agent_phase {
    PHASE_CLASSES,  /* tools that can serve are chosen */
    PHASE_PLAN,     /* a plan is made */
    PHASE_THINK,    /* the model is asked for the next step */
    PHASE_TOOLS,    /* the calls of its answer are carried out, one after the other */
    PHASE_SHORTEN,  /* long results are summarised */
    PHASE_ESTIMATE, /* the progress is estimated */
    PHASE_ADAPT,    /* a model is asked for another way */
    PHASE_FILL,     /* missing arguments are asked for */
    PHASE_FINISH,   /* a usable answer is asked for */
    PHASE_APOLOGY,  /* an apology is asked for, for what failed */
    PHASE_ANALYSE,  /* a model explains the failure that ends the run */
    PHASE_OVER,
} agent_phase;

/* An action that a model wrote as JSON. */
typedef struct agent_action {
    daruma_str node, thought, args;
    bool beside; /* of a plan of several that are done together */
} agent_action;

/* What is wrong with arguments. */
typedef struct args_bad {
    daruma_str missing[AGENT_FILL_FIELDS_MAX];
    size_t nmissing;
    bool complex;           /* a missing one is no plain value */
    daruma_str placeholder; /* the field that only pretends a value; empty: none */
    daruma_str why;
} args_bad;

/* Of one tool. */
typedef struct args_count {
    uint32_t in_row, rejected; /* failing arguments since it worked; those of them that were not there */
    bool filled;               /* they were asked for */
} args_count;

/* What is out. */
typedef enum agent_out { OUT_NONE, OUT_MODEL, OUT_TOOL, OUT_PERSON, OUT_TIME } agent_out;

/* Why the next call of the model is one without tools. */
typedef enum agent_last { LAST_NOT, LAST_LIMIT, LAST_LOOP } agent_last;

/* The newest question for a step as it was written. While nothing changes before its end, the next one is this and
 * what is new: a run of a thousand steps does not write its first step a thousand times. */
typedef struct agent_written {
    char *p; /* of the rooms; NULL: there is none */
    size_t n, cap;
    size_t end;    /* where its messages end: the next one comes here */
    size_t nsteps; /* that are in it */
    uint64_t mark; /* of those, and of the tools */
} agent_written;

/* What is known of the steps that left the conversation. */
typedef struct agent_gone {
    uint32_t steps, called; /* all of them; calls that were carried out */
    struct agent_gone_calls {
        uint32_t made, failed;
    } * calls;        /* by tool, one more for all others */
    daruma_str words; /* the model's newest among them, in `texts` */
} agent_gone;

typedef enum agent_step_kind {
    AGENT_STEP_CALL,  /* a call of a tool and what came of it */
    AGENT_STEP_WORDS, /* the model spoke without a call */
    AGENT_STEP_NOTE,  /* words of ours to the model */
} agent_step_kind;

typedef struct agent_step {
    agent_step_kind kind;
    uint32_t turn;      /* answers of the model so far: calls of one answer share it */
    uint32_t plan_step; /* 1 + index of the step of the plan that it belongs to; 0 none */
    daruma_str thought; /* what the model said before its calls, at the first of them; WORDS, NOTE: the text */
    daruma_str id, tool, args;
    daruma_str instead;         /* other arguments that it was called with: a path was completed; empty: `args` */
    daruma_str note;            /* ... which the model is told so; empty: none */
    daruma_str observation;     /* as the tool gave it: kept (P-F18) */
    daruma_str llm_observation; /* as the model sees it */
    daruma_str error;           /* what failed, on one line; empty: nothing */
    uint32_t attempts;          /* times it was called: survives whatever happens between */
    uint32_t tracked;           /* its number in the count of failures, from 1; 0 none */
    daruma_tool_kind tool_kind;
    bool done, failed, lost;
    bool asked;      /* a person allowed it */
    bool compressed; /* llm_observation is a summary, or was cut */
    bool looked;     /* steps that left looked at something behind it */
} agent_step;

/* How the task is planned (plan.c). */
typedef struct agent_planning {
    bool *usable;           /* PLANNED: by tool: chosen */
    agent_plan plan;        /* the newest */
    daruma_str *outputs;    /* by step of the plan */
    size_t at;              /* the step of the plan at hand */
    size_t from;            /* first step of the trajectory that belongs to the step at hand */
    uint32_t plan_round;    /* in which a plan was asked for last: 1, and one more behind each failure; 0 never */
    uint32_t classes_round; /* in which it was asked last which tools serve; 0 never */
    uint32_t plans_made;    /* plans that were good */
    daruma_str complaint;   /* what was wrong with the plan, or with what was chosen; empty: nothing */
} agent_planning;

/* Whether it goes in circles, and another way (calls.c, adapt.c). */
typedef struct agent_loop {
    daruma_tracker *tracker;  /* of failures */
    uint32_t tracked;         /* steps that it saw */
    daruma_stall *stall;      /* of circles */
    daruma_detector detector; /* rules of the profile's own */
    daruma_guide guide;       /* what is said about a circle */
    daruma_progress progress; /* as counted */
    daruma_tries tries;       /* other ways that were looked for */
    daruma_strategy strategy; /* the newest one, in `texts` */
    daruma_str circle;        /* what it keeps doing, in words; empty: nothing */
    const char *means;        /* what is said before it when it ends the run; set with LAST_LOOP */
    bool wants_way;           /* another way is due */
    bool asks_way;            /* a person is asked about one */
    daruma_str estimate;      /* of the progress, as the model said it; empty: none */
    bool ends;                /* the run ends behind the strategy at hand */
} agent_loop;

/* Arguments that fail (args.c). */
typedef struct agent_args {
    uint32_t failures;   /* failing arguments since a tool worked */
    args_count *counts;  /* by tool, one more for all others */
    size_t fill;         /* the step at hand in FILL and APOLOGY */
    const char *apology; /* why: "autofill_rejection" */
    bool repaired;       /* an answer was asked for already */
} agent_args;

/* The report that ends a run (report.c). */
typedef struct agent_reporting {
    bool nudged;         /* it was asked for one, since it spoke and called nothing */
    bool forced;         /* the next answer has to be one */
    bool final_told;     /* that its next call is the last */
    bool soft_told;      /* that it has used much of its tokens */
    daruma_str said;     /* what it said when it was told to report */
    uint32_t lean;       /* steps in a row that took few tokens */
    int64_t used_before; /* tokens before the step at hand */
} agent_reporting;

/* Results that are summarised (trajectory.c). */
typedef struct agent_shorten {
    uint32_t times; /* times in this step, or this run */
    uint32_t done;  /* SHORTEN: steps that became shorter so far */
    size_t at;
    int64_t before; /* SHORTEN: characters of the view */
} agent_shorten;

struct agent {
    agent_setup s;
    const agent_policy *policy;
    const daruma_policy *recovery;
    const drive_rooms *rooms;
    agent_written written;
    daruma_arena keep, scratch; /* for the run; until the next outcome */
    daruma_arena texts;         /* of steps, and others that come anew: those in use move when old steps leave */
    daruma_str task;
    agent_phase phase;
    agent_out out;
    agent_act act; /* what is out, or is to be handed out */
    bool given;    /* it was handed out */
    uint32_t calls;
    daruma_moment at; /* of the newest outcome */
    daruma_ms opened, sent;
    daruma_str events[AGENT_EVENTS_MAX]; /* to be handed out first */
    size_t nevents, told;

    agent_step *steps; /* of the rooms */
    size_t nsteps, steps_bytes;
    uint32_t turn;
    size_t next;     /* PHASE_TOOLS: the first step that is not looked at yet */
    agent_gone gone; /* steps that left */

    agent_spent spent;
    agent_result result;
    uint32_t attempts;     /* of the question to a model at hand */
    uint32_t repairs;      /* answers of this step that were asked for again */
    bool recovering;       /* the question at hand is repeated because it failed */
    agent_failure failure; /* the newest, in `texts` */
    daruma_ms failure_took;
    agent_last last;
    uint32_t moves;        /* questions and calls of tools */
    convo_rename *renames; /* tools that have another name on the wire */
    size_t nrenames;
    uint64_t *verdicts; /* calls that a person decided about: hash, lowest bit: allowed */
    size_t nverdicts;
    int64_t asked_tokens;  /* of the question at hand, estimated */
    daruma_str notice;     /* for the model, behind the results of its calls; empty: none */
    daruma_str correction; /* what was wrong with the newest action, for the next question; empty: nothing */
    size_t failing;        /* the step whose failure is at hand */
    bool hops_over;        /* a call was refused for the limit of tools */
    char last_words[AGENT_LAST_WORDS_BYTES_MAX]; /* of a run without memory for its report */
    bool out_of_patience;                        /* a limit of failures is reached */
    agent_planning planning;
    agent_loop loop;
    agent_args args;
    agent_reporting reporting;
    agent_shorten shorten;
};

/* Tells an event: its name, then names and values in turn as BUF_MEMBERS takes them; texts are cut. */
#define LOG(a, ...) log_event((a), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
void log_event(agent *a, const buf_part *parts, size_t n);

#endif
