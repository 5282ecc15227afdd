/* wire.c - keeps connections: their end, their clock, the pool; moves bytes. Making them is dial.c's. */
#include "net/wire.h"
#include "base/arena.h"
#include "base/str.h"
#include "net/proxy.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- origins ---- */

static const url *proxy_of(const upstream *u, const url *to)
{
    const url *p = to->tls ? &u->https_proxy : &u->http_proxy;
    return p->host.n && !proxy_exempts(u->no_proxy, to->host, to->port) ? p : NULL;
}

origin *origin_of(upstream *u, const url *to)
{
    for (origin *o = u->origins; o; o = o->next)
        if (o->port == to->port && o->tls == to->tls && str_ieq(str_of(o->host), to->host))
            return o;
    origin *o = calloc(1, sizeof *o + to->host.n + 1);
    if (!o)
        return NULL;
    o->host = (char *)(o + 1);
    memcpy(o->host, to->host.p, to->host.n);
    o->port = to->port;
    o->trip = -1;
    o->tls = to->tls;
    o->proxy = proxy_of(u, to);
    o->next = u->origins;
    u->origins = o;
    return o;
}

void wire_took_trip(wire *w, daruma_ms took)
{
    origin *o = w->origin;
    o->trip = o->trip < 0 || took < o->trip ? took : o->trip + (took - o->trip) / 4;
}

/* ---- the end of a wire ---- */

void upstream_free_when_done(upstream *u)
{
    if (!u->closing || u->open || u->lookups)
        return;
    for (origin *o = u->origins, *next; o; o = next) {
        next = o->next;
        tls_session_free(o->session);
        free(o);
    }
    while (u->nspare_fetches)
        free(u->spare_fetches[--u->nspare_fetches]);
    while (u->nspare_requests)
        free(u->spare_requests[--u->nspare_requests]);
    tls_context_free(u->tls);
    loop_timers_free(u->timers);
    gather_free(u->gather);
    sys_arena_done(&u->arena);
    free(u);
}

void wire_on_closed(uv_handle_t *h)
{
    wire *w = h->data;
    upstream *u = w->upstream;
    *(w->prev ? &w->prev->next : &u->all) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    tls_free(w->tls);
    http_rest_keep(&w->rest, (daruma_str){0});
    free(w->dial);
    free(w);
    u->open--;
    upstream_free_when_done(u);
}

static void leave_pool(wire *w)
{
    origin *o = w->origin;
    *(w->idle_prev ? &w->idle_prev->idle_next : &o->idle) = w->idle_next;
    if (w->idle_next)
        w->idle_next->idle_prev = w->idle_prev;
    w->idle_next = w->idle_prev = NULL;
    o->nidle--;
}

void wire_close(wire *w)
{
    if (w->state == WIRE_CLOSING)
        return;
    if (w->state == WIRE_IDLE)
        leave_pool(w);
    w->state = WIRE_CLOSING;
    if (w->gathered)
        gather_drop(w->upstream->gather, w);
    loop_timer_stop(w->upstream->timers, &w->clock);
    if (!w->dial || !dial_abandon(w))
        uv_close((uv_handle_t *)&w->tcp, wire_on_closed);
}

void wire_broken(wire *w, daruma_net net, const char *why)
{
    if (w->fetch)
        fetch_on_broken(w->fetch, net, why);
    else
        wire_close(w);
}

void wire_fail_later(wire *w, daruma_net net, const char *why)
{
    if (w->failed)
        return;
    w->failed = (uint8_t)net;
    w->why = why;
    wire_arm(w, 0);
}

/* ---- its clock ---- */

void wire_on_clock(loop_timer *clock)
{
    wire *w = (wire *)((char *)clock - offsetof(wire, clock));
    daruma_ms now = upstream_now(w->upstream);
    if (w->failed) {
        wire_broken(w, (daruma_net)w->failed, w->why);
    } else if (w->fetch) {
        if (w->dial)
            dial_on_clock(w, now);
        fetch_on_clock(w->fetch);
    } else if (now - w->since >= POOL_IDLE_MS) {
        wire_close(w);
    } else {
        wire_arm(w, w->since + POOL_IDLE_MS);
    }
}

