/* router.c - judges failures of models and tools, and decides by severity where they go: once more, to the model, to
 * the planner, to the classifier, to the error node, or out. Ways and budgets are rows of the policy. */
#include "engine/agent/inside.h"

/* The default does not end a run for what a model can work around: a tool's failure goes to the model first, and only
 * what tools or hosts call critical goes to the error node. */
const agent_policy agent_policy_default = {
    .name = "default",
    .routes = {[AGENT_REACTIVE] = {[DARUMA_RETRIABLE] = {AGENT_ROUTE_AGAIN, AGENT_ROUTE_MODEL},
                                   [DARUMA_REPLANNING] = {AGENT_ROUTE_MODEL, AGENT_ROUTE_ERROR},
                                   [DARUMA_RECLASSIFICATION] = {AGENT_ROUTE_MODEL, AGENT_ROUTE_ERROR},
                                   [DARUMA_CRITICAL] = {AGENT_ROUTE_ERROR, AGENT_ROUTE_ERROR},
                                   [DARUMA_FATAL] = {AGENT_ROUTE_OUT, AGENT_ROUTE_OUT}},
               [AGENT_PLANNED] = {[DARUMA_RETRIABLE] = {AGENT_ROUTE_AGAIN, AGENT_ROUTE_PLANNER},
                                  [DARUMA_REPLANNING] = {AGENT_ROUTE_PLANNER, AGENT_ROUTE_ERROR},
                                  [DARUMA_RECLASSIFICATION] = {AGENT_ROUTE_CLASSIFIER, AGENT_ROUTE_ERROR},
                                  [DARUMA_CRITICAL] = {AGENT_ROUTE_ERROR, AGENT_ROUTE_ERROR},
                                  [DARUMA_FATAL] = {AGENT_ROUTE_OUT, AGENT_ROUTE_OUT}}},
    .tools_to_model = true,
    .tool_unsaid = DARUMA_REPLANNING,
    .repeats_safe_tools = true,
    .retry = {.attempts = 3, .delay = 1000, .factor_milli = 2000},
    .tool_retry = {.attempts = 5, .delay = 1000, .factor_milli = 2000}, /* 15 s: a wait is cheaper than a question */
    .replans = 1,
    .reclassifications = 1,
    .plan_unread = DARUMA_CRITICAL,
    .repairs = 3,
    .compressions = 2,
    .compress_over_chars = 2000,
    .masks = true,
    .graceful = true,
    .compact = true,
    .escalates = true,
    .guards_effects = true,
    .completes_paths = true,
    .watched = true,
    .strategies = AGENT_STRATEGIES_AUTO,
    .report = AGENT_REPORT_OURS,
};

const agent_tool *router_tool(const agent *a, daruma_str name)
{
    for (size_t i = 0; i < a->s.ntools; i++)
        if (str_eq(a->s.tools[i].about.name, name))
            return &a->s.tools[i];
    return NULL;
}

bool agent_tool_is_safe(const agent_tool *t)
{
    unsigned traits = t ? t->about.traits : 0;
    return (traits & DARUMA_TOOL_KNOWN) && (traits & (DARUMA_TOOL_READS | DARUMA_TOOL_WRITES | DARUMA_TOOL_NOTES)) &&
           !(traits & DARUMA_TOOL_ACTS);
}

/* ---- judging ---- */

daruma_str router_type(const agent_failure *f)
{
    return str_of(f->type ? f->type : daruma_kind_name(f->kind));
}

agent_failure router_judge_model(agent *a, const daruma_evidence *ev, daruma_str operation)
{
    daruma_evidence of_model = *ev;
    of_model.model_call = true;
    daruma_failure plain = daruma_classify(&of_model, a->at, &a->scratch);
    daruma_failure f = daruma_judge(a->recovery, ev, &plain);
    agent_failure r = {.kind = f.kind,
                       .severity = f.severity,
                       .retryable = f.retryable,
                       .of_model = true,
                       .type = f.type,
                       .label = f.label,
                       .operation = operation,
                       .message = f.message.n ? f.message
                                  : ev->net   ? str_of(daruma_net_words(ev->net))
                                              : str_of(daruma_kind_words(plain.kind)),
                       .advice = f.wait,
                       .status = f.status};
    /* The same question would fail in the same way: what mends it is not known here. */
    if (r.severity == DARUMA_RETRIABLE && !f.retryable && f.kind != DARUMA_MALFORMED_OUTPUT)
        r.severity = DARUMA_CRITICAL;
    return r;
}

agent_failure router_own(const agent *a, daruma_kind kind, daruma_severity severity, daruma_str message)
{
    return (agent_failure){.kind = kind,
                           .of_model = true,
                           .operation = a->s.model,
                           .message = message,
                           .severity = severity,
                           .advice = -1};
}

