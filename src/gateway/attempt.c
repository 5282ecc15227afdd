/* attempt.c - one call to a provider: may it go out, where to, with which key, body and clocks. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/mend/mend.h"
#include "gateway/inside.h"
#include "sys/sys.h"

const config_provider *exchange_provider(const exchange *x, int target)
{
    return &x->s->cfg.providers[x->targets[target].host / HOST_KEYS];
}

/* A provider called `openai` takes Responses as well, unless another target is called `openai-responses`: who tells the
 * two apart means it. */
static bool takes_responses(const exchange *x, const dialect *d)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (exchange_provider(x, (int)i)->dialect == &dialect_openai_responses)
            return d == &dialect_openai_responses;
    return d == &dialect_openai || d == &dialect_openai_responses;
}

const dialect *exchange_dialect(const exchange *x, int target)
{
    const dialect *d = exchange_provider(x, target)->dialect;
    return !x->d || (x->d == &dialect_openai_responses && takes_responses(x, d)) ? x->d : d;
}

key_state *exchange_key(const exchange *x, int target)
{
    int host = x->targets[target].host, key = host % HOST_KEYS;
    return key == HOST_CLIENT_KEY ? NULL : &x->s->keys[host / HOST_KEYS][key];
}

/* The body in pieces, with the target's model in place of the one asked for. */
static void body_pieces(exchange *x, int target, daruma_str out[4])
{
    daruma_str model = x->targets[target].model, raw = x->scan.model_raw, body = x->body;
    if (x->variant.n && x->variant_for == target && x->variant_of == x->edition) {
        body = x->variant;
        raw = x->variant_model;
    }
    out[0] = body;
    if (!x->d || x->opaque || !raw.n || !model.n || str_eq(model, x->scan.model))
        return;
    daruma_buf name = buf_in(x->c->arena);
    buf_json(&name, model);
    if (name.full)
        return;
    size_t at = (size_t)(raw.p - body.p);
    out[0] = str_sub(body, 0, at);
    out[1] = buf_str(&name);
    out[2] = str_from(body, at + raw.n);
}

/* The client's query; a key in it is the client's own, and goes no further than to providers that have none. */
static daruma_str query_for(exchange *x, const config_provider *p)
{
    daruma_str rest = x->c->head.query;
    if (!config_has_key(p) || str_find(rest, S("key=")) == STR_NONE)
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

static daruma_str target_path(exchange *x, const config_provider *p, int target)
{
    daruma_str model = x->targets[target].model;
    bool renamed = x->p == &dialect_gemini && model.n && !str_eq(model, x->scan.model); /* it stands in the path */
    bool moved = x->p != x->d;
    daruma_str query = moved ? (daruma_str){0} : query_for(x, p);
    daruma_str path = x->c->head.path;
    if (moved) {
        path = dialect_path(x->p, model, x->streaming, x->c->arena);
    } else if (renamed) { /* the query is the client's: it says what form a stream has, and may hold its key */
        daruma_str whole = dialect_path(x->p, model, x->streaming || x->array, x->c->arena);
        path = str_cut(&whole, '?');
    }
    path = config_upstream_path(p, path, x->c->arena);
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
        k.total = sooner_of(k.total ? k.total : -1, left > 1 ? left : 1);
    }
    return k;
}

/* A request that is not whole is not sent: without its key it would make a good one look bad. */
static void no_memory(exchange *x, daruma_moment at)
{
    call *c = x->c;
    bool begun = call_started(c);
    daruma_case_drop(&x->kase, at);
    exchange_end(x, DARUMA_OUTCOME_FAILED);
    if (begun) {
        call_abort(c);
        return;
    }
    call_head(c, 503, NULL, 0, 0);
    call_end(c);
}

/* The conversation cannot be carried over to this target's dialect: it is none for this request. */
static void cannot_move(exchange *x, int target, daruma_moment at)
{
    daruma_event e = DARUMA_EVENT_INIT;
    bool large = x->moved && x->moved->too_large;
    e.name = "request_not_convertible";
    e.reason = large ? S("this request is too large to be written for a provider that speaks another dialect")
                     : S("this request holds what only its own provider understands");
    exchange_event(x, &e);
    daruma_case_drop(&x->kase, at);
    x->kase.spoiled[target] = 1;
    x->kase.want = -1;
    exchange_attempt(x);
}

bool exchange_compose(exchange *x, int target, daruma_str secret, daruma_arena *a, fetch_request *ret)
{
    const config_provider *p = exchange_provider(x, target);
    x->p = exchange_dialect(x, target);
    *ret = (fetch_request){.to = &p->to,
                           .method = x->c->head.method,
                           .target = target_path(x, p, target),
                           .has_body = x->c->body.n > 0 || x->c->head.length > 0 || x->d,
                           /* What must not be sent twice is not sent where a closed connection may leave that open;
                            * and a probe is one call. */
                           .fresh = x->kase.attempts > 1 || !x->safe || x->scan.effects || x->kase.permits[0].probe ||
                                    x->kase.permits[1].probe || x->kase.permits[3].probe,
                           .clocks = clocks_of(x, gateway_now(x->g).now)};
    x->secret = arena_copy(x->c->arena, secret); /* the key's own may be another before the answer ends */
    /* Nobody needs them behind the first byte of the answer: they die with the attempt, or when its stream begins. */
    ret->headers = head_for_provider(x, p, x->p, x->secret, &ret->nheaders, a);
    if (x->p == x->d)
        body_pieces(x, target, ret->body);
    else
        ret->body[0] = exchange_converts(x, target) ? (daruma_str){0} : x->moved->body;
    return ret->body[0].n || x->p == x->d;
}

