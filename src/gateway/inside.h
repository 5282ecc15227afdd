/* inside.h - what the files of the gateway share: the state of the program and of one exchange.
 *
 *   gateway --- setup (configuration in force, counted references)
 *      |          +-- routes: targets of each model
 *      |          +-- keys: secrets, commands that fetch them
 *      +------ health (health of everything)   memory (sessions, cases, notices)   events
 *      |
 *   exchange: call (client) <--> case (engine) <--> fetch (one attempt)
 */
#ifndef GATEWAY_INSIDE_H
#define GATEWAY_INSIDE_H
#include "base/limits.h"
#include "base/str.h"
#include "gateway/config.h"
#include "engine/mend/remedy.h"
#include "gateway/gateway.h"
#include "net/server.h"
#include "net/upstream.h"

typedef struct exchange exchange;
typedef struct setup setup;
typedef struct key_run key_run;           /* one run of a key's command */
typedef struct mended mended;             /* known compressions and lessons, all conversations */
typedef struct heal heal;                 /* the mending of one request */
typedef struct talk talk;                 /* a streamed answer: what the client has of it */
typedef struct watch watch;               /* agents, and whether they go in circles */
typedef struct steer steer;               /* what is done about the agent of one request */
typedef struct rival rival;               /* a second call beside a silent one */
typedef struct request_text request_text; /* a request as it was written anew */
typedef struct job job;                   /* work on a large request, away from the loop */
typedef struct jobs jobs;

enum { TENANT_KEY_BYTES = 32 };

/* Why a request is refused at the door, before it is one of the counted requests. */
typedef enum refusal { REFUSED_HOST, REFUSED_ORIGIN, REFUSED_PATH, REFUSED_UNKNOWN_PATH, REFUSALS } refusal;
typedef struct refused_count {
    uint64_t all, untold; /* and those since the last event */
    daruma_ms told_at;    /* that event; 0 none */
} refused_count;

/* ---- keys.c: secrets and the commands that print them ---- */

typedef struct key_state {
    char *secret; /* malloc'd; NULL: not fetched yet */
    size_t secret_n;
    bool running;      /* the command is under way */
    bool refreshed;    /* fetched anew since the last success */
    exchange *waiting; /* exchanges that go on when it ends, linked by next_waiting */
    const config_key *key;
    const config_provider *provider; /* whose it is */
    char why[96];                    /* the command gave no key; empty: it did */
} key_state;

/* The secret of a provider's key if it is at hand. */
bool key_ready(const key_state *k, daruma_str *secret);
/* Runs the key's command and calls exchange_key_here() on `x` (NULL: nobody waits) afterwards. */
void key_fetch(setup *s, key_state *k, exchange *x);
void key_forget(key_state *k, exchange *x); /* x does not wait any more */
void keys_stop(gateway *g);                 /* ends every command under way */

/* ---- setup.c: one configuration in force ---- */

#define HOST_KEYS       256 /* daruma_target.host is provider * HOST_KEYS + key; the last key means the client's own */
#define HOST_CLIENT_KEY (HOST_KEYS - 1)

typedef struct route {
    daruma_str model;
    daruma_target *targets; /* those with keys of our own */
    size_t ntargets;
    bool clients; /* some of its providers have none: they get the client's */
} route;

struct setup {
    gateway *g;
    config cfg;
    daruma_arena arena;
    int refs;
    upstream *up;
    key_state **keys; /* per provider, per key */
    route *routes;
    size_t nroutes;
};

setup *setup_new(gateway *g, const gateway_options *o, char why[512]);
setup *setup_hold(setup *s);
void setup_drop(setup *s);
/* Targets of a request: those of the model if one is configured, else all keys of the first provider of
 * its dialect. `credential`: hash of what the client sent. NULL: nobody speaks that dialect. */
const daruma_target *setup_targets(const setup *s, const dialect *d, daruma_str model, uint64_t credential,
                                   daruma_arena *a, size_t *n);
const daruma_target *setup_provider_targets(const setup *s, int provider, daruma_str model, uint64_t credential,
                                            daruma_arena *a, size_t *n);

/* ---- memory.c: bounded tables of what was seen ---- */

