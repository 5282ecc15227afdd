/* rpc.h - messages of JSON-RPC 2.0, a line each, as MCP servers write them to a pipe. What is no message is told as
 * noise: servers print to their standard output what they should not. */
#ifndef RUN_RPC_H
#define RUN_RPC_H
#include "daruma_parts.h"

typedef enum rpc_kind {
    RPC_NOISE,   /* no message of JSON-RPC: `line` */
    RPC_LONG,    /* a line of more than MCP_LINE_BYTES_MAX, dropped; `line` is its beginning */
    RPC_REQUEST, /* `raw_id`, `method`, `params`: to be answered */
    RPC_NOTICE,  /* `method`, `params` */
    RPC_RESULT,  /* `id`, `result` */
    RPC_ERROR,   /* `id`, `code`, `message`, `data` */
} rpc_kind;

/* Spans of JSON, borrowed from the line. */
typedef struct rpc_message {
    rpc_kind kind;
    int64_t id;        /* of ours that it answers; -1 none, or it could not be told */
    daruma_str raw_id; /* as the peer wrote it */
    daruma_str method; /* a string with its quotes */
    daruma_str params, result, message, data;
    int64_t code;
    daruma_str line;
} rpc_message;

typedef void (*rpc_hear)(const rpc_message *m, void *user);

/* Bytes of a line that has not ended. All zero: none. */
typedef struct rpc_lines {
    char *p; /* on malloc */
    size_t n, cap;
    bool dropping; /* the line is too long: what is kept is its beginning */
} rpc_lines;

/* Takes what came, in pieces of any size, and tells each message. `hear` must not call rpc_feed() or rpc_done(). */
void rpc_feed(rpc_lines *l, daruma_str bytes, rpc_hear hear, void *user);
/* Forgets what has not ended. */
void rpc_done(rpc_lines *l);
#endif
