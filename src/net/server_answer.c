/* server_answer.c - what a handler says to its client: a head, a body in pieces, an end; or that there will be none. */
#include "net/server.h"
#include "net/server_inside.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

/* Memory for a head until it goes out, and no longer: thousands of answers may be on their way. Mostly that is before
 * another is written, so there is one place for all; NULL without memory. */
static char *head_room(server *s, size_t n)
{
    if (s->head_used || n > sizeof s->head)
        return malloc(n);
    s->head_used = true;
    return s->head;
}

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

/* True while so much waits for the client that no more may. It has its time to go on reading from when that began. */
static bool is_blocked(conn *c)
{
    if (!c->blocked && c->tcp.write_queue_size >= WRITE_QUEUE_BYTES_MAX) {
        c->blocked = true;
        conn_wait_for_reader(c, FOR_NOTHING);
    }
    return c->blocked;
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
    conn_drop_head(c);
    return !is_blocked(c);
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
        conn_linger(c);
        return;
    }
    conn_free_request(c);
    c->state = IN_HEAD;
    conn_wait_for_reader(c, FOR_REQUEST);
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
        conn_linger(c);
    else
        conn_leave(c, true);
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
    return !is_blocked(c);
}

void call_reset(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    if (c->head_out.n && !c->broken) {
        uv_buf_t head = buf_of(c->head_out);
        conn_write(c, &head, 1);
    }
    conn_leave(c, true);
}

void call_drop_body(call *call_)
{
    conn *c = conn_of(call_);
    check(c->state == WITH_HANDLER);
    conn_free_body(c);
    c->call.body = (daruma_str){0};
}

call_memory call_take_memory(call *call_)
{
    conn *c = conn_of(call_);
    call_memory m = {.body = c->within ? NULL : c->body, .arena = c->arena};
    c->body = NULL;
    conn_free_body(c);
    c->arena = (daruma_arena){0};
    return m;
}

void call_memory_free(call_memory *m)
{
    free(m->body);
    sys_arena_done(&m->arena);
    *m = (call_memory){0};
}

bool call_started(const call *call_)
{
    return conn_of(call_)->started;
}

/* The body in the words of the client's API; 0: there is none of it. */
static int own_words(conn *c, const http_fault *why, char *room, size_t n)
{
    daruma_buf b = buf_over(room, n);
    bool read = c->state == IN_BODY || c->state == IN_CHUNKS || why->status == 413; /* the head is there */
    if ((why->status != 413 && why->status != 503) || !c->server->ops.refusal)
        return 0;
    c->server->ops.refusal(read && c->call.head.method.n ? &c->call.head : NULL, why->status, why->why, &b,
                           c->server->user);
    return b.full ? 0 : (int)b.n;
}

void conn_refuse(conn *c, const http_fault *why)
{
    char body[1024], head[256];
    const char *type = why->status == 413   ? "request_too_large"
                       : why->status == 503 ? "overloaded_error"
                                            : "invalid_request_error";
    /* Both the Anthropic and the OpenAI SDKs read this shape. */
    int nbody = own_words(c, why, body, sizeof body);
    if (!nbody)
        nbody = snprintf(body, sizeof body, "{\"type\":\"error\",\"error\":{\"type\":\"%s\",\"message\":\"%s\"}}\n",
                         type, why->why);
    int nhead = snprintf(head, sizeof head,
                         "HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%s"
                         "connection: close\r\n\r\n",
                         why->status, http_reason(why->status), nbody, why->status == 503 ? "retry-after: 1\r\n" : "");
    uv_buf_t bufs[2] = {uv_buf_init(head, (unsigned)nhead), uv_buf_init(body, (unsigned)nbody)};
    conn_write(c, bufs, 2);
    conn_linger(c);
}
