/* hedge_call.c - a second call beside one that is silent for longer than usual. It is read apart, and hands over what
 * it has when its first content comes, or when the first call fails: from there on it is the attempt. Where the client
 * has a part of the answer already, it is asked to go on with that.
 *
 *     attempt  ---- silent ----------+------------- cancelled
 *     hedge            starts -------+--- content: takes over, relay.c goes on with it
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/stream.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/attempt.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/late.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/request/account.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/mend/answer/answer.h"
#include "model/kinds.h"

struct hedge_call {
    session *x;
    drive_call call;
    int target;
    daruma_beside beside; /* what its case knows of it */
    const dialect *p;     /* that its target is spoken to in */
    moved_request *moved; /* the request as it went there; NULL: as it came */
    daruma_arena request; /* of what its call sends; the scratch of the attempt, once that is this call */
    daruma_arena arena;   /* of all that follows */
    drive_head head;      /* status 0: none yet */
    daruma_buf held;      /* what came of its body */
    size_t parsed;        /* of it: whole events already looked at */
    stream_view view;
    daruma_ms started;
    bool stream;           /* its answer comes in events */
    bool ended;            /* its answer is here whole */
    bool refused;          /* its status is an error: what it says is read, and judged */
    bool goes_on;          /* it was asked to go on with what the client has ... */
    history_onward onward; /* ... like this */
    turn_reader in;
    daruma_buf text; /* what it says */
    bool calls;      /* it calls a tool, too */
};

static void hedge_call_free(hedge_call *r)
{
    const drive_rooms *rooms = r->x->v->rooms;
    session_cancel(&r->call);
    rooms->close(&r->request);
    rooms->close(&r->arena);
    rooms->give(r);
}

void hedge_cancel(session *x)
{
    hedge_call *r = x->hedge.call;
    if (!r)
        return;
    x->hedge.call = NULL;
    if (x->kase.beside)
        daruma_case_hedge_ended(&x->kase, NULL, session_now(x));
    hedge_call_free(r);
}

void hedge_limit(session *x, daruma_ms until)
{
    hedge_call *r = x->hedge.call;
    if (r && r->call.handle && x->v->host->limit)
        x->v->host->limit(r->call.handle, until - r->started);
}

/* It failed; the first call goes on. */
static void hedge_call_failed(hedge_call *r, daruma_evidence *ev)
{
    session *x = r->x;
    daruma_moment at = session_now(x);
    daruma_arena scratch = {0};
    x->v->rooms->open(&scratch, 0, CLASSIFY_BODY_BYTES_MAX * 8);
    ev->headers = r->head.headers;
    ev->nheaders = r->head.nheaders;
    ev->took = at.now - r->started;
    ev->provider = r->p->provider;
    ev->model_call = true;
    ev->body = relay_is_coded(ev->headers, ev->nheaders)
                   ? (daruma_str){0}
                   : session_redact_sent_of(x, r->target, r->call.secret, ev->body);
    ev->body = str_sub(ev->body, 0, CLASSIFY_BODY_BYTES_MAX);
    session_asked(x, ev);
    daruma_failure f = daruma_classify(ev, at, &scratch);
    f = daruma_judge(x->kase.policy, ev, &f);
    x->hedge.call = NULL;
    x->v->counts.kinds[f.kind]++;
    daruma_event e = DARUMA_EVENT_INIT;
    e.failure = &f;
    e.target = &x->targets[r->target];
    e.attempt = x->kase.attempts;
    e.took = ev->took;
    e.provider_request_id =
        session_redact_sent_of(x, r->target, r->call.secret, session_their_id(ev->headers, ev->nheaders));
    session_tried(x, r->target, &f);
    session_tell(x, DARUMA_WHEN_FAILED, &e);
    bool turns = session_api_turns(x, r->target, r->p, &f); /* then it is not what it was asked that is wrong */
    daruma_case_hedge_ended(&x->kase, turns ? NULL : &f, at);
    driver_wake(x->v);
    hedge_call_free(r);
    x->v->rooms->close(&scratch);
}

