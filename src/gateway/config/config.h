/* config.h - the YAML file and what is true without one. Options are rows of the tables in config_options.c: reading,
 * bounds, default, help, `daruma check` and doc/config.md come from them. */
#ifndef GATEWAY_CONFIG_H
#define GATEWAY_CONFIG_H
#include "daruma_parts.h"
#include "dialect/dialect.h"
#include "net/upstream.h"
#include "net/url.h"
#include "store/store.h"
#include "conf/conf.h"
#include "engine/drive/drive.h"

typedef struct config_key {
    daruma_str value;   /* the secret; empty when `command` gives it */
    daruma_str command; /* run by the shell, prints the secret; run again once on `auth` */
    daruma_str account; /* limits are shared within one; default: the key's own name */
    daruma_str name;    /* never secret: "key1", or as written in the file */
} config_key;

/* Clouds that host Anthropic's models and speak its dialect with another path, another key and a few other members. */
typedef enum config_cloud { CONFIG_NO_CLOUD, CONFIG_VERTEX, CONFIG_BEDROCK } config_cloud;

typedef struct config_provider {
    daruma_str name;
    const dialect *dialect; /* how it speaks */
    uint32_t cloud;         /* config_cloud */
    url to;
    config_key *keys; /* none: the client's own credentials are passed on */
    size_t nkeys;
    bool spread;            /* new conversations are shared between the keys; else the first that is well is asked */
    daruma_header *headers; /* sent along with every request */
    size_t nheaders;
} config_provider;

typedef struct config_target {
    int provider;               /* index */
    daruma_str model;           /* `*` in it stands for the name that the client asked for */
    int64_t window, max_output; /* tokens, -1: the model's */
    uint32_t weight;            /* its share of new conversations; 0: asked when others cannot be, or in its order where
                                   no target has any */
} config_target;

typedef struct config_model {
    daruma_str name;        /* as clients ask for it; with `*` a form of names */
    config_target *targets; /* behind them, when read, those in reserve */
    size_t ntargets;
    size_t nreserve;            /* one: on_filter */
    config_target on_filter;    /* who is asked when a content filter refused; model empty: nobody */
    int64_t window, max_output; /* tokens, -1 unknown: learned */
    int watch;                  /* 0 as for all, else 1 + daruma_watch_mode */
} config_model;

/* What an operator knows of a provider's errors: one row of `judge`. */
typedef struct config_judgement {
    daruma_str code; /* empty: any */
    daruma_str *words;
    size_t nwords;
    uint32_t status; /* 0: any */
    uint32_t kind;   /* a daruma_kind */
    daruma_ms wait;  /* 0: what the provider said */
} config_judgement;

/* A secret that clients show, given in the file or in a file of its own, whose first line it is. */
typedef struct config_token {
    daruma_str value; /* empty: there is none, or its file was not looked at */
    daruma_str file;
} config_token;

/* What tokens cost: one row of `prices`. */
typedef struct config_price {
    daruma_str model;      /* a target's model, or provider/model; with '*' */
    int64_t input, output; /* a million tokens, in millionths of whatever unit they are in */
} config_price;

/* Who may ask: one row of `clients`. */
typedef struct config_client {
    daruma_str name;
    config_token token;
    uint64_t token_hash; /* of its value, once the configuration is in force: lock_prepare() */
    daruma_str *models;  /* names with '*'; none: every model, and every path */
    size_t nmodels;
    uint32_t rate; /* requests a minute, 0 no limit */
} config_client;

typedef enum config_hedge { HEDGE_AUTO, HEDGE_OFF } config_hedge;
typedef enum config_tool_errors { TOOL_ERRORS_FULL, TOOL_ERRORS_COMPACT } config_tool_errors;

typedef struct config {
    daruma_str file;     /* where it was read from; empty: built in */
    conf_address listen; /* port 4141 */
    bool on_loopback;    /* nobody but programs of this machine reaches it */
    bool listen_taken;   /* something listens there: at the start a reason to end, else a daruma that runs already */
    daruma_str *hosts;   /* names that a listener on the loopback answers to, beside its own */
    size_t nhosts;
    daruma_str *passthrough; /* prefixes of paths that go to a provider although no API has them */
    size_t npassthrough;
    config_provider *providers;
    size_t nproviders;
    config_model *models;
    size_t nmodels;
    config_target *others; /* targets of models that nobody named; none: the first provider of the dialect */
    size_t nothers;
    config_client *clients; /* none: whoever reaches the listener, which is on the loopback then */
    size_t nclients;
    config_token admin;   /* shown for /daruma/status and /daruma/events; empty: on the loopback nothing is asked for */
    config_price *prices; /* the first that fits counts */
    size_t nprices;
    url traces;                   /* of the collector that gets spans; host empty: nothing is traced */
    daruma_header *trace_headers; /* sent along with them */
    size_t ntrace_headers;
    daruma_str usage_file;   /* empty: none */
    config_judgement *judge; /* laid over policy.rules when read */
    size_t njudge;
    fetch_clocks clocks;        /* 5 s to connect, else none */
    daruma_ms plain_first_byte; /* clocks.first_byte for answers that are not streamed; 0 none */
    daruma_policy policy;       /* profile with `recovery` laid over it */
    drive_form on_failure;
    config_hedge hedge;              /* laid over policy.hedge when read */
    drive_orphans orphans;           /* laid over policy.mend.prune_orphans when read */
    daruma_watch_mode watch;         /* what is done about agents in circles */
    daruma_strategy_mode strategies; /* ... and with proposals for another way */
    config_tool_errors tool_errors;  /* how the model sees failed tool results */
    config_target summariser;        /* who summarises; model empty: the target at hand */
    daruma_str events_file;          /* empty: none */
    store_place store;               /* that several daruma share; without a host there is none */
    daruma_str state;                /* a folder where what is known is kept; empty: nowhere */
    int events_stderr;               /* 1: a readable line each; default: when stderr is a terminal */
    size_t body_bytes_max, all_bytes_max;
    uint32_t connections_max;
    daruma_str https_proxy, http_proxy, no_proxy; /* from the file, else the environment */
    daruma_str ca_file;
    daruma_str cert_file, key_file; /* what daruma shows its clients; empty: no TLS is spoken to them */
} config;

