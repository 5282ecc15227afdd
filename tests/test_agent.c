/* The agent as a machine: what it asks for next, and what becomes of each outcome. */
#include "agent_kit.h"
#include "pairs_kit.h"
#include "engine/agent/inside.h"

#define WAY(kind, tool, parameters, confidence)                                                                        \
    "{\"strategy\":\"" kind "\",\"reasoning\":\"because\",\"action\":{\"toolName\":\"" tool                            \
    "\",\"parameters\":" parameters                                                                                    \
    ",\"escalationMessage\":\"Which file?\"},\"expectedOutcome\":\"x\",\"confidence\":" confidence "}"

static void a_task_is_done_with_tools(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "What does a.txt say?");
    agent_act x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_STEP);
    assert_str(x.model, "big");
    assert_true(json_valid(x.body));
    assert_has(x.body, "What does a.txt say?");
    assert_int_equal(kit_next().what, AGENT_DO_NOTHING);
    agent_answered(kit_agent, x.call + 1, S("{}"), at(1)); /* of no call that is out */
    assert_int_equal(kit_next().what, AGENT_DO_NOTHING);
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "I look.", "fs.read", "{\"path\":\"a.txt\"}", 1),
                   at(1));
    x = kit_tool("fs.read");
    assert_str(x.args, "{\"path\":\"a.txt\"}");
    assert_ptr_equal(x.about, &kit_tools[0]);
    agent_tool_done(kit_agent, x.call, S("forty-two"), 1, false, at(2));
    x = kit_model();
    assert_has(x.body, "forty-two");
    assert_has(x.body, "I look.");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "It says forty-two.", NULL, NULL, 2), at(3));
    agent_result r = kit_end(DARUMA_OUTCOME_OK, AGENT_END_ANSWER);
    assert_str(r.text, "It says forty-two.");
    assert_int_equal(r.spent.calls, 2);
    assert_int_equal(r.spent.tools, 1);
    assert_int_equal(r.spent.input_tokens, 200);
    assert_int_equal(r.spent.output_tokens, 20);
    kit_close();
}

static void a_model_that_is_down_is_asked_again(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Say hello");
    kit_fails(503, "{\"error\":{\"message\":\"Service unavailable\"}}");
    kit_waits(1000);
    kit_fails(503, "{\"error\":{\"message\":\"Service unavailable\"}}");
    kit_waits(2000);
    kit_says("hello");
    agent_result r = kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER);
    assert_int_equal(r.spent.failures, 2);
    assert_int_equal(r.spent.waited, 3000);
    assert_true(kit_told("retry_scheduled") && kit_told("error_recovery_success"));
    kit_close();

    kit_open(&s, "Say hello"); /* and not for ever */
    for (int i = 0; i < 3; i++) {
        kit_fails(503, "{\"error\":{\"message\":\"Service unavailable\"}}");
        if (i < 2)
            kit_waits(i ? 2000 : 1000);
    }
    r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
    assert_has(r.text, "ERROR REPORT");
    assert_has(r.text, "Retry attempts: 2");
    assert_has(r.text, "structured report above"); /* nobody is there to explain it */
    kit_close();
}

static void a_refused_key_is_not_tried_again(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    s.second = S("small");
    kit_open(&s, "Say hello");
    kit_fails(401, "{\"error\":{\"message\":\"Incorrect API key provided: sk-proj-a8Kd93jSl20fmZp41QxT77bVc\"}}");
    agent_act x = kit_model(); /* who explains it is not who failed */
    assert_int_equal(x.purpose, AGENT_FOR_ANALYSIS);
    assert_str(x.model, "small");
    assert_has(x.body, "Say hello");
    assert_lacks(x.body, "a8Kd93");
    assert_int_equal(x.total, 30000);
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "The key is wrong.", NULL, NULL, 9), at(2));
    agent_result r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
    assert_has(r.text, "**Analysis:** The key is wrong.");
    assert_lacks(r.text, "a8Kd93");
    assert_int_equal(r.failure.kind, DARUMA_AUTH);
    kit_close();

    kit_open(&s, "Say hello"); /* it does not wait for the explanation for ever */
    kit_fails(401, "{\"error\":{\"message\":\"Incorrect API key\"}}");
    kit_model();
    agent_clock(kit_agent, at(20000));
    assert_int_equal(kit_next().what, AGENT_DO_NOTHING);
    agent_clock(kit_agent, at(30001));
    assert_has(kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR).text, "structured report above");
    kit_close();
}

static void what_a_tool_says_may_pass_is_repeated_where_that_is_safe(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Read it");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: connection timed out", 0);
    kit_waits(1000);
    kit_gives("fs.read", "Error: connection timed out", 0);
    kit_waits(2000);
    kit_gives("fs.read", "fine", 1);
    kit_says("done");
    agent_result r = kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER);
    assert_int_equal(r.spent.tools, 3);
    kit_close();

    kit_open(&s, "Pay it"); /* what has effects is the model's to decide */
    kit_calls("pay", "{\"sum\":5}");
    kit_gives("pay", "Error: connection timed out", 0);
    agent_act x = kit_model();
    assert_has(x.body, "timeout");
    kit_close();

    kit_open(&s, "Pay it"); /* what may have happened is said to be unknown */
    kit_calls("pay", "{\"sum\":5}");
    x = kit_tool("pay");
    agent_tool_done(kit_agent, x.call, S(""), -1, true, at(9));
    assert_has(kit_model().body, "unknown");
    kit_close();
}

