/* metrics.c - GET /metrics: what is counted, as OpenMetrics for who asks for that, else in Prometheus' older text
 * format, which calls a counter by its whole name. Names of metrics of models are OpenTelemetry's
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/). Labels are bounded: kinds, remedies, configured
 * targets, and the rows of meter.c. */
#include "base/buf.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"
#include "gateway/see/see.h"
#include "gateway/see/meter.h"
#include "gateway/see/trace.h"

typedef struct page {
    daruma_buf *out;
    bool open; /* OpenMetrics */
} page;

static void put_label_text(daruma_buf *b, daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '"' || s.p[i] == '\\')
            buf_printf(b, "\\%c", s.p[i]);
        else
            buf_putc(b, s.p[i] >= ' ' && s.p[i] <= '~' ? s.p[i] : '_');
}

/* One metric: what kind it is and what it says. The unit stands at the end of its name. */
static void begin(const page *p, const char *name, const char *type, const char *help)
{
    bool total = !p->open && str_eq(str_of(type), S("counter"));
    buf_printf(p->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, total ? "_total" : "", help, name,
               total ? "_total" : "", type);
}

static void counter(const page *p, const char *name, const char *help, uint64_t v)
{
    begin(p, name, "counter", help);
    buf_printf(p->out, "%s_total %llu\n", name, (unsigned long long)v);
}

static void gauge(const page *p, const char *name, const char *help, uint64_t v)
{
    begin(p, name, "gauge", help);
    buf_printf(p->out, "%s %llu\n", name, (unsigned long long)v);
}

static void one_of(const page *p, const char *name, const char *label, const char *is, uint64_t v)
{
    buf_printf(p->out, "%s_total{%s=\"%s\"} %llu\n", name, label, is, (unsigned long long)v);
}

/* Thousandths as a decimal number. */
static void put_milli(daruma_buf *b, uint64_t v)
{
    buf_printf(b, "%llu.%03llu", (unsigned long long)(v / 1000), (unsigned long long)(v % 1000));
}

static void seconds(const page *p, const char *name, const char *help, uint64_t ms)
{
    begin(p, name, "counter", help);
    buf_printf(p->out, "%s_total ", name);
    put_milli(p->out, ms);
    buf_putc(p->out, '\n');
}

static void put_requests(const page *p, const drive_counts *n)
{
    const char *name = "daruma_requests";
    begin(p, name, "counter", "Requests that are over, by what became of them.");
    one_of(p, name, "outcome", "ok", n->ok);
    one_of(p, name, "outcome", "recovered", n->recovered);
    one_of(p, name, "outcome", "degraded", n->degraded);
    one_of(p, name, "outcome", "explained", n->explained);
    one_of(p, name, "outcome", "failed", n->failed);
    one_of(p, name, "outcome", "cancelled", n->cancelled);
    counter(p, "daruma_requests_passed", "Requests on paths that are passed on unread.", n->passed);
    counter(p, "daruma_answers_unchecked", "Answers that went out unread: encoded, or too large.", n->unchecked);
}

static void put_recovery(const page *p, const drive_counts *n)
{
    begin(p, "daruma_failures", "counter", "Calls that failed, by kind.");
    for (int k = 0; k < DARUMA_KINDS; k++)
        if (n->kinds[k])
            one_of(p, "daruma_failures", "kind", daruma_kind_name((daruma_kind)k), n->kinds[k]);
    begin(p, "daruma_recoveries", "counter", "Requests that were answered behind a failure, by its kind.");
    for (int k = 0; k < DARUMA_KINDS; k++)
        if (n->saved[k])
            one_of(p, "daruma_recoveries", "kind", daruma_kind_name((daruma_kind)k), n->saved[k]);
    begin(p, "daruma_remedies", "counter", "What was done about failures.");
    for (int r = 0; r < DARUMA_REMEDIES; r++)
        if (n->remedies[r])
            one_of(p, "daruma_remedies", "remedy", daruma_remedy_name((daruma_remedy_kind)r), n->remedies[r]);
    counter(p, "daruma_calls", "Calls to providers.", n->calls);
    counter(p, "daruma_side_calls", "Questions of daruma's own: summaries and explanations.", n->side_calls);
    counter(p, "daruma_hedges", "Calls beside one that was silent.", n->hedges);
    counter(p, "daruma_hedges_won", "Of them, those that became the answer.", n->hedges_won);
    seconds(p, "daruma_waited_seconds", "Time that requests waited for what passes by itself.", n->waited_ms);
    seconds(p, "daruma_wasted_seconds", "Time in calls that failed.", n->wasted_ms);
}

