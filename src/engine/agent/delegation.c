/* delegation.c - agents that work for agents: one is a tool of another. What the child spends is its parent's, and its
 * failure reaches the parent as a record that says so, never as an answer. */
#include "engine/agent/inside.h"

static int64_t rest(int64_t limit, int64_t used)
{
    if (limit <= 0)
        return 0; /* no limit */
    return limit > used ? limit - used : 1;
}

agent_limits agent_limits_left(const agent *a, daruma_moment at)
{
    const agent_limits *l = &a->s.limits;
    const agent_spent *u = &a->spent;
    agent_limits r = *l;
    r.steps = (uint32_t)rest(l->steps, (int64_t)u->steps + 1); /* one stays for the answer */
    r.calls = (uint32_t)rest(l->calls, u->calls);
    r.tools = (uint32_t)rest(l->tools, u->tools);
    r.tokens = rest(l->tokens, add_sat(u->input_tokens, u->output_tokens));
    r.money = rest(l->money, u->money);
    r.time = rest(l->time, at.now - a->opened);
    return r;
}

bool agent_may_delegate(const agent *a)
{
    uint32_t most = a->s.limits.steps;
    return !most || a->spent.steps + 1 < most;
}

/* What an end is called that is none of a failure's: there is a part of an answer. 0: it is one. */
static daruma_kind end_kind(agent_end e)
{
    static const daruma_kind kinds[] = {[AGENT_END_LIMIT] = DARUMA_BUDGET,
                                        [AGENT_END_NO_PATH] = DARUMA_BUDGET,
                                        [AGENT_END_LOOP] = DARUMA_LOOP,
                                        [AGENT_END_CANCELLED] = DARUMA_CANCELLED};
    return kinds[e];
}

static void delegation_record(daruma_str child, const agent_result *r, daruma_buf *out)
{
    const agent_failure *f = &r->failure;
    daruma_kind kind = end_kind(r->end);
    bool failed = kind == 0, asks = r->end == AGENT_END_ESCALATED;
    const char *class = kind ? daruma_kind_name(kind) : f->label ? f->label : daruma_kind_name(f->kind);
    daruma_str message = r->limit ? str_of(agent_limit_words(r->limit))
                         : kind   ? str_of(daruma_kind_words(kind))
                                  : f->message;
    BUF_LIT(out, "{");
    BUF_MEMBERS(out, "error", (bool)true, "agent", child, "message", flow_line(message, FAILURE_TEXT_BYTES_MAX),
                "status", daruma_outcome_name(r->outcome), "reason", agent_end_name(r->end), "limit",
                BUF_IF(r->limit, agent_limit_name(r->limit)), "error_class", class, "severity",
                BUF_IF(failed, daruma_severity_name(f->severity)), "failed_operation", BUF_IF(failed, f->operation));
    BUF_MEMBERS(out, "why", BUF_IF(asks, r->reason), "metadata",
                BUF_IF(failed && json_valid(f->metadata), buf_raw(f->metadata)), "partial",
                BUF_IF(kind, flow_line(r->text, AGENT_OUTPUT_BYTES_MAX)));
    BUF_LIT(out, "}");
}

void agent_add_spent(agent *a, const agent_spent *more)
{
    agent_spent *u = &a->spent;
    u->steps += more->steps;
    u->calls += more->calls;
    u->tools += more->tools;
    u->input_tokens = add_sat(u->input_tokens, more->input_tokens);
    u->output_tokens = add_sat(u->output_tokens, more->output_tokens);
    u->money = add_sat(u->money, more->money);
    u->waited = add_sat(u->waited, more->waited);
    u->failures += more->failures;
    u->recoveries += more->recoveries;
    u->unread += more->unread;
    u->repairs += more->repairs;
    u->salvaged += more->salvaged;
}

void agent_delegated(agent *a, uint32_t call, daruma_str child, const agent_result *r, daruma_moment at)
{
    bool well = r->end == AGENT_END_ANSWER;
    if (a->phase == PHASE_OVER || a->out != OUT_TOOL || a->act.call != call)
        return;
    agent_add_spent(a, &r->spent);
    if (well) {
        agent_tool_done(a, call, r->text, 1, false, at);
        return;
    }
    daruma_buf b = buf_in(&a->texts);
    delegation_record(child, r, &b);
    agent_tool_done(a, call, b.full ? S("{\"error\":true}") : buf_str(&b), 0, false, at);
}

void agent_not_delegated(agent *a, uint32_t call, daruma_str child, daruma_moment at)
{
    static const agent_result no_steps = {
        .outcome = DARUMA_OUTCOME_DEGRADED, .end = AGENT_END_LIMIT, .limit = AGENT_LIMIT_STEPS};
    agent_delegated(a, call, child, &no_steps, at);
}
