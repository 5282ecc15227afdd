/* mcp_calls.c - calls of an MCP server's tools: sent when it is up, ended by its answer, by the clock, or by its death.
 */
#include "tools/mcp_inside.h"
#include <stdio.h>
#include <stdlib.h>

/* True if it is up, whether or not it is asked once more which tools it has. */
static bool is_up(const mcp *m)
{
    return m->state == MCP_UP || (m->state == MCP_LISTING && !m->fresh);
}

void mcp_send_call(mcp *m, mcp_call *k)
{
    const mcp_tool *t = k->c->own;
    daruma_buf b = buf_in(&k->c->room);
    BUF_OBJECT(&b, "name", t->own_name, "arguments",
               buf_raw(json_is_object(str_trim(k->c->args)) ? k->c->args : S("{}")));
    k->id = ++m->ids;
    if (b.full || !mcp_send(m, k->id, "tools/call", buf_str(&b)))
        k->due = mcp_now(m); /* it hangs, or is about to be heard of as dead */
}

/* ---- the end of a call ---- */

static void drop_call(mcp *m, mcp_call *k)
{
    mcp_call **p = &m->calls;
    while (*p != k)
        p = &(*p)->next;
    *p = k->next;
    free(k);
}

void mcp_end_call(mcp *m, mcp_call *k, bool ok, bool lost)
{
    tool_call *c = k->c;
    drop_call(m, k);
    tool_over(c, ok, lost);
}

void mcp_fail_call(mcp *m, mcp_call *k, const char *code, const char *what, const char *next, bool lost)
{
    tool_error(&k->c->out, code, k->c->about->about.name, what, next);
    mcp_end_call(m, k, false, lost);
}

void mcp_fail_calls(mcp *m, bool sent, const char *code, const char *what, const char *next)
{
    for (mcp_call *k = m->calls, *after; k; k = after) {
        after = k->next;
        if ((k->id != 0) == sent)
            mcp_fail_call(m, k, code, what, next, sent);
    }
}

mcp_call *mcp_call_of(mcp *m, int64_t id)
{
    mcp_call *k = m->calls;
    while (k && k->id != id)
        k = k->next;
    return k;
}

/* ---- late ones ---- */

static void cancel_sent(mcp *m, const mcp_call *k, const char *why)
{
    char params[100];
    snprintf(params, sizeof params, "{\"requestId\":%lld,\"reason\":\"%s\"}", (long long)k->id, why);
    mcp_send(m, 0, "notifications/cancelled", str_of(params));
}

void mcp_end_late(mcp *m, daruma_ms now)
{
    bool sent = false;
    for (mcp_call *k = m->calls, *after; k; k = after) {
        after = k->next;
        if (k->due > now)
            continue;
        sent |= k->id != 0;
        if (k->id)
            cancel_sent(m, k, "it took too long");
        mcp_fail_call(m, k, "TIMEOUT",
                      k->id ? "timed out: its server did not answer in time, and whether it took effect is unknown"
                            : "timed out: its server was not up in time",
                      k->id ? "look whether it did; then ask for less at a time" : "use another tool, or try later",
                      k->id != 0);
    }
    if (sent && !m->ping && m->program && is_up(m)) { /* is it slow, or does it hang? */
        m->ping = ++m->ids;
        m->ping_due = now + MCP_PING_MS;
        mcp_send(m, m->ping, "ping", (daruma_str){0});
    }
}

/* ---- as a source of tools ---- */

static void call_start(tool_call *c)
{
    const mcp_tool *t = c->own;
    mcp *m = t->m;
    mcp_call *k = m->state == MCP_GONE || !t->there ? NULL : calloc(1, sizeof *k), **last = &m->calls;
    if (!k) {
        if (!t->there)
            tool_fail(c, "COMMAND_NOT_FOUND", t->name, "is not offered by its server any more", "use another tool");
        else
            tool_fail(c, "SERVER_GONE", t->name, MCP_GONE_SAYS, MCP_GONE_NEXT);
        return;
    }
    k->c = c;
    k->due = mcp_now(m) + tool_within(c, m->s->within ? m->s->within : MCP_CALL_MS);
    c->work = k;
    while (*last)
        last = &(*last)->next;
    *last = k;
    if (is_up(m))
        mcp_send_call(m, k);
    mcp_rearm(m);
}

static void call_stop(tool_call *c)
{
    const mcp_tool *t = c->own;
    mcp_call *k = c->work;
    if (k->id)
        cancel_sent(t->m, k, "it is not needed any more");
    mcp_end_call(t->m, k, false, k->id != 0);
}

const tool_source mcp_source = {.start = call_start, .stop = call_stop};
