/* choice.c - where the calls of a case may go: which of its targets are of use yet, and to which of them a remedy
 * leads. */
#include "engine/decide/case.h"
#include "engine/decide/choice.h"
#include "engine/decide/health.h"
#include "engine/decide/waits.h"
#include "engine/decide/window.h"
#include "base/limits.h"

/* Calls that one target may get for this kind of failure, together with those that would meet the same. */
static uint32_t tries_of(const daruma_case *c, daruma_kind k)
{
    uint32_t n = c->policy->kinds[k].max_attempts;
    return n ? n : c->policy->max_attempts;
}

kind_part choice_shared(daruma_kind k)
{
    return kind_rows[k].meets;
}

static bool share(kind_part by, const daruma_target *t, const daruma_target *u)
{
    switch (by) {
    case SHARE_NOTHING:
        return false;
    case SHARE_KEY:
        return u->key_id == t->key_id;
    case SHARE_ACCOUNT:
        return u->account_id == t->account_id;
    case SHARE_LANE:
        return u->lane_id == t->lane_id;
    case SHARE_MODEL:
        return u->model_id == t->model_id;
    }
    return false;
}

void choice_blame(daruma_case *c, int target, daruma_kind k)
{
    if (kind_rows[k].meets == SHARE_MODEL && !kind_rows[k].meets_always && c->faults[target] < UINT8_MAX)
        c->faults[target]++;
}

/* Calls that target `i` had, or others in whose place it would have failed as they did. */
static uint32_t spent(const daruma_case *c, int i, daruma_kind k)
{
    kind_part by = kind_rows[k].meets;
    uint32_t n = c->calls[i];
    for (int j = 0; j < choice_count(c); j++)
        if (j != i && share(by, &c->targets[i], &c->targets[j]))
            n += by == SHARE_MODEL ? c->faults[j] : c->spoiled[j] ? 0 : c->calls[j];
    return n;
}

uint32_t choice_tries_left(const daruma_case *c, int i, daruma_kind k)
{
    uint32_t tries = tries_of(c, k), made = spent(c, i, k);
    return c->spoiled[i] || made >= tries ? 0 : tries - made;
}

uint32_t choice_calls_left(const daruma_case *c)
{
    uint32_t made = c->attempts + c->asides;
    return !c->calls_max ? UINT32_MAX : made < c->calls_max ? c->calls_max - made : 0;
}

/* Of no use any more in this case, or called as often as it may be. */
static bool out_of_play(const daruma_case *c, int i)
{
    return c->spoiled[i] || (c->attempts && !choice_tries_left(c, i, c->last));
}

void choice_resume(daruma_case *c, const daruma_case *was)
{
    uint32_t least = tries_of(c, was->last) - 1;
    for (int i = 0; i < choice_count(c); i++) {
        uint32_t all = 0;
        for (int j = 0; j < i; j++)
            all += share(SHARE_MODEL, &c->targets[i], &c->targets[j]) ? c->faults[j] : 0;
        uint32_t room = all < least ? least - all : 0;
        c->calls[i] = was->calls[i] < least ? was->calls[i] : (uint8_t)least;
        c->faults[i] = was->faults[i] < room ? was->faults[i] : (uint8_t)room;
    }
}

bool choice_hung_up(const daruma_case *c, const daruma_failure *f, daruma_ms now)
{
    bool closed = f->net == DARUMA_NET_RESET && !c->headed && !c->begun;
    daruma_ms usual = health_usual(c->health, &c->targets[c->target], HEALTH_HEAD, c->plain),
              far = usual < 0 || usual > HEDGE_KNOCK_MS ? HEDGE_KNOCK_MS : HEDGE_NOTED_TIMES * usual;
    far = far < HEDGE_KNOCK_MS ? far : HEDGE_KNOCK_MS;
    return closed && (c->hung_up || ms_since(c->sent_at, now) >= (far > HEDGE_MS_MIN ? far : HEDGE_MS_MIN));
}

bool choice_was_noted(const daruma_case *c, daruma_ms now)
{
    return c->noted || ms_since(c->sent_at, now) >= HEDGE_KNOCK_MS;
}

