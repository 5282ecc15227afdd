/* journal_db.c - statements and transactions of a journal. What happens (events) goes with the next transaction. A call
 * that acts on something, and what it came to, is synced to the disk; what may be done again without harm is only
 * written, which outlives the process, not a loss of power. */
#include "run/journal_db.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"
#include <stdio.h>

/* ---- statements ---- */

bool db_fail(journal *j, const char *what)
{
    if (!j->broken)
        snprintf(j->why, sizeof j->why, "%.40s %.120s.db: %.60s", what, j->path, sqlite3_errmsg(j->db));
    j->broken = true;
    return false;
}

/* The statement, made when it is needed first; NULL and a broken journal when it cannot be. */
sqlite3_stmt *db_make(journal *j, statement s)
{
#define X(sym, text) text,
    static const char *const texts[] = {STATEMENT_MAP(X)};
#undef X
    if (!j->made[s] &&
        sqlite3_prepare_v3(j->db, texts[s], -1, SQLITE_PREPARE_PERSISTENT, &j->made[s], NULL) != SQLITE_OK)
        db_fail(j, "cannot use");
    return j->made[s];
}

void db_int(sqlite3_stmt *s, int at, int64_t v)
{
    sqlite3_bind_int64(s, at, v);
}

/* The text must live until the statement has run. */
void db_str(sqlite3_stmt *s, int at, daruma_str v)
{
    sqlite3_bind_text64(s, at, v.p ? v.p : "", v.n, SQLITE_STATIC, SQLITE_UTF8);
}

void db_blob(sqlite3_stmt *s, int at, daruma_str v)
{
    sqlite3_bind_blob64(s, at, v.p ? v.p : "", v.n, SQLITE_STATIC);
}

bool db_run(journal *j, sqlite3_stmt *s)
{
    if (!s)
        return false;
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW || db_fail(j, "cannot write");
}

daruma_str db_column(sqlite3_stmt *s, int at)
{
    const char *p = sqlite3_column_blob(s, at);
    return (daruma_str){p ? p : "", p ? (size_t)sqlite3_column_bytes(s, at) : 0};
}

/* The one number that a statement without parameters gives. */
int64_t db_ask(journal *j, statement which)
{
    sqlite3_stmt *s = db_make(j, which);
    int64_t v = 0;
    if (s && sqlite3_step(s) == SQLITE_ROW)
        v = sqlite3_column_int64(s, 0);
    else
        db_fail(j, "cannot read");
    sqlite3_reset(s);
    return v;
}

bool db_set(journal *j, const char *key, daruma_str value)
{
    sqlite3_stmt *s = db_make(j, DO_SET);
    if (!s)
        return false;
    db_str(s, 1, str_of(key));
    db_blob(s, 2, value);
    return db_run(j, s);
}

bool db_set_int(journal *j, const char *key, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    return db_set(j, key, str_of(digits));
}

/* ---- transactions ---- */

static bool write_events(journal *j)
{
    daruma_str rest = buf_str(&j->events);
    event_head h;
    bool well = true;
    while (well && rest.n >= sizeof h) {
        sqlite3_stmt *s = db_make(j, DO_EVENT);
        if (!s)
            return false;
        memcpy(&h, rest.p, sizeof h);
        db_int(s, 1, ++j->seq);
        db_int(s, 2, h.at.now);
        db_int(s, 3, h.at.wall);
        db_blob(s, 4, str_sub(rest, sizeof h, h.n));
        well = db_run(j, s);
        rest = str_from(rest, sizeof h + h.n);
    }
    sys_arena_done(&j->room);
    sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES);
    j->events = buf_in(&j->room);
    return well;
}

/* A transaction that is synced to the disk or not. False: there is none. */
bool db_begin(journal *j, bool full)
{
    if (j->broken)
        return false;
    if (j->full != full && !db_run(j, db_make(j, full ? DO_FULL : DO_NORMAL)))
        return false;
    j->full = full;
    return db_run(j, db_make(j, DO_BEGIN)) && write_events(j);
}

bool db_commit(journal *j, bool well)
{
    if (well && !j->broken && db_run(j, db_make(j, DO_COMMIT)))
        return true;
    db_fail(j, "cannot write");
    if (!sqlite3_get_autocommit(j->db))
        sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}
