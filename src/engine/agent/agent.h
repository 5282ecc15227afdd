/* agent.h - an agent as a state machine without I/O and without a clock: it takes a task and what came of its acts, and
 * says what to do next.
 *
 *     agent_open --> agent_next --> MODEL, TOOL, ASK, WAIT, EVENT, ... FINISH
 *                        ^                    |
 *                        +--- agent_answered, agent_failed, agent_tool_done, agent_person, agent_clock, agent_cancel
 *
 * Two ways to work: reactive (the model calls tools until it answers), and planned (tools that can serve are chosen, a
 * plan is made and checked, each of its steps is carried out, then the task is answered). A host hands in one outcome,
 * then asks agent_next() until it says NOTHING or FINISH. The same inputs give the same acts: a journal of them is all
 * that is needed to go on. Files: flow.c (order of work), think.c (questions and answers), calls.c (tools), router.c
 * (where failures go), plan.c, error_node.c, trajectory.c (what was done, and how the model sees it), adapt.c (another
 * way), forget.c (steps that leave), paths.c, delegation.c and crew.c (agents for agents), limits.c; of profiles that
 * want it: actions.c (answers as JSON), args.c (missing arguments), report.c (a tool that ends the run). Policies of
 * the seeds are in engine/seeds, a host in virtual time in sim. */
#ifndef ENGINE_AGENT_AGENT_H
#define ENGINE_AGENT_AGENT_H
#include "dialect/dialect.h"
#include "engine/drive/room.h"

typedef struct agent agent;

/* ---- failures and where they go ---- */

/* What failed, judged. Strings are borrowed. All zero is valid: nothing is known. */
typedef struct agent_failure {
    daruma_kind kind;
    daruma_tool_kind tool_kind;
    daruma_severity severity;
    bool said;               /* the severity is the tool's or the host's word, not the default of the kind */
    bool retryable;          /* the same operation may succeed later */
    bool unmade;             /* no connection was made: the call had no effect */
    bool of_model;           /* a model failed, not a tool */
    const char *type;        /* its name by the rows of the profile, or of the tool; NULL: that of the kind */
    const char *label;       /* ... and its class; NULL: none */
    daruma_str operation;    /* the tool, "plan", "classification", or the model that failed */
    daruma_str message;      /* what happened, on one line */
    daruma_str user_message; /* for people; empty: `message` */
    daruma_str metadata;     /* a JSON object, or empty: technical_details, safety_abort_reason, replanning_reason,
                                reclassification_reason, required_context, suggestions, and what else a tool says */
    daruma_ms advice;        /* how long to wait, as the failing side says; -1 nothing */
    int status;              /* HTTP status, 0 none */
} agent_failure;

/* How often an operation is tried in all, and how long is waited between: delay * factor^n. */
typedef struct agent_retry {
    uint32_t attempts;     /* the first included; 0: as the policy has it */
    daruma_ms delay;       /* before the first repetition; -1, or nothing said at all: as the policy has it */
    uint32_t factor_milli; /* growth in thousandths */
    bool first_at_once;    /* the first repetition does not wait, the second waits `delay` */
} agent_retry;

/* `usual` with what `own` says; who says how often has the waits of `fresh` where it says nothing of them. */
agent_retry agent_retry_of(const agent_retry *own, agent_retry usual, agent_retry fresh);

typedef enum agent_route {
    AGENT_ROUTE_AGAIN,      /* the same operation once more, after a wait */
    AGENT_ROUTE_MODEL,      /* the model is shown the failure and decides */
    AGENT_ROUTE_SHOWN,      /* a tool's failure as MODEL; a model's own ends the run at once */
    AGENT_ROUTE_PLANNER,    /* another plan */
    AGENT_ROUTE_CLASSIFIER, /* other tools are chosen, then another plan */
    AGENT_ROUTE_ERROR,      /* the error node ends the run with a report */
    AGENT_ROUTE_OUT,        /* the run ends at once */
} agent_route;

