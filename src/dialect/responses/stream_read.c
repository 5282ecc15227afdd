/* stream_read.c - what the events of OpenAI Responses say:
 * https://platform.openai.com/docs/api-reference/responses-streaming. */
#include "dialect/responses/responses.h"

/* `at`: where it stands, if it does so in one piece. */
static void responses_say(turn_deltas *l, turn_reader *r, delta_kind kind, int index, daruma_str text, daruma_str at)
{
    turn_delta *d = delta_text(l, kind, index, text);
    if (!d)
        return;
    d->text_at = at;
    r->open_bytes += (int64_t)text.n;
}

static void read_item_added(turn_deltas *l, turn_reader *r, int at, daruma_str item, daruma_arena *a)
{
    daruma_str type = value_raw(json_get(item, S("type")));
    reader_item(r, json_text(json_get(item, S("id")), a));
    daruma_str phase = json_text(json_get(item, S("phase")), a);
    KEEP(r->phase, phase.n < sizeof r->phase ? phase : (daruma_str){0});
    r->stage = STAGE_ITEM;
    r->part = 0;
    if (responses_calls_function(type, item)) {
        block_open(r, at, DELTA_CALL);
        turn_delta *d = delta_add(l, DELTA_CALL);
        d->index = call_begin(r, at);
        d->id = json_text(json_get(item, S("call_id")), a);
        d->name_at = json_get(item, S("name"));
        d->name = json_text(d->name_at, a);
        daruma_str arguments = json_get(item, S("arguments"));
        responses_say(l, r, DELTA_ARGUMENTS, r->calls - 1, json_text(arguments, a), arguments);
    } else if (str_eq(type, S("message"))) {
        block_open(r, at, DELTA_TEXT);
    } else if (str_eq(type, S("reasoning"))) {
        block_open(r, at, DELTA_THINKING);
    } else {
        block_open(r, at, DELTA_OTHER);
        delta_add(l, DELTA_OTHER)->text = item;
    }
}

/* What was not said before is said now: some servers send no deltas. */
static void read_item_done(turn_deltas *l, turn_reader *r, int at, daruma_str item, daruma_arena *a)
{
    daruma_str type = value_raw(json_get(item, S("type"))), only = {0}, text;
    if (r->open != at)
        read_item_added(l, r, at, item, a);
    if (r->open_kind == DELTA_CALL) {
        int nth = call_find(r, at);
        only = json_get(item, S("arguments"));
        if (!r->open_bytes)
            responses_say(l, r, DELTA_ARGUMENTS, nth, json_text(only, a), only);
        delta_add(l, DELTA_CALL_END)->index = nth;
    } else if (str_eq(type, S("reasoning"))) {
        text = r->stage == STAGE_ITEM ? responses_texts(json_get(item, S("summary")), S("\n\n"), &only, a) : S("");
        responses_say(l, r, DELTA_THINKING, -1, text, only);
        delta_text(l, DELTA_SIGNATURE, -1, json_text(json_get(item, S("encrypted_content")), a));
    } else if (str_eq(type, S("message")) && r->stage == STAGE_ITEM) {
        text = responses_texts(json_get(item, S("content")), (daruma_str){0}, &only, a);
        responses_say(l, r, DELTA_TEXT, -1, text, only);
    }
    r->open = -1;
    r->open_kind = DELTA_OTHER;
}

static void open_part(turn_reader *r, const dialect_said *e)
{
    r->stage = STAGE_PART;
    r->part = e->part_at < 0 || e->part_at > INT16_MAX ? 0 : (int)e->part_at;
    r->open_bytes = 0;
}

static void read_part(turn_deltas *l, turn_reader *r, const dialect_said *e, bool summary)
{
    if (str_ends(e->type, S(".done"))) {
        r->stage = STAGE_PART_DONE;
        return;
    }
    if (summary && e->part_at > 0)
        delta_text(l, DELTA_THINKING, -1, S("\n\n"));
    else if (!summary && value_is(json_get(e->piece, S("type")), S("refusal")))
        r->open_kind = DELTA_REFUSAL;
    open_part(r, e);
}

