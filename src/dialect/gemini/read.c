/* read.c - a generateContent request as a conversation, and back: https://ai.google.dev/api/generate-content.
 *
 *     contents[]   role user (also results of tools), model, function; parts[]
 *     parts[]      text | thought text | functionCall | functionResponse | inlineData | fileData | others
 *
 * Calls and results are paired by their order and names; newer models also give ids. Names come in camelCase or in
 * snake_case, and what is one of many may stand without its array. Model and stream are in the path. */
#include "dialect/gemini/gemini.h"
#include "base/arena.h"

/* ---- members in both spellings ---- */

gemini_member gemini_named(daruma_str object, daruma_str camel)
{
    gemini_member found = {0};
    daruma_str key, value;
    if (!json_is_object(object))
        return found;
    for (json_iter it = quick_open(object); json_next(&it, &key, &value);)
        if (key_camel(key, camel))
            found = json_is_null(value) ? (gemini_member){0} : (gemini_member){key, value};
    return found;
}

daruma_str gemini_get(daruma_str object, daruma_str camel)
{
    return gemini_named(object, camel).value;
}

/* Walks a list, or what stands in the place of a list of one. `alone` when there is no list. */
typedef struct many {
    json_iter it;
    daruma_str one;
    bool alone;
} many;

static many many_open(daruma_str value)
{
    if (json_is_array(value))
        return (many){.it = quick_open(value)};
    return (many){.one = json_is_object(value) ? value : (daruma_str){0}, .alone = true};
}

static bool many_next(many *m, daruma_str *value)
{
    if (!m->alone)
        return json_next(&m->it, NULL, value);
    *value = m->one;
    m->one = (daruma_str){0};
    return value->n > 0;
}

static size_t many_count(daruma_str value)
{
    size_t n = 0;
    daruma_str one;
    for (many m = many_open(value); many_next(&m, &one);)
        n++;
    return n;
}

/* ---- reading: parts ---- */

bool gemini_is_uploaded(daruma_str uri)
{
    bool web = str_istarts(uri, S("http://")) || str_istarts(uri, S("https://"));
    return uri.n && (!web || str_find(uri, S("generativelanguage.googleapis.com")) != STR_NONE);
}

static void read_inline(convo *c, convo_part *p, daruma_str data)
{
    p->kind = PART_MEDIA;
    p->media_type = text_of(c, gemini_get(data, S("mimeType")));
    p->media = text_of(c, gemini_get(data, S("data")));
}

static void gemini_read_file(convo *c, convo_part *p, daruma_str data)
{
    p->kind = PART_MEDIA;
    p->media_type = text_of(c, gemini_get(data, S("mimeType")));
    p->media = text_of(c, gemini_get(data, S("fileUri")));
    p->media_url = true;
    p->remote = gemini_is_uploaded(p->media);
    c->remote |= p->remote;
}

/* Passes the value at the iterator, and hands over each element of the list that it is, or itself when it is one object
 * without its list: what is long is read while it is passed, each byte once. */
typedef void pass_one(convo *c, void *in, json_iter *it);
static bool pass_many(convo *c, json_iter *it, pass_one *one, void *in, daruma_str *value)
{
    if (*it->p == '[') {
        json_iter list = json_enter(it);
        while (json_step(&list, NULL))
            one(c, in, &list);
        return json_leave(it, &list, value);
    }
    if (*it->p != '{')
        return json_pass(it, value);
    const char *from = it->p;
    one(c, in, it);
    *value = (daruma_str){from, (size_t)(it->p - from)};
    return true;
}

static void gemini_read_call(convo *c, convo_part *p, json_iter *it, daruma_str *call)
{
    daruma_str key, value, args = {0}, id = {0}, name = {0};
    json_iter in = json_enter(it);
    while (json_next(&in, &key, &value))
        if (key_camel(key, S("args")))
            args = value;
        else if (key_camel(key, S("id")))
            id = value;
        else if (key_camel(key, S("name")))
            name = value;
    json_leave(it, &in, call);
    p->kind = PART_CALL;
    p->id = text_of(c, id);
    p->name = text_of(c, name);
    p->value = null_or_none(args) ? S("{}") : args;
}

