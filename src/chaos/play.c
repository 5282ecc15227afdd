#include "chaos/play.h"
#include "base/str.h"
#include <stdlib.h>

enum { PING_EVERY_MS = 1000 };

struct play {
    uv_timer_t timer; /* waits between two steps */
    bool timed;       /* the timer is in use and must be closed */
    call *call;       /* NULL: it ended */
    plan plan;
    daruma_str keepalive;
    size_t at, event;   /* bytes and events that went out */
    bool began;         /* the delay is over */
    bool acted;         /* what breaks it has happened */
    bool blocked;       /* a slow reader: wait for play_drained() */
    daruma_ms ping_end; /* nothing but keep-alives until then */
    play_done done;
    void *user;
};

static void run(play *p);

static void on_closed(uv_handle_t *h)
{
    free(h->data);
}

static void close_play(play *p)
{
    p->call = NULL;
    if (p->timed)
        uv_close((uv_handle_t *)&p->timer, on_closed);
    else
        free(p);
}

typedef enum ending { ENDED, BROKEN_OFF, RESET } ending;

static void play_finish(play *p, ending how)
{
    call *c = p->call;
    bool whole = how == ENDED && (p->plan.act == PLAN_END || p->plan.act == PLAN_STALL || p->plan.act == PLAN_PINGS);
    p->done(p->user, whole);
    close_play(p);
    if (how == ENDED)
        call_end(c);
    else if (how == BROKEN_OFF)
        call_abort(c);
    else
        call_reset(c);
}

static void on_timer(uv_timer_t *t)
{
    run(t->data);
}

static void wait_for(play *p, uv_loop_t *loop, daruma_ms ms)
{
    if (!p->timed) {
        uv_timer_init(loop, &p->timer);
        p->timer.data = p;
        p->timed = true;
    }
    uv_timer_start(&p->timer, on_timer, (uint64_t)ms, 0);
}

static void play_put(play *p, daruma_str bytes)
{
    bool room = p->plan.raw ? call_raw(p->call, bytes) : call_write(p->call, bytes);
    p->blocked = !room;
}

static void put_head(play *p)
{
    const answer *a = &p->plan.a;
    int64_t length = p->plan.act == PLAN_EOF ? (int64_t)p->plan.stop_at : (int64_t)a->body.n;
    if (a->stream || p->plan.act == PLAN_PINGS)
        length = -1; /* keep-alives come on top of the body */
    call_head(p->call, a->status, a->headers, a->nheaders, length);
}

/* Where the next piece ends: byte by byte, event by event or all, but not beyond the place where it breaks. */
static size_t next_end(play *p)
{
    const plan *q = &p->plan;
    size_t limit = p->acted || q->act == PLAN_END ? q->a.body.n : q->stop_at, end = limit;
    if (q->every > 0 && q->bytes)
        end = p->at + 1;
    else if (q->every > 0 && !q->raw) {
        while (p->event < q->a.nends && q->a.ends[p->event] <= p->at)
            p->event++;
        if (p->event < q->a.nends)
            end = q->a.ends[p->event];
    }
    return end < limit ? end : limit;
}

static uv_loop_t *loop_of(const play *p)
{
    return p->timer.loop;
}

/* What breaks it. True: go on at once. */
static bool act(play *p)
{
    daruma_ms now = (daruma_ms)uv_now(loop_of(p)), hold = p->plan.hold;
    bool again = p->acted; /* the timer of PLAN_HANG has run out */
    p->acted = true;
    switch (p->plan.act) {
    case PLAN_END:
        return true;
    case PLAN_CUT:
        play_finish(p, BROKEN_OFF);
        return false;
    case PLAN_RESET:
        play_finish(p, RESET);
        return false;
    case PLAN_EOF:
        play_finish(p, ENDED);
        return false;
    case PLAN_HANG:
        if (again)
            play_finish(p, p->plan.no_head ? RESET : BROKEN_OFF);
        else if (hold >= 0)
            wait_for(p, loop_of(p), hold);
        return false;
    case PLAN_STALL:
        wait_for(p, loop_of(p), hold);
        return false;
    case PLAN_PINGS:
        p->ping_end = now + hold;
        return true;
    }
    return true;
}

static void ping(play *p)
{
    daruma_ms now = (daruma_ms)uv_now(loop_of(p)), left = p->ping_end - now;
    daruma_ms every = p->plan.every > 0 ? p->plan.every : PING_EVERY_MS;
    if (!p->plan.raw)
        play_put(p, p->plan.a.stream ? p->keepalive : S("\n"));
    if (p->call)
        wait_for(p, loop_of(p), left < every ? left : every);
}

static void run(play *p)
{
    if (!p->began) {
        p->began = true;
        if (p->plan.raw)
            play_put(p, S("")); /* says so even when it breaks before its first byte */
        else if (!p->plan.no_head)
            put_head(p);
    }
    while (!p->blocked) {
        bool here = p->plan.act != PLAN_END && (p->plan.no_head || p->at == p->plan.stop_at);
        if (here && (!p->acted || p->plan.act == PLAN_HANG) && !act(p))
            return;
        if (p->ping_end > (daruma_ms)uv_now(loop_of(p))) {
            ping(p);
            return;
        }
        if (p->at == p->plan.a.body.n) {
            play_finish(p, ENDED);
            return;
        }
        size_t end = next_end(p);
        play_put(p, str_sub(p->plan.a.body, p->at, end - p->at));
        p->at = end;
        if (p->plan.every > 0 && p->at < p->plan.a.body.n && !p->blocked) {
            wait_for(p, loop_of(p), p->plan.every);
            return;
        }
    }
}

bool play_start(uv_loop_t *loop, call *c, const plan *plan_, daruma_str keepalive, play_done done, void *user,
                play **ret)
{
    play *p = calloc(1, sizeof *p);
    if (!p)
        return false;
    *ret = p;
    p->timer.loop = loop;
    p->call = c;
    p->plan = *plan_;
    p->keepalive = keepalive;
    p->done = done;
    p->user = user;
    if (plan_->delay > 0)
        wait_for(p, loop, plan_->delay);
    else
        run(p);
    return true;
}

void play_drained(play *p)
{
    p->blocked = false;
    if (p->began && !(p->timed && uv_is_active((uv_handle_t *)&p->timer)))
        run(p);
}

void play_gone(play *p)
{
    close_play(p);
}
