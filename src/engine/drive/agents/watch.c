/* watch.c - agents, seen by the histories they send. Whose request it is agents.c knows; only what is new in it is
 * read.
 *
 *   request -- newest messages --> agent -- new steps --> stall, tracker --> verdict --> guide: what to do
 *                                    ^                                                     |
 *                                    +---- counters stay with the agent ----   steer.c does it */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/agents/agents.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/answer/talk.h"
#include "engine/drive/request/account.h"
#include "engine/watch/steps.h"
#include "engine/watch/toolfail.h"
#include "model/kinds.h"
#include <xxhash.h>

enum {
    READ_BYTES = 8192,    /* what a turn usually needs to be read */
    SEEN_BYTES = 1 << 20, /* beyond it what was needed for steps is given back before the next */
};

void watch_free(const drive_rooms *rooms, watch *w)
{
    if (!w)
        return;
    agents_free(w);
    past_free(rooms, w->past);
    rooms->give(w->lessons_room);
    rooms->give(w);
}

/* The table of agents; NULL: there is no memory. */
watch *watch_of(driver *v)
{
    if (!v->watch && (v->watch = v->rooms->take(sizeof *v->watch)))
        v->watch->rooms = v->rooms;
    return v->watch;
}

/* Counters of failures begin with the first; without memory there are none. */
static void begin_trouble(const drive_rooms *rooms, agent *a, const daruma_policy *p)
{
    size_t bytes = daruma_tracker_bytes() + 2 * _Alignof(max_align_t);
    trouble *t = rooms->take(sizeof *t + bytes);
    if (!t)
        return;
    daruma_arena arena = arena_over((char *)(t + 1), bytes);
    t->tracker = daruma_tracker_new(&arena, p);
    a->trouble = t;
}

/* ---- what is new ---- */

static void keep_text(char *to, size_t *n, daruma_str text)
{
    *n = text.n < WATCH_LAST_BYTES ? text.n : WATCH_LAST_BYTES;
    while (*n < text.n && *n && ((unsigned char)text.p[*n] & 0xc0) == 0x80)
        --*n; /* between two characters */
    memcpy(to, text.p ? text.p : "", *n);
}

static void keep_last(watch_last *l, const daruma_step *s)
{
    daruma_str tool = str_sub(s->tool, 0, sizeof l->tool);
    memcpy(l->tool, tool.p ? tool.p : "", tool.n);
    l->ntool = tool.n;
    keep_text(l->args, &l->nargs, s->args);
    keep_text(l->result, &l->nresult, s->result);
    l->ok = s->ok;
}

daruma_step watch_last_step(const watch_last *l)
{
    return (daruma_step){
        .tool = {l->tool, l->ntool}, .args = {l->args, l->nargs}, .result = {l->result, l->nresult}, .ok = l->ok};
}

/* The user gives a new task: what was repeated before says nothing about it. What is said again, by a program that
 * urges its agent on, is none. */
static void user_spoke(const drive_rooms *rooms, agent *a, daruma_str text)
{
    uint64_t h = XXH3_64bits(text.p, text.n);
    for (size_t i = 0; i < WATCH_USERS_KEPT; i++)
        if (a->users[i] == h)
            return;
    agent was = *a;
    if (a->nusers)
        agent_begin(rooms, a);
    a->place = was.place;
    a->used = was.used;
    a->at = was.at;
    a->input = was.input;
    a->failed = was.failed; /* they are still in the history, and shown as before */
    memcpy(a->users, was.users, sizeof a->users);
    a->users[was.nusers % WATCH_USERS_KEPT] = h;
    a->nusers = was.nusers + 1;
}

static void tell_escalation(session *x, agent *a, daruma_str tool)
{
    daruma_event e = DARUMA_EVENT_INIT;
    e.name = "needs_review";
    e.tool = tool;
    e.reason = daruma_tracker_escalation(a->trouble->tracker).reason;
    session_event(x, &e);
    x->v->watch->escalations++;
}

