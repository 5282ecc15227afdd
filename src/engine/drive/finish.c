/* finish.c - when nothing helped: the provider's own error, or a readable message in the model's
 * place, in the client's dialect, with honest advice whether and when to come again. */
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/relay.h"

static bool as_message(const session *x)
{
    daruma_remedy_kind r = session_last(x)->remedy.remedy;
    if (!x->d || !x->scan.ok)
        return false;
    if (x->kase.policy->answers && x->kase.policy->enabled &&
        (r == DARUMA_REMEDY_EXPLAIN || r == DARUMA_REMEDY_APOLOGISE))
        return true;
    switch (x->o->on_failure) {
    case DRIVE_FORM_ERROR:
        return false;
    case DRIVE_FORM_MESSAGE:
        return true;
    case DRIVE_FORM_AUTO:
        break;
    }
    if (x->scan.keeps || x->scan.remote)
        return false; /* its client would go on from an answer that the server does not have */
    return !kind_rows[session_last(x)->failure.kind].clients_act && x->scan.tools && !x->scan.schema;
}

static int status_of(const daruma_failure *f)
{
    if (f->status >= 400 && f->status < 600)
        return f->status;
    return kind_rows[f->kind].status ? kind_rows[f->kind].status : 502;
}

/* An answer without words may have had some, which nobody here could read. */
static void say_coded(session *x, daruma_buf *out)
{
    const last_failure *l = session_last(x);
    drive_head h = {.headers = l->headers, .nheaders = l->nheaders};
    if (!relay_is_coded(l->headers, l->nheaders))
        return;
    BUF_LIT(out, " What the provider sent could not be read: it is encoded as ");
    buf_json(out, str_sub(drive_field(&h, S("content-encoding")), 0, CODING_SHOWN_BYTES));
    BUF_LIT(out, ", and daruma asks for answers that are not encoded.");
}

static daruma_str explanation(session *x)
{
    daruma_buf b = buf_in(x->arena);
    daruma_failure f = session_last(x)->failure;
    daruma_ms in = daruma_case_again_in(&x->kase, &f, session_now(x).now);
    if (in > 0 && daruma_kind_passes(f.kind))
        f.wait = in; /* as in the header */
    daruma_explain(&f, &x->kase, &b);
    say_coded(x, &b);
    session_say_tried(x, &b);
    return buf_str(&b);
}

/* `reason`: empty: as the client is told it. */
static void announce(session *x, daruma_outcome o, daruma_str reason)
{
    daruma_moment at = session_now(x);
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_failure f = session_last(x)->failure;
    if (f.severity == DARUMA_RETRIABLE && !f.retryable)
        f.severity = DARUMA_CRITICAL; /* what would have mended it did not */
    e.failure = &f;
    e.attempts = x->kase.attempts;
    e.remedy = &session_last(x)->remedy;
    if (x->kase.attempts > 1)
        session_tell(x, DARUMA_WHEN_EXHAUSTED, &e);
    e.outcome = o;
    e.took = at.now - x->started;
    if (!daruma_event_when(&e, DARUMA_WHEN_GIVEN_UP, &x->kase))
        return;
    if (!e.reason.n)
        e.reason = reason.n ? reason : explanation(x);
    e.tried = session_last(x)->tried;
    e.ntried = session_last(x)->ntried;
    session_event(x, &e);
}

void finish_comment(session *x, daruma_outcome o)
{
    daruma_buf b = buf_in(x->arena);
    buf_printf(&b, ": daruma outcome=%s attempts=%u ", daruma_outcome_name(o), x->kase.attempts);
    if (o != DARUMA_OUTCOME_OK && session_last(x)->failure.kind)
        buf_printf(&b, "kind=%s ", daruma_kind_name(session_last(x)->failure.kind));
    if (x->kase.ndid) {
        BUF_LIT(&b, "remedies=");
        session_say_remedies(x, &b);
        buf_putc(&b, ' ');
    }
    BUF_LIT(&b, "case=");
    buf_hex64(&b, x->kase.id);
    BUF_LIT(&b, "\n\n");
    session_write(x, buf_str(&b));
}

