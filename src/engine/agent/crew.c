/* crew.c - agents that work for each other.
 *
 *     lead:   ... TOOL helper ------------------------> agent_delegated() ...
 *     helper:           opened with what is left of the budget ... FINISH, closed
 */
#include "engine/agent/crew.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* One that was begun. */
typedef struct crew_level {
    agent *a;
    const crew_member *who;
    uint32_t call;     /* of the one below it, which it is the answer to */
    daruma_arena room; /* of its swarm's name */
} crew_level;

struct crew {
    const crew_member *members;
    size_t n;
    const drive_rooms *rooms;
    crew_level levels[AGENT_LINEAGE_MAX + 1];
    daruma_str names[AGENT_LINEAGE_MAX + 1]; /* of them */
    daruma_str swarms[AGENT_LINEAGE_MAX + 1];
    size_t depth;          /* levels but the first */
    daruma_moment at;      /* of the newest input */
    uint32_t calls;        /* acts so far */
    uint32_t outer, inner; /* number of the act that is out; the one that its agent knows it by */
};

static crew_level *top(crew *c)
{
    return &c->levels[c->depth];
}

/* ---- one for another ---- */

static int64_t less(int64_t a, int64_t b) /* of two limits, 0 is none */
{
    return a <= 0 ? b : b <= 0 || a < b ? a : b;
}

static agent_limits limits_within(const agent_limits *own, const agent_limits *left)
{
    agent_limits l = *own;
    l.steps = (uint32_t)less(own->steps, left->steps);
    l.calls = (uint32_t)less(own->calls, left->calls);
    l.tools = (uint32_t)less(own->tools, left->tools);
    l.tokens = less(own->tokens, left->tokens);
    l.money = less(own->money, left->money);
    l.time = less(own->time, left->time);
    if (!l.priced && !l.price_input && !l.price_output) {
        l.price_input = left->price_input;
        l.price_output = left->price_output;
    }
    return l;
}

static daruma_str swarm_of(crew *c, size_t level)
{
    daruma_buf b = buf_in(&c->levels[level].room);
    for (size_t i = 0; i <= level; i++)
        BUF_SAY(&b, i ? "/" : "", c->names[i]);
    return b.full ? (daruma_str){0} : buf_str(&b);
}

static bool begin(crew *c, size_t level, const crew_member *who, daruma_str task, const agent_limits *limits)
{
    agent_setup s = who->as;
    crew_level *l = &c->levels[level];
    *l = (crew_level){.who = who};
    if (!c->rooms->open(&l->room, 1024, AGENT_BYTES_MAX))
        return false;
    s.limits = *limits;
    c->names[level] = s.name;
    s.lineage = c->names;
    s.nlineage = level;
    s.swarm_id = c->swarms[level] = swarm_of(c, level);
    s.parent_swarm_id = level ? c->swarms[level - 1] : (daruma_str){0};
    l->a = agent_open(&s, c->rooms, task, c->at);
    if (!l->a)
        c->rooms->close(&l->room);
    return l->a != NULL;
}

static void end_level(crew *c, size_t level)
{
    agent_close(c->levels[level].a);
    c->rooms->close(&c->levels[level].room);
}

/* The act is a call of another one. */
static void delegate(crew *c, const agent_act *x)
{
    const crew_member *who = NULL;
    crew_level *from = top(c);
    agent_limits left = agent_limits_left(from->a, c->at), limits;
    daruma_arena room = {0};
    c->rooms->open(&room, 1024, AGENT_BYTES_MAX);
    daruma_str task = json_text(json_get(x->args, S("task")), &room); /* who is begun copies it */
    for (size_t i = 0; i < c->n && !who; i++)
        if (str_eq(c->members[i].as.name, x->tool))
            who = &c->members[i];
    if (who)
        limits = limits_within(&who->as.limits, &left);
    uint32_t call = x->call;
    if (!str_trim(task).n)
        agent_tool_done(from->a, call, S("MISSING_INPUT: `task` is empty\nNext step: say what is to be done"), 0, false,
                        c->at);
    else if (who && !agent_may_delegate(from->a))
        agent_not_delegated(from->a, call, who->as.name, c->at);
    else if (!who || c->depth == AGENT_LINEAGE_MAX || !begin(c, c->depth + 1, who, task, &limits))
        agent_tool_done(from->a, call, S("INTERNAL_ERROR: that agent cannot be begun\nNext step: do it yourself"), 0,
                        false, c->at);
    else
        c->levels[++c->depth].call = call;
    c->rooms->close(&room);
}

