/* read.c - a Responses request as a conversation: https://platform.openai.com/docs/api-reference/responses.
 * The writer is in write.c.
 *
 *     instructions        the system prompt that stands apart
 *     input: "text"       one message of the user
 *     input: [items]      message | function_call | function_call_output | reasoning | calls of hosted tools | ...
 *
 * Each item is a message of its own; a call, a result or a piece of reasoning is its only part. */
#include "dialect/responses/responses.h"

/* Out of its members `type`, `role` and `id`. */
static responses_item_kind kind_of(daruma_str type, daruma_str role, daruma_str id)
{
    static const struct {
        daruma_str type;
        responses_item_kind kind;
    } rows[] = {
        {LIT("message"), ITEM_MESSAGE},
        {LIT("function_call"), ITEM_CALL},
        {LIT("custom_tool_call"), ITEM_CUSTOM_CALL},
        {LIT("function_call_output"), ITEM_RESULT},
        {LIT("custom_tool_call_output"), ITEM_CUSTOM_RESULT},
        {LIT("reasoning"), ITEM_REASONING},
        {LIT("item_reference"), ITEM_REFERENCE},
    };
    if (null_or_none(type)) /* the short form of a message, or of a reference */
        return role.n ? ITEM_MESSAGE : id.n ? ITEM_REFERENCE : ITEM_OTHER;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (value_is(type, rows[i].type))
            return rows[i].kind;
    return ITEM_OTHER;
}

responses_item_kind responses_item_of(daruma_str item)
{
    field f[] = {FIELD("type"), FIELD("role"), FIELD("id")};
    fields_of(item, FIELDS(f));
    return kind_of(f[0].value, f[1].value, f[2].value);
}

/* Tools of the provider's that run at the client: https://platform.openai.com/docs/guides/tools-shell,
 * .../tools-local-shell, .../tools-apply-patch. The result is called as the call, and "_output". */
static const struct {
    daruma_str type, name, given; /* given: the member that says what is to be done */
} shells[] = {
    {LIT("local_shell_call"), LIT("local_shell"), LIT("action")},
    {LIT("shell_call"), LIT("shell"), LIT("action")},
    {LIT("apply_patch_call"), LIT("apply_patch"), LIT("operation")},
};

static void read_shell(convo *c, convo_part *p)
{
    daruma_str type = value_raw(json_get(p->raw, S("type"))), call = type, text = {0};
    bool result = str_ends(type, S("_output"));
    call.n -= result ? sizeof "_output" - 1 : 0;
    for (size_t i = 0; i < COUNT(shells); i++) {
        if (!str_eq(call, shells[i].type))
            continue;
        daruma_str id = json_get(p->raw, S("call_id"));
        p->kind = result ? PART_RESULT : PART_CALL;
        p->id = json_text(id.n ? id : json_get(p->raw, S("id")), c->arena);
        p->name = result ? (daruma_str){0} : shells[i].name;
        p->failed = result && value_is(json_get(p->raw, S("status")), S("failed"));
        text = json_get(p->raw, result ? S("output") : shells[i].given);
        if (!text.n)
            text = json_get(p->raw, S("status")); /* a patch that was made has nothing else to say */
        p->text = json_is_string(text) ? json_text(text, c->arena) : text;
        p->ready = true;
        return;
    }
}

void responses_read_shells(convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++)
            if (c->messages[i].parts[k].kind == PART_OTHER)
                read_shell(c, &c->messages[i].parts[k]);
}

bool responses_in_namespace(daruma_str item)
{
    daruma_str space = json_get(item, S("namespace"));
    return json_is_string(space) && space.n > 2;
}

bool dialect_client_call(daruma_str item)
{
    daruma_str type = value_raw(json_get(item, S("type")));
    bool runs =
        str_eq(type, S("custom_tool_call")) || (str_eq(type, S("function_call")) && responses_in_namespace(item));
    for (size_t i = 0; i < COUNT(shells); i++)
        runs |= str_eq(type, shells[i].type);
    return runs;
}

/* ---- reading: content ---- */

static void read_image(convo *c, convo_part *p, daruma_str url, daruma_str file)
{
    p->kind = PART_MEDIA;
    if (json_is_string(url)) {
        media_from_url(p, text_of(c, url));
        if (p->media_url)
            p->media_type = S("image/*"); /* nobody says which */
    } else {
        p->media = text_of(c, file);
        p->remote = p->media_url = true;
    }
}

