/* events.c - the event log: a JSON line each to a file, a readable line each to stderr, and as server-sent
 * events to whoever listens at /daruma/events. */
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "sys/sys.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct event_log {
    int fd; /* -1: no file */
    bool to_stderr;
    bool fd_torn, stderr_torn; /* the last line there broke off */
    call *subscribers[EVENT_SUBSCRIBERS_MAX];
    size_t nsubscribers;
    uint64_t written, lost;
};

event_log *events_new(void)
{
    event_log *l = calloc(1, sizeof *l);
    if (l)
        l->fd = -1;
    return l;
}

bool events_open(event_log *l, daruma_str file, bool to_stderr, char why[512])
{
    int fd = -1;
    if (file.n) {
        char path[4200]; /* at most 4096, as config_options.c says */
        snprintf(path, sizeof path, STR_FMT, STR_ARG(file));
        fd = sys_open_log(path);
        if (fd < 0) {
            snprintf(why, 512, "events.file: %.400s: %s", path, strerror(errno));
            return false;
        }
    }
    if (l->fd >= 0)
        close(l->fd);
    l->fd = fd;
    l->fd_torn = false;
    l->to_stderr = to_stderr;
    return true;
}

void events_free(event_log *l)
{
    if (!l)
        return;
    if (l->fd >= 0)
        close(l->fd);
    free(l);
}

/* A line goes out whole, or is lost and counted: a full disk, or a pipe that nobody empties, does not stop requests.
 * What went out of a lost one is ended before the next. */
static void write_line(event_log *l, int fd, bool *torn, daruma_str line)
{
    if (*torn && sys_write_now(fd, S("\n")))
        *torn = false;
    size_t n = *torn ? 0 : sys_write_now(fd, line);
    *torn |= n > 0 && n < line.n;
    l->lost += n < line.n;
}

/* Who does not read fast enough is let go: the file has everything. */
static void tell_subscribers(event_log *l, daruma_str bytes)
{
    for (size_t i = l->nsubscribers; i-- > 0;) {
        call *c = l->subscribers[i];
        if (call_write(c, bytes))
            continue;
        l->subscribers[i] = l->subscribers[--l->nsubscribers];
        call_abort(c);
    }
}

void events_emit(event_log *l, const daruma_event *e)
{
    char text[8192];
    if (l->fd >= 0 || l->nsubscribers) {
        daruma_buf b = buf_over(text + 6, sizeof text - 8);
        daruma_event_write(e, &b);
        if (b.full) {
            l->lost++;
        } else {
            l->written++;
            if (l->fd >= 0)
                write_line(l, l->fd, &l->fd_torn, buf_str(&b));
            memcpy(text, "data: ", 6);
            text[6 + b.n] = '\n'; /* the line's own newline and this one end the event */
            tell_subscribers(l, (daruma_str){text, b.n + 7});
        }
    }
    if (l->to_stderr) {
        daruma_buf b = buf_over(text, sizeof text);
        daruma_event_say(e, &b);
        if (!b.full)
            write_line(l, STDERR_FILENO, &l->stderr_torn, buf_str(&b));
    }
}

void events_status(const event_log *l, daruma_buf *out)
{
    buf_printf(out, "\"events\":{\"written\":%llu,\"lost\":%llu,\"listeners\":%zu},", (unsigned long long)l->written,
               (unsigned long long)l->lost, l->nsubscribers);
}

void events_count(const event_log *l, uint64_t *written, uint64_t *lost)
{
    *written = l->written;
    *lost = l->lost;
}

bool events_has_room(const event_log *l)
{
    return l->nsubscribers < EVENT_SUBSCRIBERS_MAX;
}

void events_subscribe(event_log *l, call *c)
{
    check(events_has_room(l));
    l->subscribers[l->nsubscribers++] = c;
}

void events_unsubscribe(event_log *l, call *c)
{
    for (size_t i = 0; i < l->nsubscribers; i++)
        if (l->subscribers[i] == c) {
            l->subscribers[i] = l->subscribers[--l->nsubscribers];
            return;
        }
}

void events_end(event_log *l)
{
    while (l->nsubscribers)
        call_end(l->subscribers[--l->nsubscribers]);
}
