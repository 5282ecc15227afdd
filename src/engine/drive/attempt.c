/* attempt.c - one call to a provider: may it go out, where to, with which key, body and clocks. */
#include "engine/decide/case.h"
#include "base/buf.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/late.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/request/account.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"
#include "engine/drive/waiting.h"
#include "model/kinds.h"

drive_place session_place(const session *x, int target)
{
    return x->v->host->place(x->user, &x->targets[target]);
}

/* The body in pieces, with the target's model in place of the one asked for. */
static void body_pieces(session *x, int target, daruma_str out[4])
{
    daruma_str model = x->targets[target].model, raw = x->out.scan.model_raw, body = x->out.body;
    const session_variant *v = session_variant_for(x, target);
    if (v && v->body.n) {
        body = v->body;
        raw = v->model;
    }
    out[0] = body;
    if (!x->d || x->opaque || !raw.n || !model.n || str_eq(model, x->out.scan.model) ||
        session_place(x, target).model_apart)
        return;
    daruma_buf name = buf_in(x->arena);
    buf_json(&name, model);
    if (name.full)
        return;
    size_t at = (size_t)(raw.p - body.p);
    out[0] = str_sub(body, 0, at);
    out[1] = buf_str(&name);
    out[2] = str_from(body, at + raw.n);
}

/* So long may an attempt take in all: it does not reach behind the case's deadline. */
static daruma_ms time_left(const session *x)
{
    if (x->kase.deadline < 0)
        return -1;
    daruma_ms left = x->kase.deadline - x->v->at.now;
    return left > 1 ? left : 1;
}

/* A request that is not whole is not sent: without its key it would make a good one look bad. */
void session_no_memory(session *x)
{
    session_cancel(&x->call);
    hedge_cancel(x);
    if (x->kase.out)
        daruma_case_drop(&x->kase, session_now(x));
    session_end(x, DARUMA_OUTCOME_FAILED, DRIVE_BARE);
}

/* The conversation cannot be carried over to this target's dialect: it is none for this request. */
static void cannot_move(session *x, int target, daruma_moment at)
{
    bool large = x->moved && x->moved->too_large;
    session_say(x, "request_not_convertible",
                large ? S("this request is too large to be written for a provider that speaks another dialect")
                      : S("this request holds what only its own provider understands"));
    daruma_case_unsent(&x->kase, at);
    x->kase.spoiled[target] = 1;
    x->kase.want = -1;
    session_attempt(x);
}

/* A model that refuses streams is asked for none, and has the time of a whole answer. Gemini's paths say it. */
static bool asks_stream(const session *x, int target)
{
    const session_variant *v = session_variant_for(x, target);
    if (!x->client.streaming || !x->d || !x->p->asks_stream.n)
        return x->client.streaming;
    if (x->p != x->d)
        return !x->moved || !x->moved->whole;
    return v && v->body.n ? !v->whole : !x->out.asks_whole;
}

bool session_compose(session *x, int target, daruma_arena *a, drive_request *ret)
{
    x->p = session_dialect(x, target);
    *ret = (drive_request){.t = &x->targets[target],
                           .d = x->d,
                           .p = x->p,
                           .model = x->out.scan.model,
                           .without = betas_without(x, target),
                           .stream = asks_stream(x, target),
                           .array = x->client.array,
                           /* What must not be sent twice is not sent where a closed connection may leave that open;
                            * and a probe is one call. */
                           .fresh = x->kase.attempts > 1 || !x->safe || x->out.scan.effects ||
                                    x->kase.permits[0].probe || x->kase.permits[1].probe || x->kase.permits[3].probe,
                           .total = time_left(x),
                           .a = a};
    if (x->p == x->d)
        body_pieces(x, target, ret->body);
    else
        ret->body[0] = session_converts(x, target) ? (daruma_str){0} : x->moved->body;
    return ret->body[0].n || x->p == x->d;
}

stream_view session_view(const session *x)
{
    return (stream_view){.choices = x->p == x->d ? x->out.scan.choices : 0}; /* which no conversion carries over */
}

void session_answer_begin(session *x, daruma_ms started)
{
    session_answer *was = &x->answer;
    *was = (session_answer){
        .scratch = was->scratch, .held = was->held, .theirs = was->theirs, .view = session_view(x), .started = started};
}

static void send_now(session *x, int target)
{
    daruma_moment at = session_now(x);
    drive_request r;
    session_mend_rest(x);
    if (!session_convert(x, target))
        return; /* session_fitted() will be called */
    session_sweep(x);
    session_scratch_reset(x);
    session_scratch_open(x);
    x->answer.held = buf_in(&x->answer.scratch);
    if (!session_compose(x, target, &x->answer.scratch, &r) && !x->arena->full) {
        cannot_move(x, target, at);
        return;
    }
    betas_sent(x, target);
    session_answer_begin(x, at.now);
    x->call.ops = &relay_ops;
    x->call.x = x;
    drive_sent sent = x->arena->full ? DRIVE_NO_MEMORY : x->v->host->send(x->user, &x->call, &r);
    if (sent == DRIVE_NO_MEMORY) {
        session_no_memory(x);
        return;
    }
    x->sent = true;
    x->v->counts.calls++;
    if (sent == DRIVE_NOT_SENT) {
        daruma_evidence ev = {.phase = DARUMA_AT_CONNECT, .net = DARUMA_NET_LOCAL, .took = 0};
        session_failed(x, &ev);
        return;
    }
    hedge_look(x); /* arms the timer */
}

