/* health.c - the ward: what is sick, how long, and why.
 *
 * A call to a target touches five things that can be sick. Each is a place, found by its id;
 * what has no place is well.
 *
 *     key       provider + key       refused credentials rest
 *     account   provider + account   without credit it rests
 *     lane      account + model      limits of rate and permission hold here: all keys of one
 *                                    account share them
 *     model     provider + model     overload counts in its breaker
 *     provider                       server errors, silence and lost connections count in its
 *                                    breaker; it also holds the retry budget
 *
 * Cooldowns of one place combine by the later end. The table never grows: the place that was
 * touched longest ago makes room. */
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include <xxhash.h>

typedef struct place {
    uint64_t id;
    daruma_scope scope;
    daruma_kind why;        /* what made it sick last */
    daruma_ms cool_until;   /* nothing goes there before; meaningless while cool_ms is 0 */
    daruma_ms cool_ms;      /* how long that cooldown was meant to be, 0: none */
    uint32_t strikes;       /* cooldowns in a row without a success between them */
    bool probing;           /* its cooldown is prolonged while one call finds out whether it is well */
    daruma_breaker breaker; /* models and providers */
    daruma_budget budget;   /* providers */
    uint32_t next;          /* in its chain; places are named by index + 1, 0 is none */
    uint32_t newer, older;  /* touched just after, just before */
} place;

struct daruma_ward {
    uint32_t nplaces, used;
    uint32_t nchains;        /* a power of two */
    uint32_t newest, oldest; /* touched */
    uint32_t healed;         /* times that something was well before it was due */
    uint32_t *chains;
    place *places;
};

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
    {offsetof(daruma_target, key_id), DARUMA_SICK_KEY},
    {offsetof(daruma_target, account_id), DARUMA_SICK_ACCOUNT},
    {offsetof(daruma_target, lane_id), DARUMA_SICK_TARGET},
    {offsetof(daruma_target, model_id), DARUMA_SICK_MODEL},
    {offsetof(daruma_target, provider_id), DARUMA_SICK_PROVIDER},
};
enum { PARTS = sizeof parts / sizeof *parts };

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

size_t daruma_ward_bytes(uint32_t places)
{
    size_t n = places < PARTS ? PARTS : places;
    return sizeof(daruma_ward) + n * sizeof(place) + chains_for((uint32_t)n) * sizeof(uint32_t) +
           3 * _Alignof(max_align_t);
}

daruma_ward *daruma_ward_new(daruma_arena *a, uint32_t places)
{
    if (places < PARTS) /* one target must fit */
        places = PARTS;
    daruma_ward *w = ARENA_NEW(a, daruma_ward, 1);
    if (!w)
        return NULL;
    w->nplaces = places;
    w->nchains = chains_for(places);
    /* Not zeroed: place_of() writes a place whole when it is first used, and a host's fresh memory stays untouched. */
    w->places = arena_raw(a, places * sizeof(place), _Alignof(place));
    w->chains = ARENA_NEW(a, uint32_t, w->nchains);
    return w->places && w->chains ? w : NULL;
}

static place *at_index(const daruma_ward *w, uint32_t i)
{
    return i ? &w->places[i - 1] : NULL;
}

static uint32_t *chain_of(const daruma_ward *w, uint64_t id)
{
    return &w->chains[id & (w->nchains - 1)];
}

static uint32_t find(const daruma_ward *w, uint64_t id)
{
    uint32_t i = *chain_of(w, id);
    while (i && at_index(w, i)->id != id)
        i = at_index(w, i)->next;
    return i;
}

static void unlink_age(daruma_ward *w, uint32_t i)
{
    place *p = at_index(w, i);
    *(p->newer ? &at_index(w, p->newer)->older : &w->newest) = p->older;
    *(p->older ? &at_index(w, p->older)->newer : &w->oldest) = p->newer;
}

static void link_newest(daruma_ward *w, uint32_t i)
{
    place *p = at_index(w, i);
    p->newer = 0;
    p->older = w->newest;
    *(w->newest ? &at_index(w, w->newest)->newer : &w->oldest) = i;
    w->newest = i;
}

/* Room for a new place: an unused one, else that of the one touched longest ago. */
static uint32_t make_room(daruma_ward *w)
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

