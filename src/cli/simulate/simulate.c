/* simulate.c - `daruma simulate`: outages in virtual time, on the decisions that the gateway takes. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/simulate/simulate.h"
#include "gateway/config/config.h"
#include "sys/sys.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORLDS = 10000, TRIALS = 360, PROGRESS_MS = 500, WORLDS_A_LOOK = 64, PROFILES_MAX = 16, ROOM_BYTES = 128 << 20 };

static const char about[] =
    "Runs random small worlds with outages in virtual time, on the same decisions that the gateway takes (cases, "
    "health,\n"
    "retry budgets, backoff, hedges), and compares what came out with what was possible: with a clairvoyant who knows\n"
    "when each fault begins and ends, keeps every Retry-After and needs a call for an answer, too. Nothing is sent\n"
    "anywhere. The same seed gives the same worlds on every machine.\n"
    "\n"
    "With --config the worlds have the targets, keys, accounts and policy of your file: what would it survive? What "
    "the\n"
    "file cannot know is made up: how long answers take, and what fails when. See doc/outages.md.\n"
    "\n"
    "With --agents whole agents are run instead: each trial is a small world in which something fails, and one "
    "simulated\n"
    "model, under every profile. See doc/seeds.md.\n"
    "\n"
    "Exit code: 0 fine; 1 what must always hold did not (each with the command that replays it), or a bound that you\n"
    "gave was missed, or a file could not be read; 2 asked wrongly.\n"
    "\n"
    "  daruma simulate                                  how good is the default policy?\n"
    "  daruma simulate --config daruma.yaml             what would my configuration survive?\n"
    "  daruma simulate --class only-down --worlds 1000  one class of worlds; --classes lists them\n"
    "  daruma simulate --class busy --world 31          that world, event by event\n"
    "  daruma simulate --agents                         every profile against the same faults, side by side\n"
    "  daruma simulate --agents --trial 7 --profile swarm  one of them, step by step\n"
    "  daruma simulate --max-lost 0.5 --max-calls 1.5   for CI: fail when more is lost, or asked";

/* ---- Ctrl-C, and a bug in the engine --------------------------------------------------- */

static volatile sig_atomic_t stop;
static char dying[1024]; /* what to say when a check() of the engine ends us */

static void on_interrupt(int sig)
{
    (void)sig;
    stop = 1;
}

static void on_trap(int sig)
{
    ssize_t n = write(STDERR_FILENO, dying, strlen(dying));
    (void)n;
    signal(sig, SIG_DFL);
    raise(sig);
}

static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_interrupt}, t = {.sa_handler = on_trap};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGILL, &t, NULL);
    sigaction(SIGTRAP, &t, NULL);
}

/* ---- what is asked for ----------------------------------------------------------------- */

typedef struct asked {
    const char *worlds, *seed, *policy, *config, *profile, *class, *world, *model, *max_lost, *max_calls, *trials,
        *trial;
    bool json, classes, agents;
} asked;

typedef struct plan {
    uint64_t worlds, seed;
    int64_t world;               /* -1: all */
    const sim_class *only;       /* NULL: all */
    int64_t max_lost, max_calls; /* in hundredths; -1: no bound */
    sim_places *places;          /* NULL: made up */
    config config;
    const daruma_policy *p;
    simulate_asked say;
    char how[600];
    daruma_arena a;
    sim_host *host;
    sim_world *w;
} plan;

static bool number(const char *option, const char *text, int64_t least, int64_t *ret)
{
    if (!text[0])
        return true;
    if (str_int(str_of(text), ret) && *ret >= least)
        return true;
    return cli_say(false, "simulate", "%s needs a whole number from %lld on, not `%s`", option, (long long)least, text);
}

/* "1.25" as 125. */
static bool hundredths(const char *option, const char *text, int64_t *ret)
{
    daruma_str rest = str_of(text), whole = str_cut(&rest, '.');
    int64_t w = 0, part = 0;
    if (!text[0])
        return true;
    bool ok = str_int(whole, &w) && w < 1000000 && rest.n <= 2 && (!rest.n || str_int(rest, &part));
    if (ok) {
        *ret = w * 100 + (rest.n == 1 ? part * 10 : part);
        return true;
    }
    return cli_say(false, "simulate", "%s needs a number like 1.25, not `%s`", option, text);
}

