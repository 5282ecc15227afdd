/* convert.c - the request as another provider takes it: in another dialect, or without what only the first provider's
 * model thought. It is made in memory of its own that is given back at once; what stays is the bytes, and the names of
 * tools that changed. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/mend/mend.h"
#include "gateway/heal.h"
#include "gateway/job.h"
#include "sys/sys.h"
#include <stdlib.h>

/* One conversion: what it is made from, which nobody changes meanwhile, and what came of it. */
typedef struct conversion {
    const dialect *from, *to; /* the same: only thinking is left out */
    daruma_str body, model;
    int target;
    bool streaming;
    mend_lesson lessons[LESSONS_APPLIED_MAX]; /* known of the target's model */
    size_t nlessons, nknown;                  /* the first so many are not of this request alone */
    /* made */
    bool applied[LESSONS_APPLIED_MAX];
    daruma_arena room;
    convo c, out;
    dialect_losses lost;
    mend_report taught;
    int64_t tokens;
    request_text *made; /* NULL: it cannot be done */
} conversion;

static request_text *written(const dialect *d, const convo *c, daruma_arena *room)
{
    daruma_buf b = buf_in(room);
    d->write(c, &b);
    return b.full || c->full ? NULL : text_new(buf_str(&b));
}

/* What is known of the target's model is done to the request as it was converted. */
static void apply_lessons(conversion *v)
{
    convo c;
    if (!v->made || !v->nlessons || v->to->read(text_str(v->made), &v->room, &c) != DARUMA_OK)
        return;
    for (size_t i = 0; i < v->nlessons; i++)
        v->applied[i] = mend_lesson_apply(&c, &v->lessons[i], &v->taught);
    request_text *better = mend_did(&v->taught) ? written(v->to, &c, &v->room) : NULL;
    if (!better) {
        v->taught = (mend_report){0};
        return;
    }
    texts_free(v->made);
    v->made = better;
}

static void convert(void *data)
{
    conversion *v = data;
    if (!sys_arena_init(&v->room, 0, MEND_ARENA_BYTES_MAX) || v->from->read(v->body, &v->room, &v->c) != DARUMA_OK)
        return;
    if (v->from == v->to) {
        if (mend_strange_thinking(&v->c))
            v->made = written(v->to, &v->c, &v->room);
        return;
    }
    if (dialect_convert(&v->c, v->to, &v->room, &v->out, &v->lost) != DARUMA_OK)
        return;
    if (v->model.n)
        v->out.set.model = v->model;
    v->out.set.stream = v->streaming;
    v->tokens = convo_tokens(&v->out);
    v->made = written(v->to, &v->out, &v->room);
    apply_lessons(v);
}

/* ---- what came of it ---- */

static void tell_losses(exchange *x, const dialect *to, const dialect_losses *lost)
{
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_buf b = buf_in(x->c->arena);
    BUF_LIT(&b, "written for a provider that speaks ");
    buf_putz(&b, to->name);
    for (size_t i = 0; i < lost->n; i++) {
        buf_putz(&b, i ? ", " : "; left out: ");
        buf_putz(&b, lost->what[i]);
    }
    e.name = "request_converted";
    e.reason = buf_str(&b);
    exchange_event(x, &e);
}

static void tell_stripped(exchange *x)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_converted";
    e.reason = S("written for another provider; left out: thinking");
    exchange_event(x, &e);
}

/* The answer calls tools by the names they have there; what the request calls them may be gone by then. */
static void keep_renames(moved_request *m, const convo *to, daruma_arena *a)
{
    m->renames = to->nrenames ? ARENA_NEW(a, convo_rename, to->nrenames) : NULL;
    for (; m->renames && m->nrenames < to->nrenames; m->nrenames++) {
        const convo_rename *r = &to->renames[m->nrenames];
        m->renames[m->nrenames] = (convo_rename){.was = arena_copy(a, r->was), .is = arena_copy(a, r->is)};
    }
}

