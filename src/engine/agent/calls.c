/* calls.c - the calls of one answer, carried out one after the other: who is asked before, what each came to, whether
 * it failed, and whether the agent goes in circles. */
#include "engine/agent/inside.h"
#include "engine/mend/pairs/pairs.h"
#include "engine/watch/toolfail.h"

/* ---- what a call came to ---- */

/* What is said of a run that ends with that circle, before which one it is. */
static const char *circle_means(const agent *a, daruma_circle c)
{
    const char *words = a->policy->circle_words[c];
    return words ? words : "The task is not finished: the agent went in circles. ";
}

/* The run ends with what there is. */
static void calls_stop(agent *a, const daruma_verdict *v, const daruma_step *step)
{
    daruma_buf text = buf_in(&a->scratch);
    buf_putz(&text, circle_means(a, v->circle));
    daruma_verdict_say(v, step, &text);
    flow_stop(a, &text);
}

static void tell_circle(agent *a, const daruma_verdict *v)
{
    LOG(a, "loop_detected", "circle", daruma_circle_name(v->circle), "times", v->times);
}

/* A profile for which a circle is the end: at once, or behind a strategy that is written down. */
static void end_circle(agent *a, const daruma_verdict *v, const daruma_step *step)
{
    daruma_buf said = buf_in(&a->scratch);
    tell_circle(a, v);
    if (!a->policy->strategies) {
        calls_stop(a, v, step);
        return;
    }
    daruma_verdict_say(v, step, &said);
    a->loop.circle = flow_text(a, buf_str(&said));
    a->loop.wants_way = a->loop.ends = true;
}

/* Counts a step, and looks whether the agent goes in circles. */
static void count_step(agent *a, agent_step *s, const daruma_step *step)
{
    s->tracked = ++a->loop.tracked;
    bool patient = daruma_tracker_see(a->loop.tracker, (daruma_str){0}, step, a->at, &a->scratch);
    a->out_of_patience |= !patient && (a->policy->compact || a->policy->escalates);
    if (!a->policy->watched)
        return;
    bool own = a->recovery->watch.detectors != NULL;
    daruma_verdict v =
        own ? daruma_detector_see(&a->loop.detector, a->recovery, step, NULL) : daruma_stall_see(a->loop.stall, step);
    bool new = daruma_progress_see(&a->loop.progress, a->recovery, step);
    if (new) {
        daruma_tries_worked(&a->loop.tries, a->recovery, step->tool);
        a->loop.wants_any &= a->policy->loops_end; /* the notice was enough */
    }
    if (a->policy->loops_end) {
        if (v.circle)
            end_circle(a, &v, step);
        return;
    }
    uint32_t have = a->policy->strategies ? DARUMA_NEED_SIDE : 0;
    daruma_remedy_kind r = daruma_guide_next(&a->loop.guide, a->recovery, &v, DARUMA_WATCH_ENFORCE, have);
    if (r == DARUMA_REMEDY_NONE)
        return;
    daruma_buf said = buf_in(&a->scratch);
    tell_circle(a, &v);
    if (r == DARUMA_REMEDY_STOP_PARTIAL) {
        calls_stop(a, &v, step);
        return;
    }
    daruma_guide_notice(&a->loop.guide, &v, step, &said);
    a->notice = flow_text(a, buf_str(&said));
    said.n = 0;
    daruma_verdict_say(&v, step, &said);
    a->loop.circle = flow_text(a, buf_str(&said));
    a->loop.wants_way |= r == DARUMA_REMEDY_STRATEGY;
    a->loop.means = circle_means(a, v.circle);
    if (r == DARUMA_REMEDY_FORCE_FINISH)
        a->last = LAST_LOOP;
}

/* May a call that failed have had an effect all the same? What was cut off or timed out behind the tool may have. */
static bool may_have_acted(const agent_step *s, const agent_tool *t, const daruma_step *step, const agent_failure *f)
{
    bool broke_off = f->tool_kind == DARUMA_TOOL_TIMEOUT_KIND || f->tool_kind == DARUMA_TOOL_NETWORK_KIND;
    if (!s->attempts || agent_tool_is_safe(t) || (t && (t->delegates || t->whole)))
        return false;
    return step->lost || (broke_off && !f->unmade);
}

