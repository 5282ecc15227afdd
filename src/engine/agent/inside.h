/* inside.h - the agent's state, and what its files call of each other. */
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
    uint32_t turn;        /* answers of the model so far: calls of one answer share it */
    uint32_t plan_step;   /* 1 + index of the step of the plan that it belongs to; 0 none */
    daruma_str objective; /* ... and what that does, of the plan as it was then */
    daruma_str thought;   /* what the model said before its calls, at the first of them; WORDS, NOTE: the text */
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
    bool wants_way;           /* another way is due, for a circle */
    bool wants_any;           /* ... as nothing comes of it: of no account once something does */
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

/* ---- flow.c ---- */

void flow_out(agent *a, agent_out out, agent_act act);
void flow_wait(agent *a, daruma_ms ms);              /* then what was set out before is done again */
agent_result flow_answer(agent *a, daruma_str text); /* of a task that is done */
void flow_finish(agent *a, agent_result r);
void flow_limit(agent *a, agent_limit l);   /* ends with what there is */
void flow_stop(agent *a, daruma_buf *text); /* the same, for a circle; `text` in `scratch` says which */
void flow_note(agent *a, daruma_str text);  /* words of ours to the model */
void flow_ask(agent *a, agent_purpose purpose, daruma_str model, const daruma_question *q, daruma_ms total);
daruma_str flow_keep(agent *a, daruma_str s); /* for the run */
daruma_str flow_text(agent *a, daruma_str s); /* in `texts` */
/* Room for `want` bytes at *p, memory of the rooms that holds *cap, of which `used` stay; it may move. False without
 * memory. */
bool flow_grow(agent *a, void **p, size_t used, size_t *cap, size_t want);
daruma_str flow_line(daruma_str s, size_t most); /* its first `most` bytes, between two characters */

/* `asked_tokens` are its body's. */
void flow_ask_model(agent *a, agent_purpose purpose, daruma_str model, daruma_str body, daruma_ms total);

/* ---- question.c ---- */

/* The question for the next step, as a request: of `written` and what is new, or written anew. Lives until the next
 * one. False without memory. */
bool question_write(agent *a, daruma_str *ret);
/* The same, always anew, in the scratch arena. */
bool question_anew(agent *a, daruma_buf *out);
void question_close(agent *a);

/* ---- forget.c ---- */

/* True if the question, of `asked_tokens`, was too large for the window, and old steps left the conversation: it is to
 * be written again. */
bool forget_old(agent *a);
void forget_say(const agent *a, daruma_arena *room, daruma_buf *out); /* what the model is told of them */

/* ---- think.c ---- */

void think_ask(agent *a);                                    /* for the next step */
void think_answered(agent *a, daruma_str body);              /* the model answered that */
void think_failed(agent *a, const agent_failure *f);         /* a model failed */
void think_recovered(agent *a, const char *how);             /* something worked behind a failure */
bool think_text(agent *a, daruma_str body, daruma_str *ret); /* of a plain answer; false: there is none */

void think_stepped(agent *a);               /* the model answered with something to do */
void think_said(agent *a, daruma_str text); /* with words, which lie in `keep` */

/* ---- actions.c ---- */

/* Actions in what a model wrote, those that name a node first; 0: it cannot be read. */
size_t actions_read(daruma_str text, daruma_arena *a, agent_action *out, size_t max);
daruma_str actions_answer(daruma_str text, daruma_arena *a);
bool actions_placeholder(daruma_str s);
void actions_answered(agent *a, daruma_str text);
void actions_put_call(const agent_step *s, daruma_buf *out);
void actions_put_failure(agent *a, const agent_step *s, daruma_str result, daruma_buf *out);

/* ---- args.c ---- */

bool args_look(agent *a, const agent_tool *t, daruma_str args, args_bad *bad); /* true: they do */
void args_reject(agent *a, agent_step *s, const args_bad *bad);
void args_worked(agent *a, daruma_str tool);
void args_ask(agent *a);
/* `args` with values of the missing fields out of what a model said. */
daruma_str args_merge(daruma_str args, daruma_str text, const args_bad *bad, size_t *ret_filled, daruma_arena *a);
void args_answered(agent *a, daruma_str text);
void args_ask_words(agent *a); /* FINISH, APOLOGY */
void args_words_answered(agent *a, daruma_str text);

/* ---- report.c ---- */

daruma_str report_name(const agent *a);          /* of the tool; empty: there is none */
bool report_is(const agent *a, daruma_str tool); /* the one that ends the run */
void report_begin(agent *a);
void report_take(agent *a, agent_step *s); /* carries out one that is the agent's own */
void report_made(agent *a, const agent_step *s);
bool report_missing(agent *a, daruma_str text);

