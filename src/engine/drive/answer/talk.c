/* talk.c - streamed answers, read as they pass. Text goes on as it comes; tool calls are held until they are whole and
 * known to be good, since half a call or a broken one is of no use to anybody; so is text that was asked for as JSON
 * and does not begin so. What the client has is remembered, so that another attempt can go on where this one broke off.
 *
 *   PLAIN   the provider's bytes go out as they are
 *   BRIDGE  the provider speaks another dialect: every event is written anew
 *   ANEW    an earlier attempt broke off before it said anything: this one goes out behind its thinking
 *   JOIN    an earlier attempt broke off: what repeats it is left out until it is clear where this one goes on ...
 *   JOINED  ... and the rest is written as its continuation
 *   REASK   an earlier attempt called tools in a broken way: everything is held until it is known to be good
 *
 * What of an attempt the client gets in which of them stands in one table, in talk_fates.c. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/answer/answer.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/answer/talk_inside.h"
#include "engine/drive/request/adapt.h"

/* In memory of its own: thousands of streams stand open at once, and most of them need no more than this. */
static talk *talk_new(const drive_rooms *rooms)
{
    _Static_assert(sizeof(talk) <= 896, "what few streams need is made when they need it");
    daruma_arena own;
    talk *t = rooms->open(&own, sizeof(talk) + TALK_SAID_BYTES_USUAL, TALK_BYTES_MAX) ? ARENA_NEW(&own, talk, 1) : NULL;
    if (!t) {
        rooms->close(&own);
        return NULL;
    }
    t->arena = own;
    t->sourced = NONE_SHOWN;
    t->said = t->hold = t->fresh = buf_in(&t->arena);
    return t;
}

void talk_free(const drive_rooms *rooms, talk *t)
{
    if (!t)
        return;
    daruma_arena own = t->arena; /* it lies in itself */
    rooms->close(&own);
}

bool talk_begin(session *x)
{
    bool goes_on = x->t && x->t->begun; /* by another attempt */
    if (x->t && !goes_on) {             /* whatever an attempt before was about to write, nobody has it */
        talk_free(x->v->rooms, x->t);
        x->t = NULL;
    }
    if (!x->t && !(x->t = talk_new(x->v->rooms)))
        return false;
    talk *t = x->t;
    t->from = x->p;
    t->to = x->d;
    t->made = x->kase.id;
    t->wall = session_now(x).wall;
    t->usage_asked = x->out.scan.usage_asked;
    t->functions = x->out.scan.functions;
    if (goes_on && !talk_writer(t))
        return false;
    if (goes_on)
        talk_leave_off(x);
    else
        t->thought = false;
    t->mode = goes_on ? t->next : x->p == x->d ? TALK_PLAIN : TALK_BRIDGE;
    t->next = TALK_REASK;
    if (t->going == GOING_PREFILLED && !(x->p->quirks & WIRE_PREFILL)) /* it went elsewhere after all */
        t->going = GOING_ANCHORED;
    t->shows_thinking = talk_takes_signed(t) && !t->thought;
    t->shown = t->seam_at = NONE_SHOWN;
    t->left_out = false;
    t->blanks = str_trim(buf_str(&t->said)).n ? 0 : t->said.n;
    t->passed = 0;
    t->in = (turn_reader){.sequence = -1, .keep = &t->arena};
    t->holding = t->shared = t->thinking = t->bound = t->unsure = t->given = false;
    t->at_hold = NULL;
    t->seam = NULL;
    t->hold.n = t->fresh.n = 0;
    t->parts = t->last = NULL;
    t->waits = false;
    t->finish = FINISH_NONE;
    t->finish_raw = t->stopped_by = (daruma_str){0};
    t->usage = TURN_USAGE_NONE;
    if (t->usage_raw)
        t->usage_raw->n = 0;
    return t->mode == TALK_PLAIN || talk_writer(t);
}

