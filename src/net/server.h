/* server.h - accepts clients: reads whole requests, writes answers. One loop, one thread.
 *
 *   request ---> head and body complete ---> ops.request(call)
 *                                              call_head, call_write*, call_end   (any time later)
 *   client leaves before call_end -----------> ops.gone(call)
 *
 * A broken request is answered here (400, 408, 413, 414, 417, 431, 501, 503, 505) and closed; its
 * handler never sees it. Pipelined requests wait until the answer before them has ended. A client
 * that closes its sending side while it waits has left: HTTP clients do not do that otherwise. */
#ifndef NET_SERVER_H
#define NET_SERVER_H
#include "net/http.h"
#include "net/tls.h"
#include <uv.h>

typedef struct server server;

/* One request and its answer. */
typedef struct call {
    http_head head;      /* lives as long as the call */
    daruma_str body;     /* whole, decoded from chunks; lives until call_drop_body() or the end */
    daruma_ms sending;   /* so long it took to come */
    daruma_arena *arena; /* memory that dies with the call; grows on demand */
    void *user;          /* the handler's own */
    uint64_t id;         /* no other call of the server has it; from 1 on */
} call;

typedef struct server_ops {
    /* A whole request is here. */
    void (*request)(call *c, void *user);
    /* The client left, or the connection broke, before call_end(). The call is dead after this returns. */
    void (*gone)(call *c, void *user);
    /* What waited for a slow reader has been written: go on after call_write() said false. */
    void (*drained)(call *c, void *user);
    /* A client has connected; false: its connection is reset at once. NULL: everybody is welcome. */
    bool (*admit)(void *user);
    /* True if the body of that request, of which the head is there, is to be read. False: request() is called without
     * it and has to refuse, and the connection ends behind the answer. Asked only where a body is announced. NULL:
     * every body is read. */
    bool (*wants_body)(const call *c, void *user);
    /* A request is refused here for its size (413) or for want of room (503): appends the body of the answer, JSON in
     * the words of the client's API. Nothing appended, or NULL: a form that most SDKs read. `h` NULL: it was not read.
     */
    void (*refusal)(const http_head *h, int status, const char *words, daruma_buf *out, void *user);
} server_ops;

typedef struct server_limits {
    size_t body_bytes;                             /* of a request body; BODY_BYTES_MAX */
    size_t all_bytes;                              /* of all request bodies at a time; 0: ALL_BODIES_BYTES_MAX */
    size_t call_bytes;                             /* made of a request beside its head; 0: CALL_BYTES_USUAL */
    uint32_t connections;                          /* CONNECTIONS_MAX */
    daruma_ms head_ms, body_idle_ms, keepalive_ms; /* 0: HEAD_MS_MAX, BODY_IDLE_MS_MAX, KEEPALIVE_MS */
    daruma_ms reader_ms, reader_crowded_ms;        /* 0: READER_MS_MAX, READER_CROWDED_MS_MAX */
    size_t readers_bytes;                          /* 0: READERS_BYTES_MAX */
    daruma_ms drain_ms;                            /* 0: DRAIN_REQUEST_MS_MAX */
    daruma_ms body_ms;                             /* 0: BODY_MS_MAX */
    int socket;                                    /* that listens already, in place of host and port; 0 none */
    int sockets;                                   /* and those behind it: how many, SERVICE_SOCKETS_MAX at most */
} server_limits;

/* True if the address is this machine's and may be listened on. *taken: something listens there at the moment. Else
 * false and a sentence in `why`. */
bool server_can_listen(const char *host, int port, bool *taken, char why[256]);
/* Where a listening socket is, as "127.0.0.1:4141" or "[::1]:4141". *local: only this machine reaches it. False: it is
 * no socket of TCP. */
bool server_socket_address(int socket, char ret[80], bool *local);
/* Listens on host:port ("127.0.0.1", "::1", "0.0.0.0"; port 0: any free one). NULL and a sentence
 * in `why` when it cannot. */
server *server_listen(uv_loop_t *loop, const char *host, int port, const server_limits *limits, const server_ops *ops,
                      void *user, char why[256]);
/* From now on clients who connect are spoken to in TLS; NULL: not. The context stays the caller's until it gives
 * another one, or the server has gone. */
void server_secure(server *s, tls_context *context);
int server_port(const server *s);
uint32_t server_connections(const server *s);
size_t server_bytes(const server *s); /* of request bodies at hand, and of what is held for them */
/* So many bytes more, or less, are held for requests: they count as if clients had sent them. */
void server_holds_more(server *s, size_t bytes);
void server_holds_less(server *s, size_t bytes);
/* Accepts nobody any more, closes idle connections, lets calls in flight end (Connection: close). A request that is not
 * whole in time gets 503. `done` is called when the last has gone. */
void server_drain(server *s, void (*done)(void *user), void *user);
/* Closes everything now (gone() is called for calls in flight) and frees it once the loop has run. */
void server_close(server *s);

/* Starts the answer. `length` >= 0: that many body bytes follow; -1: chunked (or close for HTTP/1.0).
 * Hop-by-hop fields, Content-Length, Transfer-Encoding and Date are ours: leave them out. */
void call_head(call *c, int status, const daruma_header *headers, size_t n, int64_t length);
/* Sends body bytes; what the socket does not take at once is copied. False: WRITE_QUEUE_BYTES_MAX
 * wait, pause until ops.drained(). */
bool call_write(call *c, daruma_str bytes);
/* The answer is complete; the call is dead after this returns. */
void call_end(call *c);
/* Breaks the connection off, so that the client sees an incomplete answer; no gone(). The call is dead. */
void call_abort(call *c);
/* For those who break HTTP on purpose. Instead of call_head() and call_write(): sends bytes as they are, without a
 * head or framing of ours; false as in call_write(). call_end() and call_abort() then close the connection. */
bool call_raw(call *c, daruma_str bytes);
/* Breaks the connection off with a reset (RST), whatever went out before; no gone(). The call is dead. */
void call_reset(call *c);
/* Gives the body's memory back early. */
void call_drop_body(call *c);
bool call_started(const call *c); /* a head went out */

/* The memory of a call whose client left, for somebody who still reads it: its body and its arena, as they are. */
typedef struct call_memory {
    char *body;
    daruma_arena arena;
} call_memory;
call_memory call_take_memory(call *c); /* the call has nothing of it any more, and no arena */
void call_memory_free(call_memory *m);
#endif
