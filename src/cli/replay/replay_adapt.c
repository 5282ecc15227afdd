/* replay_adapt.c - progress, strategies and lessons in scenes of agents: a host that asks the scene's model, notes what
 * was tried, and learns from the steps that follow. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay_adapt.h"

enum { TEXTS = 16, LESSONS = 16, TENANT = 1 };

typedef struct replay_adapt {
    daruma_progress progress;
    daruma_estimate estimate;
    daruma_tries tries;
    daruma_learner learner;
    daruma_lessons *lessons;
    daruma_strategy proposed; /* the newest */
    daruma_str goal;
    daruma_str facts[TEXTS], blockers[TEXTS];
    daruma_tool tools[TEXTS];
    size_t nfacts, nblockers, ntools;
    daruma_lesson found[DARUMA_LESSONS_SHOWN];
    daruma_tool_failure failure; /* of the newest step */
} replay_adapt;

replay_adapt *replay_adapt_new(daruma_arena *a)
{
    replay_adapt *x = ARENA_NEW(a, replay_adapt, 1);
    if (x) {
        x->lessons = daruma_lessons_new(a, LESSONS);
        x->estimate.progress = -1;
    }
    return x;
}

/* ---- steps ---- */

static void show_nudge(replay_agent *g, unsigned level)
{
    daruma_buf b = buf_in(&g->scratch);
    daruma_progress_notice(&g->adapt->progress, level, &b);
    if (g->s->notices)
        replay_steps_show(g, buf_str(&b));
}

void replay_adapt_begin(replay_agent *g)
{
    replay_adapt *x = g->adapt;
    if (!g->s->progress)
        return;
    unsigned level = daruma_progress_begin(&x->progress, &g->s->policy);
    const daruma_adapt_policy *how = g->s->policy.watch.adapt;
    unsigned from = how ? how->nudge_at[0] : 4;
    if (from && x->progress.idle >= from)
        buf_printf(g->log, "stuck idle=%u\n", x->progress.idle);
    if (level) {
        buf_printf(g->log, "nudge level=%u\n", level);
        show_nudge(g, level);
    }
    if (daruma_progress_laps(&x->progress, &g->s->policy)) {
        BUF_LIT(g->log, "nudge loop\n");
        show_nudge(g, 0);
    }
}

static daruma_str schema_of(const replay_adapt *x, daruma_str tool)
{
    for (size_t i = 0; i < x->ntools; i++)
        if (str_eq(x->tools[i].name, tool))
            return x->tools[i].schema;
    return (daruma_str){0};
}

void replay_adapt_end(replay_agent *g)
{
    replay_adapt *x = g->adapt;
    bool failed = daruma_step_failed(&g->last);
    x->failure = failed ? daruma_tool_judge(&g->last, &g->s->policy, &g->a) : (daruma_tool_failure){0};
    if (g->s->progress && daruma_progress_see(&x->progress, &g->s->policy, &g->last))
        BUF_LIT(g->log, "progress\n");
    daruma_strategy_kind helped =
        daruma_learner_see(&x->learner, x->lessons, TENANT, &g->last, failed ? &x->failure : NULL,
                           schema_of(x, g->last.tool), replay_steps_moment(g).wall, &g->scratch);
    if (helped != DARUMA_STRATEGY_OTHER && g->s->progress)
        buf_printf(g->log, "learned %s\n", daruma_strategy_name(helped));
    if (!failed)
        daruma_tries_worked(&x->tries, &g->s->policy, g->last.tool);
}

/* What progress has counted so far. */
static bool play_counted(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    buf_printf(g->log, "counted steps=%u idle=%u level=%u\n", x->progress.steps, x->progress.idle,
               (unsigned)x->progress.level);
    return true;
}

/* Another run begins: of progress nothing is known. */
static bool play_reset(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    x->progress = (daruma_progress){0};
    BUF_LIT(g->log, "reset\n");
    return true;
}

/* ---- what is known ---- */

static bool keep(replay_agent *g, daruma_str *list, size_t *n, daruma_str text)
{
    if (*n == TEXTS)
        return replay_steps_wrong(g, "a scene has at most 16 of these:", text);
    list[(*n)++] = arena_copy(&g->a, text);
    return true;
}

static bool play_goal(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    x->goal = arena_copy(&g->a, rest);
    return true;
}

static bool play_fact(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    return keep(g, x->facts, &x->nfacts, rest);
}

