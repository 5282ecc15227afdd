/* resumed.c - what programs put in front of a history that they made shorter. */
#include "engine/watch/resumed.h"
#include "base/str.h"

bool watch_text_resumes(daruma_str first_words)
{
    // clang-format off
    static const char *const says[] = {
        "continued from a previous", "conversation so far", "summary of the conversation",
        "summary of our conversation", "summary of the previous", "conversation summary", "previous conversation",
        "<summary>", "context was compacted", "has been compacted", "were compacted", "has been summarized",
        "has been summarised", "another language model started", "context handoff", "history was shortened",
        "history was summarized",
    };
    // clang-format on
    for (size_t i = 0; i < COUNT(says); i++)
        if (str_ifind(first_words, str_of(says[i])) != STR_NONE)
            return true;
    return false;
}
