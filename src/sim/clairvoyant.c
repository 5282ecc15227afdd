/* clairvoyant.c - what was possible, and what a client does alone. */
#include "sim/clairvoyant.h"
#include "sim/dice.h"
#include "base/limits.h"
#include "base/str.h"

enum {
    CALLS_MAX = 64,      /* for one request: by then its patience is over, whatever the dice say */
    HANG_MS = 30000,     /* what a call that may never be answered costs who knows no better, and when it gives up */
    LATE_MS = 100000000, /* worse than any wait: it would not be answered before the deadline */
};

/* Calls to a place that failed by chance are as far apart as the policies of the world have them. */
static const daruma_backoff again = {.base = 500, .cap = 30000, .factor_milli = 2000};

/* The first moment from `now` on when no fault hits every call to this target; SIM_EVER: there is none. */
static daruma_ms open_at(const sim_world *w, int target, daruma_ms now)
{
    daruma_ms from = now;
    bool moved = true;
    for (int turn = 0; moved && turn < 4 * SIM_FAULTS_MAX; turn++) {
        moved = false;
        for (int i = 0; i < w->nfaults; i++) {
            const sim_fault *f = &w->faults[i];
            if (!(f->who & 1u << target) || f->ill == SIM_SLOW || sim_fault_share(f, now) < SIM_WHOLE)
                continue;
            if (!daruma_kind_passes(sim_ill_kind(f->ill)) && f->ill != SIM_EMPTY && f->ill != SIM_CUT &&
                f->ill != SIM_STALL)
                return SIM_EVER; /* refused for good, as far as anybody can tell: nobody waits for that */
            daruma_ms clear = sim_fault_clear(f, now);
            if (clear == SIM_EVER || (f->ill == SIM_LIMIT_NAMED && clear - from > RETRY_ADVICE_MS_MAX))
                return SIM_EVER; /* a wait that is named and so long is nobody's */
            now = add_sat(clear, w->pace[target].head + w->pace[target].begin); /* a call of somebody has to show it */
            moved = true;
        }
    }
    return now;
}

/* The first moment from `now` on when one of the faults that are on now ends; `now` when none is on. */
static daruma_ms next_end(const sim_world *w, int target, daruma_ms now)
{
    daruma_ms end = SIM_EVER;
    for (int i = 0; i < w->nfaults; i++) {
        const sim_fault *f = &w->faults[i];
        if (f->who & 1u << target && sim_fault_share(f, now) && sim_fault_clear(f, now) < end)
            end = sim_fault_clear(f, now);
    }
    return end == SIM_EVER ? now : end;
}

/* How long the faults delay a call to `target` that goes out at `now`, on average. */
static daruma_ms delay_of(const sim_world *w, int target, daruma_ms now)
{
    const sim_pace *p = &w->pace[target];
    daruma_ms usual = p->head + p->begin + p->body, sum = 0;
    for (int i = 0; i < w->nfaults; i++) {
        const sim_fault *f = &w->faults[i];
        if (!(f->who & 1u << target))
            continue;
        uint32_t share = sim_fault_share(f, now);
        if (!share)
            continue;
        if (f->ill == SIM_SLOW) {
            sum += usual * ((daruma_ms)f->factor - SIM_WHOLE) / SIM_WHOLE * share / SIM_WHOLE;
            continue;
        }
        daruma_ms each = f->ill == SIM_SILENT || f->ill == SIM_STALL ? HANG_MS
                         : f->ill == SIM_EMPTY || f->ill == SIM_CUT  ? p->head + p->begin
                                                                     : p->head;
        sum += share >= SIM_WHOLE ? LATE_MS : (each + 1) * share / (SIM_WHOLE - share);
    }
    return sum;
}

typedef struct plan {
    int target; /* -1: nobody can answer */
    daruma_ms at;
} plan;

/* `not_before`: of each target, in the order of the world. */
static plan best_plan(const sim_world *w, int r, daruma_ms now, const daruma_ms *not_before, daruma_ms latest,
                      daruma_ms deadline)
{
    plan best = {.target = -1};
    daruma_ms least = SIM_EVER;
    for (int i = 0; i < w->ntargets; i++) {
        if (w->requests[r].walled & 1u << i)
            continue;
        daruma_ms usual = w->pace[i].head + w->pace[i].begin + w->pace[i].body;
        daruma_ms at = open_at(w, i, now > not_before[i] ? now : not_before[i]);
        for (int later = 0; later < 2; later++) { /* as soon as it can be, or when what is on now is over */
            if (later)
                at = at < latest ? open_at(w, i, next_end(w, i, at)) : SIM_EVER;
            if (at > latest)
                break;
            daruma_ms cost = at - now + delay_of(w, i, at);
            if (now + cost + usual > deadline)
                cost += LATE_MS;
            if (cost < least) {
                least = cost;
                best = (plan){.target = i, .at = at};
            }
        }
    }
    return best;
}

