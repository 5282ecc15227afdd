#include "chaos/answer.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

void answer_header(answer *x, daruma_str name, daruma_str value)
{
    for (size_t i = 0; i < x->nheaders; i++)
        if (str_ieq(x->headers[i].name, name)) {
            x->headers[i].value = value;
            return;
        }
    if (x->nheaders < ANSWER_HEADERS)
        x->headers[x->nheaders++] = (daruma_header){name, value};
}

daruma_str answer_header_of(const answer *x, daruma_str name)
{
    for (size_t i = 0; i < x->nheaders; i++)
        if (str_ieq(x->headers[i].name, name))
            return x->headers[i].value;
    return (daruma_str){0};
}

answer answer_json(int status, const daruma_buf *body)
{
    answer x = {.status = status, .body = buf_str(body)};
    answer_header(&x, S("content-type"), S("application/json"));
    return x;
}

daruma_str answer_piece(daruma_str *rest, size_t least)
{
    daruma_str s = *rest;
    size_t n = least < s.n ? least : s.n;
    while (n < s.n && n < least + 24 && s.p[n - 1] != ' ')
        n++;
    while (n < s.n && (s.p[n] & 0xc0) == 0x80)
        n++;
    *rest = str_from(s, n);
    return str_sub(s, 0, n);
}

/* ---- values that fit a schema ------------------------------------------------------- */

static bool type_is(daruma_str schema, const char *want)
{
    daruma_str type = json_get(schema, S("type")), one;
    json_iter it = json_open(type);
    if (json_is_string(type))
        return json_raw_eq(str_sub(type, 1, type.n - 2), str_of(want));
    while (json_next(&it, NULL, &one)) /* ["string", "null"]: the first is meant */
        return json_is_string(one) && json_raw_eq(str_sub(one, 1, one.n - 2), str_of(want));
    return false;
}

/* Follows "#/$defs/Name" from the root; empty when it leads nowhere. */
static daruma_str resolve(daruma_str root, daruma_str ref)
{
    daruma_str path = str_sub(ref, 1, ref.n - 2), at = root;
    if (!str_starts(path, S("#/")))
        return (daruma_str){0};
    path = str_from(path, 2);
    while (path.n && at.n)
        at = json_get(at, str_cut(&path, '/'));
    return at;
}

static void instance(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth);

static void instance_object(daruma_buf *out, daruma_str root, daruma_str schema, int depth)
{
    daruma_str key, value;
    bool first = true;
    json_iter it = json_open(json_get(schema, S("properties")));
    buf_putc(out, '{');
    while (depth < 16 && json_next(&it, &key, &value)) {
        buf_putz(out, first ? "\"" : ",\"");
        buf_put(out, key);
        BUF_LIT(out, "\":");
        instance(out, root, value, key, depth + 1);
        first = false;
    }
    buf_putc(out, '}');
}

static void instance_array(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth)
{
    int64_t n = json_int(json_get(schema, S("minItems")), 1);
    n = n < 1 ? 1 : n > 16 ? 16 : n;
    buf_putc(out, '[');
    for (int64_t i = 0; depth < 16 && i < n; i++) {
        if (i)
            buf_putc(out, ',');
        instance(out, root, json_get(schema, S("items")), name, depth + 1);
    }
    buf_putc(out, ']');
}