static daruma_lessons *lessons_of(watch *w)
{
    size_t bytes = daruma_lessons_bytes(WATCH_LESSONS_MAX);
    if (!w->lessons && (w->lessons_room = w->rooms->take(bytes))) {
        daruma_arena a = arena_over(w->lessons_room, bytes);
        w->lessons = daruma_lessons_new(&a, WATCH_LESSONS_MAX);
    }
    return w->lessons;
}

void watch_save(const watch *w, daruma_buf *out)
{
    if (w && w->lessons)
        daruma_lessons_save(w->lessons, out);
}

bool watch_load(driver *v, daruma_str line)
{
    watch *w = watch_of(v);
    daruma_lessons *l = w ? lessons_of(w) : NULL;
    return l && daruma_lessons_load(l, line);
}

static daruma_str schema_of(session *x, daruma_str tool)
{
    const convo *tools = session_mend_tools(x);
    const convo_tool *t = tools ? convo_tool_find(tools, tool) : NULL;
    return t ? t->schema : (daruma_str){0};
}

static void tell_failure(session *x, const daruma_tool_failure *f)
{
    daruma_failure told = kind_failure(DARUMA_TOOL_ERROR, 0);
    daruma_event e = DARUMA_EVENT_INIT;
    told.tool_kind = f->kind;
    told.retryable = f->retryable;
    told.message = f->message;
    e.name = "tool_failed";
    e.failure = &told;
    e.tool = f->tool;
    session_event(x, &e);
    x->v->watch->failures[f->kind]++;
}

/* What failed, and what then reached the same goal. Nothing is looked up for steps that work while nothing is open. */
static void learn(session *x, agent *a, const daruma_step *s, const daruma_tool_failure *f, daruma_arena *scratch)
{
    daruma_lessons *l = a->trouble ? lessons_of(x->v->watch) : NULL;
    if (!f && a->tries)
        daruma_tries_worked(a->tries, x->o->policy, s->tool);
    if (l)
        daruma_learner_see(&a->trouble->learner, l, session_tenant(x), s, f, schema_of(x, s->tool), session_now(x).wall,
                           scratch);
}

/* Takes what it costs to judge a failed step out of `*left`. False: that is not there. */
static bool pays(const daruma_step *s, size_t *left)
{
    size_t most = TOOL_TEXT_HEAD_BYTES + TOOL_TEXT_TAIL_BYTES, cost = s->result.n < most ? s->result.n : most;
    if (cost > *left)
        return false;
    *left -= cost;
    return true;
}

/* `*left`: so many bytes of failures may still be judged. */
static void see_failures(session *x, agent *a, const daruma_step *s, size_t *left, daruma_arena *scratch)
{
    bool failed = daruma_step_failed(s);
    toolfail judged = {.f = {.kind = 0}};
    a->failed += failed;
    if (failed && !pays(s, left))
        return;
    if (failed) {
        judged = toolfail_judge(s, &x->o->policy->watch, scratch);
        a->last.ok = 0;
        if (judged.f.message.n) /* the line that matters, not where its trace begins */
            keep_text(a->last.result, &a->last.nresult, judged.f.message);
        tell_failure(x, &judged.f);
        if (!a->trouble)
            begin_trouble(x->v->rooms, a, x->o->policy);
    }
    daruma_tracker *t = a->trouble ? a->trouble->tracker : NULL;
    bool told = t && daruma_tracker_escalation(t).needs_review;
    if (t && !tracker_see(t, (daruma_str){0}, s, failed ? &judged : NULL, session_now(x), scratch) && !told)
        tell_escalation(x, a, s->tool);
    learn(x, a, s, failed ? &judged.f : NULL, scratch);
}

static void see(session *x, agent *a, const daruma_step *s, size_t *left, daruma_arena *scratch)
{
    a->verdict = daruma_stall_see(a->stall, s);
    x->v->watch->steps++;
    keep_last(&a->last, s);
    if (s->tool.n)
        see_failures(x, a, s, left, scratch);
}

/* Much of the history went since the last request: the client has shortened it. (One that drops a little each turn goes
 * on all the same.) */