/* The attempt is now this call: what has come of it is read again by those who relay. */
static void adopt(session *x, hedge_call *r)
{
    uint32_t attempts = x->kase.attempts;
    x->hedge.call = NULL;
    session_cancel(&x->call);
    if (r->goes_on) {
        session_mend_goes_on(x, &r->onward);
        x->hedge.went_on = true;
    }
    session_scratch_reset(x);
    x->answer.scratch = r->request; /* the call may still be sending from it */
    r->request = (daruma_arena){0};
    x->answer.held = buf_in(&x->answer.scratch);
    x->p = r->p;
    x->moved = r->moved;
    session_answer_begin(x, r->started);
    x->due.progress_by = x->due.look_at = -1;
    x->call = r->call;
    x->call.ops = &relay_ops;
    r->call.handle = NULL;
    if (x->call.handle)
        x->v->host->hand_over(x->call.handle, &x->call);
    if (r->head.status)
        relay_ops.head(&x->call, &r->head);
    if (r->held.n)
        relay_ops.body(&x->call, buf_str(&r->held));
    /* What was handed on may have ended the request, or have been found wanting. */
    bool same = x->client.here && x->kase.out && x->kase.attempts == attempts;
    if (r->ended && same)
        relay_ops.end(&x->call);
    else if (same && x->call.handle && !r->head.status)
        hedge_look(x);
    hedge_call_free(r);
}

static void tell_hedged(session *x, const hedge_call *r)
{
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_remedy how = {.remedy = DARUMA_REMEDY_HEDGE, .act = DARUMA_SEND, .target = r->target};
    e.name = "llm_call_hedged";
    e.failure = &session_last(x)->failure;
    e.remedy = &how;
    e.target = &x->targets[r->target];
    e.attempts = x->kase.attempts;
    e.took = session_now(x).now - x->answer.started;
    session_event(x, &e);
}

bool hedge_takes_over(session *x, const daruma_failure *f)
{
    hedge_call *r = x->hedge.call;
    if (!r)
        return false;
    late_call_over(x, f ? DARUMA_SPENT_FAILED : x->kase.begun ? DARUMA_SPENT_PAUSE : DARUMA_SPENT_SILENT, r->started);
    daruma_case_hedge_takes_over(&x->kase, f, session_now(x));
    x->last->given_at = x->last->cut_by = 0; /* what the first call said: this one has no number of its own */
    x->v->counts.hedges_won++;
    driver_wake(x->v);
    tell_hedged(x, r);
    adopt(x, r);
    return true;
}

/* Its content is here, or was waited for a shorter while; that of the first call is not. */
static void hedge_call_takes_over(hedge_call *r)
{
    session *x = r->x;
    daruma_moment at = session_now(x);
    last_failure *l = session_last_new(x);
    if (!l) {
        session_no_memory(x);
        return;
    }
    l->failure = kind_failure(DARUMA_TIMEOUT, 0);
    l->failure.retryable = true;
    l->failure.net = r->goes_on ? DARUMA_NET_IDLE_TIMEOUT : DARUMA_NET_FIRST_BYTE_TIMEOUT;
    x->v->counts.wasted_ms += (uint64_t)(at.now - x->answer.started);
    x->v->counts.kinds[DARUMA_TIMEOUT]++;
    session_tried(x, x->kase.target, &l->failure);
    hedge_takes_over(x, NULL);
}

/* ---- its answer ---- */

static void on_head(drive_call *c, const drive_head *h)
{
    hedge_call *r = c->owner;
    r->head = *h;
    r->head.headers = relay_fields(h, &r->arena, &r->head.nheaders);
    r->stream = str_istarts(drive_field(h, S("content-type")), S("text/event-stream"));
    if (h->status < 300 && r->stream)
        daruma_case_hedge_headed(&r->x->kase, session_now(r->x));
    r->refused = h->status >= 300;
}