typedef struct memory memory;
memory *memory_new(void);
void memory_free(memory *m);
/* Which key a conversation used last; 0 unknown. The one used longest ago is forgotten first. */
uint64_t memory_session(memory *m, uint64_t conversation);
void memory_session_set(memory *m, uint64_t conversation, uint64_t key_id);
size_t memory_sessions(const memory *m);
/* How many requests of a conversation in a row stayed too long although they were shortened. */
uint32_t memory_stuck(memory *m, uint64_t conversation);
void memory_stuck_set(memory *m, uint64_t conversation, uint32_t times);
/* A case that failed, so that the client's own retry continues it. */
bool memory_case_take(memory *m, uint64_t request, daruma_ms now, daruma_case *ret);
void memory_case_put(memory *m, uint64_t request, daruma_ms now, const daruma_case *c);
/* Hashes of the messages daruma wrote. */
void memory_notice_put(memory *m, uint64_t hash);
const uint64_t *memory_notices(const memory *m); /* all of them; NULL: there was none yet */
uint64_t *memory_notices_copy(const memory *m);  /* ... malloc'd; NULL likewise, or without memory */
bool memory_notice_known(uint64_t hash, const void *notices);
/* Which account made a stored answer (previous_response_id): its key; 0 unknown. */
uint64_t memory_owner(const memory *m, uint64_t answer);
void memory_owner_put(memory *m, uint64_t answer, uint64_t key_id);
/* What is known of a lane, that is of an account's way to a model (daruma_target.lane_id): its context window, learned
 * from what it refused; -1 unknown. Whoever else is refused at another account learns it there. False: it took longer
 * requests than that. */
int64_t memory_window(const memory *m, uint64_t lane);
bool memory_window_put(memory *m, uint64_t lane, int64_t tokens);
/* It took a request of so many tokens. True: so the window that was learned is wrong, and forgotten. */
bool memory_taken(memory *m, uint64_t lane, int64_t tokens);
/* Whether it goes on from a begun answer (prefill): it is taken to until it said no. */
bool memory_prefills(const memory *m, uint64_t lane);
void memory_prefill_refused(memory *m, uint64_t lane);
/* The most of a response format that it is known to take: until it refused one, a schema. */
convo_format memory_format(const memory *m, uint64_t lane);
void memory_format_put(memory *m, uint64_t lane, convo_format most);
/* How many bytes of a request are counted there as 1,000 tokens, as the newest long request of that client was counted
 * (`whose`: exchange_counted()). Counts of short ones and of what is no text (images) say nothing and are not taken. */
int64_t memory_rate(const memory *m, uint64_t whose);
void memory_rate_put(memory *m, uint64_t whose, size_t bytes, int64_t tokens);
/* Tokens to 1,000 of our estimate of a request that was read; 0 unknown. */
int64_t memory_scale(const memory *m, uint64_t whose);
void memory_scale_put(memory *m, uint64_t whose, int64_t estimate, int64_t tokens);
/* What was learned of a lane, for the status page: the first thing brings its name, each says which case taught it. */
typedef struct memory_lane {
    uint64_t id;
    daruma_str provider, account, model; /* live as long as nothing else is learned */
    int64_t window;                      /* -1 unknown */
    convo_format format;                 /* the best response format that it takes; FORMAT_UNSAID: none was refused */
    bool no_prefill;
    uint64_t by; /* the case that taught the last of it, and when */
    daruma_ms at;
} memory_lane;
void memory_learned(memory *m, const daruma_target *t, uint64_t by, daruma_ms at);
bool memory_lane_at(const memory *m, size_t index, memory_lane *ret); /* false: nothing there; up to LANES_MAX */

/* ---- events.c: the event log ---- */

typedef struct event_log event_log;
event_log *events_new(void);
bool events_open(event_log *l, daruma_str file, bool to_stderr, char why[512]);
void events_free(event_log *l);
void events_emit(event_log *l, const daruma_event *e);
void events_status(const event_log *l, daruma_buf *out); /* a member of a JSON object: events written and lost */
bool events_has_room(const event_log *l);                /* for one more who listens */
/* GET /daruma/events: the answer was begun by the caller, who made sure that there is room. */
void events_subscribe(event_log *l, call *c);
void events_unsubscribe(event_log *l, call *c);
void events_end(event_log *l); /* ends every subscriber's answer */

/* ---- gateway.c ---- */

