/* journal.c - the file of a journal: how it is made, opened, read and set aside, and the folder of all. */
#include "store/journal_db.h"
#include "base/date.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE run(key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;"
    /* times are milliseconds by the clock of the run, `wall` unix seconds */
    "CREATE TABLE act(call INTEGER PRIMARY KEY, seq INTEGER, what TEXT, purpose TEXT, name TEXT, args BLOB, hash "
    "INTEGER,"
    " wall INTEGER, requested INTEGER, looked INTEGER, before INTEGER, after INTEGER, started INTEGER, tries INTEGER,"
    " chain INTEGER);"
    "CREATE TABLE input(n INTEGER PRIMARY KEY, seq INTEGER, kind TEXT, call INTEGER, now INTEGER, wall INTEGER, dice "
    "INTEGER,"
    " code INTEGER, phase INTEGER, net INTEGER, lost INTEGER, more INTEGER, text BLOB, chain INTEGER);"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, now INTEGER, wall INTEGER, json BLOB);";

const char *journal_state_name(journal_state s)
{
#define X(sym, name, ...) name,
    static const char *const names[] = {JOURNAL_STATE_MAP(X)};
#undef X
    return names[s];
}

const char *db_kind_name(crew_input_kind k)
{
#define X(sym, name) name,
    static const char *const names[] = {CREW_INPUT_MAP(X)};
#undef X
    return names[k];
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

daruma_str journal_text(journal *j, const char *key, daruma_arena *a)
{
    sqlite3_stmt *s = j ? db_row(j, DO_GET, buf_part_z(key)) : NULL;
    daruma_str v = s ? arena_copy(a, db_column(s, 0)) : (daruma_str){0};
    sqlite3_reset(s);
    return v;
}

run_below journal_below(journal *j)
{
    char room[128];
    daruma_arena a = arena_over(room, sizeof room);
    int64_t calls = 0, waited = 0, asked = 0, more = 0;
    str_int(journal_text(j, "more_calls", &a), &calls);
    str_int(journal_text(j, "more_waited", &a), &waited);
    str_int(journal_text(j, "asked", &a), &asked);
    str_int(journal_text(j, "asked_more", &a), &more);
    return (run_below){(uint32_t)calls, waited, (uint32_t)asked, (uint32_t)more};
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

/* ---- beginning and end ---- */

/* Takes the lock that says that the run is under way. */
static bool take_lock(journal *j, char why[256])
{
    for (int i = 0; i < JOURNAL_LOCK_TRIES; i++) { /* who lists runs has the lock for a moment */
        if (flock(j->lock, LOCK_EX | LOCK_NB) == 0)
            return true;
        poll(NULL, 0, JOURNAL_LOCK_MS);
    }
    snprintf(why, 256, "run %.40s is under way in another process", strrchr(j->path, '/') + 1);
    return false;
}

static journal *journal_at(const char *dir, daruma_str id)
{
    journal *j = calloc(1, sizeof *j);
    size_t n = strlen(dir) + id.n + 2;
    if (!j || !(j->path = malloc(n)) || !sys_arena_init(&j->room, 4096, JOURNAL_WAITING_BYTES)) {
        free(j ? j->path : NULL);
        free(j);
        return NULL;
    }
    snprintf(j->path, n, "%s/" STR_FMT, dir, STR_ARG(id));
    j->lock = -1;
    j->events = buf_in(&j->room);
    return j;
}

static void name_file(const journal *j, const char *ending, char *out, size_t n)
{
    snprintf(out, n, "%s%s", j->path, ending);
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
        int error = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : errno;
        if (error && !(stat(path, &st) == 0 && S_ISDIR(st.st_mode))) {
            errno = error; /* why it could not be made, not that it is not there */
            return false;
        }
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
    journal *j = journal_at(dir, id);
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
        take_lock(j, why) && db_open(j, file, SQLITE_OPEN_READWRITE) &&
        (sqlite3_exec(j->db, "PRAGMA journal_mode=WAL; PRAGMA cache_size=-128", NULL, NULL, NULL) == SQLITE_OK ||
         db_fail(j, "cannot write")) &&
        db_begin(j, true);
    well = well && (sqlite3_exec(j->db, schema, NULL, NULL, NULL) == SQLITE_OK || db_fail(j, "cannot write")) &&
           db_set_int(j, "format", JOURNAL_FORMAT) && db_set(j, "version", S(DARUMA_VERSION)) && db_set(j, "id", id) &&
           db_set(j, "task", task) && db_set(j, "settings", settings) && db_set_state(j, JOURNAL_OPEN) &&
           db_set_int(j, "began", at.wall);
    j->head = well ? db_first_link(j) : 0;
    if (j->db && !sqlite3_get_autocommit(j->db))
        well = db_commit(j, well) && well;
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

/* Does all that SQLite keeps in it fit together? */
static bool is_whole(journal *j)
{
    sqlite3_stmt *s = db_row(j, DO_CHECK, (buf_part){0});
    bool whole = s && str_eq(db_column(s, 0), S("ok"));
    sqlite3_reset(s);
    return whole;
}

/* Is it a journal of ours? `all`: every page of it is looked at. */
static bool sound(journal *j, bool all, char why[256])
{
    char room[64];
    daruma_arena a = arena_over(room, sizeof room);
    bool whole = !all || is_whole(j);
    int64_t format = -1;
    bool known = whole && str_int(journal_text(j, "format", &a), &format), other = known && format != JOURNAL_FORMAT;
    char where[80] = "what is in it does not fit together";
    bool holds = known && (other || !all || db_chain_breaks(j, where) == 0);
    int code = j->broken ? sqlite3_errcode(j->db) & 0xff : SQLITE_CORRUPT;
    if (!holds && code != SQLITE_CORRUPT && code != SQLITE_NOTADB && code != SQLITE_ERROR)
        snprintf(why, 256, "the journal %.120s.db cannot be read: %.60s", j->path, sqlite3_errmsg(j->db));
    else if (!holds)
        snprintf(why, 256,
                 "the journal %.70s.db is damaged: %.60s. Nothing was done; daruma explain tells what it holds before "
                 "that. Begin the task anew",
                 j->path, j->broken ? sqlite3_errmsg(j->db) : where);
    else if (other)
        snprintf(why, 256,
                 "the journal %.100s.db was written by another version of daruma (format %lld, not %d): only that one "
                 "goes on with it",
                 j->path, (long long)format, JOURNAL_FORMAT);
    for (char *p = why; !holds && *p; p++)
        *p = *p > 0 && *p < ' ' ? '?' : *p; /* SQLite says which bytes it cannot read */
    return holds && !other;
}

static bool counted(journal *j, char why[256])
{
    j->ninputs = db_ask(j, DO_LAST_INPUT);
    j->seq = db_ask(j, DO_LAST_SEQ);
    if (j->broken)
        snprintf(why, 256, "the journal %.120s.db is damaged: %.60s", j->path, sqlite3_errmsg(j->db));
    return !j->broken;
}

/* Opens the file of a run. NULL and a sentence in `why`. */
static journal *find(const char *dir, daruma_str id, const char *ending, int how, char why[256])
{
    char file[JOURNAL_PATH_BYTES];
    struct stat st;
    bool fits = journal_id_fits(id);
    if (fits)
        snprintf(why, 256, "there is no run %.40s in %.120s; daruma run --list lists them", id.p, dir);
    else
        snprintf(why, 256, "`%.60s` is no run; daruma run --list lists them", id.p);
    journal *j = fits ? journal_at(dir, id) : NULL;
    if (!j)
        return NULL;
    name_file(j, ending, file, sizeof file);
    j->lock = open(file, how | O_CLOEXEC | O_NONBLOCK); /* a pipe is opened so at once, and then refused */
    if (j->lock >= 0 && fstat(j->lock, &st) == 0 && S_ISREG(st.st_mode))
        return j;
    if (j->lock >= 0)
        snprintf(why, 256, "the journal %.120s is no file", file);
    else if (errno != ENOENT)
        snprintf(why, 256, "the journal %.120s cannot be opened: %.60s", file, strerror(errno));
    else if (is_there(j, ".broken"))
        snprintf(why, 256,
                 "run %.40s cannot go on: its journal could not be written to its end. What it holds: "
                 "daruma explain %.40s.broken",
                 id.p, id.p);
    return give_up(j, why);
}

/* Reads what a journal needs to know of its file. NULL: the same. */
static journal *begun(journal *j, const char *ending, int flags, bool all, char why[256])
{
    char file[JOURNAL_PATH_BYTES];
    name_file(j, ending, file, sizeof file);
    if (!db_open(j, file, flags))
        return give_up(j, why);
    if (sound(j, all, why) && counted(j, why))
        return j;
    journal_close(j);
    return NULL;
}

journal *journal_open(const char *dir, daruma_str id, char why[256])
{
    journal *j = find(dir, id, ".db", O_RDWR, why);
    if (j && !take_lock(j, why))
        return give_up(j, why);
    j = j ? begun(j, ".db", SQLITE_OPEN_READWRITE, true, why) : NULL;
    if (!j)
        return NULL;
    sqlite3_exec(j->db, "PRAGMA cache_size=-128", NULL, NULL, NULL);
    j->full = true; /* as SQLite begins */
    return j;
}

journal *journal_read(const char *dir, daruma_str id, bool *ret_busy, char why[256])
{
    bool broken = str_ends(id, S(".broken"));
    const char *ending = broken ? ".broken" : ".db";
    char file[JOURNAL_PATH_BYTES];
    journal *j = find(dir, str_sub(id, 0, id.n - (broken ? strlen(ending) : 0)), ending, O_RDONLY, why);
    if (!j)
        return NULL;
    *ret_busy = flock(j->lock, LOCK_EX | LOCK_NB) != 0;
    if (!*ret_busy)
        flock(j->lock, LOCK_UN);
    name_file(j, ending, file, sizeof file);
    /* Read and write, since a log that a killed run left behind is brought in; read only where that is not allowed. */
    return begun(j, ending, access(file, W_OK) == 0 ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, false, why);
}

void journal_close(journal *j)
{
    if (!j)
        return;
    if (!j->broken && j->events.n)
        journal_flush(j);
    db_close(j);
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

const char *journal_why(const journal *j)
{
    return j->why;
}

bool journal_set_aside(journal *j)
{
    static const char *const endings[][2] = {{".db", ".broken"}, {".db-wal", ".broken-wal"}};
    char from[JOURNAL_PATH_BYTES], to[JOURNAL_PATH_BYTES];
    bool well = true;
    db_close(j);
    for (size_t i = 0; i < COUNT(endings); i++) {
        name_file(j, endings[i][0], from, sizeof from);
        name_file(j, endings[i][1], to, sizeof to);
        if (rename(from, to) != 0)
            well = well && i > 0 && errno == ENOENT;
    }
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
