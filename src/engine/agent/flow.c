/* flow.c - the order of work: what is asked for next, and what becomes of each outcome.
 *
 *     reactive                     THINK <--> TOOLS --> answer
 *     planned   CLASSES -> PLAN -> THINK <--> TOOLS --> the next step of the plan ... --> answer
 *     either    a context that is too long: SHORTEN --> THINK;  what cannot go on: ANALYSE --> report
 *
 * One thing is out at a time. flow_step() goes on until something is out, or the run is over. */
#include "engine/agent/inside.h"
#include "base/utf8.h"

/* ---- texts ---- */

bool flow_grow(agent *a, void **p, size_t used, size_t *cap, size_t want)
{
    if (want <= *cap)
        return true;
    size_t n = want + want / 4 + 1024; /* a quarter more: each byte is moved some five times in all */
    void *more = a->rooms->take(n);
    if (!more)
        return false;
    if (used)
        memcpy(more, *p, used);
    a->rooms->give(*p);
    *p = more;
    *cap = n;
    return true;
}

daruma_str flow_keep(agent *a, daruma_str s)
{
    return s.n ? arena_copy(&a->keep, s) : (daruma_str){0};
}

daruma_str flow_text(agent *a, daruma_str s)
{
    return s.n ? arena_copy(&a->texts, s) : (daruma_str){0};
}

static daruma_str flow_clean(agent *a, const daruma_buf *text)
{
    return flow_keep(a, daruma_redact(buf_str(text), &a->scratch));
}

daruma_str flow_line(daruma_str s, size_t most)
{
    return str_sub(s, 0, utf8_floor(s, most));
}

/* ---- events ---- */

/* Who it is, in an event. */
static void put_names(const agent *a, daruma_buf *b)
{
    BUF_MEMBERS(b, "agent", buf_any(a->s.name), "swarm_id", buf_any(a->s.swarm_id), "parent_swarm_id",
                buf_any(a->s.parent_swarm_id));
}

void log_event(agent *a, const buf_part *parts, size_t n)
{
    daruma_buf b = buf_in(&a->scratch);
    BUF_LIT(&b, "{");
    BUF_MEMBERS(&b, "event", parts[0].text);
    put_names(a, &b);
    BUF_MEMBERS(&b, "step", a->spent.steps);
    for (size_t i = 1; i + 1 < n; i += 2) {
        buf_part pair[] = {parts[i], parts[i + 1]};
        pair[1].text = flow_line(pair[1].text, FAILURE_TEXT_BYTES_MAX);
        buf_members(&b, pair, 2);
    }
    BUF_LIT(&b, "}");
    if (!b.full && a->nevents < AGENT_EVENTS_MAX)
        a->events[a->nevents++] = daruma_redact(buf_str(&b), &a->scratch);
}

void agent_sign(const agent *a, daruma_str event, daruma_buf *out)
{
    event = str_trim(event);
    buf_put(out, str_sub(event, 0, event.n - 1)); /* the bracket */
    put_names(a, out);
    buf_putc(out, '}');
}

/* ---- acts ---- */