static void instance_string(daruma_buf *out, daruma_str schema, daruma_str name)
{
    static const struct {
        const char *format, *value;
    } formats[] = {{"date-time", "2026-01-02T03:04:05Z"},
                   {"date", "2026-01-02"},
                   {"time", "03:04:05Z"},
                   {"email", "someone@example.com"},
                   {"uri", "https://example.com/"},
                   {"uuid", "00000000-0000-4000-8000-000000000001"},
                   {"ipv4", "192.0.2.1"},
                   {"hostname", "example.com"}};
    daruma_str format = json_get(schema, S("format"));
    for (size_t i = 0; json_is_string(format) && i < sizeof formats / sizeof *formats; i++)
        if (json_raw_eq(str_sub(format, 1, format.n - 2), str_of(formats[i].format))) {
            buf_printf(out, "\"%s\"", formats[i].value);
            return;
        }
    int64_t least = json_int(json_get(schema, S("minLength")), 0),
            most = json_int(json_get(schema, S("maxLength")), -1);
    size_t cap = most >= 0 && most < 200 ? (size_t)most : 200;
    daruma_str text = str_sub(name.n && str_findch(name, '\\') == STR_NONE ? name : S("value"), 0, cap);
    buf_putc(out, '"');
    buf_put(out, text);
    for (size_t n = text.n; (int64_t)n < least && n < 4096; n++)
        buf_putc(out, 'x');
    buf_putc(out, '"');
}

static void instance(daruma_buf *out, daruma_str root, daruma_str schema, daruma_str name, int depth)
{
    static const char *const picks[] = {"anyOf", "oneOf", "allOf", "enum"};
    daruma_str ref = json_get(schema, S("$ref")), fixed = json_get(schema, S("const"));
    if (json_is_string(ref) && depth < 16) {
        instance(out, root, resolve(root, ref), name, depth + 1);
        return;
    }
    if (fixed.n) {
        buf_put(out, fixed);
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        daruma_str first = json_path(json_get(schema, str_of(picks[i])), "0");
        if (!first.n)
            continue;
        if (i == 3)
            buf_put(out, first);
        else
            instance(out, root, first, name, depth + 1);
        return;
    }
    daruma_str least = json_get(schema, S("minimum"));
    if (type_is(schema, "object") || json_get(schema, S("properties")).n)
        instance_object(out, root, schema, depth);
    else if (type_is(schema, "array"))
        instance_array(out, root, schema, name, depth);
    else if (type_is(schema, "integer") || type_is(schema, "number"))
        buf_put(out, json_is_number(least) ? least : S("1"));
    else if (type_is(schema, "boolean"))
        BUF_LIT(out, "true");
    else if (type_is(schema, "null"))
        BUF_LIT(out, "null");
    else
        instance_string(out, schema, name);
}

/* A value that fits a JSON schema, made up but always the same. */
static void answer_instance(daruma_buf *out, daruma_str schema)
{
    if (schema.n)
        instance(out, schema, schema, S("value"), 0);
    else
        BUF_LIT(out, "{}");
}

/* ---- what the model says -------------------------------------------------------------- */

/* Where the name of a tool stands in a text as a word of its own; STR_NONE. */
static size_t named_at(daruma_str text, daruma_str name)
{
    for (size_t at = 0; at + name.n <= text.n; at++) {
        size_t hit = str_find(str_from(text, at), name);
        if (hit == STR_NONE)
            return STR_NONE;
        at += hit;
        if ((at == 0 || !ch_word(text.p[at - 1])) && (at + name.n == text.n || !ch_word(text.p[at + name.n])))
            return at;
    }
    return STR_NONE;
}

static void call_tool(speech *s, const ask_tool *t, daruma_arena *a)
{
    daruma_buf args = buf_in(a);
    answer_instance(&args, t->schema);
    s->name[s->ncalls] = t->name;
    s->arguments[s->ncalls++] = buf_str(&args);
}

/* Calls the tools that the user names, in the order in which they are named. */
static void call_named_tools(speech *s, const ask *q, daruma_arena *a)
{
    size_t from = 0;
    while (s->ncalls < ANSWER_CALLS_MAX) {
        size_t best = STR_NONE;
        const ask_tool *next = NULL;
        for (size_t i = 0; i < q->noffered; i++) {
            size_t at = named_at(str_from(q->said, from), q->offered[i].name);
            if (at < best || (at == best && next && q->offered[i].name.n > next->name.n)) {
                best = at;
                next = &q->offered[i];
            }
        }
        if (!next)
            return;
        call_tool(s, next, a);
        from += best + next->name.n;
    }
}

