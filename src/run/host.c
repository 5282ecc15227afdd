/* host.c - the loop of `daruma run`: what the agent asks for is done, what came of it is handed in. A question to a
 * model is a session of the library (daruma.h), whose calls go out over net/upstream: failures of the provider are
 * recovered there, and the agent sees what is left. One thing is out at a time. */
#include "run/host.h"
#include "run/files.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "net/upstream.h"
#include "sys/sys.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A call of the session that is out. */
typedef struct call {
    struct call *next;
    struct run *r;
    int64_t number;
    fetch *f;
    daruma_arena room; /* of the request */
} call;

typedef struct run {
    const run_settings *s;
    uv_loop_t loop;
    uv_timer_t clock, soon; /* the next time that is waited for; what must not be done within a callback */
    uv_signal_t interrupt;
    upstream *up;
    url to;
    daruma_str prefix;    /* of the paths of calls */
    daruma_arena memory;  /* of the run */
    daruma_memory *known; /* to the library */
    daruma_policy *policy;
    daruma_session *session; /* NULL: no model is asked */
    call *calls;
    uint32_t asked;     /* the agent's number of that question */
    uint32_t recovered; /* questions that were answered behind a failure */
    int status;         /* of its answer */
    daruma_arena room;
    daruma_buf body;
    bool over;   /* the session is ... */
    bool broken; /* ... and its answer is not whole */
    agent_policy agent_policy;
    agent *a;
    daruma_ms until; /* the agent waits so long, -1 it does not */
    int root;
    bool interrupted, finished;
} run;

static daruma_moment tick(run *r)
{
    daruma_moment at = sys_moment();
    daruma_memory_now(r->known, at.now, at.wall, at.dice);
    return at;
}

static void on_clock(uv_timer_t *t);
static void on_soon(uv_timer_t *t);

static void rearm(run *r)
{
    daruma_ms now = sys_moment().now, next = r->session ? daruma_session_wakes_ms(r->session) : -1;
    if (r->until >= 0 && (next < 0 || r->until < next))
        next = r->until;
    daruma_ms in = next < 0 ? RUN_LOOK_MS : next - now; /* the agent's own deadlines are looked at now and then */
    in = in < 0 ? 0 : in > RUN_LOOK_MS ? RUN_LOOK_MS : in;
    uv_timer_start(&r->clock, on_clock, (uint64_t)in, 0);
}

/* What is to be done outside of the callback at hand. */
static void later(run *r)
{
    uv_timer_start(&r->soon, on_soon, 0, 0);
}

/* ---- calls of a session ---- */

static void call_gone(call *c)
{
    for (call **p = &c->r->calls; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    sys_arena_done(&c->room);
    free(c);
}

static call *call_of(run *r, int64_t number)
{
    for (call *c = r->calls; c; c = c->next)
        if (c->number == number)
            return c;
    return NULL;
}

static void pump_session(run *r);

static void on_head(fetch *f, const http_head *h, void *user)
{
    call *c = user;
    daruma_buf b = buf_in(&c->room);
    (void)f;
    for (size_t i = 0; i < h->nheaders; i++) {
        buf_put(&b, h->headers[i].name);
        BUF_LIT(&b, ": ");
        buf_put(&b, h->headers[i].value);
        BUF_LIT(&b, "\r\n");
    }
    tick(c->r);
    daruma_call_head(c->r->session, c->number, h->status, b.p, b.n);
    pump_session(c->r);
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    call *c = user;
    (void)f;
    tick(c->r);
    daruma_call_bytes(c->r->session, c->number, bytes.p, bytes.n);
    pump_session(c->r);
}

static void on_end(fetch *f, void *user)
{
    call *c = user;
    run *r = c->r;
    int64_t number = c->number;
    (void)f;
    call_gone(c);
    tick(r);
    daruma_call_end(r->session, number);
    pump_session(r);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    call *c = user;
    run *r = c->r;
    int64_t number = c->number;
    (void)f, (void)phase, (void)why;
    call_gone(c);
    tick(r);
    daruma_call_failed(r->session, number, daruma_net_name(net));
    pump_session(r);
}

static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};

static daruma_str copied(daruma_arena *a, const char *p, size_t n)
{
    return arena_copy(a, (daruma_str){p, n});
}

