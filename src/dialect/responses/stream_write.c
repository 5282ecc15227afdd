/* stream_write.c - streams of OpenAI Responses as OpenAI writes them. Everything is said three times: as
 * deltas, when its part and item are done, and in the response at the end.
 *
 *     created, in_progress
 *     output_item.added
 *         content_part.added, output_text.delta ..., output_text.done, content_part.done
 *     output_item.done
 *     completed */
#include "dialect/responses/responses.h"

static void event(turn_writer *w, const char *type, daruma_buf *out)
{
    event_open(out, type);
    BUF_SAY(out, ",\"sequence_number\":", ++w->r.sequence);
}

/* Of an event that has an item, up to that. */
static void whole_event(turn_writer *w, const char *type, daruma_buf *out)
{
    event(w, type, out);
    BUF_SAY(out, ",\"output_index\":", w->r.open, ",\"item\":");
}

/* Of an event within the open item. */
static void item_event(turn_writer *w, const char *type, const char *part_index, daruma_buf *out)
{
    event(w, type, out);
    BUF_SAY(out, ",\"item_id\":", buf_quoted(turn_item(&w->r)), ",\"output_index\":", w->r.open);
    if (part_index) {
        BUF_SAY(out, part_index, w->r.part);
    }
}

static void keep_item(turn_writer *w, daruma_str item)
{
    size_t was = w->items.n;
    if (was && item.n)
        writer_keep(w, &w->items, S(","));
    writer_keep(w, &w->items, item);
    if (w->items.full)
        w->items.n = was; /* those before it stay */
}

/* `last`: one more item, behind those that are kept; empty: none. */
static void response_event(turn_writer *w, const char *type, const char *status, const char *reason, daruma_str last,
                           bool end, daruma_buf *out)
{
    event(w, type, out);
    BUF_LIT(out, ",\"response\":");
    responses_put_head(out, turn_id(&w->r), w->r.created, status);
    BUF_LIT(out, "null");
    responses_put_settings(out, str_of(w->r.model), reason);
    put_one_line(out, buf_str(&w->items));
    if (w->items.n && last.n)
        buf_putc(out, ',');
    buf_put(out, last);
    BUF_LIT(out, "],\"usage\":");
    if (end)
        writer_put_usage(w, responses_put_usage, out);
    else
        BUF_LIT(out, "null");
    buf_putc(out, '}');
    event_end(out);
}

static void begin(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    turn_reader *r = &w->r;
    if (!writer_begin(w, d, "resp_"))
        return;
    r->sequence = -1;
    if (!r->created)
        r->created = w->wall;
    response_event(w, "response.created", "in_progress", NULL, (daruma_str){0}, false, out);
    response_event(w, "response.in_progress", "in_progress", NULL, (daruma_str){0}, false, out);
}

/* The open item with all it says. The text of a message is the newest of all text. */
static responses_item open_item(const turn_writer *w)
{
    const turn_reader *r = &w->r;
    daruma_str said = buf_str(&w->text);
    responses_item i = {.kind = r->open_kind,
                        .done = true,
                        .custom = w->custom && r->open_kind == DELTA_CALL,
                        .id = turn_item(r),
                        .call_id = buf_str(&w->call_id),
                        .name = buf_str(&w->call_name),
                        .phase = str_of(r->phase),
                        .text = buf_str(&w->held)};
    if (r->open_kind == DELTA_TEXT)
        i.sources = buf_str(&w->held);
    if (r->open_kind == DELTA_TEXT || r->open_kind == DELTA_REFUSAL)
        i.text = r->open_bytes < (int64_t)said.n ? str_from(said, said.n - (size_t)r->open_bytes) : said;
    if (r->open_kind == DELTA_THINKING)
        i.signature = buf_str(&w->call_id);
    return i;
}

/* text.done and part.done, as far as they were not said. A long text is made JSON once. */
static void close_part(turn_writer *w, responses_item *i, daruma_buf *out)
{
    bool refusal = i->kind == DELTA_REFUSAL, thinking = i->kind == DELTA_THINKING;
    const char *index = thinking ? ",\"summary_index\":" : ",\"content_index\":";
    if (w->r.stage == STAGE_PART) {
        item_event(w,
                   refusal    ? "response.refusal.done"
                   : thinking ? "response.reasoning_summary_text.done"
                              : "response.output_text.done",
                   index, out);
        buf_putz(out, refusal ? ",\"refusal\":" : thinking ? ",\"text\":" : ",\"logprobs\":[],\"text\":");
        size_t at = out->n;
        buf_json(out, i->text);
        i->at = at;
        i->n = out->n - at;
        event_end(out);
        w->r.stage = STAGE_TEXT_DONE;
    }
    if (w->r.stage == STAGE_TEXT_DONE) {
        item_event(w, thinking ? "response.reasoning_summary_part.done" : "response.content_part.done", index, out);
        BUF_LIT(out, ",\"part\":");
        if (thinking) {
            BUF_LIT(out, "{\"type\":\"summary_text\",\"text\":");
            responses_put_said(out, i);
            buf_putc(out, '}');
        } else {
            responses_put_text_part(out, i);
        }
        event_end(out);
        w->r.stage = STAGE_PART_DONE;
    }
}

