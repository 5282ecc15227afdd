/* history.c - the conversation of one request: read when it is needed, written, given back. history_work.c carries
 * remedies out on it. */
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/mend/history.h"
#include "engine/mend/value.h"

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

void history_give_up(history *h)
{
    put_away(h);
    h->unread = h->too_much = true;
}

bool history_read(history *h, daruma_str body, size_t bytes)
{
    if (h->read || h->unread)
        return h->read;
    if (!h->rooms->open(&h->own, MEND_ROOM_BYTES_USUAL, bytes)) {
        history_give_up(h);
        return false;
    }
    daruma_status s = h->d->read(body, &h->own, &h->m.c);
    if (s == DARUMA_EFULL) {
        history_give_up(h);
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

bool history_is_much(const history *h, size_t bytes)
{
    size_t has = h->rooms->bytes(&h->own);
    return has > MEND_KEPT_BYTES && has > bytes * MEND_KEPT_TIMES;
}

void history_rest(history *h)
{
    if (h->read && history_is_much(h, h->from.n))
        put_away(h);
}

drive_text *history_write(history *h, request_scan *ret)
{
    drive_text *made = h->m.c.full ? NULL : drive_text_write(h->rooms, h->d, &h->m.c, h->m.c.body.n);
    if (!made) {
        history_give_up(h);
        return NULL;
    }
    h->tokens = h->m.c.before ? 0 : convo_tokens(&h->m.c);
    *ret = h->d->scan(made->bytes, NULL);
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
        ret->scan = h->d->scan(of, NULL);
        mend_say(rep, "the answer broke off before its first word: it is asked once more");
        return true;
    }
    if (!h->rooms->open(&room, MEND_ROOM_BYTES_USUAL, q->read_bytes))
        return false;
    if (h->d->read(of, &room, &c) == DARUMA_OK) {
        h->rooms->widen(&room, MEND_ARENA_BYTES_MAX);
        if (q->prefills && !h->no_prefill && h->going == GOING_ANCHORED && mend_can_prefill(&c))
            ret->how = GOING_PREFILLED;
        bool good = mend_continue(&c, q->so_far, ret->how, rep);
        if (good && q->beside.limit > 0)
            mend_cap_beside(&c, q->beside, rep);
        if (good)
            ret->made = drive_text_write(h->rooms, h->d, &c, of.n);
    }
    h->rooms->close(&room);
    if (ret->made)
        ret->scan = h->d->scan(ret->made->bytes, NULL);
    return ret->made != NULL;
}
