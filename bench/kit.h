/* kit.h - what the bench programs share: options, the clock, sockets, reading HTTP messages, latencies.
 *
 * The bench has its own small HTTP on purpose: a gateway measured with its own parser would hide that parser's bugs.
 */
#ifndef BENCH_KIT_H
#define BENCH_KIT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One option of a program. Exactly one of `number` and `text` is set; their values before reading are the defaults. */
typedef struct option_row {
    const char *name;  /* with its dashes: "--port" */
    long *number;      /* takes a whole number */
    const char **text; /* takes any word */
    const char *help;  /* one phrase */
} option_row;

/* Reads `--name value` pairs into the rows (last row: name NULL). Prints help and exits on --help (0) or on anything
 * unknown (2). Returns the index of the first argument after `--`, or `argc`. */
int options_read(int argc, char **argv, const option_row *rows);

int64_t clock_ns(void); /* monotonic */

/* Prints "PROGRAM: what: errno text" and exits 1: a bench program that cannot run has nothing to tell. */
_Noreturn void die(const char *what);

int listen_loopback(long port);  /* non-blocking, 127.0.0.1 only; dies */
int connect_loopback(long port); /* non-blocking, in progress or connected; -1 */
void descriptors_raise(long n);  /* lets this process open `n`; dies where the hard limit forbids it */

/* One HTTP/1.1 message as it arrives. All zero is a message that has not begun. */
typedef enum {
    HTTP_HEAD,
    HTTP_FIXED,
    HTTP_CHUNK_LINE,
    HTTP_CHUNK,
    HTTP_CHUNK_END,
    HTTP_TRAILER,
    HTTP_UNTIL_CLOSE,
    HTTP_DONE,
    HTTP_BROKEN
} http_phase;

typedef struct http_in {
    http_phase phase; /* where we are */
    bool answer;      /* set by the caller: an answer may run until the connection closes, a request may not */
    bool close;       /* the sender closes after this message */
    int status;       /* of an answer */
    size_t left;      /* bytes still to come of a fixed body or of the current chunk */
    size_t head_n;    /* bytes used of `head` */
    char head[8192];  /* the head, or the line being read in a chunked body */
} http_in;

typedef void http_body(void *ctx, const char *p, size_t n);

void http_begin(http_in *in, bool answer);
/* Reads up to `n` bytes, hands body bytes to `body` (may be NULL). Returns how many were used: fewer than `n` only when
 * the message is done or broken. */
size_t http_feed(http_in *in, const char *p, size_t n, http_body *body, void *ctx);
/* The value of a header of a complete head, copied and cut to `n`; false when absent. `name` without the colon. */
bool http_header(const http_in *in, const char *name, char *out, size_t n);

/* A chat-completion request, head and body in one block (malloc; the caller's). `body_bytes` is what the body has, at
 * least some 200; `more_heads` are further header lines, each with its CRLF, or "". */
/* The request of an agent that has made so many steps: tools, and a call and its result for each step, of about
 * `body_bytes` in all when there are `steps_usual`. `who` tells agents apart. */
char *agent_request(long port, const char *path, const char *model, long who, long steps, long steps_usual,
                    long body_bytes, size_t *ret_n);
char *chat_request(long port, const char *path, const char *model, bool stream, long body_bytes, const char *more_heads,
                   size_t *ret_n);

/* One request on a connection of its own, waited for. True when its answer, whatever its status, came back whole; of
 * its body the first `room` - 1 bytes are in `body`, NUL-terminated (NULL, 0: not wanted). */
bool ask_once(long port, const char *request, size_t n, http_in *ret_in, char *body, size_t room);

/* The port and the path ("" when it has none) of "http://127.0.0.1:PORT/path"; false for any other host or scheme. */
bool url_read(const char *url, long *ret_port, const char **ret_path);

/* Latencies in nanoseconds, grown as needed. */
typedef struct times {
    int64_t *ns; /* malloc */
    size_t n, room;
} times;
void times_add(times *t, int64_t ns);
void times_sort(times *t);
/* In microseconds; `t` is sorted; 0 when empty. `share` is in thousandths: 500 is the median. */
double times_at(const times *t, int share);

#endif