/* The text that a response is: of an object the string that is all of it or nearly all, else the whole. */
static void read_text(convo_part *p, json_iter *it, daruma_str *response)
{
    daruma_str key, value, largest = {0};
    size_t n = 0;
    p->failed = false;
    if (*it->p != '{') {
        json_pass(it, response);
        p->value = json_is_null(*response) ? (daruma_str){0} : *response;
        return;
    }
    json_iter in = json_enter(it);
    for (; json_next(&in, &key, &value); n++) {
        p->failed |= key_is(key, S("error"));
        if (json_is_string(value) && value.n > largest.n)
            largest = value;
    }
    json_leave(it, &in, response);
    p->value = largest.n && (n == 1 || largest.n / 3 >= response->n / 4) ? largest : *response;
}

/* Media that a tool gave stands beside its response: then both are the parts of the result. */
static void read_response(convo *c, convo_part *p, json_iter *it, daruma_str *result)
{
    daruma_str key, value, list = {0}, id = {0}, name = {0}, one;
    json_iter in = json_enter(it);
    p->kind = PART_RESULT;
    p->value = (daruma_str){0};
    p->failed = false;
    while (json_step(&in, &key)) {
        if (key_camel(key, S("response"))) {
            read_text(p, &in, &value);
            continue;
        }
        json_pass(&in, &value);
        if (key_camel(key, S("parts")))
            list = value;
        else if (key_camel(key, S("id")))
            id = value;
        else if (key_camel(key, S("name")))
            name = value;
    }
    json_leave(it, &in, result);
    p->id = text_of(c, id);
    p->name = text_of(c, name);
    if (!many_count(list))
        return;
    convo_part *text = convo_add_inner(c, p, PART_TEXT, p->value);
    if (text)
        text->value = p->value;
    for (many m = many_open(list); many_next(&m, &one);) {
        daruma_str data = gemini_get(one, S("inlineData")), file = gemini_get(one, S("fileData"));
        convo_part *inner = convo_add_inner(c, p, PART_OTHER, one);
        if (inner && data.n)
            read_inline(c, inner, data);
        else if (inner && file.n)
            gemini_read_file(c, inner, file);
        p->remote |= inner && inner->remote;
    }
}

/* An empty text with a signature is how newer models hand over the thinking of a whole turn. */
static void read_part(convo *c, void *message, json_iter *it)
{
    daruma_str key, value, text = {0}, signature = {0};
    bool thought = false;
    convo_part *p = convo_add_part(c, message, PART_OTHER, (daruma_str){0});
    if (!p || *it->p != '{') {
        json_pass(it, p ? &p->raw : NULL);
        if (p)
            p->ready = p->raw.n == 0;
        return;
    }
    json_iter in = json_enter(it);
    while (json_step(&in, &key)) {
        bool object = *in.p == '{';
        if (object && key_camel(key, S("functionCall"))) {
            gemini_read_call(c, p, &in, &value);
            continue;
        }
        if (object && key_camel(key, S("functionResponse"))) {
            read_response(c, p, &in, &value);
            continue;
        }
        json_pass(&in, &value);
        if (key_is(key, S("text")) && json_is_string(value))
            text = value;
        else if (key_is(key, S("thought")))
            thought = json_is_true(value);
        else if (key_camel(key, S("thoughtSignature")))
            signature = text_of(c, value);
        else if (object && key_camel(key, S("inlineData")))
            read_inline(c, p, value);
        else if (object && key_camel(key, S("fileData")))
            gemini_read_file(c, p, value);
    }
    json_leave(it, &in, &p->raw);
    p->ready = false;
    p->sealed = signature.n > 0;
    if (p->kind != PART_RESULT) {
        p->nparts = 0;
        p->signature = signature;
    }
    if (p->kind != PART_OTHER)
        return;
    if (thought || (p->sealed && text.n <= 2))
        p->kind = PART_THINKING;
    else if (text.n)
        p->kind = PART_TEXT;
    p->value = text;
}

/* ---- reading: messages ---- */

