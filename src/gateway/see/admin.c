/* admin.c - what people and machines ask daruma itself: GET /daruma/health, /daruma/status, /daruma/events, /metrics,
 * and where they look first: /, /health, /ready. */
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"
#include "gateway/see/see.h"
#include "gateway/page.h"
#include <stdlib.h>

enum { PLACES_SHOWN_MAX = 256 };

static const char *kind_name(int k)
{
    return daruma_kind_name((daruma_kind)k);
}

static const char *remedy_name(int r)
{
    return daruma_remedy_name((daruma_remedy_kind)r);
}

/* An object of those of `n` counts that are not 0. */
static void put_some(daruma_buf *b, const char *name, const uint64_t *counts, int n, const char *name_of(int))
{
    BUF_SAY(b, "\"", name, "\":{");
    for (int i = 0; i < n; i++)
        if (counts[i])
            BUF_MEMBERS(b, name_of(i), counts[i]);
    BUF_LIT(b, "},");
}

static void put_counts(daruma_buf *b, const drive_counts *n)
{
    uint64_t bad = 0;
    for (int k = 0; k < DARUMA_KINDS; k++)
        bad += n->kinds[k];
    BUF_LIT(b, "\"requests\":");
    BUF_OBJECT(b, "all", n->requests, "ok", n->ok, "recovered", n->recovered, "degraded", n->degraded, "explained",
               n->explained, "failed", n->failed, "cancelled", n->cancelled, "passed_on", n->passed, "unchecked",
               n->unchecked);
    BUF_LIT(b, ",\"calls\":{");
    BUF_MEMBERS(b, "all", n->calls, "failed", bad, "on_the_side", n->side_calls, "beside_the_loop", n->jobs, "hedges",
                n->hedges, "hedges_won", n->hedges_won, "wasted_ms", n->wasted_ms, "waited_ms", n->waited_ms);
    buf_printf(b, ",\"error_rate\":%llu.%03llu},", n->calls ? (unsigned long long)(bad / n->calls) : 0ULL,
               n->calls ? (unsigned long long)(bad % n->calls * 1000 / n->calls) : 0ULL);
    put_some(b, "failures", n->kinds, DARUMA_KINDS, kind_name);
    put_some(b, "saved", n->saved, DARUMA_KINDS, kind_name); /* requests recovered, by what went wrong last */
    put_some(b, "remedies", n->remedies, DARUMA_REMEDIES, remedy_name);
}

static void put_target(daruma_buf *b, const gateway *g, const daruma_target *t, daruma_ms now)
{
    daruma_condition h = daruma_health_look(g->drive.health, t, now);
    int64_t window = t->window > 0 ? t->window : driver_window(&g->drive, t->lane_id);
    buf_putc(b, '{');
    BUF_MEMBERS(b, "provider", t->provider, "model", t->model, "account", t->account, "key", t->key, "reserve",
                BUF_IF(t->reserve, t->reserve), "well", h.well);
    if (!h.well)
        BUF_MEMBERS(b, "why", daruma_kind_name(h.why), "who", daruma_scope_name(h.who), "well_in_ms", h.in);
    BUF_MEMBERS(b, "window", BUF_IF(window > 0, window));
    BUF_LIT(b, ",\"learned\":");
    driver_lessons_status(&g->drive, t->lane_id, b);
    BUF_MEMBERS(b, "retries_left", daruma_budget_left(daruma_health_budget(g->drive.health, t, now), now));
    buf_putc(b, '}');
}

static void put_targets(daruma_buf *b, const gateway *g, daruma_ms now)
{
    const setup *s = g->now;
    BUF_LIT(b, "\"targets\":{");
    for (size_t r = 0; r < s->nroutes; r++) {
        BUF_SAY(b, r ? "," : "", buf_quoted(s->routes[r].model), ":[");
        for (size_t t = 0; t < s->routes[r].ntargets; t++) {
            buf_putz(b, t ? "," : "");
            put_target(b, g, &s->routes[r].targets[t], now);
        }
        buf_putc(b, ']');
    }
    BUF_LIT(b, "},");
}

/* What a place is called, if it belongs to a configured target; the clients' own keys have no names. */
static void put_place_name(daruma_buf *b, const setup *s, uint64_t id)
{
    for (size_t r = 0; r < s->nroutes; r++)
        for (size_t i = 0; i < s->routes[r].ntargets; i++) {
            const daruma_target *t = &s->routes[r].targets[i];
            char text[512];
            daruma_buf name = buf_over(text, sizeof text);
            if (id != t->provider_id && id != t->account_id && id != t->key_id && id != t->model_id && id != t->lane_id)
                continue;
            buf_put(&name, t->provider);
            if (id != t->provider_id)
                BUF_SAY(&name, "/", id == t->account_id ? t->account : id == t->key_id ? t->key : t->model);
            BUF_MEMBERS(b, "name", buf_str(&name), "account", BUF_IF(id == t->lane_id, t->account));
            return;
        }
}