/* Where a configuration comes from. */
typedef struct config_source {
    const char *file;      /* "-": standard input; NULL: `text` */
    const char *text;      /* the configuration itself; NULL as well: what is true without one */
    const char *listen;    /* "host:port" over the file's; NULL: the file's */
    bool held;             /* something listens for it already, and hands its socket over */
    const config *running; /* the one in force, whose socket is kept with its limits; NULL: there is none */
} config_source;

typedef enum config_verdict { CONFIG_FINE, CONFIG_UNREAD, CONFIG_WRONG } config_verdict;

/* An arena for config_load() and what is made of its result. False without memory. */
bool config_arena(daruma_arena *a);
/* Reads a configuration and looks at all for which `serve` would refuse it: what it says, the files and addresses that
 * it names, its size. *waits: it says something of the socket that holds from the next start on. Everything lives in
 * `a`. */
config_verdict config_load(const config_source *from, daruma_arena *a, config *ret, bool *waits, conf_mistakes *m);
/* A conf_env: the value of a variable of the environment. */
daruma_str config_env(daruma_str name, bool *found, void *user);
/* Reads YAML text, and looks at nothing else; text.p NULL: what is true without a file, Anthropic, OpenAI and Gemini
 * with the clients' own credentials. ANTHROPIC_UPSTREAM_URL, OPENAI_UPSTREAM_URL and GEMINI_UPSTREAM_URL, where set,
 * say where they are. `env` answers ${NAME}; NULL: no variable is set. False: *m says why. */
bool config_read(daruma_str text, conf_env env, void *user, daruma_arena *a, config *ret, conf_mistakes *m);

/* The request target for a provider: its prefix and the path (query included) a client sent, so that "/v1" stands in
 * it once. A prefix with a version segment ("/v1", "/api/v4", "/v1beta/openai"), of Anthropic's one that ends in it,
 * replaces the path's own "/v1"; without a prefix a path that has no version gets "/v1". A base path that the client
 * says itself ("/openai/v1") is the prefix, or gives way to one of its own dialect or that ends in a version. A version
 * that ends a prefix of Google's gives way to another one that the path says, and stands behind its "upload" or
 * "download". Lives in `a` or borrows `path`. */
daruma_str config_upstream_path(const config_provider *p, daruma_str path, daruma_arena *a);
/* The same of a path that daruma made: a version of the prefix stands in the place of its own. */
daruma_str config_own_path(const config_provider *p, daruma_str path, daruma_arena *a);
/* The entry of `models` for a name: its own, else the first whose form it has. NULL: there is none. */
const config_model *config_model_of(const config *c, daruma_str asked);
/* The provider for a request whose model no `models` entry names: the first that speaks `d`; providers of "openai" are
 * asked for "openai-responses" when no provider of its own is there. Index, -1 none. */
int config_provider_of(const config *c, const dialect *d);
/* The provider for a path of `d` that no dialect of ours reads, and the one that clients' own keys are meant for there;
 * none at a cloud, which has no such paths. Index, -1 none. */
int config_provider_of_path(const config *c, const dialect *d);

/* Why a log cannot be appended to, or made: an errno, 0 when it can. Nothing is made. */
int config_log_errno(daruma_str file);
/* What tokens of a model cost, in billionths of the unit of `prices`; -1: no row is about it, or nothing was counted.
 */
int64_t config_cost(const config *c, const daruma_target *t, int64_t input_tokens, int64_t output_tokens);
/* The field that holds a provider's key, with `key` in it; empty `key`: only its name. What is new is in `a`. */
daruma_header config_key_field(const config_provider *p, daruma_str key, daruma_arena *a);
/* The cloud that a provider is at, as `cloud` says it; NULL: at none. */
const char *config_cloud_name(const config_provider *p);
/* True if the file gives the provider a key, under `keys` or as a header; else it gets the client's own. */
bool config_has_key(const config_provider *p);
/* True if a client that asks in `d` cannot use target `i` of the model: it would get the client's key, which is meant
 * for another place, that of the first such target. */
bool config_out_of_reach(const config *c, const config_model *m, const dialect *d, size_t i);

/* Is the provider where `c` listens? Then each request would come back as a new one, without end. */
bool config_is_self(const config *c, const config_provider *p);

/* For people: what the configuration says, without secrets; and what in it is allowed but hardly meant, one line each,
 * nothing when all is well. */
void config_summary(const config *c, daruma_buf *out);
void config_warnings(const config *c, daruma_buf *out);
/* For programs: every option with what holds, defaults included, as a JSON object; secrets as "[redacted]". */
void config_json(const config *c, daruma_buf *out);
/* The name of the key `i` of a file that is the gateway's, NULL behind the last. */
const char *config_key_name(size_t i);
/* Every option with type, bounds, default and help, as the Markdown of doc/config.md. */
void config_options_print(daruma_buf *out);
#endif
