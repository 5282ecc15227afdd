/* place.c - the table of places: found by their ids, and never more than it was made for. */
#include "engine/decide/place.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include <xxhash.h>

/* ---- ids ---------------------------------------------------------------------- */

/* Seeded with what came before, so that "a" + "bc" is not "ab" + "c". Never 0. */
static uint64_t id_of(uint64_t before, daruma_str name)
{
    uint64_t id = XXH3_64bits_withSeed(name.n ? name.p : "", name.n, before);
    return id ? id : 1;
}

void daruma_target_seal(daruma_target *t)
{
    t->provider_id = id_of(DARUMA_SICK_PROVIDER, t->provider);
    t->account_id = id_of(t->provider_id + DARUMA_SICK_ACCOUNT, t->account);
    t->key_id = id_of(t->provider_id + DARUMA_SICK_KEY, t->key);
    t->model_id = id_of(t->provider_id + DARUMA_SICK_MODEL, t->model);
    t->lane_id = id_of(t->account_id + DARUMA_SICK_TARGET, t->model);
}

static const struct {
    size_t id; /* where a target keeps it */
    daruma_scope scope;
} parts[] = {
    /* in the order of their names */
    {offsetof(daruma_target, key_id), DARUMA_SICK_KEY},
    {offsetof(daruma_target, account_id), DARUMA_SICK_ACCOUNT},
    {offsetof(daruma_target, lane_id), DARUMA_SICK_TARGET},
    {offsetof(daruma_target, model_id), DARUMA_SICK_MODEL},
    {offsetof(daruma_target, provider_id), DARUMA_SICK_PROVIDER},
};
_Static_assert(sizeof parts / sizeof *parts == PARTS, "a row for each part");

static uint64_t part_id(const daruma_target *t, int part)
{
    uint64_t id;
    memcpy(&id, (const char *)t + parts[part].id, sizeof id);
    return id;
}

/* ---- the table ---------------------------------------------------------------- */

static uint32_t chains_for(uint32_t places)
{
    uint32_t n = 8;
    while (n < places && n < 1u << 30)
        n *= 2;
    return n;
}

size_t daruma_health_bytes(uint32_t places)
{
    size_t n = places < PARTS ? PARTS : places;
    return sizeof(daruma_health) + n * sizeof(place) + chains_for((uint32_t)n) * sizeof(uint32_t) +
           3 * _Alignof(max_align_t);
}

daruma_health *daruma_health_new(daruma_arena *a, uint32_t places)
{
    if (places < PARTS) /* one target must fit */
        places = PARTS;
    daruma_health *w = ARENA_NEW(a, daruma_health, 1);
    if (!w)
        return NULL;
    w->nplaces = places;
    w->nchains = chains_for(places);
    /* Not zeroed: place_for() writes a place whole when it is first used, and a host's fresh memory stays untouched. */
    w->places = arena_raw(a, places * sizeof(place), _Alignof(place));
    w->chains = ARENA_NEW(a, uint32_t, w->nchains);
    return w->places && w->chains ? w : NULL;
}

static place *at_index(const daruma_health *w, uint32_t i)
{
    return i ? &w->places[i - 1] : NULL;
}

static uint32_t *chain_of(const daruma_health *w, uint64_t id)
{
    return &w->chains[id & (w->nchains - 1)];
}

static uint32_t find(const daruma_health *w, uint64_t id)
{
    uint32_t i = *chain_of(w, id);
    while (i && at_index(w, i)->id != id)
        i = at_index(w, i)->next;
    return i;
}

static void unlink_age(daruma_health *w, uint32_t i)
{
    place *p = at_index(w, i);
    *(p->newer ? &at_index(w, p->newer)->older : &w->newest) = p->older;
    *(p->older ? &at_index(w, p->older)->newer : &w->oldest) = p->newer;
}

static void link_newest(daruma_health *w, uint32_t i)
{
    place *p = at_index(w, i);
    p->newer = 0;
    p->older = w->newest;
    *(w->newest ? &at_index(w, w->newest)->newer : &w->oldest) = i;
    w->newest = i;
}

/* Room for a new place: an unused one, else that of the one touched longest ago. */
static uint32_t make_room(daruma_health *w)
{
    if (w->used < w->nplaces)
        return ++w->used;
    uint32_t i = w->oldest;
    check(i != 0);
    unlink_age(w, i);
    uint32_t *link = chain_of(w, at_index(w, i)->id);
    while (*link != i)
        link = &at_index(w, *link)->next;
    *link = at_index(w, i)->next;
    return i;
}

place *place_look(const daruma_health *w, const daruma_target *t, int part)
{
    return at_index(w, find(w, part_id(t, part)));
}

place *place_newest(const daruma_health *w)
{
    return at_index(w, w->newest);
}

place *place_older(const daruma_health *w, const place *p)
{
    return at_index(w, p->older);
}

place *place_oldest(const daruma_health *w)
{
    return at_index(w, w->oldest);
}

place *place_newer(const daruma_health *w, const place *p)
{
    return at_index(w, p->newer);
}

place *place_known(daruma_health *w, const daruma_target *t, int part)
{
    uint32_t i = find(w, part_id(t, part));
    if (!i)
        return NULL;
    if (i != w->newest) {
        unlink_age(w, i);
        link_newest(w, i);
    }
    return at_index(w, i);
}

place *place_for(daruma_health *w, const daruma_target *t, int part)
{
    place *p = place_known(w, t, part);
    return p ? p : place_made(w, part_id(t, part), parts[part].scope);
}

place *place_made(daruma_health *w, uint64_t id, daruma_scope scope)
{
    uint32_t i = find(w, id);
    if (i)
        return at_index(w, i);
    i = make_room(w);
    uint32_t *chain = chain_of(w, id);
    place *p = at_index(w, i);
    *p = (place){.id = id, .scope = scope, .next = *chain};
    p->budget = (daruma_budget){.percent = BUDGET_PERCENT, .floor = BUDGET_FLOOR};
    p->hedges = (daruma_budget){.percent = HEDGE_PERCENT, .floor = HEDGE_FLOOR};
    p->breaker.wary = p->scope == DARUMA_SICK_PROVIDER || p->scope == DARUMA_SICK_MODEL;
    *chain = i;
    link_newest(w, i);
    return p;
}

/* What a table of places adds to a place, and what counts calls, stays as it is. */
void place_keep(place *p, const place *got)
{
    place is = *got;
    is.id = p->id;
    is.next = p->next;
    is.newer = p->newer;
    is.older = p->older;
    is.budget = p->budget;
    is.hedges = p->hedges;
    is.crowd = p->crowd;
    is.turns = p->turns;
    memcpy(is.forms, p->forms, sizeof is.forms);
    is.narrow = p->narrow;
    is.narrow_at = p->narrow_at;
    is.tempo = p->tempo;
    is.breaker.wary = p->breaker.wary;
    *p = is;
}
