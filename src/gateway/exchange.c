/* exchange.c - the host of one session: it hands in what the client does and carries out what the driver wants for it.
 *
 *   call (client) ---- exchange_begin, _gone, _drained ----> session_open, _gone, _drained
 *                 <--- head, write, over ------------------ exchange_host
 */
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/routes/routes.h"
#include "gateway/see/see.h"
#include "gateway/see/meter.h"
#include "gateway/see/trace.h"
#include "sys/sys.h"
#include "net/unpack.h"
#include <stdlib.h>
#include <xxhash.h>

/* ---- memory ---- */

const drive_rooms exchange_rooms = SYS_ROOMS;

/* A fresh exchange, its session behind it; NULL without memory. */
static exchange *exchange_take(gateway *g)
{
    exchange *x = g->idle;
    if (x) {
        loop_timer clock = x->clock; /* others point to where it is */
        g->idle = x->next_idle;
        g->nidle--;
        memset(x, 0, sizeof *x);
        x->clock = clock;
    } else {
        x = calloc(1, sizeof *x + session_bytes());
        if (!x)
            return NULL;
    }
    _Static_assert(sizeof(exchange) % _Alignof(max_align_t) == 0, "the session behind it is aligned");
    x->session = (session *)(x + 1);
    x->due = -1;
    x->g = g;
    g->active++;
    return x;
}

static void exchange_free(exchange *x)
{
    loop_timer_stop(x->g->timers, &x->clock);
    free(x);
}

static void free_all(exchange *x)
{
    for (exchange *next; x; x = next) {
        next = x->next_idle;
        exchange_free(x);
    }
}

static void free_over(gateway *g)
{
    exchange *first = g->over;
    g->over = NULL;
    free_all(first);
}

/* Its session may be at work when it ends it: its memory goes in the next turn of the loop. */
static void exchange_give_back(exchange *x)
{
    gateway *g = x->g;
    x->due = -1;
    setup_drop(x->s);
    g->active--;
    if (g->nidle < EXCHANGES_KEPT && !g->draining) {
        x->next_idle = g->idle;
        g->idle = x;
        g->nidle++;
    } else {
        x->over = true;
        x->next_idle = g->over;
        g->over = x;
        loop_timer_set(g->timers, &x->clock, (daruma_ms)uv_now(g->loop));
    }
}

void exchange_free_idle(gateway *g)
{
    free_all(g->idle);
    g->idle = NULL;
    g->nidle = 0;
    free_over(g);
}

/* ---- what the driver wants ---- */

void exchange_on_clock(loop_timer *clock)
{
    exchange *x = (exchange *)((char *)clock - offsetof(exchange, clock));
    if (x->over) {
        free_over(x->g);
    } else if (x->due > (daruma_ms)uv_now(x->g->loop)) {
        loop_timer_set(x->g->timers, clock, x->due);
    } else if (x->due >= 0) {
        x->due = -1;
        gateway_drive(x->g);
        session_clock(x->session);
    }
}

/* A clock that rings too soon is not moved: most requests are over before it does, and the next one, which gets the
 * same exchange, finds it running. */
static void on_timer(void *user, daruma_ms at)
{
    exchange *x = user;
    x->due = at;
    if (at >= 0 && (!x->clock.at || x->clock.at > at))
        loop_timer_set(x->g->timers, &x->clock, at);
}

static void on_head(void *user, const drive_answer *answer)
{
    exchange *x = user;
    size_t n;
    daruma_header *h = head_for_client(x, answer, &n);
    x->status = answer->status;
    call_head(x->c, answer->status, h, n, answer->length);
}

static bool on_write(void *user, daruma_str bytes)
{
    exchange *x = user;
    return call_write(x->c, bytes);
}

static void on_body_dropped(void *user)
{
    exchange *x = user;
    call_drop_body(x->c);
}

static void on_over(void *user, drive_end how)
{
    exchange *x = user;
    call *c = x->c;
    x->c = NULL;
    exchange_give_back(x);
    switch (how) {
    case DRIVE_END:
        call_end(c);
        break;
    case DRIVE_BARE:
        if (!call_started(c)) {
            call_head(c, 503, NULL, 0, 0);
            call_end(c);
            break;
        }
        call_abort(c);
        break;
    case DRIVE_BREAK:
        call_abort(c);
        break;
    case DRIVE_GONE:
        break;
    }
}

