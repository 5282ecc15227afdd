/* watch.h - agents seen by the histories that they send: what is new in a request, and what came of it. */
#ifndef ENGINE_DRIVE_AGENTS_WATCH_H
#define ENGINE_DRIVE_AGENTS_WATCH_H
#include "engine/drive/session.h"

void watch_free(const drive_rooms *rooms, watch *w);
void watch_save(const watch *w, daruma_buf *out); /* lessons about tools as lines; NULL: nobody was watched yet */
bool watch_load(driver *v, daruma_str line);      /* false: it is no such line, and nothing changed */
/* Looks at what is new in the history of a request; `newest` as its scan gave it. False: nothing is to be done. Else
 * the newest verdict and what is to be done about it stand in x->steer. */
bool watch_request(session *x, const uint32_t *newest);
void watch_answered(session *x); /* the answer was delivered whole */

watch *watch_of(driver *v); /* made when it is first needed; NULL: there is no memory */

/* Remembers the items of an answer that daruma wrote in Responses, a JSON list, by their ids. */
void past_put_items(session *x, daruma_str items);
void past_put_events(session *x, daruma_str events); /* the same of the events of an answer */
/* The same of an answer that passed and that its account keeps. */
void past_put_passed(session *x, daruma_str items);
/* The request with those items in the place of references to them; NULL: there are none, or it would be too long to be
 * read on the loop. `left`: the account that keeps what passed is not asked any more, or does not keep it: all that the
 * request refers to is put in, or nothing. Once that was done, such items are put in at once. Reasoning is left out.
 * `missing`: what the account said of the item that it does not keep, else empty; whoever mends that finds the item by
 * its id, also one of reasoning. */
drive_text *past_unfold(session *x, bool left, daruma_str missing);

#endif
