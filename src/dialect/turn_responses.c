/* turn_responses.c - whole answers of OpenAI Responses and what their streams say:
 * https://platform.openai.com/docs/api-reference/responses/object and .../responses-streaming. The writer of streams is
 * turn_responses_write.c. */
#include "dialect/turn_responses.h"
#include <xxhash.h>

static turn_finish finish_of_status(daruma_str status, daruma_str reason, bool calls)
{
    if (str_eq(reason, S("content_filter")))
        return FINISH_FILTER;
    if (str_eq(status, S("incomplete")))
        return FINISH_LENGTH;
    if (str_eq(status, S("failed")) || str_eq(status, S("cancelled")))
        return FINISH_ERROR;
    return !str_eq(status, S("completed")) ? FINISH_NONE : calls ? FINISH_CALLS : FINISH_STOP;
}

/* Views have the reason where there is one, else the status. */
turn_finish responses_finish_of(daruma_str raw)
{
    bool reason = str_eq(raw, S("max_output_tokens")) || str_eq(raw, S("content_filter"));
    return finish_of_status(reason ? S("incomplete") : raw, raw, false);
}

static turn_usage turn_responses_read_usage(daruma_str usage)
{
    turn_usage u = TURN_USAGE_NONE;
    usage_read(usage, S("input_tokens"), S("output_tokens"), &u.input, &u.output);
    daruma_str details = json_get(usage, S("input_tokens_details"));
    u.cached = usage_get(details, S("cached_tokens"));
    u.written = usage_get(details, S("cache_write_tokens"));
    u.thinking = usage_get(json_get(usage, S("output_tokens_details")), S("reasoning_tokens"));
    return u;
}

/* ---- whole ---- */

/* The texts of content or summary parts, joined; `*only` is the one text value when there is one. */
static daruma_str joined(daruma_str parts, daruma_str between, daruma_str *only, daruma_arena *a)
{
    daruma_str part, first = {0};
    daruma_buf b = buf_in(a);
    size_t n = 0;
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);) {
        daruma_str value = json_get(part, S("text"));
        if (!value.n)
            value = json_get(part, S("refusal"));
        daruma_str text = json_text(value, a);
        if (!n++) {
            *only = value;
            first = text;
            continue;
        }
        if (n == 2)
            buf_put(&b, first);
        *only = (daruma_str){0};
        buf_put(&b, between);
        buf_put(&b, text);
    }
    return n > 1 ? buf_str(&b) : first;
}

/* A call of a function of its own. One within a namespace is the client's to read, as calls of other kinds: its name
 * alone does not say which function it calls, and it stays as it came. */
static bool calls_function(daruma_str type, daruma_str item)
{
    return str_eq(type, S("function_call")) && !responses_in_namespace(item);
}

static void read_item(turn *t, daruma_str item, daruma_arena *a)
{
    daruma_str type = value_raw(json_get(item, S("type")));
    part_kind kind = str_eq(type, S("message"))     ? PART_TEXT
                     : calls_function(type, item)   ? PART_CALL
                     : str_eq(type, S("reasoning")) ? PART_THINKING
                                                    : PART_OTHER;
    convo_part *p = answer_part(t, a, kind, item);
    if (!p)
        return;
    if (kind == PART_TEXT) {
        daruma_str part;
        for (json_iter it = json_open(json_get(item, S("content"))); json_next(&it, NULL, &part);)
            t->refused |= value_is(json_get(part, S("type")), S("refusal"));
        p->text = joined(json_get(item, S("content")), (daruma_str){0}, &p->value, a);
    } else if (kind == PART_THINKING) {
        daruma_str summary = json_get(item, S("summary"));
        p->text = joined(json_count(summary) ? summary : json_get(item, S("content")), S("\n\n"), &p->value, a);
        p->signature = json_text(json_get(item, S("encrypted_content")), a);
        p->sealed = p->remote = true;
    } else if (kind == PART_CALL) {
        p->id = json_text(json_get(item, S("call_id")), a);
        p->name = json_text(json_get(item, S("name")), a);
        p->value = json_get(item, S("arguments"));
        p->text = json_text(p->value, a);
    }
}

