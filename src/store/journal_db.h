/* journal_db.h - the SQLite file of a journal, and what the files of the journal call of each other. */
#ifndef STORE_JOURNAL_DB_H
#define STORE_JOURNAL_DB_H
#include "store/journal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/arena.h"
#include <stdio.h>
#include <sqlite3.h>

/* What a line of the record is known by: all that never changes of it. */
#define ACT_COLUMNS   "call,seq,what,purpose,name,args,hash,wall,requested,looked,before,after"
#define INPUT_COLUMNS "n,seq,kind,call,now,wall,dice,code,phase,net,lost,more,text"
/* What stands there from the beginning of a run to its end, in its table. */
#define KEPT(key) "(SELECT value FROM run WHERE key='" key "')"

/* X(symbol, text). digest() and chain() are ours: see db_open(). */
#define STATEMENT_MAP(X)                                                                                               \
    X(BEGIN, "BEGIN IMMEDIATE")                                                                                        \
    X(COMMIT, "COMMIT")                                                                                                \
    X(FULL, "PRAGMA synchronous=FULL")                                                                                 \
    X(NORMAL, "PRAGMA synchronous=NORMAL")                                                                             \
    X(SET, "INSERT OR REPLACE INTO run VALUES(?,?)")                                                                   \
    X(GET, "SELECT value FROM run WHERE key=?")                                                                        \
    X(ACT, "INSERT INTO act(" ACT_COLUMNS ",started,tries,chain)"                                                      \
           " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?9,1,chain(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12))")       \
    X(AGAIN, "UPDATE act SET tries=tries+1, started=? WHERE call=?")                                                   \
    X(INPUT, "INSERT INTO input(" INPUT_COLUMNS ",chain)"                                                              \
             " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,"                                                     \
             "chain(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13))")                                                     \
    X(EVENT, "INSERT INTO event VALUES(?,?,?,?)")                                                                      \
    X(GET_ACT, "SELECT hash,tries,looked,before,after,what,name FROM act WHERE call=?")                                \
    X(GET_INPUT, "SELECT kind,call,now,wall,dice,code,phase,net,lost,more,text FROM input WHERE n=?")                  \
    X(ALL_ACTS, "SELECT seq,wall,requested,what,purpose,name,args,call,tries FROM act ORDER BY seq")                   \
    X(ALL_INPUTS, "SELECT seq,n FROM input ORDER BY n")                                                                \
    X(ALL_EVENTS, "SELECT seq,wall,now,json FROM event ORDER BY seq")                                                  \
    X(LAST_INPUT, "SELECT max(n) FROM input")                                                                          \
    X(LAST_SEQ, "SELECT max(coalesce((SELECT max(seq) FROM act),0), coalesce((SELECT max(seq) FROM input),0),"         \
                " coalesce((SELECT max(seq) FROM event),0))")                                                          \
    /* Did the agent ask for something behind all that it was told? */                                                 \
    X(AHEAD, "SELECT coalesce((SELECT max(seq) FROM act),0) > coalesce((SELECT max(seq) FROM input),0)")               \
    X(FIRST_LINK, "SELECT digest(" KEPT("format") "," KEPT("version") "," KEPT("id") "," KEPT("task") "," KEPT(        \
                      "settings") "," KEPT("began") ")")                                                               \
    X(LINKS, "SELECT seq,chain,digest(" ACT_COLUMNS "),call FROM act"                                                  \
             " UNION ALL SELECT seq,chain,digest(" INPUT_COLUMNS "),NULL FROM input ORDER BY 1")                       \
    X(LAST_LINK, "SELECT chain FROM (SELECT seq,chain FROM act UNION ALL SELECT seq,chain FROM input)"                 \
                 " ORDER BY seq DESC LIMIT 1")                                                                         \
    /* The end of a record that holds nothing but failures of models, waits, and the words about them. */              \
    X(FAILED_FROM, "SELECT n,call FROM input WHERE kind='failed' AND n>(SELECT max(n) FROM input WHERE NOT"            \
                   " (kind IN ('failed','clock') OR (kind='answered' AND"                                              \
                   " call IN (SELECT call FROM act WHERE purpose='analysis')))) ORDER BY n LIMIT 1")                   \
    /* Calls of models that the end of a record tells of. */                                                           \
    X(CALLS_FROM, "SELECT sum(more + (call IN (SELECT call FROM act WHERE what='model'))) FROM input WHERE n>=?")      \
    X(CUT_INPUTS, "DELETE FROM input WHERE n>=?")                                                                      \
    X(CUT_ACTS, "DELETE FROM act WHERE call>?")                                                                        \
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
    int64_t head;      /* the check value of the newest act or input, and so of all before it ... */
    int64_t kept;      /* ... and the one that stands in the file */
    bool dear;         /* the act that is out has effects */
    bool full;         /* transactions are synced now */
    bool broken;       /* nothing is written any more */
    char why[256];     /* ... why */
    daruma_arena room; /* of events that wait */
    daruma_buf events; /* now, wall, bytes, then so many bytes of text each */
};

/* Before the text of each event that waits. */
typedef struct event_head {
    daruma_moment at;
    size_t n;
} event_head;

/* Notes why the journal cannot be used; from then on it is broken. Returns false. */
bool db_fail(journal *j, const char *what);
/* Opens a file, and gives its statements two functions: digest(...) of values, and chain(...), the check value of the
 * line that has them, over itself and all lines before it. False: the journal is broken. */
bool db_open(journal *j, const char *path, int flags);
/* The check value that the chain begins with. */
int64_t db_first_link(journal *j);
/* Where the chain does not hold: the `seq` of the first line that is not what was written, or INT64_MAX when lines are
 * missing at the end; then `ret_where` says it in words. 0: it holds. Otherwise the journal is broken, too. */
int64_t db_chain_breaks(journal *j, char ret_where[80]);
/* The statement, made when it is needed first; NULL and a broken journal when it cannot be. */
sqlite3_stmt *db_make(journal *j, statement s);
/* Runs one that gives nothing, its parameters as BUF_SAY takes them; JSON stands for bytes. They must live until it has
 * run. False: the journal is broken. */
#define DB(j, which, ...) db_run((j), (which), (const buf_part[]){BUF_PARTS(__VA_ARGS__)}, BUF_COUNT(__VA_ARGS__))
bool db_run(journal *j, statement which, const buf_part *with, size_t n);
/* The first row of one with one parameter; NULL: there is none, or the journal is broken. sqlite3_reset() when it was
 * read, NULL is allowed. */
sqlite3_stmt *db_row(journal *j, statement which, buf_part with);
/* A text of the row at hand, counted from 0; lives as long as the row. */
daruma_str db_column(sqlite3_stmt *s, int at);
/* The one number that a statement without parameters gives. */
int64_t db_ask(journal *j, statement which);
/* Sets a text of the table `run`. */
bool db_set(journal *j, const char *key, daruma_str value);
bool db_set_int(journal *j, const char *key, int64_t v);
bool db_set_state(journal *j, journal_state s);
/* A transaction that is synced to the disk or not; what waits is written in it. False: there is none. */
bool db_begin(journal *j, bool full);
/* Ends it, or takes it back when not all went well: then the journal is broken. */
bool db_commit(journal *j, bool well);
void db_drop_events(journal *j);             /* those that wait */
void db_close(journal *j);                   /* the file, not the journal */
const char *db_kind_name(crew_input_kind k); /* static */
#endif
