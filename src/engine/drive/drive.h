/* drive.h - the driver: recovery of one request as a state machine without I/O, and what its host does for it.
 *
 *          session_open                                  the client's request
 *               |
 *               v
 *   +------> ATTEMPT --send--> HELD --content--> RELAYED --end--> over(END)
 *   |           |  \             |                  |
 *   |           |   \--answer--> WHOLE --good-------+-----------> over(END)
 *   |           |                |                  |
 *   |           +---- failed ----+------ cut -------+
 *   |                   |
 *   |            judge, next rung of the ladder
 *   |              |            |            |
 *   +--- mended, --+       ask() a model     +--- nothing helps --> explained, over(END)
 *        waited                 |
 *                               +--> mended
 *
 * A host hands in what happens (session_*, drive_call_ops), and the driver calls the host's functions (drive_host) for
 * what has to be done: acts are calls, so that bytes are handed on without a copy. Time and chance come in as a value:
 * the host sets driver.at before each input. One driver and all its sessions belong to one thread; only the work of
 * drive_work and the functions of drive_rooms run on others. */
#ifndef ENGINE_DRIVE_DRIVE_H
#define ENGINE_DRIVE_DRIVE_H
#include "dialect/dialect.h"
#include "engine/drive/room.h"

typedef struct session session; /* one request, from its bytes to the last byte of its answer */
typedef struct driver driver;   /* what the sessions of one host share */

/* ---- calls to providers ---- */

/* The status and the fields of an answer. */
typedef struct drive_head {
    int status;
    const daruma_header *headers; /* names and values stand in one piece of memory, in this order, as they were read */
    size_t nheaders;
    int64_t length; /* of the body, -1 unknown */
} drive_head;

daruma_str drive_field(const drive_head *h, daruma_str name); /* the value of a field; empty: there is none */
/* Is `name` a field that belongs to one connection (RFC 9110, section 7.6.1) and never travels on? `connection` is the
 * value of the Connection field, which may name more. */
bool drive_field_is_hop(daruma_str name, daruma_str connection);

typedef struct drive_call drive_call;

/* What a host tells of a call. Exactly one of end and fail comes last, unless the call was cancelled. */
typedef struct drive_call_ops {
    void (*head)(drive_call *c, const drive_head *h); /* borrowed during the call */
    void (*body)(drive_call *c, daruma_str bytes);    /* likewise */
    void (*again)(drive_call *c, daruma_net net);     /* it is sent once more on a fresh connection; may be NULL */
    void (*end)(drive_call *c);
    void (*fail)(drive_call *c, daruma_net net, daruma_phase phase);
} drive_call_ops;

/* One call. The driver owns the struct. */
struct drive_call {
    const drive_call_ops *ops; /* who hears of it */
    session *x;
    void *owner;       /* of the driver: whose call it is */
    void *handle;      /* the host's while the call is out; NULL: it is not */
    daruma_str secret; /* the host's key that it was made with, as long as the request; empty: the client's own */
};

/* A call to be sent. All strings live until the call is over. */
typedef struct drive_request {
    const daruma_target *t;
    const dialect *d, *p; /* the client's dialect, NULL: none; and the target's */
    daruma_str body[4];   /* pieces, one after the other */
    daruma_str model;     /* as the client asked for it */
    daruma_str without;   /* words of anthropic-beta that the target refuses, with commas between; "*": all */
    bool stream, array;   /* it is answered as events; as one JSON array (Gemini's without alt=sse) */
    bool fresh;           /* not over a connection that was used before: the call must not be made twice unseen */
    daruma_ms total;      /* so long it may take in all, -1: no limit of the case */
    daruma_arena *a;      /* for what the host makes until the first byte of the answer */
} drive_request;

typedef enum drive_sent {
    DRIVE_SENT,
    DRIVE_NOT_SENT, /* the host could not make a connection for want of memory or descriptors */
    DRIVE_NO_MEMORY /* the request could not be written whole: it must not go out */
} drive_sent;

/* What the host knows of a target that the driver does not. */
typedef struct drive_place {
    const dialect *d; /* that the provider speaks */
    uint64_t site;    /* the same for providers at one host and port */
    bool own_key;     /* calls are made with a key of the host's, not with the client's */
    bool model_apart; /* the host says the model elsewhere, whatever the body says */
} drive_place;