void finish_words(session *x, daruma_outcome o)
{
    if (!str_starts(x->d->heartbeat, S("data:")))
        finish_comment(x, o);
}

/* retry-after and x-should-retry, which the official SDKs obey: false when waiting cannot help or would
 * take longer than anybody waits. */
static void put_advice(session *x, daruma_header *h, size_t *n)
{
    daruma_ms in = daruma_case_again_in(&x->kase, &session_last(x)->failure, session_now(x).now);
    bool once = x->kase.done_once,
         again = in >= 0 && in <= RETRY_ADVICE_MS_MAX && session_last(x)->failure.retryable && !once;
    h[(*n)++] = (daruma_header){S("x-should-retry"), again ? S("true") : S("false")};
    if (in < 0 || !session_last(x)->failure.retryable || once)
        return;
    daruma_buf b = buf_in(x->arena);
    buf_int(&b, (in + 999) / 1000);
    h[(*n)++] = (daruma_header){S("retry-after"), buf_str(&b)};
}

/* Fields of the provider's error that still hold for the client. */
static size_t kept_headers(session *x, daruma_header *out)
{
    /* `location`: SDKs go there, and some of them take their key along. */
    static const daruma_str dropped[] = {LIT("content-type"), LIT("content-encoding"), LIT("retry-after"),
                                         LIT("location"),     LIT("retry-after-ms"),   LIT("x-should-retry"),
                                         LIT("set-cookie")};
    size_t n = 0;
    for (size_t i = 0; i < session_last(x)->nheaders; i++) {
        bool drop = false;
        for (size_t d = 0; d < COUNT(dropped); d++)
            drop |= str_ieq(session_last(x)->headers[i].name, dropped[d]);
        if (!drop)
            out[n++] = session_last(x)->headers[i];
    }
    return n;
}

/* What passes through does so with its errors too. */
static void pass_error(session *x)
{
    session_head(x, x->status, session_last(x)->headers, session_last(x)->nheaders, DARUMA_OUTCOME_FAILED,
                 x->cut ? -1 : (int64_t)session_last(x)->body.n);
    session_write(x, session_last(x)->body);
}

/* Did pass_error() write the beginning of a body that is longer? Then its client must not take it for the whole. */
static bool is_cut(const session *x)
{
    return session_passes(x) && x->status >= 400 && x->cut;
}

daruma_str session_listed(session *x, daruma_str body)
{
    if (!x->array || str_starts(str_trim(body), S("[")))
        return body;
    daruma_buf b = buf_in(x->arena);
    buf_putc(&b, '[');
    buf_put(&b, body);
    buf_putc(&b, ']');
    return b.full ? body : buf_str(&b);
}

static void answer(session *x, int status, daruma_str type, daruma_str body, daruma_outcome o)
{
    daruma_header *theirs = ARENA_NEW(x->arena, daruma_header, session_last(x)->nheaders + 3);
    size_t n = 0;
    if (theirs) {
        n = status >= 400 ? kept_headers(x, theirs) : 0;
        theirs[n++] = (daruma_header){S("content-type"), type};
    }
    if (theirs && status >= 400)
        put_advice(x, theirs, &n);
    session_head(x, status, theirs, n, o, (int64_t)body.n);
    session_write(x, body);
}

/* What daruma says in the model's place begins with a line that says so, and is known again when it comes back. */
static daruma_str marked(session *x, const char *notice, daruma_str words)
{
    daruma_buf text = buf_in(x->arena);
    buf_putz(&text, notice);
    BUF_LIT(&text, "\n\n");
    buf_put(&text, words);
    memory_notice_put(x->v->mem, dialect_notice_hash(buf_str(&text)));
    return buf_str(&text);
}

static write_ctx writes_as(session *x)
{
    return (write_ctx){
        .model = x->scan.model, .id = x->kase.id, .wall = session_now(x).wall, .functions = x->scan.functions};
}

