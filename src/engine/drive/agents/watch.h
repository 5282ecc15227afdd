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

#endif
