/* host.c - the loop of `daruma run`: what agents ask for is done, what came of it is handed in. Questions to
 * models are in host_session.c. One thing is out at a time. */
#include "run/host_inside.h"
#include "tools/shell.h"
#include "tools/web.h"
#include "sys/child.h"
#include "sys/sys.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

daruma_moment host_tick(run *r)
{
    daruma_moment at = sys_moment();
    at.now = add_sat(at.now, r->shift);
    daruma_memory_now(r->known, at.now, at.wall, at.dice);
    return at;
}

static void on_clock(uv_timer_t *t);
static void on_soon(uv_timer_t *t);
static void go_on(run *r);

void host_rearm(run *r)
{
    if (!journal_flush(r->journal))
        host_lose_journal(r);
    daruma_ms now = add_sat(sys_moment().now, r->shift), next = r->session ? daruma_session_wakes_ms(r->session) : -1;
    if (r->until >= 0 && (next < 0 || r->until < next))
        next = r->until;
    daruma_ms in = next < 0 ? RUN_LOOK_MS : next - now; /* the agent's own deadlines are looked at now and then */
    in = in < 0 ? 0 : in > RUN_LOOK_MS ? RUN_LOOK_MS : in;
    uv_timer_start(&r->clock, on_clock, (uint64_t)in, 0);
}

/* What is to be done outside of the callback at hand. */
void host_later(run *r)
{
    uv_timer_start(&r->soon, on_soon, 0, 0);
}

/* ---- the record ---- */

void host_say(run *r, daruma_str json)
{
    journal_event(r->journal, json, host_tick(r));
    r->s->event(json, r->s->user);
}

/* Something happened to a server of tools. */
static void on_server(daruma_str json, void *user)
{
    run *r = user;
    if (r->staff)
        staff_refresh(r->staff);
    if (r->a && !r->finished)
        host_say(r, json);
    else
        r->s->event(json, r->s->user);
}

/* The record cannot be written any more. It is set aside, so that nobody resumes it and does again what comes now; and
 * the run goes on. Where not even that can be done, the run ends as if it were interrupted. */
void host_lose_journal(run *r)
{
    char text[1024];
    daruma_buf b = buf_over(text, sizeof text);
    bool aside = journal_set_aside(r->journal);
    BUF_OBJECT(&b, "event", "journal_lost", "run", r->s->id, "reason", journal_why(r->journal), "then",
               aside ? "the run goes on without a journal; it cannot be resumed"
                     : "the run ends here, so that nothing is done twice when it is resumed");
    r->journal = NULL;
    r->s->event(buf_str(&b), r->s->user);
    if (!aside) {
        host_end_calls(r); /* they send what is the agent's */
        crew_cancel(r->a, host_tick(r));
    }
}

/* Records an outcome, then tells the agent. */
static void hand_in(run *r, crew_input in)
{
    in.at = host_tick(r);
    if (!journal_told(r->journal, &in))
        host_lose_journal(r);
    crew_tell(r->a, &in);
}

/* What stands now where a call would write. */
static journal_look look_at(run *r, const agent_act *x)
{
    journal_look look = {0};
    daruma_arena room;
    if (x->what != AGENT_DO_TOOL || !r->journal || !sys_arena_init(&room, 64 << 10, RUN_TOOL_BYTES_MAX))
        return look;
    look.known = files_look(r->files.root, x->tool, x->args, &room, &look.before, &look.after);
    sys_arena_done(&room);
    return look;
}

/* Records that an act goes out. False: the run was ended instead. */
static bool record(run *r, const agent_act *x)
{
    journal_look look = look_at(r, x);
    if (!journal_asked(r->journal, x, &look, host_tick(r)))
        host_lose_journal(r);
    return crew_result_of(r->a).outcome == DARUMA_OUTCOME_PENDING;
}

/* ---- what the agent asks for ---- */

static void tool_ended(run *r, uint32_t number, daruma_str result, int ok, bool lost)
{
    hand_in(r, (crew_input){.kind = CREW_TOOL, .call = number, .text = result, .code = ok, .lost = lost});
}

static void on_tool(daruma_str result, int ok, bool lost, void *user)
{
    run *r = user;
    r->tool = NULL;
    tool_ended(r, r->called, result, ok, lost);
    go_on(r);
}

/* True if the call is under way; false: the agent knows already that it is not. */
static bool call_tool(run *r, const agent_act *x)
{
    r->called = x->call;
    r->tool = toolset_call(r->tools, x->tool, x->args, staff_usual(r->s, x->tool), x->total, on_tool, r);
    if (!r->tool)
        tool_ended(r, x->call, S("INTERNAL_ERROR: there is no memory for the call"), 0, false);
    return r->tool != NULL;
}

