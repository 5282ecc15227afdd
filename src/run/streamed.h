/* streamed.h - the streamed answer of a model, collected into the whole answer that an agent reads. */
#ifndef RUN_STREAMED_H
#define RUN_STREAMED_H
#include "dialect/dialect.h"

typedef struct streamed_call streamed_call;

/* An answer as it comes. All that is kept of it lives in `room`. */
typedef struct streamed {
    const dialect *d;
    daruma_arena *room;
    turn_reader in;
    stream_view view;
    daruma_buf rest; /* bytes of an event that is not whole yet */
    daruma_buf text; /* what the model has said */
    streamed_call *calls, *last;
    turn_finish finish;
    daruma_str finish_raw, model;
    turn_usage usage;
    daruma_str error; /* an error event: its data, as the body of an error; empty: none came */
    bool refused;     /* some of the text is a refusal */
    bool full;        /* there was no memory for all of it */
} streamed;

streamed streamed_begin(const dialect *d, daruma_arena *room);
/* Returns what the bytes add to the text; until the next call. */
daruma_str streamed_take(streamed *s, daruma_str bytes);
/* The answer as the body that the model would have given without streaming; empty: the stream broke off, or there is no
 * memory. In the room. */
daruma_str streamed_whole(const streamed *s);
#endif