static void failures_are_shown_as_blocks_and_too_many_go_to_a_person(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Pay it");
    for (int i = 0; i < 3; i++) {
        kit_calls("pay", "{\"sum\":5}");
        kit_gives("pay", "Error: invalid sum <b>5</b>", 0);
        if (i == 0) {
            agent_act x = kit_model();
            assert_has(x.body, "<error>");
            assert_has(x.body, "validation");
            agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":6}", 77),
                           at(++kit_now));
            kit_gives("pay", "Error: invalid sum <b>6</b>", 0);
            i++;
        }
    }
    agent_result r = kit_end(DARUMA_OUTCOME_ESCALATED, AGENT_END_ESCALATED);
    assert_has(r.reason, "pay");
    assert_has(r.last_error, "invalid sum");
    assert_has(r.history, "<error>");
    assert_true(agent_resume(kit_agent, S("The sum is 7."), at(++kit_now)));
    agent_act x = kit_model();
    assert_has(x.body, "The sum is 7.");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":7}", 78), at(++kit_now));
    kit_gives("pay", "paid", 1);
    kit_says("Paid.");
    r = kit_end(DARUMA_OUTCOME_OK, AGENT_END_ANSWER);
    assert_false(agent_resume(kit_agent, S("more"), at(++kit_now)));
    kit_close();
}

/* Pays until a person is asked: nobody ever knows whether it happened. */
static void lost_until_escalated(void)
{
    for (int i = 0; i < 12; i++) {
        agent_act x = kit_next();
        while (x.what == AGENT_DO_MODEL) {
            agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":5}", i),
                           at(++kit_now));
            x = kit_next();
        }
        if (x.what == AGENT_DO_FINISH)
            break;
        agent_tool_done(kit_agent, x.call, S(""), -1, true, at(++kit_now));
    }
    kit_end(DARUMA_OUTCOME_ESCALATED, AGENT_END_ESCALATED);
}

static void a_person_who_said_how_to_go_on_is_asked_again(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Pay it");
    lost_until_escalated();
    for (int times = 0; times < 4; times++) {
        assert_true(agent_resume(kit_agent, S("go on"), at(++kit_now)));
        lost_until_escalated();
    }
    kit_close();
}

static void a_wrong_call_is_told_and_not_made(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Read it");
    kit_calls("fs.raed", "{\"path\":\"a\"}");
    agent_act x = kit_model();
    assert_has(x.body, "fs");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "fs.read", "{\"file\":1}", 5), at(++kit_now));
    x = kit_model();
    assert_has(x.body, "path");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "fs.read", "{\"path\":\"a\",}", 6),
                   at(++kit_now));
    x = kit_tool("fs.read"); /* nearly JSON is mended */
    assert_true(json_valid(x.args));
    agent_tool_done(kit_agent, x.call, S("A"), 1, false, at(++kit_now));
    kit_model();
    assert_int_equal(agent_result_of(kit_agent).outcome, DARUMA_OUTCOME_PENDING);
    kit_close();
}

static void a_failure_that_was_overcome_is_hidden(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Pay it");
    kit_calls("pay", "{\"sum\":5}");
    kit_gives("pay", "Error: the till is locked", 0);
    agent_act x1 = kit_model();
    assert_has(x1.body, "the till is locked");
    agent_answered(kit_agent, x1.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":5}", 8), at(9));
    kit_gives("pay", "paid", 1);
    agent_act x = kit_model();
    assert_lacks(x.body, "the till is locked");
    assert_has(x.body, "worked later");
    const agent_step *steps = kit_agent->steps;
    assert_has(steps[0].observation, "the till is locked"); /* the record keeps it */
    kit_close();
}

