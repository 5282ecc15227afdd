/* trajectory.c - what was done, and how the model sees it. Two texts of each result: `observation` is kept as it came,
 * `llm_observation` is what the model reads, which may be shortened. The view is made anew for each call, so that a
 * call without its result, or a result without its call, cannot be in it. */
#include "engine/agent/inside.h"
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/shorten/shorten.h"
#include "base/utf8.h"
#include <xxhash.h>

agent_step *traj_add(agent *a, agent_step_kind kind)
{
    size_t size = sizeof *a->steps;
    if (a->nsteps == AGENT_STEPS_MAX ||
        !flow_grow(a, (void **)&a->steps, a->nsteps * size, &a->steps_bytes, (a->nsteps + 1) * size)) {
        a->keep.full = true;
        return NULL;
    }
    agent_step *s = &a->steps[a->nsteps++];
    *s = (agent_step){.kind = kind,
                      .turn = a->turn,
                      .plan_step = a->planning.plan.n && a->phase != PHASE_PLAN ? (uint32_t)a->planning.at + 1 : 0};
    if (s->plan_step && s->plan_step <= a->planning.plan.n)
        s->objective = a->planning.plan.steps[s->plan_step - 1].objective;
    return s;
}

/* Text beyond the bound is cut, and says so. */
static daruma_str bounded(agent *a, daruma_str s)
{
    if (s.n <= AGENT_OBSERVATION_BYTES_MAX)
        return flow_text(a, s);
    daruma_buf b = buf_in(&a->texts);
    BUF_SAY(&b, flow_line(s, AGENT_OBSERVATION_BYTES_MAX), "\n[... ", s.n - AGENT_OBSERVATION_BYTES_MAX,
            " more bytes were left out]");
    return buf_str(&b);
}

/* A call ended. `seen`: how the model shall read it; empty: as it came. */
void traj_result(agent *a, agent_step *s, daruma_str result, bool failed, daruma_str seen)
{
    s->observation = bounded(a, result);
    s->llm_observation = seen.n ? flow_text(a, seen) : s->observation;
    s->failed = failed;
    s->done = true;
}

/* ---- the view ---- */

/* How a failure is shown now: hidden when its goal was reached later, in one line when newer ones crowd it out. */
static daruma_str failure_seen(const agent_step *s, const daruma_tool_failure *known, size_t n, size_t shown_max,
                               daruma_arena *room)
{
    size_t newer = 0;
    for (size_t i = n; i-- > 0;) {
        if (known[i].step == s->tracked) {
            daruma_buf b = buf_in(room);
            if (known[i].resolved)
                return S("[This call failed. What it was for worked later.]");
            if (newer < shown_max)
                return s->llm_observation;
            daruma_tool_failure_write(&known[i], DARUMA_VIEW_SUMMARY, &b);
            return b.n ? buf_str(&b) : s->llm_observation;
        }
        newer += !known[i].resolved;
    }
    return n && s->tracked < known[0].step ? S("[This call failed, long ago.]") : s->llm_observation;
}

static bool belongs(const agent *a, const agent_step *s)
{
    return a->s.mode == AGENT_REACTIVE ||
           (s->plan_step == a->planning.at + 1 && (size_t)(s - a->steps) >= a->planning.from);
}

static char wire_letter(char c)
{
    return c == '.' || c == ':' ? '_' : c;
}

static bool same_on_wire(daruma_str x, daruma_str y)
{
    size_t i = 0;
    while (x.n == y.n && i < x.n && wire_letter(x.p[i]) == wire_letter(y.p[i]))
        i++;
    return x.n == y.n && i == x.n;
}

enum { NUMBER_BYTES = sizeof "_99999" - 1, STEM_BYTES = TOOL_NAME_BYTES_MAX - NUMBER_BYTES };

/* True if a number behind one of them could make it the other one with a number: both are cut to make room for it. */
static bool same_stem(daruma_str x, daruma_str y)
{
    return same_on_wire(str_sub(x, 0, STEM_BYTES), str_sub(y, 0, STEM_BYTES));
}

/* True if that is how models see a tool without a number. */
static bool is_plain_name(const agent *a, daruma_str wire)
{
    size_t i = 0;
    while (i < a->s.ntools && !same_on_wire(a->s.tools[i].about.name, wire))
        i++;
    return i < a->s.ntools;
}

