/* server.c - connections from accept to close. What comes in is read in server_read.c, what goes out is written in
 * server_answer.c. */
#include "net/server.h"
#include "net/server_inside.h"
#include "net/url.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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

void conn_wait_for_reader(conn *c, conn_wait then)
{
    c->taken = c->put - c->tcp.write_queue_size;
    conn_wait_for(c, c->tcp.write_queue_size ? FOR_READER : then);
}

static void tell_gone(conn *c);

/* Reading does not tell it of a connection on which the client had said its last word before. */
static bool was_reset(const conn *c)
{
    uv_os_fd_t fd;
    int error = 0;
    socklen_t n = sizeof error;
    return uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0 ||
           (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error != 0);
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
        if (c->tcp.write_queue_size && c->put - c->tcp.write_queue_size == c->taken)
            tell_gone(c);
        else
            conn_wait_for_reader(c, c->state == LINGERING      ? FOR_CLOSE
                                    : c->state == WITH_HANDLER ? FOR_NOTHING
                                                               : FOR_REQUEST);
        return;
    case FOR_RESET:
        if (was_reset(c))
            tell_gone(c);
        else
            conn_wait_for(c, FOR_RESET);
        return;
    case FOR_REQUEST:
    case FOR_CLOSE:
    case FOR_NOTHING:
        conn_close(c);
    }
}

/* Who reads later has its answer kept for long, as far as there is room for all of them. */
static daruma_ms reader_patience(const server *s)
{
    size_t bytes = 0;
    for (const conn *c = s->waiting[FOR_READER].first; c; c = c->wait_next)
        bytes += c->tcp.write_queue_size;
    return s->draining || bytes > s->limits.readers_bytes ? s->limits.reader_crowded_ms : s->wait_ms[FOR_READER];
}

/* The order to stop came long ago: requests that are still not whole hold it up no longer. */
static void refuse_unfinished(server *s)
{
    static const conn_wait unfinished[] = {FOR_HEAD, FOR_BODY};
    for (size_t i = 0; i < 2; i++)
        while (s->waiting[unfinished[i]].first)
            conn_refuse(
                s->waiting[unfinished[i]].first,
                &(http_fault){503, "daruma is stopping and did not get the whole request in time; send it again"});
}

static void on_tick(uv_timer_t *tick);

/* A client that has gone is to be noticed soon; else nobody is in a hurry. */
static void start_tick(server *s)
{
    daruma_ms shortest = s->limits.drain_ms < 2000 ? s->limits.drain_ms : 2000;
    for (int i = 0; i < FOR_RESET; i++)
        if (s->wait_ms[i] < shortest)
            shortest = s->wait_ms[i];
    uint64_t every = s->waiting[FOR_RESET].first ? RESET_LOOK_MS : (uint64_t)shortest / 4 + 1;
    if (!uv_is_active((uv_handle_t *)&s->tick) || uv_timer_get_repeat(&s->tick) != every)
        uv_timer_start(&s->tick, on_tick, every, every);
}

static void on_tick(uv_timer_t *tick)
{
    server *s = tick->data;
    daruma_ms now = (daruma_ms)uv_now(s->loop);
    bool somebody = false;
    if (s->draining && now - s->drain_since >= s->limits.drain_ms)
        refuse_unfinished(s);
    for (int i = 0; i < WAITS; i++) {
        daruma_ms most = i == FOR_READER ? reader_patience(s) : s->wait_ms[i];
        while (s->waiting[i].first && now - s->waiting[i].first->since >= most)
            ran_out(s->waiting[i].first);
        somebody |= s->waiting[i].first != NULL;
    }
    if (somebody)
        start_tick(s);
    else
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
    if (!s->closing && (what == FOR_RESET || !uv_is_active((uv_handle_t *)&s->tick)))
        start_tick(s);
}

/* ---- the end of things ---- */

void conn_drop_head(conn *c)
{
    if (c->head_out.p == c->server->head)
        c->server->head_used = false;
    else
        free((char *)(uintptr_t)c->head_out.p);
    c->head_out = (daruma_str){0};
}

void conn_free_body(conn *c)
{
    c->server->bytes -= c->nbody;
    free(c->body);
    c->body = NULL;
    c->nbody = c->body_cap = 0;
}

void conn_free_request(conn *c)
{
    sys_arena_done(&c->arena);
    conn_free_body(c);
    c->chunks = (http_chunks){0};
    conn_drop_head(c);
    c->call = (call){0};
    c->started = c->chunked = c->bodyless = c->blocked = c->raw = false;
    c->answer_left = 0;
}

