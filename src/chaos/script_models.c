/* script_models.c - what a script says of a model: what it can hold, what it refuses, how it answers. */
#include "chaos/script_values.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <regex.h>

enum { ANSWERS_MAX = 4096, JSON_LEVELS_MAX = 32 };

/* ---- lists and pairs
 * ------------------------------------------------------------------------------------------------- */

/* With a NUL behind it: parameters are also used as C strings. */
static daruma_str kept(daruma_arena *a, daruma_str s)
{
    daruma_buf b = buf_in(a);
    buf_put(&b, s);
    buf_putc(&b, '\0');
    return str_sub(buf_str(&b), 0, s.n);
}

static bool read_list(reader *r, const yaml_node_t *v, void *field)
{
    word_list *to = field;
    if (v->type != YAML_SEQUENCE_NODE)
        return wrong(r, v, "this wants a list like [temperature, top_p]");
    yaml_node_item_t *first = v->data.sequence.items.start, *end = v->data.sequence.items.top;
    to->at = ARENA_NEW(r->a, daruma_header, (size_t)(end - first) + 1);
    for (yaml_node_item_t *i = first; to->at && i < end; i++)
        to->at[to->n++] = (daruma_header){.name = kept(r->a, scalar_text(node(r, *i)))};
    return true;
}

static bool read_pairs(reader *r, const yaml_node_t *v, void *field)
{
    word_list *to = field;
    yaml_node_t *name, *value;
    if (!read_map(r, v, "this wants { parameter: value }"))
        return false;
    to->at = ARENA_NEW(r->a, daruma_header, pairs_of(v) + 1);
    for (size_t i = 0; to->at && i < pairs_of(v); i++) {
        pair(r, v, i, &name, &value);
        if (!scalar_text(value).n)
            return wrong(r, value, "`" STR_FMT "` wants a value", STR_ARG(str_sub(scalar_text(name), 0, 60)));
        to->at[to->n++] = (daruma_header){kept(r->a, scalar_text(name)), kept(r->a, scalar_text(value))};
    }
    return true;
}

/* ---- answers
 * --------------------------------------------------------------------------------------------------------- */

static bool is_json_word(daruma_str s)
{
    size_t digits = 0, i = s.n && s.p[0] == '-';
    for (; i < s.n && (ch_digit(s.p[i]) || s.p[i] == '.'); i++)
        digits += ch_digit(s.p[i]);
    return str_eq(s, S("true")) || str_eq(s, S("false")) || str_eq(s, S("null")) || (digits && i == s.n);
}

/* YAML as JSON: what is not quoted and looks like a number or a literal is one. */
static void put_json(reader *r, const yaml_node_t *v, daruma_buf *b, int level)
{
    yaml_node_t *key, *value;
    if (level > JSON_LEVELS_MAX) {
        BUF_LIT(b, "null");
    } else if (v->type == YAML_MAPPING_NODE) {
        buf_putc(b, '{');
        for (size_t i = 0; i < pairs_of(v); i++) {
            pair(r, v, i, &key, &value);
            buf_putz(b, i ? "," : "");
            buf_json(b, scalar_text(key));
            buf_putc(b, ':');
            put_json(r, value, b, level + 1);
        }
        buf_putc(b, '}');
    } else if (v->type == YAML_SEQUENCE_NODE) {
        buf_putc(b, '[');
        for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++) {
            buf_putz(b, i > v->data.sequence.items.start ? "," : "");
            put_json(r, node(r, *i), b, level + 1);
        }
        buf_putc(b, ']');
    } else if (v->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && is_json_word(scalar_text(v))) {
        buf_put(b, scalar_text(v));
    } else {
        buf_json(b, scalar_text(v));
    }
}

