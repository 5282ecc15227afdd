/* schema.c - which tool's schema a provider found fault with and what is to be lowered in it; and the response format,
 * one step down the ladder schema, JSON, text. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/mend/history.h"
#include "engine/mend/request/lesson.h"
#include "engine/mend/request/said.h"
#include "engine/mend/value.h"

/* ---- what the message says ---- */

/* What is wrong, by the provider's words. */
typedef struct complaint {
    daruma_str keyword; /* empty: not one alone */
    bool strict;        /* strict mode wants more, not less */
} complaint;

// clang-format off
/* Keywords that some provider does not take ... */
static const char *const troublesome[] = {
    "anyOf", "oneOf", "allOf", "any_of", "one_of", "all_of", "$ref", "$defs", "minLength", "maxLength", "multipleOf",
    "exclusiveMinimum", "minItems", "maxItems", "exclusiveMaximum", "uniqueItems", "minProperties", "maxProperties",
    "prefixItems", "patternProperties", "propertyNames", "additionalProperties", "$schema", "unevaluatedProperties",
    /* ... and from here on those that are everyday words, too: they only count in quotes */
    "definitions", "const", "format", "pattern", "default", "examples", "title", "minimum", "maximum", "contains", "not",
    "if", "then", "else", "enum",
};
// clang-format on
enum { EVERYDAY = 24 /* the first of those */ };

/* Is the keyword named in the text, as a word and not as a step of a path? */
static bool names_keyword(daruma_str text, daruma_str name, bool everyday)
{
    for (size_t at = 0; at + name.n <= text.n; at++) {
        size_t hit = str_find(str_from(text, at), name);
        if (hit == STR_NONE)
            return false;
        at += hit;
        char before = at ? text.p[at - 1] : ' ', behind = at + name.n < text.n ? text.p[at + name.n] : ' ';
        if (ch_word(before) || ch_word(behind) || before == '.' || behind == '[' ||
            (behind == '.' && at + name.n + 1 < text.n && ch_word(text.p[at + name.n + 1])))
            continue;
        if (!everyday || (is_quote(before) && is_quote(behind)))
            return true;
    }
    return false;
}

/* Gemini: Unknown name "const" at '...': Cannot find field. Several different ones: empty. */
static daruma_str unknown_name(daruma_str text)
{
    daruma_str mark = S("unknown name \""), name = {0};
    for (size_t at; (at = str_ifind(text, mark)) != STR_NONE;) {
        text = str_from(text, at + mark.n);
        size_t n = str_findch(text, '"');
        if (n == STR_NONE)
            break;
        if (name.n && !str_eq(name, str_sub(text, 0, n)))
            return (daruma_str){0};
        name = str_sub(text, 0, n);
    }
    return name;
}

static complaint complaint_of(const daruma_failure *f)
{
    complaint c = {0};
    if (!f)
        return c;
    daruma_str m = f->message, name = unknown_name(m);
    if (name.n)
        return (complaint){.keyword = name};
    bool more = says(m, "additionalproperties") || says(m, "'required' is required");
    if (more && (says(m, "is required") || says(m, "must be")) && (says(m, "false") || says(m, "every key")))
        return (complaint){.keyword = S("additionalProperties"), .strict = true};
    if (says(m, "missing items") || says(m, "items: missing"))
        return (complaint){.keyword = S("items")};
    if (says(m, "should be non-empty") && says(m, "properties"))
        return (complaint){.keyword = S("properties")};
    size_t n = 0, only = str_find(m, S(": only ")); /* Google: "...properties[a].enum: only allowed for STRING type" */
    name = path_last(str_sub(m, 0, only == STR_NONE ? 0 : only));
    for (size_t i = 0; i < COUNT(troublesome) && name.n; i++)
        if (str_eq(name, str_of(troublesome[i])))
            return (complaint){.keyword = str_of(troublesome[i])};
    for (size_t i = 0; i < COUNT(troublesome); i++)
        if (names_keyword(m, str_of(troublesome[i]), i >= EVERYDAY)) {
            c.keyword = str_of(troublesome[i]);
            n++;
        }
    if (n != 1)
        c.keyword = (daruma_str){0};
    return c;
}

