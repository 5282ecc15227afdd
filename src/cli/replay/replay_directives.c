/* replay_directives.c - what a scene of steps has between its steps behind '=': to show what the tracker holds, to
 * change what is known, to ask the scene's model. doc/cases.md is the format. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay_steps.h"

static void show(steps *g, const char *name, void (*write)(const daruma_tracker *, daruma_buf *))
{
    daruma_buf b = buf_in(&g->scratch);
    write(g->tracker, &b);
    buf_printf(g->log, "%s%s\n", name, b.n ? "" : " empty");
    steps_show_page(g, buf_str(&b));
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
        steps_put_flat(g->log, f[i].message);
        buf_putc(g->log, '\n');
    }
}

/* The newest step, if it failed, as full, compact, summary or hidden. */
static void play_view(steps *g)
{
    int view = replay_word_index(g->rest, "full compact summary hidden");
    if (view < 0) {
        replay_wrong(&g->at, "a view is full, compact, summary or hidden, not", g->rest);
        return;
    }
    daruma_buf b = buf_in(&g->scratch);
    daruma_tool_failure f = daruma_tool_judge(&g->last, &g->s->policy, &g->scratch);
    daruma_tool_failure_write(&f, (daruma_view)view, &b);
    buf_printf(g->log, "view%s\n", b.n ? "" : " empty");
    steps_show_page(g, buf_str(&b));
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
        return replay_wrong(&g->at, "no memory for", S("snapshot"));
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
        replay_wrong(&g->at, "expected a duration, not", g->rest);
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
        replay_wrong(&g->at, "a scene has at most 16 of these:", g->rest);
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
        replay_wrong(&g->at, "a scene has at most 16 tools, and then", g->rest);
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
                               .schema = steps_schema_of(g, g->failure.tool),
                               .error = g->failure.signature};
        s.nlessons = daruma_lessons_find(g->lessons, &k, steps_moment(g).wall, g->found, DARUMA_LESSONS_SHOWN);
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
            replay_wrong(&g->at, "expected stuck, blocked, progress=PERCENT or steps=N, not", name);
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
    daruma_str answer = steps_next_answer(g);
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
        replay_wrong(&g->at, "strategies are logged (log), asked about (ask) or carried out (auto), not", g->rest);
        return;
    }
    daruma_situation s = situation(g);
    daruma_strategy y;
    if (!daruma_strategy_learned(&s, &g->tries, &g->s->policy, &y)) {
        daruma_buf why = buf_in(&g->scratch);
        daruma_str answer = steps_next_answer(g);
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
        replay_wrong(&g->at, "no strategy stands before", S("= tried"));
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
    steps_show_page(g, q.user);
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

bool steps_direct(steps *g, daruma_str line)
{
    g->rest = str_trim(str_from(line, 1));
    daruma_str name = str_cut(&g->rest, ' ');
    g->rest = str_trim(g->rest);
    for (size_t i = 0; i < COUNT(directives); i++)
        if (str_eq(name, directives[i].name)) {
            directives[i].play(g);
            return !g->at.why[0];
        }
    return replay_wrong(&g->at, "what is to be done here?", line);
}