static void was_refused(hedge_call *r)
{
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = r->head.status, .body = buf_str(&r->held)};
    hedge_call_failed(r, &ev);
}

/* What it says cannot be joined to what the client has, nor could that of the next one. Nobody is ended for that: the
 * first call may speak again. */
static void cannot_join(hedge_call *r)
{
    r->x->hedge.unjoined = true;
    hedge_cancel(r->x);
}

/* Does it go on where the client's part of the answer ends? Only then it takes over. */
static join_verdict joins(hedge_call *r, bool whole)
{
    daruma_str said = talk_said(r->x);
    if (whole && !r->text.n && r->calls) /* all that there was to say is said */
        return JOIN_AT;
    if (!str_trim(said).n)
        return whole || str_trim(buf_str(&r->text)).n ? JOIN_AT : JOIN_MORE;
    join_seam seam = join_begin(said, r->onward.how);
    return join_next(&seam, buf_str(&r->text), whole).verdict;
}

/* Reads one event of what is to be joined. False: it is over. */
static bool read_rest(hedge_call *r, const dialect_said *e)
{
    turn_delta few[TURN_DELTAS_FEW];
    daruma_arena room;
    size_t had = r->text.n;
    const drive_rooms *rooms = r->x->v->rooms;
    if (!rooms->open(&room, 0, SSE_EVENT_BYTES_MAX * 8))
        return true;
    turn_deltas said = r->p->read_delta(&r->in, e, few, &room);
    for (size_t i = 0; i < said.n; i++) {
        if (said.p[i].kind == DELTA_TEXT)
            buf_put(&r->text, said.p[i].text);
        r->calls |= said.p[i].kind == DELTA_CALL;
    }
    rooms->close(&room);
    join_verdict v = r->text.n > had ? joins(r, false) : JOIN_MORE;
    if (v == JOIN_MORE)
        return true;
    if (v == JOIN_AT)
        hedge_call_takes_over(r);
    else
        cannot_join(r);
    return false;
}

/* Looks at what is new in its stream. False: it is over. */
static bool read_stream(hedge_call *r)
{
    stream_walk w;
    w.rest = str_from(buf_str(&r->held), r->parsed);
    while (stream_next(r->x->v, r->p, &w)) {
        r->parsed = r->held.n - w.rest.n;
        dialect_watch_said(&r->view, &w.said);
        if (r->view.error || r->view.broken) {
            r->beside.answered = r->view.spoilt;
            daruma_evidence ev = {.phase = DARUMA_AT_STREAM,
                                  .status = r->head.status,
                                  .flaw = r->view.error ? DARUMA_FLAW_ERROR_EVENT : DARUMA_FLAW_BROKEN,
                                  .body = r->view.error ? r->view.error_body : buf_str(&r->held)};
            hedge_call_failed(r, &ev);
            return false;
        }
        if (r->goes_on && !read_rest(r, &w.said))
            return false;
        if (r->view.content && !r->goes_on) {
            hedge_call_takes_over(r);
            return false;
        }
    }
    return true;
}

static void on_body(drive_call *c, daruma_str bytes)
{
    hedge_call *r = c->owner;
    if (r->refused) {
        buf_put(&r->held, str_sub(bytes, 0, CLASSIFY_BODY_BYTES_MAX - r->held.n));
        if (r->held.n >= CLASSIFY_BODY_BYTES_MAX)
            was_refused(r);
        return;
    }
    if (!r->stream && r->x->client.streaming && !r->held.n && relay_begins_stream(bytes)) {
        r->stream = true;
        daruma_case_hedge_headed(&r->x->kase, session_now(r->x));
    }
    buf_put(&r->held, bytes);
    if (r->stream && !read_stream(r))
        return;
    size_t most = r->stream ? STREAM_HELD_BYTES_MAX : ANSWER_HELD_BYTES_MAX / 2;
    if (r->held.n > most && r->goes_on)
        cannot_join(r);
    else if (r->held.n > most) /* so much is content */
        hedge_call_takes_over(r);
}

