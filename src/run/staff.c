#include "run/staff.h"
#include "engine/seeds/seeds.h"
#include <stdio.h>

/* One of them. */
typedef struct staff_agent {
    const run_agent *who;
    staff_place *places, *seconds; /* of its models */
    agent_policy policy;
    daruma_policy calls; /* what its sessions do about calls that fail */
    agent_tool *tools;
    size_t ntools;
} staff_agent;

struct staff {
    const run_settings *s;
    toolset *all;
    staff_agent *agents;
    crew_member *members;
};

/* ---- tools ---- */

bool run_name_fits(daruma_str pattern, daruma_str name)
{
    if (pattern.n && pattern.p[pattern.n - 1] == '*')
        return str_starts(name, str_sub(pattern, 0, pattern.n - 1));
    return str_eq(pattern, name);
}

static bool listed(const run_names *names, daruma_str name)
{
    for (size_t i = 0; i < names->n; i++)
        if (run_name_fits(names->list[i], name))
            return true;
    return false;
}

/* The server that a tool is of; empty: it is none of a server. */
static daruma_str server_of(const run_settings *s, daruma_str tool)
{
    size_t dot = str_findch(tool, '.');
    daruma_str name = str_sub(tool, 0, dot == STR_NONE ? 0 : dot);
    for (size_t i = 0; i < s->nmcp && name.n; i++)
        if (str_eq(s->mcp[i].name, name))
            return name;
    return (daruma_str){0};
}

static bool may_call(const run_settings *s, const run_agent *who, daruma_str tool)
{
    daruma_str server = server_of(s, tool);
    if (who->tools.said && listed(&who->tools, tool))
        return true;
    if (server.n && who->mcp.said)
        return listed(&who->mcp, server);
    if (str_eq(tool, S("shell.run")))
        return s->shell && !who->tools.said;
    return !who->tools.said;
}

static const run_tool *said_of(const run_settings *s, daruma_str tool)
{
    for (size_t i = 0; i < s->ntools; i++)
        if (run_name_fits(s->tools[i].name, tool))
            return &s->tools[i];
    return NULL;
}

daruma_ms staff_usual(const run_settings *s, daruma_str tool)
{
    const run_tool *t = said_of(s, tool);
    return t ? t->within : 0;
}

/* A row with what the host says about it. */
static agent_tool told(const run_settings *s, agent_tool row)
{
    const run_tool *t = said_of(s, row.about.name);
    if (!t)
        return row;
    row.ask = t->ask == RUN_ASK_USUAL ? row.ask : t->ask;
    row.retry = t->retry;
    if (!t->retry.attempts && !t->retry.delay && !t->retry.factor_milli)
        row.retry.factor_milli = 1000; /* nothing grows of no delay */
    row.rules = t->rules;
    row.nrules = t->nrules;
    return row;
}

void staff_refresh(staff *s)
{
    size_t n;
    const agent_tool *rows = toolset_rows(s->all, &n);
    for (size_t i = 0; i < s->s->nagents; i++)
        for (size_t k = 0; k < s->agents[i].ntools; k++)
            for (size_t j = 0; j < n; j++)
                if (str_eq(rows[j].about.name, s->agents[i].tools[k].about.name))
                    s->agents[i].tools[k] = told(s->s, rows[j]);
}

/* Each name that was said has to be that of a tool, or of an agent. */
static bool all_there(const staff_agent *g, char why[256])
{
    const run_names *names = &g->who->tools;
    for (size_t i = 0; i < names->n; i++) {
        bool there = false;
        for (size_t k = 0; k < g->ntools; k++)
            there |= run_name_fits(names->list[i], g->tools[k].about.name);
        if (!there) {
            snprintf(why, 256, "agent `%.60s`: there is no tool and no agent `%.60s`", g->who->name.p,
                     names->list[i].p);
            return false;
        }
    }
    return true;
}

static bool hand_out(staff *s, staff_agent *g, daruma_arena *a, char why[256])
{
    size_t n;
    const agent_tool *rows = toolset_rows(s->all, &n);
    g->tools = ARENA_NEW(a, agent_tool, n + s->s->nagents + 1);
    if (!g->tools)
        return false;
    for (size_t i = 0; i < n; i++)
        if (may_call(s->s, g->who, rows[i].about.name))
            g->tools[g->ntools++] = told(s->s, rows[i]);
    for (size_t i = 0; i < s->s->nagents; i++) {
        const run_agent *other = &s->s->agents[i];
        if (g->who->tools.said && other != g->who && listed(&g->who->tools, other->name))
            g->tools[g->ntools++] = told(s->s, crew_tool(other->name, other->says));
    }
    if (!all_there(g, why))
        return false;
    if (g->policy.reports && g->who->mode == AGENT_REACTIVE)
        g->tools[g->ntools++] = agent_report_tool;
    return true;
}

/* ---- places ---- */

daruma_str staff_path(const staff_place *p, daruma_str path, daruma_arena *a)
{
    daruma_str last = p->to.prefix, rest = str_from(path, 1), first = str_cut(&rest, '/');
    while (str_findch(last, '/') != STR_NONE)
        str_cut(&last, '/');
    bool twice = url_is_version(last) && url_is_version(first);
    return STR_SAY(a, p->to.prefix, twice ? str_from(path, first.n + 1) : path);
}

