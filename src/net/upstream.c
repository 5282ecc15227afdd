/* upstream.c - one attempt: the request out, the answer in, the clocks. Connections are wire.c's. */
#include "net/upstream.h"
#include "net/wire.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "net/proxy.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

#define INTERIM_MAX 32 /* 1xx answers before the real one; nobody needs more */

struct fetch {
    wire *wire;
    upstream *upstream;
    fetch_request *r; /* NULL: it went out and is answered. malloc */
    fetch_clocks clocks;
    const fetch_ops *ops;
    void *user;
    daruma_ms started; /* the total clock */
    daruma_ms since;   /* first_byte and idle: the last sign of life */
    int64_t left;      /* body bytes of the answer still to come; -1 not known */
    size_t sent;       /* body bytes of the request that TLS has taken */
    size_t queued;     /* bytes that waited when the clock was last looked at */
    http_chunks chunks;
    uint8_t interim;  /* 1xx answers so far */
    bool reused;      /* went out on a pooled connection */
    bool all_sent;    /* the whole request is with the kernel or libuv; not while it is in `gather` */
    bool begun;       /* an answer byte came */
    bool headed;      /* ops.head was called */
    bool until_close; /* the body ends with the connection */
    bool keep;        /* the connection may be used again */
    bool paused;
    char *moved; /* where the provider sent it on to, its target from then on; NULL: nowhere. Its own */
};

/* ---- the clocks ---- */

typedef struct due {
    daruma_ms at; /* INT64_MAX: never */
    daruma_net net;
    const char *why;
} due;

static void sooner(due *d, daruma_ms from, daruma_ms ms, daruma_net net, const char *why)
{
    if (ms > 0 && add_sat(from, ms) < d->at)
        *d = (due){add_sat(from, ms), net, why};
}

static due next_due(const fetch *f)
{
    const fetch_clocks *c = &f->clocks;
    due d = {.at = INT64_MAX};
    sooner(&d, f->started, c->total, DARUMA_NET_TOTAL_TIMEOUT, "the answer was not complete in time");
    if (f->wire->state < WIRE_BUSY)
        sooner(&d, f->wire->since, c->connect, DARUMA_NET_CONNECT_TIMEOUT, "no connection was made in time");
    else if (!f->begun)
        sooner(&d, f->since, c->first_byte, DARUMA_NET_FIRST_BYTE_TIMEOUT, "the answer did not begin in time");
    else if (!f->paused)
        sooner(&d, f->since, c->idle, DARUMA_NET_IDLE_TIMEOUT, "the answer fell silent");
    return d;
}

static void arm(fetch *f)
{
    wire_arm(f->wire, next_due(f).at);
}

/* ---- the end ---- */

static daruma_phase phase_of(const fetch *f, wire_state state)
{
    return f->headed           ? DARUMA_AT_STREAM
           : f->begun          ? DARUMA_AT_HEAD
           : state < WIRE_BUSY ? DARUMA_AT_CONNECT
           : !f->all_sent      ? DARUMA_AT_SEND
                               : DARUMA_AT_WAIT;
}

/* True while what comes back may be the answer of somebody who had closed before the request came. */
static bool is_soon(const fetch *f)
{
    daruma_ms trip = f->wire->origin->trip, most = trip < 0 ? 0 : mul_sat(trip, POOL_AGAIN_TRIPS);
    most = most < POOL_AGAIN_MS_MIN ? POOL_AGAIN_MS_MIN : most > POOL_AGAIN_MS_MAX ? POOL_AGAIN_MS_MAX : most;
    return (daruma_ms)uv_now(f->upstream->loop) - f->wire->since <= most; /* since it was sent */
}

/* The same once more, on a fresh connection. False without memory. */
static bool dial_again(fetch *f)
{
    wire *fresh = wire_dial(f->upstream, f->wire->origin, f);
    if (!fresh)
        return false;
    f->reused = f->all_sent = f->begun = false;
    f->sent = 0;
    f->wire = fresh;
    arm(f);
    return true;
}

/* When the old connection had been closed before it saw us. */
static bool again(fetch *f, daruma_net net)
{
    if (!f->reused || f->begun || f->upstream->closing || !is_soon(f) || !dial_again(f))
        return false;
    if (f->ops->again)
        f->ops->again(f, net, f->user);
    return true;
}

