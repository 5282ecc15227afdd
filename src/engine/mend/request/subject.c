/* subject.c - where a provider's message names something that is in the body: by path, in quotes, behind certain words,
 * or in passing. Names are compared without case, '_' and '-'. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/history.h"
#include "engine/mend/request/lesson.h"
#include "engine/mend/request/said.h"
#include "engine/mend/value.h"

static bool is_one_of(daruma_str name, const char *const *names)
{
    for (; *names; names++)
        if (name_same(name, str_of(*names)))
            return true;
    return false;
}

/* ---- what stays ---- */

// clang-format off
/* At the top of a body. The last ones name what is kept on the server: without them the model would answer to a
 * conversation that it does not see. */
static const char *const needed[] = {
    "model", "messages", "input", "contents", "prompt", "tools", "system", "stream", "instructions", "system_instruction",
    "functions", "container", "thread", "conversation", "cached_content", "previous_response_id", NULL};
/* In a tool, in a message and its parts. */
static const char *const needed_below[] = {
    "name", "type", "function", "parameters", "input_schema", "description", "role", "content", "text", "id", "input",
    "arguments", "tool_use_id", "tool_call_id", "call_id", "tool_calls", "source", "image_url", "signature", "thinking",
    "output", "function_call", "parts", "function_response", "function_declarations", "data", "inline_data", "summary",
    "encrypted_content", NULL};
// clang-format on

/* Settings whose members the client names: a schema's properties, labels. They are no parameters. */
static const char *const clients_own[] = {
    "schema", "response_schema", "response_json_schema", "metadata", "labels", "logit_bias", NULL};

bool parameter_in_lists(daruma_str path)
{
    static const char *const lists[] = {"messages", "contents", "input", "tools", "system", "functions", NULL};
    daruma_str top = str_cut(&path, '.');
    return is_one_of(top, lists);
}

static bool may_change(daruma_str path)
{
    if (str_findch(path, '.') == STR_NONE)
        return !is_one_of(path, needed) && !name_same(path, S("generationConfig")); /* what holds all settings */
    return !parameter_in_lists(path) || !is_one_of(path_last(path), needed_below);
}

bool parameter_may_go(const convo *c, daruma_str path)
{
    return may_change(path) && !(history_anthropic(c) && str_eq(path, S("max_tokens"))); /* which it asks for */
}

/* ---- finding what is named ---- */

enum { STEPS_MAX = 12 };

typedef struct steps {
    daruma_str step[STEPS_MAX];
    size_t n;
} steps;

/* "tools[0].function.strict", "/messages/1/name", "body.store", "generation_config": by steps. */
static steps steps_of(daruma_str name)
{
    static const char *const roots[] = {"body",      "request", "root", "GenerateContentRequest",
                                        "parameter", "param",   NULL};
    steps s = {0};
    for (size_t i = 0; i < name.n && s.n < STEPS_MAX;) {
        size_t n = i;
        while (n < name.n && (name_char(name.p[n]) || name.p[n] == '-'))
            n++;
        daruma_str step = str_sub(name, i, n - i);
        if (step.n && !(s.n == 0 && is_one_of(step, roots)))
            s.step[s.n++] = step;
        i = n + 1;
    }
    return s;
}

/* Follows the steps from `value`; a step that is not there (a tag of the provider's own: "tools.0.custom.name") is
 * passed over, the last one never. */
static bool follow(const steps *s, size_t i, daruma_str value, place at, place *ret)
{
    daruma_str key, v;
    int64_t want, k = 0;
    if (i == s->n) {
        at.value = value;
        *ret = at;
        return true;
    }
    if (json_is_array(value)) {
        if (!str_int(s->step[i], &want))
            return false;
        for (json_iter it = json_open(value); json_next(&it, NULL, &v); k++)
            if (k == want)
                return place_push(&at, parameter_in_lists(place_path(&at)) ? S("*") : s->step[i]) &&
                       follow(s, i + 1, v, at, ret);
        return false;
    }
    if (!json_is_object(value))
        return false;
    for (json_iter it = json_open(value); json_next(&it, &key, &v);) {
        place p = at;
        if (name_same(key, s->step[i]) && place_push(&p, key) && follow(s, i + 1, v, p, ret))
            return true;
    }
    return i > 0 && i + 1 < s->n && follow(s, i + 1, value, at, ret);
}

