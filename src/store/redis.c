/* redis.c - see store.h. Two connections: one asks, one listens, as who listens may not ask (RESP2). A name is looked
 * up beside the loop; everything else is written and read when the socket allows it.
 *
 *     waiting --timer--> looking up --> connecting --PING answered and subscribed--> ready
 *        ^                    |             |                                          |
 *        +--------------------+-------------+------- error, or silent for too long ----+ */
#include "store/store.h"
#include "base/limits.h"
#include <fcntl.h>
#include <hiredis/async.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct store {
    uv_loop_t *loop;
    const store_ops *ops;
    void *user;
    uv_timer_t timer;        /* until the next try, or the next look whether it still answers */
    uv_getaddrinfo_t lookup; /* is under way while `looks` */
    redisAsyncContext *asks, *hears;
    char *host, *login, *password, *channel; /* of one piece of memory behind this struct */
    int port, database;
    uint32_t under_way; /* questions without an answer */
    uint32_t answers;   /* so many came; as it was at the last look: */
    uint32_t answers_seen;
    uint32_t tries;     /* since it was steady */
    uint32_t stayed;    /* looks that found it ready since it is: from the second one on it is steady */
    uint32_t slips;     /* times that it was lost before it was steady */
    uint32_t addresses; /* that its name had when it was looked up last */
    uint8_t holds;      /* who still needs this struct: the timer, and a lookup */
    bool sets;          /* a value is on its way */
    bool looks, subscribed, answered, is_lost, is_refused, closed;
    char why[200];
};

typedef struct question {
    store *s;
    void (*got)(void *user, daruma_str value);
} question;

/* ---- hiredis on the loop: its own adapter does not tell it of a connection that broke while nobody asked ---- */

typedef struct watched {
    uv_poll_t poll;
    redisAsyncContext *c; /* NULL: it is gone */
    int events;
} watched;

static void on_poll(uv_poll_t *h, int status, int events)
{
    watched *w = h->data;
    if (w->c && (status < 0 || events & UV_READABLE)) /* of what broke hiredis learns when it reads */
        redisAsyncHandleRead(w->c);
    if (w->c && status == 0 && events & UV_WRITABLE)
        redisAsyncHandleWrite(w->c);
}

static void watch_for(watched *w, int events)
{
    w->events = events;
    if (events)
        uv_poll_start(&w->poll, events, on_poll);
    else
        uv_poll_stop(&w->poll);
}

static void add_read(void *p)
{
    watch_for(p, ((watched *)p)->events | UV_READABLE);
}

static void del_read(void *p)
{
    watch_for(p, ((watched *)p)->events & ~UV_READABLE);
}

static void add_write(void *p)
{
    watch_for(p, ((watched *)p)->events | UV_WRITABLE);
}

static void del_write(void *p)
{
    watch_for(p, ((watched *)p)->events & ~UV_WRITABLE);
}

static void on_unwatched(uv_handle_t *h)
{
    free(h->data);
}

static void unwatch(void *p)
{
    watched *w = p;
    w->c = NULL;
    uv_close((uv_handle_t *)&w->poll, on_unwatched);
}

static bool watch(redisAsyncContext *c, uv_loop_t *loop)
{
    watched *w = calloc(1, sizeof *w);
    if (!w || uv_poll_init(loop, &w->poll, c->c.fd) != 0) {
        free(w);
        return false;
    }
    uv_unref((uv_handle_t *)&w->poll);
    w->poll.data = w;
    w->c = c;
    c->ev.data = w;
    c->ev.addRead = add_read;
    c->ev.delRead = del_read;
    c->ev.addWrite = add_write;
    c->ev.delWrite = del_write;
    c->ev.cleanup = unwatch;
    return true;
}

/* ---- losing it ---- */

static bool is_ready(const store *s)
{
    return s->subscribed && s->answered;
}

static void arm(store *s, uint64_t ms);

