/* quote.h - words of an error that are the request's own: a provider that quotes its client back says nothing with
 * them. */
#ifndef JUDGE_QUOTE_H
#define JUDGE_QUOTE_H
#include "engine/judge/echo.h"

/* An error without what it quotes from the request. */
typedef struct unquoted {
    daruma_str body;     /* without every quote; borrows when there is none */
    daruma_str nameless; /* ... and without names that the request has for its members and values, which an error may be
                            about; `body` when there is none */
    bool all;            /* no word is left of what it says in words */
} unquoted;

/* What was sent, whose words an error may quote. */
typedef struct quotable {
    daruma_str request; /* JSON */
    daruma_str model;
    daruma_str beside; /* header fields and the query, "name: value" a line each */
} quotable;

/* Takes out of `body` the words that it quotes from what was sent: every run of QUOTE_RUN_WORDS that stands in one text
 * of it, or goes on from one to the next, and every string that it has whole; what is sent as base64 is read as what it
 * says. The form of JSON stays as it is; codes, types and numbers are left, and looked for in `e`, which knows those of
 * `body`. Where not all of the request can be looked at in time, the error says nothing. One pass over the request. */
unquoted quote_strip(daruma_str body, const quotable *sent, echo *e, daruma_arena *a);
#endif
