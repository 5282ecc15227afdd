/* exchange.c - the life of one request: what it holds, its clocks, and what is done when an attempt
 * went well, failed, or the client left. The engine judges and decides; here it is obeyed.
 *
 *   intake.c -> attempt.c -> relay.c -> exchange_done            the answer is out
 *                   ^          |
 *                   |          v
 *                   +-- exchange_failed -> finish.c              explained
 */
#include "base/arena.h"
#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/job.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <xxhash.h>

/* ---- taking and giving back ---- */

static void timer_fired(uv_timer_t *t);
static void waits_no_more(exchange *x);

exchange *exchange_take(gateway *g)
{
    exchange *x = g->idle;
    if (x) {
        uv_timer_t timer = x->timer;
        g->idle = x->next_idle;
        g->nidle--;
        memset(x, 0, sizeof *x);
        x->timer = timer; /* stopped: nothing in the loop points to it but its handle queue, which is untouched */
    } else {
        x = calloc(1, sizeof *x);
        if (!x)
            return NULL;
        uv_timer_init(g->loop, &x->timer);
        uv_unref((uv_handle_t *)&x->timer);
    }
    x->timer.data = x;
    x->g = g;
    x->act_at = x->beat_at = x->progress_by = x->look_at = -1;
    g->active++;
    return x;
}

static void timer_closed(uv_handle_t *h)
{
    free(h->data);
}

static void exchange_give_back(exchange *x)
{
    gateway *g = x->g;
    waits_no_more(x);
    if (x->timer_on)
        uv_timer_stop(&x->timer);
    exchange_scratch_reset(x);
    texts_free(exchange_disown(x));
    talk_free(x->t);
    setup_drop(x->s);
    g->active--;
    if (g->nidle < EXCHANGES_KEPT && !g->draining) {
        x->next_idle = g->idle;
        g->idle = x;
        g->nidle++;
    } else {
        uv_close((uv_handle_t *)&x->timer, timer_closed);
    }
}

void exchange_free_idle(gateway *g)
{
    while (g->idle) {
        exchange *x = g->idle;
        g->idle = x->next_idle;
        uv_close((uv_handle_t *)&x->timer, timer_closed);
    }
    g->nidle = 0;
}

void exchange_scratch_reset(exchange *x)
{
    sys_arena_done(&x->scratch);
    x->held = (daruma_buf){0};
    x->parsed = 0;
    x->headers = NULL;
    x->nheaders = 0;
}

/* ---- clocks ---- */

void exchange_timer(exchange *x)
{
    daruma_ms next = sooner_of(sooner_of(x->act_at, x->beat_at), sooner_of(x->progress_by, x->look_at));
    if (next < 0) {
        if (x->timer_on)
            uv_timer_stop(&x->timer);
        x->timer_on = false;
        return;
    }
    daruma_ms now = gateway_now(x->g).now;
    uv_timer_start(&x->timer, timer_fired, next > now ? (uint64_t)(next - now) : 0, 0);
    x->timer_on = true;
}

void exchange_wait(exchange *x, daruma_ms wait)
{
    x->act_at = add_sat(gateway_now(x->g).now, wait);
    if (!x->patient) {
        x->patient = true;
        x->next_patient = x->g->patient;
        x->g->patient = x;
    }
    exchange_timer(x);
}

static void waits_no_more(exchange *x)
{
    exchange **link = &x->g->patient;
    if (!x->patient)
        return;
    while (*link != x)
        link = &(*link)->next_patient;
    *link = x->next_patient;
    x->patient = false;
}

/* Each asks from its own timer: nobody is called in the midst of what somebody else does. */
void exchange_wake(gateway *g)
{
    uint32_t healed = daruma_health_healed(g->health);
    if (healed == g->healed)
        return;
    g->healed = healed;
    for (exchange *x = g->patient; x; x = x->next_patient) {
        x->act_at = gateway_now(g).now;
        exchange_timer(x);
    }
}

/* A streaming client that waits hears from us, and so does every box between us that cuts silent
 * connections. From here on the status is 200, whatever comes. An answer that has begun and of which nothing comes any
 * more is not kept open for ever: its client's own clock ends it. */
static void heartbeat(exchange *x, daruma_ms now)
{
    x->beat_at = now + HEARTBEAT_EVERY_MS;
    if (x->mode == ANSWER_RELAYED && x->beats++ >= HEARTBEATS_SILENT_MAX)
        return;
    if (!call_started(x->c)) {
        size_t n;
        daruma_header stream[] = {{S("content-type"), S("text/event-stream; charset=utf-8")},
                                  {S("cache-control"), S("no-cache")}};
        daruma_header *h = head_for_client(x, stream, 2, DARUMA_OUTCOME_PENDING, &n, 0);
        call_head(x->c, 200, h, n, -1);
        x->pending = true;
    }
    call_write(x->c, x->d->heartbeat);
}

