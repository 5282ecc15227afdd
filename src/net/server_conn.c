/* server_conn.c - a connection from its first byte to its last: what it waits for and for how long, what is written to
 * it, and how it ends. */
#include "net/server.h"
#include "net/server_inside.h"
#include "base/limits.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

/* Reading does not tell it of a connection on which the client had said its last word before. */
static bool was_reset(const conn *c)
{
    uv_os_fd_t fd;
    int error = 0;
    socklen_t n = sizeof error;
    return uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0 ||
           (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error != 0);
}

void conn_ran_out(conn *c)
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
            conn_gone(c);
        else
            conn_wait_for_reader(c, c->state == LINGERING      ? FOR_CLOSE
                                    : c->state == WITH_HANDLER ? FOR_NOTHING
                                                               : FOR_REQUEST);
        return;
    case FOR_RESET:
        if (was_reset(c))
            conn_gone(c);
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
            conn_ran_out(s->waiting[i].first);
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
    if (!c->within)
        free(c->body);
    c->body = NULL;
    c->within = false;
    c->nbody = c->body_cap = 0;
}

/* The next call takes it, mostly: heads of one client are about equally long. Of long ones nothing stays. */
static void free_arena(conn *c)
{
    server *s = c->server;
    if (s->nspare_arenas < ROOMS_KEPT && sys_arena_again(&c->arena) &&
        c->arena.end - c->arena.beg <= CALL_KEPT_BYTES_MAX)
        s->spare_arenas[s->nspare_arenas++] = c->arena;
    else
        sys_arena_done(&c->arena);
    c->arena = (daruma_arena){0};
}

void conn_free_request(conn *c)
{
    free_arena(c);
    conn_free_body(c);
    c->chunks = (http_chunks){0};
    conn_drop_head(c);
    c->call = (call){0};
    c->started = c->chunked = c->bodyless = c->blocked = c->raw = false;
    c->answer_left = 0;
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
    server_free(s);
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

void conn_gone(conn *c)
{
    server *s = c->server;
    bool with_handler = c->state == WITH_HANDLER;
    conn_close(c);
    if (with_handler)
        s->ops.gone(&c->call, s->user);
}

/* ---- writing ---- */

static void on_written(uv_write_t *req, int status)
{
    conn *c = req->handle->data;
    free(req);
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
    if (socket_write(&c->tcp, bufs, n, on_written)) {
        c->broken = true; /* told from the loop, never from within a call of the handler */
        conn_later(c);
    }
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

void conn_gathered(void *owner, daruma_str bytes)
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
        conn_gone(c);
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
