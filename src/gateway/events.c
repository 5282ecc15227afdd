/* events.c - the event log: a JSON line each to a file, a readable line each to stderr, and as server-sent
 * events to whoever listens at /daruma/events. */
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct event_log {
    int fd; /* -1: no file */
    bool to_stderr;
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
        char path[4096];
        snprintf(path, sizeof path, STR_FMT, STR_ARG(file));
        fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0) {
            snprintf(why, 512, "events.file: %.400s: %s", path, strerror(errno));
            return false;
        }
    }
    if (l->fd >= 0)
        close(l->fd);
    l->fd = fd;
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

static void write_all(int fd, daruma_str s, uint64_t *lost)
{
    while (s.n) {
        ssize_t n = write(fd, s.p, s.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            ++*lost; /* a full disk does not stop requests */
            return;
        }
        s = str_from(s, (size_t)n);
    }
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
                write_all(l->fd, buf_str(&b), &l->lost);
            memcpy(text, "data: ", 6);
            text[6 + b.n] = '\n'; /* the line's own newline and this one end the event */
            tell_subscribers(l, (daruma_str){text, b.n + 7});
        }
    }
    if (l->to_stderr) {
        daruma_buf b = buf_over(text, sizeof text);
        daruma_event_say(e, &b);
        if (!b.full)
            write_all(STDERR_FILENO, buf_str(&b), &l->lost);
    }
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
