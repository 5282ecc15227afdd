/* simulate_agents.c - `daruma simulate --agents`: the same trials (sim/trial.h) under every profile, side by side. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/replay/replay_inside.h"
#include "cli/simulate/simulate.h"
#include "sim/trial.h"
#include "sys/sys.h"
#include <stdio.h>

enum { ROWS_MAX = 32, NAME_BYTES = 64, TOLD_MAX = 4 };

/* One profile, or a stack of them, and what it came to. */
typedef struct row {
    char name[NAME_BYTES];
    seed_stack stack;
    agent_mode mode;
    trial_sum all, of[TRIAL_CLASSES];
} row;

typedef struct table {
    row rows[ROWS_MAX];
    size_t n;
    daruma_arena a;
} table;

static bool add(table *t, const char *name)
{
    char words[160];
    daruma_buf why = buf_over(words, sizeof words - 1);
    if (t->n == ROWS_MAX)
        return false;
    row *r = &t->rows[t->n];
    snprintf(r->name, sizeof r->name, "%s", name);
    if (!seed_stack_read(str_of(r->name), &t->a, &r->stack, &why))
        return cli_say(false, "simulate", STR_FMT "; `daruma profiles` shows what there is", STR_ARG(buf_str(&why)));
    r->mode = r->stack.agent.mode;
    t->n++;
    return true;
}

/* Every profile, both variants where there are two, and the stacks in which seeds run whole. */
static bool add_all(table *t)
{
    const char *name;
    char room[CLI_PROFILE_BYTES];
    for (size_t i = 0; (name = cli_profile(i, room)); i++)
        if (!add(t, name))
            return false;
    for (size_t i = 0; (name = seed_stack_usual(i)); i++)
        if (!add(t, name))
            return false;
    return true;
}

static void say(void *user, daruma_ms at, daruma_str line)
{
    (void)user;
    printf("%9.3f  ", (double)at / 1000);
    cli_put_page(stdout, line);
    printf("\n");
}

static bool run_row(row *r, const simulate_agents_asked *q, int only)
{
    trial_setup s = {.stack = &r->stack, .mode = r->mode, .seed = q->seed, .rooms = &run_rooms};
    s.say = q->trial >= 0 ? say : NULL;
    uint64_t from = q->trial >= 0 ? (uint64_t)q->trial : 0, to = q->trial >= 0 ? from + 1 : q->trials;
    for (uint64_t k = from; k < to; k++) {
        trial_class c = (trial_class)(k % TRIAL_CLASSES);
        trial_outcome o = {0};
        if (only >= 0 && only != (int)c)
            continue;
        if (!trial_run(&s, k, &o))
            return cli_say(false, "simulate",
                           "trial %llu does not end: daruma simulate --agents --seed %llu --trial %llu "
                           "--profile %s",
                           (unsigned long long)k, (unsigned long long)q->seed, (unsigned long long)k, r->name);
        trial_add(&r->all, &o);
        trial_add(&r->of[c], &o);
    }
    return true;
}

/* ---- tables ---- */

static double each(double sum, const trial_sum *s)
{
    return s->runs ? sum / (double)s->runs : 0;
}

static double share(const trial_sum *s)
{
    return 100 * each((double)s->done, s);
}

static void print_all(const table *t)
{
    printf("| profile | done | calls | wasted | waited | tokens | doubled | false |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        const trial_sum *s = &r->all;
        printf("| %s | %.1f %% | %.1f | %.1f | %.1f s | %.0f | %llu | %llu |\n", r->name, share(s),
               each((double)s->calls, s), each((double)s->wasted, s), each((double)s->waited, s) / 1000,
               each((double)s->tokens, s), (unsigned long long)s->doubled, (unsigned long long)s->claimed);
    }
}