daruma_condition choice_look(const daruma_case *c, int i, daruma_ms now)
{
    if (!c->policy->health)
        return (daruma_condition){.well = true};
    const daruma_target *t = &c->targets[i];
    daruma_condition h = daruma_health_look(c->health, t, now);
    const struct {
        daruma_ms in;
        daruma_kind why;
        daruma_scope who;
        bool waits; /* who has nobody else waits for it; else it is only asked last */
    } held[] = {
        {health_spent_in(c->health, t, c->tokens, now), DARUMA_RATE_LIMIT, DARUMA_SICK_TARGET, true},
        {c->calls[i] ? health_busy_in(c->health, t, now) : 0, DARUMA_OVERLOADED, DARUMA_SICK_TARGET, true},
        {health_form_in(c->health, t, c->plain, now), DARUMA_TIMEOUT, DARUMA_SICK_MODEL, false},
        {health_narrow_in(c->health, t, c->bytes, now), DARUMA_REQUEST_TOO_LARGE, DARUMA_SICK_REQUEST, false},
    };
    for (size_t n = 0; n < COUNT(held); n++) {
        if (held[n].in > h.in) {
            h.in = held[n].in;
            h.why = held[n].why;
            h.who = held[n].who;
        }
        if (held[n].waits && held[n].in > h.alone_in)
            h.alone_in = held[n].in;
        h.well &= held[n].in == 0;
    }
    bool fits = h.named_in <= c->policy->max_wait && waits_in_time(c, h.named_in, now);
    if (!fits && h.alone_in > 0 && h.alone_in < h.named_in) /* it is tested by whoever comes then, and not waited for */
        h.alone_in = h.named_in;
    return h;
}

bool choice_well(const daruma_case *c, int i, daruma_ms now)
{
    return choice_look(c, i, now).well;
}

/* Does the failure of `t` show that `u` would fail the same way? */
static bool spoils(const daruma_failure *f, const daruma_target *t, const daruma_target *u)
{
    int64_t window = t->window > f->limit ? t->window : f->limit;
    if (kind_rows[f->kind].meets_always)
        return share(kind_rows[f->kind].meets, t, u);
    if (f->kind == DARUMA_REQUEST_TOO_LARGE && window <= 0 && u->provider_id != t->provider_id)
        return false; /* bytes perhaps: each host takes as many as it likes */
    if (f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE)
        return u->window <= window; /* what is unknown is not worth a call */
    return false;
}

/* Is target `i` one of the model that the user named first? What that refuses is wrong with the request, as far as
 * anybody knows; what a neighbour refuses may be wrong with the neighbour. */
static bool is_first(const daruma_case *c, int i)
{
    return c->targets[i].model_id == c->targets[0].model_id;
}

void choice_spoil(daruma_case *c, int target, const daruma_failure *f, bool trusted, daruma_ms now)
{
    bool refused = f->kind == DARUMA_AUTH || f->kind == DARUMA_PERMISSION;
    bool first = c->calls[target] < 2;
    if (refused && f->sure < VAGUE_BELOW && first)
        return; /* perhaps a page of somebody on the way: it is asked once more */
    /* Who checks keys may be out of order for a moment: that target alone is asked once more, no other with its key. */
    bool passes = c->policy->health && health_may_pass(c->health, &c->targets[target], f->kind, now);
    bool again = passes || (trusted && f->kind == DARUMA_AUTH && first);
    bool narrow = f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE;
    for (int i = 0; i < choice_count(c); i++)
        if (!(again && i == target) && spoils(f, &c->targets[target], &c->targets[i]) &&
            !(narrow && i != target && c->targets[i].window <= 0 && !is_first(c, target)))
            c->spoiled[i] = narrow && c->spoiled[i] != CASE_SPOILED ? CASE_TOO_NARROW : CASE_SPOILED;
    for (int i = 0; i < choice_count(c) && kind_rows[f->kind].meets_always && c->policy->health; i++)
        if (!c->spoiled[i] && !c->calls[i] && health_key_refused_now(c->health, &c->targets[i], now))
            c->spoiled[i] = CASE_SPOILED; /* another request was told just now */
}

