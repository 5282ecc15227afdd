/* stored.h - what the Responses API keeps between calls: which answers were given to whom. */
#ifndef CHAOS_STORED_H
#define CHAOS_STORED_H
#include "chaos/answer.h"

typedef struct stored stored;

stored *stored_new(void); /* NULL without memory */
void stored_free(stored *s);
/* The answer `said` to this request of `owner` may be referred to from now on. */
void stored_add(stored *s, const ask *q, const speech *said, daruma_str owner);
/* Finds what a request refers to: its tokens and its open calls go into *q. The id that is not there for this owner;
 * empty: all are. *item: it is the id of an item. */
daruma_str stored_find(const stored *s, ask *q, daruma_str owner, bool *item, daruma_arena *a);
#endif
