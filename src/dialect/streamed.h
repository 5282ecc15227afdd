/* streamed.h - the streamed answer of a model, collected into the whole answer that an agent reads. */
#ifndef DIALECT_STREAMED_H
#define DIALECT_STREAMED_H
#include "dialect/dialect.h"

/* An answer as it comes. All that is kept of it lives in `room`. */
typedef struct streamed {
    const dialect *d;
    daruma_arena *room;
    stream_view view;
    dialect_fold *fold;
    daruma_buf rest;  /* bytes of an event that is not whole yet */
    daruma_buf said;  /* what the newest bytes added to the text */
    daruma_str error; /* an error event: its data, as the body of an error; empty: none came */
    bool full;        /* there was no memory for all of it */
} streamed;

streamed streamed_begin(const dialect *d, daruma_arena *room);
/* Returns what the bytes add to the text; until the next call. `scratch` need not live longer than this. */
daruma_str streamed_take(streamed *s, daruma_str bytes, daruma_arena *scratch);
/* The answer as the body that the model would have given without streaming; empty: the stream says none, or there is no
 * memory. In the room; once. */
daruma_str streamed_whole(streamed *s);
#endif
