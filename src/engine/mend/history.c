#include "engine/mend/history.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

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

void history_say(convo *c, size_t at, daruma_str text)
{
    convo_message *m = convo_insert_message(c, at, CONVO_USER);
    convo_part *p = m ? convo_insert_part(c, m, 0, PART_TEXT) : NULL;
    if (p)
        history_text(c, m, p, text);
    else
        c->full = true;
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

/* Results stay in front of everything else. */
static bool join(convo *c, convo_message *into, convo_message *from)
{
    size_t n = history_parts(into) + history_parts(from), k = 0;
    convo_part *parts = ARENA_NEW(c->arena, convo_part, n);
    if (!parts) {
        c->full = true;
        return false;
    }
    for (int pass = 0; pass < 2; pass++)
        for (int which = 0; which < 2; which++) {
            const convo_message *m = which ? from : into;
            for (size_t i = 0; i < m->nparts; i++)
                if (!m->parts[i].dropped && (m->parts[i].kind == PART_RESULT) == (pass == 0))
                    parts[k++] = m->parts[i];
        }
    if (into->role == CONVO_TOOL && from->role == CONVO_USER)
        into->role = CONVO_USER;
    into->parts = parts;
    into->nparts = into->cap = n;
    into->edited = true;
    from->dropped = true;
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
    for (size_t i = 0; i < c->nmessages && !c->full; i++) {
        size_t j;
        if (!history_on(&c->messages[i]) || c->messages[i].apart)
            continue;
        while ((j = history_next(c, i)) < c->nmessages && one_voice(c, &c->messages[i], &c->messages[j]) &&
               mergeable(c, &c->messages[i]) && mergeable(c, &c->messages[j]) && !c->full) {
            merged++;
            if (c->messages[j].role != CONVO_ASSISTANT || !history_sealed(&c->messages[j])) {
                if (!join(c, &c->messages[i], &c->messages[j]))
                    return merged;
                continue;
            }
            history_say(c, j, S(HISTORY_GO_ON)); /* what is sealed stays a message of its own */
            break;
        }
    }
    return merged;
}

void history_tell(mend_report *r, uint32_t n, const char *one, const char *many)
{
    if (!n)
        return;
    size_t at = strlen(r->what);
    daruma_buf b = buf_over(r->what + at, sizeof r->what - at - 1);
    buf_printf(&b, "%s%u %s", at ? "; " : "", n, n == 1 ? one : many);
    r->what[b.full ? at : at + b.n] = 0;
}

void history_tell_model(convo *c, daruma_str text)
{
    size_t at = history_before(c, c->nmessages);
    convo_message *m = at == STR_NONE ? NULL : &c->messages[at];
    bool users = m && (m->role == CONVO_USER || (m->role == CONVO_TOOL && (c->quirks & WIRE_RESULTS_IN_USER)));
    if (!users || !(c->quirks & WIRE_ALTERNATE) || (c->quirks & WIRE_FLAT)) {
        history_say(c, c->nmessages, text);
        return;
    }
    convo_part *p = convo_insert_part(c, m, m->nparts, PART_TEXT);
    if (p)
        history_text(c, m, p, text);
    else
        c->full = true;
}
