/* regret.c - adds up. Times lie in a histogram whose steps grow with them, so that a hundred thousand worlds need no
 * more memory than one. */
#include "sim/regret.h"
#include "sim/clairvoyant.h"

/* ---- times ------------------------------------------------------------------------- */

enum { PARTS = 8 }; /* of each doubling */

static int step_of(daruma_ms ms)
{
    if (ms < PARTS)
        return ms < 0 ? 0 : (int)ms;
    int doublings = 63 - __builtin_clzll((uint64_t)ms), part = (int)((ms >> (doublings - 3)) & (PARTS - 1));
    int step = (doublings - 2) * PARTS + part;
    return step < REGRET_STEPS ? step : REGRET_STEPS - 1;
}

/* The middle of a step. */
static daruma_ms time_of(int step)
{
    if (step < PARTS)
        return step;
    int doublings = step / PARTS + 2;
    daruma_ms low = (daruma_ms)(PARTS + step % PARTS) << (doublings - 3);
    return low + ((1ll << (doublings - 3)) - 1) / 2;
}

void regret_times_note(regret_times *t, daruma_ms ms)
{
    t->n++;
    t->in[step_of(ms)]++;
}

daruma_ms regret_times_at(const regret_times *t, uint32_t milli)
{
    uint64_t below = 0, want = (t->n * milli + 999) / 1000;
    for (int i = 0; i < REGRET_STEPS && t->n; i++) {
        below += t->in[i];
        if (below >= want)
            return time_of(i);
    }
    return 0;
}

/* ---- worlds ------------------------------------------------------------------------- */

const sim_class *regret_class(uint64_t k, const sim_class *only, const sim_places *places)
{
    if (only)
        return only;
    uint64_t fit = 0, want;
    for (size_t i = 0; i < nsim_classes; i++)
        fit += !places || sim_class_fits(&sim_classes[i], places);
    want = fit ? k % fit : 0;
    for (size_t i = 0; i < nsim_classes; i++)
        if ((!places || sim_class_fits(&sim_classes[i], places)) && want-- == 0)
            return &sim_classes[i];
    return &sim_classes[0]; /* in which nothing is sick: it fits everything */
}

/* What is allowed: half as long again as the clairvoyant needs, and one probe. */
static daruma_ms allowed(const sim_answer *best, daruma_ms best_took)
{
    return best_took + best_took / 2 + best->usual;
}

/* Where the client does not wait so long, nobody but him can know. */
static bool is_tight(const sim_answer *best, daruma_ms best_took, daruma_ms deadline)
{
    return deadline >= 0 && allowed(best, best_took) > deadline;
}

static void add_side(regret_side *s, bool answered, daruma_ms took, uint32_t calls, const sim_answer *best,
                     daruma_ms best_took, bool tight)
{
    s->calls += calls;
    s->lost += best->answered && !answered && !tight;
    s->late += best->answered && !answered && tight;
    s->won += answered && !best->answered;
    if (answered && best->answered)
        regret_times_note(&s->added, took > best_took ? took - best_took : 0);
}

static bool worse(const regret_world *a, const regret_world *b)
{
    if (a->lost != b->lost)
        return a->lost > b->lost;
    return (a->calls > a->needed ? a->calls - a->needed : 0) > (b->calls > b->needed ? b->calls - b->needed : 0);
}

/* Keeps it if it is among the worst, and no more than a few of its class. */
static void keep_worst(regret *sum, const regret_world *w)
{
    int same = 0, last = -1;
    if (w->lost == 0 && w->calls <= w->needed)
        return;
    for (int i = 0; i < sum->nworst; i++)
        if (sum->worst[i].class == w->class) {
            same++;
            last = i;
        }
    if (same < REGRET_WORST_EACH && sum->nworst < REGRET_WORST)
        last = sum->nworst++;
    else if (same < REGRET_WORST_EACH)
        last = REGRET_WORST - 1;
    else if (!worse(w, &sum->worst[last]))
        return;
    if (last == REGRET_WORST - 1 && same < REGRET_WORST_EACH && sum->worst[last].class && !worse(w, &sum->worst[last]))
        return;
    int at = last;
    for (; at > 0 && worse(w, &sum->worst[at - 1]); at--)
        sum->worst[at] = sum->worst[at - 1];
    sum->worst[at] = *w;
}

/* True if something was wrong with the first target of the list before `at`, and nothing is then. */
static bool is_back(const sim_world *w, daruma_ms at)
{
    bool was = false, is = false;
    for (int i = 0; i < w->nfaults; i++) {
        const sim_fault *f = &w->faults[i];
        was |= (f->who & 1u) && f->from <= at;
        is |= (f->who & 1u) && sim_fault_share(f, at) > 0;
    }
    return was && !is;
}

