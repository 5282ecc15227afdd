/* intake.c - a request comes in: which provider and targets are meant, how long there is, whether it is a new case or
 * the client's own retry of an old one. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/mend/mend.h"
#include "gateway/heal.h"
#include "gateway/job.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <xxhash.h>

/* POSTs that change nothing on the server: a second one does no harm. */
static bool path_is_pure(daruma_str path)
{
    static const daruma_str pure[] = {
        {"/embeddings", 11},  {"/count_tokens", 13}, {"/moderations", 12},       {"/rerank", 7},
        {":countTokens", 12}, {":embedContent", 13}, {":batchEmbedContents", 19}};
    for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
        if (str_ends(path, pure[i]))
            return true;
    return false;
}

static bool method_is_safe(daruma_str m)
{
    return str_eq(m, S("GET")) || str_eq(m, S("HEAD")) || str_eq(m, S("OPTIONS"));
}

/* Which provider a path goes to that is nobody's dialect. */
static int provider_of_path(const setup *s, const http_head *h)
{
    const dialect *d = head_dialect(h);
    int i = config_provider_of(&s->cfg, d);
    if (i < 0 && d != &dialect_anthropic)
        i = config_provider_of(&s->cfg, &dialect_openai_responses);
    return i < 0 && s->cfg.nproviders ? 0 : i;
}

/* The deadline: our own total, or earlier what the client's SDK says it waits for (with room to
 * answer before it gives up). */
static daruma_ms deadline_of(const exchange *x, daruma_ms now)
{
    daruma_ms total = x->s->cfg.clocks.total ? x->s->cfg.clocks.total : -1;
    int64_t milli;
    if (date_milli(http_header(&x->c->head, S("x-stainless-timeout")), &milli) && milli > 0) {
        daruma_ms room = milli / 10 < CLIENT_ROOM_MS_MAX ? milli / 10 : CLIENT_ROOM_MS_MAX;
        total = sooner_of(total, milli - room);
    }
    return total < 0 ? -1 : add_sat(now, total);
}

uint64_t exchange_request_hash(const exchange *x)
{
    return XXH3_64bits_withSeed(x->c->body.p, x->c->body.n, x->credential);
}

/* The client's SDK retries by itself: what it repeats is the same case, with what is left of it. */
static void continue_case(exchange *x, daruma_ms now)
{
    int64_t count;
    daruma_case was;
    if (!str_int(http_header(&x->c->head, S("x-stainless-retry-count")), &count) || count == 0)
        return;
    if (!memory_case_take(x->g->mem, exchange_request_hash(x), now, &was) || was.ntargets != x->kase.ntargets)
        return;
    daruma_case_resume(&x->kase, &was);
}

uint64_t exchange_counted(const exchange *x)
{
    return x->targets[x->kase.target].lane_id ^ x->credential;
}

/* A conversation of one client with one model: its prompt cache lives with one key. */
uint64_t exchange_session(const exchange *x)
{
    return x->scan.conversation ^ x->credential ^ x->targets[0].model_id;
}

/* Nobody is asked but the account of that target. */
static void keep_account(exchange *x, size_t owner)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[owner].account_id)
            x->kase.spoiled[i] = 1;
    x->kase.want = (int)owner;
}

/* What a stored answer refers to is known to the account that made it, and to nobody else. Where nobody knows who made
 * it, that is the account which answered this conversation last. */