/* One row of the router: where a failure of that severity goes, and where it goes when the budget of that way is spent.
 */
typedef struct agent_route_row {
    agent_route to, spent;
} agent_route_row;

/* X(symbol, name, in plain words) */
#define AGENT_LIMIT_MAP(X)                                                                                             \
    X(NONE, "none", "no limit was reached")                                                                            \
    X(STEPS, "steps", "the limit of steps is reached")                                                                 \
    X(CALLS, "calls", "the limit of calls to models is reached")                                                       \
    X(TOOLS, "tools", "the limit of tool calls is reached")                                                            \
    X(TOKENS, "tokens", "the limit of tokens is reached")                                                              \
    X(MONEY, "money", "the money set aside is spent")                                                                  \
    X(TIME, "time", "the time set aside is over")                                                                      \
    X(MEMORY, "memory", "there is no memory left for it")

typedef enum agent_limit {
#define X(sym, ...) AGENT_LIMIT_##sym,
    AGENT_LIMIT_MAP(X)
#undef X
        AGENT_LIMITS
} agent_limit;
const char *agent_limit_name(agent_limit l);  /* "steps"; static */
const char *agent_limit_words(agent_limit l); /* static */

typedef enum agent_mode { AGENT_REACTIVE, AGENT_PLANNED, AGENT_MODES } agent_mode;
/* What becomes of proposals for another way. */
typedef enum agent_strategies {
    AGENT_STRATEGIES_OFF,
    AGENT_STRATEGIES_LOG,
    AGENT_STRATEGIES_ASK,
    AGENT_STRATEGIES_AUTO
} agent_strategies;
enum { AGENT_SEVERITIES = DARUMA_FATAL + 1 };

/* How the report of the error node is laid out: as Osprey's document has it, or its code; ours is that with the kind.
 */
typedef enum agent_report_form { AGENT_REPORT_CODE, AGENT_REPORT_DOC, AGENT_REPORT_OURS } agent_report_form;