static void put_target(const page *p, const char *name, const daruma_target *t, daruma_str asked)
{
    buf_printf(p->out, "%s{name=\"", name);
    put_label_text(p->out, asked);
    BUF_LIT(p->out, "\",provider=\"");
    put_label_text(p->out, t->provider);
    BUF_LIT(p->out, "\",model=\"");
    put_label_text(p->out, t->model);
    BUF_LIT(p->out, "\",account=\"");
    put_label_text(p->out, t->account);
    BUF_LIT(p->out, "\",key=\"");
    put_label_text(p->out, t->key);
    BUF_LIT(p->out, "\"} ");
}

static void put_targets(const page *p, const gateway *g, daruma_ms now)
{
    const setup *s = g->now;
    begin(p, "daruma_target_well", "gauge", "1: a configured target is asked in its turn; 0: it rests.");
    for (size_t r = 0; r < s->nroutes; r++)
        for (size_t i = 0; !s->routes[r].form && i < s->routes[r].ntargets && !s->routes[r].targets[i].reserve; i++) {
            const daruma_target *t = &s->routes[r].targets[i];
            put_target(p, "daruma_target_well", t, s->routes[r].model);
            buf_printf(p->out, "%d\n", daruma_health_look(g->drive.health, t, now).well);
        }
    begin(p, "daruma_target_rest_seconds", "gauge", "How long a target that is not well is asked after the others.");
    for (size_t r = 0; r < s->nroutes; r++)
        for (size_t i = 0; !s->routes[r].form && i < s->routes[r].ntargets && !s->routes[r].targets[i].reserve; i++) {
            const daruma_target *t = &s->routes[r].targets[i];
            daruma_condition h = daruma_health_look(g->drive.health, t, now);
            put_target(p, "daruma_target_rest_seconds", t, s->routes[r].model);
            put_milli(p->out, h.well || h.in < 0 ? 0 : (uint64_t)h.in);
            buf_putc(p->out, '\n');
        }
}

/* ---- histograms ---- */

typedef struct series {
    const char *name, *more; /* a label of its own, with a comma in front */
    const uint64_t *buckets;
    const uint32_t *bounds;
    size_t n;
    uint64_t sum;
    bool milli; /* bounds and sum are thousandths */
} series;

