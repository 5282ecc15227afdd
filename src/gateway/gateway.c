/* gateway.c - puts the parts together and takes requests. */
#include "gateway/gateway.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

daruma_moment gateway_now(const gateway *g)
{
    return sys_moment_at((daruma_ms)uv_now(g->loop));
}

driver *gateway_drive(gateway *g)
{
    g->drive.at = gateway_now(g);
    return &g->drive;
}

static void on_request(call *c, void *user)
{
    gateway *g = user;
    bool refused = guard_refuses(g, c) || path_refused_form(g, c) || upgrade_refuses(c);
    if (!refused && !admin_handles(g, c) && !path_refused_unknown(g, c))
        exchange_begin(g, c);
}

static void on_gone(call *c, void *user)
{
    gateway *g = user;
    if (c->user)
        exchange_gone(c->user);
    else
        events_unsubscribe(g->events, c);
}

static void on_drained(call *c, void *user)
{
    (void)user;
    if (c->user)
        exchange_drained(c->user);
}

static const server_ops ops = {.request = on_request, .gone = on_gone, .drained = on_drained};

/* --listen lies over the file's word. */
static bool listen_where(gateway *g, char why[512])
{
    config_error err = {0};
    if (!g->listen || config_listen(str_of(g->listen), &g->now->arena, &g->now->cfg, &err))
        return true;
    snprintf(why, 512, "--listen: %.480s", err.text);
    return false;
}

/* A provider at our own address would get each request back, as a new one, until nothing is left of the machine. */
static bool asks_itself(const gateway *g, char why[512])
{
    const config *cfg = &g->now->cfg;
    for (size_t i = 0; i < cfg->nproviders; i++)
        if (config_is_self(cfg, &cfg->providers[i])) {
            snprintf(why, 512,
                     "provider " STR_FMT ": its address (" STR_FMT ") is where daruma itself listens; give it the "
                     "provider's own",
                     STR_ARG(cfg->providers[i].name), STR_ARG(cfg->providers[i].to.authority));
            return true;
        }
    return false;
}

static bool open_events(gateway *g, char why[512])
{
    const config *cfg = &g->now->cfg;
    bool aloud = g->options.loud || (cfg->events_stderr && !g->options.quiet);
    return events_open(g->events, cfg->events_file, aloud, why);
}

static bool start(gateway *g, char why[512])
{
    char host[256], cause[256] = "";
    daruma_arena a;
    size_t bytes = daruma_health_bytes(HEALTH_PLACES);
    g->health_memory = malloc(bytes);
    g->events = events_new();
    snprintf(why, 512, "there is no memory");
    if (!g->health_memory || !g->events)
        return false;
    a = arena_over(g->health_memory, bytes);
    g->drive.host = &exchange_host;
    g->drive.rooms = &exchange_rooms;
    g->drive.health = daruma_health_new(&a, HEALTH_PLACES);
    if (!g->drive.health || !driver_begin(&g->drive) || !(g->now = setup_new(g, &g->options, why)))
        return false;
    if (!listen_where(g, why) || asks_itself(g, why) || !open_events(g, why))
        return false;
    snprintf(host, sizeof host, STR_FMT, STR_ARG(g->now->cfg.listen_host));
    int port = g->now->cfg.listen_port;
    const config *cfg = &g->now->cfg;
    server_limits limits = {
        .body_bytes = cfg->body_bytes_max, .all_bytes = cfg->all_bytes_max, .connections = cfg->connections_max};
    g->srv = server_listen(g->loop, host, port, &limits, &ops, g, cause);
    if (!g->srv)
        snprintf(why, 512, "%s", cause);
    return g->srv != NULL;
}

static void gateway_free(gateway *g)
{
    exchange_free_idle(g);
    setup_drop(g->now);
    events_free(g->events);
    jobs_free(g->jobs);
    driver_end(&g->drive);
    free(g->health_memory);
    free(g->config_file);
    free(g->listen);
    free(g);
}

gateway *gateway_start(uv_loop_t *loop, const gateway_options *o, char why[512])
{
    gateway *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    daruma_moment at = sys_moment();
    g->loop = loop;
    g->started = (daruma_ms)uv_now(loop);
    g->secret = at.dice;
    snprintf(g->via, sizeof g->via, "1.1 daruma-%08x", (unsigned)(sys_moment().dice & 0xffffffff));
    g->config_file = o->config_file ? strdup(o->config_file) : NULL;
    g->listen = o->listen ? strdup(o->listen) : NULL;
    g->options = (gateway_options){g->config_file, o->config_text, g->listen, o->quiet, o->loud};
    if (start(g, why))
        return g;
    gateway_free(g);
    return NULL;
}

