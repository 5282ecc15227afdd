/* unwrap.h - what a failed attempt said about itself, taken out of whatever it came in:
 * JSON, JSON inside strings, SDK prefixes, Python dicts, cut JSON, HTML pages, SSE, NDJSON. */
#ifndef JUDGE_UNWRAP_H
#define JUDGE_UNWRAP_H
#include "daruma_parts.h"

#define SAID_TEXTS 8  /* error texts of one body: the innermost and what was put around it */
#define SAID_CODES 16 /* codes, types, reasons and class names of one body */

/* Facts about the form of the body; names in phrases.c as "shape.*". */
enum said_shape {
    SAID_NOTHING = 1 << 0,     /* no body, or one without any text */
    SAID_HTML = 1 << 1,        /* a page for people */
    SAID_ANSWER = 1 << 2,      /* it has the form of a model's answer */
    SAID_NO_CHOICES = 1 << 4,  /* that answer has an empty list of choices */
    SAID_REFUSAL = 1 << 5,     /* the model's refusal field is filled */
    SAID_RPC = 1 << 6,         /* a JSON-RPC error or an MCP result with isError */
    SAID_PER_MINUTE = 1 << 3,  /* a quota id counts per minute: that is a rate */
    SAID_PER_DAY = 1 << 7,     /* a quota id counts per day */
    SAID_CUT = 1 << 8,         /* JSON or events that break off */
    SAID_ERROR_EVENT = 1 << 9, /* an error event in a stream */
    SAID_FINISHED = 1 << 10,   /* a stream's terminal marker was seen */
    SAID_CODED = 1 << 11,      /* a structured error object was found */
    SAID_ZERO_LIMIT = 1 << 12, /* a quota whose value is 0 */
    SAID_BAD_CALL = 1 << 13,   /* a tool call whose arguments are not JSON */
    SAID_STREAM = 1 << 14,     /* server-sent events */
    SAID_CONTENT = 1 << 15,    /* that answer has text or a tool call */
    SAID_TAGGED = 1 << 16,     /* in the tags that an agent puts around what a tool says */
};

/* How the status was told. */
typedef enum said_how {
    SAID_IN_FIELD, /* by a member of a structure */
    SAID_NAMED,    /* "HTTP 403", "status code: 403" */
    SAID_IN_LINE,  /* by its own name alone: "... 403 Forbidden" */
} said_how;

typedef struct said {
    daruma_str texts[SAID_TEXTS]; /* [0] is the innermost message */
    size_t ntexts;
    daruma_str codes[SAID_CODES]; /* as sent, in the order they were met */
    size_t ncodes;
    daruma_str code;                /* the one to show: the innermost code, else type */
    daruma_str param;               /* the parameter it is about */
    daruma_str finish;              /* stop reason of an answer */
    unsigned shape;                 /* bits of said_shape */
    int status;                     /* HTTP status the body speaks of, 0 none */
    said_how how;                   /* that status was told */
    daruma_ms wait;                 /* a retry field of the body, -1 none */
    int64_t reset_wall;             /* a reset field of the body, unix milliseconds, -1 none */
    int64_t limit, used, requested; /* number fields of the body, -1 none */
    daruma_str behind; /* what stands behind an object in a text: nothing but waits is heard of it, in lower case */
    bool ended;        /* texts[0] is the last error of a trail of attempts */
    bool limited;      /* it is about a limit: then a client's own "retrying in" is as long as the provider asked */
} said;

struct echo;
/* Reads `body` into `s`. What it makes lives in `a`; slices of `body` are borrowed. `e`: see echo.h; NULL: all is
 * heard. */
void unwrap(said *s, daruma_str body, struct echo *e, daruma_arena *a);
/* For answer.c and reader.c only: reads a model's answer or one chunk of it. */
bool answer_read(daruma_str object, said *s, daruma_arena *a);
#endif
