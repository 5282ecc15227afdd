#include "kit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ASK_MS 2000 /* silence after which a single request is given up */

_Noreturn void die(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

static _Noreturn void help(const option_row *rows, int code)
{
    FILE *to = code ? stderr : stdout;
    fprintf(to, "usage: %s [--option value]...\n", program_invocation_short_name);
    for (const option_row *r = rows; r->name; r++) {
        if (r->number)
            fprintf(to, "  %-14s %s (%ld)\n", r->name, r->help, *r->number);
        else
            fprintf(to, "  %-14s %s (%s)\n", r->name, r->help, *r->text ? *r->text : "none");
    }
    exit(code);
}

int options_read(int argc, char **argv, const option_row *rows)
{
    for (int i = 1; i < argc; i += 2) {
        if (!strcmp(argv[i], "--"))
            return i + 1;
        if (!strcmp(argv[i], "--help"))
            help(rows, 0);
        const option_row *r = rows;
        while (r->name && strcmp(r->name, argv[i]))
            r++;
        if (!r->name || i + 1 >= argc)
            help(rows, 2);
        if (r->text) {
            *r->text = argv[i + 1];
            continue;
        }
        char *end;
        *r->number = strtol(argv[i + 1], &end, 10);
        if (*end || end == argv[i + 1])
            help(rows, 2);
    }
    return argc;
}

int64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct sockaddr_in loopback(long port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int listen_loopback(long port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in at = loopback(port);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 4096))
        die("listen");
    return fd;
}

int connect_loopback(long port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    struct sockaddr_in at = loopback(port);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

void descriptors_raise(long n)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l))
        die("getrlimit");
    if (l.rlim_cur >= (rlim_t)n)
        return;
    l.rlim_cur = (rlim_t)n;
    if (l.rlim_max < l.rlim_cur)
        l.rlim_max = l.rlim_cur;
    if (setrlimit(RLIMIT_NOFILE, &l))
        die("too few file descriptors allowed (ulimit -n)");
}

/* --- HTTP messages --- */

void http_begin(http_in *in, bool answer)
{
    in->phase = HTTP_HEAD;
    in->answer = answer;
    in->close = false;
    in->status = 0;
    in->left = 0;
    in->head_n = 0;
}

bool http_header(const http_in *in, const char *name, char *out, size_t n)
{
    size_t name_n = strlen(name);
    const char *line = memchr(in->head, '\n', in->head_n), *end = in->head + in->head_n;
    for (; line && ++line < end; line = memchr(line, '\n', (size_t)(end - line))) {
        const char *eol = memchr(line, '\n', (size_t)(end - line));
        if (!eol || (size_t)(eol - line) <= name_n || line[name_n] != ':' || strncasecmp(line, name, name_n))
            continue;
        const char *from = line + name_n + 1;
        while (from < eol && (*from == ' ' || *from == '\t'))
            from++;
        while (eol > from && (eol[-1] == '\r' || eol[-1] == ' '))
            eol--;
        size_t len = (size_t)(eol - from) < n - 1 ? (size_t)(eol - from) : n - 1;
        memcpy(out, from, len);
        out[len] = 0;
        return true;
    }
    return false;
}

/* What follows a complete head. */
static http_phase after_head(http_in *in)
{
    char value[64];
    if (in->answer) {
        if (in->head_n < 13 || memcmp(in->head, "HTTP/1.", 7))
            return HTTP_BROKEN;
        in->status = (int)strtol(in->head + 9, NULL, 10);
    }
    in->close = http_header(in, "connection", value, sizeof value) && !strcasecmp(value, "close");
    if (http_header(in, "transfer-encoding", value, sizeof value))
        return strcasecmp(value, "chunked") ? HTTP_BROKEN : HTTP_CHUNK_LINE;
    if (http_header(in, "content-length", value, sizeof value)) {
        char *end;
        in->left = (size_t)strtoull(value, &end, 10);
        if (*end || end == value)
            return HTTP_BROKEN;
        return in->left ? HTTP_FIXED : HTTP_DONE;
    }
    return in->answer && in->status != 204 && in->status != 304 ? HTTP_UNTIL_CLOSE : HTTP_DONE;
}

static size_t feed_head(http_in *in, const char *p, size_t n)
{
    size_t old = in->head_n, room = sizeof in->head - old, take = n < room ? n : room;
    memcpy(in->head + old, p, take);
    in->head_n += take;
    size_t from = old > 3 ? old - 3 : 0;
    const char *end = memmem(in->head + from, in->head_n - from, "\r\n\r\n", 4);
    if (!end) {
        if (in->head_n == sizeof in->head)
            in->phase = HTTP_BROKEN;
        return take;
    }
    in->head_n = (size_t)(end - in->head) + 4;
    in->phase = after_head(in);
    return in->head_n - old;
}

