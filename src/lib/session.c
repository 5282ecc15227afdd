/* session.c - the functions of daruma.h about sessions. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "lib/inside.h"
#include "sys/arena.h"
#include <stdlib.h>

/* ---- open and free ---- */

static void session_give_back(daruma_session *s)
{
    if (!s)
        return;
    sys_arena_done(&s->arena);
    free(s->body);
    free(s);
}

/* A session whose body is copied; NULL without memory. */
static daruma_session *session_new(daruma_memory *m, const char *body, size_t body_bytes)
{
    size_t own = (sizeof(daruma_session) + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    daruma_session *s = calloc(1, own + session_bytes());
    if (!s)
        return NULL;
    s->body = malloc(body_bytes + 1);
    if (!s->body || !sys_arena_init(&s->arena, CALL_BYTES_USUAL, CALL_ARENA_BYTES_MAX)) {
        session_give_back(s);
        return NULL;
    }
    if (body_bytes)
        memcpy(s->body, body, body_bytes);
    s->body[body_bytes] = 0;
    s->body_bytes = body_bytes;
    s->x = (session *)(void *)((char *)s + own);
    s->m = m;
    s->timer = -1;
    return s;
}

/* The policy is copied: whoever made it may free it. Its ladders are the only part of it that is not static. */
static bool set_policy(daruma_session *s, const daruma_policy *p)
{
    daruma_rung *rungs = ARENA_NEW(&s->arena, daruma_rung, p->nrungs ? p->nrungs : 1);
    if (!rungs)
        return false;
    if (p->nrungs)
        memcpy(rungs, p->rungs, p->nrungs * sizeof *rungs);
    s->policy = *p;
    s->policy.rungs = rungs;
    return true;
}

static void set_options(daruma_session *s)
{
    s->options = (drive_options){.policy = &s->policy,
                                 .on_failure = (drive_form)s->o.on_failure,
                                 .strategies = (daruma_strategy_mode)s->o.strategies,
                                 .compact_tool_errors = s->o.compact_tool_errors,
                                 .first_byte = s->o.first_byte,
                                 .idle = s->o.idle,
                                 .total = s->o.total,
                                 .calls = (uint32_t)s->o.calls};
}

static void begin(daruma_session *s, daruma_str body)
{
    session_request q = {.d = s->o.d,
                         .body = body,
                         .arena = &s->arena,
                         .options = &s->options,
                         .safe = true,
                         .again = s->o.again,
                         .path_names = s->o.path_names && s->o.d == &dialect_gemini,
                         .path_model = s->o.model,
                         .path_stream = s->o.stream,
                         .credential = lib_hash(s->o.client),
                         .waits = s->o.waits,
                         .agent = s->o.agent,
                         .speaks = s->o.d};
    s->next = s->m->sessions;
    s->m->sessions = s;
    session_open(s->x, &s->m->drive, s, &q);
}

daruma_session *daruma_session_open(daruma_memory *m, const daruma_policy *p, const char *options, size_t options_bytes,
                                    const char *body, size_t body_bytes, char *why, size_t why_bytes)
{
    char room[LIB_WHY_BYTES];
    daruma_buf words = buf_over(room, sizeof room);
    daruma_session *s = body_bytes > BODY_BYTES_MAX ? NULL : session_new(m, body, body_bytes);
    bool fine = s && lib_options_read(&s->o, (daruma_str){options, options_bytes}, &s->arena, &words);
    if (fine && !set_policy(s, p ? p : daruma_policy_find(S("default"))))
        fine = false;
    if (!fine && !words.n)
        buf_putz(&words, body_bytes > BODY_BYTES_MAX ? "the request is too large" : "there is no memory");
    lib_text(why, why_bytes, buf_str(&words));
    if (fine) {
        set_options(s);
        begin(s, (daruma_str){s->body, body_bytes});
        return s;
    }
    session_give_back(s);
    return NULL;
}

void daruma_session_free(daruma_session *s)
{
    if (!s)
        return;
    if (!s->over)
        session_gone(s->x);
    daruma_session **at = &s->m->sessions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    while (s->calls)
        lib_call_end(s->calls);
    acts_drop(s);
    free(s->now);
    session_give_back(s);
}

/* ---- what is to be done ---- */

/* There is no memory for what has to be done: the answer breaks off. */
static daruma_do give_up(daruma_session *s)
{
    if (!s->over)
        session_gone(s->x);
    acts_drop(s);
    s->failed = false;
    return DARUMA_DO_BREAK;
}

/* Has the time come that the driver asked for? */
static bool is_due(const daruma_session *s)
{
    return !s->over && s->timer >= 0 && s->m->drive.at.now >= s->timer;
}

daruma_do daruma_session_next(daruma_session *s)
{
    free(s->now);
    s->now = NULL;
    if (s->failed)
        return give_up(s);
    if (s->slow && s->waiting_bytes <= LIB_SLOW_BYTES / 2 && !s->over) {
        s->slow = false;
        session_drained(s->x);
    }
    if (!s->words.first && !s->answer.first && is_due(s))
        daruma_session_clock(s);
    s->now = acts_take(s);
    return s->now ? s->now->what : DARUMA_DO_NOTHING;
}

int64_t daruma_session_wakes_ms(const daruma_session *s)
{
    return s->timer;
}

static const char *text_of(const daruma_session *s, act_text which, size_t *ret_bytes)
{
    daruma_str t = s->now ? s->now->text[which] : S("");
    if (ret_bytes)
        *ret_bytes = t.n;
    return t.p;
}

int64_t daruma_session_call(const daruma_session *s)
{
    return s->now ? s->now->call : 0;
}

const char *daruma_session_target(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_TARGET, ret_bytes);
}