/* A mapping becomes JSON; a text goes out as it stands, broken or not. */
static bool read_arguments(reader *r, const yaml_node_t *v, void *field)
{
    daruma_buf b = buf_in(r->a);
    if (v->type == YAML_SCALAR_NODE)
        buf_put(&b, scalar_text(v));
    else
        put_json(r, v, &b, 0);
    *(daruma_str *)field = buf_str(&b);
    return true;
}

typedef struct one_call {
    daruma_str name, arguments;
} one_call;

static bool read_calls(reader *r, const yaml_node_t *v, void *field)
{
    static const option rows[] = {
        {"call", OPT_TEXT, AT(one_call, name), "the tool", NULL, NULL},
        {"arguments", OPT_OWN, AT(one_call, arguments), "a mapping, or JSON as text", NULL, read_arguments},
    };
    scripted *x = field;
    if (v->type != YAML_SEQUENCE_NODE)
        return wrong(r, v, "`calls` wants a list of { call: NAME, arguments: {...} }");
    for (yaml_node_item_t *i = v->data.sequence.items.start; i < v->data.sequence.items.top; i++) {
        one_call c = {0};
        if (x->ncalls == ANSWER_CALLS_MAX)
            return wrong(r, v, "at most %d calls in one answer", ANSWER_CALLS_MAX);
        if (!read_options(r, node(r, *i), rows, COUNT(rows), "a call wants { call: NAME, arguments: {...} }", &c))
            return false;
        x->name[x->ncalls] = c.name;
        x->arguments[x->ncalls++] = c.arguments;
    }
    return true;
}

/* An answer, with room for the single call that most have. */
typedef struct one_answer {
    scripted x;
    one_call call;
} one_answer;

static bool read_answer(reader *r, const yaml_node_t *v, scripted *to)
{
    static const option rows[] = {
        {"text", OPT_TEXT, AT(one_answer, x.text), "what it says", NULL, NULL},
        {"thinking", OPT_TEXT, AT(one_answer, x.thinking), "what it thinks first", NULL, NULL},
        {"call", OPT_TEXT, AT(one_answer, call.name), "the tool that it calls", NULL, NULL},
        {"arguments", OPT_OWN, AT(one_answer, call.arguments), "a mapping, or JSON as text", NULL, read_arguments},
        {"calls", OPT_OWN, AT(one_answer, x), "several calls", NULL, read_calls},
        {"times", OPT_COUNT, AT(one_answer, x.times), "so often in a row", NULL, NULL},
    };
    one_answer one = {.x = {.times = 1}};
    if (v->type == YAML_SCALAR_NODE)
        one.x.text = arena_copy(r->a, scalar_text(v));
    else if (!read_options(r, v, rows, COUNT(rows), "an answer wants { text: ... } or { call: NAME }", &one))
        return false;
    if (one.call.name.n && one.x.ncalls)
        return wrong(r, v, "`call` and `calls` exclude each other");
    if (one.call.name.n) {
        one.x.name[0] = one.call.name;
        one.x.arguments[0] = one.call.arguments;
        one.x.ncalls = 1;
    }
    *to = one.x;
    return true;
}

static bool read_list_of_answers(reader *r, const yaml_node_t *v, const char *name, scripted **list, size_t *n)
{
    if (v->type != YAML_SEQUENCE_NODE)
        return wrong(r, v, "`%s` wants a list", name);
    yaml_node_item_t *first = v->data.sequence.items.start, *end = v->data.sequence.items.top;
    if (end - first > ANSWERS_MAX)
        return wrong(r, v, "at most %d answers", ANSWERS_MAX);
    *list = ARENA_NEW(r->a, scripted, (size_t)(end - first) + 1);
    for (yaml_node_item_t *i = first; *list && i < end; i++)
        if (!read_answer(r, node(r, *i), &(*list)[(*n)++]))
            return false;
    return true;
}

static bool read_answers(reader *r, const yaml_node_t *v, void *field)
{
    script_model *m = field;
    return read_list_of_answers(r, v, "answers", &m->answers, &m->nanswers);
}

