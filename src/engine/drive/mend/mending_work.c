/* mending_work.c - carries remedies out on the conversation of a request, on the loop or, where it is large, on another
 * thread. The engine's mend room knows how; here is when, on what, and what is remembered of it.
 *
 *   session_failed -> session_mend_apply -+-> SESSION_MEND_SEND: x->out.body is the mended request
 *                                         +-> SESSION_MEND_UNFIT: the next rung
 *                                         +-> SESSION_MEND_WAITS: question.c asks a model; session_mend_answer() for
 *                                             each answer, session_mend_asked(), session_mended()
 *
 * Stages add up: what was masked stays masked when a summary has to help as well; but nothing is sent that does not fit
 * by our own estimate. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/recall.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"

/* ---- going on with an answer ---- */

static bool can_go_on(session *x)
{
    return talk_was_cut(x) && session_mend_can(x);
}

/* A request that is to go on with an answer. It is written beside the loop where it is large. */
typedef struct resuming {
    const history *past;
    history_rest_of q;
    /* came of it */
    history_onward onward;
    mend_report report;
    bool good;
} resuming;

/* `begun_for_it`: the answer may be begun for the target `to`. */
static resuming resuming_of(session *x, int to, bool begun_for_it)
{
    bool begins = begun_for_it && (session_dialect(x, to)->quirks & WIRE_PREFILL);
    history_target target = session_mend_target(x);
    return (resuming){
        .past = &x->h->past,
        .q = {.body = x->out.body,
              .so_far = talk_said(x),
              .prefills = begins && !memory_lane(x->v->mem, x->targets[to].lane_id, x->v->at.now)->no_prefill,
              .beside = history_beside(&target, &x->h->past.policy),
              .read_bytes = MEND_ARENA_BYTES_MAX}};
}

static void resuming_do(void *data)
{
    resuming *w = data;
    w->good = history_onward_make(w->past, &w->q, &w->report, &w->onward);
}

static history_onward resuming_take(session *x, resuming *w)
{
    history_onward *o = &w->onward;
    o->body = o->made ? session_own(x, o->made) : o->of;
    o->made = NULL;
    return *o;
}

bool session_mend_go_on(session *x, int to, history_onward *ret)
{
    if (!can_go_on(x) || !session_mend_is_brief(x))
        return false;
    resuming w = resuming_of(x, to, false);
    w.q.read_bytes = LOOP_READ_BYTES_MAX;
    resuming_do(&w);
    if (w.good)
        *ret = resuming_take(x, &w);
    return w.good;
}

void session_mend_goes_on(session *x, const history_onward *o)
{
    x->h->past.resume_of = o->of;
    x->h->past.prefilled = o->how == GOING_PREFILLED;
    if (talk_thought_half(x))
        mended_half_thought(x, false);
    talk_join_next(x, o->how);
    session_mend_use(x, o->body, &o->scan);
}

static void resuming_drop(void *data)
{
    resuming *w = data;
    const drive_rooms *rooms = w->past->rooms;
    drive_texts_close(rooms, w->onward.made);
    rooms->give(w);
}

static session_mend_result resumed(session *x, resuming *w)
{
    bool good = w->good;
    if (good) {
        history_onward o = resuming_take(x, w);
        session_mend_goes_on(x, &o);
        x->h->past.m.from = x->h->past.m.to = (daruma_str){0};
        session_mend_tell(x, DARUMA_WHEN_MENDED, DARUMA_REMEDY_RESUME, &w->report);
    }
    resuming_drop(w);
    return good ? SESSION_MEND_SEND : SESSION_MEND_UNFIT;
}

static void resuming_then(session *x, void *data)
{
    session_mended(x, resumed(x, data) == SESSION_MEND_SEND);
}

