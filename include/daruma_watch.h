/* daruma_watch.h - sees tools that keep failing and agents that go in circles, and sets them right.
 *
 * Part of daruma_parts.h, which includes it; its words about ownership, errors, time, threads and numbers hold here,
 * too.
 *
 *     step --daruma_stall_see--> verdict --daruma_guide_next--> notice, block, strategy, finish, stop
 *     step --daruma_tracker_step--> failures that a model is shown, or a person
 */
#ifndef DARUMA_WATCH_H
#define DARUMA_WATCH_H
#include "daruma_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- watching an agent: tools that keep failing, agents that go in circles ------------- */

/* What is known of a tool. A host that knows better than its name says so in daruma_step.traits. */
enum daruma_trait {
    DARUMA_TOOL_READS = 1 << 0,    /* only looks: twice does no harm */
    DARUMA_TOOL_WAITS = 1 << 1,    /* waits for or asks after something that goes on by itself */
    DARUMA_TOOL_WRITES = 1 << 2,   /* changes a state; the same call again leaves it as it is */
    DARUMA_TOOL_ACTS = 1 << 3,     /* has an effect each time: sends, pays, creates, starts */
    DARUMA_TOOL_COMPACTS = 1 << 4, /* no tool: the history was shortened here */
    DARUMA_TOOL_NOTES = 1 << 5,    /* takes down thoughts or plans: its answer says nothing */
    DARUMA_TOOL_KNOWN = 1 << 6,    /* these bits are the host's word; without it the name and the call are looked at */
};

/* One step of an agent: a call of a tool and what came of it; or, without a tool, what the model said without calling
 * one. Everything is borrowed for the call it is handed to. */
typedef struct daruma_step {
    daruma_str tool;   /* its name; empty: the model only spoke */
    daruma_str args;   /* JSON, or any text */
    daruma_str result; /* the tool's output as text; without a tool: what was said */
    int ok;            /* 1 it worked, 0 it failed, -1 not told: the result is looked at */
    bool lost;         /* the result was lost: whether it took effect is unknown */
    unsigned traits;   /* bits of daruma_trait */
} daruma_step;

/* Ways to go in circles. Calls that go round can be broken by other calls: LOOP; who does nothing new at all is STUCK.
 * X(symbol, name, kind of failure, in plain words) */
#define DARUMA_CIRCLE_MAP(X)                                                                                           \
    X(NONE, "", LOOP, "it works")                                                                                      \
    X(REPEAT, "exact_repeat", LOOP, "the same call gives the same result again and again")                             \
    X(CYCLE, "cycle", LOOP, "the same few calls follow each other with the same results")                              \
    X(INTERLEAVED, "interleaved", LOOP, "a call is repeated with the same result, others between")                     \
    X(SAME_FAILURE, "same_failure", LOOP, "other calls fail in the same way")                                          \
    X(STAGNATION, "stagnation", LOOP, "other arguments give the same answer")                                          \
    X(GROWING, "growing_args", LOOP, "each call is the one before with more of the same")                              \
    X(EDIT_REVERT, "edit_revert", LOOP, "a change is made and taken back")                                             \
    X(DEAD_POLL, "dead_poll", LOOP, "it waits for something that cannot change any more")                              \
    X(RESENT, "resent", LOOP, "a call with effects is sent again although it may have worked")                         \
    X(MONOLOGUE, "monologue", STUCK, "it talks without doing anything")                                                \
    X(COMPACTION, "compaction_loop", STUCK, "the history is shortened and nothing comes of it")                        \
    X(NO_PROGRESS, "no_progress", STUCK, "many steps bring nothing new")

typedef enum daruma_circle {
#define X(sym, ...) DARUMA_CIRCLE_##sym,
    DARUMA_CIRCLE_MAP(X)
#undef X
        DARUMA_CIRCLES
} daruma_circle;

