/* speak_responses.c - an answer of Responses: https://platform.openai.com/docs/api-reference/responses/object, and its
 * stream: https://platform.openai.com/docs/api-reference/responses-streaming */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/speak/speak.h"

static void item_text(daruma_buf *b, const ask *q, const char *status, const daruma_str *text)
{
    BUF_LIT(b, "{\"id\":");
    speak_id(b, "msg_", q, 0);
    buf_printf(b, ",\"type\":\"message\",\"status\":\"%s\",\"role\":\"assistant\",\"content\":[", status);
    if (text)
        BUF_SAY(b, "{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],\"text\":", buf_quoted(*text), "}");
    BUF_LIT(b, "]}");
}

static void item_reasoning(daruma_buf *b, const ask *q, const speech *s)
{
    BUF_LIT(b, "{\"id\":");
    speak_id(b, "rs_", q, 0);
    BUF_SAY(b, ",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":", buf_quoted(s->thinking),
            "}],\"encrypted_content\":", buf_quoted(s->signature), "}");
}

static void item_call(daruma_buf *b, const ask *q, const speech *s, size_t i, const char *status, daruma_str arguments)
{
    BUF_LIT(b, "{\"id\":");
    speak_id(b, "fc_", q, i);
    buf_printf(b, ",\"type\":\"function_call\",\"status\":\"%s\",\"call_id\":", status);
    speak_id(b, "call_", q, i);
    BUF_SAY(b, ",\"name\":", buf_quoted(s->name[i]), ",\"arguments\":", buf_quoted(arguments), "}");
}

/* The response object; `whole` when the answer is complete, else as it begins. */
static void response_object(daruma_buf *b, const ask *q, const speech *s, bool whole)
{
    const char *reason = s->twist == ANSWER_FILTERED ? "content_filter" : s->cut ? "max_output_tokens" : NULL;
    const char *status = !whole ? "in_progress" : reason ? "incomplete" : "completed";
    BUF_LIT(b, "{\"id\":");
    speak_id(b, "resp_", q, 0);
    buf_printf(b, ",\"object\":\"response\",\"created_at\":%d,\"status\":\"%s\",\"background\":false,\"error\":null,",
               SPEAK_CREATED, status);
    if (whole && reason)
        buf_printf(b, "\"incomplete_details\":{\"reason\":\"%s\"}", reason);
    else
        BUF_LIT(b, "\"incomplete_details\":null");
    BUF_SAY(b,
            ",\"instructions\":null,\"metadata\":{},\"parallel_tool_calls\":true,\"temperature\":1.0,"
            "\"tool_choice\":\"auto\",\"tools\":[],\"top_p\":1.0,\"model\":",
            buf_quoted(q->model), ",\"output\":[");
    size_t n = 0;
    if (whole && s->thinking.n) {
        item_reasoning(b, q, s);
        n++;
    }
    if (whole && speak_has_text(s)) {
        buf_putz(b, n++ ? "," : "");
        item_text(b, q, status, &s->text);
    }
    for (size_t k = 0; whole && k < s->ncalls; k++) {
        buf_putz(b, n++ ? "," : "");
        item_call(b, q, s, k, "completed", s->arguments[k]);
    }
    BUF_LIT(b, "],\"usage\":");
    if (whole)
        buf_printf(b,
                   "{\"input_tokens\":%lld,\"input_tokens_details\":{\"cached_tokens\":0,\"cache_write_tokens\":0},"
                   "\"output_tokens\":%lld,"
                   "\"output_tokens_details\":{\"reasoning_tokens\":0},\"total_tokens\":%lld}}",
                   (long long)s->input, (long long)s->output, (long long)(s->input + s->output));
    else
        BUF_LIT(b, "null}");
}

static void response_event(stream *x, const char *name)
{
    speak_event(x, name);
    buf_printf(&x->b, ",\"sequence_number\":%lld", (long long)x->sequence++);
}

static void response_state(stream *x, const char *name, const ask *q, const speech *s, bool whole)
{
    response_event(x, name);
    BUF_LIT(&x->b, ",\"response\":");
    response_object(&x->b, q, s, whole);
    STREAM_SAY(x, ANSWER_FRAME, "}");
}

/* An event about the i-th item of its kind, which stands at `at` in the output. */
static void item_event(stream *x, const char *name, const ask *q, const char *prefix, size_t i, size_t at)
{
    response_event(x, name);
    BUF_LIT(&x->b, ",\"item_id\":");
    speak_id(&x->b, prefix, q, i);
    buf_printf(&x->b, ",\"output_index\":%zu", at);
}

/* An event at the beginning or the end of the i-th item of the output; what comes between the two is the item. */
static void border_begin(stream *x, const char *name, size_t i)
{
    response_event(x, name);
    BUF_SAY(&x->b, ",\"output_index\":", i, ",\"item\":");
}