/* A delta of text, or the whole text at its end. */
static void read_text(turn_deltas *l, turn_reader *r, const dialect_said *e, delta_kind kind, daruma_arena *a)
{
    bool done = str_ends(e->type, S(".done"));
    int nth = kind == DELTA_ARGUMENTS ? call_told(r, e->at < 0 ? r->open : (int)e->at) : -1;
    if (kind == DELTA_ARGUMENTS && nth < 0)
        return;
    if (kind != DELTA_ARGUMENTS && r->stage == STAGE_ITEM)
        open_part(r, e);
    if (kind == DELTA_REFUSAL)
        r->open_kind = DELTA_REFUSAL;
    if (!done || !r->open_bytes)
        responses_say(l, r, kind, nth, done ? json_text(e->words, a) : reader_piece(r, nth, e->words, a), e->words);
    if (done && r->stage < STAGE_TEXT_DONE)
        r->stage = STAGE_TEXT_DONE;
}

static void read_end(turn_deltas *l, turn_reader *r, const dialect_said *e, daruma_arena *a)
{
    daruma_str status = str_from(e->type, sizeof "response." - 1), reason = json_text(e->finish_at, a);
    if (json_is_object(e->usage)) {
        turn_delta *u = delta_add(l, DELTA_USAGE);
        u->usage = responses_read_usage(e->usage);
        u->text = e->usage;
    }
    turn_delta *d = delta_add(l, DELTA_FINISH);
    d->finish_raw = reason.n ? reason : status;
    d->finish = responses_finish_of_status(status, reason, r->calls > 0);
    delta_add(l, DELTA_END);
    r->finished = r->ended = true;
}

// clang-format off
static const struct { daruma_str type; delta_kind kind; } texts[] = {
    {LIT("response.output_text."),             DELTA_TEXT},
    {LIT("response.refusal."),                 DELTA_REFUSAL},
    {LIT("response.reasoning_summary_text."),  DELTA_THINKING},
    {LIT("response.reasoning_text."),          DELTA_THINKING},
    {LIT("response.function_call_arguments."), DELTA_ARGUMENTS},
};
// clang-format on

turn_deltas responses_read_delta(turn_reader *r, const dialect_said *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    if (r->ended || !e->object || !str_starts(e->type, S("response.")))
        return (turn_deltas){0};
    if (!r->began)
        r->sequence = -1;
    bool counted = e->sequence >= 0 && e->sequence <= SEQUENCE_MAX;
    r->sequence = counted ? e->sequence : r->sequence + 1;
    r->lost |= e->at >= INT16_MAX;
    int at = e->at >= 0 && e->at < INT16_MAX ? (int)e->at : r->open >= 0 ? r->open : r->blocks;
    if (json_is_object(e->answer))
        reader_start(&l, r, e, a);
    if (str_eq(e->type, S("response.output_item.added")))
        read_item_added(&l, r, at, e->item, a);
    else if (str_eq(e->type, S("response.output_item.done")))
        read_item_done(&l, r, at, e->item, a);
    else if (str_starts(e->type, S("response.content_part.")))
        read_part(&l, r, e, false);
    else if (str_starts(e->type, S("response.reasoning_summary_part.")))
        read_part(&l, r, e, true);
    else if (e->piece.n && str_eq(e->type, S("response.output_text.annotation.added")))
        delta_text(&l, DELTA_SOURCES, -1, e->piece);
    else if (str_eq(e->type, S("response.completed")) || str_eq(e->type, S("response.incomplete")))
        read_end(&l, r, e, a);
    for (size_t i = 0; i < COUNT(texts); i++)
        if (str_starts(e->type, texts[i].type) && e->words.n)
            read_text(&l, r, e, texts[i].kind, a);
    return l;
}
