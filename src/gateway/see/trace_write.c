/* trace_write.c - spans as OTLP has them in Protocol Buffers
 * (https://github.com/open-telemetry/opentelemetry-proto: trace/v1/trace.proto, common/v1/common.proto). Attributes
 * have the names of OpenTelemetry's conventions for generative AI and HTTP where those have one, else daruma.*. Nothing
 * of what was said, no key, no address of a client.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "engine/tell/words.h"
#include "gateway/see/trace.h"
#include "sys/sys.h"

enum { KIND_SERVER = 2, KIND_CLIENT = 3, STATUS_ERROR = 2 };

/* Numbers of fields. */
enum { SPAN_TRACE_ID = 1, SPAN_ID = 2, SPAN_PARENT = 4, SPAN_NAME = 5, SPAN_KIND = 6, SPAN_BEGAN = 7, SPAN_ENDED = 8 };
enum { SPAN_ATTRIBUTES = 9, SPAN_STATUS = 15, STATUS_CODE = 3 };
enum { VALUE_BOOL = 2, VALUE_INT = 3 }; /* of AnyValue */

/* What asks for what, by the end of its path, where no dialect is known. */
static const struct {
    daruma_str end, operation;
} operations[] = {
    {LIT("/embeddings"), LIT("embeddings")},
    {LIT(":embedContent"), LIT("embeddings")},
    {LIT(":batchEmbedContents"), LIT("embeddings")},
    {LIT("/completions"), LIT("text_completion")},
};

static daruma_str operation_of(const exchange *x)
{
    if (x->d)
        return S("chat");
    for (size_t i = 0; i < COUNT(operations); i++)
        if (str_ends(x->c->head.path, operations[i].end))
            return operations[i].operation;
    return (daruma_str){0};
}

/* OpenTelemetry's name for whose API a provider speaks. */
static daruma_str provider_name(const dialect *d)
{
    return d == &dialect_anthropic ? S("anthropic") : d == &dialect_gemini ? S("gcp.gemini") : S("openai");
}

/* ---- attributes ---- */

/* One attribute with a text of others; none when it is empty. */
#define PUT_TEXT(b, key, text) put_text((b), S(key), (text))
/* One with a word of ours, which is UTF-8; none when it is empty. */
#define PUT_WORD(b, key, word) put_word((b), S(key), (word))
/* One with a number; none when it is below 0. */
#define PUT_NUMBER(b, key, number) put_number((b), S(key), (number))
/* One that says that it is so; none when it is not. */
#define PUT_FLAG(b, key, flag) put_flag((b), S(key), (flag))

__attribute__((always_inline)) static inline void put_word(daruma_buf *b, daruma_str key, daruma_str word)
{
    if (word.n)
        proto_attribute(b, SPAN_ATTRIBUTES, key, word);
}

__attribute__((always_inline)) static inline void put_text(daruma_buf *b, daruma_str key, daruma_str text)
{
    char room[PROTO_TEXT_BYTES];
    put_word(b, key, proto_text(text, room));
}

__attribute__((always_inline)) static inline void put_number(daruma_buf *b, daruma_str key, int64_t v)
{
    if (v >= 0)
        proto_attribute_number(b, SPAN_ATTRIBUTES, key, VALUE_INT, (uint64_t)v);
}

__attribute__((always_inline)) static inline void put_flag(daruma_buf *b, daruma_str key, bool v)
{
    if (v)
        proto_attribute_number(b, SPAN_ATTRIBUTES, key, VALUE_BOOL, 1);
}

/* A model's name, fit to be shown, and UTF-8; most often it is the one that was shown last. */
static daruma_str shown(trace_shown *last, daruma_str name)
{
    if (last->clean.p && str_eq(name, (daruma_str){last->name, last->n}))
        return last->clean;
    daruma_arena a = arena_over(last->room, sizeof last->room);
    daruma_buf kept = buf_over(last->name, sizeof last->name);
    buf_put(&kept, name);
    last->n = kept.n;
    daruma_str clean = proto_text(words_clean(name, JOIN_ID_MAX * 2, &a), last->utf8);
    last->clean = kept.full ? (daruma_str){0} : clean;
    return clean;
}

/* ---- a span ---- */

static void begin_span(daruma_buf *b, const trace *t, uint64_t id, uint64_t parent)
{
    proto_id(b, SPAN_TRACE_ID, t->id, 2);
    proto_id(b, SPAN_ID, &id, 1);
    if (parent)
        proto_id(b, SPAN_PARENT, &parent, 1);
}

static void put_name(daruma_buf *b, daruma_str operation, daruma_str model, daruma_str method)
{
    daruma_str first = operation.n ? operation : str_sub(method, 0, JOIN_ID_MAX);
    bool both = model.n && operation.n;
    char *to = proto_begin(b, SPAN_NAME, first.n + (both ? 1 + model.n : 0));
    if (!to)
        return;
    memcpy(to, first.p, first.n);
    if (both) {
        to[first.n] = ' ';
        memcpy(to + first.n + 1, model.p, model.n);
    }
}

static void put_times(daruma_buf *b, int kind, int64_t began_ns, int64_t ended_ns)
{
    buf_putc(b, SPAN_KIND << 3 | PROTO_VARINT);
    buf_putc(b, (char)kind);
    proto_fixed64(b, SPAN_BEGAN, (uint64_t)began_ns);
    proto_fixed64(b, SPAN_ENDED, (uint64_t)(ended_ns < began_ns ? began_ns : ended_ns)); /* the clock was set back */
}

