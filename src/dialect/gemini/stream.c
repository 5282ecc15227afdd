/* stream.c - the events of streamGenerateContent: what each says, and how they are written. */
#include "dialect/gemini/gemini.h"

/* What comes of the call whose arguments come in pieces; `part` has the piece `call`, both empty when something else
 * closes it. */
static void add_piece(turn_deltas *l, turn_reader *r, daruma_str part, daruma_str call, daruma_arena *a)
{
    daruma_buf json = buf_in(a);
    int nth = r->open;
    bool last = !part.n || gemini_put_piece(r, call, &json, a);
    if (last)
        gemini_close_pieces(r, &json);
    l->full |= json.full;
    turn_delta *d = delta_add(l, DELTA_ARGUMENTS);
    d->index = nth;
    d->text = buf_str(&json);
    d->part_at = part;
    if (!last)
        return;
    d = delta_add(l, DELTA_CALL_END);
    d->index = nth;
    d->part_at = part;
}

static void close_call_deltas(turn_deltas *l, turn_reader *r, daruma_arena *a)
{
    if (!gemini_in_call(r))
        return;
    r->lost |= r->in_piece; /* the middle of a string is no end */
    add_piece(l, r, (daruma_str){0}, (daruma_str){0}, a);
}

static void read_call_deltas(turn_deltas *l, turn_reader *r, daruma_str part, daruma_str call, daruma_str signature,
                             daruma_arena *a)
{
    gemini_call is = gemini_call_of(call);
    if (is == GEMINI_CALL_GOES_ON) {
        if (!gemini_in_call(r))
            return;
        delta_text(l, DELTA_SIGNATURE, r->open, signature);
        add_piece(l, r, part, call, a);
        return;
    }
    close_call_deltas(l, r, a);
    int nth = call_begin(r, r->calls);
    turn_delta *d = delta_add(l, DELTA_CALL);
    d->index = nth;
    d->id = json_text(json_get(call, S("id")), a);
    d->name_at = json_get(call, S("name"));
    d->name = json_text(d->name_at, a);
    if (is == GEMINI_CALL_BEGINS) {
        d->part_at = part;
        delta_text(l, DELTA_SIGNATURE, nth, signature);
        gemini_begin_pieces(r, nth);
        add_piece(l, r, part, call, a);
        return;
    }
    d->text_at = json_get(call, S("args"));
    delta_text(l, DELTA_ARGUMENTS, nth, d->text_at);
    delta_text(l, DELTA_SIGNATURE, nth, signature);
    delta_add(l, DELTA_CALL_END)->index = nth;
}

static void read_part_deltas(turn_deltas *l, turn_reader *r, daruma_str part, daruma_arena *a)
{
    json_iter it = json_open(part);
    gemini_part p = gemini_read_part(&it);
    daruma_str text = reader_piece(r, -1, p.text, a), signature = json_text(p.signature, a);
    if (json_is_object(p.call)) {
        read_call_deltas(l, r, part, p.call, signature, a);
        return;
    }
    if (text.n || !p.text.n)
        close_call_deltas(l, r, a);
    if (text.n)
        delta_text(l, p.thought ? DELTA_THINKING : DELTA_TEXT, -1, text)->text_at = p.text;
    else if (!signature.n && !p.text.n)
        delta_add(l, DELTA_OTHER)->text = part;
    delta_text(l, DELTA_SIGNATURE, -1, signature);
}

turn_deltas gemini_read_delta(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    daruma_str part, finish, parts;
    if (r->ended || !e->object || e->error)
        return (turn_deltas){0};
    parts = gemini_chosen(r, e, &finish);
    finish = json_text(finish, a);
    if (parts.n || finish.n || e->usage.n)
        reader_start(&l, r, e, a);
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);)
        read_part_deltas(&l, r, part, a);
    if (finish.n && !r->finished) {
        turn_finish means = e->blocked ? FINISH_FILTER : gemini_finish_means(finish, r->calls > 0);
        if (!gemini_ends_short(means)) /* else its call was cut */
            close_call_deltas(&l, r, a);
        turn_delta *d = delta_add(&l, DELTA_FINISH);
        d->finish_raw = finish;
        d->finish = means;
        r->finished = true;
    }
    if (json_is_object(e->usage)) {
        turn_delta *d = delta_add(&l, DELTA_USAGE);
        d->usage = gemini_read_usage(e->usage);
        d->text = e->usage;
    }
    return l;
}

