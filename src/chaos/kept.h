/* kept.h - what the faulty provider keeps of calls: the newest requests as they came, byte for byte, for who wants to
 * know what was made of his on the way; and which answers the Responses API gave to whom. */
#ifndef CHAOS_KEPT_H
#define CHAOS_KEPT_H
#include "chaos/answer.h"

typedef struct keep keep;

keep *keep_new(void); /* NULL without memory; end it with keep_free() */
void keep_free(keep *k);
void keep_clear(keep *k);
/* Call `number` came: keeps it as one of at most `most`, the oldest go; at most CHAOS_KEPT_BYTES_MAX of them all. `key`
 * is what reports call the key. What there is no memory for is not kept. */
void keep_add(keep *k, size_t most, uint64_t number, const ask *q, daruma_str key, daruma_str body, int status);
/* {"requests":[{"number":..,"path":..,"model":..,"key":..,"status":..,"bytes":..,"sha256":".."}]}, oldest first. */
void keep_json(const keep *k, daruma_buf *b);
/* The body of a call as it came. False: it is not kept. Valid until the next keep_add() or keep_clear(). */
bool keep_find(const keep *k, uint64_t number, daruma_str *ret);

typedef struct stored stored;

stored *stored_new(void); /* NULL without memory */
void stored_free(stored *s);
/* The answer `said` to this request of `owner` may be referred to from now on. */
void stored_add(stored *s, const ask *q, const speech *said, daruma_str owner);
/* Finds what a request refers to: its tokens and its open calls go into *q. The id that is not there for this owner;
 * empty: all are. *item: it is the id of an item. */
daruma_str stored_find(const stored *s, ask *q, daruma_str owner, bool *item, daruma_arena *a);
#endif
