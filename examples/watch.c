/* watch.c - an agent that goes in circles, and what daruma_parts.h alone does about it: it is seen, told, counted, and
 * a model is asked for a way out. The agent and the model are scripts; yours take their places. */
#include <daruma_parts.h>
#include <stdio.h>
#define S(text) DARUMA_STR(text)

static char keep[1 << 18], room[1 << 18];

/* Your agent's next call. This one takes the name of a file for its path, until somebody says what to do. */
static daruma_step next_call(daruma_str args)
{
    bool right = args.n > sizeof "{\"path\":\"tracker.ts\"}";
    daruma_str result = right ? S("class Tracker {}") : S("ENOENT: no such file");
    printf("%s: %.*s\n", right ? "worked" : "failed", (int)args.n, args.p);
    return (daruma_step){.tool = S("fs_read"), .args = args, .result = result, .ok = right};
}

/* Your model. Ask it q->system and q->user, with q->max_tokens and q->temperature_milli. */
static daruma_str ask_model(const daruma_question *q)
{
    printf("(%zu bytes are asked)\n", q->user.n);
    return S("Use the whole path: {\"strategy\": \"parameter-adjustment\", \"reasoning\": \"the search printed it\","
             "\"action\": {\"toolName\": \"fs_read\", \"parameters\": {\"path\": \"src/core/tracker.ts\"}},"
             "\"expectedOutcome\": \"the file is read\", \"confidence\": 0.9}");
}

int main(void)
{
    const daruma_policy *policy = daruma_policy_find(S("default"));
    const daruma_tool tools[] = {{.name = S("fs_read"), .schema = S("{\"required\":[\"path\"]}")}};
    daruma_arena a = {.beg = keep, .end = keep + sizeof keep};
    daruma_stall *stall = daruma_stall_new(&a);
    daruma_tracker *tracker = daruma_tracker_new(&a, policy);
    daruma_guide guide = {0};
    daruma_tries tries = {0};
    daruma_str args = S("{\"path\":\"tracker.ts\"}");
    for (uint32_t i = 1; i <= 10; i++) {
        daruma_arena scratch = {.beg = room, .end = room + sizeof room};
        daruma_buf notice = {.arena = &scratch};
        daruma_step step = next_call(args);
        bool go_on = daruma_tracker_see(tracker, step.tool, &step, (daruma_moment){.now = i}, &scratch);
        if (step.ok)
            return i < 6 ? 0 : 1;
        daruma_verdict v = daruma_stall_see(stall, &step);
        if (daruma_guide_next(&guide, policy, &v, DARUMA_WATCH_GUIDE, 0) == DARUMA_REMEDY_NOTICE) {
            daruma_guide_notice(&guide, &v, &step, &notice); /* put it at the end of the agent's messages */
            printf("to the agent: %.*s\n", (int)notice.n, notice.p);
        }
        if (go_on && v.circle == DARUMA_CIRCLE_NONE)
            continue;
        daruma_situation s = {.goal = S("What is the Tracker class?"), .progress = -1, .steps = i, .stuck = true};
        s.last = &step;
        s.tools = tools;
        s.ntools = 1;
        s.fits = daruma_schema_fits;
        daruma_question q = daruma_strategy_ask(&s, &tries, policy, &scratch);
        daruma_strategy way = daruma_strategy_read(ask_model(&q), &s, &tries, policy, &a, NULL);
        daruma_tries_note(&tries, &way); /* so that it is not proposed again */
        printf("strategy: %.*s\n", (int)way.name.n, way.name.p);
        if (daruma_strategy_decide(&way, DARUMA_STRATEGIES_AUTO, policy) == DARUMA_FATE_DO)
            args = way.parameters; /* checked against the tool's schema */
    }
    return 1;
}
