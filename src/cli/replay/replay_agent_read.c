/* replay_agent_read.c - reads what scenes say of their agents: the lines of `agent` and of `tools`. */
#include "base/json.h"
#include "base/str.h"
#include "cli/replay/replay.h"

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

/* ---- tools ---- */

static const struct {
    daruma_str word;
    unsigned bit;
    size_t flag; /* of agent_tool; 0: none */
} traits[] = {
    {LIT("reads"), DARUMA_TOOL_READS, 0},
    {LIT("waits"), DARUMA_TOOL_WAITS, 0},
    {LIT("writes"), DARUMA_TOOL_WRITES, 0},
    {LIT("acts"), DARUMA_TOOL_ACTS, 0},
    {LIT("compacts"), DARUMA_TOOL_COMPACTS, 0},
    {LIT("notes"), DARUMA_TOOL_NOTES, 0},
    {LIT("ask"), 0, offsetof(agent_tool, ask)},
    {LIT("agent"), 0, offsetof(agent_tool, delegates)},
    {LIT("report"), 0, offsetof(agent_tool, reports)},
    {LIT("forbidden"), 0, offsetof(agent_tool, forbidden)},
};

static bool read_traits(const replay_place *at, daruma_str words, agent_tool *ret)
{
    daruma_str name, value;
    ret->about.traits = DARUMA_TOOL_KNOWN;
    while (replay_word(&words, &name, &value)) {
        size_t i = 0;
        while (i < COUNT(traits) && !str_eq(name, traits[i].word))
            i++;
        if (i == COUNT(traits))
            return replay_wrong(at, "what trait of a tool is this?", name);
        ret->about.traits |= traits[i].bit;
        if (traits[i].flag)
            *(bool *)((char *)ret + traits[i].flag) = true;
    }
    return true;
}

bool replay_tool_name(const replay_place *at, daruma_str *rest, agent_tool *ret)
{
    size_t n = 0;
    while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '[')
        n++;
    ret->about.name = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    return !rest->n || rest->p[0] != '[' || read_traits(at, str_from(str_cut(rest, ']'), 1), ret);
}

bool replay_tool_read(const replay_place *at, daruma_str text, agent_tool *ret)
{
    if (!replay_tool_name(at, &text, ret))
        return false;
    ret->about.schema = take_json(&text);
    ret->about.description = str_trim(text);
    return !str_starts(ret->about.description, S("{")) || replay_wrong(at, "this schema is no JSON:", text);
}

static agent_tool *tool_of(replay_agent_told *g, daruma_str name)
{
    for (size_t i = 0; i < g->ntools; i++)
        if (str_eq(g->tools[i].about.name, name))
            return &g->tools[i];
    return NULL;
}

static bool add_tool(const replay_place *at, daruma_str v, void *to)
{
    replay_agent_told *g = to;
    agent_tool *t = &g->tools[g->ntools];
    if (g->ntools++ == REPLAY_AGENT_TOOLS_MAX)
        return replay_wrong(at, "an agent of a scene has at most 12 tools, without", v);
    if (!replay_tool_read(at, v, t))
        return false;
    t->about.schema = t->about.schema.n ? t->about.schema : S("{\"type\":\"object\"}");
    return true;
}

/* fetch retriable ["words in the failure"] [kind=timeout] [says="for people"] [METADATA] */
static bool add_rule(const replay_place *at, daruma_str v, void *to)
{
    replay_agent_told *g = to;
    daruma_str rest = v, tool = str_cut(&rest, ' ');
    if (g->nrules == REPLAY_AGENT_RULES_MAX || !tool_of(g, tool))
        return replay_wrong(at, "a rule is about a tool that stands above it, and there are at most 12:", tool);
    agent_rule *rule = &g->rules[g->nrules];
    g->rule_of[g->nrules++] = tool;
    rest = str_trim(rest);
    daruma_str severity = str_cut(&rest, ' ');
    int place = replay_word_index(severity, "default retriable replanning reclassification critical fatal");
    rule->severity = place - 1;
    if (place < 0)
        return replay_wrong(at, "expected a severity, or default, not", severity);
    rule->words = bare(take_json(&rest));
    if (str_starts(rest, S("kind="))) {
        daruma_str kind = str_from(str_cut(&rest, ' '), 5);
        for (int k = 0; k < DARUMA_TOOL_KINDS; k++)
            if (str_eq(kind, str_of(daruma_tool_kind_name((daruma_tool_kind)k))))
                rule->kind = (daruma_tool_kind)k;
        if (!rule->kind)
            return replay_wrong(at, "this is no kind of failures of tools:", kind);
    }
    rest = str_trim(rest);
    if (str_starts(rest, S("says="))) {
        rest = str_from(rest, 5);
        rule->user_message = bare(take_json(&rest));
    }
    rule->metadata = take_json(&rest);
    return !str_trim(rest).n || replay_wrong(at, "what is this of a rule?", rest);
}

/* [TOOL] attempts=3 delay=1s factor=1.5 at_once=on */
static bool set_retry(const replay_place *at, daruma_str v, void *to)
{
    static const replay_setting rows[] = {
        {"attempts", REPLAY_COUNT, REPLAY_AT(agent_retry, attempts)},
        {"delay", REPLAY_DURATION, REPLAY_AT(agent_retry, delay)},
        {"factor", REPLAY_MILLI, REPLAY_AT(agent_retry, factor_milli)},
        {"at_once", REPLAY_SWITCH, REPLAY_AT(agent_retry, first_at_once)},
    };
    replay_agent_told *g = to;
    daruma_str rest = v, tool = str_cut(&rest, ' ');
    agent_tool *t = tool_of(g, tool);
    return replay_set_words(at,
                            REPLAY_SETTINGS(rows, "a retry has attempts=N, delay=1s, factor=1.5 and at_once=on, not"),
                            t ? rest : v, t ? &t->retry : &g->retry);
}