DARUMA_API const char *daruma_circle_name(daruma_circle c);  /* "exact_repeat"; "" for none; static */
DARUMA_API const char *daruma_circle_words(daruma_circle c); /* static */
DARUMA_API daruma_kind daruma_circle_kind(daruma_circle c);  /* whose ladder is climbed: DARUMA_LOOP, DARUMA_STUCK */

#define DARUMA_PERIOD_MAX 6 /* longest cycle that is looked for */

/* What is said of an agent after a step. */
typedef struct daruma_verdict {
    daruma_circle circle;              /* NONE: it works, or nothing can be said yet */
    uint8_t sure;                      /* percent */
    uint32_t period;                   /* CYCLE: calls of one lap; else 1 */
    uint32_t times;                    /* laps, or repeats, so far */
    uint32_t first, step;              /* where it began and where it is, counted from 1 */
    uint64_t about;                    /* the same number as long as it is the same circle */
    uint32_t ncalls;                   /* of `calls`; 0: the calls differ each time, none is to blame */
    uint64_t calls[DARUMA_PERIOD_MAX]; /* the calls that are repeated, see daruma_call_hash() */
    bool failing;                      /* what it repeats are failures */
} daruma_verdict;

/* The identity of a call: tool and canonical arguments (key order, spacing, spelling of numbers and paths and what
 * only defeats caches make no difference). Pure, never 0. */
DARUMA_API uint64_t daruma_call_hash(daruma_str tool, daruma_str args);
/* The identity of a result: without what changes by itself (process ids, durations, request ids; in a failure
 * timestamps and numbers of all kinds). Pure, never 0. */
DARUMA_API uint64_t daruma_result_hash(daruma_str result, bool failed);

/* Sees an agent step by step. Constant memory, no pointers: a copy of its daruma_stall_bytes() is a snapshot. Only new
 * information and changed state are progress, and only progress makes it forget. */
typedef struct daruma_stall daruma_stall;
DARUMA_API size_t daruma_stall_bytes(void);
DARUMA_API daruma_stall *daruma_stall_new(daruma_arena *a); /* NULL: no room */
DARUMA_API daruma_verdict daruma_stall_see(daruma_stall *s, const daruma_step *step);
/* For people and for the model, in a sentence: what is repeated, how often, with which result. `last` is the step that
 * was seen last. Ends with a period; no secrets. */
DARUMA_API void daruma_verdict_say(const daruma_verdict *v, const daruma_step *last, daruma_buf *out);

/* A failed tool result as people and models should see it (E-F1). Strings live in the tracker, or in the arena it was
 * made in. */
typedef struct daruma_tool_failure {
    daruma_str tool;
    daruma_tool_kind kind;
    daruma_str message;    /* what matters of it: no stack trace, no noise, one line, cut */
    daruma_str whole;      /* as the tool gave it, without secrets and colours; empty in a tracker */
    daruma_str suggestion; /* what to do about such a failure; may be empty */
    daruma_str hint;       /* what the tool itself says to do about it, on one line; empty: nothing, or in a tracker */
    int64_t wall;          /* unix seconds, 0 unknown */
    uint64_t signature;    /* same tool, kind and message but for numbers and names: the same failure */
    uint64_t call;         /* daruma_call_hash() of the call */
    uint32_t step;         /* counted from 1 */
    bool retryable;        /* may pass by itself */
    bool unmade;           /* no connection was made: the call had no effect */
    bool resolved;         /* the same goal was reached later */
} daruma_tool_failure;

/* Did this step fail? By `ok` when it is told, else by what the result says. Pure. */
DARUMA_API bool daruma_step_failed(const daruma_step *step);
/* The failure of a step that failed, as the profile of `p` (NULL: the default) judges it. Text lives in `a`. Pure. */
DARUMA_API daruma_tool_failure daruma_tool_judge(const daruma_step *step, const struct daruma_policy *p,
                                                 daruma_arena *a);

