/* quote.h - words of an error that are the request's own: a provider that quotes its client back says nothing with
 * them. */
#ifndef JUDGE_QUOTE_H
#define JUDGE_QUOTE_H
#include "daruma_parts.h"

/* `body` without the words that it quotes from `request` (JSON) and `model`: every run of QUOTE_RUN_WORDS that stands
 * in one text of them, or goes on from one to the next, and every string that it has whole; what is sent as base64 is
 * read as what it says. Codes, types and parameters of the body are left as they are, and so is the form of JSON.
 * Borrows `body` when nothing is quoted. `*all`: no word is left of what `body` says in words. One pass over the
 * request. */
daruma_str quote_strip(daruma_str body, daruma_str request, daruma_str model, daruma_arena *a, bool *all);
/* `line` without what stands in quotes and is longer than a name, unless nothing is said around it. */
daruma_str quote_spans_strip(daruma_str line, daruma_arena *a);
#endif
