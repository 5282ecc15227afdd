/* health.c - what is sick, how long, and why.
 *
 * A call to a target touches five things that can be sick. Each is a place, found by its id;
 * what has no place is well.
 *
 *     key       provider + key       refused credentials rest
 *     account   provider + account   without credit it rests
 *     lane      account + model      limits of rate and permission hold here: all keys of one
 *                                    account share them
 *     model     provider + model     answers that are errors, empty, cut or do not come count in
 *                                    its breaker
 *     provider                       connections that are not made count in its breaker, and what
 *                                    several of its models have in common; it also holds the
 *                                    budgets of retries and hedges
 *
 * Blame goes to the lowest place that explains what was seen, and a success clears what stands above it.
 * A place that rests is asked last. Only where the provider itself named the wait nobody asks before it is over.
 * Rests of one place combine by the later end. The table never grows: the place that was touched longest ago
 * makes room. */
#include "engine/decide/health.h"
#include "engine/decide/window.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include <xxhash.h>

/* Times of one kind, in ms: the mean and how far they lie from it, as TCP keeps them (RFC 6298). */
typedef struct usual {
    int32_t mean, off;
    uint32_t n; /* how many there were */
} usual;

typedef struct place {
    uint64_t id;
    daruma_scope scope;
    daruma_kind why;              /* what made it sick last */
    daruma_ms cool_until;         /* it rests until then; meaningless while cool_ms is 0 */
    daruma_ms cool_ms;            /* how long that rest was meant to be, 0: none */
    daruma_ms probe_until;        /* it has rested and one call finds out whether it is well; 0: none does */
    uint64_t witness;             /* the case that was refused here, 0 none; a second one makes it rest */
    uint32_t strikes;             /* rests in a row without a success between them */
    bool named;                   /* the provider said how long */
    daruma_breaker breaker;       /* models and providers */
    daruma_budget budget;         /* providers: retries */
    daruma_budget hedges;         /* providers: second calls beside a silent one */
    usual times[HEALTH_TIMES][2]; /* models: streams, plain answers */
    daruma_ms heard;              /* models: when the newest call that was answered went out ... */
    daruma_ms heard_at;           /* ... and when that was; 0 none was */
    daruma_ms knocked_at;         /* models: when a second call went there blindly; 0 never */
    daruma_ms dead_from;          /* models: calls that went out from here on hang, though the place is well ... */
    daruma_ms dead_to;            /* ... up to here; 0 none */
    uint32_t next;                /* in its chain; places are named by index + 1, 0 is none */
    uint32_t newer, older;        /* touched just after, just before */
} place;

