/* flow.c - the order of work: what is asked for next, and what becomes of each outcome.
 *
 *     reactive                     THINK <--> TOOLS --> answer
 *     planned   CLASSES -> PLAN -> THINK <--> TOOLS --> the next step of the plan ... --> answer
 *     either    a context that is too long: SHORTEN --> THINK;  what cannot go on: ANALYSE --> report
 *
 * One thing is out at a time. flow_step() goes on until something is out, or the run is over. */
#include "engine/agent/inside.h"
#include "engine/mend/mend.h"

/* ---- texts ---- */

daruma_str flow_keep(agent *a, daruma_str s)
{
    return s.n ? arena_copy(&a->keep, s) : (daruma_str){0};
}

daruma_str flow_line(daruma_str s, size_t most)
{
    if (s.n <= most)
        return s;
    while (most && ((unsigned char)s.p[most] & 0xc0) == 0x80)
        most--;
    return str_sub(s, 0, most);
}

/* ---- events ---- */

daruma_buf log_open(agent *a, const char *name)
{
    daruma_buf b = buf_in(&a->scratch);
    BUF_LIT(&b, "{\"event\":");
    buf_json(&b, str_of(name));
    if (a->s.name.n)
        log_str(&b, "agent", a->s.name);
    if (a->s.swarm_id.n)
        log_str(&b, "swarm_id", a->s.swarm_id);
    if (a->s.parent_swarm_id.n)
        log_str(&b, "parent_swarm_id", a->s.parent_swarm_id);
    log_int(&b, "step", a->spent.steps);
    return b;
}

void log_str(daruma_buf *b, const char *field, daruma_str s)
{
    buf_printf(b, ",\"%s\":", field);
    buf_json(b, flow_line(s, FAILURE_TEXT_BYTES_MAX));
}

void log_int(daruma_buf *b, const char *field, int64_t v)
{
    buf_printf(b, ",\"%s\":%lld", field, (long long)v);
}

void log_close(agent *a, daruma_buf *b)
{
    buf_putc(b, '}');
    if (!b->full && a->nevents < AGENT_EVENTS_MAX)
        a->events[a->nevents++] = daruma_redact(buf_str(b), &a->scratch);
}

/* ---- acts ---- */

void flow_out(agent *a, agent_out out, agent_act act)
{
    act.call = ++a->calls;
    a->out = out;
    a->act = act;
    a->given = false;
    a->sent = a->at.now;
}

void flow_wait(agent *a, daruma_ms ms)
{
    if (ms <= 0)
        return;
    a->spent.waited = add_sat(a->spent.waited, ms);
    flow_out(a, OUT_TIME, (agent_act){.what = AGENT_DO_WAIT, .until = add_sat(a->at.now, ms)});
}

void flow_finish(agent *a, agent_result r)
{
    if (a->phase == PHASE_OVER)
        return;
    a->phase = PHASE_OVER;
    a->out = OUT_NONE;
    r.spent = a->spent;
    a->result = r;
    daruma_buf b = log_open(a, "run_finished");
    log_str(&b, "status", str_of(daruma_outcome_name(r.outcome)));
    log_str(&b, "reason", str_of(agent_end_name(r.end)));
    if (r.limit)
        log_str(&b, "limit", str_of(agent_limit_name(r.limit)));
    log_int(&b, "calls", a->spent.calls);
    log_int(&b, "tools", a->spent.tools);
    log_int(&b, "failures", a->spent.failures);
    log_int(&b, "recoveries", a->spent.recoveries);
    log_close(a, &b);
    a->act = (agent_act){.what = AGENT_DO_FINISH};
    a->given = false;
}

void flow_limit(agent *a, agent_limit l)
{
    daruma_buf text = buf_in(&a->keep);
    daruma_buf b = log_open(a, "budget_exhausted");
    log_str(&b, "which", str_of(agent_limit_name(l)));
    log_close(a, &b);
    BUF_LIT(&text, "The task is not finished: ");
    buf_putz(&text, agent_limit_words(l));
    buf_putc(&text, '.');
    traj_partial(a, &text);
    flow_finish(a, (agent_result){.outcome = DARUMA_OUTCOME_DEGRADED,
                                  .end = AGENT_END_LIMIT,
                                  .limit = l,
                                  .text = text.full ? str_of(agent_limit_words(l))
                                                    : flow_keep(a, daruma_redact(buf_str(&text), &a->scratch))});
}

void flow_note(agent *a, daruma_str text)
{
    agent_step *s = traj_add(a, AGENT_STEP_NOTE);
    if (s)
        s->thought = flow_keep(a, text);
}

