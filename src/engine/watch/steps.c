/* steps.c - what an agent did, call by call, from its history. */
#include "engine/watch/steps.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

static bool on(const convo_part *p, part_kind k)
{
    return p->kind == k && !p->dropped;
}

static bool has(const convo_message *m, part_kind k)
{
    for (size_t i = 0; i < m->nparts; i++)
        if (on(&m->parts[i], k))
            return true;
    return false;
}

/* How many calls of the message before this one it calls the same tool with: where the wire has no ids, results come
 * in the order of their calls. */
static size_t place_of(const convo_message *m, size_t part)
{
    size_t n = 0;
    for (size_t i = 0; i < part; i++)
        n += on(&m->parts[i], PART_CALL) && str_eq(m->parts[i].name, m->parts[part].name);
    return n;
}

/* Does this part answer the call, the `place`th of its tool in its message? */
static bool answers(const convo_part *p, const convo_part *call, size_t place, size_t *seen)
{
    if (!on(p, PART_RESULT))
        return false;
    if (call->id.n)
        return str_eq(p->id, call->id);
    return (!p->name.n || str_eq(p->name, call->name)) && (*seen)++ == place;
}

/* The result of a call; NULL: none. `*over`: the conversation went on without it, so none will come. */
static convo_part *result_of(const convo *c, size_t message, size_t part, bool *over)
{
    const convo_part *call = &c->messages[message].parts[part];
    size_t place = call->id.n ? 0 : place_of(&c->messages[message], part), seen = 0;
    bool turned = !(c->quirks & WIRE_FLAT); /* there the calls of one turn are messages of their own */
    *over = false;
    for (size_t i = message + 1; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        if (m->dropped)
            continue;
        for (size_t j = 0; j < m->nparts; j++)
            if (answers(&m->parts[j], call, place, &seen))
                return &m->parts[j];
        turned |= has(m, PART_RESULT);
        *over |= m->role == CONVO_ASSISTANT ? turned : m->role == CONVO_USER && !has(m, PART_RESULT);
        if (*over && !call->id.n)
            return NULL;
    }
    return NULL;
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
    convo_part *result = result_of(c, it->message, part, &over);
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
    bool users = m->role == CONVO_USER && !has(m, PART_RESULT);
    bool models = m->role == CONVO_ASSISTANT && !has(m, PART_CALL) && it->message + 1 < c->nmessages;
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
