/* mended.c - what was mended before, so that it is mended at once the next time: compressions of tool output by their
 * content, and what models were found to refuse. Tenants share nothing: lessons are of a lane, an account's way to a
 * model, and a client's own key is an account. What was learned and hurts is forgotten. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "gateway/heal.h"
#include "sys/sys.h"
#include <stdlib.h>

enum { CONVERSATIONS = 8192 /* a power of two: direct-mapped marks */ };

typedef struct mark {
    uint64_t conversation; /* 0 empty */
    size_t refused;        /* bytes of the smallest request of it that was too long, where nobody said for what */
    bool compressed;       /* something of it is among the known compressions */
} mark;

struct mended {
    daruma_arena arena;
    mend_known *known;
    mend_lessons *lessons;
    mark *marks;             /* conversations of which something is known, direct-mapped */
    uint64_t requests, hits; /* requests of such conversations, and those where something was found */
};

static mended *mended_of(gateway *g)
{
    if (g->mended)
        return g->mended;
    mended *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    size_t bytes = mend_known_bytes(KNOWN_TEXT_BYTES) + mend_lessons_bytes(LESSON_LANES) + 4096;
    if (sys_arena_init(&m->arena, 0, bytes * 2)) {
        m->known = mend_known_new(&m->arena, KNOWN_TEXT_BYTES);
        m->lessons = mend_lessons_new(&m->arena, LESSON_LANES);
        m->marks = calloc(CONVERSATIONS, sizeof *m->marks);
    }
    if (!m->known || !m->lessons || !m->marks) {
        sys_arena_done(&m->arena);
        free(m->marks);
        free(m);
        return NULL;
    }
    g->mended = m;
    return m;
}

void mended_free(mended *m)
{
    if (!m)
        return;
    sys_arena_done(&m->arena);
    free(m->marks);
    free(m);
}

/* NULL when there is none, and `make` does not make one. */
static mark *mark_of(const mended *m, const exchange *x, bool make)
{
    uint64_t id = x->scan.conversation ^ x->credential;
    mark *at = m && x->scan.conversation ? &m->marks[id & (CONVERSATIONS - 1)] : NULL;
    if (at && at->conversation != id) {
        if (!make)
            return NULL;
        *at = (mark){.conversation = id};
    }
    return at;
}

size_t mended_refused(const exchange *x)
{
    const mark *at = mark_of(x->g->mended, x, false);
    return at ? at->refused : 0;
}

void mended_refuse(exchange *x, size_t bytes)
{
    mark *at = mark_of(mended_of(x->g), x, true);
    if (at && (!at->refused || bytes < at->refused))
        at->refused = bytes;
}

static void tell_known(exchange *x, const mend_report *done, const daruma_target *t)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "known_mendings_applied";
    e.reason = str_of(done->what);
    e.target = t;
    exchange_event(x, &e);
}

void heal_known(exchange *x)
{
    mended *m = x->g->mended;
    if (!x->kase.can_mend || !x->kase.policy->mend.enabled || !x->kase.ntargets)
        return;
    uint64_t lane = x->targets[x->kase.want >= 0 ? x->kase.want : 0].lane_id;
    bool moves = exchange_dialect(x, x->kase.want >= 0 ? x->kase.want : 0) != x->d;
    convo_format most = memory_format(x->g->mem, lane);
    bool simpler = x->scan.schema && most < FORMAT_SCHEMA;
    bool lessons = m && !moves && mend_lessons_list(m->lessons, lane, NULL, 0) > 0;
    const mark *at = mark_of(m, x, false);
    bool known = at && at->compressed;
    if ((!lessons && !known && !simpler) || !heal_open(x))
        return;
    heal *h = x->h;
    mend_report done = {0}, taught = {0};
    if (known) {
        m->requests++;
        done = mend_known_apply(m->known, exchange_tenant(x), &h->m.c);
        m->hits += mend_did(&done);
    }
    if (lessons)
        taught = mend_lessons_apply(m->lessons, lane, &h->m.c);
    bool parameters = mend_did(&taught), formats = false;
    while (simpler && h->m.c.set.format > most && mend_format(&h->m.c, &taught))
        formats = true;
    bool shorter = mend_did(&done);
    mend_merge(&done, &taught);
    if (!mend_did(&done) || !heal_write(x))
        return;
    if (shorter)
        exchange_did(x, done.messages_mended ? DARUMA_REMEDY_COMPACT : DARUMA_REMEDY_MASK_TOOL_OUTPUT);
    if (parameters)
        exchange_did(x, DARUMA_REMEDY_MEND_PARAMETER);
    if (formats)
        exchange_did(x, DARUMA_REMEDY_LOWER_FORMAT);
    h->known = known;
    h->taught = parameters ? lane : 0;
    h->as_taught = x->body.p;
    tell_known(x, &done, &x->targets[x->kase.want >= 0 ? x->kase.want : 0]);
}

