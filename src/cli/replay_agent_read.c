/* replay_agent_read.c - reads what scenes say of their agents: the lines of `agent` and of `tools`. */
#include "cli/replay.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"

/* Cuts a JSON value off the front of *rest; empty: there is none. */
static daruma_str take_json(daruma_str *rest)
{
    daruma_str v = {0};
    *rest = str_trim(*rest);
    size_t end = rest->n && (rest->p[0] == '{' || rest->p[0] == '"') ? json_skip(*rest, 0, &v) : STR_NONE;
    if (end == STR_NONE)
        return (daruma_str){0};
    *rest = str_trim(str_from(*rest, end));
    return v;
}

/* A JSON string without escapes is its own text. */
static daruma_str bare(daruma_str v)
{
    return v.n >= 2 && v.p[0] == '"' ? str_sub(v, 1, v.n - 2) : v;
}

/* 1.5 as 1500 thousandths; -1: it is no number. */
static int64_t milli(daruma_str v)
{
    daruma_str whole = v, part;
    int64_t n, f = 0, unit = 100;
    part = whole;
    whole = str_cut(&part, '.');
    if (!str_int(whole, &n) || n < 0 || n > 1000000)
        return -1;
    for (size_t i = 0; i < part.n; i++, unit /= 10) {
        if (part.p[i] < '0' || part.p[i] > '9')
            return -1;
        f += (part.p[i] - '0') * unit;
    }
    return n * 1000 + f;
}

/* attempts=3 delay=1s factor=1.5 at_once=on */
static bool read_retry(replay_reader *r, daruma_str v, agent_retry *ret)
{
    daruma_str name, value;
    int64_t n;
    while (replay_word(&v, &name, &value)) {
        if (str_eq(name, S("attempts")) && str_int(value, &n) && n >= 0 && n < 1000)
            ret->attempts = (uint32_t)n;
        else if (str_eq(name, S("delay")) && replay_duration(value) >= 0)
            ret->delay = replay_duration(value);
        else if (str_eq(name, S("factor")) && milli(value) >= 0)
            ret->factor_milli = (uint32_t)milli(value);
        else if (str_eq(name, S("at_once")))
            ret->first_at_once = str_eq(value, S("on"));
        else
            return replay_wrong(r, "a retry has attempts=N, delay=1s, factor=1.5 and at_once=on, not", name);
    }
    return true;
}

static agent_tool *tool_of(replay_agent_told *g, daruma_str name)
{
    for (size_t i = 0; i < g->ntools; i++)
        if (str_eq(g->tools[i].about.name, name))
            return &g->tools[i];
    return NULL;
}

/* fetch[reads ask] [SCHEMA] [DESCRIPTION] */
static bool read_tool(replay_reader *r, daruma_str v, replay_agent_told *g)
{
    static const struct {
        daruma_str word;
        unsigned bit;
    } traits[] = {{LIT("reads"), DARUMA_TOOL_READS},
                  {LIT("waits"), DARUMA_TOOL_WAITS},
                  {LIT("writes"), DARUMA_TOOL_WRITES},
                  {LIT("acts"), DARUMA_TOOL_ACTS},
                  {LIT("notes"), DARUMA_TOOL_NOTES}};
    if (g->ntools == REPLAY_AGENT_TOOLS_MAX)
        return replay_wrong(r, "an agent of a scene has at most 12 tools, without", v);
    agent_tool *t = &g->tools[g->ntools++];
    size_t open = str_findch(v, '['), space = str_findch(v, ' ');
    size_t end = open < space ? open : space;
    t->about.name = end == STR_NONE ? v : str_sub(v, 0, end);
    daruma_str rest = end == STR_NONE ? (daruma_str){0} : str_from(v, end), words = {0}, name, value;
    if (open < space) {
        words = str_from(str_cut(&rest, ']'), 1);
        t->about.traits = DARUMA_TOOL_KNOWN;
    }
    while (replay_word(&words, &name, &value)) {
        unsigned bit = 0;
        for (size_t i = 0; i < COUNT(traits); i++)
            bit |= str_eq(name, traits[i].word) ? traits[i].bit : 0;
        t->ask |= str_eq(name, S("ask"));
        t->delegates |= str_eq(name, S("agent"));
        t->reports |= str_eq(name, S("report"));
        t->forbidden |= str_eq(name, S("forbidden"));
        if (!bit && !str_eq(name, S("forbidden")) && !str_eq(name, S("ask")) && !str_eq(name, S("agent")) &&
            !str_eq(name, S("report")))
            return replay_wrong(r, "what trait of a tool is this?", name);
        t->about.traits |= bit;
    }
    t->about.schema = take_json(&rest);
    t->about.schema = t->about.schema.n ? t->about.schema : S("{\"type\":\"object\"}");
    t->about.description = str_trim(rest);
    return true;
}