/* A row speaks when its words stand in the text, letters of either case. */
static bool rule_fits(const agent_rule *r, daruma_str text)
{
    return !r->words.n || str_ifind(text, r->words) != STR_NONE;
}

/* The kind of failures of tools that has a name; UNKNOWN: there is none. */
static daruma_tool_kind tool_kind_of(daruma_str name)
{
    for (int k = 1; k < DARUMA_TOOL_KINDS; k++)
        if (str_eq(name, str_of(daruma_tool_kind_name((daruma_tool_kind)k))))
            return (daruma_tool_kind)k;
    return DARUMA_TOOL_UNKNOWN_KIND;
}

agent_failure router_judge_tool(agent *a, const agent_tool *t, const daruma_step *step)
{
    daruma_tool_failure f = daruma_tool_judge(step, a->recovery, &a->scratch);
    agent_failure r = {.kind = DARUMA_TOOL_ERROR,
                       .tool_kind = f.kind,
                       .severity = a->policy->tool_unsaid,
                       .retryable = f.retryable || step->lost,
                       .unmade = f.unmade,
                       .operation = step->tool,
                       .message = f.message,
                       .advice = -1};
    daruma_str said = t && t->delegates ? json_get(step->result, S("message")) : (daruma_str){0};
    if (json_is_string(said)) { /* the record of an agent, which says what its failure is */
        r.message = json_text(said, &a->scratch);
        r.tool_kind = tool_kind_of(json_text(json_get(step->result, S("error_class")), &a->scratch));
    }
    for (size_t i = 0; t && i < t->nrules; i++) {
        const agent_rule *row = &t->rules[i];
        if (!rule_fits(row, step->result))
            continue;
        if (row->kind)
            r.type = daruma_tool_kind_name(r.tool_kind = row->kind);
        if (row->severity >= 0 && row->severity < AGENT_SEVERITIES) {
            r.severity = (daruma_severity)row->severity;
            r.said = true;
        }
        r.user_message = row->user_message;
        r.metadata = row->metadata;
        break;
    }
    if (t && t->judge)
        t->judge(t, step->result, &r);
    return r;
}

void router_keep(agent *a, const agent_failure *f)
{
    agent_failure k = *f;
    k.operation = flow_text(a, flow_line(f->operation, TRACKED_NAME_BYTES_MAX));
    k.message = flow_text(a, daruma_redact(flow_line(f->message, CLASSIFY_MESSAGE_BYTES_MAX), &a->scratch));
    k.user_message = flow_text(a, flow_line(f->user_message, FAILURE_TEXT_BYTES_MAX));
    k.metadata = json_valid(f->metadata) && f->metadata.n <= AGENT_METADATA_BYTES_MAX ? flow_text(a, f->metadata)
                                                                                      : (daruma_str){0};
    if (!k.said && !k.metadata.n && a->policy->details) {
        daruma_buf details = buf_in(&a->texts);
        BUF_OBJECT(&details, "technical_details", k.message);
        k.metadata = details.full ? (daruma_str){0} : buf_str(&details);
    }
    a->failure = k;
    a->spent.failures++;
}

/* ---- routing ---- */

/* How long is waited before the next try, when `done` were made. What the failing side advises wins when it is longer.
 */
static daruma_ms router_delay(const agent_retry *r, uint32_t done, daruma_ms advice)
{
    daruma_ms d = r->delay;
    uint32_t steps = done > 0 ? done - 1 : 0;
    if (r->first_at_once) {
        d = done <= 1 ? 0 : d;
        steps = done > 1 ? done - 2 : 0;
    }
    for (uint32_t i = 0; i < steps && d < AGENT_WAIT_MS_MAX; i++)
        d = mul_sat(d, r->factor_milli ? r->factor_milli : 1000) / 1000;
    if (advice > d)
        d = advice;
    return d < 0 ? 0 : d;
}

agent_retry agent_retry_of(const agent_retry *own, agent_retry usual, agent_retry fresh)
{
    bool says = own->attempts || own->factor_milli;
    if (own->attempts) {
        usual = fresh;
        usual.attempts = own->attempts;
    }
    if (own->factor_milli)
        usual.factor_milli = own->factor_milli;
    if (own->delay > 0 || (!own->delay && says)) {
        usual.delay = own->delay;
        usual.first_at_once = own->first_at_once;
    }
    return usual;
}

/* Of a call whose answer was lost: one that ends its server each time is not to spend all its restarts. */
enum { LOST_TRIES = 3 };

