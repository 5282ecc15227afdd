/* read.c - a request of Anthropic Messages as a conversation:
 * https://docs.claude.com/en/api/messages. The writer is write.c. */
#include "dialect/kit/convo_kit.h"
#include "dialect/kit/shapes.h"

/* ---- blocks ---- */

#define BLOCK_FIELDS(X)                                                                                                \
    X(K_TYPE, "type")                                                                                                  \
    X(K_TEXT, "text")                                                                                                  \
    X(K_SOURCE, "source")                                                                                              \
    X(K_ID, "id")                                                                                                      \
    X(K_NAME, "name")                                                                                                  \
    X(K_INPUT, "input")                                                                                                \
    X(K_FOR, "tool_use_id")                                                                                            \
    X(K_CONTENT, "content")                                                                                            \
    X(K_ERROR, "is_error")                                                                                             \
    X(K_THINKING, "thinking")                                                                                          \
    X(K_SIGNATURE, "signature")                                                                                        \
    X(K_DATA, "data")                                                                                                  \
    X(K_FILE, "file_id")
enum { BLOCK_FIELDS(FIELD_SYMBOL) K_N };

static void read_text(convo *c, convo_part *p, const field *f)
{
    (void)c;
    if (!json_is_string(f[K_TEXT].value))
        return;
    p->kind = PART_TEXT;
    p->value = f[K_TEXT].value;
}

/* An image or document by what its source is. One that is plain text is text. */
static void read_source(convo *c, convo_part *p, const field *f)
{
    enum { TYPE, MEDIA, DATA, URL, FILE_, CONTENT };
    field s[] = {FIELD("type"), FIELD("media_type"), FIELD("data"), FIELD("url"), FIELD("file_id"), FIELD("content")};
    fields_of(f[K_SOURCE].value, FIELDS(s));
    daruma_str type = s[TYPE].value;
    bool image = value_is(f[K_TYPE].value, S("image"));
    daruma_str title = image ? (daruma_str){0} : json_get(p->raw, S("title"));
    if (value_is(type, S("text")) || (value_is(type, S("content")) && json_is_string(s[CONTENT].value))) {
        p->kind = PART_TEXT;
        p->value = s[DATA].value.n ? s[DATA].value : s[CONTENT].value;
    } else if (value_is(type, S("base64"))) {
        p->kind = PART_MEDIA;
        p->media_type = text_of(c, s[MEDIA].value);
        p->media = text_of(c, s[DATA].value);
        p->about = text_of(c, title);
    } else if (value_is(type, S("url"))) {
        p->kind = PART_MEDIA;
        p->media_type = image ? S("image/*") : S("application/pdf");
        p->media = text_of(c, s[URL].value);
        p->media_url = true;
        p->about = text_of(c, title);
    } else if (value_is(type, S("file"))) {
        p->kind = PART_MEDIA;
        p->media_type = image ? S("image/*") : S("application/pdf");
        p->remote = true;
    }
}

static void anthropic_read_call(convo *c, convo_part *p, const field *f)
{
    p->kind = PART_CALL;
    p->id = text_of(c, f[K_ID].value);
    p->name = text_of(c, f[K_NAME].value);
    p->value = f[K_INPUT].value;
}

static void read_thinking(convo *c, convo_part *p, const field *f)
{
    p->kind = PART_THINKING;
    p->value = f[K_THINKING].value;
    p->signature = text_of(c, f[K_SIGNATURE].value);
    p->sealed = p->signature.n > 0;
}

/* The provider's own eyes only. */
static void read_redacted(convo *c, convo_part *p, const field *f)
{
    p->kind = PART_THINKING;
    p->signature = text_of(c, f[K_DATA].value);
    p->sealed = true;
}

/* A text on lines of its own behind what `b` has. */
static void put_on_lines(daruma_buf *b, daruma_str value, daruma_arena *a)
{
    daruma_str text = json_text(value, a);
    if (text.n && b->n)
        buf_putc(b, '\n');
    buf_put(b, text);
}

