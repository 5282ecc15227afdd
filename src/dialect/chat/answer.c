/* answer.c - answers of OpenAI Chat Completions: https://platform.openai.com/docs/api-reference/chat/object and
 * .../chat-streaming. Others add reasoning_content (DeepSeek, vLLM) or reasoning (OpenRouter) and leave much out. */
#include "dialect/chat/chat.h"

// clang-format off
/* The first of each is OpenAI's own; the others are what compatible servers say. */
static const finish_name finishes[] = {
    {LIT("stop"),                         FINISH_STOP},
    {LIT("tool_calls"),                   FINISH_CALLS},
    {LIT("length"),                       FINISH_LENGTH},
    {LIT("length"),                       FINISH_WINDOW},
    {LIT("content_filter"),               FINISH_FILTER},
    {LIT("stop"),                         FINISH_PAUSE},
    {LIT("error"),                        FINISH_ERROR},
    {LIT("function_call"),                FINISH_CALLS},  /* the older spelling */
    {LIT("max_tokens"),                   FINISH_LENGTH},
    {LIT("model_length"),                 FINISH_WINDOW}, /* Mistral */
    {LIT("sensitive"),                    FINISH_FILTER}, /* Zhipu */
    {LIT("network_error"),                FINISH_ERROR},  /* Zhipu */
    {LIT("insufficient_system_resource"), FINISH_ERROR},  /* DeepSeek */
    {LIT("abort"),                        FINISH_ERROR},  /* SGLang */
};
// clang-format on
#define NFINISHES COUNT(finishes)

turn_finish chat_finish_of(daruma_str raw)
{
    return finish_of(finishes, NFINISHES, raw);
}

daruma_str chat_finish_word(turn_finish finish, bool functions)
{
    if (functions && finish == FINISH_CALLS)
        return S("function_call");
    return finish_word(finishes, NFINISHES, finish);
}

turn_usage chat_read_usage(daruma_str usage)
{
    turn_usage u = TURN_USAGE_NONE;
    usage_read(usage, S("prompt_tokens"), S("completion_tokens"), &u.input, &u.output);
    daruma_str details = json_get(usage, S("prompt_tokens_details"));
    u.cached = usage_get(details, S("cached_tokens"));
    u.written = usage_get(details, S("cache_write_tokens"));
    if (u.cached < 0)
        u.cached = usage_get(usage, S("prompt_cache_hit_tokens")); /* DeepSeek */
    u.thinking = usage_get(json_get(usage, S("completion_tokens_details")), S("reasoning_tokens"));
    return u;
}

void chat_put_usage(daruma_buf *out, const turn_usage *u)
{
    BUF_LIT(out, "{\"prompt_tokens\":");
    buf_int(out, tokens_said(u->input));
    BUF_LIT(out, ",\"completion_tokens\":");
    buf_int(out, tokens_said(u->output));
    BUF_LIT(out, ",\"total_tokens\":");
    buf_int(out, add_sat(tokens_said(u->input), tokens_said(u->output)));
    BUF_LIT(out, ",\"prompt_tokens_details\":{\"cached_tokens\":");
    buf_int(out, tokens_said(u->cached));
    if (u->written > 0) {
        BUF_LIT(out, ",\"cache_write_tokens\":");
        buf_int(out, u->written);
    }
    BUF_LIT(out, "},\"completion_tokens_details\":{\"reasoning_tokens\":");
    buf_int(out, tokens_said(u->thinking));
    BUF_LIT(out, "}}");
}

