/* agents.c - the tables of what a configuration says about agents, and what in it does not fit together. */
#include "run/agents.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/seeds/seeds.h"
#include <stdio.h>

/* ---- values ------------------------------------------------------------------------ */

static bool read_profile(conf *r, const conf_option *o, daruma_str s, void *at)
{
    char words[160];
    daruma_buf why = buf_over(words, sizeof words);
    seed_stack *stack = ARENA_NEW(r->a, seed_stack, 1);
    if (!stack)
        return conf_full(r);
    if (!seed_stack_read(s, r->a, stack, &why))
        return conf_expected(r, o, "daruma profiles shows what there is");
    *(daruma_str *)at = s;
    return true;
}

static void show_text(const void *root, const void *at, daruma_buf *out)
{
    (void)root;
    buf_put(out, *(const daruma_str *)at);
}

static void *variable_named(conf *r, void *base, void *item, daruma_str key)
{
    bool fits = key.n > 0 && !ch_digit(key.p[0]);
    (void)base;
    for (size_t i = 0; i < key.n; i++)
        fits &= ch_alpha(key.p[i]) || ch_digit(key.p[i]) || key.p[i] == '_';
    if (!fits)
        conf_wrong(r, "this is not the name of a variable\nletters, digits and '_'");
    return item;
}

/* Names of agents and servers stand before a dot, or alone where those of tools do, which have one. */
static void name_fits(conf *r, void *base, void *item, size_t index)
{
    daruma_str name = *(daruma_str *)item; /* the first field of either */
    (void)base, (void)index;
    if (str_findch(name, '.') != STR_NONE) {
        size_t mark = conf_step(r, "name");
        conf_wrong(r, "a name here has no dot: what has one is a tool\nwrite '_' or '-'");
        conf_back(r, mark);
    }
}

static bool skip(conf *r, const conf_option *o, const conf_node *n, void *at)
{
    (void)r, (void)o, (void)n, (void)at;
    return true;
}

/* ---- the tables ---------------------------------------------------------------------- */

#define AT                        CONF_AT
#define ITEMS                     CONF_ITEMS
#define NEEDED                    .flags = CONF_REQUIRED
#define VALUE(reads, shows, what) CONF_VALUE, .value = reads, .show = shows, .expects = what
#define SECOND                    1000
#define HOUR                      (INT64_C(3600) * SECOND)

// clang-format off
static const conf_option text_element = {NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 1, .max = 4096, .help = "One of them."};
static const conf_shape tools_names = {.element = &text_element, .size = sizeof(daruma_str), .max = TOOLS_MAX};
static const conf_option arg_element = {NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 0, .max = 16384, .help = "One of them."};
static const conf_shape args_shape = {.element = &arg_element, .size = sizeof(daruma_str), .max = RUN_ARGV_MAX - 1};

static const conf_option env_element = {NULL, CONF_TEXT, .flags = CONF_SECRET, AT(daruma_header, value), .min = 0, .max = 16384, .help = "The variable's value."};
static const conf_shape env_shape = {.element = &env_element, .like = "{ TOKEN: \"${TOKEN}\" }", .size = sizeof(daruma_header), .max = CONFIG_HEADERS_MAX,
    .name_at = offsetof(daruma_header, name), .named = variable_named};

