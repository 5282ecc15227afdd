/* speak_gemini.c - an answer of generateContent and streamGenerateContent:
 * https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse. A stream is server-sent events, or without
 * alt=sse one JSON array whose elements come as they are made. Calls have no ids, as most models give them. */
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/speak/speak.h"

/* Arguments are an object on this wire: what the model wrote is told in another way when it is none. */
static bool malformed(const speech *s)
{
    for (size_t i = 0; i < s->ncalls; i++)
        if (!json_is_object(s->arguments[i]) || !json_valid(s->arguments[i]))
            return true;
    return false;
}

static const char *speak_gemini_finish(const speech *s)
{
    return s->twist == ANSWER_FILTERED ? "SAFETY"
           : s->cut                    ? "MAX_TOKENS"
           : malformed(s)              ? "MALFORMED_FUNCTION_CALL"
                                       : "STOP";
}

static void usage(daruma_buf *b, const ask *q, const speech *s, int64_t output)
{
    buf_printf(b,
               ",\"usageMetadata\":{\"promptTokenCount\":%lld,\"candidatesTokenCount\":%lld,\"totalTokenCount\":%lld,"
               "\"promptTokensDetails\":[{\"modality\":\"TEXT\",\"tokenCount\":%lld}]},\"modelVersion\":",
               (long long)s->input, (long long)output, (long long)(s->input + output), (long long)s->input);
    BUF_SAY(b, buf_quoted(q->model), ",\"responseId\":");
    speak_id(b, "gen_", q, 0);
    buf_putc(b, '}');
}

static void text_part(daruma_buf *b, daruma_str text, bool thought)
{
    BUF_SAY(b, "{\"text\":", buf_quoted(text), thought ? ",\"thought\":true}" : "}");
}

static void call_part(daruma_buf *b, const ask *q, const speech *s, size_t i)
{
    BUF_LIT(b, "{\"functionCall\":{");
    if (s->call_ids) {
        BUF_LIT(b, "\"id\":");
        speak_id(b, "call_", q, i);
        buf_putc(b, ',');
    }
    BUF_SAY(b, "\"name\":", buf_quoted(s->name[i]), ",\"args\":", s->arguments[i], "}");
    if (s->signed_call[i].n)
        BUF_SAY(b, ",\"thoughtSignature\":", buf_quoted(s->signed_call[i]));
    buf_putc(b, '}');
}

static void open_candidate(daruma_buf *b)
{
    BUF_LIT(b, "{\"candidates\":[{\"content\":{\"parts\":[");
}

/* Behind the parts. */
static void close_candidate(daruma_buf *b, const speech *s, bool last)
{
    BUF_LIT(b, "],\"role\":\"model\"}");
    if (last)
        buf_printf(b, ",\"finishReason\":\"%s\"", speak_gemini_finish(s));
    if (last && malformed(s)) {
        BUF_LIT(b, ",\"finishMessage\":");
        buf_json(b, STR_SAY(b->arena, "Malformed function call: ", s->name[0], s->arguments[0]));
    }
    BUF_LIT(b, ",\"index\":0}]");
}

static answer gemini_body(const ask *q, const speech *s, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    size_t n = 0;
    if (s->twist == ANSWER_CHOICELESS) {
        BUF_LIT(b, "{\"candidates\":[]");
        usage(b, q, s, 0);
        return answer_json(200, b);
    }
    open_candidate(b);
    if (s->thinking.n && ++n)
        text_part(b, s->thinking, true);
    if (speak_has_text(s) && s->text.n) {
        buf_putz(b, n++ ? "," : "");
        text_part(b, s->text, false);
    }
    for (size_t i = 0; i < s->ncalls && !malformed(s); i++) {
        buf_putz(b, n++ ? "," : "");
        call_part(b, q, s, i);
    }
    close_candidate(b, s, true);
    usage(b, q, s, s->output);
    return answer_json(200, b);
}

static void open_event(stream *x, const ask *q)
{
    if (q->array)
        buf_putz(&x->b, x->nends ? ",\r\n" : "[");
    else
        BUF_LIT(&x->b, "data: ");
}

static void close_event(stream *x, const ask *q, const speech *s, answer_part part, bool last)
{
    close_candidate(&x->b, s, last);
    usage(&x->b, q, s, s->output);
    if (!q->array)
        BUF_LIT(&x->b, "\r\n\r\n");
    stream_mark(x, part);
}

static void text_events(stream *x, const ask *q, const speech *s, daruma_str text, answer_part part)
{
    for (daruma_str rest = text; rest.n;) {
        open_event(x, q);
        open_candidate(&x->b);
        text_part(&x->b, answer_piece(&rest, speak_piece_bytes(text)), part == ANSWER_THINKING);
        close_event(x, q, s, part, false);
    }
}

static answer gemini_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    if (s->twist == ANSWER_CHOICELESS) {
        open_event(&x, q);
        BUF_LIT(&x.b, "{\"candidates\":[]");
        usage(&x.b, q, s, 0);
        buf_putz(&x.b, q->array ? "" : "\r\n\r\n");
        stream_mark(&x, ANSWER_FRAME);
    } else {
        text_events(&x, q, s, s->thinking, ANSWER_THINKING);
        if (speak_has_text(s))
            text_events(&x, q, s, s->text, ANSWER_TEXT);
        for (size_t i = 0; i < s->ncalls && !malformed(s); i++) {
            open_event(&x, q);
            open_candidate(&x.b);
            call_part(&x.b, q, s, i);
            close_event(&x, q, s, ANSWER_ARGUMENTS, false);
        }
        open_event(&x, q);
        open_candidate(&x.b);
        if (speak_gemini_finish(s)[1] == 'T') /* STOP: the last event carries an empty text */
            text_part(&x.b, S(""), false);
        close_event(&x, q, s, ANSWER_FRAME, true);
    }
    if (q->array) {
        BUF_LIT(&x.b, "]");
        stream_mark(&x, ANSWER_FRAME);
    }
    answer r = stream_answer(&x);
    answer_header(&r, S("content-type"), q->array ? S("application/json; charset=UTF-8") : S("text/event-stream"));
    return r;
}

answer speak_gemini(const ask *q, const speech *s, daruma_arena *a)
{
    return q->stream ? gemini_stream(q, s, a) : gemini_body(q, s, a);
}

/* Google's status for an HTTP status; an error of a script may have any. */
static const char *status_of(int status)
{
    static const struct {
        int status;
        const char *name;
    } names[] = {{400, "INVALID_ARGUMENT"}, {401, "UNAUTHENTICATED"},    {403, "PERMISSION_DENIED"}, {404, "NOT_FOUND"},
                 {409, "ABORTED"},          {429, "RESOURCE_EXHAUSTED"}, {499, "CANCELLED"},         {500, "INTERNAL"},
                 {501, "UNIMPLEMENTED"},    {503, "UNAVAILABLE"},        {504, "DEADLINE_EXCEEDED"}};
    for (size_t i = 0; i < COUNT(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return "UNKNOWN";
}

void gemini_refusal(daruma_buf *b, const refusal *r)
{
    bool upper = r->type.n && r->type.p[0] >= 'A' && r->type.p[0] <= 'Z';
    buf_printf(b, "{\"error\":{\"code\":%d,\"message\":", r->status);
    BUF_SAY(b, buf_quoted(r->message), ",\"status\":", buf_quoted(upper ? r->type : str_of(status_of(r->status))));
    if (r->details.n)
        BUF_SAY(b, ",\"details\":", r->details);
    BUF_LIT(b, "}}");
}
