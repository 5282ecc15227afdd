/* exchange.c - the life of one request: it opens a case, sends attempts, lets the engine
 * judge what comes back and does what the engine says, until the case has an outcome.
 *
 *   exchange_begin -> attempt -> relay.c -> exchange_done            the answer is out
 *                        ^          |
 *                        |          v
 *                        +-- exchange_failed -> finish.c             explained
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <xxhash.h>

static void attempt(exchange *x);

daruma_moment exchange_now(void)
{
    return sys_moment();
}

/* ---- taking and giving back ---- */

static void timer_fired(uv_timer_t *t);

static exchange *exchange_take(gateway *g)
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
    x->act_at = x->beat_at = x->progress_by = -1;
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
    if (x->timer_on)
        uv_timer_stop(&x->timer);
    exchange_scratch_reset(x);
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

static daruma_ms earlier(daruma_ms a, daruma_ms b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

void exchange_timer(exchange *x)
{
    daruma_ms next = earlier(earlier(x->act_at, x->beat_at), x->progress_by);
    if (next < 0) {
        if (x->timer_on)
            uv_timer_stop(&x->timer);
        x->timer_on = false;
        return;
    }
    daruma_ms now = exchange_now().now;
    uv_update_time(x->g->loop);
    uv_timer_start(&x->timer, timer_fired, next > now ? (uint64_t)(next - now) : 0, 0);
    x->timer_on = true;
}

/* A streaming client that waits hears from us, and so does every box between us that cuts silent
 * connections. From here on the status is 200, whatever comes. */
static void heartbeat(exchange *x, daruma_ms now)
{
    if (!x->pending) {
        size_t n;
        daruma_header stream[] = {{S("content-type"), S("text/event-stream; charset=utf-8")},
                                  {S("cache-control"), S("no-cache")}};
        daruma_header *h = head_for_client(x, stream, 2, DARUMA_OUTCOME_PENDING, &n, 0);
        call_head(x->c, 200, h, n, -1);
        x->pending = true;
    }
    call_write(x->c, x->d->heartbeat);
    x->beat_at = now + HEARTBEAT_EVERY_MS;
}

static void timer_fired(uv_timer_t *t)
{
    exchange *x = t->data;
    daruma_ms now = exchange_now().now;
    x->timer_on = false;
    if (x->progress_by >= 0 && now >= x->progress_by && relay_progress_late(x, now))
        return;
    if (x->beat_at >= 0 && now >= x->beat_at)
        heartbeat(x, now);
    if (x->act_at >= 0 && now >= x->act_at) {
        x->act_at = -1;
        attempt(x);
        return;
    }
    exchange_timer(x);
}

/* ---- events and counts ---- */

void exchange_event(exchange *x, daruma_event *e)
{
    e->at = exchange_now();
    e->case_id = x->kase.id;
    if (!e->target && x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets)
        e->target = &x->targets[x->kase.target];
    events_emit(x->g->events, e);
}

void exchange_end(exchange *x, daruma_outcome o)
{
    gateway_counts *n = &x->g->counts;
    daruma_case_close(&x->kase, o, exchange_now());
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
    if (o == DARUMA_OUTCOME_RECOVERED)
        n->saved[x->kase.last]++;
    x->c = NULL;
    exchange_give_back(x);
}

/* ---- beginning ---- */

/* POSTs that change nothing on the server: a second one does no harm. */
static bool path_is_pure(daruma_str path)
{
    static const daruma_str pure[] = {{"/embeddings", 11}, {"/count_tokens", 13}, {"/moderations", 12}, {"/rerank", 7}};
    for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
        if (str_ends(path, pure[i]))
            return true;
    return false;
}

static bool method_is_safe(daruma_str m)
{
    return str_eq(m, S("GET")) || str_eq(m, S("HEAD")) || str_eq(m, S("OPTIONS"));
}

/* Which provider a path goes to that is nobody's dialect. */
static int provider_of_path(const setup *s, const http_head *h)
{
    bool anthropic = http_header(h, S("anthropic-version")).n || str_find(h->path, S("/v1/messages")) != STR_NONE;
    int i = config_provider_of(&s->cfg, anthropic ? &dialect_anthropic : &dialect_openai);
    if (i < 0 && !anthropic)
        i = config_provider_of(&s->cfg, &dialect_openai_responses);
    return i < 0 && s->cfg.nproviders ? 0 : i;
}

/* The deadline: our own total, or earlier what the client's SDK says it waits for (with room to
 * answer before it gives up). */
static daruma_ms deadline_of(const exchange *x, daruma_ms now)
{
    daruma_ms total = x->s->cfg.clocks.total ? x->s->cfg.clocks.total : -1;
    int64_t milli;
    if (date_milli(http_header(&x->c->head, S("x-stainless-timeout")), &milli) && milli > 0) {
        daruma_ms room = milli / 10 < CLIENT_ROOM_MS_MAX ? milli / 10 : CLIENT_ROOM_MS_MAX;
        total = earlier(total, milli - room);
    }
    return total < 0 ? -1 : add_sat(now, total);
}

uint64_t exchange_request_hash(const exchange *x)
{
    return XXH3_64bits_withSeed(x->c->body.p, x->c->body.n, x->credential);
}

/* The client's SDK retries by itself: what it repeats is the same case, with what is left of it. */
static void continue_case(exchange *x, daruma_ms now)
{
    int64_t count;
    daruma_case was;
    if (!str_int(http_header(&x->c->head, S("x-stainless-retry-count")), &count) || count == 0)
        return;
    if (!memory_case_take(x->g->mem, exchange_request_hash(x), now, &was) || was.ntargets != x->kase.ntargets)
        return;
    daruma_case_resume(&x->kase, &was);
}

/* A conversation of one client with one model: its prompt cache lives with one key. */
static uint64_t session_of(const exchange *x)
{
    return x->scan.conversation ^ x->credential ^ x->targets[0].model_id;
}

static void begin_case(exchange *x, size_t ntargets)
{
    daruma_moment at = exchange_now();
    int prefer = -1;
    uint64_t key = x->scan.conversation ? memory_session(x->g->mem, session_of(x)) : 0;
    for (size_t i = 0; key && i < ntargets && prefer < 0; i++)
        if (x->targets[i].key_id == key && x->targets[i].model_id == x->targets[0].model_id)
            prefer = (int)i;
    daruma_case_open(&x->kase, x->g->ward, &x->s->cfg.policy, x->targets, ntargets, prefer, deadline_of(x, at.now), at);
    continue_case(x, at.now);
    if (x->streaming)
        x->beat_at = at.now + HEARTBEAT_FIRST_MS;
}

/* What the client asked with a model's mouth that was ours is taken out again. */
static void strip_notices(exchange *x)
{
    daruma_buf out = buf_in(x->c->arena);
    if (!memory_has_notices(x->g->mem) || str_find(x->body, S("[daruma] ")) == STR_NONE)
        return;
    if (dialect_strip_notices(x->d, x->body, memory_notice_known, x->g->mem, &out, x->c->arena) && !out.full) {
        x->body = buf_str(&out);
        x->scan = x->d->scan(x->body);
    }
}

static void refuse(exchange *x, daruma_kind kind, int status, daruma_str message)
{
    x->failure = (daruma_failure){.kind = kind,
                                  .status = status,
                                  .wait = -1,
                                  .limit = -1,
                                  .used = -1,
                                  .requested = -1,
                                  .severity = daruma_kind_severity(kind),
                                  .message = message};
    finish_failed(x);
}

void exchange_begin(gateway *g, call *c)
{
    exchange *x = exchange_take(g);
    if (!x) {
        call_head(c, 503, NULL, 0, 0);
        call_end(c);
        return;
    }
    size_t ntargets = 0;
    c->user = x;
    x->c = c;
    x->s = setup_hold(g->now);
    x->started = exchange_now().now;
    x->body = c->body;
    x->credential = head_credential(g, &c->head);
    x->d = str_eq(c->head.method, S("POST")) ? dialect_of_path(c->head.path) : NULL;
    daruma_str encoding = http_header(&c->head, S("content-encoding"));
    x->opaque = encoding.n && !str_ieq(encoding, S("identity"));
    if (x->d && !x->opaque) {
        x->scan = x->d->scan(x->body);
        strip_notices(x);
        /* The name is needed longer than the body. */
        x->scan.model = arena_copy(c->arena, json_text(x->scan.model_raw, c->arena));
    }
    x->streaming = x->d && x->scan.ok && x->scan.stream;
    x->safe = (x->d && !x->opaque) || method_is_safe(c->head.method) || path_is_pure(c->head.path);
    if (x->d) {
        x->targets = setup_targets(x->s, x->d, x->scan.model, x->credential, c->arena, &ntargets);
    } else {
        int provider = provider_of_path(x->s, &c->head);
        if (provider >= 0)
            x->targets = setup_provider_targets(x->s, provider, (daruma_str){0}, x->credential, c->arena, &ntargets);
    }
    if (!ntargets) {
        daruma_case_open(&x->kase, g->ward, &x->s->cfg.policy, NULL, 0, -1, -1, exchange_now());
        refuse(x, DARUMA_MODEL_NOT_FOUND, 404,
               S("No provider in daruma's configuration speaks the dialect of this path, or none is meant for this "
                 "model."));
        return;
    }
    begin_case(x, ntargets);
    if (x->opaque) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "request_not_readable";
        e.reason = S("the request body is encoded: it is passed on as it is and cannot be mended");
        exchange_event(x, &e);
    }
    attempt(x);
}

