/* agent_kit.h - an agent in a test: its acts are taken one by one, answers are written in any dialect, time is a
 * number.
 */
#ifndef AGENT_KIT_H
#define AGENT_KIT_H
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/agent/agent.h"
#include "sys/arena.h"
#include <stdlib.h>

static const drive_rooms kit_rooms = SYS_ROOMS;

static char kit_bytes[8 << 20];
static daruma_arena kit_room; /* answers, and what is read of requests */
static agent *kit_agent;
static daruma_ms kit_now;
static char kit_names[4096]; /* of the events so far, a space behind each */

static const agent_tool kit_tools[] = {
    {.about = {.name = LIT("fs.read"),
               .description = LIT("reads a file"),
               .schema =
                   LIT("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[\"path\"]}"),
               .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS}},
    {.about = {.name = LIT("pay"),
               .description = LIT("pays a bill"),
               .schema = LIT("{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}}"),
               .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS}},
};

static inline agent_setup kit_setup(void)
{
    return (agent_setup){.name = S("tester"),
                         .d = &dialect_openai,
                         .model = S("big"),
                         .tools = kit_tools,
                         .ntools = COUNT(kit_tools),
                         .limits = {.steps = 20}};
}

static inline void kit_open(const agent_setup *s, const char *task)
{
    kit_room = arena_over(kit_bytes, sizeof kit_bytes);
    kit_now = 0;
    kit_names[0] = 0;
    kit_agent = agent_open(s, &kit_rooms, str_of(task), at(0));
    assert_non_null(kit_agent);
}

/* The next act that is no event. */
static inline agent_act kit_next(void)
{
    for (;;) {
        agent_act x = agent_next(kit_agent);
        if (x.what != AGENT_DO_EVENT)
            return x;
        assert_true(json_valid(x.text));
        daruma_str name = json_text(json_get(x.text, S("event")), &kit_room);
        daruma_buf b = buf_over(kit_names, sizeof kit_names - 1);
        b.n = strlen(kit_names);
        if (b.n + name.n + 2 >= sizeof kit_names)
            b.n = 0;
        buf_put(&b, name);
        buf_putc(&b, ' ');
        b.p[b.n] = 0;
    }
}

static inline bool kit_told(const char *event)
{
    return strstr(kit_names, event) != NULL;
}

/* An answer: `text` (NULL: none) and a call (tool NULL: none), in the dialect. */
static inline daruma_str kit_answer(const dialect *d, const char *text, const char *tool, const char *args, int id)
{
    convo c = {.arena = &kit_room};
    convo_message *m = convo_add_message(&c, CONVO_ASSISTANT, (daruma_str){0});
    turn t = {.model = S("big"), .finish = tool ? FINISH_CALLS : FINISH_STOP, .usage = {100, 10, -1, -1, -1}};
    daruma_buf b = buf_in(&kit_room), name = buf_in(&kit_room);
    if (text) {
        convo_part *p = convo_add_part(&c, m, PART_TEXT, (daruma_str){0});
        p->ready = true;
        p->text = str_of(text);
    }
    if (tool) {
        convo_part *p = convo_add_part(&c, m, PART_CALL, (daruma_str){0});
        daruma_buf call = buf_in(&kit_room);
        buf_printf(&call, "call_x%d", id);
        p->ready = true;
        p->text = str_of(args);
        p->id = buf_str(&call);
        for (const char *z = tool; *z; z++) /* as it is called on the wire */
            buf_putc(&name, *z == '.' ? '_' : *z);
        p->name = buf_str(&name);
    }
    t.message = *m;
    d->write_answer(&t, &(write_ctx){.model = S("big"), .id = (uint64_t)id, .wall = 1767225600}, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static int kit_ids;

static inline agent_act kit_model(void) /* the next act, which asks a model */
{
    agent_act x = kit_next();
    assert_int_equal(x.what, AGENT_DO_MODEL);
    return x;
}

static inline agent_act kit_tool(const char *name) /* the next act, which calls that tool */
{
    agent_act x = kit_next();
    assert_int_equal(x.what, AGENT_DO_TOOL);
    assert_str(x.tool, name);
    return x;
}

static inline void kit_says(const char *text) /* the model answers without a call */
{
    agent_act x = kit_model();
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, text, NULL, NULL, ++kit_ids), at(++kit_now));
}

static inline void kit_calls(const char *tool, const char *args)
{
    agent_act x = kit_model();
    agent_answered(kit_agent, x.call, kit_answer(&dialect_openai, NULL, tool, args, ++kit_ids), at(++kit_now));
}

static inline void kit_fails(int status, const char *body)
{
    agent_act x = kit_model();
    daruma_evidence ev = {.phase = DARUMA_AT_HEAD, .status = status, .body = str_of(body), .took = -1};
    agent_failed(kit_agent, x.call, &ev, at(++kit_now));
}

static inline void kit_gives(const char *tool, const char *result, int ok)
{
    agent_act x = kit_tool(tool);
    agent_tool_done(kit_agent, x.call, str_of(result), ok, false, at(++kit_now));
}

/* It waits, exactly so long; the time passes. */
static inline void kit_waits(daruma_ms ms)
{
    agent_act x = kit_next();
    assert_int_equal(x.what, AGENT_DO_WAIT);
    assert_int_equal(x.until - kit_now, ms);
    kit_now = x.until;
    agent_clock(kit_agent, at(kit_now));
}

static inline agent_result kit_end(daruma_outcome o, agent_end e)
{
    agent_act x = kit_next();
    if (x.what != AGENT_DO_FINISH)
        fail_msg("it goes on with act %d", x.what);
    agent_result r = agent_result_of(kit_agent);
    assert_string_equal(agent_end_name(r.end), agent_end_name(e));
    assert_string_equal(daruma_outcome_name(r.outcome), daruma_outcome_name(o));
    return r;
}

static inline void kit_close(void)
{
    agent_close(kit_agent);
    kit_agent = NULL;
}

#define assert_has(s, z)                                                                                               \
    do {                                                                                                               \
        daruma_str in_ = (s);                                                                                          \
        if (str_find(in_, str_of(z)) == STR_NONE)                                                                      \
            fail_msg("\"%s\" is not in: " STR_FMT, (z), STR_ARG(in_));                                                 \
    } while (0)
#define assert_lacks(s, z) assert_true(str_find((s), str_of(z)) == STR_NONE)
#endif
