/* repair.c - JSON of what a model wrote instead: finds the value among fences and prose, undoes escapes that were
 * applied to all of it, and lets repair_read.c read it. What stands behind the value must not look like a part of it.
 */
#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/repair.h"
#include "engine/mend/answer/answer.h"

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

/* {\"a\":\"b\"}: one level of a string's escapes without the string's quotes. Nothing where a backslash is none of
 * them: the others may as well stand for themselves. */
static daruma_str decode_escapes(daruma_str s, daruma_arena *a)
{
    static const char from[] = "\"'\\/bfnrtu", to[] = "\"'\\/\b\f\n\r\tu";
    char *out = arena_take(a, s.n + 1, 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n; i++) {
        if (s.p[i] != '\\' || i + 1 == s.n) {
            out[n++] = s.p[i];
            continue;
        }
        char c = s.p[++i];
        const char *known = c ? strchr(from, c) : NULL;
        if (!known)
            return (daruma_str){0};
        if (c == 'u')
            out[n++] = '\\'; /* as good within the strings of the value, and nowhere else */
        out[n++] = to[known - from];
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
    repair_value v = {0};
    v.end = json_skip(text, at, &v.json);
    if (v.end != STR_NONE)
        return is_leftover(text, at, v.end, in_prose, false) ? v : (repair_value){0};
    if (level < 2 && quoted_by(text, at, is_escaped))
        v = repair_find(decode_escapes(str_from(text, at), a), a, level + 1);
    else if (level < 2 && quoted_by(text, at, is_entity))
        v = repair_find(decode_entities(str_from(text, at), a), a, level + 1);
    else if ((v = repair_read(text, at, a)).json.n)
        return is_leftover(text, at, v.end, in_prose, v.quotes) ? v : (repair_value){0};
    v.end = text.n;
    return v;
}

/* May a value begin with the bracket text[at]? Not {name}, [see below]. */
static bool begins_value(daruma_str text, size_t at)
{
    daruma_str ignored;
    size_t next = repair_blank(text, at + 1);
    char c = next < text.n ? text.p[next] : 0;
    if (text.p[at] == '{')
        return c == '}' || !c || repair_key_at(text, next);
    return (c && strchr("{[\"'-", c)) || ch_digit(c) || json_skip(text, at, &ignored) != STR_NONE;
}

/* [1], [2, 3], [ ] in a sentence are seldom what the sentence is about: offset behind it, 0 when it is no such list. */
static size_t aside_end(daruma_str text, size_t at)
{
    if (text.p[at++] != '[')
        return 0;
    while (at < text.n && (ch_digit(text.p[at]) || ch_space(text.p[at]) || memchr("+-.,eE", text.p[at], 6)))
        at++;
    return at < text.n && text.p[at] == ']' ? at + 1 : 0;
}

/* What stands in front of a value. */
typedef struct lead {
    size_t read; /* bytes of the text */
    bool letter, fence, quote;
} lead;

static void lead_to(lead *l, daruma_str text, size_t at)
{
    daruma_str more = str_sub(text, l->read, at - l->read);
    for (size_t i = 0; i < more.n; i++) {
        l->letter |= ch_alpha(more.p[i]);
        l->quote |= more.p[i] == '"';
    }
    l->fence |= str_find(more, S("```")) != STR_NONE;
    l->read = at;
}

/* Words about it, or a fence? With a quote in it, or without any of these, it may be what is left of members whose
 * beginning was lost. */
static bool is_prose(const lead *l)
{
    return (l->letter || l->fence) && !l->quote;
}

/* Is there more around the value text[at..end) than a fence, what is left of brackets, and the same once more? */
static bool has_words(daruma_str text, size_t at, size_t end)
{
    daruma_str before = str_trim(str_sub(text, 0, at)), behind = str_trim(str_from(text, end));
    bool fence = str_starts(before, S("```"));
    before = fence ? str_trim(str_from(before, 3)) : before;
    behind = str_trim(str_from(behind, str_starts(behind, S("```")) ? 3 : 0));
    if (str_eq(behind, str_trim(str_sub(text, at, end - at))))
        behind = (daruma_str){0};
    bool words = behind.n > REPAIR_JUNK_BYTES_MAX;
    for (size_t i = 0; i < before.n; i++)
        words |= !fence || !ch_word(before.p[i]);
    for (size_t i = 0; i < behind.n && !words; i++)
        words = ch_word(behind.p[i]);
    return words;
}

/* The one value among words. Of two that differ nobody knows which one is meant, whatever the words are; and one that
 * cannot be read is one, too. */
static repair_value among_prose(daruma_str text, daruma_arena *a, int level)
{
    repair_value found = {0};
    lead before = {0};
    size_t at = 0, asides = 0, aside = 0;
    for (int tried = 0; (at = next_bracket(text, at)) != STR_NONE;) {
        repair_value f = {0};
        lead_to(&before, text, at);
        if (at && !found.json.n && !is_prose(&before))
            return (repair_value){0};
        size_t end = at && (!before.fence || found.json.n) ? aside_end(text, at) : 0;
        if (end) {
            aside = at;
            asides++;
            at = end;
        } else if (at && !begins_value(text, at)) {
            const char *behind = json_end_quick(text.p + at, text.p + text.n);
            if (!behind)
                return (repair_value){0};
            at = (size_t)(behind - text.p);
        } else {
            if (tried++ < REPAIR_STARTS_MAX)
                f = value_here(text, at, at, a, level);
            if (!f.json.n || (found.json.n && !str_eq(found.json, f.json)))
                return (repair_value){.cut = f.cut};
            if (!found.json.n) {
                found = f;
                found.words |= has_words(text, at, f.end);
            }
            at = f.end;
        }
    }
    if (!found.json.n && asides == 1) {
        found = value_here(text, aside, true, a, level);
        found.words = true;
    }
    return found;
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
    if (blank && blank < text.n && (text.p[blank] == '{' || text.p[blank] == '[')) { /* comments in front */
        repair_value v = among_prose(str_from(text, blank), a, level);
        v.words = true;
        return v;
    }
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

daruma_str repair_alone(daruma_str broken, daruma_arena *a)
{
    repair_value v = repair_text(broken, a);
    return v.missing || v.words ? (daruma_str){0} : v.json;
}

daruma_str json_repair(daruma_str broken, daruma_arena *a, bool *cut)
{
    repair_value v = repair_text(broken, a);
    if (cut)
        *cut = v.cut || v.missing;
    return v.missing ? (daruma_str){0} : v.json;
}
