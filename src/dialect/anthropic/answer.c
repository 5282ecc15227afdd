/* answer.c - what an answer of Anthropic Messages says, whole or event by event, and how one is written:
 * https://docs.anthropic.com/en/api/messages. */
#include "dialect/anthropic/anthropic.h"
#include "dialect/kit/convo_kit.h"

// clang-format off
static const finish_name rows[] = {
    {LIT("end_turn"),                      FINISH_STOP,   false},
    {LIT("tool_use"),                      FINISH_CALLS,  false},
    {LIT("max_tokens"),                    FINISH_LENGTH, true},
    {LIT("model_context_window_exceeded"), FINISH_WINDOW, true},
    {LIT("refusal"),                       FINISH_FILTER, true},
    {LIT("pause_turn"),                    FINISH_PAUSE,  true},
    {LIT("stop_sequence"),                 FINISH_STOP,   true},
};
// clang-format on
const finish_table anthropic_finishes = {rows, COUNT(rows)};

turn_finish anthropic_finish_of(daruma_str raw)
{
    return finish_of(&anthropic_finishes, raw);
}

turn_usage anthropic_read_usage(daruma_str usage)
{
    turn_usage u = TURN_USAGE_NONE;
    usage_read(usage, S("input_tokens"), S("output_tokens"), &u.input, &u.output);
    u.cached = usage_get(usage, S("cache_read_input_tokens"));
    u.written = usage_get(usage, S("cache_creation_input_tokens"));
    if (u.input >= 0)
        u.input = add_sat(u.input, add_sat(tokens_said(u.cached), tokens_said(u.written)));
    return u;
}

void anthropic_put_usage(daruma_buf *out, const turn_usage *u)
{
    int64_t cached = tokens_said(u->cached), written = tokens_said(u->written), input = tokens_said(u->input);
    int64_t beside = add_sat(cached, written);
    BUF_SAY(out, "{\"input_tokens\":", input > beside ? input - beside : 0,
            ",\"cache_creation_input_tokens\":", written, ",\"cache_read_input_tokens\":", cached,
            ",\"output_tokens\":", tokens_said(u->output), "}");
}

/* ---- what an answer says ---- */

/* What the usage says, over what was said before. */
static void take_usage(dialect_said *s, daruma_str usage)
{
    turn_usage u = anthropic_read_usage(usage);
    s->input_tokens = u.input >= 0 ? u.input : s->input_tokens;
    s->output_tokens = u.output >= 0 ? u.output : s->output_tokens;
    s->usage = usage;
}

/* A block says something when a member besides its type does: text, thinking, data. A call says
 * something by being there. */
static void take_block(dialect_said *s, daruma_str block)
{
    daruma_str key, value, type = {0}, name = {0};
    bool said = false;
    for (json_iter it = json_open(block); json_next(&it, &key, &value);)
        if (key_is(key, S("type")))
            type = value_raw(value);
        else if (key_is(key, S("name")))
            name = value_raw(value);
        else if (!key_is(key, S("citations")))
            said |= value_given(value);
    if (str_eq(type, S("text")))
        s->text |= said;
    else if (str_ends(type, S("tool_use")))
        s->calls = true;
    else if (str_ends(type, S("thinking")))
        s->thought |= said;
    else
        s->other |= type.n > 0;
    s->effects |= hosted_block(type, name);
}

/* The members of a message. */
static void take_member(dialect_said *s, daruma_str key, daruma_str value)
{
    if (key_is(key, S("usage")))
        take_usage(s, value);
    else if (key_is(key, S("id")))
        s->id = value;
    else if (key_is(key, S("model")))
        s->model = value;
    else if (key_is(key, S("content")))
        s->parts = value;
    else if (key_is(key, S("stop_reason")))
        s->finish_at = value;
}

static void take_finish(dialect_said *s)
{
    s->finish = value_raw(s->finish_at);
    s->told = finish_told(&anthropic_finishes, s->finish);
}

