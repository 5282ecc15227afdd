/* mcp.h - how servers of tools speak: the Model Context Protocol, which is JSON-RPC 2.0 with a message a line. What is
 * no message is told as noise: servers print to their standard output what they should not. */
#ifndef DIALECT_MCP_H
#define DIALECT_MCP_H
#include "daruma_parts.h"

/* ---- messages ---- */

typedef enum rpc_kind {
    RPC_NOISE,   /* no message of JSON-RPC: `line` */
    RPC_LONG,    /* a line of more than MCP_LINE_BYTES_MAX, dropped; `line` is its beginning */
    RPC_REQUEST, /* `raw_id`, `method`: to be answered */
    RPC_NOTICE,  /* `method` */
    RPC_RESULT,  /* `id`, `result` */
    RPC_ERROR,   /* `id`, `code`, `message`, `data` */
} rpc_kind;

/* Spans of JSON, borrowed from the line. */
typedef struct rpc_message {
    rpc_kind kind;
    int64_t id;        /* of ours that it answers; -1 none, or it could not be told */
    daruma_str raw_id; /* as the peer wrote it */
    daruma_str method; /* a string with its quotes */
    daruma_str result, message, data;
    int64_t code;
    daruma_str line;
} rpc_message;

typedef void (*rpc_hear)(const rpc_message *m, void *user);

/* Reads a line, and tells what it is; a batch tells each of its messages. */
void rpc_read(daruma_str line, rpc_hear hear, void *user);
/* The id of a request of ours, which is a number; servers that write it as a string are understood. -1: it is none. */
int64_t rpc_own_id(daruma_str raw);
bool rpc_is(const rpc_message *m, daruma_str method); /* REQUEST, NOTICE: of that method */

/* {"jsonrpc":"2.0","id":ID,"method":METHOD,"params":PARAMS} as a line; id 0: a notification. */
void mcp_write_request(int64_t id, const char *method, daruma_str params, daruma_buf *out);
/* The answer to a request of the server: it may ask whether we live; we offer it nothing else. */
void mcp_write_answer(const rpc_message *asked, daruma_buf *out);

/* ---- what they say ---- */

/* A tool of a list, whose strings are copied to `a`: readOnlyHint makes it one that READS, idempotentHint one that
 * WRITES, all others ACT. It is called SERVER.TOOL. False: it has no name. */
bool mcp_read_tool(daruma_str server, daruma_str json, daruma_arena *a, daruma_tool *ret, daruma_str *ret_own_name);
/* The content of a result as text; what is none is said in brackets. Returns false when the tool says it failed. */
bool mcp_write_result(daruma_str result, daruma_arena *a, daruma_buf *out);
/* An ERROR as the object that a model reads. */
void mcp_write_error(const rpc_message *r, daruma_buf *out);
#endif
