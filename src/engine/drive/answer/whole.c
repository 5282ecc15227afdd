/* whole.c - an answer that came in one piece: it is judged, its calls and its JSON are mended, and it is written as the
 * client's dialect has it. A large one is read beside the loop, in memory of its own.
 *
 *   whole_ended --> do_whole, perhaps on another thread --> settle --> the client has it, or session_failed() */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/answer.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/stream.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/finish.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/mend/mending.h"

/* An answer, what is to be done to it, and what came of that. */
typedef struct whole {
    const drive_rooms *rooms;
    const dialect *from, *to;
    daruma_str body;
    const convo_rename *renames; /* of the request's tools there ... */
    size_t nrenames;
    const convo_rename *own; /* ... and in the client's own dialect */
    size_t nown;
    write_ctx ctx;
    answer_test test;          /* what it is held against */
    bool calls;                /* its calls are looked at */
    bool streams, usage_asked; /* the client asked for a stream, which it becomes */
    bool folds;                /* it is a stream, and the client asked for none */
    daruma_net net;            /* how its connection died, unless it ended ... */
    daruma_phase phase;        /* ... and when */
    /* made */
    daruma_arena room;
    answer_view view;
    turn t;
    bool read;
    daruma_str out; /* as it goes out; empty: as it came */
    bool too_long;  /* it met a limit of ours, and cannot go out as it came */
    daruma_flaw flaw;
    daruma_str error; /* of a stream that ended in one */
} whole;

/* The arguments as text, whatever the wire makes of them, and the client's names. */
static void make_plain(whole *w)
{
    for (size_t i = 0; i < w->t.message.nparts; i++) {
        convo owner = {.arena = &w->room};
        convo_part *p = &w->t.message.parts[i];
        daruma_str text = convo_text(&owner, p);
        if (p->kind != PART_CALL)
            continue;
        p->text = answer_args(w->from, w->t.finish, text);
        p->sealed &= w->from == w->to; /* nobody elsewhere checks its signature */
        p->wrapped = convo_was_custom(w->renames, w->nrenames, p->name);
        p->name = convo_name_was(w->own, w->nown, convo_name_was(w->renames, w->nrenames, p->name));
    }
}

static void write_out(whole *w)
{
    daruma_buf out = buf_in(&w->room);
    for (size_t i = 0; i < w->t.message.nparts; i++)
        convo_unwrap(&w->t.message.parts[i], &w->room);
    if (w->from != w->to)
        dialect_carry_answer(&w->t, w->to, &w->ctx, &w->room);
    if (w->from != w->to && w->streams)
        w->t.model = w->ctx.model; /* as a stream that is carried over says it */
    if (w->streams && !dialect_stream_answer(&w->t, w->to, &w->ctx, w->usage_asked, &out, &w->room)) {
        w->streams = false; /* as it is, which is more than nothing */
        out = buf_in(&w->room);
        if (w->from == w->to && !w->t.message.edited)
            return;
    }
    if (!w->streams)
        w->to->write_answer(&w->t, &w->ctx, &out);
    w->out = out.full ? (daruma_str){0} : buf_str(&out);
    if (!out.full)
        return;
    w->too_long = w->from != w->to || w->streams;
    w->test.mended = w->test.made_json = (daruma_str){0}; /* it does not go out so */
    w->flaw = w->too_long ? w->flaw : DARUMA_FLAW_BROKEN; /* what was wrong with it still is */
}

/* Where an answer holds objects, arguments that are none cannot be written as they came. Where calls are checked, they
 * are not written. */
static bool is_writable(const whole *w)
{
    bool writable = true;
    for (size_t i = 0; !w->calls && w->from == &dialect_anthropic && i < w->t.message.nparts; i++) {
        const convo_part *p = &w->t.message.parts[i];
        writable &= p->kind != PART_CALL || !p->text.n || (json_valid(p->text) && json_is_object(str_trim(p->text)));
    }
    return writable;
}

static void name_back(whole *w)
{
    daruma_buf named = buf_in(&w->room);
    mend_names_back(w->own, w->nown, w->body, &named);
    w->body = named.full ? w->body : buf_str(&named);
}

/* Puts the stream together. False: what is wrong with it is known, or it goes out as it came. */
static bool fold(whole *w)
{
    stream_view v = {0};
    daruma_buf body = buf_in(&w->room);
    if (dialect_fold_stream(w->from, w->body, &v, &w->t, &w->room) && is_writable(w)) {
        w->from->write_answer(&w->t, &w->ctx, &body);
        w->body = buf_str(&body);
        w->read = !body.full;
        w->too_long = body.full;
        return w->read;
    }
    if (w->room.full) { /* what is wrong with it, if anything, nobody knows */
        w->too_long = true;
        return false;
    }
    w->view = (answer_view){.text = v.content, .input_tokens = v.input_tokens, .output_tokens = v.output_tokens};
    w->flaw = v.error            ? DARUMA_FLAW_ERROR_EVENT
              : !v.finished      ? DARUMA_FLAW_CUT
              : w->from != w->to ? DARUMA_FLAW_BROKEN
                                 : DARUMA_FLAW_NONE;
    w->error = v.error_body;
    w->folds = w->flaw != DARUMA_FLAW_NONE;
    w->view.effects = v.effects;
    if (!w->folds && w->nown)
        name_back(w);
    return false;
}

