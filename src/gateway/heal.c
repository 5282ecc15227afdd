/* heal.c - carries remedies out on the conversation of a request. The engine's mend room knows how; here is when, on
 * what, and what is remembered of it.
 *
 *   exchange_failed -> heal_apply --- HEAL_SEND: x->body is the mended request
 *                          |   \----- HEAL_UNFIT: the next rung
 *                          +--------- HEAL_WAITS: side.c asks a model -> heal_answer* -> heal_asked -> exchange_mended
 *
 * A request is read when something failed, not before. Stages add up: what was masked stays masked when a summary has
 * to help as well; but nothing is sent that does not fit by our own estimate. */
#include "gateway/heal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/job.h"
#include "sys/sys.h"

/* ---- the conversation at hand ---- */

heal *heal_of(exchange *x)
{
    heal *h = x->h;
    if (h || !(h = x->h = ARENA_NEW(x->c->arena, heal, 1)))
        return h;
    h->d = x->d;
    h->policy = x->kase.policy->mend;
    if (x->s->cfg.orphans != ORPHANS_PROFILE) {
        h->policy.prune_orphans = x->s->cfg.orphans == ORPHANS_PRUNE;
        h->policy.prunes_only = false;
    }
    h->m.policy = &h->policy;
    return h;
}

bool heal_can(exchange *x)
{
    heal *h = heal_of(x);
    return h && !h->unread && x->d && !x->opaque && x->scan.ok && x->body.n;
}

/* What was read goes; what remedies remember of it beside its messages stays. */
static void put_away(heal *h)
{
    h->read = false;
    h->m.c = (convo){0};
    h->m.from = h->m.to = (daruma_str){0};
    h->m.unsent = false;
    h->m.questions = NULL;
    h->m.nquestions = 0;
    h->m.large = NULL;
    sys_arena_done(&h->own);
}

static void give_up(heal *h)
{
    put_away(h);
    h->unread = h->too_much = true;
}

bool heal_read(heal *h, daruma_str body)
{
    if (h->read || h->unread)
        return h->read;
    if (!sys_arena_init(&h->own, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX)) {
        give_up(h);
        return false;
    }
    daruma_status s = h->d->read(body, &h->own, &h->m.c);
    if (s == DARUMA_EFULL) {
        give_up(h);
        return false;
    }
    h->read = s == DARUMA_OK;
    h->unread = !h->read;
    h->again |= h->from.n > 0;
    if (!h->from.n)
        h->from = body;
    return h->read;
}

bool heal_open(exchange *x)
{
    if (!heal_can(x))
        return false;
    if (!x->h->read && x->body.n > LOOP_BYTES_MAX)
        x->h->too_much = true;
    else
        heal_read(x->h, x->body);
    heal_tell_limits(x);
    return x->h->read;
}

void heal_tell_limits(exchange *x)
{
    heal *h = x->h;
    if (!h || !h->too_much || h->told)
        return;
    h->told = true;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "mending_given_up";
    e.reason = S("the request is too large for what was to be mended in it: it stays as it was");
    exchange_event(x, &e);
}

/* Is what was read too much to be kept while a provider thinks? */
static bool is_much(const heal *h, size_t bytes)
{
    return sys_arena_bytes(&h->own) > HEAL_KEPT_BYTES && sys_arena_bytes(&h->own) > bytes * HEAL_KEPT_TIMES;
}

void heal_rest(exchange *x)
{
    heal *h = x->h;
    exchange_sweep(x);
    if (h && h->read && is_much(h, h->from.n))
        put_away(h);
}

void heal_free(heal *h)
{
    texts_free(h->work.made);
    h->work.made = NULL;
    h->learned = NULL;
    sys_arena_done(&h->learned_room);
    sys_arena_done(&h->own);
}

const convo *heal_tools(exchange *x)
{
    heal *h = heal_of(x);
    daruma_str raw = x->scan.tools_raw;
    if (!h || !raw.n)
        return NULL;
    if (raw.n > LOOP_BYTES_MAX) { /* they are read on the loop */
        h->too_much = true;
        heal_tell_limits(x);
        return NULL;
    }
    if (!h->tools_read) {
        h->tools_read = true;
        if (dialect_read_tools(x->d, raw, x->c->arena, &h->tools) != DARUMA_OK)
            h->tools.ntools = 0;
    }
    for (size_t i = 0; i < h->tools.ntools; i++)
        if (!h->tools.tools[i].name.n && !h->tools.tools[i].hosted)
            return NULL; /* a tool that we cannot name: any call may be to it */
    return h->tools.ntools ? &h->tools : NULL;
}

