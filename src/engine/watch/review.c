/* review.c - sees the steps of a run once more, with the eyes of a gateway: the detector after each step, the ladder
 * whenever a request would have gone out, the tracker and the lessons beside them.
 *
 *     steps -> detector -> verdict -> circles      (one as long as verdicts are about the same)
 *                             \----> ladder        (at the border of two turns: then the next request goes out)
 *           -> judge ----> failures                (one for each signature)
 *           -> tracker --> escalations
 *
 * A step is wasted when it belongs to a circle and is not of its first lap. */
#include "engine/watch/review.h"
#include "engine/watch/toolfail.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"

typedef struct looking {
    const review_run *run;
    const daruma_policy *p;
    daruma_arena *keep, scratch;
    review *r;
    daruma_stall *stall;
    daruma_tracker *tracker;
    daruma_lessons *lessons;
    daruma_learner learner;
    daruma_guide guide;
    uint32_t begin;  /* steps before the newest task */
    bool escalated;  /* in it */
    uint64_t unkept; /* the newest circle for which there was no place */
    void *room;      /* of stall and tracker */
    uint64_t *call;  /* identity of each step's call */
    bool *failed, *wasted;
} looking;

/* ---- circles ---- */

/* Which of its calls this is; STR_NONE: none. */
static size_t call_in(const review_circle *c, uint64_t call)
{
    for (size_t i = 0; i < c->nhashes; i++)
        if (c->hashes[i] == call)
            return i;
    return STR_NONE;
}

static review_circle *circle_of(looking *l, const daruma_verdict *v, uint32_t step)
{
    review *r = l->r;
    review_circle *newest = r->ncircles ? &r->circles[r->ncircles - 1] : NULL;
    if (newest && newest->v.about == v->about && newest->first > l->begin)
        return newest;
    if (r->ncircles == REVIEW_CIRCLES_MAX) {
        r->more_circles += l->unkept != v->about;
        l->unkept = v->about;
        return NULL;
    }
    newest = &r->circles[r->ncircles++];
    *newest = (review_circle){.first = l->begin + v->first, .seen = step};
    return newest;
}

static void see_circle(looking *l, uint32_t at, const daruma_verdict *v)
{
    uint32_t step = at + 1;
    review_circle *c = circle_of(l, v, step);
    if (!c)
        return;
    c->v = *v;
    c->step = l->run->steps[at].step;
    c->last = step;
    for (uint32_t i = 0; i < v->ncalls && i < DARUMA_PERIOD_MAX; i++)
        if (call_in(c, v->calls[i]) == STR_NONE && c->nhashes < REVIEW_CALLS_MAX)
            c->hashes[c->nhashes++] = v->calls[i];
    if (l->begin + v->first < c->first)
        c->first = l->begin + v->first;
}

/* Which steps belong to it: those with its calls; where the calls differ those of its tool, or all when the whole run
 * is to blame. */
static void close_circle(looking *l, review_circle *c)
{
    bool all = c->v.circle == DARUMA_CIRCLE_COMPACTION || c->v.circle == DARUMA_CIRCLE_NO_PROGRESS;
    bool begun = false;
    for (uint32_t step = c->first; step <= c->last; step++) {
        const daruma_step *s = &l->run->steps[step - 1].step;
        bool first_lap;
        if (c->nhashes) {
            size_t which = call_in(c, l->call[step - 1]);
            if (which == STR_NONE)
                continue;
            first_lap = !c->calls[which];
            if (first_lap)
                c->calls[which] = step;
        } else {
            if (!all && !str_eq(s->tool, c->step.tool))
                continue;
            first_lap = !begun;
            begun = true;
        }
        if (!first_lap && !l->wasted[step - 1]) {
            l->wasted[step - 1] = true;
            c->wasted++;
        }
    }
    c->ncalls = 0; /* those that are known, in the order of their steps */
    for (uint32_t i = 0; i < REVIEW_CALLS_MAX; i++)
        if (c->calls[i]) {
            uint32_t step = c->calls[i], k = c->ncalls++;
            for (; k && c->calls[k - 1] > step; k--)
                c->calls[k] = c->calls[k - 1];
            c->calls[k] = step;
        }
    c->next = c->last < l->run->n ? c->last + 1 : 0;
}

