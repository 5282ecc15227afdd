/* inside.h - what the files of the gateway share: the state of the program and of one exchange.
 *
 *   gateway --- setup (configuration in force, counted references)
 *      |          +-- routes: targets of each model
 *      |          +-- keys: secrets, commands that fetch them
 *      +------ driver (engine/drive: all that recovers)   events
 *      |
 *   exchange: call (client) <--> session (engine/drive) <--> fetch (calls to providers)
 */
#ifndef GATEWAY_INSIDE_H
#define GATEWAY_INSIDE_H
#include "base/limits.h"
#include "base/str.h"
#include "gateway/config.h"
#include "engine/drive/drive.h"
#include "gateway/gateway.h"
#include "gateway/meter.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/upstream.h"
#include <stddef.h>

typedef struct exchange exchange;
typedef struct setup setup;
typedef struct key_run key_run; /* one run of a key's command */
typedef struct job job;         /* work on a large request, away from the loop */
typedef struct jobs jobs;
typedef struct client_rate client_rate; /* what is left of a client's requests a minute */
typedef struct trace trace;             /* what is recorded of a request: trace.h */
typedef struct exporter exporter;       /* who sends it away */
typedef struct turns turns;             /* how long the loop was at work at a time */

enum { TENANT_KEY_BYTES = 32 };

/* Why a request is refused at the door, before it is one of the counted requests. */
typedef enum refusal {
    REFUSED_HOST,
    REFUSED_ORIGIN,
    REFUSED_PATH,
    REFUSED_UNKNOWN_PATH,
    REFUSED_TOKEN,
    REFUSED_MODEL,
    REFUSED_RATE,
    REFUSALS
} refusal;
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
/* Runs the key's command and calls exchange_ops.key_here() for `x` (NULL: nobody waits) afterwards. */
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
    bool form; /* its name has a `*` */
    bool asks; /* whom a request goes to is known when it asks: it is a form, load is shared, or some providers get the
                  client's key */
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
    uint64_t *sites; /* of each provider: the same for those at one host and port */
    drive_options options;
    client_rate *rates; /* of each of `clients` */
    tls_context *shown; /* to clients; NULL: no TLS is spoken to them */
};

/* Reads the configuration of g->options. `running`: the one in force, NULL at the start; *waits as config_load() has
 * it. NULL and the reason in `why`. */
setup *setup_new(gateway *g, const config *running, bool *waits, daruma_buf *why);
setup *setup_hold(setup *s);
void setup_drop(setup *s);
/* ---- routes/targets.c: whom a request may go to ---- */

/* For each model of the file: all keys of its first target, then all of its second, and so on. False: no memory. */
bool setup_routes_build(setup *s);
/* For whom targets are looked for. */
typedef struct asker {
    uint64_t credential; /* hash of what the client sent */
    uint64_t share; /* of the conversation: which key of a provider comes first, and which target, where load is shared.
                       The same for all its requests, so that prompt caches are met */
} asker;
/* Targets of a request: those of the model if one is configured, else those of `default`, else all keys of the first
 * provider of its dialect, else those of the first provider with a key: the conversation is translated then.
 * `credential`: hash of what the client sent. NULL: nobody speaks that dialect. */
const daruma_target *setup_targets(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                   daruma_arena *a, size_t *n);
/* Targets of a request that nothing of is converted: of its model's those alone whose provider speaks `d`. NULL: the
 * configuration has no word for that model, or one that is for many and leads to no such target. */
const daruma_target *setup_targets_of(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                      daruma_arena *a, size_t *n);
const daruma_target *setup_provider_targets(const setup *s, int provider, daruma_str model, const asker *who,
                                            daruma_arena *a, size_t *n);

/* ---- routes/wishes.c: what a client asks of daruma itself, in x-daruma-* fields ---- */

/* Lays them over what is configured for `q`; what cannot be read makes it a refusal. Lives in `a`. */
void wishes_read(const http_head *h, session_request *q, daruma_arena *a);
/* Is the request to pass through as it is? */
bool wishes_off(const http_head *h);
/* Of the targets of a request those that its client names, in that order; all without the field. */
const daruma_target *wishes_targets(const http_head *h, const daruma_target *t, size_t *n, daruma_arena *a);

/* ---- routes/passing.c: models that requests name which only pass through ---- */