static const conf_option mcp_rows[] = {
    {"name", CONF_NAME, NEEDED, AT(mcp_setup, name), .min = 1, .max = 40, .help = "Its tools are called NAME.TOOL."},
    {"command", CONF_TEXT, NEEDED, AT(mcp_setup, command), .min = 1, .max = 4096, .help = "The program; it speaks MCP over its standard input and output, and runs in the root."},
    {"args", CONF_LIST, ITEMS(mcp_setup, args), .shape = &args_shape, .says = "none", .help = "Its arguments."},
    {"env", CONF_NAMED, ITEMS(mcp_setup, env), .shape = &env_shape, .help = "Variables of its environment, beside those of daruma's that hold no credentials."},
    {"restarts", CONF_INTEGER, AT(mcp_setup, restarts), .min = 0, .max = 1000, .fallback = "3", .help = "How often it is started again in one run when it dies."},
    {"timeout", CONF_DURATION, AT(mcp_setup, within), .min = 100, .max = 24 * HOUR, .says = "`5m`", .help = "For one call; then it is cancelled, and its outcome is unknown."},
};
static const conf_shape mcp_shape = {.of = CONF_ROWS(mcp_rows), .like = "{ name: files, command: mcp-server-filesystem, args: [/data] }", .size = sizeof(mcp_setup),
    .max = MCP_SERVERS_MAX, .thing = "server", .name_at = offsetof(mcp_setup, name), .fits = name_fits};

static const conf_option rules_rows[] = {
    {"words", CONF_TEXT, AT(agent_rule, words), .min = 1, .max = 300, .says = "any failure", .help = "Stand in the failure's text, letters of either case."},
    {"kind", CONF_ENUM, AT(agent_rule, kind), .fallback = "judged", .words = "judged timeout auth validation not_found rate_limit permission network unknown",
     .help = "What it is; `judged`: as daruma judges it."},
    {"severity", CONF_ENUM, AT(agent_rule, severity), .fallback = "usual", .words = "retriable replanning reclassification critical fatal usual", /* behind the severities */
     .help = "Where it goes: `retriable`, the same once more; `replanning`, another plan, or the model; `reclassification`, other tools; `critical`, the run ends with a report; `fatal`, at once."},
    {"user_message", CONF_TEXT, AT(agent_rule, user_message), .min = 1, .max = 1000, .says = "none", .help = "What people and the model read in place of the failure's own words."},
    {"metadata", CONF_JSON, AT(agent_rule, metadata), .says = "none", .help = "Told with it: `technical_details`, `replanning_reason`, `suggestions`, ..."},
};
static const conf_shape rules_shape = {.of = CONF_ROWS(rules_rows), .like = "{ words: connection refused, kind: network, severity: retriable }", .size = sizeof(agent_rule), .max = 100};

static const conf_option tools_rows[] = {
    {"name", CONF_TEXT, NEEDED, AT(run_tool, name), .min = 1, .max = 128, .help = "Of a tool or an agent, or the beginning of several: `fs.write`, `github.*`. The first entry that fits a tool holds."},
    {"ask", CONF_BOOL, AT(run_tool, ask), .fallback = "usual", .word = "usual", .word_is = RUN_ASK_USUAL, .help = "Whether a person is asked before a call; `usual`: before what has effects."},
    {"timeout", CONF_DURATION, AT(run_tool, within), .min = 100, .max = 24 * HOUR, .says = "the tool's", .help = "For one call."},
    {"max_attempts", CONF_INTEGER, AT(run_tool, retry.attempts), .min = 1, .max = 100, .says = "the profile's", .help = "Calls in all, the first included, of what failed and may be repeated."},
    {"delay_seconds", CONF_FRACTION, AT(run_tool, retry.delay), .min = 0, .max = HOUR, .fallback = "usual", .word = "usual", .word_is = -1,
     .help = "Before the first repetition; `usual`: the profile's, 1.0 with `max_attempts`."},
    {"backoff_factor", CONF_FRACTION, AT(run_tool, retry.factor_milli), .min = 1000, .max = 100000, .says = "the profile's, 1.5 with `max_attempts`", .help = "How the delay grows."},
    {"rules", CONF_LIST, ITEMS(run_tool, rules), .shape = &rules_shape, .says = "none", .help = "What you know of its failures: the first that fits decides."},
};
static const conf_shape tools_shape = {.of = CONF_ROWS(tools_rows), .like = "{ name: shell.run, ask: false }", .size = sizeof(run_tool), .max = TOOLS_MAX,
    .thing = "tool", .name_at = offsetof(run_tool, name)};

