/* server_read.c - the half of the server that turns bytes into whole requests. */
#include "net/server_inside.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdlib.h>

enum { HEAD_READ_BYTES = 16 << 10 }; /* of one read that begins with a head: most whole requests fit */

/* ---- bodies ---- */

static void hand_over(conn *c)
{
    server *s = c->server;
    c->call.body = (daruma_str){c->body, c->nbody};
    c->call.sending = c->nbody ? (daruma_ms)uv_now(s->loop) - c->body_since : 0;
    c->state = WITH_HANDLER;
    conn_wait_for(c, FOR_NOTHING);
    s->ops.request(&c->call, s->user);
}

/* The client waits for permission to send its body (RFC 9110 10.1.1). */
static void allow_body(conn *c)
{
    uv_buf_t go = buf_of(S("HTTP/1.1 100 Continue\r\n\r\n"));
    conn_write(c, &go, 1);
}

/* Silence is not all that is too slow: a byte now and then is as good as none. */
static bool is_slow(const conn *c)
{
    daruma_ms took = (daruma_ms)uv_now(c->server->loop) - c->body_since;
    return took > c->server->limits.body_ms + (daruma_ms)(c->nbody / BODY_BYTES_PER_MS_MIN);
}

/* More of the body is to come. */
static void wait_for_body(conn *c)
{
    if (is_slow(c))
        conn_refuse(c, &(http_fault){408, "the body came too slowly"});
    else
        conn_wait_for(c, FOR_BODY);
}

static bool room_for_chunks(conn *c, size_t n)
{
    size_t cap = c->body_cap ? c->body_cap : 4096;
    while (cap - c->nbody < n)
        cap *= 2;
    char *wider = cap == c->body_cap ? c->body : realloc(c->body, cap);
    if (!wider)
        return false;
    c->body = wider;
    c->body_cap = cap;
    return true;
}

/* So much more of the body is here. Who brings more than there is room for is refused, not those who came before:
 * false.
 */
static bool body_takes(conn *c, size_t n)
{
    server *s = c->server;
    s->bytes += n;
    c->nbody += n;
    if (s->bytes <= s->limits.all_bytes)
        return true;
    conn_refuse(c, &(http_fault){503, "the requests under way take all the memory there is for them, try again"});
    return false;
}

static void take_chunks(conn *c, daruma_str *in)
{
    for (;;) {
        daruma_str data;
        switch (http_chunks_read(&c->chunks, in, &data)) {
        case HTTP_CHUNK_MORE:
            wait_for_body(c);
            return;
        case HTTP_CHUNK_END:
            hand_over(c);
            return;
        case HTTP_CHUNK_BAD:
            conn_refuse(c, &(http_fault){400, "the chunks are broken"});
            return;
        case HTTP_CHUNK_DATA:
            if (data.n > c->server->limits.body_bytes - c->nbody) {
                conn_refuse(c, &(http_fault){413, "the body is too long"});
                return;
            }
            if (!room_for_chunks(c, data.n)) {
                conn_refuse(c, &(http_fault){503, "out of memory"});
                return;
            }
            memcpy(c->body + c->nbody, data.p, data.n);
            if (!body_takes(c, data.n))
                return;
        }
    }
}

static void body_grew(conn *c)
{
    if (c->nbody == c->body_cap)
        hand_over(c);
    else
        wait_for_body(c);
}

static void take_body(conn *c, daruma_str *in)
{
    daruma_str piece = str_sub(*in, 0, c->body_cap - c->nbody);
    memcpy(c->body + c->nbody, piece.p, piece.n);
    *in = str_from(*in, piece.n);
    if (body_takes(c, piece.n))
        body_grew(c);
}

/* ---- heads ---- */

/* One that a call left, if it is of about that size, or a fresh one. */
static bool open_arena(conn *c, size_t first)
{
    server *s = c->server;
    if (s->nspare_arenas) {
        c->arena = s->spare_arenas[--s->nspare_arenas];
        size_t room = (size_t)(c->arena.end - c->arena.beg);
        if (room >= first && room - first <= first / 4)
            return true;
        sys_arena_done(&c->arena);
    }
    return sys_arena_init(&c->arena, first, CALL_ARENA_BYTES_MAX);
}

/* Is what came behind a head so short that it stands with it, if it is a body? */
static bool is_short(daruma_str behind)
{
    return behind.n <= CALL_BODY_BYTES_MAX;
}

/* What is the head's own moves to the arena; room for the fields is counted, not guessed. `behind`: what came with it.
 */