struct gateway {
    uv_loop_t *loop;
    server *srv;
    setup *now;
    gateway_options options;
    char *config_file, *listen;
    daruma_health *health;
    void *health_memory;
    memory *mem;
    event_log *events;
    gateway_counts counts;
    refused_count refused[REFUSALS]; /* at the door, by reason */
    daruma_ms started;
    exchange *idle; /* used exchanges, kept for the next */
    size_t nidle;
    exchange *patient;                      /* those who wait for a time, perhaps for somebody to become well */
    uint32_t healed;                        /* as the health counted when they were last woken */
    uint32_t active;                        /* exchanges under way */
    key_run *key_runs;                      /* commands under way */
    uint64_t secret;                        /* process secret: hashes of tenants mean nothing outside */
    char via[sizeof "1.1 daruma-01234567"]; /* what it is called in Via: RFC 9110, section 7.6.3 */
    unsigned char tenant_key[TENANT_KEY_BYTES];
    bool tenant_keyed; /* it was made */
    jobs *jobs;        /* work under way, and what waits for it */
    mended *mended;    /* what was mended before; NULL until something was */
    watch *watch;      /* agents that are watched; NULL until there is one */
    bool draining;
    void (*drained)(void *user);
    void *drained_user;
};

/* ---- exchange.c: one request, client to answer ---- */

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
    uint32_t of;           /* the edition of the request that it was made of */
    size_t nlessons;       /* ... when so much was learned of the request */
    bool too_large;        /* there was no room to carry it over */
    int64_t tokens;        /* estimate of all of it */
    convo_rename *renames; /* tools that are called something else there */
    size_t nrenames;
} moved_request;

struct exchange {
    gateway *g;
    setup *s;
    call *c;          /* NULL: the client left */
    const dialect *d; /* NULL: a path we only pass on */
    const dialect *p; /* of the provider that is called; another than d when the conversation moved */
    request_scan scan;
    daruma_str body;     /* what is sent: the client's, or as it was written anew, which is one of `texts` */
    uint32_t edition;    /* of `body`: another one each time it changes */
    uint32_t editions;   /* so many there were */
    request_text *texts; /* what was written of it, each in memory of its own */
    daruma_str variant;  /* `body` as a target of its own dialect gets it, with what is known of that target done to it;
                            empty: it gets `body` itself */
    daruma_str variant_model; /* ... where that names its model */
    int variant_for;          /* ... that target */
    uint32_t variant_of;      /* ... the edition that was made of; 0 none */
    bool circles;             /* its agent goes in circles */
    job *job;                 /* work on it is under way, and nothing else */
    bool opaque;              /* an encoded or unreadable body: passed on, not recovered */
    bool safe;                /* sending it twice does no harm */
    uint64_t credential;      /* hash of what the client showed */
    uint64_t agent;           /* what its agent is known by to watch.c, 0 none */
    uint64_t tenant;          /* the same keyed, 0 not asked for yet: exchange_tenant() */
    const daruma_target *targets;
    daruma_case kase;
    daruma_ms started, attempt_started;
    fetch *f;
    uv_timer_t timer;      /* backoff, heartbeat or progress, whichever comes first */
    daruma_ms act_at;      /* end of a wait, -1 none */
    daruma_ms beat_at;     /* next heartbeat, -1 none */
    daruma_ms progress_by; /* content must come by then, -1 none */
    daruma_ms look_at;     /* when it is looked at whether the attempt is silent for too long, -1 not */
    unsigned beats;        /* heartbeats since the provider's last bytes */
    bool timer_on;
    bool streaming; /* the client wants a stream */
    bool array;     /* ... as one JSON array: Gemini's without alt=sse */
    bool paused;
    bool pending;    /* a heartbeat was the first that the client had: how it ends stands in a comment behind it */
    bool blank;      /* the client has the head of a whole answer, and white space */
    bool unjoined;   /* a second call was asked to go on with a silent stream, and said something else */
    bool went_on;    /* an attempt failed behind its first bytes: likewise */
    bool sent;       /* a call was made, or was to be made but for its key */
    bool recovering; /* the first remedy was begun */
    bool refreshing; /* waits for a key command */
    bool weighed;    /* whether it fits the window was asked before it went out */
    bool stays;      /* whether it names what lives on the server was looked at */
    bool bound;  /* other accounts are left out because of what lives on the server; only reasoning, as far as known */
    size_t told; /* remedies that the head of the answer named */
    size_t home; /* the target whose account has what it names there */
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
    size_t forwarded; /* answer bytes the client has */
    /* the last failure, its strings in the call's arena */
    daruma_failure failure;
    daruma_remedy remedy;    /* what is done about it */
    daruma_str failed_body;  /* the provider's error body, whole, when it is one */
    daruma_str secret;       /* key that the attempt under way was made with; empty: the client's own. Call's arena */
    moved_request *moved;    /* as it went to a provider of another dialect; NULL: it did not. Call's arena */
    daruma_str failed_event; /* the provider's error event in the midst of a stream; not gone out yet */
    daruma_header *failed_headers;
    size_t nfailed_headers;
    /* mending: NULL while there is nothing to mend. The first in the call's arena, the second in its own */
    heal *h;
    talk *t;
    steer *steer; /* NULL: its agent is not in circles. In the call's arena */
    rival *rival; /* NULL: no second call is out */
    exchange *next_waiting, *next_idle;
    exchange *next_patient; /* in the list of those who wait for a time */
    bool patient;           /* it is in there */
};