/* What a gateway does with the request that goes out behind this step. */
static void climb(looking *l, uint32_t step, const daruma_verdict *v)
{
    static const daruma_remedy_kind rungs[REVIEW_RUNGS] = {
        [REVIEW_TOLD] = DARUMA_REMEDY_NOTICE,
        [REVIEW_REFUSED] = DARUMA_REMEDY_BLOCK_CALL,
        [REVIEW_FINISHED] = DARUMA_REMEDY_FORCE_FINISH,
        [REVIEW_STOPPED] = DARUMA_REMEDY_STOP_PARTIAL,
    };
    daruma_remedy_kind taken = daruma_guide_next(&l->guide, l->p, v, DARUMA_WATCH_ENFORCE, DARUMA_NEED_SIDE);
    review_circle *c = l->r->ncircles ? &l->r->circles[l->r->ncircles - 1] : NULL;
    if (!c || c->v.about != v->about)
        return;
    for (int i = 0; i < REVIEW_RUNGS; i++)
        if (rungs[i] == taken && !c->after[i])
            c->after[i] = step;
}

/* ---- failures ---- */

static review_failure *group_of(looking *l, const daruma_tool_failure *f)
{
    review *r = l->r;
    for (size_t i = 0; i < r->nfailures; i++)
        if (r->failures[i].f.signature == f->signature)
            return &r->failures[i];
    if (r->nfailures == REVIEW_FAILURES_MAX) {
        r->more_failures++;
        return NULL;
    }
    return &r->failures[r->nfailures++];
}

/* The step that reached the goal of this one, not further on than anybody would connect the two. */
static uint32_t solved_at(const looking *l, uint32_t at, daruma_tool_kind kind, daruma_arena a)
{
    goal failed = goal_of(&l->run->steps[at].step, &a);
    for (uint32_t i = at + 1; i < l->run->n && i <= at + REVIEW_AHEAD_MAX; i++) {
        const daruma_step *s = &l->run->steps[i].step;
        daruma_arena own = a;
        if (l->failed[i] || !str_eq(s->tool, l->run->steps[at].step.tool))
            continue;
        goal now = goal_of(s, &own);
        if (goal_reached(&failed, kind, &now))
            return i + 1;
    }
    return 0;
}

static void see_failure(looking *l, uint32_t at, const daruma_tool_failure *f, daruma_arena scratch)
{
    uint32_t solved = solved_at(l, at, f->kind, scratch);
    review_failure *g = group_of(l, f);
    l->r->failed++;
    l->r->open += !solved;
    for (size_t i = l->r->nescalations; i && l->r->escalations[i - 1].step == at + 1; i--)
        l->r->escalations[i - 1].overcome = solved != 0;
    if (!g)
        return;
    if (!g->times)
        g->first = at + 1;
    g->last = at + 1;
    g->times++;
    g->open += !solved;
    g->solved = solved ? solved : g->solved;
    bool same = str_eq(g->f.message, f->message);
    daruma_str tool = g->f.tool.n ? g->f.tool : arena_copy(l->keep, f->tool);
    daruma_str message = same ? g->f.message : arena_copy(l->keep, f->message);
    g->f = *f;
    g->f.tool = tool;
    g->f.message = message;
    g->f.whole = (daruma_str){0};
    g->f.step = at + 1;
    g->f.resolved = solved != 0;
}

static void find_lessons(looking *l)
{
    for (size_t i = 0; l->lessons && i < l->r->nfailures; i++) {
        review_failure *g = &l->r->failures[i];
        daruma_lesson_key k = {.tool = g->f.tool, .error = g->f.signature, .call = g->f.call};
        daruma_lessons_find(l->lessons, &k, 0, &g->lesson, 1);
    }
}

/* ---- step by step ---- */

static size_t room_bytes(void)
{
    return daruma_stall_bytes() + daruma_tracker_bytes() + 4 * _Alignof(max_align_t);
}

static bool begin_task(looking *l, uint32_t at)
{
    l->begin = at;
    l->escalated = false;
    l->guide = (daruma_guide){0};
    daruma_arena a = arena_over(l->room, room_bytes());
    l->stall = daruma_stall_new(&a);
    l->tracker = daruma_tracker_new(&a, l->p);
    return l->stall && l->tracker;
}