daruma_str anthropic_words(daruma_str block, bool *all, daruma_arena *a)
{
    static const daruma_str heads[] = {LIT("title"), LIT("source"), LIT("context")};
    daruma_str type = json_get(block, S("type")), source = json_get(block, S("source"));
    bool found = value_is(type, S("search_result"));
    bool made = value_is(type, S("document")) && value_is(json_get(source, S("type")), S("content"));
    daruma_str content = json_get(found ? block : source, S("content")), one;
    daruma_buf b = buf_in(a);
    *all = found || made;
    if (!*all)
        return (daruma_str){0};
    for (size_t i = 0; i < COUNT(heads); i++)
        if (json_is_string(json_get(block, heads[i])))
            put_on_lines(&b, json_get(block, heads[i]), a);
    if (json_is_string(content))
        put_on_lines(&b, content, a);
    for (json_iter it = json_open(content); json_next(&it, NULL, &one);) {
        *all &= json_is_string(json_get(one, S("text")));
        put_on_lines(&b, json_get(one, S("text")), a);
    }
    return b.full ? (daruma_str){0} : buf_str(&b);
}

static void read_upload(convo *c, convo_part *p, const field *f)
{
    (void)c;
    p->remote = value_given(f[K_FILE].value);
}

/* What its content is made of was read on the way. */
static void read_result(convo *c, convo_part *p, const field *f)
{
    p->kind = PART_RESULT;
    p->id = text_of(c, f[K_FOR].value);
    p->value = f[K_CONTENT].value;
    p->failed = json_is_true(f[K_ERROR].value);
    for (size_t i = 0; i < p->nparts; i++)
        p->remote |= p->parts[i].remote;
}

// clang-format off
static const struct { daruma_str type; void (*read)(convo *c, convo_part *p, const field *f); } blocks[] = {
    {LIT("text"),              read_text},
    {LIT("tool_use"),          anthropic_read_call},
    {LIT("tool_result"),       read_result},
    {LIT("image"),             read_source},
    {LIT("document"),          read_source},
    {LIT("thinking"),          read_thinking},
    {LIT("redacted_thinking"), read_redacted},
    {LIT("container_upload"),  read_upload},
};
// clang-format on

/* What a block is, when its members are known. Results hold no results. */
static void settle(convo *c, convo_part *p, const field *f, bool inner)
{
    daruma_str type = f[K_TYPE].value;
    if (inner || !value_is(type, S("tool_result"))) { /* what it is made of stands in its place */
        p->signature = (daruma_str){0};
        p->nparts = 0;
    }
    for (size_t i = 0; i < COUNT(blocks); i++)
        if (value_is(type, blocks[i].type) && !(inner && blocks[i].read == read_result))
            blocks[i].read(c, p, f);
    /* What the provider's own tools made names files in its container: code_execution_tool_result and its like. */
    if (str_ends(value_raw(type), S("code_execution_tool_result")))
        p->remote = str_find(p->raw, S("\"file_id\"")) != STR_NONE;
}

/* Blocks are read while they are passed, each byte once: histories are long, and most of them lies three lists deep. */
static void pass_block(convo *c, convo_part *p, json_iter *it, bool inner)
{
    field f[K_N] = {BLOCK_FIELDS(FIELD_KEY)};
    daruma_str key, value;
    if (*it->p != '{') {
        json_pass(it, &p->raw);
        p->kind = json_is_string(p->raw) ? PART_TEXT : PART_OTHER; /* nobody documents strings, but they speak */
        p->value = p->raw;
        return;
    }
    json_iter block = json_enter(it);
    while (json_step(&block, &key)) {
        if (inner || *block.p != '[' || !key_is(key, S("content"))) {
            json_pass(&block, &value);
        } else {
            json_iter list = json_enter(&block);
            p->nparts = 0; /* of members that stand twice the last counts */
            while (json_step(&list, NULL)) {
                convo_part *in = convo_add_inner(c, p, PART_OTHER, (daruma_str){0});
                if (in) {
                    pass_block(c, in, &list, true);
                    in->ready = false;
                } else {
                    json_pass(&list, NULL);
                }
            }
            json_leave(&block, &list, &value);
        }
        field_take(f, K_N, key, value);
    }
    json_leave(it, &block, &p->raw);
    settle(c, p, f, inner);
}

/* ---- messages ---- */

