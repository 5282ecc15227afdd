/* journal_write.c - records acts, outcomes and events. Each function is one transaction. */
#include "store/journal_db.h"
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
    if (j->events.full)
        db_drop_events(j); /* one event too many is no reason to end the record */
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

static bool insert_act(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    bool model = x->what == AGENT_DO_MODEL;
    return DB(j, DO_ACT, x->call, ++j->seq, act_name(x->what), model ? agent_purpose_name(x->purpose) : "",
              model ? x->model : x->tool, buf_raw(x->what == AGENT_DO_ASK ? x->text : x->args), journal_hash(x),
              at.wall, at.now, look->known, look->before, look->after);
}

bool journal_asked(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    if (!j)
        return true;
    static const journal_look none = {0};
    j->dear = is_dear(x);
    return db_begin(j, j->dear) && db_commit(j, insert_act(j, x, look ? look : &none, at));
}

static bool set_asked(journal *j, int64_t call, int64_t more)
{
    return db_set_int(j, "asked", call) && db_set_int(j, "asked_more", more);
}

bool journal_asked_again(journal *j, uint32_t call, const run_below *below, daruma_moment at)
{
    if (!j)
        return true;
    j->dear = true;
    return db_begin(j, true) &&
           db_commit(j, DB(j, DO_AGAIN, at.now, call) && (!below || set_asked(j, below->asked, below->asked_more)));
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
    bool well = DB(j, DO_INPUT, ++j->ninputs, ++j->seq, db_kind_name(in->kind), in->call, in->at.now, in->at.wall,
                   (int64_t)in->at.dice, in->code, in->phase, in->net, in->lost ? 1 : 0, in->more, buf_raw(in->text));
    return db_commit(j, well);
}

bool journal_spent(journal *j, const run_below *below)
{
    return !j || (db_begin(j, false) && db_commit(j, db_set_int(j, "more_calls", below->calls) &&
                                                         db_set_int(j, "more_waited", below->waited) &&
                                                         set_asked(j, below->asked, below->asked_more)));
}

bool journal_ended(journal *j, journal_state s, daruma_str result, daruma_moment at)
{
    if (!j)
        return true;
    if (!db_begin(j, true))
        return false;
    bool well = db_set_state(j, s) && db_set_int(j, "ended", at.wall);
    return db_commit(j, well && (!result.n || db_set(j, "result", result)));
}

bool journal_retracted(journal *j)
{
    sqlite3_stmt *s = db_row(j, DO_FAILED_FROM, (buf_part){0});
    int64_t n = s ? sqlite3_column_int64(s, 0) : 0, call = s ? sqlite3_column_int64(s, 1) : 0;
    sqlite3_reset(s);
    s = n ? db_row(j, DO_CALLS_FROM, buf_part_number(n)) : NULL;
    int64_t calls = s ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    if (!calls || !db_begin(j, true))
        return false;
    bool well = DB(j, DO_CUT_INPUTS, n) && set_asked(j, call, calls - 1) && DB(j, DO_CUT_ACTS, call) &&
                db_set_state(j, JOURNAL_OPEN);
    j->head = db_ask(j, DO_LAST_LINK);
    well = db_commit(j, well);
    j->ninputs = well ? n - 1 : j->ninputs;
    return well;
}

bool journal_reopened(journal *j)
{
    return !j || (db_begin(j, true) && db_commit(j, db_set_state(j, JOURNAL_OPEN)));
}