/* The model of such a request, the places that name it, and where it goes. */
typedef struct passing {
    const dialect *d;   /* whose path it is */
    daruma_str model;   /* as the client asks for it */
    daruma_str in_path; /* where the path names it, escapes kept; empty: it does not */
    daruma_str *places; /* where the body names it, in order: values of JSON, of a form, ... */
    size_t nplaces;
    bool crowded;                 /* there are more than PASSING_NAMES_MAX: not all can have the target's name */
    bool json;                    /* ... that are JSON strings */
    const daruma_target *targets; /* of that model, which know the path; there may be none */
    size_t ntargets;
} passing;

/* Reads the model of a request, and looks up its targets. NULL: it names none that the configuration speaks of, or in
 * no way that we know; then it goes where all others of its dialect go. Lives in the call's arena. */
passing *passing_read(const exchange *x);
/* Why it is refused: not all that names the model can have the target's name. NULL: it is not. Lives in `a`. */
const daruma_failure *passing_refused(const passing *p, daruma_arena *a);
/* May a request be sent again, although no dialect of ours reads it, and the first one may have been run? A second one
 * changes nothing on a server, and costs next to nothing. */
bool passing_is_cheap(daruma_str path);
/* Path and body with the model's name at the target in the place of the client's. */
daruma_str passing_path(const passing *p, daruma_str path, daruma_str model, daruma_arena *a);
void passing_body(const passing *p, daruma_str body, daruma_str model, daruma_arena *a, daruma_str ret[4]);

/* ---- routes/models.c: lists of models ---- */

/* Is it a list of models (*ret_name is empty), or one of them (its name, as the path has it)? */
bool models_path(const http_head *h, daruma_str *ret_name);
/* Answers a list of models, or begins to, and a model of the configuration. False: it is one provider's to answer, or
 * came back to us. */
bool models_answers(gateway *g, call *c);

/* ---- events.c: the event log ---- */

typedef struct event_log event_log;
event_log *events_new(void);
bool events_open(event_log *l, daruma_str file, bool to_stderr, char why[512]);
void events_free(event_log *l);
bool events_are_read(const event_log *l); /* as lines of JSON: else nobody needs what joins them to other logs */
void events_emit(event_log *l, const daruma_event *e);
void events_status(const event_log *l, daruma_buf *out); /* a member of a JSON object: events written and lost */
void events_count(const event_log *l, uint64_t *written, uint64_t *lost);
bool events_has_room(const event_log *l); /* for one more who listens */
/* GET /daruma/events: the answer was begun by the caller, who made sure that there is room. */
void events_subscribe(event_log *l, call *c);
void events_unsubscribe(event_log *l, call *c);
void events_end(event_log *l); /* ends every subscriber's answer */

/* ---- state.c: what is known, kept in a file ---- */

typedef struct state state;
/* Reads what was known and keeps it up to date in `folder` from here on. NULL without memory. */
state *state_open(gateway *g, daruma_str folder);
void state_touched(state *s); /* something became known; NULL: nobody keeps it */
void state_secret(const state *s,
                  const gateway *g); /* keeps the secret that replicas agreed on; NULL: nobody keeps it */
void state_close(state *s);          /* writes what is known and lets go; before the driver ends */

/* ---- replicas.c: several daruma that share a store ---- */

typedef struct replicas replicas;
/* Begins to share what is known with all who use that store. NULL without memory. */
replicas *replicas_open(gateway *g, const store_place *at);
/* Health may have changed, and with `learned` what else is known; NULL: nothing is shared. */
void replicas_touched(replicas *r, bool learned);
void replicas_close(replicas *r); /* before the driver ends */

/* ---- tenant.c ---- */

/* Makes the key by which clients' credentials are hashed, unless there is one. False: there is no chance to be had. */
bool tenant_key_made(gateway *g);

/* ---- gateway.c ---- */

