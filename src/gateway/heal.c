/* heal.c - the conversation of a request while something is mended in it: it is read when something failed, not before,
 * and given back before a provider is waited for. What a provider did not say about a refusal is seen here, too.
 * heal_work.c carries remedies out on it. */
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
    h->read_from = (daruma_str){0};
    h->m.c = (convo){0};
    h->m.from = h->m.to = (daruma_str){0};
    h->m.unsent = false;
    h->m.questions = NULL;
    h->m.nquestions = 0;
    h->m.large = NULL;
    sys_arena_done(&h->own);
}

void heal_give_up(heal *h)
{
    put_away(h);
    h->unread = h->too_much = true;
}

/* With so many bytes for all that is read of it. */
static bool read_in(heal *h, daruma_str body, size_t bytes)
{
    if (h->read || h->unread)
        return h->read;
    if (!sys_arena_init(&h->own, HEAL_BYTES_USUAL, bytes)) {
        heal_give_up(h);
        return false;
    }
    daruma_status s = h->d->read(body, &h->own, &h->m.c);
    if (s == DARUMA_EFULL) {
        heal_give_up(h);
        h->unread = bytes == MEND_ARENA_BYTES_MAX; /* else it may be read beside the loop */
        return false;
    }
    sys_arena_widen(&h->own, MEND_ARENA_BYTES_MAX);
    h->read = s == DARUMA_OK;
    h->read_from = body;
    h->unread = !h->read;
    h->again |= h->from.n > 0;
    if (!h->from.n)
        h->from = body;
    return h->read;
}

bool heal_read(heal *h, daruma_str body)
{
    return read_in(h, body, MEND_ARENA_BYTES_MAX);
}

bool heal_open(exchange *x)
{
    if (!heal_can(x))
        return false;
    if (!x->h->read && x->body.n > LOOP_BYTES_MAX)
        x->h->too_much = true;
    else
        read_in(x->h, x->body, LOOP_READ_BYTES_MAX);
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
bool heal_is_much(const heal *h, size_t bytes)
{
    return sys_arena_bytes(&h->own) > HEAL_KEPT_BYTES && sys_arena_bytes(&h->own) > bytes * HEAL_KEPT_TIMES;
}

void heal_rest(exchange *x)
{
    heal *h = x->h;
    if (h && h->read && heal_is_much(h, h->from.n))
        put_away(h);
    exchange_sweep(x);
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
void heal_use(exchange *x, daruma_str body, const request_scan *scan)
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
        heal_give_up(h);
        return NULL;
    }
    h->tokens = h->m.c.before ? 0 : convo_tokens(&h->m.c);
    *ret = h->d->scan(text_str(made), NULL);
    return made;
}

void heal_take(exchange *x, request_text *made, const request_scan *scan)
{
    x->h->resume_of = (daruma_str){0};
    heal_use(x, exchange_own(x, made), scan);
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
int64_t heal_window(const exchange *x)
{
    if (x->kase.target < 0)
        return -1;
    const daruma_target *t = &x->targets[x->kase.target];
    return t->window > 0 ? t->window : memory_window(x->g->mem, t->lane_id);
}

/* Google's windows are of the input alone. */
bool heal_shares_none(const exchange *x)
{
    return exchange_dialect(x, x->kase.target)->quirks & WIRE_NO_IDS;
}

/* What is added to a request that filled its window is taken off the output cap; limit 0: it is not. */
mend_share heal_room_beside(const exchange *x)
{
    int64_t window = heal_window(x);
    if (window <= 0 || heal_shares_none(x) || x->kase.policy->mend.sends_any)
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
    int64_t window = heal_window(x), told = x->targets[x->kase.target].window;
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
    if (too_long && f->limit <= 0 && heal_window(x) <= 0)
        mended_refuse(x, x->body.n);
    int64_t window = heal_window(x);
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

bool heal_shortens(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_MASK_TOOL_OUTPUT || r == DARUMA_REMEDY_SUMMARISE || r == DARUMA_REMEDY_COMPACT;
}

/* `when`: MENDED or BROKE. */
void heal_tell(exchange *x, daruma_when when, daruma_remedy_kind r, const mend_report *rep)
{
    const mending *m = &x->h->m;
    daruma_event e = DARUMA_EVENT_INIT;
    bool shorter = heal_shortens(r) || r == DARUMA_REMEDY_SHRINK_REQUEST;
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
