/* rpc.h - the lines of a pipe, each a message (dialect/mcp.h), in whatever pieces they come. */
#ifndef TOOLS_RPC_H
#define TOOLS_RPC_H
#include "dialect/mcp.h"

/* Bytes of a line that has not ended. All zero: none. Stays where it is while there are some. */
typedef struct rpc_lines {
    daruma_arena room; /* of `line` */
    daruma_buf line;
    bool dropping; /* the line is too long: what is kept is its beginning */
} rpc_lines;

/* Takes what came, in pieces of any size, and tells each message. `hear` must not call rpc_feed() or rpc_done(). */
void rpc_feed(rpc_lines *l, daruma_str bytes, rpc_hear hear, void *user);
/* Forgets what has not ended. */
void rpc_done(rpc_lines *l);
#endif
