/* server.c - connections from accept to close, and answers. What comes in is read in server_read.c. */
#include "net/server.h"
#include "net/server_inside.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- waiting ---- */

static void leave_queue(conn *c)
{
    if (c->waits == FOR_NOTHING)
        return;
    conn_queue *q = &c->server->waiting[c->waits];
    *(c->wait_prev ? &c->wait_prev->wait_next : &q->first) = c->wait_next;
    *(c->wait_next ? &c->wait_next->wait_prev : &q->last) = c->wait_prev;
    c->wait_next = c->wait_prev = NULL;
    c->waits = FOR_NOTHING;
}

/* The answer has ended, perhaps not yet on the wire: who goes on reading it gets all of it, however slowly. */
static void wait_for_reader(conn *c, conn_wait then)
{
    c->unread = c->tcp.write_queue_size;
    conn_wait_for(c, c->unread ? FOR_READER : then);
}

static void ran_out(conn *c)
{
    switch ((conn_wait)c->waits) {
    case FOR_HEAD:
        conn_refuse(c, &(http_fault){408, "the head took too long"});
        return;
    case FOR_BODY:
        conn_refuse(c, &(http_fault){408, "the body fell silent"});
        return;
    case FOR_READER:
        if (c->tcp.write_queue_size && c->tcp.write_queue_size >= c->unread)
            conn_close(c);
        else
            wait_for_reader(c, c->state == LINGERING ? FOR_CLOSE : FOR_REQUEST);
        return;
    case FOR_REQUEST:
    case FOR_CLOSE:
    case FOR_NOTHING:
        conn_close(c);
    }
}

static void on_tick(uv_timer_t *tick)
{
    server *s = tick->data;
    daruma_ms now = (daruma_ms)uv_now(s->loop);
    bool somebody = false;
    for (int i = 0; i < WAITS; i++) {
        while (s->waiting[i].first && now - s->waiting[i].first->since >= s->wait_ms[i])
            ran_out(s->waiting[i].first);
        somebody |= s->waiting[i].first != NULL;
    }
    if (!somebody)
        uv_timer_stop(tick);
    if (s->open == 0)
        sys_memory_give_back();
}

void conn_wait_for(conn *c, conn_wait what)
{
    server *s = c->server;
    leave_queue(c);
    if (what == FOR_NOTHING)
        return;
    conn_queue *q = &s->waiting[what];
    c->since = (daruma_ms)uv_now(s->loop);
    c->waits = (uint8_t)what;
    c->wait_prev = q->last;
    *(q->last ? &q->last->wait_next : &q->first) = c;
    q->last = c;
    if (!uv_is_active((uv_handle_t *)&s->tick) && !s->closing) {
        daruma_ms shortest = 2000;
        for (int i = 0; i < WAITS; i++)
            if (s->wait_ms[i] < shortest)
                shortest = s->wait_ms[i];
        uint64_t every = (uint64_t)shortest / 4 + 1;
        uv_timer_start(&s->tick, on_tick, every, every);
    }
}

/* ---- the end of things ---- */

/* Memory for a head until it goes out, and no longer: thousands of answers may be on their way. Mostly that is before
 * another is written, so there is one place for all; NULL without memory. */
static char *head_room(server *s, size_t n)
{
    if (s->head_used || n > sizeof s->head)
        return malloc(n);
    s->head_used = true;
    return s->head;
}

static void drop_head(conn *c)
{
    if (c->head_out.p == c->server->head)
        c->server->head_used = false;
    else
        free((char *)(uintptr_t)c->head_out.p);
    c->head_out = (daruma_str){0};
}

static void free_request(conn *c)
{
    sys_arena_done(&c->arena);
    free(c->body);
    c->body = NULL;
    c->nbody = c->body_cap = 0;
    c->chunks = (http_chunks){0};
    drop_head(c);
    c->call = (call){0};
    c->started = c->chunked = c->bodyless = c->blocked = c->raw = false;
    c->answer_left = 0;
}

static void free_server(server *s)
{
    if (s->closing && s->handles == 0 && s->open == 0)
        free(s);
}

static void on_closed(uv_handle_t *h)
{
    conn *c = h->data;
    server *s = c->server;
    *(c->prev ? &c->prev->next : &s->all) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    for (conn **p = &s->later; c->later && *p; p = &(*p)->later_next)
        if (*p == c) {
            *p = c->later_next;
            break;
        }
    free_request(c);
    http_rest_keep(&c->rest, (daruma_str){0});
    free(c);
    s->open--;
    if (s->draining && s->open == 0 && s->drained) {
        void (*done)(void *) = s->drained;
        s->drained = NULL;
        done(s->drained_user);
    }
    free_server(s);
}

