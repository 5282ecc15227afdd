/* faults.h - everything that can be done to an answer, as a table: the names that scripts use, what they do, and
 * the words in which the real providers say it. */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H
#include "chaos/answer.h"
#include "chaos/oracle/validate.h"

/* What a kind does. */
typedef enum fault_effect {
    FAULT_ERROR,   /* the provider's error instead of the answer */
    FAULT_HTML,    /* the page of a proxy in front of the provider */
    FAULT_TWIST,   /* the model itself answers oddly */
    FAULT_EMPTY,   /* an answer without an answer */
    FAULT_BROKEN,  /* a good status over a body that cannot be read */
    FAULT_FRAMING, /* broken HTTP */
    FAULT_HANG,    /* the rest: the good answer, but ... never begins */
    FAULT_RESET,   /* ... the connection is reset (RST) */
    FAULT_CUT,     /* ... the connection is closed in the middle (FIN) */
    FAULT_EOF,     /* ... it ends early, as if that were its end */
    FAULT_STALL,   /* ... it falls silent, then goes on */
    FAULT_PINGS,   /* ... nothing but keep-alives come, then it goes on */
    FAULT_SLOW,    /* ... byte by byte */
    FAULT_TRICKLE, /* ... event by event */
    FAULT_DELAY,   /* ... late */
    FAULT_REFUSE,  /* no call at all: the connection is reset as soon as it is made */
} fault_effect;

enum { FAULT_FORMS = 10, FAULT_KINDS_MAX = 16 };

typedef struct fault_kind {
    const char *name;
    fault_effect effect;
    answer_twist twist;             /* of FAULT_TWIST */
    const char *main;               /* the key that a bare value sets: `html: 502` is `kind: html, status: 502` */
    const char *forms[FAULT_FORMS]; /* what `form` may be; the first is the default */
    const char *words;              /* one sentence for --list and the manual */
} fault_kind;

/* What the texts of errors have braces for. */
typedef struct fault_values {
    daruma_str model, key, retry;
    int64_t tokens, window, output, output_max;
} fault_values;

/* The error of that kind in the words of the provider; those of Chat serve Responses where that has none of its own,
 * and an unknown kind gets the first there are. The message lives in `a`. */
refusal fault_refusal(const char *kind, wire w, const fault_values *v, daruma_arena *a);

extern const fault_kind fault_kinds[];
extern const size_t nfault_kinds;
const fault_kind *fault_find(daruma_str name); /* NULL: unknown */

/* One row of a script's `faults`. Numbers that are not said are -1. */
typedef struct fault {
    /* which calls */
    daruma_str model, key, account, path; /* empty: any. A `*` at the end stands for anything */
    int stream;                           /* 1 streams only, 0 others only, -1 any */
    int asks;                             /* only requests for this: ask_purpose; -1 any */
    /* how many of them */
    int64_t skip, times; /* leaves the first so many alone; then hits so many */
    int64_t rate;        /* thousandths of the calls; -1: all */
    /* what happens: one of these, by the dice */
    const fault_kind *kinds[FAULT_KINDS_MAX];
    size_t nkinds;
    /* in which way */
    int64_t status;
    daruma_header *headers; /* set or replaced */
    size_t nheaders;
    daruma_str message; /* instead of the provider's text */
    daruma_str form;
    int64_t after_events, after_bytes, after_wire_bytes; /* events, body bytes, or bytes from the status line on */
    int within;                                          /* answer_part; 0 not said */
    int64_t after_pieces;                                /* of that part, of the text unless said */
    daruma_ms hold;                                      /* `for` */
    daruma_ms every, delay;
    bool in_band; /* the error comes inside a 200 */
    int line;     /* in the script; 0: it was made of options */
    /* what came of it */
    int64_t met, hit; /* calls that fit; calls that it was done to */
} fault;

extern const fault fault_none; /* a row that says nothing */

/* How an answer is to be played. */
typedef enum plan_act { PLAN_END, PLAN_CUT, PLAN_RESET, PLAN_EOF, PLAN_HANG, PLAN_STALL, PLAN_PINGS } plan_act;

typedef struct plan {
    answer a;
    const char *name;    /* what was done, or "ok" */
    const char *refused; /* the kind of what was wrong with the request; NULL: nothing was */
    bool raw;            /* a.body is the answer as it goes over the wire, head and framing included */
    bool no_head;        /* `act` comes before even the head */
    daruma_ms delay;     /* before anything */
    size_t stop_at;      /* `act` comes when so many bytes of the body are out */
    plan_act act;
    daruma_ms hold;  /* of PLAN_HANG, PLAN_STALL, PLAN_PINGS; -1 for ever */
    daruma_ms every; /* between two bytes or events; 0 all at once */
    bool bytes;      /* ... bytes, else events */
} plan;

/* What a request gets when fault `f` does `k` to it; `good` is its answer otherwise. Pure; lives in `a`. */
plan fault_plan(const fault *f, const fault_kind *k, const ask *q, const model_limits *m, const manner *how,
                uint64_t id, daruma_arena *a);
plan plan_good(const answer *x);
#endif