/* Who looks at the status reads names, and who taught it. */
static void tell_origin(exchange *x, uint64_t lane)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (x->targets[i].lane_id == lane) {
            memory_learned(x->g->mem, &x->targets[i], x->kase.id, gateway_now(x->g).now);
            return;
        }
}

void mended_learn(exchange *x)
{
    const heal *h = x->h;
    mended *m = h && h->nlessons ? mended_of(x->g) : NULL;
    bool learns = h && h->format;
    if (learns)
        memory_format_put(x->g->mem, h->lesson_lane, h->format);
    for (size_t i = 0; m && i < h->nlessons; i++) {
        mend_lesson l = h->lessons[i];
        l.by = x->kase.id;
        l.at = gateway_now(x->g).now;
        if (!l.once)
            mend_lessons_learn(m->lessons, h->lesson_lane, &l);
        learns |= !l.once;
    }
    if (learns)
        tell_origin(x, h->lesson_lane);
}

/* What was learned does not hold, and is told. */
static void forgot(exchange *x, daruma_str what, daruma_str why)
{
    daruma_buf b = buf_in(x->c->arena);
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "lesson_forgotten";
    buf_put(&b, what);
    BUF_LIT(&b, ": ");
    buf_put(&b, why);
    e.reason = buf_str(&b);
    exchange_event(x, &e);
}

bool mended_unlearn(exchange *x)
{
    heal *h = x->h;
    mended *m = x->g->mended;
    mend_lesson l;
    bool moved = x->p != x->d;
    uint64_t lane = moved ? x->targets[x->kase.target].lane_id : h->taught;
    if (!m || !lane || !mend_lessons_forget(m->lessons, lane, &x->failure, &l))
        return false;
    forgot(x, str_of(l.path), S("the provider asks for what was left out, or does not know its new name"));
    if (moved)
        return true; /* it is converted anew */
    if (x->body.p != h->as_taught)
        return false; /* more was mended since: the next request goes out without it */
    heal_use(x, h->from);
    h->m = (mending){.policy = &h->policy};
    h->read = h->known = false;
    h->taught = 0;
    heal_known(x);
    return true;
}

void heal_worked(exchange *x, int64_t input_tokens)
{
    heal *h = x->h;
    mark *at = mark_of(x->g->mended, x, false);
    mended_learn(x);
    if (memory_taken(x->g->mem, x->targets[x->kase.target].lane_id, input_tokens))
        forgot(x, S("context window"), S("a longer request was taken"));
    if (x->p == x->d)
        memory_rate_put(x->g->mem, exchange_counted(x), x->body.n, input_tokens);
    if (h && h->read && x->p == x->d && !h->m.c.before)
        memory_scale_put(x->g->mem, exchange_counted(x), convo_tokens(&h->m.c), input_tokens);
    if (at && at->refused && x->body.n >= at->refused)
        at->refused = 0; /* it was not its length */
    if (!h || (!h->m.shortened && !h->known))
        return;
    if (h->m.shortened && x->scan.conversation)
        memory_stuck_set(x->g->mem, exchange_session(x), 0);
    mended *m = mended_of(x->g);
    if (!m)
        return;
    if (h->read && x->scan.conversation) {
        convo before;
        if (h->d->read(h->from, x->c->arena, &before) == DARUMA_OK) {
            mend_known_learn(m->known, exchange_tenant(x), &before, &h->m.c);
            mark_of(m, x, true)->compressed = true;
        }
    }
}