static void leave(conn *c, bool reset)
{
    if (c->state == CLOSING)
        return;
    c->state = CLOSING;
    conn_wait_for(c, FOR_NOTHING);
    if (!reset || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

void conn_close(conn *c)
{
    leave(c, false);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    conn *c = req->handle->data;
    free(req);
    if (status < 0)
        conn_close(c);
    else if (c->state == LINGERING)
        conn_wait_for(c, FOR_CLOSE);
}

/* Says that nothing more comes and reads on until the client has gone: closing over unread bytes would
 * reset the connection, and the client might never read why. */
static void linger(conn *c)
{
    uv_shutdown_t *req = malloc(sizeof *req);
    free_request(c);
    c->state = LINGERING;
    if (!req || uv_shutdown(req, (uv_stream_t *)&c->tcp, on_shutdown) != 0) {
        free(req);
        conn_close(c);
        return;
    }
    wait_for_reader(c, FOR_CLOSE);
    if (!c->reading)
        conn_later(c);
}

static void tell_gone(conn *c)
{
    server *s = c->server;
    bool with_handler = c->state == WITH_HANDLER;
    conn_close(c);
    if (with_handler)
        s->ops.gone(&c->call, s->user);
}

/* ---- writing ---- */

typedef struct copy {
    uv_write_t req;
    char bytes[];
} copy;

static void on_written(uv_write_t *req, int status)
{
    conn *c = req->handle->data;
    free(req); /* the first of its copy */
    if (c->state == CLOSING)
        return;
    if (status < 0) {
        c->broken = true;
        conn_later(c);
    } else if (c->blocked && c->state == WITH_HANDLER && c->tcp.write_queue_size == 0) {
        c->blocked = false;
        c->server->ops.drained(&c->call, c->server->user);
    } else if (c->state == IN_HEAD && c->rest.n && c->tcp.write_queue_size == 0) {
        conn_later(c); /* requests that came ahead */
    }
}

void conn_write(conn *c, uv_buf_t *bufs, unsigned n)
{
    if (c->broken)
        return;
    int sent = c->tcp.write_queue_size ? UV_EAGAIN : uv_try_write((uv_stream_t *)&c->tcp, bufs, n);
    size_t skip = sent > 0 ? (size_t)sent : 0, rest = 0;
    for (unsigned i = 0; i < n; i++)
        rest += bufs[i].len;
    rest -= skip;
    if (rest == 0)
        return;
    copy *w = sent >= 0 || sent == UV_EAGAIN ? malloc(sizeof *w + rest) : NULL;
    if (w) {
        size_t at = 0;
        for (unsigned i = 0; i < n; i++) {
            size_t cut = skip < bufs[i].len ? skip : bufs[i].len;
            skip -= cut;
            memcpy(w->bytes + at, bufs[i].base + cut, bufs[i].len - cut);
            at += bufs[i].len - cut;
        }
        uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)rest);
        if (uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written) == 0)
            return;
        free(w);
    }
    c->broken = true; /* told from the loop, never from within a call of the handler */
    conn_later(c);
}

static void look_after(conn *c)
{
    if (c->state == CLOSING)
        return;
    if (c->broken) {
        tell_gone(c);
        return;
    }
    if (c->head_out.n) {
        uv_buf_t head = buf_of(c->head_out);
        conn_write(c, &head, 1);
        drop_head(c);
    }
    if (c->state == IN_HEAD || c->state == LINGERING)
        conn_read_on(c);
}

static void before_sleep(uv_prepare_t *h)
{
    server *s = h->data;
    conn *c;
    while ((c = s->later)) {
        s->later = c->later_next;
        c->later = false;
        look_after(c);
    }
    uv_prepare_stop(h);
}

void conn_later(conn *c)
{
    server *s = c->server;
    if (c->later || c->state == CLOSING || s->closing)
        return;
    c->later = true;
    c->later_next = s->later;
    s->later = c;
    uv_prepare_start(&s->before_sleep, before_sleep);
}

/* ---- answers ---- */

static conn *conn_of(const call *c)
{
    return (conn *)(uintptr_t)c; /* the call is its first member */
}

