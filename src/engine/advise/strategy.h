/* strategy.h - what the files about strategies share.
 *
 *     strategy.c       when help is due, what is proposed without a model, what becomes of a proposal
 *     strategy_ask.c   the questions to a model
 *     strategy_read.c  its answers, and whether they hold */
#ifndef ADVISE_STRATEGY_H
#define ADVISE_STRATEGY_H
#include "engine/advise/adapt.h"

/* The failure that it is about: the newest; NULL: nothing failed. */
const daruma_tool_failure *strategy_failure(const daruma_situation *s);
/* The tool that it is about: that failed, else that was called last; may be empty. */
daruma_str strategy_tool(const daruma_situation *s);
/* NULL: not known. */
const daruma_tool *strategy_find_tool(const daruma_situation *s, daruma_str name);
/* The arguments that the tool was called with, if it was the newest call; else empty. */
daruma_str strategy_args(const daruma_situation *s, daruma_str tool);
/* How often it was tried again since it last worked. */
unsigned strategy_times(const daruma_tries *t, daruma_str tool);
/* Was this very approach tried? Never of RETRY, which is counted, and GIVE_UP, which ends it. */
bool strategy_tried(const daruma_tries *t, const daruma_strategy *x);
/* May it be done without asking? A known tool, arguments at hand that fit, and no second effect. What is wrong goes to
 * `why` (may be NULL). */
bool strategy_holds(const daruma_situation *s, const daruma_strategy *x, daruma_buf *why);
/* A row as a strategy, its words filled in. */
daruma_strategy strategy_of_row(const daruma_fallback_row *row, const daruma_situation *s, daruma_str other,
                                daruma_arena *a);
#endif
