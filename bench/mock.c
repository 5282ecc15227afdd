/* mock.c - a provider that costs next to nothing: what it answers is made once, what it reads is mostly thrown away.
 *
 * POST anything           a chat completion of about 1 KB; with "stream":true in the first 4 KB of the body an SSE
 * stream that sends its first chunk at once, then one chunk every --chunk-ms, until told to end. GET  /mock/end ends
 * all open streams properly. GET  /mock/report       {"calls":N,"streams":N,...}: requests answered, streams open now.
 */
#include "kit.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_KEPT    4096       /* bytes of a request body that are looked at */
#define READ_BYTES   (16 << 10) /* of one read */
#define DISCARD_MAX  (1 << 20)  /* bytes thrown away by one call */
#define TICKS_A_TURN 50 /* the streams are served in so many groups, so that their chunks do not come in one burst */

typedef struct client {
    int fd;
    http_in in;           /* the request being read */
    char body[BODY_KEPT]; /* its beginning */
    size_t body_n;
    struct client *next; /* in the list of open streams */
    struct client **at;  /* what points to us there; NULL when we are not in it */
} client;

static struct {
    int epoll;
    char answer[4096], stream_head[2048], chunk[512], last[1024];
    size_t answer_n, stream_head_n, chunk_n, last_n;
    client *streams[TICKS_A_TURN]; /* open ones, in groups */
    long calls, open_streams, short_writes, group;
} mock;

static size_t as_chunk(char *out, size_t room, const char *data)
{
    return (size_t)snprintf(out, room, "%zx\r\n%s\r\n", strlen(data), data);
}

static void make_answers(void)
{
    static const char sentence[] = "Seven times down, eight times up: the answer goes on. ";
    char text[800], body[2048], data[1024];
    size_t length = 0;
    for (; length + sizeof sentence < sizeof text; length += sizeof sentence - 1)
        memcpy(text + length, sentence, sizeof sentence);
    int n = snprintf(
        body, sizeof body,
        "{\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion\",\"created\":1700000000,\"model\":\"m-main\","
        "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},"
        "\"logprobs\":null,\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":150,\"total_tokens\":162}}",
        text);
    mock.answer_n = (size_t)snprintf(mock.answer, sizeof mock.answer,
                                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nx-request-id: req_bench\r\n"
                                     "Content-Length: %d\r\n\r\n%s",
                                     n, body);
#define PIECE(delta, finish)                                                                                           \
    "data: {\"id\":\"chatcmpl-bench\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,"                    \
    "\"model\":\"m-main\",\"choices\":[{\"index\":0,\"delta\":{" delta "},\"finish_reason\":" finish "}]}\n\n"
    /* X-Accel-Buffering is how a backend asks nginx to pass a stream on as it comes. */
    mock.stream_head_n =
        (size_t)snprintf(mock.stream_head, sizeof mock.stream_head,
                         "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                         "X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n");
    mock.stream_head_n += as_chunk(mock.stream_head + mock.stream_head_n, sizeof mock.stream_head - mock.stream_head_n,
                                   PIECE("\"role\":\"assistant\",\"content\":\"Once\"", "null"));
    mock.chunk_n = as_chunk(mock.chunk, sizeof mock.chunk, PIECE("\"content\":\" more\"", "null"));
    snprintf(data, sizeof data, "%s", PIECE("", "\"stop\"") "data: [DONE]\n\n");
    mock.last_n = as_chunk(mock.last, sizeof mock.last, data);
    mock.last_n += (size_t)snprintf(mock.last + mock.last_n, sizeof mock.last - mock.last_n, "0\r\n\r\n");
}

static void stream_leave(client *c)
{
    if (!c->at)
        return;
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    c->at = NULL;
    mock.open_streams--;
}

static void stream_enter(client *c)
{
    client **group = &mock.streams[mock.group++ % TICKS_A_TURN];
    c->next = *group;
    if (c->next)
        c->next->at = &c->next;
    *group = c;
    c->at = group;
    mock.open_streams++;
}

static void drop(client *c)
{
    stream_leave(c);
    close(c->fd);
    free(c);
}

/* Nothing we write fills a socket's buffer unless the reader is stuck; such a reader loses its connection. */
static bool put(client *c, const char *p, size_t n)
{
    if (send(c->fd, p, n, MSG_NOSIGNAL) == (ssize_t)n)
        return true;
    mock.short_writes++;
    return false;
}

static bool end_streams(void)
{
    for (int g = 0; g < TICKS_A_TURN; g++)
        while (mock.streams[g]) {
            client *c = mock.streams[g];
            stream_leave(c);
            put(c, mock.last, mock.last_n);
        }
    return true;
}

static bool answer_get(client *c)
{
    char text[512], body[256];
    if (!strncmp(c->in.head, "GET /mock/end ", 14))
        end_streams();
    int n = snprintf(body, sizeof body, "{\"calls\":%ld,\"streams\":%ld,\"short_writes\":%ld}\n", mock.calls,
                     mock.open_streams, mock.short_writes);
    size_t all =
        (size_t)snprintf(text, sizeof text,
                         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", n, body);
    return put(c, text, all);
}

static bool answer(client *c)
{
    if (c->in.head[0] == 'G')
        return answer_get(c);
    mock.calls++;
    if (memmem(c->body, c->body_n, "\"stream\":true", 13) || memmem(c->body, c->body_n, "\"stream\": true", 14)) {
        stream_enter(c);
        return put(c, mock.stream_head, mock.stream_head_n);
    }
    return put(c, mock.answer, mock.answer_n);
}

static void keep_beginning(void *ctx, const char *p, size_t n)
{
    client *c = ctx;
    size_t room = sizeof c->body - c->body_n, take = n < room ? n : room;
    memcpy(c->body + c->body_n, p, take);
    c->body_n += take;
}

/* False when the client is to be dropped. */
static bool use_bytes(client *c, const char *p, size_t n)
{
    while (n) {
        size_t used = http_feed(&c->in, p, n, keep_beginning, c);
        p += used;
        n -= used;
        if (c->in.phase == HTTP_BROKEN)
            return false;
        if (c->in.phase != HTTP_DONE)
            continue;
        bool close_after = c->in.close;
        if (!answer(c) || close_after)
            return false;
        http_begin(&c->in, false);
        c->body_n = 0;
    }
    return true;
}

static bool on_readable(client *c)
{
    static char bytes[READ_BYTES];
    /* A long body is dropped inside the kernel: tcp(7), MSG_TRUNC. Its last byte is read so that the answer follows. */
    if (c->in.phase == HTTP_FIXED && c->body_n == BODY_KEPT && c->in.left > 1) {
        size_t want = c->in.left - 1 < DISCARD_MAX ? c->in.left - 1 : DISCARD_MAX;
        ssize_t gone = recv(c->fd, NULL, want, MSG_TRUNC);
        if (gone > 0)
            c->in.left -= (size_t)gone;
        if (gone == 0)
            return false;
    }
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    return n > 0 && use_bytes(c, bytes, (size_t)n);
}

static void on_connection(int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        client *c = malloc(sizeof *c);
        if (!c)
            die("memory");
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        c->fd = fd;
        c->body_n = 0;
        c->at = NULL;
        http_begin(&c->in, false);
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(mock.epoll, EPOLL_CTL_ADD, fd, &e))
            die("epoll_ctl");
    }
}