const convo *heal_format(exchange *x)
{
    heal *h = heal_of(x);
    daruma_str raw = x->scan.format_raw;
    if (!h || !raw.n || raw.n > LOOP_BYTES_MAX)
        return NULL;
    if (!h->wanted_read) {
        h->wanted_read = true;
        if (dialect_read_format(x->d, raw, x->c->arena, &h->wanted) != DARUMA_OK)
            h->wanted.set.format = FORMAT_UNSAID;
    }
    return h->wanted.set.format == FORMAT_SCHEMA || h->wanted.set.format == FORMAT_JSON ? &h->wanted : NULL;
}

bool heal_unfit(exchange *x)
{
    heal *h = heal_of(x);
    bool first = h && !h->unfit;
    if (h)
        h->unfit = true;
    return first;
}

bool heal_was_unfit(const exchange *x)
{
    return x->h && x->h->unfit;
}

/* From here on this is what is sent. What a scan says of the client's wishes stays. */
static void use(exchange *x, daruma_str body, const request_scan *scan)
{
    request_scan was = x->scan;
    x->body = body;
    x->edition = ++x->editions;
    x->scan = *scan;
    x->scan.model = was.model;
    x->scan.stream = was.stream;
    x->scan.tools_raw = was.tools_raw; /* calls are held against the tools as the client has them */
    x->scan.schema = was.schema;       /* and answers against the format it asked for */
    x->scan.format_raw = was.format_raw;
    x->scan.conversation = was.conversation;
}

void heal_use(exchange *x, daruma_str body)
{
    request_scan scan = x->d->scan(body, NULL);
    use(x, body, &scan);
}

request_text *heal_written(heal *h, request_scan *ret)
{
    daruma_arena room;
    request_text *made = NULL;
    if (!h->m.c.full && sys_arena_init(&room, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX)) {
        daruma_buf b = buf_in(&room);
        h->d->write(&h->m.c, &b);
        if (!h->m.c.full && !b.full)
            made = text_new(buf_str(&b));
        sys_arena_done(&room);
    }
    if (!made) {
        give_up(h);
        return NULL;
    }
    h->tokens = h->m.c.before ? 0 : convo_tokens(&h->m.c);
    *ret = h->d->scan(text_str(made), NULL);
    return made;
}

void heal_take(exchange *x, request_text *made, const request_scan *scan)
{
    x->h->resume_of = (daruma_str){0};
    use(x, exchange_own(x, made), scan);
}

bool heal_write(exchange *x)
{
    request_scan scan;
    request_text *made = heal_written(x->h, &scan);
    heal_tell_limits(x);
    if (made)
        heal_take(x, made, &scan);
    return made != NULL;
}

/* Tokens of the target's context window, as configured or learned; -1 unknown. */
static int64_t window_of(const exchange *x)
{
    if (x->kase.target < 0)
        return -1;
    const daruma_target *t = &x->targets[x->kase.target];
    return t->window > 0 ? t->window : memory_window(x->g->mem, t->lane_id);
}

/* Google's windows are of the input alone. */
static bool shares_none(const exchange *x)
{
    return exchange_dialect(x, x->kase.target)->quirks & WIRE_NO_IDS;
}

/* What is added to a request that filled its window is taken off the output cap; limit 0: it is not. */
static mend_share room_beside(const exchange *x)
{
    int64_t window = window_of(x);
    if (window <= 0 || shares_none(x) || x->kase.policy->mend.sends_any)
        return (mend_share){0};
    int64_t rate = memory_rate(x->g->mem, exchange_counted(x));
    return (mend_share){window, ESTIMATE_RATE * 1000 / rate};
}

/* ---- what the provider did not say ---- */

/* An estimate that needs no reading: bytes by 3.5 to a token. */
static int64_t rough_tokens(const exchange *x)
{
    return (int64_t)(x->body.n / 7 * 2);
}

bool heal_window_full(exchange *x, daruma_str finish, int64_t input_tokens, bool content)
{
    if (!x->kase.can_mend || x->kase.target < 0)
        return false;
    int64_t window = window_of(x), told = x->targets[x->kase.target].window;
    if (told > 0 && input_tokens > told)
        return true; /* accepted, and cut to fit without a word */
    turn_finish why = x->p->finish(finish);
    if (content || window <= 0 || (why != FINISH_LENGTH && why != FINISH_WINDOW))
        return false;
    return input_tokens > 0 ? input_tokens >= window / 100 * 99 : rough_tokens(x) >= window / 5 * 4;
}

static void becomes(daruma_failure *f, daruma_kind k)
{
    f->kind = k;
    f->severity = daruma_kind_severity(k);
    f->retryable = daruma_kind_passes(k);
}

/* Can the request have filled the window that the refusal names? Words that speak of a window prove none: they may be
 * somebody's, quoted. */
