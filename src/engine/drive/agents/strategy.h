/* strategy.h - another way to go on for an agent in circles. */
#ifndef ENGINE_DRIVE_AGENTS_STRATEGY_H
#define ENGINE_DRIVE_AGENTS_STRATEGY_H
#include "engine/drive/session.h"

/* Looks for another way. True: a model is asked, strategy_answer() comes. */
bool strategy_begin(session *x);
void strategy_answer(session *x, daruma_str text);    /* empty: it failed */
void strategy_say(const session *x, daruma_buf *out); /* for the model, when it may be done; else nothing */
void strategy_lesson(session *x, daruma_buf *out);    /* for the model: what helped this client before; else nothing */

#endif
