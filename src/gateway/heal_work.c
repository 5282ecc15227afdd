/* heal_work.c - carries remedies out on the conversation of a request, on the loop or, where it is large, on another
 * thread. The engine's mend room knows how; here is when, on what, and what is remembered of it.
 *
 *   exchange_failed -> heal_apply --- HEAL_SEND: x->body is the mended request
 *                          |   \----- HEAL_UNFIT: the next rung
 *                          +--------- HEAL_WAITS: side.c asks a model -> heal_answer* -> heal_asked -> exchange_mended
 *
 * Stages add up: what was masked stays masked when a summary has to help as well; but nothing is sent that does not fit
 * by our own estimate. */
#include "gateway/heal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/job.h"
#include "sys/sys.h"
#include <stdlib.h>

/* ---- each remedy ---- */

/* A request that is to go on with an answer, and what the client has of that one: a copy, since this is perhaps done on
 * another thread. */
typedef struct onward {
    const dialect *d;
    daruma_str of; /* each time the request as it was: what the client has grows from cut to cut */
    size_t read_bytes_max;
    mend_share beside;
    bool prefills; /* the target may go on from a begun answer */
    /* came of it */
    mend_going how;
    mend_report report;
    request_text *made; /* NULL: `of` as it is, or it cannot be written */
    bool good;
    request_scan scan;
    size_t nsaid;
    char said[];
} onward;

static void write_onward(onward *w, convo *c)
{
    daruma_arena room;
    if (w->prefills && w->how == GOING_ANCHORED && mend_can_prefill(c))
        w->how = GOING_PREFILLED;
    if (!mend_continue(c, (daruma_str){w->said, w->nsaid}, w->how, &w->report))
        return;
    if (w->beside.limit > 0)
        mend_cap_beside(c, w->beside, &w->report);
    if (!sys_arena_init(&room, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX))
        return;
    daruma_buf b = buf_in(&room);
    w->d->write(c, &b);
    w->made = c->full || b.full ? NULL : text_new(buf_str(&b));
    w->good = w->made != NULL;
    sys_arena_done(&room);
}

static void make_onward(void *data)
{
    onward *w = data;
    convo c;
    daruma_arena room;
    w->good = !w->nsaid;
    if (w->nsaid && sys_arena_init(&room, HEAL_BYTES_USUAL, w->read_bytes_max)) {
        if (w->d->read(w->of, &room, &c) == DARUMA_OK) {
            sys_arena_widen(&room, MEND_ARENA_BYTES_MAX);
            write_onward(w, &c);
        }
        sys_arena_done(&room);
    }
    if (w->good)
        w->scan = w->d->scan(w->made ? text_str(w->made) : w->of, NULL);
}

/* `begun_for_it`: the answer may be begun for the target `to`. NULL without memory. */
static onward *new_onward(exchange *x, int to, bool begun_for_it)
{
    heal *h = x->h;
    daruma_str said = talk_said(x);
    onward *w = malloc(sizeof *w + said.n);
    if (!w)
        return NULL;
    *w = (onward){.d = x->d,
                  .of = h->resume_of.n ? h->resume_of : x->body,
                  .read_bytes_max = MEND_ARENA_BYTES_MAX,
                  .beside = heal_room_beside(x),
                  .prefills = begun_for_it && !h->no_prefill && (exchange_dialect(x, to)->quirks & WIRE_PREFILL) &&
                              memory_prefills(x->g->mem, x->targets[to].lane_id),
                  .how = h->going,
                  .nsaid = said.n};
    if (said.n)
        memcpy(w->said, said.p, said.n);
    return w;
}

static heal_onward take_onward(exchange *x, onward *w)
{
    heal_onward o = {.of = w->of, .body = w->of, .scan = w->scan, .how = w->how};
    if (w->made)
        o.body = exchange_own(x, w->made);
    w->made = NULL;
    return o;
}

static void drop_onward(void *data)
{
    onward *w = data;
    texts_free(w->made);
    free(w);
}

/* Can the request be gone on with? */
static bool can_go_on(exchange *x)
{
    return talk_was_cut(x) && heal_can(x);
}

bool heal_go_on(exchange *x, int to, heal_onward *ret)
{
    onward *w = can_go_on(x) && x->body.n <= LOOP_BYTES_MAX ? new_onward(x, to, false) : NULL;
    if (!w)
        return false;
    w->read_bytes_max = LOOP_READ_BYTES_MAX;
    make_onward(w);
    bool good = w->good;
    if (good)
        *ret = take_onward(x, w);
    drop_onward(w);
    return good;
}