/* Nobody's dialect, or a body that cannot be read: bytes go through as they come, both ways. */
static inline bool exchange_passes(const exchange *x)
{
    return !x->d || x->opaque;
}

exchange *exchange_take(gateway *g); /* a fresh one; NULL without memory */
void exchange_gone(exchange *x);
void exchange_drained(exchange *x);
void exchange_free_idle(gateway *g);
/* The attempt failed so. Takes the next rung. */
void exchange_failed(exchange *x, const daruma_evidence *ev);
/* The attempt succeeded and everything was delivered. `input_tokens`: as the provider counted, 0 or -1 unknown. */
void exchange_done(exchange *x, int64_t input_tokens);
daruma_str exchange_answer_id(exchange *x); /* empty: it has none, or not where ids stand */
/* The attempt is sent once more on a fresh connection, because of x->failure: the provider did not receive it. */
void exchange_resent(exchange *x);
void exchange_event(exchange *x, daruma_event *e);
/* That was done to the request or to the answer, beside what the ladder sends: the client is told, and it is counted.
 */
void exchange_did(exchange *x, daruma_remedy_kind r);
/* The same, under the name that the profile in force has for that moment; nothing when it is silent. */
void exchange_tell(exchange *x, daruma_when when, daruma_event *e);
/* The first remedy of the case begins: told once, before anything that it does. */
void exchange_tell_begin(exchange *x);
/* The remedy under way was carried out (or not): obeys it, or asks for the next. */
void exchange_mended(exchange *x, bool fit);
/* Frees what the attempt held. */
void exchange_scratch_reset(exchange *x);
void exchange_wait(exchange *x, daruma_ms wait);  /* asks the engine again after that, or when something became well */
void exchange_timer(exchange *x);                 /* arms it for the earliest of the three */
void exchange_end(exchange *x, daruma_outcome o); /* counts, lets go of everything; the call was ended before */

/* Something may have become well: those who wait ask again. */
void exchange_wake(gateway *g);

static inline daruma_ms sooner_of(daruma_ms a, daruma_ms b) /* -1 is never */
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

daruma_moment gateway_now(const gateway *g); /* as the loop has it: no clock is read for each question */

/* ---- intake.c: a request comes in ---- */

void exchange_begin(gateway *g, call *c);
void exchange_known(exchange *x);                  /* what is known of it was done to it: it goes on */
uint64_t exchange_request_hash(const exchange *x); /* same client, same body */
uint64_t exchange_session(const exchange *x);      /* one client's conversation with one model */
uint64_t exchange_counted(const exchange *x);      /* one client's requests on the lane at hand */
/* Files, containers and the like that the request names live with one account. They are looked for when another one
 * comes into question, not before. True: `target` (-1: none yet) is not of that account, and nobody else is left. */
bool exchange_stay(exchange *x, int target);
/* Encrypted reasoning is of use to one account alone, and none without it. When that account rests for long, or `f`
 * (NULL: nothing failed yet) shows that it is of no use, the reasoning is left out and the other accounts may be asked.
 */
void exchange_loosen(exchange *x, const daruma_failure *f);

/* ---- attempt.c: one call to a provider ---- */

void exchange_attempt(exchange *x); /* asks the engine and sends, waits or ends */
void exchange_fitted(exchange *x);  /* what heal_fits() waited for is over: it goes out */
const config_provider *exchange_provider(const exchange *x, int target);
const dialect *exchange_dialect(const exchange *x, int target); /* that a target is spoken to in */
void exchange_key_here(exchange *x);                            /* a key command ended */
key_state *exchange_key(const exchange *x, int target);         /* NULL: the client's own */