/* The name of a tool as models see it: OpenAI and Anthropic take no '.' and no ':', and no name twice. Of tools that
 * would have the same, those behind the first get a number. Tools whose names begin alike count in steps as long as
 * there are such tools, each from a place of its own: no two come to the same number. */
daruma_str traj_wire_name(const agent *a, daruma_str name, daruma_arena *room)
{
    daruma_buf b = buf_in(room);
    size_t before = 0, place = 1, alike = 0, at = 0;
    buf_room(&b, name.n + NUMBER_BYTES);
    for (size_t i = 0; i < name.n; i++)
        buf_putc(&b, wire_letter(name.p[i]));
    while (at < a->s.ntools && !str_eq(a->s.tools[at].about.name, name))
        before += same_on_wire(a->s.tools[at++].about.name, name);
    if (!before || at == a->s.ntools)
        return b.full ? name : buf_str(&b);
    for (size_t i = 0; i < a->s.ntools; i++) {
        bool is = same_stem(a->s.tools[i].about.name, name);
        alike += is;
        place += is && i < at;
    }
    do {
        b.n = name.n < STEM_BYTES ? name.n : STEM_BYTES;
        BUF_SAY(&b, "_", place);
        place += alike;
    } while (!b.full && is_plain_name(a, buf_str(&b)));
    return b.full ? name : buf_str(&b);
}

static void put_part(convo *c, convo_message *m, part_kind kind, daruma_str text, const agent_step *s)
{
    convo_part *p = m ? convo_add_part(c, m, kind, (daruma_str){0}) : NULL;
    if (!p)
        return;
    p->ready = true;
    p->text = text;
    if (s) {
        p->id = s->id;
        p->name = s->tool;
        p->failed = kind == PART_RESULT && s->failed;
    }
}

void traj_say(convo *c, convo_role role, daruma_str text)
{
    put_part(c, convo_add_message(c, role, (daruma_str){0}), PART_TEXT, text, NULL);
}

/* A call, or its result, by the name that models know. */
static void put_named(const agent *a, convo *c, convo_message *m, part_kind kind, daruma_str text, const agent_step *s)
{
    put_part(c, m, kind, text, s);
    if (m && m->nparts)
        m->parts[m->nparts - 1].name = traj_wire_name(a, s->tool, c->arena);
}

/* ... of a model that writes actions: each an object of its own, the results as words of the user. */
static void put_actions(const agent *a, convo *c, convo_message *m, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        daruma_buf b = buf_in(c->arena);
        actions_put_call(&a->steps[i], &b);
        put_part(c, m, PART_TEXT, buf_str(&b), NULL);
    }
    for (size_t i = from; i < to; i++) {
        const agent_step *s = &a->steps[i];
        daruma_buf b = buf_in(c->arena);
        daruma_str seen = s->llm_observation;
        if (s->failed)
            buf_put(&b, seen);
        else
            BUF_OBJECT(&b, "observation",
                       json_valid(seen) ? buf_raw(seen) : buf_quoted(s->done ? seen : S(MEND_UNKNOWN_RESULT)));
        traj_say(c, CONVO_USER, buf_str(&b));
    }
}

/* The failures that the tracker knows. */
typedef struct tracked {
    daruma_tool_failure list[TRACKED_FAILURES_MAX];
    size_t n;
} tracked;

static void take_tracked(const agent *a, tracked *t)
{
    t->n = a->loop.tracker ? daruma_tracker_list(a->loop.tracker, t->list, TRACKED_FAILURES_MAX) : 0;
    t->n = t->n < TRACKED_FAILURES_MAX ? t->n : TRACKED_FAILURES_MAX;
}

/* What the model reads as the result of a call. */
static daruma_str result_seen(const agent *a, const agent_step *s, const tracked *t, daruma_arena *room)
{
    if (!s->done)
        return s->attempts ? S(MEND_UNKNOWN_RESULT) : S("[The call was not carried out.]");
    if (s->failed && s->tracked && a->policy->compact)
        return failure_seen(s, t->list, t->n, a->recovery->watch.shown_max, room);
    return s->llm_observation;
}

