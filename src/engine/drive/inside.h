/* inside.h - what the files of the driver share: the state of one session and what is remembered between them. */
#ifndef ENGINE_DRIVE_INSIDE_H
#define ENGINE_DRIVE_INSIDE_H
#include "base/limits.h"
#include "base/str.h"
#include "engine/drive/answer_test.h"
#include "engine/drive/drive.h"
#include "engine/drive/history.h"
#include "engine/drive/memory.h"

typedef struct mended mended;                   /* known compressions and lessons, all conversations */
typedef struct session_mending session_mending; /* the mending of one request */
typedef struct talk talk;                       /* a streamed answer: what the client has of it */
typedef struct watch watch;                     /* agents, and whether they go in circles */
typedef struct steer steer;                     /* what is done about the agent of one request */
typedef struct hedge_call hedge_call;           /* a second call beside a silent one */

/* ---- session.c: one request, client to answer ---- */

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
    daruma_str body;       /* one of x->texts; empty: it cannot be carried over */
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

struct session {
    driver *v;
    void *user; /* the host's */
    const drive_options *o;
    daruma_arena *arena;   /* of all that is made for the request */
    daruma_str asked;      /* the client's body; empty once it was dropped */
    bool here;             /* the client is there, and the answer is not over */
    bool head_out;         /* the client has the head of an answer */
    bool head_only;        /* it wants no more */
    bool working;          /* work on it is under way beside the loop, and nothing else */
    uint8_t watch_mode;    /* daruma_watch_mode: what may be done about its agent */
    const dialect *speaks; /* of errors */
    const dialect *d;      /* NULL: a path we only pass on */
    const dialect *p;      /* of the provider that is called; another than d when the conversation moved */
    request_scan scan;
    daruma_str body;    /* what is sent: the client's, or as it was written anew, which is one of `texts` */
    uint32_t edition;   /* of `body`: another one each time it changes */
    uint32_t editions;  /* so many there were */
    drive_text *texts;  /* what was written of it, each in memory of its own */
    daruma_str variant; /* `body` as a target of its own dialect gets it, with what is known of that target done to it;
                           empty: it gets `body` itself */
    daruma_str variant_model; /* ... where that names its model */
    bool variant_whole;       /* ... and it asks for no stream */
    bool asks_whole;          /* `body` asks for none, though the client did */
    int variant_for;          /* ... that target */
    uint32_t variant_of;      /* ... the edition that was made of; 0 none */
    uint32_t unconverted;     /* the edition that takes too long to be converted on the loop; 0 none */
    bool circles;             /* its agent goes in circles, and something is to be done about it */
    bool compacts;            /* failed results of tools are to be shown compactly */
    bool opaque;              /* an encoded or unreadable body: passed on, not recovered */
    bool safe;                /* sending it twice does no harm */
    uint64_t credential;      /* hash of what the client showed */
    uint64_t agent;           /* what its agent is known by to watch.c, 0 none */
    daruma_str named;         /* what the client calls its agent: "NAME" or "NAME; continued"; may be empty */
    uint64_t tenant;          /* the same keyed, 0 not asked for yet: session_tenant() */
    const daruma_target *targets;
    daruma_case kase;
    daruma_ms started, attempt_started;
    drive_call call;       /* the attempt */
    daruma_ms act_at;      /* end of a wait, -1 none */
    daruma_ms beat_at;     /* next heartbeat, -1 none */
    daruma_ms progress_by; /* content must come by then, -1 none */
    daruma_ms look_at;     /* when it is looked at whether the attempt is silent for too long, -1 not */
    unsigned beats;        /* heartbeats since the provider's last bytes */
    bool streaming;        /* the client wants a stream */
    bool array;            /* ... as one JSON array: Gemini's without alt=sse */
    bool until_head;       /* the client's time is only that to the head of an answer */
    bool paused;
    bool pending;      /* a heartbeat was the first that the client had: how it ends stands in a comment behind it */
    bool media;        /* the request holds pictures or sounds: its bytes say nothing of its tokens */
    bool blank;        /* the client has the head of a whole answer, and white space */
    bool unjoined;     /* a second call cannot go on with its silent stream: it said something else, or is too large */
    bool went_on;      /* an attempt failed behind its first bytes: likewise */
    bool sent;         /* a call was made, or was to be made but for its key */
    bool recovering;   /* the first remedy was begun */
    bool refreshing;   /* waits for a key command */
    bool weighed;      /* whether it fits the window was asked before it went out */
    bool stays;        /* whether it names what lives on the server was looked at */
    uint32_t first_ms; /* from its opening to the first bytes of a stream that went out; 0 none */
    bool bound;  /* other accounts are left out because of what lives on the server; only reasoning, as far as known */
    size_t told; /* remedies that the head of the answer named */
    size_t home; /* the target whose account has what it names there */
    daruma_str betas;     /* what the client says in anthropic-beta; may be empty */
    daruma_str without;   /* ... of which this request goes without */
    int without_of;       /* ... at that target, counted from 1; 0 none */
    bool without_now;     /* ... for now: it may be taken tomorrow */
    uint32_t turned_once; /* ... of them: for something that this request alone asks for */
    uint32_t turned; /* a bit for each target that is asked in the other of OpenAI's APIs since it refused the one */
    /* the attempt */
    answer_mode mode;
    int status;
    daruma_arena scratch;   /* dies with the attempt, or when the stream is committed */
    daruma_header *headers; /* of the answer, in scratch */
    size_t nheaders;
    daruma_buf held;       /* bytes not delivered yet, in scratch; tail of an event once relayed */
    size_t parsed;         /* of held: whole events already watched */
    const char *unchecked; /* why nobody here reads the answer; NULL: it is read */
    bool cut;              /* an error body is larger than what is held of it */
    stream_view view;
    size_t forwarded;      /* answer bytes the client has */
    last_failure *last;    /* NULL: nothing failed; session_last() reads it. In the call's arena */
    convo_rename *renames; /* tools that are called otherwise in the client's own dialect; in the call's arena */
    size_t nrenames;
    moved_request *moved;    /* as it went to a provider of another dialect; NULL: it did not. Call's arena */
    daruma_str failed_event; /* the provider's error event in the midst of a stream; not gone out yet */
    daruma_str theirs;       /* the provider's id of the call that failed or answered last */
    /* mending: NULL while there is nothing to mend. The first in the call's arena, the second in its own */
    session_mending *h;
    talk *t;
    steer *steer;          /* NULL: its agent is not in circles. In the call's arena */
    hedge_call *hedge;     /* NULL: no second call is out */
    session *next_patient; /* in the list of those who wait for a time */
    bool patient;          /* it is in there */
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
    return session_passes(x) && x->scan.model.n && (status == 403 || status == 404);
}

