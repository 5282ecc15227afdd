/* replay_agent.c - runs whole agents in a scene: what providers, tools and people say comes from its script, and what
 * the agent does is written down. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/replay/replay_inside.h"
#include "sim/agent_host.h"
#include "sys/arena.h"
#include <stdio.h>

enum { AGENT_SILENCE_MS = 60000 };

/* A scene of agents. */
typedef struct agents {
    run *r;
    seed_stack stack;
    agent_setup setups[REPLAY_AGENTS_MAX];
    size_t npeople; /* answers of people that are used up */
} agents;

/* ---- what is told ---- */

/* What the log shows in lines of its own. */
static bool is_shown(daruma_str name)
{
    return !str_eq(name, S("model_asked")) && !str_eq(name, S("tool_called")) && !str_eq(name, S("run_finished"));
}

static void on_event(void *user, daruma_str json)
{
    agents *g = user;
    run *r = g->r;
    daruma_str name = json_text(json_get(json, S("event")), r->keep), key, value;
    json_iter it = json_open(json);
    if (!is_shown(name))
        return;
    buf_printf(run_line(r, "event "), STR_FMT, STR_ARG(name));
    while (r->s->fields && json_next(&it, &key, &value)) {
        if (str_eq(key, S("event")) || str_eq(key, S("step")))
            continue;
        buf_printf(r->log, " " STR_FMT "=", STR_ARG(key));
        run_put_short(json_text(value, r->keep), r->log);
        if (!json_is_string(value))
            buf_put(r->log, value);
    }
    BUF_LIT(r->log, "\n");
}

/* What the model reads behind its own newest words. */
static void log_seen(run *r, const agent_act *x, daruma_arena *room)
{
    static const char *const roles[] = {"system", "user", "assistant", "tool"};
    convo c;
    size_t from = 0;
    if (r->s->dialect->read(x->body, room, &c) != DARUMA_OK)
        return;
    for (size_t i = 0; i < c.nmessages; i++)
        if (c.messages[i].role == CONVO_ASSISTANT)
            from = i + 1;
    for (size_t i = from; i < c.nmessages; i++)
        for (size_t k = 0; k < c.messages[i].nparts; k++) {
            convo_part *p = &c.messages[i].parts[k];
            if ((p->kind != PART_TEXT && p->kind != PART_RESULT) ||
                (x->purpose != AGENT_FOR_ANALYSIS && !from && c.messages[i].role == CONVO_SYSTEM))
                continue;
            buf_printf(run_line(r, "sees "), "%s ",
                       p->kind == PART_RESULT              ? "tool"
                       : c.messages[i].role < COUNT(roles) ? roles[c.messages[i].role]
                                                           : "?");
            run_put_short(convo_text(&c, p), r->log);
            BUF_LIT(r->log, "\n");
        }
}

static void on_asks(void *user, const agent_act *x)
{
    agents *g = user;
    run *r = g->r;
    daruma_arena room;
    buf_printf(run_line(r, "ask "), "%s\n", agent_purpose_name(x->purpose));
    r->sent = x->body;
    r->stream = false;
    if (!r->s->notices && !r->s->sent)
        return;
    if (!run_rooms.open(&room, CALL_BYTES_USUAL, CALL_ARENA_BYTES_MAX))
        return;
    if (r->s->sent) {
        run_put_short(x->body, run_line(r, "sent "));
        BUF_LIT(r->log, "\n");
    } else {
        log_seen(r, x, &room);
    }
    run_rooms.close(&room);
}

/* ---- what tools and people say ---- */

static bool on_tool(void *user, agent *a, const agent_act *x, sim_tool_result *ret)
{
    agents *g = user;
    (void)a;
    daruma_str text;
    const replay_step *given = run_tool(g->r, x->tool, x->args, &text);
    if (!given)
        return false;
    *ret = (sim_tool_result){.text = text, .ok = given->ok, .lost = given->lost, .took = given->took};
    return true;
}

