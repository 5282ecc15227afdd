/* stream.h - answers that come in events. */
#ifndef ENGINE_DRIVE_ANSWER_STREAM_H
#define ENGINE_DRIVE_ANSWER_STREAM_H
#include "engine/drive/session.h"

/* As sse_next(). Lines of data that are too long to be joined in `a` are joined in `large`, which holds those of one
 * event at a time and is given back by the caller. Without memory for them the event has no data. */
bool stream_next(const drive_rooms *rooms, daruma_str *rest, sse_event *e, daruma_arena *a, daruma_arena *large);
void stream_begin(session *x);
void stream_bytes(session *x, daruma_str bytes); /* the attempt may be over afterwards, and the session */
void stream_ended(session *x);
/* The connection died. True: the answer was whole all the same, and is ended; its last event may lack its blank line.
 */
bool stream_broke(session *x);
void stream_last_words(session *x); /* behind all of a stream: what daruma did, where its head could not say it */
void stream_closed(session *x);     /* all of a stream went out, but for what ends it */

#endif
