/* send.c - calls to providers: where to, with which key, fields and clocks; and what is told of them. */
#include "base/arena.h"
#include "base/buf.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/routes/routes.h"
#include "gateway/see/trace.h"
#include "sys/arena.h"

const config_provider *exchange_provider(const exchange *x, const daruma_target *t)
{
    return &x->s->cfg.providers[t->host / HOST_KEYS];
}

key_state *exchange_key(const exchange *x, const daruma_target *t)
{
    int key = t->host % HOST_KEYS;
    return key == HOST_CLIENT_KEY ? NULL : &x->s->keys[t->host / HOST_KEYS][key];
}

/* ---- what is told of a call ---- */

/* The call that a fetch stands for; the driver is told what time it is. */
static drive_call *call_of(void *user)
{
    drive_call *c = user;
    const exchange *x = session_user(c->x);
    gateway_drive(x->g);
    return c;
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    drive_call *c = call_of(user);
    exchange *x = session_user(c->x);
    drive_head head = {.status = h->status, .headers = h->headers, .nheaders = h->nheaders, .length = h->length};
    trace_head(x, f, h->status);
    if (x->streams)
        cloud_stream_head(x, f, h);
    c->ops->head(c, &head);
}

static void take_body(drive_call *c, fetch *f, daruma_str bytes)
{
    trace_body(session_user(c->x), f, bytes);
    c->ops->body(c, bytes);
}

/* The call is over although its connection is not. */
static void give_up(drive_call *c, fetch *f, daruma_net net)
{
    exchange *x = session_user(c->x);
    trace_end(x, f, net);
    cloud_stream_end(x, f);
    fetch_cancel(f);
    c->handle = NULL;
    c->ops->fail(c, net, DARUMA_AT_STREAM);
}

/* Hands on what was read before a damaged message, then fails the call, which the events may have ended or handed over.
 */
static void take_last(drive_call *c, fetch *f, daruma_str events, daruma_net net)
{
    bool over = false;
    if (events.n) {
        cloud_stream_watch(session_user(c->x), f, &over);
        take_body(c, f, events);
        if (over)
            return;
        c = fetch_user(f);
        cloud_stream_watch(session_user(c->x), f, NULL);
    }
    give_up(c, f, net);
}

static void take_framed(drive_call *c, fetch *f, daruma_str bytes)
{
    daruma_arena a;
    daruma_str events = {0};
    daruma_net net = sys_arena_init(&a, bytes.n, 2 * EVENT_STREAM_BYTES_MAX)
                         ? cloud_stream_read(session_user(c->x), f, bytes, &a, &events)
                         : DARUMA_NET_LOCAL;
    if (net != DARUMA_NET_NONE)
        take_last(c, f, events, net);
    else if (events.n)
        take_body(c, f, events);
    sys_arena_done(&a);
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    drive_call *c = call_of(user);
    exchange *x = session_user(c->x);
    if (x->streams && cloud_stream_framed(x, f))
        take_framed(c, f, bytes);
    else
        take_body(c, f, bytes);
}

static void on_again(fetch *f, daruma_net net, void *user)
{
    drive_call *c = call_of(user);
    (void)f;
    if (c->ops->again)
        c->ops->again(c, net);
}

static void on_end(fetch *f, void *user)
{
    drive_call *c = call_of(user);
    exchange *x = session_user(c->x);
    bool whole = !x->streams || cloud_stream_end(x, f);
    trace_end(x, f, whole ? DARUMA_NET_NONE : DARUMA_NET_CUT);
    c->handle = NULL;
    if (whole)
        c->ops->end(c);
    else
        c->ops->fail(c, DARUMA_NET_CUT, DARUMA_AT_STREAM);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    drive_call *c = call_of(user);
    exchange *x = session_user(c->x);
    trace_end(x, f, net);
    if (x->streams)
        cloud_stream_end(x, f);
    (void)why; /* the name of `net` says it to people; `why` may carry a peer's bytes */
    c->handle = NULL;
    c->ops->fail(c, net, phase);
}

static const fetch_ops ops = {.head = on_head, .body = on_body, .again = on_again, .end = on_end, .fail = on_fail};

void exchange_hand_over(void *handle, drive_call *to)
{
    fetch_hand_over(handle, &ops, to);
}

/* ---- an attempt ---- */

/* The client's query; a key in it is the client's own, and goes no further than to providers that have none. A token
 * for daruma goes nowhere. */
daruma_str exchange_query(const exchange *x, const config_provider *p)
{
    daruma_str rest = x->c->head.query;
    bool ours = config_has_key(p) || lock_is_token(&x->s->cfg, head_query_key(&x->c->head));
    if (!ours || str_find(rest, S("key=")) == STR_NONE)
        return rest;
    daruma_buf b = buf_in(x->c->arena);
    while (rest.n) {
        daruma_str one = str_cut(&rest, '&');
        if (str_starts(one, S("key=")))
            continue;
        if (b.n)
            buf_putc(&b, '&');
        buf_put(&b, one);
    }
    return buf_str(&b);
}

static daruma_str target_path(exchange *x, const config_provider *p, const drive_request *r)
{
    daruma_str model = r->t->model, path = x->c->head.path;
    bool moved = r->p != r->d;
    bool renamed = r->p == &dialect_gemini && model.n && !str_eq(model, r->model); /* it stands in the path */
    if (p->cloud)
        return cloud_path(p, model.n ? model : r->model, r->stream, x->c->arena);
    daruma_str query = moved ? (daruma_str){0} : exchange_query(x, p);
    if (moved) {
        path = dialect_path(r->p, model, r->stream, x->c->arena);
    } else if (renamed) { /* the query is the client's: it says what form a stream has, and may hold its key */
        daruma_str whole = dialect_path(r->p, model, r->stream || r->array, x->c->arena);
        path = str_cut(&whole, '?');
    } else if (x->passing && model.n) {
        path = passing_path(x->passing, path, model, x->c->arena);
    }
    path = moved || renamed ? config_own_path(p, path, x->c->arena) : config_upstream_path(p, path, x->c->arena);
    if (!query.n)
        return path;
    return STR_SAY(x->c->arena, path, "?", query);
}