/* ---- one attempt ---- */

static const config_provider *provider_at(const exchange *x, int target)
{
    return &x->s->cfg.providers[x->targets[target].host / HOST_KEYS];
}

static key_state *key_at(const exchange *x, int target)
{
    int host = x->targets[target].host, key = host % HOST_KEYS;
    return key == HOST_CLIENT_KEY ? NULL : &x->s->keys[host / HOST_KEYS][key];
}

/* The body in pieces, with the target's model in place of the one asked for. */
static void body_pieces(exchange *x, int target, daruma_str out[4])
{
    daruma_str model = x->targets[target].model, raw = x->scan.model_raw;
    out[0] = x->body;
    if (!x->d || x->opaque || !raw.n || !model.n || str_eq(model, x->scan.model))
        return;
    daruma_buf name = buf_in(x->c->arena);
    buf_json(&name, model);
    if (name.full)
        return;
    size_t at = (size_t)(raw.p - x->body.p);
    out[0] = str_sub(x->body, 0, at);
    out[1] = buf_str(&name);
    out[2] = str_from(x->body, at + raw.n);
}

static daruma_str target_path(exchange *x, const config_provider *p)
{
    daruma_str path = config_upstream_path(p, x->c->head.path, x->c->arena), query = x->c->head.query;
    if (!query.n)
        return path;
    daruma_buf b = buf_in(x->c->arena);
    buf_put(&b, path);
    buf_putc(&b, '?');
    buf_put(&b, query);
    return buf_str(&b);
}

