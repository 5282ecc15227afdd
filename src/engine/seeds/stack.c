/* stack.c - profiles one above the other: what the agent does itself is the first one's, and what becomes of its calls
 * is that of the layers below it. */
#include "engine/seeds/seeds.h"
#include "engine/decide/profiles.h"
#include "base/buf.h"
#include "base/str.h"

static const char *const usual[] = {
    "penguiflow:doc,penguiflow-client",
    "penguiflow:code,penguiflow-native",
    "swarm:before,ruby-llm",
    "swarm,ruby-llm",
};

const char *seed_stack_usual(size_t index)
{
    return index < COUNT(usual) ? usual[index] : NULL;
}

static bool wrong(daruma_buf *why, const char *what, daruma_str name)
{
    BUF_SAY(why, what, " `", name, "`");
    return false;
}

bool seed_stack_read(daruma_str names, daruma_arena *a, seed_stack *ret, daruma_buf *why)
{
    const agent_policy *first = NULL;
    const daruma_policy *judge = NULL, *calls = NULL;
    daruma_str below = {0}; /* what the sessions do: all layers, but for one that does it in the agent */
    for (daruma_str rest = names, variant; rest.n;) {
        daruma_str at = rest, name = profile_next(&rest, &variant);
        const agent_policy *own = seed_agent(name, variant);
        if (!own && !daruma_policy_variant(name, variant))
            return wrong(why, "there is no profile",
                         variant.n ? (daruma_str){name.p, (size_t)(variant.p + variant.n - name.p)} : name);
        if (own && !first) {
            first = own;
            judge = daruma_policy_variant(name, variant);
            below = own->raises ? rest : at;
        } else if (!below.n) {
            below = at;
        }
    }
    ret->agent = first ? *first : agent_policy_default;
    if (str_trim(below).n) {
        calls = daruma_policy_stack(below, a);
        if (!calls)
            return wrong(why, "these profiles cannot stand one above the other:", below);
    }
    ret->judge = judge ? judge : daruma_policy_find(S("default")); /* layers alone stand below the agent of default */
    ret->calls = calls ? *calls : *ret->judge;
    if (!calls)
        ret->calls.enabled = false;
    if (!ret->agent.raises)
        ret->agent.retry.attempts = 1; /* one budget, not two that multiply */
    return true;
}

void seed_retry(const agent_retry *own, agent_policy *p, daruma_policy *calls)
{
    if (p->routes[p->mode][DARUMA_RETRIABLE].to == AGENT_ROUTE_AGAIN) {
        p->retry = agent_retry_of(own, p->retry, p->retry.delay ? p->retry : agent_policy_default.retry);
        if (!own->attempts && !p->raises)
            p->retry.attempts = 1;
        return;
    }
    for (int k = 0; k < DARUMA_KINDS; k++) {
        daruma_kind_policy *kind = &calls->kinds[k];
        const agent_retry was = {.delay = kind->backoff.base, .factor_milli = kind->backoff.factor_milli};
        agent_retry is = agent_retry_of(own, was, was);
        if (was.delay && own->attempts && kind->max_attempts > calls->max_attempts) /* a layer below has its own */
            kind->max_attempts = kind->max_attempts - calls->max_attempts + own->attempts;
        if (was.delay && (is.delay != was.delay || is.factor_milli != was.factor_milli))
            kind->backoff = (daruma_backoff){is.delay, calls->max_wait, is.factor_milli, 0};
    }
    if (own->attempts)
        calls->max_attempts = own->attempts;
}

void seed_stack_set(seed_stack *s, const daruma_policy *said, const daruma_policy *its)
{
    agent_policy *p = &s->agent;
    if (said->mend.max_compress_retries != its->mend.max_compress_retries)
        p->compressions = said->mend.max_compress_retries;
    if (said->mend.compression_threshold_chars != its->mend.compression_threshold_chars)
        p->compress_over_chars = (uint32_t)said->mend.compression_threshold_chars;
    p->mute |= !said->mend.side_calls && its->mend.side_calls;
    p->cuts = !said->mend.summarize_on_compress && its->mend.summarize_on_compress;
    if (said->enabled || !its->enabled)
        return;
    p->off = true;
    p->compressions = 0;
    p->graceful = s->calls.enabled = false;
    p->retry = p->classes_retry = (agent_retry){.attempts = 1};
}
