/* failed.c - an attempt failed: what was seen is judged, a remedy is chosen and carried out. One that does not fit
 * gives way to the next of its ladder; the last one ends the session (finish.c). */
#include "base/arena.h"
#include "base/check.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/late.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/request/account.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/waiting.h"

/* Keeps what the final answer may need: the provider's own words, in memory of the call. */
static void keep_failure(session *x, last_failure *l, const daruma_evidence *ev)
{
    daruma_arena *a = x->arena;
    l->body = ev->status >= 400 || ev->flaw == DARUMA_FLAW_ERROR_EVENT ? arena_copy(a, session_redact(x, ev->body))
                                                                       : (daruma_str){0};
    l->headers = ev->nheaders ? ARENA_NEW(a, daruma_header, ev->nheaders) : NULL;
    l->nheaders = l->headers ? ev->nheaders : 0;
    for (size_t i = 0; i < l->nheaders; i++)
        l->headers[i] = (daruma_header){arena_copy(a, ev->headers[i].name), arena_copy(a, ev->headers[i].value)};
    session_redact_fields(x, l->headers, l->nheaders);
    if (x->answer.mode != ANSWER_RELAYED) /* of a stream that goes out it was kept, its fields are gone */
        x->answer.theirs = session_their_id(l->headers, l->nheaders);
}

/* A path that is not ours to repeat may still be repeated when nothing can have happened yet. */
static bool safe_again(const session *x, const daruma_evidence *ev)
{
    return x->safe || ev->phase == DARUMA_AT_CONNECT || ev->status == 429 || ev->status == 401 ||
           session_lacks_model(x, ev->status);
}

void session_did(session *x, daruma_remedy_kind r)
{
    x->v->counts.remedies[r]++;
    daruma_case_did(&x->kase, r);
}

void session_tell_begin(session *x)
{
    daruma_event e = DARUMA_EVENT_INIT;
    if (x->recovering)
        return;
    x->recovering = true;
    e.failure = &session_last(x)->failure;
    e.remedy = &session_last(x)->remedy;
    e.delay = session_last(x)->remedy.wait;
    session_tell(x, DARUMA_WHEN_BEGIN, &e);
}

bool session_filtered(const session *x, daruma_str finish)
{
    bool matters = x->kase.nreserve || session_last(x)->failure.kind == DARUMA_CONTENT_FILTER;
    return matters && finish.n && x->p->finish(finish) == FINISH_FILTER;
}

/* -1: the provider did not say how many. */
static int64_t said_tokens(int64_t tokens)
{
    return tokens > 0 ? tokens : -1;
}

static void count_failed(session *x, const daruma_failure *f, daruma_ms took)
{
    x->v->counts.kinds[f->kind]++;
    daruma_event e = DARUMA_EVENT_INIT;
    e.failure = f;
    e.attempt = x->kase.attempts;
    e.took = took;
    e.input_tokens = said_tokens(x->answer.view.input_tokens);
    e.output_tokens = said_tokens(x->answer.view.output_tokens);
    session_tell(x, DARUMA_WHEN_FAILED, &e);
}

/* The remedy of the last failure is carried out now. */
static void count_again(session *x)
{
    daruma_event e = DARUMA_EVENT_INIT;
    const daruma_remedy *r = &session_last(x)->remedy;
    session_tell_begin(x);
    x->v->counts.remedies[r->remedy]++;
    e.failure = &session_last(x)->failure;
    e.remedy = r;
    e.delay = r->wait;
    e.attempt = x->kase.attempts + 1;
    uint32_t most = x->kase.policy->kinds[session_last(x)->failure.kind].max_attempts;
    e.max_attempts = most ? most : x->kase.policy->max_attempts;
    if (r->target >= 0)
        e.target = &x->targets[r->target];
    session_tell(x, DARUMA_WHEN_AGAIN, &e);
}

void session_resent(session *x)
{
    last_failure *l = x->last;
    x->v->counts.calls++;
    count_failed(x, &l->failure, session_now(x).now - x->answer.started);
    l->remedy = (daruma_remedy){.remedy = DARUMA_REMEDY_RETRY_FRESH, .act = DARUMA_SEND, .target = x->kase.target};
    count_again(x);
    daruma_case_resent(&x->kase);
}

