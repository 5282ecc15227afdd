/* speak.c - writes a speech in one of the four wires, as a body and as a stream (API references of OpenAI, Anthropic
 * and Google), and what is asked beside them. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/speak/speak.h"

stream stream_new(const speech *s, daruma_arena *a)
{
    size_t bytes = s->text.n + s->thinking.n;
    for (size_t i = 0; i < s->ncalls; i++)
        bytes += s->arguments[i].n;
    stream x = {.cap = bytes / 4 + 40 + 8 * ANSWER_CALLS_MAX};
    x.ends = ARENA_NEW(a, size_t, x.cap);
    x.pieces = ARENA_NEW(a, unsigned char, x.cap);
    if (!x.ends || !x.pieces)
        x.cap = 0;
    x.b = buf_in(a);
    return x;
}

void stream_mark(stream *x, answer_part part)
{
    if (x->nends == x->cap)
        return;
    x->pieces[x->nends] = (unsigned char)part;
    x->ends[x->nends++] = x->b.n;
}

void stream_piece(stream *x, answer_part part)
{
    BUF_LIT(&x->b, "\n\n");
    stream_mark(x, part);
}

void stream_end(stream *x)
{
    stream_piece(x, ANSWER_FRAME);
}

answer stream_answer(const stream *s)
{
    answer x = {
        .status = 200, .stream = true, .body = buf_str(&s->b), .ends = s->ends, .nends = s->nends, .pieces = s->pieces};
    answer_header(&x, S("content-type"), S("text/event-stream; charset=utf-8"));
    answer_header(&x, S("cache-control"), S("no-cache"));
    return x;
}

void speak_event(stream *x, const char *name)
{
    buf_printf(&x->b, "event: %s\ndata: {\"type\":\"%s\"", name, name);
}

size_t speak_piece_bytes(daruma_str text)
{
    return text.n / 40 > 4 ? text.n / 40 : 4; /* about forty pieces at most */
}

void speak_id(daruma_buf *b, const char *prefix, const ask *q, size_t nth)
{
    buf_printf(b, "\"%s%016llx%02zu\"", prefix, (unsigned long long)q->hash, nth);
}

bool speak_has_text(const speech *s)
{
    return (s->ncalls == 0 || s->text.n) && s->twist != ANSWER_CHOICELESS && s->twist != ANSWER_FILTERED;
}

answer answer_write(const ask *q, const speech *s, daruma_arena *a)
{
    switch (q->wire) {
    case WIRE_CHAT:
        return speak_chat(q, s, a);
    case WIRE_MESSAGES:
        return speak_messages(q, s, a);
    case WIRE_RESPONSES:
        return speak_responses(q, s, a);
    case WIRE_GEMINI:
    case WIRES:
        break;
    }
    return speak_gemini(q, s, a);
}

/* ---- beside the four wires ------------------------------------------------------------------------ */

answer answer_embeddings(const ask *q, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    size_t n = json_is_array(q->messages) ? json_count(q->messages) : 1;
    BUF_LIT(b, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[0.5,-0.25,0.125,%zu]}", i ? "," : "", i,
                   i);
    BUF_SAY(b, "],\"model\":", buf_quoted(q->model));
    buf_printf(b, ",\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld}}", (long long)q->tokens,
               (long long)q->tokens);
    return answer_json(200, b);
}

answer answer_count(const ask *q, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_printf(&b, q->wire == WIRE_GEMINI ? "{\"totalTokens\":%lld}" : "{\"input_tokens\":%lld}", (long long)q->tokens);
    return answer_json(200, &b);
}

