/* Any request of any dialect (first byte) with any complaint of a provider (up to a line break): mended, its history is
 * whole, mending twice is mending once, shrinking does not grow it, and what is written can be read again. */
#include "engine/mend/mend.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "dialect/dialect.h"

static char room[48 << 20];

/* Calls have names and are the model's, results are not. What else stands in a history is no call of any provider: it
 * is carried along, and nobody promises that it is paired. */
static bool calls_are_calls(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            bool models = c->messages[i].role == CONVO_ASSISTANT;
            if ((p->kind == PART_CALL && (!models || !p->name.n)) || (p->kind == PART_RESULT && models))
                return false;
        }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static daruma_str written(const dialect *d, const convo *c)
{
    daruma_buf b = buf_in(c->arena);
    d->write(c, &b);
    return b.full ? (daruma_str){0} : buf_str(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    if (size < 2 || size > 64 << 10)
        return 0;
    const dialect *d = all[data[0] & 3];
    bool prune = data[0] & 4;
    daruma_str body = {(const char *)data + 1, size - 1}, said = str_cut(&body, '\n');
    daruma_arena a = arena_over(room, sizeof room);
    daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE, .message = said};
    convo c, again;
    if (d->read(body, &a, &c) != DARUMA_OK)
        return 0;
    check(str_eq(written(d, &c), body));
    bool broken = mend_pairs_broken(&c), proper = calls_are_calls(&c);
    mend_report r = mend_pairs(&c, prune ? MEND_PRUNE : MEND_SYNTHESISE);
    daruma_str out = written(d, &c);
    if (c.full || !out.n)
        return 0;
    check(broken == mend_did(&r));
    check(broken || str_eq(out, body));
    check(d->read(out, &a, &again) == DARUMA_OK || a.full);
    if (a.full)
        return 0;
    bool text = true; /* ids that are no UTF-8 do not survive being written anew; no provider takes such a body */
    for (size_t i = 0; i < body.n; i++)
        text &= (unsigned char)body.p[i] < 0x80;
    check(!text || !proper || !mend_pairs_broken(&again));

    mend_messages(&again, said.n ? &f : NULL);
    out = written(d, &again);
    if (again.full || !out.n)
        return 0;
    check(d->read(out, &a, &c) == DARUMA_OK || a.full);
    if (a.full)
        return 0;
    mend_shed(&c, out.n / 2);
    daruma_str shrunk = written(d, &c);
    check(c.full || a.full || shrunk.n <= out.n);
    return 0;
}
