/* stream.h - answers that come in events. */
#ifndef ENGINE_DRIVE_ANSWER_STREAM_H
#define ENGINE_DRIVE_ANSWER_STREAM_H
#include "engine/drive/session.h"

/* A walk through the events of some bytes. Only `rest` is set before it. */
typedef struct stream_walk {
    daruma_str rest, here; /* bytes behind the event at hand; the same with it */
    sse_event e;
    dialect_said said; /* what it says */
    daruma_arena scratch;
    char small[4096]; /* of `scratch` */
} stream_walk;
/* Goes to the next event, which `p` reads. Lines of data that are too long to be joined in `scratch` are joined in
 * v->event, and live until the next such event of any stream. False: there is none that is whole. */
bool stream_next(driver *v, const dialect *p, stream_walk *w);
void stream_begin(session *x);
void stream_bytes(session *x, daruma_str bytes); /* the attempt may be over afterwards, and the session */
void stream_ended(session *x);
/* The connection died. True: the answer was whole all the same, and is ended; its last event may lack its blank line.
 */
bool stream_broke(session *x);
void stream_last_words(session *x); /* behind all of a stream: what daruma did, where its head could not say it */
void stream_closed(session *x);     /* all of a stream went out, but for what ends it */

#endif