static void print_classes(const table *t)
{
    printf("| profile |");
    for (int c = 0; c < TRIAL_CLASSES; c++)
        printf(" %s |", trial_class_name((trial_class)c));
    printf("\n|---|");
    for (int c = 0; c < TRIAL_CLASSES; c++)
        printf("---:|");
    printf("\n");
    for (size_t i = 0; i < t->n; i++) {
        printf("| %s |", t->rows[i].name);
        for (int c = 0; c < TRIAL_CLASSES; c++) {
            const trial_sum *s = &t->rows[i].of[c];
            if (s->runs)
                printf(" %.0f %%, %.1f |", share(s), each((double)s->wasted, s));
            else
                printf(" - |");
        }
        printf("\n");
    }
}

static int print(table *t, const simulate_agents_asked *q)
{
    printf("%llu trials, seed %llu\n\n", (unsigned long long)t->rows[0].all.runs, (unsigned long long)q->seed);
    print_all(t);
    printf(
        "\nFor one trial. done: the answer is whole, and each order was placed once. calls: to models, those that "
        "failed "
        "included.\nwasted: of these, calls that failed or brought nothing; all, when the task was not done. waited: "
        "nobody was asked\nanything. doubled: effects that happened twice, in all trials. false: trials that say they "
        "went well, and did not.\n\nBy class of faults: done, and calls that were wasted.\n\n");
    print_classes(t);
    return 0;
}

static void json_sum(daruma_buf *b, const char *name, const trial_sum *s)
{
    BUF_SAY(b, "\"", name, "\":");
    BUF_OBJECT(b, "trials", s->runs, "done", s->done, "calls", s->calls, "wasted", s->wasted, "waited_ms", s->waited,
               "took_ms", s->took, "tokens", s->tokens, "doubled", s->doubled, "false", s->claimed);
}

static int print_json(table *t, const simulate_agents_asked *q)
{
    daruma_buf out = buf_in(&t->a), *b = &out;
    BUF_SAY(b, "{\"seed\":", q->seed, ",\"profiles\":[");
    for (size_t i = 0; i < t->n; i++) {
        const row *r = &t->rows[i];
        BUF_SAY(b, i ? ",{\"profile\":" : "{\"profile\":", buf_quoted(str_of(r->name)), ",");
        json_sum(b, "all", &r->all);
        BUF_LIT(b, ",\"classes\":{");
        const char *between = "";
        for (int c = 0; c < TRIAL_CLASSES; c++) {
            if (!r->of[c].runs)
                continue;
            buf_putz(b, between);
            json_sum(b, trial_class_name((trial_class)c), &r->of[c]);
            between = ",";
        }
        BUF_LIT(b, "}}");
    }
    BUF_LIT(b, "]}\n");
    if (out.full)
        return cli_say(1, "simulate", "no memory");
    fwrite(out.p, 1, out.n, stdout);
    return 0;
}

void simulate_agents_classes(void)
{
    for (int c = 0; c < TRIAL_CLASSES; c++)
        printf("%-12s %s\n", trial_class_name((trial_class)c), trial_class_words((trial_class)c));
}

int simulate_agents(const simulate_agents_asked *q)
{
    static table t;
    trial_class class = TRIAL_CALM;
    if (q->class[0] && !trial_class_find(str_of(q->class), &class))
        return cli_say(2, "simulate", "there is no class `%s`; --agents --classes lists them", q->class);
    if (q->trial >= 0 && !q->profile[0])
        return cli_say(2, "simulate", "--trial needs --profile: whose steps?");
    if (!sys_arena_init(&t.a, 64 << 10, 8 << 20))
        return cli_say(1, "simulate", "no memory");
    bool all = !q->profile[0] || str_eq(str_of(q->profile), S("all"));
    int code = (all ? add_all(&t) : add(&t, q->profile)) ? 0 : 2;
    for (size_t i = 0; i < t.n && !code; i++)
        code = run_row(&t.rows[i], q, q->class[0] ? (int)class : -1) ? 0 : 1;
    if (!code && q->trial < 0)
        code = (q->json ? print_json : print)(&t, q);
    sys_arena_done(&t.a);
    return code;
}