static const replay_step *next_person(agents *g)
{
    const replay_scene *s = g->r->s;
    return g->npeople < s->npeople ? &s->people[g->npeople++] : NULL;
}

static bool on_person(void *user, agent *a, const agent_act *x, sim_reply *ret)
{
    agents *g = user;
    const replay_step *said = next_person(g);
    (void)a;
    if (!said)
        return run_told(g->r, g->r->s->expect_line, "there is nobody left to answer", x->text);
    int reply = replay_word_index(said->where, REPLAY_PEOPLE);
    ret->what = reply <= AGENT_EXPIRED ? (agent_reply)reply : ret->what;
    ret->text = said->what;
    ret->took = said->took;
    run_put_short(x->text, run_line(g->r, "person "));
    buf_printf(g->r->log, " " STR_FMT "\n", STR_ARG(said->where));
    return true;
}

/* ---- the agents ---- */

static bool on_child(void *user, daruma_str name, agent_setup *ret)
{
    agents *g = user;
    for (size_t i = 0; i < g->r->s->nagents; i++)
        if (str_eq(g->r->s->agents[i].name, name)) {
            *ret = g->setups[i];
            return true;
        }
    return run_told(g->r, g->r->s->expect_line, "the scene has no agent", name);
}

static const sim_agent_ops agent_ops = {
    .tool = on_tool, .person = on_person, .event = on_event, .asks = on_asks, .child = on_child};

/* The setup as the scene says it: rules go to their tools. */
static bool set_up(agents *g, size_t i, agent_setup *ret)
{
    replay_scene *s = g->r->s;
    replay_agent_told *t = &s->agents[i];
    agent_policy *p = ARENA_NEW(g->r->keep, agent_policy, 1);
    agent_rule *rules = ARENA_NEW(g->r->keep, agent_rule, t->nrules + 1);
    size_t n = 0;
    if (!p || !rules)
        return false;
    for (size_t k = 0; k < t->ntools; k++) {
        t->tools[k].rules = rules + n;
        for (size_t m = 0; m < t->nrules; m++)
            if (str_eq(t->rule_of[m], t->tools[k].about.name)) {
                rules[n++] = t->rules[m];
                t->tools[k].nrules++;
            }
    }
    seed_stack told = g->stack;
    seed_stack_set(&told, &s->policy, g->stack.judge);
    *p = told.agent;
    seed_retry(&t->retry, p, &s->policy);
    if (t->moves)
        p->moves_max = t->moves;
    *ret = t->setup;
    ret->d = s->dialect;
    ret->tools = t->tools;
    ret->ntools = t->ntools;
    ret->policy = p;
    ret->recovery = g->stack.judge;
    return true;
}

/* Several lines of text: each behind "| ". */
static void put_page(run *r, const char *word, daruma_str text)
{
    if (str_findch(text, '\n') == STR_NONE) {
        buf_putz(run_line(r, word), " ");
        run_put_short(text, r->log);
        BUF_LIT(r->log, "\n");
        return;
    }
    buf_printf(run_line(r, word), "\n");
    while (text.n) {
        daruma_str one = str_cut(&text, '\n');
        buf_putz(r->log, one.n ? "| " : "|");
        run_put_short(one, r->log);
        BUF_LIT(r->log, "\n");
    }
}

/* One below the other, with a blank line between. */
static void put_history(run *r, daruma_str list)
{
    daruma_arena room;
    daruma_str one;
    if (!sys_arena_init(&room, 4096, CALL_ARENA_BYTES_MAX))
        return;
    daruma_buf b = buf_in(&room);
    for (json_iter it = json_open(list); json_next(&it, NULL, &one);)
        BUF_SAY(&b, b.n ? "\n\n" : "", json_text(one, &room));
    put_page(r, "history", buf_str(&b));
    sys_arena_done(&room);
}

