/* journal_db.c - statements and transactions of a journal. What happens (events) goes with the next transaction. A call
 * that acts on something, and what it came to, is synced to the disk; what may be done again without harm is only
 * written, which outlives the process, not a loss of power.
 *
 * Acts and inputs are a chain: each has a check value over itself and the one before it, the first one over what the
 * run began with, and the newest one's stands in the table `run`. So a line that was changed, or is gone, is found out.
 * What the write-ahead log holds SQLite drops in silence from the first byte on that is not what was written, and the
 * shorter chain would hold: so whatever is synced goes into the database itself, and the log is emptied. */
#include "store/journal_db.h"
#include <xxhash.h>

/* ---- statements ---- */

bool db_fail(journal *j, const char *what)
{
    if (!j->broken)
        snprintf(j->why, sizeof j->why, "%.40s %.120s.db: %.60s", what, j->path, sqlite3_errmsg(j->db));
    j->broken = true;
    return false;
}

/* ---- the chain ---- */

static int64_t digest_of(int n, sqlite3_value **values)
{
    uint64_t h = (uint64_t)n;
    for (int i = 0; i < n; i++) {
        const void *p = sqlite3_value_blob(values[i]); /* a number: its digits */
        h = XXH3_64bits_withSeed(p ? p : "", p ? (size_t)sqlite3_value_bytes(values[i]) : 0, h + 1);
    }
    return (int64_t)h;
}

static void digest(sqlite3_context *c, int n, sqlite3_value **values)
{
    sqlite3_result_int64(c, digest_of(n, values));
}

static int64_t link_behind(int64_t before, int64_t line)
{
    return (int64_t)(XXH3_64bits_withSeed(&line, sizeof line, (uint64_t)before) >> 1); /* as text it has no sign */
}

static void chain(sqlite3_context *c, int n, sqlite3_value **values)
{
    journal *j = sqlite3_user_data(c);
    j->head = link_behind(j->head, digest_of(n, values));
    sqlite3_result_int64(c, j->head);
}

