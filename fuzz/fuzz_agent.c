/* A whole run of an agent. The input: a line that chooses dialect, way and policy, then one line each for what comes of
 * each act: a model's answer, a tool's result. Lines are used again when there are no more. It ends, its requests can
 * be read and have a result for each call, and what is told is JSON. */
#include "base/arena.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"
#include "engine/seeds/seeds.h"
#include "sys/arena.h"
#include "../tests/pairs_kit.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ACTS_MAX = 600, ROOM_BYTES = 16 << 10 };

static const agent_rule rules[] = {
    {.words = LIT("again"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("plan"), .severity = DARUMA_REPLANNING, .metadata = LIT("{\"required_context\":[\"a\",{}],\"x\":1}")},
    {.words = LIT("fatal"), .severity = DARUMA_FATAL}};
static const agent_tool tools[] = {
    {.about = {LIT("fs.read"), LIT("reads"), LIT("{\"type\":\"object\",\"required\":[\"path\"]}"),
               DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS}},
    {.about = {LIT("pay"), LIT("pays"), LIT("{\"type\":\"object\"}"), DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
     .rules = rules,
     .nrules = COUNT(rules),
     .ask = true},
    {.about = {LIT("find"), LIT("finds"),
               LIT("{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}},\"required\":[\"q\"]}"),
               DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS},
     .output = LIT("{\"type\":\"object\",\"required\":[\"hits\"]}")},
    {.about = {LIT("wipe"), LIT("wipes"), LIT("{\"type\":\"object\"}"), DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
     .forbidden = true},
    {.about = {LIT("report"), LIT("reports"), LIT("{\"type\":\"object\"}"), DARUMA_TOOL_KNOWN | DARUMA_TOOL_NOTES},
     .reports = true},
};
static const dialect *const wires[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};

static void *take(size_t n)
{
    return calloc(1, n);
}

static const drive_rooms rooms = {.open = sys_arena_init,
                                  .close = sys_arena_done,
                                  .widen = sys_arena_widen,
                                  .bytes = sys_arena_bytes,
                                  .take = take,
                                  .give = free};

static void check_request(const dialect *d, daruma_str body)
{
    daruma_arena room;
    convo c = {0};
    check(json_valid(body));
    if (!sys_arena_init(&room, ROOM_BYTES, 4096 * ROOM_BYTES))
        return;
    check(d->read(body, &room, &c) == DARUMA_OK);
    check(!kit_pairs_broken(&c));
    sys_arena_done(&room);
}

static daruma_moment moment(daruma_ms now)
{
    return (daruma_moment){.now = now, .wall = 1767225600, .dice = 7};
}

/* What comes of an act. */
static void happen(agent *a, const dialect *d, agent_act x, daruma_str line, daruma_ms now)
{
    daruma_evidence ev = {.phase = DARUMA_AT_HEAD, .status = 400, .took = -1};
    switch (x.what) {
    case AGENT_DO_MODEL:
        check_request(d, x.body);
        if (str_starts(line, S("!"))) {
            ev.status = line.n > 1 ? 400 + (unsigned char)line.p[1] % 130 : 0;
            ev.body = str_from(line, 2);
            agent_failed(a, x.call, &ev, moment(now));
        } else {
            agent_answered(a, x.call, line, moment(now));
        }
        break;
    case AGENT_DO_TOOL:
        agent_tool_done(a, x.call, line, -1, str_starts(line, S("~")), moment(now));
        break;
    case AGENT_DO_ASK:
        agent_person(a, x.call, (agent_reply)(line.n % 4), line, moment(now));
        break;
    default:
        agent_clock(a, moment(x.until));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        daruma_str profile, variant;
    } profiles[] = {
        {LIT("default"), LIT("")},        {LIT("osprey"), LIT("doc")},      {LIT("osprey-reactive"), LIT("")},
        {LIT("penguiflow"), LIT("doc")},  {LIT("compact"), LIT("")},        {LIT("adaptive"), LIT("doc")},
        {LIT("penguiflow"), LIT("code")}, {LIT("osprey"), LIT("code")},     {LIT("swarm"), LIT("")},
        {LIT("adaptive-head"), LIT("")},  {LIT("penguiflow"), LIT("code")}, {LIT("adaptive"), LIT("code")}};
    daruma_str all = {(const char *)data, size}, head = str_cut(&all, '\n'), rest = all;
    unsigned char how[3] = {0}, chosen;
    memcpy(how, head.p ? head.p : "", head.n < 3 ? head.n : 3);
    chosen = how[2] % COUNT(profiles);
    agent_setup s = {.d = wires[how[0] % COUNT(wires)],
                     .mode = how[1] % 2 ? AGENT_PLANNED : AGENT_REACTIVE,
                     .policy = seed_agent(profiles[chosen].profile, profiles[chosen].variant),
                     .recovery = daruma_policy_variant(profiles[chosen].profile, profiles[chosen].variant),
                     .model = S("m"),
                     .second = how[1] % 4 > 1 ? S("n") : (daruma_str){0},
                     .tools = tools,
                     .ntools = COUNT(tools),
                     .limits = {.steps = 30, .calls = 80, .tokens = how[1] % 8 == 7 ? 20000 : 0}};
    agent *a = agent_open(&s, &rooms, S("the task"), moment(0));
    daruma_ms now = 0;
    bool resumed = false;
    for (int i = 0; a; i++) {
        agent_act x = agent_next(a);
        check(i < ACTS_MAX);
        if (x.what == AGENT_DO_EVENT) {
            check(json_valid(x.text));
            continue;
        }
        if (x.what == AGENT_DO_FINISH && (resumed || !agent_resume(a, head, moment(now))))
            break;
        resumed |= x.what == AGENT_DO_FINISH;
        if (x.what == AGENT_DO_FINISH)
            continue;
        check(x.what != AGENT_DO_NOTHING);
        if (!rest.n)
            rest = all;
        now = x.what == AGENT_DO_WAIT ? x.until : now + 1;
        happen(a, s.d, x, str_cut(&rest, '\n'), now);
    }
    if (a) {
        agent_result r = agent_result_of(a);
        check(r.outcome != DARUMA_OUTCOME_PENDING);
        check(!r.recovery.n || json_valid(r.recovery));
    }
    agent_close(a);
    return 0;
}