static void ask_model(agent *a, agent_purpose purpose, daruma_str model, daruma_str body, daruma_ms total)
{
    daruma_buf b = log_open(a, "model_asked");
    static const char *const names[] = {"step", "classification", "plan", "summary", "strategy", "analysis"};
    log_str(&b, "purpose", str_of(names[purpose]));
    log_str(&b, "model", model);
    log_close(a, &b);
    a->spent.calls++;
    a->asked_tokens = text_tokens(body);
    flow_out(a, OUT_MODEL,
             (agent_act){.what = AGENT_DO_MODEL, .purpose = purpose, .model = model, .body = body, .total = total});
}

void flow_ask(agent *a, agent_purpose purpose, daruma_str model, const daruma_question *q, daruma_ms total)
{
    daruma_buf b = buf_in(&a->scratch);
    dialect_write_ask(a->s.d, model, q, &b);
    if (b.full)
        a->scratch.full = true;
    ask_model(a, purpose, model, buf_str(&b), total);
}

/* ---- THINK ---- */

/* Names of tools that the wire does not take are others there: they are known again by this list. */
static void keep_renames(agent *a, const convo *c)
{
    for (size_t i = 0; i < c->nrenames; i++) {
        bool known = false;
        for (size_t k = 0; k < a->nrenames; k++)
            known |= str_eq(a->renames[k].is, c->renames[i].is);
        if (!known && a->nrenames < a->s.ntools)
            a->renames[a->nrenames++] = (convo_rename){flow_keep(a, c->renames[i].was), flow_keep(a, c->renames[i].is)};
    }
}

static void say_last(convo *c, daruma_str text)
{
    convo_message *m = convo_add_message(c, CONVO_USER, (daruma_str){0});
    convo_part *p = m ? convo_add_part(c, m, PART_TEXT, (daruma_str){0}) : NULL;
    if (!p)
        return;
    p->ready = true;
    p->text = text;
}

/* A step begins: without anything new for long, the model is told, and another way is looked for. */
static void begin_progress(agent *a)
{
    if (!a->policy->watched || a->attempts)
        return;
    unsigned level = daruma_progress_begin(&a->progress, a->recovery);
    if (!level)
        return;
    daruma_buf b = log_open(a, "stuck_nudge"), said = buf_in(&a->scratch);
    log_int(&b, "level", level);
    log_close(a, &b);
    if (!a->notice.n) {
        daruma_progress_notice(&a->progress, level, &said);
        a->notice = flow_keep(a, buf_str(&said));
    }
    a->wants_way |= level > 1 && a->policy->strategies;
}

void flow_think(agent *a)
{
    agent_limit l = limits_reached(a, true, false);
    convo c, out;
    dialect_losses lost = {0};
    daruma_buf b = buf_in(&a->scratch);
    if (l) {
        flow_limit(a, l);
        return;
    }
    begin_progress(a);
    if (a->notice.n) {
        flow_note(a, a->notice);
        a->notice = (daruma_str){0};
    }
    if (a->last == LAST_NOT && limits_last_call(a))
        a->last = LAST_LIMIT;
    if (!agent_view(a, &a->scratch, &c)) {
        flow_limit(a, AGENT_LIMIT_MEMORY);
        return;
    }
    if (a->last) {
        c.set.choice = c.ntools ? CHOICE_NONE : CHOICE_UNSAID;
        say_last(&c,
                 S("This is the last step: no tool can be called any more. Answer now with what you have found, and "
                   "say plainly what is missing."));
    }
    if (dialect_convert(&c, a->s.d, &a->scratch, &out, &lost) != DARUMA_OK) {
        flow_limit(a, AGENT_LIMIT_MEMORY);
        return;
    }
    keep_renames(a, &out);
    a->s.d->write(&out, &b);
    if (b.full || a->scratch.full) {
        flow_limit(a, AGENT_LIMIT_MEMORY);
        return;
    }
    a->attempts++;
    ask_model(a, AGENT_FOR_STEP, a->s.model, buf_str(&b), limits_time_left(a));
}

/* Something worked behind a failure. */
static void recovered(agent *a, const char *how)
{
    a->recovering = false;
    a->spent.recoveries++;
    daruma_buf b = log_open(a, "error_recovery_success");
    log_str(&b, "error_type", str_of(daruma_kind_name(a->failure.kind)));
    log_str(&b, "strategy", str_of(how));
    log_close(a, &b);
}

static void model_failed(agent *a, const agent_failure *f)
{
    router_keep(a, f);
    a->failure_took = a->at.now - a->sent;
    daruma_buf b = log_open(a, "error_recovery_attempt");
    log_str(&b, "error_type", str_of(daruma_kind_name(f->kind)));
    log_str(&b, "error_message", a->failure.message);
    log_int(&b, "compress_attempt", a->shortened);
    log_close(a, &b);
    bool too_long = f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE;
    daruma_scope who = daruma_kind_scope(f->kind);
    if (too_long && a->phase == PHASE_THINK && a->policy->compressions)
        traj_shorten(a);
    else if (a->policy->graceful && a->phase == PHASE_THINK && f->kind != DARUMA_UNKNOWN && f->status >= 400 &&
             f->status < 500 && f->severity == DARUMA_CRITICAL &&
             (who == DARUMA_SICK_REQUEST || who == DARUMA_SICK_CONVERSATION))
        error_graceful(a);
    else
        router_route(a, NULL);
}