stream_view exchange_view(const exchange *x)
{
    return (stream_view){.choices = x->p == x->d ? x->scan.choices : 0}; /* which no conversion carries over */
}

static void send_now(exchange *x, int target, daruma_str secret)
{
    daruma_moment at = gateway_now(x->g);
    fetch_request r;
    heal_rest(x);
    if (!exchange_convert(x, target)) {
        exchange_timer(x); /* heartbeats go on, exchange_fitted() will be called */
        return;
    }
    exchange_sweep(x);
    exchange_scratch_reset(x);
    sys_arena_init(&x->scratch, HEAD_BYTES_USUAL, ANSWER_ARENA_BYTES_MAX);
    x->held = buf_in(&x->scratch);
    if (!exchange_compose(x, target, secret, &x->scratch, &r) && !x->c->arena->full) {
        cannot_move(x, target, at);
        return;
    }
    if (x->c->arena->full || x->scratch.full) {
        no_memory(x, at);
        return;
    }
    x->view = exchange_view(x);
    x->mode = ANSWER_NONE;
    x->cut = false;
    x->unchecked = NULL;
    x->failed_event = (daruma_str){0};
    x->status = 0;
    x->attempt_started = at.now;
    x->sent = true;
    x->g->counts.calls++;
    x->f = fetch_start(x->s->up, &r, &relay_ops, x);
    if (!x->f) {
        daruma_evidence ev = {.phase = DARUMA_AT_CONNECT, .net = DARUMA_NET_LOCAL, .took = 0};
        exchange_failed(x, &ev);
        return;
    }
    hedge_look(x);
    if (x->timer_on || x->beat_at >= 0 || x->look_at >= 0)
        exchange_timer(x);
}

static void send_to(exchange *x, int target, daruma_str secret)
{
    if (heal_fits(x))
        send_now(x, target, secret);
    else
        exchange_timer(x); /* heartbeats go on */
}

/* Everything is cooling down and nobody is worth waiting for: say so with what they are sick of. Or nobody can take the
 * request at all. */
static void nobody_well(exchange *x, daruma_admission a, daruma_moment at)
{
    if (!x->sent) {
        bool asked = x->kase.target >= 0, large = x->moved && x->moved->too_large;
        daruma_kind kind = !asked ? a.why : large ? DARUMA_REQUEST_TOO_LARGE : DARUMA_INVALID_MESSAGE;
        x->failure = (daruma_failure){.kind = kind,
                                      .severity = daruma_kind_severity(kind),
                                      .retryable = daruma_kind_passes(kind),
                                      .limit = -1,
                                      .used = -1,
                                      .requested = -1,
                                      .wait = asked ? -1 : daruma_case_again_in(&x->kase, NULL, at.now)};
        if (asked)
            x->failure.message =
                large ? S("This request is too large to be written for another dialect, and every target of its model "
                          "that may be called speaks another one.")
                      : S("This request holds what only its own provider understands, and every target of its model "
                          "that may be called speaks another dialect.");
        x->failed_body = (daruma_str){0};
    }
    finish_failed(x);
}

void exchange_attempt(exchange *x)
{
    exchange_loosen(x, NULL);
    daruma_moment at = gateway_now(x->g);
    daruma_admission a = daruma_case_admit(&x->kase, at);
    if (a.act != DARUMA_SEND) {
        nobody_well(x, a, at);
        return;
    }
    if (a.wait > 0) {
        exchange_wait(x, a.wait);
        return;
    }
    if (exchange_stay(x, a.target)) {
        daruma_case_drop(&x->kase, at);
        exchange_attempt(x);
        return;
    }
    key_state *k = exchange_key(x, a.target);
    daruma_str secret = {0};
    x->kase.can_refresh = k && k->key->command.n && !k->refreshed;
    if (k && !key_ready(k, &secret)) {
        x->refreshing = true;
        exchange_timer(x); /* heartbeats go on while the command runs */
        key_fetch(x->s, k, x);
        return;
    }
    send_to(x, a.target, secret);
}

/* The command gave no key. Nobody is called without one: it would be refused, in words that help nobody. */
static void no_key(exchange *x)
{
    const key_state *k = exchange_key(x, x->kase.target);
    daruma_buf b = buf_in(x->c->arena);
    BUF_LIT(&b, "{\"error\":{\"type\":\"authentication_error\",\"code\":\"key_command_failed\",\"message\":"
                "\"The command that prints the key ");
    buf_put(&b, k->key->name); /* a name of letters, digits and the like */
    BUF_LIT(&b, " of this provider failed: ");
    buf_putz(&b, k->why[0] ? k->why : "it could not be run");
    BUF_LIT(&b, ".\"}}");
    daruma_evidence ev = {.phase = DARUMA_AT_CONNECT, .status = 401, .body = buf_str(&b)};
    x->attempt_started = gateway_now(x->g).now;
    x->sent = true;              /* as far as anybody can tell */
    x->kase.can_refresh = false; /* it was run just now */
    exchange_failed(x, &ev);
}

void exchange_fitted(exchange *x)
{
    const key_state *k = exchange_key(x, x->kase.target);
    daruma_str secret = {0};
    if (!k || key_ready(k, &secret))
        send_now(x, x->kase.target, secret);
    else
        no_key(x);
}

void exchange_key_here(exchange *x)
{
    daruma_str secret = {0};
    x->refreshing = false;
    if (!x->kase.out) { /* new credentials were the remedy: the engine says where to go with them */
        exchange_attempt(x);
        return;
    }
    if (key_ready(exchange_key(x, x->kase.target), &secret))
        send_to(x, x->kase.target, secret);
    else
        no_key(x);
}