answer answer_models(const ask *q, const daruma_str *names, size_t n, daruma_arena *a)
{
    static const struct {
        const char *open, *item, *behind, *close;
    } forms[WIRES] = {
        {"{\"object\":\"list\",\"data\":[",
         "{\"id\":", ",\"object\":\"model\",\"created\":1767225600,\"owned_by\":\"chaos\"}", "]}"},
        {"{\"data\":[",
         "{\"id\":", ",\"type\":\"model\",\"created_at\":\"2026-01-01T00:00:00Z\",\"display_name\":\"a model\"}",
         "],\"has_more\":false}"},
        {"{\"object\":\"list\",\"data\":[",
         "{\"id\":", ",\"object\":\"model\",\"created\":1767225600,\"owned_by\":\"chaos\"}", "]}"},
        {"{\"models\":[", "{\"name\":",
         ",\"version\":\"1\",\"supportedGenerationMethods\":[\"generateContent\",\"streamGenerateContent\","
         "\"countTokens\"]}",
         "]}"},
    };
    daruma_buf out = buf_in(a), *b = &out;
    buf_putz(b, forms[q->wire].open);
    for (size_t i = 0; i < n; i++) {
        BUF_SAY(b, i ? "," : "", forms[q->wire].item,
                buf_quoted(STR_SAY(a, q->wire == WIRE_GEMINI ? "models/" : "", names[i])), forms[q->wire].behind);
    }
    buf_putz(b, forms[q->wire].close);
    return answer_json(200, b);
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static void json_or_null(daruma_buf *b, daruma_str s)
{
    if (s.n)
        buf_json(b, s);
    else
        BUF_LIT(b, "null");
}

static void openai_error(daruma_buf *b, const refusal *r)
{
    BUF_SAY(b, "{\"message\":", buf_quoted(r->message), ",\"type\":", buf_quoted(r->type), ",\"param\":");
    json_or_null(b, r->param);
    BUF_LIT(b, ",\"code\":");
    json_or_null(b, r->code);
    BUF_LIT(b, "}");
}

static void anthropic_error(daruma_buf *b, const refusal *r, uint64_t id)
{
    BUF_SAY(b, "{\"type\":\"error\",\"error\":{\"type\":", buf_quoted(r->type),
            ",\"message\":", buf_quoted(r->message));
    buf_printf(b, "},\"request_id\":\"req_%016llx\"}", (unsigned long long)id);
}

answer answer_refusal(wire w, const refusal *r, uint64_t id, daruma_arena *a)
{
    daruma_buf b = buf_in(a), name = buf_in(a);
    if (r->bare)
        return (answer){.status = r->status};
    if (w == WIRE_MESSAGES) {
        anthropic_error(&b, r, id);
    } else if (w == WIRE_GEMINI) {
        gemini_refusal(&b, r);
    } else {
        BUF_LIT(&b, "{\"error\":");
        openai_error(&b, r);
        BUF_LIT(&b, "}");
    }
    answer x = answer_json(r->status, &b);
    buf_printf(&name, "req_%016llx", (unsigned long long)id);
    if (w != WIRE_GEMINI)
        answer_header(&x, w == WIRE_MESSAGES ? S("request-id") : S("x-request-id"), buf_str(&name));
    return x;
}

void answer_refusal_events(daruma_buf *b, wire w, const refusal *r, uint64_t id)
{
    if (w == WIRE_MESSAGES) {
        BUF_LIT(b, "event: error\ndata: ");
        anthropic_error(b, r, id);
    } else if (w == WIRE_CHAT) {
        BUF_LIT(b, "data: {\"error\":");
        openai_error(b, r);
        BUF_LIT(b, "}");
    } else if (w == WIRE_GEMINI) {
        BUF_LIT(b, "data: ");
        gemini_refusal(b, r);
    } else { /* the API sends both: what broke, then the response that failed */
        BUF_LIT(b, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":99,\"error\":");
        openai_error(b, r);
        buf_printf(b,
                   "}\n\nevent: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":100,"
                   "\"response\":{\"id\":\"resp_%016llx00\",\"object\":\"response\",\"created_at\":%d,"
                   "\"status\":\"failed\",\"output\":[],\"usage\":null,\"error\":{\"code\":",
                   (unsigned long long)id, SPEAK_CREATED);
        BUF_SAY(b, buf_quoted(r->code.n ? r->code : S("server_error")), ",\"message\":", buf_quoted(r->message), "}}}");
    }
    BUF_LIT(b, "\n\n");
}