static void responses_read_file(convo *c, convo_part *p, daruma_str data, daruma_str url, daruma_str file)
{
    p->kind = PART_MEDIA;
    if (json_is_string(data)) {
        media_from_url(p, text_of(c, data));
        p->media_url = false; /* bare base64 is taken, too */
    } else {
        p->media = text_of(c, json_is_string(url) ? url : file);
        p->media_url = true;
        p->remote = !json_is_string(url);
    }
}

static void read_piece(convo *c, convo_part *p)
{
    enum { TYPE, TEXT, REFUSAL, IMAGE_URL, FILE_ID, FILE_DATA, FILE_URL, DETAIL, FILE_NAME };
    field f[] = {FIELD("type"),      FIELD("text"),     FIELD("refusal"), FIELD("image_url"), FIELD("file_id"),
                 FIELD("file_data"), FIELD("file_url"), FIELD("detail"),  FIELD("filename")};
    fields_of(p->raw, FIELDS(f));
    daruma_str type = value_raw(f[TYPE].value);
    if (json_is_string(f[TEXT].value) && (str_ends(type, S("_text")) || str_eq(type, S("text")))) {
        p->kind = PART_TEXT;
        p->value = f[TEXT].value;
    } else if (str_eq(type, S("refusal")) && json_is_string(f[REFUSAL].value)) {
        p->kind = PART_TEXT;
        p->value = f[REFUSAL].value;
    } else if (str_eq(type, S("input_image"))) {
        read_image(c, p, f[IMAGE_URL].value, f[FILE_ID].value);
        p->about = text_of(c, f[DETAIL].value);
    } else if (str_eq(type, S("input_file"))) {
        responses_read_file(c, p, f[FILE_DATA].value, f[FILE_URL].value, f[FILE_ID].value);
        p->about = text_of(c, f[FILE_NAME].value);
    }
    c->remote |= p->remote;
}

static void read_content(convo *c, convo_message *m, daruma_str content)
{
    daruma_str piece;
    if (json_is_string(content)) {
        convo_part *p = convo_add_part(c, m, PART_TEXT, content);
        if (p)
            p->value = content;
    } else if (json_is_array(content)) {
        for (json_iter it = quick_open(content); json_next(&it, NULL, &piece) && !c->full;) {
            convo_part *p = convo_add_part(c, m, PART_OTHER, piece);
            if (p)
                read_piece(c, p);
        }
    }
}

/* ---- reading: items ---- */

#define ITEM_FIELDS(X)                                                                                                 \
    X(K_TYPE, "type")                                                                                                  \
    X(K_ROLE, "role")                                                                                                  \
    X(K_CONTENT, "content")                                                                                            \
    X(K_CALL_ID, "call_id")                                                                                            \
    X(K_NAME, "name")                                                                                                  \
    X(K_ARGUMENTS, "arguments")                                                                                        \
    X(K_INPUT, "input")                                                                                                \
    X(K_OUTPUT, "output")                                                                                              \
    X(K_ID, "id")                                                                                                      \
    X(K_SUMMARY, "summary")                                                                                            \
    X(K_ENCRYPTED, "encrypted_content")
enum { ITEM_FIELDS(FIELD_SYMBOL) K_N };

static convo_role role_of(daruma_str role)
{
    if (value_is(role, S("assistant")))
        return CONVO_ASSISTANT;
    if (value_is(role, S("system")) || value_is(role, S("developer")))
        return CONVO_SYSTEM;
    return CONVO_USER;
}

/* Whose item it is that is no message. */
static convo_role side_of(daruma_str item, const field *f)
{
    daruma_str type = value_raw(f[K_TYPE].value);
    if (str_ends(type, S("_output")))
        return CONVO_TOOL;
    return str_eq(type, S("mcp_approval_response")) || !json_is_object(item) ? CONVO_USER : CONVO_ASSISTANT;
}

static void responses_read_call(convo *c, convo_part *p, const field *f, bool custom)
{
    p->kind = PART_CALL;
    p->id = text_of(c, f[K_CALL_ID].value);
    p->name = text_of(c, f[K_NAME].value);
    p->value = f[custom ? K_INPUT : K_ARGUMENTS].value;
    p->custom = custom;
}

static void read_result(convo *c, convo_part *p, const field *f)
{
    daruma_str piece;
    p->kind = PART_RESULT;
    p->id = text_of(c, f[K_CALL_ID].value);
    p->value = f[K_OUTPUT].value;
    if (!json_is_array(p->value))
        return;
    for (json_iter it = quick_open(p->value); json_next(&it, NULL, &piece) && !c->full;) {
        convo_part *in = convo_add_inner(c, p, PART_OTHER, piece);
        if (!in)
            return;
        read_piece(c, in);
        p->remote |= in->remote;
    }
}

