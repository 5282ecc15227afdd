/* inside.h - what the files of the gateway share: the state of the program and of one exchange. Rooms below have
 * headers of their own: config/ (the file), door/ (who is let in), routes/ (whom a request may go to), keep/ (keys, and
 * what is known), see/ (what can be looked at).
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
#include "gateway/config/config.h"
#include "gateway/door/door.h"
#include "engine/drive/drive.h"
#include "gateway/gateway.h"
#include "net/timer.h"
#include "net/server.h"
#include "net/tls.h"
#include "net/upstream.h"
#include <stddef.h>

typedef struct exchange exchange;
typedef struct key_state key_state;     /* a secret: keep/keep.h */
typedef struct key_run key_run;         /* one run of a key's command */
typedef struct route route;             /* targets of a model: routes/routes.h */
typedef struct passing passing;         /* the model of a request that only passes through */
typedef struct models_kept models_kept; /* lists of models: routes/routes.h */
typedef struct event_log event_log;     /* see/see.h */
typedef struct meter meter;             /* see/meter.h */
typedef struct state state;             /* keep/keep.h */
typedef struct replicas replicas;
typedef struct job job; /* work on a large request, away from the loop */
typedef struct jobs jobs;
typedef struct client_rate client_rate; /* what is left of a client's requests a minute */
typedef struct trace trace;             /* what is recorded of a request: trace.h */
typedef struct exporter exporter;       /* who sends it away */
typedef struct cloud_stream cloud_stream;
typedef struct usage_log usage_log;
typedef struct turns turns; /* how long the loop was at work at a time */

/* ---- setup.c: one configuration in force ---- */

#define HOST_KEYS       256 /* daruma_target.host is provider * HOST_KEYS + key; the last key means the client's own */
#define HOST_CLIENT_KEY (HOST_KEYS - 1)

struct setup {
    gateway *g;
    config cfg;
    daruma_arena arena;
    int refs;
    upstream *up;
    key_state **keys; /* per provider, per key */
    route *routes;
    size_t nroutes;
    bool shares;     /* some targets have weights, or the keys of some provider share load */
    uint64_t *sites; /* of each provider: the same for those at one host and port */
    drive_options options;
    client_rate *rates; /* of each of `clients` */
    tls_context *shown; /* to clients; NULL: no TLS is spoken to them */
    models_kept *lists; /* that providers gave; NULL: none yet */
    struct leg *asking; /* for lists now, each for another one; linked by next_asking */
};

/* Reads the configuration of g->options. `running`: the one in force, NULL at the start; *waits as config_load() has
 * it. NULL and the reason in `why`. */
setup *setup_new(gateway *g, const config *running, bool *waits, daruma_buf *why);
setup *setup_hold(setup *s);
void setup_drop(setup *s);

/* ---- gateway.c ---- */

/* The newest request whose body was asked for: most bodies are there with their heads, and nobody asks again. */
typedef struct welcomed {
    uint64_t call;               /* its id; 0 none */
    const config_client *client; /* whose token it shows, of the configuration in force; NULL: none is needed */
} welcomed;

/* By which credentials of clients are hashed: who has the same finds what is kept under such hashes. Kept as it stands
 * here. */
typedef struct gateway_secret {
    uint64_t process;          /* made at the start */
    unsigned char tenants[32]; /* the key of keyed hashes, made when it is first needed */
} gateway_secret;

struct gateway {
    uv_loop_t *loop;
    server *srv;
    setup *now;
    welcomed welcomed;
    gateway_options options; /* its file and address are malloc'd */
    driver drive;
    void *health_memory;
    event_log *events;
    state *state;                    /* NULL: what is known ends with the process */
    replicas *replicas;              /* NULL: nobody else knows it */
    refused_count refused[REFUSALS]; /* at the door, by reason */
    daruma_ms started;
    loop_timers *timers; /* clocks of exchanges */
    exchange *idle;      /* used exchanges, kept for the next */
    exchange *over;      /* ... that are not: gone in the next turn of the loop */
    size_t nidle;
    uint32_t active;   /* exchanges under way */
    key_run *key_runs; /* commands under way */
    gateway_secret secret;
    char via[sizeof "1.1 daruma-01234567"]; /* what it is called in Via: RFC 9110, section 7.6.3 */
    bool tenant_keyed;                      /* secret.tenants was made */
    jobs *jobs;                             /* work under way, and what waits for it */
    turns *turns;
    meter *meter;
    exporter *exporter; /* of spans */
    usage_log *usage;   /* a line for each request that is over */
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
    loop_timer clock;
    daruma_ms due;               /* the session wants to be called then, or later than `clock` rings; -1: never */
    int status;                  /* that went to the client, 0 none yet */
    const config_client *client; /* whose token the request shows, of `s`; NULL: nobody's */
    uint64_t credential;         /* hash of what the client showed */
    trace *trace;                /* NULL: it is not traced */
    passing *passing;            /* the model of a request that only passes through; NULL: it names none of ours */
    job *job;                    /* work for it is under way beside the loop */
    cloud_stream *streams;       /* answers that may come in Amazon's framing; NULL: none */
    exchange *next_waiting, *next_idle;
    bool told; /* an event of it went out, and none that ended it */
    bool over; /* its memory goes when its clock rings */
};