/* Words for the model behind a failure: which path may be meant, and that the outcome is unknown. */
static void put_advice(agent *a, const agent_step *s, const daruma_step *step, const agent_failure *f, bool acted,
                       daruma_buf *out)
{
    bool gone = a->policy->completes_paths && f->tool_kind == DARUMA_TOOL_NOT_FOUND_KIND;
    daruma_str near = gone ? paths_near(a, s) : (daruma_str){0};
    if (near.n)
        BUF_SAY(out, "\nA tool printed the path `", near, "`: take it if that is the one.");
    bool said = step->lost && !step->result.n && out->n; /* what stands there says that it was lost */
    if (acted)
        buf_putz(out, said ? "\nLook before you make this call again."
                           : "\nWhether this call had its effect is unknown. Look before you make it again.");
}

/* What a tool said, all of it: what it suggests may stand anywhere. A person's words for it take its place. */
static daruma_str said_of(const daruma_step *step, const agent_failure *f)
{
    daruma_str all = str_trim(step->result);
    if (f->user_message.n)
        return f->user_message;
    return all.n ? flow_line(all, AGENT_OUTPUT_BYTES_MAX) : f->message;
}

/* How the model reads a failure. */
static void failure_seen(agent *a, const daruma_step *step, const agent_failure *f, daruma_buf *out)
{
    if (a->policy->actions) {
        actions_put_failure(a, &a->steps[a->failing], step->result, out);
    } else if (a->policy->compact) {
        daruma_tool_failure t = daruma_tool_judge(step, a->recovery, &a->scratch);
        t.kind = f->tool_kind ? f->tool_kind : t.kind;
        toolfail_write(&t, DARUMA_VIEW_COMPACT, 1, a->recovery->watch.escapes, out);
        if (!f->metadata.n && !f->user_message.n)
            return;
        buf_putc(out, '\n');
    } else {
        BUF_SAY(out, "ERROR in ", f->operation, ": ", said_of(step, f),
                "\nSeverity: ", daruma_severity_name(f->severity));
        if (!f->metadata.n)
            return;
        buf_putc(out, '\n');
    }
    if (!a->policy->actions)
        agent_failure_write(f, out);
}

/* The call once more, with a path that tools have printed. */
static bool complete_path(agent *a, agent_step *s, const agent_tool *t, const agent_failure *f)
{
    daruma_str args, from, to;
    bool reads = t && (t->about.traits & DARUMA_TOOL_KNOWN) && (t->about.traits & DARUMA_TOOL_READS);
    if (!a->policy->completes_paths || !reads || !s->attempts || s->instead.n ||
        f->tool_kind != DARUMA_TOOL_NOT_FOUND_KIND || !paths_complete(a, s, &args, &from, &to))
        return false;
    daruma_buf note = buf_in(&a->scratch);
    LOG(a, "path_completed", "tool", s->tool, "from", from, "to", to);
    BUF_SAY(&note, "[`", from, "` does not exist; this is `", to, "`. Use full paths as they were printed.]\n");
    s->instead = flow_text(a, args);
    s->note = flow_text(a, buf_str(&note));
    s->done = s->failed = false;
    return true;
}

/* True if a call that failed with `f` did nothing, or nothing that it may not do twice. Of a tool that is a whole
 * program (a shell, another agent) a refused connection is the failure of one part of what it did. */
static bool may_be_repeated(const agent_tool *t, const agent_failure *f)
{
    return agent_tool_is_safe(t) || (f->unmade && t && !t->whole && !t->delegates);
}

/* Failures of tools without a word about their severity: what may pass and does no harm twice is repeated, all else the
 * model decides. */
static void tool_failed(agent *a, agent_step *s, const agent_tool *t, const daruma_step *step)
{
    agent_failure f = router_judge_tool(a, t, step);
    a->failing = (size_t)(s - a->steps);
    a->recovering = false; /* what was tried again did not work */
    daruma_buf seen = buf_in(&a->scratch);
    if (t && (t->delegates || t->whole))
        buf_put(&seen, flow_line(step->result, AGENT_OBSERVATION_BYTES_MAX)); /* a record, output: read as they are */
    else
        failure_seen(a, step, &f, &seen);
    bool acted = a->policy->guards_effects && may_have_acted(s, t, step, &f);
    put_advice(a, s, step, &f, acted, &seen);
    s->lost |= acted;
    router_keep(a, &f);
    traj_result(a, s, step->lost && !step->result.n ? S(MEND_UNKNOWN_RESULT) : step->result, true, buf_str(&seen));
    s->error = a->failure.message;
    s->tool_kind = f.tool_kind;
    a->failure_took = a->at.now - a->sent;
    LOG(a, "tool_failed", "tool", s->tool, "kind", daruma_tool_kind_name(f.tool_kind), "severity",
        daruma_severity_name(f.severity), "message", a->failure.message, "attempt", s->attempts);
    if (t && t->delegates && s->attempts)
        LOG(a, "delegation_error", "delegate_to", s->tool, "error_class",
            json_text(json_get(step->result, S("error_class")), &a->scratch), "error_message",
            json_text(json_get(step->result, S("message")), &a->scratch));
    if (complete_path(a, s, t, &f))
        return;
    if (!s->attempts || (!f.said && a->policy->tools_to_model)) { /* a call that was refused is the model's to mend */
        if (s->attempts && a->policy->repeats_safe_tools && f.retryable && may_be_repeated(t, &f) && router_again(a, s))
            return;
        count_step(a, s, step);
        return;
    }
    router_route(a, s);
    if (a->phase == PHASE_TOOLS && s->done)
        count_step(a, s, step);
}

