/* health.c - what is sick, how long, and why.
 *
 * A call to a target touches five things that can be sick. Each is a place, found by its id;
 * what has no place is well.
 *
 *     key       provider + key       refused credentials rest
 *     account   provider + account   without credit it rests
 *     lane      account + model      limits of rate and permission hold here: all keys of one
 *                                    account share them; answers that are errors, empty, cut or do
 *                                    not come count in its breaker
 *     model     provider + model     what several of its lanes have in common counts in its breaker
 *     provider                       connections that are not made count in its breaker, and what
 *                                    several of its models have in common; it also holds the
 *                                    budgets of retries and hedges
 *
 * Blame goes to the lowest place that explains what was seen, and a success clears what stands above it.
 * A place that rests is asked last. Where the provider itself named a wait of some seconds nobody asks before it is
 * over. A longer one is tested where nobody else is well, by one call at a time and ever more seldom: a constant that
 * says nothing of when the place is well is named anew each time. Once a later call is told the same end it holds.
 * Rests of one place combine by the later end. The table never grows: the place that was touched longest ago
 * makes room. */
#include "engine/decide/health.h"
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "model/kinds.h"
#include "base/limits.h"

/* ---- rests -------------------------------------------------------------------- */

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

/* Rests of one place combine by the later end. But of what the provider names again the sooner end holds: the wait is
 * in whole seconds, rounded up, unless it is longer by more than that. */
static void cool(daruma_health *w, place *p, daruma_kind why, daruma_ms ms, bool named, daruma_ms sent_at,
                 daruma_ms now)
{
    if (ms > HEALTH_COOL_MS_MAX)
        ms = HEALTH_COOL_MS_MAX;
    daruma_ms was = cool_in(p, now);
    bool again = named && p->named && was && sent_at > p->cool_from;
    bool longer = again ? ms - was >= ADVICE_ROUNDS_MS : ms > was, shorter = again && ms < was;
    bool under_way = p->cool_ms && sent_at < add_sat(p->cool_from, p->cool_took); /* when it began to rest */
    if (under_way && !was && !named && p->probe_until) /* that rest is over, and who probes now finds out more */
        return;
    daruma_ms moved = ms - was;
    if (!again)
        p->held = false;
    else if (ms_since(p->cool_from, sent_at) > ADVICE_ROUNDS_MS)
        p->held = moved < ADVICE_ROUNDS_MS && moved > -2 * ADVICE_ROUNDS_MS;
    if (named && !p->named_from)
        p->named_from = sent_at ? sent_at : 1;
    w->healed += shorter;
    if ((p->probe_until && !under_way && !(p->named && was)) || longer || shorter) { /* what a probe met is news */
        p->cool_until = add_sat(now, ms);
        p->cool_ms = ms;
        if (!under_way) {
            p->cool_from = sent_at;
            p->cool_took = ms_since(sent_at, now);
        }
        p->why = why;
        p->named = named;
    }
    if (!under_way)
        p->probe_until = 0;
}

static void cure(daruma_health *w, place *p)
{
    w->healed += p->cool_ms != 0;
    p->cool_ms = 0;
    p->strikes = 0;
    p->probe_until = 0;
    p->witness = 0;
    p->wrong_by = 0;
    p->wrongs = 0;
    p->named = p->held = false;
    p->named_from = 0;
}

/* The part of a target for its name in the rows of kinds. What an account was told of a model is no word to another
 * account: that a model is down for all of them its breaker sees, from several of them. */
static const int rest_parts[] = {
    [SHARE_KEY] = KEY, [SHARE_ACCOUNT] = ACCOUNT, [SHARE_LANE] = LANE, [SHARE_MODEL] = MODEL};

/* Does a refusal of that kind concern all requests alike? What may not be done is of one request, perhaps. */
static bool is_of_all(daruma_kind k)
{
    return k == DARUMA_AUTH || k == DARUMA_MODEL_NOT_FOUND || k == DARUMA_QUOTA;
}

/* A key that was taken, or a model that was there, for several requests is refused since a short while: it may pass.
 * Credit seldom comes by itself: an account without is waited for no longer than an SDK would ask again. */
static bool may_pass(const place *p, daruma_ms now)
{
    return p && p->trusted && p->refused_from &&
           ms_since(p->refused_from, now) < (p->scope == DARUMA_SICK_ACCOUNT ? QUOTA_PASSES_MS : REFUSED_PASSES_MS);
}