static session_mend_result resume(session *x)
{
    static const drive_work resumes = {.work = resuming_do, .then = resuming_then, .drop = resuming_drop};
    if (!can_go_on(x))
        return SESSION_MEND_UNFIT;
    if (session_last(x)->failure.kind == DARUMA_MALFORMED_OUTPUT && x->h->past.m.bad)
        return SESSION_MEND_UNFIT; /* what it called was wrong, not cut: it was asked again as often as it may */
    /* An answer that was begun for it with all that arrived, and ended there: perhaps nothing but the end was missing.
     * Shown less of it, it says the last words again, and its end can be believed. */
    bool added_nothing = x->h->past.prefilled && x->answer.view.finished && !x->answer.view.content;
    if (talk_unsure(x) || added_nothing) /* what it was asked was answered with something else */
        x->h->past.going = x->h->past.going == GOING_FROM_BEFORE ? GOING_ANCHORED : GOING_FROM_BEFORE;
    resuming *w = x->v->rooms->take(sizeof *w);
    if (!w)
        return SESSION_MEND_UNFIT;
    *w = resuming_of(x, x->kase.want >= 0 ? x->kase.want : x->kase.target, true);
    return session_work(x, x->out.body.n, &resumes, w) ? resumed(x, w) : SESSION_MEND_WAITS;
}

bool session_mend_is(daruma_remedy_kind r)
{
    return mending_is(r) || steer_is(r) || r == DARUMA_REMEDY_RESUME || r == DARUMA_REMEDY_CHANGE_API;
}

void session_mend_learns_of(session_mending *h, uint64_t lane)
{
    if (h->lesson_lane == lane)
        return;
    h->lesson_lane = lane;
    h->nlessons = 0; /* that they help another one was never seen */
    h->habits = 0;
    h->format = FORMAT_UNSAID;
}

void session_mend_lesson(session *x, const mend_lesson *l)
{
    session_mending *h = x->h;
    session_mend_learns_of(h, x->targets[x->kase.target].lane_id);
    if (h->nlessons && strcmp(h->lessons[h->nlessons - 1].path, l->path) != 0)
        mended_learn(x);
    if (h->nlessons < SESSION_MEND_LESSONS_MAX)
        h->lessons[h->nlessons++] = *l;
}

/* A conversation that stayed too long again and again is not worked on for ever: each time costs calls. */
static bool is_stuck(session *x)
{
    return x->out.scan.conversation && memory_stuck(x->v->mem, session_session(x)) >= STUCK_MAX;
}

void session_mend_gave_up(session *x)
{
    const session_mending *h = x->h;
    if (h && h->nlessons && x->p == x->d && session_mend_open(x) &&
        mend_lesson_held(&h->past.m.c, &h->lessons[h->nlessons - 1], &session_last(x)->failure))
        mended_learn(x); /* it ran out of what it may mend, the next request begins further on */
    bool worked_on = x->kase.shrinks || (x->h && x->h->past.m.shortened);
    if (session_last(x)->failure.kind == DARUMA_CONTEXT_LENGTH && worked_on && x->out.scan.conversation)
        memory_stuck_set(x->v->mem, session_session(x), memory_stuck(x->v->mem, session_session(x)) + 1);
}

/* ---- the work on it: on the loop, or on another thread ---- */

/* The conversation is mended: it is what is sent from here on. */
static void mended_so(session *x)
{
    session_mending *h = x->h;
    mending *m = &h->past.m;
    history_task *t = &h->past.task;
    session_mend_take(x, t->made, &t->scan);
    t->made = NULL;
    session_renamed(x, &m->c);
    if (t->to.facts && t->ahead) /* else it was told when it went out so */
        mended_did(x, x->kase.target, t->to.facts);
    if (m->taught)
        session_mend_lesson(x, &m->lesson);
    if (m->habits) {
        session_mend_learns_of(h, x->targets[x->kase.target].lane_id);
        h->habits |= m->habits;
    }
    if (m->report.halves_dropped)
        mended_half_thought(x, true);
    if (m->doing == DARUMA_REMEDY_LOWER_FORMAT) {
        session_mend_learns_of(h, x->targets[x->kase.target].lane_id);
        h->format = mend_format_lasts(&t->f) ? m->c.set.format : FORMAT_UNSAID;
    }
    if (!session_last(x)->failure.kind) /* ahead of any call; else it counts when its call goes out */
        daruma_case_did(&x->kase, m->doing);
    session_mend_tell(x, DARUMA_WHEN_MENDED, m->doing, &m->report);
}

static session_mend_result run_work(session *x);

