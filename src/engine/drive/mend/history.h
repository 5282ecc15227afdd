/* history.h - the conversation of one request while remedies are carried out on it, without I/O.
 *
 *                     +------------------- the request failed again ------------------+
 *                     v                                                               |
 *   history_begin -> history_plan -> history_work --- DONE: work.made is sent --------+
 *                                      ^    |   \---- UNFIT: the next rung of the ladder
 *                                      |    +-------- ASKS: the host asks m.questions and brings
 *                                      +------------- mending_answer() for each
 *
 * The request is read when something failed, not before, and given back before a provider is waited for
 * (history_rest): what was read holds many times the bytes of the request. history_work() may run on another thread
 * while nobody else touches the history. */
#ifndef ENGINE_DRIVE_MEND_HISTORY_H
#define ENGINE_DRIVE_MEND_HISTORY_H
#include "dialect/dialect.h"
#include "engine/drive/request/text.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/remedy.h"
#include "engine/mend/request/request.h"

enum { HISTORY_STEPS_MAX = 4 }; /* remedies that are tried one after the other without a call */

/* What is known of a target when a request is written for it: lessons of its lane, and the most of a response format
 * that it takes. */
typedef struct drive_facts {
    mend_lesson lessons[LESSONS_APPLIED_MAX]; /* `applied` of each: it changed this request */
    size_t nlessons, nknown;                  /* the first `nknown` are of the lane, the others of this request alone */
    convo_format most;                        /* of a response format; FORMAT_SCHEMA: nothing was refused */
    uint32_t habits, habits_known;            /* for mend_habits(); those of the lane */
    bool half_thought;                        /* the client has thinking that broke off before its signature */
    bool signs;                               /* ... and its provider was seen to refuse that */
    /* done */
    mend_report report;
    bool parameters, formats; /* a lesson changed the request; its response format came down */
    bool messages;            /* its messages were changed */
} drive_facts;

/* Does what is known to a request in the target's dialect. Any thread. */
void drive_facts_apply(drive_facts *f, convo *c);

/* The target that a request is mended for, and how it counts. */
typedef struct history_target {
    int64_t window;     /* tokens of its context window, -1 unknown */
    bool shares_none;   /* that window is of the input alone */
    int64_t rate;       /* bytes of a request that it counts as 1,000 tokens */
    int64_t scale;      /* its tokens to 1,000 of our estimate; 0 unknown */
    uint64_t tenant;    /* whose request it is: known compressions are kept apart */
    drive_facts *facts; /* what is known of it, done first, as when the request goes out; NULL nothing. Lives until the
                           work is done */
} history_target;

/* What is to be done to the conversation, and what came of it. Everything that the work needs stands here. */
typedef struct history_task {
    daruma_remedy_kind steps[HISTORY_STEPS_MAX]; /* the first that is not unfit is what is done */
    size_t nsteps, at;
    bool ends;        /* the answers to what was asked are there */
    bool weighs;      /* the request is mended only if it is too long for the window, as its tokens are estimated */
    bool ahead;       /* it has not gone out yet; else it failed */
    daruma_str body;  /* what is sent now */
    daruma_failure f; /* what it is mended for ... */
    daruma_str sent;  /* ... and the request that it is about, in another dialect: ... */
    const dialect *sent_d; /* ... this one; NULL: it is `body` itself */
    history_target to;
    mend_share beside; /* what is added to the request is taken off the output cap; limit 0: it is not */
    /* what came of it */
    mending_result result;
    daruma_remedy_kind did;
    drive_text *made;  /* DONE: the request as it is sent from here on; the caller takes it */
    request_scan scan; /* of it */
} history_task;

/* A request that asks the model to go on with an answer of which the client has the beginning. */
typedef struct history_onward {
    daruma_str of;    /* the request as it was */
    drive_text *made; /* as it asks for the rest; NULL: nothing came yet, it goes out as it was. The caller takes it */
    daruma_str body;  /* what is sent; lives as long as the call, once `made` was taken */
    mend_going how;
    request_scan scan; /* of what is sent */
} history_onward;

