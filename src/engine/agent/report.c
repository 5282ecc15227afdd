/* report.c - agents that end by calling a tool of their own, the report, and are told when they should (K-F18 to
 * K-F24): by a nudge when they speak instead, before the last step, when nothing new comes, and as their tokens run
 * out. */
#include "engine/agent/inside.h"

const agent_tool agent_report_tool = {
    .about = {.name = LIT("report"),
              .description = LIT("Ends the task. Call it once you are done, or cannot go on, with the whole answer: "
                                 "what you found, and what is missing."),
              .schema = LIT("{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\"}},"
                            "\"required\":[\"answer\"],\"additionalProperties\":false}"),
              .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS},
    .reports = true,
    .own = true};

/* The steps of a plan end with words, as ever. */
static const agent_tool *report_tool(const agent *a)
{
    for (size_t i = 0; a->policy->reports && a->s.mode == AGENT_REACTIVE && i < a->s.ntools; i++)
        if (a->s.tools[i].reports)
            return &a->s.tools[i];
    return NULL;
}

daruma_str report_name(const agent *a)
{
    const agent_tool *t = report_tool(a);
    return t ? t->about.name : (daruma_str){0};
}

bool report_is(const agent *a, daruma_str tool)
{
    daruma_str name = report_name(a);
    return name.n && str_eq(name, tool);
}

void report_take(agent *a, agent_step *s)
{
    if (actions_answer(s->args, &a->scratch).n)
        calls_ended(a, s, S("accepted"), 1, false);
    else
        calls_ended(a, s, S("MISSING_INPUT: the report says nothing\nNext step: report what you found"), 0, false);
}

/* The answer is in its arguments; all of them when it names none. */
void report_made(agent *a, const agent_step *s)
{
    daruma_str said = actions_answer(s->args, &a->scratch);
    flow_finish(a, flow_answer(a, said.n ? said : s->args));
}

/* It spoke and called nothing. True: it is asked once more, for the report. */
bool report_missing(agent *a, daruma_str text)
{
    if (!report_tool(a) || a->reporting.nudged)
        return false;
    daruma_buf said = buf_in(&a->scratch);
    LOG(a, "report_nudge");
    a->reporting.nudged = true;
    a->reporting.said = flow_text(a, text);
    BUF_SAY(&said, "To end you must call the report tool, ", traj_wire_name(a, report_name(a), &a->scratch),
            ", with your answer.");
    a->correction = flow_text(a, buf_str(&said));
    return true;
}

/* Words for the model's next question, unless others stand there already: the newer ones are lost (K-W8). */
static void nudge(agent *a, const char *event, daruma_str text)
{
    LOG(a, event);
    if (!a->notice.n)
        a->notice = flow_text(a, text);
}

static void watch_tokens(agent *a)
{
    int64_t limit = a->s.limits.tokens, used = add_sat(a->spent.input_tokens, a->spent.output_tokens);
    uint32_t soft = a->policy->soft_permille;
    if (limit > 0 && soft && !a->reporting.soft_told && mul_sat(used, 1000) >= mul_sat(limit, soft)) {
        daruma_buf text = buf_in(&a->scratch);
        a->reporting.soft_told = true;
        buf_printf(&text, "TOKEN BUDGET: %lld%% consumed. Come to an end.", (long long)(mul_sat(used, 100) / limit));
        nudge(a, "soft_warning", buf_str(&text));
    }
    bool lean = a->spent.steps > 0 && used - a->reporting.used_before < AGENT_LEAN_TOKENS;
    a->reporting.lean = lean ? a->reporting.lean + 1 : 0;
    a->reporting.used_before = used;
    if (limit > 0 && soft && a->reporting.lean == AGENT_LEAN_STEPS)
        nudge(a, "diminishing_returns",
              S("The last steps brought little. Report what you have, or change the approach."));
}

/* A step begins. */
void report_begin(agent *a)
{
    if (!report_tool(a) || a->attempts)
        return;
    if (limits_last_call(a) && !a->reporting.final_told) {
        LOG(a, "last_iteration_nudge");
        a->reporting.final_told = a->reporting.forced = true;
        a->correction = S("FINAL ITERATION: call the report tool now, with what you have.");
    }
    watch_tokens(a);
}
