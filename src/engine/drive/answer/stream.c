/* stream.c - answers that come as a stream of events. It is held until its commit point: the first event that carries
 * content, or an end that says why there is none. Behind it only whole events go out, so that an answer that breaks off
 * can still be ended in the client's dialect.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/stream.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/waiting.h"

static bool relay(session *x, daruma_str bytes);
static bool pass_long(session *x, daruma_str bytes);

/* Is the answer read on its way? Only when something could be mended in it, it has to be written anew, or its id is to
 * be remembered and its events are numbered. */
static bool talks(const session *x)
{
    return x->kase.can_mend || x->p != x->d || x->t || x->d == &dialect_openai_responses;
}

/* The request is kept while another attempt may have to go on with it. */
static void drop_request(session *x)
{
    bool needed = x->kase.can_mend && x->asked.n <= RESUME_BODY_BYTES_MAX;
    const drive_host *host = x->v->host;
    if (needed || x->h || (x->call.handle && host->is_sent && !host->is_sent(x->call.handle)))
        return;
    if (host->body_dropped)
        host->body_dropped(x->user);
    x->asked = (daruma_str){0};
    x->out.body = (daruma_str){0};
    x->out.scan.model_raw = x->out.scan.messages = x->out.scan.tools_raw = x->out.scan.format_raw = (daruma_str){0};
}

bool stream_next(driver *v, const dialect *p, stream_walk *w)
{
    w->here = w->rest;
    w->scratch = arena_over(w->small, sizeof w->small);
    if (!sse_next(&w->rest, &w->e, &w->scratch))
        return false;
    if (w->scratch.full) {
        w->scratch.full = false;
        v->rooms->close(&v->event);
        w->rest = v->rooms->open(&v->event, w->e.raw.n, w->e.raw.n) ? w->here : w->rest;
        if (w->rest.p == w->here.p) /* else the event has no data */
            sse_next(&w->rest, &w->e, &v->event);
    }
    dialect_read_event(p, &w->e, &w->said);
    return true;
}

/* Whole events go to the client, as they are or as talk makes them. */
static void deliver(session *x, daruma_str events)
{
    stream_walk w;
    daruma_str from = w.rest = events;
    while (x->client.here && stream_next(x->v, x->p, &w)) {
        if (talk_event(x, &w.e, &w.said, &w.scratch))
            continue;
        relay_forward(x, str_sub(from, 0, from.n - w.here.n));
        from = w.rest;
    }
    relay_forward(x, from);
}

/* The first `x->answer.parsed` bytes of what was held go out, and from here on everything that follows. What was
 * held is not needed again: thousands of streams stand open at once, its memory goes back. False: the attempt is over.
 */
static bool commit(session *x)
{
    x->answer.mode = ANSWER_RELAYED;
    x->due.look_at = -1;
    hedge_cancel(x);
    /* The client's deadline was for its beginning: nobody hangs up on a stream that comes, or on the rest of one. */
    x->kase.deadline = x->o->total ? add_sat(x->opened, x->o->total) : -1;
    if (x->call.handle && x->v->host->limit)
        x->v->host->limit(x->call.handle, x->o->total);
    daruma_case_begun(&x->kase, session_now(x));
    driver_wake(x->v);
    waiting_answered(x);
    relay_head(x, -1);
    relay_keep_id(x);
    daruma_ms took = x->v->at.now - x->opened;
    x->client.first_ms = took < 1 ? 1 : took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    x->due.beat_at = x->client.streaming ? add_sat(session_now(x).now, HEARTBEAT_EVERY_MS) : -1;
    relay_progress(x);
    session_timer(x);
    daruma_arena was = x->answer.scratch;
    daruma_str held = buf_str(&x->answer.held);
    size_t parsed = x->answer.parsed;
    x->answer.scratch = (daruma_arena){0};
    session_scratch_reset(x);
    x->answer.held = buf_in(&x->answer.scratch);
    drop_request(x);
    bool reads = talks(x) && talk_begin(x), lacks = talks(x) && !reads && (x->p != x->d || x->t);
    if (reads)
        deliver(x, str_sub(held, 0, parsed));
    else if (!lacks)
        relay_forward(x, str_sub(held, 0, parsed));
    bool goes_on = !lacks && !(x->t && talk_unsure(x));
    if (lacks)
        session_too_long(x, LONG_KEPT);
    else if (!goes_on)
        relay_fail(x, DARUMA_FLAW_CUT, (daruma_str){0});
    else if (parsed < held.n)
        goes_on = relay(x, str_from(held, parsed));
    x->v->rooms->close(&was);
    if (goes_on && x->call.handle)
        hedge_look(x);
    return goes_on;
}