static void obey(session *x, daruma_remedy r)
{
    count_again(x);
    if (r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS) {
        daruma_health_refreshed(x->v->health, &x->targets[x->kase.target]);
        driver_wake(x->v);
        session_key_fetch(x, x->kase.target, true);
        return;
    }
    if (r.wait == 0)
        session_attempt(x);
    else {
        const daruma_failure *f = &session_last(x)->failure;
        late_begin(x, (daruma_spent){.on = f->wait > 0 ? DARUMA_SPENT_ADVISED : DARUMA_SPENT_BACKOFF,
                                     .kind = f->kind,
                                     .who = f->wait > 0 ? DARUMA_SICK_PROVIDER : DARUMA_SICK_TARGET,
                                     .target = &x->targets[x->kase.target],
                                     .usual = -1});
        session_wait(x, r.wait, r.target, r.target == x->kase.target ? f->wait : 0);
    }
}

size_t session_gone_out(const session *x)
{
    return x->client.forwarded ? x->client.forwarded : x->answer.mode == ANSWER_PASSED;
}

static void settle(session *x)
{
    if (session_last(x)->remedy.act == DARUMA_SEND)
        obey(x, session_last(x)->remedy);
    else if (session_last(x)->remedy.remedy == DARUMA_REMEDY_STOP_PARTIAL && x->steer)
        finish_partial(x);
    else
        session_give_up(x);
}

/* A target in reserve is asked now. Should it fail as well, its failure is none of what the client asked for. */
static void keep_refusal(session *x)
{
    last_failure *l = x->last;
    l->refusal = ARENA_NEW(x->arena, refusal, 1);
    if (l->refusal)
        *l->refusal = (refusal){.failure = l->failure,
                                .body = l->body,
                                .theirs = x->answer.theirs,
                                .headers = l->headers,
                                .nheaders = l->nheaders,
                                .p = x->p,
                                .target = x->kase.target};
}

static void choose(session *x)
{
    size_t reserve = x->kase.nreserve;
    check(x->last); /* something failed */
    x->last->remedy = daruma_case_next(&x->kase, &x->last->failure, session_gone_out(x), session_now(x));
    if (reserve && !x->kase.nreserve)
        keep_refusal(x);
    session_step(x, &(drive_step){.what = DRIVE_CHOSE, .remedy = &x->last->remedy});
}

/* The remedy does not fit: the ladder is climbed on. */
static void climb(session *x)
{
    session_step(x, &(drive_step){.what = DRIVE_UNFIT, .remedy = &session_last(x)->remedy});
    choose(x);
}

/* Mends what the remedy says, or the first one behind it that fits. */
static void carry_out(session *x)
{
    while (session_last(x)->remedy.act == DARUMA_SEND && session_mend_is(session_last(x)->remedy.remedy)) {
        session_mend_result h = session_mend_apply(x, session_last(x)->remedy.remedy);
        if (h == SESSION_MEND_SEND)
            break;
        if (h == SESSION_MEND_WAITS)
            return;
        climb(x);
    }
    settle(x);
}

void session_mended(session *x, bool fit)
{
    if (fit) {
        settle(x);
        return;
    }
    climb(x);
    carry_out(x);
}

void session_asked(const session *x, daruma_evidence *ev)
{
    if (x->v->host->beside)
        ev->beside = x->v->host->beside(x->user, x->arena);
    if (!x->d || x->opaque || !x->out.body.n)
        return;
    ev->request = x->asked;
    ev->model = x->out.scan.model;
}

/* Says of `seen` what is wrong, and what that means for the request. */
static void judge(session *x, daruma_failure *f, const daruma_evidence *seen, daruma_moment at)
{
    *f = daruma_classify(seen, at, x->arena);
    *f = daruma_judge(x->kase.policy, seen, f);
    bool all = str_eq(f->own, f->message);
    f->message = session_tool_words(x, f->message);
    f->own = all ? f->message : session_tool_words(x, f->own);
    f->subject = session_tool_words(x, f->subject);
    if (x->answer.too_long) {
        f->ours = true;
        f->retryable = false;
        f->code = S("answer_too_long");
        f->message = f->own = str_of(x->answer.too_long);
    }
    session_api_look(x, f);
    session_mend_reconsider(x, f);
    session_tried(x, x->kase.target, f);
    session_step(x, &(drive_step){.what = DRIVE_JUDGED,
                                  .failure = f,
                                  .target = &x->targets[x->kase.target],
                                  .input_tokens = said_tokens(x->answer.view.input_tokens),
                                  .output_tokens = said_tokens(x->answer.view.output_tokens)});
}

/* Of an answer that met a limit of ours only who speaks the client's own dialect may have one that passes. False:
 * nobody of them is left to ask. */