/* "name: value\r\n" each, and the key. */
static size_t fields_of_call(run *r, daruma_str text, daruma_header *out, size_t max, daruma_arena *a)
{
    size_t n = 0;
    while (text.n && n + 1 < max) {
        daruma_str line = str_cut(&text, '\n'), name = str_cut(&line, ':');
        if (str_trim(name).n)
            out[n++] = (daruma_header){str_trim(name), str_trim(line)};
    }
    if (r->s->key.n) {
        daruma_buf b = buf_in(a);
        buf_putz(&b, r->s->d->key_prefix);
        buf_put(&b, r->s->key);
        out[n++] = (daruma_header){str_of(r->s->d->key_header), buf_str(&b)};
    }
    return n;
}

static void send_call(run *r)
{
    daruma_session *s = r->session;
    call *c = calloc(1, sizeof *c);
    int64_t number = daruma_session_call(s);
    daruma_header *fields = NULL; /* read until the answer begins */
    size_t n;
    if (!c || !sys_arena_init(&c->room, 16 << 10, CALL_ARENA_BYTES_MAX)) {
        free(c);
        daruma_call_failed(s, number, "local");
        return;
    }
    fields = ARENA_NEW(&c->room, daruma_header, RUN_FIELDS_MAX);
    const char *p = daruma_session_path(s, &n);
    daruma_str path = copied(&c->room, p, n);
    p = daruma_session_fields(s, &n);
    daruma_str text = copied(&c->room, p, n);
    p = daruma_session_bytes(s, &n);
    daruma_str body = copied(&c->room, p, n);
    daruma_ms total = daruma_session_total_ms(s);
    daruma_buf target = buf_in(&c->room);
    buf_put(&target, r->prefix);
    buf_put(&target, path);
    fetch_request q = {.to = &r->to,
                       .method = S("POST"),
                       .target = buf_str(&target),
                       .headers = fields,
                       .nheaders = fields ? fields_of_call(r, text, fields, RUN_FIELDS_MAX, &c->room) : 0,
                       .body = {body},
                       .has_body = true,
                       .clocks = {RUN_CONNECT_MS, RUN_ANSWER_MS, RUN_IDLE_MS, total > 0 ? total : 0}};
    c->r = r;
    c->number = number;
    c->f = c->room.full ? NULL : fetch_start(r->up, &q, &ops, c);
    if (!c->f) {
        sys_arena_done(&c->room);
        free(c);
        daruma_call_failed(s, number, "local");
        return;
    }
    c->next = r->calls;
    r->calls = c;
}

static void end_calls(run *r)
{
    while (r->calls) {
        fetch_cancel(r->calls->f);
        call_gone(r->calls);
    }
}

/* Does what the session says. Its end is dealt with later: it may be told from within one of its own calls. */
static void pump_session(run *r)
{
    size_t n;
    while (r->session && !r->over) {
        daruma_do what = daruma_session_next(r->session);
        call *c = call_of(r, daruma_session_call(r->session));
        const char *p;
        switch (what) {
        case DARUMA_DO_NOTHING:
            rearm(r);
            return;
        case DARUMA_DO_SEND:
            send_call(r);
            break;
        case DARUMA_DO_CANCEL:
            if (c) {
                fetch_cancel(c->f);
                call_gone(c);
            }
            break;
        case DARUMA_DO_PAUSE:
            if (c)
                fetch_pause(c->f);
            break;
        case DARUMA_DO_RESUME:
            if (c)
                fetch_resume(c->f);
            break;
        case DARUMA_DO_LIMIT:
            if (c)
                fetch_total(c->f, daruma_session_total_ms(r->session));
            break;
        case DARUMA_DO_HEAD:
            r->status = daruma_session_status(r->session);
            break;
        case DARUMA_DO_BYTES:
            p = daruma_session_bytes(r->session, &n);
            buf_put(&r->body, (daruma_str){p, n});
            break;
        case DARUMA_DO_EVENT:
            p = daruma_session_bytes(r->session, &n);
            r->s->event((daruma_str){p, n}, r->s->user);
            break;
        case DARUMA_DO_END:
        case DARUMA_DO_BREAK:
            r->over = true;
            r->broken = what == DARUMA_DO_BREAK || r->body.full;
            later(r);
            return;
        }
    }
}

/* ---- what the agent asks for ---- */

static void write_options(run *r, const agent_act *x, daruma_buf *b)
{
    BUF_LIT(b, "{\"dialect\":");
    buf_json(b, str_of(r->s->d->name));
    BUF_LIT(b, ",\"targets\":[{\"name\":\"main\",\"model\":");
    buf_json(b, x->model);
    buf_printf(b, "}],\"watch\":\"off\",\"on_failure\":\"%s\"", r->agent_policy.failure_answers ? "message" : "error");
    if (r->s->d == &dialect_gemini) {
        BUF_LIT(b, ",\"model\":");
        buf_json(b, x->model);
    }
    if (x->total > 0)
        buf_printf(b, ",\"total_ms\":%lld", (long long)x->total);
    if (r->s->key.n >= 6) {
        BUF_LIT(b, ",\"secrets\":[");
        buf_json(b, r->s->key);
        buf_putc(b, ']');
    }
    buf_putc(b, '}');
}