static void do_whole(void *data)
{
    static const daruma_str bom = LIT("\xef\xbb\xbf"); /* belongs to nobody, and parsers of JSON refuse it */
    whole *w = data;
    bool same = w->from == w->to;
    if (str_starts(w->body, bom))
        w->body = str_from(w->body, bom.n);
    if (w->folds && !fold(w))
        return;
    if (same && w->nown) /* of each of several answers, too */
        name_back(w);
    w->view = dialect_check(w->from, w->body);
    w->flaw = w->view.flaw;
    w->test.only = w->view.effects;
    if (!w->view.calls) {
        w->calls = false;
        w->test.tools = NULL;
        w->test.unread = (daruma_str){0};
    }
    if (w->view.effects) {
        w->test.format = NULL;
        w->test.unread_format = (daruma_str){0};
    }
    if (w->flaw == DARUMA_FLAW_EMPTY && (!same || w->streams)) {
        if (w->read || w->from->read_answer(w->body, &w->room, &w->t) == DARUMA_OK)
            write_out(w); /* if it goes out in the end */
        return;
    }
    if (w->flaw != DARUMA_FLAW_NONE ||
        (same && !w->streams && !w->calls && !w->test.format && !w->test.unread_format.n))
        return;
    w->read = w->read || w->from->read_answer(w->body, &w->room, &w->t) == DARUMA_OK;
    w->too_long = !w->read && w->room.full && (!same || w->streams);
    if (!w->read) {
        w->flaw = same && !w->streams ? DARUMA_FLAW_NONE : DARUMA_FLAW_BROKEN;
        return;
    }
    make_plain(w);
    answer_test_do(&w->test, &w->t, &w->room);
    if ((!w->test.bad || w->test.readable) && (!same || w->streams || w->t.message.edited))
        write_out(w);
}

/* ---- what came of it ---- */

static void deliver(session *x, const whole *w)
{
    daruma_str body = w->out.n ? session_listed(x, w->out) : w->body;
    if (w->streams) {
        relay_say_type(x, S(STREAM_TYPE));
        session_say(x, "answer_streamed", S("it came whole where a stream was asked for, and was written as one"));
    } else if (w->folds) {
        relay_say_type(x, S("application/json"));
        session_say(x, "answer_folded",
                    S("it came as a stream where a whole answer was asked for, and was put together"));
    }
    relay_head(x, w->streams ? -1 : (int64_t)body.n);
    session_write(x, body);
    if (w->streams && w->from != w->to)
        past_put_events(x, w->out);
    else if (w->from != w->to)
        past_put_items(x, json_get(w->out, S("output")));
    if (w->streams)
        stream_last_words(x);
    session_done(x, w->view.input_tokens, w->view.output_tokens, DRIVE_END);
}

/* It is whole, and goes out if nothing better comes. */
static void keep_given(session *x, const whole *w)
{
    daruma_str body = w->out.n ? w->out : w->from == w->to ? w->body : (daruma_str){0};
    bool fits = w->streams == (x->client.streaming && !x->client.array) && (w->out.n || !w->streams);
    if (fits)
        relay_keep_given(x, body);
}

/* What the view shows, before anything is made of it. */
static bool is_flawed(session *x, whole *w)
{
    answer_view *v = &w->view;
    if (x->client.head_out && !x->client.blank && !w->streams && v->flaw == DARUMA_FLAW_NONE)
        v->flaw = DARUMA_FLAW_BROKEN; /* a stream has begun that this cannot go on with */
    if (v->flaw == DARUMA_FLAW_NONE && session_mend_window_full(x, v->finish, v->input_tokens, v->text || v->calls)) {
        v->flaw = DARUMA_FLAW_EMPTY;
        v->finish = S("model_context_window_exceeded");
    }
    if (v->flaw == DARUMA_FLAW_NONE && !v->effects && !v->text && !v->calls && session_filtered(x, v->finish))
        v->flaw = DARUMA_FLAW_FILTERED;
    return v->flaw != DARUMA_FLAW_NONE;
}

/* Switched off, everything passes through: an answer without words, or one that is no JSON, is the client's to judge.
 */
static bool passes_as_it_came(const session *x, const whole *w)
{
    bool bad = w->flaw == DARUMA_FLAW_EMPTY || w->flaw == DARUMA_FLAW_BROKEN;
    return bad && !x->kase.policy->enabled && w->from == w->to && !w->folds && !w->streams && !x->client.head_out;
}

