#include "sim/agent_host.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

static bool go_on(sim_agents *h, agent *a, unsigned depth);

/* ---- models ---- */

/* Where the sessions below recover nothing, the agent gets what came, as if there were none. */
static void answer_agent(sim_agents *h, agent *a, const agent_act *x)
{
    wire *w = h->w;
    const wire_answer *last = &w->last;
    bool raised = !h->options->policy->enabled, net = last->net != DARUMA_NET_NONE;
    daruma_str got = raised && last->status ? last->body : buf_str(&w->got);
    int status = raised && !net ? last->status : w->end == DRIVE_END ? w->status : 0;
    if (h->ops->answered)
        h->ops->answered(h->user, x, w);
    if (status == 200) {
        agent_answered(a, x->call, got, w->at);
        return;
    }
    daruma_evidence ev = {.phase = DARUMA_AT_HEAD, .status = status, .body = got, .took = -1};
    if (raised && net)
        ev = (daruma_evidence){.phase = last->phase, .net = last->net, .took = -1};
    else if (w->end != DRIVE_END)
        ev = (daruma_evidence){.phase = DARUMA_AT_ANSWER, .net = DARUMA_NET_CUT, .took = -1};
    agent_failed(a, x->call, &ev, w->at);
}

static bool ask_model(sim_agents *h, agent *a, const agent_act *x)
{
    daruma_arena room;
    drive_options options = *h->options;
    if (!h->rooms->open(&room, CALL_BYTES_USUAL, CALL_ARENA_BYTES_MAX))
        return false;
    if (x->total > 0 && (options.total <= 0 || x->total < options.total))
        options.total = x->total;
    session_request q = {.d = h->w->d,
                         .body = arena_copy(&room, x->body),
                         .arena = &room,
                         .options = &options,
                         .safe = true,
                         .path_names = h->w->d == &dialect_gemini,
                         .path_model = x->model,
                         .credential = UINT64_MAX - ++h->clients,
                         .waits = -1,
                         .speaks = h->w->d};
    if (h->ops->asks)
        h->ops->asks(h->user, x);
    bool over = wire_request(h->w, &q);
    if (over)
        answer_agent(h, a, x);
    else
        wire_leave(h->w);
    h->rooms->close(&room);
    return over;
}

/* ---- tools, agents among them ---- */

/* What a delegated agent is asked for: the member "task" of the arguments, else all of them. */
static daruma_str task_of(daruma_str args, daruma_arena *room)
{
    daruma_str task = json_get(args, S("task"));
    return json_is_string(task) ? json_text(task, room) : args;
}

static bool delegate(sim_agents *h, agent *a, const agent_act *x, unsigned depth)
{
    agent_setup child = {0};
    daruma_arena room;
    if (depth >= SIM_DEPTH_MAX || !h->ops->child || !h->ops->child(h->user, x->tool, &child))
        return false;
    if (!agent_may_delegate(a)) {
        agent_not_delegated(a, x->call, x->tool, h->w->at);
        return true;
    }
    if (!h->rooms->open(&room, 4096, AGENT_BYTES_MAX))
        return false;
    child.limits = agent_limits_left(a, h->w->at);
    child.lineage = h->names;
    child.nlineage = depth + 1;
    h->names[depth + 1] = child.name;
    agent *c = agent_open(&child, h->rooms, task_of(x->args, &room), h->w->at);
    bool well = c && go_on(h, c, depth + 1);
    if (well) {
        agent_result r = agent_result_of(c);
        agent_delegated(a, x->call, x->tool, &r, h->w->at);
    }
    agent_close(c);
    h->rooms->close(&room);
    return well;
}

static bool call_tool(sim_agents *h, agent *a, const agent_act *x)
{
    sim_tool_result r = {.ok = -1};
    if (!h->ops->tool(h->user, a, x, &r))
        return false;
    daruma_ms took = x->total >= 0 && r.took > x->total ? x->total : r.took;
    wire_pass(h->w, add_sat(h->w->at.now, took), false);
    if (took < r.took) /* its time was over first: what became of it nobody knows */
        agent_clock(a, h->w->at);
    else
        agent_tool_done(a, x->call, r.text, r.ok, r.lost, h->w->at);
    return true;
}

static bool ask_person(sim_agents *h, agent *a, const agent_act *x)
{
    sim_reply r = {.what = AGENT_EXPIRED};
    if (!h->ops->person(h->user, a, x, &r))
        return false;
    wire_pass(h->w, add_sat(h->w->at.now, r.took), false);
    agent_person(a, x->call, r.what, r.text, h->w->at);
    return true;
}

/* ---- the loop ---- */

static bool go_on(sim_agents *h, agent *a, unsigned depth)
{
    uint32_t most = h->acts_max ? h->acts_max : SIM_ACTS_MAX;
    for (uint32_t i = 0; i < most && !h->stopped; i++) {
        agent_act x = agent_next(a);
        bool well = true;
        if (h->cancel_at && h->w->at.now >= h->cancel_at && x.what != AGENT_DO_EVENT && x.what != AGENT_DO_FINISH) {
            h->cancel_at = 0;
            agent_cancel(a, h->w->at);
            continue;
        }
        switch (x.what) {
        case AGENT_DO_NOTHING:
            well = false;
            break;
        case AGENT_DO_EVENT:
            h->ops->event(h->user, x.text);
            break;
        case AGENT_DO_MODEL:
            well = ask_model(h, a, &x);
            break;
        case AGENT_DO_TOOL:
            well = x.about && x.about->delegates ? delegate(h, a, &x, depth) : call_tool(h, a, &x);
            break;
        case AGENT_DO_ASK:
            well = ask_person(h, a, &x);
            break;
        case AGENT_DO_WAIT:
            wire_pass(h->w, x.until, true);
            agent_clock(a, h->w->at);
            break;
        case AGENT_DO_FINISH:
            return true;
        }
        if (!well)
            break;
    }
    h->stopped = true;
    return false;
}

bool sim_agent_go_on(sim_agents *h, agent *a)
{
    return go_on(h, a, 0);
}

agent *sim_agent_run(sim_agents *h, const agent_setup *s, daruma_str task)
{
    h->stopped = false;
    h->names[0] = s->name;
    agent *a = agent_open(s, h->rooms, task, h->w->at);
    if (a && !go_on(h, a, 0)) {
        agent_close(a);
        a = NULL;
    }
    return a;
}
