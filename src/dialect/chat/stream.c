/* stream.c - streams of OpenAI Chat Completions: chunks, and [DONE]. The calls of an answer may come mixed;
 * all else is said as it comes. */
#include "dialect/chat/chat.h"

/* ---- reading a stream ---- */

static void chat_say(turn_deltas *l, turn_reader *r, delta_kind kind, daruma_str value, daruma_arena *a)
{
    if (!json_is_string(value) || str_eq(value, S("\"\"")))
        return;
    if (r->open_kind != kind || r->open != -1)
        block_open(r, -1, kind);
    daruma_str text = reader_piece(r, -1, value, a);
    turn_delta *d = delta_text(l, kind, -1, text);
    if (d)
        d->text_at = value;
    r->open_bytes += (int64_t)text.n;
}

static void read_piece_deltas(turn_deltas *l, turn_reader *r, daruma_str content, daruma_arena *a)
{
    daruma_str piece, inner;
    for (json_iter it = json_open(content); json_next(&it, NULL, &piece);) {
        chat_say(l, r, DELTA_TEXT, json_get(piece, S("text")), a);
        for (json_iter in = json_open(json_get(piece, S("thinking"))); json_next(&in, NULL, &inner);)
            chat_say(l, r, DELTA_THINKING, json_get(inner, S("text")), a);
    }
}

/* A piece of a call. A call begins with an index that is new, or with another id at an index that is not: some
 * servers give every call the index 0, others none. */
static void read_call_delta(turn_deltas *l, turn_reader *r, daruma_str entry, daruma_arena *a)
{
    daruma_str function = json_get(entry, S("function")), own = json_get(entry, S("custom"));
    bool custom = json_is_object(own);
    if (!function.n)
        function = custom ? own : entry;
    daruma_str id = json_text(json_get(entry, S("id")), a), name_at = json_get(function, S("name"));
    daruma_str name = json_text(name_at, a);
    daruma_str arguments = json_get(function, custom ? S("input") : S("arguments")),
               index = json_get(entry, S("index"));
    int64_t said = json_int(index, -1);
    int at = said >= 0 && said < INT16_MAX ? (int)said : id.n && !reader_is_item(r, id) ? r->blocks : r->blocks - 1;
    int nth = at < 0 ? -1 : call_told(r, at);
    if (r->lost)
        return;
    bool begun = nth >= 0, shares = begun && id.n && name.n && !reader_is_item(r, id) && nth == r->calls - 1;
    if (nth < 0 || shares) { /* of two with one index the newer one is meant from here on */
        nth = call_begin(r, at < 0 ? at = r->blocks : at);
        block_open(r, at, DELTA_CALL);
        reader_item(r, id);
        turn_delta *d = delta_add(l, DELTA_CALL);
        d->index = nth;
        d->id = id;
        d->name = name;
        d->name_at = name_at;
        d->text_at = arguments;
        d->index_at = index;
        d->shares = shares;
        d->custom = custom;
    }
    daruma_str text = json_is_object(arguments) ? arguments : reader_piece(r, nth, arguments, a);
    if (text.n && r->open == at)
        r->open_bytes += (int64_t)text.n;
    bool more = begun && !shares && name.n; /* of its name, or all of it again */
    if (!text.n && !more)
        return;
    turn_delta *piece = delta_add(l, DELTA_ARGUMENTS);
    piece->index = nth;
    piece->custom = custom;
    piece->text = text;
    piece->text_at = text.n ? arguments : text;
    piece->index_at = index;
    piece->name = more ? name : (daruma_str){0};
    piece->name_at = more ? name_at : (daruma_str){0};
}

static void read_message_deltas(turn_deltas *l, turn_reader *r, const said_message *m, daruma_arena *a)
{
    daruma_str entry;
    if (m->media)
        delta_add(l, DELTA_OTHER)->text = m->raw;
    size_t before = l->n;
    chat_say(l, r, DELTA_THINKING, m->thinking, a);
    if (m->bound && l->n > before)
        l->p[before].bound = true;
    if (json_is_array(m->content))
        read_piece_deltas(l, r, m->content, a);
    else
        chat_say(l, r, DELTA_TEXT, m->content, a);
    chat_say(l, r, DELTA_REFUSAL, m->refusal, a);
    if (m->sources.n && json_is_array(m->sources))
        delta_text(l, DELTA_SOURCES, -1, m->sources);
    for (json_iter it = json_open(m->tool_calls); json_next(&it, NULL, &entry);)
        read_call_delta(l, r, entry, a);
    if (json_is_object(m->function_call))
        read_call_delta(l, r, m->function_call, a);
    daruma_str reason = json_text(m->finish_at, a);
    if (!reason.n || r->finished)
        return;
    turn_delta *d = delta_add(l, DELTA_FINISH);
    d->finish_raw = reason;
    d->finish = chat_finish_of(reason);
    if (d->finish == FINISH_STOP && r->calls)
        d->finish = FINISH_CALLS;
    r->finished = true;
}

