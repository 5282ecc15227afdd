/* gateway.c - puts the parts together and takes requests. */
#include "gateway/gateway.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/routes/routes.h"
#include "gateway/see/see.h"
#include "gateway/see/meter.h"
#include "gateway/see/trace.h"
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
    bool welcome = g->welcomed.call == c->id;
    const config_client *client = welcome ? g->welcomed.client : NULL;
    const dialect *d = dialect_of_path(c->head.path);
    session_read read;
    read.scan.ok = false;
    if ((!welcome && guard_refuses(g, c)) || path_refused_form(g, c) || upgrade_refuses(c) || admin_handles(g, c) ||
        lock_refuses(g, c, d, &read, &client) || path_refused_unknown(g, c, d) || models_answers(g, c))
        return;
    exchange_begin(g, c, d, client, read.scan.ok ? &read : NULL);
}

/* True if the request's body is to be read. Those that guard_refuses() and lock_refuses() turn away are refused without
 * it: it would take memory, and hold a connection. */
static bool on_wants_body(const call *c, void *user)
{
    gateway *g = user;
    const config *cfg = &g->now->cfg;
    const config_client *client = NULL;
    bool wants = guard_welcomes(cfg, &c->head) && (!cfg->nclients || (client = lock_client(cfg, &c->head)));
    if (wants)
        g->welcomed = (welcomed){.call = c->id, .client = client};
    return wants;
}

static void on_gone(call *c, void *user)
{
    gateway *g = user;
    if (c->user)
        ((exchange *)c->user)->ops->gone(c->user);
    else
        events_unsubscribe(g->events, c);
}

static void on_drained(call *c, void *user)
{
    (void)user;
    if (c->user)
        ((exchange *)c->user)->ops->drained(c->user);
}

static const server_ops ops = {
    .request = on_request, .wants_body = on_wants_body, .gone = on_gone, .drained = on_drained, .refusal = call_words};

static bool open_events(gateway *g, const config *cfg, daruma_buf *why)
{
    char cause[512];
    bool aloud = g->options.loud || (cfg->events_stderr && !g->options.quiet);
    if (events_open(g->events, cfg->events_file, aloud, cause) && usage_open(g->usage, cfg->usage_file, cause))
        return true;
    buf_putz(why, cause);
    return false;
}

static bool start(gateway *g, daruma_buf *why)
{
    char host[256], cause[256] = "";
    daruma_arena a;
    size_t bytes = daruma_health_bytes(HEALTH_PLACES);
    g->health_memory = malloc(bytes);
    g->events = events_new();
    g->usage = usage_new(g->loop);
    g->exporter = exporter_new(g);
    a = arena_over(g->health_memory, g->health_memory ? bytes : 0);
    g->meter = meter_new();
    g->drive.host = &exchange_host;
    g->drive.rooms = &exchange_rooms;
    g->drive.health = daruma_health_new(&a, HEALTH_PLACES);
    if (!g->drive.health || !driver_begin(&g->drive) || !g->events || !g->usage || !g->exporter || !g->meter) {
        BUF_LIT(why, "there is no memory");
        return false;
    }
    bool waits;
    if (!(g->now = setup_new(g, NULL, &waits, why)) || !open_events(g, &g->now->cfg, why))
        return false;
    const config *cfg = &g->now->cfg;
    bool known = !cfg->state.n || (g->state = state_open(g, cfg->state));
    g->turns = turns_new(g->loop); /* until here nobody waits */
    g->timers = loop_timers_new(g->loop, exchange_on_clock);
    if (!known || !g->turns || !g->timers) {
        BUF_LIT(why, "there is no memory");
        return false;
    }
    uv_unref((uv_handle_t *)&g->timers->timer);
    if (cfg->store.host.n && !(g->replicas = replicas_open(g, &cfg->store))) {
        BUF_LIT(why, "there is no memory");
        return false;
    }
    snprintf(host, sizeof host, STR_FMT, STR_ARG(cfg->listen.host));
    server_limits limits = {.body_bytes = cfg->body_bytes_max,
                            .all_bytes = cfg->all_bytes_max,
                            .call_bytes = CALL_BYTES_USUAL + (cfg->traces.host.n ? TRACE_BYTES_USUAL : 0),
                            .connections = cfg->connections_max,
                            .socket = g->options.socket,
                            .sockets = g->options.sockets};
    g->srv = server_listen(g->loop, host, cfg->listen.port, &limits, &ops, g, cause);
    if (!g->srv)
        buf_putz(why, cause);
    else
        server_secure(g->srv, g->now->shown);
    return g->srv != NULL;
}

