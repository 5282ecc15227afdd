/* host_session.c - a question to a model in `daruma run`: a session of the library (daruma.h), and its calls, which go
 * out over net/upstream. Failures of the provider are recovered there; the host sees what is left. */
#include "run/host_inside.h"
#include "sys/sys.h"
#include <stdlib.h>

/* ---- calls of a session ---- */

static void free_call(host_call *c)
{
    sys_arena_done(&c->room);
    sys_arena_done(&c->body);
    free(c);
}

static void call_gone(host_call *c)
{
    for (host_call **p = &c->r->calls; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    free_call(c);
}

static host_call *call_of(run *r, int64_t number)
{
    for (host_call *c = r->calls; c; c = c->next)
        if (c->number == number)
            return c;
    return NULL;
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    host_call *c = user;
    daruma_buf b = buf_in(&c->room);
    (void)f;
    for (size_t i = 0; i < h->nheaders; i++)
        BUF_SAY(&b, h->headers[i].name, ": ", h->headers[i].value, "\r\n");
    c->r->q.head = h->status;
    c->r->q.net = DARUMA_NET_NONE;
    host_tick(c->r);
    daruma_call_head(c->r->session, c->number, h->status, b.p, b.n);
    host_pump(c->r);
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    host_call *c = user;
    (void)f;
    host_tick(c->r);
    daruma_call_bytes(c->r->session, c->number, bytes.p, bytes.n);
    host_pump(c->r);
}

static void on_end(fetch *f, void *user)
{
    host_call *c = user;
    run *r = c->r;
    int64_t number = c->number;
    (void)f;
    call_gone(c);
    host_tick(r);
    daruma_call_end(r->session, number);
    host_pump(r);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    host_call *c = user;
    run *r = c->r;
    int64_t number = c->number;
    (void)f, (void)why;
    r->q.net = net;
    r->q.phase = phase;
    call_gone(c);
    host_tick(r);
    daruma_call_failed(r->session, number, daruma_net_name(net));
    host_pump(r);
}

static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

/* What the session says of what is to be done: daruma_session_path() and the like. */
static daruma_str said(const daruma_session *s, const char *(*which)(const daruma_session *, size_t *))
{
    size_t n;
    const char *p = which(s, &n);
    return (daruma_str){p, n};
}

/* "name: value\r\n" each, those of the place, and the key. */
static size_t fields_of_call(const run_target *t, daruma_str text, daruma_header *out, size_t max, daruma_arena *a)
{
    size_t n = 0;
    while (text.n && n + t->nheaders + 1 < max) {
        daruma_str line = str_cut(&text, '\n'), name = str_cut(&line, ':');
        if (str_trim(name).n)
            out[n++] = (daruma_header){str_trim(name), str_trim(line)};
    }
    for (size_t i = 0; i < t->nheaders && n + 1 < max; i++)
        out[n++] = t->headers[i];
    if (t->key.n)
        out[n++] = (daruma_header){str_of(t->d->key_header), STR_SAY(a, t->d->key_prefix, t->key)};
    return n;
}

/* The session that is open has no call out, or has one again. */
static void rest(run *r, bool rests)
{
    daruma_ms now = host_tick(r).now;
    if (r->rests >= 0)
        r->below.waited = add_sat(r->below.waited, now - r->rests);
    r->rests = rests ? now : -1;
}

/* Sends the call that the session wants. False: there is no such place, or no memory. */
static bool start_call(host_call *c)
{
    run *r = c->r;
    const daruma_session *s = r->session;
    daruma_str body = said(s, daruma_session_bytes);
    bool same = str_eq(body, r->q.body); /* it need not be there twice: it is as long as all before */
    daruma_ms total = daruma_session_total_ms(s);
    const staff_place *place = staff_place_of(crew_who(r->a), r->q.model, said(s, daruma_session_target));
    if (!place || !sys_arena_init(&c->room, 16 << 10, CALL_ARENA_BYTES_MAX) ||
        (!same && !sys_arena_init(&c->body, body.n + 1, 0))) /* and a NUL */
        return false;
    daruma_header *fields = ARENA_NEW(&c->room, daruma_header, RUN_FIELDS_MAX);
    daruma_str text = arena_copy(&c->room, said(s, daruma_session_fields));
    fetch_request q = {.to = &place->to,
                       .method = S("POST"),
                       .target = staff_path(place, said(s, daruma_session_path), &c->room),
                       .headers = fields,
                       .nheaders = fields ? fields_of_call(place->target, text, fields, RUN_FIELDS_MAX, &c->room) : 0,
                       .body = {same ? r->q.body : arena_copy(&c->body, body)},
                       .has_body = true,
                       .clocks = {RUN_CONNECT_MS, RUN_ANSWER_MS, RUN_IDLE_MS, total > 0 ? total : 0}};
    c->number = daruma_session_call(s);
    c->f = c->room.full || c->body.full ? NULL : fetch_start(r->up, &q, &ops, c);
    return c->f != NULL;
}

static void send_call(run *r)
{
    rest(r, false);
    host_call *c = calloc(1, sizeof *c);
    if (c)
        *c = (host_call){.next = r->calls, .r = r};
    if (c && start_call(c)) {
        r->calls = c;
        r->q.sent++;
        return;
    }
    if (c)
        free_call(c);
    daruma_call_failed(r->session, daruma_session_call(r->session), "local");
}

void host_end_calls(run *r)
{
    while (r->calls) {
        fetch_cancel(r->calls->f);
        call_gone(r->calls);
    }
}

/* True if an answer that says that, or begins so, was written by a gateway of ours in the model's place. Its head need
 * not say so: it may be out before the gateway gives up. */
static bool is_explained(daruma_str words)
{
    return str_starts(words, S(DIALECT_NOTICE)) || str_starts(words, S(DIALECT_STOPPED));
}

/* The text of an answer, as far as it can be told now: its beginning is held back while it may become a gateway's. */
static daruma_str to_tell(run *r, daruma_str piece)
{
    if (r->q.tells)
        return piece;
    buf_put(&r->q.held, piece);
    daruma_str held = buf_str(&r->q.held);
    bool open = str_starts(S(DIALECT_NOTICE), held) || str_starts(S(DIALECT_STOPPED), held);
    r->q.tells = held.n && !open && !is_explained(held);
    return r->q.tells ? held : (daruma_str){0};
}

static void tell_text(run *r, daruma_str text)
{
    if (!text.n)
        return;
    r->s->text(text, r->follows, r->s->user);
    r->follows = RUN_TEXT_MORE;
}

/* Bytes of the answer: errors are no streams, and some providers send an answer whole that was asked for as a stream.
 * What it is its first byte says that is no blank. */
static void take_bytes(run *r, daruma_str bytes)
{
    if (r->q.streams && !r->q.answer.view.began && r->q.status != 200)
        r->q.streams = false;
    else if (r->q.streams && !r->q.answer.view.began && !r->q.answer.rest.n) { /* blanks come before either */
        buf_put(&r->q.whole, bytes);
        daruma_str text = str_trim(buf_str(&r->q.whole));
        if (!text.n)
            return;
        r->q.streams = text.p[0] != '{';
        if (!r->q.streams)
            return;
        bytes = buf_str(&r->q.whole);
    }
    if (!r->q.streams) {
        buf_put(&r->q.whole, bytes);
        return;
    }
    daruma_arena scratch = {0};
    sys_arena_init(&scratch, 16 << 10, RUN_ANSWER_BYTES_MAX);
    daruma_str text = streamed_take(&r->q.answer, bytes, &scratch);
    sys_arena_done(&scratch);
    r->q.whole.n = 0;
    tell_text(r, to_tell(r, text));
}

static void say_signed(run *r, daruma_str event)
{
    daruma_arena room;
    if (!sys_arena_init(&room, 4096, LIB_OPTIONS_BYTES_MAX))
        return;
    daruma_buf b = buf_in(&room);
    crew_sign(r->a, event, &b);
    host_say(r, buf_str(&b));
    sys_arena_done(&room);
}

void host_end_session(run *r, uint32_t *ret_more)
{
    host_end_calls(r);
    *(ret_more ? ret_more : &r->below.calls) += r->q.sent > 1 ? r->q.sent - 1 : 0;
    r->q.sent = 0;
    if (!r->session)
        return;
    rest(r, false);
    const run_below *now = &r->below, *was = &r->recorded;
    bool more = now->calls != was->calls || now->waited != was->waited || now->asked != was->asked ||
                now->asked_more != was->asked_more;
    if (more && !journal_spent(r->journal, &r->below))
        host_lose_journal(r);
    r->recorded = r->below;
    daruma_session_free(r->session);
    r->session = NULL;
    r->q.over = false;
}

/* Does what the session says. Its end is dealt with later: it may be told from within one of its own calls. */
void host_pump(run *r)
{
    while (r->session && !r->q.over) {
        daruma_do what = daruma_session_next(r->session);
        host_call *c = call_of(r, daruma_session_call(r->session));
        switch (what) {
        case DARUMA_DO_NOTHING:
            if (!r->calls)
                rest(r, true);
            host_rearm(r);
            return;
        case DARUMA_DO_SEND:
            send_call(r);
            break;
        case DARUMA_DO_CANCEL:
            if (c) {
                fetch_cancel(c->f);
                call_gone(c);
            }
            break;
        case DARUMA_DO_PAUSE:
            if (c)
                fetch_pause(c->f);
            break;
        case DARUMA_DO_RESUME:
            if (c)
                fetch_resume(c->f);
            break;
        case DARUMA_DO_LIMIT:
            if (c)
                fetch_total(c->f, daruma_session_total_ms(r->session));
            break;
        case DARUMA_DO_HEAD:
            r->q.status = daruma_session_status(r->session);
            break;
        case DARUMA_DO_BYTES:
            take_bytes(r, said(r->session, daruma_session_bytes));
            break;
        case DARUMA_DO_EVENT:
            say_signed(r, said(r->session, daruma_session_bytes));
            break;
        case DARUMA_DO_END:
        case DARUMA_DO_BREAK:
            r->q.over = true;
            r->q.broken = what == DARUMA_DO_BREAK || r->q.whole.full;
            host_later(r);
            return;
        }
    }
}

/* What became of a question that ended with an error. An agent that deals with failures itself needs the failure, not
 * our words about it, which such an error says it is. */
static void take_error(const run *r, crew_input *in)
{
    bool raises = crew_who(r->a)->as.policy->raises, whole = r->q.head == 200;
    in->kind = CREW_FAILED;
    in->phase = raises && whole ? DARUMA_AT_ANSWER : DARUMA_AT_HEAD;
    in->code = raises && whole ? r->q.head : r->q.status;
    if (!raises || (!whole && !r->q.net) || !json_get(json_get(in->text, S("error")), S("daruma")).n)
        return;
    in->text = (daruma_str){0};
    in->net = r->q.net;
    in->code = r->q.head;
    in->phase = r->q.head ? DARUMA_AT_ANSWER : r->q.phase;
}

/* The words of an answer that a gateway of ours wrote in the model's place; empty: it is the model's, or the session
 * wrote it here because the agent's profile takes an error for an answer. */
static daruma_str gateway_words(run *r, daruma_str body)
{
    turn said = {.usage = TURN_USAGE_NONE};
    const char *own = r->session ? daruma_session_outcome(r->session) : "";
    if (strcmp(own, daruma_outcome_name(DARUMA_OUTCOME_EXPLAINED)) == 0 ||
        str_find(body, S(DIALECT_MARK)) == STR_NONE || /* no writer of JSON escapes any of its characters */
        crew_who(r->a)->as.d->read_answer(body, &r->room, &said) != DARUMA_OK || !said.message.nparts)
        return (daruma_str){0};
    daruma_str words = convo_part_text(&(convo){.arena = &r->room}, &said.message.parts[0]);
    return is_explained(words) ? words : (daruma_str){0};
}

/* ... as the error that they are. */
static crew_input explained(run *r, daruma_str words)
{
    daruma_buf b = buf_in(&r->room);
    BUF_LIT(&b, "{\"error\":{");
    BUF_MEMBERS(&b, "message", words);
    BUF_LIT(&b, "}}");
    return (crew_input){
        .kind = CREW_FAILED, .call = r->q.number, .phase = DARUMA_AT_ANSWER, .code = r->q.status, .text = buf_str(&b)};
}

crew_input host_answer(run *r)
{
    crew_input in = {.kind = CREW_ANSWERED, .call = r->q.number, .text = buf_str(&r->q.whole)};
    if (r->q.streams && r->q.answer.error.n)
        in.text = r->q.answer.error;
    else if (r->q.streams && !r->q.broken)
        in.text = streamed_whole(&r->q.answer);
    bool told = r->q.streams && r->q.answer.error.n, cut = r->q.broken && !told;
    if (!cut && r->q.status != 200) {
        take_error(r, &in);
    } else if (cut || (r->q.streams && !in.text.n)) {
        in = (crew_input){.kind = CREW_FAILED, .call = r->q.number, .phase = DARUMA_AT_ANSWER, .net = DARUMA_NET_CUT};
    }
    daruma_str words = in.kind == CREW_ANSWERED ? gateway_words(r, in.text) : (daruma_str){0};
    if (words.n)
        in = explained(r, words);
    else if (in.kind == CREW_ANSWERED && r->q.streams && !r->q.tells)
        tell_text(r, buf_str(&r->q.held)); /* all there is of it */
    if (r->follows == RUN_TEXT_MORE)
        r->follows = told || in.kind == CREW_FAILED ? RUN_TEXT_AGAIN : RUN_TEXT_NEW;
    return in;
}

/* True if what the model says to that is told as it comes. */
static bool is_streamed(const run *r, const agent_act *x)
{
    size_t n;
    const crew_member *first = staff_members(r->staff, &n);
    return r->s->text && x->purpose == AGENT_FOR_STEP && crew_who(r->a) == first && !first->as.policy->actions;
}

/* The request as one whose answer is streamed. In the room of the answer. */
static daruma_str as_stream(run *r, const agent_act *x)
{
    const dialect *d = crew_who(r->a)->as.d;
    if (!r->q.streams || !d->asks_stream.n)
        return x->body;
    return STR_SAY(&r->room, str_sub(x->body, 0, x->body.n - 1), ",", d->asks_stream, "}"); /* no space before '}' */
}

void host_ask(run *r, const agent_act *x)
{
    char why[256];
    daruma_buf b = buf_in(&r->room);
    agent_act own = *x; /* the first call is in its limit, and so are those that went out before a resume */
    bool none_left = own.calls && r->before >= own.calls;
    own.calls -= own.calls && !none_left ? r->before : 0;
    r->q = (host_question){.number = x->call,
                           .model = arena_copy(&r->room, x->model),
                           .sent = r->before,
                           .streams = is_streamed(r, x),
                           .answer = streamed_begin(crew_who(r->a)->as.d, &r->room),
                           .whole = buf_in(&r->room),
                           .held = buf_in(&r->room)};
    r->q.body = as_stream(r, x);
    r->before = 0;
    staff_options(crew_who(r->a), &own, r->q.streams, &b);
    host_tick(r);
    if (!r->room.full && !none_left)
        r->session = daruma_session_open(r->known, staff_recovery(crew_who(r->a)), b.p, b.n, r->q.body.p, r->q.body.n,
                                         why, sizeof why);
    if (r->session) {
        host_pump(r);
        return;
    }
    r->q.over = r->q.broken = true;
    host_later(r);
}
