/* trace_write.c - spans as OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids as
 * hexadecimal digits, 64-bit numbers as strings. Attributes have the names of OpenTelemetry's conventions for
 * generative AI and HTTP where those have one, else daruma.*. Nothing of what was said, no key, no address of a client.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "engine/tell/words.h"
#include "gateway/see/trace.h"
#include "sys/sys.h"

enum { KIND_SERVER = 2, KIND_CLIENT = 3, STATUS_ERROR = 2 }; /* numbers of opentelemetry/proto/trace/v1/trace.proto */

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
static const char *provider_name(const dialect *d)
{
    return d == &dialect_anthropic ? "anthropic" : d == &dialect_gemini ? "gcp.gemini" : "openai";
}

/* ---- attributes ---- */

/* One attribute; `value` is its value as JSON. */
static void put_value(daruma_buf *b, const char *key, const char *type, buf_part value)
{
    BUF_SAY(b, b->n && b->p[b->n - 1] == '}' ? "," : "", "{\"key\":\"", key, "\",\"value\":{\"", type, "\":", value,
            "}}");
}

static void put_text(daruma_buf *b, const char *key, daruma_str text)
{
    if (text.n)
        put_value(b, key, "stringValue", buf_quoted(text));
}

static void put_word(daruma_buf *b, const char *key, const char *word)
{
    put_text(b, key, str_of(word));
}

/* A text of a client's or a provider's, fit to be shown. It lives in `a` or borrows. */
static daruma_str clean(daruma_str text, daruma_arena *a)
{
    return words_clean(text, JOIN_ID_MAX * 2, a);
}

static void put_number(daruma_buf *b, const char *key, int64_t v)
{
    char digits[24];
    daruma_buf text = buf_over(digits, sizeof digits);
    buf_int(&text, v);
    if (v >= 0)
        put_value(b, key, "intValue", buf_quoted(buf_str(&text)));
}

static void put_flag(daruma_buf *b, const char *key, bool v)
{
    if (v)
        put_value(b, key, "boolValue", buf_raw(S("true")));
}

/* ---- a span ---- */

static void put_name(daruma_buf *b, daruma_str operation, daruma_str model, daruma_str method)
{
    char text[JOIN_ID_MAX * 3];
    daruma_buf name = buf_over(text, sizeof text);
    buf_put(&name, operation.n ? operation : str_sub(method, 0, JOIN_ID_MAX));
    if (model.n && operation.n) {
        buf_putc(&name, ' ');
        buf_put(&name, model);
    }
    BUF_MEMBERS(b, "name", buf_str(&name));
}

static void begin_span(daruma_buf *b, const trace *t, uint64_t id, daruma_str parent)
{
    BUF_SAY(b, "{\"traceId\":\"", t->id, "\",\"spanId\":\"");
    buf_hex64(b, id);
    BUF_LIT(b, "\"");
    BUF_MEMBERS(b, "parentSpanId", buf_any(parent));
}

static void put_times(daruma_buf *b, int kind, int64_t began_ns, int64_t ended_ns)
{
    if (ended_ns < began_ns)
        ended_ns = began_ns; /* the clock was set back */
    BUF_SAY(b, ",\"kind\":", kind, ",\"startTimeUnixNano\":\"", began_ns, "\",\"endTimeUnixNano\":\"", ended_ns,
            "\",\"attributes\":[");
}

static void end_span(daruma_buf *b, bool failed)
{
    BUF_LIT(b, "],\"status\":{");
    BUF_MEMBERS(b, "code", BUF_IF(failed, STATUS_ERROR));
    BUF_LIT(b, "}}");
}

static void put_usage(daruma_buf *b, int64_t input_tokens, int64_t output_tokens)
{
    put_number(b, "gen_ai.usage.input_tokens", input_tokens);
    put_number(b, "gen_ai.usage.output_tokens", output_tokens);
}

static void put_answered_by(daruma_buf *b, const trace_span *s)
{
    char room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    put_text(b, "gen_ai.response.model", clean((daruma_str){s->answered_by, s->nmodel}, &a));
}

