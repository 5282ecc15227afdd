/* answer.c - answers of Anthropic Messages: https://docs.anthropic.com/en/api/messages. */
#include "dialect/anthropic/anthropic.h"

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
    BUF_LIT(out, "{\"input_tokens\":");
    buf_int(out, input > beside ? input - beside : 0);
    BUF_LIT(out, ",\"cache_creation_input_tokens\":");
    buf_int(out, written);
    BUF_LIT(out, ",\"cache_read_input_tokens\":");
    buf_int(out, cached);
    BUF_LIT(out, ",\"output_tokens\":");
    buf_int(out, tokens_said(u->output));
    buf_putc(out, '}');
}

/* ---- whole ---- */

static void read_block(turn *t, daruma_str block, daruma_arena *a)
{
    daruma_str type = value_raw(json_get(block, S("type")));
    bool thinking = str_eq(type, S("thinking")), redacted = str_eq(type, S("redacted_thinking"));
    part_kind kind = str_eq(type, S("text"))       ? PART_TEXT
                     : str_eq(type, S("tool_use")) ? PART_CALL
                     : thinking || redacted        ? PART_THINKING
                                                   : PART_OTHER;
    convo_part *p = answer_part(t, a, kind, block);
    if (!p)
        return;
    if (kind == PART_TEXT || thinking) {
        p->value = json_get(block, thinking ? S("thinking") : S("text"));
        p->text = json_text(p->value, a);
    }
    if (kind == PART_THINKING) {
        p->sealed = true;
        p->signature = json_text(json_get(block, redacted ? S("data") : S("signature")), a);
    }
    if (kind == PART_CALL) {
        p->id = json_text(json_get(block, S("id")), a);
        p->name = json_text(json_get(block, S("name")), a);
        p->value = p->text = json_get(block, S("input"));
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
        BUF_LIT(out, "{\"type\":\"tool_use\",\"id\":");
        buf_json(out, p->id);
        BUF_LIT(out, ",\"name\":");
        buf_json(out, p->name);
        BUF_LIT(out, ",\"input\":");
        put_args(out, p->text);
    } else if (p->kind == PART_THINKING) {
        BUF_LIT(out, "{\"type\":\"thinking\",\"thinking\":");
        buf_json(out, p->text);
        BUF_LIT(out, ",\"signature\":");
        buf_json(out, p->signature);
    } else {
        BUF_LIT(out, "{\"type\":\"text\",\"text\":");
        buf_json(out, p->text);
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
    BUF_LIT(out, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    buf_json(out, model);
    BUF_LIT(out, ",\"content\":[");
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
    turn_finish finish = t->finish == FINISH_STOP && answer_has_calls(t) ? FINISH_CALLS : t->finish;
    BUF_LIT(out, "],\"stop_reason\":");
    buf_json(out, finish_word(&anthropic_finishes, finish));
    BUF_LIT(out, ",\"stop_sequence\":null,\"usage\":");
    anthropic_put_usage(out, &t->usage);
    buf_putc(out, '}');
}
