/* apology.c - the question to a model that shall tell the user why there is no answer. */
#include "engine/mend/answer/answer.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

daruma_str mend_apology_system(void)
{
    return S(
        "A request to a language model was refused by its provider, and a user waits for the answer. Write to the "
        "user, in at most 80 words: that you are sorry, that it could not be done, what was wrong in plain words, and "
        "what the user can do now. No identifiers, no keys, no code, no promises; nothing but the message itself.");
}

daruma_str mend_apology_prompt(const daruma_failure *f, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "What happened: ", daruma_kind_words(f->kind), ".");
    if (f->message.n) {
        BUF_SAY(&b, " The provider said: ", str_sub(f->message, 0, FAILURE_TEXT_BYTES_MAX));
    }
    return buf_str(&b);
}
