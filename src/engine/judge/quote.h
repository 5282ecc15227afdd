/* quote.h - words of an error that are the request's own: a provider that quotes its client back says nothing with
 * them. */
#ifndef JUDGE_QUOTE_H
#define JUDGE_QUOTE_H
#include "daruma_parts.h"

/* An error without what it quotes from the request. */
typedef struct unquoted {
    daruma_str body;     /* without every quote; borrows when there is none */
    daruma_str nameless; /* ... and without names that the request has for its members and values, which an error may be
                            about; `body` when there is none */
    bool all;            /* no word is left of what it says in words */
} unquoted;

/* Takes out of `body` the words that it quotes from `request` (JSON) and `model`: every run of QUOTE_RUN_WORDS that
 * stands in one text of them, or goes on from one to the next, and every string that it has whole; what is sent as
 * base64 is read as what it says. Codes, types and parameters of the body are left as they are, and so is the form of
 * JSON. One pass over the request. */
unquoted quote_strip(daruma_str body, daruma_str request, daruma_str model, daruma_arena *a);
/* `line` without what stands in quotes and is longer than a name, unless nothing is said around it. */
daruma_str quote_spans_strip(daruma_str line, daruma_arena *a);
#endif
