/* parameter.c - which parameter a provider speaks of, and what it wants done with it. Two questions, each answered by
 * rows: where does the message name something that is in the body, and do its words ask to rename, to change or to
 * leave out. Nothing is touched that the request cannot do without. */
#include "engine/mend/lesson.h"
#include "engine/mend/value.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

static bool says(daruma_str text, const char *words_lower)
{
    return str_ifind(text, str_of(words_lower)) != STR_NONE;
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool name_char(char c)
{
    return ch_alpha(c) || ch_digit(c) || c == '_';
}

static bool is_one_of(daruma_str name, const char *const *names)
{
    for (; *names; names++)
        if (name_same(name, str_of(*names)))
            return true;
    return false;
}

/* ---- what stays ---- */

/* At the top of a body. */
static const char *const needed[] = {"model",  "messages", "input",        "contents",           "prompt",    "tools",
                                     "system", "stream",   "instructions", "system_instruction", "functions", NULL};
/* In a tool, in a message and its parts. */
static const char *const needed_below[] = {"name",
                                           "type",
                                           "function",
                                           "parameters",
                                           "input_schema",
                                           "description",
                                           "role",
                                           "content",
                                           "text",
                                           "id",
                                           "input",
                                           "arguments",
                                           "tool_use_id",
                                           "tool_call_id",
                                           "call_id",
                                           "tool_calls",
                                           "source",
                                           "image_url",
                                           "signature",
                                           "thinking",
                                           "output",
                                           "function_call",
                                           "parts",
                                           "function_response",
                                           "function_declarations",
                                           "data",
                                           "inline_data",
                                           "summary",
                                           "encrypted_content",
                                           NULL};

static bool in_lists(daruma_str path)
{
    static const char *const lists[] = {"messages", "contents", "input", "tools", "system", "functions", NULL};
    daruma_str top = str_cut(&path, '.');
    return is_one_of(top, lists);
}

static bool may_change(daruma_str path)
{
    if (str_findch(path, '.') == STR_NONE)
        return !is_one_of(path, needed) && !name_same(path, S("generationConfig")); /* what holds all settings */
    return !in_lists(path) || !is_one_of(path_last(path), needed_below);
}

static bool may_go(const convo *c, daruma_str path)
{
    bool anthropic = (c->quirks & WIRE_RESULTS_IN_USER) && !(c->quirks & WIRE_NO_IDS); /* it asks for max_tokens */
    return may_change(path) && !(anthropic && str_eq(path, S("max_tokens")));
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
                return place_push(&at, in_lists(place_path(&at)) ? S("*") : s->step[i]) && follow(s, i + 1, v, at, ret);
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
        buf_put(&b, parent);
        buf_put(&b, key);
        if (!place_push(&p, key))
            continue;
        if (name_same(key, name) || (!b.full && name_same(buf_str(&b), name))) {
            p.value = v;
            *ret = p;
            return true;
        }
        if (search(v, name, p, key, depth + 1, ret))
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

static bool find_named(const convo *c, daruma_str name, place *ret)
{
    static const char *const lists[] = {"tools", "messages", "contents", "input"};
    steps s = steps_of(name);
    place top = {0};
    daruma_str body = str_trim(c->body);
    if (!s.n || s.step[s.n - 1].n < 1 || ch_digit(s.step[s.n - 1].p[0]))
        return false;
    if (follow(&s, 0, body, top, ret) && may_change(place_path(ret)))
        return true;
    if (s.n > 2 && in_lists(s.step[0]))
        return false; /* it said where, and it is not there */
    if (search(body, s.step[s.n - 1], top, (daruma_str){0}, 0, ret) && may_change(place_path(ret)))
        return true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        daruma_str list = json_get(body, str_of(lists[i]));
        place at = {0};
        if (json_is_array(list) && place_push(&at, str_of(lists[i])) &&
            search_lists(list, s.step[s.n - 1], at, 0, ret) && may_change(place_path(ret)))
            return true;
    }
    return false;
}

/* ---- where messages name things ---- */

/* The word in quotes that begins at or behind *at; *at moves behind it. */
static bool next_quoted(daruma_str m, size_t *at, daruma_str *word)
{
    for (size_t i = *at; i < m.n; i++) {
        if (!is_quote(m.p[i]) || (i && name_char(m.p[i - 1])))
            continue;
        size_t n = str_findch(str_from(m, i + 1), m.p[i]);
        if (n == STR_NONE)
            return false;
        *word = str_sub(m, i + 1, n);
        *at = i + n + 2;
        return true;
    }
    return false;
}

/* Where the message says the name, whatever joins its words ("thinking budget": thinkingBudget); STR_NONE nowhere. */
static size_t mention(daruma_str m, daruma_str name)
{
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

/* The setting that is mentioned first. */
static void find_mentioned(daruma_str value, daruma_str m, place at, daruma_str parent, int depth, size_t *first,
                           place *ret)
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
        size_t where = mention(m, key);
        buf_put(&b, parent);
        buf_putc(&b, '_');
        buf_put(&b, key);
        if (parent.n && !b.full && mention(m, buf_str(&b)) < where)
            where = mention(m, buf_str(&b));
        if (where < *first) {
            *first = where;
            p.value = v;
            *ret = p;
        }
        find_mentioned(v, m, p, key, depth + 1, first, ret);
    }
}

