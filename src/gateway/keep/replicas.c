/* replicas.c - several daruma that share a store know what one of them learned.
 *
 *     a call goes out, a recovery makes a step -> replicas_touched() -> some ms later, once:
 *         what became sick, well or is being probed -> said to all; each second whatever else is known -> said, and
 * kept somebody said something -> learned;  a store that is there (again) -> what is kept there is learned
 *
 * Nothing waits for the store: while it is away each goes on with what it knows, one event says so, and what was not
 * said is said when it is back. What is said holds texts of conversations and no key. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/record.h"
#include "base/str.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/see/see.h"
#include "store/store.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

#define SECRET_NAME "daruma:secret"
#define STATE_NAME  "daruma:state"

struct replicas {
    gateway *g;
    store *store;
    uv_timer_t timer, again; /* until the next words; until what is kept is read again */
    uint64_t self;           /* how this process is called among them */
    daruma_ms all_at;        /* everything may be said from then on */
    bool touched;            /* something may have changed since it was said last */
    bool all_touched;        /* ... since everything was said last */
    bool joined;             /* what is kept was read since it was ready: from then on what is known here is kept */
    uint8_t handles;         /* of the loop, that are open */
    daruma_str host;         /* of the store, for events; behind this struct */
};

static void tell(replicas *r, const char *name, const char *why)
{
    char room[512];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_SAY(&b, r->host, ": ", why);
    events_say(r->g, name, buf_str(&b));
}

/* ---- saying ---- */

/* It is said later. */
static void unsaid(replicas *r)
{
    driver_unshare(gateway_drive(r->g));
    r->all_touched = true;
}

static void say(replicas *r, daruma_str head, daruma_str lines)
{
    char room[64];
    daruma_arena a;
    if (!sys_arena_init(&a, lines.n + 4096, LIB_SNAPSHOT_BYTES_MAX)) {
        unsaid(r);
        return;
    }
    daruma_buf b = buf_in(&a), id = buf_over(room, sizeof room);
    buf_hex64(&id, r->self);
    BUF_SAY(&b, buf_str(&id), "\n", head, "\n", lines);
    if (b.full || !store_say(r->store, buf_str(&b)))
        unsaid(r);
    sys_arena_done(&a);
}

/* In pieces of whole lines: a store has a bound on how much may wait for a slow listener. */
static void say_news(replicas *r, daruma_str text)
{
    daruma_str head = str_cut(&text, '\n');
    while (text.n) {
        daruma_str rest = text;
        while (rest.n && (size_t)(rest.p - text.p) < REPLICA_PIECE_BYTES)
            str_cut(&rest, '\n');
        say(r, head, str_sub(text, 0, rest.n ? (size_t)(rest.p - text.p) : text.n));
        text = rest;
    }
}

static void keep(replicas *r, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    driver_save(gateway_drive(r->g), &b);
    if (!b.full)
        store_set(r->store, STATE_NAME, buf_str(&b));
}

static void arm(replicas *r);
static void on_state(void *user, daruma_str text);

static void on_timer(uv_timer_t *t)
{
    replicas *r = t->data;
    daruma_arena a;
    driver *v = gateway_drive(r->g);
    bool all = r->all_touched && v->at.now >= r->all_at;
    if (!store_free(r->store) || !sys_arena_init(&a, 16384, LIB_SNAPSHOT_BYTES_MAX)) {
        uv_timer_start(t, on_timer, REPLICA_ALL_MS, 0);
        return;
    }
    int64_t began = sys_thread_cpu_ns();
    daruma_buf b = buf_in(&a);
    r->touched = false;
    r->all_touched &= !all;
    if (driver_share(v, all, &b))
        say_news(r, buf_str(&b));
    if (all && r->joined)
        keep(r, &a);
    sys_arena_done(&a);
    if (all) {
        daruma_ms spent = (daruma_ms)((sys_thread_cpu_ns() - began) / 1000000) * REPLICA_ALL_SHARE;
        r->all_at = v->at.now + (spent > REPLICA_ALL_MS ? spent : REPLICA_ALL_MS);
    }
    arm(r);
}

static void arm(replicas *r)
{
    if (uv_is_active((uv_handle_t *)&r->timer) || (!r->touched && !r->all_touched))
        return;
    daruma_ms left = r->all_at - gateway_now(r->g).now;
    uv_timer_start(&r->timer, on_timer, (uint64_t)(r->touched || left < REPLICA_HEALTH_MS ? REPLICA_HEALTH_MS : left),
                   0);
}