daruma_status responses_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    daruma_str whole, item;
    turn t = {.body = body, .message.role = CONVO_ASSISTANT};
    daruma_status ok = answer_body(body);
    if (ok != DARUMA_OK)
        return ok;
    whole = str_trim(body);
    daruma_str output = json_get(whole, S("output"));
    if (!json_is_array(output))
        return DARUMA_EINPUT;
    t.message.raw = whole;
    t.id = json_text(json_get(whole, S("id")), a);
    t.model = json_text(json_get(whole, S("model")), a);
    t.usage = turn_responses_read_usage(json_get(whole, S("usage")));
    for (json_iter it = json_open(output); json_next(&it, NULL, &item);)
        read_item(&t, item, a);
    daruma_str status = json_text(json_get(whole, S("status")), a);
    daruma_str reason = json_text(json_get(json_get(whole, S("incomplete_details")), S("reason")), a);
    t.finish_raw = reason.n ? reason : status;
    t.finish = finish_of_status(status, reason, answer_has_calls(&t));
    if (a->full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

void responses_put_text_part(daruma_buf *out, bool refusal, daruma_str text)
{
    buf_putz(out, refusal ? "{\"type\":\"refusal\",\"refusal\":" : "{\"type\":\"output_text\",\"text\":");
    buf_json(out, text);
    buf_putz(out, refusal ? "}" : ",\"annotations\":[],\"logprobs\":[]}");
}

void responses_put_item(daruma_buf *out, const responses_item *i)
{
    const char *status = i->done ? "completed" : "in_progress";
    BUF_LIT(out, "{\"id\":");
    buf_json(out, i->id);
    switch (i->kind) {
    case DELTA_CALL:
        buf_putz(out,
                 i->custom ? ",\"type\":\"custom_tool_call\",\"status\":" : ",\"type\":\"function_call\",\"status\":");
        put_cstr(out, status);
        buf_putz(out, i->custom ? ",\"input\":" : ",\"arguments\":");
        buf_json(out, i->done && !i->custom ? arguments_text(i->text) : i->text);
        BUF_LIT(out, ",\"call_id\":");
        buf_json(out, i->call_id);
        BUF_LIT(out, ",\"name\":");
        buf_json(out, i->name);
        break;
    case DELTA_THINKING:
        BUF_LIT(out, ",\"type\":\"reasoning\",\"summary\":[");
        if (i->text.n) {
            BUF_LIT(out, "{\"type\":\"summary_text\",\"text\":");
            buf_json(out, i->text);
            buf_putc(out, '}');
        }
        buf_putc(out, ']');
        if (i->signature.n) {
            BUF_LIT(out, ",\"encrypted_content\":");
            buf_json(out, i->signature);
        }
        break;
    default:
        BUF_LIT(out, ",\"type\":\"message\",\"status\":");
        put_cstr(out, status);
        BUF_LIT(out, ",\"role\":\"assistant\",\"content\":[");
        if (i->done)
            responses_put_text_part(out, i->kind == DELTA_REFUSAL, i->text);
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
}

/* A part as an item; with the id of the item it was read from, else a made-up one. */
static void put_part_new(daruma_buf *out, const convo_part *p, bool refused, uint64_t made, uint64_t nth)
{
    char room[64], spare[64];
    daruma_buf id = buf_over(room, sizeof room), call = buf_over(spare, sizeof spare);
    daruma_str old = value_raw(json_get(p->raw, S("id")));
    delta_kind kind = p->kind == PART_CALL       ? DELTA_CALL
                      : p->kind == PART_THINKING ? DELTA_THINKING
                      : refused                  ? DELTA_REFUSAL
                                                 : DELTA_TEXT;
    put_made_id(&id,
                kind == DELTA_CALL       ? p->custom ? "ctc_" : "fc_"
                : kind == DELTA_THINKING ? "rs_"
                                         : "msg_",
                made, nth);
    put_made_id(&call, "call_", made, nth);
    responses_put_item(out, &(responses_item){.kind = kind,
                                              .done = true,
                                              .custom = p->custom,
                                              .id = old.n ? old : buf_str(&id),
                                              .call_id = p->id.n ? p->id : buf_str(&call),
                                              .name = p->name,
                                              .signature = p->signature,
                                              .text = p->text});
}

static void put_item(daruma_buf *out, const convo_part *p)
{
    bool call = p->kind == PART_CALL;
    hole holes[] = {{p->value, call ? HOLE_ARGUMENTS : HOLE_TEXT},
                    {call ? json_get(p->raw, S("call_id")) : (daruma_str){0}, HOLE_ID},
                    {call ? json_get(p->raw, S("name")) : (daruma_str){0}, HOLE_NAME}};
    if (p->raw.n && p->value.n && (!call || (holes[1].span.n && holes[2].span.n)))
        put_filled(out, p->raw, holes, 3, fill_part, p);
    else
        put_part_new(out, p, false, p->text.n ? XXH3_64bits(p->text.p, p->text.n) : 0, 1);
}

static void turn_responses_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    (void)what;
    if (answer_edited(t))
        put_elements(out, span, t, NULL, put_item);
    else
        buf_put(out, span);
}

void responses_put_head(daruma_buf *out, daruma_str id, int64_t created, const char *status)
{
    BUF_LIT(out, "{\"id\":");
    buf_json(out, id);
    BUF_LIT(out, ",\"object\":\"response\",\"created_at\":");
    buf_int(out, created);
    BUF_LIT(out, ",\"status\":");
    put_cstr(out, status);
    BUF_LIT(out, ",\"background\":false,\"error\":");
}

void responses_put_settings(daruma_buf *out, daruma_str model, const char *reason)
{
    BUF_LIT(out, ",\"incomplete_details\":");
    if (reason) {
        BUF_LIT(out, "{\"reason\":");
        put_cstr(out, reason);
        buf_putc(out, '}');
    } else {
        BUF_LIT(out, "null");
    }
    BUF_LIT(out, ",\"instructions\":null,\"max_output_tokens\":null,\"metadata\":{},\"model\":");
    buf_json(out, model);
    BUF_LIT(out, ",\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":null,"
                 "\"summary\":null},\"store\":false,\"temperature\":null,\"text\":{\"format\":{\"type\":\"text\"}},"
                 "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null,\"truncation\":\"disabled\",\"user\":null,"
                 "\"output\":[");
}

void responses_put_usage(daruma_buf *out, const turn_usage *u)
{
    BUF_LIT(out, "{\"input_tokens\":");
    buf_int(out, tokens_said(u->input));
    BUF_LIT(out, ",\"input_tokens_details\":{\"cached_tokens\":");
    buf_int(out, tokens_said(u->cached));
    BUF_LIT(out, ",\"cache_write_tokens\":");
    buf_int(out, tokens_said(u->written));
    BUF_LIT(out, "},\"output_tokens\":");
    buf_int(out, tokens_said(u->output));
    BUF_LIT(out, ",\"output_tokens_details\":{\"reasoning_tokens\":");
    buf_int(out, tokens_said(u->thinking));
    BUF_LIT(out, "},\"total_tokens\":");
    buf_int(out, add_sat(tokens_said(u->input), tokens_said(u->output)));
    buf_putc(out, '}');
}

const char *responses_reason(turn_finish finish)
{
    return finish == FINISH_LENGTH || finish == FINISH_WINDOW ? "max_output_tokens"
           : finish == FINISH_FILTER                          ? "content_filter"
                                                              : NULL;
}

void responses_write_answer(const turn *t, const write_ctx *x, daruma_buf *out)
{
    if (t->body.n) {
        put_filled(out, t->body, &(hole){json_get(str_trim(t->body), S("output")), 0}, 1, turn_responses_fill, t);
        return;
    }
    char room[64];
    daruma_buf id = buf_over(room, sizeof room);
    const char *reason = responses_reason(t->finish);
    bool any = false;
    put_made_id(&id, "resp_", x->id, 0);
    responses_put_head(out, t->id.n ? t->id : buf_str(&id), x->wall,
                       reason                      ? "incomplete"
                       : t->finish == FINISH_ERROR ? "failed"
                                                   : "completed");
    BUF_LIT(out, "null");
    responses_put_settings(out, t->model.n ? t->model : x->model, reason);
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->dropped || p->kind == PART_OTHER || p->kind == PART_MEDIA || (p->kind == PART_TEXT && !p->text.n))
            continue;
        if (any)
            buf_putc(out, ',');
        put_part_new(out, p, t->refused, x->id, i + 1);
        any = true;
    }
    BUF_LIT(out, "],\"usage\":");
    responses_put_usage(out, &t->usage);
    buf_putc(out, '}');
}

