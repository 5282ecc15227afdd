/* load.c - a closed loop of chat requests over K kept-alive connections, and one line of JSON about it.
 *
 * The processors' time of the program under test is read at the beginning and the end of the very window in which the
 * answers are counted, so that start, warm-up and idling cost it nothing.
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

enum { AGENT_LAPS = 32 }; /* steps an agent goes on before it begins anew */

typedef struct request {
    char *p;
    size_t n;
} request;

typedef struct caller {
    int fd;
    const request *requests; /* one after the other, then from the first again */
    size_t nrequests, at;
    size_t sent;    /* bytes of the request */
    int64_t begun;  /* when it began to be sent */
    bool wants_out; /* epoll tells us when it is writable */
    http_in in;     /* its answer */
} caller;

static struct {
    long port, connections, body, millis, warm_ms, requests, watch, steps;
    const char *path, *model, *heads;
    int epoll;
    times took;
    long answered, errors, not_200; /* within the window */
    bool counting;
} load;

static void expect(caller *c, bool out, int op)
{
    struct epoll_event e = {.events = EPOLLIN | (out ? (unsigned)EPOLLOUT : 0u), .data.ptr = c};
    if (epoll_ctl(load.epoll, op, c->fd, &e))
        die("epoll_ctl");
    c->wants_out = out;
}

static void open_again(caller *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = connect_loopback(load.port);
    if (c->fd < 0)
        die("connect");
    c->sent = 0;
    c->begun = clock_ns();
    http_begin(&c->in, true);
    expect(c, true, EPOLL_CTL_ADD);
}

static void failed(caller *c)
{
    load.errors += load.counting;
    if (load.errors > 1000)
        die("more than 1000 connections failed");
    open_again(c);
}

/* False when the connection broke. */
static bool write_on(caller *c)
{
    const request *r = &c->requests[c->at];
    while (c->sent < r->n) {
        ssize_t n = send(c->fd, r->p + c->sent, r->n - c->sent, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno != EAGAIN && errno != ENOTCONN)
                return false;
            if (!c->wants_out)
                expect(c, true, EPOLL_CTL_MOD);
            return true;
        }
        c->sent += (size_t)n;
    }
    if (c->wants_out)
        expect(c, false, EPOLL_CTL_MOD);
    return true;
}

static void answered(caller *c)
{
    int64_t now = clock_ns();
    if (load.counting) {
        load.answered++;
        load.not_200 += c->in.status != 200;
        times_add(&load.took, now - c->begun);
    }
    c->at = (c->at + 1) % c->nrequests;
    if (c->in.close) {
        open_again(c);
        return;
    }
    c->sent = 0;
    c->begun = now;
    http_begin(&c->in, true);
    if (!write_on(c))
        failed(c);
}

static void on_event(caller *c, unsigned events)
{
    static char bytes[64 << 10];
    if ((events & EPOLLOUT) && !write_on(c)) {
        failed(c);
        return;
    }
    if (!(events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        return;
    ssize_t n = recv(c->fd, bytes, sizeof bytes, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        failed(c);
        return;
    }
    size_t used = http_feed(&c->in, bytes, (size_t)n, NULL, NULL);
    if (c->in.phase == HTTP_BROKEN || used < (size_t)n) /* more than the answer: nobody asked for it */
        failed(c);
    else if (c->in.phase == HTTP_DONE)
        answered(c);
}

/* Runs the loop until the time, or until so many requests were answered when `requests` is above 0. */
static void run_until(int64_t end, long requests)
{
    struct epoll_event events[256];
    while (!requests || load.answered + load.errors < requests) {
        int64_t now = clock_ns();
        if (now >= end)
            return;
        int n = epoll_wait(load.epoll, events, 256, (int)((end - now) / 1000000) + 1);
        for (int i = 0; i < n; i++)
            on_event(events[i].data.ptr, events[i].events);
    }
}

static void print_result(int64_t elapsed_ns, int64_t cpu_us)
{
    double seconds = (double)elapsed_ns / 1e9;
    times_sort(&load.took);
    printf("{\"requests\":%ld,\"seconds\":%.3f,\"per_second\":%.1f,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,"
           "\"max_us\":%.1f,\"errors\":%ld,\"not_200\":%ld",
           load.answered, seconds, (double)load.answered / seconds, times_at(&load.took, 500),
           times_at(&load.took, 900), times_at(&load.took, 990), times_at(&load.took, 1000), load.errors, load.not_200);
    if (load.watch && load.answered)
        printf(",\"cpu_us_per_request\":%.2f,\"cpu_busy\":%.3f", (double)cpu_us / (double)load.answered,
               (double)cpu_us / 1e6 / seconds);
    printf("}\n");
}

/* What one agent sends, step after step. Kept until the end. */
static const request *agent_of(long who)
{
    request *r = calloc(AGENT_LAPS, sizeof *r);
    for (long i = 0; r && i < AGENT_LAPS; i++)
        r[i].p = agent_request(load.port, load.path, load.model, who, load.steps + i, load.steps, load.body, &r[i].n);
    if (!r)
        die("memory");
    return r;
}

int main(int argc, char **argv)
{
    load.port = 9100;
    load.connections = 32;
    load.body = 2048;
    load.millis = 3000;
    load.warm_ms = 300;
    load.path = "/v1/chat/completions";
    load.model = "m-main";
    load.heads = "";
    const option_row rows[] = {
        {"--port", &load.port, NULL, "port on 127.0.0.1"},
        {"--connections", &load.connections, NULL, "kept-alive connections"},
        {"--body", &load.body, NULL, "bytes of a request's body"},
        {"--millis", &load.millis, NULL, "length of the measured window"},
        {"--warm-ms", &load.warm_ms, NULL, "warm-up before it, not counted"},
        {"--requests", &load.requests, NULL, "stop early after so many answers; 0: no"},
        {"--steps", &load.steps, NULL, "agents: each request is one step further, from so many on"},
        {"--watch", &load.watch, NULL, "process whose processor time is read; 0: none"},
        {"--path", NULL, &load.path, "request target"},
        {"--model", NULL, &load.model, "model asked for"},
        {"--heads", NULL, &load.heads, "more header lines, each ending in CR LF"},
        {0}};
    options_read(argc, argv, rows);
    if (load.connections < 1 || load.body < 0 || load.millis < 1) {
        errno = EINVAL;
        die("options");
    }
    descriptors_raise(load.connections + 64);
    request plain = {0};
    plain.p = chat_request(load.port, load.path, load.model, false, load.body, load.heads, &plain.n);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    caller *callers = calloc((size_t)load.connections, sizeof *callers);
    if (load.epoll < 0 || !callers)
        die("start");
    for (long i = 0; i < load.connections; i++) {
        callers[i].fd = -1;
        callers[i].nrequests = load.steps ? AGENT_LAPS : 1;
        callers[i].requests = load.steps ? agent_of(i) : &plain;
        open_again(&callers[i]);
    }
    run_until(clock_ns() + load.warm_ms * 1000000, 0);

    int64_t cpu = load.watch ? proc_cpu(load.watch).cpu_us : 0;
    int64_t from = clock_ns();
    load.counting = true;
    run_until(from + load.millis * 1000000, load.requests);
    int64_t elapsed = clock_ns() - from;
    cpu = load.watch ? proc_cpu(load.watch).cpu_us - cpu : 0;
    print_result(elapsed, cpu);
    free(callers);
    free(plain.p);
    free(load.took.ns);
    return load.answered ? 0 : 1;
}
