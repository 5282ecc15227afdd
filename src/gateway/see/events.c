/* events.c - the event log: a JSON line each to a file, a readable line each to stderr, and as server-sent
 * events to whoever listens at /daruma/events. */
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/see/see.h"
#include "gateway/see/log_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct event_log {
    log_file file, terminal;
    call *subscribers[EVENT_SUBSCRIBERS_MAX];
    size_t nsubscribers;
    char *kept; /* the newest events as they were sent, EVENTS_KEPT_BYTES_MAX; NULL: there was none yet */
    size_t nkept;
    uint64_t written, too_long;
};

event_log *events_new(void)
{
    event_log *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->file = (log_file){.fd = -1, .aloud = true, .key = "events.file", .note = "{\"event\":\"events_lost\""};
    l->terminal = (log_file){.fd = -1};
    return l;
}

bool events_open(event_log *l, daruma_str file, bool to_stderr, char why[512])
{
    if (!log_file_open(&l->file, file, why))
        return false;
    l->terminal.fd = to_stderr ? STDERR_FILENO : -1;
    return true;
}

void events_free(event_log *l)
{
    if (!l)
        return;
    log_file_close(&l->file);
    log_file_close(&l->terminal);
    free(l->kept);
    free(l);
}

/* Whole events of `all` behind its first `n` bytes. */
static daruma_str whole_from(daruma_str all, size_t n)
{
    daruma_str rest = str_from(all, n);
    size_t end = str_find(rest, S("\n\n")); /* no text within an event holds a line break */
    return end == STR_NONE ? str_from(rest, rest.n) : str_from(rest, end + 2);
}

/* For who listens later. Where there is no room the older half goes. */
static void keep(event_log *l, daruma_str bytes)
{
    if (!l->kept)
        l->kept = malloc(EVENTS_KEPT_BYTES_MAX);
    if (!l->kept)
        return;
    if (EVENTS_KEPT_BYTES_MAX - l->nkept < bytes.n) {
        daruma_str newer = whole_from((daruma_str){l->kept, l->nkept}, l->nkept / 2);
        memmove(l->kept, newer.p, newer.n);
        l->nkept = newer.n;
    }
    memcpy(l->kept + l->nkept, bytes.p, bytes.n);
    l->nkept += bytes.n;
}

/* Those that are kept and happened after `since`; all where that is none of this machine's times. */
static daruma_str kept_since(const event_log *l, daruma_ms since, daruma_ms now)
{
    daruma_str rest = {l->kept, l->nkept};
    int64_t at;
    while (rest.n && since <= now) {
        daruma_str line = str_sub(rest, 4, str_findch(rest, '\n') - 4); /* "id: N" */
        if (!str_int(line, &at) || at > since)
            break;
        rest = whole_from(rest, 0);
    }
    return rest;
}

/* To those who listen, and kept for those who will. Who does not read fast enough is let go: the file has everything.
 */
static void tell_subscribers(event_log *l, daruma_str bytes)
{
    keep(l, bytes);
    for (size_t i = l->nsubscribers; i-- > 0;) {
        call *c = l->subscribers[i];
        if (call_write(c, bytes))
            continue;
        l->subscribers[i] = l->subscribers[--l->nsubscribers];
        call_abort(c);
    }
}

/* As a server-sent event; returns where its line begins. `ts` has seconds; a page needs to know how long. */
static size_t write_sent(const daruma_event *e, daruma_buf *b)
{
    buf_printf(b, "id: %lld\ndata: ", (long long)e->at.now);
    size_t before = b->n;
    daruma_event_write(e, b);
    buf_putc(b, '\n'); /* the line's own newline and this one end the event */
    return before;
}

void events_live(event_log *l, const daruma_event *e)
{
    char text[EVENT_LINE_MAX];
    daruma_buf b = buf_over(text, sizeof text);
    write_sent(e, &b);
    if (!b.full)
        tell_subscribers(l, buf_str(&b));
}

void events_emit(event_log *l, const daruma_event *e)
{
    char text[EVENT_LINE_MAX];
    daruma_buf b = buf_over(text, sizeof text);
    size_t before = write_sent(e, &b);
    if (b.full) {
        l->too_long++;
    } else {
        if (l->file.fd >= 0)
            l->written += log_file_put(&l->file, str_sub(buf_str(&b), before, b.n - before - 1), e->at.wall);
        tell_subscribers(l, buf_str(&b));
    }
    if (l->terminal.fd >= 0) {
        b = buf_over(text, sizeof text);
        daruma_event_say(e, &b);
        if (!b.full)
            log_file_put(&l->terminal, buf_str(&b), e->at.wall);
    }
}

void events_say(gateway *g, const char *name, daruma_str reason)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = name;
    e.at = gateway_now(g);
    e.reason = reason;
    events_emit(g->events, &e);
}

void events_status(const event_log *l, daruma_buf *out)
{
    uint64_t written, lost;
    events_count(l, &written, &lost);
    buf_printf(out, "\"events\":{\"written\":%llu,\"lost\":%llu,\"listeners\":%zu},", (unsigned long long)written,
               (unsigned long long)lost, l->nsubscribers);
}

void events_count(const event_log *l, uint64_t *written, uint64_t *lost)
{
    *written = l->written;
    *lost = l->file.lost + l->terminal.lost + l->too_long;
}

bool events_has_room(const event_log *l)
{
    return l->nsubscribers < EVENT_SUBSCRIBERS_MAX;
}

void events_subscribe(event_log *l, call *c, daruma_str after, daruma_ms now)
{
    int64_t since;
    check(events_has_room(l));
    if (str_int(after, &since) && l->nkept)
        call_write(c, kept_since(l, since, now));
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
