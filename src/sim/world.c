/* world.c - how a world is made from its class and a seed, and what a call in it meets. */
#include "sim/class.h"
#include "sim/dice.h"
#include "model/kinds.h"
#include "base/check.h"
#include "base/str.h"

/* ---- topology ------------------------------------------------------------------ */

static const char *const provider_names[] = {"alpha", "beta", "gamma", "delta"};
static const char *const model_names[] = {"large", "small", "tiny"};
static const char *const key_names[] = {"key1", "key2", "key3", "key4"};

/* Up to four providers with up to three models each and up to four keys, in the order that a user would write: all keys
 * of the first target, then all of the next. */
static void make_up_targets(sim_world *w, dice *d)
{
    const sim_class *c = w->class;
    int providers = (int)dice_range(d, c->providers[0], c->providers[1]);
    for (int p = 0; p < providers; p++) {
        int models = (int)dice_range(d, c->models[0], c->models[1]), keys = (int)dice_range(d, c->keys[0], c->keys[1]);
        bool shared = c->where != SIM_ACCOUNT && c->where != SIM_ONE_KEY && dice_chance(d, 300);
        for (int m = 0; m < models; m++)
            for (int k = 0; k < keys && w->ntargets < SIM_TARGETS_MAX; k++) {
                daruma_target *t = &w->targets[w->ntargets++];
                int account = shared ? 0 : c->where == SIM_ACCOUNT ? k / (keys > 2 ? 2 : 1) : k;
                *t = (daruma_target){.provider = str_of(provider_names[p]),
                                     .model = str_of(model_names[m]),
                                     .key = str_of(key_names[k]),
                                     .account = str_of(key_names[account]),
                                     .window = -1,
                                     .max_output = -1};
                daruma_target_seal(t);
            }
    }
}

static void set_pace(sim_world *w, dice *d)
{
    for (int i = 0; i < w->ntargets; i++) {
        sim_pace p = {.head = dice_log_range(d, 50, 1500),
                      .begin = dice_log_range(d, 50, 2000),
                      .body = dice_log_range(d, 300, 15000)};
        if (w->class->shape & SIM_THINKS)
            p.begin = dice_log_range(d, 60000, 200000);
        w->pace[i] = p;
        for (int j = 0; j < i; j++)
            if (w->targets[j].model_id == w->targets[i].model_id)
                w->pace[i] = w->pace[j];
    }
}

/* Nobody gives a model less time than it needs: the deadline is at least PACE_TIMES as long as an answer usually takes.
 */
static void keep_pace(sim_world *w, daruma_ms deadline)
{
    enum { PACE_TIMES = 5 };
    for (int i = 0; i < w->ntargets; i++) {
        sim_pace *p = &w->pace[i];
        daruma_ms usual = p->head + p->begin + p->body, most = deadline / PACE_TIMES;
        if (deadline < 0 || usual <= most)
            continue;
        *p = (sim_pace){p->head * most / usual, p->begin * most / usual, p->body * most / usual};
    }
}

/* ---- load ---------------------------------------------------------------------- */

static unsigned one_bit(dice *d, unsigned bits)
{
    int n = __builtin_popcount(bits), skip = n ? (int)(dice_roll(d) % (unsigned)n) : 0;
    for (; n && skip; skip--)
        bits &= bits - 1;
    return bits & (0u - bits);
}

static void set_load(sim_world *w, dice *d)
{
    static const daruma_ms deadlines[] = {-1, 10000, 60000, 600000};
    const sim_class *c = w->class;
    unsigned load = one_bit(d, c->load), plain = (unsigned)dice_range(d, 0, 2) * 300; /* thousandths */
    int most = load == SIM_AGENT && c->requests[1] > 60 ? 60 : c->requests[1];
    w->nrequests = (int)dice_log_range(d, c->requests[0] < most ? c->requests[0] : most, most);
    int64_t rate = load == SIM_BUSY ? dice_range(d, 50, 170) : dice_log_range(d, 1, 20); /* a second */
    daruma_ms deadline = deadlines[dice_roll(d) % 4];
    if (c->shape & SIM_THINKS)
        deadline = deadline < 0 ? -1 : SIM_CLOCK_MS; /* who asks such a model lets it think */
    else
        keep_pace(w, deadline);
    if (load == SIM_AGENT)
        w->agents = (int)dice_range(d, 1, 3);
    daruma_ms now = SIM_BEGIN_MS;
    for (int r = 0; r < w->nrequests; r++) {
        sim_request *q = &w->requests[r];
        *q = (sim_request){.at = now, .deadline = deadline, .leaves = -1, .plain = dice_chance(d, plain)};
        if (load == SIM_AGENT)
            q->at = r < w->agents ? SIM_BEGIN_MS + dice_range(d, 0, 1000) : dice_log_range(d, 50, 3000);
        else if (load != SIM_BURST)
            now += dice_range(d, 0, 2000 / rate);
        else
            now += dice_chance(d, 50) ? 10 : 0;
        if (c->shape & SIM_LEAVES && dice_chance(d, 200))
            q->leaves = dice_log_range(d, 50, 20000);
    }
}

