/* answer.h - tool calls of answers, and those that shall be JSON, checked and mended. */
#ifndef ENGINE_DRIVE_ANSWER_ANSWER_H
#define ENGINE_DRIVE_ANSWER_ANSWER_H
#include "engine/drive/session.h"

typedef struct answer_test {
    const convo *tools;       /* NULL: its calls are not looked at ... */
    const convo *format;      /* NULL: it was not asked for as JSON ... */
    const dialect *d;         /* ... unless they have to be read first, in this dialect ... */
    daruma_str unread;        /* ... these tools; empty: none ... */
    bool more_tools;          /* ... beside which others are declared ... */
    daruma_str unread_format; /* ... and this format; empty: none ... */
    const drive_rooms *rooms; /* ... in a room of these */
    size_t most;              /* bytes of schemas that calls are held against */
    bool was_unfit;           /* an answer was asked for again already because it did not fit its schema */
    bool strings;             /* arguments that came as an object are written as a string, as the wire has them */
    bool untold; /* no remedy tells the model: calls that can be read pass, and their tools say it (S-F17) */
    bool only;   /* it cannot be asked for again: what cannot be mended in place stays as it came */
    /* found */
    bool bad;             /* it has to be asked for again */
    bool given_up;        /* not all of it was looked at: that would have been too much */
    bool unfit;           /* it does not fit its schema; where it is not bad, once more, and it goes out as it is */
    bool cut;             /* for nothing but calls that the output cap cut */
    bool readable;        /* ... or else, but all its calls have arguments that can be read: nothing of it is cut */
    daruma_str why;       /* bad: what is wrong, in words for the model */
    daruma_str mended;    /* what was mended in its calls, in words for people; empty: nothing */
    daruma_str made_json; /* the same of its words */
} answer_test;

/* Reads the tools of a request as calls are held against them. False: there is none, or calls cannot be. Any thread. */
bool answer_tools_read(const dialect *d, daruma_str raw, daruma_arena *a, convo *ret);
/* Reads the format that an answer is asked for in. False: it is not asked for as JSON, or cannot be read. Any thread.
 */
bool answer_format_read(const dialect *d, daruma_str raw, daruma_arena *a, convo *ret);
/* Tests the answer and mends it in place; the texts of its parts are ready, the arguments of its calls JSON text. What
 * is new lives in `a`. Any thread. */
void answer_test_do(answer_test *k, turn *t, daruma_arena *a);

/* Could a call be wrong in a way that we see? Only then is it looked at. */
bool answer_checks_calls(const session *x);
/* Tells the client, the counts and the event log that the answer goes out mended. */
void answer_tell_mended(session *x, daruma_str what);
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