static bool choice_is(const ask *q, const char *word)
{
    daruma_str type = json_is_object(q->tool_choice) ? json_get(q->tool_choice, S("type")) : q->tool_choice;
    return json_is_string(type) && json_raw_eq(str_sub(type, 1, type.n - 2), str_of(word));
}

/* Which tools are called: those that the user names; one that is demanded all the same. */
static void choose_tools(speech *s, const ask *q, daruma_arena *a)
{
    if (choice_is(q, "none") || q->noffered == 0)
        return;
    daruma_str demanded = json_path(q->tool_choice, "function.name");
    demanded = json_text(demanded.n ? demanded : json_get(q->tool_choice, S("name")), a);
    for (size_t i = 0; i < q->noffered; i++)
        if (demanded.n && str_eq(q->offered[i].name, demanded)) {
            call_tool(s, &q->offered[i], a);
            return;
        }
    if (q->nresults == 0)
        call_named_tools(s, q, a);
    if (s->ncalls == 0 && (choice_is(q, "required") || choice_is(q, "any")))
        call_tool(s, &q->offered[0], a);
}

static daruma_str text_of(const ask *q, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (q->format.n) {
        answer_instance(&b, q->format);
    } else if (q->json) {
        BUF_LIT(&b, "{\"answer\":");
        buf_json(&b, q->said);
        BUF_LIT(&b, "}");
    } else if (q->nresults) {
        BUF_LIT(&b, "The tools answered.");
        for (size_t i = 0; i < q->nresults; i++) {
            buf_putc(&b, ' ');
            buf_put(&b, q->results[i].name);
            BUF_LIT(&b, " said: ");
            buf_put(&b, str_trim(q->results[i].text));
            buf_putc(&b, '.');
        }
    } else if (str_istarts(q->said, S("say ")) && q->said.n > 4) {
        return str_from(q->said, 4);
    } else {
        BUF_LIT(&b, "You said: ");
        buf_put(&b, q->said);
    }
    return buf_str(&b);
}

static int64_t tokens_of(const speech *s)
{
    size_t n = s->text.n;
    for (size_t i = 0; i < s->ncalls; i++)
        n += s->name[i].n + s->arguments[i].n;
    return (int64_t)(n + 3) / 4;
}

static void twist_speech(speech *s, answer_twist twist)
{
    s->twist = twist;
    if (twist == ANSWER_NOTHING || twist == ANSWER_CHOICELESS) {
        s->text = S("");
        s->ncalls = 0;
    } else if (twist == ANSWER_FILTERED) {
        s->text = str_sub(s->text, 0, 0);
        s->ncalls = 0;
    } else if (twist == ANSWER_CUT_SHORT) {
        daruma_str rest = s->text;
        s->text = answer_piece(&rest, s->text.n / 2);
        s->cut = true;
        s->ncalls = 0;
    }
    for (size_t i = 0; i < s->ncalls; i++) {
        if (twist == ANSWER_BAD_ARGUMENTS)
            s->arguments[i] = str_sub(s->arguments[i], 0, s->arguments[i].n - 1);
        else if (twist == ANSWER_BAD_TOOL)
            s->name[i] = S("tool_that_nobody_offered");
    }
}

speech answer_speech(const ask *q, answer_twist twist, daruma_arena *a)
{
    speech s = {.input = q->tokens};
    choose_tools(&s, q, a);
    if (s.ncalls == 0)
        s.text = text_of(q, a);
    s.output = tokens_of(&s);
    if (q->max_output > 0 && s.ncalls == 0 && s.output > q->max_output) {
        size_t n = (size_t)q->max_output * 4;
        while (n && (s.text.p[n] & 0xc0) == 0x80)
            n--;
        s.text = str_sub(s.text, 0, n);
        s.cut = true;
    }
    twist_speech(&s, twist);
    s.output = tokens_of(&s);
    return s;
}
