/* event_lines.h - event files and usage logs read line by line, of any size in the same memory. Used by `daruma report`
 * and `daruma cases`. */
#ifndef CLI_EVENT_LINES_H
#define CLI_EVENT_LINES_H
#include "daruma_parts.h"
#include <stdio.h>

enum { EVENT_BAD_SHOWN = 10 }; /* numbers of unreadable lines that are told */

/* What one line says. Strings live until the next line is read; numbers are -1 where it does not say. */
typedef struct event_seen {
    daruma_str event; /* empty: it is a line of a usage log */
    daruma_str ts, id, kind, severity, provider, model, asked, target, client, remedy, outcome, reason, late_by,
        late_words;
    int64_t wall; /* its time in ms since 1970 */
    int64_t took, delay, attempt, attempts, max_attempts, status, input_tokens, output_tokens, lost, ms, calls, late;
    int64_t cost; /* billionths */
} event_seen;

typedef struct event_lines {
    const char *command, *name;
    FILE *in;
    char *room; /* malloc'd: bytes of the file that were read and not looked at */
    size_t n, at;
    bool end;
    int64_t since; /* lines of an earlier time are passed over; ms since 1970 */
    uint64_t line; /* its number, from 1 */
    uint64_t bad;  /* lines that are neither events nor usage */
    uint64_t bad_at[EVENT_BAD_SHOWN];
    char text[1 << 16]; /* strings of the line at hand that had escapes */
} event_lines;

/* Opens a file, "-" is standard input. False: that was told. */
bool event_lines_open(event_lines *l, const char *command, const char *file, int64_t since);
/* The next line that is an event or of a usage log. False: the file is over. */
bool event_lines_next(event_lines *l, event_seen *ret);
/* Tells on standard error which lines could not be read. False: the file could not be read to its end. */
bool event_lines_close(event_lines *l);

/* Is it about a call that failed? */
bool event_is_failure(const event_seen *e);
/* Does a call go out again? */
bool event_is_retry(const event_seen *e);

/* Reads --since: "7d", "12h", "2026-01-31" or a whole RFC 3339 time, as ms since 1970; NULL is 0. False: that was told.
 */
bool event_since(const char *command, const char *text, int64_t *ret);
/* Appends billionths as a decimal number with at least two and at most six digits behind the point. */
void event_put_cost(daruma_buf *out, int64_t cost);
#endif
