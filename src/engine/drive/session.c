/* session.c - the life of one request: what it holds, its clocks, and what is done when an attempt went well, failed,
 * or the client left. The engine judges and decides; here it is obeyed.
 *
 *   open.c -> attempt.c -> relay.c -> session_done             the answer is out
 *                 ^          |
 *                 |          v
 *                 +-- session_failed -> finish.c               explained
 */
#include "base/arena.h"
#include "base/check.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/attempt.h"
#include "engine/drive/effects.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/open.h"
#include "engine/drive/request/account.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"
#include "engine/drive/request/bodies.h"
#include <string.h>

/* ---- taking and giving back ---- */

void *session_user(const session *x)
{
    return x->user;
}

size_t session_bytes(void)
{
    return sizeof(session);
}

daruma_moment session_now(const session *x)
{
    driver *v = x->v;
    daruma_moment at = v->at;
    uint64_t z = at.dice + ++v->dice * 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    at.dice = z ^ (z >> 31);
    return at;
}

last_failure *session_last_new(session *x)
{
    if (!x->last)
        x->last = ARENA_NEW(x->arena, last_failure, 1);
    return x->last;
}

void session_scratch_reset(session *x)
{
    x->v->rooms->close(&x->answer.scratch);
    x->answer.held = (daruma_buf){0};
    x->answer.parsed = 0;
    x->answer.headers = NULL;
    x->answer.nheaders = 0;
}

static void waits_no_more(session *x);

/* Work that goes on keeps what it reads. */
static void leave_work(session *x)
{
    if (!x->working)
        return;
    drive_remains r = {.texts = session_disown(x), .mending = x->h, .stream = x->t, .scratch = x->answer.scratch};
    x->working = false;
    x->h = NULL;
    x->t = NULL;
    x->answer.scratch = (daruma_arena){0};
    x->v->host->work_left(x->user, &r);
}

void drive_remains_close(const driver *v, drive_remains *r)
{
    if (r->mending)
        session_mend_free(r->mending);
    drive_texts_close(v->rooms, r->texts);
    talk_free(v->rooms, r->stream);
    v->rooms->close(&r->scratch);
    *r = (drive_remains){0};
}

static void give_back(session *x)
{
    waits_no_more(x);
    session_scratch_reset(x);
    drive_texts_close(x->v->rooms, session_disown(x));
    talk_free(x->v->rooms, x->t);
    x->t = NULL;
}

bool session_work(session *x, size_t bytes, const drive_work *kind, void *data)
{
    if (!x->v->host->work)
        kind->work(data);
    else
        x->working = !x->v->host->work(x->user, bytes, kind, data);
    x->v->counts.jobs += x->working;
    return !x->working;
}

void session_worked(session *x, const drive_work *kind, void *data)
{
    x->working = false;
    kind->then(x, data);
}

/* ---- acts ---- */

void session_head(session *x, int status, const daruma_header *h, size_t n, daruma_outcome o, int64_t length)
{
    bool scratch = x->answer.scratch.host && !x->answer.scratch.full; /* the host keeps nothing of it */
    drive_answer a = {.status = status,
                      .headers = h,
                      .nheaders = n,
                      .outcome = o,
                      .length = length,
                      .a = scratch ? &x->answer.scratch : x->arena};
    x->client.head_out = true;
    x->v->host->head(x->user, &a);
}

bool session_write(session *x, daruma_str bytes)
{
    return !x->client.here || x->v->host->write(x->user, bytes);
}

void session_cancel(drive_call *c)
{
    void *handle = c->handle;
    c->handle = NULL;
    if (handle)
        c->x->v->host->cancel(handle);
}

uint64_t session_tenant(session *x)
{
    if (!x->client.tenant)
        x->client.tenant = x->v->host->tenant(x->user);
    return x->client.tenant;
}

/* ---- clocks ---- */

void session_timer(session *x)
{
    x->v->host->timer(
        x->user, sooner_of(sooner_of(x->due.act_at, x->due.beat_at), sooner_of(x->due.progress_by, x->due.look_at)));
}

void session_wait(session *x, daruma_ms wait)
{
    x->due.act_at = add_sat(session_now(x).now, wait);
    if (!x->due.patient) {
        x->due.patient = true;
        x->due.next = x->v->patient;
        x->v->patient = x;
    }
    session_timer(x);
}

static void waits_no_more(session *x)
{
    session **link = &x->v->patient;
    if (!x->due.patient)
        return;
    while (*link != x)
        link = &(*link)->due.next;
    *link = x->due.next;
    x->due.patient = false;
}