/* A chunk's size line and the empty line behind its data; they are short, and `head` keeps the real head, so the number
 * is built digit by digit in `left`. */
static size_t feed_chunk_line(http_in *in, const char *p, size_t n)
{
    const char *eol = memchr(p, '\n', n);
    size_t take = eol ? (size_t)(eol - p) + 1 : n;
    if (in->phase == HTTP_CHUNK_LINE) {
        for (size_t i = 0; i < take; i++) {
            const char *digits = "0123456789abcdef", *at = p[i] ? strchr(digits, p[i] | 32) : NULL;
            if (!at || p[i] == '\r' || p[i] == '\n')
                break;
            if (in->left >> 56) {
                in->phase = HTTP_BROKEN;
                return i;
            }
            in->left = in->left * 16 + (size_t)(at - digits);
        }
    }
    if (!eol)
        return take;
    if (in->phase == HTTP_CHUNK_END)
        in->phase = HTTP_CHUNK_LINE;
    else
        in->phase = in->left ? HTTP_CHUNK : HTTP_TRAILER;
    return take;
}

/* Trailer lines up to an empty one; only CR and LF are told apart from the rest. `left` counts the bytes of the line.
 */
static size_t feed_trailer(http_in *in, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n') {
            if (in->left == 0) {
                in->phase = HTTP_DONE;
                return i + 1;
            }
            in->left = 0;
        } else if (p[i] != '\r') {
            in->left++;
        }
    }
    return n;
}

static size_t feed_body(http_in *in, const char *p, size_t n, http_body *body, void *ctx)
{
    size_t take = in->phase != HTTP_UNTIL_CLOSE && in->left < n ? in->left : n;
    if (body && take)
        body(ctx, p, take);
    if (in->phase == HTTP_UNTIL_CLOSE)
        return take;
    in->left -= take;
    if (in->left == 0)
        in->phase = in->phase == HTTP_FIXED ? HTTP_DONE : HTTP_CHUNK_END;
    return take;
}

size_t http_feed(http_in *in, const char *p, size_t n, http_body *body, void *ctx)
{
    size_t used = 0;
    while (used < n && in->phase != HTTP_DONE && in->phase != HTTP_BROKEN) {
        switch (in->phase) {
        case HTTP_HEAD:
            used += feed_head(in, p + used, n - used);
            break;
        case HTTP_CHUNK_LINE:
        case HTTP_CHUNK_END:
            used += feed_chunk_line(in, p + used, n - used);
            break;
        case HTTP_TRAILER:
            used += feed_trailer(in, p + used, n - used);
            break;
        case HTTP_FIXED:
        case HTTP_CHUNK:
        case HTTP_UNTIL_CLOSE:
            used += feed_body(in, p + used, n - used, body, ctx);
            break;
        case HTTP_DONE:
        case HTTP_BROKEN:
            break;
        }
    }
    return used;
}

char *chat_request(long port, const char *path, const char *model, bool stream, long body_bytes, const char *more_heads,
                   size_t *ret_n)
{
    static const char text[] = "The quick brown fox reads \\\"daruma\\\" logs and finds nothing to repair.\\n";
    size_t room = (size_t)body_bytes + strlen(more_heads) + 2048;
    char *body = malloc(room), *whole = malloc(room);
    if (!body || !whole)
        die("memory");
    /* A conversation of turns of about 1.4 KB, as agents send it. */
    size_t n =
        (size_t)snprintf(body, room, "{\"model\":\"%s\",\"stream\":%s,\"messages\":[{\"role\":\"user\",\"content\":\"",
                         model, stream ? "true" : "false");
    size_t turn = 0, turns = 0, tail = strlen("\"}]}");
    while (n + sizeof text + 80 + tail < (size_t)body_bytes) {
        n += (size_t)snprintf(body + n, room - n, "%s", text);
        turn += sizeof text;
        if (turn > 1400) {
            turn = 0;
            n += (size_t)snprintf(body + n, room - n, "\"},{\"role\":\"%s\",\"content\":\"",
                                  turns++ % 2 ? "user" : "assistant");
        }
    }
    while (n + tail < (size_t)body_bytes)
        body[n++] = '.';
    n += (size_t)snprintf(body + n, room - n, "\"}]}");
    size_t head = (size_t)snprintf(whole, room,
                                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nUser-Agent: daruma-bench\r\n"
                                   "Accept: application/json\r\nContent-Type: application/json\r\n"
                                   "Authorization: Bearer sk-bench-0000000000000000\r\n%sContent-Length: %zu\r\n\r\n",
                                   path, port, more_heads, n);
    memcpy(whole + head, body, n);
    free(body);
    *ret_n = head + n;
    return whole;
}

