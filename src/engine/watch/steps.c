/* steps.c - what an agent did, call by call, from its history. */
#include "engine/watch/steps.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <xxhash.h>

static bool on(const convo_part *p, part_kind k)
{
    return p->kind == k && !p->dropped;
}

static bool steps_has(const convo_message *m, part_kind k)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (on(&m->parts[i], k))
            return true;
    return false;
}

/* ---- which result answers which call ---- */

/* A result, in the chain of those that bear the same id, or where the wire has none the same name. */
typedef struct a_result {
    size_t message, part, next; /* next: in the chain, STR_NONE behind the last */
} a_result;

/* Results of one id or name, in their order. Calls are asked in their order too: `at` only goes on. */
typedef struct chain {
    daruma_str key;
    bool id;
    size_t at, last; /* STR_NONE: empty */
} chain;

/* Made with the first step, so that a history is gone through once, whatever it holds. */
struct steps_results {
    a_result *all;
    chain *chains; /* open addressing */
    size_t nchains;
    size_t *over; /* of each message: the first behind it from where on no result of its calls comes any more */
};

static chain *chain_of(const struct steps_results *r, daruma_str key, bool id)
{
    /* seeded, as a str_map is, so that nobody can choose ids that stand together */
    size_t at = XXH3_64bits_withSeed(key.p, key.n, (uintptr_t)r->chains + id) & (r->nchains - 1);
    while (r->chains[at].key.p && !(r->chains[at].id == id && str_eq(r->chains[at].key, key)))
        at = (at + 1) & (r->nchains - 1);
    return &r->chains[at];
}

static daruma_str key_of(daruma_str s)
{
    return s.n ? s : S("");
}

static void add_result(struct steps_results *r, size_t at, daruma_str key, bool id)
{
    chain *in = chain_of(r, key_of(key), id);
    if (!in->key.p)
        *in = (chain){.key = key_of(key), .id = id, .at = at, .last = at};
    else
        r->all[in->last].next = at;
    in->last = at;
    r->all[at].next = STR_NONE;
}

/* Where the conversation went on without a result: with a turn of the model (where its calls are messages of their own,
 * behind the first result), or with words of the user. */
static void find_over(const convo *c, size_t *over)
{
    size_t user = STR_NONE, model = STR_NONE, turned = STR_NONE;
    for (size_t i = c->nmessages; i-- > 0;) {
        const convo_message *m = &c->messages[i];
        size_t ends = c->quirks & WIRE_FLAT ? turned : model;
        over[i] = user < ends ? user : ends;
        if (m->dropped)
            continue;
        bool results = steps_has(m, PART_RESULT);
        if (m->role == CONVO_ASSISTANT)
            model = i;
        if (results)
            turned = model;
        if (m->role == CONVO_USER && !results)
            user = i;
    }
}

static struct steps_results *gather_results(const convo *c)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++)
            n += on(&c->messages[i].parts[j], PART_RESULT);
    struct steps_results *r = ARENA_NEW(c->arena, struct steps_results, 1);
    if (!r)
        return NULL;
    for (r->nchains = 4; r->nchains < 4 * n;)
        r->nchains *= 2; /* a result is in two chains at most, by its id and by its name */
    r->all = ARENA_NEW(c->arena, a_result, 2 * n + 1);
    r->chains = ARENA_NEW(c->arena, chain, r->nchains);
    r->over = ARENA_NEW(c->arena, size_t, c->nmessages + 1);
    if (!r->all || !r->chains || !r->over)
        return NULL;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; !c->messages[i].dropped && j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            if (!on(p, PART_RESULT))
                continue;
            r->all[at] = r->all[at + 1] = (a_result){.message = i, .part = j};
            if (p->id.n)
                add_result(r, at++, p->id, true);
            add_result(r, at++, p->name, false);
        }
    find_over(c, r->over);
    return r;
}

/* The next result in a chain that stands behind a message. */
static const a_result *next_in(struct steps_results *r, daruma_str key, bool id, size_t message)
{
    chain *in = chain_of(r, key_of(key), id);
    if (!in->key.p)
        return NULL;
    while (in->at != STR_NONE && r->all[in->at].message <= message)
        in->at = r->all[in->at].next;
    return in->at == STR_NONE ? NULL : &r->all[in->at];
}