static void put_labels(daruma_buf *b, const meter_row *r, const char *more)
{
    BUF_LIT(b, "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"");
    put_label_text(b, r->provider);
    BUF_LIT(b, "\",gen_ai_request_model=\"");
    put_label_text(b, r->model);
    buf_printf(b, "\"%s", more);
}

static void put_series(const page *p, const meter_row *r, const series *s)
{
    daruma_buf *b = p->out;
    uint64_t so_far = 0;
    for (size_t i = 0; i <= s->n; i++)
        so_far += s->buckets[i];
    if (!so_far)
        return;
    so_far = 0;
    for (size_t i = 0; i <= s->n; i++) {
        so_far += s->buckets[i];
        buf_printf(b, "%s_bucket{", s->name);
        put_labels(b, r, s->more);
        BUF_LIT(b, ",le=\"");
        if (i == s->n)
            BUF_LIT(b, "+Inf");
        else if (s->milli)
            put_milli(b, s->bounds[i]);
        else
            buf_printf(b, "%u.0", s->bounds[i]);
        buf_printf(b, "\"} %llu\n", (unsigned long long)so_far);
    }
    buf_printf(b, "%s_count{", s->name);
    put_labels(b, r, s->more);
    buf_printf(b, "} %llu\n%s_sum{", (unsigned long long)so_far, s->name);
    put_labels(b, r, s->more);
    BUF_LIT(b, "} ");
    if (s->milli)
        put_milli(b, s->sum);
    else
        buf_printf(b, "%llu", (unsigned long long)s->sum);
    buf_putc(b, '\n');
}

static void put_models(const page *p, const meter *m)
{
    const char *time = "gen_ai_client_operation_duration_seconds", *tokens = "gen_ai_client_token_usage",
               *first = "gen_ai_server_time_to_first_token_seconds";
    begin(p, time, "histogram", "From a request to the end of its answer, recoveries included.");
    for (size_t i = 0; i < meter_rows(m); i++) {
        const meter_row *r = meter_row_at(m, i);
        put_series(p, r, &(series){time, "", r->well, meter_times_ms, METER_TIMES, r->well_ms, true});
        put_series(
            p, r,
            &(series){time, ",error_type=\"unanswered\"", r->failed, meter_times_ms, METER_TIMES, r->failed_ms, true});
    }
    begin(p, first, "histogram", "From a request to the first bytes of its stream, recoveries included.");
    for (size_t i = 0; i < meter_rows(m); i++) {
        const meter_row *r = meter_row_at(m, i);
        put_series(p, r, &(series){first, "", r->first, meter_firsts_ms, METER_FIRSTS, r->first_ms, true});
    }
    begin(p, tokens, "histogram", "Tokens of a request and its answer, as the provider counted them.");
    for (size_t i = 0; i < meter_rows(m); i++) {
        const meter_row *r = meter_row_at(m, i);
        put_series(p, r,
                   &(series){tokens, ",gen_ai_token_type=\"input\"", r->input, meter_tokens, METER_TOKENS,
                             r->input_tokens, false});
        put_series(p, r,
                   &(series){tokens, ",gen_ai_token_type=\"output\"", r->output, meter_tokens, METER_TOKENS,
                             r->output_tokens, false});
    }
}

/* ---- money ---- */

static void put_tokens_of(const page *p, const char *name, const char *help, const meter_sum *s)
{
    begin(p, name, "counter", help);
    one_of(p, name, "gen_ai_token_type", "input", (uint64_t)s->input_tokens);
    one_of(p, name, "gen_ai_token_type", "output", (uint64_t)s->output_tokens);
}

static void put_cost(const page *p, const char *name, const char *help, int64_t cost)
{
    begin(p, name, "counter", help);
    buf_printf(p->out, "%s_total %lld.%09lld\n", name, (long long)(cost / 1000000000), (long long)(cost % 1000000000));
}

static void put_money(const page *p, const gateway *g)
{
    const meter_sum *paid = meter_paid(g->meter, METER_PAID), *saved = meter_paid(g->meter, METER_SAVED),
                    *wasted = meter_paid(g->meter, METER_WASTED);
    put_tokens_of(p, "daruma_tokens_saved", "Tokens of requests that were answered behind a failure.", saved);
    put_tokens_of(p, "daruma_tokens_wasted", "Tokens of answers that failed, as far as providers had counted them.",
                  wasted);
    if (!g->now->cfg.nprices)
        return;
    put_cost(p, "daruma_cost", "What all tokens cost, in the unit of the configured prices.",
             add_sat(paid->cost, add_sat(saved->cost, wasted->cost)));
    put_cost(p, "daruma_cost_saved", "Of it for requests that were answered behind a failure.", saved->cost);
    put_cost(p, "daruma_cost_wasted", "Of it for answers that failed.", wasted->cost);
}

/* ---- the page ---- */

static void put_process(const page *p, gateway *g)
{
    uint64_t written, lost, waiting;
    begin(p, "daruma_refused", "counter", "Requests that daruma itself refused at the door, by reason.");
    for (int i = 0; i < REFUSALS; i++)
        one_of(p, "daruma_refused", "reason", refusal_name((refusal)i), g->refused[i].all);
    events_count(g->events, &written, &lost);
    counter(p, "daruma_events_written", "Events that were written.", written);
    counter(p, "daruma_events_lost", "Events that could not be written.", lost);
    exporter_count(g->exporter, &written, &lost, &waiting);
    counter(p, "daruma_spans_exported", "Spans that a collector took.", written);
    counter(p, "daruma_spans_lost", "Spans that no collector took.", lost);
    gauge(p, "daruma_spans_waiting", "Spans that are on their way to a collector.", waiting);
    gauge(p, "daruma_requests_active", "Requests under way.", g->active);
    gauge(p, "daruma_client_connections", "Connections of clients.", server_connections(g->srv));
    gauge(p, "daruma_upstream_connections", "Connections to providers.", (uint64_t)upstream_open(g->now->up));
    gauge(p, "daruma_request_bytes", "Bytes of request bodies at hand.", server_bytes(g->srv));
    begin(p, "daruma_loop_longest_turn_seconds", "gauge", "The longest time that the loop was at work at a time.");
    BUF_LIT(p->out, "daruma_loop_longest_turn_seconds ");
    put_milli(p->out, (uint64_t)turns_longest_ms(g->turns));
    BUF_LIT(p->out, "\n");
    begin(p, "daruma_uptime_seconds", "gauge", "Since it was started.");
    BUF_LIT(p->out, "daruma_uptime_seconds ");
    put_milli(p->out, (uint64_t)(gateway_now(g).now - g->started));
    BUF_LIT(p->out, "\n");
    begin(p, "daruma_build_info", "gauge", "Its version.");
    BUF_LIT(p->out, "daruma_build_info{version=\"" DARUMA_VERSION "\"} 1\n");
}

bool metrics_open(const http_head *h)
{
    return str_find(http_header(h, S("accept")), S("application/openmetrics-text")) != STR_NONE;
}

void metrics_write(gateway *g, bool open, daruma_buf *out)
{
    const page p = {out, open};
    put_requests(&p, &g->drive.counts);
    put_recovery(&p, &g->drive.counts);
    put_targets(&p, g, gateway_now(g).now);
    put_models(&p, g->meter);
    put_money(&p, g);
    put_process(&p, g);
    if (open)
        BUF_LIT(out, "# EOF\n");
}
