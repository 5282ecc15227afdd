/* replay_steps.c - scenes of agents that are not ours, a host without an agent: it hands the steps of a script to the
 * tracker and the detectors, climbs the ladder as a host would, asks the scene's model for ways out, learns from the
 * steps that follow, and writes down each. doc/cases.md is the format. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay.h"
#include <stdio.h>
#include <stdlib.h>

enum { AGENT_WALL_BEGIN = 1767225600, SCRATCH_BYTES = 8 << 20, FAILURES = 64, TEXTS = 16, LESSONS = 16, TENANT = 1 };

/* One scene being played. */
typedef struct steps {
    replay_scene *s;
    daruma_buf *log;
    replay_place at; /* the line at hand */
    daruma_str rest; /* of a directive, behind its name */
    daruma_ms now;
    daruma_arena a;       /* lives as long as the scene */
    daruma_arena scratch; /* as long as one line */
    daruma_tracker *tracker;
    daruma_stall *stall;
    daruma_detector detector;
    daruma_guide guide;
    daruma_verdict verdict;      /* after the newest step */
    daruma_step last;            /* the newest step; lives in `a` */
    daruma_tool_failure failure; /* of it */
    uint32_t nsteps;             /* steps so far */
    size_t asked;                /* answers of the scene's model that are used up */
    daruma_progress progress;
    daruma_estimate estimate;
    daruma_tries tries;
    daruma_learner learner;
    daruma_lessons *lessons;
    daruma_lesson found[DARUMA_LESSONS_SHOWN];
    daruma_strategy proposed; /* the newest */
    daruma_str goal, facts[TEXTS], blockers[TEXTS];
    daruma_tool tools[TEXTS];
    size_t nfacts, nblockers, ntools;
} steps;

/* "case.md:3: WHAT `ABOUT`"; false. */
static bool wrong(const steps *g, const char *what, daruma_str about)
{
    return replay_wrong(&g->at, what, about);
}

static daruma_moment moment(const steps *g)
{
    return (daruma_moment){.now = g->now, .wall = AGENT_WALL_BEGIN + g->now / 1000, .dice = g->s->seed};
}

/* The next answer of the scene's model; empty: it fails, or nothing is left. */
static daruma_str next_answer(steps *g)
{
    if (g->asked >= g->s->nmodel)
        return (daruma_str){0};
    daruma_str said = replay_expand(g->s->model[g->asked++], 0, &g->a);
    if (str_eq(said, S("fail")))
        return (daruma_str){0};
    return replay_plain(said, &g->a);
}

/* Text of several lines into the log, each behind "| ". */
static void show_page(steps *g, daruma_str text)
{
    while (text.n) {
        daruma_str line = str_cut(&text, '\n');
        BUF_SAY(g->log, line.n ? "| " : "|", line, "\n");
    }
}

/* A text within a line of the log. */
static void put_flat(daruma_buf *log, daruma_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\n')
            BUF_LIT(log, "\\n");
        else
            buf_putc(log, text.p[i]);
}

/* ---- one step of the script --------------------------------------------------------------------- */

/* [@KEY ]TOOL[[TRAITS]] [ARGUMENTS] -> RESULT, or "says TEXT", or "TOOL [ARGUMENTS] lost" */
static bool read_step(steps *g, daruma_str line, daruma_step *ret, daruma_str *key)
{
    *ret = (daruma_step){.ok = -1};
    *key = g->s->key;
    if (line.n && line.p[0] == '@') {
        *key = str_from(str_cut(&line, ' '), 1);
        line = str_trim(line);
    }
    if (str_starts(line, S("says "))) {
        ret->result = replay_plain(str_trim(str_from(line, 5)), &g->scratch);
        ret->ok = 1;
        return true;
    }
    agent_tool tool = {0};
    if (!replay_tool_name(&g->at, &line, &tool))
        return false;
    daruma_str rest = str_trim(line);
    ret->tool = tool.about.name;
    ret->traits = tool.about.traits;
    if (!replay_call(rest, &ret->args, &ret->result, &ret->ok, &ret->lost))
        return wrong(g, "expected TOOL ARGUMENTS -> RESULT (or !>, ?>, lost), not", rest);
    ret->result = replay_plain(ret->result, &g->scratch);
    if (str_eq(ret->tool, S("(agent)")))
        ret->tool = S("");
    return true;
}