struct daruma_health {
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
    /* Not zeroed: place_of() writes a place whole when it is first used, and a host's fresh memory stays untouched. */
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

/* The place of a part of `t` that is known already, now touched last; NULL when it has none. */
static place *known(daruma_health *w, const daruma_target *t, int part)
{
    uint32_t i = find(w, part_id(t, part));
    if (!i)
        return NULL;
    unlink_age(w, i);
    link_newest(w, i);
    return at_index(w, i);
}

/* The place of a part of `t`, made when there is none. */
static place *place_of(daruma_health *w, const daruma_target *t, int part)
{
    place *p = known(w, t, part);
    if (p)
        return p;
    uint64_t id = part_id(t, part);
    uint32_t i = make_room(w), *chain = chain_of(w, id);
    p = at_index(w, i);
    *p = (place){.id = id, .scope = parts[part].scope, .next = *chain};
    p->budget = (daruma_budget){.percent = BUDGET_PERCENT, .floor = BUDGET_FLOOR};
    p->hedges = (daruma_budget){.percent = HEDGE_PERCENT, .floor = HEDGE_FLOOR};
    p->breaker.wary = p->scope == DARUMA_SICK_PROVIDER;
    *chain = i;
    link_newest(w, i);
    return p;
}

/* ---- rests -------------------------------------------------------------------- */

enum { KEY, ACCOUNT, LANE, MODEL, PROVIDER }; /* as in parts[] */

/* What is left of it. A clock that went back makes it at most begin anew. */
static daruma_ms cool_in(const place *p, daruma_ms now)
{
    daruma_ms left = p->cool_ms ? ms_since(now, p->cool_until) : 0;
    return left < p->cool_ms ? left : p->cool_ms;
}

/* While one call finds out whether a place that has rested is well, others look again after this. */
static daruma_ms probed_in(const place *p, daruma_ms now)
{
    daruma_ms left = p->cool_ms && p->probe_until ? ms_since(now, p->probe_until) : 0;
    return left < BREAKER_PROBE_LOOK_MS ? left : BREAKER_PROBE_LOOK_MS;
}

static void cool(place *p, daruma_kind why, daruma_ms ms, bool named, daruma_ms now)
{
    if (ms > HEALTH_COOL_MS_MAX)
        ms = HEALTH_COOL_MS_MAX;
    if (p->probe_until || ms > cool_in(p, now)) { /* what a probe met is news */
        p->cool_until = add_sat(now, ms);
        p->cool_ms = ms;
        p->why = why;
        p->named = named;
    }
    p->probe_until = 0;
}

static void cure(daruma_health *w, place *p)
{
    w->healed += p->cool_ms != 0;
    p->cool_ms = 0;
    p->strikes = 0;
    p->probe_until = 0;
    p->witness = 0;
    p->named = false;
}

/* ---- looking ------------------------------------------------------------------ */

static daruma_ms later(daruma_ms a, daruma_ms b)
{
    return a > b ? a : b;
}

daruma_condition daruma_health_look(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    daruma_condition h = {0};
    for (int part = 0; part < PARTS; part++) {
        const place *p = at_index(w, find(w, part_id(t, part)));
        if (!p)
            continue;
        daruma_ms cooled = cool_in(p, now), in = later(cooled, probed_in(p, now));
        in = later(in, daruma_breaker_opens_in(&p->breaker, now));
        if (in > h.in) {
            h.in = in;
            h.why = p->why;
            h.who = p->scope;
        }
        if (p->named)
            h.named_in = later(h.named_in, cooled);
        if (p->named || daruma_kind_passes(p->why)) /* what does not pass is not waited for: it is asked */
            h.alone_in = later(h.alone_in, later(cooled, probed_in(p, now)));
        h.alone_in = later(h.alone_in, daruma_breaker_alone_in(&p->breaker, now));
    }
    h.well = h.in == 0;
    return h;
}

uint32_t daruma_health_healed(const daruma_health *w)
{
    return w->healed;
}

daruma_budget *daruma_health_budget(daruma_health *w, const daruma_target *t, daruma_ms now)
{
    (void)now;
    return &place_of(w, t, PROVIDER)->budget;
}

daruma_budget *health_hedges(daruma_health *w, const daruma_target *t)
{
    return &place_of(w, t, PROVIDER)->hedges;
}

void daruma_health_refreshed(daruma_health *w, const daruma_target *t)
{
    place *p = known(w, t, KEY);
    if (p && p->why == DARUMA_AUTH)
        cure(w, p);
}

void daruma_health_reconsider(daruma_health *w)
{
    for (uint32_t i = w->newest; i; i = at_index(w, i)->older) {
        place *p = at_index(w, i);
        if (p->cool_ms && !daruma_kind_passes(p->why))
            cure(w, p);
    }
}

/* ---- usual times --------------------------------------------------------------- */

void health_took(daruma_health *w, const daruma_target *t, health_time what, bool plain, daruma_ms sent_at,
                 daruma_ms now)
{
    place *p = place_of(w, t, MODEL);
    usual *u = &p->times[what][plain];
    daruma_ms ms = ms_since(sent_at, now);
    if (!p->heard_at || sent_at > p->heard)
        p->heard = sent_at;
    p->heard_at = now ? now : 1;
    int32_t took = ms < 0 ? 0 : ms < INT32_MAX / 8 ? (int32_t)ms : INT32_MAX / 8;
    int32_t off = u->n ? (took > u->mean ? took - u->mean : u->mean - took) : took / 4;
    u->off += u->n ? (off - u->off) / 4 : off;
    u->mean += u->n ? (took - u->mean) / 8 : took;
    u->n += u->n < UINT32_MAX;
}

daruma_ms health_usual(const daruma_health *w, const daruma_target *t, health_time what, bool plain)
{
    const place *p = at_index(w, find(w, part_id(t, MODEL)));
    const usual *u = p ? &p->times[what][plain] : NULL;
    if (!u || !u->n)
        return -1;
    return u->mean + later(u->mean / 2, 4 * (daruma_ms)u->off);
}

daruma_ms health_heard(const daruma_health *w, const daruma_target *t)
{
    const place *p = at_index(w, find(w, part_id(t, MODEL)));
    return p && p->heard_at ? p->heard : INT64_MIN;
}

bool health_may_knock(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = at_index(w, find(w, part_id(t, MODEL)));
    if (!p || !p->heard_at)
        return false;
    return !p->knocked_at || ms_since(p->knocked_at, now) >= later(HEDGE_KNOCK_MS, ms_since(p->heard_at, now) / 2);
}

void health_knocked(daruma_health *w, const daruma_target *t, daruma_ms now)
{
    place_of(w, t, MODEL)->knocked_at = now ? now : 1;
}

bool health_worked(const daruma_health *w, const daruma_target *t, daruma_ms since)
{
    const place *p = at_index(w, find(w, part_id(t, MODEL)));
    return p && p->heard_at && p->breaker.well_at > since;
}

bool health_may_hurry(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    for (int part = MODEL; part <= PROVIDER; part++) {
        const place *p = at_index(w, find(w, part_id(t, part)));
        const daruma_breaker *b = p ? &p->breaker : NULL;
        if (b && b->open_until && (now < b->probe_until || ms_since(b->bad_at, now) < ALONE_MS_MIN))
            return false;
    }
    return true;
}

void health_hung(daruma_health *w, const daruma_target *t, daruma_ms sent_at)
{
    place *p = place_of(w, t, MODEL);
    bool near =
        p->dead_to && ms_since(p->dead_to, sent_at) < HEDGE_DEAD_MS && ms_since(sent_at, p->dead_from) < HEDGE_DEAD_MS;
    p->dead_from = near && p->dead_from < sent_at ? p->dead_from : sent_at;
    p->dead_to = near && p->dead_to > sent_at ? p->dead_to : sent_at;
}

bool health_hangs(const daruma_health *w, const daruma_target *t, daruma_ms sent_at)
{
    const place *p = at_index(w, find(w, part_id(t, MODEL)));
    return p && p->dead_to && sent_at >= p->dead_from && sent_at <= p->dead_to;
}

void health_passed(daruma_health *w, const daruma_target *t)
{
    for (int part = MODEL; part <= PROVIDER; part++) {
        place *p = at_index(w, find(w, part_id(t, part)));
        if (p)
            daruma_breaker_pass(&p->breaker);
    }
}

/* ---- what attempts tell ------------------------------------------------------- */

/* What refused for good and has rested is tried by one call, while others keep off a little
 * longer. What only had to slow down is open to all again. */
static bool probe_rested(place *p, daruma_ms now)
{
    if (!p->cool_ms || cool_in(p, now) > 0 || probed_in(p, now) > 0 || daruma_kind_passes(p->why))
        return false;
    p->probe_until = add_sat(now, BREAKER_PROBE_MS);
    return true;
}

void health_enter(daruma_health *w, const daruma_target *t, daruma_permit permits[3], daruma_ms now)
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
    daruma_budget_call(&provider->hedges, now);
}