static void a_path_is_completed_from_what_tools_printed(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Read it");
    kit_calls("fs.read", "{\"path\":\"list\"}");
    kit_gives("fs.read", "packages/core/src/progress.ts:50: class Progress\n./lib/other.ts:1: x\nlib/two.ts a/two.ts",
              1);
    kit_calls("fs.read", "{\"path\":\"progress.ts\"}");
    kit_gives("fs.read", "Error: ENOENT: no such file", 0);
    agent_act x = kit_tool("fs.read"); /* no model is asked */
    assert_str(x.args, "{\"path\":\"packages/core/src/progress.ts\"}");
    agent_tool_done(kit_agent, x.call, S("class Progress {}"), 1, false, at(++kit_now));
    x = kit_model();
    assert_has(x.body, "[`progress.ts` does not exist; this is `packages/core/src/progress.ts`.");
    assert_has(x.body, "class Progress {}");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "fs.read", "{\"path\":\"other.ts\"}", 41),
                   at(++kit_now));
    kit_gives("fs.read", "Error: ENOENT: no such file", 0);
    x = kit_tool("fs.read");
    assert_str(x.args, "{\"path\":\"lib/other.ts\"}");
    agent_tool_done(kit_agent, x.call, S("Error: ENOENT: no such file"), 0, false,
                    at(++kit_now)); /* it is gone: once */
    x = kit_model();
    assert_has(x.body, "no such file");
    static const char *const not [] = {"two.ts",     "rogress.ts",   "progress.t",
                                       "nowhere.ts", "/progress.ts", "class Progress"};
    for (size_t i = 0; i < COUNT(not ); i++) { /* two candidates, half a name, none, absolute, words */
        char args[100];
        snprintf(args, sizeof args, "{\"path\":\"%s\"}", not [i]);
        kit_close();
        kit_open(&s, "Read it");
        kit_calls("fs.read", "{\"path\":\"list\"}");
        kit_gives("fs.read", "packages/core/src/progress.ts:50: class Progress\nlib/two.ts a/two.ts", 1);
        kit_calls("fs.read", args);
        kit_gives("fs.read", "Error: ENOENT: no such file", 0);
        kit_model();
    }
    kit_close();
}

/* Reads the same file until it asks for a strategy; then the model says `strategy`. */
static void go_round(const agent_setup *s, const char *strategy)
{
    kit_open(s, "Read it");
    for (int i = 0; i < 40; i++) {
        agent_act x = kit_next();
        if (x.what == AGENT_DO_MODEL && x.purpose == AGENT_FOR_STRATEGY) {
            assert_has(x.body, "Read it");
            agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, strategy, NULL, NULL, 900), at(++kit_now));
            return;
        }
        if (x.what == AGENT_DO_TOOL)
            agent_tool_done(kit_agent, x.call, S("the same"), 1, false, at(++kit_now));
        else if (x.what == AGENT_DO_MODEL)
            agent_answered(kit_agent, x.call,
                           kit_answer(&dialect_openai, NULL, "fs.read", "{\"path\":\"a\"}", ++kit_ids), at(++kit_now));
        else
            break;
    }
    fail_msg("no other way was looked for");
}

static void another_way_is_done_asked_about_or_handed_over(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    s.limits = (agent_limits){.steps = 60};
    go_round(&s, WAY("parameter-adjustment", "fs.read", "{\"path\":\"b\"}", "0.9"));
    agent_act x = kit_tool("fs.read"); /* sure enough, checked, harmless: done */
    assert_str(x.args, "{\"path\":\"b\"}");
    assert_true(kit_told("recovery_strategy_generated"));
    agent_tool_done(kit_agent, x.call, S("something new"), 1, false, at(++kit_now));
    assert_has(kit_model().body, "something new");
    kit_close();

    go_round(&s, WAY("parameter-adjustment", "fs.read", "{\"path\":\"b\"}", "0.6"));
    x = kit_next();
    assert_int_equal(x.what, AGENT_DO_ASK);
    assert_has(x.text, "because");
    agent_person(kit_agent, x.call, AGENT_ALLOWED, (daruma_str){0}, at(++kit_now));
    kit_tool("fs.read");
    kit_close();

    go_round(&s, WAY("parameter-adjustment", "fs.read", "{\"path\":\"b\"}", "0.6"));
    x = kit_next();
    agent_person(kit_agent, x.call, AGENT_DENIED, S("Look into c instead."), at(++kit_now));
    assert_has(kit_model().body, "Look into c instead.");
    kit_close();

    go_round(&s, WAY("escalate", "", "{}", "0.9"));
    agent_result r = kit_end(DARUMA_OUTCOME_ESCALATED, AGENT_END_ESCALATED);
    assert_has(r.reason, "Which file?");
    kit_close();

    go_round(&s, "no JSON at all"); /* what is guessed is no reason to stop */
    assert_int_equal(kit_model().purpose, AGENT_FOR_STEP);
    kit_close();

    agent_policy log = agent_policy_default;
    log.strategies = AGENT_STRATEGIES_LOG;
    s.policy = &log;
    go_round(&s, WAY("parameter-adjustment", "fs.read", "{\"path\":\"b\"}", "0.9"));
    assert_int_equal(kit_model().purpose, AGENT_FOR_STEP); /* written down, not done */
    assert_true(kit_told("recovery_strategy_generated"));
    kit_close();
}

