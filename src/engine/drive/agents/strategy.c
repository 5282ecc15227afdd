/* strategy.c - another way to go on for an agent in circles: what helped this client before, else what a model says
 * that is asked on the side, else daruma's own guess. What becomes of it is the configuration's word: it is told in an
 * event, to a person, or to the model.
 *
 *   strategy_begin -- a lesson, or nobody to ask --> proposal
 *         \---------- question.c asks a model -> strategy_answer -> proposal */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/agents/steer.h"

/* What is asked about, with room for what it points to. */
typedef struct asked_about {
    daruma_situation is;
    daruma_step last;
    daruma_tool_failure failures[TOOL_FAILURES_SHOWN];
    daruma_lesson lessons[DARUMA_LESSONS_SHOWN];
} asked_about;

static void take_tools(asked_about *q, const convo *c, daruma_arena *a)
{
    daruma_tool *tools = c->ntools ? ARENA_NEW(a, daruma_tool, c->ntools) : NULL;
    for (size_t i = 0; tools && i < c->ntools; i++)
        if (c->tools[i].name.n)
            tools[q->is.ntools++] = (daruma_tool){
                .name = c->tools[i].name, .description = c->tools[i].description, .schema = c->tools[i].schema};
    q->is.tools = tools;
}

static daruma_str goal_of(convo *c)
{
    size_t at = convo_last_user(c);
    convo_message *m = at == STR_NONE ? NULL : &c->messages[at];
    for (size_t i = 0; m && i < m->nparts; i++)
        if (m->parts[i].kind == PART_TEXT && !m->parts[i].dropped)
            return convo_text(c, &m->parts[i]);
    return (daruma_str){0};
}

/* The conversation as the client sent it, and what is known of the agent. NULL: it cannot be read. */
static asked_about *situation(session *x)
{
    steer *s = x->steer;
    daruma_arena *a = x->arena;
    asked_about *q = ARENA_NEW(a, asked_about, 1);
    convo *c = ARENA_NEW(a, convo, 1);
    daruma_buf circle = buf_in(a);
    if (!q || !c || x->h->past.d->read(x->h->past.from, a, c) != DARUMA_OK)
        return NULL;
    q->last = watch_last_step(&s->last);
    daruma_verdict_say(&s->verdict, &q->last, &circle);
    q->is = (daruma_situation){.goal = goal_of(c),
                               .progress = -1,
                               .stuck = true,
                               .steps = s->verdict.step,
                               .circle = buf_str(&circle),
                               .last = &q->last,
                               .failures = q->failures,
                               .lessons = q->lessons,
                               .fits = daruma_schema_fits};
    q->is.nfailures = watch_failures(x, q->failures, TOOL_FAILURES_SHOWN);
    q->is.nlessons = watch_lessons(x, &q->is, q->lessons, DARUMA_LESSONS_SHOWN);
    take_tools(q, c, a);
    return q;
}

/* What was tried for the agent. */
static const daruma_tries *tries_of(session *x)
{
    static const daruma_tries none = {0};
    const daruma_tries *tries = watch_tries(x);
    return tries ? tries : &none;
}

static const char *const modes[] = {
    [DARUMA_STRATEGIES_LOG] = "log", [DARUMA_STRATEGIES_ASK] = "ask", [DARUMA_STRATEGIES_AUTO] = "auto"};

/* Told, and tried as far as the mode goes. */
static void propose(session *x, daruma_strategy p)
{
    steer *s = x->steer;
    daruma_tries *tries = watch_tries(x);
    daruma_strategy_mode mode = x->o->strategies;
    s->proposal = p;
    s->fate = daruma_strategy_decide(&p, mode, x->kase.policy);
    if (tries)
        daruma_tries_note(tries, &p);
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "recovery_strategy_generated";
    e.verdict = &s->verdict;
    e.tool = p.tool;
    e.reason = p.reasoning;
    e.strategy = p.name;
    e.confidence = p.confidence;
    e.mode = str_of(modes[mode]);
    e.fate = str_of(daruma_strategy_fate_name(s->fate));
    session_event(x, &e);
    if (s->fate == DARUMA_FATE_ASK || s->fate == DARUMA_FATE_ESCALATE) {
        e.name = "needs_review";
        session_event(x, &e);
    }
}

