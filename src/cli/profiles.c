/* profiles.c - `daruma profiles`: what each of them does, side by side, out of the same tables that decide. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "engine/seeds/seeds.h"
#include "sys/sys.h"
#include <string.h>

enum { COLUMNS_MAX = 24 };

/* A profile, or one variant of it. */
typedef struct column {
    char name[40];
    const daruma_policy *calls;
    const agent_policy *agent; /* NULL: none of its own */
} column;

/* "swarm" or "swarm:code". False: there is none of that name, which was told. */
static bool add_column(column *to, const char *full)
{
    daruma_str variant = str_of(full), name = str_cut(&variant, ':');
    snprintf(to->name, sizeof to->name, STR_FMT "%s" STR_FMT, STR_ARG(name), variant.n ? ":" : "", STR_ARG(variant));
    to->calls = daruma_policy_variant(name, variant);
    to->agent = seed_agent(name, variant);
    return to->calls || cli_no_profile("profiles", name, variant);
}

const char *cli_profile(size_t i, char room[CLI_PROFILE_BYTES])
{
    const char *z;
    for (size_t p = 0; (z = daruma_policy_name(p)); p++) {
        daruma_str name = str_of(z);
        bool splits = daruma_policy_variant(name, S("doc")) != daruma_policy_variant(name, S("code")) ||
                      seed_agent(name, S("doc")) != seed_agent(name, S("code"));
        if (i <= splits) {
            snprintf(room, CLI_PROFILE_BYTES, "%s%s", z, !splits ? "" : i ? ":code" : ":doc");
            return room;
        }
        i -= 1 + splits;
    }
    return NULL;
}

/* Those that are named, or all there are. 0: that cannot be shown, which was told. */
static size_t columns_of(column *c, int argc, char **argv)
{
    size_t n = 0;
    char room[CLI_PROFILE_BYTES];
    const char *name;
    if (argc > COLUMNS_MAX)
        return cli_say(0, "profiles", "at most %d side by side, not %d; without names all are shown", COLUMNS_MAX,
                       argc);
    for (; (int)n < argc; n++)
        if (!add_column(&c[n], argv[n]))
            return 0;
    for (size_t i = 0; !argc && n < COLUMNS_MAX && (name = cli_profile(i, room)); i++)
        add_column(&c[n++], name);
    return n;
}

static void put_head(const char *first, const column *c, size_t n, daruma_buf *out)
{
    buf_printf(out, "| %s |", first);
    for (size_t i = 0; i < n; i++)
        buf_printf(out, " %s |", c[i].name);
    BUF_LIT(out, "\n|---|");
    for (size_t i = 0; i < n; i++)
        BUF_LIT(out, "---|");
    BUF_LIT(out, "\n");
}

/* "500ms", "1.5s" */
static void put_ms(daruma_ms ms, daruma_buf *out)
{
    if (ms % 1000)
        buf_printf(out, "%lldms", (long long)ms);
    else
        buf_printf(out, "%llds", (long long)ms / 1000);
}

/* ---- calls of models ---- */

/* The remedies of a kind, in their order, each once; how often and after how long it is tried again. */
static void put_ladder(const daruma_policy *p, daruma_kind k, daruma_buf *out)
{
    uint32_t seen = 0, calls = p->kinds[k].max_attempts ? p->kinds[k].max_attempts : p->max_attempts;
    const char *between = "";
    for (size_t i = 0; i < p->nrungs; i++) {
        const daruma_rung *r = &p->rungs[i];
        if (r->kind != k || (seen & 1u << r->remedy))
            continue;
        seen |= 1u << r->remedy;
        buf_printf(out, "%s%s", between, daruma_remedy_name(r->remedy));
        between = ", ";
        if (r->remedy != DARUMA_REMEDY_WAIT_RETRY && r->remedy != DARUMA_REMEDY_RETRY)
            continue;
        const daruma_backoff *b = &p->kinds[k].backoff;
        buf_printf(out, " (%u calls", calls);
        if (r->after != DARUMA_NOW && b->base) {
            BUF_LIT(out, ", ");
            put_ms(b->base, out);
            if (b->factor_milli > 1000)
                buf_printf(out, " x%u", b->factor_milli / 1000);
        }
        BUF_LIT(out, ")");
    }
    if (!*between)
        BUF_LIT(out, "-");
}