/* TOOL SCHEMA */
static bool set_output(const replay_place *at, daruma_str v, void *to)
{
    daruma_str tool = str_cut(&v, ' ');
    agent_tool *t = tool_of(to, tool);
    if (!t)
        return replay_wrong(at, "the output is of a tool that stands above it, not of", tool);
    t->output = take_json(&v);
    return true;
}

static bool set_cancel(const replay_place *at, daruma_str v, void *to)
{
    daruma_ms ms = replay_duration(v);
    ((replay_agent_told *)to)->cancel_at = ms ? ms : -1; /* -1: at once */
    return ms >= 0 || replay_wrong(at, "expected a duration like 2s or 500ms, not", v);
}

bool replay_agent_line(const replay_place *at, daruma_str line, replay_agent_told *g)
{
    static const replay_setting rows[] = {
        {"task", REPLAY_TEXT, REPLAY_AT(replay_agent_told, task)},
        {"model", REPLAY_TEXT, REPLAY_AT(replay_agent_told, setup.model)},
        {"second", REPLAY_TEXT, REPLAY_AT(replay_agent_told, setup.second)},
        {"instructions", REPLAY_TEXT, REPLAY_AT(replay_agent_told, setup.instructions)},
        {"swarm", REPLAY_TEXT, REPLAY_AT(replay_agent_told, setup.swarm_id)},
        {"parent_swarm", REPLAY_TEXT, REPLAY_AT(replay_agent_told, setup.parent_swarm_id)},
        {"mode", REPLAY_WORD, REPLAY_AT(replay_agent_told, setup.mode), .words = "reactive planned"},
        {"steps", REPLAY_COUNT, REPLAY_AT(replay_agent_told, setup.limits.steps)},
        {"calls", REPLAY_COUNT, REPLAY_AT(replay_agent_told, setup.limits.calls)},
        {"tools", REPLAY_COUNT, REPLAY_AT(replay_agent_told, setup.limits.tools)},
        {"tokens", REPLAY_NUMBER, REPLAY_AT(replay_agent_told, setup.limits.tokens)},
        {"time", REPLAY_DURATION, REPLAY_AT(replay_agent_told, setup.limits.time)},
        {"max_output", REPLAY_NUMBER, REPLAY_AT(replay_agent_told, setup.max_output)},
        {"moves", REPLAY_COUNT, REPLAY_AT(replay_agent_told, moves)},
        {"cancel", REPLAY_OWN, .read = set_cancel},
        {"tool", REPLAY_OWN, .read = add_tool},
        {"rule", REPLAY_OWN, .read = add_rule},
        {"retry", REPLAY_OWN, .read = set_retry},
        {"output", REPLAY_OWN, .read = set_output},
    };
    static const char others[] =
        "an agent has task, mode, model, second, instructions, limits, tool, rule and retry, not";
    daruma_str name = str_trim(str_cut(&line, ':'));
    return replay_set(at, REPLAY_SETTINGS(rows, others), name, str_trim(line), g);
}

/* ---- what tools give ---- */

/* The offset of the arrow between a call and its result; STR_NONE: there is none. */
static size_t arrow_in(daruma_str call, int *ret_ok)
{
    static const struct {
        daruma_str arrow;
        int ok;
    } arrows[] = {{LIT("->"), 1}, {LIT("!>"), 0}, {LIT("?>"), -1}};
    daruma_str args;
    size_t from = 0, best = STR_NONE;
    if (call.n && memchr("{[\"", call.p[0], 3)) /* there may be one in the arguments */
        from = json_skip(call, 0, &args);
    from = from == STR_NONE ? 0 : from;
    for (size_t i = 0; i < COUNT(arrows); i++) {
        size_t at = str_find(str_from(call, from), arrows[i].arrow);
        if (at != STR_NONE && (best == STR_NONE || from + at < best)) {
            best = from + at;
            *ret_ok = arrows[i].ok;
        }
    }
    return best;
}

bool replay_call(daruma_str text, daruma_str *args, daruma_str *result, int *ok, bool *lost)
{
    size_t at = arrow_in(text, ok);
    *lost = at == STR_NONE && (str_eq(text, S("lost")) || str_ends(text, S(" lost")));
    *args = str_trim(str_sub(text, 0, *lost ? text.n - 4 : at));
    *result = *lost || at == STR_NONE ? (daruma_str){0} : str_trim(str_from(text, at + 2));
    return *lost || at != STR_NONE;
}

/* [3x ]TOOL [ARGUMENTS] [took=2s] -> RESULT, or with !> where it failed, ?> where nobody says; or TOOL ... lost */
bool replay_tool_line(replay_reader *r, daruma_str line, replay_scene *s)
{
    static const replay_setting rows[] = {{"took", REPLAY_DURATION, REPLAY_AT(replay_step, took)}};
    replay_step *step = replay_step_add(r, &line, s->tools, &s->ntools, REPLAY_MODEL_MAX);
    if (!step)
        return false;
    daruma_str rest = line, head;
    step->where = str_cut(&rest, ' ');
    if (!replay_call(str_trim(rest), &head, &step->what, &step->ok, &step->lost))
        return replay_wrong(&r->at, "expected TOOL -> RESULT (or !>, ?>, lost), not", line);
    step->key = take_json(&head);
    return replay_set_words(&r->at, REPLAY_SETTINGS(rows, "expected took=2s, not"), head, step);
}
