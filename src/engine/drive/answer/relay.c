/* relay.c - what comes back from a provider, told apart and handed on. Nothing goes out before it is known to be good:
 * an error is judged, a plain answer is checked whole, a stream is held until it carries content (stream.c). What is
 * not ours to judge passes through (pass.c).
 *
 *   head --+-- error status ------> ANSWER_ERROR    collect, judge
 *          +-- event stream ------> ANSWER_HELD     --content--> ANSWER_RELAYED
 *          +-- plain answer ------> ANSWER_WHOLE    collect, check, deliver
 *          +-- not our dialect ---> ANSWER_PASSED   bytes as they come
 *                  +-- 4xx -------> ANSWER_REFUSED  collect, take credentials out, deliver
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/stream.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/late.h"
#include "engine/drive/mend/mending.h"
#include "engine/judge/hints.h"
#include "model/kinds.h"

static daruma_str moved(daruma_str s, const char *from, const char *to)
{
    return s.n ? (daruma_str){to + (s.p - from), s.n} : (daruma_str){0};
}

daruma_header *relay_fields(const drive_head *h, daruma_arena *a, size_t *ret_n)
{
    daruma_header *fields = ARENA_RAW(a, daruma_header, h->nheaders + 1);
    *ret_n = 0;
    if (!fields || !h->nheaders)
        return fields;
    const daruma_header *last = &h->headers[h->nheaders - 1];
    const char *from = h->headers[0].name.p,
               *end = last->value.n ? last->value.p + last->value.n : last->name.p + last->name.n;
    const char *to = arena_copy(a, (daruma_str){from, (size_t)(end - from)}).p;
    for (size_t i = 0; to && i < h->nheaders; i++)
        fields[(*ret_n)++] = (daruma_header){moved(h->headers[i].name, from, to), moved(h->headers[i].value, from, to)};
    return fields;
}

daruma_outcome relay_outcome(const session *x)
{
    if (session_passes(x) && x->answer.status >= 400) /* nobody judges it, but it did not go well */
        return DARUMA_OUTCOME_FAILED;
    if (session_mend_was_unfit(x) == UNFIT_GOES_OUT)
        return DARUMA_OUTCOME_DEGRADED;
    return x->kase.remedies || session_last(x)->failure.kind ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK;
}

/* The body is encoded no more. */
static void drop_coding(session *x)
{
    size_t n = 0;
    for (size_t i = 0; i < x->answer.nheaders; i++)
        if (!str_ieq(x->answer.headers[i].name, S("content-encoding")))
            x->answer.headers[n++] = x->answer.headers[i];
    x->answer.nheaders = n;
}

void relay_head(session *x, int64_t length)
{
    hedge_cancel(x);        /* this attempt is the answer */
    if (x->client.head_out) /* a heartbeat was faster, or it goes on from another attempt */
        return;
    if (x->p != x->d) /* written anew, whatever was said of what came */
        drop_coding(x);
    session_head(x, x->answer.status, x->answer.headers, x->answer.nheaders, relay_outcome(x), length);
    x->client.told = x->kase.ndid;
    x->due.beat_at = -1;
}

void relay_keep_id(session *x)
{
    x->answer.theirs =
        arena_copy(x->arena, session_redact_sent(x, session_their_id(x->answer.headers, x->answer.nheaders)));
}

void relay_keep_given(session *x, daruma_str bytes)
{
    last_failure *l = bytes.n && bytes.n <= GIVEN_BYTES_MAX && x->kase.can_mend ? session_last_new(x) : NULL;
    if (!l)
        return;
    l->given = arena_copy(x->arena, bytes);
    l->given_by = x->kase.target;
    l->given_at = x->kase.attempts;
}

bool relay_is_silence(const dialect *p, daruma_str finish, bool counted, int64_t output_tokens)
{
    return p->finish(finish) == FINISH_STOP && (output_tokens > 0 || !counted);
}

bool relay_chose_silence(session *x, daruma_str finish, bool counted, int64_t output_tokens)
{
    if (relay_is_silence(x->p, finish, counted, output_tokens))
        daruma_case_answered(&x->kase, session_now(x));
    return x->p->finish(finish) == FINISH_STOP;
}

