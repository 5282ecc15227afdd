/* plan.c - the planned way: tools that can serve are chosen, a plan is made of them and checked before it runs, its
 * steps are carried out one after the other, each by a model that sees its own step and the outputs that it needs. */
#include "engine/agent/inside.h"
#include "engine/mend/answer/answer.h"

/* ---- reading and checking ---- */

static bool is_answer(daruma_str tool)
{
    return !tool.n || str_ieq(tool, S("respond")) || str_ieq(tool, S("clarify"));
}

static daruma_str member_text(daruma_str object, daruma_str key, daruma_arena *a)
{
    return flow_line(str_trim(json_text(json_get(object, key), a)), FAILURE_TEXT_BYTES_MAX);
}

static bool earlier_key(const agent_plan *p, daruma_str key)
{
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(p->steps[i].key, key))
            return true;
    return false;
}

/* "inputs": {"name": "key of a step", ...} or ["key", ...]. */
static agent_plan_verdict read_inputs(daruma_str inputs, const agent_plan *p, daruma_arena *a, agent_plan_step *s,
                                      daruma_buf *why)
{
    json_iter it = json_open(inputs);
    daruma_str key, value;
    bool list = json_is_object(inputs) || json_is_array(inputs);
    if (!inputs.n || str_eq(inputs, S("null")) || str_eq(inputs, S("\"\"")))
        return AGENT_PLAN_GOOD;
    if (!list || json_count(inputs) > AGENT_PLAN_INPUTS_MAX) {
        BUF_SAY(why, "the inputs of step \"", s->key, "\" are ", list ? "too many" : "no object of names and keys");
        return AGENT_PLAN_UNREAD;
    }
    s->inputs = ARENA_NEW(a, agent_input, AGENT_PLAN_INPUTS_MAX);
    while (s->inputs && s->ninputs < AGENT_PLAN_INPUTS_MAX && json_next(&it, &key, &value)) {
        daruma_str from = flow_line(str_trim(json_text(value, a)), TRACKED_NAME_BYTES_MAX);
        if (!earlier_key(p, from)) {
            BUF_SAY(why, "step \"", s->key, "\" wants the input \"", from,
                    "\", which no earlier step gives; there are:");
            for (size_t i = 0; i < p->n; i++)
                BUF_SAY(why, " ", p->steps[i].key);
            if (!p->n)
                BUF_LIT(why, " none");
            return AGENT_PLAN_INPUT;
        }
        s->inputs[s->ninputs++] = (agent_input){.name = json_is_object(inputs) ? key : from, .from = from};
    }
    return AGENT_PLAN_GOOD;
}

static agent_plan_verdict read_step(daruma_str v, const agent_tool *tools, size_t ntools, const bool *usable,
                                    daruma_arena *a, agent_plan *p, daruma_buf *why)
{
    agent_plan_step s = {.key = flow_line(member_text(v, S("key"), a), TRACKED_NAME_BYTES_MAX),
                         .tool = member_text(v, S("tool"), a),
                         .objective = member_text(v, S("objective"), a),
                         .expected = member_text(v, S("expected"), a)};
    if (!json_is_object(v) || (!s.objective.n && !s.tool.n)) {
        BUF_LIT(why, "a step has neither an objective nor a tool");
        return AGENT_PLAN_UNREAD;
    }
    bool known = is_answer(s.tool);
    for (size_t i = 0; i < ntools; i++)
        known |= usable[i] && str_eq(tools[i].about.name, s.tool);
    if (!known) {
        BUF_SAY(why, "the plan names the hallucinated tool \"", s.tool,
                "\", which is not among those that were chosen");
        return AGENT_PLAN_STRANGER;
    }
    if (is_answer(s.tool))
        s.tool = (daruma_str){0};
    if (!s.key.n || earlier_key(p, s.key)) {
        daruma_buf b = buf_in(a);
        buf_printf(&b, "step%zu", p->n + 1);
        s.key = buf_str(&b);
    }
    agent_plan_verdict inputs = read_inputs(json_get(v, S("inputs")), p, a, &s, why);
    if (inputs == AGENT_PLAN_GOOD)
        p->steps[p->n++] = s;
    return inputs;
}

