/* stack.c - profiles one above the other, as one policy. What the layers below try again comes first on the ladder of
 * its kind, as often as they do and with their waits; then the layer above goes on. So layers share one budget: a
 * failure that three quick tries did not mend is not tried quickly again behind each slow one.
 *
 *     swarm,ruby-llm      server_error: 3 times quickly (0.1, 0.2, 0.4 s), 3 times slowly (15 s)  */
#include "engine/decide/profiles.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

daruma_str profile_next(daruma_str *rest, daruma_str *variant)
{
    daruma_str one = str_trim(str_cut(rest, ','));
    if (str_starts(one, S("[")))
        one = str_from(one, 1);
    if (str_ends(one, S("]")))
        one.n--;
    one = str_trim(one);
    *variant = (daruma_str){0};
    for (size_t i = 0; i < one.n; i++)
        if (one.p[i] == '/' || one.p[i] == ':' || one.p[i] == ' ') {
            *variant = str_trim(str_from(one, i + 1));
            return str_sub(one, 0, i);
        }
    return one;
}

static const daruma_policy *next_layer(daruma_str *rest)
{
    daruma_str variant, name = profile_next(rest, &variant);
    return daruma_policy_variant(name, variant);
}

static bool waits(const daruma_rung *r)
{
    return r->after != DARUMA_NOW;
}

static bool has_rung(const daruma_policy *p, daruma_kind k, bool waiting)
{
    for (size_t i = 0; i < p->nrungs; i++)
        if (p->rungs[i].kind == k && (!waiting || waits(&p->rungs[i])))
            return true;
    return false;
}

static uint32_t calls_of(const daruma_policy *p, daruma_kind k)
{
    uint32_t n = p->kinds[k].max_attempts ? p->kinds[k].max_attempts : p->max_attempts;
    return n ? n : 1;
}

/* The rungs of one kind: those of `low`, then those of `up`. */
static void stack_kind(const daruma_policy *up, const daruma_policy *low, daruma_kind k, daruma_rung *to,
                       daruma_policy *ret)
{
    bool both = has_rung(up, k, true) && has_rung(low, k, true);
    uint32_t again = calls_of(low, k) - 1;
    for (size_t i = 0; i < low->nrungs; i++) {
        daruma_rung r = low->rungs[i];
        if (r.kind != k)
            continue;
        if (r.times > again && (r.needs & DARUMA_NEED_TRIES))
            r.times = (uint8_t)again;
        if (both && waits(&r)) {
            r.after = DARUMA_QUICK;
            ret->quick = low->kinds[k].backoff;
        }
        to[ret->nrungs++] = r;
    }
    for (size_t i = 0; i < up->nrungs; i++)
        if (up->rungs[i].kind == k)
            to[ret->nrungs++] = up->rungs[i];
    if (!has_rung(up, k, true) && has_rung(low, k, true))
        ret->kinds[k].backoff = low->kinds[k].backoff;
    if (has_rung(low, k, false))
        ret->kinds[k].max_attempts = again + calls_of(up, k);
}

/* Rows of what the lower layer tries again, then those of the upper one. */
static bool stack_rules(const daruma_policy *up, const daruma_policy *low, daruma_arena *a, daruma_policy *ret)
{
    daruma_rule_row *rows = ARENA_NEW(a, daruma_rule_row, up->nrules + low->nrules + 1);
    size_t n = 0;
    for (size_t i = 0; rows && i < low->nrules; i++)
        if (has_rung(low, low->rules[i].kind, false) && !has_rung(up, low->rules[i].kind, false))
            rows[n++] = low->rules[i];
    for (size_t i = 0; rows && i < up->nrules; i++)
        rows[n++] = up->rules[i];
    ret->rules = up->nrules ? rows : NULL; /* who has none judges as daruma does */
    ret->nrules = up->nrules ? n : 0;
    return rows != NULL;
}

static bool stack_two(const daruma_policy *up, const daruma_policy *low, daruma_arena *a, daruma_policy *ret)
{
    size_t most = up->nrungs + low->nrungs;
    daruma_rung *rungs = most <= DARUMA_CASE_RUNGS ? ARENA_NEW(a, daruma_rung, most + 1) : NULL;
    *ret = *up;
    if (!rungs || !stack_rules(up, low, a, ret))
        return false;
    ret->rungs = rungs;
    ret->nrungs = 0;
    for (int k = 0; k < DARUMA_KINDS; k++)
        stack_kind(up, low, (daruma_kind)k, rungs, ret);
    ret->mend.enabled |= low->mend.enabled;
    ret->enabled |= low->enabled;
    ret->deaf = up->deaf && low->deaf;
    return true;
}

const daruma_policy *daruma_policy_stack(daruma_str names, daruma_arena *a)
{
    daruma_str rest = names;
    const daruma_policy *up = next_layer(&rest);
    if (!up || !str_trim(rest).n)
        return up;
    daruma_policy *both = ARENA_NEW(a, daruma_policy, 1);
    const daruma_policy *low = daruma_policy_stack(rest, a);
    daruma_buf name = buf_in(a);
    if (!both || !low || !stack_two(up, low, a, both))
        return NULL;
    buf_printf(&name, "%s%s%s,%s%s%s", up->profile, up->variant ? "/" : "", up->variant ? up->variant : "",
               low->profile, low->variant ? "/" : "", low->variant ? low->variant : "");
    buf_putc(&name, '\0');
    if (name.full)
        return NULL;
    both->profile = name.p;
    both->variant = NULL;
    return both;
}