/* Can an event end in these bytes? A long one that comes in pieces is not read again for each of them. */
static bool ends_a_line(daruma_str bytes)
{
    return str_findch(bytes, '\n') != STR_NONE || str_findch(bytes, '\r') != STR_NONE;
}

/* True if what came is encoded and cannot be read: it does not begin as events do, or it is longer than is held. */
static bool is_encoded(const session *x)
{
    daruma_str held = str_trim(buf_str(&x->answer.held));
    bool odd = (held.n && !relay_begins_stream(held)) || held.n > STREAM_HELD_BYTES_MAX;
    return odd && !x->answer.view.began && relay_is_coded(x->answer.headers, x->answer.nheaders);
}

/* Reads what is new in a held stream. False: the attempt is over, and perhaps the session. */
static bool read_held(session *x)
{
    stream_walk w;
    daruma_ms over = relay_over_in(x);
    w.rest = str_from(buf_str(&x->answer.held), x->answer.parsed);
    while (stream_next(x->v, x->p, &w)) {
        x->answer.parsed = x->answer.held.n - w.rest.n;
        dialect_watch_said(&x->answer.view, &w.said);
        if (x->answer.view.error) {
            relay_fail(x, DARUMA_FLAW_ERROR_EVENT, x->answer.view.error_body);
            return false;
        }
        if (x->answer.view.broken) {
            relay_fail(x, DARUMA_FLAW_BROKEN, buf_str(&x->answer.held));
            return false;
        }
        if (x->answer.view.content)
            return commit(x);
    }
    if (is_encoded(x)) {
        relay_fail(x, DARUMA_FLAW_BROKEN, (daruma_str){0});
        return false;
    }
    if (relay_over_in(x) != over)
        relay_over(x);
    return x->answer.held.n <= STREAM_HELD_BYTES_MAX || commit(x);
}

/* What is left of a piece behind its last whole event waits for the next piece. Most pieces leave nothing. Behind the
 * commit point x->answer.scratch gets its memory when it is first needed; without memory it stays full. */
static void keep_tail(session *x, daruma_str rest)
{
    if (!x->answer.held.n) {
        if (rest.n && !x->answer.scratch.host)
            x->v->rooms->open(&x->answer.scratch, 0, SSE_EVENT_BYTES_MAX * 4);
        buf_put(&x->answer.held, rest);
        return;
    }
    memmove(x->answer.held.p, rest.p, rest.n);
    x->answer.held.n = rest.n;
}

/* What an event says is wrong with the answer: it does not go out, the answer may still go on. */
static daruma_flaw flaw_of(session *x, const stream_walk *w)
{
    stream_view *v = &x->answer.view;
    bool broken = v->broken && !json_valid(w->e.data);
    v->broken = false; /* what is only unknown to us goes through */
    if (v->error) {
        x->answer.failed_event = arena_copy(x->arena, session_redact(x, w->e.raw));
        v->error_body = arena_copy(x->arena, v->error_body);
        return DARUMA_FLAW_ERROR_EVENT;
    }
    return v->spoilt && talk_was_cut(x) ? DARUMA_FLAW_BROKEN : broken ? DARUMA_FLAW_CUT : DARUMA_FLAW_NONE;
}

