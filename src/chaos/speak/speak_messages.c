/* speak_messages.c - an answer of Messages: https://docs.claude.com/en/api/messages, and its stream:
 * https://docs.claude.com/en/docs/build-with-claude/streaming */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/speak/speak.h"

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
    speak_id(b, "msg_", q, 0);
    BUF_SAY(b, ",\"type\":\"message\",\"role\":\"assistant\",\"model\":", buf_quoted(q->model), ",\"content\":[");
}

static void messages_block(daruma_buf *b, const ask *q, const speech *s, size_t i, daruma_str input)
{
    BUF_LIT(b, "{\"type\":\"tool_use\",\"id\":");
    speak_id(b, "toolu_", q, i);
    BUF_SAY(b, ",\"name\":", buf_quoted(s->name[i]), ",\"input\":", input, "}");
}

static answer messages_body(const ask *q, const speech *s, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    size_t n = 0;
    messages_open(b, q);
    if (s->thinking.n) {
        BUF_SAY(b, "{\"type\":\"thinking\",\"thinking\":", buf_quoted(s->thinking),
                ",\"signature\":", buf_quoted(s->signature), "}");
        n++;
    }
    if (speak_has_text(s))
        BUF_SAY(b, n++ ? ",{\"type\":\"text\",\"text\":" : "{\"type\":\"text\",\"text\":", buf_quoted(s->text), "}");
    for (size_t i = 0; i < s->ncalls; i++) {
        if (n++)
            buf_putc(b, ',');
        /* a body holds the input as an object, never as text: arguments that are none are empty ones */
        bool object = json_is_object(s->arguments[i]) && json_valid(s->arguments[i]);
        messages_block(b, q, s, i, object ? s->arguments[i] : S("{}"));
    }
    buf_printf(b, "],\"stop_reason\":\"%s\",\"stop_sequence\":null,\"usage\":", messages_stop(s));
    messages_usage(b, s, s->output);
    BUF_LIT(b, "}");
    return answer_json(200, b);
}

/* The pieces of a block; its end. `signature` goes out before the end, when there is one. */
static void messages_pieces(stream *x, size_t index, daruma_str text, answer_part part, daruma_str signature)
{
    static const char *const types[][2] = {[ANSWER_TEXT] = {"text_delta", "text"},
                                           [ANSWER_ARGUMENTS] = {"input_json_delta", "partial_json"},
                                           [ANSWER_THINKING] = {"thinking_delta", "thinking"}};
    for (daruma_str rest = text; rest.n;) {
        speak_event(x, "content_block_delta");
        buf_printf(&x->b, ",\"index\":%zu,\"delta\":{\"type\":\"%s\",\"%s\":", index, types[part][0], types[part][1]);
        STREAM_SAY(x, part, buf_quoted(answer_piece(&rest, speak_piece_bytes(text))), "}}");
    }
    if (signature.n) {
        speak_event(x, "content_block_delta");
        buf_printf(&x->b, ",\"index\":%zu,\"delta\":{\"type\":\"signature_delta\",\"signature\":", index);
        STREAM_SAY(x, ANSWER_FRAME, buf_quoted(signature), "}}");
    }
    speak_event(x, "content_block_stop");
    buf_printf(&x->b, ",\"index\":%zu}", index);
    stream_end(x);
}

static void messages_start_block(stream *x, size_t index)
{
    speak_event(x, "content_block_start");
    buf_printf(&x->b, ",\"index\":%zu,\"content_block\":", index);
}

static answer messages_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    size_t n = 0;
    speak_event(&x, "message_start");
    BUF_LIT(&x.b, ",\"message\":");
    messages_open(&x.b, q);
    BUF_LIT(&x.b, "],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":");
    messages_usage(&x.b, s, 1);
    STREAM_SAY(&x, ANSWER_FRAME, "}}");
    STREAM_SAY(&x, ANSWER_FRAME, "event: ping\ndata: {\"type\": \"ping\"}");
    if (s->thinking.n) {
        messages_start_block(&x, n);
        STREAM_SAY(&x, ANSWER_FRAME, "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}");
        messages_pieces(&x, n++, s->thinking, ANSWER_THINKING, s->signature);
    }
    if (speak_has_text(s)) {
        messages_start_block(&x, n);
        STREAM_SAY(&x, ANSWER_FRAME, "{\"type\":\"text\",\"text\":\"\"}}");
        messages_pieces(&x, n++, s->text, ANSWER_TEXT, S(""));
    }
    for (size_t i = 0; i < s->ncalls; i++, n++) {
        messages_start_block(&x, n);
        messages_block(&x.b, q, s, i, S("{}"));
        STREAM_SAY(&x, ANSWER_FRAME, "}");
        messages_pieces(&x, n, s->arguments[i], ANSWER_ARGUMENTS, S(""));
    }
    speak_event(&x, "message_delta");
    buf_printf(&x.b, ",\"delta\":{\"stop_reason\":\"%s\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%lld}}",
               messages_stop(s), (long long)s->output);
    stream_end(&x);
    speak_event(&x, "message_stop");
    STREAM_SAY(&x, ANSWER_FRAME, "}");
    return stream_answer(&x);
}

answer speak_messages(const ask *q, const speech *s, daruma_arena *a)
{
    return q->stream ? messages_stream(q, s, a) : messages_body(q, s, a);
}
