/* answer.h - tool calls of answers, and those that shall be JSON, checked and mended. */
#ifndef ENGINE_DRIVE_ANSWER_ANSWER_H
#define ENGINE_DRIVE_ANSWER_ANSWER_H
#include "engine/drive/answer/answer_test.h"
#include "engine/drive/session.h"

/* Could a call be wrong in a way that we see? Only then is it looked at. */
bool answer_checks_calls(const session *x);
/* Is the answer asked for as JSON, and may it be mended? */
bool answer_checks_format(const session *x);
/* The arguments of a call as text, where a wire says nothing of a call without arguments. */
daruma_str answer_args(const dialect *p, turn_finish finish, daruma_str args);
/* Does it call what is refused to the agent? Then all its calls go: they were meant together. */
bool answer_refused(session *x, const turn *t, daruma_arena *a);
/* What its calls are held against, and its words, which shall be JSON. */
answer_test answer_test_of(session *x, bool calls, bool words);
/* Its calls, or its words, are what is wrong, whatever it says of its end: the attempt failed. */
void answer_fail(session *x, daruma_phase phase, daruma_flaw flaw);
/* Says what came of it. False: it has to be asked for again. */
bool answer_test_done(session *x, const answer_test *k, const turn *t);

#endif