/* Searches settings for a member of that name, or with that name when its parent's stands before it
 * ("reasoning_effort": reasoning.effort). */
static bool search(daruma_str value, daruma_str name, place at, daruma_str parent, int depth, place *ret)
{
    daruma_str key, v;
    if (!json_is_object(value) || depth == PARAMETER_DEPTH_MAX)
        return false;
    for (json_iter it = json_open(value); json_next(&it, &key, &v);) {
        char both[128];
        daruma_buf b = buf_over(both, sizeof both);
        place p = at;
        if (depth == 0 && is_one_of(key, needed))
            continue;
        BUF_SAY(&b, parent, key);
        if (!place_push(&p, key))
            continue;
        if (name_same(key, name) || (!b.full && name_same(buf_str(&b), name))) {
            p.value = v;
            *ret = p;
            return true;
        }
        if (!is_one_of(key, clients_own) && search(v, name, p, key, depth + 1, ret))
            return true;
    }
    return false;
}

/* A member of that name in any element of the lists: tools, messages and their parts. */
static bool search_lists(daruma_str value, daruma_str name, place at, int depth, place *ret)
{
    static const char *const schemas[] = {
        "parameters", "input_schema", "parameters_json_schema", "arguments", "input", "args", "response", NULL};
    daruma_str key, v;
    if (depth == 5)
        return false;
    if (json_is_array(value)) {
        if (!place_push(&at, S("*")))
            return false;
        for (json_iter it = json_open(value); json_next(&it, NULL, &v);)
            if (search_lists(v, name, at, depth + 1, ret))
                return true;
        return false;
    }
    for (json_iter it = json_open(value); json_is_object(value) && json_next(&it, &key, &v);) {
        place p = at;
        if (!place_push(&p, key))
            continue;
        if (name_same(key, name)) {
            p.value = v;
            *ret = p;
            return true;
        }
        if (!is_one_of(key, schemas) && search_lists(v, name, p, depth + 1, ret))
            return true;
    }
    return false;
}

/* Was it left out by now? */
static bool is_gone(const convo *c, const place *p)
{
    const convo_patch *patch = convo_patch_of(c, place_path(p), false);
    return (patch && patch->op == PATCH_DROP) || convo_patch_of(c, place_path(p), true);
}

bool parameter_named(const convo *c, daruma_str name, place *ret)
{
    static const char *const lists[] = {"tools", "messages", "contents", "input"};
    steps s = steps_of(name);
    place top = {0};
    daruma_str body = str_trim(c->body);
    if (!s.n || s.step[s.n - 1].n < 1 || ch_digit(s.step[s.n - 1].p[0]))
        return false;
    bool there = follow(&s, 0, body, top, ret) && !is_gone(c, ret);
    if (there && (may_change(place_path(ret)) || (s.n == 1 && json_is_null(ret->value)))) /* which says nothing */
        return true;
    if (s.n > 2 && parameter_in_lists(s.step[0]))
        return false; /* it said where, and it is not there */
    if (search(body, s.step[s.n - 1], top, (daruma_str){0}, 0, ret) && may_change(place_path(ret)) && !is_gone(c, ret))
        return true;
    daruma_str key, value, list[COUNT(lists)] = {0};
    for (json_iter it = json_open(body); json_is_object(body) && json_next(&it, &key, &value);) /* once through it */
        for (size_t i = 0; i < COUNT(lists); i++)
            if (json_raw_eq(key, str_of(lists[i])))
                list[i] = value;
    for (size_t i = 0; i < COUNT(lists); i++) {
        place at = {0};
        if (json_is_array(list[i]) && place_push(&at, str_of(lists[i])) &&
            search_lists(list[i], s.step[s.n - 1], at, 0, ret) && may_change(place_path(ret)))
            return true;
    }
    return false;
}

/* ---- where messages name things ---- */

bool next_quoted(daruma_str m, size_t *at, daruma_str *word)
{
    for (size_t i = *at; i < m.n; i++) {
        size_t n = is_quote(m.p[i]) ? str_findch(str_from(m, i + 1), m.p[i]) : STR_NONE;
        if (n == STR_NONE || (i && ch_word(m.p[i - 1])))
            continue;
        *word = str_sub(m, i + 1, n);
        *at = i + n + 2;
        return true;
    }
    return false;
}

