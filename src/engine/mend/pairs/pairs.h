/* pairs.h - calls and results that belong together. */
#ifndef ENGINE_MEND_PAIRS_H
#define ENGINE_MEND_PAIRS_H
#include "engine/mend/mend.h"

/* ---- pairs.c ---- */

typedef enum mend_orphans { MEND_SYNTHESISE, MEND_PRUNE } mend_orphans;
/* What a call gets that has no result (S-W4: nobody knows whether it ran). */
#define MEND_UNKNOWN_RESULT                                                                                            \
    "[The tool call was interrupted and its result was lost. Whether it took effect is unknown: check before "         \
    "repeating it.]"
/* SYNTHESISE: neutral results; PRUNE: orphaned calls are removed, text of their message stays (S-F12). Results without
 * call go, or become text where they say something (as part of the user's turn). Also displaced and doubled ones. */
mend_report mend_pairs(convo *c, mend_orphans how);
/* Where a provider found an item twice: the second of those that have an id and are the same byte for byte goes. */
void mend_double_items(convo *c, const daruma_failure *f, mend_report *rep);
/* Swarm's reminder (S-F13) for calls that MEND_PRUNE removed from `before`; empty when none. In c's arena. */
daruma_str mend_prune_reminder(convo *before);
#endif
