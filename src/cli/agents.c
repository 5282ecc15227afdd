#include "cli/agents.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "engine/seeds/seeds.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const dialect *d;
    const char *base, *key;
} wires[] = {
    {&dialect_openai, "OPENAI_BASE_URL", "OPENAI_API_KEY"},
    {&dialect_openai_responses, "OPENAI_BASE_URL", "OPENAI_API_KEY"},
    {&dialect_anthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
    {&dialect_gemini, "GEMINI_BASE_URL", "GEMINI_API_KEY"},
};

static size_t wire_of(const dialect *d)
{
    size_t i = 0;
    while (wires[i].d != d)
        i++;
    return i;
}

/* ---- the command line ---- */

/* "name=command args": words are separated by spaces; those with spaces stand between quotes. */
static bool read_server(const char *text, daruma_arena *a, mcp_setup *ret)
{
    daruma_str rest = str_of(text), name = str_trim(str_cut(&rest, '='));
    daruma_str *words = ARENA_NEW(a, daruma_str, RUN_ARGV_MAX);
    size_t n = 0;
    bool bad = !name.n || !words;
    for (size_t i = 0; i < name.n; i++)
        bad |= !(ch_alpha(name.p[i]) || ch_digit(name.p[i]) || name.p[i] == '_' || name.p[i] == '-');
    while (!bad && (rest = str_trim(rest)).n && n < RUN_ARGV_MAX) {
        char quote = rest.p[0] == '"' || rest.p[0] == '\'' ? rest.p[0] : 0;
        rest = str_from(rest, quote != 0);
        size_t end = 0;
        while (end < rest.n && (quote ? rest.p[end] != quote : !ch_space(rest.p[end])))
            end++;
        bad |= quote && end == rest.n;
        words[n++] = arena_copy(a, str_sub(rest, 0, end));
        rest = str_from(rest, end + 1);
    }
    if (!bad && n && !rest.n) {
        *ret =
            (mcp_setup){.name = name, .command = words[0], .args = words + 1, .nargs = n - 1, .restarts = MCP_RESTARTS};
        return true;
    }
    return cli_say(false, "run",
                   "--mcp wants NAME=COMMAND ARGUMENTS, like --mcp \"files=mcp-server-filesystem /data\", not `%s`",
                   text);
}

/* NAME[:VARIANT][,NAME...]; what is found lives in `a`. With it comes its way to work, unless `mode` is said (an
 * agents_mode), and what `recovery` sets otherwise than its own profile has it; NULL: there is none. Without a name:
 * `default` with those settings, whose calls stay as they are. False: that was told. */
static bool profile(const char *name, uint32_t mode, const daruma_policy *said, daruma_arena *a, run_agent *g)
{
    char words[160];
    daruma_buf why = buf_over(words, sizeof words);
    seed_stack *stack = ARENA_NEW(a, seed_stack, 1);
    if (stack && seed_stack_read(name ? str_of(name) : S("default"), a, stack, &why)) {
        const daruma_policy *usual =
            said ? daruma_policy_variant(str_of(said->profile), str_of(said->variant ? said->variant : "")) : NULL;
        if (usual)
            seed_stack_set(stack, said, usual);
        g->policy = &stack->agent;
        if (!name)
            return true;
        g->mode = mode == AGENTS_MODE_USUAL ? stack->agent.mode : g->mode;
        g->judge = stack->judge;
        g->recovery = &stack->calls;
        return true;
    }
    return cli_say(false, "run", STR_FMT "; `daruma profiles` shows what there is", STR_ARG(buf_str(&why)));
}

/* A model at the one place that the command line knows. */
static run_model at_place(const run_target *place, const char *model, daruma_arena *a)
{
    run_target *t = model && *model ? ARENA_NEW(a, run_target, 1) : NULL;
    if (!t)
        return (run_model){0};
    *t = *place;
    t->name = S("main");
    t->model = str_of(model);
    return (run_model){t, 1};
}

static bool one_agent(const agents_asked *q, daruma_arena *a, run_agent *g, const char **ret_base)
{
    run_target place = {.d = cli_dialect("run", "--dialect", q->wire)};
    if (!place.d)
        return false;
    size_t wire = wire_of(place.d);
    place.base = arena_copy(a, q->base ? str_of(q->base) : sys_env(wires[wire].base));
    place.key = arena_copy(a, sys_env(wires[wire].key));
    *ret_base = place.base.p;
    if (!q->model || !place.base.n)
        return cli_say(false, "run", "%s",
                       q->model ? "where is the model? --base-url URL, or a variable like OPENAI_BASE_URL"
                                : "which model? --model NAME, or --config FILE");
    if (!place.key.n)
        fprintf(stderr, "daruma run: %s is not set: calls go out without a key\n", wires[wire].key);
    *g =
        (run_agent){.name = S("run"), .model = at_place(&place, q->model, a), .second = at_place(&place, q->second, a)};
    g->limits = (agent_limits){.steps = RUN_STEPS, .time = RUN_MS};
    return g->model.n;
}

/* What it says of limits, mode and profile holds for the agent that begins. `mode`: what a file says of that. */
static bool lay_over(const agents_asked *q, uint32_t mode, const daruma_policy *said, daruma_arena *a, run_agent *g)
{
    if (q->steps)
        g->limits.steps = (uint32_t)(q->steps < UINT32_MAX ? q->steps : UINT32_MAX);
    if (q->tokens)
        g->limits.tokens = q->tokens;
    if (q->seconds)
        g->limits.time = mul_sat(q->seconds, 1000);
    if (q->profile && !profile(q->profile, mode, said, a, g))
        return false;
    if (q->plan || q->no_plan)
        g->mode = q->plan ? AGENT_PLANNED : AGENT_REACTIVE;
    return true;
}

/* ---- a configuration ---- */

static int provider_of(const config *c, daruma_str name)
{
    for (size_t i = 0; i < c->nproviders; i++)
        if (str_eq(c->providers[i].name, name))
            return (int)i;
    return -1;
}

static const config_model *model_of(const config *c, daruma_str name)
{
    for (size_t i = 0; i < c->nmodels; i++)
        if (str_eq(c->models[i].name, name))
            return &c->models[i];
    return NULL;
}

typedef struct known_models {
    const config *c;
    daruma_arena *a; /* of what is named instead */
} known_models;

static bool has_model(const void *user, daruma_str provider, daruma_str model, conf_near *near)
{
    const known_models *known = user;
    const config *c = known->c;
    daruma_str rest = model, before = str_cut(&rest, '/');
    if (provider.n ? provider_of(c, provider) >= 0 : model_of(c, model) || (rest.n && provider_of(c, before) >= 0))
        return true;
    for (size_t i = 0; provider.n && i < c->nproviders; i++)
        conf_near_try(near, c->providers[i].name);
    for (size_t i = 0; !provider.n && i < c->nmodels; i++)
        conf_near_try(near, c->models[i].name);
    for (size_t i = 0; !provider.n && i < c->nproviders; i++) {
        conf_near_try(near, STR_SAY(known->a, c->providers[i].name, "/", rest.n ? rest : S("MODEL")));
    }
    return false;
}

/* What tokens of one target cost, where that is more than is known so far. False: no row of `prices` is about it. */
static bool price_of(const config *c, daruma_str provider, daruma_str model, agent_limits *most)
{
    const daruma_target t = {.provider = provider, .model = model};
    enum { MILLION = 1000000 }; /* tokens; billionths of money become millionths */
    int64_t in = config_cost(c, &t, MILLION, 0), out = config_cost(c, &t, 0, MILLION);
    if (in < 0 || out < 0)
        return false;
    in /= 1000;
    out /= 1000;
    most->price_input = in > most->price_input ? in : most->price_input;
    most->price_output = out > most->price_output ? out : most->price_output;
    return true;
}

/* What tokens of a model cost at the dearest of its places, as `prices` say. False: they say nothing. */
static bool dearest(const config *c, daruma_str provider, daruma_str model, agent_limits *most)
{
    const config_model *m = provider.n ? NULL : model_of(c, model);
    bool known = false;
    if (!m) {
        daruma_str before = provider.n ? provider : str_cut(&model, '/');
        return price_of(c, before, model, most);
    }
    for (size_t i = 0; i < m->ntargets; i++)
        known |= price_of(c, c->providers[m->targets[i].provider].name, m->targets[i].model, most);
    return known;
}

static bool has_price(const void *user, daruma_str provider, daruma_str model)
{
    const known_models *known = user;
    agent_limits most = {0};
    return dearest(known->c, provider, model, &most);
}

bool agents_of_config(daruma_str text, const char *file, const config *c, const char *const *servers, daruma_arena *a,
                      agents *ret, conf_mistakes *m)
{
    const known_models known = {c, a};
    const agents_world w = {.others = config_key_name,
                            .has_model = c ? has_model : NULL,
                            .has_price = c ? has_price : NULL,
                            .user = &known,
                            .servers = servers,
                            .env = config_env,
                            .file = file};
    return agents_read(text, &w, a, ret, m);
}

/* ---- keys ---- */

/* The key itself, or what its command prints. False: that was told. */
static bool key_of(const config_provider *p, const config_key *k, daruma_arena *a, daruma_str *ret)
{
    char why[CLI_KEY_WHY_BYTES];
    *ret = k->value;
    if (!k->command.n || cli_key_printed(k->command.p, a, ret, why))
        return true;
    return cli_say(false, "run", "provider " STR_FMT ": the command of " STR_FMT ": %s", STR_ARG(p->name),
                   STR_ARG(k->name), why);
}

/* ---- models ---- */

static daruma_str base_of(const config_provider *p, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    url_say(&p->to, &b);
    return b.full ? (daruma_str){0} : buf_str(&b);
}

/* The targets of a provider's model: one for each key; without one the environment's is taken, as on the command line.
 */
static bool add_targets(const config_provider *p, const config_target *from, daruma_arena *a, run_target *list,
                        size_t *n)
{
    size_t keys = p->nkeys ? p->nkeys : 1;
    if (p->cloud)
        return cli_say(false, "run",
                       "provider " STR_FMT " is at a cloud (%s), which only `daruma serve` speaks to: run `daruma "
                       "serve`, and give its address as --base-url",
                       STR_ARG(p->name), config_cloud_name(p));
    for (size_t i = 0; i < keys && *n < DARUMA_CASE_TRIED; i++) {
        run_target *t = &list[(*n)++];
        daruma_buf name = buf_in(a);
        BUF_SAY(&name, p->name, "/", from->model);
        if (p->nkeys > 1)
            BUF_SAY(&name, "/", p->keys[i].name);
        *t = (run_target){.name = buf_str(&name),
                          .model = from->model,
                          .d = p->dialect,
                          .base = base_of(p, a),
                          .account = p->nkeys ? p->keys[i].account : (daruma_str){0},
                          .headers = p->headers,
                          .nheaders = p->nheaders,
                          .window = from->window,
                          .max_output = from->max_output};
        if (p->nkeys && !key_of(p, &p->keys[i], a, &t->key))
            return false;
        if (!p->nkeys && !config_has_key(p))
            t->key = arena_copy(a, sys_env(wires[wire_of(p->dialect)].key));
    }
    return true;
}

/* `name`: a model of the file, provider/model, or a model of `provider`. It is known to be there. */
static bool find_model(const config *c, daruma_str provider, daruma_str name, daruma_arena *a, run_model *ret)
{
    run_target *list = name.n ? ARENA_NEW(a, run_target, DARUMA_CASE_TRIED) : NULL;
    const config_model *m = provider.n ? NULL : model_of(c, name);
    size_t n = 0;
    bool well = list != NULL;
    if (!name.n)
        return true;
    if (!m) {
        daruma_str before = provider;
        if (!before.n)
            before = str_cut(&name, '/');
        config_target t = {.model = name, .window = -1, .max_output = -1};
        well = well && add_targets(&c->providers[provider_of(c, before)], &t, a, list, &n);
    }
    for (size_t i = 0; m && well && i < m->ntargets; i++) {
        config_target t = m->targets[i];
        t.window = t.window > 0 ? t.window : m->window;
        t.max_output = t.max_output > 0 ? t.max_output : m->max_output;
        well = add_targets(&c->providers[t.provider], &t, a, list, &n);
    }
    *ret = (run_model){list, n};
    return well;
}

/* What `recovery` says of calls. A profile of a seed without agents says nothing of failing tools: those are the
 * agent's, and it is `default`. NULL without memory. */
static const daruma_policy *policy_of_calls(const config *c, daruma_arena *a)
{
    if (c->policy.watch.shown_max)
        return &c->policy;
    daruma_policy *own = ARENA_NEW(a, daruma_policy, 1);
    if (!own)
        return NULL;
    *own = c->policy;
    own->watch = daruma_policy_find(S("default"))->watch;
    return own;
}

static bool make_agent(const config *c, const agents_agent *x, daruma_arena *a, run_agent *g)
{
    *g = (run_agent){.name = x->name,
                     .says = x->says,
                     .instructions = x->instructions,
                     .tools = {x->tools, x->ntools, x->tools_said},
                     .mcp = {x->mcp, x->nmcp, x->mcp_said},
                     .mode = x->mode == AGENTS_MODE_PLANNED ? AGENT_PLANNED : AGENT_REACTIVE,
                     .recovery = policy_of_calls(c, a),
                     .retry = x->retry,
                     .limits = x->limits};
    if (!g->retry.attempts && !g->retry.delay && !g->retry.factor_milli)
        g->retry.factor_milli = 1000;                                 /* nothing grows of no delay */
    g->limits.money = mul_sat(x->limits.money, 1000);                 /* to millionths */
    int64_t in = x->limits.price_input, out = x->limits.price_output; /* 0: free; below: not said */
    agent_limits most = {0};
    g->limits.priced = dearest(c, x->provider, x->model, &most) || (in >= 0 && out >= 0);
    g->limits.price_input = in >= 0 ? mul_sat(in, 1000) : most.price_input;
    g->limits.price_output = out >= 0 ? mul_sat(out, 1000) : most.price_output;
    return g->recovery && find_model(c, x->provider, x->model, a, &g->model) &&
           find_model(c, x->provider, x->second, a, &g->second) &&
           profile(x->profile.n ? x->profile.p : NULL, x->mode, &c->policy, a, g);
}

/* ---- all of it ---- */

static bool read_config(const agents_asked *q, daruma_arena *a, config *c, agents *g)
{
    static conf_mistakes m;
    daruma_str text;
    char why[256];
    if (!sys_read_file(q->config, CONFIG_BYTES_MAX, a, &text, why))
        return cli_say(false, "run", "%s", why);
    m.file = q->config;
    if (config_read(text, config_env, NULL, a, c, &m) && agents_of_config(text, q->config, c, q->servers, a, g, &m))
        return true;
    daruma_buf b = buf_in(a);
    m.file = q->config;
    conf_mistakes_say(&m, &b);
    cli_put_page(stderr, buf_str(&b));
    return false;
}

static bool from_config(const agents_asked *q, daruma_arena *a, run_settings *s)
{
    static config c;
    static agents g;
    if (!read_config(q, a, &c, &g))
        return false;
    if (!g.nlist)
        return cli_say(false, "run", "%s has no agents: give it some below `agents`, as doc/run.md shows", q->config);
    if (q->model || q->base || (q->second && *q->second))
        return cli_say(false, "run",
                       "with --config the models are those of the file: leave --model, --second and --base-url out");
    size_t first = 0;
    while (q->agent && first < g.nlist && !str_eq(g.list[first].name, str_of(q->agent)))
        first++;
    if (first == g.nlist)
        return cli_say(false, "run", "%s has no agent `%s`", q->config, q->agent);
    run_agent *list = ARENA_NEW(a, run_agent, g.nlist);
    for (size_t i = 0, at = 1; list && i < g.nlist; i++)
        if (!make_agent(&c, &g.list[i], a, &list[i == first ? 0 : at++]))
            return false;
    for (size_t i = 0; list && i < g.nlist; i++)
        for (size_t k = 0; k < list[i].tools.n; k++)
            s->shell |= str_starts(list[i].tools.list[k], S("shell."));
    s->agents = list;
    s->nagents = list ? g.nlist : 0;
    s->tools = g.tools;
    s->ntools = g.ntools;
    mcp_setup *servers = ARENA_NEW(a, mcp_setup, g.nmcp + CLI_AGAIN_MAX);
    for (size_t i = 0; servers && i < g.nmcp; i++)
        servers[i] = g.mcp[i];
    s->mcp = servers;
    s->nmcp = servers ? g.nmcp : 0;
    return list && lay_over(q, g.list[first].mode, &c.policy, a, &list[0]);
}

bool agents_ready(const agents_asked *q, daruma_arena *a, run_settings *s, const char **ret_base)
{
    run_agent probe;
    *ret_base = NULL;
    if (q->profile && !profile(q->profile, AGENTS_MODE_USUAL, NULL, a, &probe))
        return false;
    if (q->plan && q->no_plan)
        return cli_say(false, "run", "--plan or --no-plan, not both");
    if (q->config) {
        if (!from_config(q, a, s))
            return false;
    } else {
        run_agent *one = ARENA_NEW(a, run_agent, 1);
        if (q->agent)
            fprintf(stderr, "daruma run: --agent names one of a --config\n");
        if (q->agent || !one || !one_agent(q, a, one, ret_base) || !lay_over(q, AGENTS_MODE_USUAL, NULL, a, one))
            return false;
        s->agents = one;
        s->nagents = 1;
        s->mcp = ARENA_NEW(a, mcp_setup, CLI_AGAIN_MAX);
    }
    mcp_setup *servers = (mcp_setup *)(uintptr_t)s->mcp;
    for (size_t i = 0; servers && q->servers[i]; i++)
        if (!read_server(q->servers[i], a, &servers[s->nmcp++]))
            return false;
    if (a->full || !servers)
        fprintf(stderr, "daruma run: there is no memory for it\n");
    return !a->full && servers;
}