/* The number behind `word` and one of ".[ "; -1 none. */
static int64_t index_behind(daruma_str text, const char *word)
{
    size_t at = str_ifind(text, str_of(word)), used;
    int64_t n = -1;
    if (at == STR_NONE)
        return -1;
    daruma_str rest = str_from(text, at + strlen(word));
    if (rest.n < 2 || (rest.p[0] != '.' && rest.p[0] != '['))
        return -1;
    used = str_scan_int(str_from(rest, 1), &n);
    return used ? n : -1;
}

/* Does a path have the index `at` behind a step that begins with `step` (any when empty)? */
static bool path_has(daruma_str path, const char *step, int64_t at)
{
    daruma_str before = {0};
    while (path.n) {
        daruma_str part = str_cut(&path, '.');
        int64_t n;
        if (str_int(part, &n) && n == at && name_same(before, str_of(step)))
            return true;
        before = part;
    }
    return false;
}

static bool in_quotes(daruma_str text, daruma_str name)
{
    for (size_t at = 0; name.n; at++) {
        size_t hit = str_find(str_from(text, at), name);
        if (hit == STR_NONE)
            return false;
        at += hit;
        if (at && at + name.n < text.n && is_quote(text.p[at - 1]) && is_quote(text.p[at + name.n]))
            return true;
    }
    return false;
}

/* A path of a schema has two names of lists, as the request spells them, two places, and the name of a member. */
enum { PATH_BYTES = 512 };

/* Does `f` speak of this tool? */
static bool is_named(const daruma_failure *f, const convo_tool *t)
{
    char room[PATH_BYTES];
    daruma_arena scratch = arena_over(room, sizeof room);
    const daruma_str texts[] = {f->message, f->subject}, path = convo_schema_path(t, &scratch);
    for (int i = 0; i < 2; i++) {
        int64_t tool = index_behind(texts[i], "tools"), inner = index_behind(texts[i], "declarations");
        if (inner >= 0 && path_has(path, "functionDeclarations", inner) && (tool < 0 || path_has(path, "tools", tool)))
            return true;
        if (inner < 0 && tool >= 0 && path_has(path, "tools", tool))
            return true;
    }
    return in_quotes(f->message, t->name) || str_eq(f->subject, t->name);
}

/* ---- tools ---- */

