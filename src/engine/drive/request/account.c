/* account.c - requests that only one account can answer, since they name what it alone has: stored answers, reasoning
 * that is encrypted for it, files. They go there, and elsewhere only without it. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/request/account.h"
#include "engine/mend/request/request.h"
#include <xxhash.h>

static void spoil_others(session *x, size_t owner, uint8_t spoiled)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[owner].account_id)
            x->kase.spoiled[i] = spoiled;
    x->home.kept = spoiled;
}

/* Nobody is asked but the account of that target. */
static void keep_account(session *x, size_t owner)
{
    spoil_others(x, owner, 1);
    x->kase.want = (int)owner;
}

/* What a stored answer refers to is known to the account that made it, and to nobody else. Where nobody knows who made
 * it, that is the account which answered this conversation last. */
void account_pin(session *x)
{
    if (x->out.scan.remote)
        x->kase.nreserve = 0; /* nobody else has what it names */
    if (!x->out.scan.remote || x->kase.ntargets < 2)
        return;
    uint64_t key = x->out.scan.remote_id ? memory_owner(x->v->mem, x->out.scan.remote_id ^ x->client.credential) : 0;
    size_t owner = x->home.target;
    for (size_t i = x->kase.ntargets; key && i--;) /* its other models have the same key: the preferred one is first */
        if (x->targets[i].key_id == key)
            owner = i;
    if (owner >= DARUMA_CASE_TRIED) /* the case does not count so far */
        owner = 0;
    keep_account(x, owner);
    x->home.target = owner;
    x->home.bound = !x->out.scan.remote_id;
}

/* True if the account at hand can do nothing for this request soon. */
static bool is_useless(const session *x, const daruma_failure *f, daruma_ms now)
{
    const daruma_target *t = &x->targets[x->home.target];
    daruma_condition h = daruma_health_look(x->v->health, t, now);
    if (!h.well && h.in > BOUND_REST_MS_MAX &&
        (h.alone_in > BOUND_REST_MS_MAX || h.named_in > BOUND_REST_MS_MAX || !daruma_kind_passes(h.why)))
        return true;
    if (!f)
        return false;
    bool account = f->kind == DARUMA_QUOTA || f->kind == DARUMA_PERMISSION || f->kind == DARUMA_MODEL_NOT_FOUND ||
                   (f->kind == DARUMA_AUTH && !x->kase.can_refresh);
    bool again = f->retryable && x->kase.calls[x->home.target] > 1; /* it was tried again already */
    return account || again || (f->retryable && f->wait > BOUND_REST_MS_MAX);
}

/* The first well target of another account; STR_NONE when there is none. */
static size_t elsewhere(const session *x, daruma_ms now)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[x->home.target].account_id && !x->kase.calls[i] &&
            daruma_health_look(x->v->health, &x->targets[i], now).well)
            return i;
    return STR_NONE;
}

/* Puts what the account keeps of this conversation in the place of references to it, as far as it passed through here.
 */
static bool unfold(session *x, daruma_str missing)
{
    drive_text *made = x->h && x->h->past.read ? NULL : past_unfold(x, true, missing);
    if (!made)
        return false;
    request_scan scan = x->d->scan(made->bytes, NULL, false);
    session_mend_use(x, session_own(x, made), &scan);
    return true;
}

/* True if the account does not keep an item that the request refers to: it keeps nothing, or not for so long. Files and
 * answers that are not found say nothing of items. */
static bool lacks_item(const session *x, const daruma_failure *f)
{
    return f && f->kind == DARUMA_INVALID_MESSAGE && x->kase.can_mend && x->out.scan.remote &&
           str_ifind(f->message, S("item with id")) != STR_NONE && str_ifind(f->message, S("not found")) != STR_NONE;
}