static void come_back(crew *c)
{
    crew_level done = *top(c);
    agent_result r = agent_result_of(done.a);
    c->depth--;
    agent_delegated(top(c)->a, done.call, done.who->as.name, &r, c->at);
    end_level(c, c->depth + 1);
}

agent_act crew_next(crew *c)
{
    for (;;) {
        agent_act x = agent_next(top(c)->a);
        if (x.what == AGENT_DO_FINISH && c->depth) {
            come_back(c);
        } else if (x.what == AGENT_DO_TOOL && x.about && x.about->delegates) {
            delegate(c, &x);
        } else {
            if (x.call) {
                c->inner = x.call;
                x.call = c->outer = ++c->calls;
            }
            return x;
        }
    }
}

/* ---- outcomes ---- */

bool crew_tell(crew *c, const crew_input *in)
{
    agent *a = top(c)->a;
    uint32_t call = in->call && in->call == c->outer ? c->inner : 0; /* as its agent knows the act; 0: it is not out */
    daruma_evidence ev = {
        .phase = (daruma_phase)in->phase, .status = in->code, .net = (daruma_net)in->net, .body = in->text, .took = -1};
    if (in->code == 200 && !in->net)
        ev.flaw = in->text.n ? DARUMA_FLAW_ERROR_EVENT : DARUMA_FLAW_BROKEN; /* it answered, with an error or no use */
    c->at = in->at;
    agent_called(a, in->more);
    switch (in->kind) {
    case CREW_ANSWERED:
        agent_answered(a, call, in->text, in->at);
        break;
    case CREW_FAILED:
        agent_failed(a, call, &ev, in->at);
        break;
    case CREW_TOOL:
        agent_tool_done(a, call, in->text, in->code, in->lost, in->at);
        break;
    case CREW_PERSON:
        if (in->code == AGENT_INTERRUPTED)
            crew_cancel(c, in->at);
        else
            agent_person(a, call, (agent_reply)in->code, in->text, in->at);
        break;
    case CREW_CLOCK: /* the limits of who works are within those of whom it works for */
        agent_clock(a, in->at);
        break;
    case CREW_RESUMED:
        return agent_resume(c->levels[0].a, in->text, in->at);
    case CREW_OPENED: /* crew_open() was that */
    case CREW_INPUTS:
        break;
    }
    return true;
}

void crew_cancel(crew *c, daruma_moment at)
{
    c->at = at;
    for (size_t i = c->depth + 1; i-- > 0;) {
        agent_result r;
        agent_cancel(c->levels[i].a, at);
        r = agent_result_of(c->levels[i].a);
        if (i)
            agent_add_spent(c->levels[i - 1].a, &r.spent);
    }
}

agent_result crew_result_of(const crew *c)
{
    return agent_result_of(c->levels[0].a);
}

const crew_member *crew_who(const crew *c)
{
    return c->levels[c->depth].who;
}

void crew_sign(const crew *c, daruma_str event, daruma_buf *out)
{
    agent_sign(c->levels[c->depth].a, event, out);
}

bool crew_moves(const crew *c)
{
    return agent_result_of(c->levels[c->depth].a).outcome != DARUMA_OUTCOME_PENDING;
}

/* ---- beginning and end ---- */

crew *crew_open(const crew_member *members, size_t n, const drive_rooms *rooms, daruma_str task, daruma_moment at)
{
    crew *c = rooms->take(sizeof *c);
    if (!c)
        return NULL;
    *c = (crew){.members = members, .n = n, .rooms = rooms, .at = at};
    if (begin(c, 0, &members[0], task, &members[0].as.limits))
        return c;
    rooms->give(c);
    return NULL;
}

void crew_close(crew *c)
{
    if (!c)
        return;
    const drive_rooms *rooms = c->rooms;
    for (size_t i = 0; i <= c->depth; i++)
        end_level(c, i);
    rooms->give(c);
}

agent_tool crew_tool(daruma_str name, daruma_str says)
{
    return (agent_tool){
        .about = {.name = name,
                  .description = says.n ? says : S("An agent that carries out a task and tells what came of it."),
                  .schema =
                      S("{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\",\"description\":\"all "
                        "that it has to know: it sees nothing of this conversation\"}},\"required\":[\"task\"],"
                        "\"additionalProperties\":false}"),
                  .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
        .delegates = true};
}