static bool find_class(const char *name, const sim_class **ret)
{
    if (!name[0])
        return true;
    *ret = sim_class_find(str_of(name));
    if (*ret)
        return true;
    str_near near = str_near_to(str_of(name));
    for (size_t i = 0; i < nsim_classes; i++)
        str_near_try(&near, str_of(sim_classes[i].name));
    fprintf(stderr, "daruma simulate: there is no class `%s`", name);
    if (near.best.n)
        fprintf(stderr, "; did you mean `" STR_FMT "`?", STR_ARG(near.best));
    fprintf(stderr, "\n--classes lists them.\n");
    return false;
}

/* No key is used, so that one that is not set does not matter. Where a provider is does not either. */
static daruma_str from_environment(daruma_str name, bool *found, void *user)
{
    (void)user;
    *found = !str_ends(name, S("_URL"));
    return S("unused");
}

static bool read_config(plan *p, const char *file)
{
    daruma_str text;
    char why[256];
    static conf_mistakes m;
    static char room[CLI_WHY_BYTES];
    daruma_buf told = buf_over(room, sizeof room);
    if (!sys_read_file(file, CONFIG_BYTES_MAX, &p->a, &text, why))
        return cli_say(false, "simulate", "%s", why);
    if (config_read(text, from_environment, NULL, &p->a, &p->config, &m))
        return true;
    m.file = file;
    conf_mistakes_say(&m, &told);
    fprintf(stderr, STR_FMT, STR_ARG(buf_str(&told)));
    return false;
}

/* All keys of the first target, then all of the next, as the gateway asks them. */
static bool take_places(plan *p, const char *model)
{
    const config_model *m = p->config.nmodels ? &p->config.models[0] : NULL;
    p->places = ARENA_NEW(&p->a, sim_places, 1);
    for (size_t i = 0; model[0] && i < p->config.nmodels; i++)
        if (str_eq(p->config.models[i].name, str_of(model)))
            m = &p->config.models[i];
    if (!m || !p->places || (model[0] && !str_eq(m->name, str_of(model))))
        return cli_say(false, "simulate", "the file has no model `%s` under `models`", model);
    for (size_t i = 0; i < m->ntargets; i++) {
        const config_provider *v = &p->config.providers[m->targets[i].provider];
        for (size_t k = 0; (k < v->nkeys || (k == 0 && !v->nkeys)) && p->places->ntargets < SIM_TARGETS_MAX; k++) {
            daruma_target *t = &p->places->targets[p->places->ntargets++];
            *t = (daruma_target){.provider = v->name,
                                 .model = m->targets[i].model,
                                 .account = v->nkeys ? v->keys[k].account : S("client"),
                                 .key = v->nkeys ? v->keys[k].name : S("client"),
                                 .window = -1,
                                 .max_output = -1};
            daruma_target_seal(t);
        }
    }
    return p->places->ntargets > 0;
}

/* ---- running --------------------------------------------------------------------------- */

static void tell_progress(const plan *p, uint64_t done, daruma_ms *next)
{
    daruma_ms now = sys_moment().now;
    if (now < *next || !isatty(STDERR_FILENO))
        return;
    *next = now + PROGRESS_MS;
    fprintf(stderr, "\r%llu of %llu worlds ", (unsigned long long)done, (unsigned long long)p->worlds);
}

