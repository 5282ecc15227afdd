/* result.c - the end of a run as JSON. */
#include "run/host.h"
#include "base/buf.h"
#include "base/str.h"

void run_result_json(const agent_result *r, uint32_t recovered, daruma_buf *out)
{
    const agent_spent *s = &r->spent;
    BUF_LIT(out, "{\"event\":\"result\",\"status\":");
    buf_json(out, str_of(daruma_outcome_name(r->outcome)));
    BUF_LIT(out, ",\"reason\":");
    buf_json(out, str_of(agent_end_name(r->end)));
    buf_printf(out,
               ",\"limit\":\"%s\",\"steps\":%u,\"calls\":%u,\"tools\":%u,\"input_tokens\":%lld,\"output_tokens\":%lld",
               agent_limit_name(r->limit), s->steps, s->calls, s->tools, (long long)s->input_tokens,
               (long long)s->output_tokens);
    buf_printf(out, ",\"failures\":%u,\"recoveries\":%u,\"recovered_calls\":%u,\"waited_ms\":%lld,\"took_ms\":%lld",
               s->failures, s->recoveries, recovered, (long long)s->waited, (long long)s->time);
    if (r->recovery.n) {
        BUF_LIT(out, ",\"_recovery\":");
        buf_put(out, r->recovery);
    }
    if (r->end == AGENT_END_ESCALATED) {
        BUF_LIT(out, ",\"last_error\":");
        buf_json(out, r->last_error);
        BUF_LIT(out, ",\"error_history\":");
        buf_put(out, r->history.n ? r->history : S("[]"));
    }
    if (r->reason.n) {
        BUF_LIT(out, ",\"why\":");
        buf_json(out, r->reason);
    }
    BUF_LIT(out, ",\"text\":");
    buf_json(out, r->text);
    BUF_LIT(out, "}");
}
