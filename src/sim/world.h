/* world.h - one small world: where calls can go, what is sick and when, and who asks for what. It is a function of its
 * class and a seed, and so is every call in it. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H
#include "daruma_parts.h"

/* What can be wrong with a call. X(symbol, name, kind it is judged as, status, net, flaw, phase, percent sure, body) */
// clang-format off
#define SIM_ILL_MAP(X)                                                                                                 \
    X(WELL,          "ok",                   UNKNOWN,          200, NONE,               NONE,  ANSWER,  0,  "")        \
    X(BROKEN,        "500",                  SERVER_ERROR,     500, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"type\":\"server_error\",\"message\":\"The server had an error\"}}")                               \
    X(UNAVAILABLE,   "503",                  SERVER_ERROR,     503, NONE,               NONE,  ANSWER,  90,            \
      "<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>")                                        \
    X(OVERLOADED,    "529",                  OVERLOADED,       529, NONE,               NONE,  ANSWER,  90,            \
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}")                     \
    X(RESET,         "reset",                NETWORK,          0,   RESET,              NONE,  WAIT,    95, "")        \
    X(REFUSED,       "refused",              NETWORK,          0,   REFUSED,            NONE,  CONNECT, 95, "")        \
    X(KEY,           "401",                  AUTH,             401, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"code\":\"invalid_api_key\",\"message\":\"Incorrect API key provided\"}}")                         \
    X(FORBIDDEN,     "403",                  PERMISSION,       403, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"type\":\"permission_error\",\"message\":\"You do not have access to this model\"}}")              \
    X(UNKNOWN_MODEL, "404",                  MODEL_NOT_FOUND,  404, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"code\":\"model_not_found\",\"message\":\"The model does not exist\"}}")                           \
    X(NO_CREDIT,     "quota",                QUOTA,            429, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota\"}}")                 \
    X(LIMIT,         "429",                  RATE_LIMIT,       429, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached\"}}")                             \
    X(LIMIT_NAMED,   "429 with Retry-After", RATE_LIMIT,       429, NONE,               NONE,  ANSWER,  90,            \
      "{\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Rate limit reached\"}}")                             \
    X(SILENT,        "silent",               TIMEOUT,          0,   FIRST_BYTE_TIMEOUT, NONE,  WAIT,    95, "")        \
    X(SLOW,          "slow",                 UNKNOWN,          200, NONE,               NONE,  ANSWER,  0,  "")        \
    X(EMPTY,         "empty",                MALFORMED_OUTPUT, 200, NONE,               EMPTY, ANSWER,  80, "")        \
    X(CUT,           "cut",                  INTERRUPTED,      200, CUT,                CUT,   STREAM,  80, "")        \
    X(STALL,         "stall",                INTERRUPTED,      200, IDLE_TIMEOUT,       SILENT,STREAM,  80, "")        \
    X(WALL,          "403 of a firewall",    PERMISSION,       403, NONE,               NONE,  ANSWER,  90,            \
      "<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>")                     \
    X(LATE,          "clock of the host",    TIMEOUT,          200, TOTAL_TIMEOUT,      NONE,  STREAM,  95, "")
// clang-format on

typedef enum sim_ill {
#define X(sym, ...) SIM_##sym,
    SIM_ILL_MAP(X)
#undef X
        SIM_ILLS
} sim_ill;

enum {
    SIM_TARGETS_MAX = DARUMA_CASE_TRIED, /* a case keeps count of no more */
    SIM_FAULTS_MAX = 40,                 /* in one world: noise at each target, and some */
    SIM_REQUESTS_MAX = 600,              /* in one world: a burst of 500, and some */
    SIM_JUMPS_MAX = 4,                   /* of the clock, in one world */
    SIM_WHOLE = 1000,                    /* shares are counted in thousandths */
};
#define SIM_EVER        INT64_MAX /* a fault that does not end */
#define SIM_BEGIN_MS    1000000   /* every world begins at this time: no time in it is near zero */
#define SIM_CLOCK_MS    600000    /* a host ends a call after this long, as `timeouts.total` does */
#define SIM_PATIENCE_MS 120000    /* of the clairvoyant where a policy has none */