static void put_providers(daruma_buf *b, const config *c)
{
    BUF_LIT(b, "\"providers\":[");
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "name", p->name, "dialect", p->dialect->name, "at", p->to.authority, "keys", p->nkeys);
    }
    BUF_LIT(b, "],");
}

static void put_places(daruma_buf *b, const gateway *g, daruma_ms now)
{
    daruma_place places[PLACES_SHOWN_MAX];
    size_t all = daruma_health_list(g->drive.health, now, places, PLACES_SHOWN_MAX);
    buf_printf(b, "\"places_watched\":%zu,\"places\":[", all);
    for (size_t i = 0; i < all && i < PLACES_SHOWN_MAX; i++) {
        const daruma_place *p = &places[i];
        const daruma_tally *n = &p->tally;
        bool ill = p->cool_in || p->bad; /* of what was always well there is nothing to tell */
        buf_putz(b, i ? ",{\"id\":\"" : "{\"id\":\"");
        buf_hex64(b, p->id);
        buf_putc(b, '"');
        put_place_name(b, g->now, p->id);
        BUF_MEMBERS(b, "who", daruma_scope_name(p->scope), "why", BUF_IF(ill, daruma_kind_name(p->why)), "breaker",
                    p->breaker, "cool_in_ms", p->cool_in, "calls", p->calls, "bad", p->bad, "sick_calls", n->sick,
                    "probes", n->probes, "hedges", n->hedges, "knocks", n->knocks, "waits", n->waits);
        buf_putc(b, '}');
    }
    BUF_LIT(b, "],");
}

static void put_status(gateway *g, daruma_buf *b)
{
    daruma_ms now = gateway_now(g).now;
    buf_putc(b, '{');
    BUF_MEMBERS(b, "version", DARUMA_VERSION, "uptime_ms", now - g->started, "profile", g->now->cfg.policy.profile,
                "active", g->active, "connections", server_connections(g->srv), "upstream_connections",
                upstream_open(g->now->up), "sessions", driver_sessions(&g->drive));
    buf_putc(b, ',');
    put_counts(b, &g->drive.counts);
    turns_status(g->turns, b);
    refusals_status(g, b);
    events_status(g->events, b);
    put_providers(b, &g->now->cfg);
    put_targets(b, g, now);
    driver_learned_status(gateway_drive(g), b);
    put_places(b, g, now);
    driver_watch_status(&g->drive, b);
    driver_known_status(&g->drive, b);
    BUF_LIT(b, "}\n");
}

static void answer(call *c, int status, daruma_str type, daruma_str body)
{
    daruma_header h[] = {{S("content-type"), type}, {S("cache-control"), S("no-store")}, {S("allow"), S("GET, HEAD")}};
    call_head(c, status, h, status == 405 ? 3 : 2, (int64_t)body.n);
    call_write(c, body);
    call_end(c);
}

/* Where people and probes look first. */
static bool is_probe(daruma_str path)
{
    return str_eq(path, S("/")) || str_eq(path, S("/health")) || str_eq(path, S("/ready"));
}

static bool is_own(daruma_str path)
{
    return str_starts(path, S("/daruma/")) || str_eq(path, S("/daruma")) || str_eq(path, S("/metrics"));
}

bool admin_answers(daruma_str path)
{
    return is_probe(path) || is_own(path);
}

/* Of the configured targets, all and those that may be called now. */
static size_t count_targets(const gateway *g, size_t *well)
{
    daruma_ms now = gateway_now(g).now;
    const setup *s = g->now;
    size_t all = 0;
    *well = 0;
    for (size_t r = 0; r < s->nroutes; r++)
        for (size_t t = 0; t < s->routes[r].ntargets && !s->routes[r].targets[t].reserve; t++, all++)
            *well += daruma_health_look(g->drive.health, &s->routes[r].targets[t], now).well;
    return all;
}

/* It is ready while somebody can answer: where none of the configured targets is well another daruma is the better one
 * to ask. */
static bool answers_probe(gateway *g, call *c)
{
    bool asks = str_eq(c->head.method, S("GET")) || str_eq(c->head.method, S("HEAD"));
    if (!is_probe(c->head.path) || !asks)
        return false;
    size_t well, all = count_targets(g, &well);
    bool ready = !g->draining && (!all || well);
    daruma_buf b = buf_in(c->arena);
    BUF_OBJECT(&b, "name", "daruma", "version", DARUMA_VERSION, "ready", ready, "targets", all, "well", well);
    buf_putc(&b, '\n');
    c->user = NULL;
    answer(c, !ready && str_eq(c->head.path, S("/ready")) ? 503 : 200, S("application/json"), buf_str(&b));
    return true;
}