typedef struct history {
    const drive_rooms *rooms;
    const dialect *d;          /* of the request */
    daruma_mend_policy policy; /* the profile's, with what the host lays over it */
    mending m;                 /* m.c is the request, mended so far; its raw bytes stand in `read_from` */
    daruma_arena own;          /* of m.c and all that is made of it */
    bool read, unread;         /* it was read; it cannot be read, or not be mended any more */
    bool again;                /* it was read once more, from what was made of it */
    bool too_much;             /* mending it was given up: it takes too much memory, or too many steps */
    uint64_t nodes;            /* messages, parts and tools that remedies went through */
    int64_t tokens;            /* our estimate of what was written last; 0 nothing was */
    daruma_str from;           /* the body that m.c was read from the first time: the client's */
    daruma_str read_from;      /* and the last time: m.c borrows from it */
    mend_known *learned;       /* what was shortened, where what was read does not stay; NULL nothing */
    daruma_arena learned_room; /* memory of it */
    daruma_str resume_of;      /* the body before the model was asked to go on; empty: it was not */
    mend_going going;          /* how the model is asked to go on where it is given no beginning of its own */
    bool prefilled;            /* the last attempt was asked to go on from a begun answer */
    bool no_prefill;           /* and that was refused: it is not asked so again */
    history_task task;
} history;

/* Makes *h ready. Nothing is read yet. */
void history_begin(history *h, const dialect *d, const drive_rooms *rooms, const daruma_mend_policy *p);
/* Gives all memory back. */
void history_end(history *h);

/* Reads `body` into h->m.c unless it was read already, in so many bytes at most. What takes more is not read now, and
 * may be read beside the loop in MEND_ARENA_BYTES_MAX. False: it cannot be read, or mending it was given up. */
bool history_read(history *h, daruma_str body, size_t bytes);
/* Reads `body` apart, in a room of so many bytes at most. False: it cannot be read, and the room is given back. */
bool history_read_apart(const drive_rooms *rooms, const dialect *d, daruma_str body, size_t bytes, daruma_arena *room,
                        convo *ret);
/* The request goes out: gives what was read back if it is much. */
void history_rest(history *h);
/* Writes h->m.c. NULL: it takes too much, mending is given up. The caller owns the text. */
drive_text *history_write(history *h, request_scan *ret);

/* Returns what is taken off the output cap for what is added to a request that filled the window; limit 0: nothing. */
mend_share history_beside(const history_target *to, const daruma_mend_policy *p);
/* Plans `n` remedies on `body` for a failure: the first that is not unfit is done. The caller may change the task
 * before it is worked on. */
history_task *history_plan(history *h, const history_target *to, daruma_str body, const daruma_failure *f,
                           const daruma_remedy_kind *steps, size_t n);
/* Keeps a copy in `keep` of the answer that was broken and of what is wrong with it, for asking again. */
void history_bad_answer(history *h, const turn *bad, daruma_str why, daruma_arena *keep);

/* Carries out what h->task says, and what came of it stands there. ASKS: the host asks h->m.questions, calls
 * mending_answer() for each, sets task.ends, and calls this again; where the answers do not help, the remaining steps
 * are tried. */
void history_work(void *h);

/* True if `used` tokens and an output cap of `cap` (-1: none) come so near to the window of `t` that they are not sent.
 */
bool history_is_long(const history_task *t, int64_t used, int64_t cap);

/* What a request that goes on needs. */
typedef struct history_rest_of {
    daruma_str body;   /* what was sent */
    daruma_str so_far; /* the text that the client has */
    bool prefills;     /* the target goes on from a begun answer, and may be asked so */
    mend_share beside; /* as in history_task */
    size_t read_bytes; /* that reading it may take */
} history_rest_of;
/* Writes the request that asks for the rest of an answer, each time from the request as it was, and changes nothing in
 * the history yet. False: it cannot be gone on with. */
bool history_onward_make(const history *h, const history_rest_of *q, mend_report *rep, history_onward *ret);

#endif