static bool read_head(conn *c, daruma_str raw, daruma_str behind, http_fault *fault)
{
    size_t fields = c->scan.lines ? c->scan.lines - 1 : 0;
    size_t own = raw.n + 16 + fields * sizeof(daruma_header) + (is_short(behind) ? behind.n + 1 : 0);
    if (!open_arena(c, own + c->server->limits.call_bytes)) {
        *fault = (http_fault){503, "out of memory"};
        return false;
    }
    c->call.arena = &c->arena;
    daruma_header *room = ARENA_RAW(&c->arena, daruma_header, fields + 1);
    daruma_str head = arena_copy(&c->arena, raw);
    check(room && head.p);
    return http_read_request(head, room, &c->call.head, fault);
}

static bool begin_body(conn *c, daruma_str in, http_fault *fault)
{
    int64_t length = c->call.head.length;
    c->within = length > 0 && (uint64_t)length <= in.n && is_short(in);
    c->body_since = (daruma_ms)uv_now(c->server->loop);
    daruma_str expects = c->call.head.http10 ? (daruma_str){0} : http_header(&c->call.head, S("expect"));
    if (expects.n && !str_ieq(expects, S("100-continue"))) {
        *fault = (http_fault){417, "only 100-continue can be expected"};
        return false;
    }
    if (length > 0 && (uint64_t)length > c->server->limits.body_bytes) {
        *fault = (http_fault){413, "the body is too long"};
        return false;
    }
    if (length > 0) {
        /* All at once: pages that no byte reaches cost nothing, and the socket is read straight into it. */
        size_t n = (size_t)length + 1; /* one more: see on_alloc() */
        c->body = c->within ? arena_raw(&c->arena, n, 1) : malloc(n);
        if (!c->body) {
            *fault = (http_fault){503, "out of memory"};
            return false;
        }
        c->body_cap = (size_t)length;
    }
    if (length && expects.n && in.n == 0)
        allow_body(c);
    return true;
}

static bool conn_wants_body(conn *c)
{
    const server *s = c->server;
    return !c->call.head.length || !s->ops.wants_body || s->ops.wants_body(&c->call, s->user);
}

/* A head must be whole so long after its first byte, however often bytes come. */
static void wait_for_head(conn *c)
{
    if (c->waits != FOR_HEAD)
        conn_wait_for(c, FOR_HEAD);
}

/* False: more bytes are needed. */
static bool take_head(conn *c, daruma_str *in)
{
    http_fault fault;
    /* One empty line before a request: some clients send it behind a body (RFC 9112 2.2). */
    if (c->scan.at == 0 && in->p[0] == '\r' && !c->blank) {
        if (in->n == 1) {
            wait_for_head(c);
            return false;
        }
        if (in->p[1] == '\n') {
            *in = str_from(*in, 2);
            return c->blank = true;
        }
    }
    http_found found = http_scan_head(&c->scan, in->p, in->n, &fault);
    if (found == HTTP_MORE) {
        wait_for_head(c);
        return false;
    }
    daruma_str raw = str_sub(*in, 0, c->scan.at);
    if (found == HTTP_BAD || !read_head(c, raw, str_from(*in, raw.n), &fault)) {
        conn_refuse(c, &fault);
        return true;
    }
    *in = str_from(*in, raw.n);
    c->scan = (http_scan){0};
    c->blank = false;
    c->call.id = ++c->server->calls;
    c->keep = c->call.head.keep_alive && !c->server->draining;
    if (!conn_wants_body(c)) {
        c->keep = false;
        hand_over(c);
        return true;
    }
    if (!begin_body(c, *in, &fault)) {
        conn_refuse(c, &fault);
        return true;
    }
    c->state = c->call.head.length > 0 ? IN_BODY : c->call.head.length < 0 ? IN_CHUNKS : WITH_HANDLER;
    if (c->state == WITH_HANDLER)
        hand_over(c);
    else if (!in->n) /* else it is read at once */
        conn_wait_for(c, FOR_BODY);
    return true;
}

/* ---- the socket ---- */

static void throw_away(conn *c, daruma_str *in)
{
    server *s = c->server;
    bool crowded = s->draining || s->open > s->limits.connections;
    c->linger_left -= in->n < c->linger_left ? in->n : c->linger_left;
    c->body_since += (daruma_ms)(in->n / BODY_BYTES_PER_MS_MIN); /* as a body that is wanted */
    in->n = 0;
    if (!c->linger_left)
        conn_close(c);
    else if (c->waits == FOR_CLOSE && !crowded && !is_slow(c))
        conn_wait_for(c, FOR_CLOSE);
}

static void pause_reading(conn *c)
{
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->reading = false;
}

/* A client that sends requests and does not read the answers gets no more of them. */
static bool is_behind(const conn *c)
{
    return c->tcp.write_queue_size >= WRITE_QUEUE_BYTES_MAX;
}

