/* memory_lanes.c - what is known of lanes: windows, formats, habits, APIs. Each is believed for as long as its kind of
 * knowledge holds. */
#include "base/fair.h"
#include "engine/drive/memory/memory_rows.h"
#include <stdio.h>

/* The MEMORY_WAYS places where it may stand. */
static lane_fact *set_of(const memory *m, uint64_t lane)
{
    return &m->lanes[lane % (LANES_MAX / MEMORY_WAYS) * MEMORY_WAYS];
}

/* NULL: nothing is known. */
static lane_fact *fact_of(const memory *m, uint64_t lane)
{
    for (size_t i = 0; m->lanes && i < MEMORY_WAYS; i++)
        if (set_of(m, lane)[i].lane == lane)
            return &set_of(m, lane)[i];
    return NULL;
}

lane_fact *memory_lane_make(memory *m, uint64_t lane, uint64_t account)
{
    if (!m->lanes && !(m->lanes = m->rooms->take(LANES_MAX * sizeof *m->lanes)))
        return NULL;
    lane_fact *f = fact_of(m, lane), *set = set_of(m, lane);
    fair_place places[MEMORY_WAYS];
    for (size_t i = 0; i < MEMORY_WAYS; i++)
        places[i] = (fair_place){set[i].owner, set[i].lane ? set[i].touched : 0};
    if (!f) {
        f = &set[fair_spare(places, MEMORY_WAYS, account)];
        *f = (lane_fact){.lane = lane, .owner = account, .window = -1};
    }
    if (account)
        f->owner = account;
    f->touched = ++m->clock;
    return f;
}

static lane_fact *fact_make(memory *m, const daruma_target *t)
{
    return memory_lane_make(m, t->lane_id, t->account_id);
}

/* Habits and the format are known for a while, and so is the API. */
static void forget_old(lane_fact *f, daruma_ms now)
{
    if (now - f->habits_at >= HABITS_LAST_MS) {
        f->habits = 0;
        f->format = FORMAT_UNSAID;
    }
    if (now - f->api_at >= API_LASTS_MS)
        f->api = API_ANY;
}

const lane_fact *memory_lane(const memory *m, uint64_t lane, daruma_ms now)
{
    static const lane_fact none = {.window = -1};
    lane_fact *f = fact_of(m, lane);
    if (f)
        forget_old(f, now);
    return f ? f : &none;
}

bool memory_window_put(memory *m, const daruma_target *t, int64_t tokens)
{
    lane_fact *f = fact_make(m, t);
    if (!f || tokens < f->taken)
        return false;
    f->window = tokens;
    return true;
}

bool memory_taken(memory *m, const daruma_target *t, int64_t tokens)
{
    lane_fact *f = tokens >= RATE_TOKENS_MIN ? fact_make(m, t) : NULL;
    bool wrong = f && f->window > 0 && tokens > f->window;
    if (f && tokens > f->taken)
        f->taken = tokens;
    if (wrong)
        f->window = -1;
    return wrong;
}

void memory_prefill_refused(memory *m, const daruma_target *t)
{
    lane_fact *f = fact_make(m, t);
    if (f)
        f->no_prefill = true;
}

/* What is over goes before something is learned beside it. */
static lane_fact *fact_fresh(memory *m, const daruma_target *t, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (f)
        forget_old(f, now);
    if (f && !f->habits && !f->format)
        f->habits_at = now;
    return f;
}

void memory_format_put(memory *m, const daruma_target *t, convo_format most, daruma_ms now)
{
    lane_fact *f = fact_fresh(m, t, now);
    if (f)
        f->format = most;
}

void memory_habits_learn(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now)
{
    lane_fact *f = fact_fresh(m, t, now);
    if (f)
        f->habits |= habits;
}

void memory_habits_forget(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->habits &= ~habits;
    f->at = now; /* others hear of it */
}

void memory_betas_put(memory *m, const daruma_target *t, daruma_str words)
{
    lane_fact *f = words.n < BETAS_BYTES_MAX ? fact_make(m, t) : NULL;
    if (f)
        snprintf(f->betas, sizeof f->betas, STR_FMT, STR_ARG(words));
}

void memory_api_put(memory *m, const daruma_target *t, memory_apis has, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->api = has;
    f->api_at = now;
}

void memory_learned(memory *m, const daruma_target *t, uint64_t by, daruma_ms at)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->by = by;
    f->at = at;
    if (f->name[0])
        return;
    snprintf(f->provider, sizeof f->provider, STR_FMT, STR_ARG(t->provider));
    snprintf(f->account, sizeof f->account, STR_FMT, STR_ARG(t->account));
    snprintf(f->name, sizeof f->name, STR_FMT, STR_ARG(t->model));
}

const lane_fact *memory_lane_at(const memory *m, size_t index, daruma_ms now)
{
    bool learned = m->lanes && index < LANES_MAX && m->lanes[index].name[0];
    return learned ? memory_lane(m, m->lanes[index].lane, now) : NULL;
}