/* ---- circles
 * --------------------------------------------------------------------------------------------------------- */

static bool read_lap(reader *r, const yaml_node_t *v, void *field)
{
    loop_manner *l = field;
    if (!read_list_of_answers(r, v, "lap", &l->lap, &l->nlap))
        return false;
    for (size_t i = 0; i < l->nlap; i++)
        if (l->lap[i].times < 1)
            return wrong(r, v, "in a lap `times` is 1 at least");
    return true;
}

static bool read_then(reader *r, const yaml_node_t *v, void *field)
{
    loop_manner *l = field;
    return read_list_of_answers(r, v, "then", &l->then, &l->nthen);
}

static bool read_expression(reader *r, const yaml_node_t *v, void *field)
{
    regex_t re;
    char why[120];
    daruma_str text = kept(r->a, scalar_text(v));
    int bad = text.n ? regcomp(&re, text.p, REG_EXTENDED | REG_NOSUB) : 0;
    if (!text.n)
        return wrong(r, v, "`text` wants a regular expression");
    if (bad) {
        regerror(bad, &re, why, sizeof why);
        return wrong(r, v, "`" STR_FMT "` is no regular expression: %s", STR_ARG(str_sub(text, 0, 60)), why);
    }
    regfree(&re);
    *(daruma_str *)field = text;
    return true;
}

static bool read_no_tools(reader *r, const yaml_node_t *v, void *field)
{
    *(bool *)field = str_eq(scalar_text(v), S("none"));
    return *(bool *)field || wrong(r, v, "`tools` wants none");
}

static bool read_until(reader *r, const yaml_node_t *v, void *field)
{
    static const char wants[] = "`until` wants never, { text: EXPRESSION } or { tools: none }";
    static const option rows[] = {
        {"text", OPT_OWN, AT(loop_manner, text), "a text of the newest turn", NULL, read_expression},
        {"tools", OPT_OWN, AT(loop_manner, tools), "none: they are taken away", NULL, read_no_tools},
    };
    loop_manner *l = field;
    l->never = str_eq(scalar_text(v), S("never"));
    if (!l->never && !read_options(r, v, rows, COUNT(rows), wants, l))
        return false;
    return l->never || l->text.n || l->tools || wrong(r, v, "%s", wants);
}

static bool read_loop(reader *r, const yaml_node_t *v, void *field)
{
    static const option rows[] = {
        {"lap", OPT_OWN, 0, "what it does, round and round", NULL, read_lap},
        {"until", OPT_OWN, 0, "what tells it to stop", NULL, read_until},
        {"ignores", OPT_COUNT, AT(loop_manner, ignores), "so many requests that tell it are in vain", NULL, NULL},
        {"then", OPT_OWN, 0, "what it does once it listens", NULL, read_then},
    };
    loop_manner *l = field;
    if (!read_options(r, v, rows, COUNT(rows), "a loop wants { lap: [...], until: ... }", l))
        return false;
    if (!l->nlap)
        return wrong(r, v, "a loop wants a `lap`: a list of answers");
    if (!l->never && !l->text.n && !l->tools)
        return wrong(r, v, "a loop wants `until`: never, { text: EXPRESSION } or { tools: none }");
    return !l->never || !(l->nthen || l->ignores) ||
           wrong(r, v, "what never listens has no `then` and ignores everything");
}

/* ---- manners
 * --------------------------------------------------------------------------------------------------------- */

/* "exact", "repeat 20", ... */
static bool read_way(reader *r, const yaml_node_t *v, going_on *ret)
{
    static const char *const names[] = {"as_told", "exact", "repeat", "restart", "unrelated", "apologise"};
    daruma_str rest = scalar_text(v), word = str_cut(&rest, ' ');
    for (size_t i = 0; i < COUNT(names); i++) {
        if (!str_eq(word, str_of(names[i])))
            continue;
        ret->how = (goes_on)i;
        if (ret->how == GO_ON_REPEAT && !str_int(str_trim(rest), &ret->repeat))
            return wrong(r, v, "`repeat` wants a number of bytes: repeat 20");
        return true;
    }
    return unknown(r, v, "continue", names, COUNT(names));
}