/* Each asks from its own timer: nobody is called in the midst of what somebody else does. */
void driver_wake(driver *v)
{
    uint32_t healed = daruma_health_healed(v->health);
    if (healed == v->healed)
        return;
    v->healed = healed;
    for (session *x = v->patient; x; x = x->due.next) {
        x->due.act_at = v->at.now;
        session_timer(x);
    }
}

void session_pending_head(session *x, int status, const daruma_header *h, size_t n)
{
    session_head(x, status, h, n, DARUMA_OUTCOME_PENDING, -1);
    daruma_ms until = add_sat(x->opened, x->o->total ? x->o->total : CLIENT_HEAD_MS);
    if (!x->client.until_head || x->kase.deadline < 0 || x->kase.deadline >= until)
        return;
    x->kase.deadline = until;
    if (x->call.handle && x->v->host->limit)
        x->v->host->limit(x->call.handle, until - x->answer.started);
    hedge_limit(x, until);
}

/* A streaming client that waits hears from us, and so does every box between us that cuts silent
 * connections. From here on the status is 200, whatever comes. An answer that has begun and of which nothing comes any
 * more is not kept open for ever: its client's own clock ends it. */
static void heartbeat(session *x, daruma_ms now)
{
    x->due.beat_at = now + HEARTBEAT_EVERY_MS;
    if (x->answer.mode == ANSWER_RELAYED && x->due.beats++ >= HEARTBEATS_SILENT_MAX)
        return;
    if (!x->client.head_out) {
        daruma_header stream[] = {{S("content-type"), S("text/event-stream; charset=utf-8")},
                                  {S("cache-control"), S("no-cache")}};
        session_pending_head(x, 200, stream, 2);
        x->client.pending = true;
    }
    session_write(x, x->d->heartbeat);
}

void session_clock(session *x)
{
    daruma_ms now = x->v->at.now;
    if (x->due.progress_by >= 0 && now >= x->due.progress_by && relay_progress_late(x))
        return;
    if (x->due.beat_at >= 0 && now >= x->due.beat_at)
        heartbeat(x, now);
    if (x->due.look_at >= 0 && now >= x->due.look_at) {
        hedge_look(x); /* arms the timer */
        return;
    }
    if (x->due.act_at >= 0 && now >= x->due.act_at) {
        x->due.act_at = -1;
        waits_no_more(x);
        session_attempt(x);
        return;
    }
    session_timer(x);
}

/* ---- the end ---- */

void session_end(session *x, daruma_outcome o, drive_end how)
{
    drive_counts *n = &x->v->counts;
    hedge_cancel(x);
    leave_work(x);
    session_mend_gone(x);
    daruma_case_close(&x->kase, o, session_now(x));
    driver_wake(x->v);
    n->waited_ms += (uint64_t)x->kase.waited;
    if (!x->d) {
        n->passed++;
        n->passed_recovered += o == DARUMA_OUTCOME_RECOVERED;
    } else {
        n->requests++;
        uint64_t *by[] = {[DARUMA_OUTCOME_OK] = &n->ok,
                          [DARUMA_OUTCOME_RECOVERED] = &n->recovered,
                          [DARUMA_OUTCOME_DEGRADED] = &n->degraded,
                          [DARUMA_OUTCOME_EXPLAINED] = &n->explained,
                          [DARUMA_OUTCOME_ESCALATED] = &n->failed,
                          [DARUMA_OUTCOME_FAILED] = &n->failed,
                          [DARUMA_OUTCOME_CANCELLED_] = &n->cancelled,
                          [DARUMA_OUTCOME_PENDING] = &n->failed};
        ++*by[o];
    }
    if (o == DARUMA_OUTCOME_RECOVERED && x->kase.attempts > 1) /* else nothing failed, something was mended */
        n->saved[x->kase.last]++;
    x->client.here = false;
    session_tell_result(x, o);
    give_back(x);
    x->v->host->over(x->user, how);
}

/* ---- how it went ---- */

/* Tells how a case ended in which a call failed, be it one beside the answer, or in which something was mended and sent
 * again. */
