/* calls.c - which call a result belongs to, and the ids that both get on another wire. */
#include "dialect/convert/convert.h"
#include "base/arena.h"

enum { CALLS_FIRST = 32 }; /* a power of two */

/* A call that was carried, for the result that follows. Calls are known by 1 + where they stand in the list; 0 is none.
 * Conversations have thousands of them: what the part says that was made of it is not said here again.
 *
 *     of one id, from the newest back    newest -> open -> before -> before
 *     of one name, from the oldest on    newest -> waits -> next -> next
 *
 * What was answered is passed over once and then no more: the newest one keeps where that ended. */
struct carried {
    daruma_str was;   /* id it had */
    uint32_t message; /* of `out`, and its part */
    uint32_t part : 31;
    uint32_t answered : 1;
    uint32_t before, open; /* of its id: the one before that had no result; of the newest: the newest without */
    uint32_t next, waits;  /* of its name: the one behind; of the newest: the oldest that may have no result */
};

/* ---- finding them ---- */

static const convo_part *part_of(const convert_calls *c, uint32_t call)
{
    return &c->out->messages[c->calls[call - 1].message].parts[c->calls[call - 1].part];
}

static daruma_str was_of(const convert_calls *c, uint32_t call)
{
    return c->calls[call - 1].was;
}

static daruma_str id_of(const convert_calls *c, uint32_t call)
{
    return part_of(c, call)->id;
}

/* Where the call with that text stands, or would stand. Seeded as the rows of a str_map are. */
static uint32_t *place_of(const convert_calls *c, const call_index *x, daruma_str text,
                          daruma_str (*text_of_call)(const convert_calls *c, uint32_t call))
{
    size_t i = convert_hash(text, (uintptr_t)x->calls) & (x->cap - 1);
    while (x->calls[i] && !str_eq(text_of_call(c, x->calls[i]), text))
        i = (i + 1) & (x->cap - 1);
    return &x->calls[i];
}

static uint32_t find(const convert_calls *c, const call_index *x, daruma_str text,
                     daruma_str (*text_of_call)(const convert_calls *c, uint32_t call))
{
    return x->n ? *place_of(c, x, text, text_of_call) : 0;
}

static bool widen(const convert_calls *c, call_index *x, size_t cap,
                  daruma_str (*text_of_call)(const convert_calls *c, uint32_t call))
{
    call_index wide = {.calls = ARENA_NEW(c->a, uint32_t, cap), .n = x->n, .cap = cap};
    for (size_t i = 0; wide.calls && i < x->cap; i++)
        if (x->calls[i])
            *place_of(c, &wide, text_of_call(c, x->calls[i]), text_of_call) = x->calls[i];
    if (wide.calls)
        *x = wide;
    return wide.calls != NULL;
}

/* Enters `call` for its text in place of one that stood there. Memory that runs out is remembered by the arena. */
static void enter(const convert_calls *c, call_index *x, uint32_t call,
                  daruma_str (*text_of_call)(const convert_calls *c, uint32_t call))
{
    if (x->n >= x->cap / 4 * 3 && !widen(c, x, x->cap ? x->cap * 2 : CALLS_FIRST, text_of_call))
        return;
    uint32_t *at = place_of(c, x, text_of_call(c, call), text_of_call);
    x->n += !*at;
    *at = call;
}

static size_t places_for(size_t calls)
{
    size_t cap = CALLS_FIRST;
    while (cap / 4 * 3 < calls)
        cap *= 2;
    return cap;
}

void convert_calls_expect(convert_calls *c, size_t calls, size_t without_id)
{
    c->calls = calls ? ARENA_NEW(c->a, carried, calls) : NULL;
    c->cap = c->calls ? calls : 0;
    widen(c, &c->by_was, places_for(calls - without_id), was_of);
    widen(c, &c->ids, places_for(without_id), id_of);
}

/* ---- ids ---- */

/* Memory that runs out is remembered by the arena. */
static daruma_str made_id(convert_calls *c, uint64_t hash)
{
    enum { BYTES = sizeof "call_0123456789abcdef" - 1 };
    daruma_buf b = buf_over(arena_raw(c->a, BYTES, 1), BYTES);
    if (b.p)
        convert_put_id(&b, hash);
    return buf_str(&b);
}

static bool fits(const convert_calls *c, daruma_str id)
{
    return convert_id_fits(c->names->to, id);
}