static void free_server(server *s)
{
    if (!s->closing || s->handles || s->open)
        return;
    if (s->spare >= 0)
        close(s->spare);
    free(s->plain);
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
    conn_free_request(c);
    http_rest_keep(&c->rest, (daruma_str){0});
    tls_free(c->tls);
    free(c);
    s->open--;
    s->parting--;
    if (s->draining && s->open == 0 && s->drained) {
        void (*done)(void *) = s->drained;
        s->drained = NULL;
        done(s->drained_user);
    }
    free_server(s);
}

static void part(conn *c)
{
    c->server->parting += !c->parts;
    c->parts = true;
}

void conn_leave(conn *c, bool reset)
{
    if (c->state == CLOSING)
        return;
    if (c->gathered)
        gather_flush(c->server->gather);
    part(c);
    c->state = CLOSING;
    conn_wait_for(c, FOR_NOTHING);
    if (!reset || uv_tcp_close_reset(&c->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&c->tcp, on_closed);
}

void conn_close(conn *c)
{
    conn_leave(c, false);
}

static void on_shutdown(uv_shutdown_t *req, int status)
{
    conn *c = req->handle->data;
    free(req);
    if (status < 0)
        conn_close(c);
    else if (c->state == LINGERING) {
        part(c);
        conn_wait_for(c, FOR_CLOSE);
    }
}

/* How much a client may send that is thrown away: a body of the length it named, but no more than would be taken. */
static size_t linger_bytes(const conn *c)
{
    uint64_t announced = c->call.head.length > 0 ? (uint64_t)c->call.head.length : 0;
    size_t body = announced < c->server->limits.body_bytes ? (size_t)announced : c->server->limits.body_bytes;
    return body > LINGER_BYTES_MAX ? body : LINGER_BYTES_MAX;
}

void conn_linger(conn *c)
{
    uv_shutdown_t *req = malloc(sizeof *req);
    c->linger_left = linger_bytes(c);
    c->body_since = (daruma_ms)uv_now(c->server->loop);
    conn_free_request(c);
    conn_secure_end(c);
    if (c->gathered)
        gather_flush(c->server->gather);
    c->state = LINGERING;
    if (!req || uv_shutdown(req, (uv_stream_t *)&c->tcp, on_shutdown) != 0) {
        free(req);
        conn_close(c);
        return;
    }
    conn_wait_for_reader(c, FOR_CLOSE);
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
        conn_wait_for(c, c->reading ? FOR_NOTHING : FOR_RESET);
        c->server->ops.drained(&c->call, c->server->user);
    } else if (c->state == IN_HEAD && c->tcp.write_queue_size == 0) {
        if (c->waits == FOR_READER)
            conn_wait_for(c, FOR_REQUEST);
        if (c->rest.n || !c->reading)
            conn_later(c); /* requests that came ahead, or the client's last word */
    }
}

void conn_write(conn *c, uv_buf_t *bufs, unsigned n)
{
    if (c->tls)
        conn_secure_write(c, bufs, n);
    else
        conn_write_wire(c, bufs, n);
}