extern const drive_host exchange_host;
extern const drive_rooms exchange_rooms; /* arenas and tables on malloc */
void exchange_on_clock(loop_timer *clock);
/* `d`: of the call's path, or NULL; `client`: whose token it shows, of g->now, NULL nobody's; `read`: what was found in
 * its body, NULL: nobody has read it. */
void exchange_begin(gateway *g, call *c, const dialect *d, const config_client *client, const session_read *read);
void exchange_free_idle(gateway *g);
uint64_t exchange_tenant(const exchange *x);
/* asker.share: of the client's conversation, or of this request where none is known (0). It is the same in every daruma
 * and after a restart; 0 where the configuration shares no load. */
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

/* ---- cloud.c: Anthropic's models at clouds (config_provider.cloud) ---- */

/* The request target for a model. */
daruma_str cloud_path(const config_provider *p, daruma_str model, bool stream, daruma_arena *a);
/* Makes of a request for Anthropic's API, which is out[0], pieces of one for the cloud. `betas`: words of BETA_FIELD,
 * with commas between. What is new is in `a`. */
void cloud_body(const config_provider *p, daruma_str betas, daruma_str out[4], daruma_arena *a);
/* The answer to this call may come as messages of Amazon's event stream: it is to be read by what follows. */
void cloud_stream_begin(exchange *x, const config_provider *p, const void *handle);
void cloud_stream_head(exchange *x, const void *handle, const http_head *h);
bool cloud_stream_framed(exchange *x, const void *handle); /* its head says that it does */
/* Of an answer that does: *ret is what these bytes say as server-sent events, perhaps nothing, in `a`. Also why nothing
 * more can be read: NET_PROTOCOL (what stands behind that is damaged), NET_LOCAL (no memory). */
daruma_net cloud_stream_read(exchange *x, const void *handle, daruma_str bytes, daruma_arena *a, daruma_str *ret);
/* Sets *over when the call is over, until it is called with NULL. */
void cloud_stream_watch(exchange *x, const void *handle, bool *over);
/* The call is over, in whatever way. False: within a message. */
bool cloud_stream_end(exchange *x, const void *handle);

/* ---- job.c: work beside the loop ---- */

bool exchange_work(void *user, size_t bytes, const drive_work *kind, void *data);
void exchange_work_left(void *user, drive_remains *r);
void jobs_free(jobs *all); /* the gateway is over; jobs may still be under way */

/* ---- redact_sent.c: credentials in the words of others ---- */

void exchange_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str *texts, size_t n);

/* ---- head.c: header fields, both ways ---- */

/* Fields for the provider: the client's, without hop-by-hop ones and ours, with the right credentials. `d` is the
 * dialect it is spoken to in, `traceparent` that of the call, empty: the client's own; `without` as drive_request
 * has it. What is made for them is in `a`; NULL or incomplete when that ran full. */
#define BETA_FIELD "anthropic-beta"
/* What the client says in BETA_FIELD, but for `without`. What is new is in `a`. */
daruma_str head_betas(const exchange *x, daruma_str without, daruma_arena *a);
daruma_header *head_for_provider(exchange *x, const config_provider *p, const dialect *d, daruma_str secret,
                                 daruma_str traceparent, daruma_str without, size_t *n, daruma_arena *a);
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
/* Makes the key by which clients' credentials are hashed, unless there is one. False: there is no chance to be had. */
bool tenant_key_made(gateway *g);

#endif
