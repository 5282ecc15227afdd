/* convo.c - looking into a conversation and editing it. What the wires make of it stands in the folders of dialect/. */
#include "model/convo.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- lists that grow in the arena ---- */

/* Room for one more behind the `n` things at `p`; they may move. NULL: the convo is full. */
static void *grown(convo *c, void *p, size_t n, size_t *cap, size_t size, size_t first)
{
    void *list = arena_grow(c->arena, p, n, cap, size, first);
    c->full |= !list;
    return list;
}

void convo_expect(convo *c, size_t n)
{
    if (!c->messages && n <= SIZE_MAX / 2 / sizeof(convo_message))
        c->messages = grown(c, NULL, 0, &c->cap, sizeof(convo_message), n + CONVO_MESSAGES_FIRST);
}

convo_message *convo_add_message(convo *c, convo_role role, daruma_str raw)
{
    convo_message *list = grown(c, c->messages, c->nmessages, &c->cap, sizeof(convo_message), CONVO_MESSAGES_FIRST);
    if (!list)
        return NULL;
    c->messages = list;
    convo_message *m = &list[c->nmessages++];
    *m = (convo_message){.role = role, .raw = raw};
    return m;
}

void convo_set_wire_role(convo *c, convo_message *m, daruma_str role)
{
    static const daruma_str usual[] = {LIT("user"),  LIT("assistant"), LIT("tool"),    LIT("system"),
                                       LIT("model"), LIT("developer"), LIT("function")};
    m->wire_role = NULL;
    for (size_t i = 0; i < COUNT(usual) && !m->wire_role; i++)
        if (str_eq(role, usual[i]))
            m->wire_role = &usual[i];
    if (m->wire_role || !role.n)
        return;
    daruma_str *own = ARENA_NEW(c->arena, daruma_str, 1);
    c->full |= !own;
    if (own)
        *own = role;
    m->wire_role = own;
}

/* One more in a list of parts. */
static convo_part *part_added(convo *c, convo_part **list, uint32_t *n, uint32_t *cap, part_kind kind, daruma_str raw)
{
    size_t room = *cap;
    convo_part *p = grown(c, *list, *n, &room, sizeof(convo_part), 1);
    if (!p || room > UINT32_MAX)
        return NULL;
    *list = p;
    *cap = (uint32_t)room;
    p += (*n)++;
    *p = (convo_part){.kind = kind, .raw = raw, .ready = raw.n == 0};
    return p;
}

convo_part *convo_add_part(convo *c, convo_message *m, part_kind kind, daruma_str raw)
{
    return part_added(c, &m->parts, &m->nparts, &m->cap, kind, raw);
}

convo_part *convo_add_inner(convo *c, convo_part *result, part_kind kind, daruma_str raw)
{
    return part_added(c, &result->parts, &result->nparts, &result->cap, kind, raw);
}

/* ---- what a part says ---- */