bool strategy_begin(session *x)
{
    steer *s = x->steer;
    daruma_arena *a = x->arena;
    daruma_strategy p;
    asked_about *q = situation(x);
    if (!q)
        return false;
    s->about = &q->is;
    s->proposal = (daruma_strategy){0};
    const daruma_tries *tries = tries_of(x);
    if (daruma_strategy_learned(&q->is, tries, x->kase.policy, &p)) {
        propose(x, p);
        return false;
    }
    mend_question *ask = ARENA_NEW(a, mend_question, 1);
    daruma_question text = daruma_strategy_ask(&q->is, tries, x->kase.policy, a);
    if (ask && text.user.n) {
        *ask = (mend_question){.system = text.system,
                               .user = text.user,
                               .about = S("strategy"),
                               .temperature_milli = text.temperature_milli};
        s->asking = true;
        if (side_ask(x, ask, 1, text.max_tokens))
            return true;
        s->asking = false;
        if (s->proposal.name.n)
            return false; /* it could not be asked: strategy_answer() was told so already */
    }
    propose(x, daruma_strategy_guess(&q->is, tries, x->kase.policy, a));
    return false;
}

/* Between backticks, on one line. What was learned came from a model: it closes nothing that we opened. */
static void put_quoted(daruma_buf *b, daruma_str text)
{
    buf_putc(b, '`');
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '<')
            BUF_LIT(b, "&lt;");
        else
            buf_putc(b, (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i] == '`' ? '\'' : text.p[i]);
    buf_putc(b, '`');
}

/* What helped against the failure of the newest call. Where the newest call did not fail, the circle is about something
 * else. */
void strategy_lesson(session *x, daruma_buf *out)
{
    asked_about q;
    daruma_strategy p;
    const daruma_tries *tries = tries_of(x);
    const convo *tools = session_mend_tools(x);
    q.last = watch_last_step(&x->steer->last);
    q.is =
        (daruma_situation){.last = &q.last, .failures = q.failures, .lessons = q.lessons, .fits = daruma_schema_fits};
    uint64_t call = daruma_call_hash(q.last.tool, q.last.args);
    size_t n = q.is.nfailures = watch_failures(x, q.failures, TOOL_FAILURES_SHOWN);
    if (!tools || !daruma_step_failed(&q.last) || !n || q.failures[n - 1].call != call)
        return;
    q.is.nlessons = watch_lessons(x, &q.is, q.lessons, DARUMA_LESSONS_SHOWN);
    take_tools(&q, tools, x->arena);
    if (!daruma_strategy_learned(&q.is, tries, x->kase.policy, &p) || !p.checked || p.kind == DARUMA_STRATEGY_RETRY ||
        daruma_call_hash(p.tool, p.parameters) == call)
        return;
    BUF_LIT(out, " Against this failure it helped before to call ");
    put_quoted(out, p.tool);
    BUF_LIT(out, " with other arguments, as ");
    put_quoted(out, p.parameters);
    BUF_LIT(out, " then.");
}

void strategy_answer(session *x, daruma_str text)
{
    steer *s = x->steer;
    const daruma_tries *tries = tries_of(x);
    propose(x, daruma_strategy_read(text, s->about, tries, x->kase.policy, x->arena, NULL));
}

void strategy_say(const session *x, daruma_buf *out)
{
    const steer *s = x->steer;
    const daruma_strategy *p = &s->proposal;
    if (s->fate != DARUMA_FATE_DO || !p->reasoning.n)
        return;
    BUF_LIT(out, " A way to go on: ");
    if (p->tool.n) {
        BUF_SAY(out, "call ", p->tool);
        if (p->parameters.n) {
            BUF_SAY(out, " with ", str_sub(p->parameters, 0, WATCH_LAST_BYTES));
        }
        BUF_LIT(out, ". ");
    }
    buf_put(out, str_sub(p->reasoning, 0, WATCH_LAST_BYTES));
}
