/* inside.h - what the files of the public library share: the host of the driver that keeps what it is told until the
 * program asks for it.
 *
 *   program --- daruma_call_*, _clock, _gone ---> drive_call_ops, session_* ---> driver
 *           <-- daruma_session_next <--- line of acts <--- drive_host ----------/
 */
#ifndef LIB_INSIDE_H
#define LIB_INSIDE_H
#include "daruma.h"
#include "engine/drive/drive.h"
#include "lib/fields.h"

/* ---- memory ---- */

struct daruma_memory {
    driver drive;
    void *health_room;
    daruma_session *sessions; /* all, linked by `next` */
};

/* ---- options of a session ---- */

typedef struct lib_target {
    daruma_str name, site;
    const dialect *d; /* NULL: as the client */
    daruma_target t;
} lib_target;

typedef struct lib_options {
    const dialect *d;
    lib_target *targets;
    size_t ntargets;
    daruma_target *list; /* of the same, as the driver has them */
    daruma_str model, client, agent;
    bool stream, path_names;
    int64_t waits;
    bool again;
    int watch, on_failure, strategies;
    bool compact_tool_errors;
    int64_t first_byte, idle, total, calls;
    daruma_str *secrets;
    size_t nsecrets;
} lib_options;

/* Reads them into *o; strings live in `a`. False and a sentence in `why`: they are wrong. */
bool lib_options_read(lib_options *o, daruma_str json, daruma_arena *a, daruma_buf *why);

/* ---- what is to be done ---- */

typedef enum act_text { ACT_BYTES, ACT_TARGET, ACT_DIALECT, ACT_MODEL, ACT_PATH, ACT_FIELDS, ACT_TEXTS } act_text;

typedef struct act {
    struct act *next;
    daruma_do what;
    int64_t call;
    int64_t total_ms; /* -1 no limit */
    int status;
    daruma_str text[ACT_TEXTS]; /* behind the struct, each with a NUL that does not count; BYTES may be the request's */
} act;

typedef struct act_line {
    act *first, *last;
} act_line;

/* A call that is out. */
typedef struct lib_call {
    struct lib_call *next;
    daruma_session *s;
    int64_t number;
    drive_call *c;
    bool headed; /* the head of its answer came */
    bool paused;
} lib_call;

struct daruma_session {
    daruma_session *next; /* of the memory */
    daruma_memory *m;
    session *x; /* behind this struct */
    daruma_arena arena;
    char *body; /* of the request, with a NUL behind it */
    size_t body_bytes;
    daruma_policy policy;
    lib_options o;
    drive_options options;
    lib_call *calls;
    int64_t ncalls;
    act_line words, answer; /* what waits to be done: about calls, which comes first, and for the client */
    act *now;               /* the one at hand */
    size_t waiting_bytes;   /* of the answer */
    daruma_ms timer;        /* -1 none */
    bool slow;              /* the driver was told that the reader is */
    bool over;              /* the driver is done with it */
    bool failed;            /* there was no memory for an act */
};

/* Adds one at the end of the line; the bytes are `pieces`, one after the other. NULL without memory: s->failed. */
act *acts_add(daruma_session *s, const act *like, const daruma_str *pieces, size_t npieces);
act *acts_take(daruma_session *s);                 /* the first one, free() it; NULL: there is none */
bool acts_forget(daruma_session *s, int64_t call); /* nothing is done about that call; true: it was not sent yet */
void acts_drop(daruma_session *s);

void lib_call_end(lib_call *o); /* it is out no more */
uint64_t lib_hash(daruma_str s);
extern const drive_host lib_host;

/* ---- strings at the edge ---- */

enum { LIB_WHY_BYTES = 512 }; /* of a sentence about a mistake */
/* Copies `text` into `out` as far as it fits, with a NUL; returns its length. */
size_t lib_text(char *out, size_t out_bytes, daruma_str text);
/* The same of what `put` puts, `most` bytes at most; nothing where it is more. */
size_t lib_written(char *out, size_t out_bytes, void (*put)(const void *of, daruma_buf *all), const void *of,
                   size_t most);
#endif