/* The place of a part of `t` that is known already, now touched last; NULL when it has none. */
static place *known(daruma_ward *w, const daruma_target *t, int part)
{
    uint32_t i = find(w, part_id(t, part));
    if (!i)
        return NULL;
    unlink_age(w, i);
    link_newest(w, i);
    return at_index(w, i);
}

/* The place of a part of `t`, made when there is none. */
static place *place_of(daruma_ward *w, const daruma_target *t, int part)
{
    place *p = known(w, t, part);
    if (p)
        return p;
    uint64_t id = part_id(t, part);
    uint32_t i = make_room(w), *chain = chain_of(w, id);
    p = at_index(w, i);
    *p = (place){.id = id, .scope = parts[part].scope, .next = *chain};
    p->budget = (daruma_budget){.percent = BUDGET_PERCENT, .floor = BUDGET_FLOOR};
    *chain = i;
    link_newest(w, i);
    return p;
}

/* ---- cooldowns ---------------------------------------------------------------- */

enum { KEY, ACCOUNT, LANE, MODEL, PROVIDER }; /* as in parts[] */

/* What is left of it. A clock that went back makes it at most begin anew. */
static daruma_ms cool_in(const place *p, daruma_ms now)
{
    daruma_ms left = p->cool_ms ? ms_since(now, p->cool_until) : 0;
    return left < p->cool_ms ? left : p->cool_ms;
}

static void cool(place *p, daruma_kind why, daruma_ms ms, daruma_ms now)
{
    if (ms > WARD_COOL_MS_MAX)
        ms = WARD_COOL_MS_MAX;
    if (p->probing || ms > cool_in(p, now)) { /* what a probe met replaces its grace */
        p->cool_until = add_sat(now, ms);
        p->cool_ms = ms;
        p->why = why;
    }
    p->probing = false;
}

static void cure(daruma_ward *w, place *p)
{
    w->healed += p->cool_ms != 0;
    p->cool_ms = 0;
    p->strikes = 0;
    p->probing = false;
}

/* Doubles `first` with every strike up to `cap`. */
static daruma_ms doubled(daruma_ms first, daruma_ms cap, uint32_t strikes)
{
    daruma_backoff b = {.base = first, .cap = cap, .factor_milli = 2000};
    return daruma_backoff_delay(&b, strikes, 0);
}

/* ---- looking ------------------------------------------------------------------ */

daruma_health daruma_ward_look(const daruma_ward *w, const daruma_target *t, daruma_ms now)
{
    daruma_health h = {.well = true};
    for (int part = 0; part < PARTS; part++) {
        const place *p = at_index(w, find(w, part_id(t, part)));
        if (!p)
            continue;
        daruma_ms cooled = cool_in(p, now), shut = daruma_breaker_opens_in(&p->breaker, now);
        daruma_ms in = cooled > shut ? cooled : shut;
        if (in > h.in)
            h = (daruma_health){.in = in, .why = p->why, .who = p->scope};
    }
    return h;
}

bool ward_only_shut(const daruma_ward *w, const daruma_target *t, daruma_ms now)
{
    for (int part = 0; part < PARTS; part++) {
        const place *p = at_index(w, find(w, part_id(t, part)));
        if (p && (cool_in(p, now) > 0 || p->breaker.probing))
            return false;
    }
    return true;
}

void ward_hurry(daruma_ward *w, const daruma_target *t, daruma_ms now)
{
    for (int part = MODEL; part <= PROVIDER; part++) {
        place *p = known(w, t, part);
        if (p && p->breaker.shut_until > now)
            p->breaker.shut_until = INT64_MIN; /* long past: half-open */
    }
}

uint32_t daruma_ward_healed(const daruma_ward *w)
{
    return w->healed;
}

daruma_budget *daruma_ward_budget(daruma_ward *w, const daruma_target *t, daruma_ms now)
{
    (void)now;
    return &place_of(w, t, PROVIDER)->budget;
}

void daruma_ward_refreshed(daruma_ward *w, const daruma_target *t)
{
    place *p = known(w, t, KEY);
    if (p && p->why == DARUMA_AUTH)
        cure(w, p);
}

void daruma_ward_reconsider(daruma_ward *w)
{
    for (uint32_t i = w->newest; i; i = at_index(w, i)->older) {
        place *p = at_index(w, i);
        if (p->cool_ms && !daruma_kind_passes(p->why))
            cure(w, p);
    }
}

/* ---- what attempts tell ------------------------------------------------------- */

/* What refused for good and has rested is tried by one call, while others keep off a little
 * longer. What only had to slow down is open to all again. */
