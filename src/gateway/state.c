/* state.c - keeps what is known in a file, so that a restart, or a kill, costs no second failure.
 *
 *     a step of a recovery -> state_touched() -> some time later, once -> snapshot on the loop -> file, beside the loop
 *
 * The file is written anew beside the old one and takes its place when it is whole: who reads it never sees half of it.
 * A folder that is slow, full or gone delays no request: what is known stays in memory, one event says so, and writing
 * goes on when there is room again. It holds texts of conversations and no key, and is its owner's alone. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "gateway/inside.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_EVERY_MS 100 /* between two snapshots at least: what a kill can cost */
#define STATE_SHARE    20  /* of the loop's time at most one in so many goes into snapshots */

typedef struct snapshot {
    uv_work_t req;
    state *of;
    daruma_arena room;
    daruma_str text;
    int error; /* errno of what could not be written */
} snapshot;

struct state {
    gateway *g;
    uv_timer_t timer;
    char path[4300], beside[4310]; /* the file; and the one that takes its place */
    snapshot *writing;             /* NULL: none is under way */
    daruma_ms every;               /* until the next one */
    bool touched, unwritten, closed;
    uint8_t holds; /* the timer and what is being written */
};

static void tell(gateway *g, const char *name, const char *path, const char *why)
{
    char room[4600];
    daruma_buf b = buf_over(room, sizeof room);
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = name;
    e.at = gateway_now(g);
    buf_printf(&b, "%s: %s", path, why);
    e.reason = buf_str(&b);
    events_emit(g->events, &e);
}

/* ---- writing ---- */

/* Writes all of it and puts it in its place. Returns 0 or errno. */
static int put(const char *beside, const char *path, daruma_str text)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int why = n ? errno : ENOSPC;
            close(fd);
            unlink(beside);
            return why;
        }
        text = str_from(text, (size_t)n);
    }
    int why = fsync(fd) == 0 ? 0 : errno;
    if (close(fd) != 0 && !why)
        why = errno;
    return why ? why : rename(beside, path) == 0 ? 0 : errno;
}

/* What is known now; false without memory. */
static bool take(gateway *g, daruma_arena *room, daruma_str *ret)
{
    if (!sys_arena_init(room, 65536, LIB_SNAPSHOT_BYTES_MAX))
        return false;
    daruma_buf all = buf_in(room);
    driver_save(gateway_drive(g), &all);
    *ret = buf_str(&all);
    if (!all.full)
        return true;
    sys_arena_done(room);
    return false;
}

static void said(state *s, int error)
{
    if (error && !s->unwritten)
        tell(s->g, "state_unwritten", s->path, strerror(error));
    if (!error && s->unwritten)
        tell(s->g, "state_written", s->path, "it can be written again");
    s->unwritten = error != 0;
}

static void work(uv_work_t *req)
{
    snapshot *w = req->data;
    w->error = put(w->of->beside, w->of->path, w->text);
}

static void arm(state *s);

static void let_go(state *s)
{
    if (--s->holds == 0)
        free(s);
}

static void over(uv_work_t *req, int status)
{
    snapshot *w = req->data;
    state *s = w->of;
    (void)status;
    s->writing = NULL;
    if (!s->closed) {
        said(s, w->error);
        s->touched |= w->error != 0;
        arm(s);
    }
    let_go(s);
    sys_arena_done(&w->room);
    free(w);
}

static void on_timer(uv_timer_t *t)
{
    state *s = t->data;
    snapshot *w = calloc(1, sizeof *w);
    int64_t began = sys_thread_cpu_ns();
    if (!w || !take(s->g, &w->room, &w->text)) {
        free(w);
        said(s, ENOMEM);
        return;
    }
    daruma_ms spent = (daruma_ms)((sys_thread_cpu_ns() - began) / 1000000);
    s->every = spent * STATE_SHARE > STATE_EVERY_MS ? spent * STATE_SHARE : STATE_EVERY_MS;
    s->touched = false;
    w->of = s;
    w->req.data = w;
    s->writing = w;
    s->holds++;
    if (uv_queue_work(s->g->loop, &w->req, work, over) != 0) {
        s->writing = NULL;
        s->holds--;
        sys_arena_done(&w->room);
        free(w);
    }
}

static void arm(state *s)
{
    if (s->touched && !s->writing && !uv_is_active((uv_handle_t *)&s->timer))
        uv_timer_start(&s->timer, on_timer, (uint64_t)(s->unwritten ? 10 * s->every : s->every), 0);
}

void state_touched(state *s)
{
    if (!s)
        return;
    s->touched = true;
    arm(s);
}

/* ---- from start to end ---- */

/* What was known when the last daruma ended. */
static void load(state *s)
{
    daruma_arena room;
    daruma_str text;
    char why[256], aside[4320];
    if (access(s->path, F_OK) != 0 || !sys_arena_init(&room, 65536, LIB_SNAPSHOT_BYTES_MAX))
        return;
    bool read = sys_read_file(s->path, LIB_SNAPSHOT_BYTES_MAX / 2, &room, &text, why);
    driver_loaded got = {0};
    if (read)
        got = driver_load(gateway_drive(s->g), text);
    if (!read || !got.ours || got.dropped) {
        if (read && !got.ours)
            snprintf(why, sizeof why, "this is not what daruma %s writes there; it is kept as %s.unread",
                     DARUMA_VERSION, "state.jsonl");
        else if (read)
            snprintf(why, sizeof why, "%zu of its lines cannot be read and are left out", got.dropped);
        tell(s->g, "state_unread", s->path, why);
    }
    if (read && !got.ours) {
        snprintf(aside, sizeof aside, "%s.unread", s->path);
        rename(s->path, aside);
    }
    sys_arena_done(&room);
}

state *state_open(gateway *g, daruma_str folder)
{
    state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->g = g;
    s->every = STATE_EVERY_MS;
    s->holds = 1;
    snprintf(s->path, sizeof s->path, STR_FMT "/state.jsonl", STR_ARG(folder));
    snprintf(s->beside, sizeof s->beside, "%s.new", s->path);
    uv_timer_init(g->loop, &s->timer);
    uv_unref((uv_handle_t *)&s->timer);
    s->timer.data = s;
    load(s);
    return s;
}

static void timer_closed(uv_handle_t *h)
{
    let_go(h->data);
}

void state_close(state *s)
{
    daruma_arena room;
    daruma_str text;
    if (!s)
        return;
    if (s->writing && uv_cancel((uv_req_t *)&s->writing->req) != 0)
        snprintf(s->beside, sizeof s->beside, "%s.last", s->path); /* that one is being written */
    if (take(s->g, &room, &text)) { /* keys of conversations, too, which no recovery touched */
        said(s, put(s->beside, s->path, text));
        sys_arena_done(&room);
    }
    s->closed = true;
    uv_close((uv_handle_t *)&s->timer, timer_closed);
}
