/* host.c - the host of the driver: what it wants done becomes an act, and the program asks for it. */
#include "base/buf.h"
#include "base/limits.h"
#include "engine/tell/redact.h"
#include "lib/inside.h"
#include "sys/arena.h"
#include <stdlib.h>
#include <xxhash.h>

static const lib_target *target_of(const daruma_session *s, const daruma_target *t)
{
    return &s->o.targets[t->host];
}

/* ---- the client ---- */

static void put(daruma_buf *out, daruma_str name, daruma_str value)
{
    BUF_SAY(out, name, ": ", value, "\r\n");
}

static void put_field(daruma_buf *out, const char *name, daruma_str value)
{
    put(out, str_of(name), value);
}

static void on_head(void *user, const drive_answer *answer)
{
    daruma_session *s = user;
    daruma_buf all = buf_in(&s->arena);
    const daruma_target *t = session_target(s->x);
    daruma_str target = t ? target_of(s, t)->name : (daruma_str){0};
    size_t n;
    const daruma_header *fields = session_fields(s->x, answer, target, &n);
    for (size_t i = 0; fields && i < n; i++)
        put(&all, fields[i].name, fields[i].value);
    if (answer->length >= 0)
        buf_printf(&all, "content-length: %lld\r\n", (long long)answer->length);
    act a = {.what = DARUMA_DO_HEAD, .status = answer->status, .total_ms = -1};
    a.text[ACT_FIELDS] = buf_str(&all);
    a.text[ACT_TARGET] = target;
    s->failed |= all.full || !fields;
    acts_add(s, &a, NULL, 0);
}

static bool on_write(void *user, daruma_str bytes)
{
    daruma_session *s = user;
    act a = {.what = DARUMA_DO_BYTES, .total_ms = -1};
    acts_add(s, &a, &bytes, 1);
    s->slow |= s->waiting_bytes > LIB_SLOW_BYTES;
    return !s->slow;
}

static void on_over(void *user, drive_end how)
{
    daruma_session *s = user;
    act a = {.what = how == DRIVE_END ? DARUMA_DO_END : DARUMA_DO_BREAK, .total_ms = -1};
    acts_add(s, &a, NULL, 0);
    s->over = true;
    s->timer = -1;
}

/* ---- calls ---- */

static lib_call *call_new(daruma_session *s, drive_call *c)
{
    lib_call *o = calloc(1, sizeof *o);
    if (!o)
        return NULL;
    *o = (lib_call){.s = s, .c = c, .number = ++s->ncalls, .next = s->calls};
    s->calls = o;
    c->handle = o;
    return o;
}

void lib_call_end(lib_call *o)
{
    lib_call **at = &o->s->calls;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    free(o);
}

static bool send_act(daruma_session *s, drive_call *c, const daruma_target *t, const dialect *d, daruma_str model,
                     daruma_str path, const daruma_str *body, size_t pieces, daruma_ms total)
{
    lib_call *o = call_new(s, c);
    if (!o)
        return false;
    act a = {.what = DARUMA_DO_SEND, .call = o->number, .total_ms = total};
    a.text[ACT_TARGET] = target_of(s, t)->name;
    a.text[ACT_DIALECT] = str_of(d->name);
    a.text[ACT_MODEL] = model;
    a.text[ACT_PATH] = path;
    daruma_buf fields = buf_in(&s->arena);
    put_field(&fields, "content-type", S("application/json"));
    put_field(&fields, "accept-encoding", S("identity"));
    if (d->version.name.n)
        put(&fields, d->version.name, d->version.value);
    a.text[ACT_FIELDS] = buf_str(&fields);
    if (!fields.full && acts_add(s, &a, body, pieces))
        return true;
    c->handle = NULL;
    lib_call_end(o);
    return false;
}

/* Of two limits, where 0 is none, the shorter; -1 none. */
static daruma_ms shorter(daruma_ms limit, daruma_ms left)
{
    if (!limit)
        return left;
    return left >= 0 && left < limit ? left : limit;
}

static drive_sent on_send(void *user, drive_call *c, const drive_request *r)
{
    daruma_session *s = user;
    daruma_str model = r->t->model.n ? r->t->model : r->model;
    daruma_str path = dialect_path(r->p, model, r->stream || r->array, &s->arena);
    if (!path.n || s->arena.full)
        return DRIVE_NO_MEMORY;
    return send_act(s, c, r->t, r->p, model, path, r->body, COUNT(r->body), shorter(s->o.total, r->total))
               ? DRIVE_SENT
               : DRIVE_NOT_SENT;
}