static void border_end(stream *x)
{
    STREAM_SAY(x, ANSWER_FRAME, "}");
}

static void responses_text(stream *x, const ask *q, const speech *s, size_t at)
{
    static const char part[] =
        ",\"content_index\":0,\"part\":{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],"
        "\"text\":";
    border_begin(x, "response.output_item.added", at);
    item_text(&x->b, q, "in_progress", NULL);
    border_end(x);
    item_event(x, "response.content_part.added", q, "msg_", 0, at);
    STREAM_SAY(x, ANSWER_FRAME, part, "\"\"}}");
    for (daruma_str rest = s->text; rest.n;) {
        item_event(x, "response.output_text.delta", q, "msg_", 0, at);
        STREAM_SAY(x, ANSWER_TEXT, ",\"content_index\":0,\"logprobs\":[],\"delta\":",
                   buf_quoted(answer_piece(&rest, speak_piece_bytes(s->text))), "}");
    }
    item_event(x, "response.output_text.done", q, "msg_", 0, at);
    STREAM_SAY(x, ANSWER_FRAME, ",\"content_index\":0,\"logprobs\":[],\"text\":", buf_quoted(s->text), "}");
    item_event(x, "response.content_part.done", q, "msg_", 0, at);
    STREAM_SAY(x, ANSWER_FRAME, part, buf_quoted(s->text), "}}");
    border_begin(x, "response.output_item.done", at);
    item_text(&x->b, q, s->cut ? "incomplete" : "completed", &s->text);
    border_end(x);
}

static void responses_call(stream *x, const ask *q, const speech *s, size_t i, size_t at)
{
    border_begin(x, "response.output_item.added", at);
    item_call(&x->b, q, s, i, "in_progress", S(""));
    border_end(x);
    for (daruma_str rest = s->arguments[i]; rest.n;) {
        item_event(x, "response.function_call_arguments.delta", q, "fc_", i, at);
        STREAM_SAY(x, ANSWER_ARGUMENTS,
                   ",\"delta\":", buf_quoted(answer_piece(&rest, speak_piece_bytes(s->arguments[i]))), "}");
    }
    item_event(x, "response.function_call_arguments.done", q, "fc_", i, at);
    STREAM_SAY(x, ANSWER_FRAME, ",\"name\":", buf_quoted(s->name[i]), ",\"arguments\":", buf_quoted(s->arguments[i]),
               "}");
    border_begin(x, "response.output_item.done", at);
    item_call(&x->b, q, s, i, "completed", s->arguments[i]);
    border_end(x);
}

static void responses_reasoning(stream *x, const ask *q, const speech *s)
{
    border_begin(x, "response.output_item.added", 0);
    BUF_LIT(&x->b, "{\"id\":");
    speak_id(&x->b, "rs_", q, 0);
    STREAM_SAY(x, ANSWER_FRAME, ",\"type\":\"reasoning\",\"summary\":[]}}");
    item_event(x, "response.reasoning_summary_part.added", q, "rs_", 0, 0);
    STREAM_SAY(x, ANSWER_FRAME, ",\"summary_index\":0,\"part\":{\"type\":\"summary_text\",\"text\":\"\"}}");
    for (daruma_str rest = s->thinking; rest.n;) {
        item_event(x, "response.reasoning_summary_text.delta", q, "rs_", 0, 0);
        STREAM_SAY(x, ANSWER_THINKING,
                   ",\"summary_index\":0,\"delta\":", buf_quoted(answer_piece(&rest, speak_piece_bytes(s->thinking))),
                   "}");
    }
    item_event(x, "response.reasoning_summary_text.done", q, "rs_", 0, 0);
    STREAM_SAY(x, ANSWER_FRAME, ",\"summary_index\":0,\"text\":", buf_quoted(s->thinking), "}");
    border_begin(x, "response.output_item.done", 0);
    item_reasoning(&x->b, q, s);
    border_end(x);
}

static answer responses_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    response_state(&x, "response.created", q, s, false);
    response_state(&x, "response.in_progress", q, s, false);
    size_t at = 0;
    if (s->thinking.n && ++at)
        responses_reasoning(&x, q, s);
    if (speak_has_text(s))
        responses_text(&x, q, s, at++);
    for (size_t i = 0; i < s->ncalls; i++)
        responses_call(&x, q, s, i, at++);
    bool incomplete = s->cut || s->twist == ANSWER_FILTERED;
    response_state(&x, incomplete ? "response.incomplete" : "response.completed", q, s, true);
    return stream_answer(&x);
}

answer speak_responses(const ask *q, const speech *s, daruma_arena *a)
{
    if (q->stream)
        return responses_stream(q, s, a);
    daruma_buf b = buf_in(a);
    response_object(&b, q, s, true);
    return answer_json(200, &b);
}