/* ---- faults -------------------------------------------------------------------- */

static uint32_t all_targets(const sim_world *w)
{
    return w->ntargets >= 32 ? UINT32_MAX : (1u << w->ntargets) - 1;
}

/* Those that have the same id as target `i` at this offset. */
static uint32_t same_as(const sim_world *w, int i, size_t id)
{
    uint32_t who = 0;
    for (int j = 0; j < w->ntargets; j++)
        if (memcmp((const char *)&w->targets[i] + id, (const char *)&w->targets[j] + id, sizeof(uint64_t)) == 0)
            who |= 1u << j;
    return who;
}

static uint32_t victims(const sim_world *w, sim_where where, int i, dice *d)
{
    switch (where) {
    case SIM_MODEL:
    case SIM_EACH:
        return same_as(w, i, offsetof(daruma_target, model_id));
    case SIM_ONE_KEY:
        return same_as(w, i, offsetof(daruma_target, key_id));
    case SIM_ACCOUNT:
        return same_as(w, i, offsetof(daruma_target, account_id));
    case SIM_PROVIDER:
    case SIM_TURNS:
        return same_as(w, i, offsetof(daruma_target, provider_id));
    case SIM_REGION: { /* all but one other */
        uint32_t mine = same_as(w, i, offsetof(daruma_target, provider_id)), others = all_targets(w) & ~mine;
        int n = __builtin_popcount(others), skip = n ? (int)dice_range(d, 0, n - 1) : 0;
        for (int j = 0; j < w->ntargets; j++)
            if (others & 1u << j && skip-- == 0)
                return all_targets(w) & ~same_as(w, j, offsetof(daruma_target, provider_id));
        return mine;
    }
    case SIM_ALL:
        return all_targets(w);
    case SIM_NOWHERE:
    case SIM_ANY:
        break;
    }
    return 0;
}

static sim_fault *add_fault(sim_world *w, const sim_fault *f)
{
    if (w->nfaults == SIM_FAULTS_MAX || !f->who)
        return NULL;
    w->faults[w->nfaults] = *f;
    return &w->faults[w->nfaults++];
}

static sim_ill ill_of(const sim_class *c, dice *d)
{
    unsigned bit = one_bit(d, c->ills);
    return bit ? (sim_ill)__builtin_ctz(bit) : SIM_WELL;
}

/* All who meet such a fault when those of `who` do: a key is refused at every model, credit is the account's, and so
 * are limits and permissions, for each model. */
static uint32_t all_who_meet(const sim_world *w, sim_ill ill, uint32_t who)
{
    size_t id = 0;
    if (ill == SIM_KEY)
        id = offsetof(daruma_target, key_id);
    else if (ill == SIM_REFUSED) /* there is one door for all models */
        id = offsetof(daruma_target, provider_id);
    else if (ill == SIM_NO_CREDIT)
        id = offsetof(daruma_target, account_id);
    else if (ill == SIM_LIMIT || ill == SIM_LIMIT_NAMED || ill == SIM_FORBIDDEN)
        id = offsetof(daruma_target, lane_id);
    else if (ill == SIM_UNKNOWN_MODEL)
        id = offsetof(daruma_target, model_id);
    uint32_t all = who;
    for (int i = 0; id && i < w->ntargets; i++)
        if (who & 1u << i)
            all |= same_as(w, i, id);
    return all;
}

/* Is it refused for as long as it is there, every time? */
static bool hits_all(sim_ill ill)
{
    return ill == SIM_LIMIT_NAMED || !(daruma_kind_passes(sim_ill_kind(ill)) || ill == SIM_EMPTY || ill == SIM_CUT ||
                                       ill == SIM_STALL || ill == SIM_SLOW);
}

