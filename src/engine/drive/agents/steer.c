/* steer.c - setting an agent right. What the engine's guide says is carried out here: on the request, before it goes
 * out, and on the answer, when it does again what it was told not to do.
 *
 *   request   NOTICE        the model is told, at the end of its view
 *             BLOCK_CALL    ... and the calls of the circle are refused to it
 *             STRATEGY      ... with another way to go on
 *             FORCE_FINISH  it may call nothing any more
 *             STOP_PARTIAL  it is not asked: the client gets what is known
 *   answer    refused  ->   the case climbs the ladder of LOOP: BLOCK_CALL, ..., STOP_PARTIAL */
#include "engine/decide/case.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/watch/errors.h"
#include "engine/watch/paths.h"
#include "engine/watch/words/partial.h"
#include "engine/mend/answer/answer.h"

static void steer_tell(session *x, const char *name)
{
    const steer *s = x->steer;
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_remedy r = {.remedy = s->remedy, .act = DARUMA_SEND, .target = -1};
    e.name = name;
    e.remedy = &r;
    e.verdict = &s->verdict;
    e.tool = (daruma_str){s->last.tool, s->last.ntool};
    e.level = s->guide.level ? s->guide.level : -1;
    session_event(x, &e);
}

/* ---- on the request ---- */

/* The arguments of the newest call, when it did not find what it named; empty: it did, or what a seed says holds. */
static daruma_str args_not_found(session *x)
{
    daruma_step last = watch_last_step(&x->steer->last);
    const daruma_policy *p = x->kase.policy;
    if (p->watch.detectors || !daruma_step_failed(&last))
        return (daruma_str){0};
    bool gone = daruma_tool_judge(&last, p, x->arena).kind == DARUMA_TOOL_NOT_FOUND_KIND;
    return gone ? arena_copy(x->arena, last.args) : (daruma_str){0};
}

/* A notice, which ends in a bracket, and the path that tools have printed for the one that was not found. */
static daruma_str with_path(convo *c, daruma_str says, daruma_str args)
{
    daruma_str path = args.n ? paths_printed(c, args) : (daruma_str){0};
    daruma_buf b = buf_in(c->arena);
    if (!path.n)
        return says;
    BUF_SAY(&b, str_sub(says, 0, says.n - 1), " A tool printed the path `", path, "`: take it if that is the one.]");
    return b.full ? says : buf_str(&b);
}

static bool add_notice(session *x, daruma_str text)
{
    session_mending *h = x->h;
    mend_report rep = {0};
    return mend_notice(&h->past.m.c, with_path(&h->past.m.c, text, args_not_found(x)), &rep) && session_mend_write(x);
}

static daruma_str notice(session *x, const char *more)
{
    const steer *s = x->steer;
    daruma_step last = watch_last_step(&s->last);
    daruma_buf b = buf_in(x->arena);
    daruma_guide_notice(&s->guide, &s->verdict, &last, &b);
    b.n -= b.n > 0; /* the closing bracket */
    size_t before = b.n;
    strategy_say(x, &b);
    if (b.n == before && !x->kase.policy->watch.detectors)
        strategy_lesson(x, &b);
    if (*more) {
        BUF_SAY(&b, " ", more);
    }
    buf_putc(&b, ']');
    return buf_str(&b);
}

/* The model may call nothing: what the dialect has for that. */
static void forbid_calls(history *past)
{
    convo_patch_add(&past->m.c, PATCH_SET, dialect_choice_path(past->d, past->from), past->d->choice_none);
}

/* What is written into a request for an agent. It is done beside the loop where the request is large. */
typedef struct steering {
    history *past;
    const daruma_policy *policy;
    daruma_str body;
    daruma_str says; /* to the model; empty: nothing */
    daruma_str gone; /* arguments of a call that did not find what it named; empty: none */
    bool compacts;   /* failed results of tools are shown compactly */
    bool forbids;    /* the model may call nothing */
    /* came of it */
    size_t compacted; /* so many results */
    bool said;        /* the model is told */
    drive_text *made; /* the request as it is sent from here on; NULL: as it was */
    request_scan scan;
} steering;

static void steering_do(void *data)
{
    steering *w = data;
    history *past = w->past;
    mend_report rep = {0};
    if (!history_read(past, w->body, MEND_ARENA_BYTES_MAX))
        return;
    if (w->compacts)
        w->compacted = watch_compact_errors(&past->m.c, w->policy);
    if (w->says.n)
        w->said = mend_notice(&past->m.c, with_path(&past->m.c, w->says, w->gone), &rep);
    if (w->said && w->forbids)
        forbid_calls(past);
    if (w->said || w->compacted)
        w->made = history_write(past, &w->scan);
}