/* ---- writing a stream ---- */

static void chunk(daruma_buf *out)
{
    BUF_LIT(out, "data: {\"candidates\":[{\"content\":{\"parts\":[");
}

static void chunk_end(turn_writer *w, turn_finish finish, bool usage, daruma_buf *out)
{
    BUF_LIT(out, "],\"role\":\"model\"}");
    if (finish != FINISH_NONE) {
        BUF_LIT(out, ",\"finishReason\":");
        buf_json(out, finish_word(&gemini_finishes, finish));
    }
    BUF_LIT(out, ",\"index\":0}]");
    if (usage) {
        BUF_LIT(out, ",\"usageMetadata\":");
        writer_put_usage(w, gemini_put_usage, out);
    }
    gemini_put_tail(out, str_of(w->r.model), turn_id(&w->r));
    BUF_LIT(out, "\n\n");
}

static void write_text(turn_writer *w, daruma_str text, bool thought, daruma_str signature, daruma_buf *out)
{
    if (!text.n && !signature.n)
        return;
    chunk(out);
    gemini_put_text(out, text, thought, signature);
    chunk_end(w, FINISH_NONE, false, out);
}

/* The call that was collected. One whose arguments were cut cannot be written here: it never came, if the answer was
 * cut by its length, else the stream is broken. */
static void flush_call(turn_writer *w, daruma_buf *out)
{
    daruma_str held = buf_str(&w->held);
    if (w->r.open_kind != DELTA_CALL)
        return;
    w->r.open_kind = DELTA_OTHER;
    w->r.open = -1;
    if (str_trim(held).n && !(json_valid(held) && json_is_object(str_trim(held)))) {
        w->broken |= w->finish != FINISH_LENGTH && w->finish != FINISH_WINDOW;
        return;
    }
    chunk(out);
    gemini_put_call(out, buf_str(&w->call_id), buf_str(&w->call_name), held, buf_str(&w->items));
    chunk_end(w, FINISH_NONE, false, out);
}

static void gemini_write_call(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    flush_call(w, out);
    int nth = call_begin(&w->r, w->r.calls);
    w->call_shift = nth - d->index;
    block_open(&w->r, nth, DELTA_CALL);
    w->held.n = w->items.n = w->call_id.n = w->call_name.n = 0;
    writer_keep(w, &w->call_id, d->id);
    writer_keep(w, &w->call_name, d->name);
}

static void gemini_write_end(turn_writer *w, daruma_buf *out)
{
    flush_call(w, out);
    if (!w->r.finished && !w->broken) {
        chunk(out);
        BUF_LIT(out, "{\"text\":\"\"}");
        chunk_end(w, w->finish ? w->finish : FINISH_STOP, true, out);
    }
    w->r.finished = w->r.ended = true;
}

void gemini_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (w->r.ended)
        return;
    writer_begin(w, d->kind == DELTA_START ? d : NULL, ""); /* nothing to say yet: every response names itself */
    writer_finish(w, d);
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_REFUSAL:
        flush_call(w, out);
        write_text(w, d->text, false, (daruma_str){0}, out);
        break;
    case DELTA_THINKING:
        flush_call(w, out);
        write_text(w, d->text, true, (daruma_str){0}, out);
        break;
    case DELTA_SIGNATURE:
        if (writer_in_call(w, d))
            writer_keep(w, &w->items, d->text);
        else if (d->index < 0)
            write_text(w, (daruma_str){0}, false, d->text, out);
        break;
    case DELTA_CALL:
        gemini_write_call(w, d, out);
        break;
    case DELTA_ARGUMENTS:
        if (writer_in_call(w, d))
            writer_keep(w, &w->held, d->text);
        else
            w->broken |= d->text.n > 0;
        break;
    case DELTA_CALL_END:
        if (writer_in_call(w, d))
            flush_call(w, out);
        break;
    case DELTA_END:
        gemini_write_end(w, out);
        break;
    case DELTA_START:
    case DELTA_FINISH:
    case DELTA_USAGE:
    case DELTA_SOURCES:
    case DELTA_OTHER:
        break;
    case DELTA_BLOCK:
        flush_call(w, out);
        if (!d->text.n)
            break;
        chunk(out);
        put_one_line(out, d->text);
        chunk_end(w, FINISH_NONE, false, out);
        break;
    }
}