static void gateway_free(gateway *g)
{
    replicas_close(g->replicas);
    state_close(g->state);
    exchange_free_idle(g);
    setup_drop(g->now);
    events_free(g->events);
    usage_free(g->usage);
    exporter_close(g->exporter);
    turns_free(g->turns);
    loop_timers_free(g->timers);
    meter_free(g->meter);
    jobs_free(g->jobs);
    driver_end(&g->drive);
    free(g->health_memory);
    free((char *)(uintptr_t)g->options.config_file);
    free((char *)(uintptr_t)g->options.listen);
    free(g);
}

gateway *gateway_start(uv_loop_t *loop, const gateway_options *o, daruma_buf *why)
{
    gateway *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    daruma_moment at = sys_moment();
    g->loop = loop;
    g->started = (daruma_ms)uv_now(loop);
    g->secret.process = at.dice;
    snprintf(g->via, sizeof g->via, "1.1 daruma-%08x", (unsigned)(sys_moment().dice & 0xffffffff));
    g->options = *o;
    g->options.config_file = o->config_file ? strdup(o->config_file) : NULL;
    g->options.listen = o->listen ? strdup(o->listen) : NULL;
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

bool gateway_reload(gateway *g, bool *waits, daruma_buf *why)
{
    setup *was = g->now, *s = setup_new(g, &was->cfg, waits, why);
    if (s && !open_events(g, &s->cfg, why)) {
        setup_drop(s);
        s = NULL;
    }
    if (!s)
        return false;
    g->now = s;
    g->welcomed = (welcomed){0};
    server_secure(g->srv, s->shown);
    setup_drop(was);
    daruma_health_reconsider(g->drive.health);
    driver_wake(gateway_drive(g));
    return true;
}

static void spans_sent(void *user)
{
    gateway *g = user;
    if (g->drained)
        g->drained(g->drained_user);
}

static void server_drained(void *user)
{
    gateway *g = user;
    exporter_flush(g->exporter, spans_sent, g);
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

/* " (1 rate_limit, 2 network)"; nothing where no call failed, since what was known was done ahead. */
static void put_kinds(daruma_buf *out, const uint64_t by_kind[DARUMA_KINDS])
{
    const char *before = " (";
    for (int k = 0; k < DARUMA_KINDS; k++)
        if (by_kind[k]) {
            buf_printf(out, "%s%llu %s", before, (unsigned long long)by_kind[k], daruma_kind_name((daruma_kind)k));
            before = ", ";
        }
    if (before[0] == ',')
        BUF_LIT(out, ")");
}

bool gateway_asked(const gateway *g)
{
    return g->drive.counts.requests || g->drive.counts.passed;
}

void gateway_summary(const gateway *g, daruma_buf *out)
{
    const drive_counts *n = &g->drive.counts;
    uint64_t recovered = n->recovered + n->passed_recovered;
    buf_printf(out, "daruma: %llu request%s", (unsigned long long)n->requests, n->requests == 1 ? "" : "s");
    if (n->passed)
        buf_printf(out, " and %llu passed on", (unsigned long long)n->passed);
    buf_printf(out, ", %llu call%s to providers.", (unsigned long long)n->calls, n->calls == 1 ? "" : "s");
    if (recovered) {
        buf_printf(out, " Recovered %llu", (unsigned long long)recovered);
        put_kinds(out, n->saved);
        if (n->waited_ms) {
            BUF_LIT(out, ", waiting ");
            buf_duration(out, (daruma_ms)n->waited_ms);
            BUF_LIT(out, " in all");
        }
        BUF_LIT(out, ".");
    }
    uint64_t lost = n->failed + n->explained + n->degraded;
    if (lost)
        buf_printf(out, " Not recovered: %llu (%llu explained, %llu broken off, %llu failed", (unsigned long long)lost,
                   (unsigned long long)n->explained, (unsigned long long)n->degraded, (unsigned long long)n->failed);
    if (n->failed_advised)
        buf_printf(out, ", %llu of them with what to do", (unsigned long long)n->failed_advised);
    if (lost)
        BUF_LIT(out, ").");
    if (!recovered && !lost)
        BUF_LIT(out, " Nothing had to be recovered.");
    BUF_LIT(out, "\n");
}
