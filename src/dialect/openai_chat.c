/* openai_chat.c - OpenAI Chat Completions, as OpenAI and the many who copy it send it:
 * https://platform.openai.com/docs/api-reference/chat and .../chat-streaming. */
#include "dialect/parts.h"

// clang-format off
static const scan_key keys[] = {
    {LIT("model"),                 SCAN_MODEL},
    {LIT("messages"),              SCAN_MESSAGES},
    {LIT("stream"),                SCAN_STREAM},
    {LIT("tools"),                 SCAN_TOOLS},
    {LIT("functions"),             SCAN_TOOLS},  /* the older spelling */
    {LIT("response_format"),       SCAN_FORMAT},
    {LIT("max_tokens"),            SCAN_MAX},
    {LIT("max_completion_tokens"), SCAN_MAX},
};
// clang-format on

static request_scan scan(daruma_str body)
{
    return scan_request(body, keys, sizeof keys / sizeof *keys);
}

/* What one choice holds; message and delta have the same members. */
typedef struct choice_view {
    bool shape; /* it has a message or delta */
    bool text, calls, thought, error;
    daruma_str finish; /* without quotes */
} choice_view;

static void read_message(choice_view *c, daruma_str message)
{
    daruma_str key, value;
    c->shape = true;
    for (json_iter it = json_open(message); json_next(&it, &key, &value);) {
        if (!value_given(value))
            continue;
        if (key_is(key, S("content")) || key_is(key, S("refusal")) || key_is(key, S("audio")) ||
            key_is(key, S("images")))
            c->text = true;
        else if (key_is(key, S("tool_calls")) || key_is(key, S("function_call")))
            c->calls = true;
        else if (key_is(key, S("reasoning_content")) || key_is(key, S("reasoning")) ||
                 key_is(key, S("reasoning_details")))
            c->thought = true;
    }
}

static choice_view read_choice(daruma_str choice)
{
    choice_view c = {0};
    daruma_str key, value;
    for (json_iter it = json_open(choice); json_next(&it, &key, &value);)
        if ((key_is(key, S("message")) || key_is(key, S("delta"))) && json_is_object(value))
            read_message(&c, value);
        else if (key_is(key, S("finish_reason")))
            c.finish = value_raw(value);
        else if (key_is(key, S("error"))) /* OpenRouter: the provider failed in the middle */
            c.error = value_given(value);
    c.error |= str_eq(c.finish, S("error"));
    return c;
}

/* Stop reasons for which no text is an honest answer: asking again gives the same. */
static bool may_be_empty(daruma_str finish)
{
    return str_eq(finish, S("length")) || str_eq(finish, S("content_filter"));
}

static daruma_flaw check_choices(answer_view *a, daruma_str choices)
{
    daruma_str choice;
    bool error = false;
    for (json_iter it = json_open(choices); json_next(&it, NULL, &choice);) {
        choice_view c = read_choice(choice);
        if (!c.shape && !c.error)
            return DARUMA_FLAW_BROKEN;
        if (!a->finish.n)
            a->finish = c.finish;
        a->text |= c.text;
        a->calls |= c.calls;
        error |= c.error;
    }
    if (error)
        return DARUMA_FLAW_ERROR_EVENT;
    return a->text || a->calls || may_be_empty(a->finish) ? DARUMA_FLAW_NONE : DARUMA_FLAW_EMPTY;
}

static answer_view check_answer(daruma_str body, daruma_arena *scratch)
{
    answer_view a = {.input_tokens = -1, .output_tokens = -1};
    daruma_str key, value, choices = {0};
    bool error = false;
    whole_iter w = whole_open(body);
    (void)scratch;
    while (whole_next(&w, &key, &value))
        if (key_is(key, S("choices")))
            choices = value;
        else if (key_is(key, S("usage")))
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &a.input_tokens, &a.output_tokens);
        else
            error |= is_error_shape(key, value);
    if (!whole_ok(&w))
        a.flaw = DARUMA_FLAW_BROKEN;
    else if (error)
        a.flaw = DARUMA_FLAW_ERROR_EVENT;
    else if (json_is_array(choices))
        a.flaw = check_choices(&a, choices);
    else
        a.flaw = json_is_null(choices) ? DARUMA_FLAW_EMPTY : DARUMA_FLAW_BROKEN;
    return a;
}

