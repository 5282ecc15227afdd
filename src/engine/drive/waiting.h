/* waiting.h - those who wait for a time, the oldest first. */
#ifndef ENGINE_DRIVE_WAITING_H
#define ENGINE_DRIVE_WAITING_H
#include "engine/drive/session.h"

/* Asks the engine again after that, or when something became well. `target` is waited for, -1: whoever may be asked
 * then; so long its provider `told` this request to stay away, which no success of others shortens. */
void session_wait(session *x, daruma_ms wait, int target, daruma_ms told);
/* It waits no more, if it did. */
void waiting_ends(session *x);
/* The time of `x` has come. True: an older one goes in its place, and it waits for as long as that one had to. */
bool waiting_gives_turn(session *x);
/* A call of `x` is answered, or its stream begins: the oldest of those who were refused there before goes out again. */
void waiting_answered(session *x);
#endif
