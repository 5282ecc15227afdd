/* counts.c - how many tokens a request has, where nobody who would serve it can say so: its targets are of other
 * dialects, and have no call for that. Clients plan with the number (Claude Code asks before each turn), so they get
 * our estimate, which errs high, and a field that says what it is. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"

/* https://docs.anthropic.com/en/api/messages-count-tokens, https://ai.google.dev/api/tokens,
 * https://platform.openai.com/docs/api-reference/responses/input-tokens */
// clang-format off
static const struct {
    daruma_str end;       /* of the path */
    const dialect *d;     /* of the request that is counted ... */
    const dialect *other; /* ... and another one whose providers have the path */
    const char *form;     /* of the answer */
} counts[] = {
    {LIT("/messages/count_tokens"),  &dialect_anthropic,        NULL,            "{\"input_tokens\":%lld}\n"},
    {LIT(":countTokens"),            &dialect_gemini,           NULL,            "{\"totalTokens\":%lld}\n"},
    {LIT("/responses/input_tokens"), &dialect_openai_responses, &dialect_openai, "{\"object\":\"response.input_tokens\",\"input_tokens\":%lld}\n"},
};
// clang-format on

/* True if a provider that has the path would be asked. */
static bool has_counter(const exchange *x, size_t row)
{
    const config *c = &x->s->cfg;
    if (x->passing)
        return x->passing->ntargets > 0;
    int p = config_provider_of_path(c, head_dialect(&x->c->head));
    return p >= 0 && (c->providers[p].dialect == counts[row].d || c->providers[p].dialect == counts[row].other);
}

/* True if somebody would be asked for an answer to what is counted. */
static bool is_served(const exchange *x, size_t row)
{
    asker who = {.credential = x->credential};
    size_t n;
    setup_targets(x->s, counts[row].d, passing_model(x->c), &who, x->c->arena, &n);
    return n > 0;
}

daruma_str counts_request(daruma_str body)
{
    daruma_str whole = json_get(body, S("generateContentRequest"));
    whole = whole.n ? whole : json_get(body, S("generate_content_request"));
    return json_is_object(whole) ? whole : (daruma_str){0};
}

/* The row of this count; COUNT(counts) if the request is none. */
static size_t row_of(const exchange *x)
{
    size_t row = 0;
    while (row < COUNT(counts) && !str_ends(x->c->head.path, counts[row].end))
        row++;
    return str_eq(x->c->head.method, S("POST")) ? row : COUNT(counts);
}

bool counts_unknown(const exchange *x)
{
    size_t row = row_of(x);
    return row < COUNT(counts) && !has_counter(x, row);
}

bool counts_mend(const exchange *x, const driver *v)
{
    size_t row = row_of(x);
    return row < COUNT(counts) && !wishes_off(&x->c->head) &&
           driver_whole_thoughts(v, &x->s->cfg.policy, counts[row].d, x->credential, &x->c->body, x->c->arena);
}

bool counts_answer(const exchange *x)
{
    call *c = x->c;
    size_t row = row_of(x);
    convo of;
    if (row == COUNT(counts) || c->body.n > LOOP_BYTES_MAX || has_counter(x, row) || !is_served(x, row))
        return false;
    daruma_str whole = counts_request(c->body);
    if (counts[row].d->read(whole.n ? whole : c->body, c->arena, &of) != DARUMA_OK || of.full)
        return false;
    if (of.remote) /* what lives on the server, a history or a file, has tokens that are not seen here */
        return false;
    daruma_header h[] = {{S("content-type"), S("application/json")},
                         {S("x-daruma-outcome"), str_of(daruma_outcome_name(DARUMA_OUTCOME_DEGRADED))},
                         {S("x-daruma-estimated"), S("tokens")}};
    daruma_buf body = buf_in(c->arena);
    buf_printf(&body, counts[row].form, (long long)convo_tokens(&of));
    if (body.full)
        return false;
    call_head(c, 200, h, COUNT(h), (int64_t)body.n);
    call_write(c, buf_str(&body));
    return true;
}
