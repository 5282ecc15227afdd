/* forget.c - a conversation that outgrows its model's window: the oldest steps leave it, and their memory with them.
 *
 *     task | steps that leave | 3/8 of the window stay | new ones ...        at 3/4 of the window: again
 *
 * Many steps leave at once, so that the beginning of the request stays the same for long: providers keep it, and so do
 * we. What remains of them: how often each tool was called, the model's newest words, and each call whose effect nobody
 * knows. The journal has all of them. */
#include "engine/agent/inside.h"

static bool same_turn(const agent_step *a, const agent_step *b)
{
    return a->kind == AGENT_STEP_CALL && b->kind == AGENT_STEP_CALL && a->turn == b->turn;
}

static int64_t step_tokens(const agent_step *s)
{
    return AGENT_STEP_TOKENS + text_tokens(s->thought) + text_tokens(s->args) + text_tokens(s->llm_observation);
}

/* The first of the newest steps that fit into three eighths of the window; the newest answer stays whole. */
static size_t first_kept(const agent *a)
{
    int64_t left = a->s.window / 8 * 3;
    size_t n = a->nsteps, from = n, whole;
    while (from > 0 && (left -= step_tokens(&a->steps[from - 1])) >= 0)
        from--;
    for (whole = from; whole > 0 && whole < n && same_turn(&a->steps[whole - 1], &a->steps[whole]);)
        whole++;
    if (whole < n)
        return whole;
    for (from = n - (n > 0); from > 0 && same_turn(&a->steps[from - 1], &a->steps[from]);)
        from--;
    return from;
}

/* True if nobody knows whether that call had its effect. */
static bool is_open(const agent *a, const agent_step *s)
{
    return s->kind == AGENT_STEP_CALL && s->lost && !agent_tool_is_safe(router_tool(a, s->tool));
}

static void count_gone(agent *a, const agent_step *s)
{
    size_t tool = 0;
    a->gone.steps++;
    if (s->kind != AGENT_STEP_NOTE && s->thought.n)
        a->gone.words = s->thought;
    if (s->kind != AGENT_STEP_CALL)
        return;
    while (tool < a->s.ntools && !str_eq(a->s.tools[tool].about.name, s->tool))
        tool++;
    a->gone.called += s->attempts > 0;
    a->gone.calls[tool].made++;
    a->gone.calls[tool].failed += s->failed;
}

/* Takes the old steps off the list; returns how many stay. */
static size_t take_off(agent *a, size_t from)
{
    size_t n = 0, open = 0, before = 0;
    for (size_t i = 0; i < from; i++)
        open += is_open(a, &a->steps[i]);
    for (size_t i = 0; i < a->nsteps; i++) {
        agent_step *s = &a->steps[i];
        bool opened = i < from && is_open(a, s);
        if (i >= from || (opened && open <= AGENT_OPEN_CALLS_MAX)) {
            a->steps[n++] = *s;
            continue;
        }
        open -= opened;
        before += i < a->planning.from;
        for (size_t k = 0; k < n && calls_looks(a, s); k++)
            a->steps[k].looked |= !str_eq(a->steps[k].tool, s->tool);
        if (i >= a->planning.from)
            count_gone(a, s);
    }
    a->planning.from -= before;
    return n;
}

static void move(daruma_arena *to, daruma_str *s)
{
    *s = s->n ? arena_copy(to, *s) : (daruma_str){0};
}

static void move_step(daruma_arena *to, agent_step *s)
{
    bool as_it_came = s->llm_observation.p == s->observation.p && s->llm_observation.n == s->observation.n;
    daruma_str *const texts[] = {&s->thought, &s->id,   &s->tool,  &s->args,
                                 &s->instead, &s->note, &s->error, &s->observation};
    for (size_t i = 0; i < COUNT(texts); i++)
        move(to, texts[i]);
    if (as_it_came)
        s->llm_observation = s->observation;
    else
        move(to, &s->llm_observation);
}

/* What is in use of the texts, into memory of its own. */
static void move_texts(agent *a)
{
    daruma_strategy *way = &a->loop.strategy;
    daruma_str *const texts[] = {
        &a->failure.operation,  &a->failure.message, &a->failure.user_message, &a->failure.metadata, &a->notice,
        &a->planning.complaint, &a->correction,      &a->reporting.said,       &a->loop.circle,      &a->loop.estimate,
        &a->gone.words,         &way->name,          &way->reasoning,          &way->tool,           &way->parameters,
        &way->message};
    daruma_arena to;
    if (!a->rooms->open(&to, 64 << 10, AGENT_BYTES_MAX)) {
        a->keep.full = true;
        return;
    }
    for (size_t i = 0; i < COUNT(texts); i++)
        move(&to, texts[i]);
    for (size_t i = 0; i < a->nsteps; i++)
        move_step(&to, &a->steps[i]);
    a->rooms->close(&a->texts);
    a->texts = to;
}

bool forget_old(agent *a)
{
    int64_t most = a->s.window / 4 * 3, was = (int64_t)a->nsteps;
    if (most <= 0 || a->asked_tokens <= most)
        return false;
    a->nsteps = take_off(a, first_kept(a));
    int64_t gone = was - (int64_t)a->nsteps;
    if (!gone)
        return false;
    question_close(a);
    move_texts(a);
    LOG(a, "steps_left_out", "reason", "window", "steps", gone, "kept", a->nsteps);
    return true;
}

void forget_say(const agent *a, daruma_arena *room, daruma_buf *out)
{
    if (!a->gone.steps)
        return;
    buf_printf(out, "\n\n[The conversation outgrew your window: its first %u steps are left out here.", a->gone.steps);
    const char *before = " Called were ";
    for (size_t i = 0; i <= a->s.ntools; i++) {
        if (!a->gone.calls[i].made)
            continue;
        buf_putz(out, before);
        before = ", ";
        if (i < a->s.ntools)
            buf_put(out, traj_wire_name(a, a->s.tools[i].about.name, room));
        else
            BUF_LIT(out, "unknown tools");
        buf_printf(out, " %u times", a->gone.calls[i].made);
        if (a->gone.calls[i].failed)
            buf_printf(out, " (%u failed)", a->gone.calls[i].failed);
    }
    buf_putz(out, *before == ',' ? "." : "");
    if (a->gone.words.n)
        BUF_SAY(out, " The last that you said then: ", flow_line(str_trim(a->gone.words), PARTIAL_WORDS_BYTES_MAX));
    BUF_LIT(out, " What these steps did stays done. Look again where you need to know.]");
}