/* The same operation once more. False: its attempts are used up, or the time does not suffice. */
bool router_again(agent *a, agent_step *s)
{
    const agent_tool *t = s ? router_tool(a, s->tool) : NULL;
    agent_retry r = s ? a->policy->tool_retry : a->policy->retry;
    if (!s && a->phase == PHASE_CLASSES && a->policy->classes_retry.attempts)
        r = a->policy->classes_retry;
    if (s && s->lost && r.attempts > LOST_TRIES)
        r.attempts = LOST_TRIES;
    if (t)
        r = agent_retry_of(&t->retry, r, (agent_retry){.delay = 1000, .factor_milli = 1500});
    uint32_t done = s ? s->attempts : a->attempts;
    daruma_ms delay = router_delay(&r, done, a->failure.advice), left = limits_time_left(a);
    /* A call that may have had an effect is not made twice. */
    if (done >= r.attempts || delay > AGENT_WAIT_MS_MAX || (s && s->lost && !agent_tool_is_safe(t)))
        return false;
    if (left >= 0 && delay >= left) {
        if (a->policy->raises)
            flow_limit(
                a, AGENT_LIMIT_TIME); /* its seed waits, whatever the time: that ends the run before the wait does */
        return a->policy->raises;
    }
    LOG(a, "retry_scheduled", "operation", a->failure.operation, "attempt", done, "max_attempts", r.attempts,
        "delay_ms", delay, "reason", a->failure.message);
    a->recovering = true;
    if (s) {
        s->done = false;
        s->failed = false;
    }
    flow_wait(a, delay);
    return true;
}

static void tell_route(agent *a, const char *name, uint32_t count, uint32_t most, const char *reason_field)
{
    daruma_str why = json_get(a->failure.metadata, str_of(reason_field));
    LOG(a, name, "count", count, "limit", most, "reason",
        json_is_string(why) ? json_text(why, &a->scratch) : a->failure.message);
}

static bool replan(agent *a)
{
    uint32_t used = !a->policy->counts_plans ? a->spent.replans
                    : a->planning.plans_made ? a->planning.plans_made - 1
                                             : 0;
    if (a->s.mode != AGENT_PLANNED || used >= a->policy->replans)
        return false;
    a->spent.replans++; /* with the attempt, not with its success: it ends whatever the planner does */
    tell_route(a, "replan", a->spent.replans, a->policy->replans, "replanning_reason");
    a->attempts = 0;
    a->phase = PHASE_PLAN;
    return true;
}

static bool reclassify(agent *a)
{
    if (a->s.mode != AGENT_PLANNED || a->spent.reclassifications >= a->policy->reclassifications)
        return false;
    a->spent.reclassifications++;
    tell_route(a, "reclassify", a->spent.reclassifications, a->policy->reclassifications, "reclassification_reason");
    a->attempts = 0;
    a->phase = PHASE_CLASSES;
    return true;
}

/* Shows the model a failure of a tool. A model's own failure cannot be shown to it. */
static bool to_model(agent *a, agent_step *s)
{
    if (!s)
        return false;
    s->done = true;
    a->phase = PHASE_TOOLS;
    return true;
}

void router_route(agent *a, agent_step *s)
{
    const agent_route_row *row = &a->policy->routes[a->s.mode][a->failure.severity];
    agent_route way = row->to;
    if (limits_time_over(a) && (a->failure.of_model || a->failure.severity != DARUMA_FATAL)) {
        flow_limit(a, AGENT_LIMIT_TIME); /* it was cut off by the limit, or is the last that there was time for */
        return;
    }
    if (a->failure.of_model && daruma_kind_passes(a->failure.kind) &&
        limits_reached(a, true, false) == AGENT_LIMIT_CALLS) {
        flow_limit(a, AGENT_LIMIT_CALLS); /* it would be asked again, but for that */
        return;
    }
    for (int tries = 0; tries < 2; tries++, way = row->spent) {
        bool went = false;
        switch (way) {
        case AGENT_ROUTE_AGAIN:
            went = router_again(a, s);
            if (!went && !s && a->attempts > 1 && !a->policy->hides_success)
                LOG(a, "error_recovery_failed", "error_type", router_type(&a->failure), "reason", "exhausted");
            break;
        case AGENT_ROUTE_MODEL:
            went = to_model(a, s);
            break;
        case AGENT_ROUTE_PLANNER:
            went = replan(a);
            break;
        case AGENT_ROUTE_CLASSIFIER:
            went = reclassify(a);
            break;
        case AGENT_ROUTE_ERROR:
            error_node_enter(a);
            return;
        case AGENT_ROUTE_SHOWN:
            if (to_model(a, s))
                return;
            /* fallthrough */
        case AGENT_ROUTE_OUT:
            flow_finish(
                a, (agent_result){.outcome = DARUMA_OUTCOME_FAILED,
                                  .end = AGENT_END_FATAL,
                                  .failure = a->failure,
                                  .reason = a->failure.message,
                                  .text = a->failure.user_message.n ? a->failure.user_message : a->failure.message});
            return;
        }
        if (went)
            return;
    }
    error_node_enter(a);
}

void router_planner(agent *a)
{
    if (!replan(a))
        error_node_enter(a);
}
