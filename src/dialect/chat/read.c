/* read.c - a request of OpenAI Chat Completions, and of the many who take the same, as a conversation and back:
 * https://platform.openai.com/docs/api-reference/chat/create. Beside it DeepSeek's `reasoning_content`, OpenRouter's
 * `reasoning` and `reasoning_details`, Google's `extra_content` and the older functions. */
#include "dialect/chat/chat.h"

/* ---- reading: messages ---- */

void chat_message_fields(daruma_str message, field f[M_N])
{
    static const field names[M_N] = {CHAT_MESSAGE_FIELDS(FIELD_KEY)};
    memcpy(f, names, sizeof names);
    fields_of(message, f, M_N);
}

static const struct {
    daruma_str name;
    convo_role role;
} roles[] = {
    {LIT("system"), CONVO_SYSTEM},       {LIT("developer"), CONVO_SYSTEM}, {LIT("user"), CONVO_USER},
    {LIT("assistant"), CONVO_ASSISTANT}, {LIT("tool"), CONVO_TOOL},        {LIT("function"), CONVO_TOOL},
};

static convo_role role_of(daruma_str role)
{
    for (size_t i = 0; i < COUNT(roles); i++)
        if (value_is(role, roles[i].name))
            return roles[i].role;
    return CONVO_USER;
}

static void chat_read_file(convo *c, convo_part *p, daruma_str file)
{
    field f[] = {FIELD("file_data"), FIELD("file_id"), FIELD("filename")};
    fields_of(file, FIELDS(f));
    p->kind = PART_MEDIA;
    p->remote = json_is_string(f[1].value) && f[1].value.n > 2;
    if (json_is_string(f[0].value))
        media_from_url(p, text_of(c, f[0].value));
    p->about = text_of(c, f[2].value);
    c->remote |= p->remote;
}

static void read_audio(convo *c, convo_part *p, daruma_str audio)
{
    field f[] = {FIELD("data"), FIELD("format")};
    fields_of(audio, FIELDS(f));
    p->kind = PART_MEDIA;
    p->media = text_of(c, f[0].value);
    p->media_type = value_is(f[1].value, S("mp3")) ? S("audio/mpeg") : S("audio/wav");
}

/* One element of a content array. */
static void read_piece(convo *c, convo_part *p)
{
    enum { TYPE, TEXT, IMAGE, AUDIO, FILE_, REFUSAL, THINKING };
    field f[] = {FIELD("type"), FIELD("text"),    FIELD("image_url"), FIELD("input_audio"),
                 FIELD("file"), FIELD("refusal"), FIELD("thinking")};
    if (json_is_string(p->raw)) {
        p->kind = PART_TEXT;
        p->value = p->raw;
        return;
    }
    fields_of(p->raw, FIELDS(f));
    daruma_str type = f[TYPE].value;
    if (value_is(type, S("text")) && json_is_string(f[TEXT].value)) {
        p->kind = PART_TEXT;
        p->value = f[TEXT].value;
    } else if (value_is(type, S("refusal")) && json_is_string(f[REFUSAL].value)) {
        p->kind = PART_TEXT;
        p->value = f[REFUSAL].value;
    } else if (value_is(type, S("image_url"))) {
        daruma_str url = json_is_object(f[IMAGE].value) ? json_get(f[IMAGE].value, S("url")) : f[IMAGE].value;
        p->kind = PART_MEDIA;
        media_from_url(p, text_of(c, url));
        if (!p->media_type.n && p->media_url)
            p->media_type = S("image/*"); /* nobody says which */
        if (json_is_object(f[IMAGE].value))
            p->about = text_of(c, json_get(f[IMAGE].value, S("detail")));
    } else if (value_is(type, S("input_audio"))) {
        read_audio(c, p, f[AUDIO].value);
    } else if (value_is(type, S("file"))) {
        chat_read_file(c, p, f[FILE_].value);
    } else if (value_is(type, S("thinking"))) { /* Mistral: a list of pieces */
        p->kind = PART_THINKING;
        p->value = f[THINKING].value;
    }
}

static void read_pieces(convo *c, convo_message *m, daruma_str list)
{
    daruma_str piece;
    for (json_iter it = quick_open(list); json_next(&it, NULL, &piece);) {
        convo_part *p = convo_add_part(c, m, PART_OTHER, piece);
        if (!p)
            return;
        read_piece(c, p);
    }
}

static void read_content(convo *c, convo_message *m, daruma_str content)
{
    if (null_or_none(content))
        return;
    if (json_is_array(content)) {
        read_pieces(c, m, content);
        return;
    }
    convo_part *p = convo_add_part(c, m, json_is_string(content) ? PART_TEXT : PART_OTHER, content);
    if (p)
        p->value = content;
}

