/* session.h - one request, from its bytes to the last byte of its answer: what all files of the driver share. */
#ifndef ENGINE_DRIVE_SESSION_H
#define ENGINE_DRIVE_SESSION_H
#include "base/limits.h"
#include "base/str.h"
#include "engine/drive/drive.h"
#include "engine/drive/request/text.h"

typedef struct mended mended;                   /* known compressions and lessons, all conversations */
typedef struct session_mending session_mending; /* the mending of one request */
typedef struct talk talk;                       /* a streamed answer: what the client has of it */
typedef struct watch watch;                     /* agents, and whether they go in circles */
typedef struct steer steer;                     /* what is done about the agent of one request */
typedef struct session_late session_late;       /* where its time went: late.c */
typedef struct hedge_call hedge_call;           /* a second call beside a silent one */

/* What the attempt under way delivers. */
typedef enum answer_mode {
    ANSWER_NONE,    /* no head yet */
    ANSWER_ERROR,   /* an error status: collect the body and judge it */
    ANSWER_WHOLE,   /* a plain answer: collect, check, then deliver */
    ANSWER_HELD,    /* a stream before its commit point */
    ANSWER_RELAYED, /* a stream behind it */
    ANSWER_PASSED,  /* bytes go through as they come */
    ANSWER_REFUSED, /* ... all at once, without what they may repeat of credentials: an error that nobody judges */
} answer_mode;

/* The request as a provider of another dialect got it. */
typedef struct moved_request {
    daruma_str body;       /* one of x->out.texts; empty: it cannot be carried over */
    int target;            /* whom it was written for */
    const dialect *d;      /* ... and in which dialect */
    bool whole;            /* it asks for no stream, though the client did */
    uint32_t of;           /* the edition of the request that it was made of */
    size_t nlessons;       /* ... when so much was learned of the request */
    bool too_large;        /* there was no room to carry it over */
    int64_t tokens;        /* estimate of all of it */
    convo_rename *renames; /* tools that are called something else there */
    size_t nrenames;
} moved_request;

/* What a content filter refused before the target in reserve was asked; strings as below. */
typedef struct refusal {
    daruma_failure failure;
    daruma_str body, theirs;
    daruma_header *headers;
    size_t nheaders;
    const dialect *p; /* of its target ... */
    int target;       /* ... which this is */
} refusal;

/* How the last call failed, and what is done about it; its strings are in the call's arena. Most requests have none. */
typedef struct last_failure {
    daruma_failure failure;
    daruma_remedy remedy;   /* what is done about it */
    daruma_str body;        /* the provider's error body, whole, when it is one */
    daruma_header *headers; /* of that */
    size_t nheaders;
    daruma_tried *tried; /* how each target failed last, in the order in which they first did */
    size_t ntried;
    refusal *refusal;  /* NULL: no target in reserve was asked */
    turn *cut;         /* what was said before the newest call that the output cap cut; NULL: none was */
    uint32_t cut_by;   /* ... the call of this number */
    daruma_str given;  /* an answer that came whole and was found wrong, as it would have gone out; empty: none */
    int given_by;      /* ... by this target */
    uint32_t given_at; /* ... to the call of this number */
} last_failure;

/* Who asks, and what it has of the answer. */
typedef struct session_client {
    uint64_t credential; /* hash of what it showed */
    uint64_t tenant;     /* the same keyed, 0 not asked for yet: session_tenant() */
    size_t forwarded;    /* answer bytes that it has */
    uint32_t told;       /* remedies that the head of the answer named */
    uint32_t first_ms;   /* from the opening to the first bytes of a stream that went out; 0 none */
    bool streaming;      /* it wants a stream */
    bool array;          /* ... as one JSON array: Gemini's without alt=sse */
    bool head_only;      /* it wants no more than a head */
    bool until_head;     /* its time is only that to the head of an answer */
    bool here;           /* it is there, and the answer is not over */
    bool head_out;       /* it has the head of an answer */
    bool blank;          /* ... of a whole one, and white space */
    bool pending;        /* a heartbeat was the first that it had: how it ends stands in a comment behind it */
    bool paused;         /* it reads slowly */
} session_client;

