/* relay.c - answers on their way from a provider to the client. Nothing goes out before it is
 * known to be good: an error is judged, a plain answer is checked whole, a stream is held until
 * its commit point (the first event that carries content, or an end that says why there is none).
 * Behind it only whole events go out, so that an answer that breaks off can still be ended in the
 * client's dialect.
 *
 *   head --+-- error status ------> ANSWER_ERROR    collect, judge
 *          +-- event stream ------> ANSWER_HELD     --content--> ANSWER_RELAYED
 *          +-- plain answer ------> ANSWER_WHOLE    collect, check, deliver
 *          +-- not our dialect ---> ANSWER_PASSED   bytes as they come
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "sys/sys.h"

static daruma_str moved(daruma_str s, const char *from, const char *to)
{
    return s.n ? (daruma_str){to + (s.p - from), s.n} : (daruma_str){0};
}

/* A head stands in one piece: it is copied in one, and the slices move along. */
static void copy_headers(exchange *x, const http_head *h)
{
    x->headers = ARENA_NEW(&x->scratch, daruma_header, h->nheaders + 1);
    if (!x->headers || !h->nheaders)
        return;
    const daruma_header *last = &h->headers[h->nheaders - 1];
    const char *from = h->headers[0].name.p,
               *end = last->value.n ? last->value.p + last->value.n : last->name.p + last->name.n;
    const char *to = arena_copy(&x->scratch, (daruma_str){from, (size_t)(end - from)}).p;
    for (size_t i = 0; to && i < h->nheaders; i++)
        x->headers[x->nheaders++] =
            (daruma_header){moved(h->headers[i].name, from, to), moved(h->headers[i].value, from, to)};
}

static daruma_outcome outcome_now(const exchange *x)
{
    return x->kase.remedies || x->failure.kind ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK;
}

/* The provider's status and fields go to the client. */
static void send_head(exchange *x, int64_t length)
{
    size_t n;
    if (x->pending) /* a heartbeat was faster */
        return;
    daruma_header *h = head_for_client(x, x->headers, x->nheaders, outcome_now(x), &n, 0);
    call_head(x->c, x->status, h, n, length);
    x->beat_at = -1;
}

static void forward(exchange *x, daruma_str bytes)
{
    if (!bytes.n)
        return;
    x->forwarded += bytes.n;
    if (!call_write(x->c, bytes) && x->f) {
        x->paused = true;
        fetch_pause(x->f);
    }
}

static daruma_evidence evidence_of(const exchange *x, daruma_phase phase)
{
    return (daruma_evidence){
        .phase = phase, .status = x->status, .body = buf_str(&x->held), .headers = x->headers, .nheaders = x->nheaders};
}

static void fail_answer(exchange *x, daruma_flaw flaw, daruma_str body)
{
    daruma_evidence ev = evidence_of(x, x->streaming ? DARUMA_AT_STREAM : DARUMA_AT_ANSWER);
    daruma_str finish = str_of(x->view.finish);
    ev.flaw = flaw;
    ev.body = body;
    ev.finish = finish;
    exchange_failed(x, &ev);
}

/* Pings keep a provider alive but are not progress: without content for this long it is stuck. -1: no limit. */
static daruma_ms progress_limit(const exchange *x)
{
    fetch_clocks k = x->s->cfg.clocks;
    daruma_ms four = mul_sat(k.idle, 4), limit = four > k.first_byte ? four : k.first_byte;
    return limit > 0 ? limit : -1;
}

bool relay_progress_late(exchange *x, daruma_ms now)
{
    (void)now;
    daruma_evidence ev = evidence_of(x, DARUMA_AT_STREAM);
    ev.net = DARUMA_NET_IDLE_TIMEOUT;
    ev.flaw = DARUMA_FLAW_SILENT;
    exchange_failed(x, &ev);
    return true;
}

/* ---- streams ---- */

static void relay(exchange *x, daruma_str bytes);

/* The first `x->parsed` bytes of what was held go out, and from here on everything that follows. Neither the
 * request nor what was held is needed again: thousands of streams stand open at once, their memory goes back. */
static void commit(exchange *x)
{
    x->mode = ANSWER_RELAYED;
    send_head(x, -1);
    x->beat_at = x->progress_by = -1;
    exchange_timer(x);
    daruma_arena was = x->scratch;
    daruma_str held = buf_str(&x->held);
    size_t parsed = x->parsed;
    x->scratch = (daruma_arena){0};
    exchange_scratch_reset(x);
    sys_arena_init(&x->scratch, 0, SSE_EVENT_BYTES_MAX * 4);
    x->held = buf_in(&x->scratch);
    if (!x->f || fetch_is_sent(x->f)) {
        call_drop_body(x->c);
        x->body = (daruma_str){0};
        x->scan.model_raw = x->scan.messages = (daruma_str){0};
    }
    forward(x, str_sub(held, 0, parsed));
    if (parsed < held.n)
        relay(x, str_from(held, parsed));
    sys_arena_done(&was);
}