turn_deltas chat_read_delta(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    if (r->ended || (!e->object && !e->over))
        return (turn_deltas){0};
    if (e->over) {
        delta_add(&l, DELTA_END);
        r->ended = true;
        return l;
    }
    if (e->message.counts || json_is_object(e->usage))
        reader_start(&l, r, e, a);
    if (e->message.counts)
        read_message_deltas(&l, r, &e->message, a);
    if (json_is_object(e->usage)) {
        turn_delta *d = delta_add(&l, DELTA_USAGE);
        d->usage = chat_read_usage(e->usage);
        d->text = e->usage;
    }
    return l;
}

/* ---- writing a stream ---- */

static void chunk(turn_writer *w, daruma_buf *out)
{
    BUF_SAY(out, "data: {\"id\":", buf_quoted(turn_id(&w->r)),
            ",\"object\":\"chat.completion.chunk\",\"created\":", w->r.created,
            ",\"model\":", buf_quoted(str_of(w->r.model)), ",\"choices\":[");
}

static void chunk_delta(turn_writer *w, daruma_buf *out)
{
    chunk(w, out);
    BUF_LIT(out, "{\"index\":0,\"delta\":{");
}

#define CHUNK_END "},\"logprobs\":null,\"finish_reason\":null}]}\n\n"

static void chunk_end(daruma_buf *out)
{
    BUF_LIT(out, CHUNK_END);
}

static void begin(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (!writer_begin(w, d, "chatcmpl-"))
        return;
    if (!w->r.created)
        w->r.created = w->wall;
    chunk_delta(w, out);
    BUF_LIT(out, "\"role\":\"assistant\",\"content\":\"\",\"refusal\":null");
    chunk_end(out);
}

/* The older spelling has one call: what would be another one is not said. */
static void put_function(turn_writer *w, int nth, daruma_str name, daruma_str arguments, daruma_buf *out)
{
    if (nth > 0)
        return;
    chunk_delta(w, out);
    BUF_LIT(out, "\"function_call\":{");
    BUF_MEMBERS(out, "name", buf_any(name), "arguments", arguments);
    buf_putc(out, '}');
    chunk_end(out);
}

static int index_of(const turn_writer *w, int nth)
{
    return w->r.call_block[nth % TURN_CALLS_MAX];
}

/* Takes the end off the chunk that began call `nth`, up to its empty arguments, if that is the last thing in `out`. */
static bool reopen_call(const turn_writer *w, int nth, daruma_buf *out)
{
    daruma_str end = S("\"\"}}]" CHUNK_END);
    if (nth != w->r.calls - 1 || out->n != w->call_end || !str_ends(buf_str(out), end))
        return false;
    out->n -= end.n;
    return true;
}

/* What stands beside the beginning of its call goes into that chunk: Mistral's SDK and xAI's provider of the AI SDK
 * refuse a call without a name in any chunk. */
static void put_args_delta(turn_writer *w, int nth, bool custom, daruma_str text, daruma_buf *out)
{
    int at = index_of(w, nth);
    if (w->functions) {
        put_function(w, nth, (daruma_str){0}, text, out);
        return;
    }
    bool reopened = reopen_call(w, nth, out);
    w->call_end = 0; /* the next piece may find another buffer of that length */
    if (!reopened) {
        chunk_delta(w, out);
        BUF_SAY(out, "\"tool_calls\":[{\"index\":", at,
                custom ? ",\"custom\":{\"input\":" : ",\"function\":{\"arguments\":");
    }
    BUF_SAY(out, buf_quoted(text), "}}]");
    chunk_end(out);
}

static bool is_mute(const turn_writer *w, int nth)
{
    return w->mute[nth % TURN_CALLS_MAX / 64] >> nth % 64 & 1;
}

static void set_mute(turn_writer *w, int nth, bool mute)
{
    uint64_t bit = (uint64_t)1 << nth % 64, *word = &w->mute[nth % TURN_CALLS_MAX / 64];
    *word = mute ? *word | bit : *word & ~bit;
}