void choice_widen(daruma_case *c)
{
    for (int i = 0; i < choice_count(c); i++)
        if (c->spoiled[i] == CASE_TOO_NARROW)
            c->spoiled[i] = 0;
}

int choice_reserve(const daruma_case *c, daruma_ms now)
{
    int best = -1;
    daruma_ms in = INT64_MAX;
    for (size_t i = c->ntargets; i < c->ntargets + c->nreserve && i < DARUMA_CASE_TRIED; i++) {
        daruma_condition h = choice_look(c, (int)i, now);
        if (c->target >= 0 && c->targets[i].model_id == c->targets[c->target].model_id) /* it refused just now */
            continue;
        if (h.well)
            return (int)i;
        if (h.alone_in < in) {
            best = (int)i;
            in = h.alone_in;
        }
    }
    return best;
}

void choice_open_reserve(daruma_case *c)
{
    for (int i = 0; i < choice_count(c); i++)
        c->spoiled[i] = CASE_SPOILED;
    c->ntargets += c->nreserve;
    c->nreserve = 0;
}

bool choice_doubts(const daruma_case *c, const daruma_failure *f)
{
    return f->lacks || !is_first(c, c->target);
}

int choice_doubted(const daruma_case *c, daruma_kind k, bool patient, daruma_ms now)
{
    int best = -1;
    daruma_ms in = patient ? INT64_MAX : 1; /* who is not patient asks what may be asked now */
    for (int i = 0; i < choice_count(c); i++) {
        if (c->targets[i].model_id == c->targets[c->target].model_id || !choice_tries_left(c, i, k))
            continue;
        daruma_condition h = choice_look(c, i, now);
        if (h.well && !c->calls[i])
            return i;
        if (h.alone_in < in) {
            best = i;
            in = h.alone_in;
        }
    }
    return best;
}

void choice_ask_last(daruma_case *c)
{
    bool any = false, refused = kind_rows[c->last].meets_always;
    for (int i = 0; i < choice_count(c); i++)
        any |= !c->spoiled[i] && !(refused && i == c->target); /* it may pass, but is no hope yet */
    for (int i = 0; i < choice_count(c) && !any; i++)
        if (c->spoiled[i] == CASE_LAST)
            c->spoiled[i] = 0;
}

void choice_leave(daruma_case *c)
{
    for (int i = 0; i < choice_count(c); i++)
        if (c->targets[i].model_id == c->targets[c->target].model_id && !c->spoiled[i])
            c->spoiled[i] = CASE_SPOILED;
}

bool choice_switches(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_SWITCH_KEY || r == DARUMA_REMEDY_SWITCH_ACCOUNT || r == DARUMA_REMEDY_SWITCH_MODEL;
}

bool choice_leads(daruma_remedy_kind r, const daruma_target *t, const daruma_target *u)
{
    bool same_model = u->model_id == t->model_id;
    if (r == DARUMA_REMEDY_SWITCH_KEY)
        return same_model && u->key_id != t->key_id;
    if (r == DARUMA_REMEDY_SWITCH_ACCOUNT)
        return same_model && u->account_id != t->account_id;
    return r == DARUMA_REMEDY_SWITCH_MODEL && !same_model;
}

int choice_other(const daruma_case *c, daruma_remedy_kind r, daruma_kind k, bool patient, daruma_ms now)
{
    int sick = -1;
    daruma_ms in = patient ? INT64_MAX : 1; /* who is not patient asks what may be asked now */
    bool stays = !patient && choice_well(c, c->target, now);
    for (int i = 0; i < choice_count(c); i++) {
        if (c->calls[i] || !choice_tries_left(c, i, k) || !choice_leads(r, &c->targets[c->target], &c->targets[i]))
            continue;
        daruma_condition h = choice_look(c, i, now);
        if (h.well && !patient)
            return i;
        if (!h.well && !stays && h.alone_in < in) {
            sick = i;
            in = h.alone_in;
        }
    }
    return sick;
}