/* What came of the work. */
static session_mend_result work_done(session *x)
{
    history *h = &x->h->past;
    history_task *w = &h->task;
    session_mend_tell_limits(x);
    last_failure *l = w->ahead && w->result != MENDING_UNFIT ? session_last_new(x) : NULL;
    if (l)
        l->remedy = (daruma_remedy){.remedy = w->did, .act = DARUMA_SEND, .target = x->kase.target};
    if (w->ahead && !w->ends)
        x->v->counts.remedies[w->did] += w->result != MENDING_UNFIT;
    if (w->result == MENDING_ASKS) {
        bool ended = w->ends;
        w->ends = true; /* the next is what is made of the answers */
        if (side_ask(x, h->m.questions, h->m.nquestions, h->m.answer_tokens))
            return SESSION_MEND_WAITS;
        if (ended)
            return SESSION_MEND_UNFIT;
        session_mend_tell(x, DARUMA_WHEN_BROKE, w->did, &h->m.report);
        return run_work(x); /* as if all had failed */
    }
    if (w->result == MENDING_DONE) {
        mended_so(x);
        return SESSION_MEND_SEND;
    }
    if (!w->ahead && session_mend_unsummed(x, h->m.doing))
        session_mend_tell(x, DARUMA_WHEN_BROKE, h->m.doing, &h->m.report);
    return SESSION_MEND_UNFIT;
}

/* The request, or the rung of the ladder, goes on. */
static void go_on_with(session *x, session_mend_result r)
{
    if (r == SESSION_MEND_WAITS)
        return;
    if (x->h->past.task.ahead)
        session_fitted(x);
    else
        session_mended(x, r == SESSION_MEND_SEND);
}

static void work_then(session *x, void *data)
{
    (void)data;
    go_on_with(x, work_done(x));
}

static void work_drop(void *data)
{
    (void)data; /* history_end() has what it made */
}

static session_mend_result run_work(session *x)
{
    static const drive_work mending_work = {.work = history_work, .then = work_then, .drop = work_drop};
    return session_work(x, x->out.body.n, &mending_work, &x->h->past) ? work_done(x) : SESSION_MEND_WAITS;
}

static history_task *plan(session *x, const daruma_failure *f, const daruma_remedy_kind *steps, size_t n)
{
    history_target to = session_mend_target(x);
    if (x->p == x->d && mended_knows(x, x->kase.target) && (to.facts = ARENA_NEW(x->arena, drive_facts, 1)))
        mended_know(x, x->kase.target, to.facts);
    return history_plan(&x->h->past, &to, x->out.body, f, steps, n);
}

session_mend_result session_mend_apply(session *x, daruma_remedy_kind r)
{
    if (!session_mend_can(x) || (session_mend_shortens(r) && is_stuck(x)))
        return SESSION_MEND_UNFIT;
    session_mending *h = x->h;
    if (steer_is(r))
        return session_mend_open(x) ? steer_apply(x, r) : SESSION_MEND_UNFIT;
    if (r == DARUMA_REMEDY_RESUME)
        return resume(x);
    if (r == DARUMA_REMEDY_CHANGE_API) {
        session_api_change(x);
        return SESSION_MEND_SEND;
    }
    bool messages = r == DARUMA_REMEDY_MEND_MESSAGES || r == DARUMA_REMEDY_REPAIR_HISTORY;
    if (r == DARUMA_REMEDY_MEND_PARAMETER && betas_mend(x))
        return SESSION_MEND_SEND;
    if (r == DARUMA_REMEDY_MEND_PARAMETER && mended_unlearn(x))
        return SESSION_MEND_SEND;
    if (messages && mended_unlearn_habits(x))
        return SESSION_MEND_SEND;
    if (messages && x->p != x->d && mended_moved_habits(x))
        return SESSION_MEND_SEND;
    if (r == DARUMA_REMEDY_MEND_PARAMETER && x->p != x->d)
        return mended_moved_learn(x) ? SESSION_MEND_SEND : SESSION_MEND_UNFIT;
    if (r == DARUMA_REMEDY_SUMMARISE && h->past.policy.summarize_on_compress && !h->past.policy.side_calls) {
        session_mend_tell(x, DARUMA_WHEN_BROKE, r, &h->past.m.report); /* nobody may be asked */
        return SESSION_MEND_UNFIT;
    }
    history_task *t = plan(x, &session_last(x)->failure, &r, 1);
    if (x->p != x->d) {
        t->sent_d = x->p;
        t->sent = x->moved && (messages || r == DARUMA_REMEDY_SHRINK_REQUEST) ? x->moved->body : (daruma_str){0};
    }
    return run_work(x);
}