static void watch_choices(stream_view *v, const sse_event *e, daruma_str choices)
{
    daruma_str choice;
    for (json_iter it = json_open(choices); json_next(&it, NULL, &choice);) {
        choice_view c = read_choice(choice);
        v->content |= c.text || c.calls || c.thought;
        if (c.error)
            watch_error(v, e->data);
        watch_finish(v, c.finish);
    }
}

static void watch(stream_view *v, const sse_event *e, daruma_arena *scratch)
{
    daruma_str key, value, choices = {0};
    bool error = false, known = false;
    (void)scratch;
    if (watch_plain(v, e))
        return;
    whole_iter w = whole_open(e->data);
    while (whole_next(&w, &key, &value))
        if (key_is(key, S("choices"))) {
            choices = value;
            known = true;
        } else if (key_is(key, S("usage"))) {
            usage_read(value, S("prompt_tokens"), S("completion_tokens"), &v->input_tokens, &v->output_tokens);
            known = true;
        } else {
            error |= is_error_shape(key, value);
        }
    if (!whole_ok(&w)) {
        v->broken = true;
        return;
    }
    v->began |= known;
    v->ping = !known && !error;
    if (error)
        watch_error(v, e->data);
    if (json_is_array(choices))
        watch_choices(v, e, choices);
}

static bool is_error(daruma_str body)
{
    return json_valid(body) && value_given(json_get(json_get(str_trim(body), S("error")), S("message")));
}

static void write_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message, daruma_str note)
{
    BUF_LIT(out, "{\"error\":");
    error_object(out, f, status, message, note);
    buf_putc(out, '}');
}

/* No [DONE] behind it: clients take that for success. */
static void write_stream_error(daruma_buf *out, const daruma_failure *f, int status, daruma_str message,
                               daruma_str note)
{
    BUF_LIT(out, "data: ");
    write_error(out, f, status, message, note);
    BUF_LIT(out, "\n\n");
}

static void head(daruma_buf *out, const write_ctx *x, const char *object)
{
    BUF_LIT(out, "{\"id\":\"chatcmpl-daruma");
    buf_hex64(out, x->id);
    BUF_LIT(out, "\",\"object\":");
    put_cstr(out, object);
    BUF_LIT(out, ",\"created\":");
    buf_int(out, x->wall);
    BUF_LIT(out, ",\"model\":");
    buf_json(out, x->model);
}

#define NO_USAGE "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"

static void write_message(daruma_buf *out, const write_ctx *x, daruma_str text)
{
    head(out, x, "chat.completion");
    BUF_LIT(out, ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":");
    buf_json(out, text);
    BUF_LIT(out, ",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"stop\"}]," NO_USAGE "}");
}

/* One chunk: `delta` is JSON; `rest` stands behind the choices. */
static void chunk(daruma_buf *out, const write_ctx *x, daruma_str delta, const char *finish, daruma_str rest)
{
    BUF_LIT(out, "data: ");
    head(out, x, "chat.completion.chunk");
    BUF_LIT(out, ",\"choices\":[{\"index\":0,\"delta\":");
    buf_put(out, delta);
    BUF_LIT(out, ",\"logprobs\":null,\"finish_reason\":");
    put_cstr(out, finish);
    BUF_LIT(out, "}]");
    buf_put(out, rest);
    BUF_LIT(out, "}\n\n");
}

/* Usage comes with the last choice, not in a chunk without choices: a client that did not ask for
 * usage may read choices[0] of every chunk. */
static void write_message_stream(daruma_buf *out, const write_ctx *x, daruma_str text)
{
    chunk(out, x, S("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}"), NULL, (daruma_str){0});
    BUF_LIT(out, "data: ");
    head(out, x, "chat.completion.chunk");
    BUF_LIT(out, ",\"choices\":[{\"index\":0,\"delta\":{\"content\":");
    buf_json(out, text);
    BUF_LIT(out, "},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
    chunk(out, x, S("{}"), "stop", S("," NO_USAGE));
    BUF_LIT(out, "data: [DONE]\n\n");
}

const dialect dialect_openai = {
    .name = "openai",
    .key_header = "authorization",
    .key_prefix = "Bearer ",
    .heartbeat = LIT(": daruma is waiting\n\n"),
    .terminal = LIT("data: [DONE]\n\n"),
    .scan = scan,
    .check = check_answer,
    .watch = watch,
    .is_error = is_error,
    .write_error = write_error,
    .write_stream_error = write_stream_error,
    .write_message = write_message,
    .write_message_stream = write_message_stream,
};