/* ---- reading a stream ---- */

/* The members of an event that matter. */
typedef struct event_view {
    daruma_str type, response, item, part, text;
    int64_t at, part_at, sequence;
} event_view;

static bool read_event(const sse_event *e, event_view *v)
{
    daruma_str key, value;
    json_iter it = whole_open(e->data);
    *v = (event_view){.type = e->event, .at = -1, .part_at = 0, .sequence = -1};
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
                 key_is(key, S("refusal")))
            v->text = value;
    return whole_ok(&it);
}

/* `at`: where it stands, if it does so in one piece. */
static void turn_responses_say(turn_deltas *l, turn_reader *r, delta_kind kind, int index, daruma_str text,
                               daruma_str at)
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
    r->stage = STAGE_ITEM;
    r->part = 0;
    if (calls_function(type, item)) {
        block_open(r, at, DELTA_CALL);
        turn_delta *d = delta_add(l, DELTA_CALL);
        d->index = call_begin(r, at);
        d->id = json_text(json_get(item, S("call_id")), a);
        d->name_at = json_get(item, S("name"));
        d->name = json_text(d->name_at, a);
        daruma_str arguments = json_get(item, S("arguments"));
        turn_responses_say(l, r, DELTA_ARGUMENTS, r->calls - 1, json_text(arguments, a), arguments);
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
            turn_responses_say(l, r, DELTA_ARGUMENTS, nth, json_text(only, a), only);
        delta_add(l, DELTA_CALL_END)->index = nth;
    } else if (str_eq(type, S("reasoning"))) {
        text = r->stage == STAGE_ITEM ? joined(json_get(item, S("summary")), S("\n\n"), &only, a) : S("");
        turn_responses_say(l, r, DELTA_THINKING, -1, text, only);
        delta_text(l, DELTA_SIGNATURE, -1, json_text(json_get(item, S("encrypted_content")), a));
    } else if (str_eq(type, S("message")) && r->stage == STAGE_ITEM) {
        text = joined(json_get(item, S("content")), (daruma_str){0}, &only, a);
        turn_responses_say(l, r, DELTA_TEXT, -1, text, only);
    }
    r->open = -1;
    r->open_kind = DELTA_OTHER;
}

