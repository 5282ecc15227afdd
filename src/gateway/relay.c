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
 *                  +-- 4xx -------> ANSWER_REFUSED  collect, take credentials out, deliver
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
    if (call_started(x->c)) /* a heartbeat was faster, or it goes on from another attempt */
        return;
    daruma_header *h = head_for_client(x, x->headers, x->nheaders, outcome_now(x), &n, 0);
    call_head(x->c, x->status, h, n, length);
    x->beat_at = -1;
}

void relay_forward(exchange *x, daruma_str bytes)
{
    if (!bytes.n || !x->c)
        return;
    x->forwarded += bytes.n;
    if (x->beat_at >= 0)
        x->beat_at = gateway_now(x->g).now + HEARTBEAT_EVERY_MS; /* this is one */
    if (!call_write(x->c, bytes) && x->f) {
        x->paused = true;
        fetch_pause(x->f);
    }
}

/* Coded though nobody asked for it: nobody here can read it. */
static bool is_coded(const daruma_header *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(h[i].name, S("content-encoding")) && h[i].value.n && !str_ieq(h[i].value, S("identity")))
            return true;
    return false;
}

static daruma_evidence evidence_of(const exchange *x, daruma_phase phase)
{
    bool readable = exchange_passes(x) || !is_coded(x->headers, x->nheaders);
    daruma_str body = readable ? buf_str(&x->held) : (daruma_str){0};
    return (daruma_evidence){
        .phase = phase, .status = x->status, .body = body, .headers = x->headers, .nheaders = x->nheaders};
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
    if (x->mode == ANSWER_ERROR) { /* its status came long ago */
        daruma_evidence said = evidence_of(x, DARUMA_AT_ANSWER);
        exchange_failed(x, &said);
        return true;
    }
    if (x->paused) { /* it is the client who is slow */
        x->progress_by = add_sat(now, progress_limit(x));
        return false;
    }
    daruma_evidence ev = evidence_of(x, DARUMA_AT_STREAM);
    ev.net = DARUMA_NET_IDLE_TIMEOUT;
    ev.flaw = DARUMA_FLAW_SILENT;
    exchange_failed(x, &ev);
    return true;
}

/* Something came that is no ping. The timer looks later how long ago. */
static void progress(exchange *x)
{
    daruma_ms limit = progress_limit(x);
    x->progress_by = limit < 0 ? -1 : add_sat(gateway_now(x->g).now, limit);
}

/* ---- streams ---- */

static bool relay(exchange *x, daruma_str bytes);

/* Is the answer read on its way? Only when something could be mended in it, it has to be written anew, or its id is to
 * be remembered and its events are numbered. */
static bool talks(const exchange *x)
{
    return x->kase.can_mend || x->p != x->d || x->t || x->d == &dialect_openai_responses;
}

/* The request is kept while another attempt may have to go on with it. */
static void drop_request(exchange *x)
{
    bool needed = x->kase.can_mend && x->c->body.n <= RESUME_BODY_BYTES_MAX;
    if (needed || x->h || (x->f && !fetch_is_sent(x->f)))
        return;
    call_drop_body(x->c);
    x->body = (daruma_str){0};
    x->scan.model_raw = x->scan.messages = x->scan.tools_raw = (daruma_str){0};
}

/* Whole events go to the client, as they are or as talk makes them. */
static void deliver(exchange *x, daruma_str events)
{
    char small[4096];
    daruma_str rest = events, from = events;
    while (x->c) {
        daruma_arena scratch = arena_over(small, sizeof small);
        daruma_str here = rest;
        sse_event e;
        if (!sse_next(&rest, &e, &scratch))
            break;
        if (talk_event(x, &e, &scratch))
            continue;
        relay_forward(x, str_sub(from, 0, from.n - here.n));
        from = rest;
    }
    relay_forward(x, from);
}

/* The first `x->parsed` bytes of what was held go out, and from here on everything that follows. What was
 * held is not needed again: thousands of streams stand open at once, its memory goes back. False: the attempt is over.
 */