const char *daruma_session_dialect(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_DIALECT, ret_bytes);
}

const char *daruma_session_model(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_MODEL, ret_bytes);
}

const char *daruma_session_path(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_PATH, ret_bytes);
}

const char *daruma_session_bytes(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_BYTES, ret_bytes);
}

const char *daruma_session_fields(const daruma_session *s, size_t *ret_bytes)
{
    return text_of(s, ACT_FIELDS, ret_bytes);
}

int64_t daruma_session_total_ms(const daruma_session *s)
{
    return s->now ? s->now->total_ms : -1;
}

int daruma_session_status(const daruma_session *s)
{
    return s->now ? s->now->status : 0;
}

/* ---- what happened ---- */

/* The call of that number, while it is out and the session goes on. */
static lib_call *call_of(const daruma_session *s, int64_t number)
{
    lib_call *o = s->over ? NULL : s->calls;
    while (o && o->number != number)
        o = o->next;
    return o;
}

static bool is_clean(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '\r' || s.p[i] == 0)
            return false;
    return true;
}

/* "name: value" in each line; in `a`. Lines that hold anything else are left out. */
static daruma_header *read_fields(daruma_str text, daruma_arena *a, size_t *ret_n)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n';
    daruma_header *h = ARENA_NEW(a, daruma_header, lines);
    *ret_n = 0;
    while (h && text.n) {
        daruma_str line = str_trim(str_cut(&text, '\n')), name = str_cut(&line, ':');
        if (is_clean(name) && is_clean(line) && name.n)
            h[(*ret_n)++] = (daruma_header){str_trim(name), str_trim(line)};
    }
    return h;
}

void daruma_call_head(daruma_session *s, int64_t call, int status, const char *fields, size_t fields_bytes)
{
    lib_call *o = call_of(s, call);
    size_t n;
    if (!o || o->headed || (status >= 100 && status < 200)) /* what is said on the way is no answer */
        return;
    if (status < 200 || status > 999) {
        daruma_call_failed(s, call, daruma_net_name(DARUMA_NET_PROTOCOL));
        return;
    }
    daruma_header *h = read_fields((daruma_str){fields, fields_bytes}, &s->arena, &n);
    drive_head head = {.status = status, .headers = h, .nheaders = n, .length = -1};
    for (size_t i = 0; i < n; i++)
        if (str_ieq(h[i].name, S("content-length")) && !str_int(h[i].value, &head.length))
            head.length = -1;
    o->headed = true;
    o->c->ops->head(o->c, &head);
}

void daruma_call_bytes(daruma_session *s, int64_t call, const char *bytes, size_t n)
{
    lib_call *o = call_of(s, call);
    if (!o || !o->headed || !n)
        return;
    o->c->ops->body(o->c, (daruma_str){bytes, n});
}

/* The call is over; the driver hears of it next. */
static drive_call *ended(lib_call *o)
{
    drive_call *c = o->c;
    c->handle = NULL;
    lib_call_end(o);
    return c;
}

void daruma_call_end(daruma_session *s, int64_t call)
{
    lib_call *o = call_of(s, call);
    acts_forget(s, call);
    if (!o)
        return;
    bool headed = o->headed;
    drive_call *c = ended(o);
    if (headed)
        c->ops->end(c);
    else
        (c->ops->fail)(c, DARUMA_NET_CLOSED, DARUMA_AT_WAIT);
}

static daruma_net net_of(const char *how)
{
    for (int i = DARUMA_NET_NONE + 1; how && i < DARUMA_NETS; i++)
        if (!strcmp(how, daruma_net_name((daruma_net)i)))
            return (daruma_net)i;
    return DARUMA_NET_CLOSED;
}

/* How far a call came that failed so. */
static daruma_phase phase_of(const lib_call *o, daruma_net net)
{
    switch (net) {
    case DARUMA_NET_DNS:
    case DARUMA_NET_REFUSED:
    case DARUMA_NET_UNREACHABLE:
    case DARUMA_NET_TLS:
    case DARUMA_NET_CERTIFICATE:
    case DARUMA_NET_PROXY:
    case DARUMA_NET_CONNECT_TIMEOUT:
    case DARUMA_NET_LOCAL:
        return DARUMA_AT_CONNECT;
    default:
        return o->headed ? DARUMA_AT_STREAM : DARUMA_AT_WAIT;
    }
}

void daruma_call_failed(daruma_session *s, int64_t call, const char *how)
{
    lib_call *o = call_of(s, call);
    daruma_net net = net_of(how);
    acts_forget(s, call);
    if (!o)
        return;
    daruma_phase phase = phase_of(o, net);
    drive_call *c = ended(o);
    (c->ops->fail)(c, net, phase);
}

void daruma_session_clock(daruma_session *s)
{
    if (!is_due(s))
        return;
    s->timer = -1;
    session_clock(s->x);
}

void daruma_session_gone(daruma_session *s)
{
    if (!s->over)
        session_gone(s->x);
}

/* ---- how it stands ---- */

const char *daruma_session_outcome(const daruma_session *s)
{
    return daruma_outcome_name(session_outcome(s->x));
}

size_t daruma_session_remedies(const daruma_session *s, char *out, size_t out_bytes)
{
    char room[1024];
    daruma_buf b = buf_over(room, sizeof room);
    session_say_remedies(s->x, &b);
    return lib_text(out, out_bytes, buf_str(&b));
}

int64_t daruma_session_attempts(const daruma_session *s)
{
    return session_attempts(s->x);
}