/* The answer is of no use: the model is told why and asked again, as often as the policy says. */
static void ask_again(agent *a, daruma_str why)
{
    if (a->repairs < a->policy->repairs && limits_reached(a, true, false) == AGENT_LIMIT_NONE) {
        a->repairs++;
        daruma_buf b = log_open(a, "planner_repair_attempt");
        log_int(&b, "attempt", a->repairs);
        log_str(&b, "error_summary", why);
        log_close(a, &b);
        flow_note(a, why);
        router_keep(a, &(agent_failure){.kind = DARUMA_MALFORMED_OUTPUT,
                                        .of_model = true,
                                        .operation = a->s.model,
                                        .message = why,
                                        .severity = DARUMA_RETRIABLE,
                                        .advice = -1});
        a->recovering = true;
        return;
    }
    model_failed(a, &(agent_failure){.kind = DARUMA_MALFORMED_OUTPUT,
                                     .of_model = true,
                                     .operation = a->s.model,
                                     .message = why,
                                     .severity = DARUMA_CRITICAL,
                                     .advice = -1});
}

static daruma_str words_of(const convo_message *m, daruma_arena *room)
{
    const convo c = {.arena = room};
    daruma_buf b = buf_in(room);
    for (size_t i = 0; i < m->nparts; i++) {
        if (m->parts[i].kind != PART_TEXT)
            continue;
        daruma_str text = convo_part_text(&c, &m->parts[i]);
        if (b.n && text.n)
            BUF_LIT(&b, "\n\n");
        buf_put(&b, text);
    }
    return flow_line(buf_str(&b), AGENT_ANSWER_BYTES_MAX);
}

bool flow_answer_text(agent *a, daruma_str body, daruma_str *ret)
{
    turn t = {.usage = TURN_USAGE_NONE};
    answer_view v = a->s.d->check(body, &a->scratch);
    if (v.flaw != DARUMA_FLAW_NONE || a->s.d->read_answer(body, &a->scratch, &t) != DARUMA_OK)
        return false;
    *ret = words_of(&t.message, &a->scratch);
    limits_usage(a, &t.usage, *ret);
    return true;
}

/* ---- what a call came to ---- */

/* Counts a step, and looks whether the agent goes in circles. */
static void count_step(agent *a, agent_step *s, const daruma_step *step)
{
    s->tracked = ++a->tracked;
    bool patient = daruma_tracker_see(a->tracker, (daruma_str){0}, step, a->at, &a->scratch);
    a->out_of_patience |= !patient && (a->policy->compact || a->policy->escalates);
    if (!a->policy->watched)
        return;
    daruma_verdict v = daruma_stall_see(a->stall, step);
    bool new = daruma_progress_see(&a->progress, a->recovery, step);
    if (new)
        daruma_tries_worked(&a->tries, a->recovery, step->tool);
    uint32_t have = a->policy->strategies ? DARUMA_NEED_SIDE : 0;
    daruma_remedy_kind r = daruma_guide_next(&a->guide, a->recovery, &v, DARUMA_WATCH_ENFORCE, have);
    if (r == DARUMA_REMEDY_NONE)
        return;
    daruma_buf b = log_open(a, "loop_detected"), said = buf_in(&a->scratch);
    log_str(&b, "circle", str_of(daruma_circle_name(v.circle)));
    log_int(&b, "times", v.times);
    log_close(a, &b);
    if (r == DARUMA_REMEDY_STOP_PARTIAL) {
        daruma_buf text = buf_in(&a->keep);
        BUF_LIT(&text, "The task is not finished: the agent went in circles. ");
        daruma_verdict_say(&v, step, &text);
        traj_partial(a, &text);
        flow_finish(a, (agent_result){.outcome = DARUMA_OUTCOME_DEGRADED,
                                      .end = AGENT_END_LOOP,
                                      .text = flow_keep(a, daruma_redact(buf_str(&text), &a->scratch))});
        return;
    }
    daruma_guide_notice(&a->guide, &v, step, &said);
    a->notice = flow_keep(a, buf_str(&said));
    said.n = 0;
    daruma_verdict_say(&v, step, &said);
    a->circle = flow_keep(a, buf_str(&said));
    a->wants_way |= r == DARUMA_REMEDY_STRATEGY;
    if (r == DARUMA_REMEDY_FORCE_FINISH)
        a->last = LAST_LOOP;
}

