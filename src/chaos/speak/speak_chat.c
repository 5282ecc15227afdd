/* speak_chat.c - an answer of Chat Completions: https://platform.openai.com/docs/api-reference/chat/object */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/speak/speak.h"

static const char *chat_finish(const speech *s)
{
    return s->twist == ANSWER_FILTERED ? "content_filter" : s->cut ? "length" : s->ncalls ? "tool_calls" : "stop";
}

static void chat_open(daruma_buf *b, const ask *q, const char *object)
{
    BUF_LIT(b, "{\"id\":");
    speak_id(b, "chatcmpl-", q, 0);
    buf_printf(b, ",\"object\":\"%s\",\"created\":%d,\"model\":", object, SPEAK_CREATED);
    BUF_SAY(b, buf_quoted(q->model), ",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_chaos\"");
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
    speak_id(b, "call_", q, i);
    BUF_SAY(b, ",\"type\":\"function\",\"function\":{\"name\":", buf_quoted(s->name[i]),
            ",\"arguments\":", buf_quoted(arguments), "}");
}

static answer chat_body(const ask *q, const speech *s, daruma_arena *a)
{
    daruma_buf out = buf_in(a), *b = &out;
    chat_open(b, q, "chat.completion");
    BUF_LIT(b, ",\"choices\":[");
    if (s->twist != ANSWER_CHOICELESS) {
        BUF_LIT(b, "{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
        if (s->ncalls && !s->text.n)
            BUF_LIT(b, "null");
        else
            buf_json(b, s->text);
        BUF_LIT(b, ",\"refusal\":null");
        if (s->thinking.n) { /* as DeepSeek and vLLM do it: OpenAI keeps its own to itself */
            BUF_SAY(b, ",\"reasoning_content\":", buf_quoted(s->thinking));
        }
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

static void chunk_close(stream *x, answer_part part, const char *finish)
{
    if (finish)
        buf_printf(&x->b, "},\"logprobs\":null,\"finish_reason\":\"%s\"}]}", finish);
    else
        BUF_LIT(&x->b, "},\"logprobs\":null,\"finish_reason\":null}]}");
    stream_piece(x, part);
}

static void chat_stream_call(stream *x, const ask *q, const speech *s, size_t i)
{
    chunk_open(x, q);
    buf_printf(&x->b, "\"tool_calls\":[{\"index\":%zu,", i);
    chat_call(&x->b, q, s, i, S(""));
    BUF_LIT(&x->b, "}]");
    chunk_close(x, ANSWER_FRAME, NULL);
    for (daruma_str rest = s->arguments[i]; rest.n;) {
        chunk_open(x, q);
        buf_printf(&x->b, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", i);
        BUF_SAY(&x->b, buf_quoted(answer_piece(&rest, speak_piece_bytes(s->arguments[i]))), "}}]");
        chunk_close(x, ANSWER_ARGUMENTS, NULL);
    }
}

static answer chat_stream(const ask *q, const speech *s, daruma_arena *a)
{
    stream x = stream_new(s, a);
    if (s->twist != ANSWER_CHOICELESS) {
        chunk_open(&x, q);
        BUF_LIT(&x.b, "\"role\":\"assistant\",\"content\":\"\",\"refusal\":null");
        chunk_close(&x, ANSWER_FRAME, NULL);
        for (daruma_str rest = s->thinking; rest.n;) {
            chunk_open(&x, q);
            BUF_SAY(&x.b, "\"reasoning_content\":", buf_quoted(answer_piece(&rest, speak_piece_bytes(s->thinking))));
            chunk_close(&x, ANSWER_THINKING, NULL);
        }
        for (daruma_str rest = s->text; rest.n;) {
            chunk_open(&x, q);
            BUF_SAY(&x.b, "\"content\":", buf_quoted(answer_piece(&rest, speak_piece_bytes(s->text))));
            chunk_close(&x, ANSWER_TEXT, NULL);
        }
        for (size_t i = 0; i < s->ncalls; i++)
            chat_stream_call(&x, q, s, i);
        chunk_open(&x, q);
        chunk_close(&x, ANSWER_FRAME, chat_finish(s));
    }
    if (q->usage) {
        BUF_LIT(&x.b, "data: ");
        chat_open(&x.b, q, "chat.completion.chunk");
        BUF_LIT(&x.b, ",\"choices\":[],\"usage\":");
        chat_usage(&x.b, s);
        STREAM_SAY(&x, ANSWER_FRAME, "}");
    }
    STREAM_SAY(&x, ANSWER_FRAME, "data: [DONE]");
    return stream_answer(&x);
}

answer speak_chat(const ask *q, const speech *s, daruma_arena *a)
{
    return q->stream ? chat_stream(q, s, a) : chat_body(q, s, a);
}