/* A call without arguments: clients parse what they get, and an empty text is no JSON. */
static void close_call(turn_writer *w, int nth, daruma_buf *out)
{
    if (nth < call_oldest(&w->r) || nth >= w->r.calls || !is_mute(w, nth))
        return;
    set_mute(w, nth, false);
    if (index_of(w, nth) == w->r.open)
        w->r.open_bytes += 2;
    put_args_delta(w, nth, false, S("{}"), out);
}

static void write_speech(turn_writer *w, const turn_delta *d, const char *member, daruma_buf *out)
{
    if (!d->text.n)
        return;
    if (w->r.open_kind != d->kind)
        block_open(&w->r, -1, d->kind);
    w->r.open_bytes += (int64_t)d->text.n;
    chunk_delta(w, out);
    BUF_SAY(out, "\"", member, "\":", buf_quoted(d->text));
    chunk_end(out);
}

static void chat_write_call(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    close_call(w, w->r.calls - TURN_CALLS_MAX, out); /* it is not told apart from here on */
    int at = w->r.blocks, nth = call_begin(&w->r, at);
    set_mute(w, nth, !d->custom);
    w->call_shift = nth - d->index;
    block_open(&w->r, at, DELTA_CALL);
    KEEP(w->r.item, d->id);
    if (w->functions) {
        put_function(w, nth, d->name, (daruma_str){0}, out);
        return;
    }
    chunk_delta(w, out);
    BUF_SAY(out, "\"tool_calls\":[{\"index\":", at, ",\"id\":");
    put_id(out, d->id, "call_", w->made, (uint64_t)nth + 1);
    BUF_SAY(out,
            d->custom ? ",\"type\":\"custom\",\"custom\":{\"name\":" : ",\"type\":\"function\",\"function\":{\"name\":",
            buf_quoted(d->name), d->custom ? ",\"input\":\"\"}}]" : ",\"arguments\":\"\"}}]");
    chunk_end(out);
    w->call_end = out->n;
}

static void write_arguments(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    int nth = d->index + w->call_shift;
    if (!d->text.n)
        return;
    if (nth < call_oldest(&w->r) || nth >= w->r.calls) {
        w->broken = true;
        return;
    }
    set_mute(w, nth, false);
    if (index_of(w, nth) == w->r.open)
        w->r.open_bytes += (int64_t)d->text.n;
    put_args_delta(w, nth, d->custom, d->text, out);
}

static void chat_write_end(turn_writer *w, daruma_buf *out)
{
    bool usage = w->usage.input >= 0 || w->usage.output >= 0;
    for (int i = call_oldest(&w->r); i < w->r.calls; i++)
        close_call(w, i, out);
    if (!w->r.finished) {
        chunk(w, out);
        BUF_SAY(out, "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":",
                buf_quoted(chat_finish_word(writer_ends(w), w->functions)), "}]");
        if (usage && !w->usage_asked) {
            BUF_LIT(out, ",\"usage\":");
            writer_put_usage(w, chat_put_usage, out);
        }
        BUF_LIT(out, "}\n\n");
    }
    if (usage && w->usage_asked) {
        chunk(w, out);
        BUF_LIT(out, "],\"usage\":");
        writer_put_usage(w, chat_put_usage, out);
        BUF_LIT(out, "}\n\n");
    }
    BUF_LIT(out, "data: [DONE]\n\n");
    w->r.finished = w->r.ended = true;
}

void chat_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    turn_reader *r = &w->r;
    if (r->ended)
        return;
    begin(w, d->kind == DELTA_START ? d : NULL, out);
    if (r->open_kind == DELTA_CALL && r->open >= 0 && r->open_bytes == 0 && r->calls) /* begun before our time, too */
        set_mute(w, r->calls - 1, true);
    writer_finish(w, d);
    switch (d->kind) {
    case DELTA_TEXT:
        write_speech(w, d, "content", out);
        break;
    case DELTA_THINKING:
        write_speech(w, d, "reasoning_content", out);
        break;
    case DELTA_REFUSAL:
        write_speech(w, d, "refusal", out);
        break;
    case DELTA_CALL:
        chat_write_call(w, d, out);
        break;
    case DELTA_ARGUMENTS:
        write_arguments(w, d, out);
        break;
    case DELTA_CALL_END:
        close_call(w, d->index + w->call_shift, out);
        break;
    case DELTA_SOURCES:
        chunk_delta(w, out);
        BUF_LIT(out, "\"annotations\":");
        put_one_line(out, d->text);
        chunk_end(out);
        break;
    case DELTA_END:
        chat_write_end(w, out);
        break;
    case DELTA_START:
    case DELTA_SIGNATURE:
    case DELTA_FINISH:
    case DELTA_USAGE:
    case DELTA_BLOCK:
    case DELTA_OTHER:
        break;
    }
}
