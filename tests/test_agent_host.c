/* The host of whole agents in virtual time (sim/agent_host.h): calls are sessions with their own recovery, tools and
 * people take time, agents work for agents. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/agent/inside.h"
#include "engine/seeds/seeds.h"
#include "sim/agent_host.h"
#include "sys/arena.h"
#include <stdlib.h>

/* What the next call of a provider brings: a status, else words or a call. */
typedef struct turn_of {
    int status;
    const char *says, *tool, *args;
} turn_of;

static const turn_of *script;
static size_t nscript, used, ntools;
static bool late; /* the tool takes longer than the run may */
static uint32_t nevents, steps_most = 20;
static agent_setup child;

static bool on_call(void *user, const drive_request *q, daruma_str body, wire_answer *ret)
{
    (void)user;
    (void)body;
    if (used == nscript)
        return false;
    const turn_of *t = &script[used++];
    wire_tool_call call = {
        .id = S("c1"), .tool = str_of(t->tool ? t->tool : ""), .args = str_of(t->args ? t->args : "")};
    *ret = (wire_answer){.took = 100, .status = t->status ? t->status : 200};
    ret->body = t->status ? S("{\"error\":{\"message\":\"Rate limit reached\"}}")
                          : wire_says(&dialect_openai, str_of(t->says ? t->says : ""), &call, t->tool != NULL, q->a);
    return true;
}

static bool on_ask(void *user, const daruma_target *t, const daruma_question *q, wire_answer *ret)
{
    (void)user, (void)t, (void)q, (void)ret;
    return false;
}

static const daruma_target *targets_of(void *user, daruma_str model, size_t *n, daruma_watch_mode *watch)
{
    static daruma_target t;
    (void)user, (void)model;
    t = (daruma_target){
        .provider = S("main"), .model = S("big"), .key = S("k"), .account = S("a"), .window = -1, .max_output = -1};
    daruma_target_seal(&t);
    *n = 1;
    *watch = DARUMA_WATCH_OFF;
    return &t;
}

static void on_tell(void *user, daruma_event *e)
{
    (void)user, (void)e;
}

static void on_step(void *user, const drive_step *s)
{
    (void)user, (void)s;
}

static bool on_tool(void *user, agent *a, const agent_act *x, sim_tool_result *ret)
{
    (void)user, (void)a;
    ntools++;
    *ret = (sim_tool_result){
        .text = str_eq(x->tool, S("pay")) ? S("paid") : S("hello"), .ok = 1, .took = late ? 100000 : 500};
    return true;
}

static bool on_person(void *user, agent *a, const agent_act *x, sim_reply *ret)
{
    (void)user, (void)a, (void)x;
    *ret = (sim_reply){.what = AGENT_ALLOWED, .took = 3000};
    return true;
}

static void on_event(void *user, daruma_str json)
{
    (void)user;
    assert_true(json.n > 0);
    nevents++;
}

static bool on_child(void *user, daruma_str name, agent_setup *ret)
{
    (void)user;
    *ret = child;
    return str_eq(name, S("reader"));
}

