/* names.c - names of tools that a provider does not take: they are called otherwise there, and by their own name again
 * in the answer, which convo.renames is for. */
#include "engine/mend/said.h"
#include "engine/mend/value.h"
#include "engine/mend/wrong.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/str.h"
#include <xxhash.h>

/* As every provider takes them: letters, digits, _ and -, a letter or _ first. */
static bool takes(char c, bool first)
{
    return ch_alpha(c) || c == '_' || (!first && (ch_digit(c) || c == '-'));
}

static bool fits(daruma_str name)
{
    bool fine = name.n && name.n <= MEND_NAME_BYTES_MAX;
    for (size_t i = 0; i < name.n && fine; i++)
        fine = takes(name.p[i], i == 0);
    return fine;
}

static void put_plain(daruma_buf *b, daruma_str name, size_t most)
{
    if (name.n && !takes(name.p[0], true))
        buf_putc(b, '_');
    for (size_t i = 0; i < name.n && b->n < most; i++)
        buf_putc(b, takes(name.p[i], false) ? name.p[i] : '_');
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
    return b.full ? name : buf_str(&b);
}

/* Where the request names the tool; empty: nobody can say. */
static daruma_str name_path(convo *c, const convo_tool *t)
{
    daruma_buf b = buf_in(c->arena);
    size_t n = t->schema_path.n;
    while (n && t->schema_path.p[n - 1] != '.')
        n--;
    if (!n)
        return (daruma_str){0};
    buf_put(&b, str_sub(t->schema_path, 0, n));
    BUF_LIT(&b, "name");
    c->full |= b.full;
    return buf_str(&b);
}

static void set_name(convo *c, daruma_str path, daruma_str name)
{
    daruma_buf b = buf_in(c->arena);
    buf_json(&b, name);
    c->full |= b.full;
    convo_patch_add(c, PATCH_SET, path, buf_str(&b));
}

/* `by_was`: by the names as they were, one more than the index of their rename; 0 none. */
static daruma_str name_is(const convo *c, const str_map *by_was, daruma_str was)
{
    const uint64_t *at = was.n ? map_get(by_was, was) : NULL;
    return at && *at ? c->renames[*at - 1].is : was;
}

/* In what was said, and in what asks for one tool. */
static void rename_calls(convo *c, const str_map *by_was)
{
    daruma_str choice = json_get(str_trim(c->body), S("tool_choice")), is;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            convo_part *p = &c->messages[i].parts[j];
            bool named = (p->kind == PART_CALL || p->kind == PART_RESULT) && !p->dropped && p->name.n;
            if (!named || str_eq(is = name_is(c, by_was, p->name), p->name))
                continue;
            p->name = is;
            p->edited = c->messages[i].edited = c->edited = true;
        }
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
    c->renames = ARENA_NEW(c->arena, convo_rename, n);
    for (size_t i = 0; c->renames && i < c->ntools; i++) {
        convo_tool *t = &c->tools[i];
        daruma_str path = t->hosted || !t->name.n || fits(t->name) ? (daruma_str){0} : name_path(c, t);
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
    static const char *const ways[] = {"pattern", "too long",   "should have at most",  "maximum length",
                                       "must be", "must match", "invalid function name"};
    bool name = str_ends(f->subject, S(".name")) || says(f->message, ".name") || says(f->message, "function name") ||
                says(f->message, "tool name");
    bool way = false;
    for (size_t i = 0; i < COUNT(ways); i++)
        way |= says(f->message, ways[i]);
    return name && way;
}