/* What its answer is at its end. A stream of which something came has taken over. */
static answer_view view_at_end(hedge_call *r)
{
    const stream_view *v = &r->view;
    if (!r->stream && r->head.status)
        return dialect_check(r->p, buf_str(&r->held));
    return (answer_view){.flaw = DARUMA_FLAW_EMPTY,
                         .finish = v->finished ? str_of(v->finish) : (daruma_str){0},
                         .input_tokens = v->input_tokens > 0 ? v->input_tokens : -1,
                         .output_tokens = v->output_tokens};
}

static void on_end(drive_call *c)
{
    hedge_call *r = c->owner;
    r->ended = true;
    if (r->refused) {
        was_refused(r);
        return;
    }
    bool ended = r->view.done || r->view.finished, adds = r->text.n || r->calls; /* else it failed, as it would alone */
    if (r->goes_on && r->head.status && (!r->stream || (ended && adds))) {
        if (r->stream && joins(r, true) == JOIN_AT)
            hedge_call_takes_over(r);
        else
            cannot_join(r);
        return;
    }
    answer_view v = view_at_end(r);
    if (v.flaw == DARUMA_FLAW_NONE) {
        hedge_call_takes_over(r);
        return;
    }
    bool silent = v.flaw == DARUMA_FLAW_EMPTY && relay_is_silence(r->p, v.finish, v.input_tokens >= 0, v.output_tokens);
    r->beside.answered = silent || v.spoilt; /* the model is well, its words were wrong */
    daruma_evidence ev = {
        .phase = DARUMA_AT_ANSWER, .status = r->head.status, .flaw = v.flaw, .body = buf_str(&r->held)};
    hedge_call_failed(r, &ev);
}

static void on_fail(drive_call *c, daruma_net net, daruma_phase phase)
{
    hedge_call *r = c->owner;
    r->call.handle = NULL;
    if (r->refused) { /* its status is known, and what came of its words */
        was_refused(r);
        return;
    }
    bool all = r->stream ? r->goes_on && (r->view.done || r->view.finished) : whole_is_closed(buf_str(&r->held));
    if (all) { /* only the connection died behind it */
        on_end(c);
        return;
    }
    daruma_evidence ev = {.phase = phase, .net = net};
    hedge_call_failed(r, &ev);
}

static const drive_call_ops hedge_call_ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

/* ---- beginning ---- */

/* Composes for another target without touching the attempt under way. */
static bool compose(session *x, hedge_call *r, drive_request *ret)
{
    const dialect *p = x->p;
    session_out out = x->out;
    moved_request *moved = x->moved;
    bool full = x->arena->full, ok = true;
    r->goes_on = x->kase.begun && !x->kase.plain;
    if (r->goes_on)
        ok = session_mend_go_on(x, r->target, &r->onward);
    if (r->goes_on && ok)
        session_mend_use(x, r->onward.body, &r->onward.scan);
    ok = ok && session_convert_now(x, r->target) && session_compose(x, r->target, &r->request, ret) &&
         !x->arena->full && !r->request.full;
    x->arena->full = full;                  /* that there is no memory for a second call does not concern the first */
    x->hedge.unjoined |= r->goes_on && !ok; /* nor will it be the next time: it is not read again and again */
    r->p = x->p;
    r->view = session_view(x);
    r->moved = x->moved;
    x->p = p;
    x->out.body = out.body;
    x->out.edition = out.edition;
    x->out.scan = out.scan;
    x->moved = moved;
    return ok;
}

