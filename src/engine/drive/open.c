/* open.c - a request comes in: which provider and targets are meant, how long there is, whether it is a new case or
 * the client's own retry of an old one. */
#include "engine/decide/case.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/drive/agents/steer.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/attempt.h"
#include "engine/drive/finish.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/request/abilities.h"
#include "engine/drive/request/account.h"
#include "model/kinds.h"
#include <xxhash.h>

/* Returns the deadline: our own total, or earlier what the client's SDK says it waits for (with room to answer before
 * it gives up). */
static daruma_ms deadline_of(const session *x, daruma_ms waits, daruma_ms now)
{
    daruma_ms total = x->o->total ? x->o->total : -1;
    if (waits > 0) {
        daruma_ms room = waits / 10 < CLIENT_ROOM_MS_MAX ? waits / 10 : CLIENT_ROOM_MS_MAX;
        total = sooner_of(total, waits - room);
    }
    return total < 0 ? -1 : add_sat(now, total);
}

/* Of its two ends: to read 32 MB again holds the loop for 40 ms. */
uint64_t session_request_hash(const session *x)
{
    daruma_str begin = str_sub(x->asked, 0, REQUEST_KNOWN_BYTES), end = str_from(x->asked, x->asked.n - begin.n);
    uint64_t hash = XXH3_64bits_withSeed(begin.p, begin.n, x->client.credential ^ x->asked.n);
    return XXH3_64bits_withSeed(end.p, end.n, hash);
}

/* The client's SDK retries by itself: what it repeats is the same case, with what is left of it. */
static void continue_case(session *x, daruma_ms now)
{
    daruma_case was;
    if (!memory_case_take(x->v->mem, session_request_hash(x), now, &was) || was.ntargets != x->kase.ntargets)
        return;
    case_resume(&x->kase, &was);
}

uint64_t session_counted(const session *x)
{
    return x->targets[x->kase.target].lane_id ^ x->client.credential;
}

/* A conversation of one client with one model: its prompt cache lives with one key. */
uint64_t session_session(const session *x)
{
    return x->out.scan.conversation ^ x->client.credential ^ x->targets[0].model_id;
}

static void begin_case(session *x, const session_request *q, size_t ntargets)
{
    daruma_moment at = session_now(x);
    int prefer = -1;
    uint64_t key = x->out.scan.conversation ? memory_session(x->v->mem, session_session(x)) : 0;
    for (size_t i = 0; key && i < ntargets && prefer < 0; i++)
        if (x->targets[i].key_id == key && x->targets[i].model_id == x->targets[0].model_id)
            prefer = (int)i;
    daruma_case_open(&x->kase, x->v->health, x->o->policy, x->targets, ntargets, prefer,
                     deadline_of(x, q->waits, x->opened), at);
    x->client.until_head = q->until_head;
    if (q->again)
        continue_case(x, at.now);
    x->kase.calls_max = x->o->calls ? x->kase.attempts + x->o->calls : 0; /* the calls before were another request's */
    x->kase.can_mend = x->d && !x->opaque && x->out.scan.ok && x->kase.policy->enabled && x->kase.policy->mend.enabled;
    x->kase.plain = !x->client.streaming;
    abilities_know(x);
    x->home.target = x->kase.want > 0 && x->kase.want < DARUMA_CASE_TRIED ? (size_t)x->kase.want : 0;
    account_pin(x);
    if (x->client.streaming)
        x->due.beat_at = at.now + HEARTBEAT_FIRST_MS;
}

/* What is found in a request when it comes in, on any thread. */
typedef struct look {
    const drive_rooms *rooms;
    const dialect *d;
    const session_request *q; /* as the host gave it */
    session_request q_own;    /* a copy of it, for another thread */
    const uint64_t *notices;  /* what daruma wrote: hashes; NULL: nothing */
    uint64_t *notices_own;    /* a copy of them, for another thread */
    /* found */
    session_read found;
    drive_text *stripped; /* the request without what daruma wrote, of which `found` speaks; NULL: all of it stays */
} look;

/* Returns the request without what daruma said in a model's place, which the client sends back; NULL: there is none. */
static drive_text *without_notices(const look *l)
{
    daruma_arena room;
    drive_text *made = NULL;
    if (!l->notices || str_find(l->q->body, S("[daruma] ")) == STR_NONE ||
        !l->rooms->open(&room, MEND_ROOM_BYTES_USUAL, MEND_ARENA_BYTES_MAX))
        return NULL;
    daruma_buf out = buf_in(&room);
    buf_room(&out, l->q->body.n);
    if (dialect_strip_notices(l->d, l->q->body, memory_notice_known, l->notices, &out, &room) && !out.full)
        made = drive_text_new(l->rooms, buf_str(&out));
    l->rooms->close(&room);
    return made;
}

static void look_at(void *data)
{
    look *l = data;
    l->stripped = without_notices(l);
    if (l->q->read && !l->stripped)
        l->found = *l->q->read;
    else
        l->found.scan = l->d->scan(l->stripped ? l->stripped->bytes : l->q->body, l->found.newest, false);
}

/* Opens a case with nobody to ask. */
static void no_case(session *x)
{
    daruma_case_open(&x->kase, x->v->health, x->o->policy, NULL, 0, -1, -1, session_now(x));
}