/* How the model reads a failure. */
static void failure_seen(agent *a, const daruma_step *step, const agent_failure *f, daruma_buf *out)
{
    if (a->policy->compact) {
        daruma_tool_failure t = daruma_tool_judge(step, a->recovery, &a->scratch);
        t.kind = f->tool_kind ? f->tool_kind : t.kind;
        daruma_tool_failure_write(&t, DARUMA_VIEW_COMPACT, out);
        if (!f->metadata.n && !f->user_message.n)
            return;
        buf_putc(out, '\n');
    } else {
        BUF_LIT(out, "ERROR in ");
        buf_put(out, f->operation);
        BUF_LIT(out, ": ");
        buf_put(out, f->user_message.n ? f->user_message : f->message);
        BUF_LIT(out, "\nSeverity: ");
        buf_putz(out, daruma_severity_name(f->severity));
        if (!f->metadata.n)
            return;
        buf_putc(out, '\n');
    }
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
    daruma_buf note = buf_in(&a->scratch), b = log_open(a, "path_completed");
    log_str(&b, "tool", s->tool);
    log_str(&b, "from", from);
    log_str(&b, "to", to);
    log_close(a, &b);
    BUF_LIT(&note, "[`");
    buf_put(&note, from);
    BUF_LIT(&note, "` does not exist; this is `");
    buf_put(&note, to);
    BUF_LIT(&note, "`. Use full paths as they were printed.]\n");
    s->instead = flow_keep(a, args);
    s->note = flow_keep(a, buf_str(&note));
    s->done = s->failed = false;
    return true;
}

/* Failures of tools without a word about their severity: what may pass and does no harm twice is repeated, all else the
 * model decides. */
static void tool_failed(agent *a, agent_step *s, const agent_tool *t, const daruma_step *step)
{
    agent_failure f = router_judge_tool(a, t, step);
    daruma_buf seen = buf_in(&a->scratch);
    if (t && t->delegates)
        buf_put(&seen, step->result); /* the record of an agent is as it shall be read */
    else
        failure_seen(a, step, &f, &seen);
    router_keep(a, &f);
    traj_result(a, s, step->result, true, buf_str(&seen));
    s->error = a->failure.message;
    s->tool_kind = f.tool_kind;
    a->failure_took = a->at.now - a->sent;
    daruma_buf b = log_open(a, "tool_failed");
    log_str(&b, "tool", s->tool);
    log_str(&b, "kind", str_of(daruma_tool_kind_name(f.tool_kind)));
    log_str(&b, "severity", str_of(daruma_severity_name(f.severity)));
    log_str(&b, "message", a->failure.message);
    log_int(&b, "attempt", s->attempts);
    log_close(a, &b);
    if (complete_path(a, s, t, &f))
        return;
    if (!s->attempts || (!f.said && a->policy->tools_to_model)) { /* a call that was refused is the model's to mend */
        if (s->attempts && a->policy->repeats_safe_tools && f.retryable && router_is_safe(t) && router_again(a, s))
            return;
        count_step(a, s, step);
        return;
    }
    router_route(a, s);
    if (a->phase == PHASE_TOOLS && s->done)
        count_step(a, s, step);
}

static void tool_ended(agent *a, agent_step *s, daruma_str result, int ok, bool lost)
{
    const agent_tool *t = router_tool(a, s->tool);
    daruma_step step = {
        .tool = s->tool, .args = s->args, .result = result, .ok = ok, .lost = lost, .traits = t ? t->about.traits : 0};
    s->lost = lost;
    if (lost && !result.n)
        step.result = S(MEND_UNKNOWN_RESULT);
    if (lost)
        step.ok = 0;
    if (lost || daruma_step_failed(&step)) {
        tool_failed(a, s, t, &step);
        return;
    }
    daruma_buf seen = buf_in(&a->scratch);
    buf_put(&seen, s->note);
    buf_put(&seen, s->note.n ? flow_line(result, AGENT_OBSERVATION_BYTES_MAX) : (daruma_str){0});
    traj_result(a, s, result, false, buf_str(&seen));
    if (s->attempts > 1)
        recovered(a, s->instead.n ? "path_completed" : "tool_retry");
    count_step(a, s, &step);
}

/* ---- an answer of the model ---- */

/* A call that cannot be carried out gets its result at once: what is wrong with it. */
static void refuse_call(agent *a, agent_step *s, daruma_str why)
{
    tool_ended(a, s, why, 0, false);
}

/* The tool that models know by that name; the name itself when there is none. */
static daruma_str real_name(agent *a, daruma_str name)
{
    for (size_t i = 0; i < a->s.ntools; i++) {
        daruma_str is = a->s.tools[i].about.name;
        if (str_eq(is, name) || str_eq(traj_wire_name(a, is, &a->scratch), name))
            return is;
    }
    return name;
}