static void ask_model(run *r, const agent_act *x)
{
    char why[256];
    daruma_buf b = buf_in(&r->room);
    write_options(r, x, &b);
    r->asked = x->call;
    r->status = 0;
    r->over = r->broken = false;
    tick(r);
    r->session =
        b.full ? NULL : daruma_session_open(r->known, r->policy, b.p, b.n, x->body.p, x->body.n, why, sizeof why);
    r->body = buf_in(&r->room);
    if (r->session) {
        pump_session(r);
        return;
    }
    r->over = r->broken = true;
    later(r);
}

static void call_tool(run *r, const agent_act *x)
{
    daruma_arena room;
    if (!sys_arena_init(&room, 64 << 10, RUN_TOOL_BYTES_MAX)) {
        agent_tool_done(r->a, x->call, S("INTERNAL_ERROR: there is no memory for the call"), 0, false, tick(r));
        return;
    }
    daruma_buf out = buf_in(&room);
    bool well = files_call(r->root, x->tool, x->args, &room, &out);
    agent_tool_done(r->a, x->call, buf_str(&out), well, false, tick(r));
    sys_arena_done(&room);
}

static void end_run(run *r)
{
    agent_result result = agent_result_of(r->a);
    r->finished = true;
    end_calls(r);
    daruma_session_free(r->session);
    r->session = NULL;
    r->s->done(&result, r->recovered, r->s->user);
    uv_close((uv_handle_t *)&r->clock, NULL);
    uv_close((uv_handle_t *)&r->soon, NULL);
    uv_close((uv_handle_t *)&r->interrupt, NULL);
    upstream_close(r->up);
}

static void go_on(run *r)
{
    r->until = -1;
    while (!r->finished) {
        agent_act x = agent_next(r->a);
        switch (x.what) {
        case AGENT_DO_NOTHING:
            rearm(r);
            return;
        case AGENT_DO_EVENT:
            r->s->event(x.text, r->s->user);
            break;
        case AGENT_DO_MODEL:
            ask_model(r, &x);
            rearm(r);
            return;
        case AGENT_DO_TOOL:
            call_tool(r, &x);
            if (r->interrupted)
                agent_cancel(r->a, tick(r));
            break;
        case AGENT_DO_ASK:
            agent_person(r->a, x.call, r->s->yes ? AGENT_ALLOWED : r->s->ask(x.text, r->s->user), (daruma_str){0},
                         tick(r));
            break;
        case AGENT_DO_WAIT:
            r->until = x.until;
            rearm(r);
            return;
        case AGENT_DO_FINISH:
            end_run(r);
            break;
        }
    }
}

/* The session is over: the agent hears of it. */
static void answer_agent(run *r)
{
    daruma_str body = buf_str(&r->body);
    end_calls(r);
    if (r->session) {
        r->recovered += strcmp(daruma_session_outcome(r->session), "recovered") == 0;
        daruma_session_free(r->session);
    }
    r->session = NULL;
    r->over = false;
    if (!r->broken && r->status == 200) {
        agent_answered(r->a, r->asked, body, tick(r));
    } else {
        daruma_evidence ev = {.phase = r->broken ? DARUMA_AT_ANSWER : DARUMA_AT_HEAD,
                              .status = r->broken ? 0 : r->status,
                              .net = r->broken ? DARUMA_NET_CUT : DARUMA_NET_NONE,
                              .body = r->broken ? (daruma_str){0} : body,
                              .took = -1};
        agent_failed(r->a, r->asked, &ev, tick(r));
    }
    sys_arena_done(&r->room);
    sys_arena_init(&r->room, 64 << 10, RUN_ANSWER_BYTES_MAX);
    go_on(r);
}

static void on_soon(uv_timer_t *t)
{
    run *r = t->data;
    if (!r->finished && r->over)
        answer_agent(r);
}

static void on_clock(uv_timer_t *t)
{
    run *r = t->data;
    daruma_moment at = tick(r);
    agent_clock(r->a, at);
    if (r->session && !r->over) {
        daruma_session_clock(r->session);
        pump_session(r);
    }
    if (r->until >= 0 ? at.now >= r->until : agent_result_of(r->a).outcome != DARUMA_OUTCOME_PENDING)
        go_on(r);
    else if (!r->finished)
        rearm(r);
}

