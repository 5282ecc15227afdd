/* apis.c - which of OpenAI's two APIs a target is spoken to in. A provider that is called `openai` is asked in the one
 * that the client speaks, until it says that it has only the other: many that copy Chat Completions have never had
 * Responses, and some models of OpenAI's have Responses alone. What helped is learned of the lane. */
#include "base/str.h"
#include "engine/drive/mending.h"

/* A provider called `openai` takes Responses as well, unless another target is called `openai-responses`: who tells the
 * two apart means it. */
static bool takes_responses(const session *x, const dialect *d)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (session_place(x, (int)i).d == &dialect_openai_responses)
            return d == &dialect_openai_responses;
    return d == &dialect_openai || d == &dialect_openai_responses;
}

/* As far as nobody has refused it. */
static const dialect *first_choice(const session *x, const dialect *d)
{
    return !x->d || (x->d == &dialect_openai_responses && takes_responses(x, d)) ? x->d : d;
}

static const dialect *other_api(const dialect *d)
{
    return d == &dialect_openai ? &dialect_openai_responses : &dialect_openai;
}

static bool has_turned(const session *x, int target)
{
    return target < DARUMA_CASE_TRIED && x->turned & 1u << target;
}

const dialect *session_dialect(const session *x, int target)
{
    const dialect *d = session_place(x, target).d, *first = first_choice(x, d);
    if (!x->d || d != &dialect_openai)
        return first;
    if (has_turned(x, target))
        return other_api(first);
    switch (memory_api(x->v->mem, x->targets[target].lane_id)) {
    case API_CHAT:
        return &dialect_openai;
    case API_RESPONSES:
        return &dialect_openai_responses;
    case API_ANY:
        break;
    }
    return first;
}

bool session_api_known(const session *x, int target)
{
    return !has_turned(x, target) && session_dialect(x, target) != first_choice(x, session_place(x, target).d);
}

/* ---- it refuses one ---- */

/* Does a refusal name that API? Of a bad request the path alone counts: of parameters it may be said what they are
 * called in the other API. */
static bool names(const daruma_failure *f, const dialect *d)
{
    bool chat = d == &dialect_openai;
    if (str_ifind(f->own, chat ? S("/chat/completions") : S("/responses")) != STR_NONE)
        return true;
    return f->status != 400 && f->status != 422 &&
           (str_ifind(f->own, chat ? S("chat completions") : S("responses api")) != STR_NONE);
}

/* Nothing is there, and it is not the model that is missed. */
static bool is_no_path(const daruma_failure *f)
{
    return (f->status == 404 || f->status == 405 || f->status == 501) && str_ifind(f->own, S("model")) == STR_NONE &&
           str_ifind(f->own, S("deployment")) == STR_NONE;
}

/* Does the target refuse the API that it was asked in, and may have the other? Chat is what all have who have one of
 * them: only who says so has none. */
static bool refuses_api(const session *x, const daruma_failure *f)
{
    bool refused = f->status == 400 || f->status == 404 || f->status == 405 || f->status == 422 || f->status == 501;
    if (!refused || !x->d || !x->p || session_place(x, x->kase.target).d != &dialect_openai)
        return false;
    return names(f, other_api(x->p)) || (x->p == &dialect_openai_responses && is_no_path(f));
}

static bool may_change(const session *x)
{
    const daruma_policy *p = x->kase.policy;
    for (size_t i = 0; x->kase.can_mend && p->enabled && p->mend.enabled && i < p->nrungs; i++)
        if (p->rungs[i].remedy == DARUMA_REMEDY_CHANGE_API)
            return true;
    return false;
}

void session_api_look(session *x, daruma_failure *f)
{
    x->kase.other_api = refuses_api(x, f) && !has_turned(x, x->kase.target) && may_change(x);
    if (!x->kase.other_api || f->kind == DARUMA_MODEL_NOT_FOUND || f->kind == DARUMA_INVALID_PARAMETER)
        return;
    f->kind = DARUMA_MODEL_NOT_FOUND;
    f->severity = daruma_kind_severity(f->kind);
    f->retryable = false;
}

void session_api_change(session *x)
{
    int target = x->kase.target;
    if (session_api_known(x, target)) /* it has by now what it had not */
        memory_api_put(x->v->mem, x->targets[target].lane_id, API_ANY);
    else
        x->turned |= 1u << target;
}

void session_api_worked(session *x)
{
    const daruma_target *t = &x->targets[x->kase.target];
    if (!has_turned(x, x->kase.target))
        return;
    memory_api_put(x->v->mem, t->lane_id, x->p == &dialect_openai ? API_CHAT : API_RESPONSES);
    memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
}
