/* mcp.h - MCP servers over their standard input and output: each is a program that has tools.
 *
 *     started --initialize--> greeted --tools/list--> up <--> calls
 *        ^                                             |
 *        +----- after a while, so often at most ------- died: calls under way have an unknown outcome; those that were
 *                                                       not sent wait for the next one
 *
 * Tools are called SERVER.TOOL. readOnlyHint makes one pure, idempotentHint repeatable; all others have effects, and
 * all that are not pure are asked about first: a server's word about itself is not taken for less. */
#ifndef TOOLS_MCP_H
#define TOOLS_MCP_H
#include "tools/tools.h"

/* A server. Borrowed, and outlives it; strings of a program have a NUL behind them. */
typedef struct mcp_setup {
    daruma_str name, command;
    daruma_str *args; /* of the command */
    size_t nargs;
    daruma_header *env; /* variables beside child_env(): name and value */
    size_t nenv;
    const char *folder; /* that it works in */
    uint32_t restarts;  /* when it dies, in all */
    daruma_ms within;   /* for one call; 0: MCP_CALL_MS */
} mcp_setup;

/* Those of one run: all are up before it begins. */
typedef struct mcp_servers mcp_servers;

/* Starts them, and runs the loop until the tools of all are in the table. `event` hears of their lives as JSON objects:
 * mcp_started, mcp_died, mcp_changed, mcp_noise. NULL and a sentence in `why`: one cannot be started; or `*stop` became
 * true meanwhile. Run the loop, then all are gone. */
mcp_servers *mcp_open(uv_loop_t *loop, toolset *t, const mcp_setup *list, size_t n,
                      void (*event)(daruma_str json, void *user), void *user, const bool *stop, char why[256]);
/* Ends them: their input is closed; SIGTERM and SIGKILL follow. No callback any more; gone when the loop has run. Close
 * the table before. NULL is allowed. */
void mcp_close(mcp_servers *s);
/* What they say about the use of their tools, for a system prompt; nothing when they say nothing. */
void mcp_instruct(const mcp_servers *s, daruma_buf *out);
#endif