/* ---- what daruma says of it ------------------------------------------------------------------------- */

static void log_step_failure(steps *g, const daruma_step *step, bool go_on)
{
    daruma_tool_failure f = daruma_tool_judge(step, &g->s->policy, &g->scratch);
    buf_printf(g->log, " failed %s%s %s", daruma_tool_kind_name(f.kind), f.retryable ? " retryable" : "",
               go_on ? "continue" : "escalate");
    if (g->s->counts) {
        daruma_escalation e = daruma_tracker_escalation(g->tracker);
        buf_printf(g->log, " in_row=%u of_tool=%u total=%u", e.in_row, e.of_tool, e.total);
    }
    if (!g->s->messages)
        return;
    buf_putz(g->log, f.message.n ? "\nmessage " : "\nmessage");
    put_flat(g->log, f.message);
    if (f.suggestion.n)
        BUF_SAY(g->log, "\nsuggestion ", f.suggestion);
}

static void track(steps *g, daruma_str key, const daruma_step *step)
{
    bool was = daruma_tracker_escalation(g->tracker).needs_review;
    bool go_on = daruma_tracker_see(g->tracker, key, step, moment(g), &g->scratch);
    buf_printf(g->log, "step %u", g->nsteps);
    if (step->tool.n || key.n)
        BUF_SAY(g->log, " ", step->tool.n ? step->tool : key);
    if (daruma_step_failed(step))
        log_step_failure(g, step, go_on);
    else
        buf_putz(g->log, step->tool.n || key.n ? " ok" : " says");
    buf_putc(g->log, '\n');
    if (!go_on && !was) {
        BUF_LIT(g->log, "reason ");
        put_flat(g->log, daruma_tracker_escalation(g->tracker).reason);
        buf_putc(g->log, '\n');
    }
}

/* ---- circles, and what is done about them --------------------------------------------------------- */

static void log_circle(steps *g, const char *rule)
{
    const daruma_verdict *v = &g->verdict;
    buf_printf(g->log, "circle %s period=%u times=%u first=%u", daruma_circle_name(v->circle), v->period, v->times,
               v->first);
    if (rule)
        buf_printf(g->log, " rule=%s", rule);
    if (g->s->counts)
        buf_printf(g->log, " sure=%u", v->sure);
    buf_putc(g->log, '\n');
}

/* What a host does about the verdict. */
static void climb(steps *g)
{
    uint32_t have = g->s->nmodel ? DARUMA_NEED_SIDE : 0;
    daruma_remedy_kind r = daruma_guide_next(&g->guide, &g->s->policy, &g->verdict, g->s->watch, have);
    if (r == DARUMA_REMEDY_NONE)
        return;
    buf_printf(g->log, "remedy %s", daruma_remedy_name(r));
    if (r == DARUMA_REMEDY_NOTICE)
        buf_printf(g->log, " level=%u", g->guide.level);
    buf_putc(g->log, '\n');
    if (r == DARUMA_REMEDY_NOTICE && g->s->notices) {
        BUF_LIT(g->log, "notice ");
        daruma_buf b = buf_in(&g->scratch);
        daruma_guide_notice(&g->guide, &g->verdict, &g->last, &b);
        put_flat(g->log, buf_str(&b));
        buf_putc(g->log, '\n');
    }
}

static void detect(steps *g)
{
    const char *rule = NULL;
    if (g->s->watch == DARUMA_WATCH_OFF)
        return;
    g->verdict = g->s->policy.watch.detectors ? daruma_detector_see(&g->detector, &g->s->policy, &g->last, &rule)
                                              : daruma_stall_see(g->stall, &g->last);
    if (g->verdict.circle != DARUMA_CIRCLE_NONE)
        log_circle(g, rule);
    climb(g);
}

/* The step lives until the next one: a notice tells of it. */
static void keep_last(steps *g, const daruma_step *step)
{
    g->last = *step;
    g->last.tool = arena_copy(&g->a, step->tool);
    g->last.args = arena_copy(&g->a, step->args);
    g->last.result = arena_copy(&g->a, step->result);
}

