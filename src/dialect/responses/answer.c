/* answer.c - what an answer of OpenAI Responses says, whole or event by event, and how a whole one is written:
 * https://platform.openai.com/docs/api-reference/responses/object. */
#include "dialect/responses/responses.h"
#include <xxhash.h>

turn_finish responses_finish_of_status(daruma_str status, daruma_str reason, bool calls)
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
    return responses_finish_of_status(reason ? S("incomplete") : raw, raw, false);
}

turn_usage responses_read_usage(daruma_str usage)
{
    turn_usage u = TURN_USAGE_NONE;
    usage_read(usage, S("input_tokens"), S("output_tokens"), &u.input, &u.output);
    daruma_str details = json_get(usage, S("input_tokens_details"));
    u.cached = usage_get(details, S("cached_tokens"));
    u.written = usage_get(details, S("cache_write_tokens"));
    u.thinking = usage_get(json_get(usage, S("output_tokens_details")), S("reasoning_tokens"));
    return u;
}

/* ---- what an answer says ---- */

static bool piece_says(daruma_str part)
{
    return value_given(json_get(part, S("text"))) || value_given(json_get(part, S("refusal")));
}

static bool parts_say(daruma_str parts)
{
    daruma_str part;
    for (json_iter it = json_open(parts); json_next(&it, NULL, &part);)
        if (piece_says(part))
            return true;
    return false;
}

/* Messages and reasoning say what their parts say; every other item is a call or its outcome. */
static void take_item(dialect_said *s, daruma_str item)
{
    daruma_str type = value_raw(json_get(item, S("type")));
    bool said = parts_say(json_get(item, S("content"))), acts = false;
    if (str_eq(type, S("message"))) {
        s->text |= said;
    } else if (str_eq(type, S("reasoning"))) {
        s->thought |= said || parts_say(json_get(item, S("summary")));
    } else if (type.n) {
        s->calls = true;
        if (!hosted_shell(type, json_get(item, S("environment")), &acts))
            acts = hosted_item(&hosted_responses, type);
        s->effects |= acts;
    }
}

/* An answer in the background is not there yet; what was cut short may have said nothing. */
static bool may_be_empty(daruma_str status)
{
    static const daruma_str states[] = {LIT("queued"), LIT("in_progress"), LIT("incomplete"), LIT("cancelled")};
    return STR_ANY(str_eq, status, states);
}

static void take_response(dialect_said *s, json_iter *it)
{
    daruma_str key, value, item;
    while (json_next(it, &key, &value))
        if (key_is(key, S("status"))) {
            s->status = value;
        } else if (key_is(key, S("output"))) {
            s->parts = value;
        } else if (key_is(key, S("incomplete_details"))) {
            s->finish_at = json_get(value, S("reason"));
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("input_tokens"), S("output_tokens"), &s->input_tokens, &s->output_tokens);
            s->usage = value;
        } else if (key_is(key, S("id"))) {
            s->id = value;
        } else if (key_is(key, S("model"))) {
            s->model = value;
        } else if (key_is(key, S("created_at"))) {
            s->created = value;
        } else {
            s->error |= is_error_shape(key, value);
        }
    for (json_iter items = json_open(s->parts); json_next(&items, NULL, &item);)
        take_item(s, item);
    s->error |= value_is(s->status, S("failed"));
}

void responses_read_whole(daruma_str body, dialect_said *ret)
{
    json_iter it = whole_open(body);
    take_response(ret, &it);
    ret->object = whole_ok(&it);
    ret->finish = value_raw(ret->finish_at);
    if (!ret->finish.n)
        ret->finish = value_raw(ret->status);
    ret->told = may_be_empty(value_raw(ret->status));
    ret->odd = !json_is_array(ret->parts) && !json_is_null(ret->parts);
}

/* The terminal events and those that carry a response object: what it says is news only at the end. */
static void take_news(dialect_said *s)
{
    bool completed = str_eq(s->type, S("response.completed")), cut = str_eq(s->type, S("response.incomplete"));
    json_iter it = json_open(s->answer);
    take_response(s, &it);
    s->error |= str_eq(s->type, S("response.failed")) || str_eq(s->type, S("response.cancelled"));
    if (!completed && !cut) {
        s->text = s->calls = s->thought = false;
        s->input_tokens = s->output_tokens = -1;
        return;
    }
    s->over = true;
    s->told = cut;
    s->finish = value_raw(s->finish_at);
    if (!s->finish.n)
        s->finish = str_from(s->type, sizeof "response." - 1);
}

/* Deltas of whatever kind, and the beginnings and ends of items and parts. `said`: it has words, arguments, code or a
 * piece of an image. */