/* The calls of one answer and their results: steps[from] up to the returned index. */
static size_t put_turn(const agent *a, convo *c, size_t from, const tracked *t)
{
    size_t to = from;
    convo_message *m = convo_add_message(c, CONVO_ASSISTANT, (daruma_str){0});
    while (to < a->nsteps && a->steps[to].kind == AGENT_STEP_CALL && a->steps[to].turn == a->steps[from].turn)
        to++;
    if (a->policy->actions) {
        put_actions(a, c, m, from, to);
        return to;
    }
    if (a->steps[from].thought.n)
        put_part(c, m, PART_TEXT, a->steps[from].thought, NULL);
    for (size_t i = from; i < to; i++)
        put_named(a, c, m, PART_CALL, a->steps[i].args, &a->steps[i]);
    for (size_t i = from; i < to; i++) {
        const agent_step *s = &a->steps[i];
        daruma_str text = result_seen(a, s, t, c->arena);
        put_named(a, c, convo_add_message(c, CONVO_TOOL, (daruma_str){0}), PART_RESULT, text, s);
    }
    return to;
}

/* The tools that the model may call now. */
void traj_tools(const agent *a, convo *c)
{
    c->tools = a->s.ntools ? ARENA_NEW(c->arena, convo_tool, a->s.ntools) : NULL;
    if (a->s.ntools && !c->tools) {
        c->full = true;
        return;
    }
    for (size_t i = 0; i < a->s.ntools; i++) {
        const daruma_tool *t = &a->s.tools[i].about;
        if (!a->s.tools[i].forbidden && (a->s.mode == AGENT_REACTIVE || plan_offers(a, i)))
            c->tools[c->ntools++] = (convo_tool){
                .name = traj_wire_name(a, t->name, c->arena), .description = t->description, .schema = t->schema};
    }
}

static daruma_str joined(convo *c, daruma_str one, daruma_str two)
{
    daruma_buf b = buf_in(c->arena);
    BUF_SAY(&b, one, "\n\n", two);
    return buf_str(&b);
}

/* Tools are told in words, for a model that answers with actions. */
static void put_catalogue(const agent *a, convo *c)
{
    daruma_buf b = buf_in(c->arena);
    BUF_LIT(&b,
            "Answer with one JSON object: {\"thought\": \"...\", \"next_node\": \"NAME\", \"args\": {}}. To finish: "
            "{\"next_node\": \"final_response\", \"args\": {\"raw_answer\": \"...\"}}. The nodes are:");
    for (size_t i = 0; i < a->s.ntools; i++) {
        if (a->s.tools[i].forbidden)
            continue;
        BUF_SAY(&b, "\n- ", a->s.tools[i].about.name, ": ", a->s.tools[i].about.description, " ",
                a->s.tools[i].about.schema);
    }
    c->messages[0].parts[0].text = joined(c, c->messages[0].parts[0].text, buf_str(&b));
}

void traj_put(const agent *a, convo *c, size_t from)
{
    tracked t;
    take_tracked(a, &t);
    for (size_t i = from; i < a->nsteps;) {
        const agent_step *s = &a->steps[i];
        if (!belongs(a, s)) {
            i++;
        } else if (s->kind == AGENT_STEP_CALL) {
            i = put_turn(a, c, i, &t);
        } else {
            traj_say(c, s->kind == AGENT_STEP_WORDS ? CONVO_ASSISTANT : CONVO_USER, s->thought);
            i++;
        }
    }
}

static uint64_t mixed(uint64_t h, uint64_t v)
{
    return (h ^ v) * 0x9e3779b97f4a7c15u + (h >> 29);
}

/* Texts are kept as they are: the same place is the same text. */
static uint64_t mixed_text(uint64_t h, daruma_str s)
{
    return mixed(mixed(h, (uint64_t)(uintptr_t)s.p), s.n);
}

uint64_t traj_mark(const agent *a, uint64_t before, size_t from, size_t nsteps, daruma_arena *room)
{
    tracked t;
    uint64_t h = before;
    take_tracked(a, &t);
    for (size_t i = 0; !before && i < a->s.ntools; i++) {
        const agent_tool *tool = &a->s.tools[i];
        h = mixed_text(mixed_text(mixed_text(h, tool->about.name), tool->about.description), tool->about.schema);
        h = mixed(h, tool->forbidden);
    }
    for (size_t i = from; i < nsteps; i++) {
        const agent_step *s = &a->steps[i];
        daruma_str seen = s->kind == AGENT_STEP_CALL ? result_seen(a, s, &t, room) : (daruma_str){0};
        h = mixed_text(mixed_text(h, s->thought), s->args);
        if (s->failed) /* a summary of failures is written anew each time */
            h = mixed(h, XXH3_64bits(seen.n ? seen.p : "", seen.n));
        else
            h = mixed_text(h, seen);
    }
    return h;
}

