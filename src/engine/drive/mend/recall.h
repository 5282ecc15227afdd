/* recall.h - what was mended before. */
#ifndef ENGINE_DRIVE_MEND_RECALL_H
#define ENGINE_DRIVE_MEND_RECALL_H
#include "engine/drive/mend/history.h"
#include "engine/drive/session.h"

void mended_free(const drive_rooms *rooms, mended *m);
void mended_save(const mended *m, daruma_ms now, daruma_buf *out); /* as memory_save(); NULL: nothing was mended yet */
bool mended_busy(const driver *v); /* another thread looks into the tables: nothing can be loaded now */
bool mended_load(driver *v, daruma_str line, daruma_ms now, daruma_ms aged);
bool mended_knows(const session *x, int target); /* is there anything that may be done for it? */
/* With what this request taught itself, when it is converted for that target. */
void mended_know(const session *x, int target, drive_facts *ret);
/* Says what was done of it. */
void mended_did(session *x, int target, const drive_facts *f);
/* The client has thinking that broke off before it was signed: it is left out of later requests of the conversation.
 * `signs`: its provider refused it for that; then it is left out though none of the conversation has a signature. */
void mended_half_thought(session *x, bool signs);
/* The provider of another dialect refused a parameter: it is learned, and done when the request is converted again. */
bool mended_moved_learn(session *x);
/* The provider refuses what was learned: it is forgotten, and the request is written for it anew. */
bool mended_unlearn(session *x);
/* The same of what is known of messages; and of the request as it was moved to another dialect. */
bool mended_unlearn_habits(session *x);
bool mended_moved_habits(session *x);

#endif