static bool id_is_used(const agent *a, daruma_str id)
{
    for (size_t i = 0; i < a->nsteps; i++)
        if (str_eq(a->steps[i].id, id))
            return true;
    return false;
}

/* The id of a call: the model's, unless it gave that one before, or none. */
static daruma_str unused_id(agent *a, daruma_str id, size_t i)
{
    if (id.n && !id_is_used(a, id))
        return id;
    daruma_buf b = buf_in(&a->scratch);
    for (unsigned n = 0; !b.n || id_is_used(a, buf_str(&b)); n++) {
        b.n = 0;
        buf_printf(&b, "call_%u_%zu_%u", a->turn, i, n);
    }
    return buf_str(&b);
}

static void take_call(agent *a, const convo *c, const turn *t, size_t i, daruma_str thought)
{
    const convo_part *p = &t->message.parts[i];
    const convo in = {.arena = &a->scratch};
    daruma_str name = convo_name_was(a->renames, a->nrenames, p->name), args = convo_part_text(&in, p);
    args_check check = mend_args(c, name, args, mend_args_cut(t, i), &a->scratch);
    agent_step *s = traj_add(a, AGENT_STEP_CALL);
    if (!s)
        return;
    bool fits = check.verdict == ARGS_GOOD || check.verdict == ARGS_REPAIRED;
    s->thought = flow_keep(a, thought);
    s->id = flow_keep(a, unused_id(a, p->id, i));
    s->tool = flow_keep(a, real_name(a, check.name.n ? check.name : name));
    s->args = flow_keep(a, check.verdict == ARGS_REPAIRED ? check.fixed : json_valid(args) ? args : S("{}"));
    if (!fits)
        refuse_call(a, s, check.why.n ? check.why : S("The tool call could not be read."));
}

/* The limit that made the last step the last one. */
static agent_limit last_limit(const agent *a)
{
    const agent_limits *l = &a->s.limits;
    if (a->last == LAST_LOOP)
        return AGENT_LIMIT_NONE;
    if (l->tools && a->spent.tools >= l->tools)
        return AGENT_LIMIT_TOOLS;
    return l->steps && a->spent.steps >= l->steps ? AGENT_LIMIT_STEPS : AGENT_LIMIT_CALLS;
}

static void answered(agent *a, daruma_str text, bool cut)
{
    agent_step *s = traj_add(a, AGENT_STEP_WORDS);
    if (s)
        s->thought = flow_keep(a, text);
    if (a->s.mode == AGENT_PLANNED && !a->last && !cut) {
        plan_step_done(a, text);
        return;
    }
    agent_result r = {.outcome = a->spent.recoveries ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK,
                      .end = AGENT_END_ANSWER,
                      .text = flow_keep(a, text)};
    if (a->last) {
        r.outcome = DARUMA_OUTCOME_DEGRADED;
        r.end = a->last == LAST_LOOP ? AGENT_END_LOOP : AGENT_END_LIMIT;
        r.limit = last_limit(a);
    } else if (cut) {
        r.outcome = DARUMA_OUTCOME_DEGRADED;
    }
    flow_finish(a, r);
}

static size_t count_calls(const turn *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->message.nparts; i++)
        n += t->message.parts[i].kind == PART_CALL;
    return n;
}

static void take_calls(agent *a, const turn *t, daruma_str text)
{
    convo c;
    size_t taken = 0;
    if (!agent_view(a, &a->scratch, &c)) {
        a->scratch.full = true;
        return;
    }
    a->next = a->nsteps;
    a->phase = PHASE_TOOLS;
    for (size_t i = 0; i < t->message.nparts && a->phase == PHASE_TOOLS && taken < AGENT_CALLS_OF_TURN_MAX; i++) {
        if (t->message.parts[i].kind != PART_CALL)
            continue;
        take_call(a, &c, t, i, taken ? (daruma_str){0} : text);
        taken++;
    }
}

