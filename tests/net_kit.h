/* net_kit.h - real sockets on 127.0.0.1 for tests: a loop that is pumped until something holds, raw peers that
 * send any bytes, and a record of what came. Waiting is bounded and ends as soon as the condition holds. */
#ifndef NET_KIT_H
#define NET_KIT_H
#include "test.h"
#include "base/limits.h"
#include "net/server.h"
#include "net/upstream.h"
#include "sys/sys.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static uv_loop_t *loop;

static inline void pump_once(void)
{
    uv_run(loop, UV_RUN_NOWAIT);
}

/* Runs the loop until the expression holds, at most 5 seconds; fails with it otherwise. */
#define until(expr)                                                                                                    \
    do {                                                                                                               \
        daruma_ms end_ = sys_moment().now + 5000;                                                                      \
        while (!(expr)) {                                                                                              \
            pump_once();                                                                                               \
            if (sys_moment().now > end_)                                                                               \
                fail_msg("never came true: %s", #expr);                                                                \
            poll(NULL, 0, 0);                                                                                          \
        }                                                                                                              \
    } while (0)

static inline void pump_ms(daruma_ms ms)
{
    for (daruma_ms end = sys_moment().now + ms; sys_moment().now < end; poll(NULL, 0, 1))
        pump_once();
}

/* ---- raw peers ---- */

typedef struct peer {
    int fd;
    char *got; /* NUL-terminated, malloc */
    size_t n, cap;
    bool eof, reset;
} peer;

static inline void peer_own(peer *p, int fd)
{
    int one = 1;
    *p = (peer){.fd = fd, .got = calloc(1, 1)};
    assert_true(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static inline peer peer_connect(int port)
{
    peer p;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    peer_own(&p, fd);
    return p;
}

/* The kernel takes little of what this end sends, or gets, from now on. */
static inline void hold_little(int fd, int what)
{
    int n = 1;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, what, &n, sizeof n), 0);
}

static inline int peer_listen(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 64), 0);
    getsockname(fd, (struct sockaddr *)&at, &n);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    *port = ntohs(at.sin_port);
    return fd;
}

static inline peer peer_accept(int listener)
{
    peer p;
    int fd = -1;
    until((fd = accept(listener, NULL, NULL)) >= 0);
    peer_own(&p, fd);
    return p;
}

/* Takes what has come; never waits. */
static inline void peer_hear(peer *p)
{
    for (;;) {
        if (p->cap - p->n < 65536)
            p->got = realloc(p->got, (p->cap = (p->cap ? p->cap * 2 : 65536) + 65536) + 1);
        ssize_t n = recv(p->fd, p->got + p->n, p->cap - p->n, 0);
        if (n <= 0) {
            p->eof |= n == 0;
            p->reset |= n < 0 && errno == ECONNRESET;
            break;
        }
        p->n += (size_t)n;
    }
    p->got[p->n] = 0;
}

/* Has this text come? */
static inline bool heard(peer *p, const char *text)
{
    peer_hear(p);
    return memmem(p->got, p->n, text, strlen(text)) != NULL;
}

static inline bool heard_end(peer *p)
{
    peer_hear(p);
    return p->eof || p->reset;
}

static inline void peer_say_n(peer *p, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(p->fd, bytes + at, n - at, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;
        at += sent > 0 ? (size_t)sent : 0;
        pump_once();
    }
}

static inline void peer_say(peer *p, const char *text)
{
    peer_say_n(p, text, strlen(text));
}

static inline void peer_drip(peer *p, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        peer_say_n(p, bytes + i, 1);
}

static inline void peer_reset(peer *p)
{
    struct linger hard = {1, 0};
    setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(p->fd);
    p->fd = -1;
}

static inline void peer_done(peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    free(p->got);
}

/* ---- a loop for each test ---- */

static inline int kit_setup(void **state)
{
    (void)state;
    sys_ignore_sigpipe();
    loop = calloc(1, sizeof *loop);
    return uv_loop_init(loop);
}

static inline int kit_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 200 && uv_run(loop, UV_RUN_NOWAIT); i++)
        poll(NULL, 0, 1);
    int left = uv_loop_close(loop); /* a handle that nobody closed is a leak */
    if (left)
        uv_print_all_handles(loop, stderr);
    free(loop);
    return left;
}
#endif
