/* trial.c - runs one trial under one profile, and counts what it took. */
#include "sim/trial.h"
#include "sim/trial_inside.h"

enum { SILENCE_MS = 60000, STEPS = 50, MINUTES = 30 }; /* as `daruma run` has them when nothing is said */

void trial_add(trial_sum *s, const trial_outcome *o)
{
    s->runs++;
    s->done += o->done;
    s->claimed += o->claimed;
    s->calls += o->calls;
    s->wasted += o->wasted;
    s->doubled += o->doubled;
    s->tokens += o->tokens;
    s->waited += o->waited;
    s->took += o->took;
}

/* ---- models ---- */

/* The answer of the model before this question: did it bring anything? */
static void close_step(trial *t)
{
    t->out.wasted += t->open && !t->useful;
    t->open = false;
}

static void on_asks(void *user, const agent_act *x)
{
    trial *t = user;
    close_step(t);
    t->purpose = x->purpose;
}

static bool on_call(void *user, const drive_request *q, daruma_str body, wire_answer *ret)
{
    trial *t = user;
    daruma_arena *a = t->w.a; /* lives as long as the request, which q->a does not */
    convo c;
    t->out.calls++;
    close_step(t); /* the session asks once more */
    bool read = q->d->read(body, a, &c) == DARUMA_OK;
    trial_goal *g = read && t->purpose == AGENT_FOR_STEP ? trial_next(t, &c, body) : NULL;
    if (trial_provider(t, g, body, a, ret)) {
        t->out.wasted++;
        trial_say(t, "call: %s, status %d", agent_purpose_name(t->purpose), ret->status);
        return true;
    }
    daruma_str said;
    if (t->purpose == AGENT_FOR_STEP)
        said = trial_step(t, &c, body, g, a);
    else
        said = wire_says(q->d, trial_side(t, t->purpose, body, a), NULL, 0, a);
    *ret = (wire_answer){
        .took = dice_spread(2000, trial_roll(t, g, 'm', g ? g->thought : t->asked++)), .status = 200, .body = said};
    t->out.tokens += text_tokens(body) + text_tokens(said);
    trial_say(t, "call: %s, %lld tokens", agent_purpose_name(t->purpose), (long long)text_tokens(body));
    return true;
}

/* A session asks for a summary. */
static bool on_ask(void *user, const daruma_target *target, const daruma_question *q, wire_answer *ret)
{
    trial *t = user;
    (void)target;
    t->out.calls++;
    if (trial_provider(t, NULL, q->user, t->w.a, ret)) {
        t->out.wasted++;
        return true;
    }
    daruma_str text = trial_side(t, AGENT_FOR_SUMMARY, q->user, t->w.a);
    *ret = (wire_answer){.took = dice_spread(2000, trial_roll(t, NULL, 'm', t->asked++)),
                         .status = 200,
                         .body = wire_says(t->w.d, text, NULL, 0, t->w.a)};
    t->out.tokens += text_tokens(q->user) + text_tokens(text);
    trial_say(t, "call of the session: summary");
    return true;
}

static const daruma_target *targets_of(void *user, daruma_str model, size_t *n, daruma_watch_mode *watch)
{
    trial *t = user;
    (void)model;
    *n = 1;
    *watch = DARUMA_WATCH_OFF; /* the agent looks itself */
    return &t->target;
}

static void on_tell(void *user, daruma_event *e)
{
    (void)user, (void)e;
}

static void on_step(void *user, const drive_step *s)
{
    (void)user, (void)s;
}

static const wire_ops wires = {.call = on_call, .ask = on_ask, .targets = targets_of, .tell = on_tell, .step = on_step};

/* ---- the agent ---- */

static bool on_person(void *user, agent *a, const agent_act *x, sim_reply *ret)
{
    (void)user, (void)a, (void)x;
    *ret = (sim_reply){.what = AGENT_EXPIRED}; /* nobody is there */
    return true;
}

static void on_event(void *user, daruma_str json)
{
    trial *t = user;
    trial_say(t, STR_FMT, STR_ARG(json));
}

static const sim_agent_ops ops = {.tool = trial_tool, .person = on_person, .event = on_event, .asks = on_asks};