static void tell_taught(exchange *x, const conversion *v)
{
    const daruma_target *t = &x->targets[v->target];
    exchange_did(x, DARUMA_REMEDY_MEND_PARAMETER);
    for (size_t i = 0; i < v->nknown; i++)
        if (v->applied[i])
            mended_applied(x, t->lane_id, &v->lessons[i]);
    if (v->nknown)
        mended_tell(x, &v->taught, t);
}

static void keep(exchange *x, conversion *v)
{
    bool large = v->room.full || v->c.full || v->out.full;
    if (v->from == v->to) {
        x->stranger_of = x->edition;
        x->stranger = exchange_own(x, v->made);
        if (x->stranger.n)
            tell_stripped(x);
    } else {
        moved_request *m = ARENA_NEW(x->c->arena, moved_request, 1);
        if (m) {
            *m = (moved_request){.of = x->edition,
                                 .target = v->target,
                                 .nlessons = x->h ? x->h->nlessons : 0,
                                 .tokens = v->tokens,
                                 .too_large = large};
            m->body = exchange_own(x, v->made);
            x->moved = m;
            if (m->body.n) {
                keep_renames(m, &v->out, x->c->arena);
                tell_losses(x, v->to, &v->lost);
            }
            if (mend_did(&v->taught))
                tell_taught(x, v);
        } else {
            texts_free(v->made);
        }
    }
    sys_arena_done(&v->room);
    free(v);
}

/* ---- asking for it ---- */

static void converted(exchange *x, void *data)
{
    keep(x, data);
    exchange_fitted(x);
}

static void forgotten(void *data)
{
    conversion *v = data;
    texts_free(v->made);
    sys_arena_done(&v->room);
    free(v);
}

static const job_kind conversions = {.work = convert, .then = converted, .drop = forgotten};

static bool is_made(const exchange *x, int target, const dialect *to)
{
    const moved_request *m = x->moved;
    if (to == x->d)
        return x->stranger_of == x->edition;
    return m && m->target == target && m->of == x->edition && m->nlessons == (x->h ? x->h->nlessons : 0);
}

bool exchange_is_strange(const exchange *x, int target)
{
    const config_provider *home = exchange_provider(x, (int)x->home), *here = exchange_provider(x, target);
    return x->kase.can_mend && here != home &&
           (!str_ieq(here->to.host, home->to.host) || here->to.port != home->to.port);
}

bool exchange_converts(const exchange *x, int target)
{
    const dialect *to = exchange_dialect(x, target);
    return x->d && (to != x->d || exchange_is_strange(x, target)) && !is_made(x, target, to);
}

bool exchange_convert(exchange *x, int target)
{
    if (!exchange_converts(x, target))
        return true;
    conversion *v = calloc(1, sizeof *v);
    if (!v)
        return true;
    *v = (conversion){.from = x->d,
                      .to = exchange_dialect(x, target),
                      .body = x->body,
                      .model = x->targets[target].model,
                      .target = target,
                      .streaming = x->streaming};
    if (v->from != v->to)
        v->nlessons = mended_lessons_of(x, target, v->lessons, LESSONS_APPLIED_MAX, &v->nknown);
    if (!job_run(x, &conversions, v))
        return false;
    keep(x, v);
    return true;
}

daruma_str exchange_tool_name(const exchange *x, daruma_str name)
{
    return x->p != x->d && x->moved ? convo_name_was(x->moved->renames, x->moved->nrenames, name) : name;
}

static daruma_str with_name_was(daruma_str text, const convo_rename *r, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t at = str_find(text, r->is);
    if (at == STR_NONE)
        return text;
    for (daruma_str rest = text; rest.n; at = str_find(rest, r->is)) {
        buf_put(&b, str_sub(rest, 0, at == STR_NONE ? rest.n : at));
        buf_put(&b, at == STR_NONE ? S("") : r->was);
        rest = at == STR_NONE ? S("") : str_from(rest, at + r->is.n);
    }
    return b.full ? text : buf_str(&b);
}

daruma_str exchange_tool_words(const exchange *x, daruma_str text)
{
    for (size_t i = 0; x->p != x->d && x->moved && i < x->moved->nrenames; i++)
        text = with_name_was(text, &x->moved->renames[i], x->c->arena);
    return text;
}
