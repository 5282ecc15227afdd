/* replay_steps.c - a host without an agent: it hands the steps of a script to the tracker and the detectors, climbs the
 * ladder as a host would, and writes down each step. doc/cases.md is the format. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/replay/replay_adapt.h"
#include <stdio.h>
#include <stdlib.h>

enum { AGENT_WALL_BEGIN = 1767225600, SCRATCH_BYTES = 8 << 20, FAILURES = 64 };

bool replay_steps_wrong(const replay_agent *g, const char *what, daruma_str about)
{
    return replay_wrong(&g->at, what, about);
}

daruma_moment replay_steps_moment(const replay_agent *g)
{
    return (daruma_moment){.now = g->now, .wall = AGENT_WALL_BEGIN + g->now / 1000, .dice = g->s->seed};
}

daruma_str replay_steps_answer(replay_agent *g)
{
    if (g->asked >= g->s->nmodel)
        return (daruma_str){0};
    daruma_str said = replay_expand(g->s->model[g->asked++], 0, &g->a);
    if (str_eq(said, S("fail")))
        return (daruma_str){0};
    return replay_plain(said, &g->a);
}

void replay_steps_show(replay_agent *g, daruma_str text)
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
static bool read_step(replay_agent *g, daruma_str line, daruma_step *ret, daruma_str *key)
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
    size_t arrow = replay_arrow(rest, &ret->ok);
    if (arrow != STR_NONE) {
        ret->args = str_trim(str_sub(rest, 0, arrow));
        ret->result = replay_plain(str_trim(str_from(rest, arrow + 2)), &g->scratch);
    } else if (str_eq(rest, S("lost")) || str_ends(rest, S(" lost"))) {
        ret->args = str_trim(str_sub(rest, 0, rest.n - 4));
        ret->lost = true;
    } else {
        return replay_steps_wrong(g, "expected TOOL ARGUMENTS -> RESULT (or !>, ?>, lost), not", rest);
    }
    if (str_eq(ret->tool, S("(agent)")))
        ret->tool = S("");
    return true;
}

/* ---- what daruma says of it ------------------------------------------------------------------------- */

static void log_step_failure(replay_agent *g, const daruma_step *step, bool go_on)
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
    if (f.suggestion.n) {
        BUF_SAY(g->log, "\nsuggestion ", f.suggestion);
    }
}