static void write_now(conn *c, const uv_buf_t *bufs, unsigned n)
{
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

void conn_write_wire(conn *c, uv_buf_t *bufs, unsigned n)
{
    if (c->broken || c->state == CLOSING)
        return;
    for (unsigned i = 0; i < n; i++)
        c->put += bufs[i].len;
    if (c->tcp.write_queue_size || !gather_put(c->server->gather, c, &c->gathered, bufs, n))
        write_now(c, bufs, n);
}

static void on_gathered(void *owner, daruma_str bytes)
{
    conn *c = owner;
    uv_buf_t buf = buf_of(bytes);
    write_now(c, &buf, 1);
    if (c->tcp.write_queue_size && c->waits == FOR_REQUEST)
        conn_wait_for_reader(c, FOR_REQUEST);
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
        conn_drop_head(c);
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

/* ---- accepting ---- */

/* Who has asked for nothing for the longest time. */
static conn *find_idle(const server *s)
{
    gather_flush(s->gather); /* who has to read its answer first does not wait for a request */
    conn *c = s->waiting[FOR_REQUEST].first;
    while (c && c->rest.n) /* the next request has come */
        c = c->wait_next;
    return c;
}

/* True if it was accepted just now: of a burst many are, before the first of them is read. */
static bool has_just_come(const server *s, const conn *c)
{
    return !c->put && (daruma_ms)uv_now(s->loop) - c->since < GREETING_CROWDED_MS_MAX;
}

/* No descriptor is left, and libuv has none to turn clients away with: another thread took its own in the moment that
 * it was free. It calls again and again until accept() gets one, so one is freed here, and stays free until then. */
static void turn_away(server *s, uv_stream_t *listener)
{
    conn *parting = s->waiting[FOR_CLOSE].first, *any = parting ? parting : find_idle(s);
    for (any = any ? any : s->all; any && any->state == CLOSING;) /* that one is free already */
        any = any->next;
    uv_os_fd_t from;
    int fd;
    if (s->spare >= 0) {
        close(s->spare);
        s->spare = -1;
        uv_fileno((uv_handle_t *)listener, &from);
        while ((fd = accept(from, NULL, NULL)) >= 0)
            close(fd);
    } else if (any) {
        tell_gone(any); /* one request is lost instead of all */
    } else {
        uv_sleep(1); /* the other thread will give back what it took */
    }
}

/* Where there are more than allowed: who lingers makes room, then who has asked for nothing for the longest time, then
 * whoever's head is the slowest. False: all others are at work. */
static bool make_room(server *s, const conn *newest)
{
    conn *parting = s->waiting[FOR_CLOSE].first, *idle = find_idle(s), *slow = s->waiting[FOR_HEAD].first;
    if (s->open <= s->limits.connections)
        return true;
    if (s->open - s->parting <= s->limits.connections) {
        if (parting)
            conn_close(parting);
    } else if (idle && idle != newest && !has_just_come(s, idle))
        conn_close(idle);
    else if (slow && (daruma_ms)uv_now(s->loop) - slow->since >= HEAD_CROWDED_MS_MAX)
        ran_out(slow);
    else
        return false;
    return true;
}

static void on_connection(uv_stream_t *listener, int status)
{
    server *s = listener->data;
    if (status < 0) {
        turn_away(s, listener);
        return;
    }
    if (s->spare < 0)
        s->spare = sys_spare_descriptor();
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
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 || !conn_secure(c) || !conn_read_start(c)) {
        conn_close(c);
        return;
    }
    if (s->ops.admit && !s->ops.admit(s->user)) {
        conn_leave(c, true);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    conn_wait_for(c, FOR_REQUEST);
    if (!make_room(s, c))
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

static void close_listeners(server *s)
{
    for (int i = 0; i < s->nlisteners; i++)
        close_own((uv_handle_t *)&s->listeners[i]);
}

static int address_of(const char *host, int port, struct sockaddr_storage *at)
{
    int e = uv_ip4_addr(host, port, (struct sockaddr_in *)at);
    return e ? uv_ip6_addr(host, port, (struct sockaddr_in6 *)at) : 0;
}

static void cannot(char why[256], const char *host, int port, int e)
{
    const char *step = e == UV_EADDRINUSE      ? "; `ss -ltnp` shows what has it"
                       : e == UV_EADDRNOTAVAIL ? "; no network card of this machine has it"
                       : e == UV_EACCES        ? "; ports below 1024 are root's, take a higher one"
                                               : "";
    snprintf(why, 256, "cannot listen on %.100s port %d: %s%s", host, port, uv_strerror(e), step);
}

bool server_can_listen(const char *host, int port, bool *taken, char why[256])
{
    struct sockaddr_storage at;
    int on = 1, e = address_of(host, port, &at), fd = -1;
    if (!e && (fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
        e = -errno;
    socklen_t n = !e && at.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (!e && (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) || bind(fd, (struct sockaddr *)&at, n)))
        e = -errno;
    if (fd >= 0)
        close(fd);
    *taken = e == UV_EADDRINUSE;
    if (!e || *taken)
        return true;
    cannot(why, host, port, e);
    return false;
}

bool server_socket_address(int socket, char ret[80], bool *local)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char host[64];
    bool six;
    if (getsockname(socket, (struct sockaddr *)&at, &n) != 0 || (at.ss_family != AF_INET && at.ss_family != AF_INET6))
        return false;
    six = at.ss_family == AF_INET6;
    if (six ? uv_ip6_name((struct sockaddr_in6 *)&at, host, sizeof host)
            : uv_ip4_name((struct sockaddr_in *)&at, host, sizeof host))
        return false;
    *local = host_is_loopback(str_of(host));
    snprintf(ret, 80, "%s%s%s:%d", six ? "[" : "", host, six ? "]" : "",
             ntohs(six ? ((struct sockaddr_in6 *)&at)->sin6_port : ((struct sockaddr_in *)&at)->sin_port));
    return true;
}

static int listen_on(server *s, const char *host, int port)
{
    struct sockaddr_storage at;
    int e = s->limits.socket ? 0 : address_of(host, port, &at);
    for (int i = 0; !e && i < s->nlisteners; i++) {
        uv_tcp_t *l = &s->listeners[i];
        e = s->limits.socket ? uv_tcp_open(l, s->limits.socket + i) : uv_tcp_bind(l, (struct sockaddr *)&at, 0);
        e = e ? e : uv_listen((uv_stream_t *)l, 1024, on_connection);
    }
    return e;
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
    s->spare = sys_spare_descriptor();
    s->limits = *limits;
    s->limits.all_bytes = limits->all_bytes ? limits->all_bytes : ALL_BODIES_BYTES_MAX;
    s->limits.call_bytes = limits->call_bytes ? limits->call_bytes : CALL_BYTES_USUAL;
    s->limits.body_ms = limits->body_ms ? limits->body_ms : BODY_MS_MAX;
    s->limits.reader_crowded_ms = limits->reader_crowded_ms ? limits->reader_crowded_ms : READER_CROWDED_MS_MAX;
    s->limits.readers_bytes = limits->readers_bytes ? limits->readers_bytes : READERS_BYTES_MAX;
    s->limits.drain_ms = limits->drain_ms ? limits->drain_ms : DRAIN_REQUEST_MS_MAX;
    s->ops = *ops;
    s->user = user;
    s->wait_ms[FOR_REQUEST] = limits->keepalive_ms ? limits->keepalive_ms : KEEPALIVE_MS;
    s->wait_ms[FOR_HEAD] = limits->head_ms ? limits->head_ms : HEAD_MS_MAX;
    s->wait_ms[FOR_BODY] = limits->body_idle_ms ? limits->body_idle_ms : BODY_IDLE_MS_MAX;
    s->wait_ms[FOR_READER] = limits->reader_ms ? limits->reader_ms : READER_MS_MAX;
    s->wait_ms[FOR_CLOSE] = LINGER_MS;
    s->wait_ms[FOR_RESET] = RESET_LOOK_MS;
    s->gather = gather_new(loop, on_gathered);
    s->nlisteners = limits->sockets ? limits->sockets : 1;
    check(s->nlisteners <= SERVICE_SOCKETS_MAX);
    for (int i = 0; i < s->nlisteners; i++) {
        uv_tcp_init(loop, &s->listeners[i]);
        s->listeners[i].data = s;
    }
    uv_prepare_init(loop, &s->before_sleep);
    uv_timer_init(loop, &s->tick);
    s->before_sleep.data = s->tick.data = s;
    s->handles = (uint8_t)(2 + s->nlisteners);
    int e = listen_on(s, host, port);
    if (e) {
        cannot(why, host, port, e);
        server_close(s);
        return NULL;
    }
    return s;
}

void server_secure(server *s, tls_context *context)
{
    s->tls = context;
}

int server_port(const server *s)
{
    struct sockaddr_storage at;
    int n = sizeof at;
    if (uv_tcp_getsockname(&s->listeners[0], (struct sockaddr *)&at, &n) != 0)
        return -1;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

uint32_t server_connections(const server *s)
{
    return s->open;
}

void server_holds_more(server *s, size_t bytes)
{
    s->bytes += bytes;
}

void server_holds_less(server *s, size_t bytes)
{
    check(s->bytes >= bytes);
    s->bytes -= bytes;
}

size_t server_bytes(const server *s)
{
    return s->bytes;
}

void server_drain(server *s, void (*done)(void *user), void *user)
{
    s->draining = true;
    s->drain_since = (daruma_ms)uv_now(s->loop);
    s->drained = done;
    s->drained_user = user;
    close_listeners(s);
    gather_flush(s->gather);
    for (conn *c = s->all; c; c = c->next)
        if (c->state == IN_HEAD && c->rest.n == 0)
            c->tcp.write_queue_size ? conn_linger(c) : conn_close(c);
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
    gather_free(s->gather);
    s->gather = NULL;
    close_listeners(s);
    close_own((uv_handle_t *)&s->before_sleep);
    close_own((uv_handle_t *)&s->tick);
}
