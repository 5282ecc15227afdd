/* speak.c - writes a speech in the three wires, as a body and as a stream (API references of OpenAI and Anthropic). */
#include "chaos/answer.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

enum { CREATED = 1767225600 }; /* every answer is from 2026-01-01: it is a function of the request alone */

/* A stream while it is written. */
typedef struct stream {
    daruma_buf b;
    size_t *ends, nends, cap;
    int64_t sequence; /* of Responses events */
} stream;

static void stream_end(stream *s)
{
    BUF_LIT(&s->b, "\n\n");
    if (s->nends < s->cap)
        s->ends[s->nends++] = s->b.n;
}

static stream stream_new(const speech *s, daruma_arena *a)
{
    size_t bytes = s->text.n;
    for (size_t i = 0; i < s->ncalls; i++)
        bytes += s->arguments[i].n;
    stream x = {.cap = bytes / 4 + 32 + 8 * ANSWER_CALLS_MAX};
    x.ends = ARENA_NEW(a, size_t, x.cap);
    if (!x.ends)
        x.cap = 0;
    x.b = buf_in(a);
    return x;
}

static answer stream_answer(const stream *s)
{
    answer x = {.status = 200, .stream = true, .body = buf_str(&s->b), .ends = s->ends, .nends = s->nends};
    answer_header(&x, S("content-type"), S("text/event-stream; charset=utf-8"));
    answer_header(&x, S("cache-control"), S("no-cache"));
    return x;
}

static size_t piece_bytes(daruma_str text)
{
    return text.n / 40 > 4 ? text.n / 40 : 4; /* about forty pieces at most */
}

static void put_id(daruma_buf *b, const char *prefix, const ask *q, size_t nth)
{
    buf_printf(b, "\"%s%016llx%02zu\"", prefix, (unsigned long long)q->hash, nth);
}

/* ---- Chat Completions --------------------------------------------------------------------- */

static const char *chat_finish(const speech *s)
{
    return s->twist == ANSWER_FILTERED ? "content_filter" : s->cut ? "length" : s->ncalls ? "tool_calls" : "stop";
}

static void chat_open(daruma_buf *b, const ask *q, const char *object)
{
    BUF_LIT(b, "{\"id\":");
    put_id(b, "chatcmpl-", q, 0);
    buf_printf(b, ",\"object\":\"%s\",\"created\":%d,\"model\":", object, CREATED);
    buf_json(b, q->model);
    BUF_LIT(b, ",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_chaos\"");
}

static void chat_usage(daruma_buf *b, const speech *s)
{
    buf_printf(
        b,
        "{\"prompt_tokens\":%lld,\"completion_tokens\":%lld,\"total_tokens\":%lld,"
        "\"prompt_tokens_details\":{\"cached_tokens\":0},\"completion_tokens_details\":{\"reasoning_tokens\":0}}",
        (long long)s->input, (long long)s->output, (long long)(s->input + s->output));
}

static void chat_call(daruma_buf *b, const ask *q, const speech *s, size_t i, daruma_str arguments)
{
    BUF_LIT(b, "\"id\":");
    put_id(b, "call_", q, i);
    BUF_LIT(b, ",\"type\":\"function\",\"function\":{\"name\":");
    buf_json(b, s->name[i]);
    BUF_LIT(b, ",\"arguments\":");
    buf_json(b, arguments);
    BUF_LIT(b, "}");
}