static void track(looking *l, uint32_t at, daruma_arena *a)
{
    const daruma_step *s = &l->run->steps[at].step;
    review *r = l->r;
    if (daruma_tracker_see(l->tracker, (daruma_str){0}, s, (daruma_moment){0}, a) || l->escalated)
        return;
    l->escalated = true;
    daruma_escalation e = daruma_tracker_escalation(l->tracker);
    if (r->nescalations < REVIEW_ESCALATIONS_MAX)
        r->escalations[r->nescalations++] =
            (review_escalation){.step = at + 1, .reason = arena_copy(l->keep, e.reason)};
}

static void judge(looking *l, uint32_t at, daruma_arena *a)
{
    const daruma_step *s = &l->run->steps[at].step;
    toolfail t = {0};
    bool failed = l->failed[at];
    if (failed)
        t = toolfail_judge(s, &l->p->watch, a);
    if (failed && !t.by_person)
        see_failure(l, at, &t.f, *a);
    if (l->lessons && !t.by_person)
        daruma_learner_see(&l->learner, l->lessons, 0, s, failed ? &t.f : NULL, (daruma_str){0}, 0, a);
}

static void see(looking *l, uint32_t at)
{
    const review_step *s = &l->run->steps[at];
    daruma_verdict v = daruma_stall_see(l->stall, &s->step);
    bool goes_out = at + 1 == l->run->n || s[1].turn != s->turn;
    if (s->step.tool.n) {
        daruma_arena a = l->scratch, b = l->scratch;
        l->call[at] = daruma_call_hash(s->step.tool, s->step.args);
        track(l, at, &a);
        judge(l, at, &b);
    }
    if (v.circle == DARUMA_CIRCLE_NONE)
        return;
    see_circle(l, at, &v);
    if (goes_out)
        climb(l, at + 1, &v);
}

/* ---- what it cost ---- */

static void count_cost(looking *l)
{
    const review_run *run = l->run;
    review_cost *c = &l->r->cost;
    int64_t gone = 0; /* bytes of wasted steps so far */
    size_t i = 0;
    for (uint32_t request = 1; request <= run->requests; request++) {
        int64_t carried = run->carried[request - 1], left = carried - gone;
        bool any = false, all = true;
        for (; i < run->n && run->steps[i].turn <= request; i++) {
            any = true;
            all &= l->wasted[i];
            c->wasted += l->wasted[i];
            gone = add_sat(gone, l->wasted[i] ? run->steps[i].bytes : 0);
        }
        c->sent = add_sat(c->sent, carried);
        if (any && all)
            c->wasted_requests++;
        else
            c->without = add_sat(c->without, left > 0 ? left : 0);
    }
}

static bool make_room(looking *l)
{
    daruma_arena *a = l->keep;
    review *r = l->r;
    size_t n = l->run->n + 1;
    r->circles = ARENA_NEW(a, review_circle, REVIEW_CIRCLES_MAX);
    r->failures = ARENA_NEW(a, review_failure, REVIEW_FAILURES_MAX);
    r->escalations = ARENA_NEW(a, review_escalation, REVIEW_ESCALATIONS_MAX);
    l->call = ARENA_NEW(a, uint64_t, n);
    l->failed = ARENA_NEW(a, bool, n);
    l->wasted = ARENA_NEW(a, bool, n);
    l->room = arena_take(a, room_bytes(), _Alignof(max_align_t));
    l->lessons = daruma_lessons_new(a, REVIEW_LESSONS_MAX);
    return !a->full;
}

review review_of(const review_run *run, const daruma_policy *p, daruma_arena *keep, daruma_arena scratch)
{
    review r = {0};
    looking l = {.run = run, .p = p, .keep = keep, .scratch = scratch, .r = &r};
    if (!make_room(&l) || !begin_task(&l, 0)) {
        r.full = true;
        return r;
    }
    for (size_t at = 0; at < run->n; at++)
        l.failed[at] = run->steps[at].step.tool.n && daruma_step_failed(&run->steps[at].step);
    for (uint32_t at = 0; at < run->n; at++) {
        if (run->steps[at].new_task && at && !begin_task(&l, at))
            break;
        see(&l, at);
    }
    for (size_t i = 0; i < r.ncircles; i++)
        close_circle(&l, &r.circles[i]);
    find_lessons(&l);
    count_cost(&l);
    r.full = keep->full;
    return r;
}
