/* trace.h - spans of OpenTelemetry: what is recorded of a request and of its calls, and who sends them away.
 *
 *     exchange: trace_begin ... trace_done --> a span of the request, one of each call --> exporter --> collector
 *     send:     trace_call, _head, _body, _end
 *
 * All of it does nothing for a request that is not traced: x->trace is NULL then. */
#ifndef GATEWAY_TRACE_H
#define GATEWAY_TRACE_H
#include "engine/tell/trace.h"
#include "engine/tell/words.h"
#include "gateway/inside.h"
#include "gateway/see/proto.h"

enum { TRACE_MODEL_BYTES_MAX = 128 }; /* of the name of the model that answered */

/* One call to a provider. Lives in the arena of its request. */
typedef struct trace_span {
    struct trace_span *next;            /* the one before it */
    const void *handle;                 /* of the call while it is out */
    const config_provider *provider;    /* who is called */
    const daruma_target *target;        /* of an attempt; NULL: a question of daruma's own */
    daruma_str model;                   /* that is asked */
    daruma_str answered_by;             /* the model, as the answer calls it */
    const char *remedy;                 /* that led to it; NULL: none */
    uint64_t id;                        /* of the span */
    int64_t began_ns, ended_ns;         /* unix nanoseconds; ended 0: it is under way */
    int64_t input_tokens;               /* as far as it had counted when it failed; -1 not said */
    int64_t output_tokens;              /* likewise */
    int status;                         /* of its answer; 0: none came */
    daruma_net net;                     /* what the wire did when it failed */
    daruma_kind kind;                   /* what its failure is, if it was judged */
    bool judged, cancelled;             /* its answer was a failure; nobody needed its answer any more */
    bool hedge;                         /* it was made beside another that was silent */
    uint32_t looked;                    /* bytes of its answer in which the model's name was looked for */
    char field[TRACE_PARENT_BYTES + 1]; /* its traceparent */
} trace_span;

/* What is recorded of a request. Lives in its arena. */
struct trace {
    uint64_t id[2];                     /* its upper and its lower half */
    uint64_t parent;                    /* the client's span; 0: it has none */
    char field[TRACE_PARENT_BYTES + 1]; /* trace_own_field(); empty: nobody asked yet */
    uint64_t span;
    int64_t began_ns;
    trace_span *calls;  /* the newest first */
    const char *remedy; /* that was chosen last; NULL: none */
    daruma_kind kind;   /* of the failure that was judged last */
    bool judged;        /* there was one */
    bool own;           /* the trace begins here: what the client says of another (tracestate) does not belong to it */
};

/* Of a request's memory with one call, and the name of the model that answered. */
enum { TRACE_BYTES_USUAL = sizeof(struct trace) + sizeof(trace_span) + 3 * _Alignof(max_align_t) };

/* ---- trace.c: recording ---- */

/* Begins the trace of a request, or goes on with its client's. x->trace stays NULL when traces are off, when the
 * client's traceparent says that it is not sampled, and without memory. */
void trace_begin(exchange *x);
/* A call goes out: `target` NULL is a question of daruma's own. Returns its span; NULL: it is not traced. */
trace_span *trace_call(exchange *x, const config_provider *p, const daruma_target *target, daruma_str model);
/* The span's call is out as `handle`; NULL: it could not be made. */
void trace_out(trace_span *s, const void *handle);
/* The traceparent that a call carries; empty: the client's own goes out. */
daruma_str trace_field(const trace_span *s);
/* The traceparent of the request's own span, which is the parent of its calls. */
daruma_str trace_own_field(trace *t);
void trace_head(exchange *x, const void *handle, int status); /* its answer began */
void trace_body(exchange *x, const void *handle, daruma_str bytes);
void trace_end(exchange *x, const void *handle, daruma_net net); /* it is over: NONE, its answer is whole */
void trace_cancelled(exchange *x, const void *handle);           /* nobody needs its answer */
void trace_step(exchange *x, const drive_step *s);
/* The request is over: its spans go to the exporter. */
void trace_done(exchange *x, const drive_result *r);

/* ---- trace_read.c ---- */

/* The name of the model at the beginning of an answer: the value of a member "model" or "modelVersion" of its top, and
 * of what the first event of a stream brings. Empty: it is not there, or not whole. */
daruma_str trace_model_find(daruma_str begin);
/* How many spans the body of a collector's answer says that it refused. */
int64_t trace_rejected(daruma_str body);

/* ---- trace_write.c: spans as OTLP has them in Protocol Buffers ---- */

/* The name that was made fit to be shown last. */
typedef struct trace_shown {
    daruma_str clean;                 /* as it is shown, in one of the rooms; NULL: none yet */
    size_t n;                         /* bytes of the name as it came */
    char name[TRACE_MODEL_BYTES_MAX]; /* they, if they are no more */
    char room[WORDS_ROOM_BYTES], utf8[PROTO_TEXT_BYTES];
} trace_shown;

/* Of models: those of a request, and of the one before it, mostly have the same names. */
typedef struct trace_names {
    trace_shown asked, answered;
} trace_names;

/* The span of a request, and of one of its calls. `answer`: it is the one that became the answer. */
void trace_write_request(const exchange *x, const drive_result *r, const trace_span *answer, trace_names *names,
                         daruma_buf *out);
void trace_write_call(const exchange *x, const drive_result *r, const trace_span *s, bool answer, trace_names *names,
                      daruma_buf *out);

/* ---- exporter.c: the way to the collector ---- */

exporter *exporter_new(gateway *g); /* NULL without memory */
trace_names *exporter_names(exporter *e);
/* Takes a span, which goes out within EXPORT_EVERY_MS, or is counted as lost: nobody waits for it. */
void exporter_put(exporter *e, daruma_str span);
void exporter_lost(exporter *e); /* a span that could not be written */
/* Sends what is left, for EXPORT_STOP_MS at most, then calls done. */
void exporter_flush(exporter *e, void (*done)(void *user), void *user);
void exporter_close(exporter *e); /* what is left is lost; NULL: nothing */
void exporter_count(const exporter *e, uint64_t *exported, uint64_t *lost, uint64_t *waiting);
#endif
