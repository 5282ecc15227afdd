/* mcp.h - MCP servers over their standard input and output: each is a program that has tools.
 *
 *     started --initialize--> greeted --tools/list--> up <--> calls
 *        ^                                             |
 *        +----- after a while, so often at most ------- died: calls under way have an unknown outcome; those that were
 *                                                       not sent wait for the next one
 *
 * Tools are called SERVER.TOOL. readOnlyHint makes one pure, idempotentHint repeatable; all others have effects, and
 * all that are not pure are asked about first: a server's word about itself is not taken for less. */
#ifndef RUN_MCP_H
#define RUN_MCP_H
#include "run/tools.h"

typedef struct mcp mcp;

/* Borrowed, and outlives the server. */
typedef struct mcp_setup {
    daruma_str name;
    char *const *argv;      /* NULL behind the last */
    const char *const *env; /* "NAME=value" beside child_env(), NULL behind the last; NULL: none */
    const char *folder;     /* that it works in */
    uint32_t restarts;      /* when it dies, in all */
    daruma_ms within;       /* for one call; 0: MCP_CALL_MS */
} mcp_setup;

typedef struct mcp_ops {
    /* Once, from the loop: its tools are in the table. `why` not NULL: it cannot be started, and that says why. */
    void (*ready)(mcp *m, const char *why, void *user);
    void (*event)(daruma_str json, void *user); /* a JSON object: mcp_started, mcp_died, mcp_changed, mcp_noise */
} mcp_ops;

/* Starts it; its tools will be added to `t`. NULL without memory. */
mcp *mcp_open(uv_loop_t *loop, toolset *t, const mcp_setup *s, const mcp_ops *ops, void *user);
/* Ends it: its input is closed; SIGTERM and SIGKILL follow. No callback any more; gone when the loop has run. Close the
 * table before. */
void mcp_close(mcp *m);
/* What it says about the use of its tools; may be empty. Lives as long as the server. */
daruma_str mcp_instructions(const mcp *m);
const mcp_setup *mcp_setup_of(const mcp *m);

/* ---- mcp_text.c: what its messages say ---- */

/* A tool of a list as a row of the table, whose strings are copied to `a`. False: it has no name. */
bool mcp_read_tool(daruma_str server, daruma_str json, daruma_arena *a, agent_tool *ret, daruma_str *ret_own_name);
/* The content of a result as text; what is none is said in brackets. Returns false when the tool says it failed. */
bool mcp_write_result(daruma_str result, daruma_arena *a, daruma_buf *out);
#endif