static void tell_done(session *x, daruma_outcome o, int64_t input_tokens, int64_t output_tokens)
{
    bool failed = session_last(x)->ntried || x->recovering,
         less = o != DARUMA_OUTCOME_OK && o != DARUMA_OUTCOME_RECOVERED;
    bool recovered = o == DARUMA_OUTCOME_RECOVERED && x->kase.attempts > 1; /* else something was mended */
    daruma_event e = DARUMA_EVENT_INIT;
    if (!recovered && (!failed || o == DARUMA_OUTCOME_RECOVERED))
        return;
    e.failure = session_last(x)->failure.kind ? &session_last(x)->failure : NULL;
    e.outcome = o;
    e.attempts = x->kase.attempts;
    e.took = x->v->at.now - x->opened;
    e.input_tokens = input_tokens > 0 ? input_tokens : -1;
    e.output_tokens = output_tokens > 0 ? output_tokens : -1;
    if (less)
        e.reason = o == DARUMA_OUTCOME_FAILED ? S("the provider refused it in the end: its words are passed on")
                                              : S("the model was asked again in vain: its answer goes out as it came");
    session_tell(x, less ? DARUMA_WHEN_GIVEN_UP : DARUMA_WHEN_RECOVERED, &e);
}

void session_done(session *x, int64_t input_tokens, int64_t output_tokens, drive_end how)
{
    daruma_moment at = session_now(x);
    const daruma_target *t = &x->targets[x->kase.target];
    daruma_outcome o = relay_outcome(x);
    hedge_cancel(x);
    daruma_case_done(&x->kase, at);
    x->kase.outcome = o; /* what the answer says is not known to it */
    session_mend_worked(x, input_tokens);
    session_api_worked(x);
    betas_worked(x);
    watch_answered(x);
    if (x->v->host->key_worked)
        x->v->host->key_worked(x->user, t);
    account_remember(x, (daruma_str){0});
    if (x->out.scan.conversation && x->kase.ntargets > 1)
        memory_session_set(x->v->mem, session_session(x), t->key_id);
    tell_done(x, o, input_tokens, output_tokens);
    x->answer.view.input_tokens = input_tokens;
    x->answer.view.output_tokens = output_tokens;
    session_end(x, o, how);
}

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

