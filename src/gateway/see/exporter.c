/* exporter.c - sends spans to a collector by OTLP over HTTP/1.1, in Protocol Buffers
 * (https://opentelemetry.io/docs/specs/otlp/).
 *
 *     exporter_put --> batch, batch, batch --one at a time--> POST --> 200: the next
 *                      (EXPORT_BATCHES_MAX)                     |----> 429, 502, 503, 504, none: the same, later
 *                                                               +----> any other: it is lost
 *
 * No request waits for it: when the batches are full, what comes is lost and counted. Standard error is told when spans
 * begin to be lost or to wait, once a minute at most, and when they go out again. */
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "gateway/see/trace.h"
#include "net/timer.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Numbers of fields in opentelemetry-proto: collector/trace/v1, trace/v1, resource/v1, common/v1. */
enum {
    EXPORT_RESOURCE_SPANS = 1,
    RESOURCE_SPANS_RESOURCE = 1,
    RESOURCE_SPANS_SCOPE_SPANS = 2,
    RESOURCE_ATTRIBUTES = 1
};
enum { SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2, SCOPE_NAME = 1, SCOPE_VERSION = 2 };

typedef struct batch {
    struct batch *next;
    uint32_t nspans;
    size_t n;
    char text[EXPORT_BATCH_BYTES]; /* spans, each as a field of its ScopeSpans */
} batch;

struct exporter {
    gateway *g;
    batch *first, *last; /* that wait; the first may be under way */
    size_t nbatches;
    setup *held;      /* the configuration that the export under way goes by */
    fetch *out;       /* it; NULL: none is */
    daruma_ms out_at; /* since then */
    daruma_header headers[CONFIG_HEADERS_MAX + 1];
    int status;                   /* of the answer */
    daruma_ms retry;              /* after so long the collector wants to be asked again, -1 not said */
    daruma_ms backoff;            /* before the next try, 0: the last one went well */
    bool waiting;                 /* for the next try */
    bool failing, told;           /* the last export failed; and that was said */
    int64_t told_at;              /* when, in seconds since 1970; 0 never */
    uint64_t exported, lost, gap; /* spans; gap: lost since it was said that they fail */
    uv_timer_t timer;
    void (*flushed)(void *user); /* NULL: nobody waits for the end */
    void *flushed_user;
    daruma_ms flush_until;
    size_t nanswer;
    char answer[EXPORT_ANSWER_BYTES_MAX];
    trace_names names; /* of the spans that came last */
    size_t nresource, nscope, nhead;
    char resource[512]; /* the field `resource` of ResourceSpans */
    char scope[128];    /* the field `scope` of ScopeSpans */
    char head[1024];    /* all that stands in front of the spans of the batch that goes out */
};

/* ---- words ---- */

static void say(exporter *e, const char *what)
{
    char text[800], date[20];
    const url *to = &e->g->now->cfg.traces;
    daruma_buf b = buf_over(text, sizeof text);
    date_say(gateway_now(e->g).wall, date);
    BUF_SAY(&b, date, "  daruma: traces: http", to->tls ? "s://" : "://", str_sub(to->authority, 0, 200),
            str_sub(to->prefix, 0, 200), " ", what, "\n");
    sys_write_now(STDERR_FILENO, buf_str(&b));
}

static void say_lost(exporter *e, const char *what)
{
    char text[120];
    snprintf(text, sizeof text, "%s; %llu %s lost", what, (unsigned long long)e->gap, e->gap == 1 ? "was" : "were");
    say(e, text);
}

static void failed(exporter *e, const char *why, bool waits)
{
    int64_t wall = gateway_now(e->g).wall;
    char text[200];
    bool again = e->failing;
    e->failing = true;
    if (again || (e->told_at && wall - e->told_at < LOG_TOLD_S))
        return;
    if (waits)
        snprintf(text, sizeof text, "takes no spans (%s); %d KiB of them wait, more are lost", why,
                 EXPORT_BATCHES_MAX * (EXPORT_BATCH_BYTES >> 10));
    else
        snprintf(text, sizeof text, "takes no spans (%s); they are lost until it does", why);
    e->told = true;
    e->told_at = wall;
    say(e, text);
}

static void went_well(exporter *e)
{
    e->backoff = 0;
    if (e->failing && e->told)
        say_lost(e, "takes spans again");
    e->failing = e->told = false;
    e->gap = 0;
}

static void lose(exporter *e, uint64_t n)
{
    e->lost += n;
    e->gap += n;
}

/* ---- batches ---- */

static void drop_first(exporter *e)
{
    batch *b = e->first;
    e->first = b->next;
    e->nbatches--;
    if (!e->first)
        e->last = NULL;
    free(b);
}