/* Behind these words stands a name without quotes. */
static const char *const before_name[] = {"argument supplied: ", "arguments supplied: ", "keyword argument ",
                                          "parameter: ",         "parameters: ",         "unknown field ",
                                          "unknown field: ",     "argument: ",           "property "};

static bool find_subject(const convo *c, const daruma_failure *f, place *ret)
{
    daruma_str m = f->message, word, at_word;
    size_t at = str_ifind(m, S("unknown name "));
    if (at != STR_NONE) { /* Google: Unknown name "x" at 'generation_config': Cannot find field. */
        at += 12;
        if (next_quoted(m, &at, &word)) {
            char path[160];
            daruma_buf b = buf_over(path, sizeof path);
            if (str_starts(str_from(m, at), S(" at ")) && next_quoted(m, &at, &at_word)) {
                buf_put(&b, at_word);
                buf_putc(&b, '.');
            }
            buf_put(&b, word);
            return !b.full && find_named(c, buf_str(&b), ret);
        }
    }
    if (f->subject.n && find_named(c, f->subject, ret))
        return true;
    m = str_starts(m, S("* ")) ? str_from(m, 2) : m; /* Google's lists */
    size_t colon = str_find(m, S(": ")), space = str_findch(m, ' ');
    if (colon != STR_NONE && colon < space && find_named(c, str_sub(m, 0, colon), ret))
        return true;
    for (at = 0; next_quoted(m, &at, &word);)
        if (word.n <= 128 && find_named(c, word, ret))
            return true;
    for (size_t i = 0; i < sizeof before_name / sizeof *before_name; i++) {
        at = str_ifind(m, str_of(before_name[i]));
        if (at == STR_NONE)
            continue;
        daruma_str rest = str_from(m, at + strlen(before_name[i]));
        size_t n = 0;
        while (n < rest.n && (name_char(rest.p[n]) || rest.p[n] == '.' || rest.p[n] == '[' || rest.p[n] == ']'))
            n++;
        while (n && rest.p[n - 1] == '.')
            n--;
        if (n && find_named(c, str_sub(rest, 0, n), ret))
            return true;
    }
    place top = {0};
    size_t first = STR_NONE;
    find_mentioned(str_trim(c->body), m, top, (daruma_str){0}, 0, &first, ret);
    return first != STR_NONE && may_change(place_path(ret));
}

/* ---- what is to be done ---- */