static void forward(session *x, daruma_str bytes)
{
    if (!bytes.n || !x->client.here)
        return;
    x->client.forwarded += bytes.n;
    if (x->due.beat_at >= 0)
        x->due.beat_at = session_now(x).now + HEARTBEAT_EVERY_MS; /* this is one */
    if (!session_write(x, bytes) && x->call.handle && x->v->host->pause) {
        x->client.paused = true;
        late_reader(x, true);
        x->v->host->pause(x->call.handle);
    }
}

/* Whole events in which tools are called as their provider takes it: as the client calls them. */
static void forward_named(session *x, daruma_str events)
{
    daruma_arena room;
    x->v->rooms->open(&room, 0, SSE_EVENT_BYTES_MAX * 8);
    daruma_buf b = buf_in(&room);
    mend_names_back(x->renames, x->nrenames, events, &b);
    forward(x, b.full ? events : buf_str(&b));
    x->v->rooms->close(&room);
}

void relay_forward(session *x, daruma_str bytes)
{
    bool events = x->answer.mode == ANSWER_RELAYED || x->answer.mode == ANSWER_HELD;
    if (bytes.n && x->client.here && events && x->nrenames && x->p == x->d)
        forward_named(x, bytes);
    else
        forward(x, bytes);
}
daruma_str relay_field(const session *x, daruma_str name)
{
    return drive_field(&(drive_head){.headers = x->answer.headers, .nheaders = x->answer.nheaders}, name);
}

bool relay_is_coded(const daruma_header *h, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_ieq(h[i].name, S("content-encoding")) && h[i].value.n && !str_ieq(h[i].value, S("identity")))
            return true;
    return false;
}

daruma_evidence relay_evidence(const session *x, daruma_phase phase)
{
    bool readable = session_passes(x) || !relay_is_coded(x->answer.headers, x->answer.nheaders);
    daruma_str body = readable ? buf_str(&x->answer.held) : (daruma_str){0};
    return (daruma_evidence){.phase = phase,
                             .status = x->answer.status,
                             .body = body,
                             .headers = x->answer.headers,
                             .nheaders = x->answer.nheaders};
}

daruma_flaw relay_flaw(const session *x, daruma_flaw flaw)
{
    bool silent = x->answer.mode != ANSWER_WHOLE && flaw != DARUMA_FLAW_NONE && !x->answer.view.began;
    bool unread = flaw == DARUMA_FLAW_BROKEN || silent;
    return unread && relay_is_coded(x->answer.headers, x->answer.nheaders) ? DARUMA_FLAW_ENCODED : flaw;
}

void relay_fail(session *x, daruma_flaw flaw, daruma_str body)
{
    daruma_evidence ev = relay_evidence(x, x->client.streaming ? DARUMA_AT_STREAM : DARUMA_AT_ANSWER);
    daruma_str finish = str_of(x->answer.view.finish);
    ev.flaw = relay_flaw(x, flaw);
    ev.body = body;
    ev.finish = finish;
    if (x->answer.view.spoilt)
        daruma_case_answered(&x->kase, session_now(x)); /* the model is well, its words were wrong */
    session_failed(x, &ev);
}

/* Pings keep a provider alive but are not progress: without content for this long it is stuck. -1: no limit. */
static daruma_ms progress_limit(const session *x)
{
    daruma_ms four = mul_sat(x->o->idle, 4), limit = four > x->o->first_byte ? four : x->o->first_byte;
    return limit > 0 ? limit : -1;
}

/* Does the answer wait for nothing but its terminal marker? Who runs tools himself says why he stopped behind each
 * call, runs it for minutes, and goes on: LiteLLM, ChatMock. A client that offers tools runs what is called. */
static bool has_settled(const session *x)
{
    const stream_view *v = &x->answer.view;
    return v->settled && !x->out.scan.effects && (!v->called || answer_checks_calls(x));
}

/* May the counts of tokens still come, or another one of several answers? */
static bool lacks_counts(const session *x)
{
    bool asked = x->out.scan.usage_asked || x->p != x->d;
    return (asked && x->answer.view.input_tokens <= 0) || x->out.scan.choices > 1;
}