convo_role gemini_role(daruma_str word)
{
    if (str_eq(word, S("model")) || str_eq(word, S("assistant")))
        return CONVO_ASSISTANT;
    if (str_eq(word, S("function")) || str_eq(word, S("tool")))
        return CONVO_TOOL;
    return str_eq(word, S("system")) ? CONVO_SYSTEM : CONVO_USER;
}

static void gemini_read_message(convo *c, daruma_str raw, bool apart)
{
    daruma_str key, value, word = {0};
    convo_message *m = convo_add_message(c, CONVO_USER, raw);
    if (!m)
        return;
    for (json_iter it = quick_open(json_is_object(raw) ? raw : S("{}")); json_step(&it, &key);)
        if (key_camel(key, S("parts"))) {
            m->nparts = 0; /* of members that stand twice the last counts */
            pass_many(c, &it, read_part, m, &value);
        } else if (json_pass(&it, &value) && key_is(key, S("role"))) {
            word = value_raw(value);
        }
    m->apart = apart;
    m->role = apart ? CONVO_SYSTEM : gemini_role(word);
    convo_set_wire_role(c, m, word);
}

/* ---- reading: tools and settings ---- */

/* Google's own schemas write types in capitals. */
static daruma_str plain_schema(convo *c, daruma_str schema)
{
    static const daruma_str types[] = {LIT("OBJECT"),  LIT("STRING"), LIT("NUMBER"), LIT("INTEGER"),
                                       LIT("BOOLEAN"), LIT("ARRAY"),  LIT("NULL")};
    const daruma_str mark = S("\"type\"");
    daruma_buf b = buf_in(c->arena);
    size_t from = 0, at = 0, found;
    while ((found = str_find(str_from(schema, at), mark)) != STR_NONE) {
        at += found + mark.n;
        daruma_str rest = str_trim(str_from(schema, at));
        if (!str_starts(rest, S(":")))
            continue;
        rest = str_trim(str_from(rest, 1));
        for (size_t i = 0; i < COUNT(types); i++) {
            daruma_str name = str_sub(rest, 1, types[i].n);
            if (!str_starts(rest, S("\"")) || !str_eq(name, types[i]) ||
                !str_starts(str_from(rest, 1 + name.n), S("\"")))
                continue;
            size_t p = (size_t)(name.p - schema.p);
            buf_put(&b, str_sub(schema, from, p - from));
            for (size_t k = 0; k < name.n; k++)
                buf_putc(&b, ch_lower(name.p[k]));
            from = at = p + name.n;
            break;
        }
    }
    if (!from)
        return schema;
    buf_put(&b, str_from(schema, from));
    c->full |= b.full;
    return b.full ? schema : buf_done(&b);
}

typedef struct tool_place {
    daruma_str tools, list; /* as spelt: "tools", "functionDeclarations" */
    uint32_t tool, nth;
    bool tool_alone, alone;       /* no index: it stands without its array */
    const convo_schemas *schemas; /* of the newest one in this list */
} tool_place;

/* The same for all of a list, as long as they spell it the same way. */
static const convo_schemas *schemas_at(convo *c, const tool_place *at, daruma_str key)
{
    if (at->schemas && str_eq(at->schemas->behind, key))
        return at->schemas;
    convo_schemas *s = ARENA_NEW(c->arena, convo_schemas, 1);
    daruma_buf b = buf_in(c->arena);
    buf_put(&b, at->tools);
    if (!at->tool_alone)
        BUF_SAY(&b, ".", (int64_t)at->tool);
    BUF_SAY(&b, ".", at->list);
    c->full |= b.full;
    if (s)
        *s = (convo_schemas){buf_done(&b), key};
    return s;
}

static void read_declaration(convo *c, daruma_str raw, tool_place *at, size_t of)
{
    convo_tool *t = tool_add(c, raw, of);
    if (!t)
        return;
    gemini_member schema = gemini_named(raw, S("parametersJsonSchema"));
    if (!schema.value.n)
        schema = gemini_named(raw, S("parameters"));
    t->name = text_of(c, gemini_get(raw, S("name")));
    t->description = text_of(c, gemini_get(raw, S("description")));
    t->at = at->schemas = schemas_at(c, at, schema.key.n ? schema.key : S("parameters"));
    t->nth = at->alone ? CONVO_ALONE : at->nth;
    if (!json_is_object(schema.value))
        return;
    daruma_str wire = plain_schema(c, schema.value);
    convo_set_schema(c, t, gemini_json_schema(c, wire), wire);
}

