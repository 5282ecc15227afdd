/* settings.c - tools and settings of one dialect as another knows them. */
#include "dialect/convert/convert.h"
#include "base/arena.h"
#include "base/map.h"

/* ---- tools ---- */

static bool is_function(const convo_tool *t)
{
    daruma_str type = json_get(t->raw, S("type"));
    return t->schema.n || !type.n || value_is(type, S("function"));
}

/* What it is called there. Who reads the answer has to know what it was called here, and whether it was a custom one.
 */
static daruma_str carry_name(convo *out, const convert_names *names, size_t most, daruma_str name, bool custom)
{
    daruma_str is = convert_name(names, name, out->arena);
    if (str_eq(is, name) && !custom)
        return name;
    if (!out->renames)
        out->renames = ARENA_NEW(out->arena, convo_rename, most < TOOLS_RENAMED_MAX ? most : TOOLS_RENAMED_MAX);
    if (!out->renames || !is.n || out->nrenames == TOOLS_RENAMED_MAX) {
        out->full = true;
        return name;
    }
    out->renames[out->nrenames++] = (convo_rename){.was = name, .is = is, .custom = custom};
    return is;
}

static size_t count_calls(const convo *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++)
            n += c->messages[i].parts[k].kind == PART_CALL;
    return n;
}

/* Tools that are not declared there stand in the history all the same, and the model may call one by the name that it
 * saw. */
static void carry_called(const convo *from, convo *out, const convert_names *names, size_t most)
{
    str_map seen = {0};
    for (size_t i = 0; i < out->nrenames; i++)
        map_put(&seen, out->arena, out->renames[i].was);
    for (size_t i = 0; i < from->nmessages; i++)
        for (size_t k = 0; k < from->messages[i].nparts; k++) {
            const convo_part *p = &from->messages[i].parts[k];
            if (p->kind == PART_CALL && p->name.n && out->nrenames < most && map_add(&seen, out->arena, p->name))
                carry_name(out, names, most, p->name, p->custom);
        }
    out->full |= out->arena->full;
}

/* The tools that the model may call; false: it may call all. Not every wire can say that, so the others are not offered
 * there. */
static bool read_allowed(const convo_settings *s, str_map *ret, daruma_arena *a)
{
    daruma_str one;
    if (!json_is_array(s->allowed))
        return false;
    for (json_iter it = json_open(s->allowed); json_next(&it, NULL, &one);) {
        daruma_str function = json_get(one, S("function")), custom = json_get(one, S("custom"));
        daruma_str in = function.n ? function : custom.n ? custom : one;
        map_add(ret, a, json_text(json_is_string(one) ? one : json_get(in, S("name")), a));
    }
    return true;
}

/* What a custom tool takes, as the schema of a function: its words, and the grammar that they follow, as Chat and
 * Responses have it. */
static daruma_str custom_schema(daruma_str raw, daruma_arena *a)
{
    daruma_str inner = json_get(raw, S("custom")), format = json_get(inner.n ? inner : raw, S("format"));
    daruma_str grammar = json_is_object(json_get(format, S("grammar"))) ? json_get(format, S("grammar")) : format;
    daruma_str syntax = json_text(json_get(grammar, S("syntax")), a);
    daruma_str definition = json_text(json_get(grammar, S("definition")), a);
    daruma_buf words = buf_in(a), b = buf_in(a);
    if (!definition.n)
        return S(CONVO_INPUT_SCHEMA);
    BUF_LIT(&words, "Text that follows this grammar");
    if (syntax.n) {
        BUF_SAY(&words, " (", syntax, ")");
    }
    BUF_SAY(&words, ":\n", definition);
    BUF_SAY(&b, "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\",\"description\":",
            buf_quoted(buf_str(&words)), "}},\"required\":[\"input\"]}");
    return b.full || words.full ? S(CONVO_INPUT_SCHEMA) : buf_str(&b);
}

static daruma_str carry_schema(const convo_tool *t, daruma_arena *a)
{
    if (convo_tool_custom(t))
        return custom_schema(t->raw, a);
    return t->schema.n ? t->schema : S("{\"type\":\"object\",\"properties\":{}}");
}

/* Functions go along in the places that they have, and custom tools as functions. What runs at the provider does not,
 * nor what has no schema but a type that only its own models know (bash, computer use). */
