/* journal.c - the record of a run in SQLite. Each function is one transaction; what happened meanwhile (events) goes
 * with the next one. A call that acts on something, and what it came to, is synced to the disk; what may be done again
 * without harm is only written, which outlives the process, not a loss of power. */
#include "run/journal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static const char schema[] =
    "CREATE TABLE run(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
    /* times are milliseconds by the clock of the run, `wall` unix seconds */
    "CREATE TABLE act(call INTEGER PRIMARY KEY, seq INTEGER, what TEXT, purpose TEXT, name TEXT, args BLOB, hash "
    "INTEGER,"
    " wall INTEGER, requested INTEGER, started INTEGER, finished INTEGER, delivered INTEGER, tries INTEGER, outcome "
    "TEXT,"
    " looked INTEGER, before INTEGER, after INTEGER);"
    "CREATE TABLE input(n INTEGER PRIMARY KEY, seq INTEGER, kind TEXT, call INTEGER, now INTEGER, wall INTEGER, dice "
    "INTEGER,"
    " code INTEGER, phase INTEGER, net INTEGER, lost INTEGER, text BLOB, sum INTEGER, delivered INTEGER);"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, now INTEGER, wall INTEGER, json BLOB);";

/* X(symbol, text) */
#define STATEMENT_MAP(X)                                                                                               \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                                        \
    X(COMMIT, "COMMIT")                                                                                                \
    X(FULL, "PRAGMA synchronous=FULL")                                                                                 \
    X(NORMAL, "PRAGMA synchronous=NORMAL")                                                                             \
    X(SET, "INSERT OR REPLACE INTO run VALUES(?,?)")                                                                   \
    X(GET, "SELECT value FROM run WHERE key=?")                                                                        \
    X(ACT, "INSERT INTO act VALUES(?,?,?,?,?,?,?,?,?,?,NULL,NULL,1,NULL,?,?,?)")                                       \
    X(AGAIN, "UPDATE act SET tries=tries+1, started=? WHERE call=?")                                                   \
    X(FINISHED, "UPDATE act SET finished=?, outcome=? WHERE call=?")                                                   \
    X(DELIVERED, "UPDATE act SET delivered=? WHERE call=(SELECT call FROM input WHERE n=?)")                           \
    X(INPUT, "INSERT INTO input VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,NULL)")                                               \
    X(TAKEN, "UPDATE input SET delivered=? WHERE n=? AND delivered IS NULL")                                           \
    X(EVENT, "INSERT INTO event VALUES(?,?,?,?)")                                                                      \
    X(GET_ACT, "SELECT hash,tries,looked,before,after,what,name FROM act WHERE call=?")                                \
    X(GET_INPUT, "SELECT kind,call,now,wall,dice,code,phase,net,lost,text,sum,delivered FROM input WHERE n=?")         \
    X(ALL_ACTS, "SELECT seq,wall,requested,what,purpose,name,args,call,tries,finished FROM act ORDER BY seq")          \
    X(ALL_INPUTS, "SELECT seq,n FROM input ORDER BY n")                                                                \
    X(ALL_EVENTS, "SELECT seq,wall,now,json FROM event ORDER BY seq")                                                  \
    X(LAST_INPUT, "SELECT max(n) FROM input")                                                                          \
    X(LAST_SEQ, "SELECT max(coalesce((SELECT max(seq) FROM act),0), coalesce((SELECT max(seq) FROM input),0),"         \
                " coalesce((SELECT max(seq) FROM event),0))")                                                          \
    X(CHECK, "PRAGMA quick_check(1)")

typedef enum statement {
#define X(sym, ...) DO_##sym,
    STATEMENT_MAP(X)
#undef X
        STATEMENTS
} statement;

struct journal {
    sqlite3 *db;
    sqlite3_stmt *made[STATEMENTS];
    char *path;        /* without ".db" */
    int lock;          /* a descriptor whose lock says that the run is under way; -1 none */
    int64_t seq;       /* of the newest line */
    int64_t ninputs;   /* the newest input */
    bool full;         /* transactions are synced now */
    bool broken;       /* nothing is written any more */
    char why[256];     /* ... why */
    daruma_arena room; /* of events that wait */
    daruma_buf events; /* now, wall, bytes, then so many bytes of text each */
};