/* ---- of a request ---- */

static bool is_answered(daruma_outcome o)
{
    return o == DARUMA_OUTCOME_OK || o == DARUMA_OUTCOME_RECOVERED || o == DARUMA_OUTCOME_CANCELLED_;
}

void trace_write_request(const exchange *x, const drive_result *r, const trace_span *answer, daruma_buf *b)
{
    const trace *t = x->trace;
    char said[512], room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str model = clean(r->model, &a), method = x->c->head.method;
    daruma_buf remedies = buf_over(said, sizeof said);
    bool failed = !is_answered(r->outcome);
    daruma_str operation = operation_of(x);
    begin_span(b, t, t->span, str_of(t->parent));
    put_name(b, operation, model, method);
    put_times(b, KIND_SERVER, t->began_ns, sys_wall_ns());
    put_text(b, "gen_ai.operation.name", operation);
    put_text(b, "gen_ai.request.model", model);
    if (answer) {
        put_word(b, "gen_ai.provider.name", provider_name(answer->provider->dialect));
        put_answered_by(b, answer);
    }
    put_usage(b, r->input_tokens, r->output_tokens);
    put_text(b, "http.request.method", method);
    if (!x->d)
        put_text(b, "url.path", clean(x->c->head.path, &a));
    put_number(b, "http.response.status_code", x->status ? x->status : -1);
    if (failed)
        put_word(b, "error.type", t->judged ? daruma_kind_name(t->kind) : daruma_outcome_name(r->outcome));
    char id[16];
    daruma_buf hex = buf_over(id, sizeof id);
    buf_hex64(&hex, r->case_id);
    put_text(b, "daruma.case", buf_str(&hex));
    const config_client *client = lock_client(&x->s->cfg, &x->c->head);
    put_text(b, "daruma.client", client ? client->name : (daruma_str){0});
    put_word(b, "daruma.outcome", daruma_outcome_name(r->outcome));
    if (t->judged)
        put_word(b, "daruma.kind", daruma_kind_name(t->kind));
    session_say_remedies(x->session, &remedies);
    if (!str_eq(buf_str(&remedies), S("none")))
        put_text(b, "daruma.remedies", buf_str(&remedies));
    put_number(b, "daruma.calls", r->attempts);
    put_flag(b, "daruma.stream", r->stream);
    put_number(b, "daruma.first_ms", r->first);
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

void trace_write_call(const exchange *x, const drive_result *r, const trace_span *s, bool answer, daruma_buf *b)
{
    const trace *t = x->trace;
    char parent[SPAN_ID_DIGITS], status[16], room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf hex = buf_over(parent, sizeof parent);
    const char *error = error_of(s, status);
    daruma_str operation = s->target ? operation_of(x) : S("chat"), model = clean(s->model, &a);
    buf_hex64(&hex, t->span);
    begin_span(b, t, s->id, buf_str(&hex));
    put_name(b, operation, model, s->target ? x->c->head.method : S("POST"));
    put_times(b, KIND_CLIENT, s->began_ns, s->ended_ns);
    put_text(b, "gen_ai.operation.name", operation);
    put_word(b, "gen_ai.provider.name", provider_name(s->provider->dialect));
    put_text(b, "gen_ai.request.model", model);
    put_answered_by(b, s);
    put_usage(b, answer ? r->input_tokens : s->input_tokens, answer ? r->output_tokens : s->output_tokens);
    put_text(b, "server.address", s->provider->to.host);
    put_number(b, "server.port", s->provider->to.port);
    put_number(b, "http.response.status_code", s->status ? s->status : -1);
    if (error)
        put_word(b, "error.type", error);
    put_text(b, "daruma.provider", s->provider->name);
    put_word(b, "daruma.call", !s->target ? "side" : s->hedge ? "hedge" : "attempt");
    if (s->judged)
        put_word(b, "daruma.kind", daruma_kind_name(s->kind));
    if (s->remedy)
        put_word(b, "daruma.remedy", s->remedy);
    put_flag(b, "daruma.cancelled", s->cancelled);
    end_span(b, error != NULL);
}