daruma_ms relay_over_in(const session *x)
{
    const stream_view *v = &x->answer.view;
    if (x->answer.mode == ANSWER_WHOLE)
        return ANSWER_OVER_MS;
    if (!x->p || !x->p->ends_streams || (x->answer.mode != ANSWER_HELD && x->answer.mode != ANSWER_RELAYED))
        return -1;
    if (v->done || !has_settled(x))
        return v->done ? ANSWER_OVER_MS : -1;
    if (!v->called && x->p->finish(str_of(v->finish)) == FINISH_CALLS)
        return ANSWER_CALLS_MS;
    return lacks_counts(x) ? ANSWER_COUNTS_MS : ANSWER_SETTLED_MS;
}

/* All of the answer is here, and only its connection does not end: nothing more is waited for. */
static bool is_over(const session *x)
{
    return x->answer.mode == ANSWER_WHOLE ? whole_is_closed(buf_str(&x->answer.held)) : relay_over_in(x) >= 0;
}

bool relay_progress_late(session *x)
{
    if (x->answer.mode == ANSWER_ERROR) { /* its status came long ago */
        daruma_evidence status = relay_evidence(x, DARUMA_AT_ANSWER);
        session_failed(x, &status);
        return true;
    }
    if (x->client.paused) { /* it is the client who is slow */
        relay_progress(x);
        return false;
    }
    if (is_over(x)) {
        session_cancel(&x->call);
        relay_ops.end(&x->call);
        return true;
    }
    if (x->answer.mode == ANSWER_WHOLE) { /* it only looked like the end */
        x->due.progress_by = -1;
        return false;
    }
    daruma_evidence ev = relay_evidence(x, DARUMA_AT_STREAM);
    ev.net = DARUMA_NET_IDLE_TIMEOUT;
    ev.flaw = DARUMA_FLAW_SILENT;
    session_failed(x, &ev);
    return true;
}

void relay_progress(session *x)
{
    daruma_ms over = relay_over_in(x), limit = over >= 0 ? over : progress_limit(x);
    x->due.progress_by = limit < 0 ? -1 : add_sat(session_now(x).now, limit);
}

void relay_over(session *x)
{
    relay_progress(x);
    session_timer(x);
}

/* ---- callbacks of the attempt ---- */

/* Of what passes through only these say that another try or another key may do better; every other status is the
 * answer to a question that we do not know. */
static bool is_failure(const session *x, int status)
{
    if (!session_passes(x))
        return status >= 300;
    return session_lacks_model(x, status) || status == 401 || status == 402 || status == 408 || status == 429 ||
           status >= 500;
}

static void on_head(drive_call *c, const drive_head *h)
{
    session *x = c->x;
    x->answer.status = h->status;
    x->answer.headers = relay_fields(h, &x->answer.scratch, &x->answer.nheaders);
    if (session_last(x)->failure.kind || x->recovering) /* events will tell of this call */
        relay_keep_id(x);
    bool stream = str_istarts(drive_field(h, S("content-type")), S("text/event-stream"));
    daruma_left left;
    if (hints_left(h->headers, h->nheaders, x->v->at, &left))
        daruma_case_told_left(&x->kase, &left, x->v->at.now);
    if (!is_failure(x, h->status) && x->client.streaming)
        daruma_case_headed(&x->kase, session_now(x));
    if (is_failure(x, h->status)) {
        x->answer.mode = ANSWER_ERROR;
        if (!session_passes(x)) {
            x->due.progress_by = add_sat(session_now(x).now, ERROR_BODY_MS_MAX);
            session_timer(x);
        }
    } else if (session_passes(x)) {
        pass_begin(x, h);
    } else if (relay_is_coded(h->headers, h->nheaders) && x->p == x->d && !x->client.head_out) {
        x->answer.mode = ANSWER_WHOLE;
        x->answer.marked = !x->client.head_only && str_ieq(drive_field(h, S("content-encoding")), S("gzip"));
        if (!x->answer.marked)
            pass_coded(x);
    } else if (stream && !x->client.blank && !relay_wants_whole(x)) {
        stream_begin(x);
    } else {
        x->answer.mode = ANSWER_WHOLE;
        if (h->length > 0 && h->length <= (int64_t)ANSWER_HELD_BYTES_MAX)
            buf_room(&x->answer.held, (size_t)h->length); /* so that it need not grow */
    }
}

/* Keeps what there is room for. What comes behind a gap is not kept: it would close it. */
static void hold_error(session *x, daruma_str bytes)
{
    /* A dialect's error that is longer echoes the request; others pass through whole. */
    size_t room = session_passes(x) ? ANSWER_HELD_BYTES_MAX : CLASSIFY_BODY_BYTES_MAX;
    daruma_str fits = str_sub(bytes, 0, room - x->answer.held.n);
    if (!x->answer.cut)
        buf_put(&x->answer.held, fits);
    x->answer.cut |= x->answer.held.full || fits.n < bytes.n;
}

