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
    r.calls = (uint32_t)rest(l->calls, u->calls);
    r.tools = (uint32_t)rest(l->tools, u->tools);
    r.tokens = rest(l->tokens, add_sat(u->input_tokens, u->output_tokens));
    r.money = rest(l->money, u->money);
    r.time = rest(l->time, at.now - a->opened);
    return r;
}

static void put_member(daruma_buf *out, const char *name, daruma_str text)
{
    BUF_SAY(out, ",\"", name, "\":", buf_quoted(text));
}

static void delegation_record(daruma_str child, const agent_result *r, daruma_buf *out)
{
    BUF_SAY(out, "{\"error\":true,\"agent\":", buf_quoted(child));
    put_member(out, "status", str_of(daruma_outcome_name(r->outcome)));
    put_member(out, "reason", str_of(agent_end_name(r->end)));
    if (r->limit)
        put_member(out, "limit", str_of(agent_limit_name(r->limit)));
    if (r->end == AGENT_END_ERROR || r->end == AGENT_END_FATAL || r->end == AGENT_END_GRACEFUL ||
        r->end == AGENT_END_ESCALATED) {
        put_member(out, "error_class", str_of(r->failure.label ? r->failure.label : daruma_kind_name(r->failure.kind)));
        put_member(out, "severity", str_of(daruma_severity_name(r->failure.severity)));
        put_member(out, "failed_operation", r->failure.operation);
        put_member(out, "message", flow_line(r->failure.message, FAILURE_TEXT_BYTES_MAX));
        if (r->failure.metadata.n && json_valid(r->failure.metadata))
            BUF_SAY(out, ",\"metadata\":", r->failure.metadata);
    }
    if (r->end == AGENT_END_LIMIT || r->end == AGENT_END_LOOP)
        put_member(out, "partial", flow_line(r->text, AGENT_OUTPUT_BYTES_MAX));
    buf_putc(out, '}');
}

void agent_delegated(agent *a, uint32_t call, daruma_str child, const agent_result *r, daruma_moment at)
{
    bool well = r->end == AGENT_END_ANSWER;
    agent_spent *u = &a->spent;
    if (a->phase == PHASE_OVER || a->out != OUT_TOOL || a->act.call != call)
        return;
    u->calls += r->spent.calls;
    u->tools += r->spent.tools;
    u->input_tokens = add_sat(u->input_tokens, r->spent.input_tokens);
    u->output_tokens = add_sat(u->output_tokens, r->spent.output_tokens);
    u->money = add_sat(u->money, r->spent.money);
    u->failures += r->spent.failures;
    u->recoveries += r->spent.recoveries;
    u->unread += r->spent.unread;
    u->repairs += r->spent.repairs;
    u->salvaged += r->spent.salvaged;
    if (well) {
        agent_tool_done(a, call, r->text, 1, false, at);
        return;
    }
    daruma_buf b = buf_in(&a->texts);
    delegation_record(child, r, &b);
    agent_tool_done(a, call, b.full ? S("{\"error\":true}") : buf_str(&b), 0, false, at);
}