stream_view exchange_view(const exchange *x); /* of the call at hand, before anything of its stream came */

/* What goes out to that target; the parts that are made for it are in `a`. False: it is not whole, or cannot be carried
 * over to its dialect. x->p, x->secret and x->moved are those of that call from here on. */
bool exchange_compose(exchange *x, int target, daruma_str secret, daruma_arena *a, fetch_request *ret);

/* ---- effects.c: work that must not be done twice ---- */

/* True if a call of this request may do such work: no second one is made beside it, and none over a connection that may
 * be dead. */
bool effects_possible(const exchange *x);
/* True if the attempt that failed so may have done it. */
bool effects_done(const exchange *x, const daruma_evidence *ev);

/* ---- convert.c: the request as another provider takes it ---- */

/* Makes what exchange_compose() needs for that target. False: that takes a while, exchange_fitted() will be called. */
bool exchange_convert(exchange *x, int target);
bool exchange_converts(const exchange *x, int target); /* is there anything to be made? */
/* Is it a provider that did not make the thinking of this conversation? */
bool exchange_is_strange(const exchange *x, int target);
/* What the client calls a tool that the provider at hand calls so. */
daruma_str exchange_tool_name(const exchange *x, daruma_str name);
daruma_str exchange_tool_words(const exchange *x, daruma_str text); /* what it says with such names in it */

/* ---- texts.c: requests as they were written anew ---- */

request_text *text_new(daruma_str bytes); /* a copy; NULL without memory */
daruma_str text_str(const request_text *b);
daruma_str exchange_own(exchange *x, request_text *b); /* it is one of x->texts now; NULL: empty */
request_text *exchange_disown(exchange *x); /* all of x->texts; the request is over */
void texts_free(request_text *list);
void exchange_sweep(exchange *x); /* gives back those that nobody needs any more */

/* ---- hedge.c: a second call beside a silent one ---- */

/* Looks whether the attempt under way is silent for too long, and does what is to be done. Sets x->look_at. */
void hedge_look(exchange *x);
/* The attempt has brought content, or is over: the second call is not needed. */
void hedge_cancel(exchange *x);
/* The attempt failed so: the second call takes its place. False: there is none. */
bool hedge_takes_over(exchange *x, const daruma_failure *f);

/* ---- relay.c: answers on their way to the client ---- */

extern const fetch_ops relay_ops;
bool relay_progress_late(exchange *x, daruma_ms now); /* only pings for too long: fails the attempt */
void relay_forward(exchange *x, daruma_str bytes);    /* bytes of an answer for the client */
void stream_closed(exchange *x);                      /* all of a stream went out, but for what ends it */

/* ---- head.c: header fields, both ways ---- */

/* Fields for the provider: the client's, without hop-by-hop ones and ours, with the right credentials. What is made for
 * them is in `a`; NULL or incomplete when that ran full. */
daruma_header *head_for_provider(exchange *x, const config_provider *p, const dialect *d, daruma_str secret, size_t *n,
                                 daruma_arena *a);
/* Fields of a question of our own. `at_hand`: it goes where the request goes, and the client's own fields with it; else
 * nothing that the client said does. */
daruma_header *head_for_question(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 bool at_hand, size_t *n);
/* Fields for the client: the provider's (may be none) plus x-daruma-*. */
daruma_header *head_for_client(exchange *x, const daruma_header *theirs, size_t ntheirs, daruma_outcome o, size_t *n,
                               size_t room);
void head_remedies(const exchange *x, daruma_buf *b);       /* what was done, in order, or "none" */
void head_credentials(const http_head *h, daruma_buf *out); /* the values themselves, for keyed hashes only */
/* The key in the query, where Google's clients may put it; else empty. */
daruma_str head_query_key(const http_head *h);
bool head_is_credential(daruma_str name); /* of a field where clients put credentials */
/* The dialect that the fields or the path of a request show where the path is no dialect's own; OpenAI's else. */
const dialect *head_dialect(const http_head *h);
/* Hash of the client's credentials. `ret_ours`: this very daruma sent the request, it came back. */
uint64_t head_credential(const gateway *g, const http_head *h, bool *ret_ours);

/* Adds what was asked to what came of it: its words, quoted, are no evidence. */
void exchange_asked(const exchange *x, daruma_evidence *ev);