static void answer_events(gateway *g, call *c)
{
    daruma_header h[] = {{S("content-type"), S("text/event-stream; charset=utf-8")},
                         {S("cache-control"), S("no-store")}};
    if (!events_has_room(g->events)) {
        answer(c, 503, S("application/json"), S("{\"error\":\"too many listen to events already\"}\n"));
        return;
    }
    call_head(c, 200, h, 2, -1);
    call_write(c, S(": daruma events, one JSON line each\n\n"));
    if (g->draining)
        call_end(c); /* who listens is not waited for */
    else
        events_subscribe(g->events, c, http_header(&c->head, S("last-event-id")), gateway_now(g).now);
}

/* Appends the plain words for each kind of failure and each remedy, as data of the page: the page has no list of its
 * own. */
static void put_words(daruma_buf *b)
{
    BUF_LIT(b, "<script type=\"application/json\" id=\"words\">{");
    for (int k = 0; k < DARUMA_KINDS; k++)
        BUF_MEMBERS(b, daruma_kind_name((daruma_kind)k), daruma_kind_words((daruma_kind)k));
    for (int r = 1; r < DARUMA_REMEDIES; r++)
        BUF_MEMBERS(b, daruma_remedy_name((daruma_remedy_kind)r), daruma_remedy_words((daruma_remedy_kind)r));
    for (int n = 1; n < DARUMA_NETS; n++)
        BUF_MEMBERS(b, daruma_net_name((daruma_net)n), daruma_net_words((daruma_net)n));
    BUF_LIT(b, "}</script>\n");
}

/* It holds nothing but itself, asks nobody but us, and whoever opens it shows the admin token for the rest. */
static void answer_page(call *c)
{
    daruma_buf words = buf_in(c->arena);
    put_words(&words);
    if (words.full) {
        answer(c, 500, S("text/plain"), S("There is no memory for the page.\n"));
        return;
    }
    daruma_header h[] = {{S("content-type"), S("text/html; charset=utf-8")},
                         {S("cache-control"), S("no-store")},
                         {S("content-security-policy"),
                          S("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src "
                            "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")},
                         {S("x-content-type-options"), S("nosniff")},
                         {S("referrer-policy"), S("no-referrer")}};
    call_head(c, 200, h, COUNT(h), (int64_t)(sizeof page + words.n));
    call_write(c, (daruma_str){(const char *)page, sizeof page});
    call_write(c, buf_str(&words));
    call_end(c);
}

bool admin_handles(gateway *g, call *c)
{
    daruma_str path = c->head.path;
    if (answers_probe(g, c))
        return true;
    if (!is_own(path))
        return false;
    c->user = NULL;                                /* not an exchange */
    bool head = str_eq(c->head.method, S("HEAD")); /* monitors ask so; the server leaves the body out */
    if (!head && !str_eq(c->head.method, S("GET"))) {
        answer(c, 405, S("text/plain"), S("Only GET is answered here.\n"));
    } else if (str_eq(path, S("/daruma/health"))) {
        answer(c, g->draining ? 503 : 200, S("application/json"),
               g->draining ? S("{\"status\":\"draining\"}\n") : S("{\"status\":\"ok\"}\n"));
    } else if (str_eq(path, S("/daruma/")) || str_eq(path, S("/daruma"))) {
        answer_page(c);
    } else if (lock_refuses_admin(g, c)) {
        return true;
    } else if (str_eq(path, S("/daruma/status"))) {
        daruma_buf b = buf_in(c->arena);
        put_status(g, &b);
        answer(c, b.full ? 500 : 200, S("application/json"), buf_str(&b));
    } else if (str_eq(path, S("/metrics"))) {
        daruma_buf b = buf_in(c->arena);
        bool open = metrics_open(&c->head);
        metrics_write(g, open, &b);
        answer(c, b.full ? 500 : 200,
               open ? S("application/openmetrics-text; version=1.0.0; charset=utf-8")
                    : S("text/plain; version=0.0.4; charset=utf-8"),
               buf_str(&b));
    } else if (str_eq(path, S("/daruma/events")) && !head) {
        answer_events(g, c);
    } else {
        answer(c, 404, S("text/plain"),
               S("There are /daruma/ (a page), /daruma/health, /daruma/status, /daruma/events and /metrics.\n"));
    }
    return true;
}