void replicas_touched(replicas *r, bool learned)
{
    if (!r)
        return;
    r->touched = true;
    r->all_touched |= learned;
    if (uv_is_active((uv_handle_t *)&r->timer) && uv_timer_get_due_in(&r->timer) > REPLICA_HEALTH_MS)
        uv_timer_stop(&r->timer);
    arm(r);
}

/* ---- hearing ---- */

static void on_again(uv_timer_t *t)
{
    replicas *r = t->data;
    store_get(r->store, STATE_NAME, on_state);
}

static void read_again(replicas *r)
{
    uv_timer_start(&r->again, on_again, 2 * REPLICA_ALL_MS, 0);
}

static void learn(replicas *r, daruma_str text, bool kept)
{
    if (!text.n || !driver_learn(gateway_drive(r->g), text, kept).busy)
        return;
    read_again(r); /* what was heard could not be learned yet */
}

static void on_heard(void *user, daruma_str text)
{
    replicas *r = user;
    uint64_t who = 0;
    char quoted[20];
    daruma_str id = str_cut(&text, '\n');
    daruma_buf b = buf_over(quoted, sizeof quoted);
    BUF_SAY(&b, "\"", id, "\"");
    if (b.full || !record_id(buf_str(&b), &who) || who == r->self)
        return;
    learn(r, text, false);
}

static void on_state(void *user, daruma_str text)
{
    replicas *r = user;
    learn(r, text, true);
    r->joined = true;
    replicas_touched(r, true);
}

/* Hashes of clients' keys go by a secret: what is learned under them is found elsewhere only if all have the same. */
static void on_secret(void *user, daruma_str text)
{
    replicas *r = user;
    gateway *g = r->g;
    bool known = g->tenant_keyed && str_eq(text, (daruma_str){(char *)&g->secret, sizeof g->secret});
    if (known || text.n != sizeof g->secret)
        return;
    memcpy(&g->secret, text.p, text.n);
    g->tenant_keyed = true;
    state_secret(g->state, g);
}

static void on_ready(void *user, bool news)
{
    replicas *r = user;
    gateway *g = r->g;
    if (news)
        tell(r, "store_ready", "what others learn is known here, and what is learned here is told");
    if (!tenant_key_made(g))
        return;
    store_agree(r->store, SECRET_NAME, (daruma_str){(char *)&g->secret, sizeof g->secret}, on_secret);
    store_get(r->store, STATE_NAME, on_state);
    read_again(r); /* what was said just before is kept a moment later */
}

static void on_lost(void *user, const char *why, bool news)
{
    replicas *r = user;
    if (news)
        tell(r, "store_lost", why);
    driver_unshare(gateway_drive(r->g)); /* what was on its way may not have come */
    r->joined = false;
}

static void on_refused(void *user, const char *why)
{
    tell(user, "store_refused", why);
}

/* ---- from start to end ---- */

replicas *replicas_open(gateway *g, const store_place *at)
{
    static const store_ops ops = {.ready = on_ready, .lost = on_lost, .refused = on_refused, .heard = on_heard};
    replicas *r = calloc(1, sizeof *r + at->host.n);
    store_place to = *at;
    char channel[32];
    if (!r)
        return NULL;
    memcpy(r + 1, at->host.p, at->host.n);
    r->host = (daruma_str){(char *)(r + 1), at->host.n};
    snprintf(channel, sizeof channel, "daruma:news:%d", to.database); /* a channel belongs to no database */
    to.channel = str_of(channel);
    r->g = g;
    r->self = sys_moment().dice;
    uv_timer_init(g->loop, &r->timer);
    uv_unref((uv_handle_t *)&r->timer);
    uv_timer_init(g->loop, &r->again);
    uv_unref((uv_handle_t *)&r->again);
    r->timer.data = r->again.data = r;
    r->handles = 2;
    r->store = store_open(g->loop, &to, &ops, r);
    if (r->store)
        return r;
    replicas_close(r);
    return NULL;
}

static void on_closed(uv_handle_t *h)
{
    replicas *r = h->data;
    if (--r->handles == 0)
        free(r);
}

void replicas_close(replicas *r)
{
    if (!r)
        return;
    store_close(r->store);
    uv_close((uv_handle_t *)&r->timer, on_closed);
    uv_close((uv_handle_t *)&r->again, on_closed);
}
