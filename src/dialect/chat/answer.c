/* answer.c - what an answer of OpenAI Chat Completions says, whole or chunk by chunk (message and delta have the same
 * members), and how a whole one is written: https://platform.openai.com/docs/api-reference/chat/object and
 * .../chat-streaming. Others add reasoning_content (DeepSeek, vLLM) or reasoning (OpenRouter) and leave much out. Each
 * byte is walked once. */
#include "dialect/chat/chat.h"

// clang-format off
/* The first of each is OpenAI's own; the others are what compatible servers say. */
static const finish_name rows[] = {
    {LIT("stop"),                         FINISH_STOP,   false},
    {LIT("tool_calls"),                   FINISH_CALLS,  false},
    {LIT("length"),                       FINISH_LENGTH, true},
    {LIT("length"),                       FINISH_WINDOW, true},
    {LIT("content_filter"),               FINISH_FILTER, true},
    {LIT("stop"),                         FINISH_PAUSE,  false},
    {LIT("error"),                        FINISH_ERROR,  false},
    {LIT("function_call"),                FINISH_CALLS,  false},  /* the older spelling */
    {LIT("max_tokens"),                   FINISH_LENGTH, false},
    {LIT("model_length"),                 FINISH_WINDOW, false}, /* Mistral */
    {LIT("sensitive"),                    FINISH_FILTER, false}, /* Zhipu */
    {LIT("network_error"),                FINISH_ERROR,  false},  /* Zhipu */
    {LIT("insufficient_system_resource"), FINISH_ERROR,  false},  /* DeepSeek */
    {LIT("abort"),                        FINISH_ERROR,  false},  /* SGLang */
};
// clang-format on
const finish_table chat_finishes = {rows, COUNT(rows)};

turn_finish chat_finish_of(daruma_str raw)
{
    return finish_of(&chat_finishes, raw);
}

daruma_str chat_finish_word(turn_finish finish, bool functions)
{
    if (functions && finish == FINISH_CALLS)
        return S("function_call");
    return finish_word(&chat_finishes, finish);
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
    BUF_SAY(out, "{\"prompt_tokens\":", tokens_said(u->input), ",\"completion_tokens\":", tokens_said(u->output),
            ",\"total_tokens\":", add_sat(tokens_said(u->input), tokens_said(u->output)),
            ",\"prompt_tokens_details\":{\"cached_tokens\":", tokens_said(u->cached));
    if (u->written > 0) {
        BUF_SAY(out, ",\"cache_write_tokens\":", u->written);
    }
    BUF_SAY(out, "},\"completion_tokens_details\":{\"reasoning_tokens\":", tokens_said(u->thinking), "}}");
}

/* ---- what an answer says ---- */

/* Some servers say which of the calls were theirs: https://docs.x.ai/docs/guides/tools/overview. */
static bool has_effects(daruma_str calls)
{
    daruma_str call;
    for (json_iter it = json_open(calls); json_next(&it, NULL, &call);)
        if (hosted_item(&hosted_chat, value_raw(json_get(call, S("type")))))
            return true;
    return false;
}

/* What a message says, of whichever answer, and (`m`) where. */
static void pass_message(dialect_said *s, json_iter *it, said_message *m)
{
    daruma_str key, value, reasoning = {0};
    json_iter in = json_enter(it);
    *m = (said_message){0};
    while (json_next(&in, &key, &value)) {
        if (key_is(key, S("role")))
            continue;
        bool given = value_given(value);
        if (key_is(key, S("content"))) {
            m->content = value;
            s->text |= given;
        } else if (key_is(key, S("refusal"))) {
            m->refusal = value;
            s->text |= given;
        } else if (key_is(key, S("tool_calls"))) {
            m->tool_calls = value;
            s->calls |= given;
            s->effects |= given && has_effects(value);
        } else if (key_is(key, S("function_call"))) {
            m->function_call = value;
            s->calls |= given;
        } else if (key_is(key, S("reasoning_content"))) {
            m->thinking = value;
            s->thought |= given;
        } else if (key_is(key, S("reasoning"))) {
            reasoning = value;
            s->thought |= given;
        } else if (key_is(key, S("reasoning_details"))) {
            m->bound = !json_is_string(value) && given;
            s->thought |= given;
        } else if (key_is(key, S("audio")) || key_is(key, S("images"))) {
            m->media |= json_is_object(value) || json_is_array(value);
            s->text |= given;
        } else if (key_is(key, S("executed_tools"))) { /* Groq: https://console.groq.com/docs/compound */
            s->text |= given;
            s->effects |= given;
        } else if (key_is(key, S("annotations"))) {
            m->sources = value;
        }
    }
    if (!value_given(m->thinking)) /* some servers send both, alike */
        m->thinking = reasoning;
    json_leave(it, &in, &m->raw);
}

