/* mending.c - the conversation of a request while something is mended in it: it is read when something failed, not
 * before, and given back before a provider is waited for. What a provider did not say about a refusal is seen here,
 * too. mending_work.c carries remedies out on it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"

/* ---- the conversation at hand ---- */

session_mending *session_mend_of(session *x)
{
    session_mending *h = x->h;
    if (h || !(h = x->h = ARENA_NEW(x->arena, session_mending, 1)))
        return h;
    daruma_mend_policy policy = x->kase.policy->mend;
    if (x->o->orphans != DRIVE_ORPHANS_PROFILE) {
        policy.prune_orphans = x->o->orphans == DRIVE_ORPHANS_PRUNE;
        policy.prunes_only = false;
    }
    history_begin(&h->past, x->d, x->v->rooms, &policy);
    return h;
}

bool session_mend_can(session *x)
{
    session_mending *h = session_mend_of(x);
    return h && !h->past.unread && x->d && !x->opaque && x->out.scan.ok && x->out.body.n;
}

bool session_mend_is_brief(const session *x)
{
    return x->out.body.n <= LOOP_BYTES_MAX && x->out.scan.nmessages <= LOOP_MESSAGES_MAX;
}

bool session_mend_open(session *x)
{
    if (!session_mend_can(x))
        return false;
    history *past = &x->h->past;
    if (!past->read && !session_mend_is_brief(x))
        past->too_much = true;
    else
        history_read(past, x->out.body, LOOP_READ_BYTES_MAX);
    session_mend_tell_limits(x);
    return past->read;
}

void session_mend_tell_limits(session *x)
{
    session_mending *h = x->h;
    if (!h || !h->past.too_much || h->told)
        return;
    h->told = true;
    session_say(x, "mending_given_up",
                S("the request is too large for what was to be mended in it: it stays as it was"));
}

void session_mend_unchecked(session *x)
{
    session_mending *h = session_mend_of(x);
    if (!h || h->told_unchecked)
        return;
    h->told_unchecked = true;
    session_say(x, "mending_given_up",
                S("holding all of the answer against the schemas of its request takes too long: what was not looked at "
                  "goes out as it came"));
}

void session_mend_rest(session *x)
{
    if (x->h)
        history_rest(&x->h->past);
    session_sweep(x);
}

const convo *session_mend_tools(session *x)
{
    session_mending *h = session_mend_of(x);
    daruma_str raw = x->out.scan.tools_raw;
    if (!h || !raw.n || raw.n >= JOB_BYTES_MIN)
        return NULL;
    if (!h->tools_read) {
        h->tools_read = true;
        if (!answer_tools_read(x->d, raw, x->arena, &h->tools))
            h->tools.ntools = 0;
        h->tools.more_tools |= x->out.scan.more_tools;
    }
    return h->tools.ntools ? &h->tools : NULL;
}

/* Is it too long to be read on the loop? Then it is read with the test, or not at all. */
static bool reads_later(session *x, daruma_str raw, answer_test *ret, daruma_str *ret_unread)
{
    if (raw.n > TOOLS_READ_BYTES_MAX) {
        session_mend_unchecked(x);
    } else if (raw.n >= TOOLS_LOOP_BYTES_MAX) {
        ret->d = x->d;
        *ret_unread = raw;
    }
    return raw.n >= TOOLS_LOOP_BYTES_MAX;
}

void session_mend_test_calls(session *x, answer_test *ret)
{
    ret->most = CALLS_LOOP_BYTES_MAX;
    ret->more_tools = x->out.scan.more_tools;
    if (session_mend_of(x) && !reads_later(x, x->out.scan.tools_raw, ret, &ret->unread))
        ret->tools = session_mend_tools(x);
}

void session_mend_test_format(session *x, answer_test *ret)
{
    session_mending *h = session_mend_of(x);
    daruma_str raw = x->out.scan.format_raw;
    if (!h || !raw.n || reads_later(x, raw, ret, &ret->unread_format))
        return;
    if (!h->wanted_read) {
        h->wanted_read = true;
        if (!answer_format_read(x->d, raw, x->arena, &h->wanted))
            h->wanted.set.format = FORMAT_UNSAID;
    }
    if (h->wanted.set.format != FORMAT_UNSAID)
        ret->format = &h->wanted;
}