static bool play_blocker(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    return keep(g, x->blockers, &x->nblockers, rest);
}

/* NAME[TRAITS] [SCHEMA] [DESCRIPTION] */
static bool play_tool(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    if (x->ntools == TEXTS)
        return replay_steps_wrong(g, "a scene has at most 16 tools, and then", rest);
    agent_tool read = {0};
    if (!replay_tool_read(&g->at, rest, &read))
        return false;
    x->tools[x->ntools++] = (daruma_tool){.name = arena_copy(&g->a, read.about.name),
                                          .description = arena_copy(&g->a, read.about.description),
                                          .schema = arena_copy(&g->a, read.about.schema),
                                          .traits = read.about.traits};
    return true;
}

static daruma_situation situation(replay_agent *g, replay_adapt *x)
{
    daruma_situation s = {.goal = x->goal,
                          .progress = x->estimate.progress,
                          .stuck = x->progress.standstill,
                          .steps = g->nsteps,
                          .milestone = x->estimate.milestone,
                          .analysis = x->estimate.reasoning,
                          .blockers = x->estimate.nblockers ? x->estimate.blockers : x->blockers,
                          .nblockers = x->estimate.nblockers ? x->estimate.nblockers : x->nblockers,
                          .facts = x->facts,
                          .nfacts = x->nfacts,
                          .last = g->nsteps ? &g->last : NULL,
                          .failures = &x->failure,
                          .nfailures = x->failure.tool.n ? 1 : 0,
                          .tools = x->tools,
                          .ntools = x->ntools,
                          .lessons = x->found,
                          .fits = daruma_schema_fits};
    if (g->verdict.circle != DARUMA_CIRCLE_NONE) {
        daruma_buf b = buf_in(&g->scratch);
        daruma_verdict_say(&g->verdict, &g->last, &b);
        s.circle = buf_str(&b);
    }
    if (x->failure.tool.n) {
        daruma_lesson_key k = {.tenant = TENANT,
                               .tool = x->failure.tool,
                               .schema = schema_of(x, x->failure.tool),
                               .error = x->failure.signature};
        s.nlessons = daruma_lessons_find(x->lessons, &k, replay_steps_moment(g).wall, x->found, DARUMA_LESSONS_SHOWN);
    }
    return s;
}

/* ---- questions ---- */

static void log_ask(replay_agent *g, const char *what, daruma_str answer)
{
    buf_printf(g->log, "ask %s%s\n", what, answer.n ? "" : " failed");
}

/* stuck, blocked, progress=15, steps=5: taken as said instead of as it is */
static bool play_due(replay_agent *g, daruma_str rest)
{
    static const daruma_str blocker = LIT("something");
    replay_adapt *x = g->adapt;
    daruma_str name, value;
    int64_t n = 0;
    daruma_situation s = situation(g, x);
    while (replay_word(&rest, &name, &value)) {
        if (str_eq(name, S("stuck"))) {
            s.stuck = true;
        } else if (str_eq(name, S("blocked"))) {
            s.blockers = &blocker;
            s.nblockers = 1;
        } else if (!str_int(value, &n) || n > 100) {
            return replay_steps_wrong(g, "expected stuck, blocked, progress=PERCENT or steps=N, not", name);
        } else if (str_eq(name, S("progress"))) {
            s.progress = (int16_t)(10 * n);
        } else {
            s.steps = (uint32_t)n;
        }
    }
    buf_printf(g->log, "due %s\n", daruma_strategy_due(&s, &g->s->policy) ? "yes" : "no");
    return true;
}

static bool play_estimate(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    daruma_str answer = replay_steps_answer(g);
    log_ask(g, "estimate", answer);
    x->estimate = daruma_progress_read(answer, &g->a);
    bool still = daruma_progress_estimate(&x->progress, &g->s->policy, x->estimate.progress);
    if (x->estimate.progress >= 0)
        buf_printf(g->log, "estimate %d.%d%%", x->estimate.progress / 10, x->estimate.progress % 10);
    else
        BUF_LIT(g->log, "estimate unknown");
    buf_putz(g->log, still ? " stuck" : "");
    for (size_t i = 0; i < x->estimate.nblockers; i++) {
        BUF_SAY(g->log, "\nblocker ", x->estimate.blockers[i]);
    }
    buf_putc(g->log, '\n');
    return true;
}