/* A client waits so long for a plain answer, or for the first content of a stream: that is what the clocks of SDKs
 * measure. */
static bool begins_in_time(const sim_world *w, int r, const sim_fate *f, daruma_ms sent, daruma_ms deadline)
{
    return !w->requests[r].plain && f->begin >= 0 && sent + f->begin <= deadline;
}

/* The call to `target` failed: its model is not asked again before the backoff is over. */
static void back_off(const sim_world *w, int target, uint32_t nth, daruma_ms now, daruma_ms *not_before)
{
    for (int i = 0; i < w->ntargets; i++)
        if (w->targets[i].model_id == w->targets[target].model_id)
            not_before[i] = now + daruma_backoff_delay(&again, nth, 0);
}

sim_answer sim_clairvoyant(const sim_world *w, int r, daruma_ms at, daruma_ms patience)
{
    uint8_t nth[SIM_TARGETS_MAX] = {0}, by_chance[SIM_TARGETS_MAX] = {0};
    daruma_ms not_before[SIM_TARGETS_MAX] = {0};
    daruma_ms wait = w->requests[r].deadline, deadline = wait < 0 ? SIM_EVER : at + wait,
              latest = add_sat(at, patience);
    uint32_t rest = SIM_WHOLE;
    sim_answer a = {.ended = at};
    while (a.calls < CALLS_MAX) {
        plan p = best_plan(w, r, a.ended, not_before, latest, deadline);
        if (p.target < 0 || p.at >= deadline) {
            a.calls += a.calls == 0; /* nobody may be refused unasked */
            return a;
        }
        sim_fate f = sim_world_fate(w, r, p.target, by_chance[p.target], p.at, rest);
        by_chance[p.target] += f.by_chance;
        nth[p.target]++;
        const sim_pace *pace = &w->pace[p.target];
        a.calls++;
        a.usual = pace->head + pace->begin + pace->body;
        a.ended = p.at + (f.end < 0 || (f.ill != SIM_WELL && f.end > HANG_MS) ? HANG_MS : f.end);
        if (begins_in_time(w, r, &f, p.at, deadline))
            deadline = SIM_EVER;
        if (f.ill == SIM_WELL) {
            a.answered = a.ended <= deadline && f.end <= SIM_CLOCK_MS;
            return a;
        }
        rest -= f.came;
        back_off(w, p.target, nth[p.target], a.ended, not_before);
        if (a.ended >= deadline)
            return a;
    }
    return a;
}

/* ---- a client alone ------------------------------------------------------------------ */

static bool sdk_retries(sim_ill ill)
{
    daruma_evidence ev = sim_evidence(ill, false);
    return (ev.status == 0 && ill != SIM_WELL) || ev.status == 429 || ev.status >= 500;
}

sim_answer sim_direct(const sim_world *w, int r, daruma_ms at)
{
    enum { TRIES = 3, BASE_MS = 500, CAP_MS = 8000, ADVICE_MS_MAX = 60000 };
    daruma_ms wait = w->requests[r].deadline, deadline = at + (wait < 0 ? SIM_CLOCK_MS : wait);
    uint32_t by_chance = 0;
    sim_answer a = {.ended = at};
    for (uint32_t n = 0; n < TRIES && a.ended < deadline; n++) {
        sim_fate f = sim_world_fate(w, r, 0, by_chance, a.ended, SIM_WHOLE);
        by_chance += f.by_chance;
        a.calls++;
        if (begins_in_time(w, r, &f, a.ended, deadline))
            deadline = at + SIM_CLOCK_MS;
        a.ended = f.end < 0 || a.ended + f.end > deadline ? deadline : a.ended + f.end;
        if (f.ill == SIM_WELL) {
            a.answered = a.ended < deadline;
            return a;
        }
        if (!sdk_retries(f.ill) || f.came)
            return a;
        daruma_ms grown = BASE_MS << n < CAP_MS ? BASE_MS << n : CAP_MS;
        grown -= grown / 4 * (daruma_ms)(dice_mix(w->seed + (uint64_t)r * TRIES + n) % 1000) / 1000;
        a.ended += f.wait > 0 && f.wait <= ADVICE_MS_MAX ? f.wait : grown;
    }
    return a;
}
