#include "sys/process.h"
#include "base/limits.h"
#include "base/str.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process {
    uv_process_t child;
    uv_pipe_t pipe; /* its standard output */
    uv_timer_t clock;
    process_done done;
    void *user;
    bool started, exited, eof, over; /* over: `done` was called, the handles are closing */
    int exit_code;
    int open; /* handles not closed yet */
    size_t n;
    char out[CONFIG_PROCESS_BYTES_MAX];
};

static void on_closed(uv_handle_t *h)
{
    process *p = h->data;
    if (--p->open)
        return;
    explicit_bzero(p->out, sizeof p->out);
    free(p);
}

/* Only while the child was not reaped: afterwards its id may be somebody else's. */
static void kill_group(process *p)
{
    if (p->started && !p->exited)
        kill(-p->child.pid, SIGKILL);
}

static void process_finish(process *p, int exit_code, const char *why)
{
    if (p->over)
        return;
    p->over = true;
    kill_group(p);
    daruma_str rest = {p->out, exit_code == 0 ? p->n : 0};
    daruma_str line = str_trim(str_cut(&rest, '\n'));
    p->done(exit_code, line, why ? why : line.n ? NULL : "it printed nothing", p->user);
    uv_close((uv_handle_t *)&p->pipe, on_closed);
    uv_close((uv_handle_t *)&p->clock, on_closed);
    uv_close((uv_handle_t *)&p->child, on_closed);
}

static void finish_ended(process *p)
{
    char why[80];
    if (p->exit_code == 127)
        snprintf(why, sizeof why, "the shell did not find it (exit code 127)");
    else if (p->exit_code > 128)
        snprintf(why, sizeof why, "it was ended by signal %d", p->exit_code - 128);
    else
        snprintf(why, sizeof why, "it ended with exit code %d", p->exit_code);
    process_finish(p, p->exit_code, p->exit_code ? why : NULL);
}

/* The first line is whole once it has its end; without one the end of the output has to come. A process that was left
 * behind in the background may hold the pipe open for ever, and is not waited for. */
static void finish_if_ended(process *p)
{
    if (p->exited && (p->eof || memchr(p->out, '\n', p->n)))
        finish_ended(p);
}

static void on_exit_status(uv_process_t *child, int64_t status, int signal)
{
    process *p = child->data;
    p->exited = true;
    p->exit_code = signal ? 128 + signal : (int)status;
    finish_if_ended(p);
}

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    (void)suggested;
    process *p = h->data;
    *buf = uv_buf_init(p->out + p->n, (unsigned)(sizeof p->out - p->n));
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    (void)buf;
    process *p = s->data;
    if (p->over || n == 0)
        return;
    if (n > 0)
        p->n += (size_t)n;
    else
        p->eof = true;
    if (p->eof)
        uv_read_stop(s);
    if (p->n == sizeof p->out)
        process_finish(p, -1, "it printed too much; the first line has to be the key and nothing else is needed");
    else
        finish_if_ended(p);
}

static void on_late(uv_timer_t *t)
{
    process *p = t->data;
    if (!p->started)
        process_finish(p, -1, "it could not be started");
    else if (p->exited)
        finish_ended(p);
    else
        process_finish(p, -1, "it did not end in time and was killed");
}

static bool spawn(process *p, uv_loop_t *loop, const char *command)
{
    char sh[] = "/bin/sh", minus_c[] = "-c";
    char *args[] = {sh, minus_c, (char *)(uintptr_t)command, NULL}; /* exec does not write to them */
    uv_stdio_container_t stdio[3] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&p->pipe},
        {.flags = UV_IGNORE},
    };
    uv_process_options_t options = {
        .exit_cb = on_exit_status,
        .file = sh,
        .args = args,
        .flags = UV_PROCESS_DETACHED, /* a session and group of its own, to be killed as one */
        .stdio_count = 3,
        .stdio = stdio,
    };
    bool ok = uv_spawn(loop, &p->child, &options) == 0;
    p->child.data = p;
    if (ok && uv_read_start((uv_stream_t *)&p->pipe, on_room, on_read) != 0)
        p->eof = true;
    return ok;
}

process *process_run(uv_loop_t *loop, const char *command, daruma_ms deadline_ms, process_done done, void *user)
{
    process *p = calloc(1, sizeof *p);
    if (!p) {
        done(-1, (daruma_str){0}, "there is no memory to run it", user);
        return NULL;
    }
    p->done = done;
    p->user = user;
    p->open = 3;
    uv_pipe_init(loop, &p->pipe, 0);
    uv_timer_init(loop, &p->clock);
    p->pipe.data = p->clock.data = p;
    p->started = spawn(p, loop, command); /* where it failed the clock says so, from the loop */
    uv_timer_start(&p->clock, on_late, p->started && deadline_ms > 0 ? (uint64_t)deadline_ms : 0, 0);
    return p;
}

void process_stop(process *p)
{
    process_finish(p, -1, "it was stopped");
}
