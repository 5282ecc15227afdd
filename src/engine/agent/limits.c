/* limits.c - what a run may use, what it has used, and its end in words for programs. */
#include "engine/agent/inside.h"

const char *agent_limit_name(agent_limit l)
{
#define X(sym, name, words) name,
    static const char *const names[] = {AGENT_LIMIT_MAP(X)};
#undef X
    return names[l];
}

const char *agent_limit_words(agent_limit l)
{
#define X(sym, name, words) words,
    static const char *const all[] = {AGENT_LIMIT_MAP(X)};
#undef X
    return all[l];
}

const char *agent_end_name(agent_end e)
{
#define X(sym, name) name,
    static const char *const names[] = {AGENT_END_MAP(X)};
#undef X
    return names[e];
}

static bool over(int64_t used, int64_t limit)
{
    return limit > 0 && used >= limit;
}

/* The first limit that a further act would break: a call of a model, or of a tool. */
agent_limit limits_reached(const agent *a, bool model, bool tool)
{
    const agent_limits *l = &a->s.limits;
    const agent_spent *u = &a->spent;
    if (a->keep.full || a->texts.full || a->scratch.full)
        return AGENT_LIMIT_MEMORY;
    if (l->time > 0 && a->at.now - a->opened >= l->time)
        return AGENT_LIMIT_TIME;
    if (over(u->money, l->money))
        return AGENT_LIMIT_MONEY;
    if (over(add_sat(u->input_tokens, u->output_tokens), l->tokens))
        return AGENT_LIMIT_TOKENS;
    if (model && over(u->calls, l->calls))
        return AGENT_LIMIT_CALLS;
    if (model && a->phase == PHASE_THINK && over(u->steps, l->steps))
        return AGENT_LIMIT_STEPS;
    if (tool && over(u->tools, l->tools))
        return AGENT_LIMIT_TOOLS;
    return AGENT_LIMIT_NONE;
}

bool limits_last_call(const agent *a)
{
    const agent_limits *l = &a->s.limits;
    return (l->calls > 1 && a->spent.calls + 1 >= l->calls) || (l->steps > 1 && a->spent.steps + 1 >= l->steps) ||
           (l->tools && a->spent.tools >= l->tools);
}

uint32_t limits_calls_left(const agent *a)
{
    uint32_t most = a->s.limits.calls;
    return !most ? 0 : a->spent.calls < most ? most - a->spent.calls + 1 : 1;
}

daruma_ms limits_time_left(const agent *a)
{
    daruma_ms most = a->s.limits.time, left = most - (a->at.now - a->opened);
    return most <= 0 ? -1 : left > 0 ? left : 0;
}

bool limits_time_over(const agent *a)
{
    daruma_ms left = limits_time_left(a);
    return left >= 0 && left < AGENT_TIME_OVER_MS;
}

static int64_t cost(int64_t tokens, int64_t price)
{
    return price > 0 ? mul_sat(tokens, price) / 1000000 : 0;
}

/* Counts an answer; where the provider tells no usage it is estimated from what was asked and said. */
void limits_usage(agent *a, const turn_usage *u, daruma_str said)
{
    int64_t in = u->input > 0 ? u->input : a->asked_tokens; /* a question of no tokens is one that nobody counted */
    int64_t out = u->output > 0 ? u->output : text_tokens(said);
    const agent_limits *l = &a->s.limits;
    a->spent.input_tokens = add_sat(a->spent.input_tokens, in);
    a->spent.output_tokens = add_sat(a->spent.output_tokens, out);
    a->spent.money = add_sat(a->spent.money, add_sat(cost(in, l->price_input), cost(out, l->price_output)));
}

/* ---- the end of a run as JSON ---- */

void agent_result_json(const agent_result *r, uint32_t recovered, daruma_buf *out)
{
    const agent_spent *s = &r->spent;
    char room[32];
    daruma_buf money = buf_over(room, sizeof room);
    buf_printf(&money, "%lld.%06lld", (long long)(s->money / 1000000), (long long)(s->money % 1000000));
    bool asks = r->end == AGENT_END_ESCALATED;
    BUF_LIT(out, "{");
    BUF_MEMBERS(out, "event", "result", "status", daruma_outcome_name(r->outcome), "reason", agent_end_name(r->end),
                "limit", agent_limit_name(r->limit), "steps", s->steps, "calls", s->calls, "tools", s->tools,
                "input_tokens", s->input_tokens, "output_tokens", s->output_tokens, "failures", s->failures,
                "recoveries", s->recoveries, "recovered_calls", recovered);
    BUF_MEMBERS(out, "money", BUF_IF(s->money, buf_raw(buf_str(&money))), "validation_failures_count",
                BUF_IF(s->unread, s->unread), "repair_attempts", BUF_IF(s->repairs, s->repairs), "salvage_used",
                BUF_IF(s->salvaged, s->salvaged), "waited_ms", s->waited, "took_ms", s->time, "_recovery",
                buf_raw(r->recovery), "last_error", BUF_IF(asks, r->last_error), "error_history",
                BUF_IF(asks, buf_raw(r->history.n ? r->history : S("[]"))), "why", buf_any(r->reason), "text", r->text);
    BUF_LIT(out, "}");
}
