/* targets.c - whom a request may go to: the targets of its model, with the keys of their providers. Those of a name are
 * made with the configuration; those of a form of names, and of providers that use their clients' keys, when a request
 * asks. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"

static daruma_target target_of(const setup *s, int provider, int key, daruma_str model)
{
    const config_provider *p = &s->cfg.providers[provider];
    const config_key *k = &p->keys[key];
    daruma_target t = {.provider = p->name,
                       .model = model,
                       .account = k->account,
                       .key = k->name,
                       .window = -1,
                       .max_output = -1,
                       .host = provider * HOST_KEYS + key};
    daruma_target_seal(&t);
    return t;
}

/* All of a model's targets, those in reserve included. */
static size_t targets_of(const config_model *m)
{
    return m->ntargets + m->nreserve;
}

/* Where the ways to a model's targets in reserve begin among `n` ways: a case counts no more than DARUMA_CASE_TRIED,
 * and they are the last of those. */
static size_t reserve_at(size_t n, size_t nreserve)
{
    size_t most = nreserve < DARUMA_CASE_TRIED ? DARUMA_CASE_TRIED - nreserve : 1;
    return n < most ? n : most;
}

static uint32_t weights_of(const config_model *m)
{
    uint32_t all = 0;
    for (size_t i = 0; i < m->ntargets; i++)
        all += m->targets[i].weight;
    return all;
}

/* The targets of `default`, for every name that has no entry. */
static config_model others_of(const config *c)
{
    return (config_model){.name = S("*"), .targets = c->others, .ntargets = c->nothers, .window = -1, .max_output = -1};
}

/* The target that the conversation's share falls to; the first one where none has a weight. */
static size_t first_target(const config_model *m, uint64_t share)
{
    uint32_t all = weights_of(m), at = all ? (uint32_t)share % all : 0;
    size_t i = 0;
    while (all && at >= m->targets[i].weight)
        at -= m->targets[i++].weight;
    return i;
}

/* The order in which the model's targets are asked: that one first, then those with a weight and those without, each as
 * the file has them; those in reserve are last. Returns how many there are. */
static size_t order_of(const config_model *m, uint64_t share, size_t order[DARUMA_CASE_TRIED + 1])
{
    size_t n = 0, first = first_target(m, share);
    bool weighed = weights_of(m) > 0;
    check(m->ntargets <= DARUMA_CASE_TRIED && m->nreserve <= 1);
    if (m->ntargets)
        order[n++] = first;
    for (int light = 0; light < 2; light++)
        for (size_t i = 0; i < m->ntargets; i++)
            if (i != first && (weighed && !m->targets[i].weight) == light)
                order[n++] = i;
    for (size_t i = m->ntargets; i < targets_of(m); i++)
        order[n++] = i;
    return n;
}

/* What is configured of the model's `i`th target goes before what is said of the model. */
static void size_up(daruma_target *t, const config_model *model, size_t i)
{
    t->reserve = i >= model->ntargets;
    const config_target *at = &model->targets[i];
    t->window = at->window > 0 ? at->window : model->window;
    t->max_output = at->max_output > 0 ? at->max_output : model->max_output;
}

/* True if load is shared between targets or between the keys of a provider. */
static bool shares(const config *c)
{
    config_model others = others_of(c);
    bool any = weights_of(&others) > 0;
    for (size_t i = 0; i < c->nmodels; i++)
        any |= weights_of(&c->models[i]) > 0;
    for (size_t i = 0; i < c->nproviders; i++)
        any |= c->providers[i].spread;
    return any;
}

bool setup_routes_build(setup *s)
{
    s->shares = shares(&s->cfg);
    s->routes = ARENA_NEW(&s->arena, route, s->cfg.nmodels ? s->cfg.nmodels : 1);
    for (size_t m = 0; s->routes && m < s->cfg.nmodels; m++) {
        const config_model *model = &s->cfg.models[m];
        route *r = &s->routes[s->nroutes++];
        size_t total = 0;
        r->model = model->name;
        r->form = str_findch(model->name, '*') != STR_NONE;
        r->asks = r->form || weights_of(model);
        for (size_t i = 0; i < targets_of(model); i++) {
            size_t nkeys = s->cfg.providers[model->targets[i].provider].nkeys;
            total += nkeys;
            r->asks |= nkeys == 0 || s->cfg.providers[model->targets[i].provider].spread;
        }
        r->targets = ARENA_NEW(&s->arena, daruma_target, total ? total : 1);
        for (size_t i = 0; r->targets && i < targets_of(model); i++) {
            int p = model->targets[i].provider;
            if (i == model->ntargets)
                r->ntargets = reserve_at(r->ntargets, s->cfg.providers[p].nkeys);
            for (size_t k = 0; k < s->cfg.providers[p].nkeys; k++) {
                daruma_target *t = &r->targets[r->ntargets++];
                *t = target_of(s, p, (int)k, model->targets[i].model);
                size_up(t, model, i);
            }
        }
    }
    return !s->arena.full;
}

