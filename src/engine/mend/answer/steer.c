/* steer.c - what the model is told about how it goes on. Nothing of the history is changed for it: providers' caches
 * keep hitting, and on the next turn it is gone by itself, since clients never saw it. */
#include "engine/mend/history.h"
#include "engine/mend/value.h"
#include "engine/mend/answer/answer.h"
#include "base/str.h"

bool mend_notice(convo *c, daruma_str text, mend_report *rep)
{
    size_t last = history_before(c, c->nmessages);
    text = str_trim(text);
    if (!text.n || last == STR_NONE || c->messages[last].role == CONVO_ASSISTANT)
        return false; /* the model is in the middle of its turn */
    history_tell_model(c, text);
    rep->messages_mended++;
    mend_say(rep, "the model was told what it keeps doing");
    return !c->full;
}
