/* pass.h - answers that nobody here reads. */
#ifndef ENGINE_DRIVE_ANSWER_PASS_H
#define ENGINE_DRIVE_ANSWER_PASS_H
#include "engine/drive/session.h"

void pass_begin(session *x, const drive_head *h);
/* An answer in a dialect of ours, but encoded: the client may be able to read it. */
void pass_coded(session *x, const drive_head *h);
void pass_unread(session *x); /* what is held goes out, and what follows: it is too large to be checked */
/* What says no was collected: it goes out. Of what was too large to be searched for credentials only the beginning
 * does, and the connection breaks off. */
void pass_refused(session *x);
/* An error that was collected and is encoded may repeat our key where nobody can see it: what is held becomes an error
 * of our own with its status. Nothing is done where the client's own key was used, or the bytes can be read. */
void pass_hide(session *x);

#endif
