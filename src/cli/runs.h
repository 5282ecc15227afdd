/* runs.h - the journals of `daruma run` on the command line: where they are, which there are, with what options a run
 * began. */
#ifndef CLI_RUNS_H
#define CLI_RUNS_H
#include "cli/cli.h"
#include "store/journal.h"

enum { RUNS_OPTIONS_MAX = 64 };

/* The folder of journals: what --state says, else $XDG_STATE_HOME/daruma, else ~/.local/state/daruma. NULL: none of
 * them is set. In `room`. */
const char *runs_folder(const char *state, char room[JOURNAL_PATH_BYTES]);
/* The id that `name` means: "last" is the newest run. Empty: there is none. In `a`. */
daruma_str runs_id(const char *folder, const char *name, daruma_arena *a);
/* Prints them. Returns the exit code. */
int runs_list(const char *folder, bool json);
/* Tells a run in words. Returns the exit code. */
int runs_explain(const char *folder, daruma_str id);

/* The options that a run began with are kept in its journal, and are its options when it is resumed. */
typedef struct runs_options {
    const cli_option *options;
    const char *was[RUNS_OPTIONS_MAX]; /* the texts before the command line was read: the defaults */
} runs_options;
/* Before the command line is read. */
runs_options runs_options_before(const cli_option *options);
/* Writes those that were given as a JSON object. */
void runs_options_write(const runs_options *o, daruma_buf *out);
/* Takes over those of a journal. False: one that was given contradicts it, which was told (exit 2). In `a`. */
bool runs_options_read(const runs_options *o, daruma_str settings, daruma_arena *a);
#endif
