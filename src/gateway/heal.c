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

/* ---- the conversation at hand ---- */

static heal *heal_of(exchange *x)
{
    if (!x->h)
        x->h = ARENA_NEW(x->c->arena, heal, 1);
    return x->h;
}

bool heal_open(exchange *x)
{
    heal *h = heal_of(x);
    if (!h || h->unread || !x->d || x->opaque || !x->scan.ok)
        return false;
    if (h->read)
        return true;
    h->from = x->body;
    h->d = x->d;
    h->read = x->body.n && x->d->read(x->body, x->c->arena, &h->m.c) == DARUMA_OK;
    h->unread = !h->read;
    h->policy = x->kase.policy->mend;
    if (x->s->cfg.orphans != ORPHANS_PROFILE) {
        h->policy.prune_orphans = x->s->cfg.orphans == ORPHANS_PRUNE;
        h->policy.prunes_only = false;
    }
    h->m.policy = &h->policy;
    return h->read;
}

const convo *heal_tools(exchange *x)
{
    heal *h = heal_of(x);
    daruma_str raw = x->scan.tools_raw;
    if (!h || !raw.n)
        return NULL;
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
    if (!h || !raw.n)
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

/* From here on this is what is sent. What a scan says of the client's wishes stays. */
void heal_use(exchange *x, daruma_str body)
{
    request_scan was = x->scan;
    x->body = body;
    x->scan = x->d->scan(body, NULL);
    x->scan.model = was.model;
    x->scan.stream = was.stream;
    x->scan.tools_raw = was.tools_raw; /* calls are held against the tools as the client has them */
    x->scan.schema = was.schema;       /* and answers against the format it asked for */
    x->scan.format_raw = was.format_raw;
    x->scan.conversation = was.conversation;
}

bool heal_write(exchange *x)
{
    daruma_buf b = buf_in(x->c->arena);
    heal *h = x->h;
    if (h->m.c.full)
        return false;
    h->d->write(&h->m.c, &b);
    if (b.full)
        return false;
    h->resume_of = (daruma_str){0};
    heal_use(x, buf_str(&b));
    return true;
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

/* What is added to a request that filled its window is taken off the output cap. */
static void keep_room(exchange *x, convo *c, mend_report *rep)
{
    int64_t window = window_of(x);
    if (window <= 0 || shares_none(x) || x->kase.policy->mend.sends_any)
        return;
    int64_t rate = memory_rate(x->g->mem, exchange_counted(x));
    mend_cap_beside(c, (mend_share){window, ESTIMATE_RATE * 1000 / rate}, rep);
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
    daruma_buf b = buf_in(x->c->arena);
    bool begins = begun_for_it && (exchange_dialect(x, to)->quirks & WIRE_PREFILL);
    daruma_str of = h->resume_of.n ? h->resume_of : x->body, so_far = talk_said(x);
    *ret = (heal_onward){.of = of, .how = h->going};
    if (so_far.n) {
        if (x->d->read(of, x->c->arena, &c) != DARUMA_OK)
            return false;
        if (begins && !h->no_prefill && h->going == GOING_ANCHORED && mend_can_prefill(&c) &&
            memory_prefills(x->g->mem, x->targets[to].lane_id))
            ret->how = GOING_PREFILLED;
        if (!mend_continue(&c, so_far, ret->how, rep) || c.full)
            return false;
        keep_room(x, &c, rep);
        x->d->write(&c, &b);
    } else {
        buf_put(&b, of);
    }
    ret->body = buf_str(&b);
    return !b.full;
}

bool heal_go_on(exchange *x, int to, heal_onward *ret)
{
    mend_report rep = {0};
    return talk_was_cut(x) && x->body.n && heal_open(x) && go_on(x, to, false, &rep, ret);
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
    if (!talk_was_cut(x) || !x->body.n)
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

/* The conversation is mended: it is what is sent from here on. */
static bool mended_so(exchange *x)
{
    heal *h = x->h;
    mending *m = &h->m;
    if (m->doing == DARUMA_REMEDY_ASK_AGAIN)
        keep_room(x, &m->c, &m->report);
    if (!heal_write(x))
        return false;
    if (m->taught)
        heal_lesson(x, &m->lesson);
    if (m->doing == DARUMA_REMEDY_LOWER_FORMAT) {
        heal_learns_of(h, x->targets[x->kase.target].lane_id);
        h->format = m->c.set.format;
    }
    if (!x->failure.kind) /* ahead of any call; else it counts when its call goes out */
        daruma_case_did(&x->kase, m->doing);
    tell(x, DARUMA_WHEN_MENDED, m->doing, &m->report);
    return true;
}

/* A conversation that stayed too long again and again is not worked on for ever: each time costs calls. */
static bool is_stuck(exchange *x)
{
    return x->scan.conversation && memory_stuck(x->g->mem, exchange_session(x)) >= STUCK_MAX;
}

void heal_gave_up(exchange *x)
{
    const heal *h = x->h;
    if (h && h->nlessons && h->read && x->p == x->d &&
        mend_lesson_held(&h->m.c, &h->lessons[h->nlessons - 1], &x->failure))
        mended_learn(x); /* it ran out of what it may mend, the next request begins further on */
    bool worked_on = x->kase.shrinks || (x->h && x->h->m.shortened);
    if (x->failure.kind == DARUMA_CONTEXT_LENGTH && worked_on && x->scan.conversation)
        memory_stuck_set(x->g->mem, exchange_session(x), memory_stuck(x->g->mem, exchange_session(x)) + 1);
}

static heal_result mend_so(exchange *x, daruma_remedy_kind r, const daruma_failure *f)
{
    heal *h = x->h;
    if (r == DARUMA_REMEDY_SUMMARISE && h->policy.summarize_on_compress && !h->policy.side_calls) {
        tell(x, DARUMA_WHEN_BROKE, r, &h->m.report); /* nobody may be asked */
        return HEAL_UNFIT;
    }
    mending_result did = mending_begin(&h->m, r, f, window_of(x));
    if (did == MENDING_ASKS) {
        if (side_ask(x, h->m.questions, h->m.nquestions, h->m.answer_tokens))
            return HEAL_WAITS;
        tell(x, DARUMA_WHEN_BROKE, r, &h->m.report);
        did = mending_end(&h->m); /* as if all had failed */
    }
    return did == MENDING_DONE && mended_so(x) ? HEAL_SEND : HEAL_UNFIT;
}

heal_result heal_apply(exchange *x, daruma_remedy_kind r)
{
    if (!heal_open(x) || (shortens(r) && is_stuck(x)))
        return HEAL_UNFIT;
    heal *h = x->h;
    if (steer_is(r))
        return steer_apply(x, r);
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
    return mend_so(x, r, &x->failure);
}

/* ---- before it goes out ---- */

/* Tokens of the window that the output cap takes. */
static int64_t beside(const exchange *x, int64_t cap)
{
    int64_t half = window_of(x) / 2;
    return cap < 0 ? 0 : shares_none(x) && cap > half ? half : cap;
}

/* Is the request known to be too long for the target at hand? In bytes, which cost nothing; `f` says it as the provider
 * would. */
static bool too_long(const exchange *x, daruma_failure *f)
{
    int64_t window = window_of(x), rate = memory_rate(x->g->mem, exchange_counted(x));
    int64_t used = mul_sat((int64_t)x->body.n, 1000) / rate, refused = (int64_t)mended_refused(x);
    *f = (daruma_failure){.kind = DARUMA_CONTEXT_LENGTH, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    if (window > 0) {
        f->limit = window;
        f->used = used;
        return used > window * WINDOW_NEAR_PERCENT / 100 - beside(x, x->scan.max_output);
    }
    return refused && (int64_t)x->body.n > refused * REFUSED_NEAR_PERCENT / 100;
}

/* Media are many bytes and few tokens: what was read is counted by our estimate, as the provider's count scales it. */
static bool too_long_indeed(exchange *x, daruma_failure *f)
{
    if (f->limit < 0)
        return true;
    int64_t rate = memory_rate(x->g->mem, exchange_counted(x));
    int64_t scale = memory_scale(x->g->mem, exchange_counted(x));
    int64_t tokens = convo_tokens(&x->h->m.c);
    f->used = scale ? mul_sat(tokens, scale) / 1000 : mul_sat(tokens, ESTIMATE_RATE) / rate;
    return f->used > f->limit * WINDOW_NEAR_PERCENT / 100 - beside(x, x->h->m.c.set.max_output);
}

/* Is it the output cap alone that is too much? Then it is lowered to what the window leaves, where that is enough. */
static heal_result lower_cap(exchange *x, const daruma_failure *f)
{
    daruma_failure g = *f;
    if (f->limit < 0 || shares_none(x))
        return HEAL_UNFIT;
    g.used = mul_sat(f->used, 100) / WINDOW_NEAR_PERCENT;
    x->remedy = (daruma_remedy){.remedy = DARUMA_REMEDY_CLAMP_OUTPUT, .act = DARUMA_SEND, .target = x->kase.target};
    heal_result h = mend_so(x, DARUMA_REMEDY_CLAMP_OUTPUT, &g);
    x->g->counts.remedies[DARUMA_REMEDY_CLAMP_OUTPUT] += h != HEAL_UNFIT;
    return h;
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
    daruma_failure f;
    if (!steer_ready(x))
        return false;
    const daruma_policy *p = x->kase.policy;
    bool first = !x->weighed && !x->failure.kind;
    x->weighed = true;
    if (!first || !x->kase.can_mend || is_stuck(x) || !p->enabled || !p->mend.enabled || p->mend.sends_any ||
        !too_long(x, &f) || !heal_open(x) || !too_long_indeed(x, &f))
        return true;
    x->h->m.last = false;
    if (lower_cap(x, &f) == HEAL_SEND)
        return true;
    static const daruma_remedy_kind steps[] = {DARUMA_REMEDY_MASK_TOOL_OUTPUT, DARUMA_REMEDY_COMPACT,
                                               DARUMA_REMEDY_SUMMARISE};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (i && (!p->mend.side_calls || wider_elsewhere(x))) /* the others ask a model */
            break;
        x->remedy = (daruma_remedy){.remedy = steps[i], .act = DARUMA_SEND, .target = x->kase.target};
        heal_result h = mend_so(x, steps[i], &f);
        x->g->counts.remedies[steps[i]] += h != HEAL_UNFIT;
        x->h->ahead = h == HEAL_WAITS;
        if (h != HEAL_UNFIT)
            return h == HEAL_SEND;
    }
    return true; /* the provider has the last word */
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
    mending_result r = mending_end(&h->m);
    if (r == MENDING_ASKS && side_ask(x, h->m.questions, h->m.nquestions, h->m.answer_tokens))
        return;
    bool fit = r == MENDING_DONE && mended_so(x);
    bool ahead = h->ahead;
    h->ahead = false;
    if (ahead)
        exchange_fitted(x);
    else
        exchange_mended(x, fit);
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
}