/* ---- progress and lessons ----------------------------------------------------------------------- */

static void show_nudge(steps *g, unsigned level)
{
    daruma_buf b = buf_in(&g->scratch);
    daruma_progress_notice(&g->progress, level, &b);
    if (g->s->notices)
        show_page(g, buf_str(&b));
}

static void begin_step(steps *g)
{
    if (!g->s->progress)
        return;
    unsigned level = daruma_progress_begin(&g->progress, &g->s->policy);
    const daruma_adapt_policy *how = g->s->policy.watch.adapt;
    unsigned from = how ? how->nudge_at[0] : 4;
    if (from && g->progress.idle >= from)
        buf_printf(g->log, "stuck idle=%u\n", g->progress.idle);
    if (level) {
        buf_printf(g->log, "nudge level=%u\n", level);
        show_nudge(g, level);
    }
    if (daruma_progress_laps(&g->progress, &g->s->policy)) {
        BUF_LIT(g->log, "nudge loop\n");
        show_nudge(g, 0);
    }
}

static daruma_str schema_of(const steps *g, daruma_str tool)
{
    for (size_t i = 0; i < g->ntools; i++)
        if (str_eq(g->tools[i].name, tool))
            return g->tools[i].schema;
    return (daruma_str){0};
}

static void end_step(steps *g)
{
    bool failed = daruma_step_failed(&g->last);
    g->failure = failed ? daruma_tool_judge(&g->last, &g->s->policy, &g->a) : (daruma_tool_failure){0};
    if (g->s->progress && daruma_progress_see(&g->progress, &g->s->policy, &g->last))
        BUF_LIT(g->log, "progress\n");
    daruma_strategy_kind helped =
        daruma_learner_see(&g->learner, g->lessons, TENANT, &g->last, failed ? &g->failure : NULL,
                           schema_of(g, g->last.tool), moment(g).wall, &g->scratch);
    if (helped != DARUMA_STRATEGY_OTHER && g->s->progress)
        buf_printf(g->log, "learned %s\n", daruma_strategy_name(helped));
    if (!failed)
        daruma_tries_worked(&g->tries, &g->s->policy, g->last.tool);
}

static bool play_step(steps *g, daruma_str line)
{
    daruma_step step;
    daruma_str key;
    if (!read_step(g, line, &step, &key))
        return false;
    g->nsteps++;
    begin_step(g);
    track(g, key, &step);
    keep_last(g, &step);
    detect(g);
    end_step(g);
    return true;
}

/* ---- directives -------------------------------------------------------------------------------------- */

static void show(steps *g, const char *name, void (*write)(const daruma_tracker *, daruma_buf *))
{
    daruma_buf b = buf_in(&g->scratch);
    write(g->tracker, &b);
    buf_printf(g->log, "%s%s\n", name, b.n ? "" : " empty");
    show_page(g, buf_str(&b));
}

static void play_context(steps *g)
{
    show(g, "context", daruma_tracker_context);
}

static void play_summary(steps *g)
{
    show(g, "summary", daruma_tracker_summary);
}

static void play_failures(steps *g)
{
    daruma_tool_failure f[FAILURES];
    size_t n = daruma_tracker_list(g->tracker, f, FAILURES);
    buf_printf(g->log, "failures %zu\n", n);
    for (size_t i = 0; i < n && i < FAILURES; i++) {
        buf_printf(g->log, "| step %u ", f[i].step);
        buf_put(g->log, f[i].tool);
        buf_printf(g->log, " %s%s%s: ", daruma_tool_kind_name(f[i].kind), f[i].retryable ? " retryable" : "",
                   f[i].resolved ? " resolved" : "");
        put_flat(g->log, f[i].message);
        buf_putc(g->log, '\n');
    }
}