/* A message with a result is that result. */
static void read_result(convo *c, convo_message *m, const field *f)
{
    daruma_str content = f[M_CONTENT].value, piece;
    convo_part *p = convo_add_part(c, m, PART_RESULT, m->raw);
    if (!p)
        return;
    p->id = text_of(c, f[M_ID].value);
    p->name = text_of(c, f[M_NAME].value);
    p->value = content;
    if (!json_is_array(content))
        return;
    for (json_iter it = quick_open(content); json_next(&it, NULL, &piece);) {
        convo_part *in = convo_add_inner(c, p, PART_OTHER, piece);
        if (!in)
            return;
        read_piece(c, in);
        p->remote |= in->remote;
    }
}

/* Google's signature of a call, as its own OpenAI endpoint sends it. */
static void read_seal(convo *c, convo_part *p, daruma_str extra)
{
    daruma_str seal = json_path(extra, "google.thought_signature");
    p->signature = text_of(c, seal);
    p->sealed = p->signature.n > 0;
}

static void chat_read_call(convo *c, convo_part *p)
{
    enum { ID, FUNCTION, CUSTOM, EXTRA };
    field f[] = {FIELD("id"), FIELD("function"), FIELD("custom"), FIELD("extra_content")};
    field in[] = {FIELD("name"), FIELD("arguments"), FIELD("input")};
    if (!json_is_object(p->raw))
        return;
    fields_of(p->raw, FIELDS(f));
    bool custom = json_is_object(f[CUSTOM].value);
    fields_of(custom ? f[CUSTOM].value : f[FUNCTION].value, FIELDS(in));
    p->kind = PART_CALL;
    p->id = text_of(c, f[ID].value);
    p->name = text_of(c, in[0].value);
    p->value = custom ? in[2].value : in[1].value;
    p->custom = custom;
    if (f[EXTRA].value.n)
        read_seal(c, p, f[EXTRA].value);
}

static void read_calls(convo *c, convo_message *m, const field *f)
{
    daruma_str calls = f[M_CALLS].value, legacy = f[M_FUNCTION_CALL].value, call;
    if (json_is_array(calls)) {
        for (json_iter it = quick_open(calls); json_next(&it, NULL, &call);) {
            convo_part *p = convo_add_part(c, m, PART_OTHER, call);
            if (!p)
                return;
            chat_read_call(c, p);
        }
    } else if (!null_or_none(calls)) {
        convo_add_part(c, m, PART_OTHER, calls);
    }
    if (null_or_none(legacy))
        return;
    convo_part *p = convo_add_part(c, m, json_is_object(legacy) ? PART_CALL : PART_OTHER, legacy);
    if (p && p->kind == PART_CALL) {
        p->name = text_of(c, json_get(legacy, S("name")));
        p->value = json_get(legacy, S("arguments"));
    }
}

static void read_thought(convo *c, convo_message *m, daruma_str value)
{
    if (null_or_none(value) || (json_is_string(value) && value.n == 2))
        return;
    convo_part *p = convo_add_part(c, m, PART_THINKING, value);
    if (!p)
        return;
    p->value = value;
    daruma_str piece; /* OpenRouter: each piece may be signed or encrypted by the provider behind it */
    for (json_iter it = json_is_array(value) ? quick_open(value) : (json_iter){0}; json_next(&it, NULL, &piece);) {
        field f[] = {FIELD("signature"), FIELD("data")};
        fields_of(piece, FIELDS(f));
        p->sealed |= value_given(f[0].value) || value_given(f[1].value);
    }
}

static void read_spoken(convo *c, convo_message *m, const field *f)
{
    read_thought(c, m, f[M_THOUGHT].value);
    read_thought(c, m, f[M_REASONING].value);
    read_thought(c, m, f[M_DETAILS].value);
    read_content(c, m, f[M_CONTENT].value);
    if (json_is_string(f[M_REFUSAL].value) && f[M_REFUSAL].value.n > 2) {
        convo_part *p = convo_add_part(c, m, PART_TEXT, f[M_REFUSAL].value);
        if (p)
            p->value = p->raw;
    }
    if (json_is_object(f[M_AUDIO].value)) { /* an answer that was spoken lives on the server by its id */
        convo_part *p = convo_add_part(c, m, PART_OTHER, f[M_AUDIO].value);
        if (p)
            p->remote = c->remote = true;
    }
    read_calls(c, m, f);
}

