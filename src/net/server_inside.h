/* server_inside.h - one client's connection, for server.c (who lets it in), server_conn.c (its life), server_read.c
 * (requests) and server_answer.c (answers).
 *
 *        +------------------------- answered, keep-alive ------------------------+
 *        v                                                                       |
 *     IN_HEAD --> IN_BODY (length known) --+                                     |
 *        |   \--> IN_CHUNKS ---------------+--> WITH_HANDLER --> call_end() -----+
 *        |                                                           | close
 *        +--> refused --------------------------------> LINGERING <--+
 *                                                           v
 *     any --> client gone, timeout ---------------------> CLOSING --> freed
 */
#ifndef NET_SERVER_INSIDE_H
#define NET_SERVER_INSIDE_H
#include "base/limits.h"
#include "net/gather.h"
#include "net/server.h"

typedef enum conn_state { IN_HEAD, IN_BODY, IN_CHUNKS, WITH_HANDLER, LINGERING, CLOSING } conn_state;

/* What a connection may wait for, each for its own time. One queue a kind: all in it wait equally
 * long, so the first is the next to run out. */
typedef enum conn_wait {
    FOR_REQUEST,
    FOR_HEAD,
    FOR_BODY,
    FOR_READER, /* to take anything of the answer that waits for it, which may still be under way */
    FOR_CLOSE,
    FOR_RESET, /* of a client that has said its last word: it listens, or has gone and answers what is written so */
    WAITS,
    FOR_NOTHING = WAITS
} conn_wait;

typedef struct conn conn;
struct conn {
    call call; /* first: a call is its connection */
    uv_tcp_t tcp;
    server *server;
    tls *tls;                    /* NULL: bytes go as they are */
    conn *next, *prev;           /* all connections */
    conn *wait_next, *wait_prev; /* its queue */
    conn *later_next;            /* those to be looked after before the loop sleeps */
    daruma_ms since;             /* when it began to wait */
    daruma_ms body_since;        /* when its body began to come, or what is thrown away */
    daruma_arena arena;          /* of the call */
    http_rest rest;              /* a head in part, or requests that came ahead */
    http_scan scan;
    char *body; /* malloc; length known: exactly that long; or it stands in `arena` */
    size_t nbody, body_cap;
    http_chunks chunks;
    daruma_str head_out; /* of the answer, waits for its first body bytes; see head_room() */
    int64_t answer_left; /* body bytes of the answer still to come; -1 chunked, or until close */
    uint64_t put;        /* bytes written to the client, those that wait included */
    uint64_t taken;      /* of them, those that were gone when its reading was last looked at */
    size_t linger_left;  /* bytes that may still be thrown away */
    uint8_t state;       /* conn_state */
    uint8_t waits;       /* conn_wait */
    bool gathered;       /* some of the answer is in the server's `gather` */
    bool greeted;        /* bytes came */
    bool blank;          /* an empty line before this request was skipped */
    bool feeding;        /* bytes are being worked off further up the stack */
    bool later;          /* in the list of those to be looked after */
    bool reading;        /* from the socket */
    bool broken;         /* writing failed */
    bool blocked;        /* call_write() said false */
    bool started;        /* the answer */
    bool keep;           /* the connection after this answer */
    bool chunked;        /* the answer is */
    bool raw;            /* its bytes come from call_raw() */
    bool parts;          /* it has its answer and only lingers, or is closed: it holds no place */
    bool bodyless;       /* HEAD, 204, 304: body bytes of the answer are not sent */
    bool within;         /* `body` stands in `arena`: it is short and came with its head */
};

typedef struct conn_queue {
    conn *first, *last;
} conn_queue;