typedef enum drive_key { DRIVE_KEY_READY, DRIVE_KEY_ABSENT } drive_key;

/* ---- the client ---- */

/* The head of an answer as it goes to the client; session_fields() makes its fields of it. */
typedef struct drive_answer {
    int status;
    const daruma_header *headers; /* of the provider, or of the driver */
    size_t nheaders;
    daruma_outcome outcome;
    int64_t length;  /* -1 unknown */
    daruma_arena *a; /* for what the host makes: dies with the attempt */
} drive_answer;

typedef enum drive_end {
    DRIVE_END,   /* the answer is whole */
    DRIVE_BREAK, /* it is not: the client must see that */
    DRIVE_BARE,  /* there is no memory for an answer: status 503 without words, if no head went out, else DRIVE_BREAK */
    DRIVE_GONE   /* the client has left */
} drive_end;

/* ---- work beside the loop ---- */

/* work() may run on another thread and touches what `data` says, the bytes of the request and of the answer at hand,
 * and nothing else. Then one of the other two is called on the thread of the driver: then(), or drop() when the session
 * is over. */
typedef struct drive_work {
    void (*work)(void *data);
    void (*then)(session *x, void *data);
    void (*drop)(void *data);
    bool brief; /* over within some 100 ms: it waits for no long work */
} drive_work;

/* What work that goes on needs of a session that is over. The host keeps it until the work ends. */
typedef struct drive_remains {
    void *texts, *mending, *stream;
    daruma_arena scratch;
} drive_remains;
void drive_remains_close(const drive_rooms *rooms, drive_remains *r);

/* ---- each step ---- */

typedef enum drive_step_kind {
    DRIVE_JUDGED, /* a call failed so */
    DRIVE_CHOSE,  /* the next rung of the ladder is this remedy */
    DRIVE_UNFIT,  /* ... which found nothing to do, or not enough */
    DRIVE_MENDED, /* ... which was carried out on the conversation: `report` says what it did */
    DRIVE_STOPPED /* nobody may be called, because of this kind of failure */
} drive_step_kind;

/* What a session does, whatever the profile in force tells of it. What is not of the step is NULL. */
typedef struct drive_step {
    drive_step_kind what;
    const daruma_failure *failure;
    const daruma_remedy *remedy;
    const struct mend_report *report;
    daruma_kind kind;            /* of STOPPED */
    const daruma_target *target; /* of JUDGED: who failed */
    int64_t input_tokens;        /* ... as far as it had counted until then, -1 not said */
    int64_t output_tokens;
} drive_step;

/* What became of a request, when it is over. */
typedef struct drive_result {
    const daruma_target *target; /* who answered, or was asked last; NULL: nobody was */
    daruma_str model;            /* as the client asked for it; may be empty */
    uint64_t case_id;
    uint32_t attempts; /* calls in all */
    daruma_outcome outcome;
    daruma_ms took;       /* from its opening to its end */
    daruma_ms first;      /* ... to the first bytes of a stream that the client got, -1 there were none */
    int64_t input_tokens; /* as the provider counted, -1 not said */
    int64_t output_tokens;
    bool stream;
    bool passed; /* nobody's dialect: it went through unread */
} drive_result;

/* ---- the host ---- */

/* `user` is what session_open() was given. No function calls back into the session, but for `key_fetch` with
 * session_key_here() when it fails at once. */
