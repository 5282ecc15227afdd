/* think.c - the question to the model for the next step, and its answer: words, calls, or nothing that can be used. */
#include "engine/agent/inside.h"
#include "engine/mend/answer/answer.h"

/* ---- the question ---- */

/* A step begins: without anything new for long, the model is told, and another way is looked for. */
static void begin_progress(agent *a)
{
    if (a->attempts)
        return;
    a->reporting.forced = false;
    if (!a->policy->watched)
        return;
    unsigned level = daruma_progress_begin(&a->loop.progress, a->recovery);
    if (!level)
        return;
    daruma_buf said = buf_in(&a->scratch);
    LOG(a, "stuck_nudge", "level", level);
    if (!a->notice.n) {
        daruma_progress_notice(&a->loop.progress, level, &said);
        a->notice = flow_text(a, buf_str(&said));
    }
    a->reporting.forced = level > 2 && report_name(a).n;
    a->loop.wants_any |= level > 1 && a->policy->strategies;
}

/* Writes the question and counts its tokens. False without memory. */
static bool write_question(agent *a, daruma_str *ret)
{
    if (!question_write(a, ret))
        return false;
    a->asked_tokens = text_tokens(*ret);
    return true;
}

void think_ask(agent *a)
{
    agent_limit l = limits_reached(a, true, false);
    daruma_str body;
    if (l) {
        flow_limit(a, l);
        return;
    }
    begin_progress(a);
    report_begin(a);
    if (a->notice.n) {
        flow_note(a, a->notice);
        a->notice = (daruma_str){0};
    }
    if (a->last == LAST_NOT && !a->policy->ends_hard && !report_name(a).n && limits_last_call(a))
        a->last = LAST_LIMIT;
    if (!write_question(a, &body) || (forget_old(a) && !write_question(a, &body))) {
        flow_limit(a, AGENT_LIMIT_MEMORY);
        return;
    }
    a->attempts++;
    flow_ask_model(a, AGENT_FOR_STEP, a->s.model, body, limits_time_left(a));
}

/* Something worked behind a failure. */
void think_recovered(agent *a, const char *how)
{
    a->recovering = false;
    a->spent.recoveries++;
    if (a->policy->hides_success)
        return;
    LOG(a, "error_recovery_success", "error_type", router_type(&a->failure), "strategy", how);
}

static void answered(agent *a, daruma_str text, bool cut);

void think_failed(agent *a, const agent_failure *f)
{
    router_keep(a, f);
    a->failure_took = a->at.now - a->sent;
    if (!a->policy->off || !a->policy->off_is_silent)
        LOG(a, "error_recovery_attempt", "error_type", router_type(f), "error_message", a->failure.message,
            "compress_attempt", a->shorten.times);
    if (a->reporting.said.n && a->phase == PHASE_THINK) { /* asking for the report failed: what it said is the answer */
        daruma_str said = a->reporting.said;
        a->reporting.said = (daruma_str){0};
        answered(a, said, false);
        return;
    }
    bool too_long = f->kind == DARUMA_CONTEXT_LENGTH || f->kind == DARUMA_REQUEST_TOO_LARGE;
    daruma_scope who = daruma_kind_scope(f->kind);
    if (too_long && a->phase == PHASE_THINK && (a->policy->compressions || a->policy->graceful))
        traj_shorten(a);
    else if (a->policy->graceful && a->phase == PHASE_THINK && f->kind != DARUMA_UNKNOWN && f->status >= 400 &&
             f->status < 500 && f->severity == DARUMA_CRITICAL &&
             (who == DARUMA_SICK_REQUEST || who == DARUMA_SICK_CONVERSATION))
        error_graceful(a);
    else
        router_route(a, NULL);
}

/* An answer that is no use, or an error in the place of one, as a failure of the model. A profile that deals with
 * failures of calls itself says what it is. */
static agent_failure no_use(agent *a, daruma_flaw flaw, daruma_str body)
{
    const daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                                .status = 200,
                                .flaw = flaw,
                                .body = body,
                                .model = a->s.model,
                                .provider = a->s.d->provider,
                                .took = a->at.now - a->sent};
    agent_failure f = router_judge_model(a, &ev, a->s.model);
    if (!a->policy->raises && !body.n)
        f.severity = DARUMA_CRITICAL; /* the sessions below it asked as often as is any use */
    return f;
}

/* The answer is of no use: the model is told why and asked again, as often as the policy says. Where actions are read,
 * that is for texts that are none: an answer without words is raised (P-F24). */