/* Of two limits, where 0 is none, the shorter. */
static daruma_ms shorter(daruma_ms limit, daruma_ms left)
{
    return left < 0 ? limit : limit && limit < left ? limit : left;
}

/* Such a request says the length of its body although it has none (RFC 9110, 8.6): Google answers 411 without it. */
static bool has_body(const call *c)
{
    daruma_str m = c->head.method;
    return c->body.n > 0 || c->head.length > 0 || str_eq(m, S("POST")) || str_eq(m, S("PUT")) || str_eq(m, S("PATCH"));
}

drive_sent exchange_send(void *user, drive_call *c, const drive_request *r)
{
    exchange *x = user;
    const config_provider *p = exchange_provider(x, r->t);
    const key_state *k = exchange_key(x, r->t);
    daruma_str secret = {0};
    if (k)
        key_ready(k, &secret); /* the driver asked */
    /* One that a command prints may be another before the answer ends; one of the file lives as long as x->s. */
    c->secret = k && k->key->command.n ? arena_copy(x->c->arena, secret) : secret;
    fetch_request q = {.to = &p->to,
                       .method = x->c->head.method,
                       .target = target_path(x, p, r),
                       .has_body = has_body(x->c) || r->d,
                       .fresh = r->fresh,
                       .clocks = x->s->cfg.clocks};
    memcpy(q.body, r->body, sizeof q.body);
    if (p->cloud)
        cloud_body(p, r->d == r->p ? head_betas(x, r->without, x->c->arena) : (daruma_str){0}, q.body, x->c->arena);
    if (x->passing)
        passing_body(x->passing, r->body[0], r->t->model, x->c->arena, q.body);
    if (!r->stream)
        q.clocks.first_byte = x->s->cfg.plain_first_byte;
    q.clocks.total = shorter(q.clocks.total, r->total);
    /* Nobody needs them behind the first byte of the answer: they die with the attempt, or when its stream begins. */
    trace_span *span = trace_call(x, p, r->t, r->t->model.n ? r->t->model : r->model);
    q.headers = head_for_provider(x, p, r->p, c->secret, trace_field(span), r->without, &q.nheaders, r->a);
    if (x->c->arena->full || r->a->full) {
        trace_out(span, NULL);
        return DRIVE_NO_MEMORY;
    }
    c->handle = fetch_start(x->s->up, &q, &ops, c);
    if (r->stream)
        cloud_stream_begin(x, p, c->handle);
    replicas_touched(x->g->replicas, false); /* it may be a probe */
    trace_out(span, c->handle);
    return c->handle ? DRIVE_SENT : DRIVE_NOT_SENT;
}

/* ---- a question of our own ---- */

/* Who is asked: the summariser if one is configured, else the target at hand. */
typedef struct asked {
    const config_provider *provider;
    const dialect *d;
    daruma_str model, secret;
    bool at_hand; /* the provider that the request itself goes to: what the client showed it is for its eyes */
} asked;

static bool whom(exchange *x, const daruma_target *t, asked *ret)
{
    const config *c = &x->s->cfg;
    const config_provider *here = exchange_provider(x, t);
    const key_state *k = exchange_key(x, t);
    if (c->summariser.model.n) {
        const config_provider *p = &c->providers[c->summariser.provider];
        key_state *its = p->nkeys ? &x->s->keys[c->summariser.provider][0] : NULL;
        *ret = (asked){.provider = p, .d = p->dialect, .model = c->summariser.model, .at_hand = here == p};
        if (!its || key_ready(its, &ret->secret))
            return true;
        key_fetch(x->s, its, NULL); /* for the next time */
        return false;
    }
    *ret = (asked){.provider = here, .d = session_dialect_of(x->session, t), .at_hand = true, .model = t->model};
    if (!ret->model.n)
        ret->model = session_model(x->session);
    return !k || key_ready(k, &ret->secret);
}

static daruma_str question_path(const asked *of, daruma_arena *a)
{
    if (of->provider->cloud)
        return cloud_path(of->provider, of->model, false, a);
    return config_own_path(of->provider, dialect_path(of->d, of->model, false, a), a);
}

const dialect *exchange_ask(void *user, drive_call *c, const daruma_target *t, const daruma_question *q,
                            daruma_ms total)
{
    exchange *x = user;
    asked a;
    daruma_buf body = buf_in(x->c->arena);
    if (!whom(x, t, &a))
        return NULL;
    dialect_write_ask(a.d, a.model, q, &body, x->c->arena);
    fetch_request r = {.to = &a.provider->to,
                       .method = S("POST"),
                       .target = question_path(&a, x->c->arena),
                       .body = {buf_str(&body)},
                       .has_body = true,
                       .clocks = {.connect = x->s->cfg.clocks.connect, .total = total}};
    if (a.provider->cloud)
        cloud_body(a.provider, (daruma_str){0}, r.body, x->c->arena);
    c->secret = a.secret;
    trace_span *span = trace_call(x, a.provider, NULL, a.model);
    r.headers = head_for_question(x, a.provider, a.d, a.secret, a.at_hand, trace_field(span), &r.nheaders);
    c->handle = x->c->arena->full ? NULL : fetch_start(x->s->up, &r, &ops, c);
    trace_out(span, c->handle);
    return c->handle ? a.d : NULL;
}
