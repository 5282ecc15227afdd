/* recall.c - what was mended before, so that it is mended at once the next time: compressions of tool output by their
 * content, and what models were found to refuse. Tenants share nothing: lessons are of a lane, an account's way to a
 * model, and a client's own key is an account. What was learned and hurts is forgotten. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/record.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/mend/recall.h"
#include "engine/drive/request/apis.h"
#include "engine/drive/request/betas.h"

enum { CONVERSATIONS = 8192 /* a power of two: direct-mapped marks */ };

typedef struct mark {
    uint64_t conversation; /* 0 empty */
    size_t refused;        /* bytes of the smallest request of it that was too long, where nobody said for what */
    bool half_thought;     /* its client has thinking that broke off before its signature */
    bool signs;            /* ... and its provider refused that for its signature */
    bool compressed;       /* something of it is among the known compressions */
} mark;

struct mended {
    daruma_arena arena;
    mend_known *known;
    mend_lessons *lessons;
    mark *marks;             /* conversations of which something is known, direct-mapped */
    uint64_t requests, hits; /* requests of such conversations, and those where something was found */
    uint32_t readers;        /* requests that are under way on another thread, and look into the tables */
    bool closed;             /* the gateway is over: the last of them frees it */
};

static mended *mended_of(driver *v)
{
    if (v->mended)
        return v->mended;
    mended *m = v->rooms->take(sizeof *m);
    if (!m)
        return NULL;
    size_t bytes = mend_known_bytes(KNOWN_TEXT_BYTES) + mend_lessons_bytes(LESSON_LANES) + 4096;
    if (v->rooms->open(&m->arena, 0, bytes * 2)) {
        m->known = mend_known_new(&m->arena, KNOWN_TEXT_BYTES);
        m->lessons = mend_lessons_new(&m->arena, LESSON_LANES);
        m->marks = v->rooms->take(CONVERSATIONS * sizeof *m->marks);
    }
    if (!m->known || !m->lessons || !m->marks) {
        v->rooms->close(&m->arena);
        v->rooms->give(m->marks);
        v->rooms->give(m);
        return NULL;
    }
    v->mended = m;
    return m;
}

void mended_free(const drive_rooms *rooms, mended *m)
{
    if (!m)
        return;
    m->closed = true;
    if (m->readers)
        return;
    rooms->close(&m->arena);
    rooms->give(m->marks);
    rooms->give(m);
}

/* NULL when there is none, and `make` does not make one. */
static mark *mark_at(const mended *m, uint64_t conversation, uint64_t credential, bool make)
{
    uint64_t id = conversation ^ credential;
    mark *at = m && conversation ? &m->marks[id & (CONVERSATIONS - 1)] : NULL;
    if (at && at->conversation != id) {
        if (!make)
            return NULL;
        *at = (mark){.conversation = id};
    }
    return at;
}

static mark *mark_of(const mended *m, const session *x, bool make)
{
    return mark_at(m, x->out.scan.conversation, x->client.credential, make);
}

size_t mended_refused(const session *x)
{
    const mark *at = mark_of(x->v->mended, x, false);
    return at ? at->refused : 0;
}

void mended_refuse(session *x, size_t bytes)
{
    mark *at = mark_of(mended_of(x->v), x, true);
    if (at && (!at->refused || bytes < at->refused))
        at->refused = bytes;
}

void mended_half_thought(session *x, bool signs)
{
    mark *at = mark_of(mended_of(x->v), x, true);
    if (!at)
        return;
    at->half_thought = true;
    at->signs |= signs;
}

/* Half of what it thought comes back from the client, and is refused. */
static bool has_half_thought(const session *x, int target)
{
    const mark *at = mark_of(x->v->mended, x, false);
    return at && at->half_thought && session_dialect(x, target) == x->d;
}

bool driver_whole_thoughts(const driver *v, const daruma_policy *p, const dialect *d, uint64_t credential,
                           daruma_str *body, daruma_arena *a)
{
    if (!p->enabled || !p->mend.enabled)
        return false;
    request_scan scan = v->mended && body->n <= LOOP_BYTES_MAX ? d->scan(*body, NULL, false) : (request_scan){0};
    const mark *at = scan.ok ? mark_at(v->mended, scan.conversation, credential, false) : NULL;
    daruma_arena room;
    convo c;
    mend_report rep = {0};
    if (!at || !at->half_thought || !history_read_apart(v->rooms, d, *body, LOOP_READ_BYTES_MAX, &room, &c))
        return false;
    daruma_buf out = buf_in(a);
    bool did = mend_half_thinking(&c, at->signs, &rep);
    if (did)
        d->write(&c, &out);
    did &= !c.full && !out.full;
    v->rooms->close(&room);
    *body = did ? buf_str(&out) : *body;
    return did;
}