/* Clocks of this attempt: none reaches behind the case's deadline. */
static fetch_clocks clocks_of(const exchange *x, daruma_ms now)
{
    fetch_clocks k = x->s->cfg.clocks;
    if (!x->streaming)
        k.first_byte = x->s->cfg.plain_first_byte;
    if (x->kase.deadline >= 0) {
        daruma_ms left = x->kase.deadline - now;
        k.total = earlier(k.total ? k.total : -1, left > 1 ? left : 1);
    }
    return k;
}

static void send_to(exchange *x, int target, daruma_str secret)
{
    daruma_moment at = exchange_now();
    const config_provider *p = provider_at(x, target);
    fetch_request r = {.to = &p->to,
                       .method = x->c->head.method,
                       .target = target_path(x, p),
                       .has_body = x->c->body.n > 0 || x->c->head.length > 0 || x->d,
                       .fresh = x->kase.attempts > 1,
                       .clocks = clocks_of(x, at.now)};
    r.headers = head_for_provider(x, p, secret, &r.nheaders);
    body_pieces(x, target, r.body);
    exchange_scratch_reset(x);
    sys_arena_init(&x->scratch, HEAD_BYTES_USUAL, ANSWER_HELD_BYTES_MAX * 2);
    x->held = buf_in(&x->scratch);
    x->view = (stream_view){0};
    x->mode = ANSWER_NONE;
    x->status = 0;
    x->attempt_started = at.now;
    x->g->counts.calls++;
    x->f = fetch_start(x->s->up, &r, &relay_ops, x);
    if (!x->f) {
        daruma_evidence ev = {.phase = DARUMA_AT_CONNECT, .net = DARUMA_NET_UNREACHABLE, .took = 0};
        exchange_failed(x, &ev);
        return;
    }
    if (x->timer_on || x->beat_at >= 0)
        exchange_timer(x);
}

