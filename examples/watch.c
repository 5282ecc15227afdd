/* watch.c - an agent that goes in circles, and what daruma.h alone does about it: it is seen, told, counted, and a
 * model is asked for a way out. The agent and the model are scripts; yours take their places. */
#include <daruma.h>
#include <stdio.h>
#include <string.h>

static char keep[1 << 18], room[1 << 18];

static void show(const char *who, daruma_str text)
{
    printf("%s: %.*s\n", who, (int)text.n, text.p);
}

/* Your agent's next call. This one takes the name of a file for its path, until somebody says what to do. */
static daruma_step next_call(daruma_str args)
{
    bool right = args.n > strlen("{\"path\":\"tracker.ts\"}");
    return (daruma_step){.tool = DARUMA_STR("fs_read"),
                         .args = args,
                         .result = right ? DARUMA_STR("class Tracker {}") : DARUMA_STR("ENOENT: no such file"),
                         .ok = right};
}

/* Your model. Ask it q->system and q->user, with q->max_tokens and q->temperature_milli. */
static daruma_str ask_model(const daruma_question *q)
{
    printf("(%zu bytes are asked)\n", q->user.n);
    return DARUMA_STR(
        "Use the whole path: {\"strategy\": \"parameter-adjustment\", \"reasoning\": \"the search printed it\","
        "\"action\": {\"toolName\": \"fs_read\", \"parameters\": {\"path\": \"src/core/tracker.ts\"}},"
        "\"expectedOutcome\": \"the file is read\", \"confidence\": 0.9}");
}

int main(void)
{
    const daruma_policy *policy = daruma_policy_find(DARUMA_STR("default"));
    const daruma_tool tools[] = {{.name = DARUMA_STR("fs_read"),
                                  .schema = DARUMA_STR("{\"type\":\"object\",\"required\":[\"path\"]}"),
                                  .traits = DARUMA_TOOL_READS}};
    daruma_arena a = {.beg = keep, .end = keep + sizeof keep};
    daruma_stall *stall = daruma_stall_new(&a);
    daruma_tracker *tracker = daruma_tracker_new(&a, policy);
    daruma_guide guide = {0};
    daruma_tries tries = {0};
    daruma_str args = DARUMA_STR("{\"path\":\"tracker.ts\"}");
    for (int i = 0; i < 10; i++) {
        char text[2000];
        daruma_arena scratch = {.beg = room, .end = room + sizeof room};
        daruma_buf notice = {.p = text, .cap = sizeof text}, circle = {.arena = &scratch};
        daruma_step step = next_call(args);
        show(step.ok ? "worked" : "failed", step.args);
        bool go_on = daruma_tracker_see(tracker, (daruma_str){0}, &step, (daruma_moment){.now = i}, &scratch);
        if (step.ok)
            return i < 5 ? 0 : 1;
        daruma_verdict v = daruma_stall_see(stall, &step);
        if (daruma_guide_next(&guide, policy, &v, DARUMA_WATCH_GUIDE, 0) == DARUMA_REMEDY_NOTICE) {
            daruma_guide_notice(&guide, &v, &step, &notice);
            show("to the agent", (daruma_str){notice.p, notice.n}); /* put it at the end of its messages */
        }
        if (go_on && v.circle == DARUMA_CIRCLE_NONE)
            continue;
        daruma_tool_failure f = daruma_tool_judge(&step, policy, &scratch);
        daruma_verdict_say(&v, &step, &circle);
        daruma_situation s = {.goal = DARUMA_STR("What is the Tracker class?"),
                              .progress = -1,
                              .steps = (uint32_t)i + 1,
                              .stuck = true,
                              .circle = {circle.p, circle.n},
                              .last = &step,
                              .failures = &f,
                              .nfailures = 1,
                              .tools = tools,
                              .ntools = 1,
                              .fits = daruma_schema_fits};
        daruma_question q = daruma_strategy_ask(&s, &tries, policy, &scratch);
        daruma_strategy way = daruma_strategy_read(ask_model(&q), &s, &tries, policy, &a, NULL);
        daruma_tries_note(&tries, &way); /* so that it is not proposed again */
        show("strategy", way.name);
        if (daruma_strategy_decide(&way, DARUMA_STRATEGIES_AUTO, policy) == DARUMA_FATE_DO)
            args = way.parameters; /* checked against the tool's schema */
    }
    return 1;
}
