/* servers.h - the MCP servers of one run: all are up before it begins. */
#ifndef RUN_SERVERS_H
#define RUN_SERVERS_H
#include "run/mcp.h"

typedef struct servers servers;

/* Starts them, and runs the loop until the tools of all are in the table. `event` hears of their lives. NULL and a
 * sentence in `why`: one cannot be started; run the loop, then all are gone. */
servers *servers_open(uv_loop_t *loop, toolset *t, const mcp_setup *list, size_t n,
                      void (*event)(daruma_str json, void *user), void *user, char why[256]);
/* Ends them; gone when the loop has run. Close the table before. NULL is allowed. */
void servers_close(servers *s);
/* What they say about the use of their tools, for a system prompt; nothing when they say nothing. */
void servers_instruct(const servers *s, daruma_buf *out);
#endif