char *agent_request(long port, const char *path, const char *model, long who, long steps, long steps_usual,
                    long body_bytes, size_t *ret_n)
{
    enum { STEP_BYTES = 260 }; /* of a step but for what its tool says */
    long said = body_bytes / steps_usual > STEP_BYTES + 20 ? body_bytes / steps_usual - STEP_BYTES : 20;
    size_t room = (size_t)(steps + 1) * (size_t)(said + 2 * STEP_BYTES) + 4096;
    char *body = malloc(room), *whole = malloc(room + 1024);
    if (!body || !whole)
        die("memory");
    size_t n =
        (size_t)snprintf(body, room,
                         "{\"model\":\"%s\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"read_file\","
                         "\"parameters\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}}}],"
                         "\"messages\":[{\"role\":\"user\",\"content\":\"Task %ld: find the fault.\"}",
                         model, who);
    for (long i = 0; i < steps; i++) {
        n += (size_t)snprintf(body + n, room - n,
                              ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_%ld_%ld\","
                              "\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":"
                              "\"{\\\"path\\\":\\\"src/part%ld.c\\\"}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
                              "\"call_%ld_%ld\",\"content\":\"part %ld of %ld\\n",
                              who, i, i, who, i, i, who);
        for (long k = 0; k < said; k++)
            body[n++] = "int read_part(const char *from, size_t n);  "[(k + i) % 44];
        n += (size_t)snprintf(body + n, room - n, "\"}");
    }
    n += (size_t)snprintf(body + n, room - n, "]}");
    size_t head =
        (size_t)snprintf(whole, room + 1024,
                         "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nUser-Agent: daruma-bench\r\n"
                         "Content-Type: application/json\r\nAuthorization: Bearer sk-bench-0000000000000000\r\n"
                         "Content-Length: %zu\r\n\r\n",
                         path, port, n);
    memcpy(whole + head, body, n);
    free(body);
    *ret_n = head + n;
    return whole;
}

typedef struct kept {
    char *at;
    size_t n, room;
} kept;

static void keep(void *ctx, const char *p, size_t n)
{
    kept *k = ctx;
    size_t take = k->room > k->n + 1 ? k->room - k->n - 1 : 0;
    if (take > n)
        take = n;
    if (!take)
        return;
    memcpy(k->at + k->n, p, take);
    k->n += take;
    k->at[k->n] = 0;
}

bool ask_once(long port, const char *request, size_t n, http_in *ret_in, char *body, size_t room)
{
    char bytes[16 << 10];
    kept k = {.at = body, .room = room};
    bool sent = false;
    int fd = connect_loopback(port);
    if (fd < 0)
        return false;
    if (room)
        body[0] = 0;
    http_begin(ret_in, true);
    while (ret_in->phase != HTTP_DONE && ret_in->phase != HTTP_BROKEN) {
        struct pollfd p = {.fd = fd, .events = sent ? POLLIN : POLLOUT};
        if (poll(&p, 1, ASK_MS) <= 0)
            break;
        if (!sent) {
            sent = send(fd, request, n, MSG_NOSIGNAL) == (ssize_t)n;
            if (!sent)
                break;
            continue;
        }
        ssize_t got = recv(fd, bytes, sizeof bytes, 0);
        if (got == 0 && ret_in->phase == HTTP_UNTIL_CLOSE)
            ret_in->phase = HTTP_DONE;
        if (got <= 0)
            break;
        http_feed(ret_in, bytes, (size_t)got, keep, &k);
    }
    close(fd);
    return ret_in->phase == HTTP_DONE;
}

bool url_read(const char *url, long *ret_port, const char **ret_path)
{
    static const char *const hosts[] = {"http://127.0.0.1:", "http://localhost:"};
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(hosts[i]);
        if (strncmp(url, hosts[i], n))
            continue;
        char *end;
        long port = strtol(url + n, &end, 10);
        if (end == url + n || port < 1 || port > 65535 || (*end && *end != '/'))
            return false;
        *ret_port = port;
        *ret_path = end;
        return true;
    }
    return false;
}

/* --- latencies --- */

void times_add(times *t, int64_t ns)
{
    if (t->n == t->room) {
        t->room = t->room ? t->room * 2 : 4096;
        t->ns = realloc(t->ns, t->room * sizeof *t->ns);
        if (!t->ns)
            die("memory");
    }
    t->ns[t->n++] = ns;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void times_sort(times *t)
{
    if (t->n)
        qsort(t->ns, t->n, sizeof *t->ns, by_size);
}

double times_at(const times *t, int share)
{
    if (!t->n)
        return 0;
    size_t i = (t->n * (size_t)share) / 1000;
    return (double)t->ns[i < t->n ? i : t->n - 1] / 1000;
}