/* ---- veil.c: credentials in the words of others ---- */

/* What a provider says, without the credentials that the attempt was made with; `text` itself when there are none in
 * it, empty without memory. */
daruma_str exchange_veil(exchange *x, daruma_str text);
/* The same of what another call of this request brought, which went to `target` with the key `secret`. */
daruma_str exchange_veil_of(exchange *x, int target, daruma_str secret, daruma_str text);

/* ---- redact_error.c: the same for all that looks like a credential ---- */

/* A body or an event that says what is wrong, as the client may have it: JSON stays JSON. Empty without memory. */
daruma_str exchange_redact(exchange *x, daruma_str text);
daruma_str exchange_redact_field(exchange *x, daruma_header h); /* the value of a field beside it */

/* ---- talk.c: streamed answers, read as they pass ---- */

void talk_free(talk *t);
/* A new attempt's stream begins, or the first: what passes is read from here on. False without memory. */
bool talk_begin(exchange *x);
/* One event that the provider sent. True: its bytes go out as they are; else talk took it. */
bool talk_event(exchange *x, const sse_event *e, daruma_arena *scratch);
/* The stream ended whole: what is held of it is checked, and goes out. */
typedef enum talk_over {
    TALK_ALL_OUT, /* all of it did */
    TALK_FAILED,  /* the attempt failed, for what it calls or since not all of it could be written */
    TALK_WAITS,   /* it is much: stream_closed() will be called */
} talk_over;
talk_over talk_end(exchange *x);
/* What is held of the stream goes out as it came: its provider did what must not be done twice, so that nothing is
 * mended in it any more. */
void talk_let_go(exchange *x);
bool talk_unsure(const exchange *x);   /* a continuation that cannot be joined with certainty */
bool talk_is_plain(const exchange *x); /* the provider's bytes go out as they are */
bool talk_was_cut(const exchange *x);  /* there is something that another attempt could go on from */
turn talk_turn(exchange *x);           /* what of it was kept: its text, as far as the client has it, and its calls */
daruma_str talk_items(const exchange *x, daruma_arena *a); /* Responses: its finished items, a JSON list */
daruma_str talk_id(const exchange *x);                     /* id of the answer under way */
/* How far the stream is that the client has; NULL: it has none, or nobody read it. */
const turn_reader *talk_reached(const exchange *x);
daruma_str talk_said(const exchange *x); /* the text that the client has */
/* Ends an answer under way with words of ours, as if the model had said them. False: it cannot. */
bool talk_close(exchange *x, daruma_str words);
/* The next attempt goes on from that text, as it is asked to. Where there is none it answers anew, and all goes out. */
void talk_join_next(exchange *x, mend_going how);

/* ---- answer.c: tool calls of answers, and those that shall be JSON, checked and mended ---- */

/* Could a call be wrong in a way that we see? Only then is it looked at. */
bool answer_checks_calls(const exchange *x);
/* Is the answer asked for as JSON, and may it be mended? */
bool answer_checks_format(const exchange *x);
/* The arguments of a call as text, where a wire says nothing of a call without arguments. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args);
/* Does it call what is refused to the agent? Then all its calls go: they were meant together. */
bool answer_refused(exchange *x, const turn *t, daruma_arena *a);
/* What an answer is held against, and what came of it. */
typedef struct answer_test {
    const convo *tools;  /* NULL: its calls are not looked at */
    const convo *format; /* NULL: it was not asked for as JSON */
    bool was_unfit;      /* an answer was asked for again already because it did not fit its schema */
    /* found */
    bool bad;             /* it has to be asked for again */
    bool unfit;           /* ... since it does not fit its schema */
    daruma_str why;       /* ... which is said so to the model */
    daruma_str mended;    /* what was mended in its calls; empty: nothing */
    daruma_str made_json; /* ... and in its words */
} answer_test;
/* Does it, on any thread, and mends in place. What is new is in `a`. */
void answer_test_do(answer_test *k, turn *t, daruma_arena *a);
/* Says what came of it. False: it has to be asked for again. */
bool answer_test_done(exchange *x, const answer_test *k, const turn *t);

/* ---- whole.c: answers that come in one piece ---- */

/* All of it is there, in x->held: it is judged, mended, written for the client and handed on. */
void whole_ended(exchange *x);

/* ---- heal.c, heal_work.c: carrying out remedies on the conversation ---- */