static void tell_known(session *x, const mend_report *done, int target)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "known_mendings_applied";
    e.reason = str_of(done->what);
    e.target = &x->targets[target];
    session_event(x, &e);
}

/* ---- compressions ---- */

/* What is known is done to the conversation, perhaps on another thread: the table does not change meanwhile. */
typedef struct knowing {
    history *past;
    mended *m;
    daruma_str body;
    uint64_t tenant;
    /* what came of it */
    mend_report done;
    drive_text *made;
    request_scan scan;
} knowing;

static void apply_known(void *data)
{
    knowing *k = data;
    history *past = k->past;
    if (!history_read(past, k->body, MEND_ARENA_BYTES_MAX))
        return;
    k->done = mend_known_apply(k->m->known, k->tenant, &past->m.c);
    if (mend_did(&k->done) || past->m.c.full)
        k->made = history_write(past, &k->scan);
}

static void known_over(knowing *k)
{
    mended *m = k->m;
    const drive_rooms *rooms = k->past->rooms;
    if (--m->readers == 0 && m->closed)
        mended_free(rooms, m);
    rooms->give(k);
}

static void known_drop(void *data)
{
    knowing *k = data;
    drive_texts_close(k->past->rooms, k->made);
    known_over(k);
}

static void known_done(session *x, knowing *k)
{
    session_mend_tell_limits(x);
    k->m->hits += mend_did(&k->done);
    if (k->made) {
        session_mend_take(x, k->made, &k->scan);
        session_did(x, k->done.messages_mended ? DARUMA_REMEDY_COMPACT : DARUMA_REMEDY_MASK_TOOL_OUTPUT);
        x->h->known = true;
        tell_known(x, &k->done, x->kase.want >= 0 ? x->kase.want : 0);
    }
    known_over(k);
}

static void known_then(session *x, void *data)
{
    known_done(x, data);
    session_known(x);
}

bool session_mend_known(session *x)
{
    static const drive_work known_work = {.work = apply_known, .then = known_then, .drop = known_drop};
    mended *m = x->v->mended;
    const mark *at = mark_of(m, x, false);
    if (!at || !at->compressed || !x->kase.can_mend || !x->kase.policy->mend.enabled || !x->kase.ntargets ||
        !session_mend_can(x))
        return true;
    knowing *k = x->v->rooms->take(sizeof *k);
    if (!k)
        return true;
    *k = (knowing){.past = &x->h->past, .m = m, .body = x->out.body, .tenant = session_tenant(x)};
    m->readers++;
    m->requests++;
    if (!session_work(x, x->out.body.n, &known_work, k))
        return false;
    known_done(x, k);
    return true;
}

/* ---- lessons ---- */

/* The target whose lane the lessons at hand are about; NULL: it is none of this request's. */
static const daruma_target *taught_by(const session *x)
{
    for (size_t i = 0; i < x->kase.ntargets; i++)
        if (x->targets[i].lane_id == x->h->lesson_lane)
            return &x->targets[i];
    return NULL;
}

/* Who looks at the status reads names, and who taught it. */
static void tell_origin(session *x, const daruma_target *t)
{
    memory_learned(x->v->mem, t, x->kase.id, session_now(x).now);
}

void mended_learn(session *x)
{
    const session_mending *h = x->h;
    mended *m = h && h->nlessons ? mended_of(x->v) : NULL;
    const daruma_target *t = m ? taught_by(x) : NULL;
    bool learns = false;
    for (size_t i = 0; t && i < h->nlessons; i++) {
        mend_lesson l = h->lessons[i];
        l.by = x->kase.id;
        l.at = session_now(x).now;
        if (!l.once)
            mend_lessons_learn(m->lessons, t->lane_id, t->account_id, &l);
        learns |= !l.once;
    }
    if (learns)
        tell_origin(x, t);
}