void call_head(call *call_, int status, const daruma_header *headers, size_t n, int64_t length)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER && !c->started && status >= 200 && status <= 999);
    c->started = true;
    c->bodyless = status == 204 || status == 304 || str_eq(c->call.head.method, S("HEAD"));
    c->chunked = length < 0 && !c->bodyless && !c->call.head.http10;
    c->answer_left = c->bodyless ? 0 : length;
    if (c->server->draining || (length < 0 && !c->chunked && !c->bodyless))
        c->keep = false;

    size_t room = 128; /* the first line and our own fields */
    for (size_t i = 0; i < n; i++)
        room += headers[i].name.n + headers[i].value.n + 4;
    char *text = head_room(c->server, room);
    daruma_buf b = buf_over(text, text ? room : 0);
    BUF_LIT(&b, "HTTP/1.1 ");
    buf_int(&b, status);
    buf_putc(&b, ' ');
    buf_putz(&b, http_reason(status));
    BUF_LIT(&b, "\r\n");
    for (size_t i = 0; i < n; i++)
        http_put_field(&b, headers[i].name, headers[i].value);
    if (length >= 0 && status != 204 && status != 304) {
        BUF_LIT(&b, "content-length: ");
        buf_int(&b, length);
        BUF_LIT(&b, "\r\n");
    } else if (c->chunked) {
        BUF_LIT(&b, "transfer-encoding: chunked\r\n");
    }
    if (!c->keep)
        BUF_LIT(&b, "connection: close\r\n");
    BUF_LIT(&b, "\r\n");
    c->head_out = buf_str(&b);
    c->broken |= b.full;
    conn_later(c);
}

/* The line before a chunk; lives in `line`. */
static uv_buf_t chunk_line(char *line, size_t cap, size_t n)
{
    daruma_buf b = buf_over(line, cap);
    http_put_hex(&b, n);
    BUF_LIT(&b, "\r\n");
    return buf_of(buf_str(&b));
}

bool call_write(call *call_, daruma_str bytes)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER && c->started);
    if (c->answer_left >= 0 && bytes.n > (uint64_t)c->answer_left)
        bytes.n = (size_t)c->answer_left; /* more than was announced would be read as the next answer */
    if (bytes.n == 0 || c->broken || c->bodyless)
        return !c->blocked;
    char line[24];
    uv_buf_t bufs[4];
    unsigned n = 0;
    if (c->head_out.n)
        bufs[n++] = buf_of(c->head_out);
    if (c->chunked)
        bufs[n++] = chunk_line(line, sizeof line, bytes.n);
    bufs[n++] = buf_of(bytes);
    if (c->chunked)
        bufs[n++] = buf_of(S("\r\n"));
    if (c->answer_left > 0)
        c->answer_left -= (int64_t)bytes.n;
    conn_write(c, bufs, n);
    drop_head(c);
    if (c->tcp.write_queue_size >= WRITE_QUEUE_BYTES_MAX)
        c->blocked = true;
    return !c->blocked;
}

void call_end(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    if (!c->started || c->answer_left > 0) {
        call_abort(call_); /* less than was announced */
        return;
    }
    uv_buf_t bufs[2];
    unsigned n = 0;
    if (c->head_out.n)
        bufs[n++] = buf_of(c->head_out);
    if (c->chunked)
        bufs[n++] = buf_of(S("0\r\n\r\n"));
    if (n)
        conn_write(c, bufs, n);
    if (c->broken) {
        conn_close(c);
        return;
    }
    if (!c->keep || c->server->draining) {
        linger(c);
        return;
    }
    free_request(c);
    c->state = IN_HEAD;
    wait_for_reader(c, FOR_REQUEST);
    if (!c->feeding && (c->rest.n || !c->reading))
        conn_later(c); /* not from here: the handler is in the middle of something */
}

void call_abort(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    bool tells =
        c->raw || c->chunked || c->answer_left > 0; /* the missing rest shows that it is cut; else only a reset does */
    if (c->head_out.n && tells) {
        uv_buf_t head = buf_of(c->head_out);
        conn_write(c, &head, 1);
    }
    if (tells && !c->broken)
        linger(c);
    else
        leave(c, true);
}

bool call_raw(call *call_, daruma_str bytes)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER && (c->raw || !c->started));
    c->started = c->raw = true;
    c->keep = false;
    if (bytes.n == 0 || c->broken)
        return !c->blocked;
    uv_buf_t buf = buf_of(bytes);
    conn_write(c, &buf, 1);
    if (c->tcp.write_queue_size >= WRITE_QUEUE_BYTES_MAX)
        c->blocked = true;
    return !c->blocked;
}

void call_reset(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    if (c->head_out.n && !c->broken) {
        uv_buf_t head = buf_of(c->head_out);
        conn_write(c, &head, 1);
    }
    leave(c, true);
}

void call_drop_body(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    free(c->body);
    c->body = NULL;
    c->nbody = c->body_cap = 0;
    c->call.body = (daruma_str){0};
}

bool call_started(const call *call_)
{
    return conn_of(call_)->started;
}