static void open_part(turn_reader *r, const event_view *v)
{
    r->stage = STAGE_PART;
    r->part = v->part_at < 0 || v->part_at > INT16_MAX ? 0 : (int)v->part_at;
    r->open_bytes = 0;
}

static void read_part(turn_deltas *l, turn_reader *r, const event_view *v, bool summary)
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
static void read_text(turn_deltas *l, turn_reader *r, const event_view *v, delta_kind kind, daruma_arena *a)
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
        turn_responses_say(l, r, kind, nth, json_text(v->text, a), v->text);
    if (done && r->stage < STAGE_TEXT_DONE)
        r->stage = STAGE_TEXT_DONE;
}

static void read_end(turn_deltas *l, turn_reader *r, const event_view *v, daruma_arena *a)
{
    daruma_str status = str_from(v->type, sizeof "response." - 1);
    daruma_str reason = json_text(json_get(json_get(v->response, S("incomplete_details")), S("reason")), a);
    daruma_str usage = json_get(v->response, S("usage"));
    if (json_is_object(usage)) {
        turn_delta *u = delta_add(l, DELTA_USAGE);
        u->usage = turn_responses_read_usage(usage);
        u->text = usage;
    }
    turn_delta *d = delta_add(l, DELTA_FINISH);
    d->finish_raw = reason.n ? reason : status;
    d->finish = finish_of_status(status, reason, r->calls > 0);
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
    event_view v;
    if (r->ended || !read_event(e, &v) || !str_starts(v.type, S("response.")))
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
