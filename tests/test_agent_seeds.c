/* What the seeds do in an agent, by the ids of spec scenarios (O-T13, P-T4, ...), and where daruma's own policy does
 * better. */
#include "agent_kit.h"
#include "engine/agent/inside.h"
#include "engine/seeds/seeds.h"

/* ---- Osprey ---- */

static const agent_rule always_retriable[] = {{.severity = DARUMA_RETRIABLE, .user_message = LIT("Network issue")}};
static const agent_rule always_replanning[] = {
    {.words = LIT("no such channel"),
     .severity = DARUMA_REPLANNING,
     .metadata =
         LIT("{\"replanning_reason\":\"Missing required input data\",\"required_context\":[\"SENSOR_DATA\",\"TIME_"
             "RANGE\"],\"suggestions\":\"Ask the user\"}")}};
static const agent_rule always_other_tools[] = {{.severity = DARUMA_RECLASSIFICATION}};
static const agent_rule always_fatal[] = {{.severity = DARUMA_FATAL, .user_message = LIT("the disk is gone")}};

static agent_tool osprey_tools[1];

static agent_setup osprey(const char *profile, const char *variant, agent_mode mode, const agent_rule *rules)
{
    agent_setup s = kit_setup();
    osprey_tools[0] = kit_tools[0];
    osprey_tools[0].rules = rules;
    osprey_tools[0].nrules = rules ? 1 : 0;
    s.tools = osprey_tools;
    s.ntools = 1;
    s.mode = mode;
    s.policy = seed_agent(str_of(profile), str_of(variant));
    assert_non_null(s.policy);
    s.second = (daruma_str){0};
    return s;
}

#define PLAN "{\"steps\":[{\"key\":\"data\",\"tool\":\"fs.read\",\"objective\":\"read the channel\"}]}"

/* Up to the first call of the tool. */
static void plan_until_tool(void)
{
    kit_says("{\"tools\":[\"fs.read\"]}");
    kit_says(PLAN);
    kit_calls("fs.read", "{\"path\":\"a\"}");
}

static void osprey_retries_with_its_own_backoff(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey", "code", AGENT_PLANNED, always_retriable); /* O-T13 */
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    kit_waits(500);
    kit_gives("fs.read", "Error: x", 0);
    kit_waits(750);
    kit_gives("fs.read", "Error: x", 0);
    kit_model(); /* the analysis: the model did not fail */
    agent_clock(kit_agent, at(kit_now + 30000));
    agent_result r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
    assert_has(r.text, "Retry attempts: 3");
    assert_has(r.text, "**Error Severity:** RETRIABLE");
    assert_has(r.text, "**Capability:** fs.read");
    assert_has(r.text, "**User Message:** Network issue");
    assert_has(r.text, "Step 1: read the channel - Failed");
    kit_close();

    s = osprey("osprey", "doc", AGENT_PLANNED, always_retriable);
    kit_open(&s, "Fetch data");
    plan_until_tool();
    static const daruma_ms waits[] = {1000, 1500, 2250};
    for (int i = 0; i < 4; i++) {
        kit_gives("fs.read", "Error: x", 0);
        if (i < 3)
            kit_waits(waits[i]);
    }
    kit_model();
    agent_clock(kit_agent, at(kit_now + 30000));
    r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
    assert_has(r.text, "**Error Type:** TOOL_ERROR");
    assert_has(r.text, "Retry attempts: 3");
    kit_close();
}

static void a_tool_has_a_policy_of_its_own(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey", "code", AGENT_PLANNED, always_retriable);
    osprey_tools[0].retry = (agent_retry){.attempts = 2, .delay = 2000, .factor_milli = 2000};
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    kit_waits(2000);
    kit_gives("fs.read", "fine", 1); /* and it goes on where it was */
    kit_says("the data");
    kit_says("It is fine.");
    assert_str(kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER).text, "It is fine.");
    kit_close();
}

