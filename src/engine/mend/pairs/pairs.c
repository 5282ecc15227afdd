/* pairs.c - each call with its result, where the wire wants it. A plan is made first (pairs_plan.c), then it is carried
 * out: a history without a flaw gets an empty plan and keeps its bytes. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/mend/pairs/pairs_plan.h"
#include "engine/mend/value.h"

static void give_id(convo *c, convo_message *m, convo_part *part, daruma_str id)
{
    if (!id.n)
        return;
    if (!part->id.n && c->quirks & (WIRE_FLAT | WIRE_RESULTS_IN_USER)) { /* no member to change: it is written anew */
        convo_text(c, part);
        part->raw = (daruma_str){0};
        if (c->quirks & WIRE_FLAT)
            m->raw = (daruma_str){0};
    }
    part->id = id;
    part->edited = m->edited = c->edited = true;
}

static void give_name(convo *c, convo_message *m, convo_part *part, daruma_str name)
{
    part->name = name;
    part->edited = m->edited = c->edited = true;
}

static convo_part neutral(const pairs_plan *p, const knot *call)
{
    const convo_part *part = plan_part(p, call);
    return (convo_part){.kind = PART_RESULT,
                        .edited = true,
                        .ready = true,
                        .id = call->fresh.n ? call->fresh : part->id,
                        .name = part->name,
                        .text = S(MEND_UNKNOWN_RESULT)};
}

/* A result that belongs to nothing, as words of the user. */
static daruma_str spoken(const pairs_plan *p, const knot *r)
{
    const convo_part *part = plan_part(p, r);
    daruma_buf b = buf_in(p->c->arena);
    BUF_LIT(&b, "[Result of a tool call that is no longer in the conversation");
    if (part->name.n) {
        BUF_SAY(&b, ", ", part->name);
    }
    BUF_SAY(&b, "]\n", convo_text(p->c, plan_part(p, r)));
    p->c->full |= b.full;
    return buf_done(&b);
}

typedef struct fresh_list {
    convo_message *m;
    size_t n;
} fresh_list;

static bool add_neutral(pairs_plan *p, fresh_list *out, const knot *call)
{
    convo_part *own = ARENA_NEW(p->c->arena, convo_part, 1);
    if (!own)
        return false;
    *own = neutral(p, call);
    convo_message *m = &out->m[out->n++];
    *m = (convo_message){.role = CONVO_TOOL, .edited = true, .parts = own, .nparts = 1, .cap = 1};
    if (call->legacy)
        convo_set_wire_role(p->c, m, S("function"));
    return true;
}

/* Behind the calls of a turn: what moves there, what is made up, and, where they have to follow, all of them. */
static bool put_results(pairs_plan *p, const called_turn *t, fresh_list *out)
{
    bool loose = !plan_wire(p, WIRE_RESULTS_FOLLOW);
    for (size_t i = t->first; i < t->first + t->n; i++) {
        const knot *call = &p->calls[i];
        if (call->fate == ANSWERED) {
            if (!add_neutral(p, out, call))
                return false;
        } else if (call->fate == STAYS && (!loose || p->results[call->mate].fate == MOVES)) {
            out->m[out->n++] = *plan_message(p, &p->results[call->mate]);
        }
    }
    return true;
}

/* Is this message of results put somewhere else by put_results? */
static bool put_elsewhere(const pairs_plan *p, const knot *r)
{
    if (r->mate == KNOT_NONE)
        return false;
    return r->fate == MOVES || (p->turns[r->turn].wrong && plan_wire(p, WIRE_RESULTS_FOLLOW));
}

/* Results are messages: the list is written anew in its right order. */
static bool arrange_messages(pairs_plan *p, fresh_list *out)
{
    convo *c = p->c;
    size_t t = 0, r = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        const knot *k = NULL;
        while (r < p->nresults && p->results[r].message < i)
            r++;
        if (r < p->nresults && p->results[r].message == i)
            k = &p->results[r];
        if (k && k->fate == GOES && history_parts(m) == 1) {
            continue;
        } else if (k && k->fate == GOES) {
            convo_drop_part(c, m, plan_part(p, k));
            out->m[out->n++] = *m;
        } else if (k && k->fate == SPEAKS) {
            history_text(c, m, plan_part(p, k), spoken(p, k));
            m->role = CONVO_USER;
            m->raw = (daruma_str){0};
            m->wire_role = NULL;
            out->m[out->n++] = *m;
        } else if (!k || !put_elsewhere(p, k)) {
            out->m[out->n++] = *m;
        }
        while (t < p->nturns && p->turns[t].at < i)
            t++;
        if (t < p->nturns && p->turns[t].at == i && p->turns[t].wrong && !put_results(p, &p->turns[t], out))
            return false;
    }
    return true;
}

/* The results of a turn in their order, then what else the user's message has. `copies` are all results as they were.
 */