static bool probe_rested(place *p, daruma_ms now)
{
    if (!p->cool_ms || cool_in(p, now) > 0 || daruma_kind_passes(p->why))
        return false;
    p->cool_until = add_sat(now, WARD_PROBE_MS);
    p->cool_ms = WARD_PROBE_MS;
    p->probing = true;
    return true;
}

void ward_enter(daruma_ward *w, const daruma_target *t, daruma_permit permits[3], daruma_ms now)
{
    permits[2] = (daruma_permit){.ok = true};
    for (int part = KEY; part <= MODEL; part++) {
        place *p = known(w, t, part);
        if (p && probe_rested(p, now))
            permits[2].probe = true;
    }
    permits[0] = daruma_breaker_ask(&place_of(w, t, MODEL)->breaker, now);
    place *provider = place_of(w, t, PROVIDER);
    permits[1] = daruma_breaker_ask(&provider->breaker, now);
    daruma_budget_call(&provider->budget, now);
}

/* Good and bad count; what says nothing frees the probe. */
typedef enum verdict { NOTHING, GOOD, BAD } verdict;

static void tell(daruma_ward *w, const daruma_target *t, int part, daruma_permit permit, verdict v, daruma_ms now)
{
    place *p = known(w, t, part);
    if (!p)
        return;
    bool was = p->breaker.shut_until != 0, probed = p->breaker.probing;
    if (v == NOTHING)
        daruma_breaker_drop(&p->breaker, permit);
    else
        daruma_breaker_tell(&p->breaker, permit, v == GOOD, now);
    bool is = p->breaker.shut_until != 0, may = probed && !p->breaker.probing && v == NOTHING;
    w->healed += was && (!is || may);
}

/* The cooldowns that this attempt was probing are over: it got past them, or nobody knows. */
static void end_probes(daruma_ward *w, const daruma_target *t, const daruma_permit permits[3], bool well, daruma_ms now)
{
    for (int part = KEY; part <= MODEL; part++) {
        place *p = known(w, t, part);
        if (!p)
            continue;
        if (well && (cool_in(p, now) == 0 || (p->probing && permits[2].probe)))
            cure(w, p);
        else if (p->probing && permits[2].probe) {
            p->probing = false;
            p->cool_until = now; /* rested still: the next call probes */
            w->healed++;
        }
    }
}

void ward_good(daruma_ward *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now)
{
    tell(w, t, MODEL, permits[0], GOOD, now);
    tell(w, t, PROVIDER, permits[1], GOOD, now);
    end_probes(w, t, permits, true, now);
}

void ward_drop(daruma_ward *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now)
{
    tell(w, t, MODEL, permits[0], NOTHING, now);
    tell(w, t, PROVIDER, permits[1], NOTHING, now);
    end_probes(w, t, permits, false, now);
}

/* Which place a kind of failure makes rest, and for how long when nothing was advised. */
// clang-format off
static const struct {
    daruma_kind kind;
    int part;
    daruma_ms first, cap; /* 0: the kind's backoff */
    bool by_advice;       /* rests only when the provider said how long */
} rests[] = {
    {DARUMA_RATE_LIMIT,      LANE,    0,                   0,                   false},
    {DARUMA_QUOTA,           ACCOUNT, WARD_QUOTA_MS,       WARD_QUOTA_MS_MAX,   false},
    {DARUMA_AUTH,            KEY,     WARD_CREDENTIALS_MS, WARD_CREDENTIALS_MS, false},
    {DARUMA_PERMISSION,      LANE,    WARD_CREDENTIALS_MS, WARD_CREDENTIALS_MS, false},
    {DARUMA_MODEL_NOT_FOUND, MODEL,   WARD_CREDENTIALS_MS, WARD_CREDENTIALS_MS, false},
    {DARUMA_OVERLOADED,      MODEL,   0,                   0,                   true},
};
// clang-format on

static void rest(daruma_ward *w, const daruma_target *t, const daruma_failure *f, const daruma_backoff *b,
                 daruma_moment at)
{
    if (f->kind == DARUMA_RATE_LIMIT && f->limit > 0 && f->requested > f->limit)
        return; /* one request is too large: whatever is smaller may pass at once */
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        if (rests[i].kind != f->kind || (rests[i].by_advice && f->wait <= 0))
            continue;
        place *p = place_of(w, t, rests[i].part);
        if (p->strikes < UINT32_MAX && (p->probing || cool_in(p, at.now) == 0))
            p->strikes++; /* answers that were under way when it began to rest are no news */
        daruma_ms ms = f->wait >= 0     ? f->wait
                       : rests[i].first ? doubled(rests[i].first, rests[i].cap, p->strikes)
                                        : daruma_backoff_delay(b, p->strikes, at.dice);
        cool(p, f->kind, ms, at.now);
    }
}

