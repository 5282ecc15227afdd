/* Any request of any dialect with any complaint of a provider (up to a line break): mended, its history is whole,
 * mending twice is mending once, and what is written can be read again. Then one surgery that makes it shorter. What it
 * writes is smaller and as whole as before, and on the next turn the same is done at once.
 *
 *     byte 0   bits 0-1 the dialect, bit 2 calls without result are pruned,
 *              bits 3-5 the surgery: shed, mask, summaries, compaction, clamp, known compressions of one of them
 *     up to \n the complaint; also what a summariser answers
 *     rest     the request */
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include "exact.h"
#include "../tests/pairs_kit.h"

static char room[96 << 20], known_room[1 << 20];

/* Calls have names and are the model's; results are not, and say whose they are. What else stands in a history is no
 * call of any provider: it is carried along, and nobody promises that it is paired. */
static bool calls_are_calls(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            bool models = c->messages[i].role == CONVO_ASSISTANT;
            if ((p->kind == PART_CALL && (!models || !p->name.n)) ||
                (p->kind == PART_RESULT && (models || (!p->name.n && !p->id.n))))
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

enum { SHED, MASK, SUMMARIES, COMPACTION, CLAMP, KNOWN };

static void sum_up(convo *c, daruma_str says, mend_report *r)
{
    mend_large large[8];
    size_t n = mend_large_results(c, 300, true, MEND_SUMMARY_PLAIN, large, 8);
    for (size_t i = 0; i < n && !c->full; i++) {
        daruma_str was = convo_text(c, &c->messages[large[i].message].parts[large[i].part]);
        daruma_str prompt = mend_summary_prompt(c, large[i], MEND_SUMMARY_PLAIN);
        bool put = mend_summary_put(c, large[i], says, MEND_SUMMARY_PLAIN, r);
        check(prompt.n || c->full);
        check(c->full || !put || c->messages[large[i].message].parts[large[i].part].text.n < was.n);
    }
}

static void compact(convo *c, daruma_str says, mend_report *r)
{
    mend_cut cut = mend_compact_plan(c, 50);
    if (cut.to <= cut.from)
        return;
    int64_t tokens = convo_tokens(c);
    mend_compact_prompt(c, cut, 3000);
    if (mend_compact_put(c, cut, says, r))
        check(c->full || convo_tokens(c) < tokens);
}

static mend_report shortened(convo *c, int how, daruma_str says, size_t bytes)
{
    mend_report r = {0};
    daruma_failure f = {.kind = DARUMA_CONTEXT_LENGTH, .message = says, .limit = -1, .used = -1, .requested = -1};
    switch (how) {
    case SHED:
        return mend_shed(c, bytes / 2);
    case MASK:
        return mend_mask(c, convo_tokens(c) / 2, NULL);
    case SUMMARIES:
        sum_up(c, says, &r);
        return r;
    case COMPACTION:
        compact(c, says, &r);
        return r;
    case CLAMP:
        f.kind = says.n & 1 ? DARUMA_OUTPUT_LIMIT : DARUMA_CONTEXT_LENGTH;
        mend_clamp_output(c, &f, 4096, &r);
        return r;
    default: /* known */
        r = mend_mask(c, convo_tokens(c) / 2, NULL);
        sum_up(c, says, &r);
        compact(c, says, &r);
        return r;
    }
}

static bool plain(daruma_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < ' ' || text.p[i] >= 0x7f || text.p[i] == '"' || text.p[i] == '\\')
            return false;
    return true;
}

/* What was learned of `after` is done again at once to the same request, and only once. */
static void come_again(const dialect *d, daruma_str sent, const convo *after, bool plainly, daruma_arena *a)
{
    daruma_arena own = arena_over(known_room, sizeof known_room);
    mend_known *k = mend_known_new(&own, 64 << 10);
    convo before, again;
    if (!k || d->read(sent, a, &before) != DARUMA_OK || d->read(sent, a, &again) != DARUMA_OK)
        return;
    mend_known_learn(k, 1, &before, after);
    mend_report r = mend_known_apply(k, 1, &again);
    daruma_str out = written(d, &again);
    if (again.full || a->full || !out.n)
        return;
    check(!plainly || out.n <= sent.n);
    check(mend_did(&r) || str_eq(out, sent));
    r = mend_known_apply(k, 1, &again);
    check(again.full || !mend_did(&r));
    check(again.full || str_eq(written(d, &again), out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    static exact_pieces x;
    exact_end(&x);
    if (size < 2 || size > 64 << 10)
        return 0;
    const dialect *d = all[data[0] & 3];
    bool prune = data[0] & 4;
    int how = (data[0] >> 3 & 7) % (KNOWN + 1);
    daruma_str body = {(const char *)data + 1, size - 1}, said = exact(&x, str_cut(&body, '\n'));
    daruma_arena a = arena_over(room, sizeof room);
    daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE, .message = said};
    convo c, again;
    if (d->read(body, &a, &c) != DARUMA_OK)
        return 0;
    check(str_eq(written(d, &c), body));
    bool broken = kit_pairs_broken(&c), proper = calls_are_calls(&c);
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
    check(!text || !proper || !kit_pairs_broken(&again));

    mend_messages(&again, said.n ? &f : NULL, NULL, NULL);
    if (data[0] & 64)
        mend_habits(&again, UINT32_MAX, &r);
    out = written(d, &again);
    if (again.full || !out.n)
        return 0;
    check(d->read(out, &a, &c) == DARUMA_OK || a.full);
    if (a.full)
        return 0;
    proper &= calls_are_calls(&c);
    broken = kit_pairs_broken(&c);
    r = shortened(&c, how, said, out.n);
    daruma_str shrunk = written(d, &c);
    if (c.full || a.full || !shrunk.n)
        return 0;
    check(mend_did(&r) || str_eq(shrunk, out));
    /* Measured is text: what has to be escaped, and a byte that is no UTF-8, may be longer on the wire. */
    bool plainly = text && plain(said);
    check(!plainly || shrunk.n <= out.n + (how == CLAMP ? 64 : 0));
    check(d->read(shrunk, &a, &again) == DARUMA_OK || a.full);
    if (a.full)
        return 0;
    check(broken || !text || !proper || !kit_pairs_broken(&again));
    if (how == KNOWN)
        come_again(d, out, &c, plainly, &a);
    return 0;
}