/* Everything is cooling down and nobody is worth waiting for: say so with what they are sick of. */
static void nobody_well(exchange *x, daruma_admission a, daruma_moment at)
{
    if (x->kase.target < 0) { /* no call was made for this request */
        x->failure = (daruma_failure){.kind = a.why,
                                      .severity = daruma_kind_severity(a.why),
                                      .retryable = daruma_kind_passes(a.why),
                                      .limit = -1,
                                      .used = -1,
                                      .requested = -1,
                                      .wait = daruma_case_again_in(&x->kase, NULL, at.now)};
        x->failed_body = (daruma_str){0};
    }
    finish_failed(x);
}

static void attempt(exchange *x)
{
    daruma_moment at = exchange_now();
    daruma_admission a = daruma_case_admit(&x->kase, at);
    if (a.act != DARUMA_SEND) {
        nobody_well(x, a, at);
        return;
    }
    if (a.wait > 0) {
        x->act_at = at.now + a.wait;
        exchange_timer(x);
        return;
    }
    key_state *k = key_at(x, a.target);
    daruma_str secret = {0};
    x->kase.can_refresh = k && k->key->command.n && !k->refreshed;
    if (k && !key_ready(k, &secret)) {
        x->refreshing = true;
        key_fetch(x->s, k, x);
        return;
    }
    send_to(x, a.target, secret);
}

/* The command gave no key. Nobody is called without one: it would be refused, in words that help nobody. */
static void no_key(exchange *x)
{
    daruma_evidence ev = {.phase = DARUMA_AT_CONNECT,
                          .status = 401,
                          .body = S("{\"error\":{\"type\":\"authentication_error\",\"code\":\"key_command_failed\","
                                    "\"message\":\"The command that prints the API key of this provider failed.\"}}")};
    x->attempt_started = exchange_now().now;
    x->kase.can_refresh = false; /* it was run just now */
    exchange_failed(x, &ev);
}

void exchange_key_here(exchange *x)
{
    daruma_str secret = {0};
    x->refreshing = false;
    if (!x->kase.out) { /* new credentials were the remedy: the engine says where to go with them */
        attempt(x);
        return;
    }
    if (key_ready(key_at(x, x->kase.target), &secret))
        send_to(x, x->kase.target, secret);
    else
        no_key(x);
}

/* ---- how it went ---- */

void exchange_done(exchange *x)
{
    daruma_moment at = exchange_now();
    const daruma_target *t = &x->targets[x->kase.target];
    key_state *k = key_at(x, x->kase.target);
    bool recovered = x->failure.kind || x->kase.remedies;
    daruma_case_done(&x->kase, at);
    if (k)
        k->refreshed = false;
    if (x->scan.conversation && x->kase.ntargets > 1)
        memory_session_set(x->g->mem, session_of(x), t->key_id);
    if (recovered) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "error_recovery_success";
        e.failure = &x->failure;
        e.outcome = DARUMA_OUTCOME_RECOVERED;
        e.attempts = x->kase.attempts;
        e.took = at.now - x->started;
        exchange_event(x, &e);
    }
    exchange_end(x, recovered ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK);
}

