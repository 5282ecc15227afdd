#include "run/servers.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>

struct servers {
    mcp *list[MCP_SERVERS_MAX];
    size_t n, waiting; /* those that are not up yet */
    bool failed;
    char *why;
    mcp_ops ops;
    void (*event)(daruma_str json, void *user);
    void *user;
};

static void on_event(daruma_str json, void *user)
{
    const servers *s = user;
    s->event(json, s->user);
}

static void on_ready(mcp *m, const char *why, void *user)
{
    servers *s = user;
    s->waiting--;
    if (!why || s->failed)
        return;
    s->failed = true;
    snprintf(s->why, 256, "the MCP server `" STR_FMT "` did not start: %.180s", STR_ARG(mcp_setup_of(m)->name), why);
}

servers *servers_open(uv_loop_t *loop, toolset *t, const mcp_setup *list, size_t n,
                      void (*event)(daruma_str json, void *user), void *user, char why[256])
{
    servers *s = calloc(1, sizeof *s);
    if (!s || n > MCP_SERVERS_MAX) {
        snprintf(why, 256, s ? "there are more than %d MCP servers" : "there is no memory for it", MCP_SERVERS_MAX);
        free(s);
        return NULL;
    }
    s->why = why;
    s->event = event;
    s->user = user;
    s->ops = (mcp_ops){.ready = on_ready, .event = on_event};
    for (; s->n < n; s->n++) {
        s->list[s->n] = mcp_open(loop, t, &list[s->n], &s->ops, s);
        if (!s->list[s->n]) {
            snprintf(why, 256, "there is no memory for it");
            s->failed = true;
            break;
        }
        s->waiting++;
    }
    while (s->waiting && !s->failed)
        uv_run(loop, UV_RUN_ONCE);
    if (!s->failed)
        return s;
    servers_close(s);
    return NULL;
}

void servers_close(servers *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        mcp_close(s->list[i]);
    free(s);
}

void servers_instruct(const servers *s, daruma_buf *out)
{
    for (size_t i = 0; s && i < s->n; i++) {
        daruma_str says = mcp_instructions(s->list[i]);
        if (!says.n)
            continue;
        BUF_SAY(out, "\n\nThe server of the tools ", mcp_setup_of(s->list[i])->name, ".* says about them:\n", says);
    }
}