/* Who has nobody else asks it when it has been refused for half as long again. */
static daruma_ms passes_in(const place *p, daruma_ms now)
{
    daruma_ms every = later(ALONE_MS_MIN, sooner(ms_since(p->refused_from, p->asked_at) / 2, REST_MS_MAX));
    daruma_ms gone = ms_since(p->asked_at, now);
    return may_pass(p, now) && now >= p->asked_at && gone < every ? every - gone : 0;
}

/* Does it rest, or did it just now, since its answers are wrong? */
static bool is_wrong(const place *p)
{
    return p->wrong_by && (!p->cool_ms || p->why == DARUMA_MALFORMED_OUTPUT);
}

/* Is the wait that was named one to be tested? */
static bool is_tested(const place *p)
{
    return p->named && !p->held && p->named_from && p->cool_ms > NAMED_SURE_MS;
}

/* When the newest call went out of which the place knows: it is made for the first that fails. */
static daruma_ms asked_at(const place *p)
{
    return later(p->asked_at, p->cool_from);
}

/* Who has nobody else tests a wait that was named when it has lasted for half as long again. */
static daruma_ms tested_in(const place *p, daruma_ms now)
{
    daruma_ms left = cool_in(p, now), every = later(NAMED_TEST_MS, ms_since(p->named_from, asked_at(p)) / 2),
              gone = ms_since(asked_at(p), now);
    if (!is_tested(p) || now < asked_at(p))
        return left;
    return sooner(left, later(gone < every ? every - gone : 0, probed_in(p, now)));
}

/* ---- looking ------------------------------------------------------------------ */

/* True if only other models speak against the provider of `t`: its own has not failed since its last success, and
 * connections are made. Then it is asked last, but nobody waits instead of asking it. */
static bool is_hearsay(const daruma_health *w, const daruma_target *t, const place *provider)
{
    const place *model = place_look(w, t, MODEL);
    return !provider->unreached && (!model || model->breaker.row == 0);
}