/* The texts of its parts, one line apart. */
static daruma_str joined(const convo *c, const convo_part *p)
{
    daruma_str only = {0};
    size_t n = 0;
    for (size_t i = 0; i < p->nparts; i++)
        if (!p->parts[i].dropped && p->parts[i].kind == PART_TEXT && n++ == 0)
            only = convo_part_text(c, &p->parts[i]);
    if (n < 2)
        return only;
    daruma_buf b = buf_in(c->arena);
    n = 0;
    for (size_t i = 0; i < p->nparts; i++)
        if (!p->parts[i].dropped && p->parts[i].kind == PART_TEXT) {
            if (n++)
                buf_putc(&b, '\n');
            buf_put(&b, convo_part_text(c, &p->parts[i]));
        }
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* Thinking that came as a list of pieces, each with its words in a member of some name. */
static daruma_str pieces(const convo *c, daruma_str list)
{
    static const char *const names[] = {"text", "summary", "thinking"};
    daruma_buf b = buf_in(c->arena);
    daruma_str piece, said;
    for (json_iter it = json_open(list); json_next(&it, NULL, &piece);)
        for (size_t i = 0; i < COUNT(names) && json_is_object(piece); i++)
            if (json_is_string(said = json_get(piece, str_of(names[i]))) && said.n > 2) {
                if (b.n)
                    buf_putc(&b, '\n');
                buf_put(&b, json_text(said, c->arena));
            }
    return b.full ? (daruma_str){0} : buf_str(&b);
}

daruma_str convo_part_text(const convo *c, const convo_part *p)
{
    if (p->ready || p->text.n)
        return p->text;
    if (p->kind == PART_RESULT && p->parts)
        return joined(c, p);
    if (json_is_string(p->value))
        return json_text(p->value, c->arena);
    if (p->kind == PART_THINKING && json_is_array(p->value))
        return pieces(c, p->value);
    return json_is_null(p->value) ? (daruma_str){0} : p->value;
}

daruma_str convo_text(convo *c, convo_part *p)
{
    if (!p->ready) {
        p->text = convo_part_text(c, p);
        p->ready = true;
        c->full |= c->arena->full;
    }
    return p->text;
}

/* ---- finding ---- */

static bool is_result(const convo_part *p)
{
    return p->kind == PART_RESULT && !p->dropped;
}

static size_t count_results(const convo_message *m, size_t *others)
{
    size_t n = 0;
    *others = 0;
    for (size_t i = 0; i < m->nparts; i++)
        if (is_result(&m->parts[i]))
            n++;
        else
            *others += !m->parts[i].dropped;
    return n;
}

size_t convo_last_user(const convo *c)
{
    size_t others;
    for (size_t i = c->nmessages; i--;) {
        const convo_message *m = &c->messages[i];
        if (m->role == CONVO_USER && !m->dropped && (count_results(m, &others) == 0 || others))
            return i;
    }
    return STR_NONE;
}

/* A message that has results beside its text goes on with the loop: clients put reminders there. */
size_t convo_loop_begin(const convo *c)
{
    size_t others, at = 0;
    for (size_t i = c->nmessages; i--;) {
        const convo_message *m = &c->messages[i];
        if (m->role == CONVO_USER && !m->dropped && count_results(m, &others) == 0)
            return i + 1;
    }
    while (at < c->nmessages && c->messages[at].role == CONVO_SYSTEM)
        at++;
    return at;
}

bool convo_reference(const convo_message *m)
{
    for (size_t i = 0; i < m->nparts && !m->dropped; i++)
        if (m->parts[i].kind == PART_OTHER && m->parts[i].remote && !m->parts[i].dropped)
            return true;
    return false;
}

bool convo_unseen(const convo *c)
{
    bool found = c->before;
    for (size_t i = 0; c->remote && c->quirks & WIRE_FLAT && i < c->nmessages && !found; i++)
        found = convo_reference(&c->messages[i]);
    return found;
}

void convo_tools_index(convo *c)
{
    for (size_t i = 0; i < c->ntools; i++) {
        uint64_t *n = c->tools[i].name.n ? map_put(&c->tool_at, c->arena, c->tools[i].name) : NULL;
        if (n && !*n)
            *n = i + 1;
        else if (!n && c->tools[i].name.n) { /* no memory: they are gone through */
            c->tool_at = (str_map){0};
            return;
        }
    }
}

const convo_tool *convo_tool_find(const convo *c, daruma_str name)
{
    if (c->tool_at.n) {
        const uint64_t *n = map_get(&c->tool_at, name);
        return n ? &c->tools[*n - 1] : NULL;
    }
    for (size_t i = 0; name.n && i < c->ntools; i++)
        if (str_eq(c->tools[i].name, name))
            return &c->tools[i];
    return NULL;
}

daruma_str convo_tool_wire(const convo *c, const convo_tool *t)
{
    return t->wire ? c->wires[t->wire - 1] : t->schema;
}

daruma_str convo_schema_path(const convo_tool *t, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (!t->at)
        return (daruma_str){0};
    BUF_SAY(&b, t->at->list, ".");
    if (t->nth != CONVO_ALONE)
        BUF_SAY(&b, (int64_t)t->nth, ".");
    buf_put(&b, t->at->behind);
    return b.full ? (daruma_str){0} : buf_done(&b);
}

void convo_set_schema(convo *c, convo_tool *t, daruma_str schema, daruma_str wire)
{
    t->schema = schema;
    if (!t->wire && wire.p == schema.p)
        return;
    daruma_str *more = t->wire ? c->wires : grown(c, c->wires, c->nwires, &c->wires_cap, sizeof *more, 8);
    if (!more)
        return;
    c->wires = more;
    t->wire = t->wire ? t->wire : ++c->nwires & UINT32_MAX >> 2;
    c->wires[t->wire - 1] = wire;
}

bool convo_was_custom(const convo_rename *renames, size_t n, daruma_str is)
{
    for (size_t i = 0; i < n; i++)
        if (renames[i].custom && str_eq(renames[i].is, is))
            return true;
    return false;
}

bool convo_tool_custom(const convo_tool *t)
{
    return !t->schema.n && str_eq(json_get(t->raw, S("type")), S("\"custom\""));
}

daruma_str convo_wrap(daruma_str words, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "{\"input\":", buf_quoted(words), "}");
    return b.full ? S("{}") : buf_done(&b);
}

void convo_unwrap(convo_part *call, daruma_arena *a)
{
    daruma_str whole, input = {0};
    if (call->wrapped && json_whole(call->text, &whole))
        input = json_get(whole, S("input"));
    if (!json_is_string(input))
        return;
    call->text = json_text(input, a);
    call->value = (daruma_str){0};
    call->custom = true;
    call->wrapped = false;
}