/* Where the wire has no ids, results come in the order of their calls, and each answers one. */
static const a_result *next_named(struct steps_results *r, const convo_part *call, size_t message)
{
    daruma_str names[] = {call->name, {0}};
    for (size_t i = 0; i < 2 - (call->name.n == 0); i++) {
        const a_result *at = next_in(r, names[i], false, message);
        if (at && at->message <= r->over[message]) {
            chain *in = chain_of(r, key_of(names[i]), false);
            in->at = at->next;
            return at;
        }
    }
    return NULL;
}

/* The result of a call; NULL: none. `*over`: the conversation went on without it, so none will come. */
static convo_part *result_of(steps_iter *it, size_t message, size_t part, bool *over)
{
    convo *c = it->c;
    const convo_part *call = &c->messages[message].parts[part];
    const a_result *at =
        call->id.n ? next_in(it->results, call->id, true, message) : next_named(it->results, call, message);
    *over = it->results->over[message] != STR_NONE;
    return at ? &c->messages[at->message].parts[at->part] : NULL;
}

static daruma_str texts_of(convo *c, const convo_message *m)
{
    daruma_str one = {0};
    size_t n = 0;
    daruma_buf b = buf_in(c->arena);
    for (size_t i = 0; i < m->nparts; i++)
        if (on(&m->parts[i], PART_TEXT)) {
            daruma_str text = convo_text(c, &m->parts[i]);
            if (n++ == 0)
                one = text;
            else if (n == 2)
                buf_put(&b, one);
            if (n > 1) {
                buf_putc(&b, '\n');
                buf_put(&b, text);
            }
        }
    return n > 1 ? buf_str(&b) : one;
}

static bool call_item(steps_iter *it, size_t part, steps_item *ret)
{
    convo *c = it->c;
    convo_part *call = &c->messages[it->message].parts[part];
    bool over;
    convo_part *result = result_of(it, it->message, part, &over);
    if (!result && !over)
        return false;
    *ret = (steps_item){.what = STEPS_STEP, .message = it->message, .call = call, .result = result};
    ret->step = (daruma_step){.tool = call->name, .args = convo_text(c, call), .ok = -1, .lost = !result};
    if (result) {
        ret->step.result = convo_text(c, result);
        if (result->failed)
            ret->step.ok = 0;
    }
    return true;
}

/* Words without a call. In the newest message the model is still at it. */
static bool words_item(steps_iter *it, steps_item *ret)
{
    convo *c = it->c;
    const convo_message *m = &c->messages[it->message];
    bool users = m->role == CONVO_USER && !steps_has(m, PART_RESULT);
    bool models = m->role == CONVO_ASSISTANT && !steps_has(m, PART_CALL) && it->message + 1 < c->nmessages;
    if (models && (c->quirks & WIRE_FLAT) && c->messages[it->message + 1].role == CONVO_ASSISTANT)
        return false; /* the call it speaks of is an item of its own */
    if (!users && !models)
        return false;
    daruma_str text = str_trim(texts_of(c, m));
    if (!text.n)
        return false;
    *ret = (steps_item){.what = users ? STEPS_USER : STEPS_STEP, .message = it->message, .text = text};
    if (models)
        ret->step = (daruma_step){.result = text, .ok = 1};
    return true;
}

bool steps_next(steps_iter *it, steps_item *ret)
{
    const convo *c = it->c;
    if (!it->results && !(it->results = gather_results(c)))
        return false;
    for (; it->message < c->nmessages; it->message++, it->part = 0, it->spoke = false) {
        const convo_message *m = &c->messages[it->message];
        if (m->dropped)
            continue;
        if (!it->spoke) {
            it->spoke = true;
            if (words_item(it, ret))
                return true;
        }
        while (m->role == CONVO_ASSISTANT && it->part < m->nparts) {
            size_t at = it->part++;
            if (on(&m->parts[at], PART_CALL) && call_item(it, at, ret))
                return true;
        }
    }
    return false;
}