static bool fill_home(pairs_plan *p, const called_turn *t, convo_message *home, const convo_part *copies)
{
    size_t n = 0;
    convo_part *parts = ARENA_NEW(p->c->arena, convo_part, t->kept + home->nparts);
    if (!parts)
        return false;
    for (size_t i = t->first; i < t->first + t->n; i++)
        if (p->calls[i].fate == ANSWERED)
            parts[n++] = neutral(p, &p->calls[i]);
        else if (p->calls[i].fate == STAYS)
            parts[n++] = copies[p->calls[i].mate];
    for (size_t j = 0; j < home->nparts; j++)
        if (!home->parts[j].dropped)
            parts[n++] = home->parts[j];
    home->parts = parts;
    home->nparts = home->cap = n;
    home->edited = true;
    return true;
}

/* A message that is left without anything goes, unless the wire would then miss the user. */
static void leave(convo *c, size_t i)
{
    convo_message *m = &c->messages[i];
    size_t before = history_before(c, i), next = history_next(c, i);
    while (next < c->nmessages && c->messages[next].role == CONVO_SYSTEM)
        next = history_next(c, next);
    m->dropped = true;
    if (m->role == CONVO_ASSISTANT || before == STR_NONE || c->messages[before].role != CONVO_ASSISTANT ||
        (next < c->nmessages && c->messages[next].role != CONVO_ASSISTANT))
        return;
    convo_part *part = convo_insert_part(c, m, 0, PART_TEXT);
    if (part)
        history_text(c, m, part, S(HISTORY_NOTHING));
    m->dropped = false;
}

static void take_out(pairs_plan *p, const knot *k)
{
    convo_message *m = plan_message(p, k);
    if (k->fate == SPEAKS) {
        history_text(p->c, m, plan_part(p, k), spoken(p, k));
        if (m->role == CONVO_TOOL) {
            m->role = CONVO_USER;
            m->raw = (daruma_str){0};
            m->wire_role = NULL;
        }
    } else if (k->fate == GOES || (k->mate != KNOT_NONE && p->turns[k->turn].wrong)) {
        plan_part(p, k)->dropped = true;
        m->edited = p->c->edited = true;
    }
}

/* Results are parts of the user's messages: those of turns with a flaw are taken out, then put in where they belong. */
static bool arrange_parts(pairs_plan *p, fresh_list *out)
{
    convo *c = p->c;
    convo_part *copies = ARENA_NEW(c->arena, convo_part, p->nresults + 1);
    if (!copies)
        return false;
    for (size_t r = 0; r < p->nresults; r++)
        copies[r] = *plan_part(p, &p->results[r]);
    for (size_t r = 0; r < p->nresults; r++)
        take_out(p, &p->results[r]);
    for (size_t t = 0; t < p->nturns; t++)
        if (p->turns[t].wrong && p->turns[t].kept && p->turns[t].home != KNOT_NONE &&
            !fill_home(p, &p->turns[t], &c->messages[p->turns[t].home], copies))
            return false;
    for (size_t r = 0, last = KNOT_NONE; r < p->nresults; last = p->results[r++].message)
        if (p->results[r].message != last && history_on(plan_message(p, &p->results[r])) &&
            !history_parts(plan_message(p, &p->results[r])))
            leave(c, p->results[r].message);
    for (size_t i = 0, t = 0; i < c->nmessages; i++) {
        out->m[out->n++] = c->messages[i];
        while (t < p->nturns && p->turns[t].at < i)
            t++;
        if (t == p->nturns || p->turns[t].at != i || !p->turns[t].wrong || !p->turns[t].kept ||
            p->turns[t].home != KNOT_NONE)
            continue;
        out->m[out->n] = (convo_message){.role = CONVO_USER};
        if (!fill_home(p, &p->turns[t], &out->m[out->n++], copies))
            return false;
    }
    return true;
}

/* Does a message say anything but thinking? */
static bool says_something(convo *c, const convo_message *m)
{
    for (size_t i = 0; i < m->nparts; i++) {
        convo_part *part = &m->parts[i];
        if (part->dropped || part->kind == PART_THINKING)
            continue;
        if (part->kind != PART_TEXT || str_trim(convo_text(c, part)).n)
            return true;
    }
    return false;
}

/* Thinking that stood before what went, and now before nothing: providers refuse an item of it that nothing follows.
 * `next`: what is there behind it. */
static void drop_loose_thinking(convo *c, size_t at, size_t next)
{
    if (next < c->nmessages && c->messages[next].role == CONVO_ASSISTANT && says_something(c, &c->messages[next]))
        return;
    for (size_t i = at; (i = history_before(c, i)) != STR_NONE;) {
        const convo_message *m = &c->messages[i];
        if (m->role != CONVO_ASSISTANT || says_something(c, m))
            return;
        convo_drop_message(c, &c->messages[i]);
    }
}