/* Good and bad count; what says nothing frees the probe. */
typedef enum verdict { NOTHING, GOOD, BAD } verdict;

static void tell(daruma_health *w, const daruma_target *t, int part, daruma_permit permit, verdict v, uint64_t witness,
                 daruma_ms now)
{
    place *p = known(w, t, part);
    if (!p)
        return;
    bool was = p->breaker.open_until != 0, probed = p->breaker.probe_until != 0;
    if (v == NOTHING)
        daruma_breaker_drop(&p->breaker, permit);
    else
        daruma_breaker_tell(&p->breaker, permit, v == GOOD, witness, now);
    bool is = p->breaker.open_until != 0, may = probed && !p->breaker.probe_until && v == NOTHING;
    w->healed += was && (!is || may);
}

/* A success ends what its parts were resting for, but no wait that the provider named. Else the probe is over and
 * nobody knows. */
static void end_probes(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], bool well,
                       daruma_ms now)
{
    for (int part = KEY; part <= MODEL; part++) {
        place *p = known(w, t, part);
        if (!p)
            continue;
        if (well && (cool_in(p, now) == 0 || !p->named))
            cure(w, p);
        else if (p->probe_until && permits[2].probe) {
            p->probe_until = 0; /* rested still: the next call probes */
            w->healed++;
        }
    }
}