/* One fault as the class has them, for `who`. `span`: how long requests come. */
static sim_fault a_fault(const sim_world *w, uint32_t who, daruma_ms span, dice *d)
{
    const sim_class *c = w->class;
    sim_fault f = {.ill = ill_of(c, d), .who = who, .from = SIM_BEGIN_MS};
    if (!(c->shape & SIM_THROUGH))
        f.from += dice_range(d, 0, span / 2);
    f.until = f.from + dice_log_range(d, c->lasts[0], c->lasts[1]);
    if (hits_all(f.ill) && f.ill != SIM_LIMIT_NAMED)
        f.until = dice_chance(d, 700) ? SIM_EVER : f.until;
    int64_t share = dice_range(d, c->share[0], c->share[1]);
    f.who = all_who_meet(w, f.ill, who);
    f.share = f.share_until = share > SIM_WHOLE || hits_all(f.ill) ? SIM_WHOLE : (uint32_t)share;
    if (c->shape & SIM_GROWS && !hits_all(f.ill)) {
        f.share = 0;
        f.share_until = SIM_WHOLE;
    }
    if (c->shape & SIM_FLAPS)
        f.flaps = dice_log_range(d, 500, 10000);
    f.factor = f.ill == SIM_SLOW ? (uint32_t)dice_log_range(d, 3000, 30000) : (uint32_t)dice_range(d, 50, 900);
    f.breaks = (f.ill == SIM_REFUSED && dice_chance(d, 500)) || (f.ill == SIM_SILENT && dice_chance(d, 500));
    return f;
}

static void some_faults(sim_world *w, daruma_ms span, dice *d)
{
    static const sim_where where[] = {SIM_MODEL, SIM_ONE_KEY, SIM_ACCOUNT, SIM_PROVIDER, SIM_REGION, SIM_ALL};
    int n = (int)dice_range(d, 1, 5);
    for (int i = 0; i < n; i++) {
        sim_where at = where[dice_roll(d) % COUNT(where)];
        uint32_t who = victims(w, at, (int)(dice_roll(d) % (unsigned)w->ntargets), d);
        sim_fault f = a_fault(w, who, span, d);
        if (dice_chance(d, 300) && !hits_all(f.ill))
            f.flaps = dice_log_range(d, 500, 10000);
        if (dice_chance(d, 200) && !hits_all(f.ill))
            f.share = 0;
        add_fault(w, &f);
    }
}

/* The other provider is down while the first is not, and the other way round. */
static void turns(sim_world *w, daruma_ms span, dice *d)
{
    uint32_t first = victims(w, SIM_PROVIDER, 0, d), rest = all_targets(w) & ~first;
    sim_fault f = a_fault(w, first, span, d), other = f;
    add_fault(w, &f);
    other.who = rest;
    other.ill = ill_of(w->class, d);
    other.from += f.flaps;
    add_fault(w, &other);
}

static void set_faults(sim_world *w, dice *d)
{
    const sim_class *c = w->class;
    daruma_ms last = w->requests[w->nrequests - 1].at - SIM_BEGIN_MS, span = w->agents || last < 1000 ? 20000 : last;
    int first = c->shape & SIM_FIRST && dice_chance(d, 850) ? 0 : (int)(dice_roll(d) % (unsigned)w->ntargets);
    if (c->where == SIM_TURNS)
        turns(w, span, d);
    else if (c->where == SIM_ANY)
        some_faults(w, span, d);
    else if (c->where == SIM_EACH)
        for (int i = 0; i < w->ntargets; i++) {
            sim_fault f = a_fault(w, victims(w, SIM_EACH, i, d), span, d);
            if (f.who & ((1u << i) - 1)) /* another key of a model that has its fault */
                continue;
            add_fault(w, &f);
        }
    else if (c->where != SIM_NOWHERE) {
        sim_fault f = a_fault(w, victims(w, c->where, first, d), span, d);
        add_fault(w, &f);
    }
    for (int r = 0; c->shape & SIM_WALLS && r < w->nrequests; r++)
        if (dice_chance(d, 60))
            w->requests[r].walled =
                dice_chance(d, 800) ? same_as(w, 0, offsetof(daruma_target, provider_id)) : all_targets(w);
    for (int i = 0; c->shape & SIM_JUMPS && i < SIM_JUMPS_MAX; i++) {
        daruma_ms by = dice_log_range(d, 10, dice_chance(d, 200) ? 3600000 : 60000);
        w->jumps[w->njumps++] =
            (sim_jump){SIM_BEGIN_MS + dice_range(d, 0, 60000), dice_chance(d, 500) ? by : -(by < 5000 ? by : 5000)};
    }
}