/* The client has a head, by a heartbeat or by an attempt of which all was held. */
static bool has_begun(const session *x)
{
    return x->head_out && !x->blank;
}

/* An answer of ours, whole or as a stream. */
static void put_answer(session *x, daruma_str body, daruma_outcome o)
{
    body = session_listed(x, body);
    if (!has_begun(x) && !x->blank) {
        answer(x, 200, x->streaming ? S("text/event-stream; charset=utf-8") : S("application/json"), body, o);
        return;
    }
    session_write(x, body);
    if (has_begun(x) && o == DARUMA_OUTCOME_DEGRADED)
        finish_words(x, o);
    else if (has_begun(x))
        finish_comment(x, o);
}

static void finish_write_message(session *x, daruma_str text, daruma_outcome o)
{
    daruma_buf out = buf_in(x->arena);
    write_ctx w = writes_as(x);
    if (x->streaming || has_begun(x))
        x->d->write_message_stream(&out, &w, text);
    else
        x->d->write_message(&out, &w, text);
    put_answer(x, buf_str(&out), o);
}

/* There is no rung that fits: whoever asked gets the failure as it came (P-F10). */
static bool raises(const session *x)
{
    return session_last(x)->remedy.remedy == DARUMA_REMEDY_NONE &&
           session_last(x)->remedy.rung == x->kase.policy->nrungs && x->kase.attempts > 0;
}

/* `comments`: a stream whose head went out before it was known how it ends. */
static void end_degraded(session *x, bool comments, daruma_str reason)
{
    x->beat_at = x->progress_by = x->act_at = -1;
    announce(x, DARUMA_OUTCOME_DEGRADED, reason);
    if (comments)
        finish_words(x, DARUMA_OUTCOME_DEGRADED);
    session_end(x, DARUMA_OUTCOME_DEGRADED, DRIVE_END);
}

/* What is done about an agent in circles is no matter of its answer. */
static bool is_of_agent(const session *x)
{
    daruma_kind k = session_last(x)->failure.kind;
    return k == DARUMA_LOOP || k == DARUMA_STUCK;
}

/* Else its client would go on from an answer that the server does not have. */
static bool may_write_cut(const session *x)
{
    return !x->scan.keeps && !x->scan.remote;
}

/* Writes it, as one that daruma had to do something for. False: nobody can write it so. */
static bool write_cut(session *x)
{
    const turn *cut = session_last(x)->cut;
    daruma_buf out = buf_in(x->arena);
    write_ctx w = writes_as(x);
    if (!x->streaming && !has_begun(x))
        x->d->write_answer(cut, &w, &out);
    else if (!dialect_stream_answer(cut, x->d, &w, x->scan.usage_asked, &out, x->arena))
        return false;
    if (out.full)
        return false;
    session_did(x, DARUMA_REMEDY_KEEP_PARTIAL);
    put_answer(x, buf_str(&out), DARUMA_OUTCOME_DEGRADED);
    return true;
}

bool finish_cut(session *x)
{
    const turn *cut = session_last(x)->cut;
    bool begun = x->forwarded > 0, newest = session_last(x)->cut_by == x->kase.attempts;
    if (!cut || !x->d || raises(x) || is_of_agent(x) || (begun ? !newest : !may_write_cut(x)))
        return false;
    if (begun ? !talk_close(x, (daruma_str){0}, cut->finish) : !write_cut(x))
        return false;
    if (begun)
        session_did(x, DARUMA_REMEDY_KEEP_PARTIAL);
    end_degraded(
        x, begun,
        S("the output cap cut a tool call each time: the answer ends there, with what was said before the call"));
    return true;
}

bool finish_given(session *x)
{
    daruma_str given = session_last(x)->given;
    if (raises(x) || is_of_agent(x))
        return false;
    bool streamed = x->t && x->mode == ANSWER_RELAYED && talk_give(x);
    if (!streamed && (!given.n || x->forwarded))
        return false;
    session_did(x, DARUMA_REMEDY_KEEP_PARTIAL);
    if (!streamed) {
        x->kase.target = session_last(x)->given_by;
        put_answer(x, given, DARUMA_OUTCOME_DEGRADED);
    }
    account_remember(x, streamed ? (daruma_str){0} : given);
    end_degraded(x, streamed, S("the model was asked again in vain: its answer goes out as it came"));
    return true;
}