static void pass_content(convo *c, convo_message *m, json_iter *it, daruma_str *content)
{
    convo_part *p;
    m->nparts = 0;
    if (*it->p == '[') {
        json_iter list = json_enter(it);
        while (json_step(&list, NULL))
            if ((p = convo_add_part(c, m, PART_OTHER, (daruma_str){0}))) {
                pass_block(c, p, &list, false);
                p->ready = false;
            } else {
                json_pass(&list, NULL);
            }
        json_leave(it, &list, content);
    } else if (json_pass(it, content) && !json_is_null(*content) &&
               (p = convo_add_part(c, m, json_is_string(*content) ? PART_TEXT : PART_OTHER, *content))) {
        p->value = *content;
    }
}

static void anthropic_read_message(convo *c, daruma_str raw)
{
    daruma_str key, value, role = {0};
    convo_message *m = convo_add_message(c, CONVO_USER, raw);
    if (!m)
        return;
    if (!json_is_object(raw)) {
        convo_add_part(c, m, PART_OTHER, raw);
        return;
    }
    for (json_iter it = quick_open(raw); json_step(&it, &key);)
        if (key_is(key, S("content")))
            pass_content(c, m, &it, &value);
        else if (json_pass(&it, &value) && key_is(key, S("role")))
            role = value;
    m->role = value_is(role, S("assistant")) ? CONVO_ASSISTANT
              : value_is(role, S("system"))  ? CONVO_SYSTEM
                                             : CONVO_USER;
    convo_set_wire_role(c, m, text_of(c, role));
    for (size_t i = 0; i < m->nparts; i++)
        c->remote |= m->parts[i].remote;
}

static void read_system(convo *c, daruma_str system)
{
    convo_message *m = null_or_none(system) ? NULL : convo_add_message(c, CONVO_SYSTEM, system);
    if (!m)
        return;
    m->apart = true;
    json_iter it = {.p = system.p, .end = system.p + system.n, .close = ']', .quick = true}; /* stands at it */
    pass_content(c, m, &it, &system);
}

/* ---- tools and settings ---- */

/* Typed tools run at the provider, but for the few whose work the client does. */
static bool is_hosted(daruma_str type)
{
    static const char *const local[] = {"custom", "bash_", "text_editor_", "computer_", "memory_"};
    daruma_str name = value_raw(type);
    for (size_t i = 0; i < COUNT(local); i++)
        if (str_starts(name, str_of(local[i])))
            return false;
    return name.n > 0;
}

static void read_tool(convo *c, daruma_str raw, size_t i, size_t of)
{
    static const convo_schemas at = {LIT("tools"), LIT("input_schema")};
    enum { TYPE, NAME, DESCRIPTION, SCHEMA };
    field f[] = {FIELD("type"), FIELD("name"), FIELD("description"), FIELD("input_schema")};
    convo_tool *t = tool_add(c, raw, of);
    if (!t)
        return;
    fields_of(raw, FIELDS(f));
    t->hosted = is_hosted(f[TYPE].value) || !json_is_string(f[NAME].value);
    if (!t->hosted)
        t->name = text_of(c, f[NAME].value);
    t->description = text_of(c, f[DESCRIPTION].value);
    if (!json_is_object(f[SCHEMA].value))
        return;
    t->schema = f[SCHEMA].value;
    t->at = &at;
    t->nth = (uint32_t)i;
}

#define BODY_FIELDS(X)                                                                                                 \
    X(B_MESSAGES, "messages")                                                                                          \
    X(B_SYSTEM, "system")                                                                                              \
    X(B_MODEL, "model")                                                                                                \
    X(B_STREAM, "stream")                                                                                              \
    X(B_MAX, "max_tokens")                                                                                             \
    X(B_TEMPERATURE, "temperature")                                                                                    \
    X(B_TOP_P, "top_p")                                                                                                \
    X(B_TOP_K, "top_k")                                                                                                \
    X(B_STOP, "stop_sequences")                                                                                        \
    X(B_TOOLS, "tools")                                                                                                \
    X(B_CHOICE, "tool_choice")                                                                                         \
    X(B_THINKING, "thinking")                                                                                          \
    X(B_OUTPUT, "output_config")                                                                                       \
    X(B_FORMAT, "output_format")                                                                                       \
    X(B_METADATA, "metadata")                                                                                          \
    X(B_CONTAINER, "container")                                                                                        \
    X(B_THREAD, "thread")