static void lose_all(exporter *e)
{
    while (e->first) {
        lose(e, e->first->nspans);
        drop_first(e);
    }
}

static batch *batch_new(exporter *e)
{
    batch *b = e->nbatches < EXPORT_BATCHES_MAX ? malloc(sizeof *b) : NULL;
    if (!b)
        return NULL;
    b->next = NULL;
    b->n = b->nspans = 0;
    if (e->last)
        e->last->next = b;
    else
        e->first = b;
    e->last = b;
    e->nbatches++;
    return b;
}

/* ---- one export ---- */

static void on_timer(uv_timer_t *t);

/* Looks after what waits, in `ms`. */
static void look(exporter *e, daruma_ms ms)
{
    uv_timer_start(&e->timer, on_timer, (uint64_t)ms, 0);
}

static void over(exporter *e)
{
    setup_drop(e->held);
    e->held = NULL;
    e->out = NULL;
}

static void later(exporter *e)
{
    daruma_ms wait = e->backoff ? mul_sat(e->backoff, 2) : EXPORT_EVERY_MS;
    e->backoff = wait < EXPORT_RETRY_MS_MAX ? wait : EXPORT_RETRY_MS_MAX;
    wait = e->retry > e->backoff ? e->retry : e->backoff;
    wait = wait < EXPORT_RETRY_MS_MAX ? wait : EXPORT_RETRY_MS_MAX;
    e->waiting = true;
    look(e, e->flushed ? 0 : wait);
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    exporter *e = user;
    int64_t seconds;
    (void)f;
    e->status = h->status;
    if (str_int(http_header(h, S("retry-after")), &seconds) && seconds >= 0)
        e->retry = mul_sat(seconds, 1000);
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    exporter *e = user;
    daruma_buf b = {.p = e->answer, .cap = sizeof e->answer, .n = e->nanswer};
    (void)f;
    buf_put(&b, bytes);
    e->nanswer = b.full ? 0 : b.n;
}