/* Its agent, as far as anybody knows. */
typedef struct session_agent {
    uint64_t id;      /* what it is known by to watch.c, 0 none */
    daruma_str named; /* what the client calls it: "NAME" or "NAME; continued"; may be empty */
    uint8_t watch;    /* daruma_watch_mode: what may be done about it */
    bool circles;     /* it goes in circles, and something is to be done about it */
    bool compacts;    /* failed results of its tools are to be shown compactly */
} session_agent;

/* What is sent: the client's request, or as it was written anew. */
typedef struct session_out {
    daruma_str body;      /* the client's, or one of `texts` */
    request_scan scan;    /* of it */
    uint32_t edition;     /* of `body`: another one each time it changes */
    uint32_t editions;    /* so many there were */
    uint32_t unconverted; /* the edition that takes too long to be converted on the loop; 0 none */
    bool asks_whole;      /* it asks for no stream, though the client did */
    bool media;           /* it holds pictures or sounds: its bytes say nothing of its tokens */
    drive_text *texts;    /* what was written of it, each in memory of its own */
} session_out;

/* `out` as a target of the client's own dialect gets it, with what is known of that target done to it: the newest. */
typedef struct session_variant {
    daruma_str body;  /* empty: it gets `out.body` itself */
    daruma_str model; /* ... where that names its model */
    bool whole;       /* it asks for no stream */
    int target;       /* it was made for that one ... */
    uint32_t edition; /* ... of this edition; 0: of none any more */
} session_variant;

/* What the attempt under way has brought so far. */
typedef struct session_answer {
    answer_mode mode;
    int status;
    bool cut;               /* an error body is larger than what is held of it */
    bool marked;            /* it says that it is gzip, and none of it came yet */
    bool passes_long;       /* an event that is too long to be held goes out as it comes; in `held`: shortened */
    daruma_ms started;      /* when the attempt was sent */
    daruma_arena scratch;   /* dies with the attempt, or when the stream is committed */
    daruma_header *headers; /* in scratch */
    size_t nheaders;
    daruma_buf held;         /* bytes not delivered yet, in scratch; tail of an event once relayed */
    size_t parsed;           /* of held: whole events already watched */
    const char *unchecked;   /* why nobody here reads it; NULL: it is read */
    const char *too_long;    /* which limit of ours keeps it from the client, as a sentence; NULL: none does */
    stream_view view;        /* of its stream */
    sse_long long_event;     /* of an event that is too long to be held: how far it is */
    daruma_str failed_event; /* the provider's error event in the midst of it; not gone out yet */
    daruma_str theirs;       /* the provider's id of the call that failed or answered last */
} session_answer;

/* When something is to be done; -1 never. */
typedef struct session_due {
    daruma_ms act_at;      /* end of a wait */
    daruma_ms beat_at;     /* next heartbeat */
    daruma_ms progress_by; /* content must come by then */
    daruma_ms look_at;     /* it is looked at whether the attempt is silent for too long */
    unsigned beats;        /* heartbeats since the provider's last bytes */
    bool patient;          /* it is in the list of those who wait for a time, the oldest first ... */
    int16_t target;        /* ... to ask that target; -1 whoever may be asked */
    daruma_ms told;        /* ... and not before, since its provider said so to this request */
    session *prev, *next;  /* ... between these two */
} session_due;

/* What names things that live at a provider (account.c). */
typedef struct session_home {
    int target;  /* its account has what the request names there */
    bool looked; /* whether it names any was looked at */
    bool kept;   /* targets of other accounts are left out, since they cannot answer it */
    bool bound;  /* other accounts are left out because of it; only reasoning, as far as known */
} session_home;

/* Words of anthropic-beta (betas.c). */
typedef struct session_betas {
    daruma_str asked;   /* what the client says there, not empty */
    daruma_str without; /* ... of which this request goes without */
    int target;         /* ... at that target, counted from 1; 0 none */
    bool now;           /* ... for now: it may be taken tomorrow */
} session_betas;

/* The two APIs of OpenAI (apis.c): a bit for each target. */
typedef struct session_apis {
    uint32_t turned; /* asked in the other one since it refused the one */
    uint32_t once;   /* ... of them: for something that this request alone asks for */
} session_apis;