static const conf_option limits_rows[] = {
    {"steps", CONF_INTEGER, AT(agents_agent, limits.steps), .min = 1, .max = AGENT_STEPS_MAX, .fallback = "50", .help = "Answers of its model that do something, those of agents that work for it included."},
    {"calls", CONF_INTEGER, AT(agents_agent, limits.calls), .min = 1, .max = 1000000, .says = "none", .help = "Calls of models, those on the side and those that were repeated included."},
    {"tools", CONF_INTEGER, AT(agents_agent, limits.tools), .min = 1, .max = 1000000, .says = "none", .help = "Calls of tools, repetitions included."},
    {"tokens", CONF_INTEGER, AT(agents_agent, limits.tokens), .min = 1, .max = INT64_C(1) << 50, .says = "none", .help = "Input and output. The call that reaches them is the last."},
    {"time", CONF_DURATION, AT(agents_agent, limits.time), .min = SECOND, .max = 1000 * HOUR, .fallback = "30m", .help = "In all."},
    {"money", CONF_FRACTION, AT(agents_agent, limits.money), .min = 1, .max = INT64_C(1) << 40, .says = "none", .help = "In the currency of the prices. Every token counts at the dearest place of `model`: at most so much is spent, unless `second` is dearer. The call that reaches it is the last."},
    {"price_input", CONF_FRACTION, AT(agents_agent, limits.price_input), .min = 0, .max = INT64_C(1) << 40, .fallback = "usual", .word = "usual", .word_is = -1, .help = "For a million tokens that its model reads; 0: they are free; `usual`: as `prices` say."},
    {"price_output", CONF_FRACTION, AT(agents_agent, limits.price_output), .min = 0, .max = INT64_C(1) << 40, .fallback = "usual", .word = "usual", .word_is = -1, .help = "For a million tokens that it writes; 0: they are free; `usual`: as `prices` say."},
};
static const conf_shape limits_shape = {.of = CONF_ROWS(limits_rows)};

static const conf_option retry_rows[] = {
    {"max_attempts", CONF_INTEGER, AT(agents_agent, retry.attempts), .min = 1, .max = 100, .says = "the profile's, 1 of `default`", .help = "Questions in all, the first included, each recovered as `recovery` says."},
    {"delay_seconds", CONF_FRACTION, AT(agents_agent, retry.delay), .min = 0, .max = HOUR, .fallback = "usual", .word = "usual", .word_is = -1,
     .help = "Before the second; `usual`: the profile's, 1.0 where it never waits."},
    {"backoff_factor", CONF_FRACTION, AT(agents_agent, retry.factor_milli), .min = 1000, .max = 100000, .says = "the profile's, 2.0 where it never waits", .help = "How the delay grows."},
};
static const conf_shape retry_shape = {.of = CONF_ROWS(retry_rows)};

