#include "engine/mend/history.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

bool history_has(const convo_message *m, part_kind kind)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].kind == kind && !m->parts[i].dropped)
            return true;
    return false;
}

size_t history_parts(const convo_message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->nparts; i++)
        n += !m->parts[i].dropped;
    return n;
}

size_t history_next(const convo *c, size_t at)
{
    size_t i = at + 1;
    while (i < c->nmessages && !history_on(&c->messages[i]))
        i++;
    return i;
}

size_t history_before(const convo *c, size_t at)
{
    while (at-- > 0)
        if (history_on(&c->messages[at]) && !c->messages[at].apart)
            return at;
    return STR_NONE;
}

void history_text(convo *c, convo_message *m, convo_part *p, daruma_str text)
{
    *p = (convo_part){.kind = PART_TEXT, .edited = true, .ready = true, .text = text};
    m->edited = true;
    c->edited = true;
}

void history_add(convo *c, convo_message *m, daruma_str text)
{
    convo_part *p = m ? convo_insert_part(c, m, m->nparts, PART_TEXT) : NULL;
    if (p)
        history_text(c, m, p, text);
    else
        c->full = true;
}

void history_say(convo *c, size_t at, convo_role role, daruma_str text)
{
    history_add(c, convo_insert_message(c, at, role), text);
}

/* Results stand close behind their call. */
daruma_str history_tool(const convo *c, size_t at, daruma_str id)
{
    for (size_t i = at + 1, looked = 0; id.n && i-- > 0 && looked < CALL_LOOK_MESSAGES; looked++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            if (p->kind == PART_CALL && p->name.n && str_eq(p->id, id))
                return p->name;
        }
    return (daruma_str){0};
}

void history_insert_later(convo *c, history_inserts *list, size_t at, convo_role role, daruma_str text)
{
    struct history_insert *p = arena_grow(c->arena, list->p, list->n, &list->cap, sizeof *p, CONVO_MESSAGES_FIRST);
    if (!p) {
        c->full = true;
        return;
    }
    list->p = p;
    list->p[list->n++] = (struct history_insert){at, role, text};
}

void history_insert(convo *c, const history_inserts *list)
{
    size_t from = c->nmessages, to = from + list->n, cap = to;
    convo_message *all = list->n ? ARENA_NEW(c->arena, convo_message, cap) : NULL;
    c->full |= list->n && !all;
    if (!all)
        return;
    for (size_t k = list->n; k-- > 0;) {
        const struct history_insert *one = &list->p[k];
        size_t behind = from - one->at;
        if (behind)
            memcpy(all + to - behind, c->messages + one->at, behind * sizeof *all);
        from = one->at;
        to -= behind + 1;
        all[to] = (convo_message){.role = one->role, .edited = true};
        convo_part *p = convo_add_part(c, &all[to], PART_TEXT, (daruma_str){0});
        if (p)
            history_text(c, &all[to], p, one->text);
    }
    if (from)
        memcpy(all, c->messages, from * sizeof *all);
    c->messages = all;
    c->nmessages = c->cap = cap;
}

bool history_sealed(const convo_message *m)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].sealed && !m->parts[i].dropped)
            return true;
    return false;
}

/* Do they speak with one voice? Where results are parts of the user's messages, they are the user's. */
static bool one_voice(const convo *c, const convo_message *a, const convo_message *b)
{
    bool in_user = (c->quirks & WIRE_RESULTS_IN_USER) != 0;
    if (a->role == CONVO_SYSTEM || b->role == CONVO_SYSTEM)
        return false;
    if (!in_user && (a->role == CONVO_TOOL || b->role == CONVO_TOOL))
        return false;
    return (a->role == CONVO_ASSISTANT) == (b->role == CONVO_ASSISTANT);
}

/* True if the parts of the messages from `first` to `last` follow each other in memory, as they were read, and those
 * that stay in the order that join() gives them: then they move together where they are. */
