/* host.c - the loop of a world. It does with a case what the gateway does (exchange.c, attempt.c, relay.c), only that
 * calls are fates out of a table and time is a number:
 *
 *     comes -> attempt -> call -- head, content, end --> done, next, hedge
 *                 ^                                           |
 *                 +------- waits, or is woken by health ------+
 *
 * Beside it watches what must always hold: rules.h. */
#include "sim/dice.h"
#include "sim/host.h"
#include "sim/rules.h"
#include "sim/timers.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/str.h"
#include <stdarg.h>
#include <stdio.h>

enum {
    PLACES = 160,         /* more than any world has: 32 targets with five each at most */
    EVENTS_MAX = 2000000, /* of one world; the busiest seen has 60,000 */
    LINE_BYTES = 512,
    PIECES = 8, /* of an answer: some models write evenly, others think or call tools in between */
};

typedef enum progress { SENT, HEADED, BEGUN } progress;

/* A call in the world. */
typedef struct call {
    bool out;
    int target;
    daruma_ms sent;
    sim_fate fate;
    progress step;
} call;

typedef struct live {
    daruma_case c;
    call main, beside;
    daruma_beside room;           /* what the case knows of the call beside it */
    daruma_ms act_at;             /* asks to be admitted then; -1 not */
    daruma_ms look_at;            /* looks at a silent call then; -1 not */
    daruma_ms leaves;             /* the client is gone then; -1 never */
    uint32_t rest;                /* of the answer, in thousandths, that the client has not */
    uint8_t nth[SIM_TARGETS_MAX]; /* calls to each that the dice decided */
    int16_t before, behind;       /* in the list of those that wait, -1 end */
    bool open, waits;
    sim_ending e;
} live;

struct sim_host {
    const sim_world *w;
    const daruma_policy *p;
    daruma_health *health;
    char *health_room;
    size_t health_bytes;
    sim_timers timers;
    dice d;
    daruma_ms t;                                     /* the world's own time */
    uint32_t healed;                                 /* as of the last wake */
    int first_waiting;                               /* -1 nobody */
    bool known[SIM_FAULTS_MAX];                      /* a call has failed by this fault and that was told */
    daruma_ms told[SIM_FAULTS_MAX][SIM_TARGETS_MAX]; /* ... when last, at each target; -1 never */
    sim_rules rules;
    sim_say say;
    void *user;
    live live[SIM_REQUESTS_MAX];
};

sim_host *sim_host_new(daruma_arena *a)
{
    sim_host *h = ARENA_NEW(a, sim_host, 1);
    if (!h)
        return NULL;
    h->health_bytes = daruma_health_bytes(PLACES);
    h->health_room = arena_raw(a, h->health_bytes, 64);
    return h->health_room ? h : NULL;
}

const sim_ending *sim_host_ending(const sim_host *h, int request)
{
    return &h->live[request].e;
}

/* ---- time ------------------------------------------------------------------------ */

/* What the host's clock says: it may jump. Its timers do not. */
static daruma_moment moment(sim_host *h)
{
    daruma_ms now = h->t;
    for (int i = 0; i < h->w->njumps; i++)
        now += h->w->jumps[i].at <= h->t ? h->w->jumps[i].by : 0;
    return (daruma_moment){.now = now, .wall = 1767225600 + now / 1000, .dice = dice_roll(&h->d)};
}

