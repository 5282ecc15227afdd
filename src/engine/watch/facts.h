/* facts.h - what the result of a tool says about itself: fields of JSON, exit codes, the words it begins or ends with.
 */
#ifndef WATCH_FACTS_H
#define WATCH_FACTS_H
#include "daruma_parts.h"

#define FACTS_TEXTS    4  /* texts that are kept of one result, most telling first */
#define CODE_BYTES_MAX 80 /* a longer name of a failure is a sentence */
#define FACTS_CODES    4  /* names of failures that are kept of one result */

/* Everything is borrowed from the result. All zero: it says nothing. */
typedef struct facts {
    bool failed;                   /* it says that it failed */
    bool worked;                   /* it says that it worked */
    int status;                    /* HTTP status of a structured field, 0 none */
    int exit;                      /* exit code of a process, 0 none or fine */
    int rpc;                       /* JSON-RPC error code, 0 none */
    int retry;                     /* what it says of trying again: 1 may help, 0 does not, -1 nothing */
    daruma_str codes[FACTS_CODES]; /* raw, without quotes: "ENOENT", "FILE_NOT_FOUND" */
    size_t ncodes;
    daruma_str texts[FACTS_TEXTS]; /* values of JSON, with their quotes; or plain text when `plain` */
    int ranks[FACTS_TEXTS];        /* how telling each is, for facts_read() alone */
    size_t ntexts;
    bool plain; /* no JSON: texts[0] is the result without the tags around it */
} facts;

/* Reads a result. Pure. */
facts facts_read(daruma_str result);
/* For facts.c and spoken.c only: reads plain text; keeps a name, unless there are enough. */
void facts_plain(facts *f, daruma_str text);
void facts_add_code(facts *f, daruma_str code);
/* "TypeError: ...", "ENOENT: ...", "FILE_NOT_FOUND: ...": the name of a failure that a line begins with; empty: none.
 */
daruma_str facts_leading(daruma_str line);
/* "Exit code 1", "(exit status 2)": does the line say that and no more? */
bool facts_exit_alone(daruma_str line);

/* The last line of a text, trimmed; of a very long one its end. */
daruma_str facts_last_line(daruma_str text);
/* Does it end with the report of a run that failed, of tests or of a build? A hash of that line; 0: it does not.
 */
uint32_t facts_red(daruma_str text);
/* Is it a page that asks for proof of being human, where another one should be? */
bool facts_wall(daruma_str text);

/* What a name of a failure, an HTTP status, an exit code or a JSON-RPC code means; NONE when it says nothing by itself.
 * `retry` (may be NULL) gets whether it may pass by itself. */
daruma_tool_kind facts_code(daruma_str code, bool *retry);
daruma_tool_kind facts_status(int status, bool *retry);
/* The same for numbers that many failures have: 400, 5xx. Asked last. */
daruma_tool_kind facts_status_any(int status, bool *retry);
daruma_tool_kind facts_exit(int exit, bool *retry);
daruma_tool_kind facts_rpc(int code, bool *retry);
#endif