/* Keeps all of these bytes. False: they are too many, or there is no memory, and none of them is kept. */
static bool hold_whole(session *x, daruma_str bytes)
{
    if (bytes.n > ANSWER_HELD_BYTES_MAX - x->answer.held.n || !buf_room(&x->answer.held, bytes.n))
        return false;
    buf_put(&x->answer.held, bytes);
    return true;
}

bool relay_begins_stream(daruma_str bytes)
{
    static const daruma_str fields[] = {LIT("data:"), LIT("event:"), LIT("id:"), LIT("retry:"), LIT(":")};
    for (size_t i = 0; i < COUNT(fields); i++)
        if (bytes.n && bytes.p[0] == fields[i].p[0] && str_starts(bytes, str_sub(fields[i], 0, bytes.n)))
            return true;
    return false;
}

/* Several answers at once cannot be told apart once they stand in one. */
bool relay_wants_whole(const session *x)
{
    return !x->client.streaming && x->out.scan.ok && !x->out.scan.stream && x->p->asks_stream.n &&
           x->out.scan.choices <= 1;
}

void relay_say_type(session *x, daruma_str type)
{
    size_t i = 0;
    while (i < x->answer.nheaders && !str_ieq(x->answer.headers[i].name, S("content-type")))
        i++;
    if (!x->answer.headers) /* no memory, which the arena remembers */
        return;
    x->answer.headers[i] = (daruma_header){S("content-type"), type};
    x->answer.nheaders += i == x->answer.nheaders; /* relay_fields() left room for it */
}

/* Some providers send white space until a whole answer is ready, so that nobody between gives up on it. The client gets
 * it, too, because its own clock may wait for a head (Node's fetch: 300 s). As behind a heartbeat the status is out
 * then. */
static void pass_blanks(session *x, daruma_str bytes)
{
    bool early = session_now(x).now - x->answer.started < HEARTBEAT_FIRST_MS;
    if (x->client.streaming || (!x->client.blank && (early || x->client.head_out)))
        return;
    if (!x->client.blank) {
        session_pending_head(x, x->answer.status, x->answer.headers, x->answer.nheaders);
        x->client.blank = true;
    }
    session_write(x, bytes);
}

/* May JSON end here? */
static bool ends_a_value(daruma_str bytes)
{
    bytes = str_trim(bytes);
    return str_ends(bytes, S("}")) || str_ends(bytes, S("]"));
}

/* Is it a step forward? An answer in one piece is ready when it begins: who sends it byte by byte is as good as silent.
 * What is a stream, for a client that asked for none, or Gemini's array of all its events, is written as it comes. */
static bool is_piece(const session *x, daruma_str bytes)
{
    if (bytes.n >= WHOLE_STEP_BYTES_MIN)
        return true;
    daruma_str held = str_trim(buf_str(&x->answer.held));
    return str_starts(held, S("[")) || relay_begins_stream(held);
}

enum { GZIP_FIRST = 0x1f }; /* RFC 1952, 2.3.1 */

static void on_body(drive_call *c, daruma_str bytes)
{
    session *x = c->x;
    if (x->answer.marked && bytes.n) {
        x->answer.marked = false;
        if (bytes.p[0] != GZIP_FIRST) { /* no client could read it */
            relay_fail(x, DARUMA_FLAW_BROKEN, S(""));
            return;
        }
        pass_coded(x);
    }
    if (x->answer.mode == ANSWER_WHOLE && x->client.streaming && !x->answer.held.n && relay_begins_stream(bytes)) {
        relay_say_type(x, S(STREAM_TYPE));
        if (x->answer.headers)
            stream_begin(x);
    }
    switch (x->answer.mode) {
    case ANSWER_NONE:
        break;
    case ANSWER_ERROR:
    case ANSWER_REFUSED:
        hold_error(x, bytes);
        break;
    case ANSWER_WHOLE:
        if (!x->kase.headed && str_trim(bytes).n) { /* white space keeps a connection alive, nothing else */
            daruma_case_headed(&x->kase, session_now(x));
            daruma_case_begun(&x->kase, session_now(x));
        } else if (x->kase.headed && is_piece(x, bytes))
            daruma_case_piece(&x->kase, session_now(x).now);
        if (!x->kase.headed)
            pass_blanks(x, bytes);
        if (hold_whole(x, bytes)) {
            if (ends_a_value(bytes))
                relay_over(x);
            break;
        }
        if ((x->client.head_out && !x->client.blank) ||
            x->p != x->d) { /* a stream has begun and this is none, or it must be written anew */
            session_too_long(x, LONG_HELD);
            break;
        }
        pass_unread(x);
        relay_forward(x, bytes);
        break;
    case ANSWER_HELD:
    case ANSWER_RELAYED:
        stream_bytes(x, bytes);
        break;
    case ANSWER_PASSED:
        relay_forward(x, bytes);
        break;
    }
}