static void steering_drop(void *data)
{
    steering *w = data;
    const drive_rooms *rooms = w->past->rooms;
    drive_texts_close(rooms, w->made);
    rooms->give(w);
}

/* What the model is told with the remedy at hand, and what is refused to it from then on; empty: nothing. */
static daruma_str steer_words(session *x)
{
    steer *s = x->steer;
    switch (s->remedy) {
    case DARUMA_REMEDY_NOTICE:
        return notice(x, "");
    case DARUMA_REMEDY_BLOCK_CALL:
        s->armed = true;
        return notice(x, s->verdict.ncalls > 1 ? "These calls are refused from now on."
                                               : "This call is refused from now on.");
    case DARUMA_REMEDY_FORCE_FINISH:
        s->armed = s->no_calls = true;
        return notice(x, "No tool can be called any more. Answer now with what you know, and say what could not "
                         "be done and why.");
    default: /* a strategy comes with steer_ready(), when it is known who can be asked */
        return (daruma_str){0};
    }
}

static void steer_compacted(session *x, size_t n)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "tool_errors_compacted";
    e.steps_compressed = (int64_t)n;
    session_did(x, DARUMA_REMEDY_MASK_TOOL_OUTPUT);
    session_event(x, &e);
}

/* The request was written so, or could not be: the model is in the midst of its turn, or there is no memory. Then
 * nothing was done, and nothing is refused to who was not told. */
static void steered(session *x, steering *w)
{
    steer *s = x->steer;
    bool made = w->made != NULL;
    session_mend_tell_limits(x);
    if (made)
        session_mend_take(x, w->made, &w->scan);
    w->made = NULL;
    if (made && w->compacted)
        steer_compacted(x, w->compacted);
    if (!x->agent.circles)
        return;
    if (!(made && w->said) && !(s->remedy == DARUMA_REMEDY_STRATEGY && session_mend_open(x))) {
        s->remedy = DARUMA_REMEDY_NONE;
        s->armed = s->no_calls = false;
        return;
    }
    x->kase.enforced = s->armed;
    if (s->armed) /* what the model is refused from here on begins where the agent is */
        case_skip(&x->kase, (uint16_t)(s->guide.rung - 1));
    session_did(x, s->remedy);
    steer_tell(x, "nudge");
}

static void steering_then(session *x, void *data)
{
    steered(x, data);
    steering_drop(data);
    session_steered(x);
}

bool steer_request(session *x)
{
    static const drive_work steers = {.work = steering_do, .then = steering_then, .drop = steering_drop};
    if (x->agent.circles && x->steer->remedy == DARUMA_REMEDY_STOP_PARTIAL) {
        finish_partial(x);
        return false;
    }
    steering *w = session_mend_can(x) ? x->v->rooms->take(sizeof *w) : NULL;
    if (!w) {
        steered(x, &(steering){.body = x->out.body});
        return true;
    }
    *w = (steering){.past = &x->h->past, .policy = x->kase.policy, .body = x->out.body, .compacts = x->agent.compacts};
    if (x->agent.circles) {
        w->says = steer_words(x);
        w->gone = args_not_found(x);
        w->forbids = x->steer->no_calls && x->out.scan.tools; /* where there are none, forbidding them is refused */
    }
    if ((w->says.n || w->compacts) && !session_work(x, x->out.body.n, &steers, w))
        return false;
    steered(x, w);
    steering_drop(w);
    return true;
}

/* The model is told that what it called was not carried out, and why. */
static bool refuse_calls(session *x)
{
    session_mending *h = x->h;
    mend_report rep = {0};
    daruma_buf why = buf_in(x->arena);
    session_tell_begin(x);
    buf_put(&why, h->past.m.bad_why);
    strategy_say(x, &why);
    if (!h->past.m.bad || !mend_refuse_calls(&h->past.m.c, h->past.m.bad, buf_str(&why), &rep) ||
        !session_mend_write(x))
        return false;
    steer_tell(x, "call_refused");
    return true;
}