static void put_field(replay_agent *g, const char *name, daruma_str text)
{
    if (!text.n)
        return;
    buf_printf(g->log, " %s=", name);
    for (size_t i = 0; i < text.n; i++)
        buf_putc(g->log, text.p[i] == '\n' ? ' ' : text.p[i]);
}

static void log_strategy(replay_agent *g, const daruma_strategy *x)
{
    static const char *const sources[] = {"heuristic", "model", "lesson"};
    BUF_SAY(g->log, "strategy ", x->name.n ? x->name : S("(none)"));
    buf_printf(g->log, " confidence=%d from=%s", x->confidence, sources[x->source]);
    put_field(g, "tool", x->tool);
    put_field(g, "parameters", x->parameters);
    put_field(g, "message", x->message);
    buf_putc(g->log, '\n');
}

/* Strings of a strategy are borrowed from what dies with the line. */
static daruma_strategy kept(replay_agent *g, daruma_strategy x)
{
    daruma_str *texts[] = {&x.name, &x.reasoning, &x.tool, &x.parameters, &x.message, &x.expected};
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = arena_copy(&g->a, *texts[i]);
    return x;
}

static bool read_mode(daruma_str word, daruma_strategy_mode *mode)
{
    static const daruma_str names[] = {LIT("log"), LIT("ask"), LIT("auto")};
    for (int i = 0; i < 3; i++)
        if (str_eq(word, names[i])) {
            *mode = (daruma_strategy_mode)i;
            return true;
        }
    return word.n == 0;
}

/* What helped before, else what the model says, else what daruma says itself. */
static bool play_strategy(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    daruma_strategy_mode mode = DARUMA_STRATEGIES_LOG;
    if (!read_mode(rest, &mode))
        return replay_steps_wrong(g, "strategies are logged (log), asked about (ask) or carried out (auto), not", rest);
    daruma_situation s = situation(g, x);
    daruma_strategy y;
    if (!daruma_strategy_learned(&s, &x->tries, &g->s->policy, &y)) {
        daruma_buf why = buf_in(&g->scratch);
        daruma_str answer = replay_steps_answer(g);
        log_ask(g, "strategy", answer);
        y = daruma_strategy_read(answer, &s, &x->tries, &g->s->policy, &g->scratch, &why);
        if (why.n && answer.n) {
            BUF_LIT(g->log, "refused");
            put_field(g, "why", str_trim(buf_str(&why)));
            buf_putc(g->log, '\n');
        }
    }
    x->proposed = kept(g, y);
    log_strategy(g, &y);
    if (rest.n)
        buf_printf(g->log, "fate %s\n", daruma_strategy_fate_name(daruma_strategy_decide(&y, mode, &g->s->policy)));
    return true;
}

static bool play_tried(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    if (!x->proposed.name.n)
        return replay_steps_wrong(g, "no strategy stands before", S("= tried"));
    daruma_tries_note(&x->tries, &x->proposed);
    BUF_LIT(g->log, "tried\n");
    return true;
}

static bool play_question(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    daruma_situation s = situation(g, x);
    daruma_question q = daruma_strategy_ask(&s, &x->tries, &g->s->policy, &g->scratch);
    buf_printf(g->log, "question tokens=%lld temperature=%d\n", (long long)q.max_tokens, (int)q.temperature_milli);
    replay_steps_show(g, q.user);
    return true;
}

static bool play_lessons(replay_agent *g, daruma_str rest)
{
    replay_adapt *x = g->adapt;
    (void)rest;
    daruma_situation s = situation(g, x);
    buf_printf(g->log, "lessons %zu\n", s.nlessons);
    for (size_t i = 0; i < s.nlessons; i++)
        buf_printf(g->log, "| %s %s %s score=%d worked=%u failed=%u\n", daruma_strategy_name(x->found[i].kind),
                   x->found[i].tool, x->found[i].parameters, x->found[i].score, x->found[i].worked, x->found[i].failed);
    return true;
}

const replay_directive replay_adapt_directives[] = {
    {"goal", play_goal},         {"fact", play_fact},         {"blocker", play_blocker},   {"tool", play_tool},
    {"due", play_due},           {"estimate", play_estimate}, {"strategy", play_strategy}, {"tried", play_tried},
    {"question", play_question}, {"lessons", play_lessons},   {"counted", play_counted},   {"reset", play_reset},
};
const size_t nreplay_adapt_directives = COUNT(replay_adapt_directives);