/* The JSON within an answer: as it stands, or mended. */
static daruma_str json_within(daruma_str answer, daruma_arena *a)
{
    daruma_str v;
    answer = str_trim(answer);
    return json_whole(answer, &v) ? v : str_trim(json_repair(answer, a, NULL));
}

agent_plan_verdict agent_plan_read(daruma_str answer, const agent_tool *tools, size_t ntools, const bool *usable,
                                   daruma_arena *a, agent_plan *ret, daruma_buf *why)
{
    daruma_str v = json_within(answer, a), list = json_is_array(v) ? v : json_get(v, S("steps")), step;
    agent_plan p = {.steps = ARENA_NEW(a, agent_plan_step, AGENT_PLAN_STEPS_MAX + 1)};
    json_iter it = json_open(list);
    if (!json_is_array(list) || !p.steps) {
        BUF_LIT(why, "the answer holds no list of steps");
        return AGENT_PLAN_UNREAD;
    }
    while (json_next(&it, NULL, &step)) {
        if (p.n == AGENT_PLAN_STEPS_MAX) {
            buf_printf(why, "the plan has more than %d steps", AGENT_PLAN_STEPS_MAX);
            return AGENT_PLAN_UNREAD;
        }
        agent_plan_verdict verdict = read_step(step, tools, ntools, usable, a, &p, why);
        if (verdict != AGENT_PLAN_GOOD)
            return verdict;
    }
    if (it.bad)
        return AGENT_PLAN_UNREAD;
    if (!p.n || p.steps[p.n - 1].tool.n) {
        agent_plan_step last = {.key = S("answer"), .objective = S("Answer the task with what the steps before gave.")};
        last.inputs = ARENA_NEW(a, agent_input, p.n + 1);
        for (size_t i = 0; last.inputs && i < p.n; i++)
            last.inputs[last.ninputs++] = (agent_input){p.steps[i].key, p.steps[i].key};
        p.steps[p.n++] = last;
    }
    if (a->full)
        return AGENT_PLAN_UNREAD;
    *ret = p;
    return AGENT_PLAN_GOOD;
}

/* ---- asking ---- */

static void put_tools(const agent *a, daruma_buf *b, bool all)
{
    for (size_t i = 0; i < a->s.ntools; i++) {
        if (!all && !a->planning.usable[i])
            continue;
        BUF_SAY(b, "- ", a->s.tools[i].about.name, ": ",
                flow_line(a->s.tools[i].about.description, STRATEGY_SCHEMA_BYTES_MAX), "\n");
    }
}

static void put_complaint(const agent *a, daruma_buf *b)
{
    if (!a->planning.complaint.n)
        return;
    BUF_SAY(b, "\nYour last answer could not be used: ", a->planning.complaint, ".\n");
}

/* What made another plan, or another choice, necessary; and what was learned on the way. */
static void put_context(const agent *a, const char *title, daruma_buf *b)
{
    buf_printf(b, "\n%s\n", title);
    agent_failure_write(&a->failure, b);
    buf_putc(b, '\n');
    for (size_t i = 0; a->planning.outputs && i < a->planning.plan.n && i < a->planning.at; i++)
        BUF_SAY(b, "\nAlready done: ", a->planning.plan.steps[i].objective,
                "\nIts output: ", flow_line(a->planning.outputs[i], PARTIAL_WORDS_BYTES_MAX), "\n");
}

/* What both questions say: the task, the tools, what failed before (`context`; NULL: nothing did), and what was wrong
 * with the answer of the same round. False: a limit is reached. */
static bool put_question(agent *a, uint32_t *asked_in, uint32_t round, bool all_tools, const char *context,
                         daruma_buf *b)
{
    agent_limit l = limits_reached(a, true, false);
    if (l) {
        flow_limit(a, l);
        return false;
    }
    if (*asked_in != round) {
        *asked_in = round;
        a->repairs = 0;
        a->planning.complaint = (daruma_str){0};
    }
    BUF_SAY(b, "TASK:\n", flow_line(a->task, AGENT_OUTPUT_BYTES_MAX), "\n\nTOOLS:\n");
    put_tools(a, b, all_tools);
    if (context)
        put_context(a, context, b);
    put_complaint(a, b);
    a->attempts++;
    return true;
}