bool steer_ready(session *x)
{
    steer *s = x->steer;
    if (!s || s->remedy != DARUMA_REMEDY_STRATEGY || s->looked)
        return true;
    s->looked = s->waiting = true;
    if (strategy_begin(x))
        return false;
    s->waiting = false;
    add_notice(x, notice(x, ""));
    return true;
}

bool steer_answer(session *x, daruma_str text)
{
    if (!x->steer || !x->steer->asking)
        return false;
    strategy_answer(x, text);
    return true;
}

bool steer_asked(session *x)
{
    steer *s = x->steer;
    if (!s || !s->asking)
        return false;
    s->asking = false;
    if (s->waiting) {
        s->waiting = false;
        add_notice(x, notice(x, ""));
        session_fitted(x);
    } else {
        session_mended(x, refuse_calls(x));
    }
    return true;
}

/* ---- on the answer ---- */

bool steer_checks_calls(const session *x)
{
    return x->steer && x->steer->armed;
}

/* The conversation as the client sent it: without what we said since. */
static bool read_history(session *x, convo *c)
{
    return session_mend_open(x) && x->h->past.d->read(x->h->past.from, x->arena, c) == DARUMA_OK;
}

/* Of the very call that is refused: of the lap it may not be the newest. */
static void put_last_result(session *x, uint64_t hash, daruma_buf *out)
{
    convo c;
    daruma_str result;
    if (!read_history(x, &c) || !watch_newest_result(&c, hash, WATCH_LAST_BYTES, &result))
        return; /* the history was shortened since */
    BUF_SAY(out, " Its last result was: ", result);
}

bool steer_refuses(session *x, daruma_str tool, daruma_str args, daruma_buf *why)
{
    steer *s = x->steer;
    if (!steer_checks_calls(x))
        return false;
    bool circle = false;
    uint64_t hash = daruma_call_hash(tool, args);
    for (uint32_t i = 0; i < s->verdict.ncalls && i < DARUMA_PERIOD_MAX; i++)
        circle |= s->verdict.calls[i] == hash;
    if (!circle && !s->no_calls)
        return false;
    s->refused = true;
    BUF_SAY(why, "The call of ", str_sub(tool, 0, 128), " was refused and not carried out. ");
    if (circle) {
        daruma_step last = watch_last_step(&s->last);
        daruma_verdict_say(&s->verdict, &last, why);
        put_last_result(x, hash, why);
        BUF_LIT(why, "\nDo something else, or answer with what you know.");
    } else {
        BUF_LIT(why, "No tool can be called any more. Answer with what you know.");
    }
    return true;
}

bool steer_refused(const session *x, daruma_kind *as)
{
    if (!x->steer || !x->steer->refused)
        return false;
    *as = daruma_circle_kind(x->steer->verdict.circle);
    return true;
}

bool steer_is(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_BLOCK_CALL || r == DARUMA_REMEDY_STRATEGY || r == DARUMA_REMEDY_FORCE_FINISH;
}

session_mend_result steer_apply(session *x, daruma_remedy_kind r)
{
    steer *s = x->steer;
    if (!s || !session_mend_open(x))
        return SESSION_MEND_UNFIT;
    s->remedy = r;
    s->refused = false;
    if (r == DARUMA_REMEDY_STRATEGY) {
        s->looked = true;
        if (strategy_begin(x))
            return SESSION_MEND_WAITS;
    }
    if (r == DARUMA_REMEDY_FORCE_FINISH) {
        s->no_calls = true;
        if (x->out.scan.tools)
            forbid_calls(&x->h->past);
    }
    return refuse_calls(x) ? SESSION_MEND_SEND : SESSION_MEND_UNFIT;
}

/* ---- the end ---- */

daruma_str steer_header(const session *x)
{
    const steer *s = x->steer;
    if (!s || s->remedy == DARUMA_REMEDY_NONE)
        return (daruma_str){0};
    daruma_buf b = buf_in(x->arena);
    BUF_SAY(&b, daruma_circle_name(s->verdict.circle), "; ", daruma_remedy_name(s->remedy));
    return buf_str(&b);
}

daruma_str steer_partial(session *x)
{
    steer *s = x->steer;
    s->remedy = DARUMA_REMEDY_STOP_PARTIAL;
    daruma_step last = watch_last_step(&s->last);
    daruma_buf b = buf_in(x->arena);
    convo c;
    if (read_history(x, &c))
        watch_partial(&c, &s->verdict, &last, &b);
    else
        daruma_verdict_say(&s->verdict, &last, &b);
    return buf_str(&b);
}
