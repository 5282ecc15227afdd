#include "chaos/honest.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"

plan plan_refusal(const ask *q, const refusal *r, daruma_arena *a)
{
    answer x = answer_refusal(q->wire, r, q->hash, a);
    plan p = plan_good(&x);
    p.name = "refused";
    p.refused = r->kind ? r->kind : "invalid_request";
    return p;
}

static answer list_models(const script *s, const ask *q, daruma_arena *a)
{
    static const daruma_str any[] = {LIT("m-main"), LIT("m-fallback")};
    daruma_str *names = ARENA_NEW(a, daruma_str, s->nmodels + 1);
    for (size_t i = 0; names && i < s->nmodels; i++)
        names[i] = s->models[i].name;
    return s->nmodels && names ? answer_models(q, names, s->nmodels, a) : answer_models(q, any, 2, a);
}

/* The window is full, and the model does not say so. */
static plan plan_silent(const scene *x, daruma_arena *a)
{
    speech s = answer_say(x->q, &x->manner, ANSWER_GOOD, a);
    if (x->limits.overflow == OVERFLOW_LENGTH) {
        s = (speech){.input = x->limits.window, .cut = true};
        s.text = S("");
    }
    answer w = answer_write(x->q, &s, a);
    plan p = plan_good(&w);
    p.refused = "context_length";
    return p;
}

/* The model has answered in its turn: the next one comes. */
static void turn_over(const scene *x)
{
    report *r = x->report;
    loop_manner *l = &x->model->loop;
    bool listened = l->freed;
    x->model->given += x->manner.script != NULL;
    turn_done(l, &x->turn);
    if (x->turn.circles)
        tally_add(&r->circled, x->q->model);
    if (x->turn.told)
        tally_add(&r->told, x->q->model);
    if (!listened && l->freed)
        tally_add(&r->listened, x->q->model);
}

static plan plan_answer(const scene *x, daruma_arena *a)
{
    ask *q = x->q;
    if (x->manner.summarises == SUMMARY_FAILS && q->purpose == ASK_SUMMARY)
        return fault_plan(&fault_none, fault_find(S("server_error")), q, &x->limits, &x->manner, q->hash, a);
    speech s = answer_say(q, &x->manner, ANSWER_GOOD, a);
    answer w = answer_write(q, &s, a);
    if (x->model && q->purpose != ASK_SUMMARY)
        turn_over(x);
    if (q->stores)
        stored_add(x->stored, q, &s, x->owner);
    return plan_good(&w);
}

plan plan_honest(const scene *x, daruma_arena *a)
{
    ask *q = x->q;
    refusal r = {0};
    answer w;
    bool item, generate = q->route == ROUTE_GENERATE;
    if (q->route == ROUTE_NONE)
        r = refuse_path(q, a);
    daruma_str lost =
        generate && q->ok && q->wire == WIRE_RESPONSES ? stored_find(x->stored, q, x->owner, &item, a) : S("");
    if (lost.n)
        r = refuse_stored(lost, item, a);
    else if (generate || q->route == ROUTE_COUNT)
        r = validate(q, &x->limits, a);
    if (!r.status && q->route != ROUTE_NONE && q->route != ROUTE_MODELS && x->script->nmodels && !x->model)
        r = refuse_model(q, a);
    if (r.status)
        return plan_refusal(q, &r, a);
    if (generate && validate_overflows(q, &x->limits))
        return plan_silent(x, a);
    if (generate)
        return plan_answer(x, a);
    if (q->route == ROUTE_MODELS)
        w = list_models(x->script, q, a);
    else if (q->route == ROUTE_EMBEDDINGS)
        w = answer_embeddings(q, a);
    else
        w = answer_count(q, a);
    return plan_good(&w);
}

/* ---- keys with limits: the window of a key begins with its first call behind the one before; tokens come back bit by
 * bit. What is too much is refused in the provider's words, with the time that is left. ---- */

static daruma_str number(daruma_arena *a, int64_t n, const char *unit)
{
    return STR_SAY(a, n, unit);
}