static void put_calls(const column *c, size_t n, daruma_buf *out)
{
    // clang-format off
    static const daruma_kind kinds[] = {
        DARUMA_RATE_LIMIT, DARUMA_OVERLOADED, DARUMA_SERVER_ERROR, DARUMA_TIMEOUT, DARUMA_NETWORK, DARUMA_AUTH, DARUMA_QUOTA,
        DARUMA_PERMISSION, DARUMA_CONTEXT_LENGTH, DARUMA_INVALID_MESSAGE, DARUMA_INVALID_TOOL_SCHEMA, DARUMA_ORPHAN_TOOL_CALL,
        DARUMA_MALFORMED_OUTPUT};
    // clang-format on
    BUF_LIT(out, "When a call of a model fails; `-`: the failure is raised as it is.\n\n");
    put_head("failure", c, n, out);
    for (size_t k = 0; k < COUNT(kinds); k++) {
        buf_printf(out, "| %s |", daruma_kind_name(kinds[k]));
        for (size_t i = 0; i < n; i++) {
            buf_putc(out, ' ');
            put_ladder(c[i].calls, kinds[k], out);
            BUF_LIT(out, " |");
        }
        BUF_LIT(out, "\n");
    }
}

/* ---- agents ---- */

static void put_retry(const agent_retry *r, bool sessions, daruma_buf *out)
{
    if (sessions)
        BUF_LIT(out, "by the sessions");
    else if (r->attempts <= 1)
        BUF_LIT(out, "-");
    else if (r->attempts >= 1000)
        BUF_LIT(out, "without end");
    else
        buf_printf(out, "%u times", r->attempts);
    if (!sessions && r->attempts > 1 && r->delay) {
        BUF_LIT(out, ", ");
        put_ms(r->delay, out);
        buf_printf(out, " x%u.%u", r->factor_milli / 1000, r->factor_milli % 1000 / 100);
    }
}

/* What becomes of a failure of an agent that works by a plan. */
static void put_way(const agent_policy *p, int severity, daruma_buf *out)
{
    static const char *const ways[] = {"again", "model", "model or out", "planner", "classifier", "report", "out"};
    const agent_route_row *r = &p->routes[AGENT_PLANNED][severity];
    buf_putz(out, ways[r->to]);
    if (r->to != r->spent)
        buf_printf(out, ", then %s", ways[r->spent]);
}

static void put_tool_retry(const agent_policy *p, daruma_buf *out)
{
    put_retry(&p->tool_retry, false, out);
    buf_putz(out, p->repeats_safe_tools ? ", if safe" : "");
}

static void put_long(const agent_policy *p, daruma_buf *out)
{
    if (p->compressions)
        buf_printf(out, "shortened %u times a %s", p->compressions, p->compressions_of_step ? "step" : "run");
    else
        BUF_LIT(out, "-");
}

static void put_call_retry(const agent_policy *p, daruma_buf *out)
{
    put_retry(&p->retry, !p->raises, out);
}

static void put_unsaid(const agent_policy *p, daruma_buf *out)
{
    buf_putz(out, p->tools_to_model ? "the model reads it" : daruma_severity_name(p->tool_unsaid));
}

static void put_mode(const agent_policy *p, daruma_buf *out)
{
    buf_putz(out, p->mode == AGENT_PLANNED ? "by a plan" : "step by step");
}

static void put_again(const agent_policy *p, daruma_buf *out)
{
    buf_printf(out, "%u more, %u more", p->replans, p->reclassifications);
}

static void put_refused(const agent_policy *p, daruma_buf *out)
{
    if (p->failure_answers)
        BUF_LIT(out, "passes for an answer");
    else if (!p->graceful)
        BUF_LIT(out, "raised");
    else if (p->apologises)
        BUF_LIT(out, "a model apologises");
    else if (p->graceful_is_answer)
        BUF_LIT(out, "an apology that passes for an answer");
    else
        BUF_LIT(out, "an apology, and said to be one");
}

static void put_form(const agent_policy *p, daruma_buf *out)
{
    buf_putz(out, p->actions ? "JSON" : p->compact ? "compact blocks" : "ERROR in ...");
}