/* Calls that go: pruned, or said twice. */
static void drop_calls(pairs_plan *p)
{
    convo *c = p->c;
    size_t next = c->nmessages, seen = next; /* the first message that is there from `seen` on */
    for (size_t i = p->ncalls; i-- > 0;) {
        const knot *k = &p->calls[i];
        convo_message *m = plan_message(p, k);
        if (k->fate != GOES)
            continue;
        convo_drop_part(c, m, plan_part(p, k));
        if (i && p->calls[i - 1].message == k->message)
            continue; /* the message is looked at when the first of its calls was */
        if (history_on(m) && !says_something(c, m))
            convo_drop_message(c, m);
        for (; seen > k->message + 1; seen--)
            next = history_on(&c->messages[seen - 1]) ? seen - 1 : next;
        if (plan_wire(p, WIRE_FLAT) && !history_on(m))
            drop_loose_thinking(c, k->message, next);
    }
}

static mend_report pairs_count(const pairs_plan *p)
{
    mend_report r = {0};
    uint32_t ids = 0;
    for (size_t i = 0; i < p->ncalls; i++) {
        r.calls_answered += p->calls[i].fate == ANSWERED;
        r.calls_dropped += p->calls[i].fate == GOES;
        ids += p->calls[i].fresh.n > 0;
    }
    for (size_t i = 0; i < p->nresults; i++) {
        r.results_moved += p->results[i].fate == MOVES;
        r.results_dropped += p->results[i].fate == GOES;
        r.results_to_text += p->results[i].fate == SPEAKS;
        ids += p->results[i].unnamed || (p->results[i].fresh.n && !p->calls[p->results[i].mate].fresh.n);
    }
    r.messages_mended = ids;
    mend_count(&r, r.calls_answered, "tool call got a neutral result", "tool calls got a neutral result");
    mend_count(&r, r.calls_dropped, "tool call was removed", "tool calls were removed");
    mend_count(&r, r.results_moved, "tool result was moved to its call", "tool results were moved to their calls");
    mend_count(&r, r.results_dropped, "tool result was removed", "tool results were removed");
    mend_count(&r, r.results_to_text, "tool result without call became text", "tool results without call became text");
    mend_count(&r, ids, "tool call got an id of its own", "tool calls got ids of their own");
    return r;
}

/* Pruning may leave neighbours of one role, and the model the last word. */
static void close_gaps(convo *c)
{
    if (c->quirks & WIRE_ALTERNATE)
        history_merge(c);
    size_t last = history_before(c, c->nmessages);
    if (last == STR_NONE || c->messages[last].role == CONVO_ASSISTANT)
        history_say(c, c->nmessages, CONVO_USER, S(HISTORY_GO_ON));
}

void mend_double_items(convo *c, const daruma_failure *f, mend_report *rep)
{
    uint32_t n = 0;
    if (!f || !(c->quirks & WIRE_FLAT) || str_ifind(f->message, S("duplicate item")) == STR_NONE)
        return;
    str_map seen = {0}, ids = {0};
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        daruma_str id = json_get(m->raw, S("id"));
        if (m->dropped || m->apart || !id.n)
            continue;
        if (!map_add(&seen, c->arena, m->raw))
            convo_drop_message(c, m);
        else if (m->nparts && !map_add(&ids, c->arena, id))
            history_drop_id(c, m); /* another one, by a client that numbers its items anew */
        else
            continue;
        n++;
    }
    rep->messages_mended += n;
    if (n)
        mend_say(rep, "%u items that stood there twice were left out, or sent without their id", n);
}

mend_report mend_pairs(convo *c, mend_orphans how)
{
    pairs_plan p;
    fresh_list out = {0};
    if (c->full || !pairs_plan_make(&p, c, how) || !p.wrong)
        return (mend_report){0};
    *c->arena = p.room;
    mend_report ret = pairs_count(&p);
    out.m = ARENA_NEW(c->arena, convo_message, c->nmessages + p.ncalls + 1);
    for (size_t i = 0; i < p.ncalls; i++)
        give_id(c, plan_message(&p, &p.calls[i]), plan_part(&p, &p.calls[i]), p.calls[i].fresh);
    for (size_t i = 0; i < p.nresults; i++)
        give_id(c, plan_message(&p, &p.results[i]), plan_part(&p, &p.results[i]), p.results[i].fresh);
    for (size_t i = 0; i < p.nresults; i++)
        if (p.results[i].unnamed)
            give_name(c, plan_message(&p, &p.results[i]), plan_part(&p, &p.results[i]),
                      plan_part(&p, &p.calls[p.results[i].mate])->name);
    drop_calls(&p);
    if (!out.m || !(plan_wire(&p, WIRE_RESULTS_IN_USER) ? arrange_parts(&p, &out) : arrange_messages(&p, &out))) {
        c->full = true;
        return ret;
    }
    c->messages = out.m;
    c->nmessages = out.n;
    c->cap = c->nmessages;
    c->edited = true;
    if (ret.calls_dropped)
        close_gaps(c);
    c->full |= c->arena->full;
    return ret;
}
