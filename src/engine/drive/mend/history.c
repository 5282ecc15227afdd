/* history.c - the conversation of one request: read when it is needed, written, given back. The engine's mend
 * room knows how remedies are carried out on it; here is in which order, and when something is worth sending. Stages
 * add up: what was masked stays masked when a summary has to help as well. Nothing is sent that does not fit by our own
 * estimate. */
#include "engine/drive/mend/history.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/limits.h"
#include "engine/mend/value.h"
#include <string.h>

void history_begin(history *h, const dialect *d, const drive_rooms *rooms, const daruma_mend_policy *p)
{
    *h = (history){.rooms = rooms, .d = d, .policy = *p};
    h->m.policy = &h->policy;
}

void history_end(history *h)
{
    drive_texts_close(h->rooms, h->task.made);
    h->task.made = NULL;
    h->learned = NULL;
    h->rooms->close(&h->learned_room);
    h->rooms->close(&h->own);
}

/* Gives back what was read; what remedies remember beside the messages stays. */
static void put_away(history *h)
{
    h->read = false;
    h->read_from = (daruma_str){0};
    h->m.c = (convo){0};
    h->m.from = h->m.to = (daruma_str){0};
    h->m.unsent = false;
    h->m.questions = NULL;
    h->m.nquestions = 0;
    h->m.large = NULL;
    h->rooms->close(&h->own);
}

/* Gives mending up: the request stays as it is. */
static void give_up(history *h)
{
    put_away(h);
    h->unread = h->too_much = true;
}

bool history_read(history *h, daruma_str body, size_t bytes)
{
    if (h->read || h->unread)
        return h->read;
    if (!h->rooms->open(&h->own, MEND_ROOM_BYTES_USUAL, bytes)) {
        give_up(h);
        return false;
    }
    daruma_status s = h->d->read(body, &h->own, &h->m.c);
    if (s == DARUMA_EFULL) {
        give_up(h);
        h->unread = bytes == MEND_ARENA_BYTES_MAX;
        return false;
    }
    h->rooms->widen(&h->own, MEND_ARENA_BYTES_MAX);
    h->read = s == DARUMA_OK;
    h->read_from = body;
    h->unread = !h->read;
    h->again |= h->from.n > 0;
    if (!h->from.n)
        h->from = body;
    return h->read;
}

bool history_read_apart(const drive_rooms *rooms, const dialect *d, daruma_str body, size_t bytes, daruma_arena *room,
                        convo *ret)
{
    bool read = rooms->open(room, MEND_ROOM_BYTES_USUAL, bytes) && d->read(body, room, ret) == DARUMA_OK;
    if (!read)
        rooms->close(room);
    return read;
}

/* True if what was read is too much to be kept while a provider thinks about the request. */
static bool is_much(const history *h)
{
    size_t has = h->rooms->bytes(&h->own);
    return has > MEND_KEPT_BYTES && has > h->from.n * MEND_KEPT_TIMES;
}

void history_rest(history *h)
{
    if (h->read && is_much(h))
        put_away(h);
}

drive_text *history_write(history *h, request_scan *ret)
{
    drive_text *made = h->m.c.full ? NULL : drive_text_write(h->rooms, h->d, &h->m.c, h->m.c.body.n);
    if (!made) {
        give_up(h);
        return NULL;
    }
    h->tokens = h->m.c.before ? 0 : convo_tokens(&h->m.c);
    *ret = h->d->scan(made->bytes, NULL, false);
    return made;
}

/* ---- going on with an answer ---- */

