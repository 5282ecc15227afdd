/* kinds.h - what is known of each kind of failure, for the rooms that need more than daruma_parts.h gives. The rows
 * stand in kinds.def. */
#ifndef MODEL_KINDS_H
#define MODEL_KINDS_H
#include "daruma_parts.h"

/* What targets have in common, and what of a target can rest: its key; its account; its lane, which is one model of one
 * account; its model, which is one model of one provider, whatever the key. */
typedef enum kind_part { SHARE_NOTHING, SHARE_KEY, SHARE_ACCOUNT, SHARE_LANE, SHARE_MODEL } kind_part;

/* With which statuses the words agree. With others they are hearsay. */
typedef enum kind_statuses {
    STATUS_ANY,       /* all: it concerns nobody else */
    STATUS_ACCESS,    /* 401, 403 */
    STATUS_ALLOWANCE, /* 402, 403, 429, 503 */
    STATUS_ABSENCE,   /* 403, 404 */
    STATUS_OUTAGE,    /* all but those that refuse this one request: 400, 401, 403, 404, 413, 422 */
} kind_statuses;

/* When a part of the target rests. */
typedef enum kind_rest {
    REST_NEVER,
    REST_SLOWS,   /* at once: a moment, and longer while nobody is let through */
    REST_ADVISED, /* only when the provider said how long */
    REST_REFUSED, /* when the provider said how long, two requests were refused, or the words are sure */
} kind_rest;

/* When a failed attempt counts against the health of the model. */
typedef enum kind_blame {
    BLAME_NEVER,
    BLAME_ALWAYS,
    BLAME_UNLESS_LOCKED, /* but for a lock (409, 423), which is of one request */
    BLAME_IF_5XX_OR_NET, /* only with a status from 500 on, or when the wire failed */
    BLAME_IF_RETRYABLE,  /* only when the same request may succeed later */
} kind_blame;

/* What an error is called on the wire; NULL: the status decides. */
typedef struct kind_wire {
    const char *type, *code; /* in the chat and responses dialects; `code` may be NULL */
    const char *messages;    /* the type in the messages dialect */
    const char *rpc;         /* the status where errors carry the name of a gRPC code */
} kind_wire;

typedef struct kind_row {
    const char *name;         /* wire format */
    const char *words;        /* what happened, in plain words */
    daruma_scope scope;       /* who is sick */
    daruma_severity severity; /* may the same plan continue */
    bool passes;              /* waiting alone may mend it */
    bool retryable;           /* the same request may succeed later */

    daruma_tool_kind tool_kind; /* what it is when a tool said it */
    bool of_models;             /* only models fail so: no text of a tool means this kind */
    kind_statuses statuses;

    kind_part meets;   /* which other targets would meet the same */
    bool meets_always; /* every time, so that none of them needs to be called */

    kind_part rests; /* which part of the target */
    kind_rest rest;
    uint8_t rest_sure; /* percent from which on words alone make it rest; over 100: no words do. For REST_REFUSED */
    kind_blame blames;

    int status;       /* of the error where the provider gave none that fits; 0: 502 */
    bool clients_act; /* clients act on the error themselves: it serves them better than a message that can be read */
    kind_wire wire;

    bool waits;         /* where the failure is retryable the advice stands behind "Try again in about ..." */
    const char *advice; /* what people can do */
} kind_row;

extern const kind_row kind_rows[DARUMA_KINDS];

/* A failure of that kind, of which no more is known than its status; 0: not even that. */
daruma_failure kind_failure(daruma_kind k, int status);
#endif