/* A second call beside a silent one (hedge_call.c). */
typedef struct session_hedge {
    hedge_call *call; /* NULL: none is out */
    bool unjoined;    /* none can go on with the silent stream: it said something else, or is too large */
    bool went_on;     /* an attempt failed behind its first bytes: likewise */
} session_hedge;

struct session {
    driver *v;
    void *user; /* the host's */
    const drive_options *o;
    daruma_arena *arena;   /* of all that is made for the request */
    daruma_ms opened;      /* when it came ... */
    daruma_ms sending;     /* ... behind so long that its client took to send it */
    daruma_str asked;      /* the client's body; empty once it was dropped */
    bool opaque;           /* an encoded or unreadable body: passed on, not recovered */
    bool safe;             /* sending it twice does no harm */
    bool working;          /* work on it is under way beside the loop, and nothing else */
    bool sent;             /* a call was made, or was to be made but for its key */
    bool recovering;       /* the first remedy was begun */
    bool refreshing;       /* it waits for a key command */
    bool weighed;          /* whether it fits the window was asked before it went out */
    const dialect *d;      /* of the client; NULL: a path we only pass on */
    const dialect *p;      /* of the provider that is called; another than d when the conversation moved */
    const dialect *speaks; /* of errors */
    const daruma_target *targets;
    daruma_case kase;
    session_client client;
    session_agent agent;
    session_out out;
    session_home home;
    session_apis apis;
    session_due due;
    drive_call call; /* the attempt */
    session_answer answer;
    session_hedge hedge;
    last_failure *last;    /* NULL: nothing failed; session_last() reads it. In the call's arena */
    convo_rename *renames; /* tools that are called otherwise in the client's own dialect; in the call's arena */
    size_t nrenames;
    session_betas *betas;     /* NULL: its client asks for none. In the call's arena */
    session_variant *variant; /* NULL: none was made yet. In the call's arena */
    moved_request *moved;     /* as it went to a provider of another dialect; NULL: it did not. Call's arena */
    session_mending *h;       /* NULL: there was nothing to mend yet. In the call's arena */
    talk *t;                  /* NULL: no stream was read yet. In an arena of its own */
    steer *steer;             /* NULL: its agent is not in circles. In the call's arena */
    session_late *late;       /* NULL: none of its time went to anything but its call. In the call's arena */
};

/* Nobody's dialect, or a body that cannot be read: bytes go through as they come, both ways. */
static inline bool session_passes(const session *x)
{
    return !x->d || x->opaque;
}

/* True if the target does not know the model of a request that passes through, or not for that key. It ran nothing, and
 * another target of the model may know it. */
static inline bool session_lacks_model(const session *x, int status)
{
    return session_passes(x) && x->out.scan.model.n && (status == 403 || status == 404);
}

/* All zero while nothing failed. */
static inline const last_failure *session_last(const session *x)
{
    static const last_failure none = {.failure = {0}};
    return x->last ? x->last : &none;
}
/* The same to be written; made when it is first needed. NULL: there is no memory. */
last_failure *session_last_new(session *x);
void session_no_memory(session *x); /* for its last failure, or for a call: the request is over */

/* Tells the host of a step, where it listens. */
static inline void session_step(session *x, const drive_step *s)
{
    if (x->v->host->step)
        x->v->host->step(x->user, s);
}

/* Adds what was asked to what came of it: its words, quoted, are no evidence. */
void session_asked(const session *x, daruma_evidence *ev);
/* The attempt failed so. Takes the next rung. */
void session_failed(session *x, const daruma_evidence *ev);
/* An answer came, and a limit of ours, a sentence that names it, keeps it or its end from the client. Nobody is blamed
 * for that. The next answer would meet the limit as well: nobody else is asked, but who speaks the client's dialect. */