typedef struct drive_host {
    /* the client */
    void (*head)(void *user, const drive_answer *a);
    bool (*write)(void *user,
                  daruma_str bytes);  /* false: the reader is slow; session_drained() tells when it goes on */
    void (*body_dropped)(void *user); /* the bytes of the client's request are not needed any more; may be NULL */
    /* The session is over, everything of it was given back. The host ends the answer. The struct itself is not used
     * again before the host's own code returns to its loop. */
    void (*over)(void *user, drive_end how);
    /* calls to providers */
    drive_sent (*send)(void *user, drive_call *c, const drive_request *r);
    /* Asks a model on the side: the summariser, else that of `t`. Returns the dialect of the answer; NULL: it cannot
     * be asked now. */
    const dialect *(*ask)(void *user, drive_call *c, const daruma_target *t, const daruma_question *q, daruma_ms total);
    void (*cancel)(void *handle);
    void (*pause)(void *handle); /* with resume() may be NULL: the reader is never slow */
    void (*resume)(void *handle);
    void (*hand_over)(void *handle, drive_call *to); /* from here on another struct stands for the call */
    void (*limit)(void *handle, daruma_ms total);    /* its total time from its beginning; 0: none. May be NULL */
    bool (*is_sent)(void *handle); /* nothing of the request is read any more; NULL: as soon as it is out */
    /* targets and keys */
    drive_place (*place)(void *user, const daruma_target *t);
    /* The targets of a model, in the order of preference, and what is done about agents that use it. `conversation`: a
     * hash that its requests share, 0 unknown. */
    const daruma_target *(*targets)(void *user, daruma_str model, uint64_t conversation, size_t *n,
                                    daruma_watch_mode *watch);
    /* Is there a key? NULL: it is at hand, and so may the rest of these be. */
    drive_key (*key)(void *user, const daruma_target *t, bool *ret_renewable);
    /* Fetches the key of a target; session_key_here() follows. `anew`: the provider refused the one at hand. */
    void (*key_fetch)(void *user, const daruma_target *t, bool anew);
    void (*key_forget)(void *user, const daruma_target *t); /* the session does not wait any more */
    void (*key_worked)(void *user, const daruma_target *t);
    daruma_str (*key_trouble)(void *user, const daruma_target *t, daruma_arena *a); /* why there is none, as JSON */
    /* Takes the credentials that a call to `t` (NULL: nobody) was made with, and all of the host's, out of `n` texts:
     * what has none of them stays where it is, and without memory it is empty. May be NULL. */
    void (*redact)(void *user, const daruma_target *t, daruma_str secret, daruma_str *texts, size_t n);
    uint64_t (*tenant)(void *user); /* whose request it is; never 0 */
    /* What the client said beside its body, "name: value" a line: its fields and its query, without credentials. A
     * provider may quote that as well. May be NULL. */
    daruma_str (*beside)(void *user, daruma_arena *a);
    /* all else */
    /* Appends what bytes were before they were compressed, at most `max`. False: it cannot. May be NULL. */
    bool (*unpack)(daruma_str coding, daruma_str bytes, daruma_buf *out, size_t max);
    /* So many bytes more (less: below 0) are held of what was written anew. May be NULL. */
    void (*holds)(void *user, int64_t bytes);
    void (*tell)(void *user, daruma_event *e);       /* the driver filled it in */
    void (*step)(void *user, const drive_step *s);   /* hears of each step; may be NULL */
    void (*done)(void *user, const drive_result *r); /* hears what became of the request, before over(); may be NULL */
    void (*timer)(void *user, daruma_ms at);         /* session_clock() then; -1: no more */
    /* Does work at once and returns true, or begins it beside the loop and returns false. NULL, with the next one: all
     * is done at once. */
    bool (*work)(void *user, size_t bytes, const drive_work *kind, void *data);
    void (*work_left)(void *user, drive_remains *r); /* the work under way is nobody's any more; takes *r */
} drive_host;

/* ---- settings ---- */

typedef enum drive_orphans { DRIVE_ORPHANS_PROFILE, DRIVE_ORPHANS_ANSWER, DRIVE_ORPHANS_PRUNE } drive_orphans;
typedef enum drive_form { DRIVE_FORM_AUTO, DRIVE_FORM_ERROR, DRIVE_FORM_MESSAGE } drive_form;
#define DRIVE_ORPHANS_WORDS "profile answer prune" /* as people write them, in that order */
#define DRIVE_FORM_WORDS    "auto error message"

/* What is the same for all requests under one configuration. */
typedef struct drive_options {
    const daruma_policy *policy;
    drive_orphans orphans;             /* calls without results are answered, or pruned */
    drive_form on_failure;             /* what the client gets when nothing helped */
    daruma_strategy_mode strategies;   /* what becomes of proposals for another way */
    bool compact_tool_errors;          /* the model sees failed tool results as short blocks */
    daruma_ms first_byte, idle, total; /* limits of an attempt, 0 none */
    uint32_t calls;                    /* that one request may cost, those on the side included; 0: no limit */
} drive_options;