/* Can an event end in these bytes? A long one that comes in pieces is not read again for each of them. */
static bool ends_a_line(daruma_str bytes)
{
    return str_findch(bytes, '\n') != STR_NONE || str_findch(bytes, '\r') != STR_NONE;
}

/* Reads what is new in a held stream. The exchange may be over afterwards. */
static void watch_held(exchange *x)
{
    char small[2048];
    for (;;) {
        daruma_arena scratch = arena_over(small, sizeof small);
        daruma_str rest = str_from(buf_str(&x->held), x->parsed);
        sse_event e;
        if (!sse_next(&rest, &e, &scratch))
            break;
        x->parsed = x->held.n - rest.n;
        x->d->watch(&x->view, &e, &x->scratch);
        if (x->view.error) {
            fail_answer(x, DARUMA_FLAW_ERROR_EVENT, x->view.error_body);
            return;
        }
        if (x->view.broken) {
            fail_answer(x, DARUMA_FLAW_BROKEN, buf_str(&x->held));
            return;
        }
        if (x->view.content) {
            commit(x);
            return;
        }
    }
    if (x->held.n > STREAM_HELD_BYTES_MAX)
        commit(x);
}

/* Forwards whole events, watching for the end and for errors; keeps the incomplete tail. */
static void relay(exchange *x, daruma_str bytes)
{
    char small[4096];
    if (x->held.n) {
        buf_put(&x->held, bytes);
        if (!x->held.full && !ends_a_line(bytes))
            return;
        bytes = buf_str(&x->held);
    }
    daruma_str rest = bytes;
    bool broken = false;
    for (;;) {
        daruma_arena scratch = arena_over(small, sizeof small);
        daruma_str here = rest;
        sse_event e;
        if (!sse_next(&rest, &e, &scratch))
            break;
        x->d->watch(&x->view, &e, &scratch);
        if (x->view.error)
            break;
        broken = x->view.broken && !json_valid(e.data);
        x->view.broken = false; /* what is only unknown to us goes through */
        if (broken) {
            rest = here;
            break;
        }
    }
    daruma_str whole = str_sub(bytes, 0, bytes.n - rest.n);
    if (broken) { /* no client can read that event: the answer ends before it */
        forward(x, whole);
        fail_answer(x, DARUMA_FLAW_CUT, (daruma_str){0});
        return;
    }
    if (x->view.error) { /* the provider's own error event goes out as it is */
        forward(x, whole);
        fail_answer(x, DARUMA_FLAW_ERROR_EVENT, x->view.error_body);
        return;
    }
    if (!x->held.n && rest.n) {
        buf_put(&x->held, rest);
        forward(x, whole);
    } else {
        forward(x, whole);
        if (x->held.n) {
            memmove(x->held.p, rest.p, rest.n);
            x->held.n = rest.n;
        }
    }
    if (x->held.full) {
        daruma_evidence ev = evidence_of(x, DARUMA_AT_STREAM);
        ev.net = DARUMA_NET_PROTOCOL;
        exchange_failed(x, &ev);
    }
}

/* A last event that lacks its blank line goes out if it is whole otherwise. */
static void last_event(exchange *x)
{
    char small[4096];
    daruma_arena scratch = arena_over(small, sizeof small);
    sse_event e;
    if (!x->held.n)
        return;
    BUF_LIT(&x->held, "\n\n");
    daruma_str rest = buf_str(&x->held);
    if (!sse_next(&rest, &e, &scratch))
        return;
    x->d->watch(&x->view, &e, &scratch);
    if (e.data.n && !x->view.broken && !x->view.error)
        forward(x, e.raw);
}

static void stream_ended(exchange *x)
{
    if (x->mode == ANSWER_HELD && x->view.told)
        commit(x);
    if (!x->c) /* there was no memory to go on */
        return;
    if (x->mode == ANSWER_HELD) {
        bool empty = x->view.done || x->view.finished || !x->view.began;
        fail_answer(x, empty ? DARUMA_FLAW_EMPTY : DARUMA_FLAW_CUT, buf_str(&x->held));
        return;
    }
    last_event(x);
    if (!x->view.done && !x->view.finished) {
        fail_answer(x, DARUMA_FLAW_CUT, (daruma_str){0});
        return;
    }
    if (!x->view.done) /* the answer is whole, only its terminal marker is missing */
        forward(x, x->d->terminal);
    call *c = x->c;
    exchange_done(x);
    call_end(c);
}

/* ---- plain answers ---- */

static void answer_ended(exchange *x)
{
    answer_view v = x->d->check(buf_str(&x->held), &x->scratch);
    if (x->pending && v.flaw == DARUMA_FLAW_NONE)
        v.flaw = DARUMA_FLAW_BROKEN; /* a stream was asked for and, after a heartbeat, has begun */
    if (v.flaw != DARUMA_FLAW_NONE) {
        daruma_evidence ev = evidence_of(x, DARUMA_AT_ANSWER);
        ev.flaw = v.flaw;
        ev.finish = v.finish;
        exchange_failed(x, &ev);
        return;
    }
    send_head(x, (int64_t)x->held.n);
    call *c = x->c;
    call_write(c, buf_str(&x->held));
    exchange_done(x);
    call_end(c);
}

