/* settings.c - what a request of Chat Completions says beside its messages, written: tools, response format,
 * sampling. */
#include "dialect/chat/chat.h"

bool chat_put_format(const convo *c, daruma_str old, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    if (c->body.n && !s->format_edited) {
        buf_put(out, old);
        return old.n > 0;
    }
    switch (s->format) {
    case FORMAT_UNSAID:
    case FORMAT_TEXT: /* the default */
        return false;
    case FORMAT_JSON:
        BUF_LIT(out, "{\"type\":\"json_object\"}");
        return true;
    case FORMAT_SCHEMA:
        BUF_LIT(out, "{\"type\":\"json_schema\",\"json_schema\":{");
        openai_put_schema(s, out);
        BUF_LIT(out, "}}");
        return true;
    }
    return false;
}

static void put_tool(const convo_tool *t, daruma_buf *out)
{
    put_text(out, "type", S("function"));
    put_key(out, "function");
    put_open(out, '{');
    put_text(out, "name", t->name);
    if (t->description.n)
        put_text(out, "description", t->description);
    put_raw(out, "parameters", t->schema);
    if (t->strict)
        put_bool(out, "strict", true);
    buf_putc(out, '}');
}

void chat_put_settings(const convo *c, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    if (put_tools(c, "[", put_tool, "]", out))
        openai_put_choice(s, true, out);
    bool older = str_eq(s->max_output_path, S("max_tokens"));
    put_int(out, older ? "max_tokens" : "max_completion_tokens", s->max_output);
    put_raw(out, "temperature", s->temperature);
    put_raw(out, "top_p", s->top_p);
    put_raw(out, "seed", s->seed);
    put_raw(out, "frequency_penalty", s->frequency_penalty);
    put_raw(out, "presence_penalty", s->presence_penalty);
    put_raw(out, "stop", s->stop);
    if (s->format == FORMAT_JSON || s->format == FORMAT_SCHEMA) {
        put_key(out, "response_format");
        chat_put_format(c, (daruma_str){0}, out);
    }
    if (s->effort.n)
        put_text(out, "reasoning_effort", s->effort);
    put_raw(out, "verbosity", s->verbosity);
    if (s->user.n)
        put_text(out, "user", s->user);
    buf_put(out, s->openai);
    if (s->stream >= 0)
        put_bool(out, "stream", s->stream);
    if (s->stream == 1)
        put_raw(out, "stream_options", S("{\"include_usage\":true}")); /* the other wires always say it */
}