static void osprey_plans_once_more_and_chooses_once_more(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey", "code", AGENT_PLANNED, always_replanning);
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: no such channel", 0);
    agent_act x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_PLAN);
    assert_has(x.body, "REPLANNING CONTEXT");
    assert_has(x.body, "**Replanning Reason:** Missing required input data");
    assert_has(x.body, "**Required Context:** SENSOR_DATA, TIME_RANGE");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, PLAN, NULL, NULL, 5), at(++kit_now));
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: no such channel", 0);
    x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_ANALYSIS); /* 2 plans, then the error node */
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "", NULL, NULL, 5), at(++kit_now));
    agent_result r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
    assert_int_equal(r.spent.replans, 1);
    kit_close();

    s = osprey("osprey", "code", AGENT_PLANNED, always_other_tools);
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_CLASSES);
    assert_has(x.body, "PREVIOUS FAILURE");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "[\"fs.read\"]", NULL, NULL, 5), at(++kit_now));
    kit_says(PLAN);
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: x", 0);
    assert_int_equal(kit_model().purpose, AGENT_FOR_ANALYSIS);
    agent_clock(kit_agent, at(kit_now + 30000));
    assert_int_equal(kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR).spent.reclassifications, 1);
    kit_close();
}

static void fatal_ends_at_once(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey", "doc", AGENT_PLANNED, always_fatal);
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    assert_str(kit_end(DARUMA_OUTCOME_FAILED, AGENT_END_FATAL).text, "the disk is gone");
    kit_close();
    s = osprey("osprey", "code", AGENT_PLANNED, always_fatal); /* O-W5: its code takes it for unknown */
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    assert_int_equal(kit_model().purpose, AGENT_FOR_ANALYSIS);
    kit_close();
    s = osprey("default", "", AGENT_PLANNED, always_fatal);
    kit_open(&s, "Fetch data");
    plan_until_tool();
    kit_gives("fs.read", "Error: x", 0);
    kit_end(DARUMA_OUTCOME_FAILED, AGENT_END_FATAL);
    kit_close();
}

static void osprey_reactive_shows_the_model_everything(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey-reactive", "", AGENT_REACTIVE, NULL); /* O-T8: unclassified is critical */
    kit_open(&s, "Fetch data");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: beam lost", 0);
    agent_act x = kit_model();
    assert_has(x.body, "ERROR in fs.read: ");
    assert_has(x.body, "Severity: critical");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "The beam is lost.", NULL, NULL, 5), at(++kit_now));
    kit_end(DARUMA_OUTCOME_OK, AGENT_END_ANSWER);
    kit_close();
    s = osprey("osprey-reactive", "", AGENT_REACTIVE, always_retriable); /* O-F19: without any delay */
    kit_open(&s, "Fetch data");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    for (int i = 0; i < 3; i++)
        kit_gives("fs.read", "Error: x", 0);
    assert_has(kit_model().body, "Severity: retriable");
    kit_close();
}

static void a_critical_tool_ends_with_a_report_and_default_lets_the_model_go_on(void **state)
{
    (void)state;
    agent_setup s = osprey("osprey", "code", AGENT_REACTIVE, NULL);
    kit_open(&s, "Fetch data");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: not found", 0);
    assert_int_equal(kit_model().purpose, AGENT_FOR_ANALYSIS);
    kit_close();
    s = osprey("default", "", AGENT_REACTIVE, NULL);
    kit_open(&s, "Fetch data");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", "Error: not found", 0);
    kit_says("There is no such file.");
    kit_end(DARUMA_OUTCOME_OK, AGENT_END_ANSWER);
    kit_close();
}

/* ---- plans (O-T12) ---- */

static agent_plan_verdict read_plan(const char *text, agent_plan *p, daruma_buf *why)
{
    static const bool usable[] = {true, false};
    kit_room = arena_over(kit_bytes, sizeof kit_bytes);
    *why = buf_in(&kit_room);
    return agent_plan_read(str_of(text), kit_tools, 2, usable, &kit_room, p, why);
}

