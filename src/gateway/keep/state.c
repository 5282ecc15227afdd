/* state.c - keeps what is known in a file, so that a restart, or a kill, costs no second failure.
 *
 *     a step of a recovery -> state_touched() -> some time later, once -> snapshot on the loop -> file, on a thread
 *
 * The thread is its own: a disk that hangs would hold one of libuv's pool, on which names are looked up and large
 * requests are worked on.
 *
 * The file is written anew beside the old one and takes its place when it is whole: who reads it never sees half of it.
 * A folder that is slow, full or gone delays no request: what is known stays in memory, one event says so, and writing
 * goes on when there is room again. It holds texts of conversations and no key, and is its owner's alone. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/see/see.h"
#include "sys/sys.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_EVERY_MS 100 /* between two snapshots at least: what a kill can cost */
#define STATE_SHARE    20  /* of the loop's time at most one in so many goes into snapshots */

typedef struct snapshot {
    state *of;
    uv_thread_t thread; /* that writes it */
    daruma_arena room;
    daruma_str text;
    int error; /* errno of what could not be written */
} snapshot;

struct state {
    gateway *g;
    uv_timer_t timer;
    uv_async_t written;            /* the thread is done */
    char path[4300], beside[4310]; /* the file; and the one that takes its place */
    snapshot *writing;             /* NULL: none is under way */
    daruma_ms every;               /* until the next one */
    int lock;                      /* held: nobody else writes there; -1: somebody does */
    bool touched, unwritten;
    uint8_t open; /* handles of the loop that are not closed yet */
};

static void tell(gateway *g, const char *name, const char *path, const char *why)
{
    char room[4600];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_SAY(&b, path, ": ", why);
    events_say(g, name, buf_str(&b));
}

/* ---- writing ---- */