static void agents_work_for_agents(void **state)
{
    (void)state;
    const daruma_str lineage[] = {LIT("boss")};
    agent_tool tools[] = {kit_tools[0], kit_tools[0], kit_tools[0]};
    tools[1].about.name = S("helper");
    tools[2].about.name = S("boss");
    tools[1].delegates = tools[2].delegates = true;
    agent_setup s = kit_setup();
    s.tools = tools;
    s.ntools = 3;
    s.lineage = lineage;
    s.nlineage = 1;
    s.limits = (agent_limits){.steps = 9, .calls = 20, .tokens = 1000};
    kit_open(&s, "Do it");
    kit_calls("boss", "{\"path\":\"x\"}"); /* who waits for this one */
    assert_has(kit_model().body, "circular delegation");
    kit_close();

    kit_open(&s, "Do it");
    kit_calls("helper", "{\"path\":\"x\"}");
    agent_act x = kit_tool("helper");
    assert_true(x.about->delegates);
    agent_limits left = agent_limits_left(kit_agent, at(5));
    assert_int_equal(left.calls, 19);
    assert_int_equal(left.steps, 7); /* one stays for the answer */
    assert_int_equal(left.tokens, 890);
    agent_result child = {
        .outcome = DARUMA_OUTCOME_EXPLAINED,
        .end = AGENT_END_ERROR,
        .text = S("I am sorry, says the child"),
        .failure = {.kind = DARUMA_AUTH, .severity = DARUMA_CRITICAL, .operation = S("big"), .message = S("bad key")},
        .spent = {.steps = 3, .calls = 4, .input_tokens = 300, .waited = 70}};
    agent_delegated(kit_agent, x.call, S("helper"), &child, at(6));
    assert_int_equal(kit_agent->spent.waited, 70);
    assert_true(agent_may_delegate(kit_agent));
    assert_int_equal(agent_limits_left(kit_agent, at(6)).steps, 4);
    x = kit_model();
    assert_has(x.body, "bad key");
    assert_lacks(x.body, "I am sorry"); /* a failure is no answer */
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "helper", "{\"path\":\"y\"}", 42),
                   at(++kit_now));
    x = kit_tool("helper");
    child = (agent_result){.outcome = DARUMA_OUTCOME_OK, .end = AGENT_END_ANSWER, .text = S("the answer is 5")};
    agent_delegated(kit_agent, x.call, S("helper"), &child, at(7));
    assert_has(kit_model().body, "the answer is 5");
    const agent_step *steps = kit_agent->steps;
    assert_true(json_valid(steps[0].observation));
    assert_str(json_text(json_get(steps[0].observation, S("error_class")), &kit_room), "auth");
    kit_close();

    s.limits.calls = 4; /* one budget for the tree */
    kit_open(&s, "Do it");
    kit_calls("helper", "{\"path\":\"x\"}");
    x = kit_tool("helper");
    child.spent = (agent_spent){.calls = 4};
    agent_delegated(kit_agent, x.call, S("helper"), &child, at(6));
    assert_int_equal(kit_end(DARUMA_OUTCOME_DEGRADED, AGENT_END_LIMIT).limit, AGENT_LIMIT_CALLS);
    kit_close();
}

/* ---- effects ---- */

static void a_look_that_finds_nothing_is_a_look(void **state)
{
    static const struct {
        const char *tool, *result;
        bool looked;
    } rows[] = {{"fs.read", "FILE_NOT_FOUND: `bills.txt` does not exist (ENOENT)", true},
                {"fs.read", "PERMISSION_DENIED: `bills.txt` may not be opened", false},
                {"fs.read", "paid: nothing", true}};
    agent_setup s = kit_setup();
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        kit_open(&s, "Pay the bill");
        kit_calls("pay", "{\"sum\":3}");
        agent_act x = kit_tool("pay");
        agent_tool_done(kit_agent, x.call, (daruma_str){0}, 0, true, at(++kit_now)); /* nobody knows what came of it */
        kit_calls(rows[i].tool, "{\"path\":\"bills.txt\"}");
        kit_gives(rows[i].tool, rows[i].result, i == 2);
        kit_calls("pay", "{\"sum\":3}");
        x = kit_next();
        assert_int_equal(x.what, rows[i].looked ? AGENT_DO_TOOL : AGENT_DO_MODEL);
        if (!rows[i].looked)
            assert_has(x.body, "held back");
        kit_close();
    }
}

/* ---- a long run ---- */

enum { LONG_STEPS = 3000 };

/* Bytes that the agent holds: what it keeps, its steps, and the newest question. */
static size_t held(void)
{
    return sys_arena_bytes(&kit_agent->keep) + sys_arena_bytes(&kit_agent->texts) + kit_agent->steps_bytes +
           kit_agent->written.cap;
}

static void a_long_run_keeps_its_conversation_and_little_beside_it(void **state)
{
    size_t bytes[4] = {0}, asked[4] = {0};
    agent_setup s = kit_setup();
    (void)state;
    s.limits = (agent_limits){0};
    kit_open(&s, "Read all of it");
    for (int i = 0; i < LONG_STEPS; i++) {
        char args[64], result[64];
        kit_room = arena_over(kit_bytes, sizeof kit_bytes);
        if (i % (LONG_STEPS / 3) == 0)
            bytes[i / (LONG_STEPS / 3)] = held();
        snprintf(args, sizeof args, "{\"path\":\"file-%d.txt\"}", i);
        snprintf(result, sizeof result, "content %d of file %d", i * 7919, i);
        agent_act x = kit_model();
        if (i % (LONG_STEPS / 3) == 0)
            asked[i / (LONG_STEPS / 3)] = x.body.n;
        agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "fs.read", args, i), at(++kit_now));
        kit_gives("fs.read", result, 1);
    }
    bytes[3] = held();
    asked[3] = kit_model().body.n;
    for (int k = 0; k < 3; k++) { /* the newest question and each step as it was, both with a quarter to spare */
        size_t grew = asked[k + 1] - asked[k], records = LONG_STEPS / 3 * sizeof(agent_step);
        assert_in_range(bytes[k + 1] - bytes[k], grew, 2 * grew + 2 * records);
    }
    kit_close();
}