static void pin_account(exchange *x)
{
    if (!x->scan.remote || x->kase.ntargets < 2)
        return;
    uint64_t key = x->scan.remote_id ? memory_owner(x->g->mem, x->scan.remote_id ^ x->credential) : 0;
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
static bool is_useless(const exchange *x, const daruma_failure *f, daruma_ms now)
{
    const daruma_target *t = &x->targets[x->home];
    daruma_condition h = daruma_health_look(x->g->health, t, now);
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
static size_t elsewhere(const exchange *x, daruma_ms now)
{
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[x->home].account_id && !x->kase.calls[i] &&
            daruma_health_look(x->g->health, &x->targets[i], now).well)
            return i;
    return STR_NONE;
}

void exchange_loosen(exchange *x, const daruma_failure *f)
{
    daruma_ms now = gateway_now(x->g).now;
    if (!x->bound || x->forwarded || !x->kase.can_mend || !is_useless(x, f, now) || elsewhere(x, now) == STR_NONE)
        return;
    x->bound = false;
    if (!heal_open(x) || dialect_stuck(&x->h->m.c) || !mend_strange_thinking(&x->h->m.c) || !heal_write(x))
        return;
    for (size_t i = 0; i < x->kase.ntargets && i < DARUMA_CASE_TRIED; i++)
        if (x->targets[i].account_id != x->targets[x->home].account_id)
            x->kase.spoiled[i] = 0;
    if (!f)
        x->kase.want = -1;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_converted";
    e.reason = S("written for another account; left out: reasoning that only the first one can read");
    exchange_event(x, &e);
}

bool exchange_stay(exchange *x, int target)
{
    bool marked = false;
    if (x->stays || !x->d || x->opaque || !x->scan.ok || x->scan.remote || x->kase.ntargets < 2)
        return false;
    if (target >= 0 && x->targets[target].account_id == x->targets[x->home].account_id)
        return false;
    x->stays = true;
    for (size_t i = 0; i < sizeof x->d->remote_marks / sizeof *x->d->remote_marks && !marked; i++)
        marked = x->d->remote_marks[i].n && str_find(x->body, x->d->remote_marks[i]) != STR_NONE;
    if (!marked || !heal_open(x) || !x->h->m.c.remote)
        return false;
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_not_convertible";
    e.reason = S("this request names what only one account of its provider has");
    exchange_event(x, &e);
    keep_account(x, x->home);
    return true;
}

static void begin_case(exchange *x, size_t ntargets)
{
    daruma_moment at = gateway_now(x->g);
    int prefer = -1;
    uint64_t key = x->scan.conversation ? memory_session(x->g->mem, exchange_session(x)) : 0;
    for (size_t i = 0; key && i < ntargets && prefer < 0; i++)
        if (x->targets[i].key_id == key && x->targets[i].model_id == x->targets[0].model_id)
            prefer = (int)i;
    daruma_case_open(&x->kase, x->g->health, &x->s->cfg.policy, x->targets, ntargets, prefer,
                     deadline_of(x, x->started), at);
    continue_case(x, at.now);
    x->kase.can_mend = x->d && !x->opaque && x->scan.ok && x->kase.policy->enabled && x->kase.policy->mend.enabled;
    x->kase.plain = !x->streaming;
    x->home = x->kase.want > 0 && x->kase.want < DARUMA_CASE_TRIED ? (size_t)x->kase.want : 0;
    pin_account(x);
    if (x->streaming)
        x->beat_at = at.now + HEARTBEAT_FIRST_MS;
}

/* What is found in a request when it comes in, on any thread. */
typedef struct look {
    const dialect *d;
    daruma_str body;
    const uint64_t *notices; /* what daruma wrote: hashes; NULL: nothing */
    uint64_t *notices_own;   /* ... a copy of them, for another thread */
    /* found */
    request_scan scan;
    uint32_t newest[SCAN_NEWEST];
    request_text *stripped; /* the request without what daruma wrote, of which `scan` speaks; NULL: all of it stays */
} look;

/* What the client asked with a model's mouth that was ours is taken out again. */
static request_text *without_notices(const look *l)
{
    daruma_arena room;
    request_text *made = NULL;
    if (!l->notices || str_find(l->body, S("[daruma] ")) == STR_NONE ||
        !sys_arena_init(&room, HEAL_BYTES_USUAL, MEND_ARENA_BYTES_MAX))
        return NULL;
    daruma_buf out = buf_in(&room);
    buf_room(&out, l->body.n);
    if (dialect_strip_notices(l->d, l->body, memory_notice_known, l->notices, &out, &room) && !out.full)
        made = text_new(buf_str(&out));
    sys_arena_done(&room);
    return made;
}

static void look_at(void *data)
{
    look *l = data;
    l->stripped = without_notices(l);
    l->scan = l->d->scan(l->stripped ? text_str(l->stripped) : l->body, l->newest);
}

/* Gemini says in the path which model is asked, and whether it shall stream. */
static void read_path(exchange *x)
{
    daruma_buf whole = buf_in(x->c->arena);
    buf_put(&whole, x->c->head.path);
    buf_putc(&whole, '?');
    buf_put(&whole, x->c->head.query);
    dialect_path_model(buf_str(&whole), &x->scan.model, &x->scan.stream);
    x->array = !x->scan.stream && str_ends(x->c->head.path, S("streamGenerateContent"));
}

/* Opens a case with nobody to ask. */
static void no_case(exchange *x)
{
    daruma_case_open(&x->kase, x->g->health, &x->s->cfg.policy, NULL, 0, -1, -1, gateway_now(x->g));
}

/* Before anybody was asked. */
static void refuse(exchange *x, daruma_kind kind, int status, daruma_str message)
{
    no_case(x);
    x->failure = (daruma_failure){.kind = kind,
                                  .code = x->failure.code,
                                  .status = status,
                                  .wait = -1,
                                  .limit = -1,
                                  .used = -1,
                                  .requested = -1,
                                  .severity = daruma_kind_severity(kind),
                                  .message = message};
    finish_failed(x);
}

/* The request was looked at: who can be asked for it? `newest`: as its scan gave it. */
static void choose_targets(exchange *x, const uint32_t *newest)
{
    call *c = x->c;
    size_t ntargets = 0;
    x->streaming = x->d && x->scan.ok && x->scan.stream;
    x->safe = (x->d && !x->opaque) || method_is_safe(c->head.method) || path_is_pure(c->head.path);
    if (x->d) {
        x->targets = setup_targets(x->s, x->d, x->scan.model, x->credential, c->arena, &ntargets);
    } else {
        int provider = provider_of_path(x->s, &c->head);
        if (provider >= 0)
            x->targets = setup_provider_targets(x->s, provider, (daruma_str){0}, x->credential, c->arena, &ntargets);
    }
    if (!ntargets) {
        refuse(x, DARUMA_MODEL_NOT_FOUND, 404,
               S("No provider in daruma's configuration speaks the dialect of this path, or none is meant for this "
                 "model."));
        return;
    }
    begin_case(x, ntargets);
    x->circles = watch_request(x, newest); /* as the client sent it */
    if (heal_known(x))
        exchange_known(x);
    else
        exchange_timer(x); /* heartbeats go on */
}

/* What was found is the exchange's. */
static void take_look(exchange *x, const look *l)
{
    if (l->stripped) {
        x->body = exchange_own(x, l->stripped);
        x->edition = ++x->editions;
    }
    x->scan = l->scan;
    if (x->d == &dialect_gemini)
        read_path(x);
    if (x->scan.model_raw.n) /* the name is needed longer than the body */
        x->scan.model = arena_copy(x->c->arena, json_text(x->scan.model_raw, x->c->arena));
    choose_targets(x, l->newest);
}

static void look_free(look *l)
{
    free(l->notices_own);
    free(l);
}

static void look_then(exchange *x, void *data)
{
    take_look(x, data);
    look_free(data);
}

static void look_drop(void *data)
{
    look *l = data;
    texts_free(l->stripped);
    look_free(l);
}

/* Looks at a large request beside the loop. False: there is no memory for that. */
static bool look_beside(exchange *x, const look *first)
{
    static const job_kind looks = {.work = look_at, .then = look_then, .drop = look_drop, .brief = true};
    look *l = malloc(sizeof *l);
    if (!l)
        return false;
    *l = *first;
    if (l->notices) /* the loop may write others meanwhile */
        l->notices = l->notices_own = memory_notices_copy(x->g->mem);
    no_case(x);
    if (job_run(x, x->body.n, &looks, l))
        look_then(x, l);
    return true;
}

void exchange_begin(gateway *g, call *c)
{
    exchange *x = exchange_take(g);
    if (!x) {
        call_head(c, 503, NULL, 0, 0);
        call_end(c);
        return;
    }
    c->user = x;
    x->c = c;
    x->s = setup_hold(g->now);
    x->started = gateway_now(x->g).now;
    x->body = c->body;
    x->edition = ++x->editions;
    bool ours;
    x->credential = head_credential(g, &c->head, &ours);
    x->d = x->p = str_eq(c->head.method, S("POST")) ? dialect_of_path(c->head.path) : NULL;
    if (ours) { /* told as an error: who sent it here is this program, and acts on it */
        x->failure.code = S("loop_detected");
        refuse(
            x, DARUMA_NETWORK, 508,
            S("This request came back to the daruma that sent it: the address of a provider leads back to it, perhaps "
              "through a proxy or another gateway. Set the `url` of that provider to the provider's own address."));
        return;
    }
    daruma_str encoding = http_header(&c->head, S("content-encoding"));
    x->opaque = encoding.n && !str_ieq(encoding, S("identity"));
    if (!x->d || x->opaque) {
        choose_targets(x, NULL);
        return;
    }
    /* It is of no use behind this function: thousands of requests stand open at once. */
    look l = {.d = x->d, .body = x->body, .notices = memory_notices(g->mem)};
    if (x->body.n >= LOOK_BYTES_MAX && look_beside(x, &l))
        return;
    look_at(&l);
    take_look(x, &l);
}

void exchange_known(exchange *x)
{
    if (x->circles && steer_request(x))
        return;
    if (x->opaque) {
        daruma_event e = DARUMA_EVENT_INIT;
        e.name = "request_not_readable";
        e.reason = S("the request body is encoded: it is passed on as it is and cannot be mended");
        exchange_event(x, &e);
    }
    exchange_attempt(x);
}