static void log_finish(run *r, const agent *a)
{
    agent_result e = agent_result_of(a);
    buf_printf(run_line(r, "end "), "%s outcome=%s calls=%u tools=%u", agent_end_name(e.end),
               daruma_outcome_name(e.outcome), e.spent.calls, e.spent.tools);
    if (e.limit)
        buf_printf(r->log, " limit=%s", agent_limit_name(e.limit));
    buf_printf(r->log, " sent=%u", r->ncalled);
    if (r->rested)
        buf_printf(r->log, " slept=%lld", (long long)r->rested);
    if (r->s->agents[0].setup.limits.tokens)
        buf_printf(r->log, " tokens=%lld", (long long)(e.spent.input_tokens + e.spent.output_tokens));
    BUF_LIT(r->log, "\n");
    if (e.text.n)
        put_page(r, "text", e.text);
    if (e.recovery.n)
        put_page(r, "recovery", e.recovery);
    if (e.end != AGENT_END_ESCALATED)
        return;
    put_page(r, "reason", e.reason);
    put_page(r, "last_error", e.last_error);
    put_history(r, e.history);
}

/* All that the script has was used. */
static bool used_up(agents *g)
{
    const replay_scene *s = g->r->s;
    for (size_t i = 0; i < s->nsteps; i++)
        if (s->steps[i].times)
            return run_told(g->r, s->steps[i].line, "no call was made that meets", s->steps[i].what);
    for (size_t i = 0; i < s->ntools; i++)
        if (s->tools[i].times && s->tools[i].times < UINT16_MAX)
            return run_told(g->r, s->tools[i].line, "the tool was not called so often:", s->tools[i].where);
    if (g->npeople < s->npeople)
        return run_told(g->r, s->people[g->npeople].line, "nobody was asked for", s->people[g->npeople].where);
    return true;
}

static bool run_first(agents *g)
{
    run *r = g->r;
    drive_options options = {.policy = g->stack.agent.raises ? &g->stack.calls : &r->s->policy,
                             .on_failure = g->stack.agent.failure_answers ? DRIVE_FORM_MESSAGE : DRIVE_FORM_ERROR,
                             .first_byte = AGENT_SILENCE_MS,
                             .idle = AGENT_SILENCE_MS};
    sim_agents h = {.ops = &agent_ops,
                    .user = g,
                    .w = &r->w,
                    .rooms = &run_rooms,
                    .options = &options,
                    .cancel_at = r->s->agents[0].cancel_at};
    agent *a = sim_agent_run(&h, &g->setups[0], r->s->agents[0].task);
    bool ok = a != NULL;
    if (ok)
        log_finish(r, a);
    while (ok && g->npeople < r->s->npeople && str_eq(r->s->people[g->npeople].where, S("resume"))) {
        const replay_step *said = next_person(g);
        wire_pass(&r->w, add_sat(r->w.at.now, said->took), false);
        put_page(r, "resume", said->what);
        ok = agent_resume(a, said->what, r->w.at) || run_told(r, said->line, "it is not to be resumed:", said->what);
        ok = ok && sim_agent_go_on(&h, a);
        if (ok)
            log_finish(r, a);
    }
    agent_close(a);
    if (!ok)
        return run_told(r, r->s->expect_line, "it does not end", r->s->title);
    return !r->at.why[0] && used_up(g);
}

bool run_agents(run *r)
{
    agents g = {.r = r};
    char words[128];
    daruma_buf why = buf_over(words, sizeof words - 1);
    r->stream = false;
    if (!seed_stack_read(r->s->profile, r->keep, &g.stack, &why))
        return run_told(r, r->s->expect_line, "this is no stack of profiles:", r->s->profile);
    for (size_t i = 0; i < r->s->nagents; i++)
        if (!set_up(&g, i, &g.setups[i]))
            return run_told(r, r->s->expect_line, "no memory for", r->s->title);
    return run_first(&g);
}
