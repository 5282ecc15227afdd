/* wire.c - makes connections, keeps idle ones, moves bytes. */
#include "net/wire.h"
#include "base/arena.h"
#include "base/str.h"
#include "net/proxy.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

/* A name being resolved. Cannot always be cancelled, so it may outlive its wire. */
typedef struct lookup {
    uv_getaddrinfo_t req;
    upstream *upstream;
    wire *wire; /* NULL: nobody waits any more */
} lookup;

struct dial {
    uv_connect_t req;
    lookup *lookup;
    daruma_ms share; /* the address being tried has until then, if there are others; INT64_MAX: no limit */
    int next;        /* address to be tried */
    int error;       /* of the last one, libuv's */
    bool changing;   /* the socket is being closed for the next address */
};

static daruma_ms now_of(const upstream *u)
{
    return (daruma_ms)uv_now(u->loop);
}

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
    o->tls = to->tls;
    o->proxy = proxy_of(u, to);
    o->next = u->origins;
    u->origins = o;
    return o;
}

/* ---- the end of a wire ---- */

static void free_upstream(upstream *u)
{
    if (!u->closing || u->open || u->lookups)
        return;
    for (origin *o = u->origins, *next; o; o = next) {
        next = o->next;
        tls_session_free(o->session);
        free(o);
    }
    tls_context_free(u->tls);
    sys_arena_done(&u->arena);
    free(u);
}

static void on_closed(uv_handle_t *h)
{
    wire *w = h->data;
    upstream *u = w->upstream;
    if (--w->handles)
        return;
    *(w->prev ? &w->prev->next : &u->all) = w->next;
    if (w->next)
        w->next->prev = w->prev;
    tls_free(w->tls);
    http_rest_keep(&w->rest, (daruma_str){0});
    free(w->unsent);
    free(w->dial);
    free(w);
    u->open--;
    free_upstream(u);
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
    if (w->dial && w->dial->lookup) {
        w->dial->lookup->wire = NULL;
        uv_cancel((uv_req_t *)&w->dial->lookup->req);
    }
    if (!w->dial || !w->dial->changing)
        uv_close((uv_handle_t *)&w->tcp, on_closed);
    uv_close((uv_handle_t *)&w->clock, on_closed);
}

static void broken(wire *w, daruma_net net, const char *why)
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

static void try_next(wire *w);

