/* pairs_plan.c - looks at every call and result and says what is wrong with them. Nothing is edited here.
 *
 *     tie      by id, to the nearest call before; by order and name where there are no ids
 *     judge    a result without call, a call without result, an id that is missing or there twice
 *     place    do the results stand where the wire wants them? */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/pairs/pairs_plan.h"
#include <xxhash.h>

/* ---- collecting ---- */

static bool is_legacy(const pairs_plan *p, const convo_message *m)
{
    return plan_wire(p, WIRE_OPAQUE_ARGS) && !plan_wire(p, WIRE_FLAT) &&
           json_is_object(json_get(m->raw, S("function_call")));
}

static bool collect(pairs_plan *p)
{
    convo *c = p->c;
    uint32_t run = 0;
    size_t turns = 0;
    bool broke = true;
    for (size_t i = 0; i < c->nmessages; i++) {
        size_t before = p->ncalls;
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            const convo_part *part = &c->messages[i].parts[j];
            bool on = history_on(&c->messages[i]) && !part->dropped;
            p->ncalls += on && part->kind == PART_CALL;
            p->nresults += on && part->kind == PART_RESULT;
        }
        turns += p->ncalls > before;
    }
    if (p->ncalls + p->nresults == 0)
        return true;
    size_t slots = 16;
    while (slots < p->ncalls * 2)
        slots *= 2;
    p->mask = slots - 1;
    p->calls = ARENA_NEW(&p->room, knot, p->ncalls + 1);
    p->results = ARENA_NEW(&p->room, knot, p->nresults + 1);
    p->turns = ARENA_NEW(&p->room, called_turn, turns + 1);
    p->heads = ARENA_NEW(&p->room, uint32_t, slots);
    if (!p->calls || !p->results || !p->turns || !p->heads)
        return false;
    p->ncalls = p->nresults = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        const convo_message *m = &c->messages[i];
        if (!history_on(m))
            continue;
        broke |= !plan_wire(p, WIRE_FLAT) || m->role != CONVO_ASSISTANT;
        int legacy = -1; /* not looked yet: a message may have many calls */
        for (size_t j = 0; j < m->nparts; j++) {
            const convo_part *part = &m->parts[j];
            knot k = {.message = i, .part = j, .turn = KNOT_NONE, .mate = KNOT_NONE, .before = KNOT_NONE};
            if (part->dropped)
                continue;
            if (part->kind == PART_RESULT)
                p->results[p->nresults++] = k;
            if (part->kind != PART_CALL)
                continue;
            if (broke) {
                run = p->nturns++;
                p->turns[run] = (called_turn){.first = p->ncalls, .open = p->ncalls, .home = KNOT_NONE};
                broke = false;
            }
            k.turn = run;
            if (!part->id.n && legacy < 0)
                legacy = is_legacy(p, m);
            k.legacy = !part->id.n && legacy == 1;
            p->turns[run].n++;
            p->turns[run].at = i;
            p->calls[p->ncalls++] = k;
        }
    }
    return true;
}

/* ---- which result belongs to which call ---- */

static uint32_t *head_of(const pairs_plan *p, daruma_str key)
{
    return &p->heads[XXH3_64bits(key.p, key.n) & p->mask];
}

static daruma_str id_of(const pairs_plan *p, const knot *k)
{
    return plan_part(p, k)->id;
}

/* The call that `before` (exclusive) is behind and that has this id: the newest one; of the calls of one turn the
 * first that has no result yet. KNOT_NONE: none has that id. */
static size_t call_of_id(const pairs_plan *p, daruma_str id)
{
    size_t found = KNOT_NONE, looked = 0;
    for (size_t i = *head_of(p, id) - 1; i != KNOT_NONE && looked++ < PAIRS_LOOK_BACK; i = p->calls[i].before) {
        const knot *k = &p->calls[i];
        if (!str_eq(id_of(p, k), id) || k->fate == GOES)
            continue;
        if (found != KNOT_NONE && k->turn != p->calls[found].turn)
            break;
        if (found == KNOT_NONE || k->mate == KNOT_NONE)
            found = i;
    }
    return found;
}