/* One step of a run that reads file after file; the request that it began with. */
static daruma_str read_next(int i)
{
    char args[64], result[64];
    kit_room = arena_over(kit_bytes, sizeof kit_bytes);
    snprintf(args, sizeof args, "{\"path\":\"file-%d.txt\"}", i);
    snprintf(result, sizeof result, "content %d of file %d", i * 7919, i);
    agent_act x = kit_model();
    daruma_str body = arena_copy(&kit_room, x.body);
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, i % 50 ? NULL : "on I go", "fs.read", args, i),
                   at(++kit_now));
    kit_gives("fs.read", result, 1);
    return body;
}

static void beyond_its_window_a_run_is_flat(void **state)
{
    enum { WINDOW = 16000, N = 500, HOLES = 4096 };
    size_t most[4] = {0}, largest = 0;
    agent_setup s = kit_setup();
    (void)state;
    s.limits = (agent_limits){0};
    s.window = WINDOW;
    kit_open(&s, "Read all of it");
    for (int i = 0; i < 4 * N; i++) {
        daruma_str body = read_next(i);
        largest = body.n > largest ? body.n : largest;
        most[i / N] = held() > most[i / N] ? held() : most[i / N];
        assert_true(text_tokens(body) <= WINDOW / 4 * 3);
        if (i % 100 == 0) {
            convo c;
            assert_int_equal(dialect_openai.read(body, &kit_room, &c), DARUMA_OK);
            assert_false(kit_pairs_broken(&c));
        }
    }
    assert_true(kit_told("steps_left_out"));
    assert_true(largest > 3 * WINDOW / 2);
    assert_in_range(most[3], 0, most[0] + HOLES); /* so many more steps, and nothing more is held */
    agent_act x = kit_model();
    assert_has(x.body, "file-1999.txt");
    assert_has(x.body, "steps are left out here. Called were fs_read ");
    assert_has(x.body, "The last that you said then: on I go");
    kit_close();
}

/* Nobody knows whether they had their effect: they are told at the end, however long ago they were made. */
static void open_calls_stay_when_old_steps_leave(void **state)
{
    agent_setup s = kit_setup();
    (void)state;
    s.limits = (agent_limits){0};
    s.window = 4000;
    for (int looks = 0; looks < 2; looks++) {
        kit_open(&s, "Pay the bill");
        kit_calls("pay", "{\"sum\":3}");
        agent_act x = kit_tool("pay");
        agent_tool_done(kit_agent, x.call, (daruma_str){0}, 0, true, at(++kit_now));
        for (int i = 0; looks && i < 300; i++)
            read_next(i);
        assert_int_equal(kit_told("steps_left_out"), looks);
        x = kit_model();
        assert_has(x.body, "\\\"sum\\\":3");
        agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":3}", ++kit_ids),
                       at(++kit_now));
        x = kit_next(); /* it was looked at something since, or it is held back */
        assert_int_equal(x.what, looks ? AGENT_DO_TOOL : AGENT_DO_MODEL);
        agent_cancel(kit_agent, at(++kit_now));
        assert_has(agent_result_of(kit_agent).text, "Whether the call of pay");
        kit_close();
    }
}

/* ---- whatever happens ---- */

enum { WORLDS = 4000, ACTS_MAX = 400 };
static uint64_t dice;

static uint32_t roll(uint32_t n)
{
    uint64_t z = (dice += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % n);
}

static const dialect *const wires[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};

static daruma_str random_answer(const dialect *d)
{
    static const char *const garbage[] = {
        "", "{", "[]", "null", "{\"error\":{\"message\":\"input is too long\"}}", "{\"choices\":[]}", "\xff\xfe"};
    static const char *const args[] = {
        "{\"path\":\"a\"}", "{\"path\":\"b\"}", "{\"path\":1}", "{\"path\":", "{}", "[1]"};
    static const char *const says[] = {"fine",
                                       WAY("parameter-adjustment", "fs.read", "{\"path\":\"b\"}", "0.9"),
                                       WAY("retry", "pay", "{\"sum\":1}", "0.6"),
                                       WAY("escalate", "", "{}", "0.9"),
                                       WAY("give-up", "", "{}", "0.9"),
                                       "{\"tools\":[\"fs.read\",\"pay\"]}",
                                       "{\"tools\":[]}",
                                       "{\"steps\":[{\"key\":\"a\",\"tool\":\"fs.read\",\"objective\":\"read\"}]}",
                                       "{\"steps\":[{\"tool\":\"fly\",\"objective\":\"x\"}]}",
                                       "{\"steps\":[{\"tool\":\"pay\",\"inputs\":[\"nowhere\"]}]}",
                                       "```json\n{\"steps\":[]}\n```"};
    switch (roll(8)) {
    case 0:
        return str_of(garbage[roll(COUNT(garbage))]);
    case 1:
    case 2:
    case 3:
        return kit_answer(d, roll(2) ? "words" : NULL,
                          roll(4)   ? "fs.read"
                          : roll(2) ? "pay"
                                    : "fs.fly",
                          d == &dialect_anthropic || d == &dialect_gemini ? args[roll(3)] : args[roll(COUNT(args))],
                          (int)roll(5));
    default:
        return kit_answer(d, says[roll(COUNT(says))], NULL, NULL, (int)roll(100));
    }
}