/* The name that is to be used instead. */
static daruma_str new_name(daruma_str m, daruma_str old)
{
    static const char *const before[] = {"use ",         "did you mean ",  "renamed to ",
                                         "replaced by ", "replaced with ", "in favor of "};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        daruma_str rest = m;
        for (size_t at; (at = str_ifind(rest, str_of(before[i]))) != STR_NONE;) {
            rest = str_from(rest, at + strlen(before[i]));
            bool quoted = rest.n && is_quote(rest.p[0]);
            daruma_str name = str_from(rest, quoted);
            size_t n = 0;
            while (n < name.n && (name_char(name.p[n]) || name.p[n] == '.'))
                n++;
            while (n && name.p[n - 1] == '.')
                n--;
            bool wide = memchr(name.p, '_', n) || memchr(name.p, '.', n);
            bool instead = str_istarts(str_trim(str_from(name, n + quoted)), S("instead"));
            name = str_sub(name, 0, n);
            if (n > 1 && ch_alpha(name.p[0]) && (quoted || wide || instead) && !name_same(name, path_last(old)) &&
                (wide || instead || i))
                return name;
        }
    }
    return (daruma_str){0};
}

/* A number at the start of `s`, without the commas of thousands, into room[32]; what stands before a digit may be a
 * quote, "is", "to". */
static daruma_str number_at(daruma_str s, char room[32])
{
    size_t n = 0, i = 0;
    while (i < s.n && (is_quote(s.p[i]) || s.p[i] == ' ' || s.p[i] == ':' || s.p[i] == '='))
        i++;
    if (i < s.n && s.p[i] == '-')
        room[n++] = s.p[i++];
    size_t digits = i;
    for (; i < s.n && n < 31; i++)
        if (ch_digit(s.p[i]) ||
            (s.p[i] == '.' && i > digits && i + 1 < s.n && ch_digit(s.p[i + 1]) && s.p[i - 1] != '.'))
            room[n++] = s.p[i];
        else if (!(s.p[i] == ',' && i + 3 < s.n && ch_digit(s.p[i + 1]) && ch_digit(s.p[i + 2]) &&
                   ch_digit(s.p[i + 3])))
            break;
    daruma_str got = {room, n};
    return json_valid(got) && json_is_number(got) ? got : (daruma_str){0};
}

static daruma_str number_behind(daruma_str m, const char *const *words, char room[32])
{
    for (; *words; words++) {
        daruma_str rest = m;
        for (size_t at; (at = str_ifind(rest, str_of(*words))) != STR_NONE;) {
            rest = str_from(rest, at + strlen(*words));
            daruma_str n = number_at(rest, room);
            if (n.n)
                return n;
        }
    }
    return (daruma_str){0};
}

/* "range: 0..1", "between 0 and 2", "[0, 2]", "(0.0, 2.0]": both ends, or nothing. */
static bool both_ends(daruma_str m, char low[32], char high[32], daruma_str *ret_low, daruma_str *ret_high)
{
    static const char *const before[] = {"range: ",   "between ", "range of ", "in the range ",
                                         "range is ", "from ",    "[",         "("};
    static const char *const middle[] = {"..", " and ", " to ", ", ", " - ", "-", ","};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        daruma_str rest = m;
        for (size_t at; (at = str_ifind(rest, str_of(before[i]))) != STR_NONE;) {
            rest = str_from(rest, at + strlen(before[i]));
            daruma_str in = rest, a, b;
            while (in.n && (in.p[0] == '[' || in.p[0] == '('))
                in = str_from(in, 1);
            a = number_at(in, low);
            if (!a.n)
                continue;
            in = str_from(in, str_find(in, a) == STR_NONE ? a.n : str_find(in, a) + a.n);
            for (size_t k = 0; k < sizeof middle / sizeof *middle; k++)
                if (str_starts(in, str_of(middle[k])) && (b = number_at(str_from(in, strlen(middle[k])), high)).n) {
                    *ret_low = a;
                    *ret_high = b;
                    return true;
                }
        }
    }
    return false;
}