typedef enum heal_result {
    HEAL_SEND,  /* mended: send it */
    HEAL_UNFIT, /* nothing to mend that way: ask for another remedy */
    HEAL_WAITS, /* a model is asked on the side: heal_asked() goes on */
} heal_result;
bool heal_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
heal_result heal_apply(exchange *x, daruma_remedy_kind r);
/* A request that goes on with an answer of which the client has the beginning. Its strings live as long as the call. */
typedef struct heal_onward {
    daruma_str of;   /* the request as it was */
    daruma_str body; /* ... and as it asks for the rest */
    request_scan scan;
    mend_going how;
} heal_onward;
/* Writes it for target `to`, on the loop, in words whose answer shows whether it goes on, and changes nothing yet.
 * False: this answer cannot be gone on with, or the request is too large for the loop. */
bool heal_go_on(exchange *x, int to, heal_onward *ret);
void heal_goes_on(exchange *x, const heal_onward *o); /* it is what is sent, and its answer is joined */
void heal_use(exchange *x, daruma_str body,
              const request_scan *scan); /* from here on this is what is sent; one of x->texts, and its scan */
void heal_rest(exchange *x); /* it goes out: memory that is much for its size is given back until it is mended again */
/* The tools of the request; NULL when it has none that can be read. */
const convo *heal_tools(exchange *x);
/* The response format that the client asks for; NULL: none, or it cannot be read. */
const convo *heal_format(exchange *x);
/* An answer that is JSON does not fit its schema. True the first time: it is worth asking again. A model that does not
 * get it right then may be at its best, and what it says is no worse than it was. */
bool heal_unfit(exchange *x);
bool heal_was_unfit(const exchange *x); /* is the first time over? */
/* What earlier turns and requests taught about this one is done at once. False: that takes a while,
 * exchange_known() will be called. */
bool heal_known(exchange *x);
/* Nothing helped: a conversation that stays too long is not worked on for ever. */
void heal_gave_up(exchange *x);
/* Before it goes out to the target at hand: is it known already that its window cannot take it? Then it is mended as
 * after a refusal. False: a model is asked on the side, exchange_fitted() will be called. */
bool heal_fits(exchange *x);
/* It worked: what was done is remembered, and how many tokens the provider counted. */
void heal_worked(exchange *x, int64_t input_tokens);
/* Sees in a failure what the provider did not say, since it knows the size of the request. */
void heal_reconsider(exchange *x, daruma_failure *f);
/* Is an answer without words one that found no room in the window, or one to a prompt that was cut to fit? */
bool heal_window_full(exchange *x, daruma_str finish, int64_t input_tokens, bool content);
/* The answer that was broken and what is wrong with it, for asking again; copied. */
void heal_bad_answer(exchange *x, const turn *bad, daruma_str why);
void heal_gone(exchange *x); /* the request is over: side requests end */
/* Asks the model for a short apology in place of the fixed explanation; false: it is not asked. finish_apology() goes
 * on. */
bool heal_apologise(exchange *x);

/* ---- mended.c: what was mended before ---- */

void mended_free(mended *m);
void mended_status(const gateway *g, daruma_buf *out); /* a member of a JSON object: known compressions */
/* What is known of a target: lessons of its lane, and the most of a response format that it takes. */
typedef struct mended_facts {
    mend_lesson lessons[LESSONS_APPLIED_MAX]; /* `applied` of each: it changed this request */
    size_t nlessons, nknown;                  /* the first so many are not of this request alone */
    convo_format most;
    /* done */
    mend_report report;
    bool parameters, formats;
} mended_facts;
bool mended_knows(const exchange *x, int target); /* is there anything that may be done for it? */
/* With what this request taught itself, when it is converted for that target. */
void mended_know(const exchange *x, int target, mended_facts *ret);
/* Does it to a request in the target's dialect, on any thread; and says what was done. */
void mended_do(mended_facts *f, convo *c);
void mended_did(exchange *x, int target, const mended_facts *f);
/* The provider of another dialect refused a parameter: it is learned, and done when the request is converted again. */
bool mended_moved_learn(exchange *x);
void mended_lessons(const gateway *g, uint64_t lane, daruma_buf *out); /* a JSON array */
/* The provider refuses what was learned: it is forgotten, and the request is written for it anew. */
bool mended_unlearn(exchange *x);

/* ---- side.c: questions of our own to a model, on the case of the request ---- */

