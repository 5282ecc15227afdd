/* cli.h - the subcommands. Each gets its own name as argv[0] and returns the exit code: 0 fine, 1 it did not go
 * well, 2 it was asked wrongly. */
#ifndef CLI_CLI_H
#define CLI_CLI_H
#include "daruma_parts.h"
#include <stdio.h>

typedef struct cli_command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; /* one line */
} cli_command;

// clang-format off
/* Name, and help in one line. */
#define CLI_COMMAND_MAP(X) \
    X(serve, "the gateway: point any agent or SDK at it") \
    X(run, "an agent that finishes a task over your files, whatever its provider does") \
    X(with, "run one command behind a gateway of its own: daruma with -- COMMAND...") \
    X(demo, "a request through each failure, without daruma and through it; what ./run shows") \
    X(chaos, "a provider that misbehaves on purpose, for your tests") \
    X(check, "read a configuration and say whether it is fine") \
    X(policy, "print what is done about each kind of failure") \
    X(profiles, "what each profile does, side by side") \
    X(classify, "judge error texts: what is it, does waiting help, how long") \
    X(explain, "an error, or a case from the event log, in plain words") \
    X(report, "what failed, what was saved and wasted, where to look: out of event files") \
    X(cases, "the cases of an event file, one a line") \
    X(doctor, "is everything that a gateway needs there? Each line with its remedy") \
    X(health, "does the gateway that listens here answer? For health checks") \
    X(replay, "run scenario files through the engine") \
    X(simulate, "outages in virtual time: what would your configuration survive?") \
    X(loops, "which agents went in circles, out of records of their steps") \
    X(review, "a run of an agent on one page: what went wrong, what it cost, what would have helped") \
    X(mend, "the history of a request put right, and shortened") \
    X(convert, "a request or an answer in the words of another API") \
    X(completion, "what bash, zsh or fish need to complete commands and options") \
    X(version, "print the version")
// clang-format on
#define X(name, help) int cli_##name(int argc, char **argv);
CLI_COMMAND_MAP(X)
#undef X

const cli_command *cli_commands(size_t *n); /* all of them */

/* Why a gateway does not start or a file is refused, as conf_mistakes_say() has it: room for that, and its printing. */
enum { CLI_WHY_BYTES = 32 << 10 };
void cli_refused(const char *command, const daruma_buf *why);

/* Sets the environment so that no proxy leads to this machine, whatever else it leads to. Some programs read one of its
 * two variables, some the other; who reads both believes the small letters. */
void cli_keep_off_proxies(void);

/* Options as rows, the last of them empty. A value whose name ends in "..." may be given again: `text` has room for
 * CLI_AGAIN_MAX of them and a NULL. */
enum { CLI_AGAIN_MAX = 64 };
typedef struct cli_option {
    const char *name;  /* "--listen" */
    const char *value; /* "HOST:PORT" in the help; NULL: it is a switch */
    const char **text; /* where a value goes; NULL: `take` takes it */
    bool *on;          /* where a switch goes */
    const char *help;
    /* Takes a value that may be given again and whose order counts. False: it told why not. */
    bool (*take)(const struct cli_option *o, const char *value);
} cli_option;
// clang-format off
#define CLI_VALUE(flag, named, to, says) {.name = (flag), .value = (named), .text = (to), .help = (says)}
#define CLI_TAKEN(flag, named, by, says) {.name = (flag), .value = (named), .take = (by), .help = (says)}
#define CLI_SWITCH(flag, to, says)       {.name = (flag), .on = (to), .help = (says)}
// clang-format on

/* Reads options wherever they stand, up to "--", and moves all other arguments behind them. Returns the index of the
 * first of those, or -1 after an error was told (exit 2), or -2 after --help was answered (exit 0). `usage` is the
 * first line of the help, `about` what follows it. */
int cli_options(int argc, char **argv, const cli_option *options, const char *usage, const char *about);
/* The same, but options behind the first other argument are not ours. */
int cli_options_before(int argc, char **argv, const cli_option *options, const char *usage, const char *about);

