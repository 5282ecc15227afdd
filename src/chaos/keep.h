/* keep.h - the newest requests as they came, byte for byte, for who wants to know what was made of his on the way. */
#ifndef CHAOS_KEEP_H
#define CHAOS_KEEP_H
#include "chaos/ask.h"

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
#endif