/* A request as the wire reads it holds each call with its result. */
static void check_request(const dialect *d, agent_act x)
{
    convo c = {0};
    assert_true(json_valid(x.body));
    assert_int_equal(d->read(x.body, &kit_room, &c), DARUMA_OK);
    if (kit_pairs_broken(&c))
        fail_msg("%s: " STR_FMT, d->name, STR_ARG(x.body));
}

static void random_outcome(const agent_setup *s, agent_act x)
{
    static const char *const results[] = {
        "", "fine", "Error: connection timed out", "Error: not found", "{\"error\":\"busy\"}", "\xff\xfe<error>"};
    static const int statuses[] = {0, 400, 401, 404, 413, 429, 500, 503, 529};
    static const char *const bodies[] = {"", "{\"error\":{\"message\":\"prompt is too long\"}}",
                                         "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"x\"}}",
                                         "<html>"};
    kit_now += roll(50);
    switch (x.what) {
    case AGENT_DO_MODEL:
        check_request(s->d, x);
        if (roll(5)) {
            agent_answered(kit_agent, x.call, random_answer(s->d), at(kit_now));
        } else {
            daruma_evidence ev = {.phase = DARUMA_AT_HEAD,
                                  .status = statuses[roll(COUNT(statuses))],
                                  .body = str_of(bodies[roll(COUNT(bodies))]),
                                  .took = -1};
            if (!ev.status)
                ev.net = DARUMA_NET_RESET;
            agent_failed(kit_agent, x.call, &ev, at(kit_now));
        }
        break;
    case AGENT_DO_TOOL:
        agent_tool_done(kit_agent, x.call, str_of(results[roll(COUNT(results))]), (int)roll(3) - 1, roll(12) == 0,
                        at(kit_now));
        break;
    case AGENT_DO_ASK:
        agent_person(kit_agent, x.call, (agent_reply)roll(4), roll(2) ? S("no") : (daruma_str){0}, at(kit_now));
        break;
    case AGENT_DO_WAIT:
        kit_now = x.until;
        agent_clock(kit_agent, at(kit_now));
        break;
    default:
        fail_msg("nothing is out and the run is not over");
    }
    if (roll(200) == 0)
        agent_cancel(kit_agent, at(kit_now));
}

/* One run; a hash of all it asked for. */
static uint64_t run_world(uint64_t seed, bool *ret_resumed)
{
    uint64_t hash = 14695981039346656037u;
    agent_tool tools[] = {kit_tools[0], kit_tools[1]};
    dice = seed;
    tools[1].ask = roll(2);
    agent_setup s = kit_setup();
    s.tools = tools;
    s.d = wires[roll(COUNT(wires))];
    s.mode = roll(2) ? AGENT_PLANNED : AGENT_REACTIVE;
    s.window = roll(3) ? 0 : 500 + roll(2000);
    s.second = roll(2) ? S("small") : (daruma_str){0};
    s.limits =
        (agent_limits){.steps = 1 + roll(20), .calls = roll(60), .tools = roll(20), .tokens = roll(2) ? 0 : 5000};
    kit_open(&s, "the task");
    int acts = 0;
    daruma_outcome end = DARUMA_OUTCOME_PENDING;
    for (;;) {
        agent_act x = kit_next();
        daruma_str all[] = {x.model, x.body, x.tool, x.args, x.text};
        for (size_t i = 0; i < COUNT(all); i++)
            for (size_t k = 0; k < all[i].n; k++)
                hash = (hash ^ (unsigned char)all[i].p[k]) * 1099511628211u;
        hash = (hash ^ (uint64_t)x.what) * 1099511628211u;
        assert_true(++acts < ACTS_MAX);
        if (x.what == AGENT_DO_FINISH) {
            agent_result r = agent_result_of(kit_agent);
            assert_int_not_equal(r.outcome, DARUMA_OUTCOME_PENDING);
            assert_int_not_equal(r.end, AGENT_END_NOT);
            assert_true(s.limits.tools == 0 || r.spent.tools <= s.limits.tools);
            assert_true(s.limits.calls == 0 || r.spent.calls <= s.limits.calls + 1); /* and who explains it */
            end = r.outcome;
            if (end != DARUMA_OUTCOME_ESCALATED || *ret_resumed || roll(2) == 0)
                break;
            *ret_resumed = true;
            assert_true(agent_resume(kit_agent, S("go on"), at(kit_now)));
            continue;
        }
        random_outcome(&s, x);
    }
    kit_close();
    return hash ^ (uint64_t)end;
}