static void put_circles(const agent_policy *p, daruma_buf *out)
{
    static const char *const circles[] = {"-", "told, then stopped", "the end"};
    buf_putz(out, circles[p->watched ? 1 + p->loops_end : 0]);
}

static void put_strategies(const agent_policy *p, daruma_buf *out)
{
    static const char *const strategies[] = {"-", "written down", "asked about", "done when sure"};
    buf_putz(out, strategies[p->strategies]);
}

/* What is told of an agent: the name of a row, and its cell: words for a flag that is set or not, what becomes of a
 * severity, or what a function writes. */
typedef struct agent_row {
    const char *name;
    const char *set, *unset; /* NULL: it is no flag */
    size_t flag;             /* where it stands in agent_policy */
    int severity;
    void (*put)(const agent_policy *p, daruma_buf *out);
} agent_row;
// clang-format off
#define FLAG(title, member, yes, no) {.name = (title), .set = (yes), .unset = (no), .flag = offsetof(agent_policy, member)}
#define WAY(title, of)               {.name = (title), .severity = (of)}
#define CELL(title, by)              {.name = (title), .put = (by)}
// clang-format on

static const agent_row agent_rows[] = {
    CELL("calls that fail are tried", put_call_retry),
    CELL("tools that fail are tried", put_tool_retry),
    CELL("a tool's failure that nobody judged", put_unsaid),
    WAY("retriable", DARUMA_RETRIABLE),
    WAY("replanning", DARUMA_REPLANNING),
    WAY("reclassification", DARUMA_RECLASSIFICATION),
    WAY("critical", DARUMA_CRITICAL),
    WAY("fatal", DARUMA_FATAL),
    CELL("plans, choices of tools", put_again),
    CELL("a context that is too long", put_long),
    CELL("what the provider refuses", put_refused),
    CELL("failures are shown as", put_form),
    FLAG("too many failures", escalates, "a person is called", "-"),
    CELL("circles", put_circles),
    CELL("strategies", put_strategies),
    FLAG("paths are completed", completes_paths, "yes", "-"),
    FLAG("an effect that may be there already", guards_effects, "held back until somebody looked", "made again"),
    CELL("its seed works", put_mode),
    FLAG("models answer with", actions, "actions as JSON", "calls"),
    FLAG("missing arguments", fills_args, "asked for", "the model reads it"),
    FLAG("a report tool ends it", reports, "yes", "-"),
};

static void put_cell(const agent_row *row, const agent_policy *p, daruma_buf *out)
{
    if (row->put)
        row->put(p, out);
    else if (row->set)
        buf_putz(out, *(const bool *)((const char *)p + row->flag) ? row->set : row->unset);
    else
        put_way(p, row->severity, out);
}

static void put_agents(const column *all, size_t nall, daruma_buf *out)
{
    column c[COLUMNS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < nall; i++)
        if (all[i].agent)
            c[n++] = all[i];
    if (!n)
        return;
    BUF_LIT(out, "\nIn an agent (`daruma run --profile`). Other profiles are layers below one of these.\n\n");
    put_head("what", c, n, out);
    for (size_t k = 0; k < COUNT(agent_rows); k++) {
        buf_printf(out, "| %s |", agent_rows[k].name);
        for (size_t i = 0; i < n; i++) {
            buf_putc(out, ' ');
            put_cell(&agent_rows[k], c[i].agent, out);
            BUF_LIT(out, " |");
        }
        BUF_LIT(out, "\n");
    }
}

int cli_profiles(int argc, char **argv)
{
    column c[COLUMNS_MAX];
    const cli_option options[] = {{0}};
    int at = cli_options(
        argc, argv, options, "profiles [NAME[:VARIANT]...]",
        "Shows what profiles do, side by side: when a call of a model fails, and in an agent. `daruma policy`\n"
        "shows all of one.");
    if (at < 0)
        return at == -2 ? 0 : 2;
    size_t n = columns_of(c, argc - at, argv + at);
    daruma_arena a;
    if (!n || !sys_arena_init(&a, 16384, 1 << 20))
        return 2;
    daruma_buf b = buf_in(&a);
    put_calls(c, n, &b);
    put_agents(c, n, &b);
    fwrite(b.p, 1, b.n, stdout);
    fflush(stdout);
    sys_arena_done(&a);
    return 0;
}
