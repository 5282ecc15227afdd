/* clairvoyant.c - what was possible, and what a client does alone. */
#include "sim/clairvoyant.h"
#include "sim/dice.h"
#include "base/str.h"

enum {
    CALLS_MAX = 64,      /* for one request: by then its patience is over, whatever the dice say */
    HANG_MS = 30000,     /* what a call that may never be answered costs who knows no better, and when it gives up */
    LATE_MS = 100000000, /* worse than any wait: it would not be answered before the deadline */
};

/* The first moment from `now` on when no fault hits every call to this target; SIM_EVER: there is none. */
static daruma_ms open_at(const sim_world *w, int target, daruma_ms now)
{
    bool moved = true;
    for (int turn = 0; moved && turn < 4 * SIM_FAULTS_MAX; turn++) {
        moved = false;
        for (int i = 0; i < w->nfaults; i++) {
            const sim_fault *f = &w->faults[i];
            if (!(f->who & 1u << target) || f->ill == SIM_SLOW || sim_fault_share(f, now) < SIM_WHOLE)
                continue;
            now = sim_fault_clear(f, now);
            if (now == SIM_EVER)
                return now;
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
        if (f->breaks && f->ill != SIM_SILENT && f->from > now && f->from < now + usual)
            sum += f->from - now + 1;
        if (!share)
            continue;
        if (f->ill == SIM_SLOW) {
            sum += usual * ((daruma_ms)f->factor - SIM_WHOLE) / SIM_WHOLE * share / SIM_WHOLE;
            continue;
        }
        daruma_ms each = f->ill == SIM_SILENT                       ? HANG_MS
                         : f->ill == SIM_EMPTY || f->ill == SIM_CUT ? p->head + p->begin
                                                                    : p->head;
        sum += share >= SIM_WHOLE ? LATE_MS : (each + 1) * share / (SIM_WHOLE - share);
    }
    return sum;
}

typedef struct plan {
    int target; /* -1: nobody can answer */
    daruma_ms at;
} plan;

static plan best_plan(const sim_world *w, int r, daruma_ms now, daruma_ms latest, daruma_ms deadline)
{
    plan best = {.target = -1};
    daruma_ms least = SIM_EVER;
    for (int i = 0; i < w->ntargets; i++) {
        if (w->requests[r].walled & 1u << i)
            continue;
        daruma_ms usual = w->pace[i].head + w->pace[i].begin + w->pace[i].body;
        daruma_ms at = open_at(w, i, now);
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

sim_answer sim_clairvoyant(const sim_world *w, int r, daruma_ms at, daruma_ms patience)
{
    uint8_t nth[SIM_TARGETS_MAX] = {0};
    daruma_ms wait = w->requests[r].deadline, deadline = wait < 0 ? SIM_EVER : at + wait,
              latest = add_sat(at, patience);
    uint32_t rest = SIM_WHOLE;
    sim_answer a = {.ended = at};
    while (a.calls < CALLS_MAX) {
        plan p = best_plan(w, r, a.ended, latest, deadline);
        if (p.target < 0 || p.at >= deadline)
            return a;
        sim_fate f = sim_world_fate(w, r, p.target, nth[p.target]++, p.at, rest);
        a.calls++;
        a.ended = p.at + (f.end < 0 || (f.ill != SIM_WELL && f.end > HANG_MS) ? HANG_MS : f.end);
        if (f.ill == SIM_WELL) {
            a.answered = a.ended <= deadline && f.end <= SIM_CLOCK_MS;
            return a;
        }
        rest -= f.came;
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
    sim_answer a = {.ended = at};
    for (uint32_t n = 0; n < TRIES && a.ended < deadline; n++) {
        sim_fate f = sim_world_fate(w, r, 0, n, a.ended, SIM_WHOLE);
        a.calls++;
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