static const conf_option agents_rows[] = {
    {"name", CONF_NAME, NEEDED, AT(agents_agent, name), .min = 1, .max = 60, .help = "How `--agent`, events and other agents call it. The first agent gets the task unless `--agent` says which."},
    {"description", CONF_TEXT, .flags = CONF_LINES, AT(agents_agent, says), .min = 1, .max = 4000, .says = "none", .help = "What it is good for, told to agents that may call it."},
    {"model", CONF_TEXT, NEEDED, AT(agents_agent, model), .min = 1, .max = 300, .help = "The model that works: one of `models`, or `provider/model`."},
    {"second", CONF_TEXT, AT(agents_agent, second), .min = 1, .max = 300, .says = "none", .help = "The model that explains when the first one failed, written alike."},
    {"provider", CONF_NAME, AT(agents_agent, provider), .min = 1, .max = 64, .says = "none", .help = "Whose `model` and `second` are; they are then written as the provider calls them."},
    {"instructions", CONF_TEXT, .flags = CONF_LINES, AT(agents_agent, instructions), .min = 1, .max = 65536, .says = "to use its tools and invent nothing", .help = "Its system prompt."},
    {"tools", CONF_LIST, ITEMS(agents_agent, tools), .said = offsetof(agents_agent, tools_said), .shape = &tools_names, .says = "all but shell.run, and no agents",
     .help = "What it may call: `fs.read`, `fs.*`, `files.read_file`, `shell.run`, and the names of agents that work for it."},
    {"mcp", CONF_LIST, ITEMS(agents_agent, mcp), .said = offsetof(agents_agent, mcp_said), .shape = &tools_names, .says = "all, where `tools` says nothing", .help = "Servers whose tools it may call, all of them."},
    {"mode", CONF_ENUM, AT(agents_agent, mode), .fallback = "usual", .words = "usual reactive planned",
     .help = "`planned`: tools are chosen and a plan is made first, and its steps are carried out one by one; `usual`: as its profile works, `osprey` so and all others `reactive`."},
    {"profile", VALUE(read_profile, show_text, "a profile of an agent, like default, osprey:doc or compact"), AT(agents_agent, profile), .flags = CONF_OR_LIST, .min = 1, .max = 64, .says = "`default`, with `recovery` for its calls",
     .help = "What is done about its failures and those of its calls."},
    {"limits", CONF_GROUP, .shape = &limits_shape, .help = "What it may use. Who works for another shares what is left of that one's."},
    {"retry", CONF_GROUP, .shape = &retry_shape, .help = "How often its model is asked again when a recovered call failed all the same; where the profile leaves that to the calls (`swarm`), how often these are made."},
};
static const conf_shape agents_shape = {.of = CONF_ROWS(agents_rows), .like = "{ name: main, model: best }", .size = sizeof(agents_agent), .max = AGENTS_MAX,
    .thing = "agent", .name_at = offsetof(agents_agent, name), .fits = name_fits};

static const conf_option root_rows[] = {
    {"mcp", CONF_LIST, ITEMS(agents, mcp), .shape = &mcp_shape, .says = "none", .help = "Servers of tools for `daruma run`: doc/run.md."},
    {"tools", CONF_LIST, ITEMS(agents, tools), .shape = &tools_shape, .says = "none", .help = "What holds for single tools of `daruma run`."},
    {"agents", CONF_LIST, ITEMS(agents, list), .shape = &agents_shape, .says = "none", .help = "Who works in `daruma run`."},
};
static const conf_option further = {NULL, CONF_NODE, .node = skip};
static const conf_shape root_shape = {.of = CONF_ROWS(root_rows), .like = "`agents:`", .further = &further};
// clang-format on

/* ---- what does not fit together ---------------------------------------------------------- */

static const char *const builtin[] = {"fs.list", "fs.read",  "fs.search", "fs.write",
                                      "fs.edit", "http.get", "shell.run"};

static bool is_pattern(daruma_str name)
{
    return name.p[name.n - 1] == '*';
}

/* The next server that is known, of the file or of the command line; false behind the last. */
static bool next_server(const agents *g, const agents_world *w, size_t *i, daruma_str *ret)
{
    size_t at = (*i)++;
    daruma_str rest = {0};
    if (at >= g->nmcp && w->servers && w->servers[at - g->nmcp])
        rest = str_of(w->servers[at - g->nmcp]);
    *ret = at < g->nmcp ? g->mcp[at].name : str_trim(str_cut(&rest, '='));
    return at < g->nmcp || ret->n;
}

static bool has_server(const agents *g, const agents_world *w, daruma_str name)
{
    daruma_str server;
    for (size_t i = 0; next_server(g, w, &i, &server);)
        if (str_eq(server, name))
            return true;
    return false;
}

/* True if a tool or an agent has that name, or begins so where it ends with `*`: then the agent `self` is none of them,
 * whose pattern it is. Which tools a server has is not known before it is up. */
