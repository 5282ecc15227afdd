/* late.h - where the time of a request went, told when it was late. What is clear from its call is not noted: a request
 * that goes well at once is not touched. */
#ifndef ENGINE_DRIVE_LATE_H
#define ENGINE_DRIVE_LATE_H
#include "engine/drive/session.h"

/* The call at hand is looked at while it is silent: who watches is told when that is longer than usual. */
void late_silent(session *x);
/* From now on, until late_end(), its time goes to this: a wait, a key, work. */
void late_begin(session *x, daruma_spent on);
/* ... to the wait that the engine asks for, with who makes it wait. */
void late_awaits(session *x, const daruma_admission *a);
void late_end(session *x); /* nothing where none was begun */
/* So much went to it, all of which is over. */
void late_add(session *x, daruma_spent on);
/* The call at hand failed or was given up; what came of it until `over` is to be told of as that. */
void late_call_over(session *x, daruma_spent_on on, daruma_ms over);
/* The client has not read what it has (or has now): nothing more is read from the provider meanwhile. */
void late_reader(session *x, bool slow);

/* It is over with this outcome: says where its time went, if it was late. `ends`: no other event says that it is
 * over. Before the call at hand is closed. */
void late_tell(session *x, daruma_outcome o, bool ends);
#endif