void heal_goes_on(exchange *x, const heal_onward *o)
{
    heal *h = x->h;
    h->resume_of = o->of;
    h->prefilled = o->how == GOING_PREFILLED;
    talk_join_next(x, o->how);
    heal_use(x, o->body, &o->scan);
}

static heal_result resumed(exchange *x, onward *w)
{
    heal *h = x->h;
    bool good = w->good;
    if (good) {
        heal_onward o = take_onward(x, w);
        heal_goes_on(x, &o);
        h->m.from = h->m.to = (daruma_str){0};
        heal_tell(x, DARUMA_WHEN_MENDED, DARUMA_REMEDY_RESUME, &w->report);
    }
    drop_onward(w);
    return good ? HEAL_SEND : HEAL_UNFIT;
}

static void then_onward(exchange *x, void *data)
{
    exchange_mended(x, resumed(x, data) == HEAL_SEND);
}

static heal_result resume(exchange *x)
{
    static const job_kind onwards = {.work = make_onward, .then = then_onward, .drop = drop_onward};
    heal *h = x->h;
    if (!can_go_on(x))
        return HEAL_UNFIT;
    if (x->failure.kind == DARUMA_MALFORMED_OUTPUT && h->m.bad)
        return HEAL_UNFIT; /* what it called was wrong, not cut: it was asked again as often as it may */
    if (talk_unsure(x))    /* what it was asked was answered with something else */
        h->going = h->going == GOING_FROM_BEFORE ? GOING_ANCHORED : GOING_FROM_BEFORE;
    onward *w = new_onward(x, x->kase.want >= 0 ? x->kase.want : x->kase.target, true);
    if (!w)
        return HEAL_UNFIT;
    return job_run(x, w->of.n, &onwards, w) ? resumed(x, w) : HEAL_WAITS;
}

bool heal_is(daruma_remedy_kind r)
{
    return mending_is(r) || steer_is(r) || r == DARUMA_REMEDY_RESUME;
}

void heal_learns_of(heal *h, uint64_t lane)
{
    if (h->lesson_lane == lane)
        return;
    h->lesson_lane = lane;
    h->nlessons = 0; /* that they help another one was never seen */
    h->format = FORMAT_UNSAID;
}

void heal_lesson(exchange *x, const mend_lesson *l)
{
    heal *h = x->h;
    heal_learns_of(h, x->targets[x->kase.target].lane_id);
    if (h->nlessons && strcmp(h->lessons[h->nlessons - 1].path, l->path) != 0)
        mended_learn(x);
    if (h->nlessons < HEAL_LESSONS_MAX)
        h->lessons[h->nlessons++] = *l;
}

/* A conversation that stayed too long again and again is not worked on for ever: each time costs calls. */
static bool is_stuck(exchange *x)
{
    return x->scan.conversation && memory_stuck(x->g->mem, exchange_session(x)) >= STUCK_MAX;
}

void heal_gave_up(exchange *x)
{
    const heal *h = x->h;
    if (h && h->nlessons && x->p == x->d && heal_open(x) &&
        mend_lesson_held(&h->m.c, &h->lessons[h->nlessons - 1], &x->failure))
        mended_learn(x); /* it ran out of what it may mend, the next request begins further on */
    bool worked_on = x->kase.shrinks || (x->h && x->h->m.shortened);
    if (x->failure.kind == DARUMA_CONTEXT_LENGTH && worked_on && x->scan.conversation)
        memory_stuck_set(x->g->mem, exchange_session(x), memory_stuck(x->g->mem, exchange_session(x)) + 1);
}

/* ---- the work on it: on the loop, or on another thread ---- */

/* Tokens of the window that the output cap takes. */
static int64_t beside(const heal_work *w, int64_t cap)
{
    int64_t half = w->window / 2;
    return cap < 0 ? 0 : w->shares_none && cap > half ? half : cap;
}