void calls_ended(agent *a, agent_step *s, daruma_str result, int ok, bool lost)
{
    const agent_tool *t = router_tool(a, s->tool);
    daruma_step step = {
        .tool = s->tool, .args = s->args, .result = result, .ok = ok, .lost = lost, .traits = t ? t->about.traits : 0};
    s->lost = lost;
    if (lost)
        step.ok = 0;
    daruma_buf why = buf_in(&a->scratch);
    if (!lost && s->attempts && t && t->output.n && !daruma_step_failed(&step)) {
        daruma_buf bad = buf_in(&a->scratch);
        if (!daruma_schema_fits(t->output, result, &bad)) {
            BUF_SAY(&why,
                    "the tool returned data that did not validate: ", flow_line(buf_str(&bad), FAILURE_TEXT_BYTES_MAX));
            step.result = buf_str(&why);
            step.ok = 0;
        }
    }
    if (lost || daruma_step_failed(&step)) {
        tool_failed(a, s, t, &step);
        return;
    }
    args_worked(a, s->tool);
    daruma_buf seen = buf_in(&a->scratch);
    BUF_SAY(&seen, s->note, s->note.n ? flow_line(result, AGENT_OBSERVATION_BYTES_MAX) : (daruma_str){0});
    traj_result(a, s, result, false, buf_str(&seen));
    if (s->attempts > 1)
        think_recovered(a, s->instead.n ? "path_completed" : "tool_retry");
    if (report_is(a, s->tool)) {
        report_made(a, s);
        return;
    }
    count_step(a, s, &step);
}

/* A call that cannot be carried out gets its result at once: what is wrong with it. */
void calls_refuse(agent *a, agent_step *s, daruma_str why)
{
    calls_ended(a, s, why, 0, false);
}

/* ---- carrying them out ---- */

/* Did a person decide about that call before? 1 allowed, 0 denied, -1 not asked: no question twice. */
static int decided(const agent *a, uint64_t call)
{
    for (size_t i = 0; i < a->nverdicts; i++)
        if ((a->verdicts[i] | 1) == (call | 1))
            return (int)(a->verdicts[i] & 1);
    return -1;
}

void calls_decide(agent *a, uint64_t call, bool allowed)
{
    if (a->nverdicts < AGENT_VERDICTS_MAX)
        a->verdicts[a->nverdicts++] = (call & ~(uint64_t)1) | allowed;
}

static void ask_person(agent *a, const agent_step *s, const agent_tool *t)
{
    daruma_buf b = buf_in(&a->scratch);
    BUF_SAY(&b, "May the agent call ", s->tool, " with ", flow_line(s->args, FAILURE_TEXT_BYTES_MAX), "?");
    flow_out(a, OUT_PERSON,
             (agent_act){.what = AGENT_DO_ASK, .text = buf_str(&b), .tool = s->tool, .args = s->args, .about = t});
}

/* That what was looked for is not there is an answer, too. */
bool calls_looks(const agent *a, const agent_step *s)
{
    if (s->kind != AGENT_STEP_CALL || !s->done)
        return false;
    return !s->failed || (s->attempts && !s->lost && s->tool_kind == DARUMA_TOOL_NOT_FOUND_KIND &&
                          agent_tool_is_safe(router_tool(a, s->tool)));
}