bool history_onward_make(const history *h, const history_rest_of *q, mend_report *rep, history_onward *ret)
{
    convo c;
    daruma_arena room;
    daruma_str of = h->resume_of.n ? h->resume_of : q->body; /* from cut to cut the client has more of the answer */
    *ret = (history_onward){.of = of, .how = h->going};
    if (!str_trim(q->so_far).n) {
        ret->scan = h->d->scan(of, NULL, false);
        mend_say(rep, "the answer broke off before its first word: it is asked once more");
        return true;
    }
    if (!history_read_apart(h->rooms, h->d, of, q->read_bytes, &room, &c))
        return false;
    h->rooms->widen(&room, MEND_ARENA_BYTES_MAX);
    if (q->prefills && !h->no_prefill && h->going == GOING_ANCHORED && mend_can_prefill(&c))
        ret->how = GOING_PREFILLED;
    bool good = mend_continue(&c, q->so_far, ret->how, rep);
    if (good && q->beside.limit > 0)
        mend_cap_beside(&c, q->beside, rep);
    if (good)
        ret->made = drive_text_write(h->rooms, h->d, &c, of.n);
    h->rooms->close(&room);
    if (ret->made)
        ret->scan = h->d->scan(ret->made->bytes, NULL, false);
    return ret->made != NULL;
}

/* ---- plans, and the work ---- */

/* ---- plans ---- */

mend_share history_beside(const history_target *to, const daruma_mend_policy *p)
{
    if (to->window <= 0 || to->shares_none || p->sends_any)
        return (mend_share){0};
    return (mend_share){to->window, ESTIMATE_RATE * 1000 / to->rate};
}

history_task *history_plan(history *h, const history_target *to, daruma_str body, const daruma_failure *f,
                           const daruma_remedy_kind *steps, size_t n)
{
    check(n <= HISTORY_STEPS_MAX);
    h->task = (history_task){.nsteps = n, .body = body, .f = *f, .to = *to, .beside = history_beside(to, &h->policy)};
    memcpy(h->task.steps, steps, n * sizeof *steps);
    h->m.last = n == 1 && (steps[0] == DARUMA_REMEDY_COMPACT || !h->policy.side_calls);
    return &h->task;
}