/* Keeps what the final answer may need: the provider's own words, in memory of the call. */
static void keep_failure(exchange *x, const daruma_evidence *ev)
{
    daruma_arena *a = x->c->arena;
    x->failed_body =
        ev->status >= 400 || ev->flaw == DARUMA_FLAW_ERROR_EVENT ? arena_copy(a, ev->body) : (daruma_str){0};
    x->failed_headers = ev->nheaders ? ARENA_NEW(a, daruma_header, ev->nheaders) : NULL;
    x->nfailed_headers = x->failed_headers ? ev->nheaders : 0;
    for (size_t i = 0; i < x->nfailed_headers; i++)
        x->failed_headers[i] = (daruma_header){arena_copy(a, ev->headers[i].name), arena_copy(a, ev->headers[i].value)};
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

static void obey(exchange *x, daruma_remedy r, daruma_moment at)
{
    daruma_event e = DARUMA_EVENT_INIT;
    x->g->counts.remedies[r.remedy]++;
    e.failure = &x->failure;
    e.remedy = &r;
    e.delay = r.wait;
    if (!x->recovering) {
        x->recovering = true;
        e.name = "error_recovery_attempt";
        exchange_event(x, &e);
    }
    e.name = "llm_retry_attempt";
    e.attempt = x->kase.attempts + 1;
    e.max_attempts = tries_of(x);
    if (r.target >= 0)
        e.target = &x->targets[r.target];
    exchange_event(x, &e);
    if (r.remedy == DARUMA_REMEDY_REFRESH_CREDENTIALS) {
        key_state *k = key_at(x, x->kase.target);
        check(k);
        k->refreshed = true;
        x->refreshing = true;
        daruma_ward_refreshed(x->g->ward, &x->targets[x->kase.target]);
        key_fetch(x->s, k, x);
        return;
    }
    x->act_at = at.now + r.wait;
    if (r.wait == 0) {
        x->act_at = -1;
        attempt(x);
        return;
    }
    exchange_timer(x);
}

/* Bytes of an answer that the client has; behind a head that says good nothing is begun again. */
static size_t gone_out(const exchange *x)
{
    return x->forwarded ? x->forwarded : call_started(x->c) && !x->pending;
}

void exchange_failed(exchange *x, const daruma_evidence *ev)
{
    daruma_moment at = exchange_now();
    daruma_evidence seen = *ev;
    fetch *f = x->f;
    x->f = NULL;
    x->progress_by = -1;
    seen.took = at.now - x->attempt_started;
    seen.forwarded = gone_out(x);
    seen.provider = S("");
    if (x->d)
        seen.provider = x->d == &dialect_anthropic ? S("anthropic") : S("openai");
    keep_failure(x, &seen);
    seen.body = str_sub(seen.body, 0, CLASSIFY_BODY_BYTES_MAX);
    x->failure = daruma_classify(&seen, at, x->c->arena);
    if (f)
        fetch_cancel(f);
    x->g->counts.kinds[x->failure.kind]++;
    x->g->counts.wasted_ms += (uint64_t)seen.took;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "llm_request_failed";
    e.failure = &x->failure;
    e.attempt = x->kase.attempts;
    e.took = seen.took;
    exchange_event(x, &e);
    x->kase.safe_twice = safe_again(x, &seen);
    daruma_remedy r = daruma_case_next(&x->kase, &x->failure, seen.forwarded, at);
    exchange_scratch_reset(x);
    switch (r.act) {
    case DARUMA_SEND:
        obey(x, r, at);
        break;
    case DARUMA_KEEP:
        finish_interrupted(x);
        break;
    case DARUMA_HOLD:
    case DARUMA_STOP:
        if (seen.forwarded)
            finish_interrupted(x);
        else
            finish_failed(x);
        break;
    }
}

void exchange_gone(exchange *x)
{
    daruma_moment at = exchange_now();
    if (x->f)
        fetch_cancel(x->f);
    x->f = NULL;
    if (x->refreshing)
        key_forget(key_at(x, x->kase.target), x);
    if (x->kase.out)
        daruma_case_drop(&x->kase, at);
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