int gateway_port(const gateway *g)
{
    return server_port(g->srv);
}

const config *gateway_config(const gateway *g)
{
    return &g->now->cfg;
}

/* The socket and its limits were made at the start and stay in force. True when the file says something else now, which
 * then waits for the next start. */
static bool keep_socket(setup *now, const config *was, bool listen_given)
{
    config *c = &now->cfg;
    bool other = was->body_bytes_max != c->body_bytes_max || was->all_bytes_max != c->all_bytes_max ||
                 was->connections_max != c->connections_max;
    if (!listen_given)
        other |= !str_eq(was->listen_host, c->listen_host) || was->listen_port != c->listen_port;
    c->listen_host = arena_copy(&now->arena, was->listen_host);
    c->listen_port = was->listen_port;
    c->body_bytes_max = was->body_bytes_max;
    c->all_bytes_max = was->all_bytes_max;
    c->connections_max = was->connections_max;
    return other;
}

bool gateway_reload(gateway *g, char why[512])
{
    setup *s = setup_new(g, &g->options, why);
    if (!s)
        return false;
    setup *was = g->now;
    bool waits = keep_socket(s, &was->cfg, g->listen != NULL);
    g->now = s;
    if (asks_itself(g, why) || !open_events(g, why)) {
        g->now = was;
        setup_drop(s);
        return false;
    }
    snprintf(why, 512, "%s", waits ? "`listen` and `limits` hold from the next start on" : "");
    setup_drop(was);
    daruma_health_reconsider(g->drive.health);
    driver_wake(gateway_drive(g));
    return true;
}

static void server_drained(void *user)
{
    gateway *g = user;
    if (g->drained)
        g->drained(g->drained_user);
}

void gateway_drain(gateway *g, void (*done)(void *user), void *user)
{
    if (g->draining) { /* asked twice: now */
        if (done)
            done(user);
        return;
    }
    g->draining = true;
    g->drained = done;
    g->drained_user = user;
    events_end(g->events);
    server_drain(g->srv, server_drained, g);
}

void gateway_close(gateway *g)
{
    g->draining = true;
    g->drained = NULL;
    events_end(g->events);
    server_close(g->srv);
    keys_stop(g); /* nobody waits for them any more */
    gateway_free(g);
}

static void put_kinds(daruma_buf *out, const uint64_t by_kind[DARUMA_KINDS])
{
    bool first = true;
    for (int k = 0; k < DARUMA_KINDS; k++)
        if (by_kind[k]) {
            buf_printf(out, "%s%llu %s", first ? "" : ", ", (unsigned long long)by_kind[k],
                       daruma_kind_name((daruma_kind)k));
            first = false;
        }
}

bool gateway_asked(const gateway *g)
{
    return g->drive.counts.requests || g->drive.counts.passed;
}

void gateway_summary(const gateway *g, daruma_buf *out)
{
    const drive_counts *n = &g->drive.counts;
    buf_printf(out, "daruma: %llu request%s, %llu call%s to providers.", (unsigned long long)n->requests,
               n->requests == 1 ? "" : "s", (unsigned long long)n->calls, n->calls == 1 ? "" : "s");
    if (n->recovered) {
        buf_printf(out, " Recovered %llu (", (unsigned long long)n->recovered);
        put_kinds(out, n->saved);
        BUF_LIT(out, ")");
        if (n->waited_ms) {
            BUF_LIT(out, ", waiting ");
            buf_duration(out, (daruma_ms)n->waited_ms);
            BUF_LIT(out, " in all");
        }
        BUF_LIT(out, ".");
    }
    uint64_t lost = n->failed + n->explained + n->degraded;
    if (lost)
        buf_printf(out, " Not recovered: %llu (%llu explained, %llu broken off, %llu failed).",
                   (unsigned long long)lost, (unsigned long long)n->explained, (unsigned long long)n->degraded,
                   (unsigned long long)n->failed);
    if (!n->recovered && !lost)
        BUF_LIT(out, " Nothing had to be recovered.");
    BUF_LIT(out, "\n");
}
