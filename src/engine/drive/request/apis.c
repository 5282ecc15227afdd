/* apis.c - which of OpenAI's two APIs a target is spoken to in. A provider that is called `openai` is asked in the one
 * that the client speaks, until it says that it has only the other: many that copy Chat Completions have never had
 * Responses, and some models of OpenAI's have Responses alone. What helped is learned of the lane. */
#include "base/str.h"
#include "engine/drive/attempt.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/apis.h"
#include "engine/mend/request/request.h"
#include "engine/mend/request/said.h"

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
    return target < DARUMA_CASE_TRIED && x->apis.turned & 1u << target;
}

const dialect *session_dialect(const session *x, int target)
{
    const dialect *d = session_place(x, target).d, *first = first_choice(x, d);
    if (!x->d || d != &dialect_openai)
        return first;
    if (has_turned(x, target))
        return other_api(first);
    memory_apis has = memory_lane(x->v->mem, x->targets[target].lane_id, x->v->at.now)->api;
    return has == API_CHAT ? &dialect_openai : has == API_RESPONSES ? &dialect_openai_responses : first;
}

bool session_api_known(const session *x, int target)
{
    return !has_turned(x, target) && session_dialect(x, target) != first_choice(x, session_place(x, target).d);
}

/* ---- it refuses one ---- */

/* The end of a path, and not a part of a longer one. */
static bool has_path(daruma_str text, daruma_str path)
{
    for (size_t at; (at = str_ifind(text, path)) != STR_NONE; text = str_from(text, at + path.n)) {
        char behind = at + path.n < text.n ? text.p[at + path.n] : ' ';
        if (!ch_word(behind) && behind != '/' && behind != '-')
            return true;
    }
    return false;
}

static daruma_str path_of(const dialect *d)
{
    return d == &dialect_openai ? S("/chat/completions") : S("/responses");
}

static daruma_str name_of(const dialect *d)
{
    return d == &dialect_openai ? S("chat completions") : S("responses api");
}

/* Of a bad request the path alone counts: of parameters it may be said what they are called in the other API. */
static bool is_named(const daruma_failure *f, const dialect *d)
{
    bool name = f->status != 400 && f->status != 422 && str_ifind(f->own, name_of(d)) != STR_NONE;
    return name || has_path(f->own, path_of(d));
}

/* Does a refusal send whoever asks to that API? */
static bool names(const daruma_failure *f, const dialect *d)
{
    size_t own = str_ifind(f->own, path_of(other_api(d))); /* a list of what there is sends nobody anywhere */
    if (!is_named(f, d))
        return false;
    if (own == STR_NONE || !has_path(f->own, path_of(other_api(d))))
        return said(f->own, SAID_API_SENDS);
    return said(f->own, SAID_API_INSTEAD) || said(str_sub(f->own, 0, own), SAID_API_DENIED);
}

/* Is it refused for something that this request asks for, and others do not? */
static bool is_about_one(const daruma_failure *f)
{
    return f->kind == DARUMA_INVALID_PARAMETER && f->subject.n && !str_ieq(f->subject, S("model"));
}

/* Does it say of the API itself that it is not for this? */
static bool refuses_own(const daruma_failure *f, const dialect *d)
{
    return !is_about_one(f) && is_named(f, d) && said(f->own, SAID_API_NEVER);
}

static bool only_of_paths(daruma_str text)
{
    for (size_t i = 0; i < text.n;) {
        size_t n = 0;
        while (i + n < text.n && ch_word(text.p[i + n]))
            n++;
        daruma_str word = str_sub(text, i, n);
        if (n && !ch_digit(word.p[0]) && !said_word(word, SAID_PATH_WORDS)) /* numbers are versions */
            return false;
        i += n ? n : 1;
    }
    return true;
}

/* Nothing is there, and it is neither the model nor anything that the request names which is missed. */
static bool is_no_path(const session *x, const dialect *p, const daruma_failure *f)
{
    if (f->status != 404 && f->status != 405 && f->status != 501 && f->status != 200)
        return false;
    if (str_ifind(f->own, S("model")) != STR_NONE || str_ifind(f->own, S("deployment")) != STR_NONE)
        return false;
    bool other = has_path(f->own, path_of(other_api(p)));
    return ((has_path(f->own, path_of(p)) && !other) || only_of_paths(f->message)) && !mend_messages_known(f, x->arena);
}

/* May it be about the API at all? Whatever has a cause of its own is not. */
static bool may_be_of_api(const daruma_failure *f)
{
    if (f->status == 200) /* as LM Studio says of a path that it does not have */
        return f->kind == DARUMA_MODEL_NOT_FOUND;
    switch (f->kind) {
    case DARUMA_MODEL_NOT_FOUND:
    case DARUMA_INVALID_PARAMETER:
    case DARUMA_UNKNOWN:
        return f->status == 400 || f->status == 404 || f->status == 405 || f->status == 422 || f->status == 501;
    case DARUMA_SERVER_ERROR:
        return f->status == 501;
    default:
        return false;
    }
}

static bool may_change(const session *x)
{
    const daruma_policy *p = x->kase.policy;
    for (size_t i = 0; x->kase.can_mend && p->enabled && p->mend.enabled && i < p->nrungs; i++)
        if (p->rungs[i].remedy == DARUMA_REMEDY_CHANGE_API)
            return true;
    return false;
}

/* Does a target that was asked in `p` refuse that API, and may have the other? Who has one of them has Chat: it is
 * missed only where the refusal says so. */
static bool refuses_api(const session *x, int target, const dialect *p, const daruma_failure *f)
{
    if (target >= DARUMA_CASE_TRIED || has_turned(x, target) || !may_change(x) || !may_be_of_api(f))
        return false;
    if (!x->d || !p || session_place(x, target).d != &dialect_openai)
        return false;
    return names(f, other_api(p)) || (p == &dialect_openai_responses && (is_no_path(x, p, f) || refuses_own(f, p)));
}

void session_api_look(session *x, daruma_failure *f)
{
    x->kase.other_api = refuses_api(x, x->kase.target, x->p, f);
    if (!x->kase.other_api || f->kind == DARUMA_MODEL_NOT_FOUND || f->kind == DARUMA_INVALID_PARAMETER)
        return;
    f->kind = DARUMA_MODEL_NOT_FOUND;
    f->severity = daruma_kind_severity(f->kind);
    f->retryable = false;
}

static void turn_to_other(session *x, int target, const daruma_failure *f)
{
    uint32_t bit = 1u << target;
    if (session_api_known(x, target)) /* it has by now what it had not */
        memory_api_put(x->v->mem, &x->targets[target], API_ANY, session_now(x).now);
    else
        x->apis.turned |= bit;
    x->apis.once = is_about_one(f) ? x->apis.once | bit : x->apis.once & ~bit;
}

bool session_api_turns(session *x, int target, const dialect *p, const daruma_failure *f)
{
    if (!refuses_api(x, target, p, f))
        return false;
    turn_to_other(x, target, f);
    return true;
}

void session_api_change(session *x)
{
    turn_to_other(x, x->kase.target, &session_last(x)->failure);
}

void session_api_worked(session *x)
{
    const daruma_target *t = &x->targets[x->kase.target];
    if (!has_turned(x, x->kase.target) || x->apis.once & 1u << x->kase.target)
        return;
    memory_api_put(x->v->mem, t, x->p == &dialect_openai ? API_CHAT : API_RESPONSES, session_now(x).now);
    memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
}