static const drive_rooms rooms = SYS_ROOMS;
static const wire_ops wires = {on_call, on_ask, targets_of, on_tell, on_step};
static const sim_agent_ops ops = {.tool = on_tool, .person = on_person, .event = on_event, .child = on_child};
static const agent_tool tools[] = {
    {.about = {.name = LIT("read"),
               .schema = LIT("{\"type\":\"object\"}"),
               .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS}},
    {.about = {.name = LIT("pay"),
               .schema = LIT("{\"type\":\"object\"}"),
               .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
     .ask = true},
    {.about = {.name = LIT("reader"), .schema = LIT("{\"type\":\"object\"}")}, .delegates = true},
};

/* One agent with that script. */
typedef struct world {
    daruma_arena memory;
    wire w;
    sim_agents h;
    drive_options options;
    agent *a;
} world;

static agent_setup setup(void)
{
    agent_policy *p = test_malloc(sizeof *p);
    *p = agent_policy_default;
    p->retry.attempts = 1; /* the session below tries again */
    return (agent_setup){.name = S("boss"),
                         .d = &dialect_openai,
                         .model = S("big"),
                         .tools = tools,
                         .ntools = COUNT(tools),
                         .policy = p,
                         .limits = {.steps = steps_most, .time = 60000}};
}

static world *run(const turn_of *turns, size_t n)
{
    world *o = test_calloc(1, sizeof *o);
    agent_setup s = setup();
    script = turns;
    nscript = n;
    used = ntools = 0;
    nevents = 0;
    child = (agent_setup){
        .name = S("reader"), .d = &dialect_openai, .model = S("big"), .tools = tools, .ntools = 1, .policy = s.policy};
    assert_true(sys_arena_init(&o->memory, 0, 64 << 20));
    o->w = (wire){.ops = &wires, .d = &dialect_openai, .dice = 1, .v = {.rooms = &rooms}};
    assert_true(wire_begin(&o->w, &o->memory));
    o->options = (drive_options){.policy = daruma_policy_find(S("default")), .on_failure = DRIVE_FORM_ERROR};
    o->h = (sim_agents){.ops = &ops, .w = &o->w, .rooms = &rooms, .options = &o->options};
    o->a = sim_agent_run(&o->h, &s, S("Report."));
    test_free((void *)(uintptr_t)s.policy);
    return o;
}

static void done(world *o)
{
    agent_close(o->a);
    wire_end(&o->w);
    sys_arena_done(&o->memory);
    test_free(o);
}

static void calls_are_recovered_below_the_agent(void **state)
{
    static const turn_of turns[] = {{.status = 429}, {.tool = "read", .args = "{}"}, {.says = "It says hello."}};
    (void)state;
    world *o = run(turns, COUNT(turns));
    assert_non_null(o->a);
    agent_result r = agent_result_of(o->a);
    assert_int_equal(r.outcome, DARUMA_OUTCOME_OK);
    assert_str(r.text, "It says hello.");
    assert_int_equal(r.spent.calls, 2); /* the agent asked twice, the provider was called three times */
    assert_int_equal(used, 3);
    assert_int_equal(o->w.v.counts.recovered, 1);
    assert_true(o->w.slept > 0);
    assert_int_equal(o->w.at.now, 3 * 100 + 500 + o->w.slept);
    assert_true(nevents > 0);
    done(o);
}

static void people_and_tools_take_time(void **state)
{
    static const turn_of turns[] = {{.tool = "pay", .args = "{\"sum\":1}"}, {.says = "Paid."}};
    (void)state;
    world *o = run(turns, COUNT(turns));
    assert_non_null(o->a);
    assert_int_equal(o->w.at.now, 100 + 3000 + 500 + 100);
    assert_int_equal(ntools, 1);
    done(o);
    late = true; /* the limit of time ends the run while the tool is at work */
    static const turn_of slow[] = {{.tool = "read", .args = "{}"}};
    o = run(slow, 1);
    late = false;
    assert_non_null(o->a);
    assert_int_equal(agent_result_of(o->a).limit, AGENT_LIMIT_TIME);
    assert_int_equal(o->w.at.now, 60000);
    done(o);
}

static void an_agent_works_for_another(void **state)
{
    static const turn_of turns[] = {{.tool = "reader", .args = "{\"task\":\"Read a.\"}"},
                                    {.tool = "read", .args = "{}"},
                                    {.says = "hello stands there"},
                                    {.says = "It says hello."}};
    (void)state;
    world *o = run(turns, COUNT(turns));
    assert_non_null(o->a);
    agent_result r = agent_result_of(o->a);
    assert_int_equal(r.end, AGENT_END_ANSWER);
    assert_int_equal(r.spent.calls, 4);
    assert_str(o->a->steps[0].observation, "hello stands there");
    done(o);
}

static void no_agent_works_for_one_that_has_a_step_left_to_answer(void **state)
{
    static const turn_of turns[] = {{.tool = "reader", .args = "{\"task\":\"Read a.\"}"}, {.says = "Not read."}};
    (void)state;
    steps_most = 2;
    world *o = run(turns, COUNT(turns));
    steps_most = 20;
    assert_non_null(o->a);
    agent_result r = agent_result_of(o->a);
    assert_int_equal(r.spent.calls, 2); /* both are its own */
    assert_str(r.text, "Not read.");
    assert_true(str_find(o->a->steps[0].observation, S("steps")) != STR_NONE);
    done(o);
}

static void a_script_that_ends_stops_the_run(void **state)
{
    static const turn_of turns[] = {{.tool = "read", .args = "{}"}};
    (void)state;
    world *o = run(turns, 1);
    /* A call that cannot go out is a failure of its session, which the agent sees. */
    assert_non_null(o->a);
    assert_int_not_equal(agent_result_of(o->a).outcome, DARUMA_OUTCOME_OK);
    done(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_recovered_below_the_agent),
        cmocka_unit_test(people_and_tools_take_time),
        cmocka_unit_test(an_agent_works_for_another),
        cmocka_unit_test(no_agent_works_for_one_that_has_a_step_left_to_answer),
        cmocka_unit_test(a_script_that_ends_stops_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
