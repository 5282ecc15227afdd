/* effects.h - work that must not be done twice. */
#ifndef ENGINE_DRIVE_EFFECTS_H
#define ENGINE_DRIVE_EFFECTS_H
#include "engine/drive/session.h"

/* True if a call of this request may do such work: no second one is made beside it, and none over a connection that may
 * be dead. */
bool effects_possible(const session *x);
/* True if the attempt that failed so may have done it. */
bool effects_done(const session *x, const daruma_evidence *ev);

#endif