void sim_world_make(sim_world *w, const sim_class *class, uint64_t seed, uint64_t k, const sim_places *places)
{
    dice d = {dice_mix(dice_mix(seed) ^ k)};
    w->class = class;
    w->seed = dice_roll(&d);
    w->ntargets = w->nfaults = w->nrequests = w->agents = w->njumps = 0;
    if (places) {
        w->ntargets = places->ntargets;
        memcpy(w->targets, places->targets, sizeof *w->targets * (size_t)places->ntargets);
    } else {
        make_up_targets(w, &d);
    }
    check(w->ntargets > 0);
    set_pace(w, &d);
    set_load(w, &d);
    set_faults(w, &d);
}

/* ---- what a call meets ----------------------------------------------------------- */

uint32_t sim_fault_share(const sim_fault *f, daruma_ms now)
{
    if (now < f->from || now >= f->until)
        return 0;
    if (f->flaps && (now - f->from) / f->flaps % 2)
        return 0;
    if (f->share == f->share_until || f->until == SIM_EVER)
        return f->share_until;
    int64_t grown = ((int64_t)f->share_until - f->share) * (now - f->from) / (f->until - f->from);
    return (uint32_t)((int64_t)f->share + grown);
}

daruma_ms sim_fault_clear(const sim_fault *f, daruma_ms now)
{
    if (now < f->from || now >= f->until)
        return now;
    if (!f->flaps)
        return f->until;
    daruma_ms phase = (now - f->from) / f->flaps;
    if (phase % 2)
        return now;
    daruma_ms end = f->from + (phase + 1) * f->flaps;
    return end < f->until ? end : f->until;
}

static uint64_t roll_of(const sim_world *w, int r, int target, uint32_t nth, uint32_t what)
{
    return dice_mix(dice_mix(w->seed ^ ((uint64_t)r << 32 | (uint64_t)target << 24 | nth << 8)) + what);
}

/* The call as it goes when nothing is wrong. */
static sim_fate well(const sim_world *w, int r, int target, uint32_t nth, uint32_t rest)
{
    const sim_pace *p = &w->pace[target];
    sim_fate f = {.ill = SIM_WELL, .fault = -1, .wait = -1, .came = rest};
    f.head = dice_spread(p->head, roll_of(w, r, target, nth, 1));
    f.begin = f.head + dice_spread(p->begin, roll_of(w, r, target, nth, 2));
    f.end = f.begin + dice_spread(p->body, roll_of(w, r, target, nth, 3)) * rest / SIM_WHOLE;
    return f;
}

/* It is written whole before any of it goes out. */
static void hold_back(sim_fate *f)
{
    f->head = f->begin = f->end;
}

static void fail(sim_fate *f, sim_ill ill, int fault, daruma_ms after)
{
    *f = (sim_fate){.ill = ill, .fault = fault, .head = -1, .begin = -1, .end = after, .wait = -1};
}

/* The fault `i` takes effect on the call that would have gone as *f. */
static void strike(sim_fate *f, const sim_fault *fault, int i, daruma_ms now, bool plain, uint32_t rest)
{
    daruma_ms head = f->head, begin = f->begin, end = f->end, left = fault->until - now;
    switch (fault->ill) {
    case SIM_SLOW:
        f->head = head * fault->factor / SIM_WHOLE;
        f->begin = begin * fault->factor / SIM_WHOLE;
        f->end = end * fault->factor / SIM_WHOLE;
        f->fault = i;
        return;
    case SIM_EMPTY:
        fail(f, SIM_EMPTY, i, begin);
        f->head = plain ? begin : head;
        return;
    case SIM_CUT:
        fail(f, SIM_CUT, i, begin + (end - begin) * fault->factor / SIM_WHOLE);
        f->head = plain ? -1 : head;
        f->begin = plain ? -1 : begin;
        f->came = plain ? 0 : rest * fault->factor / SIM_WHOLE;
        return;
    case SIM_STALL: /* a plain answer stands still as well, but nobody sees any of it */
        fail(f, SIM_STALL, i, -1);
        f->head = plain ? -1 : head;
        f->begin = plain ? -1 : begin;
        f->came = plain ? 0 : rest * fault->factor / SIM_WHOLE;
        return;
    case SIM_SILENT:
        fail(f, fault->breaks ? SIM_RESET : SIM_SILENT, i, fault->breaks ? left : -1);
        return;
    case SIM_LIMIT_NAMED:
        fail(f, SIM_LIMIT_NAMED, i, head / 2);
        left = sim_fault_clear(fault, now) - now - head / 2;
        f->wait = left > 0 ? (left + 999) / 1000 * 1000 : 0; /* whole seconds, as the header has them */
        return;
    case SIM_REFUSED:
        fail(f, SIM_REFUSED, i, 3);
        return;
    case SIM_RESET:
        fail(f, SIM_RESET, i, head);
        return;
    case SIM_BROKEN:
    case SIM_UNAVAILABLE:
    case SIM_OVERLOADED:
    case SIM_KEY:
    case SIM_FORBIDDEN:
    case SIM_UNKNOWN_MODEL:
    case SIM_NO_CREDIT:
    case SIM_LIMIT:
        fail(f, fault->ill, i, head / 2);
        return;
    case SIM_WELL:
    case SIM_WALL:
    case SIM_LATE:
    case SIM_ILLS:
        break;
    }
}