void plan_ask_classes(agent *a)
{
    uint32_t again = a->spent.reclassifications;
    const char *context = again ? "PREVIOUS FAILURE: other tools are needed." : NULL;
    daruma_buf b = buf_in(&a->scratch);
    if (!put_question(a, &a->planning.classes_round, again + 1, true, context, &b))
        return;
    daruma_question q = {.system = S("Say which of the tools can serve the task. Answer with JSON only: {\"tools\": "
                                     "[\"name\", ...]}, with an empty list when none is needed."),
                         .user = buf_str(&b),
                         .max_tokens = AGENT_CLASSES_TOKENS};
    flow_ask(a, AGENT_FOR_CLASSES, a->s.model, &q, limits_time_left(a));
}

void plan_ask(agent *a)
{
    uint32_t again = a->spent.replans + a->spent.reclassifications;
    daruma_buf b = buf_in(&a->scratch);
    if (!put_question(a, &a->planning.plan_round, again + 1, false, a->spent.replans ? "REPLANNING CONTEXT" : NULL, &b))
        return;
    daruma_question q = {
        .system = S("Make a plan for the task. Answer with JSON only: {\"steps\": [{\"key\": \"name of its output\", "
                    "\"tool\": \"one of the tools, or respond\", \"objective\": \"what the step does\", \"inputs\": "
                    "{\"name\": \"key of an earlier step\"}, \"expected\": \"what comes out\"}]}. Use no tool that is "
                    "not listed and no key that no earlier step has. The last step is a respond."),
        .user = buf_str(&b),
        .max_tokens = AGENT_PLAN_TOKENS};
    flow_ask(a, AGENT_FOR_PLAN, a->s.model, &q, limits_time_left(a));
}

/* ---- answers ---- */

/* The answer is no use: the same question once more, with what was wrong. False: often enough. */
static bool once_more(agent *a, daruma_str why)
{
    if (a->repairs >= a->policy->repairs)
        return false;
    a->repairs++;
    a->planning.complaint = flow_text(a, flow_line(why, FAILURE_TEXT_BYTES_MAX));
    return true;
}

static void classes_answered(agent *a, daruma_str text)
{
    daruma_str v = json_within(text, &a->scratch), list = json_is_array(v) ? v : json_get(v, S("tools")), item;
    json_iter it = json_open(list);
    bool read = json_is_array(list);
    if (!read && once_more(a, S("it is no JSON object with a list of tools")))
        return;
    /* Who cannot be understood chooses all: the plan is checked all the same. */
    for (size_t i = 0; i < a->s.ntools; i++)
        a->planning.usable[i] = !read;
    while (read && json_next(&it, NULL, &item)) {
        daruma_str name = json_text(item, &a->scratch);
        for (size_t i = 0; i < a->s.ntools; i++)
            a->planning.usable[i] |= str_eq(a->s.tools[i].about.name, name);
    }
    if (a->recovering)
        think_recovered(a, "retry");
    a->attempts = 0;
    a->phase = PHASE_PLAN;
}

static void plan_invalid(agent *a, agent_plan_verdict v, daruma_str why)
{
    daruma_severity s = v == AGENT_PLAN_STRANGER ? DARUMA_RECLASSIFICATION
                        : v == AGENT_PLAN_INPUT  ? DARUMA_REPLANNING
                                                 : a->policy->plan_unread;
    agent_failure f = router_own(a, DARUMA_PLAN_INVALID, s, why);
    f.said = true;
    f.operation = S("plan");
    router_keep(a, &f);
    router_route(a, NULL);
}

/* The plan was read into the scratch arena. */
static void keep_plan(agent *a, const agent_plan *p)
{
    agent_plan_step *steps = ARENA_NEW(&a->keep, agent_plan_step, p->n);
    a->planning.outputs = ARENA_NEW(&a->keep, daruma_str, p->n);
    if (!steps || !a->planning.outputs)
        return;
    for (size_t i = 0; i < p->n; i++) {
        const agent_plan_step *from = &p->steps[i];
        steps[i] = (agent_plan_step){.key = flow_keep(a, from->key),
                                     .tool = flow_keep(a, from->tool),
                                     .objective = flow_keep(a, from->objective),
                                     .expected = flow_keep(a, from->expected),
                                     .inputs = ARENA_NEW(&a->keep, agent_input, from->ninputs + 1)};
        for (size_t k = 0; steps[i].inputs && k < from->ninputs; k++)
            steps[i].inputs[steps[i].ninputs++] =
                (agent_input){flow_keep(a, from->inputs[k].name), flow_keep(a, from->inputs[k].from)};
    }
    a->planning.plan = (agent_plan){steps, p->n};
}