/* ---- before it goes out ---- */

/* Is the request known to be too long for the target at hand? In bytes, which cost nothing; w->f says it as the
 * provider would. */
static bool too_long(const session *x, history_task *w)
{
    int64_t used = mul_sat((int64_t)x->out.body.n, 1000) / w->to.rate, refused = (int64_t)mended_refused(x);
    if (w->to.window > 0) {
        w->f.limit = w->to.window;
        w->f.used = used;
        return history_is_long(w, used, x->out.scan.max_output);
    }
    return refused && (int64_t)x->out.body.n > refused * REFUSED_NEAR_PERCENT / 100;
}

/* Another target with more room is worth more than a summary: it is found when this one has refused. */
static bool wider_elsewhere(const session *x)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (x->targets[i].window > 0 && x->targets[i].window > session_mend_window(x))
            return true;
    return false;
}

bool session_mend_fits(session *x)
{
    static const daruma_failure overflow = {
        .kind = DARUMA_CONTEXT_LENGTH, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    static const daruma_remedy_kind steps[] = {DARUMA_REMEDY_CLAMP_OUTPUT, DARUMA_REMEDY_MASK_TOOL_OUTPUT,
                                               DARUMA_REMEDY_COMPACT, DARUMA_REMEDY_SUMMARISE};
    _Static_assert(COUNT(steps) <= HISTORY_STEPS_MAX, "the work has no room for them");
    if (!steer_ready(x))
        return false;
    const daruma_policy *p = x->kase.policy;
    bool first = !x->weighed && !session_last(x)->failure.kind;
    x->weighed = true;
    if (!first || !x->kase.can_mend || is_stuck(x) || !p->enabled || !p->mend.enabled || p->mend.sends_any)
        return true;
    /* Nothing is made for a request that is short enough, which is most of them; one that names no cap takes no room
     * for it from anybody's window. */
    history_task look = {.f = overflow,
                         .to = {.window = session_mend_window(x),
                                .shares_none = x->out.scan.max_output > 0 && session_mend_shares_none(x),
                                .rate = memory_rate(x->v->mem, session_counted(x))}};
    if (!too_long(x, &look) || !session_mend_can(x))
        return true;
    bool asks = p->mend.side_calls && !wider_elsewhere(x); /* the last two ask a model */
    history_task *w = plan(x, &look.f, steps, asks ? 4 : 2);
    w->ahead = w->weighs = true;
    return run_work(x) != SESSION_MEND_WAITS; /* where nothing helps the provider has the last word */
}

/* ---- what a model was asked on the side ---- */

void session_mend_answer(session *x, size_t i, daruma_str text)
{
    session_mending *h = x->h;
    if (steer_answer(x, text))
        return;
    if (h->apologises)
        h->apology = text;
    else
        mending_answer(&h->past.m, i, text);
}

void session_mend_asked(session *x)
{
    session_mending *h = x->h;
    if (steer_asked(x))
        return;
    if (h->apologises) {
        finish_apology(x, h->apology);
        return;
    }
    go_on_with(x, run_work(x));
}

bool session_mend_apologise(session *x)
{
    session_mending *h = session_mend_of(x);
    mend_question *q = ARENA_NEW(x->arena, mend_question, 1);
    if (!h || !q)
        return false;
    h->apologises = true;
    *q = (mend_question){.system = mend_apology_system(),
                         .user = mend_apology_prompt(&session_last(x)->failure, x->arena),
                         .about = S("apology")};
    return side_ask(x, q, 1, APOLOGY_TOKENS);
}

/* ---- broken answers ---- */

void session_mend_bad_answer(session *x, const turn *bad, daruma_str why)
{
    session_mending *h = session_mend_of(x);
    if (h)
        history_bad_answer(&h->past, bad, why, x->arena);
}

void session_mend_gone(session *x)
{
    side_cancel(x);
    if (x->h)
        history_end(&x->h->past);
}