static bool is_there(const agents *g, const agents_world *w, daruma_str name, const agents_agent *self)
{
    daruma_str rest = name, first = str_cut(&rest, '.'), server;
    bool many = is_pattern(name), dotted = first.n < name.n;
    for (size_t i = 0; i < COUNT(builtin); i++)
        if (run_name_fits(name, str_of(builtin[i])))
            return true;
    for (size_t i = 0; i < g->nlist; i++)
        if (run_name_fits(name, g->list[i].name) && !(many && &g->list[i] == self))
            return true;
    for (size_t i = 0; next_server(g, w, &i, &server);)
        if (dotted ? rest.n && str_eq(server, first) : many && run_name_fits(name, server))
            return true;
    return false;
}

/* True if a server that is not known may have it: one of another command line. */
static bool may_be_elsewhere(daruma_str name)
{
    daruma_str rest = name, first = str_cut(&rest, '.');
    for (size_t i = 0; i < COUNT(builtin) && first.n < name.n; i++)
        if (str_starts(str_of(builtin[i]), str_sub(name, 0, first.n + 1)))
            return false;
    return first.n < name.n ? first.n && rest.n : is_pattern(name);
}

/* What is wrong is so at LIST[i].KEY, or at LIST[i].KEY[k]. */
static void go_to(conf *r, const char *list, size_t i, const char *key, size_t k)
{
    char path[60], last[24] = "";
    if (k != STR_NONE)
        snprintf(last, sizeof last, "[%zu]", k);
    snprintf(path, sizeof path, "%s[%zu].%s%s", list, i, key, last);
    conf_go(r, path);
}

/* A name that nothing has: what is there instead, for the agent `self`, or all of them. */
static void say_unknown(conf *r, const agents *g, daruma_str name, bool server, const agents_agent *self)
{
    conf_near near = conf_near_to(conf_word(r, name));
    daruma_str known;
    for (size_t n = 0; n < COUNT(builtin) && !server; n++)
        conf_near_try(&near, str_of(builtin[n]));
    for (size_t n = 0; n < g->nlist && !server; n++)
        if (&g->list[n] != self)
            conf_near_try(&near, g->list[n].name);
    for (size_t n = 0; server && next_server(g, r->user, &n, &known);)
        conf_near_try(&near, known);
    conf_unknown(r, server ? "server" : "tool or agent", &near);
}

static void check_names(conf *r, const agents *g, size_t i)
{
    const agents_world *w = r->user;
    const agents_agent *x = &g->list[i];
    for (size_t k = 0; k < x->ntools; k++)
        if (!is_there(g, w, x->tools[k], x) && (w->servers || !may_be_elsewhere(x->tools[k]))) {
            go_to(r, "agents", i, "tools", k);
            say_unknown(r, g, x->tools[k], false, x);
        }
    for (size_t k = 0; k < x->nmcp; k++)
        if (!has_server(g, w, x->mcp[k])) {
            go_to(r, "agents", i, "mcp", k);
            say_unknown(r, g, x->mcp[k], true, x);
        }
}

/* What is said about a tool has to be about one: where its name is misspelt nobody would be asked. A server that this
 * run does not have may be one of another run. */
static void check_tool(conf *r, const agents *g, size_t i)
{
    daruma_str name = g->tools[i].name;
    if (is_there(g, r->user, name, NULL) || may_be_elsewhere(name))
        return;
    go_to(r, "tools", i, "name", STR_NONE);
    say_unknown(r, g, name, false, NULL);
}

static void check_model(conf *r, const agents *g, size_t i)
{
    const agents_world *w = r->user;
    const agents_agent *x = &g->list[i];
    const struct {
        const char *key;
        daruma_str model;
    } rows[] = {{"model", x->model}, {"second", x->second}};
    for (size_t k = 0; k < COUNT(rows) && w->has_model; k++) {
        conf_near near = conf_near_to(conf_word(r, x->provider.n ? x->provider : rows[k].model));
        if (!rows[k].model.n || w->has_model(w->user, x->provider, rows[k].model, &near))
            continue;
        go_to(r, "agents", i, x->provider.n ? "provider" : rows[k].key, STR_NONE);
        conf_unknown(r, x->provider.n ? "provider" : "model", &near);
        if (x->provider.n)
            return;
    }
}

