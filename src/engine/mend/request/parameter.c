/* parameter.c - what a provider wants done with the parameter that subject.c found: its words ask to rename it, to
 * change its value, or nothing is left but to leave it out. Nothing is touched that the request cannot do without. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/request/lesson.h"
#include "engine/mend/request/said.h"
#include "engine/mend/value.h"

#define MEMBERS_LOOKED 256 /* of a request; the APIs have some 60 */

/* The name that is to be used instead. */
static daruma_str new_name(daruma_str m, daruma_str old)
{
    static const char *const before[] = {"use ",           "did you mean ", "renamed to ", "replaced by ",
                                         "replaced with ", "in favor of ",  "moved to "};
    for (size_t i = 0; i < COUNT(before); i++) {
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

/* One less in its last place: the largest number below `n`, which is in room[], that is written as short. */
static daruma_str below(daruma_str n, char *room)
{
    size_t i = n.n;
    while (i && (room[i - 1] == '0' || room[i - 1] == '.'))
        i--;
    if (!i || room[0] == '-')
        return n;
    room[i - 1]--;
    for (; i < n.n; i++)
        if (room[i] == '0')
            room[i] = '9';
    while (n.n > 1 && n.p[0] == '0' && ch_digit(n.p[1]))
        n = str_from(n, 1);
    return n;
}

/* Skips what says of a number whether it is one of the range: "2.0001 (exclusive)". */
static bool skip_bound(daruma_str *in)
{
    daruma_str s = str_trim(*in);
    bool excluded = str_istarts(s, S("(exclusive)"));
    if (excluded || str_istarts(s, S("(inclusive)")))
        *in = str_from(s, sizeof "(exclusive)" - 1);
    return excluded;
}

/* "range: 0..1", "between 0 and 2", "[0, 2]", "(0.0, 2.0]", "from 1 (inclusive) to 9 (exclusive)": both ends, or
 * nothing. */
static bool both_ends(daruma_str m, char low[32], char high[32], daruma_str *ret_low, daruma_str *ret_high)
{
    static const char *const before[] = {"range: ",   "between ", "range of ", "in the range ",
                                         "range is ", "from ",    "[",         "("};
    static const char *const middle[] = {"..", " and ", " to ", ", ", " - ", "-", ","};
    for (size_t i = 0; i < COUNT(before); i++) {
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
            skip_bound(&in);
            for (size_t k = 0; k < COUNT(middle); k++)
                if (str_starts(in, str_of(middle[k])) && (b = number_at(str_from(in, strlen(middle[k])), high)).n) {
                    in = str_from(in, strlen(middle[k]));
                    in = str_from(in, str_find(in, b) == STR_NONE ? b.n : str_find(in, b) + b.n);
                    *ret_low = a;
                    *ret_high = skip_bound(&in) ? below(b, high) : b;
                    return true;
                }
        }
    }
    return false;
}

/* Bounds that a message sets, as "low..high"; empty: none. */
static daruma_str range_of(const convo *c, const daruma_failure *f, const place *p, daruma_arena *a)
{
    // clang-format off
    static const char *const uppers[] = {
        "less than or equal to", "at most", "<=", "maximum value of", "maximum of", "no more than", "cannot exceed",
        "not exceed", "exceeds the maximum", "up to", "maximum is", "maximum value is", "maximum allowed value is",
        "exceeds the limit of", "must be <", "less than", "maximum:", "max:", NULL};
    static const char *const lowers[] = {
        "greater than or equal to", "at least", ">=", "minimum value of", "minimum of", "minimum is", "not be less than",
        "minimum value is", NULL};
    // clang-format on
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
    BUF_SAY(&b, low, "..", high);
    return buf_str(&b);
}

/* The values that a message lists, as "in:a,b,c"; empty: none. */
static daruma_str values_of(daruma_str m, daruma_arena *a)
{
    static const char *const before[] = {"supported values", "expected one of", "must be one of",   "allowed values",
                                         "valid values",     "input should be", "one of:",          "supported:",
                                         "options are",      "valid options",   "permitted values", "should be one of"};
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < COUNT(before) && !b.n; i++) {
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
    for (size_t i = 0; i < COUNT(before); i++) {
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
    BUF_SAY(&b, kind, n);
    return n.n ? buf_str(&b) : (daruma_str){0};
}

/* Nothing but leaving it out is left, where that is possible. */
static bool drop(const convo *c, daruma_str path, mend_lesson *l)
{
    daruma_str last = path_last(path);
    if (name_same(last, S("budget_tokens"))) /* thinking without its budget is refused as well */
        path = str_sub(path, 0, path.n - last.n - 1);
    bool null = !parameter_may_go(c, path) && json_is_null(json_get(str_trim(c->body), path));
    if (!path.n || !(null || parameter_may_go(c, path)) || !lesson_make(l, PATCH_DROP, path, (daruma_str){0}))
        return false;
    l->once = null; /* one that is not null has to stay in other requests */
    return true;
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
    if (!next_quoted(f->message, &behind, &other) || behind > at + 20 + other.n + 3 || !parameter_find(c, f, &first) ||
        !parameter_named(c, other, &second) || !json_is_number(first.value) || !json_is_number(second.value))
        return false;
    int64_t high = json_int(first.value, 0) - 1;
    char room[32];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_SAY(&b, "..", high);
    if (high < 1024) /* Anthropic's least budget for thinking */
        return drop(c, place_path(&second), l);
    return lesson_make(l, PATCH_SET, place_path(&second), buf_str(&b));
}

/* The output cap is missing because it has the name of another wire. */
static bool cap_misnamed(const convo *c, daruma_str m, mend_lesson *l)
{
    static const char *const names[] = {"max_tokens", "max_completion_tokens", "max_output_tokens"};
    daruma_str body = str_trim(c->body), want = {0}, have = {0};
    for (size_t i = 0; i < COUNT(names); i++) {
        daruma_str name = str_of(names[i]);
        if (json_is_number(json_get(body, name)))
            have = name;
        else if (says(m, names[i]))
            want = name;
    }
    return want.n && have.n && lesson_make(l, PATCH_RENAME, have, want);
}

/* The model does not stream, for nobody or not for this account: the answer comes whole, and who asked for a stream
 * gets one all the same. https://help.openai.com/en/articles/10910291-api-organization-verification */
static bool no_stream(const convo *c, const daruma_failure *f, mend_lesson *l)
{
    daruma_str body = str_trim(c->body);
    bool many = json_int(json_get(body, S("n")), 1) > 1; /* of which our stream would have one */
    if (!json_is_true(json_get(body, S("stream"))) || many || says(f->message, "stream_options") ||
        says(f->message, "only support"))
        return false;
    return said(f->message, SAID_NO_STREAM) && lesson_make(l, PATCH_SET, S("stream"), S("=false"));
}

/* The model does nothing but stream: "This model only support stream mode" (Qwen), "Stream must be set to true"
 * (Codex). Its stream is put together for who asked for a whole answer. Gemini says in the path what it wants, and no
 * model in the body. */
static bool only_streams(const convo *c, const daruma_failure *f, mend_lesson *l)
{
    daruma_str body = str_trim(c->body);
    if (json_is_true(json_get(body, S("stream"))) || !json_get(body, S("model")).n ||
        says(f->message, "stream_options"))
        return false;
    return said(f->message, SAID_ONLY_STREAM) && lesson_make(l, PATCH_SET, S("stream"), S("=true"));
}

static bool lesson_of(convo *c, const daruma_failure *f, mend_lesson *l)
{
    daruma_str m = f->message, rule;
    place p;
    if (no_stream(c, f, l) || only_streams(c, f, l))
        return true;
    if (says(m, "missing required") || says(m, "field required"))
        return cap_misnamed(c, m, l);
    if (says(m, "header") || mend_format_meant(c, f))
        return false;
    if (below_another(c, f, l))
        return l->once = true; /* the other number is this request's */
    if (!parameter_find(c, f, &p)) {
        /* Qwen: parameter.enable_thinking must be set to false for non-streaming calls. It need not be there. */
        static const char *const known[] = {"enable_thinking"};
        rule = fixed_value(m);
        return rule.n && says(m, known[0]) && lesson_make(l, PATCH_SET, str_of(known[0]), rule);
    }
    place other;
    if (says(m, "both") && name_same(place_path(&p), S("temperature")) && says(m, "top_p") &&
        parameter_named(c, S("top_p"), &other))
        p = other; /* of the two, the temperature is what people set on purpose */
    daruma_str path = place_path(&p), name = new_name(m, path);
    bool moves = str_findch(name, '.') != STR_NONE;
    if (name.n && (moves ? str_findch(path, '.') == STR_NONE : !parameter_in_lists(path)))
        return !moves && parameter_beside(c, path, name) ? drop(c, path, l) : lesson_make(l, PATCH_RENAME, path, name);
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
    for (size_t i = 0; i < COUNT(rules); i++)
        if (rules[i].n && lesson_value(rules[i], p.value, c->arena).n)
            return lesson_make(l, PATCH_SET, path, rules[i]);
    return drop(c, path, l);
}

/* Of a message, a part or a tool, and no keyword of a schema. */
static bool is_member(daruma_str path)
{
    static const char *const schemas[] = {".parameters.", ".input_schema.", ".parametersJsonSchema."};
    for (size_t i = 0; i < COUNT(schemas); i++)
        if (str_find(path, str_of(schemas[i])) != STR_NONE)
            return false;
    return parameter_in_lists(path);
}

bool mend_cache_marks(convo *c, const daruma_failure *f, mend_report *rep)
{
    static const char *const most[] = {"maximum of", NULL}, *const found[] = {"found", NULL};
    char x[32], y[32];
    daruma_str message, part;
    int64_t max, n, i = 0;
    uint32_t gone = 0;
    if (!f || !says(f->message, "cache_control") || !str_int(number_behind(f->message, most, x), &max) ||
        !str_int(number_behind(f->message, found, y), &n))
        return false;
    for (json_iter it = json_open(json_get(str_trim(c->body), S("messages"))); json_next(&it, NULL, &message); i++) {
        daruma_str content = json_get(message, S("content"));
        int64_t k = 0;
        if (!json_is_array(content))
            continue;
        for (json_iter in = json_open(content); gone < n - max && json_next(&in, NULL, &part); k++) {
            daruma_buf b = buf_in(c->arena);
            if (!json_is_object(part) || !json_is_object(json_get(part, S("cache_control"))))
                continue;
            buf_printf(&b, "messages.%d.content.%d.cache_control", (int)i, (int)k);
            c->full |= b.full;
            convo_patch_add(c, PATCH_DROP, buf_done(&b), (daruma_str){0});
            gone++;
        }
    }
    rep->patches += gone;
    if (gone)
        mend_say(rep, "%u older marks for the prompt cache were left out", gone);
    return gone > 0;
}

bool mend_member(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep)
{
    mend_lesson l;
    place p;
    if (!f || !said(f->message, SAID_EXTRA) || !c->body.n || !parameter_find(c, f, &p) || !is_member(place_path(&p)) ||
        !lesson_make(&l, PATCH_DROP, place_path(&p), (daruma_str){0}) || !mend_lesson_apply(c, &l, rep))
        return false;
    *ret = l;
    return true;
}

bool mend_empty_list(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep)
{
    static const struct {
        const char *name, *path;
    } lists[] = {{"tool_calls", LESSON_EMPTY_CALLS}, {"tools", "tools"}};
    mend_lesson l;
    bool complains = f && failure_said(f, SAID_EMPTY);
    for (size_t i = 0; complains && c->body.n && i < COUNT(lists); i++)
        if ((says(f->message, lists[i].name) || says(f->subject, lists[i].name)) &&
            lesson_make(&l, PATCH_DROP, str_of(lists[i].path), S(LESSON_EMPTY)) && mend_lesson_apply(c, &l, rep)) {
            *ret = l;
            return true;
        }
    return false;
}

/* Is it refused only in this mode: with a stream, while it thinks, with or without tools? What `path` itself is about
 * is no mode. */
static bool is_of_mode(const daruma_failure *f, daruma_str path)
{
    static const struct {
        const char *word, *own;
    } modes[] = {{"stream", "stream"},
                 {"reasoning effort", "reasoning"},
                 {"reasoning_effort", "reasoning"},
                 {"thinking.", "thinking"},
                 {"no tools", "tool"},
                 {"tools were given", "tool"}};
    for (size_t i = 0; i < COUNT(modes); i++)
        if (says(f->message, modes[i].word) && str_ifind(path, str_of(modes[i].own)) == STR_NONE)
            return true;
    return false;
}

/* Does the word stand in `m`, alone? */
static bool names(daruma_str m, daruma_str word)
{
    for (size_t from = 0, at; word.n && (at = str_ifind(str_from(m, from), word)) != STR_NONE; from += at + word.n) {
        size_t begin = from + at, end = begin + word.n;
        if ((!begin || !name_char(m.p[begin - 1])) && (end == m.n || !name_char(m.p[end])))
            return true;
    }
    return false;
}

static bool is_never_taken(const daruma_failure *f)
{
    return failure_said(f, SAID_NEVER) && !failure_said(f, SAID_CONDITION) && !failure_said(f, SAID_VALUE);
}

/* Is it refused only beside another member of this request, which it names? "Function tools with reasoning_effort are
 * not supported." */
static bool names_another(const convo *c, daruma_str path, daruma_str message)
{
    static const char *const words[] = {"model", "messages", "input", "contents", "user", "n"}; /* of any sentence */
    daruma_str key, v;
    json_iter it = json_open(str_trim(c->body));
    it.quick = true;
    for (size_t looked = 0; json_next(&it, &key, &v);) {
        if (++looked > MEMBERS_LOOKED) /* of a request like no other nothing lasts */
            return true;
        bool word = str_find(path, key) != STR_NONE;
        for (size_t i = 0; !word && i < COUNT(words); i++)
            word = str_eq(key, str_of(words[i]));
        if (!word && names(message, key))
            return true;
    }
    return false;
}

/* Do the provider's own words alone say the same? Those of the request are only of this request. */
static bool is_own(convo *c, const mend_lesson *l, const daruma_failure *own)
{
    mend_lesson same;
    place p;
    daruma_str keyword = lesson_keyword(l);
    if (keyword.n)
        return name_same(schema_complaint(own), keyword);
    if (lesson_of(c, own, &same))
        return same.op == l->op && strcmp(same.path, l->path) == 0 && strcmp(same.value, l->value) == 0;
    return l->op == PATCH_DROP && parameter_find(c, own, &p) && str_eq(place_path(&p), str_of(l->path));
}

bool mend_lesson_lasts(convo *c, const mend_lesson *l, const daruma_failure *f)
{
    daruma_str path = str_of(l->path), keyword = lesson_keyword(l);
    daruma_failure own = *f;
    if (l->op == PATCH_DROP && str_eq(str_of(l->value), S(LESSON_EMPTY)))
        return true;
    if (f->own.p && !str_eq(f->own, f->message)) {
        own.message = f->own;
        if (!is_own(c, l, &own))
            return false;
    }
    if (keyword.n)
        return !failure_said(f, SAID_PATTERN);
    if (l->op == PATCH_RENAME)
        return true;
    if (str_eq(path, S("stream")) && says(f->message, "verified")) /* "If you just verified" is no condition */
        return true;
    if (str_eq(path, S("stream")) && (says(f->message, "tool") || says(f->message, "function") ||
                                      says(f->message, "schema") || says(f->message, "streaming mode")))
        return false;
    if (l->once || failure_said(f, SAID_CONDITION) || is_of_mode(f, path) || names_another(c, path, f->message))
        return false;
    return l->op == PATCH_SET || is_never_taken(&own);
}

bool mend_format_lasts(const daruma_failure *f)
{
    return !failure_said(f, SAID_SCHEMA) && !failure_said(f, SAID_CONDITION) &&
           (f->kind != DARUMA_INVALID_TOOL_SCHEMA || failure_said(f, SAID_NEVER));
}

/* Is `f` about a member of this name? */
static bool is_about(const daruma_failure *f, daruma_str name)
{
    return name.n && ((f->subject.n && name_same(path_last(f->subject), name)) || names(f->message, name));
}

bool mend_lesson_hurts(const mend_lesson *l, const daruma_failure *f)
{
    daruma_str name = path_last(str_of(l->op == PATCH_RENAME ? l->value : l->path));
    if (str_eq(str_of(l->path), S("stream")) && str_eq(str_of(l->value), S("=false")) &&
        said(f->message, SAID_ONLY_STREAM))
        return true;
    if (lesson_keyword(l).n || str_eq(str_of(l->value), S(LESSON_EMPTY)) || !is_about(f, name))
        return false;
    if (l->op == PATCH_SET) /* what it set is refused as well; a history that is too long names the output's cap, too */
        return f->kind == DARUMA_INVALID_PARAMETER;
    return l->op == PATCH_DROP || is_never_taken(f);
}

bool mend_lesson_held(const convo *c, const mend_lesson *l, const daruma_failure *f)
{
    place p;
    if (f->kind == DARUMA_INVALID_TOOL_SCHEMA) {
        daruma_str keyword = schema_complaint(f);
        return keyword.n && !name_same(keyword, lesson_keyword(l));
    }
    size_t some = c->body.n > NAMES_LOOKED_BYTES_MAX ? c->body.n : NAMES_LOOKED_BYTES_MAX; /* this is on the loop */
    if (!parameter_find_within(c, f, some, &p))
        return false;
    daruma_str one = place_path(&p), other = str_of(l->path);
    return !str_starts(one, other) && !str_starts(other, one);
}

bool mend_parameter(convo *c, const daruma_failure *f, mend_lesson *ret, mend_report *rep)
{
    mend_lesson l;
    if (!f || !c->body.n || !lesson_of(c, f, &l) || !mend_lesson_apply(c, &l, rep))
        return false;
    *ret = l;
    return true;
}
