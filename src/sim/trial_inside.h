/* trial_inside.h - a trial that is being run, and what its files call of each other. */
#ifndef SIM_TRIAL_INSIDE_H
#define SIM_TRIAL_INSIDE_H
#include "sim/trial.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "sim/dice.h"

enum { TRIAL_GOALS_MAX = 12, TRIAL_NAME_BYTES = 64 };

typedef enum trial_kind { GOAL_SEARCH, GOAL_READ, GOAL_TICKET, GOAL_ORDER } trial_kind;

/* What is wrong at a goal. */
typedef enum trial_ill {
    ILL_NONE,
    ILL_RATE,    /* the provider takes no calls, `lasts` from the first one for this goal on */
    ILL_OUTAGE,  /* the same, in way `how` */
    ILL_JSON,    /* the model's answer is broken in way `how` */
    ILL_DOWN,    /* the tool is down, `lasts` from the first call on */
    ILL_REFUSED, /* the tool takes the value only in another form */
    ILL_LOST,    /* an order's answer is lost: how & 1: behind its effect; how & 2: the host can tell */
    ILL_CIRCLE,  /* the model repeats what worked; how & 1: in turns with another call */
    ILL_PATH,    /* the model leaves the folder out; how & 1: it mistypes it */
    ILL_SERVER,  /* the server of the tool dies with the call, and is back after `lasts` */
} trial_ill;

/* Ways in which an answer is broken. */
typedef enum trial_broken {
    BROKEN_COMMA,   /* a comma too many in the arguments */
    BROKEN_TYPE,    /* a number as a string, a string as a list */
    BROKEN_MISSING, /* the argument is missing */
    BROKEN_NAME,    /* a tool that does not exist */
    BROKEN_CUT,     /* arguments that end within a value */
    BROKEN_EMPTY,   /* neither words nor a call */
    BROKEN_BODY,    /* the provider's answer is cut */
    BROKEN_WAYS
} trial_broken;

typedef struct trial_goal {
    trial_kind kind;
    char name[TRIAL_NAME_BYTES]; /* file, ticket or item: what the task calls it */
    char path[TRIAL_NAME_BYTES]; /* READ: where it is */
    char token[32];              /* stands in its result and nowhere else */
    int64_t number;              /* TICKET: its id; ORDER: how many */
    uint32_t bytes;              /* of its result */
    trial_ill ill;
    uint32_t how;
    daruma_ms lasts;
    /* what happened in this run */
    daruma_ms since;     /* the fault began then, -1 not yet */
    uint32_t thought;    /* answers of the model that were for it */
    uint32_t called;     /* calls of its tool */
    uint32_t broken;     /* answers that were broken */
    uint32_t laps;       /* repetitions of what worked */
    uint32_t effects;    /* ORDER: how often it was placed */
    uint32_t summarised; /* times that it was in a summary */
    uint32_t failed;     /* failures that the model was shown */
    bool delivered;      /* its token came out of a tool */
    bool looked;         /* ORDER: it was looked for since it was last tried */
    bool left;           /* the model gave it up, or left the circle */
} trial_goal;

typedef struct trial {
    const trial_setup *s;
    uint64_t seed; /* of this trial */
    trial_class is;
    trial_goal goals[TRIAL_GOALS_MAX];
    size_t n;
    bool pairs; /* the model makes two calls at once, under ids that repeat */
    int64_t window;
    char task[1600];
    wire w;
    daruma_arena *keep; /* lives as long as the run */
    daruma_target target;
    agent_purpose purpose; /* of the question that is out */
    trial_outcome out;
    bool open, useful; /* an answer of the model with calls is being carried out; it brought something */
    trial_goal *last;  /* that the newest answer was for */
    bool slipped;      /* ... and was broken */
    uint64_t body;     /* hash of the question that it answered */
    uint32_t asked;    /* questions on the side, for their dice */
} trial;

/* Chance at a place of the trial: the same whoever runs it. `what` tells throws at one goal apart. */
uint64_t trial_roll(const trial *t, const trial_goal *g, char what, uint32_t nth);
bool trial_chance(const trial *t, const trial_goal *g, char what, uint32_t nth, uint32_t milli);
void trial_say(trial *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- trial_world.c ---- */

void trial_make(trial *t, uint64_t k);
bool trial_tool(void *user, agent *a, const agent_act *x, sim_tool_result *ret);
extern const agent_tool trial_tools[];
extern const size_t ntrial_tools;
/* The fault of the provider that a call meets now. False: none. `g`: what it is for, NULL: nothing of the task. */
bool trial_provider(trial *t, trial_goal *g, daruma_str body, daruma_arena *a, wire_answer *ret);

/* ---- trial_model.c ---- */

/* What the model is about to do with a request: which goal it is for; NULL: it answers. */
trial_goal *trial_next(trial *t, convo *c, daruma_str body);
/* Its answer to a step. Counts what it takes. */
daruma_str trial_step(trial *t, convo *c, daruma_str body, trial_goal *g, daruma_arena *a);
/* Its answer to any other question. */
daruma_str trial_side(trial *t, agent_purpose p, daruma_str body, daruma_arena *a);
#endif