/* One way, or a list of which one is drawn each time. */
static bool read_continue(reader *r, const yaml_node_t *v, void *field)
{
    manner *m = field;
    if (v->type != YAML_SEQUENCE_NODE)
        return read_way(r, v, &m->goes_on);
    yaml_node_item_t *first = v->data.sequence.items.start, *end = v->data.sequence.items.top;
    if (end - first > GO_ON_WAYS_MAX)
        return wrong(r, v, "at most %d ways to go on", GO_ON_WAYS_MAX);
    for (yaml_node_item_t *i = first; i < end; i++)
        if (!read_way(r, node(r, *i), &m->ways[m->nways++]))
            return false;
    return true;
}

/* A word for a way to fail, else the summary itself. */
static bool read_summary(reader *r, const yaml_node_t *v, void *field)
{
    manner *m = field;
    daruma_str s = scalar_text(v);
    m->summarises = str_eq(s, S("fails"))    ? SUMMARY_FAILS
                    : str_eq(s, S("empty"))  ? SUMMARY_EMPTY
                    : str_eq(s, S("larger")) ? SUMMARY_LARGER
                    : str_eq(s, S("short"))  ? SUMMARY_SHORT
                                             : SUMMARY_TEXT;
    m->summary = kept(r->a, s);
    return true;
}

static const char *const prefills[] = {"accept", "refuse", NULL};
static const char *const overflows[] = {"plain",     "no_numbers", "vllm",   "llama_cpp", "empty_400",
                                        "empty_413", "usage",      "length", NULL};
static const char *const formats[] = {"json_schema", "json_object", "text", NULL};
static const char *const format_says[] = {
    "plain", "invalid_json_schema", "invalid_schema", "invalid", "output_format", "must_be", NULL};

// clang-format off
static const option model_options[] = {
    {"window",           OPT_COUNT,  AT(script_model, limits.window),         "tokens, input and output together", NULL, NULL},
    {"max_output",       OPT_COUNT,  AT(script_model, limits.max_output),     "tokens", NULL, NULL},
    {"max_bytes",        OPT_COUNT,  AT(script_model, limits.max_bytes),      "of a request", NULL, NULL},
    {"overflow",         OPT_CHOICE, AT(script_model, limits.overflow),       "how it says that the window is full", overflows, NULL},
    {"alternate",        OPT_BOOL,   AT(script_model, limits.alternate),      "user and assistant must take turns", NULL, NULL},
    {"prefill",          OPT_CHOICE, AT(script_model, limits.refuse_prefill), "refuse: the last message must not be the model's", prefills, NULL},
    {"signatures",       OPT_BOOL,   AT(script_model, limits.signatures),     "thinking is signed, and taken back only as it was", NULL, NULL},
    {"strict",           OPT_BOOL,   AT(script_model, limits.strict),         "unknown members are refused", NULL, NULL},
    {"unsupported",      OPT_OWN,    AT(script_model, limits.unsupported),    "parameters that it refuses", NULL, read_list},
    {"renamed",          OPT_OWN,    AT(script_model, limits.renamed),        "parameters and what they are called now", NULL, read_pairs},
    {"max",              OPT_OWN,    AT(script_model, limits.max),            "parameters and their largest value", NULL, read_pairs},
    {"fixed",            OPT_OWN,    AT(script_model, limits.fixed),          "parameters and the only value they may have", NULL, read_pairs},
    {"refused_keywords", OPT_OWN,    AT(script_model, limits.keywords),       "of JSON Schema, in tools and formats", NULL, read_list},
    {"response_format",  OPT_CHOICE, AT(script_model, limits.formats),        "the best it takes: json_schema, json_object, text", formats, NULL},
    {"format_error",     OPT_CHOICE, AT(script_model, limits.format_words),   "how it refuses a better one", format_says, NULL},
    {"call_ids",         OPT_BOOL,   AT(script_model, manner.call_ids),       "Google: calls have ids", NULL, NULL},
    {"answers",          OPT_OWN,    0,                                       "what it says, one after the other", NULL, read_answers},
    {"loop",             OPT_OWN,    AT(script_model, loop),                  "what it does round and round, and until when", NULL, read_loop},
    {"continue",         OPT_OWN,    AT(script_model, manner),                "how it goes on with a text that broke off", NULL, read_continue},
    {"summary",          OPT_OWN,    AT(script_model, manner),                "how it sums up: a text, or fails, empty, larger, short", NULL, read_summary},
};
// clang-format on