/* It took the request, as it was mended. */
static void learn_habits(session *x)
{
    const session_mending *h = x->h;
    const daruma_target *t = h && (h->format || h->habits) ? taught_by(x) : NULL;
    if (!t)
        return;
    if (h->format)
        memory_format_put(x->v->mem, t, h->format, session_now(x).now);
    if (h->habits)
        memory_habits_learn(x->v->mem, t, h->habits, session_now(x).now);
    tell_origin(x, t);
}

/* What was learned does not hold, and is told. */
static void forgot(session *x, daruma_str what, daruma_str why)
{
    daruma_buf b = buf_in(x->arena);
    BUF_SAY(&b, what, ": ", why);
    session_say(x, "lesson_forgotten", buf_str(&b));
}

/* What was written for targets is written anew. */
static void forget_made(session *x)
{
    if (x->moved)
        x->moved->of = 0;
    if (x->variant)
        x->variant->edition = 0;
}

bool mended_unlearn(session *x)
{
    mended *m = x->v->mended;
    mend_lesson l;
    if (!m || !mend_lessons_forget(m->lessons, x->targets[x->kase.target].lane_id, &session_last(x)->failure, &l))
        return false;
    forgot(x, str_of(l.path), S("the provider asks for what was left out, or does not know its new name"));
    forget_made(x);
    return true;
}

bool mended_unlearn_habits(session *x)
{
    const daruma_target *t = &x->targets[x->kase.target];
    uint32_t known = memory_lane(x->v->mem, t->lane_id, x->v->at.now)->habits;
    uint32_t hurt = mend_habits_hurt(known, &session_last(x)->failure);
    const char *name;
    if (!hurt)
        return false;
    memory_habits_forget(x->v->mem, t, hurt, session_now(x).now);
    for (size_t i = 0; (name = mend_habit_name(hurt, i)); i++)
        forgot(x, str_of(name), S("the provider refuses what was done to the messages"));
    forget_made(x);
    return true;
}

/* Reads the request as it was moved to another dialect, on the loop. */
static bool read_moved(const session *x, daruma_arena *room, convo *c)
{
    const moved_request *m = x->moved;
    return m && m->body.n && m->body.n <= LOOP_BYTES_MAX && session_mend_is_brief(x) &&
           history_read_apart(x->v->rooms, x->p, m->body, LOOP_READ_BYTES_MAX, room, c);
}

bool mended_moved_habits(session *x)
{
    session_mending *h = x->h;
    convo c;
    uint32_t habits = 0;
    daruma_arena room;
    if (!read_moved(x, &room, &c))
        return false;
    mend_messages(&c, &session_last(x)->failure, NULL, &habits);
    bool found = habits && !c.full;
    x->v->rooms->close(&room);
    uint64_t lane = x->targets[x->kase.target].lane_id;
    if (!found || (h->lesson_lane == lane && !(habits & ~h->habits))) /* it had them done to it */
        return false;
    session_mend_learns_of(h, lane);
    h->habits |= habits;
    forget_made(x);
    return true;
}

static bool learn_shortened(session *x, mended *m)
{
    const history *h = &x->h->past;
    convo before;
    daruma_arena room;
    if (!history_read_apart(x->v->rooms, h->d, h->from, MEND_ARENA_BYTES_MAX, &room, &before))
        return false;
    mend_known_learn(m->known, session_tenant(x), &before, &h->m.c);
    x->v->rooms->close(&room);
    return true;
}

void session_mend_worked(session *x, int64_t input_tokens)
{
    session_mending *h = x->h;
    mark *at = mark_of(x->v->mended, x, false);
    if (h && h->lesson_lane == x->targets[x->kase.target].lane_id) { /* else another one answered */
        mended_learn(x);
        learn_habits(x);
    }
    if (!betas_widen(x) && memory_taken(x->v->mem, &x->targets[x->kase.target], input_tokens))
        forgot(x, S("context window"), S("a longer request was taken"));
    if (x->p == x->d)
        memory_rate_put(x->v->mem, session_counted(x), x->out.body.n, input_tokens);
    history *past = h ? &h->past : NULL;
    bool counts = past && past->read && !past->tokens && !past->m.c.before;
    int64_t tokens = counts ? convo_tokens(&past->m.c) : past ? past->tokens : 0;
    if (tokens && x->p == x->d)
        memory_scale_put(x->v->mem, session_counted(x), tokens, input_tokens);
    if (at && at->refused && x->out.body.n >= at->refused)
        at->refused = 0; /* it was not its length */
    if (!h || (!past->m.shortened && !h->known))
        return;
    if (past->m.shortened && x->out.scan.conversation)
        memory_stuck_set(x->v->mem, session_session(x), 0);
    mended *m = mended_of(x->v);
    if (!m || m->readers || !x->out.scan.conversation)
        return; /* while the table is read on another thread: it is mended anew the next time */
    if (past->learned)
        mend_known_merge(m->known, past->learned);
    else if (!past->read || past->again || !learn_shortened(x, m))
        return;
    mark_of(m, x, true)->compressed = true;
}