bool talk_unsure(const session *x)
{
    return x->t->unsure;
}

bool talk_is_plain(const session *x)
{
    return x->t->mode == TALK_PLAIN && !x->t->writing;
}

/* A buffer that few streams need. NULL without memory. */
static daruma_buf *talk_buf(talk *t, daruma_buf **b)
{
    if (!*b && (*b = ARENA_NEW(&t->arena, daruma_buf, 1)))
        **b = buf_in(&t->arena);
    return *b;
}

/* An item is over with the event that hands it over whole, its thinking too. */
static void keep_item(session *x, const dialect_said *e)
{
    talk *t = x->t;
    daruma_str item = t->lost ? (daruma_str){0} : dialect_done_item(e);
    if (!item.n)
        return;
    t->thinking = t->bound = false;
    daruma_buf *b = talk_buf(t, &t->items);
    if (!b || b->n + item.n > SSE_EVENT_BYTES_MAX) {
        t->lost = true;
        return;
    }
    if (b->n)
        buf_putc(b, ',');
    buf_put(b, item);
    t->lost |= b->full;
}

/* ---- reading ---- */

held_part *talk_collect(talk *t, part_kind kind)
{
    held_part *h = ARENA_NEW(&t->arena, held_part, 1);
    if (!h)
        return NULL;
    h->part = (convo_part){.kind = kind, .ready = true};
    h->text = buf_in(&t->arena);
    h->before = t->last;
    h->index = t->last ? t->last->index : -1;
    *(t->last ? &t->last->next : &t->parts) = h;
    t->last = h;
    t->waits = true;
    return h;
}

static void name_call(session *x, held_part *h, daruma_str name)
{
    h->name = arena_copy(&x->t->arena, name);
    h->part.name = arena_copy(&x->t->arena, session_tool_name(x, name));
    h->part.wrapped = session_tool_custom(x, name);
}

static void collect_call(session *x, const turn_delta *d)
{
    talk *t = x->t;
    held_part *h = talk_collect(t, PART_CALL);
    if (!h)
        return;
    h->part.id = arena_copy(&t->arena, x->p == x->d ? d->id : dialect_call_id(x->d, d->id, t->room));
    h->part.custom = d->custom;
    name_call(x, h, d->name);
    h->index++;
}

/* From the end: only the newest TURN_CALLS_MAX are told apart. */
static held_part *call_at(talk *t, int index)
{
    held_part *h = t->last;
    while (h && (h->part.kind != PART_CALL || h->index > index))
        h = h->before;
    return h && h->index == index ? h : NULL;
}

bool talk_gives_up(session *x)
{
    x->t->unsure = true;
    return false;
}

bool talk_strays(const session *x, daruma_str text)
{
    const talk *t = x->t;
    text = str_trim(text);
    if (!text.n || t->lost || !answer_checks_format(x) || str_trim(buf_str(&t->said)).n)
        return false;
    return text.p[0] != '{' && text.p[0] != '[';
}

/* What every mode keeps of a delta. */
static void note(session *x, const turn_delta *d)
{
    talk *t = x->t;
    held_part *call;
    daruma_str name;
    switch (d->kind) {
    case DELTA_THINKING:
        t->thinking = true;
        t->bound |= t->mode == TALK_PLAIN && d->bound;
        break;
    case DELTA_SIGNATURE:
        call = d->index >= 0 ? call_at(t, d->index) : NULL;
        if (call)
            call->part.signature = arena_copy(&t->arena, d->text);
        t->thinking = t->bound = false;
        break;
    case DELTA_TEXT:
    case DELTA_REFUSAL:
        t->thinking = t->bound = false;
        break;
    case DELTA_CALL:
        t->thinking = t->bound = false;
        collect_call(x, d);
        t->shared |= d->shares;
        break;
    case DELTA_ARGUMENTS:
        call = call_at(t, d->index);
        if (!call)
            break;
        name = dialect_call_name(call->name, d, call->text.n > 0, t->room);
        if (!str_eq(name, call->name))
            name_call(x, call, name);
        buf_put(&call->text, d->text);
        call->object |= json_is_object(d->text_at);
        break;
    case DELTA_FINISH:
        t->finish = d->finish;
        t->finish_raw = arena_copy(&t->arena, d->finish_raw);
        t->stopped_by = arena_copy(&t->arena, d->text);
        break;
    case DELTA_USAGE:
        usage_merge(&t->usage, &d->usage);
        if (t->mode != TALK_PLAIN && t->from == t->to && talk_buf(t, &t->usage_raw)) { /* the newest is that of all */
            t->usage_raw->n = 0;
            buf_put(t->usage_raw, d->text);
        }
        break;
    case DELTA_START:
    case DELTA_CALL_END:
    case DELTA_END:
    case DELTA_SOURCES:
    case DELTA_BLOCK:
    case DELTA_OTHER:
        break;
    }
}