chat_speech chat_read_speech(daruma_str message)
{
    chat_speech s = {0};
    daruma_str key, value, reasoning = {0};
    for (json_iter it = json_open(message); json_next(&it, &key, &value);)
        if (key_is(key, S("content")))
            s.content = value;
        else if (key_is(key, S("reasoning_content")))
            s.thinking = value;
        else if (key_is(key, S("reasoning")))
            reasoning = value;
        else if (key_is(key, S("refusal")))
            s.refusal = value;
        else if (key_is(key, S("tool_calls")))
            s.calls = value;
        else if (key_is(key, S("function_call")))
            s.call = value;
        else if (key_is(key, S("reasoning_details")))
            s.bound = json_count(value) > 0;
        else if (key_is(key, S("audio")) || key_is(key, S("images")))
            s.media |= json_is_object(value) || json_is_array(value);
    if (!value_given(s.thinking)) /* some servers send both, alike */
        s.thinking = reasoning;
    return s;
}

daruma_str chat_first_choice(daruma_str choices)
{
    daruma_str choice;
    for (json_iter it = json_open(choices); json_next(&it, NULL, &choice);)
        if (json_int(json_get(choice, S("index")), 0) == 0)
            return choice;
    return (daruma_str){0};
}

/* ---- whole ---- */

/* Mistral's thinking models send a list of {"type":"text"} and {"type":"thinking","thinking":[...]}. */
static void read_pieces(turn *t, daruma_str content, daruma_arena *a)
{
    daruma_str piece, inner;
    for (json_iter it = json_open(content); json_next(&it, NULL, &piece);) {
        daruma_str text = json_get(piece, S("text")), thinking = json_get(piece, S("thinking"));
        convo_part *p = answer_part(t, a, text.n ? PART_TEXT : thinking.n ? PART_THINKING : PART_OTHER, piece);
        if (!p)
            return;
        p->value = text.n ? text : thinking;
        p->text = json_text(text, a);
        for (json_iter in = json_open(thinking); json_next(&in, NULL, &inner) && !p->text.n;)
            p->text = json_text(json_get(inner, S("text")), a);
    }
}

static void read_string(turn *t, part_kind kind, daruma_str value, daruma_arena *a)
{
    convo_part *p = json_is_string(value) && value.n > 2 ? answer_part(t, a, kind, value) : NULL;
    if (!p)
        return;
    p->value = value;
    p->text = json_text(value, a);
}

/* {"name":...,"arguments":"..."}; some servers send the arguments as an object. */
static void read_function(convo_part *p, daruma_str function, daruma_arena *a)
{
    p->name = json_text(json_get(function, S("name")), a);
    p->value = json_get(function, S("arguments"));
    p->text = json_is_object(p->value) ? p->value : json_text(p->value, a);
}

static void chat_answer_read_message(turn *t, daruma_str message, daruma_arena *a)
{
    chat_speech s = chat_read_speech(message);
    daruma_str call;
    read_string(t, PART_THINKING, s.thinking, a);
    if (json_is_array(s.content))
        read_pieces(t, s.content, a);
    else
        read_string(t, PART_TEXT, s.content, a);
    read_string(t, PART_TEXT, s.refusal, a);
    t->refused |= json_is_string(s.refusal) && value_given(s.refusal);
    for (json_iter it = json_open(s.calls); json_next(&it, NULL, &call);) {
        daruma_str function = json_get(call, S("function"));
        convo_part *p = answer_part(t, a, function.n ? PART_CALL : PART_OTHER, call);
        if (!p)
            return;
        p->id = json_text(json_get(call, S("id")), a);
        read_function(p, function, a);
    }
    convo_part *p = json_is_object(s.call) ? answer_part(t, a, PART_CALL, s.call) : NULL;
    if (p)
        read_function(p, s.call, a);
}