static void settle(session *x, whole *w)
{
    const answer_view *v = &w->view;
    x->answer.view.effects = v->effects;
    if (w->too_long) {
        session_too_long(x, LONG_WRITTEN);
        return;
    }
    if (passes_as_it_came(x, w)) {
        deliver(x, w);
        return;
    }
    if (w->folds && w->flaw == DARUMA_FLAW_CUT && w->net) {
        daruma_evidence ev = {
            .phase = w->phase, .net = w->net, .headers = x->answer.headers, .nheaders = x->answer.nheaders};
        session_failed(x, &ev);
        return;
    }
    if (w->folds && w->flaw != DARUMA_FLAW_NONE && !w->read) {
        relay_fail(x, w->flaw, arena_copy(x->arena, w->error));
        return;
    }
    x->answer.view.done = v->flaw == DARUMA_FLAW_NONE || v->flaw == DARUMA_FLAW_EMPTY;
    if (is_flawed(x, w)) {
        daruma_evidence ev = relay_evidence(x, DARUMA_AT_ANSWER);
        ev.flaw = relay_flaw(x, v->flaw);
        ev.finish = v->finish;
        if (v->spoilt)
            daruma_case_answered(&x->kase, session_now(x)); /* the model is well, its words were wrong */
        if (v->flaw == DARUMA_FLAW_EMPTY && relay_chose_silence(x, v->finish, v->input_tokens >= 0, v->output_tokens))
            keep_given(x, w);
        session_failed(x, &ev);
        return;
    }
    bool refused = w->read && w->calls && answer_refused(x, &w->t, &w->room);
    if (refused || (w->read && !answer_test_done(x, &w->test, &w->t)))
        w->flaw = DARUMA_FLAW_BROKEN;
    if (w->test.readable && !refused)
        keep_given(x, w);
    if (w->flaw != DARUMA_FLAW_NONE)
        answer_fail(x, DARUMA_AT_ANSWER, w->flaw);
    else
        deliver(x, w);
}

static void drop(void *data)
{
    whole *w = data;
    const drive_rooms *rooms = w->rooms;
    rooms->close(&w->room);
    rooms->give(w);
}

static void then(session *x, void *data)
{
    settle(x, data);
    drop(data);
}

/* Work that may be done beside the loop. False: there is no memory for that. */
static bool whole_beside(session *x, const whole *first, size_t bytes)
{
    static const drive_work answers = {.work = do_whole, .then = then, .drop = drop},
                            short_answers = {.work = do_whole, .then = then, .drop = drop, .brief = true};
    whole *w = first->rooms->take(sizeof *w);
    if (!w)
        return false;
    *w = *first;
    w->test.most = CALLS_CHECKED_BYTES_MAX;
    hedge_cancel(x); /* this attempt is the answer */
    x->due.progress_by = x->due.look_at = -1;
    if (session_work(x, bytes, w->body.n < JOB_BYTES_MIN ? &short_answers : &answers, w))
        then(x, w);
    return true;
}

/* A stream was asked for, and nothing of one has gone out. */
static bool becomes_stream(const session *x)
{
    bool array =
        !str_starts(str_trim(buf_str(&x->answer.held)), S("{")) && x->p == x->d; /* Gemini streams arrays, too */
    return x->client.streaming && !array && !x->hedge.went_on && !x->client.forwarded && !talk_reached(x) &&
           x->out.scan.choices <= 1;
}

static bool is_folded(const session *x)
{
    return relay_wants_whole(x) && relay_begins_stream(str_trim(buf_str(&x->answer.held)));
}

void whole_ended(session *x, daruma_net net, daruma_phase phase)
{
    const moved_request *m = x->p != x->d ? x->moved : NULL;
    if (x->kase.begun)
        daruma_case_piece(&x->kase, session_now(x).now);
    whole w = {.rooms = x->v->rooms,
               .from = x->p,
               .to = x->d,
               .body = buf_str(&x->answer.held),
               .renames = m ? m->renames : NULL,
               .nrenames = m ? m->nrenames : 0,
               .own = x->renames,
               .nown = x->nrenames,
               .ctx = session_writes(x),
               .calls = answer_checks_calls(x),
               .streams = becomes_stream(x),
               .folds = is_folded(x),
               .net = net,
               .phase = phase,
               .usage_asked = x->out.scan.usage_asked};
    w.test = answer_test_of(x, w.calls, answer_checks_format(x));
    size_t bytes = w.body.n + (w.test.unread.n || w.test.unread_format.n ? JOB_BYTES_MIN : 0);
    w.rooms->open(&w.room, 0, ANSWER_ARENA_BYTES_MAX); /* without memory it is full */
    if (bytes < JOB_BYTES_MIN) {
        do_whole(&w);
        settle(x, &w);
        w.rooms->close(&w.room);
    } else if (!whole_beside(x, &w, bytes)) {
        w.rooms->close(&w.room);
        session_too_long(x, LONG_WRITTEN);
    }
}

bool whole_is_closed(daruma_str body)
{
    body = str_trim(body);
    bool closed = body.n && (body.p[body.n - 1] == '}' || body.p[body.n - 1] == ']'); /* most are cut elsewhere */
    return closed && json_valid(body);
}

bool whole_broke(session *x, daruma_net net, daruma_phase phase)
{
    if (!is_folded(x) && !whole_is_closed(buf_str(&x->answer.held)))
        return false;
    whole_ended(x, net, phase);
    return true;
}
