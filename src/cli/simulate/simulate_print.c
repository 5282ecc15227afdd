/* simulate_print.c - the table of regret, the same as JSON, and one world event by event. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/simulate/simulate.h"
#include "sim/clairvoyant.h"
#include <stdio.h>

typedef char text[32];

static const char *percent(text out, uint64_t part, uint64_t of)
{
    if (!of)
        snprintf(out, sizeof(text), "-");
    else
        snprintf(out, sizeof(text), "%.2f", 100.0 * (double)part / (double)of);
    return out;
}

static const char *ratio(text out, uint64_t a, uint64_t b)
{
    if (!b)
        snprintf(out, sizeof(text), "-");
    else
        snprintf(out, sizeof(text), "%.2f", (double)a / (double)b);
    return out;
}

static const char *duration(text out, const regret_times *t, uint32_t milli)
{
    daruma_ms ms = regret_times_at(t, milli);
    if (!t->n)
        snprintf(out, sizeof(text), "-");
    else if (ms < 10000)
        snprintf(out, sizeof(text), "%lld.%02lld", (long long)ms / 1000, (long long)(ms % 1000) / 10);
    else
        snprintf(out, sizeof(text), "%lld", (long long)ms / 1000);
    return out;
}

static void row(const char *name, const regret_sum *s)
{
    text t[10];
    printf("| %-17s | %8llu | %8llu | %7llu | %6s | %7llu | %5s | %5s | %6s | %6s | %7s | %5s | %6s | %5s | %6s |\n",
           name, (unsigned long long)s->requests, (unsigned long long)s->could, (unsigned long long)s->daruma.lost,
           percent(t[0], s->daruma.lost, s->could), (unsigned long long)s->daruma.late,
           ratio(t[1], s->daruma.calls, s->calls), ratio(t[8], s->blind, s->calls),
           duration(t[2], &s->daruma.added, 500), duration(t[3], &s->daruma.added, 990),
           percent(t[9], s->beyond, s->both), percent(t[4], s->sick, s->daruma.calls),
           percent(t[5], s->direct.lost, s->could), ratio(t[6], s->direct.calls, s->calls),
           duration(t[7], &s->direct.added, 990));
}

static void print_head(const char *first)
{
    printf(
        "|                   |          |          | daruma  |        |         |       |       |        |        |    "
        "     |       | direct |       |        |\n"
        "| %-17s | requests |    could |    lost | lost %% |    late | calls | blind | median |    p99 | beyond%% | "
        "sick%% | lost %% | calls |    p99 |\n"
        "|-------------------|---------:|---------:|--------:|-------:|--------:|------:|------:|-------:|-------:|"
        "--------:|------:|-------:|------:|-------:|\n",
        first);
}

void simulate_profiles(const regret_sum *sums, const char *const *names, size_t n)
{
    printf("\n\nAll worlds, by profile\n\n");
    print_head("profile");
    for (size_t i = 0; i < n; i++)
        row(names[i], &sums[i]);
}

static void replay_command(const simulate_asked *asked, const char *class, uint64_t k)
{
    printf("daruma simulate%s --seed %llu --class %s --world %llu\n", asked->how, (unsigned long long)asked->seed,
           class, (unsigned long long)k);
}

static void print_broken(const regret *sum, const simulate_asked *asked)
{
    for (int i = 0; i < sum->nbroken; i++) {
        printf("BROKEN: %s (request %d)\n    ", sim_rule_words(sum->broken[i].rule), sum->broken[i].request);
        replay_command(asked, sum->broken[i].class->name, sum->broken[i].k);
    }
}

static void print_worst(const regret *sum, const simulate_asked *asked)
{
    if (sum->nworst)
        printf("\nThe worst worlds, at most %d of a class; each command replays one step by step:\n",
               REGRET_WORST_EACH);
    for (int i = 0; i < sum->nworst; i++) {
        const regret_world *w = &sum->worst[i];
        printf("%4u of %u lost, %llu calls where %llu do: ", w->lost, w->could, (unsigned long long)w->calls,
               (unsigned long long)w->needed);
        replay_command(asked, w->class->name, w->k);
    }
}

/* Why those answers took longer that are beyond the bound. */
static void print_beyond(const regret_sum *s)
{
    text t[3];
    if (s->beyond)
        printf(
            "\nOf the answers beyond the bound %s %% had a blind call, %s %% came by the only call, which went out at "
            "once to\nthe model that stands first, and %s %% by the only call, which went elsewhere while the first "
            "was well again.\n",
            percent(t[0], s->beyond_blind, s->beyond), percent(t[1], s->beyond_first, s->beyond),
            percent(t[2], s->beyond_back, s->beyond));
}