/* The choice that counts is that with index 0, or the first without. Some servers send both objects (Perplexity,
 * Foundry Local, proxies): of a whole answer the message is meant, of a chunk the delta, beside which the message has
 * all of it once more. */
static void pass_choice(dialect_said *s, json_iter *it, bool whole)
{
    daruma_str key, value, index = {0}, finish_at = {0};
    said_message message = {0}, delta = {0};
    bool error = false;
    json_iter choice = json_enter(it);
    while (json_step(&choice, &key))
        if (key_is(key, S("message")) && *choice.p == '{') {
            pass_message(s, &choice, &message);
        } else if (key_is(key, S("delta")) && *choice.p == '{') {
            pass_message(s, &choice, &delta);
        } else if (!json_pass(&choice, &value)) {
            break;
        } else if (key_is(key, S("finish_reason"))) {
            finish_at = value;
        } else if (key_is(key, S("index"))) {
            index = value;
        } else if (key_is(key, S("error"))) { /* OpenRouter: the provider failed in the middle */
            error = value_given(value);
        }
    json_leave(it, &choice, NULL);
    daruma_str finish = value_raw(finish_at);
    error |= chat_finish_of(finish) == FINISH_ERROR;
    choice_add(s, index, finish.n > 0);
    s->odd |= !message.raw.n && !delta.raw.n && !error;
    s->error |= error;
    if (!s->finish.n)
        s->finish = finish;
    if (s->message.counts || json_int(index, 0) != 0)
        return;
    s->message = whole || !delta.raw.n ? message : delta;
    s->message.counts = true;
    s->message.finish_at = finish_at;
}

static void pass_choices(dialect_said *s, json_iter *it, bool whole)
{
    if (*it->p != '[') {
        s->odd |= json_pass(it, &s->parts) && !json_is_null(s->parts);
        return;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            pass_choice(s, &list, whole);
        else
            s->odd |= json_pass(&list, NULL);
    json_leave(it, &list, &s->parts);
}

static void read_either(daruma_str data, bool whole, dialect_said *ret)
{
    daruma_str key, value;
    json_iter it = whole_open(data);
    while (json_step(&it, &key))
        if (key_is(key, S("choices"))) {
            pass_choices(ret, &it, whole);
            ret->known = true;
        } else if (!json_pass(&it, &value)) {
            break;
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &ret->input_tokens, &ret->output_tokens);
            ret->usage = value;
            ret->known = true;
        } else if (key_is(key, S("id"))) {
            ret->id = value;
        } else if (key_is(key, S("model"))) {
            ret->model = value;
        } else if (key_is(key, S("created"))) {
            ret->created = value;
        } else {
            ret->error |= is_error_shape(key, value);
        }
    ret->object = whole_ok(&it);
    ret->ping = !ret->known && !ret->error;
    ret->told = finish_told(&chat_finishes, ret->finish);
    ret->counted = true;
    ret->finish_at = ret->message.finish_at;
}

void chat_read_event(daruma_str data, dialect_said *ret)
{
    read_either(data, false, ret);
}

void chat_read_whole(daruma_str body, dialect_said *ret)
{
    read_either(body, true, ret);
    ret->odd |= !ret->parts.n;
}

/* ---- a whole answer as a turn, and back ---- */

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
    field f[] = {FIELD("name"), FIELD("arguments")};
    fields_of(function, FIELDS(f));
    p->name = json_text(f[0].value, a);
    p->value = f[1].value;
    p->text = json_is_object(p->value) ? p->value : json_text(p->value, a);
}

static void read_message(turn *t, const said_message *m, daruma_arena *a)
{
    daruma_str call;
    read_string(t, PART_THINKING, m->thinking, a);
    if (json_is_array(m->content))
        read_pieces(t, m->content, a);
    else
        read_string(t, PART_TEXT, m->content, a);
    read_string(t, PART_TEXT, m->refusal, a);
    t->refused = json_is_string(m->refusal) && value_given(m->refusal);
    for (json_iter it = json_open(m->tool_calls); json_next(&it, NULL, &call);) {
        field f[] = {FIELD("id"), FIELD("function")};
        fields_of(call, FIELDS(f));
        convo_part *p = answer_part(t, a, f[1].value.n ? PART_CALL : PART_OTHER, call);
        if (!p)
            return;
        p->id = json_text(f[0].value, a);
        read_function(p, f[1].value, a);
    }
    convo_part *p = json_is_object(m->function_call) ? answer_part(t, a, PART_CALL, m->function_call) : NULL;
    if (p)
        read_function(p, m->function_call, a);
}