static void track(replay_agent *g, daruma_str key, const daruma_step *step)
{
    bool was = daruma_tracker_escalation(g->tracker).needs_review;
    bool go_on = daruma_tracker_see(g->tracker, key, step, replay_steps_moment(g), &g->scratch);
    buf_printf(g->log, "step %u", g->nsteps);
    if (step->tool.n || key.n) {
        BUF_SAY(g->log, " ", step->tool.n ? step->tool : key);
    }
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

static void log_circle(replay_agent *g, const char *rule)
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
static void climb(replay_agent *g)
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

static void detect(replay_agent *g)
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
static void keep_last(replay_agent *g, const daruma_step *step)
{
    g->last = *step;
    g->last.tool = arena_copy(&g->a, step->tool);
    g->last.args = arena_copy(&g->a, step->args);
    g->last.result = arena_copy(&g->a, step->result);
}

static bool play_step(replay_agent *g, daruma_str line)
{
    daruma_step step;
    daruma_str key;
    if (!read_step(g, line, &step, &key))
        return false;
    g->nsteps++;
    replay_adapt_begin(g);
    track(g, key, &step);
    keep_last(g, &step);
    detect(g);
    replay_adapt_end(g);
    return true;
}

/* ---- directives -------------------------------------------------------------------------------------- */

static bool show(replay_agent *g, const char *name, void (*write)(const daruma_tracker *, daruma_buf *))
{
    daruma_buf b = buf_in(&g->scratch);
    write(g->tracker, &b);
    buf_printf(g->log, "%s%s\n", name, b.n ? "" : " empty");
    replay_steps_show(g, buf_str(&b));
    return true;
}

static bool play_context(replay_agent *g, daruma_str rest)
{
    (void)rest;
    return show(g, "context", daruma_tracker_context);
}

static bool play_summary(replay_agent *g, daruma_str rest)
{
    (void)rest;
    return show(g, "summary", daruma_tracker_summary);
}

static bool play_failures(replay_agent *g, daruma_str rest)
{
    daruma_tool_failure f[FAILURES];
    size_t n = daruma_tracker_list(g->tracker, f, FAILURES);
    (void)rest;
    buf_printf(g->log, "failures %zu\n", n);
    for (size_t i = 0; i < n && i < FAILURES; i++) {
        buf_printf(g->log, "| step %u ", f[i].step);
        buf_put(g->log, f[i].tool);
        buf_printf(g->log, " %s%s%s: ", daruma_tool_kind_name(f[i].kind), f[i].retryable ? " retryable" : "",
                   f[i].resolved ? " resolved" : "");
        put_flat(g->log, f[i].message);
        buf_putc(g->log, '\n');
    }
    return true;
}

/* The newest step, if it failed, as full, compact, summary or hidden. */
static bool play_view(replay_agent *g, daruma_str rest)
{
    static const daruma_str names[] = {LIT("full"), LIT("compact"), LIT("summary"), LIT("hidden")};
    for (int v = 0; v < 4; v++) {
        if (!str_eq(rest, names[v]))
            continue;
        daruma_buf b = buf_in(&g->scratch);
        daruma_tool_failure f = daruma_tool_judge(&g->last, &g->s->policy, &g->scratch);
        daruma_tool_failure_write(&f, (daruma_view)v, &b);
        buf_printf(g->log, "view%s\n", b.n ? "" : " empty");
        replay_steps_show(g, buf_str(&b));
        return true;
    }
    return replay_steps_wrong(g, "a view is full, compact, summary or hidden, not", rest);
}

static bool play_resume(replay_agent *g, daruma_str rest)
{
    (void)rest;
    daruma_tracker_resume(g->tracker);
    BUF_LIT(g->log, "resume\n");
    return true;
}

/* A copy of the state at `*p`; what was copied is wiped. */
static bool move(replay_agent *g, void *p, size_t bytes)
{
    void *from, *to = arena_take(&g->a, bytes, _Alignof(max_align_t));
    memcpy(&from, p, sizeof from);
    if (!to)
        return replay_steps_wrong(g, "no memory for", S("snapshot"));
    memcpy(to, from, bytes);
    memset(from, 0xa5, bytes);
    memcpy(p, &to, sizeof to);
    return true;
}

/* All goes on with copies. */
static bool play_snapshot(replay_agent *g, daruma_str rest)
{
    (void)rest;
    return move(g, &g->tracker, daruma_tracker_bytes()) && move(g, &g->stall, daruma_stall_bytes());
}

static bool play_advance(replay_agent *g, daruma_str rest)
{
    daruma_ms by = replay_duration(rest);
    g->now += by > 0 ? by : 0;
    return by >= 0 ? true : replay_steps_wrong(g, "expected a duration, not", rest);
}

static const replay_directive directives[] = {
    {"context", play_context}, {"summary", play_summary},   {"failures", play_failures}, {"view", play_view},
    {"resume", play_resume},   {"snapshot", play_snapshot}, {"advance", play_advance},
};

static bool play_directive(replay_agent *g, daruma_str line)
{
    daruma_str rest = str_trim(str_from(line, 1)), name = str_cut(&rest, ' ');
    for (size_t i = 0; i < COUNT(directives); i++)
        if (str_eq(name, str_of(directives[i].name)))
            return directives[i].play(g, str_trim(rest));
    for (size_t i = 0; i < nreplay_adapt_directives; i++)
        if (str_eq(name, str_of(replay_adapt_directives[i].name)))
            return replay_adapt_directives[i].play(g, str_trim(rest));
    return replay_steps_wrong(g, "what is to be done here?", line);
}

/* ---- a scene -------------------------------------------------------------------------------------------- */

static bool play_script(replay_agent *g, char *scratch)
{
    for (size_t i = 0; i < g->s->nsteps; i++)
        for (uint32_t n = 1; n <= g->s->steps[i].times; n++) {
            g->at.line = g->s->steps[i].line;
            g->scratch = arena_over(scratch, SCRATCH_BYTES);
            daruma_str line = replay_expand(g->s->steps[i].what, n, &g->scratch);
            if (line.n && line.p[0] == '=' ? !play_directive(g, line) : !play_step(g, line))
                return false;
            if (g->scratch.full || g->a.full)
                return replay_steps_wrong(g, "no memory for", line);
        }
    return true;
}

bool replay_steps_run(replay_scene *s, daruma_buf *log, char why[256])
{
    char *room = malloc(REPLAY_ROOM_BYTES), *scratch = malloc(SCRATCH_BYTES);
    bool ok = false;
    if (room && scratch) {
        replay_agent g = {
            .s = s, .log = log, .at = {.file = s->file, .why = why}, .a = arena_over(room, REPLAY_ROOM_BYTES)};
        g.tracker = daruma_tracker_new(&g.a, &s->policy);
        g.stall = daruma_stall_new(&g.a);
        g.adapt = replay_adapt_new(&g.a);
        ok = play_script(&g, scratch);
    } else {
        snprintf(why, 256, "%s: no memory", s->file);
    }
    free(scratch);
    free(room);
    return ok;
}