static void on_clock(uv_timer_t *clock)
{
    wire *w = clock->data;
    daruma_ms now = now_of(w->upstream);
    w->armed = INT64_MAX;
    if (w->failed) {
        broken(w, (daruma_net)w->failed, w->why);
    } else if (w->fetch) {
        if (w->state == WIRE_CONNECTING && now >= w->dial->share) {
            w->dial->error = UV_ETIMEDOUT;
            try_next(w);
        }
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
    if (at >= w->armed || w->state == WIRE_CLOSING)
        return;
    daruma_ms now = now_of(w->upstream);
    w->armed = at;
    uv_timer_start(&w->clock, on_clock, at > now ? (uint64_t)(at - now) : 0, 0);
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
    w->since = now_of(w->upstream);
    w->idle_next = o->idle;
    if (w->idle_next)
        w->idle_next->idle_prev = w;
    o->idle = w;
    o->nidle++;
    wire_arm(w, w->since + POOL_IDLE_MS);
}

/* ---- writing ---- */

typedef struct copy {
    uv_write_t req;
    char bytes[];
} copy;

static void on_copied(uv_write_t *req, int status)
{
    wire *w = req->handle->data;
    free(req); /* the first of its copy */
    if (status == 0 && w->state == WIRE_BUSY && w->fetch)
        fetch_on_room(w->fetch);
}

void wire_write_copy(wire *w, daruma_str bytes)
{
    if (!bytes.n)
        return;
    uv_buf_t buf = {.base = (char *)(uintptr_t)bytes.p, .len = bytes.n};
    int sent = w->tcp.write_queue_size ? UV_EAGAIN : uv_try_write((uv_stream_t *)&w->tcp, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN)
        return; /* what can still be read tells why */
    daruma_str rest = str_from(bytes, sent > 0 ? (size_t)sent : 0);
    if (!rest.n)
        return;
    copy *c = malloc(sizeof *c + rest.n);
    if (c) {
        memcpy(c->bytes, rest.p, rest.n);
        buf = uv_buf_init(c->bytes, (unsigned)rest.n);
        if (uv_write(&c->req, (uv_stream_t *)&w->tcp, &buf, 1, on_copied) == 0)
            return;
        free(c);
    }
    wire_fail_later(w, DARUMA_NET_RESET, "out of memory");
}

void wire_flush_tls(wire *w)
{
    wire_write_copy(w, tls_take(w->tls));
}

/* ---- reading ---- */

static void on_tunnel(wire *w, daruma_str in);

static void on_plain(wire *w, daruma_str in)
{
    if (w->state == WIRE_TUNNEL)
        on_tunnel(w, in);
    else if (w->state == WIRE_BUSY)
        fetch_on_bytes(w->fetch, in);
    else
        wire_close(w); /* nobody asked */
}

static void ready(wire *w)
{
    free(w->dial);
    w->dial = NULL;
    fetch_on_ready(w->fetch);
}

static void tls_broke(wire *w)
{
    upstream *u = w->upstream;
    daruma_net net = tls_why(w->tls, u->why);
    broken(w, net, u->why);
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
        ready(w);
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
        broken(w, DARUMA_NET_PROXY, "the proxy closed the connection");
    else if (w->state == WIRE_HANDSHAKE)
        broken(w, DARUMA_NET_TLS, "the connection was closed during the TLS handshake");
    else if (w->state == WIRE_BUSY)
        fetch_on_eof(w->fetch, !w->tls);
    else
        wire_close(w);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    wire *w = h->data;
    (void)suggested;
    *buf = uv_buf_init(w->upstream->buffer, sizeof w->upstream->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    wire *w = stream->data;
    if (n == 0 || w->state == WIRE_CLOSING)
        return;
    if (n == UV_EOF)
        on_eof(w);
    else if (n < 0)
        broken(w, DARUMA_NET_RESET, "the connection was reset");
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

/* ---- connecting ---- */

static void begin_tls(wire *w)
{
    upstream *u = w->upstream;
    origin *o = w->origin;
    if (!u->tls)
        u->tls = tls_context_new(u->ca_file.n ? u->ca_file.p : NULL, u->why);
    bool loopback = str_ieq(str_of(o->host), S("localhost")) || str_starts(str_of(o->host), S("127.")) ||
                    str_eq(str_of(o->host), S("::1"));
    w->tls = u->tls ? tls_new(u->tls, o->host, !(u->insecure && loopback), &o->session) : NULL;
    if (!w->tls) {
        broken(w, DARUMA_NET_TLS, u->tls ? "out of memory" : u->why);
        return;
    }
    w->state = WIRE_HANDSHAKE;
    tls_handshake(w->tls);
    wire_flush_tls(w);
}

static void on_tunnel(wire *w, daruma_str in)
{
    upstream *u = w->upstream;
    http_fault fault = {0};
    http_head head;
    bool until_close;
    if (!http_rest_keep(&w->rest, in)) {
        broken(w, DARUMA_NET_PROXY, "out of memory");
        return;
    }
    in = (daruma_str){w->rest.p, w->rest.n};
    http_found found = http_scan_head(&w->scan, in.p, in.n, &fault);
    if (found == HTTP_MORE)
        return;
    if (found == HTTP_BAD ||
        !http_read_answer(str_sub(in, 0, w->scan.at), true, u->fields, &head, &until_close, &fault)) {
        broken(w, DARUMA_NET_PROXY, "the proxy's answer was not valid HTTP");
        return;
    }
    bool rest = in.n > w->scan.at;
    w->scan = (http_scan){0};
    http_rest_keep(&w->rest, (daruma_str){0});
    if (head.status / 100 != 2 || rest) {
        snprintf(u->why, sizeof u->why, "the proxy answered CONNECT with %d", head.status);
        broken(w, DARUMA_NET_PROXY, u->why);
        return;
    }
    begin_tls(w);
}

static void on_connect(uv_connect_t *req, int status)
{
    wire *w = req->handle->data;
    if (w->state != WIRE_CONNECTING || w->dial->changing)
        return;
    if (status < 0) {
        w->dial->error = status;
        try_next(w);
        return;
    }
    origin *o = w->origin;
    uv_tcp_nodelay(&w->tcp, 1);
    if (!wire_read(w, true)) {
        broken(w, DARUMA_NET_RESET, "the connection cannot be read");
    } else if (o->tls && o->proxy) {
        daruma_buf b = buf_over(w->upstream->scratch, sizeof w->upstream->scratch);
        w->state = WIRE_TUNNEL;
        proxy_put_connect(&b, o->proxy, str_of(o->host), o->port);
        wire_write_copy(w, buf_str(&b));
    } else if (o->tls) {
        begin_tls(w);
    } else {
        ready(w);
    }
}

// clang-format off
static const struct { int error; daruma_net net; } meanings[] = {
    {UV_ECONNREFUSED, DARUMA_NET_REFUSED},
    {UV_ECONNRESET, DARUMA_NET_RESET},
    {UV_ETIMEDOUT, DARUMA_NET_CONNECT_TIMEOUT},
};
// clang-format on

static void no_address_left(wire *w)
{
    origin *o = w->origin;
    daruma_net net = DARUMA_NET_UNREACHABLE;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].error == w->dial->error)
            net = meanings[i].net;
    o->at_until = 0; /* perhaps it has moved */
    wire_fail_later(w, net, uv_strerror(w->dial->error));
}

static void try_address(wire *w)
{
    origin *o = w->origin;
    dial *d = w->dial;
    const struct sockaddr *at = (const struct sockaddr *)&o->at[d->next++];
    /* An address that swallows packets must not take the time of the others: it gets an equal share. */
    daruma_ms all = w->fetch ? fetch_connect_ms(w->fetch) : 0, now = now_of(w->upstream);
    int left = o->nat - d->next;
    d->share = all && left > 0 ? now + (w->since + all - now) / (left + 1) : INT64_MAX;
    wire_arm(w, d->share);
    w->state = WIRE_CONNECTING;
    int e = uv_tcp_connect(&d->req, &w->tcp, at, on_connect);
    if (e) {
        d->error = e;
        try_next(w);
    }
}

static void on_changed(uv_handle_t *h)
{
    wire *w = h->data;
    w->dial->changing = false;
    if (w->state == WIRE_CLOSING) {
        on_closed(h);
        return;
    }
    uv_tcp_init(w->upstream->loop, &w->tcp);
    w->tcp.data = w;
    try_address(w);
}

static void try_next(wire *w)
{
    dial *d = w->dial;
    d->share = INT64_MAX;
    if (d->next >= w->origin->nat) {
        no_address_left(w);
        return;
    }
    d->changing = true; /* a socket that failed to connect is of no use any more */
    uv_close((uv_handle_t *)&w->tcp, on_changed);
}

static void add_address(origin *o, const struct sockaddr *at, int port)
{
    size_t n = at->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
               : at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : 0;
    if (!n || o->nat == DNS_ADDRESSES_MAX)
        return;
    struct sockaddr_in6 *to = &o->at[o->nat++];
    memcpy(to, at, n);
    to->sin6_port = htons((uint16_t)port); /* stands at the same place in both families */
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    lookup *l = (lookup *)req;
    upstream *u = l->upstream;
    wire *w = l->wire;
    u->lookups--;
    if (w) {
        origin *o = w->origin;
        w->dial->lookup = NULL;
        o->nat = 0;
        for (const struct addrinfo *a = status == 0 ? found : NULL; a; a = a->ai_next)
            add_address(o, a->ai_addr, o->proxy ? o->proxy->port : o->port);
        if (o->nat) {
            o->at_until = now_of(u) + DNS_CACHE_MS;
            try_address(w);
        } else {
            snprintf(u->why, sizeof u->why, "%.150s: %s", o->host, uv_strerror(status));
            broken(w, DARUMA_NET_DNS, u->why);
        }
    }
    if (status == 0)
        uv_freeaddrinfo(found);
    free(l);
    free_upstream(u);
}

static void resolve(wire *w)
{
    upstream *u = w->upstream;
    origin *o = w->origin;
    daruma_str host = o->proxy ? o->proxy->host : str_of(o->host);
    int port = o->proxy ? o->proxy->port : o->port;
    char name[256];
    struct sockaddr_storage at;
    if (o->nat && o->at_until > now_of(u)) {
        try_address(w);
        return;
    }
    if (host.n >= sizeof name) {
        wire_fail_later(w, DARUMA_NET_DNS, "the host name is too long");
        return;
    }
    snprintf(name, sizeof name, STR_FMT, STR_ARG(host));
    if (uv_ip4_addr(name, port, (struct sockaddr_in *)&at) == 0 ||
        uv_ip6_addr(name, port, (struct sockaddr_in6 *)&at) == 0) {
        o->nat = 0;
        add_address(o, (struct sockaddr *)&at, port);
        o->at_until = INT64_MAX;
        try_address(w);
        return;
    }
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    lookup *l = calloc(1, sizeof *l);
    if (l && uv_getaddrinfo(u->loop, &l->req, on_resolved, name, NULL, &hints) == 0) {
        l->upstream = u;
        l->wire = w;
        w->dial->lookup = l;
        u->lookups++;
        return;
    }
    free(l);
    wire_fail_later(w, DARUMA_NET_DNS, "the name could not be looked up");
}

wire *wire_dial(upstream *u, origin *o, fetch *f)
{
    wire *w = calloc(1, sizeof *w);
    dial *d = w ? calloc(1, sizeof *d) : NULL;
    if (!d) {
        free(w);
        return NULL;
    }
    w->upstream = u;
    w->origin = o;
    w->fetch = f;
    w->dial = d;
    w->since = now_of(u);
    w->armed = INT64_MAX;
    w->handles = 2;
    uv_tcp_init(u->loop, &w->tcp);
    uv_timer_init(u->loop, &w->clock);
    w->tcp.data = w->clock.data = w;
    w->next = u->all;
    if (w->next)
        w->next->prev = w;
    u->all = w;
    u->open++;
    resolve(w);
    return w;
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
    u->no_proxy = arena_copy(&u->arena, s->no_proxy);
    u->ca_file = arena_copy(&u->arena, str_of(s->ca_file));
    bool fine = read_proxy(arena_copy(&u->arena, s->http_proxy), &u->arena, &u->http_proxy, why) &&
                read_proxy(arena_copy(&u->arena, s->https_proxy), &u->arena, &u->https_proxy, why);
    if (fine && u->ca_file.n) /* the system's authorities are loaded when the first TLS connection is made */
        fine = (u->tls = tls_context_new(u->ca_file.p, why)) != NULL;
    if (fine)
        return u;
    u->closing = true;
    free_upstream(u);
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
    free_upstream(u);
}

uint32_t upstream_open(const upstream *u)
{
    return u->open;
}