static void on_person(agent_reply reply, daruma_str text, void *user)
{
    run *r = user;
    if (r->finished)
        return;
    if (reply == AGENT_INTERRUPTED) /* the question stays open: it is put again when the run is resumed */
        crew_cancel(r->a, host_tick(r));
    else
        hand_in(r, (crew_input){.kind = CREW_PERSON, .call = r->question, .text = text, .code = reply});
    go_on(r);
}

static void record_end(run *r, const agent_result *result)
{
    daruma_arena room;
    journal_state state = result->outcome == DARUMA_OUTCOME_CANCELLED_  ? JOURNAL_INTERRUPTED
                          : result->outcome == DARUMA_OUTCOME_ESCALATED ? JOURNAL_ESCALATED
                                                                        : JOURNAL_OVER;
    if (!r->journal || r->was_over || !sys_arena_init(&room, 16 << 10, RUN_ANSWER_BYTES_MAX))
        return;
    daruma_buf b = buf_in(&room);
    agent_result_json(result, r->recovered, &b);
    if (!journal_ended(r->journal, state, b.full ? (daruma_str){0} : buf_str(&b), host_tick(r)))
        host_lose_journal(r);
    sys_arena_done(&room);
}

/* Who asked for what is out is over: nobody waits for it any more. */
static void drop_what_is_out(run *r)
{
    host_end_session(r, NULL);
    if (r->tool)
        tool_cancel(r->tool);
    r->tool = NULL;
    approve_drop(r->person);
}

/* What is gone when the loop has run. */
static void close_parts(run *r)
{
    uv_close((uv_handle_t *)&r->clock, NULL);
    uv_close((uv_handle_t *)&r->soon, NULL);
    toolset_close(r->tools);
    mcp_close(r->servers);
    approve_close(r->person);
    if (r->web)
        upstream_close(r->web);
    if (r->up)
        upstream_close(r->up);
}

static void end_run(run *r)
{
    agent_result result = crew_result_of(r->a);
    bool asks = r->session || r->q.sent; /* the question is put again when the run goes on, and has its calls then */
    r->finished = true;
    if (asks) {
        r->below.asked = r->q.number;
        r->below.asked_more = 0;
        host_end_session(r, &r->below.asked_more);
    }
    drop_what_is_out(r);
    result.spent.calls += r->below.calls + (asks ? r->below.asked_more : 0);
    result.spent.waited = add_sat(result.spent.waited, r->below.waited);
    record_end(r, &result);
    r->s->done(&result, r->recovered, r->s->user);
    close_parts(r);
}

/* Does what the agent asked for. True: it is done already, and the agent knows. */
static bool carry_out(run *r, const agent_act *x)
{
    switch (x->what) {
    case AGENT_DO_MODEL:
        host_ask(r, x);
        return false;
    case AGENT_DO_TOOL:
        return !call_tool(r, x);
    case AGENT_DO_ASK:
        r->question = x->call;
        approve_ask(r->person, x, on_person, r);
        return false;
    case AGENT_DO_WAIT:
        r->until = x->until;
        return false;
    case AGENT_DO_NOTHING:
    case AGENT_DO_EVENT:
    case AGENT_DO_FINISH:
        break;
    }
    return false;
}

static void go_on(run *r)
{
    r->until = -1;
    while (!r->finished) {
        agent_act x = crew_next(r->a);
        if (x.what == AGENT_DO_EVENT) {
            host_say(r, x.text);
        } else if (x.what == AGENT_DO_FINISH) {
            end_run(r);
        } else if (x.what == AGENT_DO_NOTHING || (record(r, &x) && !carry_out(r, &x))) {
            host_rearm(r);
            return;
        }
    }
}

/* The session is over: the agent hears of it. */
static void answer_agent(run *r)
{
    crew_input in = host_answer(r);
    if (r->session) {
        bool recovered = strcmp(daruma_session_outcome(r->session), "recovered") == 0;
        r->recovered += recovered;
        in.code = in.kind == CREW_ANSWERED ? recovered : in.code;
    }
    host_end_session(r, &in.more);
    r->q.over = false;
    hand_in(r, in);
    sys_arena_done(&r->room);
    sys_arena_init(&r->room, 64 << 10, RUN_ANSWER_BYTES_MAX);
    go_on(r);
}

static void on_soon(uv_timer_t *t)
{
    run *r = t->data;
    if (!r->finished && r->q.over)
        answer_agent(r);
}

static void on_clock(uv_timer_t *t)
{
    run *r = t->data;
    const crew_input in = {.kind = CREW_CLOCK, .at = host_tick(r)};
    bool waited = r->until >= 0 && in.at.now >= r->until;
    crew_tell(r->a, &in);
    bool moves = crew_moves(r->a); /* the time of an agent is over */
    if (moves)
        drop_what_is_out(r);
    /* Only a moment that changed something is of the record. Nothing went out yet. */
    if ((waited || moves) && !journal_told(r->journal, &in))
        host_lose_journal(r);
    if (r->session && !r->q.over) {
        daruma_session_clock(r->session);
        host_pump(r);
    }
    if (waited || moves)
        go_on(r);
    else if (!r->finished)
        host_rearm(r);
}