void conn_refuse(conn *c, const http_fault *why)
{
    char body[256], head[256];
    const char *type = why->status == 413   ? "request_too_large"
                       : why->status == 503 ? "overloaded_error"
                                            : "invalid_request_error";
    /* Both the Anthropic and the OpenAI SDKs read this shape. */
    int nbody = snprintf(body, sizeof body, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"}}\n",
                         type, why->why);
    int nhead = snprintf(head, sizeof head,
                         "HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%s"
                         "connection: close\r\n\r\n",
                         why->status, http_reason(why->status), nbody, why->status == 503 ? "retry-after: 1\r\n" : "");
    uv_buf_t bufs[2] = {uv_buf_init(head, (unsigned)nhead), uv_buf_init(body, (unsigned)nbody)};
    conn_write(c, bufs, 2);
    linger(c);
}

/* ---- accepting ---- */

static void on_connection(uv_stream_t *listener, int status)
{
    server *s = listener->data;
    if (status < 0) /* out of descriptors: libuv has closed those who waited, others may come */
        return;
    conn *c = calloc(1, sizeof *c);
    if (!c)
        return;
    c->server = s;
    c->waits = FOR_NOTHING;
    uv_tcp_init(s->loop, &c->tcp);
    c->tcp.data = c;
    c->next = s->all;
    if (c->next)
        c->next->prev = c;
    s->all = c;
    s->open++;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 || !conn_read_start(c)) {
        conn_close(c);
        return;
    }
    if (s->ops.admit && !s->ops.admit(s->user)) {
        leave(c, true);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    conn_wait_for(c, FOR_REQUEST);
    if (s->open > s->limits.connections)
        conn_refuse(c, &(http_fault){503, "too many connections"});
}

static void on_own_closed(uv_handle_t *h)
{
    server *s = h->data;
    s->handles--;
    free_server(s);
}

static void close_own(uv_handle_t *h)
{
    if (!uv_is_closing(h))
        uv_close(h, on_own_closed);
}

static int listen_on(server *s, const char *host, int port)
{
    struct sockaddr_storage at;
    int e = uv_ip4_addr(host, port, (struct sockaddr_in *)&at);
    if (e)
        e = uv_ip6_addr(host, port, (struct sockaddr_in6 *)&at);
    if (!e)
        e = uv_tcp_bind(&s->listener, (struct sockaddr *)&at, 0);
    return e ? e : uv_listen((uv_stream_t *)&s->listener, 1024, on_connection);
}

server *server_listen(uv_loop_t *loop, const char *host, int port, const server_limits *limits, const server_ops *ops,
                      void *user, char why[256])
{
    server *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(why, 256, "out of memory");
        return NULL;
    }
    sys_ignore_sigpipe();
    sys_memory_keep();
    s->loop = loop;
    s->limits = *limits;
    s->limits.body_ms = limits->body_ms ? limits->body_ms : BODY_MS_MAX;
    s->ops = *ops;
    s->user = user;
    s->wait_ms[FOR_REQUEST] = limits->keepalive_ms ? limits->keepalive_ms : KEEPALIVE_MS;
    s->wait_ms[FOR_HEAD] = limits->head_ms ? limits->head_ms : HEAD_MS_MAX;
    s->wait_ms[FOR_BODY] = limits->body_idle_ms ? limits->body_idle_ms : BODY_IDLE_MS_MAX;
    s->wait_ms[FOR_READER] = limits->reader_ms ? limits->reader_ms : READER_MS_MAX;
    s->wait_ms[FOR_CLOSE] = LINGER_MS;
    uv_tcp_init(loop, &s->listener);
    uv_prepare_init(loop, &s->before_sleep);
    uv_timer_init(loop, &s->tick);
    s->listener.data = s->before_sleep.data = s->tick.data = s;
    s->handles = 3;
    int e = listen_on(s, host, port);
    if (e) {
        snprintf(why, 256, "cannot listen on %.100s port %d: %s", host, port, uv_strerror(e));
        server_close(s);
        return NULL;
    }
    return s;
}

int server_port(const server *s)
{
    struct sockaddr_storage at;
    int n = sizeof at;
    if (uv_tcp_getsockname(&s->listener, (struct sockaddr *)&at, &n) != 0)
        return -1;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

uint32_t server_connections(const server *s)
{
    return s->open;
}

void server_drain(server *s, void (*done)(void *user), void *user)
{
    s->draining = true;
    s->drained = done;
    s->drained_user = user;
    close_own((uv_handle_t *)&s->listener);
    for (conn *c = s->all; c; c = c->next)
        if (c->state == IN_HEAD && c->rest.n == 0)
            c->tcp.write_queue_size ? linger(c) : conn_close(c);
    if (s->open == 0 && done) {
        s->drained = NULL;
        done(user);
    }
}

void server_close(server *s)
{
    s->closing = true;
    s->drained = NULL;
    for (conn *c = s->all; c; c = c->next)
        tell_gone(c);
    close_own((uv_handle_t *)&s->listener);
    close_own((uv_handle_t *)&s->before_sleep);
    close_own((uv_handle_t *)&s->tick);
}
