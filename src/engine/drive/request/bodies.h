/* bodies.h - requests as they were written anew. */
#ifndef ENGINE_DRIVE_REQUEST_BODIES_H
#define ENGINE_DRIVE_REQUEST_BODIES_H
#include "engine/drive/session.h"

drive_text *session_disown(session *x);            /* all of x->out.texts; the request is over */
daruma_str session_own(session *x, drive_text *t); /* it is one of x->out.texts now; NULL: empty */
void session_sweep(session *x);                    /* gives back those that nobody needs any more */

#endif