convo traj_convo(const agent *a, daruma_arena *room)
{
    return (convo){.arena = room,
                   .set = {.model = a->s.model,
                           .stream = -1,
                           .max_output = a->s.max_output > 0 ? a->s.max_output : -1,
                           .parallel = -1,
                           .thinking = -1,
                           .thinking_budget = -1}};
}

bool agent_view(const agent *a, daruma_arena *room, convo *ret)
{
    convo c = traj_convo(a, room);
    traj_say(&c, CONVO_SYSTEM, a->s.instructions.n ? a->s.instructions : S(AGENT_INSTRUCTIONS));
    daruma_buf task = buf_in(room);
    if (a->s.mode == AGENT_PLANNED)
        plan_context(a, &task);
    else if (a->gone.steps)
        buf_put(&task, a->task);
    forget_say(a, room, &task);
    if (a->correction.n)
        traj_say(&c, CONVO_SYSTEM, a->correction); /* before the first message that is none of ours (P-F31) */
    traj_say(&c, CONVO_USER, task.n ? buf_str(&task) : a->task);
    if (a->policy->actions)
        put_catalogue(a, &c);
    else
        traj_tools(a, &c);
    traj_put(a, &c, 0);
    *ret = c;
    return !c.full && !room->full && !task.full;
}

/* Results, and calls as the model wrote them (P-F22). */
static int64_t traj_chars(agent *a)
{
    int64_t n = 0;
    daruma_buf call = buf_in(&a->scratch);
    for (size_t i = 0; i < a->nsteps; i++, call.n = 0) {
        if (a->policy->actions && a->steps[i].kind == AGENT_STEP_CALL)
            actions_put_call(&a->steps[i], &call);
        else
            buf_put(&call, a->steps[i].args);
        n += (int64_t)(utf8_chars(a->steps[i].llm_observation) + utf8_chars(buf_str(&call)));
    }
    return n;
}

/* ---- shortening: long results become summaries, else their middle goes ---- */

static mend_summary_style style(const agent *a)
{
    return a->policy->compressed_as_json ? MEND_SUMMARY_PENGUIFLOW : MEND_SUMMARY_PLAIN;
}

/* A conversation of one call and its result, for the summariser. */
static void alone(agent *a, const agent_step *s, convo *ret)
{
    convo c = {.arena = &a->scratch};
    put_part(&c, convo_add_message(&c, CONVO_ASSISTANT, (daruma_str){0}), PART_CALL, s->args, s);
    put_part(&c, convo_add_message(&c, CONVO_TOOL, (daruma_str){0}), PART_RESULT, s->llm_observation, s);
    *ret = c;
}

/* Failures are short already, and tell what must not be lost. */
static bool is_long(agent *a, const agent_step *s, mend_large *ret)
{
    if (s->kind != AGENT_STEP_CALL || !s->done || s->failed || !belongs(a, s))
        return false;
    convo c;
    alone(a, s, &c);
    return !c.full && mend_large_results(&c, a->policy->compress_over_chars, true, style(a), ret, 1) == 1;
}

/* Shortening is of no use: the run ends with an apology. `why`: NULL: that is not told. */
static void give_up(agent *a, const char *why)
{
    if (why) {
        daruma_str mute = a->policy->mute ? S("No LLM client available for compression") : (daruma_str){0};
        LOG(a, "error_recovery_failed", "error_type", router_type(&a->failure), "reason", why, "compression_error",
            buf_any(mute));
    }
    error_graceful(a);
}