/* What a result says. */
static daruma_str said_by(pairs_plan *p, const knot *r)
{
    convo in_room = {.arena = &p->room};
    return str_trim(convo_part_text(&in_room, plan_part(p, r)));
}

static bool says_unknown(pairs_plan *p, const knot *r)
{
    const convo_part *part = plan_part(p, r); /* a long one is not decoded for it, byte by byte escaped or not */
    bool longer = !part->nparts && part->value.n > 6 * sizeof MEND_UNKNOWN_RESULT;
    return !longer && str_eq(said_by(p, r), S(MEND_UNKNOWN_RESULT));
}

static void tie(pairs_plan *p, size_t call, size_t result)
{
    p->calls[call].mate = result;
    p->results[result].mate = call;
    p->results[result].turn = p->calls[call].turn;
    p->results[result].fate = STAYS;
}

/* A second result for a call: the first real one is kept. */
static void tie_again(pairs_plan *p, size_t call, size_t result)
{
    size_t has = p->calls[call].mate, loser = result;
    if (says_unknown(p, &p->results[has]) && !says_unknown(p, &p->results[result])) {
        tie(p, call, result);
        loser = has;
    }
    p->results[loser].mate = KNOT_NONE;
    p->results[loser].fate = GOES;
}

/* The same call written twice into one answer by a client that put its stream together wrongly: the model called once.
 */
static bool said_twice(const pairs_plan *p, const knot *k)
{
    size_t looked = 0;
    const convo_part *mine = plan_part(p, k);
    for (size_t i = *head_of(p, mine->id) - 1; i != KNOT_NONE && looked++ < PAIRS_LOOK_BACK; i = p->calls[i].before) {
        const convo_part *other = plan_part(p, &p->calls[i]);
        if (p->calls[i].turn != k->turn)
            return false;
        if (str_eq(other->id, mine->id) && str_eq(other->name, mine->name) && str_eq(other->value, mine->value))
            return true;
    }
    return false;
}

static void enter(pairs_plan *p, size_t call)
{
    knot *k = &p->calls[call];
    daruma_str id = id_of(p, k);
    if (!id.n)
        return;
    if (said_twice(p, k)) {
        k->fate = GOES;
        k->twin = true;
        return;
    }
    uint32_t *head = head_of(p, id);
    k->before = *head - 1;
    *head = (uint32_t)call + 1;
}

/* In the order of the history: each result goes to the newest call before it with its id. */
static void tie_ids(pairs_plan *p)
{
    size_t call = 0;
    for (size_t r = 0; r < p->nresults; r++) {
        const knot *k = &p->results[r];
        while (call < p->ncalls && (p->calls[call].message < k->message ||
                                    (p->calls[call].message == k->message && p->calls[call].part < k->part)))
            enter(p, call++);
        size_t mine = id_of(p, k).n ? call_of_id(p, id_of(p, k)) : KNOT_NONE;
        if (mine == KNOT_NONE)
            continue;
        if (p->calls[mine].mate == KNOT_NONE)
            tie(p, mine, r);
        else
            tie_again(p, mine, r);
    }
    while (call < p->ncalls)
        enter(p, call++);
    for (size_t r = 0; r < p->nresults; r++) { /* those that stand before their call */
        const knot *k = &p->results[r];
        if (k->mate != KNOT_NONE || k->fate == GOES || !id_of(p, k).n)
            continue;
        size_t first = KNOT_NONE, looked = 0;
        for (size_t i = *head_of(p, id_of(p, k)) - 1; i != KNOT_NONE && looked++ < PAIRS_LOOK_BACK;
             i = p->calls[i].before)
            if (p->calls[i].mate == KNOT_NONE && p->calls[i].message > k->message &&
                str_eq(id_of(p, &p->calls[i]), id_of(p, k)))
                first = i;
        if (first != KNOT_NONE)
            tie(p, first, r);
    }
}

/* May this result, whose id says nothing, belong to that call? Where ids are only an extra, the same name says more
 * than another id. */