/* From the first call on the provider's events wait for the end; heartbeats keep the client's connection open. */
static bool begin_hold(session *x, const turn_reader *before)
{
    talk *t = x->t;
    t->at_hold = ARENA_NEW(&t->arena, turn_reader, 1);
    if (!t->at_hold)
        return false;
    *t->at_hold = *before;
    t->holding = true;
    return true;
}

/* Longer than can be held: it goes out unchecked, as it came. */
static void give_up_hold(session *x)
{
    talk *t = x->t;
    relay_forward(x, buf_str(&t->hold));
    t->holding = false;
    t->at_hold = NULL;
    t->begun = t->lost = true;
    t->parts = t->last = NULL;
}

void talk_let_go(session *x)
{
    if (x->t->mode == TALK_PLAIN && x->t->holding && !x->t->writing)
        give_up_hold(x);
}

void talk_read_in_part(session *x)
{
    talk *t = x->t;
    if (t->holding)
        give_up_hold(x);
    t->lost = true;
}

static bool pass_plain(session *x, daruma_str raw, const dialect_said *e, turn_deltas said, const turn_reader *before)
{
    talk *t = x->t;
    const turn_delta *d = said.p;
    size_t n = said.n;
    bool calls = false, stray = false;
    for (size_t i = 0; i < n; i++) {
        calls |= d[i].kind == DELTA_CALL;
        stray |= d[i].kind == DELTA_TEXT && talk_strays(x, d[i].text);
    }
    if (((calls && answer_checks_calls(x)) || stray) && !t->holding && !t->lost)
        begin_hold(x, before);
    t->lost |= calls && !t->holding; /* a call that is out must not come again */
    if (t->holding) {
        for (size_t i = 0; i < n; i++)
            if (d[i].kind == DELTA_TEXT)
                buf_put(&t->fresh, d[i].text);
        if (!t->arena.full)
            buf_put(&t->hold, raw);
        if (!t->arena.full)
            return false;
        give_up_hold(x);
    }
    for (size_t i = 0; i < n; i++)
        talk_shown(t, &d[i]);
    keep_item(x, e);
    t->begun = true;
    return true;
}

/* Its event cannot be written anew: that is no matter of the attempt. */
static bool no_room(session *x)
{
    x->answer.too_long = LONG_WRITTEN;
    return talk_gives_up(x);
}