daruma_status chat_read_answer(daruma_str body, daruma_arena *a, turn *ret)
{
    dialect_said s;
    turn t;
    daruma_status status = answer_open(&dialect_openai, body, &s, &t, a);
    if (status != DARUMA_OK || !s.message.raw.n)
        return status != DARUMA_OK ? status : DARUMA_EINPUT;
    t.message.raw = s.message.raw;
    t.usage = chat_read_usage(s.usage);
    read_message(&t, &s.message, a);
    if (t.finish == FINISH_STOP && answer_says(&t, PART_CALL))
        t.finish = FINISH_CALLS;
    if (a->full)
        return DARUMA_EFULL;
    *ret = t;
    return DARUMA_OK;
}

static void put_function(daruma_buf *out, const convo_part *p)
{
    BUF_SAY(out, "{\"name\":", buf_quoted(p->name), ",\"arguments\":", buf_quoted(arguments_text(p->text)), "}");
}

static void put_call_new(daruma_buf *out, const convo_part *p)
{
    BUF_SAY(out, "{\"id\":", buf_quoted(p->id));
    if (p->custom) {
        BUF_SAY(out, ",\"type\":\"custom\",\"custom\":{\"name\":", buf_quoted(p->name),
                ",\"input\":", buf_quoted(p->text), "}");
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
    BUF_SAY(out, "{\"type\":\"text\",\"text\":", buf_quoted(p->text), "}");
}

/* The part that stands at `span`, if it was read from there. */
static const convo_part *part_at(const turn *t, daruma_str span)
{
    for (size_t i = 0; i < t->message.nparts; i++)
        if (t->message.parts[i].raw.n && t->message.parts[i].raw.p == span.p)
            return &t->message.parts[i];
    return NULL;
}

static void chat_fill(daruma_buf *out, int what, daruma_str span, const void *user)
{
    const turn *t = user;
    const convo_part *p = part_at(t, span);
    if (what == HOLE_CONTENT && json_is_array(span)) {
        put_elements(out, span, t, is_piece, put_piece);
    } else if (what == HOLE_CONTENT && (!p || p->edited || p->dropped || t->message.edited)) {
        put_texts(out, t, PART_TEXT, span.p); /* text that was added stands behind the content */
    } else if (what == HOLE_CALLS) {
        put_elements(out, span, t, is_call, chat_answer_put_call);
    } else if (what == HOLE_CALL && p && p->edited && !p->dropped) {
        chat_answer_put_call(out, p);
    } else if (what == HOLE_FINISH && t->finish != finish_of(&chat_finishes, t->finish_raw) &&
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
static bool lacks_place(const turn *t, const said_message *m)
{
    for (size_t i = 0; i < t->message.nparts; i++) {
        const convo_part *p = &t->message.parts[i];
        if (p->raw.n || p->dropped)
            continue;
        if ((p->kind == PART_CALL && !json_is_array(m->tool_calls)) || (p->kind == PART_TEXT && !m->content.n) ||
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
            BUF_LIT(out, ",\"function_call\":");
            put_function(out, p);
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
    BUF_SAY(out, ",\"object\":\"chat.completion\",\"created\":", x->wall,
            ",\"model\":", buf_quoted(t->model.n ? t->model : x->model),
            ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    if (t->refused)
        BUF_LIT(out, "null");
    else
        put_texts(out, t, PART_TEXT, NULL);
    if (answer_says(t, PART_THINKING)) {
        BUF_LIT(out, ",\"reasoning_content\":");
        put_texts(out, t, PART_THINKING, NULL);
    }
    BUF_LIT(out, ",\"refusal\":");
    if (t->refused)
        put_texts(out, t, PART_TEXT, NULL);
    else
        BUF_LIT(out, "null");
    put_calls(out, t, x->functions);
    BUF_LIT(out, "},\"logprobs\":null,\"finish_reason\":");
    turn_finish finish = t->finish == FINISH_STOP && answer_says(t, PART_CALL) ? FINISH_CALLS : t->finish;
    BUF_SAY(out, buf_quoted(chat_finish_word(finish, x->functions)), "}],\"usage\":");
    chat_put_usage(out, &t->usage);
    buf_putc(out, '}');
}

void chat_write_answer(const turn *t, const write_ctx *x, daruma_buf *out)
{
    if (t->body.n && !answer_edited(t)) { /* with a finish reason that nobody knows, too */
        buf_put(out, t->body);
        return;
    }
    dialect_said s = {0};
    const said_message *m = &s.message;
    chat_read_whole(t->body, &s);
    if (!t->body.n || lacks_place(t, m)) {
        put_new(t, x, out);
        return;
    }
    hole holes[] = {{m->content, HOLE_CONTENT},
                    {m->thinking, HOLE_THINKING},
                    {m->refusal, HOLE_REFUSAL},
                    {json_is_array(m->tool_calls) ? m->tool_calls : (daruma_str){0}, HOLE_CALLS},
                    {json_is_object(m->function_call) ? m->function_call : (daruma_str){0}, HOLE_CALL},
                    {m->finish_at, HOLE_FINISH}};
    put_filled(out, t->body, holes, COUNT(holes), chat_fill, t);
}