static daruma_str sibling(convo *c, daruma_str path, const char *name)
{
    daruma_buf b = buf_in(c->arena);
    BUF_SAY(&b, str_sub(path, 0, path.n - path_last(path).n), name);
    c->full |= b.full;
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* Does the tool ask for strict mode, beside its schema? */
static bool asks_strict(const convo_tool *t)
{
    return json_is_true(json_get(t->raw, S("strict"))) ||
           json_is_true(json_get(json_get(t->raw, S("function")), S("strict")));
}

/* Lowers one; true when its schema changed. */
static bool lower_tool(convo *c, convo_tool *t, complaint what)
{
    if (!t->schema.n || !json_is_object(t->schema))
        return false;
    if (name_same(what.keyword, S("properties")) && !json_count(json_get(t->schema, S("properties"))) &&
        !json_get(t->schema, S("$ref")).n) { /* Gemini: a function without parameters has no parameters at all */
        convo_patch_add(c, PATCH_DROP, convo_schema_path(t, c->arena), (daruma_str){0});
        t->schema = (daruma_str){0};
        return true;
    }
    daruma_str wire = convo_tool_wire(c, t);
    daruma_str low = schema_lower(wire, what.keyword, what.strict, c->arena);
    if (low.p == wire.p || c->arena->full)
        return false;
    convo_set_schema(c, t, t->wire ? schema_lower(t->schema, what.keyword, what.strict, c->arena) : low, low);
    daruma_str path = convo_schema_path(t, c->arena);
    convo_patch_add(c, PATCH_SET, path, low);
    if (!what.keyword.n && asks_strict(t)) /* what is lowered that far is no schema for strict mode */
        convo_patch_add(c, PATCH_DROP, sibling(c, path, "strict"), (daruma_str){0});
    return true;
}

/* Was the schema of a tool lowered before? */
static bool was_lowered(const convo *c)
{
    for (size_t k = 0; k < c->ntools && c->npatches; k++) {
        char room[PATH_BYTES];
        daruma_arena scratch = arena_over(room, sizeof room);
        if (c->tools[k].at && convo_patch_of(c, convo_schema_path(&c->tools[k], &scratch), false))
            return true;
    }
    return false;
}

uint32_t schema_lower_all(convo *c, daruma_str keyword)
{
    uint32_t n = 0;
    keyword = arena_copy(c->arena, keyword);
    for (size_t i = 0; i < c->ntools; i++)
        n += lower_tool(c, &c->tools[i], (complaint){.keyword = keyword});
    return n;
}

/* ---- what is learned ---- */

static const char lesson_path[] = "tools.*.schema.";

daruma_str lesson_keyword(const mend_lesson *l)
{
    bool about = l->op == PATCH_DROP && l->value[0] && str_starts(str_of(l->path), str_of(lesson_path));
    return about ? str_from(str_of(l->path), sizeof lesson_path - 1) : (daruma_str){0};
}

daruma_str schema_complaint(const daruma_failure *f)
{
    return complaint_of(f).keyword;
}

bool mend_schema_lesson(const daruma_failure *f, mend_lesson *ret)
{
    complaint what = complaint_of(f);
    char path[sizeof ret->path];
    daruma_buf b = buf_over(path, sizeof path);
    bool as_such = f && said(f->message, SAID_KEYWORD_NEVER);
    BUF_SAY(&b, lesson_path, what.keyword);
    return as_such && what.keyword.n && !what.strict && !b.full &&
           lesson_make(ret, PATCH_DROP, buf_str(&b), S("lower"));
}

/* ---- on a provider's word ---- */

/* "tools.3.function.parameters": the tool itself. */
static daruma_str tool_path(const convo_tool *t, daruma_arena *a)
{
    daruma_str path = convo_schema_path(t, a);
    int64_t n;
    while (path.n && !str_int(path_last(path), &n))
        path = str_sub(path, 0, path.n - path_last(path).n ? path.n - path_last(path).n - 1 : 0);
    return path;
}

bool mend_double_tools(convo *c, const daruma_failure *f, mend_report *rep)
{
    uint32_t n = 0;
    if (!f || !(says(f->message, "duplicate") || says(f->message, "must be unique")))
        return false;
    str_map names = {0};
    for (size_t i = 0; i < c->ntools; i++) {
        if (!c->tools[i].name.n || map_add(&names, c->arena, c->tools[i].name) || !c->tools[i].at)
            continue;
        convo_patch_add(c, PATCH_DROP, tool_path(&c->tools[i], c->arena), (daruma_str){0});
        n++;
    }
    rep->patches += n;
    if (n)
        mend_say(rep, "%u doubled tools were left out", n);
    return n > 0;
}

/* Of a refusal that names a type of tool: the words before those types that are taken; empty: it is none. */
static daruma_str strange_words(const daruma_failure *f)
{
    static const char *const lists[] = {"expected tags", "supported values", " supported types"};
    size_t end = STR_NONE;
    for (size_t i = 0; f && i < COUNT(lists); i++) {
        size_t at = str_ifind(f->message, str_of(lists[i]));
        end = at < end ? at : end;
    }
    if (f && end == STR_NONE && says(f->message, "not support"))
        end = f->message.n;
    return end == STR_NONE ? (daruma_str){0} : str_sub(f->message, 0, end);
}

/* Is it a tool of the provider's own, of a type that the words quote? */
static bool is_strange(const convo_tool *t, daruma_str words)
{
    daruma_str type = json_get(t->raw, S("type")), word;
    size_t at = 0;
    bool ours = str_eq(type, S("\"function\"")) || str_eq(type, S("\"custom\""));
    if (ours || (!t->hosted && t->name.n && t->schema.n))
        return false;
    while (json_is_string(type) && next_quoted(words, &at, &word))
        if (json_raw_eq(str_sub(type, 1, type.n - 2), word))
            return true;
    return false;
}

/* What asks for that very tool goes with it. */
static void unchoose(convo *c, const convo_tool *t)
{
    daruma_str choice = json_get(str_trim(c->body), S("tool_choice"));
    daruma_str type = json_get(choice, S("type")), name = json_get(choice, S("name"));
    if (json_is_object(choice) &&
        (str_eq(type, json_get(t->raw, S("type"))) || (name.n && str_eq(name, json_get(t->raw, S("name"))))))
        convo_patch_add(c, PATCH_DROP, S("tool_choice"), (daruma_str){0});
}

bool mend_strange_tools(convo *c, const daruma_failure *f, mend_report *rep)
{
    size_t n = 0, at = 0;
    daruma_str list = json_get(str_trim(c->body), S("tools")), tool;
    daruma_str words = strange_words(f);
    for (size_t i = 0; i < c->ntools; i++)
        n += is_strange(&c->tools[i], words);
    if (!n || n == c->ntools || json_count(list) != c->ntools) /* with none left it is another request */
        return false;
    for (json_iter it = json_open(list); at < c->ntools && json_next(&it, NULL, &tool); at++) {
        daruma_buf path = buf_in(c->arena);
        if (!is_strange(&c->tools[at], words))
            continue;
        unchoose(c, &c->tools[at]);
        BUF_SAY(&path, "tools.", (int64_t)at);
        c->full |= path.full;
        convo_patch_add(c, PATCH_DROP, buf_str(&path), (daruma_str){0});
    }
    rep->patches += (uint32_t)n;
    mend_say(rep, "%zu tools of a kind that the provider has not were left out", n);
    return !c->full;
}

bool mend_tool_schemas(convo *c, const daruma_failure *f, mend_report *rep)
{
    complaint what = complaint_of(f);
    bool again = was_lowered(c), any_named = false;
    uint32_t n = 0;
    daruma_str first = {0};
    if (f && mend_format_meant(c, f))
        return false;
    for (size_t i = 0; f && i < c->ntools; i++)
        any_named |= is_named(f, &c->tools[i]);
    /* First what was named, where it was named; a keyword that is not taken is not taken in any tool. Then all of the
     * named one, then all of all. */
    for (int step = what.keyword.n ? 0 : 1; step < 3 && !n; step++)
        for (size_t i = 0; i < c->ntools; i++) {
            if (step == 1 && any_named && !again && !is_named(f, &c->tools[i]))
                continue;
            if (!lower_tool(c, &c->tools[i], step ? (complaint){0} : what))
                continue;
            first = n++ ? first : c->tools[i].name;
        }
    if (!n)
        return false;
    rep->patches += n;
    if (n == 1)
        mend_say(rep, "the schema of tool " STR_FMT " was lowered", STR_ARG(str_sub(first, 0, 64)));
    else
        mend_say(rep, "the schemas of %u tools were lowered", n);
    return true;
}

/* ---- response format ---- */

bool mend_format_meant(const convo *c, const daruma_failure *f)
{
    if (c->set.format != FORMAT_SCHEMA && c->set.format != FORMAT_JSON)
        return false;
    if (said(f->message, SAID_TOOLS) || said(f->subject, SAID_TOOLS))
        return false;
    if (failure_said(f, SAID_FORMAT) || said(f->subject, SAID_FORMAT))
        return true;
    return says(f->message, "additionalproperties") && !says(f->message, "tool");
}

static convo_message *system_message(convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        if (c->messages[i].role == CONVO_SYSTEM && !c->messages[i].dropped)
            return &c->messages[i];
    convo_message *m = convo_insert_message(c, 0, CONVO_SYSTEM);
    if (m)
        m->apart = c->quirks & WIRE_SYSTEM_APART;
    return m;
}

void mend_say_first(convo *c, daruma_str text)
{
    history_add(c, system_message(c), text);
}

bool mend_format(convo *c, mend_report *rep)
{
    daruma_buf b = buf_in(c->arena);
    if (c->set.format == FORMAT_SCHEMA) {
        BUF_SAY(&b,
                "Answer with one JSON value and nothing else, no fence around it. It must be valid against this JSON "
                "Schema:\n",
                c->set.format_schema);
        c->set.format = FORMAT_JSON;
    } else if (c->set.format == FORMAT_JSON) {
        if (!c->set.format_edited) /* else the words are there */
            BUF_LIT(&b, "Answer with one JSON object and nothing else, no fence around it.");
        c->set.format = FORMAT_TEXT;
    } else {
        return false;
    }
    c->set.format_edited = true;
    c->edited = true;
    c->full |= b.full;
    if (b.n && !b.full)
        mend_say_first(c, buf_str(&b));
    rep->patches++;
    mend_say(rep, "the response format was asked for %s",
             c->set.format == FORMAT_JSON ? "as JSON without schema" : "in words");
    return !c->full;
}