bool read_models(reader *r, const yaml_node_t *v, script *s)
{
    yaml_node_t *key, *value;
    s->says_models = true;
    if (!read_map(r, v, "`models` wants { name: { window: 8000 } }"))
        return false;
    s->models = ARENA_NEW(r->a, script_model, pairs_of(v) + 1);
    for (size_t i = 0; s->models && i < pairs_of(v); i++) {
        pair(r, v, i, &key, &value);
        script_model *m = &s->models[s->nmodels++];
        *m = (script_model){.name = arena_copy(r->a, scalar_text(key)), .limits = {.window = -1, .max_output = -1}};
        if (!read_options(r, value, model_options, COUNT(model_options), "a model wants { window: 8000 }", m))
            return false;
        m->manner.thinks = m->limits.signatures;
    }
    return true;
}

/* ---- copies
 * ---------------------------------------------------------------------------------------------------------- */

static word_list list_kept(const word_list *from, daruma_arena *a)
{
    word_list to = {ARENA_NEW(a, daruma_header, from->n + 1), 0};
    for (; to.at && to.n < from->n; to.n++)
        to.at[to.n] = (daruma_header){kept(a, from->at[to.n].name), kept(a, from->at[to.n].value)};
    return to;
}

static scripted answer_kept(const scripted *from, daruma_arena *a)
{
    scripted to = *from;
    to.text = arena_copy(a, from->text);
    to.thinking = arena_copy(a, from->thinking);
    for (size_t i = 0; i < to.ncalls; i++) {
        to.name[i] = arena_copy(a, from->name[i]);
        to.arguments[i] = arena_copy(a, from->arguments[i]);
    }
    return to;
}

static scripted *answers_kept(const scripted *from, size_t n, daruma_arena *a)
{
    scripted *to = ARENA_NEW(a, scripted, n + 1);
    for (size_t i = 0; to && i < n; i++)
        to[i] = answer_kept(&from[i], a);
    return to;
}

script_model model_kept(const script_model *m, daruma_arena *a)
{
    script_model to = *m;
    to.name = arena_copy(a, m->name);
    to.limits.unsupported = list_kept(&m->limits.unsupported, a);
    to.limits.renamed = list_kept(&m->limits.renamed, a);
    to.limits.max = list_kept(&m->limits.max, a);
    to.limits.fixed = list_kept(&m->limits.fixed, a);
    to.limits.keywords = list_kept(&m->limits.keywords, a);
    to.manner.summary = arena_copy(a, m->manner.summary);
    to.answers = answers_kept(m->answers, m->nanswers, a);
    to.nanswers = to.answers ? m->nanswers : 0;
    to.loop.lap = answers_kept(m->loop.lap, m->loop.nlap, a);
    to.loop.nlap = to.loop.lap ? m->loop.nlap : 0;
    to.loop.then = answers_kept(m->loop.then, m->loop.nthen, a);
    to.loop.nthen = to.loop.then ? m->loop.nthen : 0;
    to.loop.text = kept(a, m->loop.text);
    return to;
}
