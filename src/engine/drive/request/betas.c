/* betas.c - parts of an API that a client asks for by words in a field of its head (anthropic-beta). Clients send what
 * the newest servers know; older ones, clouds and copies refuse the whole request for a word that they do not. It is
 * asked without those words, and they are known of the lane. */
#include "base/buf.h"
#include "base/str.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/betas.h"

#define ALL "*" /* the field goes: nobody says which word it is */

daruma_str betas_without(const session *x, int target)
{
    if (!x->betas)
        return (daruma_str){0};
    return x->betas->target == target + 1
               ? x->betas->without
               : str_of(memory_lane(x->v->mem, x->targets[target].lane_id, x->v->at.now)->betas);
}

bool betas_keeps(daruma_str without, daruma_str word)
{
    daruma_str one;
    if (str_eq(without, S(ALL)))
        return false;
    while (without.n)
        if (one = str_trim(str_cut(&without, ',')), str_eq(one, word))
            return false;
    return true;
}

#define LONGER "context-1m" /* how the word begins that asks for a longer window than the model's usual one */

/* Does the failure speak of that word of the field? Clouds and subscriptions refuse the longer window in words of their
 * own. */
static bool is_meant(const daruma_failure *f, daruma_str word)
{
    return str_find(f->own, word) != STR_NONE ||
           (str_istarts(word, S(LONGER)) && str_ifind(f->own, S("long context")) != STR_NONE);
}

/* Does the call ask for a longer window, and is it that which the failure speaks of? NULL: any. */
static bool asks_longer(const session *x, const daruma_failure *f)
{
    daruma_str all = x->betas ? x->betas->asked : (daruma_str){0}, without = betas_without(x, x->kase.target);
    while (all.n) {
        daruma_str word = str_trim(str_cut(&all, ','));
        if (str_istarts(word, S(LONGER)) && (!f || is_meant(f, word)) && betas_keeps(without, word))
            return true;
    }
    return false;
}

bool betas_widen(const session *x)
{
    return x->p == x->d && asks_longer(x, NULL);
}

bool betas_refused(const session *x, const daruma_failure *f)
{
    if (!x->betas || x->p != x->d || x->p != &dialect_anthropic || f->status < 400 || f->status >= 500)
        return false;
    bool status = f->status == 400 || f->status == 404 || f->status == 422;
    bool field = str_ifind(f->own, S("anthropic-beta")) != STR_NONE || str_ifind(f->own, S("beta flag")) != STR_NONE ||
                 str_ifind(f->own, S("beta header")) != STR_NONE;
    return (status && field) || asks_longer(x, f);
}

bool betas_mend(session *x)
{
    int target = x->kase.target;
    daruma_str known = betas_without(x, target);
    daruma_buf b = buf_in(x->arena);
    bool any = false;
    if (!betas_refused(x, &session_last(x)->failure) || str_eq(known, S(ALL)))
        return false;
    daruma_str all = x->betas->asked;
    buf_put(&b, known);
    while (all.n) {
        daruma_str word = str_trim(str_cut(&all, ','));
        if (!word.n || !betas_keeps(known, word) || !is_meant(&session_last(x)->failure, word))
            continue;
        if (b.n)
            buf_putc(&b, ',');
        buf_put(&b, word);
        any = true;
    }
    if (b.full)
        return false;
    x->betas->without = any && b.n < BETAS_BYTES_MAX ? buf_str(&b) : S(ALL);
    x->betas->target = target + 1;
    x->betas->now = session_last(x)->failure.status == 429; /* an allowance may be bought: it is not for good */
    return true;
}

void betas_sent(session *x, int target)
{
    if (betas_without(x, target).n && x->betas->target != target + 1)
        session_did(x, DARUMA_REMEDY_MEND_PARAMETER);
}

void betas_worked(session *x)
{
    const daruma_target *t = &x->targets[x->kase.target];
    if (!x->betas || x->betas->target != x->kase.target + 1 || x->betas->now)
        return;
    memory_betas_put(x->v->mem, t, x->betas->without);
    memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
}