/* How failures are shown to a model (E-F8). */
typedef enum daruma_view {
    DARUMA_VIEW_FULL,    /* as the tool gave it */
    DARUMA_VIEW_COMPACT, /* an <error> block, escaped */
    DARUMA_VIEW_SUMMARY, /* "3 validation errors in deploy_tool" */
    DARUMA_VIEW_HIDDEN,  /* not at all: it was resolved */
} daruma_view;
DARUMA_API void daruma_tool_failure_write(const daruma_tool_failure *f, daruma_view v, daruma_buf *out);

/* Counts failures by key: a tool, or an agent. Constant memory, no pointers: a copy is a snapshot. */
typedef struct daruma_tracker daruma_tracker;

/* Why an agent is handed over to a person (E-F6, E-F10). */
typedef struct daruma_escalation {
    bool needs_review;
    daruma_str reason;        /* escalation_reason: "Too many errors with deploy_tool"; lives in the tracker */
    uint32_t in_row, of_tool; /* counts at the time */
    uint32_t total;
} daruma_escalation;

DARUMA_API size_t daruma_tracker_bytes(void);
DARUMA_API daruma_tracker *daruma_tracker_new(daruma_arena *a, const struct daruma_policy *p); /* NULL: no room */
/* A step ended. `key`: tool or agent id; empty: the step's tool. `scratch` is for the call alone. True: go on. False: a
 * limit is reached, daruma_tracker_escalation() says which; it stays so until daruma_tracker_resume(). */
DARUMA_API bool daruma_tracker_see(daruma_tracker *t, daruma_str key, const daruma_step *step, daruma_moment at,
                                   daruma_arena *scratch);
DARUMA_API daruma_escalation daruma_tracker_escalation(const daruma_tracker *t);
/* A person looked at it: counters begin anew, what failed stays known. */
DARUMA_API void daruma_tracker_resume(daruma_tracker *t);
/* What a model should see: unresolved failures, newest last, at most as many as the policy shows, the older ones
 * counted (E-F7). Empty when there are none. */
DARUMA_API void daruma_tracker_context(const daruma_tracker *t, daruma_buf *out);
/* "3 validation errors in deploy_tool", a line per tool and kind. */
DARUMA_API void daruma_tracker_summary(const daruma_tracker *t, daruma_buf *out);
/* The failures that are kept, oldest first; returns how many there are. */
DARUMA_API size_t daruma_tracker_list(const daruma_tracker *t, daruma_tool_failure *out, size_t max);

/* What a host may do about an agent in circles. */
typedef enum daruma_watch_mode {
    DARUMA_WATCH_OFF,     /* nobody looks */
    DARUMA_WATCH_OBSERVE, /* events only */
    DARUMA_WATCH_GUIDE,   /* the model is told */
    DARUMA_WATCH_ENFORCE, /* and stopped when it does not listen */
} daruma_watch_mode;

/* The ladder of one agent that goes in circles: which rungs of LOOP and STUCK were climbed. All zero: none. */
typedef struct daruma_guide {
    uint64_t about;   /* the circle it is about */
    uint32_t spoke;   /* step at which the newest rung was taken, 0 none */
    uint16_t rung;    /* 1 + row of the policy that was taken; 0 none */
    uint16_t times;   /* in a row */
    uint8_t level;    /* of the notice: 1, firmer 2, at most DARUMA_NOTICE_LEVELS */
    uint32_t circles; /* so far: a new one begins at the foot of the ladder */
} daruma_guide;
#define DARUMA_NOTICE_LEVELS 3

/* What to do after a step with that verdict: NONE (it works, or the mode allows nothing), NOTICE, BLOCK_CALL, STRATEGY,
 * FORCE_FINISH, STOP_PARTIAL. The same step again gives the same remedy; when the model did not listen within one step,
 * set g->spoke to 0 and ask again. `have`: bits of daruma_need that the host can meet (SIDE). Pure but for `g`. */
DARUMA_API daruma_remedy_kind daruma_guide_next(daruma_guide *g, const struct daruma_policy *p, const daruma_verdict *v,
                                                daruma_watch_mode mode, uint32_t have);