void fetch_on_broken(fetch *f, daruma_net net, const char *why)
{
    wire *w = f->wire;
    daruma_phase phase = phase_of(f, (wire_state)w->state);
    w->fetch = NULL;
    wire_close(w);
    if ((net == DARUMA_NET_RESET || net == DARUMA_NET_CLOSED || net == DARUMA_NET_TLS) && again(f, net))
        return;
    f->ops->fail(f, net, phase, why, f->user);
    fetch_free(f);
}

static void complete(fetch *f, bool nothing_left)
{
    wire *w = f->wire;
    w->fetch = NULL;
    if (w->tls && tls_pending(w->tls))
        nothing_left = false; /* what nobody asked for must not become the next answer */
    if (f->keep && f->all_sent && nothing_left && !w->writing && !f->upstream->closing)
        wire_keep(w);
    else
        wire_close(w);
    f->ops->end(f, f->user);
    fetch_free(f);
}

/* ---- what the connection tells ---- */

void fetch_on_clock(fetch *f)
{
    wire *w = f->wire;
    daruma_ms now = (daruma_ms)uv_now(w->upstream->loop);
    if (w->writing && w->tcp.write_queue_size < f->queued)
        f->since = now; /* a long body on a slow line: it moves */
    f->queued = w->tcp.write_queue_size;
    due d = next_due(f);
    if (d.at <= now)
        fetch_on_broken(f, d.net, d.why);
    else
        arm(f);
}

/* Its `r` is not filled. NULL without memory. */
static fetch *fetch_new(upstream *u)
{
    fetch *f = u->nspare_fetches ? u->spare_fetches[--u->nspare_fetches] : malloc(sizeof(fetch));
    fetch_request *r = u->nspare_requests ? u->spare_requests[--u->nspare_requests] : malloc(sizeof *r);
    if (f && r) {
        *f = (fetch){.upstream = u, .r = r};
        return f;
    }
    free(f);
    free(r);
    return NULL;
}

static void drop_request(fetch *f)
{
    upstream *u = f->upstream;
    if (SYS_KEEPS && f->r && u->nspare_requests < ROOMS_KEPT && !u->closing)
        u->spare_requests[u->nspare_requests++] = f->r;
    else
        free(f->r);
    f->r = NULL;
}

void fetch_free(fetch *f)
{
    upstream *u = f->upstream;
    drop_request(f);
    free(f->moved);
    if (SYS_KEEPS && u->nspare_fetches < ROOMS_KEPT && !u->closing)
        u->spare_fetches[u->nspare_fetches++] = f;
    else
        free(f);
}

daruma_ms fetch_connect_ms(const fetch *f)
{
    return f->clocks.connect;
}

/* ---- the request ---- */

