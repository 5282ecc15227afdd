/* trace.c - records what is told of a request as spans: one of the request, one of each call to a provider. */
#include "gateway/see/trace.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "sys/sys.h"
#include <stdio.h>

/* ---- ids ---- */

static uint64_t id_new(const gateway *g)
{
    uint64_t id = gateway_now(g).dice;
    return id ? id : 1; /* all zero is no id */
}

/* Sixteen hexadecimal digits. */
static uint64_t read_number(daruma_str digits)
{
    uint64_t n = 0;
    for (size_t i = 0; i < SPAN_ID_DIGITS; i++)
        n = n << 4 | (uint64_t)(ch_digit(digits.p[i]) ? digits.p[i] - '0' : digits.p[i] - 'a' + 10);
    return n;
}

static void field_write(char field[TRACE_PARENT_BYTES + 1], const trace *t, uint64_t span)
{
    daruma_buf b = buf_over(field, TRACE_PARENT_BYTES);
    BUF_LIT(&b, "00-");
    buf_hex64(&b, t->id[0]);
    buf_hex64(&b, t->id[1]);
    buf_putc(&b, '-');
    buf_hex64(&b, span);
    BUF_LIT(&b, "-01");
    field[b.n] = 0;
}

/* ---- the request ---- */

/* Zeroed memory of the request, if there is some left: a request is not to fail because it is traced. */
static void *spare(exchange *x, size_t n)
{
    bool was = x->c->arena->full;
    void *p = arena_take(x->c->arena, n, _Alignof(max_align_t));
    x->c->arena->full = was;
    return p;
}

void trace_begin(exchange *x)
{
    trace_parent p;
    if (!x->s->cfg.traces.host.n)
        return;
    bool theirs = trace_parent_read(http_header(&x->c->head, S("traceparent")), &p);
    trace *t = theirs && !p.sampled ? NULL : spare(x, sizeof *t);
    if (!t)
        return;
    *t = (trace){.span = id_new(x->g), .began_ns = sys_wall_ns(), .own = !theirs};
    t->id[0] = theirs ? read_number(p.trace) : id_new(x->g);
    t->id[1] = theirs ? read_number(str_from(p.trace, SPAN_ID_DIGITS)) : id_new(x->g);
    t->parent = theirs ? read_number(p.span) : 0;
    x->trace = t;
}

/* The call that became the answer: the newest attempt that nobody judged a failure or called off. */
static const trace_span *answer_of(const trace *t, const drive_result *r)
{
    const trace_span *s = t->calls;
    while (s && (!s->target || s->judged || s->cancelled || s->target != r->target))
        s = s->next;
    return s;
}

static void put(exchange *x, const daruma_buf *span)
{
    if (span->full)
        exporter_lost(x->g->exporter);
    else
        exporter_put(x->g->exporter, buf_str(span));
}

void trace_done(exchange *x, const drive_result *r)
{
    char text[SPAN_BYTES_MAX];
    trace_names *names = exporter_names(x->g->exporter);
    trace *t = x->trace;
    if (!t)
        return;
    const trace_span *answer = answer_of(t, r);
    daruma_buf b = buf_over(text, sizeof text);
    trace_write_request(x, r, answer, names, &b);
    put(x, &b);
    for (trace_span *s = t->calls; s; s = s->next) {
        b = buf_over(text, sizeof text);
        if (!s->ended_ns)
            s->ended_ns = sys_wall_ns();
        trace_write_call(x, r, s, s == answer, names, &b);
        put(x, &b);
    }
    x->trace = NULL;
}

void trace_step(exchange *x, const drive_step *s)
{
    trace *t = x->trace;
    if (!t)
        return;
    if (s->what == DRIVE_CHOSE)
        t->remedy = daruma_remedy_name(s->remedy->remedy);
    if (s->what != DRIVE_JUDGED)
        return;
    t->kind = s->failure->kind;
    t->judged = true;
    trace_span *c = t->calls;
    while (c && c->target != s->target)
        c = c->next;
    if (!c || c->judged)
        return; /* nobody was called, for want of a key */
    c->judged = true;
    c->kind = s->failure->kind;
    c->input_tokens = s->input_tokens;
    c->output_tokens = s->output_tokens;
}

/* ---- its calls ---- */

static bool is_under_way(const trace_span *s)
{
    return s->target && !s->ended_ns && !s->judged;
}

trace_span *trace_call(exchange *x, const config_provider *p, const daruma_target *target, daruma_str model)
{
    trace *t = x->trace;
    trace_span *s = t ? spare(x, sizeof *s) : NULL;
    if (!s)
        return NULL;
    *s = (trace_span){.next = t->calls,
                      .provider = p,
                      .target = target,
                      .model = model,
                      .remedy = t->remedy,
                      .id = id_new(x->g),
                      .began_ns = sys_wall_ns(),
                      .input_tokens = -1,
                      .output_tokens = -1};
    for (const trace_span *o = t->calls; o && target; o = o->next)
        s->hedge |= is_under_way(o);
    if (s->hedge)
        s->remedy = daruma_remedy_name(DARUMA_REMEDY_HEDGE);
    field_write(s->field, t, s->id);
    t->calls = s;
    return s;
}

void trace_out(trace_span *s, const void *handle)
{
    if (!s)
        return;
    s->handle = handle;
    if (!handle) {
        s->net = DARUMA_NET_LOCAL;
        s->ended_ns = s->began_ns;
    }
}

daruma_str trace_field(const trace_span *s)
{
    return s ? (daruma_str){s->field, TRACE_PARENT_BYTES} : (daruma_str){0};
}

daruma_str trace_own_field(trace *t)
{
    if (!t->field[0])
        field_write(t->field, t, t->span);
    return (daruma_str){t->field, TRACE_PARENT_BYTES};
}

static trace_span *span_of(const exchange *x, const void *handle)
{
    trace_span *s = x->trace ? x->trace->calls : NULL;
    while (s && s->handle != handle)
        s = s->next;
    return s;
}

void trace_head(exchange *x, const void *handle, int status)
{
    trace_span *s = span_of(x, handle);
    if (s)
        s->status = status;
}

void trace_body(exchange *x, const void *handle, daruma_str bytes)
{
    trace_span *s = span_of(x, handle);
    if (!s || s->answered_by.n || s->looked || s->status >= 300) /* a later piece begins anywhere */
        return;
    daruma_str piece = str_sub(bytes, 0, TRACE_LOOK_BYTES_MAX - s->looked);
    daruma_str model = trace_model_find(piece);
    s->looked += (uint32_t)piece.n;
    char *copy = model.n && model.n <= TRACE_MODEL_BYTES_MAX ? spare(x, model.n) : NULL;
    if (copy)
        s->answered_by = (daruma_str){memcpy(copy, model.p, model.n), model.n};
}

void trace_end(exchange *x, const void *handle, daruma_net net)
{
    trace_span *s = span_of(x, handle);
    if (!s)
        return;
    s->handle = NULL; /* another call may get the same */
    s->net = net;
    s->ended_ns = sys_wall_ns();
}

void trace_cancelled(exchange *x, const void *handle)
{
    trace_span *s = span_of(x, handle);
    trace_end(x, handle, DARUMA_NET_NONE);
    if (s && !s->judged)
        s->cancelled = true;
}