/* What an agent does about failures, as data: `default` and each seed are one of these. */
typedef struct agent_policy {
    const char *name;
    agent_mode mode; /* in which its seed works */
    agent_route_row routes[AGENT_MODES][AGENT_SEVERITIES];
    bool tools_to_model;         /* a tool's failure whose severity nobody said: the model sees it first */
    daruma_severity tool_unsaid; /* else: its severity */
    bool details;                /* a failure that nobody judged has its message as metadata, `technical_details` */
    bool repeats_safe_tools;     /* what may pass and does no harm twice is repeated without asking the model */
    agent_retry retry;           /* of models, planner and classifier */
    agent_retry tool_retry;      /* of tools without a policy of their own */
    agent_retry classes_retry;   /* of the classifier; attempts 0: `retry` */
    uint32_t replans, reclassifications;
    bool counts_plans;  /* only plans that were made count as such: what cannot be planned is planned for ever (O-W3) */
    uint32_t moves_max; /* questions and calls of tools after which the run is broken off (O-F17); 0: no such limit */
    daruma_severity plan_unread; /* of an answer of the planner that cannot be read, behind the repairs */
    uint32_t repairs;            /* answers of one step that the model is asked to correct */
    uint32_t compressions;     /* times the trajectory is shortened; 0: a context that is too long is as any failure */
    bool compressions_of_step; /* counted anew with each step */
    bool compressed_as_json;   /* {"_compressed": true, "summary": ...} (P-F22), large by length as JSON (P-F17) */
    uint32_t compress_over_chars;
    bool masks;                  /* when nothing is large enough, old results are cut without a model */
    bool graceful;               /* what the provider refuses for good ends in an apology with `_recovery` */
    bool compact;                /* the model sees failures as <error> blocks, resolved ones hidden; else as told */
    bool escalates;              /* too many failures end as `escalated`, for a person; else in the error node */
    agent_strategies strategies; /* of one in circles, or without progress; needs `watched` */
    bool guards_effects;         /* what may have had its effect is not done again before anybody looked */
    bool completes_paths; /* a path that was not found is completed from what tools printed, where that is safe */
    bool watched;         /* agents in circles are told, and stopped when they do not listen */
    bool counts_failures; /* "Retry attempts" of a report counts the failures, the first included (O-F7) */
    bool actions;         /* its models answer with an action as JSON, instead of calling tools (actions.c) */
    bool reports;         /* a tool that `reports` ends the run, and the model is told to call it (report.c) */
    bool loops_end;       /* a circle ends the run at once: behind a strategy that is written down, if there are any */
    bool estimates;       /* a model estimates the progress behind each step (K-F7) */
    uint32_t soft_permille; /* of the limit of tokens, at which the model is told; 0: never; needs `reports` */
    /* What the answer of a run says that reached a limit, with {used} and {limit} of tokens, else steps; or went in
     * circles; NULL: ours. */
    const char *limit_words[AGENT_LIMITS], *circle_words[DARUMA_CIRCLES];
    bool fills_args;           /* ... and arguments that are missing are asked for */
    uint32_t arg_failures_max; /* ... and so many of one tool in a row end in an apology; 0: never */
    bool ends_hard;  /* a limit of steps ends it without a last answer, as `no_path`; beyond that of tools calls fail */
    bool apologises; /* behind `graceful`: a model says it, with the task in view (P-F12 as the document has it) */
    bool graceful_is_answer; /* ... and it passes for an answer (P-F13) */
    bool hides_success;      /* no success is told of what was compressed, no failure where that did not help (P-W8) */
    bool mute;               /* no model is asked for summaries */
    bool cuts;               /* ... and long results are cut to their beginning, or masked where that is done */
    bool off;                /* failures of models are final */
    bool off_is_silent;      /* ... and then no event tells of them (P-T2) */
    bool counts_steps;       /* "Total operations" is the step of the plan (O-F29), else the calls that were made */
    bool asks_failed;        /* a model that failed is asked to explain that, too (O-W8) */
    bool raises;          /* failures of calls are the agent's to deal with; else the sessions below it recover them */
    bool failure_answers; /* what a session cannot recover reaches the agent as an answer of its model (S-F3) */
    agent_report_form report;
} agent_policy;

extern const agent_policy agent_policy_default;

/* ---- tools ---- */

/* A row of a tool's own judgement; the first that fits decides. */
typedef struct agent_rule {
    daruma_str words;        /* in the failure's text, lower case; empty: any failure */
    daruma_tool_kind kind;   /* NONE: as daruma judges it */
    int severity;            /* a daruma_severity; -1: the default */
    daruma_str user_message; /* empty: none */
    daruma_str metadata;     /* a JSON object; empty: none */
} agent_rule;

typedef struct agent_tool {
    daruma_tool about; /* name, description, schema, traits: READS and WRITES may be repeated, ACTS may not */
    const agent_rule *rules;
    size_t nrules;
    /* Changes the judgement of a failure, after the rules; NULL: it stays. Pure. */
    void (*judge)(const struct agent_tool *t, daruma_str result, agent_failure *f);
    agent_retry retry; /* attempts 0: the policy's */
    bool ask;          /* a person is asked before a call */
    bool whole;        /* the model sees its failures as they came: what a program printed is what it needs to know */
    daruma_str output; /* the schema of what it returns; empty: anything. What does not fit is a failure */
    bool forbidden;    /* it may not be used in this run: it is not offered, and a call of it is refused */
    bool reports;      /* a call of it that works ends the run, with the answer in its arguments */
    bool own;          /* the agent carries it out by itself: the host never sees a call of it */
    bool delegates;    /* it is an agent of that name: the host runs one and hands in agent_delegated() */
} agent_tool;

bool agent_tool_is_safe(const agent_tool *t); /* it may be called twice; NULL: it may not */