enum { BODY_FIELDS(FIELD_SYMBOL) B_N };

static void anthropic_read_choice(convo *c, daruma_str choice)
{
    field f[] = {FIELD("type"), FIELD("name"), FIELD("disable_parallel_tool_use")};
    static const struct {
        daruma_str type;
        convo_choice choice;
    } types[] = {
        {LIT("auto"), CHOICE_AUTO}, {LIT("any"), CHOICE_ANY}, {LIT("none"), CHOICE_NONE}, {LIT("tool"), CHOICE_ONE}};
    fields_of(choice, FIELDS(f));
    for (size_t i = 0; i < COUNT(types); i++)
        if (value_is(f[0].value, types[i].type))
            c->set.choice = types[i].choice;
    if (c->set.choice == CHOICE_ONE)
        c->set.choice_name = text_of(c, f[1].value);
    if (tri_of(f[2].value) >= 0)
        c->set.parallel = !tri_of(f[2].value);
}

/* output_config, and the older output_format beside it. */
static void read_output(convo *c, daruma_str config, daruma_str older)
{
    field f[] = {FIELD("effort"), FIELD("format")};
    fields_of(config, FIELDS(f));
    c->set.effort = text_of(c, f[0].value);
    daruma_str format = json_is_object(f[1].value) ? f[1].value : older;
    if (!value_is(json_get(format, S("type")), S("json_schema")))
        return;
    c->set.format = FORMAT_SCHEMA;
    c->set.format_schema = json_get(format, S("schema"));
}

static void read_settings(convo *c, const field *f)
{
    convo_settings *s = &c->set;
    field thinking[] = {FIELD("type"), FIELD("budget_tokens")};
    s->model = text_of(c, f[B_MODEL].value);
    s->stream = tri_of(f[B_STREAM].value);
    s->max_output = json_int(f[B_MAX].value, -1);
    s->max_output_path = S("max_tokens");
    s->temperature = f[B_TEMPERATURE].value;
    s->top_p = f[B_TOP_P].value;
    s->top_k = f[B_TOP_K].value;
    s->stop = f[B_STOP].value;
    s->parallel = -1;
    fields_of(f[B_THINKING].value, FIELDS(thinking));
    s->thinking = json_is_string(thinking[0].value) ? !value_is(thinking[0].value, S("disabled")) : -1;
    s->thinking_budget = json_int(thinking[1].value, -1);
    s->user = text_of(c, json_get(f[B_METADATA].value, S("user_id")));
    anthropic_read_choice(c, f[B_CHOICE].value);
    read_output(c, f[B_OUTPUT].value, f[B_FORMAT].value);
    c->remote |= json_is_string(f[B_CONTAINER].value) ? value_given(f[B_CONTAINER].value)
                                                      : value_given(json_get(f[B_CONTAINER].value, S("id")));
    c->before = value_given(json_get(f[B_THREAD].value, S("previous_message_id")));
    c->remote |= c->before;
}

daruma_status anthropic_read(daruma_str body, daruma_arena *a, convo *ret)
{
    field f[B_N] = {BODY_FIELDS(FIELD_KEY)};
    size_t count = 0;
    daruma_status status = fields_of_request(body, f, B_N, B_MESSAGES, &count);
    if (status != DARUMA_OK)
        return status;
    if (!json_is_array(f[B_MESSAGES].value))
        return DARUMA_EINPUT;
    convo c = {.quirks = ANTHROPIC_QUIRKS, .body = body, .arena = a};
    daruma_str raw;
    convo_expect(&c, count);
    read_system(&c, f[B_SYSTEM].value);
    for (json_iter it = quick_open(f[B_MESSAGES].value); json_next(&it, NULL, &raw) && !c.full;)
        anthropic_read_message(&c, raw);
    read_each(&c, f[B_TOOLS].value, read_tool);
    read_settings(&c, f);
    settings_tidy(&c.set);
    if (c.full)
        return DARUMA_EFULL;
    *ret = c;
    return DARUMA_OK;
}
