/* mcp.c - MCP servers: the program of each, its clock, its death and its next life. */
#include "tools/mcp_inside.h"
#include "daruma.h"
#include "sys/arena.h"
#include <stdio.h>
#include <stdlib.h>

static void on_clock(uv_timer_t *t);

daruma_ms mcp_now(const mcp *m)
{
    return (daruma_ms)uv_now(m->loop);
}

void mcp_rearm(mcp *m)
{
    daruma_ms next = m->due < m->ping_due ? m->due : m->ping_due;
    for (const mcp_call *k = m->calls; k; k = k->next)
        next = k->due < next ? k->due : next;
    if (m->closing)
        return;
    if (next == INT64_MAX)
        uv_timer_stop(&m->clock);
    else
        uv_timer_start(&m->clock, on_clock, next > mcp_now(m) ? (uint64_t)(next - mcp_now(m)) : 0, 0);
}

/* ---- events ---- */

void mcp_tell(mcp *m, const char *event, const char *field, daruma_str text, int64_t number)
{
    daruma_arena a;
    if (!sys_arena_init(&a, 4096, 64 << 10))
        return;
    daruma_buf b = buf_in(&a);
    BUF_OBJECT(&b, "event", event, "server", m->s->name, field,
               buf_any(daruma_redact(str_sub(text, 0, FAILURE_TEXT_BYTES_MAX), &a)), "tools",
               BUF_IF(number >= 0, number));
    if (!b.full)
        m->all->event(buf_str(&b), m->all->user);
    sys_arena_done(&a);
}

void mcp_tell_ready(mcp *m, const char *why)
{
    if (m->told)
        return;
    m->told = true;
    m->all->waiting--;
    if (!why || m->all->failed)
        return;
    m->all->failed = true;
    snprintf(m->all->why, 256, "the MCP server `" STR_FMT "` did not start: %.180s", STR_ARG(m->s->name), why);
}

/* ---- sending ---- */