/* Before anybody was asked. */
static void refuse(session *x, const daruma_failure *f)
{
    no_case(x);
    last_failure *l = session_last_new(x);
    if (!l) {
        session_no_memory(x);
        return;
    }
    l->failure = *f;
    session_give_up(x);
}

/* The request was looked at: who can be asked for it? `newest`: as its scan gave it. */
static void choose_targets(session *x, const session_request *q, uint32_t *newest)
{
    size_t ntargets = 0;
    daruma_watch_mode mode = DARUMA_WATCH_OFF;
    x->client.streaming = x->d && x->out.scan.ok && x->out.scan.stream;
    x->safe = (x->d && !x->opaque) || q->safe;
    x->targets = x->v->host->targets(x->user, x->out.scan.model, x->out.scan.conversation, &ntargets, &mode);
    x->agent.watch = (uint8_t)mode;
    if (!ntargets) {
        daruma_failure f = kind_failure(DARUMA_MODEL_NOT_FOUND, 404);
        f.message = q->no_target;
        f.ours = true;
        refuse(x, &f);
        return;
    }
    begin_case(x, q, ntargets);
    if (q->mended)
        session_did(x, DARUMA_REMEDY_MEND_MESSAGES);
    account_name_stored(x, newest);
    x->agent.circles = watch_request(x, newest); /* as the client sent it */
    if (session_mend_known(x))
        session_known(x);
}

/* What was found is the session's. */
static void take_look(session *x, look *l)
{
    const session_request *q = l->q;
    if (l->stripped)
        session_use(x, session_own(x, l->stripped));
    x->out.scan = l->found.scan;
    if (q->path_names) {
        x->out.scan.model = q->path_model;
        x->out.scan.stream = q->path_stream;
        x->client.array = q->path_array;
    }
    drive_text *unfolded = past_unfold(x, false, (daruma_str){0}), *own = unfolded ? unfolded : l->stripped;
    if (unfolded) {
        session_use(x, session_own(x, unfolded));
        x->out.scan = x->d->scan(x->out.body, l->found.newest, false);
    }
    if (own)
        own->stays = true;
    if (x->out.scan.model_raw.n) /* the name is needed longer than the body */
        x->out.scan.model = arena_copy(x->arena, json_text(x->out.scan.model_raw, x->arena));
    choose_targets(x, q, l->found.newest);
}

static void look_free(look *l)
{
    const drive_rooms *rooms = l->rooms;
    rooms->give(l->notices_own);
    rooms->give(l);
}

static void look_then(session *x, void *data)
{
    take_look(x, data);
    look_free(data);
}

static void look_drop(void *data)
{
    look *l = data;
    drive_texts_close(l->rooms, l->stripped);
    look_free(l);
}

/* Looks at a large request beside the loop. False: there is no memory for that. */
static bool look_beside(session *x, const look *first)
{
    static const drive_work looks = {.work = look_at, .then = look_then, .drop = look_drop, .brief = true};
    look *l = first->rooms->take(sizeof *l);
    if (!l)
        return false;
    *l = *first;
    l->q_own = *first->q;
    l->q = &l->q_own;
    if (l->notices) /* the loop may write others meanwhile */
        l->notices = l->notices_own = memory_notices_copy(x->v->mem);
    no_case(x);
    if (session_work(x, x->out.body.n, &looks, l))
        look_then(x, l);
    return true;
}

void session_open(session *x, driver *v, void *user, const session_request *q)
{
    *x = (session){.v = v,
                   .user = user,
                   .o = q->options,
                   .arena = q->arena,
                   .asked = q->body,
                   .client.here = true,
                   .client.head_only = q->head_only,
                   .speaks = q->d ? q->d : q->speaks,
                   .agent.named = q->agent,
                   .client.credential = q->credential,
                   .opaque = q->opaque,
                   .d = q->d,
                   .p = q->d,
                   .due.act_at = -1,
                   .due.beat_at = -1,
                   .due.progress_by = -1,
                   .due.look_at = -1,
                   .sending = q->sending,
                   .opened = v->at.now};
    if (q->betas.n && (x->betas = ARENA_NEW(q->arena, session_betas, 1)))
        x->betas->asked = q->betas;
    session_use(x, q->body);
    if (q->refused) {
        refuse(x, q->refused);
        return;
    }
    if (!x->d)
        x->out.scan.model = q->passing_model;
    if (!x->d || x->opaque) {
        choose_targets(x, q, NULL);
        return;
    }
    /* It is of no use behind this function: thousands of requests stand open at once. */
    look l;
    l.rooms = v->rooms;
    l.d = x->d;
    l.q = q;
    l.notices = memory_notices(v->mem);
    l.notices_own = NULL;
    l.stripped = NULL; /* it may be dropped before anybody looked */
    if (x->out.body.n >= LOOK_BYTES_MAX && look_beside(x, &l))
        return;
    look_at(&l);
    take_look(x, &l);
}

void session_known(session *x)
{
    if (!(x->agent.circles || x->agent.compacts) || steer_request(x))
        session_steered(x);
}

void session_steered(session *x)
{
    if (x->opaque)
        session_say(x, "request_not_readable",
                    S("the request body is encoded: it is passed on as it is and cannot be mended"));
    session_attempt(x);
}