/* Media are many bytes and few tokens: what was read is counted by our estimate, as the provider's count scales it. */
static bool too_long_indeed(heal *h)
{
    heal_work *w = &h->work;
    if (w->f.limit < 0)
        return true;
    int64_t tokens = convo_tokens(&h->m.c);
    w->f.used = w->scale ? mul_sat(tokens, w->scale) / 1000 : mul_sat(tokens, ESTIMATE_RATE) / w->rate;
    return w->f.used > w->f.limit * WINDOW_NEAR_PERCENT / 100 - beside(w, h->m.c.set.max_output);
}

/* Each remedy goes through all of it a few times. */
static bool spend(heal *h)
{
    const convo *c = &h->m.c;
    h->nodes += c->ntools + c->nmessages;
    for (size_t i = 0; i < c->nmessages; i++)
        h->nodes += c->messages[i].nparts;
    if (h->nodes > MEND_NODES_MAX)
        heal_give_up(h);
    return h->read;
}

static mending_result work_step(heal *h, daruma_remedy_kind r)
{
    heal_work *w = &h->work;
    daruma_failure f = w->f;
    if (r == DARUMA_REMEDY_CLAMP_OUTPUT && w->weighs) { /* is it the output cap alone that is too much? */
        if (f.limit < 0 || w->shares_none)
            return MENDING_UNFIT;
        f.used = mul_sat(f.used, 100) / WINDOW_NEAR_PERCENT;
    }
    return mending_begin(&h->m, r, &f, w->window);
}

/* What was shortened is noted where it cannot be seen any more when the request succeeds. */
static void note_shortened(heal *h)
{
    daruma_arena room;
    convo before;
    size_t bytes = mend_known_room(&h->m.c);
    if (!h->m.shortened || h->again || !heal_is_much(h, h->from.n) ||
        !sys_arena_init(&room, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX))
        return;
    sys_arena_done(&h->learned_room);
    h->learned = sys_arena_init(&h->learned_room, mend_known_bytes(bytes), mend_known_bytes(bytes))
                     ? mend_known_new(&h->learned_room, bytes)
                     : NULL;
    if (h->learned && h->d->read(h->from, &room, &before) == DARUMA_OK)
        mend_known_learn(h->learned, h->work.tenant, &before, &h->m.c);
    sys_arena_done(&room);
}

static void work(void *data)
{
    heal *h = data;
    heal_work *w = &h->work;
    w->result = MENDING_UNFIT;
    if (w->ends) {
        w->result = mending_end(&h->m);
    } else {
        if (!heal_read(h, w->body))
            return;
        if (w->facts && !w->at)
            mended_do(w->facts, &h->m.c);
        if (w->weighs && !w->at && !too_long_indeed(h))
            return;
        while (w->result == MENDING_UNFIT && w->at < w->nsteps && spend(h)) {
            w->did = w->steps[w->at++];
            w->result = work_step(h, w->did);
            if (h->m.c.full)
                heal_give_up(h);
        }
    }
    if (!h->read)
        w->result = MENDING_UNFIT;
    if (w->result != MENDING_DONE)
        return;
    if (h->m.doing == DARUMA_REMEDY_ASK_AGAIN && w->beside.limit > 0)
        mend_cap_beside(&h->m.c, w->beside, &h->m.report);
    w->made = heal_written(h, &w->scan);
    if (w->made)
        note_shortened(h);
    else
        w->result = MENDING_UNFIT;
}

/* The conversation is mended: it is what is sent from here on. */
static void mended_so(exchange *x)
{
    heal *h = x->h;
    mending *m = &h->m;
    heal_take(x, h->work.made, &h->work.scan);
    h->work.made = NULL;
    if (h->work.facts && h->work.ahead) /* else it was told when it went out so */
        mended_did(x, x->kase.target, h->work.facts);
    if (m->taught)
        heal_lesson(x, &m->lesson);
    if (m->doing == DARUMA_REMEDY_LOWER_FORMAT) {
        heal_learns_of(h, x->targets[x->kase.target].lane_id);
        h->format = mend_format_lasts(&h->work.f) ? m->c.set.format : FORMAT_UNSAID;
    }
    if (!x->failure.kind) /* ahead of any call; else it counts when its call goes out */
        daruma_case_did(&x->kase, m->doing);
    heal_tell(x, DARUMA_WHEN_MENDED, m->doing, &m->report);
}

static heal_result run_work(exchange *x);

