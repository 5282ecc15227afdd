/* trial.h - whole agents against faults, side by side: one small world with one fault, or several, and one simulated
 * model, under any profile, in virtual time (agent_host.h). What the world and the model do depends on the seed, on
 * the goal at hand and on how often it was tried, never on the profile: the model sees requests, and knows nothing
 * else. All that is assumed of both stands in doc/seeds.md.
 *
 *     seed, number --> trial: goals, faults     request --> model: next call     call --> tools: result, effect */
#ifndef SIM_TRIAL_H
#define SIM_TRIAL_H
#include "engine/seeds/seeds.h"
#include "sim/agent_host.h"

/* Classes of faults. X(symbol, name, in plain words) */
#define TRIAL_CLASS_MAP(X)                                                                                             \
    X(CALM, "calm", "nothing fails")                                                                                   \
    X(RATE, "rate-limit", "the provider takes no calls for 1 to 60 s, and mostly says how long")                       \
    X(OUTAGE, "outage", "500, 502, 503, 529, 504 or broken connections for 1 to 90 s")                                 \
    X(OVERFLOW, "overflow", "files that together are longer than the model's window")                                  \
    X(ORPHAN, "orphan", "parallel calls under ids that repeat, one of them lost; the provider checks pairs")           \
    X(JSON, "broken-json", "arguments or answers that are broken, cut or empty, tools that do not exist")              \
    X(TOOLS, "tools", "tools that are down for 1 to 20 s, or refuse a value and say which they take")                  \
    X(EFFECT, "effect", "an order whose answer is lost, before or after it took effect")                               \
    X(CIRCLE, "circle", "a model that repeats a call that worked")                                                     \
    X(PATH, "path", "a model that leaves the folder out, or mistypes it")                                              \
    X(SERVER, "server", "a server of tools dies with a call in flight, and is back after 1 to 15 s")                   \
    X(MIXED, "mixed", "three of these, each at another goal")

typedef enum trial_class {
#define X(sym, ...) TRIAL_##sym,
    TRIAL_CLASS_MAP(X)
#undef X
        TRIAL_CLASSES
} trial_class;
const char *trial_class_name(trial_class c);
const char *trial_class_words(trial_class c);
bool trial_class_find(daruma_str name, trial_class *ret);

/* What came of one run. */
typedef struct trial_outcome {
    bool done;        /* the answer is the model's own and whole, and each order was placed, once */
    bool claimed;     /* the run says that it went well, although it is not done */
    uint32_t calls;   /* to models, those that failed included */
    uint32_t wasted;  /* of these: failed, or brought nothing; all, when it is not done */
    uint32_t doubled; /* effects beyond the one that was asked for */
    int64_t tokens;   /* of calls that were answered, input and output */
    daruma_ms waited; /* nobody was asked anything */
    daruma_ms took;
    const char *end; /* why it ended; static */
} trial_outcome;

typedef struct trial_sum {
    uint64_t runs, done, claimed, calls, wasted, doubled, stopped;
    int64_t tokens;
    daruma_ms waited, took;
} trial_sum;
void trial_add(trial_sum *s, const trial_outcome *o);

/* Who is compared, and with what. */
typedef struct trial_setup {
    const seed_stack *stack;
    agent_mode mode;
    uint64_t seed;
    const drive_rooms *rooms;
    void (*say)(void *user, daruma_ms at, daruma_str line); /* what happens, line by line; NULL: nobody reads it */
    void *user;
} trial_setup;

/* Trial number `k`: its class is k modulo TRIAL_CLASSES. False: without memory, or the run does not end. */
bool trial_run(const trial_setup *s, uint64_t k, trial_outcome *ret);
#endif
