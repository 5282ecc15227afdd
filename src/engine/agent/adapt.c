/* adapt.c - another way for an agent that cannot go on: what is known of its situation, the question to a model, and
 * what becomes of the answer. A strategy is told in an event whatever happens to it; it is done when it is sure enough
 * and was checked, asked about when it is less sure, and handed to a person when only a person can help. What daruma
 * itself guesses without a model is never a reason to stop. */
#include "engine/agent/inside.h"

/* What a question is about, with room for what it points to. */
typedef struct about {
    daruma_situation is;
    daruma_step last;
    daruma_tool_failure failures[TRACKED_FAILURES_MAX];
    daruma_str blockers[TRACKED_FAILURES_MAX], facts[STRATEGY_FACTS];
} about;

static void take_failures(const agent *a, about *q)
{
    size_t n = daruma_tracker_list(a->loop.tracker, q->failures, TRACKED_FAILURES_MAX);
    n = n < TRACKED_FAILURES_MAX ? n : TRACKED_FAILURES_MAX;
    for (size_t i = 0; i < n; i++)
        if (!q->failures[i].resolved) {
            q->blockers[q->is.nblockers++] = q->failures[i].message;
            q->failures[q->is.nfailures++] = q->failures[i];
        }
    q->is.failures = q->failures;
    q->is.blockers = q->blockers;
}

/* The newest results, oldest first, and the newest step. */
static void take_steps(agent *a, about *q)
{
    size_t from = a->nsteps, n = 0;
    while (from > 0 && n < STRATEGY_FACTS)
        n += a->steps[--from].kind == AGENT_STEP_CALL && !a->steps[from].failed;
    for (size_t i = from; i < a->nsteps; i++) {
        const agent_step *s = &a->steps[i];
        if (s->kind != AGENT_STEP_CALL || !s->done)
            continue;
        q->last = (daruma_step){.tool = s->tool, .args = s->args, .result = s->observation, .ok = !s->failed};
        q->is.last = &q->last;
        if (s->failed || q->is.nfacts == STRATEGY_FACTS)
            continue;
        daruma_buf b = buf_in(&a->scratch);
        BUF_SAY(&b, s->tool, ": ", flow_line(str_trim(s->observation), SITUATION_TEXT_CHARS_MAX));
        q->facts[q->is.nfacts++] = buf_str(&b);
    }
    q->is.facts = q->facts;
}

static void take_tools(agent *a, about *q)
{
    daruma_tool *tools = a->s.ntools ? ARENA_NEW(&a->scratch, daruma_tool, a->s.ntools) : NULL;
    for (size_t i = 0; tools && i < a->s.ntools; i++)
        if (a->s.mode == AGENT_REACTIVE || plan_offers(a, i))
            tools[q->is.ntools++] = a->s.tools[i].about;
    q->is.tools = tools;
}

/* NULL without memory. */
static about *situation(agent *a)
{
    about *q = ARENA_NEW(&a->scratch, about, 1);
    if (!q)
        return NULL;
    q->is = (daruma_situation){.goal = a->task,
                               .progress = daruma_progress_read(a->loop.estimate, &a->scratch).progress,
                               .stuck = true,
                               .steps = a->spent.steps,
                               .circle = a->loop.circle,
                               .fits = daruma_schema_fits};
    take_failures(a, q);
    take_steps(a, q);
    take_tools(a, q);
    return q;
}

/* ---- what becomes of it ---- */

static void keep_strategy(agent *a, const daruma_strategy *p)
{
    a->loop.strategy = *p;
    a->loop.strategy.name = flow_text(a, p->name);
    a->loop.strategy.reasoning = flow_text(a, flow_line(p->reasoning, FAILURE_TEXT_BYTES_MAX));
    a->loop.strategy.tool = flow_text(a, p->tool);
    a->loop.strategy.parameters = flow_text(a, p->parameters);
    a->loop.strategy.message = flow_text(a, flow_line(p->message, FAILURE_TEXT_BYTES_MAX));
    a->loop.strategy.expected = (daruma_str){0};
}

static void say(agent *a, const char *how)
{
    daruma_buf b = buf_in(&a->scratch);
    buf_putz(&b, how);
    if (a->loop.strategy.tool.n) {
        BUF_SAY(&b, " Call ", traj_wire_name(a, a->loop.strategy.tool, &a->scratch));
        if (a->loop.strategy.parameters.n)
            BUF_SAY(&b, " with ", a->loop.strategy.parameters);
        buf_putc(&b, '.');
    }
    BUF_SAY(&b, " ", a->loop.strategy.reasoning);
    flow_note(a, buf_str(&b));
}

/* Does it: the call is made as if the model had asked for it, behind a note that says so. */
void adapt_do(agent *a)
{
    const daruma_strategy *p = &a->loop.strategy;
    a->notice = (daruma_str){0}; /* what it was to be told is dealt with */
    a->phase = PHASE_THINK;
    if (p->kind == DARUMA_STRATEGY_ESCALATE) {
        error_escalate(a, p->message.n ? p->message : p->reasoning);
        return;
    }
    if (p->kind == DARUMA_STRATEGY_GIVE_UP) {
        daruma_buf text = buf_in(&a->scratch);
        BUF_SAY(&text, "The task is not finished: ", p->reasoning);
        flow_stop(a, &text);
        return;
    }
    if (!p->checked || !p->tool.n || !p->parameters.n || !router_tool(a, p->tool)) {
        say(a, "[A way to go on.]");
        return;
    }
    say(a, "[Another way is tried now.]");
    agent_step *s = traj_add(a, AGENT_STEP_CALL);
    if (!s)
        return;
    s->turn = ++a->turn;
    daruma_buf id = buf_in(&a->texts);
    buf_printf(&id, "call_%u_way", a->turn);
    s->id = buf_str(&id);
    s->tool = p->tool;
    s->args = p->parameters;
    a->next = a->nsteps - 1;
    a->phase = PHASE_TOOLS;
}