static daruma_ms sooner(daruma_ms a, daruma_ms b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* When the next thing happens to a call; -1: never. */
static daruma_ms call_next(const call *k)
{
    if (!k->out)
        return -1;
    daruma_ms after = SIM_CLOCK_MS;
    if (k->step < HEADED && k->fate.head >= 0)
        after = k->fate.head;
    else if (k->step < BEGUN && k->fate.begin >= 0)
        after = k->fate.begin;
    else if (k->fate.end >= 0)
        after = k->fate.end;
    return k->sent + (after < SIM_CLOCK_MS ? after : SIM_CLOCK_MS);
}

static void arm(sim_host *h, int r)
{
    live *x = &h->live[r];
    daruma_ms next = sooner(call_next(&x->main), call_next(&x->beside));
    next = sooner(next, sooner(x->act_at, sooner(x->look_at, x->leaves)));
    sim_timers_set(&h->timers, r, next);
}

/* ---- telling ---------------------------------------------------------------------- */

static void say(const sim_host *h, int r, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void say(const sim_host *h, int r, const char *fmt, ...)
{
    char line[LINE_BYTES];
    va_list args;
    if (!h->say)
        return;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    h->say(h->user, h->t - SIM_BEGIN_MS, r, (daruma_str){line, used});
}

#define TARGET_FMT    STR_FMT "/" STR_FMT " (" STR_FMT ")"
#define TARGET_ARG(t) STR_ARG((t)->provider), STR_ARG((t)->model), STR_ARG((t)->key)

/* Why a target is not asked, for who reads along. */
static void say_health(sim_host *h, int r, daruma_ms now)
{
    for (int i = 0; h->say && i < h->w->ntargets; i++) {
        const daruma_target *t = &h->w->targets[i];
        daruma_condition c = daruma_health_look(h->health, t, now);
        if (!c.well)
            say(h, r, "    " TARGET_FMT " is sick of %s (%s): last for %lld ms, alone in %lld ms", TARGET_ARG(t),
                daruma_kind_name(c.why), daruma_scope_name(c.who), (long long)c.in, (long long)c.alone_in);
    }
}

/* ---- waiting ---------------------------------------------------------------------- */

static void waits_no_more(sim_host *h, int r)
{
    live *x = &h->live[r];
    if (!x->waits)
        return;
    *(x->before >= 0 ? &h->live[x->before].behind : &(int16_t){0}) = x->behind;
    if (x->before < 0)
        h->first_waiting = x->behind;
    if (x->behind >= 0)
        h->live[x->behind].before = x->before;
    x->waits = false;
}

static void wait_for(sim_host *h, int r, daruma_ms ms)
{
    live *x = &h->live[r];
    x->act_at = add_sat(h->t, ms);
    if (x->waits)
        return;
    x->waits = true;
    x->before = -1;
    x->behind = (int16_t)h->first_waiting;
    if (x->behind >= 0)
        h->live[x->behind].before = (int16_t)r;
    h->first_waiting = r;
}

/* As exchange_wake() does: each asks from its own timer. */
static void wake(sim_host *h)
{
    uint32_t healed = daruma_health_healed(h->health);
    if (healed == h->healed)
        return;
    h->healed = healed;
    for (int r = h->first_waiting; r >= 0; r = h->live[r].behind) {
        h->live[r].act_at = h->t;
        arm(h, r);
    }
}

/* ---- calls ------------------------------------------------------------------------ */

/* Was it known to the host that this call meets a place that is sick? */
static bool known_sick(const sim_host *h, int target)
{
    for (int i = 0; i < h->w->nfaults; i++)
        if (h->known[i] && h->w->faults[i].who & 1u << target && h->w->faults[i].ill != SIM_SLOW &&
            sim_fault_share(&h->w->faults[i], h->t) >= SIM_WHOLE)
            return true;
    return false;
}

/* True if both times lie in the same turn of a fault that comes and goes. */
static bool same_turn(const sim_fault *f, daruma_ms a, daruma_ms b)
{
    return !f->flaps || (a - f->from) / f->flaps == (b - f->from) / f->flaps;
}

/* True if this call fails by a fault that no policy without foresight could know of when it went out: no failure by it
 * had been told at that model, nor anywhere where the fault is about a key, an account or the only door. */
static bool is_blind(const sim_host *h, const call *k)
{
    const sim_fault *f = k->fate.fault >= 0 ? &h->w->faults[k->fate.fault] : NULL;
    if (!f || k->fate.ill == SIM_WELL || k->fate.ill == SIM_SLOW)
        return false;
    bool anywhere = f->ill == SIM_KEY || f->ill == SIM_NO_CREDIT || f->ill == SIM_REFUSED;
    for (int i = 0; i < h->w->ntargets; i++) {
        daruma_ms told = h->told[k->fate.fault][i];
        bool here = anywhere || h->w->targets[i].model_id == h->w->targets[k->target].model_id;
        if (here && told >= 0 && same_turn(f, told, h->t))
            return false;
    }
    return true;
}

/* Is this call, of a case that is open, a probe that `p` would be the second of? One that hangs is counted on for
 * BREAKER_PROBE_MS only. */
static bool is_probe(const sim_host *h, const call *k, const daruma_permit *its, int part, uint64_t id,
                     const daruma_permit *p)
{
    const daruma_target *t = &h->w->targets[k->target];
    return k->out && its->probe && its->epoch == p->epoch && h->t - k->sent < BREAKER_PROBE_MS &&
           (part ? t->provider_id : t->model_id) == id;
}

static bool probed_already(const sim_host *h, int r, int part, uint64_t id, const daruma_permit *p)
{
    for (int i = 0; i < h->w->nrequests; i++) {
        const live *x = &h->live[i];
        if (i == r || !x->open)
            continue;
        if ((!x->c.answered && is_probe(h, &x->main, &x->c.permits[part], part, id, p)) ||
            (x->c.beside && is_probe(h, &x->beside, &x->c.beside->permits[part], part, id, p)))
            return true;
    }
    return false;
}

static void send(sim_host *h, int r, call *k, int target, const daruma_permit permits[DARUMA_PERMITS])
{
    live *x = &h->live[r];
    const daruma_target *t = &h->w->targets[target];
    uint64_t ids[2] = {t->model_id, t->provider_id};
    rules_sent(&h->rules, r, &x->c, permits, target, moment(h).now);
    for (int i = 0; h->rules.steady && i < 2; i++)
        if (permits[i].probe && probed_already(h, r, i, ids[i], &permits[i]))
            rules_broke(&h->rules, SIM_RULE_PROBE, r);
    *k = (call){.out = true, .target = target, .sent = h->t};
    uint32_t has = k == &x->beside && x->main.step == BEGUN ? x->main.fate.came : 0;
    k->fate = sim_world_fate(h->w, r, target, x->nth[target], h->t, has < x->rest ? x->rest - has : 0);
    x->nth[target] += k->fate.by_chance && x->nth[target] < UINT8_MAX;
    x->e.calls++;
    x->e.sick += known_sick(h, target);
    x->e.blind += is_blind(h, k);
}

/* The host knows how this call failed, and with it that its place is sick. */
static void note_known(sim_host *h, const call *k)
{
    if (k->fate.fault < 0)
        return;
    h->known[k->fate.fault] = true;
    h->told[k->fate.fault][k->target] = h->t;
}

static void finish(sim_host *h, int r, daruma_outcome o)
{
    live *x = &h->live[r];
    int agents = h->w->agents, next = r + agents;
    daruma_case_close(&x->c, o, moment(h));
    rules_closed(&h->rules, r, &x->c, x->e.hedges, h->t - x->e.arrived);
    waits_no_more(h, r);
    x->main.out = x->beside.out = x->open = false;
    x->act_at = x->look_at = x->leaves = -1;
    x->e.ended = h->t;
    say(h, r, "ended: %s after %lld ms and %u calls", daruma_outcome_name(x->c.outcome),
        (long long)(h->t - x->e.arrived), x->e.calls);
    if (agents && next < h->w->nrequests) {
        h->live[next].act_at = h->t + h->w->requests[next].at;
        arm(h, next);
    }
    wake(h);
}

static void attempt(sim_host *h, int r);

/* Asks what to do until something can be done. An empty answer has nothing to be told about: asking again does not fit.
 */
static void next_step(sim_host *h, int r, const daruma_failure *f, bool sent)
{
    live *x = &h->live[r];
    daruma_remedy m;
    do
        m = daruma_case_next(&x->c, f, sent, moment(h));
    while (m.act == DARUMA_SEND && m.remedy == DARUMA_REMEDY_ASK_AGAIN);
    say(h, r, "  remedy: %s%s%.0lld", daruma_remedy_name(m.remedy), m.act == DARUMA_SEND && m.wait ? ", in ms: " : "",
        m.act == DARUMA_SEND ? (long long)m.wait : 0ll);
    say_health(h, r, moment(h).now);
    wake(h);
    if (m.act == DARUMA_SEND && m.wait > 0)
        wait_for(h, r, m.wait);
    else if (m.act == DARUMA_SEND)
        x->act_at = h->t;
    else
        finish(h, r,
               m.act == DARUMA_KEEP             ? DARUMA_OUTCOME_DEGRADED
               : m.remedy == DARUMA_REMEDY_NONE ? DARUMA_OUTCOME_FAILED
                                                : DARUMA_OUTCOME_EXPLAINED);
}

static daruma_failure judged(const sim_host *h, const sim_fate *fate, bool sent)
{
    daruma_failure f = sim_failure(fate, sent);
    daruma_evidence ev = sim_evidence(fate->ill, sent);
    return daruma_judge(h->p, &ev, &f);
}

/* The second call is the first from here on. */
static void take_over(sim_host *h, int r, const daruma_failure *f)
{
    live *x = &h->live[r];
    if (x->main.step == BEGUN && !f) /* it has brought what it was to bring, and the other goes on with that */
        x->rest -= x->main.fate.came < x->rest ? x->main.fate.came : x->rest;
    note_known(h, &x->main);
    daruma_case_hedge_takes_over(&x->c, f, moment(h));
    x->main = x->beside;
    x->beside.out = false;
    wake(h);
}

/* The pieces of its content that came by now: PIECES in all, evenly spread, unless it stands still. */
static void pieces_come(sim_host *h, live *x)
{
    const sim_fate *f = &x->main.fate;
    daruma_moment at = moment(h);
    daruma_ms began = at.now - (h->t - x->main.sent - f->begin), gap = (f->end - f->begin) / PIECES;
    if (f->end < 0)
        return;
    for (int i = 1; i <= PIECES && began + i * gap <= at.now; i++)
        if (began + i * gap > x->c.piece_at)
            daruma_case_piece(&x->c, began + i * gap);
}

/* How long the call at hand may be silent yet, and what is done when it is for longer. */
static void look(sim_host *h, int r)
{
    live *x = &h->live[r];
    daruma_moment at = moment(h);
    x->look_at = -1;
    if (!x->main.out)
        return;
    x->c.goes_on = x->main.step == BEGUN;
    if (x->c.goes_on)
        pieces_come(h, x);
    daruma_silence s = daruma_case_silence(&x->c, at);
    switch (s.act) {
    case DARUMA_SILENCE_WAIT:
        x->look_at = s.look_in < 0 ? -1 : h->t + (s.look_in > 0 ? s.look_in : 1);
        return;
    case DARUMA_SILENCE_HEDGE: {
        const daruma_target *t = &h->w->targets[s.target];
        say(h, r, "silent for %lld ms: asks " TARGET_FMT " beside it", (long long)(h->t - x->main.sent), TARGET_ARG(t));
        daruma_case_hedge(&x->c, &x->room, s.target, at);
        send(h, r, &x->beside, s.target, x->room.permits);
        x->e.hedges++;
        look(h, r);
        return;
    }
    }
}

static void fails(sim_host *h, int r, call *k)
{
    live *x = &h->live[r];
    bool late = h->t - k->sent >= SIM_CLOCK_MS;
    if (late)
        k->fate.ill = SIM_LATE;
    if (k->step == BEGUN) /* all that was to come by now */
        x->rest -= k->fate.came < x->rest ? k->fate.came : x->rest;
    bool sent = x->rest < SIM_WHOLE;
    daruma_failure f = judged(h, &k->fate, sent);
    say(h, r, "call to " TARGET_FMT " failed: %s -> %s", TARGET_ARG(&h->w->targets[k->target]),
        sim_ill_name(k->fate.ill), daruma_kind_name(f.kind));
    if (f.wait >= 0)
        say(h, r, "  Retry-After: %lld ms", (long long)f.wait);
    if (k == &x->beside) {
        note_known(h, k);
        k->out = false;
        daruma_case_hedge_ended(&x->c, &f, moment(h));
        wake(h);
        look(h, r);
    } else if (x->beside.out) {
        take_over(h, r, &f);
        look(h, r);
    } else {
        note_known(h, k);
        k->out = false;
        x->look_at = -1;
        rules_before_end(&h->rules, h->health, &x->c, moment(h).now);
        next_step(h, r, &f, sent);
        rules_ended(&h->rules, r, h->health, &x->c, moment(h).now);
    }
}

/* The first content came: whoever else is out is not needed. */
static void begins(sim_host *h, int r, call *k)
{
    live *x = &h->live[r];
    if (k == &x->beside) {
        say(h, r, "the call beside it began first");
        take_over(h, r, NULL);
    } else if (x->beside.out) {
        say(h, r, "it began; the call beside it is not needed");
        x->beside.out = false;
        daruma_case_hedge_ended(&x->c, NULL, moment(h));
        wake(h);
    }
    x->main.step = BEGUN;
    if (!h->w->requests[r].plain && h->w->requests[r].leaves < 0)
        x->leaves = x->c.deadline = -1; /* that was how long it waits for the beginning */
    if (x->c.plain)
        daruma_case_headed(&x->c, moment(h));
    daruma_case_begun(&x->c, moment(h));
    wake(h);
    look(h, r);
}

static void answered(sim_host *h, int r)
{
    live *x = &h->live[r];
    x->main.out = false;
    x->look_at = -1;
    x->e.answered = true;
    x->e.first = x->e.calls == 1 && x->main.sent == x->e.arrived &&
                 h->w->targets[x->main.target].model_id == h->w->targets[0].model_id;
    if (x->main.step == BEGUN)
        pieces_come(h, x);
    rules_before_end(&h->rules, h->health, &x->c, moment(h).now);
    daruma_case_done(&x->c, moment(h));
    rules_ended(&h->rules, r, h->health, &x->c, moment(h).now);
    finish(h, r, DARUMA_OUTCOME_OK);
}

static void call_step(sim_host *h, int r, call *k)
{
    live *x = &h->live[r];
    daruma_ms gone = h->t - k->sent;
    if (gone >= SIM_CLOCK_MS) {
        fails(h, r, k);
    } else if (k->step < HEADED && k->fate.head >= 0) {
        k->step = HEADED;
        if (x->c.plain)
            ; /* its first byte is what counts */
        else if (k == &x->main)
            daruma_case_headed(&x->c, moment(h));
        else
            daruma_case_hedge_headed(&x->c, moment(h));
        look(h, r);
    } else if (k->step < BEGUN && k->fate.begin >= 0) {
        begins(h, r, k);
    } else if (k->fate.ill == SIM_WELL) {
        answered(h, r);
    } else {
        fails(h, r, k);
    }
}

/* ---- requests ---------------------------------------------------------------------- */

static void comes(sim_host *h, int r)
{
    live *x = &h->live[r];
    const sim_request *q = &h->w->requests[r];
    daruma_moment at = moment(h);
    x->open = true;
    x->e.came = true;
    x->e.arrived = h->t;
    x->leaves = q->deadline < 0 ? -1 : h->t + q->deadline;
    if (q->leaves >= 0)
        x->leaves = sooner(x->leaves, h->t + q->leaves);
    daruma_case_open(&x->c, h->health, h->p, h->w->targets, (size_t)h->w->ntargets, -1,
                     q->deadline < 0 ? -1 : add_sat(at.now, q->deadline), at);
    x->c.can_mend = true;
    x->c.plain = q->plain;
    say(h, r, "comes, %s%s%.0lld", q->plain ? "plain" : "stream",
        q->deadline < 0 ? "" : ", deadline in ms: ", q->deadline < 0 ? 0ll : (long long)q->deadline);
}

static void attempt(sim_host *h, int r)
{
    live *x = &h->live[r];
    daruma_moment at = moment(h);
    x->act_at = -1;
    waits_no_more(h, r);
    rules_before_admit(&h->rules, r, &x->c, x->main.out);
    daruma_admission a = daruma_case_admit(&x->c, at);
    if (a.act != DARUMA_SEND) {
        say(h, r, "is not sent: %s", daruma_kind_name(a.why));
        finish(h, r, DARUMA_OUTCOME_EXPLAINED);
        return;
    }
    if (a.wait > 0) {
        say(h, r, "waits %lld ms", (long long)a.wait);
        say_health(h, r, at.now);
        wait_for(h, r, a.wait);
        return;
    }
    send(h, r, &x->main, a.target, x->c.permits);
    say(h, r, "call %u to " TARGET_FMT "%s", x->e.calls, TARGET_ARG(&h->w->targets[a.target]),
        x->c.permits[0].probe || x->c.permits[1].probe || x->c.permits[2].probe || x->c.permits[3].probe ? ", a probe"
                                                                                                         : "");
    look(h, r);
}

/* The time of the client is over: the host ends its calls a moment before. */
static void runs_out(sim_host *h, int r)
{
    live *x = &h->live[r];
    say(h, r, "its time is over");
    for (int i = 0; i < 2 && x->main.out; i++) {
        x->main.fate.ill = SIM_LATE;
        fails(h, r, &x->main);
    }
    if (x->open)
        finish(h, r, DARUMA_OUTCOME_EXPLAINED);
}

/* The client hangs up: at its deadline, or before. */
static void leaves(sim_host *h, int r)
{
    live *x = &h->live[r];
    bool early = h->w->requests[r].leaves >= 0 && h->t - x->e.arrived >= h->w->requests[r].leaves;
    if (!early) {
        runs_out(h, r);
        return;
    }
    x->e.left = h->w->requests[r].leaves >= 0 && h->t - x->e.arrived >= h->w->requests[r].leaves;
    say(h, r, "the client leaves");
    x->main.out = x->beside.out = false;
    if (x->c.out) {
        rules_before_drop(&h->rules, h->health, moment(h).now);
        daruma_case_drop(&x->c, moment(h));
        rules_dropped(&h->rules, r, h->health, moment(h).now);
    }
    finish(h, r, DARUMA_OUTCOME_CANCELLED_);
}

/* The first thing that is due for this request. */
static void event(sim_host *h, int r)
{
    live *x = &h->live[r];
    if (x->leaves >= 0 && x->leaves <= h->t)
        leaves(h, r);
    else if (x->main.out && call_next(&x->main) <= h->t)
        call_step(h, r, &x->main);
    else if (x->beside.out && call_next(&x->beside) <= h->t)
        call_step(h, r, &x->beside);
    else if (x->act_at >= 0 && x->act_at <= h->t) {
        if (!x->open)
            comes(h, r);
        attempt(h, r);
    } else if (x->look_at >= 0 && x->look_at <= h->t)
        look(h, r);
    arm(h, r);
}

sim_rule sim_host_run(sim_host *h, const sim_world *w, const daruma_policy *p, sim_say tell, void *user,
                      int *ret_request)
{
    daruma_arena a = arena_over(h->health_room, h->health_bytes);
    h->w = w;
    h->p = p;
    h->health = daruma_health_new(&a, PLACES);
    check(h->health != NULL);
    h->d.at = w->seed;
    h->t = SIM_BEGIN_MS;
    h->healed = 0;
    h->first_waiting = -1;
    h->say = tell;
    h->user = user;
    memset(h->known, 0, sizeof h->known);
    memset(h->told, -1, sizeof h->told);
    rules_begin(&h->rules, w);
    sim_timers_clear(&h->timers, w->nrequests);
    for (int r = 0; r < w->nrequests; r++) {
        live *x = &h->live[r];
        *x = (live){.rest = SIM_WHOLE, .act_at = -1, .look_at = -1, .leaves = -1};
        if (!w->agents || r < w->agents)
            x->act_at = w->requests[r].at;
        arm(h, r);
    }
    long events = 0;
    for (int r; (r = sim_timers_first(&h->timers)) >= 0 && events < EVENTS_MAX; events++) {
        h->t = h->timers.when[r] > h->t ? h->timers.when[r] : h->t;
        event(h, r);
    }
    for (int r = 0; r < w->nrequests; r++)
        rules_finally(&h->rules, r, h->live[r].e.came, h->live[r].open);
    *ret_request = h->rules.request;
    return h->rules.broken;
}
