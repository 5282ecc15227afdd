/* session.c - the life of one request: what it holds, its clocks, and what is done when an attempt went well or the
 * client left. What is done when one failed is in failed.c.
 *
 *   open.c -> attempt.c -> relay.c -> session_done             the answer is out
 *                 ^          |
 *                 |          v
 *                 +-- failed.c -> finish.c                     explained
 */
#include "base/arena.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/late.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/request/abilities.h"
#include "engine/drive/request/account.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"
#include "engine/drive/waiting.h"

/* ---- taking and giving back ---- */

void *session_user(const session *x)
{
    return x->user;
}

size_t session_bytes(void)
{
    _Static_assert(sizeof(session) <= 1664,
                   "thousands stand open at once: what few of them need is a block of its own");
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

write_ctx session_writes(const session *x)
{
    return (write_ctx){
        .model = x->out.scan.model, .id = x->kase.id, .wall = session_now(x).wall, .functions = x->out.scan.functions};
}

last_failure *session_last_new(session *x)
{
    if (!x->last)
        x->last = ARENA_NEW(x->arena, last_failure, 1);
    return x->last;
}

void session_scratch_open(session *x)
{
    driver *v = x->v;
    if (!x->client.streaming && v->nspare_rooms)
        x->answer.scratch = v->spare_rooms[--v->nspare_rooms];
    else
        v->rooms->open(&x->answer.scratch, x->client.streaming ? HEAD_BYTES_USUAL : WHOLE_BYTES_USUAL,
                       ANSWER_ARENA_BYTES_MAX);
}

void session_scratch_reset(session *x)
{
    driver *v = x->v;
    daruma_arena *a = &x->answer.scratch;
    if (!x->client.streaming && v->nspare_rooms < ROOMS_KEPT && v->rooms->again(a))
        v->spare_rooms[v->nspare_rooms++] = *a;
    else
        v->rooms->close(a);
    *a = (daruma_arena){0};
    x->answer.held = (daruma_buf){0};
    x->answer.parsed = 0;
    x->answer.headers = NULL;
    x->answer.nheaders = 0;
}

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

void drive_remains_close(const drive_rooms *rooms, drive_remains *r)
{
    session_mending *h = r->mending;
    if (h)
        history_end(&h->past);
    drive_texts_close(rooms, r->texts);
    talk_free(rooms, r->stream);
    rooms->close(&r->scratch);
    *r = (drive_remains){0};
}

static void give_back(session *x)
{
    waiting_ends(x);
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
    if (x->working) {
        late_begin(x, (daruma_spent){.on = DARUMA_SPENT_WORK, .usual = -1});
        session_timer(x); /* heartbeats go on */
    }
    x->v->counts.jobs += x->working;
    return !x->working;
}

void session_worked(session *x, const drive_work *kind, void *data)
{
    x->working = false;
    late_end(x);
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
    if (x->answer.passes_long || (x->answer.mode == ANSWER_RELAYED && x->due.beats++ >= HEARTBEATS_SILENT_MAX))
        return; /* within an event it would be a part of that */
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
        if (waiting_gives_turn(x))
            return;
        late_end(x);
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
        n->failed_advised += by[o] == &n->failed && (x->kase.remedies & 1u << DARUMA_REMEDY_EXPLAIN) != 0;
    }
    if (o == DARUMA_OUTCOME_RECOVERED && x->kase.attempts > 1) /* else nothing failed, something was mended */
        n->saved[x->kase.last]++;
    x->client.here = false;
    session_tell_result(x, o);
    give_back(x);
    x->v->host->over(x->user, how);
}

/* ---- how it went ---- */

/* Is it told how it ended? Where a call failed, be it one beside the answer, or something was mended and sent again. */
static bool is_told(const session *x, daruma_outcome o)
{
    bool failed = session_last(x)->ntried || x->recovering;
    bool recovered = o == DARUMA_OUTCOME_RECOVERED && x->kase.attempts > 1; /* else something was mended */
    return recovered || (failed && o != DARUMA_OUTCOME_RECOVERED);
}

static void tell_done(session *x, daruma_outcome o, int64_t input_tokens, int64_t output_tokens)
{
    bool less = o != DARUMA_OUTCOME_OK && o != DARUMA_OUTCOME_RECOVERED;
    daruma_event e = DARUMA_EVENT_INIT;
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
    bool told = is_told(x, o);
    hedge_cancel(x);
    late_tell(x, o, !told);
    daruma_case_done(&x->kase, at);
    if (x->answer.mode != ANSWER_RELAYED) /* a stream did so when it began */
        waiting_answered(x);
    x->kase.outcome = o; /* what the answer says is not known to it */
    session_mend_worked(x, input_tokens);
    session_api_worked(x);
    abilities_learn(x);
    betas_worked(x);
    watch_answered(x);
    if (x->v->host->key_worked)
        x->v->host->key_worked(x->user, t);
    account_remember(x, (daruma_str){0});
    if (x->out.scan.conversation && x->kase.ntargets > 1)
        memory_session_set(x->v->mem, session_session(x), t->key_id);
    if (told)
        tell_done(x, o, input_tokens, output_tokens);
    x->answer.view.input_tokens = input_tokens;
    x->answer.view.output_tokens = output_tokens;
    session_end(x, o, how);
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
    late_tell(x, DARUMA_OUTCOME_CANCELLED_, false);
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
    if (paused)
        late_reader(x, false);
    if (paused && x->call.handle) {
        if (x->due.progress_by >= 0)
            relay_progress(x);
        x->v->host->resume(x->call.handle);
    }
}