/* What came of the work. */
static heal_result work_done(exchange *x)
{
    heal *h = x->h;
    heal_work *w = &h->work;
    heal_tell_limits(x);
    if (w->ahead && w->result != MENDING_UNFIT)
        x->remedy = (daruma_remedy){.remedy = w->did, .act = DARUMA_SEND, .target = x->kase.target};
    if (w->ahead && !w->ends)
        x->g->counts.remedies[w->did] += w->result != MENDING_UNFIT;
    if (w->result == MENDING_ASKS) {
        bool ended = w->ends;
        w->ends = true; /* the next is what is made of the answers */
        if (side_ask(x, h->m.questions, h->m.nquestions, h->m.answer_tokens))
            return HEAL_WAITS;
        if (ended)
            return HEAL_UNFIT;
        heal_tell(x, DARUMA_WHEN_BROKE, w->did, &h->m.report);
        return run_work(x); /* as if all had failed */
    }
    if (w->result == MENDING_DONE) {
        mended_so(x);
        return HEAL_SEND;
    }
    if (!w->ends || w->at == w->nsteps || !h->read)
        return HEAL_UNFIT;
    w->ends = false; /* what a model was asked about did not help: the rest is tried */
    return run_work(x);
}

/* The request, or the rung of the ladder, goes on. */
static void go_on_with(exchange *x, heal_result r)
{
    if (r == HEAL_WAITS)
        return;
    if (x->h->work.ahead)
        exchange_fitted(x);
    else
        exchange_mended(x, r == HEAL_SEND);
}

static void work_then(exchange *x, void *data)
{
    (void)data;
    go_on_with(x, work_done(x));
}

static void work_drop(void *data)
{
    (void)data; /* heal_free() has what it made */
}

static heal_result run_work(exchange *x)
{
    static const job_kind mending_work = {.work = work, .then = work_then, .drop = work_drop};
    return job_run(x, x->body.n, &mending_work, x->h) ? work_done(x) : HEAL_WAITS;
}

static heal_work *plan(exchange *x, const daruma_failure *f, const daruma_remedy_kind *steps, size_t n)
{
    heal_work *w = &x->h->work;
    uint64_t whose = exchange_counted(x);
    *w = (heal_work){.nsteps = n,
                     .body = x->body,
                     .f = *f,
                     .tenant = exchange_tenant(x),
                     .window = heal_window(x),
                     .shares_none = heal_shares_none(x),
                     .rate = memory_rate(x->g->mem, whose),
                     .scale = memory_scale(x->g->mem, whose),
                     .beside = heal_room_beside(x)};
    memcpy(w->steps, steps, n * sizeof *steps);
    if (x->p == x->d && mended_knows(x, x->kase.target) && (w->facts = ARENA_NEW(x->c->arena, mended_facts, 1)))
        mended_know(x, x->kase.target, w->facts);
    return w;
}

heal_result heal_apply(exchange *x, daruma_remedy_kind r)
{
    if (!heal_can(x) || (heal_shortens(r) && is_stuck(x)))
        return HEAL_UNFIT;
    heal *h = x->h;
    if (steer_is(r))
        return heal_open(x) ? steer_apply(x, r) : HEAL_UNFIT;
    if (r == DARUMA_REMEDY_RESUME)
        return resume(x);
    if (r == DARUMA_REMEDY_MEND_PARAMETER && mended_unlearn(x))
        return HEAL_SEND;
    if (r == DARUMA_REMEDY_MEND_PARAMETER && x->p != x->d)
        return mended_moved_learn(x) ? HEAL_SEND : HEAL_UNFIT;
    h->m.last = r == DARUMA_REMEDY_COMPACT || !h->policy.side_calls;
    if (r == DARUMA_REMEDY_SUMMARISE && h->policy.summarize_on_compress && !h->policy.side_calls) {
        heal_tell(x, DARUMA_WHEN_BROKE, r, &h->m.report); /* nobody may be asked */
        return HEAL_UNFIT;
    }
    plan(x, &x->failure, &r, 1);
    return run_work(x);
}

/* ---- before it goes out ---- */

/* Is the request known to be too long for the target at hand? In bytes, which cost nothing; w->f says it as the
 * provider would. */
static bool too_long(const exchange *x, heal_work *w)
{
    int64_t used = mul_sat((int64_t)x->body.n, 1000) / w->rate, refused = (int64_t)mended_refused(x);
    if (w->window > 0) {
        w->f.limit = w->window;
        w->f.used = used;
        return used > w->window * WINDOW_NEAR_PERCENT / 100 - beside(w, x->scan.max_output);
    }
    return refused && (int64_t)x->body.n > refused * REFUSED_NEAR_PERCENT / 100;
}