static convo_part *copy_parts(const turn *t, daruma_arena *a)
{
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

void history_bad_answer(history *h, const turn *bad, daruma_str why, daruma_arena *keep)
{
    turn *t = ARENA_NEW(keep, turn, 1);
    if (!t)
        return;
    t->message.role = CONVO_ASSISTANT;
    t->message.parts = copy_parts(bad, keep);
    t->message.nparts = t->message.parts ? bad->message.nparts : 0;
    t->finish = bad->finish;
    t->usage = TURN_USAGE_NONE;
    h->m.bad = t;
    h->m.bad_why = arena_copy(keep, why);
}

/* ---- the work ---- */

bool history_is_long(const history_task *t, int64_t used, int64_t cap)
{
    int64_t half = t->to.window / 2, taken = cap < 0 ? 0 : t->to.shares_none && cap > half ? half : cap;
    return used > t->to.window * WINDOW_NEAR_PERCENT / 100 - taken;
}

/* True if the request is too long indeed. Media are many bytes and few tokens: what was read is counted by our
 * estimate, as the provider's own count scales it. */
static bool too_long_indeed(history *h)
{
    history_task *t = &h->task;
    if (t->f.limit < 0)
        return true;
    int64_t tokens = convo_tokens(&h->m.c);
    t->f.used = t->to.scale ? mul_sat(tokens, t->to.scale) / 1000 : mul_sat(tokens, ESTIMATE_RATE) / t->to.rate;
    return history_is_long(t, t->f.used, h->m.c.set.max_output);
}

/* Counts what one more remedy goes through. False: it is more than is gone through for one request, mending is given
 * up. */
static bool spend_steps(history *h)
{
    const convo *c = &h->m.c;
    h->nodes += c->ntools + c->nmessages;
    for (size_t i = 0; i < c->nmessages; i++)
        h->nodes += c->messages[i].nparts;
    if (h->nodes > MEND_NODES_MAX)
        give_up(h);
    return h->read;
}

static mending_result do_step(history *h, daruma_remedy_kind r)
{
    history_task *t = &h->task;
    daruma_failure f = t->f;
    if (r == DARUMA_REMEDY_CLAMP_OUTPUT && t->weighs) { /* is it the output cap alone that is too much? */
        if (f.limit < 0 || t->to.shares_none)
            return MENDING_UNFIT;
        f.used = mul_sat(f.used, 100) / WINDOW_NEAR_PERCENT;
    }
    return mending_begin(&h->m, r, &f, t->to.window);
}

/* Notes what was shortened where it cannot be seen any more when the request succeeds. */
static void note_shortened(history *h)
{
    daruma_arena room;
    convo before;
    size_t bytes = mend_known_room(&h->m.c);
    if (!h->m.shortened || h->again || !is_much(h))
        return;
    h->rooms->close(&h->learned_room);
    h->learned = h->rooms->open(&h->learned_room, mend_known_bytes(bytes), mend_known_bytes(bytes))
                     ? mend_known_new(&h->learned_room, bytes)
                     : NULL;
    if (!h->learned || !history_read_apart(h->rooms, h->d, h->from, MEND_ARENA_BYTES_MAX, &room, &before))
        return;
    mend_known_learn(h->learned, h->task.to.tenant, &before, &h->m.c);
    h->rooms->close(&room);
}

/* What the failure names in the request as it was sent is looked for in the conversation at hand. */
static mend_sent sent_as(const history *h)
{
    const history_task *t = &h->task;
    mend_sent ret = {.elsewhere = t->sent_d != NULL};
    daruma_arena room;
    convo c;
    if (!ret.elsewhere || !t->sent.n ||
        !history_read_apart(h->rooms, t->sent_d, t->sent, MEND_ARENA_BYTES_MAX, &room, &c))
        return ret;
    ret.media = mend_media_of(&c, &t->f);
    h->rooms->close(&room);
    return ret;
}

/* Tries the steps from the one at hand on. */
static void do_steps(history *h)
{
    history_task *t = &h->task;
    if (!history_read(h, t->body, MEND_ARENA_BYTES_MAX))
        return;
    if (t->to.facts && !t->at)
        drive_facts_apply(t->to.facts, &h->m.c);
    if (t->weighs && !t->at && !too_long_indeed(h))
        return;
    h->m.sent = sent_as(h);
    while (t->result == MENDING_UNFIT && t->at < t->nsteps && spend_steps(h)) {
        t->did = t->steps[t->at++];
        t->result = do_step(h, t->did);
        if (h->m.c.full)
            give_up(h);
    }
}

void history_work(void *history_)
{
    history *h = history_;
    history_task *t = &h->task;
    t->result = MENDING_UNFIT;
    if (t->ends)
        t->result = mending_end(&h->m);
    if (t->result == MENDING_UNFIT && (!t->ends || (h->read && t->at < t->nsteps))) {
        t->ends = false;
        do_steps(h);
    }
    if (!h->read)
        t->result = MENDING_UNFIT;
    if (t->result != MENDING_DONE)
        return;
    if (h->m.doing == DARUMA_REMEDY_ASK_AGAIN && t->beside.limit > 0)
        mend_cap_beside(&h->m.c, t->beside, &h->m.report);
    t->made = history_write(h, &t->scan);
    if (t->made && h->m.doing == DARUMA_REMEDY_SHRINK_REQUEST) { /* it is bytes that are too many */
        h->m.original_chars = (int64_t)t->body.n;
        h->m.compressed_chars = (int64_t)t->made->bytes.n;
    }
    if (t->made)
        note_shortened(h);
    else
        t->result = MENDING_UNFIT;
}

/* ---- what is known of a target ---- */

void drive_facts_apply(drive_facts *f, convo *c)
{
    for (size_t i = 0; i < f->nlessons; i++) {
        f->lessons[i].applied = mend_lesson_apply(c, &f->lessons[i], &f->report);
        f->parameters |= f->lessons[i].applied;
    }
    f->messages = f->half_thought && mend_half_thinking(c, f->signs, &f->report);
    f->messages |= mend_habits(c, f->habits, &f->report);
    while (c->set.format > f->most && mend_format(c, &f->report))
        f->formats = true;
}