/* Some servers compress what was asked for as it is. An error is judged by its words all the same, and a short answer
 * that must be read is. */
static void uncode(session *x)
{
    size_t i = 0;
    while (i < x->answer.nheaders && !str_ieq(x->answer.headers[i].name, S("content-encoding")))
        i++;
    if (i == x->answer.nheaders || session_passes(x) || x->answer.held.n > CLASSIFY_BODY_BYTES_MAX)
        return;
    daruma_str coding = x->answer.headers[i].value, held = buf_str(&x->answer.held);
    daruma_buf plain = {.arena = x->answer.held.arena};
    if (!x->v->host->unpack || !x->v->host->unpack(coding, held, &plain, CLASSIFY_BODY_BYTES_MAX))
        return;
    x->answer.held = plain;
    drop_coding(x);
}

static void on_end(drive_call *c)
{
    session *x = c->x;
    x->call.handle = NULL;
    if (x->answer.mode == ANSWER_ERROR || x->answer.mode == ANSWER_REFUSED)
        pass_hide(x);
    if (x->answer.mode == ANSWER_ERROR || x->answer.mode == ANSWER_WHOLE)
        uncode(x);
    switch (x->answer.mode) {
    case ANSWER_NONE:
    case ANSWER_ERROR: {
        daruma_evidence ev = relay_evidence(x, DARUMA_AT_ANSWER);
        session_failed(x, &ev);
        break;
    }
    case ANSWER_WHOLE:
        whole_ended(x, DARUMA_NET_NONE, DARUMA_AT_ANSWER);
        break;
    case ANSWER_HELD:
    case ANSWER_RELAYED:
        stream_ended(x);
        break;
    case ANSWER_REFUSED:
        pass_refused(x);
        break;
    case ANSWER_PASSED:
        session_done(x, -1, -1, DRIVE_END);
        break;
    }
}

/* Nobody judges it, but it is told and counted like any other repeat. */
static void on_again(drive_call *c, daruma_net net)
{
    session *x = c->x;
    last_failure *l = session_last_new(x);
    if (!l)
        return;
    l->failure = kind_failure(DARUMA_NETWORK, 0);
    l->failure.retryable = true;
    l->failure.net = net;
    session_resent(x);
}

static void on_fail(drive_call *c, daruma_net net, daruma_phase phase)
{
    session *x = c->x;
    x->call.handle = NULL;
    if ((x->answer.mode == ANSWER_HELD || x->answer.mode == ANSWER_RELAYED) && stream_broke(x))
        return; /* the answer was whole; only the connection died after it */
    if (x->answer.mode == ANSWER_WHOLE && whole_broke(x, net, phase))
        return;
    if (x->answer.mode == ANSWER_ERROR || x->answer.mode == ANSWER_REFUSED)
        pass_hide(x);
    if (x->answer.mode == ANSWER_REFUSED) { /* a status came: it says more than the broken rest of its body */
        pass_refused(x);
        return;
    }
    daruma_evidence ev = relay_evidence(x, phase);
    if (x->answer.mode == ANSWER_ERROR) /* likewise */
        net = DARUMA_NET_NONE;
    else
        ev.body = (daruma_str){0};
    if (x->answer.mode != ANSWER_ERROR && x->answer.mode != ANSWER_NONE)
        ev.status = 0;
    ev.net = net;
    session_failed(x, &ev);
}

const drive_call_ops relay_ops = {.head = on_head, .body = on_body, .again = on_again, .end = on_end, .fail = on_fail};
