/* names.c - names of tools that a provider does not take: they are called otherwise there, and by their own name again
 * in the answer, which convo.renames is for. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/str.h"
#include "engine/mend/request/lesson.h"
#include "engine/mend/request/said.h"
#include "engine/mend/request/wrong.h"
#include "engine/mend/value.h"
#include <xxhash.h>

/* As OpenAI and Anthropic take them, and with them all who copy their APIs: letters, digits, _ and -; first a letter or
 * _, which Google wants. */
static bool takes(char c)
{
    return ch_alpha(c) || ch_digit(c) || c == '_' || c == '-';
}

static bool begins(char c)
{
    return ch_alpha(c) || c == '_';
}

static bool fits(daruma_str name)
{
    bool fine = name.n && name.n <= MEND_NAME_BYTES_MAX && begins(name.p[0]);
    for (size_t i = 0; i < name.n && fine; i++)
        fine = takes(name.p[i]);
    return fine;
}

static void put_plain(daruma_buf *b, daruma_str name, size_t most)
{
    if (name.n && takes(name.p[0]) && !begins(name.p[0]))
        buf_putc(b, '_');
    for (size_t i = 0; i < name.n && b->n < most; i++)
        buf_putc(b, takes(name.p[i]) ? name.p[i] : '_');
}

/* Another name made of nothing but the old one, the same in each request; with a hash where it is cut, or where another
 * tool is called so. */
static daruma_str name_for(convo *c, str_map *taken, daruma_str name)
{
    enum { HASH_BYTES = 17 };
    daruma_buf b = buf_in(c->arena);
    put_plain(&b, name, MEND_NAME_BYTES_MAX + 1);
    if (b.n > MEND_NAME_BYTES_MAX || map_get(taken, buf_str(&b))) {
        b = buf_in(c->arena);
        put_plain(&b, name, MEND_NAME_BYTES_MAX - HASH_BYTES);
        buf_putc(&b, '_');
        buf_hex64(&b, XXH3_64bits(name.p, name.n));
    }
    c->full |= b.full;
    return b.full ? name : buf_done(&b);
}

/* Where the request names the tool; empty: nobody can say. `listed`: the i-th of the request is the i-th here. */
static daruma_str name_path(convo *c, size_t i, bool listed)
{
    const convo_tool *t = &c->tools[i];
    daruma_buf b = buf_in(c->arena);
    daruma_str path = convo_schema_path(t, c->arena);
    size_t n = path.n - path_last(path).n;
    if (n)
        buf_put(&b, str_sub(path, 0, n));
    else if (listed)
        buf_printf(&b, json_get(json_get(t->raw, S("function")), S("name")).n ? "tools.%zu.function." : "tools.%zu.",
                   i);
    else
        return (daruma_str){0};
    BUF_LIT(&b, "name");
    c->full |= b.full;
    return buf_done(&b);
}

static void set_name(convo *c, daruma_str path, daruma_str name)
{
    daruma_buf b = buf_in(c->arena);
    buf_json(&b, name);
    c->full |= b.full;
    convo_patch_add(c, PATCH_SET, path, buf_done(&b));
}

/* `by_was`: by the names as they were, one more than the index of their rename; 0 none. */
static daruma_str name_is(const convo *c, const str_map *by_was, daruma_str was)
{
    const uint64_t *at = was.n ? map_get(by_was, was) : NULL;
    return at && *at ? c->renames[*at - 1].is : was;
}

/* In a list of those that may be called: "allowed_tools" of OpenAI's APIs. */
static void rename_allowed(convo *c, const str_map *by_was, daruma_str list, const char *path)
{
    daruma_str tool;
    size_t i = 0;
    for (json_iter it = json_open(list); json_is_array(list) && json_next(&it, NULL, &tool); i++) {
        daruma_str function = json_get(tool, S("function")), raw = json_get(function.n ? function : tool, S("name")),
                   is;
        daruma_buf b = buf_in(c->arena);
        daruma_str was = json_is_string(raw) ? json_text(raw, c->arena) : (daruma_str){0};
        if (!was.n || str_eq(is = name_is(c, by_was, was), was))
            continue;
        buf_printf(&b, function.n ? "%s.%zu.function.name" : "%s.%zu.name", path, i);
        c->full |= b.full;
        set_name(c, buf_str(&b), is);
    }
}