bool mcp_send(mcp *m, int64_t id, const char *method, daruma_str params)
{
    daruma_arena a;
    bool well = false;
    if (!sys_arena_init(&a, params.n + 256, 2 * params.n + 4096))
        return false;
    daruma_buf b = buf_in(&a);
    mcp_write_request(id, method, params, &b);
    if (!b.full && m->program && child_waiting(m->program) < MCP_WAITING_BYTES_MAX)
        well = child_write(m->program, buf_str(&b));
    sys_arena_done(&a);
    return well;
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
        rpc_feed(&m->lines, bytes, mcp_hear, m);
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
static void add_last(mcp *m)
{
    daruma_arena a;
    daruma_str said = str_trim((daruma_str){m->last, m->nlast}), line = said;
    size_t n = strlen(m->why);
    while (str_findch(said, '\n') != STR_NONE) {
        str_cut(&said, '\n');
        line = str_trim(said).n ? str_trim(said) : line;
    }
    if (!line.n || !sys_arena_init(&a, 4096, 64 << 10))
        return;
    line = daruma_redact(line, &a);
    snprintf(m->why + n, sizeof m->why - n, "; it said last: " STR_FMT, STR_ARG(line));
    sys_arena_done(&a);
}

static void give_up(mcp *m)
{
    m->state = MCP_GONE;
    m->due = m->ping_due = INT64_MAX;
    mcp_fail_calls(m, false, "SERVER_GONE", MCP_GONE_SAYS, MCP_GONE_NEXT);
    mcp_tell_ready(m, m->why);
}

static void on_end(child *c, const child_end *e, void *user)
{
    mcp *m = user;
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
    add_last(m);
    mcp_tell(m, "mcp_died", "reason", str_of(m->why), -1);
    m->asked = m->ping = 0;
    m->ping_due = INT64_MAX;
    mcp_fail_calls(m, true, "CONNECTION_LOST", "was under way when its server died: whether it took effect is unknown",
                   "look whether it did before you call it again");
    if (m->deaths++ >= m->s->restarts) {
        give_up(m);
        return;
    }
    daruma_ms wait = MCP_BACKOFF_MS;
    for (uint32_t i = 1; i < m->deaths && wait < MCP_BACKOFF_MS_MAX; i++)
        wait *= 2;
    m->state = MCP_RESTING;
    m->due = mcp_now(m) + wait;
    mcp_rearm(m);
}

/* Its words and variables as programs take them. */
static bool command_of(const mcp_setup *s, daruma_arena *a, child_setup *ret)
{
    char **argv = ARENA_NEW(a, char *, s->nargs + 2);
    const char **env = ARENA_NEW(a, const char *, s->nenv + 1);
    for (size_t i = 0; argv && i <= s->nargs; i++)
        argv[i] = (char *)(uintptr_t)(i ? s->args[i - 1] : s->command).p;
    for (size_t i = 0; env && i < s->nenv; i++) {
        daruma_buf b = buf_in(a);
        BUF_SAY(&b, s->env[i].name, "=", s->env[i].value);
        buf_putc(&b, 0);
        env[i] = b.p;
    }
    ret->argv = argv;
    ret->env = env ? child_env(env, a) : NULL;
    return !a->full && ret->env;
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
    child_setup setup = {.folder = m->s->folder, .talks = true, .apart = true};
    if (command_of(m->s, &a, &setup))
        m->program = child_start(m->loop, &setup, &ops, m, m->why);
    sys_arena_done(&a);
    if (!m->program) {
        give_up(m); /* a program that is not there is not there the next time */
        return;
    }
    m->state = MCP_GREETING;
    m->fresh = true;
    m->lists = 0;
    m->due = mcp_now(m) + MCP_START_MS;
    m->asked = ++m->ids;
    mcp_send(m, m->asked, "initialize",
             S("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"daruma\","
               "\"version\":\"" DARUMA_VERSION "\"}}"));
    mcp_rearm(m);
}

void mcp_stop(mcp *m, const char *why)
{
    snprintf(m->why, sizeof m->why, "%s", why);
    m->ping = 0;
    m->due = m->ping_due = INT64_MAX;
    if (m->program)
        child_stop(m->program, MCP_GRACE_MS);
}

/* ---- the clock ---- */

static void on_clock(uv_timer_t *t)
{
    mcp *m = t->data;
    daruma_ms now = mcp_now(m);
    mcp_end_late(m, now);
    if (m->ping_due <= now)
        mcp_stop(m, "it hung: it did not answer a ping");
    else if (m->due <= now && m->state == MCP_RESTING)
        start(m);
    else if (m->due <= now && m->state == MCP_UP)
        mcp_list_tools(m, (daruma_str){0});
    else if (m->due <= now)
        mcp_stop(m, "it was not up in time");
    mcp_rearm(m);
}

/* ---- beginning and end ---- */

static mcp *open_one(mcp_servers *all, uv_loop_t *loop, toolset *t, const mcp_setup *s)
{
    mcp *m = calloc(1, sizeof *m);
    if (!m || !sys_arena_init(&m->keep, 16 << 10, MCP_KEEP_BYTES_MAX)) {
        free(m);
        return NULL;
    }
    m->all = all;
    m->s = s;
    m->loop = loop;
    m->tools = t;
    m->due = mcp_now(m);
    m->ping_due = INT64_MAX;
    uv_timer_init(loop, &m->clock);
    m->clock.data = m;
    mcp_rearm(m); /* it is started from the loop */
    return m;
}

static void on_stopped(uv_handle_t *h)
{
    mcp *m = h->data;
    m->stopped = true;
    free_when_done(m);
}

static void close_one(mcp *m)
{
    m->closing = true;
    uv_close((uv_handle_t *)&m->clock, on_stopped);
    if (!m->program)
        return;
    child_end_input(m->program);
    child_within(m->program, MCP_CLOSE_MS, MCP_GRACE_MS);
}

mcp_servers *mcp_open(uv_loop_t *loop, toolset *t, const mcp_setup *list, size_t n,
                      void (*event)(daruma_str json, void *user), void *user, const bool *stop, char why[256])
{
    mcp_servers *s = n > MCP_SERVERS_MAX ? NULL : calloc(1, sizeof *s);
    snprintf(why, 256, n > MCP_SERVERS_MAX ? "there are more than %d MCP servers" : "there is no memory for it",
             MCP_SERVERS_MAX);
    if (!s)
        return NULL;
    *s = (mcp_servers){.why = why, .event = event, .user = user};
    while (s->n < n && !s->failed) {
        s->failed = !(s->list[s->n] = open_one(s, loop, t, &list[s->n]));
        s->n += !s->failed;
    }
    s->waiting = s->n;
    while (s->waiting && !s->failed && !*stop)
        uv_run(loop, UV_RUN_ONCE);
    if (!s->failed && !*stop)
        return s;
    mcp_close(s);
    return NULL;
}

void mcp_close(mcp_servers *s)
{
    for (size_t i = 0; s && i < s->n; i++)
        close_one(s->list[i]);
    free(s);
}

void mcp_instruct(const mcp_servers *s, daruma_buf *out)
{
    for (size_t i = 0; s && i < s->n; i++)
        if (s->list[i]->instructions.n)
            BUF_SAY(out, "\n\nThe server of the tools ", s->list[i]->s->name, ".* says about them:\n",
                    s->list[i]->instructions);
}