/* Reasoning that is not here, encrypted, is looked up on the server by its id, unless nothing is stored there. */
static void read_reasoning(convo *c, convo_part *p, const field *f, bool stored)
{
    p->kind = PART_THINKING;
    p->value = value_given(f[K_CONTENT].value) ? f[K_CONTENT].value : f[K_SUMMARY].value;
    p->signature = text_of(c, f[K_ENCRYPTED].value);
    p->remote = stored && !p->signature.n && value_given(f[K_ID].value);
    p->sealed = p->remote || p->signature.n;
    c->remote |= p->remote;
}

static void read_item(convo *c, daruma_str raw, bool stored)
{
    field f[K_N] = {ITEM_FIELDS(FIELD_KEY)};
    fields_of(raw, f, K_N);
    daruma_str role = f[K_ROLE].value;
    responses_item_kind kind = kind_of(f[K_TYPE].value, role, f[K_ID].value);
    convo_message *m = convo_add_message(c, kind == ITEM_MESSAGE ? role_of(role) : side_of(raw, f), raw);
    if (!m)
        return;
    if (kind == ITEM_MESSAGE) {
        convo_set_wire_role(c, m, value_raw(role));
        read_content(c, m, f[K_CONTENT].value);
        return;
    }
    convo_part *p = convo_add_part(c, m, PART_OTHER, raw);
    if (!p)
        return;
    switch (kind) {
    case ITEM_CALL:
    case ITEM_CUSTOM_CALL:
        responses_read_call(c, p, f, kind == ITEM_CUSTOM_CALL);
        break;
    case ITEM_RESULT:
    case ITEM_CUSTOM_RESULT:
        read_result(c, p, f);
        break;
    case ITEM_REASONING:
        read_reasoning(c, p, f, stored);
        break;
    case ITEM_REFERENCE: /* it may be the call of a result that is here */
        p->remote = c->remote = true;
        break;
    case ITEM_MESSAGE:
    case ITEM_OTHER:
        break;
    }
}

static void read_input(convo *c, daruma_str input, bool stored)
{
    daruma_str item;
    if (json_is_string(input)) {
        convo_message *m = convo_add_message(c, CONVO_USER, input);
        if (m)
            read_content(c, m, input);
        return;
    }
    if (json_is_array(input))
        for (json_iter it = quick_open(input); json_next(&it, NULL, &item) && !c->full;)
            read_item(c, item, stored);
}

static void read_instructions(convo *c, daruma_str value)
{
    if (null_or_none(value))
        return;
    convo_message *m = convo_add_message(c, CONVO_SYSTEM, value);
    if (!m)
        return;
    m->apart = true;
    convo_part *p = convo_add_part(c, m, json_is_string(value) ? PART_TEXT : PART_OTHER, value);
    if (p)
        p->value = value;
}

/* ---- reading: tools and settings ---- */

static void read_tool(convo *c, daruma_str raw, size_t i, size_t of)
{
    static const convo_schemas at = {LIT("tools"), LIT("parameters")};
    enum { TYPE, NAME, DESCRIPTION, PARAMETERS, STORES, CONTAINER };
    field f[] = {FIELD("type"),     FIELD("name"), FIELD("description"), FIELD("parameters"), FIELD("vector_store_ids"),
                 FIELD("container")};
    convo_tool *t = tool_add(c, raw, of);
    if (!t)
        return;
    fields_of(raw, FIELDS(f));
    bool function = value_is(f[TYPE].value, S("function"));
    t->hosted = !function && !value_is(f[TYPE].value, S("custom"));
    c->more_tools |= value_is(f[TYPE].value, S("namespace")) || value_is(f[TYPE].value, S("tool_search"));
    if (t->hosted) {
        c->remote |= value_given(f[STORES].value) || (json_is_string(f[CONTAINER].value) && f[CONTAINER].value.n > 2);
        return;
    }
    t->name = text_of(c, f[NAME].value);
    t->description = text_of(c, f[DESCRIPTION].value);
    if (!function || !json_is_object(f[PARAMETERS].value))
        return;
    t->strict = json_is_true(json_get(raw, S("strict")));
    t->schema = f[PARAMETERS].value;
    t->at = &at;
    t->nth = (uint32_t)i;
}