void convert_tools(const convo *from, const convert_names *names, convo *out, dialect_losses *lost)
{
    size_t most = from->ntools + count_calls(from);
    str_map allowed = {0};
    bool some = read_allowed(&from->set, &allowed, out->arena);
    out->tools = from->tools;
    for (size_t i = 0; i < from->ntools; i++) {
        const convo_tool was = from->tools[i], *t = &was;
        if (t->hosted || !t->name.n) {
            dialect_lose(lost, "hosted_tools");
        } else if (!is_function(t) && !convo_tool_custom(t)) {
            dialect_lose(lost, "typed_tools");
        } else if (!some || map_get(&allowed, t->name)) {
            out->tools[out->ntools++] = (convo_tool){
                .name = carry_name(out, names, most, t->name, convo_tool_custom(t)),
                .description = t->description,
                .schema = carry_schema(t, out->arena),
                .strict = t->strict && (names->to->quirks & WIRE_OPAQUE_ARGS), /* OpenAI's two */
            };
        }
    }
    carry_called(from, out, names, most);
}

static bool has_calls(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++)
            if (c->messages[i].parts[k].kind == PART_CALL)
                return true;
    return false;
}

/* Anthropic wants tools declared when the history has calls, also where none may be called any more. */
static void declare_called(convo *out)
{
    str_map names = {0}; /* 0: it is not declared yet */
    for (size_t i = 0; i < out->nmessages; i++)
        for (size_t k = 0; k < out->messages[i].nparts; k++)
            if (out->messages[i].parts[k].kind == PART_CALL && out->messages[i].parts[k].name.n)
                map_put(&names, out->arena, out->messages[i].parts[k].name);
    out->tools = ARENA_NEW(out->arena, convo_tool, names.n);
    for (size_t i = 0; out->tools && i < out->nmessages; i++)
        for (size_t k = 0; k < out->messages[i].nparts && out->ntools < names.n; k++) {
            const convo_part *p = &out->messages[i].parts[k];
            uint64_t *declared = p->kind == PART_CALL && p->name.n ? map_get(&names, p->name) : NULL;
            if (!declared || *declared)
                continue;
            *declared = 1;
            out->tools[out->ntools++] = (convo_tool){.name = p->name, .schema = S("{\"type\":\"object\"}")};
        }
    out->full |= out->arena->full;
    if (out->ntools)
        out->set.choice = CHOICE_NONE;
}

static void convert_choice(convo *out, const convert_names *names, dialect_losses *lost)
{
    const dialect *to = names->to;
    convo_settings *s = &out->set;
    if (!out->ntools) {
        s->choice = CHOICE_UNSAID;
        s->parallel = -1;
    }
    s->choice_name = convert_name(names, s->choice_name, out->arena);
    if (s->choice == CHOICE_ONE && !convo_tool_find(out, s->choice_name)) {
        dialect_lose(lost, "tool_choice");
        s->choice = CHOICE_AUTO;
    }
    if (s->choice != CHOICE_ONE)
        s->choice_name = (daruma_str){0};
    if (to == &dialect_gemini && s->parallel == 0)
        dialect_lose(lost, "parallel_tool_calls");
    if (to == &dialect_gemini)
        s->parallel = -1;
    if (to == &dialect_anthropic && s->parallel == 0 && s->choice == CHOICE_UNSAID)
        s->choice = CHOICE_AUTO; /* it is said within the choice */
}

/* ---- sampling ---- */

static void drop(daruma_str *number, const char *name, dialect_losses *lost)
{
    if (number->n)
        dialect_lose(lost, name);
    *number = (daruma_str){0};
}

/* Is that JSON number above 1? */
static bool above_one(daruma_str number)
{
    int64_t whole = json_int(number, 0);
    if (whole != 1 || str_findch(number, 'e') != STR_NONE || str_findch(number, 'E') != STR_NONE)
        return whole > 1;
    for (size_t i = 1; i < number.n; i++)
        if (number.p[i] > '0' && number.p[i] <= '9')
            return true;
    return false;
}

static void convert_sampling(convo_settings *s, const dialect *to, dialect_losses *lost)
{
    bool chat = to == &dialect_openai, gemini = to == &dialect_gemini, anthropic = to == &dialect_anthropic;
    if (anthropic && above_one(s->temperature)) {
        s->temperature = S("1");
        dialect_lose(lost, "temperature");
    }
    if (anthropic && s->temperature.n)
        drop(&s->top_p, "top_p", lost); /* newer models take one of them */
    if (!anthropic && !gemini)
        drop(&s->top_k, "top_k", lost);
    if (!chat && !gemini) {
        drop(&s->seed, "seed", lost);
        drop(&s->frequency_penalty, "frequency_penalty", lost);
        drop(&s->presence_penalty, "presence_penalty", lost);
    }
    if (s->user.n > (gemini ? 0 : anthropic ? ANTHROPIC_USER_BYTES_MAX : OPENAI_USER_BYTES_MAX))
        drop(&s->user, "user", lost); /* an agent's may be a JSON object of some 150 bytes */
}