static bool commit(exchange *x)
{
    x->mode = ANSWER_RELAYED;
    daruma_case_begun(&x->kase, gateway_now(x->g));
    exchange_wake(x->g);
    send_head(x, -1);
    x->beat_at = -1;
    progress(x);
    exchange_timer(x);
    daruma_arena was = x->scratch;
    daruma_str held = buf_str(&x->held);
    size_t parsed = x->parsed;
    x->scratch = (daruma_arena){0};
    exchange_scratch_reset(x);
    x->held = buf_in(&x->scratch);
    drop_request(x);
    if (talks(x) && talk_begin(x))
        deliver(x, str_sub(held, 0, parsed));
    else
        relay_forward(x, str_sub(held, 0, parsed));
    bool goes_on = !x->t || !talk_unsure(x);
    if (!goes_on)
        fail_answer(x, DARUMA_FLAW_CUT, (daruma_str){0});
    else if (parsed < held.n)
        goes_on = relay(x, str_from(held, parsed));
    sys_arena_done(&was);
    return goes_on;
}

/* Can an event end in these bytes? A long one that comes in pieces is not read again for each of them. */
static bool ends_a_line(daruma_str bytes)
{
    return str_findch(bytes, '\n') != STR_NONE || str_findch(bytes, '\r') != STR_NONE;
}

/* Reads what is new in a held stream. False: the attempt is over, and perhaps the exchange. */
static bool watch_held(exchange *x)
{
    char small[2048];
    for (;;) {
        daruma_arena scratch = arena_over(small, sizeof small);
        daruma_str rest = str_from(buf_str(&x->held), x->parsed);
        sse_event e;
        if (!sse_next(&rest, &e, &scratch))
            break;
        x->parsed = x->held.n - rest.n;
        x->p->watch(&x->view, &e, &x->scratch);
        if (x->view.error) {
            fail_answer(x, DARUMA_FLAW_ERROR_EVENT, x->view.error_body);
            return false;
        }
        if (x->view.broken) {
            fail_answer(x, DARUMA_FLAW_BROKEN, buf_str(&x->held));
            return false;
        }
        if (x->view.content)
            return commit(x);
    }
    return x->held.n <= STREAM_HELD_BYTES_MAX || commit(x);
}

void relay_room(exchange *x)
{
    if (!x->scratch.host)
        sys_arena_init(&x->scratch, 0, SSE_EVENT_BYTES_MAX * 4);
}

/* What is left of a piece behind its last whole event waits for the next piece. Most pieces leave nothing. */
static void keep_tail(exchange *x, daruma_str rest)
{
    if (!x->held.n) {
        if (rest.n)
            relay_room(x);
        buf_put(&x->held, rest);
        return;
    }
    memmove(x->held.p, rest.p, rest.n);
    x->held.n = rest.n;
}

/* What the newest event says was called is not there: it can be asked to go on. */
static bool is_spoilt(const exchange *x)
{
    return x->view.spoilt && talk_was_cut(x);
}

/* Forwards whole events, watching for the end and for errors; keeps the incomplete tail. An event that says that
 * something is wrong does not go out: the answer may still go on. False: the attempt is over, and perhaps the exchange.
 */
static bool relay(exchange *x, daruma_str bytes)
{
    char small[4096];
    if (x->held.n) {
        buf_put(&x->held, bytes);
        if (!x->held.full && !ends_a_line(bytes))
            return true;
        bytes = buf_str(&x->held);
    }
    daruma_str rest = bytes, from = bytes;
    bool broken = false, spoilt = false;
    for (;;) {
        daruma_arena scratch = arena_over(small, sizeof small);
        daruma_str here = rest;
        sse_event e;
        if (!sse_next(&rest, &e, &scratch))
            break;
        x->p->watch(&x->view, &e, &scratch);
        if (!x->view.ping)
            progress(x);
        broken = x->view.broken && !json_valid(e.data);
        x->view.broken = false; /* what is only unknown to us goes through */
        spoilt = is_spoilt(x);
        if (x->view.error || broken || spoilt) {
            x->failed_event = x->view.error ? arena_copy(x->c->arena, exchange_veil(x, e.raw)) : (daruma_str){0};
            x->view.error_body = arena_copy(x->c->arena, x->view.error_body);
            rest = here;
            break;
        }
        if (x->t && !talk_event(x, &e, &scratch)) {
            relay_forward(x, str_sub(from, 0, from.n - here.n));
            from = rest;
        }
    }
    relay_forward(x, str_sub(from, 0, from.n - rest.n));
    if (x->view.error) {
        fail_answer(x, DARUMA_FLAW_ERROR_EVENT, x->view.error_body);
    } else if (spoilt) {
        fail_answer(x, DARUMA_FLAW_BROKEN, (daruma_str){0});
    } else if (broken || (x->t && talk_unsure(x))) { /* no client can read that event: the answer ends before it */
        fail_answer(x, DARUMA_FLAW_CUT, (daruma_str){0});
    } else {
        keep_tail(x, rest);
        if (!x->held.full)
            return true;
        daruma_evidence ev = evidence_of(x, DARUMA_AT_STREAM);
        ev.net = DARUMA_NET_PROTOCOL;
        exchange_failed(x, &ev);
    }
    return false;
}