/* While it is set, --help hands a command's table to it, and prints nothing. */
extern void (*cli_tables_to)(const cli_option *options);

/* Tells "daruma COMMAND: ..." on standard error, as printf writes it, and a line's end. Returns `ret`. */
int cli_say(int ret, const char *command, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define CLI_NULL(...) (cli_say(0, __VA_ARGS__), NULL) /* ... where a pointer is returned */
/* True when nothing stands at argv[at] any more; else that was told (exit 2). */
bool cli_no_more(int argc, char **argv, int at);

/* The names of all profiles, one after the other; where a profile's document and its code differ it is there twice, as
 * NAME:doc and NAME:code. In `room`; NULL behind the last. */
enum { CLI_PROFILE_BYTES = 64 };
const char *cli_profile(size_t i, char room[CLI_PROFILE_BYTES]);
/* Tells that there is no profile of that name, or no such variant of it, and what there is (exit 2). Returns NULL. */
const struct daruma_policy *cli_no_profile(const char *command, daruma_str name, daruma_str variant);

/* The dialect of that name, or NULL after an error was told (exit 2). `option` is what it was asked with. */
const struct dialect *cli_dialect(const char *command, const char *option, const char *name);
/* Reads --status; NULL is 0. False: it is none, which was told (exit 2). */
bool cli_status(const char *command, const char *text, int *ret);
/* The one file that may stand at argv[at], "-" when none does, or NULL after an error was told (exit 2). */
const char *cli_one_file(int argc, char **argv, int at);

/* Opens *a, of `most` bytes, and reads the file into it without its byte order mark. False: it was told why not. */
bool cli_read(const char *command, const char *path, size_t file_most, size_t most, daruma_arena *a, daruma_str *ret);

/* Tells why `what` could not be read as one of that dialect: nothing there, no JSON (and where it breaks), another
 * dialect. Returns 0 for DARUMA_OK, else 2. */
#define CLI_REQUEST "a request"
#define CLI_ANSWER  "an answer"
int cli_unread(const char *command, const char *what, daruma_status s, const struct dialect *d, daruma_str body,
               daruma_arena *a);

/* Reads a whole HTTP answer, head and body, as `curl -i` and `curl -v` print it: its status, unless `ev` has one, its
 * fields, behind the ev->nheaders that stand in `headers` (room for `max`), and its body, in `a`. False: it is none. */
bool cli_pasted(daruma_str text, daruma_evidence *ev, daruma_header *headers, size_t max, daruma_arena *a);

/* "http://[::1]:4141"; `sealed`: over TLS. `reach`: who listens at every address is on the loopback, too. */
enum { CLI_ADDRESS_BYTES = 300 };
const char *cli_address(bool sealed, daruma_str host, int port, bool reach, char room[CLI_ADDRESS_BYTES]);

/* The beginning of `s` that fits, with a NUL behind it. */
void cli_keep(char *to, size_t room, daruma_str s);

/* Words of others, for a terminal: what it would obey or that turns lines around becomes '?' (str_step()). In
 * `room`, as much as it has room for. */
daruma_str cli_plain(daruma_str text, char *room, size_t n);
/* Prints them so. */
void cli_put(FILE *to, daruma_str text);

/* The same of several lines. */
void cli_put_page(FILE *to, daruma_str text);
/* Prints JSON, such characters in its strings as escapes. */
void cli_put_json(FILE *to, daruma_str json);

/* Appends "1,234,567". */
void cli_put_count(daruma_buf *out, uint64_t n);

/* A place in a text, for people. */
enum { CLI_REST_BYTES = 40 };
typedef struct cli_place {
    size_t line, column;           /* counted from 1; columns are bytes */
    char rest[CLI_REST_BYTES + 1]; /* what stands there, as cli_plain() has it; empty: the text ends */
} cli_place;
cli_place cli_place_of(daruma_str text, const char *at);
/* Where a text that is not one JSON value breaks. */
cli_place cli_json_breaks(daruma_str text);
/* A text without the byte order mark that some editors write before it: places are counted behind it. */
daruma_str cli_unmarked(daruma_str text);
#endif