static void chat_read_message(convo *c, daruma_str raw)
{
    field f[M_N];
    chat_message_fields(raw, f);
    convo_message *m = convo_add_message(c, role_of(f[M_ROLE].value), raw);
    if (!m)
        return;
    convo_set_wire_role(c, m, text_of(c, f[M_ROLE].value));
    if (!json_is_object(raw))
        convo_add_part(c, m, PART_OTHER, raw);
    else if (m->role == CONVO_TOOL)
        read_result(c, m, f);
    else if (m->role == CONVO_ASSISTANT)
        read_spoken(c, m, f);
    else
        read_content(c, m, f[M_CONTENT].value);
    for (size_t i = 0; i < m->nparts; i++)
        c->remote |= m->parts[i].remote;
}

/* ---- reading: tools and settings ---- */

static void read_tool(convo *c, daruma_str raw, size_t i, size_t of, bool legacy)
{
    static const convo_schemas at[2][2] = {
        {{LIT("tools"), LIT("parameters")}, {LIT("tools"), LIT("function.parameters")}},
        {{LIT("functions"), LIT("parameters")}, {LIT("functions"), LIT("function.parameters")}}};
    enum { FUNCTION, CUSTOM, NAME, DESCRIPTION, PARAMETERS };
    field f[] = {FIELD("function"), FIELD("custom"), FIELD("name"), FIELD("description"), FIELD("parameters")};
    convo_tool *t = tool_add(c, raw, of);
    if (!t)
        return;
    fields_of(raw, FIELDS(f));
    bool inner = json_is_object(f[FUNCTION].value), custom = json_is_object(f[CUSTOM].value);
    if (inner || custom)
        fields_of(inner ? f[FUNCTION].value : f[CUSTOM].value, f + NAME, 3);
    t->name = text_of(c, f[NAME].value);
    t->description = text_of(c, f[DESCRIPTION].value);
    t->hosted = t->name.n == 0;
    if (!json_is_object(f[PARAMETERS].value))
        return;
    t->strict = json_is_true(json_get(inner ? f[FUNCTION].value : raw, S("strict")));
    t->schema = f[PARAMETERS].value;
    t->at = &at[legacy][inner];
    t->nth = (uint32_t)i;
}

static void read_tools(convo *c, daruma_str tools, daruma_str functions)
{
    size_t n = json_count(tools), more = json_count(functions), i = 0;
    daruma_str one;
    if (json_is_array(tools))
        for (json_iter it = quick_open(tools); json_next(&it, NULL, &one) && !c->full;)
            read_tool(c, one, i++, n + more, false);
    i = 0;
    if (json_is_array(functions))
        for (json_iter it = quick_open(functions); json_next(&it, NULL, &one) && !c->full;)
            read_tool(c, one, i++, n + more, true);
}

static void chat_read_choice(convo *c, daruma_str choice)
{
    daruma_str function = json_get(choice, S("function")), custom = json_get(choice, S("custom"));
    convo_settings *s = &c->set;
    if (value_is(choice, S("auto")))
        s->choice = CHOICE_AUTO;
    else if (value_is(choice, S("none")))
        s->choice = CHOICE_NONE;
    else if (value_is(choice, S("required")) || value_is(choice, S("any"))) /* Mistral says any */
        s->choice = CHOICE_ANY;
    else if (json_is_object(json_get(choice, S("allowed_tools")))) {
        s->choice = value_is(json_path(choice, "allowed_tools.mode"), S("required")) ? CHOICE_ANY : CHOICE_AUTO;
        s->allowed = json_path(choice, "allowed_tools.tools");
    } else if (json_is_object(choice))
        s->choice_name = text_of(c, json_get(json_is_object(function) ? function
                                             : json_is_object(custom) ? custom
                                                                      : choice,
                                             S("name")));
    if (s->choice_name.n)
        s->choice = CHOICE_ONE;
}