/* The same list of Gemini's API, which takes both spellings. */
static void rename_gemini(convo *c, const str_map *by_was)
{
    static const char *const paths[][3] = {{"toolConfig", "functionCallingConfig", "allowedFunctionNames"},
                                           {"tool_config", "function_calling_config", "allowed_function_names"}};
    for (size_t k = 0; k < COUNT(paths); k++) {
        daruma_str list = str_trim(c->body), raw;
        for (size_t j = 0; j < COUNT(paths[k]); j++)
            list = json_get(list, str_of(paths[k][j]));
        size_t i = 0;
        for (json_iter it = json_open(list); json_is_array(list) && json_next(&it, NULL, &raw); i++) {
            daruma_buf b = buf_in(c->arena);
            daruma_str was = json_is_string(raw) ? json_text(raw, c->arena) : (daruma_str){0},
                       is = name_is(c, by_was, was);
            if (str_eq(is, was))
                continue;
            buf_printf(&b, "%s.%s.%s.%zu", paths[k][0], paths[k][1], paths[k][2], i);
            c->full |= b.full;
            set_name(c, buf_str(&b), is);
        }
    }
}

/* In what was said, and in what asks for some tools or one. What was called and is declared no more has a name, too. */
static void rename_calls(convo *c, str_map *by_was)
{
    daruma_str choice = json_get(str_trim(c->body), S("tool_choice")), is;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_part *p = &c->messages[i].parts[j];
            bool named = (p->kind == PART_CALL || p->kind == PART_RESULT) && !p->dropped && p->name.n;
            is = named ? name_is(c, by_was, p->name) : (daruma_str){0};
            if (named && !fits(is))
                is = name_for(c, by_was, p->name);
            if (!named || str_eq(is, p->name))
                continue;
            p->name = is;
            p->edited = c->messages[i].edited = c->edited = true;
        }
    rename_allowed(c, by_was, json_get(json_get(choice, S("allowed_tools")), S("tools")),
                   "tool_choice.allowed_tools.tools");
    rename_allowed(c, by_was, json_get(choice, S("tools")), "tool_choice.tools");
    rename_gemini(c, by_was);
    if (c->set.choice != CHOICE_ONE || str_eq(is = name_is(c, by_was, c->set.choice_name), c->set.choice_name))
        return;
    c->set.choice_name = is;
    if (json_get(choice, S("name")).n)
        set_name(c, S("tool_choice.name"), is);
    else if (json_get(json_get(choice, S("function")), S("name")).n)
        set_name(c, S("tool_choice.function.name"), is);
}

bool mend_tool_names(convo *c, mend_report *rep)
{
    str_map taken = {0}; /* names, as they were and as they are; see name_is() */
    size_t n = 0;
    for (size_t i = 0; i < c->ntools; i++) {
        n += !c->tools[i].hosted && c->tools[i].name.n && !fits(c->tools[i].name);
        map_put(&taken, c->arena, c->tools[i].name);
    }
    if (!n || c->full || n > TOOLS_RENAMED_MAX || c->renames)
        return false;
    bool listed = json_count(json_get(str_trim(c->body), S("tools"))) == c->ntools;
    c->renames = ARENA_NEW(c->arena, convo_rename, n);
    for (size_t i = 0; c->renames && i < c->ntools; i++) {
        convo_tool *t = &c->tools[i];
        daruma_str path = t->hosted || !t->name.n || fits(t->name) ? (daruma_str){0} : name_path(c, i, listed);
        if (!path.n)
            continue;
        daruma_str is = name_for(c, &taken, t->name);
        map_put(&taken, c->arena, is);
        set_name(c, path, is);
        c->renames[c->nrenames++] = (convo_rename){.was = t->name, .is = is};
        uint64_t *at = map_get(&taken, t->name);
        if (at)
            *at = c->nrenames;
        t->name = is;
    }
    rename_calls(c, &taken);
    c->full |= c->arena->full;
    rep->patches += (uint32_t)c->nrenames;
    if (c->nrenames)
        mend_say(rep, c->nrenames == 1 ? "%zu tool was called otherwise" : "%zu tools were called otherwise",
                 c->nrenames);
    return c->nrenames > 0;
}

bool mend_tool_names_meant(const daruma_failure *f)
{
    bool name = str_ends(f->subject, S(".name")) || says(f->message, ".name") || says(f->message, "function name") ||
                says(f->message, "tool name");
    bool unique = says(f->message, "unique") || says(f->message, "duplicate");
    return name && said(f->message, SAID_NAME_WRONG) && !unique;
}

void mend_names_back(const convo_rename *renames, size_t n, daruma_str answer, daruma_buf *out)
{
    static const daruma_str key = LIT("\"name\"");
    for (size_t at; (at = str_find(answer, key)) != STR_NONE;) {
        size_t to = at + key.n;
        while (to < answer.n && (ch_space(answer.p[to]) || answer.p[to] == ':'))
            to++;
        buf_put(out, str_sub(answer, 0, to));
        answer = str_from(answer, to);
        size_t end = answer.n && answer.p[0] == '"' ? str_findch(str_from(answer, 1), '"') : STR_NONE;
        if (end == STR_NONE)
            continue;
        daruma_str is = str_sub(answer, 1, end), was = convo_name_was(renames, n, is);
        if (str_eq(is, was))
            continue;
        buf_json(out, was);
        answer = str_from(answer, end + 2);
    }
    buf_put(out, answer);
}