static void close_arguments(turn_writer *w, const responses_item *i, daruma_buf *out)
{
    if (w->r.stage >= STAGE_TEXT_DONE)
        return;
    if (i->custom) {
        item_event(w, "response.custom_tool_call_input.done", NULL, out);
        BUF_MEMBERS(out, "input", i->text);
    } else {
        item_event(w, "response.function_call_arguments.done", NULL, out);
        BUF_MEMBERS(out, "name", i->name, "arguments", arguments_text(i->text));
    }
    event_end(out);
}

/* Returns the open item as the end of the response says it again: a slice of what `out` holds. Empty: there is none. An
 * item of a kind that we cannot speak of stays open: its provider alone knows how it ends. */
static daruma_str end_item(turn_writer *w, daruma_buf *out)
{
    turn_reader *r = &w->r;
    if (r->open < 0 || r->open_kind == DELTA_OTHER) {
        r->open = -1;
        return (daruma_str){0};
    }
    responses_item i = open_item(w);
    if (!w->half && i.text.n && i.text.n <= SIZE_MAX / 4)
        buf_room(out, 4 * i.text.n); /* its text, part and item, and the response: in one piece, or not at all */
    if (i.kind == DELTA_CALL)
        close_arguments(w, &i, out);
    else if (!w->half)
        close_part(w, &i, out);
    whole_event(w, "response.output_item.done", out);
    size_t at = out->n;
    responses_put_item(out, &i);
    daruma_str item = {out->p + at, out->full || w->half ? 0 : out->n - at};
    event_end(out);
    w->half = false;
    r->open = -1;
    r->open_kind = DELTA_OTHER;
    return item;
}

static void close_item(turn_writer *w, daruma_buf *out)
{
    keep_item(w, end_item(w, out));
}

static void new_item(turn_writer *w, delta_kind kind, const turn_delta *d, daruma_buf *out)
{
    turn_reader *r = &w->r;
    close_item(w, out);
    daruma_buf id = buf_over(r->item, sizeof r->item - 1);
    block_open(r, r->blocks, kind);
    const turn_delta *call = kind == DELTA_CALL ? d : NULL;
    w->custom = call && call->custom;
    responses_put_id(&id, kind, w->custom, w->made, (uint64_t)r->blocks);
    r->item[id.n] = 0;
    r->long_item = (daruma_str){0};
    KEEP(r->phase, kind == DELTA_TEXT && d->name.n < sizeof r->phase ? d->name : (daruma_str){0});
    r->stage = STAGE_ITEM;
    r->part = 0;
    w->held.n = w->call_id.n = w->call_name.n = 0;
    w->sources = 0;
    if (call && call->id.n) {
        writer_keep(w, &w->call_id, call->id);
    } else if (call) {
        char room[64];
        daruma_buf made = buf_over(room, sizeof room);
        put_made_id(&made, "call_", w->made, (uint64_t)r->blocks);
        writer_keep(w, &w->call_id, buf_str(&made));
    }
    if (call)
        writer_keep(w, &w->call_name, call->name);
    whole_event(w, "response.output_item.added", out);
    responses_item i = open_item(w);
    i.done = false;
    i.text = i.signature = (daruma_str){0};
    responses_put_item(out, &i);
    event_end(out);
}

static void item_whole(turn_writer *w, const char *type, daruma_str item, daruma_buf *out)
{
    whole_event(w, type, out);
    put_one_line(out, item);
    event_end(out);
}

static void write_whole(turn_writer *w, daruma_str item, daruma_buf *out)
{
    close_item(w, out);
    if (!item.n)
        return;
    block_open(&w->r, w->r.blocks, DELTA_OTHER);
    item_whole(w, "response.output_item.added", item, out);
    item_whole(w, "response.output_item.done", item, out);
    keep_item(w, item);
    w->r.open = -1;
}

static void new_part(turn_writer *w, daruma_buf *out)
{
    bool thinking = w->r.open_kind == DELTA_THINKING;
    w->r.stage = STAGE_PART;
    w->r.open_bytes = 0;
    item_event(w, thinking ? "response.reasoning_summary_part.added" : "response.content_part.added",
               thinking ? ",\"summary_index\":" : ",\"content_index\":", out);
    BUF_LIT(out, ",\"part\":");
    if (thinking)
        BUF_LIT(out, "{\"type\":\"summary_text\",\"text\":\"\"}");
    else
        responses_put_text_part(out, &(responses_item){.kind = w->r.open_kind});
    event_end(out);
}

