/* apis.h - which of OpenAI's two APIs a target is asked in. */
#ifndef ENGINE_DRIVE_REQUEST_APIS_H
#define ENGINE_DRIVE_REQUEST_APIS_H
#include "engine/drive/session.h"

const dialect *session_dialect(const session *x, int target); /* that a target is spoken to in */
/* Looks whether the target refuses nothing but the API that it was asked in: x->kase.other_api. */
void session_api_look(session *x, daruma_failure *f);
/* The same of a call beside, asked in `p`: it is asked in the other from here on. False: it refuses something else. */
bool session_api_turns(session *x, int target, const dialect *p, const daruma_failure *f);
void session_api_change(session *x);                  /* so it does: it is asked in the other from here on */
bool session_api_known(const session *x, int target); /* ... because that is known of it */
void session_api_worked(session *x);                  /* the target has answered: what helped is learned */

#endif
