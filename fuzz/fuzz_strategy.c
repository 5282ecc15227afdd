/* Answers to questions for a strategy and for progress, and steps as profiles look at them: whatever comes, what is
 * made of it can be shown, decided on and done, and is nothing that was tried. The input: a profile, a line each for a
 * tool, its arguments and its result, and the answer. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const daruma_tool tools[] = {
    {.name = LIT("read"),
     .description = LIT("Read a file"),
     .traits = DARUMA_TOOL_READS,
     .schema = LIT("{\"type\":\"object\"}")},
    {.name = LIT("read_all"), .description = LIT("Read all files")},
};

static size_t count(daruma_str text, daruma_str what)
{
    size_t n = 0, at;
    while ((at = str_find(text, what)) != STR_NONE) {
        text = str_from(text, at + what.n);
        n++;
    }
    return n;
}

static void look(const daruma_strategy *x, const daruma_policy *p)
{
    daruma_strategy_fate f = daruma_strategy_decide(x, DARUMA_STRATEGIES_AUTO, p);
    check(x->confidence >= 0 && x->confidence <= 1000);
    check(!x->parameters.n || json_valid(x->parameters) || x->kind == DARUMA_STRATEGY_RETRY);
    check(f != DARUMA_FATE_DO || x->checked);
    check(!x->checked || x->kind == DARUMA_STRATEGY_ESCALATE || x->kind == DARUMA_STRATEGY_GIVE_UP ||
          json_valid(x->parameters));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char memory[4 << 20];
    daruma_arena a = arena_over(memory, sizeof memory);
    if (!size)
        return 0;
    daruma_str rest = {(const char *)data + 1, size - 1};
    const daruma_policy *p = daruma_policy_find(str_of(daruma_policy_name(data[0] % 8 < 7 ? data[0] % 8 : 0)));
    bool strict = !p || !p->watch.adapt || !p->watch.adapt->greedy;
    exact_pieces x = {0};
    daruma_step step = {.ok = data[0] >> 7};
    step.tool = exact(&x, str_cut(&rest, '\n'));
    step.args = exact(&x, str_cut(&rest, '\n'));
    step.result = exact(&x, str_cut(&rest, '\n'));
    daruma_tool_failure f = {
        .tool = step.tool, .message = step.result, .kind = data[0] % DARUMA_TOOL_KINDS, .retryable = data[0] & 64};
    daruma_situation s = {.goal = step.result,
                          .progress = -1,
                          .last = &step,
                          .failures = &f,
                          .nfailures = !step.ok,
                          .tools = tools,
                          .ntools = data[0] & 32 ? 2 : 0};
    daruma_detector d = {0};
    daruma_progress g = {0};
    daruma_tries t = {0};
    for (int i = 0; i < 7; i++) {
        daruma_verdict v = daruma_detector_see(&d, p, &step, NULL);
        check(v.circle == DARUMA_CIRCLE_NONE || (v.first >= 1 && v.first <= v.step && v.times));
        check(daruma_progress_begin(&g, p) <= 3);
        daruma_progress_see(&g, p, &step);
    }
    daruma_estimate e = daruma_progress_read(rest, &a);
    check(e.progress >= -1 && e.progress <= 1000);
    for (int i = 0; i < 12; i++) {
        daruma_strategy got = daruma_strategy_read(i % 2 ? (daruma_str){0} : rest, &s, &t, p, &a, NULL);
        look(&got, p);
        daruma_tries_note(&t, &got);
        if (strict && got.source == DARUMA_FROM_MODEL && got.kind != DARUMA_STRATEGY_RETRY &&
            got.kind != DARUMA_STRATEGY_GIVE_UP)
            check(daruma_strategy_read(rest, &s, &t, p, &a, NULL).source == DARUMA_FROM_HEURISTIC);
    }
    daruma_question q = daruma_strategy_ask(&s, &t, p, &a);
    check(!strict || !q.user.n || (count(q.user, S("</goal>")) == 1 && count(q.user, S("</tried>")) == 1));
    exact_end(&x);
    return 0;
}