static void run_all(plan *p, regret *sum)
{
    daruma_ms next = sys_moment().now + PROGRESS_MS;
    for (uint64_t k = 0; k < p->worlds && !stop; k++) {
        const sim_class *class = regret_class(k, p->only, p->places);
        if (k % WORLDS_A_LOOK == 0)
            tell_progress(p, k, &next);
        snprintf(dying, sizeof dying,
                 "\nA check of the engine failed. To see it again:\n  daruma simulate%s --seed %llu "
                 "--class %s --world %llu\n",
                 p->how, (unsigned long long)p->seed, class->name, (unsigned long long)k);
        regret_run(sum, p->host, p->w, class, p->seed, k, p->places, p->p);
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    p->say.stopped = stop;
    regret_total(sum);
}

static int replay(plan *p)
{
    uint64_t k = (uint64_t)p->world;
    sim_world_make(p->w, regret_class(k, p->only, p->places), p->seed, k, p->places);
    return simulate_replay(p->host, p->w, p->p, k) ? 1 : 0;
}

/* Tells which bounds were missed. */
static bool within_bounds(const plan *p, const regret_sum *s)
{
    bool ok = true;
    double lost = s->could ? 100.0 * (double)s->daruma.lost / (double)s->could : 0;
    double calls = s->calls ? (double)s->daruma.calls / (double)s->calls : 0;
    if (p->max_lost >= 0 && lost * 100 > (double)p->max_lost) {
        fprintf(stderr,
                "daruma simulate: %.3f %% of the requests that could be answered were lost, more than --max-lost\n",
                lost);
        ok = false;
    }
    if (p->max_calls >= 0 && calls * 100 > (double)p->max_calls) {
        fprintf(stderr, "daruma simulate: %.3f calls for one that was needed, more than --max-calls\n", calls);
        ok = false;
    }
    return ok;
}

static int run_one(plan *p, bool json, regret_sum *ret)
{
    static regret sum;
    memset(&sum, 0, sizeof sum);
    run_all(p, &sum);
    if (json) {
        daruma_buf out = buf_in(&p->a);
        simulate_json(&sum, &p->say, &out);
        fwrite(out.p, 1, out.n, stdout);
    } else {
        simulate_print(&sum, &p->say);
    }
    *ret = sum.all;
    bool ok = within_bounds(p, &sum.all);
    return ok && !sum.nbroken_all ? 0 : 1;
}

/* Each profile in turn, and all of them in one table. With JSON it is an object a line. */
static int run_profiles(plan *p, bool json)
{
    static regret_sum sums[PROFILES_MAX];
    const char *names[PROFILES_MAX];
    size_t n = 0;
    int code = 0;
    for (; n < PROFILES_MAX && (names[n] = daruma_policy_name(n)) && !stop; n++) {
        p->p = daruma_policy_find(str_of(names[n]));
        snprintf(p->how, sizeof p->how, " --profile %s", names[n]);
        p->say.policy = names[n];
        if (n && !json)
            printf("\n\n");
        code |= run_one(p, json, &sums[n]);
    }
    if (!json)
        simulate_profiles(sums, names, n);
    return code;
}

/* Whose decisions, and which targets. */
static bool set_policy(plan *p, const asked *o)
{
    const char *file = o->config[0] ? o->config : o->policy;
    p->p = daruma_policy_find(S("default"));
    p->say.policy = "default";
    if (file[0]) {
        if (!read_config(p, file) || (o->config[0] && !take_places(p, o->model)))
            return false;
        p->p = &p->config.policy;
        p->say.policy = file;
        snprintf(p->how, sizeof p->how, " %s %s%s%s", o->config[0] ? "--config" : "--policy", file,
                 o->model[0] ? " --model " : "", o->model);
        return true;
    }
    if (!o->profile[0] || str_eq(str_of(o->profile), S("all")))
        return true;
    daruma_str rest = str_of(o->profile), name = str_cut(&rest, '/');
    p->p = daruma_policy_variant(name, rest);
    p->say.policy = o->profile;
    snprintf(p->how, sizeof p->how, " --profile %s", o->profile);
    if (!p->p)
        fprintf(stderr, "daruma simulate: there is no profile `%s`; `daruma policy --help` tells of them\n",
                o->profile);
    return p->p != NULL;
}

static int run(plan *p, const asked *o)
{
    int64_t worlds = WORLDS, seed = 1;
    p->world = p->max_lost = p->max_calls = -1;
    if (!number("--worlds", o->worlds, 1, &worlds) || !number("--seed", o->seed, 0, &seed) ||
        !number("--world", o->world, 0, &p->world) || !hundredths("--max-lost", o->max_lost, &p->max_lost) ||
        !hundredths("--max-calls", o->max_calls, &p->max_calls) || !find_class(o->class, &p->only))
        return 2;
    if ((o->config[0] != 0) + (o->policy[0] != 0) + (o->profile[0] != 0) > 1)
        return cli_say(2, "simulate", "--config, --policy and --profile each say whose decisions are taken; give one");
    p->worlds = (uint64_t)worlds;
    p->seed = p->say.seed = (uint64_t)seed;
    p->say.how = p->how;
    p->host = sim_host_new(&p->a);
    p->w = ARENA_NEW(&p->a, sim_world, 1);
    if (!p->host || !p->w)
        return cli_say(1, "simulate", "no memory");
    if (!set_policy(p, o))
        return 2;
    if (p->only && p->places && !sim_class_fits(p->only, p->places))
        return cli_say(2, "simulate", "the targets of the file cannot be in a world of the class `%s`", p->only->name);
    catch_signals();
    if (p->world >= 0)
        return replay(p);
    regret_sum sum;
    return str_eq(str_of(o->profile), S("all")) ? run_profiles(p, o->json) : run_one(p, o->json, &sum);
}

static int run_agents(const asked *o)
{
    int64_t trials = TRIALS, seed = 1, trial = -1;
    const char *others[] = {o->worlds, o->config, o->policy, o->world, o->model, o->max_lost, o->max_calls};
    if (!number("--trials", o->trials, 1, &trials) || !number("--seed", o->seed, 0, &seed) ||
        !number("--trial", o->trial, 0, &trial))
        return 2;
    for (size_t i = 0; i < COUNT(others); i++)
        if (others[i][0])
            return cli_say(2, "simulate",
                           "--agents goes with --trials, --trial, --seed, --profile, --class and --json");
    simulate_agents_asked q = {(uint64_t)trials, (uint64_t)seed, trial, o->profile, o->class, o->json};
    if (o->classes)
        simulate_agents_classes();
    return o->classes ? 0 : simulate_agents(&q);
}

int cli_simulate(int argc, char **argv)
{
    static plan p;
    asked o = {"", "", "", "", "", "", "", "", "", "", "", "", false, false, false};
    const cli_option options[] = {
        CLI_VALUE("--worlds", "N", &o.worlds, "how many; default: 10000"),
        CLI_VALUE("--seed", "N", &o.seed, "of the worlds; default: 1"),
        CLI_VALUE("--config", "FILE", &o.config, "targets and policy of a configuration"),
        CLI_VALUE("--model", "NAME", &o.model, "which of its models; default: the first"),
        CLI_VALUE("--policy", "FILE", &o.policy, "only the policy of a configuration; the targets are made up"),
        CLI_VALUE("--profile", "NAME", &o.profile, "the policy of a profile; all: of each in turn. Default: default"),
        CLI_VALUE("--class", "NAME", &o.class, "only worlds of this class"),
        CLI_SWITCH("--classes", &o.classes, "lists the classes"),
        CLI_VALUE("--world", "K", &o.world, "world number K, event by event"),
        CLI_VALUE("--max-lost", "PERCENT", &o.max_lost, "exit 1 when more of what could be answered is lost"),
        CLI_VALUE("--max-calls", "RATIO", &o.max_calls, "exit 1 when more calls are made for one that is needed"),
        CLI_SWITCH("--agents", &o.agents, "whole agents against faults, under every profile"),
        CLI_VALUE("--trials", "N", &o.trials, "with --agents: how many; default: 360"),
        CLI_VALUE("--trial", "K", &o.trial, "with --agents: trial number K, step by step"),
        CLI_SWITCH("--json", &o.json, "a JSON object instead of the table"),
        {0},
    };
    int rest = cli_options(argc, argv, options, "simulate [--worlds N] [--seed N] [--config FILE]", about);
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_no_more(argc, argv, rest))
        return 2;
    if (o.agents)
        return run_agents(&o);
    if (o.trials[0] || o.trial[0])
        return cli_say(2, "simulate", "--trials and --trial go with --agents");
    if (o.classes) {
        simulate_classes();
        return 0;
    }
    if (!sys_arena_init(&p.a, 1 << 20, ROOM_BYTES))
        return cli_say(1, "simulate", "no memory");
    int code = run(&p, &o);
    sys_arena_done(&p.a);
    return code;
}