/* What a failed attempt says about the breakers of its model and its provider. */
static void judge(const daruma_failure *f, verdict *model, verdict *provider)
{
    bool answered = f->status >= 400 && f->status < 500;
    *model = NOTHING;
    *provider = answered ? GOOD : NOTHING;
    switch (f->kind) {
    case DARUMA_OVERLOADED:
        *model = BAD;
        *provider = GOOD;
        break;
    case DARUMA_INTERRUPTED: /* its answers break off; whether others' do is not known */
        *model = BAD;
        break;
    case DARUMA_SERVER_ERROR:
    case DARUMA_TIMEOUT:
    case DARUMA_NETWORK:
        *provider = f->kind == DARUMA_SERVER_ERROR && answered ? GOOD : BAD; /* a lock (409) is of one request */
        break;
    case DARUMA_CANCELLED:
        *provider = NOTHING;
        break;
    case DARUMA_UNKNOWN:
        *provider = f->status >= 500 ? BAD : *provider;
        break;
    case DARUMA_CONTEXT_LENGTH:
    case DARUMA_OUTPUT_LIMIT:
    case DARUMA_REQUEST_TOO_LARGE:
    case DARUMA_RATE_LIMIT:
    case DARUMA_QUOTA:
    case DARUMA_AUTH:
    case DARUMA_PERMISSION:
    case DARUMA_MODEL_NOT_FOUND:
    case DARUMA_ORPHAN_TOOL_CALL:
    case DARUMA_INVALID_MESSAGE:
    case DARUMA_INVALID_TOOL_SCHEMA:
    case DARUMA_INVALID_PARAMETER:
    case DARUMA_CONTENT_FILTER:
    case DARUMA_MALFORMED_OUTPUT:
    case DARUMA_TOOL_ERROR:
    case DARUMA_TOOL_UNKNOWN:
    case DARUMA_TOOL_ARGUMENTS:
    case DARUMA_LOOP:
    case DARUMA_STUCK:
    case DARUMA_PLAN_INVALID:
    case DARUMA_BUDGET:
    case DARUMA_KINDS:
        break;
    }
}

static void blame(daruma_ward *w, const daruma_target *t, int part, verdict v, daruma_kind why, daruma_ms now)
{
    place *p = v == BAD ? known(w, t, part) : NULL;
    if (p && cool_in(p, now) == 0)
        p->why = why;
}

void ward_bad(daruma_ward *w, const daruma_target *t, const daruma_permit permits[3], const daruma_failure *f,
              const daruma_backoff *b, daruma_moment at)
{
    verdict model, provider;
    judge(f, &model, &provider);
    tell(w, t, MODEL, permits[0], model, at.now);
    tell(w, t, PROVIDER, permits[1], provider, at.now);
    blame(w, t, MODEL, model, f->kind, at.now);
    blame(w, t, PROVIDER, provider, f->kind, at.now);
    rest(w, t, f, b, at);
    end_probes(w, t, permits, false, at.now);
}

/* ---- for status pages --------------------------------------------------------- */

static const char *breaker_word(const daruma_breaker *b, daruma_ms now)
{
    if (b->shut_until == 0)
        return "closed";
    return b->probing || daruma_breaker_opens_in(b, now) == 0 ? "half-open" : "open";
}

size_t daruma_ward_list(const daruma_ward *w, daruma_ms now, daruma_place *out, size_t max)
{
    size_t n = 0;
    for (uint32_t i = w->newest; i; i = at_index(w, i)->older, n++) {
        const place *p = at_index(w, i);
        if (n >= max)
            continue;
        out[n] = (daruma_place){.id = p->id,
                                .scope = p->scope,
                                .why = p->why,
                                .cool_in = cool_in(p, now),
                                .breaker = breaker_word(&p->breaker, now),
                                .calls = p->breaker.all + p->breaker.was_all,
                                .bad = p->breaker.bad + p->breaker.was_bad};
    }
    return n;
}