daruma_status chat_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    daruma_str whole;
    turn t = {.body = body, .usage = TURN_USAGE_NONE, .message.role = CONVO_ASSISTANT};
    daruma_status status = answer_body(body);
    if (status != DARUMA_OK)
        return status;
    whole = str_trim(body);
    daruma_str choice = chat_first_choice(json_get(whole, S("choices")));
    t.message.raw = json_get(choice, S("message"));
    if (!json_is_object(t.message.raw))
        return DARUMA_EINPUT;
    t.id = json_text(json_get(whole, S("id")), a);
    t.model = json_text(json_get(whole, S("model")), a);
    t.finish_raw = json_text(json_get(choice, S("finish_reason")), a);
    t.finish = finish_of(finishes, NFINISHES, t.finish_raw);
    t.usage = chat_read_usage(json_get(whole, S("usage")));
    chat_answer_read_message(&t, t.message.raw, a);
    if (t.finish == FINISH_STOP && answer_has_calls(&t))
        t.finish = FINISH_CALLS;
    if (a->full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

static void put_function(daruma_buf *out, const convo_part *p)
{
    BUF_LIT(out, "{\"name\":");
    buf_json(out, p->name);
    BUF_LIT(out, ",\"arguments\":");
    buf_json(out, arguments_text(p->text));
    buf_putc(out, '}');
}

static void put_call_new(daruma_buf *out, const convo_part *p)
{
    BUF_LIT(out, "{\"id\":");
    buf_json(out, p->id);
    if (p->custom) {
        BUF_LIT(out, ",\"type\":\"custom\",\"custom\":{\"name\":");
        buf_json(out, p->name);
        BUF_LIT(out, ",\"input\":");
        buf_json(out, p->text);
        buf_putc(out, '}');
    } else {
        BUF_LIT(out, ",\"type\":\"function\",\"function\":");
        put_function(out, p);
    }
    buf_putc(out, '}');
}

enum { HOLE_CONTENT = HOLE_OWN, HOLE_THINKING, HOLE_REFUSAL, HOLE_CALLS, HOLE_CALL, HOLE_FINISH };

/* An edited call: id, name and arguments, whatever else stands beside them. */
static void chat_answer_put_call(daruma_buf *out, const convo_part *p)
{
    daruma_str function = json_get(p->raw, S("function"));
    bool bare = !function.n && json_get(p->raw, S("name")).n;
    hole holes[] = {{json_get(p->raw, S("id")), HOLE_ID},
                    {json_get(bare ? p->raw : function, S("name")), HOLE_NAME},
                    {json_get(bare ? p->raw : function, S("arguments")), HOLE_ARGUMENTS}};
    if (holes[1].span.n && holes[2].span.n && (holes[0].span.n || !p->id.n))
        put_filled(out, p->raw, holes, 3, fill_part, p);
    else
        put_call_new(out, p);
}

static bool is_call(const convo_part *p)
{
    return p->kind == PART_CALL || p->kind == PART_OTHER;
}

static bool is_piece(const convo_part *p)
{
    return p->kind == PART_TEXT || p->kind == PART_THINKING || p->kind == PART_OTHER;
}

static void put_piece(daruma_buf *out, const convo_part *p)
{
    BUF_LIT(out, "{\"type\":\"text\",\"text\":");
    buf_json(out, p->text);
    buf_putc(out, '}');
}

/* The part that stands at `span`, if it was read from there. */
static const convo_part *part_at(const turn *t, daruma_str span)
{
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].raw.n && t->message.parts[i].raw.p == span.p)
            return &t->message.parts[i];
    return NULL;
}

/* Text that was added stands behind the content. */
static void put_content(daruma_buf *out, const turn *t, daruma_str span)
{
    put_texts_of(out, t, PART_TEXT, span.p);
}

static void chat_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    const convo_part *p = part_at(t, span);
    if (what == HOLE_CONTENT && json_is_array(span)) {
        put_elements(out, span, t, is_piece, put_piece);
    } else if (what == HOLE_CONTENT && (!p || p->edited || p->dropped || t->message.edited)) {
        put_content(out, t, span);
    } else if (what == HOLE_CALLS) {
        put_elements(out, span, t, is_call, chat_answer_put_call);
    } else if (what == HOLE_CALL && p && p->edited && !p->dropped) {
        chat_answer_put_call(out, p);
    } else if (what == HOLE_FINISH && t->finish != finish_of(finishes, NFINISHES, t->finish_raw) &&
               !(t->finish == FINISH_CALLS && str_eq(t->finish_raw, S("stop")))) {
        buf_json(out, chat_finish_word(t->finish, false));
    } else if (p && p->dropped) {
        BUF_LIT(out, "null");
    } else if (p && p->edited) {
        buf_json(out, p->text);
    } else {
        buf_put(out, span);
    }
}