static bool was_shortened(const agent *a, const news *n)
{
    return n->lost || (n->tip != STR_NONE && n->tip < a->at / 2);
}

/* A request of few messages in which nothing was done yet: until something is done nobody needs to be remembered, and
 * nobody else forgotten for it. */
static bool is_idle(const newest *v, convo *c)
{
    steps_item item;
    if (v->n > WATCH_CHAIN && !v->x->out.scan.before)
        return false;
    for (steps_iter it = {.c = c}; steps_next(&it, &item);)
        if (item.what == STEPS_STEP)
            return false;
    return true;
}

/* The new messages, step by step; of a request with more than anybody does in a turn only so many. */
static void see_all(session *x, agent *a, const news *n, convo *c)
{
    static const daruma_step shortened = {
        .tool = LIT("compaction"), .ok = 1, .traits = DARUMA_TOOL_COMPACTS | DARUMA_TOOL_KNOWN};
    steps_item item;
    size_t left = WATCH_STEPS_MAX, judged = WATCH_JUDGED_BYTES_MAX;
    daruma_arena scratch = {0};
    if (was_shortened(a, n))
        see(x, a, &shortened, &judged, &scratch);
    for (steps_iter it = {.c = c}; left && steps_next(&it, &item); left--) {
        if (item.what == STEPS_USER) {
            if (!n->lost)
                user_spoke(x->v->rooms, a, item.text);
            continue;
        }
        if (x->v->rooms->bytes(&scratch) == 0 || x->v->rooms->bytes(&scratch) > SEEN_BYTES) {
            x->v->rooms->close(&scratch);
            x->v->rooms->open(&scratch, READ_BYTES, CALL_ARENA_BYTES_MAX);
        }
        see(x, a, &item.step, &judged, &scratch);
    }
    x->v->rooms->close(&scratch);
}

/* What is read of new messages. */
typedef struct reading {
    daruma_arena messages, texts; /* of how they are made up, and of what they say */
    convo c;
} reading;

/* Reads the new messages of a request: of many bytes the newest that may be read on the loop, and none that are made up
 * of too much. */
static void read_messages(newest *v, const news *n, reading *r)
{
    const drive_rooms *rooms = v->x->v->rooms;
    daruma_str all = v->x->out.scan.messages;
    bool alone = n->from != STR_NONE && json_is_string(all); /* Responses: the words of the user, and nothing else */
    size_t from = n->from;
    while (from < v->n && all.n - v->at[from % SCAN_NEWEST] > LOOP_BYTES_MAX)
        from++;
    r->c = (convo){.arena = &r->texts};
    if ((from >= v->n && !alone) || (alone && all.n > LOOP_BYTES_MAX) ||
        !rooms->open(&r->messages, READ_BYTES, n->before.n + LOOP_BYTES_MAX + WATCH_READ_BYTES_MAX) ||
        !rooms->open(&r->texts, 0, CALL_ARENA_BYTES_MAX) ||
        dialect_read_newest(v->x->d, &v->x->out.scan, v->at, from, n->before, &r->messages, &r->c) != DARUMA_OK)
        r->c = (convo){0};
    r->c.arena = &r->texts;
}

/* The agent of the request, after what it did since the last one; NULL: none is remembered. What is read is given back
 * at once: memory of the call is for mending. */
static agent *read_new(session *x, newest *v)
{
    watch *w = x->v->watch;
    news n = agent_of(v);
    reading r = {0};
    read_messages(v, &n, &r);
    if (n.agent < 0 && !is_idle(v, &r.c))
        n.agent = agent_new(w, v->tenant);
    agent *a = n.agent < 0 ? NULL : w->agents[n.agent];
    if (a) {
        agent_keep_keys(v, n.agent);
        a->place = n.agent;
        a->used = session_now(x).now;
        /* The very same request behind an answer: of a history that is kept short and names no calls by ids nothing
         * else is to be seen of another lap. */
        if (a->answered && n.from == v->n)
            a->guide.spoke = 0;
        a->answered = false;
        see_all(x, a, &n, &r.c);
        a->at = v->n - (v->n > 0);
    }
    x->v->rooms->close(&r.messages);
    x->v->rooms->close(&r.texts);
    return a;
}