void session_loosen(session *x, const daruma_failure *f)
{
    daruma_ms now = session_now(x).now;
    if (lacks_item(x, f)) /* what is wrong with it then is mended as in any other item */
        unfold(x, f->message);
    if (!x->home.bound || x->client.forwarded || !x->kase.can_mend || !is_useless(x, f, now) ||
        elsewhere(x, now) == STR_NONE)
        return;
    x->home.bound = false;
    bool whole = unfold(x, (daruma_str){0});
    if (!session_mend_open(x) || dialect_stuck(&x->h->past.m.c) ||
        !(mend_strange_thinking(&x->h->past.m.c) ? session_mend_write(x) : whole))
        return;
    spoil_others(x, x->home.target, 0);
    if (!f)
        x->kase.want = -1;
    session_say(x, "request_converted",
                S("written for another account; left out: reasoning that only the first one can read"));
}

bool session_stay(session *x, int target)
{
    bool marked = false;
    if (x->home.looked || !x->d || x->opaque || !x->out.scan.ok || x->out.scan.remote || x->kase.ntargets < 2)
        return false;
    if (target >= 0 && x->targets[target].account_id == x->targets[x->home.target].account_id)
        return false;
    x->home.looked = true;
    for (size_t i = 0; i < COUNT(x->d->remote_marks) && !marked; i++)
        marked = x->d->remote_marks[i].n && str_find(x->out.body, x->d->remote_marks[i]) != STR_NONE;
    if (!marked || !session_mend_open(x) || !x->h->past.m.c.remote)
        return false;
    session_say(x, "request_not_convertible", S("this request names what only one account of its provider has"));
    keep_account(x, x->home.target);
    return true;
}

/* ---- the ids of stored answers ---- */

static daruma_str id_of(session *x, daruma_str whole)
{
    return json_text(json_get(str_sub(whole, 0, ANSWER_ID_BYTES_MAX), S("id")), x->arena);
}

daruma_str session_answer_id(session *x)
{
    return session_talks(x) ? talk_id(x) : id_of(x, buf_str(&x->answer.held));
}

void account_remember(session *x, daruma_str whole)
{
    if (!x->out.scan.keeps && x->d != &dialect_openai_responses)
        return;
    const daruma_target *t = &x->targets[x->kase.target];
    daruma_str id = whole.n ? id_of(x, whole) : session_answer_id(x),
               theirs = !whole.n && session_talks(x) ? talk_their_id(x) : id;
    if (!id.n)
        return;
    uint64_t answer = XXH3_64bits(id.p, id.n) ^ x->client.credential;
    if (x->kase.ntargets > 1)
        memory_owner_put(x->v->mem, answer, x->client.credential, t->key_id);
    if (x->p == x->d && theirs.n && !str_eq(id, theirs) && !x->out.scan.unstored)
        memory_renamed_put(x->v->mem, answer, theirs);
}

void account_name_stored(session *x, uint32_t *newest)
{
    const request_scan was = x->out.scan;
    daruma_str id = was.before ? memory_renamed(x->v->mem, was.before ^ x->client.credential) : (daruma_str){0};
    daruma_str named = id.n && x->kase.can_mend && x->out.body.n < LOOK_BYTES_MAX
                           ? json_get(x->out.body, S("previous_response_id"))
                           : (daruma_str){0};
    daruma_arena room;
    if (!named.n || !x->v->rooms->open(&room, x->out.body.n + 2 * RENAMED_ID_BYTES_MAX, MEND_ARENA_BYTES_MAX))
        return;
    daruma_buf out = buf_in(&room);
    BUF_SAY(&out, str_sub(x->out.body, 0, (size_t)(named.p - x->out.body.p)), buf_quoted(id),
            str_from(x->out.body, (size_t)(named.p - x->out.body.p) + named.n));
    drive_text *made = out.full ? NULL : drive_text_new(x->v->rooms, buf_str(&out));
    x->v->rooms->close(&room);
    if (!made)
        return;
    session_use(x, session_own(x, made));
    x->out.scan = x->d->scan(x->out.body, newest, false);
    x->out.scan.model = was.model;
    x->out.scan.before = was.before; /* by that id it is known here */
    x->out.scan.remote_id = was.remote_id;
    session_did(x, DARUMA_REMEDY_MEND_PARAMETER);
    session_say(x, "known_mendings_applied",
                S("previous_response_id: the stream that broke off was gone on with by another answer"));
}