/* The notice for the model: what it did, how often, with which result, and what to do instead; firmer by level. */
DARUMA_API void daruma_guide_notice(const daruma_guide *g, const daruma_verdict *v, const daruma_step *last,
                                    daruma_buf *out);

/* ---- setting an agent right: its progress, strategies, lessons ----------------------------- */

/* What makes two steps alike to a detector. */
typedef enum daruma_detector_key {
    DARUMA_KEY_NAME,      /* the tool */
    DARUMA_KEY_CALL,      /* tool and arguments, byte for byte */
    DARUMA_KEY_UNLIMITED, /* tool and arguments without "limit", in whatever order */
    DARUMA_KEY_UNPAGED,   /* ... and without "offset" */
    DARUMA_KEY_STATE,     /* tool, arguments and result, byte for byte */
    DARUMA_DETECTOR_KEYS, /* how many there are */
} daruma_detector_key;

typedef enum daruma_detector_rule {
    DARUMA_RULE_SEEN,    /* `times` alike, none of them more than `window` steps before the next */
    DARUMA_RULE_ROW,     /* `times` alike in a row */
    DARUMA_RULE_LAPS,    /* the newer half of the newest `window` is as the older */
    DARUMA_RULE_FAILING, /* in the newest `window`: two tools at most, more than 2.5 calls of each, over 60 % failed */
} daruma_detector_rule;

/* One rule of a profile that has its own idea of a loop (K-F10, K-F21, K-F22). Of several the first that speaks. */
typedef struct daruma_detector_row {
    const char *name; /* as the profile calls it: "exact_repeat" */
    daruma_circle circle;
    daruma_detector_key key;
    daruma_detector_rule rule;
    uint8_t from;   /* steps before this one, counted from 1, are not looked at */
    uint8_t window; /* steps, at most DARUMA_DETECTOR_WINDOW */
    uint8_t times;
    uint8_t sure; /* percent */
} daruma_detector_row;
#define DARUMA_DETECTOR_WINDOW 12
#define DARUMA_DETECTOR_ROWS   4

/* What such rules have seen. All zero: nothing. No pointers: a copy is a snapshot. */
typedef struct daruma_detector {
    uint32_t steps; /* seen */
    struct daruma_detector_seen {
        uint64_t keys[DARUMA_DETECTOR_KEYS];  /* 0: no tool was called */
        uint32_t count[DARUMA_DETECTOR_ROWS]; /* SEEN: steps alike so far, each near the next; by row */
        uint32_t first[DARUMA_DETECTOR_ROWS]; /* of those */
        bool failed;
    } seen[DARUMA_DETECTOR_WINDOW]; /* the newest steps */
} daruma_detector;

/* What the rules of p->watch say after a step; NONE when the profile has none: daruma_stall_see() is better. `name`
 * (may be NULL) is set to that of the rule that spoke. */
DARUMA_API daruma_verdict daruma_detector_see(daruma_detector *d, const daruma_policy *p, const daruma_step *step,
                                              const char **name);

#define DARUMA_PROGRESS_KNOWN 64 /* results that are remembered */
#define DARUMA_PROGRESS_LAP   3  /* calls that are held against as many before them */

/* How far an agent is from its last progress, in steps, and how far from its goal, as a model estimates. All zero: it
 * begins. No pointers: a copy is a snapshot. */
typedef struct daruma_progress {
    uint32_t steps;                         /* begun */
    uint32_t idle;                          /* begun since the last progress, the one under way with them */
    uint8_t level;                          /* of the notice that was given since, 0 none */
    bool standstill;                        /* by the estimates */
    uint8_t nestimates;                     /* of `estimates` */
    int16_t estimates[3];                   /* the newest, per mille of the way to the goal, newest last */
    int16_t best;                           /* of those before the window, per mille */
    uint32_t nknown;                        /* told so far */
    uint64_t known[DARUMA_PROGRESS_KNOWN];  /* results that would be nothing new; the oldest are forgotten */
    uint32_t nlaps;                         /* calls so far */
    uint64_t laps[2 * DARUMA_PROGRESS_LAP]; /* the newest, as they were written */
} daruma_progress;