static void every_run_ends_and_the_same_inputs_give_the_same_acts(void **state)
{
    (void)state;
    const char *often = getenv("WORLDS");
    int64_t worlds = WORLDS;
    if (often)
        str_int(str_of(often), &worlds);
    for (int64_t i = 0; i < worlds; i++) {
        bool first = false, second = false;
        uint64_t was = run_world((uint64_t)i, &first);
        if (i % 4 == 0 && was != run_world((uint64_t)i, &second))
            fail_msg("world %d differs when it is run again", (int)i);
    }
}

static void an_empty_answer_is_asked_for_again(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    kit_open(&s, "Say hello");
    kit_says("");
    agent_act x = kit_model();
    assert_has(x.body, "empty");
    agent_answered(kit_agent, x.call, S("{]"), at(5));
    kit_says("hello");
    kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER);
    assert_true(kit_told("planner_repair_attempt"));
    kit_close();
    kit_open(&s, "Say hello");
    for (int i = 0; i < 4; i++)
        kit_says("");
    assert_int_equal(kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR).failure.kind, DARUMA_MALFORMED_OUTPUT);
    kit_close();
}

static void limits_end_with_what_there_is(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    s.limits = (agent_limits){.steps = 3};
    kit_open(&s, "Read all");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "AAA", 1);
    kit_calls("fs.read", "{\"path\":\"b\"}");
    kit_gives("fs.read", "BBB", 1);
    agent_act x = kit_model(); /* the last one: it is told so, and offered no tool */
    assert_has(x.body, "This is the last step");
    assert_has(x.body, "\"none\"");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "a is AAA; of c I know nothing", NULL, NULL, 4),
                   at(9));
    agent_result r = kit_end(DARUMA_OUTCOME_DEGRADED, AGENT_END_LIMIT);
    assert_int_equal(r.limit, AGENT_LIMIT_STEPS);
    assert_str(r.text, "a is AAA; of c I know nothing");
    kit_close();

    kit_open(&s, "Read all"); /* a model that calls all the same */
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "AAA", 1);
    kit_calls("fs.read", "{\"path\":\"b\"}");
    kit_gives("fs.read", "BBB", 1);
    kit_calls("fs.read", "{\"path\":\"c\"}");
    r = kit_end(DARUMA_OUTCOME_DEGRADED, AGENT_END_LIMIT);
    assert_has(r.text, "The task is not finished");
    assert_has(r.text, "BBB");
    kit_close();

    const struct {
        agent_limits l;
        agent_limit is;
    } rows[] = {{{.tokens = 100}, AGENT_LIMIT_TOKENS},
                {{.money = 1, .price_input = 10000}, AGENT_LIMIT_MONEY},
                {{.time = 2}, AGENT_LIMIT_TIME},
                {{.calls = 1}, AGENT_LIMIT_CALLS}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        s.limits = rows[i].l;
        kit_open(&s, "Read all");
        kit_calls("fs.read", "{\"path\":\"a\"}");
        if (rows[i].is == AGENT_LIMIT_TIME || rows[i].is == AGENT_LIMIT_CALLS) {
            agent_act t = kit_tool("fs.read");
            agent_tool_done(kit_agent, t.call, S("AAA"), 1, false, at(++kit_now));
        }
        r = kit_end(DARUMA_OUTCOME_DEGRADED, AGENT_END_LIMIT);
        assert_string_equal(agent_limit_name(r.limit), agent_limit_name(rows[i].is));
        assert_has(r.text, agent_limit_words(rows[i].is));
        kit_close();
    }

    s.limits = (agent_limits){.tools = 1};
    kit_open(&s, "Read all");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "AAA", 1);
    assert_has(kit_model().body, "This is the last step");
    kit_close();

    s.limits = (agent_limits){.time = 100};
    kit_open(&s, "Read all"); /* while a call is out */
    assert_int_equal(kit_model().total, 100);
    agent_clock(kit_agent, at(100));
    kit_end(DARUMA_OUTCOME_DEGRADED, AGENT_END_LIMIT);
    kit_close();
}

static void a_circle_is_told_and_then_stopped(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    s.limits = (agent_limits){.steps = 60};
    kit_open(&s, "Read it");
    int calls = 0;
    bool told = false;
    for (agent_act x = kit_next(); x.what != AGENT_DO_FINISH; x = kit_next()) {
        if (x.what == AGENT_DO_TOOL) {
            calls++;
            agent_tool_done(kit_agent, x.call, S("the same"), 1, false, at(++kit_now));
        } else {
            told |= str_find(x.body, S("the same call")) != STR_NONE || kit_told("loop_detected");
            agent_answered(kit_agent, x.call,
                           kit_answer(&dialect_openai, NULL, "fs.read", "{\"path\":\"a\"}", ++kit_ids), at(++kit_now));
        }
    }
    agent_result r = agent_result_of(kit_agent);
    assert_true(told);
    assert_int_equal(r.outcome, DARUMA_OUTCOME_DEGRADED);
    assert_true(calls < 30);
    kit_close();
}