void simulate_print(const regret *sum, const simulate_asked *asked)
{
    printf("%llu worlds, seed %llu, policy %s%s\n\n", (unsigned long long)sum->judged, (unsigned long long)asked->seed,
           asked->policy, asked->stopped ? ", stopped early" : "");
    print_head("worlds");
    for (size_t i = 0; i < nsim_classes; i++)
        if (sum->of[i].requests)
            row(sim_classes[i].name, &sum->of[i]);
    row("all", &sum->all);
    printf("\ncould: requests that somebody who knows all that is sick gets answered. lost: of these, not answered. "
           "late:\nnot answered, where the client did not wait for 1.5 times his time and one probe. "
           "calls: for one that he needs. blind: of these, at places of which nobody had been told yet that they are "
           "sick. "
           "median, p99: seconds\nabove his. beyond: share of answers that took longer than 1.5 times his time and one "
           "probe. sick: share of calls to places known to be sick.\ndirect: a client with two retries of its own at "
           "the first target.\n");
    print_beyond(&sum->all);
    print_worst(sum, asked);
    if (sum->nbelow) {
        printf("\nIn %llu worlds a client alone has more answers (in %llu to requests that could be answered); in the "
               "worst of these\n%u where daruma has %u:\n",
               (unsigned long long)sum->nbelow, (unsigned long long)sum->nbelow_could, sum->below.alone,
               sum->below.ours);
        replay_command(asked, sum->below.class->name, sum->below.k);
    }
    if (sum->nbroken_all) {
        printf("\nWhat must always hold did not, in %llu worlds:\n", (unsigned long long)sum->nbroken_all);
        print_broken(sum, asked);
    } else {
        printf("\nWhat must always hold did, in all of them.\n");
    }
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void json_side(daruma_buf *b, const char *name, const regret_side *s)
{
    BUF_SAY(b, ",\"", name, "\":{");
    BUF_MEMBERS(b, "lost", s->lost, "late", s->late, "won", s->won, "calls", s->calls);
    BUF_LIT(b, ",\"added_ms\":");
    BUF_OBJECT(b, "p50", regret_times_at(&s->added, 500), "p90", regret_times_at(&s->added, 900), "p99",
               regret_times_at(&s->added, 990));
    BUF_LIT(b, "}");
}

static void json_sum(daruma_buf *b, const char *name, const regret_sum *s)
{
    BUF_LIT(b, "{");
    BUF_MEMBERS(b, "class", name, "worlds", s->worlds, "requests", s->requests, "could", s->could, "calls", s->calls,
                "sick", s->sick, "blind", s->blind, "hedges", s->hedges, "both", s->both, "beyond", s->beyond);
    BUF_MEMBERS(b, "beyond_blind", s->beyond_blind, "beyond_first", s->beyond_first, "beyond_back", s->beyond_back);
    json_side(b, "daruma", &s->daruma);
    json_side(b, "direct", &s->direct);
    BUF_LIT(b, "}");
}

void simulate_json(const regret *sum, const simulate_asked *asked, daruma_buf *b)
{
    BUF_LIT(b, "{");
    BUF_MEMBERS(b, "worlds", sum->judged, "seed", asked->seed, "policy", asked->policy, "stopped", asked->stopped);
    BUF_LIT(b, ",\"broken\":[");
    for (int i = 0; i < sum->nbroken; i++) {
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "class", sum->broken[i].class->name, "world", sum->broken[i].k, "request", sum->broken[i].request,
                   "rule", sim_rule_words(sum->broken[i].rule));
    }
    BUF_LIT(b, "],\"classes\":[");
    const char *comma = "";
    for (size_t i = 0; i < nsim_classes; i++)
        if (sum->of[i].worlds) {
            buf_putz(b, comma);
            json_sum(b, sim_classes[i].name, &sum->of[i]);
            comma = ",";
        }
    BUF_LIT(b, "],\"all\":");
    json_sum(b, "all", &sum->all);
    BUF_LIT(b, ",\"worst\":[");
    for (int i = 0; i < sum->nworst; i++) {
        const regret_world *w = &sum->worst[i];
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "class", w->class->name, "world", w->k, "lost", w->lost, "could", w->could, "calls", w->calls,
                   "needed", w->needed);
    }
    BUF_LIT(b, "]");
    BUF_MEMBERS(b, "worlds_below_direct", sum->nbelow, "worlds_below_direct_could", sum->nbelow_could);
    BUF_LIT(b, "}\n");
}

