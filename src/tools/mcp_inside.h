/* mcp_inside.h - an MCP server, and what the files about it call of each other. */
#ifndef TOOLS_MCP_INSIDE_H
#define TOOLS_MCP_INSIDE_H
#include "tools/mcp.h"
#include "tools/rpc.h"
#include "sys/child.h"

#define MCP_GONE_SAYS "cannot be called: its server died too often and is not started again"
#define MCP_GONE_NEXT "use another tool, or finish without it"

typedef struct mcp mcp;

struct mcp_servers {
    mcp *list[MCP_SERVERS_MAX];
    size_t n, waiting; /* those that are not up yet */
    bool failed;
    char *why;
    void (*event)(daruma_str json, void *user);
    void *user;
};

typedef enum mcp_state {
    MCP_RESTING,  /* it died, and is started when the clock says so */
    MCP_GREETING, /* it was asked what it is */
    MCP_LISTING,  /* ... and which tools it has */
    MCP_UP,
    MCP_GONE, /* it is not started any more */
} mcp_state;

/* A tool, as the table has it. */
typedef struct mcp_tool {
    mcp *m;
    daruma_str name, own_name; /* ours; the server's */
    daruma_str output;         /* the schema of its structured content; empty: it has none */
    uint64_t print;            /* of its row in the list, as the server wrote it */
    bool there;                /* the newest list has it */
    bool seen;                 /* the list that is being read has it */
} mcp_tool;

/* A call that is under way, or waits until the server is up. */
typedef struct mcp_call {
    struct mcp_call *next;
    tool_call *c;
    int64_t id; /* 0: it was not sent */
    daruma_ms due;
} mcp_call;

struct mcp {
    mcp_servers *all;
    const mcp_setup *s;
    uv_loop_t *loop;
    toolset *tools;
    uv_timer_t clock;
    daruma_arena keep; /* of its tools */
    child *program;    /* NULL: it does not run */
    rpc_lines lines;
    mcp_state state;
    uint32_t deaths;
    int64_t ids;   /* given out */
    int64_t asked; /* id of the initialize or tools/list that is out; 0 none */
    int64_t ping;  /* ... of the ping */
    daruma_ms due; /* when it has to be up, is started again, or its list is read; INT64_MAX: nothing is waited for */
    daruma_ms ping_due;
    mcp_call *calls; /* in the order in which they came */
    mcp_tool list[MCP_TOOLS_MAX];
    size_t n;
    int pages, lists;      /* of the list that is read; that were read since it rested */
    bool fresh;            /* its list was not read since it was started */
    bool altered;          /* a tool of its list is another now */
    bool again;            /* its list changed since its reading was begun */
    bool told;             /* all->waiting does not count it any more */
    bool noisy;            /* that it prints what is no message was told */
    bool closing, stopped; /* it is to go; the clock is closed */
    daruma_str instructions;
    char last[MCP_LAST_BYTES]; /* of what it wrote to standard error: the end */
    size_t nlast;
    char why[256 + MCP_LAST_BYTES]; /* it died, or is stopped */
};

/* ---- mcp.c ---- */

daruma_ms mcp_now(const mcp *m);
void mcp_rearm(mcp *m); /* its clock, behind whatever changed what it waits for */
/* An event about it; `text` as `field` where there is one, `number` of its tools where it is none below 0. */
void mcp_tell(mcp *m, const char *event, const char *field, daruma_str text, int64_t number);
/* It is up (`why` NULL), or will not be: told once. */
void mcp_tell_ready(mcp *m, const char *why);
/* As mcp_write_request(). False: it was not sent. */
bool mcp_send(mcp *m, int64_t id, const char *method, daruma_str params);
void mcp_stop(mcp *m, const char *why); /* ends its program; it may be started again */

/* ---- mcp_calls.c: calls of its tools ---- */

extern const tool_source mcp_source;
void mcp_send_call(mcp *m, mcp_call *k);
void mcp_end_call(mcp *m, mcp_call *k, bool ok, bool lost);
void mcp_fail_call(mcp *m, mcp_call *k, const char *code, const char *what, const char *next, bool lost);
/* Ends the calls that were sent with an unknown outcome, or those that were not, which have none. */
void mcp_fail_calls(mcp *m, bool sent, const char *code, const char *what, const char *next);
mcp_call *mcp_call_of(mcp *m, int64_t id); /* NULL: there is none */
void mcp_end_late(mcp *m, daruma_ms now);  /* calls that take too long; then it is pinged */

/* ---- mcp_hear.c: what it says ---- */

void mcp_hear(const rpc_message *r, void *user);
void mcp_list_tools(mcp *m, daruma_str cursor); /* asks which there are; from the first where the cursor is empty */
#endif
