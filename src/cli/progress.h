/* progress.h - the line at the bottom of the terminal that says how far `daruma run` is. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H
#include "daruma_parts.h"

enum { PROGRESS_TOOL_BYTES = 48 };

/* All zero: no terminal, nothing is shown. */
typedef struct progress {
    bool on; /* standard error is a terminal */
    bool shown;
    bool held; /* something else stands on the last line of the terminal: nothing is shown */
    int64_t step, tokens, recovered;
    char tool[PROGRESS_TOOL_BYTES]; /* that was called last; empty: none yet */
} progress;

progress progress_new(void);
/* Takes the line away, so that something else can be printed. */
void progress_clear(progress *p);
/* Learns what an event says, and shows the line again. */
void progress_event(progress *p, daruma_str json);
#endif
