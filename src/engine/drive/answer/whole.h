/* whole.h - answers that come in one piece. */
#ifndef ENGINE_DRIVE_ANSWER_WHOLE_H
#define ENGINE_DRIVE_ANSWER_WHOLE_H
#include "engine/drive/session.h"

/* All of it is there, in x->answer.held: it is judged, mended, written for the client and handed on. `net`: how its
 * connection died, unless it ended, and when. */
void whole_ended(session *x, daruma_net net, daruma_phase phase);
/* True if the body is an object or an array of JSON that is closed: nothing of it is missing. */
bool whole_is_closed(daruma_str body);
/* whole_ended() of one whose connection died. False: JSON that is not closed, which is not read further. A stream that
 * was to be put together is judged by how the connection died if it lacks its end. */
bool whole_broke(session *x, daruma_net net, daruma_phase phase);

#endif