/* The first one ends the run and stops what is under way; the second ends the program, as always, with what did not
 * stop. */
static void on_signal(uv_signal_t *s, int number)
{
    run *r = s->data;
    if (r->signalled) {
        child_kill_all(&r->loop);
        signal(number, SIG_DFL);
        raise(number);
    }
    r->signalled = true;
    r->stopped = !r->a; /* its servers are being started */
    if (r->stopped)
        return;
    crew_cancel(r->a, host_tick(r));
    go_on(r);
}

/* ---- beginning and end ---- */

static bool open_all(run *r, char why[256])
{
    upstream_settings us = {.https_proxy = sys_env("https_proxy"), .no_proxy = sys_env("no_proxy")};
    r->files.root = files_root(r->s->root);
    if (r->files.root < 0) {
        snprintf(why, 256, "the root %.100s cannot be opened: %.100s", r->s->root, strerror(errno));
        return false;
    }
    r->known = daruma_memory_new();
    if (!r->known || !(r->up = upstream_new(&r->loop, &us, why)))
        return false;
    us.public_only = !r->s->allow_local;
    us.http_proxy = sys_env("http_proxy");
    r->web = upstream_new(&r->loop, &us, why);
    r->tools = r->web ? toolset_new(&r->loop) : NULL;
    approve_settings person = r->s->person;
    person.run = r->s->id;
    person.event = r->s->event;
    person.user = r->s->user;
    r->person = approve_new(&r->loop, r->up, &person, why);
    if (!r->person || !r->tools || !files_add(r->tools, &r->files) || !web_add(r->tools, r->web) ||
        (r->s->shell && !shell_add(r->tools, r->s->root)))
        return false;
    if (r->s->nmcp)
        r->servers = mcp_open(&r->loop, r->tools, r->s->mcp, r->s->nmcp, on_server, r, &r->stopped, why);
    if (r->s->nmcp && !r->servers)
        return false;
    r->staff = staff_open(r->s, r->tools, r->servers, &r->memory, why);
    return r->staff != NULL;
}

/* The loop, and what is closed by close_parts(). False and a sentence: there is no loop. */
static bool open_loop(run *r, char why[256])
{
    static const int numbers[COUNT(r->interrupts)] = {SIGINT, SIGTERM, SIGHUP};
    int error = uv_loop_init(&r->loop);
    for (size_t i = 0; i < COUNT(numbers) && !error; i++) {
        error = uv_signal_init(&r->loop, &r->interrupts[i]); /* the first one opens what all need */
        r->interrupts[i].data = r;
        if (!error)
            uv_signal_start(&r->interrupts[i], on_signal, numbers[i]);
        if (!error)
            uv_unref((uv_handle_t *)&r->interrupts[i]); /* they last as long as there is anything to be waited for */
    }
    if (error) {
        snprintf(why, 256, "it cannot wait for anything: %s", uv_strerror(error));
        return false;
    }
    uv_timer_init(&r->loop, &r->clock);
    uv_timer_init(&r->loop, &r->soon);
    r->clock.data = r->soon.data = r;
    return true;
}

static void close_all(run *r)
{
    if (r->files.root >= 0)
        close(r->files.root);
    crew_close(r->a);
    daruma_memory_free(r->known);
    sys_arena_done(&r->room);
    sys_arena_done(&r->memory);
}

static bool open_agent(run *r, daruma_str task, daruma_moment at)
{
    static const drive_rooms rooms = SYS_ROOMS;
    size_t n;
    const crew_member *members = staff_members(r->staff, &n);
    r->a = crew_open(members, n, &rooms, task, at);
    return r->a != NULL;
}

static void say_begun(run *r, const char *event, const char *fate)
{
    char text[1024];
    daruma_buf b = buf_over(text, sizeof text);
    BUF_OBJECT(&b, "event", event, "run", r->s->id, "journal", (bool)r->journal, "outcomes",
               BUF_IF(r->s->resume, r->past.inputs), "tool",
               BUF_IF(fate, str_sub(r->past.act.tool, 0, RUN_SHOWN_BYTES)), "fate", BUF_IF(fate, fate));
    host_say(r, buf_str(&b));
}

/* A question is put again: calls that went out for it count. Where it was broken off without a word that is one for
 * each time. */
static void count_before(run *r, const resumed *p)
{
    run_below *b = &r->below;
    r->before = b->asked == p->act.call ? b->asked_more + 1 : p->was.started;
    b->asked = p->act.call;
    b->asked_more = r->before; /* with the one that goes out now */
    r->recorded = *b;
}