static bool fills(const exchange *x, const daruma_failure *f)
{
    int64_t bytes = (int64_t)(x->moved ? x->moved->body.n : x->body.n), cap = x->scan.max_output;
    return !f->hearsay && f->limit >= WINDOW_LEARNED_MIN && f->limit <= WINDOW_LEARNED_MAX &&
           add_sat(bytes / WINDOW_BYTES_MIN, cap > 0 ? cap : 0) >= f->limit;
}

void heal_reconsider(exchange *x, daruma_failure *f)
{
    if (!x->kase.can_mend || x->kase.target < 0)
        return;
    const daruma_target *t = &x->targets[x->kase.target];
    bool refused = f->status == 400 || f->status == 422;
    if (x->h && x->h->prefilled && refused && x->forwarded) { /* the model does not go on from a begun answer */
        x->h->no_prefill = true;
        memory_prefill_refused(x->g->mem, t->lane_id);
        memory_learned(x->g->mem, t, x->kase.id, gateway_now(x->g).now);
        becomes(f, DARUMA_INTERRUPTED);
    }
    bool too_long = f->kind == DARUMA_CONTEXT_LENGTH && f->status != 429;
    if (too_long && fills(x, f) && memory_window_put(x->g->mem, t->lane_id, f->limit))
        memory_learned(x->g->mem, t, x->kase.id, gateway_now(x->g).now);
    if (too_long && x->p == x->d && f->used > 0 && (f->used > f->limit || f->requested > f->limit))
        memory_rate_put(x->g->mem, exchange_counted(x), x->body.n, f->used);
    if (too_long && f->limit <= 0 && window_of(x) <= 0)
        mended_refuse(x, x->body.n);
    int64_t window = window_of(x);
    bool wordless = !x->failed_body.n && (f->status == 400 || f->status == 413);
    if (wordless && f->kind != DARUMA_CONTEXT_LENGTH && window > 0 && rough_tokens(x) >= window / 5 * 4)
        becomes(f, DARUMA_CONTEXT_LENGTH);
    if (f->kind == DARUMA_MALFORMED_OUTPUT && x->h && x->h->m.bad) {
        daruma_kind circle;
        f->message = x->h->m.bad_why;
        if (steer_refused(x, &circle))
            becomes(f, circle);
    }
}

/* ---- telling ---- */

static bool shortens(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_MASK_TOOL_OUTPUT || r == DARUMA_REMEDY_SUMMARISE || r == DARUMA_REMEDY_COMPACT;
}

/* `when`: MENDED or BROKE. */
static void tell(exchange *x, daruma_when when, daruma_remedy_kind r, const mend_report *rep)
{
    const mending *m = &x->h->m;
    daruma_event e = DARUMA_EVENT_INIT;
    bool shorter = shortens(r) || r == DARUMA_REMEDY_SHRINK_REQUEST;
    if (when == DARUMA_WHEN_MENDED && x->failure.kind)
        exchange_tell_begin(x);
    e.failure = x->failure.kind ? &x->failure : NULL;
    e.remedy = &x->remedy;
    if (!daruma_event_when(&e, when, &x->kase))
        return;
    e.what = str_of(rep->what);
    if (when == DARUMA_WHEN_BROKE)
        e.mend_error = S("No LLM client available for compression");
    if (shorter) {
        e.steps_compressed = rep->parts_shortened;
        e.original_size = m->original_chars;
        e.compressed_size = m->compressed_chars;
    }
    if (r == DARUMA_REMEDY_REPAIR_HISTORY) {
        e.pruned_count = rep->calls_dropped ? (int64_t)rep->calls_dropped : -1;
        e.answered_count = rep->calls_answered ? (int64_t)rep->calls_answered : -1;
        e.original_error = x->failure.message;
    }
    e.from = m->from;
    e.to = m->to;
    exchange_event(x, &e);
}

/* ---- each remedy ---- */

/* Each time from the request as it was: what the client has grows from cut to cut. */
static bool go_on(exchange *x, int to, bool begun_for_it, mend_report *rep, heal_onward *ret)
{
    heal *h = x->h;
    convo c;
    daruma_arena room;
    bool begins = begun_for_it && (exchange_dialect(x, to)->quirks & WIRE_PREFILL), good = false;
    daruma_str of = h->resume_of.n ? h->resume_of : x->body, so_far = talk_said(x);
    *ret = (heal_onward){.of = of, .body = of, .how = h->going};
    if (!so_far.n)
        return true;
    if (!sys_arena_init(&room, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX))
        return false;
    if (x->d->read(of, &room, &c) == DARUMA_OK) {
        mend_share beside = room_beside(x);
        daruma_buf b = buf_in(&room);
        if (begins && !h->no_prefill && h->going == GOING_ANCHORED && mend_can_prefill(&c) &&
            memory_prefills(x->g->mem, x->targets[to].lane_id))
            ret->how = GOING_PREFILLED;
        good = mend_continue(&c, so_far, ret->how, rep);
        if (good && beside.limit > 0)
            mend_cap_beside(&c, beside, rep);
        if (good)
            x->d->write(&c, &b);
        ret->body = good && !c.full && !b.full ? exchange_own(x, text_new(buf_str(&b))) : (daruma_str){0};
    }
    sys_arena_done(&room);
    return ret->body.n > 0 && good;
}