void anthropic_read_whole(daruma_str body, dialect_said *ret)
{
    daruma_str key, value, block;
    json_iter it = whole_open(body);
    while (json_next(&it, &key, &value)) {
        take_member(ret, key, value);
        ret->error |= is_error_shape(key, value) || (key_is(key, S("type")) && value_is(value, S("error")));
    }
    ret->object = whole_ok(&it);
    for (it = json_open(ret->parts); json_next(&it, NULL, &block);)
        take_block(ret, block);
    take_finish(ret);
    ret->odd = !json_is_array(ret->parts) && !json_is_null(ret->parts);
}

void anthropic_read_event(daruma_str data, dialect_said *ret)
{
    daruma_str key, value;
    json_iter it = whole_open(data), in;
    while (json_next(&it, &key, &value))
        if (key_is(key, S("type")))
            ret->type = value_raw(value).n ? value_raw(value) : ret->type;
        else if (key_is(key, S("index")))
            ret->at = json_int(value, -1);
        else if (key_is(key, S("delta")))
            ret->piece = value;
        else if (key_is(key, S("content_block")))
            ret->item = value;
        else if (key_is(key, S("message")))
            ret->answer = value;
        else if (key_is(key, S("usage")))
            ret->usage = value;
        else
            ret->error |= is_error_shape(key, value);
    ret->object = whole_ok(&it);
    ret->known = true;
    if (str_eq(ret->type, S("content_block_delta"))) {
        for (in = json_open(ret->piece); json_next(&in, &key, &value);)
            ret->other |= !key_is(key, S("type")) && value_given(value);
    } else if (str_eq(ret->type, S("content_block_start"))) {
        take_block(ret, ret->item);
    } else if (str_eq(ret->type, S("message_start"))) {
        for (in = json_open(ret->answer); json_next(&in, &key, &value);)
            take_member(ret, key, value);
    } else if (str_eq(ret->type, S("message_delta"))) {
        ret->finish_at = json_get(ret->piece, S("stop_reason"));
        take_finish(ret);
        take_usage(ret, ret->usage);
    } else if (str_eq(ret->type, S("message_stop"))) {
        ret->over = true;
    } else {
        ret->known = false;
        ret->ping = str_eq(ret->type, S("ping"));
        ret->error |= str_eq(ret->type, S("error"));
    }
}

/* ---- a whole answer as a turn, and back ---- */

static void read_block(turn *t, daruma_str block, daruma_arena *a)
{
    enum { TYPE, TEXT, THINKING, SIGNATURE, DATA, ID, NAME, INPUT };
    field f[] = {FIELD("type"), FIELD("text"), FIELD("thinking"), FIELD("signature"),
                 FIELD("data"), FIELD("id"),   FIELD("name"),     FIELD("input")};
    fields_of(block, FIELDS(f));
    daruma_str type = value_raw(f[TYPE].value);
    bool thinking = str_eq(type, S("thinking")), redacted = str_eq(type, S("redacted_thinking"));
    part_kind kind = str_eq(type, S("text"))       ? PART_TEXT
                     : str_eq(type, S("tool_use")) ? PART_CALL
                     : thinking || redacted        ? PART_THINKING
                                                   : PART_OTHER;
    convo_part *p = answer_part(t, a, kind, block);
    if (!p)
        return;
    if (kind == PART_TEXT || thinking) {
        p->value = f[thinking ? THINKING : TEXT].value;
        p->text = json_text(p->value, a);
    }
    if (kind == PART_THINKING) {
        p->sealed = true;
        p->signature = json_text(f[redacted ? DATA : SIGNATURE].value, a);
    }
    if (kind == PART_CALL) {
        p->id = json_text(f[ID].value, a);
        p->name = json_text(f[NAME].value, a);
        p->value = p->text = f[INPUT].value;
    }
}

