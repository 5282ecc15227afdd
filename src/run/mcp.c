/* mcp.c - one MCP server: its program, the messages to and fro, its death and its next life. */
#include "run/mcp.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "daruma.h"
#include "run/rpc.h"
#include "sys/arena.h"
#include "sys/child.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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
    const mcp_setup *s;
    const mcp_ops *ops;
    void *user;
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
    daruma_ms due; /* when it has to be up, or is started again; INT64_MAX: nothing is waited for */
    daruma_ms ping_due;
    mcp_call *calls; /* in the order in which they came */
    mcp_tool list[MCP_TOOLS_MAX];
    size_t n;
    int pages;
    bool fresh;            /* its list was not read since it was started */
    bool altered;          /* a tool of its list is another now */
    bool again;            /* its list changed while it was read */
    bool told;             /* ops.ready was called */
    bool noisy;            /* that it prints what is no message was told */
    bool closing, stopped; /* mcp_close(); the clock is closed */
    daruma_str instructions;
    char last[MCP_LAST_BYTES]; /* of what it wrote to standard error: the end */
    size_t nlast;
    char why[256];
};

static void call_start(tool_call *c);
static void call_stop(tool_call *c);
static const tool_source source = {.start = call_start, .stop = call_stop};

static daruma_ms now_of(const mcp *m)
{
    return (daruma_ms)uv_now(m->loop);
}

static void on_clock(uv_timer_t *t);

static void rearm(mcp *m)
{
    daruma_ms next = m->due < m->ping_due ? m->due : m->ping_due;
    for (const mcp_call *k = m->calls; k; k = k->next)
        next = k->due < next ? k->due : next;
    if (m->closing)
        return;
    if (next == INT64_MAX)
        uv_timer_stop(&m->clock);
    else
        uv_timer_start(&m->clock, on_clock, next > now_of(m) ? (uint64_t)(next - now_of(m)) : 0, 0);
}

/* ---- events ---- */

static void tell(mcp *m, const char *event, const char *field, daruma_str text, int64_t number)
{
    daruma_arena a;
    if (!sys_arena_init(&a, 4096, 64 << 10))
        return;
    daruma_buf b = buf_in(&a);
    buf_printf(&b, "{\"event\":\"%s\",\"server\":", event);
    buf_json(&b, m->s->name);
    if (text.n) {
        buf_printf(&b, ",\"%s\":", field);
        buf_json(&b, daruma_redact(str_sub(text, 0, FAILURE_TEXT_BYTES_MAX), &a));
    }
    if (number >= 0)
        buf_printf(&b, ",\"tools\":%lld", (long long)number);
    buf_putc(&b, '}');
    if (!b.full)
        m->ops->event(buf_str(&b), m->user);
    sys_arena_done(&a);
}

static void tell_ready(mcp *m, const char *why)
{
    if (m->told)
        return;
    m->told = true;
    m->ops->ready(m, why, m->user);
}

/* ---- sending ---- */

/* {"jsonrpc":"2.0","id":ID,"method":METHOD,"params":PARAMS}; id 0: a notification. */
static bool send_message(mcp *m, int64_t id, const char *method, daruma_str params)
{
    daruma_arena a;
    bool well = false;
    if (!sys_arena_init(&a, params.n + 256, 2 * params.n + 4096))
        return false;
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"jsonrpc\":\"2.0\"");
    if (id)
        buf_printf(&b, ",\"id\":%lld", (long long)id);
    buf_printf(&b, ",\"method\":\"%s\"", method);
    if (params.n) {
        BUF_LIT(&b, ",\"params\":");
        buf_put(&b, params);
    }
    BUF_LIT(&b, "}\n");
    if (!b.full && m->program && child_waiting(m->program) < MCP_WAITING_BYTES_MAX)
        well = child_write(m->program, buf_str(&b));
    sys_arena_done(&a);
    return well;
}