/* The newest step, if it failed, as full, compact, summary or hidden. */
static void play_view(steps *g)
{
    int view = replay_word_index(g->rest, "full compact summary hidden");
    if (view < 0) {
        wrong(g, "a view is full, compact, summary or hidden, not", g->rest);
        return;
    }
    daruma_buf b = buf_in(&g->scratch);
    daruma_tool_failure f = daruma_tool_judge(&g->last, &g->s->policy, &g->scratch);
    daruma_tool_failure_write(&f, (daruma_view)view, &b);
    buf_printf(g->log, "view%s\n", b.n ? "" : " empty");
    show_page(g, buf_str(&b));
}

static void play_resume(steps *g)
{
    daruma_tracker_resume(g->tracker);
    BUF_LIT(g->log, "resume\n");
}

/* A copy of the state at `*p`; what was copied is wiped. */
static bool move(steps *g, void *p, size_t bytes)
{
    void *from, *to = arena_take(&g->a, bytes, _Alignof(max_align_t));
    memcpy(&from, p, sizeof from);
    if (!to)
        return wrong(g, "no memory for", S("snapshot"));
    memcpy(to, from, bytes);
    memset(from, 0xa5, bytes);
    memcpy(p, &to, sizeof to);
    return true;
}

/* All goes on with copies. */
static void play_snapshot(steps *g)
{
    if (move(g, &g->tracker, daruma_tracker_bytes()))
        move(g, &g->stall, daruma_stall_bytes());
}

static void play_advance(steps *g)
{
    daruma_ms by = replay_duration(g->rest);
    g->now += by > 0 ? by : 0;
    if (by < 0)
        wrong(g, "expected a duration, not", g->rest);
}

/* What progress has counted so far. */
static void play_counted(steps *g)
{
    buf_printf(g->log, "counted steps=%u idle=%u level=%u\n", g->progress.steps, g->progress.idle,
               (unsigned)g->progress.level);
}

/* Another run begins: of progress nothing is known. */
static void play_reset(steps *g)
{
    g->progress = (daruma_progress){0};
    BUF_LIT(g->log, "reset\n");
}

/* ---- what is known ---- */

static void keep(steps *g, daruma_str *list, size_t *n)
{
    if (*n == TEXTS)
        wrong(g, "a scene has at most 16 of these:", g->rest);
    else
        list[(*n)++] = arena_copy(&g->a, g->rest);
}

static void play_goal(steps *g)
{
    g->goal = arena_copy(&g->a, g->rest);
}

static void play_fact(steps *g)
{
    keep(g, g->facts, &g->nfacts);
}

static void play_blocker(steps *g)
{
    keep(g, g->blockers, &g->nblockers);
}

/* NAME[TRAITS] [SCHEMA] [DESCRIPTION] */
static void play_tool(steps *g)
{
    agent_tool read = {0};
    if (g->ntools == TEXTS)
        wrong(g, "a scene has at most 16 tools, and then", g->rest);
    else if (replay_tool_read(&g->at, g->rest, &read))
        g->tools[g->ntools++] = (daruma_tool){.name = arena_copy(&g->a, read.about.name),
                                              .description = arena_copy(&g->a, read.about.description),
                                              .schema = arena_copy(&g->a, read.about.schema),
                                              .traits = read.about.traits};
}

static daruma_situation situation(steps *g)
{
    daruma_situation s = {.goal = g->goal,
                          .progress = g->estimate.progress,
                          .stuck = g->progress.standstill,
                          .steps = g->nsteps,
                          .milestone = g->estimate.milestone,
                          .analysis = g->estimate.reasoning,
                          .blockers = g->estimate.nblockers ? g->estimate.blockers : g->blockers,
                          .nblockers = g->estimate.nblockers ? g->estimate.nblockers : g->nblockers,
                          .facts = g->facts,
                          .nfacts = g->nfacts,
                          .last = g->nsteps ? &g->last : NULL,
                          .failures = &g->failure,
                          .nfailures = g->failure.tool.n ? 1 : 0,
                          .tools = g->tools,
                          .ntools = g->ntools,
                          .lessons = g->found,
                          .fits = daruma_schema_fits};
    if (g->verdict.circle != DARUMA_CIRCLE_NONE) {
        daruma_buf b = buf_in(&g->scratch);
        daruma_verdict_say(&g->verdict, &g->last, &b);
        s.circle = buf_str(&b);
    }
    if (g->failure.tool.n) {
        daruma_lesson_key k = {.tenant = TENANT,
                               .tool = g->failure.tool,
                               .schema = schema_of(g, g->failure.tool),
                               .error = g->failure.signature};
        s.nlessons = daruma_lessons_find(g->lessons, &k, moment(g).wall, g->found, DARUMA_LESSONS_SHOWN);
    }
    return s;
}

