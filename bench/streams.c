/* streams.c - opens N streaming requests, holds them, and says what a stream costs the program under test in memory.
 *
 * Memory is private memory (smaps_rollup) of the process tree: before the first stream, and at the end of the hold,
 * when every stream has had its first chunk and several more. What the kernel holds in sockets is not in it.
 */
#include "kit.h"
#include "proc.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPENING_MAX 64 /* streams that wait for their first byte at a time: opening is not what is measured */

typedef struct stream {
    int fd;
    bool asked;       /* the request is out */
    bool has_content; /* a byte of the body came */
    http_in in;
} stream;

static struct {
    int epoll;
    char *request;
    size_t request_n;
    long live, failed, chunks;
} all;

static void on_body(void *ctx, const char *p, size_t n)
{
    (void)p;
    (void)n;
    stream *s = ctx;
    all.live += !s->has_content;
    s->has_content = true;
    all.chunks++;
}

static void give_up(stream *s)
{
    close(s->fd);
    s->fd = -1;
    all.failed++;
    all.live -= s->has_content;
}

static bool ask(stream *s)
{
    ssize_t n = send(s->fd, all.request, all.request_n, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
        return true;
    s->asked = n == (ssize_t)all.request_n; /* a small request fits an empty socket buffer */
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    return s->asked && epoll_ctl(all.epoll, EPOLL_CTL_MOD, s->fd, &e) == 0;
}

static void on_event(stream *s, unsigned events)
{
    static char bytes[16 << 10];
    if (!s->asked && (events & EPOLLOUT) && !ask(s)) {
        give_up(s);
        return;
    }
    if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return;
    ssize_t n = recv(s->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        http_feed(&s->in, bytes, (size_t)n, on_body, s);
    if (n <= 0 || s->in.phase == HTTP_DONE || s->in.phase == HTTP_BROKEN || (s->in.status && s->in.status != 200))
        give_up(s); /* no stream may end while we hold it */
}

static void poll_once(int ms)
{
    struct epoll_event events[256];
    int n = epoll_wait(all.epoll, events, 256, ms);
    for (int i = 0; i < n; i++)
        on_event(events[i].data.ptr, events[i].events);
}

static void open_streams(stream *s, long count, long port, int64_t end)
{
    for (long begun = 0; (begun < count || all.live + all.failed < count) && clock_ns() < end;) {
        while (begun < count && begun - all.live - all.failed < OPENING_MAX) {
            s[begun].fd = connect_loopback(port);
            if (s[begun].fd < 0)
                die("connect");
            http_begin(&s[begun].in, true);
            struct epoll_event e = {.events = EPOLLIN | EPOLLOUT, .data.ptr = &s[begun]};
            if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, s[begun].fd, &e))
                die("epoll_ctl");
            begun++;
        }
        poll_once(100);
    }
}

int main(int argc, char **argv)
{
    long port = 9100, count = 2000, hold_ms = 3000, body = 512, watch = 0, open_ms = 20000;
    const char *model = "m-main", *heads = "", *path = "/v1/chat/completions";
    const option_row rows[] = {{"--port", &port, NULL, "port on 127.0.0.1"},
                               {"--count", &count, NULL, "streams"},
                               {"--hold-ms", &hold_ms, NULL, "how long they are held once open"},
                               {"--open-ms", &open_ms, NULL, "how long opening them may take"},
                               {"--body", &body, NULL, "bytes of a request's body"},
                               {"--watch", &watch, NULL, "process whose memory is read; 0: none"},
                               {"--path", NULL, &path, "request target"},
                               {"--model", NULL, &model, "model asked for"},
                               {"--heads", NULL, &heads, "more header lines, each ending in CR LF"},
                               {0}};
    options_read(argc, argv, rows);
    if (count < 1 || body > 32768) {
        errno = EINVAL;
        die("options");
    }
    descriptors_raise(count + 64);
    all.request = chat_request(port, path, model, true, body, heads, &all.request_n);
    all.epoll = epoll_create1(EPOLL_CLOEXEC);
    stream *s = calloc((size_t)count, sizeof *s);
    if (all.epoll < 0 || !s)
        die("start");

    proc_use before = watch ? proc_all(watch) : (proc_use){0};
    open_streams(s, count, port, clock_ns() + open_ms * 1000000);
    long opened = all.live;
    proc_use held = watch ? proc_cpu(watch) : (proc_use){0};
    for (int64_t end = clock_ns() + hold_ms * 1000000; clock_ns() < end;)
        poll_once(50);
    proc_use after = watch ? proc_all(watch) : (proc_use){0};

    double kb = all.live ? (double)(after.private_kb - before.private_kb) / (double)all.live : 0;
    printf("{\"streams\":%ld,\"opened\":%ld,\"live\":%ld,\"failed\":%ld,\"chunks\":%ld,\"request_bytes\":%zu,"
           "\"private_kb_before\":%lld,\"private_kb_after\":%lld,\"kb_per_stream\":%.2f,"
           "\"kb_per_stream_less_request\":%.2f,\"hold_cpu_ms\":%.1f}\n",
           count, opened, all.live, all.failed, all.chunks, all.request_n, (long long)before.private_kb,
           (long long)after.private_kb, kb, all.live ? kb - (double)all.request_n / 1024 : 0,
           (double)(after.cpu_us - held.cpu_us) / 1000);
    free(s);
    free(all.request);
    return all.live == count ? 0 : 1;
}
