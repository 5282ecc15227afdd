/* stream.c - streams of Anthropic Messages: https://docs.anthropic.com/en/api/messages-streaming. A row of content
 * blocks, one open at a time. */
#include "dialect/anthropic/anthropic.h"

/* ---- reading a stream ---- */

/* Newer answers say at the end all of what they said at the start, and what their server's tools did. */
static void say_last_usage(turn_deltas *l, daruma_str usage)
{
    if (!json_is_object(usage))
        return;
    turn_delta *d = delta_add(l, DELTA_USAGE);
    d->usage = anthropic_read_usage(usage);
    if (json_get(usage, S("input_tokens")).n)
        d->text = usage;
}

static void read_start(turn_deltas *l, turn_reader *r, const dialect_said *e, daruma_arena *a)
{
    turn_delta *d = reader_start(l, r, e, a);
    if (!d)
        return;
    d->usage = anthropic_read_usage(e->usage); /* for who writes the start of a message */
    if (json_is_object(e->usage))
        delta_add(l, DELTA_USAGE)->usage = anthropic_read_usage(e->usage);
}

/* `at`: where it stands, a string, or arguments that are whole. */
static void anthropic_say(turn_deltas *l, turn_reader *r, delta_kind kind, int index, daruma_str at, daruma_arena *a)
{
    bool whole = kind == DELTA_ARGUMENTS && (json_is_object(at) || json_is_array(at));
    daruma_str text = whole ? at : reader_piece(r, index, at, a);
    turn_delta *d = delta_text(l, kind, index, text);
    if (!d)
        return;
    d->text_at = at;
    r->open_bytes += (int64_t)text.n;
}

static void read_block_start(turn_deltas *l, turn_reader *r, int at, daruma_str block, daruma_arena *a)
{
    daruma_str type = value_raw(json_get(block, S("type"))), input = json_get(block, S("input"));
    if (str_eq(type, S("text"))) {
        block_open(r, at, DELTA_TEXT);
        anthropic_say(l, r, DELTA_TEXT, -1, json_get(block, S("text")), a);
    } else if (str_eq(type, S("thinking"))) {
        block_open(r, at, DELTA_THINKING);
        anthropic_say(l, r, DELTA_THINKING, -1, json_get(block, S("thinking")), a);
    } else if (str_eq(type, S("tool_use"))) {
        block_open(r, at, DELTA_CALL);
        turn_delta *d = delta_add(l, DELTA_CALL);
        d->index = call_begin(r, at);
        d->id = json_text(json_get(block, S("id")), a);
        d->name_at = json_get(block, S("name"));
        d->name = json_text(d->name_at, a);
        if (value_given(input)) /* some servers give it whole at once */
            anthropic_say(l, r, DELTA_ARGUMENTS, r->calls - 1, input, a);
    } else {
        block_open(r, at, DELTA_OTHER);
        delta_add(l, DELTA_OTHER)->text = block;
    }
}

static void read_block_delta(turn_deltas *l, turn_reader *r, int at, daruma_str delta, daruma_arena *a)
{
    daruma_str key, value, type = {0}, text = {0}, thinking = {0}, signature = {0}, json = {0};
    for (json_iter it = json_open(delta); json_next(&it, &key, &value);)
        if (key_is(key, S("type")))
            type = value_raw(value);
        else if (key_is(key, S("text")))
            text = value;
        else if (key_is(key, S("thinking")))
            thinking = value;
        else if (key_is(key, S("signature")))
            signature = value;
        else if (key_is(key, S("partial_json")))
            json = value;
    /* of the open block, unless it names a call that is not over: some servers number all their blocks alike */
    bool of_other = r->open >= 0 && r->open_kind == DELTA_OTHER && (r->open == at || call_find(r, at) < 0);
    if (str_eq(type, S("text_delta")))
        anthropic_say(l, r, DELTA_TEXT, -1, text, a);
    else if (str_eq(type, S("thinking_delta")))
        anthropic_say(l, r, DELTA_THINKING, -1, thinking, a);
    else if (str_eq(type, S("signature_delta")))
        delta_text(l, DELTA_SIGNATURE, -1, json_text(signature, a));
    else if (!str_eq(type, S("input_json_delta")) || of_other)
        delta_add(l, DELTA_OTHER)->text = delta;
    else if (call_told(r, at) >= 0)
        anthropic_say(l, r, DELTA_ARGUMENTS, call_find(r, at), json, a);
}