void health_good(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now)
{
    tell(w, t, MODEL, permits[0], GOOD, 0, now);
    tell(w, t, PROVIDER, permits[1], GOOD, 0, now);
    end_probes(w, t, permits, true, now);
}

void health_drop(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], daruma_ms now)
{
    tell(w, t, MODEL, permits[0], NOTHING, 0, now);
    tell(w, t, PROVIDER, permits[1], NOTHING, 0, now);
    end_probes(w, t, permits, false, now);
}

/* Which place a kind of failure makes rest, and for how long when nothing was advised. */
// clang-format off
static const struct {
    daruma_kind kind;
    int part;
    daruma_ms first; /* 0: the kind's backoff */
    bool by_advice;  /* rests only when the provider said how long */
    bool agreed;     /* ... and else only when two requests were refused, or the words are sure */
    uint8_t sure;    /* percent, for that; over 100: no words are */
} rests[] = {
    {DARUMA_RATE_LIMIT,      LANE,    0,           false, false, 0},
    {DARUMA_QUOTA,           ACCOUNT, REST_MS_MAX, false, true,  90},
    {DARUMA_AUTH,            KEY,     REST_MS_MAX, false, true,  90},
    {DARUMA_PERMISSION,      LANE,    REST_MS_MAX, false, true,  101},
    {DARUMA_MODEL_NOT_FOUND, MODEL,   REST_MS_MAX, false, true,  101},
    {DARUMA_OVERLOADED,      MODEL,   0,           true,  false, 0},
    {DARUMA_SERVER_ERROR,    MODEL,   0,           true,  false, 0},
};
// clang-format on

static daruma_ms rest_ms(daruma_ms first, uint32_t strikes, const daruma_backoff *b, uint64_t dice)
{
    daruma_ms ms = first ? first : daruma_backoff_delay(b, strikes, dice);
    return ms < REST_MS_MAX ? ms : REST_MS_MAX;
}

static void rest(daruma_health *w, const daruma_target *t, const daruma_failure *f, uint64_t witness,
                 const daruma_backoff *b, daruma_moment at)
{
    if (f->kind == DARUMA_RATE_LIMIT && f->limit > 0 && f->requested > f->limit)
        return; /* one request is too large: whatever is smaller may pass at once */
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        bool named = f->wait > 0;
        if (rests[i].kind != f->kind || (rests[i].by_advice && !named))
            continue;
        place *p = place_of(w, t, rests[i].part);
        bool alone = !p->witness || p->witness == witness;
        if (!p->witness)
            p->witness = witness;
        if (rests[i].agreed && !named && alone && f->sure < rests[i].sure && !p->cool_ms)
            continue; /* it may be about that request only */
        if (p->strikes < UINT32_MAX && (p->probe_until || cool_in(p, at.now) == 0))
            p->strikes++; /* answers that were under way when it began to rest are no news */
        daruma_ms ms = named || f->wait == 0 ? f->wait : rest_ms(rests[i].first, p->strikes, b, at.dice);
        cool(p, f->kind, ms, named, at.now);
    }
}