const char *journal_state_name(journal_state s)
{
#define X(sym, name, ...) name,
    static const char *const names[] = {JOURNAL_STATE_MAP(X)};
#undef X
    return names[s];
}

static const char *kind_name(journal_kind k)
{
#define X(sym, name) name,
    static const char *const names[] = {JOURNAL_KIND_MAP(X)};
#undef X
    return names[k];
}

bool journal_tell(agent *a, const journal_input *in)
{
    daruma_evidence ev = {
        .phase = (daruma_phase)in->phase, .status = in->code, .net = (daruma_net)in->net, .body = in->text, .took = -1};
    switch (in->kind) {
    case JOURNAL_ANSWERED:
        agent_answered(a, in->call, in->text, in->at);
        break;
    case JOURNAL_FAILED:
        agent_failed(a, in->call, &ev, in->at);
        break;
    case JOURNAL_TOOL:
        agent_tool_done(a, in->call, in->text, in->code, in->lost, in->at);
        break;
    case JOURNAL_PERSON:
        agent_person(a, in->call, (agent_reply)in->code, in->text, in->at);
        break;
    case JOURNAL_CLOCK:
        agent_clock(a, in->at);
        break;
    case JOURNAL_RESUMED:
        return agent_resume(a, in->text, in->at);
    case JOURNAL_OPENED: /* agent_open() was that */
    case JOURNAL_KINDS:
        break;
    }
    return true;
}

/* ---- ids ---- */

void journal_id(daruma_moment at, char out[JOURNAL_ID_BYTES])
{
    char date[21];
    date_write(at.wall > 0 && at.wall < AGENT_WALL_MAX ? at.wall : 0, date); /* 2026-01-02T03:04:05Z */
    snprintf(out, JOURNAL_ID_BYTES, "%.4s%.2s%.2s-%.2s%.2s%.2s-%04x", date, date + 5, date + 8, date + 11, date + 14,
             date + 17, (unsigned)(at.dice & 0xffff));
}

bool journal_id_fits(daruma_str id)
{
    for (size_t i = 0; i < id.n; i++)
        if (!ch_alpha(id.p[i]) && !ch_digit(id.p[i]) && id.p[i] != '-' && id.p[i] != '_')
            return false;
    return id.n > 0 && id.n < JOURNAL_ID_BYTES;
}

/* ---- statements ---- */

static bool fail(journal *j, const char *what)
{
    if (!j->broken)
        snprintf(j->why, sizeof j->why, "%.40s %.120s.db: %.60s", what, j->path, sqlite3_errmsg(j->db));
    j->broken = true;
    return false;
}

/* The statement, made when it is needed first; NULL and a broken journal when it cannot be. */
static sqlite3_stmt *make(journal *j, statement s)
{
#define X(sym, text) text,
    static const char *const texts[] = {STATEMENT_MAP(X)};
#undef X
    if (!j->made[s] &&
        sqlite3_prepare_v3(j->db, texts[s], -1, SQLITE_PREPARE_PERSISTENT, &j->made[s], NULL) != SQLITE_OK)
        fail(j, "cannot use");
    return j->made[s];
}

static void put_int(sqlite3_stmt *s, int at, int64_t v)
{
    sqlite3_bind_int64(s, at, v);
}