enum {
    NAME_BYTES_MAX = 64, /* a longer one is no setting's */
    MENTION_COST = 4,    /* of a byte of the message: a name that nearly stands there is compared from many places */
};

/* Where the message says the name, whatever joins its words ("thinking budget": thinkingBudget); STR_NONE nowhere. */
static size_t mention(daruma_str m, daruma_str name)
{
    if (name.n > NAME_BYTES_MAX)
        return STR_NONE;
    static const char *const everyday[] = {"n",       "user", "text",   "stop", "store",
                                           "include", "seed", "format", "type", NULL};
    bool plain = is_one_of(name, everyday);
    for (size_t at = 0; at < m.n; at++) {
        size_t i = at, k = 0;
        if (at && name_char(m.p[at - 1]))
            continue;
        while (i < m.n && k < name.n) {
            bool joint = i > at && (m.p[i] == '_' || m.p[i] == '-' || m.p[i] == ' ');
            if (name.p[k] == '_' || name.p[k] == '-')
                k++;
            else if (ch_ieq(m.p[i], name.p[k]))
                i++, k++;
            else if (joint)
                i++;
            else
                break;
        }
        if (k < name.n || (i < m.n && name_char(m.p[i])))
            continue;
        if (i + 1 < m.n && m.p[i] == '.' && name_char(m.p[i + 1]))
            continue; /* only a step on the way to something else */
        if (plain && !(at && is_quote(m.p[at - 1])) && !(at == 0 && i < m.n && m.p[i] == ':'))
            continue;
        return at;
    }
    return STR_NONE;
}

/* "'loc': ('body', 'messages', 0, 'name')", "\"loc\":[\"body\",\"seed\"]": where Pydantic says it is, by steps. */
static bool find_loc(const convo *c, daruma_str m, place *ret)
{
    char path[160];
    daruma_buf b = buf_over(path, sizeof path);
    size_t at = str_find(m, S("loc'")), other = str_find(m, S("loc\""));
    at = at < other ? at : other;
    daruma_str rest = at == STR_NONE ? (daruma_str){0} : str_from(m, at + 3), step;
    while (rest.n && (is_quote(rest.p[0]) || rest.p[0] == ':' || rest.p[0] == ' '))
        rest = str_from(rest, 1);
    if (!rest.n || (rest.p[0] != '(' && rest.p[0] != '['))
        return false;
    size_t end = str_findch(rest, rest.p[0] == '(' ? ')' : ']');
    for (rest = str_sub(rest, 1, end == STR_NONE ? 0 : end - 1); rest.n;) {
        step = str_trim(str_cut(&rest, ','));
        if (step.n > 1 && is_quote(step.p[0]))
            step = str_sub(step, 1, step.n - 2);
        if (b.n && step.n)
            buf_putc(&b, '.');
        buf_put(&b, step);
    }
    return b.n && !b.full && parameter_named(c, buf_str(&b), ret);
}