static bool parts_follow(const convo *c, size_t first, size_t last)
{
    const convo_part *next = c->messages[first].parts;
    bool spoken = false;
    for (size_t i = first; i <= last; i++) {
        const convo_message *m = &c->messages[i];
        if (!next || (m->nparts && m->parts != next))
            return false;
        for (size_t j = 0; j < m->nparts && history_on(m); j++) {
            bool result = m->parts[j].kind == PART_RESULT;
            if (!m->parts[j].dropped && spoken && result)
                return false;
            spoken |= !m->parts[j].dropped && !result;
        }
        next += m->nparts;
    }
    return true;
}

/* The messages from `first` to `last` that are on the wire become the first of them. Results stay in front of
 * everything else. */
static bool join(convo *c, size_t first, size_t last)
{
    convo_message *into = &c->messages[first];
    size_t n = 0, k = 0;
    for (size_t i = first; i <= last; i++)
        n += history_on(&c->messages[i]) ? history_parts(&c->messages[i]) : 0;
    bool there = parts_follow(c, first, last);
    convo_part *parts = there ? into->parts : ARENA_NEW(c->arena, convo_part, n + !n);
    if (!parts) {
        c->full = true;
        return false;
    }
    for (int pass = there ? 1 : 0; pass < 2; pass++)
        for (size_t i = first; i <= last; i++) {
            const convo_message *m = &c->messages[i];
            for (size_t j = 0; j < m->nparts && history_on(m); j++)
                if (!m->parts[j].dropped && (there || (m->parts[j].kind == PART_RESULT) == (pass == 0)))
                    parts[k++] = m->parts[j];
        }
    for (size_t i = first + 1; i <= last; i++) {
        if (history_on(&c->messages[i]) && into->role == CONVO_TOOL && c->messages[i].role == CONVO_USER)
            into->role = CONVO_USER;
        c->messages[i].dropped = true;
    }
    into->parts = parts;
    into->nparts = into->cap = n;
    into->edited = true;
    c->edited = true;
    return true;
}

/* Of items only messages become one: calls, results and thinking stay items of their own. */
static bool mergeable(const convo *c, const convo_message *m)
{
    for (size_t i = 0; i < m->nparts && c->quirks & WIRE_FLAT; i++)
        if (!m->parts[i].dropped && m->parts[i].kind != PART_TEXT && m->parts[i].kind != PART_MEDIA)
            return false;
    return true;
}

uint32_t history_merge(convo *c)
{
    uint32_t merged = 0;
    history_inserts parted = {0};
    for (size_t i = 0, j; i < c->nmessages && !c->full; i = j) {
        const convo_message *m = &c->messages[i];
        size_t last = i;
        j = history_next(c, i);
        if (!history_on(m) || m->apart || !mergeable(c, m))
            continue;
        for (; j < c->nmessages && one_voice(c, m, &c->messages[j]) && mergeable(c, &c->messages[j]);
             j = history_next(c, j)) {
            merged++;
            if (c->messages[j].role == CONVO_ASSISTANT && history_sealed(&c->messages[j])) {
                history_insert_later(c, &parted, j, CONVO_USER, S(HISTORY_GO_ON)); /* it stays a message of its own */
                break;
            }
            last = j;
        }
        if (last > i && !join(c, i, last))
            return merged;
    }
    history_insert(c, &parted);
    return merged;
}

void history_drop_id(convo *c, convo_message *m)
{
    if (m->parts[0].kind == PART_THINKING || m->parts[0].kind == PART_OTHER) {
        convo_drop_message(c, m);
        return;
    }
    for (size_t j = 0; j < m->nparts; j++) {
        convo_text(c, &m->parts[j]);
        if (m->parts[j].kind != PART_MEDIA && m->parts[j].kind != PART_OTHER)
            m->parts[j].raw = (daruma_str){0};
        m->parts[j].edited = true;
    }
    m->raw = (daruma_str){0};
    m->edited = c->edited = true;
}

void history_tell_model(convo *c, daruma_str text)
{
    size_t at = history_before(c, c->nmessages);
    convo_message *m = at == STR_NONE ? NULL : &c->messages[at];
    bool users = m && (m->role == CONVO_USER || (m->role == CONVO_TOOL && (c->quirks & WIRE_RESULTS_IN_USER)));
    if (users && (c->quirks & WIRE_ALTERNATE) && !(c->quirks & WIRE_FLAT))
        history_add(c, m, text);
    else
        history_say(c, c->nmessages, CONVO_USER, text);
}