static void end_span(daruma_buf *b, bool failed)
{
    char *to = failed ? proto_begin(b, SPAN_STATUS, 2) : NULL;
    if (to)
        memcpy(to, (char[]){STATUS_CODE << 3 | PROTO_VARINT, STATUS_ERROR}, 2);
}

static void put_usage(daruma_buf *b, int64_t input_tokens, int64_t output_tokens)
{
    PUT_NUMBER(b, "gen_ai.usage.input_tokens", input_tokens);
    PUT_NUMBER(b, "gen_ai.usage.output_tokens", output_tokens);
}

static void put_answered_by(daruma_buf *b, const trace_span *s, trace_names *names)
{
    PUT_WORD(b, "gen_ai.response.model", shown(&names->answered, s->answered_by));
}

/* ---- of a request ---- */

static bool is_answered(daruma_outcome o)
{
    return o == DARUMA_OUTCOME_OK || o == DARUMA_OUTCOME_RECOVERED || o == DARUMA_OUTCOME_CANCELLED_;
}

void trace_write_request(const exchange *x, const drive_result *r, const trace_span *answer, trace_names *names,
                         daruma_buf *b)
{
    const trace *t = x->trace;
    char said[512], digits[16];
    daruma_buf number = buf_over(digits, sizeof digits);
    daruma_str model = shown(&names->asked, r->model), method = x->c->head.method, operation = operation_of(x);
    daruma_buf remedies = buf_over(said, sizeof said);
    bool failed = !is_answered(r->outcome);
    begin_span(b, t, t->span, t->parent);
    put_name(b, operation, model, method);
    put_times(b, KIND_SERVER, t->began_ns, sys_wall_ns());
    PUT_WORD(b, "gen_ai.operation.name", operation);
    PUT_WORD(b, "gen_ai.request.model", model);
    if (answer) {
        PUT_WORD(b, "gen_ai.provider.name", provider_name(answer->provider->dialect));
        put_answered_by(b, answer, names);
    }
    put_usage(b, r->input_tokens, r->output_tokens);
    PUT_WORD(b, "http.request.method", method);
    if (!x->d) {
        char room[WORDS_ROOM_BYTES];
        daruma_arena a = arena_over(room, sizeof room);
        PUT_TEXT(b, "url.path", words_clean(x->c->head.path, JOIN_ID_MAX * 2, &a));
    }
    PUT_NUMBER(b, "http.response.status_code", x->status ? x->status : -1);
    if (failed)
        PUT_WORD(b, "error.type", str_of(t->judged ? daruma_kind_name(t->kind) : daruma_outcome_name(r->outcome)));
    buf_hex64(&number, r->case_id);
    PUT_WORD(b, "daruma.case", buf_str(&number));
    PUT_TEXT(b, "daruma.client", x->client ? x->client->name : (daruma_str){0});
    PUT_WORD(b, "daruma.outcome", str_of(daruma_outcome_name(r->outcome)));
    if (t->judged)
        PUT_WORD(b, "daruma.kind", str_of(daruma_kind_name(t->kind)));
    session_say_remedies(x->session, &remedies);
    if (!str_eq(buf_str(&remedies), S("none")))
        PUT_WORD(b, "daruma.remedies", buf_str(&remedies));
    PUT_NUMBER(b, "daruma.calls", r->attempts);
    PUT_FLAG(b, "daruma.stream", r->stream);
    PUT_NUMBER(b, "daruma.first_ms", r->first);
    end_span(b, failed);
}

/* ---- of a call ---- */

/* Why a call failed, in a word; NULL: it did not. */
static const char *error_of(const trace_span *s, char status[16])
{
    if (s->judged)
        return daruma_kind_name(s->kind);
    if (s->net != DARUMA_NET_NONE)
        return daruma_net_name(s->net);
    if (s->status < 400)
        return NULL;
    daruma_buf b = buf_over(status, 15);
    buf_int(&b, s->status);
    status[b.n] = 0;
    return status;
}

void trace_write_call(const exchange *x, const drive_result *r, const trace_span *s, bool answer, trace_names *names,
                      daruma_buf *b)
{
    char status[16];
    const char *error = error_of(s, status);
    daruma_str operation = s->target ? operation_of(x) : S("chat"), model = shown(&names->asked, s->model);
    begin_span(b, x->trace, s->id, x->trace->span);
    put_name(b, operation, model, s->target ? x->c->head.method : S("POST"));
    put_times(b, KIND_CLIENT, s->began_ns, s->ended_ns);
    PUT_WORD(b, "gen_ai.operation.name", operation);
    PUT_WORD(b, "gen_ai.provider.name", provider_name(s->provider->dialect));
    PUT_WORD(b, "gen_ai.request.model", model);
    put_answered_by(b, s, names);
    put_usage(b, answer ? r->input_tokens : s->input_tokens, answer ? r->output_tokens : s->output_tokens);
    PUT_TEXT(b, "server.address", s->provider->to.host);
    PUT_NUMBER(b, "server.port", s->provider->to.port);
    PUT_NUMBER(b, "http.response.status_code", s->status ? s->status : -1);
    if (error)
        PUT_WORD(b, "error.type", str_of(error));
    PUT_TEXT(b, "daruma.provider", s->provider->name);
    PUT_WORD(b, "daruma.call", !s->target ? S("side") : s->hedge ? S("hedge") : S("attempt"));
    if (s->judged)
        PUT_WORD(b, "daruma.kind", str_of(daruma_kind_name(s->kind)));
    if (s->remedy)
        PUT_WORD(b, "daruma.remedy", str_of(s->remedy));
    PUT_FLAG(b, "daruma.cancelled", s->cancelled);
    end_span(b, error != NULL);
}