/* Asks `n` questions, some at a time, of the summariser or the current target. False: it may not.
 * Each answer comes through heal_answer(), empty on failure; after the last one heal_asked(). */
bool side_ask(exchange *x, const mend_question *q, size_t n, int64_t max_output);
void side_cancel(exchange *x);
void heal_answer(exchange *x, size_t i, daruma_str text);
void heal_asked(exchange *x);

/* ---- tenant.c: whose request it is ---- */

uint64_t exchange_tenant(exchange *x);

/* ---- watch.c: agents seen by the histories they send ---- */

void watch_free(watch *w);
/* Looks at what is new in the history of a request; `newest` as its scan gave it. False: nothing is to be done. Else
 * the newest verdict and what is to be done about it stand in x->steer. */
bool watch_request(exchange *x, const uint32_t *newest);
void watch_answered(exchange *x);                     /* the answer was delivered whole */
void watch_status(const gateway *g, daruma_buf *out); /* a member of a JSON object: agents and their circles */

/* ---- steer.c: setting an agent right ---- */

/* Does what watch_request() found. True: the request was answered, it goes nowhere. */
bool steer_request(exchange *x);
/* Before it goes out: false, a model is asked for a strategy first; exchange_fitted() will be called. */
bool steer_ready(exchange *x);
/* Was the question on the side this room's? Then its answer, and that all are there. */
bool steer_answer(exchange *x, daruma_str text);
bool steer_asked(exchange *x);
/* Is this call refused to the agent? Then `why` says so to the model. */
bool steer_refuses(exchange *x, daruma_str tool, daruma_str args, daruma_buf *why);
bool steer_checks_calls(const exchange *x); /* may one be? */
/* Was the answer refused for such a call? Then that is what failed, and `as` which kind of failure it is. */
bool steer_refused(const exchange *x, daruma_kind *as);
bool steer_is(daruma_remedy_kind r); /* is that a remedy carried out here? */
heal_result steer_apply(exchange *x, daruma_remedy_kind r);
/* What is done about the agent, for a header; empty: nothing. */
daruma_str steer_header(const exchange *x);
/* What the client reads when its agent is stopped. */
daruma_str steer_partial(exchange *x);

/* ---- finish.c: when nothing helped ---- */

/* A case that failed, or whose client gave up, is kept for a while: when the client's SDK retries, it goes on with what
 * is left. */
void exchange_remember(exchange *x);

/* The agent is stopped: a message of ours that ends its run. */
void finish_partial(exchange *x);

void finish_apology(exchange *x, daruma_str text); /* empty: the fixed explanation */

/* A whole body as the client asked for it: in an array when it asked for one. */
daruma_str exchange_listed(exchange *x, daruma_str body);
/* The last words of a stream whose head went out before it was known how it ends. */
void finish_comment(exchange *x, daruma_outcome o);
void finish_failed(exchange *x); /* answers with x->failure, as on_failure says */
/* A stream that has begun ends with the dialect's error event. */
void finish_interrupted(exchange *x);

/* ---- guard.c ---- */

/* Refuses, on a gateway that listens on the loopback, pages of other sites (Origin, Sec-Fetch-Site) and requests for
 * another host's name (Host). False: the request is neither. */
bool guard_refuses(gateway *g, call *c);

/* ---- paths.c ---- */

/* Refuses a path that could leave the base URL of a provider, with 400. False: it cannot. */
bool path_refused_form(gateway *g, call *c);
/* Refuses a path that no API has and that `passthrough` does not open, with 404. False: it goes to a provider. */
bool path_refused_unknown(gateway *g, call *c);

/* ---- refuse.c ---- */

/* Answers with an error of daruma's own, in the form of the dialect that the request speaks, and ends the call. It is
 * counted, and told in an event, the first of many at a time. */
void call_refuse(gateway *g, call *c, refusal why, int status, daruma_kind kind, daruma_str message);
void refusals_status(const gateway *g, daruma_buf *out); /* a member of a JSON object: how many, by reason */

/* ---- upgrade.c ---- */

/* Answers 426 to a WebSocket handshake; false: it is none. */
bool upgrade_refuses(call *c);

/* ---- admin.c ---- */

bool admin_answers(daruma_str path);     /* is it one that daruma itself answers? */
bool admin_handles(gateway *g, call *c); /* /daruma/..., /, /health, /ready: answers and returns true */
#endif