static void take_content(dialect_said *s, bool said)
{
    if (str_starts(s->type, S("response.output_item."))) {
        take_item(s, s->item);
    } else if (hosted_event(s->type)) {
        s->calls = s->effects = true;
    } else if (str_starts(s->type, S("response.content_part.")) ||
               str_starts(s->type, S("response.reasoning_summary_part."))) {
        s->text |= piece_says(s->piece);
    } else {
        s->text |= said && (str_ends(s->type, S(".delta")) || str_ends(s->type, S(".done")) ||
                            str_ends(s->type, S(".partial_image")));
    }
}

void responses_read_event(daruma_str data, dialect_said *ret)
{
    static const daruma_str more[] = {LIT("input"), LIT("code"), LIT("partial_image_b64")};
    daruma_str key, value;
    bool said = false;
    json_iter it = whole_open(data);
    while (json_next(&it, &key, &value))
        if (key_is(key, S("type")))
            ret->type = value_raw(value).n ? value_raw(value) : ret->type;
        else if (key_is(key, S("response")))
            ret->answer = value;
        else if (key_is(key, S("item")))
            ret->item = value;
        else if (key_is(key, S("part")))
            ret->piece = value;
        else if (key_is(key, S("output_index")))
            ret->at = json_int(value, -1);
        else if (key_is(key, S("content_index")) || key_is(key, S("summary_index")))
            ret->part_at = json_int(value, 0);
        else if (key_is(key, S("sequence_number")))
            ret->sequence = json_int(value, -1);
        else if (key_is(key, S("delta")) || key_is(key, S("text")) || key_is(key, S("arguments")) ||
                 key_is(key, S("refusal"))) {
            ret->words = value;
            said |= value_given(value);
        } else if (is_error_shape(key, value)) {
            ret->error = true;
        } else {
            for (size_t i = 0; !said && i < COUNT(more); i++)
                said = key_is(key, more[i]) && value_given(value);
            if (!said && str_eq(key, S("annotation")))
                ret->piece = value;
        }
    ret->object = whole_ok(&it);
    ret->error |= str_eq(ret->type, S("error"));
    ret->ping = str_eq(ret->type, S("ping")) || str_eq(ret->type, S("keepalive"));
    ret->known = str_starts(ret->type, S("response."));
    if (json_is_object(ret->answer))
        take_news(ret);
    take_content(ret, said);
}

/* ---- a whole answer as a turn, and back ---- */

daruma_str responses_texts(daruma_str parts, daruma_str between, daruma_str *only, daruma_arena *a)
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
        BUF_SAY(&b, between, text);
    }
    return n > 1 ? buf_str(&b) : first;
}

bool responses_calls_function(daruma_str type, daruma_str item)
{
    return str_eq(type, S("function_call")) && !responses_in_namespace(item);
}

static void read_item(turn *t, daruma_str item, daruma_arena *a)
{
    enum { TYPE, CONTENT, SUMMARY, ENCRYPTED, CALL_ID, NAME, ARGUMENTS };
    field f[] = {FIELD("type"),    FIELD("content"), FIELD("summary"),  FIELD("encrypted_content"),
                 FIELD("call_id"), FIELD("name"),    FIELD("arguments")};
    fields_of(item, FIELDS(f));
    daruma_str type = value_raw(f[TYPE].value);
    part_kind kind = str_eq(type, S("message"))             ? PART_TEXT
                     : responses_calls_function(type, item) ? PART_CALL
                     : str_eq(type, S("reasoning"))         ? PART_THINKING
                                                            : PART_OTHER;
    convo_part *p = answer_part(t, a, kind, item);
    if (!p)
        return;
    if (kind == PART_TEXT) {
        daruma_str part;
        for (json_iter it = json_open(f[CONTENT].value); json_next(&it, NULL, &part);)
            t->refused |= value_is(json_get(part, S("type")), S("refusal"));
        p->text = responses_texts(f[CONTENT].value, (daruma_str){0}, &p->value, a);
    } else if (kind == PART_THINKING) {
        daruma_str summary = f[SUMMARY].value;
        p->text = responses_texts(json_count(summary) ? summary : f[CONTENT].value, S("\n\n"), &p->value, a);
        p->signature = json_text(f[ENCRYPTED].value, a);
        p->sealed = p->remote = true;
    } else if (kind == PART_CALL) {
        p->id = json_text(f[CALL_ID].value, a);
        p->name = json_text(f[NAME].value, a);
        p->value = f[ARGUMENTS].value;
        p->text = json_text(p->value, a);
    }
}