/* Something is wrong with some targets for a while. */
typedef struct sim_fault {
    sim_ill ill;                 /* what a call meets */
    uint32_t who;                /* a bit for each target */
    daruma_ms from, until;       /* when; `until` is the first moment without it */
    uint32_t share, share_until; /* of the calls that meet it, at `from` and at `until`: it grows between them */
    daruma_ms flaps;             /* on for so long, off for so long, from `from` on; 0: on throughout */
    uint32_t factor;             /* SLOW: times as slow, in thousandths. CUT, STALL: so much of the answer comes */
    bool breaks;                 /* what is under way when it begins breaks; SILENT: breaks when it ends */
} sim_fault;

/* How long the calls to a target take, in the median. */
typedef struct sim_pace {
    daruma_ms head;  /* to the head of the answer */
    daruma_ms begin; /* from there to the first content */
    daruma_ms body;  /* from there to the end */
} sim_pace;

typedef struct sim_request {
    daruma_ms at;       /* when it comes; of an agent: how long after the answer before it */
    daruma_ms deadline; /* the client waits so long; -1 for ever */
    daruma_ms leaves;   /* the client leaves after this, for no reason of ours; -1 it stays */
    uint32_t walled;    /* a bit for each target whose firewall refuses this request */
    bool plain;         /* the answer comes in one piece */
} sim_request;

typedef struct sim_jump {
    daruma_ms at, by; /* the clock of the host moves by so much then */
} sim_jump;

struct sim_class;
typedef struct sim_world {
    const struct sim_class *class; /* of what sort it is */
    uint64_t seed;                 /* of the dice of its calls */
    daruma_target targets[SIM_TARGETS_MAX];
    sim_pace pace[SIM_TARGETS_MAX]; /* of each target */
    int ntargets;
    sim_fault faults[SIM_FAULTS_MAX];
    int nfaults;
    sim_request requests[SIM_REQUESTS_MAX];
    int nrequests;
    int agents; /* so many clients ask again when they have their answer; 0: requests come by the clock */
    sim_jump jumps[SIM_JUMPS_MAX];
    int njumps;
} sim_world;

/* Where a world's calls may go, when it is given: the targets of a user's configuration, in their order. */
typedef struct sim_places {
    daruma_target targets[SIM_TARGETS_MAX]; /* sealed */
    int ntargets;
} sim_places;

/* Makes world number `k` of the class. `places` (may be NULL: they are made up) must fit: sim_class_fits(). */
void sim_world_make(sim_world *w, const struct sim_class *class, uint64_t seed, uint64_t k, const sim_places *places);

/* What becomes of one call. */
typedef struct sim_fate {
    sim_ill ill;     /* WELL: it is answered */
    int fault;       /* whose work that is; -1 nobody's */
    daruma_ms head;  /* when the head comes, from the sending on; -1 never */
    daruma_ms begin; /* ... the first content; -1 never */
    daruma_ms end;   /* ... it ends or fails; -1 never */
    daruma_ms wait;  /* as the provider names it; -1 it does not */
    uint32_t came;   /* of the answer, in thousandths of the whole */
    bool by_chance;  /* the dice decided it; not so where every call fails */
} sim_fate;

/* The `nth` call (0 first) of request `r` to `target`, sent at `now`, for `rest` thousandths of the answer. Whoever
 * compares counts only calls that the dice decided: those that an outage of all calls ended took no luck away. */
sim_fate sim_world_fate(const sim_world *w, int r, int target, uint32_t nth, daruma_ms now, uint32_t rest);

/* The share of calls that meet this fault now, in thousandths; 0: it is not there. */
uint32_t sim_fault_share(const sim_fault *f, daruma_ms now);
/* The first moment from `now` on when it is not there; SIM_EVER: there is none. */
daruma_ms sim_fault_clear(const sim_fault *f, daruma_ms now);

const char *sim_ill_name(sim_ill ill); /* static */
daruma_kind sim_ill_kind(sim_ill ill); /* as it is judged */
/* The call as a host would report it, and as daruma_classify() would judge that. `sent`: the client has some of it. */
daruma_evidence sim_evidence(sim_ill ill, bool sent);
daruma_failure sim_failure(const sim_fate *f, bool sent);
#endif
