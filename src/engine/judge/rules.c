/* rules.c - a failure as an operator and a profile judge it: by their own rows, in their order. They see what an
 * exception's text would hold, the whole answer, not only the message. */
#include "base/limits.h"
#include "base/str.h"

static bool holds(daruma_str text, const char *const *words)
{
    for (; *words; words++)
        if (str_ifind(text, str_of(*words)) != STR_NONE)
            return true;
    return false;
}

static bool rule_fits(const daruma_rule_row *r, const daruma_evidence *ev, const daruma_failure *f)
{
    daruma_str body = str_sub(ev->body, 0, CLASSIFY_BODY_BYTES_MAX);
    return f->status >= r->from && f->status <= r->to && (r->was < 0 || (int)f->kind == r->was) &&
           (!r->code || str_ieq(f->code, str_of(r->code))) &&
           (!r->words || holds(body, r->words) || holds(f->message, r->words));
}

daruma_failure daruma_judge(const daruma_policy *p, const daruma_evidence *ev, const daruma_failure *f)
{
    daruma_failure got = *f;
    if (p->deaf)
        got.wait = -1;
    for (size_t i = 0; i < p->nrules; i++) {
        const daruma_rule_row *r = &p->rules[i];
        if (!rule_fits(r, ev, f))
            continue;
        got.type = r->type;
        got.label = r->label;
        if (r->wait > 0)
            got.wait = r->wait;
        if (got.kind == r->kind)
            break;
        got.kind = r->kind;
        got.severity = daruma_kind_severity(r->kind);
        got.retryable = daruma_kind_passes(r->kind);
        got.sure = 100;
        got.rule = 0;
        break;
    }
    return got;
}