/* The act that was out when the journal ended: a question is put again, and a call that does no harm twice; of any
 * other call the agent hears that nobody knows what came of it. */
static void go_on_again(run *r)
{
    const resumed *p = &r->past;
    bool calls = p->act.what == AGENT_DO_TOOL, asks = p->act.what == AGENT_DO_MODEL, out = false;
    daruma_arena room;
    sys_arena_init(&room, 16 << 10, RUN_TOOL_BYTES_MAX); /* without memory it is full */
    if (calls)
        files_clear(&r->files, p->act.tool, p->act.args, &room);
    journal_look now = look_at(r, &p->act);
    resume_fate fate = calls ? resume_tool(p, &now) : RESUME_AGAIN;
    say_begun(r, "run_resumed", calls ? resume_fate_words(fate) : NULL);
    if (fate == RESUME_AGAIN) {
        if (asks)
            count_before(r, p);
        if (!journal_asked_again(r->journal, p->act.call, asks ? &r->below : NULL, host_tick(r)))
            host_lose_journal(r);
        out = crew_result_of(r->a).outcome == DARUMA_OUTCOME_PENDING && !carry_out(r, &p->act);
    } else {
        daruma_buf result = buf_in(&room);
        bool done = fate == RESUME_DONE;
        if (done)
            files_done(p->act.tool, p->act.args, &room, &result);
        tool_ended(r, p->act.call, buf_str(&result), done, !done);
    }
    sys_arena_done(&room);
    if (out)
        host_rearm(r);
    else
        go_on(r);
}

static void begin_work(run *r)
{
    if (r->past.out) {
        go_on_again(r);
        return;
    }
    if (!r->was_over)
        say_begun(r, r->s->resume ? "run_resumed" : "run_started", NULL);
    go_on(r);
}

/* Tells a fresh agent what the journal holds. */
static bool recall(run *r, char why[256])
{
    if (journal_state_of(r->journal) == JOURNAL_OVER)
        journal_retracted(r->journal); /* a key that was wrong, an outage: the question may be answered now */
    if (!resume_replay(r->journal, r->a, &r->past, why))
        return false;
    journal_state state = journal_state_of(r->journal);
    r->shift = r->past.at.now - sys_moment().now;
    r->recovered = r->past.recovered;
    r->below = r->recorded = journal_below(r->journal);
    r->was_over = !r->s->guidance.n && (state == JOURNAL_OVER || state == JOURNAL_ESCALATED);
    if (r->s->guidance.n && crew_result_of(r->a).end != AGENT_END_ESCALATED) {
        snprintf(why, 256, "run " STR_FMT " does not wait for a person: it %s, daruma run --resume " STR_FMT,
                 STR_ARG(r->s->id), state == JOURNAL_OVER ? "is over, and tells its end" : "goes on without words",
                 STR_ARG(r->s->id));
        return false;
    }
    if (!r->was_over && !journal_reopened(r->journal)) {
        snprintf(why, 256, "%s", journal_why(r->journal));
        return false;
    }
    if (r->s->guidance.n) /* no act is out then */
        hand_in(r, (crew_input){.kind = CREW_RESUMED, .text = r->s->guidance});
    return true;
}

static bool begin(run *r, daruma_str task, char why[256])
{
    daruma_moment at = host_tick(r);
    if (r->s->resume)
        return resume_moment(r->journal, &at, why) && open_agent(r, task, at) && recall(r, why);
    if (!journal_told(r->journal, &(crew_input){.kind = CREW_OPENED, .at = at})) {
        snprintf(why, 256, "%s", journal_why(r->journal));
        return false;
    }
    return open_agent(r, task, at);
}

bool run_task(const run_settings *s, daruma_str task, char why[256])
{
    run r = {.s = s, .until = -1, .rests = -1, .files = {.root = -1, .writer = s->id}, .journal = s->journal};
    snprintf(why, 256, "there is no memory for it");
    sys_memory_keep_large(); /* each step takes and gives as much as the conversation is long */
    if (!open_loop(&r, why))
        return false;
    bool well = sys_arena_init(&r.memory, 16 << 10, RUN_MEMORY_BYTES_MAX) &&
                sys_arena_init(&r.room, 64 << 10, RUN_ANSWER_BYTES_MAX) && open_all(&r, why) && begin(&r, task, why);
    if (well)
        begin_work(&r);
    else
        close_parts(&r);
    if (r.stopped)
        why[0] = 0;
    uv_run(&r.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < COUNT(r.interrupts); i++)
        uv_close((uv_handle_t *)&r.interrupts[i], NULL);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    uv_loop_close(&r.loop);
    close_all(&r);
    return well;
}