static answer chat_body(const ask *q, const speech *s, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    chat_open(b, q, "chat.completion");
    BUF_LIT(b, ",\"choices\":[");
    if (s->twist != ANSWER_CHOICELESS) {
        BUF_LIT(b, "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
        if (s->ncalls)
            BUF_LIT(b, "null");
        else
            buf_json(b, s->text);
        BUF_LIT(b, ",\"refusal\":null");
        for (size_t i = 0; i < s->ncalls; i++) {
            buf_putz(b, i ? ",{" : ",\"tool_calls\":[{");
            chat_call(b, q, s, i, s->arguments[i]);
            buf_putz(b, i + 1 == s->ncalls ? "}]" : "}");
        }
        buf_printf(b, "},\"logprobs\":null,\"finish_reason\":\"%s\"}", chat_finish(s));
    }
    BUF_LIT(b, "],\"usage\":");
    chat_usage(b, s);
    BUF_LIT(b, "}");
    return answer_json(200, b);
}

static void chunk_open(stream *x, const ask *q)
{
    BUF_LIT(&x->b, "data: ");
    chat_open(&x->b, q, "chat.completion.chunk");
    BUF_LIT(&x->b, ",\"choices\":[{\"index\":0,\"delta\":{");
}

static void chunk_close(stream *x, const char *finish)
{
    if (finish)
        buf_printf(&x->b, "},\"logprobs\":null,\"finish_reason\":\"%s\"}]}", finish);
    else
        BUF_LIT(&x->b, "},\"logprobs\":null,\"finish_reason\":null}]}");
    stream_end(x);
}

static void chat_stream_call(stream *x, const ask *q, const speech *s, size_t i)
{
    chunk_open(x, q);
    buf_printf(&x->b, "\"tool_calls\":[{\"index\":%zu,", i);
    chat_call(&x->b, q, s, i, S(""));
    BUF_LIT(&x->b, "}]");
    chunk_close(x, NULL);
    for (daruma_str rest = s->arguments[i]; rest.n;) {
        chunk_open(x, q);
        buf_printf(&x->b, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", i);
        buf_json(&x->b, answer_piece(&rest, piece_bytes(s->arguments[i])));
        BUF_LIT(&x->b, "}}]");
        chunk_close(x, NULL);
    }
}

static answer chat_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    if (s->twist != ANSWER_CHOICELESS) {
        chunk_open(&x, q);
        BUF_LIT(&x.b, "\"role\":\"assistant\",\"content\":\"\",\"refusal\":null");
        chunk_close(&x, NULL);
        for (daruma_str rest = s->text; rest.n;) {
            chunk_open(&x, q);
            BUF_LIT(&x.b, "\"content\":");
            buf_json(&x.b, answer_piece(&rest, piece_bytes(s->text)));
            chunk_close(&x, NULL);
        }
        for (size_t i = 0; i < s->ncalls; i++)
            chat_stream_call(&x, q, s, i);
        chunk_open(&x, q);
        chunk_close(&x, chat_finish(s));
    }
    if (q->usage) {
        BUF_LIT(&x.b, "data: ");
        chat_open(&x.b, q, "chat.completion.chunk");
        BUF_LIT(&x.b, ",\"choices\":[],\"usage\":");
        chat_usage(&x.b, s);
        BUF_LIT(&x.b, "}");
        stream_end(&x);
    }
    BUF_LIT(&x.b, "data: [DONE]");
    stream_end(&x);
    return stream_answer(&x);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static const char *messages_stop(const speech *s)
{
    return s->twist == ANSWER_FILTERED ? "refusal" : s->cut ? "max_tokens" : s->ncalls ? "tool_use" : "end_turn";
}

static void messages_usage(daruma_buf *b, const speech *s, int64_t output)
{
    buf_printf(b,
               "{\"input_tokens\":%lld,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
               "\"output_tokens\":%lld,\"service_tier\":\"standard\"}",
               (long long)s->input, (long long)output);
}

/* The message up to and without its content's elements. */
static void messages_open(daruma_buf *b, const ask *q)
{
    BUF_LIT(b, "{\"id\":");
    put_id(b, "msg_", q, 0);
    BUF_LIT(b, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":");
    buf_json(b, q->model);
    BUF_LIT(b, ",\"content\":[");
}

static void messages_block(daruma_buf *b, const ask *q, const speech *s, size_t i, daruma_str input)
{
    BUF_LIT(b, "{\"type\":\"tool_use\",\"id\":");
    put_id(b, "toolu_", q, i);
    BUF_LIT(b, ",\"name\":");
    buf_json(b, s->name[i]);
    BUF_LIT(b, ",\"input\":");
    buf_put(b, input);
    BUF_LIT(b, "}");
}

static bool has_text(const speech *s)
{
    return s->ncalls == 0 && s->twist != ANSWER_CHOICELESS && s->twist != ANSWER_FILTERED;
}

static answer messages_body(const ask *q, const speech *s, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    messages_open(b, q);
    if (has_text(s)) {
        BUF_LIT(b, "{\"type\":\"text\",\"text\":");
        buf_json(b, s->text);
        BUF_LIT(b, "}");
    }
    for (size_t i = 0; i < s->ncalls; i++) {
        if (i)
            buf_putc(b, ',');
        /* a body holds the input as an object, never as text: broken arguments are empty ones */
        messages_block(b, q, s, i, s->twist == ANSWER_BAD_ARGUMENTS ? S("{}") : s->arguments[i]);
    }
    buf_printf(b, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,\"usage\":", messages_stop(s));
    messages_usage(b, s, s->output);
    BUF_LIT(b, "}");
    return answer_json(200, b);
}

static void named_event(stream *x, const char *name)
{
    buf_printf(&x->b, "event: %s\ndata: {\"type\":\"%s\"", name, name);
}

static void messages_pieces(stream *x, size_t index, daruma_str text, const char *type, const char *key)
{
    for (daruma_str rest = text; rest.n;) {
        named_event(x, "content_block_delta");
        buf_printf(&x->b, ",\"index\":%zu,\"delta\":{\"type\":\"%s\",\"%s\":", index, type, key);
        buf_json(&x->b, answer_piece(&rest, piece_bytes(text)));
        BUF_LIT(&x->b, "}}");
        stream_end(x);
    }
    named_event(x, "content_block_stop");
    buf_printf(&x->b, ",\"index\":%zu}", index);
    stream_end(x);
}

static void messages_start_block(stream *x, size_t index)
{
    named_event(x, "content_block_start");
    buf_printf(&x->b, ",\"index\":%zu,\"content_block\":", index);
}

static answer messages_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    named_event(&x, "message_start");
    BUF_LIT(&x.b, ",\"message\":");
    messages_open(&x.b, q);
    BUF_LIT(&x.b, "],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
    messages_usage(&x.b, s, 1);
    BUF_LIT(&x.b, "}}");
    stream_end(&x);
    BUF_LIT(&x.b, "event: ping\ndata: {\"type\": \"ping\"}");
    stream_end(&x);
    if (has_text(s)) {
        messages_start_block(&x, 0);
        BUF_LIT(&x.b, "{\"type\":\"text\",\"text\":\"\"}}");
        stream_end(&x);
        messages_pieces(&x, 0, s->text, "text_delta", "text");
    }
    for (size_t i = 0; i < s->ncalls; i++) {
        messages_start_block(&x, i);
        messages_block(&x.b, q, s, i, S("{}"));
        BUF_LIT(&x.b, "}");
        stream_end(&x);
        messages_pieces(&x, i, s->arguments[i], "input_json_delta", "partial_json");
    }
    named_event(&x, "message_delta");
    buf_printf(&x.b, ",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%lld}}",
               messages_stop(s), (long long)s->output);
    stream_end(&x);
    named_event(&x, "message_stop");
    BUF_LIT(&x.b, "}");
    stream_end(&x);
    return stream_answer(&x);
}

/* ---- Responses ---------------------------------------------------------------------------------- */

static void item_text(daruma_buf *b, const ask *q, const char *status, const daruma_str *text)
{
    BUF_LIT(b, "{\"id\":");
    put_id(b, "msg_", q, 0);
    buf_printf(b, ",\"type\":\"message\",\"status\":\"%s\",\"role\":\"assistant\",\"content\":[", status);
    if (text) {
        BUF_LIT(b, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":");
        buf_json(b, *text);
        BUF_LIT(b, "}");
    }
    BUF_LIT(b, "]}");
}

static void item_call(daruma_buf *b, const ask *q, const speech *s, size_t i, const char *status, daruma_str arguments)
{
    BUF_LIT(b, "{\"id\":");
    put_id(b, "fc_", q, i);
    buf_printf(b, ",\"type\":\"function_call\",\"status\":\"%s\",\"call_id\":", status);
    put_id(b, "call_", q, i);
    BUF_LIT(b, ",\"name\":");
    buf_json(b, s->name[i]);
    BUF_LIT(b, ",\"arguments\":");
    buf_json(b, arguments);
    BUF_LIT(b, "}");
}

/* The response object; `whole` when the answer is complete, else as it begins. */
static void response_object(daruma_buf *b, const ask *q, const speech *s, bool whole)
{
    const char *reason = s->twist == ANSWER_FILTERED ? "content_filter" : s->cut ? "max_output_tokens" : NULL;
    const char *status = !whole ? "in_progress" : reason ? "incomplete" : "completed";
    BUF_LIT(b, "{\"id\":");
    put_id(b, "resp_", q, 0);
    buf_printf(b, ",\"object\":\"response\",\"created_at\":%d,\"status\":\"%s\",\"background\":false,\"error\":null,",
               CREATED, status);
    if (whole && reason)
        buf_printf(b, "\"incomplete_details\":{\"reason\":\"%s\"}", reason);
    else
        BUF_LIT(b, "\"incomplete_details\":null");
    BUF_LIT(b, ",\"instructions\":null,\"metadata\":{},\"parallel_tool_calls\":true,\"temperature\":1.0,"
               "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"model\":");
    buf_json(b, q->model);
    BUF_LIT(b, ",\"output\":[");
    if (whole && has_text(s))
        item_text(b, q, status, &s->text);
    for (size_t i = 0; whole && i < s->ncalls; i++) {
        if (i)
            buf_putc(b, ',');
        item_call(b, q, s, i, "completed", s->arguments[i]);
    }
    BUF_LIT(b, "],\"usage\":");
    if (whole)
        buf_printf(b,
                   "{\"input_tokens\":%lld,\"input_tokens_details\":{\"cached_tokens\":0},\"output_tokens\":%lld,"
                   "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%lld}}",
                   (long long)s->input, (long long)s->output, (long long)(s->input + s->output));
    else
        BUF_LIT(b, "null}");
}

static void response_event(stream *x, const char *name)
{
    named_event(x, name);
    buf_printf(&x->b, ",\"sequence_number\":%lld", (long long)x->sequence++);
}

static void response_state(stream *x, const char *name, const ask *q, const speech *s, bool whole)
{
    response_event(x, name);
    BUF_LIT(&x->b, ",\"response\":");
    response_object(&x->b, q, s, whole);
    BUF_LIT(&x->b, "}");
    stream_end(x);
}

/* An event about output item `i`. */
static void item_event(stream *x, const char *name, const ask *q, const char *prefix, size_t i)
{
    response_event(x, name);
    BUF_LIT(&x->b, ",\"item_id\":");
    put_id(&x->b, prefix, q, i);
    buf_printf(&x->b, ",\"output_index\":%zu", i);
}

static void item_border(stream *x, const char *name, size_t i)
{
    response_event(x, name);
    buf_printf(&x->b, ",\"output_index\":%zu,\"item\":", i);
}

static void responses_text(stream *x, const ask *q, const speech *s)
{
    static const char part[] =
        ",\"content_index\":0,\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],"
        "\"text\":";
    item_border(x, "response.output_item.added", 0);
    item_text(&x->b, q, "in_progress", NULL);
    BUF_LIT(&x->b, "}");
    stream_end(x);
    item_event(x, "response.content_part.added", q, "msg_", 0);
    buf_putz(&x->b, part);
    BUF_LIT(&x->b, "\"\"}}");
    stream_end(x);
    for (daruma_str rest = s->text; rest.n;) {
        item_event(x, "response.output_text.delta", q, "msg_", 0);
        BUF_LIT(&x->b, ",\"content_index\":0,\"logprobs\":[],\"delta\":");
        buf_json(&x->b, answer_piece(&rest, piece_bytes(s->text)));
        BUF_LIT(&x->b, "}");
        stream_end(x);
    }
    item_event(x, "response.output_text.done", q, "msg_", 0);
    BUF_LIT(&x->b, ",\"content_index\":0,\"logprobs\":[],\"text\":");
    buf_json(&x->b, s->text);
    BUF_LIT(&x->b, "}");
    stream_end(x);
    item_event(x, "response.content_part.done", q, "msg_", 0);
    buf_putz(&x->b, part);
    buf_json(&x->b, s->text);
    BUF_LIT(&x->b, "}}");
    stream_end(x);
    item_border(x, "response.output_item.done", 0);
    item_text(&x->b, q, s->cut ? "incomplete" : "completed", &s->text);
    BUF_LIT(&x->b, "}");
    stream_end(x);
}

static void responses_call(stream *x, const ask *q, const speech *s, size_t i)
{
    item_border(x, "response.output_item.added", i);
    item_call(&x->b, q, s, i, "in_progress", S(""));
    BUF_LIT(&x->b, "}");
    stream_end(x);
    for (daruma_str rest = s->arguments[i]; rest.n;) {
        item_event(x, "response.function_call_arguments.delta", q, "fc_", i);
        BUF_LIT(&x->b, ",\"delta\":");
        buf_json(&x->b, answer_piece(&rest, piece_bytes(s->arguments[i])));
        BUF_LIT(&x->b, "}");
        stream_end(x);
    }
    item_event(x, "response.function_call_arguments.done", q, "fc_", i);
    BUF_LIT(&x->b, ",\"arguments\":");
    buf_json(&x->b, s->arguments[i]);
    BUF_LIT(&x->b, "}");
    stream_end(x);
    item_border(x, "response.output_item.done", i);
    item_call(&x->b, q, s, i, "completed", s->arguments[i]);
    BUF_LIT(&x->b, "}");
    stream_end(x);
}

static answer responses_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    response_state(&x, "response.created", q, s, false);
    response_state(&x, "response.in_progress", q, s, false);
    if (has_text(s))
        responses_text(&x, q, s);
    for (size_t i = 0; i < s->ncalls; i++)
        responses_call(&x, q, s, i);
    bool incomplete = s->cut || s->twist == ANSWER_FILTERED;
    response_state(&x, incomplete ? "response.incomplete" : "response.completed", q, s, true);
    return stream_answer(&x);
}

answer answer_write(const ask *q, const speech *s, daruma_arena *a)
{
    if (q->wire == WIRE_CHAT)
        return q->stream ? chat_stream(q, s, a) : chat_body(q, s, a);
    if (q->wire == WIRE_MESSAGES)
        return q->stream ? messages_stream(q, s, a) : messages_body(q, s, a);
    if (q->stream)
        return responses_stream(q, s, a);
    daruma_buf b = buf_in(a);
    response_object(&b, q, s, true);
    return answer_json(200, &b);
}

/* ---- beside the three wires ------------------------------------------------------------------------ */

answer answer_embeddings(const ask *q, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    size_t n = json_is_array(q->messages) ? json_count(q->messages) : 1;
    BUF_LIT(b, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < n; i++)
        buf_printf(b, "%s{\"object\":\"embedding\",\"index\":%zu,\"embedding\":[0.5,-0.25,0.125,%zu]}", i ? "," : "", i,
                   i);
    BUF_LIT(b, "],\"model\":");
    buf_json(b, q->model);
    buf_printf(b, ",\"usage\":{\"prompt_tokens\":%lld,\"total_tokens\":%lld}}", (long long)q->tokens,
               (long long)q->tokens);
    return answer_json(200, b);
}

answer answer_count(const ask *q, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_printf(&b, "{\"input_tokens\":%lld}", (long long)q->tokens);
    return answer_json(200, &b);
}

answer answer_models(const ask *q, const daruma_str *names, size_t n, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    bool anthropic = q->wire == WIRE_MESSAGES;
    buf_putz(b, anthropic ? "{\"data\":[" : "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < n; i++) {
        buf_putz(b, i ? ",{\"id\":" : "{\"id\":");
        buf_json(b, names[i]);
        if (anthropic)
            BUF_LIT(b, ",\"type\":\"model\",\"created_at\":\"2026-01-01T00:00:00Z\",\"display_name\":\"a model\"}");
        else
            buf_printf(b, ",\"object\":\"model\",\"created\":%d,\"owned_by\":\"chaos\"}", CREATED);
    }
    buf_putz(b, anthropic ? "],\"has_more\":false}" : "]}");
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
    BUF_LIT(b, "{\"message\":");
    buf_json(b, r->message);
    BUF_LIT(b, ",\"type\":");
    buf_json(b, r->type);
    BUF_LIT(b, ",\"param\":");
    json_or_null(b, r->param);
    BUF_LIT(b, ",\"code\":");
    json_or_null(b, r->code);
    BUF_LIT(b, "}");
}

static void anthropic_error(daruma_buf *b, const refusal *r, uint64_t id)
{
    BUF_LIT(b, "{\"type\":\"error\",\"error\":{\"type\":");
    buf_json(b, r->type);
    BUF_LIT(b, ",\"message\":");
    buf_json(b, r->message);
    buf_printf(b, "},\"request_id\":\"req_%016llx\"}", (unsigned long long)id);
}

answer answer_refusal(wire w, const refusal *r, uint64_t id, daruma_arena *a)
{
    daruma_buf b = buf_in(a), name = buf_in(a);
    if (w == WIRE_MESSAGES) {
        anthropic_error(&b, r, id);
    } else {
        BUF_LIT(&b, "{\"error\":");
        openai_error(&b, r);
        BUF_LIT(&b, "}");
    }
    answer x = answer_json(r->status, &b);
    buf_printf(&name, "req_%016llx", (unsigned long long)id);
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
    } else { /* the API sends both: what broke, then the response that failed */
        BUF_LIT(b, "event: error\ndata: {\"type\":\"error\",\"sequence_number\":99,\"error\":");
        openai_error(b, r);
        buf_printf(b,
                   "}\n\nevent: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":100,"
                   "\"response\":{\"id\":\"resp_%016llx00\",\"object\":\"response\",\"created_at\":%d,"
                   "\"status\":\"failed\",\"output\":[],\"usage\":null,\"error\":{\"code\":",
                   (unsigned long long)id, CREATED);
        buf_json(b, r->code.n ? r->code : S("server_error"));
        BUF_LIT(b, ",\"message\":");
        buf_json(b, r->message);
        BUF_LIT(b, "}}}");
    }
    BUF_LIT(b, "\n\n");
}