static void plans_are_checked_before_they_run(void **state)
{
    (void)state;
    agent_plan p;
    daruma_buf why;
    assert_int_equal(read_plan("{\"steps\":[]}", &p, &why), AGENT_PLAN_GOOD);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.steps[0].tool.n, 0);
    assert_int_equal(read_plan(PLAN, &p, &why), AGENT_PLAN_GOOD);
    assert_int_equal(p.n, 2);
    assert_str(p.steps[1].inputs[0].from, "data");
    assert_int_equal(read_plan("```json\n[{\"tool\":\"clarify\",\"objective\":\"ask\"}]\n```", &p, &why),
                     AGENT_PLAN_GOOD);
    assert_int_equal(p.n, 1);
    assert_int_equal(read_plan("[{\"tool\":\"fly\",\"objective\":\"x\"}]", &p, &why), AGENT_PLAN_STRANGER);
    assert_has(buf_str(&why), "hallucinated");
    assert_int_equal(read_plan("[{\"tool\":\"pay\",\"objective\":\"x\"}]", &p, &why),
                     AGENT_PLAN_STRANGER); /* not chosen */
    assert_int_equal(read_plan("[{\"key\":\"step1\",\"tool\":\"fs.read\",\"objective\":\"x\"},"
                               "{\"tool\":\"fs.read\",\"objective\":\"y\",\"inputs\":{\"a\":\"unknown\"}}]",
                               &p, &why),
                     AGENT_PLAN_INPUT);
    assert_has(buf_str(&why), "step1");
    assert_int_equal(read_plan("[{\"tool\":\"fs.read\",\"objective\":\"x\",\"inputs\":[\"later\"]},"
                               "{\"key\":\"later\",\"tool\":\"fs.read\",\"objective\":\"y\"}]",
                               &p, &why),
                     AGENT_PLAN_INPUT);
    assert_has(buf_str(&why), "later");
    assert_int_equal(read_plan("[{\"key\":\"a\",\"tool\":\"fs.read\",\"objective\":\"x\"},"
                               "{\"key\":\"b\",\"tool\":\"fs.read\",\"objective\":\"y\",\"inputs\":\"a\"}]",
                               &p, &why),
                     AGENT_PLAN_UNREAD); /* a text is no list: the step would run without its input */
    assert_has(buf_str(&why), "the inputs of step \"b\"");
    assert_int_equal(read_plan("[{\"tool\":\"fs.read\",\"objective\":\"x\",\"inputs\":null}]", &p, &why),
                     AGENT_PLAN_GOOD);
    assert_int_equal(read_plan("[{\"tool\":\"fs.read\",\"objective\":\"x\",\"inputs\":\"\"}]", &p, &why),
                     AGENT_PLAN_GOOD);
    assert_int_equal(read_plan("I would first read it", &p, &why), AGENT_PLAN_UNREAD);
    assert_int_equal(read_plan("", &p, &why), AGENT_PLAN_UNREAD);
}

static void a_plan_that_cannot_be_read_is_asked_for_again(void **state)
{
    (void)state;
    agent_setup s = osprey("default", "", AGENT_PLANNED, NULL);
    kit_open(&s, "Fetch data");
    kit_says("{\"tools\":[\"fs.read\"]}");
    kit_says("I would first read it");
    agent_act x = kit_model();
    assert_has(x.body, "could not be used");
    agent_answered(kit_agent, x.call,
                   kit_answer(&dialect_openai, "[{\"tool\":\"fly\",\"objective\":\"x\"}]", NULL, NULL, 5),
                   at(++kit_now));
    x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_CLASSES); /* a tool that nobody chose: chosen again, once */
    assert_has(x.body, "hallucinated");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "[]", NULL, NULL, 5), at(++kit_now));
    kit_says("[{\"tool\":\"fly\",\"objective\":\"x\"}]");
    assert_int_equal(kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR).failure.kind, DARUMA_PLAN_INVALID);
    kit_close();
}

static void steps_of_a_plan_see_their_own_work_and_their_inputs(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    s.mode = AGENT_PLANNED;
    kit_open(&s, "Pay what a.txt says");
    kit_says("{\"tools\":[\"fs.read\",\"pay\"]}");
    kit_says("[{\"key\":\"bill\",\"tool\":\"fs.read\",\"objective\":\"read a.txt\"},"
             "{\"key\":\"paid\",\"tool\":\"pay\",\"objective\":\"pay it\",\"inputs\":{\"sum\":\"bill\"}}]");
    kit_calls("fs.read", "{\"path\":\"a.txt\"}");
    kit_gives("fs.read", "a long text that ends in 5", 1);
    kit_says("the sum is 5");
    agent_act x = kit_model();
    assert_lacks(x.body, "a long text");
    assert_lacks(x.body, "fs_read");
    assert_has(x.body, "Input sum:\\nthe sum is 5");
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, "pay", "{\"sum\":5}", 5), at(++kit_now));
    kit_gives("pay", "receipt 7", 1);
    kit_says("paid, receipt 7");
    kit_says("I paid 5, the receipt is 7.");
    assert_str(kit_end(DARUMA_OUTCOME_OK, AGENT_END_ANSWER).text, "I paid 5, the receipt is 7.");
    kit_close();
}

/* ---- the error node ---- */