static staff_place *places_of(const run_model *m, daruma_arena *a, char why[256])
{
    staff_place *places = ARENA_NEW(a, staff_place, m->n + 1);
    for (size_t i = 0; places && i < m->n; i++) {
        const char *wrong = NULL;
        places[i].target = &m->targets[i];
        if (!url_parse(m->targets[i].base, a, &places[i].to, &wrong)) {
            snprintf(why, 256, "the base URL is no address: %s", wrong);
            return NULL;
        }
    }
    return places;
}

static const run_model *model_of(const staff_agent *g, daruma_str model, const staff_place **ret)
{
    bool second = g->who->second.n && !str_eq(g->who->model.targets[0].model, model);
    *ret = second ? g->seconds : g->places;
    return second ? &g->who->second : &g->who->model;
}

const staff_place *staff_place_of(const crew_member *m, daruma_str model, daruma_str target)
{
    const staff_place *places;
    const run_model *list = model_of(m->own, model, &places);
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->targets[i].name, target))
            return &places[i];
    return NULL;
}

static void put_target(const run_target *t, daruma_buf *b)
{
    BUF_OBJECT(b, "name", t->name, "model", t->model, "dialect", t->d->name, "account", buf_any(t->account), "key",
               BUF_IF(t->account.n, t->name), "window", BUF_IF(t->window > 0, t->window), "max_output",
               BUF_IF(t->max_output > 0, t->max_output));
}

void staff_options(const crew_member *m, const agent_act *x, bool streams, daruma_buf *b)
{
    const staff_place *places;
    const run_model *list = model_of(m->own, x->model, &places);
    bool gemini = m->as.d == &dialect_gemini;
    BUF_SAY(b, "{\"dialect\":", buf_quoted(str_of(m->as.d->name)), ",\"targets\":[");
    for (size_t i = 0; i < list->n; i++) {
        buf_putz(b, i ? "," : "");
        put_target(&list->targets[i], b);
    }
    BUF_LIT(b, "]");
    BUF_MEMBERS(b, "watch", "off", "on_failure", m->as.policy->failure_answers ? "message" : "error", "model",
                BUF_IF(gemini, x->model), "stream", BUF_IF(gemini && streams, (bool)streams), "total_ms",
                BUF_IF(x->total > 0, x->total < RUN_CALL_MS ? x->total : RUN_CALL_MS), "max_calls",
                BUF_IF(x->calls, x->calls));
    BUF_LIT(b, ",\"secrets\":[");
    for (size_t i = 0, n = 0; i < list->n; i++)
        if (list->targets[i].key.n >= 6)
            BUF_SAY(b, n++ ? "," : "", buf_quoted(list->targets[i].key));
    BUF_LIT(b, "]}");
}

const daruma_policy *staff_recovery(const crew_member *m)
{
    return &((const staff_agent *)m->own)->calls;
}

/* ---- all of them ---- */

static daruma_str instructions_of(const run_agent *who, const mcp_servers *up, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_put(&b, who->instructions.n ? who->instructions : S(AGENT_INSTRUCTIONS));
    mcp_instruct(up, &b);
    return buf_str(&b);
}

static bool make_ready(staff *s, size_t i, const mcp_servers *up, daruma_arena *a, char why[256])
{
    const run_agent *who = &s->s->agents[i];
    staff_agent *g = &s->agents[i];
    g->who = who;
    g->policy = who->policy ? *who->policy : agent_policy_default;
    g->calls = *(who->recovery ? who->recovery : daruma_policy_find(S("default")));
    g->calls.answers &= g->policy.failure_answers; /* an agent that hears of failures does not take one for an answer */
    seed_retry(&who->retry, &g->policy, &g->calls);
    if (!hand_out(s, g, a, why) || !(g->places = places_of(&who->model, a, why)) ||
        !(g->seconds = places_of(&who->second, a, why)))
        return false;
    s->members[i] = (crew_member){
        .as = {.name = who->name,
               .d = who->model.targets[0].d,
               .model = who->model.targets[0].model,
               .second = who->second.n ? who->second.targets[0].model : (daruma_str){0},
               .instructions = instructions_of(who, up, a),
               .tools = g->tools,
               .ntools = g->ntools,
               .mode = who->mode,
               .policy = &g->policy,
               .window = who->model.targets[0].window > 0 ? who->model.targets[0].window : RUN_WINDOW_TOKENS,
               .recovery = who->judge ? who->judge : who->recovery,
               .limits = who->limits},
        .own = g};
    return !a->full;
}

staff *staff_open(const run_settings *settings, toolset *t, const mcp_servers *up, daruma_arena *a, char why[256])
{
    staff *s = ARENA_NEW(a, staff, 1);
    snprintf(why, 256, "there is no memory for it");
    if (!s)
        return NULL;
    *s = (staff){.s = settings,
                 .all = t,
                 .agents = ARENA_NEW(a, staff_agent, settings->nagents),
                 .members = ARENA_NEW(a, crew_member, settings->nagents)};
    for (size_t i = 0; i < settings->nagents; i++)
        if (!s->members || !s->agents || !make_ready(s, i, up, a, why))
            return NULL;
    return s;
}

const crew_member *staff_members(const staff *s, size_t *ret_n)
{
    *ret_n = s->s->nagents;
    return s->members;
}