/* What passes through was refused by the provider: nobody judges it, but it did not go well. */
static inline bool session_said_no(const session *x)
{
    return session_passes(x) && x->status >= 400;
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

/* The attempt failed so. Takes the next rung. */
void session_failed(session *x, const daruma_evidence *ev);
/* The attempt succeeded and everything was delivered. Tokens as the provider counted, 0 or -1 unknown. */
void session_done(session *x, int64_t input_tokens, int64_t output_tokens, drive_end how);
/* Does the newest call answer as a stream? Else x->t is of an earlier one, if it is there. */
static inline bool session_talks(const session *x)
{
    return x->t && x->mode != ANSWER_WHOLE;
}
/* Did a content filter end the answer, as its stop reason has it? False where an answer without it is not asked for. */
bool session_filtered(const session *x, daruma_str finish);
/* The attempt is sent once more on a fresh connection, because of x->last: the provider did not receive it. */
void session_resent(session *x);
void session_event(session *x, daruma_event *e);
void session_tell_result(session *x, daruma_outcome o); /* the host hears what became of it */
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
/* Frees what the attempt held. */
void session_scratch_reset(session *x);
void session_wait(session *x, daruma_ms wait); /* asks the engine again after that, or when something became well */
void session_timer(session *x);                /* arms it for the earliest of the three */
/* The request is over: counts, gives everything back, and has the host end the answer. Only x->here is looked at from
 * here on. */
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
daruma_moment session_now(const session *x); /* the moment of the input, with other dice for each decision */
uint64_t session_tenant(session *x);         /* whose request it is */

static inline daruma_ms sooner_of(daruma_ms a, daruma_ms b) /* -1 is never */
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* ---- open.c: a request comes in ---- */

void session_known(session *x);                  /* what is known of it was done to it: it goes on */
void session_steered(session *x);                /* what its agent needs was done to it, too */
uint64_t session_request_hash(const session *x); /* same client, same body, as far as its ends tell */
uint64_t session_session(const session *x);      /* one client's conversation with one model */
uint64_t session_counted(const session *x);      /* one client's requests on the lane at hand */

/* ---- account.c: requests that only one account can answer ---- */

/* A stored answer is asked for at the account that made it, as far as anybody knows. */
void account_pin(session *x);
/* The request names a stored answer as its provider does, where the client knows it by another id. `newest`: as the
 * scan gave it, an array of SCAN_NEWEST. */
void account_name_stored(session *x, uint32_t *newest);
/* The answer that goes out was made by the target at hand: a stored one is known to the account that made it only;
 * what refers to it goes there, and names it as it is named there. `whole`: the answer; empty: the one just read. */
void account_remember(session *x, daruma_str whole);
daruma_str session_answer_id(session *x); /* empty: it has none, or not where ids stand */
/* Files, containers and the like that the request names live with one account. They are looked for when another one
 * comes into question, not before. True: `target` (-1: none yet) is not of that account, and nobody else is left. */
bool session_stay(session *x, int target);
/* Is the key of that target at hand? `ret_renewable`: it can be fetched anew. */
drive_key session_key(session *x, int target, bool *ret_renewable);
/* Encrypted reasoning is of use to one account alone, and none without it. When that account rests for long, or `f`
 * (NULL: nothing failed yet) shows that it is of no use, the reasoning is left out and the other accounts may be asked.
 */
void session_loosen(session *x, const daruma_failure *f);

/* ---- attempt.c: one call to a provider ---- */

void session_attempt(session *x); /* asks the engine and sends, waits or ends */
void session_fitted(session *x);  /* what session_mend_fits() waited for is over: it goes out */
drive_place session_place(const session *x, int target);

stream_view session_view(const session *x); /* of the call at hand, before anything of its stream came */

/* What goes out to that target; x->p and x->moved are those of that call from here on. False: the request cannot be
 * carried over to its dialect. */
bool session_compose(session *x, int target, daruma_arena *a, drive_request *ret);

/* ---- apis.c: which of OpenAI's two APIs a target is asked in ---- */

const dialect *session_dialect(const session *x, int target); /* that a target is spoken to in */
/* Looks whether the target refuses nothing but the API that it was asked in: x->kase.other_api. */
void session_api_look(session *x, daruma_failure *f);
/* The same of a call beside, asked in `p`: it is asked in the other from here on. False: it refuses something else. */
bool session_api_turns(session *x, int target, const dialect *p, const daruma_failure *f);
void session_api_change(session *x);                  /* so it does: it is asked in the other from here on */
bool session_api_known(const session *x, int target); /* ... because that is known of it */
void session_api_worked(session *x);                  /* the target has answered: what helped is learned */

/* ---- betas.c: words of anthropic-beta that a provider does not know ---- */

daruma_str betas_without(const session *x, int target);        /* as drive_request has it */
bool betas_refused(const session *x, const daruma_failure *f); /* is it of those words? */
/* Does the call ask for a longer window? What is known of its lane's window is that of calls which do not. */
bool betas_widen(const session *x);
bool betas_mend(session *x); /* the provider refuses some: it is asked without. False: it does not, or has none */
void betas_sent(session *x, int target); /* what is known of them is told */
void betas_worked(session *x);           /* the provider has answered: what helped is learned */

/* ---- effects.c: work that must not be done twice ---- */

/* True if a call of this request may do such work: no second one is made beside it, and none over a connection that may
 * be dead. */
bool effects_possible(const session *x);
/* True if the attempt that failed so may have done it. */
bool effects_done(const session *x, const daruma_evidence *ev);

/* ---- adapt.c: the request as another provider takes it ---- */

/* Makes what session_compose() needs for that target. False: that takes a while, session_fitted() will be called. */
bool session_convert(session *x, int target);
/* The same on the loop, for a call beside one that is under way. False: the request is too large for that, or made up
 * of too much; the conversion is as it was. */
bool session_convert_now(session *x, int target);
bool session_converts(const session *x, int target); /* is there anything to be made? */
/* What the client calls a tool that the provider at hand calls so. */
void session_renamed(session *x, const convo *c); /* what goes out was made of it: its renames are kept */
daruma_str session_tool_name(const session *x, daruma_str name);
/* Is that a custom tool of the client's, which takes words, and a function there? */
bool session_tool_custom(const session *x, daruma_str name);
daruma_str session_tool_words(const session *x, daruma_str text); /* what it says with such names in it */

/* ---- bodies.c: requests as they were written anew ---- */

drive_text *session_disown(session *x);            /* all of x->texts; the request is over */
daruma_str session_own(session *x, drive_text *t); /* it is one of x->texts now; NULL: empty */
void session_sweep(session *x);                    /* gives back those that nobody needs any more */

/* ---- hedge_call.c: a second call beside a silent one ---- */

/* Looks whether the attempt under way is silent for too long, and does what is to be done. Sets x->look_at. */
void hedge_look(session *x);
/* The attempt has brought content, or is over: the second call is not needed. */
void hedge_cancel(session *x);
void hedge_limit(session *x, daruma_ms until); /* the second call may be out until that moment */
/* The attempt failed so: the second call takes its place. False: there is none. */
bool hedge_takes_over(session *x, const daruma_failure *f);

/* ---- relay.c: answers on their way to the client ---- */

extern const drive_call_ops relay_ops;
bool relay_progress_late(session *x);             /* only pings for too long, or nothing behind the end */
void relay_forward(session *x, daruma_str bytes); /* bytes of an answer for the client */
void stream_closed(session *x);                   /* all of a stream went out, but for what ends it */

/* Adds what was asked to what came of it: its words, quoted, are no evidence. */
void session_asked(const session *x, daruma_evidence *ev);

/* ---- credentials in the words of others ---- */

/* What a provider says, without the credentials that the attempt was made with, and all that the host has; `text`
 * itself when there are none in it, empty without memory. */
daruma_str session_redact_sent(session *x, daruma_str text);
/* The same of the values of fields. */
void session_redact_sent_fields(session *x, daruma_header *fields, size_t n);
/* The same of what another call of this request brought, which went to `target` with the key `secret`. */
daruma_str session_redact_sent_of(session *x, int target, daruma_str secret, daruma_str text);

/* ---- redact_error.c: the same for all that looks like a credential ---- */

/* A body or an event that says what is wrong, as the client may have it: JSON stays JSON. Empty without memory. */
daruma_str session_redact(session *x, daruma_str text);
void session_redact_fields(session *x, daruma_header *fields, size_t n); /* the values of the fields beside it */

/* ---- talk.c: streamed answers, read as they pass ---- */

void talk_free(const drive_rooms *rooms, talk *t);
/* A new attempt's stream begins, or the first: what passes is read from here on. False without memory. */
bool talk_begin(session *x);
/* One event that the provider sent, and what it says. True: its bytes go out as they are; else talk took it. */
bool talk_event(session *x, const sse_event *e, const dialect_said *event, daruma_arena *scratch);
/* The stream ended whole: what is held of it is checked, and goes out. */
typedef enum talk_over {
    TALK_ALL_OUT, /* all of it did */
    TALK_FAILED,  /* the attempt failed, for what it calls or because not all of it could be written */
    TALK_WAITS,   /* it is much: stream_closed() will be called */
} talk_over;
talk_over talk_end(session *x);
/* What is held of the stream goes out as it came: its provider did what must not be done twice, so that nothing is
 * mended in it any more. */
void talk_let_go(session *x);
bool talk_unsure(const session *x);   /* a continuation that cannot be joined with certainty */
bool talk_is_plain(const session *x); /* the provider's bytes go out as they are */
bool talk_was_cut(const session *x);  /* there is something that another attempt could go on from */
bool talk_thinks(const session *x);   /* the newest that it said is thinking */
turn talk_turn(session *x);           /* what of it was kept: its text, as far as the client has it, and its calls */
daruma_str talk_items(const session *x, daruma_arena *a); /* Responses: its finished items, a JSON list */
daruma_str talk_written(session *x);  /* Responses: the items of a stream that daruma wrote, a JSON list; else empty */
daruma_str talk_id(const session *x); /* id of the answer under way, as the client has it ... */
daruma_str talk_their_id(const session *x); /* ... and its provider */
/* How far the stream is that the client has; NULL: it has none, or nobody read it. */
const turn_reader *talk_reached(const session *x);
daruma_str talk_said(const session *x); /* the text that the client has */
/* Ends an answer under way with words of ours (may be empty), as if the model had said them. False: it cannot. */
bool talk_close(session *x, daruma_str words, turn_finish how);
/* Hands on what is held of an answer that was found wrong, as it came. False: nothing is held, or not all of it can be
 * written. */
bool talk_give(session *x);
/* The next attempt goes on from that text, as it is asked to. Where there is none it answers anew, and all goes out. */
void talk_join_next(session *x, mend_going how);

/* ---- answer.c: tool calls of answers, and those that shall be JSON, checked and mended ---- */

/* Could a call be wrong in a way that we see? Only then is it looked at. */
bool answer_checks_calls(const session *x);
/* Is the answer asked for as JSON, and may it be mended? */
bool answer_checks_format(const session *x);
/* The arguments of a call as text, where a wire says nothing of a call without arguments. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args);
/* Does it call what is refused to the agent? Then all its calls go: they were meant together. */
bool answer_refused(session *x, const turn *t, daruma_arena *a);
/* Says what came of it. False: it has to be asked for again. */
bool answer_test_done(session *x, const answer_test *k, const turn *t);

/* ---- whole.c: answers that come in one piece ---- */

/* All of it is there, in x->held: it is judged, mended, written for the client and handed on. */
void whole_ended(session *x);
/* True if the body is an object or an array of JSON that is closed: nothing of it is missing. */
bool whole_is_closed(daruma_str body);
/* whole_ended() of one whose connection died. False: JSON that is not closed, which is not read further. A stream that
 * was to be put together is judged by how the connection died if it lacks its end. */
bool whole_broke(session *x, daruma_net net, daruma_phase phase);

/* ---- mending.c, mending_work.c: carrying out remedies on the conversation ---- */

typedef enum session_mend_result {
    SESSION_MEND_SEND,  /* mended: send it */
    SESSION_MEND_UNFIT, /* nothing to mend that way: ask for another remedy */
    SESSION_MEND_WAITS, /* a model is asked on the side: session_mend_asked() goes on */
} session_mend_result;
bool session_mend_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
session_mend_result session_mend_apply(session *x, daruma_remedy_kind r);
/* A request that goes on with an answer of which the client has the beginning. Its strings live as long as the call. */
typedef struct session_mend_onward {
    history_onward onward;
    daruma_str body; /* as it asks for the rest */
} session_mend_onward;
/* Writes it for target `to`, in words whose answer shows whether it goes on, and changes nothing yet. False: this
 * answer cannot be gone on with. */
bool session_mend_go_on(session *x, int to, session_mend_onward *ret);
void session_mend_goes_on(session *x, const session_mend_onward *o); /* it is what is sent, and its answer is joined */
void session_mend_use(session *x, daruma_str body,
                      const request_scan *scan); /* from here on this is what is sent; one of x->texts */
void session_mend_rest(
    session *x); /* it goes out: memory that is much for its size is given back until it is mended again */
/* The tools of the request; NULL when it has none that can be read, or they are too large for the loop. */
const convo *session_mend_tools(session *x);
/* What calls of its answer are held against; large tools are read with the test. */
void session_mend_test_calls(session *x, answer_test *ret);
/* What its answer is held against as JSON: the response format that the client asks for, where it asks for one that can
 * be read; a large one is read with the test. */
void session_mend_test_format(session *x, answer_test *ret);
/* Not all of an answer is held against the tools or the format of its request: told once. */
void session_mend_unchecked(session *x);
/* An answer that is JSON does not fit its schema: it is worth asking again once. A model that does not get it right
 * then may be at its best, and what it says `goes_out`, for it is no worse than it was; that is told. */
void session_mend_unfit(session *x, bool goes_out);
typedef enum session_unfit {
    UNFIT_NEVER,
    UNFIT_ASKED,    /* one did not fit and was asked for again ... */
    UNFIT_GOES_OUT, /* ... and neither does the one that goes out */
} session_unfit;
session_unfit session_mend_was_unfit(const session *x);
/* What earlier turns and requests taught about this one is done at once. False: that takes a while,
 * session_known() will be called. */
bool session_mend_known(session *x);
/* Nothing helped: a conversation that stays too long is not worked on for ever. */
void session_mend_gave_up(session *x);
/* Before it goes out to the target at hand: is it known already that its window cannot take it? Then it is mended as
 * after a refusal. False: a model is asked on the side, session_fitted() will be called. */
bool session_mend_fits(session *x);
/* It worked: what was done is remembered, and how many tokens the provider counted. */
void session_mend_worked(session *x, int64_t input_tokens);
/* Sees in a failure what the provider did not say, since it knows the size of the request. */
void session_mend_reconsider(session *x, daruma_failure *f);
/* Is an answer without words one that found no room in the window, or one to a prompt that was cut to fit? */
bool session_mend_window_full(session *x, daruma_str finish, int64_t input_tokens, bool content);
/* The answer that was broken and what is wrong with it, for asking again; copied. */
void session_mend_bad_answer(session *x, const turn *bad, daruma_str why);
void session_mend_gone(session *x); /* the request is over: side requests end */
/* Asks the model for a short apology in place of the fixed explanation; false: it is not asked. finish_apology() goes
 * on. */
bool session_mend_apologise(session *x);

/* ---- recall.c: what was mended before ---- */

void mended_free(const drive_rooms *rooms, mended *m);
void mended_save(const mended *m, daruma_ms now, daruma_buf *out); /* as memory_save(); NULL: nothing was mended yet */
bool mended_busy(const driver *v); /* another thread looks into the tables: nothing can be loaded now */
bool mended_load(driver *v, daruma_str line, daruma_ms now, daruma_ms aged);
bool mended_knows(const session *x, int target); /* is there anything that may be done for it? */
/* With what this request taught itself, when it is converted for that target. */
void mended_know(const session *x, int target, drive_facts *ret);
/* Says what was done of it. */
void mended_did(session *x, int target, const drive_facts *f);
/* The provider of another dialect refused a parameter: it is learned, and done when the request is converted again. */
bool mended_moved_learn(session *x);
/* The provider refuses what was learned: it is forgotten, and the request is written for it anew. */
bool mended_unlearn(session *x);
/* The same of what is known of messages; and of the request as it was moved to another dialect. */
bool mended_unlearn_habits(session *x);
bool mended_moved_habits(session *x);

/* ---- question.c: questions of our own to a model, on the case of the request ---- */

/* Asks `n` questions, some at a time, of the summariser or the current target. False: it may not.
 * Each answer comes through session_mend_answer(), empty on failure; after the last one session_mend_asked(). */
bool side_ask(session *x, const mend_question *q, size_t n, int64_t max_output);
void side_cancel(session *x);
void session_mend_answer(session *x, size_t i, daruma_str text);
void session_mend_asked(session *x);

/* ---- watch.c: agents seen by the histories they send ---- */

void watch_free(const drive_rooms *rooms, watch *w);
/* snapshot.c: the line that begins what driver_load() reads. */
void snapshot_head(const driver *v, daruma_buf *out);
void watch_save(const watch *w, daruma_buf *out); /* lessons about tools as lines; NULL: nobody was watched yet */
bool watch_load(driver *v, daruma_str line);      /* false: it is no such line, and nothing changed */
/* Looks at what is new in the history of a request; `newest` as its scan gave it. False: nothing is to be done. Else
 * the newest verdict and what is to be done about it stand in x->steer. */
bool watch_request(session *x, const uint32_t *newest);
void watch_answered(session *x); /* the answer was delivered whole */

/* ---- past.c: what the provider keeps ---- */

/* Remembers the items of an answer that daruma wrote in Responses, a JSON list, by their ids. */
void past_put_items(session *x, daruma_str items);
void past_put_events(session *x, daruma_str events); /* the same of the events of an answer */
/* The request with those items in the place of references to them; NULL: there are none, or it would be too long to be
 * read on the loop. */
drive_text *past_unfold(session *x);

/* ---- steer.c: setting an agent right ---- */

/* Does what watch_request() found to the request. False: it was answered and goes nowhere, or session_steered() will be
 * called. */
bool steer_request(session *x);
/* Before it goes out: false, a model is asked for a strategy first; session_fitted() will be called. */
bool steer_ready(session *x);
/* Was the question on the side this room's? Then its answer, and that all are there. */
bool steer_answer(session *x, daruma_str text);
bool steer_asked(session *x);
/* Is this call refused to the agent? Then `why` says so to the model. */
bool steer_refuses(session *x, daruma_str tool, daruma_str args, daruma_buf *why);
bool steer_checks_calls(const session *x); /* may one be? */
/* Was the answer refused for such a call? Then that is what failed, and `as` which kind of failure it is. */
bool steer_refused(const session *x, daruma_kind *as);
bool steer_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
session_mend_result steer_apply(session *x, daruma_remedy_kind r);
/* What is done about the agent, for a header; empty: nothing. */
daruma_str steer_header(const session *x);
/* What the client reads when its agent is stopped. */
daruma_str steer_partial(session *x);

/* ---- finish.c: when nothing helped ---- */

/* A case that failed, or whose client gave up, is kept for a while: when the client's SDK retries, it goes on with what
 * is left. */
void session_remember(session *x);

/* The agent is stopped: a message of ours that ends its run. */
void finish_partial(session *x);

void finish_apology(session *x, daruma_str text); /* empty: the fixed explanation */

/* A whole body as the client asked for it: in an array when it asked for one. */
daruma_str session_listed(session *x, daruma_str body);
/* The last words of a stream whose head went out before it was known how it ends. Behind an answer that ends well there
 * are none where clients fail on comments; `failed`: it does not. */
void finish_comment(session *x, daruma_outcome o, bool failed);
/* Bytes of an answer that the client has. A head, heartbeats and what is held are none: another attempt may begin anew
 * behind them. But what only passes through is an answer from its head on. */
size_t session_gone_out(const session *x);
/* Ends the request: with what the model said, where that may go out; with an error event behind a part of an answer;
 * else with a message in the model's place or an error, as on_failure says. */
void session_give_up(session *x);

#endif