void flow_out(agent *a, agent_out out, agent_act act)
{
    a->moves += out == OUT_MODEL || out == OUT_TOOL;
    if (a->policy->moves_max && a->moves > a->policy->moves_max) {
        flow_finish(a, (agent_result){.outcome = DARUMA_OUTCOME_FAILED, /* as a graph that has gone round too often */
                                      .end = AGENT_END_FATAL,
                                      .failure = a->failure,
                                      .reason = S("the limit of recursion is reached"),
                                      .text = S("The limit of recursion is reached without a stop condition.")});
        return;
    }
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

agent_result flow_answer(agent *a, daruma_str text)
{
    return (agent_result){.outcome = a->spent.recoveries ? DARUMA_OUTCOME_RECOVERED : DARUMA_OUTCOME_OK,
                          .end = AGENT_END_ANSWER,
                          .text = flow_keep(a, text)};
}

void flow_finish(agent *a, agent_result r)
{
    if (a->phase == PHASE_OVER)
        return;
    a->phase = PHASE_OVER;
    a->out = OUT_NONE;
    r.spent = a->spent;
    a->result = r;
    LOG(a, "run_finished", "status", daruma_outcome_name(r.outcome), "reason", agent_end_name(r.end), "limit",
        buf_any(r.limit ? str_of(agent_limit_name(r.limit)) : (daruma_str){0}), "calls", a->spent.calls, "tools",
        a->spent.tools, "failures", a->spent.failures, "recoveries", a->spent.recoveries);
    a->act = (agent_act){.what = AGENT_DO_FINISH};
    a->given = false;
}

/* `words` with the numbers that belong into them. */
static void put_words(const agent *a, agent_limit l, daruma_str words, daruma_buf *out)
{
    const agent_limits *most = &a->s.limits;
    bool tokens = l == AGENT_LIMIT_TOKENS;
    int64_t used = tokens ? add_sat(a->spent.input_tokens, a->spent.output_tokens) : a->spent.steps;
    while (words.n) {
        buf_put(out, str_cut(&words, '{'));
        daruma_str word = str_cut(&words, '}');
        if (str_eq(word, S("used")))
            buf_int(out, used);
        else if (str_eq(word, S("limit")))
            buf_int(out, tokens ? most->tokens : most->steps);
    }
}

void flow_limit(agent *a, agent_limit l)
{
    bool lost = a->policy->ends_hard && l == AGENT_LIMIT_STEPS && !a->hops_over;
    if (a->hops_over && l == AGENT_LIMIT_STEPS)
        l = AGENT_LIMIT_TOOLS;
    daruma_buf text = buf_in(&a->keep);
    LOG(a, "budget_exhausted", "which", agent_limit_name(l));
    if (a->policy->limit_words[l]) {
        put_words(a, l, str_of(a->policy->limit_words[l]), &text);
    } else {
        BUF_SAY(&text, "The task is not finished: ", agent_limit_words(l), ".");
    }
    traj_partial(a, &text);
    flow_finish(a, (agent_result){.outcome = lost ? DARUMA_OUTCOME_FAILED : DARUMA_OUTCOME_DEGRADED,
                                  .end = lost ? AGENT_END_NO_PATH : AGENT_END_LIMIT,
                                  .limit = l,
                                  .text = text.full ? str_of(agent_limit_words(l)) : flow_clean(a, &text)});
}

void flow_stop(agent *a, daruma_buf *text)
{
    traj_partial(a, text);
    flow_finish(a,
                (agent_result){.outcome = DARUMA_OUTCOME_DEGRADED, .end = AGENT_END_LOOP, .text = flow_clean(a, text)});
}

void flow_note(agent *a, daruma_str text)
{
    agent_step *s = traj_add(a, AGENT_STEP_NOTE);
    if (s)
        s->thought = flow_text(a, text);
}

const char *agent_purpose_name(agent_purpose p)
{
    static const char *const names[AGENT_PURPOSES] = {"step",     "classification", "plan",   "summary", "strategy",
                                                      "analysis", "arguments",      "finish", "apology", "estimate"};
    return names[p];
}

const char *agent_reply_name(agent_reply r)
{
    static const char *const names[] = {"allowed", "denied", "interrupted", "expired"};
    return names[r];
}

void flow_ask_model(agent *a, agent_purpose purpose, daruma_str model, daruma_str body, daruma_ms total)
{
    LOG(a, "model_asked", "purpose", agent_purpose_name(purpose), "model", model, "tokens",
        a->spent.input_tokens + a->spent.output_tokens);
    a->spent.calls++;
    flow_out(a, OUT_MODEL,
             (agent_act){.what = AGENT_DO_MODEL,
                         .purpose = purpose,
                         .model = model,
                         .body = body,
                         .total = total,
                         .calls = limits_calls_left(a)});
}

void flow_ask(agent *a, agent_purpose purpose, daruma_str model, const daruma_question *q, daruma_ms total)
{
    daruma_buf b = buf_in(&a->scratch);
    dialect_write_ask(a->s.d, model, q, &b, &a->scratch);
    if (b.full)
        a->scratch.full = true;
    a->asked_tokens = text_tokens(buf_str(&b));
    flow_ask_model(a, purpose, model, buf_str(&b), total);
}
/* ---- going on ---- */

/* The analysis was never asked for. */
static void leave_unexplained(agent *a)
{
    error_node_leave(a, (daruma_str){0}, false);
}

/* Sets out the next act. */
static void flow_step(agent *a)
{
    static void (*const does[PHASE_OVER])(agent *) = {
        [PHASE_CLASSES] = plan_ask_classes,  [PHASE_PLAN] = plan_ask,
        [PHASE_THINK] = think_ask,           [PHASE_TOOLS] = calls_step,
        [PHASE_SHORTEN] = traj_shorten_next, [PHASE_ESTIMATE] = adapt_estimate,
        [PHASE_ADAPT] = adapt_ask,           [PHASE_FILL] = args_ask,
        [PHASE_FINISH] = args_ask_words,     [PHASE_APOLOGY] = args_ask_words,
        [PHASE_ANALYSE] = leave_unexplained};
    for (int i = 0; a->out == OUT_NONE && a->phase != PHASE_OVER; i++) {
        if (i == AGENT_MOVES_MAX || a->keep.full || a->texts.full) {
            flow_limit(a, AGENT_LIMIT_MEMORY);
            return;
        }
        does[a->phase](a);
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
    if (!rooms->open(&a->keep, 16 << 10, AGENT_BYTES_MAX) || !rooms->open(&a->texts, 16 << 10, AGENT_BYTES_MAX) ||
        !rooms->open(&a->scratch, 16 << 10, AGENT_SCRATCH_BYTES_MAX)) {
        agent_close(a);
        return NULL;
    }
    a->task = flow_keep(a, task);
    a->loop.tracker = daruma_tracker_new(&a->keep, a->recovery);
    a->loop.stall = daruma_stall_new(&a->keep);
    a->planning.usable = ARENA_NEW(&a->keep, bool, s->ntools + 1);
    a->renames = ARENA_NEW(&a->keep, convo_rename, s->ntools + 1);
    a->args.counts = ARENA_NEW(&a->keep, args_count, s->ntools + 1);
    a->gone.calls = ARENA_NEW(&a->keep, struct agent_gone_calls, s->ntools + 1);
    a->verdicts = ARENA_NEW(&a->keep, uint64_t, AGENT_VERDICTS_MAX);
    if (a->keep.full || !a->loop.tracker || !a->loop.stall) {
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
    question_close(a);
    rooms->give(a->steps);
    rooms->close(&a->scratch);
    rooms->close(&a->texts);
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

/* What a model said that was asked for something beside the step at hand; empty: it failed, or it cannot be read. */
static void side_answered(agent *a, daruma_str text, bool read)
{
    static void (*const takes[AGENT_PURPOSES])(agent *, daruma_str) = {
        [AGENT_FOR_CLASSES] = plan_answered,       [AGENT_FOR_PLAN] = plan_answered,
        [AGENT_FOR_SUMMARY] = traj_shortened,      [AGENT_FOR_STRATEGY] = adapt_answered,
        [AGENT_FOR_ARGS] = args_answered,          [AGENT_FOR_FINISH] = args_words_answered,
        [AGENT_FOR_APOLOGY] = args_words_answered, [AGENT_FOR_ESTIMATE] = adapt_estimated};
    if (a->act.purpose == AGENT_FOR_ANALYSIS)
        error_node_leave(a, text, read);
    else if (a->act.purpose == AGENT_FOR_APOLOGY && a->phase != PHASE_APOLOGY)
        error_apologised(a, text);
    else
        takes[a->act.purpose](a, text);
}

void agent_answered(agent *a, uint32_t call, daruma_str body, daruma_moment at)
{
    daruma_str text = {0};
    if (!expects(a, OUT_MODEL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    if (a->act.purpose == AGENT_FOR_STEP) {
        think_answered(a, body);
    } else {
        bool read = think_text(a, body, &text);
        side_answered(a, text, read);
    }
    flow_step(a);
}

void agent_called(agent *a, uint32_t more)
{
    a->spent.calls += more;
}

void agent_failed(agent *a, uint32_t call, const daruma_evidence *ev, daruma_moment at)
{
    if (!expects(a, OUT_MODEL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    agent_purpose purpose = a->act.purpose;
    if (purpose == AGENT_FOR_STEP || purpose == AGENT_FOR_PLAN || purpose == AGENT_FOR_CLASSES) {
        agent_failure f = router_judge_model(a, ev,
                                             purpose == AGENT_FOR_PLAN      ? S("plan")
                                             : purpose == AGENT_FOR_CLASSES ? S("classification")
                                                                            : a->s.model);
        think_failed(a, &f);
    } else {
        side_answered(a, (daruma_str){0}, false);
    }
    flow_step(a);
}

void agent_tool_done(agent *a, uint32_t call, daruma_str result, int ok, bool lost, daruma_moment at)
{
    if (!expects(a, OUT_TOOL, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    calls_ended(a, &a->steps[a->next], result, ok, lost);
    flow_step(a);
}

void agent_person(agent *a, uint32_t call, agent_reply r, daruma_str text, daruma_moment at)
{
    if (!expects(a, OUT_PERSON, call))
        return;
    begin(a, at);
    a->out = OUT_NONE;
    if (a->loop.asks_way) {
        a->loop.asks_way = false;
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
    LOG(a, "person_answered", "tool", s->tool, "answer", agent_reply_name(r));
    switch (r) {
    case AGENT_ALLOWED:
        calls_decide(a, hash, true);
        s->asked = true;
        break;
    case AGENT_DENIED: {
        daruma_buf why = buf_in(&a->scratch);
        calls_decide(a, hash, false);
        BUF_LIT(&why, "Error: permission denied: the user did not allow this call.");
        if (text.n)
            BUF_SAY(&why, " They said: ", flow_line(text, FAILURE_TEXT_BYTES_MAX));
        calls_refuse(a, s, buf_str(&why));
        break;
    }
    case AGENT_EXPIRED: /* nobody is there: the model may find another way, the same question is not asked again */
        calls_decide(a, hash, false);
        calls_refuse(a, s, S("Error: permission not given: nobody answered in time whether this call is allowed."));
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
    } else if (a->phase == PHASE_ANALYSE && at.now - a->sent >= a->act.total) {
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
    flow_finish(a, (agent_result){
                       .outcome = DARUMA_OUTCOME_CANCELLED_, .end = AGENT_END_CANCELLED, .text = flow_clean(a, &text)});
}

bool agent_resume(agent *a, daruma_str guidance, daruma_moment at)
{
    if (a->phase != PHASE_OVER || a->result.end != AGENT_END_ESCALATED)
        return false;
    begin(a, at);
    daruma_tracker_resume(a->loop.tracker);
    a->out_of_patience = false;
    a->loop.guide = (daruma_guide){0};
    a->result = (agent_result){0};
    a->attempts = 0;
    a->phase = PHASE_TOOLS;
    a->given = true;
    LOG(a, "resumed", "guidance", guidance);
    if (guidance.n) {
        a->notice = flow_text(a, guidance);
        a->loop.tries =
            (daruma_tries){0}; /* with their words what was tried before may work, and they may be asked again */
    }
    flow_step(a);
    return true;
}
