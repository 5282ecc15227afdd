/* late.c - see late.h.
 *
 *   upload | rest | call failed | backoff | call: begins late, pauses, the reader is slow ... the answer itself
 *
 * Waits, failed calls and the like are noted when they are over; what the last call took is known from its case; the
 * rest is the answer's own. */
#include "engine/decide/case.h"
#include "base/arena.h"
#include "base/buf.h"
#include "engine/drive/late.h"

/* Where time went that is over, and what it goes to now. */
struct session_late {
    daruma_spent spent[SPENT_MAX];
    size_t n;
    daruma_spent now;   /* what it goes to, or went to ... */
    daruma_ms since;    /* ... since then; -1: nothing was begun */
    daruma_ms until;    /* ... until then */
    bool again;         /* it is the rest of a wait that somebody ended early */
    daruma_ms reads_at; /* since when the client has not read, -1: it has */
    bool told;          /* that it waits */
};

/* NULL: there is no memory, and less is told. */
static session_late *late_of(session *x)
{
    if (!x->late && (x->late = ARENA_NEW(x->arena, session_late, 1)))
        x->late->since = x->late->until = x->late->reads_at = -1;
    return x->late;
}

static bool alike(const daruma_spent *a, const daruma_spent *b)
{
    return a->on == b->on && a->kind == b->kind && a->who == b->who && a->target == b->target;
}

static void add(session *x, daruma_spent on, uint32_t times)
{
    session_late *l = on.ms >= 0 ? late_of(x) : NULL;
    size_t i = 0;
    while (l && i < l->n && !alike(&l->spent[i], &on))
        i++;
    if (!l || i == SPENT_MAX)
        return;
    if (i == l->n) {
        l->spent[l->n++] = on;
        l->spent[i].times = l->spent[i].ms = 0;
    }
    l->spent[i].ms = add_sat(l->spent[i].ms, on.ms);
    l->spent[i].times += times;
    l->spent[i].usual = on.usual;
}

void late_add(session *x, daruma_spent on)
{
    add(x, on, 1);
}

void late_begin(session *x, daruma_spent on)
{
    session_late *l = late_of(x);
    if (!l)
        return;
    l->again = false;
    l->now = on;
    l->since = x->v->at.now;
}

void late_end(session *x)
{
    session_late *l = x->late;
    if (!l || l->since < 0)
        return;
    l->now.ms = x->v->at.now - l->since;
    l->since = -1;
    l->until = x->v->at.now;
    add(x, l->now, !l->again);
}

void late_reader(session *x, bool slow)
{
    session_late *l = late_of(x);
    if (!l || (slow && l->reads_at >= 0))
        return;
    if (!slow && l->reads_at >= 0)
        late_add(x, (daruma_spent){.on = DARUMA_SPENT_READER, .ms = x->v->at.now - l->reads_at, .usual = -1});
    l->reads_at = slow ? x->v->at.now : -1;
}

void late_call_over(session *x, daruma_spent_on on, daruma_ms over)
{
    daruma_spent s = {.on = on, .target = &x->targets[x->kase.target], .ms = over - x->answer.started, .usual = -1};
    if (x->kase.begun && x->client.forwarded) { /* what the client has of it is a part of the answer */
        if (x->kase.slow)
            late_add(x, case_slow(&x->kase, over));
        s.ms = over - x->kase.piece_at;
    }
    if (on == DARUMA_SPENT_PAUSE)
        s.usual = case_paused(&x->kase, over).usual;
    else if (on == DARUMA_SPENT_SILENT)
        s.usual = case_slow(&x->kase, over).usual;
    else
        s.kind = session_last(x)->failure.kind;
    late_add(x, s);
}

/* Who watches sees that it is late while it waits for that, once. `wait`: for so long yet, -1 nobody knows. */
static void tell_wait(session *x, const daruma_spent *on, daruma_ms wait)
{
    daruma_event e = DARUMA_EVENT_INIT;
    session_late *l = late_of(x);
    if (!l || l->told)
        return;
    l->told = true;
    e.name = "request_waits";
    e.live = true;
    e.delay = wait;
    e.late_by = on;
    e.target = on->target;
    session_event(x, &e);
}

void late_silent(session *x)
{
    if (x->v->at.now - x->answer.started < LATE_MS_MIN || (x->late && x->late->told) || session_passes(x))
        return;
    daruma_spent s = case_slow(&x->kase, x->v->at.now);
    if (s.on == DARUMA_SPENT_SILENT && case_is_slow(&x->kase, s.ms))
        tell_wait(x, &s, -1);
}