/* Of the targets called in this case, the one that may be asked first; the last one if that is no later. */
static int soonest(const daruma_case *c, daruma_kind k, daruma_ms now)
{
    int best = c->target;
    bool usable = choice_tries_left(c, best, k);
    daruma_ms in = choice_look(c, best, now).alone_in;
    for (int i = 0; i < choice_count(c); i++) {
        if (!c->calls[i] || !choice_tries_left(c, i, k))
            continue;
        daruma_ms its = choice_look(c, i, now).alone_in;
        if (!usable || its < in) {
            best = i;
            in = its;
            usable = true;
        }
    }
    return best;
}

int choice_fresh(const daruma_case *c, daruma_ms now)
{
    for (int i = 0; i < choice_count(c); i++)
        if (!c->spoiled[i] && !c->calls[i] && choice_well(c, i, now))
            return i;
    return -1;
}

/* Where a broken answer goes on: once at the same target, its cache is warm; then at another that was not called yet,
 * at any that is well, else at the one that may be asked first. How often a target was called does not matter: the
 * answer can be had nowhere else any more. -1: none is of use. */
static int onward(const daruma_case *c, daruma_ms now)
{
    bool usable = !c->spoiled[c->target];
    if (usable && c->calls[c->target] < 2 && choice_well(c, c->target, now))
        return c->target;
    int best = choice_fresh(c, now);
    daruma_ms in = INT64_MAX;
    for (int i = 0; best < 0 && i < choice_count(c); i++) /* the one at hand last: it failed just now */
        if (i != c->target && !c->spoiled[i] && choice_well(c, i, now))
            best = i;
    if (best >= 0 || (usable && choice_well(c, c->target, now)))
        return best >= 0 ? best : c->target;
    for (int i = 0; i < choice_count(c); i++) {
        daruma_ms its = c->spoiled[i] ? INT64_MAX : choice_look(c, i, now).alone_in;
        if (its < in || (its == in && best == c->target)) {
            best = i;
            in = its;
        }
    }
    return best;
}

int choice_where(const daruma_case *c, daruma_remedy_kind r, daruma_kind k, bool patient, daruma_ms now)
{
    switch (r) {
    case DARUMA_REMEDY_SWITCH_KEY:
    case DARUMA_REMEDY_SWITCH_ACCOUNT:
    case DARUMA_REMEDY_SWITCH_MODEL:
        return choice_other(c, r, k, patient, now);
    case DARUMA_REMEDY_WAIT_RETRY:
        return soonest(c, k, now);
    case DARUMA_REMEDY_RESUME:
        return onward(c, now);
    default: /* all others stay where they are */
        return c->target;
    }
}

int choice_pick(const daruma_case *c, daruma_ms now)
{
    if (c->want >= 0 && !c->spoiled[c->want] && choice_well(c, c->want, now))
        return c->want;
    int other_model = -1;
    for (int i = 0; i < choice_count(c); i++) {
        if (out_of_play(c, i) || !choice_well(c, i, now))
            continue;
        if (c->want < 0 || c->targets[i].model_id == c->targets[c->want].model_id)
            return i;
        if (other_model < 0)
            other_model = i;
    }
    return other_model;
}

int choice_alone(const daruma_case *c, daruma_ms now)
{
    int best = -1, want = -1;
    for (int i = 0; i < choice_count(c); i++) {
        bool wanted = i == c->want && !c->spoiled[i];
        if (!wanted && out_of_play(c, i))
            continue;
        daruma_condition h = choice_look(c, i, now);
        if (h.alone_in > 0)
            continue;
        if (h.named_in > 0)
            return i; /* its provider said that it will not be well for long: one call now and then finds out */
        want = wanted ? i : want;
        if (best < 0 || c->calls[i] < c->calls[best])
            best = i;
    }
    return want >= 0 ? want : best;
}

