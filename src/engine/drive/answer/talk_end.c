/* talk_end.c - the end of a streamed answer: what was held of it is held against the tools and the format of its
 * request, mended and written, or the attempt failed. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/answer/answer.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/stream.h"
#include "engine/drive/answer/talk_inside.h"
#include "engine/drive/hedge_call.h"
#include "engine/drive/mend/mending.h"

/* The answer as it was collected, with that text. */
static turn turn_with(session *x, daruma_str text)
{
    talk *t = x->t;
    daruma_arena *a = x->arena;
    turn r = {.finish = t->finish, .finish_raw = t->finish_raw, .usage = t->usage};
    size_t n = 1;
    bool object = x->p == &dialect_gemini; /* its arguments are none that are written piece by piece */
    for (held_part *h = t->parts; h; h = h->next)
        n++;
    r.message.role = CONVO_ASSISTANT;
    r.message.parts = ARENA_NEW(a, convo_part, n);
    if (!r.message.parts)
        return r;
    if (text.n)
        r.message.parts[r.message.nparts++] = (convo_part){.kind = PART_TEXT, .ready = true, .text = text};
    for (held_part *h = t->parts; h; h = h->next) {
        convo_part *p = &r.message.parts[r.message.nparts++];
        *p = h->part;
        p->text = buf_str(&h->text);
        if (p->kind != PART_CALL)
            continue;
        if (t->from != t->to) /* nobody elsewhere checks it */
            p->signature = (daruma_str){0};
        p->sealed = p->signature.n > 0;
        if (object || h->object)
            p->value = p->text;
        p->text = answer_args(x->p, t->finish, p->text);
    }
    return r;
}

turn talk_turn(session *x)
{
    return turn_with(x, buf_str(x->t->mode == TALK_REASK ? &x->t->fresh : &x->t->said));
}

/* What the client has cannot be ended as if it were whole. */
static bool fail_cut(session *x)
{
    daruma_evidence ev = {.phase = DARUMA_AT_STREAM, .status = x->answer.status, .flaw = DARUMA_FLAW_CUT};
    session_failed(x, &ev);
    return false;
}

/* It came whole: that there is no room for it here is nobody's fault, and another would only say as much. */
static bool fail_long(session *x)
{
    x->t->lost = true; /* not all of it is here */
    session_too_long(x, LONG_KEPT);
    return false;
}

/* The end of a stream: what is held of it is checked, mended and written, all of it perhaps on another thread. */
typedef struct ending {
    const drive_rooms *rooms;
    talk *t;
    bool calls, text;  /* what is checked: its calls, or its text, which shall be JSON */
    turn got;          /* what was collected; where its text is checked, that alone */
    answer_test test;  /* what it is held against, and what came of that */
    daruma_arena room; /* of what is made */
    bool shared;       /* its calls are given an index each */
    bool as_it_came;   /* what was held goes out as it is */
    daruma_buf out;    /* else this ... */
    bool whole;        /* ... which is all of the rest */
} ending;

/* What was held, with its calls and its text as they were mended. */
static bool mend_held(ending *e)
{
    daruma_arena scratch = {0};
    stream_mend what = {0};
    bool made = dialect_take_edits(&e->got, &what, &e->room) && e->rooms->open(&scratch, 0, ANSWER_ARENA_BYTES_MAX);
    what.renumbered = e->shared;
    made = made && dialect_mend_stream(e->t->from, e->t->at_hold, buf_str(&e->t->hold), &what, &e->out, &scratch);
    e->rooms->close(&scratch);
    return made;
}

static void do_ending(void *data)
{
    ending *e = data;
    talk *t = e->t;
    if (e->calls || e->text)
        answer_test_do(&e->test, &e->got, &e->room);
    if (e->test.bad)
        return;
    bool held = t->mode == TALK_PLAIN;
    e->shared = e->calls && held && t->shared;
    e->got.message.edited |= e->shared;
    for (size_t i = 0; i < e->got.message.nparts; i++) {
        e->got.message.parts[i].edited |= e->shared && e->got.message.parts[i].kind == PART_CALL;
        convo_unwrap(&e->got.message.parts[i], &e->room);
    }
    e->as_it_came = held && !e->got.message.edited;
    if (e->as_it_came)
        return;
    if (e->text && e->got.message.edited && !held) {
        t->fresh = buf_in(&t->arena);
        buf_put(&t->fresh, e->got.message.parts[0].text);
    }
    e->whole = held ? mend_held(e) : talk_writer(t) && talk_put_rest(t, &e->got, &e->out);
}