/* ---- one world ------------------------------------------------------------------------ */

static void simulate_print_say(void *user, daruma_ms at, int request, daruma_str line)
{
    (void)user;
    printf("%9.3f  #%-3d ", (double)at / 1000, request);
    fwrite(line.p, 1, line.n, stdout);
    printf("\n");
}

static void print_fault(const sim_world *w, const sim_fault *f)
{
    text share = "";
    if (f->share != SIM_WHOLE || f->share_until != SIM_WHOLE)
        snprintf(share, sizeof share, ", %u to %u per mille", f->share, f->share_until);
    printf("  %s from %.3f s ", sim_ill_name(f->ill), (double)(f->from - SIM_BEGIN_MS) / 1000);
    if (f->until == SIM_EVER)
        printf("on%s", share);
    else
        printf("to %.3f s%s", (double)(f->until - SIM_BEGIN_MS) / 1000, share);
    if (f->flaps)
        printf(", on and off every %.3f s", (double)f->flaps / 1000);
    if (f->ill == SIM_SLOW)
        printf(", %u.%u times", f->factor / 1000, f->factor % 1000 / 100);
    printf("%s:", f->breaks ? ", breaks calls" : "");
    for (int i = 0; i < w->ntargets; i++)
        if (f->who & 1u << i)
            printf(" %d", i);
    printf("\n");
}

static void print_world(const sim_world *w, uint64_t k)
{
    printf("world %llu: %s (%s)\n", (unsigned long long)k, w->class->name, w->class->words);
    for (int i = 0; i < w->ntargets; i++) {
        const daruma_target *t = &w->targets[i];
        const sim_pace *p = &w->pace[i];
        printf("  target %d: " STR_FMT "/" STR_FMT " (" STR_FMT ", account " STR_FMT
               "), head in %lld ms, content %lld ms later, end %lld ms later\n",
               i, STR_ARG(t->provider), STR_ARG(t->model), STR_ARG(t->key), STR_ARG(t->account), (long long)p->head,
               (long long)p->begin, (long long)p->body);
    }
    for (int i = 0; i < w->nfaults; i++)
        print_fault(w, &w->faults[i]);
    for (int i = 0; i < w->njumps; i++)
        printf("  the clock jumps by %lld ms at %.3f s\n", (long long)w->jumps[i].by,
               (double)(w->jumps[i].at - SIM_BEGIN_MS) / 1000);
    printf("  %d requests%s\n\n", w->nrequests,
           w->agents ? " of agents that ask again when they have their answer" : "");
}

sim_rule simulate_replay(sim_host *h, sim_world *w, const daruma_policy *p, uint64_t k)
{
    int request, lost = 0;
    daruma_ms patience = p->patience >= 0 ? p->patience : SIM_PATIENCE_MS;
    print_world(w, k);
    sim_rule rule = sim_host_run(h, w, p, simulate_print_say, NULL, &request);
    printf("\nrequest      comes   daruma               clairvoyant          direct\n");
    for (int r = 0; r < w->nrequests; r++) {
        const sim_ending *e = sim_host_ending(h, r);
        if (!e->came)
            continue;
        sim_answer best = sim_clairvoyant(w, r, e->arrived, patience), direct = sim_direct(w, r, e->arrived);
        bool lost_one = best.answered && !e->answered && !e->left;
        lost += lost_one;
        printf("#%-6d %10.3f   %-4s %7.3f s %2ux     %-4s %7.3f s %2ux     %-4s %7.3f s %2ux%s\n", r,
               (double)(e->arrived - SIM_BEGIN_MS) / 1000,
               e->answered ? "ok"
               : e->left   ? "left"
                           : "-",
               (double)(e->ended - e->arrived) / 1000, e->calls, best.answered ? "ok" : "-",
               (double)(best.ended - e->arrived) / 1000, best.calls, direct.answered ? "ok" : "-",
               (double)(direct.ended - e->arrived) / 1000, direct.calls, lost_one ? "   LOST" : "");
    }
    printf("\n%d lost\n", lost);
    if (rule)
        printf("BROKEN: %s (request %d)\n", sim_rule_words(rule), request);
    return rule;
}

void simulate_classes(void)
{
    for (size_t i = 0; i < nsim_classes; i++)
        printf("%-13s %s\n", sim_classes[i].name, sim_classes[i].words);
}
