/* open.h - a request comes in. */
#ifndef ENGINE_DRIVE_OPEN_H
#define ENGINE_DRIVE_OPEN_H
#include "engine/drive/session.h"

void session_known(session *x);                  /* what is known of it was done to it: it goes on */
void session_steered(session *x);                /* what its agent needs was done to it, too */
uint64_t session_request_hash(const session *x); /* same client, same body, as far as its ends tell */
uint64_t session_session(const session *x);      /* one client's conversation with one model */
uint64_t session_counted(const session *x);      /* one client's requests on the lane at hand */

#endif