int choice_first_back(const daruma_case *c, daruma_ms now, daruma_condition *ret)
{
    int best = -1;
    for (int i = 0; i < choice_count(c); i++) {
        bool wanted = i == c->want && !c->spoiled[i];
        if (!wanted && out_of_play(c, i))
            continue;
        daruma_condition h = choice_look(c, i, now);
        if (best < 0 || h.alone_in < ret->alone_in) {
            best = i;
            *ret = h;
        }
    }
    return best;
}

int choice_rested(const daruma_case *c, daruma_ms now, daruma_ms *in)
{
    int best = -1;
    for (int i = 0; i < choice_count(c); i++) {
        daruma_condition h = choice_look(c, i, now);
        bool rests = h.who == DARUMA_SICK_TARGET && h.why == DARUMA_RATE_LIMIT;
        if (!out_of_play(c, i) && !h.well && rests && (best < 0 || h.in < *in)) {
            best = i;
            *in = h.in;
        }
    }
    return best;
}

int choice_unasked(const daruma_case *c, daruma_ms now)
{
    for (int i = 0; i < choice_count(c); i++)
        if (!c->spoiled[i] && !c->calls[i] && choice_look(c, i, now).named_in == 0)
            return i;
    return -1;
}

/* Does target `i` share the lane of a call that went out at `sent_at` (or sent its newest piece then), and was no newer
 * call answered there? */
static bool hangs_there(const daruma_case *c, int i, int target, daruma_ms sent_at)
{
    const daruma_target *t = &c->targets[target];
    return c->targets[i].lane_id == t->lane_id && health_heard(c->health, t, c->plain) <= sent_at;
}

/* Calls of this case that went to the provider of target `i`. Where all of them did, but for one: a second model that
 * is silent there speaks against all of it. With `in_a_hurry` the first one does, too: there is no time to find out. */
static uint32_t silent_there(const daruma_case *c, int i, bool in_a_hurry)
{
    uint32_t n = 0, all = 0;
    for (int j = 0; j < choice_count(c); j++) {
        all += c->calls[j];
        n += c->targets[j].provider_id == c->targets[i].provider_id ? c->calls[j] : 0;
    }
    return n && n == all && !in_a_hurry ? n - 1 : n;
}

bool choice_hurries(const daruma_case *c, daruma_ms now)
{
    return c->deadline >= 0 && ms_since(c->opened, now) >= ms_since(c->opened, c->deadline) / HURRY_DIV;
}

int choice_beside(const daruma_case *c, daruma_ms now)
{
    int best = -1;
    uint32_t least = 0;
    bool in_a_hurry = choice_hurries(c, now);
    for (int i = 0; i < choice_count(c); i++) {
        if (c->spoiled[i] || hangs_there(c, i, c->target, c->begun ? c->piece_at : c->sent_at) ||
            !choice_well(c, i, now) || (c->beside && hangs_there(c, i, c->beside->target, c->beside->sent_at)))
            continue;
        bool same = c->targets[i].model_id == c->targets[c->target].model_id;
        uint32_t silent = silent_there(c, i, in_a_hurry) + c->calls[i] + (same ? c->begun ? DARUMA_CASE_TRIED : 1 : 0) +
                          (health_second_is_out(c->health, &c->targets[i], now) ? 2 : 0);
        if (best < 0 || silent < least) {
            best = i;
            least = silent;
        }
    }
    return best;
}

int choice_knock(const daruma_case *c, daruma_ms now)
{
    int best = c->target;
    for (int i = 0; i < choice_count(c); i++) {
        if (c->spoiled[i] || c->calls[i] >= c->calls[best] || hangs_there(c, i, c->target, c->sent_at))
            continue;
        daruma_condition h = choice_look(c, i, now);
        if (h.alone_in == 0 && (h.well || daruma_kind_passes(h.why)))
            best = i;
    }
    return best;
}

int choice_left(const daruma_case *c, daruma_ms now)
{
    int n = 0;
    for (int i = 0; i < choice_count(c); i++) {
        bool seen = c->spoiled[i];
        for (int j = 0; j < choice_count(c) && !seen; j++)
            seen = c->targets[j].model_id == c->targets[i].model_id && (j < i || c->calls[j]);
        n += !seen && choice_well(c, i, now);
    }
    return n;
}