static void ask_person(agent *a)
{
    daruma_buf b = buf_in(&a->scratch);
    BUF_SAY(&b, "The agent cannot go on. May it try this: ", a->loop.strategy.name);
    if (a->loop.strategy.tool.n)
        BUF_SAY(&b, ", ", a->loop.strategy.tool, " ", flow_line(a->loop.strategy.parameters, FAILURE_TEXT_BYTES_MAX));
    BUF_SAY(&b, "? ", a->loop.strategy.reasoning);
    a->loop.asks_way = true;
    flow_out(a, OUT_PERSON, (agent_act){.what = AGENT_DO_ASK, .text = buf_str(&b)});
}

static void propose(agent *a, const daruma_strategy *p)
{
    static const char *const modes[] = {"off", "log", "ask", "auto"};
    daruma_strategy_mode mode = (daruma_strategy_mode)(a->policy->strategies - AGENT_STRATEGIES_LOG);
    daruma_strategy_fate fate = daruma_strategy_decide(p, mode, a->recovery);
    if (p->source == DARUMA_FROM_HEURISTIC && fate != DARUMA_FATE_DO)
        fate = DARUMA_FATE_LOG;
    keep_strategy(a, p);
    daruma_tries_note(&a->loop.tries, p);
    LOG(a, "recovery_strategy_generated", "strategy", p->name, "reasoning", p->reasoning, "tool", p->tool, "parameters",
        buf_any(p->parameters), "message", buf_any(p->message), "expected", buf_any(p->expected), "confidence_permille",
        p->confidence, "mode", modes[a->policy->strategies], "fate", daruma_strategy_fate_name(fate));
    a->phase = PHASE_THINK;
    if (a->loop.ends) {
        daruma_buf text = buf_in(&a->scratch);
        BUF_SAY(&text, "Loop detected: ", a->loop.circle);
        flow_stop(a, &text);
        return;
    }
    switch (fate) {
    case DARUMA_FATE_LOG:
        break;
    case DARUMA_FATE_DO:
        adapt_do(a);
        break;
    case DARUMA_FATE_ASK:
        ask_person(a);
        break;
    case DARUMA_FATE_ESCALATE:
        error_escalate(a, p->message.n ? p->message : p->reasoning);
        break;
    }
}

/* ---- when it is due ---- */

/* What a model said of its progress is why it is stuck, and what is in its way. */
static void take_estimate(agent *a, about *q)
{
    daruma_estimate e = daruma_progress_read(a->loop.estimate, &a->scratch);
    if (e.progress < 0)
        return;
    q->is.analysis = e.reasoning;
    q->is.milestone = e.milestone;
    q->is.blockers = e.blockers;
    q->is.nblockers = e.nblockers;
}

void adapt_ask(agent *a)
{
    about *q = situation(a);
    if (q)
        take_estimate(a, q);
    a->loop.wants_way = a->loop.wants_any = false;
    daruma_question ask =
        q ? daruma_strategy_ask(&q->is, &a->loop.tries, a->recovery, &a->scratch) : (daruma_question){0};
    if (!q) {
        a->phase = PHASE_THINK;
    } else if (!ask.user.n || limits_reached(a, true, false) || limits_last_call(a)) {
        daruma_strategy p = daruma_strategy_guess(&q->is, &a->loop.tries, a->recovery, &a->scratch);
        propose(a, &p);
    } else {
        flow_ask(a, AGENT_FOR_STRATEGY, a->s.second.n ? a->s.second : a->s.model, &ask, limits_time_left(a));
    }
}

/* `text` empty: the model failed. */
void adapt_answered(agent *a, daruma_str text)
{
    about *q = situation(a);
    if (!q) {
        a->phase = PHASE_THINK;
        return;
    }
    daruma_strategy p = daruma_strategy_read(text, &q->is, &a->loop.tries, a->recovery, &a->scratch, NULL);
    propose(a, &p);
}

/* ---- how far it has come ---- */

void adapt_estimate(agent *a)
{
    about *q = situation(a);
    if (q)
        q->is.stuck = false; /* that is the question */
    daruma_question ask = q ? daruma_progress_ask(&q->is, &a->scratch) : (daruma_question){0};
    a->phase = PHASE_THINK;
    if (!ask.user.n || limits_reached(a, true, false))
        return;
    ask.max_tokens = AGENT_ESTIMATE_TOKENS;
    flow_ask(a, AGENT_FOR_ESTIMATE, a->s.second.n ? a->s.second : a->s.model, &ask, limits_time_left(a));
}

void adapt_estimated(agent *a, daruma_str text)
{
    daruma_estimate e = daruma_progress_read(text, &a->scratch);
    bool stuck = daruma_progress_estimate(&a->loop.progress, a->recovery, e.progress);
    LOG(a, "progress_estimated", "progress_permille", e.progress, "stuck", (int)stuck);
    if (e.progress >= 0) /* else the one before holds */
        a->loop.estimate = flow_text(a, flow_line(text, AGENT_OUTPUT_BYTES_MAX));
    about *q = situation(a);
    a->phase = PHASE_THINK;
    if (!q || !stuck)
        return;
    take_estimate(a, q);
    if (daruma_strategy_due(&q->is, a->recovery))
        a->phase = PHASE_ADAPT;
}
