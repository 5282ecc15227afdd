/* The record of a run as a file: whatever the bytes, they are refused with a reason, or what is said of the run keeps
 * its bounds, is the same each time, and is told as JSON and as a page. The first byte chooses the dialect, if one. */
#include "../src/cli/review/review.c"
#include "base/arena.h"
#include "base/check.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char mem[24 << 20], scratch[8 << 20];

static void look_at(const review *r, const review_run *run)
{
    check(r->ncircles <= REVIEW_CIRCLES_MAX && r->nfailures <= REVIEW_FAILURES_MAX);
    check(r->nescalations <= REVIEW_ESCALATIONS_MAX && r->failed <= run->n && r->open <= r->failed);
    check(r->cost.wasted <= run->n && r->cost.wasted_requests <= run->requests);
    check(r->cost.without >= 0 && r->cost.without <= r->cost.sent);
    for (size_t i = 0; i < r->ncircles; i++) {
        const review_circle *c = &r->circles[i];
        check(c->first >= 1 && c->first <= c->seen && c->seen <= c->last && c->last <= run->n);
        check(c->ncalls <= REVIEW_CALLS_MAX && c->nhashes <= REVIEW_CALLS_MAX);
        check(!c->next || (c->next > c->last && c->next <= run->n));
        for (uint32_t k = 0; k < c->ncalls; k++)
            check(c->calls[k] >= 1 && c->calls[k] <= run->n);
    }
    for (size_t i = 0; i < r->nfailures; i++) {
        const review_failure *f = &r->failures[i];
        check(f->first >= 1 && f->first <= f->last && f->last <= run->n);
        check(f->times >= 1 && f->open <= f->times && f->solved <= run->n);
    }
    for (size_t i = 0; i < r->nescalations; i++)
        check(r->escalations[i].step >= 1 && r->escalations[i].step <= run->n && r->escalations[i].reason.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini, NULL};
    if (!size)
        return 0;
    daruma_arena a = arena_over(mem, sizeof mem), room = arena_over(scratch, sizeof scratch);
    transcript t;
    char why[512] = "";
    if (!transcript_read((daruma_str){(const char *)data + 1, size - 1}, "run", all[data[0] % 5], &a, &t, why)) {
        check(why[0] && memchr(why, 0, sizeof why));
        return 0;
    }
    const daruma_policy *p = daruma_policy_find(S("default"));
    review r = review_of(&t.run, p, &a, room), again = review_of(&t.run, p, &a, room);
    if (r.full || again.full)
        return 0;
    look_at(&r, &t.run);
    check(r.ncircles == again.ncircles && r.nfailures == again.nfailures && r.cost.without == again.cost.without);
    page q = {.t = &t, .r = &r, .a = &a, .out = buf_in(&a), .bold = "", .bad = "", .good = "", .plain = ""};
    write_json(&q);
    check(q.out.full || json_valid(buf_str(&q.out)));
    q.out = buf_in(&a);
    write_page(&q, "run");
    check(q.out.full || q.out.n);
    return 0;
}
