/* setup.c - one configuration in force: read, checked, and turned into what a request needs at hand. Requests
 * hold on to the one they began under, so a reload changes nothing for them. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/routes/routes.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

/* The same for providers at one host, however it is spelled, and port. */
static uint64_t site_of(const url *u)
{
    char host[256];
    size_t n = u->host.n < sizeof host ? u->host.n : sizeof host;
    for (size_t i = 0; i < n; i++)
        host[i] = ch_lower(u->host.p[i]);
    return XXH3_64bits_withSeed(host, n, (uint64_t)u->port);
}

/* What requests need of the configuration at once. */
static bool build_options(setup *s)
{
    s->options = (drive_options){.policy = &s->cfg.policy,
                                 .orphans = s->cfg.orphans,
                                 .on_failure = s->cfg.on_failure,
                                 .strategies = s->cfg.strategies,
                                 .compact_tool_errors = s->cfg.tool_errors == TOOL_ERRORS_COMPACT,
                                 .first_byte = s->cfg.clocks.first_byte,
                                 .idle = s->cfg.clocks.idle,
                                 .total = s->cfg.clocks.total};
    s->sites = ARENA_NEW(&s->arena, uint64_t, s->cfg.nproviders ? s->cfg.nproviders : 1);
    for (size_t i = 0; s->sites && i < s->cfg.nproviders; i++)
        s->sites[i] = site_of(&s->cfg.providers[i].to);
    return !s->arena.full;
}

static bool build_keys(setup *s)
{
    s->keys = ARENA_NEW(&s->arena, key_state *, s->cfg.nproviders);
    for (size_t p = 0; s->keys && p < s->cfg.nproviders; p++) {
        size_t n = s->cfg.providers[p].nkeys;
        s->keys[p] = ARENA_NEW(&s->arena, key_state, n ? n : 1);
        for (size_t k = 0; s->keys[p] && k < n; k++)
            s->keys[p][k] = (key_state){.key = &s->cfg.providers[p].keys[k], .provider = &s->cfg.providers[p]};
    }
    return !s->arena.full;
}

static bool read_config(setup *s, const gateway_options *o, const config *running, bool *waits, daruma_buf *why)
{
    const config_source from = {.file = o->config_file,
                                .text = o->config_text,
                                .listen = o->listen,
                                .held = o->socket != 0,
                                .running = running};
    conf_mistakes *m = malloc(sizeof *m);
    bool fine = m && config_arena(&s->arena) && config_load(&from, &s->arena, &s->cfg, waits, m) == CONFIG_FINE;
    if (m && !fine)
        conf_mistakes_say(m, why);
    free(m);
    return fine;
}

setup *setup_new(gateway *g, const config *running, bool *waits, daruma_buf *why)
{
    setup *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->g = g;
    s->refs = 1;
    if (!read_config(s, &g->options, running, waits, why)) {
        setup_drop(s);
        return NULL;
    }
    if (g->options.own) { /* one program on this machine, that knows no token */
        s->cfg.nclients = 0;
        s->cfg.cert_file = s->cfg.key_file = (daruma_str){0};
    }
    char cause[256] = "";
    const upstream_settings u = {.https_proxy = s->cfg.https_proxy,
                                 .http_proxy = s->cfg.http_proxy,
                                 .no_proxy = s->cfg.no_proxy,
                                 .ca_file = s->cfg.ca_file.n ? s->cfg.ca_file.p : NULL};
    if (!build_options(s) || !build_keys(s) || !setup_routes_build(s) ||
        !lock_prepare(s)) { /* config_load() left room for it */
        BUF_LIT(why, "there is no memory");
    } else if (!(s->up = upstream_new(g->loop, &u, cause)) ||
               (s->cfg.cert_file.n &&
                !(s->shown = tls_server_context_new(s->cfg.cert_file.p, s->cfg.key_file.p, cause)))) {
        buf_putz(why, cause);
    } else {
        return s;
    }
    setup_drop(s);
    return NULL;
}

setup *setup_hold(setup *s)
{
    s->refs++;
    return s;
}

static void forget_secrets(setup *s)
{
    for (size_t p = 0; s->keys && p < s->cfg.nproviders; p++)
        for (size_t k = 0; s->keys[p] && k < s->cfg.providers[p].nkeys; k++) {
            key_state *key = &s->keys[p][k];
            if (key->secret)
                explicit_bzero(key->secret, key->secret_n);
            free(key->secret);
        }
}

void setup_drop(setup *s)
{
    if (!s || --s->refs > 0)
        return;
    forget_secrets(s);
    if (s->up)
        upstream_close(s->up);
    tls_context_free(s->shown);
    models_kept_free(s->lists);
    sys_arena_done(&s->arena);
    free(s);
}