daruma_condition daruma_health_look(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    daruma_condition h = {0};
    for (int part = 0; part < PARTS; part++) {
        const place *p = place_look(w, t, part);
        if (!p || (!p->cool_ms && !p->breaker.open_until)) /* unknown, or well: nearly always */
            continue;
        daruma_ms cooled = cool_in(p, now), in = later(cooled, probed_in(p, now));
        in = later(in, daruma_breaker_opens_in(&p->breaker, now));
        if (in > h.in) {
            h.in = in;
            h.why = p->why;
            h.who = p->scope;
        }
        if (p->named && cooled > h.named_in) {
            h.named_in = cooled;
            h.named_status = p->named_status;
        }
        if (p->named && cooled)
            h.alone_in = later(h.alone_in, tested_in(p, now));
        else if (p->named || daruma_kind_passes(p->why)) /* what does not pass is not waited for: it is asked */
            h.alone_in = later(h.alone_in, later(cooled, probed_in(p, now)));
        else
            h.alone_in = later(h.alone_in, passes_in(p, now));
        if (part != PROVIDER || !is_hearsay(w, t, p))
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
    return &place_for(w, t, PROVIDER)->budget;
}

daruma_budget *health_hedges(daruma_health *w, const daruma_target *t)
{
    return &place_for(w, t, PROVIDER)->hedges;
}

void daruma_health_refreshed(daruma_health *w, const daruma_target *t)
{
    place *p = place_look(w, t, KEY);
    if (p && p->why == DARUMA_AUTH)
        cure(w, p);
}

void daruma_health_reconsider(daruma_health *w)
{
    for (place *p = place_newest(w); p; p = place_older(w, p)) {
        if (p->cool_ms && !daruma_kind_passes(p->why))
            cure(w, p);
    }
}

bool health_may_hurry(const daruma_health *w, const daruma_target *t, daruma_ms most, daruma_ms now)
{
    for (int part = LANE; part <= PROVIDER; part++) {
        const place *p = place_look(w, t, part);
        const daruma_breaker *b = p ? &p->breaker : NULL;
        daruma_ms every = b ? ms_since(b->well_at, b->bad_at) / HURRY_DOWN_DIV : 0;
        if (b && b->open_until && ms_since(b->sent_at, now) < later(every < most ? every : most, ALONE_MS_MIN))
            return false;
    }
    return true;
}

bool health_is_probed(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    bool probed = false;
    for (int part = KEY; part < PARTS; part++) {
        const place *p = place_look(w, t, part);
        probed |= p && (p->probe_until > now || p->breaker.probe_until > now);
    }
    return probed;
}

bool health_named_since(const daruma_health *w, const daruma_target *t, daruma_ms sent_at, daruma_ms now)
{
    for (int part = KEY; part <= MODEL; part++) {
        const place *p = place_look(w, t, part);
        if (p && p->named && cool_in(p, now) > 0 && p->cool_from > sent_at)
            return true;
    }
    return false;
}

bool health_may_ask(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    return !p || ms_since(p->breaker.sent_at, now) >= ALONE_MS_MIN;
}

bool health_may_doubt(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *p = place_look(w, t, LANE);
    daruma_ms every = p && p->breaker.well_at ? ms_since(p->breaker.well_at, p->breaker.sent_at) / 2 : REST_MS_MAX;
    every = every > ALONE_MS_MIN ? every : ALONE_MS_MIN;
    return p && ms_since(p->breaker.sent_at, now) >= (every < REST_MS_MAX ? every : REST_MS_MAX);
}

bool health_trusts_key(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *key = place_look(w, t, KEY), *lane = place_look(w, t, LANE);
    bool taken = lane && lane->breaker.well_at && ms_since(lane->breaker.well_at, now) < KEY_TRUSTED_MS;
    return taken && (!key || !key->cool_ms);
}

bool health_may_pass(const daruma_health *w, const daruma_target *t, daruma_kind k, daruma_ms now)
{
    return is_of_all(k) && may_pass(place_look(w, t, rest_parts[kind_rows[k].rests]), now);
}

bool health_key_refused_now(const daruma_health *w, const daruma_target *t, daruma_ms now)
{
    const place *key = place_look(w, t, KEY), *lane = place_look(w, t, LANE);
    if (!key || cool_in(key, now) == 0 || now < key->cool_from || ms_since(key->cool_from, now) >= ALONE_MS_MIN)
        return false;
    bool taken = lane && lane->breaker.well_at && ms_since(lane->breaker.well_at, now) < KEY_TRUSTED_MS;
    return !taken || ms_since(key->refused_from, now) >= REFUSED_PASSES_MS; /* else it may pass */
}

void health_passed(daruma_health *w, const daruma_target *t)
{
    for (int part = LANE; part <= PROVIDER; part++) {
        place *p = place_look(w, t, part);
        if (p)
            daruma_breaker_pass(&p->breaker);
    }
}

/* ---- what attempts tell ------------------------------------------------------- */

/* A call finds out whether a wait that was named is true, while others keep off for as long as it seems not to be
 * served. */
static bool test_named(place *p, daruma_ms now)
{
    if (!is_tested(p) || cool_in(p, now) == 0)
        return false;
    daruma_ms served = later(mul_sat(p->cool_took, BREAKER_SERVED_TIMES), ALONE_MS_MIN);
    p->probe_until = add_sat(now, sooner(served, BREAKER_PROBE_MS));
    return true;
}

/* Who has rested is tried by one call, while others keep off a little longer. Where it only had to slow down, all may
 * ask when the provider said until when, and when the call is out for longer than a refusal took: it is served. */
static bool probe_rested(place *p, daruma_ms now)
{
    bool slows = daruma_kind_passes(p->why);
    if (!p->cool_ms || cool_in(p, now) > 0 || probed_in(p, now) > 0 || (slows && (p->named || p->probe_until)))
        return false;
    daruma_ms served = later(mul_sat(p->cool_took, BREAKER_SERVED_TIMES), ALONE_MS_MIN);
    p->probe_until = add_sat(now, slows && served < BREAKER_PROBE_MS ? served : BREAKER_PROBE_MS);
    return true;
}

/* Asks the breaker of a place, and counts a call that goes there all the same. */
static daruma_permit enter(place *p, daruma_ms now)
{
    daruma_permit given = daruma_breaker_ask(&p->breaker, now);
    p->tally.sick += p->breaker.open_until != 0;
    p->tally.probes += given.probe;
    return given;
}

void health_enter(daruma_health *w, const daruma_target *t, daruma_permit permits[DARUMA_PERMITS], daruma_ms now)
{
    place *known[PARTS] = {0};
    permits[2] = (daruma_permit){.ok = true};
    for (int part = KEY; part <= MODEL; part++) {
        place *p = known[part] = place_known(w, t, part);
        bool probes = p && (probe_rested(p, now) || test_named(p, now));
        if (!p)
            continue;
        p->asked_at = now;
        permits[2].probe |= probes;
        p->tally.sick += (probes || cool_in(p, now) > 0) && !p->breaker.open_until; /* else enter() counts it */
        p->tally.probes += probes;
    }
    bool all = known[LANE] && known[MODEL]; /* a new one may take the place of another */
    permits[3] = enter(all ? known[LANE] : place_for(w, t, LANE), now);
    permits[0] = enter(all ? known[MODEL] : place_for(w, t, MODEL), now);
    place *provider = place_for(w, t, PROVIDER);
    permits[1] = enter(provider, now);
    daruma_budget_call(&provider->budget, now);
    daruma_budget_call(&provider->hedges, now);
}

/* Good and bad count; what says nothing frees the probe. */
typedef enum verdict { NOTHING, GOOD, BAD } verdict;

static void tell(daruma_health *w, const daruma_target *t, int part, daruma_permit permit, verdict v, uint64_t witness,
                 daruma_ms now)
{
    place *p = place_look(w, t, part);
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

#define NEVER_GOOD INT64_MIN

/* The success of a call that went out at `good_from` ends what its parts have been resting for since before; a wait
 * that the provider named only where the call was to find out whether it holds. Else the probe is over and nobody
 * knows. */
static void end_probes(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                       daruma_ms good_from, bool useful, daruma_ms now)
{
    for (int part = KEY; part <= MODEL; part++) {
        place *p = place_look(w, t, part);
        if (!p)
            continue;
        if (good_from > p->refused_from)
            p->refused_from = 0;
        bool well = good_from > p->cool_from; /* a call from before the one that was refused says nothing of it */
        bool cures = (well && (!p->named || permits[2].probe)) || (good_from != NEVER_GOOD && cool_in(p, now) == 0);
        if (cures && (useful || !is_wrong(p)))
            cure(w, p);
        else if (p->probe_until && permits[2].probe) {
            p->probe_until = 0; /* rested still: the next call probes */
            w->healed++;
        }
    }
}

static void answers(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                    daruma_ms sent_at, bool useful, daruma_ms now)
{
    place *model = place_for(w, t, MODEL);
    if (!model->whole || sent_at > model->whole)
        model->whole = sent_at ? sent_at : 1;
    place *lane = place_for(w, t, LANE);
    lane->answers += lane->answers < UINT32_MAX;
    tell(w, t, LANE, permits[3], GOOD, 0, now);
    tell(w, t, MODEL, permits[0], GOOD, 0, now);
    tell(w, t, PROVIDER, permits[1], GOOD, 0, now);
    end_probes(w, t, permits, sent_at, useful, now);
}

void health_good(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                 daruma_ms sent_at, daruma_ms now)
{
    answers(w, t, permits, sent_at, true, now);
}

void health_useless(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                    daruma_ms sent_at, daruma_ms now)
{
    answers(w, t, permits, sent_at, false, now);
}

void health_drop(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS], daruma_ms now)
{
    tell(w, t, LANE, permits[3], NOTHING, 0, now);
    tell(w, t, MODEL, permits[0], NOTHING, 0, now);
    tell(w, t, PROVIDER, permits[1], NOTHING, 0, now);
    end_probes(w, t, permits, NEVER_GOOD, false, now);
}

/* Who only has to slow down and does not say for how long: a moment, and while nobody is let through each time half of
 * what it was altogether, so that nobody waits for more than 1.5 times as long as he must. */
static const daruma_backoff slower = {.base = 500, .cap = REST_MS_MAX, .factor_milli = 1500};

static daruma_ms rest_ms(kind_rest how, uint32_t strikes, const daruma_backoff *b, uint64_t dice)
{
    if (how != REST_SLOWS)
        return REST_MS_MAX;
    daruma_backoff by = slower;
    by.jitter_milli = b->jitter_milli;
    daruma_ms ms = daruma_backoff_delay(&by, strikes, dice);
    return ms < REST_MS_MAX ? ms : REST_MS_MAX;
}

/* How long a place rests that said so long (-1: it did not say). Who says "at once", or names some milliseconds, and
 * refuses each time all the same, is believed for a few times in a row. */
static daruma_ms rest_of(kind_rest how, daruma_ms said, uint32_t strikes, const daruma_backoff *b, uint64_t dice)
{
    bool told = said >= 0, doubted = how == REST_SLOWS && said < REST_DOUBTED_MS_MAX && strikes > REST_TOLD_TIMES;
    daruma_ms grown = told && !doubted ? 0 : rest_ms(how, told ? strikes - REST_TOLD_TIMES : strikes, b, dice);
    return grown > said ? grown : said;
}

static void rest(daruma_health *w, const daruma_target *t, const daruma_failure *f, uint64_t witness, daruma_ms sent_at,
                 const daruma_backoff *b, daruma_moment at)
{
    if (f->kind == DARUMA_RATE_LIMIT && !f->retryable && f->limit > 0 && f->requested > f->limit)
        return; /* one request is too large: whatever is smaller may pass at once */
    const kind_row *k = &kind_rows[f->kind];
    bool named = f->wait > 0;
    if (k->rest == REST_NEVER || (k->rest == REST_ADVISED && !named))
        return;
    if (k->rest == REST_SLOWS && !named && (health_crowded(w, t) || health_takes_turns(w, t, at.now)))
        return;
    place *p = place_for(w, t, f->hearsay ? LANE : rest_parts[k->rests]);
    if (k->rest == REST_REFUSED && !p->refused_from) {
        const place *lane = place_for(w, t, LANE);
        p->trusted = is_of_all(f->kind) && lane->answers >= KEY_TRUSTED_MIN &&
                     ms_since(lane->breaker.well_at, at.now) < KEY_TRUSTED_MS;
        p->refused_from = sent_at ? sent_at : 1;
    }
    bool alone = !p->witness || p->witness == witness;
    if (!p->witness)
        p->witness = witness;
    if (k->rest == REST_REFUSED && !named && alone && f->sure < k->rest_sure && !p->cool_ms)
        return; /* it may be about that request only */
    bool since =
        !p->strikes || sent_at >= p->struck_at; /* answers that were under way when it began to rest are none */
    bool news = since && (p->probe_until || cool_in(p, at.now) == 0);
    if (news && p->strikes < UINT32_MAX) {
        p->strikes++;
        p->struck_at = at.now;
    }
    daruma_ms ms = f->wait >= 0 && !news ? f->wait : rest_of(k->rest, f->wait, p->strikes, b, at.dice);
    if (f->hearsay && ms > HEARSAY_REST_MS_MAX)
        ms = HEARSAY_REST_MS_MAX;
    if (named)
        p->named_status = f->status;
    cool(w, p, f->kind, ms, named && ms <= f->wait && !f->hearsay, sent_at, at.now);
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
    if (f->hearsay && f->status < 500)
        return NOTHING;
    switch (kind_rows[f->kind].blames) {
    case BLAME_NEVER:
        return NOTHING;
    case BLAME_ALWAYS:
        return BAD;
    case BLAME_UNLESS_LOCKED: /* a lock (409, 423) is of one request */
        return f->status == 409 || f->status == 423 ? NOTHING : BAD;
    case BLAME_IF_5XX_OR_NET:
        return f->status >= 500 || f->net != DARUMA_NET_NONE ? BAD : NOTHING;
    case BLAME_IF_RETRYABLE: /* nothing came, or nothing that can be read; what is only wrong is no matter of health */
        return f->retryable ? BAD : NOTHING;
    }
    return NOTHING;
}

/* One restart cuts all answers that are under way, and calls that go out now are answered: such cuts say no more than
 * the first of them did. */
static verdict of_cut(const daruma_health *w, const daruma_target *t, int part, daruma_permit permit,
                      const daruma_failure *f, verdict v)
{
    const place *p = f->kind == DARUMA_INTERRUPTED ? place_look(w, t, part) : NULL;
    return p && permit.epoch != p->breaker.epoch ? NOTHING : v;
}

static void blame(daruma_health *w, const daruma_target *t, int part, verdict v, daruma_kind why, daruma_ms now)
{
    place *p = v == BAD ? place_look(w, t, part) : NULL;
    if (p && cool_in(p, now) == 0)
        p->why = why;
}

void health_silent(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                   uint64_t witness, daruma_ms now)
{
    tell(w, t, LANE, permits[3], BAD, witness, now);
    tell(w, t, MODEL, permits[0], BAD, t->lane_id, now);
    blame(w, t, LANE, BAD, DARUMA_TIMEOUT, now);
    blame(w, t, MODEL, BAD, DARUMA_TIMEOUT, now);
}

void health_alone_refused(daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms sent_at,
                          const daruma_backoff *b, daruma_moment at)
{
    place *p = place_for(w, t, LANE);
    bool answered = p->breaker.row == 0 && p->breaker.well_at > sent_at; /* others were, since then */
    bool alone = !p->witness || p->witness == witness;
    if (answered || cool_in(p, at.now) > 0 || (p->strikes && sent_at < p->struck_at))
        return;
    if (!p->witness)
        p->witness = witness;
    if (alone && !p->cool_ms)
        return; /* it may not suit that request only */
    p->strikes += p->strikes < UINT32_MAX;
    p->struck_at = at.now;
    cool(w, p, DARUMA_UNKNOWN, rest_ms(REST_SLOWS, p->strikes, b, at.dice), false, sent_at, at.now);
}

void health_wrong(daruma_health *w, const daruma_target *t, uint64_t witness, daruma_ms sent_at, daruma_ms now)
{
    place *p = place_for(w, t, MODEL);
    bool alone = !p->wrong_by || p->wrong_by == witness; /* it may be what that request asks for */
    if (!p->wrong_by)
        p->wrong_by = witness;
    if ((alone && !p->wrongs) || cool_in(p, now) > 0 || (p->wrongs && sent_at < p->struck_at))
        return;
    daruma_ms ms = REST_WRONG_MS;
    for (uint32_t i = 0; i < p->wrongs && ms < REST_MS_MAX; i++)
        ms *= 2;
    p->wrongs += p->wrongs < UINT32_MAX;
    p->struck_at = now;
    cool(w, p, DARUMA_MALFORMED_OUTPUT, ms < REST_MS_MAX ? ms : REST_MS_MAX, false, sent_at, now);
}

void health_bad(daruma_health *w, const daruma_target *t, const daruma_permit permits[DARUMA_PERMITS],
                const daruma_failure *f, uint64_t witness, daruma_ms sent_at, const daruma_backoff *b, daruma_moment at)
{
    if (f->net == DARUMA_NET_LOCAL) { /* it was not even asked */
        health_drop(w, t, permits, at.now);
        return;
    }
    bool here = f->kind != DARUMA_CANCELLED, away = here && not_connected(f->net);
    verdict model = away ? NOTHING : of_model(f), provider = model;
    if (here && f->status >= 400 && f->status < 500 && model == NOTHING)
        provider = GOOD; /* it is there */
    if (away)
        provider = BAD;
    tell(w, t, LANE, permits[3], of_cut(w, t, LANE, permits[3], f, model), witness, at.now);
    tell(w, t, MODEL, permits[0], of_cut(w, t, MODEL, permits[0], f, model), t->lane_id,
         at.now); /* when several of its lanes fail and none succeeds */
    /* The provider is to blame when no connection is made, or when several of its models fail and none succeeds. */
    tell(w, t, PROVIDER, permits[1], of_cut(w, t, PROVIDER, permits[1], f, provider), away ? 0 : t->model_id, at.now);
    blame(w, t, LANE, model, f->kind, at.now);
    blame(w, t, MODEL, model, f->kind, at.now);
    blame(w, t, PROVIDER, provider, f->kind, at.now);
    if (provider == BAD)
        place_for(w, t, PROVIDER)->unreached = away;
    rest(w, t, f, witness, sent_at, b, at);
    end_probes(w, t, permits, NEVER_GOOD, false, at.now);
}

void health_hung_up(daruma_health *w, const daruma_target *t, daruma_ms now)
{
    for (int part = LANE; part <= PROVIDER; part++) {
        place *p = place_look(w, t, part);
        if (p)
            breaker_anew(&p->breaker, now);
    }
}

void health_awaited(daruma_health *w, const daruma_target *t, daruma_scope who)
{
    for (int part = KEY; part < PARTS; part++) {
        place *p = place_look(w, t, part);
        if (p && p->scope == who)
            p->tally.waits++;
    }
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
    for (const place *p = place_newest(w); p; p = place_older(w, p), n++) {
        if (n >= max)
            continue;
        out[n] = (daruma_place){.id = p->id,
                                .scope = p->scope,
                                .why = p->why,
                                .cool_in = cool_in(p, now),
                                .breaker = breaker_word(&p->breaker, now),
                                .calls = p->breaker.all + p->breaker.was_all,
                                .bad = p->breaker.bad + p->breaker.was_bad,
                                .tally = p->tally};
    }
    return n;
}
