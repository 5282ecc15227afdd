/* question.h - questions of our own to a model, on the case of the request. */
#ifndef ENGINE_DRIVE_MEND_QUESTION_H
#define ENGINE_DRIVE_MEND_QUESTION_H
#include "engine/drive/session.h"

/* Asks `n` questions, some at a time, of the summariser or the current target. False: it may not.
 * Each answer comes through session_mend_answer(), empty on failure; after the last one session_mend_asked(). */
bool side_ask(session *x, const mend_question *q, size_t n, int64_t max_output);
void side_cancel(session *x);
void session_mend_answer(session *x, size_t i, daruma_str text);
void session_mend_asked(session *x);

#endif