static void add_stop(convo *out, daruma_buf *list, daruma_str one, size_t max, size_t *n, dialect_losses *lost)
{
    daruma_str text = json_text(one, out->arena);
    bool blank = (max == SIZE_MAX ? str_trim(text) : text).n == 0;
    if (*n == max || blank) { /* Anthropic refuses white space alone */
        dialect_lose(lost, "stop");
        return;
    }
    if ((*n)++)
        buf_putc(list, ',');
    buf_put(list, one);
}

/* As a list of at most as many as the target takes. */
static void convert_stop(convo *out, const dialect *to, dialect_losses *lost)
{
    size_t max = to == &dialect_openai ? 4 : to == &dialect_gemini ? 5 : to == &dialect_anthropic ? SIZE_MAX : 0, n = 0;
    daruma_str stop = out->set.stop, one;
    daruma_buf list = buf_in(out->arena);
    if (!stop.n)
        return;
    buf_putc(&list, '[');
    if (json_is_string(stop))
        add_stop(out, &list, stop, max, &n, lost);
    else
        for (json_iter it = json_open(stop); json_next(&it, NULL, &one);)
            add_stop(out, &list, one, max, &n, lost);
    buf_putc(&list, ']');
    out->full |= list.full;
    out->set.stop = n && !list.full ? buf_str(&list) : (daruma_str){0};
}

/* ---- thinking ---- */

// clang-format off
/* How much thinking a word means, in tokens; the first word that is not below a budget is its word. */
static const struct { daruma_str word; int64_t tokens; bool openai; } efforts[] = {
    {LIT("minimal"), 1024,  true},
    {LIT("low"),     2048,  true},
    {LIT("medium"),  8192,  true},
    {LIT("high"),    16384, true},
    {LIT("xhigh"),   24576, false},
    {LIT("max"),     24576, false},
};
// clang-format on
#define NEFFORTS COUNT(efforts)

static int64_t budget_of(const convo_settings *s)
{
    if (s->thinking_budget > 0)
        return s->thinking_budget;
    for (size_t i = 0; i < NEFFORTS; i++)
        if (str_eq(s->effort, efforts[i].word))
            return efforts[i].tokens;
    return 8192;
}

static daruma_str effort_of(const convo_settings *s)
{
    daruma_str high = S("high");
    for (size_t i = 0; i < NEFFORTS; i++)
        if (str_eq(s->effort, efforts[i].word))
            return efforts[i].openai ? efforts[i].word : high;
    if (s->effort.n || s->thinking_budget <= 0)
        return s->effort;
    for (size_t i = 1; i < NEFFORTS; i++)
        if (s->thinking_budget <= efforts[i].tokens)
            return efforts[i].openai ? efforts[i].word : high;
    return high;
}

/* Anthropic refuses thinking where a tool loop in progress has none of its own, where a tool is forced, where the
 * answer is begun for it, and where the answer has no room beside it. */
static bool may_think(const convo *out)
{
    const convo_message *last = out->nmessages ? &out->messages[out->nmessages - 1] : NULL;
    if (out->set.choice == CHOICE_ANY || out->set.choice == CHOICE_ONE)
        return false;
    for (size_t i = convo_loop_begin(out); i < out->nmessages; i++)
        if (out->messages[i].role == CONVO_ASSISTANT)
            return false;
    return last && last->role != CONVO_ASSISTANT && (out->set.max_output < 0 || out->set.max_output >= 2048);
}

static void think_anthropic(convo *out, bool wanted, int64_t budget, dialect_losses *lost)
{
    convo_settings *s = &out->set;
    s->effort = (daruma_str){0};
    s->thinking_budget = -1;
    if (!wanted) {
        s->thinking = -1;
        return;
    }
    if (!may_think(out)) {
        dialect_lose(lost, "reasoning_effort");
        s->thinking = -1;
        return;
    }
    if (s->max_output >= 0 && budget > s->max_output / 2)
        budget = s->max_output / 2;
    s->thinking = 1;
    s->thinking_budget = budget < 1024 ? 1024 : budget; /* its least */
    if (s->max_output < 0)
        s->max_output = s->thinking_budget + ANTHROPIC_MAX_TOKENS;
    drop(&s->temperature, "temperature", lost);
    drop(&s->top_p, "top_p", lost);
    drop(&s->top_k, "top_k", lost);
}

static void convert_thinking(const convo *from, convo *out, const dialect *to, dialect_losses *lost)
{
    convo_settings *s = &out->set;
    bool none = str_eq(s->effort, S("none")), off = s->thinking == 0 || none;
    bool kept = (from->quirks & WIRE_OPAQUE_ARGS) && (none || str_eq(s->effort, S("xhigh"))); /* not all models do */
    bool wanted = !off && (s->thinking == 1 || s->thinking_budget > 0 || s->effort.n);
    int64_t budget = budget_of(s);
    if (to == &dialect_anthropic) {
        think_anthropic(out, wanted, budget, lost);
    } else if (to == &dialect_gemini) {
        bool said = s->thinking_budget > 0 || s->effort.n;
        s->thinking = off ? 0 : wanted ? 1 : -1;
        s->thinking_budget = off ? 0 : wanted && said ? budget : -1;
        s->effort = (daruma_str){0};
    } else {
        if (!kept)
            s->effort = off ? (daruma_str){0} : effort_of(s);
        s->thinking = -1;
        s->thinking_budget = -1;
    }
}

