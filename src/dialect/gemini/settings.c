/* settings.c - what a request of Gemini says beside its contents, written: tools, response format,
 * thinking, sampling. */
#include "dialect/gemini/gemini.h"

static void put_format(const convo *c, daruma_buf *out, bool google)
{
    const convo_settings *s = &c->set;
    if (s->format == FORMAT_JSON || s->format == FORMAT_SCHEMA)
        put_text(out, "responseMimeType", S("application/json"));
    if (s->format == FORMAT_SCHEMA)
        put_raw(out, google ? "responseSchema" : "responseJsonSchema", s->format_schema);
}

/* The configuration with another response format. */
bool gemini_put_config(const convo *c, daruma_str old, daruma_buf *out)
{
    daruma_str key, value;
    bool google = false;
    gemini_member here = gemini_named(str_trim(c->body), S("generationConfig"));
    if (!c->set.format_edited || !json_is_object(old) || here.value.p != old.p) {
        if (old.n)
            buf_put(out, old);
        return old.n > 0;
    }
    splice s = splice_open(out, old);
    while (splice_next(&s, &key, &value)) {
        google |= key_camel(key, S("responseSchema"));
        if (!key_camel(key, S("responseSchema")) && !key_camel(key, S("responseJsonSchema")) &&
            !key_camel(key, S("responseMimeType")))
            splice_keep(&s);
    }
    put_format(c, out, google);
    splice_close(&s);
    return true;
}

static void put_tool(const convo_tool *t, daruma_buf *out)
{
    put_text(out, "name", t->name);
    put_text(out, "description", t->description);
    put_raw(out, "parametersJsonSchema", t->schema);
}

static void compose_choice(const convo *c, daruma_buf *out)
{
    static const char *const modes[] = {
        [CHOICE_AUTO] = "AUTO", [CHOICE_NONE] = "NONE", [CHOICE_ANY] = "ANY", [CHOICE_ONE] = "ANY"};
    if (c->set.choice == CHOICE_UNSAID)
        return;
    put_key(out, "toolConfig");
    BUF_LIT(out, "{\"functionCallingConfig\":{");
    put_text(out, "mode", str_of(modes[c->set.choice]));
    if (c->set.choice == CHOICE_ONE) {
        put_key(out, "allowedFunctionNames");
        BUF_SAY(out, "[", buf_quoted(c->set.choice_name), "]");
    }
    BUF_LIT(out, "}}");
}

/* Budgets for words, as Google's own OpenAI-compatible address has them; every thinking model takes a budget. */
static void compose_thinking(const convo_settings *s, daruma_buf *out)
{
    static const struct {
        daruma_str effort;
        int64_t budget;
    } rows[] = {{LIT("none"), 0},      {LIT("minimal"), 1024}, {LIT("low"), 1024},
                {LIT("medium"), 8192}, {LIT("high"), 24576},   {LIT("xhigh"), 24576}};
    int64_t budget = s->thinking == 0 ? 0 : s->thinking_budget;
    for (size_t i = 0; budget < 0 && i < COUNT(rows); i++)
        if (str_eq(s->effort, rows[i].effort))
            budget = rows[i].budget;
    if (budget < 0)
        return;
    put_key(out, "thinkingConfig");
    buf_putc(out, '{');
    put_int(out, "thinkingBudget", budget);
    buf_putc(out, '}');
}

static void compose_config(const convo *c, daruma_buf *out)
{
    const convo_settings *s = &c->set;
    size_t n = out->n;
    put_key(out, "generationConfig");
    buf_putc(out, '{');
    size_t empty = out->n;
    put_int(out, "maxOutputTokens", s->max_output);
    put_raw(out, "temperature", s->temperature);
    put_raw(out, "topP", s->top_p);
    put_raw(out, "topK", s->top_k);
    put_raw(out, "seed", s->seed);
    put_raw(out, "frequencyPenalty", s->frequency_penalty);
    put_raw(out, "presencePenalty", s->presence_penalty);
    put_stops(out, "stopSequences", s->stop);
    put_format(c, out, false);
    compose_thinking(s, out);
    if (out->n == empty)
        out->n = n;
    else
        buf_putc(out, '}');
}

void gemini_put_settings(const convo *c, daruma_buf *out)
{
    put_tools(c, "[{\"functionDeclarations\":[", put_tool, "]}]", out);
    compose_choice(c, out);
    compose_config(c, out);
}