daruma_status responses_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    dialect_said s;
    daruma_str item;
    turn t;
    daruma_status ok = answer_open(&dialect_openai_responses, body, &s, &t, a);
    if (ok != DARUMA_OK || !json_is_array(s.parts))
        return ok != DARUMA_OK ? ok : DARUMA_EINPUT;
    t.usage = responses_read_usage(s.usage);
    for (json_iter it = json_open(s.parts); json_next(&it, NULL, &item);)
        read_item(&t, item, a);
    daruma_str status = json_text(s.status, a), reason = t.finish_raw;
    t.finish_raw = reason.n ? reason : status;
    t.finish = responses_finish_of_status(status, reason, answer_says(&t, PART_CALL));
    if (a->full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

void responses_put_said(daruma_buf *out, const responses_item *i)
{
    char *room = i->n ? buf_room(out, i->n) : NULL;
    if (room) {
        memcpy(room, out->p + i->at, i->n);
        out->n += i->n;
    } else {
        buf_json(out, i->text);
    }
}

void responses_put_text_part(daruma_buf *out, const responses_item *i)
{
    bool refusal = i->kind == DELTA_REFUSAL;
    buf_putz(out, refusal ? "{\"type\":\"refusal\",\"refusal\":" : "{\"type\":\"output_text\",\"text\":");
    responses_put_said(out, i);
    if (!refusal) {
        BUF_LIT(out, ",\"annotations\":[");
        put_one_line(out, i->sources);
        BUF_LIT(out, "],\"logprobs\":[]");
    }
    buf_putc(out, '}');
}

void responses_put_item(daruma_buf *out, const responses_item *i)
{
    const char *status = i->done ? "completed" : "in_progress";
    BUF_SAY(out, "{\"id\":", buf_quoted(i->id));
    switch (i->kind) {
    case DELTA_CALL:
        BUF_SAY(out, ",\"type\":\"", i->custom ? "custom_tool_call" : "function_call", "\",\"status\":\"", status,
                i->custom ? "\",\"input\":" : "\",\"arguments\":",
                buf_quoted(i->done && !i->custom ? arguments_text(i->text) : i->text),
                ",\"call_id\":", buf_quoted(i->call_id), ",\"name\":", buf_quoted(i->name));
        break;
    case DELTA_THINKING:
        BUF_LIT(out, ",\"type\":\"reasoning\",\"summary\":[");
        if (i->text.n) {
            BUF_LIT(out, "{\"type\":\"summary_text\",\"text\":");
            responses_put_said(out, i);
            buf_putc(out, '}');
        }
        buf_putc(out, ']');
        BUF_MEMBERS(out, "encrypted_content", buf_any(i->signature));
        break;
    default:
        BUF_SAY(out, ",\"type\":\"message\",\"status\":\"", status, "\"");
        BUF_MEMBERS(out, "phase", buf_any(i->phase));
        BUF_LIT(out, ",\"role\":\"assistant\",\"content\":[");
        if (i->done)
            responses_put_text_part(out, i);
        buf_putc(out, ']');
    }
    buf_putc(out, '}');
}

void responses_put_id(daruma_buf *out, delta_kind kind, bool custom, uint64_t made, uint64_t nth)
{
    const char *prefix = kind == DELTA_CALL ? custom ? "ctc_" : "fc_" : kind == DELTA_THINKING ? "rs_" : "msg_";
    put_made_id(out, prefix, made, nth);
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
    responses_put_id(&id, kind, p->custom, made, nth);
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

static void put_read_item(daruma_buf *out, const convo_part *p)
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

static void responses_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    (void)what;
    if (answer_edited(t))
        put_elements(out, span, t, NULL, put_read_item);
    else
        buf_put(out, span);
}

void responses_put_head(daruma_buf *out, daruma_str id, int64_t created, const char *status)
{
    BUF_SAY(out, "{\"id\":", buf_quoted(id), ",\"object\":\"response\",\"created_at\":", created, ",\"status\":\"",
            status, "\",\"background\":false,\"error\":");
}

void responses_put_settings(daruma_buf *out, daruma_str model, const char *reason)
{
    BUF_SAY(out, ",\"incomplete_details\":", reason ? "{\"reason\":\"" : "null", reason ? reason : "",
            reason ? "\"}" : "",
            ",\"instructions\":null,\"max_output_tokens\":null,\"metadata\":{},\"model\":", buf_quoted(model),
            ",\"parallel_tool_calls\":true,\"previous_response_id\":null,\"reasoning\":{\"effort\":null,"
            "\"summary\":null},\"store\":false,\"temperature\":null,\"text\":{\"format\":{\"type\":\"text\"}},"
            "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":null,\"truncation\":\"disabled\",\"user\":null,"
            "\"output\":[");
}

void responses_put_usage(daruma_buf *out, const turn_usage *u)
{
    BUF_SAY(out, "{\"input_tokens\":", tokens_said(u->input),
            ",\"input_tokens_details\":{\"cached_tokens\":", tokens_said(u->cached),
            ",\"cache_write_tokens\":", tokens_said(u->written), "},\"output_tokens\":", tokens_said(u->output),
            ",\"output_tokens_details\":{\"reasoning_tokens\":", tokens_said(u->thinking),
            "},\"total_tokens\":", add_sat(tokens_said(u->input), tokens_said(u->output)), "}");
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
        put_filled(out, t->body, &(hole){json_get(str_trim(t->body), S("output")), 0}, 1, responses_fill, t);
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