static void write_speech(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    turn_reader *r = &w->r;
    bool thinking = d->kind == DELTA_THINKING;
    if (!d->text.n)
        return;
    if (r->open_kind == DELTA_TEXT && d->kind == DELTA_REFUSAL && r->open >= 0 && r->stage == STAGE_ITEM)
        r->open_kind = DELTA_REFUSAL;
    bool other = d->kind == DELTA_TEXT && d->piece && d->name.n && !str_eq(d->name, str_of(r->phase));
    if (r->open < 0 || r->open_kind != d->kind || r->stage > STAGE_PART || other)
        new_item(w, d->kind, d, out);
    if (r->stage == STAGE_ITEM)
        new_part(w, out);
    writer_keep(w, thinking ? &w->held : &w->text, d->text);
    r->open_bytes += (int64_t)d->text.n;
    item_event(w,
               thinking                   ? "response.reasoning_summary_text.delta"
               : d->kind == DELTA_REFUSAL ? "response.refusal.delta"
                                          : "response.output_text.delta",
               thinking ? ",\"summary_index\":" : ",\"content_index\":", out);
    BUF_LIT(out, ",\"delta\":");
    buf_json(out, d->text);
    if (d->kind == DELTA_TEXT)
        BUF_LIT(out, ",\"logprobs\":[]");
    event_end(out);
}

/* Of the text that is open; of one that is over they come too late. */
static void write_source(turn_writer *w, daruma_str source, daruma_buf *out)
{
    if (w->r.open < 0 || w->r.open_kind != DELTA_TEXT || w->r.stage != STAGE_PART)
        return;
    if (w->held.n)
        writer_keep(w, &w->held, S(","));
    writer_keep(w, &w->held, source);
    item_event(w, "response.output_text.annotation.added", ",\"content_index\":", out);
    BUF_SAY(out, ",\"annotation_index\":", w->sources++, ",\"annotation\":");
    put_one_line(out, source);
    event_end(out);
}

static void responses_write_call(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    new_item(w, DELTA_CALL, d, out);
    int nth = call_begin(&w->r, w->r.open);
    w->call_shift = nth - d->index;
}

static void write_arguments(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (!d->text.n)
        return;
    if (!writer_in_call(w, d) || w->r.stage >= STAGE_TEXT_DONE) {
        w->broken = true;
        return;
    }
    writer_keep(w, &w->held, d->text);
    w->r.open_bytes += (int64_t)d->text.n;
    item_event(w, w->custom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta", NULL,
               out);
    BUF_LIT(out, ",\"delta\":");
    buf_json(out, d->text);
    event_end(out);
}

/* What was said before our time and was not kept: as one message, so that the end has it. */
static void responses_write_end(turn_writer *w, daruma_buf *out)
{
    const char *reason = responses_reason(w->finish);
    daruma_str last = end_item(w, out); /* it is long, and all of the text: what is said here has room of its own */
    if (!w->items.n && !last.n && w->text.n) {
        size_t at = out->n;
        responses_put_item(
            out,
            &(responses_item){.kind = DELTA_TEXT, .done = true, .id = turn_item(&w->r), .text = buf_str(&w->text)});
        if (out->full)
            return;
        writer_keep(w, &w->items, (daruma_str){out->p + at, out->n - at});
        out->n = at;
    }
    response_event(w, reason ? "response.incomplete" : "response.completed", reason ? "incomplete" : "completed",
                   reason, last, true, out);
    keep_item(w, last);
    w->r.finished = w->r.ended = true;
}

void responses_write_delta(turn_writer *w, const turn_delta *d, daruma_buf *out)
{
    if (w->r.ended)
        return;
    begin(w, d->kind == DELTA_START ? d : NULL, out);
    writer_finish(w, d);
    switch (d->kind) {
    case DELTA_TEXT:
    case DELTA_THINKING:
    case DELTA_REFUSAL:
        write_speech(w, d, out);
        break;
    case DELTA_SIGNATURE: /* stands in the finished item; the buffer of a call's id is free then */
        if (d->index >= 0 || !d->text.n)
            break; /* of a call: only Gemini has them */
        if (w->r.open_kind != DELTA_THINKING || w->r.open < 0)
            new_item(w, DELTA_THINKING, d, out);
        w->call_id.n = 0;
        writer_keep(w, &w->call_id, d->text);
        break;
    case DELTA_SOURCES:
        write_source(w, d->text, out);
        break;
    case DELTA_CALL:
        responses_write_call(w, d, out);
        break;
    case DELTA_ARGUMENTS:
        write_arguments(w, d, out);
        break;
    case DELTA_CALL_END:
        if (writer_in_call(w, d))
            close_item(w, out);
        break;
    case DELTA_END:
        responses_write_end(w, out);
        break;
    case DELTA_START:
    case DELTA_FINISH:
    case DELTA_USAGE:
    case DELTA_OTHER:
        break;
    case DELTA_BLOCK:
        write_whole(w, d->text, out);
        break;
    }
}