static void step_answered(agent *a, daruma_str body)
{
    turn t = {.usage = TURN_USAGE_NONE};
    answer_view v = a->s.d->check(body, &a->scratch);
    if (v.flaw == DARUMA_FLAW_ERROR_EVENT) {
        daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                              .status = 200,
                              .flaw = v.flaw,
                              .body = body,
                              .model = a->s.model,
                              .provider = a->s.d->provider,
                              .took = a->at.now - a->sent};
        agent_failure f = router_judge_model(a, &ev, a->s.model);
        model_failed(a, &f);
        return;
    }
    if (v.flaw == DARUMA_FLAW_BROKEN || a->s.d->read_answer(body, &a->scratch, &t) != DARUMA_OK) {
        ask_again(a, S("Your last answer could not be read. Please answer again."));
        return;
    }
    daruma_str text = words_of(&t.message, &a->scratch);
    size_t calls = count_calls(&t);
    limits_usage(a, &t.usage, body);
    if (t.finish == FINISH_FILTER) {
        model_failed(a, &(agent_failure){.kind = DARUMA_CONTENT_FILTER,
                                         .of_model = true,
                                         .operation = a->s.model,
                                         .severity = DARUMA_CRITICAL,
                                         .advice = -1,
                                         .message = str_of(daruma_kind_words(DARUMA_CONTENT_FILTER))});
        return;
    }
    if (!calls && !str_trim(text).n) {
        ask_again(a, S("Your last answer was empty. Answer, or call a tool."));
        return;
    }
    a->turn++;
    a->spent.steps++;
    a->attempts = 0;
    if (a->recovering)
        recovered(a, a->shortened ? "compress" : a->repairs ? "repair" : "retry");
    if (a->policy->compressions_of_step)
        a->shortened = 0;
    if (calls && a->last) {
        flow_limit(a, a->last == LAST_LOOP ? AGENT_LIMIT_STEPS : last_limit(a));
    } else if (calls) {
        a->repairs = 0;
        take_calls(a, &t, text);
    } else {
        answered(a, text, t.finish == FINISH_LENGTH || t.finish == FINISH_WINDOW);
    }
}

/* ---- TOOLS ---- */

/* Did a person decide about that call before? 1 allowed, 0 denied, -1 not asked: no question twice. */
static int decided(const agent *a, uint64_t call)
{
    for (size_t i = 0; i < a->nverdicts; i++)
        if ((a->verdicts[i] | 1) == (call | 1))
            return (int)(a->verdicts[i] & 1);
    return -1;
}

static void decide(agent *a, uint64_t call, bool allowed)
{
    if (a->nverdicts < AGENT_VERDICTS_MAX)
        a->verdicts[a->nverdicts++] = (call & ~(uint64_t)1) | allowed;
}

static void ask_person(agent *a, const agent_step *s, const agent_tool *t)
{
    daruma_buf b = buf_in(&a->scratch);
    BUF_LIT(&b, "May the agent call ");
    buf_put(&b, s->tool);
    BUF_LIT(&b, " with ");
    buf_put(&b, flow_line(s->args, FAILURE_TEXT_BYTES_MAX));
    buf_putc(&b, '?');
    flow_out(a, OUT_PERSON,
             (agent_act){.what = AGENT_DO_ASK, .text = buf_str(&b), .tool = s->tool, .args = s->args, .about = t});
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
        refuse_call(a, s, S("Error: circular delegation: that agent is waiting for this one. Do the work yourself."));
        return;
    }
    if (t && t->ask && !s->asked) {
        int known = decided(a, daruma_call_hash(s->tool, s->args));
        if (known < 0) {
            ask_person(a, s, t);
            return;
        }
        if (known == 0) {
            refuse_call(a, s, S("Error: permission denied: the user did not allow this call."));
            return;
        }
        s->asked = true;
    }
    s->attempts++;
    a->spent.tools++;
    daruma_buf b = log_open(a, "tool_called");
    log_str(&b, "tool", s->tool);
    log_str(&b, "arguments", s->instead.n ? s->instead : s->args);
    log_int(&b, "attempt", s->attempts);
    log_close(a, &b);
    flow_out(a, OUT_TOOL,
             (agent_act){.what = AGENT_DO_TOOL,
                         .tool = s->tool,
                         .args = s->instead.n ? s->instead : s->args,
                         .about = t,
                         .total = limits_time_left(a)});
}