bool talk_give(session *x)
{
    talk *t = x->t;
    daruma_arena room;
    if (!t->given || t->lost || !x->v->rooms->open(&room, 0, ANSWER_ARENA_BYTES_MAX))
        return false;
    turn got = talk_turn(x);
    for (size_t i = 0; i < got.message.nparts; i++)
        convo_unwrap(&got.message.parts[i], &room);
    daruma_buf out = buf_in(&room);
    bool plain = t->mode == TALK_PLAIN && t->hold.n, all = plain;
    t->room = &room;
    if (!plain)
        all = talk_writer(t) && talk_put_rest(t, &got, &out) && !out.full;
    if (all)
        relay_forward(x, plain ? buf_str(&t->hold) : buf_str(&out));
    t->given = false;
    x->v->rooms->close(&room);
    return all;
}

/* What came of it. False: the attempt failed. */
static bool settle(session *x, const ending *e)
{
    talk *t = x->t;
    if ((e->calls || e->text) && !answer_test_done(x, &e->test, &e->got)) {
        t->given = e->test.readable;
        answer_fail(x, DARUMA_AT_STREAM, DARUMA_FLAW_BROKEN);
        return false;
    }
    if (e->shared)
        answer_tell_mended(x, S("several calls had one index, and got one each"));
    if (e->as_it_came) {
        relay_forward(x, buf_str(&t->hold));
        return true;
    }
    if (!e->out.full && (e->whole || t->mode != TALK_PLAIN))
        relay_forward(x, buf_str(&e->out));
    t->hold.n = 0; /* who asks for the items of the answer reads them as they went out */
    if (t->mode == TALK_PLAIN)
        buf_put(&t->hold, buf_str(&e->out));
    if (t->hold.full)
        t->hold.n = 0;
    bool is_short = t->arena.full || e->room.full;
    return e->whole || (is_short ? fail_long(x) : fail_cut(x));
}

static void drop_ending(void *data)
{
    ending *e = data;
    const drive_rooms *rooms = e->rooms;
    rooms->close(&e->room);
    rooms->give(e);
}

static void then_end(session *x, void *data)
{
    ending *e = data;
    bool all = settle(x, e); /* the session may be over */
    drop_ending(e);
    if (all)
        stream_closed(x);
}

/* Text that is held because it shall be JSON. */
static bool holds_text(const session *x)
{
    const talk *t = x->t;
    return t->mode != TALK_JOIN && !t->parts && t->fresh.n && answer_checks_format(x) && !str_trim(buf_str(&t->said)).n;
}

/* Bytes that are to be checked and written: closing events of Responses say all of the text once more, four times. */
static size_t rest_bytes(const talk *t)
{
    enum { BESIDE_BYTES = 256 }; /* what is written of a call beside its arguments */
    size_t n = t->fresh.n + (t->out && t->to == &dialect_openai_responses ? t->out->text.n : 0);
    for (const held_part *h = t->parts; h; h = h->next)
        n += h->text.n + BESIDE_BYTES;
    return n;
}

static ending *begin_ending(session *x)
{
    talk *t = x->t;
    const drive_rooms *rooms = x->v->rooms;
    ending *e = rooms->take(sizeof *e);
    if (!e || !rooms->open(&e->room, 0, ANSWER_ARENA_BYTES_MAX)) {
        rooms->give(e);
        return NULL;
    }
    e->rooms = rooms;
    e->t = t;
    e->out = buf_in(&e->room);
    e->calls = t->parts && answer_checks_calls(x);
    e->text = holds_text(x);
    e->got = e->text ? turn_with(x, buf_str(&t->fresh)) : talk_turn(x);
    e->test = answer_test_of(x, e->calls, e->text);
    e->test.only = x->answer.view.effects;
    return e;
}

void talk_end(session *x)
{
    static const drive_work endings = {.work = do_ending, .then = then_end, .drop = drop_ending, .brief = true};
    talk *t = x->t;
    bool wordless = !t->fresh.n && t->parts; /* it had said all that there was to say */
    daruma_arena room;
    if (t->mode == TALK_PLAIN && !t->holding) {
        stream_closed(x);
        return;
    }
    x->v->rooms->open(&room, 0, ANSWER_ARENA_BYTES_MAX);
    t->room = &room;
    bool joined = t->mode != TALK_JOIN || wordless || talk_join(x, true);
    x->v->rooms->close(&room);
    if (!joined) {
        talk_gives_up(x);
        fail_cut(x);
        return;
    }
    ending *e = t->mode != TALK_PLAIN && t->arena.full ? NULL : begin_ending(x);
    if (!e) {
        fail_long(x);
        return;
    }
    if (e->calls && answer_refused(x, &e->got, &e->room)) {
        drop_ending(e);
        answer_fail(x, DARUMA_AT_STREAM, DARUMA_FLAW_BROKEN);
        return;
    }
    size_t bytes = rest_bytes(t) + (e->test.unread.n || e->test.unread_format.n ? JOB_BYTES_MIN : 0);
    if (bytes >= JOB_BYTES_MIN) {
        hedge_cancel(x); /* this attempt is the answer */
        e->test.most = CALLS_CHECKED_BYTES_MAX;
    }
    x->due.progress_by = x->due.look_at = -1;
    if (session_work(x, bytes, &endings, e))
        then_end(x, e);
}