static daruma_str report_text(const agent_report *r, agent_report_form form)
{
    static char room[16 << 10];
    daruma_buf b = buf_over(room, sizeof room);
    agent_report_write(r, form, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static void the_report_says_what_is_known(void **state)
{
    (void)state;
    const daruma_str good[] = {LIT("Step 1: look")}, bad[] = {LIT("Step 2: fetch - Failed")};
    agent_report r = {.wall = 1767225600,
                      .task = S("Fetch data"),
                      .tool = S("api_call"),
                      .operations = 5,
                      .retries = 2,
                      .took = 12340,
                      .failure = {.kind = DARUMA_TOOL_ERROR,
                                  .severity = DARUMA_CRITICAL,
                                  .operation = S("api_call"),
                                  .message = S("no key"),
                                  .metadata = S("{\"technical_details\":\"Missing 'api_key'\",\"suggestions\":[\"Check "
                                                "configuration\",\"Verify credentials\"]}")},
                      .succeeded = good,
                      .nsucceeded = 1,
                      .failed = bad,
                      .nfailed = 1};
    daruma_str t = report_text(&r, AGENT_REPORT_CODE); /* O-T1 */
    static const char *const has[] = {"ERROR REPORT** - 2026-01-01 00:00:00\n",
                                      "**Error Severity:** CRITICAL",
                                      "**Task:** Fetch data",
                                      "**Failed Operation:** api_call",
                                      "**Capability:** api_call",
                                      "Total operations: 5, Execution time: 12.3s, Retry attempts: 2",
                                      "**Technical Details:** Missing 'api_key'",
                                      "**Suggestions:** Check configuration, Verify credentials",
                                      "Completed successfully:**\n   \xe2\x80\xa2 Step 1: look",
                                      "Failed steps:**\n   \xe2\x80\xa2 Step 2: fetch - Failed"};
    for (size_t i = 0; i < COUNT(has); i++)
        assert_has(t, has[i]);
    t = report_text(&r, AGENT_REPORT_DOC);
    assert_has(t, "**Error Type:** TOOL_ERROR");
    assert_has(t, "**Error Message:** no key");
    assert_has(t, "```json\n{\n  \"technical_details\": \"Missing 'api_key'\",\n  \"suggestions\": [\n    \"Check "
                  "configuration\",");
    t = report_text(&(agent_report){.took = -1}, AGENT_REPORT_CODE); /* O-T2: nothing is known */
    assert_has(t, "Unknown task");
    assert_has(t, "Unknown operation");
    assert_has(t, "No error message available");
    assert_lacks(t, "Execution Stats");
    t = report_text(&(agent_report){.task = S("a\n**Failed Operation:** forged"), .took = -1}, AGENT_REPORT_CODE);
    assert_lacks(t, "\n**Failed Operation:** forged");
}

static void the_analysis_and_the_last_text(void **state)
{
    (void)state;
    char room[4096];
    daruma_buf b = buf_over(room, sizeof room); /* O-T4 */
    agent_report_analysis(S("It was the key."), true, &b);
    assert_str(buf_str(&b), "**Analysis:** It was the key.");
    b.n = 0;
    agent_report_analysis(S("  "), true, &b);
    assert_has(buf_str(&b), "review the recovery options");
    b.n = 0;
    agent_report_analysis(S("x"), false, &b);
    assert_has(buf_str(&b), "structured report");
    b.n = 0;
    agent_report_fallback(NULL, S("no memory"), &b); /* O-T5, and where it crashes (O-W6) */
    assert_has(buf_str(&b), "unknown operation");
    assert_has(buf_str(&b), "Unknown error occurred");
    assert_has(buf_str(&b), "no memory");
    kit_room = arena_over(kit_bytes, sizeof kit_bytes); /* O-T14 */
    agent_report r = {.failure = {.kind = DARUMA_TIMEOUT}};
    daruma_question q = agent_report_ask(&r, kit_tools, 2, &kit_room);
    assert_has(q.user, "TIMEOUT");
    assert_has(q.user, "Unknown");
    assert_has(q.system, "2-3 sentences");
    assert_has(q.system, "100 words");
    assert_int_equal(q.max_tokens, 500);
}

static size_t little; /* bytes that an agent has for what lasts */

static bool open_little(daruma_arena *a, size_t first, size_t limit)
{
    return sys_arena_init(a, first, limit == AGENT_BYTES_MAX ? little : limit);
}

static void the_analysis_takes_no_more_than_the_run_has_left(void **state)
{
    (void)state;
    static const daruma_ms limits[] = {8000, 100000};
    for (size_t i = 0; i < COUNT(limits); i++) {
        agent_setup s = osprey("osprey", "doc", AGENT_PLANNED, NULL);
        s.limits.time = limits[i];
        kit_open(&s, "Fetch data");
        plan_until_tool();
        kit_gives("fs.read", "Error: broken", 0);
        agent_act x = kit_model();
        daruma_ms left = limits[i] - kit_now, most = left < 30000 ? left : 30000;
        assert_int_equal(x.purpose, AGENT_FOR_ANALYSIS);
        assert_int_equal(x.total, most);
        agent_clock(kit_agent, at(kit_now + most - 1));
        assert_int_equal(agent_result_of(kit_agent).outcome, DARUMA_OUTCOME_PENDING);
        agent_clock(kit_agent, at(kit_now + most));
        agent_result r = kit_end(DARUMA_OUTCOME_EXPLAINED, AGENT_END_ERROR);
        assert_has(r.text, "structured report above");
        kit_close();
    }
}

/* However little memory there is, the words tell what failed: the report, or the text in its place (O-F33). */
static void without_memory_the_error_node_still_says_what_failed(void **state)
{
    (void)state;
    drive_rooms rooms = kit_rooms;
    agent_setup s = kit_setup();
    unsigned reports = 0, fixed = 0;
    rooms.open = open_little;
    for (little = 16 << 10; little < 16 << 20 && reports < 3; little += little / 512) {
        kit_room = arena_over(kit_bytes, sizeof kit_bytes);
        kit_now = 0;
        kit_agent = agent_open(&s, &rooms, S("Read it"), at(0));
        if (!kit_agent)
            continue;
        agent_act x = agent_next(kit_agent);
        while (x.what == AGENT_DO_EVENT)
            x = agent_next(kit_agent);
        daruma_evidence ev = {
            .phase = DARUMA_AT_HEAD, .status = 401, .body = S("{\"error\":{\"message\":\"bad key\"}}")};
        if (x.what == AGENT_DO_MODEL)
            agent_failed(kit_agent, x.call, &ev, at(1));
        daruma_str text = agent_result_of(kit_agent).text;
        assert_true(text.n > 0);
        reports += str_find(text, S("ERROR REPORT")) != STR_NONE;
        if (str_find(text, S("Error During Error Handling")) != STR_NONE) {
            assert_has(text, "'big' operation failed with: bad key");
            fixed++;
        }
        agent_close(kit_agent);
        kit_agent = NULL;
    }
    assert_int_equal(reports, 3);
    assert_true(fixed > 0);
}

static void the_error_node_takes_anything(void **state)
{
    (void)state;
    uint64_t x = 88172645463325252u;
    char bytes[6][700];
    for (int round = 0; round < 3000; round++) {
        daruma_str s[6];
        for (int i = 0; i < 6; i++) {
            for (size_t k = 0; k < sizeof bytes[i]; k++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                bytes[i][k] = round % 3 == 0 ? "{}[]\",:\\\n"[x % 9] : (char)(x >> 20);
            }
            s[i] = (daruma_str){x % 5 ? bytes[i] : NULL, x % 5 ? x % sizeof bytes[i] : 0};
        }
        agent_report r = {.wall = (int64_t)x,
                          .task = s[0],
                          .tool = s[1],
                          .operations = (int64_t)x,
                          .retries = -(int64_t)x,
                          .took = (int64_t)(x >> 3),
                          .failure = {.kind = (daruma_kind)(x % DARUMA_KINDS),
                                      .operation = s[2],
                                      .message = s[3],
                                      .user_message = s[4],
                                      .metadata = s[5]},
                          .succeeded = s,
                          .nsucceeded = 6,
                          .failed = s,
                          .nfailed = x % 7};
        char small[300];
        daruma_buf b = buf_over(small, x % sizeof small);
        agent_report_write(&r, AGENT_REPORT_CODE, &b);
        report_text(&r, AGENT_REPORT_CODE);
        report_text(&r, AGENT_REPORT_DOC);
        b = buf_over(small, sizeof small);
        agent_report_fallback(&r.failure, s[0], &b);
        kit_room = arena_over(kit_bytes, x % 4000);
        agent_report_ask(&r, kit_tools, 2, &kit_room);
        b = buf_over(small, sizeof small);
        agent_report_analysis(s[0], true, &b);
        agent_plan p;
        kit_room = arena_over(kit_bytes, x % 40000);
        agent_plan_read(s[5], kit_tools, 2, (bool[]){true, true}, &kit_room, &p, &b);
    }
}

/* ---- PenguiFlow ---- */

#define TOO_LONG "{\"error\":{\"message\":\"Input is too long for requested model.\"}}"
static char page[3001];

/* Two long results and a short one. */
static void three_pages(void)
{
    memset(page, 'x', sizeof page - 1);
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", page, 1);
    kit_calls("fs.read", "{\"path\":\"b\"}");
    kit_gives("fs.read", page, 1);
    kit_calls("fs.read", "{\"path\":\"c\"}");
    kit_gives("fs.read", "short", 1);
}

static agent_setup penguiflow(const char *profile)
{
    agent_setup s = kit_setup();
    s.policy = seed_agent(str_of(profile), (daruma_str){0});
    s.recovery = daruma_policy_find(str_of(profile));
    return s;
}

static void long_results_are_summarised_and_the_step_repeated(void **state)
{
    (void)state;
    agent_setup s = penguiflow("penguiflow"); /* P-T4; the rest of it is in tests/cases/penguiflow-agent.md */
    kit_open(&s, "Report");
    three_pages();
    kit_fails(400, TOO_LONG);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kit_model().purpose, AGENT_FOR_SUMMARY);
        agent_answered(kit_agent, 8 + (uint32_t)i, kit_answer(&dialect_openai, "a summary", NULL, NULL, 5),
                       at(++kit_now));
    }
    agent_act x = kit_model();
    assert_int_equal(x.purpose, AGENT_FOR_STEP);
    assert_lacks(x.body, "xxxxxxxx");
    assert_has(x.body, "_compressed");
    assert_has(x.body, "short");
    const agent_step *steps = kit_agent->steps;
    assert_int_equal(steps[0].observation.n, 3000); /* the record is whole (P-F18) */
    assert_true(steps[0].compressed && !steps[2].compressed);
    assert_true(kit_told("trajectory_compressed"));
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "done", NULL, NULL, 5), at(++kit_now));
    assert_int_equal(kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER).spent.compressions, 1);
    kit_close();
}

