#include "sim/wire.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

enum { WALL_BEGIN = 1767225600, PLACES = 256 };

/* ---- calls ---- */

static wire_call *call_new(wire *w, drive_call *c)
{
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++)
        if (!w->calls[i].c) {
            w->calls[i] = (wire_call){.c = c, .due = w->at.now};
            return c->handle = &w->calls[i];
        }
    return NULL;
}

static void call_drop(drive_call *c, wire_call *o)
{
    c->handle = NULL;
    if (o)
        o->c = NULL;
}

static drive_sent on_send(void *user, drive_call *c, const drive_request *q)
{
    wire *w = user;
    wire_call *o = call_new(w, c);
    daruma_buf body = buf_in(w->a);
    for (size_t i = 0; i < COUNT(q->body); i++)
        buf_put(&body, q->body[i]);
    if (!o || body.full || !w->ops->call(w->user, q, buf_str(&body), &o->answer)) {
        call_drop(c, o);
        return DRIVE_NO_MEMORY;
    }
    o->due = add_sat(w->at.now, o->answer.took);
    if (q->total >= 0 && o->due > add_sat(w->at.now, q->total)) { /* it takes longer than it may */
        o->due = add_sat(w->at.now, q->total);
        o->answer = (wire_answer){.net = DARUMA_NET_TOTAL_TIMEOUT, .phase = DARUMA_AT_WAIT};
    }
    return DRIVE_SENT;
}

static const dialect *on_ask(void *user, drive_call *c, const daruma_target *t, const daruma_question *q,
                             daruma_ms total)
{
    wire *w = user;
    wire_call *o = call_new(w, c);
    (void)total;
    if (!o || !w->ops->ask(w->user, t, q, &o->answer)) {
        call_drop(c, o);
        return NULL;
    }
    o->due = add_sat(w->at.now, o->answer.took);
    return w->d;
}

/* Hands the head and the bytes of an answer to the session. Names and values stand in one piece of memory. */
static void bring(wire *w, wire_call *o)
{
    drive_call *c = o->c;
    wire_answer *r = &o->answer;
    daruma_buf all = buf_in(w->a);
    size_t n = r->nfields + 1, room = 0;
    r->fields[r->nfields] =
        (daruma_header){S("content-type"), r->stream ? S("text/event-stream") : S("application/json")};
    for (size_t i = 0; i < n; i++)
        room += r->fields[i].name.n + r->fields[i].value.n;
    buf_room(&all, room);
    for (size_t i = 0; i < 2 * n; i++) {
        daruma_str *one = i % 2 ? &r->fields[i / 2].value : &r->fields[i / 2].name, was = *one;
        one->p = all.p + all.n;
        buf_put(&all, was);
    }
    drive_head head = {.status = r->status, .headers = r->fields, .nheaders = n, .length = -1};
    w->newest = r->body;
    c->ops->head(c, &head);
    if (o->c == c && r->body.n)
        c->ops->body(c, r->body);
}

/* The call is over, if the session has not ended it. */
static void end_call(wire_call *o)
{
    drive_call *c = o->c;
    if (!c)
        return;
    call_drop(c, o);
    if (o->answer.net == DARUMA_NET_NONE)
        c->ops->end(c);
    else
        (c->ops->fail)(c, o->answer.net, o->answer.phase);
}

static void deliver(wire *w, wire_call *o)
{
    if (o->answer.leaves) {
        session_gone(w->x);
        return;
    }
    w->last = o->answer;
    if (o->answer.status)
        bring(w, o);
    if (o->answer.hangs)
        o->due = INT64_MAX;
    else
        end_call(o);
}

static void on_cancel(void *handle)
{
    ((wire_call *)handle)->c = NULL;
}

static void on_hand_over(void *handle, drive_call *to)
{
    ((wire_call *)handle)->c = to;
    to->handle = handle;
}

/* ---- the rest of the host ---- */

static void on_head(void *user, const drive_answer *a)
{
    ((wire *)user)->status = a->status;
}

static bool on_write(void *user, daruma_str bytes)
{
    buf_put(&((wire *)user)->got, bytes);
    return true;
}

static void on_over(void *user, drive_end how)
{
    wire *w = user;
    w->over = true;
    w->end = how;
}

static drive_place place_of(void *user, const daruma_target *t)
{
    return (drive_place){.d = ((wire *)user)->d, .site = t->provider_id, .own_key = true};
}

static const daruma_target *targets_of(void *user, daruma_str model, uint64_t conversation, size_t *n,
                                       daruma_watch_mode *watch)
{
    wire *w = user;
    (void)conversation;
    return w->ops->targets(w->user, model, n, watch);
}

static drive_key key_of(void *user, const daruma_target *t, bool *ret_renewable)
{
    (void)t;
    *ret_renewable = ((wire *)user)->renewable;
    return DRIVE_KEY_READY;
}