static void add_beyond(regret_sum *s, const sim_world *w, const sim_ending *e)
{
    s->beyond++;
    if (e->blind)
        s->beyond_blind++;
    else if (e->first)
        s->beyond_first++;
    else if (e->calls == 1 && is_back(w, e->arrived))
        s->beyond_back++;
}

static void add_request(regret_sum *s, regret_world *one, const sim_world *w, int r, const sim_ending *e,
                        daruma_ms patience)
{
    sim_answer best = sim_clairvoyant(w, r, e->arrived, patience), direct = sim_direct(w, r, e->arrived);
    daruma_ms took = e->ended - e->arrived, best_took = best.ended - e->arrived;
    bool tight = is_tight(&best, best_took, w->requests[r].deadline);
    s->requests++;
    s->could += best.answered;
    s->calls += best.calls;
    s->sick += e->sick;
    s->blind += e->blind;
    s->hedges += e->hedges;
    s->both += best.answered && e->answered;
    if (best.answered && e->answered && took > allowed(&best, best_took))
        add_beyond(s, w, e);
    add_side(&s->daruma, e->answered, took, e->calls, &best, best_took, tight);
    add_side(&s->direct, direct.answered, direct.ended - e->arrived, direct.calls, &best, best_took, tight);
    one->could += best.answered;
    one->lost += best.answered && !e->answered && !tight;
    one->ours += e->answered;
    one->alone += direct.answered;
    one->ours_could += best.answered && e->answered;
    one->alone_could += best.answered && direct.answered;
    one->calls += e->calls;
    one->needed += best.calls;
    if (e->answered && best.answered && took - best_took > one->slowest)
        one->slowest = took - best_took;
}

static void note_broken(regret *sum, sim_rule rule, const sim_class *class, uint64_t k, int request)
{
    sum->nbroken_all++;
    if (sum->nbroken == REGRET_WORST)
        return;
    sum->broken[sum->nbroken].class = class;
    sum->broken[sum->nbroken].k = k;
    sum->broken[sum->nbroken].rule = rule;
    sum->broken[sum->nbroken++].request = request;
}

static void add_times(regret_times *to, const regret_times *of)
{
    to->n += of->n;
    for (int i = 0; i < REGRET_STEPS; i++)
        to->in[i] += of->in[i];
}

static void add_sum(regret_sum *to, const regret_sum *of)
{
    to->worlds += of->worlds;
    to->requests += of->requests;
    to->could += of->could;
    to->calls += of->calls;
    to->sick += of->sick;
    to->blind += of->blind;
    to->hedges += of->hedges;
    to->both += of->both;
    to->beyond += of->beyond;
    to->beyond_blind += of->beyond_blind;
    to->beyond_first += of->beyond_first;
    to->beyond_back += of->beyond_back;
    regret_side *side[] = {&to->daruma, &to->direct};
    const regret_side *its[] = {&of->daruma, &of->direct};
    for (int i = 0; i < 2; i++) {
        side[i]->lost += its[i]->lost;
        side[i]->late += its[i]->late;
        side[i]->won += its[i]->won;
        side[i]->calls += its[i]->calls;
        add_times(&side[i]->added, &its[i]->added);
    }
}

void regret_run(regret *sum, sim_host *h, sim_world *w, const sim_class *class, uint64_t seed, uint64_t k,
                const sim_places *places, const daruma_policy *p)
{
    int request;
    regret_sum *s = &sum->of[class - sim_classes];
    regret_world one = {.class = class, .k = k};
    sim_world_make(w, class, seed, k, places);
    sim_rule rule = sim_host_run(h, w, p, NULL, NULL, &request);
    sum->judged++;
    s->worlds++;
    if (rule)
        note_broken(sum, rule, class, k, request);
    if (class->shape & SIM_JUMPS)
        return; /* times mean nothing there */
    daruma_ms patience = p->patience >= 0 ? p->patience : SIM_PATIENCE_MS;
    for (int r = 0; r < w->nrequests; r++) {
        const sim_ending *e = sim_host_ending(h, r);
        if (e->came && !e->left)
            add_request(s, &one, w, r, e, patience);
    }
    keep_worst(sum, &one);
    sum->nbelow_could += one.alone > one.ours && one.alone_could > one.ours_could;
    if (one.alone > one.ours) {
        if (!sum->nbelow++ || one.alone - one.ours > sum->below.alone - sum->below.ours)
            sum->below = one;
    }
}

void regret_total(regret *sum)
{
    sum->all = (regret_sum){0};
    for (size_t i = 0; i < nsim_classes; i++)
        add_sum(&sum->all, &sum->of[i]);
}