/* The most of a response format that the target takes, of those asked for. */
static convo_format format_of(const session *x, int target)
{
    convo_format most = memory_lane(x->v->mem, x->targets[target].lane_id, x->v->at.now)->format;
    return x->out.scan.schema && most ? most : FORMAT_SCHEMA;
}

bool mended_knows(const session *x, int target)
{
    const mended *m = x->v->mended;
    return x->kase.can_mend && x->kase.policy->mend.enabled &&
           ((m && mend_lessons_list(m->lessons, x->targets[target].lane_id, NULL, 0) > 0) ||
            format_of(x, target) < FORMAT_SCHEMA || has_half_thought(x, target) ||
            memory_lane(x->v->mem, x->targets[target].lane_id, x->v->at.now)->habits);
}

void mended_know(const session *x, int target, drive_facts *ret)
{
    const mended *m = x->v->mended;
    const session_mending *h = x->h;
    uint64_t lane = x->targets[target].lane_id;
    bool knows = mended_knows(x, target), moves = session_dialect(x, target) != x->d; /* else they are done to it */
    if (knows && m)
        mend_lessons_expire(m->lessons, lane, x->v->at.now);
    size_t n = knows && m ? mend_lessons_list(m->lessons, lane, ret->lessons, LESSONS_APPLIED_MAX) : 0;
    n = n < LESSONS_APPLIED_MAX ? n : LESSONS_APPLIED_MAX;
    ret->most = knows ? format_of(x, target) : FORMAT_SCHEMA;
    ret->habits = ret->habits_known = knows ? memory_lane(x->v->mem, lane, x->v->at.now)->habits : 0;
    ret->half_thought = knows && has_half_thought(x, target);
    ret->signs = ret->half_thought && mark_of(m, x, false)->signs;
    if (moves && h && h->lesson_lane == lane)
        ret->habits |= h->habits;
    ret->nknown = n;
    for (size_t i = 0; moves && h && h->lesson_lane == lane && i < h->nlessons && n < LESSONS_APPLIED_MAX; i++)
        ret->lessons[n++] = h->lessons[i];
    ret->nlessons = n;
}

void mended_did(session *x, int target, const drive_facts *f)
{
    bool known = f->formats || (f->messages && (f->habits_known || f->half_thought));
    if (f->parameters)
        session_did(x, DARUMA_REMEDY_MEND_PARAMETER);
    if (f->formats)
        session_did(x, DARUMA_REMEDY_LOWER_FORMAT);
    if (f->messages)
        session_did(x, DARUMA_REMEDY_MEND_MESSAGES);
    for (size_t i = 0; x->v->mended && i < f->nknown; i++)
        if (f->lessons[i].applied) {
            mend_lessons_counted(x->v->mended->lessons, x->targets[target].lane_id, &f->lessons[i]);
            known = true;
        }
    if (known)
        tell_known(x, &f->report, target);
}

bool mended_moved_learn(session *x)
{
    session_mending *h = x->h;
    convo c;
    mend_lesson l;
    mend_report rep = {0};
    daruma_arena room;
    if (h->nlessons == SESSION_MEND_LESSONS_MAX || !read_moved(x, &room, &c))
        return false;
    bool found = mend_parameter(&c, &session_last(x)->failure, &l, &rep) && !c.full;
    l.once = found && !mend_lesson_lasts(&c, &l, &session_last(x)->failure);
    x->v->rooms->close(&room);
    if (!found)
        return false;
    session_mend_lesson(x, &l);
    return true;
}