static bool may_belong(const pairs_plan *p, const knot *r, const knot *call)
{
    if (call->mate != KNOT_NONE || call->fate == GOES)
        return false;
    if (id_of(p, r).n == 0 || id_of(p, call).n == 0)
        return true;
    daruma_str name = plan_part(p, r)->name;
    return plan_wire(p, WIRE_NO_IDS) && name.n && str_eq(name, plan_part(p, call)->name);
}

/* By name, then, with `any`, by order alone, among the calls of one turn: from the first on that has no result yet,
 * so that results in their order find theirs at once. */
static size_t call_in_turn(const pairs_plan *p, called_turn *t, const knot *r, bool any)
{
    daruma_str name = plan_part(p, r)->name;
    size_t end = t->first + t->n;
    while (t->open < end && (p->calls[t->open].mate != KNOT_NONE || p->calls[t->open].fate == GOES))
        t->open++;
    for (size_t i = t->open, looked = 0; i < end && looked++ < PAIRS_LOOK_BACK; i++)
        if (may_belong(p, r, &p->calls[i]) && (any || !name.n || str_eq(plan_part(p, &p->calls[i])->name, name)))
            return i;
    return KNOT_NONE;
}

/* Is it said again what a result of that turn says? Without ids this is all a duplicate can be known by. */
static bool repeats(const pairs_plan *p, const called_turn *t, const knot *r)
{
    const convo_part *mine = plan_part(p, r);
    for (size_t i = t->first, looked = 0; i < t->first + t->n && looked++ < PAIRS_LOOK_BACK; i++) {
        if (p->calls[i].mate == KNOT_NONE)
            continue;
        const convo_part *other = plan_part(p, &p->results[p->calls[i].mate]);
        if (str_eq(other->name, mine->name) && str_eq(other->value, mine->value))
            return true;
    }
    return false;
}

/* Index of the newest turn that called before a message; KNOT_NONE. */
static size_t turn_before(const pairs_plan *p, size_t message, size_t *hint)
{
    while (*hint < p->nturns && p->turns[*hint].at < message)
        (*hint)++;
    return *hint ? *hint - 1 : KNOT_NONE;
}

/* The newest turn before `t` that called a tool of that name; KNOT_NONE. */
static size_t turn_of_name(const pairs_plan *p, size_t t, daruma_str name)
{
    for (size_t looked = 0; t-- > 0 && looked < PAIRS_LOOK_BACK;)
        for (size_t i = p->turns[t].first; i < p->turns[t].first + p->turns[t].n && looked < PAIRS_LOOK_BACK;
             i++, looked++)
            if (str_eq(plan_part(p, &p->calls[i])->name, name))
                return t;
    return KNOT_NONE;
}

/* Without ids: behind the wrong turn, but the newest turn that called it still waits for it. Or said twice. */
static size_t call_before(pairs_plan *p, size_t t, size_t r)
{
    knot *k = &p->results[r];
    size_t of = plan_wire(p, WIRE_NO_IDS) ? turn_of_name(p, t + 1, plan_part(p, k)->name) : KNOT_NONE;
    if (of == KNOT_NONE)
        return KNOT_NONE;
    size_t call = call_in_turn(p, &p->turns[of], k, false);
    if (call == KNOT_NONE && repeats(p, &p->turns[of], k))
        k->fate = GOES;
    return call;
}

static void tie_names(pairs_plan *p)
{
    enum { NAME, BEFORE, ORDER, PASSES };
    for (int pass = NAME; pass < PASSES; pass++) {
        size_t hint = 0;
        for (size_t r = 0; r < p->nresults; r++) {
            knot *k = &p->results[r];
            size_t t = turn_before(p, k->message, &hint), call = KNOT_NONE;
            if (k->mate != KNOT_NONE || k->fate == GOES || t == KNOT_NONE)
                continue;
            if (pass == NAME)
                call = call_in_turn(p, &p->turns[t], k, false);
            else if (pass == BEFORE)
                call = call_before(p, t, r);
            else if (!plan_wire(p, WIRE_NO_IDS) || !plan_part(p, k)->name.n) /* a name that nobody called is nobody's */
                call = call_in_turn(p, &p->turns[t], k, true);
            if (call != KNOT_NONE)
                tie(p, call, r);
        }
    }
}

/* ---- what has to be done ---- */