/* The next chunk for one group of the streams. */
static void tick(void)
{
    static unsigned turn;
    client *next;
    for (client *c = mock.streams[turn++ % TICKS_A_TURN]; c; c = next) {
        next = c->next;
        if (!put(c, mock.chunk, mock.chunk_n)) {
            stream_leave(c);
            shutdown(c->fd, SHUT_RDWR); /* its end of file then frees it */
        }
    }
}

int main(int argc, char **argv)
{
    long port = 9100, chunk_ms = 1000, descriptors = 8192;
    const option_row rows[] = {{"--port", &port, NULL, "port on 127.0.0.1"},
                               {"--chunk-ms", &chunk_ms, NULL, "time between the chunks of a stream"},
                               {"--files", &descriptors, NULL, "file descriptors wanted"},
                               {0}};
    options_read(argc, argv, rows);
    descriptors_raise(descriptors);
    make_answers();
    int listener = listen_loopback(port);
    mock.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = NULL}, events[256];
    if (mock.epoll < 0 || epoll_ctl(mock.epoll, EPOLL_CTL_ADD, listener, &e))
        die("epoll");
    int64_t step = chunk_ms * 1000000 / TICKS_A_TURN, due = clock_ns() + step;
    for (;;) {
        int64_t now = mock.open_streams ? clock_ns() : 0;
        int wait = mock.open_streams ? (due > now ? (int)((due - now) / 1000000) + 1 : 0) : -1;
        int n = epoll_wait(mock.epoll, events, 256, wait);
        for (int i = 0; i < n; i++) {
            client *c = events[i].data.ptr;
            if (!c)
                on_connection(listener);
            else if (!on_readable(c))
                drop(c);
        }
        if (mock.open_streams && (now = clock_ns()) >= due) {
            tick();
            due = due + step > now ? due + step : now + step;
        }
    }
}