/* Calls one target may get for the failure at hand. */
static int64_t tries_of(const session *x)
{
    const daruma_policy *p = x->kase.policy;
    uint32_t n = p->kinds[session_last(x)->failure.kind].max_attempts;
    return n ? n : p->max_attempts;
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

void session_resent(session *x)
{
    drive_counts *n = &x->v->counts;
    daruma_event failed = DARUMA_EVENT_INIT, again = DARUMA_EVENT_INIT;
    last_failure *l = x->last;
    n->kinds[l->failure.kind]++;
    n->remedies[DARUMA_REMEDY_RETRY_FRESH]++;
    n->calls++;
    failed.failure = &l->failure;
    failed.attempt = x->kase.attempts;
    failed.took = session_now(x).now - x->answer.started;
    session_tell(x, DARUMA_WHEN_FAILED, &failed);
    l->remedy = (daruma_remedy){.remedy = DARUMA_REMEDY_RETRY_FRESH, .act = DARUMA_SEND, .target = x->kase.target};
    session_tell_begin(x);
    again.failure = &l->failure;
    again.remedy = &l->remedy;
    again.delay = 0;
    again.attempt = x->kase.attempts + 1;
    again.max_attempts = tries_of(x);
    again.target = &x->targets[x->kase.target];
    session_tell(x, DARUMA_WHEN_AGAIN, &again);
    daruma_case_resent(&x->kase);
}

static void obey(session *x, daruma_remedy r)
{
    daruma_event e = DARUMA_EVENT_INIT;
    session_tell_begin(x);
    x->v->counts.remedies[r.remedy]++;
    e.failure = &session_last(x)->failure;
    e.remedy = &r;
    e.delay = r.wait;
    e.attempt = x->kase.attempts + 1;
    e.max_attempts = tries_of(x);
    if (r.target >= 0)
        e.target = &x->targets[r.target];
    session_tell(x, DARUMA_WHEN_AGAIN, &e);
    if (r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS) {
        x->refreshing = true;
        daruma_health_refreshed(x->v->health, &x->targets[x->kase.target]);
        driver_wake(x->v);
        x->v->host->key_fetch(x->user, &x->targets[x->kase.target], true);
        return;
    }
    if (r.wait == 0)
        session_attempt(x);
    else
        session_wait(x, r.wait);
}

size_t session_gone_out(const session *x)
{
    return x->client.forwarded ? x->client.forwarded : x->answer.mode == ANSWER_PASSED;
}

static void settle(session *x)
{
    switch (session_last(x)->remedy.act) {
    case DARUMA_SEND:
        obey(x, session_last(x)->remedy);
        break;
    case DARUMA_KEEP:
    case DARUMA_HOLD:
    case DARUMA_STOP:
        if (session_last(x)->remedy.remedy == DARUMA_REMEDY_STOP_PARTIAL && x->steer)
            finish_partial(x);
        else
            session_give_up(x);
        break;
    }
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

static void choose_other(session *x)
{
    session_step(x, &(drive_step){.what = DRIVE_UNFIT, .remedy = &session_last(x)->remedy});
    choose(x);
}

/* Mends what the remedy says; when it does not fit, the ladder is climbed on. */
static void carry_out(session *x)
{
    while (session_last(x)->remedy.act == DARUMA_SEND && session_mend_is(session_last(x)->remedy.remedy)) {
        session_mend_result h = session_mend_apply(x, session_last(x)->remedy.remedy);
        if (h == SESSION_MEND_SEND)
            break;
        if (h == SESSION_MEND_WAITS) {
            session_timer(x); /* heartbeats go on */
            return;
        }
        choose_other(x);
    }
    settle(x);
}

void session_mended(session *x, bool fit)
{
    if (fit) {
        settle(x);
        return;
    }
    choose_other(x);
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
    seen.provider = S("");
    seen.model_call = true;
    if (x->d)
        seen.provider = x->p->provider;
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
    *f = daruma_classify(&seen, at, x->arena);
    *f = daruma_judge(x->kase.policy, &seen, f);
    bool all = str_eq(f->own, f->message);
    f->message = session_tool_words(x, f->message);
    f->own = all ? f->message : session_tool_words(x, f->own);
    f->subject = session_tool_words(x, f->subject);
    session_api_look(x, f);
    session_mend_reconsider(x, f);
    session_tried(x, x->kase.target, f);
    drive_step judged = {.what = DRIVE_JUDGED,
                         .failure = f,
                         .target = &x->targets[x->kase.target],
                         .input_tokens = x->answer.view.input_tokens > 0 ? x->answer.view.input_tokens : -1,
                         .output_tokens = x->answer.view.output_tokens > 0 ? x->answer.view.output_tokens : -1};
    session_step(x, &judged);
    if (out)
        x->v->host->cancel(out);
    x->v->counts.kinds[f->kind]++;
    x->v->counts.wasted_ms += (uint64_t)seen.took;
    daruma_event e = DARUMA_EVENT_INIT;
    e.failure = f;
    e.attempt = x->kase.attempts;
    e.took = seen.took;
    e.input_tokens = judged.input_tokens;
    e.output_tokens = judged.output_tokens;
    session_tell(x, DARUMA_WHEN_FAILED, &e);
    x->kase.safe_twice = safe_again(x, &seen);
    x->kase.done_once = !session_passes(x) && effects_done(x, &seen);
    if (x->kase.done_once)
        hedge_cancel(x);
    if (hedge_takes_over(x, f))
        return;
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

/* Some clients (Codex) hang up as soon as they have read the event that ends the answer. One that was found wrong at
 * its end has failed: no call is out then. */
static bool has_read_all(const session *x)
{
    bool ends = x->kase.out && x->answer.mode == ANSWER_RELAYED && x->answer.view.done;
    return ends && !x->client.paused && !x->working && !(x->t && talk_unsure(x));
}

void session_gone(session *x)
{
    daruma_moment at = session_now(x);
    session_cancel(&x->call);
    hedge_cancel(x);
    if (has_read_all(x)) {
        session_done(x, x->answer.view.input_tokens, x->answer.view.output_tokens, DRIVE_GONE);
        return;
    }
    if (x->refreshing && x->v->host->key_forget)
        x->v->host->key_forget(x->user, &x->targets[x->kase.target]);
    if (x->kase.out)
        daruma_case_drop(&x->kase, at);
    session_remember(x);
    if (session_last(x)->failure.kind || x->d) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "request_cancelled";
        e.outcome = DARUMA_OUTCOME_CANCELLED_;
        e.attempts = x->kase.attempts;
        e.took = at.now - x->opened;
        e.reason = S("the client left");
        session_event(x, &e);
    }
    session_end(x, DARUMA_OUTCOME_CANCELLED_, DRIVE_GONE);
}

void session_drained(session *x)
{
    bool paused = x->client.paused;
    x->client.paused = false; /* whatever call it was that waited for the reader */
    if (paused && x->call.handle) {
        if (x->due.progress_by >= 0)
            relay_progress(x);
        x->v->host->resume(x->call.handle);
    }
}
