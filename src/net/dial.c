/* dial.c - makes a connection: the name, its addresses one after the other, the proxy's tunnel, TLS. */
#include "net/wire.h"
#include "base/str.h"
#include "net/address.h"
#include "net/proxy.h"
#include "sys/sys.h"
#include <netinet/tcp.h>
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
    daruma_ms tried; /* when the address at hand was, or the proxy was asked for its tunnel */
    daruma_ms share; /* the address being tried has until then, if there are others; INT64_MAX: no limit */
    int next;        /* address to be tried */
    int error;       /* of the last one, libuv's */
    bool changing;   /* the socket is being closed for the next address */
};

/* ---- connected ---- */

static void begin_tls(wire *w)
{
    upstream *u = w->upstream;
    origin *o = w->origin;
    if (!u->tls)
        u->tls = tls_context_new(u->ca_file.n ? u->ca_file.p : NULL, u->why);
    bool judge = !(u->insecure && host_is_loopback(str_of(o->host)));
    w->tls = u->tls ? tls_new(u->tls, o->host, judge, &o->session) : NULL;
    if (!w->tls) {
        wire_broken(w, u->tls || sys_out_of_descriptors() ? DARUMA_NET_LOCAL : DARUMA_NET_TLS,
                    u->tls ? "out of memory" : u->why);
        return;
    }
    w->state = WIRE_HANDSHAKE;
    tls_handshake(w->tls);
    wire_flush_tls(w);
}

void dial_on_tunnel(wire *w, daruma_str in)
{
    upstream *u = w->upstream;
    http_fault fault = {0};
    http_head head;
    bool until_close;
    if (!http_rest_keep(&w->rest, in)) {
        wire_broken(w, DARUMA_NET_LOCAL, "out of memory");
        return;
    }
    in = (daruma_str){w->rest.p, w->rest.n};
    http_found found = http_scan_head(&w->scan, in.p, in.n, &fault);
    if (found == HTTP_MORE)
        return;
    if (found == HTTP_BAD ||
        !http_read_answer(str_sub(in, 0, w->scan.at), true, u->fields, &head, &until_close, &fault)) {
        wire_broken(w, DARUMA_NET_PROXY, "the proxy's answer was not valid HTTP");
        return;
    }
    bool rest = in.n > w->scan.at;
    w->scan = (http_scan){0};
    http_rest_keep(&w->rest, (daruma_str){0});
    if (head.status / 100 != 2 || rest) {
        snprintf(u->why, sizeof u->why, "the proxy answered CONNECT with %d", head.status);
        wire_broken(w, DARUMA_NET_PROXY, u->why);
        return;
    }
    wire_took_trip(w, upstream_now(u) - w->dial->tried);
    begin_tls(w);
}

static void try_next(wire *w);

/* A model may think for minutes; NATs forget sooner. And a peer that is gone without a word is noticed within some 90
 * s, which no clock of the answer does. */