static void key_fetch(void *user, const daruma_target *t, bool anew)
{
    (void)t;
    (void)anew;
    ((wire *)user)->key_comes = true;
}

static uint64_t tenant_of(void *user)
{
    (void)user;
    return 1;
}

static void on_tell(void *user, daruma_event *e)
{
    wire *w = user;
    if (!e->live)
        w->ops->tell(w->user, e);
}

static void on_step(void *user, const drive_step *s)
{
    wire *w = user;
    w->ops->step(w->user, s);
}

static void on_timer(void *user, daruma_ms at)
{
    ((wire *)user)->timer = at;
}

static const drive_host wire_host = {.head = on_head,
                                     .write = on_write,
                                     .over = on_over,
                                     .send = on_send,
                                     .ask = on_ask,
                                     .cancel = on_cancel,
                                     .hand_over = on_hand_over,
                                     .place = place_of,
                                     .targets = targets_of,
                                     .key = key_of,
                                     .key_fetch = key_fetch,
                                     .tenant = tenant_of,
                                     .tell = on_tell,
                                     .step = on_step,
                                     .timer = on_timer};

daruma_str wire_says(const dialect *d, daruma_str text, const wire_tool_call *calls, size_t ncalls, daruma_arena *a)
{
    convo c = {.arena = a};
    convo_message *m = convo_add_message(&c, CONVO_ASSISTANT, (daruma_str){0});
    turn t = {.finish = ncalls ? FINISH_CALLS : FINISH_STOP, .usage = TURN_USAGE_NONE};
    daruma_buf out = buf_in(a);
    for (size_t i = text.n ? 0 : 1; m && i <= ncalls; i++) {
        convo_part *p = convo_add_part(&c, m, i ? PART_CALL : PART_TEXT, (daruma_str){0});
        if (!p)
            return (daruma_str){0};
        p->ready = p->edited = true;
        p->text = text;
        if (i) {
            p->id = calls[i - 1].id;
            p->name = calls[i - 1].tool;
            p->text = p->value = calls[i - 1].args.n ? calls[i - 1].args : S("{}");
        }
    }
    if (!m)
        return (daruma_str){0};
    m->edited = true;
    t.message = *m;
    d->write_answer(&t, &(write_ctx){.model = S("m"), .id = 7, .wall = WALL_BEGIN}, &out);
    return out.full ? (daruma_str){0} : buf_str(&out);
}

/* ---- time ---- */

void wire_pass(wire *w, daruma_ms when, bool sleeps)
{
    uint64_t z = (w->dice += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    if (when > w->at.now) {
        w->slept += sleeps ? when - w->at.now : 0;
        w->at.now = when;
    }
    w->v.at = w->at = (daruma_moment){w->at.now, WALL_BEGIN + w->at.now / 1000, z ^ (z >> 31)};
}

/* The next thing happens. False: nothing will. */
static bool input(wire *w)
{
    wire_call *next = NULL;
    for (size_t i = 0; i < WIRE_CALLS_MAX; i++)
        if (w->calls[i].c && (!next || w->calls[i].due < next->due))
            next = &w->calls[i];
    daruma_ms timer = w->timer;
    if (w->key_comes) {
        w->key_comes = false;
        wire_pass(w, w->at.now, false);
        session_key_here(w->x);
    } else if (next && next->due < INT64_MAX && (timer < 0 || next->due <= timer)) {
        wire_pass(w, next->due, false);
        deliver(w, next);
    } else if (timer >= 0) {
        w->timer = -1;
        wire_pass(w, timer, !next);
        session_clock(w->x);
    } else {
        return false;
    }
    return true;
}

/* ---- requests ---- */

bool wire_begin(wire *w, daruma_arena *a)
{
    w->v.host = &wire_host;
    w->x = arena_take(a, session_bytes(), _Alignof(max_align_t));
    w->v.health = daruma_health_new(a, PLACES);
    w->over = true;
    w->v.at = w->at = (daruma_moment){.wall = WALL_BEGIN};
    return w->x && w->v.health && driver_begin(&w->v);
}

void wire_end(wire *w)
{
    driver_end(&w->v);
}

bool wire_request(wire *w, const session_request *q)
{
    w->a = q->arena;
    w->got = buf_in(w->a);
    w->newest = (daruma_str){0};
    w->last = (wire_answer){0};
    w->status = 0;
    w->timer = -1;
    w->over = w->key_comes = false;
    wire_pass(w, w->at.now, false);
    session_open(w->x, &w->v, w, q);
    for (int i = 0; i < WIRE_TURNS_MAX && !w->over && input(w); i++) {
    }
    return w->over;
}

void wire_leave(wire *w)
{
    if (!w->over)
        session_gone(w->x);
}