/* Can the request be gone on with? All of it is read for that, on the loop. */
static bool can_go_on(exchange *x)
{
    if (!talk_was_cut(x) || !heal_can(x))
        return false;
    x->h->too_much |= x->body.n > LOOP_BYTES_MAX;
    heal_tell_limits(x);
    return x->body.n <= LOOP_BYTES_MAX;
}

bool heal_go_on(exchange *x, int to, heal_onward *ret)
{
    mend_report rep = {0};
    return can_go_on(x) && go_on(x, to, false, &rep, ret);
}

void heal_goes_on(exchange *x, const heal_onward *o)
{
    heal *h = x->h;
    h->resume_of = o->of;
    h->prefilled = o->how == GOING_PREFILLED;
    talk_join_next(x, o->how);
    heal_use(x, o->body);
}

static bool resume(exchange *x, mend_report *rep)
{
    heal *h = x->h;
    heal_onward o;
    if (!can_go_on(x))
        return false;
    if (x->failure.kind == DARUMA_MALFORMED_OUTPUT && h->m.bad)
        return false;   /* what it called was wrong, not cut: it was asked again as often as it may */
    if (talk_unsure(x)) /* what it was asked was answered with something else */
        h->going = h->going == GOING_FROM_BEFORE ? GOING_ANCHORED : GOING_FROM_BEFORE;
    if (!go_on(x, x->kase.want >= 0 ? x->kase.want : x->kase.target, true, rep, &o))
        return false;
    heal_goes_on(x, &o);
    return true;
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
        give_up(h);
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
    if (!h->m.shortened || h->again || !is_much(h, h->from.n) ||
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
                give_up(h);
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
        h->format = m->c.set.format;
    }
    if (!x->failure.kind) /* ahead of any call; else it counts when its call goes out */
        daruma_case_did(&x->kase, m->doing);
    tell(x, DARUMA_WHEN_MENDED, m->doing, &m->report);
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
        tell(x, DARUMA_WHEN_BROKE, w->did, &h->m.report);
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
                     .window = window_of(x),
                     .shares_none = shares_none(x),
                     .rate = memory_rate(x->g->mem, whose),
                     .scale = memory_scale(x->g->mem, whose),
                     .beside = room_beside(x)};
    memcpy(w->steps, steps, n * sizeof *steps);
    if (x->p == x->d && mended_knows(x, x->kase.target) && (w->facts = ARENA_NEW(x->c->arena, mended_facts, 1)))
        mended_know(x, x->kase.target, w->facts);
    return w;
}

heal_result heal_apply(exchange *x, daruma_remedy_kind r)
{
    if (!heal_can(x) || (shortens(r) && is_stuck(x)))
        return HEAL_UNFIT;
    heal *h = x->h;
    if (steer_is(r))
        return heal_open(x) ? steer_apply(x, r) : HEAL_UNFIT;
    if (r == DARUMA_REMEDY_RESUME) {
        mend_report rep = {0};
        if (!resume(x, &rep))
            return HEAL_UNFIT;
        h->m.from = h->m.to = (daruma_str){0};
        tell(x, DARUMA_WHEN_MENDED, r, &rep);
        return HEAL_SEND;
    }
    if (r == DARUMA_REMEDY_MEND_PARAMETER && mended_unlearn(x))
        return HEAL_SEND;
    if (r == DARUMA_REMEDY_MEND_PARAMETER && x->p != x->d)
        return mended_moved_learn(x) ? HEAL_SEND : HEAL_UNFIT;
    h->m.last = r == DARUMA_REMEDY_COMPACT || !h->policy.side_calls;
    if (r == DARUMA_REMEDY_SUMMARISE && h->policy.summarize_on_compress && !h->policy.side_calls) {
        tell(x, DARUMA_WHEN_BROKE, r, &h->m.report); /* nobody may be asked */
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
        if (x->targets[i].window > 0 && x->targets[i].window > window_of(x))
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
                      .window = window_of(x),
                      .shares_none = shares_none(x),
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