/* Has a call that id? The first that had one that fits kept it. */
static bool id_used(const convert_calls *c, daruma_str id)
{
    return find(c, &c->ids, id, id_of) || (fits(c, id) && find(c, &c->by_was, id, was_of));
}

/* Its own id where it has one that fits and is nobody else's; else one made of what it is and how many came before. */
static daruma_str id_for(convert_calls *c, const convo_part *call)
{
    daruma_str id = call->id;
    if (fits(c, id) && !id_used(c, id))
        return id;
    if (id.n && !fits(c, id) && !id_used(c, id = made_id(c, convert_hash(id, 0))))
        return id;
    convo in_arena = {.arena = c->a};
    daruma_str text = convo_part_text(&in_arena, call), arguments = call->custom ? convo_wrap(text, c->a) : text;
    return made_id(c, convert_hash(arguments, convert_hash(call->name, convert_hash(call->id, c->ncalls + 1))));
}

/* ---- which call a result belongs to ---- */

/* The newest call without result among those that have the id of call `newest`; 0 when all have theirs. */
static uint32_t open_of(const convert_calls *c, uint64_t newest)
{
    carried *n = &c->calls[newest - 1];
    while (n->open && c->calls[n->open - 1].answered)
        n->open = c->calls[n->open - 1].before;
    return n->open;
}

/* The oldest call without result among those that have the name of call `newest`; 0 when all have theirs. */
static uint32_t waiting_of(const convert_calls *c, uint64_t newest)
{
    carried *n = &c->calls[newest - 1];
    while (n->waits && c->calls[n->waits - 1].answered)
        n->waits = c->calls[n->waits - 1].next;
    return n->waits;
}

/* Enters call `at` (1 + where it stands), which had that name, where results look for it. */
static void enter_call(convert_calls *c, uint32_t at, daruma_str had)
{
    carried *call = &c->calls[at - 1];
    uint32_t same = find(c, &c->by_was, call->was, was_of);
    uint64_t *name = map_put(&c->by_name, c->a, had);
    call->open = call->waits = at;
    call->before = same ? open_of(c, same) : 0;
    enter(c, &c->by_was, at, was_of);
    if (name) {
        uint32_t waits = *name ? waiting_of(c, *name) : 0;
        if (waits) {
            c->calls[*name - 1].next = at;
            call->waits = waits;
        }
        *name = at;
    }
    if (!str_eq(id_of(c, at), call->was))
        enter(c, &c->ids, at, id_of);
}

bool convert_calls_add(convert_calls *c, const convo_part *call)
{
    carried *calls = arena_grow(c->a, c->calls, c->ncalls, &c->cap, sizeof *calls, CALLS_FIRST);
    if (!calls)
        return false;
    const convo_message *m = &c->out->messages[c->out->nmessages - 1];
    convo_part *to = &m->parts[m->nparts - 1];
    to->id = id_for(c, call);
    to->name = convert_name(c->names, call->name, c->a);
    c->calls = calls;
    calls[c->ncalls++] = (carried){
        .was = call->id, .message = (uint32_t)(c->out->nmessages - 1), .part = (m->nparts - 1) & (UINT32_MAX >> 1)};
    enter_call(c, (uint32_t)c->ncalls, call->name);
    return true;
}

/* The call a result belongs to: by id the newest, else in order, by name if the wire says it. 0 when there is none. */
static uint32_t call_of(convert_calls *c, const convo_part *result)
{
    uint64_t newest;
    if (result->id.n) {
        newest = find(c, &c->by_was, result->id, was_of);
        uint32_t open = newest ? open_of(c, newest) : 0;
        return open ? open : (uint32_t)newest;
    }
    if (result->name.n) {
        const uint64_t *named = map_get(&c->by_name, result->name);
        return named ? waiting_of(c, *named) : 0;
    }
    while (c->nanswered < c->ncalls && c->calls[c->nanswered].answered)
        c->nanswered++;
    return c->nanswered < c->ncalls ? (uint32_t)c->nanswered + 1 : 0;
}

void convert_calls_answer(convert_calls *c, const convo_part *result, convo_part *to)
{
    uint32_t call = call_of(c, result);
    to->id = call                  ? part_of(c, call)->id
             : fits(c, result->id) ? result->id
             : result->id.n        ? made_id(c, convert_hash(result->id, 0))
                                   : (daruma_str){0};
    to->name = result->name.n ? convert_name(c->names, result->name, c->a)
               : call         ? part_of(c, call)->name
                              : (daruma_str){0};
    if (call)
        c->calls[call - 1].answered = true;
}