/* The message an error carries: the provider's own words where it gave any. What is wrong with a broken answer was
 * written for the model. */
static daruma_str error_message(session *x, daruma_str note)
{
    bool answered = session_last(x)->failure.kind == DARUMA_MALFORMED_OUTPUT && session_last(x)->failure.status < 400;
    return session_last(x)->failure.message.n && !answered ? session_last(x)->failure.message : note;
}

/* Clients that leave a conversation on Anthropic's server send all of it again, or go on without one that is kept, when
 * they are told so by these codes; whoever else answers has no words for it, and knows of no thread. */
static daruma_str thread_code(const session *x, daruma_str body)
{
    const daruma_failure *f = &session_last(x)->failure;
    if (!x->scan.keeps || str_find(body, S("\"thread_")) != STR_NONE)
        return (daruma_str){0};
    bool elsewhere = f->kind == DARUMA_INVALID_MESSAGE && !x->sent; /* nobody who may be asked has it */
    if (x->scan.remote && (f->kind == DARUMA_ORPHAN_TOOL_CALL || elsewhere))
        return S("thread_not_found");
    bool named = str_find(f->message, S("thread")) != STR_NONE || str_eq(f->subject, S("thread"));
    return f->kind == DARUMA_INVALID_PARAMETER && named ? S("thread_unsupported_request") : (daruma_str){0};
}

static void finish_write_error(session *x)
{
    if (session_passes(x) && x->status >= 400) {
        pass_error(x);
        return;
    }
    const dialect *d = x->speaks;
    daruma_str note = explanation(x);
    daruma_buf out = buf_in(x->arena);
    daruma_failure f = session_last(x)->failure;
    daruma_str thread = thread_code(x, session_last(x)->body);
    if (thread.n)
        f.code = thread;
    int status = status_of(&f);
    if (x->head_out) {
        d->write_stream_error(&out, &f, status, error_message(x, note), note, talk_reached(x));
        session_write(x, buf_str(&out));
        session_did(x, DARUMA_REMEDY_EXPLAIN);
        finish_comment(x, DARUMA_OUTCOME_FAILED);
        return;
    }
    bool theirs = !thread.n && session_last(x)->body.n && x->p == x->d && d->is_error(session_last(x)->body);
    bool bare = raises(x) || !x->kase.policy->enabled; /* nothing was done about it, and nothing is said */
    if (theirs && (bare || !dialect_add_note(&out, session_last(x)->body, note))) {
        out = buf_in(x->arena);
        buf_put(&out, session_last(x)->body);
    } else {
        if (!theirs)
            d->write_error(&out, &f, status, error_message(x, note), note);
        session_did(x, DARUMA_REMEDY_EXPLAIN);
    }
    answer(x, status, S("application/json"), session_listed(x, buf_str(&out)), DARUMA_OUTCOME_FAILED);
}

void session_remember(session *x)
{
    if (!x->kase.ntargets || !x->kase.attempts || !x->d || !x->asked.n)
        return;
    memory_case_put(x->v->mem, session_request_hash(x), session_now(x).now, &x->kase);
}

/* `words`: what the message says. */
static void finish_with(session *x, bool message, daruma_str words)
{
    x->beat_at = x->progress_by = x->act_at = -1;
    announce(x, message ? DARUMA_OUTCOME_EXPLAINED : DARUMA_OUTCOME_FAILED, (daruma_str){0});
    session_remember(x);
    session_mend_gave_up(x);
    if (message)
        finish_write_message(x, marked(x, DIALECT_NOTICE, words), DARUMA_OUTCOME_EXPLAINED);
    else if (!x->blank)
        finish_write_error(x);
    bool told = message || !x->blank; /* an error whose status cannot be said any more is a connection that ends */
    bool breaks_off = is_cut(x) || x->arena->full || !told; /* what was written of us may lack its end */
    session_end(x, message ? DARUMA_OUTCOME_EXPLAINED : DARUMA_OUTCOME_FAILED, breaks_off ? DRIVE_BREAK : DRIVE_END);
}