/* Bounds that a message sets, as "low..high"; empty: none. */
static daruma_str range_of(const convo *c, const daruma_failure *f, const place *p, daruma_arena *a)
{
    static const char *const uppers[] = {"less than or equal to",
                                         "at most",
                                         "<=",
                                         "maximum value of",
                                         "maximum of",
                                         "no more than",
                                         "cannot exceed",
                                         "not exceed",
                                         "exceeds the maximum",
                                         "up to",
                                         "maximum is",
                                         "maximum value is",
                                         "maximum allowed value is",
                                         "exceeds the limit of",
                                         "must be <",
                                         "less than",
                                         "maximum:",
                                         "max:",
                                         NULL};
    static const char *const lowers[] = {
        "greater than or equal to", "at least",         ">=", "minimum value of", "minimum of", "minimum is",
        "not be less than",         "minimum value is", NULL};
    char x[32], y[32];
    daruma_str low = {0}, high = {0}, m = f->message;
    if (!both_ends(m, x, y, &low, &high)) {
        high = number_behind(m, uppers, x);
        low = number_behind(m, lowers, y);
        size_t at = str_find(m, S(" > ")); /* "max_tokens: 100000 > 64000, which is the maximum" */
        if (!high.n && at != STR_NONE && says(m, "maximum"))
            high = number_at(str_from(m, at + 3), x);
    }
    if (!low.n && !high.n && f->limit > 0 && str_eq(place_path(p), c->set.max_output_path)) {
        daruma_buf b = buf_over(x, sizeof x);
        buf_int(&b, f->limit);
        high = buf_str(&b);
    }
    if (!low.n && !high.n)
        return (daruma_str){0};
    daruma_buf b = buf_in(a);
    buf_put(&b, low);
    BUF_LIT(&b, "..");
    buf_put(&b, high);
    return buf_str(&b);
}

/* The values that a message lists, as "in:a,b,c"; empty: none. */
static daruma_str values_of(daruma_str m, daruma_arena *a)
{
    static const char *const before[] = {"supported values", "expected one of", "must be one of",   "allowed values",
                                         "valid values",     "input should be", "one of:",          "supported:",
                                         "options are",      "valid options",   "permitted values", "should be one of"};
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < sizeof before / sizeof *before && !b.n; i++) {
        size_t at = str_ifind(m, str_of(before[i])), n = 0;
        daruma_str word;
        if (at == STR_NONE)
            continue;
        BUF_LIT(&b, "in:");
        for (; next_quoted(m, &at, &word) && word.n < 20 && b.n + word.n < 90; n++) {
            if (n)
                buf_putc(&b, ',');
            buf_put(&b, word);
        }
        if (!n)
            b.n = 0;
    }
    return buf_str(&b);
}

/* "must be set to false": that value; empty: none. */
static daruma_str fixed_value(daruma_str m)
{
    static const char *const before[] = {"must be set to ", "must be ", "should be set to ", "set it to "};
    static const char *const values[] = {"=true", "=false"};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t at = str_ifind(m, str_of(before[i]));
        daruma_str rest = at == STR_NONE ? (daruma_str){0} : str_from(m, at + strlen(before[i]));
        if (rest.n && is_quote(rest.p[0]))
            rest = str_from(rest, 1);
        for (size_t k = 0; rest.n && k < 2; k++)
            if (str_istarts(rest, str_from(str_of(values[k]), 1)))
                return str_of(values[k]);
    }
    return (daruma_str){0};
}

static daruma_str counted(const char *kind, daruma_str m, daruma_arena *a)
{
    static const char *const before[] = {"maximum length", "at most", "maximum of", "max length", "no more than", NULL};
    char room[32];
    daruma_str n = number_behind(m, before, room);
    daruma_buf b = buf_in(a);
    buf_putz(&b, kind);
    buf_put(&b, n);
    return n.n ? buf_str(&b) : (daruma_str){0};
}