/* A step begins: the model will be asked. Returns the level (1 to 3) of a notice that is due now, once for each level,
 * 0 none (K-F23). `p` may be NULL: the default. */
DARUMA_API unsigned daruma_progress_begin(daruma_progress *g, const daruma_policy *p);
/* It ended so. By default only what is new is progress: a result that was not there before, or a change that was made;
 * and waiting for what goes on by itself is none, but costs nothing. True: it was progress. */
DARUMA_API bool daruma_progress_see(daruma_progress *g, const daruma_policy *p, const daruma_step *step);
/* Are its newest calls those before them, word for word (K-F23)? Then the model is told, too. Never by default: the
 * detector knows better. */
DARUMA_API bool daruma_progress_laps(const daruma_progress *g, const daruma_policy *p);
/* The notice of that level for the model; 0: that of such laps. */
DARUMA_API void daruma_progress_notice(const daruma_progress *g, unsigned level, daruma_buf *out);

/* What a model says of the way to the goal (K-F7, K-F8). */
typedef struct daruma_estimate {
    int16_t progress; /* per mille; -1: the model failed */
    daruma_str reasoning, milestone;
    const daruma_str *blockers;
    size_t nblockers;
} daruma_estimate;
/* Reads the answer to daruma_progress_ask(); empty: the model failed. Never fails: what cannot be read is no progress,
 * and says so among the blockers. Lives in `a`. */
DARUMA_API daruma_estimate daruma_progress_read(daruma_str answer, daruma_arena *a);
/* Remembers it (a failed one says nothing). True: it stands still, now. */
DARUMA_API bool daruma_progress_estimate(daruma_progress *g, const daruma_policy *p, int16_t progress);

/* What may be tried when an agent cannot go on (K-F1). X(symbol, name, what it is) */
#define DARUMA_STRATEGY_MAP(X)                                                                                         \
    X(OTHER, "", "a name that only some profiles take")                                                                \
    X(RETRY, "retry", "the same call again, when the failure may pass")                                                \
    X(ALTERNATIVE, "alternative-tool", "another tool for the same goal")                                               \
    X(ADJUST, "parameter-adjustment", "the same tool with other arguments")                                            \
    X(ESCALATE, "escalate", "ask a person")                                                                            \
    X(GIVE_UP, "give-up", "accept that it cannot be done, and say why")

typedef enum daruma_strategy_kind {
#define X(sym, ...) DARUMA_STRATEGY_##sym,
    DARUMA_STRATEGY_MAP(X)
#undef X
        DARUMA_STRATEGIES
} daruma_strategy_kind;
DARUMA_API const char *daruma_strategy_name(daruma_strategy_kind k); /* "retry"; "" for OTHER; static */

/* Where a strategy comes from. */
typedef enum daruma_strategy_source {
    DARUMA_FROM_HEURISTIC, /* daruma itself: there is no model, or its answer was of no use */
    DARUMA_FROM_MODEL,
    DARUMA_FROM_LESSON, /* it helped before */
} daruma_strategy_source;

/* One approach. Strings live in the arena it was made in, or are borrowed from the situation. */
typedef struct daruma_strategy {
    daruma_strategy_kind kind;
    daruma_strategy_source source;
    daruma_str name;       /* as it was proposed */
    daruma_str reasoning;  /* why this one */
    daruma_str tool;       /* to call; empty: none */
    daruma_str parameters; /* of the call, a JSON object; empty: for the model to find */
    daruma_str message;    /* ESCALATE: for the person */
    daruma_str expected;   /* what should come of it */
    int16_t confidence;    /* per mille */
    bool checked;          /* a known tool, arguments that fit, safe to do: it may be done without asking */
} daruma_strategy;

/* A tool that the agent may call. */
typedef struct daruma_tool {
    daruma_str name, description, schema; /* the schema as JSON; empty: unknown */
    unsigned traits;                      /* bits of daruma_trait; 0 unknown */
} daruma_tool;

typedef struct daruma_lesson daruma_lesson;