static const dialect *on_ask(void *user, drive_call *c, const daruma_target *t, const daruma_question *q,
                             daruma_ms total)
{
    daruma_session *s = user;
    const dialect *d = session_dialect_of(s->x, t);
    daruma_str model = t->model.n ? t->model : session_model(s->x), body, path;
    daruma_buf b = buf_in(&s->arena);
    dialect_write_ask(d, model, q, &b, &s->arena);
    body = buf_str(&b);
    path = dialect_path(d, model, false, &s->arena);
    if (b.full || s->arena.full)
        return NULL;
    return send_act(s, c, t, d, model, path, &body, 1, total) ? d : NULL;
}

static void cancel(void *handle)
{
    lib_call *o = handle;
    act a = {.what = DARUMA_DO_CANCEL, .call = o->number, .total_ms = -1};
    if (!acts_forget(o->s, o->number))
        acts_add(o->s, &a, NULL, 0);
    lib_call_end(o);
}

static void tell_call(void *handle, daruma_do what, daruma_ms total)
{
    lib_call *o = handle;
    act a = {.what = what, .call = o->number, .total_ms = total};
    acts_add(o->s, &a, NULL, 0);
}

static void pause_call(void *handle)
{
    lib_call *o = handle;
    if (!o->paused)
        tell_call(o, DARUMA_DO_PAUSE, -1);
    o->paused = true;
}

static void resume_call(void *handle)
{
    lib_call *o = handle;
    if (o->paused)
        tell_call(o, DARUMA_DO_RESUME, -1);
    o->paused = false;
}

static void limit_call(void *handle, daruma_ms total)
{
    tell_call(handle, DARUMA_DO_LIMIT, total ? total : -1);
}

static void hand_over(void *handle, drive_call *to)
{
    lib_call *o = handle;
    o->c = to;
    to->handle = o;
}

/* ---- targets and keys ---- */

uint64_t lib_hash(daruma_str s)
{
    return XXH3_64bits(s.p, s.n);
}

static drive_place on_place(void *user, const daruma_target *t)
{
    const daruma_session *s = user;
    const lib_target *l = target_of(s, t);
    return (drive_place){.d = l->d ? l->d : s->o.d, .site = lib_hash(l->site), .own_key = true};
}

static const daruma_target *on_targets(void *user, daruma_str model, uint64_t conversation, size_t *n,
                                       daruma_watch_mode *watch)
{
    const daruma_session *s = user;
    (void)model, (void)conversation;
    *n = s->o.ntargets;
    *watch = (daruma_watch_mode)s->o.watch;
    return s->o.list;
}

static void on_redact(void *user, const daruma_target *t, daruma_str secret, daruma_str *texts, size_t n)
{
    daruma_session *s = user;
    daruma_arena index;
    redaction r = {.longest = SIZE_MAX, .arena = &s->arena, .index = &index, .sure = true};
    (void)t;
    (void)secret;
    if (!s->o.nsecrets)
        return;
    sys_arena_init(&index, REDACT_INDEX_BYTES_USUAL, CALL_ARENA_BYTES_MAX); /* without memory it is full */
    for (size_t i = 0; i < s->o.nsecrets; i++)
        redact_add(&r, s->o.secrets[i], true);
    for (size_t i = 0; i < n; i++)
        texts[i] = redact_known(&r, texts[i]);
    sys_arena_done(&index);
}

static uint64_t on_tenant(void *user)
{
    const daruma_session *s = user;
    return lib_hash(s->o.client) | 1;
}

/* ---- all else ---- */

static void on_tell(void *user, daruma_event *e)
{
    daruma_session *s = user;
    daruma_buf line = buf_in(&s->arena);
    if (e->live)
        return;
    daruma_event_write(e, &line);
    daruma_str text = str_trim(buf_str(&line));
    act a = {.what = DARUMA_DO_EVENT, .total_ms = -1};
    if (!line.full)
        acts_add(s, &a, &text, 1);
}

static void on_timer(void *user, daruma_ms at)
{
    daruma_session *s = user;
    s->timer = at;
}

const drive_host lib_host = {.head = on_head,
                             .write = on_write,
                             .over = on_over,
                             .send = on_send,
                             .ask = on_ask,
                             .cancel = cancel,
                             .pause = pause_call,
                             .resume = resume_call,
                             .hand_over = hand_over,
                             .limit = limit_call,
                             .place = on_place,
                             .targets = on_targets,
                             .redact = on_redact,
                             .tenant = on_tenant,
                             .tell = on_tell,
                             .timer = on_timer}; /* keys are the program's */