/* ---- the request ---- */

/* Where nothing may be changed in requests what is seen can be told all the same. */
static daruma_watch_mode mode_of(const session *x)
{
    daruma_watch_mode mode = (daruma_watch_mode)x->agent.watch;
    if (!x->d || x->opaque || !x->out.scan.ok)
        return DARUMA_WATCH_OFF;
    return x->kase.can_mend || mode < DARUMA_WATCH_OBSERVE ? mode : DARUMA_WATCH_OBSERVE;
}

static void tell_circle(session *x, agent *a, const daruma_step *last)
{
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_buf why = buf_in(x->arena);
    daruma_verdict_say(&a->verdict, last, &why);
    e.name = "loop_detected";
    e.verdict = &a->verdict;
    e.tool = last->tool;
    e.reason = buf_str(&why);
    session_event(x, &e);
}

/* Nobody can go in circles who may call nothing and has called nothing. Without a list of messages only who goes on
 * from an answer that past.c knows is anybody. */
static bool may_act(session *x, const uint32_t *places)
{
    const request_scan *s = &x->out.scan;
    if (!s->nmessages && !(json_is_string(s->messages) && past_before(x)))
        return false;
    return s->tools || (s->nmessages && dialect_message_results(dialect_message(s, places, s->nmessages - 1)));
}

/* Does the provider keep a notice that says the same? Then the model reads it again without us. */
static bool is_kept(const session *x, const agent *a, daruma_remedy_kind r)
{
    return x->out.scan.before && r == DARUMA_REMEDY_NOTICE && a->guide.about == a->kept_about &&
           a->guide.level <= a->kept_level && a->verdict.step != a->kept_at;
}

bool watch_request(session *x, const uint32_t *places)
{
    daruma_watch_mode mode = mode_of(x);
    if (mode == DARUMA_WATCH_OFF || !may_act(x, places) || !watch_of(x->v))
        return false;
    newest v = newest_of(x, places);
    agent *a = read_new(x, &v);
    if (!a)
        return false;
    x->agent.compacts = mode >= DARUMA_WATCH_GUIDE && a->failed && x->o->compact_tool_errors;
    if (a->verdict.circle == DARUMA_CIRCLE_NONE)
        return false;
    steer *s = x->steer = ARENA_NEW(x->arena, steer, 1);
    if (!s)
        return false;
    daruma_step last = watch_last_step(&a->last);
    if (a->told != a->verdict.about) {
        a->told = a->verdict.about;
        x->v->watch->circles[a->verdict.circle]++;
        tell_circle(x, a, &last);
    }
    uint32_t have = x->kase.policy->mend.side_calls ? DARUMA_NEED_SIDE : 0;
    s->remedy = daruma_guide_next(&a->guide, x->kase.policy, &a->verdict, mode, have);
    if (is_kept(x, a, s->remedy))
        s->remedy = DARUMA_REMEDY_NONE;
    s->agent = a->place;
    s->verdict = a->verdict;
    s->guide = a->guide;
    s->last = a->last;
    return s->remedy != DARUMA_REMEDY_NONE;
}

/* The agent of a request, if it is still the one that sent it. */
static agent *agent_at_hand(const session *x)
{
    const watch *w = x->v->watch;
    return x->steer && w && w->keys[x->steer->agent].chain == x->agent.id ? w->agents[x->steer->agent] : NULL;
}

/* May the next request name the answer instead of sending it back? */
static bool reads_answer(const session *x)
{
    return x->d == &dialect_openai_responses && x->p == x->d && !x->out.scan.unstored &&
           (x->out.scan.tools || x->out.scan.before) && x->agent.watch != DARUMA_WATCH_OFF;
}

