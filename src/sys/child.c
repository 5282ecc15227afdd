/* child.c - programs that run beside us.
 *
 *     started --> exited --> drained (end of its output, or CHILD_LINGER_MS) --> told, handles closed, gone
 *
 * Whatever of its group is left when it has exited is killed: a command leaves nothing running behind. */
#include "sys/child.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

enum { IN, OUT, ERR, PIPES };

struct child {
    uv_process_t process;
    uv_pipe_t pipes[PIPES];
    uv_timer_t clock; /* until it is late; until SIGKILL; until a pipe that somebody holds open is given up */
    const child_ops *ops;
    void *user;
    bool has[PIPES], open[PIPES]; /* there is such a pipe; it has not ended */
    bool exited, over;            /* over: ops.end was called, the handles are closing */
    bool stopping;
    child_end how;
    daruma_ms grace; /* when it is late */
    int handles;     /* not closed yet */
    char bytes[CHILD_READ_BYTES];
};

typedef struct child_write_req {
    uv_write_t req;
    char bytes[];
} child_write_req;

/* ---- its end ---- */

static void on_closed(uv_handle_t *h)
{
    child *c = h->data;
    if (--c->handles == 0)
        free(c);
}

static void close_all(child *c)
{
    for (int i = 0; i < PIPES; i++)
        if (c->has[i])
            uv_close((uv_handle_t *)&c->pipes[i], on_closed);
    uv_close((uv_handle_t *)&c->clock, on_closed);
    uv_close((uv_handle_t *)&c->process, on_closed);
}

static void finish(child *c)
{
    if (c->over)
        return;
    c->over = true;
    c->ops->end(c, &c->how, c->user);
    close_all(c);
}

static void finish_if_drained(child *c)
{
    if (c->exited && !c->open[OUT] && !c->open[ERR])
        finish(c);
}

static void on_clock(uv_timer_t *t)
{
    child *c = t->data;
    if (c->exited) {
        finish(c);
    } else if (c->stopping) {
        kill(-c->process.pid, SIGKILL);
    } else {
        c->how.late = true;
        child_stop(c, c->grace);
    }
}

static void on_exit_status(uv_process_t *p, int64_t status, int signal)
{
    child *c = p->data;
    c->exited = true;
    c->how.code = (int)status;
    c->how.signal = signal;
    /* Its number is its group's as long as one of that is left. It was given back just now, so that nobody else has it
     * yet. */
    kill(-p->pid, SIGKILL);
    uv_timer_start(&c->clock, on_clock, CHILD_LINGER_MS, 0);
    finish_if_drained(c);
}

void child_stop(child *c, daruma_ms grace_ms)
{
    if (c->exited || c->over || c->stopping)
        return;
    c->stopping = true;
    kill(-c->process.pid, grace_ms > 0 ? SIGTERM : SIGKILL);
    uv_timer_start(&c->clock, on_clock, grace_ms > 0 ? (uint64_t)grace_ms : 0, 0);
}

void child_within(child *c, daruma_ms ms, daruma_ms grace_ms)
{
    c->grace = grace_ms;
    if (!c->exited && !c->stopping)
        uv_timer_start(&c->clock, on_clock, ms > 0 ? (uint64_t)ms : 0, 0);
}

static void kill_one(uv_handle_t *h, void *user)
{
    (void)user;
    if (h->type == UV_PROCESS && uv_is_active(h))
        kill(-uv_process_get_pid((uv_process_t *)h), SIGKILL);
}

void child_kill_all(uv_loop_t *loop)
{
    uv_walk(loop, kill_one, NULL);
}

/* ---- pipes ---- */

static void on_room(uv_handle_t *h, size_t suggested, uv_buf_t *buf)
{
    child *c = h->data;
    (void)suggested;
    *buf = uv_buf_init(c->bytes, sizeof c->bytes);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
    child *c = s->data;
    int i = s == (uv_stream_t *)&c->pipes[ERR] ? ERR : OUT;
    if (c->over || n == 0)
        return;
    if (n > 0) {
        (i == ERR ? c->ops->err : c->ops->out)(c, (daruma_str){buf->base, (size_t)n}, c->user);
        return;
    }
    uv_read_stop(s);
    c->open[i] = false;
    finish_if_drained(c);
}

static void on_written(uv_write_t *req, int status)
{
    (void)status; /* one that does not read any more says so by its end */
    free(req);
}

bool child_write(child *c, daruma_str bytes)
{
    if (!c->has[IN] || c->exited || c->over)
        return false;
    child_write_req *w = malloc(sizeof *w + bytes.n);
    if (!w)
        return false;
    memcpy(w->bytes, bytes.p, bytes.n);
    uv_buf_t b = uv_buf_init(w->bytes, (unsigned)bytes.n);
    if (uv_write(&w->req, (uv_stream_t *)&c->pipes[IN], &b, 1, on_written) == 0)
        return true;
    free(w);
    return false;
}

static void on_shut(uv_shutdown_t *req, int status)
{
    (void)status;
    free(req);
}

void child_end_input(child *c)
{
    uv_shutdown_t *req = c->has[IN] && !c->over ? malloc(sizeof *req) : NULL;
    if (req && uv_shutdown(req, (uv_stream_t *)&c->pipes[IN], on_shut) != 0)
        free(req);
}

size_t child_waiting(const child *c)
{
    return c->has[IN] ? c->pipes[IN].write_queue_size : 0;
}

/* ---- its beginning ---- */