/* The report of an agent whose policy `reports` and whose host has none of its own: it takes the answer. */
extern const agent_tool agent_report_tool;

/* ---- limits ---- */

/* What a run may use; 0: no limit. */
typedef struct agent_limits {
    uint32_t steps;                    /* answers of the model that do something */
    uint32_t calls;                    /* to models, side questions included */
    uint32_t tools;                    /* calls of tools, repetitions included */
    int64_t tokens;                    /* input and output */
    int64_t money;                     /* millionths */
    int64_t price_input, price_output; /* millionths of money for a million tokens */
    bool priced;                       /* they are known, 0 included: else they are those of whom it works for */
    daruma_ms time;
} agent_limits;

typedef struct agent_spent {
    uint32_t steps, calls, tools;
    int64_t input_tokens, output_tokens; /* as models told them, else as estimated */
    int64_t money;
    daruma_ms time, waited;
    uint32_t failures;   /* of models and tools */
    uint32_t recoveries; /* failures that were overcome: repeated, shortened, repaired, planned anew */
    uint32_t replans, reclassifications, compressions;
    uint32_t unread, repairs, salvaged; /* answers of no use; of them those asked for again, and taken all the same */
} agent_spent;

/* ---- one agent ---- */

/* Its system prompt when nobody wrote one. */
#define AGENT_INSTRUCTIONS                                                                                             \
    "You carry out a task with the tools that you are given. Use them until you know enough, then answer. Do not "     \
    "invent what a tool did not tell."

/* What it is. Everything is borrowed and outlives the agent. */
typedef struct agent_setup {
    daruma_str name;         /* for events and delegation; may be empty */
    const dialect *d;        /* that its models speak */
    daruma_str model;        /* that works */
    daruma_str second;       /* that explains when `model` failed; empty: nobody */
    daruma_str instructions; /* the system prompt; empty: AGENT_INSTRUCTIONS */
    const agent_tool *tools;
    size_t ntools;
    agent_mode mode;
    const agent_policy *policy;    /* NULL: agent_policy_default */
    const daruma_policy *recovery; /* that judges failures and counts them; NULL: "default" */
    agent_limits limits;
    int64_t max_output;        /* tokens of one answer, -1 or 0 not said */
    int64_t window;            /* tokens of the model's, of which the conversation takes three quarters; 0: no bound */
    const daruma_str *lineage; /* agents that it works for, outermost first */
    size_t nlineage;
    daruma_str swarm_id, parent_swarm_id; /* for events; may be empty */
} agent_setup;

/* NULL without memory. The task is copied. */
agent *agent_open(const agent_setup *s, const drive_rooms *rooms, daruma_str task, daruma_moment at);
void agent_close(agent *a); /* NULL is allowed */

typedef enum agent_do {
    AGENT_DO_NOTHING, /* nothing until an outcome is handed in */
    AGENT_DO_EVENT,   /* something to log */
    AGENT_DO_MODEL,   /* ask a model: `call`, `model`, `body`, `total` */
    AGENT_DO_TOOL,    /* call a tool: `call`, `tool`, `args` */
    AGENT_DO_ASK,     /* ask a person: `call`, `text`; `tool` and `args` when it is about a call */
    AGENT_DO_WAIT,    /* agent_clock() at `until` */
    AGENT_DO_FINISH,  /* the run is over: agent_result_of() */
} agent_do;

typedef enum agent_purpose {
    AGENT_FOR_STEP,    /* the work itself */
    AGENT_FOR_CLASSES, /* which tools can serve */
    AGENT_FOR_PLAN,
    AGENT_FOR_SUMMARY,  /* a long result made short */
    AGENT_FOR_STRATEGY, /* another way to go on */
    AGENT_FOR_ANALYSIS, /* what went wrong, in words */
    AGENT_FOR_ARGS,     /* arguments that are missing */
    AGENT_FOR_FINISH,   /* an answer where there was none to use */
    AGENT_FOR_APOLOGY,  /* for what cannot be done */
    AGENT_FOR_ESTIMATE, /* of the way to the goal */
    AGENT_PURPOSES
} agent_purpose;