static void plan_begin_step(agent *a)
{
    const agent_plan_step *s = &a->planning.plan.steps[a->planning.at];
    LOG(a, "plan_step", "number", (int64_t)a->planning.at + 1, "of", a->planning.plan.n, "tool", s->tool, "objective",
        s->objective);
    a->planning.from = a->nsteps;
    a->gone = (agent_gone){.calls = a->gone.calls};
    for (size_t i = 0; i <= a->s.ntools; i++)
        a->gone.calls[i] = (struct agent_gone_calls){0};
    a->attempts = a->repairs = 0;
    a->phase = PHASE_THINK;
}

void plan_answered(agent *a, daruma_str text)
{
    agent_plan p;
    daruma_buf why = buf_in(&a->scratch);
    if (a->phase == PHASE_CLASSES) {
        classes_answered(a, text);
        return;
    }
    agent_plan_verdict v = agent_plan_read(text, a->s.tools, a->s.ntools, a->planning.usable, &a->scratch, &p, &why);
    if (v == AGENT_PLAN_UNREAD && once_more(a, why.n ? buf_str(&why) : S("it is no plan")))
        return;
    if (v != AGENT_PLAN_GOOD) {
        plan_invalid(a, v, why.n ? buf_str(&why) : S("the planner made no plan that can be read"));
        return;
    }
    bool anew = a->spent.replans || a->spent.reclassifications;
    if (a->recovering || (anew && a->failure.kind == DARUMA_PLAN_INVALID))
        think_recovered(a, a->recovering ? "retry" : a->spent.replans ? "replan" : "reclassify");
    else if (anew)
        a->spent.recoveries++; /* the failure of a tool: whether this plan works is still to be seen */
    keep_plan(a, &p);
    a->planning.plans_made++;
    LOG(a, "plan_made", "steps", a->planning.plan.n);
    a->planning.at = 0;
    if (!a->keep.full)
        plan_begin_step(a);
}

void plan_step_done(agent *a, daruma_str output)
{
    a->planning.outputs[a->planning.at] = flow_keep(a, flow_line(output, AGENT_OUTPUT_BYTES_MAX));
    if (a->planning.at + 1 < a->planning.plan.n) {
        a->planning.at++;
        plan_begin_step(a);
        return;
    }
    flow_finish(a, flow_answer(a, output));
}

void plan_context(const agent *a, daruma_buf *out)
{
    const agent_plan_step *s = a->planning.at < a->planning.plan.n ? &a->planning.plan.steps[a->planning.at] : NULL;
    BUF_SAY(out, "The whole task, of which you do one step now:\n", a->task);
    if (!s)
        return;
    BUF_SAY(out, "\n\nYour step, ", a->planning.at + 1, " of ", a->planning.plan.n, ": ", s->objective);
    if (s->expected.n)
        BUF_SAY(out, "\nWhat shall come of it: ", s->expected);
    for (size_t i = 0; i < s->ninputs; i++)
        for (size_t k = 0; k < a->planning.at; k++) {
            if (!str_eq(a->planning.plan.steps[k].key, s->inputs[i].from))
                continue;
            BUF_SAY(out, "\n\nInput ", s->inputs[i].name, ":\n", a->planning.outputs[k]);
        }
    buf_putz(out, s->tool.n ? "\n\nCall the tool as often as the step needs it, then say what came out of it."
                            : "\n\nAnswer now.");
}

bool plan_offers(const agent *a, size_t tool)
{
    return a->planning.at < a->planning.plan.n && a->planning.plan.steps[a->planning.at].tool.n &&
           str_eq(a->planning.plan.steps[a->planning.at].tool, a->s.tools[tool].about.name);
}