/* ---- the driver ---- */

typedef struct drive_counts {
    uint64_t requests, ok, recovered, explained, failed, cancelled, degraded; /* of recoverable routes, by outcome */
    uint64_t failed_advised;            /* of those that failed: the error says what was done and what to do */
    uint64_t passed;                    /* requests on other paths */
    uint64_t passed_recovered;          /* ... of them those that were answered behind a failure */
    uint64_t unchecked;                 /* answers that went out unread: encoded, or too large */
    uint64_t side_calls;                /* questions of our own: summaries and the like */
    uint64_t jobs;                      /* pieces of work on large requests, done beside the loop */
    uint64_t calls;                     /* to providers */
    uint64_t hedges;                    /* of them beside a silent one */
    uint64_t hedges_won;                /* of these so many became the answer, or went on for one that failed */
    uint64_t waited_ms;                 /* in backoff, all requests together */
    uint64_t wasted_ms;                 /* in calls that failed */
    uint64_t kinds[DARUMA_KINDS];       /* failures by kind */
    uint64_t remedies[DARUMA_REMEDIES]; /* remedies by kind */
    uint64_t saved[DARUMA_KINDS];       /* requests recovered, by the kind of their last failure */
} drive_counts;

struct driver {
    const drive_host *host;   /* (set) */
    const drive_rooms *rooms; /* (set) */
    daruma_moment at;         /* (set) now; before each input */
    daruma_health *health;    /* (set) */
    drive_counts counts;
    /* inside */
    uint64_t dice;         /* decisions of one moment that have been taken */
    struct memory *mem;    /* keys of conversations, cases, notices, what is known of lanes */
    struct mended *mended; /* known compressions and lessons; NULL: nothing was mended yet */
    struct watch *watch;   /* agents; NULL: none was seen yet */
    struct told *told;     /* what driver_share() told or heard; NULL: it was never asked */
    session *patient;      /* those that wait for a time, perhaps for somebody to become well; the oldest first */
    session *newest;       /* ... and the last of them */
    daruma_arena event;    /* of an event whose lines of data are too long to be joined elsewhere: stream.c */
    uint32_t healed;       /* as health counted when they were last woken */
    /* Memory of whole answers that went out, for the next. */
    size_t nspare_rooms;
    daruma_arena spare_rooms[ROOMS_KEPT];
};

/* Makes *v ready; host, rooms and health are set. False without memory. */
bool driver_begin(driver *v);
void driver_end(driver *v); /* every session is over */
/* Something may have become well: those who wait ask again. */
void driver_wake(driver *v);

/* Appends what is known as lines of JSON, the first of which says what they are: health, what models take, keys of
 * conversations, compressions and lessons. They hold texts of conversations, and no key. */
void driver_save(const driver *v, daruma_buf *out);
typedef struct driver_loaded {
    bool ours;             /* it begins as driver_save() writes it, in this version of the form */
    size_t taken, dropped; /* lines */
    bool busy;             /* of those that were dropped some can be learned later, when what runs now has ended */
} driver_loaded;
/* Learns what another driver had saved, perhaps in another process. Call it before the first session. A line that is
 * broken or not known is dropped, the others count; times that went by in between count too. */
driver_loaded driver_load(driver *v, daruma_str text);

/* Appends what others may learn since it was asked last, as lines of the same form: what became sick, well or is being
 * probed, and with `all` whatever else driver_save() keeps, which takes time. False: there is nothing new, and what was
 * appended is of no use. */
bool driver_share(driver *v, bool all, daruma_buf *out);
/* From here on all of it is new: what was told may not have been heard. */
void driver_unshare(driver *v);
/* Learns, between sessions and while they run, what driver_share() or, with `kept`, driver_save() of another process
 * said. Of what is said just now no time went by, whatever the clocks of the two machines show. */
driver_loaded driver_learn(driver *v, daruma_str text, bool kept);

