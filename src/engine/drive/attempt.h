/* attempt.h - one call to a provider. */
#ifndef ENGINE_DRIVE_ATTEMPT_H
#define ENGINE_DRIVE_ATTEMPT_H
#include "engine/drive/session.h"

void session_attempt(session *x); /* asks the engine and sends, waits or ends */
void session_fitted(session *x);  /* what session_mend_fits() waited for is over: it goes out */
drive_place session_place(const session *x, int target);

stream_view session_view(const session *x); /* of the call at hand, before anything of its stream came */

/* The answer of another call is read from here on: of what came before, its memory and their id are left. */
void session_answer_begin(session *x, daruma_ms started);
void session_key_fetch(session *x, int target, bool anew); /* session_key_here() will be called; as drive_host has it */

/* What goes out to that target; x->p and x->moved are those of that call from here on. False: the request cannot be
 * carried over to its dialect. */
bool session_compose(session *x, int target, daruma_arena *a, drive_request *ret);

/* ---- effects.c: work that must not be done twice ---- */

/* True if a call of this request may do such work: no second one is made beside it, and none over a connection that may
 * be dead. */
bool effects_possible(const session *x);
/* True if the attempt that failed so may have done it. */
bool effects_done(const session *x, const daruma_evidence *ev);

#endif
