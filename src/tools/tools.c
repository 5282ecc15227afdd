/* tools.c - the table of tools and the calls that are under way. That a call is over is told from the loop, whenever it
 * was: who begins one is never called back while it does. */
#include "tools/tools.h"
#include "base/check.h"
#include "sys/arena.h"
#include <stdlib.h>

/* The result of a call that found no memory for its own. */
#define TOO_MUCH "INTERNAL_ERROR: there is no memory for the result of this call\nNext step: ask for less at a time"

struct toolset {
    uv_loop_t *loop;
    uv_timer_t soon; /* calls that are over are told */
    agent_tool rows[TOOLS_MAX];
    struct {
        const tool_source *source;
        void *own;
    } from[TOOLS_MAX]; /* by row */
    size_t n;
    tool_call *calls;     /* newest first */
    bool closing, closed; /* the timer is ... */
};

static void free_when_done(toolset *t)
{
    if (t->closed && !t->calls)
        free(t);
}

/* ---- the table ---- */

toolset *toolset_new(uv_loop_t *loop)
{
    toolset *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->loop = loop;
    uv_timer_init(loop, &t->soon);
    t->soon.data = t;
    return t;
}

static size_t row_of(const toolset *t, daruma_str name)
{
    size_t i = 0;
    while (i < t->n && !str_eq(t->rows[i].about.name, name))
        i++;
    return i;
}

bool toolset_add(toolset *t, const agent_tool *row, const tool_source *source, void *own)
{
    if (t->n == TOOLS_MAX || row_of(t, row->about.name) < t->n)
        return false;
    t->rows[t->n] = *row;
    t->from[t->n].source = source;
    t->from[t->n].own = own;
    t->n++;
    return true;
}

bool toolset_change(toolset *t, const agent_tool *row)
{
    size_t i = row_of(t, row->about.name);
    const daruma_tool *was = i < t->n ? &t->rows[i].about : NULL, *is = &row->about;
    if (!was || (str_eq(was->description, is->description) && str_eq(was->schema, is->schema) &&
                 was->traits == is->traits && t->rows[i].ask == row->ask))
        return false;
    t->rows[i] = *row;
    return true;
}

const agent_tool *toolset_rows(const toolset *t, size_t *ret_n)
{
    *ret_n = t->n;
    return t->rows;
}

/* ---- calls ---- */

static void unlink_call(tool_call *c)
{
    tool_call **p = &c->of->calls;
    while (*p != c)
        p = &(*p)->next;
    *p = c->next;
}

static void on_soon(uv_timer_t *timer)
{
    toolset *t = timer->data;
    for (;;) {
        tool_call *c = t->calls;
        while (c && !c->over)
            c = c->next;
        if (!c)
            break;
        unlink_call(c);
        bool whole = c->out.n && !c->out.full && !c->room.full;
        if (!atomic_load(&c->stopped))
            c->done(whole ? buf_str(&c->out) : S(TOO_MUCH), whole ? c->ok : 0, c->lost, c->user);
        sys_arena_done(&c->room);
        free(c);
    }
}

static void on_closed(uv_handle_t *h)
{
    toolset *t = h->data;
    t->closed = true;
    free_when_done(t);
}

void tool_over(tool_call *c, int ok, bool lost)
{
    toolset *t = c->of;
    check(!c->over);
    c->over = true;
    c->ok = ok;
    c->lost = lost;
    if (!t->closing) {
        uv_timer_start(&t->soon, on_soon, 0, 0);
        return;
    }
    unlink_call(c);
    sys_arena_done(&c->room);
    free(c);
    free_when_done(t);
}

tool_call *toolset_call(toolset *t, daruma_str name, daruma_str args, daruma_ms usual, daruma_ms within, tool_done done,
                        void *user)
{
    size_t i = row_of(t, name);
    tool_call *c = calloc(1, sizeof *c);
    if (!c || !sys_arena_init(&c->room, 64 << 10, RUN_TOOL_BYTES_MAX)) {
        free(c);
        return NULL;
    }
    c->of = t;
    c->loop = t->loop;
    c->args = arena_copy(&c->room, args);
    c->usual = usual;
    c->within = within;
    c->out = buf_in(&c->room);
    c->done = done;
    c->user = user;
    c->next = t->calls;
    t->calls = c;
    if (i == t->n) {
        tool_fail(c, "COMMAND_NOT_FOUND", name, "is no tool of this host", "use one of the tools that were offered");
        return c;
    }
    c->about = &t->rows[i];
    c->source = t->from[i].source;
    c->own = t->from[i].own;
    c->source->start(c);
    return c;
}

void tool_cancel(tool_call *c)
{
    if (atomic_exchange(&c->stopped, true) || c->over || !c->source || !c->source->stop)
        return;
    c->source->stop(c);
}

void toolset_close(toolset *t)
{
    if (!t)
        return;
    for (tool_call *c = t->calls, *next; c; c = next) {
        next = c->next; /* what is stopped may be over at once: it stays in the list until on_soon() */
        tool_cancel(c);
    }
    on_soon(&t->soon);
    t->closing = true;
    uv_close((uv_handle_t *)&t->soon, on_closed);
}

daruma_ms tool_within(const tool_call *c, daruma_ms source_ms)
{
    daruma_ms ms = c->usual > 0 ? c->usual : source_ms;
    return c->within >= 0 && c->within < ms ? c->within : ms;
}

void tool_fail(tool_call *c, const char *code, daruma_str about, const char *what, const char *next)
{
    tool_error(&c->out, code, about, what, next);
    tool_over(c, 0, false);
}

bool tool_error(daruma_buf *out, const char *code, daruma_str about, const char *what, const char *next)
{
    const char *quote = about.n ? "`" : "";
    out->n = 0;
    BUF_SAY(out, code, ": ", quote, str_sub(about, 0, TOOL_LINE_BYTES_MAX), quote, about.n ? " " : "", what,
            "\nNext step: ", next);
    return false;
}