static drive_place on_place(void *user, const daruma_target *t)
{
    const exchange *x = user;
    const config_provider *p = exchange_provider(x, t);
    return (drive_place){.d = p->dialect,
                         .site = x->s->sites[t->host / HOST_KEYS],
                         .own_key = config_has_key(p),
                         .model_apart = p->cloud != CONFIG_NO_CLOUD};
}

static drive_key on_key(void *user, const daruma_target *t, bool *ret_renewable)
{
    const key_state *k = exchange_key(user, t);
    daruma_str secret;
    *ret_renewable = k && k->key->command.n && !k->refreshed;
    return !k || key_ready(k, &secret) ? DRIVE_KEY_READY : DRIVE_KEY_ABSENT;
}

static void on_key_fetch(void *user, const daruma_target *t, bool anew)
{
    exchange *x = user;
    key_state *k = exchange_key(x, t);
    k->refreshed |= anew;
    key_fetch(x->s, k, x);
}

static void on_key_forget(void *user, const daruma_target *t)
{
    key_forget(exchange_key(user, t), user);
}

static void on_key_worked(void *user, const daruma_target *t)
{
    key_state *k = exchange_key(user, t);
    if (k)
        k->refreshed = false;
}

static daruma_str on_key_trouble(void *user, const daruma_target *t, daruma_arena *a)
{
    const key_state *k = exchange_key(user, t);
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"error\":{\"type\":\"authentication_error\",\"code\":\"key_command_failed\",\"message\":"
                "\"The command that prints the key ");
    buf_put(&b, k->key->name); /* a name of letters, digits and the like */
    BUF_SAY(&b, " of this provider failed: ", k->why[0] ? k->why : "it could not be run", ".\"}}");
    return buf_str(&b);
}

static uint64_t on_tenant(void *user)
{
    return exchange_tenant(user);
}

static daruma_str first_field(const http_head *h, const daruma_str *names, size_t n)
{
    daruma_str v = {0};
    for (size_t i = 0; i < n && !v.n; i++)
        v = http_header(h, names[i]);
    return v;
}

/* What the client sent that joins the event to its own logs. */
static void join(exchange *x, daruma_event *e)
{
    static const daruma_str ids[] = {LIT("x-request-id"), LIT("x-client-request-id"), LIT("x-correlation-id"),
                                     LIT("request-id")};
    static const daruma_str sessions[] = {LIT("x-session-id"), LIT("session_id"), LIT("session-id"),
                                          LIT("x-claude-code-session-id")};
    const http_head *h = &x->c->head;
    e->client = x->client ? x->client->name : (daruma_str){0};
    if (e->input_tokens >= 0 || e->output_tokens >= 0)
        e->cost = config_cost(&x->s->cfg, e->target, e->input_tokens, e->output_tokens);
    e->traceparent = x->trace ? trace_own_field(x->trace) : http_header(h, S("traceparent"));
    if (!e->session.n)
        e->session = first_field(h, sessions, COUNT(sessions));
    daruma_str said[] = {first_field(h, ids, COUNT(ids)), e->session};
    exchange_redact(x, NULL, (daruma_str){0}, said, COUNT(said));
    e->request_id = said[0];
    e->session = said[1];
}

static void on_tell(void *user, daruma_event *e)
{
    exchange *x = user;
    join(x, e);
    x->told = e->outcome == DARUMA_OUTCOME_PENDING;
    (e->live ? events_live : events_emit)(x->g->events, e);
}

/* Who watches the page is to see the end of all whose beginning it saw. */
static void tell_over(const exchange *x, const drive_result *r, int64_t cost)
{
    if (!x->told) /* most were not, and an event is long */
        return;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_over";
    e.at = gateway_now(x->g);
    e.case_id = r->case_id;
    e.asked = r->model;
    e.target = r->target;
    e.outcome = r->outcome;
    e.attempts = r->attempts;
    e.took = r->took;
    e.input_tokens = r->input_tokens;
    e.output_tokens = r->output_tokens;
    e.cost = cost;
    e.client = x->client ? x->client->name : (daruma_str){0};
    events_live(x->g->events, &e);
}

static void on_holds(void *user, int64_t bytes)
{
    const exchange *x = user;
    if (bytes > 0)
        server_holds_more(x->g->srv, (size_t)bytes);
    else
        server_holds_less(x->g->srv, (size_t)-bytes);
}

static daruma_watch_mode watch_of(const config *c, daruma_str model)
{
    const config_model *m = config_model_of(c, model);
    return m && m->watch ? (daruma_watch_mode)(m->watch - 1) : c->watch;
}