void session_mend_unfit(session *x, bool goes_out)
{
    session_mending *h = session_mend_of(x);
    if (h)
        h->unfit = goes_out ? UNFIT_GOES_OUT : UNFIT_ASKED;
    if (h && goes_out)
        session_say(x, "answer_unfit",
                    S("the model was asked again, and its answer still does not fit the schema that the client asks "
                      "for: it goes out as it came"));
}

session_unfit session_mend_was_unfit(const session *x)
{
    return x->h ? x->h->unfit : UNFIT_NEVER;
}

/* From here on this is what is sent. What a scan says of the client's wishes stays. */
void session_mend_use(session *x, daruma_str body, const request_scan *scan)
{
    request_scan was = x->out.scan;
    session_use(x, body);
    x->out.scan = *scan;
    x->out.scan.model = was.model;
    x->out.asks_whole = !x->out.scan.stream;
    x->out.scan.stream = was.stream;
    x->out.scan.usage_asked = was.usage_asked;
    x->out.scan.tools_raw = was.tools_raw; /* calls are held against the tools as the client has them */
    x->out.scan.schema = was.schema;       /* and answers against the format it asked for */
    x->out.scan.format_raw = was.format_raw;
    x->out.scan.conversation = was.conversation;
}

void session_mend_take(session *x, drive_text *made, const request_scan *scan)
{
    x->h->past.resume_of = (daruma_str){0};
    session_mend_use(x, session_own(x, made), scan);
}

bool session_mend_write(session *x)
{
    request_scan scan;
    drive_text *made = history_write(&x->h->past, &scan);
    session_mend_tell_limits(x);
    if (made)
        session_mend_take(x, made, &scan);
    return made != NULL;
}

/* Tokens of the target's context window, as configured or learned; -1 unknown. */
int64_t session_mend_window(const session *x)
{
    if (x->kase.target < 0)
        return -1;
    const daruma_target *t = &x->targets[x->kase.target];
    return t->window > 0 ? t->window : betas_widen(x) ? -1 : memory_lane(x->v->mem, t->lane_id, x->v->at.now)->window;
}

/* Google's windows are of the input alone. */
bool session_mend_shares_none(const session *x)
{
    return session_dialect(x, x->kase.target)->quirks & WIRE_NO_IDS;
}

history_target session_mend_target(session *x)
{
    uint64_t whose = session_counted(x);
    return (history_target){.window = session_mend_window(x),
                            .shares_none = session_mend_shares_none(x),
                            .rate = memory_rate(x->v->mem, whose),
                            .scale = memory_scale(x->v->mem, whose),
                            .tenant = session_tenant(x)};
}

/* ---- what the provider did not say ---- */

/* An estimate that needs no reading: bytes by 3.5 to a token. */
static int64_t rough_tokens(const session *x)
{
    return (int64_t)(x->out.body.n / 7 * 2);
}