/* A tool that is more than a list of functions runs at Google, as a whole. */
static bool is_hosted(daruma_str tool)
{
    daruma_str key, value;
    if (!json_is_object(tool))
        return false;
    for (json_iter it = quick_open(tool); json_next(&it, &key, &value);)
        if (!key_camel(key, S("functionDeclarations")) && !json_is_null(value))
            return true;
    return false;
}

static void read_tools(convo *c, gemini_member tools)
{
    daruma_str tool, one;
    size_t of = 0;
    for (many m = many_open(tools.value); many_next(&m, &tool);)
        of += many_count(gemini_get(tool, S("functionDeclarations"))) + is_hosted(tool);
    tool_place at = {.tools = tools.key, .tool_alone = !json_is_array(tools.value)};
    for (many m = many_open(tools.value); many_next(&m, &tool); at.tool++) {
        gemini_member list = gemini_named(tool, S("functionDeclarations"));
        at.list = list.key;
        at.alone = !json_is_array(list.value);
        at.nth = 0;
        at.schemas = NULL;
        for (many l = many_open(list.value); many_next(&l, &one); at.nth++)
            read_declaration(c, one, &at, of);
        convo_tool *t = is_hosted(tool) ? tool_add(c, tool, of) : NULL;
        if (t)
            t->hosted = true;
    }
}

static void gemini_read_choice(convo *c, daruma_str config)
{
    daruma_str calling = gemini_get(config, S("functionCallingConfig")),
               mode = value_raw(gemini_get(calling, S("mode")));
    daruma_str names = gemini_get(calling, S("allowedFunctionNames")), only;
    if (str_ieq(mode, S("AUTO")) || str_ieq(mode, S("VALIDATED")))
        c->set.choice = CHOICE_AUTO;
    else if (str_ieq(mode, S("NONE")))
        c->set.choice = CHOICE_NONE;
    else if (str_ieq(mode, S("ANY")))
        c->set.choice = CHOICE_ANY;
    if (c->set.choice != CHOICE_NONE && json_count(names))
        c->set.allowed = names;
    json_iter it = quick_open(names);
    if (c->set.choice == CHOICE_ANY && json_count(names) == 1 && json_next(&it, NULL, &only) && json_is_string(only)) {
        c->set.choice = CHOICE_ONE;
        c->set.choice_name = text_of(c, only);
        c->set.allowed = (daruma_str){0};
    }
}

static void read_thinking(convo *c, daruma_str config)
{
    daruma_str budget = gemini_get(config, S("thinkingBudget")),
               level = text_of(c, gemini_get(config, S("thinkingLevel")));
    if (json_is_number(budget)) { /* -1: as much as the model likes */
        int64_t tokens = json_int(budget, -1);
        c->set.thinking = tokens != 0;
        c->set.thinking_budget = tokens > 0 ? tokens : -1;
    }
    if (level.n) {
        daruma_buf b = buf_in(c->arena);
        for (size_t i = 0; i < level.n; i++)
            buf_putc(&b, ch_lower(level.p[i]));
        c->full |= b.full;
        c->set.effort = b.full ? (daruma_str){0} : buf_str(&b);
        c->set.thinking = 1;
    }
}

static daruma_str number_of(daruma_str value)
{
    return json_is_number(value) ? value : (daruma_str){0};
}

