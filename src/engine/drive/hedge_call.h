/* hedge_call.h - a second call beside a silent one. */
#ifndef ENGINE_DRIVE_HEDGE_CALL_H
#define ENGINE_DRIVE_HEDGE_CALL_H
#include "engine/drive/session.h"

/* Looks whether the attempt under way is silent for too long, and does what is to be done. Sets x->due.look_at. */
void hedge_look(session *x);
/* The attempt has brought content, or is over: the second call is not needed. */
void hedge_cancel(session *x);
void hedge_limit(session *x, daruma_ms until); /* the second call may be out until that moment */
/* The attempt failed so: the second call takes its place. False: there is none. */
bool hedge_takes_over(session *x, const daruma_failure *f);

#endif
