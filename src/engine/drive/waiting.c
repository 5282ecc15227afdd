/* waiting.c - those who wait for a time, the oldest first.
 *
 * Each request backs off for itself, longer each time, so that those who failed first would come back last, behind all
 * who came later. So where a place answers again, they go out by age: whose time has come gives it to the oldest one
 * that waits for the same place, and takes the time of that one; and each answer sends out one more. A place that
 * serves few gets no more calls by that than it answers. A wait that a provider named to a request stays as it is. */
#include "engine/drive/waiting.h"
#include "engine/decide/waits.h"
#include "base/limits.h"

/* Old ones come back often, and new ones stand at the end. */
static void link_by_age(session *x)
{
    driver *v = x->v;
    session *before = v->newest;
    while (before && before->opened > x->opened)
        before = before->due.prev;
    session *after = before ? before->due.next : v->patient;
    x->due.prev = before;
    x->due.next = after;
    *(before ? &before->due.next : &v->patient) = x;
    *(after ? &after->due.prev : &v->newest) = x;
}

void session_wait(session *x, daruma_ms wait, int target, daruma_ms told)
{
    daruma_ms now = session_now(x).now;
    x->due.act_at = add_sat(now, wait);
    x->due.target = (int16_t)target;
    x->due.told = told > 0 ? add_sat(now, told) : 0;
    if (!x->due.patient)
        link_by_age(x);
    x->due.patient = true;
    session_timer(x);
}

void waiting_ends(session *x)
{
    if (!x->due.patient)
        return;
    *(x->due.prev ? &x->due.prev->due.next : &x->v->patient) = x->due.next;
    *(x->due.next ? &x->due.next->due.prev : &x->v->newest) = x->due.prev;
    x->due.patient = false;
}

/* Each asks from its own timer: nobody is called in the midst of what somebody else does. */
static void ask_now(session *x)
{
    x->due.act_at = x->v->at.now;
    session_timer(x);
}

void driver_wake(driver *v)
{
    uint32_t healed = daruma_health_healed(v->health);
    if (healed == v->healed)
        return;
    v->healed = healed;
    for (session *x = v->patient; x; x = x->due.next)
        ask_now(x);
}

/* The oldest one that waits for that target of `x` and might go there now; NULL: none. */
static session *oldest(const session *x, int target)
{
    uint64_t lane = x->targets[target].lane_id;
    session *z = x->v->patient;
    for (int i = 0; z && z != x && i < WAITERS_LOOKED_MAX; z = z->due.next, i++)
        if (z->due.target >= 0 && z->targets[z->due.target].lane_id == lane && z->due.told <= x->v->at.now &&
            waits_may_turn(&z->kase, z->due.target, x->v->at.now))
            return z;
    return NULL;
}

bool waiting_gives_turn(session *x)
{
    session *z = x->due.target >= 0 ? oldest(x, x->due.target) : NULL;
    if (!z || z->opened > x->opened || !waits_gives_turn(&x->kase, &z->kase, x->v->at.now))
        return false;
    x->due.act_at = z->due.act_at;
    session_timer(x);
    ask_now(z);
    return true;
}

void waiting_answered(session *x)
{
    session *z = x->kase.target >= 0 && x->v->patient ? oldest(x, x->kase.target) : NULL;
    if (!z)
        return;
    waits_turn(&z->kase, x->v->at.now);
    ask_now(z);
}
