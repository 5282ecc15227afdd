/* log_file.h - a file, pipe or terminal that lines are appended to, and that never makes anybody wait. A line goes out
 * whole, or is lost and counted: there is never half of one before the next. */
#ifndef GATEWAY_LOG_FILE_H
#define GATEWAY_LOG_FILE_H
#include "daruma_parts.h"

typedef struct log_file {
    int fd;          /* -1: there is none */
    bool regular;    /* a file on a disk: what does not fit is taken back */
    bool aloud;      /* standard error is told when lines begin to be lost, and when they are written again */
    bool failing;    /* the last line was lost */
    bool told;       /* ... and that was said */
    const char *key; /* the option that names it, as messages call it; NULL: standard error itself */
    const char
        *note;  /* how a line begins that says how many were lost, without the closing brace; NULL: none is written */
    char *path; /* malloc'd */
    char *rest; /* malloc'd: what is left of a line of which a pipe took the beginning */
    size_t nrest;
    int error;       /* errno of the last loss; 0: a pipe that nobody empties */
    int64_t told_at; /* when a loss was said last, in seconds since 1970; 0 never */
    uint64_t lost;   /* lines, since it was begun */
    uint64_t untold; /* ... of them those that no note in the file counts */
    uint64_t gap;    /* ... of them since a line was written last */
    char *held;      /* the caller's, of LOG_HELD_BYTES: lines that wait for log_file_flush(); NULL: none waits ever */
    size_t nheld;
    int64_t held_at; /* when the newest of them was put, in seconds since 1970 */
} log_file;

/* Opens `path` for appending, in place of what was open; empty: nothing is open then. False, nothing is changed, and
 * why[512] says why. */
bool log_file_open(log_file *f, daruma_str path, char why[512]);
void log_file_close(log_file *f); /* counts stay */
/* Appends a line, its newline at its end. `wall`: now, in seconds since 1970. False: it is lost. */
bool log_file_put(log_file *f, daruma_str line, int64_t wall);
/* The same, but the line may wait in `held` until log_file_flush(), and is counted there should it be lost. Opening and
 * closing flush, too. Not for files that log_file_put() is used with. */
void log_file_hold(log_file *f, daruma_str line, int64_t wall);
void log_file_flush(log_file *f);
#endif