/* So long until `tokens` are back, of so many in `per`. */
static daruma_ms back_in(const script_key *k, int64_t tokens)
{
    return tokens > 0 ? mul_sat(tokens, k->per) / k->tokens + 1 : 0;
}

/* Returns 0 when the call is allowed, and counts it; else how long it is one too many. */
static daruma_ms refused_for(script_key *k, int64_t tokens, daruma_ms now)
{
    if (k->tokens) {
        int64_t back = mul_sat(now - k->spent_at, k->tokens) / k->per;
        k->spent = back < k->spent ? k->spent - back : 0;
        k->spent_at = now;
        if (k->spent + tokens > k->tokens)
            return back_in(k, k->spent + tokens - k->tokens);
    }
    if (!k->used || now >= k->until) {
        k->used = 0;
        k->until = now + k->per;
    }
    if (++k->used > k->limit && k->limit)
        return k->until - now;
    k->spent += k->tokens ? tokens : 0;
    return 0;
}

bool rate_allows(script_key *k, const ask *q, const model_limits *m, const manner *how, daruma_ms now, daruma_arena *a,
                 plan *p)
{
    daruma_ms in = refused_for(k, q->tokens, now);
    if (!in)
        return true;
    fault f = fault_none;
    daruma_header fields[] = {{S("retry-after"), number(a, (in + 999) / 1000, "")},
                              {S("retry-after-ms"), number(a, in, "")}};
    f.headers = fields;
    f.nheaders = q->wire == WIRE_CHAT || q->wire == WIRE_RESPONSES ? 2 : 1;
    *p = fault_plan(&f, fault_find(S("rate_limit")), q, m, how, q->hash, a);
    p->refused = "rate_limit";
    return false;
}

/* One limit, as the provider of that wire says it. */
typedef struct stated {
    daruma_str limit, left, reset;
} stated;

static void state(const stated *name, int64_t limit, int64_t used, daruma_ms ms, bool moments, int64_t wall,
                  daruma_arena *a, answer *x)
{
    char *date = moments ? arena_take(a, 21, 1) : NULL;
    if (moments && !date)
        return;
    if (moments)
        date_write(wall + (ms + 999) / 1000, date);
    answer_header(x, name->limit, number(a, limit, ""));
    answer_header(x, name->left, number(a, used < limit ? limit - used : 0, ""));
    answer_header(x, name->reset, moments ? str_of(date) : number(a, ms, "ms"));
}

void rate_state(const script_key *k, wire w, daruma_ms now, int64_t wall, daruma_arena *a, answer *x)
{
    static const stated openai[] = {{LIT("x-ratelimit-limit-requests"), LIT("x-ratelimit-remaining-requests"),
                                     LIT("x-ratelimit-reset-requests")},
                                    {LIT("x-ratelimit-limit-tokens"), LIT("x-ratelimit-remaining-tokens"),
                                     LIT("x-ratelimit-reset-tokens")}},
                        anthropic[] = {{LIT("anthropic-ratelimit-requests-limit"),
                                        LIT("anthropic-ratelimit-requests-remaining"),
                                        LIT("anthropic-ratelimit-requests-reset")},
                                       {LIT("anthropic-ratelimit-input-tokens-limit"),
                                        LIT("anthropic-ratelimit-input-tokens-remaining"),
                                        LIT("anthropic-ratelimit-input-tokens-reset")}};
    if (w != WIRE_CHAT && w != WIRE_RESPONSES && w != WIRE_MESSAGES)
        return; /* Google says nothing of it before it refuses */
    const stated *names = w == WIRE_MESSAGES ? anthropic : openai;
    if (k->limit)
        state(&names[0], k->limit, k->used, k->until > now ? k->until - now : 0, w == WIRE_MESSAGES, wall, a, x);
    if (k->tokens)
        state(&names[1], k->tokens, k->spent, back_in(k, k->spent), w == WIRE_MESSAGES, wall, a, x);
}