static void read_config(convo *c, gemini_member config)
{
    daruma_str in = config.value;
    convo_settings *s = &c->set;
    gemini_member cap = gemini_named(in, S("maxOutputTokens"));
    daruma_buf path = buf_in(c->arena);
    buf_put(&path, config.key.n ? config.key : S("generationConfig"));
    buf_putc(&path, '.');
    buf_put(&path, cap.key.n                                 ? cap.key
                   : str_findch(config.key, '_') != STR_NONE ? S("max_output_tokens")
                                                             : S("maxOutputTokens"));
    c->full |= path.full;
    s->max_output_path = path.full ? (daruma_str){0} : buf_str(&path);
    int64_t n = json_int(cap.value, -1);
    s->max_output = n < 0 ? -1 : n;
    s->temperature = number_of(gemini_get(in, S("temperature")));
    s->top_p = number_of(gemini_get(in, S("topP")));
    s->top_k = number_of(gemini_get(in, S("topK")));
    s->seed = number_of(gemini_get(in, S("seed")));
    s->frequency_penalty = number_of(gemini_get(in, S("frequencyPenalty")));
    s->presence_penalty = number_of(gemini_get(in, S("presencePenalty")));
    daruma_str stop = gemini_get(in, S("stopSequences"));
    if (json_is_array(stop) || json_is_string(stop))
        s->stop = stop;
    daruma_str mime = gemini_get(in, S("responseMimeType")), schema = gemini_get(in, S("responseJsonSchema"));
    if (!schema.n)
        schema = gemini_get(in, S("responseSchema"));
    if (json_is_object(schema)) {
        s->format = FORMAT_SCHEMA;
        s->format_schema = gemini_json_schema(c, plain_schema(c, schema));
    } else if (value_is(mime, S("application/json"))) {
        s->format = FORMAT_JSON;
    } else if (value_is(mime, S("text/plain"))) {
        s->format = FORMAT_TEXT;
    }
    read_thinking(c, gemini_get(in, S("thinkingConfig")));
}

/* The members of a request in one walk, in either spelling; the last of several, unless it is null. */
enum { B_CONTENTS, B_SYSTEM, B_MODEL, B_TOOLS, B_CHOICE, B_CONFIG, B_CACHED, B_N };

static daruma_status members_of(daruma_str body, gemini_member *ret, size_t *ret_contents)
{
    static const daruma_str names[B_N] = {
        [B_CONTENTS] = LIT("contents"),   [B_SYSTEM] = LIT("systemInstruction"), [B_MODEL] = LIT("model"),
        [B_TOOLS] = LIT("tools"),         [B_CHOICE] = LIT("toolConfig"),        [B_CONFIG] = LIT("generationConfig"),
        [B_CACHED] = LIT("cachedContent")};
    daruma_str key, value;
    json_iter it = whole_open(body);
    while (json_step(&it, &key)) {
        size_t i = 0;
        while (i < B_N && !key_camel(key, names[i]))
            i++;
        bool passed = i == B_CONTENTS ? pass_counted(&it, ret_contents, &value) : json_pass(&it, &value);
        if (passed && i < B_N)
            ret[i] = json_is_null(value) ? (gemini_member){0} : (gemini_member){key, value};
    }
    return whole_status(body, &it);
}

daruma_status gemini_read(daruma_str body, daruma_arena *a, convo *ret)
{
    gemini_member f[B_N] = {{{0}, {0}}};
    size_t count = 0;
    daruma_status s = members_of(body, f, &count);
    if (s != DARUMA_OK)
        return s;
    daruma_str contents = f[B_CONTENTS].value;
    if (!json_is_array(contents) && !json_is_object(contents))
        return DARUMA_EINPUT;
    *ret = (convo){.quirks = GEMINI_QUIRKS,
                   .body = body,
                   .arena = a,
                   .set = {.stream = -1, .max_output = -1, .parallel = -1, .thinking = -1, .thinking_budget = -1}};
    ret->set.model = text_of(ret, f[B_MODEL].value);
    daruma_str content;
    convo_expect(ret, count);
    if (f[B_SYSTEM].value.n)
        gemini_read_message(ret, f[B_SYSTEM].value, true);
    if (json_is_array(contents))
        for (json_iter it = quick_open(contents); json_next(&it, NULL, &content) && !ret->full;)
            gemini_read_message(ret, content, false);
    if (json_is_object(contents))
        gemini_read_message(ret, contents, false);
    read_tools(ret, f[B_TOOLS]);
    gemini_read_choice(ret, f[B_CHOICE].value);
    read_config(ret, f[B_CONFIG]);
    if (value_given(f[B_CACHED].value))
        ret->remote = ret->before = true;
    ret->full |= a->full;
    return ret->full ? DARUMA_EFULL : DARUMA_OK;
}