/* Nothing but leaving it out is left, where that is possible. */
static bool drop(const convo *c, daruma_str path, mend_lesson *l)
{
    daruma_str last = path_last(path);
    if (name_same(last, S("budget_tokens"))) /* thinking without its budget is refused as well */
        path = str_sub(path, 0, path.n - last.n - 1);
    return path.n && may_go(c, path) && lesson_make(l, PATCH_DROP, path, (daruma_str){0});
}

/* `max_tokens` must be greater than `thinking.budget_tokens`: the second gives way. */
static bool below_another(const convo *c, const daruma_failure *f, mend_lesson *l)
{
    size_t at = str_ifind(f->message, S("must be greater than "));
    daruma_str other;
    place first, second;
    if (at == STR_NONE)
        return false;
    size_t behind = at + 20;
    if (!next_quoted(f->message, &behind, &other) || behind > at + 20 + other.n + 3 || !find_subject(c, f, &first) ||
        !find_named(c, other, &second) || !json_is_number(first.value) || !json_is_number(second.value))
        return false;
    int64_t high = json_int(first.value, 0) - 1;
    char room[32];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_LIT(&b, "..");
    buf_int(&b, high);
    if (high < 1024) /* Anthropic's least budget for thinking */
        return drop(c, place_path(&second), l);
    return lesson_make(l, PATCH_SET, place_path(&second), buf_str(&b));
}

static bool lesson_of(convo *c, const daruma_failure *f, mend_lesson *l)
{
    daruma_str m = f->message, rule;
    place p;
    if (says(m, "missing required") || says(m, "field required") || says(m, "header") || mend_format_meant(c, f))
        return false;
    if (below_another(c, f, l))
        return true;
    if (!find_subject(c, f, &p)) {
        /* Qwen: parameter.enable_thinking must be set to false for non-streaming calls. It need not be there. */
        static const char *const known[] = {"enable_thinking"};
        rule = fixed_value(m);
        return rule.n && says(m, known[0]) && lesson_make(l, PATCH_SET, str_of(known[0]), rule);
    }
    place other;
    if (says(m, "both") && name_same(place_path(&p), S("temperature")) && says(m, "top_p") &&
        find_named(c, S("top_p"), &other))
        p = other; /* of the two, the temperature is what people set on purpose */
    daruma_str path = place_path(&p), name = new_name(m, path);
    if (name.n && str_findch(name, '.') == STR_NONE && !in_lists(path)) {
        daruma_str last = path_last(path);
        place parent = {0}, there;
        steps s = steps_of(str_sub(path, 0, path.n - last.n));
        bool has = follow(&s, 0, str_trim(c->body), parent, &there) && json_get(there.value, name).n;
        return has ? drop(c, path, l) : lesson_make(l, PATCH_RENAME, path, name);
    }
    if (name.n)
        return drop(c, path, l);
    if ((rule = fixed_value(m)).n && str_istarts(str_from(rule, 1), json_is_true(p.value) ? S("false") : S("true")))
        return lesson_make(l, PATCH_SET, path, rule);
    const daruma_str rules[] = {
        json_is_number(p.value) ? range_of(c, f, &p, c->arena) : (daruma_str){0},
        json_is_string(p.value) ? values_of(m, c->arena) : (daruma_str){0},
        json_is_string(p.value) && says(m, "too long") ? counted("len:", m, c->arena) : (daruma_str){0},
        json_is_array(p.value) && says(m, "too long") ? counted("count:", m, c->arena) : (daruma_str){0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].n && lesson_value(rules[i], p.value, c->arena).n)
            return lesson_make(l, PATCH_SET, path, rules[i]);
    return drop(c, path, l);
}

bool mend_parameter(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep)
{
    mend_lesson l;
    if (!f || !c->body.n || !lesson_of(c, f, &l) || !mend_lesson_apply(c, &l, rep))
        return false;
    *ret = l;
    return true;
}