void session_too_long(session *x, const char *limit);
/* The attempt succeeded and everything was delivered. Tokens as the provider counted, 0 or -1 unknown. */
void session_done(session *x, int64_t input_tokens, int64_t output_tokens, drive_end how);
/* Does the newest call answer as a stream? Else x->t is of an earlier one, if it is there. */
static inline bool session_talks(const session *x)
{
    return x->t && x->answer.mode != ANSWER_WHOLE;
}
/* Did a content filter end the answer, as its stop reason has it? False where an answer without it is not asked for. */
bool session_filtered(const session *x, daruma_str finish);
/* The attempt is sent once more on a fresh connection, because of x->last: the provider did not receive it. */
void session_resent(session *x);
void session_event(session *x, daruma_event *e);
void session_say(session *x, const char *name, daruma_str reason); /* an event that has no more than that */
void session_tell_result(session *x, daruma_outcome o);            /* the host hears what became of it */
/* Remembers that a call to the target failed so, for the end. */
void session_tried(session *x, int target, const daruma_failure *f);
/* The id that a provider gave its answer, empty: none. Borrowed from the fields. */
daruma_str session_their_id(const daruma_header *h, size_t n);
/* A text behind the explanation: how each target failed, where several did. */
void session_say_tried(const session *x, daruma_buf *out);
/* That was done to the request or to the answer, beside what the ladder sends: the client is told, and it is counted.
 */
void session_did(session *x, daruma_remedy_kind r);
/* The same, under the name that the profile in force has for that moment; nothing when it is silent. */
void session_tell(session *x, daruma_when when, daruma_event *e);
/* The first remedy of the case begins: told once, before anything that it does. */
void session_tell_begin(session *x);
/* The remedy under way was carried out (or not): obeys it, or asks for the next. */
void session_mended(session *x, bool fit);
void session_scratch_open(session *x); /* memory for what the attempt under way brings */
/* Gives back what the attempt held. */
void session_scratch_reset(session *x);
void session_timer(session *x); /* arms it for the earliest of the three */
/* The request is over: counts, gives everything back, and has the host end the answer. Only x->client.here is looked at
 * from here on. */
void session_end(session *x, daruma_outcome o, drive_end how);
/* Hands a head, or bytes, to the client. Nothing where it has left. */
void session_head(session *x, int status, const daruma_header *h, size_t n, daruma_outcome o, int64_t length);
/* The head of an answer that is not known yet. The clock of an SDK is satisfied by it: what remains of the client's
 * time is what SDKs give when nobody says how long. */
void session_pending_head(session *x, int status, const daruma_header *h, size_t n);
bool session_write(session *x, daruma_str bytes); /* false: the reader is slow */
void session_cancel(drive_call *c);               /* ends a call, if it is out */
/* Does work at once, and returns true; or it goes on beside the loop, kind->then() is called, and nothing else may be
 * done for the request but heartbeats. */
bool session_work(session *x, size_t bytes, const drive_work *kind, void *data);
write_ctx session_writes(const session *x);  /* what an answer that is written for the client says of itself */
daruma_moment session_now(const session *x); /* the moment of the input, with other dice for each decision */
uint64_t session_tenant(session *x);         /* whose request it is */

/* `out` as this target gets it, if that was made of it; NULL: it was not. */
static inline const session_variant *session_variant_for(const session *x, int target)
{
    const session_variant *v = x->variant;
    return v && v->edition == x->out.edition && v->target == target ? v : NULL;
}

static inline daruma_ms sooner_of(daruma_ms a, daruma_ms b) /* -1 is never */
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* ---- open.c ---- */

void session_known(session *x);                  /* what is known of it was done to it: it goes on */
void session_steered(session *x);                /* what its agent needs was done to it, too */
uint64_t session_request_hash(const session *x); /* same client, same body, as far as its ends tell */
uint64_t session_session(const session *x);      /* one client's conversation with one model */
uint64_t session_counted(const session *x);      /* one client's requests on the lane at hand */

/* ---- bodies.c: requests as they were written anew ---- */

drive_text *session_disown(session *x);            /* all of x->out.texts; the request is over */
daruma_str session_own(session *x, drive_text *t); /* it is one of x->out.texts now; NULL: empty */
void session_use(session *x, daruma_str body);     /* what is sent from here on, one of these */
void session_sweep(session *x);                    /* gives back those that nobody needs any more */

#endif