static void fail(session *x, daruma_flaw flaw)
{
    relay_fail(x, flaw, flaw == DARUMA_FLAW_ERROR_EVENT ? x->answer.view.error_body : (daruma_str){0});
}

/* Does the event that begins so say that the answer failed? */
static bool begins_error(daruma_str event)
{
    static const daruma_str marks[] = {LIT("event: error"),       LIT("event:error"), LIT("\"response.failed\""),
                                       LIT("\"type\":\"error\""), LIT("\"error\":{"), LIT("\"error\": {"),
                                       LIT("\"type\": \"error\"")};
    bool is = false;
    event = str_sub(event, 0, SSE_STRING_BYTES_KEPT);
    for (size_t i = 0; i < COUNT(marks); i++)
        is |= str_find(event, marks[i]) != STR_NONE;
    return is;
}

/* An event that is too long to be held, behind what `held` has of it: it goes out as it comes, where that is all that
 * is to be done to it. False: the attempt is over. */
static bool begin_long(session *x, daruma_str bytes)
{
    daruma_str so_far = buf_str(&x->answer.held);
    bool passes = x->p == x->d && !x->nrenames && (!x->t || talk_is_plain(x));
    if (!passes || begins_error(so_far.n ? so_far : bytes)) { /* what an error quotes may be a secret */
        session_too_long(x, LONG_EVENT);
        return false;
    }
    hedge_cancel(x); /* it speaks again */
    if (x->t)
        talk_read_in_part(x);
    relay_forward(x, so_far);
    x->answer.passes_long = true;
    x->answer.long_event = (sse_long){0};
    x->answer.held.n = 0;
    x->answer.held.full = false;
    sse_shorten(&x->answer.long_event, so_far, &x->answer.held);
    return pass_long(x, bytes);
}

/* Forwards whole events, watching for the end and for errors; keeps the incomplete tail. False: the attempt is over,
 * and perhaps the session. */
static bool relay(session *x, daruma_str bytes)
{
    stream_walk w;
    if (x->answer.passes_long)
        return pass_long(x, bytes);
    if (x->answer.held.n) {
        buf_put(&x->answer.held, bytes);
        if (x->answer.held.full)
            return begin_long(x, bytes);
        if (!ends_a_line(bytes))
            return true;
        bytes = buf_str(&x->answer.held);
    }
    daruma_str from = w.rest = bytes;
    daruma_flaw flaw = DARUMA_FLAW_NONE;
    daruma_ms over = relay_over_in(x);
    while (stream_next(x->v, x->p, &w)) {
        dialect_watch_said(&x->answer.view, &w.said);
        if (!x->answer.view.ping ||
            (!x->answer.view.done && relay_over_in(x) >= 0)) /* who pings behind a stop reason may go on */
            relay_progress(x);
        if (!x->answer.view.ping) {
            hedge_cancel(x); /* it speaks again */
            daruma_case_piece(&x->kase, session_now(x).now);
        }
        flaw = flaw_of(x, &w);
        if (flaw != DARUMA_FLAW_NONE) {
            w.rest = w.here;
            break;
        }
        if (x->t && !talk_event(x, &w.e, &w.said, &w.scratch)) {
            relay_forward(x, str_sub(from, 0, from.n - w.here.n));
            from = w.rest;
        }
    }
    relay_forward(x, str_sub(from, 0, from.n - w.rest.n));
    if (flaw == DARUMA_FLAW_NONE && x->t && talk_unsure(x))
        flaw = DARUMA_FLAW_CUT;
    if (flaw != DARUMA_FLAW_NONE) { /* no client can read that event: the answer ends before it */
        fail(x, flaw);
        return false;
    }
    keep_tail(x, w.rest);
    if (relay_over_in(x) != over) /* pings behind it are no piece */
        relay_over(x);
    return !x->answer.held.full || begin_long(x, w.rest);
}