static void drop_connection(redisAsyncContext **at)
{
    redisAsyncContext *c = *at;
    *at = NULL;
    if (!c)
        return;
    c->data = NULL; /* what it still calls is for nobody */
    redisAsyncFree(c);
}

static void let_go(store *s)
{
    drop_connection(&s->asks);
    drop_connection(&s->hears);
    s->under_way = 0;
    s->subscribed = s->answered = s->sets = false;
}

/* After the try that failed; nobody waits for it. */
static uint64_t pause_ms(const store *s)
{
    uint64_t ms = STORE_PAUSE_MS_MIN << (s->tries < 8 ? s->tries : 8);
    return ms < STORE_PAUSE_MS_MAX ? ms : STORE_PAUSE_MS_MAX;
}

/* True if it comes and goes: neither is news until it stays. */
static bool slips(const store *s)
{
    return s->slips >= STORE_SLIPS_MAX;
}

/* Told when it was there, or when each of its addresses was tried. */
static void lose(store *s, const char *why)
{
    bool was = is_ready(s), tell = !s->is_lost && (was || s->tries + 1 >= s->addresses);
    if (s->closed)
        return;
    s->slips += was && s->stayed < 2 && !slips(s);
    s->stayed = 0;
    if (why != s->why)
        snprintf(s->why, sizeof s->why, "%.150s", why); /* ours: it may go with the connection */
    let_go(s);
    arm(s, pause_ms(s));
    s->tries++;
    s->is_lost |= tell;
    if (was || tell)
        s->ops->lost(s->user, s->why, tell);
}

/* ---- answers ---- */

/* Counts an answer. The error that it is; NULL: it is none, or for nobody. */
static const char *error_of(store *s, const redisAsyncContext *c, const redisReply *r)
{
    if (!c->data || !r)
        return NULL;
    s->under_way -= s->under_way > 0;
    s->answers++;
    return r->type == REDIS_REPLY_ERROR ? r->str : NULL;
}

/* Without this one there is no store. */
static void on_needed(redisAsyncContext *c, void *reply, void *user)
{
    const char *error = error_of(user, c, reply);
    if (error)
        lose(user, error);
}