/* A last event that lacks its blank line goes out if it is whole otherwise. False: it spoils the answer. */
static bool last_event(exchange *x)
{
    char small[4096];
    daruma_arena scratch = arena_over(small, sizeof small);
    sse_event e;
    if (!x->held.n)
        return true;
    BUF_LIT(&x->held, "\n\n");
    daruma_str rest = buf_str(&x->held);
    if (!sse_next(&rest, &e, &scratch))
        return true;
    x->p->watch(&x->view, &e, &scratch);
    if (is_spoilt(x))
        return false;
    bool broken = x->view.broken && !json_valid(e.data);
    if (e.data.n && !broken && !x->view.error && (!x->t || talk_event(x, &e, &scratch)))
        relay_forward(x, e.raw);
    return true;
}

static void stream_ended(exchange *x)
{
    if (x->mode == ANSWER_HELD && heal_window_full(x, str_of(x->view.finish), x->view.input_tokens, x->view.content)) {
        memcpy(x->view.finish, "model_context_window_exceeded", sizeof "model_context_window_exceeded");
        fail_answer(x, DARUMA_FLAW_EMPTY, (daruma_str){0});
        return;
    }
    if (x->mode == ANSWER_HELD && x->view.told && !commit(x))
        return;
    if (x->mode == ANSWER_HELD) {
        bool empty = x->view.done || x->view.finished || !x->view.began;
        fail_answer(x, empty ? DARUMA_FLAW_EMPTY : DARUMA_FLAW_CUT, buf_str(&x->held));
        return;
    }
    if (!last_event(x)) {
        fail_answer(x, DARUMA_FLAW_BROKEN, (daruma_str){0});
        return;
    }
    if ((!x->view.done && !x->view.finished) || (x->t && talk_unsure(x))) {
        fail_answer(x, DARUMA_FLAW_CUT, (daruma_str){0});
        return;
    }
    if (x->t && !talk_end(x))
        return;
    if (!x->view.done && (!x->t || talk_is_plain(x))) /* the answer is whole, only its terminal marker is missing */
        relay_forward(x, x->d->terminal);
    if ((x->pending || x->went_on) &&             /* the head could not say it */
        !str_starts(x->d->heartbeat, S("data:"))) /* whose heartbeat is data, its clients read no comments */
        finish_comment(x, outcome_now(x));
    call *c = x->c;
    exchange_done(x, x->view.input_tokens);
    call_end(c);
}

/* ---- plain answers ---- */

static void answer_ended(exchange *x)
{
    daruma_str body = buf_str(&x->held);
    answer_view v = x->p->check(body, &x->scratch);
    if (call_started(x->c) && v.flaw == DARUMA_FLAW_NONE)
        v.flaw = DARUMA_FLAW_BROKEN; /* a stream was asked for and has begun */
    if (v.flaw == DARUMA_FLAW_NONE && heal_window_full(x, v.finish, v.input_tokens, v.text || v.calls)) {
        v.flaw = DARUMA_FLAW_EMPTY;
        v.finish = S("model_context_window_exceeded");
    }
    if (v.flaw == DARUMA_FLAW_NONE && (v.flaw = answer_mend(x, v.calls, &body)) != DARUMA_FLAW_NONE) {
        daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = x->status, .flaw = v.flaw};
        exchange_failed(x, &ev); /* its calls are what is wrong, whatever it says of its end */
        return;
    }
    if (v.flaw != DARUMA_FLAW_NONE) {
        daruma_evidence ev = evidence_of(x, DARUMA_AT_ANSWER);
        ev.flaw = v.flaw;
        ev.finish = v.finish;
        exchange_failed(x, &ev);
        return;
    }
    send_head(x, (int64_t)body.n);
    call *c = x->c;
    call_write(c, body);
    exchange_done(x, v.input_tokens);
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

static void veil_headers(exchange *x)
{
    for (size_t i = 0; i < x->nheaders; i++)
        x->headers[i].value = exchange_veil(x, x->headers[i].value);
}