/* The first one ends the run when what is under way allows it; the second the program, as always. */
static void on_signal(uv_signal_t *s, int number)
{
    run *r = s->data;
    (void)number;
    r->interrupted = true;
    uv_signal_stop(s);
    agent_cancel(r->a, tick(r));
    go_on(r);
}

/* ---- beginning and end ---- */

static bool open_all(run *r, char why[256])
{
    const char *wrong = NULL;
    upstream_settings us = {.https_proxy = sys_env("https_proxy"), .no_proxy = sys_env("no_proxy")};
    if (!url_parse(r->s->base, &r->memory, &r->to, &wrong)) {
        snprintf(why, 256, "the base URL is no address: %s", wrong);
        return false;
    }
    /* What clients call a base URL ends in /v1 or not: paths of calls begin with it. */
    r->prefix = r->to.prefix;
    if (str_ends(r->prefix, S("/v1")))
        r->prefix = str_sub(r->prefix, 0, r->prefix.n - 3);
    else if (str_ends(r->prefix, S("/v1beta")))
        r->prefix = str_sub(r->prefix, 0, r->prefix.n - 7);
    r->root = files_root(r->s->root);
    if (r->root < 0) {
        snprintf(why, 256, "the root %.100s cannot be opened: %.100s", r->s->root, strerror(errno));
        return false;
    }
    daruma_buf b = buf_in(&r->memory);
    if (r->s->recovery) {
        char *room = arena_take(&r->memory, LIB_OPTIONS_BYTES_MAX, 1);
        size_t n = room ? daruma_policy_json(r->s->recovery, room, LIB_OPTIONS_BYTES_MAX) : 0;
        buf_put(&b, (daruma_str){room, n});
    }
    r->policy = daruma_policy_new(b.p ? b.p : "", b.n, why, 256);
    r->known = daruma_memory_new();
    if (!r->policy || !r->known || !(r->up = upstream_new(&r->loop, &us, why)))
        return false;
    return true;
}

static void close_all(run *r)
{
    if (r->root >= 0)
        close(r->root);
    agent_close(r->a);
    daruma_policy_free(r->policy);
    daruma_memory_free(r->known);
    sys_arena_done(&r->room);
    sys_arena_done(&r->memory);
}

static void *take(size_t n)
{
    return calloc(1, n);
}

static bool begin(run *r, daruma_str task)
{
    static const drive_rooms rooms = {.open = sys_arena_init,
                                      .close = sys_arena_done,
                                      .widen = sys_arena_widen,
                                      .bytes = sys_arena_bytes,
                                      .take = take,
                                      .give = free};
    r->agent_policy = r->s->agent ? *r->s->agent : agent_policy_default;
    if (!r->agent_policy.raises) /* calls are tried again by the session below: one budget, not two that multiply */
        r->agent_policy.retry.attempts = 1;
    agent_setup s = {.name = S("run"),
                     .d = r->s->d,
                     .model = r->s->model,
                     .second = r->s->second,
                     .tools = files_tools,
                     .ntools = nfiles_tools,
                     .mode = r->s->mode,
                     .policy = &r->agent_policy,
                     .recovery = r->s->judge ? r->s->judge : r->s->recovery,
                     .limits = r->s->limits};
    r->a = agent_open(&s, &rooms, task, tick(r));
    return r->a != NULL;
}

bool run_task(const run_settings *s, daruma_str task, char why[256])
{
    run r = {.s = s, .until = -1, .root = -1};
    snprintf(why, 256, "there is no memory for it");
    uv_loop_init(&r.loop);
    sys_ignore_sigpipe();
    bool well = sys_arena_init(&r.memory, 16 << 10, 4 * LIB_OPTIONS_BYTES_MAX) &&
                sys_arena_init(&r.room, 64 << 10, RUN_ANSWER_BYTES_MAX) && open_all(&r, why);
    if (well && begin(&r, task)) {
        uv_timer_init(&r.loop, &r.clock);
        uv_timer_init(&r.loop, &r.soon);
        uv_signal_init(&r.loop, &r.interrupt);
        r.clock.data = r.soon.data = r.interrupt.data = &r;
        uv_signal_start(&r.interrupt, on_signal, SIGINT);
        go_on(&r);
    } else {
        well = false;
        if (r.up)
            upstream_close(r.up);
    }
    uv_run(&r.loop, UV_RUN_DEFAULT);
    uv_loop_close(&r.loop);
    close_all(&r);
    return well;
}