static daruma_str write_head(fetch *f)
{
    upstream *u = f->upstream;
    const fetch_request *r = f->r;
    daruma_buf b = buf_over(u->scratch, sizeof u->scratch);
    const url *proxy = f->wire->origin->tls ? NULL : f->wire->origin->proxy;
    buf_put(&b, r->method);
    buf_putc(&b, ' ');
    if (proxy) { /* absolute-form (RFC 9112 3.2.2) */
        BUF_LIT(&b, "http://");
        buf_put(&b, r->to->authority);
    }
    buf_put(&b, r->target);
    BUF_LIT(&b, " HTTP/1.1\r\n");
    http_put_field(&b, S("Host"), r->to->authority);
    for (size_t i = 0; i < r->nheaders; i++)
        http_put_field(&b, r->headers[i].name, r->headers[i].value);
    if (proxy)
        proxy_put_credentials(&b, proxy);
    if (r->has_body) {
        BUF_LIT(&b, "Content-Length: ");
        buf_int(&b, (int64_t)(r->body[0].n + r->body[1].n + r->body[2].n + r->body[3].n));
        BUF_LIT(&b, "\r\n");
    }
    BUF_LIT(&b, "\r\n");
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* Of a request that the socket did not take at once. */
typedef struct rest_write {
    uv_write_t req;
    char head[]; /* rest of its head; the body is borrowed */
} rest_write;

static void on_sent(uv_write_t *req, int status)
{
    wire *w = req->handle->data;
    w->writing = false;
    free(req); /* the first of its rest */
    if (w->fetch && status == 0) {
        w->fetch->all_sent = true;
        w->fetch->since = (daruma_ms)uv_now(w->upstream->loop);
    } /* else an early answer or the end can still be read: that side tells */
}

/* Head and body in one call; the body is borrowed, so only a rest of the first piece, the head, needs a copy. */
static void send_now(fetch *f, uv_buf_t *bufs, unsigned n)
{
    wire *w = f->wire;
    unsigned first = 0;
    int e = uv_try_write((uv_stream_t *)&w->tcp, bufs, n);
    if (e < 0 && e != UV_EAGAIN)
        return; /* as in on_sent(): what can be read tells why */
    for (size_t skip = e > 0 ? (size_t)e : 0; first < n; first++) {
        if (skip < bufs[first].len) {
            bufs[first].base += skip;
            bufs[first].len -= skip;
            break;
        }
        skip -= bufs[first].len;
    }
    if (first == n) {
        f->all_sent = true;
        return;
    }
    rest_write *rest = malloc(sizeof *rest + (first == 0 ? bufs[0].len : 0));
    if (!rest) {
        wire_fail_later(w, DARUMA_NET_LOCAL, "out of memory");
        return;
    }
    if (first == 0) {
        memcpy(rest->head, bufs[0].base, bufs[0].len);
        bufs[0].base = rest->head;
    }
    w->writing = uv_write(&rest->req, (uv_stream_t *)&w->tcp, bufs + first, n - first, on_sent) == 0;
    if (!w->writing)
        free(rest);
    f->queued = w->tcp.write_queue_size;
}

static void send_plain(fetch *f, daruma_str head)
{
    wire *w = f->wire;
    uv_buf_t bufs[5] = {{.base = (char *)(uintptr_t)head.p, .len = head.n}};
    unsigned n = 1;
    for (int i = 0; i < 4; i++)
        if (f->r->body[i].n)
            bufs[n++] = (uv_buf_t){.base = (char *)(uintptr_t)f->r->body[i].p, .len = f->r->body[i].n};
    if (!gather_put(w->upstream->gather, w, &w->gathered, bufs, n))
        send_now(f, bufs, n);
}

void fetch_on_gathered(void *owner, daruma_str bytes)
{
    fetch *f = ((wire *)owner)->fetch;
    uv_buf_t buf = {.base = (char *)(uintptr_t)bytes.p, .len = bytes.n};
    send_now(f, &buf, 1);
}

/* The next bytes of the request, at most one TLS record: the rest of the head, then of the body. */
static size_t stage(fetch *f, daruma_str *head)
{
    char *to = f->upstream->stage;
    size_t cap = sizeof f->upstream->stage, n = head->n < cap ? head->n : cap, at = 0;
    if (n)
        memcpy(to, head->p, n);
    *head = str_from(*head, n);
    for (int i = 0; i < 4; i++) {
        daruma_str piece = f->r->body[i];
        if (f->sent < at + piece.n && n < cap) {
            piece = str_sub(piece, f->sent - at, cap - n);
            memcpy(to + n, piece.p, piece.n);
            n += piece.n;
            f->sent += piece.n;
        }
        at += f->r->body[i].n;
    }
    return n;
}

/* Encrypts only as much as the socket keeps up with; the head goes at once, its place is needed. */
static void send_tls(fetch *f, daruma_str head)
{
    wire *w = f->wire;
    while (head.n || w->tcp.write_queue_size < WRITE_QUEUE_BYTES_MAX) {
        size_t n = stage(f, &head);
        if (!n) {
            f->all_sent = true;
            return;
        }
        tls_step step = tls_write(w->tls, (daruma_str){f->upstream->stage, n});
        wire_flush_tls(w);
        if (step != TLS_DONE) {
            wire_fail_later(w, DARUMA_NET_TLS, "TLS could not write");
            return;
        }
    }
}

void fetch_on_room(fetch *f)
{
    if (!f->all_sent && f->wire->tls)
        send_tls(f, (daruma_str){0});
    if (!f->begun)
        f->since = (daruma_ms)uv_now(f->upstream->loop);
}

void fetch_on_ready(fetch *f)
{
    wire *w = f->wire;
    w->state = WIRE_BUSY;
    f->since = w->since = (daruma_ms)uv_now(w->upstream->loop);
    daruma_str head = write_head(f);
    if (!head.n)
        wire_fail_later(w, DARUMA_NET_PROTOCOL, "the head of the request is too long");
    else if (w->tls)
        send_tls(f, head);
    else
        send_plain(f, head);
    if (!w->failed)
        arm(f);
}

/* ---- the answer ---- */

static void deliver(fetch *f, daruma_str bytes)
{
    if (bytes.n)
        f->ops->body(f, bytes, f->user);
}

/* "The same request, over there" (RFC 9110, 15.4.8 and 15.4.9): clients follow it, with method and body as they were.
 * Once, and to nobody but the host that was asked: it goes with the key. True: it is on its way. */
static bool follows(fetch *f, const http_head *head)
{
    wire *w = f->wire;
    if ((head->status != 307 && head->status != 308) || f->r->stays || f->moved || !f->all_sent || w->writing)
        return false;
    daruma_str to = url_same_origin(f->r->to, http_header(head, S("location")));
    if (!to.n || to.n > HTTP_URL_BYTES_MAX || !(f->moved = malloc(to.n)))
        return false;
    memcpy(f->moved, to.p, to.n);
    f->r->target = (daruma_str){f->moved, to.n};
    w->fetch = NULL;
    if (!dial_again(f)) {
        w->fetch = f;
        return false;
    }
    wire_close(w);
    return true;
}

_Static_assert(HTTP_HEADERS_MAX == 1024 && HTTP_HEAD_BYTES_MAX == 64 << 10, "the words of DARUMA_NET_HEAD say so");

/* Takes one head from the front of `in`. False: not whole yet, or the fetch is over here. */
static bool take_head(fetch *f, daruma_str *in)
{
    wire *w = f->wire;
    http_fault fault = {0};
    http_head head;
    http_found found = http_scan_head(&w->scan, in->p, in->n, &fault);
    if (found == HTTP_MORE) {
        if (!http_rest_keep(&w->rest, *in))
            fetch_on_broken(f, DARUMA_NET_LOCAL, "out of memory");
        return false;
    }
    daruma_str raw = str_sub(*in, 0, w->scan.at);
    if (found == HTTP_BAD ||
        !http_read_answer(raw, str_eq(f->r->method, S("HEAD")), w->upstream->fields, &head, &f->until_close, &fault)) {
        bool large = fault.status == 431 || fault.status == 414; /* a head without a line has no fields yet */
        fetch_on_broken(f, large ? DARUMA_NET_HEAD : DARUMA_NET_PROTOCOL, fault.why);
        return false;
    }
    *in = str_from(*in, raw.n);
    w->scan = (http_scan){0};
    if (head.status < 200) {
        if (head.status != 101 && ++f->interim <= INTERIM_MAX) {
            f->since = (daruma_ms)uv_now(w->upstream->loop);
            return true;
        }
        fetch_on_broken(f, DARUMA_NET_PROTOCOL, "an interim answer that nobody asked for");
        return false;
    }
    if (follows(f, &head))
        return false;
    if (fetch_is_sent(f)) /* thousands of streams stand open at once */
        drop_request(f);
    f->headed = true;
    f->since = (daruma_ms)uv_now(w->upstream->loop);
    f->keep = head.keep_alive;
    f->left = head.length;
    f->ops->head(f, &head, f->user);
    return w->fetch == f;
}

/* Hands on what there is of the body. False: the fetch is over. */
static bool take_body(fetch *f, daruma_str *in)
{
    wire *w = f->wire;
    daruma_str data = *in;
    if (f->until_close) {
        *in = (daruma_str){0};
        deliver(f, data);
        return w->fetch == f;
    }
    if (f->left >= 0) {
        data = str_sub(*in, 0, (uint64_t)f->left < in->n ? (size_t)f->left : in->n);
        *in = str_from(*in, data.n);
        f->left -= (int64_t)data.n;
        deliver(f, data);
        if (w->fetch != f)
            return false;
        if (f->left == 0) {
            complete(f, in->n == 0);
            return false;
        }
        return true;
    }
    for (;;) {
        switch (http_chunks_read(&f->chunks, in, &data)) {
        case HTTP_CHUNK_MORE:
            return true;
        case HTTP_CHUNK_DATA:
            deliver(f, data);
            if (w->fetch != f)
                return false;
            break;
        case HTTP_CHUNK_END:
            complete(f, in->n == 0);
            return false;
        case HTTP_CHUNK_BAD:
            fetch_on_broken(f, DARUMA_NET_PROTOCOL, "the chunks of the answer are broken");
            return false;
        }
    }
}

void fetch_on_bytes(fetch *f, daruma_str in)
{
    wire *w = f->wire;
    if (f->reused && w->gathered) {
        fetch_on_broken(f, DARUMA_NET_CLOSED, "the connection answered before it was asked");
        return;
    }
    if (f->headed || !f->begun) /* a head that comes byte by byte is no sign of life */
        f->since = (daruma_ms)uv_now(w->upstream->loop);
    if (!f->begun) {
        f->begun = true;
        arm(f);
    }
    if (w->rest.n) { /* a head came in part; what is kept stands until the connection is free again */
        if (!http_rest_keep(&w->rest, in)) {
            fetch_on_broken(f, DARUMA_NET_LOCAL, "out of memory");
            return;
        }
        in = (daruma_str){w->rest.p, w->rest.n};
    }
    while (!f->headed && in.n)
        if (!take_head(f, &in))
            return;
    if (f->headed && (in.n || f->left == 0) && !take_body(f, &in))
        return;
    http_rest_keep(&w->rest, in); /* all is worked off */
}

void fetch_on_eof(fetch *f, bool clean)
{
    if (f->headed && f->until_close && clean) {
        f->keep = false;
        complete(f, true);
        return;
    }
    if (f->begun)
        fetch_on_broken(f, DARUMA_NET_CUT, "the connection was closed in the middle of the answer");
    else
        fetch_on_broken(f, DARUMA_NET_CLOSED, "the connection was closed before the answer began");
}

/* ---- what others call ---- */

fetch *fetch_start(upstream *u, const fetch_request *r, const fetch_ops *ops, void *user)
{
    check(!u->closing);
    origin *o = origin_of(u, r->to);
    fetch *f = o ? fetch_new(u) : NULL;
    if (!f)
        return NULL;
    daruma_ms now = (daruma_ms)uv_now(u->loop);
    *f->r = *r;
    f->clocks = r->clocks;
    f->ops = ops;
    f->user = user;
    f->started = f->since = now;
    f->wire = r->fresh ? NULL : wire_take(o);
    if (f->wire) {
        f->reused = true;
        f->wire->fetch = f;
        fetch_on_ready(f);
        return f;
    }
    f->wire = wire_dial(u, o, f);
    if (!f->wire) {
        fetch_free(f);
        return NULL;
    }
    arm(f);
    return f;
}

void fetch_pause(fetch *f)
{
    f->paused = true;
    if (f->wire->state == WIRE_BUSY)
        wire_read(f->wire, false);
}

void fetch_resume(fetch *f)
{
    if (!f->paused)
        return;
    f->paused = false;
    f->since = (daruma_ms)uv_now(f->upstream->loop);
    if (f->wire->state == WIRE_BUSY && !wire_read(f->wire, true))
        wire_fail_later(f->wire, DARUMA_NET_RESET, "reading could not go on");
    else
        arm(f);
}

void fetch_hand_over(fetch *f, const fetch_ops *ops, void *user)
{
    f->ops = ops;
    f->user = user;
}

void fetch_total(fetch *f, daruma_ms total)
{
    f->clocks.total = total;
    arm(f);
}

void fetch_cancel(fetch *f)
{
    wire *w = f->wire;
    w->fetch = NULL;
    wire_close(w);
    fetch_free(f);
}

bool fetch_is_sent(const fetch *f)
{
    return f->all_sent && !f->wire->writing;
}

void *fetch_user(const fetch *f)
{
    return f->user;
}