static void timer_fired(uv_timer_t *t)
{
    exchange *x = t->data;
    daruma_ms now = gateway_now(x->g).now;
    x->timer_on = false;
    if (x->progress_by >= 0 && now >= x->progress_by && relay_progress_late(x, now))
        return;
    if (x->beat_at >= 0 && now >= x->beat_at)
        heartbeat(x, now);
    if (x->look_at >= 0 && now >= x->look_at) {
        hedge_look(x); /* arms the timer */
        return;
    }
    if (x->act_at >= 0 && now >= x->act_at) {
        x->act_at = -1;
        waits_no_more(x);
        exchange_attempt(x);
        return;
    }
    exchange_timer(x);
}

/* ---- events and counts ---- */

void exchange_event(exchange *x, daruma_event *e)
{
    e->at = gateway_now(x->g);
    e->case_id = x->kase.id;
    if (!e->target && x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets)
        e->target = &x->targets[x->kase.target];
    events_emit(x->g->events, e);
}

void exchange_tell(exchange *x, daruma_when when, daruma_event *e)
{
    daruma_event as = *e;
    if (daruma_event_when(&as, when, &x->kase))
        exchange_event(x, &as);
}

void exchange_end(exchange *x, daruma_outcome o)
{
    gateway_counts *n = &x->g->counts;
    hedge_cancel(x);
    job_leave(x);
    heal_gone(x);
    daruma_case_close(&x->kase, o, gateway_now(x->g));
    exchange_wake(x->g);
    n->waited_ms += (uint64_t)x->kase.waited;
    if (!x->d) {
        n->passed++;
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
    x->c = NULL;
    exchange_give_back(x);
}

/* ---- how it went ---- */

daruma_str exchange_answer_id(exchange *x)
{
    daruma_str begin = str_sub(buf_str(&x->held), 0, ANSWER_ID_BYTES_MAX);
    return x->t ? talk_id(x) : json_text(json_get(begin, S("id")), x->c->arena);
}

/* A stored answer is known to the account that made it only; what refers to it goes there. */
static void remember_owner(exchange *x, const daruma_target *t)
{
    daruma_str id = exchange_answer_id(x);
    if (id.n)
        memory_owner_put(x->g->mem, XXH3_64bits(id.p, id.n) ^ x->credential, t->key_id);
}

void exchange_done(exchange *x, int64_t input_tokens)
{
    daruma_moment at = gateway_now(x->g);
    const daruma_target *t = &x->targets[x->kase.target];
    key_state *k = exchange_key(x, x->kase.target);
    bool recovered = x->failure.kind || x->kase.remedies;
    hedge_cancel(x);
    daruma_case_done(&x->kase, at);
    heal_worked(x, input_tokens);
    watch_answered(x);
    if (k)
        k->refreshed = false;
    if ((x->scan.keeps || x->d == &dialect_openai_responses) && x->kase.ntargets > 1)
        remember_owner(x, t);
    if (x->scan.conversation && x->kase.ntargets > 1)
        memory_session_set(x->g->mem, exchange_session(x), t->key_id);
    if (recovered && x->kase.attempts > 1) { /* else nothing failed, something was mended */
        daruma_event e = DARUMA_EVENT_INIT;
        e.failure = &x->failure;
        e.outcome = DARUMA_OUTCOME_RECOVERED;
        e.attempts = x->kase.attempts;
        e.took = at.now - x->started;
        exchange_tell(x, DARUMA_WHEN_RECOVERED, &e);
    }
    exchange_end(x, recovered ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK);
}

/* Keeps what the final answer may need: the provider's own words, in memory of the call. */
static void keep_failure(exchange *x, const daruma_evidence *ev)
{
    daruma_arena *a = x->c->arena;
    x->failed_body = ev->status >= 400 || ev->flaw == DARUMA_FLAW_ERROR_EVENT
                         ? arena_copy(a, exchange_redact(x, ev->body))
                         : (daruma_str){0};
    x->failed_headers = ev->nheaders ? ARENA_NEW(a, daruma_header, ev->nheaders) : NULL;
    x->nfailed_headers = x->failed_headers ? ev->nheaders : 0;
    for (size_t i = 0; i < x->nfailed_headers; i++)
        x->failed_headers[i] = (daruma_header){arena_copy(a, ev->headers[i].name),
                                               arena_copy(a, exchange_redact_field(x, ev->headers[i]))};
}

/* A path that is not ours to repeat may still be repeated when nothing can have happened yet. */
static bool safe_again(const exchange *x, const daruma_evidence *ev)
{
    return x->safe || ev->phase == DARUMA_AT_CONNECT || ev->status == 429 || ev->status == 401;
}

/* Calls one target may get for the failure at hand. */
static int64_t tries_of(const exchange *x)
{
    const daruma_policy *p = x->kase.policy;
    uint32_t n = p->kinds[x->failure.kind].max_attempts;
    return n ? n : p->max_attempts;
}

void exchange_did(exchange *x, daruma_remedy_kind r)
{
    x->g->counts.remedies[r]++;
    daruma_case_did(&x->kase, r);
}

void exchange_tell_begin(exchange *x)
{
    daruma_event e = DARUMA_EVENT_INIT;
    if (x->recovering)
        return;
    x->recovering = true;
    e.failure = &x->failure;
    e.remedy = &x->remedy;
    e.delay = x->remedy.wait;
    exchange_tell(x, DARUMA_WHEN_BEGIN, &e);
}

void exchange_resent(exchange *x)
{
    gateway_counts *n = &x->g->counts;
    daruma_event failed = DARUMA_EVENT_INIT, again = DARUMA_EVENT_INIT;
    n->kinds[x->failure.kind]++;
    n->remedies[DARUMA_REMEDY_RETRY_FRESH]++;
    n->calls++;
    failed.failure = &x->failure;
    failed.attempt = x->kase.attempts;
    failed.took = gateway_now(x->g).now - x->attempt_started;
    exchange_tell(x, DARUMA_WHEN_FAILED, &failed);
    x->remedy = (daruma_remedy){.remedy = DARUMA_REMEDY_RETRY_FRESH, .act = DARUMA_SEND, .target = x->kase.target};
    exchange_tell_begin(x);
    again.failure = &x->failure;
    again.remedy = &x->remedy;
    again.delay = 0;
    again.attempt = x->kase.attempts + 1;
    again.max_attempts = tries_of(x);
    again.target = &x->targets[x->kase.target];
    exchange_tell(x, DARUMA_WHEN_AGAIN, &again);
    daruma_case_resent(&x->kase);
}

static void obey(exchange *x, daruma_remedy r)
{
    daruma_event e = DARUMA_EVENT_INIT;
    exchange_tell_begin(x);
    x->g->counts.remedies[r.remedy]++;
    e.failure = &x->failure;
    e.remedy = &r;
    e.delay = r.wait;
    e.attempt = x->kase.attempts + 1;
    e.max_attempts = tries_of(x);
    if (r.target >= 0)
        e.target = &x->targets[r.target];
    exchange_tell(x, DARUMA_WHEN_AGAIN, &e);
    if (r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS) {
        key_state *k = exchange_key(x, x->kase.target);
        check(k);
        k->refreshed = true;
        x->refreshing = true;
        daruma_health_refreshed(x->g->health, &x->targets[x->kase.target]);
        exchange_wake(x->g);
        key_fetch(x->s, k, x);
        return;
    }
    if (r.wait == 0)
        exchange_attempt(x);
    else
        exchange_wait(x, r.wait);
}

/* Bytes of an answer that the client has. A head, heartbeats and what is held are none: another attempt may begin anew
 * behind them. But what only passes through is an answer from its head on. */
static size_t gone_out(const exchange *x)
{
    return x->forwarded ? x->forwarded : x->mode == ANSWER_PASSED;
}

static void settle(exchange *x)
{
    switch (x->remedy.act) {
    case DARUMA_SEND:
        obey(x, x->remedy);
        break;
    case DARUMA_KEEP:
        finish_interrupted(x);
        break;
    case DARUMA_HOLD:
    case DARUMA_STOP:
        if (x->remedy.remedy == DARUMA_REMEDY_STOP_PARTIAL && x->steer)
            finish_partial(x);
        else if (gone_out(x))
            finish_interrupted(x);
        else
            finish_failed(x);
        break;
    }
}

/* Mends what the remedy says; when it does not fit, the ladder is climbed on. */
static void carry_out(exchange *x)
{
    while (x->remedy.act == DARUMA_SEND && heal_is(x->remedy.remedy)) {
        heal_result h = heal_apply(x, x->remedy.remedy);
        if (h == HEAL_SEND)
            break;
        if (h == HEAL_WAITS) {
            exchange_timer(x); /* heartbeats go on */
            return;
        }
        x->remedy = daruma_case_next(&x->kase, &x->failure, gone_out(x), gateway_now(x->g));
    }
    settle(x);
}

void exchange_mended(exchange *x, bool fit)
{
    if (fit) {
        settle(x);
        return;
    }
    x->remedy = daruma_case_next(&x->kase, &x->failure, gone_out(x), gateway_now(x->g));
    carry_out(x);
}

void exchange_asked(const exchange *x, daruma_evidence *ev)
{
    if (!x->d || x->opaque || !x->body.n)
        return;
    ev->request = x->c->body;
    ev->model = x->scan.model;
}

void exchange_failed(exchange *x, const daruma_evidence *ev)
{
    daruma_moment at = gateway_now(x->g);
    daruma_evidence seen = *ev;
    fetch *f = x->f;
    x->f = NULL;
    x->progress_by = x->look_at = -1;
    if (x->view.effects && x->mode == ANSWER_RELAYED && x->t)
        talk_let_go(x);
    if (x->streaming && call_started(x->c) && x->beat_at < 0)
        x->beat_at = at.now + HEARTBEAT_EVERY_MS; /* the client hears from us until it goes on */
    seen.took = at.now - x->attempt_started;
    seen.forwarded = gone_out(x);
    x->went_on |= seen.forwarded > 0;
    seen.provider = S("");
    if (x->d)
        seen.provider = x->p->provider;
    seen.body = exchange_veil(x, seen.body);
    keep_failure(x, &seen);
    seen.body = str_sub(seen.body, 0, CLASSIFY_BODY_BYTES_MAX);
    exchange_asked(x, &seen);
    x->failure = daruma_classify(&seen, at, x->c->arena);
    x->failure = daruma_judge(x->kase.policy, &seen, &x->failure);
    x->failure.message = exchange_tool_words(x, x->failure.message);
    x->failure.subject = exchange_tool_words(x, x->failure.subject);
    heal_reconsider(x, &x->failure);
    if (f)
        fetch_cancel(f);
    x->g->counts.kinds[x->failure.kind]++;
    x->g->counts.wasted_ms += (uint64_t)seen.took;
    daruma_event e = DARUMA_EVENT_INIT;
    e.failure = &x->failure;
    e.attempt = x->kase.attempts;
    e.took = seen.took;
    exchange_tell(x, DARUMA_WHEN_FAILED, &e);
    x->kase.safe_twice = safe_again(x, &seen);
    x->kase.done_once = !exchange_passes(x) && effects_done(x, &seen);
    if (x->kase.done_once)
        hedge_cancel(x);
    if (hedge_takes_over(x, &x->failure))
        return;
    if (x->t && x->mode == ANSWER_RELAYED && talk_unsure(x)) /* it answered; that nobody can join it is our trouble */
        daruma_case_answered(&x->kase, at);
    exchange_stay(x, -1);
    exchange_loosen(x, &x->failure);
    x->remedy = daruma_case_next(&x->kase, &x->failure, seen.forwarded, at);
    exchange_wake(x->g);
    exchange_scratch_reset(x);
    carry_out(x);
}

/* Some clients (Codex) hang up as soon as they have read the event that ends the answer. */
static bool has_read_all(const exchange *x)
{
    return x->mode == ANSWER_RELAYED && x->view.done && !x->paused && !x->job && !(x->t && talk_unsure(x));
}

void exchange_gone(exchange *x)
{
    daruma_moment at = gateway_now(x->g);
    if (x->f)
        fetch_cancel(x->f);
    x->f = NULL;
    hedge_cancel(x);
    if (has_read_all(x)) {
        exchange_done(x, x->view.input_tokens);
        return;
    }
    if (x->refreshing)
        key_forget(exchange_key(x, x->kase.target), x);
    if (x->kase.out)
        daruma_case_drop(&x->kase, at);
    exchange_remember(x);
    if (x->failure.kind || x->d) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "request_cancelled";
        e.outcome = DARUMA_OUTCOME_CANCELLED_;
        e.attempts = x->kase.attempts;
        e.took = at.now - x->started;
        e.reason = S("the client left");
        exchange_event(x, &e);
    }
    exchange_end(x, DARUMA_OUTCOME_CANCELLED_);
}

void exchange_drained(exchange *x)
{
    if (x->paused && x->f) {
        x->paused = false;
        fetch_resume(x->f);
    }
}
