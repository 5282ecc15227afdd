/* tools.h - the tools of one run: a table of what there is, and the calls that are under way.
 *
 *     toolset_add ...  -->  agent_setup.tools = toolset_rows()  -->  toolset_call  -->  done, from the loop
 *                                                                     \-->  tool_cancel: nobody hears of it any more
 *
 * A tool comes from a source (files, the web, a shell, an MCP server), which carries out calls while the loop runs on.
 * What a tool is stands in its row (agent_tool): name, description, schema, whether a person is asked first, and its
 * effects as traits: READS is pure, WRITES may be repeated, ACTS may not. */
#ifndef TOOLS_TOOLS_H
#define TOOLS_TOOLS_H
#include "engine/agent/agent.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdatomic.h>
#include <uv.h>

typedef struct toolset toolset;
typedef struct tool_call tool_call;

/* What came of a call: the result, or an error as "CODE: message" with a hint. `ok`, `lost` as in agent_tool_done().
 * The result is valid during the call. */
typedef void (*tool_done)(daruma_str result, int ok, bool lost, void *user);

/* Carries calls out. Both functions run in the loop's thread. */
typedef struct tool_source {
    void (*start)(tool_call *c); /* tool_over() is called once, within it or later */
    void (*stop)(tool_call *c);  /* nobody waits for it: it shall come to tool_over() soon. NULL: it cannot hurry */
} tool_source;

/* A call, as its source sees it. */
struct tool_call {
    const agent_tool *about;
    void *own; /* what the source works with, as toolset_add() was told */
    uv_loop_t *loop;
    daruma_str args;     /* a JSON object; lives as long as the call */
    daruma_ms usual;     /* what the host says that it may take, instead of what is usual for the source; 0: nothing */
    daruma_ms within;    /* what is left for it at all, -1: no limit */
    atomic_bool stopped; /* nobody waits for it; threads may look */
    daruma_arena room;   /* of the call */
    daruma_buf out;      /* in it: the result */
    void *work;          /* the source's, of this call */
    /* of tools.c */
    toolset *of;
    tool_call *next;
    const tool_source *source;
    tool_done done;
    void *user;
    int ok;
    bool lost, over;
};

/* NULL without memory. */
toolset *toolset_new(uv_loop_t *loop);
/* Ends all calls as tool_cancel() does; gone when the loop has run. NULL is allowed. */
void toolset_close(toolset *t);
/* Adds a tool; the row is copied, what it points to is borrowed. False: there are TOOLS_MAX, or one of that name. */
bool toolset_add(toolset *t, const agent_tool *row, const tool_source *source, void *own);
/* The tool of that name is another now: description, schema, effects. Agents that work see it with their next call. */
bool toolset_change(toolset *t, const agent_tool *row); /* false: it is as it was */
/* All there are. They stay where they are, more may follow. */
const agent_tool *toolset_rows(const toolset *t, size_t *ret_n);

/* Begins a call; `done` is called once, from the loop, never before this returns. NULL without memory. */
tool_call *toolset_call(toolset *t, daruma_str name, daruma_str args, daruma_ms usual, daruma_ms within, tool_done done,
                        void *user);

/* `done` is not called any more. */
void tool_cancel(tool_call *c);

/* ---- for sources ---- */

/* So long a call may take, for a source that allows `source_ms` unless the host says another time. */
daruma_ms tool_within(const tool_call *c, daruma_ms source_ms);

/* The call is over, c->out is its result; `c` is gone when the loop has run. */
void tool_over(tool_call *c, int ok, bool lost);
/* The call is over with an error, as tool_error() writes it, and has done nothing. */
void tool_fail(tool_call *c, const char *code, daruma_str about, const char *what, const char *next);
/* Writes an error instead of what stands in `out`: CODE: `about` what, and what to do next. Returns false. */
bool tool_error(daruma_buf *out, const char *code, daruma_str about, const char *what, const char *next);
#endif
