/* chaos_kit.h - the faulty provider in the test's own process, and a client that sees every byte of it. */
#ifndef CHAOS_KIT_H
#define CHAOS_KIT_H
#include "test.h"
#include "chaos/chaos.h"
#include "base/str.h"
#include "sys/sys.h"
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- a provider in this process, and a client that sees every byte -------------------------------------- */

/* What is wrong with a script first, without its key, and what to do. */
static inline const char *mistake(const conf_mistakes *m)
{
    static char text[800];
    snprintf(text, sizeof text, "%s%s%s", m->at[0].what, m->at[0].remedy[0] ? "; " : "", m->at[0].remedy);
    return text;
}

typedef struct rig {
    uv_loop_t loop;
    chaos *chaos;
    int finished; /* 0 no, 1 expectations held, 2 they did not */
} rig;

static inline void on_finished(bool held, void *user)
{
    ((rig *)user)->finished = held ? 1 : 2;
}

static inline void rig_up(rig *r, const char *yaml)
{
    conf_mistakes err;
    char why[256];
    script *s = script_read(str_of(yaml), NULL, &err);
    if (!s)
        fail_msg("%d:%d: %s", err.at[0].line, err.at[0].column, mistake(&err));
    *r = (rig){0};
    assert_int_equal(uv_loop_init(&r->loop), 0);
    chaos_settings set = {"127.0.0.1", 0, NULL, on_finished, r};
    r->chaos = chaos_start(&r->loop, &set, s, why);
    if (!r->chaos)
        fail_msg("%s", why);
}

static inline void rig_down(rig *r)
{
    chaos_close(r->chaos);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

typedef enum ended { STILL_OPEN, CLOSED, WAS_RESET } ended;

/* What a client heard until the connection ended or the time was over. */
typedef struct heard {
    char text[64 << 10];
    size_t n;
    ended end;
    daruma_ms first, took; /* until the first byte, until the end; -1 never */
} heard;

static inline int dial(rig *r)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)chaos_port(r->chaos))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void hear(rig *r, int fd, daruma_ms limit, heard *h)
{
    daruma_ms from = sys_moment().now;
    *h = (heard){.first = -1, .took = -1};
    while (sys_moment().now - from < limit && h->n < sizeof h->text - 1) {
        struct pollfd p = {fd, POLLIN, 0};
        uv_run(&r->loop, UV_RUN_NOWAIT);
        if (poll(&p, 1, 1) == 0)
            continue;
        ssize_t n = recv(fd, h->text + h->n, sizeof h->text - 1 - h->n, 0);
        if (n > 0 && h->first < 0)
            h->first = sys_moment().now - from;
        if (n > 0) {
            h->n += (size_t)n;
            continue;
        }
        h->end = n == 0 ? CLOSED : WAS_RESET;
        h->took = sys_moment().now - from;
        break;
    }
    h->text[h->n] = '\0';
}

static inline void send_all(int fd, const char *text)
{
    size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
}

static inline int ask_for(rig *r, const char *method, const char *path, const char *key, const char *body)
{
    char head[16 << 10];
    snprintf(head, sizeof head,
             "%s %s HTTP/1.1\r\nHost: here\r\nConnection: close\r\n%s%s%santhropic-version: 2023-06-01\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             method, path, key ? "Authorization: Bearer " : "", key ? key : "", key ? "\r\n" : "", strlen(body), body);
    int fd = dial(r);
    send_all(fd, head);
    return fd;
}

static inline void call_for(rig *r, const char *path, const char *body, daruma_ms limit, heard *h)
{
    int fd = ask_for(r, "POST", path, "sk-test-key", body);
    hear(r, fd, limit, h);
    close(fd);
}

static inline void control(rig *r, const char *method, const char *path, const char *body, heard *h)
{
    int fd = ask_for(r, method, path, NULL, body);
    hear(r, fd, 2000, h);
    close(fd);
    assert_int_equal(h->end, CLOSED);
}

static inline bool holds(const heard *h, const char *what)
{
    return str_find((daruma_str){h->text, h->n}, str_of(what)) != STR_NONE;
}

/* A request read and answered without sockets. */
static inline ask read_ask(const char *path, const char *body, daruma_arena *a)
{
    static const daruma_header headers[] = {{LIT("anthropic-version"), LIT("2023-06-01")},
                                            {LIT("x-api-key"), LIT("sk-test-key")}};
    http_head head = {.path = str_of(path), .headers = headers, .nheaders = 2};
    return ask_read(&head, str_of(body), a);
}
#endif