bool db_open(journal *j, const char *path, int flags)
{
    if (sqlite3_open_v2(path, &j->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
        sqlite3_create_function(j->db, "digest", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, j, digest, NULL, NULL) ||
        sqlite3_create_function(j->db, "chain", -1, SQLITE_UTF8, j, chain, NULL, NULL))
        return db_fail(j, "cannot open");
    sqlite3_busy_timeout(j->db, JOURNAL_BUSY_MS);
    sqlite3_extended_result_codes(j->db, 1);
    return true;
}

int64_t db_first_link(journal *j)
{
    return link_behind(0, db_ask(j, DO_FIRST_LINK));
}

int64_t db_chain_breaks(journal *j, char ret_where[80])
{
    char room[32];
    daruma_arena a = arena_over(room, sizeof room);
    int64_t kept = 0, seq = 0;
    bool known = str_int(journal_text(j, "head", &a), &kept), told = false;
    int64_t at = db_first_link(j), act = 0;
    sqlite3_stmt *s = db_make(j, DO_LINKS);
    while (s && !seq && sqlite3_step(s) == SQLITE_ROW) {
        at = link_behind(at, sqlite3_column_int64(s, 2));
        told = sqlite3_column_type(s, 3) == SQLITE_NULL;
        act = told ? act : sqlite3_column_int64(s, 3);
        seq = at == sqlite3_column_int64(s, 1) ? 0 : sqlite3_column_int64(s, 0);
    }
    if (!act)
        snprintf(ret_where, 80, "its beginning is not what was written");
    else
        snprintf(ret_where, 80, "%s %s %lld is %s", seq ? "what stands" : "what stood",
                 !seq || told ? "behind act" : "as act", (long long)act, seq ? "not what was written" : "missing");
    if (sqlite3_reset(s) != SQLITE_OK || j->broken)
        db_fail(j, "cannot read");
    j->head = j->kept = at;
    return seq || (known && at == kept && !j->broken) ? seq : INT64_MAX;
}

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

static void bind(sqlite3_stmt *s, int at, const buf_part *v)
{
    const char *p = v->text.p ? v->text.p : "";
    if (v->kind == BUF_NUMBER || v->kind == BUF_FLAG)
        sqlite3_bind_int64(s, at, v->number);
    else if (v->kind == BUF_RAW)
        sqlite3_bind_blob64(s, at, p, v->text.n, SQLITE_STATIC);
    else
        sqlite3_bind_text64(s, at, p, v->text.n, SQLITE_STATIC, SQLITE_UTF8);
}

bool db_run(journal *j, statement which, const buf_part *with, size_t n)
{
    sqlite3_stmt *s = db_make(j, which);
    if (!s)
        return false;
    for (size_t i = 0; i < n; i++)
        bind(s, (int)i + 1, &with[i]);
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW || db_fail(j, "cannot write");
}

sqlite3_stmt *db_row(journal *j, statement which, buf_part with)
{
    sqlite3_stmt *s = db_make(j, which);
    if (!s)
        return NULL;
    if (sqlite3_bind_parameter_count(s))
        bind(s, 1, &with);
    int rc = sqlite3_step(s);
    if (rc == SQLITE_ROW)
        return s;
    sqlite3_reset(s);
    if (rc != SQLITE_DONE)
        db_fail(j, "cannot read");
    return NULL;
}

daruma_str db_column(sqlite3_stmt *s, int at)
{
    const char *p = sqlite3_column_blob(s, at);
    return (daruma_str){p ? p : "", p ? (size_t)sqlite3_column_bytes(s, at) : 0};
}

int64_t db_ask(journal *j, statement which)
{
    sqlite3_stmt *s = db_row(j, which, (buf_part){0});
    int64_t v = s ? sqlite3_column_int64(s, 0) : 0;
    if (!s)
        db_fail(j, "cannot read");
    sqlite3_reset(s);
    return v;
}

bool db_set(journal *j, const char *key, daruma_str value)
{
    return DB(j, DO_SET, key, buf_raw(value));
}

bool db_set_int(journal *j, const char *key, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    return db_set(j, key, str_of(digits));
}

bool db_set_state(journal *j, journal_state s)
{
    return db_set(j, "state", str_of(journal_state_name(s)));
}

/* ---- transactions ---- */

void db_drop_events(journal *j)
{
    sys_arena_done(&j->room);
    sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES);
    j->events = buf_in(&j->room);
}

static bool write_events(journal *j)
{
    daruma_str rest = buf_str(&j->events);
    event_head h;
    bool well = true;
    while (well && rest.n >= sizeof h) {
        memcpy(&h, rest.p, sizeof h);
        well = DB(j, DO_EVENT, ++j->seq, h.at.now, h.at.wall, buf_raw(str_sub(rest, sizeof h, h.n)));
        rest = str_from(rest, sizeof h + h.n);
    }
    db_drop_events(j);
    return well;
}

void db_close(journal *j)
{
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(j->made[i]);
        j->made[i] = NULL;
    }
    sqlite3_close(j->db);
    j->db = NULL;
}

/* Brings all that was written into the database. Nobody is waited for: who reads for long keeps the log where it is,
 * and it is synced. */
static void empty_log(journal *j)
{
    sqlite3_busy_timeout(j->db, 0);
    sqlite3_wal_checkpoint_v2(j->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(j->db, JOURNAL_BUSY_MS);
}

bool db_begin(journal *j, bool full)
{
    if (j->broken)
        return false;
    if (j->full != full && !db_run(j, full ? DO_FULL : DO_NORMAL, NULL, 0))
        return false;
    j->full = full;
    return db_run(j, DO_BEGIN, NULL, 0) && write_events(j);
}

bool db_commit(journal *j, bool well)
{
    if (well && j->kept != j->head)
        well = db_set_int(j, "head", j->head);
    if (well && !j->broken && db_run(j, DO_COMMIT, NULL, 0)) {
        j->kept = j->head;
        if (j->full)
            empty_log(j);
        return true;
    }
    db_fail(j, "cannot write");
    if (!sqlite3_get_autocommit(j->db))
        sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}
