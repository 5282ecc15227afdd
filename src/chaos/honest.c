#include "chaos/honest.h"
#include "base/arena.h"
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