/* The text must live until the statement has run. */
static void put_str(sqlite3_stmt *s, int at, daruma_str v)
{
    sqlite3_bind_text64(s, at, v.p ? v.p : "", v.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void put_blob(sqlite3_stmt *s, int at, daruma_str v)
{
    sqlite3_bind_blob64(s, at, v.p ? v.p : "", v.n, SQLITE_STATIC);
}

static bool run_once(journal *j, sqlite3_stmt *s)
{
    if (!s)
        return false;
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    return rc == SQLITE_DONE || rc == SQLITE_ROW || fail(j, "cannot write");
}

static daruma_str column(sqlite3_stmt *s, int at)
{
    const char *p = sqlite3_column_blob(s, at);
    return (daruma_str){p ? p : "", p ? (size_t)sqlite3_column_bytes(s, at) : 0};
}

/* The one number that a statement without parameters gives. */
static int64_t ask_int(journal *j, statement which)
{
    sqlite3_stmt *s = make(j, which);
    int64_t v = 0;
    if (s && sqlite3_step(s) == SQLITE_ROW)
        v = sqlite3_column_int64(s, 0);
    else
        fail(j, "cannot read");
    sqlite3_reset(s);
    return v;
}

static bool set_text(journal *j, const char *key, daruma_str value)
{
    sqlite3_stmt *s = make(j, DO_SET);
    if (!s)
        return false;
    put_str(s, 1, str_of(key));
    put_blob(s, 2, value);
    return run_once(j, s);
}

static bool set_int(journal *j, const char *key, int64_t v)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)v);
    return set_text(j, key, str_of(digits));
}

daruma_str journal_text(journal *j, const char *key, daruma_arena *a)
{
    daruma_str v = {0};
    sqlite3_stmt *s = j ? make(j, DO_GET) : NULL;
    if (!s)
        return v;
    put_str(s, 1, str_of(key));
    if (sqlite3_step(s) == SQLITE_ROW)
        v = arena_copy(a, column(s, 0));
    sqlite3_reset(s);
    return v;
}

journal_state journal_state_of(journal *j)
{
    char room[64];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str name = journal_text(j, "state", &a);
    for (int i = 0; i < JOURNAL_STATES; i++)
        if (str_eq(name, str_of(journal_state_name((journal_state)i))))
            return (journal_state)i;
    return JOURNAL_OPEN;
}

/* ---- transactions ---- */

typedef struct event_head {
    daruma_moment at;
    size_t n;
} event_head;

static bool write_events(journal *j)
{
    daruma_str rest = buf_str(&j->events);
    event_head h;
    bool well = true;
    while (well && rest.n >= sizeof h) {
        sqlite3_stmt *s = make(j, DO_EVENT);
        if (!s)
            return false;
        memcpy(&h, rest.p, sizeof h);
        put_int(s, 1, ++j->seq);
        put_int(s, 2, h.at.now);
        put_int(s, 3, h.at.wall);
        put_blob(s, 4, str_sub(rest, sizeof h, h.n));
        well = run_once(j, s);
        rest = str_from(rest, sizeof h + h.n);
    }
    sys_arena_done(&j->room);
    sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES);
    j->events = buf_in(&j->room);
    return well;
}

/* A transaction that is synced to the disk or not. False: there is none. */
static bool begin(journal *j, bool full)
{
    if (j->broken)
        return false;
    if (j->full != full && !run_once(j, make(j, full ? DO_FULL : DO_NORMAL)))
        return false;
    j->full = full;
    return run_once(j, make(j, DO_BEGIN)) && write_events(j);
}