static void keep_alive(uv_tcp_t *tcp)
{
    uv_os_fd_t fd;
    int every_s = KEEPALIVE_EVERY_S, times = KEEPALIVE_TIMES;
    uv_tcp_keepalive(tcp, 1, KEEPALIVE_FIRST_S);
    if (uv_fileno((uv_handle_t *)tcp, &fd) != 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
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
    if (!(o->tls && o->proxy))
        wire_took_trip(w, upstream_now(w->upstream) - w->dial->tried);
    uv_tcp_nodelay(&w->tcp, 1);
    keep_alive(&w->tcp);
    if (!wire_read(w, true)) {
        wire_broken(w, DARUMA_NET_RESET, "the connection cannot be read");
    } else if (o->tls && o->proxy) {
        daruma_buf b = buf_over(w->upstream->scratch, sizeof w->upstream->scratch);
        w->state = WIRE_TUNNEL;
        w->dial->tried = upstream_now(w->upstream);
        proxy_put_connect(&b, o->proxy, str_of(o->host), o->port);
        wire_write_copy(w, buf_str(&b));
    } else if (o->tls) {
        begin_tls(w);
    } else {
        wire_ready(w);
    }
}

// clang-format off
static const struct { int error; daruma_net net; } meanings[] = {
    {UV_ECONNREFUSED, DARUMA_NET_REFUSED},
    {UV_ECONNRESET, DARUMA_NET_RESET},
    {UV_ETIMEDOUT, DARUMA_NET_CONNECT_TIMEOUT},
    {UV_EMFILE, DARUMA_NET_LOCAL},
    {UV_ENFILE, DARUMA_NET_LOCAL},
    {UV_ENOMEM, DARUMA_NET_LOCAL},
    {UV_ENOBUFS, DARUMA_NET_LOCAL},
    {UV_EADDRNOTAVAIL, DARUMA_NET_LOCAL}, /* of connect(): no port is free */
};
// clang-format on

static void no_address_left(wire *w)
{
    origin *o = w->origin;
    daruma_net net = DARUMA_NET_UNREACHABLE;
    for (size_t i = 0; i < COUNT(meanings); i++)
        if (meanings[i].error == w->dial->error)
            net = meanings[i].net;
    if (o->proxy && net != DARUMA_NET_LOCAL) /* nobody should look for this at the provider */
        net = DARUMA_NET_PROXY;
    o->at_until = 0; /* perhaps it has moved */
    wire_fail_later(w, net, uv_strerror(w->dial->error));
}

static void try_address(wire *w)
{
    origin *o = w->origin;
    dial *d = w->dial;
    const struct sockaddr *at = (const struct sockaddr *)&o->at[d->next++];
    /* An address that swallows packets must not take the time of the others: it gets an equal share. */
    daruma_ms all = w->fetch ? fetch_connect_ms(w->fetch) : 0, now = upstream_now(w->upstream);
    int left = o->nat - d->next;
    d->tried = now;
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
        wire_on_closed(h);
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

/* What is looked up anew with each name may change its mind: so the address is looked at that is connected to, not the
 * name. */
static bool may_connect(const upstream *u, const origin *o, const struct sockaddr *at)
{
    return !u->public_only || o->proxy || address_is_public(at);
}

static void add_address(const upstream *u, origin *o, const struct sockaddr *at, int port)
{
    size_t n = at->sa_family == AF_INET    ? sizeof(struct sockaddr_in)
               : at->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : 0;
    if (!n || o->nat == DNS_ADDRESSES_MAX || !may_connect(u, o, at))
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
            add_address(u, o, a->ai_addr, o->proxy ? o->proxy->port : o->port);
        if (o->nat) {
            o->at_until = upstream_now(u) + DNS_CACHE_MS;
            try_address(w);
        } else if (status == 0 && found) {
            wire_broken(w, DARUMA_NET_UNREACHABLE, UPSTREAM_NOT_PUBLIC);
        } else {
            daruma_str host = o->proxy ? o->proxy->host : str_of(o->host);
            snprintf(u->why, sizeof u->why, "%.*s: %s", (int)(host.n < 150 ? host.n : 150), host.p,
                     uv_strerror(status));
            bool ours =
                status == UV_EAI_MEMORY || sys_out_of_descriptors(); /* what fails for that calls itself anything */
            wire_broken(w, ours ? DARUMA_NET_LOCAL : o->proxy ? DARUMA_NET_PROXY : DARUMA_NET_DNS, u->why);
        }
    }
    if (status == 0)
        uv_freeaddrinfo(found);
    free(l);
    upstream_free_when_done(u);
}

/* Addresses that need no asking: one that is written as such, and this machine's own. 127.0.0.1 comes last, so that
 * what is told of a port nobody listens on is its refusal. */
static bool knows_addresses(const upstream *u, origin *o, daruma_str host, const char *name, int port)
{
    const char *at[] = {name, NULL};
    struct sockaddr_storage s;
    if (host_is_localhost(host))
        at[0] = "::1", at[1] = "127.0.0.1";
    bool known = false;
    o->nat = 0;
    for (size_t i = 0; i < 2 && at[i]; i++)
        if (uv_ip4_addr(at[i], port, (struct sockaddr_in *)&s) == 0 ||
            uv_ip6_addr(at[i], port, (struct sockaddr_in6 *)&s) == 0) {
            known = true;
            add_address(u, o, (struct sockaddr *)&s, port);
        }
    return known;
}

static void resolve(wire *w)
{
    upstream *u = w->upstream;
    origin *o = w->origin;
    daruma_str host = o->proxy ? o->proxy->host : str_of(o->host);
    int port = o->proxy ? o->proxy->port : o->port;
    char name[256];
    if (o->nat && o->at_until > upstream_now(u)) {
        try_address(w);
        return;
    }
    if (host.n >= sizeof name) {
        wire_fail_later(w, o->proxy ? DARUMA_NET_PROXY : DARUMA_NET_DNS, "the host name is too long");
        return;
    }
    snprintf(name, sizeof name, STR_FMT, STR_ARG(host));
    if (knows_addresses(u, o, host, name, port)) {
        o->at_until = o->nat ? INT64_MAX : 0;
        if (o->nat)
            try_address(w);
        else
            wire_fail_later(w, DARUMA_NET_UNREACHABLE, UPSTREAM_NOT_PUBLIC);
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
    wire_fail_later(w, DARUMA_NET_LOCAL, "the name could not be looked up");
}

wire *wire_dial(upstream *u, origin *o, fetch *f)
{
    wire *w = calloc(1, sizeof *w);
    dial *d = w ? calloc(1, sizeof *d) : NULL;
    if (d && !u->timers)
        u->timers = loop_timers_new(u->loop, wire_on_clock);
    if (d && !u->gather)
        u->gather = gather_new(u->loop, fetch_on_gathered);
    if (!d || !u->timers) {
        free(d);
        free(w);
        return NULL;
    }
    w->upstream = u;
    w->origin = o;
    w->fetch = f;
    w->dial = d;
    w->since = upstream_now(u);
    uv_tcp_init(u->loop, &w->tcp);
    w->tcp.data = w;
    w->next = u->all;
    if (w->next)
        w->next->prev = w;
    u->all = w;
    u->open++;
    resolve(w);
    return w;
}

/* ---- what the wire tells ---- */

bool dial_abandon(wire *w)
{
    lookup *l = w->dial->lookup;
    if (l) {
        l->wire = NULL;
        uv_cancel((uv_req_t *)&l->req);
    }
    return w->dial->changing;
}

void dial_on_clock(wire *w, daruma_ms now)
{
    if (w->state != WIRE_CONNECTING || w->dial->changing || now < w->dial->share)
        return;
    w->dial->error = UV_ETIMEDOUT;
    try_next(w);
}
