/* journal_write.c - records acts, outcomes and events. Each function is one transaction. */
#include "run/journal_db.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"
#include <stdio.h>
#include <xxhash.h>

bool journal_event(journal *j, daruma_str json, daruma_moment at)
{
    if (!j || j->broken)
        return !j;
    event_head h = {.at = at, .n = json.n};
    if (j->events.n + sizeof h + json.n > JOURNAL_WAITING_BYTES / 4 && !journal_flush(j))
        return false;
    buf_put(&j->events, (daruma_str){(const char *)&h, sizeof h});
    buf_put(&j->events, json);
    if (!j->events.full)
        return true;
    sys_arena_done(&j->room); /* one event too many is no reason to end the record */
    sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES);
    j->events = buf_in(&j->room);
    return true;
}

bool journal_flush(journal *j)
{
    if (!j || j->broken)
        return !j;
    return !j->events.n || (db_begin(j, false) && db_commit(j, true));
}

static const char *act_name(agent_do what)
{
    switch (what) {
    case AGENT_DO_MODEL:
        return "model";
    case AGENT_DO_TOOL:
        return "tool";
    case AGENT_DO_ASK:
        return "ask";
    case AGENT_DO_WAIT:
        return "wait";
    case AGENT_DO_NOTHING:
    case AGENT_DO_EVENT:
    case AGENT_DO_FINISH:
        break;
    }
    return "";
}

uint64_t journal_hash(const agent_act *x)
{
    const daruma_str parts[] = {str_of(act_name(x->what)), x->model, x->body, x->tool, x->args, x->text};
    uint64_t h = (uint64_t)x->purpose ^ (x->what == AGENT_DO_WAIT ? (uint64_t)x->until : 0);
    for (size_t i = 0; i < COUNT(parts); i++)
        h = XXH3_64bits_withSeed(parts[i].p ? parts[i].p : "", parts[i].n, h + i);
    return h;
}

/* A call whose effect, or whose price, must not come twice. */
static bool is_dear(const agent_act *x)
{
    const agent_tool *t = x->about;
    bool reads = t && (t->about.traits & DARUMA_TOOL_KNOWN) && (t->about.traits & DARUMA_TOOL_READS) &&
                 !(t->about.traits & (DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS));
    return x->what == AGENT_DO_TOOL && !reads;
}

/* What the agent was told last led to something that is recorded now. */
static bool mark_delivered(journal *j, daruma_ms now)
{
    sqlite3_stmt *taken = db_make(j, DO_TAKEN), *act = db_make(j, DO_DELIVERED);
    if (!taken || !act)
        return false;
    db_int(taken, 1, now);
    db_int(taken, 2, j->ninputs);
    db_int(act, 1, now);
    db_int(act, 2, j->ninputs);
    return db_run(j, taken) && db_run(j, act);
}

static bool insert_act(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    sqlite3_stmt *s = db_make(j, DO_ACT);
    if (!s)
        return false;
    db_int(s, 1, x->call);
    db_int(s, 2, ++j->seq);
    db_str(s, 3, str_of(act_name(x->what)));
    db_str(s, 4, x->what == AGENT_DO_MODEL ? str_of(agent_purpose_name(x->purpose)) : (daruma_str){0});
    db_str(s, 5, x->what == AGENT_DO_MODEL ? x->model : x->tool);
    db_blob(s, 6, x->what == AGENT_DO_ASK ? x->text : x->args);
    db_int(s, 7, (int64_t)journal_hash(x));
    db_int(s, 8, at.wall);
    db_int(s, 9, at.now);
    db_int(s, 10, at.now);
    db_int(s, 11, look && look->known);
    db_int(s, 12, look ? (int64_t)look->before : 0);
    db_int(s, 13, look ? (int64_t)look->after : 0);
    return db_run(j, s);
}

bool journal_asked(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    if (!j)
        return true;
    j->dear = is_dear(x);
    return db_begin(j, j->dear) && db_commit(j, mark_delivered(j, at.now) && insert_act(j, x, look, at));
}

bool journal_asked_again(journal *j, uint32_t call, daruma_moment at)
{
    sqlite3_stmt *s = j ? db_make(j, DO_AGAIN) : NULL;
    if (!s || !db_begin(j, true))
        return !j;
    j->dear = true;
    db_int(s, 1, at.now);
    db_int(s, 2, call);
    return db_commit(j, db_run(j, s));
}

/* What an input is worth: whoever changes a byte of it is found out. */
uint64_t db_sum(const crew_input *in)
{
    const int64_t head[] = {(int64_t)in->kind, in->call,  in->at.now, in->at.wall, (int64_t)in->at.dice,
                            in->code,          in->phase, in->net,    in->lost,    (int64_t)in->text.n};
    return XXH3_64bits_withSeed(in->text.p ? in->text.p : "", in->text.n, XXH3_64bits(head, sizeof head));
}