static bool pass_long(session *x, daruma_str bytes)
{
    stream_walk w;
    size_t n = sse_shorten(&x->answer.long_event, bytes, &x->answer.held);
    relay_forward(x, str_sub(bytes, 0, n));
    if (x->answer.held.full) {
        session_too_long(x, LONG_EVENT);
        return false;
    }
    relay_progress(x);
    daruma_case_piece(&x->kase, session_now(x).now);
    if (!x->answer.long_event.ended)
        return true;
    x->answer.passes_long = false;
    w.rest = buf_str(&x->answer.held);
    if (stream_next(x->v, x->p, &w))
        dialect_watch_said(&x->answer.view, &w.said);
    if (x->answer.view.error) {
        relay_fail(x, DARUMA_FLAW_ERROR_EVENT, x->answer.view.error_body);
        return false;
    }
    x->answer.view.broken = false; /* what is only unknown to us goes through */
    x->answer.held.n = 0;
    if (relay_over_in(x) >= 0)
        relay_over(x);
    return n == bytes.n || relay(x, str_from(bytes, n));
}

/* Is it whole but for its blank line? What was cut in the midst of its JSON is not. */
static bool is_whole(const sse_event *e)
{
    bool json = str_starts(str_trim(e->data), S("{")) || str_starts(str_trim(e->data), S("["));
    return e->data.n && (!json || str_eq(e->data, S("[DONE]")) || json_valid(e->data));
}

/* Adds the blank line that the last event lacks, if it is whole otherwise. False: there is none, and nothing is added.
 */
static bool close_last(session *x, stream_walk *w)
{
    size_t held = x->answer.held.n, from = x->answer.mode == ANSWER_HELD ? x->answer.parsed : 0;
    if (held == from)
        return false;
    BUF_LIT(&x->answer.held, "\n\n");
    w->rest = str_from(buf_str(&x->answer.held), from);
    if (!x->answer.held.full && stream_next(x->v, x->p, w) && is_whole(&w->e))
        return true;
    x->answer.held.n = held;
    return false;
}

/* A last event that lacks its blank line goes out if it is whole otherwise. What it says is wrong with the answer. */
static daruma_flaw last_event(session *x)
{
    stream_walk w;
    if (!close_last(x, &w))
        return DARUMA_FLAW_NONE;
    dialect_watch_said(&x->answer.view, &w.said);
    daruma_flaw flaw = flaw_of(x, &w);
    if (x->answer.passes_long) { /* it is out, but for that line */
        x->answer.passes_long = false;
        relay_forward(x, S("\n\n"));
        return DARUMA_FLAW_NONE;
    }
    if (flaw == DARUMA_FLAW_NONE && (!x->t || talk_event(x, &w.e, &w.said, &w.scratch)))
        relay_forward(x, w.e.raw);
    return flaw == DARUMA_FLAW_CUT ? DARUMA_FLAW_NONE : flaw;
}

/* True if nothing is missing behind what `v` saw. A stop reason before all content may be the beginning of a cut
 * answer.
 */
static bool is_over(const session *x, const stream_view *v)
{
    return v->done || (v->finished && (x->answer.mode == ANSWER_RELAYED || v->told || v->content));
}

/* Does the event that lacks its blank line end the answer? */
static bool tail_ends(session *x)
{
    stream_walk w;
    stream_view v = x->answer.view;
    if (!close_last(x, &w))
        return false;
    dialect_watch_said(&v, &w.said);
    x->answer.held.n -= 2; /* the blank line */
    return is_over(x, &v) && !v.error && !v.broken;
}

bool stream_broke(session *x)
{
    if (!is_over(x, &x->answer.view) && !tail_ends(x))
        return false;
    stream_ended(x);
    return true;
}

void stream_begin(session *x)
{
    x->answer.mode = ANSWER_HELD;
    relay_progress(x);
    session_timer(x);
}