/* Was no connection made? Then it is nothing that a model could do. */
static bool not_connected(daruma_net n)
{
    return n == DARUMA_NET_DNS || n == DARUMA_NET_REFUSED || n == DARUMA_NET_UNREACHABLE || n == DARUMA_NET_TLS ||
           n == DARUMA_NET_CERTIFICATE || n == DARUMA_NET_PROXY || n == DARUMA_NET_CONNECT_TIMEOUT;
}

/* What a failed attempt says about the model. */
static verdict of_model(const daruma_failure *f)
{
    switch (f->kind) {
    case DARUMA_SERVER_ERROR:
        return f->status >= 400 && f->status < 500 ? NOTHING : BAD; /* a lock (409) is of one request */
    case DARUMA_OVERLOADED:
    case DARUMA_INTERRUPTED:
    case DARUMA_TIMEOUT:
    case DARUMA_NETWORK:
        return BAD;
    case DARUMA_UNKNOWN:
        return f->status >= 500 || f->net != DARUMA_NET_NONE ? BAD : NOTHING;
    case DARUMA_MALFORMED_OUTPUT:
        return f->retryable
                   ? BAD
                   : NOTHING; /* nothing came, or nothing that can be read; what is only wrong is no matter of health */
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
    case DARUMA_TOOL_ERROR:
    case DARUMA_TOOL_UNKNOWN:
    case DARUMA_TOOL_ARGUMENTS:
    case DARUMA_LOOP:
    case DARUMA_STUCK:
    case DARUMA_PLAN_INVALID:
    case DARUMA_BUDGET:
    case DARUMA_CANCELLED:
    case DARUMA_KINDS:
        break;
    }
    return NOTHING;
}

static void blame(daruma_health *w, const daruma_target *t, int part, verdict v, daruma_kind why, daruma_ms now)
{
    place *p = v == BAD ? known(w, t, part) : NULL;
    if (p && cool_in(p, now) == 0)
        p->why = why;
}

void health_silent(daruma_health *w, const daruma_target *t, daruma_permit model, uint64_t witness, daruma_ms now)
{
    tell(w, t, MODEL, model, BAD, witness, now);
    blame(w, t, MODEL, BAD, DARUMA_TIMEOUT, now);
}

void health_bad(daruma_health *w, const daruma_target *t, const daruma_permit permits[3], const daruma_failure *f,
                uint64_t witness, const daruma_backoff *b, daruma_moment at)
{
    bool here = f->kind != DARUMA_CANCELLED, away = here && not_connected(f->net);
    verdict model = away ? NOTHING : of_model(f), provider = model;
    if (here && f->status >= 400 && f->status < 500 && model == NOTHING)
        provider = GOOD; /* it is there */
    if (away)
        provider = BAD;
    tell(w, t, MODEL, permits[0], model, witness, at.now);
    /* The provider is to blame when no connection is made, or when several of its models fail and none succeeds. */
    tell(w, t, PROVIDER, permits[1], provider, away ? 0 : t->model_id, at.now);
    blame(w, t, MODEL, model, f->kind, at.now);
    blame(w, t, PROVIDER, provider, f->kind, at.now);
    rest(w, t, f, witness, b, at);
    end_probes(w, t, permits, false, at.now);
}

/* ---- for status pages --------------------------------------------------------- */

static const char *breaker_word(const daruma_breaker *b, daruma_ms now)
{
    if (b->open_until == 0)
        return "closed";
    return b->probe_until || daruma_breaker_opens_in(b, now) == 0 ? "half-open" : "open";
}

size_t daruma_health_list(const daruma_health *w, daruma_ms now, daruma_place *out, size_t max)
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