void late_awaits(session *x, const daruma_admission *a)
{
    session_late *l = late_of(x);
    daruma_spent s;
    if (!l)
        return;
    daruma_spent before = l->now;
    if (case_awaits(&x->kase, a->target, x->v->at.now, &s))
        late_begin(x, s);
    else if (l->now.target) /* it is well before the wait is over: what is left of that goes on */
        late_begin(x, l->now);
    else
        late_begin(x, (daruma_spent){.on = DARUMA_SPENT_TURN, .target = x->targets, .usual = -1});
    l->again = l->until == l->since && alike(&before, &l->now);
    l->now.ms = a->wait;
    if (a->wait >= LATE_MS_MIN)
        tell_wait(x, &l->now, a->wait);
}

/* ---- at its end ---- */

/* What the parts come to, the largest first. */
typedef struct account {
    daruma_spent parts[SPENT_MAX + 4];
    size_t n;
    daruma_spent by; /* what made it late most */
    daruma_ms late, sum;
} account;

static void take(account *a, daruma_spent s)
{
    daruma_ms usual = s.usual < 0 ? 0 : mul_sat(s.usual, s.times > 1 ? s.times : 1);
    daruma_ms late = s.on == DARUMA_SPENT_ANSWER || usual > s.ms ? 0 : s.ms - usual;
    size_t i = a->n++;
    for (; i > 0 && a->parts[i - 1].ms < s.ms; i--)
        a->parts[i] = a->parts[i - 1];
    a->parts[i] = s;
    a->sum += s.ms;
    a->late += late;
    if (late > 0 && s.ms > a->by.ms)
        a->by = s;
}

/* Adds what is known of the call that is out. */
static void take_call(account *a, const session *x, daruma_outcome o)
{
    daruma_ms now = x->v->at.now, read = 0;
    if (!x->kase.out || session_passes(x))
        return;
    for (size_t i = 0; i < a->n; i++)
        read += a->parts[i].on == DARUMA_SPENT_READER ? a->parts[i].ms : 0;
    daruma_spent slow = case_slow(&x->kase, now), pause = case_paused(&x->kase, now);
    bool silent = o == DARUMA_OUTCOME_CANCELLED_ && case_is_slow(&x->kase, slow.ms);
    if (slow.on == DARUMA_SPENT_BEGIN ? slow.ms > 0 : silent)
        take(a, slow);
    if (pause.ms - read >= LATE_MS_MIN)
        take(a, pause);
}

static daruma_str say(session *x, const account *a)
{
    daruma_buf b = buf_in(x->arena);
    for (size_t i = 0; i < a->n; i++) {
        buf_putz(&b, i ? ". " : "");
        daruma_spent_say(&a->parts[i], &b);
    }
    return buf_str(&b);
}

static void tell(session *x, const account *a, daruma_outcome o, bool ends)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "request_late";
    e.live = x->kase.policy->events != NULL; /* a profile's log has the events of its seed alone */
    e.outcome = ends ? o : DARUMA_OUTCOME_PENDING;
    e.attempts = x->kase.attempts;
    e.took = x->v->at.now - x->opened;
    e.spent = a->parts;
    e.nspent = a->n;
    e.late_by = &a->by;
    e.late = a->late;
    e.reason = say(x, a);
    session_event(x, &e);
}

void late_tell(session *x, daruma_outcome o, bool ends)
{
    daruma_ms took = x->v->at.now - x->opened;
    bool answered = o == DARUMA_OUTCOME_OK || o == DARUMA_OUTCOME_RECOVERED || o == DARUMA_OUTCOME_DEGRADED;
    if (add_sat(took, x->sending) < LATE_MS_MIN || !x->targets)
        return;
    account a = {.n = 0};
    late_end(x);
    if (x->client.paused)
        late_reader(x, false);
    for (size_t i = 0; x->late && i < x->late->n; i++)
        take(&a, x->late->spent[i]);
    take_call(&a, x, o);
    daruma_spent rest = {.on = DARUMA_SPENT_ANSWER, .ms = took - a.sum, .usual = -1};
    if (x->sending >= LATE_MS_MIN)
        take(&a, (daruma_spent){.on = DARUMA_SPENT_UPLOAD, .ms = x->sending, .usual = -1});
    if (a.late < LATE_MS_MIN)
        return;
    if (answered && rest.ms > 0)
        take(&a, rest);
    while (a.n && a.parts[a.n - 1].ms < (took + x->sending) / SPENT_TOLD_DIV) /* the smallest: nobody asks for them */
        a.n--;
    tell(x, &a, o, ends);
}