/* An error may repeat what it was asked, the password among it: only its first word is told (WRONGPASS, NOAUTH). */
static void on_login(redisAsyncContext *c, void *reply, void *user)
{
    const char *error = error_of(user, c, reply);
    char text[160];
    if (!error)
        return;
    size_t n = strspn(error, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    snprintf(text, sizeof text, "%.*s: it does not take the user or the password of the URL", (int)(n < 40 ? n : 40),
             error);
    lose(user, text);
}

/* Without this one it is there all the same: read-only, or out of memory. */
static void on_done(redisAsyncContext *c, void *reply, void *user)
{
    store *s = user;
    const char *error = error_of(s, c, reply);
    char text[160];
    if (!error || s->is_refused)
        return;
    snprintf(text, sizeof text, "%.150s", error);
    s->is_refused = true;
    s->ops->refused(s->user, text);
}

/* One of the two things came that it is ready with. */
static void came(store *s, bool *which)
{
    bool was = is_ready(s);
    *which = true;
    if (was || !is_ready(s))
        return;
    if (!slips(s))
        s->is_lost = s->is_refused = false;
    s->ops->ready(s->user, !slips(s));
}

/* A look found that it still answers. */
static void stays(store *s)
{
    if (++s->stayed != 2)
        return;
    bool news = slips(s);
    s->tries = s->slips = 0;
    if (!news)
        return;
    s->is_lost = s->is_refused = false;
    s->ops->ready(s->user, true);
}

static void on_pong(redisAsyncContext *c, void *reply, void *user)
{
    store *s = user;
    on_needed(c, reply, user);
    if (c->data && reply)
        came(s, &s->answered);
}

/* What is heard has three elements: "subscribe", channel, how many; or "message", channel, text. */
static void on_heard(redisAsyncContext *c, void *reply, void *user)
{
    store *s = user;
    const redisReply *r = reply;
    if (!c->data || !r)
        return;
    bool says = r->type == REDIS_REPLY_ARRAY && r->elements >= 3 && r->element[0]->type == REDIS_REPLY_STRING;
    const char *what = says ? r->element[0]->str : "";
    if (r->type == REDIS_REPLY_ERROR)
        lose(s, r->str);
    else if (strcmp(what, "subscribe") == 0)
        came(s, &s->subscribed);
    else if (strcmp(what, "message") == 0 && r->element[2]->type == REDIS_REPLY_STRING)
        s->ops->heard(s->user, (daruma_str){r->element[2]->str, r->element[2]->len});
}

static void on_value(redisAsyncContext *c, void *reply, void *user)
{
    question q = *(question *)user;
    const redisReply *r = reply;
    free(user);
    if (!c->data || !r)
        return;
    on_done(c, reply, q.s); /* somebody else may keep a list there */
    q.got(q.s->user, r->type == REDIS_REPLY_STRING ? (daruma_str){r->str, r->len} : (daruma_str){0});
}

/* ---- reaching it ---- */

/* hiredis frees a connection that failed or was closed itself. */
static void gone(const redisAsyncContext *c, const char *why)
{
    store *s = c->data;
    if (!s)
        return;
    if (s->asks == c)
        s->asks = NULL;
    if (s->hears == c)
        s->hears = NULL;
    lose(s, why);
}

static void on_connect(const redisAsyncContext *c, int status)
{
    if (status != REDIS_OK)
        gone(c, c->errstr);
}

static void on_disconnect(const redisAsyncContext *c, int status)
{
    (void)status;
    gone(c, c->err ? c->errstr : "it closed the connection");
}

static redisAsyncContext *connect_to(store *s, const char *ip, int port)
{
    redisAsyncContext *c = redisAsyncConnect(ip, port);
    if (!c)
        return NULL;
    if (c->err || !watch(c, s->loop)) {
        snprintf(s->why, sizeof s->why, "%.150s", c->err ? c->errstr : "there is no memory");
        redisAsyncFree(c);
        return NULL;
    }
    fcntl(c->c.fd, F_SETFD, FD_CLOEXEC); /* commands that print keys are none of its business */
    redisEnableKeepAlive(&c->c);         /* nothing is asked on the one that listens */
    c->data = s;
    redisAsyncSetConnectCallback(c, on_connect);
    redisAsyncSetDisconnectCallback(c, on_disconnect);
    if (s->login)
        redisAsyncCommand(c, on_login, s, "AUTH %s %s", s->login, s->password);
    else if (s->password)
        redisAsyncCommand(c, on_login, s, "AUTH %s", s->password);
    return c;
}

static void unhold(store *s)
{
    if (--s->holds == 0)
        free(s);
}

static void on_address(uv_getaddrinfo_t *req, int status, struct addrinfo *found)
{
    store *s = req->data;
    char ip[64] = "";
    int count = 0;
    s->looks = false;
    if (s->closed) {
        uv_freeaddrinfo(found);
        unhold(s);
        return;
    }
    s->holds--;
    const struct addrinfo *at = status == 0 ? found : NULL;
    for (const struct addrinfo *a = at; a; a = a->ai_next)
        count++;
    s->addresses = (uint32_t)count;
    for (uint32_t i = 0; count && i < s->tries % (uint32_t)count; i++) /* one after the other */
        at = at->ai_next;
    bool known = at && uv_ip_name(at->ai_addr, ip, sizeof ip) == 0;
    uv_freeaddrinfo(found);
    if (!known) {
        lose(s, status ? uv_strerror(status) : "it has no address");
        return;
    }
    s->why[0] = 0;
    s->asks = connect_to(s, ip, s->port);
    s->hears = s->asks ? connect_to(s, ip, s->port) : NULL;
    if (!s->hears) {
        lose(s, s->why[0] ? s->why : "there is no memory");
        return;
    }
    if (s->database)
        redisAsyncCommand(s->asks, on_needed, s, "SELECT %d", s->database);
    redisAsyncCommand(s->asks, on_pong, s, "PING");
    redisAsyncCommand(s->hears, on_heard, s, "SUBSCRIBE %s", s->channel);
    s->under_way = 1;
    s->answers_seen = s->answers;
    arm(s, STORE_SILENT_MS);
}

static void look_up(store *s)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    s->lookup.data = s;
    int e = uv_getaddrinfo(s->loop, &s->lookup, on_address, s->host, NULL, &hints);
    s->looks = e == 0;
    s->holds += s->looks;
    if (e)
        lose(s, uv_strerror(e));
}