static daruma_str outcome_of(const crew_input *in)
{
    switch (in->kind) {
    case CREW_ANSWERED:
        return in->code ? S("recovered") : S("answered");
    case CREW_FAILED:
        return S("failed");
    case CREW_TOOL:
        return in->lost ? S("lost") : in->code == 0 ? S("failed") : S("worked");
    case CREW_PERSON:
        return str_of(agent_reply_name((agent_reply)in->code));
    case CREW_OPENED:
    case CREW_CLOCK:
    case CREW_RESUMED:
    case CREW_INPUTS:
        break;
    }
    return (daruma_str){0};
}

static bool finish_act(journal *j, uint32_t call, daruma_ms now, daruma_str outcome)
{
    sqlite3_stmt *s = call ? db_make(j, DO_FINISHED) : NULL;
    if (!s)
        return !call;
    db_int(s, 1, now);
    db_str(s, 2, outcome);
    db_int(s, 3, call);
    return db_run(j, s);
}

/* What is lost with the power, and cannot be had again by asking again. */
static bool must_last(const journal *j, const crew_input *in)
{
    switch (in->kind) {
    case CREW_ANSWERED:
    case CREW_FAILED:
    case CREW_CLOCK:
        return false;
    case CREW_TOOL:
        return j->dear;
    case CREW_OPENED:
    case CREW_PERSON:
    case CREW_RESUMED:
    case CREW_INPUTS:
        break;
    }
    return true;
}

bool journal_told(journal *j, const crew_input *in)
{
    if (!j)
        return true;
    if (!db_begin(j, must_last(j, in)))
        return false;
    sqlite3_stmt *s = db_make(j, DO_INPUT);
    if (!s)
        return db_commit(j, false);
    db_int(s, 1, ++j->ninputs);
    db_int(s, 2, ++j->seq);
    db_str(s, 3, str_of(db_kind_name(in->kind)));
    db_int(s, 4, in->call);
    db_int(s, 5, in->at.now);
    db_int(s, 6, in->at.wall);
    db_int(s, 7, (int64_t)in->at.dice);
    db_int(s, 8, in->code);
    db_int(s, 9, in->phase);
    db_int(s, 10, in->net);
    db_int(s, 11, in->lost);
    db_blob(s, 12, in->text);
    db_int(s, 13, (int64_t)db_sum(in));
    return db_commit(j, db_run(j, s) && finish_act(j, in->call, in->at.now, outcome_of(in)));
}

bool journal_spent(journal *j, const run_below *below)
{
    return !j || (db_begin(j, false) && db_commit(j, db_set_int(j, "more_calls", below->calls) &&
                                                         db_set_int(j, "more_waited", below->waited)));
}

bool journal_not_answered(journal *j, uint32_t call)
{
    if (!j)
        return true;
    sqlite3_stmt *s = db_begin(j, false) ? db_make(j, DO_FINISHED) : NULL;
    if (!s)
        return false;
    sqlite3_bind_null(s, 1);
    db_str(s, 2, S("interrupted"));
    db_int(s, 3, call);
    return db_commit(j, db_run(j, s));
}

bool journal_ended(journal *j, journal_state s, daruma_str result, daruma_moment at)
{
    if (!j)
        return true;
    if (!db_begin(j, true))
        return false;
    /* What interrupts a run is not the run's: it goes on as if that had not been. */
    bool well = s == JOURNAL_INTERRUPTED || mark_delivered(j, at.now);
    well = well && db_set(j, "state", str_of(journal_state_name(s))) && db_set_int(j, "ended", at.wall);
    return db_commit(j, well && (!result.n || db_set(j, "result", result)));
}

static bool run_with(journal *j, statement which, int64_t v)
{
    sqlite3_stmt *s = db_make(j, which);
    if (s)
        db_int(s, 1, v);
    return db_run(j, s);
}

bool journal_retracted(journal *j)
{
    sqlite3_stmt *s = db_make(j, DO_FAILED_FROM);
    bool there = s && sqlite3_step(s) == SQLITE_ROW;
    int64_t n = there ? sqlite3_column_int64(s, 0) : 0, call = there ? sqlite3_column_int64(s, 1) : 0;
    if (s)
        sqlite3_reset(s);
    if (!there || !db_begin(j, true))
        return false;
    bool well = db_commit(j, run_with(j, DO_CUT_INPUTS, n) && run_with(j, DO_CUT_ACTS, call) &&
                                 run_with(j, DO_UNFINISHED, call) &&
                                 db_set(j, "state", str_of(journal_state_name(JOURNAL_OPEN))));
    j->ninputs = well ? n - 1 : j->ninputs;
    return well;
}

bool journal_reopened(journal *j)
{
    return !j || (db_begin(j, true) && db_commit(j, db_set(j, "state", str_of(journal_state_name(JOURNAL_OPEN)))));
}