struct gateway {
    uv_loop_t *loop;
    server *srv;
    setup *now;
    gateway_options options;
    char *config_file, *listen;
    driver drive;
    void *health_memory;
    event_log *events;
    state *state;                    /* NULL: what is known ends with the process */
    replicas *replicas;              /* NULL: nobody else knows it */
    refused_count refused[REFUSALS]; /* at the door, by reason */
    daruma_ms started;
    exchange *idle; /* used exchanges, kept for the next */
    size_t nidle;
    uint32_t active;                        /* exchanges under way */
    key_run *key_runs;                      /* commands under way */
    uint64_t secret;                        /* process secret: hashes of tenants mean nothing outside */
    char via[sizeof "1.1 daruma-01234567"]; /* what it is called in Via: RFC 9110, section 7.6.3 */
    unsigned char tenant_key[TENANT_KEY_BYTES];
    bool tenant_keyed; /* it was made */
    jobs *jobs;        /* work under way, and what waits for it */
    turns *turns;
    meter *meter;
    exporter *exporter;     /* of spans */
    struct log_file *usage; /* a line for each request that is over */
    bool draining;
    void (*drained)(void *user);
    void *drained_user;
};

daruma_moment gateway_now(const gateway *g); /* as the loop has it: no clock is read for each question */
driver *gateway_drive(gateway *g);           /* the driver, told what time it is: for every input */

/* ---- exchange.c: the host of one session ---- */

/* What happens to a request, for a session or for what stands in its place. */
typedef struct exchange_ops {
    void (*gone)(exchange *x);     /* the client left */
    void (*drained)(exchange *x);  /* it has read what waited for it */
    void (*key_here)(exchange *x); /* a command that prints a key ended */
} exchange_ops;

struct exchange {
    _Alignas(max_align_t) const exchange_ops *ops;
    gateway *g;
    setup *s;
    call *c;          /* NULL: the client left, or the answer is over */
    session *session; /* behind this struct */
    const dialect *d; /* of the path; NULL: nobody's */
    uv_timer_t timer;
    daruma_ms due;       /* the session wants to be called then; -1: never */
    daruma_ms rings_at;  /* when `timer` does, perhaps sooner; -1: it is stopped */
    int status;          /* that went to the client, 0 none yet */
    uint64_t credential; /* hash of what the client showed */
    uint64_t tenant;     /* the same keyed, 0 not asked for yet */
    trace *trace;        /* NULL: it is not traced */
    passing *passing;    /* the model of a request that only passes through; NULL: it names none of ours */
    job *job;            /* work for it is under way beside the loop */
    exchange *next_waiting, *next_idle;
};

extern const drive_host exchange_host;
extern const drive_rooms exchange_rooms; /* arenas and tables on malloc */
void exchange_begin(gateway *g, call *c);
void exchange_free_idle(gateway *g);
uint64_t exchange_tenant(exchange *x);
/* asker.share: of the client's conversation, or of this request where none is known (0). */
uint64_t exchange_share(const exchange *x, uint64_t conversation);

/* ---- send.c: calls to providers ---- */

const config_provider *exchange_provider(const exchange *x, const daruma_target *t);
key_state *exchange_key(const exchange *x, const daruma_target *t); /* NULL: the client's own */
/* The client's query, without a key that the provider is not to see. */
daruma_str exchange_query(const exchange *x, const config_provider *p);
void exchange_hand_over(void *handle, drive_call *to);
drive_sent exchange_send(void *user, drive_call *c, const drive_request *r);
const dialect *exchange_ask(void *user, drive_call *c, const daruma_target *t, const daruma_question *q,
                            daruma_ms total);

/* ---- job.c: work beside the loop ---- */

bool exchange_work(void *user, size_t bytes, const drive_work *kind, void *data);
void exchange_work_left(void *user, drive_remains *r);
void jobs_free(jobs *all); /* the gateway is over; jobs may still be under way */

/* ---- turn.c: how long the loop is at work at a time ---- */

turns *turns_new(uv_loop_t *loop); /* NULL: there is no memory */
void turns_free(turns *t);
void turns_status(const turns *t, daruma_buf *out); /* a member of a JSON object */
int64_t turns_longest_ms(const turns *t);

/* ---- redact_sent.c: credentials in the words of others ---- */

daruma_str exchange_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str text);

/* ---- head.c: header fields, both ways ---- */

/* Fields for the provider: the client's, without hop-by-hop ones and ours, with the right credentials. `d` is the
 * dialect it is spoken to in, `traceparent` that of the call, empty: the client's own. What is made for them is in `a`;
 * NULL or incomplete when that ran full. */
daruma_header *head_for_provider(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 daruma_str traceparent, size_t *n, daruma_arena *a);
/* Fields of a question of our own. `at_hand`: it goes where the request goes, and the client's own fields with it; else
 * nothing that the client said does. */