uint64_t exchange_share(const exchange *x, uint64_t conversation)
{
    daruma_str body = x->c->body;
    daruma_buf shown = buf_in(x->c->arena);
    if (!x->s->shares)
        return 0;
    head_credentials(&x->c->head, &shown); /* x->credential is another one after a restart */
    uint64_t client = XXH3_64bits(shown.p, shown.n);
    return conversation ? conversation ^ client : XXH3_64bits_withSeed(body.p, body.n, client);
}

static const daruma_target *on_targets(void *user, daruma_str model, uint64_t conversation, size_t *n,
                                       daruma_watch_mode *watch)
{
    const exchange *x = user;
    const http_head *h = &x->c->head;
    asker who = {.credential = x->credential};
    *n = 0;
    *watch = wishes_off(h) ? DARUMA_WATCH_OFF : watch_of(&x->s->cfg, model);
    if (x->d) {
        who.share = exchange_share(x, conversation);
        return wishes_targets(h, setup_targets(x->s, x->d, model, &who, x->c->arena, n), n, x->c->arena);
    }
    if (x->passing) {
        *n = x->passing->ntargets;
        return wishes_targets(h, x->passing->targets, n, x->c->arena);
    }
    if (counts_unknown(x))
        return NULL;
    int provider = config_provider_of_path(&x->s->cfg, head_dialect(h));
    if (provider >= 0 && x->s->cfg.providers[provider].spread)
        who.share = exchange_share(x, 0);
    return provider < 0 ? NULL : setup_provider_targets(x->s, provider, (daruma_str){0}, &who, x->c->arena, n);
}

static void cancel(void *handle)
{
    const drive_call *c = fetch_user(handle);
    exchange *x = session_user(c->x);
    trace_cancelled(x, handle);
    if (x->streams)
        cloud_stream_end(x, handle);
    fetch_cancel(handle);
}

static void pause_call(void *handle)
{
    fetch_pause(handle);
}

static void resume_call(void *handle)
{
    fetch_resume(handle);
}

static void limit_call(void *handle, daruma_ms total)
{
    fetch_total(handle, total);
}

static bool is_sent(void *handle)
{
    return fetch_is_sent(handle);
}

static daruma_str on_beside(void *user, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    head_beside(&((exchange *)user)->c->head, &b);
    return buf_str(&b);
}

static void on_done(void *user, const drive_result *r)
{
    exchange *x = user;
    int64_t cost = config_cost(&x->s->cfg, r->target, r->input_tokens, r->output_tokens);
    meter_count(x->g->meter, r);
    meter_pay(x->g->meter, r->outcome == DARUMA_OUTCOME_RECOVERED ? METER_SAVED : METER_PAID, r->input_tokens,
              r->output_tokens, cost);
    usage_put(x, r, cost);
    tell_over(x, r, cost);
    trace_done(x, r);
    if (r->outcome != DARUMA_OUTCOME_OK)
        state_touched(x->g->state);
    replicas_touched(x->g->replicas, r->outcome != DARUMA_OUTCOME_OK);
}

/* Tokens of an answer that failed are paid for all the same. */
static void on_step(void *user, const drive_step *s)
{
    exchange *x = user;
    state_touched(x->g->state);
    replicas_touched(x->g->replicas, true);
    trace_step(x, s);
    if (s->what == DRIVE_JUDGED && (s->input_tokens >= 0 || s->output_tokens >= 0))
        meter_pay(x->g->meter, METER_WASTED, s->input_tokens, s->output_tokens,
                  config_cost(&x->s->cfg, s->target, s->input_tokens, s->output_tokens));
}

const drive_host exchange_host = {
    .head = on_head,
    .write = on_write,
    .body_dropped = on_body_dropped,
    .over = on_over,
    .send = exchange_send,
    .ask = exchange_ask,
    .cancel = cancel,
    .pause = pause_call,
    .resume = resume_call,
    .hand_over = exchange_hand_over,
    .limit = limit_call,
    .is_sent = is_sent,
    .unpack = unpack,
    .place = on_place,
    .targets = on_targets,
    .key = on_key,
    .key_fetch = on_key_fetch,
    .key_forget = on_key_forget,
    .key_worked = on_key_worked,
    .key_trouble = on_key_trouble,
    .redact = exchange_redact,
    .tenant = on_tenant,
    .beside = on_beside,
    .tell = on_tell,
    .step = on_step,
    .done = on_done,
    .holds = on_holds,
    .timer = on_timer,
    .work = exchange_work,
    .work_left = exchange_work_left,
};

/* ---- what the client does ---- */