/* Strings live until the next outcome is handed in. */
typedef struct agent_act {
    agent_do what;
    uint32_t call; /* number that the outcome names */
    agent_purpose purpose;
    daruma_str model, body;  /* MODEL: who is asked, and a whole request in the dialect */
    daruma_str tool, args;   /* TOOL: its name and a JSON object */
    const agent_tool *about; /* TOOL, ASK: the tool; may be NULL */
    daruma_str text;         /* ASK: the question; EVENT: a JSON object */
    daruma_ms total;         /* MODEL: so long it may take; -1: no limit */
    uint32_t calls;          /* MODEL: so many calls it may cost, at least 1; 0: no limit */
    daruma_ms until;         /* WAIT */
} agent_act;
const char *agent_purpose_name(agent_purpose p); /* "step"; static */
agent_act agent_next(agent *a);

/* An event of a session that an act began, a JSON object, with whose it is: agent, swarm_id, parent_swarm_id. */
void agent_sign(const agent *a, daruma_str event, daruma_buf *out);

/* What came of an act. A number of no call that is out is ignored. */
void agent_answered(agent *a, uint32_t call, daruma_str body, daruma_moment at); /* a model: status 200 */
void agent_failed(agent *a, uint32_t call, const daruma_evidence *ev, daruma_moment at);
/* `ok`: 1 it worked, 0 it failed, -1 not told: the result is looked at. `lost`: it may have taken effect or not. */
void agent_tool_done(agent *a, uint32_t call, daruma_str result, int ok, bool lost, daruma_moment at);
typedef enum agent_reply { AGENT_ALLOWED, AGENT_DENIED, AGENT_INTERRUPTED, AGENT_EXPIRED } agent_reply;
const char *agent_reply_name(agent_reply r); /* "allowed"; static */
/* `text`: what the person says about it; may be empty. */
void agent_person(agent *a, uint32_t call, agent_reply r, daruma_str text, daruma_moment at);
/* So many calls were made for the question that is out, beside the first: they count, too. */
void agent_called(agent *a, uint32_t more);
void agent_clock(agent *a, daruma_moment at); /* a time that was asked for has come */
void agent_cancel(agent *a, daruma_moment at);
/* A run that ended as escalated goes on, with what the person says; its counters begin anew. False: it did not end so.
 */
bool agent_resume(agent *a, daruma_str guidance, daruma_moment at);

/* Why a run ended. X(symbol, name) */
#define AGENT_END_MAP(X)                                                                                               \
    X(NOT, "")                                                                                                         \
    X(ANSWER, "answer_complete")                                                                                       \
    X(LIMIT, "budget_exhausted")                                                                                       \
    X(NO_PATH, "no_path")                                                                                              \
    X(LOOP, "loop_detected")                                                                                           \
    X(GRACEFUL, "graceful_failure")                                                                                    \
    X(ERROR, "error")                                                                                                  \
    X(ESCALATED, "escalated")                                                                                          \
    X(FATAL, "fatal")                                                                                                  \
    X(CANCELLED, "cancelled")

typedef enum agent_end {
#define X(sym, ...) AGENT_END_##sym,
    AGENT_END_MAP(X)
#undef X
} agent_end;
const char *agent_end_name(agent_end e); /* static */

typedef struct agent_result {
    daruma_outcome outcome; /* PENDING: the run goes on */
    agent_end end;
    agent_limit limit;     /* end LIMIT: which */
    daruma_str text;       /* the answer; else what there is of it, or the report */
    daruma_str recovery;   /* GRACEFUL: `_recovery`, a JSON object {error_type, original_error} */
    daruma_str reason;     /* ESCALATED: why a person is needed; FATAL, ERROR: the failure */
    daruma_str last_error; /* ESCALATED: its message */
    daruma_str history;    /* ESCALATED: the failures as <error> blocks, a JSON array of strings */
    agent_failure failure; /* ERROR, FATAL, GRACEFUL, ESCALATED: the last one */
    agent_spent spent;
} agent_result;
/* Its strings live as long as the agent, or until agent_resume(). */
agent_result agent_result_of(const agent *a);
/* The end of a run as a JSON object, the event `result`. `recovered`: questions that were answered behind a failure. */
void agent_result_json(const agent_result *r, uint32_t recovered, daruma_buf *out);