daruma_status anthropic_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    dialect_said s;
    daruma_str block;
    turn t;
    daruma_status status = answer_open(&dialect_anthropic, body, &s, &t, a);
    if (status != DARUMA_OK || !json_is_array(s.parts))
        return status != DARUMA_OK ? status : DARUMA_EINPUT;
    t.usage = anthropic_read_usage(s.usage);
    for (json_iter it = json_open(s.parts); json_next(&it, NULL, &block);)
        read_block(&t, block, a);
    if (a->full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

/* Thinking without a signature would be refused when the client hands it back. */
static bool writable(const convo_part *p)
{
    return !p->dropped && (p->kind == PART_TEXT || p->kind == PART_CALL || (p->kind == PART_THINKING && p->sealed));
}

static void put_block_new(daruma_buf *out, const convo_part *p)
{
    if (p->kind == PART_CALL) {
        BUF_SAY(out, "{\"type\":\"tool_use\",\"id\":", buf_quoted(p->id), ",\"name\":", buf_quoted(p->name),
                ",\"input\":");
        put_args(out, p->text);
    } else if (p->kind == PART_THINKING) {
        BUF_SAY(out, "{\"type\":\"thinking\",\"thinking\":", buf_quoted(p->text),
                ",\"signature\":", buf_quoted(p->signature));
    } else {
        BUF_SAY(out, "{\"type\":\"text\",\"text\":", buf_quoted(p->text));
    }
    buf_putc(out, '}');
}

enum { HOLE_CONTENT = HOLE_OWN, HOLE_FINISH };

static void put_block(daruma_buf *out, const convo_part *p)
{
    if (p->kind == PART_CALL && p->raw.n) {
        hole holes[] = {{json_get(p->raw, S("id")), HOLE_ID},
                        {json_get(p->raw, S("name")), HOLE_NAME},
                        {json_get(p->raw, S("input")), HOLE_INPUT}};
        if (holes[0].span.n && holes[1].span.n && holes[2].span.n) {
            put_filled(out, p->raw, holes, 3, fill_part, p);
            return;
        }
    } else if (p->raw.n && p->value.n) {
        put_filled(out, p->raw, &(hole){p->value, HOLE_TEXT}, 1, fill_part, p);
        return;
    }
    put_block_new(out, p);
}

static void anthropic_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    if (what == HOLE_CONTENT && answer_edited(t))
        put_elements(out, span, t, NULL, put_block);
    else if (what == HOLE_FINISH && t->finish != anthropic_finish_of(t->finish_raw))
        buf_json(out, finish_word(&anthropic_finishes, t->finish));
    else
        buf_put(out, span);
}

void anthropic_put_head(daruma_buf *out, daruma_str id, uint64_t made, daruma_str model)
{
    BUF_LIT(out, "{\"id\":");
    put_id(out, id, "msg_", made, 0);
    BUF_SAY(out, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":", buf_quoted(model), ",\"content\":[");
}

void anthropic_write_answer(const turn *t, const write_ctx *x, daruma_buf *out)
{
    if (t->body.n) {
        daruma_str whole = str_trim(t->body);
        hole holes[] = {{json_get(whole, S("content")), HOLE_CONTENT},
                        {json_get(whole, S("stop_reason")), HOLE_FINISH}};
        put_filled(out, t->body, holes, 2, anthropic_fill, t);
        return;
    }
    bool any = false;
    anthropic_put_head(out, t->id, x->id, t->model.n ? t->model : x->model);
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (!writable(p) || (p->kind == PART_TEXT && !p->text.n))
            continue;
        if (any)
            buf_putc(out, ',');
        put_block_new(out, p);
        any = true;
    }
    turn_finish finish = t->finish == FINISH_STOP && answer_says(t, PART_CALL) ? FINISH_CALLS : t->finish;
    BUF_SAY(out, "],\"stop_reason\":", buf_quoted(finish_word(&anthropic_finishes, finish)),
            ",\"stop_sequence\":null,\"usage\":");
    anthropic_put_usage(out, &t->usage);
    buf_putc(out, '}');
}