/* What is under way breaks when a fault begins that breaks it. */
static void break_off(sim_fate *f, const sim_fault *fault, int i, daruma_ms now, bool plain)
{
    daruma_ms at = fault->from - now;
    if (!fault->breaks || fault->ill == SIM_SILENT || at <= 0 || f->end < 0 || at >= f->end)
        return;
    bool some = !plain && f->begin >= 0 && at > f->begin;
    uint32_t came = some ? (uint32_t)((int64_t)f->came * (at - f->begin) / (f->end - f->begin)) : 0;
    daruma_ms head = !plain && f->head < at ? f->head : -1, begin = some ? f->begin : -1;
    fail(f, some ? SIM_CUT : SIM_RESET, i, at);
    f->head = head;
    f->begin = begin;
    f->came = came;
}

sim_fate sim_world_fate(const sim_world *w, int r, int target, uint32_t nth, daruma_ms now, uint32_t rest)
{
    bool plain = w->requests[r].plain;
    bool by_chance = true;
    sim_fate f = well(w, r, target, nth, rest);
    if (w->requests[r].walled & 1u << target) {
        fail(&f, SIM_WALL, -1, f.head / 2);
        return f;
    }
    for (int i = 0; i < w->nfaults && f.ill == SIM_WELL; i++) {
        const sim_fault *fault = &w->faults[i];
        uint32_t share = fault->who & 1u << target ? sim_fault_share(fault, now) : 0;
        if (share && (share >= SIM_WHOLE || roll_of(w, r, target, nth, 8 + (uint32_t)i) % SIM_WHOLE < share))
            strike(&f, fault, i, now, plain, rest);
        by_chance &= share < SIM_WHOLE || f.ill == SIM_WELL;
    }
    if (plain && f.ill == SIM_WELL)
        hold_back(&f);
    for (int i = 0; i < w->nfaults; i++)
        if (w->faults[i].who & 1u << target)
            break_off(&f, &w->faults[i], i, now, plain);
    f.by_chance = by_chance;
    return f;
}

/* ---- how a host reports it --------------------------------------------------------- */

static const struct {
    const char *name;
    daruma_kind kind;
    int status;
    daruma_net net;
    daruma_flaw flaw;
    daruma_phase phase;
    uint8_t sure;
    daruma_str body;
} ills[SIM_ILLS] = {
#define X(sym, name, kind, status, net, flaw, phase, sure, body)                                                       \
    {name, DARUMA_##kind,          status, DARUMA_NET_##net, DARUMA_FLAW_##flaw, DARUMA_AT_##phase,                    \
     sure, {body, sizeof body - 1}},
    SIM_ILL_MAP(X)
#undef X
};

const char *sim_ill_name(sim_ill ill)
{
    return ills[ill].name;
}

daruma_kind sim_ill_kind(sim_ill ill)
{
    return ills[ill].kind;
}

daruma_evidence sim_evidence(sim_ill ill, bool sent)
{
    return (daruma_evidence){.phase = ills[ill].phase,
                             .status = ills[ill].status,
                             .net = ills[ill].net,
                             .flaw = ills[ill].flaw,
                             .body = ills[ill].body,
                             .forwarded = sent,
                             .took = -1};
}

daruma_failure sim_failure(const sim_fate *f, bool sent)
{
    daruma_kind kind = sent || (f->ill != SIM_CUT && f->ill != SIM_STALL) ? ills[f->ill].kind
                       : f->ill == SIM_CUT                                ? DARUMA_NETWORK
                                                                          : DARUMA_TIMEOUT;
    bool again = daruma_kind_passes(kind) || f->ill == SIM_EMPTY || f->ill == SIM_CUT || f->ill == SIM_STALL;
    daruma_failure ret = kind_failure(kind, ills[f->ill].status);
    ret.retryable = again;
    ret.sure = ills[f->ill].sure;
    ret.net = ills[f->ill].net;
    ret.wait = f->wait;
    return ret;
}
