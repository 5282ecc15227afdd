/* Steps of an agent: whatever comes, verdicts keep their bounds, two detectors agree, one of them a copy at each step,
 * and what is said of a circle is a sentence. The input: a line for each step: a letter for how it ended ('+' well, '-'
 * not,
 * '?' not told, '!' lost, 'c' a compaction), tool, arguments and result with tabs between. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/str.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static daruma_step read_step(daruma_str line, exact_pieces *x)
{
    daruma_step s = {.ok = -1};
    char how = line.n ? line.p[0] : '?';
    daruma_str rest = str_from(line, 1);
    s.ok = how == '+' ? 1 : how == '-' ? 0 : -1;
    s.lost = how == '!';
    s.traits = how == 'c' ? DARUMA_TOOL_COMPACTS : 0;
    s.tool = exact(x, str_cut(&rest, '\t'));
    s.args = exact(x, str_cut(&rest, '\t'));
    s.result = exact(x, rest);
    return s;
}

static void look(const daruma_verdict *v, const daruma_step *step, uint32_t steps, daruma_arena scratch)
{
    daruma_buf out = buf_in(&scratch);
    check(v->step == steps && v->sure <= 100 && v->period <= DARUMA_PERIOD_MAX && v->ncalls <= DARUMA_PERIOD_MAX);
    check(v->circle < DARUMA_CIRCLES);
    if (v->circle == DARUMA_CIRCLE_NONE)
        return;
    check(v->first >= 1 && v->first <= v->step && v->times >= 2 && v->about);
    for (uint32_t i = 0; i < v->ncalls; i++)
        check(v->calls[i]);
    daruma_verdict_say(v, step, &out);
    check(!out.full && out.n && out.p[out.n - 1] == '.');
}

static bool agree(const daruma_verdict *a, const daruma_verdict *b)
{
    return a->circle == b->circle && a->about == b->about && a->first == b->first && a->times == b->times &&
           a->sure == b->sure && a->ncalls == b->ncalls && a->period == b->period;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[1 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_stall *one = daruma_stall_new(&a), *two = daruma_stall_new(&a), *copy = daruma_stall_new(&a);
    daruma_str rest = {(const char *)data, size};
    for (uint32_t steps = 1; rest.n && steps < 2000; steps++) {
        exact_pieces x = {0};
        daruma_step step = read_step(str_cut(&rest, '\n'), &x);
        daruma_verdict v = daruma_stall_see(one, &step), w = daruma_stall_see(two, &step);
        check(agree(&v, &w));
        look(&v, &step, steps, a);
        memcpy(copy, two, daruma_stall_bytes());
        daruma_stall *was = two;
        two = copy;
        copy = was;
        check(daruma_call_hash(step.tool, step.args) == daruma_call_hash(step.tool, step.args));
        check(daruma_call_hash(step.tool, step.args) && daruma_result_hash(step.result, step.ok == 0));
        exact_end(&x);
    }
    return 0;
}