/* Made of what the call is and where it stands among the calls, so that it is the same each time. */
static daruma_str fresh_id(pairs_plan *p, const knot *k)
{
    const convo_part *part = plan_part(p, k);
    uint64_t h = XXH3_64bits_withSeed(part->name.p, part->name.n, (uint64_t)(k - p->calls) + 1);
    h = XXH3_64bits_withSeed(part->value.p, part->value.n, h);
    daruma_buf b = buf_in(&p->room);
    BUF_LIT(&b, "call_");
    buf_hex64(&b, h);
    return b.full ? (daruma_str){0} : buf_done(&b);
}

/* Where calls are known by name: a result that says none, or the id of another call. */
static void judge_names(pairs_plan *p)
{
    for (size_t r = 0; r < p->nresults; r++) {
        knot *k = &p->results[r];
        if (k->mate == KNOT_NONE)
            continue;
        daruma_str id = id_of(p, &p->calls[k->mate]);
        if (id_of(p, k).n && id.n && !str_eq(id_of(p, k), id))
            k->fresh = id;
        k->unnamed = !plan_part(p, k)->name.n && plan_part(p, &p->calls[k->mate])->name.n;
        p->wrong |= k->fresh.n || k->unnamed;
    }
}

/* Ids that are missing, or are there twice where the wire wants them once. Messages wants them once in all (its
 * "`tool_use` ids must be unique"), the others once in a turn. */
static void judge_ids(pairs_plan *p)
{
    bool once_in_all = plan_wire(p, WIRE_RESULTS_IN_USER);
    if (plan_wire(p, WIRE_NO_IDS)) {
        judge_names(p);
        return;
    }
    for (size_t i = 0; i < p->ncalls; i++) {
        knot *k = &p->calls[i];
        size_t looked = 0;
        bool taken = false;
        daruma_str id = id_of(p, k);
        if (k->fate == GOES || k->legacy)
            continue;
        for (size_t o = id.n ? k->before : KNOT_NONE; o != KNOT_NONE && !taken && looked++ < PAIRS_LOOK_BACK;
             o = p->calls[o].before)
            taken = str_eq(id_of(p, &p->calls[o]), id) && (once_in_all || p->calls[o].turn == k->turn);
        if (!id.n || taken)
            k->fresh = fresh_id(p, k);
        daruma_str mine = k->fresh.n ? k->fresh : id;
        if (k->mate != KNOT_NONE && !str_eq(mine, id_of(p, &p->results[k->mate])))
            p->results[k->mate].fresh = mine;
        p->wrong |= k->fresh.n || (k->mate != KNOT_NONE && p->results[k->mate].fresh.n);
    }
}

static void judge_results(pairs_plan *p)
{
    bool unseen = convo_unseen(p->c); /* its call may be there: it is none of our business */
    for (size_t r = 0; r < p->nresults; r++) {
        knot *k = &p->results[r];
        if (k->mate == KNOT_NONE && k->fate == STAYS && !unseen)
            k->fate = said_by(p, k).n ? SPEAKS : GOES;
        p->wrong |= k->fate != STAYS;
    }
}

/* Does a reference stand right before the calls? What it stands for may be the reasoning that led to them: the server
 * does not take it without them. */
static bool turn_referred(const pairs_plan *p, const called_turn *t)
{
    size_t before = plan_wire(p, WIRE_FLAT) ? history_before(p->c, p->calls[t->first].message) : STR_NONE;
    return before != STR_NONE && convo_reference(&p->c->messages[before]);
}

/* Does something in the messages of this turn have to stay as it is? */
static bool turn_sealed(const pairs_plan *p, const called_turn *t)
{
    for (size_t i = t->first; i < t->first + t->n; i++)
        if ((i == t->first || p->calls[i].message != p->calls[i - 1].message) &&
            history_sealed(plan_message(p, &p->calls[i])))
            return true;
    size_t before = plan_wire(p, WIRE_FLAT) ? history_before(p->c, p->calls[t->first].message) : STR_NONE;
    return before != STR_NONE && p->c->messages[before].nparts && p->c->messages[before].parts[0].kind == PART_THINKING;
}