/* ---- calls.c ---- */

void calls_step(agent *a); /* the next call, or what comes behind the last */
void calls_ended(agent *a, agent_step *s, daruma_str result, int ok, bool lost);
void calls_refuse(agent *a, agent_step *s, daruma_str why); /* it is not carried out: that is its result */
void calls_decide(agent *a, uint64_t call, bool allowed);   /* a person said so */
bool calls_looks(const agent *a, const agent_step *s);      /* something was looked at with it */

/* Tells an event: its name, then names and values in turn as BUF_MEMBERS takes them; texts are cut. */
#define LOG(a, ...) log_event((a), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
void log_event(agent *a, const buf_part *parts, size_t n);

/* ---- limits.c ---- */

agent_limit limits_reached(const agent *a, bool model, bool tool);
bool limits_last_call(const agent *a); /* the next call of the model is the last one */
void limits_usage(agent *a, const turn_usage *u, daruma_str said);
uint32_t limits_calls_left(const agent *a); /* for the question that was counted last, 1 at least; 0: no limit */
daruma_ms limits_time_left(const agent *a); /* -1: no limit */
bool limits_time_over(const agent *a);      /* nothing is left of it that a further act could use */

/* ---- router.c ---- */

agent_failure router_judge_model(agent *a, const daruma_evidence *ev, daruma_str operation);
agent_failure router_judge_tool(agent *a, const agent_tool *t, const daruma_step *step);
/* A failure of the model at work that nobody has to judge. */
agent_failure router_own(const agent *a, daruma_kind kind, daruma_severity severity, daruma_str message);
daruma_str router_type(const agent_failure *f); /* its name in events */
const agent_tool *router_tool(const agent *a, daruma_str name);
void router_keep(agent *a, const agent_failure *f); /* a->failure = a copy */
/* A model, the planner or the classifier failed, or a tool whose severity was said. */
void router_route(agent *a, agent_step *s);
bool router_again(agent *a, agent_step *s); /* the same once more; false: it is not to be */
void router_planner(agent *a);              /* another plan, or the error node */

/* ---- trajectory.c ---- */

agent_step *traj_add(agent *a, agent_step_kind kind); /* NULL without memory */
void traj_result(agent *a, agent_step *s, daruma_str result, bool failed, daruma_str seen);
void traj_shorten(agent *a); /* begins to, or says that it does not help */
void traj_shorten_next(agent *a);
void traj_shortened(agent *a, daruma_str summary);         /* empty: the summariser failed */
void traj_partial(agent *a, daruma_buf *out);              /* what there is, for people */
convo traj_convo(const agent *a, daruma_arena *room);      /* for its model, without a message */
void traj_say(convo *c, convo_role role, daruma_str text); /* a message of words; c->full without memory */
void traj_put(const agent *a, convo *c, size_t from);      /* steps from there on; c->full without memory */
/* Of all that the model sees of the first `nsteps` steps, and of the tools: it changes when any of it does. `before`:
 * the mark of the tools and the first `from` steps, which are not looked at again; 0: there is none. */
uint64_t traj_mark(const agent *a, uint64_t before, size_t from, size_t nsteps, daruma_arena *room);
void traj_tools(const agent *a, convo *c); /* c->full without memory */
daruma_str traj_wire_name(const agent *a, daruma_str name, daruma_arena *room);

/* ---- error_node.c ---- */

void error_node_enter(agent *a);
void error_node_leave(agent *a, daruma_str answer, bool answered);
void error_graceful(agent *a);
void error_apologised(agent *a, daruma_str text); /* a model was asked for the words; empty: it failed */
void error_escalate(agent *a, daruma_str reason);

/* ---- paths.c ---- */

/* A path among the arguments that ends exactly one path that tools printed: the arguments with that one. */
bool paths_complete(agent *a, const agent_step *s, daruma_str *ret_args, daruma_str *ret_from, daruma_str *ret_to);

/* The one path that tools printed with the name of the file that a call did not find; empty: none, or several. */
daruma_str paths_near(agent *a, const agent_step *s);

/* ---- adapt.c ---- */

void adapt_ask(agent *a);
void adapt_answered(agent *a, daruma_str text); /* empty: the model failed */
void adapt_estimate(agent *a);
void adapt_estimated(agent *a, daruma_str text);
void adapt_do(agent *a); /* what was proposed last */

/* ---- plan.c ---- */

void plan_ask_classes(agent *a);
void plan_ask(agent *a);
void plan_answered(agent *a, daruma_str text);
void plan_step_done(agent *a, daruma_str output);
void plan_context(const agent *a, daruma_buf *out); /* what the model is told of its step */
bool plan_offers(const agent *a, size_t tool);      /* may the model call that tool now? */

#endif