void stream_bytes(session *x, daruma_str bytes)
{
    x->due.beats = 0;
    if (x->answer.mode == ANSWER_RELAYED) {
        relay(x, bytes);
        return;
    }
    buf_put(&x->answer.held, bytes);
    if (ends_a_line(bytes) || x->answer.held.n > STREAM_HELD_BYTES_MAX)
        read_held(x);
}

/* An empty answer, as the client would have it: it goes out if no other comes. */
static void keep_silence(session *x)
{
    daruma_arena room = {0};
    daruma_buf out = buf_in(&room);
    stream_view v = {0};
    turn t;
    write_ctx w = session_writes(x);
    if (x->p == x->d) {
        relay_keep_given(x, buf_str(&x->answer.held));
    } else if (x->v->rooms->open(&room, 0, ANSWER_ARENA_BYTES_MAX)) {
        if (dialect_fold_stream(x->p, buf_str(&x->answer.held), &v, &t, &room)) {
            dialect_carry_answer(&t, x->d, &w, &room);
            t.model = w.model;
            if (dialect_stream_answer(&t, x->d, &w, x->out.scan.usage_asked, &out, &room))
                relay_keep_given(x, buf_str(&out));
        }
        x->v->rooms->close(&room);
    }
}

void stream_ended(session *x)
{
    stream_walk w;
    if (x->answer.mode == ANSWER_HELD && close_last(x, &w) && !read_held(x))
        return;
    if (x->answer.mode == ANSWER_HELD &&
        session_mend_window_full(x, str_of(x->answer.view.finish), x->answer.view.input_tokens,
                                 x->answer.view.content)) {
        memcpy(x->answer.view.finish, "model_context_window_exceeded", sizeof "model_context_window_exceeded");
        relay_fail(x, DARUMA_FLAW_EMPTY, (daruma_str){0});
        return;
    }
    if (x->answer.mode == ANSWER_HELD && !x->answer.view.effects &&
        session_filtered(x, str_of(x->answer.view.finish))) {
        relay_fail(x, DARUMA_FLAW_FILTERED, (daruma_str){0});
        return;
    }
    bool ended = x->answer.view.done || x->answer.view.finished;
    bool anyhow = ended && !x->kase.policy->enabled && x->p == x->d; /* switched off: without words it passes, too */
    if (x->answer.mode == ANSWER_HELD && (x->answer.view.told || anyhow) && !commit(x))
        return;
    if (x->answer.mode == ANSWER_HELD) {
        bool empty = ended || !x->answer.view.began;
        bool chose = x->answer.view.finished &&
                     relay_chose_silence(x, str_of(x->answer.view.finish), x->answer.view.input_tokens > 0,
                                         x->answer.view.output_tokens);
        if (chose && !x->client.array)
            keep_silence(x);
        relay_fail(x, empty ? DARUMA_FLAW_EMPTY : DARUMA_FLAW_CUT, buf_str(&x->answer.held));
        return;
    }
    daruma_flaw last = last_event(x);
    if (last != DARUMA_FLAW_NONE) {
        fail(x, last);
        return;
    }
    bool whole = (x->answer.view.done || x->answer.view.finished) && !x->answer.passes_long;
    if (!whole || (x->t && talk_unsure(x))) {
        relay_fail(x, DARUMA_FLAW_CUT, (daruma_str){0});
        return;
    }
    if (x->t)
        talk_end(x);
    else
        stream_closed(x);
}

void stream_last_words(session *x)
{
    if (x->client.pending || x->hedge.went_on || x->client.told < x->kase.ndid) /* the head could not say it */
        finish_comment(x, relay_outcome(x), false);
}

void stream_closed(session *x)
{
    if (!x->answer.view.done &&
        (!x->t || talk_is_plain(x))) /* the answer is whole, only its terminal marker is missing */
        relay_forward(x, x->d->terminal);
    stream_last_words(x);
    session_done(x, x->answer.view.input_tokens, x->answer.view.output_tokens, DRIVE_END);
}