/* An agent that cannot go on, as far as it is known. All zero is valid. Everything is borrowed. */
typedef struct daruma_situation {
    daruma_str goal;      /* the task */
    int16_t progress;     /* per mille of the way, -1 unknown */
    bool stuck;           /* no progress */
    uint32_t steps;       /* completed */
    daruma_str milestone; /* what has to come next; may be empty */
    daruma_str analysis;  /* why it is stuck, as somebody sees it; may be empty */
    const daruma_str *blockers;
    size_t nblockers;
    const daruma_str *facts; /* what is known so far, oldest first */
    size_t nfacts;
    daruma_str circle;                   /* what it keeps doing (daruma_verdict_say()); empty: nothing */
    const daruma_step *last;             /* NULL: nothing was done yet */
    const daruma_tool_failure *failures; /* of the newest step, or of what it repeats; newest last */
    size_t nfailures;
    const daruma_tool *tools; /* it may call; none: unknown */
    size_t ntools;
    const daruma_lesson *lessons; /* that may help, best first */
    size_t nlessons;
    /* Does a JSON value fit a schema? daruma_schema_fits, or a host's own; NULL: any object does. */
    bool (*fits)(daruma_str schema, daruma_str value, daruma_buf *why);
} daruma_situation;

/* The question how far it has come. Empty when `a` has no room. */
DARUMA_API daruma_question daruma_progress_ask(const daruma_situation *s, daruma_arena *a);

/* What was tried for an agent. All zero: nothing. No pointers: a copy is a snapshot. When it is full the oldest go. */
#define DARUMA_TRIES_MAX 16
#define DARUMA_TRY_BYTES 160
typedef struct daruma_tries {
    uint32_t n;                                     /* approaches so far */
    uint64_t approach[DARUMA_TRIES_MAX];            /* their identities */
    char words[DARUMA_TRIES_MAX][DARUMA_TRY_BYTES]; /* what they were, NUL-terminated */
    uint64_t tool[DARUMA_TRIES_MAX];                /* tools that were tried again, and */
    uint8_t times[DARUMA_TRIES_MAX];                /* how often since they last worked */
} daruma_tries;

/* Is help due: stuck, blockers, little progress after many steps, circles (K-F2)? */
DARUMA_API bool daruma_strategy_due(const daruma_situation *s, const daruma_policy *p);
/* What to do by what helped before: false when no lesson is good enough or it was tried already. */
DARUMA_API bool daruma_strategy_learned(const daruma_situation *s, const daruma_tries *t, const daruma_policy *p,
                                        daruma_strategy *ret);
/* The question to a model. Empty when `a` has no room. */
DARUMA_API daruma_question daruma_strategy_ask(const daruma_situation *s, const daruma_tries *t, const daruma_policy *p,
                                               daruma_arena *a);
/* Its answer; empty: the model failed. Never fails: an answer that is of no use (no JSON, no such strategy or tool,
 * arguments that do not fit, tried already) is left for the heuristic; `why` (may be NULL) is told what was wrong. */
DARUMA_API daruma_strategy daruma_strategy_read(daruma_str answer, const daruma_situation *s, const daruma_tries *t,
                                                const daruma_policy *p, daruma_arena *a, daruma_buf *why);
/* What daruma proposes without a model: the first row of the policy that fits and was not tried yet. */
DARUMA_API daruma_strategy daruma_strategy_guess(const daruma_situation *s, const daruma_tries *t,
                                                 const daruma_policy *p, daruma_arena *a);

typedef enum daruma_strategy_mode {
    DARUMA_STRATEGIES_LOG,  /* proposals are written down */
    DARUMA_STRATEGIES_ASK,  /* a person is asked before anything is done */
    DARUMA_STRATEGIES_AUTO, /* what is sure enough is done */
} daruma_strategy_mode;
typedef enum daruma_strategy_fate {
    DARUMA_FATE_LOG,      /* write it down, do nothing */
    DARUMA_FATE_DO,       /* do it */
    DARUMA_FATE_ASK,      /* ask a person whether to do it */
    DARUMA_FATE_ESCALATE, /* hand over to a person */
} daruma_strategy_fate;
/* What becomes of it: by the mode, its confidence against the policy's two thresholds, and whether it was checked.
 * Pure.
 */