void driver_known_status(const driver *v, daruma_buf *out)
{
    const mended *m = v->mended;
    mend_known_counts n = m ? mend_known_count(m->known) : (mend_known_counts){.bytes_max = KNOWN_TEXT_BYTES};
    buf_printf(
        out, "\"known_compressions\":{\"entries\":%u,\"bytes\":%zu,\"bytes_max\":%zu,\"looked_up\":%llu,\"hits\":%llu",
        n.entries, n.bytes, n.bytes_max, (unsigned long long)n.looked, (unsigned long long)n.hit);
    buf_printf(out, ",\"hit_rate\":%.3f,\"requests\":%llu,\"requests_hit\":%llu}",
               n.looked ? (double)n.hit / (double)n.looked : 0.0, (unsigned long long)(m ? m->requests : 0),
               (unsigned long long)(m ? m->hits : 0));
}

void driver_lessons_status(const driver *v, uint64_t lane, daruma_buf *out)
{
    static const char *const ops[] = {[PATCH_SET] = "set", [PATCH_DROP] = "drop", [PATCH_RENAME] = "rename"};
    mend_lesson l[LESSONS_SHOWN];
    size_t n = v->mended ? mend_lessons_list(v->mended->lessons, lane, l, LESSONS_SHOWN) : 0;
    buf_putc(out, '[');
    for (size_t i = 0; i < n && i < LESSONS_SHOWN; i++) {
        buf_putz(out, i ? ",{" : "{");
        BUF_MEMBERS(out, "do", ops[l[i].op], "path", l[i].path, "value", BUF_IF(l[i].op != PATCH_DROP, l[i].value));
        BUF_LIT(out, ",\"case\":\"");
        buf_hex64(out, l[i].by);
        buf_printf(out, "\",\"ago_ms\":%lld,\"applied\":%u}", (long long)(v->at.now - l[i].at), l[i].applied);
    }
    buf_putc(out, ']');
}

/* ---- a snapshot ---- */

// clang-format off
static const record_member mark_members[] = {
    RECORD_MEMBER(RECORD_ID,    mark, "id", conversation),
    RECORD_MEMBER(RECORD_WHOLE, mark, "refused", refused),
    RECORD_MEMBER(RECORD_FLAG,  mark, "compressed", compressed),
    RECORD_MEMBER(RECORD_FLAG,  mark, "half_thought", half_thought),
    RECORD_MEMBER(RECORD_FLAG,  mark, "signs", signs),
};
// clang-format on
static const record_table marks = {"mark", mark_members, COUNT(mark_members)};

void mended_save(const mended *m, daruma_ms now, daruma_buf *out)
{
    if (!m)
        return;
    for (size_t i = 0; i < CONVERSATIONS; i++)
        if (m->marks[i].conversation) {
            record_write(out, &marks, &m->marks[i], now);
            BUF_LIT(out, "}\n");
        }
    mend_lessons_save(m->lessons, now, out);
    mend_known_save(m->known, out);
}

static bool load_mark(driver *v, daruma_str line, daruma_ms now, daruma_ms aged)
{
    mark got = {0};
    mended *m = record_read(&marks, line, &got, now, aged) && got.conversation ? mended_of(v) : NULL;
    if (m)
        m->marks[got.conversation % CONVERSATIONS] = got;
    return m != NULL;
}

static bool load_known(driver *v, daruma_str line)
{
    mended *m = mended_of(v);
    daruma_arena room = {0};
    if (!m || m->readers || !v->rooms->open(&room, 0, line.n + 4096))
        return false;
    bool fine = mend_known_load(m->known, line, &room);
    v->rooms->close(&room);
    return fine;
}

bool mended_busy(const driver *v)
{
    return v->mended && v->mended->readers;
}

bool mended_load(driver *v, daruma_str line, daruma_ms now, daruma_ms aged)
{
    daruma_str what = record_name(line);
    if (str_eq(what, str_of(marks.what)))
        return load_mark(v, line, now, aged);
    if (str_eq(what, S(MEND_KNOWN_RECORD)))
        return load_known(v, line);
    mended *m = str_eq(what, S(MEND_LESSON_RECORD)) ? mended_of(v) : NULL;
    return m && !m->readers && mend_lessons_load(m->lessons, line, now, aged);
}
