/* wire.h - sessions of the driver in virtual time: a host without a network. Its user says what comes of each call; the
 * clock jumps to whatever comes next, and chance is a seed.
 *
 *     user: call(), ask() --> answers, and when --> session --> tell(), step(), bytes of the client */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H
#include "engine/drive/drive.h"

enum {
    WIRE_CALLS_MAX = 8,    /* calls out at once; a session has at most three */
    WIRE_FIELDS_MAX = 9,   /* of an answer, the type of its content included */
    WIRE_TURNS_MAX = 10000 /* inputs of one request: more is a bug of ours */
};

/* What comes of a call. All zero: an answer without a body, at once, whose status the user has still to say. */
typedef struct wire_answer {
    daruma_ms took; /* between the call and all of this */
    int status;     /* 0: no head comes, it fails before */
    daruma_header fields[WIRE_FIELDS_MAX];
    size_t nfields;     /* without the type of the content: at most WIRE_FIELDS_MAX - 1 */
    daruma_str body;    /* as it comes */
    bool stream;        /* ... which are events */
    daruma_net net;     /* how it fails behind that; NONE: it ends */
    daruma_phase phase; /* ... and where */
    bool hangs;         /* it neither ends nor fails */
    bool leaves;        /* the client leaves then, and nothing comes */
} wire_answer;

/* Strings that a user returns live as long as the request. */
typedef struct wire_ops {
    /* What comes of a call whose body is `body`. False: it cannot be said, and the call does not go out. */
    bool (*call)(void *user, const drive_request *q, daruma_str body, wire_answer *ret);
    /* What a model answers that is asked on the side. */
    bool (*ask)(void *user, const daruma_target *t, const daruma_question *q, wire_answer *ret);
    /* As drive_host has them. */
    const daruma_target *(*targets)(void *user, daruma_str model, size_t *n, daruma_watch_mode *watch);
    void (*tell)(void *user, daruma_event *e);
    void (*step)(void *user, const drive_step *s);
} wire_ops;

/* A call that is out, and what is still to come of it. */
typedef struct wire_call {
    drive_call *c; /* NULL: there is none */
    wire_answer answer;
    daruma_ms due;
} wire_call;

typedef struct wire {
    const wire_ops *ops; /* (set) */
    void *user;          /* (set) */
    const dialect *d;    /* (set) that all providers speak */
    bool renewable;      /* (set) credentials can be fetched anew */
    uint64_t dice;       /* (set) the seed */
    driver v;            /* (set: rooms) */
    daruma_moment at;    /* now: `at.now` begins at 0 */
    daruma_ms slept;     /* waited while no call was out, since the user last took it away */
    /* of the newest request */
    session *x;
    daruma_arena *a;
    daruma_buf got;    /* what the client has of the answer */
    int status;        /* ... its status, 0 no head came */
    daruma_str newest; /* what the newest call brought */
    wire_answer last;  /* what came of the newest call that ended */
    drive_end end;     /* how it ended */
    /* inside */
    wire_call calls[WIRE_CALLS_MAX];
    daruma_ms timer; /* -1 none */
    bool key_comes, over;
} wire;

/* A call of a tool within an answer. */
typedef struct wire_tool_call {
    daruma_str id, tool, args;
} wire_tool_call;

/* Returns a whole answer in the dialect: words (may be empty) and calls. Without a use of tokens, which is estimated
 * then. Lives in `a`; empty without memory. */
daruma_str wire_says(const dialect *d, daruma_str text, const wire_tool_call *calls, size_t ncalls, daruma_arena *a);

/* Makes *w ready; its (set) members are. What lives as long as it is taken from `a`. False without memory. */
bool wire_begin(wire *w, daruma_arena *a);
void wire_end(wire *w);
/* Runs one request to its end; `q->arena` must live until its answer was read. False: it does not end. */
bool wire_request(wire *w, const session_request *q);
/* The client of a request that did not end leaves it. */
void wire_leave(wire *w);
/* The clock jumps to `when`, and the dice are cast. `sleeps`: nobody was asked anything meanwhile. */
void wire_pass(wire *w, daruma_ms when, bool sleeps);
#endif