daruma_header *head_for_question(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 bool at_hand, daruma_str traceparent, size_t *n);
/* Fields for the client: those of the answer plus x-daruma-*. */
daruma_header *head_for_client(exchange *x, const drive_answer *answer, size_t *n);
void head_credentials(const http_head *h, daruma_buf *out); /* the values themselves, for keyed hashes only */
/* What the client says in fields and in the query, "name: value" a line, without credentials. */
void head_beside(const http_head *h, daruma_buf *out);
/* The key in the query, where Google's clients may put it; else empty. */
daruma_str head_query_key(const http_head *h);
bool head_is_credential(daruma_str name); /* of a field where clients put credentials */
/* The dialect that the fields or the path of a request show where the path is no dialect's own; OpenAI's else. */
const dialect *head_dialect(const http_head *h);
/* Hash of the client's credentials. `ret_ours`: this very daruma sent the request, it came back. */
uint64_t head_credential(const gateway *g, const http_head *h, bool *ret_ours);

/* ---- guard.c ---- */

/* Refuses, on a gateway that listens on the loopback, pages of other sites (Origin, Sec-Fetch-Site) and requests for
 * another host's name (Host). False: the request is neither. */
bool guard_refuses(gateway *g, call *c);

/* ---- paths.c ---- */

/* Refuses a path that could leave the base URL of a provider, with 400. False: it cannot. */
bool path_refused_form(gateway *g, call *c);
/* Refuses a path that no API has and that `passthrough` does not open, with 404. False: it goes to a provider. */
bool path_refused_unknown(gateway *g, call *c);
/* A segment of a path, or a value of a query, with its escapes undone. *bad: it may be read in two ways, or there is no
 * memory; else it stays as it was. */
daruma_str path_text(daruma_str raw, daruma_arena *a, bool *bad);
/* May that segment stand before the first word of an API's path? A version, or a prefix that gateways use. */
bool path_is_lead(daruma_str segment);

/* ---- lock.c: who may come in ---- */

/* Refuses, where `clients` are configured, who shows no token of theirs (401), asks for a model that is not its (403),
 * or has asked too often (429). */
bool lock_refuses(gateway *g, call *c);
/* Refuses who may not see what daruma knows: no admin token, or none is configured and daruma listens beyond the
 * loopback. */
bool lock_refuses_admin(gateway *g, call *c);
/* Is it a token of one of our clients, with or without "Bearer"? Such a one goes to no provider. */
bool lock_is_token(const config *c, daruma_str value);
/* The client whose token the request shows; NULL: nobody's. */
const config_client *lock_client(const config *c, const http_head *h);
/* May that client (NULL: anybody) ask for the model? */
bool lock_allows(const config_client *k, daruma_str model);
bool lock_prepare(setup *s); /* what clients had left of their rates goes on; false: there is no memory */

/* ---- refuse.c ---- */

/* Answers with an error of daruma's own, in the form of the dialect that the request speaks, and ends the call. It is
 * counted, and told in an event, the first of many at a time. `wait`: after that it may be asked again, -1 never. */
void call_refuse(gateway *g, call *c, refusal why, int status, daruma_kind kind, daruma_ms wait, daruma_str message);
/* What a client reads whom the server refuses before its request is whole: server_ops.refusal. */
void call_words(const http_head *h, int status, const char *words, daruma_buf *out, void *user);
const char *refusal_name(refusal why);                   /* static */
void refusals_status(const gateway *g, daruma_buf *out); /* a member of a JSON object: how many, by reason */

/* ---- upgrade.c ---- */

/* Answers 426 to a WebSocket handshake; false: it is none. */
bool upgrade_refuses(call *c);

/* ---- usage.c: who used how much ---- */

struct log_file *usage_new(void); /* NULL without memory */
void usage_free(struct log_file *f);
/* A line for a request that is over. `cost`: as config_cost() says. */
void usage_put(const exchange *x, const drive_result *r, int64_t cost);

/* ---- metrics.c ---- */

bool metrics_open(const http_head *h); /* does who asks read OpenMetrics? */
void metrics_write(gateway *g, bool open, daruma_buf *out);

/* ---- admin.c ---- */

bool admin_answers(daruma_str path);     /* is it one that daruma itself answers? */
bool admin_handles(gateway *g, call *c); /* /daruma/..., /, /health, /ready: answers and returns true */
#endif