void mended_moved(exchange *x, int target, daruma_str *body)
{
    mended *m = x->g->mended;
    const heal *h = x->h;
    uint64_t lane = x->targets[target].lane_id;
    bool known = m && mend_lessons_list(m->lessons, lane, NULL, 0) > 0,
         own = h && h->nlessons && h->lesson_lane == lane;
    convo c;
    mend_report done = {0};
    daruma_buf b = buf_in(x->c->arena);
    if ((!known && !own) || x->p->read(*body, x->c->arena, &c) != DARUMA_OK)
        return;
    if (known)
        done = mend_lessons_apply(m->lessons, lane, &c);
    for (size_t i = 0; own && i < h->nlessons; i++)
        mend_lesson_apply(&c, &h->lessons[i], &done);
    if (!mend_did(&done) || c.full)
        return;
    x->p->write(&c, &b);
    if (b.full)
        return;
    *body = buf_str(&b);
    exchange_did(x, DARUMA_REMEDY_MEND_PARAMETER);
    if (known)
        tell_known(x, &done, &x->targets[target]);
}

bool mended_moved_learn(exchange *x)
{
    heal *h = x->h;
    convo c;
    mend_lesson l;
    mend_report rep = {0};
    if (h->nlessons == HEAL_LESSONS_MAX || !x->moved || !x->moved->body.n ||
        x->p->read(x->moved->body, x->c->arena, &c) != DARUMA_OK || !mend_parameter(&c, &x->failure, &l, &rep))
        return false;
    l.once = !mend_lesson_lasts(&l, &x->failure);
    heal_lesson(x, &l);
    return true;
}

void mended_status(const gateway *g, daruma_buf *out)
{
    const mended *m = g->mended;
    mend_known_counts n = m ? mend_known_count(m->known) : (mend_known_counts){.bytes_max = KNOWN_TEXT_BYTES};
    buf_printf(
        out, "\"known_compressions\":{\"entries\":%u,\"bytes\":%zu,\"bytes_max\":%zu,\"looked_up\":%llu,\"hits\":%llu",
        n.entries, n.bytes, n.bytes_max, (unsigned long long)n.looked, (unsigned long long)n.hit);
    buf_printf(out, ",\"hit_rate\":%.3f,\"requests\":%llu,\"requests_hit\":%llu}",
               n.looked ? (double)n.hit / (double)n.looked : 0.0, (unsigned long long)(m ? m->requests : 0),
               (unsigned long long)(m ? m->hits : 0));
}

void mended_lessons(const gateway *g, uint64_t lane, daruma_buf *out)
{
    static const char *const ops[] = {[PATCH_SET] = "set", [PATCH_DROP] = "drop", [PATCH_RENAME] = "rename"};
    mend_lesson l[LESSONS_SHOWN];
    size_t n = g->mended ? mend_lessons_list(g->mended->lessons, lane, l, LESSONS_SHOWN) : 0;
    buf_putc(out, '[');
    for (size_t i = 0; i < n && i < LESSONS_SHOWN; i++) {
        buf_printf(out, "%s{\"do\":\"%s\",\"path\":", i ? "," : "", ops[l[i].op]);
        buf_json(out, str_of(l[i].path));
        if (l[i].op != PATCH_DROP) {
            BUF_LIT(out, ",\"value\":");
            buf_json(out, str_of(l[i].value));
        }
        BUF_LIT(out, ",\"case\":\"");
        buf_hex64(out, l[i].by);
        buf_printf(out, "\",\"ago_ms\":%lld,\"applied\":%u}", (long long)(gateway_now(g).now - l[i].at), l[i].applied);
    }
    buf_putc(out, ']');
}