/* The next request may go on from this answer, and name it alone. */
static void keep_answer(session *x)
{
    watch *w = x->v->watch;
    agent_keys *keys;
    uint64_t key = past_key(x, session_answer_id(x));
    daruma_str items = {0}, held = buf_str(&x->answer.held);
    bool streamed = session_talks(x), readable = held.n <= STORED_READ_BYTES_MAX;
    daruma_arena own;
    turn t;
    if (!key || !x->v->rooms->open(&own, READ_BYTES, CALL_ARENA_BYTES_MAX))
        return;
    if (streamed) {
        t = talk_turn(x);
        items = talk_items(x, &own);
        past_put_passed(x, items);
    } else if (readable) {
        past_put_passed(x, json_get(held, S("output")));
    }
    if (streamed || (readable && x->p->read_answer(held, &own, &t) == DARUMA_OK))
        past_put(x, key, &t, items, &own);
    if (agent_of_chain(w, x->agent.id, &keys))
        keys->stored = key;
    x->v->rooms->close(&own);
}

void watch_answered(session *x)
{
    agent *a = agent_at_hand(x);
    if (a) {
        a->answered = true;
        if (x->out.scan.before && x->steer->remedy == DARUMA_REMEDY_NOTICE) {
            a->kept_about = x->steer->guide.about;
            a->kept_level = x->steer->guide.level;
            a->kept_at = x->steer->verdict.step;
        }
    }
    if (reads_answer(x) && watch_of(x->v))
        keep_answer(x);
    past_put_items(x, talk_written(x));
}

daruma_tries *watch_tries(session *x)
{
    agent *a = agent_at_hand(x);
    if (a && !a->tries)
        a->tries = x->v->rooms->take(sizeof *a->tries);
    return a ? a->tries : NULL;
}

/* The newest that are not overcome, newest last: what was overcome is not what it is stuck with. */
size_t watch_failures(session *x, daruma_tool_failure *out, size_t max)
{
    agent *a = agent_at_hand(x);
    daruma_tool_failure all[TRACKED_FAILURES_MAX];
    daruma_tracker *t = a && a->trouble ? a->trouble->tracker : NULL;
    size_t n = t ? daruma_tracker_list(t, all, TRACKED_FAILURES_MAX) : 0, open = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!all[i].resolved)
            all[open++] = all[i];
    for (size_t i = open > max ? open - max : 0; i < open; i++) {
        out[kept] = all[i]; /* what the tracker holds may change while a model is asked */
        out[kept].tool = arena_copy(x->arena, all[i].tool);
        out[kept].message = arena_copy(x->arena, all[i].message);
        out[kept++].suggestion = arena_copy(x->arena, all[i].suggestion);
    }
    return kept;
}

size_t watch_lessons(session *x, const daruma_situation *s, daruma_lesson *out, size_t max)
{
    const watch *w = x->v->watch;
    if (!w || !w->lessons || !s->nfailures)
        return 0;
    const daruma_tool_failure *f = &s->failures[s->nfailures - 1];
    daruma_lesson_key k = {.tenant = session_tenant(x),
                           .tool = f->tool,
                           .schema = schema_of(x, f->tool),
                           .error = f->signature,
                           .call = f->call};
    return daruma_lessons_find(w->lessons, &k, session_now(x).wall, out, max);
}

void driver_watch_status(const driver *v, daruma_buf *out)
{
    const watch *w = v->watch;
    BUF_LIT(out, "\"watch\":{");
    BUF_MEMBERS(out, "agents", w ? w->n : 0, "steps", w ? w->steps : 0, "escalations", w ? w->escalations : 0,
                "forgotten", w ? w->forgotten : 0);
    BUF_LIT(out, ",\"circles\":{");
    for (int c = 1; w && c < DARUMA_CIRCLES; c++)
        BUF_MEMBERS(out, daruma_circle_name((daruma_circle)c), BUF_IF(w->circles[c], w->circles[c]));
    BUF_LIT(out, "},\"tool_failures\":{");
    for (int k = 1; w && k < DARUMA_TOOL_KINDS; k++)
        BUF_MEMBERS(out, daruma_tool_kind_name((daruma_tool_kind)k), BUF_IF(w->failures[k], w->failures[k]));
    BUF_LIT(out, "}},");
}