static void default_shortens_where_no_result_is_large(void **state)
{
    (void)state;
    agent_setup s = kit_setup();
    static char half[1501];
    memset(half, 'y', sizeof half - 1);
    kit_open(&s, "Report");
    kit_calls("fs.read", "{\"path\":\"a\"}");
    kit_gives("fs.read", half, 1);
    kit_fails(400, TOO_LONG);
    agent_act x = kit_model(); /* no summary is asked for; its middle is gone (P-W7) */
    assert_int_equal(x.purpose, AGENT_FOR_STEP);
    assert_lacks(x.body, half);
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, "done", NULL, NULL, 5), at(++kit_now));
    kit_end(DARUMA_OUTCOME_RECOVERED, AGENT_END_ANSWER);
    kit_close();
}

/* ---- compact errors ---- */

static void compact_escalates_after_three(void **state)
{
    (void)state;
    agent_setup s = penguiflow("compact");
    kit_open(&s, "Deploy");
    for (int i = 0; i < 3; i++) {
        kit_calls("pay", i ? "{\"sum\":2}" : "{\"sum\":1}");
        kit_gives("pay", "connection timeout", 0);
    }
    agent_result r = kit_end(DARUMA_OUTCOME_ESCALATED, AGENT_END_ESCALATED);
    assert_str(r.reason, "Too many errors with pay");
    assert_str(r.last_error, "connection timeout");
    assert_has(r.history, "type: timeout");
    kit_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(osprey_retries_with_its_own_backoff),
        cmocka_unit_test(a_tool_has_a_policy_of_its_own),
        cmocka_unit_test(osprey_plans_once_more_and_chooses_once_more),
        cmocka_unit_test(fatal_ends_at_once),
        cmocka_unit_test(osprey_reactive_shows_the_model_everything),
        cmocka_unit_test(a_critical_tool_ends_with_a_report_and_default_lets_the_model_go_on),
        cmocka_unit_test(plans_are_checked_before_they_run),
        cmocka_unit_test(a_plan_that_cannot_be_read_is_asked_for_again),
        cmocka_unit_test(steps_of_a_plan_see_their_own_work_and_their_inputs),
        cmocka_unit_test(the_report_says_what_is_known),
        cmocka_unit_test(the_analysis_and_the_last_text),
        cmocka_unit_test(the_analysis_takes_no_more_than_the_run_has_left),
        cmocka_unit_test(the_error_node_takes_anything),
        cmocka_unit_test(without_memory_the_error_node_still_says_what_failed),
        cmocka_unit_test(long_results_are_summarised_and_the_step_repeated),
        cmocka_unit_test(default_shortens_where_no_result_is_large),
        cmocka_unit_test(compact_escalates_after_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