/* Is it the model's own answer, with all that was to be found, and was each order placed, once? */
static bool is_done(const trial *t, daruma_str text)
{
    bool whole = str_starts(text, S("Result:"));
    for (size_t i = 1; i < t->n; i++) {
        whole &= str_find(text, str_of(t->goals[i].token)) != STR_NONE;
        whole &= t->goals[i].kind != GOAL_ORDER || t->goals[i].effects == 1; /* "each once" */
    }
    return whole;
}

static void count(trial *t, const agent_result *r)
{
    trial_outcome *o = &t->out;
    close_step(t);
    o->done = is_done(t, r->text);
    o->claimed = !o->done && (r->outcome == DARUMA_OUTCOME_OK || r->outcome == DARUMA_OUTCOME_RECOVERED) &&
                 !str_starts(r->text, S("Result:"));
    if (!o->done)
        o->wasted = o->calls;
    for (size_t i = 0; i < t->n; i++)
        o->doubled += t->goals[i].effects > 1 ? t->goals[i].effects - 1 : 0;
    o->waited = t->w.slept;
    o->took = t->w.at.now;
    o->end = agent_end_name(r->end);
    trial_say(t, "end: %s, %s", o->end, o->done ? "done" : "not done");
    trial_say(t, STR_FMT, STR_ARG(r->text));
}

/* Where a failure that its tool did not judge is critical, tools judge: as the seed's own examples do. */
static const agent_rule rules[] = {
    {.words = LIT("refused"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("reset"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("timed out"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("http 50"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("connection"), .severity = DARUMA_RETRIABLE},
    {.words = LIT("server of this tool"), .severity = DARUMA_RETRIABLE},
    {.words = {0}, .severity = DARUMA_REPLANNING},
};

static void set_rules(const agent_policy *p, agent_tool *tools)
{
    for (size_t i = 0; i < ntrial_tools; i++) {
        tools[i] = trial_tools[i];
        if (p->tool_unsaid != DARUMA_CRITICAL)
            continue;
        tools[i].rules = rules;
        tools[i].nrules = COUNT(rules);
    }
}

static bool run(trial *t)
{
    const trial_setup *s = t->s;
    agent_tool *tools = ARENA_NEW(t->keep, agent_tool, ntrial_tools);
    if (!tools)
        return false;
    set_rules(&s->stack->agent, tools);
    drive_options options = {.policy = &s->stack->calls,
                             .on_failure = s->stack->agent.failure_answers ? DRIVE_FORM_MESSAGE : DRIVE_FORM_ERROR,
                             .first_byte = SILENCE_MS,
                             .idle = SILENCE_MS};
    sim_agents h = {.ops = &ops, .user = t, .w = &t->w, .rooms = s->rooms, .options = &options};
    agent_setup setup = {.name = S("agent"),
                         .d = t->w.d,
                         .model = S("big"),
                         .tools = tools,
                         .ntools = ntrial_tools,
                         .mode = s->mode,
                         .policy = &s->stack->agent,
                         .recovery = s->stack->judge,
                         .limits = {.steps = STEPS, .time = MINUTES * INT64_C(60000)}};
    agent *a = sim_agent_run(&h, &setup, str_of(t->task));
    if (!a)
        return false;
    agent_result r = agent_result_of(a);
    count(t, &r);
    agent_close(a);
    return true;
}

bool trial_run(const trial_setup *s, uint64_t k, trial_outcome *ret)
{
    daruma_arena room;
    if (!s->rooms->open(&room, 64 << 10, 64 << 20))
        return false;
    trial *t = ARENA_NEW(&room, trial, 1);
    bool well = t != NULL;
    if (well) {
        t->s = s;
        t->keep = &room;
        trial_make(t, k);
        trial_say(t, "trial %llu: %s", (unsigned long long)k, trial_class_name(t->is));
        t->w = (wire){.ops = &wires, .user = t, .d = &dialect_openai, .dice = t->seed, .v = {.rooms = s->rooms}};
        t->target = (daruma_target){.provider = S("main"),
                                    .model = S("big"),
                                    .key = S("key"),
                                    .account = S("account"),
                                    .window = -1,
                                    .max_output = -1};
        daruma_target_seal(&t->target);
        well = wire_begin(&t->w, &room);
    }
    if (well) {
        well = run(t);
        wire_end(&t->w);
    }
    if (well)
        *ret = t->out;
    s->rooms->close(&room);
    return well;
}
