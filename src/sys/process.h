/* process.h - runs a short shell command and gives its first line: how a key is fetched from a password store. */
#ifndef SYS_PROCESS_H
#define SYS_PROCESS_H
#include "daruma_parts.h"
#include <uv.h>

/* How it ended. `exit_code` is 0 only when it went well; 128 + N when signal N ended it, -1 when it did not start, did
 * not end in time or said too much. `out` is its first line without white space at its ends, empty unless the exit
 * code is 0; it may be a secret, is wiped after the call, and nothing here ever logs it. `why` is NULL when there is a
 * line, else a sentence about the command that holds none of its output; valid during the call. */
typedef void (*process_done)(int exit_code, daruma_str out, const char *why, void *user);

typedef struct process process; /* one that runs; gone when `done` has been called */

/* Runs `sh -c command` in a process group of its own, with nothing on its standard input and its standard error thrown
 * away. When `deadline_ms` have passed, or it printed more than CONFIG_PROCESS_BYTES_MAX, the whole group is killed.
 * `done` is called once, from the loop; without memory at once, and NULL is returned. `command` is not needed after
 * this returns. */
process *process_run(uv_loop_t *loop, const char *command, daruma_ms deadline_ms, process_done done, void *user);
/* Kills it and calls `done` now. */
void process_stop(process *p);
#endif