/* Calls without result. Pruned are only those whose going breaks no seal: all calls of the turn, or it has none. */
static void judge_calls(pairs_plan *p, mend_orphans how)
{
    for (size_t n = 0; n < p->nturns; n++) {
        called_turn *t = &p->turns[n];
        size_t open = 0, left = 0;
        for (size_t i = t->first; i < t->first + t->n; i++) {
            left += p->calls[i].fate != GOES;
            open += p->calls[i].fate != GOES && p->calls[i].mate == KNOT_NONE;
            p->wrong |= p->calls[i].fate == GOES;
        }
        bool prune = open && how == MEND_PRUNE && !turn_referred(p, t) && (open == left || !turn_sealed(p, t));
        for (size_t i = t->first; i < t->first + t->n && open; i++)
            if (p->calls[i].fate != GOES && p->calls[i].mate == KNOT_NONE) {
                p->calls[i].fate = prune ? GOES : ANSWERED;
                p->wrong = t->wrong = true;
            }
        for (size_t i = t->first; i < t->first + t->n; i++)
            t->kept += p->calls[i].fate != GOES;
    }
}

/* Will it be gone? */
static bool result_leaves(const pairs_plan *p, size_t message)
{
    const convo_message *m = &p->c->messages[message];
    if (m->role != CONVO_TOOL)
        return false;
    for (size_t lo = 0, hi = p->nresults; lo < hi;) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->results[mid].message == message)
            return p->results[mid].fate == GOES;
        if (p->results[mid].message < message)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* The next message that will still be there. */
static size_t behind(const pairs_plan *p, size_t at)
{
    do
        at = history_next(p->c, at);
    while (at < p->c->nmessages && result_leaves(p, at));
    return at;
}

/* Where results are messages of their own. Where they need not follow at once, any place behind the call will do. */
static void place_messages(pairs_plan *p, called_turn *t)
{
    size_t at = t->at, next = behind(p, at);
    bool loose = !plan_wire(p, WIRE_RESULTS_FOLLOW);
    for (size_t i = t->first; i < t->first + t->n; i++) {
        if (p->calls[i].fate == GOES || p->calls[i].mate == KNOT_NONE)
            continue;
        knot *r = &p->results[p->calls[i].mate];
        if (r->message == next) {
            at = next;
            next = behind(p, at);
        } else if (!loose || r->message < p->calls[i].message) {
            r->fate = MOVES;
            p->wrong = t->wrong = true;
        }
    }
}

/* Where they are parts of the user's next message. System entries between the messages do not part them. */
static void place_parts(pairs_plan *p, called_turn *t)
{
    const convo *c = p->c;
    size_t home = history_next(c, t->at), part = 0;
    while (home < c->nmessages && c->messages[home].role == CONVO_SYSTEM)
        home = history_next(c, home);
    if (home < c->nmessages && c->messages[home].role != CONVO_ASSISTANT)
        t->home = home;
    for (size_t i = t->first; i < t->first + t->n; i++) {
        if (p->calls[i].fate == GOES)
            continue;
        knot *r = p->calls[i].mate == KNOT_NONE ? NULL : &p->results[p->calls[i].mate];
        const convo_message *m = t->home == KNOT_NONE ? NULL : &c->messages[t->home];
        while (m && part < m->nparts && m->parts[part].dropped)
            part++;
        if (r && r->message == t->home && r->part == part) {
            part++;
        } else if (r) {
            r->fate = MOVES;
            p->wrong = t->wrong = true;
        }
    }
}

bool pairs_plan_make(pairs_plan *p, convo *c, mend_orphans how)
{
    *p = (pairs_plan){.c = c, .room = *c->arena};
    if (!collect(p)) {
        c->full = true;
        return false;
    }
    tie_ids(p);
    tie_names(p);
    judge_results(p);
    judge_calls(p, how);
    judge_ids(p);
    for (size_t i = 0; i < p->nturns; i++)
        if (p->turns[i].kept && plan_wire(p, WIRE_RESULTS_IN_USER))
            place_parts(p, &p->turns[i]);
        else if (p->turns[i].kept)
            place_messages(p, &p->turns[i]);
    c->full |= p->room.full;
    return !c->full;
}