/* False: that target cannot be asked. */
static bool begin(session *x, int target)
{
    bool renewable;
    drive_request q;
    if (session_key(x, target, &renewable) != DRIVE_KEY_READY || session_stay(x, target) || x->kase.spoiled[target])
        return false;
    hedge_call *r = x->v->rooms->take(sizeof *r);
    if (!r)
        return false;
    *r = (hedge_call){
        .x = x, .target = target, .call = {.ops = &hedge_call_ops, .x = x, .owner = r}, .started = session_now(x).now};
    x->v->rooms->open(&r->arena, HEAD_BYTES_USUAL, ANSWER_ARENA_BYTES_MAX);
    x->v->rooms->open(&r->request, HEAD_BYTES_USUAL, ANSWER_ARENA_BYTES_MAX);
    r->held = r->text = buf_in(&r->arena);
    r->in = (turn_reader){.sequence = -1};
    if (!compose(x, r, &q)) {
        x->kase.spoiled[target] |= !r->goes_on && x->out.unconverted != x->out.edition;
        hedge_call_free(r);
        return false;
    }
    q.fresh = true;
    hedge_call *was = x->hedge.call; /* silent, too; the case reads its room once more */
    x->hedge.call = NULL;
    daruma_case_hedge(&x->kase, &r->beside, target, session_now(x));
    if (was)
        hedge_call_free(was);
    bool full = x->arena->full;
    drive_sent sent = x->v->host->send(x->user, &r->call, &q);
    x->arena->full = full; /* as in compose() */
    if (sent != DRIVE_SENT) {
        daruma_case_unsent(&x->kase, session_now(x));
        hedge_call_free(r);
        return false;
    }
    x->hedge.call = r;
    x->v->counts.calls++;
    x->v->counts.hedges++;
    x->v->counts.remedies[DARUMA_REMEDY_HEDGE]++;
    return true;
}

/* Is there anything to wait for yet? */
static bool is_silent(const session *x)
{
    bool none =
        (!x->client.forwarded || x->hedge.went_on) && /* the rest of an answer is waited for like its beginning */
        (x->answer.mode == ANSWER_NONE || x->answer.mode == ANSWER_HELD || x->answer.mode == ANSWER_WHOLE);
    return x->call.handle && x->safe && !effects_possible(x) && !session_passes(x) && (none || x->kase.goes_on);
}

/* The client has a part of the answer, and another call may go on with such an answer. */
static bool is_part(const session *x)
{
    return !x->hedge.unjoined && x->answer.mode == ANSWER_RELAYED && !x->answer.view.done && !x->answer.view.finished &&
           x->kase.can_mend && x->call.handle;
}

/* ... and with what is there now: unless the client is who is slow. */
static bool goes_on(const session *x)
{
    return is_part(x) && !x->client.paused && talk_was_cut(x) && !talk_unsure(x);
}

void hedge_look(session *x)
{
    daruma_moment at = session_now(x);
    x->due.look_at = -1;
    x->kase.goes_on = goes_on(x);
    x->kase.thinks = talk_thinks(x);
    if (!is_silent(x)) {
        if (is_part(x) && x->kase.ntargets > 1)
            x->due.look_at = add_sat(at.now, HEDGE_NOTED_TIMES * HEDGE_PAUSE_MS);
        session_timer(x);
        return;
    }
    late_silent(x);
    x->kase.bare = x->kase.headed && x->client.streaming && !x->answer.held.n;
    if (x->hedge.call)
        x->hedge.call->beside.bare = x->hedge.call->beside.headed && !x->hedge.call->held.n;
    daruma_silence s = daruma_case_silence(&x->kase, at);
    if (s.act == DARUMA_SILENCE_HEDGE)
        s.look_in = begin(x, s.target) ? HEDGE_MS_MIN : HEDGE_LOOK_MS;
    if (s.look_in >= 0)
        x->due.look_at = add_sat(at.now, s.look_in);
    session_timer(x);
}
