/* stream_read.c - what the events of OpenAI Responses say:
 * https://platform.openai.com/docs/api-reference/responses-streaming. */
#include "dialect/responses/responses.h"

bool responses_read_event(const sse_event *e, responses_event *v)
{
    static const daruma_str more[] = {LIT("input"), LIT("code"), LIT("partial_image_b64")};
    daruma_str key, value;
    json_iter it = whole_open(e->data);
    *v = (responses_event){.type = e->event, .at = -1, .part_at = 0, .sequence = -1};
    while (json_next(&it, &key, &value))
        if (key_is(key, S("type")))
            v->type = value_raw(value);
        else if (key_is(key, S("response")))
            v->response = value;
        else if (key_is(key, S("item")))
            v->item = value;
        else if (key_is(key, S("part")))
            v->part = value;
        else if (key_is(key, S("output_index")))
            v->at = json_int(value, -1);
        else if (key_is(key, S("content_index")) || key_is(key, S("summary_index")))
            v->part_at = json_int(value, 0);
        else if (key_is(key, S("sequence_number")))
            v->sequence = json_int(value, -1);
        else if (key_is(key, S("delta")) || key_is(key, S("text")) || key_is(key, S("arguments")) ||
                 key_is(key, S("refusal"))) {
            v->text = value;
            v->said |= value_given(value);
        } else if (is_error_shape(key, value)) {
            v->error = true;
        } else {
            for (size_t i = 0; !v->said && i < COUNT(more); i++)
                v->said = key_is(key, more[i]) && value_given(value);
        }
    return whole_ok(&it);
}

/* `at`: where it stands, if it does so in one piece. */
static void responses_say(turn_deltas *l, turn_reader *r, delta_kind kind, int index, daruma_str text, daruma_str at)
{
    turn_delta *d = delta_text(l, kind, index, text);
    if (!d)
        return;
    d->text_at = at;
    r->open_bytes += (int64_t)text.n;
}

static void read_start(turn_deltas *l, turn_reader *r, daruma_str response, daruma_arena *a)
{
    if (r->began)
        return;
    turn_delta *d = delta_add(l, DELTA_START);
    d->id = json_text(json_get(response, S("id")), a);
    d->model = json_text(json_get(response, S("model")), a);
    reader_id(r, d->id);
    KEEP(r->model, d->model);
    r->created = json_int(json_get(response, S("created_at")), 0);
    block_open(r, -1, DELTA_OTHER);
    r->began = true;
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

static void open_part(turn_reader *r, const responses_event *v)
{
    r->stage = STAGE_PART;
    r->part = v->part_at < 0 || v->part_at > INT16_MAX ? 0 : (int)v->part_at;
    r->open_bytes = 0;
}

static void read_part(turn_deltas *l, turn_reader *r, const responses_event *v, bool summary)
{
    if (str_ends(v->type, S(".done"))) {
        r->stage = STAGE_PART_DONE;
        return;
    }
    if (summary && v->part_at > 0)
        delta_text(l, DELTA_THINKING, -1, S("\n\n"));
    else if (!summary && value_is(json_get(v->part, S("type")), S("refusal")))
        r->open_kind = DELTA_REFUSAL;
    open_part(r, v);
}

/* A delta of text, or the whole text at its end. */
static void read_text(turn_deltas *l, turn_reader *r, const responses_event *v, delta_kind kind, daruma_arena *a)
{
    bool done = str_ends(v->type, S(".done"));
    int nth = kind == DELTA_ARGUMENTS ? call_told(r, v->at < 0 ? r->open : (int)v->at) : -1;
    if (kind == DELTA_ARGUMENTS && nth < 0)
        return;
    if (kind != DELTA_ARGUMENTS && r->stage == STAGE_ITEM)
        open_part(r, v);
    if (kind == DELTA_REFUSAL)
        r->open_kind = DELTA_REFUSAL;
    if (!done || !r->open_bytes)
        responses_say(l, r, kind, nth, json_text(v->text, a), v->text);
    if (done && r->stage < STAGE_TEXT_DONE)
        r->stage = STAGE_TEXT_DONE;
}

static void read_end(turn_deltas *l, turn_reader *r, const responses_event *v, daruma_arena *a)
{
    daruma_str status = str_from(v->type, sizeof "response." - 1);
    daruma_str reason = json_text(json_get(json_get(v->response, S("incomplete_details")), S("reason")), a);
    daruma_str usage = json_get(v->response, S("usage"));
    if (json_is_object(usage)) {
        turn_delta *u = delta_add(l, DELTA_USAGE);
        u->usage = responses_read_usage(usage);
        u->text = usage;
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

turn_deltas responses_read_delta(turn_reader *r, const sse_event *e, turn_delta *few, daruma_arena *a)
{
    turn_deltas l = {.p = few, .cap = TURN_DELTAS_FEW, .arena = a};
    responses_event v;
    if (r->ended || !responses_read_event(e, &v) || !str_starts(v.type, S("response.")))
        return (turn_deltas){0};
    if (!r->began)
        r->sequence = -1;
    bool counted = v.sequence >= 0 && v.sequence <= SEQUENCE_MAX;
    r->sequence = counted ? v.sequence : r->sequence + 1;
    r->lost |= v.at >= INT16_MAX;
    int at = v.at >= 0 && v.at < INT16_MAX ? (int)v.at : r->open >= 0 ? r->open : r->blocks;
    if (json_is_object(v.response))
        read_start(&l, r, v.response, a);
    if (str_eq(v.type, S("response.output_item.added")))
        read_item_added(&l, r, at, v.item, a);
    else if (str_eq(v.type, S("response.output_item.done")))
        read_item_done(&l, r, at, v.item, a);
    else if (str_starts(v.type, S("response.content_part.")))
        read_part(&l, r, &v, false);
    else if (str_starts(v.type, S("response.reasoning_summary_part.")))
        read_part(&l, r, &v, true);
    else if (str_eq(v.type, S("response.completed")) || str_eq(v.type, S("response.incomplete")))
        read_end(&l, r, &v, a);
    for (size_t i = 0; i < COUNT(texts); i++)
        if (str_starts(v.type, texts[i].type) && v.text.n)
            read_text(&l, r, &v, texts[i].kind, a);
    return l;
}