#define BODY_FIELDS(X)                                                                                                 \
    X(B_MESSAGES, "messages")                                                                                          \
    X(B_MODEL, "model")                                                                                                \
    X(B_STREAM, "stream")                                                                                              \
    X(B_MAX, "max_tokens")                                                                                             \
    X(B_MAX_NEW, "max_completion_tokens")                                                                              \
    X(B_TEMPERATURE, "temperature")                                                                                    \
    X(B_TOP_P, "top_p")                                                                                                \
    X(B_TOP_K, "top_k")                                                                                                \
    X(B_SEED, "seed")                                                                                                  \
    X(B_FREQUENCY, "frequency_penalty")                                                                                \
    X(B_PRESENCE, "presence_penalty")                                                                                  \
    X(B_STOP, "stop")                                                                                                  \
    X(B_TOOLS, "tools")                                                                                                \
    X(B_FUNCTIONS, "functions")                                                                                        \
    X(B_CHOICE, "tool_choice")                                                                                         \
    X(B_FUNCTION_CALL, "function_call")                                                                                \
    X(B_PARALLEL, "parallel_tool_calls")                                                                               \
    X(B_FORMAT, "response_format")                                                                                     \
    X(B_EFFORT, "reasoning_effort")                                                                                    \
    X(B_REASONING, "reasoning")                                                                                        \
    X(B_THINKING, "thinking")                                                                                          \
    X(B_ENABLE, "enable_thinking")                                                                                     \
    X(B_USER, "user")                                                                                                  \
    X(B_SAFETY, "safety_identifier")
enum { BODY_FIELDS(FIELD_SYMBOL) B_N };

/* Effort and thinking as OpenAI, OpenRouter ("reasoning"), DeepSeek and Z.ai ("thinking") and Qwen say it. */
static void read_thinking(convo *c, const field *f)
{
    enum { EFFORT, MAX, ENABLED };
    field r[] = {FIELD("effort"), FIELD("max_tokens"), FIELD("enabled")};
    convo_settings *s = &c->set;
    fields_of(f[B_REASONING].value, FIELDS(r));
    s->effort = text_of(c, json_is_string(f[B_EFFORT].value) ? f[B_EFFORT].value : r[EFFORT].value);
    s->thinking_budget = json_int(r[MAX].value, -1);
    s->thinking = tri_of(r[ENABLED].value);
    daruma_str type = json_get(f[B_THINKING].value, S("type"));
    if (json_is_string(type))
        s->thinking = !value_is(type, S("disabled"));
    if (tri_of(f[B_ENABLE].value) >= 0)
        s->thinking = tri_of(f[B_ENABLE].value);
    if (str_eq(s->effort, S("none")))
        s->thinking = 0;
    else if (s->thinking < 0 && (s->effort.n || s->thinking_budget > 0))
        s->thinking = 1;
}

static void read_settings(convo *c, const field *f)
{
    convo_settings *s = &c->set;
    bool older = json_is_number(f[B_MAX].value) && !json_is_number(f[B_MAX_NEW].value);
    s->model = text_of(c, f[B_MODEL].value);
    s->stream = tri_of(f[B_STREAM].value);
    s->max_output = json_int(older ? f[B_MAX].value : f[B_MAX_NEW].value, -1);
    s->max_output_path = older ? S("max_tokens") : S("max_completion_tokens");
    s->temperature = f[B_TEMPERATURE].value;
    s->top_p = f[B_TOP_P].value;
    s->top_k = f[B_TOP_K].value;
    s->seed = f[B_SEED].value;
    s->frequency_penalty = f[B_FREQUENCY].value;
    s->presence_penalty = f[B_PRESENCE].value;
    s->stop = f[B_STOP].value;
    settings_tidy(s);
    s->parallel = value_given(f[B_FUNCTIONS].value) && !value_given(f[B_TOOLS].value)
                      ? 0 /* the older spelling has one call at a time */
                      : tri_of(f[B_PARALLEL].value);
    s->user = text_of(c, json_is_string(f[B_USER].value) ? f[B_USER].value : f[B_SAFETY].value);
    chat_read_choice(c, f[B_CHOICE].value.n ? f[B_CHOICE].value : f[B_FUNCTION_CALL].value);
    format_read(c, f[B_FORMAT].value, json_get(f[B_FORMAT].value, S("json_schema")));
    read_thinking(c, f);
}

daruma_status chat_read(daruma_str body, daruma_arena *a, convo *ret)
{
    field f[B_N] = {BODY_FIELDS(FIELD_KEY)};
    size_t count = 0;
    daruma_status status = fields_of_request(body, f, B_N, B_MESSAGES, &count);
    if (status != DARUMA_OK)
        return status;
    if (!json_is_array(f[B_MESSAGES].value))
        return DARUMA_EINPUT;
    convo c = {.quirks = CHAT_QUIRKS, .body = body, .arena = a};
    daruma_str raw;
    convo_expect(&c, count);
    for (json_iter it = quick_open(f[B_MESSAGES].value); json_next(&it, NULL, &raw) && !c.full;)
        chat_read_message(&c, raw);
    read_tools(&c, f[B_TOOLS].value, f[B_FUNCTIONS].value);
    read_settings(&c, f);
    if (c.full)
        return DARUMA_EFULL;
    *ret = c;
    return DARUMA_OK;
}
