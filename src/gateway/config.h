/* config.h - the YAML file and what is true without one. Options are rows of one table in
 * config.c: parser, bounds, default, help, `daruma check` and doc/config.md come from it. */
#ifndef GATEWAY_CONFIG_H
#define GATEWAY_CONFIG_H
#include "daruma.h"
#include "dialect/dialect.h"
#include "net/upstream.h"
#include "net/url.h"

typedef struct config_key {
    daruma_str value;   /* the secret; empty when `command` gives it */
    daruma_str command; /* run by the shell, prints the secret; run again once on `auth` */
    daruma_str account; /* limits are shared within one; default: the key's own name */
    daruma_str name;    /* never secret: "key1", or as written in the file */
} config_key;

typedef struct config_provider {
    daruma_str name;
    const dialect *dialect; /* how it speaks */
    url to;
    config_key *keys; /* none: the client's own credentials are passed on */
    size_t nkeys;
    daruma_header *headers; /* sent along with every request */
    size_t nheaders;
} config_provider;

typedef struct config_target {
    int provider; /* index */
    daruma_str model;
} config_target;

typedef struct config_model {
    daruma_str name; /* as clients ask for it */
    config_target *targets;
    size_t ntargets;
    int64_t window, max_output; /* tokens, -1 unknown: learned */
} config_model;

typedef enum config_on_failure { ON_FAILURE_AUTO, ON_FAILURE_ERROR, ON_FAILURE_MESSAGE } config_on_failure;

typedef struct config {
    daruma_str file; /* where it was read from; empty: built in */
    daruma_str listen_host;
    int listen_port; /* 4141 */
    config_provider *providers;
    size_t nproviders;
    config_model *models;
    size_t nmodels;
    fetch_clocks clocks;  /* 5 s, 60 s, 30 s, 10 min */
    daruma_policy policy; /* profile with `recovery` laid over it */
    config_on_failure on_failure;
    daruma_str events_file; /* empty: none */
    bool events_stderr;     /* a readable line each; default: when stderr is a terminal */
    size_t body_bytes_max;
    uint32_t connections_max;
    daruma_str https_proxy, http_proxy, no_proxy; /* from the file, else the environment */
    daruma_str ca_file;
    bool zero; /* no file: providers are the two built-in ones */
} config;

/* Where and what is wrong with a file. */
typedef struct config_error {
    int line, column; /* 1-based, 0 unknown */
    char text[512];   /* "timeouts.connect: expected a duration like 5s, got \"soon\"" and the remedy */
} config_error;

typedef daruma_str (*config_env)(daruma_str name, bool *found, void *user);

/* Reads YAML text. Everything lives in `a`. `env` answers ${NAME}. False and *err on failure. */
bool config_read(daruma_str text, config_env env, void *user, daruma_arena *a, config *ret, config_error *err);
/* What is true without a file: Anthropic and OpenAI with the clients' own credentials. ANTHROPIC_UPSTREAM_URL and
 * OPENAI_UPSTREAM_URL, where set, say where they are. */
bool config_zero(config_env env, void *user, daruma_arena *a, config *ret, config_error *err);
#endif
