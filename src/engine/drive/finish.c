/* finish.c - when nothing helped: the provider's own error, or a readable message in the model's
 * place, in the client's dialect, with honest advice whether and when to come again. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/finish.h"
#include "engine/drive/late.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/account.h"
#include "model/kinds.h"

/* Its client would go on from an answer that the server does not have. */
static bool goes_on_there(const session *x)
{
    return x->out.scan.keeps || x->out.scan.remote;
}

static bool as_message(const session *x)
{
    daruma_remedy_kind r = session_last(x)->remedy.remedy;
    if (!x->d || !x->out.scan.ok)
        return false;
    if (x->kase.policy->answers && x->kase.policy->enabled &&
        (r == DARUMA_REMEDY_EXPLAIN || r == DARUMA_REMEDY_APOLOGISE))
        return true;
    if (x->o->on_failure != DRIVE_FORM_AUTO)
        return x->o->on_failure == DRIVE_FORM_MESSAGE;
    return !goes_on_there(x) && !kind_rows[session_last(x)->failure.kind].clients_act && x->out.scan.tools &&
           !x->out.scan.schema;
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
    BUF_SAY(out, " What the provider sent could not be read: it is encoded as ",
            buf_quoted(str_sub(drive_field(&h, S("content-encoding")), 0, CODING_SHOWN_BYTES)),
            ", and daruma asks for answers that are not encoded.");
}

/* Says which targets were not asked because the request is of use to one account alone. */
static void say_unasked(const session *x, daruma_buf *out)
{
    const daruma_target *first = NULL, *asked = x->kase.target >= 0 ? &x->targets[x->kase.target] : NULL;
    size_t n = 0;
    for (size_t i = 0; asked && x->home.kept && i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->kase.spoiled[i] && !x->kase.calls[i] && x->targets[i].account_id != asked->account_id && n++ == 0)
            first = &x->targets[i];
    if (!n || !x->sent || x->kase.policy->text)
        return;
    BUF_SAY(out, " Not asked: ", first->provider, "/", first->model);
    if (n > 1)
        buf_printf(out, " and %zu more", n - 1);
    buf_putz(out,
             x->out.scan.before
                 ? ", since this request goes on from an answer or a conversation that one account keeps. Send the "
                   "whole conversation, and others may answer it."
                 : ", since this request holds what only its own provider or account has.");
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
    say_unasked(x, &b);
    return buf_str(&b);
}