static void ask_again(agent *a, daruma_flaw flaw, daruma_str why)
{
    a->spent.unread++;
    if (!a->policy->actions && a->repairs < a->policy->repairs && limits_reached(a, true, false) == AGENT_LIMIT_NONE) {
        a->repairs++;
        a->spent.repairs++;
        LOG(a, "planner_repair_attempt", "attempt", a->repairs, "error_summary", why);
        flow_note(a, why);
        agent_failure again = router_own(a, DARUMA_MALFORMED_OUTPUT, DARUMA_RETRIABLE, why);
        router_keep(a, &again);
        a->recovering = true;
        return;
    }
    agent_failure f = no_use(a, flaw, (daruma_str){0});
    think_failed(a, &f);
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

bool think_text(agent *a, daruma_str body, daruma_str *ret)
{
    turn t = {.usage = TURN_USAGE_NONE};
    answer_view v = dialect_check(a->s.d, body);
    if ((v.flaw != DARUMA_FLAW_NONE && v.flaw != DARUMA_FLAW_EMPTY) ||
        a->s.d->read_answer(body, &a->scratch, &t) != DARUMA_OK)
        return false;
    *ret = words_of(&t.message, &a->scratch);
    limits_usage(a, &t.usage, *ret);
    return true;
}

/* ---- an answer of the model ---- */

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
    s->thought = flow_text(a, thought);
    s->id = flow_text(a, unused_id(a, p->id, i));
    s->tool = flow_text(a, real_name(a, check.name.n ? check.name : name));
    s->args = flow_text(a, check.verdict == ARGS_REPAIRED ? check.fixed : json_valid(args) ? args : S("{}"));
    const agent_tool *known = router_tool(a, s->tool);
    if (!fits && !(known && known->forbidden)) /* that it is not permitted is said when its turn comes */
        calls_refuse(a, s, check.why.n ? check.why : S("The tool call could not be read."));
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
    if (!a->last && !cut && report_missing(a, text))
        return;
    agent_step *s = traj_add(a, AGENT_STEP_WORDS);
    if (s)
        s->thought = flow_text(a, text);
    if (a->s.mode == AGENT_PLANNED && !a->last && !cut) {
        plan_step_done(a, text);
        return;
    }
    agent_result r = flow_answer(a, text);
    if (a->last) {
        r.outcome = DARUMA_OUTCOME_DEGRADED;
        r.end = a->last == LAST_LOOP ? AGENT_END_LOOP : AGENT_END_LIMIT;
        r.limit = last_limit(a);
    } else if (cut) {
        r.outcome = DARUMA_OUTCOME_DEGRADED;
    }
    flow_finish(a, r);
}

void think_said(agent *a, daruma_str text)
{
    answered(a, text, false);
}

void think_stepped(agent *a)
{
    a->turn++;
    a->spent.steps++;
    a->attempts = 0;
    a->correction = (daruma_str){0};
    a->reporting.said = (daruma_str){0}; /* it went on from there */
    if (a->recovering)
        think_recovered(a, a->shorten.times ? "compress" : a->repairs ? "repair" : "retry");
    a->repairs = 0;
    if (a->policy->compressions_of_step)
        a->shorten.times = 0;
}

static size_t count_calls(const turn *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->message.nparts; i++)
        n += t->message.parts[i].kind == PART_CALL;
    return n;
}

static bool is_call_of(agent *a, const convo_part *p, daruma_str tool)
{
    return str_eq(real_name(a, convo_name_was(a->renames, a->nrenames, p->name)), tool);
}

static void take_calls(agent *a, const turn *t, daruma_str text)
{
    convo c = {.arena = &a->scratch};
    size_t taken = 0;
    traj_tools(a, &c);
    if (c.full) {
        a->scratch.full = true;
        return;
    }
    a->next = a->nsteps;
    a->phase = PHASE_TOOLS;
    daruma_str report = report_name(a); /* beside it nothing else is done */
    bool reports = false;
    for (size_t i = 0; report.n && i < t->message.nparts; i++)
        reports |= t->message.parts[i].kind == PART_CALL && is_call_of(a, &t->message.parts[i], report);
    for (size_t i = 0; i < t->message.nparts && a->phase == PHASE_TOOLS && taken < AGENT_CALLS_OF_TURN_MAX; i++) {
        if (t->message.parts[i].kind != PART_CALL || (reports && !is_call_of(a, &t->message.parts[i], report)))
            continue;
        take_call(a, &c, t, i, taken ? (daruma_str){0} : text);
        taken++;
    }
}

void think_answered(agent *a, daruma_str body)
{
    turn t = {.usage = TURN_USAGE_NONE};
    answer_view v = dialect_check(a->s.d, body);
    if (v.flaw == DARUMA_FLAW_ERROR_EVENT) {
        agent_failure f = no_use(a, v.flaw, body);
        think_failed(a, &f);
        return;
    }
    if (v.flaw == DARUMA_FLAW_BROKEN || a->s.d->read_answer(body, &a->scratch, &t) != DARUMA_OK) {
        ask_again(a, DARUMA_FLAW_BROKEN, S("Your last answer could not be read. Please answer again."));
        return;
    }
    daruma_str text = words_of(&t.message, &a->scratch);
    size_t calls = count_calls(&t);
    limits_usage(a, &t.usage, body);
    if (t.finish == FINISH_FILTER) {
        agent_failure f =
            router_own(a, DARUMA_CONTENT_FILTER, DARUMA_CRITICAL, str_of(daruma_kind_words(DARUMA_CONTENT_FILTER)));
        think_failed(a, &f);
        return;
    }
    if (!calls && !str_trim(text).n) {
        ask_again(a, DARUMA_FLAW_EMPTY, S("Your last answer was empty. Answer, or call a tool."));
        return;
    }
    if (a->policy->actions && !calls) {
        actions_answered(a, text);
        return;
    }
    think_stepped(a);
    if (calls && a->last == LAST_LOOP) { /* it was asked for an answer, with no tool to call */
        daruma_buf why = buf_in(&a->scratch);
        BUF_SAY(&why, a->loop.means, a->loop.circle);
        flow_stop(a, &why);
    } else if (calls && a->last) {
        flow_limit(a, last_limit(a));
    } else if (calls) {
        take_calls(a, &t, text);
    } else {
        answered(a, text, t.finish == FINISH_LENGTH || t.finish == FINISH_WINDOW);
    }
}
