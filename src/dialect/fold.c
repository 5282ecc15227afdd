/* fold.c - a stream put together as the whole answer that was asked for: of models that do nothing but stream, and of
 * servers that stream whatever is asked.
 *
 *     event -- read_event --> said -- watch, read_delta --> parts of a turn */
#include "dialect/kit/turn_kit.h"
#include "base/arena.h"

typedef struct folded {
    convo_part part;
    daruma_buf text; /* of it, so far */
    int call;        /* its number; -1: it is none */
    bool closed;     /* thinking that was signed: more is another one */
} folded;

struct dialect_fold {
    const dialect *d;
    turn_reader r;
    turn t;
    folded *parts;
    size_t n, cap;
    size_t call_at[TURN_CALLS_MAX]; /* parts of the newest calls: of call n at n % TURN_CALLS_MAX */
    daruma_str whole;               /* Responses: the answer as its last event has it */
    bool all;                       /* everything that was said has a place in `t` */
    bool lost;                      /* something that was said is not in it */
    bool stays;                     /* events outlive the fold */
    daruma_arena *a;
};
typedef dialect_fold folding;

static folded *fold_new(folding *f, part_kind kind)
{
    folded *more = arena_grow(f->a, f->parts, f->n, &f->cap, sizeof *more, 8);
    f->all &= more != NULL;
    if (!more)
        return NULL;
    f->parts = more;
    f->parts[f->n] = (folded){.part = {.kind = kind, .ready = true}, .call = -1, .text = buf_in(f->a)};
    return &f->parts[f->n++];
}

/* The part that text of this kind goes on with. */
static folded *fold_last(folding *f, part_kind kind)
{
    folded *p = f->n ? &f->parts[f->n - 1] : NULL;
    return p && p->part.kind == kind && !p->closed ? p : fold_new(f, kind);
}

static folded *fold_call(folding *f, int index)
{
    size_t at = index >= 0 ? f->call_at[index % TURN_CALLS_MAX] : f->n;
    return at < f->n && f->parts[at].call == index ? &f->parts[at] : NULL;
}

static void fold_text(folding *f, folded *p, daruma_str text)
{
    f->all &= p != NULL;
    if (p)
        buf_put(&p->text, text);
}

static void fold_delta(folding *f, const turn_delta *d)
{
    folded *p;
    switch (d->kind) {
    case DELTA_START:
        f->t.id = arena_copy(f->a, d->id);
        f->t.model = arena_copy(f->a, d->model);
        break;
    case DELTA_REFUSAL:
        f->t.refused = true;
        fold_text(f, fold_last(f, PART_TEXT), d->text);
        break;
    case DELTA_TEXT:
    case DELTA_THINKING:
        fold_text(f, fold_last(f, d->kind == DELTA_TEXT ? PART_TEXT : PART_THINKING), d->text);
        break;
    case DELTA_SIGNATURE:
        p = d->index >= 0 ? fold_call(f, d->index) : fold_last(f, PART_THINKING);
        if (!p)
            break;
        p->part.signature = arena_copy(f->a, d->text);
        p->closed = true;
        break;
    case DELTA_CALL:
        p = fold_new(f, PART_CALL);
        if (!p)
            break;
        p->call = d->index;
        f->call_at[d->index % TURN_CALLS_MAX] = f->n - 1;
        p->part.id = arena_copy(f->a, d->id);
        p->part.name = arena_copy(f->a, d->name);
        f->all &= !d->custom;
        break;
    case DELTA_ARGUMENTS:
        p = fold_call(f, d->index);
        if (p)
            p->part.name = dialect_call_name(p->part.name, d, p->text.n > 0, f->a);
        fold_text(f, p, d->text);
        break;
    case DELTA_FINISH:
        f->t.finish = d->finish;
        f->t.finish_raw = arena_copy(f->a, d->finish_raw);
        break;
    case DELTA_USAGE:
        usage_merge(&f->t.usage, &d->usage);
        break;
    case DELTA_BLOCK:
    case DELTA_OTHER:
        f->all = false;
        break;
    case DELTA_CALL_END:
    case DELTA_SOURCES:
    case DELTA_END:
        break;
    }
}

void dialect_fold_event(folding *f, const dialect_said *e, daruma_arena *scratch, daruma_buf *text)
{
    turn_delta few[TURN_DELTAS_FEW];
    turn_deltas said = f->d->read_delta(&f->r, e, few, scratch);
    f->lost |= said.full || f->r.lost;
    for (size_t i = 0; i < said.n; i++) {
        fold_delta(f, &said.p[i]);
        if (text && (said.p[i].kind == DELTA_TEXT || said.p[i].kind == DELTA_REFUSAL))
            buf_put(text, said.p[i].text);
    }
    if (f->d != &dialect_openai_responses || !f->r.ended || !json_is_array(e->parts))
        return;
    if (value_given(e->parts) || !f->n) /* of Codex's backend it is empty: the events have its items */
        f->whole = f->stays ? e->answer : arena_copy(f->a, e->answer);
}

static void put_parts(folding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        folded *p = &f->parts[i];
        convo_part *to = answer_part(&f->t, f->a, p->part.kind, (daruma_str){0});
        f->all &= to != NULL && !p->text.full;
        if (!to)
            return;
        *to = p->part;
        to->text = buf_str(&p->text);
        to->sealed = p->part.signature.n > 0;
    }
}

/* The last event may lack its blank line. */
static daruma_str with_blank_line(daruma_str events, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (str_ends(events, S("\n\n")) || str_ends(events, S("\r\n\r\n")) || str_ends(events, S("\r\r")))
        return events;
    BUF_SAY(&b, events, "\n\n");
    return b.full ? events : buf_str(&b);
}

dialect_fold *dialect_fold_begin(const dialect *d, daruma_arena *a)
{
    dialect_fold *f = ARENA_NEW(a, dialect_fold, 1);
    if (f)
        *f = (dialect_fold){.d = d,
                            .r = {.sequence = -1, .keep = a},
                            .all = true,
                            .a = a,
                            .t = {.usage = TURN_USAGE_NONE, .message.role = CONVO_ASSISTANT}};
    return f;
}

bool dialect_fold_end(dialect_fold *f, turn *ret, bool *ret_all)
{
    *ret_all = true;
    if (f->whole.n)
        return f->d->read_answer(f->whole, f->a, ret) == DARUMA_OK;
    put_parts(f);
    *ret = f->t;
    *ret_all = f->all;
    return !f->lost && !f->a->full;
}

bool dialect_fold_stream(const dialect *d, daruma_str events, stream_view *view, turn *ret, daruma_arena *a)
{
    dialect_fold *f = dialect_fold_begin(d, a);
    sse_event e;
    if (!f)
        return false;
    f->stays = true;
    events = with_blank_line(events, a);
    while (sse_next(&events, &e, a) && !view->error) {
        dialect_said said;
        dialect_read_event(d, &e, &said);
        dialect_watch_said(view, &said);
        if (view->broken && !json_valid(e.data)) { /* what it said is missing */
            view->finished = false;
            return false;
        }
        view->broken = false; /* what is only unknown to us says nothing */
        if (!view->error)
            dialect_fold_event(f, &said, a, NULL);
    }
    bool all;
    return !view->error && view->finished && !a->full && dialect_fold_end(f, ret, &all) && all;
}