static void a_person_is_asked_once(void **state)
{
    (void)state;
    agent_tool tools[] = {kit_tools[0], kit_tools[1]};
    tools[1].ask = true;
    agent_setup s = kit_setup();
    s.tools = tools;
    kit_open(&s, "Pay it");
    kit_calls("pay", "{\"sum\":5}");
    agent_act x = kit_next();
    assert_int_equal(x.what, AGENT_DO_ASK);
    assert_has(x.text, "pay");
    agent_person(kit_agent, x.call, AGENT_ALLOWED, (daruma_str){0}, at(5));
    kit_gives("pay", "paid", 1);
    kit_calls("pay", "{\"sum\":5}");
    kit_gives("pay", "paid", 1); /* not asked again */
    kit_calls("pay", "{\"sum\":6}");
    x = kit_next();
    assert_int_equal(x.what, AGENT_DO_ASK);
    agent_person(kit_agent, x.call, AGENT_DENIED, S("too much"), at(6));
    assert_has(kit_model().body, "too much");
    kit_close();
    kit_open(&s, "Pay it");
    kit_calls("pay", "{\"sum\":5}");
    x = kit_next();
    agent_person(kit_agent, x.call, AGENT_INTERRUPTED, (daruma_str){0}, at(5));
    kit_end(DARUMA_OUTCOME_CANCELLED_, AGENT_END_CANCELLED);
    kit_close();
    kit_open(&s, "Pay it");
    kit_calls("pay", "{\"sum\":5}");
    x = kit_next();
    agent_person(kit_agent, x.call, AGENT_EXPIRED, (daruma_str){0}, at(5));
    assert_has(kit_model().body, "nobody answered in time");
    kit_close();
}

/* What is appended to the last question is what would be written anew, byte for byte, in each dialect: after successes,
 * failures, and failures that are resolved later. */
static void a_question_that_grew_is_the_one_written_anew(void **state)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    (void)state;
    for (size_t k = 0; k < COUNT(all); k++) {
        agent_setup s = kit_setup();
        size_t grew = 0;
        s.d = all[k];
        s.limits.steps = 60;
        kit_open(&s, "Read \"all\" of it");
        for (int i = 0; i < 40; i++) {
            agent_act x = kit_next();
            if (x.what == AGENT_DO_TOOL) {
                bool fails = i % 7 == 3;
                char words[64];
                snprintf(words, sizeof words, "some \"text\"\nof it, %d", i);
                daruma_str result = str_of(words);
                agent_tool_done(kit_agent, x.call, fails ? S("Error: invalid path") : result, fails ? 0 : 1, false,
                                at(++kit_now));
                continue;
            }
            assert_int_equal(x.what, AGENT_DO_MODEL);
            if (x.purpose == AGENT_FOR_STEP) {
                daruma_buf anew = buf_in(&kit_room);
                assert_true(question_anew(kit_agent, &anew));
                assert_int_equal(anew.n, x.body.n);
                assert_memory_equal(anew.p, x.body.p, anew.n);
                assert_true(json_valid(x.body));
                grew += x.body.p == kit_agent->written.p;
            }
            char args[64];
            snprintf(args, sizeof args, "{\"path\":\"file-%d\"}", i % 9 == 4 ? i - 1 : i);
            agent_answered(kit_agent, x.call, kit_answer(s.d, i % 5 ? NULL : "now the next one", "fs.read", args, i),
                           at(++kit_now));
        }
        assert_true(grew > 5);
        kit_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_done_with_tools),
        cmocka_unit_test(a_model_that_is_down_is_asked_again),
        cmocka_unit_test(a_refused_key_is_not_tried_again),
        cmocka_unit_test(what_a_tool_says_may_pass_is_repeated_where_that_is_safe),
        cmocka_unit_test(failures_are_shown_as_blocks_and_too_many_go_to_a_person),
        cmocka_unit_test(a_person_who_said_how_to_go_on_is_asked_again),
        cmocka_unit_test(a_wrong_call_is_told_and_not_made),
        cmocka_unit_test(a_failure_that_was_overcome_is_hidden),
        cmocka_unit_test(a_path_is_completed_from_what_tools_printed),
        cmocka_unit_test(another_way_is_done_asked_about_or_handed_over),
        cmocka_unit_test(agents_work_for_agents),
        cmocka_unit_test(every_run_ends_and_the_same_inputs_give_the_same_acts),
        cmocka_unit_test(an_empty_answer_is_asked_for_again),
        cmocka_unit_test(limits_end_with_what_there_is),
        cmocka_unit_test(a_circle_is_told_and_then_stopped),
        cmocka_unit_test(a_person_is_asked_once),
        cmocka_unit_test(a_question_that_grew_is_the_one_written_anew),
        cmocka_unit_test(a_look_that_finds_nothing_is_a_look),
        cmocka_unit_test(a_long_run_keeps_its_conversation_and_little_beside_it),
        cmocka_unit_test(beyond_its_window_a_run_is_flat),
        cmocka_unit_test(open_calls_stay_when_old_steps_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