static bool commit(journal *j, bool well)
{
    if (well && !j->broken && run_once(j, make(j, DO_COMMIT)))
        return true;
    fail(j, "cannot write");
    if (!sqlite3_get_autocommit(j->db))
        sqlite3_exec(j->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

/* ---- beginning and end ---- */

/* Takes the lock that says that the run is under way. */
static bool take_lock(journal *j, char why[256])
{
    if (flock(j->lock, LOCK_EX | LOCK_NB) == 0)
        return true;
    snprintf(why, 256, "run %.40s is under way in another process", strrchr(j->path, '/') + 1);
    return false;
}

static journal *journal_at(const char *dir, daruma_str id, const char *ending)
{
    journal *j = calloc(1, sizeof *j);
    size_t n = strlen(dir) + id.n + strlen(ending) + 2;
    if (!j || !(j->path = malloc(n)) || !sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES)) {
        free(j ? j->path : NULL);
        free(j);
        return NULL;
    }
    snprintf(j->path, n, "%s/" STR_FMT "%s", dir, STR_ARG(id), ending);
    j->lock = -1;
    j->events = buf_in(&j->room);
    return j;
}

static void name_file(const journal *j, const char *ending, char *out, size_t n)
{
    snprintf(out, n, "%s%s", j->path, ending);
}

static bool open_db(journal *j, const char *path, int flags)
{
    if (sqlite3_open_v2(path, &j->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return fail(j, "cannot open");
    sqlite3_busy_timeout(j->db, JOURNAL_BUSY_MS);
    sqlite3_extended_result_codes(j->db, 1);
    return true;
}

/* Makes a folder with all above it, for nobody else to read. */
static bool make_folder(const char *dir)
{
    char path[JOURNAL_PATH_BYTES];
    struct stat st;
    if (snprintf(path, sizeof path, "%s/", dir) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        if (mkdir(path, 0700) != 0 && errno != EEXIST && !(stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
            return false;
        *p = '/';
    }
    return true;
}

static journal *give_up(journal *j, char why[256])
{
    if (j->broken)
        snprintf(why, 256, "%s", j->why);
    journal_close(j);
    return NULL;
}

journal *journal_new(const char *dir, daruma_str id, daruma_str settings, daruma_str task, daruma_moment at,
                     char why[256])
{
    char file[JOURNAL_PATH_BYTES];
    snprintf(why, 256, "there is no memory for a journal");
    if (!make_folder(dir)) {
        snprintf(why, 256, "the folder of journals %.120s cannot be made: %.60s", dir, strerror(errno));
        return NULL;
    }
    journal *j = journal_at(dir, id, "");
    if (!j)
        return NULL;
    name_file(j, ".db", file, sizeof file);
    j->lock = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (j->lock < 0) {
        snprintf(why, 256, "the journal %.120s cannot be made: %.60s", file, strerror(errno));
        journal_close(j);
        return NULL;
    }
    bool well =
        take_lock(j, why) && open_db(j, file, SQLITE_OPEN_READWRITE) &&
        (sqlite3_exec(j->db, "PRAGMA journal_mode=WAL; PRAGMA cache_size=-512", NULL, NULL, NULL) == SQLITE_OK ||
         fail(j, "cannot write")) &&
        begin(j, true);
    well = well && (sqlite3_exec(j->db, schema, NULL, NULL, NULL) == SQLITE_OK || fail(j, "cannot write")) &&
           set_int(j, "format", JOURNAL_FORMAT) && set_text(j, "version", S(DARUMA_VERSION)) && set_text(j, "id", id) &&
           set_text(j, "task", task) && set_text(j, "settings", settings) &&
           set_text(j, "state", str_of(journal_state_name(JOURNAL_OPEN))) && set_int(j, "began", at.wall);
    if (j->db && !sqlite3_get_autocommit(j->db))
        well = commit(j, well) && well;
    if (well)
        return j;
    give_up(j, why);
    unlink(file); /* nothing is in it */
    return NULL;
}

static bool is_there(const journal *j, const char *ending)
{
    char file[JOURNAL_PATH_BYTES];
    struct stat st;
    name_file(j, ending, file, sizeof file);
    return stat(file, &st) == 0;
}

/* Is it a whole journal of ours? */
static bool sound(journal *j, char why[256])
{
    char room[64];
    daruma_arena a = arena_over(room, sizeof room);
    sqlite3_stmt *s = make(j, DO_CHECK);
    bool whole = s && sqlite3_step(s) == SQLITE_ROW && str_eq(column(s, 0), S("ok"));
    if (s)
        sqlite3_reset(s);
    int64_t format = -1;
    bool known = whole && str_int(journal_text(j, "format", &a), &format);
    if (!known)
        snprintf(why, 256, "the journal %.120s.db is damaged: %.60s. Nothing was done; begin the task anew", j->path,
                 j->broken ? sqlite3_errmsg(j->db) : "what is in it does not fit together");
    else if (format != JOURNAL_FORMAT)
        snprintf(why, 256, "the journal %.120s.db was written by another version of daruma (format %lld, not %d)",
                 j->path, (long long)format, JOURNAL_FORMAT);
    return known && format == JOURNAL_FORMAT;
}

static bool counted(journal *j, char why[256])
{
    j->ninputs = ask_int(j, DO_LAST_INPUT);
    j->seq = ask_int(j, DO_LAST_SEQ);
    if (j->broken)
        snprintf(why, 256, "the journal %.120s.db is damaged: %.60s", j->path, sqlite3_errmsg(j->db));
    return !j->broken;
}

journal *journal_open(const char *dir, daruma_str id, char why[256])
{
    char file[JOURNAL_PATH_BYTES];
    snprintf(why, 256, "there is no memory for a journal");
    journal *j = journal_id_fits(id) ? journal_at(dir, id, "") : NULL;
    if (!j) {
        snprintf(why, 256, "`%.60s` is no run; daruma run --list lists them", id.p);
        return NULL;
    }
    name_file(j, ".db", file, sizeof file);
    j->lock = open(file, O_RDWR | O_CLOEXEC);
    int error = errno;
    if (j->lock < 0) {
        if (error == ENOENT && is_there(j, ".broken"))
            snprintf(why, 256,
                     "run %.40s cannot go on: its journal could not be written to its end. What it holds: "
                     "daruma explain %.40s.broken",
                     id.p, id.p);
        else if (error == ENOENT)
            snprintf(why, 256, "there is no run %.40s in %.120s; daruma run --list lists them", id.p, dir);
        else
            snprintf(why, 256, "the journal %.120s cannot be opened: %.60s", file, strerror(error));
        return give_up(j, why);
    }
    if (take_lock(j, why) && open_db(j, file, SQLITE_OPEN_READWRITE) && sound(j, why) && counted(j, why)) {
        sqlite3_exec(j->db, "PRAGMA cache_size=-512", NULL, NULL, NULL);
        j->full = true; /* as SQLite begins */
        return j;
    }
    journal_close(j);
    return NULL;
}

journal *journal_read(const char *dir, daruma_str id, bool *ret_busy, char why[256])
{
    char file[JOURNAL_PATH_BYTES];
    daruma_str plain = str_ends(id, S(".broken")) ? str_sub(id, 0, id.n - 7) : id;
    snprintf(why, 256, "there is no run %.40s in %.120s; daruma run --list lists them", id.p, dir);
    journal *j = journal_id_fits(plain) ? journal_at(dir, plain, "") : NULL;
    if (!j)
        return NULL;
    name_file(j, plain.n < id.n ? ".broken" : ".db", file, sizeof file);
    j->lock = open(file, O_RDONLY | O_CLOEXEC);
    *ret_busy = j->lock >= 0 && flock(j->lock, LOCK_EX | LOCK_NB) != 0;
    if (j->lock < 0) {
        if (errno != ENOENT)
            snprintf(why, 256, "the journal %.120s cannot be opened: %.60s", file, strerror(errno));
        return give_up(j, why);
    }
    /* Read and write, since a log that a killed run left behind is brought in; read only where that is not allowed. */
    bool well = open_db(j, file, access(file, W_OK) == 0 ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    if (well && sound(j, why) && counted(j, why))
        return j;
    journal_close(j);
    return NULL;
}

void journal_close(journal *j)
{
    if (!j)
        return;
    if (!j->broken && j->events.n)
        journal_flush(j);
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(j->made[i]);
    sqlite3_close(j->db);
    if (j->lock >= 0)
        close(j->lock);
    sys_arena_done(&j->room);
    free(j->path);
    free(j);
}

void journal_discard(journal *j)
{
    char file[JOURNAL_PATH_BYTES];
    if (!j)
        return;
    name_file(j, ".db", file, sizeof file);
    journal_close(j);
    unlink(file);
}

bool journal_broken(const journal *j)
{
    return j && j->broken;
}

const char *journal_why(const journal *j)
{
    return j->why;
}

bool journal_set_aside(journal *j)
{
    static const char *const endings[][2] = {{".db", ".broken"}, {".db-wal", ".broken-wal"}};
    char from[JOURNAL_PATH_BYTES], to[JOURNAL_PATH_BYTES];
    bool well = true;
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(j->made[i]);
        j->made[i] = NULL;
    }
    sqlite3_close(j->db);
    j->db = NULL;
    for (size_t i = 0; i < COUNT(endings); i++) {
        name_file(j, endings[i][0], from, sizeof from);
        name_file(j, endings[i][1], to, sizeof to);
        if (rename(from, to) != 0)
            well = well && i > 0 && errno == ENOENT;
    }
    return well;
}

/* ---- writing ---- */

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
    return !j->events.n || (begin(j, false) && commit(j, true));
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
    sqlite3_stmt *taken = make(j, DO_TAKEN), *act = make(j, DO_DELIVERED);
    if (!taken || !act)
        return false;
    put_int(taken, 1, now);
    put_int(taken, 2, j->ninputs);
    put_int(act, 1, now);
    put_int(act, 2, j->ninputs);
    return run_once(j, taken) && run_once(j, act);
}

static bool insert_act(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    static const char *const purposes[] = {"step", "classification", "plan", "summary", "strategy", "analysis"};
    sqlite3_stmt *s = make(j, DO_ACT);
    if (!s)
        return false;
    put_int(s, 1, x->call);
    put_int(s, 2, ++j->seq);
    put_str(s, 3, str_of(act_name(x->what)));
    put_str(s, 4, x->what == AGENT_DO_MODEL ? str_of(purposes[x->purpose]) : (daruma_str){0});
    put_str(s, 5, x->what == AGENT_DO_MODEL ? x->model : x->tool);
    put_blob(s, 6, x->what == AGENT_DO_ASK ? x->text : x->args);
    put_int(s, 7, (int64_t)journal_hash(x));
    put_int(s, 8, at.wall);
    put_int(s, 9, at.now);
    put_int(s, 10, at.now);
    put_int(s, 11, look && look->known);
    put_int(s, 12, look ? (int64_t)look->before : 0);
    put_int(s, 13, look ? (int64_t)look->after : 0);
    return run_once(j, s);
}

bool journal_asked(journal *j, const agent_act *x, const journal_look *look, daruma_moment at)
{
    if (!j)
        return true;
    return begin(j, is_dear(x)) && commit(j, mark_delivered(j, at.now) && insert_act(j, x, look, at));
}

bool journal_asked_again(journal *j, uint32_t call, daruma_moment at)
{
    sqlite3_stmt *s = j ? make(j, DO_AGAIN) : NULL;
    if (!s || !begin(j, true))
        return !j;
    put_int(s, 1, at.now);
    put_int(s, 2, call);
    return commit(j, run_once(j, s));
}

/* What an input is worth: whoever changes a byte of it is found out. */
static uint64_t sum_of(const journal_input *in)
{
    const int64_t head[] = {(int64_t)in->kind, in->call,  in->at.now, in->at.wall, (int64_t)in->at.dice,
                            in->code,          in->phase, in->net,    in->lost,    (int64_t)in->text.n};
    return XXH3_64bits_withSeed(in->text.p ? in->text.p : "", in->text.n, XXH3_64bits(head, sizeof head));
}

static daruma_str outcome_of(const journal_input *in)
{
    static const char *const replies[] = {"allowed", "denied", "interrupted", "expired"};
    switch (in->kind) {
    case JOURNAL_ANSWERED:
        return in->code ? S("recovered") : S("answered");
    case JOURNAL_FAILED:
        return S("failed");
    case JOURNAL_TOOL:
        return in->lost ? S("lost") : in->code == 0 ? S("failed") : S("worked");
    case JOURNAL_PERSON:
        return str_of(replies[in->code]);
    case JOURNAL_OPENED:
    case JOURNAL_CLOCK:
    case JOURNAL_RESUMED:
    case JOURNAL_KINDS:
        break;
    }
    return (daruma_str){0};
}

static bool finish_act(journal *j, uint32_t call, daruma_ms now, daruma_str outcome)
{
    sqlite3_stmt *s = call ? make(j, DO_FINISHED) : NULL;
    if (!s)
        return !call;
    put_int(s, 1, now);
    put_str(s, 2, outcome);
    put_int(s, 3, call);
    return run_once(j, s);
}

bool journal_told(journal *j, const journal_input *in)
{
    if (!j)
        return true;
    if (!begin(j, true))
        return false;
    sqlite3_stmt *s = make(j, DO_INPUT);
    if (!s)
        return commit(j, false);
    put_int(s, 1, ++j->ninputs);
    put_int(s, 2, ++j->seq);
    put_str(s, 3, str_of(kind_name(in->kind)));
    put_int(s, 4, in->call);
    put_int(s, 5, in->at.now);
    put_int(s, 6, in->at.wall);
    put_int(s, 7, (int64_t)in->at.dice);
    put_int(s, 8, in->code);
    put_int(s, 9, in->phase);
    put_int(s, 10, in->net);
    put_int(s, 11, in->lost);
    put_blob(s, 12, in->text);
    put_int(s, 13, (int64_t)sum_of(in));
    return commit(j, run_once(j, s) && finish_act(j, in->call, in->at.now, outcome_of(in)));
}

bool journal_not_answered(journal *j, uint32_t call)
{
    if (!j)
        return true;
    sqlite3_stmt *s = begin(j, false) ? make(j, DO_FINISHED) : NULL;
    if (!s)
        return false;
    sqlite3_bind_null(s, 1);
    put_str(s, 2, S("interrupted"));
    put_int(s, 3, call);
    return commit(j, run_once(j, s));
}

bool journal_ended(journal *j, journal_state s, daruma_str result, daruma_moment at)
{
    if (!j)
        return true;
    if (!begin(j, true))
        return false;
    /* What interrupts a run is not the run's: it goes on as if that had not been. */
    bool well = s == JOURNAL_INTERRUPTED || mark_delivered(j, at.now);
    well = well && set_text(j, "state", str_of(journal_state_name(s))) && set_int(j, "ended", at.wall);
    return commit(j, well && (!result.n || set_text(j, "result", result)));
}

bool journal_reopened(journal *j)
{
    return !j || (begin(j, true) && commit(j, set_text(j, "state", str_of(journal_state_name(JOURNAL_OPEN)))));
}

/* ---- reading ---- */

bool journal_act_of(journal *j, uint32_t call, journal_act *ret)
{
    sqlite3_stmt *s = make(j, DO_GET_ACT);
    if (!s)
        return false;
    put_int(s, 1, call);
    bool there = sqlite3_step(s) == SQLITE_ROW;
    if (there) {
        *ret = (journal_act){.hash = (uint64_t)sqlite3_column_int64(s, 0),
                             .started = (unsigned)sqlite3_column_int64(s, 1),
                             .look = {.known = sqlite3_column_int64(s, 2) != 0,
                                      .before = (uint64_t)sqlite3_column_int64(s, 3),
                                      .after = (uint64_t)sqlite3_column_int64(s, 4)}};
        daruma_str what = column(s, 5), name = str_sub(column(s, 6), 0, sizeof ret->name / 2);
        snprintf(ret->name, sizeof ret->name, STR_FMT " " STR_FMT, STR_ARG(what), STR_ARG(name));
    }
    sqlite3_reset(s);
    return there;
}

static journal_kind kind_of(daruma_str name)
{
    int k = 0;
    while (k < JOURNAL_KINDS && !str_eq(name, str_of(kind_name((journal_kind)k))))
        k++;
    return (journal_kind)k;
}

bool journal_input_of(journal *j, int64_t n, journal_input *ret, bool *ret_delivered, bool *ret_bad, daruma_arena *a)
{
    sqlite3_stmt *s = make(j, DO_GET_INPUT);
    *ret_bad = !s;
    if (!s)
        return false;
    put_int(s, 1, n);
    int rc = sqlite3_step(s);
    if (rc != SQLITE_ROW) {
        *ret_bad = rc != SQLITE_DONE || n <= j->ninputs; /* one in the middle is missing */
        sqlite3_reset(s);
        return false;
    }
    journal_input in = {
        .kind = kind_of(column(s, 0)),
        .call = (uint32_t)sqlite3_column_int64(s, 1),
        .at = {sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3), (uint64_t)sqlite3_column_int64(s, 4)},
        .code = sqlite3_column_int(s, 5),
        .phase = sqlite3_column_int(s, 6),
        .net = sqlite3_column_int(s, 7),
        .lost = sqlite3_column_int(s, 8) != 0,
        .text = arena_copy(a, column(s, 9))};
    *ret_delivered = sqlite3_column_type(s, 11) != SQLITE_NULL;
    *ret_bad = a->full || in.kind == JOURNAL_KINDS || (uint64_t)sqlite3_column_int64(s, 10) != sum_of(&in);
    sqlite3_reset(s);
    if (*ret_bad)
        return false;
    *ret = in;
    return true;
}

/* The line at hand of each of the three tables; the one with the lowest number comes next. */
static bool line_of(journal *j, statement which, sqlite3_stmt *s, journal_line *l, daruma_arena *a)
{
    *l = (journal_line){.finished = -1};
    if (which == DO_ALL_INPUTS) {
        bool delivered, bad;
        l->what = JOURNAL_LINE_INPUT;
        if (!journal_input_of(j, sqlite3_column_int64(s, 1), &l->in, &delivered, &bad, a))
            return false;
        l->wall = l->in.at.wall;
        l->at = l->in.at.now;
        l->call = l->in.call;
        return true;
    }
    l->wall = sqlite3_column_int64(s, 1);
    l->at = sqlite3_column_int64(s, 2);
    if (which == DO_ALL_EVENTS) {
        l->what = JOURNAL_LINE_EVENT;
        l->event = column(s, 3);
        return true;
    }
    l->what = JOURNAL_LINE_ACT;
    l->act = column(s, 3);
    l->purpose = column(s, 4);
    l->name = column(s, 5);
    l->args = column(s, 6);
    l->call = (uint32_t)sqlite3_column_int64(s, 7);
    l->started = (unsigned)sqlite3_column_int64(s, 8);
    l->finished = sqlite3_column_type(s, 9) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 9);
    return true;
}

bool journal_each(journal *j, bool (*each)(const journal_line *l, void *user), void *user, char why[256])
{
    static const statement which[] = {DO_ALL_ACTS, DO_ALL_INPUTS, DO_ALL_EVENTS};
    sqlite3_stmt *s[COUNT(which)];
    bool more[COUNT(which)], well = true;
    for (size_t i = 0; i < COUNT(which); i++) {
        s[i] = make(j, which[i]);
        more[i] = s[i] && sqlite3_step(s[i]) == SQLITE_ROW;
    }
    while (well) {
        size_t next = COUNT(which);
        for (size_t i = 0; i < COUNT(which); i++)
            if (more[i] && (next == COUNT(which) || sqlite3_column_int64(s[i], 0) < sqlite3_column_int64(s[next], 0)))
                next = i;
        if (next == COUNT(which))
            break;
        daruma_arena a;
        journal_line l;
        if (!sys_arena_init(&a, 16 << 10, RUN_ANSWER_BYTES_MAX))
            break;
        well = line_of(j, which[next], s[next], &l, &a);
        if (!well)
            snprintf(why, 256, "the journal %.120s.db is damaged: a record in it is not what was written", j->path);
        bool on = well && each(&l, user);
        sys_arena_done(&a);
        if (!on)
            break;
        more[next] = sqlite3_step(s[next]) == SQLITE_ROW;
    }
    for (size_t i = 0; i < COUNT(which); i++)
        sqlite3_reset(s[i]);
    return well;
}

/* ---- the folder ---- */

static int by_name(const void *a, const void *b)
{
    const daruma_str *x = a, *y = b;
    int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
    return order ? order : x->n < y->n ? -1 : x->n > y->n;
}

size_t journal_list(const char *dir, daruma_str **ret, daruma_arena *a)
{
    DIR *d = opendir(dir);
    size_t n = 0;
    *ret = d ? ARENA_NEW(a, daruma_str, JOURNAL_RUNS_MAX) : NULL;
    for (struct dirent *e; *ret && n < JOURNAL_RUNS_MAX && (e = readdir(d));) {
        daruma_str name = str_of(e->d_name);
        if (str_ends(name, S(".db")))
            name = str_sub(name, 0, name.n - 3);
        else if (!str_ends(name, S(".broken")))
            continue;
        (*ret)[n] = arena_copy(a, name);
        n += (*ret)[n].n > 0;
    }
    if (d)
        closedir(d);
    if (n)
        qsort(*ret, n, sizeof **ret, by_name);
    return n;
}
