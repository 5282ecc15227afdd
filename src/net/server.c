/* server.c - listens, lets clients in, and stops. What becomes of a connection is in server_conn.c: what comes in is
 * read in server_read.c, what goes out is written in server_answer.c. */
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

/* ---- letting clients in ---- */

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
        conn_gone(any); /* one request is lost instead of all */
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
        conn_ran_out(slow);
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

void server_free(server *s)
{
    if (!s->closing || s->handles || s->open)
        return;
    if (s->spare >= 0)
        close(s->spare);
    while (s->nspare_arenas)
        sys_arena_done(&s->spare_arenas[--s->nspare_arenas]);
    free(s->plain);
    free(s);
}

static void on_own_closed(uv_handle_t *h)
{
    server *s = h->data;
    s->handles--;
    server_free(s);
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
    s->gather = gather_new(loop, conn_gathered);
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
        conn_gone(c);
    gather_free(s->gather);
    s->gather = NULL;
    close_listeners(s);
    close_own((uv_handle_t *)&s->before_sleep);
    close_own((uv_handle_t *)&s->tick);
}