turn_deltas anthropic_read_delta(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    if (r->ended || !e->object)
        return (turn_deltas){0};
    bool placed = e->at >= 0 && e->at < INT16_MAX;
    int at = placed ? (int)e->at : r->open < 0 ? 0 : r->open;
    r->lost |= e->at >= INT16_MAX;
    if (str_eq(e->type, S("message_start"))) {
        read_start(&l, r, e, a);
    } else if (str_eq(e->type, S("content_block_start"))) {
        read_block_start(&l, r, at, e->item, a);
    } else if (str_eq(e->type, S("content_block_delta"))) {
        read_block_delta(&l, r, at, e->piece, a);
    } else if (str_eq(e->type, S("content_block_stop"))) {
        if (call_find(r, at) >= 0)
            delta_add(&l, DELTA_CALL_END)->index = call_find(r, at);
        r->open = -1;
        r->open_kind = DELTA_OTHER;
    } else if (str_eq(e->type, S("message_delta"))) {
        daruma_str reason = json_text(e->finish_at, a);
        if (reason.n) {
            turn_delta *d = delta_add(&l, DELTA_FINISH);
            d->finish_raw = reason;
            d->text = json_text(json_get(e->piece, S("stop_sequence")), a);
            d->finish = anthropic_finish_of(reason);
            r->finished = true;
        }
        say_last_usage(&l, e->usage);
    } else if (str_eq(e->type, S("message_stop"))) {
        delta_add(&l, DELTA_END);
        r->ended = true;
    }
    return l;
}

/* ---- writing a stream ---- */

static void block_event(daruma_buf *out, const char *type, int at)
{
    event_open(out, type);
    BUF_SAY(out, ",\"index\":", at);
}