static void responses_read_choice(convo *c, daruma_str choice)
{
    convo_settings *s = &c->set;
    daruma_str type = json_get(choice, S("type"));
    if (value_is(choice, S("auto")))
        s->choice = CHOICE_AUTO;
    else if (value_is(choice, S("none")))
        s->choice = CHOICE_NONE;
    else if (value_is(choice, S("required")))
        s->choice = CHOICE_ANY;
    else if (value_is(type, S("allowed_tools"))) {
        s->choice = value_is(json_get(choice, S("mode")), S("required")) ? CHOICE_ANY : CHOICE_AUTO;
        s->allowed = json_get(choice, S("tools"));
    } else if (value_is(type, S("function")) || value_is(type, S("custom")))
        s->choice_name = text_of(c, json_get(choice, S("name")));
    if (s->choice_name.n)
        s->choice = CHOICE_ONE;
}

#define BODY_FIELDS(X)                                                                                                 \
    X(B_INPUT, "input")                                                                                                \
    X(B_INSTRUCTIONS, "instructions")                                                                                  \
    X(B_PREVIOUS, "previous_response_id")                                                                              \
    X(B_CONVERSATION, "conversation")                                                                                  \
    X(B_PROMPT, "prompt")                                                                                              \
    X(B_MODEL, "model")                                                                                                \
    X(B_STREAM, "stream")                                                                                              \
    X(B_MAX, "max_output_tokens")                                                                                      \
    X(B_TEMPERATURE, "temperature")                                                                                    \
    X(B_TOP_P, "top_p")                                                                                                \
    X(B_TOOLS, "tools")                                                                                                \
    X(B_CHOICE, "tool_choice")                                                                                         \
    X(B_PARALLEL, "parallel_tool_calls")                                                                               \
    X(B_TEXT, "text")                                                                                                  \
    X(B_REASONING, "reasoning")                                                                                        \
    X(B_USER, "user")                                                                                                  \
    X(B_SAFETY, "safety_identifier")                                                                                   \
    X(B_STORE, "store")
enum { BODY_FIELDS(FIELD_SYMBOL) B_N };

static void read_settings(convo *c, const field *f)
{
    convo_settings *s = &c->set;
    s->model = text_of(c, f[B_MODEL].value);
    s->stream = tri_of(f[B_STREAM].value);
    int64_t cap = json_int(f[B_MAX].value, -1);
    s->max_output = cap < 0 ? -1 : cap;
    s->max_output_path = S("max_output_tokens");
    s->temperature = f[B_TEMPERATURE].value;
    s->top_p = f[B_TOP_P].value;
    settings_tidy(s);
    s->parallel = tri_of(f[B_PARALLEL].value);
    s->user = text_of(c, json_is_string(f[B_USER].value) ? f[B_USER].value : f[B_SAFETY].value);
    s->effort = text_of(c, json_get(f[B_REASONING].value, S("effort")));
    s->thinking = str_eq(s->effort, S("none")) ? 0 : s->effort.n ? 1 : -1;
    s->thinking_budget = -1;
    responses_read_choice(c, f[B_CHOICE].value);
    daruma_str format = json_get(f[B_TEXT].value, S("format"));
    format_read(c, format, format);
}

/* What of the conversation is on the server. */
static void read_state(convo *c, const field *f)
{
    daruma_str talk = f[B_CONVERSATION].value;
    bool known = value_given(f[B_PREVIOUS].value) ||
                 (json_is_object(talk) ? value_given(json_get(talk, S("id"))) : value_given(talk));
    c->before |= known;
    c->remote |= known || value_given(json_get(f[B_PROMPT].value, S("id")));
}

daruma_status responses_read(daruma_str body, daruma_arena *a, convo *ret)
{
    field f[B_N] = {BODY_FIELDS(FIELD_KEY)};
    size_t count = 0;
    daruma_status status = fields_of_request(body, f, B_N, B_INPUT, &count);
    if (status != DARUMA_OK)
        return status;
    convo c = {.quirks = RESPONSES_QUIRKS, .body = body, .arena = a};
    daruma_str input = f[B_INPUT].value;
    read_state(&c, f);
    if (!json_is_string(input) && !json_is_array(input) && !(null_or_none(input) && c.remote))
        return DARUMA_EINPUT;
    convo_expect(&c, count);
    read_instructions(&c, f[B_INSTRUCTIONS].value);
    read_input(&c, input, tri_of(f[B_STORE].value) != 0);
    read_each(&c, f[B_TOOLS].value, read_tool);
    read_settings(&c, f);
    if (c.full)
        return DARUMA_EFULL;
    *ret = c;
    return DARUMA_OK;
}