/* ---- format ---- */

static void add_system(convo *out, daruma_str text)
{
    bool apart = out->quirks & WIRE_SYSTEM_APART;
    convo_message *m = out->nmessages && out->messages[0].role == CONVO_SYSTEM
                           ? &out->messages[0]
                           : convo_insert_message(out, 0, CONVO_SYSTEM);
    convo_part *p = m ? convo_add_part(out, m, PART_TEXT, (daruma_str){0}) : NULL;
    if (!p)
        return;
    m->apart = apart;
    p->ready = true;
    p->text = text;
}

/* JSON without a schema: Anthropic has no such format, and OpenAI refuses it when nobody speaks of JSON. */
static void convert_format(const convo *from, convo *out, const dialect *to, dialect_losses *lost)
{
    convo_settings *s = &out->set;
    bool openai = to == &dialect_openai || to == &dialect_openai_responses;
    if (s->format == FORMAT_JSON && to == &dialect_anthropic) {
        dialect_lose(lost, "json_mode");
        s->format = FORMAT_UNSAID;
        add_system(out, S("Answer with one JSON value and nothing else."));
    } else if (s->format == FORMAT_JSON && openai && (from->quirks & WIRE_NO_IDS)) {
        add_system(out, S("Answer in JSON."));
    }
    if (s->format == FORMAT_TEXT)
        s->format = FORMAT_UNSAID; /* the default of all */
    if (s->format == FORMAT_SCHEMA && openai && !s->format_name.n)
        s->format_name = S("answer");
}

/* What OpenAI's two APIs have beside all that, in the same words but for one of them, and nobody else has. */
static void convert_openai(const convo *from, convo *out, const dialect *to, dialect_losses *lost)
{
    static const struct {
        daruma_str name;
        bool both;        /* of the two */
        const char *lost; /* NULL: nobody misses it */
    } rows[] = {
        {LIT("service_tier"), true, "service_tier"}, {LIT("prompt_cache_key"), true, NULL},
        {LIT("prompt_cache_retention"), true, NULL}, {LIT("metadata"), false, "metadata"},
        {LIT("logit_bias"), false, "logit_bias"},    {LIT("top_logprobs"), false, "logprobs"},
        {LIT("logprobs"), false, "logprobs"},
    };
    daruma_str body = str_trim(from->body);
    daruma_str text = json_get(body, S("text")), verbosity = json_get(text.n ? text : body, S("verbosity"));
    daruma_buf b = buf_in(out->arena);
    bool openai = to->quirks & WIRE_OPAQUE_ARGS;
    if (!(from->quirks & WIRE_OPAQUE_ARGS))
        return;
    if (value_given(verbosity) && openai)
        out->set.verbosity = verbosity;
    else if (value_given(verbosity))
        dialect_lose(lost, "verbosity");
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_str value = json_get(body, rows[i].name);
        bool said = value_given(value) || json_is_true(value) || json_int(value, 0) > 0;
        if (!said || value_is(value, S("auto")))
            continue;
        if (openai && rows[i].both) {
            BUF_SAY(&b, ",", buf_quoted(rows[i].name), ":", value);
        } else if (rows[i].lost) {
            dialect_lose(lost, rows[i].lost);
        }
    }
    out->full |= b.full;
    out->set.openai = buf_str(&b);
}

/* Who asked for several answers gets one. */
static bool wants_several(const convo *from)
{
    daruma_str body = str_trim(from->body);
    daruma_str n = json_get(body, S("n")),
               candidates = json_get(json_get(body, S("generationConfig")), S("candidateCount"));
    return json_int(n, 1) > 1 || json_int(candidates, 1) > 1;
}

void convert_settings(const convo *from, const convert_names *names, convo *out, dialect_losses *lost)
{
    const dialect *to = names->to;
    out->set.max_output_path = to->cap_path;
    out->set.format_edited = false;
    if (wants_several(from))
        dialect_lose(lost, "several_answers");
    convert_choice(out, names, lost);
    if (to == &dialect_anthropic && !out->ntools && has_calls(out))
        declare_called(out);
    convert_sampling(&out->set, to, lost);
    convert_stop(out, to, lost);
    convert_thinking(from, out, to, lost);
    convert_openai(from, out, to, lost);
    convert_format(from, out, to, lost);
    if (to == &dialect_anthropic && out->set.max_output < 0)
        out->set.max_output = ANTHROPIC_MAX_TOKENS;
}
