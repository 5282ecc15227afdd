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
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
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

/* May `left`, behind the value that ends text[..end], be prose or junk? When it looks as if the value went on, nobody
 * knows where it ends. */
static bool is_leftover(daruma_str text, size_t end, bool in_prose, bool quotes)
{
    daruma_str left = str_trim(str_from(text, end));
    size_t marks = 0;
    if (left.n == 0)
        return true;
    if (quotes && !in_prose && !str_starts(left, S("```")))
        return false;
    for (size_t i = 0; i < left.n; i++)
        marks += left.p[i] == '"';
    if (left.n <= REPAIR_JUNK_BYTES_MAX)
        return !marks || end < 2 || text.p[end - 2] != '"';
    if (left.p[0] == '{' || left.p[0] == '[')
        return true;
    if (left.p[0] == ',') {
        left = str_trim(str_from(left, 1));
        return left.n == 0 || left.p[0] == '{' || left.p[0] == '[';
    }
    if (left.p[0] == '"' || left.p[0] == ':' || left.p[0] == '\'')
        return false;
    size_t n = left.n;
    bool bracket = false;
    while (n && (left.p[n - 1] == '}' || left.p[n - 1] == ']' || ch_space(left.p[n - 1])))
        bracket |= !ch_space(left.p[--n]);
    return marks % 2 == 0 && !(bracket && n && left.p[n - 1] == '"');
}

/* ---- finding it ---- */

typedef struct found {
    daruma_str json;
    bool cut;
} found;

static found repair_text(daruma_str text, daruma_arena *a, int level);

/* Behind the words and the fence that stand before a value: offset of the first bracket, STR_NONE when there is none.
 */
static size_t next_bracket(daruma_str text, size_t at)
{
    while (at < text.n && text.p[at] != '{' && text.p[at] != '[')
        at++;
    return at < text.n ? at : STR_NONE;
}

/* The value at text[at], a bracket. */
static found value_here(daruma_str text, size_t at, bool in_prose, daruma_arena *a, int level)
{
    daruma_str strict = {0};
    size_t end = json_skip(text, at, &strict);
    if (end != STR_NONE)
        return is_leftover(text, end, in_prose, false) ? (found){strict, false} : (found){0};
    if (level < 2 && quoted_by(text, at, is_escaped))
        return repair_text(decode_escapes(str_from(text, at), a), a, level + 1);
    if (level < 2 && quoted_by(text, at, is_entity))
        return repair_text(decode_entities(str_from(text, at), a), a, level + 1);
    repair_value v = repair_read(text, at, false, a);
    return v.json.n && is_leftover(text, v.end, in_prose, v.quotes) ? (found){v.json, v.cut} : (found){0};
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

static found among_prose(daruma_str text, daruma_arena *a, int level)
{
    found aside = {0};
    size_t at = 0;
    for (int tried = 0; tried < REPAIR_STARTS_MAX; tried++) {
        at = next_bracket(text, at);
        if (at == STR_NONE)
            break;
        daruma_str before = str_trim(str_sub(text, 0, at));
        bool fenced = str_find(before, S("```")) != STR_NONE, prose = before.n && !fenced;
        found f = value_here(text, at, prose || fenced, a, level);
        if (f.json.n && !(prose && is_aside(f.json)))
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

/* A text without brackets that is one value: True, 'abc', 0x1F; or an object without its opening brace. */
static found without_bracket(daruma_str text, daruma_arena *a)
{
    if (repair_key_at(text, 0) && text.p[0] == '"') {
        repair_value v = repair_read(text, 0, true, a);
        if (v.json.n && !v.cut && is_leftover(text, v.end, false, v.quotes))
            return (found){v.json, false};
        return (found){0};
    }
    repair_value v = repair_read(text, 0, false, a);
    if (!v.json.n || v.cut || str_trim(str_from(text, v.end)).n)
        return (found){0};
    return (found){v.json, false};
}

static found repair_text(daruma_str text, daruma_arena *a, int level)
{
    daruma_str value = {0};
    text = str_trim(text);
    if (str_starts(text, S("\xef\xbb\xbf")))
        text = str_trim(str_from(text, 3));
    if (!text.n || text.n > REPAIR_BYTES_MAX)
        return (found){0};
    if (json_whole(text, &value))
        return (found){value, false};
    size_t blank = repair_blank(text, 0);
    daruma_str within = str_trim(str_sub(text, 1, text.n > 2 ? text.n - 2 : 0));
    if (strchr("\"'`", text.p[0]) && text.p[text.n - 1] == text.p[0] && within.n > 1 && level < 2 &&
        (within.p[0] == '{' || within.p[0] == '[') && within.p[1] != '\\')
        return repair_text(within, a, level + 1); /* quotes around it whose escapes are missing */
    if (blank && blank < text.n && (text.p[blank] == '{' || text.p[blank] == '['))
        text = str_from(text, blank); /* comments in front */
    bool named = text.p[0] == '"' && repair_key_at(text, 0);
    found f = named ? without_bracket(text, a) : (found){0};
    if (!f.json.n && text.p[0] == '"' && !named && level < 2 && quoted_by(text, 1, is_escaped))
        return repair_text(decode_escapes(str_from(text, 1), a), a, level + 1); /* a string that lost its last quote */
    if (!f.json.n && level < 2 && is_entity(text))
        return repair_text(decode_entities(text, a), a, level + 1);
    if (!f.json.n && !named && text.p[0] != '"' && text.p[0] != '\'')
        f = among_prose(text, a, level);
    if (!f.json.n && !named && next_bracket(text, 0) == STR_NONE)
        f = without_bracket(text, a);
    return f;
}

daruma_str json_repair(daruma_str broken, daruma_arena *a, bool *cut)
{
    found f = {0};
    if (json_valid(broken))
        f.json = broken;
    else
        f = repair_text(broken, a, 0);
    if (cut)
        *cut = f.cut;
    return f.json.n && json_valid(f.json) ? f.json : (daruma_str){0};
}
