/* same_text.h - when two texts in the arguments of a call are the same. Each comes back as a pair of hashes, and what
 * else is to be known of its words goes into the call. */
#ifndef ENGINE_WATCH_SAME_SAME_TEXT_H
#define ENGINE_WATCH_SAME_SAME_TEXT_H
#include "engine/watch/same/same.h"
#include "engine/watch/same/same_hash.h"

typedef struct pair {
    uint64_t exact;
    uint64_t shape; /* the same, whatever the numbers in it */
} pair;

static inline void pair_mix(pair *h, pair w)
{
    h->exact = mix(h->exact, w.exact);
    h->shape = mix(h->shape, w.shape);
}

static inline pair pair_of(uint64_t w)
{
    return (pair){w, w};
}

/* A string, without its quotes. `name`: bits of words_of_name() of the member whose value it is. */
pair text_hash(same_call *c, daruma_str s, unsigned name);
/* A text whose spacing makes no difference, chunk by chunk. `json`: escapes are those of JSON. */
pair text_spaced(same_call *c, daruma_str s, bool json);
/* One that is too long to be read word by word, or too deep inside. */
pair text_bytes(same_call *c, daruma_str s);
/* "1.0", "1", "10e-1" alike. False: it is no number. */
bool text_number(daruma_str s, pair *ret);
/* One word counts as one of the call's. */
void text_learn(same_call *c, daruma_str word);
/* Does it look like a moment: 10 to 19 digits, or a date? */
bool text_is_moment(daruma_str v);
#endif