void traj_shorten_next(agent *a)
{
    mend_large large;
    bool only_masks = a->policy->cuts && a->policy->masks;
    while (a->shorten.at < a->nsteps && (only_masks || !is_long(a, &a->steps[a->shorten.at], &large)))
        a->shorten.at++;
    if (a->shorten.at < a->nsteps && a->policy->cuts) {
        traj_shortened(a, (daruma_str){0}); /* the next one follows */
        return;
    }
    if (a->shorten.at < a->nsteps && limits_reached(a, true, false) == AGENT_LIMIT_NONE) {
        convo c;
        alone(a, &a->steps[a->shorten.at], &c);
        daruma_question q = {.system = mend_summary_system(),
                             .user = mend_summary_prompt(&c, large, style(a)),
                             .max_tokens = SUMMARY_TOKENS};
        flow_ask(a, AGENT_FOR_SUMMARY, a->s.second.n ? a->s.second : a->s.model, &q, limits_time_left(a));
        return;
    }
    for (size_t i = 0; (only_masks || (!a->shorten.done && a->policy->masks)) && i < a->nsteps; i++) {
        agent_step *s = &a->steps[i];
        const mend_mask_rules bare = MEND_MASK_BARE;
        if (s->kind != AGENT_STEP_CALL || !s->done || s->compressed || !belongs(a, s))
            continue;
        daruma_str masked = mend_masked(s->llm_observation, &bare, &a->texts);
        if (!masked.n)
            continue;
        s->llm_observation = masked;
        s->compressed = true;
        a->shorten.done++;
    }
    a->phase = PHASE_THINK;
    if (!a->shorten.done) { /* nothing is large: the same would fail again */
        give_up(a, a->policy->hides_success ? NULL : "compression_ineffective");
        return;
    }
    a->spent.compressions++;
    LOG(a, "trajectory_compressed", "attempt", a->shorten.times, "reason", "context_length", "steps_compressed",
        a->shorten.done, "original_size_chars", a->shorten.before, "compressed_size_chars", traj_chars(a));
    a->recovering = true;
}

void traj_shorten(agent *a)
{
    if (a->shorten.times >= a->policy->compressions || (a->policy->mute && !a->policy->cuts)) {
        give_up(a, a->policy->mute ? "compression_failed" : "max_compress_retries_exceeded");
        return;
    }
    a->shorten.times++;
    a->shorten.done = 0;
    a->shorten.at = 0;
    a->shorten.before = traj_chars(a);
    a->phase = PHASE_SHORTEN;
}

void traj_shortened(agent *a, daruma_str summary)
{
    agent_step *s = &a->steps[a->shorten.at++];
    mend_large large;
    mend_report rep = {0};
    convo c;
    alone(a, s, &c);
    if (mend_large_results(&c, a->policy->compress_over_chars, true, style(a), &large, 1) != 1 ||
        !mend_summary_put(&c, large, summary, style(a), &rep))
        return;
    s->llm_observation = flow_text(a, convo_part_text(&c, &c.messages[large.message].parts[large.part]));
    s->compressed = true;
    a->shorten.done++;
}

/* ---- what there is when a run ends early ---- */

/* What a step gave: of an agent that did not come to its end the part of it. */
static daruma_str given_by(agent *a, const agent_step *s)
{
    const agent_tool *t = router_tool(a, s->tool);
    if (s->kind != AGENT_STEP_CALL || !s->done || (s->failed && !(t && t->delegates)))
        return (daruma_str){0};
    return str_trim(s->failed ? json_text(json_get(s->observation, S("partial")), &a->scratch) : s->observation);
}

void traj_partial(agent *a, daruma_buf *out)
{
    size_t shown = 0;
    for (size_t i = a->nsteps; i-- > 0;)
        if (a->steps[i].kind != AGENT_STEP_NOTE && a->steps[i].thought.n) {
            BUF_SAY(out, "\n\nThe model's last words were: ",
                    flow_line(str_trim(a->steps[i].thought), PARTIAL_WORDS_BYTES_MAX));
            break;
        }
    for (size_t i = 0; i < a->nsteps; i++) { /* what may have had its effect is said */
        const agent_step *s = &a->steps[i];
        if (s->kind != AGENT_STEP_CALL || !s->attempts || (s->done && !s->lost) ||
            agent_tool_is_safe(router_tool(a, s->tool)))
            continue;
        BUF_SAY(out, "\n\nWhether the call of ", s->tool, " with ", flow_line(s->args, PARTIAL_RESULT_BYTES_MAX),
                " had its effect is unknown: look before it is made again.");
    }
    for (size_t i = a->nsteps; i-- > 0 && shown < AGENT_PARTIAL_RESULTS;) {
        const agent_step *s = &a->steps[i];
        daruma_str given = given_by(a, s);
        if (!given.n)
            continue;
        if (!shown++)
            BUF_LIT(out, "\n\nWhat the tools gave so far, newest first:");
        BUF_SAY(out, "\n- ", s->tool, ": ", flow_line(given, PARTIAL_RESULT_BYTES_MAX));
    }
    if (!shown)
        BUF_LIT(out, "\n\nNo tool gave anything so far.");
}