DARUMA_API daruma_strategy_fate daruma_strategy_decide(const daruma_strategy *x, daruma_strategy_mode mode,
                                                       const daruma_policy *p);
DARUMA_API const char *daruma_strategy_fate_name(daruma_strategy_fate f); /* "log", "do", "ask", "escalate"; static */

/* It was tried: not proposed again, but for RETRY, which is as long as the policy allows for that tool. */
DARUMA_API void daruma_tries_note(daruma_tries *t, const daruma_strategy *x);
/* A tool worked: it may be tried again as often as before. */
DARUMA_API void daruma_tries_worked(daruma_tries *t, const daruma_policy *p, daruma_str tool);

/* When daruma itself proposes what. */
enum daruma_fallback_when {
    DARUMA_WHEN_NO_FAILURE = 1 << 0, /* nothing failed in the newest step */
    DARUMA_WHEN_A_FAILURE = 1 << 1,
    DARUMA_WHEN_FIRST = 1 << 2,   /* the tool was not tried again yet */
    DARUMA_WHEN_LEFT = 1 << 3,    /* ... less often than retries_max */
    DARUMA_WHEN_PASSES = 1 << 4,  /* the failure may pass by itself */
    DARUMA_WHEN_SAFE = 1 << 5,    /* calling it twice does no harm */
    DARUMA_WHEN_LIKE_IT = 1 << 6, /* another tool has a similar name or purpose */
};
typedef struct daruma_fallback_row {
    unsigned when;  /* bits of daruma_fallback_when, all of them */
    unsigned kinds; /* 1 << daruma_tool_kind, any of them; 0: whatever it is */
    daruma_strategy_kind kind;
    const char *reasoning, *message, *expected; /* may hold {tool}, {error} and {other} */
    int16_t confidence;                         /* per mille */
} daruma_fallback_row;

/* How a profile watches progress and finds strategies. */
typedef struct daruma_adapt_policy {
    uint8_t nudge_at[3]; /* steps begun without progress at which the model is told, by level; 0 never */
    uint8_t lap;     /* so many calls, word for word those before them: the model is told, too; 0 never, at most 3 */
    bool any_output; /* whatever a tool puts out is progress (K-F23) */
    bool any_move;   /* estimates that fall are progress, and standing at 100 % is none (K-W4) */
    int16_t span;    /* per mille: three estimates that lie closer together are a standstill */
    int16_t low_progress; /* per mille: less than this */
    uint16_t low_steps;   /*   after so many steps is a trigger (K-F2) */
    bool greedy;          /* answers are taken as they are, from the first brace to the last, tried or not (K-F4) */
    bool counts_forever;  /* success does not clear how often a tool was tried (K-W3) */
    bool oldest_facts;    /* the model is shown the oldest facts, not the newest (K-W5) */
    uint8_t facts_max;    /* so many */
    int16_t blind;        /* per mille: confidence of who tells none */
    /* The words of the question, NULL: daruma's. In the prompt {goal} {progress} {steps} {stuck} {blockers}
     * {blocker_list} {milestone} {tools} {errors} {facts} {analysis} are filled in, and {action} {outcome} {success} of
     * the newest step. */
    const char *system, *prompt;
    const daruma_fallback_row *unread;    /* what becomes of an answer that cannot be read; NULL: as if none had come */
    const daruma_fallback_row *fallbacks; /* NULL: daruma's */
    size_t nfallbacks;
} daruma_adapt_policy;

/* What helped against which failure. A lesson is about one tool, one failure and one client: nobody learns from another
 * tenant. */
