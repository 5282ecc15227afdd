/* replay_steps.c - scenes of agents that are not ours, a host without an agent: it hands the steps of a script to the
 * tracker and the detectors, climbs the ladder as a host would, asks the scene's model for ways out, learns from the
 * steps that follow, and writes down each. doc/cases.md is the format. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay_steps.h"
#include <stdio.h>
#include <stdlib.h>

daruma_moment steps_moment(const steps *g)
{
    return (daruma_moment){.now = g->now, .wall = AGENT_WALL_BEGIN + g->now / 1000, .dice = g->s->seed};
}

daruma_str steps_next_answer(steps *g)
{
    if (g->asked >= g->s->nmodel)
        return (daruma_str){0};
    daruma_str said = replay_expand(g->s->model[g->asked++], 0, &g->a);
    if (str_eq(said, S("fail")))
        return (daruma_str){0};
    return replay_plain(said, &g->a);
}

void steps_show_page(steps *g, daruma_str text)
{
    while (text.n) {
        daruma_str line = str_cut(&text, '\n');
        BUF_SAY(g->log, line.n ? "| " : "|", line, "\n");
    }
}

void steps_put_flat(daruma_buf *log, daruma_str text)
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
        return replay_wrong(&g->at, "expected TOOL ARGUMENTS -> RESULT (or !>, ?>, lost), not", rest);
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
    steps_put_flat(g->log, f.message);
    if (f.suggestion.n)
        BUF_SAY(g->log, "\nsuggestion ", f.suggestion);
}

static void track(steps *g, daruma_str key, const daruma_step *step)
{
    bool was = daruma_tracker_escalation(g->tracker).needs_review;
    bool go_on = daruma_tracker_see(g->tracker, key, step, steps_moment(g), &g->scratch);
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
        steps_put_flat(g->log, daruma_tracker_escalation(g->tracker).reason);
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
        steps_put_flat(g->log, buf_str(&b));
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
        steps_show_page(g, buf_str(&b));
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

daruma_str steps_schema_of(const steps *g, daruma_str tool)
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
                           steps_schema_of(g, g->last.tool), steps_moment(g).wall, &g->scratch);
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

/* ---- a scene -------------------------------------------------------------------------------------------- */

static bool play_script(steps *g, char *scratch)
{
    for (size_t i = 0; i < g->s->nsteps; i++)
        for (uint32_t n = 1; n <= g->s->steps[i].times; n++) {
            g->at.line = g->s->steps[i].line;
            g->scratch = arena_over(scratch, SCRATCH_BYTES);
            daruma_str line = replay_expand(g->s->steps[i].what, n, &g->scratch);
            if (line.n && line.p[0] == '=' ? !steps_direct(g, line) : !play_step(g, line))
                return false;
            if (g->scratch.full || g->a.full)
                return replay_wrong(&g->at, "no memory for", line);
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
