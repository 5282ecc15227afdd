/* transcript.h - what an agent did, read from a file: a request body with its history, or steps as JSON. */
#ifndef CLI_REVIEW_TRANSCRIPT_H
#define CLI_REVIEW_TRANSCRIPT_H
#include "dialect/dialect.h"
#include "engine/watch/review.h"

typedef struct transcript {
    const dialect *d; /* of a request; NULL: steps, and of requests only what they added is known */
    daruma_str id;    /* of a record; may be empty */
    review_run run;   /* strings live in the text or in the arena */
    bool on_server;   /* the provider has more of the history than is here */
    uint32_t asides;  /* messages of agents that it called, which are not looked at */
} transcript;

/* `file` is what errors call it. `d` (NULL: found by its shape) is its dialect when it is a request. False: it cannot
 * be read, and `why` says where, what was expected and what to do. */
bool transcript_read(daruma_str text, const char *file, const dialect *d, daruma_arena *a, transcript *ret,
                     char why[512]);
/* A step as a file has it: {"tool":..., "args":..., "result":..., "ok":..., "lost":...}; an object. */
daruma_step transcript_step(daruma_str v, daruma_arena *a);
#endif