static void tools_step(agent *a)
{
    while (a->next < a->nsteps && (a->steps[a->next].kind != AGENT_STEP_CALL || a->steps[a->next].done))
        a->next++;
    if (a->out_of_patience) {
        daruma_escalation e = daruma_tracker_escalation(a->tracker);
        if (a->s.mode == AGENT_PLANNED && a->spent.replans < a->policy->replans) {
            daruma_tracker_resume(a->tracker);
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
        a->phase = a->wants_way ? PHASE_ADAPT : PHASE_THINK;
        return;
    }
    agent_step *s = &a->steps[a->next];
    agent_limit l = limits_reached(a, false, true);
    if (l == AGENT_LIMIT_TOOLS) {
        traj_result(a, s, S("[Not carried out: the limit of tool calls is reached.]"), true, (daruma_str){0});
        a->last = LAST_LIMIT;
    } else if (l) {
        flow_limit(a, l);
    } else {
        call_tool(a, s);
    }
}

/* ---- going on ---- */

void flow_step(agent *a)
{
    for (int i = 0; a->out == OUT_NONE && a->phase != PHASE_OVER; i++) {
        if (i == AGENT_MOVES_MAX || a->keep.full) {
            flow_limit(a, AGENT_LIMIT_MEMORY);
            return;
        }
        switch (a->phase) {
        case PHASE_CLASSES:
            plan_ask_classes(a);
            break;
        case PHASE_PLAN:
            plan_ask(a);
            break;
        case PHASE_THINK:
            flow_think(a);
            break;
        case PHASE_TOOLS:
            tools_step(a);
            break;
        case PHASE_SHORTEN:
            traj_shorten_next(a);
            break;
        case PHASE_ADAPT:
            adapt_ask(a);
            break;
        case PHASE_ANALYSE:
            error_node_leave(a, (daruma_str){0}, false);
            break;
        case PHASE_OVER:
            break;
        }
    }
}

agent *agent_open(const agent_setup *s, const drive_rooms *rooms, daruma_str task, daruma_moment at)
{
    agent *a = rooms->take(sizeof *a);
    if (!a)
        return NULL;
    *a = (agent){.s = *s, .rooms = rooms, .at = at, .opened = at.now};
    a->policy = s->policy ? s->policy : &agent_policy_default;
    a->recovery = s->recovery ? s->recovery : daruma_policy_find(S("default"));
    a->result.limit = AGENT_LIMIT_NONE;
    if (!rooms->open(&a->keep, 16 << 10, AGENT_BYTES_MAX) ||
        !rooms->open(&a->scratch, 16 << 10, AGENT_SCRATCH_BYTES_MAX)) {
        agent_close(a);
        return NULL;
    }
    a->task = flow_keep(a, task);
    a->tracker = daruma_tracker_new(&a->keep, a->recovery);
    a->stall = daruma_stall_new(&a->keep);
    a->usable = ARENA_NEW(&a->keep, bool, s->ntools + 1);
    a->renames = ARENA_NEW(&a->keep, convo_rename, s->ntools + 1);
    a->verdicts = ARENA_NEW(&a->keep, uint64_t, AGENT_VERDICTS_MAX);
    if (a->keep.full || !a->tracker || !a->stall) {
        agent_close(a);
        return NULL;
    }
    a->phase = s->mode == AGENT_PLANNED ? PHASE_CLASSES : PHASE_THINK;
    flow_step(a);
    return a;
}

void agent_close(agent *a)
{
    if (!a)
        return;
    const drive_rooms *rooms = a->rooms;
    rooms->close(&a->scratch);
    rooms->close(&a->keep);
    rooms->give(a);
}

agent_act agent_next(agent *a)
{
    if (a->told < a->nevents)
        return (agent_act){.what = AGENT_DO_EVENT, .text = a->events[a->told++]};
    if (a->given && a->act.what != AGENT_DO_FINISH)
        return (agent_act){.what = AGENT_DO_NOTHING};
    a->given = true;
    return a->act;
}

agent_result agent_result_of(const agent *a)
{
    return a->result;
}

/* ---- outcomes ---- */

/* An outcome comes in: what the one before left in the scratch arena is gone. The clock does not go back. */
static void begin(agent *a, daruma_moment at)
{
    if (at.now < a->at.now)
        at.now = a->at.now;
    a->at = at;
    a->spent.time = at.now - a->opened;
    a->nevents = a->told = 0;
    a->rooms->close(&a->scratch);
    if (!a->rooms->open(&a->scratch, 64 << 10, AGENT_SCRATCH_BYTES_MAX))
        a->keep.full = true;
}

static bool expects(const agent *a, agent_out out, uint32_t call)
{
    return a->phase != PHASE_OVER && a->out == out && a->act.call == call;
}

void agent_answered(agent *a, uint32_t call, daruma_str body, daruma_moment at)
{
    daruma_str text = {0};
    if (!expects(a, OUT_MODEL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    agent_purpose purpose = a->act.purpose;
    bool read = purpose != AGENT_FOR_STEP && flow_answer_text(a, body, &text);
    switch (purpose) {
    case AGENT_FOR_STEP:
        step_answered(a, body);
        break;
    case AGENT_FOR_CLASSES:
    case AGENT_FOR_PLAN:
        plan_answered(a, read ? text : (daruma_str){0});
        break;
    case AGENT_FOR_SUMMARY:
        traj_shortened(a, read ? text : (daruma_str){0});
        break;
    case AGENT_FOR_STRATEGY:
        adapt_answered(a, read ? text : (daruma_str){0});
        break;
    case AGENT_FOR_ANALYSIS:
        error_node_leave(a, text, read);
        break;
    }
    flow_step(a);
}

void agent_failed(agent *a, uint32_t call, const daruma_evidence *ev, daruma_moment at)
{
    if (!expects(a, OUT_MODEL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    agent_purpose purpose = a->act.purpose;
    if (purpose == AGENT_FOR_SUMMARY) {
        traj_shortened(a, (daruma_str){0});
    } else if (purpose == AGENT_FOR_STRATEGY) {
        adapt_answered(a, (daruma_str){0});
    } else if (purpose == AGENT_FOR_ANALYSIS) {
        error_node_leave(a, (daruma_str){0}, false);
    } else {
        agent_failure f = router_judge_model(a, ev,
                                             purpose == AGENT_FOR_PLAN      ? S("plan")
                                             : purpose == AGENT_FOR_CLASSES ? S("classification")
                                                                            : a->s.model);
        model_failed(a, &f);
    }
    flow_step(a);
}

void agent_tool_done(agent *a, uint32_t call, daruma_str result, int ok, bool lost, daruma_moment at)
{
    if (!expects(a, OUT_TOOL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    tool_ended(a, &a->steps[a->next], result, ok, lost);
    flow_step(a);
}

void agent_person(agent *a, uint32_t call, agent_reply r, daruma_str text, daruma_moment at)
{
    if (!expects(a, OUT_PERSON, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    if (a->asks_way) {
        a->asks_way = false;
        if (r == AGENT_ALLOWED)
            adapt_do(a);
        else if (r == AGENT_INTERRUPTED)
            agent_cancel(a, at);
        else if (text.n)
            flow_note(a, text);
        flow_step(a);
        return;
    }
    agent_step *s = &a->steps[a->next];
    uint64_t hash = daruma_call_hash(s->tool, s->args);
    daruma_buf b = log_open(a, "person_answered");
    static const char *const replies[] = {"allowed", "denied", "interrupted", "expired"};
    log_str(&b, "tool", s->tool);
    log_str(&b, "answer", str_of(replies[r]));
    log_close(a, &b);
    switch (r) {
    case AGENT_ALLOWED:
        decide(a, hash, true);
        s->asked = true;
        break;
    case AGENT_DENIED: {
        daruma_buf why = buf_in(&a->scratch);
        decide(a, hash, false);
        BUF_LIT(&why, "Error: permission denied: the user did not allow this call.");
        if (text.n) {
            BUF_LIT(&why, " They said: ");
            buf_put(&why, flow_line(text, FAILURE_TEXT_BYTES_MAX));
        }
        refuse_call(a, s, buf_str(&why));
        break;
    }
    case AGENT_EXPIRED: /* nobody is there: the model may find another way, the same question is not asked again */
        decide(a, hash, false);
        refuse_call(a, s, S("Error: permission not given: nobody answered in time whether this call is allowed."));
        break;
    case AGENT_INTERRUPTED:
        agent_cancel(a, at);
        return;
    }
    flow_step(a);
}

void agent_clock(agent *a, daruma_moment at)
{
    if (a->phase == PHASE_OVER)
        return;
    if (a->out == OUT_TIME && at.now >= a->act.until) {
        begin(a, at);
        a->out = OUT_NONE;
        flow_step(a);
    } else if (a->phase == PHASE_ANALYSE && at.now - a->sent >= AGENT_ANALYSIS_MS) {
        begin(a, at);
        a->out = OUT_NONE;
        error_node_leave(a, (daruma_str){0}, false);
    } else if (a->phase != PHASE_ANALYSE && a->s.limits.time > 0 && at.now - a->opened >= a->s.limits.time) {
        begin(a, at);
        flow_limit(a, AGENT_LIMIT_TIME);
    }
}

void agent_cancel(agent *a, daruma_moment at)
{
    if (a->phase == PHASE_OVER)
        return;
    begin(a, at);
    daruma_buf text = buf_in(&a->keep);
    BUF_LIT(&text, "The task is not finished: it was cancelled.");
    traj_partial(a, &text);
    flow_finish(a, (agent_result){.outcome = DARUMA_OUTCOME_CANCELLED_,
                                  .end = AGENT_END_CANCELLED,
                                  .text = flow_keep(a, daruma_redact(buf_str(&text), &a->scratch))});
}

bool agent_resume(agent *a, daruma_str guidance, daruma_moment at)
{
    if (a->phase != PHASE_OVER || a->result.end != AGENT_END_ESCALATED)
        return false;
    begin(a, at);
    daruma_tracker_resume(a->tracker);
    a->out_of_patience = false;
    a->guide = (daruma_guide){0};
    a->result = (agent_result){0};
    a->attempts = 0;
    a->phase = PHASE_TOOLS;
    a->given = true;
    daruma_buf b = log_open(a, "resumed");
    log_str(&b, "guidance", guidance);
    log_close(a, &b);
    if (guidance.n)
        a->notice = flow_keep(a, guidance);
    flow_step(a);
    return true;
}