typedef struct daruma_lesson_key {
    uint64_t tenant;   /* whose; a keyed hash of the client's credential */
    daruma_str tool;   /* that failed */
    daruma_str schema; /* of its arguments as they are now: when it changes, what was learned before is forgotten */
    uint64_t error;    /* daruma_tool_failure.signature */
    uint64_t call;     /* daruma_call_hash() of the call that failed; 0 unknown */
} daruma_lesson_key;

#define DARUMA_LESSON_BYTES 400
struct daruma_lesson {
    daruma_strategy_kind kind;
    int16_t score;                        /* per mille: how likely it helps, after so many times and so long ago */
    uint16_t worked, failed;              /* times */
    int64_t wall;                         /* unix seconds of the last time */
    uint64_t call;                        /* that had failed when it last helped; 0 unknown */
    char tool[64];                        /* to call */
    char parameters[DARUMA_LESSON_BYTES]; /* JSON object; empty: they were too long to keep, or there were none */
};

typedef struct daruma_lessons daruma_lessons;
DARUMA_API size_t daruma_lessons_bytes(uint32_t places);
/* Needs daruma_lessons_bytes(places) in `a`; NULL when they are not there. When it is full, a tenant that has a quarter
 * of it loses what it used longest ago; else that goes which nobody used for longest. */
DARUMA_API daruma_lessons *daruma_lessons_new(daruma_arena *a, uint32_t places);
/* `fix` was tried against that failure. `worked`: and then the same goal was reached (daruma_tool_failure.resolved);
 * that something else worked is no success. Text with what looks like a secret is not kept. ESCALATE and GIVE_UP teach
 * nothing. */
DARUMA_API void daruma_lessons_tell(daruma_lessons *l, const daruma_lesson_key *k, const daruma_strategy *fix,
                                    bool worked, int64_t wall);
/* What helped against it, best first, at most `max` (more than DARUMA_LESSONS_SHOWN are too many for a prompt); returns
 * how many were written. Worth fades: half of it in 45 days. */
DARUMA_API size_t daruma_lessons_find(const daruma_lessons *l, const daruma_lesson_key *k, int64_t wall,
                                      daruma_lesson *out, size_t max);
/* For the model, in at most 1,800 bytes. */
DARUMA_API void daruma_lessons_write(const daruma_lesson *lessons, size_t n, daruma_buf *out);
#define DARUMA_LESSONS_SHOWN 3
#define DARUMA_LESSON_RECORD "tool_lesson" /* how its lines in a snapshot are called */
DARUMA_API void daruma_lessons_save(const daruma_lessons *l, daruma_buf *out); /* appends a line of JSON for each */
/* Learns what such a line says. False: it is no such line, and nothing changed. */
DARUMA_API bool daruma_lessons_load(daruma_lessons *l, daruma_str line);

/* Learns by looking on: what failed, and what then reached the same goal. All zero: nothing is open. No pointers. */
#define DARUMA_LEARNER_OPEN 8
typedef struct daruma_learner {
    uint32_t n; /* failures so far */
    struct daruma_open_failure {
        daruma_tool_kind kind;
        uint64_t error, call;           /* signature, daruma_call_hash() */
        bool changed;                   /* something was changed since: who knows what it was that helped */
        char tool[64];                  /* empty: closed */
        char args[DARUMA_LESSON_BYTES]; /* of the call; empty: too long to keep */
    } open[DARUMA_LEARNER_OPEN];        /* failures whose goal was not reached yet; the oldest go */
} daruma_learner;
/* A step ended. `failure`: how it failed, NULL: it worked. `schema` of its tool's arguments, may be empty. `scratch` is
 * for the call alone. Returns what was seen to help, RETRY or ADJUST, OTHER for nothing; that another tool reached the
 * goal is for the host to tell, by daruma_lessons_tell(). */
DARUMA_API daruma_strategy_kind daruma_learner_see(daruma_learner *w, daruma_lessons *l, uint64_t tenant,
                                                   const daruma_step *step, const daruma_tool_failure *failure,
                                                   daruma_str schema, int64_t wall, daruma_arena *scratch);

#ifdef __cplusplus
}
#endif
#endif