void finish_comment(session *x, daruma_outcome o, bool failed)
{
    daruma_buf b = buf_in(x->arena);
    if (!failed && !x->d->comments)
        return;
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

/* retry-after and x-should-retry, which the official SDKs obey: false when waiting cannot help or would
 * take longer than anybody waits. */
static void put_advice(session *x, daruma_header *h, size_t *n)
{
    const daruma_failure *f = &session_last(x)->failure;
    daruma_ms in = daruma_case_again_in(&x->kase, f, session_now(x).now);
    bool may = in >= 0 && (f->retryable || f->status) && !x->kase.done_once, /* refused by one, others may take it */
        again = may && in <= RETRY_ADVICE_MS_MAX;
    h[(*n)++] = (daruma_header){S("x-should-retry"), again ? S("true") : S("false")};
    if (!may)
        return;
    daruma_buf b = buf_in(x->arena);
    buf_int(&b, (in + 999) / 1000);
    h[(*n)++] = (daruma_header){S("retry-after"), buf_str(&b)};
}

/* Fields of the last call's answer that still hold for the client. */
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

daruma_str session_listed(session *x, daruma_str body)
{
    if (!x->client.array || str_starts(str_trim(body), S("[")))
        return body;
    daruma_buf b = buf_in(x->arena);
    BUF_SAY(&b, "[", body, "]");
    return b.full ? body : buf_str(&b);
}

/* `theirs`: it is what the last call brought. */
static void answer(session *x, int status, daruma_str type, daruma_str body, daruma_outcome o, bool theirs)
{
    daruma_header *fields = ARENA_NEW(x->arena, daruma_header, session_last(x)->nheaders + 3);
    size_t n = 0;
    if (fields) {
        n = theirs ? kept_headers(x, fields) : 0;
        fields[n++] = (daruma_header){S("content-type"), type};
    }
    if (fields && status >= 400)
        put_advice(x, fields, &n);
    session_head(x, status, fields, n, o, (int64_t)body.n);
    session_write(x, body);
}

/* What daruma says in the model's place begins with a line that says so, and is known again when it comes back. */
static daruma_str marked(session *x, const char *notice, daruma_str words)
{
    daruma_buf text = buf_in(x->arena);
    BUF_SAY(&text, notice, "\n\n", words);
    memory_notice_put(x->v->mem, dialect_notice_hash(buf_str(&text)));
    return buf_str(&text);
}

/* The client has a head, by a heartbeat or by an attempt of which all was held. */
static bool has_begun(const session *x)
{
    return x->client.head_out && !x->client.blank;
}

/* An answer of ours, or the provider's (`theirs`), whole or as a stream. */
static void put_answer(session *x, daruma_str body, daruma_outcome o, bool theirs)
{
    body = session_listed(x, body);
    if (!has_begun(x) && !x->client.blank) {
        answer(x, 200, x->client.streaming ? S("text/event-stream; charset=utf-8") : S("application/json"), body, o,
               theirs);
        return;
    }
    session_write(x, body);
    if (has_begun(x))
        finish_comment(x, o, false);
}

/* There is no rung that fits: whoever asked gets the failure as it came (P-F10). */
static bool raises(const session *x)
{
    return session_last(x)->remedy.remedy == DARUMA_REMEDY_NONE &&
           session_last(x)->remedy.rung == x->kase.policy->nrungs && x->kase.attempts > 0;
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
    if (!x->out.scan.keeps || str_find(body, S("\"thread_")) != STR_NONE)
        return (daruma_str){0};
    bool elsewhere = f->kind == DARUMA_INVALID_MESSAGE && !x->sent; /* nobody who may be asked has it */
    if (x->out.scan.remote && (f->kind == DARUMA_ORPHAN_TOOL_CALL || elsewhere))
        return S("thread_not_found");
    bool named = str_find(f->message, S("thread")) != STR_NONE || str_eq(f->subject, S("thread"));
    return f->kind == DARUMA_INVALID_PARAMETER && named ? S("thread_unsupported_request") : (daruma_str){0};
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
    x->answer.theirs = r->theirs;
    x->p = r->p;
    x->kase.target = r->target;
}

void session_remember(session *x)
{
    if (!x->kase.ntargets || !x->kase.attempts || !x->d || !x->asked.n)
        return;
    memory_case_put(x->v->mem, session_request_hash(x), session_now(x).now, &x->kase);
}

/* ---- how it ends ---- */

/* What came of an ending that was tried. */
typedef enum ended {
    ENDED_NOT,  /* it does not fit, or cannot be written: nothing was */
    ENDED_WELL, /* the client has all of it */
    ENDED_CUT,  /* ... perhaps not all: the connection breaks off */
} ended;

typedef struct ending {
    ended (*put)(session *x, const struct ending *e); /* hands it to the client */
    daruma_outcome outcome;
    daruma_remedy_kind did; /* what the client and the counts are told of it */
    bool failed;            /* the case is kept for the retry of the client's SDK */
    daruma_str reason;      /* in the event; empty: the explanation */
    daruma_str words;       /* what a message says; empty: the explanation */
} ending;

static ended ended_whole(const session *x)
{
    return x->arena->full ? ENDED_CUT : ENDED_WELL; /* what was written of us may lack its end */
}

/* The answer that the output cap cut within a call, without that call: behind what went out of it, or whole, as one
 * that daruma had to do something for. */
static ended put_cut(session *x, const ending *e)
{
    const turn *cut = session_last(x)->cut;
    bool begun = x->client.forwarded > 0, newest = session_last(x)->cut_by == x->kase.attempts;
    if (!cut || !x->d || (begun ? !newest : goes_on_there(x)))
        return ENDED_NOT;
    if (begun) {
        if (!talk_close(x, S(""), cut->finish))
            return ENDED_NOT;
        session_did(x, e->did);
        finish_comment(x, e->outcome, false);
        return ENDED_WELL;
    }
    daruma_buf out = buf_in(x->arena);
    write_ctx w = session_writes(x);
    if (!x->client.streaming && !has_begun(x))
        x->d->write_answer(cut, &w, &out);
    else if (!dialect_stream_answer(cut, x->d, &w, x->out.scan.usage_asked, &out, x->arena))
        return ENDED_NOT;
    if (out.full)
        return ENDED_NOT;
    session_did(x, e->did);
    put_answer(x, buf_str(&out), e->outcome, false);
    return ENDED_WELL;
}

/* The answer that was found wrong, as it came. */
static ended put_given(session *x, const ending *e)
{
    daruma_str given = session_last(x)->given;
    if (x->t && x->answer.mode == ANSWER_RELAYED && talk_give(x)) {
        session_did(x, e->did);
        account_remember(x, (daruma_str){0});
        finish_comment(x, e->outcome, false);
        return ENDED_WELL;
    }
    if (!given.n || x->client.forwarded)
        return ENDED_NOT;
    session_did(x, e->did);
    x->kase.target = session_last(x)->given_by;
    put_answer(x, given, e->outcome, session_last(x)->given_at == x->kase.attempts);
    account_remember(x, given);
    return ENDED_WELL;
}

/* Bytes we do not understand: the client must see that they broke off. */
static ended put_nothing(session *x, const ending *e)
{
    (void)e;
    return x->answer.mode == ANSWER_PASSED || x->answer.passes_long || !x->d ? ENDED_CUT : ENDED_NOT;
}

static void put_error_event(session *x, const dialect *d, const daruma_failure *f, const ending *e)
{
    daruma_buf out = buf_in(x->arena);
    daruma_str note = explanation(x);
    dialect_write_stream_error(d, &out, f, status_of(f), error_message(x, note), note, talk_reached(x));
    session_write(x, buf_str(&out));
    session_did(x, e->did);
}

/* Behind a part of an answer, the provider's own error event in its own stream, or one of ours. */
static ended put_interrupted(session *x, const ending *e)
{
    if (x->answer.failed_event.n && (!x->t || talk_is_plain(x)))
        session_write(x, x->answer.failed_event);
    else
        put_error_event(x, x->d, &session_last(x)->failure, e);
    finish_comment(x, e->outcome, true);
    return ended_whole(x);
}

static ended put_words(session *x, const ending *e, daruma_str words)
{
    daruma_buf out = buf_in(x->arena);
    write_ctx w = session_writes(x);
    session_did(x, e->did);
    dialect_say(words, x->d, &w, x->client.streaming || has_begun(x), x->out.scan.usage_asked, &out, x->arena);
    put_answer(x, buf_str(&out), e->outcome, false);
    return ended_whole(x);
}

/* A message in the model's place. */
static ended put_message(session *x, const ending *e)
{
    return put_words(x, e, marked(x, DIALECT_NOTICE, e->words.n ? e->words : explanation(x)));
}

/* The agent is stopped: a message of ours that ends its run. */
static ended put_stopped(session *x, const ending *e)
{
    daruma_str words = marked(x, DIALECT_STOPPED, e->words);
    if (!x->client.forwarded)
        return put_words(x, e, words);
    if (!talk_close(x, words, FINISH_STOP))
        return ENDED_NOT;
    session_did(x, e->did);
    finish_comment(x, e->outcome, false);
    return ENDED_WELL;
}

/* The provider's own error, with a note of ours where it fits in, or one of ours. */
static ended put_error(session *x, const ending *e)
{
    const dialect *d = x->speaks;
    daruma_str theirs = session_last(x)->body;
    daruma_buf out = buf_in(x->arena);
    daruma_failure f = session_last(x)->failure;
    daruma_str thread = thread_code(x, theirs);
    if (x->client.blank)
        return ENDED_CUT; /* an error whose status cannot be said any more is a connection that ends */
    if (session_passes(x) && x->answer.status >= 400) {
        session_head(x, x->answer.status, session_last(x)->headers, session_last(x)->nheaders, DARUMA_OUTCOME_FAILED,
                     x->answer.cut ? -1 : (int64_t)theirs.n);
        session_write(x, theirs);
        return x->answer.cut ? ENDED_CUT : ended_whole(x); /* its client must not take a part for the whole */
    }
    if (thread.n)
        f.code = thread;
    if (x->client.head_out) {
        put_error_event(x, d, &f, e);
        finish_comment(x, e->outcome, true);
        return ended_whole(x);
    }
    daruma_str note = explanation(x);
    int status = status_of(&f);
    bool fits = !thread.n && theirs.n && x->p == x->d && d->is_error(theirs);
    bool bare = raises(x) || !x->kase.policy->enabled; /* nothing was done about it, and nothing is said */
    if (fits && (bare || !dialect_add_note(&out, theirs, note))) {
        out = buf_in(x->arena);
        buf_put(&out, theirs);
    } else {
        if (!fits)
            d->write_error(&out, &f, status, error_message(x, note), note);
        session_did(x, e->did);
    }
    answer(x, status, S("application/json"), session_listed(x, buf_str(&out)), e->outcome, true);
    return ended_whole(x);
}

typedef enum ending_kind {
    END_CUT,
    END_GIVEN,
    END_BROKEN_OFF,
    END_INTERRUPTED,
    END_STOPPED,
    END_APOLOGY,
    END_MESSAGE,
    END_ERROR
} ending_kind;

// clang-format off
static const ending endings[] = {
    [END_CUT]         = {put_cut, DARUMA_OUTCOME_DEGRADED, DARUMA_REMEDY_KEEP_PARTIAL, .reason = LIT(
        "the output cap cut a tool call each time: the answer ends there, with what was said before the call")},
    [END_GIVEN]       = {put_given, DARUMA_OUTCOME_DEGRADED, DARUMA_REMEDY_KEEP_PARTIAL, .reason = LIT(
        "the model was asked again in vain: its answer goes out as it came")},
    [END_BROKEN_OFF]  = {put_nothing, DARUMA_OUTCOME_FAILED, DARUMA_REMEDY_NONE, .failed = false},
    [END_INTERRUPTED] = {put_interrupted, DARUMA_OUTCOME_DEGRADED, DARUMA_REMEDY_EXPLAIN, .failed = false},
    [END_STOPPED]     = {put_stopped, DARUMA_OUTCOME_DEGRADED, DARUMA_REMEDY_STOP_PARTIAL, .failed = false},
    [END_APOLOGY]     = {put_message, DARUMA_OUTCOME_EXPLAINED, DARUMA_REMEDY_APOLOGISE, .failed = true},
    [END_MESSAGE]     = {put_message, DARUMA_OUTCOME_EXPLAINED, DARUMA_REMEDY_EXPLAIN, .failed = true},
    [END_ERROR]       = {put_error, DARUMA_OUTCOME_FAILED, DARUMA_REMEDY_EXPLAIN, .failed = true},
};
// clang-format on

static void announce(session *x, const ending *as)
{
    late_tell(x, as->outcome, false);
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_failure f = session_last(x)->failure;
    bool stopped = as->did == DARUMA_REMEDY_STOP_PARTIAL; /* nothing failed */
    if (f.severity == DARUMA_RETRIABLE && !f.retryable)
        f.severity = DARUMA_CRITICAL; /* what would have mended it did not */
    e.attempts = x->kase.attempts;
    e.failure = stopped ? NULL : &f;
    e.remedy = stopped ? NULL : &session_last(x)->remedy;
    if (!stopped && x->kase.attempts > 1)
        session_tell(x, DARUMA_WHEN_EXHAUSTED, &e);
    e.outcome = as->outcome;
    e.took = session_now(x).now - x->opened;
    if (stopped) {
        e.name = "agent_stopped";
        e.reason = as->words;
    } else {
        if (!daruma_event_when(&e, DARUMA_WHEN_GIVEN_UP, &x->kase))
            return;
        if (!e.reason.n)
            e.reason = as->reason.n ? as->reason : explanation(x);
        e.tried = session_last(x)->tried;
        e.ntried = session_last(x)->ntried;
    }
    session_event(x, &e);
}

/* `words`: what a message says, empty: the explanation. False: it does not end so. */
static bool end_as(session *x, ending_kind kind, daruma_str words)
{
    ending e = endings[kind];
    e.words = words;
    if (e.failed) {
        session_remember(x);
        session_mend_gave_up(x);
    }
    ended how = e.put(x, &e);
    if (how == ENDED_NOT)
        return false;
    x->due.beat_at = x->due.progress_by = x->due.act_at = -1;
    announce(x, &e);
    session_end(x, e.outcome, how == ENDED_CUT ? DRIVE_BREAK : DRIVE_END);
    return true;
}

static void end_interrupted(session *x)
{
    if (!end_as(x, END_BROKEN_OFF, S("")))
        end_as(x, END_INTERRUPTED, S(""));
}

void finish_partial(session *x)
{
    if (!end_as(x, END_STOPPED, steer_partial(x)))
        end_interrupted(x);
}

void finish_apology(session *x, daruma_str text)
{
    end_as(x, text.n ? END_APOLOGY : END_MESSAGE, text);
}

void session_give_up(session *x)
{
    daruma_kind k = session_last(x)->failure.kind;
    bool circles = k == DARUMA_LOOP || k == DARUMA_STUCK; /* what is done about an agent is no matter of its answer */
    bool speaks = !raises(x) && !circles;                 /* what the model said may go out */
    if (speaks && (end_as(x, END_CUT, S("")) || end_as(x, END_GIVEN, S(""))))
        return;
    if (session_gone_out(x)) { /* who has a part of an answer gets no message in the model's place behind it */
        end_interrupted(x);
        return;
    }
    take_refusal(x);
    bool message = as_message(x) && !raises(x);
    if (message && session_last(x)->remedy.remedy == DARUMA_REMEDY_APOLOGISE && session_mend_apologise(x))
        return; /* finish_apology() goes on */
    end_as(x, message ? END_MESSAGE : END_ERROR, S(""));
}