/* Is it a call whose effect there may be already, and nothing was looked at since? */
static bool acts_blindly(const agent *a, const agent_step *s, const agent_tool *t)
{
    uint64_t call = daruma_call_hash(s->tool, s->args);
    if (!a->policy->guards_effects || agent_tool_is_safe(t))
        return false;
    for (const agent_step *e = s; e-- > a->steps;) {
        if (e->kind != AGENT_STEP_CALL || !e->done)
            continue;
        if (!str_eq(e->tool, s->tool) && calls_looks(a, e))
            return false;
        if (e->lost && !e->looked && daruma_call_hash(e->tool, e->args) == call)
            return true;
    }
    return false;
}

static bool goes_round(const agent *a, daruma_str name)
{
    bool found = a->s.nlineage >= AGENT_LINEAGE_MAX || str_eq(a->s.name, name);
    for (size_t i = 0; i < a->s.nlineage; i++)
        found |= str_eq(a->s.lineage[i], name);
    return found;
}

static void call_tool(agent *a, agent_step *s)
{
    const agent_tool *t = router_tool(a, s->tool);
    if (t && t->delegates && goes_round(a, s->tool)) {
        daruma_buf path = buf_in(&a->scratch);
        for (size_t i = 0; i < a->s.nlineage; i++)
            BUF_SAY(&path, a->s.lineage[i], " -> ");
        buf_put(&path, a->s.name);
        LOG(a, "delegation_circular_dependency", "target", s->tool, "delegation_path", buf_str(&path));
        calls_refuse(a, s, S("Error: circular delegation: that agent is waiting for this one. Do the work yourself."));
        return;
    }
    if (t && t->forbidden) {
        calls_refuse(a, s, S("Error: this tool is not permitted in this run. Use another one."));
        return;
    }
    if (acts_blindly(a, s, t)) {
        calls_refuse(a, s,
                     S("Error: held back: this call was made before and may have had its effect. Look whether it had, "
                       "with another tool, and decide then."));
        return;
    }
    if (t && t->ask && !s->asked) {
        int known = decided(a, daruma_call_hash(s->tool, s->args));
        if (known < 0) {
            ask_person(a, s, t);
            return;
        }
        if (known == 0) {
            calls_refuse(a, s, S("Error: permission denied: the user did not allow this call."));
            return;
        }
        s->asked = true;
    }
    s->attempts++;
    a->spent.tools++;
    LOG(a, "tool_called", "tool", s->tool, "arguments", s->instead.n ? s->instead : s->args, "attempt", s->attempts);
    if (t && t->own) {
        report_take(a, s);
        return;
    }
    flow_out(a, OUT_TOOL,
             (agent_act){.what = AGENT_DO_TOOL,
                         .tool = s->tool,
                         .args = s->instead.n ? s->instead : s->args,
                         .about = t,
                         .total = limits_time_left(a)});
}

void calls_step(agent *a)
{
    while (a->next < a->nsteps && (a->steps[a->next].kind != AGENT_STEP_CALL || a->steps[a->next].done))
        a->next++;
    if (a->out_of_patience) {
        daruma_escalation e = daruma_tracker_escalation(a->loop.tracker);
        if (a->s.mode == AGENT_PLANNED && a->spent.replans < a->policy->replans) {
            daruma_tracker_resume(a->loop.tracker);
            a->out_of_patience = false;
            router_planner(a);
        } else if (a->policy->escalates) {
            error_escalate(a, e.reason.n ? e.reason : S("Too many errors"));
        } else {
            error_node_enter(a);
        }
        return;
    }
    if (a->next >= a->nsteps) {
        a->phase = a->loop.wants_way || a->loop.wants_any ? PHASE_ADAPT
                   : a->policy->estimates                 ? PHASE_ESTIMATE
                                                          : PHASE_THINK;
        return;
    }
    agent_step *s = &a->steps[a->next];
    /* What is reported counts, whatever limit the answer reached that reports it (K-F19). */
    agent_limit l = report_is(a, s->tool) ? AGENT_LIMIT_NONE : limits_reached(a, false, true);
    if (l == AGENT_LIMIT_TOOLS && a->policy->ends_hard) {
        daruma_buf why = buf_in(&a->scratch);
        buf_printf(&why, "Hop budget exhausted; no further tool can be called (limit=%u)", a->s.limits.tools);
        a->hops_over = true;
        calls_refuse(a, s, buf_str(&why));
    } else if (l == AGENT_LIMIT_TOOLS) {
        traj_result(a, s, S("[Not carried out: the limit of tool calls is reached.]"), true, (daruma_str){0});
        a->last = LAST_LIMIT;
    } else if (l) {
        flow_limit(a, l);
    } else {
        call_tool(a, s);
    }
}
