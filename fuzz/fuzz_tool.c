/* fuzz_tool - any bytes are a run of an agent: each line "tool TAB arguments TAB result", the first byte of the input
 * says how it is told whether a step failed, and by which profile it is judged. Results are judged, shown and counted.
 */
#include "daruma_parts.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "exact.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* Escaped text has no bracket but those of the block, and no line but its own. */
static void check_block(daruma_str text)
{
    size_t lines = 1, brackets = 0;
    for (size_t i = 0; i < text.n; i++) {
        lines += text.p[i] == '\n';
        brackets += text.p[i] == '<';
    }
    must(brackets == 2 && lines >= 5 && lines <= 6);
}

/* `twice`: the same each time, which is not asked of each step, because it takes long. */
static void check_failure(const daruma_step *step, const daruma_policy *p, bool twice, daruma_arena *a)
{
    daruma_tool_failure f = daruma_tool_judge(step, p, a);
    must(f.kind != DARUMA_TOOL_NONE_KIND && f.kind < DARUMA_TOOL_KINDS && f.signature);
    must(f.message.n <= p->watch.message_chars * (size_t)4 + step->result.n);
    if (a->full)
        return;
    must(!twice || daruma_tool_judge(step, p, a).signature == f.signature);
    daruma_buf b = buf_in(a);
    daruma_tool_failure_write(&f, DARUMA_VIEW_COMPACT, &b);
    if (!b.full)
        check_block(buf_str(&b));
    if (!p->watch.rows)
        must(str_findch(f.message, '\n') == STR_NONE && str_findch(f.message, 0x1b) == STR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char mem[4u << 20], room[1u << 16] __attribute__((aligned(16))), shown[1u << 16];
    daruma_str rest = {(const char *)data, size};
    uint8_t how = size ? data[0] : 0;
    const daruma_policy *p = daruma_policy_find(how & 4 ? S("compact") : S("default"));
    daruma_arena keep = arena_over(room, sizeof room);
    daruma_tracker *t = daruma_tracker_new(&keep, p);
    must(t != NULL);
    rest = str_from(rest, 1);
    for (int i = 0; i < 64 && rest.n; i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_str line = str_cut(&rest, '\n');
        exact_pieces x = {0};
        daruma_step step = {0};
        step.tool = exact(&x, str_cut(&line, '\t'));
        step.args = exact(&x, str_cut(&line, '\t'));
        step.result = exact(&x, line);
        step.ok = (how & 3) == 3 ? -1 : (int)(how & 1 ? i % 2 : 0);
        bool failed = daruma_step_failed(&step);
        if (failed)
            check_failure(&step, p, i % 4 == 0, &a);
        bool go_on = daruma_tracker_see(t, how & 8 ? S("agent") : S(""), &step, (daruma_moment){.wall = i}, &a);
        daruma_escalation e = daruma_tracker_escalation(t);
        must(e.needs_review == !go_on && (e.reason.n > 0) == e.needs_review);
        must(e.needs_review || (e.total < p->watch.total_max && e.in_row < p->watch.same_max * TOOL_PATIENCE));
        daruma_buf b = buf_over(shown, sizeof shown);
        if (!go_on || i % 4 == 0) {
            daruma_tracker_context(t, &b);
            daruma_tracker_summary(t, &b);
        }
        must(daruma_tracker_list(t, NULL, 0) <= TRACKED_FAILURES_MAX);
        if (!go_on && how & 16)
            daruma_tracker_resume(t);
        exact_end(&x);
    }
    return 0;
}