static const daruma_target *client_target(const setup *s, int provider, daruma_str model, uint64_t credential,
                                          daruma_arena *a, size_t *n)
{
    daruma_target *t = ARENA_NEW(a, daruma_target, 1);
    daruma_buf name = buf_in(a);
    BUF_LIT(&name, "client-");
    buf_hex64(&name, credential);
    if (!t || name.full)
        return NULL;
    *t = (daruma_target){.provider = s->cfg.providers[provider].name,
                         .model = model,
                         .account = buf_str(&name),
                         .key = buf_str(&name),
                         .window = -1,
                         .max_output = -1,
                         .host = provider * HOST_KEYS + HOST_CLIENT_KEY};
    daruma_target_seal(t);
    *n = 1;
    return t;
}

const daruma_target *setup_provider_targets(const setup *s, int provider, daruma_str model, const asker *who,
                                            daruma_arena *a, size_t *n)
{
    size_t nkeys = s->cfg.providers[provider].nkeys;
    *n = 0;
    if (!nkeys)
        return client_target(s, provider, model, who->credential, a, n);
    daruma_target *t = ARENA_NEW(a, daruma_target, nkeys);
    size_t first =
        s->cfg.providers[provider].spread ? (who->share >> 32) % nkeys : 0; /* first_target() takes the rest */
    for (; t && *n < nkeys; ++*n)
        t[*n] = target_of(s, provider, (int)((first + *n) % nkeys), model);
    return t;
}

/* `form` with the name that was asked for in the place of its `*`. */
static daruma_str named(daruma_str form, daruma_str asked, daruma_arena *a)
{
    size_t star = str_findch(form, '*');
    if (star == STR_NONE)
        return form;
    return STR_SAY(a, str_sub(form, 0, star), asked, str_from(form, star + 1));
}

/* Targets that are not known before a request asks: of a form of names, or of providers that have no keys of their own.
 * The client's key is meant for the first of them that speaks its dialect; those at another place are left out. */
static const daruma_target *targets_now(const setup *s, const config_model *m, daruma_str asked, const dialect *d,
                                        const asker *who, daruma_arena *a, size_t *n)
{
    size_t order[DARUMA_CASE_TRIED + 1], norder = order_of(m, who->share, order), total = 1, one;
    for (size_t i = 0; i < targets_of(m); i++)
        total += s->cfg.providers[m->targets[i].provider].nkeys + 1;
    daruma_target *t = ARENA_NEW(a, daruma_target, total);
    *n = 0;
    for (size_t k = 0; t && k < norder; k++) {
        size_t i = order[k];
        if (config_out_of_reach(&s->cfg, m, d, i))
            continue;
        if (i == m->ntargets)
            *n = reserve_at(*n, s->cfg.providers[m->targets[i].provider].nkeys + 1);
        const daruma_target *way =
            setup_provider_targets(s, m->targets[i].provider, named(m->targets[i].model, asked, a), who, a, &one);
        for (size_t w = 0; way && w < one; w++) {
            t[*n] = way[w];
            size_up(&t[(*n)++], m, i);
        }
    }
    return t;
}

const daruma_target *setup_targets(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                   daruma_arena *a, size_t *n)
{
    const config *c = &s->cfg;
    const config_model *m = config_model_of(c, model);
    *n = 0;
    if (m) {
        const route *r = &s->routes[m - c->models];
        if (r->asks)
            return targets_now(s, m, model, d, who, a, n);
        *n = r->ntargets;
        return r->targets;
    }
    if (c->nothers) {
        config_model others = others_of(c);
        return targets_now(s, &others, model, d, who, a, n);
    }
    int provider = config_provider_of(c, d);
    for (size_t i = 0; provider < 0 && i < c->nproviders; i++)
        if (config_has_key(&c->providers[i]))
            provider = (int)i;
    return provider < 0 ? NULL : setup_provider_targets(s, provider, model, who, a, n);
}

/* Who knows the paths of `d`: no cloud; OpenAI's are those of its Responses as well. A client's own key is meant for
 * one of the two. */
static bool knows_path(const config_provider *p, const dialect *d)
{
    bool responses = p->dialect == &dialect_openai_responses && d == &dialect_openai;
    return !p->cloud && (p->dialect == d || (responses && config_has_key(p)));
}

const daruma_target *setup_targets_of(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                      daruma_arena *a, size_t *n)
{
    const config *c = &s->cfg;
    const config_model *m = config_model_of(c, model), others = others_of(c);
    config_model some = {0};
    *n = 0;
    if (!m && !c->nothers)
        return NULL;
    m = m ? m : &others;
    some = *m;
    some.targets = ARENA_NEW(a, config_target, m->ntargets);
    some.ntargets = some.nreserve = 0; /* what passes through is judged by no content filter's words */
    for (size_t i = 0; some.targets && i < m->ntargets; i++)
        if (knows_path(&c->providers[m->targets[i].provider], d))
            some.targets[some.ntargets++] = m->targets[i];
    bool one = str_findch(m->name, '*') == STR_NONE;
    return some.ntargets || one ? targets_now(s, &some, model, d, who, a, n) : NULL;
}