/* A limit of money that no price ever brings nearer would hold nothing up. */
static void check_money(conf *r, const agents *g, size_t i)
{
    const agents_world *w = r->user;
    const agents_agent *x = &g->list[i];
    if (!x->limits.money || (x->limits.price_input >= 0 && x->limits.price_output >= 0) || !w->has_price ||
        w->has_price(w->user, x->provider, x->model))
        return;
    go_to(r, "agents", i, "limits.money", STR_NONE);
    conf_wrong(r,
               "nothing says what tokens of " STR_FMT " cost: money would never run out\ngive it a row in `prices`, or "
               "both `price_input` and `price_output` beside `money`",
               STR_ARG(conf_word(r, x->model)));
}

/* An agent that works for itself, through others or not, would never end. Tells the call that closes the circle. */
static void check_circle(conf *r, const agents *g, size_t i, bool *on_way, bool *done)
{
    const agents_agent *x = &g->list[i];
    on_way[i] = true;
    for (size_t n = 0; n < x->ntools * g->nlist; n++) {
        size_t k = n / g->nlist, to = n % g->nlist;
        if (!run_name_fits(x->tools[k], g->list[to].name) || (to == i && is_pattern(x->tools[k])) || done[to])
            continue; /* of those that a pattern names no agent gets itself */
        if (!on_way[to]) {
            check_circle(r, g, to, on_way, done); /* at most AGENTS_MAX deep */
            continue;
        }
        go_to(r, "agents", i, "tools", k);
        conf_wrong(r,
                   "circular delegation: `" STR_FMT "` works for `" STR_FMT
                   "` already\nlet only one of them call the other",
                   STR_ARG(x->name), STR_ARG(g->list[to].name));
    }
    on_way[i] = false;
    done[i] = true;
}

/* The words of rules as they are looked for. */
static void lower_words(conf *r, const run_tool *t)
{
    for (size_t i = 0; i < t->nrules; i++) {
        daruma_str words = arena_copy(r->a, t->rules[i].words);
        for (size_t n = 0; n < words.n; n++)
            ((char *)(uintptr_t)words.p)[n] = ch_lower(words.p[n]);
        t->rules[i].words = words;
    }
}

static void settle(conf *r, void *root)
{
    agents *g = root;
    bool on_way[AGENTS_MAX] = {0}, done[AGENTS_MAX] = {0};
    for (size_t i = 0; i < g->ntools; i++) {
        lower_words(r, &g->tools[i]);
        check_tool(r, g, i);
    }
    for (size_t i = 0; i < g->nlist; i++) {
        check_names(r, g, i);
        check_model(r, g, i);
        check_money(r, g, i);
        if (!done[i])
            check_circle(r, g, i, on_way, done);
    }
}

/* ---- reading and printing -------------------------------------------------------------------- */

/* The host's environment is asked with the host as user; here the user is the world. */
static daruma_str variable(daruma_str name, bool *found, void *user)
{
    const agents_world *w = user;
    *found = false;
    return w->env ? w->env(name, found, NULL) : (daruma_str){0};
}

bool agents_read(daruma_str text, const agents_world *w, daruma_arena *a, agents *ret, conf_mistakes *m)
{
    conf_shape root = root_shape;
    root.names = w->others;
    const conf_host host = {.root = &root,
                            .what = "configuration",
                            .file = w->file,
                            .bytes_max = CONFIG_BYTES_MAX,
                            .env = variable,
                            .user = (void *)(uintptr_t)w,
                            .redact = daruma_redact,
                            .settle = settle};
    *ret = (agents){0};
    return conf_read(text, &host, ret, a, m);
}

void agents_json(const agents *g, daruma_buf *out)
{
    conf_print_values(&root_shape, g, out);
}

void agents_options_print(daruma_buf *out)
{
    conf_print_options(&root_shape, out);
}
