/* drive_kit.h - a host for the driver in virtual time: one session at a time, providers that fail in every way, answers
 * in pieces of any size, slow readers, clients that leave, memory that is counted. What providers say is the test's. */
#ifndef DRIVE_KIT_H
#define DRIVE_KIT_H
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "engine/drive/drive.h"
#include "sys/sys.h"
#include <stdlib.h>

enum { PLACES = 64, TARGETS = 4, CALLS = 24, STEPS_MAX = 200000, TEXT_BYTES = 600, MADE_BYTES = 32 };

/* ---- dice ---- */

static uint64_t dice = 1;

static uint32_t roll(uint32_t n)
{
    uint64_t z = (dice += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static bool chance(uint32_t percent)
{
    return roll(100) < percent;
}

/* ---- the world of one session ---- */

typedef enum fate { WELL, STATUS, RESET, SILENT, CUT, BROKEN, EMPTY, FATES } fate;

/* One call to a provider, and what is still to come of it. */
typedef struct out {
    drive_call *c; /* NULL: it is over, or was cancelled */
    daruma_str body;
    int status;
    bool stream, headed, paused;
    fate fate;
    daruma_net net;       /* how it fails behind its bytes; NONE: it ends */
    size_t sent, upto;    /* bytes of the body that came, and that come at all */
    daruma_ms next, dies; /* when it goes on; when its total time is over, -1 never */
    char *made;           /* by the host for this call, where it was told to */
} out;

typedef struct world {
    session *x;
    daruma_arena *a; /* of the request */
    daruma_target targets[TARGETS];
    size_t ntargets;
    const dialect *speaks[TARGETS]; /* by target */
    char text[TEXT_BYTES];          /* what every provider answers */
    size_t ntext;
    daruma_str (*says)(const drive_request *r); /* (set) the answer of a provider that is well, as it is on the wire */
    fate often;                                 /* the fault of this world ... */
    uint32_t percent;                           /* ... of so many calls */
    out calls[CALLS];
    size_t ncalls;
    daruma_ms timer;                 /* -1 none */
    daruma_ms leaves, drains, waits; /* -1 never */
    daruma_ms opened, over_at;
    /* the client */
    int heads, overs, writes_after;
    int status;
    bool stream, slow;
    drive_end how;
    daruma_outcome outcome;
    daruma_buf got;
    int outcomes; /* in events */
} world;

static world *w;
static driver drv;
static long arenas, tables;

/* ---- memory, counted ---- */

static bool room_open(daruma_arena *a, size_t first, size_t most)
{
    bool ok = sys_arena_init(a, first, most);
    arenas += ok;
    return ok;
}

static void room_close(daruma_arena *a)
{
    arenas -= a->host != NULL;
    sys_arena_done(a);
}

static void *table_take(size_t n)
{
    void *p = calloc(1, n);
    tables += p != NULL;
    return p;
}

static void table_give(void *p)
{
    tables -= p != NULL;
    free(p);
}

static const drive_rooms rooms = {.open = room_open,
                                  .close = room_close,
                                  .widen = sys_arena_widen,
                                  .again = sys_arena_again,
                                  .fit = sys_arena_fit,
                                  .bytes = sys_arena_bytes,
                                  .take = table_take,
                                  .give = table_give};

/* ---- the host ---- */

static void host_head(void *user, const drive_answer *a)
{
    world *o = user;
    o->heads++;
    o->status = a->status;
    assert_int_equal(o->overs, 0);
    assert_int_equal(o->got.n, 0);
    for (size_t i = 0; i < a->nheaders; i++)
        o->stream |=
            str_ieq(a->headers[i].name, S("content-type")) && str_istarts(a->headers[i].value, S("text/event-stream"));
}

static bool host_write(void *user, daruma_str bytes)
{
    world *o = user;
    assert_int_equal(o->overs, 0);
    assert_int_equal(o->heads, 1);
    buf_put(&o->got, bytes);
    if (o->slow && chance(20)) {
        o->drains = drv.at.now + roll(2000);
        return false;
    }
    return true;
}

static void host_over(void *user, drive_end how)
{
    world *o = user;
    o->overs++;
    o->how = how;
    o->over_at = drv.at.now;
    o->timer = -1;
    for (size_t i = 0; i < o->ncalls; i++) /* nothing goes on for nobody */
        assert_null(o->calls[i].c);
}

static daruma_str refusal_of(const drive_request *r, int status)
{
    daruma_buf b = buf_in(w->a);
    daruma_failure f = {.status = status, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    r->p->write_error(&b, &f, status, S("something is wrong"), S(""));
    return buf_str(&b);
}

static const int statuses[] = {400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529};

static void set_fate(out *c, const drive_request *r)
{
    c->status = 200;
    c->body = w->says(r);
    c->upto = c->body.n;
    c->fate = chance(w->percent) ? w->often : WELL;
    switch (c->fate) {
    case WELL:
    case SILENT:
    case FATES:
        break;
    case STATUS:
        c->status = statuses[roll(COUNT(statuses))];
        c->body = refusal_of(r, c->status);
        c->upto = c->body.n;
        break;
    case RESET:
        c->net = DARUMA_NET_RESET;
        c->upto = 0;
        c->status = 0;
        break;
    case CUT:
        c->net = chance(50) ? DARUMA_NET_RESET : DARUMA_NET_CUT;
        c->upto = roll((uint32_t)c->body.n + 1);
        break;
    case BROKEN:
        c->body = S("data: {\"choices\":[{\"delta\n\n<html>");
        c->upto = c->body.n;
        break;
    case EMPTY:
        c->upto = 0;
        break;
    }
}

static drive_sent host_send(void *user, drive_call *c, const drive_request *r)
{
    world *o = user;
    assert_int_equal(o->overs, 0);
    assert_null(c->handle);
    if (o->ncalls == CALLS)
        return DRIVE_NOT_SENT;
    out *n = &o->calls[o->ncalls++];
    *n = (out){.c = c, .stream = r->stream, .next = drv.at.now + 1 + roll(400), .dies = -1};
    if (r->total >= 0)
        n->dies = drv.at.now + r->total;
    set_fate(n, r);
    if (r->a && (n->made = ARENA_NEW(r->a, char, MADE_BYTES)))
        memset(n->made, 'M', MADE_BYTES);
    c->handle = n;
    return DRIVE_SENT;
}

static const dialect *host_ask(void *user, drive_call *c, const daruma_target *t, const daruma_question *q,
                               daruma_ms total)
{
    world *o = user;
    drive_request r = {.t = t, .p = o->speaks[t->host], .d = o->speaks[t->host], .total = total};
    (void)q;
    return host_send(user, c, &r) == DRIVE_SENT ? r.p : NULL;
}

static void host_cancel(void *handle)
{
    out *c = handle;
    assert_non_null(c->c);
    c->c = NULL;
}

static void host_pause(void *handle)
{
    ((out *)handle)->paused = true;
}

static void host_resume(void *handle)
{
    out *c = handle;
    c->paused = false;
    c->next = drv.at.now;
}

static void host_hand_over(void *handle, drive_call *to)
{
    ((out *)handle)->c = to;
    to->handle = handle;
}

static void host_limit(void *handle, daruma_ms total)
{
    ((out *)handle)->dies = total ? w->opened + total : -1;
}

static drive_place host_place(void *user, const daruma_target *t)
{
    world *o = user;
    return (drive_place){.d = o->speaks[t->host], .site = (uint64_t)t->host + 1, .own_key = true};
}

static const daruma_target *host_targets(void *user, daruma_str model, uint64_t conversation, size_t *n,
                                         daruma_watch_mode *watch)
{
    world *o = user;
    (void)model, (void)conversation;
    *n = o->ntargets;
    *watch = DARUMA_WATCH_OFF;
    return o->targets;
}

static uint64_t host_tenant(void *user)
{
    (void)user;
    return 1;
}

static void host_tell(void *user, daruma_event *e)
{
    (void)user;
    assert_non_null(e->name);
}

static int64_t held;

static void host_holds(void *user, int64_t bytes)
{
    (void)user;
    held += bytes;
    assert_true(held >= 0);
}

static void host_timer(void *user, daruma_ms when)
{
    world *o = user;
    assert_int_equal(o->overs, 0);
    o->timer = when;
}

static const drive_host host = {.head = host_head,
                                .write = host_write,
                                .over = host_over,
                                .send = host_send,
                                .ask = host_ask,
                                .cancel = host_cancel,
                                .pause = host_pause,
                                .resume = host_resume,
                                .hand_over = host_hand_over,
                                .limit = host_limit,
                                .place = host_place,
                                .targets = host_targets,
                                .tenant = host_tenant,
                                .tell = host_tell,
                                .holds = host_holds,
                                .timer = host_timer};

/* ---- time ---- */

static void at_time(daruma_ms now)
{
    drv.at =
        (daruma_moment){.now = now, .wall = 1767225600 + now / 1000, .dice = ((uint64_t)roll(~0u) << 32) | roll(~0u)};
}

/* The call goes on: its head, a piece of its body, or its end. */
static void call_goes_on(out *o)
{
    drive_call *c = o->c;
    bool stream = o->stream && o->status == 200;
    for (size_t i = 0; i < MADE_BYTES && o->made && !o->headed; i++)
        assert_int_equal(o->made[i], 'M'); /* it may still be sent */
    if (drv.at.now >= o->dies && o->dies >= 0) {
        o->c = NULL;
        c->handle = NULL;
        (c->ops->fail)(c, DARUMA_NET_TOTAL_TIMEOUT, o->headed ? DARUMA_AT_STREAM : DARUMA_AT_WAIT);
        return;
    }
    if (!o->headed && o->status) {
        static const char fields[] = "content-typetext/event-streamcontent-typeapplication/json"; /* in one piece */
        enum { NAME = sizeof "content-type" - 1, EVENTS = sizeof "text/event-stream" - 1 };
        const char *at = stream ? fields : fields + NAME + EVENTS;
        daruma_header type = {{at, NAME}, {at + NAME, stream ? (size_t)EVENTS : sizeof "application/json" - 1}};
        drive_head h = {.status = o->status, .headers = &type, .nheaders = 1, .length = -1};
        o->headed = true;
        o->next = o->fate == SILENT ? INT64_MAX : drv.at.now + roll(50);
        c->ops->head(c, &h);
        return;
    }
    if (o->sent < o->upto) {
        size_t n = 1 + roll((uint32_t)(o->upto - o->sent));
        char *piece = malloc(n); /* gone when the call returns: nothing may keep it */
        memcpy(piece, o->body.p + o->sent, n);
        o->sent += n;
        o->next = drv.at.now + roll(50);
        c->ops->body(c, (daruma_str){piece, n});
        memset(piece, 'X', n);
        free(piece);
        return;
    }
    o->c = NULL;
    c->handle = NULL;
    if (o->net != DARUMA_NET_NONE)
        (c->ops->fail)(c, o->net, o->headed ? DARUMA_AT_STREAM : DARUMA_AT_WAIT);
    else
        c->ops->end(c);
}

static daruma_ms due_of(const out *o)
{
    if (!o->c)
        return INT64_MAX;
    daruma_ms next = o->paused ? INT64_MAX : o->next;
    return o->dies >= 0 && o->dies < next ? o->dies : next;
}

/* What comes next in this world happens. False: nothing does any more. */
static bool step(world *o)
{
    out *call = NULL;
    daruma_ms next = INT64_MAX;
    for (size_t i = 0; i < o->ncalls; i++)
        if (due_of(&o->calls[i]) < next)
            next = due_of((call = &o->calls[i]));
    bool timer = o->timer >= 0 && o->timer <= next, leaves = false, drains = false;
    if (timer)
        next = o->timer;
    if (o->drains >= 0 && o->drains <= next) {
        next = o->drains;
        drains = true;
    }
    if (o->leaves >= 0 && o->leaves <= next) {
        next = o->leaves;
        leaves = true;
    }
    if (next == INT64_MAX)
        return false;
    at_time(next > drv.at.now ? next : drv.at.now);
    if (leaves) {
        o->leaves = -1;
        session_gone(o->x);
    } else if (drains) {
        o->drains = -1;
        session_drained(o->x);
    } else if (timer) {
        o->timer = -1;
        session_clock(o->x);
    } else {
        call_goes_on(call);
    }
    return true;
}

/* ---- what tests of random sessions share ---- */

/* What the request gives the model as the beginning of its answer; empty: nothing. */
static daruma_str begun_answer(const drive_request *r)
{
    convo c;
    daruma_buf all = buf_in(w->a), text = buf_in(w->a);
    for (int i = 0; i < 4; i++)
        buf_put(&all, r->body[i]);
    if (r->p->read(buf_str(&all), w->a, &c) != DARUMA_OK || !c.nmessages ||
        c.messages[c.nmessages - 1].role != CONVO_ASSISTANT)
        return (daruma_str){0};
    convo_message *m = &c.messages[c.nmessages - 1];
    for (size_t i = 0; i < m->nparts; i++)
        if (m->parts[i].kind == PART_TEXT)
            buf_put(&text, convo_text(&c, &m->parts[i]));
    return buf_str(&text);
}

static const dialect *const all_dialects[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                              &dialect_gemini};

/* A new world: what a well provider answers, and some targets, of which `percent` speak as the client does. */
static void world_begin(world *o, daruma_str (*says)(const drive_request *r), const dialect *d, uint32_t percent)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    *o = (world){.a = o->a, .says = says, .timer = -1, .leaves = -1, .drains = -1, .waits = -1};
    o->ntargets = 1 + roll(TARGETS);
    for (size_t i = 0; i < o->ntargets; i++) {
        o->speaks[i] = chance(percent) ? d : all_dialects[roll(4)];
        o->targets[i] = (daruma_target){.provider = str_of(names[i]),
                                        .model = S("m"),
                                        .key = S("k"),
                                        .account = S("a"),
                                        .window = -1,
                                        .max_output = -1,
                                        .host = (int)i};
        daruma_target_seal(&o->targets[i]);
    }
}

/* A number from the environment; `usual` when it is not there. */
static uint64_t setting(const char *name, uint64_t usual)
{
    int64_t n;
    const char *text = getenv(name);
    return text && str_int(str_of(text), &n) && n > 0 ? (uint64_t)n : usual;
}

#endif
