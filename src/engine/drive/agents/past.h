/* past.h - histories that the provider keeps. */
#ifndef ENGINE_DRIVE_AGENTS_PAST_H
#define ENGINE_DRIVE_AGENTS_PAST_H
#include "engine/drive/session.h"

typedef struct past past; /* what was called by answers that providers keep */

/* Remembers the items of an answer that daruma wrote in Responses, a JSON list, by their ids. */
void past_put_items(session *x, daruma_str items);
void past_put_events(session *x, daruma_str events); /* the same of the events of an answer */
/* The request with those items in the place of references to them; NULL: there are none, or it would be too long to be
 * read on the loop. */
drive_text *past_unfold(session *x);

/* By what the next request names this answer; 0: by nothing. */
uint64_t past_key(session *x, daruma_str id);
uint64_t past_before(session *x); /* what this request goes on from; 0: it is whole */
/* What was called by it, as items of a conversation with commas between them; empty: unknown, or nothing. */
daruma_str past_calls(const watch *w, uint64_t key);
/* `of_stream`: the items of a streamed answer, a JSON list; empty: it came whole. */
void past_put(watch *w, uint64_t key, const turn *t, daruma_str of_stream, daruma_arena *scratch);
void past_free(const drive_rooms *rooms, past *s);

#endif