/* fetch retriable ["words in the failure"] [kind=timeout] [says="for people"] [METADATA] */
static bool read_rule(replay_reader *r, daruma_str v, replay_agent_told *g)
{
    daruma_str rest = v, tool = str_cut(&rest, ' ');
    if (g->nrules == REPLAY_AGENT_RULES_MAX || !tool_of(g, tool))
        return replay_wrong(r, "a rule is about a tool that stands above it, and there are at most 12:", tool);
    agent_rule *to = &g->rules[g->nrules];
    g->rule_of[g->nrules++] = tool;
    rest = str_trim(rest);
    daruma_str severity = str_cut(&rest, ' ');
    to->severity = replay_word_index(severity, "default retriable replanning reclassification critical fatal") - 1;
    if (replay_word_index(severity, "default retriable replanning reclassification critical fatal") < 0)
        return replay_wrong(r, "expected a severity, or default, not", severity);
    to->words = bare(take_json(&rest));
    if (str_starts(rest, S("kind="))) {
        daruma_str kind = str_from(str_cut(&rest, ' '), 5);
        for (int k = 0; k < DARUMA_TOOL_KINDS; k++)
            if (str_eq(kind, str_of(daruma_tool_kind_name((daruma_tool_kind)k))))
                to->kind = (daruma_tool_kind)k;
    }
    rest = str_trim(rest);
    if (str_starts(rest, S("says="))) {
        rest = str_from(rest, 5);
        to->user_message = bare(take_json(&rest));
    }
    to->metadata = take_json(&rest);
    return !str_trim(rest).n || replay_wrong(r, "what is this of a rule?", rest);
}

static bool read_limit(replay_reader *r, daruma_str name, daruma_str v, replay_agent_told *g)
{
    agent_setup *s = &g->setup;
    agent_limits *l = &s->limits;
    int64_t n;
    daruma_ms ms = replay_duration(v);
    if (str_eq(name, S("time")) && ms >= 0) {
        l->time = ms;
        return true;
    }
    if (str_eq(name, S("cancel")) && ms >= 0) {
        g->cancel_at = ms ? ms : -1;
        return true;
    }
    if (!str_int(v, &n) || n < 0 || n > INT32_MAX)
        return replay_wrong(r, "expected a number, not", v);
    if (str_eq(name, S("tokens")))
        l->tokens = n;
    else if (str_eq(name, S("moves")))
        g->moves = (uint32_t)n;
    else if (str_eq(name, S("max_output")))
        s->max_output = n;
    else
        *(str_eq(name, S("steps")) ? &l->steps : str_eq(name, S("calls")) ? &l->calls : &l->tools) = (uint32_t)n;
    return true;
}

bool replay_agent_line(replay_reader *r, daruma_str line, replay_agent_told *g)
{
    line = str_trim(line);
    if (!line.n || line.p[0] == '#')
        return true;
    daruma_str v = line, name = str_trim(str_cut(&v, ':'));
    v = str_trim(v);
    if (str_eq(name, S("task")))
        g->task = v;
    else if (str_eq(name, S("model")))
        g->setup.model = v;
    else if (str_eq(name, S("second")))
        g->setup.second = v;
    else if (str_eq(name, S("instructions")))
        g->setup.instructions = v;
    else if (str_eq(name, S("swarm")))
        g->setup.swarm_id = v;
    else if (str_eq(name, S("parent_swarm")))
        g->setup.parent_swarm_id = v;
    else if (str_eq(name, S("mode")) && replay_word_index(v, "reactive planned") >= 0)
        g->setup.mode = (agent_mode)replay_word_index(v, "reactive planned");
    else if (replay_word_index(name, "steps calls tools tokens time max_output moves cancel") >= 0)
        return read_limit(r, name, v, g);
    else if (str_eq(name, S("tool")))
        return read_tool(r, v, g);
    else if (str_eq(name, S("rule")))
        return read_rule(r, v, g);
    else if (str_eq(name, S("retry"))) {
        daruma_str rest = v, tool = str_cut(&rest, ' ');
        agent_tool *t = tool_of(g, tool);
        g->has_retry |= !t;
        return read_retry(r, t ? rest : v, t ? &t->retry : &g->retry);
    } else if (str_eq(name, S("output"))) {
        daruma_str rest = v, tool = str_cut(&rest, ' ');
        agent_tool *t = tool_of(g, tool);
        if (!t)
            return replay_wrong(r, "the output is of a tool that stands above it, not of", tool);
        t->output = take_json(&rest);
    } else
        return replay_wrong(
            r, "an agent has task, mode, model, second, instructions, limits, tool, rule and retry, not", name);
    return true;
}

/* [3x ]TOOL [ARGUMENTS] [took=2s] -> RESULT, or with !> where it failed, ?> where nobody says; or TOOL ... lost */
bool replay_tool_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    static const char *const arrows[] = {" !> ", " -> ", " ?> "};
    static const int oks[] = {0, 1, -1};
    size_t at = STR_NONE;
    replay_step step = {.line = r->line, .times = replay_times(&line)};
    daruma_str head = line, name, value;
    for (size_t i = 0; i < COUNT(arrows); i++) {
        size_t here = str_find(line, str_of(arrows[i]));
        if (here < at) {
            at = here;
            step.ok = oks[i];
        }
    }
    step.lost = at == STR_NONE && str_ends(line, S(" lost"));
    if ((at == STR_NONE && !step.lost) || s->ntools == REPLAY_MODEL_MAX)
        return replay_wrong(r, "expected one of at most 32 lines TOOL -> RESULT (or !>), not", line);
    head = str_sub(line, 0, step.lost ? line.n - 5 : at);
    step.what = step.lost ? (daruma_str){0} : str_trim(str_from(line, at + 4));
    step.where = str_cut(&head, ' ');
    step.key = take_json(&head);
    while (replay_word(&head, &name, &value)) {
        step.took = str_eq(name, S("took")) ? replay_duration(value) : -1;
        if (step.took < 0)
            return replay_wrong(r, "expected took=2s, not", name);
    }
    s->tools[s->ntools++] = step;
    return true;
}