/* ---- callbacks of the attempt ---- */

static bool is_event_stream(const http_head *h)
{
    return str_istarts(http_header(h, S("content-type")), S("text/event-stream"));
}

/* Of what passes through only these say that another try or another key may do better; every other status is the
 * answer to a question that we do not know. */
static bool is_failure(const exchange *x, int status)
{
    if (!exchange_passes(x))
        return status >= 300;
    return status == 401 || status == 402 || status == 408 || status == 429 || status >= 500;
}

/* The length of the body that follows; to HEAD, of the one that GET would bring (RFC 9110 8.6). -1 not known. */
static int64_t announced(const exchange *x, const http_head *h)
{
    int64_t n;
    if (!str_eq(x->c->head.method, S("HEAD")))
        return h->length;
    return str_int(http_header(h, S("content-length")), &n) ? n : -1;
}

/* Bytes of this answer that will be held, as far as it says; of streams nobody knows. */
static size_t held_bytes(const exchange *x, const http_head *h)
{
    return h->length > 0 && h->length <= (int64_t)ANSWER_HELD_BYTES_MAX && !exchange_passes(x) ? (size_t)h->length : 0;
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    exchange *x = user;
    (void)f;
    x->status = h->status;
    sys_arena_init(&x->scratch, HEAD_BYTES_USUAL + held_bytes(x, h), ANSWER_HELD_BYTES_MAX * 2);
    copy_headers(x, h);
    if (is_failure(x, h->status)) {
        x->mode = ANSWER_ERROR;
    } else if (exchange_passes(x)) {
        x->mode = ANSWER_PASSED;
        send_head(x, announced(x, h));
    } else if (is_event_stream(h)) {
        x->mode = ANSWER_HELD;
        daruma_ms limit = progress_limit(x);
        x->progress_by = limit < 0 ? -1 : add_sat(gateway_now(x->g).now, limit);
        exchange_timer(x);
    } else {
        x->mode = ANSWER_WHOLE;
        buf_room(&x->held, held_bytes(x, h)); /* so that it need not grow */
    }
}

/* A dialect's error that is longer echoes the request; others pass through whole. */
static size_t error_room(const exchange *x)
{
    return exchange_passes(x) ? ANSWER_HELD_BYTES_MAX : CLASSIFY_BODY_BYTES_MAX;
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    exchange *x = user;
    (void)f;
    switch (x->mode) {
    case ANSWER_NONE:
        break;
    case ANSWER_ERROR:
        if (x->held.n < error_room(x))
            buf_put(&x->held, str_sub(bytes, 0, error_room(x) - x->held.n));
        break;
    case ANSWER_WHOLE:
        if (x->held.n + bytes.n > ANSWER_HELD_BYTES_MAX && x->pending) { /* a stream has begun: this is none */
            fail_answer(x, DARUMA_FLAW_BROKEN, (daruma_str){0});
            break;
        }
        if (x->held.n + bytes.n > ANSWER_HELD_BYTES_MAX) { /* too large to check: it goes out as it is */
            send_head(x, -1);
            forward(x, buf_str(&x->held));
            x->held.n = 0;
            x->mode = ANSWER_PASSED;
            forward(x, bytes);
            break;
        }
        buf_put(&x->held, bytes);
        break;
    case ANSWER_HELD:
        buf_put(&x->held, bytes);
        if (ends_a_line(bytes) || x->held.n > STREAM_HELD_BYTES_MAX)
            watch_held(x);
        break;
    case ANSWER_RELAYED:
        relay(x, bytes);
        break;
    case ANSWER_PASSED:
        forward(x, bytes);
        break;
    }
}

static void on_end(fetch *f, void *user)
{
    exchange *x = user;
    (void)f;
    x->f = NULL;
    switch (x->mode) {
    case ANSWER_NONE:
    case ANSWER_ERROR: {
        daruma_evidence ev = evidence_of(x, DARUMA_AT_ANSWER);
        exchange_failed(x, &ev);
        break;
    }
    case ANSWER_WHOLE:
        answer_ended(x);
        break;
    case ANSWER_HELD:
    case ANSWER_RELAYED:
        stream_ended(x);
        break;
    case ANSWER_PASSED: {
        call *c = x->c;
        exchange_done(x);
        call_end(c);
        break;
    }
    }
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    exchange *x = user;
    (void)f;
    (void)why; /* the name of `net` says it to people; `why` may carry a peer's bytes */
    x->f = NULL;
    if (x->mode == ANSWER_RELAYED && (x->view.done || x->view.finished)) {
        stream_ended(x); /* the answer was whole; only the connection died after it */
        return;
    }
    daruma_evidence ev = evidence_of(x, phase);
    if (x->mode == ANSWER_ERROR) /* a status came: it says more than the broken rest of its body */
        net = DARUMA_NET_NONE;
    else
        ev.body = (daruma_str){0};
    if (x->mode != ANSWER_ERROR && x->mode != ANSWER_NONE)
        ev.status = 0;
    ev.net = net;
    exchange_failed(x, &ev);
}

const fetch_ops relay_ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
