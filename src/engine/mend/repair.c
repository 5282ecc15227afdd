/* repair.c - JSON of what a model wrote instead: finds the value among fences and prose, undoes escapes that were
 * applied to all of it, and lets repair_read.c read it. What stands behind the value must not look like a part of it.
 */
#include "engine/mend/repair.h"
#include "engine/mend/mend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- escapes applied to the whole text ---- */

static const struct {
    const char *entity;
    char is;
} entities[] = {
    {"&quot;", '"'},  {"&#34;", '"'}, {"&#x22;", '"'}, {"&apos;", '\''}, {"&#39;", '\''},
    {"&#x27;", '\''}, {"&lt;", '<'},  {"&gt;", '>'},   {"&amp;", '&'},
};

/* Which entity stands at the start of s? -1 none. */
static int entity_at(daruma_str s)
{
    for (size_t i = 0; i < COUNT(entities); i++)
        if (str_starts(s, str_of(entities[i].entity)))
            return (int)i;
    return -1;
}

static daruma_str decode_entities(daruma_str s, daruma_arena *a)
{
    char *out = arena_take(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n;) {
        int e = s.p[i] == '&' ? entity_at(str_from(s, i)) : -1;
        out[n++] = e < 0 ? s.p[i] : entities[e].is;
        i += e < 0 ? 1 : strlen(entities[e].entity);
    }
    return (daruma_str){out, n};
}

/* {\"a\":\"b\"}: one level of a string's escapes without the string's quotes. */
static daruma_str decode_escapes(daruma_str s, daruma_arena *a)
{
    char *out = arena_take(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n; i++) {
        if (s.p[i] != '\\' || i + 1 == s.n) {
            out[n++] = s.p[i];
            continue;
        }
        char c = s.p[++i];
        if (c == 'u')
            out[n++] = '\\'; /* as good within the strings of the value, and nowhere else */
        out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    }
    return (daruma_str){out, n};
}

/* Does the first name or text of the value at `at` begin with `mark` instead of a quote? */
static bool quoted_by(daruma_str text, size_t at, bool (*is)(daruma_str))
{
    for (int i = 0; i < 3 && at < text.n && (text.p[at] == '{' || text.p[at] == '['); i++)
        at = repair_blank(text, at + 1);
    return is(str_from(text, at));
}

static bool is_entity(daruma_str s)
{
    int e = entity_at(s);
    return e >= 0 && (entities[e].is == '"' || entities[e].is == '\'');
}

static bool is_escaped(daruma_str s)
{
    return str_starts(s, S("\\\"")) || str_starts(s, S("\\n"));
}

/* ---- what is left over ---- */

/* May what is left behind the value text[at..end) be prose or junk, or the same value once more? When it looks as if
 * the value went on, nobody knows where it ends; of two values nobody knows which one is meant. */
static bool is_leftover(daruma_str text, size_t at, size_t end, bool in_prose, bool quotes)
{
    daruma_str left = str_trim(str_from(text, end));
    size_t marks = 0;
    if (left.n == 0)
        return true;
    if (quotes && !in_prose && !str_starts(left, S("```")))
        return false;
    if (in_prose && (left.p[0] == '}' || left.p[0] == ']'))
        return false; /* what it closes began before the words */
    for (size_t i = 0; i < left.n; i++)
        marks += left.p[i] == '"';
    if (left.n <= REPAIR_JUNK_BYTES_MAX)
        return !marks || end < 2 || text.p[end - 2] != '"';
    if (left.p[0] == '{' || left.p[0] == '[')
        return str_eq(left, str_trim(str_sub(text, at, end - at)));
    if (left.p[0] == ',')
        return false;
    if (left.p[0] == '"' || left.p[0] == ':' || left.p[0] == '\'')
        return false;
    size_t n = left.n;
    bool bracket = false;
    while (n && (left.p[n - 1] == '}' || left.p[n - 1] == ']' || ch_space(left.p[n - 1])))
        bracket |= !ch_space(left.p[--n]);
    return marks % 2 == 0 && !(bracket && n && left.p[n - 1] == '"');
}

/* ---- finding it ---- */

static repair_value repair_find(daruma_str text, daruma_arena *a, int level);

/* Behind the words and the fence that stand before a value: offset of the first bracket, STR_NONE when there is none.
 */
static size_t next_bracket(daruma_str text, size_t at)
{
    while (at < text.n && text.p[at] != '{' && text.p[at] != '[')
        at++;
    return at < text.n ? at : STR_NONE;
}