/* What passes through and says no. */
static void deliver_refusal(exchange *x)
{
    daruma_str body = exchange_veil(x, buf_str(&x->held));
    call *c = x->c;
    send_head(x, (int64_t)body.n);
    call_write(c, body);
    exchange_done(x, -1);
    call_end(c);
}

/* The client may be able to read it. */
static void pass_coded(exchange *x, const http_head *h)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "answer_not_readable";
    e.reason = S("the answer is encoded, which was not asked for: it is passed on as it is and cannot be mended");
    exchange_event(x, &e);
    x->mode = ANSWER_PASSED;
    send_head(x, announced(x, h));
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    exchange *x = user;
    (void)f;
    x->status = h->status;
    copy_headers(x, h);
    if (is_failure(x, h->status)) {
        x->mode = ANSWER_ERROR;
        if (!exchange_passes(x)) {
            x->progress_by = add_sat(gateway_now(x->g).now, ERROR_BODY_MS_MAX);
            exchange_timer(x);
        }
    } else if (exchange_passes(x)) {
        if (h->status >= 300)
            veil_headers(x);
        x->mode = h->status >= 400 && !str_eq(x->c->head.method, S("HEAD")) ? ANSWER_REFUSED : ANSWER_PASSED;
        if (x->mode == ANSWER_PASSED)
            send_head(x, announced(x, h));
    } else if (is_coded(h->headers, h->nheaders) && x->p == x->d && !call_started(x->c)) {
        pass_coded(x, h);
    } else if (is_event_stream(h)) {
        x->mode = ANSWER_HELD;
        progress(x);
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

/* Some servers send their streams under another type, or none; SDKs do not look at it. */
static bool begins_stream(daruma_str bytes)
{
    static const daruma_str fields[] = {{"data:", 5}, {"event:", 6}, {"id:", 3}, {"retry:", 6}, {":", 1}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (bytes.n && str_starts(bytes, str_sub(fields[i], 0, bytes.n)))
            return true;
    return false;
}

/* The answer that was taken for a whole one is a stream, and its client is told so. */
static void take_as_stream(exchange *x)
{
    size_t i = 0;
    while (i < x->nheaders && !str_ieq(x->headers[i].name, S("content-type")))
        i++;
    if (!x->headers) /* no memory, which the arena remembers */
        return;
    x->headers[i] = (daruma_header){S("content-type"), S("text/event-stream; charset=utf-8")};
    x->nheaders += i == x->nheaders; /* copy_headers() left room for it */
    x->mode = ANSWER_HELD;
    progress(x);
    exchange_timer(x);
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    exchange *x = user;
    (void)f;
    if (x->mode == ANSWER_WHOLE && x->streaming && !x->held.n && begins_stream(bytes))
        take_as_stream(x);
    switch (x->mode) {
    case ANSWER_NONE:
        break;
    case ANSWER_ERROR:
    case ANSWER_REFUSED:
        if (x->held.n < error_room(x))
            buf_put(&x->held, str_sub(bytes, 0, error_room(x) - x->held.n));
        break;
    case ANSWER_WHOLE:
        if (x->held.n + bytes.n > ANSWER_HELD_BYTES_MAX &&
            (call_started(x->c) || x->p != x->d)) { /* a stream has begun: this is none */
            fail_answer(x, DARUMA_FLAW_BROKEN, (daruma_str){0});
            break;
        }
        if (x->held.n + bytes.n > ANSWER_HELD_BYTES_MAX) { /* too large to check: it goes out as it is */
            send_head(x, -1);
            relay_forward(x, buf_str(&x->held));
            x->held.n = 0;
            x->mode = ANSWER_PASSED;
            relay_forward(x, bytes);
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
        relay_forward(x, bytes);
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
    case ANSWER_REFUSED:
        deliver_refusal(x);
        break;
    case ANSWER_PASSED: {
        call *c = x->c;
        exchange_done(x, -1);
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
    if (x->mode == ANSWER_REFUSED) { /* a status came: it says more than the broken rest of its body */
        deliver_refusal(x);
        return;
    }
    daruma_evidence ev = evidence_of(x, phase);
    if (x->mode == ANSWER_ERROR) /* likewise */
        net = DARUMA_NET_NONE;
    else
        ev.body = (daruma_str){0};
    if (x->mode != ANSWER_ERROR && x->mode != ANSWER_NONE)
        ev.status = 0;
    ev.net = net;
    exchange_failed(x, &ev);
}

const fetch_ops relay_ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