/* Settings that some providers call otherwise in their words; all of a row must be said. */
static bool find_called(const convo *c, daruma_str m, place *ret)
{
    static const struct {
        const char *says, *and, *name;
    } rows[] = {
        {"budget", "thinking mode", "thinkingBudget"}, /* Gemini: Budget 0 is invalid. This model only works in ... */
        {"penalty is not enabled", NULL, "presencePenalty"},
        {"penalty is not enabled", NULL, "frequencyPenalty"},
        {"logprobs is not enabled", NULL, "responseLogprobs"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (says(m, rows[i].says) && (!rows[i].and || says(m, rows[i].and)) &&
            parameter_named(c, str_of(rows[i].name), ret))
            return true;
    return false;
}

/* Takes what it costs to look for something once more out of `*left`. False: that is not there. */
static bool pays(size_t *left, size_t cost)
{
    bool can = cost <= *left;
    *left -= can ? cost : *left;
    return can;
}

/* The setting that is mentioned first. `*left`: so many bytes of the message may still be gone through. */
static void find_mentioned(daruma_str value, daruma_str m, place at, daruma_str parent, int depth, size_t *left,
                           size_t *first, place *ret)
{
    daruma_str key, v;
    if (!json_is_object(value) || depth == PARAMETER_DEPTH_MAX)
        return;
    for (json_iter it = json_open(value); json_next(&it, &key, &v);) {
        char both[128];
        daruma_buf b = buf_over(both, sizeof both);
        place p = at;
        if ((depth == 0 && is_one_of(key, needed)) || !place_push(&p, key))
            continue;
        if (!pays(left, m.n * MENTION_COST))
            return;
        size_t where = mention(m, key);
        BUF_SAY(&b, parent, "_", key);
        if (parent.n && !b.full && mention(m, buf_str(&b)) < where)
            where = mention(m, buf_str(&b));
        if (where < *first) {
            *first = where;
            p.value = v;
            *ret = p;
        }
        if (!is_one_of(key, clients_own))
            find_mentioned(v, m, p, key, depth + 1, left, first, ret);
    }
}

/* Behind these words stands a name without quotes. */
static const char *const before_name[] = {"argument supplied: ", "arguments supplied: ", "keyword argument ",
                                          "parameter: ",         "parameters: ",         "unknown field ",
                                          "unknown field: ",     "argument: ",           "property "};

bool parameter_find_within(const convo *c, const daruma_failure *f, size_t bytes, place *ret)
{
    const size_t cost = c->body.n; /* of a name: the request is gone through for each */
    daruma_str m = f->message, word, at_word;
    size_t at = str_ifind(m, S("unknown name "));
    if (at != STR_NONE) { /* Google: Unknown name "x" at 'generation_config': Cannot find field. */
        at += 12;
        if (next_quoted(m, &at, &word)) {
            char path[160];
            daruma_buf b = buf_over(path, sizeof path);
            if (str_starts(str_from(m, at), S(" at ")) && next_quoted(m, &at, &at_word)) {
                BUF_SAY(&b, at_word, ".");
            }
            buf_put(&b, word);
            return !b.full && parameter_named(c, buf_str(&b), ret);
        }
    }
    if (f->subject.n && parameter_named(c, f->subject, ret))
        return true;
    if (find_loc(c, m, ret))
        return true;
    m = str_starts(m, S("* ")) ? str_from(m, 2) : m; /* Google's lists */
    size_t colon = str_find(m, S(": ")), space = str_findch(m, ' ');
    if (colon != STR_NONE && colon < space && parameter_named(c, str_sub(m, 0, colon), ret))
        return true;
    for (at = 0; next_quoted(m, &at, &word);) /* the subject was looked for */
        if (word.n <= 128 && !str_eq(word, f->subject) && pays(&bytes, cost) && parameter_named(c, word, ret))
            return true;
    for (size_t i = 0; i < COUNT(before_name); i++) {
        at = str_ifind(m, str_of(before_name[i]));
        if (at == STR_NONE)
            continue;
        daruma_str rest = str_from(m, at + strlen(before_name[i]));
        for (size_t n = 1; n;) { /* "arguments supplied: foo, top_k" */
            n = 0;
            while (n < rest.n && (name_char(rest.p[n]) || rest.p[n] == '.' || rest.p[n] == '[' || rest.p[n] == ']'))
                n++;
            daruma_str name = str_sub(rest, 0, n);
            while (name.n && name.p[name.n - 1] == '.')
                name.n--;
            if (name.n && pays(&bytes, cost) && parameter_named(c, name, ret))
                return true;
            rest = str_from(rest, n);
            n = str_starts(rest, S(", ")) ? n : 0;
            rest = str_from(rest, n ? 2 : 0);
        }
    }
    if (find_called(c, m, ret))
        return true;
    place top = {0};
    size_t first = STR_NONE, left = NAMES_LOOKED_BYTES_MAX;
    find_mentioned(str_trim(c->body), m, top, (daruma_str){0}, 0, &left, &first, ret);
    return first != STR_NONE && may_change(place_path(ret));
}

bool parameter_find(const convo *c, const daruma_failure *f, place *ret)
{
    size_t some = c->body.n * NAMES_LOOKED_MIN;
    return parameter_find_within(c, f, some > NAMES_LOOKED_BYTES_MAX ? some : NAMES_LOOKED_BYTES_MAX, ret);
}

bool parameter_beside(const convo *c, daruma_str path, daruma_str name)
{
    steps s = steps_of(str_sub(path, 0, path.n - path_last(path).n));
    place top = {0}, there;
    return follow(&s, 0, str_trim(c->body), top, &there) && json_get(there.value, name).n;
}