/* Works off `in` as far as the state allows and keeps the rest. */
static void feed(conn *c, daruma_str in)
{
    bool more = true;
    c->feeding = true;
    while (in.n && more) {
        switch ((conn_state)c->state) {
        case IN_HEAD:
            more = !is_behind(c) && take_head(c, &in);
            break;
        case IN_BODY:
            take_body(c, &in);
            break;
        case IN_CHUNKS:
            take_chunks(c, &in);
            break;
        case LINGERING:
            throw_away(c, &in);
            break;
        case WITH_HANDLER:
            more = false;
            break;
        case CLOSING:
            in.n = 0;
        }
    }
    c->feeding = false;
    if (!http_rest_keep(&c->rest, in))
        conn_close(c);
    if ((c->state == WITH_HANDLER || is_behind(c)) && c->rest.n > AHEAD_BYTES_MAX && c->reading)
        pause_reading(c); /* a client that leaves is then noticed when we write */
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    conn *c = h->data;
    (void)suggested;
    if (c->tls) {
        *buf = uv_buf_init(c->server->buffer, sizeof c->server->buffer);
        return;
    }
    /* One byte more than is missing: a buffer that came back full would be taken for a sign that there is
     * more, and cost another read. */
    if (c->state == IN_BODY)
        *buf = uv_buf_init(c->body + c->nbody, (unsigned)(c->body_cap - c->nbody + 1));
    else if (c->state == IN_HEAD) /* what comes of a body with its head is copied: of a long one only its beginning */
        *buf = uv_buf_init(c->server->buffer, HEAD_READ_BYTES);
    else
        *buf = uv_buf_init(c->server->buffer, sizeof c->server->buffer);
}

/* Bytes have been read to their place, perhaps with one of the next request. */
static void body_came(conn *c, const char *at, size_t n)
{
    size_t missing = c->body_cap - c->nbody;
    char next = n > missing ? at[missing] : 0;
    c->feeding = true;
    if (body_takes(c, n > missing ? missing : n))
        body_grew(c);
    c->feeding = false;
    if (n > missing)
        feed(c, (daruma_str){&next, 1});
}

daruma_str conn_body_room(conn *c)
{
    return c->state == IN_BODY ? (daruma_str){c->body + c->nbody, c->body_cap - c->nbody} : (daruma_str){0};
}

void conn_body_came(conn *c, size_t n)
{
    body_came(c, c->body + c->nbody, n);
}

void conn_take(conn *c, daruma_str in)
{
    if (c->rest.n) {
        if (!http_rest_keep(&c->rest, in)) {
            conn_close(c);
            return;
        }
        in = (daruma_str){c->rest.p, c->rest.n};
    }
    feed(c, in);
}

/* A client that says nothing more behind its request may wait for the answer (shutdown() for writing) or have gone:
 * both look the same until something is written. An interim answer is, which every client of HTTP/1.1 passes over, and
 * one that has gone answers it with a reset. Behind the beginning of an answer nobody has a reason to do so but to go.
 */
static bool may_listen(conn *c)
{
    bool waits = c->state == WITH_HANDLER && !c->started && !c->tls && !c->call.head.http10,
         gets = (c->state == LINGERING || c->state == IN_HEAD) && c->tcp.write_queue_size; /* what is under way */
    if (!waits && !gets)
        return false;
    c->reading = false; /* libuv reads no further */
    if (gets)
        return true;
    uv_buf_t interim = buf_of(S("HTTP/1.1 100 Continue\r\n\r\n"));
    c->keep &= c->rest.n > 0;
    conn_write(c, &interim, 1);
    conn_wait_for(c, FOR_RESET);
    return true;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    conn *c = stream->data;
    if (c->state == CLOSING || n == 0)
        return;
    /* An end is judged by what is still to be written; much takes long to work off, and what waits does not wait for
     * it. */
    if (n < 0 || (size_t)n >= GATHERED_PIECE_BYTES_MAX)
        gather_flush(c->server->gather);
    if (n == UV_EOF && may_listen(c))
        return;
    if (n < 0) {
        server *s = c->server;
        bool with_handler = c->state == WITH_HANDLER;
        conn_close(c);
        if (with_handler)
            s->ops.gone(&c->call, s->user);
        return;
    }
    if (c->tls)
        conn_secure_read(c, (daruma_str){buf->base, (size_t)n});
    else if (c->state == IN_BODY)
        body_came(c, buf->base, (size_t)n);
    else
        conn_take(c, (daruma_str){buf->base, (size_t)n});
}

bool conn_read_start(conn *c)
{
    c->reading = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) == 0;
    return c->reading;
}

void conn_read_on(conn *c)
{
    if (!c->reading && !conn_read_start(c)) {
        conn_close(c);
        return;
    }
    if (c->rest.n)
        feed(c, (daruma_str){c->rest.p, c->rest.n});
}