static void send_to(session *x, int target)
{
    if (session_mend_fits(x))
        send_now(x, target);
}

/* Why no target takes the request as it is, for its client. */
static daruma_str why_not(const session *x)
{
    if (x->moved && x->moved->too_large)
        return S("This request is too large to be written for another dialect, and every target of its model that may "
                 "be called speaks another one.");
    if (x->out.scan.before)
        return S("This request goes on from an answer or a conversation that a provider keeps, and every target of its "
                 "model that may be called keeps none: send the whole conversation in `input`.");
    return S("This request holds what only its own provider understands, and every target of its model that may be "
             "called speaks another dialect.");
}

/* Everything is cooling down and nobody is worth waiting for: say so with what they are sick of. Or nobody can take the
 * request at all. */
static void nobody_well(session *x, daruma_admission a, daruma_moment at)
{
    session_step(x, &(drive_step){.what = DRIVE_STOPPED, .kind = a.why});
    if (!x->sent) {
        bool asked = x->kase.target >= 0, large = x->moved && x->moved->too_large;
        daruma_kind kind = !asked ? a.why : large ? DARUMA_REQUEST_TOO_LARGE : DARUMA_INVALID_MESSAGE;
        last_failure *l = session_last_new(x);
        if (!l) {
            session_no_memory(x);
            return;
        }
        l->failure = kind_failure(kind, asked ? 0 : a.status);
        l->failure.retryable = daruma_kind_passes(kind);
        l->failure.wait = asked ? -1 : daruma_case_again_in(&x->kase, NULL, at.now);
        l->failure.ours = asked;
        if (asked)
            l->failure.message = why_not(x);
        if (asked && !large && x->out.scan.before && !x->out.scan.conversing)
            l->failure.code = S(CODE_BEFORE_LOST);
        l->body = (daruma_str){0};
    }
    session_give_up(x); /* it may have been waited with the rest of an answer */
}

/* Bytes of pictures and sounds say nothing of tokens. */
static bool has_media(const session *x)
{
    static const daruma_str marks[] = {LIT("base64"), LIT("\"inline"), LIT("_audio\"")};
    bool found = false;
    for (size_t i = 0; i < COUNT(marks) && !found; i++)
        found = str_find(x->out.body, marks[i]) != STR_NONE;
    return found;
}

static daruma_admission admit(session *x, daruma_moment at)
{
    int64_t rate = memory_rate(x->v->mem, x->targets[x->home.target].lane_id ^ x->client.credential);
    if (!x->out.media && case_counts_tokens(&x->kase, at.now))
        x->out.media = has_media(x);
    x->kase.tokens = x->out.media || !x->d ? 0 : mul_sat((int64_t)x->out.body.n, 1000) / rate;
    x->kase.bytes = (int64_t)x->out.body.n;
    return daruma_case_admit(&x->kase, at);
}

drive_key session_key(session *x, int target, bool *ret_renewable)
{
    *ret_renewable = false;
    return x->v->host->key ? x->v->host->key(x->user, &x->targets[target], ret_renewable) : DRIVE_KEY_READY;
}

void session_key_fetch(session *x, int target, bool anew)
{
    x->refreshing = true;
    late_begin(x, (daruma_spent){.on = DARUMA_SPENT_KEY, .target = &x->targets[target], .usual = -1});
    session_timer(x); /* heartbeats go on while it is fetched */
    x->v->host->key_fetch(x->user, &x->targets[target], anew);
}

void session_attempt(session *x)
{
    session_loosen(x, NULL);
    daruma_moment at = session_now(x);
    daruma_admission a = admit(x, at);
    if (a.act != DARUMA_SEND || a.wait == 0)
        waiting_ends(x);
    if (a.act != DARUMA_SEND) {
        nobody_well(x, a, at);
        return;
    }
    if (a.wait > 0) {
        late_awaits(x, &a);
        session_wait(x, a.wait, a.target, x->due.told > at.now ? x->due.told - at.now : 0);
        return;
    }
    if (session_stay(x, a.target)) {
        daruma_case_unsent(&x->kase, at);
        session_attempt(x);
        return;
    }
    bool renewable;
    drive_key k = session_key(x, a.target, &renewable);
    x->kase.can_refresh = renewable;
    if (k == DRIVE_KEY_ABSENT) {
        session_key_fetch(x, a.target, false);
        return;
    }
    send_to(x, a.target);
}

static bool has_key(session *x)
{
    bool renewable;
    return session_key(x, x->kase.target, &renewable) == DRIVE_KEY_READY;
}

/* There is no key. Nobody is called without one: it would be refused, in words that help nobody. */
static void no_key(session *x)
{
    const drive_host *host = x->v->host;
    daruma_evidence ev = {.phase = DARUMA_AT_CONNECT, .status = 401};
    if (host->key_trouble)
        ev.body = host->key_trouble(x->user, &x->targets[x->kase.target], x->arena);
    x->answer.started = session_now(x).now;
    x->sent = true;              /* as far as anybody can tell */
    x->kase.can_refresh = false; /* it was fetched just now */
    session_failed(x, &ev);
}

void session_fitted(session *x)
{
    if (has_key(x))
        send_now(x, x->kase.target);
    else
        no_key(x);
}

void session_key_here(session *x)
{
    x->refreshing = false;
    late_end(x);
    if (!x->kase.out) { /* new credentials were the remedy: the engine says where to go with them */
        session_attempt(x);
        return;
    }
    if (has_key(x))
        send_to(x, x->kase.target);
    else
        no_key(x);
}
