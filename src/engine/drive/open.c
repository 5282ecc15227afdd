/* intake.c - a request comes in: which provider and targets are meant, how long there is, whether it is a new case or
 * the client's own retry of an old one. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/drive/mending.h"
#include "engine/mend/mend.h"
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

uint64_t session_request_hash(const session *x)
{
    return XXH3_64bits_withSeed(x->asked.p, x->asked.n, x->credential);
}

/* The client's SDK retries by itself: what it repeats is the same case, with what is left of it. */
static void continue_case(session *x, daruma_ms now)
{
    daruma_case was;
    if (!memory_case_take(x->v->mem, session_request_hash(x), now, &was) || was.ntargets != x->kase.ntargets)
        return;
    daruma_case_resume(&x->kase, &was);
}

uint64_t session_counted(const session *x)
{
    return x->targets[x->kase.target].lane_id ^ x->credential;
}

/* A conversation of one client with one model: its prompt cache lives with one key. */
uint64_t session_session(const session *x)
{
    return x->scan.conversation ^ x->credential ^ x->targets[0].model_id;
}

/* Nobody is asked but the account of that target. */
static void keep_account(session *x, size_t owner)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[owner].account_id)
            x->kase.spoiled[i] = 1;
    x->kase.want = (int)owner;
}

/* What a stored answer refers to is known to the account that made it, and to nobody else. Where nobody knows who made
 * it, that is the account which answered this conversation last. */
static void pin_account(session *x)
{
    if (!x->scan.remote || x->kase.ntargets < 2)
        return;
    uint64_t key = x->scan.remote_id ? memory_owner(x->v->mem, x->scan.remote_id ^ x->credential) : 0;
    size_t owner = x->home;
    for (size_t i = x->kase.ntargets; key && i--;) /* its other models have the same key: the preferred one is first */
        if (x->targets[i].key_id == key)
            owner = i;
    if (owner >= DARUMA_CASE_TRIED) /* the case does not count so far */
        owner = 0;
    keep_account(x, owner);
    x->home = owner;
    x->bound = !x->scan.remote_id;
}

/* True if the account at hand can do nothing for this request soon. */
static bool is_useless(const session *x, const daruma_failure *f, daruma_ms now)
{
    const daruma_target *t = &x->targets[x->home];
    daruma_condition h = daruma_health_look(x->v->health, t, now);
    if (!h.well && h.in > BOUND_REST_MS_MAX && (h.alone_in > BOUND_REST_MS_MAX || !daruma_kind_passes(h.why)))
        return true;
    if (!f)
        return false;
    bool account = f->kind == DARUMA_QUOTA || f->kind == DARUMA_PERMISSION || f->kind == DARUMA_MODEL_NOT_FOUND ||
                   (f->kind == DARUMA_AUTH && !x->kase.can_refresh);
    bool again = f->retryable && x->kase.calls[x->home] > 1; /* it was tried again already */
    return account || again || (f->retryable && f->wait > BOUND_REST_MS_MAX);
}

/* The first well target of another account; STR_NONE when there is none. */
static size_t elsewhere(const session *x, daruma_ms now)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[x->home].account_id && !x->kase.calls[i] &&
            daruma_health_look(x->v->health, &x->targets[i], now).well)
            return i;
    return STR_NONE;
}

void session_loosen(session *x, const daruma_failure *f)
{
    daruma_ms now = session_now(x).now;
    if (!x->bound || x->forwarded || !x->kase.can_mend || !is_useless(x, f, now) || elsewhere(x, now) == STR_NONE)
        return;
    x->bound = false;
    if (!heal_open(x) || dialect_stuck(&x->h->past.m.c) || !mend_strange_thinking(&x->h->past.m.c) || !heal_write(x))
        return;
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[x->home].account_id)
            x->kase.spoiled[i] = 0;
    if (!f)
        x->kase.want = -1;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_converted";
    e.reason = S("written for another account; left out: reasoning that only the first one can read");
    session_event(x, &e);
}

bool session_stay(session *x, int target)
{
    bool marked = false;
    if (x->stays || !x->d || x->opaque || !x->scan.ok || x->scan.remote || x->kase.ntargets < 2)
        return false;
    if (target >= 0 && x->targets[target].account_id == x->targets[x->home].account_id)
        return false;
    x->stays = true;
    for (size_t i = 0; i < COUNT(x->d->remote_marks) && !marked; i++)
        marked = x->d->remote_marks[i].n && str_find(x->body, x->d->remote_marks[i]) != STR_NONE;
    if (!marked || !heal_open(x) || !x->h->past.m.c.remote)
        return false;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_not_convertible";
    e.reason = S("this request names what only one account of its provider has");
    session_event(x, &e);
    keep_account(x, x->home);
    return true;
}

