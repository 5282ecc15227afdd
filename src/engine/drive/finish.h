/* finish.h - when nothing helped. */
#ifndef ENGINE_DRIVE_FINISH_H
#define ENGINE_DRIVE_FINISH_H
#include "engine/drive/session.h"

/* A case that failed, or whose client gave up, is kept for a while: when the client's SDK retries, it goes on with what
 * is left. */
void session_remember(session *x);

/* The agent is stopped: a message of ours that ends its run. */
void finish_partial(session *x);

void finish_apology(session *x, daruma_str text); /* empty: the fixed explanation */

/* A whole body as the client asked for it: in an array when it asked for one. */
daruma_str session_listed(session *x, daruma_str body);
/* The last words of a stream whose head went out before it was known how it ends. Behind an answer that ends well there
 * are none where clients fail on comments; `failed`: it does not. */
void finish_comment(session *x, daruma_outcome o, bool failed);
/* Bytes of an answer that the client has. A head, heartbeats and what is held are none: another attempt may begin anew
 * behind them. But what only passes through is an answer from its head on. */
size_t session_gone_out(const session *x);
/* Ends the request: with what the model said, where that may go out; with an error event behind a part of an answer;
 * else with a message in the model's place or an error, as on_failure says. */
void session_give_up(session *x);

#endif