/* Is there a new part for which the answer that was read has no place? */
static bool lacks_place(const turn *t, const chat_speech *s)
{
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->raw.n || p->dropped)
            continue;
        if ((p->kind == PART_CALL && !json_is_array(s->calls)) || (p->kind == PART_TEXT && !s->content.n) ||
            p->kind == PART_THINKING)
            return true;
    }
    return false;
}

/* `older`: the first one, as a function_call. */
static void put_calls(daruma_buf *out, const turn *t, bool older)
{
    bool any = false;
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->kind != PART_CALL || p->dropped)
            continue;
        if (older) {
            BUF_LIT(out, ",\"function_call\":{\"name\":");
            buf_json(out, p->name);
            BUF_LIT(out, ",\"arguments\":");
            buf_json(out, arguments_text(p->text));
            buf_putc(out, '}');
            return;
        }
        buf_putz(out, any ? "," : ",\"tool_calls\":[");
        put_call_new(out, p);
        any = true;
    }
    if (any)
        buf_putc(out, ']');
}

static void put_new(const turn *t, const write_ctx *x, daruma_buf *out)
{
    BUF_LIT(out, "{\"id\":");
    put_id(out, t->id, "chatcmpl-", x->id, 0);
    BUF_LIT(out, ",\"object\":\"chat.completion\",\"created\":");
    buf_int(out, x->wall);
    BUF_LIT(out, ",\"model\":");
    buf_json(out, t->model.n ? t->model : x->model);
    BUF_LIT(out, ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    if (t->refused)
        BUF_LIT(out, "null");
    else
        put_texts(out, t, PART_TEXT);
    if (answer_says(t, PART_THINKING)) {
        BUF_LIT(out, ",\"reasoning_content\":");
        put_texts(out, t, PART_THINKING);
    }
    BUF_LIT(out, ",\"refusal\":");
    if (t->refused)
        put_texts(out, t, PART_TEXT);
    else
        BUF_LIT(out, "null");
    put_calls(out, t, x->functions);
    BUF_LIT(out, "},\"logprobs\":null,\"finish_reason\":");
    turn_finish finish = t->finish == FINISH_STOP && answer_has_calls(t) ? FINISH_CALLS : t->finish;
    buf_json(out, chat_finish_word(finish, x->functions));
    BUF_LIT(out, "}],\"usage\":");
    chat_put_usage(out, &t->usage);
    buf_putc(out, '}');
}

void chat_write_answer(const turn *t, const write_ctx *x, daruma_buf *out)
{
    if (t->body.n && !answer_edited(t)) { /* with a finish reason that nobody knows, too */
        buf_put(out, t->body);
        return;
    }
    daruma_str choice = chat_first_choice(json_get(str_trim(t->body), S("choices")));
    chat_speech s = chat_read_speech(t->message.raw);
    if (!t->body.n || lacks_place(t, &s)) {
        put_new(t, x, out);
        return;
    }
    hole holes[] = {{s.content, HOLE_CONTENT},
                    {s.thinking, HOLE_THINKING},
                    {s.refusal, HOLE_REFUSAL},
                    {json_is_array(s.calls) ? s.calls : (daruma_str){0}, HOLE_CALLS},
                    {json_is_object(s.call) ? s.call : (daruma_str){0}, HOLE_CALL},
                    {json_get(choice, S("finish_reason")), HOLE_FINISH}};
    put_filled(out, t->body, holes, COUNT(holes), chat_fill, t);
}
