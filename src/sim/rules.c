/* rules.c - the rules of the design (section 5: 1, 2, 7, 8) as far as a host can see them. */
#include "sim/rules.h"
#include "base/limits.h"
#include "base/str.h"

static const char *const words[] = {
#define X(sym, words) words,
    SIM_RULE_MAP(X)
#undef X
};

const char *sim_rule_words(sim_rule r)
{
    return words[r];
}

void rules_begin(sim_rules *k, const sim_world *w)
{
    k->broken = SIM_RULE_NONE;
    k->request = -1;
    k->steady = w->njumps == 0;
    k->nepochs = 0;
    k->old[0] = k->old[1] = 0;
    memset(k->outcomes, 0, sizeof *k->outcomes * (size_t)w->nrequests);
}

void rules_broke(sim_rules *k, sim_rule rule, int request)
{
    if (k->broken)
        return;
    k->broken = rule;
    k->request = request;
}

void rules_before_admit(sim_rules *k, int r, const daruma_case *c, bool out)
{
    if (c->out || out)
        rules_broke(k, SIM_RULE_ADMISSION, r);
}

/* The newest epoch that was seen of this breaker; NULL: none was. */
static rules_epoch *epoch_of(sim_rules *k, uint64_t id)
{
    for (int i = 0; i < k->nepochs; i++)
        if (k->epochs[i].id == id)
            return &k->epochs[i];
    return NULL;
}

static void note_epoch(sim_rules *k, uint64_t id, uint16_t epoch)
{
    rules_epoch *e = epoch_of(k, id);
    if (!e && k->nepochs == 2 * SIM_TARGETS_MAX)
        return;
    if (!e)
        e = &k->epochs[k->nepochs++];
    *e = (rules_epoch){id, epoch};
}

void rules_sent(sim_rules *k, int r, const daruma_case *c, const daruma_permit permits[DARUMA_PERMITS], int target,
                daruma_ms now)
{
    if (!c->out)
        rules_broke(k, SIM_RULE_ADMISSION, r);
    if (c->deadline >= 0 && now >= c->deadline)
        rules_broke(k, SIM_RULE_DEADLINE, r);
    note_epoch(k, c->targets[target].model_id, permits[0].epoch);
    note_epoch(k, c->targets[target].provider_id, permits[1].epoch);
}

static size_t look(const daruma_health *health, daruma_ms now, daruma_place *out)
{
    size_t n = daruma_health_list(health, now, out, RULES_PLACES);
    return n < RULES_PLACES ? n : RULES_PLACES;
}

static const daruma_place *place_in(const daruma_place *places, size_t n, uint64_t id)
{
    for (size_t i = 0; i < n; i++)
        if (places[i].id == id)
            return &places[i];
    return NULL;
}

void rules_before_end(sim_rules *k, const daruma_health *health, const daruma_case *c, daruma_ms now)
{
    uint64_t ids[2] = {c->targets[c->target].model_id, c->targets[c->target].provider_id};
    for (int i = 0; i < 2; i++) {
        const rules_epoch *e = epoch_of(k, ids[i]);
        k->old[i] = c->out && e && (uint16_t)(e->epoch - c->permits[i].epoch) - 1u < 1000u ? ids[i] : 0;
    }
    if (k->old[0] || k->old[1])
        k->nwas = look(health, now, k->was);
}

/* Counts of breakers are as they were; `id` 0: of all. */
static bool unchanged(const sim_rules *k, const daruma_health *health, uint64_t id, daruma_ms now)
{
    daruma_place is[RULES_PLACES];
    size_t n = look(health, now, is);
    for (size_t i = 0; i < n; i++) {
        const daruma_place *was = place_in(k->was, k->nwas, is[i].id);
        if ((!id || is[i].id == id) && was && (was->bad != is[i].bad || was->calls != is[i].calls))
            return false;
    }
    return true;
}

void rules_ended(sim_rules *k, int r, daruma_health *health, const daruma_case *c, daruma_ms now)
{
    for (int i = 0; i < 2; i++) {
        if (k->old[i] && !unchanged(k, health, k->old[i], now))
            rules_broke(k, SIM_RULE_EPOCH, r);
        k->old[i] = 0;
    }
    if (c->out)
        rules_broke(k, SIM_RULE_ADMISSION, r);
    const daruma_budget *b = daruma_health_budget(health, &c->targets[c->target], now);
    int64_t left = daruma_budget_left(b, now), calls = (int64_t)b->calls + b->was_calls;
    if (left < 0 || left > calls * b->percent / 100 + b->floor)
        rules_broke(k, SIM_RULE_BUDGET, r);
}

void rules_before_drop(sim_rules *k, const daruma_health *health, daruma_ms now)
{
    k->nwas = look(health, now, k->was);
}

void rules_dropped(sim_rules *k, int r, const daruma_health *health, daruma_ms now)
{
    if (!unchanged(k, health, 0, now))
        rules_broke(k, SIM_RULE_LEAVING, r);
}

/* Every attempt but the first was a remedy of the ladder, or a hedge, and no rung was climbed too often. Beside silent
 * calls each target is asked, and then it is asked ever more seldom. */
void rules_closed(sim_rules *k, int r, const daruma_case *c, uint32_t hedges, daruma_ms took)
{
    uint32_t climbed = 0;
    daruma_ms most = HEDGES_EACH_MAX + (daruma_ms)c->ntargets + took / BREAKER_OPEN_MS;
    if (hedges > most)
        rules_broke(k, SIM_RULE_ATTEMPTS, r);
    for (size_t i = 0; i < c->policy->nrungs && i < DARUMA_CASE_RUNGS; i++) {
        const daruma_rung *g = &c->policy->rungs[i];
        if (daruma_remedy_act(g->remedy) == DARUMA_SEND)
            climbed += c->used[i];
        if (c->used[i] > g->times)
            rules_broke(k, SIM_RULE_ATTEMPTS, r);
    }
    if (c->attempts > 1 + climbed + hedges)
        rules_broke(k, SIM_RULE_ATTEMPTS, r);
    if (c->outcome == DARUMA_OUTCOME_PENDING || c->out || c->beside || k->outcomes[r]++)
        rules_broke(k, SIM_RULE_ENDS, r);
}

void rules_finally(sim_rules *k, int r, bool came, bool open)
{
    if (open || k->outcomes[r] != came)
        rules_broke(k, SIM_RULE_ENDS, r);
}