static void on_timer(uv_timer_t *t)
{
    store *s = t->data;
    if (!s->asks) {
        if (!s->looks)
            look_up(s);
        return;
    }
    if (s->answers == s->answers_seen || !is_ready(s)) { /* a PING went out at the last look */
        lose(s, "it does not answer");
        return;
    }
    s->answers_seen = s->answers;
    s->under_way++;
    redisAsyncCommand(s->asks, on_pong, s, "PING");
    stays(s);
    arm(s, STORE_SILENT_MS);
}

static void arm(store *s, uint64_t ms)
{
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

/* ---- asking ---- */

bool store_free(const store *s)
{
    return is_ready(s) && s->under_way < STORE_UNDER_WAY_MAX;
}

static void on_set(redisAsyncContext *c, void *reply, void *user)
{
    if (c->data)
        ((store *)user)->sets = false;
    on_done(c, reply, user);
}

void store_set(store *s, const char *name, daruma_str value)
{
    if (!store_free(s) || s->sets)
        return;
    s->under_way++;
    s->sets = true;
    redisAsyncCommand(s->asks, on_set, s, "SETEX %s %d %b", name, STORE_KEPT_S, value.p, value.n);
}

bool store_say(store *s, daruma_str text)
{
    if (!store_free(s))
        return false;
    s->under_way++;
    return redisAsyncCommand(s->asks, on_done, s, "PUBLISH %s %b", s->channel, text.p, text.n) == REDIS_OK;
}

void store_get(store *s, const char *name, void (*got)(void *user, daruma_str value))
{
    question *q = store_free(s) ? malloc(sizeof *q) : NULL;
    if (!q)
        return;
    *q = (question){s, got};
    s->under_way++;
    if (redisAsyncCommand(s->asks, on_value, q, "GET %s", name) != REDIS_OK)
        free(q);
}

void store_agree(store *s, const char *name, daruma_str value, void (*got)(void *user, daruma_str value))
{
    if (!store_free(s))
        return;
    s->under_way++;
    redisAsyncCommand(s->asks, on_done, s, "SET %s %b NX", name, value.p, value.n);
    store_get(s, name, got);
}

/* ---- from start to end ---- */

static char *copied(char **at, daruma_str s)
{
    char *p = *at;
    if (!s.n)
        return NULL;
    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    *at += s.n + 1;
    return p;
}

store *store_open(uv_loop_t *loop, const store_place *to, const store_ops *ops, void *user)
{
    size_t names = to->host.n + to->user.n + to->password.n + to->channel.n + 4;
    store *s = calloc(1, sizeof *s + names);
    if (!s)
        return NULL;
    char *at = (char *)(s + 1);
    s->loop = loop;
    s->ops = ops;
    s->user = user;
    s->host = copied(&at, to->host);
    s->port = to->port;
    s->login = copied(&at, to->user);
    s->password = copied(&at, to->password);
    s->channel = copied(&at, to->channel);
    s->database = to->database;
    s->holds = 1;
    uv_timer_init(loop, &s->timer);
    uv_unref((uv_handle_t *)&s->timer);
    s->timer.data = s;
    look_up(s);
    return s;
}

static void on_closed(uv_handle_t *h)
{
    unhold(h->data);
}

void store_close(store *s)
{
    if (!s)
        return;
    s->closed = true;
    if (s->looks)
        uv_cancel((uv_req_t *)&s->lookup);
    let_go(s);
    uv_close((uv_handle_t *)&s->timer, on_closed);
}