/* Answers a request of the server: it may ask whether we live; we offer it nothing else. */
static void answer(mcp *m, const rpc_message *r)
{
    char room[1024];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_LIT(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_put(&b, r->raw_id);
    if (json_raw_eq(str_sub(r->method, 1, r->method.n - 2), S("ping")))
        BUF_LIT(&b, ",\"result\":{}}\n");
    else
        BUF_LIT(&b, ",\"error\":{\"code\":-32601,\"message\":\"this client does not offer that\"}}\n");
    if (!b.full && m->program)
        child_write(m->program, buf_str(&b));
}

static void send_call(mcp *m, mcp_call *k)
{
    const mcp_tool *t = k->c->own;
    daruma_buf b = buf_in(&k->c->room);
    BUF_LIT(&b, "{\"name\":");
    buf_json(&b, t->own_name);
    BUF_LIT(&b, ",\"arguments\":");
    buf_put(&b, json_is_object(str_trim(k->c->args)) ? k->c->args : S("{}"));
    BUF_LIT(&b, "}");
    k->id = ++m->ids;
    if (b.full || !send_message(m, k->id, "tools/call", buf_str(&b)))
        k->due = now_of(m); /* it hangs, or is about to be heard of as dead */
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

static void end_call(mcp *m, mcp_call *k, bool ok, bool lost)
{
    tool_call *c = k->c;
    drop_call(m, k);
    tool_over(c, ok, lost);
}

static void fail_call(mcp *m, mcp_call *k, const char *code, const char *what, const char *next, bool lost)
{
    tool_error(&k->c->out, code, k->c->about->about.name, what, next);
    end_call(m, k, false, lost);
}

/* Ends the calls that were sent with an unknown outcome, or those that were not, which have none. */
static void fail_calls(mcp *m, bool sent, const char *code, const char *what, const char *next)
{
    for (mcp_call *k = m->calls, *after; k; k = after) {
        after = k->next;
        if ((k->id != 0) == sent)
            fail_call(m, k, code, what, next, sent);
    }
}

/* ---- its tools ---- */

static void list_tools(mcp *m, daruma_str cursor)
{
    char room[2048];
    daruma_buf b = buf_over(room, sizeof room);
    if (cursor.n) {
        BUF_LIT(&b, "{\"cursor\":");
        buf_put(&b, cursor);
        buf_putc(&b, '}');
    }
    if (!cursor.n) {
        m->pages = 0;
        m->again = false;
        for (size_t i = 0; i < m->n; i++)
            m->list[i].seen = false;
    }
    m->state = MCP_LISTING;
    m->asked = ++m->ids;
    m->due = now_of(m) + MCP_START_MS;
    send_message(m, m->asked, "tools/list", b.full ? (daruma_str){0} : buf_str(&b));
}

static void take_tool(mcp *m, daruma_str json)
{
    agent_tool row;
    daruma_str own;
    size_t i = 0;
    if (!mcp_read_tool(m->s->name, json, &m->keep, &row, &own))
        return;
    while (i < m->n && !str_eq(m->list[i].own_name, own))
        i++;
    if (i < m->n) {
        m->list[i].seen = true;
        m->altered |= toolset_change(m->tools, &row);
        return;
    }
    if (m->n == MCP_TOOLS_MAX || !toolset_add(m->tools, &row, &source, &m->list[m->n])) {
        tell(m, "mcp_noise", "message", S("a tool of that name is there already, or there are too many"), -1);
        return;
    }
    m->list[m->n++] = (mcp_tool){.m = m, .name = row.about.name, .own_name = own, .there = true, .seen = true};
}

static void up(mcp *m)
{
    size_t n = 0;
    bool changed = m->altered;
    for (size_t i = 0; i < m->n; i++) {
        changed |= m->list[i].there != m->list[i].seen;
        m->list[i].there = m->list[i].seen;
        n += m->list[i].there;
    }
    m->state = MCP_UP;
    m->due = INT64_MAX;
    if (changed || m->fresh)
        tell(m, m->fresh ? "mcp_started" : "mcp_changed", "", (daruma_str){0}, (int64_t)n);
    m->fresh = m->altered = false;
    for (mcp_call *k = m->calls; k; k = k->next)
        if (!k->id)
            send_call(m, k);
    tell_ready(m, NULL);
}

static void take_list(mcp *m, daruma_str result)
{
    daruma_str list = json_get(result, S("tools")), cursor = json_get(result, S("nextCursor")), one;
    json_iter it = json_open(list);
    while (json_is_array(list) && json_next(&it, NULL, &one))
        take_tool(m, one);
    for (size_t i = 0; i < m->n && m->keep.full; i++)
        m->list[i].seen = true; /* there is no memory for what is new: the old stays */
    if (json_is_string(cursor) && cursor.n > 2 && ++m->pages < MCP_PAGES_MAX)
        list_tools(m, cursor);
    else if (m->again)
        list_tools(m, (daruma_str){0});
    else
        up(m);
}

/* ---- hearing ---- */

static void greeted(mcp *m, daruma_str result)
{
    daruma_str says = json_text(json_get(result, S("instructions")), &m->keep);
    if (!m->instructions.n)
        m->instructions = arena_copy(&m->keep, str_sub(says, 0, MCP_TOOL_SAYS_BYTES));
    send_message(m, 0, "notifications/initialized", (daruma_str){0});
    list_tools(m, (daruma_str){0});
}

static mcp_call *call_of(mcp *m, int64_t id)
{
    mcp_call *k = m->calls;
    while (k && k->id != id)
        k = k->next;
    return k;
}

static void stop_it(mcp *m, const char *why)
{
    snprintf(m->why, sizeof m->why, "%s", why);
    m->ping = 0;
    m->due = m->ping_due = INT64_MAX;
    if (m->program)
        child_stop(m->program, MCP_GRACE_MS);
}

static void take_error(mcp *m, mcp_call *k, const rpc_message *r)
{
    daruma_buf *out = &k->c->out;
    buf_printf(out, "{\"error\":{\"code\":%lld,\"message\":", (long long)r->code);
    buf_put(out, json_is_string(r->message) ? r->message : S("\"the server says nothing about it\""));
    if (r->data.n) {
        BUF_LIT(out, ",\"data\":");
        buf_put(out, r->data);
    }
    BUF_LIT(out, "}}");
    end_call(m, k, false, false);
}

static void on_answer(mcp *m, const rpc_message *r)
{
    mcp_call *k = r->id > 0 ? call_of(m, r->id) : NULL;
    bool well = r->kind == RPC_RESULT;
    if (k && well) {
        end_call(m, k, mcp_write_result(r->result, &k->c->room, &k->c->out), false);
    } else if (k) {
        take_error(m, k, r);
    } else if (r->id == m->ping && m->ping) {
        m->ping = 0;
        m->ping_due = INT64_MAX;
    } else if (r->id == m->asked && m->asked) {
        m->asked = 0;
        if (!well && m->state == MCP_GREETING)
            stop_it(m, "it refused to be initialized");
        else if (m->state == MCP_GREETING)
            greeted(m, r->result);
        else if (m->state == MCP_LISTING)
            take_list(m, well ? r->result : (daruma_str){0});
    }
}

static void on_message(const rpc_message *r, void *user)
{
    mcp *m = user;
    mcp_call *k;
    switch (r->kind) {
    case RPC_REQUEST:
        answer(m, r);
        break;
    case RPC_NOTICE:
        if (json_raw_eq(str_sub(r->method, 1, r->method.n - 2), S("notifications/tools/list_changed"))) {
            m->again = true;
            if (m->state == MCP_UP)
                list_tools(m, (daruma_str){0});
        }
        break;
    case RPC_RESULT:
    case RPC_ERROR:
        on_answer(m, r);
        break;
    case RPC_LONG:
        k = r->id > 0 ? call_of(m, r->id) : NULL;
        if (k)
            fail_call(m, k, "RESULT_TOO_LARGE", "was carried out, but its result is too large to be read",
                      "ask for less at a time; look first what the call did", true);
        else if (m->asked)
            stop_it(m, "it sent a message that is too large");
        break;
    case RPC_NOISE:
        if (!m->noisy)
            tell(m, "mcp_noise", "message", r->line, -1);
        m->noisy = true;
        break;
    }
    rearm(m);
}

/* ---- its program ---- */

static void free_when_done(mcp *m)
{
    if (!m->closing || m->program || !m->stopped)
        return;
    rpc_done(&m->lines);
    sys_arena_done(&m->keep);
    free(m);
}

static void on_out(child *c, daruma_str bytes, void *user)
{
    mcp *m = user;
    (void)c;
    if (!m->closing)
        rpc_feed(&m->lines, bytes, on_message, m);
}

static void on_err(child *c, daruma_str bytes, void *user)
{
    mcp *m = user;
    (void)c;
    size_t n = bytes.n < sizeof m->last ? bytes.n : sizeof m->last;
    size_t stay = m->nlast < sizeof m->last - n ? m->nlast : sizeof m->last - n;
    memmove(m->last, m->last + m->nlast - stay, stay);
    memcpy(m->last + stay, bytes.p + bytes.n - n, n);
    m->nlast = stay + n;
}

/* Why it is not there, with the last line that it wrote about it. */
static void say_why(const mcp *m, daruma_arena *a, daruma_buf *b)
{
    daruma_str said = str_trim((daruma_str){m->last, m->nlast}), line = said;
    while (str_findch(said, '\n') != STR_NONE) {
        str_cut(&said, '\n');
        line = str_trim(said).n ? str_trim(said) : line;
    }
    buf_putz(b, m->why);
    if (line.n) {
        BUF_LIT(b, "; it said last: ");
        buf_put(b, daruma_redact(line, a));
    }
}

static void give_up(mcp *m)
{
    daruma_arena a;
    m->state = MCP_GONE;
    m->due = m->ping_due = INT64_MAX;
    fail_calls(m, false, "SERVER_GONE", "cannot be called: its server died too often and is not started again",
               "use another tool, or finish without it");
    if (!sys_arena_init(&a, 4096, 64 << 10))
        return;
    daruma_buf b = buf_in(&a);
    say_why(m, &a, &b);
    buf_putc(&b, 0);
    tell_ready(m, b.full ? m->why : b.p);
    sys_arena_done(&a);
}

static void on_end(child *c, const child_end *e, void *user)
{
    mcp *m = user;
    daruma_arena a;
    (void)c;
    m->program = NULL;
    rpc_done(&m->lines);
    if (m->closing) {
        free_when_done(m);
        return;
    }
    if (!m->why[0] && e->signal)
        snprintf(m->why, sizeof m->why, "it was ended by signal %d", e->signal);
    else if (!m->why[0])
        snprintf(m->why, sizeof m->why, "it ended with exit code %d", e->code);
    if (sys_arena_init(&a, 4096, 64 << 10)) {
        daruma_buf b = buf_in(&a);
        say_why(m, &a, &b);
        tell(m, "mcp_died", "reason", buf_str(&b), -1);
        sys_arena_done(&a);
    }
    m->asked = m->ping = 0;
    m->ping_due = INT64_MAX;
    fail_calls(m, true, "CONNECTION_LOST", "was under way when its server died: whether it took effect is unknown",
               "look whether it did before you call it again");
    if (m->deaths++ >= m->s->restarts) {
        give_up(m);
        return;
    }
    daruma_ms wait = MCP_BACKOFF_MS;
    for (uint32_t i = 1; i < m->deaths && wait < MCP_BACKOFF_MS_MAX; i++)
        wait *= 2;
    m->state = MCP_RESTING;
    m->due = now_of(m) + wait;
    rearm(m);
}

static void start(mcp *m)
{
    static const child_ops ops = {.out = on_out, .err = on_err, .end = on_end};
    daruma_arena a;
    m->why[0] = 0;
    m->nlast = 0;
    if (!sys_arena_init(&a, 4096, 4 << 20)) {
        snprintf(m->why, sizeof m->why, "there is no memory to start it");
        give_up(m);
        return;
    }
    child_setup setup = {
        .argv = m->s->argv, .folder = m->s->folder, .env = child_env(m->s->env, &a), .talks = true, .apart = true};
    m->program = child_start(m->loop, &setup, &ops, m, m->why);
    sys_arena_done(&a);
    if (!m->program) {
        give_up(m); /* a program that is not there is not there the next time */
        return;
    }
    m->state = MCP_GREETING;
    m->fresh = true;
    m->due = now_of(m) + MCP_START_MS;
    m->asked = ++m->ids;
    send_message(m, m->asked, "initialize",
                 S("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"daruma\","
                   "\"version\":\"" DARUMA_VERSION "\"}}"));
    rearm(m);
}

/* ---- the clock ---- */

static void cancel_sent(mcp *m, const mcp_call *k, const char *why)
{
    char params[100];
    snprintf(params, sizeof params, "{\"requestId\":%lld,\"reason\":\"%s\"}", (long long)k->id, why);
    send_message(m, 0, "notifications/cancelled", str_of(params));
}

static void end_late_calls(mcp *m, daruma_ms now)
{
    bool sent = false;
    for (mcp_call *k = m->calls, *after; k; k = after) {
        after = k->next;
        if (k->due > now)
            continue;
        sent |= k->id != 0;
        if (k->id)
            cancel_sent(m, k, "it took too long");
        fail_call(m, k, "TIMEOUT",
                  k->id ? "timed out: its server did not answer in time, and whether it took effect is unknown"
                        : "timed out: its server was not up in time",
                  k->id ? "look whether it did; then ask for less at a time" : "use another tool, or try later",
                  k->id != 0);
    }
    if (sent && !m->ping && m->program && m->state == MCP_UP) { /* is it slow, or does it hang? */
        m->ping = ++m->ids;
        m->ping_due = now + MCP_PING_MS;
        send_message(m, m->ping, "ping", (daruma_str){0});
    }
}

static void on_clock(uv_timer_t *t)
{
    mcp *m = t->data;
    daruma_ms now = now_of(m);
    end_late_calls(m, now);
    if (m->ping_due <= now)
        stop_it(m, "it hung: it did not answer a ping");
    else if (m->due <= now && m->state == MCP_RESTING)
        start(m);
    else if (m->due <= now)
        stop_it(m, "it was not up in time");
    rearm(m);
}

/* ---- as a source of tools ---- */

static void call_start(tool_call *c)
{
    const mcp_tool *t = c->own;
    mcp *m = t->m;
    mcp_call *k = m->state == MCP_GONE || !t->there ? NULL : calloc(1, sizeof *k), **last = &m->calls;
    if (!k) {
        if (!t->there)
            tool_error(&c->out, "COMMAND_NOT_FOUND", t->name, "is not offered by its server any more",
                       "use another tool");
        else
            tool_error(&c->out, "SERVER_GONE", t->name,
                       "cannot be called: its server died too often and is not started again",
                       "use another tool, or finish without it");
        tool_over(c, 0, false);
        return;
    }
    k->c = c;
    k->due = now_of(m) + tool_within(c, m->s->within ? m->s->within : MCP_CALL_MS);
    c->work = k;
    while (*last)
        last = &(*last)->next;
    *last = k;
    if (m->state == MCP_UP || (m->state == MCP_LISTING && m->told))
        send_call(m, k);
    rearm(m);
}

static void call_stop(tool_call *c)
{
    const mcp_tool *t = c->own;
    mcp_call *k = c->work;
    if (k->id)
        cancel_sent(t->m, k, "it is not needed any more");
    end_call(t->m, k, false, k->id != 0);
}

/* ---- beginning and end ---- */

mcp *mcp_open(uv_loop_t *loop, toolset *t, const mcp_setup *s, const mcp_ops *ops, void *user)
{
    mcp *m = calloc(1, sizeof *m);
    if (!m || !sys_arena_init(&m->keep, 16 << 10, MCP_KEEP_BYTES_MAX)) {
        free(m);
        return NULL;
    }
    m->s = s;
    m->ops = ops;
    m->user = user;
    m->loop = loop;
    m->tools = t;
    m->due = now_of(m);
    m->ping_due = INT64_MAX;
    uv_timer_init(loop, &m->clock);
    m->clock.data = m;
    rearm(m); /* it is started from the loop: ready() is never called from within here */
    return m;
}

static void on_stopped(uv_handle_t *h)
{
    mcp *m = h->data;
    m->stopped = true;
    free_when_done(m);
}

void mcp_close(mcp *m)
{
    m->closing = true;
    uv_close((uv_handle_t *)&m->clock, on_stopped);
    if (!m->program)
        return;
    child_end_input(m->program);
    child_within(m->program, MCP_CLOSE_MS, MCP_GRACE_MS);
}

daruma_str mcp_instructions(const mcp *m)
{
    return m->instructions;
}

const mcp_setup *mcp_setup_of(const mcp *m)
{
    return m->s;
}
