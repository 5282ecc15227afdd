/* convert_calls.c - which call a result belongs to, and the ids that both get on another wire. */
#include "dialect/convert.h"
#include "base/arena.h"

/* A call that was carried, for the result that follows. Calls are known by 1 + where they stand in the list; 0 is none.
 *
 *     of one id, from the newest back    newest -> open -> before -> before
 *     of one name, from the oldest on    newest -> waits -> next -> next
 *
 * What was answered is passed over once and then no more: the newest one keeps where that ended. */
struct carried {
    daruma_str was, id, name; /* id it had, id it got */
    bool answered;
    uint32_t before, open; /* of its id: the one before that had no result; of the newest: the newest without */
    uint32_t next, waits;  /* of its name: the one behind; of the newest: the oldest that may have no result */
};

void convert_calls_expect(convert_calls *c, size_t calls, size_t without_id)
{
    c->calls = calls ? ARENA_NEW(c->a, carried, calls) : NULL;
    c->cap = c->calls ? calls : 0;
    map_expect(&c->by_was, c->a, calls - without_id);
    map_expect(&c->ids, c->a, without_id);
}

/* Memory that runs out is remembered by the arena. */
static daruma_str made_id(convert_calls *c, uint64_t hash)
{
    enum { BYTES = sizeof "call_0123456789abcdef" - 1 };
    daruma_buf b = buf_over(arena_raw(c->a, BYTES, 1), BYTES);
    if (b.p)
        convert_put_id(&b, hash);
    return buf_str(&b);
}

/* Has a call that id? The first that had one that fits kept it. */
static bool id_used(const convert_calls *c, daruma_str id)
{
    return map_get(&c->ids, id) || (convert_id_fits(c->to, id) && map_get(&c->by_was, id));
}

/* Its own id where it has one that fits and is nobody else's; else one made of what it is and how many came before. */
static daruma_str id_for(convert_calls *c, const convo_part *call, daruma_str arguments)
{
    daruma_str id = call->id;
    if (convert_id_fits(c->to, id) && !id_used(c, id))
        return id;
    if (id.n && !convert_id_fits(c->to, id) && !id_used(c, id = made_id(c, convert_hash(id, 0))))
        return id;
    return made_id(c, convert_hash(arguments, convert_hash(call->name, convert_hash(call->id, c->ncalls + 1))));
}

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

/* Enters call `at` (1 + where it stands) where results look for it. */
static void enter_call(convert_calls *c, uint32_t at)
{
    carried *call = &c->calls[at - 1];
    uint64_t *was = map_put(&c->by_was, c->a, call->was), *name;
    call->open = call->waits = at;
    if (was) {
        call->before = *was ? open_of(c, *was) : 0;
        *was = at;
    }
    if ((name = map_put(&c->by_name, c->a, call->name))) {
        uint32_t waits = *name ? waiting_of(c, *name) : 0;
        if (waits) {
            c->calls[*name - 1].next = at;
            call->waits = waits;
        }
        *name = at;
    }
    if (!str_eq(call->id, call->was))
        map_put(&c->ids, c->a, call->id);
}

bool convert_calls_add(convert_calls *c, const convo_part *call, daruma_str arguments, convo_part *to)
{
    carried *calls = arena_grow(c->a, c->calls, c->ncalls, &c->cap, sizeof *calls, 32);
    if (!calls)
        return false;
    c->calls = calls;
    to->id = id_for(c, call, arguments);
    calls[c->ncalls++] = (carried){.was = call->id, .id = to->id, .name = call->name};
    enter_call(c, (uint32_t)c->ncalls);
    return true;
}

/* The call a result belongs to: by id the newest, else in order, by name if the wire says it. NULL when there is none.
 */
static carried *call_of(convert_calls *c, const convo_part *result)
{
    const uint64_t *newest;
    uint64_t at = 0;
    if (result->id.n) {
        newest = map_get(&c->by_was, result->id);
        at = newest ? open_of(c, *newest) : 0;
        at = at || !newest ? at : *newest;
    } else if (result->name.n) {
        newest = map_get(&c->by_name, result->name);
        at = newest ? waiting_of(c, *newest) : 0;
    } else {
        while (c->nanswered < c->ncalls && c->calls[c->nanswered].answered)
            c->nanswered++;
        at = c->nanswered < c->ncalls ? c->nanswered + 1 : 0;
    }
    return at ? &c->calls[at - 1] : NULL;
}

void convert_calls_answer(convert_calls *c, const convo_part *result, convo_part *to, daruma_str *ret_name)
{
    carried *call = call_of(c, result);
    to->id = call                                 ? call->id
             : convert_id_fits(c->to, result->id) ? result->id
             : result->id.n                       ? made_id(c, convert_hash(result->id, 0))
                                                  : (daruma_str){0};
    *ret_name = result->name.n || !call ? result->name : call->name;
    if (call)
        call->answered = true;
}