static void begin_case(session *x, const session_request *q, size_t ntargets)
{
    daruma_moment at = session_now(x);
    int prefer = -1;
    uint64_t key = x->scan.conversation ? memory_session(x->v->mem, session_session(x)) : 0;
    for (size_t i = 0; key && i < ntargets && prefer < 0; i++)
        if (x->targets[i].key_id == key && x->targets[i].model_id == x->targets[0].model_id)
            prefer = (int)i;
    daruma_case_open(&x->kase, x->v->health, x->o->policy, x->targets, ntargets, prefer,
                     deadline_of(x, q->waits, at.now), at);
    if (q->again)
        continue_case(x, at.now);
    x->kase.can_mend = x->d && !x->opaque && x->scan.ok && x->kase.policy->enabled && x->kase.policy->mend.enabled;
    x->kase.plain = !x->streaming;
    x->home = x->kase.want > 0 && x->kase.want < DARUMA_CASE_TRIED ? (size_t)x->kase.want : 0;
    pin_account(x);
    if (x->streaming)
        x->beat_at = at.now + HEARTBEAT_FIRST_MS;
}

/* What the client asked with a model's mouth that was ours is taken out again. In a very large request it stays: all of
 * it would be written anew while everybody waits. */
static void strip_notices(session *x, uint32_t *newest)
{
    daruma_buf out = buf_in(x->arena);
    if (!memory_has_notices(x->v->mem) || x->body.n > NOTICE_REQUEST_BYTES_MAX ||
        str_find(x->body, S("[daruma] ")) == STR_NONE)
        return;
    if (dialect_strip_notices(x->d, x->body, memory_notice_known, x->v->mem, &out, x->arena) && !out.full) {
        request_scan was = x->scan;
        x->body = buf_str(&out);
        x->edition = ++x->editions;
        x->scan = x->d->scan(x->body, newest);
        if (!x->scan.model_raw.n) {
            x->scan.model = was.model;
            x->scan.stream = was.stream;
        }
    }
}

/* Before anybody was asked. */
static void refuse(session *x, const daruma_failure *f)
{
    daruma_case_open(&x->kase, x->v->health, x->o->policy, NULL, 0, -1, -1, session_now(x));
    x->failure = *f;
    finish_failed(x);
}

/* What the request says, as far as it is looked at before anything fails. */
static void look(session *x, const session_request *q, uint32_t *newest)
{
    x->scan = x->d->scan(x->body, newest);
    if (q->path_names) {
        x->scan.model = q->path_model;
        x->scan.stream = q->path_stream;
        x->array = q->path_array;
    }
    strip_notices(x, newest);
    if (x->scan.model_raw.n) /* the name is needed longer than the body */
        x->scan.model = arena_copy(x->arena, json_text(x->scan.model_raw, x->arena));
}

void session_open(session *x, driver *v, void *user, const session_request *q)
{
    size_t ntargets = 0;
    daruma_watch_mode mode = DARUMA_WATCH_OFF;
    uint32_t newest[SCAN_NEWEST] = {0}; /* of no use behind this function: thousands of requests stand open at once */
    *x = (session){.v = v,
                   .user = user,
                   .o = q->options,
                   .arena = q->arena,
                   .asked = q->body,
                   .body = q->body,
                   .here = true,
                   .head_only = q->head_only,
                   .speaks = q->speaks,
                   .named = q->agent,
                   .credential = q->credential,
                   .opaque = q->opaque,
                   .d = q->d,
                   .p = q->d,
                   .act_at = -1,
                   .beat_at = -1,
                   .progress_by = -1,
                   .look_at = -1,
                   .started = v->at.now};
    x->edition = ++x->editions;
    if (q->refused) {
        refuse(x, q->refused);
        return;
    }
    if (x->d && !x->opaque)
        look(x, q, newest);
    x->streaming = x->d && x->scan.ok && x->scan.stream;
    x->safe = (x->d && !x->opaque) || q->safe;
    x->targets = v->host->targets(user, x->scan.model, &ntargets, &mode);
    x->watch_mode = (uint8_t)mode;
    if (!ntargets) {
        daruma_failure f = {.kind = DARUMA_MODEL_NOT_FOUND,
                            .status = 404,
                            .wait = -1,
                            .limit = -1,
                            .used = -1,
                            .requested = -1,
                            .severity = daruma_kind_severity(DARUMA_MODEL_NOT_FOUND),
                            .message = q->no_target};
        refuse(x, &f);
        return;
    }
    begin_case(x, q, ntargets);
    x->circles = watch_request(x, newest); /* as the client sent it */
    if (heal_known(x))
        session_known(x);
    else
        session_timer(x); /* heartbeats go on */
}

void session_known(session *x)
{
    if (x->circles && steer_request(x))
        return;
    if (x->opaque) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "request_not_readable";
        e.reason = S("the request body is encoded: it is passed on as it is and cannot be mended");
        session_event(x, &e);
    }
    session_attempt(x);
}