/* The value at text[at], a bracket. */
static repair_value value_here(daruma_str text, size_t at, bool in_prose, daruma_arena *a, int level)
{
    daruma_str strict = {0};
    size_t end = json_skip(text, at, &strict);
    if (end != STR_NONE)
        return is_leftover(text, at, end, in_prose, false) ? (repair_value){.json = strict} : (repair_value){0};
    if (level < 2 && quoted_by(text, at, is_escaped))
        return repair_find(decode_escapes(str_from(text, at), a), a, level + 1);
    if (level < 2 && quoted_by(text, at, is_entity))
        return repair_find(decode_entities(str_from(text, at), a), a, level + 1);
    repair_value v = repair_read(text, at, a);
    return !v.json.n || is_leftover(text, at, v.end, in_prose, v.quotes) ? v : (repair_value){0};
}

/* An empty object or a list of plain things in a sentence ("use {}", "see [1]") is seldom what the sentence is about.
 */
static bool is_aside(daruma_str json)
{
    json_iter it = json_open(json);
    daruma_str value;
    bool any = false;
    while (json_next(&it, NULL, &value))
        if (json_is_object(json) || json_is_object(value) || json_is_array(value))
            any = true;
    return !any;
}

/* True if what stands in front of a value are words about it, or a fence. With a quote in it, or without any of these,
 * it may be what is left of members whose beginning was lost. */
static bool is_prose(daruma_str before, bool fenced)
{
    bool letter = false;
    for (size_t i = 0; i < before.n; i++)
        letter |= ch_alpha(before.p[i]);
    return (letter || fenced) && str_findch(before, '"') == STR_NONE;
}

static repair_value among_prose(daruma_str text, daruma_arena *a, int level)
{
    repair_value aside = {0};
    size_t at = 0;
    for (int tried = 0; tried < REPAIR_STARTS_MAX; tried++) {
        at = next_bracket(text, at);
        if (at == STR_NONE)
            break;
        daruma_str before = str_trim(str_sub(text, 0, at));
        bool fenced = str_find(before, S("```")) != STR_NONE, prose = before.n && !fenced;
        if (before.n && !is_prose(before, fenced))
            break;
        repair_value f = value_here(text, at, prose || fenced, a, level);
        if (f.cut || (f.json.n && !(prose && is_aside(f.json))))
            return f;
        if (f.json.n && !aside.json.n)
            aside = f;
        const char *end = json_end_quick(text.p + at, text.p + text.n);
        if (!end)
            break; /* what begins within a broken value is not the value */
        at = (size_t)(end - text.p);
        if (!prose && !fenced && !f.json.n)
            break; /* the text began with it */
    }
    return aside;
}

/* A text without brackets that is one value: True, 'abc'. */
static repair_value without_bracket(daruma_str text, daruma_arena *a)
{
    repair_value v = repair_read(text, 0, a);
    return str_trim(str_from(text, v.end)).n ? (repair_value){.cut = v.cut} : v;
}

static repair_value repair_find(daruma_str text, daruma_arena *a, int level)
{
    daruma_str value = {0};
    text = str_trim(text);
    if (str_starts(text, S("\xef\xbb\xbf")))
        text = str_trim(str_from(text, 3));
    if (!text.n || text.n > REPAIR_BYTES_MAX)
        return (repair_value){0};
    if (json_whole(text, &value)) /* of a number perhaps only the beginning */
        return json_is_number(value) ? (repair_value){.cut = true} : (repair_value){.json = value};
    size_t blank = repair_blank(text, 0);
    daruma_str within = str_trim(str_sub(text, 1, text.n > 2 ? text.n - 2 : 0));
    if (strchr("\"'`", text.p[0]) && text.p[text.n - 1] == text.p[0] && within.n > 1 && level < 2 &&
        (within.p[0] == '{' || within.p[0] == '[') && within.p[1] != '\\')
        return repair_find(within, a, level + 1); /* quotes around it whose escapes are missing */
    if (blank && blank < text.n && (text.p[blank] == '{' || text.p[blank] == '['))
        text = str_from(text, blank); /* comments in front */
    if (text.p[0] == '"' && level < 2 && quoted_by(text, 1, is_escaped))
        return repair_find(decode_escapes(str_from(text, 1), a), a, level + 1); /* a string that lost its last quote */
    if (level < 2 && is_entity(text))
        return repair_find(decode_entities(text, a), a, level + 1);
    if (next_bracket(text, 0) == STR_NONE)
        return text.p[0] != '`' ? without_bracket(text, a) : (repair_value){0};
    return text.p[0] != '"' && text.p[0] != '\'' ? among_prose(text, a, level) : (repair_value){0};
}

repair_value repair_text(daruma_str broken, daruma_arena *a)
{
    repair_value v = json_valid(broken) ? (repair_value){.json = broken} : repair_find(broken, a, 0);
    if (v.json.n && !json_valid(v.json))
        v.json = (daruma_str){0};
    return v;
}

daruma_str json_repair(daruma_str broken, daruma_arena *a, bool *cut)
{
    repair_value v = repair_text(broken, a);
    if (cut)
        *cut = v.cut || v.missing;
    return v.missing ? (daruma_str){0} : v.json;
}