static void give_up(child *c, int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    c->over = true;
    close_all(c);
}

child *child_start(uv_loop_t *loop, const child_setup *s, const child_ops *ops, void *user, char why[256])
{
    child *c = calloc(1, sizeof *c);
    int ends[2] = {-1, -1}; /* of the pipe that output and errors share, in their order */
    int error = s->apart || !c ? 0 : uv_pipe(ends, UV_NONBLOCK_PIPE, 0);
    if (!c || error) {
        snprintf(why, 256, "it could not be started: %.80s", c ? uv_strerror(error) : "there is no memory");
        free(c);
        return NULL;
    }
    c->ops = ops;
    c->user = user;
    c->has[IN] = s->talks;
    c->has[OUT] = c->open[OUT] = true;
    c->has[ERR] = c->open[ERR] = s->apart;
    for (int i = 0; i < PIPES; i++)
        if (c->has[i]) {
            uv_pipe_init(loop, &c->pipes[i], 0);
            c->pipes[i].data = c;
            c->handles++;
        }
    uv_timer_init(loop, &c->clock);
    c->clock.data = c->process.data = c;
    c->handles += 2;
    uv_stdio_container_t stdio[PIPES] = {{.flags = UV_IGNORE}};
    if (s->talks)
        stdio[IN] = (uv_stdio_container_t){UV_CREATE_PIPE | UV_READABLE_PIPE, {(uv_stream_t *)&c->pipes[IN]}};
    for (int i = OUT; i < PIPES && s->apart; i++)
        stdio[i] = (uv_stdio_container_t){UV_CREATE_PIPE | UV_WRITABLE_PIPE, {(uv_stream_t *)&c->pipes[i]}};
    if (!s->apart)
        for (int i = OUT; i < PIPES; i++)
            stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = ends[1]};
    uv_process_options_t options = {.exit_cb = on_exit_status,
                                    .file = s->argv[0],
                                    .args = (char **)(uintptr_t)s->argv, /* exec does not write to them */
                                    .env = s->env,
                                    .cwd = s->folder,
                                    .flags = UV_PROCESS_DETACHED, /* a group of its own */
                                    .stdio_count = PIPES,
                                    .stdio = stdio};
    error = uv_spawn(loop, &c->process, &options);
    c->process.data = c;
    if (error) {
        snprintf(why, 256, "%.150s could not be started: %.80s", s->argv[0], uv_strerror(error));
        give_up(c, ends);
        return NULL;
    }
    if (!s->apart) {
        close(ends[1]);
        if (uv_pipe_open(&c->pipes[OUT], ends[0]) != 0)
            close(ends[0]);
    }
    for (int i = OUT; i < PIPES; i++)
        if (c->has[i] && uv_read_start((uv_stream_t *)&c->pipes[i], on_room, on_read) != 0)
            c->open[i] = false;
    return c;
}

/* ---- its environment ---- */

/* Is one of the words of a name, between underscores, that of a credential? */
static bool names_secret(daruma_str name)
{
    static const char *const words[] = {"KEY",        "KEYS",        "TOKEN",  "TOKENS",    "SECRET",
                                        "SECRETS",    "PASSWORD",    "PASSWD", "PASS",      "PASSPHRASE",
                                        "CREDENTIAL", "CREDENTIALS", "APIKEY", "ACCESSKEY", "PAT"};
    while (name.n) {
        daruma_str word = str_cut(&name, '_');
        for (size_t i = 0; i < COUNT(words); i++)
            if (str_ieq(word, str_of(words[i])))
                return true;
    }
    return false;
}

/* "scheme://user:password@host" anywhere in it. */
static bool holds_password(daruma_str value)
{
    for (size_t at; (at = str_find(value, S("://"))) != STR_NONE;) {
        value = str_from(value, at + 3);
        size_t end = 0, colon = STR_NONE;
        while (end < value.n && value.p[end] != '/' && value.p[end] != '@' && !ch_space(value.p[end])) {
            colon = value.p[end] == ':' && colon == STR_NONE ? end : colon;
            end++;
        }
        if (end < value.n && value.p[end] == '@' && colon != STR_NONE)
            return true;
    }
    return false;
}

static bool is_secret(const char *variable)
{
    daruma_str value = str_of(variable), name = str_cut(&value, '=');
    return names_secret(name) || holds_password(value);
}

char **child_env(const char *const *more, daruma_arena *a)
{
    size_t n = 0, all = 0;
    while (environ && environ[n])
        n++;
    for (size_t i = 0; more && more[i]; i++)
        n++;
    char **env = ARENA_NEW(a, char *, n + 1);
    for (size_t i = 0; env && environ && environ[i]; i++)
        if (!is_secret(environ[i]))
            env[all++] = environ[i];
    for (size_t i = 0; env && more && more[i]; i++) {
        daruma_str value = str_of(more[i]), name = str_cut(&value, '=');
        size_t at = 0; /* a name stands there once: the first one would count */
        while (at < all && !(strncmp(env[at], name.p, name.n) == 0 && env[at][name.n] == '='))
            at++;
        env[at] = (char *)(uintptr_t)more[i];
        all += at == all;
    }
    return env;
}

void child_env_wipe(void)
{
    for (size_t i = 0; environ && environ[i]; i++) {
        daruma_str value = str_of(environ[i]);
        bool secret = is_secret(environ[i]);
        str_cut(&value, '=');
        if (secret && value.n)
            memset((char *)(uintptr_t)value.p, 'x', value.n);
    }
}