static bool asks_own(session *x, daruma_failure *f)
{
    bool any = false;
    for (int i = 0; i < (int)x->kase.ntargets && i < DARUMA_CASE_TRIED; i++) {
        if (i == x->kase.target || session_dialect(x, i) != x->d)
            x->kase.spoiled[i] = 1;
        any |= !x->kase.spoiled[i];
    }
    any &= !session_gone_out(x);
    f->retryable = any;
    x->kase.useless &= !any; /* to ask another is no second try of its words */
    return any;
}

/* True if the client has the beginning of a stream that called in a wrong way, and no call of it. As its own model may
 * be asked again, so may another one: what it says is held until it is known to be good. */
static bool called_badly(const session *x, const daruma_failure *f)
{
    return f->kind == DARUMA_MALFORMED_OUTPUT && x->answer.mode == ANSWER_RELAYED && x->h && x->h->past.m.bad &&
           talk_was_cut(x);
}

/* An answer that met a limit of ours ends the request: its provider did what it was asked to. */
static void end_too_long(session *x, daruma_moment at)
{
    daruma_case_drop(&x->kase, at);
    x->last->remedy = (daruma_remedy){.remedy = DARUMA_REMEDY_EXPLAIN, .act = DARUMA_KEEP, .target = x->kase.target};
    session_step(x, &(drive_step){.what = DRIVE_CHOSE, .remedy = &x->last->remedy});
    driver_wake(x->v);
    session_scratch_reset(x);
    session_give_up(x);
}

void session_too_long(session *x, const char *limit)
{
    daruma_evidence ev = relay_evidence(x, x->client.streaming ? DARUMA_AT_STREAM : DARUMA_AT_ANSWER);
    ev.flaw = session_gone_out(x) ? DARUMA_FLAW_CUT : DARUMA_FLAW_BROKEN;
    ev.body = (daruma_str){0};
    x->answer.too_long = limit;
    session_failed(x, &ev);
}

void session_failed(session *x, const daruma_evidence *ev)
{
    daruma_moment at = session_now(x);
    daruma_evidence seen = *ev;
    void *out = x->call.handle;
    x->call.handle = NULL; /* it is cancelled when its bytes are not needed any more */
    x->due.progress_by = x->due.look_at = -1;
    if (x->answer.view.effects && x->answer.mode == ANSWER_RELAYED && x->t)
        talk_let_go(x);
    if (x->client.streaming && x->client.head_out && x->due.beat_at < 0)
        x->due.beat_at = at.now + HEARTBEAT_EVERY_MS; /* the client hears from us until it goes on */
    seen.took = at.now - x->answer.started;
    seen.forwarded = session_gone_out(x);
    x->hedge.went_on |= seen.forwarded > 0;
    seen.provider = x->d ? x->p->provider : S("");
    seen.model_call = true;
    seen.body = session_redact_sent(x, seen.body);
    last_failure *l = session_last_new(x);
    if (!l) {
        x->call.handle = out;
        session_no_memory(x);
        return;
    }
    keep_failure(x, l, &seen);
    seen.body = str_sub(seen.body, 0, CLASSIFY_BODY_BYTES_MAX);
    session_asked(x, &seen);
    daruma_failure *f = &l->failure;
    judge(x, f, &seen, at);
    if (out)
        x->v->host->cancel(out);
    x->v->counts.wasted_ms += (uint64_t)seen.took;
    count_failed(x, f, seen.took);
    x->kase.safe_twice = safe_again(x, &seen);
    x->kase.done_once = !session_passes(x) && effects_done(x, &seen);
    if (x->kase.done_once)
        hedge_cancel(x);
    if (f->ours)
        daruma_case_answered(&x->kase, at);
    if (hedge_takes_over(x, f))
        return;
    late_call_over(x, ev->net == DARUMA_NET_TOTAL_TIMEOUT ? DARUMA_SPENT_ENDED : DARUMA_SPENT_FAILED, at.now);
    x->kase.capped = l->cut && l->cut_by == x->kase.attempts;
    x->kase.anew = called_badly(x, f);
    if (f->ours && !asks_own(x, f)) {
        end_too_long(x, at);
        return;
    }
    if (x->t && x->answer.mode == ANSWER_RELAYED &&
        talk_unsure(x)) /* it answered; that nobody can join it is our trouble */
        daruma_case_answered(&x->kase, at);
    session_stay(x, -1);
    session_loosen(x, f);
    choose(x);
    driver_wake(x->v);
    session_scratch_reset(x);
    carry_out(x);
}