/* Those that the specification says to send again. */
static bool may_come_again(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

static void on_end(fetch *f, void *user)
{
    exporter *e = user;
    int64_t all = e->first->nspans, rejected = trace_rejected((daruma_str){e->answer, e->nanswer});
    char why[32];
    (void)f;
    over(e);
    snprintf(why, sizeof why, "HTTP %d", e->status);
    if (may_come_again(e->status)) {
        failed(e, why, true);
        later(e);
        return;
    }
    if (e->status >= 200 && e->status < 300) {
        rejected = rejected < all ? rejected : all;
        e->exported += (uint64_t)(all - rejected);
        lose(e, (uint64_t)rejected);
        went_well(e);
    } else {
        lose(e, (uint64_t)all);
        failed(e, why, false);
    }
    drop_first(e);
    look(e, e->nbatches > 1 || e->flushed ? 0 : EXPORT_EVERY_MS);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    exporter *e = user;
    (void)f, (void)phase, (void)why;
    over(e);
    failed(e, daruma_net_name(net), true);
    later(e);
}

static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

/* What stands in front of `n` bytes of spans: the messages that they are within, and their lengths. */
static void write_head(exporter *e, size_t n)
{
    daruma_buf inner = buf_over(e->head + sizeof e->head / 2, sizeof e->head / 2),
               outer = buf_over(e->head, sizeof e->head);
    size_t scope_spans = e->nscope + n;
    buf_putc(&inner, RESOURCE_SPANS_SCOPE_SPANS << 3 | PROTO_BYTES);
    proto_varint(&inner, scope_spans);
    buf_putc(&outer, EXPORT_RESOURCE_SPANS << 3 | PROTO_BYTES);
    proto_varint(&outer, e->nresource + inner.n + scope_spans);
    buf_put(&outer, (daruma_str){e->resource, e->nresource});
    buf_put(&outer, buf_str(&inner));
    buf_put(&outer, (daruma_str){e->scope, e->nscope});
    e->nhead = outer.n;
}

static void post(exporter *e)
{
    setup *s = setup_hold(e->g->now);
    const config *c = &s->cfg;
    batch *b = e->first;
    size_t n = 0;
    e->headers[n++] = (daruma_header){S("content-type"), S("application/x-protobuf")};
    for (size_t i = 0; i < c->ntrace_headers; i++)
        e->headers[n++] = c->trace_headers[i];
    e->out_at = (daruma_ms)uv_now(e->g->loop);
    write_head(e, b->n);
    daruma_ms left = e->flush_until - e->out_at;
    fetch_request r = {
        .to = &c->traces,
        .method = S("POST"),
        .target = c->traces.prefix,
        .headers = e->headers,
        .nheaders = n,
        .body = {{e->head, e->nhead}, {b->text, b->n}},
        .has_body = true,
        .clocks = {.connect = c->clocks.connect, .total = e->flushed && left < EXPORT_MS_MAX ? left : EXPORT_MS_MAX}};
    e->held = s;
    e->status = 0;
    e->nanswer = 0;
    e->retry = -1;
    e->waiting = false;
    e->out = fetch_start(s->up, &r, &ops, e);
    if (!e->out) {
        over(e);
        later(e);
    }
}

static void flush_over(exporter *e)
{
    void (*done)(void *user) = e->flushed;
    e->flushed = NULL;
    lose_all(e);
    if (e->told) /* and it is so still */
        say_lost(e, "took no spans to the end");
    done(e->flushed_user);
}

static void on_timer(uv_timer_t *t)
{
    exporter *e = t->data;
    bool late = e->flushed && (daruma_ms)uv_now(t->loop) >= e->flush_until;
    if (e->out)
        return;
    if (!e->g->now->cfg.traces.host.n) { /* traces were switched off: whoever is told of next begins anew */
        lose_all(e);
        e->waiting = e->failing = e->told = false;
        e->backoff = 0;
        e->gap = 0;
    }
    if (e->flushed && (!e->first || late || e->waiting))
        flush_over(e);
    else if (e->first)
        post(e);
}

/* ---- from start to end ---- */

/* Who sends the spans. */
static void describe(exporter *e, daruma_str instance)
{
    char text[sizeof e->resource - 8];
    daruma_buf inner = buf_over(text, sizeof text), b = buf_over(e->resource, sizeof e->resource);
    proto_attribute(&inner, RESOURCE_ATTRIBUTES, S("service.name"), S("daruma"));
    proto_attribute(&inner, RESOURCE_ATTRIBUTES, S("service.version"), S(DARUMA_VERSION));
    proto_attribute(&inner, RESOURCE_ATTRIBUTES, S("service.instance.id"), instance);
    proto_bytes(&b, RESOURCE_SPANS_RESOURCE, buf_str(&inner));
    e->nresource = b.n;
    inner.n = 0;
    proto_bytes(&inner, SCOPE_NAME, S("daruma"));
    proto_bytes(&inner, SCOPE_VERSION, S(DARUMA_VERSION));
    b = buf_over(e->scope, sizeof e->scope);
    proto_bytes(&b, SCOPE_SPANS_SCOPE, buf_str(&inner));
    e->nscope = b.n;
}

exporter *exporter_new(gateway *g)
{
    exporter *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->g = g;
    describe(e, str_from(str_of(g->via), sizeof "1.1 " - 1));
    uv_timer_init(g->loop, &e->timer);
    uv_unref((uv_handle_t *)&e->timer);
    e->timer.data = e;
    return e;
}

trace_names *exporter_names(exporter *e)
{
    return &e->names;
}

void exporter_lost(exporter *e)
{
    lose(e, 1);
}

void exporter_put(exporter *e, daruma_str span)
{
    batch *b = e->last;
    bool under_way = b && b == e->first && e->out;
    if (!b || under_way || sizeof b->text - b->n < span.n + 1 + PROTO_LENGTH_BYTES)
        b = batch_new(e);
    if (!b) {
        lose(e, 1);
        return;
    }
    daruma_buf text = {.p = b->text, .cap = sizeof b->text, .n = b->n};
    proto_bytes(&text, SCOPE_SPANS_SPANS, span);
    b->n = text.n;
    b->nspans++;
    if (e->out || e->waiting)
        return;
    if (e->nbatches > 1)
        look(e, 0);
    else if (!uv_is_active((uv_handle_t *)&e->timer))
        look(e, EXPORT_EVERY_MS);
}

void exporter_flush(exporter *e, void (*done)(void *user), void *user)
{
    e->flushed = done;
    e->flushed_user = user;
    e->flush_until = add_sat((daruma_ms)uv_now(e->g->loop), EXPORT_STOP_MS);
    if (e->out)
        fetch_total(e->out, e->flush_until - e->out_at);
    e->waiting = false;
    uv_ref((uv_handle_t *)&e->timer); /* whatever else is over */
    look(e, 0);
}

void exporter_close(exporter *e)
{
    if (!e)
        return;
    if (e->out) {
        fetch_cancel(e->out);
        over(e);
    }
    lose_all(e);
    loop_close((uv_handle_t *)&e->timer);
}

void exporter_count(const exporter *e, uint64_t *exported, uint64_t *lost, uint64_t *waiting)
{
    *exported = e->exported;
    *lost = e->lost;
    *waiting = 0;
    for (const batch *b = e->first; b; b = b->next)
        *waiting += b->nspans;
}