static void begin(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (!writer_begin(w, d, "msg_"))
        return;
    event_open(out, "message_start");
    BUF_LIT(out, ",\"message\":");
    anthropic_put_head(out, turn_id(&w->r), w->made, str_of(w->r.model));
    BUF_LIT(out, "],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
    turn_usage before = w->usage;
    before.output = 0; /* message_delta says all of it, and LangChain adds the two */
    anthropic_put_usage(out, &before);
    buf_putc(out, '}');
    event_end(out);
}

static void close_block(turn_writer *w, daruma_buf *out)
{
    if (w->r.open < 0)
        return;
    block_event(out, "content_block_stop", w->r.open);
    event_end(out);
    w->r.open = -1;
    w->r.open_kind = DELTA_OTHER;
}

static void put_delta(turn_writer *w, const char *type, const char *member, daruma_str text, daruma_buf *out)
{
    w->r.open_bytes += (int64_t)text.n;
    block_event(out, "content_block_delta", w->r.open);
    BUF_SAY(out, ",\"delta\":{\"type\":\"", type, "\",\"", member, "\":", buf_quoted(text), "}");
    event_end(out);
}

/* A block of that kind is open. */
static void open_speech(turn_writer *w, delta_kind kind, daruma_buf *out)
{
    if (w->r.open >= 0 && w->r.open_kind == kind)
        return;
    close_block(w, out);
    block_open(&w->r, w->r.blocks, kind);
    block_event(out, "content_block_start", w->r.open);
    buf_putz(out, kind == DELTA_THINKING
                      ? ",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"
                      : ",\"content_block\":{\"type\":\"text\",\"text\":\"\"}");
    event_end(out);
}

static void write_speech(turn_writer *w, delta_kind kind, daruma_str text, daruma_buf *out)
{
    bool thinking = kind == DELTA_THINKING;
    if (!text.n)
        return;
    open_speech(w, kind, out);
    put_delta(w, thinking ? "thinking_delta" : "text_delta", thinking ? "thinking" : "text", text, out);
}

static void anthropic_write_call(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    close_block(w, out);
    int at = w->r.blocks, nth = call_begin(&w->r, at);
    w->call_shift = nth - d->index;
    block_open(&w->r, at, DELTA_CALL);
    block_event(out, "content_block_start", at);
    BUF_LIT(out, ",\"content_block\":{\"type\":\"tool_use\",\"id\":");
    put_id(out, d->id, "toolu_", w->made, (uint64_t)nth + 1);
    BUF_SAY(out, ",\"name\":", buf_quoted(d->name), ",\"input\":{}}");
    event_end(out);
}

static void anthropic_write_end(turn_writer *w, daruma_buf *out)
{
    close_block(w, out);
    if (!w->r.finished) {
        event_open(out, "message_delta");
        bool theirs = w->finish_raw.n && anthropic_finish_of(w->finish_raw) == writer_ends(w);
        BUF_SAY(out, ",\"delta\":{\"stop_reason\":",
                buf_quoted(theirs ? w->finish_raw : finish_word(&anthropic_finishes, writer_ends(w))),
                ",\"stop_sequence\":", theirs && w->stopped_by.n ? buf_quoted(w->stopped_by) : buf_raw(S("null")),
                "},\"usage\":");
        writer_put_usage(w, anthropic_put_usage, out);
        event_end(out);
    }
    event_open(out, "message_stop");
    event_end(out);
    w->r.finished = w->r.ended = true;
}

static void write_whole(turn_writer *w, daruma_str block, daruma_buf *out)
{
    close_block(w, out);
    if (!block.n)
        return;
    block_open(&w->r, w->r.blocks, DELTA_OTHER);
    block_event(out, "content_block_start", w->r.open);
    BUF_LIT(out, ",\"content_block\":");
    put_one_line(out, block);
    event_end(out);
    close_block(w, out);
}

/* Its kind is not told apart: it stands as it came. */
static void write_piece(turn_writer *w, daruma_str piece, daruma_buf *out)
{
    daruma_str type = value_raw(json_get(piece, S("type")));
    bool delta = str_ends(type, S("_delta"));
    if (str_eq(type, S("citations_delta")) || (delta && w->r.open < 0))
        open_speech(w, DELTA_TEXT, out); /* citations come ahead of its first word */
    if (!delta) {
        close_block(w, out);
        block_open(&w->r, w->r.blocks, DELTA_OTHER);
    }
    block_event(out, delta ? "content_block_delta" : "content_block_start", w->r.open);
    buf_putz(out, delta ? ",\"delta\":" : ",\"content_block\":");
    put_one_line(out, piece);
    event_end(out);
}

void anthropic_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (w->r.ended)
        return;
    writer_finish(w, d);
    if (d->kind == DELTA_USAGE && !w->r.began)
        return; /* it stands in message_start */
    begin(w, d->kind == DELTA_START ? d : NULL, out);
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_REFUSAL: /* here, a refusal is text and a stop reason */
        write_speech(w, DELTA_TEXT, d->text, out);
        break;
    case DELTA_THINKING:
        write_speech(w, DELTA_THINKING, d->text, out);
        break;
    case DELTA_SIGNATURE:
        if (d->index >= 0 || !d->text.n)
            break;                           /* of a call: only Gemini has them */
        open_speech(w, DELTA_THINKING, out); /* thinking may be signed and not shown */
        put_delta(w, "signature_delta", "signature", d->text, out);
        break;
    case DELTA_CALL:
        anthropic_write_call(w, d, out);
        break;
    case DELTA_ARGUMENTS:
        if (d->text.n && writer_in_call(w, d))
            put_delta(w, "input_json_delta", "partial_json", d->text, out);
        else if (d->text.n)
            w->broken = true;
        break;
    case DELTA_CALL_END:
        if (writer_in_call(w, d))
            close_block(w, out);
        break;
    case DELTA_END:
        anthropic_write_end(w, out);
        break;
    case DELTA_BLOCK:
        if (d->piece)
            write_piece(w, d->text, out);
        else
            write_whole(w, d->text, out);
        break;
    case DELTA_START:
    case DELTA_FINISH:
    case DELTA_USAGE:
    case DELTA_SOURCES:
    case DELTA_OTHER:
        break;
    }
}