/* ---- questions ---- */

static void log_ask(steps *g, const char *what, daruma_str answer)
{
    buf_printf(g->log, "ask %s%s\n", what, answer.n ? "" : " failed");
}

/* stuck, blocked, progress=15, steps=5: taken as said instead of as it is */
static void play_due(steps *g)
{
    static const daruma_str blocker = LIT("something");
    daruma_str name, value;
    int64_t n = 0;
    daruma_situation s = situation(g);
    while (replay_word(&g->rest, &name, &value)) {
        if (str_eq(name, S("stuck"))) {
            s.stuck = true;
        } else if (str_eq(name, S("blocked"))) {
            s.blockers = &blocker;
            s.nblockers = 1;
        } else if (!str_int(value, &n) || n > 100) {
            wrong(g, "expected stuck, blocked, progress=PERCENT or steps=N, not", name);
            return;
        } else if (str_eq(name, S("progress"))) {
            s.progress = (int16_t)(10 * n);
        } else {
            s.steps = (uint32_t)n;
        }
    }
    buf_printf(g->log, "due %s\n", daruma_strategy_due(&s, &g->s->policy) ? "yes" : "no");
}

static void play_estimate(steps *g)
{
    daruma_str answer = next_answer(g);
    log_ask(g, "estimate", answer);
    g->estimate = daruma_progress_read(answer, &g->a);
    bool still = daruma_progress_estimate(&g->progress, &g->s->policy, g->estimate.progress);
    if (g->estimate.progress >= 0)
        buf_printf(g->log, "estimate %d.%d%%", g->estimate.progress / 10, g->estimate.progress % 10);
    else
        BUF_LIT(g->log, "estimate unknown");
    buf_putz(g->log, still ? " stuck" : "");
    for (size_t i = 0; i < g->estimate.nblockers; i++)
        BUF_SAY(g->log, "\nblocker ", g->estimate.blockers[i]);
    buf_putc(g->log, '\n');
}

static void put_field(steps *g, const char *name, daruma_str text)
{
    if (!text.n)
        return;
    buf_printf(g->log, " %s=", name);
    for (size_t i = 0; i < text.n; i++)
        buf_putc(g->log, text.p[i] == '\n' ? ' ' : text.p[i]);
}

static void log_strategy(steps *g, const daruma_strategy *x)
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
static daruma_strategy kept(steps *g, daruma_strategy x)
{
    daruma_str *texts[] = {&x.name, &x.reasoning, &x.tool, &x.parameters, &x.message, &x.expected};
    for (size_t i = 0; i < COUNT(texts); i++)
        *texts[i] = arena_copy(&g->a, *texts[i]);
    return x;
}

/* What helped before, else what the model says, else what daruma says itself. */
static void play_strategy(steps *g)
{
    int mode =
        g->rest.n ? replay_word_index(g->rest, "log ask auto") : DARUMA_STRATEGIES_LOG; /* daruma_strategy_mode */
    if (mode < 0) {
        wrong(g, "strategies are logged (log), asked about (ask) or carried out (auto), not", g->rest);
        return;
    }
    daruma_situation s = situation(g);
    daruma_strategy y;
    if (!daruma_strategy_learned(&s, &g->tries, &g->s->policy, &y)) {
        daruma_buf why = buf_in(&g->scratch);
        daruma_str answer = next_answer(g);
        log_ask(g, "strategy", answer);
        y = daruma_strategy_read(answer, &s, &g->tries, &g->s->policy, &g->scratch, &why);
        if (why.n && answer.n) {
            BUF_LIT(g->log, "refused");
            put_field(g, "why", str_trim(buf_str(&why)));
            buf_putc(g->log, '\n');
        }
    }
    g->proposed = kept(g, y);
    log_strategy(g, &y);
    if (g->rest.n)
        buf_printf(g->log, "fate %s\n",
                   daruma_strategy_fate_name(daruma_strategy_decide(&y, (daruma_strategy_mode)mode, &g->s->policy)));
}