/* The clock may fire earlier than it has to: who is called looks and arms it again. So it is set anew only
 * when something becomes due sooner. */
void wire_arm(wire *w, daruma_ms at)
{
    bool sooner = !w->clock.at || at < w->clock.at;
    if (sooner && at < INT64_MAX && w->state != WIRE_CLOSING)
        loop_timer_set(w->upstream->timers, &w->clock, at);
}

/* ---- the pool ---- */

wire *wire_take(origin *o)
{
    wire *w = o->idle;
    if (!w)
        return NULL;
    leave_pool(w);
    w->state = WIRE_BUSY;
    return w;
}

void wire_keep(wire *w)
{
    origin *o = w->origin;
    http_rest_keep(&w->rest, (daruma_str){0});
    if (o->nidle >= POOL_IDLE_MAX || w->failed || !wire_read(w, true)) {
        wire_close(w);
        return;
    }
    w->state = WIRE_IDLE;
    w->since = upstream_now(w->upstream);
    w->idle_next = o->idle;
    if (w->idle_next)
        w->idle_next->idle_prev = w;
    o->idle = w;
    o->nidle++;
    wire_arm(w, w->since + POOL_IDLE_MS);
}

/* ---- writing ---- */

static void on_copied(uv_write_t *req, int status)
{
    wire *w = req->handle->data;
    free(req);
    if (status == 0 && w->state == WIRE_BUSY && w->fetch)
        fetch_on_room(w->fetch);
}

void wire_write_copy(wire *w, daruma_str bytes)
{
    if (!bytes.n)
        return;
    uv_buf_t buf = {.base = (char *)(uintptr_t)bytes.p, .len = bytes.n};
    if (socket_write(&w->tcp, &buf, 1, on_copied) == UV_ENOMEM)
        wire_fail_later(w, DARUMA_NET_LOCAL, "out of memory"); /* of any other, what can still be read tells why */
}

void wire_flush_tls(wire *w)
{
    wire_write_copy(w, tls_take(w->tls));
}

/* ---- reading ---- */

static void on_plain(wire *w, daruma_str in)
{
    if (w->state == WIRE_TUNNEL)
        dial_on_tunnel(w, in);
    else if (w->state == WIRE_BUSY)
        fetch_on_bytes(w->fetch, in);
    else
        wire_close(w); /* nobody asked */
}

void wire_ready(wire *w)
{
    free(w->dial);
    w->dial = NULL;
    fetch_on_ready(w->fetch);
}

static void tls_broke(wire *w)
{
    upstream *u = w->upstream;
    daruma_net net = tls_why(w->tls, u->why);
    wire_broken(w, net, u->why);
}

static void on_cipher(wire *w, daruma_str in)
{
    upstream *u = w->upstream;
    tls_put(w->tls, in);
    if (w->state == WIRE_HANDSHAKE) {
        tls_step step = tls_handshake(w->tls);
        wire_flush_tls(w);
        if (step == TLS_MORE)
            return;
        if (step != TLS_DONE) {
            tls_broke(w);
            return;
        }
        wire_ready(w);
    }
    for (;;) {
        size_t n = 0;
        tls_step step = tls_read(w->tls, u->plain, sizeof u->plain, &n);
        wire_flush_tls(w);
        if (step == TLS_DONE)
            on_plain(w, (daruma_str){u->plain, n});
        else if (step == TLS_BAD)
            tls_broke(w);
        else if (step == TLS_CLOSED && w->fetch)
            fetch_on_eof(w->fetch, true);
        else if (step == TLS_CLOSED)
            wire_close(w);
        if (step != TLS_DONE || w->state == WIRE_CLOSING)
            return;
    }
}