/* ---- trajectory.c ---- */

/* The conversation as the model would see it now, in no dialect: every call has exactly one result. Lives in `room`.
 * False without memory. */
bool agent_view(const agent *a, daruma_arena *room, convo *ret);

/* ---- error_node.c: total, whatever they are given ---- */

/* What the report says. Unknown is 0, -1 or empty. */
typedef struct agent_report {
    int64_t wall; /* unix seconds */
    agent_failure failure;
    daruma_str task;
    daruma_str tool; /* that failed; empty: none */
    int64_t operations, retries;
    daruma_ms took;                       /* of the failed operation, -1 unknown */
    const daruma_str *succeeded, *failed; /* steps: "Step 1: objective" */
    size_t nsucceeded, nfailed;
} agent_report;
void agent_report_write(const agent_report *r, agent_report_form form, daruma_buf *out);
/* Osprey's text of a failure for a model: message and metadata, a line each (O-F2). */
void agent_failure_write(const agent_failure *f, daruma_buf *out);
daruma_question agent_report_ask(const agent_report *r, const agent_tool *tools, size_t ntools, daruma_arena *a);
/* The analysis behind the report. `answered` false: the model failed, or nobody was asked. */
void agent_report_analysis(daruma_str answer, bool answered, daruma_buf *out);
/* What is said when not even the report could be made. */
void agent_report_fallback(const agent_failure *f, daruma_str secondary, daruma_buf *out);

/* ---- plan.c ---- */

typedef struct agent_input {
    daruma_str name, from; /* the key of an earlier step's output */
} agent_input;
typedef struct agent_plan_step {
    daruma_str key;  /* its output is known by it */
    daruma_str tool; /* empty: it answers */
    daruma_str objective, expected;
    agent_input *inputs;
    size_t ninputs;
} agent_plan_step;
typedef struct agent_plan {
    agent_plan_step *steps;
    size_t n;
} agent_plan;
typedef enum agent_plan_verdict {
    AGENT_PLAN_GOOD,
    AGENT_PLAN_UNREAD,   /* no plan: ask again */
    AGENT_PLAN_STRANGER, /* it names a tool that is not among those chosen: choose again (O-F23) */
    AGENT_PLAN_INPUT,    /* an input that no earlier step gives: plan again */
} agent_plan_verdict;
/* Reads and checks a plan. Empty ones become a single answer, and one that does not end in an answer gets one.
 * `usable`: a bit for each tool; `why` says what is wrong. Strings live in `a`. */
agent_plan_verdict agent_plan_read(daruma_str answer, const agent_tool *tools, size_t ntools, const bool *usable,
                                   daruma_arena *a, agent_plan *ret, daruma_buf *why);

/* ---- delegation.c ---- */

/* What is left for an agent that `a` delegates to: one budget for the tree. */
agent_limits agent_limits_left(const agent *a, daruma_moment at);
/* False: the one step that is left is for its own answer. */
bool agent_may_delegate(const agent *a);
/* Refuses the call of a child for that: no step is left for it. */
void agent_not_delegated(agent *a, uint32_t call, daruma_str child, daruma_moment at);
/* What a child spent is its parent's, too. agent_delegated() does this. */
void agent_add_spent(agent *a, const agent_spent *more);
/* The child ended: what it spent is its parent's, its failure a record, never an answer. */
void agent_delegated(agent *a, uint32_t call, daruma_str child, const agent_result *r, daruma_moment at);
#endif