static void play_tried(steps *g)
{
    if (!g->proposed.name.n) {
        wrong(g, "no strategy stands before", S("= tried"));
        return;
    }
    daruma_tries_note(&g->tries, &g->proposed);
    BUF_LIT(g->log, "tried\n");
}

static void play_question(steps *g)
{
    daruma_situation s = situation(g);
    daruma_question q = daruma_strategy_ask(&s, &g->tries, &g->s->policy, &g->scratch);
    buf_printf(g->log, "question tokens=%lld temperature=%d\n", (long long)q.max_tokens, (int)q.temperature_milli);
    show_page(g, q.user);
}

static void play_lessons(steps *g)
{
    daruma_situation s = situation(g);
    buf_printf(g->log, "lessons %zu\n", s.nlessons);
    for (size_t i = 0; i < s.nlessons; i++)
        buf_printf(g->log, "| %s %s %s score=%d worked=%u failed=%u\n", daruma_strategy_name(g->found[i].kind),
                   g->found[i].tool, g->found[i].parameters, g->found[i].score, g->found[i].worked, g->found[i].failed);
}

/* What is written behind '=': a name, and the rest of the line. */
static const struct {
    daruma_str name;
    void (*play)(steps *g);
} directives[] = {
    {LIT("context"), play_context},   {LIT("summary"), play_summary},   {LIT("failures"), play_failures},
    {LIT("view"), play_view},         {LIT("resume"), play_resume},     {LIT("snapshot"), play_snapshot},
    {LIT("advance"), play_advance},   {LIT("goal"), play_goal},         {LIT("fact"), play_fact},
    {LIT("blocker"), play_blocker},   {LIT("tool"), play_tool},         {LIT("due"), play_due},
    {LIT("estimate"), play_estimate}, {LIT("strategy"), play_strategy}, {LIT("tried"), play_tried},
    {LIT("question"), play_question}, {LIT("lessons"), play_lessons},   {LIT("counted"), play_counted},
    {LIT("reset"), play_reset},
};

static bool play_directive(steps *g, daruma_str line)
{
    g->rest = str_trim(str_from(line, 1));
    daruma_str name = str_cut(&g->rest, ' ');
    g->rest = str_trim(g->rest);
    for (size_t i = 0; i < COUNT(directives); i++)
        if (str_eq(name, directives[i].name)) {
            directives[i].play(g);
            return !g->at.why[0];
        }
    return wrong(g, "what is to be done here?", line);
}

/* ---- a scene -------------------------------------------------------------------------------------------- */

static bool play_script(steps *g, char *scratch)
{
    for (size_t i = 0; i < g->s->nsteps; i++)
        for (uint32_t n = 1; n <= g->s->steps[i].times; n++) {
            g->at.line = g->s->steps[i].line;
            g->scratch = arena_over(scratch, SCRATCH_BYTES);
            daruma_str line = replay_expand(g->s->steps[i].what, n, &g->scratch);
            if (line.n && line.p[0] == '=' ? !play_directive(g, line) : !play_step(g, line))
                return false;
            if (g->scratch.full || g->a.full)
                return wrong(g, "no memory for", line);
        }
    return true;
}

bool replay_steps_run(replay_scene *s, daruma_buf *log, char why[256])
{
    char *room = malloc(REPLAY_ROOM_BYTES), *scratch = malloc(SCRATCH_BYTES);
    bool ok = false;
    if (room && scratch) {
        steps g = {.s = s, .log = log, .at = {.file = s->file, .why = why}, .a = arena_over(room, REPLAY_ROOM_BYTES)};
        g.tracker = daruma_tracker_new(&g.a, &s->policy);
        g.stall = daruma_stall_new(&g.a);
        g.lessons = daruma_lessons_new(&g.a, LESSONS);
        g.estimate.progress = -1;
        ok = play_script(&g, scratch);
    } else {
        snprintf(why, 256, "%s: no memory", s->file);
    }
    free(scratch);
    free(room);
    return ok;
}