daruma_str convo_name_was(const convo_rename *renames, size_t n, daruma_str is)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(renames[i].is, is))
            return renames[i].was;
    return is;
}

/* ---- editing ---- */

static void touch(convo *c, convo_message *m)
{
    m->edited = true;
    c->edited = true;
}

/* Is it a part of the message, and not of a result in it? */
static bool is_outer(const convo_message *m, const convo_part *p)
{
    return p >= m->parts && p < m->parts + m->nparts;
}

/* A part within a result changes that result. */
static void touch_outer(convo_message *m, const convo_part *p)
{
    for (size_t i = 0; i < m->nparts && !is_outer(m, p); i++) {
        convo_part *r = &m->parts[i];
        if (!r->nparts || p < r->parts || p >= r->parts + r->nparts)
            continue;
        r->edited = true;
        r->ready = false; /* its text is another now */
        r->text = (daruma_str){0};
        return;
    }
}

void convo_set_text(convo *c, convo_message *m, convo_part *p, daruma_str text)
{
    p->text = text;
    p->ready = p->edited = true;
    if (p->kind == PART_RESULT) {
        p->parts = NULL;
        p->nparts = p->cap = 0;
    }
    touch_outer(m, p);
    touch(c, m);
}

void convo_drop_part(convo *c, convo_message *m, convo_part *p)
{
    p->dropped = true;
    touch_outer(m, p);
    touch(c, m);
    size_t at = is_outer(m, p) ? (size_t)(p - m->parts) : 0; /* who drops many drops neighbours: a look beside it */
    if ((at > 0 && !m->parts[at - 1].dropped) || (at + 1 < m->nparts && !m->parts[at + 1].dropped))
        return;
    for (size_t i = 0; i < m->nparts; i++)
        if (!m->parts[i].dropped)
            return;
    m->dropped = true;
}

void convo_drop_message(convo *c, convo_message *m)
{
    m->dropped = true;
    c->edited = true;
}

convo_message *convo_insert_message(convo *c, size_t at, convo_role role)
{
    if (!convo_add_message(c, role, (daruma_str){0}))
        return NULL;
    convo_message *m = &c->messages[at = at < c->nmessages ? at : c->nmessages - 1];
    convo_message fresh = c->messages[c->nmessages - 1];
    memmove(m + 1, m, (c->nmessages - 1 - at) * sizeof *m);
    *m = fresh;
    touch(c, m);
    return m;
}

convo_part *convo_insert_part(convo *c, convo_message *m, size_t at, part_kind kind)
{
    if (!convo_add_part(c, m, kind, (daruma_str){0}))
        return NULL;
    convo_part *p = &m->parts[at = at < m->nparts ? at : m->nparts - 1];
    convo_part fresh = m->parts[m->nparts - 1];
    memmove(p + 1, p, (m->nparts - 1 - at) * sizeof *p);
    *p = fresh;
    touch(c, m);
    return p;
}

const convo_patch *convo_patch_of(const convo *c, daruma_str path, bool renames)
{
    const uint64_t *both = map_get(&c->patch_at, path);
    uint64_t at = !both ? 0 : renames ? *both >> 32 : *both & UINT32_MAX;
    if (!at)
        return NULL;
    if (at <= c->npatches && (c->patches[at - 1].op == PATCH_RENAME) == renames &&
        str_eq(c->patches[at - 1].path, path))
        return &c->patches[at - 1];
    for (size_t i = c->npatches; i--;) /* a copy of this convo got a patch that we have not */
        if ((c->patches[i].op == PATCH_RENAME) == renames && str_eq(c->patches[i].path, path))
            return &c->patches[i];
    return NULL;
}

void convo_patch_add(convo *c, patch_op op, daruma_str path, daruma_str value)
{
    bool renames = op == PATCH_RENAME;
    convo_patch *list = grown(c, c->patches, c->npatches, &c->patch_cap, sizeof *list, CONVO_PATCHES_FIRST);
    uint64_t *at = list ? map_put(&c->patch_at, c->arena, path) : NULL;
    if (!at) {
        c->full = true;
        return;
    }
    c->patches = list;
    const convo_patch *old = renames ? NULL : convo_patch_of(c, path, false);
    if (old) /* a later word on the same path takes the place of an earlier one */
        list[old - list].path = (daruma_str){0};
    list[c->npatches++] = (convo_patch){op, path, value};
    *at = renames ? (*at & UINT32_MAX) | (uint64_t)c->npatches << 32 : (*at >> 32 << 32) | c->npatches;
    c->edited = true;
}

void convo_set_max_output(convo *c, int64_t tokens)
{
    daruma_buf b = buf_in(c->arena);
    buf_int(&b, tokens);
    c->full |= b.full;
    c->set.max_output = tokens;
    convo_patch_add(c, PATCH_SET, c->set.max_output_path, buf_str(&b));
}
