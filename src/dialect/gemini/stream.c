/* stream.c - the events of streamGenerateContent: what each says. */
#include "dialect/gemini/gemini.h"

/* What comes of the call whose arguments come in pieces; `part`: the piece, empty when something else closes it. */
static void add_piece(turn_deltas *l, turn_reader *r, daruma_str part, daruma_arena *a)
{
    daruma_buf json = buf_in(a);
    int nth = r->open;
    bool last = !part.n || gemini_put_piece(r, json_get(part, S("functionCall")), &json, a);
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
    add_piece(l, r, (daruma_str){0}, a);
}

static void read_call_deltas(turn_deltas *l, turn_reader *r, daruma_str part, daruma_str call, daruma_str signature,
                             daruma_arena *a)
{
    gemini_call is = gemini_call_of(call);
    if (is == GEMINI_CALL_GOES_ON) {
        if (!gemini_in_call(r))
            return;
        delta_text(l, DELTA_SIGNATURE, r->open, signature);
        add_piece(l, r, part, a);
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
        add_piece(l, r, part, a);
        return;
    }
    d->text_at = json_get(call, S("args"));
    delta_text(l, DELTA_ARGUMENTS, nth, d->text_at);
    delta_text(l, DELTA_SIGNATURE, nth, signature);
    delta_add(l, DELTA_CALL_END)->index = nth;
}

static void read_part_deltas(turn_deltas *l, turn_reader *r, daruma_str part, daruma_arena *a)
{
    daruma_str key, value, text_at = {0}, call = {0}, signed_by = {0};
    bool thought = false;
    for (json_iter it = json_open(part); json_next(&it, &key, &value);)
        if (key_is(key, S("text")))
            text_at = value;
        else if (key_is(key, S("functionCall")))
            call = value;
        else if (key_is(key, S("thoughtSignature")))
            signed_by = value;
        else if (key_is(key, S("thought")))
            thought = json_is_true(value);
    daruma_str text = json_text(text_at, a), signature = json_text(signed_by, a);
    if (json_is_object(call)) {
        read_call_deltas(l, r, part, call, signature, a);
        return;
    }
    if (text.n || !text_at.n)
        close_call_deltas(l, r, a);
    if (text.n) {
        turn_delta *d = delta_text(l, thought ? DELTA_THINKING : DELTA_TEXT, -1, text);
        if (d)
            d->text_at = text_at;
    } else if (!signature.n && !text_at.n) {
        delta_add(l, DELTA_OTHER)->text = part;
    }
    delta_text(l, DELTA_SIGNATURE, -1, signature);
}

turn_deltas gemini_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    gemini_response v;
    daruma_str part;
    if (r->ended || !gemini_read_response(r, e->data, a, &v) || v.error)
        return (turn_deltas){0};
    if (!r->began && (v.parts.n || v.finish.n || v.usage.n)) {
        turn_delta *d = delta_add(&l, DELTA_START);
        d->id = v.id;
        d->model = v.model;
        reader_id(r, v.id);
        KEEP(r->model, v.model);
        block_open(r, -1, DELTA_OTHER);
        r->began = true;
    }
    for (json_iter it = json_open(v.parts); json_next(&it, NULL, &part);)
        read_part_deltas(&l, r, part, a);
    if (v.finish.n && !r->finished) {
        turn_finish finish = v.blocked ? FINISH_FILTER : gemini_finish_means(v.finish, r->calls > 0);
        if (!gemini_ends_short(finish)) /* else its call was cut */
            close_call_deltas(&l, r, a);
        turn_delta *d = delta_add(&l, DELTA_FINISH);
        d->finish_raw = v.finish;
        d->finish = finish;
        r->finished = true;
    }
    if (json_is_object(v.usage)) {
        turn_delta *d = delta_add(&l, DELTA_USAGE);
        d->usage = gemini_read_usage(v.usage);
        d->text = v.usage;
    }
    return l;
}