static bool method_is_safe(daruma_str m)
{
    return str_eq(m, S("GET")) || str_eq(m, S("HEAD")) || str_eq(m, S("OPTIONS"));
}

/* Gemini says in the path which model is asked, and whether it shall stream. */
static void read_path(call *c, session_request *q)
{
    q->path_names = true;
    dialect_path_model(STR_SAY(c->arena, c->head.path, "?", c->head.query), &q->path_model, &q->path_stream);
    q->path_array = !q->path_stream && str_ends(c->head.path, S("streamGenerateContent"));
}

/* What the client's SDK says in its fields. */
static void read_fields(const http_head *h, session_request *q)
{
    int64_t milli, count;
    daruma_str encoding = http_header(h, S("content-encoding"));
    q->opaque = encoding.n && !str_ieq(encoding, S("identity"));
    if (date_milli(http_header(h, S("x-stainless-timeout")), &milli))
        q->waits = milli;
    q->until_head = q->waits > 0;
    q->again = str_int(http_header(h, S("x-stainless-retry-count")), &count) && count != 0;
    q->agent = http_header(h, S("x-daruma-session"));
    q->betas = http_header(h, S(BETA_FIELD));
}

/* This very program sent the request, and gets it as an error that it acts on. */
static const daruma_failure *came_back(daruma_failure *f)
{
    *f = kind_failure(DARUMA_NETWORK, 508);
    f->code = S("loop_detected");
    f->ours = true;
    f->message = S("This request came back to the daruma that sent it. The address of a provider leads back to it, "
                   "perhaps through a proxy or another gateway. Set the `url` of that provider to the provider's own "
                   "address.");
    return f;
}

static void on_client_gone(exchange *x)
{
    gateway_drive(x->g);
    session_gone(x->session);
}

static void on_client_drained(exchange *x)
{
    gateway_drive(x->g);
    session_drained(x->session);
}

static void on_key_here(exchange *x)
{
    gateway_drive(x->g);
    session_key_here(x->session);
}

static const exchange_ops session_ops = {.gone = on_client_gone, .drained = on_client_drained, .key_here = on_key_here};

/* What a client reads whose request can go to nobody. */
static daruma_str no_target(const exchange *x)
{
    if (http_header(&x->c->head, S("x-daruma-targets")).n)
        return S(
            "None of the targets in the header x-daruma-targets is one of this model's in daruma's configuration.");
    if (x->passing)
        return S("No target of this model in daruma's configuration knows this path: requests to it are not converted "
                 "for other dialects. Ask for another model, or add a target of the path's dialect.");
    return S("No provider in daruma's configuration speaks the dialect of this path, or none is meant for this model.");
}

void exchange_begin(gateway *g, call *c, const dialect *d, const config_client *client, const session_read *read)
{
    exchange *x = exchange_take(g);
    if (!x) {
        call_head(c, 503, NULL, 0, 0);
        call_end(c);
        return;
    }
    bool ours;
    c->user = x;
    x->ops = &session_ops;
    x->c = c;
    x->s = setup_hold(g->now);
    x->client = client;
    x->credential = head_credential(g, &c->head, &ours);
    x->d = str_eq(c->head.method, S("POST")) ? d : NULL;
    bool mended = !x->d && counts_mend(x, gateway_drive(g));
    if (!x->d)
        x->passing = passing_read(x);
    if (!x->d && !ours && counts_answer(x)) {
        exchange_give_back(x);
        call_end(c); /* behind it: the next request may take the exchange */
        return;
    }
    daruma_failure loop;
    session_request q = {.d = x->d,
                         .body = c->body,
                         .read = read,
                         .arena = c->arena,
                         .options = &x->s->options,
                         .safe = method_is_safe(c->head.method) || (!x->d && passing_is_cheap(c->head.path)),
                         .mended = mended,
                         .head_only = str_eq(c->head.method, S("HEAD")),
                         .credential = x->credential,
                         .sending = c->sending,
                         .waits = -1,
                         .speaks = x->d ? x->d : head_dialect(&c->head),
                         .refused = ours         ? came_back(&loop)
                                    : x->passing ? passing_refused(x->passing, c->arena)
                                                 : NULL,
                         .passing_model = x->passing ? x->passing->model : (daruma_str){0},
                         .no_target = no_target(x)};
    trace_begin(x);
    read_fields(&c->head, &q);
    if (x->d || x->passing)
        wishes_read(&c->head, &q, c->arena);
    if (x->d == &dialect_gemini && !q.opaque)
        read_path(c, &q);
    session_open(x->session, gateway_drive(g), x, &q);
}