/* Another target with more room is worth more than a summary: it is found when this one has refused. */
static bool wider_elsewhere(const exchange *x)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (x->targets[i].window > 0 && x->targets[i].window > heal_window(x))
            return true;
    return false;
}

bool heal_fits(exchange *x)
{
    static const daruma_failure overflow = {
        .kind = DARUMA_CONTEXT_LENGTH, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    static const daruma_remedy_kind steps[] = {DARUMA_REMEDY_CLAMP_OUTPUT, DARUMA_REMEDY_MASK_TOOL_OUTPUT,
                                               DARUMA_REMEDY_COMPACT, DARUMA_REMEDY_SUMMARISE};
    _Static_assert(sizeof steps / sizeof *steps <= HEAL_STEPS_MAX, "the work has no room for them");
    if (!steer_ready(x))
        return false;
    const daruma_policy *p = x->kase.policy;
    bool first = !x->weighed && !x->failure.kind;
    x->weighed = true;
    if (!first || !x->kase.can_mend || is_stuck(x) || !p->enabled || !p->mend.enabled || p->mend.sends_any)
        return true;
    /* Nothing is made for a request that is short enough, which is most of them. */
    heal_work look = {.f = overflow,
                      .window = heal_window(x),
                      .shares_none = heal_shares_none(x),
                      .rate = memory_rate(x->g->mem, exchange_counted(x))};
    if (!too_long(x, &look) || !heal_can(x))
        return true;
    bool asks = p->mend.side_calls && !wider_elsewhere(x); /* the last two ask a model */
    heal_work *w = plan(x, &look.f, steps, asks ? 4 : 2);
    w->ahead = w->weighs = true;
    x->h->m.last = false;
    return run_work(x) != HEAL_WAITS; /* where nothing helps the provider has the last word */
}

/* ---- what a model was asked on the side ---- */

void heal_answer(exchange *x, size_t i, daruma_str text)
{
    heal *h = x->h;
    if (steer_answer(x, text))
        return;
    if (h->apologises)
        h->apology = text;
    else
        mending_answer(&h->m, i, text);
}

void heal_asked(exchange *x)
{
    heal *h = x->h;
    if (steer_asked(x))
        return;
    if (h->apologises) {
        finish_apology(x, h->apology);
        return;
    }
    go_on_with(x, run_work(x));
}

bool heal_apologise(exchange *x)
{
    heal *h = heal_of(x);
    mend_question *q = ARENA_NEW(x->c->arena, mend_question, 1);
    if (!h || !q)
        return false;
    h->apologises = true;
    *q = (mend_question){.system = mend_apology_system(), .user = mend_apology_prompt(&x->failure, x->c->arena)};
    return side_ask(x, q, 1, APOLOGY_TOKENS);
}

/* ---- broken answers ---- */

static convo_part *copy_parts(exchange *x, const turn *t)
{
    daruma_arena *a = x->c->arena;
    convo_part *p = ARENA_NEW(a, convo_part, t->message.nparts + 1);
    for (size_t i = 0; p && i < t->message.nparts; i++) {
        const convo_part *o = &t->message.parts[i];
        p[i] = (convo_part){.kind = o->kind,
                            .ready = true,
                            .failed = o->failed,
                            .dropped = o->dropped || (o->kind != PART_TEXT && o->kind != PART_CALL),
                            .id = arena_copy(a, o->id),
                            .name = arena_copy(a, o->name),
                            .text = arena_copy(a, o->text)};
    }
    return p;
}

void heal_bad_answer(exchange *x, const turn *bad, daruma_str why)
{
    heal *h = heal_of(x);
    turn *t = ARENA_NEW(x->c->arena, turn, 1);
    if (!h || !t)
        return;
    t->message.role = CONVO_ASSISTANT;
    t->message.parts = copy_parts(x, bad);
    t->message.nparts = t->message.parts ? bad->message.nparts : 0;
    t->finish = bad->finish;
    t->usage = TURN_USAGE_NONE;
    h->m.bad = t;
    h->m.bad_why = arena_copy(x->c->arena, why);
}

void heal_gone(exchange *x)
{
    side_cancel(x);
    if (x->h)
        heal_free(x->h);
}