void finish_partial(session *x)
{
    daruma_str words = steer_partial(x);
    daruma_event e = DARUMA_EVENT_INIT;
    session_did(x, DARUMA_REMEDY_STOP_PARTIAL);
    x->beat_at = x->progress_by = x->act_at = -1;
    e.name = "agent_stopped";
    e.reason = words;
    e.outcome = DARUMA_OUTCOME_DEGRADED;
    e.attempts = x->kase.attempts;
    e.took = session_now(x).now - x->started;
    session_event(x, &e);
    words = marked(x, DIALECT_STOPPED, words);
    if (x->forwarded && !talk_close(x, words, FINISH_STOP)) {
        finish_interrupted(x);
        return;
    }
    if (x->forwarded)
        finish_comment(x, DARUMA_OUTCOME_DEGRADED);
    else
        finish_write_message(x, words, DARUMA_OUTCOME_DEGRADED);
    session_end(x, DARUMA_OUTCOME_DEGRADED, DRIVE_END);
}

void finish_apology(session *x, daruma_str text)
{
    session_did(x, text.n ? DARUMA_REMEDY_APOLOGISE : DARUMA_REMEDY_EXPLAIN);
    finish_with(x, true, text.n ? text : explanation(x));
}

/* The target in reserve failed too: what the content filter said stands, as if that one had not been asked. Who asked
 * is not sent after a failure of a target that it never named, and asks no more often for the same refusal. */
static void take_refusal(session *x)
{
    const refusal *r = session_last(x)->refusal;
    if (!r || session_passes(x))
        return;
    last_failure *l = x->last;
    l->failure = r->failure;
    l->remedy.remedy = DARUMA_REMEDY_EXPLAIN;
    l->remedy.act = daruma_remedy_act(DARUMA_REMEDY_EXPLAIN);
    l->body = r->body;
    l->headers = r->headers;
    l->nheaders = r->nheaders;
    x->theirs = r->theirs;
    x->p = r->p;
    x->kase.target = r->target;
}

void finish_failed(session *x)
{
    take_refusal(x);
    bool message = as_message(x) && !raises(x);
    if (message && session_last(x)->remedy.remedy == DARUMA_REMEDY_APOLOGISE && session_mend_apologise(x))
        return; /* finish_apology() goes on */
    if (message)
        session_did(x, DARUMA_REMEDY_EXPLAIN);
    finish_with(x, message, message ? explanation(x) : (daruma_str){0});
}

void finish_interrupted(session *x)
{
    announce(x, DARUMA_OUTCOME_DEGRADED, (daruma_str){0});
    if (x->mode == ANSWER_PASSED || !x->d) { /* bytes we do not understand: the client must see that they broke off */
        session_end(x, DARUMA_OUTCOME_FAILED, DRIVE_BREAK);
        return;
    }
    if (x->failed_event.n && (!x->t || talk_is_plain(x))) { /* the provider's own words, in its own stream */
        session_write(x, x->failed_event);
    } else {
        daruma_buf out = buf_in(x->arena);
        daruma_str note = explanation(x);
        x->d->write_stream_error(&out, &session_last(x)->failure, status_of(&session_last(x)->failure),
                                 error_message(x, note), note, talk_reached(x));
        session_write(x, buf_str(&out));
        session_did(x, DARUMA_REMEDY_EXPLAIN);
    }
    finish_comment(x, DARUMA_OUTCOME_DEGRADED);
    bool unsaid = x->arena->full; /* there was no memory for the error event */
    session_end(x, DARUMA_OUTCOME_DEGRADED, unsaid ? DRIVE_BREAK : DRIVE_END);
}