struct server {
    uv_loop_t *loop;
    uv_tcp_t listeners[SERVICE_SOCKETS_MAX];
    int nlisteners;
    uv_prepare_t before_sleep; /* runs while somebody is in the list `later` */
    uv_timer_t tick;           /* runs while somebody waits */
    gather *gather;            /* small pieces of answers; NULL: there is no memory */
    tls_context *tls;          /* NULL: none is spoken */
    char *plain; /* SERVER_PLAIN_BYTES, everybody's, for what was read out of TLS; malloc, NULL: not needed yet */
    server_limits limits;
    server_ops ops;
    void *user;
    void (*drained)(void *user); /* server_drain()'s */
    void *drained_user;
    conn *all, *later;
    daruma_arena spare_arenas[ROOMS_KEPT]; /* of calls that are over, for the next */
    size_t nspare_arenas;
    conn_queue waiting[WAITS];
    daruma_ms wait_ms[WAITS];
    daruma_ms drain_since; /* when it was told to stop */
    uint64_t calls;        /* to number them */
    int spare;             /* descriptor, given up for a moment to turn clients away when no other is left; -1 none */
    size_t bytes;          /* of request bodies, all connections together */
    uint32_t open;
    uint32_t parting; /* of them: `parts` */
    uint8_t handles;  /* of its own, not closed yet */
    bool draining, closing;
    bool head_used;        /* an answer's head stands in `head` */
    char head[2 << 10];    /* of the answer that is begun; few are longer */
    char buffer[64 << 10]; /* everybody's, for one read */
};

static inline uv_buf_t buf_of(daruma_str s)
{
    return (uv_buf_t){.base = (char *)(uintptr_t)s.p, .len = s.n};
}

/* ---- server.c ---- */
void server_free(server *s); /* when it is closed and nothing of it is left */

/* ---- server_conn.c ---- */
void conn_wait_for(conn *c, conn_wait what);               /* begins to wait; FOR_NOTHING ends it */
void conn_later(conn *c);                                  /* it is looked after before the loop sleeps */
void conn_close(conn *c);                                  /* at once */
void conn_gone(conn *c);                                   /* the same, and a handler is told that its client left */
void conn_ran_out(conn *c);                                /* it waited for as long as it may */
void conn_write(conn *c, uv_buf_t *bufs, unsigned n);      /* takes what the socket does not: a copy waits */
void conn_write_wire(conn *c, uv_buf_t *bufs, unsigned n); /* the same for bytes as they are on the wire */
void conn_gathered(void *c, daruma_str bytes);             /* its bytes that were gathered are to be written now */

/* The answer has ended, perhaps not yet on the wire, or what waits is all that may: who goes on reading gets all of it,
 * however slowly, and who does not read may come back to it. */
void conn_wait_for_reader(conn *c, conn_wait then);
void conn_drop_head(conn *c); /* the answer's, which went out or never will */
void conn_free_body(conn *c);
void conn_free_request(conn *c); /* all that one request and its answer hold */
/* Says that nothing more comes and reads on until the client has gone: closing over unread bytes would
 * reset the connection, and the client might never read why. */
void conn_linger(conn *c);
void conn_leave(conn *c, bool reset); /* at once; with a reset if the client must not take it for an end */

/* ---- server_answer.c ---- */
void conn_refuse(conn *c, const http_fault *why); /* answers, then lingers */

/* ---- server_read.c ---- */
bool conn_read_start(conn *c);
/* Goes on with what came ahead, after an answer has ended. */
void conn_read_on(conn *c);
void conn_take(conn *c, daruma_str in); /* bytes of the client, as they are meant */
/* Where the bytes of a body may be read to: what is missing of it, empty where its length is not known. */
daruma_str conn_body_room(conn *c);
void conn_body_came(conn *c, size_t n); /* so many were */

/* ---- server_tls.c ---- */
bool conn_secure(conn *c); /* speaks TLS from its first byte on. False: no memory */
void conn_secure_read(conn *c, daruma_str wire);
void conn_secure_write(conn *c, uv_buf_t *bufs, unsigned n);
void conn_secure_end(conn *c); /* says that nothing more comes */
#endif