/* Members of a JSON object, each with a comma behind it but the last: what is known and counted, for status pages. */
void driver_watch_status(const driver *v, daruma_buf *out);
void driver_known_status(const driver *v, daruma_buf *out);
void driver_learned_status(const driver *v, daruma_buf *out);                /* of models, by each account */
void driver_lessons_status(const driver *v, uint64_t lane, daruma_buf *out); /* a JSON array */
int64_t driver_window(const driver *v, uint64_t lane); /* tokens of a lane's context window as learned; -1 unknown */
size_t driver_sessions(const driver *v);               /* conversations whose key is remembered */

/* Leaves thinking that broke off before it was signed out of a request that is not made a session of its dialect, a
 * count of tokens: as it is left out of the conversation. False: there is none, or the policy
 * mends nothing, and *body is as it was. */
bool driver_whole_thoughts(const driver *v, const daruma_policy *p, const dialect *d, uint64_t credential,
                           daruma_str *body, daruma_arena *a);

/* ---- sessions ---- */

/* What a strict dialect.scan of a body found. */
typedef struct session_read {
    request_scan scan;
    uint32_t newest[SCAN_NEWEST];
} session_read;

/* The client's request. All strings live as long as the session. */
typedef struct session_request {
    const dialect *d; /* of its path; NULL: bytes only pass through */
    daruma_str body;
    const session_read *read; /* what the host found in a body below LOOK_BYTES_MAX; NULL: it is read here */
    daruma_arena *arena;      /* of all that is made for it */
    const drive_options *options;
    bool opaque;     /* the body is encoded: it is passed on, not recovered */
    bool safe;       /* sending it twice does no harm, whatever its dialect */
    bool again;      /* the client's SDK says that it repeats a request */
    bool head_only;  /* HEAD */
    bool mended;     /* its messages were mended before: driver_whole_thoughts() */
    bool path_names; /* the model and whether it streams stand in the path: */
    daruma_str path_model;
    bool path_stream, path_array;
    daruma_str passing_model;      /* of a request that only passes through: the model of its targets; may be empty */
    uint64_t credential;           /* a hash of what the client showed */
    daruma_ms sending;             /* so long the client took to send it */
    daruma_ms waits;               /* so long the client waits, -1 not said */
    bool until_head;               /* ... for a head, as SDKs do; else for the beginning of the answer */
    daruma_str betas;              /* what it says in anthropic-beta; may be empty */
    daruma_str agent;              /* the client's name for its agent: "NAME" or "NAME; continued"; may be empty */
    const dialect *speaks;         /* the dialect of errors where `d` is NULL */
    const daruma_failure *refused; /* it is refused for that, nobody is asked; NULL: it is not */
    daruma_str no_target;          /* what the client reads when its model has no targets */
} session_request;

void *session_user(const session *x); /* what session_open() was given */
size_t session_bytes(void);           /* of a session struct; all zero to begin with */
void session_open(session *x, driver *v, void *user, const session_request *r);
void session_clock(session *x);                        /* the time that was asked for has come */
void session_drained(session *x);                      /* the client has read what waited for it */
bool betas_keeps(daruma_str without, daruma_str word); /* may it be asked for, with drive_request.without? */
void session_gone(session *x);                         /* the client left */
void session_key_here(session *x);                     /* fetching a key ended, well or not */
void session_worked(session *x, const drive_work *kind, void *data); /* work beside the loop is done */

const dialect *session_dialect_of(const session *x, const daruma_target *t); /* that a target is spoken to in */
daruma_str session_model(const session *x);                                  /* as the client asked for it */
/* Returns the fields of an answer as its client gets them: those that came which are not of one connection, without a
 * length, and ours (x-daruma-*). `target` is what the host calls the target of the answer, empty: there is none. Lives
 * as long as `answer->a`; NULL without memory. */
daruma_header *session_fields(const session *x, const drive_answer *answer, daruma_str target, size_t *ret_n);
/* How it stands. */
uint32_t session_attempts(const session *x);
daruma_outcome session_outcome(const session *x);             /* PENDING until it is over */
void session_say_remedies(const session *x, daruma_buf *out); /* in the order in which they were done, or "none" */
const daruma_target *session_target(const session *x);        /* NULL: none was chosen */
/* How long to wait before it makes sense to ask again; -1: never, or nobody knows. */
daruma_ms session_again_in(const session *x);

#endif