bool talk_event(session *x, const sse_event *e, const dialect_said *event, daruma_arena *scratch)
{
    talk *t = x->t;
    turn_delta few[TURN_DELTAS_FEW];
    turn_reader before = {0};
    daruma_arena large = {0};
    if (x->answer.view.many && t->mode == TALK_PLAIN) { /* several answers: neither joined nor mended */
        talk_read_in_part(x);
        t->begun = true;
        return true;
    }
    bool big = (size_t)(scratch->end - scratch->beg) < 2 * e->raw.n || t->mode != TALK_PLAIN;
    bool raw = true;
    if (big && !x->v->rooms->open(&large, 0, SSE_EVENT_BYTES_MAX * 8))
        return (t->mode == TALK_PLAIN && !t->holding) || no_room(x);
    t->room = big ? &large : scratch;
    if (!t->holding)
        before = t->in;
    bool thinks = talk_in_thinking(&t->in);
    turn_deltas said = x->p->read_delta(&t->in, event, few, t->room);
    const turn_delta *d = said.p;
    size_t n = said.n;
    if (t->in.open < 0 && t->shown >= 0)
        t->shown = OVER_SHOWN;
    bool all = !t->in.lost && !said.full;
    if (!all)
        talk_read_in_part(x);
    for (size_t i = 0; i < n; i++)
        note(x, &d[i]);
    t->thought |= thinks && !talk_in_thinking(&t->in) && talk_shows_thinking(t); /* some servers sign none */
    bool whole = all || t->mode == TALK_PLAIN;
    if (x->answer.view.many || !whole) {
        raw = said.full ? no_room(x) : talk_gives_up(x);
    } else if (t->mode == TALK_PLAIN) {
        raw = pass_plain(x, e->raw, event, said, &before);
    } else {
        raw = false;
        bool goes_on = talk_rewrite_event(x, event);
        for (size_t i = 0; goes_on && i < n; i++)
            goes_on = talk_rewrite(x, &d[i]);
    }
    x->v->rooms->close(&large);
    return raw;
}

daruma_str talk_items(const session *x, daruma_arena *a)
{
    const talk *t = x->t;
    daruma_buf b = buf_in(a);
    daruma_str rest = t->hold.n <= STORED_READ_BYTES_MAX ? buf_str(&t->hold) : (daruma_str){0};
    sse_event e;
    BUF_SAY(&b, "[", t->items ? buf_str(t->items) : S(""));
    while (t->mode == TALK_PLAIN && sse_next(&rest, &e, a)) { /* from the first function's call on they were held */
        dialect_said said;
        dialect_read_event(x->d, &e, &said);
        daruma_str item = dialect_done_item(&said);
        if (item.n && b.n > 1)
            buf_putc(&b, ',');
        buf_put(&b, item);
    }
    buf_putc(&b, ']');
    return b.full ? (daruma_str){0} : buf_str(&b);
}

daruma_str talk_written(session *x)
{
    const talk *t = x->t;
    if (!t || !t->writing || t->to != &dialect_openai_responses)
        return (daruma_str){0};
    daruma_buf b = buf_in(x->arena);
    BUF_SAY(&b, "[", buf_str(&t->out->items), "]");
    return b.full ? (daruma_str){0} : buf_str(&b);
}

bool talk_was_cut(const session *x)
{
    return x->t && x->t->begun && !x->t->lost && !x->t->settled;
}

bool talk_thought_half(const session *x)
{
    const turn_reader *r = talk_reached(x);
    return r && (x->t->bound || (!dialect_takes_thinking(x->d) && talk_in_thinking(r)));
}

bool talk_thinks(const session *x)
{
    return x->t && x->t->thinking;
}

daruma_str talk_id(const session *x)
{
    const talk *t = x->t;
    return turn_id(t->writing ? &t->out->r : &t->in);
}

daruma_str talk_their_id(const session *x)
{
    return turn_id(&x->t->in);
}

const turn_reader *talk_reached(const session *x)
{
    const talk *t = x->t;
    if (!t || !t->begun)
        return NULL;
    return t->writing ? &t->out->r : t->holding ? t->at_hold : &t->in;
}

daruma_str talk_said(const session *x)
{
    return x->t ? buf_str(&x->t->said) : (daruma_str){0};
}

void talk_join_next(session *x, mend_going how)
{
    x->t->next = str_trim(buf_str(&x->t->said)).n ? TALK_JOIN : TALK_ANEW;
    x->t->going = how;
    x->t->unsure = false; /* of the attempt before */
}