/* Writes all of it and puts it in its place. Returns 0 or errno. */
static int put(const char *beside, const char *path, daruma_str text)
{
    unlink(beside); /* whoever made it, and for whomever it can be read */
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
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

static void write_out(void *arg)
{
    snapshot *w = arg;
    w->error = put(w->of->beside, w->of->path, w->text);
    uv_async_send(&w->of->written);
}

static void arm(state *s);

/* Waits for the write under way, if there is one, and says how it went. */
static void collect(state *s)
{
    snapshot *w = s->writing;
    if (!w)
        return;
    uv_thread_join(&w->thread);
    s->writing = NULL;
    said(s, w->error);
    s->touched |= w->error != 0;
    sys_arena_done(&w->room);
    free(w);
}

static void on_written(uv_async_t *h)
{
    state *s = h->data;
    collect(s);
    arm(s);
}

/* It cannot be written now: later. */
static void put_off(state *s, int error)
{
    said(s, error);
    s->touched = true;
    arm(s);
}

static void on_timer(uv_timer_t *t)
{
    state *s = t->data;
    snapshot *w = calloc(1, sizeof *w);
    int64_t began = sys_thread_cpu_ns();
    if (!w || !take(s->g, &w->room, &w->text)) {
        free(w);
        put_off(s, ENOMEM);
        return;
    }
    daruma_ms spent = (daruma_ms)((sys_thread_cpu_ns() - began) / 1000000);
    s->every = spent * STATE_SHARE > STATE_EVERY_MS ? spent * STATE_SHARE : STATE_EVERY_MS;
    s->touched = false;
    w->of = s;
    s->writing = w;
    if (uv_thread_create(&w->thread, write_out, w) != 0) {
        s->writing = NULL;
        sys_arena_done(&w->room);
        free(w);
        put_off(s, EAGAIN);
    }
}

static void arm(state *s)
{
    if (s->touched && !s->writing && !uv_is_active((uv_handle_t *)&s->timer))
        uv_timer_start(&s->timer, on_timer, (uint64_t)(s->unwritten ? 10 * s->every : s->every), 0);
}

void state_touched(state *s)
{
    if (!s || s->lock < 0)
        return;
    s->touched = true;
    arm(s);
}

/* ---- from start to end ---- */

/* Puts what cannot be read where nobody writes over it. */
static void put_aside(const state *s)
{
    char aside[4360];
    snprintf(aside, sizeof aside, "%s.unread", s->path);
    if (access(aside, F_OK) == 0)
        snprintf(aside, sizeof aside, "%s.unread-%lld", s->path, (long long)gateway_now(s->g).wall);
    rename(s->path, aside);
}

/* What was known when the last daruma ended. */
static void load(state *s)
{
    daruma_arena room;
    daruma_str text;
    char why[256];
    if (access(s->path, F_OK) != 0 || !sys_arena_init(&room, 65536, LIB_SNAPSHOT_BYTES_MAX))
        return;
    bool read = sys_read_file(s->path, LIB_SNAPSHOT_BYTES_MAX / 2, &room, &text, why);
    driver_loaded got = {0};
    if (read)
        got = driver_load(gateway_drive(s->g), text);
    if (read && !got.ours)
        snprintf(why, sizeof why, "this is not what daruma %s writes there; it is kept aside as .unread",
                 DARUMA_VERSION);
    else if (read && got.dropped)
        snprintf(why, sizeof why, "%zu of its lines cannot be read and are left out", got.dropped);
    if (!read || !got.ours || got.dropped)
        tell(s->g, "state_unread", s->path, why);
    if (s->lock >= 0 && (!read || !got.ours))
        put_aside(s);
    sys_arena_done(&room);
}

/* Takes the folder for this process alone. -1 and errno: another one has it, or it cannot be had. */
static int take_folder(const char *folder)
{
    char path[4320];
    snprintf(path, sizeof path, "%s/lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

/* ---- the secret: hashes of clients' keys go by it, and the next daruma has to know it as well, or nothing that is
 * kept under them is ever found ---- */

static bool put_secret(const char *folder, const gateway_secret *it)
{
    char path[4320], beside[4330];
    snprintf(path, sizeof path, "%s/secret", folder);
    snprintf(beside, sizeof beside, "%s.new", path);
    return put(beside, path, (daruma_str){(const char *)it, sizeof *it}) == 0;
}

/* Takes the one that is kept; one that is too short is none. It is made once. */
static void keep_secret(gateway *g, const char *folder)
{
    char path[4320];
    gateway_secret it;
    snprintf(path, sizeof path, "%s/secret", folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool have = fd >= 0 && read(fd, &it, sizeof it) == (ssize_t)sizeof it;
    if (fd >= 0)
        close(fd);
    if (have || (RAND_bytes((unsigned char *)&it, sizeof it) == 1 && put_secret(folder, &it))) {
        g->secret = it;
        g->tenant_keyed = true;
    }
    explicit_bzero(&it, sizeof it);
}

void state_secret(const state *s, const gateway *g)
{
    char folder[4300];
    if (!s || s->lock < 0)
        return;
    snprintf(folder, sizeof folder, "%s", s->path);
    *strrchr(folder, '/') = 0;
    put_secret(folder, &g->secret);
}

state *state_open(gateway *g, daruma_str folder)
{
    char at[4200];
    state *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->g = g;
    s->every = STATE_EVERY_MS;
    snprintf(at, sizeof at, STR_FMT, STR_ARG(folder));
    snprintf(s->path, sizeof s->path, "%s/state.jsonl", at);
    snprintf(s->beside, sizeof s->beside, "%s.new", s->path);
    s->lock = take_folder(at);
    if (s->lock < 0)
        tell(g, "state_unwritten", s->path,
             errno == EWOULDBLOCK ? "another daruma keeps what it knows there; this one reads it and writes nothing"
                                  : strerror(errno));
    keep_secret(g, at);
    uv_timer_init(g->loop, &s->timer);
    uv_unref((uv_handle_t *)&s->timer);
    uv_async_init(g->loop, &s->written, on_written);
    uv_unref((uv_handle_t *)&s->written);
    s->timer.data = s->written.data = s;
    s->open = 2;
    load(s);
    return s;
}

static void closed(uv_handle_t *h)
{
    state *s = h->data;
    if (--s->open == 0)
        free(s);
}

void state_close(state *s)
{
    daruma_arena room;
    daruma_str text;
    if (!s)
        return;
    collect(s);                                     /* the newest text has the last word */
    if (s->lock >= 0 && take(s->g, &room, &text)) { /* keys of conversations, too, which no recovery touched */
        said(s, put(s->beside, s->path, text));
        sys_arena_done(&room);
    }
    if (s->lock >= 0)
        close(s->lock);
    uv_close((uv_handle_t *)&s->timer, closed);
    uv_close((uv_handle_t *)&s->written, closed);
}