bool session_mend_window_full(session *x, daruma_str finish, int64_t input_tokens, bool content)
{
    if (!x->kase.can_mend || x->kase.target < 0)
        return false;
    int64_t window = session_mend_window(x), told = x->targets[x->kase.target].window;
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
static bool fills(const session *x, const daruma_failure *f)
{
    int64_t bytes = (int64_t)(x->moved ? x->moved->body.n : x->out.body.n), cap = x->out.scan.max_output;
    return !f->hearsay && f->limit >= WINDOW_LEARNED_MIN && f->limit <= WINDOW_LEARNED_MAX &&
           add_sat(bytes / WINDOW_BYTES_MIN, cap > 0 ? cap : 0) >= f->limit;
}

static bool mends_parameters(const daruma_policy *p)
{
    for (size_t i = 0; i < p->nrungs; i++)
        if (p->rungs[i].kind == DARUMA_INVALID_PARAMETER && p->rungs[i].remedy == DARUMA_REMEDY_MEND_PARAMETER)
            return true;
    return false;
}

void session_mend_reconsider(session *x, daruma_failure *f)
{
    if (!x->kase.can_mend || x->kase.target < 0)
        return;
    const daruma_target *t = &x->targets[x->kase.target];
    bool refused = f->status == 400 || f->status == 422;
    if (x->h && x->h->past.prefilled && refused &&
        x->client.forwarded) { /* the model does not go on from a begun answer */
        x->h->past.no_prefill = true;
        memory_prefill_refused(x->v->mem, t);
        memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
        becomes(f, DARUMA_INTERRUPTED);
    }
    bool fits = f->status != 429 || (rough_tokens(x) < LONG_CONTEXT_SURE_TOKENS && mends_parameters(x->kase.policy));
    if (f->kind != DARUMA_INVALID_PARAMETER && fits && betas_refused(x, f)) /* it is refused for what it asks beside */
        becomes(f, DARUMA_INVALID_PARAMETER);
    bool too_long = f->kind == DARUMA_CONTEXT_LENGTH && f->status != 429;
    if (too_long && fills(x, f) && !betas_widen(x) && memory_window_put(x->v->mem, t, f->limit))
        memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
    if (too_long && x->p == x->d && f->used > 0 && (f->used > f->limit || f->requested > f->limit))
        memory_rate_put(x->v->mem, session_counted(x), x->out.body.n, f->used);
    if (too_long && f->limit <= 0 && session_mend_window(x) <= 0)
        mended_refuse(x, x->out.body.n);
    int64_t window = session_mend_window(x);
    bool wordless = !session_last(x)->body.n && (f->status == 400 || f->status == 413);
    if (wordless && f->kind != DARUMA_CONTEXT_LENGTH && window > 0 && rough_tokens(x) >= window / 5 * 4)
        becomes(f, DARUMA_CONTEXT_LENGTH);
    if (f->kind == DARUMA_MALFORMED_OUTPUT && x->h && x->h->past.m.bad) {
        daruma_kind circle;
        f->message = x->h->past.m.bad_why;
        if (steer_refused(x, &circle))
            becomes(f, circle);
    }
}

/* ---- telling ---- */

bool session_mend_shortens(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_MASK_TOOL_OUTPUT || r == DARUMA_REMEDY_SUMMARISE || r == DARUMA_REMEDY_COMPACT;
}

bool session_mend_unsummed(const session *x, daruma_remedy_kind r)
{
    const history *h = &x->h->past;
    return r == DARUMA_REMEDY_COMPACT && h->task.ends && h->task.result == MENDING_UNFIT && !h->m.summed;
}

/* `when`: MENDED or BROKE. */
void session_mend_tell(session *x, daruma_when when, daruma_remedy_kind r, const mend_report *rep)
{
    const mending *m = &x->h->past.m;
    daruma_event e = DARUMA_EVENT_INIT;
    bool shorter = session_mend_shortens(r) || r == DARUMA_REMEDY_SHRINK_REQUEST;
    daruma_remedy as = {.remedy = r, .act = DARUMA_SEND, .target = x->kase.target};
    if (when == DARUMA_WHEN_MENDED)
        session_step(x, &(drive_step){.what = DRIVE_MENDED, .remedy = &as, .report = rep});
    if (when == DARUMA_WHEN_MENDED && session_last(x)->failure.kind)
        session_tell_begin(x);
    e.failure = session_last(x)->failure.kind ? &session_last(x)->failure : NULL;
    e.remedy = &session_last(x)->remedy;
    if (!daruma_event_when(&e, when, &x->kase))
        return;
    e.what = str_of(rep->what);
    if (when == DARUMA_WHEN_BROKE)
        e.mend_error = session_mend_unsummed(x, r) ? S("the model that should summarise failed")
                                                   : S("No LLM client available for compression");
    if (shorter && when == DARUMA_WHEN_MENDED) {
        bool messages = r == DARUMA_REMEDY_COMPACT && !rep->parts_shortened;
        e.steps_compressed = messages ? rep->messages_mended : rep->parts_shortened;
        e.original_size = m->original_chars;
        e.compressed_size = m->compressed_chars;
    }
    if (r == DARUMA_REMEDY_REPAIR_HISTORY) {
        e.pruned_count = rep->calls_dropped ? (int64_t)rep->calls_dropped : -1;
        e.answered_count = rep->calls_answered ? (int64_t)rep->calls_answered : -1;
        e.original_error = session_last(x)->failure.message;
    }
    e.from = m->from;
    e.to = m->to;
    e.took = x->h->asked_ms && !x->kase.policy->events ? x->h->asked_ms : -1; /* a seed's events have no such field */
    x->h->asked_ms = 0;
    session_event(x, &e);
}