static void on_eof(wire *w)
{
    if (w->state == WIRE_TUNNEL)
        wire_broken(w, DARUMA_NET_PROXY, "the proxy closed the connection");
    else if (w->state == WIRE_HANDSHAKE)
        wire_broken(w, DARUMA_NET_TLS, "the connection was closed during the TLS handshake");
    else if (w->state == WIRE_BUSY)
        fetch_on_eof(w->fetch, !w->tls);
    else
        wire_close(w);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    wire *w = h->data;
    (void)suggested;
    /* libuv reads 32 times before it looks at other connections: half a MB of a stream is 10 ms of work. */
    *buf = uv_buf_init(w->upstream->buffer, sizeof w->upstream->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    wire *w = stream->data;
    if (n == 0 || w->state == WIRE_CLOSING)
        return;
    if (n > 0 && (size_t)n >= GATHERED_PIECE_BYTES_MAX) /* it takes long to work off: what waits does not wait for it */
        gather_flush(w->upstream->gather);
    if (n == UV_EOF)
        on_eof(w);
    else if (n < 0)
        wire_broken(w, DARUMA_NET_RESET, "the connection was reset");
    else if (w->tls)
        on_cipher(w, (daruma_str){buf->base, (size_t)n});
    else
        on_plain(w, (daruma_str){buf->base, (size_t)n});
}

bool wire_read(wire *w, bool on)
{
    if (on == w->reading)
        return true;
    if (!on)
        uv_read_stop((uv_stream_t *)&w->tcp);
    w->reading = on && uv_read_start((uv_stream_t *)&w->tcp, on_alloc, on_read) == 0;
    return w->reading == on;
}

/* ---- the whole ---- */

static bool read_proxy(daruma_str text, daruma_arena *a, url *ret, char why[256])
{
    const char *wrong = NULL;
    daruma_buf b = buf_in(a);
    if (!text.n)
        return true;
    if (str_find(text, S("://")) == STR_NONE) /* curl takes host:port, too */
        BUF_LIT(&b, "http://");
    buf_put(&b, text);
    if (!b.full && url_parse(buf_str(&b), a, ret, &wrong) && !ret->tls)
        return true;
    /* Not the text: it may hold a password. */
    snprintf(why, 256, "the proxy cannot be used: %s", wrong ? wrong : "only http:// proxies are spoken");
    return false;
}

upstream *upstream_new(uv_loop_t *loop, const upstream_settings *s, char why[256])
{
    upstream *u = calloc(1, sizeof *u);
    if (!u || !sys_arena_init(&u->arena, 1024, 1 << 20)) {
        free(u);
        snprintf(why, 256, "out of memory");
        return NULL;
    }
    sys_ignore_sigpipe();
    u->loop = loop;
    u->insecure = s->insecure;
    u->public_only = s->public_only;
    u->no_proxy = arena_copy(&u->arena, s->no_proxy);
    u->ca_file = arena_copy(&u->arena, str_of(s->ca_file));
    bool fine = read_proxy(arena_copy(&u->arena, s->http_proxy), &u->arena, &u->http_proxy, why) &&
                read_proxy(arena_copy(&u->arena, s->https_proxy), &u->arena, &u->https_proxy, why);
    if (fine && u->ca_file.n) /* the system's authorities are loaded when the first TLS connection is made */
        fine = (u->tls = tls_context_new(u->ca_file.p, why)) != NULL;
    if (fine)
        return u;
    u->closing = true;
    upstream_free_when_done(u);
    return NULL;
}

void upstream_close(upstream *u)
{
    u->closing = true;
    u->open++; /* so that it lives until the end of this function */
    for (wire *w = u->all; w; w = w->next) {
        fetch *f = w->fetch;
        w->fetch = NULL;
        wire_close(w);
        if (f)
            fetch_free(f);
    }
    u->open--;
    upstream_free_when_done(u);
}

bool upstream_public_only(const upstream *u)
{
    return u->public_only;
}

uint32_t upstream_open(const upstream *u)
{
    return u->open;
}
