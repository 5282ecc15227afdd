/* compact.h - what known.c needs of compactions. */
#ifndef ENGINE_MEND_SHORTEN_COMPACT_H
#define ENGINE_MEND_SHORTEN_COMPACT_H
#include "engine/mend/shorten/shorten.h"

/* May the older part end at messages[to]? It is no middle of a pair or of a turn of the model, and neither the newest
 * turn nor what may not go of the loop in progress lies before it. */
bool compact_fits(const convo *c, mend_cut cut);
/* As mend_compact_put, and asks not what is saved. */
bool compact_put(convo *c, mend_cut cut, daruma_str summary, mend_report *ret);
/* The part that holds a summary of ours, or NULL. */
convo_part *compact_found(const convo_message *m);
#endif
