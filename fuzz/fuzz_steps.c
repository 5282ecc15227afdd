/* fuzz_steps - any bytes are the request of an agent; the first says in which dialect. Its newest messages are known
 * again, read and gone through step by step; its failures are shown compactly, a notice and a refusal are added, and
 * what is left of a run that is stopped is told. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include "engine/mend/answer/answer.h"
#include "engine/watch/errors.h"
#include "engine/watch/steps.h"
#include "engine/watch/words/partial.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Every call is a step at most once, in its order, and its result stands behind it. */
static size_t count_steps(convo *c, daruma_stall *stall, daruma_verdict *v, daruma_step *last)
{
    size_t n = 0, at = 0, part = 0;
    steps_item item;
    for (steps_iter it = {.c = c}; steps_next(&it, &item); n++) {
        must(item.message >= at && item.message < c->nmessages);
        const convo_message *m = &c->messages[item.message];
        if (item.call) {
            size_t here = (size_t)(item.call - m->parts);
            must(here < m->nparts && (item.message > at || here >= part));
            part = here + 1;
        } else if (item.message > at) {
            part = 0;
        }
        at = item.message;
        must(!item.call || item.step.lost == (item.result == NULL));
        must(!item.result || item.result->kind == PART_RESULT);
        if (item.what != STEPS_STEP)
            continue;
        *v = daruma_stall_see(stall, &item.step);
        *last = item.step;
    }
    return n;
}

static void check_newest(const dialect *d, const request_scan *s, const uint32_t *newest)
{
    static char mem[8u << 20];
    for (size_t i = s->nmessages; i-- > 0 && s->nmessages - i <= SCAN_NEWEST;) {
        uint64_t id, again;
        daruma_str m = dialect_message(s, newest, i);
        must(m.p >= s->messages.p && m.p + m.n <= s->messages.p + s->messages.n);
        must(dialect_message_hash(m, &id) == dialect_message_hash(m, &again) && id == again);
        daruma_arena a = arena_over(mem, sizeof mem);
        convo c;
        if (s->nmessages - i <= 4 && dialect_read_newest(d, s, newest, i, (daruma_str){0}, &a, &c) == DARUMA_OK)
            must(c.nmessages <= (d->quirks & WIRE_FLAT ? s->nmessages + 1 : s->nmessages - i + 1));
    }
}

static void write_again(const dialect *d, const convo *c, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    if (c->full)
        return;
    d->write(c, &out);
    if (!out.full)
        must(json_valid(buf_str(&out)) || !json_valid(c->body));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    static char mem[16u << 20], room[64u << 10] __attribute__((aligned(16)));
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(room, sizeof room);
    if (size < 2)
        return 0;
    const dialect *d = all[data[0] & 3];
    daruma_str body = {(const char *)data + 1, size - 1};
    uint32_t newest[SCAN_NEWEST];
    request_scan s = d->scan(body, newest, false);
    convo c;
    daruma_verdict v = {0};
    daruma_step last = {.ok = -1};
    daruma_stall *stall = daruma_stall_new(&keep);
    must(stall != NULL);
    if (s.ok)
        check_newest(d, &s, newest);
    dialect_choice_path(d, body);
    if (d->read(body, &a, &c) != DARUMA_OK)
        return 0;
    size_t n = count_steps(&c, stall, &v, &last);
    must(c.full || a.full || n == count_steps(&c, stall, &v, &last));
    daruma_buf words = buf_in(&a);
    watch_partial(&c, &v, &last, &words);
    watch_compact_errors(&c, daruma_policy_find(data[0] & 4 ? S("compact") : S("default")));
    mend_report rep = {0};
    mend_notice(&c, S("[Notice]"), &rep);
    if (data[0] & 8)
        convo_patch_add(&c, PATCH_SET, dialect_choice_path(d, body), d->choice_none);
    convo_part said[] = {{.kind = PART_TEXT, .ready = true, .text = S("I look.")},
                         {.kind = PART_CALL, .ready = true, .name = last.tool, .text = last.args}};
    turn bad = {.message = {.role = CONVO_ASSISTANT, .parts = said, .nparts = 2}};
    if (data[0] & 16)
        mend_refuse_calls(&c, &bad, S("No."), &rep);
    write_again(d, &c, &a);
    return 0;
}
